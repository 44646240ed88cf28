/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rounding balls to a dtype. All decisions are taken on exact dyadic numbers by exponent and
 * truncation, so that midpoints and radii of any exponent cost the same. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "enclosure.h"

/* More than any format's precision + 2: rounding boundaries lie on this grid. */
enum { GRID = 64 };

/* |x| rounded: ARF_RND_NEAR (ties to even), ARF_RND_DOWN (towards zero), ARF_RND_UP (away). x is
 * finite and not zero. */
static double round_magnitude(const arf_t x, const tensor_format *format, arf_rnd_t direction) {
  const int p = format->precision, emin = format->emin, emax = format->emax;
  const double smallest = ldexp(1.0, emin - p + 1);
  const double largest = ldexp(2.0 - ldexp(2.0, -p), emax);
  if (arf_cmpabs_2exp_si(x, emax + 1) >= 0) return direction == ARF_RND_DOWN ? largest : INFINITY;
  if (arf_cmpabs_2exp_si(x, emin - p) <= 0) return direction == ARF_RND_UP ? smallest : 0.0;

  slong e = fmpz_get_si(ARF_EXPREF(x)) - 1; /* 2^e <= |x| < 2^(e+1) */
  slong bits = e >= emin ? p : e - (emin - p);
  if (bits == 0) return direction == ARF_RND_DOWN ? 0.0 : smallest;

  arf_t y;
  arf_init(y);
  arf_set_round(y, x, bits, direction);
  arf_mul_2exp_si(y, y, -e);
  double magnitude = ldexp(fabs(arf_get_d(y, ARF_RND_DOWN)), (int)e); /* both exact */
  arf_clear(y);
  return magnitude > largest ? INFINITY : magnitude;
}

static double round_dyadic(const arf_t x, const tensor_format *format, arf_rnd_t direction) {
  if (arf_is_zero(x)) return 0.0;
  int negative = arf_sgn(x) < 0;
  if (direction == ARF_RND_FLOOR) direction = negative ? ARF_RND_UP : ARF_RND_DOWN;
  if (direction == ARF_RND_CEIL) direction = negative ? ARF_RND_DOWN : ARF_RND_UP;
  double magnitude = arf_is_inf(x) ? INFINITY : round_magnitude(x, format, direction);
  return negative ? -magnitude : magnitude;
}

/* A short number on the same side of every rounding boundary as the end mid + sign * rad of the
 * ball: truncated to GRID bits, and when something was cut, half a unit of the last place put in
 * its stead. */
static void ball_end(arf_t end, const arb_t x, int sign) {
  arf_t rad;
  arf_init(rad);
  arf_set_mag(rad, arb_radref(x));
  int inexact = sign > 0 ? arf_add(end, arb_midref(x), rad, GRID, ARF_RND_DOWN)
                         : arf_sub(end, arb_midref(x), rad, GRID, ARF_RND_DOWN);
  if (inexact) {
    arf_set_si(rad, arf_sgn(end));
    fmpz_t unit;
    fmpz_init(unit);
    fmpz_sub_ui(unit, ARF_EXPREF(end), GRID + 1);
    arf_mul_2exp_fmpz(rad, rad, unit);
    arf_add(end, end, rad, ARF_PREC_EXACT, ARF_RND_DOWN);
    fmpz_clear(unit);
  }
  arf_clear(rad);
}

int enclosure_round(double *result, const arb_t x, const tensor_format *format) {
  if (arf_is_nan(arb_midref(x)) || mag_is_inf(arb_radref(x))) return 0;
  if (arb_is_exact(x)) {
    *result = round_dyadic(arb_midref(x), format, ARF_RND_NEAR);
    return 1;
  }
  arf_t end;
  arf_init(end);
  ball_end(end, x, -1);
  double low = round_dyadic(end, format, ARF_RND_NEAR);
  ball_end(end, x, 1);
  double high = round_dyadic(end, format, ARF_RND_NEAR);
  arf_clear(end);
  if (low != high || signbit(low) != signbit(high)) return 0;
  *result = low;
  return 1;
}

double enclosure_upper(const arb_t x) {
  arf_t end;
  arf_init(end);
  arb_get_ubound_arf(end, x, GRID);
  double bound = arf_is_nan(end)
                     ? INFINITY
                     : round_dyadic(end, tensor_dtype_format(ATTEST_FLOAT64), ARF_RND_CEIL);
  arf_clear(end);
  return bound;
}

double enclosure_lower(const arb_t x) {
  arf_t end;
  arf_init(end);
  arb_get_lbound_arf(end, x, GRID);
  double bound = arf_is_nan(end)
                     ? -INFINITY
                     : round_dyadic(end, tensor_dtype_format(ATTEST_FLOAT64), ARF_RND_FLOOR);
  arf_clear(end);
  return bound;
}
