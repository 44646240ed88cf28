/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Exact decisions about softmax attention, by the theorem of Lindemann and Weierstrass:
 * exponentials of distinct algebraic numbers are linearly independent over the algebraic numbers.
 * With y_j = sum_i coefficient_i v_j[component_i] - constant, the statement sum_i coefficient_i x_i
 * = constant is sum_j e^{s_j} y_j = 0, and holds iff the y of every group of equal scores add up to
 * zero.
 *
 * Scores are algebraic without a softcap: a common temperature divides scale q.k + offset, where
 * the form q.k (pairing.h) and offset = bias + slope (j - i') are dyadic rationals and the scale is
 * rational or an irrational square root. Equality of scores is equality of one exact number
 * (rational scale) or of both q.k and the offset (irrational scale). Under a softcap, equal pairs
 * still have equal scores, which is a sufficient test; rotated vectors have scores that are not
 * known exactly, and what holds for every key by itself holds for their mean. */
#include <stdlib.h>

#include "../problem/pairing.h"
#include "row.h"

/* One key or the sink: its score is (first + scale second) / temperature for an irrational scale,
 * first / denominator(scale) / temperature otherwise. */
typedef struct {
  arf_t first, second;
  int64_t key; /* -1: the sink */
} exact_key;

typedef struct {
  int64_t count;
  exact_key *keys;
  int capped; /* a softcap bends some score: equal pairs are not the only equal scores */
  int irrational;
  int is_rotated; /* scores are not known exactly: no two pairs are equal */
} exact_row;

static void exact_row_clear(exact_row *r) {
  for (int64_t n = 0; n < r->count; n++) {
    arf_clear(r->keys[n].first);
    arf_clear(r->keys[n].second);
  }
  free(r->keys);
}

/* From first = offset and second = q.k to the canonical pair. */
static void canonical_pair(exact_row *r, exact_key *key, const problem_values *values) {
  if (values->scale.sign == 0) arf_zero(key->second);
  if (values->has_softcap && !arf_is_zero(key->second)) {
    r->capped = 1;
    return;
  }
  if (r->irrational) return;
  arf_mul_fmpz(key->first, key->first, fmpq_denref(values->scale.value), ARF_PREC_EXACT,
               ARF_RND_DOWN);
  if (values->has_softcap) return;
  arf_mul_fmpz(key->second, key->second, fmpq_numref(values->scale.value), ARF_PREC_EXACT,
               ARF_RND_DOWN);
  if (values->scale.sign < 0) arf_neg(key->second, key->second);
  arf_add(key->first, key->first, key->second, ARF_PREC_EXACT, ARF_RND_DOWN);
  arf_zero(key->second);
}

/* Rotated keys, whose forms cannot be had exactly, get pairs that are all different. */
static void fill_row(exact_row *r, const softmax_keys *keys, const attest_problem *problem,
                     const problem_slice *slice, int64_t row) {
  r->irrational = problem->values.scale.root;
  for (; r->count < keys->count; r->count++) {
    exact_key *key = &r->keys[r->count];
    arf_init(key->first);
    arf_init(key->second);
    key->key = keys->key[r->count];
    softmax_score_offset(key->first, NULL, slice, row, key->key);
    int exact = problem_pair_exact(key->second, problem, slice, row, key->key);
    if (exact || problem->values.scale.sign == 0) {
      canonical_pair(r, key, &problem->values);
    } else {
      r->is_rotated = r->capped = 1;
      arf_set_si(key->second, r->count + 1);
    }
  }
  if (!slice->has_sink) return;
  exact_key *sink = &r->keys[r->count++];
  arf_init(sink->first);
  arf_init(sink->second);
  sink->key = -1;
  arf_set_d(sink->first, slice->sink);
  canonical_pair(r, sink, &problem->values);
}

/* 0, or -1 when memory is short or a score is no dyadic combination (an infinite z under a
 * softcap). */
static int exact_row_init(exact_row *r, const attest_problem *problem, const problem_slice *slice,
                          int64_t row) {
  softmax_keys keys;
  *r = (exact_row){0};
  if (softmax_keys_init(&keys, problem, slice, row, NULL)) return -1;
  int usable = 1;
  for (int64_t n = 0; n < keys.count; n++)
    usable &= keys.kind[n] == SCORE_FINITE;
  r->keys = malloc((size_t)(keys.count + 1) * sizeof *r->keys);
  usable = usable && r->keys;
  if (usable) fill_row(r, &keys, problem, slice, row);
  softmax_keys_clear(&keys);
  if (!usable) exact_row_clear(r);
  return usable ? 0 : -1;
}

static int compare_pairs(const void *a, const void *b) {
  const exact_key *x = a, *y = b;
  int first = arf_cmp(x->first, y->first);
  return first ? first : arf_cmp(x->second, y->second);
}

/* ---- out
 * ------------------------------------------------------------------------------------------ */

/* Whether the y of keys begin .. end - 1 add up to zero. */
static int group_vanishes(const exact_row *r, int64_t begin, int64_t end, const attest_tensor *v,
                          int n, const int64_t component[], const fmpq *coefficient,
                          const fmpq_t constant) {
  arf_t sum, x;
  fmpq_t total, term;
  arf_init(sum);
  arf_init(x);
  fmpq_init(total);
  fmpq_init(term);
  for (int i = 0; i < n; i++) {
    arf_zero(sum);
    for (int64_t m = begin; m < end; m++) {
      if (r->keys[m].key < 0) continue; /* the sink has v = 0 */
      arf_set_d(x, softmax_element(v, r->keys[m].key, component[i]));
      arf_add(sum, sum, x, ARF_PREC_EXACT, ARF_RND_DOWN);
    }
    arf_get_fmpq(term, sum);
    fmpq_addmul(total, term, coefficient + i);
  }
  fmpq_set_si(term, end - begin, 1);
  fmpq_submul(total, term, constant);
  int vanishes = fmpq_is_zero(total);
  arf_clear(sum);
  arf_clear(x);
  fmpq_clear(total);
  fmpq_clear(term);
  return vanishes;
}

static int out_zero(exact_row *r, const problem_slice *slice, int n, const int64_t component[],
                    const fmpq *coefficient, const fmpq_t constant) {
  qsort(r->keys, (size_t)r->count, sizeof *r->keys, compare_pairs);
  for (int64_t begin = 0, end; begin < r->count; begin = end) {
    for (end = begin + 1; end < r->count; end++)
      if (compare_pairs(&r->keys[begin], &r->keys[end]) != 0) break;
    if (group_vanishes(r, begin, end, &slice->v, n, component, coefficient, constant)) continue;
    return r->capped && end - begin < r->count ? -1 : 0;
  }
  return 1;
}

/* ---- lse
 * ------------------------------------------------------------------------------------------ */

/* Whether the one score of the row is c: x + b = c temperature with x = scale second, which is zero
 * or irrational, and b rational. A softcap makes the score of a single key transcendental. */
static int score_equals(const exact_row *r, const problem_values *values, const fmpq_t c) {
  if (r->capped) return 0;
  problem_real x, y;
  fmpq_t b;
  problem_real_init(&x);
  problem_real_init(&y);
  fmpq_init(b);
  arf_get_fmpq(x.value, r->keys[0].second);
  x.sign = fmpq_sgn(x.value);
  fmpq_abs(x.value, x.value);
  problem_real_mul(&x, &x, &values->scale);
  fmpq_abs(y.value, c);
  y.sign = fmpq_sgn(c);
  problem_real_mul(&y, &y, &values->temperature);
  arf_get_fmpq(b, r->keys[0].first);
  if (!r->irrational) fmpq_div_fmpz(b, b, fmpq_denref(values->scale.value));
  int equal;
  if (x.sign != 0) {
    equal = fmpq_is_zero(b) && problem_real_equal(&x, &y);
  } else {
    if (y.sign < 0) fmpq_neg(y.value, y.value);
    equal = !y.root && fmpq_equal(y.value, b);
  }
  fmpq_clear(b);
  problem_real_clear(&x);
  problem_real_clear(&y);
  return equal;
}

/* lse = c says sum e^{s_j} = e^c (base e: only one score can balance e^c) or = 2^c, which is
 * algebraic (base 2: every score is 0 and their number is 2^c). */
static int lse_zero(const exact_row *r, const problem_values *values, const fmpq_t c) {
  if (values->lse_base != 2) {
    if (r->count == 1) return score_equals(r, values, c);
    return r->capped ? -1 : 0;
  }
  for (int64_t n = 0; n < r->count; n++)
    if (!arf_is_zero(r->keys[n].first) || !arf_is_zero(r->keys[n].second))
      return r->capped ? -1 : 0;
  if (!fmpz_is_one(fmpq_denref(c)) || fmpq_sgn(c) < 0 || fmpz_cmp_si(fmpq_numref(c), 62) > 0)
    return 0;
  return r->count == (int64_t)1 << fmpz_get_si(fmpq_numref(c));
}

/* ---- the decision
 * ------------------------------------------------------------------------------------ */

/* Rows whose values the edge policy gives: 1, 0, or -1 where one of them is not a number. */
static int special_zero(const unsigned char *class, const double *value, int n,
                        const int64_t component[], const fmpq *coefficient, const fmpq_t constant) {
  fmpq_t total, term;
  arf_t x;
  int equal = 1;
  fmpq_init(total);
  fmpq_init(term);
  arf_init(x);
  for (int i = 0; i < n; i++) {
    if (class[component[i]] != EXACT_FINITE) equal = -1;
    arf_set_d(x, value[component[i]]);
    arf_get_fmpq(term, x);
    fmpq_addmul(total, term, coefficient + i);
  }
  if (equal == 1) equal = fmpq_equal(total, constant);
  fmpq_clear(total);
  fmpq_clear(term);
  arf_clear(x);
  return equal;
}

static int ordinary_zero(const attest_problem *problem, const problem_slice *slice, int64_t row,
                         int output, int n, const int64_t component[], const fmpq *coefficient,
                         const fmpq_t constant) {
  exact_row r;
  if (exact_row_init(&r, problem, slice, row)) return -1;
  int zero;
  if (output == OUTPUT_OUT) {
    zero = out_zero(&r, slice, n, component, coefficient, constant);
  } else if (fmpq_is_zero(coefficient)) {
    zero = fmpq_is_zero(constant);
  } else if (r.is_rotated) {
    zero = -1;
  } else {
    fmpq_t c;
    fmpq_init(c);
    fmpq_div(c, constant, coefficient);
    zero = lse_zero(&r, &problem->values, c);
    fmpq_clear(c);
  }
  exact_row_clear(&r);
  return zero;
}

int softmax_linear_zero(const attest_problem *problem, const problem_slice *slice, int64_t row,
                        int output, int n, const int64_t component[], const fmpq *coefficient,
                        const fmpq_t constant) {
  static const int64_t only[1] = {0};
  if (output == OUTPUT_LSE) component = only;
  int64_t width = output == OUTPUT_OUT ? slice->dv : 1;
  double *value = malloc((size_t)(width + 1) * sizeof *value);
  unsigned char *class = malloc((size_t)width + 1);
  int zero = -1;
  if (value && class) {
    int kind = softmax_special_row(class, value, problem, slice, row, output);
    int prescribed = 0;
    for (int i = 0; i < n; i++)
      prescribed |= class[component[i]] != EXACT_FINITE;
    if (kind == 0)
      zero = special_zero(class, value, n, component, coefficient, constant);
    else if (kind > 0 && !prescribed)
      zero = ordinary_zero(problem, slice, row, output, n, component, coefficient, constant);
  }
  free(value);
  free(class);
  return zero;
}
