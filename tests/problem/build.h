/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Short ways to build a problem in a test. */
#ifndef ATTEST_TESTS_PROBLEM_BUILD_H
#define ATTEST_TESTS_PROBLEM_BUILD_H

#include "../../src/problem/internal.h"
#include "../tests.h"

#define SHAPE(...)                                                                                 \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (const int64_t[]) {                                 \
    __VA_ARGS__                                                                                    \
  }

/* A float64 tensor of any shape whose elements are all 1: one number with strides 0. */
static inline attest_tensor ones(int ndim, const int64_t shape[]) {
  static double one = 1;
  attest_tensor t = {.data = &one, .dtype = ATTEST_FLOAT64, .ndim = ndim};
  for (int i = 0; i < ndim; i++)
    t.shape[i] = shape[i];
  return t;
}

static inline attest_problem *new_problem(const char *kernel) {
  attest_error error = {0};
  attest_problem *problem = attest_problem_new(kernel, &error);
  ck_assert_msg(problem != NULL, "%s", error.message);
  return problem;
}

static inline void set(attest_problem *problem, const char *name, const char *value) {
  attest_error error = {0};
  ck_assert_msg(!attest_problem_set(problem, name, value, &error), "%s", error.message);
}

static inline void input(attest_problem *problem, const char *name, attest_tensor t) {
  attest_error error = {0};
  ck_assert_msg(!attest_problem_input(problem, name, &t, &error), "%s", error.message);
}

static inline void output(attest_problem *problem, const char *name, attest_tensor t) {
  attest_error error = {0};
  ck_assert_msg(!attest_problem_output(problem, name, &t, &error), "%s", error.message);
}

static inline void resolve(attest_problem *problem) {
  attest_error error = {0};
  ck_assert_msg(!problem_resolve(problem, &error), "%s", error.message);
}

/* Resolving fails with this status and a message that contains `part`. */
static inline void refuse(attest_problem *problem, attest_status status, const char *part) {
  attest_error error = {0};
  ck_assert_int_eq(problem_resolve(problem, &error), status);
  ck_assert_msg(strstr(error.message, part) != NULL, "'%s' lacks '%s'", error.message, part);
}

/* A softmax problem on ones of the given shapes (all of `ndim` axes). */
static inline attest_problem *on_ones(int ndim, const int64_t q[], const int64_t k[],
                                      const int64_t v[]) {
  attest_problem *problem = new_problem("softmax");
  input(problem, "q", ones(ndim, q));
  input(problem, "k", ones(ndim, k));
  input(problem, "v", ones(ndim, v));
  return problem;
}

/* The text in force of a parameter, or "" when nothing is in force. */
static inline const char *in_force(const attest_problem *problem, const char *name) {
  const char *names[64], *texts[64];
  size_t count = problem_params_in_force(NULL, NULL, problem);
  ck_assert_uint_le(count, 64);
  problem_params_in_force(names, texts, problem);
  for (size_t i = 0; i < count; i++)
    if (!strcmp(names[i], name)) return texts[i];
  return "";
}

static inline double element(const attest_tensor *t, int64_t i, int64_t j) {
  return tensor_at(t, i * t->stride[0] + (t->ndim > 1 ? j * t->stride[1] : 0));
}

#endif
