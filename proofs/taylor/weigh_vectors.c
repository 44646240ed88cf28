/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Scores and Taylor weights of the compiled kernels, as bit patterns: weigh32_DEGREE X Y. */
#include <stdio.h>

#include "../../src/taylor/kernel_isa.c"

enum { COUNT = 1024, DEGREE_MAX = 8 };

static uint64_t state = UINT64_C(88172645463325252);

/* Uniform in [-1, 1). */
static double uniform(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) * 0x1p-52 - 1;
}

#define VECTORS(real, uint, suffix, name)                                                          \
  static void name(int degree) {                                                                   \
    static real x[COUNT], w[COUNT], c[DEGREE_MAX + 1];                                             \
    double factorial = 1;                                                                          \
    taylor_plan plan = {.degree = degree, .coefficient = c};                                       \
    for (int m = 0; m <= degree; m++) {                                                            \
      factorial *= m > 0 ? m : 1;                                                                  \
      c[m] = (real)(1 / factorial);                                                                \
    }                                                                                              \
    for (int i = 0; i < COUNT; i++) {                                                              \
      x[i] = (real)(i % 3 ? uniform() : 20 * uniform());                                           \
      w[i] = x[i];                                                                                 \
    }                                                                                              \
    ISA(taylor_weigh_##suffix)(w, COUNT, &plan);                                                   \
    for (int i = 0; i < COUNT; i++) {                                                              \
      uint a, b;                                                                                   \
      memcpy(&a, x + i, sizeof a);                                                                 \
      memcpy(&b, w + i, sizeof b);                                                                 \
      printf(#name "_%d %llu %llu\n", degree, (unsigned long long)a, (unsigned long long)b);       \
    }                                                                                              \
  }
VECTORS(float, uint32_t, f32, weigh32)
VECTORS(double, uint64_t, f64, weigh64)

int main(void) {
  weigh32(2);
  weigh32(6);
  weigh64(3);
  return 0;
}
