/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Bounds of the backward error where first order is not enough (large u t): the least B such that
 * got, to within B quanta, is the exact result after every score moves by at most B u_s t_j and
 * every value by at most B u_w |v_j|.
 *
 * Not reached: with theta_j = B u_s t_j (times alpha - 1 for thresholds), an argument lies within
 * theta_j + m of y_j, m the largest theta of the keys that may be the largest (relumax), or in the
 * support (thresholds: the root moves by no more than the scores do), else 0. So weights lie
 * between those of the ends, low_j and high_j, and |x' - x| <= [sum max(high - w, w - low) |v - x|
 * + B u_w sum high |v|] / sum low (1 for thresholds, whose weights always add up to 1): an
 * inequality that grows with B. B is a lower bound while this and B quanta are less than |got - x|.
 * Results are means of values, so B is also at least what softmax_beyond_values says, except where
 * all weights can vanish.
 * Reached: the row is computed again with every score moved by theta_j, up where v_j lies on the
 * side of got (or beyond it) and down elsewhere, and every value moved towards got. Where that
 * attains or passes got, a smaller move of this kind attains it by continuity: B is an upper bound.
 * A log-sum-exp moves by log sum p e^(+-theta). The selection of top-k and uniform stands. */
#include <math.h>
#include <stdlib.h>

#include "weights.h"

enum { PREC = 192, GRID = 16, GRID_MIN = -60 * GRID, GRID_MAX = 60 * GRID };

typedef struct {
  sparse_weights w;
  arb_ptr v, theta, moved; /* one component; scratch, a key each */
  arb_t x, gap;            /* exact element, |got - x| */
  int towards, is_lse;
  double u_w, u_s, quantum;
} perturbation;

static double grid_size(int64_t k) {
  return exp2((double)k / GRID);
}

/* theta <- size u_s t in the units of y. */
static void set_theta(perturbation *p, double size) {
  arb_t unit;
  arb_init(unit);
  arb_set_d(unit, size);
  arb_t u;
  arb_init(u);
  arb_set_d(u, p->u_s);
  arb_mul(unit, unit, u, PREC);
  if (p->w.row.kernel->rule == RULE_THRESHOLD) arb_mul(unit, unit, p->w.power.alpha_less, PREC);
  for (int64_t j = 0; j < p->w.row.count; j++)
    arb_mul(p->theta + j, p->w.t + j, unit, PREC);
  arb_clear(u);
  arb_clear(unit);
}

/* m of the first comment, from above. */
static void common_move(arb_t m, const perturbation *p) {
  sparse_rule rule = p->w.row.kernel->rule;
  arb_t sure, end;
  arb_init(sure);
  arb_init(end);
  arb_zero(m);
  if (rule == RULE_MARGIN)
    for (int64_t j = 0; j < p->w.row.count; j++) {
      arb_sub(end, p->w.y + j, p->theta + j, PREC);
      if (j == 0)
        arb_set(sure, end);
      else
        arb_max(sure, sure, end, PREC);
    }
  for (int64_t j = 0; j < p->w.row.count && (rule == RULE_MARGIN || rule == RULE_THRESHOLD); j++) {
    arb_add(end, p->w.y + j, p->theta + j, PREC);
    if (!arb_lt(end, sure)) arb_max(m, m, p->theta + j, PREC);
  }
  arb_clear(sure);
  arb_clear(end);
}

/* low and high: the weights of y -+ h. */
static void weight_range(arb_t low, arb_t high, const perturbation *p, int64_t j, const arb_t h) {
  sparse_rule rule = p->w.row.kernel->rule;
  if (rule == RULE_EXP || rule == RULE_TOP_EXP) {
    arb_exp(high, h, PREC);
    arb_div(low, p->w.w + j, high, PREC);
    arb_mul(high, high, p->w.w + j, PREC);
  } else if (rule == RULE_WITHIN || rule == RULE_TOP_MEAN) {
    arb_set(low, p->w.w + j);
    arb_set(high, p->w.w + j);
  } else {
    arb_sub(low, p->w.y + j, h, PREC);
    arb_add(high, p->w.y + j, h, PREC);
    sparse_power_apply(low, low, &p->w.power, PREC);
    sparse_power_apply(high, high, &p->w.power, PREC);
  }
}

static void out_bound(arb_t reach, perturbation *p, double size) {
  arb_t m, low, high, least, term, eps;
  arb_init(m);
  arb_init(low);
  arb_init(high);
  arb_init(least);
  arb_init(term);
  arb_init(eps);
  arb_set_d(eps, size);
  arb_set_d(term, p->u_w);
  arb_mul(eps, eps, term, PREC);
  common_move(m, p);
  arb_zero(reach);
  for (int64_t j = 0; j < p->w.row.count; j++) {
    arb_add(term, p->theta + j, m, PREC);
    weight_range(low, high, p, j, term);
    arb_add(least, least, low, PREC);
    arb_abs(term, p->v + j);
    arb_mul(term, term, eps, PREC);
    arb_addmul(reach, term, high, PREC);
    arb_sub(high, high, p->w.w + j, PREC);
    arb_sub(low, p->w.w + j, low, PREC);
    arb_max(high, high, low, PREC);
    arb_sub(term, p->v + j, p->x, PREC);
    arb_abs(term, term);
    arb_addmul(reach, term, high, PREC);
  }
  if (p->w.row.kernel->rule != RULE_THRESHOLD) arb_div(reach, reach, least, PREC);
  arb_clear(m);
  arb_clear(low);
  arb_clear(high);
  arb_clear(least);
  arb_clear(term);
  arb_clear(eps);
}

/* moved <- the weights of the row after y_j has moved by theta_j, up where v_j lies beyond the
 * level on the side of got. */
static void move_weights(perturbation *p, const arb_t level) {
  sparse_rule rule = p->w.row.kernel->rule;
  int64_t n = p->w.row.count;
  arb_t side, largest, u;
  arb_init(side);
  arb_init(largest);
  arb_init(u);
  for (int64_t j = 0; j < n; j++) {
    arb_sub(side, p->v + j, level, PREC);
    if (arf_sgn(arb_midref(side)) * p->towards > 0)
      arb_add(p->moved + j, p->w.y + j, p->theta + j, PREC);
    else
      arb_sub(p->moved + j, p->w.y + j, p->theta + j, PREC);
    if (j == 0)
      arb_set(largest, p->moved);
    else
      arb_max(largest, largest, p->moved + j, PREC);
  }
  if (rule == RULE_THRESHOLD) {
    for (int64_t j = 0; j < n; j++)
      arb_sub(p->moved + j, largest, p->moved + j, PREC);
    sparse_solve(u, p->moved, n, &p->w.power, PREC);
    for (int64_t j = 0; j < n; j++)
      arb_sub(p->moved + j, u, p->moved + j, PREC);
  } else if (rule == RULE_MARGIN) {
    problem_real_ball(u, &p->w.row.problem->values.margin, PREC);
    arb_sub(u, u, largest, PREC);
    for (int64_t j = 0; j < n; j++)
      arb_add(p->moved + j, p->moved + j, u, PREC);
  }
  for (int64_t j = 0; j < n; j++)
    if (rule == RULE_EXP || rule == RULE_TOP_EXP) {
      arb_sub(p->moved + j, p->moved + j, largest, PREC);
      arb_exp(p->moved + j, p->moved + j, PREC);
    } else if (rule == RULE_WITHIN || rule == RULE_TOP_MEAN) {
      arb_set(p->moved + j, p->w.w + j);
    } else {
      sparse_power_apply(p->moved + j, p->moved + j, &p->w.power, PREC);
    }
  arb_clear(side);
  arb_clear(largest);
  arb_clear(u);
}

/* How far towards got such a perturbation moves x. */
static void out_moved(arb_t reach, perturbation *p, double size, const arb_t level) {
  arb_t sum, term, eps;
  arb_init(sum);
  arb_init(term);
  arb_init(eps);
  arb_set_d(eps, size);
  arb_set_d(term, p->u_w);
  arb_mul(eps, eps, term, PREC);
  move_weights(p, level);
  arb_zero(reach);
  for (int64_t j = 0; j < p->w.row.count; j++) {
    arb_add(sum, sum, p->moved + j, PREC);
    arb_sub(term, p->v + j, p->x, PREC);
    arb_mul_si(term, term, p->towards, PREC);
    arb_addmul(reach, term, p->moved + j, PREC);
    arb_abs(term, p->v + j);
    arb_mul(term, term, eps, PREC);
    arb_addmul(reach, term, p->moved + j, PREC);
  }
  arb_div(reach, reach, sum, PREC);
  arb_clear(sum);
  arb_clear(term);
  arb_clear(eps);
}

/* The better of two: to raise all values on the side of got, and those beyond it only, which is
 * what attains got where single keys take all the weight. */
static void out_explicit(arb_t reach, perturbation *p, double size) {
  arb_t other, got;
  arb_init(other);
  arb_init(got);
  out_moved(reach, p, size, p->x);
  arb_mul_si(got, p->gap, p->towards, PREC);
  arb_add(got, got, p->x, PREC);
  out_moved(other, p, size, got);
  if (arb_is_finite(other) && (!arb_is_finite(reach) || arb_gt(other, reach)))
    arb_set(reach, other);
  arb_clear(other);
  arb_clear(got);
}

/* |log sum p e^(side theta)|, in the base of the problem. */
static void score_move(arb_t move, const perturbation *p, int side) {
  arb_t sum, term;
  arb_init(sum);
  arb_init(term);
  for (int64_t j = 0; j < p->w.row.count; j++) {
    arb_mul_si(term, p->theta + j, side, PREC);
    arb_exp(term, term, PREC);
    arb_addmul(sum, term, p->w.w + j, PREC);
  }
  arb_div(sum, sum, p->w.sum, PREC);
  arb_log(move, sum, PREC);
  arb_abs(move, move);
  if (p->w.row.problem->values.lse_base == 2) {
    arb_const_log2(term, PREC);
    arb_div(move, move, term, PREC);
  }
  arb_clear(sum);
  arb_clear(term);
}

/* The result itself may move by its relative part too. Upwards moves are at least as large. */
static void lse_reach(arb_t reach, const perturbation *p, double size, int is_bound) {
  arb_t eps, term;
  arb_init(eps);
  arb_init(term);
  arb_set_d(eps, size);
  arb_set_d(term, p->u_w);
  arb_mul(eps, eps, term, PREC);
  score_move(reach, p, is_bound ? 1 : p->towards);
  arb_abs(term, p->x);
  if (is_bound)
    arb_add(term, term, reach, PREC);
  else
    arb_sub(term, term, reach, PREC);
  arb_mul(term, term, eps, PREC);
  if (is_bound || arb_is_positive(term)) arb_add(reach, reach, term, PREC);
  arb_clear(eps);
  arb_clear(term);
}

static void reach_total(arb_t reach, perturbation *p, double size, int is_bound) {
  arb_t quanta, b;
  arb_init(quanta);
  arb_init(b);
  set_theta(p, size);
  if (p->is_lse)
    lse_reach(reach, p, size, is_bound);
  else if (is_bound)
    out_bound(reach, p, size);
  else
    out_explicit(reach, p, size);
  arb_set_d(quanta, p->quantum);
  arb_set_d(b, size);
  arb_addmul(reach, quanta, b, PREC);
  arb_clear(quanta);
  arb_clear(b);
}

/* Whether size 2^(k/16) is too small for got, or is not known to attain it. */
static int holds(perturbation *p, int64_t k, int is_bound) {
  arb_t reach;
  arb_init(reach);
  reach_total(reach, p, grid_size(k), is_bound);
  int yes = is_bound ? arb_lt(reach, p->gap) : !arb_ge(reach, p->gap);
  arb_clear(reach);
  return yes;
}

/* The k with holds(k) and not holds(k + 1), by halving; GRID_MIN - 1 and GRID_MAX at the ends. */
static int64_t last_holding(perturbation *p, int is_bound) {
  int64_t lo = GRID_MIN - 1, hi = GRID_MAX;
  while (hi - lo > 1) {
    int64_t middle = lo + (hi - lo) / 2;
    if (holds(p, middle, is_bound))
      lo = middle;
    else
      hi = middle;
  }
  return lo;
}

static void open_component(perturbation *p, int64_t component, double got) {
  const sparse_weights *w = &p->w;
  int64_t n = w->row.count;
  for (int64_t j = 0; j < n && !p->is_lse; j++)
    arb_set_d(p->v + j, softmax_element(&w->row.slice->v, w->row.key[j], component));
  if (p->is_lse) {
    arb_log(p->x, w->sum, PREC);
    arb_add(p->x, p->x, w->largest, PREC);
    if (w->row.problem->values.lse_base == 2) {
      arb_const_log2(p->gap, PREC);
      arb_div(p->x, p->x, p->gap, PREC);
    }
  } else {
    arb_dot(p->x, NULL, 0, p->v, 1, w->w, 1, n, PREC);
    arb_div(p->x, p->x, w->sum, PREC);
  }
  arb_set_d(p->gap, got);
  arb_sub(p->gap, p->gap, p->x, PREC);
  p->towards = arf_sgn(arb_midref(p->gap)) < 0 ? -1 : 1;
  arb_mul_si(p->gap, p->gap, p->towards, PREC);
}

/* The same bound from the values of all keys that the row may select; 0 where it has none. */
static double beyond_values(const perturbation *p, int64_t component, double got) {
  const sparse_row *row = &p->w.row;
  sparse_rule rule = row->kernel->rule;
  softmax_keys keys;
  if (p->is_lse || rule == RULE_POWER || rule == RULE_WITHIN ||
      softmax_keys_init(&keys, row->problem, row->slice, row->row, NULL))
    return 0;
  double size = softmax_beyond_values(row->slice, &keys, component, got, p->u_w, p->quantum);
  softmax_keys_clear(&keys);
  return size;
}

static measure_interval search(perturbation *p, int64_t component, double got) {
  measure_interval value = {0, INFINITY};
  int64_t n = p->w.row.count;
  p->v = _arb_vec_init(n);
  p->theta = _arb_vec_init(n);
  p->moved = _arb_vec_init(n);
  arb_init(p->x);
  arb_init(p->gap);
  open_component(p, component, got);
  int64_t k = last_holding(p, 1);
  if (k >= GRID_MIN) value.lo = grid_size(k) * (1 - 0x1p-50);
  k = last_holding(p, 0);
  if (k + 1 < GRID_MAX) value.hi = grid_size(k + 1) * (1 + 0x1p-50);
  value.lo = fmax(value.lo, fmin(beyond_values(p, component, got), value.hi));
  _arb_vec_clear(p->v, n);
  _arb_vec_clear(p->theta, n);
  _arb_vec_clear(p->moved, n);
  arb_clear(p->x);
  arb_clear(p->gap);
  return value;
}

/* Rows without weight are prescribed: only quanta can move them. */
static measure_interval settled(double got, double quantum) {
  if (got == 0) return (measure_interval){0, 0};
  if (!(quantum > 0)) return (measure_interval){INFINITY, INFINITY};
  double size = fabs(got) / quantum;
  return (measure_interval){nextafter(size, 0), nextafter(size, INFINITY)};
}

attest_status sparse_backward_explicit(measure_interval *value, const attest_problem *problem,
                                       const problem_slice *slice, int64_t row, int output,
                                       int64_t component, double got, double u_w, double u_s,
                                       double quantum, attest_error *error) {
  perturbation p = {.is_lse = output == OUTPUT_LSE, .u_w = u_w, .u_s = u_s, .quantum = quantum};
  attest_status status = sparse_weights_init(&p.w, problem, slice, row, 1, PREC, error);
  if (status) return status;
  int is_empty = p.w.is_empty || p.w.row.count == 0;
  if (!is_empty)
    *value = search(&p, component, got);
  else if (problem->values.empty_row == EMPTY_ZERO && !p.is_lse)
    *value = settled(got, quantum);
  else
    *value = (measure_interval){INFINITY, INFINITY};
  sparse_weights_clear(&p.w);
  return ATTEST_OK;
}
