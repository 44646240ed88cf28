/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double-double tier of the Taylor room; the derivation stands in enclose_dd.c. */
#ifndef ATTEST_TAYLOR_DD_H
#define ATTEST_TAYLOR_DD_H

#include "../enclosure/dd.h"
#include "enclose.h"

/* One row: parameters in, sums out. */
typedef struct {
  const taylor_work *work;
  int64_t row, lo, hi;
  dd_number scale;
  dd_number *inverse;  /* [degree + 1]: 1/m */
  double *q_hi, *q_lo; /* [d, rounded up to 8]: f(q) */
  double *w_hi, *w_lo; /* [blocks * SUMS_KEYS]: weights, 0 where hidden */
  double *n_hi, *n_lo; /* [pad]: sum w u */
} taylor_dd_row;

/* Weights of the keys lo .. hi - 1, visibility and decay apart. */
void taylor_dd_weights(taylor_dd_row *row);
/* n += sum of w_j values_j, first <= j < last; values have rows of `pad` elements. */
void taylor_dd_sums(taylor_dd_row *row, const double *w_hi, const double *w_lo,
                    const double *values, int64_t first, int64_t last);

/* elu1 of n numbers, a multiple of 8, as double-doubles within 2^-97 relative; hi may be x. Numbers
 * below TAYLOR_DD_LEAST are not served. */
#define TAYLOR_DD_LEAST -600.0
void taylor_dd_elu1(double *hi, double *lo, const double *x, int64_t n);

#endif
