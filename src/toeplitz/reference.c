/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Weights that are scores, or polynomials of them, in balls. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../enclosure/flint_poly.h"
#include "../problem/pairing.h"
#include "../problem/rotary.h"
#include "scores.h"

/* ---- one row ---- */

void score_row_clear(score_row *r) {
  int64_t n = r->keys.count;
  _arb_vec_clear(r->score, n);
  _arb_vec_clear(r->t, n);
  if (r->degree >= 0) {
    _arb_vec_clear(r->weight, n);
    _arb_vec_clear(r->move, n);
    _arb_vec_clear(r->c, r->degree + 1);
    _arb_vec_clear(r->c_size, r->degree + 1);
  }
  arb_clear(r->total);
  arb_clear(r->moves);
  softmax_keys_clear(&r->keys);
}

static void find_total(score_row *r, const problem_values *values) {
  if (!r->normalizes) {
    arb_one(r->total);
    return;
  }
  arb_set_fmpq(r->total, values->eps.value, r->prec);
  if (values->eps.root) arb_sqrt(r->total, r->total, r->prec);
  for (int64_t n = 0; n < r->keys.count; n++) {
    arb_add(r->total, r->total, r->weight + n, r->prec);
    arb_add(r->moves, r->moves, r->move + n, r->prec);
  }
}

static void find_polynomial_weights(score_row *r, const double *c) {
  int64_t n = r->keys.count;
  arb_t x, slope;
  arb_init(x);
  arb_init(slope);
  r->weight = _arb_vec_init(n);
  r->move = _arb_vec_init(n);
  r->c = _arb_vec_init(r->degree + 1);
  r->c_size = _arb_vec_init(r->degree + 1);
  for (slong t = 0; t <= r->degree; t++) {
    arb_set_d(r->c + t, c[t]);
    arb_set_d(r->c_size + t, fabs(c[t]));
  }
  for (int64_t k = 0; k < n; k++) {
    _arb_poly_evaluate2(r->weight + k, slope, r->c, r->degree + 1, r->score + k, r->prec);
    arb_abs(x, r->score + k);
    _arb_poly_evaluate(r->move + k, r->c_size, r->degree + 1, x, r->prec);
    arb_abs(slope, slope);
    arb_addmul(r->move + k, slope, r->t + k, r->prec);
  }
  arb_clear(x);
  arb_clear(slope);
}

attest_status score_row_init(score_row *r, const attest_problem *problem,
                             const problem_slice *slice, int64_t row, slong prec,
                             attest_error *error) {
  problem_pairs pairs;
  softmax_terms terms;
  double c[PROBLEM_COEFFICIENTS_MAX];
  *r = (score_row){.prec = prec, .normalizes = problem->values.normalize == NORMALIZE_SUM};
  attest_status status = softmax_keys_init(&r->keys, problem, slice, row, error);
  if (status) return status;
  status = problem_pairs_open(&pairs, problem, slice, prec, error);
  if (status) {
    softmax_keys_clear(&r->keys);
    return status;
  }
  r->score = r->weight = _arb_vec_init(r->keys.count);
  r->t = r->move = _arb_vec_init(r->keys.count);
  arb_init(r->total);
  arb_init(r->moves);
  softmax_terms_init(&terms, problem, slice, prec);
  for (int64_t n = 0; n < r->keys.count; n++) {
    arb_ptr s = r->score + n, t = r->t + n;
    problem_pairs_form(s, t, &pairs, row, r->keys.key[n]);
    softmax_terms_score(s, t, &terms, s, t, SCORE_FINITE, row, r->keys.key[n]);
  }
  softmax_terms_clear(&terms);
  problem_pairs_close(&pairs);
  r->degree = problem_coefficients(c, problem);
  if (r->degree >= 0) find_polynomial_weights(r, c);
  find_total(r, &problem->values);
  return ATTEST_OK;
}

void score_sums_init(score_sums *sums) {
  arb_init(sums->weighted);
  arb_init(sums->absolute);
  arb_init(sums->spread);
  arb_init(sums->size);
}

void score_sums_clear(score_sums *sums) {
  arb_clear(sums->weighted);
  arb_clear(sums->absolute);
  arb_clear(sums->spread);
  arb_clear(sums->size);
}

void score_value(arb_t v, const score_row *r, const problem_slice *slice, int64_t n,
                 int64_t component) {
  arb_set_d(v, softmax_element(&slice->v, r->keys.key[n], component));
}

void score_sums_weighted(score_sums *sums, const score_row *r, const problem_slice *slice,
                         int64_t component) {
  arb_t v;
  arb_init(v);
  arb_zero(sums->weighted);
  for (int64_t n = 0; n < r->keys.count; n++) {
    score_value(v, r, slice, n, component);
    arb_addmul(sums->weighted, r->weight + n, v, r->prec);
  }
  arb_clear(v);
}

void score_sums_spread(score_sums *sums, const arb_t x, const score_row *r,
                       const problem_slice *slice, int64_t component) {
  arb_t v, term;
  arb_init(v);
  arb_init(term);
  arb_zero(sums->absolute);
  arb_zero(sums->spread);
  arb_zero(sums->size);
  for (int64_t n = 0; n < r->keys.count; n++) {
    score_value(v, r, slice, n, component);
    arb_mul(term, r->weight + n, v, r->prec);
    arb_abs(term, term);
    arb_add(sums->absolute, sums->absolute, term, r->prec);
    arb_abs(term, v);
    arb_addmul(sums->size, term, r->move + n, r->prec);
    if (r->normalizes) arb_sub(v, v, x, r->prec);
    arb_abs(v, v);
    arb_addmul(sums->spread, v, r->move + n, r->prec);
  }
  arb_clear(v);
  arb_clear(term);
}

static void put_component(room_balls *balls, const score_row *r, const problem_slice *slice,
                          int64_t c, unsigned want) {
  score_sums sums;
  score_sums_init(&sums);
  score_sums_weighted(&sums, r, slice, c);
  arb_div(balls->x + c, sums.weighted, r->total, r->prec);
  if (want & WANT_CONDITION) {
    arb_t total;
    arb_init(total);
    arb_abs(total, r->total);
    score_sums_spread(&sums, balls->x + c, r, slice, c);
    arb_div(balls->a + c, sums.absolute, total, r->prec);
    arb_div(balls->s + c, sums.spread, total, r->prec);
    arb_clear(total);
  }
  score_sums_clear(&sums);
}

/* 1: an ordinary row; 0: classes and values are the whole answer; -1: trouble. */
static int special_row(room_balls *balls, double *value, const attest_problem *problem,
                       const problem_slice *slice, int64_t row) {
  int kind = softmax_special_row(balls->class, value, problem, slice, row, OUTPUT_OUT);
  int divides = problem->values.normalize == NORMALIZE_SUM && problem->values.eps.sign == 0;
  if (kind != 1 || !divides || problem->input[INPUT_COEFFICIENTS].data ||
      !rope_linear_vanishes(problem, slice, row))
    return kind;
  memset(balls->class, EXACT_NAN, (size_t)slice->dv);
  return 0;
}

attest_status score_ball(room_balls *balls, const attest_problem *problem,
                         const problem_slice *slice, int64_t row, int output, unsigned want,
                         slong prec, attest_error *error) {
  double *value = calloc((size_t)slice->dv + 1, sizeof *value);
  score_row r;
  (void)output; /* only out */
  if (!value)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for one row of %lld values",
                       (long long)slice->dv);
  _arb_vec_zero(balls->x, slice->dv);
  if (want & WANT_CONDITION) {
    _arb_vec_zero(balls->a, slice->dv);
    _arb_vec_zero(balls->s, slice->dv);
  }
  int kind = special_row(balls, value, problem, slice, row);
  free(value);
  if (kind < 0) return softmax_empty_row_trouble(slice, row, error);
  if (kind == 0) return ATTEST_OK; /* finite values that are prescribed are 0 */
  attest_status status = score_row_init(&r, problem, slice, row, prec, error);
  if (status) return status;
  if (r.normalizes && arb_contains_zero(r.total) && weights_vanish(problem, slice, row))
    memset(balls->class, EXACT_NAN, (size_t)slice->dv);
  for (int64_t c = 0; c < slice->dv; c++)
    if (balls->class[c] == EXACT_FINITE) put_component(balls, &r, slice, c, want);
  score_row_clear(&r);
  return ATTEST_OK;
}
