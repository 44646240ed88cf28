/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inputs and outputs of the compiled lean logarithms and exponentials by base 2, as bit patterns,
 * one kernel a name: "log2_32 X Y". Compiled for the instruction set ATTEST_ISA. */
#include <stdio.h>

#include "../../src/sparse/power_isa.h"

/* Whole pairs of vectors; the model is slow in double. */
enum { COUNT32 = 2048, COUNT64 = 1024, EDGES = 12 };

static uint64_t state = UINT64_C(88172645463325252);

/* Uniform in [0, 1). */
static double uniform(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) * 0x1p-53;
}

/* Positive and normal: edges, near 1, the unit interval, every binade down to 2^least. */
static double base(int i, const double edge[EDGES], int least) {
  if (i < EDGES) return edge[i];
  double x = uniform();
  return i % 4 == 0   ? ldexp(1 + x, (int)(uniform() * (double)(-2 * least)) + least)
         : i % 4 == 1 ? 1 - (x - 0.25) * ldexp(1, -(i % 40))
                      : x + 0x1p-60;
}

/* Exponents: edges, all, small, next to halves. */
static double exponent(int i, const double edge[EDGES], double most) {
  if (i < EDGES) return edge[i];
  double x = 2 * uniform() - 1;
  return i % 4 == 0 ? most * x : i % 4 == 1 ? floor(30 * x) + 0.5 + x * 0x1p-20 : 20 * x;
}

#define VECTORS(name, v, real, uint, LANES, COUNT, function, INPUT, ...)                           \
  static void name(void) {                                                                         \
    static const double edge[EDGES] = {__VA_ARGS__};                                               \
    for (int at = 0; at < COUNT; at += 2 * LANES) {                                                \
      real in[2 * LANES], out[2 * LANES];                                                          \
      v x[2], y[2];                                                                                \
      for (int i = 0; i < 2 * LANES; i++)                                                          \
        in[i] = (real)INPUT;                                                                       \
      for (int i = 0; i < 2; i++)                                                                  \
        x[i] = v##_load(in + i * LANES);                                                           \
      function(y, x, 2);                                                                           \
      for (int i = 0; i < 2; i++)                                                                  \
        v##_store(out + i * LANES, y[i]);                                                          \
      for (int i = 0; i < 2 * LANES; i++) {                                                        \
        uint a, b;                                                                                 \
        memcpy(&a, in + i, sizeof a);                                                              \
        memcpy(&b, out + i, sizeof b);                                                             \
        printf(#name " %llu %llu\n", (unsigned long long)a, (unsigned long long)b);                \
      }                                                                                            \
    }                                                                                              \
  }

VECTORS(log2_32, vf, float, uint32_t, VF_LANES, COUNT32, vf_lean_log2, base(at + i, edge, -126), 1,
        0.5, 2, 0x1p-126, 0x1.fffffep127, 0x1.6a09e6p-1, 0x1.6a09e4p-1, 0x1.6a09e6p0, 0x1.6a09e4p0,
        0x1.fffffep-1, 0x1.000002p0, 0x1p-60)
VECTORS(log2_64, vd, double, uint64_t, VD_LANES, COUNT64, vd_lean_log2, base(at + i, edge, -1022),
        1, 0.5, 2, 0x1p-1022, 0x1.fffffffffffffp1023, LOG64_ROOT, 0x1.6a09e667f3bccp-1,
        2 * LOG64_ROOT, 0x1.6a09e667f3bccp0, 0x1.fffffffffffffp-1, 0x1.0000000000001p0, 0x1p-300)
VECTORS(exp2_32, vf, float, uint32_t, VF_LANES, COUNT32, vf_lean_exp2, exponent(at + i, edge, 120),
        0, -0.0, 0.5, -0.5, 1.5, 120, -120, -100, 0x1p-149, -0x1p-149, 0x1.fffffep-2,
        -0x1.000002p-1)
VECTORS(exp2_64, vd, double, uint64_t, VD_LANES, COUNT64, vd_lean_exp2,
        exponent(at + i, edge, 1020), 0, -0.0, 0.5, -0.5, 1.5, 1020, -1020, -1000, 0x1p-1074,
        -0x1p-1074, 0x1.fffffffffffffp-2, -0x1.0000000000001p-1)

int main(void) {
  log2_32();
  log2_64();
  exp2_32();
  exp2_64();
  return 0;
}
