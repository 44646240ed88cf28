/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The help text and problem.json, both from the table. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "internal.h"

/* ---- help ------------------------------------------------------------------------------------ */

/* The words of a paragraph, indented, in lines of at most 90 columns. */
static void add_wrapped(problem_text *text, const char *paragraph) {
  size_t column = 0;
  for (const char *s = paragraph; *s;) {
    size_t n = strcspn(s, " ");
    int wraps = column == 0 || column + 1 + n > 90;
    problem_text_add(text, "%s%s%.*s", column && wraps ? "\n" : "", wraps ? "      " : " ", (int)n,
                     s);
    column = wraps ? 6 + n : column + 1 + n;
    s += n + (s[n] == ' ');
  }
  problem_text_add(text, "\n");
}

static void add_aliases(problem_text *text, const problem_param *param) {
  for (int i = 0; *param->aliases; i++) {
    char *alias = problem_word_at(param->aliases, ' ', i);
    if (!alias) break;
    problem_text_add(text, "%s--%s", i ? ", " : "; also ", alias);
    free(alias);
  }
}

char *problem_help(const problem_kernel *kernel) {
  problem_text text = {0};
  for (size_t i = 0; i < problem_param_count; i++) {
    const problem_param *param = &problem_params[i];
    if (kernel && !problem_kernel_takes(kernel, param)) continue;
    size_t n = 0;
    const char *values = kernel ? problem_kernel_values(&n, kernel, param) : NULL;
    if (!values) {
      values = param->syntax;
      n = strlen(values);
    }
    problem_text_add(&text, "  --%s %s%.*s%s\n", param->name, param->bare ? "[" : "", (int)n,
                     values, param->bare ? "]" : "");
    problem_text about = {0};
    problem_text_add(&about, "%s", param->help);
    if (*param->initial && !(kernel && problem_kernel_fixes(kernel, param)))
      problem_text_add(&about, " (default %s)", param->initial);
    add_aliases(&about, param);
    char *paragraph = problem_text_take(&about);
    text.failed |= !paragraph;
    if (paragraph) add_wrapped(&text, paragraph);
    free(paragraph);
  }
  return problem_text_take(&text);
}

/* ---- problem.json ---------------------------------------------------------------------------- */

static json_t *shape_json(int ndim, const int64_t shape[]) {
  json_t *array = json_array();
  for (int i = 0; i < ndim; i++)
    json_array_append_new(array, json_integer(shape[i]));
  return array;
}

static json_t *tensor_json(const attest_tensor *t) {
  return json_pack("{s:s, s:o}", "dtype", tensor_dtype_name(t->dtype), "shape",
                   shape_json(t->ndim, t->shape));
}

static int is_real(const problem_param *param) {
  return param->field >= FIELD_REAL && param->field <= FIELD_REAL_FROM_ONE;
}

static json_t *params_json(const attest_problem *problem) {
  json_t *params = json_object();
  for (size_t i = 0; i < problem_param_count; i++)
    if (problem->in_force[i])
      json_object_set_new(params, problem_params[i].name, json_string(problem->in_force[i]));
  return params;
}

/* Nearest doubles of the real parameters, for programs that read no ratios and roots. */
static json_t *doubles_json(const attest_problem *problem) {
  json_t *doubles = json_object();
  for (size_t i = 0; i < problem_param_count; i++) {
    const problem_param *param = &problem_params[i];
    if (!problem->in_force[i] || !(is_real(param) || param->field == FIELD_SOFTCAP)) continue;
    double radius;
    const void *field = (const char *)&problem->values + param->offset;
    json_object_set_new(doubles, param->name, json_real(problem_real_double(&radius, field)));
  }
  return doubles;
}

static json_t *outputs_json(const attest_problem *problem) {
  json_t *outputs = json_object();
  for (int i = OUTPUT_OUT; i < OUTPUT_COUNT; i++) {
    int ndim;
    int64_t shape[ATTEST_MAX_DIMS];
    if (problem_word_find(problem->kernel->outputs, ' ', problem_output_names[i]) < 0) continue;
    if (i == OUTPUT_FINAL_STATE && problem->state_rows < 0) continue;
    problem_output_shape(&ndim, shape, problem, i);
    json_object_set_new(outputs, problem_output_names[i],
                        json_pack("{s:o}", "shape", shape_json(ndim, shape)));
  }
  return outputs;
}

char *problem_json(const attest_problem *problem) {
  json_t *inputs = json_object();
  for (int i = 0; i < INPUT_COUNT; i++)
    if (problem->input[i].data)
      json_object_set_new(inputs, problem_input_names[i], tensor_json(&problem->input[i]));
  json_t *root = json_pack("{s:s, s:o, s:o, s:o, s:o}", "kernel", problem->kernel->name, "params",
                           params_json(problem), "doubles", doubles_json(problem), "inputs", inputs,
                           "outputs", outputs_json(problem));
  char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
  json_decref(root);
  return text;
}
