/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* From options to a resolved problem: parameters set, tensor files mapped. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "options.h"

/* Keeps the tensor's file and gives the tensor to the problem as input or output `name`. */
static attest_status add_tensor(verb_problem *p, const char *name, const char *spec,
                                tensor_file *file, const attest_tensor *tensor,
                                attest_error *error) {
  verb_tensor *entry = &p->tensors[p->tensor_count++];
  entry->file = file;
  entry->index = problem_output_find(name);
  entry->is_output = entry->index >= 0;
  if (!entry->is_output) entry->index = problem_input_find(name);
  entry->name =
      entry->is_output ? problem_output_names[entry->index] : problem_input_names[entry->index];
  if (!(entry->spec = strdup(spec))) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  return entry->is_output ? attest_problem_output(p->problem, name, tensor, error)
                          : attest_problem_input(p->problem, name, tensor, error);
}

static attest_status parse_shape(attest_tensor *like, const char *text, attest_error *error) {
  like->ndim = 0;
  for (const char *at = text;;) {
    char *end;
    errno = 0;
    long long n = strtoll(at, &end, 10);
    if (errno || end == at || n < 0 || like->ndim == ATTEST_MAX_DIMS || (*end && *end != ','))
      return attest_fail(error, ATTEST_ERR_INPUT,
                         "--shape %s: up to %d whole numbers are wanted, as in 2,9,8", text,
                         ATTEST_MAX_DIMS);
    like->shape[like->ndim++] = n;
    if (!*end) return ATTEST_OK;
    at = end + 1;
  }
}

/* The shape behind "NAME:", the whole text without a name; NULL: no tensor has that name. */
static const char *shape_of(char name[32], const char *text) {
  const char *colon = strchr(text, ':');
  if (!colon) {
    name[0] = 0;
    return text;
  }
  snprintf(name, 32, "%.*s", (int)(colon - text), text);
  return problem_input_find(name) < 0 && problem_output_find(name) < 0 ? NULL : colon + 1;
}

/* --shape and --dtype: what tensor `name` is in a file without a header, by the --shape that names
 * it or the one that names none (of lse, one axis less); ndim -1 without either. */
static attest_status parse_raw(attest_tensor *like, const char *name, const verb_options *options,
                               attest_error *error) {
  const char *text, *shape, *general = NULL, *dtype = verb_option(options, "dtype");
  int named = 0;
  *like = (attest_tensor){.ndim = -1};
  for (size_t i = 0; (text = verb_option_nth(options, "shape", i)); i++) {
    char owner[32];
    attest_tensor read = {.ndim = 0};
    if (!dtype || tensor_dtype_parse(&read.dtype, dtype))
      return attest_fail(error, ATTEST_ERR_INPUT,
                         "--shape needs --dtype: float16, bfloat16, float32 or float64");
    if (!(shape = shape_of(owner, text)))
      return attest_fail(error, ATTEST_ERR_INPUT,
                         "--shape %s: no tensor has that name; q:2,9,8 is the shape of q", text);
    attest_status status = parse_shape(&read, shape, error);
    if (status) return status;
    if (!owner[0] && general)
      return attest_fail(error, ATTEST_ERR_INPUT,
                         "--shape %s and --shape %s: name the tensor of one, as in k:%s", general,
                         text, text);
    if (!owner[0]) general = text;
    if (!owner[0] && !named && problem_output_find(name) == OUTPUT_LSE && read.ndim > 0)
      read.ndim--;
    if (!strcmp(owner, name) || (!owner[0] && !named)) *like = read;
    named |= !strcmp(owner, name);
  }
  return ATTEST_OK;
}

/* Whether a file has as many bytes as a tensor: what has a header has more. */
static int has_size_of(const char *path, const attest_tensor *t) {
  struct stat info;
  double bytes = (double)tensor_dtype_size(t->dtype);
  for (int i = 0; i < t->ndim; i++)
    bytes *= (double)t->shape[i];
  return stat(path, &info) == 0 && (double)info.st_size == bytes;
}

static attest_status add_flag(verb_problem *p, const char *name, const char *spec, unsigned flags,
                              const verb_options *options, attest_error *error) {
  tensor_file *file;
  attest_tensor tensor, like;
  attest_status status = parse_raw(&like, name, options, error);
  if (!status && like.ndim > 0 && has_size_of(spec, &like)) {
    p->has_raw = 1;
    status = tensor_file_open_raw(&file, spec, &like, error);
    return status ? status : add_tensor(p, name, spec, file, tensor_file_tensor(file, 0), error);
  }
  if (!status) status = tensor_open(&file, &tensor, spec, name, flags, error);
  return status ? status : add_tensor(p, name, spec, file, &tensor, error);
}

static int is_given(const verb_problem *p, const char *name) {
  for (size_t i = 0; i < p->tensor_count; i++)
    if (!strcmp(p->tensors[i].name, name)) return 1;
  return 0;
}

/* The tensors of --input that no flag of their own has given; the first of them owns the file. */
static attest_status add_dump(verb_problem *p, const char *path, unsigned accepts, unsigned flags,
                              attest_error *error) {
  tensor_file *file;
  int owned = 0;
  attest_status status = tensor_file_open(&file, path, flags, error);
  for (int i = 0; i < INPUT_COUNT + OUTPUT_COUNT && !status; i++) {
    int is_output = i >= INPUT_COUNT;
    const char *name = is_output ? problem_output_names[i - INPUT_COUNT] : problem_input_names[i];
    if (is_given(p, name) || (is_output && !(accepts & VERB_OUTPUTS))) continue;
    const attest_tensor *tensor = tensor_file_find(file, name);
    if (!tensor) continue;
    p->tensors[p->tensor_count].borrowed = owned;
    owned = 1;
    status = add_tensor(p, name, path, file, tensor, error);
  }
  if (!owned) tensor_file_close(file);
  return status;
}

static attest_status fill(verb_problem *p, const verb_options *options, attest_error *error) {
  unsigned flags = verb_option(options, "bf16") ? TENSOR_BF16 : 0;
  attest_status status = ATTEST_OK;
  for (size_t i = 0; i < options->setting_count && !status; i++) {
    const verb_setting *s = &options->settings[i];
    if (s->param && s->param->kind == PARAM_VALUE)
      status = attest_problem_set(p->problem, s->spelled, s->value, error);
    else if (problem_input_find(s->name) >= 0 || problem_output_find(s->name) >= 0)
      status = add_flag(p, s->name, s->value, flags, options, error);
  }
  if (!status && verb_option(options, "shape") && !p->has_raw)
    fprintf(stderr, "attest: --shape has no effect here: no file has its size in bytes\n");
  const char *dump = verb_option(options, "input");
  if (!status && dump) status = add_dump(p, dump, options->definition->accepts, flags, error);
  return status ? status : problem_resolve(p->problem, error);
}

attest_status verb_problem_open(verb_problem *p, const verb_options *options, attest_error *error) {
  memset(p, 0, sizeof *p);
  p->tensors = calloc(INPUT_COUNT + OUTPUT_COUNT, sizeof *p->tensors);
  if (!p->tensors) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  p->problem = attest_problem_new(options->operands[0], error);
  attest_status status = p->problem ? fill(p, options, error) : error->status;
  if (status) verb_problem_close(p);
  return status;
}

void verb_problem_close(verb_problem *p) {
  attest_problem_free(p->problem);
  for (size_t i = 0; i < p->tensor_count; i++) {
    if (!p->tensors[i].borrowed) tensor_file_close(p->tensors[i].file);
    free(p->tensors[i].spec);
  }
  free(p->tensors);
  memset(p, 0, sizeof *p);
}
