/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Bounds of the backward error of kernels whose weights are scores or polynomials of them, where
 * first order is not enough: where scores may move far, or the weights may nearly add up to zero.
 *
 * got is exact iff the residual R = sum w_j (v_j - got) - got eps vanishes (without a normaliser:
 * sum w_j v_j - got). Perturbations of size B, e = B u_s, f = B u_w, move
 *   weights: w = s by scores moved by e t_j; w = p(s) by scores moved by e t_j and every term of
 *     the polynomial by e of itself: |w' - w| <= m_j, m_j = e t_j or (1 + e) P(|s_j| + e t_j) -
 *     P(|s_j|), P the polynomial of the absolute coefficients,
 *   values by f |v_j|, got by B quanta, which moves R by that times |sum w'|.
 * So |R' - R| is at most
 *   sum m_j |v_j - got| + (|w_j| + m_j) f |v_j| + B quantum (|W| + sum m_j),
 * and while this is below |R|, B is a lower bound. Moving every weight as far towards R = 0 as one
 * of the two ends s_j +- e t_j takes it, and every value likewise, is one such perturbation; where
 * it attains or passes 0, a smaller one attains it by continuity: B is an upper bound. (Where W'
 * should vanish there, the same perturbations reach results as close to got as one likes.) */
#include <math.h>

#include "../enclosure/flint_poly.h"
#include "../enclosure/search.h"
#include "scores.h"

typedef struct {
  const score_row *row;
  arb_ptr v, d; /* values of the component; v_j - got, or v_j without a normaliser */
  arb_ptr size; /* P(|s_j|) */
  arb_t gap;    /* |R| */
  int towards;  /* the sign by which R has to move */
  double u_w, u_s, quantum;
} question;

/* m_j. */
static void move_bound(arb_t m, const question *q, int64_t j, const arb_t e) {
  const score_row *r = q->row;
  arb_t x;
  if (r->degree < 0) {
    arb_mul(m, e, r->t + j, r->prec);
    return;
  }
  arb_init(x);
  arb_abs(x, r->score + j);
  arb_addmul(x, e, r->t + j, r->prec);
  _arb_poly_evaluate(m, r->c_size, r->degree + 1, x, r->prec);
  arb_addmul(m, m, e, r->prec);
  arb_sub(m, m, q->size + j, r->prec);
  arb_clear(x);
}

/* A weight that e reaches, moved by `sign` from w_j as far as the ends of the score's range say. */
static void moved_weight(arb_t w, const question *q, int64_t j, const arb_t e, int sign) {
  const score_row *r = q->row;
  arb_t s, p;
  arb_init(s);
  arb_init(p);
  arb_set(w, r->weight + j);
  for (int end = -1; end <= 1; end += 2) {
    arb_mul_si(s, e, end, r->prec);
    arb_mul(s, s, r->t + j, r->prec);
    arb_add(s, s, r->score + j, r->prec);
    if (r->degree < 0) {
      arb_set(p, s);
    } else {
      arb_t size;
      arb_init(size);
      _arb_poly_evaluate(p, r->c, r->degree + 1, s, r->prec);
      arb_abs(s, s);
      _arb_poly_evaluate(size, r->c_size, r->degree + 1, s, r->prec);
      arb_mul(size, size, e, r->prec);
      (sign > 0 ? arb_add : arb_sub)(p, p, size, r->prec);
      arb_clear(size);
    }
    int further = arf_cmp(arb_midref(p), arb_midref(w));
    if (sign > 0 ? further > 0 : further < 0) arb_swap(w, p);
  }
  arb_clear(s);
  arb_clear(p);
}

static int sign_of(const arb_t x) {
  return arf_sgn(arb_midref(x)) < 0 ? -1 : 1;
}

/* From above (sign 1) or from below how far R can be moved towards 0. */
static void reach(arb_t total, const void *context, double size, reach_kind kind) {
  const question *q = context;
  const score_row *r = q->row;
  arb_ptr w = _arb_vec_init(5);
  arb_ptr e = w + 1, f = w + 2, x = w + 3, sum = w + 4;
  arb_set_d(e, size);
  arb_set_d(x, q->u_s);
  arb_set_d(f, q->u_w);
  arb_mul(f, f, e, r->prec);
  arb_mul(e, e, x, r->prec);
  arb_zero(total);
  if (r->normalizes) arb_set(sum, r->total);
  for (int64_t j = 0; j < r->keys.count; j++) {
    if (kind == REACH_BOUND) {
      move_bound(w, q, j, e);
      if (r->normalizes) arb_abs(sum, sum);
      if (r->normalizes) arb_add(sum, sum, w, r->prec);
      arb_abs(x, q->d + j);
      arb_addmul(total, x, w, r->prec);
      arb_abs(x, r->weight + j);
      arb_add(w, w, x, r->prec);
    } else {
      moved_weight(w, q, j, e, q->towards * sign_of(q->d + j));
      arb_sub(x, w, r->weight + j, r->prec);
      if (r->normalizes) arb_add(sum, sum, x, r->prec);
      arb_mul(x, x, q->d + j, r->prec);
      arb_mul_si(x, x, q->towards, r->prec);
      arb_add(total, total, x, r->prec);
      arb_abs(w, w);
    }
    arb_mul(w, w, f, r->prec);
    arb_abs(x, q->v + j);
    arb_addmul(total, w, x, r->prec);
  }
  if (!r->normalizes) arb_one(sum);
  arb_abs(sum, sum);
  arb_set_d(x, q->quantum);
  arb_set_d(e, size);
  arb_mul(x, x, e, r->prec);
  arb_addmul(total, x, sum, r->prec);
  _arb_vec_clear(w, 5);
}

static void ask(measure_interval *value, question *q, const problem_slice *slice, int64_t component,
                double got, const problem_values *values) {
  const score_row *r = q->row;
  int64_t n = r->keys.count;
  arb_t x, unit;
  arb_init(x);
  arb_init(unit);
  arb_init(q->gap);
  q->v = _arb_vec_init(3 * n);
  q->d = q->v + n;
  q->size = q->d + n;
  for (int64_t j = 0; j < n; j++) {
    score_value(q->v + j, r, slice, j, component);
    arb_set_d(x, r->normalizes ? got : 0);
    arb_sub(q->d + j, q->v + j, x, r->prec);
    arb_addmul(q->gap, q->d + j, r->weight + j, r->prec);
    arb_abs(x, r->score + j);
    if (r->degree >= 0) _arb_poly_evaluate(q->size + j, r->c_size, r->degree + 1, x, r->prec);
  }
  arb_set_d(x, got);
  if (r->normalizes) {
    arb_set_fmpq(unit, values->eps.value, r->prec);
    if (values->eps.root) arb_sqrt(unit, unit, r->prec);
    arb_mul(x, x, unit, r->prec);
  }
  arb_sub(q->gap, q->gap, x, r->prec);
  q->towards = -sign_of(q->gap);
  arb_mul_si(q->gap, q->gap, -q->towards, r->prec);
  *value = arb_is_zero(q->gap) ? (measure_interval){0, 0} : search_least_move(q, reach, q->gap);
  _arb_vec_clear(q->v, 3 * n);
  arb_clear(q->gap);
  arb_clear(x);
  arb_clear(unit);
}

attest_status score_backward_explicit(measure_interval *value, const attest_problem *problem,
                                      const problem_slice *slice, int64_t row, int output,
                                      int64_t component, double got, double u_w, double u_s,
                                      double quantum, attest_error *error) {
  score_row r;
  question q = {.row = &r, .u_w = u_w, .u_s = u_s, .quantum = quantum};
  (void)output;
  attest_status status = score_row_init(&r, problem, slice, row, 256, error);
  if (status) return status;
  ask(value, &q, slice, component, got, &problem->values);
  score_row_clear(&r);
  return ATTEST_OK;
}
