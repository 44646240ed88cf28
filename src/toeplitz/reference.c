/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* rope-linear in balls: x = sum s_j v_j / (sum s_j + eps), or sum s_j v_j without normalisation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../problem/pairing.h"
#include "../problem/rotary.h"
#include "../softmax/row.h"
#include "toeplitz.h"

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

/* ---- one row ---- */

/* Scores, absolute scores and values of the visible keys, and the normaliser. */
typedef struct {
  softmax_keys keys;
  int normalizes;
  slong prec;
  arb_ptr score, t;
  arb_t total; /* sum of the scores + eps; 1 without normalisation */
  arb_t moves; /* sum of t; 0 without normalisation */
} linear_row;

static void linear_row_clear(linear_row *r) {
  _arb_vec_clear(r->score, r->keys.count);
  _arb_vec_clear(r->t, r->keys.count);
  arb_clear(r->total);
  arb_clear(r->moves);
  softmax_keys_clear(&r->keys);
}

static void find_total(linear_row *r, const problem_values *values) {
  if (!r->normalizes) {
    arb_one(r->total);
    return;
  }
  arb_set_fmpq(r->total, values->eps.value, r->prec);
  if (values->eps.root) arb_sqrt(r->total, r->total, r->prec);
  for (int64_t n = 0; n < r->keys.count; n++) {
    arb_add(r->total, r->total, r->score + n, r->prec);
    arb_add(r->moves, r->moves, r->t + n, r->prec);
  }
}

static attest_status linear_row_init(linear_row *r, const attest_problem *problem,
                                     const problem_slice *slice, int64_t row, slong prec,
                                     attest_error *error) {
  problem_pairs pairs;
  softmax_terms terms;
  *r = (linear_row){.prec = prec, .normalizes = problem->values.normalize == NORMALIZE_SUM};
  attest_status status = softmax_keys_init(&r->keys, problem, slice, row, error);
  if (status) return status;
  status = problem_pairs_open(&pairs, problem, slice, prec, error);
  if (status) {
    softmax_keys_clear(&r->keys);
    return status;
  }
  r->score = _arb_vec_init(r->keys.count);
  r->t = _arb_vec_init(r->keys.count);
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
  find_total(r, &problem->values);
  return ATTEST_OK;
}

/* Sums over the keys of one component: of the numerator, and around a given x those of MATH section
 * 7. x is 0 without normalisation. */
typedef struct {
  arb_t weighted; /* sum s v */
  arb_t absolute; /* sum |s v| */
  arb_t spread;   /* sum t |v - x| */
  arb_t size;     /* sum t |v| */
} linear_sums;

static void linear_sums_init(linear_sums *sums) {
  arb_init(sums->weighted);
  arb_init(sums->absolute);
  arb_init(sums->spread);
  arb_init(sums->size);
}

static void linear_sums_clear(linear_sums *sums) {
  arb_clear(sums->weighted);
  arb_clear(sums->absolute);
  arb_clear(sums->spread);
  arb_clear(sums->size);
}

static void value_of(arb_t v, const linear_row *r, const problem_slice *slice, int64_t n,
                     int64_t component) {
  arb_set_d(v, softmax_element(&slice->v, r->keys.key[n], component));
}

static void find_weighted(linear_sums *sums, const linear_row *r, const problem_slice *slice,
                          int64_t component) {
  arb_t v;
  arb_init(v);
  arb_zero(sums->weighted);
  for (int64_t n = 0; n < r->keys.count; n++) {
    value_of(v, r, slice, n, component);
    arb_addmul(sums->weighted, r->score + n, v, r->prec);
  }
  arb_clear(v);
}

static void find_spread(linear_sums *sums, const arb_t x, const linear_row *r,
                        const problem_slice *slice, int64_t component) {
  arb_t v, term;
  arb_init(v);
  arb_init(term);
  arb_zero(sums->absolute);
  arb_zero(sums->spread);
  arb_zero(sums->size);
  for (int64_t n = 0; n < r->keys.count; n++) {
    value_of(v, r, slice, n, component);
    arb_mul(term, r->score + n, v, r->prec);
    arb_abs(term, term);
    arb_add(sums->absolute, sums->absolute, term, r->prec);
    arb_abs(term, v);
    arb_addmul(sums->size, term, r->t + n, r->prec);
    if (r->normalizes) arb_sub(v, v, x, r->prec);
    arb_abs(v, v);
    arb_addmul(sums->spread, v, r->t + n, r->prec);
  }
  arb_clear(v);
  arb_clear(term);
}

static void put_component(room_balls *balls, const linear_row *r, const problem_slice *slice,
                          int64_t c, unsigned want) {
  linear_sums sums;
  linear_sums_init(&sums);
  find_weighted(&sums, r, slice, c);
  arb_div(balls->x + c, sums.weighted, r->total, r->prec);
  if (want & WANT_CONDITION) {
    arb_t total;
    arb_init(total);
    arb_abs(total, r->total);
    find_spread(&sums, balls->x + c, r, slice, c);
    arb_div(balls->a + c, sums.absolute, total, r->prec);
    arb_div(balls->s + c, sums.spread, total, r->prec);
    arb_clear(total);
  }
  linear_sums_clear(&sums);
}

/* 1: an ordinary row; 0: classes and values are the whole answer; -1: trouble. */
static int special_row(room_balls *balls, double *value, const attest_problem *problem,
                       const problem_slice *slice, int64_t row) {
  int kind = softmax_special_row(balls->class, value, problem, slice, row, OUTPUT_OUT);
  if (kind != 1 || problem->values.normalize != NORMALIZE_SUM || problem->values.eps.sign != 0 ||
      !rope_linear_vanishes(problem, slice, row))
    return kind;
  memset(balls->class, EXACT_NAN, (size_t)slice->dv);
  return 0;
}

attest_status rope_linear_ball(room_balls *balls, const attest_problem *problem,
                               const problem_slice *slice, int64_t row, int output, unsigned want,
                               slong prec, attest_error *error) {
  double *value = calloc((size_t)slice->dv + 1, sizeof *value);
  linear_row r;
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
  attest_status status = linear_row_init(&r, problem, slice, row, prec, error);
  if (status) return status;
  for (int64_t c = 0; c < slice->dv; c++)
    put_component(balls, &r, slice, c, want);
  linear_row_clear(&r);
  return ATTEST_OK;
}

/* ---- explicit backward errors ---- */

/* Scores moved by at most B u_s t_j and values by at most B u_w |v_j| move x by no more than
 *   U(B) = B [u_s sum t |v - x| + u_w (sum |s v| + B u_s sum t |v|)] / (D - B u_s sum t)
 * (any amount where that denominator is not positive), and the move that grows every term towards
 * got reaches at least
 *   E(B) = B [u_s sum t |v - x| + u_w (sum |s v| - B u_s sum t |v|)] / (D + B u_s sum t),
 * D the absolute normaliser; B quanta more are allowed in both. U grows with B. By continuity a
 * size with E(B) >= |got - x| is enough, and one with U(B) < |got - x| is not. */
typedef struct {
  const linear_row *row;
  const linear_sums *sums;
  arb_t gap, total;
  double u_w, u_s, quantum;
} question;

/* Whether the bound (sign 1) or the explicit move (sign -1) of size 2^(k/16) surely reaches got, or
 * for sign 1: may reach it. */
static int reaches(const question *q, int64_t k, int sign) {
  slong prec = q->row->prec;
  arb_t b, num, den, term;
  arb_init(b);
  arb_init(num);
  arb_init(den);
  arb_init(term);
  arb_set_d(b, exp2((double)k / 16));
  arb_set_d(term, q->u_s);
  arb_mul(term, term, b, prec); /* B u_s */
  arb_mul(num, term, q->sums->size, prec);
  arb_mul(den, term, q->row->moves, prec);
  if (sign < 0) arb_neg(num, num);
  if (sign > 0) arb_neg(den, den);
  arb_add(num, num, q->sums->absolute, prec);
  arb_add(den, den, q->total, prec);
  arb_mul(term, term, q->sums->spread, prec);
  arb_set_d(b, q->u_w);
  arb_mul(num, num, b, prec);
  arb_set_d(b, exp2((double)k / 16));
  arb_mul(num, num, b, prec);
  arb_add(num, num, term, prec);
  arb_div(num, num, den, prec);
  arb_set_d(term, q->quantum);
  arb_addmul(num, term, b, prec);
  int yes;
  if (sign > 0)
    yes = !arb_is_positive(den) || !arb_lt(num, q->gap);
  else
    yes = arb_is_positive(den) && arb_ge(num, q->gap);
  arb_clear(b);
  arb_clear(num);
  arb_clear(den);
  arb_clear(term);
  return yes;
}

enum { SIZE_MIN = -16 * 100, SIZE_MAX_EXPONENT = 16 * 200 };

/* The largest grid size that surely cannot reach got, and the least that surely can. */
static measure_interval bracket(const question *q) {
  measure_interval value = {0, INFINITY};
  int64_t lo = SIZE_MIN - 1, hi = SIZE_MAX_EXPONENT;
  while (hi - lo > 1) { /* reaches(.., 1) is monotone */
    int64_t k = lo + (hi - lo) / 2;
    if (reaches(q, k, 1))
      hi = k;
    else
      lo = k;
  }
  if (lo >= SIZE_MIN) value.lo = exp2((double)lo / 16) * (1 - 0x1p-40);
  for (int64_t k = lo > SIZE_MIN ? lo : SIZE_MIN; k < SIZE_MAX_EXPONENT; k++)
    if (reaches(q, k, -1)) {
      value.hi = exp2((double)k / 16) * (1 + 0x1p-40);
      break;
    }
  return value;
}

attest_status rope_linear_backward_explicit(measure_interval *value, const attest_problem *problem,
                                            const problem_slice *slice, int64_t row, int output,
                                            int64_t component, double got, double u_w, double u_s,
                                            double quantum, attest_error *error) {
  linear_row r;
  linear_sums sums;
  question q = {.row = &r, .sums = &sums, .u_w = u_w, .u_s = u_s, .quantum = quantum};
  (void)output;
  attest_status status = linear_row_init(&r, problem, slice, row, 256, error);
  if (status) return status;
  arb_t x;
  arb_init(x);
  arb_init(q.gap);
  arb_init(q.total);
  linear_sums_init(&sums);
  find_weighted(&sums, &r, slice, component);
  arb_div(x, sums.weighted, r.total, r.prec);
  find_spread(&sums, x, &r, slice, component);
  arb_abs(q.total, r.total);
  arb_set_d(q.gap, got);
  arb_sub(q.gap, q.gap, x, r.prec);
  arb_abs(q.gap, q.gap);
  *value = bracket(&q);
  arb_clear(x);
  arb_clear(q.gap);
  arb_clear(q.total);
  linear_sums_clear(&sums);
  linear_row_clear(&r);
  return ATTEST_OK;
}
