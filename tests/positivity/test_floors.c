/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Zeros and minima of partial sums of exp. Independent routes: FLINT's own counts of real zeros
 * (subresultants, continued fractions), the sign of T_P on both sides, the definition. */
#include "../../src/enclosure/roots.h"
#include "../../src/positivity/positivity.h"
#include "../tests.h"

START_TEST(zero_counts_agree_with_flint) {
  fmpz_poly_t f;
  fmpz_poly_init(f);
  for (ulong order = 0; order <= 45; order++) {
    positivity_polynomial(f, order);
    ck_assert_int_eq(positivity_zeros(order, NULL, NULL), fmpz_poly_num_real_roots_sturm(f));
  }
  fmpz_poly_clear(f);
}
END_TEST

START_TEST(odd_orders_to_999_have_one_zero_and_even_ones_none) {
  for (ulong order = 0; order < 1000; order++)
    ck_assert_int_eq(positivity_zeros(order, NULL, NULL), order % 2);
}
END_TEST

/* The one zero of an odd order is in (-P, -1] and nowhere else; at the ends the count is that of a
 * half-open interval. */
START_TEST(zeros_lie_between_minus_the_order_and_minus_one) {
  fmpq_t low, high, just_below;
  fmpq_init(low);
  fmpq_init(high);
  fmpq_init(just_below);
  fmpq_set_si(high, -1, 1);
  fmpq_set_si(just_below, -1001, 1000);
  for (ulong order = 1; order < 200; order += 2) {
    fmpq_set_si(low, -(slong)order - (order == 1), 1);
    ck_assert_int_eq(positivity_zeros(order, low, high), 1);
    ck_assert_int_eq(positivity_zeros(order, NULL, low), 0);
    ck_assert_int_eq(positivity_zeros(order, high, NULL), 0);
    ck_assert_int_eq(positivity_zeros(order, just_below, high), order == 1);
  }
  fmpq_clear(low);
  fmpq_clear(high);
  fmpq_clear(just_below);
}
END_TEST

/* The enclosure of the argmin is right: T_{P-1} has opposite exact signs at its two ends. */
START_TEST(argmins_of_every_even_order_to_200_are_bracketed) {
  value t;
  arb_t x, end;
  fmpz_poly_t f;
  arf_t point;
  value_init(&t);
  arb_init(x);
  arb_init(end);
  fmpz_poly_init(f);
  arf_init(point);
  for (ulong order = 4 + 2 * (ulong)_i; order <= 200; order += 6) {
    positivity_argmin(&t, order, 100);
    value_get_ball(x, &t, 100);
    ck_assert_int_ge(arb_rel_accuracy_bits(x), 95);
    positivity_polynomial(f, order - 1);
    arb_get_lbound_arf(point, x, 200);
    arb_set_arf(end, point);
    ck_assert_int_eq(roots_sign(f, end, 1 << 17), -1);
    arb_get_ubound_arf(point, x, 200);
    arb_set_arf(end, point);
    ck_assert_int_eq(roots_sign(f, end, 1 << 17), 1);
  }
  value_clear(&t);
  arb_clear(x);
  arb_clear(end);
  fmpz_poly_clear(f);
  arf_clear(point);
}
END_TEST

/* T_P at an exact point near the argmin is not below the floor, and hardly above. */
START_TEST(floors_to_200_are_the_minimum_and_decrease) {
  value t, floor, last, near;
  arb_t x, difference;
  value_init(&t);
  value_init(&floor);
  value_init(&last);
  value_init(&near);
  arb_init(x);
  arb_init(difference);
  value_set_si(&last, 1);
  for (ulong order = 2; order <= 200; order += 2) {
    positivity_min(&floor, order, 200);
    ck_assert_int_eq(value_compare(&floor, &last, 200), -1);
    ck_assert_int_eq(value_sign(&floor), 1);
    positivity_argmin(&t, order, 200);
    for (slong step = -1; step <= 1; step += 2) {
      value_get_ball(x, &t, 200);
      arb_get_mid_arb(x, x);
      arb_set_si(difference, step);
      arb_mul_2exp_si(difference, difference, -20);
      arb_add(x, x, difference, 400);
      value_set_ball(&near, x);
      positivity_taylor(&near, order, &near, 2000);
      ck_assert_int_eq(value_compare(&near, &floor, 200), 1);
      value_sub(&near, &near, &floor, 200);
      value_get_ball(x, &near, 200);
      ck_assert_double_lt(arf_get_d(arb_midref(x), ARF_RND_UP), 0x1p-38);
    }
    value_set(&last, &floor);
  }
  value_clear(&t);
  value_clear(&floor);
  value_clear(&last);
  value_clear(&near);
  arb_clear(x);
  arb_clear(difference);
}
END_TEST

START_TEST(the_floor_of_order_two_is_exactly_one_half_at_minus_one) {
  value v;
  value_init(&v);
  positivity_min(&v, 2, 64);
  ck_assert_int_eq(v.kind, VALUE_RATIONAL);
  ck_assert(fmpz_is_one(fmpq_numref(v.rational)) && fmpz_equal_si(fmpq_denref(v.rational), 2));
  positivity_argmin(&v, 2, 64);
  ck_assert_int_eq(v.kind, VALUE_RATIONAL);
  ck_assert(fmpz_equal_si(fmpq_numref(v.rational), -1) && fmpz_is_one(fmpq_denref(v.rational)));
  value_clear(&v);
}
END_TEST

/* Wide balls give an enclosure of the whole range. */
START_TEST(taylor_of_a_ball_contains_taylor_of_its_points) {
  uint64_t state = tests_seed();
  value wide, point, image;
  arb_t x, y;
  value_init(&wide);
  value_init(&point);
  value_init(&image);
  arb_init(x);
  arb_init(y);
  for (int i = 0; i < 300; i++) {
    ulong order = tests_random(&state) % 12;
    double middle = 20 * tests_uniform(&state) - 10, radius = tests_uniform(&state);
    arb_set_d(x, middle);
    mag_set_d(arb_radref(x), radius);
    value_set_ball(&wide, x);
    positivity_taylor(&image, order, &wide, 80);
    value_get_ball(y, &image, 80);
    for (int k = -4; k <= 4; k++) {
      value_set_si(&point, 0);
      arf_t end;
      arf_init(end);
      arf_set_d(end, middle + radius * k / 4.0001);
      arf_get_fmpq(point.rational, end);
      arf_clear(end);
      positivity_taylor(&point, order, &point, 80);
      ck_assert(arb_contains_fmpq(y, point.rational));
    }
  }
  value_clear(&wide);
  value_clear(&point);
  value_clear(&image);
  arb_clear(x);
  arb_clear(y);
}
END_TEST

void test_floors(Suite *suite) {
  TCase *zeros = tcase_create("zeros");
  tcase_add_test(zeros, zero_counts_agree_with_flint);
  tcase_add_test(zeros, odd_orders_to_999_have_one_zero_and_even_ones_none);
  tcase_add_test(zeros, zeros_lie_between_minus_the_order_and_minus_one);
  suite_add_tcase(suite, zeros);
  TCase *minima = tcase_create("minima");
  tcase_add_loop_test(minima, argmins_of_every_even_order_to_200_are_bracketed, 0, 3);
  tcase_add_test(minima, floors_to_200_are_the_minimum_and_decrease);
  tcase_add_test(minima, the_floor_of_order_two_is_exactly_one_half_at_minus_one);
  tcase_add_test(minima, taylor_of_a_ball_contains_taylor_of_its_points);
  suite_add_tcase(suite, minima);
}
