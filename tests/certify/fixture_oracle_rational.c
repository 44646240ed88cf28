/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rational oracle: GMP's fractions, no rounding anywhere, for kernels and parameters whose
 * weights are rational. */
#include "fixture_oracle.h"

typedef struct {
  const oracle_row *row;
  mpq_t *score, *weight; /* one a key */
  mpq_t t, u;            /* scratch */
} sums;

/* 0 where it is no rational number. */
static int set_real(mpq_t x, const problem_real *real) {
  fmpq_get_mpq(x, real->value);
  if (real->sign < 0) mpq_neg(x, x);
  return !real->root;
}

static void set_square(mpq_t x, const problem_real *real) {
  if (set_real(x, real)) mpq_mul(x, x, x);
}

static double feature(problem_feature f, double x) {
  return f == FEATURE_RELU && x < 0 ? 0 : x;
}

/* sum f(q_a) f(k_a), or |q - k|^2. */
static void form_of(mpq_t form, sums *s, int64_t j, int is_distance, problem_feature f) {
  const problem_slice *slice = s->row->slice;
  mpq_set_ui(form, 0, 1);
  for (int64_t a = 0; a < slice->d; a++) {
    mpq_set_d(s->t, feature(f, oracle_element(&slice->q, s->row->row, a)));
    mpq_set_d(s->u, feature(f, oracle_element(&slice->k, j, a)));
    if (is_distance) mpq_sub(s->t, s->t, s->u);
    mpq_mul(s->t, s->t, is_distance ? s->t : s->u);
    mpq_add(form, form, s->t);
  }
}

static int score_of(mpq_t score, sums *s, int64_t j) {
  const problem_slice *slice = s->row->slice;
  const problem_values *values = &s->row->problem->values;
  int linear = oracle_is(s->row, "linear");
  if (values->has_softcap || (linear && values->feature == FEATURE_ELU1)) return 0;
  form_of(score, s, j, 0, linear ? values->feature : FEATURE_IDENTITY);
  if (!set_real(s->t, &values->scale)) return 0;
  mpq_mul(score, score, s->t);
  if (slice->bias.data) {
    mpq_set_d(s->t, oracle_element(&slice->bias, s->row->row, j));
    mpq_add(score, score, s->t);
  }
  if (slice->has_slope) {
    mpq_set_d(s->t, slice->slope);
    mpq_set_si(s->u, j - s->row->at, 1);
    mpq_mul(s->t, s->t, s->u);
    mpq_add(score, score, s->t);
  }
  if (!set_real(s->t, &values->temperature)) return 0;
  mpq_div(score, score, s->t);
  return 1;
}

/* ---- weights ---- */

static void power(mpq_t y, const mpq_t x, int64_t n) {
  mpq_set_ui(y, 1, 1);
  for (int64_t i = 0; i < n; i++)
    mpq_mul(y, y, x);
}

/* [1 - distance/h^2]_+^r; 1 within the bandwidth for r = 0. */
static int estimates(sums *s, int64_t r) {
  mpq_t square;
  mpq_init(square);
  set_square(square, &s->row->problem->values.bandwidth);
  for (int64_t i = 0; i < s->row->count; i++) {
    mpq_div(s->t, s->score[i], square);
    mpq_set_ui(s->u, 1, 1);
    mpq_sub(s->t, s->u, s->t);
    if (mpq_sgn(s->t) < 0)
      mpq_set_ui(s->weight[i], 0, 1);
    else
      power(s->weight[i], s->t, r);
  }
  mpq_clear(square);
  return 1;
}

static mpq_t *largest(const sums *s) {
  mpq_t *m = &s->score[0];
  for (int64_t i = 1; i < s->row->count; i++)
    if (mpq_cmp(s->score[i], *m) > 0) m = &s->score[i];
  return m;
}

static int rectifiers(sums *s) {
  const problem_values *values = &s->row->problem->values;
  int is_max = oracle_is(s->row, "relumax");
  mpq_t square, offset, from;
  mpq_inits(square, offset, from, NULL);
  set_square(square, &values->bandwidth);
  mpq_set_ui(offset, 1, 1);
  mpq_set_ui(from, 1, 1);
  int rational = !is_max || set_real(offset, &values->margin);
  if (is_max) mpq_set(from, *largest(s));
  if (!is_max) mpq_div_2exp(square, square, 1);
  for (int64_t i = 0; i < s->row->count; i++) {
    mpq_sub(s->t, s->score[i], from);
    mpq_div(s->t, s->t, square);
    mpq_add(s->weight[i], s->t, offset);
    if (mpq_sgn(s->weight[i]) < 0) mpq_set_ui(s->weight[i], 0, 1);
  }
  mpq_clears(square, offset, from, NULL);
  return rational;
}

/* [z - tau]_+ of sum 1: the support is {z_i : sum over larger ones of (z_j - z_i) < 1}. */
static int projection(sums *s) {
  int64_t size = 0;
  mpq_t total, tau;
  mpq_inits(total, tau, NULL);
  for (int64_t i = 0; i < s->row->count; i++) {
    mpq_set_si(s->u, -1, 1);
    for (int64_t j = 0; j < s->row->count; j++) {
      mpq_sub(s->t, s->score[j], s->score[i]);
      if (mpq_sgn(s->t) > 0) mpq_add(s->u, s->u, s->t);
    }
    if (mpq_sgn(s->u) >= 0) continue;
    mpq_add(total, total, s->score[i]);
    size++;
  }
  mpq_set_ui(s->t, 1, 1);
  mpq_sub(total, total, s->t);
  mpq_set_si(s->t, size, 1);
  mpq_div(tau, total, s->t);
  for (int64_t i = 0; i < s->row->count; i++) {
    mpq_sub(s->weight[i], s->score[i], tau);
    if (mpq_sgn(s->weight[i]) < 0) mpq_set_ui(s->weight[i], 0, 1);
  }
  mpq_clears(total, tau, NULL);
  return 1;
}

static int means(sums *s) {
  const problem_values *values = &s->row->problem->values;
  for (int64_t i = 0; i < s->row->count; i++) {
    int64_t before = 0;
    for (int64_t j = 0; j < s->row->count; j++) {
      int c = mpq_cmp(s->score[j], s->score[i]);
      before += c > 0 || (c == 0 && (values->ties == TIES_HIGHEST ? j > i : j < i));
    }
    mpq_set_ui(s->weight[i], before < values->topk, 1);
  }
  return 1;
}

static int taylor(sums *s) {
  const problem_values *values = &s->row->problem->values;
  int is_linear = oracle_is(s->row, "linear") && values->feature != FEATURE_TAYLOR;
  for (int64_t i = 0; i < s->row->count; i++) {
    mpq_set(s->weight[i], s->score[i]);
    if (!is_linear) mpq_set_ui(s->weight[i], 1, 1);
    for (int64_t m = is_linear ? 0 : values->degree; m > 0; m--) { /* 1 + s/m (..) */
      mpq_set_si(s->t, m, 1);
      mpq_div(s->t, s->score[i], s->t);
      mpq_mul(s->weight[i], s->weight[i], s->t);
      mpq_set_ui(s->t, 1, 1);
      mpq_add(s->weight[i], s->weight[i], s->t);
    }
    if (!set_real(s->t, &values->decay)) return 0;
    if (mpq_cmp_ui(s->t, 1, 1) == 0) continue;
    power(s->u, s->t, s->row->at - s->row->key[i]);
    mpq_mul(s->weight[i], s->weight[i], s->u);
  }
  return 1;
}

static int weigh(sums *s) {
  const char *kernel = s->row->problem->kernel->name;
  static const char *const powers[] = {"uniform", "epanechnikov", "biweight", "triweight"};
  for (int64_t r = 0; r < 4; r++)
    if (!strcmp(kernel, powers[r])) return estimates(s, r);
  if (!strcmp(kernel, "normrelu") || !strcmp(kernel, "relumax")) return rectifiers(s);
  if (!strcmp(kernel, "sparsemax")) return projection(s);
  if (!strcmp(kernel, "topk-uniform")) return means(s);
  return taylor(s);
}

/* ---- the row ---- */

static int divide(arb_ptr x, sums *s) {
  const problem_values *values = &s->row->problem->values;
  int normalized = values->normalize == NORMALIZE_SUM;
  mpq_t total, value;
  fmpq_t exact;
  mpq_inits(total, value, NULL);
  fmpq_init(exact);
  int answered = set_real(total, &values->eps);
  for (int64_t i = 0; i < s->row->count; i++)
    mpq_add(total, total, s->weight[i]);
  if (normalized) answered = answered && mpq_sgn(total) != 0;
  for (int64_t c = 0; answered && c < s->row->slice->dv; c++) {
    mpq_set_ui(value, 0, 1);
    for (int64_t i = 0; i < s->row->count; i++) {
      mpq_set_d(s->t, oracle_element(&s->row->slice->v, s->row->key[i], c));
      mpq_mul(s->t, s->t, s->weight[i]);
      mpq_add(value, value, s->t);
    }
    if (normalized) mpq_div(value, value, total);
    fmpq_set_mpq(exact, value);
    arb_set_fmpq(x + c, exact, 2000);
  }
  mpq_clears(total, value, NULL);
  fmpq_clear(exact);
  return answered;
}

int oracle_rational(arb_ptr x, const oracle_row *row) {
  static const char kernels[] =
      "uniform epanechnikov biweight triweight normrelu relumax sparsemax "
      "topk-uniform taylor linear";
  const problem_kernel *kernel = row->problem->kernel;
  const char *found = strstr(kernels, kernel->name);
  if (!found || !row->count || row->slice->initial_state.data) return 0;
  int is_distance = !problem_kernel_takes(kernel, problem_param_find("bias", NULL)) &&
                    problem_kernel_takes(kernel, problem_param_find("bandwidth", NULL));
  int answered = 1;
  sums s = {.row = row};
  mpq_inits(s.t, s.u, NULL);
  s.score = calloc((size_t)(2 * row->count), sizeof *s.score);
  s.weight = s.score + row->count;
  for (int64_t i = 0; i < 2 * row->count; i++)
    mpq_init(s.score[i]);
  for (int64_t i = 0; answered && i < row->count; i++)
    if (is_distance)
      form_of(s.score[i], &s, row->key[i], 1, FEATURE_IDENTITY);
    else
      answered = score_of(s.score[i], &s, row->key[i]);
  answered = answered && weigh(&s) && divide(x, &s);
  for (int64_t i = 0; i < 2 * row->count; i++)
    mpq_clear(s.score[i]);
  free(s.score);
  mpq_clears(s.t, s.u, NULL);
  return answered;
}
