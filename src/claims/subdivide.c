/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Boxes of real variables: one evaluation on balls decides a whole box; a box that stays open is
 * cut in two at its widest side. The corners of the whole and the middle of every open box are
 * tried as counterexamples, large boxes first, so that one is found before the boxes are used up on
 * an edge. */
#include <stdlib.h>

#include "decide.h"
#include "predicate.h"

enum { BOXES_MAX = 200000, PRECISION = 96, PRECISION_POINT = 1024 };

typedef struct {
  const expression *e;
  value *variables;
  int reals;
  long boxes, *steps;
  const real_interval *whole;
  attest_error *error;
} search;

/* The variables become balls around the box, or (as_points) its middle. */
static void set_variables(search *s, fmpq *low, fmpq *high, int as_points) {
  value *v = s->variables + s->e->variables - s->reals;
  arb_t a, b;
  arb_init(a);
  arb_init(b);
  for (int i = 0; i < s->reals; i++) {
    if (as_points) {
      value_set_si(&v[i], 0);
      fmpq_add(v[i].rational, low + i, high + i);
      fmpq_div_2exp(v[i].rational, v[i].rational, 1);
    } else {
      arb_set_fmpq(a, low + i, PRECISION);
      arb_set_fmpq(b, high + i, PRECISION);
      arb_union(a, a, b, PRECISION);
      value_set_ball(&v[i], a);
    }
  }
  arb_clear(a);
  arb_clear(b);
}

static attest_status evaluate_at(int *truth, search *s, slong prec_max) {
  evaluation how = {.prec = PRECISION, .variables = s->variables, .steps = *s->steps};
  attest_status status = decide_truth(truth, s->e, &how, prec_max, s->error);
  *s->steps = how.steps;
  return status;
}

/* The side that is widest relative to its whole range. */
static int widest(const search *s, fmpq *low, fmpq *high) {
  int best = 0;
  fmpq_t width, whole, largest;
  fmpq_init(width);
  fmpq_init(whole);
  fmpq_init(largest);
  for (int i = 0; i < s->reals; i++) {
    fmpq_sub(width, high + i, low + i);
    fmpq_sub(whole, s->whole[i].high, s->whole[i].low);
    if (fmpq_is_zero(whole)) continue;
    fmpq_div(width, width, whole);
    if (fmpq_cmp(width, largest) <= 0) continue;
    fmpq_set(largest, width);
    best = i;
  }
  fmpq_clear(width);
  fmpq_clear(whole);
  fmpq_clear(largest);
  return best;
}

/* 0 when the predicate fails at a corner of the whole that belongs to it (the variables are there).
 */
static attest_status try_corners(int *truth, search *s) {
  value *v = s->variables + s->e->variables - s->reals;
  attest_status status = ATTEST_OK;
  *truth = VALUE_UNKNOWN;
  for (int corner = 0; corner < 1 << s->reals && !status && *truth != 0; corner++) {
    int belongs = 1;
    for (int i = 0; i < s->reals; i++) {
      const real_interval *r = &s->whole[i];
      int is_high = corner >> i & 1;
      belongs &= is_high ? !r->high_open : !r->low_open;
      value_set_fmpq(&v[i], is_high ? r->high : r->low);
    }
    if (belongs) status = evaluate_at(truth, s, PRECISION_POINT);
  }
  return status;
}

/* The boxes that wait, first come first served: each as `reals` lower, then `reals` upper ends. */
typedef struct {
  fmpq **boxes;
  size_t first, last; /* boxes[first .. last - 1] */
} queue;

static void push(queue *q, const fmpq *box, int reals) {
  fmpq *copy = _fmpq_vec_init(2 * reals);
  for (int i = 0; i < 2 * reals; i++)
    fmpq_set(copy + i, box + i);
  q->boxes[q->last++] = copy;
}

/* Puts both halves of a box into the queue. */
static void split(queue *q, search *s, fmpq *box) {
  int side = widest(s, box, box + s->reals);
  fmpq_t middle, end;
  fmpq_init(middle);
  fmpq_init(end);
  fmpq_add(middle, box + side, box + s->reals + side);
  fmpq_div_2exp(middle, middle, 1);
  fmpq_set(end, box + s->reals + side);
  fmpq_set(box + s->reals + side, middle);
  push(q, box, s->reals);
  fmpq_set(box + s->reals + side, end);
  fmpq_set(box + side, middle);
  push(q, box, s->reals);
  fmpq_clear(middle);
  fmpq_clear(end);
}

/* 1 when the predicate holds on the box, 0 when it fails at its middle (the variables are there).
 */
static attest_status look_at(int *truth, search *s, fmpq *box) {
  set_variables(s, box, box + s->reals, 0);
  attest_status status = evaluate_at(truth, s, PRECISION);
  if (status || *truth == 1) return status;
  set_variables(s, box, box + s->reals, 1);
  status = evaluate_at(truth, s, PRECISION_POINT);
  if (!status && *truth == 1) *truth = VALUE_UNKNOWN;
  return status;
}

static attest_status work_off(int *truth, search *s, queue *q) {
  attest_status status = ATTEST_OK;
  *truth = 1;
  while (q->first < q->last && !status && *truth == 1) {
    fmpq *box = q->boxes[q->first++];
    s->boxes++;
    status = look_at(truth, s, box);
    if (!status && *truth == VALUE_UNKNOWN && q->last + 2 <= BOXES_MAX) {
      split(q, s, box);
      *truth = 1;
    }
    _fmpq_vec_clear(box, 2 * s->reals);
  }
  return status;
}

attest_status subdivide(int *truth, long *boxes, long *steps, const expression *e,
                        value variables[], int reals, const real_interval ranges[],
                        attest_error *error) {
  search s = {.e = e,
              .variables = variables,
              .reals = reals,
              .steps = steps,
              .whole = ranges,
              .error = error};
  queue q = {malloc(BOXES_MAX * sizeof *q.boxes), 0, 0};
  if (!q.boxes) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  fmpq *whole = _fmpq_vec_init(2 * reals);
  for (int i = 0; i < reals; i++) {
    fmpq_set(whole + i, ranges[i].low);
    fmpq_set(whole + reals + i, ranges[i].high);
  }
  push(&q, whole, reals);
  attest_status status = try_corners(truth, &s);
  if (!status && *truth != 0) status = work_off(truth, &s, &q);
  while (q.first < q.last)
    _fmpq_vec_clear(q.boxes[q.first++], 2 * reals);
  *boxes += s.boxes;
  _fmpq_vec_clear(whole, 2 * reals);
  free(q.boxes);
  return status;
}
