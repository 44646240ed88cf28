/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The MPFR oracle: every kernel from its definition, at 640 bits, key by key. */
#include <math.h>

#include "fixture_oracle.h"

/* Whatever the operations lose of 640 bits, it is less than what separates them from these, in
 * units of the conditioning of the quotient. */
enum { BITS = 640, SAFE = 300 };

typedef struct {
  const oracle_row *row;
  mpfr_t *score, *weight; /* one a key */
  mpfr_t t, u, w;         /* scratch */
} sums;

static void set_real(mpfr_t x, const problem_real *real) {
  mpq_t q;
  mpq_init(q);
  fmpq_get_mpq(q, real->value);
  mpfr_set_q(x, q, MPFR_RNDN);
  mpq_clear(q);
  if (real->root) mpfr_sqrt(x, x, MPFR_RNDN);
  if (real->sign < 0) mpfr_neg(x, x, MPFR_RNDN);
}

/* ---- scores ---- */

static void add_product(mpfr_t sum, double a, double b, mpfr_t t) {
  mpfr_set_d(t, a, MPFR_RNDN);
  mpfr_mul_d(t, t, b, MPFR_RNDN);
  mpfr_add(sum, sum, t, MPFR_RNDN);
}

static void dot(mpfr_t form, sums *s, int64_t j) {
  const problem_slice *slice = s->row->slice;
  for (int64_t a = 0; a < slice->d; a++)
    add_product(form, oracle_element(&slice->q, s->row->row, a), oracle_element(&slice->k, j, a),
                s->t);
}

/* q^T R(angle) k for every pair, angle = (j - i') base^(-2m/d). */
static void rotary(mpfr_t form, sums *s, int64_t j) {
  const problem_slice *slice = s->row->slice;
  const problem_values *values = &s->row->problem->values;
  int64_t half = slice->d / 2;
  mpfr_t c, sn;
  mpfr_inits2(BITS, c, sn, NULL);
  for (int64_t m = 0; m < half; m++) {
    int interleaved = values->rope_pairs == ROPE_INTERLEAVED;
    int64_t one = interleaved ? 2 * m : m, two = interleaved ? 2 * m + 1 : m + half;
    double q[2] = {oracle_element(&slice->q, s->row->row, one),
                   oracle_element(&slice->q, s->row->row, two)};
    double k[2] = {oracle_element(&slice->k, j, one), oracle_element(&slice->k, j, two)};
    set_real(s->t, &values->rope_base);
    mpfr_set_si(s->u, -2 * m, MPFR_RNDN);
    mpfr_div_si(s->u, s->u, slice->d, MPFR_RNDN);
    mpfr_pow(s->t, s->t, s->u, MPFR_RNDN);
    mpfr_mul_si(s->t, s->t, j - s->row->at, MPFR_RNDN);
    mpfr_sin_cos(sn, c, s->t, MPFR_RNDN);
    mpfr_set_zero(s->u, 1);
    add_product(s->u, q[0], k[0], s->t);
    add_product(s->u, q[1], k[1], s->t);
    mpfr_mul(s->u, s->u, c, MPFR_RNDN);
    mpfr_add(form, form, s->u, MPFR_RNDN);
    mpfr_set_zero(s->u, 1);
    add_product(s->u, q[1], k[0], s->t);
    add_product(s->u, -q[0], k[1], s->t);
    mpfr_mul(s->u, s->u, sn, MPFR_RNDN);
    mpfr_add(form, form, s->u, MPFR_RNDN);
  }
  mpfr_clears(c, sn, NULL);
}

static void weighted(mpfr_t form, sums *s, int64_t j) {
  const problem_slice *slice = s->row->slice;
  const attest_tensor *w = &s->row->problem->input[INPUT_WEIGHTS];
  int64_t p = s->row->at - j + (w->shape[0] - 1) / 2;
  for (int64_t a = 0; a < slice->d; a++)
    for (int64_t b = 0; b < slice->d; b++) {
      mpfr_set_d(s->u, tensor_at(w, p * w->stride[0] + a * w->stride[1] + b * w->stride[2]),
                 MPFR_RNDN);
      mpfr_mul_d(s->u, s->u, oracle_element(&slice->q, s->row->row, a), MPFR_RNDN);
      mpfr_mul_d(s->u, s->u, oracle_element(&slice->k, j, b), MPFR_RNDN);
      mpfr_add(form, form, s->u, MPFR_RNDN);
    }
}

/* [softcap(scale form) + bias + slope (j - i')] / temperature. */
static void score_of(mpfr_t score, sums *s, int64_t j) {
  const problem_slice *slice = s->row->slice;
  const problem_values *values = &s->row->problem->values;
  mpfr_set_zero(score, 1);
  if (strstr(s->row->problem->kernel->name, "rope"))
    rotary(score, s, j);
  else if (oracle_is(s->row, "toeplitz"))
    weighted(score, s, j);
  else
    dot(score, s, j);
  set_real(s->t, &values->scale);
  mpfr_mul(score, score, s->t, MPFR_RNDN);
  if (values->has_softcap) {
    set_real(s->t, &values->softcap);
    mpfr_div(score, score, s->t, MPFR_RNDN);
    mpfr_tanh(score, score, MPFR_RNDN);
    mpfr_mul(score, score, s->t, MPFR_RNDN);
  }
  if (slice->bias.data)
    mpfr_add_d(score, score, oracle_element(&slice->bias, s->row->row, j), MPFR_RNDN);
  if (slice->has_slope) add_product(score, slice->slope, (double)(j - s->row->at), s->t);
  set_real(s->t, &values->temperature);
  mpfr_div(score, score, s->t, MPFR_RNDN);
}

/* |q - k|^2. */
static void distance_of(mpfr_t distance, sums *s, int64_t j) {
  const problem_slice *slice = s->row->slice;
  mpfr_set_zero(distance, 1);
  for (int64_t a = 0; a < slice->d; a++) {
    mpfr_set_d(s->t, oracle_element(&slice->q, s->row->row, a), MPFR_RNDN);
    mpfr_sub_d(s->t, s->t, oracle_element(&slice->k, j, a), MPFR_RNDN);
    mpfr_sqr(s->t, s->t, MPFR_RNDN);
    mpfr_add(distance, distance, s->t, MPFR_RNDN);
  }
}

/* ---- weights ---- */

static void largest(mpfr_t m, const sums *s) {
  mpfr_set(m, s->score[0], MPFR_RNDN);
  for (int64_t i = 1; i < s->row->count; i++)
    mpfr_max(m, m, s->score[i], MPFR_RNDN);
}

static void exponentials(sums *s) {
  largest(s->w, s);
  for (int64_t i = 0; i < s->row->count; i++) {
    mpfr_sub(s->weight[i], s->score[i], s->w, MPFR_RNDN);
    mpfr_exp(s->weight[i], s->weight[i], MPFR_RNDN);
  }
}

/* Saturated caps differ by less than any precision here tells. */
static int is_clear(sums *s, int64_t i, int64_t j) {
  if (!s->row->problem->values.has_softcap) return 1;
  mpfr_sub(s->t, s->score[i], s->score[j], MPFR_RNDN);
  return !mpfr_zero_p(s->t) && mpfr_get_exp(s->t) > -SAFE;
}

/* Weights of keys beyond the k largest scores become 0; 0 where these are not clear. */
static int keep_largest(sums *s) {
  const problem_values *values = &s->row->problem->values;
  int64_t n = s->row->count;
  int clear = 1;
  for (int64_t i = 0; i < n; i++) {
    int64_t before = 0;
    for (int64_t j = 0; j < n; j++) {
      int c = mpfr_cmp(s->score[j], s->score[i]);
      before += c > 0 || (c == 0 && (values->ties == TIES_HIGHEST ? j > i : j < i));
    }
    if (before >= values->topk) mpfr_set_zero(s->weight[i], 1);
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      if (!mpfr_zero_p(s->weight[i]) && mpfr_zero_p(s->weight[j])) clear &= is_clear(s, i, j);
  return clear;
}

/* [1 - distance/h^2]_+^power, or 1 within the bandwidth for power 0. */
static void estimates(sums *s, unsigned long power) {
  set_real(s->w, &s->row->problem->values.bandwidth);
  mpfr_sqr(s->w, s->w, MPFR_RNDN);
  for (int64_t i = 0; i < s->row->count; i++) {
    mpfr_div(s->t, s->score[i], s->w, MPFR_RNDN);
    mpfr_ui_sub(s->t, 1, s->t, MPFR_RNDN);
    if (mpfr_sgn(s->t) < 0)
      mpfr_set_zero(s->weight[i], 1);
    else
      mpfr_pow_ui(s->weight[i], s->t, power, MPFR_RNDN);
  }
}

/* [offset + factor (score - from)]_+. */
static void rectified(sums *s, const mpfr_t offset, const mpfr_t factor, const mpfr_t from) {
  for (int64_t i = 0; i < s->row->count; i++) {
    mpfr_sub(s->weight[i], s->score[i], from, MPFR_RNDN);
    mpfr_mul(s->weight[i], s->weight[i], factor, MPFR_RNDN);
    mpfr_add(s->weight[i], s->weight[i], offset, MPFR_RNDN);
    if (mpfr_sgn(s->weight[i]) < 0) mpfr_set_zero(s->weight[i], 1);
  }
}

static void rectifiers(sums *s) {
  const problem_values *values = &s->row->problem->values;
  mpfr_t offset, factor, from;
  mpfr_inits2(BITS, offset, factor, from, NULL);
  set_real(factor, &values->bandwidth);
  mpfr_sqr(factor, factor, MPFR_RNDN);
  mpfr_ui_div(factor, 1, factor, MPFR_RNDN);
  if (oracle_is(s->row, "relumax")) { /* b + (s - max)/h^2 */
    set_real(offset, &values->margin);
    largest(from, s);
  } else { /* 1 + 2 (s - 1)/h^2 */
    mpfr_set_ui(offset, 1, MPFR_RNDN);
    mpfr_mul_ui(factor, factor, 2, MPFR_RNDN);
    mpfr_set_ui(from, 1, MPFR_RNDN);
  }
  rectified(s, offset, factor, from);
  mpfr_clears(offset, factor, from, NULL);
}

/* Weights at a threshold, and sum - 1 with its derivative. */
static void at_threshold(sums *s, mpfr_t rest, mpfr_t slope, const mpfr_t tau, const mpfr_t r) {
  mpfr_set_si(rest, -1, MPFR_RNDN);
  mpfr_set_zero(slope, 1);
  for (int64_t i = 0; i < s->row->count; i++) {
    mpfr_sub(s->t, s->score[i], tau, MPFR_RNDN);
    mpfr_set_zero(s->weight[i], 1);
    if (mpfr_sgn(s->t) <= 0) continue;
    mpfr_pow(s->weight[i], s->t, r, MPFR_RNDN);
    mpfr_add(rest, rest, s->weight[i], MPFR_RNDN);
    mpfr_mul(s->u, s->weight[i], r, MPFR_RNDN);
    mpfr_div(s->u, s->u, s->t, MPFR_RNDN);
    mpfr_sub(slope, slope, s->u, MPFR_RNDN);
  }
}

/* [(alpha-1) z - tau]_+^(1/(alpha-1)) of sum 1; tau in [max - 1, max]: Newton's method, halving
 * where it leaves the bracket. */
static void threshold(sums *s, const mpfr_t alpha) {
  mpfr_t lo, hi, tau, next, rest, slope, r;
  mpfr_inits2(BITS, lo, hi, tau, next, rest, slope, r, NULL);
  mpfr_sub_ui(r, alpha, 1, MPFR_RNDN);
  for (int64_t i = 0; i < s->row->count; i++)
    mpfr_mul(s->score[i], s->score[i], r, MPFR_RNDN);
  mpfr_ui_div(r, 1, r, MPFR_RNDN);
  largest(hi, s);
  mpfr_sub_ui(lo, hi, 1, MPFR_RNDN);
  mpfr_set(tau, lo, MPFR_RNDN);
  for (int step = 0; step < 4 * BITS; step++) {
    at_threshold(s, rest, slope, tau, r);
    if (mpfr_zero_p(rest)) break;
    mpfr_set(mpfr_sgn(rest) > 0 ? lo : hi, tau, MPFR_RNDN);
    mpfr_div(next, rest, slope, MPFR_RNDN);
    mpfr_sub(next, tau, next, MPFR_RNDN);
    if (!(mpfr_cmp(next, lo) > 0 && mpfr_cmp(next, hi) < 0)) {
      mpfr_add(next, lo, hi, MPFR_RNDN);
      mpfr_div_2ui(next, next, 1, MPFR_RNDN);
    }
    if (mpfr_equal_p(next, tau) || mpfr_equal_p(next, lo) || mpfr_equal_p(next, hi)) break;
    mpfr_set(tau, next, MPFR_RNDN);
  }
  mpfr_clears(lo, hi, tau, next, rest, slope, r, NULL);
}

static void entmax(sums *s) {
  mpfr_t alpha;
  mpfr_init2(alpha, BITS);
  if (oracle_is(s->row, "sparsemax"))
    mpfr_set_ui(alpha, 2, MPFR_RNDN);
  else
    set_real(alpha, &s->row->problem->values.alpha);
  if (mpfr_cmp_ui(alpha, 1) == 0)
    exponentials(s);
  else
    threshold(s, alpha);
  mpfr_clear(alpha);
}

/* y = sum c_m x^m for m = n .. 0, c_m given by `coefficient`; NULL: 1/m!. */
static void polynomial(mpfr_t y, const mpfr_t x, int64_t n, const double *coefficient, mpfr_t t) {
  mpfr_set_zero(y, 1);
  for (int64_t m = n; m >= 0; m--) {
    mpfr_mul(y, y, x, MPFR_RNDN);
    mpfr_set_ui(t, 1, MPFR_RNDN);
    if (coefficient)
      mpfr_set_d(t, coefficient[m], MPFR_RNDN);
    else
      for (int64_t i = 2; i <= m; i++)
        mpfr_div_si(t, t, i, MPFR_RNDN);
    mpfr_add(y, y, t, MPFR_RNDN);
  }
}

/* f of one element. */
static void feature(mpfr_t y, problem_feature f, double x) {
  mpfr_set_d(y, x, MPFR_RNDN);
  if (f == FEATURE_RELU && x < 0) mpfr_set_zero(y, 1);
  if (f == FEATURE_ELU1 && x >= 0) mpfr_add_ui(y, y, 1, MPFR_RNDN);
  if (f == FEATURE_ELU1 && x < 0) mpfr_exp(y, y, MPFR_RNDN);
}

/* scale f(q).f(k) */
static void linear_score(mpfr_t y, sums *s, int64_t j) {
  const problem_slice *slice = s->row->slice;
  const problem_values *values = &s->row->problem->values;
  mpfr_set_zero(y, 1);
  for (int64_t a = 0; a < slice->d; a++) {
    feature(s->t, values->feature, oracle_element(&slice->q, s->row->row, a));
    feature(s->u, values->feature, oracle_element(&slice->k, j, a));
    mpfr_mul(s->t, s->t, s->u, MPFR_RNDN);
    mpfr_add(y, y, s->t, MPFR_RNDN);
  }
  set_real(s->t, &values->scale);
  mpfr_mul(y, y, s->t, MPFR_RNDN);
}

/* decay^(i'-j) times T_P of the score, or the score itself. */
static void taylor(sums *s) {
  const problem_values *values = &s->row->problem->values;
  int is_linear = oracle_is(s->row, "linear") && values->feature != FEATURE_TAYLOR;
  for (int64_t i = 0; i < s->row->count; i++) {
    int64_t j = s->row->key[i];
    if (is_linear)
      linear_score(s->weight[i], s, j);
    else
      polynomial(s->weight[i], s->score[i], values->degree, NULL, s->t);
    set_real(s->t, &values->decay);
    if (mpfr_cmp_ui(s->t, 1) == 0) continue;
    mpfr_pow_si(s->t, s->t, s->row->at - j, MPFR_RNDN);
    mpfr_mul(s->weight[i], s->weight[i], s->t, MPFR_RNDN);
  }
}

/* A polynomial of the score for exp, or for the score. */
static int has_coefficients(sums *s) {
  const attest_tensor *c = &s->row->problem->input[INPUT_COEFFICIENTS];
  if (!c->data) return 0;
  double values[PROBLEM_COEFFICIENTS_MAX];
  for (int64_t i = 0; i < c->shape[0]; i++)
    values[i] = tensor_at(c, i * c->stride[0]);
  for (int64_t i = 0; i < s->row->count; i++)
    polynomial(s->weight[i], s->score[i], c->shape[0] - 1, values, s->t);
  return 1;
}

static void gaussian(sums *s) {
  set_real(s->w, &s->row->problem->values.bandwidth);
  mpfr_sqr(s->w, s->w, MPFR_RNDN);
  mpfr_mul_si(s->w, s->w, -2, MPFR_RNDN);
  for (int64_t i = 0; i < s->row->count; i++)
    mpfr_div(s->score[i], s->score[i], s->w, MPFR_RNDN);
  exponentials(s);
}

/* 0 where the weights are not clear. */
static int weigh(sums *s) {
  const char *kernel = s->row->problem->kernel->name;
  static const char *const powers[] = {"uniform", "epanechnikov", "biweight", "triweight"};
  for (unsigned long power = 0; power < 4; power++)
    if (!strcmp(kernel, powers[power])) estimates(s, power);
  if (!strcmp(kernel, "softmax") || !strcmp(kernel, "rope-softmax")) exponentials(s);
  if (!strcmp(kernel, "toeplitz") && !has_coefficients(s)) exponentials(s);
  if (!strcmp(kernel, "rope-linear") && !has_coefficients(s))
    for (int64_t i = 0; i < s->row->count; i++)
      mpfr_set(s->weight[i], s->score[i], MPFR_RNDN);
  if (!strcmp(kernel, "gaussian")) gaussian(s);
  if (!strcmp(kernel, "sparsemax") || !strcmp(kernel, "entmax")) entmax(s);
  if (!strcmp(kernel, "normrelu") || !strcmp(kernel, "relumax")) rectifiers(s);
  if (!strcmp(kernel, "taylor") || !strcmp(kernel, "linear")) taylor(s);
  if (!strcmp(kernel, "topk-softmax")) exponentials(s);
  if (!strcmp(kernel, "topk-uniform"))
    for (int64_t i = 0; i < s->row->count; i++)
      mpfr_set_ui(s->weight[i], 1, MPFR_RNDN);
  return strncmp(kernel, "topk", 4) != 0 || keep_largest(s);
}

/* ---- the row ---- */

/* The normaliser and the sum of absolute values of its terms. */
static void normalizer(mpfr_t total, mpfr_t size, sums *s) {
  const problem_values *values = &s->row->problem->values;
  mpfr_set_zero(total, 1);
  mpfr_set_zero(size, 1);
  for (int64_t i = 0; i < s->row->count; i++) {
    mpfr_add(total, total, s->weight[i], MPFR_RNDN);
    mpfr_abs(s->t, s->weight[i], MPFR_RNDN);
    mpfr_add(size, size, s->t, MPFR_RNDN);
  }
  if (s->row->slice->has_sink) { /* as one more exponential beside the largest score */
    set_real(s->t, &values->temperature);
    mpfr_d_div(s->t, s->row->slice->sink, s->t, MPFR_RNDN);
    largest(s->w, s);
    mpfr_sub(s->t, s->t, s->w, MPFR_RNDN);
    mpfr_exp(s->t, s->t, MPFR_RNDN);
    mpfr_add(total, total, s->t, MPFR_RNDN);
    mpfr_add(size, size, s->t, MPFR_RNDN);
  }
  set_real(s->t, &values->eps);
  mpfr_add(total, total, s->t, MPFR_RNDN);
  mpfr_add(size, size, s->t, MPFR_RNDN);
}

/* Component c: the sum of weights times values in *value, of absolute values in *size. */
static void component(mpfr_t value, mpfr_t size, sums *s, int64_t c) {
  mpfr_set_zero(value, 1);
  mpfr_set_zero(size, 1);
  for (int64_t i = 0; i < s->row->count; i++) {
    mpfr_mul_d(s->t, s->weight[i], oracle_element(&s->row->slice->v, s->row->key[i], c), MPFR_RNDN);
    mpfr_add(value, value, s->t, MPFR_RNDN);
    mpfr_abs(s->t, s->t, MPFR_RNDN);
    mpfr_add(size, size, s->t, MPFR_RNDN);
  }
}

static void to_ball(arb_t x, const mpfr_t value, const mpfr_t size) {
  arf_t radius;
  arf_init(radius);
  arf_set_mpfr(arb_midref(x), value);
  arf_set_mpfr(radius, size);
  arf_mul_2exp_si(radius, radius, -SAFE);
  arf_get_mag(arb_radref(x), radius);
  arf_clear(radius);
}

/* 0 where no weight is left to divide by. */
static int divide(arb_ptr x, sums *s) {
  int normalized = s->row->problem->values.normalize == NORMALIZE_SUM, answered = 1;
  mpfr_t total, all, value, size;
  mpfr_inits2(BITS, total, all, value, size, NULL);
  normalizer(total, all, s);
  /* |total| that is left of much larger terms is not told from 0 here. */
  mpfr_abs(s->t, total, MPFR_RNDN);
  mpfr_mul_2ui(s->t, s->t, SAFE, MPFR_RNDN);
  if (normalized) answered = mpfr_cmp(s->t, all) > 0;
  if (normalized) mpfr_div(all, all, total, MPFR_RNDN);
  for (int64_t c = 0; answered && c < s->row->slice->dv; c++) {
    component(value, size, s, c);
    if (normalized) {
      mpfr_div(value, value, total, MPFR_RNDN);
      mpfr_div(size, size, total, MPFR_RNDN);
      mpfr_mul(size, size, all, MPFR_RNDN);
    }
    mpfr_abs(size, size, MPFR_RNDN);
    to_ball(x + c, value, size);
  }
  mpfr_clears(total, all, value, size, NULL);
  return answered;
}

int oracle_mpfr(arb_ptr x, const oracle_row *row) {
  if (!row->count || row->slice->initial_state.data) return 0;
  int is_distance =
      !problem_kernel_takes(row->problem->kernel, problem_param_find("bias", NULL)) &&
      problem_kernel_takes(row->problem->kernel, problem_param_find("bandwidth", NULL));
  sums s = {.row = row};
  mpfr_inits2(BITS, s.t, s.u, s.w, NULL);
  s.score = calloc((size_t)(2 * row->count), sizeof *s.score);
  s.weight = s.score + row->count;
  for (int64_t i = 0; i < 2 * row->count; i++)
    mpfr_init2(s.score[i], BITS);
  for (int64_t i = 0; i < row->count; i++)
    (is_distance ? distance_of : score_of)(s.score[i], &s, row->key[i]);
  int answered = weigh(&s) && divide(x, &s);
  for (int64_t i = 0; i < 2 * row->count; i++)
    mpfr_clear(s.score[i]);
  free(s.score);
  mpfr_clears(s.t, s.u, s.w, NULL);
  return answered;
}
