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
/* Bytes of memory that this process holds, and the most it held since the last reset; NaN where the
 * system does not say. */
double bench_memory(void);
double bench_memory_peak(void);
void bench_memory_reset(void);

/* ---- what was measured (bench_log.c) ---- */

typedef struct bench_log bench_log;

/* The goals of the suite: what is measured, and the number that is wanted of it. */
typedef enum {
  GOAL_CERTIFY,
  GOAL_CERTIFY_BACKWARD,
  GOAL_LONG,
  GOAL_LONG_BACKWARD,
  GOAL_MEMORY,
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
/* A figure under a name of its own, printf-like; `unit` is one of ns us ms s MiB ratio fraction
 * GFLOP/s tokens/s backward. */
void bench_figure(bench_log *log, double value, const char *unit, const char *name, ...)
    __attribute__((format(printf, 4, 5)));
void bench_goal(bench_log *log, bench_goal_kind goal, double measured);
/* The table of goals; those of which nothing was measured are there with a dash. */
void bench_goals_print(const bench_log *log);
/* Figures, goals and the machine as JSON (schema attest-bench/1), for `attest report`. */
attest_status bench_log_write(const bench_log *log, const char *path, attest_error *error);

/* ---- pieces of work by themselves (bench_profile.c) ---- */

typedef attest_status bench_work(void *context, attest_error *error);
typedef struct {
  int once; /* neither warmed up nor repeated */
  const char *unit;
  double count, seconds; /* of one run: the least of several */
} bench_profile;

attest_status bench_profile_run(bench_profile *p, double count, const char *unit, bench_work *work,
                                void *context, attest_error *error);
/* Runs one and prints a line; an unknown name is an error that names the known ones. */
attest_status bench_profile_print(const char *name, int once, attest_error *error);

attest_status bench_softmax_profile_kernel(bench_profile *p, attest_error *error);
attest_status bench_softmax_profile_certify(bench_profile *p, attest_error *error);
attest_status bench_softmax_profile_backward(bench_profile *p, attest_error *error);
attest_status bench_taylor_profile(bench_profile *p, attest_error *error);
attest_status bench_sparse_profile_sparsemax(bench_profile *p, attest_error *error);
attest_status bench_sparse_profile_15(bench_profile *p, attest_error *error);
attest_status bench_sparse_profile_115(bench_profile *p, attest_error *error);
attest_status bench_toeplitz_profile(bench_profile *p, attest_error *error);

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
