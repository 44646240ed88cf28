/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Predicates over ranges: true ones hold, false ones fail at a value for which they do. */
#include "../../src/claims/predicate.h"
#include "../tests.h"

/* Up to three variables: name, range, name, range, .. */
typedef struct {
  const char *ranges[6], *formula;
  int truth;
  int exact;           /* decided by isolating zeros */
  const char *witness; /* NULL: any */
} example;

static attest_status decide(predicate_result *found, predicate *p, const char *const ranges[6],
                            const char *formula, attest_error *error) {
  memset(p, 0, sizeof *p);
  attest_status status = ATTEST_OK;
  for (int i = 0; i < 6 && ranges[i] && !status; i += 2)
    status = predicate_add_range(p, ranges[i], ranges[i + 1], error);
  if (!status) status = predicate_set_formula(p, formula, error);
  *found = (predicate_result){0};
  return status ? status : predicate_decide(found, p, error);
}

static const example examples[] = {
    /* polynomials and rational functions on all kinds of intervals, zeros on and off the ends */
    {{"t", "(-inf, inf)"}, "t^2 >= 0", 1, 1, NULL},
    {{"t", "(-inf, inf)"}, "t^2 > 0", 0, 1, "t=0"},
    {{"t", "(0, inf)"}, "t^2 > 0", 1, 1, NULL},
    {{"t", "[0, inf)"}, "t^2 > 0", 0, 1, "t=0"},
    {{"t", "[0, 1]"}, "t*(1 - t) >= 0", 1, 1, NULL},
    {{"t", "[0, 1]"}, "t*(1 - t) > 0", 0, 1, "t=0"},
    {{"t", "(0, 1)"}, "t*(1 - t) > 0", 1, 1, NULL},
    {{"t", "(0, 1]"}, "t*(1 - t) > 0", 0, 1, "t=1"},
    {{"t", "[-1/1000, 1]"}, "t*(1 - t) >= 0", 0, 1, "t=-0.001"},
    {{"t", "(-1/1000, 1)"}, "t*(1 - t) >= 0", 0, 1, NULL},
    {{"t", "(-inf, inf)"}, "t^2 - 2 != 0", 0, 1, NULL},
    {{"t", "[0, 1.4142]"}, "t^2 < 2", 1, 1, NULL},
    {{"t", "[0, 1.4143]"}, "t^2 < 2", 0, 1, "t=1.4143"},
    {{"t", "(-inf, inf)"}, "(t - 1)^2*(t + 2)^4 >= 0", 1, 1, NULL},
    {{"t", "(-inf, inf)"}, "(t - 1)^2*(t + 2)^3 >= 0", 0, 1, NULL},
    {{"t", "[-2, inf)"}, "(t - 1)^2*(t + 2)^3 >= 0", 1, 1, NULL},
    {{"t", "(-inf, inf)"}, "(t + 1)^3 = t^3 + 3*t^2 + 3*t + 1", 1, 1, NULL},
    {{"t", "(-inf, inf)"}, "(t + 1)^3 = t^3 + 3*t^2 + 3*t", 0, 1, NULL},
    {{"t", "(0, inf)"}, "1/t > 0", 1, 1, NULL},
    {{"t", "[1, 5]"}, "1/t + t >= 2", 1, 1, NULL},
    {{"t", "[2, 2]"}, "t = 2", 1, 1, NULL},
    {{"t", "(-inf, inf)"}, "0 <= t^2 <= t^2 + 1", 1, 1, NULL},
    {{"t", "(-inf, inf)"}, "t^2 >= 0 and t^2 + t + 1 > 0", 1, 1, NULL},
    {{"t", "(-inf, inf)"}, "let s = t^2 in s + 1 > 0", 1, 1, NULL},
    {{"t", "(-inf, 0)"}, "taylor(5, t) < 1", 1, 1, NULL},
    {{"P", "0..30 step 2", "t", "(-inf, inf)"}, "taylor(P, t) > 0", 1, 1, NULL},
    {{"P", "0..30", "t", "(-inf, inf)"}, "taylor(P, t) > 0", 0, 1, NULL},
    {{"n", "1..8", "t", "(-inf, inf)"}, "sum(k, 0, n, binomial(n, k)*t^k) = (1 + t)^n", 1, 1, NULL},
    /* values between which no double lies */
    {{"t", "(-inf, inf)"}, "(t - 1)*(t - 1 - 1e-40) >= 0", 0, 1, NULL},
    {{"t", "[1 + 1e-40, inf)"}, "(t - 1)*(t - 1 - 1e-40) >= 0", 1, 1, NULL},
    /* other functions of reals */
    {{"t", "[-3, 3]"}, "exp(t) > 0", 1, 0, NULL},
    {{"t", "[1/10, 3]"}, "exp(t) > 1 + t", 1, 0, NULL},
    {{"t", "[-3, 3]"}, "exp(t) > 1 + t + 1/100", 0, 0, NULL},
    {{"t", "[0, 10]"}, "sin(t) < 0.999", 0, 0, NULL},
    {{"t", "[0, 1]"}, "exp(t) > 1", 0, 0, "t=0"}, /* at an end only, if that belongs to the range */
    {{"t", "[-1, 0]"}, "exp(t) < 1", 0, 0, "t=0"},
    {{"t", "[-1, 0)"}, "exp(t) < 1", VALUE_UNKNOWN, 0, NULL},
    {{"x", "[0, 1]", "y", "[0, 1/3]"}, "exp(x - 1)*(1 + 3*y) < 2", 0, 0, "x=1, y=0.333333333333"},
    {{"x", "[0, 1]", "y", "[0, 1/3)"}, "exp(x - 1)*(1 + 3*y) < 2", VALUE_UNKNOWN, 0, NULL},
    {{"x", "[0, 1]", "y", "[0, 1]"}, "x*y < 1.01", 1, 0, NULL},
    {{"x", "[0, 1]", "y", "[0, 1]"}, "x*y + sin(x) < 1.5", 0, 0, NULL},
    {{"t", "[-3, 3]"}, "exp(t) >= 1 + t", VALUE_UNKNOWN, 0, NULL}, /* they touch at 0 */
    /* integers and values */
    {{"n", "1..100"}, "sum(k, 1, n, k) = n*(n + 1)/2", 1, 0, NULL},
    {{"n", "0..100"}, "n^2 + n + 41 != 41*43", 0, 0, "n=41"},
    {{"n", "1..10", "k", "0..n"}, "binomial(n, k) = binomial(n, n - k)", 1, 0, NULL},
    {{"n", "0..9", "k", "5..n"}, "n - k < 5", 1, 0, NULL}, /* no k for the first n */
    {{"n", "0..3", "t", "[2, n]"}, "t <= 3", 1, 1, NULL},
    {{"n", "0..10 step 3"}, "n != 9", 0, 0, "n=9"},
    {{"n", "0..10 step 3"}, "n != 8", 1, 0, NULL},
    {{"w", "{1/3, sqrt(2), 0.9}"}, "w^2 <= 2", 1, 0, NULL},
    {{"w", "{1/3, sqrt(2), 0.9}"}, "w^2 < 2", 0, 0, NULL},
    {{NULL}, "2^10 = 1024", 1, 0, NULL},
    {{NULL}, "exp(log(2)) = 2", VALUE_UNKNOWN, 0, NULL},
};

START_TEST(predicates_are_decided) {
  const example *x = &examples[_i];
  predicate p;
  predicate_result found;
  attest_error error = {0};
  ck_assert_msg(!decide(&found, &p, x->ranges, x->formula, &error), "%s: %s", x->formula,
                error.message);
  ck_assert_msg(found.truth == x->truth, "%s is %d at %s", x->formula, found.truth, found.witness);
  ck_assert_msg(found.exact_reals == x->exact, "%s", x->formula);
  if (x->truth == 0)
    ck_assert_msg(found.witness && (*found.witness || !x->ranges[0]), "%s", x->formula);
  if (x->witness) ck_assert_str_eq(found.witness, x->witness);
  free(found.witness);
  predicate_clear(&p);
}
END_TEST

static const struct {
  const char *ranges[6], *formula, *message;
} bad[] = {
    {{"t", "0"}, "t = 0", "range '0'"},
    {{"t", ""}, "t = 0", "range ''"},
    {{"t", "[0, 1"}, "t = 0", "range '[0, 1'"},
    {{"t", "0, 1]"}, "t = 0", "range '0, 1]'"},
    {{"t", "[0 1]"}, "t = 0", "range '[0 1]'"},
    {{"t", "[0, inf)"}, "exp(t) > 0", "an unbounded range"},
    {{"t", "[0, sqrt(2)]"}, "exp(t) > 0", "the ends must be rational"},
    {{"n", "0..1/2"}, "n = 0", "the ends must be integers"},
    {{"n", "0..5 step 0"}, "n = 0", "the step must be positive"},
    {{"n", "0..5 step -1"}, "n = 0", "the step must be positive"},
    {{"n", "0..10^7"}, "n >= 0", "more than 1000000 combinations"},
    {{"n", "0..k", "k", "0..1"}, "n = 0", "k has no value here"},
    {{"t", "[0, 1]", "n", "0..3"}, "n = 0", "put the real variable t after n"},
    {{"pi", "0..3"}, "pi = 0", "has a meaning already"},
    {{"w", "{pi}"}, "w > 3", "is not known exactly"},
    {{"w", "{1, 2"}, "w > 3", "']' is missing"},
    {{"t", "[0, 1]"}, "t + 1", "must be a comparison"},
    {{"t", "[-1, 1]"}, "1/t < 5", "division by zero within the range"},
    {{"t", "[0, 1]"}, "1/(t - t) < 5", "division by zero"},
    /* what has no value at 0 may cancel, but the whole has none there */
    {{"t", "[-1, 1]"}, "1/(1/t) <= 5", "division by zero within the range"},
    {{"t", "[-1, 1]"}, "(1/t)^(-1) <= 5", "division by zero within the range"},
    {{"t", "[-1, 1]"}, "(1/t)^0 = 1", "division by zero within the range"},
    {{"t", "[-1, 1]"}, "t^(-2) > 0", "division by zero within the range"},
    {{"t", "[-1, 1]"}, "taylor(0, 1/t) = 1", "division by zero within the range"},
    {{"t", "[-1, 1]"}, "let s = 1/t in t < 2", "division by zero within the range"},
    {{"t", "[-1, 1]"}, "sin(t) < 2 + 0*(1/t)", "division by zero"},
    {{"t", "[-1, 1]"}, "sin(t) < 2*(1/t)^0", "division by zero"},
    /* nothing is claimed of nothing */
    {{"t", "[3, 2]"}, "t = 7", "the ranges are empty"},
    {{"t", "(3, 3)"}, "t = 7", "the ranges are empty"},
    {{"t", "[3, 2]"}, "sin(t) = 7", "the ranges are empty"},
    {{"t", "[3, 2]", "u", "[0, 1]"}, "sin(t*u) = 7", "the ranges are empty"},
    {{"n", "5..1"}, "1 = 2", "the ranges are empty"},
    {{"n", "5..1 step 2", "t", "[0, 1]"}, "t = 7", "the ranges are empty"},
    {{"w", "{}"}, "1 = 2", "the ranges are empty"},
    {{"n", "0..10^18", "k", "5..1"}, "1 = 2", "more than 1000000 combinations"},
    {{"t", "[0, 1]"}, "s > 0", "s has no value here"},
    {{"t", "[1, 2]"}, "log(-t) < 0", "logarithm of a negative number"},
    {{NULL}, "1/0 = 1", "division by zero"},
};

START_TEST(bad_ranges_and_formulas_are_explained) {
  predicate p;
  predicate_result found;
  attest_error error = {0};
  attest_status status = decide(&found, &p, bad[_i].ranges, bad[_i].formula, &error);
  ck_assert_msg(status == ATTEST_ERR_INPUT, "%s is %d", bad[_i].formula, found.truth);
  ck_assert_msg(strstr(error.message, bad[_i].message) != NULL, "%s: %s", bad[_i].formula,
                error.message);
  free(found.witness);
  predicate_clear(&p);
}
END_TEST

START_TEST(boxes_are_cut_only_while_steps_are_left) {
  static const char *const names[] = {"t"};
  expression e;
  attest_error error = {0};
  real_interval range;
  value t;
  int truth;
  long boxes = 0, steps = 1000;
  real_interval_init(&range);
  value_init(&t);
  fmpq_set_si(range.low, -1, 1);
  fmpq_set_si(range.high, 2, 1);
  ck_assert(!expression_parse(&e, "exp(t) >= 1 + t", names, 1, &error));
  attest_status status = subdivide(&truth, &boxes, &steps, &e, &t, 1, &range, &error);
  ck_assert_int_eq(status, ATTEST_ERR_INPUT);
  ck_assert_msg(strstr(error.message, "takes too long") != NULL, "%s", error.message);
  expression_clear(&e);
  value_clear(&t);
  real_interval_clear(&range);
}
END_TEST

/* The product of random linear factors against the sign by counting the factors that are negative,
 * on a grid that has all its zeros. */
START_TEST(signs_of_products_of_factors_agree_with_counting) {
  static const char *const operators[] = {">", ">=", "<", "<=", "=", "!="};
  static const char codes[] = ">g<l=!";
  uint64_t state = tests_seed() + (uint64_t)_i;
  for (int round = 0; round < 60; round++) {
    int zeros[5], count = 1 + (int)(tests_random(&state) % 5);
    int low = (int)(tests_random(&state) % 13) - 6, high = low + (int)(tests_random(&state) % 7);
    int low_open = (int)(tests_random(&state) % 2), high_open = (int)(tests_random(&state) % 2);
    int k = (int)(tests_random(&state) % 6);
    fmpq_poly_t p, factor;
    fmpq_poly_init(p);
    fmpq_poly_init(factor);
    fmpq_poly_one(p);
    for (int i = 0; i < count; i++) {
      zeros[i] = (int)(tests_random(&state) % 13) - 6;
      fmpq_poly_zero(factor);
      fmpq_poly_set_coeff_si(factor, 1, 1);
      fmpq_poly_set_coeff_si(factor, 0, -zeros[i]);
      fmpq_poly_mul(p, p, factor);
    }
    /* all half integers of the range: between and on all zeros */
    int expected = 1;
    for (int twice = 2 * low; twice <= 2 * high; twice++) {
      if ((low_open && twice == 2 * low) || (high_open && twice == 2 * high)) continue;
      int sign = 1;
      for (int i = 0; i < count; i++)
        sign *= (twice > 2 * zeros[i]) - (twice < 2 * zeros[i]);
      int holds = k == 0   ? sign > 0
                  : k == 1 ? sign >= 0
                  : k == 2 ? sign < 0
                  : k == 3 ? sign <= 0
                  : k == 4 ? sign == 0
                           : sign != 0;
      expected &= holds;
    }
    real_interval range;
    value witness;
    real_interval_init(&range);
    value_init(&witness);
    fmpq_set_si(range.low, low, 1);
    fmpq_set_si(range.high, high, 1);
    range.low_infinite = range.high_infinite = 0;
    range.low_open = low_open;
    range.high_open = high_open;
    ck_assert_msg(symbolic_sign(&witness, p, codes[k], &range) == expected,
                  "%d factors %s 0 on %d..%d", count, operators[k], low, high);
    real_interval_clear(&range);
    value_clear(&witness);
    fmpq_poly_clear(p);
    fmpq_poly_clear(factor);
  }
}
END_TEST

START_TEST(counterexamples_must_lie_in_the_range_and_fail) {
  static const struct {
    const char *range, *point;
    int fails;
  } points[] = {{"0..10", "7", 1},       {"0..10", "6", 0},        {"0..5", "7", 0},
                {"1..9 step 2", "7", 1}, {"0..10 step 2", "7", 0}, {"{6, 7}", "7", 1},
                {"{6, 8}", "7", 0},      {"[0, 7]", "7", 1},       {"[0, 7)", "7", 0},
                {"(7, 9]", "7", 0},      {"(-inf, inf)", "7", 1},  {"0..10", "7/2", 0}};
  for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
    predicate p = {0};
    attest_error error;
    expression e;
    value v;
    int fails;
    evaluation how = {.prec = 64, .steps = EVALUATION_STEPS};
    value_init(&v);
    ck_assert(!predicate_add_range(&p, "x", points[i].range, &error));
    ck_assert(!predicate_set_formula(&p, "x != 7", &error));
    ck_assert(!expression_parse(&e, points[i].point, NULL, 0, &error));
    ck_assert(!expression_evaluate(&v, &e, &how, &error));
    ck_assert(!predicate_fails_at(&fails, &p, &v, &error));
    ck_assert_msg(fails == points[i].fails, "%s in %s", points[i].point, points[i].range);
    expression_clear(&e);
    value_clear(&v);
    predicate_clear(&p);
  }
}
END_TEST

void test_predicate(Suite *suite) {
  TCase *all = tcase_create("predicates");
  tcase_add_loop_test(all, predicates_are_decided, 0, sizeof examples / sizeof *examples);
  tcase_add_loop_test(all, bad_ranges_and_formulas_are_explained, 0, sizeof bad / sizeof *bad);
  tcase_add_loop_test(all, signs_of_products_of_factors_agree_with_counting, 0, 3);
  tcase_add_test(all, boxes_are_cut_only_while_steps_are_left);
  tcase_add_test(all, counterexamples_must_lie_in_the_range_and_fail);
  suite_add_tcase(suite, all);
}
