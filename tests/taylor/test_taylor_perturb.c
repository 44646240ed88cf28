/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Explicit backward errors of Taylor and linear attention. Where weights are linear in what is
 * moved the least size is the root of a quadratic, an independent route; for scores under higher
 * degrees a search over one key's score finds an attainable size. */
#include <math.h>

#include "fixture_taylor.h"

enum { KEYS = 3 };

static measure_interval explicit_error(const char *kernel, const char *const params[], double *q,
                                       double *k, double *v, int64_t nk, double got, double u_w,
                                       double u_s, double quantum) {
  attest_error error;
  problem_slice slice;
  measure_interval value;
  attest_problem *p = taylor_problem_of(kernel, params, q, k, v, 1, nk, 1, 1);
  problem_slice_get(&slice, p, 0);
  ck_assert_msg(taylor_backward_explicit(&value, p, &slice, 0, OUTPUT_OUT, 0, got, u_w, u_s,
                                         quantum, &error) == ATTEST_OK,
                "%s", error.message);
  attest_problem_free(p);
  return value;
}

/* Least B of |R| = B u_s C + B u_w A + B^2 u_s u_w D for rows whose weights move by B u_s c. */
static double quadratic(double r, double c, double a, double d, double u_w, double u_s) {
  double quad = u_s * u_w * d, linear = u_s * c + u_w * a;
  return quad == 0 ? r / linear : (sqrt(linear * linear + 4 * quad * r) - linear) / (2 * quad);
}

/* Weights of degree 1 are linear in the score: sum over keys of w = 1 + s, with one feature |s| =
 * t: c = t + 1 + t. Stateful: c = 1 + t, with |v| + |got| in place of |v - got|. */
static void compare(uint64_t *seed, int stateful) {
  const char *params[] = {"scale", "1", "degree", "1", "form", stateful ? "recurrent" : "direct",
                          NULL};
  double q[1] = {1}, k[KEYS], v[KEYS], r = 0, c = 0, a = 0, d = 0;
  double got, u_w = 0x1p-8, u_s = 0x1p-10, n = 0, sum = 0;
  for (int j = 0; j < KEYS; j++) {
    k[j] = 4 * tests_uniform(seed) - 2;
    v[j] = 4 * tests_uniform(seed) - 2;
    n += (1 + k[j]) * v[j];
    sum += 1 + k[j];
  }
  got = n / sum * (1 + 0.01 * tests_uniform(seed)); /* so that eps_v and eps_s stay small */
  for (int j = 0; j < KEYS; j++) {
    double t = fabs(k[j]), spread = stateful ? fabs(v[j]) + fabs(got) : fabs(v[j] - got);
    double move = stateful ? 1 + t : 1 + 2 * t;
    r += (1 + k[j]) * (v[j] - got);
    c += move * spread;
    a += fabs((1 + k[j]) * v[j]);
    d += move * fabs(v[j]);
  }
  measure_interval value = explicit_error("taylor", params, q, k, v, KEYS, got, u_w, u_s, 0);
  double least = quadratic(fabs(r), c, a, d, u_w, u_s);
  /* What the quadratic leaves out, B^2 u_s^2 t a key, is B u_s of it at most. */
  double slack = 0.01 + least * u_s;
  ck_assert_msg(value.lo <= least * 1.01 && value.hi >= least * (1 - slack) &&
                    value.lo <= value.hi && value.hi <= value.lo * (1 + 4 * slack),
                "[%g, %g], %g expected", value.lo, value.hi, least);
}

START_TEST(sizes_of_linear_weights_are_the_root_of_a_quadratic) {
  uint64_t seed = tests_seed();
  for (int i = 0; i < 40; i++)
    compare(&seed, i % 2);
}
END_TEST

/* Moving the score of key 1 by +-B u_s t, and its terms by B u_s, attains got: no lower bound may
 * be above that B. */
START_TEST(a_perturbation_that_attains_is_no_smaller_than_the_lower_bound) {
  static const char *const params[] = {"scale", "1", "degree", "2", NULL};
  uint64_t seed = tests_seed();
  double u_s = 0x1p-24, u_w = 0x1p-24;
  for (int i = 0; i < 40; i++) {
    double q[1] = {1}, k[KEYS], v[KEYS], w[KEYS], n = 0, sum = 0;
    double size = 2000 * tests_uniform(&seed) * 1024;
    for (int j = 0; j < KEYS; j++) {
      k[j] = 40 * tests_uniform(&seed) - 20;
      v[j] = 4 * tests_uniform(&seed) - 2;
      double s = j == 1 ? k[j] + size * u_s * fabs(k[j]) : k[j];
      w[j] = 1 + s + s * s / 2;
      if (j == 1) w[j] += size * u_s * (1 + fabs(s) + s * s / 2);
      n += w[j] * v[j];
      sum += w[j];
    }
    measure_interval value = explicit_error("taylor", params, q, k, v, KEYS, n / sum, u_w, u_s, 0);
    ck_assert_msg(value.lo <= size * (1 + 1e-6) && value.lo <= value.hi, "[%g, %g], %g attains",
                  value.lo, value.hi, size);
    ck_assert_double_lt(value.hi, INFINITY);
  }
}
END_TEST

/* A sum that nearly vanishes: rounding of one unit in a weight explains results of the order of
 * 1 / u, but not smaller ones. */
START_TEST(a_vanishing_normaliser_explains_itself) {
  static const char *const params[] = {"scale", "1", "degree", "3", NULL};
  double q[1] = {1}, k[2] = {-3, 0.6988854898463298}, v[2] = {1, 0};
  measure_interval far = explicit_error("taylor", params, q, k, v, 2, 1e7, 0x1p-24, 0x1p-24, 0);
  ck_assert_double_le(far.hi, 1);
  measure_interval near = explicit_error("taylor", params, q, k, v, 2, 1000, 0x1p-24, 0x1p-24, 0);
  ck_assert_double_ge(near.lo, 1000);
}
END_TEST

START_TEST(an_exact_result_has_no_error) {
  static const char *const params[] = {"scale", "1", "degree", "1", NULL};
  double q[1] = {1}, k[2] = {0.5, 0.5}, v[2] = {1, 2};
  measure_interval value =
      explicit_error("taylor", params, q, k, v, 2, 1.5, 0x1p-24, 0x1p-24, 0x1p-150);
  ck_assert(value.lo == 0 && value.hi == 0);
}
END_TEST

void test_taylor_perturb(Suite *suite) {
  TCase *tc = tcase_create("taylor perturb");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, sizes_of_linear_weights_are_the_root_of_a_quadratic);
  tcase_add_test(tc, a_perturbation_that_attains_is_no_smaller_than_the_lower_bound);
  tcase_add_test(tc, a_vanishing_normaliser_explains_itself);
  tcase_add_test(tc, an_exact_result_has_no_error);
  suite_add_tcase(suite, tc);
}
