/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One row of out, or of the final state, in balls, from exact inputs, at any precision. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "row.h"

/* ---- out ------------------------------------------------------------------------------------- */

/* Scratch of one row: a column of values, the normaliser's, and |w|. */
typedef struct {
  arb_ptr u, y, w_abs;
} row_scratch;

static void load_column(arb_ptr u, const taylor_row *r, int64_t column) {
  for (int64_t n = 0; n < r->count; n++)
    arb_set_d(u + n, taylor_row_value(r, n, column));
}

/* W, eps included; 1 where nothing is divided. y: the normaliser's column, 0 without one. */
static void row_normalizer(arb_t sum, arb_ptr y, const taylor_row *r) {
  if (!r->kind.has_normalizer) {
    arb_one(sum);
    return;
  }
  arb_t eps;
  arb_init(eps);
  load_column(y, r, r->slice->dv);
  taylor_real_ball(eps, &r->problem->values.eps, r->prec);
  arb_dot(sum, eps, 0, y, 1, r->w, 1, r->count, r->prec);
  arb_clear(eps);
}

/* S times |W| of one component: sum of c |u_c - x u_dv|, or c (|u_c| + |x| |u_dv|) for stateful
 * terms; without a normaliser the part of x is left out. */
static void row_sensitivity(arb_t s, const taylor_row *r, const row_scratch *k, const arb_t x) {
  arb_t term, u;
  arb_init(term);
  arb_init(u);
  arb_zero(s);
  for (int64_t n = 0; n < r->count; n++) {
    arb_mul(term, x, k->y + n, r->prec);
    if (taylor_row_is_stateful(r, n)) {
      arb_abs(term, term);
      arb_abs(u, k->u + n);
      arb_add(u, u, term, r->prec);
    } else {
      arb_sub(u, k->u + n, term, r->prec);
      arb_abs(u, u);
    }
    arb_addmul(s, u, r->c + n, r->prec);
  }
  arb_clear(term);
  arb_clear(u);
}

/* One key and nothing else in either sum gives its value, exactly. */
static int is_alone(const taylor_row *r) {
  return r->count == 1 && r->keys == 1 && r->kind.has_normalizer &&
         r->problem->values.eps.sign == 0;
}

static void row_elements(room_balls *balls, const taylor_row *r, row_scratch *k, const arb_t sum,
                         unsigned want) {
  arb_t size;
  arb_init(size);
  arb_abs(size, sum);
  for (int64_t n = 0; n < r->count && want & WANT_CONDITION; n++)
    arb_abs(k->w_abs + n, r->w + n);
  for (int64_t c = 0; c < r->slice->dv; c++) {
    arb_ptr x = balls->x + c, a = balls->a + c;
    load_column(k->u, r, c);
    arb_dot(x, NULL, 0, k->u, 1, r->w, 1, r->count, r->prec);
    arb_div(x, x, sum, r->prec);
    if (is_alone(r)) arb_set(x, k->u);
    if (!(want & WANT_CONDITION)) continue;
    row_sensitivity(balls->s + c, r, k, x);
    arb_div(balls->s + c, balls->s + c, size, r->prec);
    for (int64_t n = 0; n < r->count; n++)
      arb_abs(k->u + n, k->u + n);
    arb_dot(a, NULL, 0, k->u, 1, k->w_abs, 1, r->count, r->prec);
    arb_div(a, a, size, r->prec);
  }
  arb_clear(size);
}

/* x, and A and S where wanted, unless W is not known to be apart from 0: whether it is. */
static int try_row(room_balls *balls, const taylor_row *r, unsigned want) {
  arb_t sum;
  arb_ptr columns = _arb_vec_init(3 * r->count);
  row_scratch k = {columns, columns + r->count, columns + 2 * r->count};
  arb_init(sum);
  row_normalizer(sum, k.y, r);
  int apart = !arb_contains_zero(sum);
  if (apart) row_elements(balls, r, &k, sum, want);
  arb_clear(sum);
  _arb_vec_clear(columns, 3 * r->count);
  return apart;
}

/* The precision rises until the sign of W is known; that it is not 0 is known by then. */
static attest_status ordinary_row(room_balls *balls, const attest_problem *problem,
                                  const problem_slice *slice, int64_t row, unsigned want,
                                  slong prec, attest_error *error) {
  for (int asked = 0;; asked = 1, prec *= 2) {
    taylor_row r;
    attest_status status =
        taylor_row_init(&r, problem, slice, row, (want & WANT_CONDITION) != 0, prec, error);
    if (status) return status;
    int done = try_row(balls, &r, want);
    taylor_row_clear(&r);
    if (done) return ATTEST_OK;
    int zero = asked ? 0 : taylor_normalizer_vanishes(problem, slice, row);
    if (zero < 0)
      return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for one row of exact weights");
    if (zero == 0) continue;
    memset(balls->class, EXACT_NAN, (size_t)slice->dv);
    return ATTEST_OK;
  }
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
