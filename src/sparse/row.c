/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- parameters ---- */

/* value^2 of a real, exactly. */
static void real_squared(fmpq_t square, const problem_real *x) {
  if (x->root)
    fmpq_set(square, x->value);
  else
    fmpq_mul(square, x->value, x->value);
}

void sparse_bandwidth_squared(fmpq_t h2, const problem_values *values) {
  real_squared(h2, &values->bandwidth);
}

/* ---- the field of a row ---- */

int sparse_field_sign(const fmpq *x, const sparse_field *field) {
  int zero = 1;
  for (int i = 0; i < SPARSE_BASIS; i++)
    zero &= fmpq_is_zero(x + i);
  if (zero) return 0;
  arb_t sum, term;
  arb_init(sum);
  arb_init(term);
  int sign = 0;
  for (slong prec = 128; sign == 0; prec *= 2) {
    arb_set_fmpq(sum, x, prec);
    for (int i = 0; i < 2; i++) {
      if (fmpq_is_zero(x + 1 + i)) continue;
      arb_set_fmpq(term, field->radicand + i, prec);
      arb_sqrt(term, term, prec);
      if (fmpq_sgn(x + 1 + i) < 0) arb_neg(term, term);
      arb_t factor;
      arb_init(factor);
      arb_set_fmpq(factor, x + 1 + i, prec);
      arb_abs(factor, factor);
      arb_addmul(sum, term, factor, prec);
      arb_clear(factor);
    }
    sign = arb_is_positive(sum) - arb_is_negative(sum);
  }
  arb_clear(sum);
  arb_clear(term);
  return sign;
}

static void number_zero(fmpq *x) {
  for (int i = 0; i < SPARSE_BASIS; i++)
    fmpq_zero(x + i);
}

/* root <- sqrt(x): 1, or 0 when that is not rational. */
static int rational_root(fmpq_t root, const fmpq_t x) {
  if (!fmpz_is_square(fmpq_numref(x)) || !fmpz_is_square(fmpq_denref(x))) return 0;
  fmpz_sqrt(fmpq_numref(root), fmpq_numref(x));
  fmpz_sqrt(fmpq_denref(root), fmpq_denref(x));
  return 1;
}

/* number <- factor * real, adding its root to the field where it is a new one. */
static void field_adjoin(fmpq *number, sparse_field *field, const problem_real *real,
                         const fmpq_t factor) {
  fmpq_t root;
  fmpq_init(root);
  number_zero(number);
  if (!real->root) {
    fmpq_mul(number, real->value, factor);
  } else if (fmpq_is_zero(field->radicand)) {
    fmpq_set(field->radicand, real->value);
    fmpq_set(number + 1, factor);
  } else {
    fmpq_div(root, real->value, field->radicand);
    if (rational_root(root, root)) {
      fmpq_mul(number + 1, root, factor);
    } else {
      fmpq_set(field->radicand + 1, real->value);
      fmpq_set(number + 2, factor);
    }
  }
  if (real->sign < 0)
    for (int i = 0; i < SPARSE_BASIS; i++)
      fmpq_neg(number + i, number + i);
  fmpq_clear(root);
}

/* The field of the scores and, in it, what they are compared with: margin h^2 for relumax, the
 * temperature for others that have one. */
static void set_field(sparse_row *r) {
  const problem_values *values = &r->problem->values;
  fmpq_t factor;
  fmpq_init(factor);
  for (int i = 0; i < 2; i++)
    fmpq_init(r->field.radicand + i);
  for (int i = 0; i < SPARSE_BASIS; i++)
    fmpq_init(r->level + i);
  if (!r->kernel->is_distance && values->scale.root)
    fmpq_set(r->field.radicand, values->scale.value);
  if (r->kernel->rule == RULE_MARGIN) {
    sparse_bandwidth_squared(factor, values);
    field_adjoin(r->level, &r->field, &values->margin, factor);
  } else if (r->kernel->rule == RULE_THRESHOLD || r->kernel->rule == RULE_TOP_EXP) {
    fmpq_one(factor);
    field_adjoin(r->level, &r->field, &values->temperature, factor);
  }
  fmpq_clear(factor);
}

int sparse_row_is_algebraic(const sparse_row *r) {
  return r->kernel->is_distance || !r->problem->values.has_softcap;
}

void sparse_row_number(fmpq *x, const sparse_row *r, int64_t i) {
  const problem_real *scale = &r->problem->values.scale;
  number_zero(x);
  if (r->kernel->is_distance) {
    arf_get_fmpq(x, r->dot + i);
    return;
  }
  fmpq *product = x + (scale->root ? 1 : 0);
  if (scale->sign != 0) arf_get_fmpq(product, r->dot + i);
  if (!scale->root && scale->sign != 0) fmpq_mul(product, product, scale->value);
  if (scale->sign < 0) fmpq_neg(product, product);
  fmpq_t offset;
  fmpq_init(offset);
  arf_get_fmpq(offset, r->offset + i);
  fmpq_add(x, x, offset);
  fmpq_clear(offset);
}

/* ---- exact sums ---- */

/* sum <- the sum over a of f(q_a, k_a), f = product, squared difference, their absolute versions;
 * without rounding. */
typedef enum { SUM_PRODUCT, SUM_DISTANCE, SUM_ABS_PRODUCT, SUM_ABS_DISTANCE } sum_kind;
static void exact_sum(arf_t sum, const double *q, const double *k, int64_t d, sum_kind kind) {
  arf_t x, y;
  arf_init(x);
  arf_init(y);
  arf_zero(sum);
  for (int64_t a = 0; a < d; a++) {
    int absolute = kind == SUM_ABS_PRODUCT || kind == SUM_ABS_DISTANCE;
    arf_set_d(x, absolute ? fabs(q[a]) : q[a]);
    arf_set_d(y, absolute ? fabs(k[a]) : k[a]);
    if (kind == SUM_DISTANCE) arf_neg(y, y);
    if (kind == SUM_DISTANCE || kind == SUM_ABS_DISTANCE) {
      arf_add(x, x, y, ARF_PREC_EXACT, ARF_RND_DOWN);
      arf_set(y, x);
    }
    arf_addmul(sum, x, y, ARF_PREC_EXACT, ARF_RND_DOWN);
  }
  arf_clear(x);
  arf_clear(y);
}

static void fill_row(sparse_row *r, double *q, double *k) {
  const problem_slice *slice = r->slice;
  int distance = r->kernel->is_distance;
  tensor_load(q, &slice->q, r->row * slice->q.stride[0], slice->d, slice->q.stride[1]);
  for (int64_t i = 0; i < r->count; i++) {
    tensor_load(k, &slice->k, r->key[i] * slice->k.stride[0], slice->d, slice->k.stride[1]);
    exact_sum(r->dot + i, q, k, slice->d, distance ? SUM_DISTANCE : SUM_PRODUCT);
    if (!distance) softmax_score_offset(r->offset + i, NULL, slice, r->row, r->key[i]);
    if (r->size)
      exact_sum(r->size + i, q, k, slice->d, distance ? SUM_ABS_DISTANCE : SUM_ABS_PRODUCT);
  }
}

static arf_ptr arf_vector(int64_t n) {
  arf_ptr x = flint_malloc((size_t)(n + 1) * sizeof *x);
  for (int64_t i = 0; i < n; i++)
    arf_init(x + i);
  return x;
}

static void arf_vector_clear(arf_ptr x, int64_t n) {
  if (!x) return;
  for (int64_t i = 0; i < n; i++)
    arf_clear(x + i);
  flint_free(x);
}

/* Takes `key` over. */
static attest_status open_row(sparse_row *r, int64_t *key, int64_t n, int with_size,
                              attest_error *error) {
  const problem_slice *slice = r->slice;
  double *buffer = malloc((size_t)(2 * slice->d + 1) * sizeof *buffer);
  if (!buffer || !key) {
    free(buffer);
    free(key);
    memset(r, 0, sizeof *r);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for one query of %lld elements",
                       (long long)slice->d);
  }
  r->kernel = sparse_kernel_of(r->problem);
  r->count = r->capacity = n;
  r->key = key;
  r->dot = arf_vector(n);
  r->offset = arf_vector(n);
  r->size = with_size ? arf_vector(n) : NULL;
  set_field(r);
  fill_row(r, buffer, buffer + slice->d);
  free(buffer);
  return ATTEST_OK;
}

attest_status sparse_row_init(sparse_row *r, const attest_problem *problem,
                              const problem_slice *slice, int64_t row, int with_size,
                              attest_error *error) {
  softmax_keys keys;
  *r = (sparse_row){.problem = problem, .slice = slice, .row = row};
  attest_status status = softmax_keys_init(&keys, problem, slice, row, error);
  int64_t *key = keys.key, count = keys.count;
  if (status) {
    memset(r, 0, sizeof *r);
    return status;
  }
  keys.key = NULL;
  softmax_keys_clear(&keys);
  return open_row(r, key, count, with_size, error);
}

attest_status sparse_row_of_keys(sparse_row *r, const attest_problem *problem,
                                 const problem_slice *slice, int64_t row, const int64_t *keys,
                                 int64_t n, int with_size, attest_error *error) {
  *r = (sparse_row){.problem = problem, .slice = slice, .row = row};
  int64_t *key = malloc((size_t)n * sizeof *key);
  if (key) memcpy(key, keys, (size_t)n * sizeof *key);
  return open_row(r, key, n, with_size, error);
}

void sparse_row_clear(sparse_row *r) {
  if (!r->problem) return;
  arf_vector_clear(r->dot, r->capacity);
  arf_vector_clear(r->offset, r->capacity);
  arf_vector_clear(r->size, r->capacity);
  free(r->key);
  for (int i = 0; i < 2; i++)
    fmpq_clear(r->field.radicand + i);
  for (int i = 0; i < SPARSE_BASIS; i++)
    fmpq_clear(r->level + i);
  memset(r, 0, sizeof *r);
}

/* ---- exact comparisons ---- */

/* The sign of scale dot_i. */
static int sign_of_product(const sparse_row *r, int64_t i) {
  return arf_sgn(r->dot + i) * r->problem->values.scale.sign;
}

/* Whether caps c + rest = 0: what a saturated score is compared with may be its end itself, which
 * no ball tells from it. */
static int is_at_end(const sparse_row *r, int caps, const fmpq_t rest) {
  const problem_real *c = &r->problem->values.softcap;
  fmpq_t sum;
  if (caps == 0 || c->root) return caps == 0 && fmpq_is_zero(rest);
  fmpq_init(sum);
  fmpq_mul_si(sum, c->value, caps);
  fmpq_add(sum, sum, rest);
  int is_zero = fmpq_is_zero(sum);
  fmpq_clear(sum);
  return is_zero;
}

/* The sign of cap(scale dot_i) + offset_i - cap(scale dot_j) - offset_j under a softcap. Equal
 * products leave the offsets. Different ones never balance: with a, b the different algebraic
 * arguments, tanh a - tanh b = r is 2 e^2a - 2 e^2b = r (e^(2a+2b) + e^2a + e^2b + 1), which no
 * algebraic r satisfies (Lindemann-Weierstrass), so balls of enough precision decide. */
static int compare_capped(const sparse_row *r, int64_t i, int64_t j) {
  arb_t x, y, dot;
  int sign = 0;
  if (r->problem->values.scale.sign == 0 || arf_equal(r->dot + i, r->dot + j))
    return arf_cmp(r->offset + i, r->offset + j);
  /* Caps keep the order, though saturated ones differ after thousands of bits only. */
  if (arf_equal(r->offset + i, r->offset + j))
    return arf_cmp(r->dot + i, r->dot + j) * r->problem->values.scale.sign;
  int up = sign_of_product(r, i), down = sign_of_product(r, j);
  fmpq *rest = _fmpq_vec_init(2);
  arf_get_fmpq(rest, r->offset + i);
  arf_get_fmpq(rest + 1, r->offset + j);
  fmpq_sub(rest, rest, rest + 1);
  int at_end = up != down && is_at_end(r, up - down, rest);
  _fmpq_vec_clear(rest, 2);
  if (at_end) return up ? -up : down; /* caps lie within their ends */
  arb_init(x);
  arb_init(y);
  arb_init(dot);
  for (slong prec = 128; sign == 0; prec *= 2) {
    softmax_terms terms;
    softmax_terms_init(&terms, r->problem, r->slice, prec);
    arb_set_arf(dot, r->dot + i);
    softmax_terms_score(x, NULL, &terms, dot, NULL, SCORE_FINITE, r->row, r->key[i]);
    arb_set_arf(dot, r->dot + j);
    softmax_terms_score(y, NULL, &terms, dot, NULL, SCORE_FINITE, r->row, r->key[j]);
    softmax_terms_clear(&terms);
    arb_sub(x, x, y, prec);
    sign = arb_is_positive(x) - arb_is_negative(x);
  }
  arb_clear(x);
  arb_clear(y);
  arb_clear(dot);
  return sign;
}

int sparse_row_compare(const sparse_row *r, int64_t i, int64_t j) {
  if (r->kernel->is_distance) return -arf_cmp(r->dot + i, r->dot + j);
  if (!sparse_row_is_algebraic(r)) return compare_capped(r, i, j);
  if (arf_equal(r->dot + i, r->dot + j)) return arf_cmp(r->offset + i, r->offset + j);
  fmpq *x = _fmpq_vec_init(SPARSE_BASIS), *y = _fmpq_vec_init(SPARSE_BASIS);
  sparse_row_number(x, r, i);
  sparse_row_number(y, r, j);
  for (int n = 0; n < SPARSE_BASIS; n++)
    fmpq_sub(x + n, x + n, y + n);
  int sign = sparse_field_sign(x, &r->field);
  _fmpq_vec_clear(x, SPARSE_BASIS);
  _fmpq_vec_clear(y, SPARSE_BASIS);
  return sign;
}

/* x <- x + offset of key i. */
static void add_offset(fmpq_t x, const sparse_row *r, int64_t i) {
  fmpq_t offset;
  fmpq_init(offset);
  arf_get_fmpq(offset, r->offset + i);
  fmpq_add(x, x, offset);
  fmpq_clear(offset);
}

/* normrelu: the sign of s - (1 - h^2/2), a rational; a capped score other than 0 plus an offset is
 * transcendental. */
static int sign_of_score(const sparse_row *r, int64_t i, const fmpq_t h2) {
  int sign = 0;
  fmpq *x = _fmpq_vec_init(SPARSE_BASIS);
  fmpq_div_2exp(x, h2, 1);
  fmpq_sub_si(x, x, 1); /* h^2/2 - 1 */
  int side = sign_of_product(r, i);
  fmpq *rest = x + 1; /* without the cap */
  fmpq_set(rest, x);
  add_offset(rest, r, i);
  if (sparse_row_is_algebraic(r)) {
    fmpq_zero(rest);
    fmpq *s = _fmpq_vec_init(SPARSE_BASIS);
    sparse_row_number(s, r, i);
    for (int n = 0; n < SPARSE_BASIS; n++)
      fmpq_add(x + n, x + n, s + n);
    sign = sparse_field_sign(x, &r->field);
    _fmpq_vec_clear(s, SPARSE_BASIS);
  } else if (side == 0) {
    sign = fmpq_sgn(rest);
  } else if (is_at_end(r, side, rest)) {
    sign = -side;
  } else {
    arb_t y, dot, level;
    arb_init(y);
    arb_init(dot);
    arb_init(level);
    arb_set_arf(dot, r->dot + i);
    for (slong prec = 128; sign == 0; prec *= 2) {
      softmax_terms terms;
      softmax_terms_init(&terms, r->problem, r->slice, prec);
      softmax_terms_score(y, NULL, &terms, dot, NULL, SCORE_FINITE, r->row, r->key[i]);
      softmax_terms_clear(&terms);
      arb_set_fmpq(level, x, prec);
      arb_add(y, y, level, prec);
      sign = arb_is_positive(y) - arb_is_negative(y);
    }
    arb_clear(y);
    arb_clear(dot);
    arb_clear(level);
  }
  _fmpq_vec_clear(x, SPARSE_BASIS);
  return sign;
}

int sparse_row_sign(const sparse_row *r, int64_t i) {
  fmpq_t h2, distance;
  fmpq_init(h2);
  fmpq_init(distance);
  sparse_bandwidth_squared(h2, &r->problem->values);
  int sign;
  if (r->kernel->is_distance) {
    arf_get_fmpq(distance, r->dot + i);
    int order = fmpq_cmp(h2, distance);
    sign = (order > 0) - (order < 0);
  } else {
    sign = sign_of_score(r, i, h2);
  }
  fmpq_clear(h2);
  fmpq_clear(distance);
  return sign;
}

/* ---- order ---- */

/* One key on its way to being sorted: balls decide almost all comparisons. */
typedef struct {
  const sparse_row *row;
  arb_srcptr y;
  int64_t index;
} sorted_key;

static int by_falling_argument(const void *a, const void *b) {
  const sorted_key *x = a, *y = b;
  const sparse_row *r = x->row;
  if (arb_gt(x->y, y->y)) return -1;
  if (arb_lt(x->y, y->y)) return 1;
  int order = sparse_row_compare(r, y->index, x->index);
  if (order) return order;
  int rising = x->index < y->index ? -1 : x->index > y->index;
  return r->problem->values.ties == TIES_HIGHEST ? -rising : rising;
}

void sparse_row_sort(int64_t *order, const sparse_row *r) {
  sorted_key *keys = flint_malloc((size_t)(r->count + 1) * sizeof *keys);
  arb_ptr y = _arb_vec_init(r->count);
  sparse_row_arguments(y, NULL, r, 128);
  for (int64_t i = 0; i < r->count; i++)
    keys[i] = (sorted_key){r, y + i, i};
  qsort(keys, (size_t)r->count, sizeof *keys, by_falling_argument);
  for (int64_t i = 0; i < r->count; i++)
    order[i] = keys[i].index;
  _arb_vec_clear(y, r->count);
  flint_free(keys);
}

attest_status sparse_row_keep(sparse_row *r, const int64_t *order, int64_t n, attest_error *error) {
  unsigned char *kept = calloc((size_t)r->count + 1, 1);
  if (!kept) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for a row of keys");
  for (int64_t i = 0; i < n; i++)
    kept[order[i]] = 1;
  int64_t at = 0;
  for (int64_t i = 0; i < r->count; i++) {
    if (!kept[i]) continue;
    r->key[at] = r->key[i];
    arf_swap(r->dot + at, r->dot + i);
    arf_swap(r->offset + at, r->offset + i);
    if (r->size) arf_swap(r->size + at, r->size + i);
    at++;
  }
  r->count = at;
  free(kept);
  return ATTEST_OK;
}

/* ---- arguments as balls ---- */

/* y <- y factor + shift, t <- t factor + |shift|, exact rationals; factor > 0. */
static void affine(arb_ptr y, arb_ptr t, int64_t n, const fmpq_t factor, const fmpq_t shift,
                   slong prec) {
  arb_t f, c;
  arb_init(f);
  arb_init(c);
  arb_set_fmpq(f, factor, prec);
  arb_set_fmpq(c, shift, prec);
  for (int64_t i = 0; i < n; i++) {
    arb_mul(y + i, y + i, f, prec);
    arb_add(y + i, y + i, c, prec);
  }
  arb_abs(f, f);
  arb_abs(c, c);
  for (int64_t i = 0; t && i < n; i++) {
    arb_mul(t + i, t + i, f, prec);
    arb_add(t + i, t + i, c, prec);
  }
  arb_clear(f);
  arb_clear(c);
}

/* y <- b + (s - max s) / h^2; the absolute version of the score alone moves. */
static void below_largest(arb_ptr y, arb_ptr t, const sparse_row *r, slong prec) {
  fmpq_t factor, zero;
  arb_t largest, margin;
  fmpq_init(factor);
  fmpq_init(zero);
  arb_init(largest);
  arb_init(margin);
  sparse_bandwidth_squared(factor, &r->problem->values);
  fmpq_inv(factor, factor);
  for (int64_t i = 0; i < r->count; i++)
    if (i == 0)
      arb_set(largest, y);
    else
      arb_max(largest, largest, y + i, prec);
  for (int64_t i = 0; i < r->count; i++)
    arb_sub(y + i, y + i, largest, prec);
  affine(y, t, r->count, factor, zero, prec);
  problem_real_ball(margin, &r->problem->values.margin, prec);
  for (int64_t i = 0; i < r->count; i++)
    arb_add(y + i, y + i, margin, prec);
  fmpq_clear(factor);
  fmpq_clear(zero);
  arb_clear(largest);
  arb_clear(margin);
}

/* From the score or distance to the argument. */
static void finish_arguments(arb_ptr y, arb_ptr t, const sparse_row *r, slong prec) {
  fmpq_t factor, shift;
  fmpq_init(factor);
  fmpq_init(shift);
  sparse_bandwidth_squared(factor, &r->problem->values);
  fmpq_inv(factor, factor);
  if (r->kernel->is_distance) {
    if (r->kernel->rule == RULE_EXP)
      fmpq_div_2exp(factor, factor, 1);
    else
      fmpq_one(shift);
    fmpq_neg(factor, factor);
    affine(y, t, r->count, factor, shift, prec);
  } else if (r->kernel->rule == RULE_POWER) {
    fmpq_mul_2exp(factor, factor, 1); /* 2/h^2 */
    fmpq_one(shift);
    fmpq_sub(shift, shift, factor);
    affine(y, t, r->count, factor, shift, prec);
  } else if (r->kernel->rule == RULE_MARGIN) {
    below_largest(y, t, r, prec);
  }
  fmpq_clear(factor);
  fmpq_clear(shift);
}

/* Scores, or distances, at this working precision. */
static void raw_arguments(arb_ptr y, arb_ptr t, const sparse_row *r, slong prec) {
  softmax_terms terms;
  arb_t size;
  arb_init(size);
  softmax_terms_init(&terms, r->problem, r->slice, prec);
  for (int64_t i = 0; i < r->count; i++) {
    arb_set_arf(y + i, r->dot + i);
    if (t) arb_set_arf(t + i, r->size + i);
    if (!r->kernel->is_distance)
      softmax_terms_score(y + i, t ? t + i : NULL, &terms, y + i, t ? t + i : NULL, SCORE_FINITE,
                          r->row, r->key[i]);
  }
  softmax_terms_clear(&terms);
  arb_clear(size);
}

void sparse_row_arguments(arb_ptr y, arb_ptr t, const sparse_row *r, slong prec) {
  /* Terms of a score larger than 1 cancel: their size is added to the precision. */
  slong bits = 0;
  mag_t size;
  mag_init(size);
  raw_arguments(y, NULL, r, 64);
  for (int64_t i = 0; i < r->count; i++) {
    arb_get_mag(size, y + i);
    if (mag_cmp_2exp_si(size, bits) > 0) bits = fmpz_get_si(MAG_EXPREF(size));
  }
  mag_clear(size);
  if (bits > 8192) bits = 8192;
  raw_arguments(y, t, r, prec + bits + SOFTMAX_SCORE_GUARD);
  finish_arguments(y, t, r, prec + bits + SOFTMAX_SCORE_GUARD);
}
