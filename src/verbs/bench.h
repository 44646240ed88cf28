/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the parts of attest bench share. */
#ifndef ATTEST_VERBS_BENCH_H
#define ATTEST_VERBS_BENCH_H

#include "../attest.h"

enum { BENCH_REPEATS = 5 };

/* Sorts the BENCH_REPEATS numbers. */
double bench_median(double *x);
/* In [0, 1). */
double bench_uniform(uint64_t *state);
/* Seconds on the wall, of this thread and of all threads of this process. The latter two are what
 * other work on the machine disturbs least. */
double bench_wall(void);
double bench_cpu(void);
double bench_cpu_all(void);

/* ---- what was measured (bench_log.c) ---- */

typedef struct bench_log bench_log;

/* The goals of the suite: what is measured, and the number that is wanted of it. */
typedef enum {
  GOAL_CERTIFY,
  GOAL_CERTIFY_BACKWARD,
  GOAL_LONG,
  GOAL_LONG_BACKWARD,
  GOAL_BALLS,
  GOAL_MPMATH,
  GOAL_KERNEL,
  GOAL_PYTORCH,
  GOAL_SWEEP,
  GOAL_SWEEP_MPFR,
  GOAL_PREFILL,
  GOAL_PREFILL_EXPONENT,
  GOAL_DECODE,
  GOAL_DECODE_EXPONENT,
  GOAL_SPARSEMAX,
  GOAL_ENTMAX_15,
  GOAL_ENTMAX,
  GOAL_TOEPLITZ,
  GOAL_COUNT
} bench_goal_kind;

/* NULL when there is no memory. */
bench_log *bench_log_open(void);
void bench_log_close(bench_log *log);
/* A figure under a name of its own, printf-like; `unit` is one of ns us ms s ratio fraction GFLOP/s
 * tokens/s backward. */
void bench_figure(bench_log *log, double value, const char *unit, const char *name, ...)
    __attribute__((format(printf, 4, 5)));
void bench_goal(bench_log *log, bench_goal_kind goal, double measured);
/* The table of goals; those of which nothing was measured are there with a dash. */
void bench_goals_print(const bench_log *log);
/* Figures, goals and the machine as JSON (schema attest-bench/1), for `attest report`. */
attest_status bench_log_write(const bench_log *log, const char *path, attest_error *error);

/* ---- parts ---- */

/* Every kernel of the suite on one head: one thread and all, certification, largest backward. */
attest_status bench_kernels(bench_log *log, int quick, int threads, attest_error *error);
/* Softmax: tiers, peak, whole heads. */
attest_status bench_softmax(bench_log *log, int quick, int threads, attest_error *error);
/* The lines of the Taylor kernels; one thread. */
attest_status bench_taylor(bench_log *log, int quick, attest_error *error);
/* The forms of Toeplitz attention and where they cross. */
attest_status bench_toeplitz(bench_log *log, int quick, attest_error *error);
/* Sparse weights and sparse attention. */
attest_status bench_sparse(bench_log *log, int quick, attest_error *error);
/* A slice of the sweep of the exponential beside MPFR. */
attest_status bench_sweep(bench_log *log, int quick, attest_error *error);

#endif
