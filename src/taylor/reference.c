/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One row of out, or of the final state, in balls, from exact inputs, at any precision. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "row.h"

/* ---- out ------------------------------------------------------------------------------------- */

/* y_c = sum of factor_n u_nc over the terms, of |factor_n u_nc| where `absolute`. */
static void column_sum(arb_t y, const taylor_row *r, arb_srcptr factor, int64_t column,
                       int absolute) {
  arb_t term, u;
  arb_init(term);
  arb_init(u);
  arb_zero(y);
  for (int64_t n = 0; n < r->count; n++) {
    arb_set_d(u, taylor_row_value(r, n, column));
    arb_mul(term, u, factor + n, r->prec);
    if (absolute) arb_abs(term, term);
    arb_add(y, y, term, r->prec);
  }
  arb_clear(term);
  arb_clear(u);
}

/* W, eps included; 1 where nothing is divided. */
static void row_normalizer(arb_t sum, const taylor_row *r) {
  if (!r->kind.has_normalizer) {
    arb_one(sum);
    return;
  }
  arb_t eps;
  arb_init(eps);
  column_sum(sum, r, r->w, r->slice->dv, 0);
  taylor_real_ball(eps, &r->problem->values.eps, r->prec);
  arb_add(sum, sum, eps, r->prec);
  arb_clear(eps);
}

/* S times |W| of one component: sum of c |u_c - x u_dv|, or c (|u_c| + |x| |u_dv|) for stateful
 * terms; without a normaliser the part of x is left out. */
static void row_sensitivity(arb_t s, const taylor_row *r, const arb_t x, int64_t column) {
  arb_t term, u, y;
  arb_init(term);
  arb_init(u);
  arb_init(y);
  arb_zero(s);
  for (int64_t n = 0; n < r->count; n++) {
    arb_set_d(u, taylor_row_value(r, n, column));
    arb_set_d(y, r->kind.has_normalizer ? taylor_row_value(r, n, r->slice->dv) : 0);
    arb_mul(term, x, y, r->prec);
    if (taylor_row_is_stateful(r, n)) {
      arb_abs(term, term);
      arb_abs(u, u);
      arb_add(u, u, term, r->prec);
    } else {
      arb_sub(u, u, term, r->prec);
      arb_abs(u, u);
    }
    arb_addmul(s, u, r->c + n, r->prec);
  }
  arb_clear(term);
  arb_clear(u);
  arb_clear(y);
}

/* A times |W|: sum of |w u_c|. */
static void row_elements(room_balls *balls, const taylor_row *r, const arb_t sum, unsigned want) {
  arb_t size;
  arb_init(size);
  arb_abs(size, sum);
  for (int64_t c = 0; c < r->slice->dv; c++) {
    arb_ptr x = balls->x + c;
    column_sum(x, r, r->w, c, 0);
    arb_div(x, x, sum, r->prec);
    /* One key and nothing else in either sum: its value, exactly. */
    if (r->count == 1 && r->keys == 1 && r->kind.has_normalizer && r->problem->values.eps.sign == 0)
      arb_set_d(x, taylor_row_value(r, 0, c));
    if (!(want & WANT_CONDITION)) continue;
    column_sum(balls->a + c, r, r->w, c, 1);
    arb_div(balls->a + c, balls->a + c, size, r->prec);
    row_sensitivity(balls->s + c, r, x, c);
    arb_div(balls->s + c, balls->s + c, size, r->prec);
  }
  arb_clear(size);
}

/* The precision rises until the sign of W is known; that it is not 0 is known by then. */
static attest_status ordinary_row(room_balls *balls, const attest_problem *problem,
                                  const problem_slice *slice, int64_t row, unsigned want,
                                  slong prec, attest_error *error) {
  arb_t sum;
  int asked = 0, more = 1;
  attest_status status = ATTEST_OK;
  arb_init(sum);
  while (more && !status) {
    taylor_row r;
    status = taylor_row_init(&r, problem, slice, row, (want & WANT_CONDITION) != 0, prec, error);
    if (status) break;
    row_normalizer(sum, &r);
    more = arb_contains_zero(sum);
    if (!more) row_elements(balls, &r, sum, want);
    taylor_row_clear(&r);
    int zero = more && !asked ? taylor_normalizer_vanishes(problem, slice, row) : 0;
    if (zero < 0)
      status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for one row of exact weights");
    if (zero > 0) {
      memset(balls->class, EXACT_NAN, (size_t)slice->dv);
      more = 0;
    }
    asked = 1;
    prec *= 2;
  }
  arb_clear(sum);
  return status;
}

static attest_status out_row(room_balls *balls, const attest_problem *problem,
                             const problem_slice *slice, int64_t row, unsigned want, slong prec,
                             attest_error *error) {
  double *value = malloc((size_t)(slice->dv + 1) * sizeof *value);
  if (!value)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for one row of %lld values",
                       (long long)slice->dv);
  int kind = taylor_special_row(balls->class, value, problem, slice, row);
  free(value); /* an empty row is all zeros */
  if (kind < 0) return taylor_empty_row_trouble(slice, row, error);
  return kind ? ordinary_row(balls, problem, slice, row, want, prec, error) : ATTEST_OK;
}

/* ---- final state ----------------------------------------------------------------------------- */

/* f_row(k_j): a monomial of k, or one component of the feature map. tuple: its coordinates. */
static void key_feature(arb_t y, const problem_slice *slice, const taylor_kind *kind, int64_t row,
                        const int64_t tuple[], int64_t order, int64_t key, slong prec) {
  if (kind->degree < 0) {
    taylor_feature_arb(y, kind->feature, taylor_element(&slice->k, key, row), prec);
    return;
  }
  arb_t x;
  arb_init(x);
  arb_one(y);
  for (int64_t i = 0; i < order; i++) {
    arb_set_d(x, taylor_element(&slice->k, key, tuple[i]));
    arb_mul(y, y, x, prec);
  }
  arb_clear(x);
}

/* Adds factor times row `index` of a tensor, [.., 1] where it is narrower than the state. */
static void add_row(room_balls *balls, const arb_t factor, const attest_tensor *t, int64_t index,
                    unsigned want, slong prec) {
  arb_t term;
  arb_init(term);
  for (int64_t c = 0; c < balls->width; c++) {
    arb_set_d(term, c < t->shape[1] ? taylor_element(t, index, c) : 1);
    arb_mul(term, term, factor, prec);
    arb_add(balls->x + c, balls->x + c, term, prec);
    arb_abs(term, term);
    if (want & WANT_CONDITION) arb_add(balls->a + c, balls->a + c, term, prec);
  }
  arb_clear(term);
}

/* x = sum of decay^(n-1-j) f(k_j) u_j + decay^n S0; A = S = the sum of absolute values: features
 * and values are each off by units of themselves. */
static int is_finite_row(const attest_tensor *t, int64_t row) {
  for (int64_t c = 0; c < t->shape[1]; c++)
    if (!isfinite(taylor_element(t, row, c))) return 0;
  return 1;
}

/* The state sums all keys of the sequence, also those that no row sees. */
static attest_status keys_are_finite(const problem_slice *slice, attest_error *error) {
  for (int64_t j = 0; j < slice->nk; j++) {
    int k = is_finite_row(&slice->k, j);
    if (k && is_finite_row(&slice->v, j)) continue;
    return attest_fail(
        error, ATTEST_ERR_INPUT,
        "sequence %lld, query head %lld: %s of key %lld is not finite, and the final "
        "state sums all keys",
        (long long)slice->sequence, (long long)slice->head, k ? "v" : "k", (long long)j);
  }
  return ATTEST_OK;
}

static attest_status state_row(room_balls *balls, const attest_problem *problem,
                               const problem_slice *slice, int64_t row, unsigned want, slong prec,
                               attest_error *error) {
  taylor_kind kind = taylor_kind_of(problem);
  taylor_basis *basis = NULL;
  attest_status status = keys_are_finite(slice, error);
  if (!status && kind.degree >= 0) status = taylor_basis_open(&basis, slice->d, kind.degree, error);
  if (status) return status;
  int64_t *tuple = malloc((size_t)(kind.degree > 0 ? kind.degree : 1) * sizeof *tuple);
  if (!tuple) {
    taylor_basis_close(basis);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for one row of a state");
  }
  int64_t order = basis ? taylor_basis_tuple(tuple, basis, row) : 0;
  arb_t feature, decay, power;
  arb_init(feature);
  arb_init(decay);
  arb_init(power);
  taylor_real_ball(decay, &problem->values.decay, prec);
  memset(balls->class, EXACT_FINITE, (size_t)balls->width);
  for (int64_t j = 0; j <= slice->nk; j++) { /* the last is the initial state */
    const attest_tensor *from = j < slice->nk ? &slice->v : &slice->initial_state;
    if (!from->data) continue;
    arb_one(feature);
    if (j < slice->nk) key_feature(feature, slice, &kind, row, tuple, order, j, prec);
    arb_pow_ui(power, decay, (ulong)(j < slice->nk ? slice->nk - 1 - j : slice->nk), prec);
    arb_mul(feature, feature, power, prec);
    add_row(balls, feature, from, j < slice->nk ? j : row, want, prec);
  }
  if (want & WANT_CONDITION) _arb_vec_set(balls->s, balls->a, balls->width);
  arb_clear(feature);
  arb_clear(decay);
  arb_clear(power);
  free(tuple);
  taylor_basis_close(basis);
  return ATTEST_OK;
}

attest_status taylor_ball(room_balls *balls, const attest_problem *problem,
                          const problem_slice *slice, int64_t row, int output, unsigned want,
                          slong prec, attest_error *error) {
  int64_t width = problem_output_width(problem, output);
  _arb_vec_zero(balls->x, width);
  if (want & WANT_CONDITION) {
    _arb_vec_zero(balls->a, width);
    _arb_vec_zero(balls->s, width);
  }
  if (output == OUTPUT_FINAL_STATE) return state_row(balls, problem, slice, row, want, prec, error);
  return out_row(balls, problem, slice, row, want, prec, error);
}
