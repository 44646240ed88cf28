/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Largest errors, whole outputs and whole runs on a room of rationals (fake.h). */
#include <omp.h>

#include "fake.h"

/* ---- figures ---- */

/* Every enclosure of the error straddles the grid point 1, and the error is 1; x is nothing that is
 * recognised by itself. */
START_TEST(a_figure_on_the_grid_is_not_rounded_up) {
  float out[FAKE_WIDTH] = {1.75f, 1, 1, 1};
  certify_case result;
  fake_reset();
  fake.exact[0][0] = "3/4";
  const certify_output *o = fake_check(&result, out, 1, "abs<=3");
  ck_assert_double_eq(o->error[MEASURE_ABS].hi, 1);
  ck_assert_double_lt(o->error[MEASURE_ABS].lo, 1);
  certify_case_clear(&result);
}
END_TEST

START_TEST(equal_errors_are_reported_at_the_lowest_index) {
  static float out[FAKE_ROWS * FAKE_WIDTH];
  certify_case result;
  fake_reset();
  memcpy(out, fake_ones, sizeof out);
  out[70 * FAKE_WIDTH + 2] = out[41 * FAKE_WIDTH + 3] = out[50 * FAKE_WIDTH] = 1.5f;
  const certify_output *o = fake_check(&result, out, FAKE_ROWS, "abs<=1");
  ck_assert_int_eq(o->worst_index[0], 0);
  ck_assert_int_eq(o->worst_index[1], 41);
  ck_assert_int_eq(o->worst_index[2], 3);
  ck_assert_double_eq(o->worst_got, 1.5);
  certify_case_clear(&result);
}
END_TEST

/* Head 1 is compared after head 0; its row 3 comes first in the file, and its error, though
 * smaller, has the same figure. */
START_TEST(equal_figures_of_unequal_errors_count_as_equal) {
  static float out[FAKE_ROWS][2][FAKE_WIDTH];
  certify_case result;
  certify_options options = {0};
  attest_error error;
  const int64_t shape[3] = {FAKE_ROWS, 2, FAKE_WIDTH};
  fake_reset();
  omp_set_num_threads(1);
  memcpy(out, fake_ones, sizeof fake_ones);
  memcpy(out[FAKE_ROWS / 2], fake_ones, sizeof fake_ones);
  fake.exact[70][2] = fake.exact[3][1] = "5/4";
  out[70][1][2] = out[3][0][1] = 1.25f;
  out[70][0][2] = 1.75f;
  out[3][1][1] = 1.75f - 0x1p-23f;
  attest_problem *p = fake_problem(2, FAKE_ROWS, out, ATTEST_FLOAT32);
  attest_tensor t = attest_tensor_of(out, ATTEST_FLOAT32, 3, shape);
  attest_problem_output(p, "out", &t, &error);
  attest_problem_set(p, "out-layout", "nhd", &error);
  ck_assert_int_eq(problem_resolve(p, &error), ATTEST_OK);
  for (int apart = 0; apart < 2; apart++) {
    ck_assert_int_eq(fake_run(&result, p, "abs<=1", &options, &error), ATTEST_OK);
    const certify_output *o = &result.subjects[0].outputs[0];
    ck_assert_int_eq(o->worst_index[0], apart ? 70 : 3);
    ck_assert_int_eq(o->worst_index[1], apart ? 0 : 1);
    certify_case_clear(&result);
    out[3][1][1] = 1.75f - 0x1p-21f; /* more than a cell of the grid */
  }
  attest_problem_free(p);
}
END_TEST

/* The error of row 0 is just above a point of the grid, which its first enclosure straddles; that
 * of row 1 is known at once to be in the same cell, and the floor is the figure of both. */
START_TEST(an_element_that_waits_at_the_floor_is_looked_at) {
  static float out[2 * FAKE_WIDTH];
  certify_case result;
  fake_reset();
  memcpy(out, fake_ones, sizeof out);
  fake.exact[0][0] = "4393751543807/4398046511104"; /* 1 - 2^-10 - 2^-42 within 2^-40 */
  fake.exact[1][0] = "1/1024";
  out[FAKE_WIDTH] = 0x1p-9f + 0x1p-32f;
  const certify_output *o = fake_check(&result, out, 2, "abs<=1");
  ck_assert_int_eq(o->worst_index[1], 0);
  ck_assert_double_eq(o->error[MEASURE_ABS].hi, 0x1p-10 + 0x1p-30);
  certify_case_clear(&result);
}
END_TEST

START_TEST(no_error_at_all_is_zero_at_the_first_element) {
  certify_case result;
  fake_reset();
  const certify_output *o = fake_check(&result, fake_ones, FAKE_ROWS, "abs<=0 rel<=0 backward<=0");
  ck_assert_int_eq(o->verdict, ATTEST_CERTIFIED);
  ck_assert_double_eq(o->error[MEASURE_ABS].hi, 0);
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(o->worst_index[i], 0);
  certify_case_clear(&result);
}
END_TEST

/* An output of zeros is a common defect: its relative error is 1 everywhere, known without balls.
 */
START_TEST(zeros_instead_of_results_do_not_climb) {
  static const float zeros[FAKE_ROWS * FAKE_WIDTH];
  certify_case result;
  fake_reset();
  for (int i = 0; i < FAKE_ROWS * FAKE_WIDTH; i++)
    fake.exact[i / FAKE_WIDTH][i % FAKE_WIDTH] = "1/3";
  const certify_output *o = fake_check(&result, zeros, FAKE_ROWS, "rel<=0.5");
  ck_assert_int_eq(o->verdict, ATTEST_REFUTED);
  ck_assert_int_eq(o->refuted, FAKE_ROWS * FAKE_WIDTH);
  ck_assert_double_eq(o->error[MEASURE_REL].hi, 1);
  ck_assert_int_le(fake.ball_rows, 4);
  certify_case_clear(&result);
}
END_TEST

/* sum (got-x)^2 / sum x^2 = (1/12)^2 / (1/9 + 3). */
START_TEST(nmse_is_a_ratio_of_sums) {
  float out[FAKE_WIDTH] = {0.25f, 1, 1, 1};
  certify_case result;
  fake_reset();
  fake.exact[0][0] = "1/3";
  const double exact = 1.0 / 144 / (28.0 / 9);
  const certify_output *o = fake_check(&result, out, 1, "nmse<=0.003");
  ck_assert_int_eq(o->verdict, ATTEST_CERTIFIED);
  ck_assert_double_ge(o->error[MEASURE_NMSE].hi, exact);
  ck_assert_double_le(o->error[MEASURE_NMSE].hi, exact * (1 + 0x1p-19));
  certify_case_clear(&result);
  ck_assert_int_eq(fake_verdict(out, 1, "nmse<=0.002"), ATTEST_REFUTED);
}
END_TEST

/* ---- the whole ---- */

START_TEST(all_bounds_must_hold) {
  float out[FAKE_WIDTH] = {1.5f, 1, 1, 1};
  certify_case result;
  fake_reset();
  const certify_output *o = fake_check(&result, out, 1, "abs<=1 rel<=0.25 ulp<=1e9");
  ck_assert_int_eq(o->verdict, ATTEST_REFUTED);
  ck_assert_uint_eq(o->decisive, 1);
  ck_assert_int_eq(o->bounds[0].verdict, ATTEST_CERTIFIED);
  ck_assert_int_eq(o->bounds[1].verdict, ATTEST_REFUTED);
  certify_case_clear(&result);
}
END_TEST

START_TEST(bounds_that_do_not_apply_are_trouble) {
  attest_error error;
  certify_options options = {.name = "x"};
  certify_case result;
  fake_reset();
  attest_problem *p = fake_problem(1, 2, (void *)fake_ones, ATTEST_FLOAT32);
  ck_assert_int_eq(fake_run(&result, p, "lse:abs<=1", &options, &error), ATTEST_ERR_INPUT);
  certify_case_clear(&result);
  ck_assert_int_eq(fake_run(&result, p, "allclose=1,1 allclose=1,2", &options, &error),
                   ATTEST_ERR_INPUT);
  certify_case_clear(&result);
  certify_bounds bounds = {0, NULL};
  certify_bounds_add(&bounds, "theory", &error);
  certify_subject undeclared = {.problem = p, .bounds = &bounds};
  ck_assert_int_eq(certify_run_room(&result, &fake_room, &undeclared, 1, &options, &error),
                   ATTEST_ERR_INPUT);
  ck_assert(strstr(error.message, "arithmetic"));
  certify_case_clear(&result);
  certify_bounds_clear(&bounds);
  attest_problem_free(p);
}
END_TEST

START_TEST(nothing_to_certify_is_trouble_unless_allowed) {
  attest_error error;
  certify_options options = {0};
  certify_case result;
  fake_reset();
  attest_problem *p = fake_problem(1, 0, (void *)fake_ones, ATTEST_FLOAT32);
  ck_assert_int_eq(fake_run(&result, p, "", &options, &error), ATTEST_ERR_INPUT);
  certify_case_clear(&result);
  options.allow_empty = 1;
  ck_assert_int_eq(fake_run(&result, p, "", &options, &error), ATTEST_OK);
  ck_assert_int_eq(result.subjects[0].outputs[0].verdict, ATTEST_CERTIFIED);
  ck_assert_int_eq(result.subjects[0].outputs[0].has_worst, 0);
  certify_case_clear(&result);
  attest_problem_free(p);
}
END_TEST

START_TEST(all_subjects_share_one_pass) {
  attest_error error;
  certify_options options = {.name = "two"};
  certify_bounds bounds = {0, NULL};
  certify_case result;
  static double doubles[2 * FAKE_ROWS * FAKE_WIDTH];
  static float floats[2 * FAKE_ROWS * FAKE_WIDTH];
  fake_reset();
  for (int i = 0; i < 2 * FAKE_ROWS * FAKE_WIDTH; i++)
    doubles[i] = floats[i] = 1;
  floats[FAKE_ROWS * FAKE_WIDTH + 5] = 3; /* head 1 */
  attest_problem *a = fake_problem(2, FAKE_ROWS, floats, ATTEST_FLOAT32);
  attest_problem *b = fake_problem(2, FAKE_ROWS, doubles, ATTEST_FLOAT64);
  certify_subject subjects[2] = {{"a", a, &bounds, NULL, NULL}, {"b", b, &bounds, NULL, NULL}};
  ck_assert_int_eq(certify_run_room(&result, &fake_room, subjects, 2, &options, &error), ATTEST_OK);
  ck_assert_int_eq(fake.opened, 2);
  ck_assert_int_eq(fake.blocks, 2 * 2);
  ck_assert_int_eq(result.subjects[0].outputs[0].verdict, ATTEST_REFUTED);
  ck_assert_int_eq(result.subjects[0].outputs[0].worst_index[0], 1);
  ck_assert_int_eq(result.subjects[0].outputs[0].worst_index[1], 1);
  ck_assert_int_eq(result.subjects[0].outputs[0].worst_index[2], 1);
  ck_assert_int_eq(result.subjects[1].outputs[0].verdict, ATTEST_CERTIFIED);
  certify_case_clear(&result);
  attest_problem_free(a);
  attest_problem_free(b);
}
END_TEST

static volatile sig_atomic_t stop;
static void stop_after_one_step(void *context, int64_t pairs) {
  (void)context;
  (void)pairs;
  stop = 1;
}

START_TEST(an_interrupt_leaves_a_partial_result_that_certifies_nothing) {
  attest_error error;
  certify_options options = {.interrupted = &stop, .step = stop_after_one_step};
  certify_case result;
  float out[FAKE_ROWS * FAKE_WIDTH];
  memcpy(out, fake_ones, sizeof out);
  fake_reset();
  omp_set_num_threads(1);
  for (int bad = 0; bad < 2; bad++) {
    stop = 0;
    out[0] = bad ? 9 : 1;
    attest_problem *p = fake_problem(1, FAKE_ROWS, out, ATTEST_FLOAT32);
    ck_assert_int_eq(fake_run(&result, p, "abs<=1", &options, &error), ATTEST_OK);
    const certify_output *o = &result.subjects[0].outputs[0];
    ck_assert_int_eq(o->elements, FAKE_ROWS * FAKE_WIDTH);
    ck_assert_int_eq(o->compared, 48 * FAKE_WIDTH);
    ck_assert_int_eq(o->verdict, bad ? ATTEST_REFUTED : ATTEST_UNDECIDED);
    ck_assert(result.interrupted);
    certify_case_clear(&result);
    attest_problem_free(p);
  }
}
END_TEST

/* Random errors of all sizes; the same result at any number of threads. */
START_TEST(threads_do_not_change_the_result) {
  static float out[4 * FAKE_ROWS * FAKE_WIDTH];
  uint64_t state = tests_seed();
  certify_case result[2];
  attest_error error;
  certify_options options = {0};
  fake_reset();
  fake.radius = 0x1p-22; /* wide enough that figures and bounds need the upper tiers */
  fake.s = 3;
  for (int i = 0; i < 4 * FAKE_ROWS * FAKE_WIDTH; i++)
    out[i] = 1 + (float)(tests_random(&state) % 64) * 0x1p-23f;
  for (int i = 0; i < 2; i++) {
    omp_set_num_threads(1 + 3 * i);
    attest_problem *p = fake_problem(4, FAKE_ROWS, out, ATTEST_FLOAT32);
    ck_assert_int_eq(
        fake_run(&result[i], p, "backward<=16 abs<=3e-6 ulp<=60 row<=1 nmse<=1", &options, &error),
        ATTEST_OK);
    attest_problem_free(p);
  }
  const certify_output *a = &result[0].subjects[0].outputs[0],
                       *b = &result[1].subjects[0].outputs[0];
  ck_assert_int_eq(a->refuted, b->refuted);
  ck_assert_int_eq(a->certified, b->certified);
  ck_assert_mem_eq(a->error, b->error, sizeof a->error);
  ck_assert_mem_eq(a->worst_index, b->worst_index, 3 * sizeof *a->worst_index);
  certify_case_clear(&result[0]);
  certify_case_clear(&result[1]);
}
END_TEST

void test_figures(Suite *suite) {
  TCase *t = tcase_create("figures");
  tcase_add_test(t, a_figure_on_the_grid_is_not_rounded_up);
  tcase_add_test(t, equal_errors_are_reported_at_the_lowest_index);
  tcase_add_test(t, equal_figures_of_unequal_errors_count_as_equal);
  tcase_add_test(t, an_element_that_waits_at_the_floor_is_looked_at);
  tcase_add_test(t, no_error_at_all_is_zero_at_the_first_element);
  tcase_add_test(t, zeros_instead_of_results_do_not_climb);
  tcase_add_test(t, nmse_is_a_ratio_of_sums);
  tcase_add_test(t, all_bounds_must_hold);
  tcase_add_test(t, bounds_that_do_not_apply_are_trouble);
  tcase_add_test(t, nothing_to_certify_is_trouble_unless_allowed);
  tcase_add_test(t, all_subjects_share_one_pass);
  tcase_add_test(t, an_interrupt_leaves_a_partial_result_that_certifies_nothing);
  tcase_add_test(t, threads_do_not_change_the_result);
  suite_add_tcase(suite, t);
}
