/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Exact arithmetic in real number fields Q(theta): what makes sqrt(62)^2 = 62 a decision. As f is
 * irreducible, an element is zero only when its polynomial is, and every other one has an inverse.
 */
#include <string.h>

#include "roots.h"
#include "value.h"

void value_field_release(value_field *field) {
  if (!field || --field->users > 0) return;
  fmpz_poly_clear(field->f);
  arb_clear(field->theta);
  flint_free(field);
}

/* With one user. */
static value_field *field_new(const fmpz_poly_t f, const arb_t theta) {
  value_field *field = flint_malloc(sizeof *field);
  field->users = 1;
  fmpz_poly_init(field->f);
  fmpz_poly_set(field->f, f);
  arb_init(field->theta);
  arb_set(field->theta, theta);
  return field;
}

/* Two isolating intervals are of one zero iff they always overlap: once one is so narrow that it
 * lies within the other, that other holds no second zero. */
int value_same_field(value_field *a, value_field *b) {
  if (a == b) return 1;
  if (!fmpz_poly_equal(a->f, b->f)) return 0;
  for (slong prec = 64; arb_overlaps(a->theta, b->theta); prec *= 2) {
    if (arb_contains(a->theta, b->theta) || arb_contains(b->theta, a->theta)) return 1;
    roots_refine(a->theta, a->f, prec);
  }
  return 0;
}

void value_normalize(value *v, slong prec) {
  arb_t x;
  if (v->kind == VALUE_ALGEBRAIC && fmpq_poly_degree(v->algebraic) < 1) {
    fmpq_poly_get_coeff_fmpq(v->rational, v->algebraic, 0);
    value_set_fmpq(v, v->rational);
  }
  slong bits = 0;
  if (v->kind == VALUE_ALGEBRAIC)
    bits = FLINT_ABS(_fmpz_vec_max_bits(v->algebraic->coeffs, fmpq_poly_length(v->algebraic))) +
           (slong)fmpz_bits(v->algebraic->den);
  int large = v->kind == VALUE_ALGEBRAIC
                  ? bits > VALUE_ALGEBRAIC_BITS
                  : v->kind == VALUE_RATIONAL && !fmpz_is_one(fmpq_denref(v->rational)) &&
                        fmpq_height_bits(v->rational) > VALUE_FRACTION_BITS;
  if (!large) return;
  arb_init(x);
  value_get_ball(x, v, prec);
  value_set_ball(v, x);
  arb_clear(x);
}

void value_set_algebraic(value *result, value_field *field, fmpq_poly_t polynomial, slong prec) {
  value v;
  value_init(&v);
  v.kind = VALUE_ALGEBRAIC;
  v.field = field;
  field->users++;
  fmpq_poly_swap(v.algebraic, polynomial);
  fmpq_poly_clear(polynomial);
  if (fmpq_poly_degree(v.algebraic) >= fmpz_poly_degree(field->f)) {
    fmpq_poly_t modulus;
    fmpq_poly_init(modulus);
    fmpq_poly_set_fmpz_poly(modulus, field->f);
    fmpq_poly_rem(v.algebraic, v.algebraic, modulus);
    fmpq_poly_clear(modulus);
  }
  value_normalize(&v, prec);
  value_swap(result, &v);
  value_clear(&v);
}

void value_algebraic_ball(arb_t result, const value *v, slong prec) {
  slong length = fmpq_poly_length(v->algebraic);
  slong work = prec + 32 + FLINT_ABS(_fmpz_vec_max_bits(v->algebraic->coeffs, length));
  roots_refine(v->field->theta, v->field->f, work);
  _arb_fmpz_poly_evaluate_arb(result, v->algebraic->coeffs, length, v->field->theta, work);
  arb_div_fmpz(result, result, v->algebraic->den, work);
}

int value_algebraic_sign(const value *v) {
  arb_t x;
  arb_init(x);
  slong prec = 64;
  do {
    value_algebraic_ball(x, v, prec);
    prec *= 2;
  } while (arb_contains_zero(x));
  int sign = arb_is_positive(x) ? 1 : -1;
  arb_clear(x);
  return sign;
}

void value_algebraic_mul(value *result, const value *a, const value *b, slong prec) {
  fmpq_poly_t p;
  fmpq_poly_init(p);
  value_field *field = a->kind == VALUE_ALGEBRAIC ? a->field : b->field;
  if (a->kind == VALUE_RATIONAL)
    fmpq_poly_scalar_mul_fmpq(p, b->algebraic, a->rational);
  else if (b->kind == VALUE_RATIONAL)
    fmpq_poly_scalar_mul_fmpq(p, a->algebraic, b->rational);
  else
    fmpq_poly_mul(p, a->algebraic, b->algebraic);
  value_set_algebraic(result, field, p, prec);
}

void value_algebraic_inverse(value *result, const value *a, slong prec) {
  fmpq_poly_t gcd, inverse, rest, modulus;
  fmpq_poly_init(gcd);
  fmpq_poly_init(inverse);
  fmpq_poly_init(rest);
  fmpq_poly_init(modulus);
  fmpq_poly_set_fmpz_poly(modulus, a->field->f);
  fmpq_poly_xgcd(gcd, inverse, rest, a->algebraic, modulus); /* monic: 1 */
  fmpq_poly_clear(gcd);
  fmpq_poly_clear(rest);
  fmpq_poly_clear(modulus);
  value_set_algebraic(result, a->field, inverse, prec);
}

/* ---- square roots ---- */

/* n = s^2 t with no square of a small prime left in t. */
static void pull_squares(fmpz_t s, fmpz_t t, const fmpz_t n) {
  fmpz_t square;
  fmpz_init(square);
  fmpz_set(t, n);
  fmpz_one(s);
  for (slong p = 2; p < 1000; p += p == 2 ? 1 : 2) {
    fmpz_set_si(square, p * p);
    if (fmpz_cmp(square, t) > 0) break;
    while (fmpz_divisible(t, square)) {
      fmpz_divexact(t, t, square);
      fmpz_mul_si(s, s, p);
    }
  }
  fmpz_clear(square);
}

/* sqrt(num/den) = sqrt(num den)/den = s sqrt(t)/den. */
static void set_quadratic(value *result, const fmpz_t s, const fmpz_t t, const fmpz_t den,
                          slong prec) {
  fmpz_poly_t f;
  fmpq_poly_t p;
  fmpq_t factor;
  arb_t theta;
  fmpz_poly_init(f);
  fmpq_poly_init(p);
  fmpq_init(factor);
  arb_init(theta);
  fmpz_poly_set_coeff_si(f, 2, 1);
  fmpz_poly_set_coeff_fmpz(f, 0, t);
  fmpz_neg(f->coeffs, f->coeffs);
  arb_sqrt_fmpz(theta, t, 64 + (slong)fmpz_bits(t)); /* positive, and -theta is far away */
  fmpq_set_fmpz_frac(factor, s, den);
  fmpq_poly_set_coeff_fmpq(p, 1, factor);
  value_field *field = field_new(f, theta);
  value_set_algebraic(result, field, p, prec);
  value_field_release(field);
  fmpz_poly_clear(f);
  fmpq_clear(factor);
  arb_clear(theta);
}

void value_sqrt_fmpq(value *result, const fmpq_t a, slong prec) {
  fmpz_t product, s, t;
  fmpz_init(product);
  fmpz_init(s);
  fmpz_init(t);
  if (fmpz_is_square(fmpq_numref(a)) && fmpz_is_square(fmpq_denref(a))) {
    fmpq_t root;
    fmpq_init(root);
    fmpz_sqrt(fmpq_numref(root), fmpq_numref(a));
    fmpz_sqrt(fmpq_denref(root), fmpq_denref(a));
    value_set_fmpq(result, root);
    fmpq_clear(root);
  } else if (fmpq_height_bits(a) > VALUE_ALGEBRAIC_BITS / 2) {
    arb_t x;
    arb_init(x);
    arb_set_fmpq(x, a, prec + 2);
    arb_sqrt(x, x, prec);
    value_set_ball(result, x);
    arb_clear(x);
  } else {
    fmpz_mul(product, fmpq_numref(a), fmpq_denref(a));
    pull_squares(s, t, product);
    set_quadratic(result, s, t, fmpq_denref(a), prec);
  }
  fmpz_clear(product);
  fmpz_clear(s);
  fmpz_clear(t);
}

int value_signed_square(fmpq_t square, const value *a) {
  if (a->kind != VALUE_ALGEBRAIC || fmpz_poly_degree(a->field->f) != 2 ||
      !fmpz_is_zero(a->field->f->coeffs + 1) || !fmpz_is_zero(a->algebraic->coeffs))
    return 0;
  fmpq_t n;
  fmpq_init(n);
  fmpq_poly_get_coeff_fmpq(square, a->algebraic, 1);
  int sign = fmpq_sgn(square) * (arb_is_negative(a->field->theta) ? -1 : 1);
  fmpq_mul(square, square, square);
  fmpq_set_fmpz_frac(n, a->field->f->coeffs, a->field->f->coeffs + 2);
  fmpq_neg(n, n);
  fmpq_mul(square, square, n);
  if (sign < 0) fmpq_neg(square, square);
  fmpq_clear(n);
  return 1;
}

/* ---- zeros of polynomials ---- */

/* The irreducible factor of f that vanishes at the zero that x isolates. */
static void pick_factor(fmpz_poly_t g, arb_t x, const fmpz_poly_t f) {
  fmpz_poly_factor_t factors;
  fmpz_poly_factor_init(factors);
  fmpz_poly_factor(factors, f);
  slong left = factors->num;
  fmpz_poly_set(g, factors->p + (left == 1 ? 0 : left - 1));
  for (slong prec = 64; left > 1; prec *= 2) {
    roots_refine(x, f, prec);
    left = 0;
    for (slong i = 0; i < factors->num; i++) {
      int sign = roots_sign(factors->p + i, x, prec + 64);
      if (sign != 0 && sign != 2) continue;
      left++;
      fmpz_poly_set(g, factors->p + i);
    }
  }
  fmpz_poly_factor_clear(factors);
}

void value_set_zero(value *result, const fmpz_poly_t f, const arb_t isolating, int irreducible,
                    slong prec) {
  fmpz_poly_t g;
  arb_t x;
  fmpz_poly_init(g);
  arb_init(x);
  arb_set(x, isolating);
  fmpz_poly_set(g, f);
  int exact = fmpz_poly_degree(f) <= VALUE_DEGREE_MAX &&
              FLINT_ABS(fmpz_poly_max_bits(f)) <= VALUE_ALGEBRAIC_BITS;
  if (exact && !irreducible) pick_factor(g, x, f);
  if (!exact) {
    roots_refine(x, f, prec);
    value_set_ball(result, x);
  } else if (fmpz_poly_degree(g) == 1) {
    value_set_si(result, 0);
    fmpq_set_fmpz_frac(result->rational, g->coeffs, g->coeffs + 1);
    fmpq_neg(result->rational, result->rational);
  } else {
    fmpq_poly_t p;
    fmpq_poly_init(p);
    fmpq_poly_set_coeff_si(p, 1, 1);
    value_field *field = field_new(g, x);
    value_set_algebraic(result, field, p, prec);
    value_field_release(field);
  }
  fmpz_poly_clear(g);
  arb_clear(x);
}
