/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double-double tier of the Taylor room; the derivation stands in enclose_dd.c. */
#ifndef ATTEST_TAYLOR_DD_H
#define ATTEST_TAYLOR_DD_H

#include "enclose.h"

typedef struct {
  double hi, lo;
} taylor_dd;

/* One row: parameters in, sums out. */
typedef struct {
  const taylor_work *work;
  int64_t row, lo, hi;
  taylor_dd scale;
  taylor_dd *inverse;  /* [degree + 1]: 1/m */
  const double *query; /* [d] */
  double *w_hi, *w_lo; /* [blocks * SUMS_KEYS]: weights, 0 where hidden */
  double *n_hi, *n_lo; /* [pad]: sum w u */
} taylor_dd_row;

/* Weights of the keys lo .. hi - 1, visibility apart. */
void taylor_dd_weights(taylor_dd_row *row);
/* n from the weights. */
void taylor_dd_sums(taylor_dd_row *row);

#endif
