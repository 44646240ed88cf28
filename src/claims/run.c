/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Kernels on seeded data, and what comes of it. */
#include "run.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* q, k, v of one head, and the state to begin with. */
typedef struct {
  int64_t nq, n, d, dv;
  attest_dtype dtype;
  void *storage;
  attest_tensor q, k, v, state; /* state.data NULL: none */
} run_data;

/* ---- data ---- */

static double uniform(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Rows of sums of twelve uniform numbers, which have variance 1; on the sphere divided by their
 * norm. Rounded to the dtype. */
static void fill(void *to, int64_t rows, int64_t width, int on_sphere, attest_dtype dtype,
                 uint64_t *state, double *row) {
  for (int64_t i = 0; i < rows; i++) {
    double square = 0;
    for (int64_t a = 0; a < width; a++) {
      row[a] = -6;
      for (int u = 0; u < 12; u++)
        row[a] += uniform(state);
      square += row[a] * row[a];
    }
    for (int64_t a = 0; a < width; a++) {
      double x = on_sphere && square > 0 ? row[a] / sqrt(square) : row[a];
      if (dtype == ATTEST_FLOAT64)
        ((double *)to)[i * width + a] = x;
      else
        ((float *)to)[i * width + a] = (float)x;
    }
  }
}

static attest_status data_open(run_data *data, const claim_run *run, int64_t nq, int64_t n,
                               attest_error *error) {
  size_t size = tensor_dtype_size(run->dtype);
  size_t q = (size_t)(nq * run->d) * size, k = (size_t)(n * run->d) * size;
  size_t v = (size_t)(n * run->dv) * size, widest = (size_t)(run->d > run->dv ? run->d : run->dv);
  *data = (run_data){nq, n, run->d, run->dv, run->dtype, malloc(q + k + v), {0}, {0}, {0}, {0}};
  double *row = malloc(widest * sizeof *row);
  if (!data->storage || !row) {
    free(row);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  }
  char *at = data->storage;
  uint64_t state = run->seed;
  const int64_t shapes[3][2] = {{nq, run->d}, {n, run->d}, {n, run->dv}};
  data->q = attest_tensor_of(at, run->dtype, 2, shapes[0]);
  data->k = attest_tensor_of(at + q, run->dtype, 2, shapes[1]);
  data->v = attest_tensor_of(at + q + k, run->dtype, 2, shapes[2]);
  fill(data->q.data, nq, run->d, run->rows == ROWS_SPHERE, run->dtype, &state, row);
  fill(data->k.data, n, run->d, run->rows == ROWS_SPHERE, run->dtype, &state, row);
  fill(data->v.data, n, run->dv, 0, run->dtype, &state, row);
  free(row);
  return ATTEST_OK;
}

/* ---- problems and kernels ---- */

static attest_status problem_open(attest_problem **problem, const run_kernel *kernel,
                                  const run_data *data, attest_error *error) {
  *problem = attest_problem_new(kernel->kernel, error);
  if (!*problem) return error->status;
  attest_status status = ATTEST_OK;
  for (size_t i = 0; i < kernel->param_count && !status; i++)
    status = attest_problem_set(*problem, kernel->names[i], kernel->values[i], error);
  if (!status) status = attest_problem_input(*problem, "q", &data->q, error);
  if (!status) status = attest_problem_input(*problem, "k", &data->k, error);
  if (!status) status = attest_problem_input(*problem, "v", &data->v, error);
  if (!status && data->state.data)
    status = attest_problem_input(*problem, "initial-state", &data->state, error);
  return status ? status : problem_resolve(*problem, error);
}

static attest_status built_kernel(const problem_room **room, const run_kernel *kernel,
                                  attest_error *error) {
  *room = certify_room(kernel->kernel);
  if (*room && (*room)->kernel) return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_INPUT, "this version has no kernel %s to run",
                     kernel->kernel);
}

/* A tensor with storage of its own for one output. */
static attest_status output_open(attest_tensor *t, const attest_problem *problem, int output,
                                 attest_dtype dtype, attest_error *error) {
  int ndim;
  int64_t shape[ATTEST_MAX_DIMS];
  problem_output_shape(&ndim, shape, problem, output);
  *t = attest_tensor_of(NULL, dtype, ndim, shape);
  t->data = calloc((size_t)tensor_elements(t) + 1, tensor_dtype_size(dtype));
  return t->data ? ATTEST_OK : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
}

/* Runs the kernel; *out and, unless NULL, *final_state get storage of their own. */
static attest_status run_once(attest_tensor *out, attest_tensor *final_state, double *seconds,
                              const run_kernel *kernel, const run_data *data, attest_error *error) {
  attest_problem *problem = NULL;
  const problem_room *room;
  attest_tensor lse = {0};
  struct timespec start, end;
  attest_status status = built_kernel(&room, kernel, error);
  if (!status) status = problem_open(&problem, kernel, data, error);
  if (!status) status = output_open(out, problem, OUTPUT_OUT, data->dtype, error);
  if (!status && final_state) {
    status = output_open(final_state, problem, OUTPUT_FINAL_STATE, data->dtype, error);
    if (!status) status = attest_problem_output(problem, "final-state", final_state, error);
    if (!status) status = problem_resolve(problem, error);
  }
  clock_gettime(CLOCK_MONOTONIC, &start);
  if (!status) status = room->kernel(out, &lse, problem, error);
  clock_gettime(CLOCK_MONOTONIC, &end);
  *seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  attest_problem_free(problem);
  return status;
}

/* ---- errors ---- */

static attest_status compare(certify_error *found, const claim_run *run,
                             const attest_problem *problem, attest_error *error) {
  char text[64];
  certify_case result;
  certify_bounds bounds = {0, NULL};
  certify_options options = {.name = "claim"};
  snprintf(text, sizeof text, "out:%s<=1e300", measure_names[run->measure]);
  attest_status status = certify_bounds_add(&bounds, text, error);
  if (status) return status;
  certify_subject subject = {NULL, problem, &bounds, NULL};
  status = certify_run(&result, &subject, 1, &options, error);
  if (!status) *found = result.subjects[0].outputs[0].error[run->measure];
  certify_case_clear(&result);
  certify_bounds_clear(&bounds);
  return status;
}

static attest_status measure_error(double *lo, double *hi, const claim_run *run,
                                   attest_error *error) {
  run_data data;
  attest_problem *problem = NULL;
  attest_tensor out = {0};
  double seconds;
  certify_error found = {0};
  attest_status status = data_open(&data, run, run->nq, run->n, error);
  if (!status) status = run_once(&out, NULL, &seconds, &run->subject, &data, error);
  if (!status)
    status =
        problem_open(&problem, run->against.kernel ? &run->against : &run->subject, &data, error);
  if (!status) status = attest_problem_output(problem, "out", &out, error);
  if (!status) status = problem_resolve(problem, error);
  if (!status) status = compare(&found, run, problem, error);
  attest_problem_free(problem);
  free(out.data);
  free(data.storage);
  if (status) return status;
  *lo = found.lo;
  *hi = found.hi;
  if (run->figure == FIGURE_FROBENIUS) { /* sqrt is within half an ulp: outward by one */
    *lo = *lo > 0 ? nextafter(sqrt(*lo), 0) : 0;
    *hi = nextafter(sqrt(*hi), INFINITY);
  }
  return ATTEST_OK;
}

/* ---- times ---- */

/* The data of decoding one token after n. For a kernel with a state, that of n keys comes with it.
 */
static attest_status decoding_data(run_data *data, const run_kernel *kernel, const claim_run *run,
                                   int64_t n, attest_error *error) {
  if (strstr(problem_kernel_find(kernel->kernel)->outputs, "final-state")) {
    run_data before;
    attest_tensor out = {0}, state = {0};
    double seconds;
    attest_status status = data_open(&before, run, n, n, error);
    if (!status) status = run_once(&out, &state, &seconds, kernel, &before, error);
    if (!status) status = data_open(data, run, 1, 1, error);
    data->state = state;
    free(out.data);
    free(before.storage);
    return status;
  }
  return data_open(data, run, 1, n, error);
}

/* The least of several runs that together take some milliseconds. */
static attest_status least_time(double *seconds, const run_kernel *kernel, const claim_run *run,
                                int64_t n, attest_error *error) {
  enum { RUNS_MAX = 20 };
  run_data data = {0};
  attest_status status = run->decode
                             ? decoding_data(&data, kernel, run, n, error)
                             : data_open(&data, run, run->nq < run->n ? run->nq : n, n, error);
  double total = 0;
  *seconds = INFINITY;
  for (int i = 0; i < RUNS_MAX && !status && total < 0.05; i++) {
    attest_tensor out = {0};
    double once;
    status = run_once(&out, NULL, &once, kernel, &data, error);
    free(out.data);
    total += once;
    if (!status && once < *seconds) *seconds = once;
  }
  free(data.storage);
  free(data.state.data);
  return status;
}

/* The slope of log time over log n by least squares. */
static attest_status fit_exponent(double *exponent, const claim_run *run, attest_error *error) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0, count = (double)run->size_count;
  for (size_t i = 0; i < run->size_count; i++) {
    double seconds;
    attest_status status = least_time(&seconds, &run->subject, run, run->sizes[i], error);
    if (status) return status;
    double x = log((double)run->sizes[i]), y = log(seconds);
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
  }
  *exponent = (count * sxy - sx * sy) / (count * sxx - sx * sx);
  return ATTEST_OK;
}

static attest_status measure_time(double *figure, const claim_run *run, attest_error *error) {
  if (run->size_count) return fit_exponent(figure, run, error);
  double other = 1;
  attest_status status = least_time(figure, &run->subject, run, run->n, error);
  if (!status && run->against.kernel)
    status = least_time(&other, &run->against, run, run->n, error);
  if (!status && run->against.kernel) *figure = other / *figure;
  return status;
}

attest_status claim_run_execute(double *lo, double *hi, const claim_run *run, attest_error *error) {
  if (run->figure != FIGURE_SECONDS) return measure_error(lo, hi, run, error);
  int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  attest_status status = measure_time(lo, run, error);
  omp_set_num_threads(threads);
  *hi = *lo;
  return status;
}
