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
  attest_dtype dtype;
  generated rows;
  attest_tensor state; /* data NULL: none */
} run_data;

/* What all runs of one claim share. */
typedef struct {
  const claim_run *run;
  const char *folder;
  attest_error *error;
} runner;

static attest_status data_open(run_data *data, const runner *r, int64_t nq, int64_t n) {
  const claim_run *run = r->run;
  const generate_sizes sizes = {1, 1, 1, nq, n, run->d, run->dv};
  memset(data, 0, sizeof *data);
  data->dtype = run->dtype;
  return generate_inputs(&data->rows, run->generator, run->seed, &sizes, run->dtype, "nd",
                         r->folder, r->error);
}

static void data_close(run_data *data) {
  generate_clear(&data->rows);
  free(data->state.data);
}

/* ---- problems and kernels ---- */

static attest_status problem_open(attest_problem **problem, const run_kernel *kernel,
                                  const run_data *data, attest_error *error) {
  *problem = attest_problem_new(kernel->kernel, error);
  if (!*problem) return error->status;
  attest_status status = ATTEST_OK;
  for (size_t i = 0; i < kernel->param_count && !status; i++)
    status = attest_problem_set(*problem, kernel->names[i], kernel->values[i], error);
  if (!status) status = attest_problem_input(*problem, "q", &data->rows.q, error);
  if (!status) status = attest_problem_input(*problem, "k", &data->rows.k, error);
  if (!status) status = attest_problem_input(*problem, "v", &data->rows.v, error);
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
  certify_subject subject = {.problem = problem, .bounds = &bounds};
  status = certify_run(&result, &subject, 1, &options, error);
  if (!status) *found = result.subjects[0].outputs[0].error[run->measure];
  certify_case_clear(&result);
  certify_bounds_clear(&bounds);
  return status;
}

static attest_status measure_error(double *lo, double *hi, const runner *r) {
  const claim_run *run = r->run;
  attest_error *error = r->error;
  run_data data;
  attest_problem *problem = NULL;
  attest_tensor out = {0};
  double seconds;
  certify_error found = {0};
  attest_status status = data_open(&data, r, run->nq, run->n);
  if (!status) status = run_once(&out, NULL, &seconds, &run->subject, &data, error);
  if (!status)
    status =
        problem_open(&problem, run->against.kernel ? &run->against : &run->subject, &data, error);
  if (!status) status = attest_problem_output(problem, "out", &out, error);
  if (!status) status = problem_resolve(problem, error);
  if (!status) status = compare(&found, run, problem, error);
  attest_problem_free(problem);
  free(out.data);
  data_close(&data);
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
static attest_status decoding_data(run_data *data, const run_kernel *kernel, const runner *r,
                                   int64_t n) {
  run_data before;
  attest_tensor out = {0}, state = {0};
  double seconds;
  if (!strstr(problem_kernel_find(kernel->kernel)->outputs, "final-state"))
    return data_open(data, r, 1, n);
  attest_status status = data_open(&before, r, n, n);
  if (!status) status = run_once(&out, &state, &seconds, kernel, &before, r->error);
  data_close(&before);
  free(out.data);
  if (!status) status = data_open(data, r, 1, 1);
  data->state = state;
  return status;
}

/* The least of several runs that together take some milliseconds. */
static attest_status least_time(double *seconds, const run_kernel *kernel, const runner *r,
                                int64_t n) {
  enum { RUNS_MAX = 20 };
  run_data data = {0};
  int64_t nq = r->run->nq < r->run->n ? r->run->nq : n;
  attest_status status =
      r->run->decode ? decoding_data(&data, kernel, r, n) : data_open(&data, r, nq, n);
  double total = 0;
  *seconds = INFINITY;
  for (int i = 0; i < RUNS_MAX && !status && total < 0.05; i++) {
    attest_tensor out = {0};
    double once;
    status = run_once(&out, NULL, &once, kernel, &data, r->error);
    free(out.data);
    total += once;
    if (!status && once < *seconds) *seconds = once;
  }
  data_close(&data);
  return status;
}

/* The slope of log time over log n by least squares. */
static attest_status fit_exponent(double *exponent, const runner *r) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0, count = (double)r->run->size_count;
  for (size_t i = 0; i < r->run->size_count; i++) {
    double seconds;
    attest_status status = least_time(&seconds, &r->run->subject, r, r->run->sizes[i]);
    if (status) return status;
    double x = log((double)r->run->sizes[i]), y = log(seconds);
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
  }
  *exponent = (count * sxy - sx * sy) / (count * sxx - sx * sx);
  return ATTEST_OK;
}

static attest_status measure_time(double *figure, const runner *r) {
  const claim_run *run = r->run;
  if (run->size_count) return fit_exponent(figure, r);
  double other = 1;
  attest_status status = least_time(figure, &run->subject, r, run->n);
  if (!status && run->against.kernel) status = least_time(&other, &run->against, r, run->n);
  if (!status && run->against.kernel) *figure = other / *figure;
  return status;
}

attest_status claim_run_execute(double *lo, double *hi, const claim_run *run, const char *data,
                                attest_error *error) {
  const runner r = {run, data, error};
  if (run->figure != FIGURE_SECONDS) return measure_error(lo, hi, &r);
  int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  attest_status status = measure_time(lo, &r);
  omp_set_num_threads(threads);
  *hi = *lo;
  return status;
}
