/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest bench --profile: one piece of work by itself, timed and counted, for those who look at it
 * from outside (tests/bench/profile.py has valgrind count instructions and cache misses). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "internal.h"

static const struct {
  const char *name;
  attest_status (*profile)(bench_profile *profile, attest_error *error);
} pieces[] = {
    {"softmax", bench_softmax_profile_kernel},
    {"certify", bench_softmax_profile_certify},
    {"certify-backward", bench_softmax_profile_backward},
    {"taylor-decode", bench_taylor_profile},
    {"sparsemax", bench_sparse_profile_sparsemax},
    {"entmax-1.5", bench_sparse_profile_15},
    {"entmax-1.15", bench_sparse_profile_115},
    {"toeplitz-fft", bench_toeplitz_profile},
};
enum { PIECES = sizeof pieces / sizeof *pieces };

/* The name is what profile.py tells valgrind to look into. */
attest_status bench_profiled(bench_work *work, void *context, attest_error *error)
    __attribute__((noinline));
attest_status bench_profiled(bench_work *work, void *context, attest_error *error) {
  attest_status status = work(context, error);
  __asm__ volatile("" : : : "memory"); /* no tail call: the work returns to here */
  return status;
}

attest_status bench_profile_run(bench_profile *p, double count, const char *unit, bench_work *work,
                                void *context, attest_error *error) {
  p->count = count;
  p->unit = unit;
  attest_status status = p->once ? ATTEST_OK : work(context, error); /* warms up */
  p->seconds = INFINITY;
  for (int i = 0; i < (p->once ? 1 : 4 * BENCH_REPEATS) && !status; i++) {
    double start = bench_cpu();
    status = bench_profiled(work, context, error);
    p->seconds = fmin(p->seconds, bench_cpu() - start);
  }
  return status;
}

/* Cycles a second: a product of integers waits for the one before, 3 cycles on today's processors
 * (x86 and most others); the best of several tries. */
static double clock_rate(void) {
  enum { PRODUCTS = 1 << 20, LATENCY = 3 };
  uint64_t x = 3;
  double best = INFINITY;
  for (int i = 0; i < 20; i++) {
    double start = bench_cpu();
    for (int k = 0; k < PRODUCTS; k++) {
      x *= x;
      __asm__ volatile("" : "+r"(x));
    }
    best = fmin(best, bench_cpu() - start);
  }
  return LATENCY * (double)PRODUCTS / best;
}

attest_status bench_profile_print(const char *name, int once, attest_error *error) {
  bench_profile p = {.once = once};
  for (int i = 0; i < PIECES; i++) {
    if (strcmp(name, pieces[i].name)) continue;
    attest_status status = pieces[i].profile(&p, error);
    if (!status)
      printf("piece=%s unit=%s count=%.0f seconds=%.6g hertz=%.4g\n", name, p.unit, p.count,
             p.seconds, once ? (double)NAN : clock_rate());
    return status;
  }
  char known[256] = "";
  for (int i = 0; i < PIECES; i++)
    snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "",
             pieces[i].name);
  return attest_fail(error, ATTEST_ERR_INPUT, "--profile %s: one of %s is wanted", name, known);
}
