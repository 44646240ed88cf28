/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double-double tier of the softmax room; the derivation stands in enclose_dd.c. */
#ifndef ATTEST_SOFTMAX_DD_H
#define ATTEST_SOFTMAX_DD_H

#include "pass.h"

typedef struct {
  double hi, lo;
} softmax_dd;

/* One row: parameters in, unnormalised sums out. */
typedef struct {
  const softmax_pack *pack;
  int64_t row, lo, hi;
  softmax_dd scale, inverse_temperature;
  int has_sink;
  softmax_dd sink;                /* its score */
  double *query;                  /* [d] */
  const double *query_low;        /* [d]: of rotated vectors; NULL: 0 */
  double *score_hi, *score_lo;    /* [blocks * PASS_KEYS]: scores, then weights */
  double *out_hi, *out_lo, *size; /* [dv_pad]: sum w v, and sum w |v| in double */
  double shift;                   /* largest score (its high part) */
  softmax_dd sum;                 /* of the weights, the sink's included */
} softmax_dd_row;

/* Scores of the keys lo .. hi - 1, hidden ones -infinity. */
void softmax_dd_scores(softmax_dd_row *row);
/* Weights and sums, once the hidden are marked and shift is set. */
void softmax_dd_sums(softmax_dd_row *row);
/* exp(x). */
softmax_dd softmax_dd_exp(softmax_dd x);

#endif
