/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Required alignment, end to end: the weight at the predicted alignment is the weight asked for. */
#include "../../src/claims/expression.h"
#include "../tests.h"

/* The truth of a predicate without variables, decided at 128 to 4096 bits. */
static int truth_of(const char *text) {
  expression e;
  attest_error error;
  value v;
  evaluation how = {.steps = EVALUATION_STEPS};
  value_init(&v);
  ck_assert_msg(!expression_parse(&e, text, NULL, 0, &error), "%s: %s", text, error.message);
  int truth = VALUE_UNKNOWN;
  for (how.prec = 128; how.prec <= 4096 && truth == VALUE_UNKNOWN; how.prec *= 4) {
    ck_assert_msg(!expression_evaluate(&v, &e, &how, &error), "%s: %s", text, error.message);
    truth = v.truth;
  }
  expression_clear(&e);
  value_clear(&v);
  return truth;
}

/* Exactly, in the number field of the alignment. */
START_TEST(a_target_at_the_predicted_alignment_gets_exactly_the_weight) {
  static const char *const weights[] = {"1/2", "9/10", "1/3", "99/100"};
  char text[200];
  for (int n = 5; n <= 20000; n = 3 * n + 1)
    for (int i = 0; i < 4; i++) {
      snprintf(text, sizeof text, "weight_taylor(2, %d, alignment_taylor(2, %d, %s)) = %s", n, n,
               weights[i], weights[i]);
      ck_assert_msg(truth_of(text) == 1, "%s", text);
      for (int order = 2; order <= 6; order += 2) {
        snprintf(text, sizeof text,
                 "weight_taylor(%d, %d, alignment_taylor(%d, %d, %s, 0), 0) = %s", order, n, order,
                 n, weights[i], weights[i]);
        ck_assert_msg(truth_of(text) == 1, "%s", text);
      }
    }
}
END_TEST

/* Against floored distractors of higher order the field is a tower: to 10^-60. */
START_TEST(higher_orders_against_their_floor_get_the_weight_to_sixty_digits) {
  char text[200];
  for (int order = 4; order <= 40; order += 4) {
    snprintf(text, sizeof text,
             "abs(weight_taylor(%d, 1000, alignment_taylor(%d, 1000, 0.7)) - 0.7) < 1e-60", order,
             order);
    ck_assert_msg(truth_of(text) == 1, "%s", text);
  }
}
END_TEST

START_TEST(the_printed_formula_gives_two_thirds_and_the_corrected_one_half) {
  ck_assert_int_eq(truth_of("weight_taylor(2, 64, -1 + sqrt(2*63 - 1), -1) = 2/3"), 1);
  ck_assert_int_eq(truth_of("weight_taylor(2, 64, -1 + sqrt(63 - 1), -1) = 1/2"), 1);
  ck_assert_int_eq(truth_of("weight_taylor(2, 64, -1 + sqrt(2*63 - 1), 0) = 1/2"), 1);
}
END_TEST

/* The required alignment stays between the scale minus P and the scale: it grows like N^(1/P). */
START_TEST(alignment_follows_the_law_of_the_order) {
  char text[400];
  for (int order = 2; order <= 10; order += 2)
    for (int power = 2; power <= 12; power += 2) {
      snprintf(
          text, sizeof text,
          "let t = alignment_taylor(%d, 10^%d, 1/2) in let s = alignment_scale(%d, 10^%d, 1/2) "
          "in s - %d <= t and t <= s",
          order, power, order, power, order);
      ck_assert_msg(truth_of(text) == 1, "%s", text);
    }
}
END_TEST

START_TEST(at_the_floor_weight_the_alignment_is_the_argmin) {
  ck_assert_int_eq(truth_of("alignment_taylor(2, 64, 1/64) = -1"), 1);
  ck_assert_int_eq(truth_of("alignment_taylor(4, 64, 1/64) = taylor_argmin(4)"), 1);
  ck_assert_int_eq(truth_of("alignment_taylor(4, 64, 1/64 + 1e-20) > taylor_argmin(4)"), 1);
}
END_TEST

/* Wide balls: the enclosure holds the alignment of every weight in the ball. */
START_TEST(alignment_of_a_ball_contains_that_of_its_points) {
  const char *const names[] = {"w"};
  attest_error error;
  expression e;
  value w, image, point;
  arb_t x, y;
  value_init(&w);
  value_init(&image);
  value_init(&point);
  arb_init(x);
  arb_init(y);
  ck_assert(!expression_parse(&e, "alignment_taylor(6, 50, w)", names, 1, &error));
  evaluation how = {.prec = 100, .variables = &w, .steps = EVALUATION_STEPS};
  arb_set_str(x, "0.5 +/- 0.1", 100);
  value_set_ball(&w, x);
  ck_assert(!expression_evaluate(&image, &e, &how, &error));
  for (int k = 0; k <= 10; k++) {
    value_set_si(&w, 0);
    fmpq_set_si(w.rational, 40 + 2 * k, 100);
    ck_assert(!expression_evaluate(&point, &e, &how, &error));
    value_get_ball(x, &image, 100);
    value_get_ball(y, &point, 100);
    ck_assert(arb_contains(x, y));
  }
  expression_clear(&e);
  value_clear(&w);
  value_clear(&image);
  value_clear(&point);
  arb_clear(x);
  arb_clear(y);
}
END_TEST

void test_alignment(Suite *suite) {
  TCase *all = tcase_create("alignment");
  tcase_add_test(all, a_target_at_the_predicted_alignment_gets_exactly_the_weight);
  tcase_add_test(all, higher_orders_against_their_floor_get_the_weight_to_sixty_digits);
  tcase_add_test(all, the_printed_formula_gives_two_thirds_and_the_corrected_one_half);
  tcase_add_test(all, alignment_follows_the_law_of_the_order);
  tcase_add_test(all, at_the_floor_weight_the_alignment_is_the_argmin);
  tcase_add_test(all, alignment_of_a_ball_contains_that_of_its_points);
  suite_add_tcase(suite, all);
}
