/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "loops.h"

#define LOOPS(real, suffix)                                                                        \
  void ISA(loops_fill_##suffix)(real *restrict place, const real *restrict right,                  \
                                const real *restrict x, int64_t n, int64_t size);                  \
  void ISA(loops_fill_##suffix)(real *restrict place, const real *restrict right,                  \
                                const real *restrict x, int64_t n, int64_t size) {                 \
    if (right)                                                                                     \
      for (int64_t j = 0; j < n; j++)                                                              \
        place[j] = right[j] * x[j];                                                                \
    else                                                                                           \
      memcpy(place, x, (size_t)n * sizeof *place);                                                 \
    if (size > n) memset(place + n, 0, (size_t)(size - n) * sizeof *place);                        \
  }                                                                                                \
  void ISA(loops_multiply_##suffix)(real *restrict a, const real *restrict b, int64_t n);          \
  void ISA(loops_multiply_##suffix)(real *restrict a, const real *restrict b, int64_t n) {         \
    for (int64_t i = 0; i < n; i++) {                                                              \
      real x = a[2 * i], y = a[2 * i + 1], u = b[2 * i], v = b[2 * i + 1];                         \
      a[2 * i] = x * u - y * v;                                                                    \
      a[2 * i + 1] = x * v + y * u;                                                                \
    }                                                                                              \
  }                                                                                                \
  void ISA(loops_add_##suffix)(double *restrict sum, double alpha, const real *restrict left,      \
                               const real *restrict y, int64_t n);                                 \
  void ISA(loops_add_##suffix)(double *restrict sum, double alpha, const real *restrict left,      \
                               const real *restrict y, int64_t n) {                                \
    for (int64_t i = 0; i < n; i++)                                                                \
      sum[i] += alpha * (double)left[i] * (double)y[i];                                            \
  }                                                                                                \
  void ISA(loops_factor_##suffix)(real *restrict to, const real *restrict from,                    \
                                  const real *restrict x, int64_t n);                              \
  void ISA(loops_factor_##suffix)(real *restrict to, const real *restrict from,                    \
                                  const real *restrict x, int64_t n) {                             \
    for (int64_t i = 0; i < n; i++)                                                                \
      to[i] = from[i] * x[i];                                                                      \
  }                                                                                                \
  void ISA(loops_round_##suffix)(real *restrict to, const double *restrict x, double factor,       \
                                 int64_t n);                                                       \
  void ISA(loops_round_##suffix)(real *restrict to, const double *restrict x, double factor,       \
                                 int64_t n) {                                                      \
    for (int64_t i = 0; i < n; i++)                                                                \
      to[i] = (real)(x[i] * factor);                                                               \
  }                                                                                                \
  void ISA(loops_scale_##suffix)(real *restrict to, const real *restrict from, real scale,         \
                                 int64_t n);                                                       \
  void ISA(loops_scale_##suffix)(real *restrict to, const real *restrict from, real scale,         \
                                 int64_t n) {                                                      \
    for (int64_t i = 0; i < n; i++)                                                                \
      to[i] = from[i] * scale;                                                                     \
  }                                                                                                \
  void ISA(loops_bound_##suffix)(double *restrict bound, double c, const real *restrict left,      \
                                 int64_t n);                                                       \
  void ISA(loops_bound_##suffix)(double *restrict bound, double c, const real *restrict left,      \
                                 int64_t n) {                                                      \
    for (int64_t i = 0; i < n; i++)                                                                \
      bound[i] += c * fabs((double)left[i]);                                                       \
  }                                                                                                \
  double ISA(loops_squares_##suffix)(const real *x, int64_t n);                                    \
  double ISA(loops_squares_##suffix)(const real *x, int64_t n) {                                   \
    double chain[16] = {0}, sum = 0;                                                               \
    int64_t i = 0;                                                                                 \
    for (; i + 16 <= n; i += 16)                                                                   \
      for (int k = 0; k < 16; k++)                                                                 \
        chain[k] += (double)x[i + k] * (double)x[i + k];                                           \
    for (; i < n; i++)                                                                             \
      chain[i % 16] += (double)x[i] * (double)x[i];                                                \
    for (int k = 0; k < 16; k++)                                                                   \
      sum += chain[k];                                                                             \
    return sum;                                                                                    \
  }

LOOPS(double, f64)
LOOPS(float, f32)

double ISA(loops_largest)(const double *x, int64_t n);
double ISA(loops_largest)(const double *x, int64_t n) {
  vd most[2] = {{0}, {0}}, zero[2] = {{0}, {0}}; /* zero: NaN once a number is not finite */
  double largest = 0, rest = 0;
  int64_t i = 0;
  for (; i + 2 * VD_LANES <= n; i += 2 * VD_LANES)
    for (int k = 0; k < 2; k++) {
      vd y = vd_load(x + i + k * VD_LANES);
      most[k] = vd_max(vd_abs(y), most[k]);
      zero[k] += y * vd_set1(0);
    }
  for (; i < n; i++) {
    largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
    rest += x[i] * 0;
  }
  most[0] = vd_max(most[0], most[1]);
  zero[0] += zero[1];
  for (int k = 0; k < VD_LANES; k++) {
    largest = most[0][k] > largest ? most[0][k] : largest;
    rest += zero[0][k];
  }
  return rest == 0 ? largest : NAN;
}
