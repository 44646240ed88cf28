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

void test_quiet(Suite *suite) {
  TCase *t = tcase_create("quiet");
  tcase_add_test(t, an_infinite_error_that_comes_late_is_no_quiet_one);
  suite_add_tcase(suite, t);
}
