/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the quick pass must not set aside. */
#include <omp.h>

#include "fake.h"

/* Row 3 of head 1 comes first in the file and, whether blocks are compared from the first or from
 * the last, not first: of infinite errors, too, the first in the file is reported, though a bound
 * on nmse asks nothing of a single element. */
START_TEST(an_infinite_error_that_comes_late_is_no_quiet_one) {
  static float out[FAKE_ROWS][2][FAKE_WIDTH];
  certify_case result;
  certify_options options = {0};
  attest_error error = {0};
  const int64_t shape[3] = {FAKE_ROWS, 2, FAKE_WIDTH};
  fake_reset();
  for (int i = 0; i < FAKE_ROWS; i++)
    for (int c = 0; c < 2 * FAKE_WIDTH; c++)
      out[i][c / FAKE_WIDTH][c % FAKE_WIDTH] = 1;
  out[50][0][2] = out[70][1][0] = out[3][1][1] = INFINITY;
  attest_problem *p = fake_problem(2, FAKE_ROWS, out, ATTEST_FLOAT32);
  attest_tensor t = attest_tensor_of(out, ATTEST_FLOAT32, 3, shape);
  ck_assert_int_eq(attest_problem_output(p, "out", &t, &error), ATTEST_OK);
  ck_assert_int_eq(attest_problem_set(p, "out-layout", "nhd", &error), ATTEST_OK);
  ck_assert_msg(problem_resolve(p, &error) == ATTEST_OK, "%s", error.message);
  omp_set_num_threads(1);
  ck_assert_int_eq(fake_run(&result, p, "nmse<=1", &options, &error), ATTEST_OK);
  const certify_output *o = &result.subjects[0].outputs[0];
  ck_assert_int_eq(o->verdict, ATTEST_REFUTED);
  ck_assert_int_eq(o->worst_index[0], 3);
  ck_assert_int_eq(o->worst_index[1], 1);
  ck_assert_int_eq(o->worst_index[2], 1);
  certify_case_clear(&result);
  attest_problem_free(p);
  ck_assert_int_eq(fake_verdict(&out[0][0][0], FAKE_ROWS, "nmse<=1"), ATTEST_REFUTED);
}
END_TEST

/* Errors that are large in every measure, in the block that is compared first. */
static void large_errors_first(float out[FAKE_ROWS * FAKE_WIDTH]) {
  memcpy(out, fake_ones, FAKE_ROWS * FAKE_WIDTH * sizeof *out);
  out[0] = out[FAKE_ROWS * FAKE_WIDTH - 1] = 1e30f;
}

/* An error beyond the bound, within it only for the largest denominator that the double tier
 * allows.
 */
START_TEST(the_quick_pass_divides_by_the_smallest_denominator) {
  static float out[FAKE_ROWS * FAKE_WIDTH];
  certify_case result;
  fake_reset();
  large_errors_first(out);
  fake.radius = 1.0 / 16; /* of each |x|: the largest of the row is between 15/16 and 17/16 */
  fake.exact[40][1] = "1/1024";
  out[40 * FAKE_WIDTH + 1] = 1.0f / 1024 + 1.03f;
  const certify_output *o = fake_check(&result, out, FAKE_ROWS, "row<=1");
  ck_assert_int_eq(o->refuted, 3);
  certify_case_clear(&result);
  fake_reset();
  large_errors_first(out);
  fake.a_loose = 4;
  out[40 * FAKE_WIDTH + 1] = 1 + 0x1p-22f; /* 4 units of a = 1 */
  o = fake_check(&result, out, FAKE_ROWS, "backward<=2");
  ck_assert_int_eq(o->refuted, 3);
  certify_case_clear(&result);
  fake_reset();
  large_errors_first(out);
  fake.a = 0;
  fake.s = fake.s_loose = 1;
  fake.s_above = 4;
  out[40 * FAKE_WIDTH + 1] = 1 + 0x1p-22f; /* 4 units of s = 1 */
  o = fake_check(&result, out, FAKE_ROWS, "backward<=2");
  ck_assert_int_eq(o->refuted, 3);
  certify_case_clear(&result);
}
END_TEST

void test_quiet(Suite *suite) {
  TCase *t = tcase_create("quiet");
  tcase_add_test(t, an_infinite_error_that_comes_late_is_no_quiet_one);
  tcase_add_test(t, the_quick_pass_divides_by_the_smallest_denominator);
  suite_add_tcase(suite, t);
}
