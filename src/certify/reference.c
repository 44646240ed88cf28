/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Every element of an output in balls that climb in precision until it rounds. */
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "reference_internal.h"

/* Rows that are computed together; a multiple of the tiles of the rooms, and fixed, so that the
 * same balls come out at any number of threads. */
#define UNIT_ROWS 64

typedef struct {
  const problem_room *room;
  const attest_problem *problem;
  reference_target *target;
  const reference_options *options;
  slong precision_max;
  atomic_int stop;
  omp_lock_t lock; /* of status and error */
  attest_status status;
  attest_error error;
} reference_run;

static void fail(reference_run *run, attest_status status, const attest_error *error) {
  omp_set_lock(&run->lock);
  if (!run->status) {
    run->status = status;
    run->error = *error;
  }
  omp_unset_lock(&run->lock);
  atomic_store(&run->stop, 1);
}

static int stopped(reference_run *run) {
  const volatile sig_atomic_t *interrupted = run->options ? run->options->interrupted : NULL;
  if (interrupted && *interrupted && !atomic_load(&run->stop)) {
    attest_error error;
    fail(run, attest_fail(&error, ATTEST_ERR_INTERRUPT, "interrupted: nothing was written"),
         &error);
  }
  return atomic_load(&run->stop);
}

/* ---- one row
 * ------------------------------------------------------------------------------------- */

/* Where a row stands. */
typedef struct {
  reference_run *run;
  const problem_slice *slice;
  int64_t row;
  int output;
} row_place;

static int64_t flat_index(const row_place *at, int64_t component) {
  int ndim;
  int64_t shape[ATTEST_MAX_DIMS], index[ATTEST_MAX_DIMS], flat = 0;
  problem_output_shape(&ndim, shape, at->run->problem, at->output);
  problem_output_index(index, at->run->problem, at->slice, at->output, at->row, component);
  for (int i = 0; i < ndim; i++)
    flat = flat * shape[i] + index[i];
  return flat;
}

static attest_status stored(int result, attest_error *error) {
  return result < 0 ? attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for the reference")
                    : ATTEST_OK;
}

/* Whether x[component], which its ball does not tell from c, is c. */
static int is_exactly(const row_place *at, int64_t component, const fmpq_t c) {
  const problem_room *room = at->run->room;
  return room_equals(room->linear_zero, at->run->problem, at->slice, at->row, at->output, component,
                     c) == 1;
}

/* Stores x where it rounds or is exactly a boundary: 1; 0: more precision is needed; -1: no memory.
 */
static int settle(const row_place *at, int64_t component, const arb_t x) {
  reference_target *target = at->run->target;
  int64_t flat = flat_index(at, component);
  int result = target->store(target, at->output, flat, x);
  if (result != 0) return result;
  fmpq_t c;
  fmpq_init(c); /* 0 */
  if ((arb_contains_zero(x) || target->boundary(c, target, at->output, x)) &&
      is_exactly(at, component, c))
    result = target->store_exact(target, at->output, flat, c) < 0 ? -1 : 1;
  fmpq_clear(c);
  return result;
}

/* The elements of the row that `done` leaves over, at growing precision. */
static attest_status climb(const row_place *at, unsigned char *done, int64_t width, int64_t left,
                           attest_error *error) {
  reference_run *run = at->run;
  room_balls balls;
  room_balls_init(&balls, width);
  attest_status status = ATTEST_OK;
  slong prec = run->target->precision;
  while (left > 0 && !status && !stopped(run)) {
    prec *= 2;
    status = run->room->ball(&balls, run->problem, at->slice, at->row, at->output, 0, prec, error);
    for (int64_t c = 0; c < width && !status; c++) {
      if (done[c]) continue;
      int result = settle(at, c, balls.x + c);
      if (result == 0 && prec >= run->precision_max)
        result =
            run->target->store_open(run->target, at->output, flat_index(at, c), balls.x + c) < 0
                ? -1
                : 1;
      status = stored(result, error);
      if (result == 1) {
        done[c] = 1;
        left--;
      }
    }
  }
  room_balls_clear(&balls);
  return status;
}

static attest_status finish_row(const row_place *at, arb_srcptr x, const unsigned char *class,
                                int64_t width, attest_error *error) {
  reference_target *target = at->run->target;
  unsigned char *done = calloc((size_t)width + 1, 1);
  attest_status status = stored(done ? 0 : -1, error);
  int64_t left = 0;
  for (int64_t c = 0; c < width && !status; c++) {
    int result = class[c] != EXACT_FINITE
                     ? target->store_class(target, at->output, flat_index(at, c), class[c])
                     : settle(at, c, x + c);
    status = stored(result, error);
    done[c] = class[c] != EXACT_FINITE || result == 1;
    left += !done[c];
  }
  if (!status) status = climb(at, done, width, left, error);
  free(done);
  return status;
}

/* A row of indices, by falling score. */
static attest_status index_row(const row_place *at, attest_error *error) {
  reference_run *run = at->run;
  int64_t width = problem_output_width(run->problem, OUTPUT_INDICES), count = 0;
  int64_t *key = malloc((size_t)(width + 1) * sizeof *key);
  attest_status status = stored(key ? 0 : -1, error);
  if (!status) status = run->room->select(key, &count, run->problem, at->slice, at->row, error);
  for (int64_t i = 0; i < width && !status; i++)
    status = stored(
        run->target->store_key(run->target, at->output, flat_index(at, i), i < count ? key[i] : -1),
        error);
  free(key);
  return status;
}

/* ---- units of rows
 * --------------------------------------------------------------------------------- */

typedef struct {
  arb_ptr out, lse;
  unsigned char *out_class, *lse_class;
} unit_balls;

/* Rows one by one, for rooms without ball_rows. */
static attest_status single_rows(unit_balls *u, reference_run *run, const problem_slice *slice,
                                 int64_t row, int64_t rows, attest_error *error) {
  attest_status status = ATTEST_OK;
  slong prec = run->target->precision;
  for (int64_t i = 0; i < rows && !status; i++) {
    room_balls x = {
        .width = slice->dv, .x = u->out + i * slice->dv, .class = u->out_class + i * slice->dv};
    room_balls l = {.width = 1, .x = u->lse + i, .class = u->lse_class + i};
    if (run->target->wanted[OUTPUT_OUT])
      status = run->room->ball(&x, run->problem, slice, row + i, OUTPUT_OUT, 0, prec, error);
    if (!status && run->target->wanted[OUTPUT_LSE])
      status = run->room->ball(&l, run->problem, slice, row + i, OUTPUT_LSE, 0, prec, error);
  }
  return status;
}

static attest_status compute_unit(unit_balls *u, reference_run *run, const problem_slice *slice,
                                  int64_t row, int64_t rows, attest_error *error) {
  attest_status status =
      run->room->ball_rows
          ? run->room->ball_rows(u->out, u->lse, u->out_class, u->lse_class, run->problem, slice,
                                 row, rows, run->target->precision, error)
          : single_rows(u, run, slice, row, rows, error);
  for (int64_t i = 0; i < rows && !status && !stopped(run); i++) {
    row_place at = {run, slice, row + i, OUTPUT_OUT};
    if (run->target->wanted[OUTPUT_OUT])
      status =
          finish_row(&at, u->out + i * slice->dv, u->out_class + i * slice->dv, slice->dv, error);
    at.output = OUTPUT_LSE;
    if (!status && run->target->wanted[OUTPUT_LSE])
      status = finish_row(&at, u->lse + i, u->lse_class + i, 1, error);
    at.output = OUTPUT_INDICES;
    if (!status && run->target->wanted[OUTPUT_INDICES]) status = index_row(&at, error);
  }
  return status;
}

/* One row of the final state. */
static void run_state_row(reference_run *run, const problem_slice *slice, int64_t row) {
  attest_error error;
  int64_t width = problem_output_width(run->problem, OUTPUT_FINAL_STATE);
  row_place at = {run, slice, row, OUTPUT_FINAL_STATE};
  room_balls balls;
  room_balls_init(&balls, width);
  attest_status status = run->room->ball(&balls, run->problem, slice, row, OUTPUT_FINAL_STATE, 0,
                                         run->target->precision, &error);
  if (!status) status = finish_row(&at, balls.x, balls.class, width, &error);
  if (status) fail(run, status, &error);
  room_balls_clear(&balls);
}

static void run_unit(reference_run *run, int64_t slice_index, int64_t row) {
  problem_slice slice;
  attest_error error;
  problem_slice_get(&slice, run->problem, slice_index);
  int64_t rows = slice.nq - row < UNIT_ROWS ? slice.nq - row : UNIT_ROWS, pairs = 0;
  unit_balls u = {_arb_vec_init(rows * slice.dv), _arb_vec_init(rows), NULL, NULL};
  u.out_class = malloc((size_t)(rows * (slice.dv + 1)) + 1);
  u.lse_class = u.out_class + rows * slice.dv;
  attest_status status = stored(u.out_class ? 0 : -1, &error);
  if (!status) status = compute_unit(&u, run, &slice, row, rows, &error);
  if (status) fail(run, status, &error);
  _arb_vec_clear(u.out, rows * slice.dv);
  _arb_vec_clear(u.lse, rows);
  free(u.out_class);
  for (int64_t i = row; i < row + rows; i++) {
    int64_t lo, hi;
    problem_visible_range(&lo, &hi, run->problem, &slice, i);
    pairs += hi - lo;
  }
  if (run->options && run->options->step) run->options->step(run->options->context, pairs);
}

/* Units are numbered slice by slice; a slice has as many as the longest one needs, and those beyond
 * its rows are empty. */
static void run_units(reference_run *run) {
  int64_t slices = problem_slice_count(run->problem);
  int64_t units = (run->problem->nq + UNIT_ROWS - 1) / UNIT_ROWS;
  int64_t states = run->target->wanted[OUTPUT_FINAL_STATE] ? run->problem->state_rows : 0;
#pragma omp parallel
  {
#pragma omp for schedule(dynamic, 1) nowait
    for (int64_t n = 0; n < slices * states; n++) {
      problem_slice slice;
      problem_slice_get(&slice, run->problem, n / states);
      if (n % states < problem_output_rows(run->problem, &slice, OUTPUT_FINAL_STATE) &&
          !stopped(run))
        run_state_row(run, &slice, n % states);
    }
#pragma omp for schedule(dynamic, 1)
    for (int64_t n = 0; n < slices * units; n++) {
      problem_slice slice;
      problem_slice_get(&slice, run->problem, n / units);
      int64_t row =
          (units - 1 - n % units) * UNIT_ROWS; /* the longest rows of a causal mask first */
      if (row < slice.nq && !stopped(run)) run_unit(run, n / units, row);
    }
    flint_cleanup();
  }
}

/* Visible elements must be finite unless the problem says otherwise. */
static attest_status check_inputs(const attest_problem *problem, attest_error *error) {
  for (int64_t s = 0; s < problem_slice_count(problem); s++) {
    problem_slice slice;
    problem_slice_get(&slice, problem, s);
    attest_status status = certify_check_finite(problem, &slice, error);
    if (status) return status;
  }
  return ATTEST_OK;
}

attest_status certify_reference_run(reference_target *target, const attest_problem *problem,
                                    const reference_options *options, attest_error *error) {
  reference_run run = {.problem = problem, .target = target, .options = options};
  run.room = certify_room(problem->kernel->name);
  if (!run.room)
    return attest_fail(error, ATTEST_ERR_SUPPORT, "kernel %s has no reference in this version",
                       problem->kernel->name);
  if (target->wanted[OUTPUT_FINAL_STATE] && problem->state_rows <= 0)
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "a state of degree %lld in %lld dimensions has too many monomials",
                       (long long)problem->values.degree, (long long)problem->d);
  attest_status status = check_inputs(problem, error);
  if (status) return status;
  run.precision_max = target->precision > ENCLOSURE_BALL_PRECISION_MAX / 4
                          ? 4 * target->precision
                          : ENCLOSURE_BALL_PRECISION_MAX;
  omp_init_lock(&run.lock);
  run_units(&run);
  omp_destroy_lock(&run.lock);
  if (run.status && error) *error = run.error;
  return run.status;
}
