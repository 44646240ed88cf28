/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Boxes of real variables: one evaluation on balls decides a whole box; a box that stays open is
 * cut in two at its widest side. The middle of every open box is tried as a counterexample. */
#include <stdlib.h>

#include "decide.h"
#include "predicate.h"

enum { BOXES_MAX = 200000, DEPTH_MAX = 60, PRECISION = 96, PRECISION_POINT = 1024 };

typedef struct {
  const expression *e;
  value *variables;
  int reals;
  long boxes;
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
  evaluation how = {.prec = PRECISION, .variables = s->variables, .steps = EVALUATION_STEPS};
  return decide_truth(truth, s->e, &how, prec_max, s->error);
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

static attest_status visit(int *truth, search *s, fmpq *low, fmpq *high, int depth) {
  if (++s->boxes > BOXES_MAX || depth > DEPTH_MAX * s->reals) {
    *truth = VALUE_UNKNOWN;
    set_variables(s, low, high, 1);
    return ATTEST_OK;
  }
  set_variables(s, low, high, 0);
  attest_status status = evaluate_at(truth, s, PRECISION);
  if (status || *truth == 1) return status;
  set_variables(s, low, high, 1);
  int at_middle;
  status = evaluate_at(&at_middle, s, PRECISION_POINT);
  if (status || at_middle == 0) {
    *truth = at_middle;
    return status;
  }
  int side = widest(s, low, high);
  fmpq_t middle, end;
  fmpq_init(middle);
  fmpq_init(end);
  fmpq_set(middle, (s->variables + s->e->variables - s->reals)[side].rational);
  fmpq_set(end, high + side);
  fmpq_set(high + side, middle);
  status = visit(truth, s, low, high, depth + 1);
  fmpq_set(high + side, end);
  if (!status && *truth == 1) {
    fmpq_set(end, low + side);
    fmpq_set(low + side, middle);
    status = visit(truth, s, low, high, depth + 1);
    fmpq_set(low + side, end);
  }
  fmpq_clear(middle);
  fmpq_clear(end);
  return status;
}

attest_status subdivide(int *truth, long *boxes, const expression *e, value variables[], int reals,
                        const real_interval ranges[], attest_error *error) {
  search s = {.e = e, .variables = variables, .reals = reals, .whole = ranges, .error = error};
  fmpq *low = _fmpq_vec_init(reals), *high = _fmpq_vec_init(reals);
  for (int i = 0; i < reals; i++) {
    fmpq_set(low + i, ranges[i].low);
    fmpq_set(high + i, ranges[i].high);
  }
  attest_status status = visit(truth, &s, low, high, 0);
  *boxes += s.boxes;
  _fmpq_vec_clear(low, reals);
  _fmpq_vec_clear(high, reals);
  return status;
}
