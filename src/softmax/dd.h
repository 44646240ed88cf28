/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double-double tier of the softmax room; the derivation stands in enclose_dd.c. */
#ifndef ATTEST_SOFTMAX_DD_H
#define ATTEST_SOFTMAX_DD_H

#include "../enclosure/dd.h"
#include "pass.h"

/* One row: parameters in, unnormalised sums out. */
typedef struct {
  const softmax_pack *pack;
  int64_t row, lo, hi;
  dd_number scale, inverse_temperature;
  int has_sink;
  dd_number sink;                 /* its score */
  double *query;                  /* [d] */
  const double *query_low;        /* [d]: of rotated vectors; NULL: 0 */
  double *score_hi, *score_lo;    /* [blocks * PASS_KEYS]: scores, then weights */
  double *out_hi, *out_lo, *size; /* [dv_pad]: sum w v, and sum w |v| in double */
  double shift;                   /* largest score (its high part) */
  dd_number sum;                  /* of the weights, the sink's included */
} softmax_dd_row;

/* Scores of the keys lo .. hi - 1, hidden ones -infinity. */
void softmax_dd_scores(softmax_dd_row *row);
/* Weights and sums, once the hidden are marked and shift is set. */
void softmax_dd_sums(softmax_dd_row *row);
/* exp(x). */
dd_number softmax_dd_exp(dd_number x);

#endif
