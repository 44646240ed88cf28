/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double and double-double tiers of the Taylor room against the ball tier: the enclosure
 * contains the exact value. The ball tier is the independent route: other code, other arithmetic,
 * 200 bits. */
#include <math.h>

#include "../enclosure/fixture_contains.h"
#include "fixture_taylor.h"

/* Tiers of one row of one output against balls. */
static void compare_row(containment t[2], const attest_problem *problem, const problem_slice *slice,
                        const void *work, const room_cells *cells, int64_t at, int64_t row,
                        int output) {
  attest_error error;
  room_balls balls;
  int64_t width = cells->width, first = at * width;
  double *more = calloc((size_t)(5 * width) + 1, sizeof *more);
  room_balls_init(&balls, width);
  ck_assert_msg(taylor_ball(&balls, problem, slice, row, output, WANT_CONDITION, 200, &error) ==
                    ATTEST_OK,
                "%s", error.message);
  taylor_enclose_dd(more, more + width, more + 2 * width, work, row, output);
  if (output == OUTPUT_OUT)
    taylor_sensitivity(more + 3 * width, more + 4 * width, cells->x + first, cells->radius + first,
                       work, row);
  for (int64_t c = 0; c < width; c++) {
    if (balls.class[c] != EXACT_FINITE) { /* an exact zero of W, or a policy */
      ck_assert(cells->radius[first + c] == INFINITY || cells->class[first + c] == balls.class[c]);
      ck_assert_double_eq(more[2 * width + c], INFINITY);
      continue;
    }
    ck_assert_int_eq(cells->class[first + c], EXACT_FINITE);
    containment_check(&t[0], "double", balls.x + c, cells->x[first + c], 0,
                      cells->radius[first + c]);
    containment_check(&t[1], "double-double", balls.x + c, more[c], more[width + c],
                      more[2 * width + c]);
    if (cells->radius[first + c] == INFINITY) continue;
    containment_between("A", balls.a + c, cells->a_lo[first + c], cells->a_hi[first + c]);
    containment_between("S", balls.s + c, cells->s_lo[first + c], cells->s_hi[first + c]);
    if (output == OUTPUT_OUT)
      containment_between("S, second pass", balls.s + c, more[3 * width + c], more[4 * width + c]);
  }
  room_balls_clear(&balls);
  free(more);
}

static void compare_output(containment t[2], const attest_problem *problem,
                           const problem_slice *slice, const void *work, int output) {
  int64_t all = problem_output_rows(problem, slice, output);
  taylor_cells b;
  taylor_cells_open(&b, problem);
  for (int64_t row = 0; row < all; row += 48) {
    b.block.row = row;
    b.block.rows = all - row < 48 ? all - row : 48;
    taylor_enclose_rows(&b.block, work, room_want(output) | WANT_CONDITION);
    for (int64_t r = 0; r < b.block.rows; r++)
      compare_row(t, problem, slice, work, output == OUTPUT_OUT ? &b.block.out : &b.block.state, r,
                  row + r, output);
  }
  taylor_cells_close(&b);
}

/* out and, unless `state` is NULL, the final state. */
static void compare_problem(containment t[2], containment state[2], const attest_problem *problem) {
  attest_error error;
  for (int64_t i = 0; i < problem_slice_count(problem); i++) {
    problem_slice slice;
    void *work;
    problem_slice_get(&slice, problem, i);
    ck_assert_msg(taylor_enclose_open(&work, problem, &slice, WANT_OUT | WANT_CONDITION, &error) ==
                      ATTEST_OK,
                  "%s", error.message);
    compare_output(t, problem, &slice, work, OUTPUT_OUT);
    if (state && problem->state_rows < 200)
      compare_output(state, problem, &slice, work, OUTPUT_FINAL_STATE);
    taylor_enclose_close(work);
  }
}

/* ---- rows of a real model -------------------------------------------------------------------- */

/* Head `head` of q, k or v of a layer as doubles, rows of unit norm where `unit`. */
static double *load_head(const char *name, int64_t layer, int64_t head, int unit) {
  char path[64];
  attest_error error;
  tensor_file *file;
  snprintf(path, sizeof path, "data/stories260k/%s.npy", name);
  ck_assert_msg(tensor_file_open(&file, path, 0, &error) == ATTEST_OK,
                "%s; run the tests from the root of the project", error.message);
  const attest_tensor *t = tensor_file_tensor(file, 0);
  int64_t n = t->shape[2], d = t->shape[3], heads = t->shape[1];
  double *x = calloc((size_t)(n * d), sizeof *x);
  for (int64_t i = 0; i < n; i++) {
    double squares = 0;
    for (int64_t a = 0; a < d; a++) {
      x[i * d + a] = tensor_at(t, layer * t->stride[0] + head % heads * t->stride[1] +
                                      i * t->stride[2] + a * t->stride[3]);
      squares += x[i * d + a] * x[i * d + a];
    }
    for (int64_t a = 0; unit && a < d; a++)
      x[i * d + a] /= sqrt(squares);
  }
  tensor_file_close(file);
  return x;
}

/* Every eleventh row of one head. */
static void compare_head(containment t[2], int64_t layer, int64_t head, int unit,
                         const char *const params[]) {
  enum { N = 512, SIZE = 8 };
  attest_error error;
  problem_slice slice;
  taylor_cells b;
  void *work;
  double *q = load_head("q", layer, head, unit), *k = load_head("k", layer, head / 2, unit);
  double *v = load_head("v", layer, head / 2, 0);
  attest_problem *p = taylor_problem_of("taylor", params, q, k, v, N, N, SIZE, SIZE);
  problem_slice_get(&slice, p, 0);
  ck_assert_int_eq(taylor_enclose_open(&work, p, &slice, WANT_CONDITION, &error), ATTEST_OK);
  taylor_cells_open(&b, p);
  for (int64_t row = 0; row < N; row += 48) {
    b.block.row = row;
    b.block.rows = N - row < 48 ? N - row : 48;
    taylor_enclose_rows(&b.block, work, WANT_OUT | WANT_CONDITION);
    for (int64_t r = (row * 7 + layer) % 11; r < b.block.rows; r += 11)
      compare_row(t, p, &slice, work, &b.block.out, r, row + r, OUTPUT_OUT);
  }
  taylor_cells_close(&b);
  taylor_enclose_close(work);
  attest_problem_free(p);
  free(q);
  free(k);
  free(v);
}

static void report(const char *what, const containment t[2]) {
  printf("%s: double %lld elements (%lld left to the next tier), largest error/radius %.4f; "
         "double-double (%lld left), %.4f\n",
         what, (long long)t[0].elements, (long long)t[0].unknown, t[0].worst,
         (long long)t[1].unknown, t[1].worst);
}

START_TEST(enclosures_contain_the_exact_value_on_random_and_adversarial_problems) {
  uint64_t seed = tests_seed() + 1000 * (uint64_t)_i;
  containment t[2] = {{0}}, state[2] = {{0}};
  for (int i = 0; i < 60; i++) {
    taylor_spec spec;
    taylor_fixture f;
    taylor_fixture_draw(&spec, &seed);
    taylor_fixture_open(&f, &spec, &seed);
    compare_problem(t, state, f.problem);
    taylor_fixture_close(&f);
  }
  report("out", t);
  report("final state", state);
  ck_assert_double_gt(t[0].worst, 0.001);
  ck_assert_int_lt(t[0].unknown, t[0].elements / 4);
  ck_assert_int_lt(state[0].unknown, state[0].elements / 4);
}
END_TEST

static int has_form(const taylor_spec *spec, const char *form) {
  for (int i = 0; spec->params[i]; i += 2)
    if (!strcmp(spec->params[i], "form")) return !strcmp(spec->params[i + 1], form);
  return 0;
}

/* Few keys and wide values: many elements for little work. */
START_TEST(enclosures_contain_a_hundred_thousand_elements_of_every_form) {
  static const char *const forms[] = {"direct", "recurrent", "chunked"};
  uint64_t seed = tests_seed() + 77 * (uint64_t)_i;
  containment t[2] = {{0}};
  while (t[0].elements < tests_trials(100000)) {
    taylor_spec spec;
    taylor_fixture f;
    taylor_fixture_draw(&spec, &seed);
    if (!has_form(&spec, forms[_i]) || spec.nk > 40) continue;
    spec.dv = 64;
    taylor_fixture_open(&f, &spec, &seed);
    compare_problem(t, NULL, f.problem);
    taylor_fixture_close(&f);
  }
  report(forms[_i], t);
  ck_assert_double_gt(t[0].worst, 0.001);
  ck_assert_int_lt(t[0].unknown, t[0].elements / 4);
}
END_TEST

START_TEST(enclosures_contain_the_exact_value_on_rows_of_a_real_model) {
  static const char *const degrees[] = {"1", "2", "2", "3", "4"};
  static const char *const forms[] = {"direct", "recurrent", "chunked"};
  containment t[2] = {{0}};
  for (int64_t layer = 0; layer < 5; layer++)
    for (int unit = 0; unit < 2; unit++) {
      const char *const params[] = {"degree", degrees[layer], "form",  forms[(layer + unit) % 3],
                                    "causal", "top-left",     "scale", unit ? "1/2" : "sqrt(1/8)",
                                    NULL};
      compare_head(t, layer, layer + unit, unit, params);
    }
  report("real rows", t);
  ck_assert_int_lt(t[0].unknown, t[0].elements / 20);
}
END_TEST

void test_taylor_enclose(Suite *suite) {
  TCase *tc = tcase_create("taylor enclose");
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, enclosures_contain_the_exact_value_on_random_and_adversarial_problems, 0,
                      8);
  tcase_add_loop_test(tc, enclosures_contain_a_hundred_thousand_elements_of_every_form, 0, 3);
  tcase_add_test(tc, enclosures_contain_the_exact_value_on_rows_of_a_real_model);
  suite_add_tcase(suite, tc);
}
