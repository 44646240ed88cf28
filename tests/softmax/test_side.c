/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double test of explicit backward errors against the bounds in balls. */
#include <math.h>

#include "../../src/softmax/softmax.h"
#include "fixture.h"

typedef struct {
  int within, beyond, open, explained;
} tally;

/* One row: outputs at distances from far below to far above what the limit can reach. */
static void compare_row(tally *t, const fixture *f, const problem_slice *slice, const void *work,
                        const room_block *block, int64_t row, double limit, uint64_t *seed) {
  attest_error error;
  int64_t dv = slice->dv;
  double got[64];
  signed char side[64];
  const double *x = block->out.x + row * dv, *radius = block->out.radius + row * dv;
  for (int64_t c = 0; c < dv; c++)
    got[c] =
        x[c] + (tests_uniform(seed) - 0.5) * ldexp(1 + fabs(x[c]), -(int)(tests_random(seed) % 20));
  softmax_backward_side(side, got, x, radius, work, row, limit, 0x1p-24, 0x1p-24, 0x1p-150);
  for (int64_t c = 0; c < dv; c++) {
    measure_interval value;
    if (block->out.class[row * dv + c] != EXACT_FINITE) continue;
    ck_assert_int_eq(softmax_backward_explicit(&value, f->problem, slice, row, OUTPUT_OUT, c,
                                               got[c], 0x1p-24, 0x1p-24, 0x1p-150, &error),
                     ATTEST_OK);
    t->within += side[c] > 0;
    t->beyond += side[c] < 0;
    t->open += side[c] == 0;
    /* Between the two bounds neither is known. */
    t->explained += side[c] == 0 && value.lo <= limit && value.hi >= limit;
    /* The same formulas, there on a grid of steps of 2^(1/128). */
    ck_assert_msg(side[c] <= 0 || value.hi <= limit * 1.006, "within %g, not %g", limit, value.hi);
    ck_assert_msg(side[c] >= 0 || value.lo >= limit / 1.006, "beyond %g, not %g", limit, value.lo);
  }
}

START_TEST(double_agrees_with_balls_on_steep_rows) {
  uint64_t seed = tests_seed();
  tally t = {0};
  for (int i = 0; i < 40; i++) {
    fixture_spec spec;
    fixture f;
    attest_error error;
    fixture_draw(&spec, &seed);
    spec.data = i % 4 ? DATA_HUGE_SCORES : DATA_GAUSSIAN;
    spec.dtype = ATTEST_FLOAT32;
    spec.nk = 1 + spec.nk % 20;
    spec.nq = 4;
    spec.heads_q = spec.heads_k = 1;
    fixture_open(&f, &spec, &seed);
    problem_slice slice;
    void *work;
    problem_slice_get(&slice, f.problem, 0);
    double numbers[2 * 4 * 64];
    unsigned char class[4 * 64];
    room_block block = {
        .rows = 4,
        .out = {.width = slice.dv, .x = numbers, .radius = numbers + 4 * slice.dv, .class = class}};
    ck_assert_int_eq(softmax_enclose_open(&work, f.problem, &slice, WANT_OUT, &error), ATTEST_OK);
    softmax_enclose_rows(&block, work, WANT_OUT);
    for (int64_t row = 0; row < 4; row++)
      compare_row(&t, &f, &slice, work, &block, row, ldexp(1, (int)(tests_random(&seed) % 16) - 2),
                  &seed);
    softmax_enclose_close(work);
    fixture_close(&f);
  }
  printf("sides: %d within, %d beyond, %d open, of which %d between the bounds\n", t.within,
         t.beyond, t.open, t.explained);
  ck_assert_int_gt(t.within, 100);
  ck_assert_int_gt(t.beyond, 100);
  ck_assert_int_lt(t.open - t.explained, (t.within + t.beyond) / 10);
}
END_TEST

void test_side(Suite *suite) {
  TCase *tc = tcase_create("side");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, double_agrees_with_balls_on_steep_rows);
  suite_add_tcase(suite, tc);
}
