/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The functions of the language itself. */
#include <math.h>

#include "expression.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

typedef void ball_function(arb_t, const arb_t, slong);

/* f(x), which is the integer `image` exactly at the integer `exact`. */
static attest_status on_number(value *result, const value *x, ball_function *f, slong exact,
                               slong image, slong prec, attest_error *error) {
  attest_status status = function_number(x, "the argument", error);
  if (status) return status;
  if (x->kind == VALUE_RATIONAL && fmpz_equal_si(fmpq_numref(x->rational), exact) &&
      fmpz_is_one(fmpq_denref(x->rational))) {
    value_set_si(result, image);
    return ATTEST_OK;
  }
  arb_t y;
  arb_init(y);
  value_get_ball(y, x, prec + 4);
  f(y, y, prec);
  value_set_ball(result, y);
  arb_clear(y);
  return ATTEST_OK;
}

/* ---- roots, exponentials, angles ---- */

static attest_status eval_sqrt(value *result, const value x[], size_t count, slong prec,
                               attest_error *error) {
  (void)count;
  attest_status status = function_number(&x[0], "the argument", error);
  return status ? status : value_sqrt(result, &x[0], prec, error);
}

static attest_status eval_exp(value *result, const value x[], size_t count, slong prec,
                              attest_error *error) {
  (void)count;
  attest_status status = function_number(&x[0], "the argument", error);
  if (status) return status;
  arb_t y;
  arb_init(y);
  value_get_ball(y, &x[0], 64);
  int beyond = arb_is_finite(y) && arf_cmpabs_2exp_si(arb_midref(y), 22) > 0;
  arb_clear(y);
  if (beyond)
    return attest_fail(error, ATTEST_ERR_INPUT, "exp is too large or too close to 0 there");
  return on_number(result, &x[0], arb_exp, 0, 1, prec, error);
}

static attest_status eval_log(value *result, const value x[], size_t count, slong prec,
                              attest_error *error) {
  (void)count;
  attest_status status = function_number(&x[0], "the argument", error);
  if (status) return status;
  int sign = value_sign(&x[0]);
  if (sign == 0 || sign == -1)
    return attest_fail(error, ATTEST_ERR_INPUT, "logarithm of %s",
                       sign ? "a negative number" : "zero");
  return on_number(result, &x[0], arb_log, 1, 0, prec, error);
}

static attest_status eval_sin(value *result, const value x[], size_t count, slong prec,
                              attest_error *error) {
  (void)count;
  return on_number(result, &x[0], arb_sin, 0, 0, prec, error);
}

static attest_status eval_cos(value *result, const value x[], size_t count, slong prec,
                              attest_error *error) {
  (void)count;
  return on_number(result, &x[0], arb_cos, 0, 1, prec, error);
}

/* ---- integers ---- */

static attest_status eval_floor(value *result, const value x[], size_t count, slong prec,
                                attest_error *error) {
  (void)count;
  attest_status status = function_number(&x[0], "the argument", error);
  if (!status) value_floor(result, &x[0], prec);
  return status;
}

static attest_status eval_abs(value *result, const value x[], size_t count, slong prec,
                              attest_error *error) {
  (void)count;
  (void)prec;
  attest_status status = function_number(&x[0], "the argument", error);
  if (!status) value_abs(result, &x[0]);
  return status;
}

static attest_status too_large(attest_error *error) {
  return attest_fail(error, ATTEST_ERR_INPUT, "the number is too large (above 10^%ld)",
                     (long)(VALUE_BITS_MAX * 0.30103));
}

static attest_status eval_factorial(value *result, const value x[], size_t count, slong prec,
                                    attest_error *error) {
  slong n;
  (void)count;
  (void)prec;
  attest_status status = function_integer(&n, &x[0], "n", 0, WORD_MAX, error);
  if (status) return status;
  if (lgamma((double)n + 1) > VALUE_BITS_MAX * 0.6931) return too_large(error);
  value_set_si(result, 0);
  fmpz_fac_ui(fmpq_numref(result->rational), (ulong)n);
  return ATTEST_OK;
}

static attest_status eval_binomial(value *result, const value x[], size_t count, slong prec,
                                   attest_error *error) {
  slong n, k;
  (void)count;
  (void)prec;
  attest_status status = function_integer(&n, &x[0], "n", 0, WORD_MAX, error);
  if (!status) status = function_integer(&k, &x[1], "k", 0, WORD_MAX, error);
  if (status) return status;
  value_set_si(result, 0);
  if (k > n) return ATTEST_OK;
  if (k > n / 2) k = n - k;
  /* binomial(n, k) <= (e n/k)^k */
  if (k && (double)k * (1 + log((double)n / (double)k)) > VALUE_BITS_MAX * 0.6931)
    return too_large(error);
  fmpz_bin_uiui(fmpq_numref(result->rational), (ulong)n, (ulong)k);
  return ATTEST_OK;
}

/* ---- many numbers: separate arguments or one list ---- */

static attest_status numbers_of(const value **items, size_t *n, const value x[], size_t count,
                                int may_be_empty, attest_error *error) {
  int is_list = count == 1 && x[0].kind == VALUE_LIST;
  *items = is_list ? x[0].items : x;
  *n = is_list ? x[0].count : count;
  if (!*n && !may_be_empty) return attest_fail(error, ATTEST_ERR_INPUT, "the list is empty");
  for (size_t i = 0; i < *n; i++) {
    attest_status status = function_number(&(*items)[i], "every item", error);
    if (status) return status;
  }
  return ATTEST_OK;
}

static attest_status eval_sum(value *result, const value x[], size_t count, slong prec,
                              attest_error *error) {
  const value *items;
  size_t n;
  attest_status status = numbers_of(&items, &n, x, count, 1, error);
  if (status) return status;
  value_set_si(result, 0);
  for (size_t i = 0; i < n; i++)
    value_add(result, result, &items[i], prec + 32);
  return ATTEST_OK;
}

/* The larger of a and b for direction 1, the smaller for -1. */
static void choose(value *a, const value *b, int direction, slong prec) {
  int sign = value_compare(a, b, prec);
  if (sign == VALUE_UNKNOWN) {
    arb_t x, y;
    arb_init(x);
    arb_init(y);
    value_get_ball(x, a, prec);
    value_get_ball(y, b, prec);
    if (direction > 0)
      arb_max(x, x, y, prec);
    else
      arb_min(x, x, y, prec);
    value_set_ball(a, x);
    arb_clear(x);
    arb_clear(y);
  } else if (sign == -direction) {
    value_set(a, b);
  }
}

static attest_status eval_extreme(value *result, const value x[], size_t count, int direction,
                                  slong prec, attest_error *error) {
  const value *items;
  size_t n;
  attest_status status = numbers_of(&items, &n, x, count, 0, error);
  if (status) return status;
  value_set(result, &items[0]);
  for (size_t i = 1; i < n; i++)
    choose(result, &items[i], direction, prec);
  return ATTEST_OK;
}

static attest_status eval_min(value *result, const value x[], size_t count, slong prec,
                              attest_error *error) {
  return eval_extreme(result, x, count, -1, prec, error);
}

static attest_status eval_max(value *result, const value x[], size_t count, slong prec,
                              attest_error *error) {
  return eval_extreme(result, x, count, 1, prec, error);
}

static const room_function functions[] = {
    {"sqrt", "x", "square root", 1, 1, eval_sqrt, NULL},
    {"exp", "x", "e^x", 1, 1, eval_exp, NULL},
    {"log", "x", "natural logarithm", 1, 1, eval_log, NULL},
    {"sin", "x", "sine of x in radians", 1, 1, eval_sin, NULL},
    {"cos", "x", "cosine of x in radians", 1, 1, eval_cos, NULL},
    {"factorial", "n", "n!", 1, 1, eval_factorial, NULL},
    {"binomial", "n, k", "n choose k", 2, 2, eval_binomial, NULL},
    {"floor", "x", "the largest integer that is not above x", 1, 1, eval_floor, NULL},
    {"abs", "x", "absolute value", 1, 1, eval_abs, NULL},
    {"min", "x, ..", "the smallest of several numbers, or of a list", 1, 1000, eval_min, NULL},
    {"max", "x, ..", "the largest of several numbers, or of a list", 1, 1000, eval_max, NULL},
    {"sum", "x, ..",
     "the sum of several numbers or of a list; sum(k, a, b, EXPR): of EXPR for k = a .. b", 0, 1000,
     eval_sum, NULL},
};

const room_functions expression_functions = {"language", functions, COUNT(functions)};
