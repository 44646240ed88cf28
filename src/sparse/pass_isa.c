/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The loops of the double tier of the sparse kernels. No fused operations and a fixed order: the
 * same bits on every instruction set. */
#include "line.h"

#include <math.h>

/* One panel of keys: f(q, k) summed in `dot`, g in `size`. */
#define DOTS(name, TERM, SIZE)                                                                     \
  void ISA(name)(double *dot, double *size, const double *q, const double *keys, int64_t d,        \
                 int64_t first, int64_t last) {                                                    \
    for (int64_t p = first; p < last; p++) {                                                       \
      const double *panel = keys + p * d * LINE_PANEL;                                             \
      double sum[LINE_PANEL] = {0}, absolute[LINE_PANEL] = {0};                                    \
      for (int64_t a = 0; a < d; a++) {                                                            \
        double x = q[a], x_size = fabs(x);                                                         \
        for (int i = 0; i < LINE_PANEL; i++) {                                                     \
          double k = panel[a * LINE_PANEL + i];                                                    \
          sum[i] += TERM;                                                                          \
          absolute[i] += SIZE;                                                                     \
        }                                                                                          \
      }                                                                                            \
      memcpy(dot + p * LINE_PANEL, sum, sizeof sum);                                               \
      memcpy(size + p * LINE_PANEL, absolute, sizeof absolute);                                    \
    }                                                                                              \
  }
DOTS(sparse_products, x *k, x_size *fabs(k))
DOTS(sparse_distances, (x - k) * (x - k), (x_size + fabs(k)) * (x_size + fabs(k)))

/* total += chain; chain = 0. */
ISA_INLINE void join(double *total, double *chain, int64_t n) {
  for (int64_t c = 0; c < n; c++) {
    total[c] += chain[c];
    chain[c] = 0;
  }
}

void ISA(sparse_sums)(double *sum, double *size, double *chain, const double *w, const int64_t *key,
                      int64_t n, const double *values, int64_t dv) {
  double *sizes = chain + dv;
  memset(chain, 0, 2 * (size_t)dv * sizeof *chain);
  memset(sum, 0, (size_t)dv * sizeof *sum);
  if (size) memset(size, 0, (size_t)dv * sizeof *size);
  for (int64_t i = 0; i < n; i++) {
    const double *v = values + key[i] * dv;
    double weight = w[i];
    for (int64_t c = 0; c < dv; c++)
      chain[c] += weight * v[c];
    for (int64_t c = 0; size && c < dv; c++)
      sizes[c] += weight * fabs(v[c]);
    if ((i + 1) % LINE_CHAIN && i + 1 < n) continue;
    join(sum, chain, dv);
    if (size) join(size, sizes, dv);
  }
}

void ISA(sparse_spreads)(double *far, double *pull, double *chain, const double *w,
                         const int64_t *key, int64_t n, const double *values, const double *x,
                         int64_t dv) {
  double *pulls = chain + dv;
  memset(chain, 0, 2 * (size_t)dv * sizeof *chain);
  memset(far, 0, (size_t)dv * sizeof *far);
  if (pull) memset(pull, 0, (size_t)dv * sizeof *pull);
  for (int64_t i = 0; i < n; i++) {
    const double *v = values + key[i] * dv;
    double weight = w[i];
    for (int64_t c = 0; c < dv; c++)
      chain[c] += weight * fabs(v[c] - x[c]);
    for (int64_t c = 0; pull && c < dv; c++)
      pulls[c] += weight * (v[c] - x[c]);
    if ((i + 1) % LINE_CHAIN && i + 1 < n) continue;
    join(far, chain, dv);
    if (pull) join(pull, pulls, dv);
  }
}
