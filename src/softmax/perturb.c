/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Bounds of the backward error where first order is not enough (large u t). The backward error of
 * got is the least B such that got, to within B quanta, is the exact result after every score moves
 * by at most eps_s t_j and every value by at most eps_v |v_j|, eps_s = B u_s, eps_v = B u_w.
 *
 * Scores moved by theta_j and values by delta_j |v_j| move a component of out by
 *   [sum p e^theta |v| delta + sum p expm1(theta) (v - x)] / sum p e^theta    (as sum p (v - x) =
 * 0), so no perturbation of size B moves it by more than reach(B) = [sum p (eps_v |v| e^{eps_s t} +
 * expm1(eps_s t) |v - x|)] / sum p e^{-eps_s t}, which increases with B: B is a lower bound while
 * reach(B) + B quantum < |got - x|. Moving every score by +-eps_s t_j, its v towards got, and every
 * value towards got is one such perturbation; where it attains or passes got, a smaller one attains
 * got by continuity: B is an upper bound. And out stays a mean of the values, whatever the scores
 * do: hull.c gives the B below which got lies beyond all of them. For lse, scores alone move it by
 * at most D = |log sum p e^{+-eps_s t}|, which is attained, upwards at least as far as downwards;
 * with the result itself moved by eps_v, reach(B) = D + eps_v (|lse| + D up). */
#include <math.h>
#include <stdlib.h>

#include "../enclosure/search.h"
#include "row.h"

typedef struct {
  softmax_row row;   /* row.score: weights exp(score - max) */
  arb_ptr v, excess; /* one component of the values (0 for the sink) and v - x; NULL for lse */
  arb_t x, sum;      /* exact element, sum of the weights */
  arb_t gap;         /* |got - x| */
  int towards;       /* +1 when got > x, else -1 */
  int base2;         /* lse in base 2 */
  double u_w, u_s, quantum;
} perturbation;

/* ---- how far a perturbation reaches
 * --------------------------------------------------------------- */

/* One key: adds to the numerator and the denominator of the move of a component. */
static void add_key(arb_t num, arb_t den, arb_ptr w, const perturbation *p, int64_t j,
                    const arb_t eps_s, const arb_t eps_v, reach_kind kind) {
  slong prec = p->row.prec;
  arb_ptr growth = w, move = w + 1, term = w + 2;
  arb_mul(move, eps_s, p->row.t + j, prec);
  int up = kind == REACH_BOUND || p->towards * arf_sgn(arb_midref(p->excess + j)) > 0;
  if (!up) arb_neg(move, move);
  arb_expm1(growth, move, prec);
  if (kind == REACH_BOUND) { /* the denominator is least where every weight shrinks */
    arb_neg(move, move);
    arb_exp(move, move, prec);
    arb_abs(term, p->excess + j);
  } else {
    arb_add_ui(move, growth, 1, prec);
    arb_mul_si(term, p->excess + j, p->towards, prec);
  }
  arb_addmul(den, move, p->row.score + j, prec);
  arb_mul(term, term, growth, prec);
  arb_add_ui(growth, growth, 1, prec);
  arb_mul(growth, growth, eps_v, prec);
  arb_abs(move, p->v + j);
  arb_addmul(term, growth, move, prec);
  arb_addmul(num, term, p->row.score + j, prec);
}

static void reach_out(arb_t reach, const perturbation *p, const arb_t eps_s, const arb_t eps_v,
                      reach_kind kind) {
  arb_ptr w = _arb_vec_init(4);
  arb_zero(reach);
  for (int64_t j = 0; j < p->row.count; j++)
    add_key(reach, w + 3, w, p, j, eps_s, eps_v, kind);
  arb_div(reach, reach, w + 3, p->row.prec);
  _arb_vec_clear(w, 4);
}

/* |log (sum p e^{direction eps_s t} / sum p)|, in the base of the lse. */
static void score_move(arb_t move, const perturbation *p, const arb_t eps_s, int direction) {
  slong prec = p->row.prec;
  arb_t term;
  arb_init(term);
  arb_zero(move);
  for (int64_t j = 0; j < p->row.count; j++) {
    arb_mul(term, eps_s, p->row.t + j, prec);
    if (direction < 0) arb_neg(term, term);
    arb_expm1(term, term, prec);
    arb_addmul(move, term, p->row.score + j, prec);
  }
  arb_div(move, move, p->sum, prec);
  arb_log1p(move, move, prec);
  arb_abs(move, move);
  if (p->base2) {
    arb_const_log2(term, prec);
    arb_div(move, move, term, prec);
  }
  arb_clear(term);
}

static void reach_lse(arb_t reach, const perturbation *p, const arb_t eps_s, const arb_t eps_v,
                      reach_kind kind) {
  slong prec = p->row.prec;
  arb_t size, up;
  arb_init(size);
  arb_init(up);
  score_move(reach, p, eps_s, p->towards);
  if (kind == REACH_BOUND) {
    score_move(up, p, eps_s, 1);
    arb_abs(size, p->x);
    arb_add(size, size, up, prec);
  } else {
    arb_mul_si(size, reach, p->towards, prec);
    arb_add(size, size, p->x, prec);
    arb_abs(size, size);
  }
  arb_addmul(reach, size, eps_v, prec);
  arb_clear(size);
  arb_clear(up);
}

/* reach + size quanta: a bound of every perturbation, or what the explicit one attains. */
static void reach_total(arb_t reach, const void *context, double size, reach_kind kind) {
  const perturbation *p = context;
  slong prec = p->row.prec;
  arb_t b, eps_s, eps_v;
  arb_init(b);
  arb_init(eps_s);
  arb_init(eps_v);
  arb_set_d(b, size);
  arb_set_d(eps_s, p->u_s);
  arb_mul(eps_s, eps_s, b, prec);
  arb_set_d(eps_v, p->u_w);
  arb_mul(eps_v, eps_v, b, prec);
  if (p->v)
    reach_out(reach, p, eps_s, eps_v, kind);
  else
    reach_lse(reach, p, eps_s, eps_v, kind);
  arb_set_d(eps_s, p->quantum);
  arb_addmul(reach, eps_s, b, prec);
  arb_clear(b);
  arb_clear(eps_s);
  arb_clear(eps_v);
}

/* ---- the row at a precision
 * ------------------------------------------------------------------------ */

/* x, v and v - x of one component of out. */
static void load_component(perturbation *p, const problem_slice *slice, int64_t component) {
  softmax_row *r = &p->row;
  p->v = _arb_vec_init(r->count);
  p->excess = _arb_vec_init(r->count);
  for (int64_t n = 0; n < r->keys.count; n++)
    arb_set_d(p->v + n, softmax_element(&slice->v, r->keys.key[n], component));
  arb_dot(p->x, NULL, 0, p->v, 1, r->score, 1, r->count, r->prec);
  arb_div(p->x, p->x, p->sum, r->prec);
  for (int64_t n = 0; n < r->count; n++)
    arb_sub(p->excess + n, p->v + n, p->x, r->prec);
}

static void load_lse(perturbation *p, const arb_t max) {
  slong prec = p->row.prec;
  arb_log(p->x, p->sum, prec);
  arb_add(p->x, p->x, max, prec);
  if (!p->base2) return;
  arb_const_log2(p->gap, prec);
  arb_div(p->x, p->x, p->gap, prec);
}

static attest_status perturbation_init(perturbation *p, const attest_problem *problem,
                                       const problem_slice *slice, int64_t row, int output,
                                       int64_t component, double got, slong prec,
                                       attest_error *error) {
  attest_status status = softmax_row_init(&p->row, problem, slice, row, 1, prec, error);
  if (status) return status;
  p->v = p->excess = NULL;
  p->base2 = problem->values.lse_base == 2;
  arb_init(p->x);
  arb_init(p->sum);
  arb_init(p->gap);
  softmax_row_weights(&p->row, p->sum, p->gap);
  if (output == OUTPUT_OUT)
    load_component(p, slice, component);
  else
    load_lse(p, p->gap);
  arb_set_d(p->gap, got);
  arb_sub(p->gap, p->gap, p->x, p->row.prec);
  p->towards = arf_sgn(arb_midref(p->gap)) < 0 ? -1 : 1;
  arb_mul_si(p->gap, p->gap, p->towards, p->row.prec);
  return ATTEST_OK;
}

static void perturbation_clear(perturbation *p) {
  if (p->v) _arb_vec_clear(p->v, p->row.count);
  if (p->excess) _arb_vec_clear(p->excess, p->row.count);
  softmax_row_clear(&p->row);
  arb_clear(p->x);
  arb_clear(p->sum);
  arb_clear(p->gap);
}

/* Rows whose value the edge policy gives: only quanta can move them. */
static measure_interval settled(double x, double got, double quantum) {
  measure_interval value = measure_abs(got, x, 0);
  if (value.hi == 0) return value;
  if (!(quantum > 0)) return (measure_interval){INFINITY, INFINITY};
  value.lo = nextafter(value.lo / quantum, 0);
  value.hi = nextafter(value.hi / quantum, INFINITY);
  return value;
}

/* The gap is to be known to 20 bits; where it is not even at this precision, the bounds hold
 * anyway. */
#define GAP_BITS 20
#define GAP_PRECISION_MAX 16384

static attest_status ordinary_bounds(measure_interval *value, const attest_problem *problem,
                                     const problem_slice *slice, int64_t row, int output,
                                     int64_t component, double got, double u_w, double u_s,
                                     double quantum, attest_error *error) {
  perturbation p;
  p.u_w = u_w;
  p.u_s = u_s;
  p.quantum = quantum;
  for (slong prec = 128;; prec *= 2) {
    attest_status status =
        perturbation_init(&p, problem, slice, row, output, component, got, prec, error);
    if (status) return status;
    int known = arb_rel_accuracy_bits(p.gap) >= GAP_BITS;
    if (!known && prec == 128 &&
        room_equals_double(softmax_linear_zero, problem, slice, row, output, component, got) == 1) {
      *value = (measure_interval){0, 0};
      perturbation_clear(&p);
      return ATTEST_OK;
    }
    if (known || prec >= GAP_PRECISION_MAX) break;
    perturbation_clear(&p);
  }
  *value = search_least_move(&p, reach_total, p.gap);
  if (p.v) {
    double beyond = softmax_beyond_values(slice, &p.row.keys, component, got, u_w, quantum);
    value->lo = fmax(value->lo, fmin(beyond, value->hi));
  }
  perturbation_clear(&p);
  return ATTEST_OK;
}

attest_status softmax_backward_explicit(measure_interval *value, const attest_problem *problem,
                                        const problem_slice *slice, int64_t row, int output,
                                        int64_t component, double got, double u_w, double u_s,
                                        double quantum, attest_error *error) {
  int64_t width = output == OUTPUT_OUT ? slice->dv : 1;
  if (output != OUTPUT_OUT) component = 0;
  double *x = malloc((size_t)(width + 1) * sizeof *x);
  unsigned char *class = malloc((size_t)width + 1);
  attest_status status = ATTEST_OK;
  if (!x || !class) {
    status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for one row of %lld values",
                         (long long)width);
  } else {
    int kind = softmax_special_row(class, x, problem, slice, row, output);
    if (kind < 0)
      status = softmax_empty_row_trouble(slice, row, error);
    else if (class[component] != EXACT_FINITE)
      *value = (measure_interval){INFINITY, INFINITY};
    else if (kind == 0)
      *value = settled(x[component], got, quantum);
    else
      status = ordinary_bounds(value, problem, slice, row, output, component, got, u_w, u_s,
                               quantum, error);
  }
  free(x);
  free(class);
  return status;
}
