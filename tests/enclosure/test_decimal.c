/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Decimal output against exact Python integers and mpmath (golden.py), and against itself read
 * back. */
#include <math.h>

#include "../../src/enclosure/enclosure.h"
#include "../tests.h"
#include "golden.h"

static void check_text(const arb_t x, long digits, const char *expected) {
  char *text;
  ck_assert_int_eq(enclosure_decimal(&text, x, digits), 1);
  ck_assert_str_eq(text, expected);
  free(text);
}

static void check_straddles(const arb_t x, long digits) {
  char *text;
  ck_assert_int_eq(enclosure_decimal(&text, x, digits), 0);
  ck_assert_ptr_null(text);
}

/* m 2^e exactly. */
static void set_dyadic(arb_t x, const char *m, slong e) {
  fmpz_t n;
  fmpz_init(n);
  fmpz_set_str(n, m, 10);
  arb_set_fmpz(x, n);
  arb_mul_2exp_si(x, x, e);
  fmpz_clear(n);
}

START_TEST(exact_balls_match_exact_rationals) {
  arb_t x;
  arb_init(x);
  for (size_t i = 0; i < sizeof golden_decimals / sizeof *golden_decimals; i++) {
    set_dyadic(x, golden_decimals[i].m, golden_decimals[i].e);
    check_text(x, golden_decimals[i].digits, golden_decimals[i].text);
  }
  arb_clear(x);
}
END_TEST

START_TEST(irrational_balls_match_mpmath) {
  arb_t x;
  arb_init(x);
  for (size_t i = 0; i < sizeof golden_irrational / sizeof *golden_irrational; i++) {
    long digits = golden_irrational[i].digits;
    if (golden_irrational[i].argument == 0) {
      arb_const_pi(x, 4 * digits + 64);
    } else {
      arb_set_si(x, golden_irrational[i].argument);
      arb_exp(x, x, 4 * digits + 128);
    }
    check_text(x, digits, golden_irrational[i].text);
  }
  arb_clear(x);
}
END_TEST

START_TEST(powers_of_ten_carries_and_notation) {
  arb_t x;
  arb_init(x);
  arb_zero(x);
  check_text(x, 20, "0");
  const struct {
    const char *x;
    long digits;
    const char *text;
  } cases[] = {
      {"9.9996", 4, "10.00"},
      {"9.9994", 4, "9.999"},
      {"0.99996", 4, "1.000"},
      {"999.96", 4, "1000"},
      {"9999.6", 4, "1.000e4"},
      {"-9.9996", 4, "-10.00"},
      {"0.0000012345", 5, "0.0000012345"},
      {"0.00000012345", 5, "1.2345e-7"},
      {"9.99996e-7", 5, "0.0000010000"},
      {"123456", 6, "123456"},
      {"123456", 5, "1.2346e5"},
      {"7e-12", 1, "7e-12"},
      {"-1.5e-40", 2, "-1.5e-40"},
      {"1e23", 2, "1.0e23"},
      {"1e-100000", 3, "1.00e-100000"},
      {"-1e100000", 3, "-1.00e100000"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    arb_set_str(x, cases[i].x, 128);
    check_text(x, cases[i].digits, cases[i].text);
  }
  arb_clear(x);
}
END_TEST

/* An exact tie goes to the even digit; with any radius it straddles; next to it, it is decided by
 * however little. */
START_TEST(ties_are_decided_only_when_exact) {
  arb_t x, step;
  arb_init(x);
  arb_init(step);
  arb_set_d(x, 0.125);
  check_text(x, 2, "0.12");
  arb_set_d(x, 0.375);
  check_text(x, 2, "0.38");
  mag_set_ui_2exp_si(arb_radref(x), 1, -100000000);
  check_straddles(x, 2);
  for (int sign = -1; sign <= 1; sign += 2) {
    arb_set_d(x, 0.125);
    arb_set_si(step, sign);
    arb_mul_2exp_si(step, step, -5000);
    arb_add(x, x, step, ARF_PREC_EXACT);
    check_text(x, 2, sign > 0 ? "0.13" : "0.12");
    mag_set_ui_2exp_si(arb_radref(x), 1, -5001);
    check_text(x, 2, sign > 0 ? "0.13" : "0.12");
    mag_set_ui_2exp_si(arb_radref(x), 3, -5001);
    check_straddles(x, 2);
  }
  arb_clear(x);
  arb_clear(step);
}
END_TEST

START_TEST(wide_infinite_and_unordered_balls_straddle) {
  arb_t x;
  arb_init(x);
  arb_set_d(x, 1);
  mag_one(arb_radref(x));
  check_straddles(x, 1);
  arb_set_d(x, 1.2);
  mag_set_d(arb_radref(x), 0.2);
  check_text(x, 1, "1");
  mag_set_d(arb_radref(x), 0.31);
  check_straddles(x, 1);
  arb_zero(x);
  mag_set_ui_2exp_si(arb_radref(x), 1, -1000000000);
  check_straddles(x, 3);
  arb_pos_inf(x);
  check_straddles(x, 3);
  arb_indeterminate(x);
  check_straddles(x, 3);
  arb_one(x);
  check_straddles(x, 0);
  arb_clear(x);
}
END_TEST

/* Exponents that MPFR does not hold: 10^k with k beyond 2^30 log10(2). */
START_TEST(exponents_beyond_mpfr_are_scaled) {
  arb_t x, ten;
  fmpz_t k;
  arb_init(x);
  arb_init(ten);
  fmpz_init(k);
  arb_set_ui(ten, 10);
  for (int sign = -1; sign <= 1; sign += 2) {
    fmpz_set_si(k, sign * 400000000000);
    arb_pow_fmpz(x, ten, k, 200);
    arb_mul_ui(x, x, 1234567, 200);
    check_text(x, 7, sign > 0 ? "1.234567e400000000006" : "1.234567e-399999999994");
    check_text(x, 3, sign > 0 ? "1.23e400000000006" : "1.23e-399999999994");
  }
  char *radius = enclosure_radius_decimal(x, "1.23e400000000006");
  ck_assert_str_eq(radius, "4.6e400000000003"); /* 0.004567 */
  free(radius);
  fmpz_set_ui(k, 1);
  fmpz_mul_2exp(k, k, 70); /* beyond a machine word: no text, no bound */
  arb_one(x);
  arb_mul_2exp_fmpz(x, x, k);
  check_straddles(x, 3);
  radius = enclosure_radius_decimal(x, "1");
  ck_assert_str_eq(radius, "inf");
  free(radius);
  fmpz_clear(k);
  arb_clear(x);
  arb_clear(ten);
}
END_TEST

/* The text read back by strtod is the double printed (17 digits), and within half a unit. */
START_TEST(seventeen_digits_read_back_as_the_same_double) {
  uint64_t state = tests_seed();
  arb_t x;
  arb_init(x);
  for (int n = 0; n < tests_trials(5000); n++) {
    uint64_t bits = tests_random(&state);
    double d;
    memcpy(&d, &bits, sizeof d);
    if (n & 1) d = ldexp(tests_uniform(&state), (int)(tests_random(&state) % 60) - 30);
    if (!isfinite(d) || d == 0) continue;
    char *text, printed[40];
    arb_set_d(x, d);
    ck_assert_int_eq(enclosure_decimal(&text, x, 17), 1);
    ck_assert(strtod(text, NULL) == d);
    sprintf(printed, "%.16e", d); /* glibc rounds correctly */
    double e = strtod(printed, NULL);
    ck_assert(e == d && printed[d < 0] == text[strcspn(text, "123456789")]);
    free(text);
  }
  arb_clear(x);
}
END_TEST

static void check_radius(const arb_t x, const char *mid, const char *expected) {
  char *text = enclosure_radius_decimal(x, mid);
  ck_assert_str_eq(text, expected);
  free(text);
}

START_TEST(radius_is_rounded_up_and_counts_the_decimal) {
  arb_t x;
  arb_init(x);
  arb_set_d(x, 0.5);
  check_radius(x, "0.50000", "0");
  arb_set_d(x, 0.125);
  check_radius(x, "0.12", "0.0051"); /* 0.12 is no dyadic number: its ball makes 0.005.. of it */
  arb_set_d(x, 1.0 / 3);
  check_radius(x, "0.333", "0.00034"); /* 0.000333.. */
  arb_one(x);
  mag_set_ui_2exp_si(arb_radref(x), 1, -100);
  check_radius(x, "1.00", "7.9e-31"); /* 7.888e-31 */
  check_radius(x, "1.01", "0.011");   /* 0.01 and a little: up */
  arb_zero(x);
  check_radius(x, "0", "0");
  arb_zero_pm_inf(x);
  check_radius(x, "0", "inf");
  ck_assert_ptr_null(enclosure_radius_decimal(x, "zero"));
  arb_clear(x);
}
END_TEST

/* |x - text| + rad <= radius, for random balls, at 4000 bits; and not 11 % too large. */
START_TEST(radius_covers_the_ball_for_random_balls) {
  uint64_t state = tests_seed();
  arb_t x, far, bound;
  arb_init(x);
  arb_init(far);
  arb_init(bound);
  for (int n = 0; n < tests_trials(3000); n++) {
    long digits = 1 + (long)(tests_random(&state) % 30);
    arb_set_d(x, tests_uniform(&state) - 0.5);
    arb_mul_2exp_si(x, x, (slong)(tests_random(&state) % 2000) - 1000);
    slong e = fmpz_get_si(ARF_EXPREF(arb_midref(x)));
    mag_set_ui_2exp_si(arb_radref(x), 1 + tests_random(&state) % 1000, e - 120);
    char *mid, *radius;
    if (!enclosure_decimal(&mid, x, digits)) continue;
    radius = enclosure_radius_decimal(x, mid);
    arb_set_str(far, mid, 4000);
    arb_sub(far, x, far, 4000);
    arb_get_abs_ubound_arf(arb_midref(far), far, 4000);
    mag_zero(arb_radref(far));
    arb_set_str(bound, radius, 4000);
    ck_assert(!arb_gt(far, bound));
    arb_mul_ui(far, far, 111, 4000);
    arb_mul_ui(bound, bound, 100, 4000);
    ck_assert(arb_lt(bound, far));
    free(mid);
    free(radius);
  }
  arb_clear(x);
  arb_clear(far);
  arb_clear(bound);
}
END_TEST

/* The text of an end of x, compared with the end itself: outward, and by less than a unit of the
 * last of `digits` digits. */
static void check_end(const arb_t x, int upper, long digits) {
  arb_t end, text_ball, gap;
  arf_t exact;
  fmpq_t q;
  arb_init(end);
  arb_init(text_ball);
  arb_init(gap);
  arf_init(exact);
  fmpq_init(q);
  char *text = enclosure_end_decimal(x, upper, digits);
  if (upper)
    arb_get_ubound_arf(exact, x, 4000);
  else
    arb_get_lbound_arf(exact, x, 4000);
  arb_set_arf(end, exact);
  ck_assert_int_eq(arb_set_str(text_ball, text, 4000), 0);
  arb_sub(gap, text_ball, end, 4000);
  ck_assert_msg(arb_contains_zero(gap) || (upper ? arb_is_positive(gap) : arb_is_negative(gap)),
                "%s", text);
  arb_abs(gap, gap);
  arb_abs(end, end);
  arb_set_ui(text_ball, 10);
  arb_pow_ui(text_ball, text_ball, (ulong)digits - 1, 4000);
  arb_mul(gap, gap, text_ball, 4000);
  ck_assert_msg(!arb_gt(gap, end), "%s", text);
  free(text);
  arb_clear(end);
  arb_clear(text_ball);
  arb_clear(gap);
  arf_clear(exact);
  fmpq_clear(q);
}

START_TEST(ends_are_rounded_outward_and_no_further) {
  uint64_t state = tests_seed();
  arb_t x;
  arb_init(x);
  for (int i = 0; i < tests_trials(2000); i++) {
    arb_set_d(x, (tests_uniform(&state) - 0.5) * ldexp(1, (int)(tests_random(&state) % 400) - 200));
    if (i % 3)
      mag_set_d(arb_radref(x), tests_uniform(&state) * ldexp(1, -(int)(tests_random(&state) % 60)));
    check_end(x, 0, 1 + (long)(tests_random(&state) % 25));
    check_end(x, 1, 1 + (long)(tests_random(&state) % 25));
  }
  arb_clear(x);
}
END_TEST

START_TEST(ends_of_exact_zero_unbounded_and_remote_balls) {
  static const struct {
    const char *ball, *low, *high;
  } balls[] = {{"0", "0", "0"},
               {"1", "1", "1"},
               {"100", "100", "100"},
               {"-0.5", "-0.5", "-0.5"},
               {"0 +/- 1", "-1.00001", "1.00001"}};
  arb_t x;
  arb_init(x);
  for (size_t i = 0; i < sizeof balls / sizeof *balls; i++) {
    arb_set_str(x, balls[i].ball, 64);
    for (int upper = 0; upper < 2; upper++) {
      char *text = enclosure_end_decimal(x, upper, 6);
      ck_assert_str_eq(text, upper ? balls[i].high : balls[i].low);
      free(text);
    }
  }
  static const slong exponents[] = {(slong)1 << 40, -((slong)1 << 40)};
  static const char *const ends[][2] = {{"1e-80000000", "inf"}, {"0", "1e-80000000"}};
  for (int i = 0; i < 2; i++) {
    arb_one(x);
    arb_mul_2exp_si(x, x, exponents[i]);
    char *high = enclosure_end_decimal(x, 1, 6), *low = enclosure_end_decimal(x, 0, 6);
    ck_assert_str_eq(high, ends[i][1]);
    if (i) ck_assert_str_eq(low, ends[i][0]);
    free(high);
    free(low);
  }
  arb_indeterminate(x);
  char *high = enclosure_end_decimal(x, 1, 6), *low = enclosure_end_decimal(x, 0, 6);
  ck_assert_str_eq(high, "inf");
  ck_assert_str_eq(low, "-inf");
  free(high);
  free(low);
  arb_clear(x);
}
END_TEST

void test_decimal(Suite *suite) {
  TCase *tests = tcase_create("decimal");
  tcase_add_test(tests, exact_balls_match_exact_rationals);
  tcase_add_test(tests, irrational_balls_match_mpmath);
  tcase_add_test(tests, powers_of_ten_carries_and_notation);
  tcase_add_test(tests, ties_are_decided_only_when_exact);
  tcase_add_test(tests, wide_infinite_and_unordered_balls_straddle);
  tcase_add_test(tests, exponents_beyond_mpfr_are_scaled);
  tcase_add_test(tests, seventeen_digits_read_back_as_the_same_double);
  tcase_add_test(tests, radius_is_rounded_up_and_counts_the_decimal);
  tcase_add_test(tests, radius_covers_the_ball_for_random_balls);
  tcase_add_test(tests, ends_are_rounded_outward_and_no_further);
  tcase_add_test(tests, ends_of_exact_zero_unbounded_and_remote_balls);
  suite_add_tcase(suite, tests);
}
