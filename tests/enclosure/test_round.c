/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* enclosure_round against exhaustive neighbours, MPFR with emulated subnormals, the machine's own
 * conversions and NumPy. */
#include <float.h>
#include <math.h>
#include <mpfr.h>

#include "../../src/enclosure/enclosure.h"
#include "../tests.h"
#include "golden.h"

static const attest_dtype float_dtypes[] = {ATTEST_FLOAT16, ATTEST_BFLOAT16, ATTEST_FLOAT32,
                                            ATTEST_FLOAT64};
enum { FLOAT_DTYPES = 4, SLICES = 4 };

static int same(double a, double b) {
  return a == b && signbit(a) == signbit(b);
}

static double rounded(const arb_t x, const tensor_format *format) {
  double result = NAN;
  ck_assert_int_eq(enclosure_round(&result, x, format), 1);
  return result;
}

/* y = x + sign 2^e exactly; y may be x. */
static void nudge(arb_t y, const arb_t x, int sign, slong e) {
  arb_t step;
  arb_init(step);
  arb_set_si(step, sign);
  arb_mul_2exp_si(step, step, e);
  arb_add(y, x, step, ARF_PREC_EXACT);
  arb_clear(step);
}

/* Value k of the nonnegative ones of a format in order; the one after the largest is infinity. */
static double value_number(int64_t k, const tensor_format *f) {
  int64_t per_binade = (int64_t)1 << (f->precision - 1);
  int64_t block = k / per_binade, m = k % per_binade;
  if (block == 0) return ldexp((double)m, f->emin - f->precision + 1);
  if (block - 1 + f->emin > f->emax) return INFINITY;
  return ldexp((double)(m + per_binade), f->emin - f->precision + (int)block);
}

/* Rounds value k, the midpoint to value k + 1 and points just off it, with both signs. */
static void check_neighbours(int64_t k, const tensor_format *f) {
  double low = value_number(k, f), high = value_number(k + 1, f), unused;
  arb_t mid, x, step;
  arb_init(mid);
  arb_init(x);
  arb_init(step);
  arb_set_d(mid, low);
  ck_assert(same(rounded(mid, f), low));
  arb_set_d(step, isinf(high) ? ldexp(1.0, f->emax) : high); /* the value after the largest */
  if (isinf(high)) arb_mul_2exp_si(step, step, 1);
  arb_add(mid, mid, step, ARF_PREC_EXACT);
  arb_mul_2exp_si(mid, mid, -1);
  slong tiny = fmpz_get_si(ARF_EXPREF(arb_midref(mid))) - 200;
  double even = k % 2 == 0 ? low : high;
  for (int sign = 1; sign >= -1; sign -= 2) {
    if (sign < 0) arb_neg(mid, mid);
    ck_assert(same(rounded(mid, f), sign * even));
    nudge(x, mid, -sign, tiny);
    ck_assert(same(rounded(x, f), sign * low));
    mag_set_ui_2exp_si(arb_radref(x), 1, tiny - 1);
    ck_assert(same(rounded(x, f), sign * low));
    mag_set_ui_2exp_si(arb_radref(x), 5, tiny - 2);
    ck_assert_int_eq(enclosure_round(&unused, x, f), 0);
    nudge(x, mid, sign, tiny);
    ck_assert(same(rounded(x, f), sign * high));
    mag_set_ui_2exp_si(arb_radref(x), 1, tiny - 1);
    ck_assert(same(rounded(x, f), sign * high));
    mag_set_ui_2exp_si(arb_radref(x), 5, tiny - 2);
    ck_assert_int_eq(enclosure_round(&unused, x, f), 0);
  }
  arb_clear(mid);
  arb_clear(x);
  arb_clear(step);
}

static int64_t values_of(const tensor_format *f) {
  return (int64_t)(f->emax - f->emin + 2) << (f->precision - 1);
}

START_TEST(every_float16_neighbour_pair_and_midpoint) {
  const tensor_format *f = tensor_dtype_format(ATTEST_FLOAT16);
  for (int64_t k = _i; k < values_of(f); k += SLICES)
    check_neighbours(k, f);
}
END_TEST

START_TEST(every_bfloat16_neighbour_pair_and_midpoint) {
  const tensor_format *f = tensor_dtype_format(ATTEST_BFLOAT16);
  for (int64_t k = _i; k < values_of(f); k += SLICES)
    check_neighbours(k, f);
}
END_TEST

START_TEST(binade_edges_and_random_neighbours_of_float32_and_float64) {
  uint64_t state = tests_seed();
  for (int i = 2; i < FLOAT_DTYPES; i++) {
    const tensor_format *f = tensor_dtype_format(float_dtypes[i]);
    int64_t per_binade = (int64_t)1 << (f->precision - 1), count = values_of(f);
    for (int64_t block = 0; block < count / per_binade; block++) {
      check_neighbours(block * per_binade, f);
      check_neighbours(block * per_binade + per_binade - 1, f);
    }
    for (int n = 0; n < tests_trials(4000); n++)
      check_neighbours((int64_t)(tests_random(&state) % (uint64_t)count), f);
  }
}
END_TEST

/* mpfr_set into a variable of the format's precision and exponent range, then gradual underflow. */
static double by_mpfr(const arf_t x, const tensor_format *f) {
  mpfr_t exact, y;
  mpfr_init2(exact, arf_bits(x) < 2 ? 2 : arf_bits(x));
  mpfr_init2(y, f->precision);
  arf_get_mpfr(exact, x, MPFR_RNDN);
  mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  int ternary = mpfr_set(y, exact, MPFR_RNDN);
  mpfr_set_emin(f->emin - f->precision + 2);
  mpfr_set_emax(f->emax + 1);
  ternary = mpfr_check_range(y, ternary, MPFR_RNDN);
  mpfr_subnormalize(y, ternary, MPFR_RNDN);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  double d = mpfr_get_d(y, MPFR_RNDN);
  mpfr_clear(exact);
  mpfr_clear(y);
  return d;
}

START_TEST(random_dyadics_round_as_mpfr_does) {
  uint64_t state = tests_seed();
  arb_t x;
  arb_init(x);
  for (int n = 0; n < tests_trials(60000); n++) {
    const tensor_format *f = tensor_dtype_format(float_dtypes[n % FLOAT_DTYPES]);
    /* Short significands, so that ties are common; exponents all over and around the range. */
    arb_set_si(x, (slong)(tests_random(&state) >> (tests_random(&state) % 63)));
    if (tests_random(&state) & 1) arb_neg(x, x);
    int span = f->emax - f->emin + 2 * f->precision + 80;
    arb_mul_2exp_si(x, x, f->emin - f->precision - 80 + (slong)(tests_random(&state) % span));
    if (tests_random(&state) % 8 == 0)
      nudge(x, x, n & 1 ? 1 : -1, -1200 - (slong)(tests_random(&state) % 3000));
    if (arb_is_zero(x)) continue;
    ck_assert(same(rounded(x, f), by_mpfr(arb_midref(x), f)));
  }
  arb_clear(x);
}
END_TEST

START_TEST(doubles_round_to_float32_as_the_machine_does) {
  uint64_t state = tests_seed();
  const tensor_format *f = tensor_dtype_format(ATTEST_FLOAT32);
  arb_t x;
  arb_init(x);
  for (int n = 0; n < tests_trials(60000); n++) {
    double d = ldexp(tests_uniform(&state) - 0.5, (int)(tests_random(&state) % 300) - 160);
    arb_set_d(x, d);
    ck_assert(same(rounded(x, f), (double)(float)d));
  }
  arb_clear(x);
}
END_TEST

START_TEST(float16_rounds_as_numpy_does) {
  const tensor_format *f = tensor_dtype_format(ATTEST_FLOAT16);
  arb_t x;
  arb_init(x);
  for (size_t i = 0; i < sizeof golden_float16 / sizeof *golden_float16; i++) {
    unsigned bits = golden_float16[i].bits;
    double value = value_number(bits & 0x7fff, f);
    arb_set_d(x, golden_float16[i].x);
    ck_assert(same(rounded(x, f), bits >> 15 ? -value : value));
  }
  arb_clear(x);
}
END_TEST

START_TEST(zero_sign_infinity_and_balls_astride_zero) {
  arb_t x;
  arb_init(x);
  for (int i = 0; i < FLOAT_DTYPES; i++) {
    const tensor_format *f = tensor_dtype_format(float_dtypes[i]);
    double unused;
    arb_zero(x);
    ck_assert(same(rounded(x, f), 0.0));
    mag_set_ui_2exp_si(arb_radref(x), 1, -5000); /* -0 or +0: not decided */
    ck_assert_int_eq(enclosure_round(&unused, x, f), 0);
    arb_set_si(x, -1);
    arb_mul_2exp_si(x, x, -5000);
    ck_assert(same(rounded(x, f), -0.0));
    arb_pos_inf(x);
    ck_assert(same(rounded(x, f), INFINITY));
    arb_zero_pm_inf(x);
    ck_assert_int_eq(enclosure_round(&unused, x, f), 0);
    arb_indeterminate(x);
    ck_assert_int_eq(enclosure_round(&unused, x, f), 0);
  }
  arb_clear(x);
}
END_TEST

/* mid and radius whose exponents are 10^18 apart: nothing may be expanded. */
START_TEST(exponents_of_any_size_cost_nothing) {
  const tensor_format *f = tensor_dtype_format(ATTEST_FLOAT64);
  const slong far = 1000000000000000000;
  double d;
  arb_t x;
  arb_init(x);
  arb_set_d(x, 1.5);
  mag_set_ui_2exp_si(arb_radref(x), 3, -far);
  ck_assert(same(rounded(x, f), 1.5));
  ck_assert(enclosure_upper(x) == 1.5 + DBL_EPSILON && enclosure_lower(x) == 1.5 - DBL_EPSILON);
  arb_set_d(x, 1 + 0x1p-24);
  mag_set_ui_2exp_si(arb_radref(x), 1, -far);
  ck_assert_int_eq(enclosure_round(&d, x, tensor_dtype_format(ATTEST_FLOAT32)), 0);
  arb_set_si(x, -1);
  arb_mul_2exp_si(x, x, -far);
  ck_assert(same(rounded(x, f), -0.0));
  ck_assert(enclosure_lower(x) == -0x1p-1074 && same(enclosure_upper(x), -0.0));
  mag_set_ui_2exp_si(arb_radref(x), 1, far);
  ck_assert_int_eq(enclosure_round(&d, x, f), 0);
  ck_assert(enclosure_lower(x) == -INFINITY && enclosure_upper(x) == INFINITY);
  arb_set_si(x, 3);
  arb_mul_2exp_si(x, x, far);
  mag_set_ui_2exp_si(arb_radref(x), 1, -far);
  ck_assert(same(rounded(x, f), INFINITY));
  ck_assert(enclosure_lower(x) == DBL_MAX && enclosure_upper(x) == INFINITY);
  arb_clear(x);
}
END_TEST

/* The double bounds are the tightest ones: one step inward is inside the ball. */
START_TEST(upper_and_lower_are_the_nearest_outward_doubles) {
  uint64_t state = tests_seed();
  arb_t x, t;
  arf_t end;
  arb_init(x);
  arb_init(t);
  arf_init(end);
  for (int n = 0; n < tests_trials(20000); n++) {
    arb_set_d(x, ldexp(tests_uniform(&state) - 0.5, (int)(tests_random(&state) % 2150) - 1130));
    nudge(x, x, 1, (slong)(tests_random(&state) % 2400) - 1300);
    if (n % 3) mag_set_ui_2exp_si(arb_radref(x), n, (slong)(tests_random(&state) % 2300) - 1200);
    double hi = enclosure_upper(x), lo = enclosure_lower(x);
    arb_get_ubound_arf(end, x, ARF_PREC_EXACT);
    ck_assert(arf_cmp_d(end, hi) <= 0 && arf_cmp_d(end, nextafter(hi, -INFINITY)) > 0);
    arb_get_lbound_arf(end, x, ARF_PREC_EXACT);
    ck_assert(arf_cmp_d(end, lo) >= 0 && arf_cmp_d(end, nextafter(lo, INFINITY)) < 0);
  }
  arb_indeterminate(x);
  ck_assert(enclosure_lower(x) == -INFINITY && enclosure_upper(x) == INFINITY);
  arb_clear(x);
  arb_clear(t);
  arf_clear(end);
}
END_TEST

void test_round(Suite *suite) {
  TCase *tests = tcase_create("round");
  tcase_add_loop_test(tests, every_float16_neighbour_pair_and_midpoint, 0, SLICES);
  tcase_add_loop_test(tests, every_bfloat16_neighbour_pair_and_midpoint, 0, SLICES);
  tcase_add_test(tests, binade_edges_and_random_neighbours_of_float32_and_float64);
  tcase_add_test(tests, random_dyadics_round_as_mpfr_does);
  tcase_add_test(tests, doubles_round_to_float32_as_the_machine_does);
  tcase_add_test(tests, float16_rounds_as_numpy_does);
  tcase_add_test(tests, zero_sign_infinity_and_balls_astride_zero);
  tcase_add_test(tests, exponents_of_any_size_cost_nothing);
  tcase_add_test(tests, upper_and_lower_are_the_nearest_outward_doubles);
  suite_add_tcase(suite, tests);
}
