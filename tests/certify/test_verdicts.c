/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Verdict rules of elements on a room of rationals (fake.h). */
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

/* Bounds that miss the error |got - 1/3| by 2^-bits on either side. */
static void check_both_sides(float got, unsigned bits) {
  float out[FAKE_WIDTH] = {got, 1, 1, 1};
  char bound[8000];
  fmpq_t limit, step, exact;
  fmpq_init(limit);
  fmpq_init(step);
  fmpq_init(exact);
  fake.exact[0][0] = "1/3";
  for (int side = -1; side <= 1; side += 2) {
    fmpq_set_si(limit, 1, 3);
    fmpq_set_si(exact, (slong)(got * 0x1p60f), WORD(1) << 60);
    fmpq_sub(limit, limit, exact);
    fmpq_set_si(step, side, 1);
    fmpq_div_2exp(step, step, bits);
    fmpq_add(limit, limit, step);
    char *text = fmpq_get_str(NULL, 10, limit);
    snprintf(bound, sizeof bound, "abs<=%s", text);
    flint_free(text);
    ck_assert_int_eq(fake_verdict(out, 1, bound), side > 0 ? ATTEST_CERTIFIED : ATTEST_REFUTED);
  }
  fmpq_clear(limit);
  fmpq_clear(step);
  fmpq_clear(exact);
}

#define ZEROS_40 "0000000000000000000000000000000000000000"
#define NINES_40 "9999999999999999999999999999999999999999"

/* The error is a double, 1/4, and the ball of a bound close by reaches over it to both neighbours.
 */
START_TEST(a_bound_next_to_an_error_that_is_a_double_is_not_rounded_past_it) {
  float out[FAKE_WIDTH] = {0.25f, 1, 1, 1};
  fake_reset();
  fake.exact[0][0] = "1/2";
  ck_assert_int_eq(fake_verdict(out, 1, "abs<=0.25" ZEROS_40 ZEROS_40 "1"), ATTEST_CERTIFIED);
  ck_assert_int_eq(fake_verdict(out, 1, "abs<=0.25" ZEROS_40 ZEROS_40), ATTEST_CERTIFIED);
  ck_assert_int_eq(fake_verdict(out, 1, "abs<=0.24" NINES_40 NINES_40), ATTEST_REFUTED);
}
END_TEST

/* got = 1/4, x = 1/4 + 2^-1072/3: the distance is between two subnormals, which are far apart. */
START_TEST(an_error_among_subnormals_may_equal_the_bound) {
  float out[FAKE_WIDTH] = {0.25f, 1, 1, 1};
  fmpq_t error, x;
  fmpq_init(error);
  fmpq_init(x);
  fmpq_set_si(error, 1, 3);
  fmpq_div_2exp(error, error, 1072);
  fmpq_set_si(x, 1, 4);
  fmpq_add(x, x, error);
  char *exact = fmpq_get_str(NULL, 10, x), *limit = fmpq_get_str(NULL, 10, error), bound[1000];
  snprintf(bound, sizeof bound, "abs<=%s", limit);
  fake_reset();
  fake.exact[0][0] = exact;
  ck_assert_int_eq(fake_verdict(out, 1, bound), ATTEST_CERTIFIED);
  flint_free(exact);
  flint_free(limit);
  fmpq_clear(error);
  fmpq_clear(x);
}
END_TEST

/* No tie, and balls of any precision it takes decide, beyond what is allowed where no exact
 * decision exists. */
START_TEST(a_bound_next_to_the_error_is_decided_by_precision) {
  fake_reset();
  check_both_sides(0.25f, 2000);
  check_both_sides(0.25f, 6000);
}
END_TEST

/* got - x is no double here: its rounding error counts at 2^-70. */
START_TEST(distances_are_exact_in_double_double) {
  fake_reset();
  for (unsigned bits = 50; bits < 104; bits += 6)
    check_both_sides(0x1.23456p-40f, bits);
  ck_assert_int_gt(fake.dd_rows, 0);
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
  certify_case result;
  fake_reset();
  fake.exact[0][0] = "0";
  ck_assert_int_eq(fake_verdict(out, 1, "rel<=0"), ATTEST_CERTIFIED);
  out[0] = 0x1p-149f;
  const certify_output *o = fake_check(&result, out, 1, "rel<=1000");
  ck_assert_int_eq(o->verdict, ATTEST_REFUTED);
  ck_assert(isinf(o->error[MEASURE_REL].lo));
  ck_assert_int_gt(o->tiers[TIER_EXACT], 0);
  certify_case_clear(&result);
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

START_TEST(what_is_not_finite_is_not_the_largest_of_its_row) {
  float out[FAKE_WIDTH] = {NAN, 1, 1, 1.5f};
  fake_reset();
  fake.class[0][0] = EXACT_NAN;
  fake.exact[0][0] = "1000";
  ck_assert_int_eq(fake_verdict(out, 1, "row<=0.25"), ATTEST_REFUTED);
  ck_assert_int_eq(fake_verdict(out, 1, "row<=0.5"), ATTEST_CERTIFIED);
}
END_TEST

/* Row 0 has the larger errors, so that nothing but its class makes row 1 worth a look. */
START_TEST(a_number_where_nan_is_prescribed_is_not_passed_over) {
  float out[2 * FAKE_WIDTH] = {1.5f, 1.5f, 1.5f, 1.5f, 1, 1, 1, 1};
  fake_reset();
  fake.class[1][2] = EXACT_NAN;
  ck_assert_int_eq(fake_verdict(out, 2, "abs<=1"), ATTEST_REFUTED);
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
  /* A sum has no exact tier. */
  ck_assert_int_eq(fake_verdict(out, 1, "nmse<=1"), ATTEST_UNDECIDED);
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

/* |got - x| = 2^-23 - 1e-9 against A = 1: 1.98 units with S = 0, half that with S of the second
 * pass. */
START_TEST(the_second_pass_tightens_the_sensitivity) {
  float out[FAKE_WIDTH] = {1 + 0x1p-23f, 1, 1, 1};
  certify_case result;
  fake_reset();
  fake.s = 1;
  fake.exact[0][0] = "1000000001/1000000000";
  const certify_output *o = fake_check(&result, out, 1, "backward<=1");
  ck_assert_int_eq(o->verdict, ATTEST_CERTIFIED);
  ck_assert_int_gt(fake.sensitivities, 0);
  ck_assert_int_le(fake.ball_rows, 1); /* of the worst element */
  ck_assert_double_le(o->error[MEASURE_BACKWARD].hi, 1);
  ck_assert_double_gt(o->error[MEASURE_BACKWARD].hi, 0.99);
  certify_case_clear(&result);
  ck_assert_int_eq(fake_verdict(out, 1, "backward<=0.99"), ATTEST_REFUTED);
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

/* Row 0 has the larger errors, but S, which the explicit form does without, must not hide row 1. */
START_TEST(the_quick_pass_knows_explicit_rows) {
  float out[2 * FAKE_WIDTH] = {1.5f, 1.5f, 1.5f, 1.5f, 1, 1, 1.25f, 1};
  certify_case result;
  fake_reset();
  fake.reach = INFINITY;
  fake.s = fake.s_loose = 1e9;
  fake.a0 = 1e9;
  fake.explicit_value = (measure_interval){50, 60};
  const certify_output *o = fake_check(&result, out, 2, "backward<=40");
  ck_assert_int_eq(o->verdict, ATTEST_REFUTED);
  ck_assert_int_eq(o->worst_index[1], 1);
  ck_assert_int_eq(o->worst_index[2], 2);
  certify_case_clear(&result);
}
END_TEST

/* The double tier straddles the bound of the quotient without scores: the next tier decides, though
 * row 0 has the largest error. */
START_TEST(explicit_rows_climb_to_know_the_quotient) {
  float out[2 * FAKE_WIDTH] = {1.5f, 1, 1, 1, 1, 1, 1, 1};
  certify_case result;
  fake_reset();
  fake.reach = INFINITY;
  fake.radius = 0x1p-22;
  fake.exact[1][0] = "1000000030/1000000000"; /* about half a unit */
  fake.explicit_value = (measure_interval){50, 60};
  const certify_output *o = fake_check(&result, out, 2, "backward<=1");
  ck_assert_int_eq(o->refuted, 1);
  ck_assert_int_eq(o->undecided, 0);
  ck_assert_int_eq(fake.explicit_calls, 1);
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

void test_verdicts(Suite *suite) {
  TCase *t = tcase_create("verdicts");
  tcase_add_test(t, an_error_that_equals_the_bound_is_certified);
  tcase_add_test(t, a_bound_next_to_the_error_is_decided_by_precision);
  tcase_add_test(t, a_bound_next_to_an_error_that_is_a_double_is_not_rounded_past_it);
  tcase_add_test(t, an_error_among_subnormals_may_equal_the_bound);
  tcase_add_test(t, distances_are_exact_in_double_double);
  tcase_add_test(t, a_tie_that_nobody_can_decide_is_undecided);
  tcase_add_test(t, row_ties_involve_the_largest_element);
  tcase_add_test(t, exact_zero_is_recognised);
  tcase_add_test(t, a_power_of_two_has_the_larger_ulp);
  tcase_add_test(t, prescribed_values_must_be_met);
  tcase_add_test(t, what_is_not_finite_is_not_the_largest_of_its_row);
  tcase_add_test(t, a_number_where_nan_is_prescribed_is_not_passed_over);
  tcase_add_test(t, nan_and_infinity_are_refuted_by_every_bound);
  tcase_add_test(t, infinity_counts_where_the_exact_value_overflows);
  tcase_add_test(t, infinite_radii_climb_to_balls);
  tcase_add_test(t, rooms_without_double_double_go_on_to_balls);
  tcase_add_test(t, the_second_pass_tightens_the_sensitivity);
  tcase_add_test(t, far_from_first_order_the_explicit_form_decides);
  tcase_add_test(t, moving_the_values_alone_needs_no_explicit_form);
  tcase_add_test(t, the_quick_pass_knows_explicit_rows);
  tcase_add_test(t, explicit_rows_climb_to_know_the_quotient);
  tcase_add_test(t, an_infinite_theory_bound_claims_nothing);
  suite_add_tcase(suite, t);
}
