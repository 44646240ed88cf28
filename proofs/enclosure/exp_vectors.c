/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inputs and outputs of the compiled exponentials and the logarithm, as bit patterns, one kernel a
 * name: "exp32 X Y". The kernels, vectors of src/tensor/isa.h, are compiled into this program for
 * the instruction set ATTEST_ISA. */
#include <stdio.h>

#include "../../src/enclosure/exp_array_isa.c"

/* The model is slow in double: a hundred numbers a second. */
enum { COUNT_FLOAT = 2000, COUNT_DOUBLE = 1000, EDGES = 16 };

static uint64_t state = UINT64_C(88172645463325252);

/* Uniform in [0, 1). */
static double uniform(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) * 0x1p-53;
}

/* Input i: edges, then numbers uniform in value, half of them in [-1, 1], some of tiny size. */
static double input(int i, const double edge[EDGES], double least, double most) {
  if (i < EDGES) return edge[i];
  double x = uniform();
  if (i % 16 == 1) return (2 * x - 1) * 0x1p-30;
  if (i % 2) return 2 * x - 1;
  return least + (most - least) * x;
}

#define VECTORS(name, function, real, uint, COUNT, least, most, ...)                               \
  static void name(void) {                                                                         \
    static const double edge[EDGES] = {__VA_ARGS__};                                               \
    static real x[COUNT], y[COUNT];                                                                \
    for (int i = 0; i < COUNT; i++)                                                                \
      x[i] = (real)input(i, edge, least, most);                                                    \
    ISA(function)(y, x, COUNT);                                                                    \
    for (int i = 0; i < COUNT; i++) {                                                              \
      uint a, b;                                                                                   \
      memcpy(&a, x + i, sizeof a);                                                                 \
      memcpy(&b, y + i, sizeof b);                                                                 \
      printf(#name " %llu %llu\n", (unsigned long long)a, (unsigned long long)b);                  \
    }                                                                                              \
  }

#define HALF_LN2 0x1.62e42fefa39efp-2
VECTORS(exp32, exp32_array, float, uint32_t, COUNT_FLOAT, EXP32_MIN, EXP32_MAX, 0, -0.0, EXP32_MIN,
        EXP32_MAX, -0x1.58000ap6, -87, -1e30, -INFINITY, 0x1p-149, -0x1p-149, 0x1p-24, -0x1p-25,
        HALF_LN2, -HALF_LN2, 3 * HALF_LN2, NAN)
VECTORS(exp64, exp64_array, double, uint64_t, COUNT_DOUBLE, EXP64_MIN, EXP64_MAX, 0, -0.0,
        EXP64_MIN, EXP64_MAX, -0x1.6180000000001p9, -708, -1e300, -INFINITY, 0x1p-1074, -0x1p-1074,
        0x1p-53, -0x1p-54, HALF_LN2, -HALF_LN2, 3 * HALF_LN2, NAN)
VECTORS(tanh32, tanh32_array, float, uint32_t, COUNT_FLOAT, -21, 21, 0, -0.0, 20, -20, 19.999998,
        21, 1e30, INFINITY, -INFINITY, 0x1p-149, -0x1p-149, 0x1p-24, HALF_LN2 / 2, -HALF_LN2 / 2,
        HALF_LN2, 8)
VECTORS(tanh64, tanh64_array, double, uint64_t, COUNT_DOUBLE, -21, 21, 0, -0.0, 20, -20,
        19.999999999999996, 21, 1e300, INFINITY, -INFINITY, 0x1p-1074, -0x1p-1074, 0x1p-53,
        HALF_LN2 / 2, -HALF_LN2 / 2, HALF_LN2, 8)

/* Positive normal numbers: edges, then every binade, near 1, near the root. */
static void log64_vectors(void) {
  static const double edge[EDGES] = {1,
                                     2,
                                     0.5,
                                     0x1p-1022,
                                     0x1.fffffffffffffp1023,
                                     LOG64_ROOT,
                                     0x1.6a09e667f3bccp-1,
                                     2 * LOG64_ROOT,
                                     0x1.6a09e667f3bccp0,
                                     0x1.fffffffffffffp-1,
                                     0x1.0000000000001p0,
                                     10,
                                     0.1,
                                     256,
                                     3,
                                     0x1.fffffffffffffp-1022};
  static double x[COUNT_DOUBLE], y[COUNT_DOUBLE];
  for (int i = 0; i < COUNT_DOUBLE; i++) {
    double f = 1 + uniform();
    x[i] = i < EDGES    ? edge[i]
           : i % 4 == 1 ? 1 + (f - 1.5) * ldexp(1, -(i % 50))
                        : ldexp(f, (int)(uniform() * 2046) - 1022);
  }
  ISA(log64_array)(y, x, COUNT_DOUBLE);
  for (int i = 0; i < COUNT_DOUBLE; i++) {
    uint64_t a, b;
    memcpy(&a, x + i, sizeof a);
    memcpy(&b, y + i, sizeof b);
    printf("log64 %llu %llu\n", (unsigned long long)a, (unsigned long long)b);
  }
}

int main(void) {
  exp32();
  exp64();
  tanh32();
  tanh64();
  log64_vectors();
  return 0;
}
