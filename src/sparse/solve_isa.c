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

/* How powers are taken: r = 1, 2, 3, a whole r by products, any r, any r from v = 1 - u. */
enum { POWER_ANY, POWER_ONE, POWER_TWO, POWER_THREE, POWER_WHOLE, POWER_NEAR };
/* Products round r times: few enough for results in float32. */
enum { WHOLE_MAX = 32 };

ISA_INLINE vd whole_power(vd y, int n) {
  vd power = vd_set1(1);
  for (; n; n >>= 1, y = y * y)
    if (n & 1) power = power * y;
  return power;
}

ISA_INLINE vf rough_whole_power(vf y, int n) {
  vf power = vf_set1(1);
  for (; n; n >>= 1, y = y * y)
    if (n & 1) power = power * y;
  return power;
}

/* One vector: w = y^r where y > 0, else 0; share = w / y. For POWER_NEAR y is 1 - e, e = u + gap,
 * and log(1 - e) is log y + (what rounding y has lost) / y. */
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
  } else if (how == POWER_THREE) {
    *share = safe * safe;
    *w = *share * safe;
  } else if (how == POWER_WHOLE) {
    *share = whole_power(safe, (int)r - 1);
    *w = *share * safe;
  } else {
    safe = vd_max(safe, vd_set1(0x1p-1000));
    vd inverse = vd_inverse(safe), logarithm = vd_log(safe);
    if (how == POWER_NEAR) logarithm = logarithm + ((unit - safe) - e) * inverse;
    vd x = vd_set1(r) * logarithm, most = vd_set1(EXP64_MAX);
    *w = vd_exp(vd_select(x < most, x, most));
    *share = *w * inverse;
  }
  *w = vd_select(inside, *w, zero);
  *share = vd_select(inside, *share, zero);
}

/* w and shares are stored unless NULL. */
ISA_INLINE power_sums sums_of(double *w, double *shares, const double *gap, int64_t n, double u,
                              double r, const int how) {
  vd total[VECTORS], slope[VECTORS];
  for (int i = 0; i < VECTORS; i++)
    total[i] = slope[i] = (vd){0};
  for (int64_t j = 0; j < n; j += LANES)
    for (int i = 0; i < VECTORS; i++) {
      int64_t at = j + i * VD_LANES;
      vd power, share;
      one(&power, &share, vd_set1(u), vd_load(gap + at), r, how);
      if (w) vd_store(w + at, power);
      if (shares) vd_store(shares + at, share);
      total[i] += power;
      slope[i] += share;
    }
  return (power_sums){tree(total), tree(slope)};
}

static power_sums sums(double *w, double *shares, const double *gap, int64_t n, double u, double r,
                       int how) {
  return how == POWER_ONE     ? sums_of(w, shares, gap, n, u, r, POWER_ONE)
         : how == POWER_TWO   ? sums_of(w, shares, gap, n, u, r, POWER_TWO)
         : how == POWER_THREE ? sums_of(w, shares, gap, n, u, r, POWER_THREE)
         : how == POWER_WHOLE ? sums_of(w, shares, gap, n, u, r, POWER_WHOLE)
         : how == POWER_NEAR  ? sums_of(w, shares, gap, n, u, r, POWER_NEAR)
                              : sums_of(w, shares, gap, n, u, r, POWER_ANY);
}

/* The same sums in float, for guesses. */
enum { ROUGH_LANES = 16, ROUGH_VECTORS = ROUGH_LANES / VF_LANES };
static power_sums rough_sums(const float *gap, int64_t n, float u, float r, int how) {
  int near = how == POWER_NEAR;
  vf total[ROUGH_VECTORS], slope[ROUGH_VECTORS], zero = {0}, unit = vf_set1(1);
  for (int i = 0; i < ROUGH_VECTORS; i++)
    total[i] = slope[i] = zero;
  for (int64_t j = 0; j < n; j += ROUGH_LANES)
    for (int i = 0; i < ROUGH_VECTORS; i++) {
      vf g = vf_load(gap + j + i * VF_LANES), y = near ? unit - (vf_set1(u) + g) : vf_set1(u) - g;
      vfi inside = y > zero;
      vf safe = vf_max(vf_select(inside, y, unit), vf_set1(0x1p-100f));
      vf power, share;
      if (how == POWER_WHOLE) {
        share = vf_select(inside, rough_whole_power(safe, (int)r - 1), zero);
        power = share * safe;
      } else {
        power = vf_select(inside, vf_exp(vf_set1(r) * vf_log(safe)), zero);
        share = power * vf_inverse(safe);
      }
      total[i] += power;
      slope[i] += share;
    }
  float lane[2][ROUGH_LANES];
  for (int i = 0; i < ROUGH_VECTORS; i++) {
    vf_store(lane[0] + i * VF_LANES, total[i]);
    vf_store(lane[1] + i * VF_LANES, slope[i]);
  }
  for (int step = ROUGH_LANES / 2; step; step /= 2)
    for (int i = 0; i < step; i++) {
      lane[0][i] += lane[0][i + step];
      lane[1][i] += lane[1][i + step];
    }
  return (power_sums){(double)lane[0][0], (double)lane[1][0]};
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

/* How far Newton's step lowers u, or raises v. */
static double fall_of(power_sums s, double r, int how) {
  double over = norm_less_one(s.total, r, how);
  return over * s.total / ((1 + over) * s.slope);
}

/* total^(1/r) is convex in u, with slope at least 1: Newton from u = 1. Where powers are dear,
 * first in float, as far as that goes. Returns u, or v = 1 - u. */
static double start(float *rough, const double *gap, int64_t n, double r, int how) {
  double u = how == POWER_NEAR ? 0 : 1;
  if (how != POWER_NEAR && how != POWER_ANY && how != POWER_WHOLE) return u;
  int64_t padded = (n + ROUGH_LANES - 1) / ROUGH_LANES * ROUGH_LANES;
  for (int64_t j = 0; j < padded; j++)
    rough[j] = j < n ? (float)gap[j] : 2;
  for (int step = 0; step < 30; step++) {
    double fall = fall_of(rough_sums(rough, padded, (float)u, (float)r, how), r, how);
    if (!(fall > 0) || (how != POWER_NEAR && fall >= u)) break;
    u += how == POWER_NEAR ? fall : -fall;
    if (r * fall <= 0x1p-8) break; /* the next step would be its square */
  }
  return u;
}

/* Newton in double until the next step is below `least`; that one is applied to the weights to
 * first order. Returns the sum of the weights. */
static double newton(double *w, double *scratch, const double *gap, int64_t n, double r, int how,
                     double least) {
  double u = start((float *)scratch, gap, n, r, how), fall = 0;
  power_sums s = {0, 0};
  for (int step = 0; step < 60; step++) {
    s = sums(w, scratch, gap, n, u, r, how);
    fall = fall_of(s, r, how);
    if (fabs(fall) * r <= least || !(fabs(fall) < 1)) break;
    u += how == POWER_NEAR ? fall : -fall;
  }
  if (fall == 0 || !(fabs(fall) * r <= least)) return s.total;
  vd sum[VECTORS], factor = vd_set1(r * fall), zero = {0};
  for (int i = 0; i < VECTORS; i++)
    sum[i] = zero;
  for (int64_t j = 0; j < n; j += LANES)
    for (int i = 0; i < VECTORS; i++) {
      int64_t at = j + i * VD_LANES;
      vd corrected = vd_max(vd_load(w + at) - factor * vd_load(scratch + at), zero);
      vd_store(w + at, corrected);
      sum[i] += corrected;
    }
  return tree(sum);
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
    if (sums(NULL, NULL, gap, n, nearest, r, POWER_ANY).total < 1)
      edge = nearest;
    else
      next = nearest;
  }
  for (int64_t j = 0; j < keys; j++)
    gap[j] = gap[j] - edge;
  for (lo = hi = next - edge;
       sums(NULL, NULL, gap, n, lo, r, POWER_ANY).total >= 1 && lo > 0x1p-1000;)
    lo *= 0x1p-16;
  for (int step = 0; step < 80; step++) {
    double middle = hi > 4 * lo ? sqrt(lo * hi) : lo + (hi - lo) / 2;
    if (!(middle > lo && middle < hi)) break;
    if (sums(NULL, NULL, gap, n, middle, r, POWER_ANY).total < 1)
      lo = middle;
    else
      hi = middle;
  }
  return hi;
}

double ISA(sparse_weight_sum)(const double *x, int64_t n) {
  double total = 0, lost = 0;
  for (int64_t i = 0; i < n; i += SPARSE_LANES * SPARSE_CHAIN) {
    double lane[SPARSE_LANES] = {0};
    int64_t end = n - i < SPARSE_LANES * SPARSE_CHAIN ? n - i : SPARSE_LANES * SPARSE_CHAIN, k = 0;
    for (; k + SPARSE_LANES <= end; k += SPARSE_LANES)
      for (int l = 0; l < SPARSE_LANES; l++)
        lane[l] += x[i + k + l];
    for (int l = 0; k + l < end; l++)
      lane[l] += x[i + k + l];
    for (int step = SPARSE_LANES / 2; step; step /= 2)
      for (int l = 0; l < step; l++)
        lane[l] += lane[l + step];
    double sum = total + lane[0], part = sum - total;
    lost += (total - (sum - part)) + (lane[0] - part);
    total = sum;
  }
  return total + lost;
}

double ISA(sparse_solve_gaps)(double *w, double *scratch, double *gap, int64_t keys, double r,
                              int whole, int is_double) {
  int64_t n = (keys + LANES - 1) / LANES * LANES;
  int how = whole == 1                                              ? POWER_ONE
            : whole == 2                                            ? POWER_TWO
            : whole == 3                                            ? POWER_THREE
            : !is_double && r > 3 && r <= WHOLE_MAX && r == rint(r) ? POWER_WHOLE
            : r > 3                                                 ? POWER_NEAR
                                                                    : POWER_ANY;
  /* A first-order step leaves (r fall)^2 / 2, and fall^r at the edge. */
  double least = is_double || (how != POWER_NEAR && how != POWER_WHOLE) ? 0x1p-28 : 0x1p-14;
  if (r >= 1) return newton(w, scratch, gap, n, r, how, least);
  double rest = bisect(gap, n, keys, r);
  return sums(w, NULL, gap, n, rest, r, POWER_ANY).total;
}
