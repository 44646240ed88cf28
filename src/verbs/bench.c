/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest bench: what certification costs beside the kernel that is certified. All figures of a line
 * come from interleaved repetitions of one run; medians; ratios are the thing to look at. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../certify/certify.h"
#include "../enclosure/exp.h"
#include "../softmax/pass.h"
#include "bench.h"
#include "internal.h"
#include "verbs.h"

static const verb_flag flags[] = {
    {"kernel", "softmax|taylor|toeplitz|sparse", 0, "only the part of this kernel (default: all)"},
    {"quick", NULL, 0, "small sizes only: about ten seconds"},
    {"threads", "N", 0, "threads of the last part (default: all)"},
};

static const verb_definition definition = {
    .usage = "attest bench [--kernel softmax|taylor|toeplitz|sparse] [--quick] [--threads N]",
    .summary =
        "Measures softmax attention with d = dv = 64, float32, on seeded random tensors: the\n"
        "built-in kernel, the double tier without and with the terms of the backward error,\n"
        "the ball tier; then whole causal heads through the certifier; then the Taylor kernels\n"
        "with d = 16, dv = 64 beside the softmax kernel: prefill and decoding; then the forms of\n"
        "Toeplitz attention and the lengths at which they cross; then sparse weights and sparse\n"
        "attention.",
    .example = "  attest bench --quick",
    .flags = flags,
    .flag_count = sizeof flags / sizeof *flags,
};

enum { DIM = 64 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(double *x) {
  qsort(x, BENCH_REPEATS, sizeof *x, ascending);
  return x[BENCH_REPEATS / 2];
}

/* ---- problems ----------------------------------------------------------------------------------
 */

typedef struct {
  attest_problem *problem;
  float *memory; /* q, k, v, out */
  attest_tensor out;
} bench_head;

double bench_uniform(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-53;
}

static void head_close(bench_head *head) {
  attest_problem_free(head->problem);
  free(head->memory);
}

/* One head of nq queries and nk keys, elements uniform in [-2, 2]: scores of order 1. */
static attest_status head_open(bench_head *head, int64_t nq, int64_t nk, int causal,
                               attest_error *error) {
  uint64_t seed = 1;
  int64_t n = 2 * (nq + nk) * DIM, q_shape[] = {nq, DIM}, k_shape[] = {nk, DIM};
  attest_status status = ATTEST_OK;
  head->problem = attest_problem_new("softmax", error);
  head->memory = malloc((size_t)n * sizeof(float));
  if (!head->problem || !head->memory)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: %lld keys", (long long)nk);
  for (int64_t i = 0; i < n; i++)
    head->memory[i] = (float)(4 * bench_uniform(&seed) - 2);
  float *at = head->memory;
  attest_tensor t = attest_tensor_of(at, ATTEST_FLOAT32, 2, q_shape);
  status = attest_problem_input(head->problem, "q", &t, error);
  t = attest_tensor_of(at += nq * DIM, ATTEST_FLOAT32, 2, k_shape);
  if (!status) status = attest_problem_input(head->problem, "k", &t, error);
  t = attest_tensor_of(at += nk * DIM, ATTEST_FLOAT32, 2, k_shape);
  if (!status) status = attest_problem_input(head->problem, "v", &t, error);
  head->out = attest_tensor_of(at + nk * DIM, ATTEST_FLOAT32, 2, q_shape);
  if (!status && causal) status = attest_problem_set(head->problem, "causal", "top-left", error);
  if (!status) status = attest_problem_output(head->problem, "out", &head->out, error);
  if (!status) status = problem_resolve(head->problem, error);
  return status;
}

/* ---- one thread, nanoseconds a pair -------------------------------------------------------------
 */

static double time_f32(const softmax_pack *pack, softmax_state_f32 *state) {
  double start = now();
  for (int64_t row = 0; row < pack->slice.nq; row += PASS_ROWS)
    softmax_pass_f32(state, pack, row,
                     pack->slice.nq - row < PASS_ROWS ? pack->slice.nq - row : PASS_ROWS);
  return now() - start;
}

static double time_rows(const softmax_pack *work, unsigned want, double *numbers,
                        unsigned char *class) {
  int64_t n = work->slice.nq * DIM;
  room_block block = {.rows = work->slice.nq};
  block.out = (room_cells){.width = DIM, .x = numbers, .radius = numbers + n, .class = class};
  if (want & WANT_CONDITION) {
    block.out.a_lo = numbers + 2 * n;
    block.out.a_hi = numbers + 3 * n;
    block.out.s_lo = numbers + 4 * n;
    block.out.s_hi = numbers + 5 * n;
  }
  double start = now();
  softmax_enclose_rows(&block, work, want);
  return now() - start;
}

static double time_balls(const attest_problem *problem, const problem_slice *slice, int64_t rows) {
  attest_error error;
  arb_ptr out = _arb_vec_init(rows * DIM), lse = _arb_vec_init(rows);
  double start = now();
  softmax_ball_rows(out, lse, NULL, NULL, problem, slice, 0, rows, 128, &error);
  double seconds = now() - start;
  _arb_vec_clear(out, rows * DIM);
  _arb_vec_clear(lse, rows);
  return seconds;
}

typedef struct {
  softmax_pack *single, *plain, *condition;
  softmax_state_f32 state;
  double *numbers;
  unsigned char *class;
} bench_tiers;

static attest_status tiers_open(bench_tiers *t, const attest_problem *problem,
                                const problem_slice *slice, attest_error *error) {
  memset(t, 0, sizeof *t);
  attest_status status = softmax_pack_open(&t->single, problem, slice, 0, 0, error);
  if (!status) status = softmax_pack_open(&t->plain, problem, slice, 1, 0, error);
  if (!status) status = softmax_pack_open(&t->condition, problem, slice, 1, 1, error);
  if (!status) status = softmax_state_open_f32(&t->state, t->single, error);
  t->numbers = malloc((size_t)(6 * slice->nq * DIM) * sizeof(double));
  t->class = malloc((size_t)(slice->nq * DIM));
  if (!status && (!t->numbers || !t->class))
    status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  return status;
}

static void tiers_close(bench_tiers *t) {
  softmax_pack_close(t->single);
  softmax_pack_close(t->plain);
  softmax_pack_close(t->condition);
  softmax_state_close_f32(&t->state);
  free(t->numbers);
  free(t->class);
}

/* A line of the first table: `nk` keys and as many queries as make 2^22 pairs. */
static attest_status tier_line(int64_t nk, attest_error *error) {
  int64_t nq = (1 << 22) / nk, ball_rows = (1 << 15) / nk;
  if (ball_rows < 1) ball_rows = 1;
  bench_head head;
  bench_tiers t;
  problem_slice slice;
  attest_status status = head_open(&head, nq, nk, 0, error);
  if (status) return status;
  problem_slice_get(&slice, head.problem, 0);
  status = tiers_open(&t, head.problem, &slice, error);
  double s[4][BENCH_REPEATS], ns[4];
  for (int i = 0; i < BENCH_REPEATS && !status; i++) {
    s[0][i] = time_f32(t.single, &t.state);
    s[1][i] = time_rows(t.plain, WANT_OUT, t.numbers, t.class);
    s[2][i] = time_rows(t.condition, WANT_OUT | WANT_CONDITION, t.numbers, t.class);
    s[3][i] = time_balls(head.problem, &slice, ball_rows);
  }
  for (int k = 0; k < 4 && !status; k++)
    ns[k] = 1e9 * bench_median(s[k]) / (double)((k == 3 ? ball_rows : nq) * nk);
  if (!status)
    printf("%7lld %9.2f %9.2f %5.2fx %9.2f %5.2fx %9.0f %6.0fx\n", (long long)nk, ns[0], ns[1],
           ns[1] / ns[0], ns[2], ns[2] / ns[0], ns[3], ns[3] / ns[1]);
  tiers_close(&t);
  head_close(&head);
  return status;
}

/* The kernel against what its own operations cost at the machine's peak. */
static attest_status peak_line(int64_t n, attest_error *error) {
  bench_head head;
  attest_status status = head_open(&head, n, n, 0, error);
  float x[1024], y[1024];
  for (int i = 0; i < 1024; i++)
    x[i] = -0.01f * (float)i;
  double kernel[BENCH_REPEATS], model[BENCH_REPEATS], rate = 0;
  omp_set_num_threads(1);
  for (int i = 0; i < BENCH_REPEATS && !status; i++) {
    double start = now();
    status = softmax_kernel(&head.out, NULL, head.problem, error);
    kernel[i] = now() - start;
    start = now();
    for (int r = 0; r < 1000; r++)
      exp32_array(y, x, 1024);
    double exponential = (now() - start) / (1000 * 1024);
    rate = isa_fma_rate(0.05);
    model[i] = (double)(n * n) * (4 * DIM / rate + exponential);
  }
  if (!status) {
    double ms = 1e3 * bench_median(kernel), ideal = 1e3 * bench_median(model);
    printf(
        "\nfloat32 kernel, one thread, N = %lld: %.2f ms; operations at peak (%.0f GFLOP/s) and\n"
        "exponentials: %.2f ms; quotient %.2f\n",
        (long long)n, ms, 1e-9 * rate, ideal, ms / ideal);
  }
  head_close(&head);
  return status;
}

/* ---- the certifier
 * ---------------------------------------------------------------------------------- */

/* A causal head: kernel, then certified with a plain and with a backward bound. */
static attest_status certify_line(int64_t n, int threads, attest_error *error) {
  static const char *const bounds[] = {"abs<=1e-3", "backward<=16"};
  bench_head head;
  attest_status status = head_open(&head, n, n, 1, error);
  double seconds[3] = {0};
  omp_set_num_threads(threads);
  if (!status) {
    double start = now();
    status = softmax_kernel(&head.out, NULL, head.problem, error);
    seconds[2] = now() - start;
  }
  for (int i = 0; i < 2 && !status; i++) {
    certify_bounds list = {0, NULL};
    certify_case result;
    status = certify_bounds_add(&list, bounds[i], error);
    certify_subject subject = {.problem = head.problem, .bounds = &list};
    certify_options options = {.name = "bench"};
    if (status) break;
    status = certify_run(&result, &subject, 1, &options, error);
    seconds[i] = result.seconds;
    if (!status && certify_case_verdict(&result) != ATTEST_CERTIFIED)
      status = attest_fail(error, ATTEST_ERR_INPUT, "the built-in kernel was not certified");
    certify_case_clear(&result);
    certify_bounds_clear(&list);
  }
  if (!status)
    printf("%7lld %9.2f %9.2f %5.2fx %9.2f %5.2fx\n", (long long)n, seconds[2], seconds[0],
           seconds[0] / seconds[2], seconds[1], seconds[1] / seconds[2]);
  head_close(&head);
  return status;
}

static attest_status run_softmax(int quick, int threads, attest_error *error) {
  attest_status status = ATTEST_OK;
  printf("instruction set %s; softmax, d = dv = 64, float32; one thread, nanoseconds a pair,\n"
         "medians of %d interleaved runs; x: times the column to its left that it certifies\n\n"
         "   keys    kernel    double        +backward        ball  / double\n",
         isa_name(isa_chosen()), BENCH_REPEATS);
  omp_set_num_threads(1);
  for (int64_t n = 1024; n <= (quick ? 4096 : 65536) && !status; n *= 4)
    status = tier_line(n, error);
  if (!status) status = peak_line(2048, error);
  if (!status)
    printf("\nwhole causal heads through the certifier, %d threads, seconds\n\n"
           "   keys    kernel   certify        backward\n",
           threads);
  for (int64_t n = 4096; n <= (quick ? 4096 : 65536) && !status; n *= 4)
    status = certify_line(n, threads, error);
  return status;
}

/* kernel NULL: all parts. */
static attest_status run(const char *kernel, int quick, int threads, attest_error *error) {
  attest_status status = ATTEST_OK;
  if (!kernel || !strcmp(kernel, "softmax")) status = run_softmax(quick, threads, error);
  omp_set_num_threads(1);
  if (!status && (!kernel || !strcmp(kernel, "taylor"))) status = bench_taylor(quick, error);
  if (!status && (!kernel || !strcmp(kernel, "toeplitz"))) status = bench_toeplitz(quick, error);
  if (!status && (!kernel || !strcmp(kernel, "sparse"))) status = bench_sparse(quick, error);
  return status;
}

int verb_bench(int argc, char **argv) {
  verb_options options;
  attest_error error;
  long threads;
  int status = verb_options_parse(&options, &definition, argc, argv);
  if (status >= 0) return status;
  status = verb_option_count(&threads, &options, "threads", omp_get_max_threads());
  const char *kernel = verb_option(&options, "kernel");
  if (!status && kernel && strcmp(kernel, "softmax") && strcmp(kernel, "taylor") &&
      strcmp(kernel, "toeplitz") && strcmp(kernel, "sparse"))
    status = verb_usage_error("--kernel %s: softmax, taylor, toeplitz or sparse is wanted", kernel);
  if (!status) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (run(kernel, verb_option(&options, "quick") != NULL, (int)threads, &error))
      status = verb_trouble(&error);
  }
  verb_options_clear(&options);
  return status;
}
