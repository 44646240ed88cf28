/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Small softmax problems for tests: the cases of data/softmax/golden.json (data/softmax/golden.py,
 * mpmath) and problems built from arrays. */
#ifndef ATTEST_TESTS_GOLDEN_H
#define ATTEST_TESTS_GOLDEN_H

#include <jansson.h>
#include <math.h>

#include "../../src/softmax/softmax.h"
#include "../tests.h"

enum { CASE_TENSORS = 10 };

/* A problem that owns its tensors. */
typedef struct {
  attest_problem *problem;
  size_t tensors;
  void *data[CASE_TENSORS];
} test_case;

static inline void case_free(test_case *c) {
  attest_problem_free(c->problem);
  for (size_t i = 0; i < c->tensors; i++)
    free(c->data[i]);
  *c = (test_case){0};
}

static inline void case_new(test_case *c) {
  attest_error error = {0};
  *c = (test_case){0};
  c->problem = attest_problem_new("softmax", &error);
  ck_assert_msg(c->problem != NULL, "%s", error.message);
}

static inline void case_set(test_case *c, const char *name, const char *value) {
  attest_error error = {0};
  ck_assert_msg(!attest_problem_set(c->problem, name, value, &error), "%s", error.message);
}

/* Adds an input that holds `values` rounded to dtype. */
static inline void case_input(test_case *c, const char *name, attest_dtype dtype, int ndim,
                              const int64_t shape[], const double *values) {
  attest_error error = {0};
  attest_tensor t = attest_tensor_of(NULL, dtype, ndim, shape);
  int64_t n = tensor_elements(&t);
  ck_assert_uint_lt(c->tensors, CASE_TENSORS);
  t.data = c->data[c->tensors++] = calloc((size_t)n + 1, tensor_dtype_size(dtype));
  for (int64_t i = 0; i < n; i++)
    tensor_store(&t, i, values[i]);
  ck_assert_msg(!attest_problem_input(c->problem, name, &t, &error), "%s: %s", name, error.message);
}

static inline void case_resolve(test_case *c) {
  attest_error error = {0};
  ck_assert_msg(!problem_resolve(c->problem, &error), "%s", error.message);
}

/* q (nq, d), k (nk, d), v (nk, dv) in float64. */
static inline void case_qkv(test_case *c, int64_t nq, int64_t nk, int64_t d, int64_t dv,
                            const double *q, const double *k, const double *v) {
  case_input(c, "q", ATTEST_FLOAT64, 2, (int64_t[]){nq, d}, q);
  case_input(c, "k", ATTEST_FLOAT64, 2, (int64_t[]){nk, d}, k);
  case_input(c, "v", ATTEST_FLOAT64, 2, (int64_t[]){nk, dv}, v);
}

/* One query 1, keys that are the scores, scale 1. */
static inline void case_scores(test_case *c, int64_t nk, const double *scores, int64_t dv,
                               const double *v) {
  case_new(c);
  case_set(c, "scale", "1");
  case_qkv(c, 1, nk, 1, dv, (double[]){1}, scores, v);
}

/* ---- golden.json ----------------------------------------------------------------------------- */

static inline json_t *golden_load(void) {
  json_error_t error;
  json_t *cases = json_load_file("data/softmax/golden.json", 0, &error);
  ck_assert_msg(cases != NULL, "data/softmax/golden.json: %s", error.text);
  return cases;
}

static inline double golden_number(const json_t *value) {
  return json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);
}

static inline void golden_tensor(test_case *c, const char *name, const json_t *t) {
  int64_t shape[ATTEST_MAX_DIMS];
  attest_dtype dtype;
  const char *dtype_name = json_string_value(json_object_get(t, "dtype"));
  const json_t *sizes = json_object_get(t, "shape"), *values = json_object_get(t, "values");
  size_t n = json_array_size(values);
  for (size_t i = 0; i < json_array_size(sizes); i++)
    shape[i] = json_integer_value(json_array_get(sizes, i));
  if (!strcmp(dtype_name, "bool"))
    dtype = ATTEST_BOOL;
  else if (!strcmp(dtype_name, "int32"))
    dtype = ATTEST_INT32;
  else
    ck_assert_int_eq(tensor_dtype_parse(&dtype, dtype_name), 0);
  double *x = malloc((n + 1) * sizeof *x);
  for (size_t i = 0; i < n; i++)
    x[i] = golden_number(json_array_get(values, i));
  case_input(c, name, dtype, (int)json_array_size(sizes), shape, x);
  free(x);
}

static inline void golden_case(test_case *c, json_t *golden) {
  const char *name;
  json_t *value;
  case_new(c);
  json_object_foreach(json_object_get(golden, "params"), name, value)
      case_set(c, name, json_string_value(value));
  json_object_foreach(json_object_get(golden, "tensors"), name, value)
      golden_tensor(c, name, value);
  case_resolve(c);
}

/* Position of (row, component) in the output tensor, row-major. */
static inline int64_t golden_flat(const attest_problem *problem, const problem_slice *slice,
                                  int output, int64_t row, int64_t component) {
  int ndim;
  int64_t shape[ATTEST_MAX_DIMS], index[ATTEST_MAX_DIMS], flat = 0;
  problem_output_shape(&ndim, shape, problem, output);
  problem_output_index(index, problem, slice, output, row, component);
  for (int i = 0; i < ndim; i++)
    flat = flat * shape[i] + index[i];
  return flat;
}

#endif
