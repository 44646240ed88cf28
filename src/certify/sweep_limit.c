/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Values that come closer to a float, their limit, than any precision tells, or than doubles do:
 * tanh(10^9) is 1 - 2^-2885390081, exp(-2^-90) is 1 - 2^-90. Which side of the limit they are on
 * says whether a result of 1 - 2^-24 is off by less than a unit, and this is all that it takes to
 * settle it (proofs/certify/sweep_limit.v). */
#include <float.h>

#include "../enclosure/interval.h"
#include "sweep_engine.h"

enum { LIMIT_FROM = 32, GAP_BITS_MAX = 1000 };

/* Up to here, |x|^order is a gap far below the distance of floats. */
static const float near_zero_to[] = {0, 0x1p-42f, 0x1p-21f};

static int find_far(sweep_limit *l, const sweep_reference *r, float x) {
  l->value = r->limit[x > 0];
  if (isinf(l->value)) l->value = x;
  l->is_beyond = 0;
  /* exp(-|x|) and 2 exp(-2 |x|) are below 2^-(1.4 |x|). */
  double bits = floor(1.4 * fabs((double)x));
  l->gap = ldexp(fabs((double)l->value), -(int)fmin(bits, GAP_BITS_MAX));
  return l->value != 0;
}

static int find_near_zero(sweep_limit *l, const sweep_reference *r, float x) {
  double size = fabs((double)x);
  l->value = isinf(r->near_zero.value) ? x : r->near_zero.value;
  l->is_beyond = r->near_zero.is_beyond[x > 0];
  l->gap = 4 * fabs((double)l->value) * size * (r->near_zero.order == 2 ? size : 1);
  return 1;
}

int sweep_limit_find(sweep_limit *l, const sweep_reference *r, float x) {
  float size = fabsf(x);
  if (size >= LIMIT_FROM && size <= FLT_MAX) return find_far(l, r, x);
  return size > 0 && size <= near_zero_to[r->near_zero.order] && find_near_zero(l, r, x);
}

int sweep_limit_unit(const sweep_limit *l) {
  int e;
  float significand = frexpf(fabsf(l->value), &e);
  e -= 1 + (significand == 0.5f && !l->is_beyond);
  return (e < FLT_MIN_EXP - 1 ? FLT_MIN_EXP - 1 : e) - (FLT_MANT_DIG - 1);
}

/* a/b rounded up; exact where it is a double. */
static double divide_up(double a, double b) {
  double q = a / b;
  return fma(q, b, -a) == 0 ? q : enclosure_div_up(a, b);
}

/* got and the exact value relative to the sign of the limit: the exact value lies between size and
 * size -+ gap, neither of them, and a is got. */
typedef struct {
  double a, size, gap;
  int is_beyond;  /* the exact value is above size */
  int is_towards; /* ... and so is got; or both are below it */
} near_limit;

static measure_interval relative_error(const near_limit *l, measure_interval d) {
  if (l->a == 0) return (measure_interval){1, 1};
  double least = l->is_beyond ? l->size : enclosure_add_down(l->size, -l->gap);
  double most = l->is_beyond ? enclosure_add_up(l->size, l->gap) : l->size;
  /* (x - a)/x grows with x where a > 0. */
  int is_at_limit = l->is_towards && !l->is_beyond && l->a > 0;
  return (measure_interval){enclosure_div_down(d.lo, most),
                            divide_up(d.hi, is_at_limit ? l->size : least)};
}

int sweep_settle_near_limit(sweep_element *e, const sweep_reference *r, float x, float got) {
  sweep_limit limit;
  if (!isfinite(got) || !sweep_limit_find(&limit, r, x)) return 0;
  double size = fabs((double)limit.value), a = limit.value > 0 ? (double)got : -(double)got;
  near_limit l = {a, size, limit.gap, limit.is_beyond, limit.is_beyond ? a > size : a < size};
  measure_interval d = measure_abs(a, size, 0);
  if (l.is_towards)
    d.lo = fmax(enclosure_add_down(d.lo, -l.gap), 0);
  else
    d.hi = enclosure_add_up(d.hi, l.gap);
  int unit = sweep_limit_unit(&limit);
  measure_interval ulp = {ldexp(d.lo, -unit), ldexp(d.hi, -unit)};
  e->error[PEAK_ABS] = d;
  e->error[PEAK_ULP] = ulp;
  e->error[PEAK_REL] = relative_error(&l, d);
  /* Towards got, the upper end is not reached. */
  e->bin = sweep_bin(l.is_towards ? enclosure_down(ulp.hi) : ulp.hi);
  e->misrounded = got != limit.value;
  e->wrong_sign = a < 0;
  return e->bin == sweep_bin(ulp.lo);
}
