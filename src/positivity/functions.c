/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What this room adds to the expression language. */
#include "positivity.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* ---- partial sums of exp ---- */

static attest_status eval_taylor(value *result, const value arguments[], size_t count, slong prec,
                                 attest_error *error) {
  slong order;
  (void)count;
  attest_status status =
      function_integer(&order, &arguments[0], "P", 0, POSITIVITY_ORDER_MAX, error);
  if (!status) status = function_number(&arguments[1], "t", error);
  if (!status) positivity_taylor(result, (ulong)order, &arguments[1], prec);
  return status;
}

static attest_status taylor_polynomial(fmpq_poly_t p, const value arguments[], size_t count,
                                       attest_error *error) {
  slong order;
  fmpz_poly_t f;
  fmpz_t factorial;
  (void)count;
  attest_status status =
      function_integer(&order, &arguments[0], "P", 0, POSITIVITY_ORDER_MAX, error);
  if (status) return status;
  fmpz_poly_init(f);
  fmpz_init(factorial);
  positivity_polynomial(f, (ulong)order);
  fmpz_fac_ui(factorial, (ulong)order);
  fmpq_poly_set_fmpz_poly(p, f);
  fmpq_poly_scalar_div_fmpz(p, p, factorial);
  fmpz_poly_clear(f);
  fmpz_clear(factorial);
  return ATTEST_OK;
}

static attest_status eval_min(value *result, const value arguments[], size_t count, slong prec,
                              attest_error *error) {
  slong order;
  (void)count;
  attest_status status =
      function_integer(&order, &arguments[0], "P", 0, POSITIVITY_ORDER_MAX, error);
  if (status) return status;
  if (order % 2)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "P must be even: a partial sum of odd order has no minimum");
  if (order)
    positivity_min(result, (ulong)order, prec);
  else
    value_set_si(result, 1);
  return ATTEST_OK;
}

static attest_status eval_argmin(value *result, const value arguments[], size_t count, slong prec,
                                 attest_error *error) {
  slong order;
  (void)count;
  attest_status status =
      function_integer(&order, &arguments[0], "P", 0, POSITIVITY_ORDER_MAX, error);
  if (status) return status;
  if (order == 0 || order % 2)
    return attest_fail(error, ATTEST_ERR_INPUT, "P must be even and positive: %s",
                       order ? "a partial sum of odd order has no minimum"
                             : "at order 0 every t is a minimum");
  positivity_argmin(result, (ulong)order, prec);
  return ATTEST_OK;
}

static attest_status eval_zeros(value *result, const value arguments[], size_t count, slong prec,
                                attest_error *error) {
  slong order;
  (void)count;
  (void)prec;
  attest_status status =
      function_integer(&order, &arguments[0], "P", 0, POSITIVITY_ORDER_MAX, error);
  if (!status) value_set_si(result, positivity_zeros((ulong)order, NULL, NULL));
  return status;
}

/* ---- accuracy ---- */

/* (-1)^(n-1) (e^x T_{n-1}(-x) - 1) = 1/(n-1)! integral_0^x s^(n-1) e^s ds at one exact x > 0, with
 * as many bits more as the cancellation takes. */
static void remainder_at(arb_t result, ulong n, const arb_t x, slong prec) {
  value minus, sum;
  arb_t exponential;
  value_init(&minus);
  value_init(&sum);
  arb_init(exponential);
  arb_neg(minus.ball, x);
  minus.kind = VALUE_BALL;
  slong work = prec + 64;
  do {
    positivity_taylor(&sum, n - 1, &minus, work);
    arb_exp(exponential, x, work);
    arb_mul(result, exponential, sum.ball, work);
    arb_sub_ui(result, result, 1, work);
    if (n % 2 == 0) arb_neg(result, result);
    work *= 2;
  } while (arb_rel_accuracy_bits(result) < prec && work < (1 << 22));
  value_clear(&minus);
  value_clear(&sum);
  arb_clear(exponential);
}

/* Increasing in x, so a ball goes to the values at its ends. result is not x. */
static void remainder_ball(arb_t result, ulong n, const arb_t x, slong prec) {
  arb_t end, high;
  arf_t point;
  arb_init(end);
  arb_init(high);
  arf_init(point);
  arb_get_lbound_arf(point, x, prec);
  if (arf_sgn(point) <= 0) {
    arb_zero(result);
  } else {
    arb_set_arf(end, point);
    remainder_at(result, n, end, prec);
  }
  arb_get_ubound_arf(point, x, prec);
  arb_set_arf(end, point);
  if (arf_sgn(point) > 0) remainder_at(high, n, end, prec);
  arb_union(result, result, high, prec);
  arb_clear(end);
  arb_clear(high);
  arf_clear(point);
}

static attest_status eval_remainder(value *result, const value arguments[], size_t count,
                                    slong prec, attest_error *error) {
  enum { LARGEST = 1 << 16 };
  slong n;
  value zero, largest;
  int inside;
  arb_t x, y;
  (void)count;
  value_init(&zero);
  value_init(&largest);
  arb_init(x);
  arb_init(y);
  value_set_si(&largest, LARGEST);
  attest_status status = function_integer(&n, &arguments[0], "n", 1, POSITIVITY_ORDER_MAX, error);
  if (!status)
    status = function_range(&inside, &arguments[1], "x", &zero, 0, &largest, 0,
                            "from 0 to 65536: it bounds |t|", error);
  if (!status) {
    value_get_ball(x, &arguments[1], prec);
    if (!inside)
      arb_indeterminate(y);
    else
      remainder_ball(y, (ulong)n, x, prec);
    if (arb_is_zero(x))
      value_set_si(result, 0);
    else
      value_set_ball(result, y);
  }
  value_clear(&zero);
  value_clear(&largest);
  arb_clear(x);
  arb_clear(y);
  return status;
}

/* 2 (1 - sqrt(1 - eps^2)) / eps = 2 eps / (1 + sqrt(1 - eps^2)), which is 0 at eps = 0. */
static attest_status eval_output_error(value *result, const value arguments[], size_t count,
                                       slong prec, attest_error *error) {
  const value *eps = &arguments[0];
  value zero, one, root;
  int inside;
  (void)count;
  value_init(&zero);
  value_init(&one);
  value_init(&root);
  value_set_si(&one, 1);
  attest_status status =
      function_range(&inside, eps, "eps", &zero, 0, &one, 1, "from 0 to below 1", error);
  if (!status) {
    value_mul(&root, eps, eps, prec);
    value_sub(&root, &one, &root, prec);
    status = value_sqrt(&root, &root, prec, error);
  }
  if (!status) {
    value_add(&root, &root, &one, prec);
    value_add(&one, eps, eps, prec);
    status = value_div(result, &one, &root, prec, error);
  }
  value_clear(&zero);
  value_clear(&one);
  value_clear(&root);
  return status;
}

/* e^t / T_2(t) */
static attest_status eval_fidelity(value *result, const value arguments[], size_t count, slong prec,
                                   attest_error *error) {
  value sum, exponential;
  arb_t x;
  (void)count;
  attest_status status = function_number(&arguments[0], "t", error);
  if (status) return status;
  value_init(&sum);
  value_init(&exponential);
  arb_init(x);
  positivity_taylor(&sum, 2, &arguments[0], prec);
  value_get_ball(x, &arguments[0], prec);
  if (arb_is_zero(x)) {
    value_set_si(&exponential, 1);
  } else if (arf_cmpabs_2exp_si(arb_midref(x), 22) < 0) {
    arb_exp(x, x, prec);
    value_set_ball(&exponential, x);
  } else if (arb_is_finite(x)) {
    status = attest_fail(error, ATTEST_ERR_INPUT, "t must be below 2^22 in size");
  } else {
    value_set_ball(&exponential, x);
  }
  if (!status) status = value_div(result, &exponential, &sum, prec, error);
  value_clear(&sum);
  value_clear(&exponential);
  arb_clear(x);
  return status;
}

/* ---- dimensions ---- */

enum { DIMENSION_MAX = 1000000, DIMENSION_ORDER_MAX = 1000 };

/* d and P, and binomial(d + P - less, P - less), 0 for P < less: the polynomials of degree P - less
 * in d - 1 + less variables. */
static attest_status dimension(fmpz_t n, const value *d, const value *order, slong less,
                               attest_error *error) {
  slong dimensions, degree;
  attest_status status = function_integer(&dimensions, d, "d", 1, DIMENSION_MAX, error);
  if (!status) status = function_integer(&degree, order, "P", 0, DIMENSION_ORDER_MAX, error);
  if (status) return status;
  if (degree < less)
    fmpz_zero(n);
  else
    fmpz_bin_uiui(n, (ulong)(dimensions + degree - less), (ulong)(degree - less));
  return ATTEST_OK;
}

static attest_status eval_dimension(value *result, const value arguments[], size_t count,
                                    slong prec, attest_error *error) {
  value_set_si(result, 0);
  (void)count;
  (void)prec;
  return dimension(fmpq_numref(result->rational), &arguments[0], &arguments[1], 0, error);
}

/* On the unit sphere |x|^2 = 1 identifies degree m - 2 with a part of degree m: what is left are
 * degrees P and P - 1, binomial(d+P-1, P) + binomial(d+P-2, P-1)
 * = binomial(d+P, P) - binomial(d+P-2, P-2). */
static attest_status eval_dimension_sphere(value *result, const value arguments[], size_t count,
                                           slong prec, attest_error *error) {
  fmpz_t less;
  attest_status status = eval_dimension(result, arguments, count, prec, error);
  if (status) return status;
  fmpz_init(less);
  status = dimension(less, &arguments[0], &arguments[1], 2, error);
  fmpz_sub(fmpq_numref(result->rational), fmpq_numref(result->rational), less);
  fmpz_clear(less);
  return status;
}

static attest_status eval_state(value *result, const value arguments[], size_t count, slong prec,
                                attest_error *error) {
  slong width;
  const value pair[2] = {arguments[0], arguments[2]};
  attest_status status = function_integer(&width, &arguments[1], "dv", 1, DIMENSION_MAX, error);
  if (!status) status = eval_dimension(result, pair, count, prec, error);
  if (!status) fmpz_mul_si(fmpq_numref(result->rational), fmpq_numref(result->rational), width + 1);
  return status;
}

/* ---- the table ---- */

static const room_function functions[] = {
    {"taylor", "P, t", "the partial sum of exp: sum of t^m/m! for m = 0 .. P", 2, 2, eval_taylor,
     taylor_polynomial},
    {"taylor_min", "P", "the minimum of taylor(P, t) over all real t, P even", 1, 1, eval_min,
     NULL},
    {"taylor_argmin", "P", "where taylor(P, t) has its minimum, P even and positive", 1, 1,
     eval_argmin, NULL},
    {"taylor_real_zeros", "P", "how many real zeros taylor(P, t) has", 1, 1, eval_zeros, NULL},
    {"taylor_remainder", "n, x",
     "the largest |taylor(n-1, t)/exp(t) - 1| over |t| <= x: n terms of the series", 2, 2,
     eval_remainder, NULL},
    {"output_error_bound", "eps",
     "the largest 1-norm change of attention weights when each weight is off by a factor within "
     "1 -+ eps",
     1, 1, eval_output_error, NULL},
    {"fidelity", "t", "exp(t) / taylor(2, t)", 1, 1, eval_fidelity, NULL},
    {"weight_taylor", "P, N, t, t0",
     "attention weight of one key at t among N - 1 others at t0 (default: the argmin)", 3, 4,
     positivity_eval_weight, NULL},
    {"weight_softmax", "N, t, t0", "the same for softmax", 3, 3, positivity_eval_weight_softmax,
     NULL},
    {"alignment_taylor", "P, N, w, t0",
     "the t at which weight_taylor is w, P even; t0 defaults to the argmin", 3, 4,
     positivity_eval_alignment, NULL},
    {"alignment_scale", "P, N, w, t0",
     "(P! (N-1) w/(1-w) taylor(P, t0))^(1/P): alignment_taylor is at most P below it", 3, 4,
     positivity_eval_alignment_scale, NULL},
    {"alignment_softmax", "N, w, t0", "t0 + log((N-1) w/(1-w)); t0 defaults to 0", 2, 3,
     positivity_eval_alignment_softmax, NULL},
    {"feature_dimension", "d, P", "dimension of the feature map of taylor(P, q.k) on R^d", 2, 2,
     eval_dimension, NULL},
    {"feature_dimension_sphere", "d, P", "the same on the unit sphere", 2, 2, eval_dimension_sphere,
     NULL},
    {"state_numbers", "d, dv, P", "numbers in the recurrent state: feature_dimension (dv + 1)", 3,
     3, eval_state, NULL},
};

const room_functions positivity_functions = {"positivity", functions, COUNT(functions)};
