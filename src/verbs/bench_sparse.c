/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The sparse part of attest bench: what it costs to turn a row of scores into weights, and sparse
 * attention beside softmax attention. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../softmax/softmax.h"
#include "../sparse/kernel.h"
#include "bench.h"

enum { DIM = 64, ROWS = 48, WARM = 3 };

/* About unit normal. */
static float normal(uint64_t *state) {
  double x = -6;
  for (int i = 0; i < 12; i++)
    x += bench_uniform(state);
  return (float)x;
}

typedef struct {
  const char *kernel, *parameter, *value, *title;
} column;
static const column columns[] = {
    {"sparsemax", NULL, NULL, "sparsemax"},     {"entmax", "alpha", "3/2", "entmax 1.5"},
    {"entmax", "alpha", "1.7", "entmax 1.7"},   {"entmax", "alpha", "4/3", "entmax 4/3"},
    {"entmax", "alpha", "1.25", "entmax 1.25"}, {"entmax", "alpha", "1.1", "entmax 1.1"},
    {"relumax", NULL, NULL, "relumax"},         {"topk-softmax", "topk", "32", "top-32"},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

typedef struct {
  attest_problem *problem;
  float *memory; /* q, k, v, out */
  attest_tensor out;
} head;

static void head_close(head *h) {
  attest_problem_free(h->problem);
  free(h->memory);
}

static attest_status head_open(head *h, const column *c, int64_t nq, int64_t nk,
                               attest_error *error) {
  uint64_t seed = 1;
  int64_t n = 2 * (nq + nk) * DIM, queries[] = {nq, DIM}, keys[] = {nk, DIM};
  h->problem = attest_problem_new(c ? c->kernel : "softmax", error);
  h->memory = malloc((size_t)n * sizeof(float));
  if (!h->problem || !h->memory)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: %lld keys", (long long)nk);
  for (int64_t i = 0; i < n; i++)
    h->memory[i] = normal(&seed);
  float *at = h->memory;
  attest_status status = ATTEST_OK;
  if (c && c->parameter) status = attest_problem_set(h->problem, c->parameter, c->value, error);
  attest_tensor t = attest_tensor_of(at, ATTEST_FLOAT32, 2, queries);
  if (!status) status = attest_problem_input(h->problem, "q", &t, error);
  t = attest_tensor_of(at += nq * DIM, ATTEST_FLOAT32, 2, keys);
  if (!status) status = attest_problem_input(h->problem, "k", &t, error);
  t = attest_tensor_of(at += nk * DIM, ATTEST_FLOAT32, 2, keys);
  if (!status) status = attest_problem_input(h->problem, "v", &t, error);
  h->out = attest_tensor_of(at + nk * DIM, ATTEST_FLOAT32, 2, queries);
  return status ? status : problem_resolve(h->problem, error);
}

/* Nanoseconds an element of rows of n scores, and the mean size of the support. */
static attest_status time_rows(double *ns, double *kept, const column *c, const float *scores,
                               int64_t n, attest_error *error) {
  head h;
  sparse_pack pack;
  sparse_support support;
  problem_slice slice;
  attest_status status = head_open(&h, c, 1, 1, error);
  if (status) {
    head_close(&h);
    return status;
  }
  problem_slice_get(&slice, h.problem, 0);
  sparse_pack_parameters(&pack, h.problem, &slice);
  if (!sparse_support_open(&support, n)) {
    head_close(&h);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  }
  double seconds[BENCH_REPEATS];
  for (int i = 0; i < BENCH_REPEATS + WARM; i++) {
    double start = bench_cpu();
    *kept = 0;
    for (int r = 0; r < ROWS; r++) {
      sparse_support_f32(&support, scores + r * n, n, &pack);
      for (int64_t k = 0; i == 0 && k < support.count; k++)
        *kept += support.weight[k] > 0;
    }
    if (i == 0) *ns = *kept / ROWS;
    if (i >= WARM) seconds[i - WARM] = bench_cpu() - start;
  }
  *kept = *ns;
  *ns = 1e9 * bench_median(seconds) / (double)(ROWS * n);
  sparse_support_close(&support);
  head_close(&h);
  return ATTEST_OK;
}

static attest_status weights_line(bench_log *log, int64_t n, attest_error *error) {
  float *scores = malloc((size_t)(ROWS * n) * sizeof *scores);
  uint64_t seed = 7;
  attest_status status = ATTEST_OK;
  double ns[COLUMNS], kept[COLUMNS];
  if (!scores) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (int64_t i = 0; i < ROWS * n; i++)
    scores[i] = normal(&seed);
  for (int c = 0; c < COLUMNS && !status; c++)
    status = time_rows(&ns[c], &kept[c], &columns[c], scores, n, error);
  free(scores);
  if (status) return status;
  printf("%7lld", (long long)n);
  for (int c = 0; c < COLUMNS; c++)
    printf("  %5.2f %6.0f", ns[c], kept[c]);
  putchar('\n');
  for (int c = 0; c < COLUMNS; c++)
    bench_figure(log, ns[c], "ns", "%s/element/%lld", columns[c].title, (long long)n);
  if (n == 1024) {
    bench_goal(log, GOAL_SPARSEMAX, ns[0]);
    bench_goal(log, GOAL_ENTMAX_15, ns[1]);
  }
  return ATTEST_OK;
}

/* entmax of many alpha on rows of 1,024 scores of standard deviation 1 and 4. */
static attest_status alpha_lines(bench_log *log, attest_error *error) {
  static const char *const alphas[] = {"1.05", "1.1", "1.15", "1.2", "1.25", "1.3", "4/3",
                                       "1.4",  "1.5", "1.6",  "1.7", "1.8",  "1.9", "2",
                                       "2.5",  "3",   "4",    "5",   "7",    "10"};
  enum { KEYS = 1024, ALPHAS = sizeof alphas / sizeof *alphas };
  float *scores = malloc((size_t)(2 * ROWS * KEYS) * sizeof *scores);
  uint64_t seed = 7;
  double slowest = 0;
  attest_status status = ATTEST_OK;
  if (!scores) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (int i = 0; i < ROWS * KEYS; i++) {
    scores[i] = normal(&seed);
    scores[ROWS * KEYS + i] = 4 * scores[i];
  }
  printf("\nentmax of 1,024 keys by alpha, scores of deviation 1 and 4: nanoseconds an element, "
         "keys\n\n");
  for (int a = 0; a < ALPHAS && !status; a++) {
    column c = {"entmax", "alpha", alphas[a], alphas[a]};
    printf("  %5s", alphas[a]);
    for (int wide = 0; wide < 2 && !status; wide++) {
      double ns = 0, kept = 0;
      status = time_rows(&ns, &kept, &c, scores + wide * ROWS * KEYS, KEYS, error);
      printf("  %6.2f %6.0f", ns, kept);
      bench_figure(log, ns, "ns", "entmax %s/element/%d%s", alphas[a], KEYS, wide ? "/wide" : "");
      slowest = fmax(slowest, ns);
    }
    putchar('\n');
  }
  free(scores);
  bench_goal(log, GOAL_ENTMAX, slowest);
  return status;
}

/* A head of n keys and 256 queries: nanoseconds a pair of sparsemax, entmax 1.5 and softmax. */
static attest_status attention_line(bench_log *log, int64_t n, attest_error *error) {
  enum { QUERIES = 256 };
  double seconds[3][BENCH_REPEATS];
  attest_status status = ATTEST_OK;
  for (int k = 0; k < 3 && !status; k++) {
    head h;
    status = head_open(&h, k < 2 ? &columns[k] : NULL, QUERIES, n, error);
    for (int i = 0; i < BENCH_REPEATS && !status; i++) {
      double start = bench_cpu();
      status = (k < 2 ? sparse_run_kernel : softmax_kernel)(&h.out, NULL, h.problem, error);
      seconds[k][i] = bench_cpu() - start;
    }
    head_close(&h);
  }
  if (status) return status;
  printf("%7lld", (long long)n);
  for (int k = 0; k < 3; k++) {
    double ns = 1e9 * bench_median(seconds[k]) / (double)(QUERIES * n);
    printf("  %10.2f", ns);
    bench_figure(log, ns, "ns", "%s/pair/%lld", k < 2 ? columns[k].title : "softmax", (long long)n);
  }
  putchar('\n');
  return ATTEST_OK;
}

attest_status bench_sparse(bench_log *log, int quick, attest_error *error) {
  attest_status status = ATTEST_OK;
  int64_t most = quick ? 4096 : 65536;
  printf("\nsparse weights of rows of unit normal scores, float32, one thread: nanoseconds an\n"
         "element, and how many keys keep weight\n\n   keys");
  for (int c = 0; c < COLUMNS; c++)
    printf("  %12s", columns[c].title);
  putchar('\n');
  for (int64_t n = 1024; n <= most && !status; n *= 4)
    status = weights_line(log, n, error);
  if (!status) status = alpha_lines(log, error);
  if (!status)
    printf("\nwhole attention, d = dv = 64, 256 queries, one thread: nanoseconds a pair\n\n"
           "   keys   sparsemax  entmax 1.5     softmax\n");
  for (int64_t n = 1024; n <= most && !status; n *= 4)
    status = attention_line(log, n, error);
  return status;
}

/* ---- by themselves ------------------------------------------------------------------------------
 */

typedef struct {
  sparse_pack pack;
  sparse_support support;
  float *scores;
} rows;

enum { KEYS = 1024 };

static attest_status weigh_rows(void *context, attest_error *error) {
  rows *r = context;
  (void)error;
  for (int i = 0; i < ROWS; i++)
    sparse_support_f32(&r->support, r->scores + i * KEYS, KEYS, &r->pack);
  return ATTEST_OK;
}

static attest_status profile_rows(bench_profile *p, const column *c, attest_error *error) {
  head h;
  problem_slice slice;
  rows r = {.scores = malloc((size_t)(ROWS * KEYS) * sizeof(float))};
  uint64_t seed = 7;
  attest_status status = head_open(&h, c, 1, 1, error);
  if (!status && (!r.scores || !sparse_support_open(&r.support, KEYS)))
    status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  if (!status) {
    problem_slice_get(&slice, h.problem, 0);
    sparse_pack_parameters(&r.pack, h.problem, &slice);
    for (int64_t i = 0; i < ROWS * KEYS; i++)
      r.scores[i] = normal(&seed);
    status = weigh_rows(&r, error);
    if (!status) status = bench_profile_run(p, ROWS * KEYS, "element", weigh_rows, &r, error);
    sparse_support_close(&r.support);
  }
  free(r.scores);
  head_close(&h);
  return status;
}

attest_status bench_sparse_profile_sparsemax(bench_profile *p, attest_error *error) {
  return profile_rows(p, &(column){.kernel = "sparsemax"}, error);
}

attest_status bench_sparse_profile_15(bench_profile *p, attest_error *error) {
  return profile_rows(p, &(column){.kernel = "entmax", .parameter = "alpha", .value = "3/2"},
                      error);
}

attest_status bench_sparse_profile_115(bench_profile *p, attest_error *error) {
  return profile_rows(p, &(column){.kernel = "entmax", .parameter = "alpha", .value = "1.15"},
                      error);
}
