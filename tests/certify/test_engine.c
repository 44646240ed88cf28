/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Verdict rules on a room of rationals (fake.h). */
#include <omp.h>

#include "fake.h"

/* ---- ties ---- */

/* got = 1/4, x = 1/3: the distance is 1/12, no double, and every ball of x straddles it. */
START_TEST(an_error_that_equals_the_bound_is_certified) {
  float out[FAKE_WIDTH] = {0.25f, 1, 1, 1};
  fake_reset();
  fake.exact[0][0] = "1/3";
  ck_assert_int_eq(fake_verdict(out, 1, "abs<=1/12"), ATTEST_CERTIFIED);
  ck_assert_int_gt(fake.linear_calls, 0);
  ck_assert_int_eq(fake_verdict(out, 1, "rel<=1/4"), ATTEST_CERTIFIED);
  ck_assert_int_eq(fake_verdict(out, 1, "row<=1/12"), ATTEST_CERTIFIED);
  ck_assert_int_eq(fake_verdict(out, 1, "ulp<=2097152/3 abs<=1/12"), ATTEST_REFUTED);
  /* ulp(1/3) = 2^-25: 2^25/12 ulp. */
  ck_assert_int_eq(fake_verdict(out, 1, "ulp<=8388608/3"), ATTEST_CERTIFIED);
  ck_assert_int_eq(fake_verdict(out, 1, "ulp<=8388607/3"), ATTEST_REFUTED);
  /* 1/12 = 1/24 + (1/8)(1/3). */
  ck_assert_int_eq(fake_verdict(out, 1, "allclose=1/8,1/24"), ATTEST_CERTIFIED);
  fake.theory = 0.0625;
  ck_assert_int_eq(fake_verdict(out, 1, "theory"), ATTEST_REFUTED);
  fake.theory = 0.125;
  ck_assert_int_eq(fake_verdict(out, 1, "theory"), ATTEST_CERTIFIED);
}
END_TEST

/* The bound misses the error by 2^-2000 of it: no tie, and balls of 2048 bits and more decide. */
START_TEST(a_bound_next_to_the_error_is_decided_by_precision) {
  float out[FAKE_WIDTH] = {0.25f, 1, 1, 1};
  char bound[2048];
  fmpq_t limit, step;
  fake_reset();
  fake.exact[0][0] = "1/3";
  fmpq_init(limit);
  fmpq_init(step);
  for (int side = -1; side <= 1; side += 2) {
    fmpq_set_si(limit, 1, 12);
    fmpq_set_si(step, side, 1);
    fmpq_div_2exp(step, step, 2000);
    fmpq_add(limit, limit, step);
    char *text = fmpq_get_str(NULL, 10, limit);
    snprintf(bound, sizeof bound, "abs<=%s", text);
    flint_free(text);
    ck_assert_int_eq(fake_verdict(out, 1, bound), side > 0 ? ATTEST_CERTIFIED : ATTEST_REFUTED);
  }
  fmpq_clear(limit);
  fmpq_clear(step);
}
END_TEST

START_TEST(a_tie_that_nobody_can_decide_is_undecided) {
  float out[FAKE_WIDTH] = {0.25f, 1, 1, 1};
  certify_case result;
  fake_reset();
  fake.linear = 0;
  fake.exact[0][0] = "1/3";
  const certify_output *o = fake_check(&result, out, 1, "abs<=1/12");
  ck_assert_int_eq(o->verdict, ATTEST_UNDECIDED);
  ck_assert_uint_eq(o->why, WHY_PRECISION);
  ck_assert_int_eq(o->undecided, 1);
  ck_assert_int_eq(o->certified, 3);
  certify_case_clear(&result);
  /* A refuted element elsewhere wins. */
  out[3] = 2;
  ck_assert_int_eq(fake_verdict(out, 1, "abs<=1/12"), ATTEST_REFUTED);
}
END_TEST

/* |got - x_c| = |x_m| / 12 with the largest element x_m = 1 in another component. */
START_TEST(row_ties_involve_the_largest_element) {
  float out[FAKE_WIDTH] = {0.25f, 0.5f, 0.5f, 1};
  fake_reset();
  fake.exact[0][0] = "1/3";
  fake.exact[0][1] = fake.exact[0][2] = "1/2";
  fake.exact[0][3] = "-1";
  out[3] = -1;
  ck_assert_int_eq(fake_verdict(out, 1, "row<=1/12"), ATTEST_CERTIFIED);
  ck_assert_int_eq(fake_verdict(out, 1, "row<=83333333333/1000000000000"), ATTEST_REFUTED);
  fake.exact[0][3] = "-7/3";
  out[3] = -7.0f / 3;
  ck_assert_int_eq(fake_verdict(out, 1, "row<=1/28"), ATTEST_CERTIFIED);
}
END_TEST

/* ---- special values ---- */

START_TEST(exact_zero_is_recognised) {
  float out[FAKE_WIDTH] = {0, 1, 1, 1};
  fake_reset();
  fake.exact[0][0] = "0";
  ck_assert_int_eq(fake_verdict(out, 1, "rel<=0"), ATTEST_CERTIFIED);
  out[0] = 0x1p-149f;
  ck_assert_int_eq(fake_verdict(out, 1, "rel<=1000"), ATTEST_REFUTED);
  ck_assert_int_eq(fake_verdict(out, 1, "ulp<=1"), ATTEST_CERTIFIED);
  ck_assert_int_eq(fake_verdict(out, 1, "abs<=0"), ATTEST_REFUTED);
}
END_TEST

/* x = 1 exactly, but every enclosure reaches below it, where an ulp is half as large. */
START_TEST(a_power_of_two_has_the_larger_ulp) {
  float out[FAKE_WIDTH] = {1 + 0x1p-23f, 1, 1, 1};
  certify_case result;
  fake_reset();
  const certify_output *o = fake_check(&result, out, 1, "ulp<=1");
  ck_assert_int_eq(o->verdict, ATTEST_CERTIFIED);
  ck_assert_double_eq(o->error[MEASURE_ULP].hi, 1);
  certify_case_clear(&result);
  ck_assert_int_eq(fake_verdict(out, 1, "ulp<=0.999999"), ATTEST_REFUTED);
}
END_TEST

START_TEST(prescribed_values_must_be_met) {
  float out[FAKE_WIDTH] = {NAN, INFINITY, -INFINITY, 1};
  certify_case result;
  fake_reset();
  fake.class[0][0] = EXACT_NAN;
  fake.class[0][1] = EXACT_PLUS_INF;
  fake.class[0][2] = EXACT_MINUS_INF;
  ck_assert_int_eq(fake_verdict(out, 1, "abs<=0 nmse<=1e-30 backward<=0 row<=0"), ATTEST_CERTIFIED);
  float wrong[FAKE_WIDTH] = {0, INFINITY, INFINITY, 1};
  const certify_output *o = fake_check(&result, wrong, 1, "abs<=1e300");
  ck_assert_int_eq(o->verdict, ATTEST_REFUTED);
  ck_assert_int_eq(o->refuted, 2);
  ck_assert(isinf(o->error[MEASURE_ABS].hi) && isinf(o->error[MEASURE_ABS].lo));
  ck_assert_int_eq(o->worst_index[2], 0);
  ck_assert(isnan(o->worst_lo));
  certify_case_clear(&result);
}
END_TEST

START_TEST(nan_and_infinity_are_refuted_by_every_bound) {
  static const char *const bounds[] = {"abs<=1e9", "rel<=1e9",      "ulp<=1e9",
                                       "row<=1e9", "nmse<=1e9",     "allclose=1e9,1e9",
                                       "theory",   "backward<=1e9", ""};
  fake_reset();
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
    for (int k = 0; k < 2; k++) {
      float out[FAKE_WIDTH] = {1, 1, k ? NAN : -INFINITY, 1};
      ck_assert_msg(fake_verdict(out, 1, bounds[i]) == ATTEST_REFUTED, "%s", bounds[i]);
    }
}
END_TEST

/* 2^128 is what an infinite float32 counts as where the exact value rounds there. */
START_TEST(infinity_counts_where_the_exact_value_overflows) {
  float out[FAKE_WIDTH] = {INFINITY, 1, 1, 1};
  fake_reset();
  fake.exact[0][0] = "340282366920938463463374607431768211455"; /* 2^128 - 1 */
  ck_assert_int_eq(fake_verdict(out, 1, "abs<=1"), ATTEST_CERTIFIED);
  fake.exact[0][0] = "340282356779733661637539395458142568447"; /* below the rounding boundary */
  ck_assert_int_eq(fake_verdict(out, 1, "rel<=1e9"), ATTEST_REFUTED);
  fake.exact[0][0] = "340282356779733661637539395458142568448"; /* on it: ties to even */
  fake.radius = 0x1p-20;
  ck_assert_int_eq(fake_verdict(out, 1, "rel<=1"), ATTEST_CERTIFIED);
}
END_TEST

/* ---- the ladder ---- */

START_TEST(infinite_radii_climb_to_balls) {
  float out[FAKE_WIDTH] = {0.25f, 1, 1, 1};
  certify_case result;
  fake_reset();
  fake.radius = INFINITY;
  fake.dd_radius = INFINITY;
  fake.exact[0][0] = "1/3";
  const certify_output *o = fake_check(&result, out, 1, "abs<=0.1 rel<=0.3");
  ck_assert_int_eq(o->verdict, ATTEST_CERTIFIED);
  ck_assert_int_eq(o->tiers[TIER_DOUBLE] + o->tiers[TIER_DOUBLE_DOUBLE], 0);
  ck_assert_int_gt(fake.ball_rows, 0);
  certify_case_clear(&result);
}
END_TEST

START_TEST(rooms_without_double_double_go_on_to_balls) {
  float out[FAKE_WIDTH] = {0.25f, 1, 1, 1};
  fake_reset();
  fake_room.rows_dd = NULL;
  fake.radius = INFINITY;
  fake.exact[0][0] = "1/3";
  ck_assert_int_eq(fake_verdict(out, 1, "abs<=0.1"), ATTEST_CERTIFIED);
  ck_assert_int_eq(fake_verdict(out, 1, "abs<=0.08"), ATTEST_REFUTED);
  ck_assert_int_eq(fake_verdict(out, 1, "nmse<=0.1"), ATTEST_CERTIFIED);
}
END_TEST

/* |got - x| = 2^-23 against A = 1: 2 units with S = 0, less with the S of the second pass. */
START_TEST(the_second_pass_tightens_the_sensitivity) {
  float out[FAKE_WIDTH] = {1 + 0x1p-23f, 1, 1, 1};
  certify_case result;
  fake_reset();
  fake.s = 1;
  const certify_output *o = fake_check(&result, out, 1, "backward<=1");
  ck_assert_int_eq(o->verdict, ATTEST_CERTIFIED);
  ck_assert_int_gt(fake.sensitivities, 0);
  ck_assert_double_le(o->error[MEASURE_BACKWARD].hi, 1);
  ck_assert_double_gt(o->error[MEASURE_BACKWARD].hi, 1 - 0x1p-19);
  certify_case_clear(&result);
  ck_assert_int_eq(fake_verdict(out, 1, "backward<=0.9999"), ATTEST_REFUTED);
}
END_TEST

/* ---- the explicit form of the backward error ---- */

START_TEST(far_from_first_order_the_explicit_form_decides) {
  float out[FAKE_WIDTH] = {1 + 0x1p-20f, 1, 1, 1};
  certify_case result;
  fake_reset();
  fake.s = fake.s_loose = 1e9;
  fake.reach = 1e7;
  fake.explicit_value = (measure_interval){3, 5};
  const certify_output *o = fake_check(&result, out, 1, "backward<=4");
  ck_assert_int_eq(o->verdict, ATTEST_UNDECIDED);
  ck_assert_uint_eq(o->why, WHY_EXPLICIT);
  ck_assert_double_eq(o->error[MEASURE_BACKWARD].hi, 5);
  ck_assert_int_eq(fake.explicit_calls, 1);
  certify_case_clear(&result);
  fake.explicit_value = (measure_interval){5, 6};
  ck_assert_int_eq(fake_verdict(out, 1, "backward<=4"), ATTEST_REFUTED);
  fake.explicit_value = (measure_interval){3, 4};
  ck_assert_int_eq(fake_verdict(out, 1, "backward<=4"), ATTEST_CERTIFIED);
  /* In reach of first order the same S = 1e9 certifies at once. */
  fake.reach = 1;
  fake.explicit_calls = 0;
  ck_assert_int_eq(fake_verdict(out, 1, "backward<=4"), ATTEST_CERTIFIED);
  ck_assert_int_eq(fake.explicit_calls, 0);
}
END_TEST

START_TEST(moving_the_values_alone_needs_no_explicit_form) {
  float out[FAKE_WIDTH] = {1 + 0x1p-23f, 1, 1, 1};
  certify_case result;
  fake_reset();
  fake.reach = INFINITY;
  const certify_output *o = fake_check(&result, out, 1, "backward<=4");
  ck_assert_int_eq(o->verdict, ATTEST_CERTIFIED);
  ck_assert_int_eq(fake.explicit_calls, 0);
  ck_assert_double_eq(o->error[MEASURE_BACKWARD].lo, 0);
  ck_assert_double_le(o->error[MEASURE_BACKWARD].hi, 2);
  certify_case_clear(&result);
}
END_TEST

START_TEST(an_infinite_theory_bound_claims_nothing) {
  certify_case result;
  float out[FAKE_WIDTH] = {1, 1, 1.5f, 1};
  fake_reset();
  fake.theory = INFINITY;
  const certify_output *o = fake_check(&result, out, 1, "theory");
  ck_assert_int_eq(o->verdict, ATTEST_UNDECIDED);
  ck_assert_uint_eq(o->why, WHY_NO_THEORY_BOUND);
  certify_case_clear(&result);
}
END_TEST

/* ---- figures ---- */

/* Every enclosure of the error straddles the grid point 1, and the error is 1. */
START_TEST(a_figure_on_the_grid_is_not_rounded_up) {
  float out[FAKE_WIDTH] = {2, 1, 1, 1};
  certify_case result;
  fake_reset();
  fake.radius = 0x1p-30;
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
  certify_subject subjects[2] = {{"a", a, &bounds, NULL}, {"b", b, &bounds, NULL}};
  ck_assert_int_eq(certify_run_room(&result, &fake_room, subjects, 2, &options, &error), ATTEST_OK);
  ck_assert_int_eq(fake.opened, 2);
  ck_assert_int_eq(fake.blocks, 2 * 3);
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
    /* The last rows are looked at first. */
    out[FAKE_ROWS * FAKE_WIDTH - 1] = bad ? 9 : 1;
    attest_problem *p = fake_problem(1, FAKE_ROWS, out, ATTEST_FLOAT32);
    ck_assert_int_eq(fake_run(&result, p, "abs<=1", &options, &error), ATTEST_OK);
    const certify_output *o = &result.subjects[0].outputs[0];
    ck_assert_int_eq(o->elements, FAKE_ROWS * FAKE_WIDTH);
    ck_assert_int_eq(o->compared, 16 * FAKE_WIDTH);
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

void test_engine(Suite *suite) {
  TCase *t = tcase_create("engine");
  tcase_add_test(t, an_error_that_equals_the_bound_is_certified);
  tcase_add_test(t, a_bound_next_to_the_error_is_decided_by_precision);
  tcase_add_test(t, a_tie_that_nobody_can_decide_is_undecided);
  tcase_add_test(t, row_ties_involve_the_largest_element);
  tcase_add_test(t, exact_zero_is_recognised);
  tcase_add_test(t, a_power_of_two_has_the_larger_ulp);
  tcase_add_test(t, prescribed_values_must_be_met);
  tcase_add_test(t, nan_and_infinity_are_refuted_by_every_bound);
  tcase_add_test(t, infinity_counts_where_the_exact_value_overflows);
  tcase_add_test(t, infinite_radii_climb_to_balls);
  tcase_add_test(t, rooms_without_double_double_go_on_to_balls);
  tcase_add_test(t, the_second_pass_tightens_the_sensitivity);
  tcase_add_test(t, far_from_first_order_the_explicit_form_decides);
  tcase_add_test(t, moving_the_values_alone_needs_no_explicit_form);
  tcase_add_test(t, an_infinite_theory_bound_claims_nothing);
  tcase_add_test(t, a_figure_on_the_grid_is_not_rounded_up);
  tcase_add_test(t, equal_errors_are_reported_at_the_lowest_index);
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
