/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Exact real parameters. Independent routes: strtod of the C library (correctly rounded) for
 * decimals and hex floats, MPFR at 4,000 bits for ratios and roots. */
#include <float.h>
#include <math.h>
#include <mpfr.h>

#include "../../src/problem/problem.h"
#include "../tests.h"

/* Canonical texts, by hand. */
static const struct {
  const char *text, *canonical;
} legal[] = {
    {"0.125", "1/8"},
    {"1/8", "1/8"},
    {"0x1p-3", "1/8"},
    {"0x.2", "1/8"},
    {"2/16", "1/8"},
    {"1.25e-1/1", "1/8"},
    {"sqrt(1/64)", "1/8"},
    {"1/sqrt(64)", "1/8"},
    {"+3", "3"},
    {"-3", "-3"},
    {"-0", "0"},
    {"0/5", "0"},
    {"sqrt(0)", "0"},
    {"sqrt(1/8)", "sqrt(1/8)"},
    {"1/sqrt(8)", "sqrt(1/8)"},
    {"sqrt(2)/4", "sqrt(1/8)"},
    {"sqrt(0.125)", "sqrt(1/8)"},
    {"-sqrt(2)", "-sqrt(2)"},
    {"sqrt(8)/sqrt(2)", "2"},
    {"sqrt(2)/sqrt(3)", "sqrt(2/3)"},
    {"1.", "1"},
    {".5", "1/2"},
    {"1e3", "1e3"},
    {"10000", "1e4"},
    {"100", "100"},
    {"0.00001", "1e-5"},
    {"0.1", "1/10"},
    {"1e400", "1e400"},
    {"-12.5E+2", "-1250"},
    {"0x1.8p1", "3"},
    {"0X1P+4", "16"},
    {"0x1p-1074", "0x1p-1074"},
    {"1e9999", "1e9999"},
    {"123456789/1000000007", "123456789/1000000007"},
};

static const char *const illegal[] = {"",
                                      "nan",
                                      "inf",
                                      "-inf",
                                      "1/0",
                                      "1/0.0",
                                      "0x",
                                      "1..2",
                                      "1.2.3",
                                      ".",
                                      "-",
                                      "+",
                                      "--1",
                                      "1e",
                                      "1e+",
                                      "1e10000",
                                      "1e-10000",
                                      "0x1p99999",
                                      "1/",
                                      "/2",
                                      "1/2/3",
                                      "sqrt",
                                      "sqrt(",
                                      "sqrt()",
                                      "sqrt(2",
                                      "sqrt(-1)",
                                      "sqrt(1/0)",
                                      "sqrt(1/2/3)",
                                      "1 ",
                                      " 1",
                                      "1f",
                                      "0x1g",
                                      "1,5",
                                      "1/-2",
                                      "infinity",
                                      "NAN",
                                      "1/sqrt(0)",
                                      "sqrt(2))",
                                      "2sqrt(2)",
                                      "1e5e5",
                                      "1e99999999999999999999"};

START_TEST(texts_are_read_in_full_and_written_canonically) {
  problem_real x, y;
  problem_real_init(&x);
  problem_real_init(&y);
  char *text = NULL;
  ck_assert_int_eq(problem_real_parse(&x, legal[_i].text), 0);
  text = problem_real_text(&x);
  ck_assert_str_eq(text, legal[_i].canonical);
  ck_assert_int_eq(problem_real_parse(&y, text), 0);
  ck_assert(problem_real_equal(&x, &y));
  free(text);
  problem_real_clear(&x);
  problem_real_clear(&y);
}
END_TEST

START_TEST(what_is_not_one_number_is_refused_and_changes_nothing) {
  problem_real x, before;
  problem_real_init(&x);
  problem_real_init(&before);
  problem_real_set_si(&x, -7);
  problem_real_set(&before, &x);
  ck_assert_msg(problem_real_parse(&x, illegal[_i]) == -1, "'%s' was accepted", illegal[_i]);
  ck_assert(problem_real_equal(&x, &before));
  problem_real_clear(&x);
  problem_real_clear(&before);
}
END_TEST

/* A random decimal or hex float over all of double's range and beyond. */
static void random_number(char text[64], uint64_t *state) {
  uint64_t digits = tests_random(state) >> (tests_random(state) % 60);
  int hex = (int)(tests_random(state) % 2), span = hex ? 1200 : 360;
  int exponent = (int)(tests_random(state) % (uint64_t)(2 * span)) - span;
  const char *sign = tests_random(state) % 2 ? "-" : "";
  if (hex)
    snprintf(text, 64, "%s0x%llxp%d", sign, (unsigned long long)digits, exponent);
  else
    snprintf(text, 64, "%s%llu.%llue%d", sign, (unsigned long long)digits,
             (unsigned long long)(tests_random(state) % 1000), exponent);
}

START_TEST(doubles_are_nearest_as_the_c_library_rounds) {
  uint64_t state = tests_seed();
  problem_real x;
  problem_real_init(&x);
  static const char *const edges[] = {"0x1p-1075",
                                      "0x1.0000000000001p-1075",
                                      "0x1p-1074",
                                      "0x1.8p-1074",
                                      "0x0.fffffffffffff8p-1022",
                                      "0x1.fffffffffffff8p1023",
                                      "0x1.fffffffffffff7ffp1023",
                                      "0x1.00000000000008p0",
                                      "0x1.00000000000018p0",
                                      "0x1.000000000000080000000001p0",
                                      "2.2250738585072011e-308",
                                      "4.9406564584124654e-324",
                                      "2.4703282292062327e-324",
                                      "1e-9999",
                                      "1e9999"};
  for (int i = 0; i < 20000; i++) {
    char text[64];
    int edge = i < (int)(sizeof edges / sizeof edges[0]);
    if (edge)
      strcpy(text, edges[i]);
    else
      random_number(text, &state);
    double radius, expected = strtod(text, NULL);
    ck_assert_int_eq(problem_real_parse(&x, text), 0);
    double found = problem_real_double(&radius, &x);
    if (isinf(expected)) {
      ck_assert_msg(isinf(radius) && fabs(found) == DBL_MAX, "%s", text);
      ck_assert((found < 0) == (expected < 0));
    } else {
      ck_assert_msg(found == expected, "%s: %a, not %a", text, found, expected);
      ck_assert(radius >= 0 && radius <= fmax(fabs(found) * 0x1p-52, 0x1p-1073));
    }
  }
  problem_real_clear(&x);
}
END_TEST

/* |exact - found| <= radius <= (1 + 2^-40) |exact - found| + smallest subnormals, by MPFR. */
static void check_radius(const problem_real *x, mpfr_t exact, mpfr_t error, const char *text) {
  double radius, found = problem_real_double(&radius, x);
  mpfr_sub_d(error, exact, found, MPFR_RNDN);
  mpfr_abs(error, error, MPFR_RNDN);
  ck_assert_msg(mpfr_cmp_d(error, radius) <= 0, "%s: radius %g is too small", text, radius);
  double down = mpfr_get_d(error, MPFR_RNDD);
  ck_assert_msg(radius <= down * (1 + 0x1p-40) + 0x1p-1073, "%s: radius %g for %g", text, radius,
                down);
  ck_assert_msg(mpfr_get_d(exact, MPFR_RNDN) == found, "%s is not rounded to nearest", text);
}

START_TEST(radius_of_ratios_and_roots_holds_and_is_tight) {
  uint64_t state = tests_seed() + 1;
  problem_real x;
  mpfr_t exact, error, below;
  problem_real_init(&x);
  mpfr_inits2(4000, exact, error, below, (mpfr_ptr)0);
  for (int i = 0; i < 4000; i++) {
    unsigned long a = (unsigned long)(tests_random(&state) >> (1 + tests_random(&state) % 62)) + 1;
    unsigned long b = (unsigned long)(tests_random(&state) >> (1 + tests_random(&state) % 62)) + 1;
    int root = i % 2, exponent = (int)(tests_random(&state) % 600) - 300;
    char text[128];
    snprintf(text, sizeof text, root ? "sqrt(%lue%d/%lu)" : "%lue%d/%lu", a, exponent, b);
    ck_assert_int_eq(problem_real_parse(&x, text), 0);
    mpfr_set_ui(exact, 10, MPFR_RNDN);
    mpfr_pow_si(exact, exact, exponent, MPFR_RNDN);
    mpfr_mul_ui(exact, exact, a, MPFR_RNDN);
    mpfr_div_ui(exact, exact, b, MPFR_RNDN);
    if (root) mpfr_sqrt(exact, exact, MPFR_RNDN);
    double radius;
    if (isfinite((problem_real_double(&radius, &x), radius))) check_radius(&x, exact, error, text);
  }
  mpfr_clears(exact, error, below, (mpfr_ptr)0);
  mpfr_free_cache();
  problem_real_clear(&x);
}
END_TEST

START_TEST(huge_and_tiny_roots) {
  problem_real x;
  problem_real_init(&x);
  double radius;
  ck_assert_int_eq(problem_real_parse(&x, "sqrt(2e700)"), 0);
  ck_assert_double_eq(problem_real_double(&radius, &x), DBL_MAX);
  ck_assert(isinf(radius));
  ck_assert_int_eq(problem_real_parse(&x, "-sqrt(2e-700)"), 0);
  ck_assert_double_eq(problem_real_double(&radius, &x), 0);
  ck_assert(radius > 0 && radius <= 0x1p-1073);
  problem_real_inv_sqrt_ui(&x, 64);
  ck_assert_double_eq(problem_real_double(&radius, &x), 0.125);
  ck_assert_double_eq(radius, 0);
  problem_real_inv_sqrt_ui(&x, 8);
  ck_assert_double_eq(problem_real_double(&radius, &x), 0x1.6a09e667f3bcdp-2); /* sqrt(1/8) */
  problem_real_clear(&x);
}
END_TEST

/* Products and inverses against their texts: exact, closed, with aliased operands. */
START_TEST(products_and_inverses_are_exact) {
  static const struct {
    const char *x, *y, *product;
  } cases[] = {{"1/3", "-3/7", "-1/7"},
               {"sqrt(2)", "sqrt(2)", "2"},
               {"sqrt(2)", "3", "sqrt(18)"},
               {"-1/2", "sqrt(8)", "-sqrt(2)"},
               {"sqrt(1/8)", "sqrt(2)", "1/2"},
               {"0", "sqrt(2)", "0"},
               {"-sqrt(3)", "-sqrt(5)", "sqrt(15)"},
               {"1e300", "1e300", "1e600"}};
  problem_real x, y, z, w;
  problem_real_init(&x);
  problem_real_init(&y);
  problem_real_init(&z);
  problem_real_init(&w);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    ck_assert_int_eq(problem_real_parse(&x, cases[i].x), 0);
    ck_assert_int_eq(problem_real_parse(&y, cases[i].y), 0);
    ck_assert_int_eq(problem_real_parse(&w, cases[i].product), 0);
    problem_real_mul(&z, &x, &y);
    ck_assert_msg(problem_real_equal(&z, &w), "%s times %s", cases[i].x, cases[i].y);
    problem_real_set(&z, &x);
    problem_real_mul(&z, &z, &y);
    ck_assert(problem_real_equal(&z, &w));
    problem_real_set(&z, &y);
    problem_real_mul(&z, &x, &z);
    ck_assert(problem_real_equal(&z, &w));
    problem_real_inv(&y, &y);
    problem_real_mul(&z, &w, &y);
    if (w.sign) ck_assert(problem_real_equal(&z, &x));
  }
  problem_real_clear(&x);
  problem_real_clear(&y);
  problem_real_clear(&z);
  problem_real_clear(&w);
}
END_TEST

void test_real(Suite *suite) {
  TCase *tc = tcase_create("real");
  tcase_add_loop_test(tc, texts_are_read_in_full_and_written_canonically, 0,
                      sizeof legal / sizeof legal[0]);
  tcase_add_loop_test(tc, what_is_not_one_number_is_refused_and_changes_nothing, 0,
                      sizeof illegal / sizeof illegal[0]);
  tcase_add_test(tc, doubles_are_nearest_as_the_c_library_rounds);
  tcase_add_test(tc, radius_of_ratios_and_roots_holds_and_is_tight);
  tcase_add_test(tc, huge_and_tiny_roots);
  tcase_add_test(tc, products_and_inverses_are_exact);
  suite_add_tcase(suite, tc);
}
