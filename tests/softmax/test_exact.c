/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Exact decisions. Independent route: balls of 512 bits, which separate from zero every nonzero
 * combination of the small integers used here. */
#include "golden.h"

static const int64_t first_component[1] = {0};

/* Whether coefficient x[0] = constant for row 0, as softmax_linear_zero says. */
static int decide(test_case *c, int output, const char *coefficient, const char *constant) {
  problem_slice slice;
  fmpq_t a, b;
  fmpq_init(a);
  fmpq_init(b);
  fmpq_set_str(a, coefficient, 10);
  fmpq_set_str(b, constant, 10);
  case_resolve(c);
  problem_slice_get(&slice, c->problem, 0);
  int answer = softmax_linear_zero(c->problem, &slice, 0, output, 1, first_component, a, b);
  fmpq_clear(a);
  fmpq_clear(b);
  return answer;
}

/* Two keys with scores q.k = 2 and 2 in different ways, one with another score. */
START_TEST(equal_scores_cancel_exactly) {
  test_case c;
  case_new(&c); /* scale 1/sqrt(2), irrational */
  case_qkv(&c, 1, 3, 2, 1, (double[]){1, 1}, (double[]){2, 0, 0.5, 1.5, 7, 1},
           (double[]){3, -3, 0});
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "1", "0"), 1);
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "5/3", "0"), 1);
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "1", "1/1000000"), 0);
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "0", "0"), 1);
  case_free(&c);
}
END_TEST

START_TEST(mean_of_equal_scores_is_that_number) {
  test_case c;
  case_new(&c);
  case_qkv(&c, 1, 4, 1, 1, (double[]){0}, (double[]){1, 2, 3, 4}, (double[]){1, 0, 0, 0});
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "1", "1/4"), 1);
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "-2", "-1/2"), 1);
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "1", "1/3"), 0);
  ck_assert_int_eq(decide(&c, OUTPUT_LSE, "1", "2"), 0);
  case_set(&c, "lse-base", "2"); /* 4 = 2^2 */
  ck_assert_int_eq(decide(&c, OUTPUT_LSE, "1", "2"), 1);
  ck_assert_int_eq(decide(&c, OUTPUT_LSE, "3", "6"), 1);
  ck_assert_int_eq(decide(&c, OUTPUT_LSE, "1", "3"), 0);
  ck_assert_int_eq(decide(&c, OUTPUT_LSE, "1", "1/2"), 0);
  case_free(&c);
}
END_TEST

/* sqrt(2) + 0 and 0 + 1.41421356...: close, not equal; q.k and bias may not make up for each other
 * under an irrational scale, but do under a rational one. */
START_TEST(bias_balances_a_product_only_under_a_rational_scale) {
  const double keys[2] = {1, 0}, v[2] = {1, -1};
  for (int rational = 0; rational <= 1; rational++) {
    test_case c;
    case_new(&c);
    case_set(&c, "scale", rational ? "3/2" : "sqrt(2)");
    case_qkv(&c, 1, 2, 1, 1, (double[]){1}, keys, v);
    case_input(&c, "bias", ATTEST_FLOAT64, 2, (int64_t[]){1, 2},
               (double[]){0, rational ? 1.5 : sqrt(2)});
    ck_assert_int_eq(decide(&c, OUTPUT_OUT, "1", "0"), rational);
    case_free(&c);
  }
}
END_TEST

START_TEST(negative_scale_and_slopes_are_compared_exactly) {
  test_case c; /* scores: -q.k/2 + slope (j - i) = 0 - 0, -1/2 + 1/2 */
  case_new(&c);
  case_set(&c, "scale", "-1/2");
  case_qkv(&c, 1, 2, 1, 1, (double[]){1}, (double[]){0, 1}, (double[]){1, -1});
  case_input(&c, "alibi-slopes", ATTEST_FLOAT32, 1, (int64_t[]){1}, (double[]){0.5});
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "1", "0"), 1);
  case_free(&c);
}
END_TEST

START_TEST(sink_is_a_key_with_value_zero) {
  test_case c; /* scores 1 and 1 (the sink): x = v / 2 */
  case_scores(&c, 1, (double[]){1}, 1, (double[]){3});
  case_input(&c, "sinks", ATTEST_FLOAT32, 1, (int64_t[]){1}, (double[]){1});
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "1", "3/2"), 1);
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "1", "0"), 0);
  case_set(&c, "temperature", "7/5");
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "1", "3/2"), 1);
  case_free(&c);
}
END_TEST

START_TEST(lse_of_one_key_is_its_score) {
  const struct {
    const char *scale, *temperature, *constant;
    double key, bias;
    int expected;
  } rows[] = {
      {"1/3", "1", "5/3", 5, 0, 1},           {"1/3", "1", "8/3", 5, 1, 1},
      {"1/3", "1/2", "10/3", 5, 0, 1},        {"1/3", "1", "5/4", 5, 0, 0},
      {"sqrt(2)", "sqrt(2)", "5", 5, 0, 1},   {"sqrt(2)", "sqrt(1/2)", "10", 5, 0, 1},
      {"sqrt(2)", "sqrt(2)", "5", 5, 1, 0},   {"sqrt(2)", "1", "7", 5, 0, 0},
      {"sqrt(2)", "sqrt(3)", "5", 5, 0, 0},   {"sqrt(2)", "1", "1", 0, 1, 1},
      {"-sqrt(2)", "sqrt(2)", "-5", 5, 0, 1}, {"-1", "1", "-5", 5, 0, 1},
      {"1", "sqrt(2)", "0", 0, 0, 1},         {"1", "sqrt(2)", "1", 1, 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    test_case c;
    case_new(&c);
    case_set(&c, "scale", rows[i].scale);
    case_set(&c, "temperature", rows[i].temperature);
    case_qkv(&c, 1, 1, 1, 1, (double[]){1}, &rows[i].key, (double[]){1});
    case_input(&c, "bias", ATTEST_FLOAT64, 2, (int64_t[]){1, 1}, &rows[i].bias);
    ck_assert_msg(decide(&c, OUTPUT_LSE, "1", rows[i].constant) == rows[i].expected, "row %zu", i);
    case_free(&c);
  }
}
END_TEST

START_TEST(softcap_decides_only_what_equal_scores_decide) {
  test_case c;
  case_new(&c);
  case_set(&c, "scale", "1");
  case_set(&c, "softcap", "2");
  case_qkv(&c, 1, 3, 1, 1, (double[]){1}, (double[]){1, 1, 2}, (double[]){1, -1, 0});
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "1", "0"), 1);
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "1", "1"), -1);
  ck_assert_int_eq(decide(&c, OUTPUT_LSE, "1", "1"), -1);
  case_free(&c);
  case_new(&c); /* q = 0: the softcap bends nothing */
  case_set(&c, "softcap", "2");
  case_qkv(&c, 1, 3, 1, 1, (double[]){0}, (double[]){1, 1, 2}, (double[]){1, -1, 0.5});
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "1", "1/6"), 1);
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "1", "1/7"), 0);
  case_free(&c);
}
END_TEST

START_TEST(rows_of_a_policy_are_decided_too) {
  test_case c;
  case_scores(&c, 1, (double[]){1}, 1, (double[]){3});
  case_input(&c, "mask", ATTEST_BOOL, 2, (int64_t[]){1, 1}, (double[]){0});
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "1", "0"), 1);
  ck_assert_int_eq(decide(&c, OUTPUT_OUT, "1", "1"), 0);
  ck_assert_int_eq(decide(&c, OUTPUT_LSE, "1", "0"), -1); /* minus infinity */
  case_free(&c);
}
END_TEST

/* ---- against balls
 * -------------------------------------------------------------------------------- */

static void fill_small(double *x, int n, uint64_t *state) {
  for (int i = 0; i < n; i++)
    x[i] = (double)(tests_random(state) % 3) - 1;
}

static void random_case(test_case *c, uint64_t *state) {
  static const char *const scales[] = {"1", "1/2", "sqrt(2)", "0", "-sqrt(1/3)", "-3"};
  double q[2], k[8], v[8], bias[4], sink[1];
  fill_small(q, 2, state);
  fill_small(k, 8, state);
  fill_small(v, 8, state);
  fill_small(bias, 4, state);
  fill_small(sink, 1, state);
  case_new(c);
  case_set(c, "scale", scales[tests_random(state) % 6]);
  int64_t nk = 1 + (int64_t)(tests_random(state) % 4);
  case_qkv(c, 1, nk, 2, 2, q, k, v);
  if (tests_random(state) % 2) case_input(c, "bias", ATTEST_FLOAT32, 2, (int64_t[]){1, nk}, bias);
  if (tests_random(state) % 2) case_input(c, "sinks", ATTEST_FLOAT32, 1, (int64_t[]){1}, sink);
  if (tests_random(state) % 3 == 0) case_set(c, "lse-base", "2");
  case_resolve(c);
}

/* Whether the 512-bit balls of the row allow sum_i coefficient[i] x[i] = constant. */
static int balls_allow(const attest_problem *problem, const problem_slice *slice, int output, int n,
                       const fmpq *coefficient, const fmpq_t constant) {
  room_balls x;
  attest_error error = {0};
  arb_t total, term;
  room_balls_init(&x, 2);
  arb_init(total);
  arb_init(term);
  ck_assert(!softmax_ball(&x, problem, slice, 0, output, 0, 512, &error));
  arb_set_fmpq(total, constant, 512);
  for (int i = 0; i < n; i++) {
    arb_set_fmpq(term, coefficient + i, 512);
    arb_submul(total, term, x.x + i, 512);
  }
  int allow = arb_contains_zero(total);
  arb_clear(total);
  arb_clear(term);
  room_balls_clear(&x);
  return allow;
}

START_TEST(decisions_agree_with_balls_on_small_integers) {
  uint64_t state = tests_seed();
  int zeros = 0;
  for (int trial = 0; trial < 3000; trial++) {
    test_case c;
    problem_slice slice;
    random_case(&c, &state);
    problem_slice_get(&slice, c.problem, 0);
    fmpq coefficient[2];
    fmpq_t constant;
    fmpq_init(coefficient);
    fmpq_init(coefficient + 1);
    fmpq_init(constant);
    fmpq_set_si(coefficient, (slong)(tests_random(&state) % 5) - 2, 1);
    fmpq_set_si(coefficient + 1, (slong)(tests_random(&state) % 3) - 1, 2);
    fmpq_set_si(constant, (slong)(tests_random(&state) % 3) - 1, 1 + tests_random(&state) % 4);
    for (int output = OUTPUT_OUT; output <= OUTPUT_LSE; output++) {
      int n = output == OUTPUT_OUT ? 2 : 1;
      int answer = softmax_linear_zero(c.problem, &slice, 0, output, n, (int64_t[]){0, 1},
                                       coefficient, constant);
      ck_assert_int_eq(answer, balls_allow(c.problem, &slice, output, n, coefficient, constant));
      zeros += answer;
    }
    fmpq_clear(constant);
    fmpq_clear(coefficient);
    fmpq_clear(coefficient + 1);
    case_free(&c);
  }
  ck_assert_int_gt(zeros, 300); /* ties are not rare here */
}
END_TEST

void test_exact(Suite *suite) {
  TCase *tc = tcase_create("exact");
  tcase_add_test(tc, equal_scores_cancel_exactly);
  tcase_add_test(tc, mean_of_equal_scores_is_that_number);
  tcase_add_test(tc, bias_balances_a_product_only_under_a_rational_scale);
  tcase_add_test(tc, negative_scale_and_slopes_are_compared_exactly);
  tcase_add_test(tc, sink_is_a_key_with_value_zero);
  tcase_add_test(tc, lse_of_one_key_is_its_score);
  tcase_add_test(tc, softcap_decides_only_what_equal_scores_decide);
  tcase_add_test(tc, rows_of_a_policy_are_decided_too);
  tcase_add_test(tc, decisions_agree_with_balls_on_small_integers);
  suite_add_tcase(suite, tc);
}
