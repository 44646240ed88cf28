/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Zeros and minima of the partial sums of exp.
 *
 * T_P' = T_{P-1} and T_P = T_{P-1} + t^P/P!. So at a zero t* of T_{P-1} the value of T_P is
 * t*^P / P!, and
 *
 *     T_P, T_{P-1}, -t^P, -1
 *
 * is a Sturm chain of T_P on the whole line: T_P and T_{P-1} have no common zero (it would be 0,
 * where both are 1); where T_{P-1} = 0 its neighbours T_P = t^P/P! and -t^P have opposite signs,
 * and so have 1 and -1 at t = 0. The number of zeros in (a, b] is the loss of sign variations. At
 * -+ infinity it gives no real zero for even P and one for odd P; T_{P-1} changes its sign there,
 * so an even T_P has its one minimum at that zero, which lies in (-P, 0). */
#include "../enclosure/roots.h"
#include "positivity.h"

void positivity_polynomial(fmpz_poly_t f, ulong order) {
  fmpz_poly_zero(f);
  fmpz_poly_fit_length(f, (slong)order + 1);
  fmpz_t c;
  fmpz_init(c);
  fmpz_one(c);
  for (ulong m = order + 1; m-- > 0;) {
    fmpz_poly_set_coeff_fmpz(f, (slong)m, c);
    fmpz_mul_ui(c, c, m);
  }
  fmpz_clear(c);
}

void positivity_taylor(value *result, ulong order, const value *t, slong prec) {
  fmpz_poly_t f;
  fmpz_t factorial;
  fmpz_poly_init(f);
  fmpz_init(factorial);
  positivity_polynomial(f, order);
  fmpz_fac_ui(factorial, order);
  if (t->kind == VALUE_BALL) {
    /* On wide balls T_P(m) + T_{P-1}(X) (X - m) is the better of two enclosures. */
    arb_t y, middle, slope;
    arb_init(y);
    arb_init(middle);
    arb_init(slope);
    arb_fmpz_poly_evaluate_arb(y, f, t->ball, prec);
    arb_get_mid_arb(middle, t->ball);
    arb_sub(slope, t->ball, middle, prec);
    arb_fmpz_poly_evaluate_arb(middle, f, middle, prec);
    fmpz_poly_derivative(f, f);
    arb_t derivative;
    arb_init(derivative);
    arb_fmpz_poly_evaluate_arb(derivative, f, t->ball, prec);
    arb_mul(slope, slope, derivative, prec);
    arb_add(middle, middle, slope, prec);
    if (mag_cmp(arb_radref(middle), arb_radref(y)) < 0) arb_swap(y, middle);
    arb_div_fmpz(y, y, factorial, prec);
    value_set_ball(result, y);
    arb_clear(derivative);
    arb_clear(y);
    arb_clear(middle);
    arb_clear(slope);
  } else {
    fmpq_poly_t p;
    fmpq_poly_init(p);
    fmpq_poly_set_fmpz_poly(p, f);
    fmpq_poly_scalar_div_fmpz(p, p, factorial);
    value_polynomial(result, p, t, prec);
    fmpq_poly_clear(p);
  }
  fmpz_poly_clear(f);
  fmpz_clear(factorial);
}

/* ---- counting zeros ---- */

/* Sign variations of the chain at x; `infinity` is -1 or 1 instead of a point. */
static slong variations(ulong order, const fmpq *x, int infinity) {
  int odd = order % 2 && infinity < 0;
  int signs[4] = {odd ? -1 : 1, order && infinity < 0 && !odd ? -1 : 1, odd ? 1 : -1, -1};
  if (x) {
    fmpz_poly_t f;
    fmpz_poly_init(f);
    positivity_polynomial(f, order);
    signs[0] = roots_sign_fmpq(f, x);
    fmpz_poly_derivative(f, f);
    signs[1] = roots_sign_fmpq(f, x);
    signs[2] = order % 2 ? -fmpq_sgn(x) : fmpq_sgn(x) ? -1 : 0;
    fmpz_poly_clear(f);
  }
  slong count = 0;
  for (int i = 1, last = signs[0]; i < 4; i++) {
    if (signs[i] && last && signs[i] != last) count++;
    if (signs[i]) last = signs[i];
  }
  return count;
}

slong positivity_zeros(ulong order, const fmpq *a, const fmpq *b) {
  return order ? variations(order, a, -1) - variations(order, b, 1) : 0;
}

/* ---- minima ---- */

void positivity_argmin(value *result, ulong order, slong prec) {
  fmpz_poly_t f;
  arb_t x;
  fmpz_poly_init(f);
  arb_init(x);
  positivity_polynomial(f, order - 1);
  arb_set_si(x, -(slong)order); /* [-P, 0], exactly */
  arb_mul_2exp_si(x, x, -1);
  mag_set_ui(arb_radref(x), order);
  mag_mul_2exp_si(arb_radref(x), arb_radref(x), -1);
  /* T_n is irreducible over the rationals for every n (Schur, 1929). */
  value_set_zero(result, f, x, 1, prec);
  fmpz_poly_clear(f);
  arb_clear(x);
}

void positivity_min(value *result, ulong order, slong prec) {
  value t, power, factorial;
  value_init(&t);
  value_init(&power);
  value_init(&factorial);
  prec += 32; /* the P-th power multiplies a relative error by P */
  positivity_argmin(&t, order, prec);
  value_set_si(&power, (slong)order);
  value_set_si(&factorial, 0);
  fmpz_fac_ui(fmpq_numref(factorial.rational), order);
  /* Neither can fail: P is positive, and P! is not zero. */
  value_pow(&power, &t, &power, prec, NULL);
  value_div(result, &power, &factorial, prec, NULL);
  value_clear(&t);
  value_clear(&power);
  value_clear(&factorial);
}
