/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What rotary embedding and Toeplitz weights ask of a problem. */
#include <math.h>

#include "internal.h"
#include "pairing.h"

static attest_status weights_resolve(attest_problem *problem, attest_error *error) {
  const attest_tensor *w = &problem->input[INPUT_WEIGHTS];
  int64_t n = problem->nq > problem->nk ? problem->nq : problem->nk, d = problem->d;
  char shape[96];
  if (!w->data)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "weights is missing: give W_{-(n-1)} .. W_{n-1} as --weights FILE, shape "
                       "(%lld, %lld, %lld)",
                       (long long)(2 * n - 1), (long long)d, (long long)d);
  if (w->ndim != 3 || w->shape[0] != 2 * n - 1 || w->shape[1] != d || w->shape[2] != d)
    return attest_fail(
        error, ATTEST_ERR_INPUT,
        "weights has shape %s; for %lld queries and %lld keys of %lld elements it is "
        "(2n-1, d, d) = (%lld, %lld, %lld), matrix i - j + n - 1",
        tensor_shape_text(shape, w), (long long)problem->nq, (long long)problem->nk, (long long)d,
        (long long)(2 * n - 1), (long long)d, (long long)d);
  problem->largest_weight = problem_largest_weight(problem);
  for (int64_t i = 0; i < w->shape[0]; i++)
    for (int64_t ab = 0; ab < d * d; ab++) {
      double x = problem_weight(problem, i - (n - 1), ab / d, ab % d);
      if (!isfinite(x))
        return attest_fail(error, ATTEST_ERR_INPUT,
                           "weights[%lld, %lld, %lld] is %g; it must be finite", (long long)i,
                           (long long)(ab / d), (long long)(ab % d), x);
    }
  return ATTEST_OK;
}

static attest_status coefficients_resolve(const attest_problem *problem, attest_error *error) {
  const attest_tensor *c = &problem->input[INPUT_COEFFICIENTS];
  char shape[96];
  if (!c->data) return ATTEST_OK;
  if (c->ndim != 1 || c->shape[0] < 1 || c->shape[0] > PROBLEM_COEFFICIENTS_MAX)
    return attest_fail(
        error, ATTEST_ERR_INPUT,
        "coefficients has shape %s; it is (g+1), c_0 to c_g, with at most %d of them",
        tensor_shape_text(shape, c), PROBLEM_COEFFICIENTS_MAX);
  for (int64_t t = 0; t < c->shape[0]; t++)
    if (!isfinite(tensor_at(c, t * c->stride[0])))
      return attest_fail(error, ATTEST_ERR_INPUT, "coefficients[%lld] is %g; it must be finite",
                         (long long)t, tensor_at(c, t * c->stride[0]));
  return ATTEST_OK;
}

/* Angles are below positions / base: up to here 192 bits of cos and sin (rotary.c) leave them the
 * 2^-98 that the enclosures count on at every position below 2^30. */
static const double least_base = 0x1p-60;

static attest_status base_resolve(const attest_problem *problem, attest_error *error) {
  double radius;
  if (problem->pairing == PAIRING_ROTARY &&
      !(problem_real_double(&radius, &problem->values.rope_base) >= least_base))
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "rope-base is below 2^-60 = 8.7e-19: angles so large are not enclosed; give "
                       "a larger base");
  return ATTEST_OK;
}

attest_status problem_pairing_resolve(attest_problem *problem, attest_error *error) {
  if (problem->pairing == PAIRING_DOT) return ATTEST_OK;
  attest_status status = coefficients_resolve(problem, error);
  if (!status) status = base_resolve(problem, error);
  if (status) return status;
  if (problem->values.nonfinite == NONFINITE_IEEE)
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "kernel %s takes nonfinite only as error: an infinity has no rotated or "
                       "weighted form; leave it out",
                       problem->kernel->name);
  if (problem->pairing == PAIRING_WEIGHTS) return weights_resolve(problem, error);
  if (problem->d % 2)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "kernel %s turns pairs of components, and d is %lld: give q and k an even "
                       "number of components (a zero component leaves the scores as they are, but "
                       "changes the angles)",
                       problem->kernel->name, (long long)problem->d);
  return ATTEST_OK;
}
