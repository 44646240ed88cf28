/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How far the FFT form is from softmax attention: the enclosures of the double tier on one side,
 * the form's own bound on the other. And the least degrees of polynomials for exp. */
#include <math.h>
#include <stdlib.h>

#include "exp_poly.h"
#include "fft.h"
#include "rows.h"
#include "statements.h"

/* ---- degrees ---- */

attest_status toeplitz_degrees(statement_findings *into, const problem_statement *statement,
                               const char *data, attest_error *error) {
  static const struct {
    slong b;
    const char *eps, *text;
  } cases[] = {{1, "1/1000", "1e-3"},           {1, "1/1000000", "1e-6"},
               {1, "1/1000000000000", "1e-12"}, {2, "1/1000000000000", "1e-12"},
               {4, "1/1000000000000", "1e-12"}, {16, "1/1000000000000", "1e-12"}};
  static const exp_poly_kind kinds[] = {EXP_TAYLOR, EXP_CHEBYSHEV, EXP_MINIMAX};
  fmpq_t b, eps;
  attest_status status = ATTEST_OK;
  (void)data;
  fmpq_init(b);
  fmpq_init(eps);
  for (size_t i = 0; i < sizeof cases / sizeof *cases && !status; i++) {
    int64_t degree[3] = {0};
    fmpq_set_si(b, cases[i].b, 1);
    fmpq_set_str(eps, cases[i].eps, 10);
    for (int k = 0; k < 3 && !status; k++)
      status = exp_poly_degree(&degree[k], kinds[k], EXP_ABSOLUTE, b, eps, error);
    if (!status)
      status = statement_add(into, statement, ATTEST_CERTIFIED, error,
                             "b=%ld error=absolute eps=%s taylor=%lld chebyshev=%lld minimax=%lld",
                             (long)cases[i].b, cases[i].text, (long long)degree[0],
                             (long long)degree[1], (long long)degree[2]);
  }
  fmpq_clear(b);
  fmpq_clear(eps);
  return status;
}

/* ---- the FFT form ---- */

typedef struct {
  const char *kernel;
  int64_t n, d, dv;
  toeplitz_form form;
  int causal;
  attest_dtype dtype;
  double eps;
} setting;

typedef struct {
  attest_problem *problem;
  float *numbers, *weights; /* q, k, v */
  void *out;
  double *radius;
} instance;

static void instance_close(instance *t) {
  attest_problem_free(t->problem);
  free(t->numbers);
  free(t->weights);
  free(t->out);
  free(t->radius);
}

/* Uniform in [-1, 1). */
static float draw(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (float)((double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1);
}

static attest_status give(instance *t, const char *name, float *data, int ndim,
                          const int64_t shape[], attest_error *error) {
  attest_tensor view = attest_tensor_of(data, ATTEST_FLOAT32, ndim, shape);
  return attest_problem_input(t->problem, name, &view, error);
}

static attest_status instance_open(instance *t, const setting *s, attest_error *error) {
  int64_t n = s->n, d = s->d, dv = s->dv, matrices = 2 * n - 1;
  uint64_t seed = 11;
  *t = (instance){.problem = attest_problem_new(s->kernel, error)};
  if (!t->problem) return error->status;
  t->numbers = calloc((size_t)(n * (2 * d + dv)), sizeof *t->numbers);
  t->weights = calloc((size_t)(matrices * d * d), sizeof *t->weights);
  t->out = calloc((size_t)(n * dv), sizeof(double));
  t->radius = calloc((size_t)n, sizeof *t->radius);
  if (!t->numbers || !t->weights || !t->out || !t->radius)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (int64_t i = 0; i < n * (2 * d + dv); i++)
    t->numbers[i] = draw(&seed);
  for (int64_t i = 0; i < matrices * d * d; i++)
    t->weights[i] = draw(&seed) / 2;
  float *k = t->numbers + n * d, *v = k + n * d;
  attest_status status = give(t, "q", t->numbers, 2, (int64_t[]){n, d}, error);
  if (!status) status = give(t, "k", k, 2, (int64_t[]){n, d}, error);
  if (!status) status = give(t, "v", v, 2, (int64_t[]){n, dv}, error);
  if (!status && t->problem->pairing == PAIRING_WEIGHTS)
    status = give(t, "weights", t->weights, 3, (int64_t[]){matrices, d, d}, error);
  if (!status && s->causal) status = attest_problem_set(t->problem, "causal", "top-left", error);
  attest_tensor out = attest_tensor_of(t->out, s->dtype, 2, (int64_t[]){n, dv});
  if (!status) status = attest_problem_output(t->problem, "out", &out, error);
  return status ? status : problem_resolve(t->problem, error);
}

/* The room's double tier on all rows of the slice: NULL, out of memory. x, then radius. */
static double *enclosures(const instance *t, const problem_slice *slice, const problem_room *room,
                          attest_error *error) {
  int64_t n = slice->nq * slice->dv;
  void *work;
  double *x = calloc((size_t)(2 * n + 1), sizeof *x);
  unsigned char *class = calloc((size_t)n + 1, 1);
  room_block block = {.rows = slice->nq,
                      .out = {.width = slice->dv, .x = x, .radius = x + n, .class = class}};
  if (x && class && !room->open(&work, t->problem, slice, WANT_OUT, error)) {
    room->rows(&block, work, WANT_OUT);
    room->close(work);
    free(class);
    return x;
  }
  free(class);
  free(x);
  return NULL;
}

static attest_status decide(statement_findings *into, const problem_statement *statement,
                            const setting *s, attest_error *error) {
  instance t;
  problem_slice slice;
  toeplitz_fft_report report;
  toeplitz_fft_options options = {.form = s->form, .eps = s->eps};
  const problem_room *room = s->kernel[0] == 'r' ? &rope_softmax_room : &toeplitz_room;
  attest_status status = instance_open(&t, s, error);
  if (!status) {
    problem_slice_get(&slice, t.problem, 0);
    status = toeplitz_fft_attention(&report, t.radius, t.problem, &slice, &options, error);
  }
  double *x = status ? NULL : enclosures(&t, &slice, room, error);
  if (!status && !x) status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  if (!status) {
    double worst = 0, bound = 0, u = s->dtype == ATTEST_FLOAT64 ? 0x1p-53 : 0x1p-24;
    int holds = 1;
    for (int64_t i = 0; i < s->n * s->dv; i++) {
      double got = tensor_at(&slice.out, i), off = fabs(got - x[i]) + x[s->n * s->dv + i];
      double allowed = t.radius[i / s->dv] + u * fabs(got) * (1 + 0x1p-20);
      holds &= off <= allowed;
      worst = fmax(worst, off);
      bound = fmax(bound, allowed);
    }
    status = statement_add(
        into, statement, holds ? ATTEST_CERTIFIED : ATTEST_REFUTED, error,
        "problem=%s form=%s dtype=%s n=%lld d=%lld support=%lld degree=%lld terms=%lld "
        "transforms=%lld recomputed=%lld largest=%.3g bound=%.3g leak=%.3g",
        s->kernel,
        s->form == TOEPLITZ_BLOCKED_FORM ? "blocked"
        : s->causal                      ? "causal-fft"
                                         : "fft",
        tensor_dtype_name(s->dtype), (long long)s->n, (long long)s->d, (long long)report.support,
        (long long)report.degree, (long long)report.terms, (long long)report.transforms,
        (long long)report.recomputed, worst, bound,
        s->causal && s->form == TOEPLITZ_FFT_FORM ? report.leak : 0);
  }
  free(x);
  instance_close(&t);
  return status;
}

attest_status toeplitz_deviation(statement_findings *into, const problem_statement *statement,
                                 const char *data, attest_error *error) {
  static const setting settings[] = {
      {"toeplitz", 300, 2, 2, TOEPLITZ_FFT_FORM, 0, ATTEST_FLOAT64, 1e-9},
      {"toeplitz", 300, 2, 2, TOEPLITZ_FFT_FORM, 0, ATTEST_FLOAT32, 1e-6},
      {"toeplitz", 300, 2, 2, TOEPLITZ_FFT_FORM, 1, ATTEST_FLOAT64, 1e-9},
      {"toeplitz", 300, 2, 2, TOEPLITZ_BLOCKED_FORM, 1, ATTEST_FLOAT64, 1e-9},
      {"rope-softmax", 300, 2, 2, TOEPLITZ_FFT_FORM, 1, ATTEST_FLOAT64, 1e-9},
  };
  attest_status status = ATTEST_OK;
  (void)data;
  for (size_t i = 0; i < sizeof settings / sizeof *settings && !status; i++)
    status = decide(into, statement, &settings[i], error);
  return status;
}
