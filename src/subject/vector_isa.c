/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Calls of functions whose arguments and results are vectors. */
#include "function_shared.h"

typedef vf vector_function(vf);

void ISA(function_vectors)(function_code *function, float *out, const float *in, int64_t n) {
  vector_function *f = (vector_function *)function;
  int64_t i = 0;
  for (; i + VF_LANES <= n; i += VF_LANES)
    vf_store(out + i, f(vf_load(in + i)));
  if (i < n) {
    float rest[VF_LANES] = {0};
    memcpy(rest, in + i, (size_t)(n - i) * sizeof *rest);
    vf_store(rest, f(vf_load(rest)));
    memcpy(out + i, rest, (size_t)(n - i) * sizeof *rest);
  }
}
