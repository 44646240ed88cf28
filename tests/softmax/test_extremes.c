/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Parameters and inputs near the ends of the range of doubles, where relative errors are no longer
 * small: what double, double-double and second pass say contains the balls, or they say nothing. */
#include <math.h>

#include "../../src/softmax/softmax.h"
#include "fixture.h"

enum { KEYS = 2, D = 2 };

typedef struct {
  const char *scale, *softcap, *temperature; /* softcap NULL: none */
  double q[D], k[KEYS * D], v[KEYS];
} row;

static const row rows[] = {
    {"1", "1e-310", "1e-307", {1e-155}, {1e-156, 0, -1e-156}, {1, 2}}, /* no double 1 / softcap */
    {"1", NULL, "3e299", {1.1e150}, {1.3e150, 0, 2.7e150}, {1, 2}}, /* 1 / temperature has no low */
    {"1e-300", NULL, "1", {1.1e150}, {1.3e150, 0, 2.7e150}, {1, 2}},     /* nor has the scale */
    {"1.1e300", NULL, "1", {1.1e-150}, {1.3e-150, 0, 2.7e-150}, {1, 2}}, /* nor have products */
    {"1e150", NULL, "1e-150", {1.1e-150}, {1.3e-150, 0, 2.7e-150}, {1, 2}},
    {"1", NULL, "1", {1e-3}, {.7, 0, .9}, {1e-320, 3e-320}},           /* S is subnormal */
    {"1", NULL, "1", {1e-160}, {1e-162, 0, 3.3e-162}, {1e300, 3e300}}, /* t is subnormal */
    {"1", NULL, "1e-300", {1e-160}, {1e-162, 0, 3.3e-162}, {1, 3}},
    {"0.1", "1e-290", "1", {3, 1}, {1, -3, 2, -5}, {1, 2}}, /* slope of the softcap unknown */
    {"1", NULL, "3e242", {1.1e-38}, {1.3e-38, 0, 2.7e-38}, {1e38, 3e38}}, /* p t is subnormal */
    {"1.3e-320", NULL, "1", {1.1e153}, {1.3e153, 0, 2.7e153}, {1, 2}}, /* the scale is subnormal */
};

static attest_problem *problem_of(const row *r) {
  attest_error error;
  attest_problem *p = attest_problem_new("softmax", &error);
  const struct {
    const char *name;
    const double *data;
    int64_t rows, width;
  } inputs[] = {{"q", r->q, 1, D}, {"k", r->k, KEYS, D}, {"v", r->v, KEYS, 1}};
  for (int i = 0; i < 3; i++) {
    attest_tensor t = attest_tensor_of((void *)inputs[i].data, ATTEST_FLOAT64, 2,
                                       (int64_t[]){inputs[i].rows, inputs[i].width});
    ck_assert_int_eq(attest_problem_input(p, inputs[i].name, &t, &error), ATTEST_OK);
  }
  ck_assert_int_eq(attest_problem_set(p, "scale", r->scale, &error), ATTEST_OK);
  ck_assert_int_eq(attest_problem_set(p, "temperature", r->temperature, &error), ATTEST_OK);
  if (r->softcap) ck_assert_int_eq(attest_problem_set(p, "softcap", r->softcap, &error), ATTEST_OK);
  ck_assert_msg(problem_resolve(p, &error) == ATTEST_OK, "%s", error.message);
  return p;
}

/* |x - (hi + lo)| <= radius is possible. */
static void contains(const char *what, double hi, double lo, double radius, const arb_t x) {
  if (radius == INFINITY) return;
  arb_t distance, part;
  arb_init(distance);
  arb_init(part);
  arb_set_d(part, hi);
  arb_sub(distance, x, part, 600);
  arb_set_d(part, lo);
  arb_sub(distance, distance, part, 600);
  arb_abs(distance, distance);
  arb_set_d(part, radius);
  ck_assert_msg(!arb_gt(distance, part), "%s: %a + %a, radius %g", what, hi, lo, radius);
  arb_clear(distance);
  arb_clear(part);
}

static void between(const char *what, double lo, double hi, const arb_t x) {
  arb_t end;
  arb_init(end);
  arb_set_d(end, lo);
  ck_assert_msg(!arb_lt(x, end), "%s >= %a", what, lo);
  arb_set_d(end, hi);
  ck_assert_msg(hi == INFINITY || !arb_gt(x, end), "%s <= %a", what, hi);
  arb_clear(end);
}

START_TEST(enclosures_contain_the_balls) {
  const row *r = &rows[_i];
  attest_error error;
  attest_problem *p = problem_of(r);
  problem_slice slice;
  void *work;
  double cell[2][6];
  unsigned char class[2];
  unsigned want = WANT_OUT | WANT_LSE | WANT_CONDITION;
  problem_slice_get(&slice, p, 0);
  room_block block = {.rows = 1};
  room_cells *cells[2] = {&block.out, &block.lse};
  for (int i = 0; i < 2; i++)
    *cells[i] = (room_cells){1,           &cell[i][0], &cell[i][1], &cell[i][2], &cell[i][3],
                             &cell[i][4], &cell[i][5], NULL,        &class[i]};
  ck_assert_int_eq(softmax_enclose_open(&work, p, &slice, want, &error), ATTEST_OK);
  softmax_enclose_rows(&block, work, want);
  for (int i = 0; i < 2; i++) {
    room_balls balls;
    int output = i ? OUTPUT_LSE : OUTPUT_OUT;
    double hi, lo, radius, s_lo, s_hi;
    room_balls_init(&balls, 1);
    ck_assert_int_eq(softmax_ball(&balls, p, &slice, 0, output,
                                  (i ? WANT_LSE : WANT_OUT) | WANT_CONDITION, 400, &error),
                     ATTEST_OK);
    contains("double", cell[i][0], 0, cell[i][1], balls.x);
    between("A", cell[i][2], cell[i][3], balls.a);
    between("S", cell[i][4], cell[i][5], balls.s);
    softmax_enclose_dd(&hi, &lo, &radius, work, 0, output);
    contains("double-double", hi, lo, radius, balls.x);
    if (!i && cell[i][1] < INFINITY) {
      softmax_sensitivity(&s_lo, &s_hi, &cell[i][0], &cell[i][1], work, 0);
      between("S, second pass", s_lo, s_hi, balls.s);
    }
    room_balls_clear(&balls);
  }
  softmax_enclose_close(work);
  attest_problem_free(p);
}
END_TEST

/* Weights of e^7.9 relative to a shift that 256 keys of score 0 set: the normaliser exceeds 2^24,
 * and times a scale that brings such values to 1 it would overflow. A is the size of the values. */
START_TEST(tiny_values_under_a_large_normaliser_are_enclosed) {
  enum { MANY = 12000, FIRST = 256 };
  static double k[MANY], v[MANY];
  static const char *const names[] = {"q", "k", "v"};
  double q = 1, cell[6];
  for (int j = 0; j < MANY; j++) {
    k[j] = j < FIRST ? 0 : 7.9;
    v[j] = j % 2 ? -1e-305 : 1e-305;
  }
  const double *data[] = {&q, k, v};
  attest_error error;
  attest_problem *p = attest_problem_new("softmax", &error);
  for (int i = 0; i < 3; i++) {
    attest_tensor t =
        attest_tensor_of((void *)data[i], ATTEST_FLOAT64, 2, (int64_t[]){i ? MANY : 1, 1});
    ck_assert_int_eq(attest_problem_input(p, names[i], &t, &error), ATTEST_OK);
  }
  ck_assert_msg(problem_resolve(p, &error) == ATTEST_OK, "%s", error.message);
  problem_slice slice;
  void *work;
  unsigned char class;
  problem_slice_get(&slice, p, 0);
  room_block block = {.rows = 1};
  block.out =
      (room_cells){1, &cell[0], &cell[1], &cell[2], &cell[3], &cell[4], &cell[5], NULL, &class};
  ck_assert_int_eq(softmax_enclose_open(&work, p, &slice, WANT_OUT | WANT_CONDITION, &error),
                   ATTEST_OK);
  softmax_enclose_rows(&block, work, WANT_OUT | WANT_CONDITION);
  ck_assert_msg(cell[2] <= 1e-305 && 1e-305 <= cell[3], "A in [%g, %g]", cell[2], cell[3]);
  softmax_enclose_close(work);
  attest_problem_free(p);
}
END_TEST

void test_extremes(Suite *suite) {
  TCase *tc = tcase_create("extremes");
  tcase_add_loop_test(tc, enclosures_contain_the_balls, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, tiny_values_under_a_large_normaliser_are_enclosed);
  suite_add_tcase(suite, tc);
}
