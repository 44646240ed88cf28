/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One row of a sparse kernel in balls, from exact inputs, at any precision: x = sum w v / sum w and
 * its conditioning S = sum_j g_j |v_j - c| / G, with t_j the absolute version of the argument
 * (thresholds: of the score).
 *
 *   exponentials   g = w t, c = x, G = W
 *   [y]_+^r        g = slope t, c = x, G = W
 *   thresholds     g = y^(r-1) t on the support, c = sum y^(r-1) v / sum y^(r-1), G = 1
 *   relumax        [T - t_m |v_m - x| + t_m |v_m - x - P|] / W with m the largest score and, over
 *                  the support, T = sum t |v - x| and P = sum (v - x); where several keys could be
 *                  the largest the upper bound [T + t* |P|] / W, t* the largest of their t
 *   uniform, topk-uniform: 0
 *
 * At the edge of the support. Under perturbations of relative size `edge` an argument moves by at
 * most delta_j = edge (t_j + T), T the largest t on the support where a threshold or a maximum
 * moves with the others and 0 elsewhere (times alpha - 1 for thresholds). For r >= 1 the slope r
 * y^(r-1) is taken at y + delta, the largest over +-delta, on keys with y > -delta; for r < 1,
 * where it is infinite at 0, it is [(y + delta)_+^r - (y - delta)_+^r] / (2 delta). */
#include <stdlib.h>

#include "weights.h"

/* ---- slopes ---- */

/* The slope of [y]_+^r without the factor r, within delta of the edge. */
static void edge_slope(arb_t slope, const arb_t y, const arb_t delta, const sparse_weights *w) {
  slong prec = w->prec;
  const sparse_power *power = &w->power;
  arb_t up, down;
  arb_init(up);
  arb_init(down);
  arb_add(up, y, delta, prec);
  if (arb_is_nonpositive(up)) {
    arb_zero(slope);
  } else if (power->against_one == 0) {
    arb_one(slope);
    if (!arb_is_positive(up)) {
      arb_zero(down);
      arb_union(slope, slope, down, prec);
    }
  } else if (power->against_one > 0 || arb_is_zero(delta)) {
    /* y^(r-1) = y^r / y; a ball that reaches zero is cut there and taken by its upper end. */
    int cut = !arb_is_positive(up);
    if (cut) {
      arf_t end;
      arf_init(end);
      arb_get_ubound_arf(end, up, prec);
      arb_set_arf(up, end);
      arf_clear(end);
    }
    sparse_power_apply(slope, up, power, prec);
    arb_div(slope, slope, up, prec);
    arb_zero(down);
    if (cut && power->against_one > 0) arb_union(slope, slope, down, prec);
    if (cut && power->against_one < 0) arb_zero_pm_inf(slope);
  } else {
    arb_sub(down, y, delta, prec);
    sparse_power_apply(up, up, power, prec);
    sparse_power_apply(down, down, power, prec);
    arb_sub(slope, up, down, prec);
    arb_div(slope, slope, delta, prec);
    arb_mul_2exp_si(slope, slope, -1);
    arb_div(slope, slope, power->value, prec);
  }
  arb_clear(up);
  arb_clear(down);
}

/* The largest t over keys that may be in the support. */
static void largest_t(arb_t top, const sparse_weights *w) {
  arb_t zero;
  arb_init(zero);
  arb_zero(top);
  for (int64_t j = 0; j < w->row.count; j++) {
    if (arb_is_nonpositive(w->y + j)) continue;
    if (arb_is_positive(w->y + j)) {
      arb_max(top, top, w->t + j, w->prec);
    } else {
      arb_max(zero, top, w->t + j, w->prec);
      arb_union(top, top, zero, w->prec);
    }
  }
  arb_clear(zero);
}

static int moves_with_others(const sparse_weights *w) {
  return w->row.kernel->rule == RULE_THRESHOLD || w->row.kernel->rule == RULE_MARGIN;
}

/* c[j] <- the slope of key j without the factor r, at the edge. */
static void edge_slopes(arb_ptr c, const sparse_weights *w, double edge) {
  arb_t top, delta, size;
  arb_init(top);
  arb_init(delta);
  arb_init(size);
  if (moves_with_others(w)) largest_t(top, w);
  arb_set_d(size, edge);
  if (w->row.kernel->rule == RULE_THRESHOLD) arb_mul(size, size, w->power.alpha_less, w->prec);
  for (int64_t j = 0; j < w->row.count; j++) {
    arb_add(delta, w->t + j, top, w->prec);
    arb_mul(delta, delta, size, w->prec);
    if (j && arb_equal(w->y + j, w->y + j - 1) && arb_equal(w->t + j, w->t + j - 1))
      arb_set(c + j, c + j - 1); /* powers are dear */
    else
      edge_slope(c + j, w->y + j, delta, w);
  }
  arb_clear(top);
  arb_clear(delta);
  arb_clear(size);
}

/* ---- sums over values ---- */

/* v_c of every key of the row, exactly. */
static void load_component(arb_ptr v, const sparse_weights *w, int64_t c) {
  for (int64_t j = 0; j < w->row.count; j++)
    arb_set_d(v + j, softmax_element(&w->row.slice->v, w->row.key[j], c));
}

/* Keys that may carry weight, or slope: the others drop out of all sums. */
static int64_t only(const sparse_weights *w) {
  int64_t found = -1;
  for (int64_t j = 0; j < w->row.count; j++) {
    if (arb_is_zero(w->w + j)) continue;
    if (found >= 0) return -1;
    found = j;
  }
  return found;
}

/* s = sum g |v - center|. */
static void spread(arb_t s, arb_srcptr g, arb_srcptr v, const arb_t center, int64_t n, slong prec) {
  arb_t term;
  arb_init(term);
  arb_zero(s);
  for (int64_t j = 0; j < n; j++) {
    if (arb_is_zero(g + j)) continue;
    arb_sub(term, v + j, center, prec);
    arb_abs(term, term);
    arb_addmul(s, term, g + j, prec);
  }
  arb_clear(term);
}

/* ---- relumax ---- */

/* Whether key j could be the largest when scores move by edge t: 1, 0 or -1 (the balls do not say).
 * Arguments differ as scores do. */
static int may_be_largest(const sparse_weights *w, int64_t j, int64_t m, double edge) {
  if (j == m) return 1;
  arb_t gap, reach, size;
  arb_init(gap);
  arb_init(reach);
  arb_init(size);
  arb_sub(gap, w->y + m, w->y + j, w->prec);
  arb_set_d(size, edge);
  arb_add(reach, w->t + j, w->t + m, w->prec);
  arb_mul(reach, reach, size, w->prec);
  int may = arb_gt(gap, reach) ? 0 : arb_le(gap, reach) ? 1 : -1;
  arb_clear(gap);
  arb_clear(reach);
  arb_clear(size);
  return may;
}

typedef struct {
  int64_t largest; /* the key */
  int alone, open; /* no other key could be the largest; the balls do not say whether */
  arb_t top;       /* the largest t of those that could */
} largest_keys;

static void find_largest(largest_keys *keys, const sparse_weights *w, double edge) {
  keys->largest = 0;
  for (int64_t j = 1; j < w->row.count; j++)
    if (arf_cmp(arb_midref(w->y + j), arb_midref(w->y + keys->largest)) > 0) keys->largest = j;
  keys->alone = 1;
  keys->open = 0;
  arb_init(keys->top);
  arb_t wider;
  arb_init(wider);
  for (int64_t j = 0; j < w->row.count; j++) {
    int may = may_be_largest(w, j, keys->largest, edge);
    if (may == 0) continue;
    if (j != keys->largest) keys->alone = 0;
    arb_max(wider, keys->top, w->t + j, w->prec);
    if (may > 0)
      arb_set(keys->top, wider);
    else
      arb_union(keys->top, keys->top, wider, w->prec);
    keys->open |= may < 0;
  }
  arb_clear(wider);
}

/* c are the indicators of the support at the edge, g = c t. */
static void margin_sensitivity(arb_t s, arb_srcptr c, arb_srcptr g, arb_srcptr v, const arb_t x,
                               const largest_keys *keys, const sparse_weights *w) {
  slong prec = w->prec;
  int64_t m = keys->largest, n = w->row.count;
  arb_t pull, term, alone;
  arb_init(pull);
  arb_init(term);
  arb_init(alone);
  for (int64_t j = 0; j < n; j++) {
    arb_sub(term, v + j, x, prec);
    arb_addmul(pull, term, c + j, prec);
  }
  spread(s, g, v, x, n, prec);
  arb_sub(alone, v + m, x, prec);
  arb_abs(term, alone);
  arb_sub(alone, alone, pull, prec);
  arb_abs(alone, alone);
  arb_sub(alone, alone, term, prec);
  arb_mul(alone, alone, w->t + m, prec);
  arb_add(alone, alone, s, prec); /* the exact form */
  arb_abs(pull, pull);
  arb_addmul(s, pull, keys->top, prec); /* the upper bound */
  if (keys->alone) arb_set(s, alone);
  if (keys->open) arb_union(s, s, alone, prec);
  arb_div(s, s, w->sum, prec);
  arb_clear(pull);
  arb_clear(term);
  arb_clear(alone);
}

/* ---- a row of out ---- */

/* The factors g of S, and for thresholds c and its sum. */
typedef struct {
  arb_ptr c, g;
  arb_t sum;
  largest_keys keys;
} condition;

static void condition_init(condition *k, const sparse_weights *w, double edge) {
  sparse_rule rule = w->row.kernel->rule;
  int64_t n = w->row.count;
  k->c = _arb_vec_init(n);
  k->g = _arb_vec_init(n);
  arb_init(k->sum);
  if (rule == RULE_EXP || rule == RULE_TOP_EXP)
    _arb_vec_set(k->c, w->w, n);
  else if (rule == RULE_POWER || rule == RULE_MARGIN || rule == RULE_THRESHOLD)
    edge_slopes(k->c, w, edge);
  for (int64_t j = 0; j < n; j++) {
    if (rule == RULE_POWER) arb_mul_si(k->c + j, k->c + j, w->row.kernel->power, w->prec);
    arb_add(k->sum, k->sum, k->c + j, w->prec);
    arb_mul(k->g + j, k->c + j, w->t + j, w->prec);
  }
  find_largest(&k->keys, w, edge);
}

static void condition_clear(condition *k, int64_t n) {
  _arb_vec_clear(k->c, n);
  _arb_vec_clear(k->g, n);
  arb_clear(k->sum);
  arb_clear(k->keys.top);
}

static void component_sensitivity(arb_t s, const condition *k, arb_srcptr v, const arb_t x,
                                  const sparse_weights *w) {
  sparse_rule rule = w->row.kernel->rule;
  int64_t n = w->row.count;
  if (rule == RULE_MARGIN) {
    margin_sensitivity(s, k->c, k->g, v, x, &k->keys, w);
  } else if (rule == RULE_THRESHOLD) {
    arb_t center;
    arb_init(center);
    arb_dot(center, NULL, 0, k->c, 1, v, 1, n, w->prec);
    arb_div(center, center, k->sum, w->prec);
    spread(s, k->g, v, center, n, w->prec);
    arb_clear(center);
  } else {
    spread(s, k->g, v, x, n, w->prec);
    arb_div(s, s, w->sum, w->prec);
  }
}

static void row_out(room_balls *balls, const sparse_weights *w, unsigned want) {
  int64_t n = w->row.count, alone = only(w);
  slong prec = w->prec;
  arb_ptr v = _arb_vec_init(n);
  condition k;
  int with_s = want & WANT_CONDITION && !balls->weights;
  if (with_s) condition_init(&k, w, balls->edge);
  for (int64_t c = 0; c < balls->width; c++) {
    load_component(v, w, c);
    arb_dot(balls->x + c, NULL, 0, w->w, 1, v, 1, n, prec);
    arb_div(balls->x + c, balls->x + c, w->sum, prec);
    if (alone >= 0) arb_set(balls->x + c, v + alone);
    if (!(want & WANT_CONDITION)) continue;
    if (with_s) component_sensitivity(balls->s + c, &k, v, balls->x + c, w);
    for (int64_t j = 0; j < n; j++)
      arb_abs(v + j, v + j);
    arb_dot(balls->a + c, NULL, 0, w->w, 1, v, 1, n, prec);
    arb_div(balls->a + c, balls->a + c, w->sum, prec);
  }
  if (with_s) condition_clear(&k, n);
  _arb_vec_clear(v, n);
}

/* ---- a log-sum-exp ---- */

/* l = log sum exp over the selected keys; A = |l|, S = sum p t; all over ln 2 in base 2. */
static void row_lse(room_balls *balls, const sparse_weights *w, unsigned want) {
  slong prec = w->prec;
  arb_t ln2;
  arb_init(ln2);
  arb_log(balls->x, w->sum, prec);
  arb_add(balls->x, balls->x, w->largest, prec);
  if (want & WANT_CONDITION) {
    arb_dot(balls->s, NULL, 0, w->w, 1, w->t, 1, w->row.count, prec);
    arb_div(balls->s, balls->s, w->sum, prec);
  }
  if (w->row.problem->values.lse_base == 2) {
    arb_const_log2(ln2, prec);
    arb_div(balls->x, balls->x, ln2, prec);
    if (want & WANT_CONDITION) arb_div(balls->s, balls->s, ln2, prec);
  }
  if (want & WANT_CONDITION) arb_abs(balls->a, balls->x);
  arb_clear(ln2);
}

/* ---- rows without weight ---- */

static attest_status empty_support(room_balls *balls, const problem_values *values,
                                   const problem_slice *slice, int64_t row, attest_error *error) {
  if (values->empty_row == EMPTY_ERROR)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "sequence %lld, query head %lld: no key of row %lld is within the bandwidth "
                       "and empty-row is error; set empty-row to zero or nan, or widen bandwidth",
                       (long long)slice->sequence, (long long)slice->head, (long long)row);
  for (int64_t c = 0; c < balls->width && values->empty_row == EMPTY_NAN; c++)
    balls->class[c] = EXACT_NAN;
  return ATTEST_OK;
}

attest_status sparse_ball(room_balls *balls, const attest_problem *problem,
                          const problem_slice *slice, int64_t row, int output, unsigned want,
                          slong prec, attest_error *error) {
  double *value = malloc((size_t)(balls->width + 1) * sizeof *value);
  if (!value)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for one row of %lld values",
                       (long long)balls->width);
  _arb_vec_zero(balls->x, balls->width);
  if (want & WANT_CONDITION) {
    _arb_vec_zero(balls->a, balls->width);
    _arb_vec_zero(balls->s, balls->width);
  }
  /* Without sinks and infinities a row is ordinary or sees no key, and then x = 0 or no number. */
  int kind = softmax_special_row(balls->class, value, problem, slice, row, output);
  free(value);
  if (kind < 0) return softmax_empty_row_trouble(slice, row, error);
  if (kind == 0) return ATTEST_OK;
  if (balls->selection && balls->selected == 0)
    return empty_support(balls, &problem->values, slice, row, error);
  sparse_weights w;
  attest_status status =
      sparse_weights_select(&w, problem, slice, row, balls->selection, balls->selected,
                            (want & WANT_CONDITION) != 0, prec, error);
  if (status) return status;
  if (balls->weights) sparse_weights_replace(&w, balls->weights);
  if (w.is_empty)
    status = empty_support(balls, &problem->values, slice, row, error);
  else if (output == OUTPUT_LSE)
    row_lse(balls, &w, want);
  else
    row_out(balls, &w, want);
  sparse_weights_clear(&w);
  return status;
}
