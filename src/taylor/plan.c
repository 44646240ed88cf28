/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What all rows of a kernel or of a state share: basis, factors, coefficients, powers of decay. */
#include <stdlib.h>

#include "../enclosure/flint.h"
#include "kernel.h"

static int64_t round_up(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

static void put(void *array, int is_double, int64_t at, double value) {
  if (is_double)
    ((double *)array)[at] = value;
  else
    ((float *)array)[at] = (float)value;
}

static void *array(const taylor_plan *plan, int64_t n) {
  return isa_allocate(n, plan->is_double ? sizeof(double) : sizeof(float));
}

void taylor_plan_close(taylor_plan *plan) {
  if (!plan) return;
  taylor_basis_close(plan->basis);
  free(plan->coefficient);
  free(plan->feature_weight);
  free(plan->power);
  free(plan->power_low);
  free(plan);
}

/* x <- x y / n. */
static void times_over(problem_real *x, const problem_real *y, int64_t n) {
  problem_real inverse;
  problem_real_init(&inverse);
  problem_real_set_si(&inverse, (long)n);
  problem_real_inv(&inverse, &inverse);
  problem_real_mul(x, x, y);
  problem_real_mul(x, x, &inverse);
  problem_real_clear(&inverse);
}

/* 1/m! of the weight as a polynomial of the score; 0, 1 for the score itself. */
static int set_coefficients(taylor_plan *plan, int is_score) {
  double unused;
  problem_real x, one;
  if (!(plan->coefficient = array(plan, plan->degree + 1))) return -1;
  problem_real_init(&x);
  problem_real_init(&one);
  problem_real_set_si(&x, 1);
  problem_real_set_si(&one, 1);
  for (int64_t m = 0; m <= plan->degree; m++) {
    if (m > 0) times_over(&x, &one, m);
    put(plan->coefficient, plan->is_double, m,
        is_score ? (double)m : problem_real_double(&unused, &x));
  }
  problem_real_clear(&x);
  problem_real_clear(&one);
  return 0;
}

/* scale^m / beta! = (scale^m / m!) (m! / beta!). */
static int set_feature_weights(taylor_plan *plan, const problem_real *scale) {
  const taylor_basis *basis = plan->basis;
  double unused;
  problem_real x;
  if (!(plan->feature_weight = array(plan, plan->stride))) return -1;
  problem_real_init(&x);
  problem_real_set_si(&x, 1);
  for (int64_t m = 0; m <= basis->degree; m++) {
    if (m > 0) times_over(&x, scale, m);
    double factor = problem_real_double(&unused, &x);
    for (int64_t b = basis->start[m]; b < basis->start[m + 1]; b++)
      put(plan->feature_weight, plan->is_double, b, factor * (double)basis->multinomial[b]);
  }
  problem_real_clear(&x);
  return 0;
}

/* decay^n as high + low. */
static int set_powers(taylor_plan *plan, const problem_real *decay, int64_t powers) {
  plan->powers = powers > TAYLOR_BLOCK ? powers : TAYLOR_BLOCK + 1;
  plan->power = array(plan, plan->powers);
  plan->power_low = array(plan, TAYLOR_BLOCK + 1);
  if (!plan->power || !plan->power_low) return -1;
  const slong prec = 192; /* a power takes one rounding a step: 2^-128 for 2^63 of them */
  arb_t base, x;
  arf_t high;
  arb_init(base);
  arb_init(x);
  arf_init(high);
  arb_set_fmpq(base, decay->value, prec);
  arb_one(x);
  for (int64_t n = 0; n < plan->powers; n++) {
    double value = arf_get_d(arb_midref(x), ARF_RND_NEAR);
    if (!plan->is_double) value = (float)value;
    put(plan->power, plan->is_double, n, value);
    if (n <= TAYLOR_BLOCK) {
      arf_set_d(high, value);
      arf_sub(high, arb_midref(x), high, prec, ARF_RND_NEAR);
      put(plan->power_low, plan->is_double, n, arf_get_d(high, ARF_RND_NEAR));
    }
    arb_mul(x, x, base, prec);
  }
  arb_clear(base);
  arb_clear(x);
  arf_clear(high);
  return 0;
}

static attest_status no_memory(taylor_plan *plan, attest_error *error) {
  taylor_plan_close(plan);
  return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: the tables of a kernel");
}

/* Basis and factors of the query side. */
static attest_status set_features(taylor_plan *plan, const problem_real *scale, int is_score,
                                  attest_error *error) {
  attest_status status = taylor_basis_open(&plan->basis, plan->d, plan->degree, error);
  if (status) {
    taylor_plan_close(plan);
    return status;
  }
  plan->first = is_score;
  plan->size = plan->basis->size - plan->first;
  plan->stride = round_up(plan->basis->size, 16) + 16;
  return set_feature_weights(plan, scale) ? no_memory(plan, error) : ATTEST_OK;
}

static taylor_plan *plan_new(int64_t d, int64_t dv, int64_t degree, const problem_real *scale,
                             int is_double) {
  double unused;
  taylor_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return NULL;
  plan->is_double = is_double;
  plan->d = d;
  plan->dv = dv;
  plan->degree = degree;
  plan->dv_pad = round_up(dv, is_double ? 8 : 16);
  plan->normalize = plan->has_norm = 1;
  plan->scale = problem_real_double(&unused, scale);
  return plan;
}

attest_status taylor_plan_open_taylor(taylor_plan **result, int64_t d, int64_t dv, int64_t degree,
                                      const problem_real *scale, int is_double,
                                      attest_error *error) {
  *result = NULL;
  taylor_plan *plan = plan_new(d, dv, degree, scale, is_double);
  if (!plan || set_coefficients(plan, 0)) return no_memory(plan, error);
  attest_status status = set_features(plan, scale, 0, error);
  if (!status) *result = plan;
  return status;
}

static int is_one(const problem_real *x) {
  return x->sign > 0 && !x->root && fmpq_is_one(x->value);
}

attest_status taylor_plan_open(taylor_plan **result, const attest_problem *problem, int is_double,
                               int with_state, int64_t powers, attest_error *error) {
  const problem_values *values = &problem->values;
  double unused;
  *result = NULL;
  int is_linear = !strcmp(problem->kernel->name, "linear");
  int is_score = is_linear && values->feature != FEATURE_TAYLOR;
  taylor_plan *plan =
      plan_new(problem->d, problem->dv, is_score ? 1 : values->degree, &values->scale, is_double);
  if (!plan || set_coefficients(plan, is_score)) return no_memory(plan, error);
  if (is_score) plan->transform = values->feature;
  plan->normalize = values->normalize == NORMALIZE_SUM;
  plan->has_norm = !is_linear || plan->normalize;
  plan->eps = problem_real_double(&unused, &values->eps);
  if (!is_one(&values->decay) && set_powers(plan, &values->decay, powers))
    return no_memory(plan, error);
  attest_status status =
      with_state ? set_features(plan, &values->scale, is_score, error) : ATTEST_OK;
  if (!status) *result = plan;
  return status;
}
