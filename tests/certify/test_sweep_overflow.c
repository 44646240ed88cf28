/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Sweeps where results leave the floats: overflow, underflow, infinities, special inputs. */
#include <float.h>
#include <math.h>

#include "fixture_sweep.h"

/* ---- functions under test ---- */

static float flushes(float x) {
  float y = sweep_nearest_exp(x);
  return y < FLT_MIN ? 0 : y;
}

static float saturates(float x) {
  float y = sweep_nearest_exp(x);
  return isinf(y) ? FLT_MAX : y;
}

/* Just below 2^128 rounds to infinity, and is off by less than a unit there; at 2^128 it is right.
 */
static float nan_past_overflow(float x) {
  return x > 128 && x < 128.25f ? NAN : (float)exp2((double)x);
}

static float minus_inf_past_overflow(float x) {
  return x > 128 && x < 128.25f ? -INFINITY : (float)exp2((double)x);
}

static float nan_at_one_reciprocal(float x) {
  return x == 0x1.00002p-128f ? NAN : 1 / x;
}

/* 0 is off by exactly 1 relative, -1 beyond e^90 by a little more. */
static float negative_from_90(float x) {
  return x >= 90 ? -1 : x == 80 ? 0 : (float)exp((double)x);
}

static float saturated_gaussian(float x) {
  double y = exp((double)x / -2);
  return isinf((float)y) ? FLT_MAX : (float)y;
}

static float minus_inf_for_tiny(float x) {
  return x < -750 ? -INFINITY : sweep_nearest_exp(x);
}

static float infinity_at_zero(float x) {
  return x == 0 ? INFINITY : logf(x);
}

/* ---- infinities ---- */

/* At 2^128 doubles do not tell whether infinity is right: it must not pass for the largest error.
 */
START_TEST(a_right_infinity_hides_no_wrong_result) {
  static const struct {
    const char *name;
    sweep_fake *f;
    float from, to, at;
    uint64_t wrong;
  } all[] = {{"exp2", nan_past_overflow, 127.9f, 128.5f, 0x1.000002p+7f, 16383},
             {"exp2", minus_inf_past_overflow, 127.9f, 128.5f, 0x1.000002p+7f, 16383},
             {"reciprocal", nan_at_one_reciprocal, 0x1.ffp-129f, 0x1.01p-128f, 0x1.00002p-128f, 1}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    sweep_result r;
    sweep_fixture_run(&r, all[i].name, all[i].f, all[i].from, all[i].to, "ulp<=1");
    ck_assert_int_eq(r.verdict, ATTEST_REFUTED);
    for (int k = 0; k < PEAK_COUNT; k++) {
      ck_assert(isinf(r.error[k].lo) && r.error[k].is_refined);
      ck_assert_msg(sweep_float(r.error[k].key) == all[i].at, "%s: infinite at %a", all[i].name,
                    (double)sweep_float(r.error[k].key));
    }
    ck_assert_uint_eq(r.total.bins[SWEEP_BIN_INFINITE], all[i].wrong);
    sweep_result_clear(&r);
  }
}
END_TEST

/* Results where the exact value is beyond all floats count like others: few, so many that they are
 * not all tried in balls, and beyond what a double holds. */
START_TEST(errors_beyond_overflow_are_found) {
  static const struct {
    const char *name;
    sweep_fake *f;
    float from, to;
    const char *bound;
    float at;
    uint64_t wrong_sign;
  } all[] = {{"exp", negative_from_90, 79.999f, 90.01f, "rel<=1", 90, 1312},
             {"exp", negative_from_90, 89.9f, 90.01f, "rel<=1", 90, 1312},
             {"exp", negative_from_90, 89.9f, 95, "rel<=1", 90, 655361},
             {"exp", negative_from_90, 708.9f, 709.5f, "abs<=1e308", 709.5f, 9831},
             {"exp", negative_from_90, 708.9f, 709.2f, "ulp<=16777216", 0x1.628b76p+9f, 4916},
             {"gaussian", saturated_gaussian, -1500, -1400, "abs<=1e308", -1500, 0}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    sweep_result r;
    sweep_fixture_run(&r, all[i].name, all[i].f, all[i].from, all[i].to, all[i].bound);
    const sweep_error *e = &r.error[r.bounds[0].kind];
    ck_assert_msg(r.verdict == (i == 4 ? ATTEST_CERTIFIED : ATTEST_REFUTED), "%s from %a",
                  all[i].name, (double)all[i].from);
    ck_assert_msg(sweep_float(e->key) == all[i].at, "%a", (double)sweep_float(e->key));
    ck_assert_uint_eq(r.total.wrong_sign, all[i].wrong_sign);
    ck_assert_uint_lt(r.total.balls, 10);
    sweep_result_clear(&r);
  }
}
END_TEST

START_TEST(infinities_of_the_wrong_sign_are_counted) {
  sweep_result r;
  sweep_fixture_run(&r, "exp", minus_inf_for_tiny, -751, -749.9f, "ulp<=1");
  ck_assert_uint_eq(r.total.wrong_sign, 16384);
  sweep_result_clear(&r);
  sweep_fixture_run(&r, "log", infinity_at_zero, -0.0f, 1e-44f, "ulp<=1");
  ck_assert_uint_eq(r.total.wrong_sign, 2);
  sweep_result_clear(&r);
}
END_TEST

START_TEST(overflow_and_underflow_by_the_rules) {
  sweep_result r;
  /* A correct overflow is no error; subnormal results count in units of 2^-149. */
  sweep_fixture_run(&r, "exp", sweep_nearest_exp, 88, 90.5f, "ulp<=0.5000001");
  ck_assert_int_eq(r.verdict, ATTEST_CERTIFIED);
  sweep_result_clear(&r);
  sweep_fixture_run(&r, "exp", sweep_nearest_exp, -106, -86, "ulp<=0.5000001");
  ck_assert_int_eq(r.verdict, ATTEST_CERTIFIED);
  sweep_result_clear(&r);
  /* The largest result that is subnormal, 0x1.ffff98p-127, is 8388582 units. */
  sweep_fixture_run(&r, "exp", flushes, -90, -86, "ulp<=8388581");
  ck_assert_int_eq(r.verdict, ATTEST_REFUTED);
  ck_assert(r.error[PEAK_ULP].lo > 8388570 && r.error[PEAK_ULP].hi < 8388590);
  ck_assert(r.error[PEAK_REL].lo == 1);
  sweep_result_clear(&r);
  sweep_fixture_run(&r, "exp", saturates, 88, 89.5f, "ulp<=1000");
  ck_assert_int_eq(r.verdict, ATTEST_REFUTED);
  sweep_result_clear(&r);
}
END_TEST

static float power8(float x) {
  double y = 1;
  for (int m = 8; m >= 1; m--)
    y = y * (double)x / m + 1;
  return (float)y;
}

/* Most inputs near the overflow of T_8 give infinity: neither they nor NaN take balls. */
START_TEST(masses_of_infinities_are_decided_in_double) {
  sweep_result r;
  sweep_fixture_run(&r, "taylor8", power8, 246600, 246800, "ulp<=0.5000001");
  ck_assert_int_eq(r.verdict, ATTEST_CERTIFIED);
  ck_assert(r.total.bins[0] > 100 && r.total.balls < 50);
  ck_assert(r.error[PEAK_ABS].is_refined && r.error[PEAK_ABS].hi < 0x1p103 * 1.001);
  sweep_result_clear(&r);
}
END_TEST

START_TEST(special_inputs_are_prescribed) {
  sweep_result r;
  sweep_fixture_run(&r, "log", logf, -0x1p-140f, 0x1p-149f, "ulp<=1");
  ck_assert_int_eq(r.verdict, ATTEST_CERTIFIED); /* NaN below 0, -infinity at both zeros */
  sweep_result_clear(&r);
  sweep_fixture_run(&r, "exp", logf, -INFINITY, -INFINITY, "ulp<=1");
  ck_assert_int_eq(r.verdict, ATTEST_REFUTED); /* NaN for 0 */
  sweep_result_clear(&r);
  sweep_fixture_run(&r, "sin", sinf, INFINITY, INFINITY, "ulp<=1");
  ck_assert_int_eq(r.verdict, ATTEST_CERTIFIED);
  sweep_result_clear(&r);
}
END_TEST

void test_sweep_overflow(Suite *suite) {
  TCase *c = tcase_create("sweep overflow");
  tcase_set_timeout(c, 60);
  tcase_add_test(c, a_right_infinity_hides_no_wrong_result);
  tcase_add_test(c, errors_beyond_overflow_are_found);
  tcase_add_test(c, infinities_of_the_wrong_sign_are_counted);
  tcase_add_test(c, overflow_and_underflow_by_the_rules);
  tcase_add_test(c, masses_of_infinities_are_decided_in_double);
  tcase_add_test(c, special_inputs_are_prescribed);
  suite_add_tcase(suite, c);
}
