/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The suite's own float32 functions, as sweeps see them. */
#include <float.h>

#include "../enclosure/exp.h"
#include "../problem/rotary.h"
#include "../sparse/kernel.h"
#include "../taylor/kernel.h"
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

/* ---- weights of Taylor attention ------------------------------------------------------------- */

static attest_status open_taylor(void **context, const sweep_function *f, attest_error *error) {
  problem_real one;
  taylor_plan *plan;
  problem_real_init(&one);
  problem_real_set_si(&one, 1);
  attest_status status = taylor_plan_open_taylor(&plan, 1, 1, f->reference->degree, &one, 0, error);
  problem_real_clear(&one);
  *context = plan;
  return status;
}

static void close_taylor(void *context) {
  taylor_plan_close(context);
}

static void run_taylor(float *out, const float *in, int64_t n, const void *context) {
  float rest[TAYLOR_LANES] = {0};
  int64_t whole = n / TAYLOR_LANES * TAYLOR_LANES;
  size_t left = (size_t)(n - whole) * sizeof *in;
  memcpy(out, in, (size_t)whole * sizeof *in);
  memcpy(rest, in + whole, left);
  ISA_DISPATCH(taylor_weigh_f32)(out, whole, context);
  ISA_DISPATCH(taylor_weigh_f32)(rest, TAYLOR_LANES, context);
  memcpy(out + whole, rest, left);
}

/* ---- profiles of the sparse kernels ---------------------------------------------------------- */

/* A problem of one pair at bandwidth 1, whose distance is the input. */
typedef struct {
  attest_problem *problem;
  sparse_pack pack;
  float one[3];
} profile;

static void close_profile(void *context) {
  profile *p = context;
  if (p) attest_problem_free(p->problem);
  free(p);
}

static attest_status open_profile(void **context, const sweep_function *f, attest_error *error) {
  static const char *const names[] = {"q", "k", "v"};
  const int64_t shape[] = {1, 1};
  profile *p = *context = calloc(1, sizeof *p);
  if (!p) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  p->problem = attest_problem_new(f->reference->name, error);
  attest_status status = p->problem ? ATTEST_OK : error->status;
  if (!status) status = attest_problem_set(p->problem, "bandwidth", "1", error);
  for (int i = 0; i < 3 && !status; i++) {
    attest_tensor t = attest_tensor_of(&p->one[i], ATTEST_FLOAT32, 2, shape);
    status = attest_problem_input(p->problem, names[i], &t, error);
  }
  if (!status) status = problem_resolve(p->problem, error);
  if (status) return status;
  problem_slice slice;
  problem_slice_get(&slice, p->problem, 0);
  sparse_pack_parameters(&p->pack, p->problem, &slice);
  return ATTEST_OK;
}

/* The weights that the support gives to a row of distances. exp(-x/2) is relative to the largest
 * weight of a row, so that a distance of 0 is put behind the others. */
static void run_profile(float *out, const float *in, int64_t n, const void *context) {
  const profile *p = context;
  sparse_support support;
  int is_gaussian = p->pack.kernel->rule == RULE_EXP;
  float factor = is_gaussian ? -0.5f : -1, shift = is_gaussian ? 0 : 1;
  float *score = malloc((size_t)(n + 1) * sizeof *score);
  int ready = score && sparse_support_open(&support, n + 1);
  for (int64_t i = 0; i < n; i++)
    out[i] = ready ? 0 : NAN;
  if (ready) {
    /* A negative distance, which is none, would weigh more than all others. */
    for (int64_t i = 0; i < n; i++)
      score[i] = (is_gaussian && !(in[i] >= 0) ? 0 : in[i]) * factor + shift;
    score[n] = shift;
    sparse_support_f32(&support, score, n + 1, &p->pack);
    for (int64_t i = 0; i < support.count && support.key[i] < n; i++)
      out[support.key[i]] = (float)support.weight[i];
    for (int64_t i = 0; i < n; i++)
      if (is_gaussian && !(in[i] >= 0)) out[i] = NAN;
    sparse_support_close(&support);
  }
  free(score);
}

/* ---- phases of rotary embedding -------------------------------------------------------------- */

enum { POSITIONS = 1 << 20 };

typedef struct {
  problem_rotary *rotary;
  int64_t pair;
} phases;

static void close_phases(void *context) {
  phases *p = context;
  if (p) problem_rotary_close(p->rotary);
  free(p);
}

static attest_status open_phases(void **context, const sweep_function *f, attest_error *error) {
  phases *p = *context = calloc(1, sizeof *p);
  if (!p) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  p->pair = f->pair;
  return problem_rotary_open(&p->rotary, &f->rope->values, f->d, POSITIONS, error);
}

static void fill_phases(float *out, const float *in, int64_t n, const phases *p, int is_sine) {
  for (int64_t i = 0; i < n; i++) {
    double cosine[2], sine[2];
    out[i] = NAN;
    if (!(in[i] >= 0 && in[i] < POSITIONS && in[i] == floorf(in[i]))) continue;
    problem_rotary_phase(cosine, sine, p->rotary, (int64_t)in[i], p->pair);
    out[i] = (float)(is_sine ? sine[0] : cosine[0]);
  }
}

static void run_rope_cos(float *out, const float *in, int64_t n, const void *context) {
  fill_phases(out, in, n, context, 0);
}

static void run_rope_sin(float *out, const float *in, int64_t n, const void *context) {
  fill_phases(out, in, n, context, 1);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define EVERYWHERE .least = -INFINITY, .most = INFINITY, .flush_below = NAN
/* Where x^degree <= 2^126: beyond, a sum that is off by a few units may overflow though the exact
 * one does not. Odd degrees have a zero, next to which the units are tiny. */
#define TAYLOR(degree, limit, promise)                                                             \
  {                                                                                                \
    .name = "taylor_weigh_f32", .reference = "taylor" #degree, .run = run_taylor,                  \
    .open = open_taylor, .close = close_taylor, .least = -limit, .most = limit,                    \
    .flush_below = NAN, .bound = promise                                                           \
  }
#define NEAR_ZERO "ulp<=4294967296"
#define PROFILE(reference_, promise)                                                               \
  {                                                                                                \
    .name = "sparse_support_f32", .reference = reference_, .run = run_profile,                     \
    .open = open_profile, .close = close_profile, .least = 0, .most = FLT_MAX, .flush_below = NAN, \
    .bound = promise                                                                               \
  }
#define PHASES(reference_, run_)                                                                   \
  {                                                                                                \
    .name = "problem_rotary_phase", .reference = reference_, .run = run_, .open = open_phases,     \
    .close = close_phases, .least = 0, .most = POSITIONS - 1, .flush_below = NAN, .integers = 1,   \
    .bound = "ulp<=0.5001"                                                                         \
  }

static const sweep_kernel kernels[] = {
    {.name = "exp32_array",
     .reference = "exp",
     .run = run_exp,
     .least = -INFINITY,
     .most = EXP32_MAX,
     .flush_below = EXP32_MIN,
     .bound = "rel<=1.5/16777216"},
    {.name = "tanh32_array",
     .reference = "tanh",
     .run = run_tanh,
     EVERYWHERE,
     .bound = "rel<=12/16777216"},
    {.name = "log64",
     .reference = "log",
     .run = run_log,
     .least = FLT_TRUE_MIN,
     .most = FLT_MAX,
     .flush_below = NAN,
     .bound = "ulp<=0.5001"},
    TAYLOR(0, INFINITY, "ulp<=0"),
    TAYLOR(1, 0x1p126f, "ulp<=0.5"),
    TAYLOR(2, 0x1p63f, "ulp<=8"),
    TAYLOR(3, 0x1p42f, NEAR_ZERO),
    TAYLOR(4, 0x1p31f, "ulp<=64"),
    TAYLOR(5, 0x1p25f, NEAR_ZERO),
    TAYLOR(6, 0x1p21f, "ulp<=512"),
    TAYLOR(7, 0x1p18f, NEAR_ZERO),
    TAYLOR(8, 0x1p15f, "ulp<=4096"),
    PROFILE("epanechnikov", "ulp<=0.5"),
    PROFILE("biweight", "ulp<=4"),
    PROFILE("triweight", "ulp<=4"),
    PROFILE("gaussian", "ulp<=0.5001"),
    PHASES("rope-cos", run_rope_cos),
    PHASES("rope-sin", run_rope_sin),
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
