/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Ill-formed and ill-defined expressions: an error that says where and what. */
#include "../../src/claims/decide.h"
#include "../tests.h"

static const struct {
  const char *text;
  int column;
  const char *message; /* a part of it */
} bad[] = {
    /* syntax */
    {"", 1, "a number, a name or '(' is missing at the end"},
    {"   ", 4, "missing at the end"},
    {"(", 2, "missing at the end"},
    {"((1", 4, "')' is missing at the end"},
    {"(1", 3, "')' is missing"},
    {")", 1, "not ')'"},
    {"1)", 2, "an operator or the end is wanted, not ')'"},
    {"1 +", 4, "missing at the end"},
    {"1 + * 2", 5, "not '*'"},
    {"* 2", 1, "not '*'"},
    {"1 2", 3, "an operator or the end is wanted, not '2'"},
    {"2 (3)", 3, "not '('"},
    {"2pi", 1, "'2p' is no number"},
    {"2e", 1, "'2e' is no number"},
    {"1e+", 1, "'1e' is no number"},
    {"1.2.3", 1, "is no number"},
    {"0x10", 1, "'0x' is no number"},
    {"1_000", 1, "is no number"},
    {".", 1, "'.' is not part of the language"},
    {"1 .. 2", 3, "not '..'"},
    {"5!", 2, "factorial(n)"},
    {"a + b", 1, "a has no value here"},
    {"1 @ 2", 3, "'@' is not part of the language"},
    {"1 & 2", 3, "'&'"},
    {"1 % 2", 3, "'%'"},
    {"\"1\"", 1, "is not part of the language"},
    {"1 \xe2\x88\x92 2", 3, "byte 0xe2"},
    {"2\xc2\xb2", 2, "byte 0xc2"},
    {"1\x01", 2, "byte 0x01"},
    {"[1, 2", 6, "',' or ']' is missing"},
    {"[1 2]", 4, "',' or ']' is wanted, not '2'"},
    {"[1,]", 4, "not ']'"},
    {"max(1,)", 7, "not ')'"},
    {"max(,1)", 5, "not ','"},
    {"2^", 3, "missing at the end"},
    {"2**3", 3, "not '*'"},
    {"1 = ", 5, "missing at the end"},
    {"1 =< 2", 4, "not '<'"},
    {"not", 4, "missing at the end"},
    {"1 < 2 and", 10, "missing at the end"},
    {"let x = 1", 10, "'in' is missing"},
    {"let 1 = x in x", 5, "a name is wanted"},
    {"let x 1 in x", 7, "'=' is wanted"},
    {"let x = x in x", 9, "x has no value here"},
    {"let pi = 3 in pi", 5, "has a meaning already"},
    {"let sqrt = 3 in 1", 5, "has a meaning already"},
    {"in", 1, "not 'in'"},
    {"[k for k in 1..]", 16, "not ']'"},
    {"[k for k in 1, 2]", 14, "'..' is wanted"},
    {"[k for 3 in 1..2]", 8, "a name is wanted"},
    {"[k for k of 1..2]", 10, "'in' is wanted"},
    {"[k for k in k..2]", 13, "k has no value here"},
    {"sum(k, 1, 2)", 12, "',' is wanted"},
    {"sum(k, k, 2, k)", 8, "k has no value here"},
    {"k + sum(k, 1, 2, k)", 1, "k has no value here"},
    /* names and arguments */
    {"nope(3)", 1, "there is no function nope"},
    {"ln(2)", 1, "the natural logarithm is log(x)"},
    {"1 + tanh(1)", 5, "write (exp(2*x) - 1)/(exp(2*x) + 1)"},
    {"2**3", 3, "(a power is x^y)"},
    {"log(3)/log2(8)", 8, "write log(x)/log(2)"},
    {"nope", 1, "nope has no value here"},
    {"Sqrt(2)", 1, "there is no function Sqrt"},
    {"sqrt", 1, "sqrt is a function: sqrt(x)"},
    {"pi(2)", 1, "there is no function pi"},
    {"sqrt()", 1, "sqrt takes 1 argument (x), not 0"},
    {"sqrt(1, 2)", 1, "not 2"},
    {"1 + taylor(2)", 5, "taylor takes 2 arguments (P, t), not 1"},
    {"alignment_taylor(2, 64)", 1, "3 or one more arguments (P, N, w, t0), not 2"},
    {"max()", 1, "1 or more arguments"},
    /* domains */
    {"1/0", 2, "division by zero"},
    {"1 + 2/(3 - 3)", 6, "division by zero"},
    {"1/(sqrt(2)^2 - 2)", 2, "division by zero"},
    {"1/(taylor_min(4) - taylor(4, taylor_argmin(4)))", 2, "division by zero"},
    {"0^-1", 2, "division by zero"},
    {"sqrt(-1)", 1, "square root of a negative number"},
    {"1 + sqrt(1 - sqrt(2))", 5, "square root of a negative number"},
    {"log(0)", 1, "logarithm of zero"},
    {"log(3 - pi)", 1, "logarithm of a negative number"},
    {"(-8)^(1/3)", 5, "a power that is not an integer"},
    {"(1 - sqrt(2))^pi", 14, "a power that is not an integer"},
    {"factorial(-1)", 1, "n must be from 0"},
    {"factorial(1/2)", 1, "n must be an integer"},
    {"factorial(pi)", 1, "n must be an integer"},
    {"binomial(3, -1)", 1, "k must be from 0"},
    {"taylor_min(3)", 1, "P must be even"},
    {"taylor_min(-2)", 1, "P must be from 0 to 1000"},
    {"taylor_min(2000)", 1, "P must be from 0 to 1000"},
    {"taylor_argmin(0)", 1, "P must be even and positive"},
    {"taylor(1.5, 2)", 1, "P must be an integer"},
    {"taylor_remainder(0, 1)", 1, "n must be from 1"},
    {"taylor_remainder(3, -1)", 1, "x must be from 0"},
    {"output_error_bound(1)", 1, "eps must be from 0 to below 1"},
    {"alignment_taylor(3, 64, 1/2)", 1, "P must be even"},
    {"alignment_taylor(2, 64, 1)", 1, "w must be above 0 and below 1"},
    {"alignment_taylor(2, 64, 0)", 1, "w must be above 0 and below 1"},
    {"alignment_taylor(2, 1, 1/2)", 1, "N must be a number above 1"},
    {"alignment_taylor(4, 64, 1/100)", 1, "below the minimum of T_4"},
    {"alignment_softmax(64, 2)", 1, "w must be above 0 and below 1"},
    {"feature_dimension(0, 2)", 1, "d must be from 1"},
    {"state_numbers(16, 0, 2)", 1, "dv must be from 1"},
    /* kinds */
    {"1 + [2]", 5, "a number is wanted, not a list"},
    {"-[2]", 2, "a number is wanted, not a list"},
    {"sqrt([2])", 1, "the argument must be a number, not a list"},
    {"(1 < 2) + 1", 4, "a number is wanted, not a truth value"},
    {"1 and 2 < 3", 1, "a comparison is wanted, not a number"},
    {"not 1", 5, "a comparison is wanted, not a number"},
    {"[1] < [2]", 5, "a list and a list do not compare"},
    {"(1 < 2) = 1", 9, "a truth value and a number do not compare"},
    {"max([])", 1, "the list is empty"},
    {"max([1], 2)", 1, "every item must be a number, not a list"},
    /* sizes */
    {"10^10^10", 3, "too large"},
    {"2^(10^18)", 2, "too large"},
    {"10^-(10^10)", 3, "too close to 0"},
    {"9^9^9^9", 4, "too large"},
    {"pi^10^10", 3, "too large"},
    {"factorial(10^9)", 1, "too large"},
    {"factorial(10^30)", 1, "n must be from 0 to"},
    {"binomial(10^12, 10^11)", 1, "too large"},
    {"exp(10^9)", 1, "too large"},
    {"exp(exp(exp(10)))", 1, "too large"},
    {"1e1000001", 1, "exponents go from"},
    {"1e99999999999999999999", 1, "exponents go from"},
    {"[k for k in 1..10^6]", 1, "too many"},
    {"sum(k, 1, 10^12, k)", 1, "too many"},
    {"sum(k, 1, 1/2, k)", 12, "the bound must be an integer"},
    {"sum(k, 1, 10^30, k)", 13, "the bound is too large"},
    {"sum(i, 1, 10^4, sum(j, 1, 10^4, i*j))", 0, "too long"},
    {"[[j for j in 1..10^5] for k in 1..10^5]", 0, "too long"},
    {"let x = [k for k in 1..10^5] in [x for k in 1..10^5]", 0, "too long"},
    {"let x = 2^(4*10^6) in [x for k in 1..10^5]", 0, "too long"},
    {"[1e1000000 for k in 1..10^5]", 0, "too long"},
};

START_TEST(the_message_names_the_place_and_the_trouble) {
  expression e;
  attest_error error = {0};
  decision d = {NULL, 0};
  const char *text = bad[_i].text;
  attest_status status = expression_parse(&e, text, NULL, 0, &error);
  if (!status) {
    status = decide_text(&d, &e, 20, 0, &error);
    expression_clear(&e);
  }
  ck_assert_msg(status == ATTEST_ERR_INPUT, "\"%s\" is %s", text, d.text);
  int column = 0;
  ck_assert_msg(sscanf(error.message, "column %d: ", &column) == 1, "%s: %s", text, error.message);
  ck_assert_msg(!bad[_i].column || column == bad[_i].column, "\"%s\": %s", text, error.message);
  ck_assert_msg(strstr(error.message, bad[_i].message) != NULL, "\"%s\": %s", text, error.message);
}
END_TEST

/* n times `opening`, then "1", then n times `closing`. */
static char *nested(const char *opening, const char *closing, size_t n) {
  size_t a = strlen(opening), b = strlen(closing);
  char *text = malloc(n * (a + b) + 2), *at = text;
  for (size_t i = 0; i < n; i++, at += a)
    memcpy(at, opening, a);
  *at++ = '1';
  for (size_t i = 0; i < n; i++, at += b)
    memcpy(at, closing, b);
  *at = 0;
  return text;
}

static const char *const openings[][2] = {{"(", ")"},       {"sqrt(", ")"},      {"2^", ""},
                                          {"[", "]"},       {"max(0,", ")"},     {"-(", ")"},
                                          {"not (", "=1)"}, {"let x=1 in ", ""}, {"1+(", ")"}};

START_TEST(nesting_is_bounded) {
  expression e;
  attest_error error = {0};
  char *text = nested(openings[_i][0], openings[_i][1], 5000);
  ck_assert_int_eq(expression_parse(&e, text, NULL, 0, &error), ATTEST_ERR_INPUT);
  ck_assert_msg(strstr(error.message, "nested more than") ||
                    strstr(error.message, "names in force"),
                "%s", error.message);
  free(text);
}
END_TEST

static const char *const long_chains[] = {"1+", "1-", "2*", "2/", "-", "+", "1<", "not "};

START_TEST(long_flat_texts_are_no_nesting) {
  expression e;
  attest_error error = {0};
  value v;
  evaluation how = {.prec = 64, .steps = EVALUATION_STEPS};
  value_init(&v);
  char *text = nested(long_chains[_i], "", 10000);
  attest_status status = expression_parse(&e, text, NULL, 0, &error);
  if (strcmp(long_chains[_i], "not ") == 0) {
    ck_assert_int_eq(status, ATTEST_OK);
    ck_assert_int_eq(expression_evaluate(&v, &e, &how, &error), ATTEST_OK); /* an even number */
  } else {
    ck_assert_msg(status == ATTEST_OK, "%s", error.message);
    ck_assert_int_eq(expression_evaluate(&v, &e, &how, &error), ATTEST_OK);
  }
  expression_clear(&e);
  value_clear(&v);
  free(text);
}
END_TEST

START_TEST(longer_texts_are_refused) {
  expression e;
  attest_error error = {0};
  char *text = nested("1+", "", EXPRESSION_LENGTH_MAX);
  ck_assert_int_eq(expression_parse(&e, text, NULL, 0, &error), ATTEST_ERR_INPUT);
  free(text);
}
END_TEST

void test_expression_errors(Suite *suite) {
  TCase *messages = tcase_create("messages");
  tcase_set_timeout(messages, 20);
  tcase_add_loop_test(messages, the_message_names_the_place_and_the_trouble, 0,
                      sizeof bad / sizeof *bad);
  suite_add_tcase(suite, messages);
  TCase *bounds = tcase_create("bounds");
  tcase_add_loop_test(bounds, nesting_is_bounded, 0, sizeof openings / sizeof *openings);
  tcase_add_loop_test(bounds, long_flat_texts_are_no_nesting, 0,
                      sizeof long_chains / sizeof *long_chains);
  tcase_add_test(bounds, longer_texts_are_refused);
  suite_add_tcase(suite, bounds);
}
