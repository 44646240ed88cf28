/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Elements that wait. The largest error of a measure is wanted to 2^-20, which may take balls;
 * asked of every element that is the largest so far, that is asked too often. An element whose
 * enclosure is narrow only raises the floor that others have to pass, and waits until the slices at
 * hand have been compared: then few are left above the floor. What is found does not depend on who
 * waits. */
#include <stdlib.h>

#include "engine.h"

/* Whether a measure of the element has bounds that are not settled. */
static int bounds_open(const engine_output *o, const engine_element *element,
                       measure_kind measure) {
  for (size_t i = 0; i < o->bound_count; i++)
    if (o->bounds[i]->measure == measure && !((element->held | element->failed) & UINT32_C(1) << i))
      return 1;
  return 0;
}

static int can_wait(const engine_output *o, const engine_element *element) {
  for (int m = 0; m < MEASURE_COUNT; m++) {
    if (!(element->open & 1u << m)) continue;
    measure_interval value = element->last[m];
    if (!(value.lo > 0) || !(value.hi <= 2 * value.lo) || bounds_open(o, element, (measure_kind)m))
      return 0;
  }
  return 1;
}

unsigned engine_still_open(const engine_output *o, engine_element *element) {
  for (int m = 0; m < MEASURE_COUNT; m++) {
    unsigned bit = 1u << m;
    double floor = atomic_load_explicit(&o->floor[m], memory_order_relaxed);
    if (!(element->open & bit) || measure_canonical(element->last[m].hi) >= floor) continue;
    element->figured |= bit;
    element->open &= ~bit;
  }
  return element->open;
}

/* The largest figure is at least that of the lower ends. Called with the lock held. */
static void raise_floor(engine_output *o, const engine_element *element) {
  for (int m = 0; m < MEASURE_COUNT; m++) {
    if (!(element->open & 1u << m)) continue;
    double figure = measure_canonical(element->last[m].lo);
    if (figure > atomic_load_explicit(&o->floor[m], memory_order_relaxed))
      atomic_store_explicit(&o->floor[m], figure, memory_order_relaxed);
  }
}

static void drop_small(engine_output *o) {
  int64_t kept = 0;
  for (int64_t i = 0; i < o->pending_count; i++)
    if (engine_still_open(o, &o->pending[i].element)) o->pending[kept++] = o->pending[i];
  o->pending_count = kept;
}

static int by_row(const void *a, const void *b) {
  const engine_pending *x = a, *y = b;
  if (x->slice != y->slice) return x->slice < y->slice ? -1 : 1;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  return (x->element.component > y->element.component) -
         (x->element.component < y->element.component);
}

void engine_pending_sort(engine_output *o) {
  drop_small(o);
  qsort(o->pending, (size_t)o->pending_count, sizeof *o->pending, by_row);
}

int64_t engine_pending_row(const engine_output *o, int64_t i) {
  const engine_pending *p = o->pending + i;
  if (i > 0 && p[-1].slice == p->slice && p[-1].row == p->row) return 0;
  int64_t n = 1;
  while (i + n < o->pending_count && p[n].slice == p->slice && p[n].row == p->row)
    n++;
  return n;
}

int engine_wait(const engine_place *at, engine_element *element) {
  engine_output *o = at->o;
  if (!can_wait(o, element)) return 0;
  omp_set_lock(&o->lock);
  raise_floor(o, element);
  int waits = 1;
  if (engine_still_open(o, element)) {
    if (o->pending_count == ENGINE_PENDING_MAX) drop_small(o);
    waits = o->pending_count < ENGINE_PENDING_MAX;
    if (waits)
      o->pending[o->pending_count++] = (engine_pending){at->slice->index, at->row, *element};
  }
  omp_unset_lock(&o->lock);
  if (waits) element->open = 0;
  return waits;
}

void engine_let_go(const engine_place *at, engine_element *element) {
  for (int m = 0; m < MEASURE_COUNT; m++)
    engine_conclude(at, element, (measure_kind)m, element->last[m], WHY_PRECISION);
}
