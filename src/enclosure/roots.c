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

/* The sign of f at a dyadic point: balls become exact once they have bits enough. */
static int sign_at(const fmpz_poly_t f, const arf_t x, slong prec) {
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
  int first = sign_at(f, left, prec), second = sign_at(f, arb_midref(x), prec);
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

void roots_refine(arb_t x, const fmpz_poly_t f, slong prec) {
  fmpz_poly_t derivative;
  fmpz_poly_init(derivative);
  fmpz_poly_derivative(derivative, f);
  /* Cancellation in f costs up to the size of its largest term. */
  slong magnitude = arf_abs_bound_lt_2exp_si(arb_midref(x));
  slong guard =
      64 + FLINT_ABS(fmpz_poly_max_bits(f)) + fmpz_poly_length(f) * (magnitude > 0 ? magnitude : 1);
  for (slong target = FLINT_MIN(64, prec);; target = FLINT_MIN(2 * target, prec)) {
    while (!is_narrow(x, target))
      if (!newton(x, f, derivative, target + guard)) bisect(x, f, target + guard);
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
