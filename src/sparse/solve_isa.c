/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The threshold of entmax for the kernels, in double, on LANES interleaved chains. */
#include <math.h>

#include "kernel.h"
#include "power_isa.h"

enum { LANES = SPARSE_LANES, VECTORS = LANES / VD_LANES };

typedef struct {
  double total, slope; /* sum y^r and sum y^(r-1), y = u - gap > 0 */
} power_sums;

/* Sum of the interleaved chains by a tree. */
ISA_INLINE double tree(const vd chain[]) {
  double lane[LANES];
  for (int i = 0; i < VECTORS; i++)
    vd_store(lane + i * VD_LANES, chain[i]);
  for (int step = LANES / 2; step; step /= 2)
    for (int i = 0; i < step; i++)
      lane[i] += lane[i + step];
  return lane[0];
}

/* One vector: w = y^r where y > 0, else 0; share = w / y. */
ISA_INLINE void one(vd *w, vd *share, vd y, double r, const int whole) {
  const vd zero = {0};
  vdi inside = y > zero;
  vd safe = vd_select(inside, y, vd_set1(1));
  if (whole == 1) {
    *w = safe;
    *share = vd_set1(1);
  } else if (whole == 2) {
    *w = safe * safe;
    *share = safe;
  } else {
    safe = vd_max(safe, vd_set1(0x1p-1000));
    *w = vd_power(safe, r);
    *share = *w / safe;
  }
  *w = vd_select(inside, *w, zero);
  *share = vd_select(inside, *share, zero);
}

ISA_INLINE power_sums sums_of(double *w, const double *gap, int64_t n, double u, double r,
                              const int whole) {
  vd total[VECTORS], slope[VECTORS];
  for (int i = 0; i < VECTORS; i++)
    total[i] = slope[i] = (vd){0};
  for (int64_t j = 0; j < n; j += LANES)
    for (int i = 0; i < VECTORS; i++) {
      vd power, share;
      one(&power, &share, vd_set1(u) - vd_load(gap + j + i * VD_LANES), r, whole);
      if (w) vd_store(w + j + i * VD_LANES, power);
      total[i] += power;
      slope[i] += share;
    }
  return (power_sums){tree(total), tree(slope)};
}

static power_sums sums(double *w, const double *gap, int64_t n, double u, double r, int whole) {
  return whole == 1   ? sums_of(w, gap, n, u, r, 1)
         : whole == 2 ? sums_of(w, gap, n, u, r, 2)
                      : sums_of(w, gap, n, u, r, 0);
}

static double root_of(double total, double r, int whole) {
  if (whole == 1) return total;
  if (whole == 2) return sqrt(total);
  vd x = vd_power(vd_set1(total), 1 / r);
  double lane[VD_LANES];
  vd_store(lane, x);
  return lane[0];
}

/* As in solve.c: total^(1/r) is convex in u, with slope at least 1. */
static double newton(const double *gap, int64_t n, double r, int whole) {
  double u = 1;
  for (int step = 0; step < 60; step++) {
    power_sums s = sums(NULL, gap, n, u, r, whole);
    double norm = root_of(s.total, r, whole);
    double next = u - (norm - 1) * s.total / (norm * s.slope);
    if (!(next < u && next > 0)) break;
    int done = u - next <= 0x1p-50 * u;
    u = next;
    if (done) break;
  }
  return u;
}

/* r < 1: slopes are infinite at the edge, so that u alone does not say what the last key of the
 * support weighs. u = edge + rest with `edge` the largest gap at which the sum is below 1: gaps are
 * counted from there, and halving finds `rest` to full relative precision. Returns it and leaves
 * the gaps counted from the edge. */
static double bisect(double *gap, int64_t n, int64_t keys, double r) {
  double edge = 0, next = 1; /* the largest gap with a sum below 1, and the first one beyond */
  double lo = 0, hi;
  for (;;) { /* the median of the gaps between them would be better than the mean; both end */
    double nearest = 2, middle = edge + (next - edge) / 2;
    for (int64_t j = 0; j < keys; j++)
      if (gap[j] > edge && gap[j] < next && fabs(gap[j] - middle) < fabs(nearest - middle))
        nearest = gap[j];
    if (nearest == 2) break;
    if (sums(NULL, gap, n, nearest, r, 0).total < 1)
      edge = nearest;
    else
      next = nearest;
  }
  for (int64_t j = 0; j < keys; j++)
    gap[j] = gap[j] - edge;
  for (lo = hi = next - edge; sums(NULL, gap, n, lo, r, 0).total >= 1 && lo > 0x1p-1000;)
    lo *= 0x1p-16;
  for (int step = 0; step < 80; step++) {
    double middle = hi > 4 * lo ? sqrt(lo * hi) : lo + (hi - lo) / 2;
    if (!(middle > lo && middle < hi)) break;
    if (sums(NULL, gap, n, middle, r, 0).total < 1)
      lo = middle;
    else
      hi = middle;
  }
  return hi;
}

double ISA(sparse_solve_gaps)(double *w, double *gap, int64_t keys, double r, int whole) {
  int64_t n = (keys + LANES - 1) / LANES * LANES;
  double u = r >= 1 ? newton(gap, n, r, whole) : bisect(gap, n, keys, r);
  return sums(w, gap, n, u, r, whole).total;
}
