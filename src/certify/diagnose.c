/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "diagnose.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Readings are tried on so many rows first, and in full where those certify. */
enum { ROWS_FIRST = 48 };
#define PAIRS_MAX (INT64_C(1) << 30)
#define COPY_MAX (INT64_C(1) << 26) /* elements */

attest_status diagnose_note(certify_case *result, attest_error *error, const char *format, ...) {
  char **longer = realloc(result->diagnosis, (result->diagnosis_count + 1) * sizeof *longer);
  va_list arguments;
  char *text = NULL;
  if (!longer) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  result->diagnosis = longer;
  va_start(arguments, format);
  int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (length < 0) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  longer[result->diagnosis_count++] = text;
  return ATTEST_OK;
}

/* ---- another reading of a problem ---- */

typedef struct {
  const char *param, *value; /* in place of the one given; value NULL: left out; param NULL: none */
  const attest_tensor *input[INPUT_COUNT]; /* in place of the ones given; NULL: as they are */
  const attest_tensor *out;
} reading;

static attest_status build(attest_problem **problem, const attest_problem *from, const reading *r,
                           attest_error *error) {
  *problem = attest_problem_new(from->kernel->name, error);
  if (!*problem) return error->status;
  attest_status status = ATTEST_OK;
  for (size_t i = 0; i < problem_param_count && !status; i++)
    if (from->texts[i] && (!r->param || strcmp(problem_params[i].name, r->param)))
      status = attest_problem_set(*problem, problem_params[i].name, from->texts[i], error);
  if (!status && r->param && r->value)
    status = attest_problem_set(*problem, r->param, r->value, error);
  for (int i = 0; i < INPUT_COUNT && !status; i++)
    if (from->input[i].data)
      status = attest_problem_input(*problem, problem_input_names[i],
                                    r->input[i] ? r->input[i] : &from->input[i], error);
  if (!status)
    status =
        attest_problem_output(*problem, "out", r->out ? r->out : &from->output[OUTPUT_OUT], error);
  return status ? status : problem_resolve(*problem, error);
}

typedef struct {
  certify_case *result;
  const certify_subject *subject;
  certify_bounds bounds; /* those of out; borrowed */
  certify_options options;
  attest_error *error;
} doctor;

static attest_verdict verdict_of(const doctor *d, const attest_problem *problem, int64_t rows) {
  certify_case tried;
  certify_subject subject = {
      .problem = problem, .bounds = &d->bounds, .machine = d->subject->machine};
  certify_options options = d->options;
  attest_error ignored;
  options.rows = rows;
  attest_verdict verdict = ATTEST_UNDECIDED;
  if (!certify_run(&tried, &subject, 1, &options, &ignored)) verdict = certify_case_verdict(&tried);
  certify_case_clear(&tried);
  return verdict;
}

/* Notes the reading where the output certifies under it. What cannot be built is no reading. */
static attest_status try(const doctor *d, const reading *r, const char *what) {
  attest_problem *problem;
  attest_error ignored;
  attest_status status = build(&problem, d->subject->problem, r, &ignored);
  int certifies = !status && verdict_of(d, problem, ROWS_FIRST) == ATTEST_CERTIFIED &&
                  verdict_of(d, problem, 0) == ATTEST_CERTIFIED;
  attest_problem_free(problem);
  if (status == ATTEST_ERR_MEMORY) return attest_fail(d->error, ATTEST_ERR_MEMORY, "out of memory");
  return certifies ? diagnose_note(d->result, d->error, "it certifies %s", what) : ATTEST_OK;
}

/* ---- parameters ---- */

static attest_status try_params(const doctor *d) {
  const attest_problem *p = d->subject->problem;
  problem_causal causal = p->values.causal;
  static const char *const words[] = {"none", "top-left", "bottom-right"};
  static const char *const whats[] = {"without the causal mask", "with causal top-left",
                                      "with causal bottom-right"};
  attest_status status = ATTEST_OK;
  for (int i = 0; i < 3 && !status; i++) {
    int same = (problem_causal)i == causal || (i && causal != CAUSAL_NONE && p->nq == p->nk) ||
               (i == 2 && causal == CAUSAL_NONE && p->nq == p->nk);
    if (!same) status = try(d, &(reading){.param = "causal", .value = words[i]}, whats[i]);
  }
  const problem_param *scale = problem_param_find("scale", NULL);
  if (!status && problem_kernel_takes(p->kernel, scale)) {
    char text[64];
    status = try(d, &(reading){.param = "scale", .value = "1"}, "with scale 1");
    if (!status) status = try(d, &(reading){.param = "scale"}, "with the default scale 1/sqrt(d)");
    snprintf(text, sizeof text, "1/%lld", (long long)p->d);
    if (!status) status = try(d, &(reading){.param = "scale", .value = text}, "with scale 1/d");
  }
  return status;
}

/* ---- the storage of out ---- */

/* The same memory read as if the axes a and b had been stored in the other order. */
static attest_status try_order(const doctor *d, int a, int b, const char *what) {
  const attest_tensor *out = &d->subject->problem->output[OUTPUT_OUT];
  attest_tensor view = *out, flat = tensor_collapse(out);
  int64_t stride = 1;
  /* Only contiguous storage can be read in another order. */
  if (a < 0 || b < 0 || a == b || flat.ndim != 1 || flat.stride[0] != 1) return ATTEST_OK;
  for (int i = out->ndim - 1; i >= 0; i--) {
    int axis = i == a ? b : i == b ? a : i;
    view.stride[axis] = stride;
    stride *= out->shape[axis];
  }
  return try(d, &(reading){.out = &view}, what);
}

static attest_status try_orders(const doctor *d) {
  const attest_problem *p = d->subject->problem;
  const char *names[64], *texts[64], *letters = "";
  size_t count = problem_params_in_force(names, texts, p);
  for (size_t i = 0; i < count; i++)
    if (!strcmp(names[i], "out-layout")) letters = texts[i];
  const char *head = strchr(letters, 'h'), *row = strpbrk(letters, "nst");
  const char *component = strrchr(letters, 'd');
  if (!row || !component) return ATTEST_OK;
  int h = head ? (int)(head - letters) : -1, n = (int)(row - letters),
      c = (int)(component - letters);
  attest_status status =
      try_order(d, n, c, "if out is transposed: positions and components are swapped in memory");
  return status ? status
                : try_order(d, h, n, "if heads and positions of out are swapped in memory");
}

/* ---- copies of inputs ---- */

/* A contiguous copy of `t`; data NULL when it is too large or memory is short. */
static attest_tensor copy_of(const attest_tensor *t, const int64_t shape[]) {
  attest_tensor copy = attest_tensor_of(NULL, t->dtype, t->ndim, shape);
  if (tensor_elements(&copy) <= COPY_MAX)
    copy.data = calloc((size_t)tensor_elements(&copy) + 1, tensor_dtype_size(t->dtype));
  return copy;
}

/* copy[i] = t[source(i)] along one axis. */
static void copy_along(attest_tensor *copy, const attest_tensor *t, int axis,
                       int64_t (*source)(int64_t, int64_t), int64_t n) {
  int64_t elements = tensor_elements(copy);
  for (int64_t flat = 0; flat < elements; flat++) {
    int64_t rest = flat, offset = 0;
    for (int a = copy->ndim - 1; a >= 0; a--) {
      int64_t i = rest % copy->shape[a];
      rest /= copy->shape[a];
      offset += (a == axis ? source(i, n) : i) * t->stride[a];
    }
    tensor_store(copy, flat, tensor_at(t, offset));
  }
}

static int64_t next_of(int64_t i, int64_t n) {
  return (i + 1) % n;
}
static int64_t previous_of(int64_t i, int64_t n) {
  return (i + n - 1) % n;
}
static int64_t modulo(int64_t i, int64_t n) {
  return i % n;
}

static int axis_of(const attest_problem *p, char first, char second) {
  const char *letters = problem_layout_letters(p, p->input[INPUT_K].ndim);
  const char *found = strchr(letters, first);
  if (!found && second) found = strchr(letters, second);
  return found ? (int)(found - letters) : -1;
}

static attest_status try_shifts(const doctor *d) {
  const attest_problem *p = d->subject->problem;
  const attest_tensor *k = &p->input[INPUT_K];
  int axis = axis_of(p, 'n', 's');
  if (axis < 0 || k->shape[axis] < 2) return ATTEST_OK;
  attest_status status = ATTEST_OK;
  for (int back = 0; back < 2 && !status; back++) {
    attest_tensor copy = copy_of(k, k->shape);
    if (!copy.data) return ATTEST_OK;
    copy_along(&copy, k, axis, back ? previous_of : next_of, k->shape[axis]);
    status = try(d, &(reading){.input[INPUT_K] = &copy},
                 back ? "with keys shifted by one: value j meets key j - 1"
                      : "with keys shifted by one: value j meets key j + 1");
    free(copy.data);
  }
  return status;
}

static attest_status try_heads(const doctor *d) {
  const attest_problem *p = d->subject->problem;
  int axis = axis_of(p, 'h', 0);
  if (axis < 0 || p->heads_k < 2 || p->heads_q == p->heads_k) return ATTEST_OK;
  attest_tensor copies[2] = {{0}, {0}};
  for (int i = 0; i < 2; i++) {
    const attest_tensor *t = &p->input[INPUT_K + i];
    int64_t shape[ATTEST_MAX_DIMS];
    memcpy(shape, t->shape, sizeof shape);
    shape[axis] = p->heads_q;
    copies[i] = copy_of(t, shape);
    if (copies[i].data) copy_along(&copies[i], t, axis, modulo, p->heads_k);
  }
  attest_status status = ATTEST_OK;
  if (copies[0].data && copies[1].data)
    status = try(d, &(reading){.input[INPUT_K] = &copies[0], .input[INPUT_V] = &copies[1]},
                 "with interleaved heads: query head h reads key head h mod Hkv");
  free(copies[0].data);
  free(copies[1].data);
  return status;
}

static attest_status try_mask(const doctor *d) {
  const attest_tensor *mask = &d->subject->problem->input[INPUT_MASK];
  if (!mask->data) return ATTEST_OK;
  attest_tensor copy = copy_of(mask, mask->shape);
  if (!copy.data) return ATTEST_OK;
  tensor_copy(copy.data, mask);
  unsigned char *bytes = copy.data;
  for (int64_t i = 0; i < tensor_elements(&copy); i++)
    bytes[i] = !bytes[i];
  attest_status status =
      try(d, &(reading){.input[INPUT_MASK] = &copy}, "with the mask inverted (true = hide)");
  free(copy.data);
  return status;
}

/* ---- the whole ---- */

/* The bounds of out, without those of other outputs. */
static attest_status bounds_of_out(doctor *d) {
  const certify_bounds *all = d->subject->bounds;
  d->bounds.items = calloc(all->count + 1, sizeof *all->items);
  if (!d->bounds.items) return attest_fail(d->error, ATTEST_ERR_MEMORY, "out of memory");
  for (size_t i = 0; i < all->count; i++)
    if (all->items[i].output < 0 || all->items[i].output == OUTPUT_OUT)
      d->bounds.items[d->bounds.count++] = all->items[i];
  return ATTEST_OK;
}

static int is_out_refuted(const certify_case *result) {
  for (size_t i = 0; i < result->subject_count; i++)
    for (size_t k = 0; k < result->subjects[i].output_count; k++) {
      const certify_output *o = &result->subjects[i].outputs[k];
      if (o->output == OUTPUT_OUT && o->verdict == ATTEST_REFUTED) return 1;
    }
  return 0;
}

attest_status certify_diagnose(certify_case *result, const certify_subject *subject,
                               const certify_options *options, attest_error *error) {
  static attest_status (*const readings[])(const doctor *) = {try_params, try_orders, try_shifts,
                                                              try_heads, try_mask};
  doctor d = {.result = result, .subject = subject, .options = *options, .error = error};
  if (!is_out_refuted(result) || certify_pairs(subject->problem) > PAIRS_MAX) return ATTEST_OK;
  d.options.step = NULL;
  d.options.name = "diagnosis";
  attest_status status = bounds_of_out(&d);
  for (size_t i = 0; i < sizeof readings / sizeof *readings && !status; i++)
    if (!options->interrupted || !*options->interrupted) status = readings[i](&d);
  free(d.bounds.items);
  return status ? status : diagnose_rows(result, subject, error);
}
