/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One row of Taylor or linear attention in balls: its terms, visible keys first, then the features
 * of the initial state. Term n contributes weight w_n times the row of values u_n, whose last
 * column is what it adds to the normaliser: u = [v_j, 1] for a key, u = S0[beta] for a feature.
 * Internal to the room. */
#ifndef ATTEST_TAYLOR_ROW_H
#define ATTEST_TAYLOR_ROW_H

#include "basis.h"
#include "taylor.h"

typedef struct {
  const attest_problem *problem;
  const problem_slice *slice;
  taylor_kind kind;
  int64_t row;
  slong prec;
  int64_t keys, count; /* terms that are keys; all terms */
  int64_t *key;
  arb_ptr w; /* weights, decay included */
  arb_ptr c; /* conditioning: by how much u_s units move w at most, in units (see taylor_row_c) */
  arb_ptr s, t; /* scores and absolute scores of the keys; NULL unless asked for */
} taylor_row;

/* with_c: c, s and t too. c of a key is, times its decay,
 *   direct     |T_{P-1}(s)| t + T_P(|s|)
 *   stateful   T_P(t)                      (linear: t)
 * and of a feature of the initial state |w|. */
attest_status taylor_row_init(taylor_row *r, const attest_problem *problem,
                              const problem_slice *slice, int64_t row, int with_c, slong prec,
                              attest_error *error);
void taylor_row_clear(taylor_row *r);
/* u_n of column `column` (dv: the normaliser's) of term n, exactly. */
double taylor_row_value(const taylor_row *r, int64_t n, int64_t column);
/* Whether term n is conditioned by the rule of states: S += c (|u_c| + |x| |u_dv|) instead of
 * c |u_c - x u_dv|. */
int taylor_row_is_stateful(const taylor_row *r, int64_t n);

/* T_degree(x) for degree >= 0, x for -1, 0 for anything less; sign of derivatives: T_P' = T_{P-1},
 * and of the degree -1: 1. */
void taylor_polynomial(arb_t y, const arb_t x, int64_t degree, slong prec);
void taylor_derivative(arb_t y, const arb_t x, int64_t degree, slong prec);
/* real as a ball. */
void taylor_real_ball(arb_t x, const problem_real *real, slong prec);

/* Weights of the query side of a state: Phi_beta(q) = scale^m / beta! q^beta, or scale f(q_a). */
attest_status taylor_query_features(arb_ptr phi, const attest_problem *problem,
                                    const problem_slice *slice, int64_t row, slong prec,
                                    attest_error *error);

#endif
