/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "isa.h"

#include <stdlib.h>

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
  static volatile int chosen = -1;
  int level = chosen;
  if (level >= 0) return (isa_level)level;
  level = (int)isa_detect();
  const char *wish = getenv("ATTEST_ISA");
  for (int i = 0; wish && i < level; i++)
    if (strcmp(wish, isa_name((isa_level)i)) == 0) level = i;
  chosen = level;
  return (isa_level)level;
}
