/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The suite's own float32 functions, as sweeps see them. */
#include <float.h>

#include "../enclosure/exp.h"
#include "sweep_engine.h"

static void run_exp(float *out, const float *in, int64_t n, const void *context) {
  (void)context;
  exp32_array(out, in, (size_t)n);
}

static void run_tanh(float *out, const float *in, int64_t n, const void *context) {
  (void)context;
  tanh32_array(out, in, (size_t)n);
}

/* The logarithm of log-sum-exp outputs. */
static void run_log(float *out, const float *in, int64_t n, const void *context) {
  (void)context;
  for (int64_t i = 0; i < n; i++)
    out[i] = in[i] > 0 && in[i] <= FLT_MAX ? (float)log64((double)in[i]) : NAN;
}

static const sweep_kernel kernels[] = {
    {.name = "exp32",
     .reference = "exp",
     .run = run_exp,
     .least = -INFINITY,
     .most = EXP32_MAX,
     .flush_below = EXP32_MIN,
     .bound = "rel<=1.5/16777216"},
    {.name = "tanh32",
     .reference = "tanh",
     .run = run_tanh,
     .least = -INFINITY,
     .most = INFINITY,
     .flush_below = NAN,
     .bound = "rel<=12/16777216"},
    {.name = "log64",
     .reference = "log",
     .run = run_log,
     .least = FLT_TRUE_MIN,
     .most = FLT_MAX,
     .flush_below = NAN,
     .bound = "ulp<=0.5001"},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

const sweep_kernel *sweep_kernel_find(const char *reference) {
  for (size_t i = 0; i < KERNELS; i++)
    if (!strcmp(kernels[i].reference, reference)) return &kernels[i];
  return NULL;
}

const char *sweep_kernel_bound(const sweep_function *f) {
  const sweep_kernel *k = sweep_kernel_find(f->reference->name);
  return k ? k->bound : NULL;
}

const char *sweep_subject_name(const sweep_request *request) {
  return request->foreign ? request->subject
                          : sweep_kernel_find(request->function.reference->name)->name;
}

sweep_segment sweep_kernel_segment(const sweep_kernel *k, const sweep_reference *r, uint32_t key) {
  uint32_t least = sweep_key(k->least), most = sweep_key(k->most);
  sweep_segment s = {.demand = SWEEP_OUTSIDE, .last = UINT32_MAX};
  if (key > most) return s;
  if (key < least) {
    s.last = least - 1;
    return s;
  }
  s = sweep_reference_segment(r, key);
  if (s.last > most) s.last = most;
  if (k->flush_below == k->flush_below && key < sweep_key(k->flush_below) &&
      s.demand == SWEEP_COMPARE) {
    s.demand = SWEEP_FLUSH;
    if (s.last >= sweep_key(k->flush_below)) s.last = sweep_key(k->flush_below) - 1;
  }
  return s;
}
