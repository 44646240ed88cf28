/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The terms of one row in balls. Scores are not shifted: a polynomial has no common factor to take
 * out, and what cancels in a sum of weights of both signs only asks for more precision. */
#include "row.h"

#include <stdlib.h>

void taylor_real_ball(arb_t x, const problem_real *real, slong prec) {
  arb_set_fmpq(x, real->value, prec);
  if (real->root) arb_sqrt(x, x, prec);
  if (real->sign < 0) arb_neg(x, x);
  if (real->sign == 0) arb_zero(x);
}

/* 1 + x (1 + x/2 (1 + x/3 (...))). */
void taylor_polynomial(arb_t y, const arb_t x, int64_t degree, slong prec) {
  if (degree < 0) {
    arb_set(y, x);
    return;
  }
  arb_t sum;
  arb_init(sum);
  arb_one(sum);
  for (int64_t m = degree; m >= 1; m--) {
    arb_mul(sum, sum, x, prec);
    arb_div_ui(sum, sum, (ulong)m, prec);
    arb_add_ui(sum, sum, 1, prec);
  }
  arb_swap(y, sum);
  arb_clear(sum);
}

void taylor_derivative(arb_t y, const arb_t x, int64_t degree, slong prec) {
  if (degree < 0)
    arb_one(y);
  else if (degree == 0)
    arb_zero(y);
  else
    taylor_polynomial(y, x, degree - 1, prec);
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Balls of f of the d elements of a row; exact unless the feature is transcendental. */
static void load_features(arb_ptr x, const attest_tensor *t, int64_t row, int64_t d,
                          problem_feature feature, slong prec) {
  for (int64_t a = 0; a < d; a++)
    taylor_feature_arb(x + a, feature, taylor_element(t, row, a), prec);
}

static void absolute(arb_ptr y, arb_srcptr x, int64_t n) {
  for (int64_t a = 0; a < n; a++)
    arb_abs(y + a, x + a);
}

/* ---- the query side of a state --------------------------------------------------------------- */

/* scale^m / beta!, m = |beta|: scale^m multinomial / m!. */
static void taylor_factors(arb_ptr factor, const taylor_basis *basis, const arb_t scale,
                           slong prec) {
  arb_t power;
  fmpz_t multinomial;
  arb_init(power);
  fmpz_init(multinomial);
  arb_one(power);
  for (int64_t m = 0; m <= basis->degree; m++) {
    if (m > 0) {
      arb_mul(power, power, scale, prec);
      arb_div_ui(power, power, (ulong)m, prec);
    }
    for (int64_t b = basis->start[m]; b < basis->start[m + 1]; b++) {
      fmpz_set_si(multinomial, basis->multinomial[b]);
      arb_mul_fmpz(factor + b, power, multinomial, prec);
    }
  }
  arb_clear(power);
  fmpz_clear(multinomial);
}

attest_status taylor_query_features(arb_ptr phi, const attest_problem *problem,
                                    const problem_slice *slice, int64_t row, slong prec,
                                    attest_error *error) {
  taylor_kind kind = taylor_kind_of(problem);
  attest_status status = ATTEST_OK;
  arb_ptr q = _arb_vec_init(slice->d);
  arb_t scale;
  arb_init(scale);
  taylor_real_ball(scale, &problem->values.scale, prec);
  load_features(q, &slice->q, row, slice->d, kind.feature, prec);
  if (kind.degree < 0) {
    for (int64_t a = 0; a < slice->d; a++)
      arb_mul(phi + a, q + a, scale, prec);
  } else {
    taylor_basis *basis;
    status = taylor_basis_open(&basis, slice->d, kind.degree, error);
    if (!status) {
      arb_ptr factor = _arb_vec_init(basis->size);
      taylor_factors(factor, basis, scale, prec);
      arb_one(phi);
      for (int64_t b = 1; b < basis->size; b++)
        arb_mul(phi + b, phi + basis->parent[b], q + basis->coordinate[b], prec);
      for (int64_t b = 0; b < basis->size; b++)
        arb_mul(phi + b, phi + b, factor + b, prec);
      _arb_vec_clear(factor, basis->size);
      taylor_basis_close(basis);
    }
  }
  arb_clear(scale);
  _arb_vec_clear(q, slice->d);
  return status;
}

/* ---- one row --------------------------------------------------------------------------------- */

static attest_status list_keys(taylor_row *r, attest_error *error) {
  int64_t lo, hi;
  problem_visible_range(&lo, &hi, r->problem, r->slice, r->row);
  size_t room = hi > lo ? (size_t)(hi - lo) : 1;
  if (!(r->key = malloc(room * sizeof *r->key)))
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for the keys of one row (%zu keys)",
                       room);
  for (int64_t j = lo; j < hi; j++)
    if (problem_visible(r->problem, r->slice, r->row, j)) r->key[r->keys++] = j;
  return ATTEST_OK;
}

/* w <- w decay^steps. */
static void decay_by(arb_t w, const taylor_row *r, const arb_t decay, int64_t steps) {
  arb_t power;
  arb_init(power);
  arb_pow_ui(power, decay, (ulong)steps, r->prec);
  arb_mul(w, w, power, r->prec);
  arb_clear(power);
}

/* c of a key, without its decay. */
static void conditioning(arb_t c, const taylor_row *r, const arb_t s, const arb_t t) {
  int64_t degree = r->kind.degree;
  slong prec = r->prec;
  if (r->kind.is_stateful) {
    taylor_polynomial(c, t, degree, prec);
    return;
  }
  arb_t size;
  arb_init(size);
  taylor_derivative(c, s, degree, prec);
  arb_abs(c, c);
  arb_mul(c, c, t, prec);
  arb_abs(size, s);
  taylor_polynomial(size, size, degree, prec);
  arb_add(c, c, size, prec);
  arb_clear(size);
}

/* Scratch of the scores: f(q), f(k) and their absolute values, d each. */
typedef struct {
  arb_ptr q, k, q_abs, k_abs;
  arb_t scale, scale_abs, decay;
} score_scratch;

static void key_terms(taylor_row *r, score_scratch *x) {
  const problem_slice *slice = r->slice;
  int64_t d = slice->d;
  load_features(x->q, &slice->q, r->row, d, r->kind.feature, r->prec);
  absolute(x->q_abs, x->q, d);
  for (int64_t n = 0; n < r->keys; n++) {
    arb_ptr s = r->s ? r->s + n : r->w + n;
    load_features(x->k, &slice->k, r->key[n], d, r->kind.feature, r->prec);
    arb_dot(s, NULL, 0, x->q, 1, x->k, 1, d, r->prec);
    arb_mul(s, s, x->scale, r->prec);
    taylor_polynomial(r->w + n, s, r->kind.degree, r->prec);
    if (r->c) {
      absolute(x->k_abs, x->k, d);
      arb_dot(r->t + n, NULL, 0, x->q_abs, 1, x->k_abs, 1, d, r->prec);
      arb_mul(r->t + n, r->t + n, x->scale_abs, r->prec);
      conditioning(r->c + n, r, s, r->t + n);
    }
    if (!r->kind.has_decay) continue;
    int64_t steps = taylor_steps(slice, r->row, r->key[n]);
    decay_by(r->w + n, r, x->decay, steps);
    if (r->c) decay_by(r->c + n, r, x->decay, steps);
  }
}

static attest_status state_terms(taylor_row *r, const arb_t decay, attest_error *error) {
  if (r->count == r->keys) return ATTEST_OK;
  attest_status status =
      taylor_query_features(r->w + r->keys, r->problem, r->slice, r->row, r->prec, error);
  if (status) return status;
  for (int64_t n = r->keys; n < r->count; n++) {
    if (r->kind.has_decay) decay_by(r->w + n, r, decay, taylor_initial_steps(r->slice, r->row));
    if (r->c) arb_abs(r->c + n, r->w + n);
  }
  return ATTEST_OK;
}

attest_status taylor_row_init(taylor_row *r, const attest_problem *problem,
                              const problem_slice *slice, int64_t row, int with_c, slong prec,
                              attest_error *error) {
  int64_t d = slice->d;
  *r = (taylor_row){.problem = problem,
                    .slice = slice,
                    .kind = taylor_kind_of(problem),
                    .row = row,
                    .prec = prec};
  attest_status status = list_keys(r, error);
  if (status) return status;
  r->count = r->keys + (slice->initial_state.data ? problem->state_rows : 0);
  r->w = _arb_vec_init(r->count);
  if (with_c) {
    r->c = _arb_vec_init(r->count);
    r->s = _arb_vec_init(r->keys);
    r->t = _arb_vec_init(r->keys);
  }
  arb_ptr rows = _arb_vec_init(4 * d);
  score_scratch x = {.q = rows, .k = rows + d, .q_abs = rows + 2 * d, .k_abs = rows + 3 * d};
  arb_init(x.scale);
  arb_init(x.scale_abs);
  arb_init(x.decay);
  taylor_real_ball(x.scale, &problem->values.scale, prec);
  taylor_real_ball(x.decay, &problem->values.decay, prec);
  arb_abs(x.scale_abs, x.scale);
  if (r->keys > 0) key_terms(r, &x);
  status = state_terms(r, x.decay, error);
  arb_clear(x.scale);
  arb_clear(x.scale_abs);
  arb_clear(x.decay);
  _arb_vec_clear(rows, 4 * d);
  if (status) taylor_row_clear(r);
  return status;
}

void taylor_row_clear(taylor_row *r) {
  if (r->w) _arb_vec_clear(r->w, r->count);
  if (r->c) _arb_vec_clear(r->c, r->count);
  if (r->s) _arb_vec_clear(r->s, r->keys);
  if (r->t) _arb_vec_clear(r->t, r->keys);
  free(r->key);
  *r = (taylor_row){0};
}

double taylor_row_value(const taylor_row *r, int64_t n, int64_t column) {
  if (n >= r->keys) {
    const attest_tensor *state = &r->slice->initial_state;
    return column < state->shape[1] ? taylor_element(state, n - r->keys, column) : 0;
  }
  return column < r->slice->dv ? taylor_element(&r->slice->v, r->key[n], column) : 1;
}

int taylor_row_is_stateful(const taylor_row *r, int64_t n) {
  return r->kind.is_stateful || n >= r->keys;
}
