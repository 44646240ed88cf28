/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Error measures of one element. The double versions run once an element: a subtraction with its
 * exact rounding error, then directed additions and divisions (interval.h). Where got counts as
 * 2^1024 (float64 only) it is an infinite double. */
#include "enclosure.h"
#include "interval.h"

const char *const measure_names[MEASURE_COUNT] = {
    [MEASURE_ABS] = "abs",           [MEASURE_REL] = "rel",       [MEASURE_ULP] = "ulp",
    [MEASURE_ROW] = "row",           [MEASURE_NMSE] = "nmse",     [MEASURE_ALLCLOSE] = "allclose",
    [MEASURE_BACKWARD] = "backward", [MEASURE_THEORY] = "theory",
};

/* ---- edge rules ----------------------------------------------------------------------------- */

/* What got infinite means for a finite x: above (1), below (-1) or astride (0) the threshold. */
static measure_got infinite_got(double *got, int side, const tensor_format *format) {
  if (side == 0) return GOT_UNKNOWN;
  if (side < 0) return GOT_HOPELESS;
  *got = copysign(ldexp(1.0, format->emax + 1), *got);
  return GOT_NUMBER;
}

/* The rules that do not depend on x; -1 where an infinite got meets a finite x. */
static int classify_plain(double got, measure_class exact) {
  switch (exact) {
  case EXACT_NAN:
    return got != got ? GOT_EXACT : GOT_HOPELESS;
  case EXACT_PLUS_INF:
    return got == INFINITY ? GOT_EXACT : GOT_HOPELESS;
  case EXACT_MINUS_INF:
    return got == -INFINITY ? GOT_EXACT : GOT_HOPELESS;
  case EXACT_FINITE:
    break;
  }
  return got != got ? GOT_HOPELESS : isinf(got) ? -1 : GOT_NUMBER;
}

measure_got measure_classify(double *got, measure_class exact, double x_lo, double x_hi,
                             const tensor_format *format) {
  int plain = classify_plain(*got, exact);
  if (plain >= 0) return (measure_got)plain;
  /* For float64 the threshold 2^1024 - 2^970 is no double and counts as infinity, which no x_lo
   * reaches; every x_hi <= DBL_MAX is below it. */
  double threshold = ldexp(2.0 - ldexp(1.0, -format->precision), format->emax);
  double lo = *got > 0 ? x_lo : -x_hi, hi = *got > 0 ? x_hi : -x_lo;
  return infinite_got(got, lo >= threshold && lo <= DBL_MAX ? 1 : hi < threshold ? -1 : 0, format);
}

measure_got measure_classify_arb(double *got, measure_class exact, const arb_t x,
                                 const tensor_format *format) {
  int plain = classify_plain(*got, exact);
  /* Without bounds on x it may have no value: then NaN would be right. */
  if (isnan(*got) && exact == EXACT_FINITE && !arb_is_finite(x)) return GOT_UNKNOWN;
  if (plain >= 0) return (measure_got)plain;
  arb_t threshold, y;
  arb_init(threshold);
  arb_init(y);
  arb_set_si(threshold, ((slong)1 << format->precision) * 2 - 1);
  arb_mul_2exp_si(threshold, threshold, format->emax - format->precision);
  if (*got > 0)
    arb_set(y, x);
  else
    arb_neg(y, x);
  int side = arb_ge(y, threshold) ? 1 : arb_lt(y, threshold) ? -1 : 0;
  arb_clear(threshold);
  arb_clear(y);
  return infinite_got(got, side, format);
}

/* ---- in double ------------------------------------------------------------------------------ */

static const measure_interval anything = {0, INFINITY};

static int unbounded(double x_mid, double x_rad) {
  return !(x_rad <= DBL_MAX) || !(fabs(x_mid) <= DBL_MAX);
}

/* Where a number comes near overflow or got is infinite, that is 2^1024: by eighths. Small operands
 * round in that, and the radius takes it up. */
static measure_interval distant(double got, double x_mid, double x_rad) {
  double eighth = isinf(got) ? copysign(0x1p1021, got) : got / 8;
  int rounds = (got != 0 && fabs(got) < 0x1p-1000) || (x_mid != 0 && fabs(x_mid) < 0x1p-1000) ||
               (x_rad != 0 && x_rad < 0x1p-1000);
  double rad = enclosure_add_up(x_rad / 8, rounds ? 0x1p-1022 : 0);
  measure_interval m = measure_abs(eighth, x_mid / 8, rad);
  return (measure_interval){fmin(8 * m.lo, DBL_MAX), 8 * m.hi};
}

measure_interval measure_abs(double got, double x_mid, double x_rad) {
  double s = got - x_mid;
  if (!(fabs(s) < 0x1p1022 && x_rad < 0x1p1022))
    return unbounded(x_mid, x_rad) ? anything : distant(got, x_mid, x_rad);
  /* |got - x_mid| = s + e exactly, |e| at most half a unit in the last place of s. */
  double e = copysign(1.0, s) * enclosure_sum_error(s, got, -x_mid);
  s = fabs(s);
  if (e == 0 && x_rad == 0) return (measure_interval){s, s};
  /* hi: two roundings of half a unit of the result at most. lo: the subtrahend is rounded up by
   * itself, because the difference may be far smaller. */
  double lo = s - enclosure_up(x_rad - e);
  return (measure_interval){lo > 0 ? enclosure_down(lo) : 0, enclosure_up(s + (x_rad + e))};
}

/* The least and the largest |x|; the very |x_mid| when the radius is 0. */
static measure_interval magnitude(double x_mid, double x_rad) {
  double x = fabs(x_mid);
  if (x_rad == 0) return (measure_interval){x, x};
  return (measure_interval){x > x_rad ? enclosure_down(x - x_rad) : 0, enclosure_up(x + x_rad)};
}

measure_interval measure_rel(double got, double x_mid, double x_rad) {
  if (got == 0) {
    if (x_mid == 0) return (measure_interval){0, x_rad == 0 ? 0 : 1};
    return (measure_interval){x_rad < fabs(x_mid) ? 1 : 0, 1};
  }
  if (unbounded(x_mid, x_rad)) return anything;
  measure_interval d = measure_abs(got, x_mid, x_rad), x = magnitude(x_mid, x_rad);
  return (measure_interval){enclosure_div_down(d.lo, x.hi), enclosure_div_up(d.hi, x.lo)};
}

/* max(floor(log2 x), emin), the binade that ulp(x) belongs to, of x >= 0; 1024 for infinity. A
 * subnormal double reads as -1023, no larger than any emin. */
static int binade(double x, const tensor_format *format) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int e = (int)(bits >> 52) - 1023;
  return e > format->emin ? e : format->emin;
}

static double power_of_two(int e) { /* -1022 <= e <= 1023 */
  uint64_t bits = (uint64_t)(e + 1023) << 52;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* x 2^e, |e| <= 1100, in two steps because 2^e may leave the range. Exact unless it underflows: two
 * roundings there lose less than one unit together. */
static double scaled(double x, int e, int up) {
  double y = x * power_of_two(e / 2) * power_of_two(e - e / 2);
  if (y < DBL_MIN && x != 0 && e < 0) return up ? enclosure_up(y) : y == 0 ? 0 : enclosure_down(y);
  return !up && y > DBL_MAX && x <= DBL_MAX ? DBL_MAX : y;
}

measure_interval measure_ulp(double got, double x_mid, double x_rad, const tensor_format *format) {
  if (unbounded(x_mid, x_rad)) return anything;
  measure_interval d = measure_abs(got, x_mid, x_rad), x = magnitude(x_mid, x_rad);
  int last = format->precision - 1;
  return (measure_interval){scaled(d.lo, last - binade(x.hi, format), 0),
                            scaled(d.hi, last - binade(x.lo, format), 1)};
}

measure_interval measure_quotient(double got, double x_mid, double x_rad, double y_lo,
                                  double y_hi) {
  measure_interval d = measure_abs(got, x_mid, x_rad);
  return (measure_interval){enclosure_div_down(d.lo, y_hi), enclosure_div_up(d.hi, y_lo)};
}

double measure_canonical(double hi) {
  if (!(hi > 0) || isinf(hi)) return hi;
  int e;
  double significand = frexp(hi, &e);
  return ldexp(ceil(ldexp(significand, 21)), e - 21);
}

/* ---- on balls ------------------------------------------------------------------------------- */

/* got - x; an infinite got is 2^1024. */
static void difference_arb(arb_t value, double got, const arb_t x, slong prec) {
  arb_t g;
  arb_init(g);
  if (isinf(got)) {
    arb_set_si(g, got > 0 ? 1 : -1);
    arb_mul_2exp_si(g, g, 1024);
  } else {
    arb_set_d(g, got);
  }
  arb_sub(value, g, x, prec);
  arb_clear(g);
}

void measure_abs_arb(arb_t value, double got, const arb_t x, slong prec) {
  difference_arb(value, got, x, prec);
  arb_abs(value, value);
}

void measure_quotient_arb(arb_t value, double got, const arb_t x, const arb_t y, slong prec) {
  arb_t d;
  arb_init(d);
  difference_arb(d, got, x, prec);
  if (arb_is_zero(d))
    arb_zero(value);
  else if (!arb_contains_zero(y))
    arb_div(value, d, y, prec);
  else if (arb_is_zero(y) && !arb_contains_zero(d))
    arb_pos_inf(value);
  else
    arb_zero_pm_inf(value);
  arb_abs(value, value);
  arb_clear(d);
}

void measure_rel_arb(arb_t value, double got, const arb_t x, slong prec) {
  if (got == 0) {
    if (arb_is_zero(x))
      arb_zero(value);
    else if (arb_contains_zero(x))
      arb_unit_interval(value);
    else
      arb_one(value);
  } else if (!isinf(got) && !arb_contains_zero(x) && arf_cmpabs_d(arb_midref(x), 2 * got) > 0) {
    /* Far from x the radius of x counts less in got/x than in got - x. */
    arb_t g;
    arb_init(g);
    arb_set_d(g, got);
    arb_div(value, g, x, prec);
    arb_sub_ui(value, value, 1, prec);
    arb_abs(value, value);
    arb_clear(g);
  } else {
    measure_quotient_arb(value, got, x, x, prec);
  }
}

/* max(floor(log2 |x|), emin) at the end of the ball nearest to (sign < 0) or farthest from zero.
 * Truncation does not change the binade. */
static void binade_arb(fmpz_t e, const arb_t x, int sign, const tensor_format *format) {
  arf_t mid, end;
  arf_init(mid);
  arf_init(end);
  arf_abs(mid, arb_midref(x));
  arf_set_mag(end, arb_radref(x));
  if (sign < 0)
    arf_sub(end, mid, end, 64, ARF_RND_DOWN);
  else
    arf_add(end, mid, end, 64, ARF_RND_DOWN);
  fmpz_set_si(e, format->emin);
  if (arf_cmp_2exp_si(end, format->emin) > 0) fmpz_sub_ui(e, ARF_EXPREF(end), 1);
  arf_clear(mid);
  arf_clear(end);
}

void measure_ulp_arb(arb_t value, double got, const arb_t x, const tensor_format *format,
                     slong prec) {
  if (!arb_is_finite(x)) {
    measure_abs_arb(value, got, x, prec); /* not finite either */
    return;
  }
  fmpz_t low, high;
  arb_t least;
  fmpz_init(low);
  fmpz_init(high);
  arb_init(least);
  binade_arb(low, x, -1, format);
  binade_arb(high, x, 1, format);
  measure_abs_arb(value, got, x, prec);
  int same = fmpz_equal(low, high);
  fmpz_sub_si(low, low, format->precision - 1);
  fmpz_sub_si(high, high, format->precision - 1);
  fmpz_neg(low, low);
  fmpz_neg(high, high);
  arb_mul_2exp_fmpz(least, value, high);
  arb_mul_2exp_fmpz(value, value, low);
  if (!same) arb_union(value, value, least, prec);
  fmpz_clear(low);
  fmpz_clear(high);
  arb_clear(least);
}

measure_interval measure_interval_arb(const arb_t value) {
  double lo = enclosure_lower(value), hi = enclosure_upper(value);
  return (measure_interval){lo > 0 ? lo : 0, hi > 0 ? hi : 0};
}
