/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Values: exact arithmetic in number fields against balls of many bits, and what becomes a ball. */
#include "../../src/enclosure/roots.h"
#include "../../src/enclosure/value.h"
#include "../tests.h"

enum { PREC = 200 };

/* A random rational, or an element of Q(sqrt n) or of Q(cube root of 2). */
static void random_value(value *v, uint64_t *state) {
  value_set_si(v, 0);
  fmpq_set_si(v->rational, (slong)(tests_random(state) % 19) - 9, 1 + tests_random(state) % 7);
  int kind = (int)(tests_random(state) % 3);
  if (kind == 0) return;
  value root, factor;
  value_init(&root);
  value_init(&factor);
  if (kind == 1) {
    value_set_si(&root, 2 + (slong)(tests_random(state) % 3));
    value_sqrt(&root, &root, PREC, NULL);
  } else {
    fmpz_poly_t f;
    arb_t x;
    fmpz_poly_init(f);
    arb_init(x);
    fmpz_poly_set_coeff_si(f, 3, 1);
    fmpz_poly_set_coeff_si(f, 0, -2);
    arb_set_str(x, "1.25 +/- 0.125", 64);
    value_set_zero(&root, f, x, 0, PREC);
    fmpz_poly_clear(f);
    arb_clear(x);
  }
  value_set_si(&factor, (slong)(tests_random(state) % 9) - 4);
  value_mul(&root, &root, &factor, PREC);
  value_add(v, v, &root, PREC);
  value_clear(&root);
  value_clear(&factor);
}

static void same_in_balls(const value *result, const value *a, const value *b, char operator) {
  arb_t x, y, z;
  arb_init(x);
  arb_init(y);
  arb_init(z);
  value_get_ball(x, a, PREC);
  value_get_ball(y, b, PREC);
  value_get_ball(z, result, PREC);
  if (operator== '+')
    arb_add(x, x, y, PREC);
  else if (operator== '-')
    arb_sub(x, x, y, PREC);
  else if (operator== '*')
    arb_mul(x, x, y, PREC);
  else
    arb_div(x, x, y, PREC);
  ck_assert(arb_overlaps(x, z));
  ck_assert(result->kind != VALUE_RATIONAL || arb_contains_fmpq(x, result->rational));
  arb_clear(x);
  arb_clear(y);
  arb_clear(z);
}

START_TEST(exact_arithmetic_agrees_with_balls) {
  uint64_t state = tests_seed();
  value a, b, r;
  value_init(&a);
  value_init(&b);
  value_init(&r);
  for (int i = 0; i < 2000; i++) {
    random_value(&a, &state);
    random_value(&b, &state);
    value_add(&r, &a, &b, PREC);
    same_in_balls(&r, &a, &b, '+');
    value_sub(&r, &a, &b, PREC);
    same_in_balls(&r, &a, &b, '-');
    value_mul(&r, &a, &b, PREC);
    same_in_balls(&r, &a, &b, '*');
    attest_status status = value_div(&r, &a, &b, PREC, NULL);
    ck_assert_int_eq(status != ATTEST_OK, value_sign(&b) == 0);
    if (!status) same_in_balls(&r, &a, &b, '/');
    /* exactness: (a / b) b = a where all is in one field */
    if (!status && r.kind != VALUE_BALL) {
      value_mul(&r, &r, &b, PREC);
      ck_assert(r.kind == VALUE_BALL || value_compare(&r, &a, PREC) == 0);
    }
  }
  value_clear(&a);
  value_clear(&b);
  value_clear(&r);
}
END_TEST

/* Conjugates have the same polynomial and are different numbers. */
START_TEST(the_zeros_of_one_polynomial_are_told_apart) {
  fmpz_poly_t f;
  arb_t x;
  value zero[3], r;
  fmpz_poly_init(f);
  arb_init(x);
  value_init(&r);
  fmpz_poly_set_str(f, "4  1 -3 0 1"); /* t^3 - 3 t + 1: three real zeros */
  static const char *const isolating[] = {"-1.75 +/- 0.25", "0.5 +/- 0.5", "1.625 +/- 0.375"};
  for (int i = 0; i < 3; i++) {
    value_init(&zero[i]);
    arb_set_str(x, isolating[i], 64);
    value_set_zero(&zero[i], f, x, 0, PREC);
    ck_assert_int_eq(zero[i].kind, VALUE_ALGEBRAIC);
  }
  ck_assert_int_eq(value_compare(&zero[0], &zero[1], 64), -1);
  ck_assert_int_eq(value_compare(&zero[2], &zero[1], 64), 1);
  ck_assert_int_eq(value_compare(&zero[1], &zero[1], 64), 0);
  arb_set_str(x, "0.375 +/- 0.25", 64); /* the second one again, isolated otherwise */
  value_set_zero(&r, f, x, 0, PREC);
  ck_assert_int_eq(value_compare(&zero[1], &r, 64), 0);
  /* isolating intervals that overlap, of different zeros: [-0.45, 1.35] and [1.25, 2] */
  arb_set_str(x, "0.45 +/- 0.9", 64);
  value_set_zero(&zero[0], f, x, 0, PREC);
  arb_set_str(x, "1.625 +/- 0.375", 64);
  value_set_zero(&zero[1], f, x, 0, PREC);
  value_sub(&r, &zero[0], &zero[1], PREC);
  ck_assert_int_eq(value_sign(&r), -1);
  for (int i = 0; i < 3; i++)
    value_clear(&zero[i]);
  value_clear(&r);
  fmpz_poly_clear(f);
  arb_clear(x);
}
END_TEST

/* (t - 3)(t^2 - 2): the zero at 3 is rational, that at sqrt(2) is in Q(sqrt 2). */
START_TEST(zeros_of_reducible_polynomials_are_what_they_are) {
  fmpz_poly_t f;
  arb_t x;
  value v, square;
  fmpz_poly_init(f);
  arb_init(x);
  value_init(&v);
  value_init(&square);
  fmpz_poly_set_str(f, "4  6 -2 -3 1");
  arb_set_str(x, "3.125 +/- 0.25", 64);
  value_set_zero(&v, f, x, 0, PREC);
  ck_assert(v.kind == VALUE_RATIONAL && fmpz_equal_si(fmpq_numref(v.rational), 3));
  arb_set_str(x, "1.5 +/- 0.25", 64);
  value_set_zero(&v, f, x, 0, PREC);
  ck_assert_int_eq(v.kind, VALUE_ALGEBRAIC);
  value_mul(&square, &v, &v, PREC);
  ck_assert(square.kind == VALUE_RATIONAL && fmpz_equal_si(fmpq_numref(square.rational), 2));
  value_clear(&v);
  value_clear(&square);
  fmpz_poly_clear(f);
  arb_clear(x);
}
END_TEST

START_TEST(floors_are_exact_beside_integers) {
  value v, small, floor;
  value_init(&v);
  value_init(&small);
  value_init(&floor);
  for (int side = -1; side <= 1; side++) {
    /* 5 + side 10^-40 sqrt(2) */
    value_set_si(&v, 2);
    value_sqrt(&v, &v, 64, NULL);
    value_set_si(&small, side);
    fmpz_ui_pow_ui(fmpq_denref(small.rational), 10, 40);
    fmpq_canonicalise(small.rational);
    value_mul(&v, &v, &small, 64);
    value_set_si(&small, 5);
    value_add(&v, &v, &small, 64);
    value_floor(&floor, &v, 64);
    ck_assert(floor.kind == VALUE_RATIONAL &&
              fmpz_equal_si(fmpq_numref(floor.rational), side < 0 ? 4 : 5));
  }
  value_clear(&v);
  value_clear(&small);
  value_clear(&floor);
}
END_TEST

/* The zero stays inside, and the width falls. */
START_TEST(refinement_keeps_the_zero) {
  uint64_t state = tests_seed();
  fmpz_poly_t f;
  arb_t x, before;
  fmpz_poly_init(f);
  arb_init(x);
  arb_init(before);
  for (int i = 0; i < 60; i++) {
    fmpz_poly_zero(f);
    for (slong k = 0; k <= 6; k++)
      fmpz_poly_set_coeff_si(f, k, (slong)(tests_random(&state) % 41) - 20);
    fmpz_poly_t derivative;
    fmpz_poly_init(derivative);
    fmpz_poly_derivative(derivative, f);
    fmpz_poly_gcd(derivative, f, derivative);
    int squarefree = fmpz_poly_degree(f) > 0 && fmpz_poly_degree(derivative) == 0;
    fmpz_poly_clear(derivative);
    if (!squarefree) continue;
    arb_ptr zeros;
    slong count = roots_real(&zeros, f, 40);
    ck_assert_int_eq(count, fmpz_poly_num_real_roots_sturm(f));
    for (slong k = 0; k < count; k++) {
      arb_set(before, zeros + k);
      roots_refine(zeros + k, f, 500);
      ck_assert(arb_contains(before, zeros + k));
      ck_assert(arb_rel_accuracy_bits(zeros + k) >= 490 || arb_contains_zero(zeros + k) ||
                arb_is_exact(zeros + k));
      ck_assert(roots_sign(f, zeros + k, 600) == 2 || roots_sign(f, zeros + k, 600) == 0);
      if (k > 0) ck_assert(arb_lt(zeros + k - 1, zeros + k));
    }
    if (count) _arb_vec_clear(zeros, count);
  }
  fmpz_poly_clear(f);
  arb_clear(x);
  arb_clear(before);
}
END_TEST

void test_value(Suite *suite) {
  TCase *all = tcase_create("values");
  tcase_add_test(all, exact_arithmetic_agrees_with_balls);
  tcase_add_test(all, the_zeros_of_one_polynomial_are_told_apart);
  tcase_add_test(all, zeros_of_reducible_polynomials_are_what_they_are);
  tcase_add_test(all, floors_are_exact_beside_integers);
  tcase_add_test(all, refinement_keeps_the_zero);
  suite_add_tcase(suite, all);
}
