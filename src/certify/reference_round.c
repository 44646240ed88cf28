/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Exact elements to a dtype. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "reference_internal.h"

typedef struct {
  reference_target target;
  attest_tensor *results;
  const tensor_format *format[OUTPUT_COUNT];
  atomic_int open;
} round_target;

/* Stores at a row-major position. */
static int keep(reference_target *target, int output, int64_t flat, double value) {
  attest_tensor *t = &((round_target *)target)->results[output];
  int64_t offset = 0;
  for (int i = t->ndim - 1; i >= 0; flat /= t->shape[i], i--)
    offset += flat % t->shape[i] * t->stride[i];
  tensor_store(t, offset, value);
  return 1;
}

static int store(reference_target *target, int output, int64_t flat, const arb_t x) {
  double value;
  if (!enclosure_round(&value, x, ((round_target *)target)->format[output])) return 0;
  return keep(target, output, flat, value);
}

/* Midpoints between neighbours have one bit more than the format, at the least half a quantum. */
static int boundary(fmpq_t c, const reference_target *target, int output, const arb_t x) {
  const tensor_format *format = ((const round_target *)target)->format[output];
  if (arf_cmpabs_2exp_si(arb_midref(x), format->emax + 2) >= 0 ||
      arf_cmpabs_2exp_si(arb_midref(x), format->emin - format->precision - 1) <= 0)
    return 0;
  slong exponent = fmpz_get_si(ARF_EXPREF(arb_midref(x))) - 1;
  if (exponent < format->emin) exponent = format->emin;
  slong last = exponent - format->precision;
  fmpz_t n;
  arf_t scaled;
  fmpz_init(n);
  arf_init(scaled);
  arf_mul_2exp_si(scaled, arb_midref(x), -last);
  arf_get_fmpz(n, scaled, ARF_RND_NEAR);
  int odd = fmpz_is_odd(n);
  fmpq_set_fmpz(c, n);
  if (last >= 0)
    fmpq_mul_2exp(c, c, (flint_bitcnt_t)last);
  else
    fmpq_div_2exp(c, c, (flint_bitcnt_t)-last);
  fmpz_clear(n);
  arf_clear(scaled);
  return odd;
}

static int store_exact(reference_target *target, int output, int64_t flat, const fmpq_t c) {
  double value;
  arb_t x;
  arb_init(x);
  arb_set_fmpq(x, c, 4096); /* a dyadic number of at most 54 bits: exact */
  int rounded = enclosure_round(&value, x, ((round_target *)target)->format[output]);
  arb_clear(x);
  return rounded ? keep(target, output, flat, value) : -1;
}

static int store_class(reference_target *target, int output, int64_t flat, measure_class class) {
  return keep(target, output, flat,
              class == EXACT_NAN        ? (double)NAN
              : class == EXACT_PLUS_INF ? (double)INFINITY
                                        : -(double)INFINITY);
}

static int store_open(reference_target *target, int output, int64_t flat, const arb_t x) {
  (void)x;
  atomic_fetch_add(&((round_target *)target)->open, 1);
  return keep(target, output, flat, NAN);
}

static int store_key(reference_target *target, int output, int64_t flat, int64_t key) {
  return keep(target, output, flat, (double)key);
}

static attest_status check_result(const attest_tensor *t, const attest_problem *problem, int output,
                                  attest_error *error) {
  int ndim;
  int64_t shape[ATTEST_MAX_DIMS];
  char found[96], wanted[96];
  problem_output_shape(&ndim, shape, problem, output);
  attest_tensor expected = attest_tensor_of(NULL, t->dtype, ndim, shape);
  int is_int = t->dtype == ATTEST_INT32 || t->dtype == ATTEST_INT64;
  if (output == OUTPUT_INDICES && !is_int)
    return attest_fail(error, ATTEST_ERR_INPUT, "indices are int32 or int64, not %s",
                       tensor_dtype_name(t->dtype));
  if (output != OUTPUT_INDICES && !tensor_dtype_format(t->dtype))
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "the reference of %s cannot be rounded to %s: take a floating dtype",
                       problem_output_names[output], tensor_dtype_name(t->dtype));
  if (t->ndim != ndim || memcmp(t->shape, shape, (size_t)ndim * sizeof shape[0]))
    return attest_fail(error, ATTEST_ERR_INPUT, "the result for %s has shape %s; it must be %s",
                       problem_output_names[output], tensor_shape_text(found, t),
                       tensor_shape_text(wanted, &expected));
  return ATTEST_OK;
}

attest_status certify_reference_round(attest_tensor results[], const attest_problem *problem,
                                      const reference_options *options, attest_error *error) {
  round_target t = {
      .target = {store, boundary, store_exact, store_class, store_open, store_key, {0}, 128},
      .results = results};
  for (int output = 0; output < OUTPUT_COUNT; output++) {
    if (!results[output].data) continue;
    attest_status status = check_result(&results[output], problem, output, error);
    if (status) return status;
    t.target.wanted[output] = 1;
    t.format[output] = tensor_dtype_format(results[output].dtype);
    for (int64_t i = 0; i < tensor_elements(&results[output]); i++)
      /* Rows beyond the last packed sequence stay as they are now. */
      keep(&t.target, output, i, output == OUTPUT_INDICES ? -1 : 0);
  }
  attest_status status = certify_reference_run(&t.target, problem, options, error);
  int open = atomic_load(&t.open);
  if (status || open == 0) return status;
  return attest_fail(error, ATTEST_ERR_SUPPORT,
                     "%d elements of the exact result are so close to a rounding boundary that %d "
                     "bits do not decide them: ask for decimals, which come with a radius",
                     open, ENCLOSURE_BALL_PRECISION_MAX);
}

attest_status attest_reference(attest_tensor *result, const attest_problem *problem,
                               const char *output, attest_error *error) {
  int which = problem_output_find(output);
  if (which < 0 || !problem_kernel_returns(problem->kernel, which))
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "there is no reference of output '%s'; kernel %s has: %s", output,
                       problem->kernel->name, problem->kernel->outputs);
  /* Idempotent: a problem that has not changed since is left as it is. */
  attest_status status = problem_resolve((attest_problem *)problem, error);
  if (status) return status;
  attest_tensor results[OUTPUT_COUNT] = {0};
  results[which] = *result;
  return certify_reference_round(results, problem, NULL, error);
}
