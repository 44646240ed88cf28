/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest bench: clocks, figures and goals, and the file that two commits are compared by. */
#include <jansson.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <math.h>
#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../tensor/isa.h"
#include "../tensor/tensor.h"
#include "bench.h"

static double clock_of(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_wall(void) {
  return clock_of(CLOCK_MONOTONIC);
}

double bench_cpu(void) {
  return clock_of(CLOCK_THREAD_CPUTIME_ID);
}

double bench_cpu_all(void) {
  return clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

/* A line of /proc/self/status. */
static double memory_of(const char *name) {
  char line[256];
  double kib = (double)NAN;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (!strncmp(line, name, strlen(name))) kib = strtod(line + strlen(name), NULL);
  if (f) fclose(f);
  return 1024 * kib;
}

double bench_memory(void) {
  return memory_of("VmRSS:");
}

double bench_memory_peak(void) {
  return memory_of("VmHWM:");
}

void bench_memory_reset(void) {
#ifdef __GLIBC__
  malloc_trim(0); /* what was freed is not held */
#endif
  FILE *f = fopen("/proc/self/clear_refs", "w");
  if (!f) return;
  fputs("5", f);
  fclose(f);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(double *x) {
  qsort(x, BENCH_REPEATS, sizeof *x, ascending);
  return x[BENCH_REPEATS / 2];
}

double bench_uniform(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-53;
}

/* ---- goals ---- */

typedef struct {
  const char *name, *text;
  double limit;
  int at_least; /* else at most */
} goal;

static const goal goals[GOAL_COUNT] = {
    [GOAL_CERTIFY] = {"certify", "certify softmax, abs rel ulp / float32 kernel", 2.3, 0},
    [GOAL_CERTIFY_BACKWARD] = {"certify-backward", "certify softmax, backward / float32 kernel",
                               3.8, 0},
    [GOAL_LONG] = {"long", "65,536 keys, causal, certified: s of all threads", 6, 0},
    [GOAL_LONG_BACKWARD] = {"long-backward", "the same with a bound on backward", 9, 0},
    [GOAL_MEMORY] = {"memory", "its memory: exponent from 4,096 keys on", 1.02, 0},
    [GOAL_BALLS] = {"balls", "ball tier / double tier", 100, 1},
    [GOAL_MPMATH] = {"mpmath", "mpmath, 30 digits / double tier", 1000, 1},
    [GOAL_KERNEL] = {"kernel", "float32 softmax / (operations at peak + exponentials)", 1.15, 0},
    [GOAL_PYTORCH] = {"pytorch", "PyTorch / float32 softmax", 1.25, 1},
    [GOAL_SWEEP] = {"sweep", "sweep of 2^32 inputs, all threads: s", 15, 0},
    [GOAL_SWEEP_MPFR] = {"sweep-mpfr", "MPFR loop / sweep", 150, 1},
    [GOAL_PREFILL] = {"taylor-prefill", "Taylor degree 2 prefill, fraction of FMA peak", 0.5, 1},
    [GOAL_PREFILL_EXPONENT] = {"taylor-exponent", "its exponent of time", 1.02, 0},
    [GOAL_DECODE] = {"taylor-decode", "Taylor degree 2 decode: us a token", 0.5, 0},
    [GOAL_DECODE_EXPONENT] = {"taylor-decode-exponent", "its exponent of time", 0.02, 0},
    [GOAL_SPARSEMAX] = {"sparsemax", "sparsemax: ns an element", 1, 0},
    [GOAL_ENTMAX_15] = {"entmax-1.5", "entmax 1.5: ns an element", 1.5, 0},
    [GOAL_ENTMAX] = {"entmax", "entmax of alpha 1.05 to 10, the slowest: ns an element", 4, 0},
    [GOAL_TOEPLITZ] = {"toeplitz", "Toeplitz FFT form / its transforms, the worst of a table", 1.3,
                       0},
};

struct bench_log {
  json_t *figures;
  double measured[GOAL_COUNT]; /* NaN: not measured */
};

bench_log *bench_log_open(void) {
  bench_log *log = calloc(1, sizeof *log);
  if (log && !(log->figures = json_array())) {
    free(log);
    return NULL;
  }
  for (int i = 0; log && i < GOAL_COUNT; i++)
    log->measured[i] = (double)NAN;
  return log;
}

void bench_log_close(bench_log *log) {
  if (!log) return;
  json_decref(log->figures);
  free(log);
}

void bench_figure(bench_log *log, double value, const char *unit, const char *name, ...) {
  char text[128];
  va_list arguments;
  va_start(arguments, name);
  vsnprintf(text, sizeof text, name, arguments);
  va_end(arguments);
  if (!isfinite(value)) return;
  json_array_append_new(log->figures,
                        json_pack("{s:s, s:s, s:f}", "name", text, "unit", unit, "value", value));
}

void bench_goal(bench_log *log, bench_goal_kind kind, double measured) {
  log->measured[kind] = measured;
}

static int is_reached(const goal *g, double measured) {
  return g->at_least ? measured >= g->limit : measured <= g->limit;
}

void bench_goals_print(const bench_log *log) {
  printf("\n%-56s %9s %10s  reached\n", "goal", "wanted", "measured");
  for (int i = 0; i < GOAL_COUNT; i++) {
    const goal *g = &goals[i];
    printf("%-56s %s %6g", g->text, g->at_least ? ">=" : "<=", g->limit);
    if (isnan(log->measured[i]))
      printf(" %10s  -\n", "-");
    else
      printf(" %10.4g  %s\n", log->measured[i], is_reached(g, log->measured[i]) ? "yes" : "no");
  }
}

/* ---- the file ---- */

static json_t *goals_json(const bench_log *log) {
  json_t *list = json_array();
  for (int i = 0; i < GOAL_COUNT; i++) {
    const goal *g = &goals[i];
    int measured = isfinite(log->measured[i]) != 0;
    json_array_append_new(
        list, json_pack("{s:s, s:s, s:f, s:b, s:o, s:o}", "name", g->name, "text", g->text,
                        "wanted", g->limit, "at_least", g->at_least, "measured",
                        measured ? json_real(log->measured[i]) : json_null(), "reached",
                        measured ? json_boolean(is_reached(g, log->measured[i])) : json_null()));
  }
  return list;
}

attest_status bench_log_write(const bench_log *log, const char *path, attest_error *error) {
  json_t *root = json_pack("{s:s, s:{s:s, s:s, s:s, s:i}, s:O, s:o}", "schema", "attest-bench/1",
                           "environment", "version", ATTEST_VERSION, "compiler", __VERSION__,
                           "instruction_set", isa_name(isa_chosen()), "threads",
                           omp_get_num_procs(), "figures", log->figures, "goals", goals_json(log));
  char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : NULL;
  tensor_writer *writer;
  attest_status status = ATTEST_OK;
  if (!text) {
    status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  } else if (!(status = tensor_writer_open(&writer, path, error))) {
    fprintf(tensor_writer_stream(writer), "%s\n", text);
    status = tensor_writer_commit(writer, error);
  }
  free(text);
  json_decref(root);
  return status;
}
