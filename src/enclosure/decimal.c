/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Decimal output of balls. mpfr_get_str rounds one dyadic number correctly (ties to even digit);
 * a ball has a text when both of its ends have the same. */
#include <mpfr.h> /* before FLINT, which declares arf_get_mpfr only then */
#include <stdlib.h>
#include <string.h>

#include "enclosure.h"

/* Binary exponents up to this size are converted exactly; beyond, a power of ten is split off in
 * ball arithmetic first. MPFR's own range ends at 2^30. */
enum { EXPONENT_EXACT = 1 << 28 };

/* Fixed notation from 10^FIXED_MIN on, as long as no digit left of the point is a filler. */
enum { FIXED_MIN = -6 };

/* y = |x| / 10^shift with a moderate exponent; shift is 0 and y = |x| where that is so already.
 * Returns 0 when the exponent does not fit a machine word. */
static int scale_down(arb_t y, slong *shift, const arb_t x, slong prec) {
  arb_abs(y, x);
  *shift = 0;
  if (arf_cmpabs_2exp_si(arb_midref(x), EXPONENT_EXACT) < 0 &&
      (arb_is_zero(x) || arf_cmpabs_2exp_si(arb_midref(x), -EXPONENT_EXACT) > 0))
    return 1;
  if (COEFF_IS_MPZ(*ARF_EXPREF(arb_midref(x)))) return 0;
  *shift = (slong)((double)fmpz_get_si(ARF_EXPREF(arb_midref(x))) * 0.30102999566398119521);
  arb_t power;
  arb_init(power);
  arb_ui_pow_ui(power, 10, (ulong)FLINT_ABS(*shift), prec);
  if (*shift > 0)
    arb_div(y, y, power, prec);
  else
    arb_mul(y, y, power, prec);
  arb_clear(power);
  return 1;
}

/* The n digits of x > 0, correctly rounded, and the exponent of the first one. mpfr_free_str(). */
static char *dyadic_digits(slong *exponent, const arf_t x, slong n, mpfr_rnd_t direction) {
  mpfr_t t;
  mpfr_exp_t e;
  slong bits = arf_bits(x);
  mpfr_init2(t, bits < 2 ? 2 : bits);
  arf_get_mpfr(t, x, MPFR_RNDN);
  char *digits = mpfr_get_str(NULL, &e, 10, (size_t)n, t, direction);
  mpfr_clear(t);
  *exponent = (slong)e - 1;
  return digits;
}

/* d.ddd 10^exponent as text. */
static char *layout(int negative, const char *digits, slong n, slong exponent) {
  char *text = malloc((size_t)n + 48);
  if (!text) return NULL;
  const char *sign = negative ? "-" : "";
  if (exponent >= FIXED_MIN && exponent < 0) {
    sprintf(text, "%s0.%.*s%s", sign, (int)(-1 - exponent), "00000", digits);
    return text;
  }
  int fixed = exponent >= 0 && exponent < n;
  int whole = fixed ? (int)exponent + 1 : 1;
  int length =
      sprintf(text, "%s%.*s%s%s", sign, whole, digits, whole < n ? "." : "", digits + whole);
  if (!fixed) sprintf(text + length, "e%ld", (long)exponent);
  return text;
}

int enclosure_decimal(char **text, const arb_t x, long digits) {
  *text = NULL;
  if (digits < 1 || !arb_is_finite(x)) return 0;
  if (arb_is_zero(x)) return (*text = strdup("0")) != NULL;

  /* A ball this wide reaches beyond any one decimal; for the rest the ends have the same sign. */
  mag_t half;
  mag_init(half);
  arf_get_mag_lower(half, arb_midref(x));
  mag_mul_2exp_si(half, half, -1);
  int wide = mag_cmp(arb_radref(x), half) >= 0;
  mag_clear(half);
  if (wide) return 0;

  /* Outward rounding of the ends at `prec` cannot hide a decision for ever: a decimal boundary
   * that is dyadic and closer to mid than that has more digits than asked for or more bits than
   * mid, and mid gains bits as the caller refines. */
  slong bits = arb_bits(x), prec = 128 + (bits > 4 * digits ? bits : 4 * digits), shift, e, e_high;
  arb_t y;
  arf_t end;
  arb_init(y);
  arf_init(end);
  int agree = 0;
  if (scale_down(y, &shift, x, prec)) {
    arb_get_lbound_arf(end, y, prec);
    char *low = dyadic_digits(&e, end, digits, MPFR_RNDN);
    arb_get_ubound_arf(end, y, prec);
    char *high = dyadic_digits(&e_high, end, digits, MPFR_RNDN);
    agree = e == e_high && strcmp(low, high) == 0;
    if (agree) *text = layout(arf_sgn(arb_midref(x)) < 0, low, digits, e + shift);
    mpfr_free_str(low);
    mpfr_free_str(high);
  }
  arf_clear(end);
  arb_clear(y);
  return agree && *text;
}

char *enclosure_end_decimal(const arb_t x, int upper, long digits) {
  slong e, prec = 128 + 4 * digits;
  char *text = NULL;
  arf_t end;
  arf_init(end);
  if (upper)
    arb_get_ubound_arf(end, x, prec);
  else
    arb_get_lbound_arf(end, x, prec);
  int far = !arf_is_zero(end) && (arf_cmpabs_2exp_si(end, EXPONENT_EXACT) > 0 ||
                                  arf_cmpabs_2exp_si(end, -EXPONENT_EXACT) < 0);
  if (!arf_is_finite(end) || (far && arf_cmpabs_2exp_si(end, 0) > 0)) {
    text = strdup(upper ? "inf" : "-inf");
  } else if (far || arf_is_zero(end)) { /* too close to zero for MPFR: 2^-2^28 < 1e-80000000 */
    int outward = (arf_sgn(end) > 0) == upper && !arf_is_zero(end);
    text = strdup(!outward ? "0" : upper ? "1e-80000000" : "-1e-80000000");
  } else {
    int negative = arf_sgn(end) < 0;
    arf_abs(end, end);
    char *rounded = dyadic_digits(&e, end, digits, negative == upper ? MPFR_RNDD : MPFR_RNDU);
    slong n = digits;
    while (n > 1 && rounded[n - 1] == '0' && n - 1 > e)
      n--;
    rounded[n] = 0;
    text = layout(negative, rounded, n, e);
    mpfr_free_str(rounded);
  }
  arf_clear(end);
  return text;
}

char *enclosure_radius_decimal(const arb_t x, const char *mid_text) {
  slong bits = arb_bits(x), digits = (slong)strlen(mid_text), shift, e;
  slong prec = 128 + (bits > 4 * digits ? bits : 4 * digits);
  char *text = NULL;
  arb_t distance;
  arf_t end;
  arb_init(distance);
  arf_init(end);
  if (arb_set_str(distance, mid_text, prec) == 0) {
    arb_sub(distance, x, distance, prec);
    arb_get_abs_ubound_arf(end, distance, prec);
    arb_set_arf(distance, end);
    if (arb_is_zero(distance)) {
      text = strdup("0");
    } else if (!arb_is_finite(distance) || !scale_down(distance, &shift, distance, prec)) {
      text = strdup("inf");
    } else {
      arb_get_ubound_arf(end, distance, prec);
      char *two = dyadic_digits(&e, end, 2, MPFR_RNDU);
      text = layout(0, two, 2, e + shift);
      mpfr_free_str(two);
    }
  }
  arf_clear(end);
  arb_clear(distance);
  return text;
}
