/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The weights of one row in balls. Internal to the room. */
#ifndef ATTEST_SPARSE_WEIGHTS_H
#define ATTEST_SPARSE_WEIGHTS_H

#include "row.h"

/* r of [y]_+^r: exactly where alpha is rational. */
typedef struct {
  int is_rational;
  fmpq_t rational;
  arb_t value;      /* at the working precision */
  arb_t alpha_less; /* alpha - 1 = 1/r */
  int against_one;  /* the sign of r - 1 */
} sparse_power;
void sparse_power_init(sparse_power *power, const attest_problem *problem,
                       const sparse_kernel *kernel, slong prec);
void sparse_power_clear(sparse_power *power);
/* w <- [y]_+^r, for a ball that may lie on both sides of zero. w may be y. */
void sparse_power_apply(arb_t w, const arb_t y, const sparse_power *power, slong prec);

/* u with sum_j [u - g_j]_+^r = 1 for g_j >= 0, some g_j = 0: a ball that is certified by the signs
 * of the sum at its ends, whatever the g_j in their balls. u lies in [n^(-1/r), 1]. */
void sparse_solve(arb_t u, arb_srcptr g, int64_t n, const sparse_power *power, slong prec);

/* A row with its weights. Keys that top-k does not select are gone. */
typedef struct {
  sparse_row row;
  sparse_power power;
  slong prec;
  int is_selected; /* the keys were given */
  int is_empty;    /* every weight is exactly zero: the empty-row policy applies */
  arb_ptr y, t;    /* arguments, thresholds subtracted; t NULL: not wanted */
  arb_ptr w;
  arb_t sum;     /* of w; exactly 1 for thresholds */
  arb_t largest; /* exponentials: what was subtracted from y before exp */
} sparse_weights;
attest_status sparse_weights_init(sparse_weights *w, const attest_problem *problem,
                                  const problem_slice *slice, int64_t row, int with_t, slong prec,
                                  attest_error *error);
/* The same of given keys in rising order, selected > 0 of them; NULL: the kernel's own selection.
 */
attest_status sparse_weights_select(sparse_weights *w, const attest_problem *problem,
                                    const problem_slice *slice, int64_t row,
                                    const int64_t *selection, int64_t selected, int with_t,
                                    slong prec, attest_error *error);
/* Other weights in their place, not all of them 0. */
void sparse_weights_replace(sparse_weights *w, const double *weights);
void sparse_weights_clear(sparse_weights *w);

#endif
