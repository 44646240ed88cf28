/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest_reference, the public way to correctly rounded results. Expected values by hand. */
#include <math.h>

#include "../../src/attest.h"
#include "../tests.h"

typedef struct {
  attest_problem *problem;
  double q[2], k[4], v[4];
} small;

/* One query (1, 1), keys (1, 3) and (4, 0): both scores are 4 / sqrt(2). */
static void small_new(small *s, double v0, double v1) {
  attest_error error = {0};
  *s = (small){attest_problem_new("softmax", &error), {1, 1}, {1, 3, 4, 0}, {v0, v1, v0, v1}};
  attest_tensor q = attest_tensor_of(s->q, ATTEST_FLOAT64, 2, (int64_t[]){1, 2});
  attest_tensor k = attest_tensor_of(s->k, ATTEST_FLOAT64, 2, (int64_t[]){2, 2});
  attest_tensor v = attest_tensor_of(s->v, ATTEST_FLOAT64, 2, (int64_t[]){2, 1});
  ck_assert_msg(!attest_problem_input(s->problem, "q", &q, &error), "%s", error.message);
  ck_assert_msg(!attest_problem_input(s->problem, "k", &k, &error), "%s", error.message);
  ck_assert_msg(!attest_problem_input(s->problem, "v", &v, &error), "%s", error.message);
}

static float rounded(small *s) {
  float x = -1;
  attest_error error = {0};
  attest_tensor result = attest_tensor_of(&x, ATTEST_FLOAT32, 2, (int64_t[]){1, 1});
  ck_assert_msg(!attest_reference(&result, s->problem, "out", &error), "%s", error.message);
  attest_problem_free(s->problem);
  return x;
}

/* No ball of an irrational score leaves these boundaries; the exact tier decides. */
START_TEST(ties_go_to_even) {
  const struct {
    double v0, v1;
    float expected;
  } rows[] = {
      {0x1p-23, 2 + 0x1p-22, 1 + 0x1p-22f},       /* mean 1 + 3 2^-24 */
      {0, 2 + 0x1p-23, 1},                        /* mean 1 + 2^-24 */
      {-1, 1, 0},                                 /* zero */
      {0, 0x1p-149, 0},                           /* half the least subnormal */
      {0, 0x3p-149, 0x1p-148f},                   /* 1.5 of it */
      {0x1.ffffffp127, 0x1.ffffffp127, INFINITY}, /* half a quantum above the largest number */
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    small s;
    small_new(&s, rows[i].v0, rows[i].v1);
    float got = rounded(&s);
    ck_assert_msg(got == rows[i].expected, "row %zu: %a, not %a", i, (double)got,
                  (double)rows[i].expected);
  }
}
END_TEST

START_TEST(results_of_the_wrong_kind_are_refused) {
  small s;
  attest_error error = {0};
  int32_t x[2];
  small_new(&s, 0, 1);
  attest_tensor integers = attest_tensor_of(x, ATTEST_INT32, 2, (int64_t[]){1, 1});
  ck_assert_int_eq(attest_reference(&integers, s.problem, "out", &error), ATTEST_ERR_INPUT);
  attest_tensor shape = attest_tensor_of(x, ATTEST_FLOAT32, 1, (int64_t[]){2});
  ck_assert_int_eq(attest_reference(&shape, s.problem, "out", &error), ATTEST_ERR_INPUT);
  ck_assert_ptr_nonnull(strstr(error.message, "(1, 1)"));
  ck_assert_int_eq(attest_reference(&shape, s.problem, "outs", &error), ATTEST_ERR_INPUT);
  attest_problem_free(s.problem);
}
END_TEST

/* Strides of the result are honoured, in any order. */
START_TEST(result_may_be_strided) {
  small s;
  attest_error error = {0};
  double x[4] = {9, 9, 9, 9};
  small_new(&s, 1, 1);
  attest_tensor v = attest_tensor_of(s.v, ATTEST_FLOAT64, 2, (int64_t[]){2, 2});
  s.v[0] = s.v[2] = 5;
  s.v[1] = s.v[3] = 6;
  ck_assert(!attest_problem_input(s.problem, "v", &v, &error));
  attest_tensor result = attest_tensor_of(x + 3, ATTEST_FLOAT64, 2, (int64_t[]){1, 2});
  result.stride[1] = -2;
  ck_assert_msg(!attest_reference(&result, s.problem, "out", &error), "%s", error.message);
  ck_assert(x[0] == 9 && x[1] == 6 && x[2] == 9 && x[3] == 5);
  attest_tensor lse = attest_tensor_of(x, ATTEST_FLOAT64, 1, (int64_t[]){1});
  ck_assert_msg(!attest_reference(&lse, s.problem, "lse", &error), "%s", error.message);
  ck_assert(fabs(x[0] - (4 / sqrt(2) + log(2))) < 1e-15);
  attest_problem_free(s.problem);
}
END_TEST

void test_rounding(Suite *suite) {
  TCase *tc = tcase_create("rounding");
  tcase_add_test(tc, ties_go_to_even);
  tcase_add_test(tc, results_of_the_wrong_kind_are_refused);
  tcase_add_test(tc, result_may_be_strided);
  suite_add_tcase(suite, tc);
}
