/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One row of one output. Almost every element is within all bounds and below the largest errors
 * found so far by a wide margin: one pass of plain arithmetic sets those aside. The others get
 * rigorous intervals, first from the double tier, then with the exact sensitivity, then from the
 * double-double tier, and last in balls (climb.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../enclosure/interval.h"
#include "engine.h"

attest_status engine_scratch_init(engine_scratch *scratch, int64_t width, attest_error *error) {
  memset(scratch, 0, sizeof *scratch);
  double **arrays[] = {&scratch->got,    &scratch->x_hi, &scratch->x_lo,
                       &scratch->radius, &scratch->s_lo, &scratch->s_hi};
  int complete = 1;
  size_t n = width > 0 ? (size_t)width : 1;
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    complete &= (*arrays[i] = calloc(n, sizeof(double))) != NULL;
  scratch->quiet = calloc(n, 1);
  scratch->side = calloc(n, 1);
  scratch->elements = calloc(n, sizeof *scratch->elements);
  scratch->keys = calloc(2 * n, sizeof *scratch->keys);
  if (complete && scratch->quiet && scratch->side && scratch->elements && scratch->keys)
    return ATTEST_OK;
  engine_scratch_clear(scratch);
  return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
}

void engine_scratch_clear(engine_scratch *scratch) {
  free(scratch->got);
  free(scratch->x_hi);
  free(scratch->x_lo);
  free(scratch->radius);
  free(scratch->s_lo);
  free(scratch->s_hi);
  free(scratch->quiet);
  free(scratch->side);
  free(scratch->elements);
  free(scratch->keys);
  memset(scratch, 0, sizeof *scratch);
}

/* ---- the quick pass ---- */

/* An error of at most this is within all bounds of the measure and its canonical figure is below
 * the largest one so far, with a margin of 2^-40 for the rounding of the quick pass. Infinite
 * errors are never quiet: the first of them is to be reported. */
static double quiet_threshold(const engine_output *o, measure_kind measure) {
  double largest = atomic_load_explicit(&o->floor[measure], memory_order_relaxed) * (1 - 0x1p-19);
  return fmin(fmin(o->lowest_limit[measure], largest), DBL_MAX) * (1 - 0x1p-40);
}

/* 2^max(floor(log2 a), emin) 2^(1-p), a >= 0. */
static inline double ulp_of(double a, double smallest_normal, double ulp_of_one) {
  uint64_t bits;
  memcpy(&bits, &a, sizeof bits);
  bits &= UINT64_C(0x7ff) << 52;
  memcpy(&a, &bits, sizeof a);
  return (a > smallest_normal ? a : smallest_normal) * ulp_of_one;
}

/* The measures that are always wanted. Comparisons with NaN are false: not quiet. The added 1e-300
 * keeps subnormal products out of the comparisons. */
static void quick_basic(unsigned char *quiet, const engine_output *o, const engine_view *v,
                        const double *got) {
  double abs_limit = quiet_threshold(o, MEASURE_ABS), rel_limit = quiet_threshold(o, MEASURE_REL);
  double ulp_limit = quiet_threshold(o, MEASURE_ULP);
  double normal = ldexp(1, o->format->emin), ulp_of_one = ldexp(1, 1 - o->format->precision);
  for (int64_t c = 0; c < o->width; c++) {
    double e = fabs(got[c] - v->x[c]) + v->radius[c] + 1e-300, a = fabs(v->x[c]) - v->radius[c];
    a = a > 0 ? a : 0;
    quiet[c] = (e <= abs_limit) & (e <= rel_limit * a) &
               (e <= ulp_limit * ulp_of(a, normal, ulp_of_one)) & (v->class[c] == EXACT_FINITE);
  }
}

/* error <= limit * (constant + factor * y), y >= 0. */
static void quick_scaled(unsigned char *quiet, int64_t width, const engine_view *v,
                         const double *got, double limit, double constant, double factor,
                         const double *y) {
  for (int64_t c = 0; c < width; c++) {
    double e = fabs(got[c] - v->x[c]) + v->radius[c] + 1e-300;
    quiet[c] &= e <= limit * (constant + factor * y[c]);
  }
}

static void quick_allclose(unsigned char *quiet, const engine_output *o, const engine_view *v,
                           const double *got) {
  double limit = quiet_threshold(o, MEASURE_ALLCLOSE);
  for (int64_t c = 0; c < o->width; c++) {
    double e = fabs(got[c] - v->x[c]) + v->radius[c] + 1e-300, a = fabs(v->x[c]) - v->radius[c];
    quiet[c] &= e <= limit * (o->atol[0] + o->rtol[0] * (a > 0 ? a : 0));
  }
}

static void quick_backward(unsigned char *quiet, const engine_output *o, const engine_view *v,
                           const double *got) {
  double limit = quiet_threshold(o, MEASURE_BACKWARD), u_s = v->is_explicit ? 0 : o->u_s;
  for (int64_t c = 0; c < o->width; c++) {
    double e = fabs(got[c] - v->x[c]) + v->radius[c] + 1e-300;
    quiet[c] &= e <= limit * (o->u_w * v->a_lo[c] + u_s * v->s_lo[c] + o->quantum);
  }
}

/* Collects the elements that need more than the quick pass. */
static int64_t select_elements(engine_scratch *scratch, const engine_place *at,
                               const engine_view *v) {
  const engine_output *o = at->o;
  unsigned char *quiet = scratch->quiet;
  quick_basic(quiet, o, v, scratch->got);
  if (o->measures & 1u << MEASURE_ROW)
    quick_scaled(quiet, o->width, v, scratch->got, quiet_threshold(o, MEASURE_ROW) * v->largest_lo,
                 1, 0, v->x);
  if (o->measures & 1u << MEASURE_THEORY)
    quick_scaled(quiet, o->width, v, scratch->got, quiet_threshold(o, MEASURE_THEORY), 0, 1,
                 v->theory);
  if (o->allclose) quick_allclose(quiet, o, v, scratch->got);
  if (o->measures & 1u << MEASURE_BACKWARD) quick_backward(quiet, o, v, scratch->got);
  int64_t count = 0;
  for (int64_t c = 0; c < o->width; c++)
    if (!quiet[c]) engine_element_init(&scratch->elements[count++], at, c, scratch->got[c]);
  return count;
}

/* ---- rigorous intervals ---- */

/* got - x as got' - x' with |x' - mid| <= rad: where x has two parts, got - x_hi is taken first,
 * with its rounding error. */
typedef struct {
  double got, mid, rad;
} engine_difference;

static engine_difference difference(const engine_view *v, int64_t c, double got) {
  engine_difference d = {got, v->x[c], v->radius[c]};
  if (!v->x_lo) return d;
  double s = got - v->x[c];
  if (!(fabs(s) <= DBL_MAX)) {
    d.rad = enclosure_add_up(d.rad, fabs(v->x_lo[c]));
    return d;
  }
  double error = enclosure_sum_error(s, got, -v->x[c]);
  d.got = s;
  d.mid = v->x_lo[c] - error;
  d.rad = enclosure_add_up(d.rad, fabs(enclosure_sum_error(d.mid, v->x_lo[c], -error)));
  return d;
}

measure_interval engine_magnitude(const engine_view *v, int64_t c) {
  double rad = v->radius[c];
  if (v->x_lo) rad = enclosure_add_up(rad, fabs(v->x_lo[c]));
  return (measure_interval){fmax(0, enclosure_add_down(fabs(v->x[c]), -rad)),
                            enclosure_add_up(fabs(v->x[c]), rad)};
}

measure_interval engine_distance(const engine_view *v, int64_t c, double got) {
  engine_difference d = difference(v, c, got);
  return measure_abs(d.got, d.mid, d.rad);
}

measure_got engine_classify(double *got, const engine_view *v, int64_t c,
                            const tensor_format *format) {
  double rad = v->x_lo ? enclosure_add_up(v->radius[c], fabs(v->x_lo[c])) : v->radius[c];
  if (isnan(*got) && !(rad <= DBL_MAX) && v->class[c] == EXACT_FINITE) return GOT_UNKNOWN;
  return measure_classify(got, (measure_class)v->class[c], enclosure_add_down(v->x[c], -rad),
                          enclosure_add_up(v->x[c], rad), format);
}

void engine_set_largest(engine_view *v, const engine_output *o) {
  v->largest_lo = v->largest_hi = 0;
  if (!(o->measures & 1u << MEASURE_ROW)) return;
  for (int64_t c = 0; c < o->width; c++) {
    if (v->class[c] != EXACT_FINITE) continue;
    measure_interval x = engine_magnitude(v, c);
    v->largest_lo = fmax(v->largest_lo, x.lo);
    v->largest_hi = fmax(v->largest_hi, x.hi);
  }
}

static measure_interval scale_ulp(const engine_output *o, measure_interval x) {
  double normal = ldexp(1, o->format->emin), ulp_of_one = ldexp(1, 1 - o->format->precision);
  return (measure_interval){ulp_of(x.lo, normal, ulp_of_one),
                            x.hi <= DBL_MAX ? ulp_of(x.hi, normal, ulp_of_one) : INFINITY};
}

static measure_interval scale_allclose(const engine_output *o, measure_interval x) {
  return (measure_interval){enclosure_add_down(o->atol[0], enclosure_mul_down(o->rtol[0], x.lo)),
                            enclosure_add_up(o->atol[1], enclosure_mul_up(o->rtol[1], x.hi))};
}

static measure_interval scale_backward(const engine_output *o, const engine_view *v, int64_t c) {
  double lo = enclosure_mul_down(o->u_w, v->a_lo[c]), hi = enclosure_mul_up(o->u_w, v->a_hi[c]);
  if (!v->is_explicit) {
    lo = enclosure_add_down(lo, enclosure_mul_down(o->u_s, v->s_lo[c]));
    hi = enclosure_add_up(hi, enclosure_mul_up(o->u_s, v->s_hi[c]));
  }
  return (measure_interval){enclosure_add_down(lo, o->quantum), enclosure_add_up(hi, o->quantum)};
}

/* What the distance is measured in. */
static measure_interval scale_of(const engine_output *o, const engine_view *v, int64_t c,
                                 measure_kind measure) {
  switch (measure) {
  case MEASURE_REL:
    return engine_magnitude(v, c);
  case MEASURE_ULP:
    return scale_ulp(o, engine_magnitude(v, c));
  case MEASURE_ROW:
    return (measure_interval){v->largest_lo, v->largest_hi};
  case MEASURE_ALLCLOSE:
    return scale_allclose(o, engine_magnitude(v, c));
  case MEASURE_BACKWARD:
    return scale_backward(o, v, c);
  case MEASURE_THEORY: {
    /* A bound that instruction sets round differently becomes the same figure on all of them. */
    double theory = measure_canonical(v->theory[c]);
    return (measure_interval){theory, theory};
  }
  default:
    return (measure_interval){1, 1};
  }
}

static measure_interval interval_of(const engine_output *o, const engine_view *v, int64_t c,
                                    double got, measure_kind measure) {
  if (measure == MEASURE_REL && (got == 0 || !v->x_lo)) {
    double rad = v->x_lo ? enclosure_add_up(v->radius[c], fabs(v->x_lo[c])) : v->radius[c];
    return measure_rel(got, v->x[c], rad);
  }
  engine_difference d = difference(v, c, got);
  measure_interval y = scale_of(o, v, c, measure);
  return measure_quotient(d.got, d.mid, d.rad, y.lo, y.hi);
}

/* Where the theory bound is infinite the model admits any result, and only an exact one is within
 * it: whether the measure has been dealt with. */
static int without_theory(const engine_place *at, const engine_view *v, engine_element *element,
                          measure_got kind, double got) {
  int64_t c = element->component;
  if (v->theory[c] <= DBL_MAX) return 0;
  int is_exact = kind == GOT_EXACT || (kind == GOT_NUMBER && engine_distance(v, c, got).hi == 0);
  if (is_exact)
    engine_feed(at, element, MEASURE_THEORY, (measure_interval){0, 0}, v->tier);
  else
    engine_conclude(at, element, MEASURE_THEORY, (measure_interval){0, INFINITY},
                    WHY_NO_THEORY_BOUND);
  return 1;
}

static void examine(const engine_place *at, const engine_view *v, engine_element *element) {
  const engine_output *o = at->o;
  int64_t c = element->component;
  double got = element->got;
  measure_got kind = engine_classify(&got, v, c, o->format);
  for (int m = 0; m < MEASURE_COUNT && kind != GOT_UNKNOWN; m++) {
    if (!(element->open & 1u << m)) continue;
    if (m == MEASURE_THEORY && without_theory(at, v, element, kind, got)) continue;
    if (kind != GOT_NUMBER) {
      double error = kind == GOT_EXACT ? 0 : INFINITY;
      engine_feed(at, element, (measure_kind)m, (measure_interval){error, error}, v->tier);
      continue;
    }
    measure_interval value = interval_of(o, v, c, got, (measure_kind)m);
    if (m == MEASURE_BACKWARD && v->is_explicit)
      engine_feed_explicit(at, element, got, value, v->tier);
    else
      engine_feed(at, element, (measure_kind)m, value, v->tier);
  }
}

/* ---- the ladder ---- */

/* Looks at the elements that are open; which measures still are. */
static unsigned examine_all(const engine_place *at, const engine_view *v, engine_element *elements,
                            int64_t count) {
  unsigned open = 0;
  for (int64_t i = 0; i < count; i++) {
    if (elements[i].open) examine(at, v, &elements[i]);
    open |= elements[i].open;
  }
  return open;
}

/* Leaves pending what can wait; which measures of the others are open. */
static unsigned wait_all(const engine_place *at, engine_element *elements, int64_t count) {
  unsigned open = 0;
  for (int64_t i = 0; i < count; i++)
    if (elements[i].open && !engine_wait(at, &elements[i])) open |= elements[i].open;
  return open;
}

/* ---- rows to which first order does not apply ---- */

static int is_explicit_question(const engine_place *at, const engine_view *v,
                                const engine_element *element) {
  uint32_t bounds = engine_bounds_of(at->o, MEASURE_BACKWARD);
  return element->open & 1u << MEASURE_BACKWARD && bounds & ~(element->held | element->failed) &&
         v->class[element->component] == EXACT_FINITE && isfinite(element->got);
}

static void ask_sides(engine_scratch *scratch, const engine_place *at, const engine_view *v,
                      double size) {
  const engine_output *o = at->o;
  at->e->room->backward_side(scratch->side, scratch->got, v->x, v->radius, at->work, at->row, size,
                             o->u_w, o->u_s, o->quantum);
}

/* scratch->s_hi[c] becomes the least limit 4^-n that element c is known to be within, for the
 * elements in question. Stops once all that are left are below the largest error so far: a figure
 * that equals the largest is never one that was cut short, so the order of the rows does not
 * matter. */
static void narrow_sides(engine_scratch *scratch, const engine_place *at, const engine_view *v,
                         int64_t count, double limit) {
  int more = 1;
  for (double size = limit; more && size > 0x1p-60; size /= 4) {
    double floor = atomic_load_explicit(&at->o->floor[MEASURE_BACKWARD], memory_order_relaxed);
    more = 0;
    if (size < limit) ask_sides(scratch, at, v, size);
    for (int64_t i = 0; i < count; i++) {
      int64_t c = scratch->elements[i].component;
      if (size == limit) scratch->s_hi[c] = INFINITY;
      if (scratch->side[c] != 1 || !is_explicit_question(at, v, &scratch->elements[i])) continue;
      scratch->s_hi[c] = size;
      more |= measure_canonical(size) >= floor;
    }
  }
}

/* Which elements are beyond the limit and, in long rows, which are within, asked for the whole row.
 * Narrower questions are left to a search in balls. */
static void settle_explicit(engine_scratch *scratch, const engine_place *at, const engine_view *v,
                            int64_t count) {
  double limit = at->o->lowest_limit[MEASURE_BACKWARD];
  int asks = 0, is_long = at->slice->nk > ENGINE_SEARCH_KEYS;
  for (int64_t i = 0; i < count; i++)
    asks |= is_explicit_question(at, v, &scratch->elements[i]);
  if (!asks || !at->e->room->backward_side || limit != at->o->highest_limit[MEASURE_BACKWARD])
    return;
  ask_sides(scratch, at, v, limit);
  for (int64_t i = 0; i < count; i++)
    if (is_explicit_question(at, v, &scratch->elements[i]) &&
        scratch->side[scratch->elements[i].component] < 0)
      engine_settle_explicit(at, &scratch->elements[i], 0, limit);
  if (!is_long) return;
  narrow_sides(scratch, at, v, count, limit);
  for (int64_t i = 0; i < count; i++) {
    double size = scratch->s_hi[scratch->elements[i].component];
    if (is_explicit_question(at, v, &scratch->elements[i]) && size <= limit)
      engine_settle_explicit(at, &scratch->elements[i], 1, size);
  }
}

/* Double, with the sensitivity of a second pass where the backward error of `out` is open. */
static unsigned climb_double(engine_scratch *scratch, const engine_place *at, engine_view *v,
                             int64_t count, int may_wait) {
  const unsigned backward = 1u << MEASURE_BACKWARD;
  if (v->is_explicit && at->o->output == OUTPUT_OUT) settle_explicit(scratch, at, v, count);
  unsigned open = examine_all(at, v, scratch->elements, count);
  if (open && may_wait) open = wait_all(at, scratch->elements, count);
  if (!(open & backward) || at->o->output != OUTPUT_OUT || v->is_explicit ||
      !at->e->room->sensitivity)
    return open;
  at->e->room->sensitivity(scratch->s_lo, scratch->s_hi, v->x, v->radius, at->work, at->row);
  v->s_lo = scratch->s_lo;
  v->s_hi = scratch->s_hi;
  return examine_all(at, v, scratch->elements, count);
}

void engine_load(double *got, const engine_place *at) {
  const problem_slice *slice = at->slice;
  const attest_tensor *t = at->o->output == OUTPUT_OUT           ? &slice->out
                           : at->o->output == OUTPUT_FINAL_STATE ? &slice->final_state
                                                                 : &slice->lse;
  tensor_load(got, t, at->row * t->stride[0], at->o->width, t->ndim > 1 ? t->stride[1] : 1);
}

void engine_ladder(engine_scratch *scratch, const engine_place *at, engine_view *v, int64_t count,
                   int may_wait) {
  engine_output *o = at->o;
  const problem_room *room = at->e->room;
  unsigned open = count ? climb_double(scratch, at, v, count, may_wait) : 0;
  if (room->rows_dd && (open || o->moments)) {
    room->rows_dd(scratch->x_hi, scratch->x_lo, scratch->radius, at->work, at->row, o->output);
    v->x = scratch->x_hi;
    v->x_lo = scratch->x_lo;
    v->radius = scratch->radius;
    v->tier = TIER_DOUBLE_DOUBLE;
    engine_set_largest(v, o);
    open = examine_all(at, v, scratch->elements, count);
    if (open && may_wait) open = wait_all(at, scratch->elements, count);
  }
  if (open) engine_climb(at, v, scratch->elements, count);
}

void engine_row(engine_scratch *scratch, const engine_place *at, const engine_view *view) {
  engine_output *o = at->o;
  engine_view v = *view;
  engine_load(scratch->got, at);
  engine_set_largest(&v, o);
  int64_t count = select_elements(scratch, at, &v);
  if (v.is_jump && o->moments) engine_jump_moments(scratch, at, &v);
  if (v.is_jump) {
    int settled = count && engine_jump(scratch, at, &v);
    if (settled || !count) atomic_fetch_add(&o->ill_posed, 1);
    if (settled) return;
    v.is_jump = 0;
  }
  engine_ladder(scratch, at, &v, count, 1);
  if (o->moments) engine_row_moments(at, &v, scratch->got);
  for (int64_t i = 0; i < count; i++)
    engine_element_count(at, &scratch->elements[i]);
  atomic_fetch_add(&o->compared, o->width - count);
  atomic_fetch_add(&o->certified, o->width - count);
  atomic_fetch_add(&o->tiers[TIER_DOUBLE], o->width - count);
}
