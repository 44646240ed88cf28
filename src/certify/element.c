/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One element: enclosures of its errors become verdicts and take part in the largest errors. */
#include <math.h>

#include "../enclosure/interval.h"
#include "engine.h"

/* Position of an element in the output tensor, row-major. */
static int64_t flat_position(const engine_place *at, int64_t component) {
  const attest_tensor *t = &at->o->subject->problem->output[at->o->output];
  int64_t index[ATTEST_MAX_DIMS], flat = 0;
  problem_output_index(index, at->o->subject->problem, at->slice, at->o->output, at->row,
                       component);
  for (int i = 0; i < t->ndim; i++)
    flat = flat * t->shape[i] + index[i];
  return flat;
}

void engine_element_init(engine_element *element, const engine_place *at, int64_t component,
                         double got) {
  *element = (engine_element){.component = component,
                              .flat = flat_position(at, component),
                              .got = got,
                              .open = at->o->measures & ~(1u << MEASURE_NMSE)};
}

/* ---- the canonical grid ---- */

double engine_grid_above(double figure) {
  return measure_canonical(enclosure_up(figure));
}

double engine_grid_below(double figure) {
  if (!(figure > 0) || isinf(figure)) return figure;
  int e;
  double n = ldexp(frexp(figure, &e), 21); /* a whole number from 2^20 to 2^21 */
  double below = n > 0x1p20 ? ldexp(n - 1, e - 21) : ldexp(0x1p21 - 1, e - 22);
  return fmin(below, enclosure_down(figure));
}

/* ---- figures ---- */

void engine_figure(const engine_place *at, engine_element *element, measure_kind measure,
                   double figure, double lo) {
  engine_output *o = at->o;
  element->figured |= 1u << measure;
  if (figure < atomic_load_explicit(&o->floor[measure], memory_order_relaxed)) return;
  omp_set_lock(&o->lock);
  engine_best *best = &o->best[measure];
  if (!best->found || figure > best->figure ||
      (figure == best->figure && element->flat < best->flat)) {
    *best = (engine_best){1,
                          figure,
                          lo,
                          element->flat,
                          at->slice->index,
                          at->row,
                          element->component,
                          element->got,
                          element->is_given,
                          element->x_lo,
                          element->x_hi};
    if (figure > atomic_load_explicit(&o->floor[measure], memory_order_relaxed))
      atomic_store_explicit(&o->floor[measure], figure, memory_order_relaxed);
  }
  omp_unset_lock(&o->lock);
}

/* Whether an element with at most this figure cannot be the one that is reported: the figure is too
 * small, or an element before it has it. */
static int is_behind(engine_output *o, const engine_element *element, measure_kind measure,
                     double figure) {
  double floor = atomic_load_explicit(&o->floor[measure], memory_order_relaxed);
  if (figure != floor) return figure < floor;
  omp_set_lock(&o->lock);
  const engine_best *best = &o->best[measure];
  int behind = best->found && best->figure == figure && best->flat < element->flat;
  omp_unset_lock(&o->lock);
  return behind;
}

/* Notes the figure where the enclosure gives it, or shows that it is too small to matter. */
static void try_figure(const engine_place *at, engine_element *element, measure_kind measure,
                       measure_interval value) {
  double top = measure_canonical(value.hi);
  if (is_behind(at->o, element, measure, top))
    element->figured |= 1u << measure;
  else if (measure_canonical(value.lo) == top)
    engine_figure(at, element, measure, top, engine_grid_below(top));
}

/* ---- verdicts ---- */

/* Settles the bounds that the enclosure settles; how many of this measure stay open. */
static int try_bounds(const engine_output *o, engine_element *element, measure_kind measure,
                      measure_interval value) {
  int open = 0;
  for (size_t i = 0; i < o->bound_count; i++) {
    uint32_t bit = UINT32_C(1) << i;
    if (o->bounds[i]->measure != measure || (element->held | element->failed) & bit) continue;
    if (value.hi <= o->limit[i])
      element->held |= bit;
    else if (value.lo > o->limit[i])
      element->failed |= bit;
    else
      open++;
  }
  return open;
}

void engine_feed(const engine_place *at, engine_element *element, measure_kind measure,
                 measure_interval value, enclosure_tier tier) {
  unsigned bit = 1u << measure;
  if (!(element->open & bit)) return;
  element->tier = tier;
  element->last[measure] = value;
  int open = try_bounds(at->o, element, measure, value);
  if (!(element->figured & bit)) try_figure(at, element, measure, value);
  if (!open && element->figured & bit) element->open &= ~bit;
}

void engine_conclude(const engine_place *at, engine_element *element, measure_kind measure,
                     measure_interval value, certify_why why) {
  unsigned bit = 1u << measure;
  if (!(element->open & bit)) return;
  if (try_bounds(at->o, element, measure, value)) atomic_fetch_or(&at->o->why, (unsigned)why);
  if (!(element->figured & bit)) {
    double figure = measure_canonical(value.hi);
    double lo = measure_canonical(value.lo);
    if (lo > value.lo || lo == figure) lo = engine_grid_below(lo);
    engine_figure(at, element, measure, figure, lo);
  }
  element->open &= ~bit;
}

uint32_t engine_bounds_of(const engine_output *o, measure_kind measure) {
  uint32_t bits = 0;
  for (size_t i = 0; i < o->bound_count; i++)
    if (o->bounds[i]->measure == measure) bits |= UINT32_C(1) << i;
  return bits;
}

void engine_settle_explicit(const engine_place *at, engine_element *element, int within,
                            double size) {
  engine_output *o = at->o;
  uint32_t bounds = engine_bounds_of(o, MEASURE_BACKWARD);
  if (!within) {
    element->failed |= bounds;
    return;
  }
  element->held |= bounds;
  engine_figure(at, element, MEASURE_BACKWARD, measure_canonical(size), 0);
  element->open &= ~(1u << MEASURE_BACKWARD);
}

void engine_feed_explicit(const engine_place *at, engine_element *element, double got,
                          measure_interval value, enclosure_tier tier) {
  engine_output *o = at->o;
  double limit = o->lowest_limit[MEASURE_BACKWARD];
  unsigned bit = 1u << MEASURE_BACKWARD;
  if (!(element->open & bit)) return;
  element->last[MEASURE_BACKWARD] = value;
  if (value.hi <= limit) {
    /* Moving the values alone reaches got: an upper bound, whatever the scores do. */
    double top = measure_canonical(value.hi);
    try_bounds(o, element, MEASURE_BACKWARD, value);
    element->tier = tier;
    if (top < atomic_load_explicit(&o->floor[MEASURE_BACKWARD], memory_order_relaxed) ||
        measure_canonical(value.lo) == top) {
      engine_figure(at, element, MEASURE_BACKWARD, top, 0);
      element->open &= ~bit;
    }
  } else if (element->failed & engine_bounds_of(o, MEASURE_BACKWARD)) {
    /* Refuted already: the figure is what moving the values alone would take. */
    element->tier = tier;
    try_figure(at, element, MEASURE_BACKWARD, value);
    if (element->figured & bit) element->open &= ~bit;
  } else if (value.lo > limit) {
    attest_error error;
    attest_status status =
        at->e->room->backward_explicit(&value, o->subject->problem, at->slice, at->row, o->output,
                                       element->component, got, o->u_w, o->u_s, o->quantum, &error);
    if (status) engine_fail(at->e, status, &error);
    element->tier = TIER_BALL;
    engine_conclude(at, element, MEASURE_BACKWARD, value, WHY_EXPLICIT);
  }
}

void engine_element_count(const engine_place *at, const engine_element *element) {
  engine_output *o = at->o;
  uint32_t all = 0;
  for (size_t i = 0; i < o->bound_count; i++)
    if (o->bounds[i]->measure != MEASURE_NMSE) all |= UINT32_C(1) << i;
  uint32_t open = all & ~(element->held | element->failed);
  if (element->failed)
    atomic_fetch_add(&o->refuted, 1);
  else if (open)
    atomic_fetch_add(&o->undecided, 1);
  else
    atomic_fetch_add(&o->certified, 1);
  if (element->failed) atomic_fetch_or(&o->failed_bounds, element->failed);
  if (open) atomic_fetch_or(&o->open_bounds, open);
  atomic_fetch_add(&o->compared, 1);
  atomic_fetch_add(&o->tiers[element->tier], 1);
}
