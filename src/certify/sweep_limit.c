/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Values that come closer to a float, their limit, than any precision tells: tanh(10^9) is 1 -
 * 2^-2885390081. Their size is below that of the limit, so that a result of 1 - 2^-24 is off by
 * less than a unit, and this is all that it takes to settle it (proofs/certify/sweep_limit.v). */
#include <float.h>

#include "../enclosure/interval.h"
#include "sweep_engine.h"

enum { LIMIT_FROM = 32, GAP_BITS_MAX = 1000 };

int sweep_limit(float *limit, const sweep_reference *r, float x) {
  if (!(fabsf(x) >= LIMIT_FROM && fabsf(x) <= FLT_MAX)) return 0;
  *limit = r->limit[x > 0];
  if (isinf(*limit)) *limit = x;
  return *limit != 0;
}

int sweep_limit_exponent(float limit) {
  int e;
  float significand = frexpf(fabsf(limit), &e);
  return e - 1 - (significand == 0.5f);
}

/* exp(-|x|) and 2 exp(-2 |x|) are below 2^-(1.4 |x|). */
static double gap_of(double size, float x) {
  double bits = floor(1.4 * fabs((double)x));
  return ldexp(size, -(int)fmin(bits, GAP_BITS_MAX));
}

/* a/b rounded up; exact where it is a double. */
static double divide_up(double a, double b) {
  double q = a / b;
  return fma(q, b, -a) == 0 ? q : enclosure_div_up(a, b);
}

/* got and the exact value relative to the sign of the limit: the exact value is in (size - gap,
 * size), and a is got. */
typedef struct {
  double a, size, gap;
  int is_below; /* got is nearer to 0 than the limit */
} near_limit;

static measure_interval relative_error(const near_limit *l, measure_interval d) {
  if (l->a == 0) return (measure_interval){1, 1};
  double least = enclosure_add_down(l->size, -l->gap);
  /* (x - a)/x grows with x where a > 0. */
  int is_at_limit = l->is_below && l->a > 0;
  return (measure_interval){enclosure_div_down(d.lo, l->size),
                            is_at_limit ? divide_up(d.hi, l->size) : divide_up(d.hi, least)};
}

int sweep_settle_near_limit(sweep_element *e, const sweep_reference *r, float x, float got) {
  float limit;
  if (!isfinite(got) || !sweep_limit(&limit, r, x)) return 0;
  double size = fabs((double)limit);
  near_limit l = {limit > 0 ? (double)got : -(double)got, size, gap_of(size, x), 0};
  l.is_below = l.a < l.size;
  measure_interval d = measure_abs(l.a, l.size, 0);
  if (l.is_below)
    d.lo = fmax(enclosure_add_down(d.lo, -l.gap), 0);
  else
    d.hi = enclosure_add_up(d.hi, l.gap);
  int e_unit = sweep_limit_exponent(limit) - 23;
  measure_interval ulp = {ldexp(d.lo, -e_unit), ldexp(d.hi, -e_unit)};
  e->error[PEAK_ABS] = d;
  e->error[PEAK_ULP] = ulp;
  e->error[PEAK_REL] = relative_error(&l, d);
  /* Below, the upper end is not reached. */
  e->bin = sweep_bin(l.is_below ? enclosure_down(ulp.hi) : ulp.hi);
  e->misrounded = got != limit;
  e->wrong_sign = l.a < 0;
  return e->bin == sweep_bin(ulp.lo);
}
