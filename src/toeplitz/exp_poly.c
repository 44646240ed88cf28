/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Taylor, Chebyshev and minimax polynomials of exp, and least degrees. */
#include "exp_poly.h"

#include "exp_poly_internal.h"

/* ---- Taylor and Chebyshev ---- */

static void taylor(fmpq_poly_t p, int64_t degree) {
  fmpq_t c;
  fmpq_init(c);
  fmpq_one(c);
  fmpq_poly_zero(p);
  for (int64_t k = 0; k <= degree; k++) {
    if (k > 0) fmpq_div_fmpz(c, c, (fmpz[]){k});
    fmpq_poly_set_coeff_fmpq(p, k, c);
  }
  fmpq_clear(c);
}

/* The dyadic number nearest to the midpoint with `bits` bits. */
void exp_poly_dyadic(fmpq_t c, const arb_t x, slong bits) {
  arf_t mid;
  arf_init(mid);
  arf_set_round(mid, arb_midref(x), bits, ARF_RND_NEAR);
  arf_get_fmpq(c, mid);
  arf_clear(mid);
}

/* p(x) becomes p(x / b). */
void exp_poly_stretch(fmpq_poly_t p, const fmpq_t b) {
  fmpq_t inverse, power, c;
  fmpq_init(inverse);
  fmpq_init(power);
  fmpq_init(c);
  fmpq_inv(inverse, b);
  fmpq_one(power);
  for (slong k = 0; k < fmpq_poly_length(p); k++) {
    fmpq_poly_get_coeff_fmpq(c, p, k);
    fmpq_mul(c, c, power);
    fmpq_poly_set_coeff_fmpq(p, k, c);
    fmpq_mul(power, power, inverse);
  }
  fmpq_clear(inverse);
  fmpq_clear(power);
  fmpq_clear(c);
}

static void chebyshev(fmpq_poly_t p, int64_t degree, const fmpq_t b, slong bits) {
  slong prec = bits + 64;
  arb_t x, order, bessel;
  fmpq_t c;
  fmpq_poly_t previous, current, next;
  arb_init(x);
  arb_init(order);
  arb_init(bessel);
  fmpq_init(c);
  fmpq_poly_init(previous);
  fmpq_poly_init(current);
  fmpq_poly_init(next);
  fmpq_poly_zero(p);
  fmpq_poly_one(current); /* T_k, and T_{k-1} = T_1 at k = 0: T_{-1} = T_1 */
  fmpq_poly_set_coeff_si(previous, 1, 1);
  arb_set_fmpq(x, b, prec);
  for (int64_t k = 0; k <= degree; k++) {
    arb_set_si(order, k);
    arb_hypgeom_bessel_i(bessel, order, x, prec);
    if (k > 0) arb_mul_2exp_si(bessel, bessel, 1);
    exp_poly_dyadic(c, bessel, bits);
    fmpq_poly_scalar_mul_fmpq(next, current, c);
    fmpq_poly_add(p, p, next);
    fmpq_poly_shift_left(next, current, 1);
    fmpq_poly_scalar_mul_si(next, next, 2);
    fmpq_poly_sub(next, next, previous);
    fmpq_poly_swap(previous, current);
    fmpq_poly_swap(current, next);
  }
  exp_poly_stretch(p, b);
  arb_clear(x);
  arb_clear(order);
  arb_clear(bessel);
  fmpq_clear(c);
  fmpq_poly_clear(previous);
  fmpq_poly_clear(current);
  fmpq_poly_clear(next);
}

static attest_status check_arguments(int64_t degree, const fmpq_t b, attest_error *error) {
  fmpq_t largest;
  fmpq_init(largest);
  fmpq_set_si(largest, 4096, 1);
  int legal = fmpq_sgn(b) > 0 && fmpq_cmp(b, largest) <= 0;
  fmpq_clear(largest);
  if (!legal)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "the half-width b of the interval must be positive and at most 4096");
  if (degree < 0 || degree > EXP_POLY_DEGREE_MAX)
    return attest_fail(error, ATTEST_ERR_SUPPORT, "degree %lld is not between 0 and %d",
                       (long long)degree, EXP_POLY_DEGREE_MAX);
  return ATTEST_OK;
}

attest_status exp_poly(fmpq_poly_t p, exp_poly_kind kind, exp_poly_measure measure, int64_t degree,
                       const fmpq_t b, slong bits, attest_error *error) {
  attest_status status = check_arguments(degree, b, error);
  if (status) return status;
  if (kind == EXP_TAYLOR)
    taylor(p, degree);
  else if (kind == EXP_CHEBYSHEV)
    chebyshev(p, degree, b, bits);
  else
    status = exp_poly_remez(p, NULL, measure, degree, b, bits, EXP_POLY_EXCHANGES, error);
  return status;
}

/* ---- least degrees ---- */

/* What is known of the error of one degree against eps: 1 at most eps, -1 above, 0 not decided. */
static attest_status side_of(int *side, exp_poly_kind kind, exp_poly_measure measure,
                             int64_t degree, const fmpq_t b, const fmpq_t eps, slong bits,
                             attest_error *error) {
  fmpq_poly_t p;
  arb_t sup, limit;
  attest_status status = ATTEST_OK;
  *side = 0;
  fmpq_poly_init(p);
  arb_init(sup);
  arb_init(limit);
  arb_set_fmpq(limit, eps, bits);
  for (int rounds = 0; kind == EXP_MINIMAX && !*side && rounds <= EXP_POLY_EXCHANGES && !status;
       rounds += EXP_POLY_EXCHANGES) { /* most degrees are too small by far */
    status = exp_poly_alternation(sup, degree, b, measure, rounds, error);
    if (!status && arb_gt(sup, limit)) *side = -1;
  }
  if (!status && !*side) status = exp_poly(p, kind, measure, degree, b, bits, error);
  if (!status && !*side) {
    exp_poly_error(sup, p, b, measure);
    if (arb_le(sup, limit)) *side = 1;
    if (arb_gt(sup, limit) && kind != EXP_MINIMAX) *side = -1;
  }
  fmpq_poly_clear(p);
  arb_clear(sup);
  arb_clear(limit);
  return status;
}

/* Bits of a coefficient so that rounding does not show beside eps. */
static slong bits_for(const fmpq_t b, const fmpq_t eps) {
  arb_t x;
  arb_init(x);
  arb_set_fmpq(x, eps, 64);
  slong small = -ARF_EXP(arb_midref(x));
  arb_set_fmpq(x, b, 64);
  slong wide = arf_get_si(arb_midref(x), ARF_RND_CEIL);
  arb_clear(x);
  return 128 + (small > 0 ? small : 0) + 4 * wide;
}

attest_status exp_poly_degree(int64_t *degree, exp_poly_kind kind, exp_poly_measure measure,
                              const fmpq_t b, const fmpq_t eps, attest_error *error) {
  attest_status status = check_arguments(0, b, error);
  if (status) return status;
  if (fmpq_sgn(eps) <= 0 || fmpz_bits(fmpq_denref(eps)) > 4096)
    return attest_fail(error, ATTEST_ERR_INPUT, "eps must be positive and not below 2^-4096");
  for (int64_t g = 0; g <= EXP_POLY_DEGREE_MAX; g++) {
    int side;
    status = side_of(&side, kind, measure, g, b, eps, bits_for(b, eps), error);
    if (status) return status;
    if (side == 1) {
      *degree = g;
      return ATTEST_OK;
    }
    if (side == 0)
      return attest_fail(error, ATTEST_ERR_SUPPORT,
                         "the error of degree %lld is too close to eps to be decided; change eps "
                         "by a relative 1e-4",
                         (long long)g);
  }
  return attest_fail(error, ATTEST_ERR_SUPPORT, "the least degree is above %d",
                     EXP_POLY_DEGREE_MAX);
}
