/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Scores of one row as balls. */
#include "row.h"

#include "../problem/pairing.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* ---- keys that carry weight ----------------------------------------------------------------- */

attest_status softmax_keys_init(softmax_keys *keys, const attest_problem *problem,
                                const problem_slice *slice, int64_t row, attest_error *error) {
  int64_t lo, hi;
  problem_visible_range(&lo, &hi, problem, slice, row);
  size_t room = hi > lo ? (size_t)(hi - lo) : 1;
  keys->count = 0;
  keys->key = malloc(room * sizeof *keys->key);
  keys->kind = malloc(room);
  if (!keys->key || !keys->kind) {
    softmax_keys_clear(keys);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for the keys of one row (%zu keys)",
                       room);
  }
  int ieee = problem->values.nonfinite == NONFINITE_IEEE;
  for (int64_t j = lo; j < hi; j++) {
    if (!problem_visible(problem, slice, row, j)) continue;
    softmax_score_kind kind = ieee ? softmax_score_classify(problem, slice, row, j) : SCORE_FINITE;
    if (kind > SCORE_CAP_MINUS) continue;
    keys->key[keys->count] = j;
    keys->kind[keys->count++] = (unsigned char)kind;
  }
  return ATTEST_OK;
}

void softmax_keys_clear(softmax_keys *keys) {
  free(keys->key);
  free(keys->kind);
  *keys = (softmax_keys){0};
}

/* ---- terms of a score -------------------------------------------------------------------------
 */

void softmax_terms_init(softmax_terms *terms, const attest_problem *problem,
                        const problem_slice *slice, slong prec) {
  terms->problem = problem;
  terms->slice = slice;
  terms->prec = prec;
  arb_init(terms->scale);
  arb_init(terms->softcap);
  arb_init(terms->temperature);
  arb_init(terms->z);
  arb_init(terms->u);
  arb_init(terms->v);
  problem_real_ball(terms->scale, &problem->values.scale, prec);
  if (problem->values.has_softcap)
    problem_real_ball(terms->softcap, &problem->values.softcap, prec);
  problem_real_ball(terms->temperature, &problem->values.temperature, prec);
}

void softmax_terms_clear(softmax_terms *terms) {
  arb_clear(terms->scale);
  arb_clear(terms->softcap);
  arb_clear(terms->temperature);
  arb_clear(terms->z);
  arb_clear(terms->u);
  arb_clear(terms->v);
}

/* x <- x / temperature, exactly x when the temperature is 1. Temperatures are positive. */
static void divide_by_temperature(arb_t x, const softmax_terms *terms) {
  if (!arb_is_one(terms->temperature)) arb_div(x, x, terms->temperature, terms->prec);
}

/* z <- c tanh(z / c) and, unless t is NULL, t <- t sech(z / c)^2 + |cap(z)|. */
static void apply_softcap(arb_t z, arb_t t, softmax_terms *terms, softmax_score_kind kind) {
  slong prec = terms->prec;
  if (kind == SCORE_FINITE) {
    arb_div(terms->u, z, terms->softcap, prec);
    arb_tanh(z, terms->u, prec);
    arb_mul(z, z, terms->softcap, prec);
    if (t) {
      arb_sech(terms->u, terms->u, prec);
      arb_mul(terms->u, terms->u, terms->u, prec);
      arb_mul(t, t, terms->u, prec);
    }
  } else {
    arb_set(z, terms->softcap);
    if (kind == SCORE_CAP_MINUS) arb_neg(z, z);
    if (t) arb_zero(t);
  }
  if (!t) return;
  arb_abs(terms->u, z);
  arb_add(t, t, terms->u, prec);
}

/* score += x, t += |x|. */
static void add_term(arb_t score, arb_t t, softmax_terms *terms) {
  arb_add(score, score, terms->u, terms->prec);
  if (!t) return;
  arb_abs(terms->u, terms->u);
  arb_add(t, t, terms->u, terms->prec);
}

void softmax_terms_score(arb_t score, arb_t t, softmax_terms *terms, const arb_t dot,
                         const arb_t abs_dot, softmax_score_kind kind, int64_t row, int64_t j) {
  const problem_slice *slice = terms->slice;
  slong prec = terms->prec;
  arb_mul(terms->z, terms->scale, dot, prec);
  if (t) {
    arb_abs(terms->v, terms->scale);
    arb_mul(terms->v, terms->v, abs_dot, prec);
  }
  if (terms->problem->values.has_softcap) apply_softcap(terms->z, t ? terms->v : NULL, terms, kind);
  if (slice->bias.data) {
    arb_set_d(terms->u, softmax_element(&slice->bias, row, j));
    add_term(terms->z, t ? terms->v : NULL, terms);
  }
  if (slice->has_slope) {
    arb_set_d(terms->u, slice->slope);
    arb_mul_si(terms->u, terms->u, j - (row + slice->offset), prec);
    add_term(terms->z, t ? terms->v : NULL, terms);
  }
  divide_by_temperature(terms->z, terms);
  arb_swap(score, terms->z);
  if (!t) return;
  divide_by_temperature(terms->v, terms);
  arb_swap(t, terms->v);
}

void softmax_terms_sink(arb_t score, arb_t t, const softmax_terms *terms) {
  arb_set_d(score, terms->slice->sink);
  divide_by_temperature(score, terms);
  if (t) arb_abs(t, score);
}

/* ---- working precision -------------------------------------------------------------------------
 */

/* An e with |real| <= 2^e; of its reciprocal when `inverse`. */
static slong real_exponent(const problem_real *real, int inverse) {
  arb_t x;
  mag_t bound;
  arb_init(x);
  mag_init(bound);
  problem_real_ball(x, real, 64);
  if (inverse) arb_inv(x, x, 64);
  arb_get_mag(bound, x);
  slong e = mag_is_special(bound) ? 0 : fmpz_get_si(MAG_EXPREF(bound));
  mag_clear(bound);
  arb_clear(x);
  return e;
}

static slong double_exponent(double x) {
  int e = 0;
  frexp(x, &e);
  return e;
}

/* Beyond this the enclosure only widens; a caller that climbs in precision passes it anyway. */
#define SCORE_BITS_MAX 8192

slong softmax_score_bits(const attest_problem *problem, const problem_slice *slice, double q_max,
                         double k_max, double rest) {
  slong e = 0;
  if (q_max > 0 && k_max > 0 && problem->values.scale.sign != 0)
    e = double_exponent(q_max) + double_exponent(k_max) + double_exponent((double)slice->d) +
        real_exponent(&problem->values.scale, 0) + problem_pairs_bits(problem);
  slong r = double_exponent(rest);
  e = (e > r ? e : r) + real_exponent(&problem->values.temperature, 1);
  return e < 0 ? 0 : e > SCORE_BITS_MAX ? SCORE_BITS_MAX : e;
}

double softmax_score_offset_size(const problem_slice *slice, int64_t row, int64_t j) {
  double size = slice->bias.data ? fabs(softmax_element(&slice->bias, row, j)) : 0;
  if (slice->has_slope) size += fabs(slice->slope * (double)(j - (row + slice->offset)));
  return size > DBL_MAX ? DBL_MAX : size;
}

/* sum <- sum + x, size <- size + |x|; either NULL. */
static void add_exactly(arf_t sum, arf_t size, arf_t x) {
  if (sum) arf_add(sum, sum, x, ARF_PREC_EXACT, ARF_RND_DOWN);
  arf_abs(x, x);
  if (size) arf_add(size, size, x, ARF_PREC_EXACT, ARF_RND_DOWN);
}

void softmax_score_offset(arf_t offset, arf_t size, const problem_slice *slice, int64_t row,
                          int64_t j) {
  arf_t x;
  arf_init(x);
  if (offset) arf_zero(offset);
  if (size) arf_zero(size);
  if (slice->has_slope) {
    arf_set_d(x, slice->slope);
    arf_mul_si(x, x, j - (row + slice->offset), ARF_PREC_EXACT, ARF_RND_DOWN);
    add_exactly(offset, size, x);
  }
  if (slice->bias.data) {
    arf_set_d(x, softmax_element(&slice->bias, row, j));
    add_exactly(offset, size, x);
  }
  arf_clear(x);
}

/* ---- a whole row -------------------------------------------------------------------------------
 */

/* The largest absolute value among n elements of a row. */
static double largest_element(double *buffer, const attest_tensor *t, int64_t row, int64_t n) {
  double largest = 0;
  tensor_load(buffer, t, row * t->stride[0], n, t->stride[1]);
  for (int64_t a = 0; a < n; a++)
    largest = fabs(buffer[a]) > largest ? fabs(buffer[a]) : largest;
  return largest;
}

static slong row_bits(const softmax_row *r, const attest_problem *problem,
                      const problem_slice *slice, int64_t row, double *buffer) {
  double q_max = 0, k_max = 0, rest = slice->has_sink ? fabs(slice->sink) : 0;
  for (int64_t n = 0; n < r->keys.count; n++) {
    int64_t j = r->keys.key[n];
    double size = softmax_score_offset_size(slice, row, j);
    if (size > rest) rest = size;
    if (r->keys.kind[n] != SCORE_FINITE) continue;
    if (q_max == 0) q_max = largest_element(buffer, &slice->q, row, slice->d);
    size = largest_element(buffer, &slice->k, j, slice->d);
    if (size > k_max) k_max = size;
  }
  return softmax_score_bits(problem, slice, q_max, k_max, rest);
}

/* The scores of the keys. */
static void row_scores(softmax_row *r, softmax_terms *terms, problem_pairs *pairs, int64_t row) {
  for (int64_t n = 0; n < r->keys.count; n++) {
    int64_t j = r->keys.key[n];
    arb_ptr s = r->score + n, t = r->t ? r->t + n : NULL;
    softmax_score_kind kind = (softmax_score_kind)r->keys.kind[n];
    /* Elements of capped keys need not be numbers. */
    if (kind == SCORE_FINITE) problem_pairs_form(s, t, pairs, row, j);
    softmax_terms_score(s, t, terms, s, t, kind, row, j);
  }
  if (terms->slice->has_sink)
    softmax_terms_sink(r->score + r->keys.count, r->t ? r->t + r->keys.count : NULL, terms);
}

attest_status softmax_row_init(softmax_row *r, const attest_problem *problem,
                               const problem_slice *slice, int64_t row, int with_t, slong prec,
                               attest_error *error) {
  *r = (softmax_row){0};
  attest_status status = softmax_keys_init(&r->keys, problem, slice, row, error);
  if (status) return status;
  double *buffer = malloc((size_t)(slice->d + 1) * sizeof *buffer);
  if (!buffer) {
    softmax_keys_clear(&r->keys);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for one query of %lld elements",
                       (long long)slice->d);
  }
  r->count = r->keys.count + (slice->has_sink ? 1 : 0);
  r->prec = prec;
  r->score_prec = prec + SOFTMAX_SCORE_GUARD + row_bits(r, problem, slice, row, buffer);
  free(buffer);
  problem_pairs pairs;
  status = problem_pairs_open(&pairs, problem, slice, r->score_prec, error);
  if (status) {
    softmax_keys_clear(&r->keys);
    return status;
  }
  r->score = _arb_vec_init(r->count);
  r->t = with_t ? _arb_vec_init(r->count) : NULL;
  softmax_terms terms;
  softmax_terms_init(&terms, problem, slice, r->score_prec);
  row_scores(r, &terms, &pairs, row);
  softmax_terms_clear(&terms);
  problem_pairs_close(&pairs);
  return ATTEST_OK;
}

void softmax_row_clear(softmax_row *r) {
  if (r->score) _arb_vec_clear(r->score, r->count);
  if (r->t) _arb_vec_clear(r->t, r->count);
  softmax_keys_clear(&r->keys);
  *r = (softmax_row){0};
}

void softmax_row_weights(softmax_row *r, arb_t sum, arb_t max) {
  int64_t best = 0;
  for (int64_t n = 1; n < r->count; n++)
    if (arf_cmp(arb_midref(r->score + n), arb_midref(r->score + best)) > 0) best = n;
  arb_set_arf(max, arb_midref(r->score + best));
  arb_zero(sum);
  for (int64_t n = 0; n < r->count; n++) {
    arb_sub(r->score + n, r->score + n, max, r->score_prec);
    arb_exp(r->score + n, r->score + n, r->prec);
    arb_add(sum, sum, r->score + n, r->prec);
  }
}

void softmax_row_values(arb_ptr values, double *buffer, const softmax_row *r,
                        const problem_slice *slice, const unsigned char *class, int64_t first,
                        int64_t n) {
  const attest_tensor *v = &slice->v;
  for (int64_t i = 0; i < n; i++) {
    tensor_load(buffer, v, r->keys.key[first + i] * v->stride[0], slice->dv, v->stride[1]);
    for (int64_t c = 0; c < slice->dv; c++)
      arb_set_d(values + i * slice->dv + c, class[c] == EXACT_FINITE ? buffer[c] : 0);
  }
}
