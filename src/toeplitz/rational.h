/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Small attention problems over the rationals, with rotations by Pythagorean angles: cos and sin of
 * the angle of pair m are ((u^2 - v^2) / (u^2 + v^2), 2 u v / (u^2 + v^2)), and R_p is the p-th
 * power.
 */
#ifndef ATTEST_TOEPLITZ_RATIONAL_H
#define ATTEST_TOEPLITZ_RATIONAL_H

#include "decompose.h"

/* Small rationals, none of them zero, drawn by splitmix64. */
void rational_fill(fmpq *x, int64_t n, ulong *seed);
void rational_copy(fmpq *x, const fmpq *y, int64_t n);

/* cos and sin of `step` times the angle of pair m. */
void rational_rotation(fmpq_t c, fmpq_t s, int64_t m, int64_t step);

typedef struct {
  decompose_problem problem;
  fmpq_t half;     /* a bound for intervals: 1 */
  int64_t *places; /* a, then b */
  fmpq **symbols;
  fmpq *q, *k, *values, *mask;
} rational_rope;

/* n rows and keys of d components (even), support 2 d: W_{i-j} = R_{j-i}. 0, or -1: out of memory.
 */
int rational_rope_open(rational_rope *rope, int64_t n, int64_t d, int64_t width, int causal);
void rational_rope_close(rational_rope *rope);

#endif
