/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "exp.h"
#include "log_isa.h"

/* Whole vectors, then the rest through a padded copy. */
#define ARRAY(name, function, v, real, lanes)                                                      \
  void ISA(name)(real * y, const real *x, size_t n);                                               \
  void ISA(name)(real * y, const real *x, size_t n) {                                              \
    size_t i = 0;                                                                                  \
    for (; i + lanes <= n; i += lanes)                                                             \
      v##_store(y + i, function(v##_load(x + i)));                                                 \
    if (i < n) {                                                                                   \
      real rest[lanes] = {0};                                                                      \
      memcpy(rest, x + i, (n - i) * sizeof(real));                                                 \
      v##_store(rest, function(v##_load(rest)));                                                   \
      memcpy(y + i, rest, (n - i) * sizeof(real));                                                 \
    }                                                                                              \
  }

ARRAY(exp32_array, vf_exp, vf, float, VF_LANES)
ARRAY(exp64_array, vd_exp, vd, double, VD_LANES)
ARRAY(tanh32_array, vf_tanh, vf, float, VF_LANES)
ARRAY(tanh64_array, vd_tanh, vd, double, VD_LANES)
ARRAY(log64_array, vd_log, vd, double, VD_LANES)
