/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest bench, the Taylor kernels: prefill and decoding beside the softmax kernel on the same
 * tensors. CPU time of one thread, which other work on the machine disturbs least. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../softmax/pass.h"
#include "../taylor/kernel.h"
#include "bench.h"

enum { D = 16, DV = 64, FEATURES = 153, ROOM = 32 /* keys that decoding keeps apart */ };
#define SCALE "1/2"

/* ---- one causal head ----------------------------------------------------------------------------
 */

/* q, k (n, D), v, out (n, DV) in one piece of memory. */
typedef struct {
  int64_t n;
  float *q, *k, *v;
  attest_tensor out;
} tensors;

static attest_status tensors_open(tensors *t, int64_t n, attest_error *error) {
  uint64_t seed = 1;
  t->n = n;
  t->q = malloc((size_t)(n * 2 * (D + DV)) * sizeof *t->q);
  if (!t->q) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: %lld keys", (long long)n);
  t->k = t->q + n * D;
  t->v = t->k + n * D;
  t->out = attest_tensor_of(t->v + n * DV, ATTEST_FLOAT32, 2, (int64_t[]){n, DV});
  for (int64_t i = 0; i < n * (2 * D + DV); i++)
    t->q[i] = (float)(bench_uniform(&seed) - 0.5); /* rows of about unit norm */
  return ATTEST_OK;
}

static attest_status give(attest_problem *p, const char *name, float *data, int64_t rows,
                          int64_t width, attest_error *error) {
  attest_tensor t = attest_tensor_of(data, ATTEST_FLOAT32, 2, (int64_t[]){rows, width});
  return attest_problem_input(p, name, &t, error);
}

/* nq: the first queries only; form NULL: softmax. */
static attest_problem *problem_new(const tensors *t, int64_t nq, const char *form,
                                   attest_error *error) {
  attest_problem *p = attest_problem_new(form ? "taylor" : "softmax", error);
  attest_status status = p ? ATTEST_OK : ATTEST_ERR_MEMORY;
  if (!status) status = give(p, "q", t->q, nq, D, error);
  if (!status) status = give(p, "k", t->k, t->n, D, error);
  if (!status) status = give(p, "v", t->v, t->n, DV, error);
  if (!status) status = attest_problem_set(p, "scale", SCALE, error);
  if (!status && nq == t->n) status = attest_problem_set(p, "causal", "top-left", error);
  if (!status && form) status = attest_problem_set(p, "form", form, error);
  if (!status) status = problem_resolve(p, error);
  if (!status) return p;
  attest_problem_free(p);
  return NULL;
}

/* ---- prefill ------------------------------------------------------------------------------------
 */

enum { CHUNKED, DIRECT, SOFTMAX, KINDS };
static const char *const forms[KINDS] = {"chunked", "direct", NULL};

enum { LENGTHS_MAX = 16 };
typedef struct {
  int count;
  double n[LENGTHS_MAX], seconds[KINDS][LENGTHS_MAX]; /* 0: not measured */
} prefill;

static attest_status prefill_line(prefill *p, int64_t n, int64_t quadratic, attest_error *error) {
  tensors t;
  attest_problem *problem[KINDS] = {NULL};
  double s[KINDS][BENCH_REPEATS];
  attest_status status = tensors_open(&t, n, error);
  int kinds = n <= quadratic ? KINDS : 1;
  for (int kind = 0; kind < kinds && !status; kind++)
    if (!(problem[kind] = problem_new(&t, n, forms[kind], error))) status = error->status;
  for (int i = -1; i < BENCH_REPEATS && !status; i++) /* the first warms up */
    for (int kind = 0; kind < kinds && !status; kind++) {
      double start = bench_cpu();
      status = (forms[kind] ? taylor_kernel : softmax_kernel)(&t.out, NULL, problem[kind], error);
      if (i >= 0) s[kind][i] = bench_cpu() - start;
    }
  for (int kind = 0; kind < KINDS; kind++) {
    p->seconds[kind][p->count] = kind < kinds && !status ? bench_median(s[kind]) : 0;
    attest_problem_free(problem[kind]);
  }
  p->n[p->count++] = (double)n;
  free(t.q);
  return status;
}

/* Least squares of log y against log n from N = 1024 on; NaN with fewer than two points. */
static double exponent(const double *n, const double *y, int count) {
  double points = 0, x1 = 0, x2 = 0, y1 = 0, xy = 0;
  for (int i = 0; i < count; i++) {
    if (!(y[i] > 0) || n[i] < 1024) continue;
    double a = log(n[i]), b = log(y[i]);
    points++;
    x1 += a;
    x2 += a * a;
    y1 += b;
    xy += a * b;
  }
  return points < 2 ? (double)NAN : (points * xy - x1 * y1) / (points * x2 - x1 * x1);
}

/* Where `slow` begins to take longer than chunked, between the lines on log-log paper; 0: at every
 * length measured. */
static double break_even(const prefill *p, const double *slow) {
  const double *chunked = p->seconds[CHUNKED];
  for (int i = 1; i < p->count && slow[i] > 0; i++) {
    double before = log(slow[i - 1] / chunked[i - 1]), after = log(slow[i] / chunked[i]);
    if (before <= 0 && after > 0)
      return p->n[i - 1] * pow(p->n[i] / p->n[i - 1], -before / (after - before));
  }
  return 0;
}

static void break_even_print(const prefill *p, int kind, const char *name) {
  double n = break_even(p, p->seconds[kind]);
  if (n > 0)
    printf("%s takes longer than chunked from N = %.0f on\n", name, n);
  else
    printf("%s takes longer than chunked at every length measured\n", name);
}

static void prefill_print(bench_log *log, const prefill *p, double rate) {
  printf("\ntaylor attention, degree 2, causal, d = %d, dv = %d, float32, one thread: milliseconds "
         "of\n"
         "CPU time, medians of %d interleaved runs; peak: 4 N %d %d operations against %.0f "
         "GFLOP/s\n\n"
         "      N   chunked  us/token  peak     direct    softmax  softmax/chunked\n",
         D, DV, BENCH_REPEATS, FEATURES, DV + 1, 1e-9 * rate);
  for (int i = 0; i < p->count; i++) {
    double s = p->seconds[CHUNKED][i], operations = 4 * p->n[i] * FEATURES * (DV + 1);
    printf("%7.0f %9.3f %9.3f", p->n[i], 1e3 * s, 1e6 * s / p->n[i]);
    if (p->n[i] >= 1024) /* shorter heads spend most of their time elsewhere than in the state */
      printf(" %4.0f%%", 100 * operations / s / rate);
    else
      printf("     -");
    if (p->seconds[SOFTMAX][i] > 0)
      printf(" %10.3f %10.3f %15.2fx", 1e3 * p->seconds[DIRECT][i], 1e3 * p->seconds[SOFTMAX][i],
             p->seconds[SOFTMAX][i] / s);
    printf("\n");
    bench_figure(log, 1e6 * s / p->n[i], "us", "taylor/chunked/token/%.0f", p->n[i]);
    bench_figure(log, p->n[i] / s, "tokens/s", "taylor/chunked/tokens/%.0f", p->n[i]);
    if (p->n[i] >= 1024) {
      bench_figure(log, operations / s / rate, "fraction", "taylor/chunked/peak/%.0f", p->n[i]);
      bench_goal(log, GOAL_PREFILL, operations / s / rate);
    }
  }
  bench_goal(log, GOAL_PREFILL_EXPONENT, exponent(p->n, p->seconds[CHUNKED], p->count));
  printf("\nexponents of time from N = 1024 on: chunked %.3f, direct %.3f, softmax %.3f\n",
         exponent(p->n, p->seconds[CHUNKED], p->count),
         exponent(p->n, p->seconds[DIRECT], p->count),
         exponent(p->n, p->seconds[SOFTMAX], p->count));
  break_even_print(p, DIRECT, "direct");
  break_even_print(p, SOFTMAX, "softmax");
}

static attest_status run_prefill(bench_log *log, int quick, attest_error *error) {
  prefill p = {0};
  attest_status status = ATTEST_OK;
  double rate = isa_fma_rate(0.2);
  int64_t last = quick ? 16384 : 262144, quadratic = quick ? 4096 : 16384;
  for (int64_t n = 64; n <= last && !status; n *= 2)
    status = prefill_line(&p, n, quadratic, error);
  if (status) return status;
  prefill_print(log, &p, rate);
  p.count = 0;
  status = prefill_line(&p, 8192, 8192, error);
  if (!status)
    printf(
        "softmax/chunked at N = 8192: %.1f (the paper prints 20.8 for its own pair of programs)\n",
        p.seconds[SOFTMAX][0] / p.seconds[CHUNKED][0]);
  return status;
}

/* ---- decoding -----------------------------------------------------------------------------------
 */

/* Seconds a token: `tokens` updates, each with its read. */
static double decode_window(taylor_state_f32 *state, taylor_rows_f32 *work, const tensors *t,
                            int64_t tokens) {
  float out[DV];
  double start = bench_cpu();
  for (int64_t i = 0; i < tokens; i++) {
    int64_t j = i % t->n;
    taylor_state_update_f32(state, t->k + j * D, t->v + j * DV);
    taylor_state_read_f32(out, work, state, t->q + j * D);
  }
  return (bench_cpu() - start) / (double)tokens;
}

/* Seconds of one query against n packed keys. */
static attest_status softmax_row(double *seconds, int64_t n, attest_error *error) {
  tensors t;
  problem_slice slice;
  softmax_pack *pack = NULL;
  softmax_state_f32 state;
  double s[BENCH_REPEATS];
  attest_status status = tensors_open(&t, n, error);
  attest_problem *p = status ? NULL : problem_new(&t, 1, NULL, error);
  if (!status && !p) status = error->status;
  if (!status) {
    problem_slice_get(&slice, p, 0);
    status = softmax_pack_open(&pack, p, &slice, 0, 0, error);
  }
  if (!status) status = softmax_state_open_f32(&state, pack, error);
  for (int i = -1; i < BENCH_REPEATS && !status; i++) {
    double start = bench_cpu();
    for (int r = 0; r < 4; r++)
      softmax_pass_f32(&state, pack, 0, 1);
    if (i >= 0) s[i] = (bench_cpu() - start) / 4;
  }
  if (!status) {
    *seconds = bench_median(s);
    softmax_state_close_f32(&state);
  }
  softmax_pack_close(pack);
  attest_problem_free(p);
  free(t.q);
  return status;
}

static attest_status decode_lines(bench_log *log, taylor_state_f32 *state, taylor_rows_f32 *work,
                                  const tensors *t, int64_t last, attest_error *error) {
  double n_all[LENGTHS_MAX], tokens_all[LENGTHS_MAX], rows_all[LENGTHS_MAX];
  int count = 0;
  printf("\ndecoding one token at a time, microseconds a token after N keys: a state with room for "
         "%d\n"
         "keys before it folds them; softmax: one query against N packed keys\n\n"
         "      N     state    softmax  softmax/state\n",
         ROOM);
  for (int64_t n = 1024; n <= last; n *= 4, count++) {
    double s[BENCH_REPEATS];
    attest_status status = ATTEST_OK;
    decode_window(state, work, t, n - state->keys - state->pending.count);
    for (int i = 0; i < BENCH_REPEATS; i++)
      s[i] = decode_window(state, work, t, 512);
    n_all[count] = (double)n;
    tokens_all[count] = bench_median(s);
    rows_all[count] = 0;
    if (n <= 65536) status = softmax_row(&rows_all[count], n, error);
    if (status) return status;
    printf("%7lld %9.3f", (long long)n, 1e6 * tokens_all[count]);
    if (rows_all[count] > 0)
      printf(" %10.1f %13.1fx%s", 1e6 * rows_all[count], rows_all[count] / tokens_all[count],
             n == 65536 ? "  (the paper prints 76.0)" : "");
    printf("\n");
  }
  for (int i = 0; i < count; i++) {
    bench_figure(log, 1e6 * tokens_all[i], "us", "taylor/decode/token/%.0f", n_all[i]);
    bench_figure(log, 1e6 * rows_all[i], "us", "softmax/decode/token/%.0f", n_all[i]);
    bench_goal(log, GOAL_DECODE, 1e6 * tokens_all[i]);
  }
  bench_goal(log, GOAL_DECODE_EXPONENT, exponent(n_all, tokens_all, count));
  printf("\nexponents: state %.3f, softmax %.3f\n", exponent(n_all, tokens_all, count),
         exponent(n_all, rows_all, count));
  return ATTEST_OK;
}

typedef struct {
  tensors t;
  taylor_plan *plan;
  taylor_state_f32 state;
  taylor_rows_f32 work;
} decoder;

static attest_status decoder_open(decoder *d, int64_t tokens, attest_error *error) {
  problem_real scale;
  *d = (decoder){.plan = NULL};
  problem_real_init(&scale);
  problem_real_parse(&scale, SCALE);
  attest_status status = tensors_open(&d->t, tokens, error);
  if (!status) status = taylor_plan_open_taylor(&d->plan, D, DV, 2, &scale, 0, error);
  if (!status) status = taylor_state_open_f32(&d->state, d->plan, ROOM, error);
  if (!status) status = taylor_rows_open_f32(&d->work, d->plan, error);
  problem_real_clear(&scale);
  return status;
}

static void decoder_close(decoder *d) {
  taylor_rows_close_f32(&d->work);
  taylor_state_close_f32(&d->state);
  taylor_plan_close(d->plan);
  free(d->t.q);
}

static attest_status run_decode(bench_log *log, int quick, attest_error *error) {
  decoder d;
  attest_status status = decoder_open(&d, 4096, error);
  if (!status) status = decode_lines(log, &d.state, &d.work, &d.t, quick ? 65536 : 1048576, error);
  decoder_close(&d);
  return status;
}

enum { WINDOW = 512 }; /* tokens */

static attest_status decode_on(void *context, attest_error *error) {
  decoder *d = context;
  (void)error;
  decode_window(&d->state, &d->work, &d->t, WINDOW);
  return ATTEST_OK;
}

attest_status bench_taylor_profile(bench_profile *p, attest_error *error) {
  decoder d;
  attest_status status = decoder_open(&d, WINDOW, error);
  if (!status) status = decode_on(&d, error);
  if (!status) status = bench_profile_run(p, WINDOW, "token", decode_on, &d, error);
  decoder_close(&d);
  return status;
}

attest_status bench_taylor(bench_log *log, int quick, attest_error *error) {
  attest_status status = run_prefill(log, quick, error);
  return status ? status : run_decode(log, quick, error);
}
