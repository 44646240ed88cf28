/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "functions.h"

#include "decompose.h"
#include "exp_poly.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

enum { ARGUMENT_MAX = 100000 };

static attest_status eval_terms(value *result, const value arguments[], size_t count, slong prec,
                                attest_error *error) {
  slong support, degree;
  fmpz_t terms;
  fmpq_t q;
  (void)count;
  (void)prec;
  attest_status status = function_integer(&support, &arguments[0], "s", 0, ARGUMENT_MAX, error);
  if (!status) status = function_integer(&degree, &arguments[1], "g", 0, ARGUMENT_MAX, error);
  if (status) return status;
  fmpz_init(terms);
  fmpq_init(q);
  toeplitz_term_count(terms, support, degree);
  fmpz_set(fmpq_numref(q), terms);
  value_set_fmpq(result, q);
  fmpz_clear(terms);
  fmpq_clear(q);
  return ATTEST_OK;
}

/* A rational argument above 0. */
static attest_status take_positive(fmpq_t q, const value *argument, const char *name,
                                   attest_error *error) {
  if (argument->kind != VALUE_RATIONAL)
    return attest_fail(error, ATTEST_ERR_INPUT, "%s must be rational", name);
  fmpq_set(q, argument->rational);
  if (fmpq_sgn(q) > 0) return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_INPUT, "%s must be positive", name);
}

static attest_status eval_degree(value *result, const value arguments[], exp_poly_kind kind,
                                 exp_poly_measure measure, attest_error *error) {
  fmpq_t b, eps;
  int64_t degree = 0;
  fmpq_init(b);
  fmpq_init(eps);
  attest_status status = take_positive(b, &arguments[0], "b", error);
  if (!status) status = take_positive(eps, &arguments[1], "eps", error);
  if (!status) status = exp_poly_degree(&degree, kind, measure, b, eps, error);
  if (!status) value_set_si(result, degree);
  fmpq_clear(b);
  fmpq_clear(eps);
  return status;
}

static attest_status eval_chebyshev(value *result, const value arguments[], size_t count,
                                    slong prec, attest_error *error) {
  (void)count;
  (void)prec;
  return eval_degree(result, arguments, EXP_CHEBYSHEV, EXP_ABSOLUTE, error);
}

static attest_status eval_minimax(value *result, const value arguments[], size_t count, slong prec,
                                  attest_error *error) {
  (void)count;
  (void)prec;
  return eval_degree(result, arguments, EXP_MINIMAX, EXP_ABSOLUTE, error);
}

static attest_status eval_taylor_degree(value *result, const value arguments[], size_t count,
                                        slong prec, attest_error *error) {
  (void)count;
  (void)prec;
  return eval_degree(result, arguments, EXP_TAYLOR, EXP_RELATIVE, error);
}

static const room_function functions[] = {
    {"decomposition_terms", "s, g",
     "terms of the decomposition for |S| = s elements of W and degree g: binomial(s + g, g)", 2, 2,
     eval_terms, NULL},
    {"chebyshev_degree", "b, eps",
     "the least degree whose cut Chebyshev series is within eps of exp on [-b, b]", 2, 2,
     eval_chebyshev, NULL},
    {"minimax_degree", "b, eps", "the least degree of a polynomial within eps of exp on [-b, b]", 2,
     2, eval_minimax, NULL},
    {"taylor_degree", "b, eps",
     "the least degree whose Taylor polynomial is within a relative eps of exp on [-b, b]", 2, 2,
     eval_taylor_degree, NULL},
};

const room_functions toeplitz_functions = {"toeplitz", functions, COUNT(functions)};
