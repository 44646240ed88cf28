/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Synthetic problems: small, seeded, the same on every machine. Numbers come from splitmix64 by
 * exact arithmetic only. */
#include "synthetic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

static const synthetic_case cases[] = {
    {"softmax", "normal", FILL_NORMAL, 2, 2, 33, 33, 16, 16, "", 0},
    {"softmax", "causal", FILL_NORMAL, 2, 1, 40, 40, 8, 12, "causal=top-left", 0},
    {"softmax", "bottom-right", FILL_NORMAL, 2, 2, 5, 37, 8, 8, "causal=bottom-right", 0},
    {"softmax", "more-queries", FILL_NORMAL, 1, 1, 19, 7, 8, 8, "causal=bottom-right", 0},
    {"softmax", "window", FILL_NORMAL, 1, 1, 50, 50, 8, 8, "causal=top-left window=4,0", 0},
    {"softmax", "window-both", FILL_NORMAL, 1, 1, 50, 50, 8, 8, "window=2,3", 0},
    {"softmax", "bias", FILL_NORMAL, 2, 2, 17, 23, 8, 8, "", WITH_BIAS},
    {"softmax", "mask", FILL_NORMAL, 2, 2, 17, 23, 8, 8, "", WITH_MASK},
    {"softmax", "mask-nan", FILL_NORMAL, 2, 2, 17, 23, 8, 8, "empty-row=nan", WITH_MASK},
    {"softmax", "alibi", FILL_NORMAL, 4, 4, 24, 24, 8, 8, "causal=top-left", WITH_SLOPES},
    {"softmax", "softcap", FILL_NORMAL, 2, 2, 24, 24, 8, 8, "softcap=5", 0},
    {"softmax", "sinks", FILL_NORMAL, 2, 2, 24, 24, 8, 8, "causal=top-left", WITH_SINKS},
    {"softmax", "packed", FILL_NORMAL, 2, 1, 48, 48, 8, 8, "layout=thd causal=bottom-right",
     WITH_LENGTHS},
    {"softmax", "everything", FILL_NORMAL, 4, 2, 21, 29, 8, 10,
     "causal=bottom-right window=12,0 softcap=8 temperature=3/2 lse-base=2 scale=1/4",
     WITH_BIAS | WITH_MASK | WITH_SLOPES | WITH_SINKS},
    {"softmax", "negative-scale", FILL_NORMAL, 1, 1, 16, 16, 8, 8, "scale=-1/3", 0},
    {"softmax", "zero-scale", FILL_NORMAL, 1, 1, 16, 16, 8, 8, "scale=0", 0},
    {"softmax", "ties", FILL_TIES, 2, 2, 16, 31, 8, 8, "", 0},
    {"softmax", "duplicates", FILL_DUPLICATES, 2, 2, 16, 30, 8, 8, "", 0},
    {"softmax", "dominant", FILL_DOMINANT, 2, 2, 16, 32, 8, 8, "", 0},
    {"softmax", "steep", FILL_STEEP, 1, 1, 16, 32, 8, 8, "scale=1", 0},
    {"softmax", "denormal", FILL_DENORMAL, 1, 1, 16, 32, 8, 8, "", 0},
    {"softmax", "huge", FILL_HUGE, 1, 1, 16, 32, 8, 8, "", 0},
    {"softmax", "cancel", FILL_CANCEL, 1, 1, 16, 32, 8, 8, "", 0},
    {"softmax", "one-key", FILL_NORMAL, 2, 2, 9, 1, 8, 8, "", 0},
    {"softmax", "one-component", FILL_NORMAL, 2, 2, 33, 33, 1, 1, "causal=top-left", 0},
    {"softmax", "long", FILL_NORMAL, 1, 1, 4, 3000, 16, 16, "", 0},
    {"softmax", "wide", FILL_NORMAL, 1, 1, 4, 40, 256, 200, "", 0},
    {"taylor", "unit-recurrent", FILL_UNIT, 1, 1, 1024, 1024, 16, 64,
     "degree=2 scale=1/2 causal=top-left form=recurrent", 0},
    {"taylor", "unit-chunked", FILL_UNIT, 1, 1, 1024, 1024, 16, 64,
     "degree=2 scale=1/2 causal=top-left form=chunked chunk=256", 0},
    {"taylor", "degree-0", FILL_NORMAL, 1, 1, 20, 20, 8, 8, "degree=0", 0},
    {"taylor", "degree-1", FILL_NORMAL, 1, 1, 40, 40, 8, 8, "degree=1 causal=top-left", 0},
    {"taylor", "degree-3", FILL_NORMAL, 2, 1, 40, 40, 8, 8,
     "degree=3 form=recurrent causal=top-left", 0},
    {"taylor", "degree-8", FILL_NORMAL, 1, 1, 24, 24, 3, 8, "degree=8 form=chunked chunk=5", 0},
    {"taylor", "opposite", FILL_OPPOSITE, 1, 1, 24, 24, 8, 8, "degree=3 scale=1", 0},
    {"taylor", "vanishing", FILL_VANISHING, 1, 1, 8, 24, 8, 8, "degree=2", 0},
    {"taylor", "window", FILL_NORMAL, 1, 1, 50, 50, 8, 8, "degree=2 causal=top-left window=4,0", 0},
    {"taylor", "mask", FILL_NORMAL, 2, 2, 17, 23, 8, 8, "degree=2 empty-row=nan", WITH_MASK},
    {"taylor", "packed", FILL_NORMAL, 2, 1, 48, 48, 8, 8,
     "degree=2 layout=thd causal=bottom-right form=chunked chunk=7", WITH_LENGTHS},
    {"taylor", "bottom-right", FILL_NORMAL, 2, 2, 5, 37, 8, 8,
     "degree=2 causal=bottom-right form=recurrent", 0},
    {"taylor", "state", FILL_NORMAL, 2, 1, 24, 24, 8, 8, "degree=2 causal=top-left form=recurrent",
     WITH_STATE},
    {"taylor", "decay", FILL_NORMAL, 2, 1, 40, 40, 8, 8,
     "degree=2 causal=top-left form=chunked decay=0.9 eps=1e-6", WITH_STATE},
    {"taylor", "none", FILL_NORMAL, 1, 1, 24, 24, 8, 8, "degree=2 normalize=none scale=-1/3", 0},
    {"taylor", "steep", FILL_STEEP, 1, 1, 16, 32, 8, 8, "degree=2 scale=1", 0},
    {"taylor", "denormal", FILL_DENORMAL, 1, 1, 16, 32, 8, 8, "degree=2", 0},
    {"taylor", "cancel", FILL_CANCEL, 1, 1, 16, 32, 8, 8, "degree=2", 0},
    {"taylor", "one-key", FILL_NORMAL, 2, 2, 9, 1, 8, 8, "degree=3", 0},
    {"taylor", "long", FILL_NORMAL, 1, 1, 4, 3000, 4, 8, "degree=2 form=chunked", 0},
    {"linear", "relu", FILL_NORMAL, 1, 1, 24, 24, 8, 8, "feature=relu causal=top-left eps=1e-10",
     0},
    {"linear", "identity", FILL_NORMAL, 1, 1, 24, 24, 8, 8, "causal=top-left", 0},
    {"linear", "vanishing", FILL_VANISHING, 1, 1, 8, 24, 8, 8, "", 0},
    {"linear", "taylor", FILL_NORMAL, 1, 1, 24, 24, 8, 8, "feature=taylor degree=2 causal=top-left",
     WITH_STATE},
    {"linear", "decay", FILL_NORMAL, 1, 1, 24, 24, 8, 8,
     "feature=elu1 causal=top-left normalize=none decay=7/8", WITH_STATE},
    {"rope-softmax", "interleaved", FILL_NORMAL, 2, 1, 40, 40, 8, 8, "causal=top-left", 0},
    {"rope-softmax", "half", FILL_NORMAL, 2, 2, 33, 33, 16, 8,
     "rope-pairs=half rope-base=500000 window=20,4", 0},
    {"rope-softmax", "everything", FILL_NORMAL, 2, 2, 21, 29, 8, 10,
     "causal=bottom-right softcap=8 temperature=3/2 lse-base=2 scale=1/4 rope-base=sqrt(10)",
     WITH_BIAS | WITH_MASK | WITH_SLOPES | WITH_SINKS},
    {"rope-softmax", "steep", FILL_STEEP, 1, 1, 16, 32, 8, 8, "scale=1", 0},
    {"rope-softmax", "packed", FILL_NORMAL, 2, 1, 48, 48, 8, 8, "layout=thd causal=bottom-right",
     WITH_LENGTHS},
    {"rope-softmax", "long", FILL_NORMAL, 1, 1, 2, 3000, 16, 8, "causal=bottom-right", 0},
    {"rope-linear", "sum", FILL_NORMAL, 2, 1, 24, 24, 8, 8, "causal=top-left", 0},
    {"rope-linear", "none", FILL_NORMAL, 2, 2, 17, 23, 8, 8, "normalize=none rope-pairs=half", 0},
    {"rope-linear", "eps", FILL_NORMAL, 1, 1, 24, 24, 4, 8, "eps=1/8 scale=-2", WITH_MASK},
    {"rope-linear", "steep", FILL_STEEP, 1, 1, 16, 32, 8, 8, "scale=1", 0},
    {"toeplitz", "general", FILL_NORMAL, 2, 2, 24, 24, 6, 8, "", WITH_WEIGHTS},
    {"toeplitz", "causal", FILL_NORMAL, 2, 1, 31, 31, 4, 8, "causal=top-left scale=1/4",
     WITH_WEIGHTS},
    {"toeplitz", "uneven", FILL_NORMAL, 1, 1, 9, 40, 3, 8, "causal=bottom-right temperature=3",
     WITH_WEIGHTS | WITH_MASK},
    {"toeplitz", "steep", FILL_STEEP, 1, 1, 16, 16, 2, 8, "scale=1/10", WITH_WEIGHTS},
    {"toeplitz", "ties", FILL_TIES, 1, 1, 12, 12, 4, 8, "", WITH_WEIGHTS},
    {"toeplitz", "polynomial", FILL_NORMAL, 2, 1, 40, 40, 4, 8, "causal=top-left scale=1/4",
     WITH_WEIGHTS | WITH_COEFFICIENTS},
    {"toeplitz", "fft", FILL_NORMAL, 1, 1, 60, 60, 2, 4, "form=fft scale=1/16", WITH_WEIGHTS},
    {"toeplitz", "fft-causal", FILL_NORMAL, 1, 1, 60, 60, 2, 4,
     "form=fft causal=top-left scale=1/16", WITH_WEIGHTS},
    {"toeplitz", "fft-recomputed", FILL_DOMINANT, 1, 1, 40, 40, 2, 4,
     "form=fft causal=top-left scale=1/14", WITH_WEIGHTS},
    {"toeplitz", "blocked", FILL_NORMAL, 1, 1, 150, 150, 2, 4,
     "form=blocked causal=top-left scale=1/32", WITH_WEIGHTS},
    {"toeplitz", "polynomial-fft", FILL_NORMAL, 2, 1, 100, 100, 2, 4,
     "form=fft causal=top-left scale=1/16", WITH_WEIGHTS | WITH_COEFFICIENTS},
    {"toeplitz", "polynomial-blocked", FILL_NORMAL, 1, 1, 200, 200, 2, 4,
     "form=blocked causal=top-left scale=1/16", WITH_WEIGHTS | WITH_COEFFICIENTS},
    {"rope-linear", "polynomial", FILL_NORMAL, 1, 1, 30, 30, 4, 8,
     "causal=top-left rope-pairs=half", WITH_COEFFICIENTS},
    {"rope-linear", "polynomial-fft", FILL_NORMAL, 1, 1, 90, 90, 2, 4, "form=fft scale=1/8",
     WITH_COEFFICIENTS},
    {"rope-linear", "polynomial-sums", FILL_NORMAL, 1, 1, 100, 100, 2, 4,
     "form=blocked causal=top-left scale=1/8 normalize=none", WITH_COEFFICIENTS},
    {"rope-softmax", "fft", FILL_NORMAL, 2, 1, 60, 60, 2, 4, "form=fft causal=top-left scale=1/8",
     0},
    {"rope-softmax", "blocked", FILL_NORMAL, 1, 1, 130, 130, 2, 4,
     "form=blocked causal=top-left scale=1/8", 0},
    {"rope-softmax", "low-rank", FILL_NORMAL, 2, 1, 80, 80, 4, 8,
     "form=low-rank causal=top-left scale=1/8 rope-pairs=half", 0},
};
const size_t synthetic_count = sizeof cases / sizeof *cases;

const char *synthetic_name(size_t i) {
  return cases[i].name;
}

/* In the setting of the paper, d = 16 and dv = 64, unit rows and scale 1/2, "exact to 1e-16" is
 * what float64 gives; float32 gives 1e-7. */
const char *synthetic_bound(size_t i, attest_dtype dtype) {
  if (cases[i].fill != FILL_UNIT) return NULL;
  return dtype == ATTEST_FLOAT64 ? "out:abs<=2e-15" : "out:abs<=5e-7";
}

/* ---- numbers ---- */

static float normal(uint64_t *state) {
  return (float)generate_normal(state);
}

void synthetic_unit_rows(float *x, int64_t rows, int64_t width) {
  for (float *end = x + rows * width; x < end; x += width) {
    double squares = 0;
    for (int64_t i = 0; i < width; i++)
      squares += (double)x[i] * x[i];
    for (int64_t i = 0; i < width && squares > 0; i++)
      x[i] = (float)(x[i] / sqrt(squares));
  }
}

static void fill_normal(float *x, int64_t n, uint64_t *state) {
  for (int64_t i = 0; i < n; i++)
    x[i] = normal(state);
}

/* One head of keys and values after a normal fill. */
static void shape_head(const synthetic_case *c, float *k, float *v, uint64_t *state) {
  int64_t group = c->fill == FILL_TIES ? c->nk : c->fill == FILL_DUPLICATES ? 3 : 2;
  for (int64_t j = 0; j < c->nk; j++) {
    float *key = k + j * c->d, *value = v + j * c->dv;
    int opposite = c->fill == FILL_OPPOSITE || c->fill == FILL_VANISHING;
    int repeats = c->fill == FILL_TIES || c->fill == FILL_DUPLICATES || c->fill == FILL_CANCEL;
    if ((repeats || opposite) && j % group) memcpy(key, key - c->d, (size_t)c->d * sizeof *key);
    for (int64_t a = 0; opposite && j % group && a < c->d; a++)
      key[a] *= c->fill == FILL_VANISHING ? -1 : -1.0001f;
    for (int64_t a = 0; a < c->d; a++)
      if (c->fill == FILL_DOMINANT && j == c->nk / 2)
        key[a] *= 12;
      else if (c->fill == FILL_STEEP)
        key[a] *= 1200;
      else if (c->fill == FILL_GIANT)
        key[a] *= 0x1p30f;
      else if (c->fill == FILL_LOW)
        key[a] -= 64;
      else if (c->fill == FILL_RISING)
        key[a] += (float)j / 32;
    for (int64_t a = 0; a < c->dv; a++)
      if (c->fill == FILL_DENORMAL)
        value[a] = (float)(generate_uniform(state) * 0x1p-128);
      else if (c->fill == FILL_HUGE)
        value[a] *= 0x1p124f;
      else if (c->fill == FILL_CANCEL && j % 2)
        value[a] = a % 2 ? -value[a - c->dv] : -value[a - c->dv] * 0x1.000002p0f;
  }
}

/* ---- tensors ---- */

enum { HIDDEN_KEYS = 4 };

/* Tensors one after the other in one block. */
typedef struct {
  unsigned char *data;
  size_t used, size;
} arena;

static void *take(arena *a, int64_t count, size_t item) {
  void *p = a->data + a->used;
  a->used += ((size_t)count * item + 63) / 64 * 64;
  return p;
}

static attest_status add(attest_problem *p, const char *name, void *data, attest_dtype dtype,
                         int ndim, int64_t s0, int64_t s1, int64_t s2, attest_error *error) {
  const int64_t shape[3] = {s0, s1, s2};
  attest_tensor t = attest_tensor_of(data, dtype, ndim, shape);
  return attest_problem_input(p, name, &t, error);
}

static attest_status add_qkv(attest_problem *p, arena *a, const synthetic_case *c, uint64_t *state,
                             attest_error *error) {
  int64_t q_count = c->heads_q * c->nq * c->d, k_count = c->heads_k * c->nk * c->d;
  int64_t v_count = c->heads_k * c->nk * c->dv;
  float *q = take(a, q_count, sizeof *q), *k = take(a, k_count, sizeof *k);
  float *v = take(a, v_count, sizeof *v);
  fill_normal(q, q_count, state);
  fill_normal(k, k_count, state);
  fill_normal(v, v_count, state);
  for (int64_t i = 0; i < q_count && (c->fill == FILL_LOW || c->fill == FILL_RISING); i++)
    q[i] = fabsf(q[i]) + 1;
  if (c->fill == FILL_UNIT) {
    synthetic_unit_rows(q, q_count / c->d, c->d);
    synthetic_unit_rows(k, k_count / c->d, c->d);
  }
  for (int64_t h = 0; h < c->heads_k; h++)
    shape_head(c, k + h * c->nk * c->d, v + h * c->nk * c->dv, state);
  for (int64_t h = 0; h < c->heads_k && c->with & WITH_HIDDEN_NAN; h++)
    for (int64_t j = c->nk - HIDDEN_KEYS; j < c->nk; j++) {
      k[(h * c->nk + j) * c->d] = NAN;
      v[(h * c->nk + j) * c->dv + c->dv - 1] = NAN;
    }
  if (c->with & WITH_SEEN_NAN) v[c->dv + 1] = NAN;
  int packed = (c->with & WITH_LENGTHS) != 0; /* axes (t, h, d): any order of noise will do */
  attest_status status = add(p, "q", q, ATTEST_FLOAT32, 3, packed ? c->nq : c->heads_q,
                             packed ? c->heads_q : c->nq, c->d, error);
  if (!status)
    status = add(p, "k", k, ATTEST_FLOAT32, 3, packed ? c->nk : c->heads_k,
                 packed ? c->heads_k : c->nk, c->d, error);
  if (!status)
    status = add(p, "v", v, ATTEST_FLOAT32, 3, packed ? c->nk : c->heads_k,
                 packed ? c->heads_k : c->nk, c->dv, error);
  return status;
}

static attest_status add_lengths(attest_problem *p, arena *a, const synthetic_case *c,
                                 attest_error *error) {
  int32_t *q = take(a, 4, sizeof *q), *k = take(a, 4, sizeof *k);
  const int32_t q_ends[4] = {0, 11, 11, (int32_t)c->nq}, k_ends[4] = {0, 20, 25, (int32_t)c->nk};
  memcpy(q, q_ends, sizeof q_ends);
  memcpy(k, k_ends, sizeof k_ends);
  attest_status status = add(p, "cu-seqlens-q", q, ATTEST_INT32, 1, 4, 0, 0, error);
  return status ? status : add(p, "cu-seqlens-k", k, ATTEST_INT32, 1, 4, 0, 0, error);
}

enum { COEFFICIENTS = 8 };

/* 2 n - 1, n the larger of nq and nk. */
static int64_t weight_matrices(const synthetic_case *c) {
  return 2 * (c->nq > c->nk ? c->nq : c->nk) - 1;
}

static attest_status add_extras(attest_problem *p, arena *a, const synthetic_case *c,
                                uint64_t *state, attest_error *error) {
  attest_status status = ATTEST_OK;
  if (c->with & WITH_BIAS) {
    float *bias = take(a, c->nq * c->nk, sizeof *bias);
    fill_normal(bias, c->nq * c->nk, state);
    status = add(p, "bias", bias, ATTEST_FLOAT32, 2, c->nq, c->nk, 0, error);
  }
  if (!status && c->with & WITH_MASK) {
    unsigned char *mask = take(a, c->nq * c->nk, 1);
    for (int64_t i = 0; i < c->nq * c->nk; i++)
      mask[i] = i / c->nk != 1 && generate_uniform(state) < 0.7;
    status = add(p, "mask", mask, ATTEST_BOOL, 2, c->nq, c->nk, 0, error);
  }
  if (!status && c->with & WITH_PADDING) {
    unsigned char *mask = take(a, c->nk, 1);
    memset(mask, 1, (size_t)(c->nk - HIDDEN_KEYS));
    status = add(p, "mask", mask, ATTEST_BOOL, 2, 1, c->nk, 0, error);
  }
  if (!status && c->with & WITH_SLOPES) {
    float *slopes = take(a, c->heads_q, sizeof *slopes);
    for (int64_t h = 0; h < c->heads_q; h++)
      slopes[h] = ldexpf(1, (int)-h - 1);
    status = add(p, "alibi-slopes", slopes, ATTEST_FLOAT32, 1, c->heads_q, 0, 0, error);
  }
  if (!status && c->with & WITH_SINKS) {
    float *sinks = take(a, c->heads_q, sizeof *sinks);
    fill_normal(sinks, c->heads_q, state);
    status = add(p, "sinks", sinks, ATTEST_FLOAT32, 1, c->heads_q, 0, 0, error);
  }
  if (!status && c->with & WITH_LENGTHS) status = add_lengths(p, a, c, error);
  if (!status && c->with & WITH_WEIGHTS) {
    int64_t matrices = weight_matrices(c), count = matrices * c->d * c->d;
    float *weights = take(a, count, sizeof *weights);
    fill_normal(weights, count, state);
    for (int64_t n = 0; n < count; n += 3)
      weights[n] = 0;
    status = add(p, "weights", weights, ATTEST_FLOAT32, 3, matrices, c->d, c->d, error);
  }
  if (!status && c->with & WITH_COEFFICIENTS) {
    float *x = take(a, COEFFICIENTS, sizeof *x);
    x[0] = 1;
    for (int t = 1; t < COEFFICIENTS; t++)
      x[t] = x[t - 1] / (float)t;
    status = add(p, "coefficients", x, ATTEST_FLOAT32, 1, COEFFICIENTS, 0, 0, error);
  }
  return status;
}

attest_status synthetic_params(attest_problem *p, const char *params, attest_error *error) {
  char *copy = strdup(params), *rest = copy, *item;
  attest_status status = copy ? ATTEST_OK : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  while (!status && (item = strsep(&rest, " "))) {
    char *value = strchr(item, '=');
    if (!value) continue;
    *value++ = 0;
    status = attest_problem_set(p, item, value, error);
  }
  free(copy);
  return status;
}

enum { STATE_ROWS_MAX = 64 };

/* The state that 7 keys of their own leave behind, about; its shape is known once the problem is
 * resolved. The normaliser's column is positive. */
static attest_status add_state(attest_problem *p, arena *a, uint64_t *state, attest_error *error) {
  attest_status status = problem_resolve(p, error);
  if (status) return status;
  if (p->state_rows > STATE_ROWS_MAX)
    return attest_fail(error, ATTEST_ERR_SUPPORT, "the synthetic state has %lld rows",
                       (long long)p->state_rows);
  int64_t count = p->heads_k * p->state_rows * p->state_width;
  float *x = take(a, count, sizeof *x);
  fill_normal(x, count, state);
  for (int64_t i = 0; i < count; i++)
    if (i % p->state_width == p->dv) x[i] = 7 * fabsf(x[i]) + (i / p->state_width ? 0 : 7);
  return add(p, "initial-state", x, ATTEST_FLOAT32, 3, p->heads_k, p->state_rows, p->state_width,
             error);
}

static size_t storage_size(const synthetic_case *c) {
  int64_t floats = c->heads_q * c->nq * c->d + c->heads_k * c->nk * (c->d + c->dv) +
                   2 * c->nq * c->nk + 2 * c->heads_q + 8 + COEFFICIENTS;
  if (c->with & WITH_WEIGHTS) floats += weight_matrices(c) * c->d * c->d;
  if (c->with & WITH_STATE) floats += c->heads_k * STATE_ROWS_MAX * (c->dv + 1);
  return (size_t)floats * sizeof(float) + 16 * 64;
}

attest_status synthetic_build(attest_problem **problem, void **storage, const synthetic_case *c,
                              uint64_t seed, attest_error *error) {
  arena a = {.size = storage_size(c)};
  uint64_t state = seed;
  *storage = a.data = calloc(a.size, 1);
  *problem = attest_problem_new(c->kernel, error);
  if (!a.data || !*problem)
    return *problem ? attest_fail(error, ATTEST_ERR_MEMORY, "out of memory") : error->status;
  attest_status status = synthetic_params(*problem, c->params, error);
  if (!status) status = add_qkv(*problem, &a, c, &state, error);
  if (!status) status = add_extras(*problem, &a, c, &state, error);
  if (!status && c->with & WITH_STATE) status = add_state(*problem, &a, &state, error);
  return status ? status : problem_resolve(*problem, error);
}

attest_status synthetic_problem(attest_problem **problem, void **storage, size_t i,
                                attest_error *error) {
  return synthetic_build(problem, storage, &cases[i], 1000 + i, error);
}
