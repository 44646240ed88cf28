/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Edge policies: rows without keys, elements that are not finite. Expected classes are worked out
 * by hand from the rules in softmax.h. */
#include "golden.h"

/* One row of `nk` keys with the given scores; v is nk x 2. */
static void ieee_case(test_case *c, int64_t nk, const double *scores, const double *v) {
  case_scores(c, nk, scores, 2, v);
  case_set(c, "nonfinite", "ieee");
}

/* Class and, where finite, value of one element of row 0; the kind of the row is returned. */
static int element(double *value, test_case *c, int output, int64_t component) {
  problem_slice slice;
  unsigned char class[8];
  double settled[8];
  room_balls x;
  attest_error error = {0};
  case_resolve(c);
  problem_slice_get(&slice, c->problem, 0);
  int kind = softmax_special_row(class, settled, c->problem, &slice, 0, output);
  room_balls_init(&x, output == OUTPUT_OUT ? slice.dv : 1);
  attest_status status = softmax_ball(&x, c->problem, &slice, 0, output, ~0u, 128, &error);
  ck_assert_int_eq(status != ATTEST_OK, kind < 0);
  if (kind >= 0) ck_assert_int_eq(class[component], x.class[component]);
  *value = class[component] == EXACT_NAN        ? NAN
           : class[component] == EXACT_PLUS_INF ? INFINITY
           : class[component] == EXACT_MINUS_INF
               ? -INFINITY
               : arf_get_d(arb_midref(x.x + component), ARF_RND_NEAR);
  room_balls_clear(&x);
  return kind;
}

static void check(test_case *c, int output, int64_t component, double expected, int kind) {
  double value;
  ck_assert_int_eq(element(&value, c, output, component), kind);
  if (isnan(expected))
    ck_assert(isnan(value));
  else
    ck_assert_msg(value == expected || fabs(value - expected) < 1e-15 * fabs(expected),
                  "%g, not %g", value, expected);
}

START_TEST(rows_without_keys_follow_empty_row) {
  const struct {
    const char *policy;
    double out, lse;
    int kind;
  } policies[] = {{"zero", 0, -INFINITY, 0}, {"nan", NAN, NAN, 0}, {"error", 0, 0, -1}};
  for (int i = 0; i < 3; i++) {
    test_case c;
    case_scores(&c, 2, (double[]){1, 2}, 2, (double[]){1, 2, 3, 4});
    case_set(&c, "empty-row", policies[i].policy);
    case_input(&c, "mask", ATTEST_BOOL, 2, (int64_t[]){1, 2}, (double[]){0, 0});
    if (policies[i].kind == 0) {
      check(&c, OUTPUT_OUT, 1, policies[i].out, 0);
      check(&c, OUTPUT_LSE, 0, policies[i].lse, 0);
    } else {
      double value;
      ck_assert_int_eq(element(&value, &c, OUTPUT_OUT, 0), -1);
    }
    case_free(&c);
  }
}
END_TEST

START_TEST(sink_alone_gives_zero_and_its_score) {
  test_case c;
  case_scores(&c, 1, (double[]){1}, 2, (double[]){1, 2});
  case_input(&c, "mask", ATTEST_BOOL, 2, (int64_t[]){1, 1}, (double[]){0});
  case_input(&c, "sinks", ATTEST_FLOAT32, 1, (int64_t[]){1}, (double[]){1.5});
  check(&c, OUTPUT_OUT, 0, 0, 0);
  check(&c, OUTPUT_LSE, 0, 1.5, 0);
  case_set(&c, "lse-base", "2"); /* 1.5 / ln 2 is no double: the ball tier computes it */
  check(&c, OUTPUT_LSE, 0, 1.5 / log(2), 2);
  case_free(&c);
}
END_TEST

START_TEST(nan_score_makes_the_row_nan) {
  test_case c;
  ieee_case(&c, 3, (double[]){1, NAN, -INFINITY}, (double[]){1, 2, 3, 4, 5, 6});
  check(&c, OUTPUT_OUT, 0, NAN, 0);
  check(&c, OUTPUT_LSE, 0, NAN, 0);
  case_free(&c);
}
END_TEST

START_TEST(plus_infinite_score_makes_out_nan_and_lse_infinite) {
  test_case c;
  ieee_case(&c, 2, (double[]){1, INFINITY}, (double[]){1, 2, 3, 4});
  check(&c, OUTPUT_OUT, 1, NAN, 0);
  check(&c, OUTPUT_LSE, 0, INFINITY, 0);
  case_free(&c);
}
END_TEST

START_TEST(minus_infinite_score_has_weight_zero) {
  test_case c; /* component 1 of the key without weight is infinite: 0 * inf */
  ieee_case(&c, 3, (double[]){0, -INFINITY, 0}, (double[]){1, 2, 100, INFINITY, 3, 4});
  check(&c, OUTPUT_OUT, 0, 2, 2);
  check(&c, OUTPUT_OUT, 1, NAN, 2);
  check(&c, OUTPUT_LSE, 0, log(2), 2);
  case_free(&c);
}
END_TEST

START_TEST(only_minus_infinite_scores_are_nan_unless_a_sink_is_there) {
  test_case c;
  ieee_case(&c, 2, (double[]){-INFINITY, -INFINITY}, (double[]){1, INFINITY, 3, 4});
  check(&c, OUTPUT_OUT, 0, NAN, 0);
  check(&c, OUTPUT_LSE, 0, -INFINITY, 0);
  case_input(&c, "sinks", ATTEST_FLOAT32, 1, (int64_t[]){1}, (double[]){2});
  check(&c, OUTPUT_OUT, 0, 0, 0);
  check(&c, OUTPUT_OUT, 1, NAN, 0);
  check(&c, OUTPUT_LSE, 0, 2, 0);
  case_free(&c);
}
END_TEST

START_TEST(infinite_values_of_weighted_keys_win) {
  test_case c;
  ieee_case(&c, 3, (double[]){0, -1e5, 0}, (double[]){1, -INFINITY, INFINITY, 5, 2, INFINITY});
  check(&c, OUTPUT_OUT, 0, INFINITY, 0);
  check(&c, OUTPUT_OUT, 1, NAN, 0);
  check(&c, OUTPUT_LSE, 0, log(2), 1); /* lse does not look at v */
  case_free(&c);
}
END_TEST

START_TEST(nan_value_stays_in_its_component) {
  test_case c;
  ieee_case(&c, 2, (double[]){0, 0}, (double[]){1, NAN, 4, 2});
  check(&c, OUTPUT_OUT, 0, 2.5, 2);
  check(&c, OUTPUT_OUT, 1, NAN, 2);
  case_free(&c);
}
END_TEST

START_TEST(infinity_times_zero_is_nan) {
  test_case c;
  case_new(&c);
  case_set(&c, "nonfinite", "ieee");
  case_qkv(&c, 1, 1, 2, 2, (double[]){0, 1}, (double[]){INFINITY, 1}, (double[]){1, 2});
  check(&c, OUTPUT_OUT, 0, NAN, 0);
  case_free(&c);
  case_new(&c);
  case_set(&c, "nonfinite", "ieee");
  case_set(&c, "scale", "0");
  case_qkv(&c, 1, 1, 1, 2, (double[]){1}, (double[]){INFINITY}, (double[]){1, 2});
  check(&c, OUTPUT_OUT, 0, NAN, 0);
  case_free(&c);
}
END_TEST

START_TEST(negative_scale_turns_infinities_round) {
  test_case c;
  case_new(&c);
  case_set(&c, "nonfinite", "ieee");
  case_set(&c, "scale", "-1");
  case_qkv(&c, 1, 2, 1, 2, (double[]){1}, (double[]){INFINITY, 0}, (double[]){1, 2, 3, 4});
  check(&c, OUTPUT_OUT, 0, 3, 2);
  case_free(&c);
}
END_TEST

START_TEST(softcap_makes_infinite_scores_finite) {
  test_case c;
  ieee_case(&c, 3, (double[]){INFINITY, -INFINITY, 0}, (double[]){1, 0, 0, 1, 0, 0});
  case_set(&c, "softcap", "2");
  double sum = exp(2) + exp(-2) + 1;
  check(&c, OUTPUT_OUT, 0, exp(2) / sum, 2);
  check(&c, OUTPUT_OUT, 1, exp(-2) / sum, 2);
  check(&c, OUTPUT_LSE, 0, log(sum), 2);
  case_free(&c);
}
END_TEST

START_TEST(minus_infinite_bias_hides_a_key_and_nan_bias_does_not) {
  test_case c;
  ieee_case(&c, 3, (double[]){0, NAN, 0}, (double[]){1, 2, NAN, INFINITY, 3, 4});
  case_input(&c, "bias", ATTEST_FLOAT64, 2, (int64_t[]){1, 3}, (double[]){0, -INFINITY, 0});
  check(&c, OUTPUT_OUT, 0, 2, 1);
  check(&c, OUTPUT_OUT, 1, 3, 1);
  case_free(&c);
  ieee_case(&c, 2, (double[]){0, 0}, (double[]){1, 2, 3, 4});
  case_input(&c, "bias", ATTEST_FLOAT64, 2, (int64_t[]){1, 2}, (double[]){0, NAN});
  check(&c, OUTPUT_OUT, 0, NAN, 0);
  case_free(&c);
}
END_TEST

START_TEST(huge_finite_elements_are_not_infinite) {
  test_case c; /* q.k = 1e600 - 1e600 = 0 exactly, though no double holds the products */
  case_new(&c);
  case_set(&c, "nonfinite", "ieee");
  case_qkv(&c, 1, 2, 2, 2, (double[]){1e300, 1e300}, (double[]){1e300, -1e300, 0, 0},
           (double[]){1, 2, 3, 4});
  check(&c, OUTPUT_OUT, 0, 2, 1);
  case_free(&c);
}
END_TEST

void test_special(Suite *suite) {
  TCase *tc = tcase_create("special");
  tcase_add_test(tc, rows_without_keys_follow_empty_row);
  tcase_add_test(tc, sink_alone_gives_zero_and_its_score);
  tcase_add_test(tc, nan_score_makes_the_row_nan);
  tcase_add_test(tc, plus_infinite_score_makes_out_nan_and_lse_infinite);
  tcase_add_test(tc, minus_infinite_score_has_weight_zero);
  tcase_add_test(tc, only_minus_infinite_scores_are_nan_unless_a_sink_is_there);
  tcase_add_test(tc, infinite_values_of_weighted_keys_win);
  tcase_add_test(tc, nan_value_stays_in_its_component);
  tcase_add_test(tc, infinity_times_zero_is_nan);
  tcase_add_test(tc, negative_scale_turns_infinities_round);
  tcase_add_test(tc, softcap_makes_infinite_scores_finite);
  tcase_add_test(tc, minus_infinite_bias_hides_a_key_and_nan_bias_does_not);
  tcase_add_test(tc, huge_finite_elements_are_not_infinite);
  suite_add_tcase(suite, tc);
}
