/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The loops between the transforms, compiled for every instruction set: one IEEE operation an
 * element where it stands, nothing fused, so the bits are the same everywhere. */
#ifndef ATTEST_TOEPLITZ_LOOPS_H
#define ATTEST_TOEPLITZ_LOOPS_H

#include "../tensor/isa.h"

#define TOEPLITZ_LOOPS(real, suffix)                                                               \
  /* place[j] = right[j] x[j], j < n (right NULL: x[j]); zeros up to size, where that is larger.   \
   */                                                                                              \
  void loops_fill_##suffix(real *place, const real *right, const real *x, int64_t n,               \
                           int64_t size);                                                          \
  /* a *= b, n complex numbers. */                                                                 \
  void loops_multiply_##suffix(real *a, const real *b, int64_t n);                                 \
  /* sum[i] += alpha left[i] y[i]. */                                                              \
  void loops_add_##suffix(double *sum, double alpha, const real *left, const real *y, int64_t n);  \
  /* to[i] = from[i] x[i]. */                                                                      \
  void loops_factor_##suffix(real *to, const real *from, const real *x, int64_t n);                \
  /* to[i] = x[i] factor, rounded to double, then to real. */                                      \
  void loops_round_##suffix(real *to, const double *x, double factor, int64_t n);                  \
  /* to[i] = from[i] scale. */                                                                     \
  void loops_scale_##suffix(real *to, const real *from, real scale, int64_t n);                    \
  /* bound[i] += c |left[i]|. */                                                                   \
  void loops_bound_##suffix(double *bound, double c, const real *left, int64_t n);                 \
  /* The sum of squares in double, in 16 interleaved chains. */                                    \
  double loops_squares_##suffix(const real *x, int64_t n)

TOEPLITZ_LOOPS(double, f64);
TOEPLITZ_LOOPS(float, f32);
/* The largest |x[i]|; NaN where one is not finite. */
double loops_largest(const double *x, int64_t n);

#endif
