/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The terms of the double radius of the Taylor room, one by one: rows on which the radius without
 * the term would be below the error. The terms that are missing here are never alone:
 *   polynomial (3 P + 3): Horner's scheme for T_P loses a few units of T_P(|s|), while depth alone
 *     is 42 units of g >= T_P(|s|);
 *   division (u |x|) and eps (2 u (eps + |W|)): relative errors of a unit or two of x, while the
 *     radius of the numerator is at least 46 u |x|, for E >= |N|. */
#include <float.h>
#include <math.h>

#include "../../src/taylor/terms.h"
#include "../enclosure/fixture_contains.h"
#include "fixture_taylor.h"

typedef struct {
  attest_problem *problem;
  taylor_work *work;
  taylor_sums sums;
  taylor_row_view view;
  double x, error; /* of component 0 of the last row */
} row;

static void row_open(row *r, const char *kernel, const char *const params[], double *q, double *k,
                     double *v, int64_t nq, int64_t nk, int64_t d) {
  attest_error error;
  problem_slice slice;
  void *work;
  memset(r, 0, sizeof *r);
  r->problem = taylor_problem_of(kernel, params, q, k, v, nq, nk, d, 1);
  problem_slice_get(&slice, r->problem, 0);
  ck_assert_int_eq(taylor_enclose_open(&work, r->problem, &slice, 0, &error), ATTEST_OK);
  r->work = work;
  ck_assert_int_eq(taylor_sums_open(&r->sums, r->work, 0, &error), ATTEST_OK);
  taylor_sums_rows(&r->sums, r->work, nq - 1, 1);
  r->view = taylor_view_row(r->work, &r->sums, 0);
  ck_assert(r->view.usable);
  r->x = r->view.n[0] / r->view.w;
  room_balls balls;
  room_balls_init(&balls, 1);
  ck_assert_int_eq(taylor_ball(&balls, r->problem, &slice, nq - 1, OUTPUT_OUT, 0, 300, &error),
                   ATTEST_OK);
  arb_t computed;
  arb_init(computed);
  arb_set_d(computed, r->x);
  arb_sub(computed, computed, balls.x, 300);
  r->error = fmin(fabs(enclosure_lower(computed)), fabs(enclosure_upper(computed)));
  arb_clear(computed);
  room_balls_clear(&balls);
}

static void row_close(row *r) {
  taylor_sums_close(&r->sums);
  taylor_enclose_close(r->work);
  attest_problem_free(r->problem);
}

/* The radius of enclose.c from its parts. */
static double radius(const taylor_row_view *v, double units, double tail, double w_radius) {
  double r = (1 + 0x1p-8) * units * 0x1p-53 * v->e[0] + tail;
  if (!v->work->kind.has_normalizer) return r;
  double x = fabs(v->n[0] / v->w);
  return (1 + 0x1p-8) * (r + x * w_radius) / (fabs(v->w) - w_radius) + 0x1p-53 * x;
}

static double whole(const row *r) {
  return radius(&r->view, r->view.error.units, taylor_tail(r->work, &r->view.error, 0),
                r->view.w_radius);
}

static void needed(const char *what, const row *r, double without) {
  printf("%-20s error %.3g, radius %.3g, without the term %.3g\n", what, r->error, whole(r),
         without);
  ck_assert_double_lt(r->error, whole(r));
  ck_assert_double_gt(r->error, without);
}

static const char *const plain[] = {"scale", "1", "normalize", "none", NULL};

/* A product of 1, then products that are each just too small to move it. */
START_TEST(scores_need_their_term) {
  enum { D = 256 };
  double q[D], k[D], v[1] = {1};
  for (int a = 0; a < D; a++) {
    q[a] = 1;
    k[a] = a ? 0.99 * 0x1p-53 : 1;
  }
  row r;
  row_open(&r, "linear", plain, q, k, v, 1, 1, D);
  needed("scores", &r, radius(&r.view, r.view.error.units - D, 0, 0));
  row_close(&r);
}
END_TEST

/* One key of weight 1, then blocks of keys that together are too small to move the total. */
START_TEST(sums_need_their_term) {
  enum { N = 200 * SUMS_KEYS };
  double q[1] = {1}, *k = calloc(2 * N, sizeof *k), *v = k + N;
  for (int64_t j = 0; j < N; j++) {
    k[j] = j ? 0.98 * 0x1p-53 / SUMS_KEYS : 1;
    v[j] = 1;
  }
  row r;
  row_open(&r, "linear", plain, q, k, v, 1, N, 1);
  needed("sums", &r, radius(&r.view, r.view.error.units - r.view.error.depth, 0, 0));
  row_close(&r);
  free(k);
}
END_TEST

/* Half of three smallest numbers rounds up, and again in every sum that it joins. */
START_TEST(underflow_needs_its_term) {
  enum { N = 16 };
  double q[1] = {1}, k[N], v[N];
  for (int j = 0; j < N; j++) {
    k[j] = 0.5;
    v[j] = 3 * 0x1p-1074;
  }
  row r;
  row_open(&r, "linear", plain, q, k, v, 1, N, 1);
  needed("underflow", &r, radius(&r.view, r.view.error.units, 0, 0));
  row_close(&r);
}
END_TEST

START_TEST(powers_that_are_left_out_need_their_term) {
  static const char *const params[] = {"scale",    "1",     "normalize", "none", "causal",
                                       "top-left", "decay", "1e-40",     NULL};
  double q[9], k[9], v[9] = {1e300};
  for (int i = 0; i < 9; i++)
    q[i] = k[i] = 1;
  row r;
  row_open(&r, "linear", params, q, k, v, 9, 9, 1);
  needed("powers of the decay", &r, radius(&r.view, r.view.error.units, 0x1p-900, 0));
  row_close(&r);
}
END_TEST

/* A normaliser that is what is left of two large weights; the numerator has neither. */
START_TEST(the_normaliser_needs_its_term) {
  static const char *const params[] = {"degree", "1", "scale", "1", NULL};
  double q[1] = {0.7}, k[3] = {0, 3.3e8 / 7, -(3.3e8 / 7 + 0.1 / 3)}, v[3] = {1, 0, 0};
  row r;
  row_open(&r, "taylor", params, q, k, v, 1, 3, 1);
  needed("normaliser", &r, radius(&r.view, r.view.error.units, 0, 0));
  row_close(&r);
}
END_TEST

/* error / radius of one row of three keys. */
static double quality(const double *x, const void *degree) {
  const char *params[] = {"degree", degree, "scale", "1", NULL};
  double copy[7];
  attest_error error;
  problem_slice slice;
  void *work;
  memcpy(copy, x, sizeof copy);
  attest_problem *p = taylor_problem_of("taylor", params, copy, copy + 1, copy + 4, 1, 3, 1, 1);
  taylor_cells cells;
  room_balls balls;
  problem_slice_get(&slice, p, 0);
  ck_assert_int_eq(taylor_enclose_open(&work, p, &slice, 0, &error), ATTEST_OK);
  taylor_cells_open(&cells, p);
  cells.block.rows = 1;
  taylor_enclose_rows(&cells.block, work, WANT_OUT);
  room_balls_init(&balls, 1);
  ck_assert_int_eq(taylor_ball(&balls, p, &slice, 0, OUTPUT_OUT, 0, 200, &error), ATTEST_OK);
  double result = 0;
  if (balls.class[0] == EXACT_FINITE && cells.block.out.radius[0] < INFINITY) {
    arb_t distance;
    arb_init(distance);
    arb_set_d(distance, cells.block.out.x[0]);
    arb_sub(distance, distance, balls.x, 200);
    result = fabs(arf_get_d(arb_midref(distance), ARF_RND_UP)) / cells.block.out.radius[0];
    arb_clear(distance);
  }
  room_balls_clear(&balls);
  taylor_cells_close(&cells);
  taylor_enclose_close(work);
  attest_problem_free(p);
  return result;
}

START_TEST(hill_climbing_stays_below_the_radius) {
  static const char *const degrees[] = {"1", "2", "3", "5"};
  uint64_t seed = tests_seed();
  double x[7], top = 0;
  for (int start = 0; start < 8; start++) {
    for (int i = 0; i < 7; i++)
      x[i] = 4 * tests_uniform(&seed) - 2;
    top = fmax(top, containment_climb(x, 7, quality, degrees[start % 4], &seed));
  }
  printf("hill climbing: largest error/radius %.4f\n", top);
  ck_assert_double_ge(top, 0.001);
  ck_assert_double_lt(top, 1);
}
END_TEST

void test_taylor_radius(Suite *suite) {
  TCase *tc = tcase_create("taylor radius");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, scores_need_their_term);
  tcase_add_test(tc, sums_need_their_term);
  tcase_add_test(tc, underflow_needs_its_term);
  tcase_add_test(tc, powers_that_are_left_out_need_their_term);
  tcase_add_test(tc, the_normaliser_needs_its_term);
  tcase_add_test(tc, hill_climbing_stays_below_the_radius);
  suite_add_tcase(suite, tc);
}
