/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Powers and square roots of values. */
#include "value.h"

#include <math.h>

attest_status value_sqrt(value *result, const value *a, slong prec, attest_error *error) {
  if (value_sign(a) == -1)
    return attest_fail(error, ATTEST_ERR_INPUT, "square root of a negative number");
  if (a->kind == VALUE_RATIONAL) {
    value_sqrt_fmpq(result, a->rational, prec);
    return ATTEST_OK;
  }
  arb_t x;
  arb_init(x);
  value_get_ball(x, a, prec);
  arb_sqrt(x, x, prec);
  value_set_ball(result, x);
  arb_clear(x);
  return ATTEST_OK;
}

/* log2 |a| as a double, for estimates of size; 0 for zero. */
static double log2_size(const value *a) {
  arb_t x;
  arb_init(x);
  value_get_ball(x, a, 64);
  double size = 0;
  if (arb_is_finite(x) && !arb_contains_zero(x)) {
    arb_abs(x, x);
    arb_log(x, x, 64);
    size = arf_get_d(arb_midref(x), ARF_RND_NEAR) * 1.4426950408889634;
  }
  arb_clear(x);
  return size;
}

/* a^n for n >= 0 where the result is kept exactly. */
static void power_by_squaring(value *result, const value *a, ulong n, slong prec) {
  value power;
  int bits = 0;
  value_init(&power);
  value_set_si(&power, 1);
  while (n >> bits)
    bits++;
  for (int bit = bits - 1; bit >= 0; bit--) {
    value_mul(&power, &power, &power, prec);
    if (n >> bit & 1) value_mul(&power, &power, a, prec);
  }
  value_swap(result, &power);
  value_clear(&power);
}

/* Whether a rational to the |n| stays within the bits that rationals may have. */
static int power_is_exact(const value *a, ulong n) {
  if (a->kind == VALUE_BALL) return 0;
  if (a->kind == VALUE_ALGEBRAIC) return n <= 4096;
  int whole = fmpz_is_one(fmpq_denref(a->rational)) || fmpz_is_pm1(fmpq_numref(a->rational));
  double bits = whole ? fabs(log2_size(a)) : (double)fmpq_height_bits(a->rational);
  return bits * (double)n <= (whole ? VALUE_BITS_MAX : VALUE_FRACTION_BITS);
}

static attest_status integer_power(value *result, const value *a, const fmpz_t n, slong prec,
                                   attest_error *error) {
  int sign = value_sign(a);
  if (fmpz_sgn(n) < 0 && sign == 0)
    return attest_fail(error, ATTEST_ERR_INPUT, "0 to a negative power is a division by zero");
  int is_unit = a->kind == VALUE_RATIONAL && fmpz_is_one(fmpq_denref(a->rational)) &&
                (sign == 0 || fmpz_is_pm1(fmpq_numref(a->rational)));
  if (is_unit) {
    int value_of = fmpz_is_zero(n) ? 1 : sign < 0 && fmpz_is_even(n) ? 1 : sign;
    value_set_si(result, value_of);
    return ATTEST_OK;
  }
  if (log2_size(a) * fmpz_get_d(n) > VALUE_BITS_MAX)
    return attest_fail(error, ATTEST_ERR_INPUT, "the power is too large (above 10^%ld)",
                       (long)(VALUE_BITS_MAX * 0.30103));
  if (log2_size(a) * fmpz_get_d(n) < -VALUE_BITS_MAX)
    return attest_fail(error, ATTEST_ERR_INPUT, "the power is too close to 0 (below 10^-%ld)",
                       (long)(VALUE_BITS_MAX * 0.30103));
  if (fmpz_bits(n) < 62 && power_is_exact(a, (ulong)FLINT_ABS(fmpz_get_si(n)))) {
    value base, one;
    value_init(&base);
    value_init(&one);
    value_set_si(&one, 1);
    value_set(&base, a);
    attest_status status = fmpz_sgn(n) < 0 ? value_div(&base, &one, a, prec, error) : ATTEST_OK;
    if (!status) power_by_squaring(result, &base, (ulong)FLINT_ABS(fmpz_get_si(n)), prec);
    value_clear(&base);
    value_clear(&one);
    return status;
  }
  arb_t x;
  arb_init(x);
  value_get_ball(x, a, prec + (slong)fmpz_bits(n));
  if (arb_is_finite(x)) /* else perhaps 1/0: its power 0 is not 1 */
    arb_pow_fmpz(x, x, n, prec + (slong)fmpz_bits(n));
  else
    arb_indeterminate(x);
  value_set_ball(result, x);
  arb_clear(x);
  return ATTEST_OK;
}

/* a^(p/q) for a rational a > 0 that is the q-th power of a rational: its root. */
static int exact_root(value *root, const value *a, const fmpz_t q) {
  if (a->kind != VALUE_RATIONAL || fmpz_cmp_si(q, 4096) > 0) return 0;
  slong n = fmpz_get_si(q);
  fmpq_t candidate, power;
  fmpq_init(candidate);
  fmpq_init(power);
  fmpz_root(fmpq_numref(candidate), fmpq_numref(a->rational), n);
  fmpz_root(fmpq_denref(candidate), fmpq_denref(a->rational), n);
  fmpq_pow_si(power, candidate, n);
  int exact = fmpq_equal(power, a->rational);
  if (exact) value_set_fmpq(root, candidate);
  fmpq_clear(candidate);
  fmpq_clear(power);
  return exact;
}

static attest_status real_power(value *result, const value *a, const value *b, slong prec,
                                attest_error *error) {
  arb_t x, y;
  arb_init(x);
  arb_init(y);
  value_get_ball(x, a, prec);
  value_get_ball(y, b, prec);
  attest_status status = ATTEST_OK;
  double exponent = arf_get_d(arb_midref(y), ARF_RND_NEAR);
  if (arb_is_finite(y) && log2_size(a) * exponent > VALUE_BITS_MAX)
    status = attest_fail(error, ATTEST_ERR_INPUT, "the power is too large (above 10^%ld)",
                         (long)(VALUE_BITS_MAX * 0.30103));
  else if (arb_is_finite(y) && log2_size(a) * exponent < -VALUE_BITS_MAX)
    status = attest_fail(error, ATTEST_ERR_INPUT, "the power is too close to 0 (below 10^-%ld)",
                         (long)(VALUE_BITS_MAX * 0.30103));
  else if (arb_contains_nonpositive(x))
    arb_indeterminate(x); /* the sign of the base is open */
  else
    arb_pow(x, x, y, prec);
  if (!status) value_set_ball(result, x);
  arb_clear(x);
  arb_clear(y);
  return status;
}

/* p/q with q > 1, for a > 0. */
static attest_status rational_power(value *result, const value *a, const fmpq_t b, slong prec,
                                    attest_error *error) {
  value root;
  value_init(&root);
  attest_status status = ATTEST_OK;
  int known = exact_root(&root, a, fmpq_denref(b));
  if (!known && fmpz_equal_si(fmpq_denref(b), 2)) {
    status = value_sqrt(&root, a, prec, error);
    known = 1;
  }
  if (known && !status) {
    status = integer_power(result, &root, fmpq_numref(b), prec, error);
  } else if (!status) {
    value_set_fmpq(&root, b);
    status = real_power(result, a, &root, prec, error);
  }
  value_clear(&root);
  return status;
}

attest_status value_pow(value *result, const value *a, const value *b, slong prec,
                        attest_error *error) {
  int is_rational = b->kind == VALUE_RATIONAL, sign = value_sign(a);
  if (is_rational && fmpz_is_one(fmpq_denref(b->rational)))
    return integer_power(result, a, fmpq_numref(b->rational), prec, error);
  if (sign == -1)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "a negative number to a power that is not an integer");
  if (sign == 0) {
    int exponent = value_sign(b);
    if (exponent == -1)
      return attest_fail(error, ATTEST_ERR_INPUT, "0 to a negative power is a division by zero");
    if (exponent == 1) {
      value_set_si(result, 0);
      return ATTEST_OK;
    }
  }
  if (is_rational && sign == 1) return rational_power(result, a, b->rational, prec, error);
  return real_power(result, a, b, prec, error);
}
