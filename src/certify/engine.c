/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Slices, blocks of rows, threads: one double pass over the reference serves every output of every
 * subject. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"

/* A block is a unit of work; slices are opened together until there are so many units, so that
 * short slices keep all threads busy and long ones are in memory one at a time. */
enum { UNITS_A_GROUP = 128 };

void engine_fail(engine *e, attest_status status, const attest_error *error) {
  omp_set_lock(&e->lock);
  if (!e->status) {
    e->status = status;
    e->error = *error;
    e->error.status = status;
  }
  omp_unset_lock(&e->lock);
  atomic_store(&e->stop, 1);
}

int engine_stopped(engine *e) {
  if (e->options->interrupted && *e->options->interrupted) atomic_store(&e->stop, 1);
  return atomic_load_explicit(&e->stop, memory_order_relaxed);
}

/* ---- a worker ---- */

typedef struct {
  room_block *blocks; /* one a machine, at least one: the first is the pass that all share */
  size_t block_count;
  engine_scratch scratch;
} worker;

static int cells_init(room_cells *cells, int64_t width) {
  size_t n = (size_t)(width > 0 ? width : 1) * ENGINE_BLOCK_ROWS;
  double **arrays[] = {&cells->x,    &cells->radius, &cells->a_lo,  &cells->a_hi,
                       &cells->s_lo, &cells->s_hi,   &cells->theory};
  cells->width = width;
  int complete = (cells->class = calloc(n, 1)) != NULL;
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    complete &= (*arrays[i] = calloc(n, sizeof(double))) != NULL;
  return complete;
}

static void cells_clear(room_cells *cells) {
  free(cells->x);
  free(cells->radius);
  free(cells->a_lo);
  free(cells->a_hi);
  free(cells->s_lo);
  free(cells->s_hi);
  free(cells->theory);
  free(cells->class);
}

static void worker_clear(worker *w) {
  for (size_t i = 0; i < w->block_count; i++) {
    cells_clear(&w->blocks[i].out);
    cells_clear(&w->blocks[i].lse);
    cells_clear(&w->blocks[i].state);
    free(w->blocks[i].reach);
    free(w->blocks[i].jump);
    free(w->blocks[i].indices);
  }
  free(w->blocks);
  engine_scratch_clear(&w->scratch);
}

static attest_status worker_init(worker *w, const engine *e, attest_error *error) {
  memset(w, 0, sizeof *w);
  size_t count = e->machine_count ? e->machine_count : 1;
  int64_t keys = e->want & WANT_INDICES ? problem_output_width(e->problem, OUTPUT_INDICES) : 0;
  int complete = (w->blocks = calloc(count, sizeof *w->blocks)) != NULL;
  for (size_t i = 0; i < count && complete; i++) {
    room_block *block = &w->blocks[w->block_count++];
    complete = cells_init(&block->out, e->problem->dv) & cells_init(&block->lse, 1) &
               cells_init(&block->state, e->problem->state_width);
    complete &= (block->reach = calloc(ENGINE_BLOCK_ROWS, sizeof(double))) != NULL;
    complete &= (block->jump = calloc(ENGINE_BLOCK_ROWS, 1)) != NULL;
    complete &= (block->indices =
                     calloc((size_t)keys * ENGINE_BLOCK_ROWS + 1, sizeof *block->indices)) != NULL;
    block->machine = e->machine_count ? e->machines[i] : NULL;
  }
  int64_t width =
      e->problem->dv > e->problem->state_width ? e->problem->dv : e->problem->state_width;
  width = width > keys ? width : keys;
  attest_status status = complete ? engine_scratch_init(&w->scratch, width > 1 ? width : 1, error)
                                  : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  if (status) worker_clear(w);
  return status;
}

/* ---- blocks of rows ---- */

typedef struct {
  problem_slice slice;
  void *work;
  int is_needed; /* some of its rows are compared */
} open_slice;

static const room_cells *cells_of(const room_block *block, int output) {
  return output == OUTPUT_OUT           ? &block->out
         : output == OUTPUT_FINAL_STATE ? &block->state
                                        : &block->lse;
}

static engine_view view_of(const worker *w, const engine_output *o, int64_t i) {
  const room_block *block = &w->blocks[0];
  const room_cells *cells = cells_of(block, o->output);
  int64_t first = i * cells->width;
  engine_view v = {.x = cells->x + first,
                   .radius = cells->radius + first,
                   .a_lo = cells->a_lo + first,
                   .a_hi = cells->a_hi + first,
                   .s_lo = cells->s_lo + first,
                   .s_hi = cells->s_hi + first,
                   .class = cells->class + first,
                   .tier = TIER_DOUBLE};
  if (o->machine >= 0) v.theory = cells_of(&w->blocks[o->machine], o->output)->theory + first;
  if (o->measures & 1u << MEASURE_BACKWARD)
    v.is_explicit = !(o->highest_limit[MEASURE_BACKWARD] * o->u_s * block->reach[i] <= 1.0 / 64);
  v.is_jump = o->output == OUTPUT_OUT && block->jump[i];
  return v;
}

static engine_place place_of(engine *e, engine_output *o, problem_slice *slice,
                             const open_slice *open, int64_t row) {
  problem_slice_get(slice, o->subject->problem, open->slice.index);
  return (engine_place){e, o, slice, open->work, row};
}

/* What a block of rows is wanted for: rows of the state are no rows of queries. */
enum {
  WANT_QUERIES = WANT_OUT | WANT_LSE | WANT_INDICES,
  WANT_TERMS = WANT_CONDITION | WANT_THEORY
};

static void compare_block(worker *w, engine *e, const open_slice *open, const room_block *block,
                          unsigned what) {
  for (size_t k = 0; k < e->output_count && !engine_stopped(e); k++) {
    if (!(room_want(e->outputs[k].output) & what)) continue;
    problem_slice slice;
    engine_place at = place_of(e, &e->outputs[k], &slice, open, block->row);
    for (int64_t i = 0; i < block->rows; i++, at.row++) {
      if (at.o->output == OUTPUT_INDICES) {
        engine_indices(&w->scratch, &at, block->indices + i * at.o->width);
        continue;
      }
      engine_view view = view_of(w, at.o, i);
      if (view.is_explicit) atomic_store(&at.o->has_explicit, 1);
      engine_row(&w->scratch, &at, &view);
    }
  }
}

static int64_t block_pairs(const engine *e, const problem_slice *slice, int64_t row, int64_t rows) {
  int64_t pairs = 0;
  for (int64_t i = row; i < row + rows; i++) {
    int64_t lo, hi;
    problem_visible_range(&lo, &hi, e->problem, slice, i);
    pairs += hi > lo ? hi - lo : 0;
  }
  return pairs;
}

/* The double tier of every machine for rows row .. row + rows - 1. */
static void compute_block(worker *w, engine *e, const open_slice *open, int64_t row, int64_t rows,
                          unsigned what) {
  for (size_t i = 0; i < w->block_count; i++) {
    room_block *block = &w->blocks[i];
    block->row = row;
    block->rows = rows;
    block->edge = e->edge;
    unsigned want = e->want & (what | WANT_TERMS);
    if (i > 0) want = (want & what) | WANT_THEORY;
    e->room->rows(block, open->work, want);
  }
}

static void run_block(worker *w, engine *e, const open_slice *open, int64_t row, int64_t rows,
                      unsigned what) {
  compute_block(w, e, open, row, rows, what);
  compare_block(w, e, open, &w->blocks[0], what);
  if (what == WANT_QUERIES && e->options->step && !engine_stopped(e))
    e->options->step(e->options->context, block_pairs(e, &open->slice, row, rows));
}

/* The elements of one row that have waited: the row again, and the rest of the ladder. */
static void run_pending(worker *w, engine *e, engine_output *o, const open_slice *open,
                        const engine_pending *pending, int64_t count) {
  problem_slice slice;
  engine_place at = place_of(e, o, &slice, open, pending->row);
  int64_t n = 0;
  for (int64_t i = 0; i < count; i++) {
    engine_element *element = &w->scratch.elements[n];
    *element = pending[i].element;
    n += engine_still_open(o, element) != 0;
  }
  if (n && !engine_stopped(e)) {
    compute_block(w, e, open, pending->row, 1,
                  o->output == OUTPUT_FINAL_STATE ? WANT_STATE : WANT_QUERIES);
    engine_view view = view_of(w, o, 0);
    engine_set_largest(&view, o);
    engine_ladder(&w->scratch, &at, &view, n, 0);
  }
  for (int64_t i = 0; i < n; i++)
    if (w->scratch.elements[i].open) engine_let_go(&at, &w->scratch.elements[i]);
}

/* ---- groups of slices ---- */

static attest_status open_one(engine *e, open_slice *open, int64_t index, attest_error *error) {
  problem_slice_get(&open->slice, e->problem, index);
  attest_status status = certify_check_finite(e->problem, &open->slice, error);
  return status ? status : e->room->open(&open->work, e->problem, &open->slice, e->want, error);
}

typedef struct {
  int64_t slice, row, rows; /* slice: within the group */
  unsigned what;
} unit;

/* Opens the slices and compares their blocks, in order: of equal errors the first is reported, and
 * those after it then need no second look. */
static void run_team(engine *e, open_slice *slices, int64_t first, int64_t count, const unit *units,
                     int64_t unit_count) {
#pragma omp parallel
  {
    attest_error error;
    worker w;
    attest_status status = enclosure_environment_check()
                               ? attest_fail(&error, ATTEST_ERR_SUPPORT,
                                             "a worker does not round to nearest with gradual "
                                             "underflow: link the program without -ffast-math and "
                                             "-Ofast, or restore the floating-point environment")
                               : worker_init(&w, e, &error);
    int ready = !status;
    if (status) engine_fail(e, status, &error);
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < count; i++)
      if (slices[i].is_needed && !engine_stopped(e) &&
          (status = open_one(e, &slices[i], first + i, &error)))
        engine_fail(e, status, &error);
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < unit_count; i++) {
      const unit *u = &units[i];
      if (ready && !engine_stopped(e))
        run_block(&w, e, &slices[u->slice], u->row, u->rows, u->what);
    }
    for (size_t k = 0; k < e->output_count; k++) {
      engine_output *o = &e->outputs[k];
#pragma omp single
      engine_pending_sort(o);
#pragma omp for schedule(dynamic, 1)
      for (int64_t i = 0; i < o->pending_count; i++) {
        const engine_pending *pending = &o->pending[i];
        int64_t count = engine_pending_row(o, i);
        if (ready && count) run_pending(&w, e, o, &slices[pending->slice - first], pending, count);
      }
#pragma omp single
      o->pending_count = 0;
    }
    if (ready) worker_clear(&w);
    flint_cleanup();
  }
}

/* Rows of the final state that are to be compared. */
static int64_t state_rows(const engine *e, const problem_slice *slice) {
  return e->want & WANT_STATE ? problem_output_rows(e->problem, slice, OUTPUT_FINAL_STATE) : 0;
}

__extension__ typedef __int128 wide;

/* The first sampled row that is not before `row`, counted over all slices; INT64_MAX after the
 * last. Sampled row k of K is k (R - 1) / (K - 1) of R, rounded down: the first, the last, and what
 * lies evenly between. */
static int64_t next_sampled(const engine *e, int64_t row) {
  wide last = e->row_count - 1, steps = e->sampled_rows - 1;
  if (row > last) return INT64_MAX;
  if (e->sampled_rows == e->row_count) return row;
  if (steps < 1) return row > 0 ? INT64_MAX : 0;
  return (int64_t)((row * steps + last - 1) / last * last / steps);
}

static int64_t next_row(const engine *e, int64_t start, int64_t row) {
  int64_t found = next_sampled(e, start + row);
  return found == INT64_MAX ? INT64_MAX : found - start;
}

/* The units of one slice, whose first row is `start` of all; units NULL: only counted. */
static int64_t list_units(unit *units, const engine *e, const problem_slice *slice, int64_t place,
                          int64_t start) {
  int64_t n = 0, whole = e->sampled_rows == e->row_count, states = state_rows(e, slice);
  for (int64_t row = e->want & WANT_QUERIES ? next_row(e, start, 0) : slice->nq; row < slice->nq;
       n++) {
    int64_t left = slice->nq - row, rows = whole ? ENGINE_BLOCK_ROWS : 1;
    if (units) units[n] = (unit){place, row, left < rows ? left : rows, WANT_QUERIES};
    row = whole ? row + rows : next_row(e, start, row + 1);
  }
  for (int64_t row = 0; row < states; row += ENGINE_BLOCK_ROWS, n++) {
    int64_t left = states - row;
    if (units)
      units[n] =
          (unit){place, row, left < ENGINE_BLOCK_ROWS ? left : ENGINE_BLOCK_ROWS, WANT_STATE};
  }
  return n;
}

/* `start`: the first row of the first slice, counted over all. */
static attest_status run_group(engine *e, int64_t first, int64_t count, int64_t unit_count,
                               int64_t start, attest_error *error) {
  open_slice *slices = calloc((size_t)count, sizeof *slices);
  unit *units = calloc((size_t)unit_count + 1, sizeof *units);
  if (!slices || !units) {
    free(slices);
    free(units);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  }
  int64_t n = 0;
  for (int64_t i = 0; i < count; i++) {
    problem_slice slice;
    problem_slice_get(&slice, e->problem, first + i);
    int64_t added = list_units(units + n, e, &slice, i, start);
    slices[i].is_needed = added > 0;
    n += added;
    start += slice.nq;
  }
  run_team(e, slices, first, count, units, n);
  for (int64_t i = 0; i < count; i++)
    if (slices[i].work) e->room->close(slices[i].work);
  free(slices);
  free(units);
  if (e->status && error) *error = e->error;
  return e->status;
}

static attest_status run_slices(engine *e, attest_error *error) {
  int64_t total = problem_slice_count(e->problem), first = 0, units = 0, start = 0, row = 0;
  attest_status status = ATTEST_OK;
  for (int64_t i = 0; i < total && !status && !engine_stopped(e); i++) {
    problem_slice slice;
    problem_slice_get(&slice, e->problem, i);
    units += list_units(NULL, e, &slice, 0, row);
    row += slice.nq;
    if (units < UNITS_A_GROUP && i + 1 < total) continue;
    status = run_group(e, first, i + 1 - first, units, start, error);
    first = i + 1;
    units = 0;
    start = row;
  }
  return status;
}

static void count_rows(engine *e) {
  for (int64_t i = 0; i < problem_slice_count(e->problem); i++) {
    problem_slice slice;
    problem_slice_get(&slice, e->problem, i);
    e->row_count += slice.nq;
  }
  int64_t rows = e->options->rows;
  e->sampled_rows = rows > 0 && rows < e->row_count ? rows : e->row_count;
}

int64_t certify_pairs(const attest_problem *problem) {
  const engine e = {.problem = problem};
  int64_t pairs = 0;
  for (int64_t i = 0; i < problem_slice_count(problem); i++) {
    problem_slice slice;
    problem_slice_get(&slice, problem, i);
    pairs += block_pairs(&e, &slice, 0, slice.nq);
  }
  return pairs;
}

/* ---- the whole ---- */

static void engine_clear(engine *e) {
  for (size_t i = 0; i < e->output_count; i++) {
    omp_destroy_lock(&e->outputs[i].lock);
    free(e->outputs[i].moments);
    free(e->outputs[i].pending);
  }
  free(e->outputs);
  free(e->machines);
  certify_bounds_clear(&e->defaults[0]);
  certify_bounds_clear(&e->defaults[1]);
  omp_destroy_lock(&e->lock);
}

attest_status certify_run_room(certify_case *result, const problem_room *room,
                               const certify_subject *subjects, size_t count,
                               const certify_options *options, attest_error *error) {
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  memset(result, 0, sizeof *result);
  engine e = {.room = room, .options = options, .problem = subjects[0].problem};
  e.precision_max = options->precision_max ? options->precision_max : 4096;
  omp_init_lock(&e.lock);
  count_rows(&e);
  attest_status status = engine_outputs(&e, subjects, count, error);
  if (!status) status = run_slices(&e, error);
  for (size_t i = 0; i < e.output_count && !status && !engine_stopped(&e); i++)
    if (e.outputs[i].moments) {
      engine_nmse(&e, &e.outputs[i]);
      if ((status = e.status) && error) *error = e.error;
    }
  if (!status) status = engine_result(result, &e, subjects, count, error);
  clock_gettime(CLOCK_MONOTONIC, &end);
  result->seconds =
      (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
  engine_clear(&e);
  return status;
}
