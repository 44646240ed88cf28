/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fixture_positions.h"

#include <math.h>

static double gaussian(uint64_t *seed) {
  double u = tests_uniform(seed), v = tests_uniform(seed);
  return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}

static void *give(positions *p, int slot, const char *name, attest_dtype dtype, int ndim,
                  const int64_t shape[]) {
  attest_error error;
  attest_tensor t = attest_tensor_of(NULL, dtype, ndim, shape);
  p->memory[slot] = t.data = calloc((size_t)tensor_elements(&t) + 1, tensor_dtype_size(dtype));
  ck_assert_msg(attest_problem_input(p->problem, name, &t, &error) == ATTEST_OK, "%s",
                error.message);
  return p->memory[slot];
}

static void fill(void *data, attest_dtype dtype, int64_t n, double size, int positive,
                 uint64_t *seed) {
  attest_tensor t = attest_tensor_of(data, dtype, 1, &n);
  for (int64_t i = 0; i < n; i++) {
    double x = size * gaussian(seed);
    tensor_store(&t, i, positive ? fabs(x) : x);
  }
}

/* theta_m = 10000^(-2m/d) in double: the weights W_p = R_{-p} of rotary embedding. */
static void rotary_weights(double *w, int64_t n, int64_t d) {
  for (int64_t p = 0; p < 2 * n - 1; p++)
    for (int64_t m = 0; m < d / 2; m++) {
      double angle = (double)(n - 1 - p) * pow(10000, -2.0 * (double)m / (double)d);
      double *at = w + (p * d + 2 * m) * d + 2 * m;
      at[0] = at[d + 1] = cos(angle);
      at[1] = -sin(angle);
      at[d] = sin(angle);
    }
}

static void give_weights(positions *p, const positions_spec *s, uint64_t *seed) {
  int64_t n = s->nq > s->nk ? s->nq : s->nk, d = s->d;
  double *w = give(p, 3, "weights", ATTEST_FLOAT64, 3, (int64_t[]){2 * n - 1, d, d});
  if (s->weights == WEIGHTS_ROTARY) rotary_weights(w, n, d);
  if (s->weights != WEIGHTS_DENSE && s->weights != WEIGHTS_SPARSE) return;
  for (int64_t i = 0; i < (2 * n - 1) * d * d; i++) {
    int64_t a = i / d % d, b = i % d;
    if (s->weights == WEIGHTS_DENSE || (a + 2 * b) % 3 == 0) w[i] = gaussian(seed) / (double)d;
  }
}

void positions_open(positions *p, const positions_spec *s, uint64_t *seed) {
  attest_error error;
  memset(p, 0, sizeof *p);
  p->problem = attest_problem_new(s->kernel, &error);
  ck_assert_msg(p->problem != NULL, "%s", error.message);
  for (int i = 0; s->params[i]; i += 2)
    ck_assert_msg(attest_problem_set(p->problem, s->params[i], s->params[i + 1], &error) ==
                      ATTEST_OK,
                  "%s", error.message);
  void *q = give(p, 0, "q", s->dtype, 3, (int64_t[]){s->heads_q, s->nq, s->d});
  void *k = give(p, 1, "k", s->dtype, 3, (int64_t[]){s->heads_k, s->nk, s->d});
  void *v = give(p, 2, "v", s->dtype, 3, (int64_t[]){s->heads_k, s->nk, s->dv});
  fill(q, s->dtype, s->heads_q * s->nq * s->d, s->size, s->positive, seed);
  fill(k, s->dtype, s->heads_k * s->nk * s->d, s->size, s->positive, seed);
  fill(v, s->dtype, s->heads_k * s->nk * s->dv, 1, 0, seed);
  if (!strcmp(s->kernel, "toeplitz")) give_weights(p, s, seed);
  if (s->mask) {
    unsigned char *mask = give(p, 4, "mask", ATTEST_BOOL, 2, (int64_t[]){s->nq, s->nk});
    for (int64_t i = 0; i < s->nq * s->nk; i++)
      mask[i] = tests_random(seed) % 4 != 0;
  }
  if (s->coefficients) {
    /* About those of exp, the odd ones of either sign. */
    double *c = give(p, 6, "coefficients", ATTEST_FLOAT64, 1, &s->coefficients), factorial = 1;
    for (int64_t t = 0; t < s->coefficients; t++, factorial *= (double)t)
      c[t] = (1 + tests_uniform(seed) / 8) / factorial * (t % 2 && tests_random(seed) % 2 ? -1 : 1);
  }
  ck_assert_msg(problem_resolve(p->problem, &error) == ATTEST_OK, "%s", error.message);
}

void positions_close(positions *p) {
  attest_problem_free(p->problem);
  for (int i = 0; i < 7; i++)
    free(p->memory[i]);
}

void positions_draw(positions_spec *s, const char *kernel, uint64_t *seed) {
  static const char *const bases[] = {"10000", "500000", "2", "sqrt(10)", "1"};
  static const char *const scales[] = {"1/8", "-0.5", "sqrt(1/3)", "2"};
  static const int64_t sizes[] = {2, 4, 6, 8, 16};
  uint64_t draw = tests_random(seed);
  int linear = !strcmp(kernel, "rope-linear"), n = 0;
  memset(s, 0, sizeof *s);
  s->kernel = kernel;
  s->heads_k = 1;
  s->heads_q = 1 + (int64_t)(draw % 2);
  s->nq = 1 + (int64_t)(tests_random(seed) % 30);
  s->nk = 1 + (int64_t)(tests_random(seed) % 40);
  s->d = sizes[tests_random(seed) % 5];
  s->dv = 1 + (int64_t)(tests_random(seed) % 9);
  s->dtype = draw >> 1 & 1 ? ATTEST_FLOAT64 : ATTEST_FLOAT32;
  static const double magnitudes[] = {0.3, 2, 2, 0.3, 1, 25, 1e-25, 0.01};
  s->size = magnitudes[draw >> 20 & 7];
  s->positive = linear && draw >> 3 & 1;
  s->mask = (draw >> 4 & 3) == 0;
  s->weights = (positions_weights)(draw >> 6 & 3);
  if (strcmp(kernel, "rope-softmax") != 0 && draw >> 23 & 1)
    s->coefficients = 1 + (int64_t)(draw >> 24 & 7);
  if (s->weights == WEIGHTS_ROTARY && s->d % 2) s->weights = WEIGHTS_DENSE;
#define PARAM(name, value) (s->params[n++] = name, s->params[n++] = value)
  if (draw >> 8 & 1) PARAM("scale", scales[draw >> 9 & 3]);
  if (draw >> 11 & 1) PARAM("causal", draw >> 12 & 1 ? "top-left" : "bottom-right");
  if ((draw >> 13 & 3) == 0) PARAM("window", "5,3");
  if (strcmp(kernel, "toeplitz") != 0) {
    PARAM("rope-base", bases[tests_random(seed) % 5]);
    PARAM("rope-pairs", draw >> 15 & 1 ? "half" : "interleaved");
  }
  if (!linear && (draw >> 16 & 3) == 0) PARAM("temperature", "0.7");
  if (linear && (draw >> 16 & 3) == 0) PARAM("normalize", "none");
  if (linear && (draw >> 18 & 3) == 0) PARAM("eps", "1/10");
#undef PARAM
}

void positions_run(positions *p, attest_dtype dtype) {
  attest_error error;
  int ndim;
  int64_t shape[ATTEST_MAX_DIMS];
  const problem_room *room = certify_room(p->problem->kernel->name);
  problem_output_shape(&ndim, shape, p->problem, OUTPUT_OUT);
  attest_tensor out = attest_tensor_of(NULL, dtype, ndim, shape);
  free(p->memory[5]);
  p->memory[5] = out.data = calloc((size_t)tensor_elements(&out) + 1, tensor_dtype_size(dtype));
  ck_assert_msg(room->kernel(&out, NULL, p->problem, &error) == ATTEST_OK, "%s", error.message);
  ck_assert_int_eq(attest_problem_output(p->problem, "out", &out, &error), ATTEST_OK);
  ck_assert_msg(problem_resolve(p->problem, &error) == ATTEST_OK, "%s", error.message);
}

/* ---- direct sums ---- */

static double element(const attest_tensor *t, int64_t row, int64_t column) {
  return tensor_at(t, row * t->stride[0] + column * t->stride[1]);
}

static void real_ball(arb_t x, const problem_real *real, slong prec) {
  arb_set_fmpq(x, real->value, prec);
  if (real->root) arb_sqrt(x, x, prec);
  if (real->sign < 0) arb_neg(x, x);
}

/* form += q^T R(angle) k for one pair, size += 2 |q| |k|. */
static void add_pair(arb_t form, arb_t size, double qa, double qb, double ka, double kb,
                     const arb_t angle, slong prec) {
  arb_ptr w = _arb_vec_init(5);
  arb_sin_cos(w, w + 1, angle, prec);
  arb_set_d(w + 2, ka);
  arb_set_d(w + 3, kb);
  arb_mul(w + 4, w + 2, w + 1, prec); /* ka c - kb s */
  arb_submul(w + 4, w + 3, w, prec);
  arb_mul(w + 2, w + 2, w, prec); /* ka s + kb c */
  arb_addmul(w + 2, w + 3, w + 1, prec);
  arb_set_d(w, qa);
  arb_addmul(form, w, w + 4, prec);
  arb_set_d(w, qb);
  arb_addmul(form, w, w + 2, prec);
  arb_set_d(w, ka);
  arb_mul(w, w, w, prec);
  arb_set_d(w + 1, kb);
  arb_addmul(w, w + 1, w + 1, prec);
  arb_set_d(w + 1, qa);
  arb_mul(w + 1, w + 1, w + 1, prec);
  arb_set_d(w + 2, qb);
  arb_addmul(w + 1, w + 2, w + 2, prec);
  arb_mul(w, w, w + 1, prec);
  arb_sqrt(w, w, prec);
  arb_mul_2exp_si(w, w, 1);
  arb_add(size, size, w, prec);
  _arb_vec_clear(w, 5);
}

/* theta_m = exp(-2m/d log base). */
static void rotary_form(arb_t form, arb_t size, const attest_problem *problem,
                        const problem_slice *slice, int64_t row, int64_t j, slong prec) {
  int half = problem->values.rope_pairs == ROPE_HALF;
  int64_t d = slice->d;
  arb_t angle;
  arb_init(angle);
  for (int64_t m = 0; m < d / 2; m++) {
    int64_t a = half ? m : 2 * m, b = half ? m + d / 2 : 2 * m + 1;
    real_ball(angle, &problem->values.rope_base, prec);
    arb_log(angle, angle, prec);
    arb_mul_si(angle, angle, -2 * m, prec);
    arb_div_si(angle, angle, d, prec);
    arb_exp(angle, angle, prec);
    arb_mul_si(angle, angle, j - (row + slice->offset), prec);
    add_pair(form, size, element(&slice->q, row, a), element(&slice->q, row, b),
             element(&slice->k, j, a), element(&slice->k, j, b), angle, prec);
  }
  arb_clear(angle);
}

static void weighted_form(arb_t form, arb_t size, const attest_problem *problem,
                          const problem_slice *slice, int64_t row, int64_t j, slong prec) {
  const attest_tensor *w = &problem->input[INPUT_WEIGHTS];
  int64_t at = row + slice->offset - j + w->shape[0] / 2;
  arb_t x, y;
  arb_init(x);
  arb_init(y);
  for (int64_t a = 0; a < slice->d; a++)
    for (int64_t b = 0; b < slice->d; b++) {
      arb_set_d(x, element(&slice->q, row, a));
      arb_set_d(y, tensor_at(w, (at * slice->d + a) * slice->d + b));
      arb_mul(x, x, y, prec);
      arb_set_d(y, element(&slice->k, j, b));
      arb_mul(x, x, y, prec);
      arb_add(form, form, x, prec);
      arb_abs(x, x);
      arb_add(size, size, x, prec);
    }
  arb_clear(x);
  arb_clear(y);
}

/* Scores and absolute scores of all keys; hidden ones are left out: the count. */
static int64_t dense_scores(arb_ptr score, arb_ptr t, int64_t *key, const attest_problem *problem,
                            const problem_slice *slice, int64_t row, slong prec) {
  arb_t factor, temperature;
  int64_t n = 0;
  arb_init(factor);
  arb_init(temperature);
  real_ball(factor, &problem->values.scale, prec);
  real_ball(temperature, &problem->values.temperature, prec);
  arb_div(factor, factor, temperature, prec);
  for (int64_t j = 0; j < slice->nk; j++) {
    if (!problem_visible(problem, slice, row, j)) continue;
    (problem->pairing == PAIRING_ROTARY ? rotary_form : weighted_form)(score + n, t + n, problem,
                                                                       slice, row, j, prec);
    arb_mul(score + n, score + n, factor, prec);
    arb_mul(t + n, t + n, factor, prec);
    arb_abs(t + n, t + n);
    key[n++] = j;
  }
  arb_clear(factor);
  arb_clear(temperature);
  return n;
}

/* p(w) by its definition, and h = |p'(w)| t + sum |c_i w^i|. */
static void polynomial(arb_t w, arb_t t, const attest_tensor *c, slong prec) {
  arb_ptr x = _arb_vec_init(5);
  arb_ptr value = x, slope = x + 1, size = x + 2, power = x + 3, term = x + 4;
  arb_one(power);
  for (int64_t i = 0; i < c->shape[0]; i++) {
    double number = tensor_at(c, i);
    arb_set_d(term, number);
    arb_mul(term, term, power, prec);
    arb_add(value, value, term, prec);
    arb_abs(term, term);
    arb_add(size, size, term, prec);
    if (i + 1 < c->shape[0]) {
      arb_set_d(term, tensor_at(c, i + 1));
      arb_mul(term, term, power, prec);
      arb_mul_si(term, term, i + 1, prec);
      arb_add(slope, slope, term, prec);
    }
    arb_mul(power, power, w, prec);
  }
  arb_abs(slope, slope);
  arb_mul(t, t, slope, prec);
  arb_add(t, t, size, prec);
  arb_swap(w, value);
  _arb_vec_clear(x, 5);
}

void positions_dense(arb_ptr x, arb_ptr a, arb_ptr s, const attest_problem *problem,
                     const problem_slice *slice, int64_t row, slong prec) {
  int64_t nk = slice->nk;
  const attest_tensor *c_of = &problem->input[INPUT_COEFFICIENTS];
  int linear = !strcmp(problem->kernel->name, "rope-linear");
  int divides = problem->values.normalize == NORMALIZE_SUM;
  arb_ptr w = _arb_vec_init(2 * nk + 3);
  arb_ptr t = w + nk, total = t + nk, v = total + 1, term = v + 1;
  int64_t *key = calloc((size_t)nk + 1, sizeof *key);
  int64_t n = dense_scores(w, t, key, problem, slice, row, prec);
  if (linear && divides) real_ball(total, &problem->values.eps, prec);
  for (int64_t i = 0; i < n; i++) {
    if (c_of->data) {
      polynomial(w + i, t + i, c_of, prec);
    } else if (!linear) {
      arb_exp(w + i, w + i, prec);
      arb_mul(t + i, t + i, w + i, prec);
    }
    if (divides) arb_add(total, total, w + i, prec);
  }
  if (!divides) arb_one(total);
  for (int64_t c = 0; c < slice->dv; c++) {
    arb_zero(x + c);
    arb_zero(a + c);
    arb_zero(s + c);
    for (int64_t i = 0; i < n; i++) {
      arb_set_d(v, element(&slice->v, key[i], c));
      arb_mul(term, w + i, v, prec);
      arb_add(x + c, x + c, term, prec);
      arb_abs(term, term);
      arb_add(a + c, a + c, term, prec);
    }
    arb_div(x + c, x + c, total, prec);
    for (int64_t i = 0; i < n; i++) {
      arb_set_d(v, element(&slice->v, key[i], c));
      if (divides) arb_sub(v, v, x + c, prec);
      arb_abs(v, v);
      arb_addmul(s + c, v, t + i, prec);
    }
    arb_abs(term, total);
    arb_div(a + c, a + c, term, prec);
    arb_div(s + c, s + c, term, prec);
  }
  free(key);
  _arb_vec_clear(w, 2 * nk + 3);
}

/* ---- verdicts ---- */

attest_verdict positions_verdict(const positions *p, const char *text) {
  attest_error error;
  certify_bounds bounds = {0, NULL};
  certify_options options = {.name = "test"};
  certify_case result;
  const attest_tensor *out = &p->problem->output[OUTPUT_OUT];
  room_machine machine = certify_room(p->problem->kernel->name)->machine(out->dtype);
  certify_subject subject = {"kernel", p->problem, &bounds, &machine, NULL};
  char *copy = strdup(text), *rest = copy, *one;
  while ((one = strsep(&rest, " ")))
    ck_assert_msg(certify_bounds_add(&bounds, one, &error) == ATTEST_OK, "%s", error.message);
  free(copy);
  ck_assert_msg(certify_run(&result, &subject, 1, &options, &error) == ATTEST_OK, "%s",
                error.message);
  attest_verdict verdict = certify_case_verdict(&result);
  certify_case_clear(&result);
  certify_bounds_clear(&bounds);
  return verdict;
}
