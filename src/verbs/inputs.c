/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* From options to a resolved problem: parameters set, tensor files mapped. */
#include <stdlib.h>
#include <string.h>

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

static attest_status add_flag(verb_problem *p, const char *name, const char *spec, unsigned flags,
                              attest_error *error) {
  tensor_file *file;
  attest_tensor tensor;
  attest_status status = tensor_open(&file, &tensor, spec, name, flags, error);
  return status ? status : add_tensor(p, name, spec, file, &tensor, error);
}

static int is_given(const verb_problem *p, const char *name) {
  for (size_t i = 0; i < p->tensor_count; i++)
    if (!strcmp(p->tensors[i].name, name)) return 1;
  return 0;
}

/* The tensors of --input that no flag of their own has given. */
static attest_status add_dump(verb_problem *p, const char *path, unsigned accepts, unsigned flags,
                              attest_error *error) {
  for (int i = 0; i < INPUT_COUNT + OUTPUT_COUNT; i++) {
    int is_output = i >= INPUT_COUNT;
    const char *name = is_output ? problem_output_names[i - INPUT_COUNT] : problem_input_names[i];
    if (is_given(p, name) || (is_output && !(accepts & VERB_OUTPUTS))) continue;
    tensor_file *file;
    attest_status status = tensor_file_open(&file, path, flags, error);
    if (status) return status;
    const attest_tensor *tensor = tensor_file_find(file, name);
    if (!tensor) {
      tensor_file_close(file);
      continue;
    }
    if ((status = add_tensor(p, name, path, file, tensor, error))) return status;
  }
  return ATTEST_OK;
}

static attest_status fill(verb_problem *p, const verb_options *options, attest_error *error) {
  unsigned flags = verb_option(options, "bf16") ? TENSOR_BF16 : 0;
  attest_status status = ATTEST_OK;
  for (size_t i = 0; i < options->setting_count && !status; i++) {
    const verb_setting *s = &options->settings[i];
    if (s->param && s->param->kind == PARAM_VALUE)
      status = attest_problem_set(p->problem, s->spelled, s->value, error);
    else if (problem_input_find(s->name) >= 0 || problem_output_find(s->name) >= 0)
      status = add_flag(p, s->name, s->value, flags, error);
  }
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
    tensor_file_close(p->tensors[i].file);
    free(p->tensors[i].spec);
  }
  free(p->tensors);
  memset(p, 0, sizeof *p);
}
