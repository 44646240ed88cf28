/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "tolerance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 48 };

/* One problem with what the built-in kernel returns for it. */
typedef struct {
  const tolerance_request *request;
  const problem_room *room;
  generated data;
  double *exact, *low, *radius, *theory,
      *got; /* n x dv; the exact value is exact + low +- radius */
  int64_t elements;
} study;

/* ---- problems ---- */

/* What a mutant changes. */
typedef struct {
  const attest_tensor *q, *k, *v; /* NULL: the inputs as they are */
  const char *name, *value;       /* a parameter in place of the one in force; NULL: none */
} change;

static attest_status build(attest_problem **problem, const study *s, const change *c,
                           attest_error *error) {
  const tolerance_request *r = s->request;
  *problem = attest_problem_new(r->kernel, error);
  if (!*problem) return error->status;
  attest_status status = ATTEST_OK;
  for (size_t i = 0; i < r->param_count && !status; i++)
    if (!c->name || problem_param_find(r->names[i], NULL) != problem_param_find(c->name, NULL))
      status = attest_problem_set(*problem, r->names[i], r->values[i], error);
  if (!status && c->name) status = attest_problem_set(*problem, c->name, c->value, error);
  if (!status) status = attest_problem_input(*problem, "q", c->q ? c->q : &s->data.q, error);
  if (!status) status = attest_problem_input(*problem, "k", c->k ? c->k : &s->data.k, error);
  if (!status) status = attest_problem_input(*problem, "v", c->v ? c->v : &s->data.v, error);
  return status ? status : problem_resolve(*problem, error);
}

/* The built-in kernel in float64 for float64, else in float32 and rounded to the type, as doubles.
 */
static attest_status run_kernel(double *got, const study *s, const change *c, attest_dtype result,
                                attest_error *error) {
  attest_problem *problem;
  attest_dtype work = s->request->dtype == ATTEST_FLOAT64 ? ATTEST_FLOAT64 : ATTEST_FLOAT32;
  attest_status status = build(&problem, s, c, error);
  void *data = calloc((size_t)s->elements + 1, 2 * sizeof(double));
  if (!status && !data) status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  if (!status) {
    const int64_t shape[] = {s->request->n, s->request->dv};
    attest_tensor out = attest_tensor_of(data, work, 2, shape), none = {0};
    attest_tensor rounded = attest_tensor_of((double *)data + s->elements, result, 2, shape);
    status = s->room->kernel(&out, &none, problem, error);
    for (int64_t i = 0; i < s->elements && !status; i++) {
      tensor_store(&rounded, i, tensor_at(&out, i));
      got[i] = tensor_at(&rounded, i);
    }
  }
  free(data);
  attest_problem_free(problem);
  return status;
}

/* ---- exact values and bounds ---- */

static attest_status enclose_rows(study *s, room_machine *machine, const attest_problem *problem,
                                  attest_error *error) {
  const int64_t n = s->request->n, dv = s->request->dv;
  problem_slice slice;
  void *work = NULL;
  problem_slice_get(&slice, problem, 0);
  attest_status status = s->room->open(&work, problem, &slice, WANT_OUT | WANT_THEORY, error);
  unsigned char *class = calloc((size_t)(BLOCK * dv) + 1, 1);
  double *lse = calloc(8 * BLOCK, sizeof *lse), reach[BLOCK];
  if (!status && (!class || !lse)) status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (int64_t row = 0; row < n && !status; row += BLOCK) {
    room_block block = {
        .row = row, .rows = n - row < BLOCK ? n - row : BLOCK, .reach = reach, .machine = machine};
    block.out = (room_cells){.width = dv,
                             .x = s->exact + row * dv,
                             .radius = s->radius + row * dv,
                             .theory = s->theory + row * dv,
                             .class = class};
    block.lse = (room_cells){
        .width = 1, .x = lse, .radius = lse + BLOCK, .theory = lse + 2 * BLOCK, .class = class};
    s->room->rows(&block, work, WANT_OUT | WANT_THEORY);
    /* Errors of float64 are of the size of the double tier's radius. */
    for (int64_t i = row; i < row + block.rows; i++)
      if (s->request->dtype == ATTEST_FLOAT64 && s->room->rows_dd)
        s->room->rows_dd(s->exact + i * dv, s->low + i * dv, s->radius + i * dv, work, i,
                         OUTPUT_OUT);
  }
  if (work) s->room->close(work);
  free(class);
  free(lse);
  return status;
}

static attest_status find_machine(room_machine *machine, const study *s, attest_error *error) {
  const tolerance_request *r = s->request;
  *machine = s->room->machine(r->dtype == ATTEST_FLOAT64 ? ATTEST_FLOAT64 : ATTEST_FLOAT32);
  attest_status status = ATTEST_OK;
  if (r->arithmetic) status = certify_machine_parse(machine, r->kernel, r->arithmetic, error);
  machine->result = r->dtype;
  return status;
}

static attest_status enclose(study *s, attest_error *error) {
  attest_problem *problem;
  room_machine machine;
  const change nothing = {0};
  attest_status status = build(&problem, s, &nothing, error);
  if (!status) status = find_machine(&machine, s, error);
  if (!status) status = enclose_rows(s, &machine, problem, error);
  attest_problem_free(problem);
  return status;
}

/* ---- tolerances ---- */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(const double *sorted, int64_t n, double q) {
  return n ? sorted[(int64_t)(q * (double)(n - 1))] : 0;
}

/* From above; got - exact has no rounding where the two are close. */
static double distance(const study *s, const double *got, int64_t i) {
  return fabs(got[i] - s->exact[i] - s->low[i]) + s->radius[i];
}

/* Distances of `got` from the exact values at most, sorted; or the a-priori bounds (got NULL). */
static void sorted_errors(double *errors, const study *s, const double *got) {
  for (int64_t i = 0; i < s->elements; i++)
    errors[i] = got ? distance(s, got, i) : s->theory[i];
  qsort(errors, (size_t)s->elements, sizeof *errors, ascending);
}

/* The least atol that lets |error_i| <= atol + rtol |exact_i| hold for all i. */
static double least_atol(const study *s, const double *got, double rtol, double factor) {
  double atol = 0;
  for (int64_t i = 0; i < s->elements; i++) {
    double error = got ? distance(s, got, i) : s->theory[i];
    double needed = factor * error - rtol * fabs(s->exact[i]);
    if (!(needed <= atol)) atol = needed;
  }
  return atol;
}

/* The fraction of elements outside of the tolerance; NaN is outside. */
static double beyond(const study *s, const double *got, double rtol, double atol) {
  int64_t count = 0;
  for (int64_t i = 0; i < s->elements; i++)
    count += !(fabs(got[i] - s->exact[i]) <= atol + rtol * fabs(s->exact[i]));
  return s->elements ? (double)count / (double)s->elements : 0;
}

/* ---- mutants ---- */

/* A copy of a tensor (n, width), rounded to `via` on the way; rows taken `shift` later, cyclically.
 */
static attest_status copy_of(attest_tensor *copy, const attest_tensor *t, attest_dtype via,
                             int64_t shift, attest_error *error) {
  int64_t n = t->shape[0], width = t->shape[1];
  unsigned char scratch[8];
  attest_tensor one = attest_tensor_of(scratch, via, 0, NULL);
  *copy = attest_tensor_of(calloc((size_t)(n * width) + 1, tensor_dtype_size(t->dtype)), t->dtype,
                           2, t->shape);
  if (!copy->data) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (int64_t i = 0; i < n; i++)
    for (int64_t c = 0; c < width; c++) {
      tensor_store(&one, 0, tensor_at(t, (i + shift) % n * t->stride[0] + c * t->stride[1]));
      tensor_store(copy, i * width + c, tensor_at(&one, 0));
    }
  return ATTEST_OK;
}

static attest_status add_mutant(tolerance_result *result, const char *name, study *s,
                                const change *c, attest_dtype type, attest_error *error) {
  attest_status status = run_kernel(s->got, s, c, type, error);
  if (status) return status;
  result->mutants[result->mutant_count++] =
      (tolerance_mutant){name, beyond(s, s->got, result->rtol, result->theory_atol),
                         beyond(s, s->got, result->rtol, result->measured_atol)};
  return ATTEST_OK;
}

static attest_status scale_mutants(tolerance_result *result, study *s, attest_error *error) {
  const tolerance_request *r = s->request;
  char text[64];
  snprintf(text, sizeof text, "1/%lld", (long long)r->d);
  change wrong = {.name = "scale", .value = text};
  attest_status status = add_mutant(result, "scale-1/d", s, &wrong, r->dtype, error);
  snprintf(text, sizeof text, "%.17g", 1.01 / sqrt((double)r->d));
  return status ? status : add_mutant(result, "scale-1%-off", s, &wrong, r->dtype, error);
}

static attest_status tensor_mutants(tolerance_result *result, study *s, attest_error *error) {
  attest_dtype type = s->request->dtype, narrow[] = {ATTEST_FLOAT16, ATTEST_BFLOAT16};
  static const char *const names[2][2] = {{"values-float16", "values-bfloat16"},
                                          {"q-and-k-float16", "q-and-k-bfloat16"}};
  attest_tensor rolled, q, k, v;
  attest_status status = copy_of(&rolled, &s->data.k, type, 1, error);
  change shifted = {.k = &rolled};
  if (!status) status = add_mutant(result, "keys-shifted-by-one", s, &shifted, type, error);
  free(rolled.data);
  attest_tensor short_k = s->data.k, short_v = s->data.v;
  short_k.shape[0] = short_v.shape[0] = s->request->n - 1;
  change dropped = {.k = &short_k, .v = &short_v};
  if (!status && s->request->n > 1)
    status = add_mutant(result, "last-key-dropped", s, &dropped, type, error);
  for (int i = 0; i < 2 && !status; i++) {
    if (tensor_dtype_size(type) <= 2) break;
    status = copy_of(&v, &s->data.v, narrow[i], 0, error);
    change values = {.v = &v};
    if (!status) status = add_mutant(result, names[0][i], s, &values, type, error);
    free(v.data);
    if (status) break;
    status = copy_of(&q, &s->data.q, narrow[i], 0, error);
    if (!status)
      status = copy_of(&k, &s->data.k, narrow[i], 0, error);
    else
      k.data = NULL;
    change scores = {.q = &q, .k = &k};
    if (!status) status = add_mutant(result, names[1][i], s, &scores, type, error);
    free(q.data);
    free(k.data);
  }
  const change nothing = {0};
  if (!status && tensor_dtype_size(type) > 2)
    status = add_mutant(result, "output-bfloat16", s, &nothing, ATTEST_BFLOAT16, error);
  return status;
}

/* ---- the whole ---- */

static attest_status measure(tolerance_result *result, study *s, attest_error *error) {
  const change nothing = {0};
  double u = measure_unit_roundoff(tensor_dtype_format(s->request->dtype));
  attest_status status = enclose(s, error);
  if (!status) status = run_kernel(s->got, s, &nothing, s->request->dtype, error);
  double *errors = calloc((size_t)s->elements + 1, sizeof *errors);
  if (!status && !errors) status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  if (!status) {
    sorted_errors(errors, s, NULL);
    result->theory_median = quantile(errors, s->elements, 0.5);
    result->theory_max = quantile(errors, s->elements, 1);
    sorted_errors(errors, s, s->got);
    result->error_median = quantile(errors, s->elements, 0.5);
    result->error_99 = quantile(errors, s->elements, 0.99);
    result->error_max = quantile(errors, s->elements, 1);
    /* The reference is rounded to the type: |reference - x| <= u |x| + quantum, and 4 u |reference|
     * >= 4 u (1 - u) |x| - 4 u quantum. With 4 u <= 1/10 that leaves 2.9 u |x| for the error. */
    double quantum = ldexp(1, tensor_dtype_format(s->request->dtype)->emin);
    result->rtol = 4 * u;
    result->theory_atol = least_atol(s, NULL, 2.9 * u, 1) + quantum;
    result->measured_atol = least_atol(s, s->got, 2.9 * u, 4) + quantum;
  }
  free(errors);
  const problem_param *scale = problem_param_find("scale", NULL);
  const problem_kernel *kernel = problem_kernel_find(s->request->kernel);
  if (!status && problem_kernel_takes(kernel, scale) && strcmp(kernel->name, "gaussian"))
    status = scale_mutants(result, s, error);
  return status ? status : tensor_mutants(result, s, error);
}

attest_status tolerance_measure(tolerance_result *result, const tolerance_request *request,
                                attest_error *error) {
  study s = {.request = request, .elements = request->n * request->dv};
  const generate_sizes sizes = {1, 1, 1, request->n, request->n, request->d, request->dv};
  memset(result, 0, sizeof *result);
  result->elements = s.elements;
  s.room = certify_room(request->kernel);
  if (!s.room || !s.room->kernel || !s.room->rows || !s.room->machine)
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "kernel %s has no built-in kernel and bound to measure with; softmax has",
                       request->kernel);
  attest_status status = generate_inputs(&s.data, request->generator, request->seed, &sizes,
                                         request->dtype, "nd", request->data, error);
  double *cells = calloc(5 * (size_t)s.elements + 5, sizeof *cells);
  if (!cells) {
    generate_clear(&s.data);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  }
  s.exact = cells;
  s.radius = cells + s.elements;
  s.theory = cells + 2 * s.elements;
  s.got = cells + 3 * s.elements;
  s.low = cells + 4 * s.elements;
  if (!status) status = measure(result, &s, error);
  free(cells);
  generate_clear(&s.data);
  return status;
}
