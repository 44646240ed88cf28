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
DISPATCH(log64_array, double)

double log64(double x) {
  double y;
  log64_array(&y, &x, 1);
  return y;
}
