/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Bounds of the backward error where first order is not enough: where scores may move far, or where
 * W may nearly vanish. The backward error of got is the least B such that got, to within B quanta,
 * is the exact result after perturbations of size B.
 *
 * got is exact iff the residual R = sum w_n (u_nc - got u_n,dv) - got eps vanishes (without a
 * normaliser: sum w_n u_nc - got). Perturbations of size B, eps_s = B u_s, eps_v = B u_w, move
 *   values by eps_v |u_c|,
 *   weights of form direct by scores moved by eps_s t and terms of the polynomial moved by eps_s of
 *     themselves: |w' - w| <= e := sum_{m>=1} (eps_s t)^m / m! |T_{P-m}(s)| + eps_s T_P(|s| + eps_s
 * t), weights of stateful terms by eps_s c, in numerator and denominator independently, got by B
 * quanta, which moves R by that times |W'|. So |R' - R| is at most sum e |u_c - got u_dv| + (|w| +
 * e) eps_v |u_c| + B quantum (|W| + sum e |u_dv|), for stateful terms with |u_c| + |got| |u_dv| in
 * place of |u_c - got u_dv|: B is a lower bound while this is below |R|. Moving every weight and
 * every value so that R moves towards 0 is one such perturbation; where it attains or passes 0, a
 * smaller one attains it by continuity: B is an upper bound. (Where W' should vanish there, the
 * same perturbations reach results as close to got as one likes.) */
#include <math.h>
#include <stdlib.h>

#include "../enclosure/search.h"
#include "row.h"

typedef struct {
  taylor_row row;
  arb_ptr u, y;     /* u_c and u_dv of every term (0 without a normaliser) */
  arb_ptr d;        /* u_c - got u_dv */
  arb_t got, gap;   /* gap = |R| */
  arb_t normalizer; /* W; 1 without */
  int towards;      /* the sign by which R has to move */
  double u_w, u_s, quantum;
} perturbation;

/* ---- one term -------------------------------------------------------------------------------- */

static void decay_of(arb_t decay, const taylor_row *r, int64_t n) {
  arb_one(decay);
  if (!r->kind.has_decay) return;
  taylor_real_ball(decay, &r->problem->values.decay, r->prec);
  arb_pow_ui(decay, decay, (ulong)taylor_steps(r->slice, r->row, r->key[n]), r->prec);
}

/* e of a term of form direct: sum over m of T_{P-m}(s) as partial sums of the series. */
static void direct_bound(arb_t e, const taylor_row *r, int64_t n, const arb_t eps_s) {
  int64_t degree = r->kind.degree;
  slong prec = r->prec;
  arb_ptr partial = _arb_vec_init(degree + 1);
  arb_t move, term, size;
  arb_init(move);
  arb_init(term);
  arb_init(size);
  arb_one(partial);
  arb_one(term);
  for (int64_t m = 1; m <= degree; m++) {
    arb_mul(term, term, r->s + n, prec);
    arb_div_ui(term, term, (ulong)m, prec);
    arb_add(partial + m, partial + m - 1, term, prec);
  }
  arb_mul(move, eps_s, r->t + n, prec);
  arb_one(term);
  arb_zero(e);
  for (int64_t m = 1; m <= degree; m++) {
    arb_mul(term, term, move, prec);
    arb_div_ui(term, term, (ulong)m, prec);
    arb_abs(size, partial + degree - m);
    arb_addmul(e, term, size, prec);
  }
  arb_abs(size, r->s + n);
  arb_add(size, size, move, prec);
  taylor_polynomial(size, size, degree, prec);
  arb_addmul(e, size, eps_s, prec);
  decay_of(term, r, n);
  arb_mul(e, e, term, prec);
  arb_clear(move);
  arb_clear(term);
  arb_clear(size);
  _arb_vec_clear(partial, degree + 1);
}

/* The largest (up > 0) or smallest weight that a move of the score by -eps_s t, 0 or eps_s t gives
 * with the terms moved the same way: one that can be attained. */
static void direct_attained(arb_t w, const taylor_row *r, int64_t n, const arb_t eps_s, int up) {
  slong prec = r->prec;
  arb_t move, x, value, size;
  arb_init(move);
  arb_init(x);
  arb_init(value);
  arb_init(size);
  arb_mul(move, eps_s, r->t + n, prec);
  for (int side = -1; side <= 1; side++) {
    arb_mul_si(x, move, side, prec);
    arb_add(x, x, r->s + n, prec);
    taylor_polynomial(value, x, r->kind.degree, prec);
    arb_abs(x, x);
    taylor_polynomial(size, x, r->kind.degree, prec);
    arb_mul(size, size, eps_s, prec);
    if (up > 0)
      arb_add(value, value, size, prec);
    else
      arb_sub(value, value, size, prec);
    int better = arf_cmp(arb_midref(value), arb_midref(w)) * up > 0;
    if (side == -1 || better) arb_set(w, value);
  }
  decay_of(x, r, n);
  arb_mul(w, w, x, prec);
  arb_clear(move);
  arb_clear(x);
  arb_clear(value);
  arb_clear(size);
}

/* ---- how far a perturbation reaches ---------------------------------------------------------- */

/* Adds one term to the move of R and to what W' may be (bound) or is (explicit). */
static void bound_term(arb_t move, arb_t normalizer, const perturbation *p, int64_t n,
                       const arb_t eps_s, const arb_t eps_v) {
  slong prec = p->row.prec;
  arb_t e, x, y;
  arb_init(e);
  arb_init(x);
  arb_init(y);
  if (taylor_row_is_stateful(&p->row, n)) {
    arb_mul(e, eps_s, p->row.c + n, prec);
    arb_mul(x, p->got, p->y + n, prec);
    arb_abs(x, x);
    arb_abs(y, p->u + n);
    arb_add(x, x, y, prec);
  } else {
    direct_bound(e, &p->row, n, eps_s);
    arb_abs(x, p->d + n);
  }
  arb_addmul(move, e, x, prec);
  arb_abs(x, p->y + n);
  arb_addmul(normalizer, e, x, prec);
  arb_abs(x, p->row.w + n);
  arb_add(x, x, e, prec);
  arb_abs(y, p->u + n);
  arb_mul(x, x, y, prec);
  arb_addmul(move, x, eps_v, prec);
  arb_clear(e);
  arb_clear(x);
  arb_clear(y);
}

static void explicit_term(arb_t move, arb_t normalizer, const perturbation *p, int64_t n,
                          const arb_t eps_s, const arb_t eps_v) {
  slong prec = p->row.prec;
  arb_t w, x, y;
  arb_init(w);
  arb_init(x);
  arb_init(y);
  if (taylor_row_is_stateful(&p->row, n)) {
    int up = p->towards * (arf_sgn(arb_midref(p->u + n)) < 0 ? -1 : 1);
    arb_mul(x, eps_s, p->row.c + n, prec);
    arb_mul(y, p->got, p->y + n, prec);
    arb_abs(y, y);
    arb_addmul(move, x, y, prec); /* the denominator's own copy of the weight */
    arb_abs(y, p->y + n);
    arb_submul(normalizer, x, y, prec);
    if (up < 0) arb_neg(x, x);
    arb_add(w, p->row.w + n, x, prec);
    arb_mul(x, x, p->u + n, prec);
  } else {
    int up = p->towards * (arf_sgn(arb_midref(p->d + n)) < 0 ? -1 : 1);
    direct_attained(w, &p->row, n, eps_s, up);
    arb_sub(x, w, p->row.w + n, prec);
    arb_mul(y, x, p->y + n, prec);
    arb_abs(y, y);
    arb_sub(normalizer, normalizer, y, prec);
    arb_mul(x, x, p->d + n, prec);
  }
  arb_mul_si(x, x, p->towards, prec);
  arb_add(move, move, x, prec);
  arb_abs(w, w);
  arb_abs(y, p->u + n);
  arb_mul(w, w, y, prec);
  arb_addmul(move, w, eps_v, prec);
  arb_clear(w);
  arb_clear(x);
  arb_clear(y);
}

/* What the perturbations of a size move R by: a bound, or what one of them attains. */
static void reach_total(arb_t reach, const void *context, double size, reach_kind kind) {
  const perturbation *p = context;
  slong prec = p->row.prec;
  arb_t b, eps_s, eps_v, normalizer;
  arb_init(b);
  arb_init(eps_s);
  arb_init(eps_v);
  arb_init(normalizer);
  arb_set_d(b, size);
  arb_set_d(eps_s, p->u_s);
  arb_mul(eps_s, eps_s, b, prec);
  arb_set_d(eps_v, p->u_w);
  arb_mul(eps_v, eps_v, b, prec);
  arb_abs(normalizer, p->normalizer);
  arb_zero(reach);
  for (int64_t n = 0; n < p->row.count; n++)
    (kind == REACH_BOUND ? bound_term : explicit_term)(reach, normalizer, p, n, eps_s, eps_v);
  /* The explicit one counts quanta only while W' keeps its sign: normalizer is |W'| at least. */
  arb_set_d(eps_s, p->quantum);
  arb_mul(b, b, eps_s, prec);
  if (kind == REACH_BOUND || arb_is_positive(normalizer)) arb_addmul(reach, b, normalizer, prec);
  arb_clear(b);
  arb_clear(eps_s);
  arb_clear(eps_v);
  arb_clear(normalizer);
}

/* ---- the row at a precision ------------------------------------------------------------------ */

static void set_terms(perturbation *p, int64_t component) {
  taylor_row *r = &p->row;
  arb_t eps, residual;
  arb_init(eps);
  arb_init(residual);
  taylor_real_ball(eps, &r->problem->values.eps, r->prec);
  for (int64_t n = 0; n < r->count; n++) {
    arb_set_d(p->u + n, taylor_row_value(r, n, component));
    arb_set_d(p->y + n, r->kind.has_normalizer ? taylor_row_value(r, n, r->slice->dv) : 0);
    arb_mul(p->d + n, p->got, p->y + n, r->prec);
    arb_sub(p->d + n, p->u + n, p->d + n, r->prec);
    arb_addmul(residual, p->d + n, r->w + n, r->prec);
    arb_addmul(p->normalizer, p->y + n, r->w + n, r->prec);
  }
  if (r->kind.has_normalizer)
    arb_add(p->normalizer, p->normalizer, eps, r->prec);
  else
    arb_one(p->normalizer);
  arb_mul(eps, eps, p->got, r->prec);
  arb_sub(residual, residual, r->kind.has_normalizer ? eps : p->got, r->prec);
  p->towards = arf_sgn(arb_midref(residual)) > 0 ? -1 : 1;
  arb_mul_si(p->gap, residual, -p->towards, r->prec);
  arb_clear(eps);
  arb_clear(residual);
}

static attest_status perturbation_init(perturbation *p, const attest_problem *problem,
                                       const problem_slice *slice, int64_t row, int64_t component,
                                       double got, slong prec, attest_error *error) {
  attest_status status = taylor_row_init(&p->row, problem, slice, row, 1, prec, error);
  if (status) return status;
  p->u = _arb_vec_init(3 * p->row.count);
  p->y = p->u + p->row.count;
  p->d = p->y + p->row.count;
  arb_init(p->got);
  arb_init(p->gap);
  arb_init(p->normalizer);
  arb_set_d(p->got, got);
  set_terms(p, component);
  return ATTEST_OK;
}

static void perturbation_clear(perturbation *p) {
  _arb_vec_clear(p->u, 3 * p->row.count);
  taylor_row_clear(&p->row);
  arb_clear(p->got);
  arb_clear(p->gap);
  arb_clear(p->normalizer);
}

/* The gap is to be known to 20 bits; where it is not even at this precision, the bounds hold
 * anyway. */
#define GAP_BITS 20
#define GAP_PRECISION_MAX 16384

static attest_status ordinary_bounds(measure_interval *value, const attest_problem *problem,
                                     const problem_slice *slice, int64_t row, int64_t component,
                                     double got, double u_w, double u_s, double quantum,
                                     attest_error *error) {
  perturbation p = {.u_w = u_w, .u_s = u_s, .quantum = quantum};
  for (slong prec = 128;; prec *= 2) {
    attest_status status = perturbation_init(&p, problem, slice, row, component, got, prec, error);
    if (status) return status;
    int known = arb_rel_accuracy_bits(p.gap) >= GAP_BITS;
    if (arb_is_zero(p.gap) || (!known && prec == 128 &&
                               room_equals_double(taylor_linear_zero, problem, slice, row,
                                                  OUTPUT_OUT, component, got) == 1)) {
      *value = (measure_interval){0, 0};
      perturbation_clear(&p);
      return ATTEST_OK;
    }
    if (known || prec >= GAP_PRECISION_MAX) break;
    perturbation_clear(&p);
  }
  *value = search_least_move(&p, reach_total, p.gap);
  perturbation_clear(&p);
  return ATTEST_OK;
}

attest_status taylor_backward_explicit(measure_interval *value, const attest_problem *problem,
                                       const problem_slice *slice, int64_t row, int output,
                                       int64_t component, double got, double u_w, double u_s,
                                       double quantum, attest_error *error) {
  /* Rows of the final state and empty rows are first order all the way: reach is 0 there. */
  *value = (measure_interval){0, INFINITY};
  unsigned char *class = malloc((size_t)slice->dv + 1);
  double *zero = malloc((size_t)(slice->dv + 1) * sizeof *zero);
  attest_status status = ATTEST_OK;
  if (!class || !zero)
    status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for one row of %lld values",
                         (long long)slice->dv);
  else if (output == OUTPUT_OUT && taylor_special_row(class, zero, problem, slice, row) == 1)
    status = ordinary_bounds(value, problem, slice, row, component, got, u_w, u_s, quantum, error);
  free(class);
  free(zero);
  return status;
}
