/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Exact decisions: ties, zeros, numbers a + b sqrt(r), exponentials. */
#include <math.h>

#include "fixture_taylor.h"

/* Whether c0 x_0 + c1 x_1 = constant in row 0; two components. */
static int decide(const char *kernel, const char *const params[], double *q, double *k, double *v,
                  int64_t nk, int64_t d, const char *c0, const char *c1, const char *constant) {
  problem_slice slice;
  attest_problem *p = taylor_problem_of(kernel, params, q, k, v, 1, nk, d, 2);
  problem_slice_get(&slice, p, 0);
  fmpq *c = _fmpq_vec_init(2);
  fmpq_t value;
  fmpq_init(value);
  fmpq_set_str(c, c0, 10);
  fmpq_set_str(c + 1, c1, 10);
  fmpq_set_str(value, constant, 10);
  int answer = taylor_linear_zero(p, &slice, 0, OUTPUT_OUT, 2, (int64_t[]){0, 1}, c, value);
  _fmpq_vec_clear(c, 2);
  fmpq_clear(value);
  attest_problem_free(p);
  return answer;
}

/* Weights T_2(1) = 5/2 and T_2(-1) = 1/2: means (5 v_0 + v_1) / 6. */
START_TEST(rational_rows_are_decided) {
  static const char *const params[] = {"scale", "1", "degree", "2", NULL};
  double q[1] = {1}, k[2] = {1, -1}, v[4] = {1, 6, -2, 0};
  ck_assert_int_eq(decide("taylor", params, q, k, v, 2, 1, "1", "0", "1/2"), 1);
  ck_assert_int_eq(decide("taylor", params, q, k, v, 2, 1, "0", "1", "5"), 1);
  ck_assert_int_eq(decide("taylor", params, q, k, v, 2, 1, "10", "-1", "0"), 1);
  ck_assert_int_eq(decide("taylor", params, q, k, v, 2, 1, "1", "0", "500000001/1000000000"), 0);
}
END_TEST

/* scale sqrt(2): T_1 gives weights 1 + sqrt(2) and 1 - sqrt(2), whose sum is 2: x = (v_0 + v_1)/2 +
 * sqrt(2) (v_0 - v_1)/2, rational only for equal values. T_3 likewise, with weights that cancel. */
START_TEST(irrational_scales_are_decided) {
  static const char *const first[] = {"scale", "sqrt(2)", "degree", "1", NULL};
  static const char *const third[] = {"scale", "-sqrt(2)", "degree", "3", NULL};
  double q[1] = {1}, k[2] = {1, -1}, v[4] = {1, 7, 3, 7};
  ck_assert_int_eq(decide("taylor", first, q, k, v, 2, 1, "0", "1", "7"), 1);
  ck_assert_int_eq(decide("taylor", first, q, k, v, 2, 1, "1", "0", "2"), 0);
  ck_assert_int_eq(decide("taylor", third, q, k, v, 2, 1, "0", "1", "7"), 1);
  ck_assert_int_eq(decide("taylor", third, q, k, v, 2, 1, "1", "0", "2"), 0);
  double k2[2] = {1, 1}; /* equal weights */
  ck_assert_int_eq(decide("taylor", third, q, k2, v, 2, 1, "1", "0", "2"), 1);
}
END_TEST

/* scale sqrt(2), T_2(z sqrt(2)) = 1 + z^2 + z sqrt(2), and T_3 adds z^3 sqrt(2) / 3: sums that are
 * rational only because the parts with sqrt(2) cancel. */
START_TEST(both_parts_of_an_irrational_sum_are_right) {
  static const char *const second[] = {"scale",     "sqrt(2)", "degree", "2",
                                       "normalize", "none",    NULL};
  static const char *const third[] = {"scale", "sqrt(2)", "degree", "3", "normalize", "none", NULL};
  static const char *const fifth[] = {"scale",     "-sqrt(2)", "degree", "5",
                                      "normalize", "none",     NULL};
  double q[1] = {1}, k[2] = {1, -1}, v[4] = {1, 1, 1, -1};
  ck_assert_int_eq(decide("taylor", second, q, k, v, 2, 1, "1", "0", "4"), 1);
  ck_assert_int_eq(decide("taylor", second, q, k, v, 2, 1, "0", "1", "0"), 0);
  /* 7 T_3(sqrt(2)) - 2 T_3(2 sqrt(2)): 7 4/3 - 2 14/3 = 0 with sqrt(2), 7 2 - 2 5 = 4 without. */
  double k3[2] = {1, 2}, v3[4] = {7, 0, -2, 0};
  ck_assert_int_eq(decide("taylor", third, q, k3, v3, 2, 1, "1", "0", "4"), 1);
  ck_assert_int_eq(decide("taylor", third, q, k3, v3, 2, 1, "1", "0", "3"), 0);
  /* T_5 at z = 1, 2: with sqrt(2) 1 + 1/3 + 1/30 = 41/30 and 2 + 8/3 + 16/15 = 86/15, without 1 + 1
   * + 1/6 = 13/6 and 1 + 4 + 8/3 = 23/3: 172 13/6 - 41 23/3 = 175/3. */
  double v5[4] = {172, 0, -41, 0};
  ck_assert_int_eq(decide("taylor", fifth, q, k3, v5, 2, 1, "1", "0", "175/3"), 1);
}
END_TEST

/* One query at the end of two keys: weights 1/2 and 1. */
START_TEST(decay_is_part_of_the_decision) {
  static const char *const decay[] = {"degree",       "0", "decay", "1/2", "causal",
                                      "bottom-right", NULL};
  double q[1] = {1}, k[2] = {5, 7}, v[4] = {3, 0, 0, 3};
  ck_assert_int_eq(decide("taylor", decay, q, k, v, 2, 1, "1", "0", "1"), 1);
  ck_assert_int_eq(decide("taylor", decay, q, k, v, 2, 1, "0", "1", "2"), 1);
  ck_assert_int_eq(decide("taylor", decay, q, k, v, 2, 1, "1", "0", "3/2"), 0);
}
END_TEST

START_TEST(eps_and_no_normaliser_are_decided) {
  static const char *const eps[] = {"scale", "1", "degree", "1", "eps", "1/3", NULL};
  static const char *const none[] = {"scale", "1/3", "degree", "1", "normalize", "none", NULL};
  double q[1] = {1}, k[2] = {0, 1}, v[4] = {10, 0, 0, 5}; /* W = 1 + 2 + 1/3 */
  ck_assert_int_eq(decide("taylor", eps, q, k, v, 2, 1, "1", "0", "3"), 1);
  ck_assert_int_eq(decide("taylor", eps, q, k, v, 2, 1, "0", "1", "3"), 1);
  ck_assert_int_eq(decide("taylor", none, q, k, v, 2, 1, "0", "1", "20/3"), 1);
  ck_assert_int_eq(decide("taylor", none, q, k, v, 2, 1, "1", "1", "50/3"), 1);
  ck_assert_int_eq(decide("taylor", none, q, k, v, 2, 1, "1", "1", "17"), 0);
}
END_TEST

/* elu1: weights e^-1 e^-2 = e^-3 twice and (1 + 1) e^-1 once. */
START_TEST(exponentials_are_decided_in_groups) {
  static const char *const elu[] = {"scale",     "sqrt(1/2)", "feature", "elu1",
                                    "normalize", "none",      NULL};
  double q[1] = {-1}, k[3] = {-2, -2, 1}, v[6] = {1, 1, -1, -1, 0, 1};
  ck_assert_int_eq(decide("linear", elu, q, k, v, 3, 1, "1", "0", "0"), 1);
  ck_assert_int_eq(decide("linear", elu, q, k, v, 3, 1, "0", "1", "0"), 0);
  double q2[1] = {1}, k2[3] = {1, 2, 3}; /* all rational: 2 (2, 3, 4) times sqrt(1/2) */
  ck_assert_int_eq(decide("linear", elu, q2, k2, v, 3, 1, "1", "0", "-1"), 0);
  static const char *const sum[] = {"scale", "sqrt(1/2)", "feature", "elu1", NULL};
  ck_assert_int_eq(decide("linear", sum, q2, k2, v, 3, 1, "1", "0", "-1/9"), 1);
}
END_TEST

static int vanishes(const char *kernel, const char *const params[], double *q, double *k,
                    int64_t nk) {
  problem_slice slice;
  double v[8] = {0};
  attest_problem *p = taylor_problem_of(kernel, params, q, k, v, 1, nk, 1, 1);
  problem_slice_get(&slice, p, 0);
  int answer = taylor_normalizer_vanishes(p, &slice, 0);
  attest_problem_free(p);
  return answer;
}

START_TEST(normalisers_that_vanish_are_found) {
  static const char *const first[] = {"scale", "1", "degree", "1", NULL};
  static const char *const root[] = {"scale", "sqrt(2)", "degree", "1", NULL};
  static const char *const eps[] = {"scale", "1", "degree", "1", "eps", "1/2", NULL};
  double q[1] = {1}, k[4] = {-1.5, -0.5, -1.25, -0.75}, near[4] = {-1.5, -0.5, -1.25, -0.75000001};
  ck_assert_int_eq(vanishes("taylor", first, q, k, 4), 1);
  ck_assert_int_eq(vanishes("taylor", first, q, near, 4), 0);
  ck_assert_int_eq(vanishes("taylor", root, q, k, 4), 0);
  ck_assert_int_eq(vanishes("taylor", eps, q, k, 4), 0);
  double k2[1] = {-1.5};
  ck_assert_int_eq(vanishes("taylor", eps, q, k2, 1), 1);
  double roots[2] = {-1, -1}; /* 2 - 2 sqrt(2) is not 0; a root of T_2 does not exist */
  ck_assert_int_eq(vanishes("taylor", root, q, roots, 2), 0);
}
END_TEST

/* An exact zero of W: balls find the class, no tier gives a number. */
START_TEST(rows_without_a_value_are_nan_in_every_tier) {
  static const char *const first[] = {"scale", "1", "degree", "1", NULL};
  double q[1] = {1}, k[4] = {-1.5, -0.5, -1.25, -0.75}, v[4] = {1, 2, 3, 4};
  attest_error error;
  problem_slice slice;
  void *work;
  taylor_cells cells;
  room_balls balls;
  double hi, lo, radius;
  attest_problem *p = taylor_problem_of("taylor", first, q, k, v, 1, 4, 1, 1);
  problem_slice_get(&slice, p, 0);
  room_balls_init(&balls, 1);
  ck_assert_int_eq(taylor_ball(&balls, p, &slice, 0, OUTPUT_OUT, WANT_CONDITION, 128, &error),
                   ATTEST_OK);
  ck_assert_int_eq(balls.class[0], EXACT_NAN);
  ck_assert_int_eq(taylor_enclose_open(&work, p, &slice, WANT_CONDITION, &error), ATTEST_OK);
  taylor_cells_open(&cells, p);
  cells.block.rows = 1;
  taylor_enclose_rows(&cells.block, work, WANT_OUT | WANT_CONDITION);
  ck_assert_double_eq(cells.block.out.radius[0], INFINITY);
  ck_assert_double_eq(cells.block.reach[0], INFINITY);
  taylor_enclose_dd(&hi, &lo, &radius, work, 0, OUTPUT_OUT);
  ck_assert_double_eq(radius, INFINITY);
  taylor_enclose_close(work);
  taylor_cells_close(&cells);
  room_balls_clear(&balls);
  attest_problem_free(p);
}
END_TEST

void test_taylor_exact(Suite *suite) {
  TCase *tc = tcase_create("taylor exact");
  tcase_add_test(tc, rational_rows_are_decided);
  tcase_add_test(tc, irrational_scales_are_decided);
  tcase_add_test(tc, both_parts_of_an_irrational_sum_are_right);
  tcase_add_test(tc, decay_is_part_of_the_decision);
  tcase_add_test(tc, eps_and_no_normaliser_are_decided);
  tcase_add_test(tc, exponentials_are_decided_in_groups);
  tcase_add_test(tc, normalisers_that_vanish_are_found);
  tcase_add_test(tc, rows_without_a_value_are_nan_in_every_tier);
  suite_add_tcase(suite, tc);
}
