/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The sweep part of attest bench: an even slice of all float32 inputs, in CPU time of one thread,
 * beside a loop over MPFR that finds the largest error alone. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../certify/sweep_engine.h"
#include "bench.h"

/* A prime, so that blocks come from everywhere in a binade. */
enum { STRIDE = 257, QUICK_STRIDE = 4099, BLOCKS = 65536, MPFR_INPUTS = 20000, MPFR_BITS = 96 };

static double cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* CPU seconds of every stride-th block, and what they hold. */
static attest_status time_blocks(double *seconds, sweep_record *total, sweep_worker *w, int stride,
                                 attest_error *error) {
  double start = cpu_now();
  sweep_record_clear(total);
  for (int64_t b = stride / 2; b < BLOCKS; b += stride) {
    sweep_record record;
    if (sweep_block(&record, w, (uint32_t)(b * SWEEP_BLOCK), SWEEP_BLOCK, error))
      return error->status;
    sweep_record_join(total, &record);
    total->count += record.count;
  }
  *seconds = cpu_now() - start;
  return ATTEST_OK;
}

/* CPU nanoseconds an input of the plain loop, over inputs of the kernel's domain. */
static double time_mpfr(sweep_worker *w) {
  mpfr_t x, y, largest;
  uint64_t seed = 1;
  mpfr_init2(x, 24);
  mpfr_inits2(MPFR_BITS, y, largest, (mpfr_ptr)NULL);
  mpfr_set_zero(largest, 1);
  double start = cpu_now();
  for (int i = 0; i < MPFR_INPUTS;) {
    uint32_t key = (uint32_t)(bench_uniform(&seed) * 0x1p32);
    if (sweep_worker_segment(w, key).demand != SWEEP_COMPARE) continue;
    float got, input = sweep_float(key);
    sweep_worker_call(w, &got, &input, 1, NULL);
    mpfr_set_flt(x, input, MPFR_RNDN);
    mpfr_exp(y, x, MPFR_RNDN);
    mpfr_exp_t e = mpfr_get_exp(y);
    mpfr_sub_d(y, y, (double)got, MPFR_RNDN);
    mpfr_mul_2si(y, y, 24 - (long)e, MPFR_RNDN);
    if (mpfr_cmpabs(y, largest) > 0) mpfr_abs(largest, y, MPFR_RNDN);
    i++;
  }
  double seconds = cpu_now() - start;
  mpfr_clears(x, y, largest, (mpfr_ptr)NULL);
  return 1e9 * seconds / MPFR_INPUTS;
}

attest_status bench_sweep(bench_log *log, int quick, attest_error *error) {
  sweep_request request = {.shard = 1, .shards = 1};
  sweep_worker w;
  sweep_record total;
  double seconds[BENCH_REPEATS], mpfr[BENCH_REPEATS];
  request.function.reference = sweep_reference_find("exp");
  attest_status status = sweep_worker_open(&w, &request, NULL, 0, error);
  for (int i = 0; i < BENCH_REPEATS && !status; i++) {
    status = time_blocks(&seconds[i], &total, &w, quick ? QUICK_STRIDE : STRIDE, error);
    mpfr[i] = time_mpfr(&w);
  }
  if (!status) {
    double compared = (double)sweep_record_compared(&total), all = (double)total.count;
    double each = 1e9 * bench_median(seconds) / all, loop = bench_median(mpfr) * compared / all;
    printf("\nsweep of the suite's exponential, histograms and all, CPU time of one thread:\n"
           "%.2f ns an input, %.2f of them compared; 2^32 inputs: %.1f s (scaled from %.1f M);\n"
           "MPFR at %d bits, largest error alone: %.0f ns an input, 2^32: %.0f s, %.0fx\n",
           each, compared / all, each * 0x1p32 * 1e-9, all * 1e-6, MPFR_BITS, loop,
           loop * 0x1p32 * 1e-9, loop / each);
    bench_figure(log, each, "ns", "sweep/exp/input");
    /* Two processors. */
    bench_goal(log, GOAL_SWEEP, each * 0x1p32 * 1e-9 / 2);
    bench_goal(log, GOAL_SWEEP_MPFR, loop / each);
  }
  sweep_worker_close(&w);
  return status;
}
