/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Values of the expression language. A number is kept as exactly as it is known: a rational, an
 * element of a real number field Q(theta), or a ball that contains it. A straddled domain
 * (division by a ball around zero) gives a ball without bounds: more precision may decide it. */
#ifndef ATTEST_ENCLOSURE_VALUE_H
#define ATTEST_ENCLOSURE_VALUE_H

#include "../attest.h"
#include "flint_poly.h"

typedef enum { VALUE_RATIONAL, VALUE_ALGEBRAIC, VALUE_BALL, VALUE_TRUTH, VALUE_LIST } value_kind;

/* Q(theta): f irreducible over the rationals, theta one real zero of it. Shared by the values that
 * use it, within one thread. */
typedef struct value_field {
  int users;
  fmpz_poly_t f;
  arb_t theta; /* isolates the zero; narrowed as precision is asked for */
} value_field;

typedef struct value {
  value_kind kind;
  fmpq_t rational;
  value_field *field; /* ALGEBRAIC: the polynomial at theta, of degree >= 1 and < that of f */
  fmpq_poly_t algebraic;
  arb_t ball;
  int truth;    /* TRUTH: 1 or 0; VALUE_UNKNOWN when balls straddle */
  size_t count; /* LIST */
  struct value *items;
} value;

/* A sign, an order or a truth that the precision does not decide. */
enum { VALUE_UNKNOWN = 2 };

/* Number fields of a higher degree, and rationals and coefficients with more bits, are replaced by
 * balls. Integers stay exact up to VALUE_BITS_MAX, which also bounds the exponents of balls. */
enum {
  VALUE_DEGREE_MAX = 24,
  VALUE_FRACTION_BITS = 1 << 15,
  VALUE_ALGEBRAIC_BITS = 1 << 13,
  VALUE_BITS_MAX = 1 << 22
};

void value_init(value *v);
void value_clear(value *v);
void value_set(value *result, const value *v);
void value_swap(value *a, value *b);

void value_set_si(value *result, slong n);
void value_set_fmpq(value *result, const fmpq_t q);
void value_set_ball(value *result, const arb_t x);
void value_set_truth(value *result, int truth);
/* A list of n items, each the rational 0. */
attest_status value_set_list(value *result, size_t n, attest_error *error);

int value_is_number(const value *v);
/* Whether v is known to be an integer, and which one. */
int value_get_fmpz(fmpz_t n, const value *v);
/* A number as a ball of about `prec` bits (a BALL as it is). */
void value_get_ball(arb_t x, const value *v, slong prec);
/* -1, 0, 1; VALUE_UNKNOWN only for balls. */
int value_sign(const value *v);
/* The sign of a - b. */
int value_compare(const value *a, const value *b, slong prec);
/* ATTEST_OK, or an error when a number is too large or too close to zero to be worked with. */
attest_status value_check_size(const value *v, attest_error *error);

/* Arithmetic on numbers; results may be arguments. `prec` bits where balls are needed. */
void value_neg(value *result, const value *a);
void value_add(value *result, const value *a, const value *b, slong prec);
void value_sub(value *result, const value *a, const value *b, slong prec);
void value_mul(value *result, const value *a, const value *b, slong prec);
attest_status value_div(value *result, const value *a, const value *b, slong prec,
                        attest_error *error);
/* a^b: integer powers of anything, 0^0 = 1, other powers of positive numbers and of zero. */
attest_status value_pow(value *result, const value *a, const value *b, slong prec,
                        attest_error *error);
attest_status value_sqrt(value *result, const value *a, slong prec, attest_error *error);
/* The largest integer <= a; a ball without bounds where that is not decided. */
void value_floor(value *result, const value *a, slong prec);
void value_abs(value *result, const value *a);

/* The zero of f in `isolating`, an interval that holds exactly one zero of f, a simple one (see
 * roots_refine): exact where the degree allows. irreducible: f is known to be. */
void value_set_zero(value *result, const fmpz_poly_t f, const arb_t isolating, int irreducible,
                    slong prec);
/* p(x) for a polynomial with rational coefficients. */
void value_polynomial(value *result, const fmpq_poly_t p, const value *x, slong prec);

/* ---- algebraic.c, for value.c ---- */

void value_field_release(value_field *field);
/* Whether both are the same zero of the same polynomial. */
int value_same_field(value_field *a, value_field *b);
/* Turns constants into rationals, and polynomials with large coefficients into balls. */
void value_normalize(value *v, slong prec);
/* result <- the polynomial at theta of `field`, reduced; takes the polynomial. */
void value_set_algebraic(value *result, value_field *field, fmpq_poly_t polynomial, slong prec);
/* result <- p(theta) for the ball of theta at `prec` bits. */
void value_algebraic_ball(arb_t result, const value *v, slong prec);
int value_algebraic_sign(const value *v);
void value_algebraic_mul(value *result, const value *a, const value *b, slong prec);
void value_algebraic_inverse(value *result, const value *a, slong prec);
/* Square roots of rationals a >= 0. */
void value_sqrt_fmpq(value *result, const fmpq_t a, slong prec);
/* b sqrt(n): the rational b^2 n with the sign of b, for values a of that form; else 0. */
int value_signed_square(fmpq_t square, const value *a);

#endif
