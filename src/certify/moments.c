/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* nmse = sum (got-x)^2 / sum x^2 over the whole output: the one measure that is a sum. Every row
 * leaves the bounds of its two sums, and they are added in the order of rows. */
#include <math.h>

#include "../enclosure/interval.h"
#include "engine.h"

int64_t engine_rows_max(const attest_problem *problem, int output) {
  return output == OUTPUT_FINAL_STATE ? problem->state_rows : problem->nq;
}

int64_t engine_row_index(const attest_problem *problem, const problem_slice *slice, int output,
                         int64_t row) {
  return slice->index * engine_rows_max(problem, output) + row;
}

static void add_square(double *lo, double *hi, measure_interval x) {
  *lo = enclosure_add_down(*lo, enclosure_mul_down(x.lo, x.lo));
  *hi = enclosure_add_up(*hi, enclosure_mul_up(x.hi, x.hi));
}

static void add_element(engine_moments *m, const engine_output *o, const engine_view *v, int64_t c,
                        double got) {
  measure_got kind = engine_classify(&got, v, c, o->format);
  if (kind == GOT_EXACT && v->class[c] != EXACT_FINITE) return;
  if (kind == GOT_HOPELESS) m->error_lo = INFINITY;
  if (kind != GOT_NUMBER) {
    m->error_hi = m->exact_hi = INFINITY;
    return;
  }
  add_square(&m->error_lo, &m->error_hi, engine_distance(v, c, got));
  add_square(&m->exact_lo, &m->exact_hi, engine_magnitude(v, c));
}

static engine_moments moments_of(const engine_output *o, const engine_view *view,
                                 const double *got) {
  engine_moments m = {0};
  for (int64_t c = 0; c < o->width; c++)
    add_element(&m, o, view, c, got[c]);
  return m;
}

static engine_moments *place_of(const engine_place *at) {
  return &at->o->moments[engine_row_index(at->e->problem, at->slice, at->o->output, at->row)];
}

void engine_row_moments(const engine_place *at, const engine_view *view, const double *got) {
  engine_moments *m = place_of(at);
  if (!m->is_chosen) *m = moments_of(at->o, view, got);
}

/* ---- the sum ---- */

static measure_interval sum_rows(const engine *e, const engine_output *o) {
  engine_moments sum = {0};
  int64_t rows = problem_slice_count(e->problem) * engine_rows_max(e->problem, o->output);
  for (int64_t i = 0; i < rows; i++) {
    const engine_moments *m = &o->moments[i];
    sum.error_lo = enclosure_add_down(sum.error_lo, m->error_lo);
    sum.error_hi = enclosure_add_up(sum.error_hi, m->error_hi);
    sum.exact_lo = enclosure_add_down(sum.exact_lo, m->exact_lo);
    sum.exact_hi = enclosure_add_up(sum.exact_hi, m->exact_hi);
  }
  if (isinf(sum.error_lo)) /* an element without any finite error */
    return (measure_interval){INFINITY, INFINITY};
  return (measure_interval){enclosure_div_down(sum.error_lo, sum.exact_hi),
                            enclosure_div_up(sum.error_hi, sum.exact_lo)};
}

static int is_settled(const engine_output *o, measure_interval value) {
  for (size_t i = 0; i < o->bound_count; i++)
    if (o->bounds[i]->measure == MEASURE_NMSE && value.hi > o->limit[i] && value.lo <= o->limit[i])
      return 0;
  return measure_canonical(value.lo) == measure_canonical(value.hi);
}

/* A ball as the sum of two doubles and a radius. */
static void split(double *hi, double *lo, double *radius, const arb_t x) {
  arb_t rest;
  arb_init(rest);
  *hi = arf_get_d(arb_midref(x), ARF_RND_NEAR);
  arb_set_d(rest, *hi);
  arb_sub(rest, x, rest, ARF_PREC_EXACT);
  *lo = arf_get_d(arb_midref(rest), ARF_RND_NEAR);
  arb_set_d(rest, *hi);
  arb_sub(rest, x, rest, ARF_PREC_EXACT);
  arb_t low;
  arb_init(low);
  arb_set_d(low, *lo);
  arb_sub(rest, rest, low, ARF_PREC_EXACT);
  arb_abs(rest, rest);
  *radius = arb_is_finite(x) ? enclosure_upper(rest) : INFINITY;
  if (!(*radius <= DBL_MAX) || !(fabs(*hi) <= DBL_MAX)) {
    *hi = *lo = 0;
    *radius = INFINITY;
  }
  arb_clear(low);
  arb_clear(rest);
}

static attest_status ball_moments(engine_moments *moments, engine_scratch *scratch,
                                  room_balls *balls, const engine_place *at, attest_error *error) {
  const engine_output *o = at->o;
  attest_status status =
      at->e->room->ball(balls, o->subject->problem, at->slice, at->row, o->output,
                        room_want(o->output), enclosure_ladder[TIER_BALL].precision, error);
  if (status) return status;
  for (int64_t c = 0; c < o->width; c++)
    split(&scratch->x_hi[c], &scratch->x_lo[c], &scratch->radius[c], balls->x + c);
  engine_view view = {.x = scratch->x_hi,
                      .x_lo = scratch->x_lo,
                      .radius = scratch->radius,
                      .class = balls->class,
                      .tier = TIER_BALL};
  *moments = moments_of(o, &view, scratch->got);
  return ATTEST_OK;
}

attest_status engine_moments_of(engine_moments *moments, engine_scratch *scratch,
                                const engine_place *at, const engine_selection *selection,
                                attest_error *error) {
  room_balls balls;
  room_balls_init(&balls, at->o->width);
  balls.edge = at->o->edge;
  if (selection) {
    balls.selection = selection->keys;
    balls.selected = selection->count;
    balls.weights = selection->weights;
  }
  attest_status status = ball_moments(moments, scratch, &balls, at, error);
  room_balls_clear(&balls);
  return status;
}

static attest_status ball_row(engine_scratch *scratch, room_balls *balls, const engine_place *at,
                              attest_error *error) {
  if (place_of(at)->is_chosen) return ATTEST_OK;
  engine_load(scratch->got, at);
  return ball_moments(place_of(at), scratch, balls, at, error);
}

static void ball_slice(engine *e, engine_output *o, const problem_slice *slice) {
  int64_t rows = problem_output_rows(e->problem, slice, o->output);
#pragma omp parallel
  {
    attest_error error;
    engine_scratch scratch;
    room_balls balls;
    attest_status status = engine_scratch_init(&scratch, o->width, &error);
    if (status) engine_fail(e, status, &error);
    room_balls_init(&balls, o->width);
#pragma omp for schedule(dynamic, 1)
    for (int64_t row = 0; row < rows; row++) {
      engine_place at = {e, o, slice, NULL, row};
      if (!engine_stopped(e) && (status = ball_row(&scratch, &balls, &at, &error)))
        engine_fail(e, status, &error);
    }
    room_balls_clear(&balls);
    engine_scratch_clear(&scratch);
    flint_cleanup();
  }
}

void engine_nmse(engine *e, engine_output *o) {
  o->nmse = sum_rows(e, o);
  for (int64_t i = 0; i < problem_slice_count(e->problem) && !is_settled(o, o->nmse); i++) {
    problem_slice slice;
    problem_slice_get(&slice, o->subject->problem, i);
    ball_slice(e, o, &slice);
    if (i + 1 == problem_slice_count(e->problem)) o->nmse = sum_rows(e, o);
  }
}
