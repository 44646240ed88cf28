/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The threshold of entmax for the kernels, in double, on LANES interleaved chains.
 *
 * For large r (alpha near 1) y = u - gap is close to 1 and y^r asks for log y to a relative
 * accuracy that y does not hold. There the unknown is v = 1 - u, and log y = log(1 - e) with e = v
 * + gap. */
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

/* How powers are taken: r = 1, r = 2, any r, any r from v = 1 - u. */
enum { POWER_ANY = 0, POWER_ONE = 1, POWER_TWO = 2, POWER_NEAR = 3 };

/* log(1 - e) for 0 <= e < 1, to full relative accuracy for e <= 1/4: 2 atanh z, z = -e / (2 - e).
 */
ISA_INLINE vd log_below_one(vd e) {
  vd z = -e / (vd_set1(2) - e), z2 = z * z, s = vd_set1(1.0 / 21);
  for (int k = 19; k >= 3; k -= 2)
    s = vd_fma(s, z2, vd_set1(1.0 / k));
  vd near = vd_fma(z * z2, s, z);
  return vd_select(e <= vd_set1(0.25), near + near, vd_log(vd_set1(1) - e));
}

/* One vector: w = y^r where y > 0, else 0; share = w / y. y is 1 - e for POWER_NEAR. */
ISA_INLINE void one(vd *w, vd *share, vd u, vd gap, double r, const int how) {
  const vd zero = {0}, unit = vd_set1(1);
  vd e = u + gap, y = how == POWER_NEAR ? unit - e : u - gap;
  vdi inside = y > zero;
  vd safe = vd_select(inside, y, unit);
  if (how == POWER_ONE) {
    *w = safe;
    *share = unit;
  } else if (how == POWER_TWO) {
    *w = safe * safe;
    *share = safe;
  } else if (how == POWER_NEAR) {
    *w = vd_exp(vd_set1(r) * log_below_one(vd_select(inside, e, zero)));
    *share = *w / safe;
  } else {
    safe = vd_max(safe, vd_set1(0x1p-1000));
    *w = vd_power(safe, r);
    *share = *w / safe;
  }
  *w = vd_select(inside, *w, zero);
  *share = vd_select(inside, *share, zero);
}

ISA_INLINE power_sums sums_of(double *w, const double *gap, int64_t n, double u, double r,
                              const int how) {
  vd total[VECTORS], slope[VECTORS];
  for (int i = 0; i < VECTORS; i++)
    total[i] = slope[i] = (vd){0};
  for (int64_t j = 0; j < n; j += LANES)
    for (int i = 0; i < VECTORS; i++) {
      vd power, share;
      one(&power, &share, vd_set1(u), vd_load(gap + j + i * VD_LANES), r, how);
      if (w) vd_store(w + j + i * VD_LANES, power);
      total[i] += power;
      slope[i] += share;
    }
  return (power_sums){tree(total), tree(slope)};
}

static power_sums sums(double *w, const double *gap, int64_t n, double u, double r, int how) {
  return how == POWER_ONE    ? sums_of(w, gap, n, u, r, POWER_ONE)
         : how == POWER_TWO  ? sums_of(w, gap, n, u, r, POWER_TWO)
         : how == POWER_NEAR ? sums_of(w, gap, n, u, r, POWER_NEAR)
                             : sums_of(w, gap, n, u, r, POWER_ANY);
}

static double first_lane(vd x) {
  double lane[VD_LANES];
  vd_store(lane, x);
  return lane[0];
}

/* total^(1/r) - 1. */
static double norm_less_one(double total, double r, int how) {
  if (how == POWER_ONE) return total - 1;
  if (how == POWER_TWO) return sqrt(total) - 1;
  double t = first_lane(vd_log(vd_set1(total))) / r;
  return fabs(t) < 0x1p-20 ? t * (1 + t / 2) : first_lane(vd_exp(vd_set1(t))) - 1;
}

/* As in solve.c: total^(1/r) is convex in u, with slope at least 1. Returns u, or v = 1 - u. */
static double newton(const double *gap, int64_t n, double r, int how) {
  int near = how == POWER_NEAR;
  double u = near ? 0 : 1;
  for (int step = 0; step < 60; step++) {
    power_sums s = sums(NULL, gap, n, u, r, how);
    double over = norm_less_one(s.total, r, how);
    double fall = over * s.total / ((1 + over) * s.slope);
    if (!(fall > 0) || (!near && fall >= u)) break;
    u += near ? fall : -fall;
    if (fall <= 0x1p-50 * u) break;
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
  int how = whole == 1 ? POWER_ONE : whole == 2 ? POWER_TWO : r > 3 ? POWER_NEAR : POWER_ANY;
  double u = r >= 1 ? newton(gap, n, r, how) : bisect(gap, n, keys, r);
  return sums(w, gap, n, u, r, how).total;
}
