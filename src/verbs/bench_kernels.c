/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest bench, all kernels: each on one head beside the machine's peak, on one thread and on all,
 * then certified; and the largest backward error of what it returned, which no change for speed may
 * raise. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../certify/certify.h"
#include "../tensor/isa.h"
#include "bench.h"

typedef struct {
  const char *title, *kernel;
  int64_t d;
  const char *params; /* "name=value name=value" */
  attest_dtype dtype; /* of the output */
  double features;    /* of a kernel that is linear in the keys; 0: it looks at pairs */
} kind;

static const kind kinds[] = {
    {"softmax", "softmax", 64, "causal=top-left", ATTEST_FLOAT32, 0},
    {"softmax.float64", "softmax", 64, "causal=top-left", ATTEST_FLOAT64, 0},
    {"rope-softmax", "rope-softmax", 64, "causal=top-left", ATTEST_FLOAT32, 0},
    {"gaussian", "gaussian", 64, "causal=top-left bandwidth=8", ATTEST_FLOAT32, 0},
    {"taylor.direct", "taylor", 16, "causal=top-left form=direct", ATTEST_FLOAT32, 0},
    {"taylor.chunked", "taylor", 16, "causal=top-left form=chunked", ATTEST_FLOAT32, 153},
    {"taylor.recurrent", "taylor", 16, "causal=top-left form=recurrent", ATTEST_FLOAT32, 153},
    {"linear", "linear", 64, "causal=top-left feature=elu1", ATTEST_FLOAT32, 64},
    {"rope-linear", "rope-linear", 64, "causal=top-left normalize=none", ATTEST_FLOAT32, 0},
    {"toeplitz", "toeplitz", 4, "causal=top-left", ATTEST_FLOAT32, 0},
    {"sparsemax", "sparsemax", 64, "causal=top-left", ATTEST_FLOAT32, 0},
    {"entmax-1.5", "entmax", 64, "causal=top-left alpha=3/2", ATTEST_FLOAT32, 0},
    {"entmax-1.15", "entmax", 64, "causal=top-left alpha=23/20", ATTEST_FLOAT32, 0},
    {"normrelu", "normrelu", 64, "causal=top-left bandwidth=2", ATTEST_FLOAT32, 0},
    {"relumax", "relumax", 64, "causal=top-left bandwidth=2", ATTEST_FLOAT32, 0},
    {"topk-softmax", "topk-softmax", 64, "causal=top-left topk=32", ATTEST_FLOAT32, 0},
    {"topk-uniform", "topk-uniform", 64, "causal=top-left topk=32", ATTEST_FLOAT32, 0},
    {"epanechnikov", "epanechnikov", 64, "causal=top-left bandwidth=14", ATTEST_FLOAT32, 0},
    {"biweight", "biweight", 64, "causal=top-left bandwidth=14", ATTEST_FLOAT32, 0},
    {"triweight", "triweight", 64, "causal=top-left bandwidth=14", ATTEST_FLOAT32, 0},
    {"uniform", "uniform", 64, "causal=top-left bandwidth=14", ATTEST_FLOAT32, 0},
};

enum { DV = 64 };

typedef struct {
  attest_problem *problem;
  float *memory; /* q, k, v */
  void *result;
  attest_tensor out;
} head;

static void head_close(head *h) {
  attest_problem_free(h->problem);
  free(h->memory);
  free(h->result);
}

static attest_status set_params(attest_problem *problem, const char *params, attest_error *error) {
  attest_status status = ATTEST_OK;
  while (*params && !status) {
    char name[32], value[32];
    int used = 0;
    if (sscanf(params, "%31[^=]=%31s%n", name, value, &used) != 2) break;
    status = attest_problem_set(problem, name, value, error);
    params += used;
    while (*params == ' ')
      params++;
  }
  return status;
}

/* n queries and keys, elements uniform in [-1, 1]; of toeplitz its matrices, too. */
static attest_status head_open(head *h, const kind *kind, int64_t n, attest_error *error) {
  static const char *const names[] = {"q", "k", "v"};
  uint64_t seed = 1;
  int64_t widths[] = {kind->d, kind->d, DV}, count = n * (2 * kind->d + DV), d = kind->d;
  int64_t matrices = strcmp(kind->kernel, "toeplitz") ? 0 : 2 * n - 1;
  count += matrices * d * d;
  h->problem = attest_problem_new(kind->kernel, error);
  h->memory = malloc((size_t)count * sizeof *h->memory);
  h->result = calloc((size_t)(n * DV), sizeof(double));
  if (!h->problem) return error->status;
  if (!h->memory || !h->result) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (int64_t i = 0; i < count; i++)
    h->memory[i] = (float)(2 * bench_uniform(&seed) - 1);
  attest_status status = set_params(h->problem, kind->params, error);
  float *at = h->memory;
  for (int i = 0; i < 3 && !status; at += n * widths[i], i++) {
    attest_tensor t = attest_tensor_of(at, ATTEST_FLOAT32, 2, (int64_t[]){n, widths[i]});
    status = attest_problem_input(h->problem, names[i], &t, error);
  }
  attest_tensor weights = attest_tensor_of(at, ATTEST_FLOAT32, 3, (int64_t[]){matrices, d, d});
  if (matrices && !status) status = attest_problem_input(h->problem, "weights", &weights, error);
  h->out = attest_tensor_of(h->result, kind->dtype, 2, (int64_t[]){n, DV});
  if (!status) status = attest_problem_output(h->problem, "out", &h->out, error);
  return status ? status : problem_resolve(h->problem, error);
}

/* backward: in, whether to bound it; out, the largest. */
static attest_status certify(double *backward, const head *h, const char *bound,
                             attest_error *error) {
  certify_bounds list = {0, NULL};
  certify_case result;
  attest_status status = certify_bounds_add(&list, bound, error);
  certify_subject subject = {.problem = h->problem, .bounds = &list};
  certify_options options = {.name = "bench"};
  if (!status) status = certify_run(&result, &subject, 1, &options, error);
  if (!status) {
    *backward = result.subjects[0].outputs[0].error[MEASURE_BACKWARD].hi;
    certify_case_clear(&result);
  }
  certify_bounds_clear(&list);
  return status;
}

enum { ONE, ALL, PLAIN, BACKWARD, STEPS };

static attest_status measure(double s[STEPS], double *backward, const head *h, const kind *kind,
                             int threads, attest_error *error) {
  const problem_room *room = certify_room(kind->kernel);
  double all[STEPS][BENCH_REPEATS], unused;
  attest_tensor out = h->out;
  attest_status status = ATTEST_OK;
  for (int i = -1; i < BENCH_REPEATS && !status; i++) /* the first warms up */
    for (int step = 0; step < STEPS && !status; step++) {
      omp_set_num_threads(step == ALL ? threads : 1);
      double start = step == ALL ? bench_cpu_all() : bench_cpu();
      if (step <= ALL)
        status = room->kernel(&out, NULL, h->problem, error);
      else
        status = step == PLAIN ? certify(&unused, h, "abs<=1", error)
                               : certify(backward, h, "backward<=1000", error);
      if (i >= 0)
        all[step][i] = step == ALL ? (bench_cpu_all() - start) / threads : bench_cpu() - start;
    }
  for (int step = 0; step < STEPS && !status; step++)
    s[step] = bench_median(all[step]);
  return status;
}

static attest_status kernel_line(bench_log *log, const kind *kind, int64_t n, int threads,
                                 attest_error *error) {
  head h = {0};
  double s[STEPS], backward = 0, pairs = 0.5 * (double)n * (double)(n + 1);
  attest_status status = head_open(&h, kind, n, error);
  double rate = isa_fma_rate(0.02) / (kind->dtype == ATTEST_FLOAT64 ? 2 : 1);
  if (!status) status = measure(s, &backward, &h, kind, threads, error);
  head_close(&h);
  if (status) return status;
  double operations = kind->features > 0 ? 4 * kind->features * (DV + 1) * (double)n
                                         : 2 * (double)(kind->d + DV) * pairs;
  double fraction = operations / s[ONE] / rate;
  printf("%-16s %8.2f %5.0f%% %10.0f %11.0f %8.2fx %8.2fx %9.2f\n", kind->title,
         1e9 * s[ONE] / pairs, 100 * fraction, (double)n / s[ONE], (double)n / s[ALL],
         s[PLAIN] / s[ONE], s[BACKWARD] / s[ONE], backward);
  const char *t = kind->title;
  bench_figure(log, 1e9 * s[ONE] / pairs, "ns", "kernels/%s/pair", t);
  bench_figure(log, fraction, "fraction", "kernels/%s/peak", t);
  bench_figure(log, (double)n / s[ONE], "tokens/s", "kernels/%s/tokens", t);
  bench_figure(log, (double)n / s[ALL], "tokens/s", "kernels/%s/tokens/%d-threads", t, threads);
  bench_figure(log, s[PLAIN] / s[ONE], "ratio", "kernels/%s/certify", t);
  bench_figure(log, s[BACKWARD] / s[ONE], "ratio", "kernels/%s/certify-backward", t);
  bench_figure(log, backward, "backward", "kernels/%s/backward", t);
  return ATTEST_OK;
}

attest_status bench_kernels(bench_log *log, int quick, int threads, attest_error *error) {
  attest_status status = ATTEST_OK;
  int64_t n = quick ? 512 : 2048;
  printf(
      "\none causal head, N = %lld, dv = %d, float32 unless it says float64: nanoseconds a pair,\n"
      "fraction of the peak and tokens a second on one thread, tokens a second on %d, all by the "
      "CPU\n"
      "time of a thread; certified on one thread / the kernel; largest backward error; medians of "
      "%d\n\n"
      "kernel            ns/pair   peak   tokens/s  all threads  certify  backward   largest\n",
      (long long)n, DV, threads, BENCH_REPEATS);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !status; i++)
    status = kernel_line(log, &kinds[i], n, threads, error);
  omp_set_num_threads(1);
  return status;
}
