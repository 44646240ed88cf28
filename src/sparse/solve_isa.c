/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The threshold of entmax for the kernels, in double, on LANES interleaved chains.
 *
 * The root u of F(u) = sum [u - gap]_+^r = 1 is that of the norm h = F^(1/r), which is convex in u
 * for r >= 1 with slope at least 1: Newton's step from anywhere ends at the root or above it, so
 * keys beyond its end are out for good. Where powers are dear (r > 3), a step solves the Taylor
 * polynomial of h of the third degree, which takes sums of y^(r-1), y^(r-2) and y^(r-3) too: one or
 * two steps in float and one in double do, after which the weights themselves move by their Taylor
 * polynomial.
 *
 * For large r (alpha near 1) y = u - gap is close to 1 and y^r asks for log y to a relative
 * accuracy that y does not hold. There the unknown is v = 1 - u, and log y = log(1 - e) with e = v
 * + gap. */
#include <math.h>

#include "kernel.h"
#include "power_isa.h"

enum { LANES = SPARSE_LANES, VECTORS = LANES / VD_LANES };

/* sum y^(r-k), y = u - gap > 0, k = 0 .. 3; k > 1 for POWER_NEAR only. */
typedef struct {
  double m[4];
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

/* n > 0. No square is taken that nobody asks for: it might be subnormal, and slow. */
ISA_INLINE vf rough_whole_power(vf y, int n) {
  vf power = vf_set1(1);
  for (;; y = y * y) {
    if (n & 1) power = power * y;
    if (!(n >>= 1)) return power;
  }
}

/* One vector: w = y^r where y > 0, else 0, and w / y; for POWER_NEAR 1 / y. There y is 1 - e, e = u
 * + gap, and log(1 - e) is log y + (what rounding y has lost) / y. */
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
    *share = how == POWER_NEAR ? inverse : *w * inverse;
  }
  *w = vd_select(inside, *w, zero);
  *share = vd_select(inside, *share, zero);
}

/* The same for results in float32, of any power, of `width` vectors; for POWER_NEAR leaner where
 * what rounding y has lost, r 2^-54 / y of a weight, is nothing to float32. Of a weight 2^-V it is
 * off by about 2^-34 (1 + V), relatively (theorem lean_power_error). */
enum { EXACT, LEAN, LEANER };
static int leanness(double r, int is_lean) {
  return !is_lean ? EXACT : r <= 0x1p12 ? LEANER : LEAN;
}

ISA_INLINE void lean(vd w[], vd share[], vd u, const double *gap, double r, const int how,
                     const int leaner, const int width) {
  const vd zero = {0}, unit = vd_set1(1);
  vd e[2], y[2], safe[2], x[2], inverse[2];
  for (int i = 0; i < width; i++) {
    vd g = vd_load(gap + i * VD_LANES);
    e[i] = u + g;
    y[i] = how == POWER_NEAR ? unit - e[i] : u - g;
    safe[i] = vd_max(y[i], vd_set1(0x1p-300));
  }
  for (int i = 0; i < width; i++)
    inverse[i] = unit / safe[i]; /* beside all the products, which keep other units busy */
  vd_lean_log2(x, safe, width);
  for (int i = 0; i < width; i++) {
    vd lost = (unit - safe[i]) - e[i];
    if (how == POWER_NEAR && !leaner) x[i] = vd_fma(lost * inverse[i], vd_set1(EXP64_LOG2E), x[i]);
    x[i] = vd_max(vd_set1(r) * x[i], vd_set1(-1000));
  }
  vd_lean_exp2(w, x, width);
  for (int i = 0; i < width; i++) {
    share[i] = vd_select(y[i] > zero, how == POWER_NEAR ? inverse[i] : w[i] * inverse[i], zero);
    w[i] = vd_select(y[i] > zero, w[i], zero);
  }
}

/* sum[k] += y^(r-k). */
ISA_INLINE void add_powers(vd sum[4][VECTORS], int i, vd power, vd share, const int how) {
  sum[0][i] += power;
  if (how != POWER_NEAR) {
    sum[1][i] += share;
    return;
  }
  for (int k = 1; k < 4; k++) {
    power = power * share;
    sum[k][i] += power;
  }
}

/* `width` vectors from `at` on; w and shares are stored unless NULL. */
ISA_INLINE void add_vectors(vd sum[4][VECTORS], int first, double *w, double *shares,
                            const double *gap, int64_t at, double u, double r, const int how,
                            const int leanness, const int width) {
  vd power[2], share[2];
  if (leanness != EXACT)
    lean(power, share, vd_set1(u), gap + at, r, how, leanness == LEANER, width);
  else
    for (int i = 0; i < width; i++)
      one(&power[i], &share[i], vd_set1(u), vd_load(gap + at + i * VD_LANES), r, how);
  for (int i = 0; i < width; i++) {
    if (w) vd_store(w + at + i * VD_LANES, power[i]);
    if (shares) vd_store(shares + at + i * VD_LANES, share[i]);
    add_powers(sum, (first + i) % VECTORS, power[i], share[i], how);
  }
}

ISA_INLINE power_sums sums_of(double *w, double *shares, const double *gap, int64_t n, double u,
                              double r, const int how, const int leanness) {
  enum { STEP = VECTORS == 1 ? 2 * LANES : LANES };
  vd sum[4][VECTORS];
  power_sums s = {{0}};
  int64_t j = 0;
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < VECTORS; i++)
      sum[k][i] = (vd){0};
  for (; j + STEP <= n; j += STEP)
    for (int i = 0; i < STEP / VD_LANES; i += 2)
      add_vectors(sum, i, w, shares, gap, j + i * VD_LANES, u, r, how, leanness, 2);
  if (j < n) add_vectors(sum, 0, w, shares, gap, j, u, r, how, leanness, 1);
  for (int k = 0; k < (how == POWER_NEAR ? 4 : 2); k++)
    s.m[k] = tree(sum[k]);
  return s;
}

static power_sums sums(double *w, double *shares, const double *gap, int64_t n, double u, double r,
                       int how, int lean) {
  switch (how) {
  case POWER_ONE:
    return sums_of(w, shares, gap, n, u, r, POWER_ONE, EXACT);
  case POWER_TWO:
    return sums_of(w, shares, gap, n, u, r, POWER_TWO, EXACT);
  case POWER_THREE:
    return sums_of(w, shares, gap, n, u, r, POWER_THREE, EXACT);
  case POWER_WHOLE:
    return sums_of(w, shares, gap, n, u, r, POWER_WHOLE, EXACT);
  case POWER_NEAR:
    return leanness(r, lean) == LEANER ? sums_of(w, shares, gap, n, u, r, POWER_NEAR, LEANER)
           : lean                      ? sums_of(w, shares, gap, n, u, r, POWER_NEAR, LEAN)
                                       : sums_of(w, shares, gap, n, u, r, POWER_NEAR, EXACT);
  default:
    return lean ? sums_of(w, shares, gap, n, u, r, POWER_ANY, LEAN)
                : sums_of(w, shares, gap, n, u, r, POWER_ANY, EXACT);
  }
}

/* The same sums in float, for guesses. */
enum { ROUGH_LANES = 16, ROUGH_VECTORS = ROUGH_LANES / VF_LANES };
ISA_INLINE double rough_tree(const vf chain[]) {
  float lane[ROUGH_LANES];
  for (int i = 0; i < ROUGH_VECTORS; i++)
    vf_store(lane + i * VF_LANES, chain[i]);
  for (int step = ROUGH_LANES / 2; step; step /= 2)
    for (int i = 0; i < step; i++)
      lane[i] += lane[i + step];
  return (double)lane[0];
}

/* The least y in float: less would be nothing beside a sum of about 1, but its powers might be
 * subnormal, which some processors take a hundred times as long for. */
static float rough_least(float r, int how) {
  return how == POWER_WHOLE ? ldexpf(1, -(int)(120 / r)) : 0x1p-60f;
}

/* `width` vectors from gap on, the first of which joins chain `first`. */
ISA_INLINE void add_rough(vf sum[4][ROUGH_VECTORS], int first, const float *gap, float u, float r,
                          float least, const int how, const int width) {
  const vf zero = {0}, unit = vf_set1(1);
  vf y[2], safe[2], x[2], inverse[2], power[2];
  for (int i = 0; i < width; i++) {
    vf g = vf_load(gap + i * VF_LANES);
    y[i] = how == POWER_NEAR ? unit - (vf_set1(u) + g) : vf_set1(u) - g;
    safe[i] = vf_max(y[i], vf_set1(least));
    inverse[i] = vf_inverse(safe[i]);
  }
  if (how != POWER_WHOLE) {
    vf_lean_log2(x, safe, width);
    for (int i = 0; i < width; i++)
      x[i] = vf_max(vf_set1(r) * x[i], vf_set1(-100));
    vf_lean_exp2(power, x, width);
  }
  for (int i = 0; i < width; i++) {
    int chain = (first + i) % ROUGH_VECTORS;
    vf share = how == POWER_WHOLE ? rough_whole_power(safe[i], (int)r - 1) : power[i];
    share = vf_select(y[i] > zero, share, zero);
    sum[0][chain] += how == POWER_WHOLE ? share * safe[i] : share;
    if (how != POWER_WHOLE) share = share * inverse[i];
    sum[1][chain] += share;
    for (int k = 2; k < 4 && how == POWER_NEAR; k++) {
      share = share * inverse[i];
      sum[k][chain] += share;
    }
  }
}

ISA_INLINE power_sums rough_sums_of(const float *gap, int64_t n, float u, float r, const int how) {
  enum { STEP = ROUGH_VECTORS == 1 ? 2 * ROUGH_LANES : ROUGH_LANES };
  float least = rough_least(r, how);
  vf sum[4][ROUGH_VECTORS];
  power_sums s = {{0}};
  int64_t j = 0;
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < ROUGH_VECTORS; i++)
      sum[k][i] = (vf){0};
  for (; j + STEP <= n; j += STEP)
    for (int i = 0; i < STEP / VF_LANES; i += 2)
      add_rough(sum, i, gap + j + i * VF_LANES, u, r, least, how, 2);
  if (j < n) add_rough(sum, 0, gap + j, u, r, least, how, 1);
  for (int k = 0; k < (how == POWER_NEAR ? 4 : 2); k++)
    s.m[k] = rough_tree(sum[k]);
  return s;
}

static power_sums rough_sums(const float *gap, int64_t n, float u, float r, int how) {
  return how == POWER_NEAR    ? rough_sums_of(gap, n, u, r, POWER_NEAR)
         : how == POWER_WHOLE ? rough_sums_of(gap, n, u, r, POWER_WHOLE)
                              : rough_sums_of(gap, n, u, r, POWER_ANY);
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

/* By how much u is to fall (v to rise). */
typedef struct {
  double fall;
  double newton; /* the same by Newton's method: never below the root but by rounding */
  double error;  /* about what is left */
} power_step;

/* The fall at which the Taylor polynomial of h(u - fall) / h(u) - 1 of degree 2 or 3, with
 * coefficients e, takes the value t; from Newton's. */
static double taylor_root(const double e[], int degree, double t, double fall) {
  for (int i = 0; i < 4; i++) {
    double d = -fall, third = degree > 2 ? e[3] : 0;
    double value = ((third * d + e[2]) * d + e[1]) * d - t;
    double slope = (3 * third * d + 2 * e[2]) * d + e[1];
    fall += value / slope;
  }
  return fall;
}

static power_step step_of(const power_sums *s, double r, int how) {
  double over = norm_less_one(s->m[0], r, how), t = -over / (1 + over);
  double newton = -t * s->m[0] / s->m[1];
  power_step step = {newton, newton, r * newton * newton};
  if (how != POWER_NEAR) return step;
  /* (F(u + d) / F(u))^(1/r), F by its Taylor polynomial with coefficients b. */
  double b1 = r * s->m[1] / s->m[0], b2 = r * (r - 1) / 2 * s->m[2] / s->m[0];
  double b3 = r * (r - 1) * (r - 2) / 6 * s->m[3] / s->m[0], p = 1 / r, e[4] = {0, p * b1, 0, 0};
  e[2] = ((p - 1) * b1 * e[1] + 2 * p * b2) / 2;
  e[3] = ((p - 2) * b1 * e[2] + (2 * p - 1) * b2 * e[1] + 3 * p * b3) / 3;
  double second = taylor_root(e, 2, t, newton), third = taylor_root(e, 3, t, newton);
  double off = fabs(third - newton), rest = fabs(third - second);
  if (!(off <= fabs(newton))) return step; /* the polynomial is no use this far */
  step.fall = third;
  step.error = off > 0 ? fmin(rest, rest * rest / off) : 0;
  return step;
}

/* The keys of one row on their way to being solved. */
typedef struct {
  double *w, *scratch, *gap; /* gaps of 2 follow, up to a multiple of LANES */
  int64_t *key, keys;
  double r;
  int how, lean;
} solver;

static int64_t padded(const solver *s) {
  return (s->keys + LANES - 1) / LANES * LANES;
}

/* Drops the keys with gaps of at least `limit` where that is a good part of them. */
static void drop_beyond(solver *s, double limit) {
  int64_t near = 0, n = 0, keys = s->keys;
  for (int64_t j = 0; j < keys; j++)
    near += s->gap[j] < limit;
  if (near + near / 4 + LANES > keys) return;
  for (int64_t j = 0; j < keys; j++) {
    double gap = s->gap[j];
    int64_t key = s->key[j];
    s->gap[n] = gap;
    s->key[n] = key;
    n += gap < limit;
  }
  s->keys = n;
  for (int64_t j = n; j < padded(s); j++)
    s->gap[j] = 2;
}

/* The largest fall that moving weights by their Taylor polynomial stands: it leaves (r fall)^4 /
 * 24, and fall^r for each key at the edge; to first order (r fall)^2 / 2. */
static double largest_fall(const solver *s) {
  if (s->how != POWER_NEAR) return (!s->lean || s->how != POWER_WHOLE ? 0x1p-28 : 0x1p-14) / s->r;
  double least = s->lean ? 0x1p-28 : 0x1p-50, four = s->lean ? 0x1p-6 : 0x1p-13;
  return fmin(four / s->r, first_lane(vd_power(vd_set1(least / (double)s->keys), 1 / s->r)));
}

/* Where powers are dear, first in float, as far as that goes. Returns u, or v = 1 - u. */
static double start(solver *s) {
  double u = s->how == POWER_NEAR ? 0 : 1, r = s->r, target = largest_fall(s) * 0.75;
  float *rough = (float *)s->scratch;
  int64_t keys = 0, n = 0;
  if (s->how != POWER_NEAR && s->how != POWER_ANY && s->how != POWER_WHOLE) return u;
  if (s->how != POWER_NEAR) target = 0x1p-16 / r;
  for (int step = 0; step < 30; step++) {
    if (keys != s->keys) {
      keys = s->keys;
      n = (keys + ROUGH_LANES - 1) / ROUGH_LANES * ROUGH_LANES;
      for (int64_t j = 0; j < keys; j++)
        rough[j] = (float)s->gap[j];
      for (int64_t j = keys; j < n; j++)
        rough[j] = 2;
    }
    power_sums m = rough_sums(rough, n, (float)u, (float)r, s->how);
    power_step t = step_of(&m, r, s->how);
    if (!(fabs(t.fall) < 1) || (s->how != POWER_NEAR && t.fall >= u)) break;
    double end = s->how == POWER_NEAR ? 1 - (u + t.newton) : u - t.newton;
    u += s->how == POWER_NEAR ? t.fall : -t.fall;
    drop_beyond(s, end + (0x1p-8 + r * 0x1p-22) / r);
    if (t.error <= target || !(t.fall > 0)) break;
  }
  return u;
}

/* Moves the weights, and with them u, down by `fall`; returns their sum. */
static double move_weights(const solver *s, double fall) {
  double r = s->r;
  vd sum[VECTORS], zero = {0}, first = vd_set1(-r * fall);
  vd second = vd_set1((1 - r) / 2 * fall), third = vd_set1((2 - r) / 3 * fall), unit = vd_set1(1);
  for (int i = 0; i < VECTORS; i++)
    sum[i] = zero;
  for (int64_t j = 0; j < padded(s); j += LANES)
    for (int i = 0; i < VECTORS; i++) {
      int64_t at = j + i * VD_LANES;
      vd w = vd_load(s->w + at), x = vd_load(s->scratch + at);
      if (s->how == POWER_NEAR) /* x = 1 / y: w (1 - x r fall (1 - x (r-1)/2 fall (1 - ..))) */
        x = w * x * vd_fma(second * x, vd_fma(third, x, unit), unit);
      w = vd_max(vd_fma(first, x, w), zero);
      vd_store(s->w + at, w);
      sum[i] += w;
    }
  return tree(sum);
}

/* Steps in double until the weights can make the last one. Returns their sum. */
static double climb(solver *s) {
  double u = start(s), r = s->r, least = largest_fall(s);
  power_sums m = {{0}};
  power_step t = {0, 0, 0};
  for (int step = 0; step < 60; step++) {
    m = sums(s->w, s->scratch, s->gap, padded(s), u, r, s->how, s->lean);
    t = step_of(&m, r, s->how);
    if (fabs(t.fall) <= least || !(fabs(t.fall) < 1)) break;
    u += s->how == POWER_NEAR ? t.fall : -t.fall;
  }
  return t.fall != 0 && fabs(t.fall) <= least ? move_weights(s, t.fall) : m.m[0];
}

static power_sums sums_at(const solver *s, double u) {
  return sums(NULL, NULL, s->gap, padded(s), u, s->r, POWER_ANY, s->lean);
}

/* The largest gap at which the sum is below 1, and the first one beyond; keys beyond are dropped.
 */
static void find_edge(double *edge, double *next, solver *s) {
  *edge = 0;
  *next = 1;
  for (;;) { /* the median of the gaps between them would be better than the mean; both end */
    double nearest = 2, middle = *edge + (*next - *edge) / 2;
    for (int64_t j = 0; j < s->keys; j++)
      if (s->gap[j] > *edge && s->gap[j] < *next &&
          fabs(s->gap[j] - middle) < fabs(nearest - middle))
        nearest = s->gap[j];
    if (nearest == 2) return;
    *(sums_at(s, nearest).m[0] < 1 ? edge : next) = nearest;
    drop_beyond(s, *next);
  }
}

/* Marks keys at the edge, which powers leave out as they do those beyond it. */
#define AT_EDGE 3

/* r < 1: slopes are infinite at the edge, so that u alone does not say what the last keys of the
 * support weigh. u = edge + rest: gaps are counted from the edge, keys there weigh t = rest^r, and
 * the sum n t + sum (t^(1/r) + c)^r, c > 0, is convex in t, with slope n + sum y^(r-1) rest / t:
 * Newton's method from above finds t to full relative precision, also where rest underflows. Fills
 * in the weights; returns their sum. */
static double solve_from_edge(solver *s) {
  double edge, next, r = s->r, last = 0;
  find_edge(&edge, &next, s);
  for (int64_t j = 0; j < s->keys; j++) {
    s->gap[j] = s->gap[j] == edge ? AT_EDGE : s->gap[j] - edge;
    last += s->gap[j] == AT_EDGE;
  }
  double width = next - edge, rest = width, most = first_lane(vd_power(vd_set1(width), r)),
         t = most;
  for (int step = 0; step < 100; step++) {
    power_sums m = sums_at(s, rest);
    double fall = (last * t + m.m[0] - 1) / (last + m.m[1] * (rest / t));
    if (!(fabs(fall) < INFINITY)) break;
    t = fall < t ? t - fall : t / 2; /* a rounded slope may have led below the root */
    /* A step beyond it by rounding would give the next key weight. */
    t = fmin(t, most);
    rest = fmin(first_lane(vd_power(vd_set1(t), 1 / r)), width);
    if (fabs(fall) <= t * (s->lean ? 0x1p-20 : 0x1p-30)) break; /* the next would be its square */
  }
  double total = sums(s->w, NULL, s->gap, padded(s), rest, r, POWER_ANY, s->lean).m[0];
  for (int64_t j = 0; j < s->keys; j++)
    if (s->gap[j] == AT_EDGE) s->w[j] = t;
  return total + last * t;
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

double ISA(sparse_solve_gaps)(double *w, double *scratch, double *gap, int64_t *key, int64_t *keys,
                              double r, int whole, int is_double) {
  solver s = {w, scratch, gap, key, *keys, r, POWER_ANY, !is_double};
  if (whole)
    s.how = whole == 1 ? POWER_ONE : whole == 2 ? POWER_TWO : POWER_THREE;
  else if (r > 3)
    s.how = !is_double && r <= WHOLE_MAX && r == rint(r) ? POWER_WHOLE : POWER_NEAR;
  double total = r >= 1 ? climb(&s) : solve_from_edge(&s);
  *keys = s.keys;
  return total;
}

void ISA(sparse_profile_weights)(double *w, const double *y, int64_t n, int r) {
  for (int64_t j = 0; j < n; j += VD_LANES) {
    vd x = vd_load(y + j);
    vd_store(w + j, r == 1 ? vd_profile(x, 1) : r == 2 ? vd_profile(x, 2) : vd_profile(x, 3));
  }
}
