/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

const char *isa_name(isa_level level) {
  static const char *const names[] = {"baseline", "avx2", "avx512"};
  return names[level];
}

static isa_level isa_detect(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    return ISA_AVX512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return ISA_AVX2;
#endif
  return ISA_BASELINE;
}

/* Racing first calls compute the same value. */
isa_level isa_chosen(void) {
  static atomic_int chosen = -1;
  int level = atomic_load_explicit(&chosen, memory_order_relaxed);
  if (level >= 0) return (isa_level)level;
  level = (int)isa_detect();
  const char *wish = getenv("ATTEST_ISA");
  for (int i = 0; wish && i < level; i++)
    if (strcmp(wish, isa_name((isa_level)i)) == 0) level = i;
  atomic_store_explicit(&chosen, level, memory_order_relaxed);
  return (isa_level)level;
}

void *isa_allocate(int64_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow((size_t)count, size, &bytes) || bytes > SIZE_MAX - 64) return NULL;
  bytes = (bytes + 63) / 64 * 64;
  void *memory = aligned_alloc(64, bytes ? bytes : 64);
  if (memory) memset(memory, 0, bytes ? bytes : 64);
  return memory;
}

ISA_DECLARE(double, isa_fma_chains, (int64_t steps));

static double clock_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double isa_fma_rate(double seconds) {
  static volatile double keep;
  const int64_t steps = 100000;
  int lanes = isa_chosen() == ISA_AVX512 ? 16 : isa_chosen() == ISA_AVX2 ? 8 : 4;
  double best = 0, until = clock_seconds() + seconds;
  do {
    double start = clock_seconds();
    keep = ISA_DISPATCH(isa_fma_chains)(steps);
    double rate = 2.0 * 12 * lanes * (double)steps / (clock_seconds() - start);
    best = rate > best ? rate : best;
  } while (clock_seconds() < until);
  (void)keep;
  return best;
}
