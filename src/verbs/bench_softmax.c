/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest bench, softmax: the float32 kernel beside the machine's peak, the tiers beside the kernel,
 * and whole heads through the certifier. One thread: its CPU time. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../certify/certify.h"
#include "../enclosure/exp.h"
#include "../softmax/pass.h"
#include "bench.h"

enum { DIM = 64 };

/* ---- problems ----------------------------------------------------------------------------------
 */

typedef struct {
  attest_problem *problem;
  float *memory; /* q, k, v, out */
  attest_tensor out;
} bench_head;

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
  double start = bench_cpu();
  for (int64_t row = 0; row < pack->slice.nq; row += PASS_ROWS)
    softmax_pass_f32(state, pack, row,
                     pack->slice.nq - row < PASS_ROWS ? pack->slice.nq - row : PASS_ROWS);
  return bench_cpu() - start;
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
  double start = bench_cpu();
  softmax_enclose_rows(&block, work, want);
  return bench_cpu() - start;
}

static double time_balls(const attest_problem *problem, const problem_slice *slice, int64_t rows) {
  attest_error error;
  arb_ptr out = _arb_vec_init(rows * DIM), lse = _arb_vec_init(rows);
  double start = bench_cpu();
  softmax_ball_rows(out, lse, NULL, NULL, problem, slice, 0, rows, 128, &error);
  double seconds = bench_cpu() - start;
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

static const char *const tier_names[] = {"float32", "double", "double-backward", "ball"};

/* A line of the first table: `nk` keys and as many queries as make 2^22 pairs. */
static attest_status tier_line(bench_log *log, int64_t nk, attest_error *error) {
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
  for (int k = 0; k < 4 && !status; k++)
    bench_figure(log, ns[k], "ns", "softmax/%s/pair/%lld", tier_names[k], (long long)nk);
  if (!status && nk == 4096) bench_goal(log, GOAL_BALLS, ns[3] / ns[1]);
  tiers_close(&t);
  head_close(&head);
  return status;
}

/* The least CPU time of a few calls of the kernel, its pass over the packed head alone, and of what
 * its operations cost at the machine's peak. */
typedef struct {
  double kernel, pass, model;
} peak_times;

static attest_status time_peak(peak_times *best, bench_head *head, const softmax_pack *pack,
                               softmax_state_f32 *state, attest_error *error) {
  enum { ROUNDS = 4, CALLS = 64 };
  float x[1024], y[1024];
  double exponential = INFINITY, rate = 0, n = (double)pack->slice.nk;
  attest_status status = ATTEST_OK;
  for (int i = 0; i < 1024; i++)
    x[i] = -0.01f * (float)i;
  *best = (peak_times){INFINITY, INFINITY, 0};
  for (int r = 0; r < ROUNDS && !status; r++) {
    double start = bench_cpu();
    status = softmax_kernel(&head->out, NULL, head->problem, error);
    best->kernel = fmin(best->kernel, bench_cpu() - start);
    best->pass = fmin(best->pass, time_f32(pack, state));
    start = bench_cpu();
    for (int e = 0; e < CALLS; e++)
      exp32_array(y, x, 1024);
    exponential = fmin(exponential, (bench_cpu() - start) / (CALLS * 1024));
    rate = fmax(rate, isa_fma_rate(0.002));
  }
  best->model = n * n * (4 * DIM / rate + exponential);
  return status;
}

static void peak_print(bench_log *log, int64_t n, double kernel, double model, double ratio,
                       double pass_ratio) {
  printf(
      "\nfloat32 kernel, one thread, N = %lld: %.2f ms; its operations at peak and exponentials: "
      "%.2f ms;\nquotient %.3f; %.3f without packing keys and values\n",
      (long long)n, 1e3 * kernel, 1e3 * model, ratio, pass_ratio);
  bench_figure(log, 1e3 * kernel, "ms", "softmax/float32/%lld", (long long)n);
  bench_figure(log, ratio, "ratio", "softmax/float32/quotient/%lld", (long long)n);
  bench_figure(log, pass_ratio, "ratio", "softmax/float32/quotient-packed/%lld", (long long)n);
  bench_goal(log, GOAL_KERNEL, ratio);
}

/* The kernel against what its own operations cost at the machine's peak. */
static attest_status peak_line(bench_log *log, int64_t n, attest_error *error) {
  bench_head head;
  problem_slice slice;
  softmax_pack *pack = NULL;
  softmax_state_f32 state;
  double all[4][BENCH_REPEATS];
  attest_status status = head_open(&head, n, n, 0, error);
  if (!status) {
    problem_slice_get(&slice, head.problem, 0);
    status = softmax_pack_open(&pack, head.problem, &slice, 0, 0, error);
  }
  if (!status && (status = softmax_state_open_f32(&state, pack, error))) softmax_pack_close(pack);
  int opened = !status;
  for (int i = 0; i < BENCH_REPEATS && !status; i++) {
    peak_times t;
    status = time_peak(&t, &head, pack, &state, error);
    all[0][i] = t.kernel;
    all[1][i] = t.model;
    all[2][i] = t.kernel / t.model;
    all[3][i] = t.pass / t.model;
  }
  if (!status)
    peak_print(log, n, bench_median(all[0]), bench_median(all[1]), bench_median(all[2]),
               bench_median(all[3]));
  if (opened) {
    softmax_state_close_f32(&state);
    softmax_pack_close(pack);
  }
  head_close(&head);
  return status;
}

/* ---- the certifier ----------------------------------------------------------------------------
 */

enum { KERNEL, PLAIN, BACKWARD, STEPS };

/* One of the steps on a head; the head's kernel runs first. */
static attest_status certify_step(bench_head *head, int step, attest_error *error) {
  static const char *const bounds[STEPS] = {NULL, "abs<=1e-3", "backward<=16"};
  if (step == KERNEL) return softmax_kernel(&head->out, NULL, head->problem, error);
  certify_bounds list = {0, NULL};
  certify_case result;
  attest_status status = certify_bounds_add(&list, bounds[step], error);
  certify_subject subject = {.problem = head->problem, .bounds = &list};
  certify_options options = {.name = "bench"};
  if (status) return status;
  status = certify_run(&result, &subject, 1, &options, error);
  if (!status && certify_case_verdict(&result) != ATTEST_CERTIFIED)
    status = attest_fail(error, ATTEST_ERR_INPUT, "the built-in kernel was not certified");
  certify_case_clear(&result);
  certify_bounds_clear(&list);
  return status;
}

/* A causal head: kernel, then certified with a plain and with a backward bound; CPU time of all
 * threads together divided by their number, which is the time on the wall of an idle machine; and
 * the memory that it all took, which *first keeps of the first head. */
enum { FIRST = 4096 };
static attest_status certify_line(bench_log *log, int64_t n, int threads, double *first,
                                  attest_error *error) {
  double cpu[STEPS][BENCH_REPEATS], wall[STEPS][BENCH_REPEATS], s[STEPS], w[STEPS];
  int repeats = n <= 4096 ? BENCH_REPEATS : 1;
  bench_head head;
  bench_memory_reset();
  double held = bench_memory();
  attest_status status = head_open(&head, n, n, 1, error);
  omp_set_num_threads(threads);
  for (int i = 0; i < repeats && !status; i++)
    for (int step = 0; step < STEPS && !status; step++) {
      double start = bench_cpu_all(), before = bench_wall();
      status = certify_step(&head, step, error);
      cpu[step][i] = (bench_cpu_all() - start) / threads;
      wall[step][i] = bench_wall() - before;
    }
  double memory = 0x1p-20 * (bench_memory_peak() - held);
  head_close(&head);
  if (status) return status;
  for (int step = 0; step < STEPS; step++) {
    for (int i = repeats; i < BENCH_REPEATS; i++) {
      cpu[step][i] = cpu[step][0];
      wall[step][i] = wall[step][0];
    }
    s[step] = bench_median(cpu[step]);
    w[step] = bench_median(wall[step]);
  }
  printf("%7lld %7d %9.2f %9.2f %5.2fx %9.2f %5.2fx   %9.2f %9.2f %7.0f\n", (long long)n, threads,
         s[KERNEL], s[PLAIN], s[PLAIN] / s[KERNEL], s[BACKWARD], s[BACKWARD] / s[KERNEL], w[PLAIN],
         w[BACKWARD], memory);
  bench_figure(log, memory, "MiB", "certify/memory/%d-threads/%lld", threads, (long long)n);
  bench_figure(log, s[PLAIN] / s[KERNEL], "ratio", "certify/abs/kernel/%d-threads/%lld", threads,
               (long long)n);
  bench_figure(log, s[BACKWARD] / s[KERNEL], "ratio", "certify/backward/kernel/%d-threads/%lld",
               threads, (long long)n);
  bench_figure(log, s[PLAIN], "s", "certify/abs/%d-threads/%lld", threads, (long long)n);
  bench_figure(log, s[BACKWARD], "s", "certify/backward/%d-threads/%lld", threads, (long long)n);
  if (threads == 1 && n == 4096) {
    bench_goal(log, GOAL_CERTIFY, s[PLAIN] / s[KERNEL]);
    bench_goal(log, GOAL_CERTIFY_BACKWARD, s[BACKWARD] / s[KERNEL]);
  }
  if (n == FIRST) *first = memory;
  if (n == 65536) {
    bench_goal(log, GOAL_MEMORY, log2(memory / *first) / log2(65536.0 / FIRST));
    bench_goal(log, GOAL_LONG, s[PLAIN]);
    bench_goal(log, GOAL_LONG_BACKWARD, s[BACKWARD]);
  }
  return status;
}

attest_status bench_softmax(bench_log *log, int quick, int threads, attest_error *error) {
  attest_status status = ATTEST_OK;
  double memory = (double)NAN;
  printf("\nsoftmax, d = dv = 64, float32; CPU time of one thread, nanoseconds a pair, medians of\n"
         "%d interleaved runs; x: times the column of the kernel\n\n"
         "   keys    kernel    double        +backward        ball  / double\n",
         BENCH_REPEATS);
  omp_set_num_threads(1);
  for (int64_t n = 1024; n <= (quick ? 4096 : 65536) && !status; n *= 4)
    status = tier_line(log, n, error);
  if (!status) status = peak_line(log, 2048, error);
  if (!status)
    printf("\nwhole causal heads through the certifier: seconds of CPU time a thread, and on the "
           "wall\n\n"
           "   keys threads    kernel   certify        backward            certify  backward\n");
  if (!status) status = certify_line(log, FIRST, 1, &memory, error);
  for (int64_t n = FIRST; n <= (quick ? FIRST : 65536) && threads > 1 && !status; n *= 4)
    status = certify_line(log, n, threads, &memory, error);
  for (int64_t n = 16384; n <= 65536 && threads == 1 && !quick && !status; n *= 4)
    status = certify_line(log, n, threads, &memory, error);
  return status;
}

/* ---- by themselves ------------------------------------------------------------------------------
 */

typedef struct {
  bench_head head;
  int step;
} piece;

static attest_status work_on(void *context, attest_error *error) {
  piece *p = context;
  return certify_step(&p->head, p->step, error);
}

/* A causal head of 1,024 keys. */
static attest_status profile_step(bench_profile *p, int step, attest_error *error) {
  enum { KEYS = 1024 };
  piece mine = {.step = step};
  attest_status status = head_open(&mine.head, KEYS, KEYS, 1, error);
  if (!status) status = certify_step(&mine.head, KERNEL, error);
  if (!status)
    status = bench_profile_run(p, 0.5 * KEYS * (KEYS + 1), "pair", work_on, &mine, error);
  head_close(&mine.head);
  return status;
}

attest_status bench_softmax_profile_kernel(bench_profile *p, attest_error *error) {
  return profile_step(p, KERNEL, error);
}

attest_status bench_softmax_profile_certify(bench_profile *p, attest_error *error) {
  return profile_step(p, PLAIN, error);
}

attest_status bench_softmax_profile_backward(bench_profile *p, attest_error *error) {
  return profile_step(p, BACKWARD, error);
}
