/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "roots.h"

#include <stdlib.h>

int roots_sign(const fmpz_poly_t f, const arb_t x, slong prec) {
  arb_t y;
  arb_init(y);
  arb_fmpz_poly_evaluate_arb(y, f, x, prec);
  int sign = arb_is_zero(y) ? 0 : arb_is_positive(y) ? 1 : arb_is_negative(y) ? -1 : 2;
  arb_clear(y);
  return sign;
}

int roots_sign_fmpq(const fmpz_poly_t f, const fmpq_t x) {
  fmpq_t y;
  fmpq_init(y);
  fmpz_poly_evaluate_fmpq(y, f, x);
  int sign = fmpq_sgn(y);
  fmpq_clear(y);
  return sign;
}

/* Balls become exact once they have bits enough. */
int roots_sign_arf(const fmpz_poly_t f, const arf_t x, slong prec) {
  arb_t point;
  arb_init(point);
  arb_set_arf(point, x);
  int sign;
  while ((sign = roots_sign(f, point, prec)) == 2)
    prec *= 2;
  arb_clear(point);
  return sign;
}

/* One step of interval Newton, m - f(m)/f'(X): 1 when it lies in X and is half as wide or less, and
 * replaces X; else 0. */
static int newton(arb_t x, const fmpz_poly_t f, const fmpz_poly_t derivative, slong prec) {
  arb_t middle, value, slope;
  mag_t half;
  arb_init(middle);
  arb_init(value);
  arb_init(slope);
  mag_init(half);
  mag_mul_2exp_si(half, arb_radref(x), -1);
  arb_get_mid_arb(middle, x);
  arb_fmpz_poly_evaluate_arb(value, f, middle, prec);
  arb_fmpz_poly_evaluate_arb(slope, derivative, x, prec);
  arb_div(value, value, slope, prec);
  arb_sub(value, middle, value, prec);
  int shrank = arb_contains(x, value) && mag_cmp(arb_radref(value), half) <= 0;
  if (shrank) arb_swap(x, value);
  arb_clear(middle);
  arb_clear(value);
  arb_clear(slope);
  mag_clear(half);
  return shrank;
}

/* Halves x, exactly, by the signs at its left end and its middle. */
static void bisect(arb_t x, const fmpz_poly_t f, slong prec) {
  arf_t left, quarter;
  arf_init(left);
  arf_init(quarter);
  arf_set_mag(quarter, arb_radref(x));
  arf_sub(left, arb_midref(x), quarter, ARF_PREC_EXACT, ARF_RND_DOWN);
  arf_mul_2exp_si(quarter, quarter, -1);
  int first = roots_sign_arf(f, left, prec), second = roots_sign_arf(f, arb_midref(x), prec);
  if (first == 0 || second == 0) {
    arb_set_arf(x, first == 0 ? left : arb_midref(x));
  } else {
    if (first != second) arf_neg(quarter, quarter);
    arf_add(arb_midref(x), arb_midref(x), quarter, ARF_PREC_EXACT, ARF_RND_DOWN);
    mag_mul_2exp_si(arb_radref(x), arb_radref(x), -1);
  }
  arf_clear(left);
  arf_clear(quarter);
}

static int is_narrow(const arb_t x, slong prec) {
  if (arb_is_exact(x)) return 1;
  return arb_contains_zero(x) ? mag_cmp_2exp_si(arb_radref(x), -prec) <= 0
                              : arb_rel_accuracy_bits(x) >= prec;
}

/* Bits that cancel when f is evaluated near x: the size of its terms there over that of x f'(x), up
 * to `most`. */
static slong cancellation(const fmpz_poly_t f, const fmpz_poly_t derivative, const arb_t x,
                          slong most) {
  fmpz_poly_t sizes;
  arb_t middle, terms, slope;
  fmpz_poly_init(sizes);
  arb_init(middle);
  arb_init(terms);
  arb_init(slope);
  fmpz_poly_set(sizes, f);
  for (slong i = 0; i < fmpz_poly_length(sizes); i++)
    fmpz_abs(sizes->coeffs + i, sizes->coeffs + i);
  arb_get_mid_arb(middle, x);
  arb_abs(terms, middle);
  arb_fmpz_poly_evaluate_arb(terms, sizes, terms, 64);
  slong bits = most;
  for (slong prec = 64; prec < most; prec *= 2) {
    arb_fmpz_poly_evaluate_arb(slope, derivative, middle, prec);
    arb_mul(slope, slope, middle, prec);
    if (arb_contains_zero(slope)) continue;
    bits =
        arf_abs_bound_lt_2exp_si(arb_midref(terms)) - arf_abs_bound_lt_2exp_si(arb_midref(slope));
    break;
  }
  fmpz_poly_clear(sizes);
  arb_clear(middle);
  arb_clear(terms);
  arb_clear(slope);
  return FLINT_MIN(FLINT_MAX(bits, 0) + 64, most);
}

void roots_refine(arb_t x, const fmpz_poly_t f, slong prec) {
  fmpz_poly_t derivative;
  if (is_narrow(x, prec)) return;
  fmpz_poly_init(derivative);
  fmpz_poly_derivative(derivative, f);
  slong magnitude = arf_abs_bound_lt_2exp_si(arb_midref(x));
  slong most =
      64 + FLINT_ABS(fmpz_poly_max_bits(f)) + fmpz_poly_length(f) * (magnitude > 0 ? magnitude : 1);
  for (slong target = FLINT_MIN(64, prec);; target = FLINT_MIN(2 * target, prec)) {
    while (!is_narrow(x, target)) {
      slong work = target + cancellation(f, derivative, x, most);
      if (!newton(x, f, derivative, work)) bisect(x, f, work);
    }
    if (target == prec) break;
  }
  fmpz_poly_clear(derivative);
}

slong roots_real(arb_ptr *zeros, const fmpz_poly_t f, slong prec) {
  slong degree = fmpz_poly_degree(f), count = 0;
  *zeros = NULL;
  if (degree < 1) return 0;
  acb_ptr all = _acb_vec_init(degree);
  arb_fmpz_poly_complex_roots(all, f, 0, prec);
  /* Real zeros come first, in ascending order, with an imaginary part that is exactly zero. */
  while (count < degree && arb_is_zero(acb_imagref(all + count)))
    count++;
  if (count) *zeros = _arb_vec_init(count);
  for (slong i = 0; i < count; i++)
    arb_set(*zeros + i, acb_realref(all + i));
  _acb_vec_clear(all, degree);
  return count;
}
