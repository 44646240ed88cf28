/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double and double-double tiers against the ball tier: the enclosure contains the exact value.
 * The ball tier is the independent route: other code, other arithmetic, 200 bits. */
#include <math.h>

#include "../../src/softmax/softmax.h"
#include "../enclosure/fixture_contains.h"
#include "fixture.h"

enum { ROWS = 64 };
typedef struct {
  room_block block;
  double *numbers;
  unsigned char *classes;
} buffers;

static void buffers_open(buffers *b, int64_t dv) {
  int64_t n = ROWS * (dv + 1);
  memset(b, 0, sizeof *b);
  b->numbers = calloc((size_t)(7 * n + ROWS), sizeof(double));
  b->classes = calloc((size_t)n, 1);
  double **fields[2][7] = {
      {&b->block.out.x, &b->block.out.radius, &b->block.out.a_lo, &b->block.out.a_hi,
       &b->block.out.s_lo, &b->block.out.s_hi, &b->block.out.theory},
      {&b->block.lse.x, &b->block.lse.radius, &b->block.lse.a_lo, &b->block.lse.a_hi,
       &b->block.lse.s_lo, &b->block.lse.s_hi, &b->block.lse.theory}};
  for (int i = 0; i < 7; i++) {
    *fields[0][i] = b->numbers + i * n;
    *fields[1][i] = b->numbers + i * n + ROWS * dv;
  }
  b->block.out.class = b->classes;
  b->block.lse.class = b->classes + ROWS * dv;
  b->block.reach = b->numbers + 7 * n;
  b->block.out.width = dv;
  b->block.lse.width = 1;
}

static void buffers_close(buffers *b) {
  free(b->numbers);
  free(b->classes);
}

/* All tiers of one row of one output. */
static void compare_row(containment t[2], const attest_problem *problem, const problem_slice *slice,
                        const void *work, const room_cells *cells, int64_t at, int64_t row,
                        int output) {
  attest_error error;
  room_balls balls;
  int64_t width = cells->width, first = at * width;
  double *more = calloc((size_t)(5 * width), sizeof *more);
  room_balls_init(&balls, width);
  ck_assert_msg(softmax_ball(&balls, problem, slice, row, output, WANT_CONDITION, 200, &error) ==
                    ATTEST_OK,
                "%s", error.message);
  softmax_enclose_dd(more, more + width, more + 2 * width, work, row, output);
  if (output == OUTPUT_OUT)
    softmax_sensitivity(more + 3 * width, more + 4 * width, cells->x + first, cells->radius + first,
                        work, row);
  for (int64_t c = 0; c < width; c++) {
    ck_assert_int_eq(cells->class[first + c], balls.class[c]);
    if (balls.class[c] != EXACT_FINITE) continue;
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

/* Every row of every slice, at most `limit` rows a slice. */
static void compare_problem(containment t[2], const attest_problem *problem, unsigned want,
                            int64_t limit) {
  attest_error error;
  for (int64_t i = 0; i < problem_slice_count(problem); i++) {
    problem_slice slice;
    void *work;
    buffers b;
    problem_slice_get(&slice, problem, i);
    ck_assert_int_eq(softmax_enclose_open(&work, problem, &slice, want, &error), ATTEST_OK);
    buffers_open(&b, slice.dv);
    for (int64_t row = 0; row < slice.nq && row < limit; row += ROWS) {
      b.block.row = row;
      b.block.rows = slice.nq - row < ROWS ? slice.nq - row : ROWS;
      softmax_enclose_rows(&b.block, work, want);
      for (int64_t r = 0; r < b.block.rows && row + r < limit; r++) {
        compare_row(t, problem, &slice, work, &b.block.out, r, row + r, OUTPUT_OUT);
        compare_row(t, problem, &slice, work, &b.block.lse, r, row + r, OUTPUT_LSE);
      }
    }
    buffers_close(&b);
    softmax_enclose_close(work);
  }
}

static void report(const char *what, const containment t[2]) {
  printf("%s: double %lld elements (%lld left to the next tier), largest error/radius %.4f; "
         "double-double (%lld left), %.4f\n",
         what, (long long)t[0].elements, (long long)t[0].unknown, t[0].worst,
         (long long)t[1].unknown, t[1].worst);
}

START_TEST(enclosures_contain_the_exact_value_on_random_and_adversarial_problems) {
  uint64_t seed = tests_seed();
  containment t[2] = {{0}};
  for (int i = 0; i < 150; i++) {
    fixture_spec spec;
    fixture f;
    fixture_draw(&spec, &seed);
    fixture_open(&f, &spec, &seed);
    compare_problem(t, f.problem, WANT_OUT | WANT_LSE | WANT_CONDITION, INT64_MAX);
    fixture_close(&f);
  }
  report("random and adversarial", t);
  ck_assert_double_gt(t[0].worst, 0.001);
  ck_assert_int_lt(t[0].unknown, t[0].elements / 5);
}
END_TEST

void test_enclose(Suite *suite) {
  TCase *tc = tcase_create("enclose");
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, enclosures_contain_the_exact_value_on_random_and_adversarial_problems);
  suite_add_tcase(suite, tc);
}
