/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The terms of the double radius, one by one: rows on which the radius without the term would be
 * below the error. The terms that are missing here are never alone:
 *
 *   softcap (16 u cap): where |z| >= cap the products pay 4 u |z| at least, and the softcap's own
 *     error is at most (3.8 + 1) u cap(z); where |z| < cap its error is at most 4.8 u |z|;
 *
 *   temperature (3 u reach): rounds twice, u reach each, beside at least 4 u reach for products or
 *     bias;
 *
 *   |y| <= 68 (68 u): |y| > 2 needs a reach above 1, and y = s - m needs reach >= |y| / 2, for
 *     which products or bias pay 4 u reach >= 2 u |y|;
 *
 *   moves of the shift (112 u): a growth of G needs reach >= G / 2, paid 2 u G, and each move of at
 *     least 8 rounds three times: 11 u beside 16 u;
 *
 *   exp (2 u) and division (u): beside the 51 u of out_error;
 *
 *   radius C in S: what weights of errors g t_j cost x^ is at most g sum p t |v - x| = g S, which
 *     costs S at most g C S <= rho S, and kappa pays 2 rho S; what sums cost x^ costs S less than
 *     the 2 u_f (B + |x| C) of rounding v and x to float. */
#include <float.h>
#include <math.h>

#include "../../src/softmax/terms.h"
#include "../enclosure/fixture_contains.h"
#include "fixture.h"

typedef struct {
  attest_problem *problem;
  problem_slice slice;
  softmax_pack *pack;
  softmax_state_f64 state;
  softmax_row_terms terms;
  double error, a, x, tail; /* of component 0 of row 0 */
} row;

/* One query, n keys of d elements, values of one component. */
static void row_open(row *r, double *q, double *k, double *v, double *bias, int64_t n, int64_t d,
                     const char *scale) {
  attest_error error;
  attest_tensor t;
  memset(r, 0, sizeof *r);
  r->problem = attest_problem_new("softmax", &error);
  ck_assert_int_eq(attest_problem_set(r->problem, "scale", scale, &error), ATTEST_OK);
  t = attest_tensor_of(q, ATTEST_FLOAT64, 2, (int64_t[]){1, d});
  ck_assert_int_eq(attest_problem_input(r->problem, "q", &t, &error), ATTEST_OK);
  t = attest_tensor_of(k, ATTEST_FLOAT64, 2, (int64_t[]){n, d});
  ck_assert_int_eq(attest_problem_input(r->problem, "k", &t, &error), ATTEST_OK);
  t = attest_tensor_of(v, ATTEST_FLOAT64, 2, (int64_t[]){n, 1});
  ck_assert_int_eq(attest_problem_input(r->problem, "v", &t, &error), ATTEST_OK);
  t = attest_tensor_of(bias, ATTEST_FLOAT64, 2, (int64_t[]){1, n});
  if (bias) ck_assert_int_eq(attest_problem_input(r->problem, "bias", &t, &error), ATTEST_OK);
  ck_assert_msg(problem_resolve(r->problem, &error) == ATTEST_OK, "%s", error.message);
  problem_slice_get(&r->slice, r->problem, 0);
  ck_assert_int_eq(softmax_pack_open(&r->pack, r->problem, &r->slice, 1, 1, &error), ATTEST_OK);
  ck_assert_int_eq(softmax_state_open_f64(&r->state, r->pack, &error), ATTEST_OK);
  softmax_pass_f64(&r->state, r->pack, 0, 1);
  softmax_terms_of_row(&r->terms, r->pack, 0);
  softmax_terms_finish(&r->terms, r->state.rescaled[0]);
  double x = r->state.out[0] / r->state.sum[0];
  r->x = fabs(x);
  r->tail = softmax_tail(&r->terms, softmax_largest_value(r->pack, &r->terms, 0));
  room_balls balls;
  room_balls_init(&balls, 1);
  ck_assert_int_eq(
      softmax_ball(&balls, r->problem, &r->slice, 0, OUTPUT_OUT, WANT_CONDITION, 200, &error),
      ATTEST_OK);
  r->a = enclosure_upper(balls.a);
  arb_t computed;
  arb_init(computed);
  arb_set_d(computed, x);
  arb_sub(computed, computed, balls.x, 200);
  r->error = fmin(fabs(enclosure_lower(computed)), fabs(enclosure_upper(computed)));
  arb_clear(computed);
  room_balls_clear(&balls);
}

static void row_close(row *r) {
  softmax_state_close_f64(&r->state);
  softmax_pack_close(r->pack);
  attest_problem_free(r->problem);
}

static double radius(const row *r) {
  return softmax_radius(&r->terms, r->a, r->x, r->tail);
}

/* The radius covers the error, and would not without the part that the caller has set to 0. */
static void needed(const char *what, const row *r, const row *without) {
  printf("%-28s error %.3g, radius %.3g, without the term %.3g\n", what, r->error, radius(r),
         radius(without));
  ck_assert_double_lt(r->error, radius(r));
  ck_assert_double_gt(r->error, radius(without));
}

START_TEST(products_need_their_term) {
  enum { D = 64 };
  uint64_t seed = tests_seed();
  double q[D], k[2 * D], v[2] = {1, -1};
  for (int a = 0; a < D; a++) { /* terms of 2^20 that cancel: scores of order 1 */
    q[a] = ldexp(1 + tests_uniform(&seed), 10);
    k[a] = (a % 2 ? -1 : 1) * ldexp(1 + tests_uniform(&seed), 10);
  }
  for (int a = 1; a < D; a += 2)
    k[a] = -k[a - 1] * q[a - 1] / q[a] * (1 + 0x1p-24 * tests_uniform(&seed));
  for (int a = 0; a < D; a++)
    k[D + a] = k[a] * (1 + 0x1p-26 * tests_uniform(&seed));
  row r, without;
  row_open(&r, q, k, v, NULL, 2, D, "1");
  without = r;
  without.terms.product_error = 0;
  softmax_terms_finish(&without.terms, r.state.rescaled[0]);
  needed("products", &r, &without);
  row_close(&r);
}
END_TEST

START_TEST(bias_needs_its_term) {
  double q[1] = {1}, k[2] = {0.3, 0.6}, v[2] = {1, -1}, bias[2] = {1048576, 1048576};
  row r, without;
  row_open(&r, q, k, v, bias, 2, 1, "1");
  without = r;
  without.terms.extra_error = 0;
  softmax_terms_finish(&without.terms, r.state.rescaled[0]);
  needed("bias", &r, &without);
  row_close(&r);
}
END_TEST

START_TEST(keys_that_underflow_need_their_term) {
  double q[1] = {1}, k[2] = {0, -708}, v[2] = {1, 1e308};
  row r, without;
  row_open(&r, q, k, v, NULL, 2, 1, "1");
  without = r;
  without.tail = 0;
  needed("negligible weights", &r, &without);
  row_close(&r);
}
END_TEST

/* One key of weight 1 and value 3/2, then blocks of keys of value -1 whose weights together are
 * just too small to be seen by either total: both lose every block, in opposite directions. */
START_TEST(both_sums_need_their_terms) {
  enum { N = 1000 * PASS_KEYS };
  double q[1] = {1}, *k = calloc(2 * N, sizeof *k), *v = k + N;
  for (int64_t j = 0; j < N; j++) {
    k[j] = j ? log(0.98 * 0x1p-53 / PASS_KEYS) : 0;
    v[j] = j ? -1 : 1.5;
  }
  row r, without;
  row_open(&r, q, k, v, NULL, N, 1, "1");
  without = r;
  without.terms.out_error = 0;
  needed("sum of values", &r, &without);
  without = r;
  without.terms.sum_error = 0;
  needed("normaliser", &r, &without);
  row_close(&r);
  free(k);
}
END_TEST

/* error / radius of one row of three keys. */
static double quality(const double *x, const void *context) {
  double copy[7];
  (void)context;
  memcpy(copy, x, sizeof copy);
  row r;
  row_open(&r, copy, copy + 1, copy + 4, NULL, 3, 1, "1");
  double result = r.error / radius(&r);
  row_close(&r);
  return result;
}

START_TEST(hill_climbing_stays_below_the_radius) {
  uint64_t seed = tests_seed();
  double x[7], top = 0;
  for (int start = 0; start < 8; start++) {
    for (int i = 0; i < 7; i++)
      x[i] = 8 * tests_uniform(&seed) - 4;
    x[0] *= 20;
    top = fmax(top, containment_climb(x, 7, quality, NULL, &seed));
  }
  printf("hill climbing: largest error/radius %.4f\n", top);
  ck_assert_double_ge(top, 0.001);
  ck_assert_double_lt(top, 1);
}
END_TEST

void test_radius(Suite *suite) {
  TCase *tc = tcase_create("radius");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, products_need_their_term);
  tcase_add_test(tc, bias_needs_its_term);
  tcase_add_test(tc, keys_that_underflow_need_their_term);
  tcase_add_test(tc, both_sums_need_their_terms);
  tcase_add_test(tc, hill_climbing_stays_below_the_radius);
  suite_add_tcase(suite, tc);
}
