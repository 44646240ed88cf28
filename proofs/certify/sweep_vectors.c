/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inputs of the compiled enclosures of sweeps, and mid and rad side by side as one number of 128
 * bits: "log X 0xMIDRAD". X is a float, as the bits of the double that it is. */
#include <inttypes.h>
#include <stdio.h>

#include "../../src/certify/sweep_enclose_isa.c"

enum { COUNT = 200, EDGES = 12 };

static uint64_t state = UINT64_C(88172645463325252);

/* Uniform in [0, 1). */
static double uniform(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) * 0x1p-53;
}

/* Input i of a domain from least on: edges, then every binade, all sizes to 4, near 1 and -1. */
static float input(int i, float least) {
  static const float edge[EDGES] = {
      0x1p-149f,       -0x1p-149f,     0x1p-126f,      0x1.fffffep+127f, 1,
      0x1.fffffep-1f,  0x1.000002p+0f, 0x1.6a09e6p-1f, -0x1.fffffep-1f,  0x1.a3d70ap-2f,
      -0x1.28f5c2p-2f, 0x1.6a09e6p+0f};
  double x = 2 * uniform() - 1;
  if (i < EDGES)
    x = edge[i];
  else if (i % 4 == 0)
    x = ldexp(x, (int)(uniform() * 276) - 148);
  else if (i % 4 == 1)
    x = (i % 8 == 1 ? 1 : -1) + ldexp(x, -(i % 24));
  else
    x *= 4;
  if ((float)x < least) x = -x;
  return (float)x < least ? 1 : (float)x;
}

static void print(const char *name, sweep_enclose *enclose, int degree, float least) {
  float x[COUNT];
  double mid[COUNT], rad[COUNT];
  sweep_constants constants = {.degree = degree};
  for (int i = 0; i < COUNT; i++)
    x[i] = input(i, least);
  enclose(mid, rad, x, COUNT, &constants);
  for (int i = 0; i < COUNT; i++) {
    double wide = (double)x[i];
    uint64_t bits[3];
    memcpy(bits, &wide, sizeof wide);
    memcpy(bits + 1, mid + i, sizeof *mid);
    memcpy(bits + 2, rad + i, sizeof *rad);
    printf("%s", name);
    if (degree >= 0) printf("_%d", degree);
    printf(" %" PRIu64 " 0x%016" PRIx64 "%016" PRIx64 "\n", bits[0], bits[1], bits[2]);
  }
}

int main(void) {
  float least = 0x1p-149f, all = -0x1.fffffep+127f;
  print("exp", ISA(sweep_enclose_exp), -1, all);
  print("gaussian", ISA(sweep_enclose_gaussian), -1, all);
  print("exp2", ISA(sweep_enclose_exp2), -1, all);
  print("expm1", ISA(sweep_enclose_expm1), -1, all);
  print("tanh", ISA(sweep_enclose_tanh), -1, all);
  print("sigmoid", ISA(sweep_enclose_sigmoid), -1, all);
  print("silu", ISA(sweep_enclose_silu), -1, all);
  print("log", ISA(sweep_enclose_log), -1, least);
  print("log2", ISA(sweep_enclose_log2), -1, least);
  print("log1p", ISA(sweep_enclose_log1p), -1, -0x1.fffffep-1f);
  print("sqrt", ISA(sweep_enclose_sqrt), -1, 0);
  print("rsqrt", ISA(sweep_enclose_rsqrt), -1, least);
  print("reciprocal", ISA(sweep_enclose_reciprocal), -1, all);
  for (int degree = 0; degree <= 8; degree++)
    print("taylor", ISA(sweep_enclose_taylor), degree, all);
  for (int degree = 1; degree <= 3; degree++)
    print("profile", ISA(sweep_enclose_profile), degree, all);
  return 0;
}
