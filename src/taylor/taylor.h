/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Taylor attention and linear attention: references, enclosures, bounds, kernels.
 *
 *   w_ij = decay^(i'-j) T_P(scale q_i.k_j)          kernel taylor, T_P(s) = sum over m <= P of
 * s^m/m! w_ij = decay^(i'-j) scale f(q_i).f(k_j)         kernel linear; feature taylor: T_P as
 * above W_i  = sum_j w_ij + eps  (normalize sum),   out_i = sum_j w_ij v_j / W_i out_i = sum_j w_ij
 * v_j   (normalize none)
 *
 * over the visible keys j, i' the position of query i among the keys. An initial state S0 adds its
 * read decay^(i'+1) Phi(q_i).S0 to both sums, where Phi_beta(q) = scale^m / beta! q^beta and column
 * dv of S0 is the normaliser's. The final state is sum_j decay^(n-1-j) f(k_j) [v_j, 1] +
 * decay^n S0 over all n keys.
 *
 * Weights may be negative and W_i may be exactly 0 (odd degrees, identity features): such a row has
 * no value. Its class is EXACT_NAN, decided by exact arithmetic; nothing is divided by. A row that
 * sees no key and has no initial state is what empty-row says.
 *
 * `form` does not change the value, only what a computation can be blamed for: its conditioning
 * (S of the backward error) and its a-priori bound. */
#ifndef ATTEST_TAYLOR_TAYLOR_H
#define ATTEST_TAYLOR_TAYLOR_H

#include "../problem/room.h"

extern const problem_room taylor_room, linear_room;

/* What the parameters make of a weight. */
typedef struct {
  problem_feature feature; /* applied to the elements of q and k: identity, relu or elu1 */
  int64_t degree;          /* weight T_degree(s) of s = scale f(q).f(k); -1: s itself */
  int is_stateful;         /* computed by summing features: errors are relative to T_P(t) */
  int has_normalizer;
  int has_decay;
} taylor_kind;
taylor_kind taylor_kind_of(const attest_problem *problem);

/* f of one element. elu1 is 1 + x for x >= 0, else e^x: exact for the other features. */
double taylor_feature(problem_feature feature, double x); /* the nearest double but a few ulp */
void taylor_feature_arb(arb_t y, problem_feature feature, double x, slong prec);

/* Elements of the state that a problem starts with: (row, column) of the slice's S0. */
static inline double taylor_element(const attest_tensor *t, int64_t row, int64_t column) {
  return tensor_at(t, row * t->stride[0] + column * t->stride[1]);
}
/* Steps by which key j has decayed in row i: i' - j >= 0 under causal. */
int64_t taylor_steps(const problem_slice *slice, int64_t row, int64_t key);
/* Steps by which the initial state has: i' + 1, never negative. */
int64_t taylor_initial_steps(const problem_slice *slice, int64_t row);

/* Edge policy, by the empty rows alone: class and value of every element of a row of out.
 * 1: an ordinary row; 0: class and value are the answer; -1: trouble under empty-row error. */
int taylor_special_row(unsigned char *class, double *value, const attest_problem *problem,
                       const problem_slice *slice, int64_t row);
attest_status taylor_empty_row_trouble(const problem_slice *slice, int64_t row,
                                       attest_error *error);

/* ---- reference.c (balls): out and final-state */
attest_status taylor_ball(room_balls *balls, const attest_problem *problem,
                          const problem_slice *slice, int64_t row, int output, unsigned want,
                          slong prec, attest_error *error);

/* ---- exact.c: rationals, Q(sqrt r) for scale sqrt(r), and exponentials of rationals for elu1 */
int taylor_linear_zero(const attest_problem *problem, const problem_slice *slice, int64_t row,
                       int output, int n, const int64_t component[], const fmpq *coefficient,
                       const fmpq_t constant);
/* Whether W of a row of out is exactly 0: 1, 0, or -1 (out of memory). */
int taylor_normalizer_vanishes(const attest_problem *problem, const problem_slice *slice,
                               int64_t row);

/* ---- perturb.c */
attest_status taylor_backward_explicit(measure_interval *value, const attest_problem *problem,
                                       const problem_slice *slice, int64_t row, int output,
                                       int64_t component, double got, double u_w, double u_s,
                                       double quantum, attest_error *error);

/* ---- enclose.c (double), enclose_dd.c (double-double) */
attest_status taylor_enclose_open(void **work, const attest_problem *problem,
                                  const problem_slice *slice, unsigned want, attest_error *error);
void taylor_enclose_rows(room_block *block, const void *work, unsigned want);
void taylor_enclose_close(void *work);
void taylor_sensitivity(double *s_lo, double *s_hi, const double *x, const double *radius,
                        const void *work, int64_t row);
void taylor_enclose_dd(double *x_hi, double *x_lo, double *radius, const void *work, int64_t row,
                       int output);

/* ---- bound.c */
room_machine taylor_machine(attest_dtype dtype);
attest_status taylor_machine_parse(room_machine *machine, const char *text, attest_error *error);

#endif
