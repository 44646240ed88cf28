/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rest of a row in balls: the precision doubles until every bound is decided and every figure
 * is known that may be the largest. One ball row serves all its elements. Straddles that look like
 * ties are put to the exact tier once. */
#include <float.h>
#include <math.h>

#include "engine.h"

/* Whether x is exactly zero or got is asked no earlier than at PRECISION_ASK: the question costs as
 * much as some rows of balls, and most elements are settled before. */
enum { PRECISION_START = 128, PRECISION_ASK = 512, EXTRA_BITS = 64 };

/* Questions of the kind "is x exactly this" that have been asked. */
enum { ASKED_ZERO = 1, ASKED_GOT = 2, ASKED_BINADE = 4, ASKED_OVERFLOW = 8 };

typedef struct {
  const engine_place *at;
  const engine_view *view;
  room_balls balls;
  arb_t largest; /* |x| over the row */
  slong prec;
} climb;

/* ---- values ---- */

static void set_largest(climb *k) {
  arb_t x;
  arb_init(x);
  arb_zero(k->largest);
  for (int64_t c = 0; c < k->balls.width; c++)
    if (k->balls.class[c] == EXACT_FINITE) {
      arb_abs(x, k->balls.x + c);
      arb_max(k->largest, k->largest, x, k->prec);
    }
  arb_clear(x);
}

/* What the distance is measured in. */
static void scale_of(arb_t y, const climb *k, int64_t c, measure_kind measure) {
  const engine_output *o = k->at->o;
  arb_t t;
  arb_init(t);
  if (measure == MEASURE_ROW) {
    arb_set(y, k->largest);
  } else if (measure == MEASURE_THEORY) {
    arb_set_d(y, measure_canonical(k->view->theory[c]));
  } else if (measure == MEASURE_ALLCLOSE) {
    arb_set_fmpq(t, o->allclose->rtol, k->prec);
    arb_abs(y, k->balls.x + c);
    arb_mul(y, y, t, k->prec);
    arb_set_fmpq(t, o->allclose->atol, k->prec);
    arb_add(y, y, t, k->prec);
  } else { /* backward */
    arb_set_d(y, o->u_w);
    arb_mul(y, y, k->balls.a + c, k->prec);
    arb_set_d(t, k->view->is_explicit ? 0 : o->u_s);
    if (!k->view->is_explicit) arb_addmul(y, t, k->balls.s + c, k->prec);
    arb_set_d(t, o->quantum);
    arb_add(y, y, t, k->prec);
  }
  arb_clear(t);
}

static void value_of(arb_t value, const climb *k, const engine_element *element,
                     measure_kind measure) {
  int64_t c = element->component;
  arb_srcptr x = k->balls.x + c;
  double got = element->counted;
  if (measure == MEASURE_ABS) {
    measure_abs_arb(value, got, x, k->prec);
  } else if (measure == MEASURE_REL) {
    measure_rel_arb(value, got, x, k->prec);
  } else if (measure == MEASURE_ULP) {
    measure_ulp_arb(value, got, x, k->at->o->format, k->prec);
  } else {
    arb_t y;
    arb_init(y);
    scale_of(y, k, c, measure);
    measure_quotient_arb(value, got, x, y, k->prec);
    arb_clear(y);
  }
}

/* ---- thresholds ---- */

typedef enum { WITHIN, BEYOND, STRADDLED } side;

/* Where the value lies: at most the threshold, above it, or not known. A tie that the exact tier
 * confirms is at most. */
static side compare(const climb *k, engine_element *element, measure_kind measure,
                    const arb_t value, const fmpq_t threshold, int may_ask) {
  arb_t t;
  arb_init(t);
  arb_set_fmpq(t, threshold, k->prec + EXTRA_BITS);
  side where = arb_le(value, t) ? WITHIN : arb_gt(value, t) ? BEYOND : STRADDLED;
  arb_clear(t);
  if (where != STRADDLED || !may_ask) return where;
  unsigned bit = 1u << measure;
  int tie = engine_tie(k->at, element, measure, threshold, k->view, k->balls.x);
  element->asked |= bit;
  if (tie == 0) element->apart |= bit;
  if (tie == 1) element->tier = TIER_EXACT;
  return tie == 1 ? WITHIN : STRADDLED;
}

static void compare_bounds(const climb *k, engine_element *element, measure_kind measure,
                           const arb_t value, int may_ask) {
  const engine_output *o = k->at->o;
  for (size_t i = 0; i < o->bound_count; i++) {
    uint32_t bit = UINT32_C(1) << i;
    if (o->bounds[i]->measure != measure || (element->held | element->failed) & bit) continue;
    side where = compare(k, element, measure, value, o->bounds[i]->limit, may_ask);
    if (where == WITHIN)
      element->held |= bit;
    else if (where == BEYOND)
      element->failed |= bit;
  }
}

/* The figure is one of two neighbours on the grid: which is a question about the lower one. */
static void compare_figure(const climb *k, engine_element *element, measure_kind measure,
                           const arb_t value, measure_interval interval, int may_ask) {
  double low = measure_canonical(interval.lo), high = measure_canonical(interval.hi);
  if (element->figured & 1u << measure || !(high <= DBL_MAX) || high != engine_grid_above(low))
    return;
  fmpq_t threshold;
  arf_t exact;
  fmpq_init(threshold);
  arf_init(exact);
  arf_set_d(exact, low);
  arf_get_fmpq(threshold, exact);
  side where = compare(k, element, measure, value, threshold, may_ask);
  if (where != STRADDLED) {
    double figure = where == WITHIN ? low : high;
    engine_figure(k->at, element, measure, figure, engine_grid_below(figure));
  }
  fmpq_clear(threshold);
  arf_clear(exact);
}

/* ---- elements ---- */

/* Narrow enough that a straddled threshold is either a tie or one chance in 2^40; or, among
 * subnormals, as narrow as doubles go. */
static int is_narrow(measure_interval value) {
  return value.hi - value.lo <= fmax(value.hi * 0x1p-40, 0x1p-1073);
}

static void step_measure(const climb *k, engine_element *element, measure_kind measure) {
  unsigned bit = 1u << measure;
  arb_t value;
  arb_init(value);
  value_of(value, k, element, measure);
  measure_interval interval = measure_interval_arb(value);
  element->last[measure] = interval;
  if (measure == MEASURE_BACKWARD && k->view->is_explicit) {
    engine_feed_explicit(k->at, element, element->counted, interval, TIER_BALL);
  } else {
    engine_feed(k->at, element, measure, interval, TIER_BALL);
    if (element->open & bit) {
      int may_ask = !(element->asked & bit) && is_narrow(interval);
      compare_bounds(k, element, measure, value, may_ask);
      compare_figure(k, element, measure, value, interval, may_ask);
      engine_feed(k->at, element, measure, interval, element->tier);
    }
  }
  arb_clear(value);
}

/* Asks once whether x is exactly c; if so, x is that from now on. */
static void ask_exact(climb *k, engine_element *element, unsigned question, double c) {
  if (element->is_asked & question || element->is_exact) return;
  element->is_asked |= question;
  if (engine_is_exactly(k->at, element->component, c) != 1) return;
  element->is_exact = 1;
  element->exact = c;
  arb_set_d(k->balls.x + element->component, c);
}

/* The power of two that |x| straddles, with its sign: 1, or 0 when there is none or several. */
static int straddled_power(double *power, const arb_t x) {
  double lo = enclosure_lower(x), hi = enclosure_upper(x);
  double small = fmin(fabs(lo), fabs(hi)), large = fmax(fabs(lo), fabs(hi));
  int e;
  if (!(small > 0) || !(large <= DBL_MAX) || (lo < 0) != (hi < 0)) return 0;
  frexp(large, &e);
  *power = copysign(ldexp(1, e - 1), lo);
  return fabs(*power) > small && large - small <= large * 0x1p-40;
}

/* Whether the ball contains c. */
static int may_equal(const arb_t x, double c) {
  arf_t exact;
  arf_init(exact);
  arf_set_d(exact, c);
  int may = arb_contains_arf(x, exact);
  arf_clear(exact);
  return may;
}

static void ask_all(climb *k, engine_element *element) {
  arb_srcptr x = k->balls.x + element->component;
  double power;
  if (arb_is_exact(x)) return;
  if (element->open & 1u << MEASURE_ULP && straddled_power(&power, x))
    ask_exact(k, element, ASKED_BINADE, power);
  if (k->prec < PRECISION_ASK) return;
  if (arb_contains_zero(x)) ask_exact(k, element, ASKED_ZERO, 0);
  if (isinf(element->got)) {
    /* Where rounding overflows; for float64 that is no double, and no question is asked. */
    const tensor_format *f = k->at->o->format;
    double edge = copysign(ldexp(2 - ldexp(1, -f->precision), f->emax), element->got);
    if (!isinf(edge) && may_equal(x, edge)) ask_exact(k, element, ASKED_OVERFLOW, edge);
  } else if (!isnan(element->got) && may_equal(x, element->got)) {
    ask_exact(k, element, ASKED_GOT, element->got);
  }
}

/* Where the theory bound is infinite the model admits any result: whether the measure has been
 * dealt with. Only a result that may have overflowed comes here with such a bound. */
static int without_theory(const climb *k, engine_element *element, measure_got kind) {
  if (kind == GOT_EXACT || k->view->theory[element->component] <= DBL_MAX) return 0;
  engine_conclude(k->at, element, MEASURE_THEORY, (measure_interval){0, INFINITY},
                  WHY_NO_THEORY_BOUND);
  return 1;
}

static void step(climb *k, engine_element *element) {
  int64_t c = element->component;
  element->counted = element->got;
  if (k->balls.class[c] == EXACT_FINITE) ask_all(k, element);
  measure_got kind = measure_classify_arb(&element->counted, (measure_class)k->balls.class[c],
                                          k -> balls.x + c, k->at->o->format);
  double error = kind == GOT_EXACT ? 0 : INFINITY;
  for (int m = 0; m < MEASURE_COUNT; m++) {
    if (!(element->open & 1u << m)) continue;
    if (m == MEASURE_THEORY && without_theory(k, element, kind)) continue;
    if (kind == GOT_NUMBER)
      step_measure(k, element, (measure_kind)m);
    else if (kind == GOT_UNKNOWN)
      element->last[m] = (measure_interval){0, INFINITY};
    else
      engine_feed(k->at, element, (measure_kind)m, (measure_interval){error, error}, TIER_BALL);
    if (element->is_exact) element->tier = TIER_EXACT;
  }
}

/* Past the precision allowed: what no exact question has shown to be decidable stays open. */
static void give_up(const climb *k, engine_element *element) {
  slong allowed = k->at->e->precision_max;
  for (int m = 0; m < MEASURE_COUNT; m++) {
    unsigned bit = 1u << m;
    slong limit = element->apart & bit ? ENCLOSURE_BALL_PRECISION_MAX : allowed;
    if (element->open & bit && 2 * k->prec > limit)
      engine_conclude(k->at, element, (measure_kind)m, element->last[m], WHY_PRECISION);
  }
}

static unsigned wanted(const engine_output *o, const engine_element *elements, int64_t count) {
  unsigned want = room_want(o->output);
  for (int64_t i = 0; i < count; i++)
    if (elements[i].open & 1u << MEASURE_BACKWARD) want |= WANT_CONDITION;
  return want;
}

/* One precision: whether anything is still open. */
static int climb_once(climb *k, engine_element *elements, int64_t count) {
  const engine_place *at = k->at;
  attest_error error;
  attest_status status =
      at->e->room->ball(&k->balls, at->o->subject->problem, at->slice, at->row, at->o->output,
                        wanted(at->o, elements, count), k->prec, &error);
  if (status) {
    engine_fail(at->e, status, &error);
    return 0;
  }
  for (int64_t i = 0; i < count; i++)
    if (elements[i].is_exact) arb_set_d(k->balls.x + elements[i].component, elements[i].exact);
  if (at->o->measures & 1u << MEASURE_ROW) set_largest(k);
  int open = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!elements[i].open) continue;
    step(k, &elements[i]);
    give_up(k, &elements[i]);
    open |= elements[i].open != 0;
  }
  return open;
}

static void climb_open(climb *k, const engine_place *at, const engine_view *view,
                       const engine_selection *selection) {
  *k = (climb){.at = at, .view = view, .prec = PRECISION_START};
  room_balls_init(&k->balls, at->o->width);
  k->balls.edge = at->o->edge;
  if (selection) {
    k->balls.selection = selection->keys;
    k->balls.selected = selection->count;
    k->balls.weights = selection->weights;
  }
  arb_init(k->largest);
}

static void climb_close(climb *k) {
  arb_clear(k->largest);
  room_balls_clear(&k->balls);
}

void engine_climb(const engine_place *at, const engine_view *view, engine_element *elements,
                  int64_t count) {
  climb k;
  climb_open(&k, at, view, NULL);
  while (!engine_stopped(at->e) && climb_once(&k, elements, count))
    k.prec *= 2;
  /* What no cheaper tier could tell: the weights of the row add up to exactly 0. Rows at a jump are
   * counted as such. */
  int64_t c = elements[0].component;
  if (!view->is_jump && view->class[c] == EXACT_FINITE && k.balls.class[c] == EXACT_NAN)
    atomic_fetch_add(&at->o->ill_posed, 1);
  climb_close(&k);
}

/* ---- a given selection of keys ---- */

void engine_climb_selection(const engine_place *at, const engine_view *view,
                            engine_element *elements, int64_t count,
                            const engine_selection *selection) {
  climb k;
  climb_open(&k, at, view, selection);
  for (int64_t i = 0; i < count; i++) {
    elements[i].asked = elements[i].is_asked = ~0u;
    elements[i].is_given = 1;
    elements[i].x_lo = -INFINITY;
    elements[i].x_hi = INFINITY;
  }
  /* What is known of x before the first figure is noted. */
  int status = at->e->room->ball(&k.balls, at->o->subject->problem, at->slice, at->row,
                                 at->o->output, room_want(at->o->output), PRECISION_START, NULL);
  for (int64_t i = 0; i < count && !status; i++) {
    elements[i].x_lo = enclosure_lower(k.balls.x + elements[i].component);
    elements[i].x_hi = enclosure_upper(k.balls.x + elements[i].component);
  }
  while (!engine_stopped(at->e) && climb_once(&k, elements, count))
    k.prec *= 2;
  climb_close(&k);
}

/* 1: every bound holds for the element, -1: one does not, 0: not known. */
static int fits(climb *k, engine_element *element) {
  const engine_output *o = k->at->o;
  int64_t c = element->component;
  element->counted = element->got;
  measure_got kind = measure_classify_arb(&element->counted, (measure_class)k->balls.class[c],
                                          k -> balls.x + c, o->format);
  if (kind != GOT_NUMBER) return kind == GOT_EXACT ? 1 : kind == GOT_HOPELESS ? -1 : 0;
  int all = 1;
  arb_t value, limit;
  arb_init(value);
  arb_init(limit);
  for (size_t i = 0; i < o->bound_count && all >= 0; i++) {
    measure_kind measure = o->bounds[i]->measure;
    if (measure == MEASURE_NMSE) continue;
    value_of(value, k, element, measure);
    arb_set_fmpq(limit, o->bounds[i]->limit, k->prec);
    if (!arb_le(value, limit)) all = arb_gt(value, limit) ? -1 : 0;
  }
  arb_clear(value);
  arb_clear(limit);
  return all;
}

int engine_fits(const engine_place *at, const engine_view *view, engine_element *elements,
                int64_t count, const engine_selection *selection) {
  climb k;
  climb_open(&k, at, view, selection);
  int known = !at->e->room->ball(&k.balls, at->o->subject->problem, at->slice, at->row,
                                 at->o->output, wanted(at->o, elements, count), k.prec, NULL);
  int all = known;
  if (known && at->o->measures & 1u << MEASURE_ROW) set_largest(&k);
  for (int64_t i = 0; i < count && known && all >= 0; i++) {
    int one = fits(&k, &elements[i]);
    if (one < all) all = one;
  }
  climb_close(&k);
  return all;
}
