/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Weights that are scores, or polynomials of them, in balls. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../enclosure/flint_poly.h"
#include "../problem/pairing.h"
#include "../problem/rotary.h"
#include "scores.h"

/* ---- rows that vanish ---- */

static int pair_is_zero(const attest_tensor *t, int64_t row, int64_t a, int64_t b) {
  return tensor_at(t, row * t->stride[0] + a * t->stride[1]) == 0 &&
         tensor_at(t, row * t->stride[0] + b * t->stride[1]) == 0;
}

int rope_linear_vanishes(const attest_problem *problem, const problem_slice *slice, int64_t row) {
  int64_t lo, hi, a, b;
  if (problem->values.scale.sign == 0) return 1;
  problem_visible_range(&lo, &hi, problem, slice, row);
  for (int64_t m = 0; m < slice->d / 2; m++) {
    problem_rotary_pair(&a, &b, &problem->values, slice->d, m);
    if (pair_is_zero(&slice->q, row, a, b)) continue;
    for (int64_t j = lo; j < hi; j++)
      if (problem_visible(problem, slice, row, j) && !pair_is_zero(&slice->k, j, a, b)) return 0;
  }
  return 1;
}

/* ---- sums that vanish ---- */

/* The sum of powers 0 .. degree of the exact forms of a row. 0 where a form is not dyadic. */
static int power_sums(fmpq *sum, slong degree, const softmax_keys *keys,
                      const attest_problem *problem, const problem_slice *slice, int64_t row) {
  arf_t form;
  fmpq_t x, power;
  int exact = 1;
  arf_init(form);
  fmpq_init(x);
  fmpq_init(power);
  for (int64_t n = 0; n < keys->count && exact; n++) {
    exact = problem_pair_exact(form, problem, slice, row, keys->key[n]);
    arf_get_fmpq(x, form);
    fmpq_one(power);
    for (slong t = 0; t <= degree && exact; t++) {
      fmpq_add(sum + t, sum + t, power);
      fmpq_mul(power, power, x);
    }
  }
  arf_clear(form);
  fmpq_clear(x);
  fmpq_clear(power);
  return exact;
}

/* sum_t c_t f^t sum_t with f = scale / temperature: even and odd part, the latter over f. */
static void even_and_odd(fmpq part[2], const double *c, slong degree, const fmpq *sum,
                         const problem_real *f) {
  fmpq_t square, power, x;
  arf_t d;
  fmpq_init(square);
  fmpq_init(power);
  fmpq_init(x);
  arf_init(d);
  fmpq_set(square, f->value);
  if (!f->root) fmpq_mul(square, square, f->value);
  fmpq_one(power);
  for (slong t = 0; t <= degree; t++) {
    if (t > 0 && t % 2 == 0) fmpq_mul(power, power, square);
    arf_set_d(d, c[t]);
    arf_get_fmpq(x, d);
    fmpq_mul(x, x, power);
    fmpq_addmul(part + t % 2, x, sum + t);
  }
  fmpq_clear(square);
  fmpq_clear(power);
  fmpq_clear(x);
  arf_clear(d);
}

/* a + b f = 0: where f is irrational, only if both vanish. */
static int sum_is_zero(fmpq part[2], const problem_real *f) {
  if (f->root) return fmpq_is_zero(part) && fmpq_is_zero(part + 1);
  fmpq_mul(part + 1, part + 1, f->value);
  if (f->sign < 0) fmpq_neg(part + 1, part + 1);
  fmpq_add(part, part, part + 1);
  return fmpq_is_zero(part);
}

int polynomial_vanishes(const attest_problem *problem, const problem_slice *slice, int64_t row) {
  double c[PROBLEM_COEFFICIENTS_MAX];
  slong degree = problem_coefficients(c, problem);
  softmax_keys keys;
  problem_real f;
  if (problem->values.eps.sign != 0 || degree < 0) return 0;
  if (problem->pairing == PAIRING_ROTARY)
    return c[0] == 0 && rope_linear_vanishes(problem, slice, row);
  if (softmax_keys_init(&keys, problem, slice, row, NULL)) return 0;
  fmpq *sum = _fmpq_vec_init(degree + 1), *part = _fmpq_vec_init(2);
  problem_real_init(&f);
  problem_real_inv(&f, &problem->values.temperature);
  problem_real_mul(&f, &f, &problem->values.scale);
  int zero = power_sums(sum, degree, &keys, problem, slice, row);
  if (zero) {
    even_and_odd(part, c, degree, sum, &f);
    zero = sum_is_zero(part, &f);
  }
  problem_real_clear(&f);
  _fmpq_vec_clear(sum, degree + 1);
  _fmpq_vec_clear(part, 2);
  softmax_keys_clear(&keys);
  return zero;
}

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
  if (r.degree >= 0 && r.normalizes && arb_contains_zero(r.total) &&
      polynomial_vanishes(problem, slice, row))
    memset(balls->class, EXACT_NAN, (size_t)slice->dv);
  for (int64_t c = 0; c < slice->dv; c++)
    if (balls->class[c] == EXACT_FINITE) put_component(balls, &r, slice, c, want);
  score_row_clear(&r);
  return ATTEST_OK;
}
