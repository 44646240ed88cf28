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

/* One line an input. */
static void print_all(const char *name, sweep_enclose *enclose, const float x[COUNT],
                      const sweep_constants *constants) {
  double mid[COUNT], rad[COUNT];
  enclose(mid, rad, x, COUNT, constants);
  for (int i = 0; i < COUNT; i++) {
    double wide = (double)x[i];
    uint64_t bits[3];
    memcpy(bits, &wide, sizeof wide);
    memcpy(bits + 1, mid + i, sizeof *mid);
    memcpy(bits + 2, rad + i, sizeof *rad);
    printf("%s", name);
    if (constants->degree >= 0) printf("_%d", constants->degree);
    printf(" %" PRIu64 " 0x%016" PRIx64 "%016" PRIx64 "\n", bits[0], bits[1], bits[2]);
  }
}

static void print(const char *name, sweep_enclose *enclose, int degree, float least) {
  float x[COUNT];
  for (int i = 0; i < COUNT; i++)
    x[i] = input(i, least);
  print_all(name, enclose, x, &(sweep_constants){.degree = degree});
}

/* The quarter turns of 2^-24 and of 1 in the parts of sweep_constants, for x in [1/2, 1) and in
 * [2^23, 2^24). */
#define NEAR_UNIT 0x1p+24
#define NEAR_HIGH 0x1p-25
#define NEAR_MIDDLE 0x1.17cc1b8p-27
#define NEAR_LOW -0x1.b1bbead603d8bp-56
#define FAR_UNIT 0x1p0
#define FAR_HIGH 0x1.45f307p-1
#define FAR_MIDDLE -0x1.1b1bbfp-28
#define FAR_LOW 0x1.4a7f09d5f47d5p-54

/* sin and cos of angles below 1/2, and of x = m / UNIT. */
static void print_angles(void) {
  static const sweep_constants constants[] = {
      {.degree = -1, .is_small = 1, .theta = {1, 0}},
      {.degree = -1, .inverse_unit = NEAR_UNIT, .part = {NEAR_HIGH, NEAR_MIDDLE, NEAR_LOW}},
      {.degree = -1, .inverse_unit = FAR_UNIT, .part = {FAR_HIGH, FAR_MIDDLE, FAR_LOW}}};
  static const char *const names[] = {"small", "near", "far"};
  for (int k = 0; k < 3; k++) {
    float x[COUNT];
    char name[16];
    for (int i = 0; i < COUNT; i++) {
      double m = k ? floor(ldexp(1 + uniform(), 23)) / constants[k].inverse_unit
                   : ldexp(uniform(), -1 - (i < COUNT / 2 ? i : 0));
      x[i] = (float)(i % 2 ? -m : m);
    }
    snprintf(name, sizeof name, "sin_%s", names[k]);
    print_all(name, ISA(sweep_enclose_sin), x, constants + k);
    snprintf(name, sizeof name, "cos_%s", names[k]);
    print_all(name, ISA(sweep_enclose_cos), x, constants + k);
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
  print_angles();
  return 0;
}
