/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "exp.h"

#include "../tensor/isa.h"

#define DISPATCH(name, real)                                                                       \
  ISA_DECLARE(void, name, (real * y, const real *x, size_t n));                                    \
  void name(real *y, const real *x, size_t n) {                                                    \
    ISA_DISPATCH(name)(y, x, n);                                                                   \
  }

DISPATCH(exp32_array, float)
DISPATCH(exp64_array, double)
DISPATCH(tanh32_array, float)
DISPATCH(tanh64_array, double)

/* x = 2^e f with f in [sqrt 1/2, sqrt 2); log f = 2 atanh z, z = (f-1)/(f+1), |z| <= 0.1716, by its
 * series to z^23 (the rest is below 2^-62). f - 1 is exact; z carries 2 roundings, the series 4,
 * so log f is off by at most 2^-53 * 6 * 0.35; e LN2_HI is exact; the final addition rounds once.
 */
double log64(double x) {
  int e;
  double f = frexp(x, &e);
  if (f < 0x1.6a09e667f3bcdp-1) { /* sqrt 1/2 */
    f *= 2;
    e--;
  }
  double z = (f - 1) / (f + 1), z2 = z * z, series = 0;
  for (int k = 23; k >= 3; k -= 2)
    series = (series + 1.0 / k) * z2;
  double log_f = 2 * (z + z * series);
  return e * EXP64_LN2_HI + (e * EXP64_LN2_LO + log_f);
}
