/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Attention whose scores depend on positions through Toeplitz matrices: rope-softmax, rope-linear,
 * toeplitz (MATH section 4).
 *
 * rope-softmax is softmax attention of rotated queries and keys, and its rooms are those of
 * softmax: q_i^T R_{j-i} k_j = (R_i q_i).(R_j k_j). toeplitz has the softmax room's ball and exact
 * tiers, with the form q_i W_{i-j} k_j (problem/pairing.h). rope-linear divides sum s_ij v_j by sum
 * s_ij (+ eps). `coefficients` make the weights of toeplitz and rope-linear a polynomial p(s_ij);
 * a row whose weights add up to exactly zero is 0/0, NaN: decided exactly (vanish.c) but for
 * polynomials of degree 2 and more under rotations, and there where all scores vanish. */
#ifndef ATTEST_TOEPLITZ_TOEPLITZ_H
#define ATTEST_TOEPLITZ_TOEPLITZ_H

#include "../problem/room.h"

extern const problem_room rope_softmax_room, rope_linear_room, toeplitz_room;

/* ---- reference.c: weights that are scores or polynomials of them, in balls ---- */
attest_status score_ball(room_balls *balls, const attest_problem *problem,
                         const problem_slice *slice, int64_t row, int output, unsigned want,
                         slong prec, attest_error *error);
attest_status score_backward_explicit(measure_interval *value, const attest_problem *problem,
                                      const problem_slice *slice, int64_t row, int output,
                                      int64_t component, double got, double u_w, double u_s,
                                      double quantum, attest_error *error);
/* ---- vanish.c ---- */
/* Whether every form of the row is exactly zero because in every pair of components the query or
 * the key is zero, or the scale is. */
int rope_linear_vanishes(const attest_problem *problem, const problem_slice *slice, int64_t row);
/* Whether the weights of the row, scores or polynomials of them, and eps add up to exactly zero; 0
 * also where that is not known: for rotated scores above degree 1 and eps = sqrt(ratio). */
int weights_vanish(const attest_problem *problem, const problem_slice *slice, int64_t row);
/* linear_zero of rooms (problem/room.h): 1, or -1 where it does not hold or is not known. */
int score_linear_zero(const attest_problem *problem, const problem_slice *slice, int64_t row,
                      int output, int n, const int64_t component[], const fmpq *coefficient,
                      const fmpq_t constant);

/* ---- enclose.c: rope-linear and toeplitz in double ---- */
attest_status toeplitz_enclose_open(void **work, const attest_problem *problem,
                                    const problem_slice *slice, unsigned want, attest_error *error);
void toeplitz_enclose_rows(room_block *block, const void *work, unsigned want);
void toeplitz_enclose_close(void *work);
void toeplitz_sensitivity(double *s_lo, double *s_hi, const double *x, const double *radius,
                          const void *work, int64_t row);
/* ---- direct.c: the direct kernel ---- */
attest_status toeplitz_kernel(attest_tensor *out, attest_tensor *lse, const attest_problem *problem,
                              attest_error *error);
room_machine toeplitz_machine(attest_dtype dtype);
/* ---- bound.c ---- */
attest_status toeplitz_machine_parse(room_machine *machine, const char *text, attest_error *error);

#endif
