/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is to be compared: the outputs of all subjects, the bounds that apply to each, the measures
 * and machine models that these call for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static int is_at_most(double x, const fmpq_t q) {
  arf_t exact;
  fmpq_t value;
  arf_init(exact);
  fmpq_init(value);
  arf_set_d(exact, x);
  arf_get_fmpq(value, exact);
  int answer = fmpq_cmp(value, q) <= 0;
  arf_clear(exact);
  fmpq_clear(value);
  return answer;
}

/* The largest double <= q. The ball of q is far narrower than the doubles are apart, but it may
 * reach over one of them. */
static double round_down(const fmpq_t q) {
  arb_t x;
  arb_init(x);
  arb_set_fmpq(x, q, 128);
  double lo = enclosure_lower(x), next = nextafter(lo, INFINITY);
  arb_clear(x);
  return isfinite(next) && is_at_most(next, q) ? next : lo;
}

static void enclose(double bounds[2], const fmpq_t q) {
  arb_t x;
  arb_init(x);
  arb_set_fmpq(x, q, 128);
  bounds[0] = enclosure_lower(x);
  bounds[1] = enclosure_upper(x);
  arb_clear(x);
}

static attest_status add_bound(engine_output *o, const certify_bound *bound, attest_error *error) {
  if (o->bound_count == ENGINE_BOUNDS_MAX)
    return attest_fail(error, ATTEST_ERR_INPUT, "more than %d bounds on one output",
                       ENGINE_BOUNDS_MAX);
  if (o->output == OUTPUT_INDICES && bound->measure != MEASURE_BACKWARD)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "bound indices:%s: of indices only the backward error is measured",
                       bound->text);
  if (bound->measure == MEASURE_THEORY && !o->subject->machine)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "a theory bound needs the machine model of the kernel: declare it with "
                       "--arithmetic (arithmetic: in a plan), or give a numeric bound");
  if (bound->measure == MEASURE_ALLCLOSE) {
    if (o->allclose)
      return attest_fail(error, ATTEST_ERR_INPUT,
                         "two allclose bounds (%s and %s) on one output: give the stricter one",
                         o->allclose->text, bound->text);
    o->allclose = bound;
    enclose(o->rtol, bound->rtol);
    enclose(o->atol, bound->atol);
  }
  double limit = round_down(bound->limit);
  o->bounds[o->bound_count] = bound;
  o->limit[o->bound_count++] = limit;
  o->measures |= 1u << bound->measure;
  if (limit < o->lowest_limit[bound->measure]) o->lowest_limit[bound->measure] = limit;
  if (limit > o->highest_limit[bound->measure]) o->highest_limit[bound->measure] = limit;
  return ATTEST_OK;
}

/* Of indices only the backward error is measured: other bounds that name no output pass them by. */
static int applies(const certify_bound *bound, const engine_output *o) {
  if (bound->output >= 0) return bound->output == o->output;
  return o->output != OUTPUT_INDICES || bound->measure == MEASURE_BACKWARD;
}

static attest_status add_bounds(engine *e, engine_output *o, attest_error *error) {
  const certify_bounds *bounds = o->subject->bounds;
  attest_status status = ATTEST_OK;
  for (size_t i = 0; i < bounds->count && !status; i++)
    if (applies(&bounds->items[i], o)) status = add_bound(o, &bounds->items[i], error);
  if (status || o->bound_count) return status;
  const certify_bounds *defaults = &e->defaults[o->format->precision >= 24];
  return add_bound(o, &defaults->items[0], error);
}

/* Index of the subject's machine among those of the engine. */
static int find_machine(engine *e, const room_machine *machine) {
  for (size_t i = 0; i < e->machine_count; i++)
    if (e->machines[i] == machine) return (int)i;
  e->machines[e->machine_count] = machine;
  return (int)e->machine_count++;
}

static void set_roundoffs(engine *e, engine_output *o) {
  double u = measure_unit_roundoff(o->format);
  o->u_w = e->options->roundoff_weights > 0 ? e->options->roundoff_weights : u;
  o->u_s = e->options->roundoff_scores > 0 ? e->options->roundoff_scores : fmin(o->u_w, 0x1p-24);
  o->quantum = ldexp(1, o->format->emin - o->format->precision);
  /* For float64 the half of the smallest subnormal is no double: the whole one, on both sides. */
  if (o->quantum == 0) o->quantum = 0x1p-1074;
}

static attest_status set_output(engine *e, engine_output *o, attest_error *error) {
  for (int m = 0; m < MEASURE_COUNT; m++) {
    o->lowest_limit[m] = INFINITY;
    o->highest_limit[m] = -1;
    atomic_init(&o->floor[m], -1);
  }
  if (o->output != OUTPUT_INDICES)
    o->measures = 1u << MEASURE_ABS | 1u << MEASURE_REL | 1u << MEASURE_ULP;
  o->machine = -1;
  set_roundoffs(e, o);
  attest_status status = add_bounds(e, o, error);
  if (status) return status;
  e->want |= room_want(o->output);
  if (o->measures & 1u << MEASURE_BACKWARD) {
    if (o->output != OUTPUT_INDICES) e->want |= WANT_CONDITION;
    o->edge = o->highest_limit[MEASURE_BACKWARD] * o->u_s;
    e->edge = fmax(e->edge, o->edge);
  }
  if (o->measures & 1u << MEASURE_THEORY) {
    e->want |= WANT_THEORY;
    o->machine = find_machine(e, o->subject->machine);
  }
  if (o->measures & 1u << MEASURE_NMSE) {
    int64_t rows = problem_slice_count(e->problem) * engine_rows_max(e->problem, o->output);
    o->moments = calloc((size_t)(rows > 0 ? rows : 1), sizeof *o->moments);
    if (!o->moments) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  }
  return ATTEST_OK;
}

static attest_status check_bounds_apply(const certify_subject *s, attest_error *error) {
  int any = 0;
  for (int i = 0; i < OUTPUT_COUNT; i++)
    any |= s->problem->output[i].data != NULL;
  if (!any)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "nothing to check: give what the kernel returned as --out, --lse, "
                       "--final-state or --indices");
  for (size_t i = 0; i < s->bounds->count; i++) {
    const certify_bound *b = &s->bounds->items[i];
    if (b->output >= 0 && !s->problem->output[b->output].data)
      return attest_fail(error, ATTEST_ERR_INPUT, "bound %s:%s: that output was not given",
                         problem_output_names[b->output], b->text);
  }
  return ATTEST_OK;
}

/* Indices count scores in the roundoff of out, where that is given. */
static const tensor_format *format_of(const attest_problem *problem, int output) {
  const attest_tensor *t = &problem->output[output == OUTPUT_INDICES ? OUTPUT_OUT : output];
  return tensor_dtype_format(t->data ? t->dtype : ATTEST_FLOAT32);
}

/* The outputs of one subject. */
static attest_status add_subject(engine *e, const certify_subject *subjects, size_t index,
                                 attest_error *error) {
  const certify_subject *s = &subjects[index];
  attest_status status = check_bounds_apply(s, error);
  for (int i = 0; i < OUTPUT_COUNT && !status; i++) {
    if (!s->problem->output[i].data) continue;
    engine_output *o = &e->outputs[e->output_count];
    o->subject = s;
    o->subject_index = index;
    o->output = i;
    o->width = problem_output_width(e->problem, i);
    o->format = format_of(s->problem, i);
    if (!o->format)
      return attest_fail(error, ATTEST_ERR_INPUT, "output %s has dtype %s: a float is wanted",
                         problem_output_names[i], tensor_dtype_name(s->problem->output[i].dtype));
    omp_init_lock(&o->lock);
    e->output_count++;
    status = set_output(e, o, error);
    if (!status && !(o->pending = calloc(ENGINE_PENDING_MAX, sizeof *o->pending)))
      status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  }
  return status;
}

int64_t engine_elements(const engine *e, const engine_output *o) {
  int64_t elements = 0;
  for (int64_t i = 0; i < problem_slice_count(e->problem); i++) {
    problem_slice slice;
    problem_slice_get(&slice, e->problem, i);
    elements += problem_output_rows(e->problem, &slice, o->output) * o->width;
  }
  return elements;
}

int64_t engine_planned(const engine *e, const engine_output *o) {
  if (o->output == OUTPUT_FINAL_STATE || e->sampled_rows == e->row_count)
    return engine_elements(e, o);
  return e->sampled_rows * o->width;
}

attest_status engine_outputs(engine *e, const certify_subject *subjects, size_t count,
                             attest_error *error) {
  e->outputs = calloc(count * OUTPUT_COUNT, sizeof *e->outputs);
  e->machines = calloc(count, sizeof *e->machines);
  if (!e->outputs || !e->machines) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  attest_status status =
      certify_bounds_add(&e->defaults[0], certify_default_bound(ATTEST_FLOAT16), error);
  if (!status)
    status = certify_bounds_add(&e->defaults[1], certify_default_bound(ATTEST_FLOAT32), error);
  for (size_t i = 0; i < count && !status; i++)
    status = add_subject(e, subjects, i, error);
  for (size_t i = 0; i < e->output_count && !status && !e->options->allow_empty; i++)
    if (engine_elements(e, &e->outputs[i]) == 0)
      status = attest_fail(error, ATTEST_ERR_INPUT,
                           "output %s has no elements, so nothing would be certified: pass "
                           "--allow-empty to attest check if that is meant",
                           problem_output_names[e->outputs[i].output]);
  return status;
}
