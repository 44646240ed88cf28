/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Outputs whose verdicts are known without any comparator: the exact value is one of v (a single
 * key) or a mean of v (equal keys), or the output of a sound kernel with one element spoiled. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "builtin.h"
#include "selftest.h"

typedef enum { KNOWN_CERTIFIED, KNOWN_REFUTED, KNOWN_UNDECIDED, KNOWN_TROUBLE } expectation;
static const char *const expectation_names[] = {"certified", "refuted", "undecided", "trouble"};

/* ---- exact values by hand ---- */

enum { HAND_MAX = 6 };

/* Softmax of equal scores: q is zero, so every component is the mean over its keys. */
typedef struct {
  const char *name;
  attest_dtype dtype; /* of out */
  int keys, width, queries;
  double v[HAND_MAX];   /* [keys][width] */
  double got[HAND_MAX]; /* [queries][width] */
  const char *bounds;
  expectation expected;
  const char *params; /* NULL: none; "topk=.." makes it topk-uniform */
} hand_case;

#define F16 ATTEST_FLOAT16
#define F32 ATTEST_FLOAT32
#define F64 ATTEST_FLOAT64
#define C KNOWN_CERTIFIED
#define R KNOWN_REFUTED
#define U KNOWN_UNDECIDED

static const hand_case hand_cases[] = {
    {"error-is-the-bound", F32, 1, 1, 1, {1}, {1 + 0x1p-10}, "abs<=1/1024", C, NULL},
    {"error-above-the-bound", F32, 1, 1, 1, {1}, {1 + 0x1.002p-10}, "abs<=1/1024", R, NULL},
    {"below-by-the-bound", F32, 1, 1, 1, {1}, {1 - 0x1p-10}, "abs<=1/1024", C, NULL},
    {"below-by-more", F32, 1, 1, 1, {1}, {1 - 0x1p-9}, "abs<=1/1024", R, NULL},
    {"relative-is-the-bound", F32, 1, 1, 1, {4}, {5}, "rel<=1/4", C, NULL},
    {"relative-above", F32, 1, 1, 1, {4}, {5}, "rel<=0.2499", R, NULL},
    {"zero-is-zero", F32, 1, 1, 1, {0}, {-0.0}, "rel<=0", C, NULL},
    {"near-zero-is-not-zero", F32, 1, 1, 1, {0}, {1e-30}, "rel<=1", R, NULL},
    /* ulp(1) is 2^-23, of the numbers just below 1 it is 2^-24. */
    {"half-ulp-below-a-power", F32, 1, 1, 1, {1}, {1 - 0x1p-24}, "ulp<=1/2", C, NULL},
    {"more-than-0.49-ulp", F32, 1, 1, 1, {1}, {1 - 0x1p-24}, "ulp<=0.49", R, NULL},
    {"one-ulp-up-to-a-power", F32, 1, 1, 1, {1 - 0x1p-24}, {1}, "ulp<=1", C, NULL},
    {"more-than-0.99-ulp", F32, 1, 1, 1, {1 - 0x1p-24}, {1}, "ulp<=0.99", R, NULL},
    {"ulp-of-float16", F16, 1, 1, 1, {1}, {1 + 0x1p-10}, "ulp<=1", C, NULL},
    {"ulp-of-float16-above", F16, 1, 1, 1, {1}, {1 + 0x1p-10}, "ulp<=0.99", R, NULL},
    {"ulp-of-a-subnormal", F32, 1, 1, 1, {0x3p-149}, {0x1p-148}, "ulp<=1", C, NULL},
    {"subnormal-flushed", F32, 1, 1, 1, {0x3p-149}, {0}, "ulp<=2", R, NULL},
    {"smallest-normal-flushed", F32, 1, 1, 1, {0x1p-126}, {0}, "backward<=1000", R, NULL},
    {"last-element-wrong", F32, 1, 5, 1, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5.5}, "abs<=0.001", R, NULL},
    {"first-element-wrong",
     F32,
     1,
     5,
     1,
     {1, 2, 3, 4, 5},
     {1.5, 2, 3, 4, 5},
     "abs<=0.001",
     R,
     NULL},
    {"last-row-wrong", F32, 1, 2, 3, {1, 2}, {1, 2, 1, 2, 1, 2.5}, "abs<=0.001", R, NULL},
    {"first-row-wrong", F32, 1, 2, 3, {1, 2}, {1, 2.5, 1, 2, 1, 2}, "abs<=0.001", R, NULL},
    {"all-right", F32, 1, 2, 3, {1, 2}, {1, 2, 1, 2, 1, 2}, "abs<=0", C, NULL},
    {"nan-for-a-number", F32, 1, 3, 1, {1, 2, 3}, {1, NAN, 3}, "abs<=1e30", R, NULL},
    {"infinity-for-a-number", F32, 1, 3, 1, {1, 2, 3}, {1, INFINITY, 3}, "abs<=1e30", R, NULL},
    {"overflow-where-x-rounds-there", F32, 1, 1, 1, {0x1p128}, {INFINITY}, "abs<=0", C, NULL},
    {"overflow-of-the-other-sign", F32, 1, 1, 1, {0x1p128}, {-INFINITY}, "abs<=1e39", R, NULL},
    {"overflow-too-early", F32, 1, 1, 1, {0x1.fffffep127}, {INFINITY}, "abs<=1e39", R, NULL},
    {"largest-for-overflow", F32, 1, 1, 1, {0x1p128}, {0x1.fffffep127}, "rel<=6e-8", C, NULL},
    {"row-is-the-bound", F32, 1, 2, 1, {1, 100}, {1.5, 100}, "row<=1/200", C, NULL},
    {"row-by-its-largest", F32, 1, 2, 1, {100, 1}, {100, 1.5}, "row<=1/200", C, NULL},
    {"row-above", F32, 1, 2, 1, {1, 100}, {1.5, 100}, "row<=0.0049", R, NULL},
    {"nmse-within", F32, 1, 2, 2, {3, 4}, {3, 4, 3, 5}, "nmse<=0.0201", C, NULL},
    {"nmse-above", F32, 1, 2, 2, {3, 4}, {3, 4, 3, 5}, "nmse<=0.0199", R, NULL},
    {"allclose-is-the-bound", F32, 1, 1, 1, {8}, {8.75}, "allclose=1/16,1/4", C, NULL},
    {"allclose-of-the-exact-value", F32, 1, 1, 1, {8}, {7.25}, "allclose=1/16,1/4", C, NULL},
    {"allclose-above", F32, 1, 1, 1, {8}, {8.75}, "allclose=1/16,0.2499", R, NULL},
    {"allclose-without-atol", F32, 1, 1, 1, {8}, {8.75}, "allclose=3/32,0", C, NULL},
    {"all-bounds-must-hold", F32, 1, 1, 1, {1}, {1.5}, "abs<=1;abs<=1/1000", R, NULL},
    {"all-bounds-in-any-order", F32, 1, 1, 1, {1}, {1.5}, "abs<=1/1000;abs<=1", R, NULL},
    {"two-measures", F32, 1, 1, 1, {1}, {1.5}, "abs<=1;ulp<=4", R, NULL},
    /* Means that no precision of balls tells from the tie. */
    {"tie-half-an-ulp", F32, 2, 1, 1, {1, 1 + 0x1p-23}, {1}, "ulp<=1/2", C, NULL},
    {"tie-of-a-third", F32, 3, 1, 1, {1, 2, 4}, {2}, "abs<=1/3", C, NULL},
    {"tie-just-missed", F32, 3, 1, 1, {1, 2, 4}, {2}, "abs<=0.3333333333333333333333333", R, NULL},
    {"tie-missed-by-1e-50",
     F32,
     3,
     1,
     1,
     {1, 2, 4},
     {2},
     "abs<=0.33333333333333333333333333333333333333333333333333",
     R,
     NULL},
    {"tie-of-the-row", F32, 3, 2, 1, {1, 2, 2, 4, 4, 8}, {2, 14.0 / 3}, "row<=1/14", C, NULL},
    {"mean-is-zero", F32, 2, 1, 1, {1, -1}, {0}, "rel<=0", C, NULL},
    {"mean-is-not-zero", F32, 2, 1, 1, {1, -1 + 0x1p-50}, {0}, "rel<=0.99", R, NULL},
    {"third-to-nearest", F64, 3, 1, 1, {1, 0, 0}, {1.0 / 3}, "ulp<=1/2", C, NULL},
    {"third-one-off", F64, 3, 1, 1, {1, 0, 0}, {0x1.5555555555556p-2}, "ulp<=1/2", R, NULL},
    /* 1 - 2^-60 lies between two doubles, and 0.1 is none. */
    {"bound-between-doubles",
     F32,
     1,
     1,
     1,
     {0x1p-60},
     {1},
     "abs<=1152921504606846975/1152921504606846976",
     C,
     NULL},
    {"bound-is-no-double", F64, 1, 1, 1, {0}, {0.1}, "abs<=0.1", R, NULL},
    {"visible-nan", F32, 1, 2, 1, {1, NAN}, {1, 2}, "abs<=1", KNOWN_TROUBLE, NULL},
    {"nan-is-prescribed", F32, 1, 2, 1, {1, NAN}, {1, NAN}, "abs<=0", C, "nonfinite=ieee"},
    {"nan-left-out", F32, 1, 2, 1, {1, NAN}, {1, 2}, "abs<=1e30", R, "nonfinite=ieee"},
    /* Either of two equal keys will do, but not some of each. */
    {"first-of-two-ties", F32, 2, 2, 1, {1, 10, 3, 30}, {1, 10}, "backward<=4", C, "topk=1"},
    {"second-of-two-ties", F32, 2, 2, 1, {1, 10, 3, 30}, {3, 30}, "backward<=4", C, "topk=1"},
    {"one-of-each-tie", F32, 2, 2, 1, {1, 10, 3, 30}, {1, 30}, "backward<=4", U, "topk=1"},
    {"half-of-each-tie", F32, 2, 2, 1, {1, 10, 3, 30}, {2, 20}, "backward<=4", U, "topk=1"},
    {"beyond-both-ties", F32, 2, 2, 1, {1, 10, 3, 30}, {4, 30}, "backward<=4", R, "topk=1"},
    {"no-elements", F32, 1, 2, 0, {1, 2}, {0}, "abs<=1", KNOWN_TROUBLE, NULL},
};

/* ---- spoiled outputs of sound kernels ---- */

typedef enum {
  SPOIL_NOTHING,
  SPOIL_ROUNDED, /* not spoiled but improved: the exact value, correctly rounded */
  SPOIL_LAST,    /* the last element */
  SPOIL_FIRST,   /* the first */
  SPOIL_ROW_1,   /* the second row becomes NaN */
  SPOIL_ROW_1_NUMBER,
  SPOIL_ALL_ZERO,
  SPOIL_HALF_SUM /* every element is halved */
} spoil;

typedef struct {
  const char *kernel, *name; /* of the plan */
  attest_dtype dtype;
  int output;
  spoil how;
  const char *bounds;
  expectation expected;
} spoiled_case;

static const spoiled_case spoiled_cases[] = {
    {"softmax", "causal", F32, OUTPUT_OUT, SPOIL_LAST, "backward<=16", R},
    {"softmax", "causal", F32, OUTPUT_LSE, SPOIL_LAST, "backward<=16", R},
    {"softmax", "causal", F32, OUTPUT_LSE, SPOIL_FIRST, "ulp<=100", R},
    {"softmax", "causal", F64, OUTPUT_OUT, SPOIL_NOTHING, "ulp<=1e-9", R},
    {"softmax", "normal", F32, OUTPUT_OUT, SPOIL_FIRST, "allclose=1e-3,1e-3", R},
    {"softmax", "normal", F32, OUTPUT_OUT, SPOIL_NOTHING, "theory", C},
    {"softmax", "normal", F32, OUTPUT_OUT, SPOIL_LAST, "theory", R},
    {"softmax", "normal", F32, OUTPUT_OUT, SPOIL_HALF_SUM, "nmse<=0.2", R},
    {"softmax", "normal", F32, OUTPUT_OUT, SPOIL_HALF_SUM, "nmse<=0.3", C},
    {"softmax", "normal", F32, OUTPUT_OUT, SPOIL_ROUNDED, "out:ulp<=1/2", C},
    {"softmax", "normal", F64, OUTPUT_OUT, SPOIL_ROUNDED, "out:ulp<=1/2", C},
    {"softmax", "causal", F64, OUTPUT_LSE, SPOIL_ROUNDED, "lse:ulp<=1/2", C},
    {"softmax", "long", F64, OUTPUT_OUT, SPOIL_ROUNDED, "out:ulp<=1/2", C},
    {"taylor", "recurrent", F64, OUTPUT_OUT, SPOIL_ROUNDED, "out:ulp<=1/2", C},
    {"taylor", "recurrent", F32, OUTPUT_OUT, SPOIL_ROUNDED, "out:ulp<=1/2", C},
    {"entmax", "alpha-3/2", F64, OUTPUT_OUT, SPOIL_ROUNDED, "out:ulp<=1/2", C},
    {"rope-softmax", "interleaved", F64, OUTPUT_OUT, SPOIL_ROUNDED, "out:ulp<=1/2", C},
    {"toeplitz", "causal", F32, OUTPUT_OUT, SPOIL_ROUNDED, "out:ulp<=1/2", C},
    {"softmax", "mask", F32, OUTPUT_OUT, SPOIL_NOTHING, "row<=1e-4", C},
    {"softmax", "mask", F32, OUTPUT_OUT, SPOIL_ROW_1, "backward<=16", R},
    {"softmax", "mask", F32, OUTPUT_LSE, SPOIL_ROW_1_NUMBER, "backward<=16", R},
    {"softmax", "mask-nan", F32, OUTPUT_OUT, SPOIL_ROW_1_NUMBER, "abs<=1e30", R},
    {"softmax", "denormal", F32, OUTPUT_OUT, SPOIL_ALL_ZERO, "backward<=16", R},
    {"softmax", "cancel", F32, OUTPUT_OUT, SPOIL_NOTHING, "backward<=16", C},
    {"softmax", "giant", F32, OUTPUT_OUT, SPOIL_LAST, "row<=1e-3", R},
    {"taylor", "recurrent", F32, OUTPUT_FINAL_STATE, SPOIL_LAST, "backward<=16", R},
    {"taylor", "vanishing", F32, OUTPUT_OUT, SPOIL_ALL_ZERO, "backward<=16", R},
    {"sparsemax", "plain", F32, OUTPUT_OUT, SPOIL_LAST, "backward<=16", R},
    {"topk-uniform", "duplicates", F32, OUTPUT_OUT, SPOIL_LAST, "backward<=16", R},
    {"toeplitz", "causal", F32, OUTPUT_OUT, SPOIL_FIRST, "backward<=16", R},
    {"rope-softmax", "half", F32, OUTPUT_OUT, SPOIL_LAST, "backward<=16", R},
};

#undef C
#undef R
#undef U

enum {
  HAND_CASES = sizeof hand_cases / sizeof *hand_cases,
  SPOILED_CASES = sizeof spoiled_cases / sizeof *spoiled_cases
};

/* ---- building ---- */

typedef struct {
  char name[96];
  attest_problem *problem; /* with outputs */
  void *storage;
  builtin_kernel kernel;
  double numbers[3 * HAND_MAX];
  unsigned char bytes[8 * HAND_MAX];
  certify_bounds bounds;
  expectation expected;
} known_case;

struct selftest_known {
  size_t count;
  known_case *cases;
  selftest_stored *stored;
};

static attest_status set_bounds(known_case *k, const char *text, attest_error *error) {
  attest_status status = ATTEST_OK;
  char *copy = strdup(text), *rest = copy, *one;
  if (!copy) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  while (!status && (one = strsep(&rest, ";")))
    status = certify_bounds_add(&k->bounds, one, error);
  free(copy);
  return status;
}

static attest_status build_hand(known_case *k, const hand_case *h, attest_error *error) {
  const int64_t q_shape[] = {h->queries, 1}, k_shape[] = {h->keys, 1};
  const int64_t v_shape[] = {h->keys, h->width}, out_shape[] = {h->queries, h->width};
  double *q = k->numbers, *keys = q + HAND_MAX, *v = keys + HAND_MAX;
  snprintf(k->name, sizeof k->name, "%s", h->name);
  k->expected = h->expected;
  memcpy(v, h->v, sizeof h->v);
  attest_tensor tensors[] = {attest_tensor_of(q, F64, 2, q_shape),
                             attest_tensor_of(keys, F64, 2, k_shape),
                             attest_tensor_of(v, F64, 2, v_shape)};
  attest_tensor out = attest_tensor_of(k->bytes, h->dtype, 2, out_shape);
  for (int64_t i = 0; i < (int64_t)h->queries * h->width; i++)
    tensor_store(&out, i, h->got[i]);
  const char *kernel = h->params && !strncmp(h->params, "topk", 4) ? "topk-uniform" : "softmax";
  if (!(k->problem = attest_problem_new(kernel, error))) return error->status;
  attest_status status = h->params ? synthetic_params(k->problem, h->params, error) : ATTEST_OK;
  for (int i = 0; i < 3 && !status; i++)
    status = attest_problem_input(k->problem, problem_input_names[i], &tensors[i], error);
  if (!status) status = attest_problem_output(k->problem, "out", &out, error);
  if (!status) status = problem_resolve(k->problem, error);
  return status ? status : set_bounds(k, h->bounds, error);
}

/* An element well beyond any bound of the table, but of the size of its neighbours. */
static void spoil_element(attest_tensor *t, int64_t i) {
  double x = tensor_at(t, i);
  tensor_store(t, i, x + 1 + fabs(x) / 64);
}

static void spoil_output(attest_tensor *t, spoil how) {
  int64_t n = tensor_elements(t), width = t->ndim > 2 ? t->shape[2] : 1;
  if (how == SPOIL_LAST) spoil_element(t, n - 1);
  if (how == SPOIL_FIRST) spoil_element(t, 0);
  for (int64_t c = width; (how == SPOIL_ROW_1 || how == SPOIL_ROW_1_NUMBER) && c < 2 * width; c++)
    tensor_store(t, c, how == SPOIL_ROW_1 ? (double)NAN : -1e30);
  for (int64_t i = 0; (how == SPOIL_ALL_ZERO || how == SPOIL_HALF_SUM) && i < n; i++)
    tensor_store(t, i, how == SPOIL_ALL_ZERO ? 0 : tensor_at(t, i) / 2);
}

static attest_status build_spoiled(known_case *k, const spoiled_case *s, attest_error *error) {
  const selftest_case *plan = selftest_plan_find(s->kernel, s->name, s->dtype);
  if (!plan)
    return attest_fail(error, ATTEST_ERR_INPUT, "the plan has no case %s/%s", s->kernel, s->name);
  snprintf(k->name, sizeof k->name, "%s.%s.%s.%s.%d.%s", s->kernel, s->name,
           tensor_dtype_name(s->dtype), problem_output_names[s->output], (int)s->how,
           expectation_names[s->expected]);
  k->expected = s->expected;
  const problem_room *room = certify_room(s->kernel);
  attest_status status =
      synthetic_build(&k->problem, &k->storage, &plan->problem, plan->seed, error);
  if (!status) status = builtin_kernel_prepare(&k->kernel, room, k->problem, s->dtype, error);
  if (!status) status = builtin_kernel_compute(&k->kernel, room, error);
  if (status) return status;
  attest_tensor *t = &k->kernel.problem.output[s->output];
  if (s->how == SPOIL_ROUNDED) {
    status = attest_reference(t, k->problem, problem_output_names[s->output], error);
    if (status) return status;
  }
  spoil_output(t, s->how);
  return set_bounds(k, s->bounds, error);
}

attest_status selftest_known_open(selftest_known **result, attest_error *error) {
  selftest_known *known = *result = calloc(1, sizeof *known);
  if (known) known->cases = calloc(HAND_CASES + SPOILED_CASES, sizeof *known->cases);
  if (!known || !known->cases) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  attest_status status = selftest_stored_open(&known->stored, error);
  known->count = HAND_CASES + SPOILED_CASES;
#pragma omp parallel for schedule(dynamic)
  for (size_t i = 0; i < known->count; i++) {
    attest_error mine;
    known_case *k = &known->cases[i];
    attest_status built = i < HAND_CASES ? build_hand(k, &hand_cases[i], &mine)
                                         : build_spoiled(k, &spoiled_cases[i - HAND_CASES], &mine);
    if (built)
#pragma omp critical(selftest_error)
    {
      status = built;
      *error = mine;
    }
  }
  return status;
}

void selftest_known_close(selftest_known *known) {
  if (!known) return;
  for (size_t i = 0; i < known->count; i++) {
    known_case *k = &known->cases[i];
    builtin_kernel_clear(&k->kernel);
    certify_bounds_clear(&k->bounds);
    attest_problem_free(k->problem);
    free(k->storage);
  }
  selftest_stored_close(known->stored);
  free(known->cases);
  free(known);
}

size_t selftest_known_count(const selftest_known *known) {
  return known->count + SELFTEST_STORED;
}

const char *selftest_known_name(const selftest_known *known, size_t i) {
  return i < known->count ? known->cases[i].name : selftest_stored_name(i - known->count);
}

int selftest_known_holds(const selftest_known *known, size_t i, const mutant_library *library) {
  if (i >= known->count) return selftest_stored_holds(known->stored, i - known->count, library);
  const known_case *k = &known->cases[i];
  int spoiled = k->kernel.data[OUTPUT_OUT] != NULL;
  const certify_subject subject = {"known", spoiled ? &k->kernel.problem : k->problem, &k->bounds,
                                   spoiled ? &k->kernel.machine : NULL, NULL};
  const certify_options options = {.name = k->name};
  certify_case result;
  attest_error error;
  memset(&result, 0, sizeof result);
  attest_status status =
      (library ? library->run : certify_run)(&result, &subject, 1, &options, &error);
  expectation found = KNOWN_TROUBLE;
  if (!status) {
    attest_verdict verdict = certify_case_verdict(&result);
    found = verdict == ATTEST_CERTIFIED ? KNOWN_CERTIFIED
            : verdict == ATTEST_REFUTED ? KNOWN_REFUTED
                                        : KNOWN_UNDECIDED;
  }
  certify_case_clear(&result);
  return found == k->expected;
}
