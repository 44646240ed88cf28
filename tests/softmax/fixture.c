/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fixture.h"

#include <math.h>

static double gaussian(uint64_t *seed) {
  double u = tests_uniform(seed), v = tests_uniform(seed);
  return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}

static double query_value(const fixture_spec *s, uint64_t *seed) {
  switch (s->data) {
  case DATA_HUGE_SCORES:
    return 60 * gaussian(seed);
  case DATA_DENORMAL:
    return ldexp(gaussian(seed), -140);
  case DATA_GROWING:
    return 1 + 0.1 * gaussian(seed);
  case DATA_EXTREME:
    return ldexp(gaussian(seed), (int)(tests_random(seed) % 40) - 20);
  default:
    return gaussian(seed);
  }
}

static double key_value(const fixture_spec *s, int64_t j, uint64_t *seed) {
  switch (s->data) {
  case DATA_TIES:
    return (double)(tests_random(seed) % 2);
  case DATA_DOMINANT:
    return gaussian(seed) * (j == s->nk / 2 ? 30 : 0.1);
  case DATA_HUGE_SCORES:
    return 60 * gaussian(seed);
  case DATA_GROWING:
    return 0.02 * (double)j + 0.1 * gaussian(seed);
  case DATA_EXTREME:
    return ldexp(gaussian(seed), (int)(tests_random(seed) % 40) - 20);
  default:
    return gaussian(seed);
  }
}

static double value_value(const fixture_spec *s, int64_t j, uint64_t *seed) {
  switch (s->data) {
  case DATA_DENORMAL:
    return ldexp(gaussian(seed), -135 - (int)(tests_random(seed) % 14));
  case DATA_HUGE_VALUES:
    return ldexp(gaussian(seed), 118);
  case DATA_CANCELLING:
    return (j % 2 ? 1 : -1) * (1 + 1e-6 * gaussian(seed));
  case DATA_EXTREME:
    return ldexp(gaussian(seed), (int)(tests_random(seed) % 900) - 600);
  default:
    return gaussian(seed);
  }
}

static void store(void *memory, attest_dtype dtype, int64_t n, int64_t i, double x) {
  attest_tensor t = attest_tensor_of(memory, dtype, 1, &n);
  tensor_store(&t, i, x);
}

static void give(fixture *f, int slot, const char *name, attest_dtype dtype, int ndim,
                 const int64_t shape[]) {
  attest_error error;
  attest_tensor t = attest_tensor_of(f->memory[slot], dtype, ndim, shape);
  ck_assert_msg(attest_problem_input(f->problem, name, &t, &error) == ATTEST_OK, "%s",
                error.message);
}

static void *array(fixture *f, int slot, int64_t n, attest_dtype dtype) {
  f->memory[slot] = calloc((size_t)n + 1, tensor_dtype_size(dtype));
  ck_assert_ptr_nonnull(f->memory[slot]);
  return f->memory[slot];
}

static void fill(fixture *f, const fixture_spec *s, uint64_t *seed) {
  int64_t nq = s->heads_q * s->nq, nk = s->heads_k * s->nk;
  void *q = array(f, 0, nq * s->d, s->dtype), *k = array(f, 1, nk * s->d, s->dtype);
  void *v = array(f, 2, nk * s->dv, s->dtype);
  for (int64_t i = 0; i < nq * s->d; i++)
    store(q, s->dtype, nq * s->d, i, query_value(s, seed));
  for (int64_t j = 0; j < nk; j++) {
    uint64_t own = s->data == DATA_DUPLICATE ? (uint64_t)(j / 2 * 7919 + 17) : tests_random(seed);
    for (int64_t a = 0; a < s->d; a++)
      store(k, s->dtype, nk * s->d, j * s->d + a, key_value(s, j % s->nk, &own));
    for (int64_t c = 0; c < s->dv; c++)
      store(v, s->dtype, nk * s->dv, j * s->dv + c, value_value(s, j % s->nk, seed));
  }
}

void fixture_open(fixture *f, const fixture_spec *s, uint64_t *seed) {
  attest_error error;
  memset(f, 0, sizeof *f);
  f->problem = attest_problem_new(s->kernel ? s->kernel : "softmax", &error);
  ck_assert_ptr_nonnull(f->problem);
  for (int i = 0; s->params[i]; i += 2)
    ck_assert_msg(attest_problem_set(f->problem, s->params[i], s->params[i + 1], &error) ==
                      ATTEST_OK,
                  "%s", error.message);
  fill(f, s, seed);
  give(f, 0, "q", s->dtype, 3, (int64_t[]){s->heads_q, s->nq, s->d});
  give(f, 1, "k", s->dtype, 3, (int64_t[]){s->heads_k, s->nk, s->d});
  give(f, 2, "v", s->dtype, 3, (int64_t[]){s->heads_k, s->nk, s->dv});
  int64_t plane = s->nq * s->nk;
  if (s->bias) {
    float *bias = array(f, 3, plane, ATTEST_FLOAT32);
    for (int64_t i = 0; i < plane; i++)
      bias[i] = tests_random(seed) % 8 == 0 ? -INFINITY : (float)gaussian(seed);
    give(f, 3, "bias", ATTEST_FLOAT32, 2, (int64_t[]){s->nq, s->nk});
  }
  if (s->mask) {
    unsigned char *mask = array(f, 4, plane, ATTEST_BOOL);
    for (int64_t i = 0; i < plane; i++)
      mask[i] = tests_random(seed) % 4 != 0;
    give(f, 4, "mask", ATTEST_BOOL, 2, (int64_t[]){s->nq, s->nk});
  }
  for (int which = 0; which < 2; which++) {
    if (!(which ? s->sinks : s->slopes)) continue;
    float *x = array(f, 5 + which, s->heads_q, ATTEST_FLOAT32);
    for (int64_t h = 0; h < s->heads_q; h++)
      x[h] = (float)(which ? 3 * gaussian(seed) : ldexp(1, -(int)h - 1));
    give(f, 5 + which, which ? "sinks" : "alibi-slopes", ATTEST_FLOAT32, 1, &s->heads_q);
  }
  ck_assert_msg(problem_resolve(f->problem, &error) == ATTEST_OK, "%s", error.message);
}

void fixture_close(fixture *f) {
  attest_problem_free(f->problem);
  for (int i = 0; i < 8; i++)
    free(f->memory[i]);
}

void fixture_draw(fixture_spec *s, uint64_t *seed) {
  static const char *const scales[] = {"1/8", "-0.5", "sqrt(1/3)", "0", "2"};
  static const int64_t sizes[] = {1, 2, 3, 5, 8, 17, 31, 64};
  memset(s, 0, sizeof *s);
  s->heads_k = 1 + (int64_t)(tests_random(seed) % 2);
  s->heads_q = s->heads_k * (1 + (int64_t)(tests_random(seed) % 2));
  s->nk = 1 + (int64_t)(tests_random(seed) % 40);
  if (tests_random(seed) % 8 == 0) s->nk = 250 + (int64_t)(tests_random(seed) % 300);
  s->nq = 1 + (int64_t)(tests_random(seed) % (s->nk > 100 ? 4 : 30));
  s->d = sizes[tests_random(seed) % 8];
  s->dv = sizes[tests_random(seed) % 8];
  s->data = (fixture_data)(tests_random(seed) % DATA_KINDS);
  s->dtype = s->data == DATA_EXTREME ? ATTEST_FLOAT64 : ATTEST_FLOAT32;
  if (s->data != DATA_EXTREME && s->data != DATA_DENORMAL && s->data != DATA_HUGE_VALUES)
    s->dtype = (attest_dtype)(tests_random(seed) % 4);
  int n = 0;
  uint64_t draw = tests_random(seed);
#define PARAM(name, value) (s->params[n++] = name, s->params[n++] = value)
  if (draw % 2) PARAM("scale", scales[tests_random(seed) % 5]);
  if (draw >> 1 & 1) PARAM("causal", draw >> 2 & 1 ? "top-left" : "bottom-right");
  if (draw >> 3 & 1 && draw >> 4 & 1) PARAM("window", "5,3");
  if (draw >> 5 & 1 && draw >> 6 & 1) PARAM("softcap", draw >> 7 & 1 ? "2.5" : "30");
  if (draw >> 8 & 1 && draw >> 9 & 1) PARAM("temperature", "0.7");
  if (draw >> 10 & 1) PARAM("lse-base", "2");
#undef PARAM
  s->bias = (draw >> 11 & 3) == 0;
  s->mask = (draw >> 13 & 3) == 0;
  s->slopes = (draw >> 15 & 3) == 0;
  s->sinks = (draw >> 17 & 3) == 0;
}
