/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Exact decisions about rows of Taylor and linear attention.
 *
 * With y_n = sum_i coefficient_i u_n[component_i] - constant u_n[dv], the statement sum_i
 * coefficient_i x_i = constant is sum_n w_n y_n = constant eps, for W is not 0 (rows where it is
 * have no value and are not asked about); without a normaliser it is sum_n w_n y_n = constant with
 * y_n = sum_i coefficient_i u_n[component_i]. Everything is rational but the scale, which may be
 * the square root of a rational, no square: numbers are a + b sqrt(r), and zero iff a = b = 0.
 *
 * Weights of the feature elu1 are sums of rationals times e^(dyadic numbers). By the theorem of
 * Lindemann and Weierstrass exponentials of distinct rationals are linearly independent over the
 * algebraic numbers, so such a sum is zero iff the coefficients of every exponent add up to 0. */
#include <stdlib.h>

#include "row.h"

/* a + b sqrt(r), r the radicand of the scale. */
typedef struct {
  fmpq_t a, b;
} surd;

static void surd_init(surd *x) {
  fmpq_init(x->a);
  fmpq_init(x->b);
}

static void surd_clear(surd *x) {
  fmpq_clear(x->a);
  fmpq_clear(x->b);
}

/* x += factor y */
static void surd_addmul(surd *x, const surd *y, const fmpq_t factor) {
  fmpq_addmul(x->a, y->a, factor);
  fmpq_addmul(x->b, y->b, factor);
}

static void set_double(fmpq_t q, double x) {
  arf_t t;
  arf_init(t);
  arf_set_d(t, x);
  arf_get_fmpq(q, t);
  arf_clear(t);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* T_degree(x), x rational; x itself for -1. */
static void rational_polynomial(fmpq_t y, const fmpq_t x, int64_t degree) {
  if (degree < 0) {
    fmpq_set(y, x);
    return;
  }
  fmpq_t step, one;
  fmpq_init(step);
  fmpq_init(one);
  fmpq_one(one);
  fmpq_one(y);
  for (int64_t m = degree; m >= 1; m--) {
    fmpq_set_si(step, 1, (ulong)m);
    fmpq_mul(step, step, x);
    fmpq_mul(y, y, step);
    fmpq_add(y, y, one);
  }
  fmpq_clear(step);
  fmpq_clear(one);
}

/* w = T_degree(sign sqrt(r) z): even powers are rational, odd ones a rational times sqrt(r). */
static void surd_polynomial(surd *w, const fmpq_t z, const problem_real *scale, int64_t degree) {
  fmpq_t square, term, step;
  if (degree < 0) {
    fmpq_zero(w->a);
    fmpq_set(w->b, z);
    if (scale->sign < 0) fmpq_neg(w->b, w->b);
    return;
  }
  fmpq_init(square);
  fmpq_init(term);
  fmpq_init(step);
  fmpq_mul(square, z, z);
  fmpq_mul(square, square, scale->value);
  fmpq_zero(w->a);
  fmpq_zero(w->b);
  for (int64_t parity = 0; parity < 2; parity++) {
    fmpq *sum = parity ? w->b : w->a;
    if (parity) {
      fmpq_set(term, z);
      if (scale->sign < 0) fmpq_neg(term, term);
    } else {
      fmpq_one(term);
    }
    for (int64_t m = parity; m <= degree; m += 2) {
      fmpq_add(sum, sum, term);
      fmpq_set_si(step, 1, (ulong)((m + 1) * (m + 2)));
      fmpq_mul(step, step, square);
      fmpq_mul(term, term, step);
    }
  }
  fmpq_clear(square);
  fmpq_clear(term);
  fmpq_clear(step);
}

/* scale x: into w->b where the scale is irrational. */
static void surd_score(surd *w, const fmpq_t z, const problem_real *scale) {
  if (scale->root) {
    surd_polynomial(w, z, scale, -1);
    return;
  }
  fmpq_zero(w->b);
  fmpq_mul(w->a, z, scale->value);
  if (scale->sign < 0) fmpq_neg(w->a, w->a);
}

static void surd_weight(surd *w, const fmpq_t z, const problem_real *scale, int64_t degree) {
  if (scale->root) {
    surd_polynomial(w, z, scale, degree);
    return;
  }
  surd_score(w, z, scale);
  fmpq_t s;
  fmpq_init(s);
  fmpq_swap(s, w->a);
  rational_polynomial(w->a, s, degree);
  fmpq_clear(s);
}

/* ---- a row ----------------------------------------------------------------------------------- */

/* The question about a row: which combination of its columns, and the sum it makes. */
typedef struct {
  const attest_problem *problem;
  const problem_slice *slice;
  taylor_kind kind;
  int64_t row;
  int n;
  const int64_t *component;
  const fmpq *coefficient;
  const fmpq *constant;
  surd sum;
} question;

/* y of row `index` of a tensor; columns beyond it are 1. */
static void combine(fmpq_t y, const question *q, const attest_tensor *t, int64_t index) {
  fmpq_t u;
  fmpq_init(u);
  fmpq_zero(y);
  for (int i = 0; i < q->n; i++) {
    set_double(u, taylor_element(t, index, q->component[i]));
    fmpq_addmul(y, u, q->coefficient + i);
  }
  if (q->kind.has_normalizer) {
    int64_t dv = q->slice->dv;
    set_double(u, dv < t->shape[1] ? taylor_element(t, index, dv) : 1);
    fmpq_submul(y, u, q->constant);
  }
  fmpq_clear(u);
}

/* y <- y decay^steps. */
static void decay_by(fmpq_t y, const question *q, int64_t steps) {
  if (!q->kind.has_decay) return;
  fmpq_t power;
  fmpq_init(power);
  fmpq_pow_si(power, q->problem->values.decay.value, (slong)steps);
  fmpq_mul(y, y, power);
  fmpq_clear(power);
}

static double feature_at(const question *q, const attest_tensor *t, int64_t row, int64_t a) {
  double x = taylor_element(t, row, a);
  return q->kind.feature == FEATURE_RELU && x < 0 ? 0 : x;
}

/* f(q).f(k_j), rational features only. */
static void exact_dot(fmpq_t z, const question *q, int64_t key) {
  arf_t sum, x, y;
  arf_init(sum);
  arf_init(x);
  arf_init(y);
  for (int64_t a = 0; a < q->slice->d; a++) {
    arf_set_d(x, feature_at(q, &q->slice->q, q->row, a));
    arf_set_d(y, feature_at(q, &q->slice->k, key, a));
    arf_addmul(sum, x, y, ARF_PREC_EXACT, ARF_RND_DOWN);
  }
  arf_get_fmpq(z, sum);
  arf_clear(sum);
  arf_clear(x);
  arf_clear(y);
}

static void add_keys(question *q) {
  const problem_real *scale = &q->problem->values.scale;
  int64_t lo, hi;
  fmpq_t y, z;
  surd w;
  fmpq_init(y);
  fmpq_init(z);
  surd_init(&w);
  problem_visible_range(&lo, &hi, q->problem, q->slice, q->row);
  for (int64_t j = lo; j < hi; j++) {
    if (!problem_visible(q->problem, q->slice, q->row, j)) continue;
    combine(y, q, &q->slice->v, j);
    if (fmpq_is_zero(y)) continue;
    decay_by(y, q, taylor_steps(q->slice, q->row, j));
    exact_dot(z, q, j);
    surd_weight(&w, z, scale, q->kind.degree);
    surd_addmul(&q->sum, &w, y);
  }
  fmpq_clear(y);
  fmpq_clear(z);
  surd_clear(&w);
}

/* phi = scale^m multinomial / m! x, m = order. */
static void query_feature(surd *phi, const fmpq_t x, const problem_real *scale, int64_t order,
                          int64_t multinomial) {
  fmpq_t factor, step;
  fmpq_init(factor);
  fmpq_init(step);
  fmpq_set_si(factor, multinomial, 1);
  for (int64_t m = 1; m <= order; m++) {
    fmpq_set_si(step, scale->sign, (ulong)m);
    fmpq_mul(factor, factor, step);
    if (!scale->root || m % 2 == 0) fmpq_mul(factor, factor, scale->value);
  }
  fmpq_zero(phi->a);
  fmpq_zero(phi->b);
  fmpq_mul(scale->root && order % 2 ? phi->b : phi->a, factor, x);
  fmpq_clear(factor);
  fmpq_clear(step);
}

/* The initial state, row by row: 0, or -1 without memory. */
static int add_state(question *q) {
  const problem_real *scale = &q->problem->values.scale;
  const attest_tensor *state = &q->slice->initial_state;
  taylor_basis *basis = NULL;
  if (!state->data) return 0;
  if (q->kind.degree >= 0 && taylor_basis_open(&basis, q->slice->d, q->kind.degree, NULL))
    return -1;
  int64_t tuple[1024];
  fmpq_t y, x, factor;
  surd w;
  fmpq_init(y);
  fmpq_init(x);
  fmpq_init(factor);
  surd_init(&w);
  for (int64_t b = 0; b < state->shape[0]; b++) {
    combine(y, q, state, b);
    if (fmpq_is_zero(y)) continue;
    decay_by(y, q, taylor_initial_steps(q->slice, q->row));
    fmpq_one(x);
    int64_t order = basis ? taylor_basis_tuple(tuple, basis, b) : 1;
    for (int64_t i = 0; i < order; i++) {
      set_double(factor, feature_at(q, &q->slice->q, q->row, basis ? tuple[i] : b));
      fmpq_mul(x, x, factor);
    }
    if (basis)
      query_feature(&w, x, scale, order, basis->multinomial[b]);
    else
      surd_score(&w, x, scale);
    surd_addmul(&q->sum, &w, y);
  }
  fmpq_clear(y);
  fmpq_clear(x);
  fmpq_clear(factor);
  surd_clear(&w);
  taylor_basis_close(basis);
  return 0;
}

/* ---- elu1 ------------------------------------------------------------------------------------ */

/* coefficient e^exponent */
typedef struct {
  fmpq exponent, coefficient;
} exponential;

typedef struct {
  int64_t count, room;
  exponential *terms;
} exponentials;

static int push(exponentials *sum, const fmpq_t exponent, const fmpq_t coefficient) {
  if (sum->count == sum->room) {
    int64_t room = sum->room ? 2 * sum->room : 256;
    exponential *terms = realloc(sum->terms, (size_t)room * sizeof *terms);
    if (!terms) return -1;
    sum->terms = terms;
    sum->room = room;
  }
  exponential *t = &sum->terms[sum->count++];
  fmpq_init(&t->exponent);
  fmpq_init(&t->coefficient);
  fmpq_set(&t->exponent, exponent);
  fmpq_set(&t->coefficient, coefficient);
  return 0;
}

static void exponentials_clear(exponentials *sum) {
  for (int64_t i = 0; i < sum->count; i++) {
    fmpq_clear(&sum->terms[i].exponent);
    fmpq_clear(&sum->terms[i].coefficient);
  }
  free(sum->terms);
}

/* elu1(x) = rational e^exponent. */
static void split_elu1(fmpq_t rational, fmpq_t exponent, double x) {
  fmpq_t one;
  fmpq_init(one);
  fmpq_one(one);
  set_double(rational, x);
  fmpq_zero(exponent);
  if (x >= 0) {
    fmpq_add(rational, rational, one);
  } else {
    fmpq_swap(rational, exponent);
    fmpq_one(rational);
  }
  fmpq_clear(one);
}

/* y f(q_a) f(k), or y f(q_a) alone, added to the sum: 0, or -1 without memory. */
static int push_product(exponentials *sum, const fmpq_t y, double q, int has_k, double k) {
  fmpq_t rational, exponent, r, e;
  fmpq_init(rational);
  fmpq_init(exponent);
  fmpq_init(r);
  fmpq_init(e);
  split_elu1(rational, exponent, q);
  if (has_k) {
    split_elu1(r, e, k);
    fmpq_mul(rational, rational, r);
    fmpq_add(exponent, exponent, e);
  }
  fmpq_mul(rational, rational, y);
  int failed = push(sum, exponent, rational);
  fmpq_clear(rational);
  fmpq_clear(exponent);
  fmpq_clear(r);
  fmpq_clear(e);
  return failed;
}

/* sum_n w_n y_n / scale as exponentials: 0, or -1 without memory. */
static int push_row(exponentials *sum, const question *q) {
  const problem_slice *slice = q->slice;
  int64_t lo, hi;
  int failed = 0;
  fmpq_t y;
  fmpq_init(y);
  problem_visible_range(&lo, &hi, q->problem, slice, q->row);
  for (int64_t j = lo; j < hi && !failed; j++) {
    if (!problem_visible(q->problem, slice, q->row, j)) continue;
    combine(y, q, &slice->v, j);
    decay_by(y, q, taylor_steps(slice, q->row, j));
    for (int64_t a = 0; a < slice->d && !failed; a++)
      failed = push_product(sum, y, taylor_element(&slice->q, q->row, a), 1,
                            taylor_element(&slice->k, j, a));
  }
  for (int64_t a = 0; slice->initial_state.data && a < slice->d && !failed; a++) {
    combine(y, q, &slice->initial_state, a);
    decay_by(y, q, taylor_initial_steps(slice, q->row));
    failed = push_product(sum, y, taylor_element(&slice->q, q->row, a), 0, 0);
  }
  fmpq_clear(y);
  return failed;
}

static int by_exponent(const void *a, const void *b) {
  return fmpq_cmp(&((const exponential *)a)->exponent, &((const exponential *)b)->exponent);
}

/* rational: the coefficient of e^0; whether all others vanish: 1 or 0. */
static int reduce(fmpq_t rational, exponentials *sum) {
  int vanish = 1;
  fmpq_t total;
  fmpq_init(total);
  fmpq_zero(rational);
  if (sum->count) qsort(sum->terms, (size_t)sum->count, sizeof *sum->terms, by_exponent);
  for (int64_t i = 0; i < sum->count && vanish;) {
    const fmpq *exponent = &sum->terms[i].exponent;
    fmpq_zero(total);
    int64_t first = i;
    for (; i < sum->count && fmpq_equal(&sum->terms[i].exponent, &sum->terms[first].exponent); i++)
      fmpq_add(total, total, &sum->terms[i].coefficient);
    if (fmpq_is_zero(exponent))
      fmpq_set(rational, total);
    else
      vanish = fmpq_is_zero(total);
  }
  fmpq_clear(total);
  return vanish;
}

/* 1: what is left of the row stands in q->sum; 0: the row is no algebraic number; -1: no memory. */
static int add_exponentials(question *q) {
  exponentials sum = {0, 0, NULL};
  if (q->problem->values.scale.sign == 0) return 1;
  fmpq_t rational;
  fmpq_init(rational);
  int failed = push_row(&sum, q);
  int algebraic = failed ? -1 : reduce(rational, &sum);
  surd_score(&q->sum, rational, &q->problem->values.scale);
  fmpq_clear(rational);
  exponentials_clear(&sum);
  return algebraic;
}

/* ---- the decisions --------------------------------------------------------------------------- */

static int ask(question *q) {
  fmpq_t rest;
  int answer = 1;
  surd_init(&q->sum);
  fmpq_init(rest);
  fmpq_set(rest, q->constant);
  if (q->kind.has_normalizer) fmpq_mul(rest, rest, q->problem->values.eps.value);
  if (q->kind.feature == FEATURE_ELU1) {
    answer = add_exponentials(q);
  } else {
    add_keys(q);
    if (add_state(q)) answer = -1;
  }
  fmpq_sub(q->sum.a, q->sum.a, rest);
  if (answer == 1) answer = fmpq_is_zero(q->sum.a) && fmpq_is_zero(q->sum.b);
  surd_clear(&q->sum);
  fmpq_clear(rest);
  return answer;
}

int taylor_normalizer_vanishes(const attest_problem *problem, const problem_slice *slice,
                               int64_t row) {
  fmpq_t minus_one;
  question q = {.problem = problem,
                .slice = slice,
                .kind = taylor_kind_of(problem),
                .row = row,
                .constant = minus_one};
  if (!q.kind.has_normalizer) return 0;
  fmpq_init(minus_one);
  fmpq_set_si(minus_one, -1, 1);
  int answer = ask(&q);
  fmpq_clear(minus_one);
  return answer;
}

/* The elements of a row of the state are rational, or under elu1 rationals and sums of
 * exponentials. */
static int state_zero(question *q) {
  fmpq_t y, x, total;
  exponentials sum = {0, 0, NULL};
  int is_elu1 = q->kind.feature == FEATURE_ELU1, failed = 0;
  taylor_basis *basis = NULL;
  if (q->kind.degree >= 0 && taylor_basis_open(&basis, q->slice->d, q->kind.degree, NULL))
    return -1;
  int64_t tuple[1024], row = q->row, n = q->slice->nk;
  int64_t order = basis ? taylor_basis_tuple(tuple, basis, row) : 1;
  q->kind.has_normalizer = 0; /* of the constant: it stands alone */
  fmpq_init(y);
  fmpq_init(x);
  fmpq_init(total);
  for (int64_t j = 0; j <= n && !failed; j++) {
    const attest_tensor *from = j < n ? &q->slice->v : &q->slice->initial_state;
    if (!from->data) continue;
    fmpq_zero(y);
    for (int i = 0; i < q->n; i++) {
      int64_t c = q->component[i];
      set_double(x, c < from->shape[1] ? taylor_element(from, j < n ? j : row, c) : 1);
      fmpq_addmul(y, x, q->coefficient + i);
    }
    for (int64_t i = 0; i < order && j < n && !is_elu1; i++) {
      set_double(x, feature_at(q, &q->slice->k, j, basis ? tuple[i] : row));
      fmpq_mul(y, y, x);
    }
    decay_by(y, q, j < n ? n - 1 - j : n);
    if (is_elu1 && j < n)
      failed = push_product(&sum, y, taylor_element(&q->slice->k, j, row), 0, 0);
    else
      fmpq_add(total, total, y);
  }
  int answer = failed ? -1 : reduce(x, &sum);
  if (answer == 1) {
    fmpq_add(total, total, x);
    answer = fmpq_equal(total, q->constant);
  }
  exponentials_clear(&sum);
  fmpq_clear(y);
  fmpq_clear(x);
  fmpq_clear(total);
  taylor_basis_close(basis);
  return answer;
}

/* An empty row is zero in every finite element. */
static int empty_zero(const unsigned char *class, int n, const int64_t component[],
                      const fmpq_t constant) {
  for (int i = 0; i < n; i++)
    if (class[component[i]] != EXACT_FINITE) return -1;
  return fmpq_is_zero(constant);
}

int taylor_linear_zero(const attest_problem *problem, const problem_slice *slice, int64_t row,
                       int output, int n, const int64_t component[], const fmpq *coefficient,
                       const fmpq_t constant) {
  question q = {.problem = problem,
                .slice = slice,
                .kind = taylor_kind_of(problem),
                .row = row,
                .n = n,
                .component = component,
                .coefficient = coefficient,
                .constant = constant};
  if (output == OUTPUT_FINAL_STATE) return state_zero(&q);
  double *value = malloc((size_t)(slice->dv + 1) * sizeof *value);
  unsigned char *class = malloc((size_t)slice->dv + 1);
  int answer = -1;
  if (value && class) {
    int kind = taylor_special_row(class, value, problem, slice, row);
    if (kind == 0) answer = empty_zero(class, n, component, constant);
    if (kind > 0) answer = ask(&q);
  }
  free(value);
  free(class);
  return answer;
}
