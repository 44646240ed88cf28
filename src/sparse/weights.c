/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "weights.h"
#include "line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- powers ---- */

void sparse_power_init(sparse_power *power, const attest_problem *problem,
                       const sparse_kernel *kernel, slong prec) {
  const problem_real *alpha = &problem->values.alpha;
  fmpq_init(power->rational);
  arb_init(power->value);
  arb_init(power->alpha_less);
  int is_entmax = kernel->rule == RULE_THRESHOLD && !strcmp(kernel->name, "entmax");
  power->is_rational = !(is_entmax && alpha->root);
  fmpq_set_si(power->rational, kernel->power ? kernel->power : 1, 1);
  if (is_entmax && !alpha->root) {
    fmpq_sub_si(power->rational, alpha->value, 1);
    fmpq_inv(power->rational, power->rational);
  }
  if (power->is_rational) {
    arb_set_fmpq(power->value, power->rational, prec);
    arb_inv(power->alpha_less, power->value, prec);
    power->against_one = fmpq_cmp_si(power->rational, 1);
  } else {
    problem_real_ball(power->alpha_less, alpha, prec);
    arb_sub_ui(power->alpha_less, power->alpha_less, 1, prec);
    arb_inv(power->value, power->alpha_less, prec);
    power->against_one = -fmpq_cmp_si(alpha->value, 4); /* sqrt(n) against 2 */
  }
}

void sparse_power_clear(sparse_power *power) {
  fmpq_clear(power->rational);
  arb_clear(power->value);
  arb_clear(power->alpha_less);
}

/* y^r, y > 0. */
static void positive_power(arb_t w, const arb_t y, const sparse_power *power, slong prec) {
  if (power->is_rational)
    arb_pow_fmpq(w, y, power->rational, prec);
  else
    arb_pow(w, y, power->value, prec);
}

/* Powers are dear, and near alpha = 1 most keys of a row with wide scores have next to none: below
 * 2^-(2 prec + 128) w is the ball from 0 to a power of two above. */
static int negligible_power(arb_t w, const arb_t y, const sparse_power *power, slong prec) {
  arf_t end;
  arf_init(end);
  arb_get_ubound_arf(end, y, 64);
  double top = arf_get_d(end, ARF_RND_UP), r = arf_get_d(arb_midref(power->value), ARF_RND_DOWN);
  arf_clear(end);
  if (!(top > 0 && top < 1)) return 0;
  double exponent = r * log2(top) * (1 - 0x1p-30) + 2;
  if (!(exponent < -(double)(2 * prec + 128)) || exponent < -0x1p40) return 0;
  arb_t zero;
  arb_init(zero);
  arb_one(w);
  arb_mul_2exp_si(w, w, (slong)exponent);
  arb_union(w, w, zero, prec);
  arb_clear(zero);
  return 1;
}

void sparse_power_apply(arb_t w, const arb_t y, const sparse_power *power, slong prec) {
  if (arb_is_nonpositive(y)) {
    arb_zero(w);
  } else if (negligible_power(w, y, power, prec)) {
    return;
  } else if (arb_is_positive(y)) {
    positive_power(w, y, power, prec);
  } else {
    arf_t end;
    arb_t top;
    arf_init(end);
    arb_init(top);
    arb_get_ubound_arf(end, y, prec);
    arb_set_arf(top, end);
    positive_power(top, top, power, prec);
    arb_zero(w);
    arb_union(w, w, top, prec);
    arb_clear(top);
    arf_clear(end);
  }
}

/* ---- the threshold ---- */

/* total <- sum [u - g_j]_+^r and, unless NULL, slope <- its derivative. Powers are dear: neighbours
 * that are equal share theirs. */
static void power_sum(arb_t total, arb_t slope, const arb_t u, arb_srcptr g, int64_t n,
                      const sparse_power *power, slong prec) {
  arb_t y, w, share;
  arb_init(y);
  arb_init(w);
  arb_init(share);
  arb_zero(total);
  if (slope) arb_zero(slope);
  for (int64_t j = 0; j < n; j++) {
    if (j == 0 || !arb_equal(g + j, g + j - 1)) {
      arb_sub(y, u, g + j, prec);
      if (!arb_is_nonpositive(y)) sparse_power_apply(w, y, power, prec);
      if (slope && !arb_is_nonpositive(y)) arb_div(share, w, y, prec);
    }
    if (arb_is_nonpositive(y)) continue;
    arb_add(total, total, w, prec);
    if (slope) arb_add(slope, slope, share, prec);
  }
  if (slope) arb_mul(slope, slope, power->value, prec);
  arb_clear(y);
  arb_clear(w);
  arb_clear(share);
}

/* The certified sign of sum - 1 at u; 0: not known. */
static int side_of(const arb_t u, arb_srcptr g, int64_t n, const sparse_power *power, slong prec) {
  arb_t total;
  arb_init(total);
  power_sum(total, NULL, u, g, n, power, prec);
  arb_sub_ui(total, total, 1, prec);
  int side = arb_is_positive(total) - arb_is_negative(total);
  arb_clear(total);
  return side;
}

/* u to about double accuracy; any result will do, it is certified later. */
static double approximate(arb_srcptr g, int64_t n, double r) {
  double *gap = malloc((size_t)(n + 1) * sizeof *gap);
  int64_t count = 0;
  for (int64_t j = 0; j < n && gap; j++) {
    gap[count] = arf_get_d(arb_midref(g + j), ARF_RND_NEAR);
    count += gap[count] < 1;
  }
  double u = gap ? sparse_threshold(gap, count, r) : 1;
  free(gap);
  return u;
}

/* One Newton step from the midpoint of u: 0 when there is no slope to follow. */
static int newton(arb_t u, arb_srcptr g, int64_t n, const sparse_power *power, slong prec) {
  arb_t total, slope;
  arb_init(total);
  arb_init(slope);
  power_sum(total, slope, u, g, n, power, prec);
  arb_sub_ui(total, total, 1, prec);
  arb_get_mid_arb(total, total);
  arb_get_mid_arb(slope, slope);
  int usable = arb_is_positive(slope);
  if (usable) {
    arb_div(total, total, slope, prec);
    arb_sub(u, u, total, prec);
    arb_get_mid_arb(u, u);
  }
  arb_clear(total);
  arb_clear(slope);
  return usable;
}

/* The ball of radius 2^exponent about u, if the signs at its ends certify it. */
static int certify(arb_t ball, const arb_t u, slong exponent, arb_srcptr g, int64_t n,
                   const sparse_power *power, slong prec) {
  arb_t lo, hi, width;
  arb_init(lo);
  arb_init(hi);
  arb_init(width);
  arb_one(width);
  arb_mul_2exp_si(width, width, exponent);
  arb_sub(lo, u, width, prec + 64);
  arb_add(hi, u, width, prec + 64);
  int certified = side_of(lo, g, n, power, prec) < 0 && side_of(hi, g, n, power, prec) > 0;
  if (certified) arb_union(ball, lo, hi, prec + 64);
  arb_clear(lo);
  arb_clear(hi);
  arb_clear(width);
  return certified;
}

/* Newton is led astray by the infinite slopes of r < 1 where a key lies at the edge: halving, with
 * certified signs, from about `start` until the width is 2^exponent. Only keys below the upper end
 * count. 0 when signs cannot be certified. */
static int halve(arb_t ball, double start, slong exponent, arb_srcptr g, int64_t n,
                 const sparse_power *power, slong prec) {
  arb_t lo, hi, middle;
  arb_init(lo);
  arb_init(hi);
  arb_init(middle);
  arb_ptr near = flint_malloc((size_t)(n + 1) * sizeof *near);
  int64_t count = 0;
  int found = 0;
  slong width = (slong)ilogb(start) - 48;
  arb_set_d(middle, start);
  for (; !found && width < 8; width += 8)
    found = certify(ball, middle, width, g, n, power, prec);
  arb_get_lbound_arf(arb_midref(lo), ball, prec + 64);
  arb_get_ubound_arf(arb_midref(hi), ball, prec + 64);
  for (int64_t j = 0; j < n && found; j++)
    if (!arb_ge(g + j, hi)) near[count++] = g[j]; /* borrowed */
  for (; found && width > exponent; width--) {
    arb_add(middle, lo, hi, prec + 64);
    arb_mul_2exp_si(middle, middle, -1);
    arb_get_mid_arb(middle, middle);
    int side = side_of(middle, near, count, power, prec);
    if (side == 0) break;
    arb_swap(side < 0 ? lo : hi, middle);
  }
  if (found) arb_union(ball, lo, hi, prec + 64);
  flint_free(near);
  arb_clear(lo);
  arb_clear(hi);
  arb_clear(middle);
  return found;
}

void sparse_solve(arb_t u, arb_srcptr g, int64_t n, const sparse_power *power, slong prec) {
  double start = approximate(g, n, arf_get_d(arb_midref(power->value), ARF_RND_NEAR));
  arb_t middle, ball, bracket;
  arb_init(middle);
  arb_init(ball);
  arb_init(bracket);
  arb_set_ui(bracket, (ulong)n); /* u lies in [n^(-1/r), 1] */
  arb_neg(middle, power->alpha_less);
  arb_pow(bracket, bracket, middle, prec);
  arb_set_ui(ball, 1);
  arb_union(bracket, bracket, ball, prec);
  int certified = 0;
  arb_set_d(middle, start);
  slong known = 40, exponent = (slong)ilogb(start);
  while (known < prec && newton(middle, g, n, power, prec + 32))
    known *= 2;
  for (slong loss = 4; !certified && loss <= 32; loss += 4)
    certified = certify(ball, middle, exponent - prec + loss, g, n, power, prec);
  if (!certified) certified = halve(ball, start, exponent - prec + 4, g, n, power, prec);
  if (!certified || !arb_intersection(u, ball, bracket, prec + 64)) arb_set(u, bracket);
  arb_clear(middle);
  arb_clear(ball);
  arb_clear(bracket);
}

/* ---- weights of a row ---- */

/* Keeps the k largest. */
static attest_status select_top(sparse_row *r, attest_error *error) {
  int64_t k = r->problem->values.topk;
  if (r->count <= k) return ATTEST_OK;
  int64_t *order = malloc((size_t)(r->count + 1) * sizeof *order);
  if (!order) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for a row of keys");
  sparse_row_sort(order, r);
  attest_status status = sparse_row_keep(r, order, k, error);
  free(order);
  return status;
}

/* The largest midpoint: exact, so that subtracting it costs nothing. */
static int64_t largest_of(arb_srcptr y, int64_t n) {
  int64_t best = 0;
  for (int64_t j = 1; j < n; j++)
    if (arf_cmp(arb_midref(y + j), arb_midref(y + best)) > 0) best = j;
  return best;
}

static void exponential_weights(sparse_weights *w, slong prec) {
  arb_t z;
  arb_init(z);
  if (w->row.count) arb_set_arf(w->largest, arb_midref(w->y + largest_of(w->y, w->row.count)));
  for (int64_t j = 0; j < w->row.count; j++) {
    arb_sub(z, w->y + j, w->largest, prec + 64);
    arb_exp(w->w + j, z, prec);
  }
  arb_clear(z);
}

/* The sign of y of key j: by its ball, or exactly where that does not tell. */
static int sign_of(const sparse_weights *w, int64_t j) {
  if (arb_is_positive(w->y + j)) return 1;
  if (arb_is_negative(w->y + j)) return -1;
  return sparse_row_sign(&w->row, j);
}

/* Powers of arguments that no other key moves; the row is empty when none is positive. */
static void power_weights(sparse_weights *w, slong prec) {
  w->is_empty = 1;
  for (int64_t j = 0; j < w->row.count && w->is_empty; j++)
    w->is_empty = !arb_is_positive(w->y + j);
  for (int64_t j = 0; j < w->row.count && w->is_empty; j++)
    w->is_empty = sign_of(w, j) <= 0;
  for (int64_t j = 0; j < w->row.count; j++)
    sparse_power_apply(w->w + j, w->y + j, &w->power, prec);
}

static void within_weights(sparse_weights *w) {
  w->is_empty = 1;
  for (int64_t j = 0; j < w->row.count; j++) {
    int inside = w->is_selected || sign_of(w, j) >= 0;
    arb_set_si(w->w + j, inside);
    w->is_empty &= !inside;
  }
}

/* y <- (alpha - 1) z - tau and its powers. */
static void threshold_weights(sparse_weights *w, slong prec) {
  int64_t n = w->row.count;
  slong more = prec + 64;
  arb_t u, largest;
  arb_init(u);
  arb_init(largest);
  for (int64_t j = 0; j < n; j++)
    if (j == 0)
      arb_set(largest, w->y);
    else
      arb_max(largest, largest, w->y + j, more);
  for (int64_t j = 0; j < n; j++) {
    arb_sub(w->y + j, largest, w->y + j, more);
    arb_mul(w->y + j, w->y + j, w->power.alpha_less, more);
  }
  sparse_solve(u, w->y, n, &w->power, prec);
  for (int64_t j = 0; j < n; j++) {
    arb_sub(w->y + j, u, w->y + j, more);
    if (j && arb_equal(w->y + j, w->y + j - 1))
      arb_set(w->w + j, w->w + j - 1);
    else
      sparse_power_apply(w->w + j, w->y + j, &w->power, prec);
  }
  arb_clear(u);
  arb_clear(largest);
}

static void set_weights(sparse_weights *w, slong prec) {
  sparse_rule rule = w->row.kernel->rule;
  if (rule == RULE_EXP || rule == RULE_TOP_EXP)
    exponential_weights(w, prec);
  else if (rule == RULE_POWER)
    power_weights(w, prec);
  else if (rule == RULE_WITHIN)
    within_weights(w);
  else if (rule == RULE_THRESHOLD)
    threshold_weights(w, prec);
  else
    for (int64_t j = 0; j < w->row.count; j++)
      if (rule == RULE_MARGIN)
        sparse_power_apply(w->w + j, w->y + j, &w->power, prec);
      else
        arb_one(w->w + j);
  for (int64_t j = 0; j < w->row.count && rule != RULE_THRESHOLD; j++)
    arb_add(w->sum, w->sum, w->w + j, prec);
  if (rule == RULE_THRESHOLD) arb_one(w->sum);
}

attest_status sparse_weights_init(sparse_weights *w, const attest_problem *problem,
                                  const problem_slice *slice, int64_t row, int with_t, slong prec,
                                  attest_error *error) {
  return sparse_weights_select(w, problem, slice, row, NULL, 0, with_t, prec, error);
}

static attest_status open_keys(sparse_weights *w, const attest_problem *problem,
                               const problem_slice *slice, int64_t row, const int64_t *selection,
                               int64_t selected, int with_t, attest_error *error) {
  if (selection)
    return sparse_row_of_keys(&w->row, problem, slice, row, selection, selected, with_t, error);
  attest_status status = sparse_row_init(&w->row, problem, slice, row, with_t, error);
  if (status) return status;
  sparse_rule rule = w->row.kernel->rule;
  if (rule == RULE_TOP_EXP || rule == RULE_TOP_MEAN) status = select_top(&w->row, error);
  if (status) sparse_row_clear(&w->row);
  return status;
}

attest_status sparse_weights_select(sparse_weights *w, const attest_problem *problem,
                                    const problem_slice *slice, int64_t row,
                                    const int64_t *selection, int64_t selected, int with_t,
                                    slong prec, attest_error *error) {
  memset(w, 0, sizeof *w);
  attest_status status = open_keys(w, problem, slice, row, selection, selected, with_t, error);
  if (status) return status;
  int64_t n = w->row.capacity;
  w->prec = prec;
  w->y = _arb_vec_init(n);
  w->t = with_t ? _arb_vec_init(n) : NULL;
  w->w = _arb_vec_init(n);
  arb_init(w->sum);
  arb_init(w->largest);
  sparse_power_init(&w->power, problem, w->row.kernel, prec + 64);
  sparse_row_arguments(w->y, w->t, &w->row, prec);
  w->is_selected = selection != NULL;
  set_weights(w, prec);
  return ATTEST_OK;
}

void sparse_weights_replace(sparse_weights *w, const double *weights) {
  arb_zero(w->sum);
  for (int64_t j = 0; j < w->row.count; j++) {
    arb_set_d(w->w + j, weights[j]);
    arb_add(w->sum, w->sum, w->w + j, w->prec);
  }
  w->is_empty = 0;
}

void sparse_weights_clear(sparse_weights *w) {
  int64_t n = w->row.capacity;
  _arb_vec_clear(w->y, n);
  if (w->t) _arb_vec_clear(w->t, n);
  _arb_vec_clear(w->w, n);
  arb_clear(w->sum);
  arb_clear(w->largest);
  sparse_power_clear(&w->power);
  sparse_row_clear(&w->row);
}
