/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "isa.h"

/* 12 independent chains of fused multiply-adds, as many as hide the latency everywhere. */
double ISA(isa_fma_chains)(int64_t steps);
double ISA(isa_fma_chains)(int64_t steps) {
  vf sum[12], a = vf_set1(0.9999999f), b = vf_set1(1e-9f);
  for (int i = 0; i < 12; i++)
    sum[i] = vf_set1((float)i);
  for (int64_t k = 0; k < steps; k++) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++)
      sum[i] = vf_fma(sum[i], a, b);
  }
  double total = 0;
  for (int i = 0; i < 12; i++)
    total += (double)sum[i][0];
  return total;
}
