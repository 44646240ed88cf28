/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "functions.h"

#include <stdlib.h>

#include "weights.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* ---- exact thresholds ---- */

static int falling(const void *a, const void *b) {
  return -fmpq_cmp(*(const fmpq *const *)a, *(const fmpq *const *)b);
}

/* sparsemax: with the k largest, tau = (sum - 1) / k; k grows while z_k > tau. biweight (h = z/2):
 * with the k largest, tau = M - sqrt((1 - SS) / k), M and SS their mean and sum of squared
 * deviations; key k is in while the sum of (h_l - h_k)^2 over larger ones is below 1. */
static attest_status rational_threshold(value *tau, const value *z, size_t n, int is_biweight,
                                        slong prec, attest_error *error) {
  const fmpq **sorted = malloc(n * sizeof *sorted);
  if (!sorted) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (size_t i = 0; i < n; i++)
    sorted[i] = z[i].rational;
  qsort(sorted, n, sizeof *sorted, falling);
  fmpq *work = _fmpq_vec_init(4);
  fmpq *sum = work, *squares = work + 1, *gap = work + 2, *total = work + 3;
  size_t k = 0;
  for (; k < n; k++) {
    fmpq_zero(total);
    for (size_t l = 0; l < k; l++) {
      fmpq_sub(gap, sorted[l], sorted[k]);
      if (is_biweight) fmpq_mul(gap, gap, gap);
      fmpq_add(total, total, gap);
    }
    if (fmpq_cmp_si(total, is_biweight ? 4 : 1) >= 0) break;
    fmpq_add(sum, sum, sorted[k]);
    fmpq_addmul(squares, sorted[k], sorted[k]);
  }
  fmpq_set_si(gap, 1, (ulong)k);
  attest_status status = ATTEST_OK;
  if (is_biweight) {
    value root;
    value_init(&root);
    fmpq_div_2exp(sum, sum, 1);
    fmpq_div_2exp(squares, squares, 2);
    fmpq_mul(total, sum, gap);        /* M */
    fmpq_submul(squares, sum, total); /* SS */
    fmpq_set_si(sum, 1, 1);
    fmpq_sub(squares, sum, squares);
    fmpq_mul(squares, squares, gap);
    value_set_fmpq(&root, squares);
    status = value_sqrt(&root, &root, prec, error);
    value_set_fmpq(tau, total);
    value_sub(tau, tau, &root, prec);
    value_clear(&root);
  } else {
    fmpq_set_si(total, 1, 1);
    fmpq_sub(sum, sum, total);
    fmpq_mul(sum, sum, gap);
    value_set_fmpq(tau, sum);
  }
  _fmpq_vec_clear(work, 4);
  free(sorted);
  return status;
}

/* Rational alpha and z: where the n largest are equal and the next is at least n^(1 - alpha) below,
 * times alpha - 1, they share the support and tau = (alpha - 1) max - n^(1 - alpha), an exact
 * number where that power is one. 1: done, 0: another support (or one that balls do not tell from
 * it). */
static int tied_threshold(value *tau, const value *alpha, const value *z, size_t n, slong prec,
                          attest_error *error) {
  const fmpq *largest = z[0].rational, *next = NULL;
  size_t ties = 0;
  for (size_t i = 1; i < n; i++)
    if (fmpq_cmp(z[i].rational, largest) > 0) largest = z[i].rational;
  for (size_t i = 0; i < n; i++) {
    ties += fmpq_equal(z[i].rational, largest);
    if (!fmpq_equal(z[i].rational, largest) && (!next || fmpq_cmp(z[i].rational, next) > 0))
      next = z[i].rational;
  }
  fmpq *work = _fmpq_vec_init(2); /* alpha - 1; the gap */
  value share, count, gap;
  value_init(&share);
  value_init(&count);
  value_init(&gap);
  fmpq_sub_si(work, alpha->rational, 1);
  fmpq_neg(work + 1, work);
  value_set_fmpq(&gap, work + 1);
  value_set_si(&count, (slong)ties);
  int done = !value_pow(&share, &count, &gap, prec + 64, error);
  if (done && next) {
    fmpq_sub(work + 1, largest, next);
    fmpq_mul(work + 1, work + 1, work);
    value_set_fmpq(&gap, work + 1);
    value_sub(&gap, &gap, &share, prec + 64);
    int sign = value_sign(&gap);
    done = sign != VALUE_UNKNOWN && sign >= 0;
  }
  if (done) {
    fmpq_mul(work, work, largest);
    value_set_fmpq(tau, work);
    value_sub(tau, tau, &share, prec + 64);
  }
  value_clear(&share);
  value_clear(&count);
  value_clear(&gap);
  _fmpq_vec_clear(work, 2);
  return done;
}

/* ---- thresholds in balls ---- */

static void ball_threshold(value *tau, const value *alpha, const value *z, size_t n, slong prec) {
  slong more = prec + 64;
  sparse_power power;
  arb_ptr g = _arb_vec_init((slong)n);
  arb_t u, largest;
  arb_init(u);
  arb_init(largest);
  fmpq_init(power.rational);
  arb_init(power.value);
  arb_init(power.alpha_less);
  value_get_ball(power.alpha_less, alpha, more);
  arb_sub_ui(power.alpha_less, power.alpha_less, 1, more);
  power.is_rational = alpha->kind == VALUE_RATIONAL;
  if (power.is_rational) {
    fmpq_sub_si(power.rational, alpha->rational, 1);
    fmpq_inv(power.rational, power.rational);
    arb_set_fmpq(power.value, power.rational, more);
    arb_inv(power.alpha_less, power.value, more);
  } else {
    arb_inv(power.value, power.alpha_less, more);
  }
  power.against_one = 0; /* slopes are not asked for */
  for (size_t i = 0; i < n; i++) {
    value_get_ball(g + i, &z[i], more);
    if (i == 0)
      arb_set(largest, g);
    else
      arb_max(largest, largest, g + i, more);
  }
  for (size_t i = 0; i < n; i++) {
    arb_sub(g + i, largest, g + i, more);
    arb_mul(g + i, g + i, power.alpha_less, more);
  }
  sparse_solve(u, g, (int64_t)n, &power, prec);
  arb_mul(largest, largest, power.alpha_less, more);
  arb_sub(u, largest, u, more);
  value_set_ball(tau, u);
  sparse_power_clear(&power);
  _arb_vec_clear(g, (slong)n);
  arb_clear(u);
  arb_clear(largest);
}

attest_status sparse_value_threshold(value *tau, const value *alpha, const value *z, size_t n,
                                     slong prec, attest_error *error) {
  int rational = alpha->kind == VALUE_RATIONAL;
  for (size_t i = 0; i < n; i++)
    rational &= z[i].kind == VALUE_RATIONAL;
  fmpq_t three_halves;
  fmpq_init(three_halves);
  fmpq_set_si(three_halves, 3, 2);
  int is_biweight = rational && fmpq_equal(alpha->rational, three_halves);
  fmpq_clear(three_halves);
  if (is_biweight || (rational && fmpq_cmp_si(alpha->rational, 2) == 0))
    return rational_threshold(tau, z, n, is_biweight, prec, error);
  if (rational && tied_threshold(tau, alpha, z, n, prec, error)) return ATTEST_OK;
  ball_threshold(tau, alpha, z, n, prec);
  return ATTEST_OK;
}

attest_status sparse_value_weight(value *p, const value *alpha, const value *z, const value *tau,
                                  slong prec, attest_error *error) {
  value less, power, one;
  value_init(&less);
  value_init(&power);
  value_init(&one);
  value_set_si(&one, 1);
  value_sub(&less, alpha, &one, prec + 64);
  attest_status status = value_div(&power, &one, &less, prec + 64, error);
  value_mul(p, &less, z, prec + 64);
  value_sub(p, p, tau, prec + 64);
  int sign = value_sign(p);
  if (!status && sign == VALUE_UNKNOWN) {
    /* A ball on both sides of zero: from 0 to the power of its upper end. */
    arb_t top, zero;
    arf_t end;
    arb_init(top);
    arb_init(zero);
    arf_init(end);
    value_get_ball(top, p, prec);
    arb_get_ubound_arf(end, top, prec);
    arb_set_arf(top, end);
    value_get_ball(zero, &power, prec);
    arb_pow(top, top, zero, prec);
    arb_zero(zero);
    arb_union(top, top, zero, prec);
    value_set_ball(p, top);
    arf_clear(end);
    arb_clear(top);
    arb_clear(zero);
  } else if (!status && sign <= 0) {
    value_set_si(p, 0);
  } else if (!status) {
    status = value_pow(p, p, &power, prec, error);
  }
  value_clear(&less);
  value_clear(&power);
  value_clear(&one);
  return status;
}

/* ---- the language ---- */

static attest_status take_row(const value arguments[], size_t list, attest_error *error) {
  value one;
  int inside;
  value_init(&one);
  value_set_si(&one, 1);
  attest_status status =
      function_range(&inside, &arguments[0], "alpha", &one, 1, NULL, 0, "above 1", error);
  value_clear(&one);
  if (status) return status;
  const value *z = &arguments[list];
  if (z->kind != VALUE_LIST || z->count == 0)
    return attest_fail(error, ATTEST_ERR_INPUT, "the scores must be a list, [0.9, 0.5]");
  for (size_t i = 0; i < z->count && !status; i++)
    status = function_number(&z->items[i], "every score", error);
  return status;
}

static attest_status eval_threshold(value *result, const value arguments[], size_t count,
                                    slong prec, attest_error *error) {
  (void)count;
  attest_status status = take_row(arguments, 1, error);
  if (status) return status;
  return sparse_value_threshold(result, &arguments[0], arguments[1].items, arguments[1].count, prec,
                                error);
}

static attest_status eval_weight(value *result, const value arguments[], size_t count, slong prec,
                                 attest_error *error) {
  slong index;
  value tau;
  (void)count;
  attest_status status = take_row(arguments, 1, error);
  if (!status)
    status = function_integer(&index, &arguments[2], "i", 1, (slong)arguments[1].count, error);
  if (status) return status;
  value_init(&tau);
  status = sparse_value_threshold(&tau, &arguments[0], arguments[1].items, arguments[1].count, prec,
                                  error);
  if (!status)
    status = sparse_value_weight(result, &arguments[0], &arguments[1].items[index - 1], &tau, prec,
                                 error);
  value_clear(&tau);
  return status;
}

/* sqrt(2 - 2 r gamma tau), z = s / gamma, r = 1 / (alpha - 1). */
static attest_status eval_bandwidth(value *result, const value arguments[], size_t count,
                                    slong prec, attest_error *error) {
  value zero, one, list, tau;
  int inside;
  (void)count;
  attest_status status = take_row(arguments, 2, error);
  value_init(&zero);
  value_init(&one);
  value_init(&list);
  value_init(&tau);
  value_set_si(&one, 1);
  if (!status)
    status = function_range(&inside, &arguments[1], "gamma", &zero, 1, NULL, 0, "above 0", error);
  if (!status) status = value_set_list(&list, arguments[2].count, error);
  for (size_t i = 0; i < list.count && !status; i++)
    status = value_div(&list.items[i], &arguments[2].items[i], &arguments[1], prec + 64, error);
  if (!status)
    status = sparse_value_threshold(&tau, &arguments[0], list.items, list.count, prec + 32, error);
  if (!status) {
    value_mul(&tau, &tau, &arguments[1], prec + 32);
    value_sub(&zero, &arguments[0], &one, prec + 32);
    status = value_div(&tau, &tau, &zero, prec + 32, error); /* r gamma tau */
    value_sub(&tau, &one, &tau, prec + 32);
    value_add(&tau, &tau, &tau, prec + 32);
  }
  if (!status) status = value_sqrt(result, &tau, prec, error);
  value_clear(&zero);
  value_clear(&one);
  value_clear(&list);
  value_clear(&tau);
  return status;
}

static const room_function functions[] = {
    {"entmax_threshold", "alpha, z",
     "tau of alpha-entmax of the list z: sum [(alpha-1) z - tau]_+^(1/(alpha-1)) = 1", 2, 2,
     eval_threshold, NULL},
    {"entmax_weight", "alpha, z, i", "weight number i (from 1) of alpha-entmax of the list z", 3, 3,
     eval_weight, NULL},
    {"bandwidth", "alpha, gamma, s",
     "h of the kernel [1 - D/h^2]_+^r, r = 1/(alpha-1), that alpha-entmax of the scores s of unit "
     "vectors at temperature gamma is: sqrt(2 - 2 r gamma tau)",
     3, 3, eval_bandwidth, NULL},
};

const room_functions sparse_functions = {"sparse", functions, COUNT(functions)};
