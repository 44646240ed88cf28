/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Exact decisions about sparse kernels. With Y_j = sum_i coefficient_i v_j[component_i] - constant,
 * the statement sum_i coefficient_i x_i = constant is sum_j w_j Y_j = 0.
 *
 *   any kernel      it holds when the Y of every group of equal arguments add up to zero;
 *   exponentials    only then (Lindemann-Weierstrass; not under a softcap, where scores are
 *                   transcendental and equal ones need not be seen to be equal);
 *   rational w      distances are rational: w_j Y_j is added up;
 *   linear w        normrelu, relumax, sparsemax: w_j is linear in scores of a field with square
 *                   roots (row.h) and so is the sum. sparsemax: gamma p_j = s_j - mean s + gamma/n
 *                   over the support, which has the n keys with sum_l [s_l - s_j]_+ < gamma;
 *   alpha = 3/2     with e_j = s_j - mean s over the support of n keys and
 *                   D^2 = (4 gamma^2 - sum e^2) / n: 4 gamma^2 p_j = (e_j + D)^2. So the sum is
 *                   P + D Q with P = sum (e^2 + D^2) Y and Q = 2 sum e Y in Q(scale), zero iff
 *                   P^2 = D^2 Q^2 and the signs of P and Q are not the same. The support has the
 *                   keys with sum_l [s_l - s_j]_+^2 < 4 gamma^2;
 *   other alpha     where the support is one group of equal scores, its keys weigh the same. Else:
 *                   not known. */
#include <stdlib.h>

#include "weights.h"

/* The question about one row. */
typedef struct {
  const problem_slice *slice;
  int n;
  const int64_t *component;
  const fmpq *coefficient, *constant;
} question;

/* Y of key j of the slice. */
static void value_of(fmpq_t y, const question *q, int64_t j) {
  arf_t v;
  fmpq_t term;
  arf_init(v);
  fmpq_init(term);
  fmpq_neg(y, q->constant);
  for (int i = 0; i < q->n; i++) {
    arf_set_d(v, softmax_element(&q->slice->v, j, q->component[i]));
    arf_get_fmpq(term, v);
    fmpq_addmul(y, term, q->coefficient + i);
  }
  arf_clear(v);
  fmpq_clear(term);
}

/* ---- groups of equal arguments ---- */

static int groups_vanish(const sparse_row *r, const int64_t *order, const fmpq *y) {
  fmpq_t sum;
  fmpq_init(sum);
  int vanish = 1;
  for (int64_t begin = 0, end; begin < r->count && vanish; begin = end) {
    fmpq_set(sum, y + order[begin]);
    for (end = begin + 1; end < r->count; end++) {
      if (sparse_row_compare(r, order[begin], order[end]) != 0) break;
      fmpq_add(sum, sum, y + order[end]);
    }
    vanish = fmpq_is_zero(sum);
  }
  fmpq_clear(sum);
  return vanish;
}

/* ---- rational weights ---- */

static int distance_sum_is_zero(const sparse_row *r, const fmpq *y) {
  fmpq_t h2, w, sum, power;
  fmpq_init(h2);
  fmpq_init(w);
  fmpq_init(sum);
  fmpq_init(power);
  sparse_bandwidth_squared(h2, &r->problem->values);
  for (int64_t j = 0; j < r->count; j++) {
    arf_get_fmpq(w, r->dot + j);
    fmpq_sub(w, h2, w);
    if (fmpq_sgn(w) < 0) continue;
    fmpq_one(power);
    for (int i = 0; i < r->kernel->power; i++)
      fmpq_mul(power, power, w);
    fmpq_addmul(sum, power, y + j);
  }
  int zero = fmpq_is_zero(sum);
  fmpq_clear(h2);
  fmpq_clear(w);
  fmpq_clear(sum);
  fmpq_clear(power);
  return zero;
}

/* ---- weights that are linear in the scores ---- */

static void number_set(fmpq *x, const fmpq *y) {
  for (int i = 0; i < SPARSE_BASIS; i++)
    fmpq_set(x + i, y + i);
}

static void number_sub(fmpq *x, const fmpq *y) {
  for (int i = 0; i < SPARSE_BASIS; i++)
    fmpq_sub(x + i, x + i, y + i);
}

static void number_addmul(fmpq *x, const fmpq *y, const fmpq_t factor) {
  for (int i = 0; i < SPARSE_BASIS; i++)
    fmpq_addmul(x + i, y + i, factor);
}

static int number_is_zero(const fmpq *x) {
  return fmpq_is_zero(x) && fmpq_is_zero(x + 1) && fmpq_is_zero(x + 2);
}

/* The scores of all keys, SPARSE_BASIS entries a key. */
static fmpq *all_numbers(const sparse_row *r) {
  fmpq *s = _fmpq_vec_init(SPARSE_BASIS * r->count);
  for (int64_t j = 0; j < r->count; j++)
    sparse_row_number(s + SPARSE_BASIS * j, r, j);
  return s;
}

/* sum [level + s_j - s_m]_+ Y_j for relumax (level = b h^2, m the largest) and normrelu (level =
 * h^2/2 - 1, no m). */
static int linear_sum_is_zero(const sparse_row *r, const int64_t *order, const fmpq *y) {
  fmpq *s = all_numbers(r), *sum = _fmpq_vec_init(SPARSE_BASIS),
       *shift = _fmpq_vec_init(SPARSE_BASIS);
  if (r->kernel->rule == RULE_MARGIN) {
    number_set(shift, r->level);
    number_sub(shift, s + SPARSE_BASIS * order[0]);
  } else {
    sparse_bandwidth_squared(shift, &r->problem->values);
    fmpq_div_2exp(shift, shift, 1);
    fmpq_sub_si(shift, shift, 1);
  }
  for (int64_t j = 0; j < r->count; j++) {
    fmpq *w = s + SPARSE_BASIS * j;
    for (int i = 0; i < SPARSE_BASIS; i++)
      fmpq_add(w + i, w + i, shift + i);
    if (sparse_field_sign(w, &r->field) > 0) number_addmul(sum, w, y + j);
  }
  int zero = number_is_zero(sum);
  _fmpq_vec_clear(s, SPARSE_BASIS * r->count);
  _fmpq_vec_clear(sum, SPARSE_BASIS);
  _fmpq_vec_clear(shift, SPARSE_BASIS);
  return zero;
}

/* ---- thresholds ---- */

/* Products in Q(n_1): the third entries are zero. */
static void number_mul(fmpq *z, const fmpq *x, const fmpq *y, const sparse_field *field) {
  fmpq *out = _fmpq_vec_init(SPARSE_BASIS);
  fmpq_mul(out, x + 1, y + 1);
  fmpq_mul(out, out, field->radicand);
  fmpq_addmul(out, x, y);
  fmpq_mul(out + 1, x, y + 1);
  fmpq_addmul(out + 1, x + 1, y);
  number_set(z, out);
  _fmpq_vec_clear(out, SPARSE_BASIS);
}

static void number_div_si(fmpq *x, int64_t n) {
  fmpq_t inverse;
  fmpq_init(inverse);
  fmpq_set_si(inverse, 1, (ulong)n);
  for (int i = 0; i < SPARSE_BASIS; i++)
    fmpq_mul(x + i, x + i, inverse);
  fmpq_clear(inverse);
}

/* 4 gamma^2, rational because gamma is a root at most. */
static void four_gamma_squared(fmpq_t level, const sparse_row *r) {
  const problem_real *gamma = &r->problem->values.temperature;
  if (gamma->root)
    fmpq_set(level, gamma->value);
  else
    fmpq_mul(level, gamma->value, gamma->value);
  fmpq_mul_2exp(level, level, 2);
}

/* Whether sum_(l < n) (s_l - s_n)^power over keys in falling order is below the level, that is,
 * whether key n is in the support. */
static int is_in_support(const sparse_row *r, const fmpq *s, const int64_t *order, int64_t n,
                         int power, const fmpq *level) {
  fmpq *sum = _fmpq_vec_init(SPARSE_BASIS), *gap = _fmpq_vec_init(SPARSE_BASIS);
  for (int64_t l = 0; l < n; l++) {
    number_set(gap, s + SPARSE_BASIS * order[l]);
    number_sub(gap, s + SPARSE_BASIS * order[n]);
    if (power == 2) number_mul(gap, gap, gap, &r->field);
    for (int i = 0; i < SPARSE_BASIS; i++)
      fmpq_add(sum + i, sum + i, gap + i);
  }
  number_sub(sum, level);
  int inside = sparse_field_sign(sum, &r->field) < 0;
  _fmpq_vec_clear(sum, SPARSE_BASIS);
  _fmpq_vec_clear(gap, SPARSE_BASIS);
  return inside;
}

/* Keys of the support, by bisection: membership falls along the order. */
static int64_t support_size(const sparse_row *r, const fmpq *s, const int64_t *order, int power,
                            const fmpq *level) {
  int64_t lo = 1, hi = r->count; /* the largest is always in */
  while (lo < hi) {
    int64_t middle = lo + (hi - lo) / 2; /* is key number `middle`, counted from 0, in? */
    if (is_in_support(r, s, order, middle, power, level))
      lo = middle + 1;
    else
      hi = middle;
  }
  return lo;
}

/* e <- s - mean over the support; only the first n keys of the order. */
static void center(fmpq *s, const int64_t *order, int64_t n) {
  fmpq *mean = _fmpq_vec_init(SPARSE_BASIS);
  for (int64_t l = 0; l < n; l++)
    for (int i = 0; i < SPARSE_BASIS; i++)
      fmpq_add(mean + i, mean + i, s + SPARSE_BASIS * order[l] + i);
  number_div_si(mean, n);
  for (int64_t l = 0; l < n; l++)
    number_sub(s + SPARSE_BASIS * order[l], mean);
  _fmpq_vec_clear(mean, SPARSE_BASIS);
}

static int sparsemax_sum_is_zero(const sparse_row *r, const int64_t *order, const fmpq *y) {
  fmpq *s = all_numbers(r), *sum = _fmpq_vec_init(SPARSE_BASIS),
       *share = _fmpq_vec_init(SPARSE_BASIS);
  fmpq_t one;
  fmpq_init(one);
  fmpq_one(one);
  int64_t n = support_size(r, s, order, 1, r->level);
  center(s, order, n);
  number_set(share, r->level);
  number_div_si(share, n);
  for (int64_t l = 0; l < n; l++) {
    fmpq *w = s + SPARSE_BASIS * order[l];
    number_addmul(w, share, one);
    number_addmul(sum, w, y + order[l]);
  }
  int zero = number_is_zero(sum);
  fmpq_clear(one);
  _fmpq_vec_clear(s, SPARSE_BASIS * r->count);
  _fmpq_vec_clear(sum, SPARSE_BASIS);
  _fmpq_vec_clear(share, SPARSE_BASIS);
  return zero;
}

/* P + D Q = 0? d2 = D^2 > 0 or 0. */
static int root_sum_is_zero(fmpq *p, fmpq *q, const fmpq *d2, const sparse_field *field) {
  int sign_p = sparse_field_sign(p, field), sign_q = sparse_field_sign(q, field);
  if (sparse_field_sign(d2, field) == 0 || sign_q == 0) return sign_p == 0;
  if (sign_p == 0 || sign_p == sign_q) return 0;
  number_mul(p, p, p, field);
  number_mul(q, q, q, field);
  number_mul(q, q, d2, field);
  number_sub(p, q);
  return number_is_zero(p);
}

static int biweight_sum_is_zero(const sparse_row *r, const int64_t *order, const fmpq *y) {
  fmpq *work = _fmpq_vec_init(4 * SPARSE_BASIS), *s = all_numbers(r);
  fmpq *d2 = work, *p = work + SPARSE_BASIS, *q = p + SPARSE_BASIS, *e2 = q + SPARSE_BASIS;
  four_gamma_squared(d2, r);
  int64_t n = support_size(r, s, order, 2, d2);
  center(s, order, n);
  for (int64_t l = 0; l < n; l++) {
    const fmpq *e = s + SPARSE_BASIS * order[l];
    number_mul(e2, e, e, &r->field);
    number_sub(d2, e2);
    number_addmul(p, e2, y + order[l]);
    number_addmul(q, e, y + order[l]);
    number_addmul(q, e, y + order[l]);
  }
  number_div_si(d2, n);
  for (int64_t l = 0; l < n; l++)
    number_addmul(p, d2, y + order[l]);
  int zero = root_sum_is_zero(p, q, d2, &r->field);
  _fmpq_vec_clear(work, 4 * SPARSE_BASIS);
  _fmpq_vec_clear(s, SPARSE_BASIS * r->count);
  return zero;
}

/* Where the support, as balls show it, is one group of equal scores, its keys weigh the same: sum Y
 * = 0? -1: other supports. */
static int equal_support_sum_is_zero(const sparse_row *r, const fmpq *y) {
  sparse_weights w;
  fmpq_t sum;
  int64_t first = -1;
  int is_group = 1;
  if (sparse_weights_init(&w, r->problem, r->slice, r->row, 0, 512, NULL)) return -1;
  fmpq_init(sum);
  for (int64_t j = 0; j < r->count && is_group; j++) {
    if (arb_is_zero(w.w + j)) continue;
    if (first < 0) first = j;
    is_group = sparse_row_compare(r, first, j) == 0;
    fmpq_add(sum, sum, y + j);
  }
  int answer = is_group ? fmpq_is_zero(sum) : -1;
  fmpq_clear(sum);
  sparse_weights_clear(&w);
  return answer;
}

static int threshold_sum_is_zero(const sparse_row *r, const int64_t *order, const fmpq *y) {
  sparse_power power;
  sparse_power_init(&power, r->problem, r->kernel, 64);
  int known = power.is_rational && sparse_row_is_algebraic(r);
  int is_one = known && fmpq_is_one(power.rational);
  int is_two = known && fmpq_cmp_si(power.rational, 2) == 0;
  sparse_power_clear(&power);
  if (is_one) return sparsemax_sum_is_zero(r, order, y);
  if (is_two) return biweight_sum_is_zero(r, order, y);
  return equal_support_sum_is_zero(r, y);
}

/* ---- the decision ---- */

static int decide(const sparse_row *r, const int64_t *order, const fmpq *y) {
  sparse_rule rule = r->kernel->rule;
  if (rule == RULE_WITHIN || (rule == RULE_POWER && r->kernel->is_distance))
    return distance_sum_is_zero(r, y);
  if (groups_vanish(r, order, y)) return 1;
  if (rule == RULE_TOP_MEAN) {
    fmpq_t sum;
    fmpq_init(sum);
    for (int64_t j = 0; j < r->count; j++)
      fmpq_add(sum, sum, y + j);
    int zero = fmpq_is_zero(sum);
    fmpq_clear(sum);
    return zero;
  }
  if (rule == RULE_THRESHOLD) return threshold_sum_is_zero(r, order, y);
  if (!sparse_row_is_algebraic(r)) return -1;
  return rule == RULE_EXP || rule == RULE_TOP_EXP ? 0 : linear_sum_is_zero(r, order, y);
}

/* A row whose x the policy prescribes, or one without weight: x = 0 is all that can be asked. */
static int empty_zero(const question *q, const problem_values *values) {
  return values->empty_row == EMPTY_ZERO ? fmpq_is_zero(q->constant) : -1;
}

static int row_is_empty(const sparse_row *r) {
  sparse_rule rule = r->kernel->rule;
  if (rule != RULE_WITHIN && rule != RULE_POWER) return r->count == 0;
  for (int64_t j = 0; j < r->count; j++)
    if (sparse_row_sign(r, j) > (rule == RULE_WITHIN ? -1 : 0)) return 0;
  return 1;
}

static int out_zero(sparse_row *r, const question *q) {
  if (row_is_empty(r)) return empty_zero(q, &r->problem->values);
  int64_t *order = malloc((size_t)(r->count + 1) * sizeof *order);
  if (!order) return -1;
  sparse_row_sort(order, r);
  sparse_rule rule = r->kernel->rule;
  int answer = -1, ready = 1;
  if ((rule == RULE_TOP_EXP || rule == RULE_TOP_MEAN) && r->problem->values.topk < r->count) {
    ready = sparse_row_keep(r, order, r->problem->values.topk, NULL) == ATTEST_OK;
    if (ready) sparse_row_sort(order, r);
  }
  fmpq *y = _fmpq_vec_init(r->count);
  for (int64_t j = 0; j < r->count && ready; j++)
    value_of(y + j, q, r->key[j]);
  if (ready) answer = decide(r, order, y);
  _fmpq_vec_clear(y, r->count);
  free(order);
  return answer;
}

/* ---- log-sum-exp ---- */

/* Whether the one score of the row, over the temperature, is c. */
static int score_equals(const sparse_row *r, const fmpq_t c) {
  fmpq *x = _fmpq_vec_init(SPARSE_BASIS);
  fmpq_t minus;
  fmpq_init(minus);
  fmpq_neg(minus, c);
  int equal = 0;
  int flat = arf_is_zero(r->dot) || r->problem->values.scale.sign == 0;
  if (sparse_row_is_algebraic(r) || flat) { /* else it is transcendental */
    if (flat)
      arf_get_fmpq(x, r->offset);
    else
      sparse_row_number(x, r, 0);
    number_addmul(x, r->level, minus);
    equal = number_is_zero(x);
  }
  fmpq_clear(minus);
  _fmpq_vec_clear(x, SPARSE_BASIS);
  return equal;
}

/* sum e^(s_j) = e^c: only one score can balance e^c; = 2^c, which is algebraic: every score is 0
 * and their number is 2^c. */
static int lse_zero(const sparse_row *r, const fmpq_t c) {
  if (r->problem->values.lse_base != 2) {
    if (r->count == 1) return score_equals(r, c);
    return sparse_row_is_algebraic(r) ? 0 : -1;
  }
  fmpq_t zero;
  fmpq_init(zero);
  int all = 1;
  sparse_row one = *r;
  for (int64_t j = 0; j < r->count && all; j++) {
    one.dot = r->dot + j;
    one.offset = r->offset + j;
    all = score_equals(&one, zero);
  }
  fmpq_clear(zero);
  if (!all) return sparse_row_is_algebraic(r) ? 0 : -1;
  return fmpz_is_one(fmpq_denref(c)) && fmpq_sgn(c) >= 0 && fmpz_cmp_si(fmpq_numref(c), 62) < 0 &&
         r->count == (int64_t)1 << fmpz_get_si(fmpq_numref(c));
}

static int selected_lse_zero(const attest_problem *problem, const problem_slice *slice, int64_t row,
                             const fmpq *coefficient, const fmpq_t constant) {
  sparse_weights w;
  if (fmpq_is_zero(coefficient)) return fmpq_is_zero(constant);
  if (sparse_weights_init(&w, problem, slice, row, 0, 64, NULL)) return -1;
  fmpq_t c;
  fmpq_init(c);
  fmpq_div(c, constant, coefficient);
  int answer = w.row.count ? lse_zero(&w.row, c) : -1;
  fmpq_clear(c);
  sparse_weights_clear(&w);
  return answer;
}

int sparse_linear_zero(const attest_problem *problem, const problem_slice *slice, int64_t row,
                       int output, int n, const int64_t component[], const fmpq *coefficient,
                       const fmpq_t constant) {
  const question q = {slice, n, component, coefficient, constant};
  sparse_row r;
  if (output == OUTPUT_LSE) return selected_lse_zero(problem, slice, row, coefficient, constant);
  if (sparse_row_init(&r, problem, slice, row, 0, NULL)) return -1;
  int answer = out_zero(&r, &q);
  sparse_row_clear(&r);
  return answer;
}
