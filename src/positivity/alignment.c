/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What alignment a target needs. N keys, one of them at t with weight T_P(t), N - 1 distractors at
 * t0 with weight T_P(t0) each. The target has the share w of the whole weight iff
 *
 *     T_P(t) = c T_P(t0),   c = (N - 1) w / (1 - w),
 *
 * for softmax t = t0 + log c. At order 2 with all distractors at the floor, t0 = -1, that is
 * t = -1 + sqrt(c - 1). (The posfloor text prints -1 + sqrt(2c - 1), which is the answer for
 * t0 = 0: against floored distractors it gives the share 2w/(1 + w).)
 *
 * Growth in N: t^P/P! <= T_P(t) <= (t + P)^P/P! for t >= 0, the right one because the coefficient
 * of t^j on the right is P^(P-j)/(j! (P-j)!) >= 1/j!. With s = (P! c T_P(t0))^(1/P), the
 * "alignment_scale", the required alignment lies in [s - P, s] where it is >= 0: it grows like
 * N^(1/P). */
#include "../enclosure/roots.h"
#include "positivity.h"

/* ---- T_P(t) = y ---- */

/* The zero of P! (T_P(t) - y) right of the minimum, for a rational y above it: T_P is convex, so
 * it is the only zero in [m, m + 2^k] once T_P(m) < y < T_P(m + 2^k). */
static int isolate(arb_t x, const fmpz_poly_t f, const value *argmin) {
  enum { PRECISION_MAX = 4096 };
  arf_t middle, end;
  arf_init(middle);
  arf_init(end);
  int found = 0;
  for (slong prec = 64; prec <= PRECISION_MAX && !found; prec *= 4) {
    value_get_ball(x, argmin, prec);
    arf_set_round(middle, arb_midref(x), prec, ARF_RND_NEAR);
    found = roots_sign_arf(f, middle, prec) == -1;
  }
  for (slong k = 0; found; k++) {
    arf_set_si_2exp_si(end, 1, k);
    arf_add(end, end, middle, ARF_PREC_EXACT, ARF_RND_DOWN);
    if (roots_sign_arf(f, end, 64) != 1) continue;
    arf_set_si_2exp_si(arb_midref(x), 1, k - 1);
    arf_add(arb_midref(x), arb_midref(x), middle, ARF_PREC_EXACT, ARF_RND_DOWN);
    mag_set_ui_2exp_si(arb_radref(x), 1, k - 1);
    break;
  }
  arf_clear(middle);
  arf_clear(end);
  return found;
}

/* For y known not to be below the minimum; 0 when that could not be told apart from the minimum. */
static int invert_rational(value *result, ulong order, const fmpq_t y, const value *argmin,
                           slong prec) {
  fmpz_poly_t f;
  fmpz_t scaled;
  arb_t x;
  fmpz_poly_init(f);
  fmpz_init(scaled);
  arb_init(x);
  positivity_polynomial(f, order);
  fmpz_mul(scaled, f->coeffs, fmpq_numref(y)); /* the coefficient of t^0 is P! */
  fmpz_poly_scalar_mul_fmpz(f, f, fmpq_denref(y));
  fmpz_sub(f->coeffs, f->coeffs, scaled);
  int found = isolate(x, f, argmin);
  if (found) value_set_zero(result, f, x, 0, prec);
  fmpz_poly_clear(f);
  fmpz_clear(scaled);
  arb_clear(x);
  return found;
}

/* The inverse is increasing: the ends of a ball go to the ends of the result. */
static void invert_ball(value *result, ulong order, const arb_t y, const value *argmin,
                        slong prec) {
  arf_t end;
  fmpq_t q;
  value low, high;
  arb_t x, x_high;
  arf_init(end);
  fmpq_init(q);
  value_init(&low);
  value_init(&high);
  arb_init(x);
  arb_init(x_high);
  int found = arb_is_finite(y);
  if (found) {
    arb_get_lbound_arf(end, y, prec);
    arf_get_fmpq(q, end);
    found = invert_rational(&low, order, q, argmin, prec);
  }
  if (found) {
    arb_get_ubound_arf(end, y, prec);
    arf_get_fmpq(q, end);
    found = invert_rational(&high, order, q, argmin, prec);
  }
  if (found) {
    value_get_ball(x, &low, prec);
    value_get_ball(x_high, &high, prec);
    arb_union(x, x, x_high, prec);
  } else {
    arb_indeterminate(x);
  }
  value_set_ball(result, x);
  arf_clear(end);
  fmpq_clear(q);
  value_clear(&low);
  value_clear(&high);
  arb_clear(x);
  arb_clear(x_high);
}

/* t = -1 + sqrt(2y - 1). */
static attest_status invert_quadratic(value *result, const value *y, slong prec,
                                      attest_error *error) {
  value one, twice;
  value_init(&one);
  value_init(&twice);
  value_set_si(&one, 1);
  value_add(&twice, y, y, prec);
  value_sub(&twice, &twice, &one, prec);
  attest_status status = value_sqrt(&twice, &twice, prec, error);
  if (!status) value_sub(result, &twice, &one, prec);
  value_clear(&one);
  value_clear(&twice);
  return status;
}

attest_status positivity_inverse(value *result, ulong order, const value *y, slong prec,
                                 attest_error *error) {
  value argmin, floor;
  value_init(&argmin);
  value_init(&floor);
  positivity_min(&floor, order, prec);
  positivity_argmin(&argmin, order, prec);
  int side = value_compare(y, &floor, prec);
  attest_status status = ATTEST_OK;
  arb_t x;
  arb_init(x);
  if (side == -1) {
    status = attest_fail(error, ATTEST_ERR_INPUT,
                         "no alignment reaches the wanted weight, which is below the minimum of "
                         "T_%ld (raise w or N)",
                         (long)order);
  } else if (side == 0) {
    value_set(result, &argmin);
  } else if (order == 2) {
    status = invert_quadratic(result, y, prec, error);
  } else if (side == VALUE_UNKNOWN) {
    arb_indeterminate(x);
    value_set_ball(result, x);
  } else if (y->kind != VALUE_RATIONAL ||
             !invert_rational(result, order, y->rational, &argmin, prec)) {
    value_get_ball(x, y, prec);
    invert_ball(result, order, x, &argmin, prec);
  }
  arb_clear(x);
  value_clear(&argmin);
  value_clear(&floor);
  return status;
}

/* ---- rows of the table ---- */

/* P (even, >= 2), N >= 2 and, where the function has it, 0 < w < 1. */
static attest_status order_of(slong *order, const value *argument, attest_error *error) {
  attest_status status = function_integer(order, argument, "P", 2, POSITIVITY_ORDER_MAX, error);
  if (!status && *order % 2)
    status = attest_fail(error, ATTEST_ERR_INPUT,
                         "P must be even: a partial sum of odd order has no positive floor");
  return status;
}

/* c = (N - 1) w / (1 - w); *certain: N and w certainly lie in their domains. */
static attest_status odds(value *c, int *certain, const value *keys, const value *w, slong prec,
                          attest_error *error) {
  value zero, one, rest;
  int inside;
  value_init(&zero);
  value_init(&one);
  value_init(&rest);
  value_set_si(&one, 1);
  attest_status status =
      function_range(certain, keys, "N", &one, 1, NULL, 0, "a number above 1", error);
  if (!status)
    status = function_range(&inside, w, "w", &zero, 1, &one, 1, "above 0 and below 1", error);
  if (!status) {
    *certain = *certain && inside;
    value_sub(&rest, &one, w, prec);
    value_sub(c, keys, &one, prec);
    value_mul(c, c, w, prec);
    status = value_div(c, c, &rest, prec, error);
  }
  value_clear(&zero);
  value_clear(&one);
  value_clear(&rest);
  return status;
}

/* T_P(t0), or the minimum where t0 is absent. */
static attest_status distractor(value *weight, ulong order, const value *t0, slong prec,
                                attest_error *error) {
  attest_status status = t0 ? function_number(t0, "t0", error) : ATTEST_OK;
  if (status) return status;
  if (t0)
    positivity_taylor(weight, order, t0, prec);
  else
    positivity_min(weight, order, prec);
  return ATTEST_OK;
}

/* The weight c T_P(t0) that the target must have. */
static attest_status target(value *weight, slong *order, int *certain, const value arguments[],
                            size_t count, slong prec, attest_error *error) {
  value c;
  value_init(&c);
  attest_status status = order_of(order, &arguments[0], error);
  if (!status) status = odds(&c, certain, &arguments[1], &arguments[2], prec, error);
  if (!status)
    status = distractor(weight, (ulong)*order, count > 3 ? &arguments[3] : NULL, prec, error);
  if (!status) value_mul(weight, weight, &c, prec);
  value_clear(&c);
  return status;
}

static void set_unknown(value *result) {
  arb_t x;
  arb_init(x);
  arb_indeterminate(x);
  value_set_ball(result, x);
  arb_clear(x);
}

attest_status positivity_eval_alignment(value *result, const value arguments[], size_t count,
                                        slong prec, attest_error *error) {
  value weight;
  slong order;
  int certain;
  value_init(&weight);
  attest_status status = target(&weight, &order, &certain, arguments, count, prec, error);
  if (!status && certain)
    status = positivity_inverse(result, (ulong)order, &weight, prec, error);
  else if (!status)
    set_unknown(result);
  value_clear(&weight);
  return status;
}

attest_status positivity_eval_alignment_scale(value *result, const value arguments[], size_t count,
                                              slong prec, attest_error *error) {
  value weight, factorial, exponent;
  slong order;
  int certain;
  value_init(&weight);
  value_init(&factorial);
  value_init(&exponent);
  attest_status status = target(&weight, &order, &certain, arguments, count, prec, error);
  if (!status) {
    value_set_si(&factorial, 0);
    fmpz_fac_ui(fmpq_numref(factorial.rational), (ulong)order);
    value_mul(&weight, &weight, &factorial, prec);
    fmpq_set_si(exponent.rational, 1, (ulong)order);
    status = value_pow(result, &weight, &exponent, prec, error);
  }
  if (!status && !certain) set_unknown(result);
  value_clear(&weight);
  value_clear(&factorial);
  value_clear(&exponent);
  return status;
}

attest_status positivity_eval_alignment_softmax(value *result, const value arguments[],
                                                size_t count, slong prec, attest_error *error) {
  value c, one;
  arb_t x;
  int certain;
  value_init(&c);
  value_init(&one);
  arb_init(x);
  value_set_si(&one, 1);
  attest_status status = odds(&c, &certain, &arguments[0], &arguments[1], prec, error);
  if (!status && count > 2) status = function_number(&arguments[2], "t0", error);
  if (!status && value_compare(&c, &one, prec) == 0) {
    value_set_si(&c, 0); /* log 1 */
  } else if (!status) {
    value_get_ball(x, &c, prec);
    arb_log(x, x, prec);
    value_set_ball(&c, x);
  }
  if (!status && count > 2) value_add(&c, &c, &arguments[2], prec);
  if (!status) value_set(result, &c);
  value_clear(&c);
  value_clear(&one);
  arb_clear(x);
  return status;
}

/* share = a / (a + (N - 1) b). */
static attest_status share(value *result, const value *a, const value *b, const value *keys,
                           slong prec, attest_error *error) {
  value one, total;
  int certain;
  value_init(&one);
  value_init(&total);
  value_set_si(&one, 1);
  attest_status status =
      function_range(&certain, keys, "N", &one, 0, NULL, 0, "a number of keys, 1 or more", error);
  if (!status) {
    value_sub(&total, keys, &one, prec);
    value_mul(&total, &total, b, prec);
    value_add(&total, &total, a, prec);
    status = value_div(result, a, &total, prec, error);
  }
  value_clear(&one);
  value_clear(&total);
  return status;
}

attest_status positivity_eval_weight(value *result, const value arguments[], size_t count,
                                     slong prec, attest_error *error) {
  value a, b;
  slong order = 0;
  value_init(&a);
  value_init(&b);
  attest_status status =
      function_integer(&order, &arguments[0], "P", 0, POSITIVITY_ORDER_MAX, error);
  if (!status && count < 4) status = order_of(&order, &arguments[0], error);
  if (!status) status = function_number(&arguments[2], "t", error);
  if (!status) status = distractor(&b, (ulong)order, count > 3 ? &arguments[3] : NULL, prec, error);
  if (!status) {
    positivity_taylor(&a, (ulong)order, &arguments[2], prec);
    status = share(result, &a, &b, &arguments[1], prec, error);
  }
  value_clear(&a);
  value_clear(&b);
  return status;
}

/* e^(t - t0) / (e^(t - t0) + N - 1): no overflow, and 1/N exactly at t = t0. */
attest_status positivity_eval_weight_softmax(value *result, const value arguments[], size_t count,
                                             slong prec, attest_error *error) {
  (void)count;
  value ratio, one;
  arb_t x;
  value_init(&ratio);
  value_init(&one);
  arb_init(x);
  value_set_si(&one, 1);
  attest_status status = function_number(&arguments[1], "t", error);
  if (!status) status = function_number(&arguments[2], "t0", error);
  if (!status) {
    value_sub(&ratio, &arguments[1], &arguments[2], prec);
    value_get_ball(x, &ratio, prec);
    if (value_sign(&ratio) == 0) {
      value_set_si(&ratio, 1);
    } else {
      arb_exp(x, x, prec);
      value_set_ball(&ratio, x);
    }
    status = share(result, &ratio, &one, &arguments[0], prec, error);
  }
  value_clear(&ratio);
  value_clear(&one);
  arb_clear(x);
  return status;
}
