/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "value.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

void value_init(value *v) {
  memset(v, 0, sizeof *v);
  fmpq_init(v->rational);
  fmpq_poly_init(v->algebraic);
  arb_init(v->ball);
}

static void release_items(value *v) {
  for (size_t i = 0; i < v->count; i++)
    value_clear(&v->items[i]);
  free(v->items);
  v->items = NULL;
  v->count = 0;
}

void value_clear(value *v) {
  release_items(v);
  value_field_release(v->field);
  fmpq_clear(v->rational);
  fmpq_poly_clear(v->algebraic);
  arb_clear(v->ball);
}

void value_swap(value *a, value *b) {
  value c = *a;
  *a = *b;
  *b = c;
}

/* Takes a new kind; what the old one held is given back. */
static void become(value *v, value_kind kind) {
  release_items(v);
  value_field_release(v->field);
  v->field = NULL;
  v->kind = kind;
}

void value_set(value *result, const value *v) {
  if (result == v) return;
  value copy;
  value_init(&copy);
  copy.kind = v->kind;
  copy.truth = v->truth;
  fmpq_set(copy.rational, v->rational);
  fmpq_poly_set(copy.algebraic, v->algebraic);
  arb_set(copy.ball, v->ball);
  if ((copy.field = v->field)) copy.field->users++;
  copy.items = v->count ? flint_calloc(v->count, sizeof *copy.items) : NULL;
  copy.count = v->count;
  for (size_t i = 0; i < v->count; i++) {
    value_init(&copy.items[i]);
    value_set(&copy.items[i], &v->items[i]);
  }
  value_swap(result, &copy);
  value_clear(&copy);
}

void value_set_si(value *result, slong n) {
  become(result, VALUE_RATIONAL);
  fmpq_set_si(result->rational, n, 1);
}

void value_set_fmpq(value *result, const fmpq_t q) {
  fmpq_set(result->rational, q);
  become(result, VALUE_RATIONAL);
}

void value_set_ball(value *result, const arb_t x) {
  arb_set(result->ball, x);
  become(result, VALUE_BALL);
}

void value_set_truth(value *result, int truth) {
  become(result, VALUE_TRUTH);
  result->truth = truth;
}

attest_status value_set_list(value *result, size_t n, attest_error *error) {
  value *items = calloc(n ? n : 1, sizeof *items);
  if (!items) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  become(result, VALUE_LIST);
  result->items = items;
  result->count = n;
  for (size_t i = 0; i < n; i++)
    value_init(&items[i]);
  return ATTEST_OK;
}

/* ---- looking ---- */

int value_is_number(const value *v) {
  return v->kind == VALUE_RATIONAL || v->kind == VALUE_ALGEBRAIC || v->kind == VALUE_BALL;
}

int value_get_fmpz(fmpz_t n, const value *v) {
  if (v->kind != VALUE_RATIONAL || !fmpz_is_one(fmpq_denref(v->rational))) return 0;
  fmpz_set(n, fmpq_numref(v->rational));
  return 1;
}

void value_get_ball(arb_t x, const value *v, slong prec) {
  if (v->kind == VALUE_RATIONAL)
    arb_set_fmpq(x, v->rational, prec);
  else if (v->kind == VALUE_ALGEBRAIC)
    value_algebraic_ball(x, v, prec);
  else
    arb_set(x, v->ball);
}

static int ball_sign(const arb_t x) {
  if (arb_is_zero(x)) return 0;
  return arb_is_positive(x) ? 1 : arb_is_negative(x) ? -1 : VALUE_UNKNOWN;
}

int value_sign(const value *v) {
  if (v->kind == VALUE_RATIONAL) return fmpq_sgn(v->rational);
  return v->kind == VALUE_ALGEBRAIC ? value_algebraic_sign(v) : ball_sign(v->ball);
}

int value_compare(const value *a, const value *b, slong prec) {
  value difference;
  value_init(&difference);
  value_sub(&difference, a, b, prec);
  int sign = value_sign(&difference);
  value_clear(&difference);
  return sign;
}

attest_status value_check_size(const value *v, attest_error *error) {
  int large = 0, small = 0;
  if (v->kind == VALUE_RATIONAL) {
    large = fmpz_bits(fmpq_numref(v->rational)) > VALUE_BITS_MAX;
    small = fmpz_bits(fmpq_denref(v->rational)) > VALUE_BITS_MAX;
  } else if (v->kind == VALUE_BALL && arb_is_finite(v->ball)) {
    large = arf_cmpabs_2exp_si(arb_midref(v->ball), VALUE_BITS_MAX) > 0;
    small = !arb_contains_zero(v->ball) &&
            arf_cmpabs_2exp_si(arb_midref(v->ball), -(slong)VALUE_BITS_MAX) < 0;
  }
  if (large)
    return attest_fail(error, ATTEST_ERR_INPUT, "the number is too large (above 10^%ld)",
                       (long)(VALUE_BITS_MAX * 0.30103));
  if (small)
    return attest_fail(error, ATTEST_ERR_INPUT, "the number is too close to 0 (below 10^-%ld)",
                       (long)(VALUE_BITS_MAX * 0.30103));
  return ATTEST_OK;
}

/* ---- arithmetic ---- */

typedef void ball_operation(arb_t, const arb_t, const arb_t, slong);

static void on_balls(value *result, const value *a, const value *b, ball_operation *operation,
                     slong prec) {
  arb_t x, y;
  arb_init(x);
  arb_init(y);
  value_get_ball(x, a, prec);
  value_get_ball(y, b, prec);
  operation(x, x, y, prec);
  value_set_ball(result, x);
  arb_clear(x);
  arb_clear(y);
}

/* The result of an exact operation; fractions with many bits are rounded to balls. */
static void finish_rational(value *result, const fmpq_t q, slong prec) {
  value_set_fmpq(result, q);
  value_normalize(result, prec);
}

static int is_rational(const value *a) {
  return a->kind == VALUE_RATIONAL;
}

/* Whether a + b or a b is an element of the field of one of them, and which one. */
static value_field *common_field(const value *a, const value *b) {
  if (a->kind == VALUE_BALL || b->kind == VALUE_BALL) return NULL;
  if (is_rational(a)) return b->field;
  if (is_rational(b)) return a->field;
  return value_same_field(a->field, b->field) ? a->field : NULL;
}

void value_neg(value *result, const value *a) {
  value_set(result, a);
  fmpq_neg(result->rational, result->rational);
  fmpq_poly_neg(result->algebraic, result->algebraic);
  arb_neg(result->ball, result->ball);
}

static void set_polynomial(fmpq_poly_t p, const value *a) {
  if (is_rational(a))
    fmpq_poly_set_fmpq(p, a->rational);
  else
    fmpq_poly_set(p, a->algebraic);
}

void value_add(value *result, const value *a, const value *b, slong prec) {
  value_field *field;
  if (is_rational(a) && is_rational(b)) {
    fmpq_t q;
    fmpq_init(q);
    fmpq_add(q, a->rational, b->rational);
    finish_rational(result, q, prec);
    fmpq_clear(q);
  } else if ((field = common_field(a, b))) {
    fmpq_poly_t p, q;
    fmpq_poly_init(p);
    fmpq_poly_init(q);
    set_polynomial(p, a);
    set_polynomial(q, b);
    fmpq_poly_add(p, p, q);
    fmpq_poly_clear(q);
    value_set_algebraic(result, field, p, prec);
  } else {
    on_balls(result, a, b, arb_add, prec);
  }
}

void value_sub(value *result, const value *a, const value *b, slong prec) {
  value minus;
  value_init(&minus);
  value_neg(&minus, b);
  value_add(result, a, &minus, prec);
  value_clear(&minus);
}

/* sqrt(m) sqrt(n) = sqrt(m n), for two square roots that share no field. */
static int multiply_roots(value *result, const value *a, const value *b, slong prec) {
  fmpq_t p, q;
  fmpq_init(p);
  fmpq_init(q);
  int roots = value_signed_square(p, a) && value_signed_square(q, b);
  if (roots) {
    fmpq_mul(p, p, q);
    int negative = fmpq_sgn(p) < 0;
    fmpq_abs(p, p);
    value_sqrt_fmpq(result, p, prec);
    if (negative) value_neg(result, result);
  }
  fmpq_clear(p);
  fmpq_clear(q);
  return roots;
}

static int is_exact_zero(const value *a) {
  return is_rational(a) && fmpq_is_zero(a->rational);
}

/* A ball without bounds may stand for what has no value, such as 1/t at t = 0: 0 times it is no 0.
 */
static int has_bounds(const value *a) {
  return a->kind != VALUE_BALL || arb_is_finite(a->ball);
}

void value_mul(value *result, const value *a, const value *b, slong prec) {
  if (is_rational(a) && is_rational(b)) {
    fmpq_t q;
    fmpq_init(q);
    fmpq_mul(q, a->rational, b->rational);
    finish_rational(result, q, prec);
    fmpq_clear(q);
  } else if (is_exact_zero(a) ? has_bounds(b) : is_exact_zero(b) && has_bounds(a)) {
    value_set_si(result, 0);
  } else if (common_field(a, b)) {
    value_algebraic_mul(result, a, b, prec);
  } else if (!multiply_roots(result, a, b, prec)) {
    on_balls(result, a, b, arb_mul, prec);
  }
}

attest_status value_div(value *result, const value *a, const value *b, slong prec,
                        attest_error *error) {
  if (value_sign(b) == 0) return attest_fail(error, ATTEST_ERR_INPUT, "division by zero");
  if (b->kind == VALUE_BALL) {
    on_balls(result, a, b, arb_div, prec);
    return ATTEST_OK;
  }
  value inverse;
  value_init(&inverse);
  if (is_rational(b)) {
    fmpq_inv(inverse.rational, b->rational);
    value_mul(result, a, &inverse, prec);
  } else {
    value_algebraic_inverse(&inverse, b, prec);
    value_mul(result, a, &inverse, prec);
  }
  value_clear(&inverse);
  return ATTEST_OK;
}

void value_abs(value *result, const value *a) {
  int sign = value_sign(a);
  if (sign == VALUE_UNKNOWN) {
    arb_t x;
    arb_init(x);
    arb_abs(x, a->ball);
    value_set_ball(result, x);
    arb_clear(x);
  } else if (sign < 0) {
    value_neg(result, a);
  } else {
    value_set(result, a);
  }
}

void value_floor(value *result, const value *a, slong prec) {
  fmpz_t n;
  fmpz_init(n);
  int known = 1;
  if (is_rational(a)) {
    fmpz_fdiv_q(n, fmpq_numref(a->rational), fmpq_denref(a->rational));
  } else {
    arb_t x, low;
    arb_init(x);
    arb_init(low);
    /* An algebraic number of degree above 1 is no integer: enough bits tell. */
    do {
      value_get_ball(x, a, prec);
      arb_floor(low, x, prec + 64);
      known = arb_is_finite(low) && arb_get_unique_fmpz(n, low);
      prec *= 2;
    } while (!known && a->kind == VALUE_ALGEBRAIC);
    if (!known) value_set_ball(result, low);
    arb_clear(x);
    arb_clear(low);
  }
  if (known) {
    value_set_si(result, 0);
    fmpq_set_fmpz(result->rational, n);
  }
  fmpz_clear(n);
}

void value_polynomial(value *result, const fmpq_poly_t p, const value *x, slong prec) {
  value sum, coefficient;
  value_init(&sum);
  value_init(&coefficient);
  for (slong i = fmpq_poly_degree(p); i >= 0; i--) {
    fmpq_poly_get_coeff_fmpq(coefficient.rational, p, i);
    value_mul(&sum, &sum, x, prec);
    value_add(&sum, &sum, &coefficient, prec);
  }
  value_swap(result, &sum);
  value_clear(&sum);
  value_clear(&coefficient);
}
