/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* States of fixed size: their shape, the slices that have them, what does not go with them. */
#include "../tests.h"

#include "../../src/problem/problem.h"

static float numbers[4096];

static attest_problem *start(const char *kernel, const char *const params[]) {
  attest_error error;
  attest_problem *p = attest_problem_new(kernel, &error);
  for (int i = 0; params[i]; i += 2)
    ck_assert_msg(attest_problem_set(p, params[i], params[i + 1], &error) == ATTEST_OK, "%s",
                  error.message);
  return p;
}

static void give(attest_problem *p, const char *name, int ndim, const int64_t shape[]) {
  attest_error error;
  attest_tensor t = attest_tensor_of(numbers, ATTEST_FLOAT32, ndim, shape);
  ck_assert_int_eq(attest_problem_input(p, name, &t, &error), ATTEST_OK);
}

/* 2 sequences, 4 heads of queries over 2 of keys, 5 positions, d = 3, dv = 2. */
static attest_problem *batch(const char *kernel, const char *const params[]) {
  attest_problem *p = start(kernel, params);
  give(p, "q", 4, (int64_t[]){2, 4, 5, 3});
  give(p, "k", 4, (int64_t[]){2, 2, 5, 3});
  give(p, "v", 4, (int64_t[]){2, 2, 5, 2});
  return p;
}

static void expect_shape(attest_problem *p, int ndim, const int64_t wanted[]) {
  attest_error error;
  int found;
  int64_t shape[ATTEST_MAX_DIMS];
  ck_assert_msg(problem_resolve(p, &error) == ATTEST_OK, "%s", error.message);
  problem_output_shape(&found, shape, p, OUTPUT_FINAL_STATE);
  ck_assert_int_eq(found, ndim);
  for (int i = 0; i < ndim; i++)
    ck_assert_int_eq(shape[i], wanted[i]);
  attest_problem_free(p);
}

START_TEST(states_have_a_row_a_monomial_and_a_column_for_the_normaliser) {
  static const char *const none[] = {NULL}, *const third[] = {"degree", "3", NULL};
  static const char *const linear[] = {"normalize", "none", NULL};
  static const char *const feature[] = {"feature", "taylor", NULL};
  expect_shape(batch("taylor", none), 4, (int64_t[]){2, 2, 10, 3});
  expect_shape(batch("taylor", third), 4, (int64_t[]){2, 2, 20, 3});
  expect_shape(batch("linear", none), 4, (int64_t[]){2, 2, 3, 3});
  expect_shape(batch("linear", linear), 4, (int64_t[]){2, 2, 3, 2});
  expect_shape(batch("linear", feature), 4, (int64_t[]){2, 2, 10, 3});
  attest_problem *p = start("taylor", none);
  give(p, "q", 2, (int64_t[]){5, 16});
  give(p, "k", 2, (int64_t[]){5, 16});
  give(p, "v", 2, (int64_t[]){5, 64});
  expect_shape(p, 2, (int64_t[]){153, 65});
}
END_TEST

START_TEST(one_slice_of_each_key_head_has_the_rows_of_the_state) {
  static const char *const none[] = {NULL};
  attest_error error;
  attest_problem *p = batch("taylor", none);
  ck_assert_int_eq(problem_resolve(p, &error), ATTEST_OK);
  for (int64_t i = 0; i < problem_slice_count(p); i++) {
    problem_slice slice;
    int64_t index[ATTEST_MAX_DIMS];
    problem_slice_get(&slice, p, i);
    ck_assert_int_eq(problem_output_rows(p, &slice, OUTPUT_FINAL_STATE), slice.head % 2 ? 0 : 10);
    ck_assert_int_eq(problem_output_rows(p, &slice, OUTPUT_OUT), 5);
    problem_output_index(index, p, &slice, OUTPUT_FINAL_STATE, 7, 1);
    ck_assert(index[0] == slice.sequence && index[1] == slice.head / 2 && index[2] == 7 &&
              index[3] == 1);
  }
  ck_assert_int_eq(problem_ends_in_state(p), 1);
  attest_problem_free(p);
}
END_TEST

START_TEST(an_initial_state_is_seen_by_its_heads) {
  static const char *const none[] = {NULL};
  attest_error error;
  attest_problem *p = batch("taylor", none);
  for (int i = 0; i < 120; i++)
    numbers[i] = (float)i;
  give(p, "initial-state", 4, (int64_t[]){2, 2, 10, 3});
  ck_assert_msg(problem_resolve(p, &error) == ATTEST_OK, "%s", error.message);
  problem_slice slice;
  problem_slice_get(&slice, p, 4 + 3); /* sequence 1, query head 3: key head 1 */
  const attest_tensor *t = &slice.initial_state;
  ck_assert_double_eq(tensor_at(t, 2 * t->stride[0] + t->stride[1]), 90 + 7);
  attest_problem_free(p);
}
END_TEST

static void refused(attest_problem *p, const char *word) {
  attest_error error;
  ck_assert_int_ne(problem_resolve(p, &error), ATTEST_OK);
  ck_assert_msg(strstr(error.message, word) != NULL, "%s", error.message);
  attest_problem_free(p);
}

START_TEST(what_does_not_go_with_a_state_is_refused) {
  static const char *const decay[] = {"decay", "0.5", NULL};
  static const char *const root[] = {"decay", "sqrt(1/2)", "causal", "top-left", NULL};
  static const char *const window[] = {"window", "1,0", "form", "recurrent", NULL};
  static const char *const huge[] = {"degree", "1001", NULL};
  static const char *const ieee[] = {"nonfinite", "ieee", NULL};
  static const char *const none[] = {NULL};
  refused(batch("taylor", decay), "causal");
  refused(batch("taylor", root), "rational");
  refused(batch("taylor", window), "window");
  refused(batch("taylor", huge), "1000");
  refused(batch("taylor", ieee), "ieee");
  attest_problem *p = batch("taylor", none);
  give(p, "initial-state", 4, (int64_t[]){2, 4, 10, 3});
  refused(p, "(2, 2, 10, 3)");
}
END_TEST

/* binom(64 + 40, 40) is far beyond any tensor; the problem is served, its state is not. */
START_TEST(states_too_large_to_count_do_not_exist) {
  static const char *const params[] = {"degree", "40", NULL};
  attest_error error;
  attest_problem *p = start("taylor", params);
  give(p, "q", 2, (int64_t[]){2, 64});
  give(p, "k", 2, (int64_t[]){2, 64});
  give(p, "v", 2, (int64_t[]){2, 2});
  ck_assert_int_eq(problem_resolve(p, &error), ATTEST_OK);
  ck_assert_int_eq(problem_ends_in_state(p), 0);
  char *json = problem_json(p);
  ck_assert(json && !strstr(json, "final-state"));
  free(json);
  give(p, "initial-state", 2, (int64_t[]){10, 3});
  refused(p, "monomials");
}
END_TEST

void test_problem_state(Suite *suite) {
  TCase *tc = tcase_create("problem state");
  tcase_add_test(tc, states_have_a_row_a_monomial_and_a_column_for_the_normaliser);
  tcase_add_test(tc, one_slice_of_each_key_head_has_the_rows_of_the_state);
  tcase_add_test(tc, an_initial_state_is_seen_by_its_heads);
  tcase_add_test(tc, what_does_not_go_with_a_state_is_refused);
  tcase_add_test(tc, states_too_large_to_count_do_not_exist);
  suite_add_tcase(suite, tc);
}
