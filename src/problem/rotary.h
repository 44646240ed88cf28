/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rotary embedding in double: R_p turns pair m of the d components by the angle p theta_m, theta_m
 * = rope-base^(-2m/d), m = 0 .. d/2 - 1; the pair is (2m, 2m+1) under interleaved, (m, m + d/2)
 * under half. Scores only see differences of positions, so all positions of a slice are counted
 * from its first one and are never negative. */
#ifndef ATTEST_PROBLEM_ROTARY_H
#define ATTEST_PROBLEM_ROTARY_H

#include "problem.h"

/* Components of pair m. */
static inline void problem_rotary_pair(int64_t *x, int64_t *y, const problem_values *values,
                                       int64_t d, int64_t m) {
  int interleaved = values->rope_pairs == ROPE_INTERLEAVED;
  *x = interleaved ? 2 * m : m;
  *y = interleaved ? 2 * m + 1 : m + d / 2;
}

/* The first position of a slice; query i stands at i + offset, key j at j. */
static inline int64_t problem_first_position(const problem_slice *slice) {
  return slice->offset < 0 ? slice->offset : 0;
}

/* Phases of all positions of a slice; read by any number of threads. */
typedef struct problem_rotary problem_rotary;
attest_status problem_rotary_open(problem_rotary **rotary, const problem_values *values, int64_t d,
                                  int64_t positions, attest_error *error);
void problem_rotary_close(problem_rotary *rotary);

/* cos and sin of position theta_m as sums of two doubles, position < positions: absolute error at
 * most ROTARY_ERROR each. Plain operations in a fixed order on tables rounded from balls: the same
 * bits everywhere. */
#define ROTARY_ERROR 0x1p-98
void problem_rotary_phase(double cosine[2], double sine[2], const problem_rotary *rotary,
                          int64_t position, int64_t m);

/* y = R_position x in double, within ROTARY_ROUNDING |(x_a, x_b)| in each component of each pair
 * and, where products underflow, 2^-1073. Overflows where |x| is above 2^1022. y must not be x.
 *
 * Each component is fma(x_a, c, -+(x_b s)): c and s, rounded to double, are off by (2^-54 + 2^-98),
 * x_b s rounds once and so does the sum, u = 2^-53:
 *   u/2 (|x_a| + |x_b|) + u |x_b| + u (1 + 2u) |pair|  <=  (sqrt(2)/2 + 1 + 1) u |pair| < 2.75 u
 * |pair|. */
#define ROTARY_ROUNDING (2.75 * 0x1p-53)
void problem_rotate(double *y, const double *x, const problem_rotary *rotary, int64_t position);

/* What is left of R_position x beside y = problem_rotate: y + low is within ROTARY_LOW_ROUNDING
 * |(x_a, x_b)| in each component of each pair and, where products underflow, 2^-1070.
 *
 * Phases within 2^-98, products and sums of double-doubles within 2^-103 each: (|x_a| + |x_b|)
 * (2^-98 + 2^-102) < 2^-97 |pair|; low is at most 6 u |pair| and rounds to double. */
#define ROTARY_LOW_ROUNDING (1.01 * 0x1p-97)
void problem_rotate_low(double *low, const double *y, const double *x, const problem_rotary *rotary,
                        int64_t position);

/* size_a = size_b = |(x_a, x_b)|_2 for the components of every pair, within 4 u relative (below the
 * normal numbers, 2^-1073): sum_a size_a(q) size_a(k) is the absolute score of MATH section 7, 2
 * |q_pair| |k_pair| over the pairs. Infinite where the norm overflows. */
void problem_rotary_sizes(double *size, const double *x, const problem_values *values, int64_t d);

#endif
