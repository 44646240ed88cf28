/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Everything found, to the certificate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

attest_verdict certify_worse(attest_verdict a, attest_verdict b) {
  if (a == ATTEST_REFUTED || b == ATTEST_REFUTED) return ATTEST_REFUTED;
  return a == ATTEST_UNDECIDED || b == ATTEST_UNDECIDED ? ATTEST_UNDECIDED : ATTEST_CERTIFIED;
}

attest_verdict certify_case_verdict(const certify_case *c) {
  attest_verdict verdict = ATTEST_CERTIFIED;
  for (size_t i = 0; i < c->subject_count; i++) {
    if (c->subjects[i].outcome == CERTIFY_FAILED) verdict = ATTEST_REFUTED;
    for (size_t k = 0; k < c->subjects[i].output_count; k++)
      verdict = certify_worse(verdict, c->subjects[i].outputs[k].verdict);
  }
  return verdict;
}

attest_verdict certify_case_outcome(const certify_case *c) {
  attest_verdict verdict = certify_case_verdict(c);
  if (!c->has_expected) return verdict;
  for (size_t i = 0; i < c->subject_count; i++)
    if (c->subjects[i].outcome == CERTIFY_SKIPPED) return verdict;
  if (verdict == c->expected) return ATTEST_CERTIFIED;
  return verdict == ATTEST_CERTIFIED ? ATTEST_REFUTED : verdict;
}

void certify_case_clear(certify_case *c) {
  for (size_t i = 0; i < c->subject_count; i++) {
    certify_subject_result *s = &c->subjects[i];
    for (size_t k = 0; k < s->output_count; k++) {
      for (size_t b = 0; b < s->outputs[k].bound_count; b++)
        free(s->outputs[k].bounds[b].text);
      free(s->outputs[k].bounds);
    }
    free(s->name);
    free(s->reason);
    free(s->detail);
  }
  for (size_t i = 0; i < c->param_count; i++) {
    free(c->param_names[i]);
    free(c->param_texts[i]);
  }
  for (size_t i = 0; i < c->input_count; i++) {
    free(c->inputs[i].name);
    free(c->inputs[i].file);
  }
  for (size_t i = 0; i < c->diagnosis_count; i++)
    free(c->diagnosis[i]);
  free(c->diagnosis);
  free(c->subjects);
  free(c->param_names);
  free(c->param_texts);
  free(c->inputs);
  free(c->kernel);
  free(c->name);
  free(c->theorem);
  free(c->replay);
  memset(c, 0, sizeof *c);
}

/* ---- inputs ---- */

/* Digest of the elements of a tensor in C order. */
static attest_status digest(char hex[65], const attest_tensor *t, attest_error *error) {
  size_t size = (size_t)tensor_elements(t) * tensor_dtype_size(t->dtype);
  attest_tensor flat = tensor_collapse(t);
  if (flat.ndim == 1 && flat.stride[0] == 1 && !t->byteswapped) {
    tensor_sha256(hex, t->data, size);
    return ATTEST_OK;
  }
  unsigned char *bytes = malloc(size + 1);
  if (!bytes) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  tensor_copy(bytes, t);
  tensor_sha256(hex, bytes, size);
  free(bytes);
  return ATTEST_OK;
}

attest_status certify_case_input(certify_case *c, const char *name, const tensor_file *file,
                                 const attest_tensor *tensor, attest_error *error) {
  certify_input *inputs = realloc(c->inputs, (c->input_count + 1) * sizeof *inputs);
  if (!inputs) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  c->inputs = inputs;
  certify_input *input = &inputs[c->input_count++];
  *input =
      (certify_input){.name = strdup(name), .file = file ? strdup(tensor_file_path(file)) : NULL};
  if (!input->name || (file && !input->file))
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  return file && (!tensor || tensor_file_count(file) == 1)
             ? tensor_file_sha256(input->sha256, file, error)
             : digest(input->sha256, tensor, error);
}

void certify_case_move_inputs(certify_case *c, certify_case *from) {
  c->input_count = from->input_count;
  c->inputs = from->inputs;
  from->input_count = 0;
  from->inputs = NULL;
}

/* ---- the worst element ---- */

/* The exact value of an element between two doubles, neighbours where balls allow that. */
static attest_status exact_value(certify_output *r, const engine *e, const engine_output *o,
                                 const engine_best *best, attest_error *error) {
  problem_slice slice;
  room_balls balls;
  attest_status status;
  if (best->is_given) {
    r->worst_lo = best->x_lo;
    r->worst_hi = best->x_hi;
    return ATTEST_OK;
  }
  problem_slice_get(&slice, o->subject->problem, best->slice);
  room_balls_init(&balls, o->width);
  slong prec = enclosure_ladder[TIER_BALL].precision;
  do {
    status = e->room->ball(&balls, o->subject->problem, &slice, best->row, o->output,
                           room_want(o->output), prec, error);
    if (status) break;
    switch ((measure_class)balls.class[best->component]) {
    case EXACT_FINITE:
      r->worst_lo = enclosure_lower(balls.x + best->component);
      r->worst_hi = enclosure_upper(balls.x + best->component);
      break;
    case EXACT_NAN:
      r->worst_lo = r->worst_hi = NAN;
      break;
    default:
      r->worst_lo = r->worst_hi =
          balls.class[best->component] == EXACT_PLUS_INF ? INFINITY : -INFINITY;
    }
    prec *= 2;
  } while (r->worst_hi > nextafter(r->worst_lo, INFINITY) && prec <= e->precision_max);
  room_balls_clear(&balls);
  return status;
}

static void index_of(int64_t index[], const engine_output *o, const engine_best *best) {
  problem_slice slice;
  problem_slice_get(&slice, o->subject->problem, best->slice);
  problem_output_index(index, o->subject->problem, &slice, o->output, best->row, best->component);
}

static attest_status set_worst(certify_output *r, const engine *e, const engine_output *o,
                               attest_error *error) {
  measure_kind measure = r->bound_count ? r->bounds[r->decisive].measure : MEASURE_ABS;
  const engine_best *best = &o->best[measure == MEASURE_NMSE ? MEASURE_ABS : measure];
  if (!best->found) return ATTEST_OK;
  r->has_worst = 1;
  index_of(r->worst_index, o, best);
  r->worst_got = best->got;
  return exact_value(r, e, o, best, error);
}

/* ---- one output ---- */

static void set_errors(certify_output *r, const engine_output *o) {
  for (int m = 0; m < MEASURE_COUNT; m++) {
    const engine_best *best = &o->best[m];
    if (m == MEASURE_NMSE || !best->found) continue;
    certify_error *error = &r->error[m];
    error->measured = error->has_index = 1;
    error->lo = best->lo;
    error->hi = best->figure;
    index_of(error->index, o, best);
  }
  if (o->moments && r->compared == r->elements) {
    double hi = measure_canonical(o->nmse.hi);
    r->error[MEASURE_NMSE] = (certify_error){.measured = 1, .hi = hi};
    r->error[MEASURE_NMSE].lo = measure_canonical(o->nmse.lo) == hi ? engine_grid_below(hi) : 0;
  }
}

static attest_verdict bound_verdict(const certify_output *r, const engine_output *o, size_t i) {
  uint32_t bit = UINT32_C(1) << i;
  int partial = r->compared < r->planned;
  if (o->bounds[i]->measure == MEASURE_NMSE) {
    if (r->compared < r->elements || (o->nmse.lo <= o->limit[i] && o->nmse.hi > o->limit[i]))
      return ATTEST_UNDECIDED;
    return o->nmse.hi <= o->limit[i] ? ATTEST_CERTIFIED : ATTEST_REFUTED;
  }
  if (atomic_load(&o->failed_bounds) & bit) return ATTEST_REFUTED;
  return partial || atomic_load(&o->open_bounds) & bit ? ATTEST_UNDECIDED : ATTEST_CERTIFIED;
}

static attest_status set_bounds(certify_output *r, const engine_output *o, attest_error *error) {
  r->bounds = calloc(o->bound_count, sizeof *r->bounds);
  if (!r->bounds) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  r->verdict = ATTEST_CERTIFIED;
  for (size_t i = 0; i < o->bound_count; i++) {
    certify_bound_verdict *b = &r->bounds[r->bound_count++];
    *b = (certify_bound_verdict){strdup(o->bounds[i]->text), o->bounds[i]->measure,
                                 bound_verdict(r, o, i)};
    if (!b->text) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
    attest_verdict worse = certify_worse(r->verdict, b->verdict);
    if (worse != r->verdict) r->decisive = i;
    r->verdict = worse;
  }
  return ATTEST_OK;
}

static attest_status set_output(certify_output *r, const engine *e, const engine_output *o,
                                attest_error *error) {
  const attest_tensor *t = &o->subject->problem->output[o->output];
  *r = (certify_output){.output = o->output,
                        .dtype = t->dtype,
                        .ndim = t->ndim,
                        .elements = engine_elements(e, o),
                        .planned = engine_planned(e, o),
                        .compared = atomic_load(&o->compared),
                        .certified = atomic_load(&o->certified),
                        .refuted = atomic_load(&o->refuted),
                        .undecided = atomic_load(&o->undecided),
                        .ill_posed = atomic_load(&o->ill_posed),
                        .account = o->output == OUTPUT_OUT && o->subject->account
                                       ? *o->subject->account
                                       : (room_account){0},
                        .roundoff_weights = o->u_w,
                        .roundoff_scores = o->u_s,
                        .why = atomic_load(&o->why),
                        .has_explicit = atomic_load(&o->has_explicit)};
  for (int i = 0; i < TIER_COUNT; i++)
    r->tiers[i] = atomic_load(&o->tiers[i]);
  if (atomic_load(&e->stop)) r->why |= WHY_INTERRUPTED;
  set_errors(r, o);
  attest_status status = set_bounds(r, o, error);
  return status ? status : set_worst(r, e, o, error);
}

/* ---- the case ---- */

static attest_status set_params(certify_case *c, const attest_problem *problem,
                                attest_error *error) {
  size_t count = problem_params_in_force(NULL, NULL, problem);
  const char **names = calloc(count + 1, sizeof *names), **texts = calloc(count + 1, sizeof *texts);
  c->param_names = calloc(count + 1, sizeof *c->param_names);
  c->param_texts = calloc(count + 1, sizeof *c->param_texts);
  int complete = names && texts && c->param_names && c->param_texts;
  if (complete) problem_params_in_force(names, texts, problem);
  for (size_t i = 0; i < count && complete; i++) {
    c->param_names[i] = strdup(names[i]);
    c->param_texts[i] = strdup(texts[i]);
    complete = c->param_names[i] && c->param_texts[i];
    c->param_count++;
  }
  free(names);
  free(texts);
  return complete ? ATTEST_OK : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
}

static attest_status set_names(certify_case *c, const attest_problem *problem, const char *name,
                               const char *theorem, const certify_subject *subjects, size_t count,
                               attest_error *error) {
  c->kernel = strdup(problem->kernel->name);
  c->name = strdup(name);
  c->theorem = strdup(theorem);
  c->subjects = calloc(count, sizeof *c->subjects);
  int complete = c->kernel && c->name && c->theorem && c->subjects;
  for (size_t i = 0; i < count && complete; i++) {
    c->subject_count++;
    if (subjects[i].name) complete = (c->subjects[i].name = strdup(subjects[i].name)) != NULL;
  }
  return complete ? ATTEST_OK : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
}

attest_status certify_no_output(certify_case *result, const attest_problem *problem,
                                const char *subject, certify_outcome outcome, const char *reason,
                                const char *detail, const certify_options *options,
                                attest_error *error) {
  const certify_subject named = {.name = subject};
  memset(result, 0, sizeof *result);
  attest_status status = set_names(result, problem, options->name, "none", &named, 1, error);
  if (!status) status = set_params(result, problem, error);
  if (status) return status;
  result->threads = omp_get_max_threads();
  result->subjects[0].outcome = outcome;
  result->subjects[0].reason = strdup(reason);
  result->subjects[0].detail = strdup(detail);
  return result->subjects[0].reason && result->subjects[0].detail
             ? ATTEST_OK
             : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
}

attest_status engine_result(certify_case *result, engine *e, const certify_subject *subjects,
                            size_t count, attest_error *error) {
  attest_status status =
      set_names(result, e->problem, e->options->name, e->room->theorem, subjects, count, error);
  if (!status) status = set_params(result, e->problem, error);
  for (size_t i = 0; i < e->output_count && !status; i++) {
    const engine_output *o = &e->outputs[i];
    certify_subject_result *s = &result->subjects[o->subject_index];
    status = set_output(&s->outputs[s->output_count++], e, o, error);
  }
  result->threads = omp_get_max_threads();
  result->interrupted = atomic_load(&e->stop);
  return status;
}
