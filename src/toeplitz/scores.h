/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One row in balls of a kernel whose weights are the scores, or a polynomial of them: x = sum w_j
 * v_j / (sum w_j + eps), or sum w_j v_j without normalisation. Internal to the Toeplitz room. */
#ifndef ATTEST_TOEPLITZ_SCORES_H
#define ATTEST_TOEPLITZ_SCORES_H

#include "../softmax/row.h"
#include "toeplitz.h"

typedef struct {
  softmax_keys keys;
  int normalizes;
  slong prec;
  slong degree;      /* of the polynomial; -1: the weights are the scores */
  arb_ptr c, c_size; /* coefficients and their absolute values */
  arb_ptr score, t;  /* of the visible keys */
  /* w_j, and h_j with S = sum h_j |v_j - x| / |sum w|: t_j, or |p'(s_j)| t_j + P(|s_j|), P the
   * polynomial of the absolute coefficients. */
  arb_ptr weight, move;
  arb_t total; /* sum w + eps; 1 without normalisation */
  arb_t moves; /* sum h; 0 without normalisation */
} score_row;

attest_status score_row_init(score_row *r, const attest_problem *problem,
                             const problem_slice *slice, int64_t row, slong prec,
                             attest_error *error);
void score_row_clear(score_row *r);

/* Sums over the keys of one component: of the numerator, and around a given x those of MATH section
 * 7. x is 0 without normalisation. */
typedef struct {
  arb_t weighted; /* sum w v */
  arb_t absolute; /* sum |w v| */
  arb_t spread;   /* sum h |v - x| */
  arb_t size;     /* sum h |v| */
} score_sums;

void score_sums_init(score_sums *sums);
void score_sums_clear(score_sums *sums);
void score_sums_weighted(score_sums *sums, const score_row *r, const problem_slice *slice,
                         int64_t component);
void score_sums_spread(score_sums *sums, const arb_t x, const score_row *r,
                       const problem_slice *slice, int64_t component);
/* v of the n-th visible key, exactly. */
void score_value(arb_t v, const score_row *r, const problem_slice *slice, int64_t n,
                 int64_t component);

#endif
