/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "search.h"

#include <math.h>

/* Sizes are tried on the grid 2^(k/128). */
#define GRID 128
#define GRID_MIN (-100 * GRID)
#define GRID_MAX (1000 * GRID)

static double grid_size(int64_t k) {
  return exp2((double)k / GRID);
}

/* A k with holds(k) and not holds(k + 1), found by steps that double from `start`, then halving.
 * GRID_MIN - 1: holds nowhere on the grid; GRID_MAX: everywhere that was tried. */
static int64_t last_holding(const void *context, search_question *holds, int64_t start) {
  int64_t lo = start, hi = start;
  if (holds(context, grid_size(start))) {
    for (int64_t step = 1;; step *= 2) {
      hi = lo + step;
      if (hi > GRID_MAX) return GRID_MAX;
      if (!holds(context, grid_size(hi))) break;
      lo = hi;
    }
  } else {
    for (int64_t step = 1;; step *= 2) {
      lo = hi - step;
      if (lo < GRID_MIN) return GRID_MIN - 1;
      if (holds(context, grid_size(lo))) break;
      hi = lo;
    }
  }
  while (hi - lo > 1) {
    int64_t middle = lo + (hi - lo) / 2;
    if (holds(context, grid_size(middle)))
      lo = middle;
    else
      hi = middle;
  }
  return lo;
}

static int64_t grid_index(double size) {
  if (!(size >= 0x1p-90)) return -90 * GRID;
  if (size > 0x1p90) return 90 * GRID;
  return (int64_t)floor(log2(size) * GRID);
}

measure_interval search_least_size(const void *context, search_question *cannot_reach,
                                   search_question *falls_short, double guess) {
  measure_interval value = {0, INFINITY};
  int64_t start = grid_index(guess), k = last_holding(context, cannot_reach, start);
  if (k >= GRID_MIN) value.lo = grid_size(k);
  k = last_holding(context, falls_short, k > start ? k : start);
  if (k < GRID_MAX) value.hi = grid_size(k + 1);
  return value;
}

typedef struct {
  const void *context;
  search_reach *reach;
  arb_srcptr gap;
} move_question;

static int cannot_reach(const void *context, double size) {
  const move_question *q = context;
  arb_t reach;
  arb_init(reach);
  q->reach(reach, q->context, size, REACH_BOUND);
  int yes = arb_lt(reach, q->gap);
  arb_clear(reach);
  return yes;
}

/* Whether the explicit perturbation is not known to attain the gap. */
static int falls_short(const void *context, double size) {
  const move_question *q = context;
  arb_t reach;
  arb_init(reach);
  q->reach(reach, q->context, size, REACH_EXPLICIT);
  int attained = arb_ge(reach, q->gap);
  arb_clear(reach);
  return !attained;
}

measure_interval search_least_move(const void *context, search_reach *reach, const arb_t gap) {
  const move_question q = {context, reach, gap};
  arb_t unit;
  arb_init(unit);
  reach(unit, context, 0x1p-20, REACH_BOUND);
  arb_div(unit, gap, unit, 64);
  double guess = enclosure_upper(unit) * 0x1p-20;
  arb_clear(unit);
  return search_least_size(&q, cannot_reach, falls_short, guess);
}
