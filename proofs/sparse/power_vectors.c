/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inputs and outputs of the compiled y^2.5 of the sparse kernels and of the profiles [y]_+^r, r =
 * 1, 2, 3, as bit patterns: "power64 X Y", "profile1 X Y". Compiled for the instruction set
 * ATTEST_ISA. */
#include <math.h>
#include <stdio.h>

#include "../../src/sparse/power_isa.h"

enum { COUNT = 1000, EDGES = 12 };

static uint64_t state = UINT64_C(88172645463325252);

/* Uniform in [0, 1). */
static double uniform(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) * 0x1p-53;
}

/* y^2.5: the last y whose power is kept, the first that is not, one that meets the largest power */
static const double edge[EDGES] = {1,
                                   0.5,
                                   2,
                                   0x1p-1022,
                                   0x1p-408,
                                   0x1p-407,
                                   0x1p-409,
                                   0x1p409,
                                   0x1p410,
                                   0x1.fffffffffffffp-1,
                                   0x1.0000000000001p0,
                                   0x1p-53};

/* y > 0: edges, then powers of uniform size, the unit interval, near 1. */
static double base(int i) {
  if (i < EDGES) return edge[i];
  double x = uniform();
  return i % 4 == 0 ? exp2((2 * x - 1) * 420) : i % 4 == 1 ? 1 - ldexp(x, -(i % 40)) : x + 0x1p-30;
}

static void print(const char *name, double x, vd y) {
  double lane[VD_LANES];
  uint64_t a, b;
  vd_store(lane, y);
  memcpy(&a, &x, sizeof a);
  memcpy(&b, lane, sizeof b);
  printf("%s %llu %llu\n", name, (unsigned long long)a, (unsigned long long)b);
}

int main(void) {
  for (int i = 0; i < COUNT; i++) {
    double y = base(i), x = i % 5 ? y : -y;
    print("power64", y, vd_power(vd_set1(y), 2.5));
    print("profile1", x, vd_profile(vd_set1(x), 1));
    print("profile2", x, vd_profile(vd_set1(x), 2));
    print("profile3", x, vd_profile(vd_set1(x), 3));
  }
  return 0;
}
