/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Oracle cross-examination. What Arb, MPFR, rationals, double-double and double say of the same row
 * must overlap, every two that can answer; and the radii of the latter two are attacked by search,
 * against Arb. Of each kernel ATTEST_ORACLES elements are looked at (here a few thousand; `make
 * oracles`: 600,000). */
#include <math.h>

#include "fixture_oracle.h"

enum { PREC = 256, MORE = 1200, STEPS = 300, OUTPUTS = OUTPUT_FINAL_STATE + 1 };
enum { DOUBLE, DOUBLE_DOUBLE, BALL, MPFR, RATIONAL, ORACLES };
static const char *const oracle_names[ORACLES] = {"double", "double-double", "arb", "mpfr",
                                                  "rational"};

typedef struct {
  int64_t elements, open;         /* open: without a radius, left to balls by double */
  double worst[BALL][OUTPUTS];    /* error over radius */
  int64_t both[ORACLES][ORACLES]; /* elements that two have answered */
  int target;                     /* the output whose radius is under attack .. */
  double here;                    /* .. and its worst[DOUBLE] in the problem at hand */
} tally;

static int64_t wanted(void) {
  const char *text = getenv("ATTEST_ORACLES");
  return text ? strtoll(text, NULL, 0) : 3000;
}

/* ---- one row of double and double-double ---- */

typedef struct {
  room_block block;
  double *numbers, *dd; /* dd: hi, lo, radius */
  unsigned char *classes;
  int64_t width;
} cells;

static void cells_open(cells *c, const attest_problem *problem) {
  int64_t width = problem->dv > problem->state_width ? problem->dv : problem->state_width;
  *c = (cells){.width = width};
  c->numbers = calloc((size_t)(7 * OUTPUTS * width + 3 * width + 1), sizeof *c->numbers);
  c->classes = calloc((size_t)(OUTPUTS * width), 1);
  room_cells *outputs[OUTPUTS] = {&c->block.out, &c->block.lse, &c->block.state};
  for (int i = 0; i < OUTPUTS; i++) {
    double **fields[7] = {&outputs[i]->x,     &outputs[i]->radius, &outputs[i]->a_lo,
                          &outputs[i]->a_hi,  &outputs[i]->s_lo,   &outputs[i]->s_hi,
                          &outputs[i]->theory};
    for (int k = 0; k < 7; k++)
      *fields[k] = c->numbers + (7 * i + k) * width;
    outputs[i]->class = c->classes + i * width;
    outputs[i]->width = i == 0 ? problem->dv : i == 1 ? 1 : problem->state_width;
  }
  c->dd = c->numbers + 7 * OUTPUTS * width;
  c->block.reach = c->dd + 3 * width;
  c->block.rows = 1;
}

static void cells_close(cells *c) {
  free(c->numbers);
  free(c->classes);
}

static const room_cells *cells_of(const cells *c, int output) {
  return output == OUTPUT_OUT   ? &c->block.out
         : output == OUTPUT_LSE ? &c->block.lse
                                : &c->block.state;
}

/* ---- what is asked ---- */

typedef struct {
  tally *t;
  const attest_problem *problem;
  const problem_room *room;
  const problem_slice *slice;
  int64_t row;
  int output;
} question;

static void ask_balls(room_balls *balls, const question *q, slong prec) {
  attest_error error;
  ck_assert_msg(!q->room->ball(balls, q->problem, q->slice, q->row, q->output, room_want(q->output),
                               prec, &error),
                "%s", error.message);
}

/* [hi + lo - radius, hi + lo + radius] */
static void interval(arb_t x, double hi, double lo, double radius) {
  arf_t rest;
  arf_init(rest);
  arf_set_d(arb_midref(x), hi);
  arf_set_d(rest, lo);
  arf_add(arb_midref(x), arb_midref(x), rest, ARF_PREC_EXACT, ARF_RND_DOWN);
  mag_zero(arb_radref(x));
  arf_set_d(rest, radius);
  arb_add_error_arf(x, rest);
  arf_clear(rest);
}

/* |hi + lo - x| from above. */
static double distance(double hi, double lo, const arb_t x) {
  arb_t y;
  arb_init(y);
  interval(y, hi, lo, 0);
  arb_sub(y, y, x, MORE);
  arb_abs(y, y);
  double result = enclosure_upper(y);
  arb_clear(y);
  return result;
}

/* An element within its radius of the ball; where 256 bits cannot show that, more must. */
static void within(const question *q, int tier, int64_t c, const arb_t ball, double hi, double lo,
                   double radius) {
  double off = distance(hi, lo, ball);
  if (off > radius) {
    room_balls more;
    room_balls_init(&more, problem_output_width(q->problem, q->output));
    ask_balls(&more, q, MORE);
    off = distance(hi, lo, more.x + c);
    room_balls_clear(&more);
  }
  ck_assert_msg(off <= radius, "%s, %s of %s[%lld, %lld]: %a + %a is off by %a, more than %a",
                q->room->name, oracle_names[tier], problem_output_names[q->output],
                (long long)q->row, (long long)c, hi, lo, off, radius);
  double ratio = off > 0 ? off / radius : 0;
  q->t->worst[tier][q->output] = fmax(q->t->worst[tier][q->output], ratio);
  if (tier == DOUBLE && q->output == q->t->target) q->t->here = fmax(q->t->here, ratio);
}

static void attack(const question *q, const cells *cells, const room_balls *balls) {
  const room_cells *x = cells_of(cells, q->output);
  for (int64_t c = 0; c < x->width; c++) {
    q->t->elements++;
    if (!(x->radius[c] < INFINITY)) {
      q->t->open++;
    } else {
      ck_assert_msg(x->class[c] == balls->class[c], "%s: class %d, not %d", q->room->name,
                    x->class[c], balls -> class[c]);
      if (balls->class[c] == EXACT_FINITE)
        within(q, DOUBLE, c, balls->x + c, x->x[c], 0, x->radius[c]);
    }
    const double *dd = cells->dd;
    int64_t width = x->width;
    if (q->room->rows_dd && balls->class[c] == EXACT_FINITE && dd[2 * width + c] < INFINITY)
      within(q, DOUBLE_DOUBLE, c, balls->x + c, dd[c], dd[width + c], dd[2 * width + c]);
  }
}

/* All that can answer for a row of out, two by two. */
static void cross_examine(const question *q, const cells *cells, const room_balls *balls) {
  int64_t width = cells->block.out.width;
  int answers[ORACLES] = {0};
  arb_ptr x[ORACLES];
  oracle_row row;
  oracle_row_open(&row, q->problem, q->slice, q->row);
  for (int i = 0; i < ORACLES; i++)
    x[i] = _arb_vec_init(width);
  answers[DOUBLE] = answers[BALL] = 1;
  answers[DOUBLE_DOUBLE] = q->room->rows_dd != NULL;
  answers[MPFR] = oracle_mpfr(x[MPFR], &row);
  answers[RATIONAL] = oracle_rational(x[RATIONAL], &row);
  for (int64_t c = 0; c < width; c++) {
    const double *dd = cells->dd;
    if (balls->class[c] != EXACT_FINITE) continue;
    interval(x[DOUBLE] + c, cells->block.out.x[c], 0, cells->block.out.radius[c]);
    if (q->room->rows_dd) interval(x[DOUBLE_DOUBLE] + c, dd[c], dd[width + c], dd[2 * width + c]);
    arb_set(x[BALL] + c, balls->x + c);
    for (int i = 0; i < ORACLES; i++)
      for (int j = i + 1; j < ORACLES; j++) {
        if (!answers[i] || !answers[j]) continue;
        q->t->both[i][j]++;
        ck_assert_msg(arb_overlaps(x[i] + c, x[j] + c), "%s: out[%lld, %lld]: %s %s, %s %s",
                      q->room->name, (long long)q->row, (long long)c, oracle_names[i],
                      arb_get_str(x[i] + c, 40, ARB_STR_MORE), oracle_names[j],
                      arb_get_str(x[j] + c, 40, ARB_STR_MORE));
      }
  }
  for (int i = 0; i < ORACLES; i++)
    _arb_vec_clear(x[i], width);
  oracle_row_close(&row);
}

static void examine_row(const question *q, cells *cells, const void *work, int all) {
  room_balls balls;
  cells->block.row = q->row;
  q->room->rows(&cells->block, work, room_want(q->output));
  if (q->room->rows_dd) {
    int64_t width = cells_of(cells, q->output)->width;
    q->room->rows_dd(cells->dd, cells->dd + width, cells->dd + 2 * width, work, q->row, q->output);
  }
  room_balls_init(&balls, problem_output_width(q->problem, q->output));
  ask_balls(&balls, q, PREC);
  attack(q, cells, &balls);
  if (all && q->output == OUTPUT_OUT) cross_examine(q, cells, &balls);
  room_balls_clear(&balls);
}

static int is_returned(const attest_problem *problem, int output) {
  if (!problem_kernel_returns(problem->kernel, output)) return 0;
  return output != OUTPUT_FINAL_STATE ||
         (problem_ends_in_state(problem) && problem->state_rows < 200);
}

/* Every row of a problem; `all`: out of all oracles. The largest error over a double radius. */
static double examine(tally *t, const attest_problem *problem, int all) {
  const problem_room *room = certify_room(problem->kernel->name);
  cells cells;
  t->here = 0;
  cells_open(&cells, problem);
  for (int64_t i = 0; i < problem_slice_count(problem); i++) {
    problem_slice slice;
    attest_error error;
    void *work;
    problem_slice_get(&slice, problem, i);
    ck_assert_msg(!room->open(&work, problem, &slice, WANT_OUT, &error), "%s", error.message);
    for (int output = 0; output < OUTPUTS; output++)
      for (int64_t row = 0;
           is_returned(problem, output) && row < problem_output_rows(problem, &slice, output);
           row++)
        examine_row(&(question){t, problem, room, &slice, row, output}, &cells, work, all);
    room->close(work);
  }
  cells_close(&cells);
  return t->here;
}

/* ---- the search ---- */

/* One element of q, k or v, at the same time its old value. */
static double *any_element(const attest_problem *problem, uint64_t *seed) {
  const attest_tensor *t = &problem->input[tests_random(seed) % 3];
  return (double *)t->data + tests_random(seed) % (uint64_t)tensor_elements(t);
}

/* Steps uphill from a random small problem: two times of three for the radius of out. */
static void climb(tally *t, const char *kernel, int64_t until, uint64_t *seed) {
  oracle_case c;
  oracle_case_open(&c, kernel, 1, seed);
  t->target = OUTPUT_OUT;
  for (int output = OUTPUT_LSE; output < OUTPUTS; output++)
    if (is_returned(c.problem, output) && tests_random(seed) % 3 == 0) t->target = output;
  double best = examine(t, c.problem, 1);
  for (int step = 0; step < STEPS && t->elements < until; step++) {
    double *x = any_element(c.problem, seed), old = *x;
    *x *= 1 + ldexp(tests_uniform(seed) - 0.5, -(int)(tests_random(seed) % 50));
    double here = examine(t, c.problem, step % 100 == 99);
    if (here >= best)
      best = here;
    else
      *x = old;
    if (best == 0 && step > 20) break;
  }
  oracle_case_close(&c);
}

static double worst_of(const tally *t, int tier) {
  double worst = 0;
  for (int output = 0; output < OUTPUTS; output++)
    worst = fmax(worst, t->worst[tier][output]);
  return worst;
}

static void report(const tally *t, const char *kernel) {
  printf("oracles %-13s %8lld elements, %6lld open; largest error/radius", kernel,
         (long long)t->elements, (long long)t->open);
  for (int tier = DOUBLE; tier <= DOUBLE_DOUBLE; tier++)
    for (int output = 0; output < OUTPUTS; output++)
      if (t->worst[tier][output] > 0)
        printf(" %.4f %s %s", t->worst[tier][output], problem_output_names[output],
               oracle_names[tier]);
  printf("\n  agreed on:");
  for (int i = 0; i < ORACLES; i++)
    for (int j = i + 1; j < ORACLES; j++)
      if (t->both[i][j])
        printf(" %s/%s %lld", oracle_names[i], oracle_names[j], (long long)t->both[i][j]);
  printf("\n");
}

START_TEST(oracles_agree) {
  const char *kernel = problem_kernels[_i].name;
  uint64_t seed = tests_seed() * 7919 + (uint64_t)_i;
  int64_t count = wanted();
  tally t = {0};
  while (t.elements < count / 4) {
    oracle_case c;
    oracle_case_open(&c, kernel, 0, &seed);
    examine(&t, c.problem, t.both[BALL][MPFR] < count / 20);
    oracle_case_close(&c);
  }
  while (t.elements < count)
    climb(&t, kernel, count, &seed);
  report(&t, kernel);
  ck_assert_double_ge(t.worst[DOUBLE][OUTPUT_OUT], 0.001);
  ck_assert_double_lt(worst_of(&t, DOUBLE), 1);
  ck_assert_double_lt(worst_of(&t, DOUBLE_DOUBLE), 1);
  ck_assert_int_gt(t.both[BALL][MPFR], 0);
}
END_TEST

/* One case a kernel, so that they can run beside each other. */
void test_oracles(Suite *suite) {
  static char names[32][32];
  for (size_t i = 0; i < problem_kernel_count && i < 32; i++) {
    snprintf(names[i], sizeof names[i], "oracles-%s", problem_kernels[i].name);
    TCase *tc = tcase_create(names[i]);
    tcase_set_timeout(tc, 1800);
    tcase_add_loop_test(tc, oracles_agree, (int)i, (int)i + 1);
    suite_add_tcase(suite, tc);
  }
}
