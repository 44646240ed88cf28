/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The output indices: each row is a set of keys, -1 where it has fewer. Its backward error is the
 * least change of the scores, in units of roundoff, that makes them select this set; the verdict is
 * that of all its elements. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum { PRECISION_START = 128 };

static int rising(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* What a subject returned for a row. */
typedef struct {
  int64_t width, count; /* count: of keys, sorted in rising order */
  const int64_t *given; /* as returned */
  int64_t *keys;
} index_row;

/* The keys that are not -1, sorted. */
static index_row load(engine_scratch *scratch, const engine_place *at) {
  const attest_tensor *t = &at->slice->indices;
  index_row row = {.width = at->o->width, .given = scratch->keys};
  row.keys = scratch->keys + row.width;
  for (int64_t i = 0; i < row.width; i++) {
    int64_t key = tensor_int_at(t, at->row * t->stride[0] + i * t->stride[1]);
    scratch->keys[i] = key;
    if (key != -1) row.keys[row.count++] = key;
  }
  qsort(row.keys, (size_t)row.count, sizeof *row.keys, rising);
  return row;
}

/* Place of a key in the row as returned; of the last of them where it stands there twice. */
static int64_t place_of(const index_row *row, int64_t key) {
  for (int64_t i = row->width - 1; i > 0; i--)
    if (row->given[i] == key) return i;
  return 0;
}

/* A key that is no key of the slice, or stands there twice; -1: none. */
static int64_t malformed(const index_row *row, int64_t nk) {
  for (int64_t i = 0; i < row->count; i++) {
    int64_t key = row->keys[i];
    if (key < 0 || key >= nk || (i && key == row->keys[i - 1])) return key < 0 ? -2 : key;
  }
  return -1;
}

/* Whether the row is `own`, which ends with -1 where it is shorter. */
static int is_own(const index_row *row, const int64_t *own) {
  if (row->width && own[0] == INDICES_UNKNOWN) return 0;
  for (int64_t i = 0; i < row->width; i++)
    if (own[i] != (i < row->count ? row->keys[i] : -1)) return 0;
  return 1;
}

static void judge(engine_element *element, const engine_place *at, const index_row *row) {
  const problem_room *room = at->e->room;
  room_misselection found;
  attest_error error;
  for (slong prec = PRECISION_START; element->open; prec *= 2) {
    attest_status status = room->misselection(&found, at->o->subject->problem, at->slice, at->row,
                                              row->keys, row->count, at->o->u_s, prec, &error);
    if (status) {
      engine_fail(at->e, status, &error);
      return;
    }
    if (prec == PRECISION_START) {
      /* The element that shows it: the key that should not be there, or the first empty place. */
      int64_t i = place_of(row, found.taken);
      engine_element_init(element, at, i, (double)row->given[i]);
      element->is_given = 1;
      element->x_lo = element->x_hi = (double)found.left;
    }
    engine_feed(at, element, MEASURE_BACKWARD, found.size, TIER_BALL);
    if (2 * prec > at->e->precision_max)
      engine_conclude(at, element, MEASURE_BACKWARD, found.size, WHY_PRECISION);
  }
}

void engine_indices(engine_scratch *scratch, const engine_place *at, const int64_t *own) {
  index_row row = load(scratch, at);
  engine_element element;
  int64_t wrong = malformed(&row, at->slice->nk);
  if (row.width == 0) return;
  engine_element_init(&element, at, 0, (double)row.given[0]);
  element.is_given = 1;
  element.x_lo = element.x_hi = element.got;
  if (wrong != -1) {
    int64_t i = 0;
    for (; wrong == -2 && row.given[i] >= -1;)
      i++;
    if (wrong >= 0) i = place_of(&row, wrong);
    engine_element_init(&element, at, i, (double)row.given[i]);
    element.is_given = 1;
    element.x_lo = element.x_hi = -1;
    engine_feed(at, &element, MEASURE_BACKWARD, (measure_interval){INFINITY, INFINITY}, TIER_EXACT);
  } else if (is_own(&row, own)) {
    engine_feed(at, &element, MEASURE_BACKWARD, (measure_interval){0, 0}, TIER_DOUBLE);
  } else {
    judge(&element, at, &row);
  }
  for (int64_t i = 0; i < row.width && !at->e->status; i++)
    engine_element_count(at, &element);
}
