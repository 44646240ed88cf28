/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "loops.h"

#define DISPATCH(real, suffix)                                                                     \
  ISA_DECLARE(void, loops_fill_##suffix,                                                           \
              (real * place, const real *right, const real *x, int64_t n, int64_t size));          \
  void loops_fill_##suffix(real *place, const real *right, const real *x, int64_t n,               \
                           int64_t size) {                                                         \
    ISA_DISPATCH(loops_fill_##suffix)(place, right, x, n, size);                                   \
  }                                                                                                \
  ISA_DECLARE(void, loops_multiply_##suffix, (real * a, const real *b, int64_t n));                \
  void loops_multiply_##suffix(real *a, const real *b, int64_t n) {                                \
    ISA_DISPATCH(loops_multiply_##suffix)(a, b, n);                                                \
  }                                                                                                \
  ISA_DECLARE(void, loops_add_##suffix,                                                            \
              (double *sum, double alpha, const real *left, const real *y, int64_t n));            \
  void loops_add_##suffix(double *sum, double alpha, const real *left, const real *y, int64_t n) { \
    ISA_DISPATCH(loops_add_##suffix)(sum, alpha, left, y, n);                                      \
  }                                                                                                \
  ISA_DECLARE(void, loops_factor_##suffix,                                                         \
              (real * to, const real *from, const real *x, int64_t n));                            \
  void loops_factor_##suffix(real *to, const real *from, const real *x, int64_t n) {               \
    ISA_DISPATCH(loops_factor_##suffix)(to, from, x, n);                                           \
  }                                                                                                \
  ISA_DECLARE(void, loops_round_##suffix, (real * to, const double *x, double factor, int64_t n)); \
  void loops_round_##suffix(real *to, const double *x, double factor, int64_t n) {                 \
    ISA_DISPATCH(loops_round_##suffix)(to, x, factor, n);                                          \
  }                                                                                                \
  ISA_DECLARE(void, loops_scale_##suffix, (real * to, const real *from, real scale, int64_t n));   \
  void loops_scale_##suffix(real *to, const real *from, real scale, int64_t n) {                   \
    ISA_DISPATCH(loops_scale_##suffix)(to, from, scale, n);                                        \
  }                                                                                                \
  ISA_DECLARE(void, loops_bound_##suffix, (double *bound, double c, const real *left, int64_t n)); \
  void loops_bound_##suffix(double *bound, double c, const real *left, int64_t n) {                \
    ISA_DISPATCH(loops_bound_##suffix)(bound, c, left, n);                                         \
  }                                                                                                \
  ISA_DECLARE(double, loops_squares_##suffix, (const real *x, int64_t n));                         \
  double loops_squares_##suffix(const real *x, int64_t n) {                                        \
    return ISA_DISPATCH(loops_squares_##suffix)(x, n);                                             \
  }

DISPATCH(double, f64)
DISPATCH(float, f32)

ISA_DECLARE(double, loops_largest, (const double *x, int64_t n));
double loops_largest(const double *x, int64_t n) {
  return ISA_DISPATCH(loops_largest)(x, n);
}
