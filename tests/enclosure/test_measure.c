/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Measures: balls against exact Python rationals (golden.py), doubles against balls at 300 bits. */
#include <float.h>
#include <math.h>

#include "../../src/enclosure/enclosure.h"
#include "../tests.h"
#include "golden.h"

static const attest_dtype float_dtypes[] = {ATTEST_FLOAT16, ATTEST_BFLOAT16, ATTEST_FLOAT32,
                                            ATTEST_FLOAT64};

/* m contains [lo, hi], and its ends are at most 8 doubles farther out. */
static void check_close(measure_interval m, double lo, double hi) {
  double least = lo, most = hi;
  for (int i = 0; i < 8; i++) {
    least = nextafter(least, 0);
    most = nextafter(most, INFINITY);
  }
  ck_assert_msg(m.lo <= lo && m.lo >= least && m.hi >= hi && m.hi <= most,
                "[%a, %a] is not about [%a, %a]", m.lo, m.hi, lo, hi);
}

static void check_interval(measure_interval m, double lo, double hi) {
  ck_assert_msg(m.lo == lo && m.hi == hi, "[%a, %a] is not [%a, %a]", m.lo, m.hi, lo, hi);
}

/* ---- balls ---------------------------------------------------------------------------------- */

/* value agrees with 25 digits of text to 1e-24 and is itself that narrow. */
static void check_golden(const arb_t value, const char *text) {
  if (strcmp(text, "inf") == 0) {
    ck_assert(measure_interval_arb(value).lo == INFINITY);
    return;
  }
  arb_t t, error;
  arb_init(t);
  arb_init(error);
  ck_assert_int_eq(arb_set_str(t, text, 300), 0);
  arb_sub(error, value, t, 300);
  arb_abs(error, error);
  arb_set_str(t, text, 300);
  arb_mul_2exp_si(t, t, -79);
  ck_assert(arb_le(error, t));
  arb_clear(t);
  arb_clear(error);
}

START_TEST(ball_measures_match_exact_rationals_at_all_edges) {
  arb_t x, value;
  fmpq_t ratio;
  arb_init(x);
  arb_init(value);
  fmpq_init(ratio);
  for (size_t i = 0; i < sizeof golden_measures / sizeof *golden_measures; i++) {
    const tensor_format *f = tensor_dtype_format(golden_measures[i].dtype);
    double got = golden_measures[i].got;
    ck_assert_int_eq(fmpq_set_str(ratio, golden_measures[i].ratio, 10), 0);
    arb_set_fmpq(x, ratio, 200);
    arb_mul_2exp_si(x, x, golden_measures[i].e);
    measure_abs_arb(value, got, x, 200);
    check_golden(value, golden_measures[i].abs);
    measure_rel_arb(value, got, x, 200);
    check_golden(value, golden_measures[i].rel);
    measure_quotient_arb(value, got, x, x, 200);
    check_golden(value, golden_measures[i].rel);
    measure_ulp_arb(value, got, x, f, 200);
    check_golden(value, golden_measures[i].ulp);
  }
  arb_clear(x);
  arb_clear(value);
  fmpq_clear(ratio);
}
END_TEST

START_TEST(ball_relative_error_of_zero_is_exactly_one) {
  arb_t x, value;
  arb_init(x);
  arb_init(value);
  arb_const_pi(x, 100);
  arb_mul_2exp_si(x, x, -100000);
  measure_rel_arb(value, 0, x, 64);
  ck_assert(arb_is_one(value));
  arb_neg(x, x);
  measure_rel_arb(value, -0.0, x, 64);
  ck_assert(arb_is_one(value));
  arb_zero(x);
  measure_rel_arb(value, 0, x, 64);
  ck_assert(arb_is_zero(value));
  mag_one(arb_radref(x));
  measure_rel_arb(value, 0, x, 64);
  check_interval(measure_interval_arb(value), 0, 1);
  arb_clear(x);
  arb_clear(value);
}
END_TEST

START_TEST(ball_quotient_with_a_denominator_that_may_vanish) {
  arb_t x, y, value;
  arb_init(x);
  arb_init(y);
  arb_init(value);
  arb_set_d(x, 1.5);
  measure_quotient_arb(value, 1.5, x, y, 64); /* 0/0 */
  ck_assert(arb_is_zero(value));
  measure_quotient_arb(value, 1, x, y, 64); /* 0.5/0 */
  check_interval(measure_interval_arb(value), INFINITY, INFINITY);
  mag_one(arb_radref(y));
  measure_quotient_arb(value, 1.5, x, y, 64);
  ck_assert(arb_is_zero(value));
  measure_quotient_arb(value, 1, x, y, 64);
  check_interval(measure_interval_arb(value), 0, INFINITY);
  arb_zero(y);
  mag_one(arb_radref(x));
  measure_quotient_arb(value, 1, x, y, 64);
  check_interval(measure_interval_arb(value), 0, INFINITY);
  arb_set_ui(y, 2);
  arb_set_d(x, 1.5);
  measure_quotient_arb(value, 1, x, y, 64);
  check_interval(measure_interval_arb(value), 0.25, 0.25);
  arb_clear(x);
  arb_clear(y);
  arb_clear(value);
}
END_TEST

/* A ball over a power of two: |got - x| counts in the ulp of either side. */
START_TEST(ball_ulp_astride_a_binade_is_the_union) {
  const tensor_format *f = tensor_dtype_format(ATTEST_FLOAT32);
  arb_t x, value;
  arb_init(x);
  arb_init(value);
  arb_one(x);
  measure_ulp_arb(value, 1 + 0x1p-23, x, f, 128); /* exactly 1: the upper ulp */
  check_interval(measure_interval_arb(value), 1, 1);
  mag_set_ui_2exp_si(arb_radref(x), 1, -100);
  measure_ulp_arb(value, 1 + 0x1p-23, x, f, 128);
  measure_interval m = measure_interval_arb(value);
  ck_assert(m.lo <= 1 && m.lo > 1 - 0x1p-20 && m.hi >= 2 && m.hi < 2 + 0x1p-20);
  arb_zero(x); /* all binades up to 2^0, none below emin */
  mag_one(arb_radref(x));
  measure_ulp_arb(value, 4, x, f, 128);
  m = measure_interval_arb(value);
  ck_assert(m.lo <= 0x3p23 && m.hi >= 0x5p149 && m.hi < 0x5p150);
  arb_zero_pm_inf(x);
  measure_ulp_arb(value, 4, x, f, 128);
  check_interval(measure_interval_arb(value), 0, INFINITY);
  arb_clear(x);
  arb_clear(value);
}
END_TEST

/* ---- doubles: directed ---------------------------------------------------------------------- */

START_TEST(double_measures_at_binade_edges_and_subnormals) {
  const tensor_format *f16 = tensor_dtype_format(ATTEST_FLOAT16);
  const tensor_format *f32 = tensor_dtype_format(ATTEST_FLOAT32);
  const tensor_format *f64 = tensor_dtype_format(ATTEST_FLOAT64);
  check_interval(measure_abs(1.5, 1.5, 0), 0, 0);
  check_interval(measure_abs(-0.0, 0.0, 0), 0, 0);
  check_close(measure_abs(1.5, -1, 0.25), 2.25, 2.75);
  check_close(measure_rel(1.5, 2, 0), 0.25, 0.25);
  check_close(measure_rel(-2, 2, 0), 2, 2);
  check_close(measure_quotient(3, 2, 0, 4, 8), 0.125, 0.25);
  /* binade edges: exactly a power of two, just below, just above */
  check_interval(measure_ulp(1 + 0x1p-23, 1, 0, f32), 1, 1);
  check_interval(measure_ulp(1, 1 - 0x1p-53, 0, f32), 0x1p-29, 0x1p-29);
  check_interval(measure_ulp(1, 1 - 0x1p-24, 0, f32), 1, 1);
  check_interval(measure_ulp(1, 1 + 0x1p-24, 0, f32), 0.5, 0.5);
  check_interval(measure_ulp(1, 1 + 0x1p-24, 0, f16), 0x1p-14, 0x1p-14);
  /* subnormals and zero share one ulp; the first normal binade too */
  check_interval(measure_ulp(0x1p-149, 0, 0, f32), 1, 1);
  check_interval(measure_ulp(0, 0x1p-150, 0, f32), 0.5, 0.5);
  check_interval(measure_ulp(0, 0x1p-126, 0, f32), 0x1p23, 0x1p23);
  check_interval(measure_ulp(0x1p-126, 0x1p-126 - 0x1p-149, 0, f32), 1, 1);
  check_interval(measure_ulp(0x1p-1074, 0, 0, f64), 1, 1);
  check_interval(measure_ulp(0, 0x1p-1022, 0, f64), 0x1p52, 0x1p52);
  check_interval(measure_ulp(DBL_MAX, DBL_MAX / 2, 0, f64), 0x1.fffffffffffffp52,
                 0x1.fffffffffffffp52);
  /* the last binade, and beyond it */
  check_interval(measure_ulp(0x1p128, 0x1.ffffffp127, 0, f32), 0.5, 0.5);
  check_interval(measure_ulp(0x1p128, 0x1p128, 0, f32), 0, 0);
  check_interval(measure_ulp(0x1p128, 0x3p128, 0, f32), 0x1p23, 0x1p23);
}
END_TEST

START_TEST(double_measures_at_zero_and_without_bound) {
  const tensor_format *f = tensor_dtype_format(ATTEST_FLOAT32);
  const double inf = INFINITY;
  check_interval(measure_rel(0, 0, 0), 0, 0);
  check_interval(measure_rel(1, 0, 0), inf, inf);
  check_interval(measure_rel(0, 3, 2.999), 1, 1);
  check_interval(measure_rel(0, -3, 0), 1, 1);
  check_interval(measure_rel(0, 3, 3), 0, 1);
  check_interval(measure_rel(0, 0, 1), 0, 1);
  check_interval(measure_rel(0, 0, inf), 0, 1);
  check_close(measure_rel(2, 0, 1), 1, inf); /* x = 1 is nearest */
  check_interval(measure_rel(2, 1, 1), 0, inf);
  check_interval(measure_quotient(1, 1, 0, 0, 0), 0, 0);
  check_interval(measure_quotient(1, 2, 0, 0, 0), inf, inf);
  check_interval(measure_quotient(1, 2, 1, 0, 0), 0, inf);
  check_interval(measure_quotient(1, 2, 0, 0, inf), 0, inf);
  check_close(measure_quotient(1, 2, 0, 0.5, inf), 0, 2);
  check_interval(measure_abs(1, 2, inf), 0, inf);
  check_interval(measure_rel(1, 2, inf), 0, inf);
  check_interval(measure_ulp(1, 2, inf, f), 0, inf);
  check_interval(measure_quotient(1, 2, inf, 1, 1), 0, inf);
  check_interval(measure_abs(1, inf, inf), 0, inf);
}
END_TEST

START_TEST(double_measures_survive_overflow_and_underflow) {
  const tensor_format *f = tensor_dtype_format(ATTEST_FLOAT64);
  const double inf = INFINITY;
  check_interval(measure_abs(DBL_MAX, -DBL_MAX, 0), DBL_MAX, inf);
  check_close(measure_abs(DBL_MAX, -DBL_MAX, DBL_MAX), DBL_MAX, inf);
  check_close(measure_abs(DBL_MAX, DBL_MAX, DBL_MAX), 0, DBL_MAX);
  check_interval(measure_abs(0x1p-1074, 0, 0), 0x1p-1074, 0x1p-1074);
  /* got infinite stands for 2^1024 */
  check_interval(measure_abs(inf, DBL_MAX, 0), 0x1p971, 0x1p971);
  check_close(measure_abs(-inf, -DBL_MAX, 0x1p970), 0x1p970, 0x3p970);
  check_interval(measure_ulp(inf, DBL_MAX, 0, f), 1, 1);
  check_interval(measure_abs(inf, 0x1p1023, 0), 0x1p1023, 0x1p1023);
  check_interval(measure_abs(inf, 1, 0), DBL_MAX, inf);
  check_close(measure_abs(inf, 0x1p-1074, 0x1p1023), 0x1p1023 - 0x1p970, inf);
  check_close(measure_abs(0x1p1022, -0x1p-1074, 0), 0x1p1022, 0x1p1022 + 0x1p970);
  /* x and got far below 1 over a denominator far above, and the reverse */
  check_close(measure_quotient(0x1p-1074, 0, 0, 0x1p1000, 0x1p1000), 0, 0x1p-1074);
  check_close(measure_quotient(0x1p1000, 0, 0, 0x1p-1000, 0x1p-1000), DBL_MAX, inf);
  measure_interval m = measure_rel(DBL_MAX, 0x1p-1074, 0);
  ck_assert(m.lo == DBL_MAX && m.hi == inf);
  m = measure_ulp(0x1p-1074, 0x1p1023, 0x1p1000, f);
  ck_assert(m.lo <= 0x1p52 && m.hi >= 0x1p52 && m.hi < 0x1p54);
  arb_t x, value;
  arb_init(x);
  arb_init(value);
  arb_set_d(x, DBL_MAX);
  measure_abs_arb(value, inf, x, 128);
  check_interval(measure_interval_arb(value), 0x1p971, 0x1p971);
  measure_ulp_arb(value, inf, x, f, 128);
  check_interval(measure_interval_arb(value), 1, 1);
  arb_clear(x);
  arb_clear(value);
}
END_TEST

/* ---- doubles: randomized -------------------------------------------------------------------- */

static double wild(uint64_t *state) {
  uint64_t r = tests_random(state);
  r &= ~((uint64_t)1 << 62) | (tests_random(state) & (uint64_t)1 << 62);
  double x;
  memcpy(&x, &r, sizeof x);
  return isfinite(x) ? x : DBL_MAX;
}

static double limited(double x) {
  return fmax(-DBL_MAX, fmin(DBL_MAX, x));
}

typedef struct {
  double got, mid, rad, y_lo, y_hi;
  arb_t x, y; /* exact points of the enclosures */
} sample;

/* Exponents anywhere or moderate; got near x, equal, zero or unrelated; radius 0, relative to x or
 * to the distance, or unrelated. x is a point of the ball, often one of its ends. */
static void draw(sample *s, uint64_t *state) {
  uint64_t kind = tests_random(state);
  s->mid = kind & 1 ? wild(state) : tests_uniform(state) - 0.5;
  if ((kind >> 1) % 16 == 0) s->mid = ldexp(1.0, (int)(tests_random(state) % 2090) - 1070);
  if ((kind >> 5) % 16 == 0) s->mid = 0;
  int bits = (int)(tests_random(state) % 70);
  double near = limited(s->mid * (1 + ldexp(tests_uniform(state) - 0.5, -bits)));
  const double gots[] = {near, near, near, s->mid, wild(state), 0, -near, tests_uniform(state)};
  s->got = gots[(kind >> 9) % 8];
  int narrow = -(int)(tests_random(state) % 120);
  double distance = fabs(limited(s->got - s->mid)); /* of 1 - 2^-k: got just outside the ball */
  const double rads[] = {0, ldexp(fabs(s->mid), narrow),
                         kind >> 40 & 1 ? ldexp(distance, narrow)
                                        : distance * (1 - ldexp(tests_uniform(state), narrow / 3)),
                         fabs(wild(state))};
  s->rad = rads[(kind >> 12) % 4];
  double y = (kind >> 14) % 8 ? fabs(wild(state)) : 0;
  s->y_lo = y;
  s->y_hi = (kind >> 17) % 2 ? y : limited(y * 1.25);
  slong t = (slong)(tests_random(state) % 2049) - 1024; /* x = mid + t/1024 rad */
  if ((kind >> 20) % 3 == 0) t = t < 0 ? -1024 : 1024;
  arb_set_d(s->x, s->rad);
  arb_mul_si(s->x, s->x, t, ARF_PREC_EXACT);
  arb_mul_2exp_si(s->x, s->x, -10);
  arb_set_d(s->y, s->mid);
  arb_add(s->x, s->x, s->y, ARF_PREC_EXACT);
  arb_set_d(s->y, (kind >> 22) & 1 ? s->y_lo : s->y_hi);
}

static void check_contains(measure_interval m, const arb_t value, const sample *s,
                           const char *name) {
  arf_t lo, hi;
  arf_init(lo);
  arf_init(hi);
  arb_get_lbound_arf(lo, value, 300);
  arb_get_ubound_arf(hi, value, 300);
  ck_assert_msg(m.lo >= 0 && m.lo <= m.hi && arf_cmp_d(hi, m.lo) >= 0 && arf_cmp_d(lo, m.hi) <= 0,
                "%s: [%a, %a] misses it for got %a in %a +- %a", name, m.lo, m.hi, s->got, s->mid,
                s->rad);
  arf_clear(lo);
  arf_clear(hi);
}

static void check_sample(const sample *s, const tensor_format *f, arb_t value) {
  measure_abs_arb(value, s->got, s->x, 300);
  check_contains(measure_abs(s->got, s->mid, s->rad), value, s, "abs");
  measure_rel_arb(value, s->got, s->x, 300);
  check_contains(measure_rel(s->got, s->mid, s->rad), value, s, "rel");
  measure_ulp_arb(value, s->got, s->x, f, 300);
  check_contains(measure_ulp(s->got, s->mid, s->rad, f), value, s, f->name);
  measure_quotient_arb(value, s->got, s->x, s->y, 300);
  check_contains(measure_quotient(s->got, s->mid, s->rad, s->y_lo, s->y_hi), value, s, "quotient");
}

static void contain_random_samples(uint64_t seed, int count) {
  arb_t value;
  sample s;
  arb_init(value);
  arb_init(s.x);
  arb_init(s.y);
  for (int n = 0; n < count; n++) {
    draw(&s, &seed);
    check_sample(&s, tensor_dtype_format(float_dtypes[n % 4]), value);
  }
  arb_clear(value);
  arb_clear(s.x);
  arb_clear(s.y);
}

START_TEST(double_measures_contain_the_exact_measure) {
  contain_random_samples(tests_seed() + ((uint64_t)_i << 32), 25000);
}
END_TEST

/* The width that the definition forces, (|got-x|+r)/(|got-x|-r), and a little more. */
static void check_narrow(measure_interval m, double forced, const sample *s) {
  if (m.hi < INFINITY && m.lo > 0x1p-900)
    ck_assert_msg(m.hi / m.lo - 1 <= 0x1p-49 + 4 * forced, "[%a, %a] for got %a, %a +- %a", m.lo,
                  m.hi, s->got, s->mid, s->rad);
}

START_TEST(double_measures_are_as_narrow_as_the_radius_allows) {
  uint64_t state = tests_seed();
  sample s;
  arb_init(s.x);
  arb_init(s.y);
  for (int n = 0; n < 50000; n++) {
    draw(&s, &state);
    const tensor_format *f = tensor_dtype_format(float_dtypes[n % 4]);
    double distance = fabs(limited(s.got - s.mid)), forced = s.rad / distance;
    if (distance < 0x1p-950 || forced > 0.125) continue;
    check_narrow(measure_abs(s.got, s.mid, s.rad), forced, &s);
    check_narrow(measure_quotient(s.got, s.mid, s.rad, 3, 3), forced, &s);
    if (s.rad > fabs(s.mid) / 8) continue;
    check_narrow(measure_rel(s.got, s.mid, s.rad), forced + s.rad / fabs(s.mid), &s);
    /* within one binade, and a radius that leaves it there */
    if (ilogb(s.mid * (1 - 0x1p-50)) == ilogb(s.mid * (1 + 0x1p-50)) &&
        s.rad < fabs(s.mid) * 0x1p-53)
      check_narrow(measure_ulp(s.got, s.mid, s.rad, f), forced, &s);
  }
  arb_clear(s.x);
  arb_clear(s.y);
}
END_TEST

START_TEST(lower_end_is_zero_when_the_ball_contains_got) {
  uint64_t state = tests_seed();
  for (int n = 0; n < 50000; n++) {
    double mid = n & 1 ? wild(&state) : tests_uniform(&state);
    double rad = n & 2 ? fabs(wild(&state)) : fabs(mid) * tests_uniform(&state);
    double got = limited(mid + rad * (2 * tests_uniform(&state) - 1));
    if (fabs(got - mid) >= rad || isinf(mid + rad)) continue;
    ck_assert(measure_abs(got, mid, rad).lo == 0);
    ck_assert(got == 0 || measure_rel(got, mid, rad).lo == 0);
    ck_assert(measure_ulp(got, mid, rad, tensor_dtype_format(ATTEST_FLOAT32)).lo == 0);
  }
}
END_TEST

/* ---- edge rules ----------------------------------------------------------------------------- */

static measure_got classify(double got, measure_class exact, double lo, double hi,
                            attest_dtype dtype) {
  return measure_classify(&got, exact, lo, hi, tensor_dtype_format(dtype));
}

START_TEST(nan_and_prescribed_classes) {
  const double inf = INFINITY;
  const attest_dtype f = ATTEST_FLOAT32;
  ck_assert_int_eq(classify(1, EXACT_FINITE, 0, 2, f), GOT_NUMBER);
  ck_assert_int_eq(classify(NAN, EXACT_FINITE, 0, 2, f), GOT_HOPELESS);
  ck_assert_int_eq(classify(NAN, EXACT_NAN, 0, 0, f), GOT_EXACT);
  ck_assert_int_eq(classify(1, EXACT_NAN, 0, 0, f), GOT_HOPELESS);
  ck_assert_int_eq(classify(inf, EXACT_NAN, 0, 0, f), GOT_HOPELESS);
  ck_assert_int_eq(classify(inf, EXACT_PLUS_INF, 0, 0, f), GOT_EXACT);
  ck_assert_int_eq(classify(-inf, EXACT_PLUS_INF, 0, 0, f), GOT_HOPELESS);
  ck_assert_int_eq(classify(NAN, EXACT_PLUS_INF, 0, 0, f), GOT_HOPELESS);
  ck_assert_int_eq(classify(DBL_MAX, EXACT_PLUS_INF, 0, 0, f), GOT_HOPELESS);
  ck_assert_int_eq(classify(-inf, EXACT_MINUS_INF, 0, 0, f), GOT_EXACT);
  ck_assert_int_eq(classify(inf, EXACT_MINUS_INF, 0, 0, f), GOT_HOPELESS);
}
END_TEST

/* Infinite got against x at, below and astride the threshold 2^emax (2 - 2^-p), both signs. */
START_TEST(infinite_output_counts_where_x_overflows) {
  arb_t x;
  arb_init(x);
  for (int i = 0; i < 4; i++) {
    const tensor_format *f = tensor_dtype_format(float_dtypes[i]);
    for (int sign = 1; sign >= -1; sign -= 2) {
      double got = sign * INFINITY;
      arb_set_si(x, sign * (((slong)2 << f->precision) - 1));
      arb_mul_2exp_si(x, x, f->emax - f->precision);
      ck_assert_int_eq(measure_classify_arb(&got, EXACT_FINITE, x, f), GOT_NUMBER);
      ck_assert(got == sign * ldexp(1, f->emax + 1));
      double other = -sign * INFINITY, rounded;
      ck_assert_int_eq(measure_classify_arb(&other, EXACT_FINITE, x, f), GOT_HOPELESS);
      ck_assert(enclosure_round(&rounded, x, f) && isinf(rounded));
      mag_set_ui_2exp_si(arb_radref(x), 1, -300);
      got = sign * INFINITY;
      ck_assert_int_eq(measure_classify_arb(&got, EXACT_FINITE, x, f), GOT_UNKNOWN);
      arf_mul_2exp_si(arb_midref(x), arb_midref(x), -1);
      ck_assert_int_eq(measure_classify_arb(&got, EXACT_FINITE, x, f), GOT_HOPELESS);
      ck_assert(got == sign * INFINITY);
    }
  }
  arb_clear(x);
  const double t = 0x1.ffffffp127, below = nextafter(t, 0); /* float32 */
  double got = INFINITY;
  ck_assert_int_eq(classify(got, EXACT_FINITE, t, t, ATTEST_FLOAT32), GOT_NUMBER);
  ck_assert_int_eq(classify(got, EXACT_FINITE, below, below, ATTEST_FLOAT32), GOT_HOPELESS);
  ck_assert_int_eq(classify(got, EXACT_FINITE, below, t, ATTEST_FLOAT32), GOT_UNKNOWN);
  ck_assert_int_eq(classify(-got, EXACT_FINITE, -t, -t, ATTEST_FLOAT32), GOT_NUMBER);
  ck_assert_int_eq(classify(-got, EXACT_FINITE, -t, -below, ATTEST_FLOAT32), GOT_UNKNOWN);
  ck_assert_int_eq(classify(-got, EXACT_FINITE, t, t, ATTEST_FLOAT32), GOT_HOPELESS);
  ck_assert_int_eq(measure_classify(&got, EXACT_FINITE, t, t, tensor_dtype_format(ATTEST_FLOAT32)),
                   GOT_NUMBER);
  ck_assert(got == 0x1p128);
  got = INFINITY;
  ck_assert_int_eq(classify(got, EXACT_FINITE, DBL_MAX, DBL_MAX, ATTEST_FLOAT64), GOT_HOPELESS);
  ck_assert_int_eq(classify(got, EXACT_FINITE, DBL_MAX, INFINITY, ATTEST_FLOAT64), GOT_UNKNOWN);
  ck_assert_int_eq(classify(got, EXACT_FINITE, -INFINITY, INFINITY, ATTEST_FLOAT32), GOT_UNKNOWN);
}
END_TEST

/* ---- canonical figures ---------------------------------------------------------------------- */

START_TEST(canonical_figures_have_21_bits_rounded_up) {
  ck_assert(measure_canonical(0) == 0 && measure_canonical(INFINITY) == INFINITY);
  ck_assert(measure_canonical(1) == 1 && measure_canonical(1 + 0x1p-20) == 1 + 0x1p-20);
  ck_assert(measure_canonical(1 + 0x1p-52) == 1 + 0x1p-20);
  ck_assert(measure_canonical(2 - 0x1p-52) == 2);
  ck_assert(measure_canonical(DBL_MAX) == INFINITY);
  ck_assert(measure_canonical(0x1p-1074) == 0x1p-1074);
  ck_assert(measure_canonical(0x1fffffp-1074) == 0x1fffffp-1074);
  ck_assert(measure_canonical(0x200001p-1074) == 0x200002p-1074);
  uint64_t state = tests_seed();
  for (int n = 0; n < 20000; n++) {
    double x = fabs(wild(&state)), y = measure_canonical(x), scaled;
    int e;
    ck_assert(y >= x && measure_canonical(y) == y);
    if (isinf(y)) continue;
    scaled = ldexp(frexp(x, &e), 21);
    ck_assert(ldexp(y, 21 - e) == ceil(scaled) || e < -1021);
  }
}
END_TEST

START_TEST(names_follow_the_enumeration) {
  ck_assert_str_eq(measure_names[MEASURE_ABS], "abs");
  ck_assert_str_eq(measure_names[MEASURE_NMSE], "nmse");
  ck_assert_str_eq(measure_names[MEASURE_THEORY], "theory");
  ck_assert(measure_unit_roundoff(tensor_dtype_format(ATTEST_FLOAT32)) == 0x1p-24);
}
END_TEST

void test_measure(Suite *suite) {
  TCase *tests = tcase_create("measure");
  tcase_add_test(tests, ball_measures_match_exact_rationals_at_all_edges);
  tcase_add_test(tests, ball_relative_error_of_zero_is_exactly_one);
  tcase_add_test(tests, ball_quotient_with_a_denominator_that_may_vanish);
  tcase_add_test(tests, ball_ulp_astride_a_binade_is_the_union);
  tcase_add_test(tests, double_measures_at_binade_edges_and_subnormals);
  tcase_add_test(tests, double_measures_at_zero_and_without_bound);
  tcase_add_test(tests, double_measures_survive_overflow_and_underflow);
  tcase_add_loop_test(tests, double_measures_contain_the_exact_measure, 0, 10);
  tcase_add_test(tests, double_measures_are_as_narrow_as_the_radius_allows);
  tcase_add_test(tests, lower_end_is_zero_when_the_ball_contains_got);
  tcase_add_test(tests, nan_and_prescribed_classes);
  tcase_add_test(tests, infinite_output_counts_where_x_overflows);
  tcase_add_test(tests, canonical_figures_have_21_bits_rounded_up);
  tcase_add_test(tests, names_follow_the_enumeration);
  suite_add_tcase(suite, tests);
}
