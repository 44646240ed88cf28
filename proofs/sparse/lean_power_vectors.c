/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Gaps and what the compiled lean powers make of them, as bit patterns: "any X Y", "near X Y",
 * "leaner X Y", Y 2^64 times the weight and the share beside it. Compiled for the instruction set
 * ATTEST_ISA. */
#include <stdio.h>

#include "../../src/sparse/solve_isa.c"

/* Whole pairs of vectors; the model is slow. */
enum { COUNT = 256, EDGES = 8 };

static uint64_t state = UINT64_C(88172645463325252);

/* Uniform in [0, 1). */
static double uniform(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) * 0x1p-53;
}

static uint64_t bits_of(double x) {
  uint64_t b;
  memcpy(&b, &x, sizeof b);
  return b;
}

/* Decimal digits of high 2^64 + low. */
static void print_wide(uint64_t high, uint64_t low) {
  unsigned __int128 n = ((unsigned __int128)high << 64) + low;
  char digits[48];
  int at = sizeof digits;
  digits[--at] = 0;
  do
    digits[--at] = (char)('0' + (int)(n % 10));
  while (n /= 10);
  printf("%s\n", digits + at);
}

/* Gaps at the edge u, at 0, close to both, beyond. */
static double gap_of(int i, double u) {
  const double edge[EDGES] = {0, u, u + 0x1p-52, u - 0x1p-52, 0x1p-60, 2, 0x1p-1074, u / 2};
  if (i < EDGES) return edge[i];
  double x = uniform();
  return i % 4 == 0 ? u - ldexp(x, -(i % 50)) : i % 4 == 1 ? ldexp(x, -(i % 60)) : 1.01 * u * x;
}

static void print(const char *name, double u, double end, double r, int how, int leaner) {
  for (int at = 0; at < COUNT; at += 2 * VD_LANES) {
    double gap[2 * VD_LANES], w[2 * VD_LANES], share[2 * VD_LANES];
    vd weights[2], shares[2];
    for (int i = 0; i < 2 * VD_LANES; i++)
      gap[i] = gap_of(at + i, end);
    if (how == POWER_ANY)
      lean(weights, shares, vd_set1(u), gap, r, POWER_ANY, 0, 2);
    else if (leaner)
      lean(weights, shares, vd_set1(u), gap, r, POWER_NEAR, 1, 2);
    else
      lean(weights, shares, vd_set1(u), gap, r, POWER_NEAR, 0, 2);
    for (int i = 0; i < 2; i++) {
      vd_store(w + i * VD_LANES, weights[i]);
      vd_store(share + i * VD_LANES, shares[i]);
    }
    for (int i = 0; i < 2 * VD_LANES; i++) {
      printf("%s %llu ", name, (unsigned long long)bits_of(gap[i]));
      print_wide(bits_of(w[i]), bits_of(share[i]));
    }
  }
}

int main(void) {
  print("any", 0.8125, 0.8125, 2.5, POWER_ANY, 0);
  print("near", 0.1875, 0.8125, 100.25, POWER_NEAR, 0);
  print("leaner", 0.1875, 0.8125, 100.25, POWER_NEAR, 1);
  return 0;
}
