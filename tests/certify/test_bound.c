/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "../../src/certify/certify.h"
#include "../tests.h"

static int parses(const char *text) {
  certify_bounds bounds = {0, NULL};
  attest_error error;
  int ok = certify_bounds_add(&bounds, text, &error) == ATTEST_OK;
  if (!ok) ck_assert_msg(strlen(error.message) > 10, "no explanation for %s", text);
  certify_bounds_clear(&bounds);
  return ok;
}

START_TEST(legal_bounds_are_exact) {
  static const struct {
    const char *text;
    int output;
    measure_kind measure;
    const char *limit;
  } legal[] = {
      {"abs<=1e-3", -1, MEASURE_ABS, "1/1000"},
      {"rel<=1/3", -1, MEASURE_REL, "1/3"},
      {"out:ulp<=0x1p-3", OUTPUT_OUT, MEASURE_ULP, "1/8"},
      {"lse:row<=2", OUTPUT_LSE, MEASURE_ROW, "2"},
      {"nmse<=0.0005", -1, MEASURE_NMSE, "1/2000"},
      {"backward<=16", -1, MEASURE_BACKWARD, "16"},
      {"theory", -1, MEASURE_THEORY, "1"},
      {"lse:theory", OUTPUT_LSE, MEASURE_THEORY, "1"},
      {"allclose=1e-3,1e-5", -1, MEASURE_ALLCLOSE, "1"},
      {"abs<=0", -1, MEASURE_ABS, "0"},
  };
  for (size_t i = 0; i < sizeof legal / sizeof *legal; i++) {
    certify_bounds bounds = {0, NULL};
    attest_error error;
    fmpq_t limit;
    fmpq_init(limit);
    fmpq_set_str(limit, legal[i].limit, 10);
    ck_assert_int_eq(certify_bounds_add(&bounds, legal[i].text, &error), ATTEST_OK);
    ck_assert_int_eq(bounds.items[0].output, legal[i].output);
    ck_assert_int_eq(bounds.items[0].measure, legal[i].measure);
    ck_assert(fmpq_equal(bounds.items[0].limit, limit));
    fmpq_clear(limit);
    certify_bounds_clear(&bounds);
  }
}
END_TEST

START_TEST(illegal_bounds_are_refused) {
  static const char *const illegal[] = {
      "",          "abs",          "abs<1",         "ulps<4",        "ulps<=4",  "abs<=",
      "abs<=-1",   "abs<=nan",     "abs<=inf",      "abs<=1x",       "abs<= 1",  "abs<=sqrt(2)",
      "theory<=1", "allclose<=1",  "allclose=1e-3", "allclose=,1",   "x:abs<=1", "out:out:abs<=1",
      ":abs<=1",   "backward<=1,", "Abs<=1",        "allclose=1,1,1"};
  for (size_t i = 0; i < sizeof illegal / sizeof *illegal; i++)
    ck_assert_msg(!parses(illegal[i]), "accepted %s", illegal[i]);
}
END_TEST

START_TEST(the_same_bound_counts_once) {
  certify_bounds bounds = {0, NULL};
  attest_error error;
  certify_bounds_add(&bounds, "abs<=1", &error);
  certify_bounds_add(&bounds, "abs<=1", &error);
  certify_bounds_add(&bounds, "out:abs<=1", &error);
  ck_assert_uint_eq(bounds.count, 2);
  certify_bounds_clear(&bounds);
}
END_TEST

START_TEST(defaults_go_by_dtype) {
  ck_assert_str_eq(certify_default_bound(ATTEST_FLOAT16), "backward<=4");
  ck_assert_str_eq(certify_default_bound(ATTEST_BFLOAT16), "backward<=4");
  ck_assert_str_eq(certify_default_bound(ATTEST_FLOAT32), "backward<=16");
  ck_assert_str_eq(certify_default_bound(ATTEST_FLOAT64), "backward<=16");
}
END_TEST

void test_bound(Suite *suite) {
  TCase *t = tcase_create("bound");
  tcase_add_test(t, legal_bounds_are_exact);
  tcase_add_test(t, illegal_bounds_are_refused);
  tcase_add_test(t, the_same_bound_counts_once);
  tcase_add_test(t, defaults_go_by_dtype);
  suite_add_tcase(suite, t);
}
