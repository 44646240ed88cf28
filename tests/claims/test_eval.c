/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Expressions and their values: golden.py computes them by another parser and another arithmetic.
 */
#include "../../src/claims/decide.h"
#include "../tests.h"
#include "golden.h"

enum { COUNT = sizeof golden / sizeof *golden };

/* What attest eval prints, or NULL where it is undecided. */
static char *text_of(const char *text, long digits) {
  expression e;
  attest_error error;
  decision d = {NULL, 0};
  ck_assert_msg(expression_parse(&e, text, NULL, 0, &error) == ATTEST_OK, "%s: %s", text,
                error.message);
  ck_assert_msg(decide_text(&d, &e, digits, 0, &error) == ATTEST_OK, "%s: %s", text, error.message);
  expression_clear(&e);
  if (d.decided) return d.text;
  free(d.text);
  return NULL;
}

START_TEST(fifty_digits_agree_with_mpmath) {
  for (int i = _i; i < COUNT; i += 4) {
    char *text = text_of(golden[i].text, 50);
    ck_assert_msg(text && !strcmp(text, golden[i].value), "%s: %s, not %s", golden[i].text, text,
                  golden[i].value);
    free(text);
  }
}
END_TEST

START_TEST(there_are_more_than_two_hundred) {
  ck_assert_int_gt(COUNT, 200);
}
END_TEST

/* Fewer digits are the rounding of more digits: no double rounding, at any number of digits. */
START_TEST(digits_are_rounded_once) {
  static const char *const two_thirds[] = {"0.7", "0.67", "0.667", "0.6667"};
  for (long d = 1; d <= 4; d++) {
    char *text = text_of("2/3", d);
    ck_assert_str_eq(text, two_thirds[d - 1]);
    free(text);
  }
  /* the 4th digit of 1.000499999.. is 0: rounding first to 7 digits would say 1.001 */
  char *text = text_of("1 + 0.0005 - 1e-30/3", 4);
  ck_assert_str_eq(text, "1.000");
  free(text);
}
END_TEST

static const char *const undecidable[] = {
    "sin(pi)",     "exp(log(2)) = 2", "1/sin(pi)", "floor(exp(log(2)))", "abs(cos(pi/2)) > 0",
    "[1, sin(pi)]"};

START_TEST(what_no_precision_decides_is_not_guessed) {
  expression e;
  attest_error error;
  decision d;
  ck_assert_int_eq(expression_parse(&e, undecidable[_i], NULL, 0, &error), ATTEST_OK);
  ck_assert_int_eq(decide_text(&d, &e, 20, 0, &error), ATTEST_OK);
  ck_assert_msg(!d.decided && d.text, "%s: %s", undecidable[_i], d.text);
  expression_clear(&e);
  free(d.text);
}
END_TEST

START_TEST(enclosure_of_an_undecided_value_contains_it) {
  expression e;
  attest_error error;
  decision d;
  double low, high;
  ck_assert_int_eq(expression_parse(&e, "exp(log(2)) - 2 + 10^6*sin(pi)", NULL, 0, &error), 0);
  ck_assert_int_eq(decide_text(&d, &e, 5, 0, &error), ATTEST_OK);
  ck_assert_int_eq(sscanf(d.text, "[%lf, %lf]", &low, &high), 2);
  ck_assert(low <= 0 && high >= 0);
  expression_clear(&e);
  free(d.text);
}
END_TEST

START_TEST(fractions_are_printed_on_request_and_only_of_rationals) {
  expression e;
  attest_error error;
  decision d;
  ck_assert_int_eq(expression_parse(&e, "[1/3 + 1/6, 4, -7/21]", NULL, 0, &error), ATTEST_OK);
  ck_assert_int_eq(decide_text(&d, &e, 20, 1, &error), ATTEST_OK);
  ck_assert_str_eq(d.text, "[1/2, 4, -1/3]");
  free(d.text);
  expression_clear(&e);
  ck_assert_int_eq(expression_parse(&e, "sqrt(2)", NULL, 0, &error), ATTEST_OK);
  ck_assert_int_eq(decide_text(&d, &e, 20, 1, &error), ATTEST_ERR_INPUT);
  expression_clear(&e);
}
END_TEST

void test_eval(Suite *suite) {
  TCase *values = tcase_create("values");
  tcase_add_loop_test(values, fifty_digits_agree_with_mpmath, 0, 4);
  tcase_add_test(values, there_are_more_than_two_hundred);
  tcase_add_test(values, digits_are_rounded_once);
  tcase_add_test(values, fractions_are_printed_on_request_and_only_of_rationals);
  suite_add_tcase(suite, values);
  TCase *open = tcase_create("undecided");
  tcase_add_loop_test(open, what_no_precision_decides_is_not_guessed, 0,
                      sizeof undecidable / sizeof *undecidable);
  tcase_add_test(open, enclosure_of_an_undecided_value_contains_it);
  suite_add_tcase(suite, open);
}
