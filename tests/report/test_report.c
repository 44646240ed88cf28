/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Figures in print, exit statuses, the public certificate. */
#include <jansson.h>
#include <math.h>

#include "../../src/report/report.h"
#include "../tests.h"

START_TEST(figures_are_never_printed_too_small) {
  static const struct {
    double figure;
    const char *text;
  } cases[] = {{6.74, "6.74"},
               {6.7400001, "6.741"},
               {0, "0"},
               {16, "16"},
               {16.000001, "16.01"},
               {INFINITY, "inf"},
               {9.9999, "10"},
               {99999, "1e+05"},
               {1e-30, "1e-30"},
               {1.00001e-30, "1.001e-30"},
               {182516, "1.826e+05"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[32];
    ck_assert_str_eq(report_figure(text, cases[i].figure), cases[i].text);
  }
  uint64_t state = tests_seed();
  for (int i = 0; i < 10000; i++) {
    char text[32];
    double x = ldexp(1 + tests_uniform(&state), (int)(tests_random(&state) % 2000) - 1000);
    double printed = strtod(report_figure(text, x), NULL);
    ck_assert_double_ge(printed, x);
    ck_assert_double_le(printed, x * 1.0011);
  }
}
END_TEST

START_TEST(decimals_read_back_as_the_same_number) {
  uint64_t state = tests_seed();
  char text[32];
  ck_assert_str_eq(report_exact_decimal(text, 0.1), "0.1");
  ck_assert_str_eq(report_exact_decimal(text, NAN), "nan");
  for (int i = 0; i < 10000; i++) {
    double x = (tests_uniform(&state) - 0.5) * 1e10;
    ck_assert_double_eq(strtod(report_exact_decimal(text, x), NULL), x);
  }
}
END_TEST

START_TEST(a_partial_scope_is_never_rounded_up) {
  char text[32];
  certify_output o = {.elements = 3, .compared = 2};
  ck_assert_str_eq(report_scope(text, &o), "sampled(0.6666)");
  o.compared = 3;
  ck_assert_str_eq(report_scope(text, &o), "instance");
  o = (certify_output){.elements = 100000000, .compared = 99999999};
  ck_assert_str_eq(report_scope(text, &o), "sampled(0.9999)");
}
END_TEST

/* One case whose only output has this verdict. */
static void add_case(report *r, attest_verdict verdict) {
  certify_case c = {.subject_count = 1, .subjects = calloc(1, sizeof *c.subjects)};
  c.subjects[0].output_count = 1;
  c.subjects[0].outputs[0].verdict = verdict;
  ck_assert_int_eq(report_add(r, &c), 0);
}

START_TEST(refuted_beats_trouble_beats_undecided) {
  report r = {0};
  ck_assert_int_eq(report_exit_status(&r), 0);
  add_case(&r, ATTEST_CERTIFIED);
  ck_assert_int_eq(report_exit_status(&r), 0);
  add_case(&r, ATTEST_UNDECIDED);
  ck_assert_int_eq(report_exit_status(&r), 3);
  report_add_trouble(&r, "no such file");
  ck_assert_int_eq(report_exit_status(&r), 2);
  add_case(&r, ATTEST_REFUTED);
  ck_assert_int_eq(report_exit_status(&r), 1);
  report_clear(&r);
}
END_TEST

/* ---- the public interface ---- */

/* Two equal keys: out is the mean of the values, 1/2. */
static attest_problem *mean_problem(float *out) {
  static float zeros[4];
  static float values[2] = {0, 1};
  const int64_t q[2] = {1, 2}, k[2] = {2, 2}, v[2] = {2, 1}, o[2] = {1, 1};
  attest_error error;
  attest_problem *p = attest_problem_new("softmax", &error);
  attest_tensor tensors[4] = {
      attest_tensor_of(zeros, ATTEST_FLOAT32, 2, q), attest_tensor_of(zeros, ATTEST_FLOAT32, 2, k),
      attest_tensor_of(values, ATTEST_FLOAT32, 2, v), attest_tensor_of(out, ATTEST_FLOAT32, 2, o)};
  ck_assert_int_eq(attest_problem_input(p, "q", &tensors[0], &error), ATTEST_OK);
  ck_assert_int_eq(attest_problem_input(p, "k", &tensors[1], &error), ATTEST_OK);
  ck_assert_int_eq(attest_problem_input(p, "v", &tensors[2], &error), ATTEST_OK);
  ck_assert_int_eq(attest_problem_output(p, "out", &tensors[3], &error), ATTEST_OK);
  return p;
}

START_TEST(attest_check_certifies_and_refutes) {
  float out[1] = {0.5f};
  attest_error error;
  attest_problem *p = mean_problem(out);
  attest_certificate *c = attest_check(p, NULL, &error);
  ck_assert_ptr_nonnull(c);
  ck_assert_int_eq(attest_certificate_verdict(c), ATTEST_CERTIFIED);
  ck_assert(strstr(attest_certificate_text(c), "bound=backward<=16 at=0,0 scope=instance"));
  attest_certificate_free(c);
  out[0] = 0.75f;
  c = attest_check(p, "abs<=1/4;out:abs<=0.2", &error);
  ck_assert_int_eq(attest_certificate_verdict(c), ATTEST_REFUTED);
  json_t *j = json_loads(attest_certificate_json(c), 0, NULL);
  ck_assert_ptr_nonnull(j);
  ck_assert_str_eq(json_string_value(json_object_get(j, "schema")), "attest/1");
  json_t *o =
      json_array_get(json_object_get(json_array_get(json_object_get(j, "cases"), 0), "outputs"), 0);
  ck_assert_str_eq(json_string_value(json_object_get(o, "verdict")), "refuted");
  json_decref(j);
  attest_certificate_free(c);
  attest_problem_free(p);
}
END_TEST

START_TEST(attest_check_explains_trouble) {
  float out[1] = {0.5f};
  attest_error error;
  attest_problem *p = mean_problem(out);
  ck_assert_ptr_null(attest_check(p, "abs<1", &error));
  ck_assert(strstr(error.message, "abs<1"));
  ck_assert_ptr_null(attest_check(p, "theory", &error));
  ck_assert_int_eq(error.status, ATTEST_ERR_INPUT);
  attest_problem_free(p);
  attest_certificate_free(NULL);
}
END_TEST

void test_report(Suite *suite) {
  TCase *t = tcase_create("report");
  tcase_add_test(t, figures_are_never_printed_too_small);
  tcase_add_test(t, decimals_read_back_as_the_same_number);
  tcase_add_test(t, a_partial_scope_is_never_rounded_up);
  tcase_add_test(t, refuted_beats_trouble_beats_undecided);
  tcase_add_test(t, attest_check_certifies_and_refutes);
  tcase_add_test(t, attest_check_explains_trouble);
  suite_add_tcase(suite, t);
}
