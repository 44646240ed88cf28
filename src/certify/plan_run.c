/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One case of a plan: inputs, subject, comparison. */
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"
#include "plan_internal.h"

/* Everything that a case holds open. */
typedef struct {
  attest_problem *problem;
  generated data;
  size_t file_count;
  tensor_file *files[INPUT_COUNT + OUTPUT_COUNT];
  subject_result returned;
  attest_dtype dtype; /* of generated inputs, and of a library's outputs */
} scene;

static void scene_clear(scene *s) {
  attest_problem_free(s->problem);
  subject_clear(&s->returned);
  generate_clear(&s->data);
  for (size_t i = 0; i < s->file_count; i++)
    tensor_file_close(s->files[i]);
}

int plan_is_absent(const char *key, const char *value) {
  const problem_param *param = problem_param_find(key, NULL);
  if (!strcmp(value, "null") || !strcmp(value, "~")) return 1;
  return !strcmp(value, "none") && param &&
         (param->field == FIELD_SOFTCAP || param->field == FIELD_WINDOW ||
          param->field == FIELD_SLIDING_WINDOW || param->field == FIELD_TENSOR);
}

/* ---- inputs ---- */

/* Opens "F" or "F:NAME" as an input or output of the problem. */
static attest_status add_file(scene *s, const char *name, const char *spec, attest_error *error) {
  attest_tensor tensor;
  attest_status status =
      tensor_open(&s->files[s->file_count], &tensor, spec, name, TENSOR_BF16, error);
  if (status) return status;
  s->file_count++;
  return problem_output_find(name) >= 0 ? attest_problem_output(s->problem, name, &tensor, error)
                                        : attest_problem_input(s->problem, name, &tensor, error);
}

/* Every input that the file holds under its name. */
static attest_status add_input_file(scene *s, const char *path, attest_error *error) {
  attest_status status = tensor_file_open(&s->files[s->file_count], path, TENSOR_BF16, error);
  if (status) return status;
  const tensor_file *file = s->files[s->file_count++];
  for (int i = 0; i < INPUT_COUNT && !status; i++) {
    const attest_tensor *tensor = tensor_file_find(file, problem_input_names[i]);
    if (tensor) status = attest_problem_input(s->problem, problem_input_names[i], tensor, error);
  }
  for (int i = INPUT_Q; i <= INPUT_V && !status; i++)
    if (!s->problem->input[i].data)
      status = attest_fail(error, ATTEST_ERR_INPUT,
                           "input %s holds no tensor %s: q, k and v are wanted under these names",
                           path, problem_input_names[i]);
  s->dtype = s->problem->input[INPUT_Q].dtype;
  return status;
}

static int64_t extent(const plan_instance *at, const char *key, const char *both,
                      int64_t fallback) {
  const char *text = plan_value(at, AXIS_SHAPE, key);
  if (!text && both) text = plan_value(at, AXIS_SHAPE, both);
  return text ? strtoll(text, NULL, 10) : fallback;
}

static attest_status generate(scene *s, const plan_instance *at, const char *data,
                              attest_error *error) {
  generate_sizes z = {.b = extent(at, "b", NULL, 1),
                      .heads_q = extent(at, "hq", "h", 1),
                      .nq = extent(at, "nq", "n", 1),
                      .nk = extent(at, "nk", "n", 1),
                      .d = extent(at, "d", NULL, 1)};
  z.heads_k = extent(at, "hkv", "h", z.heads_q);
  z.dv = extent(at, "dv", NULL, z.d);
  const char *name = plan_value(at, AXIS_GENERATOR, NULL), *seed = plan_value(at, AXIS_SEED, NULL);
  const char *dtype = plan_value(at, AXIS_DTYPE, NULL);
  s->dtype = ATTEST_FLOAT32;
  if (dtype) tensor_dtype_parse(&s->dtype, dtype);
  int kind = generate_find(name ? name : "gaussian");
  attest_status status =
      generate_inputs(&s->data, kind, seed ? strtoull(seed, NULL, 10) : 1, &z, s->dtype,
                      problem_layout_letters(s->problem, 4), data, error);
  if (!status) status = attest_problem_input(s->problem, "q", &s->data.q, error);
  if (!status) status = attest_problem_input(s->problem, "k", &s->data.k, error);
  return status ? status : attest_problem_input(s->problem, "v", &s->data.v, error);
}

static attest_status set_params(scene *s, const plan *p, const plan_instance *at,
                                attest_error *error) {
  attest_status status = ATTEST_OK;
  if (p->convention) status = attest_problem_set(s->problem, "convention", p->convention, error);
  for (size_t a = 0; a < at->c->axis_count && !status; a++) {
    const plan_axis *axis = &at->c->axes[a];
    const char *value = axis->values[at->chosen[a]];
    if ((axis->kind != AXIS_PARAM && axis->kind != AXIS_TENSOR) || plan_is_absent(axis->key, value))
      continue;
    status = axis->kind == AXIS_PARAM ? attest_problem_set(s->problem, axis->key, value, error)
                                      : add_file(s, axis->key, value, error);
  }
  return status;
}

static attest_status open_problem(scene *s, const plan *p, const plan_instance *at,
                                  const char *data, attest_error *error) {
  s->problem = attest_problem_new(plan_value(at, AXIS_KERNEL, NULL), error);
  if (!s->problem) return error->status;
  attest_status status = set_params(s, p, at, error);
  if (!status)
    status = at->c->input ? add_input_file(s, at->c->input, error) : generate(s, at, data, error);
  return status ? status : problem_resolve(s->problem, error);
}

/* ---- the subject ---- */

static attest_status run_command(scene *s, plan_subject *subject, const plan_case *c,
                                 const subject_limits *limits, attest_error *error) {
  attest_status status = ATTEST_OK;
  if (!subject->command)
    status = subject_command_new(&subject->command, subject->words, subject->shell,
                                 subject->persistent, TENSOR_BF16, error);
  return status
             ? status
             : subject_exec(&s->returned, subject->command, s->problem, c->outputs, limits, error);
}

static attest_status run_subject(scene *s, plan_subject *subject, const plan_case *c,
                                 const subject_limits *limits, attest_error *error) {
  attest_status status = ATTEST_OK;
  if (subject->kind == SUBJECT_STORED) {
    for (int i = 0; i < OUTPUT_COUNT && !status; i++)
      if (subject->stored[i])
        status = add_file(s, problem_output_names[i], subject->stored[i], error);
    return status ? status : problem_resolve(s->problem, error);
  }
  for (int i = 0; i < OUTPUT_COUNT; i++)
    if (c->outputs & 1u << i && !problem_kernel_returns(s->problem->kernel, i))
      return attest_fail(error, ATTEST_ERR_INPUT, "kernel %s has no output %s",
                         s->problem->kernel->name, problem_output_names[i]);
  status = subject->kind == SUBJECT_EXEC
               ? run_command(s, subject, c, limits, error)
               : subject_library(&s->returned, subject->library, s->problem, c->outputs, s->dtype,
                                 limits, error);
  return status ? status : subject_adopt(s->problem, &s->returned, error);
}

static void explain(char said[1600], const subject_result *returned) {
  if (!said || returned->outcome != SUBJECT_FAILED) return;
  snprintf(said, 1600, "%s%s%s", returned->detail, returned->printed[0] ? "; it printed:\n" : "",
           returned->printed);
}

/* ---- the comparison ---- */

static attest_status compare(certify_case *result, const scene *s, const plan_subject *subject,
                             const plan_case *c, const certify_options *how, attest_error *error) {
  room_machine machine;
  certify_subject compared = {.name = subject->name, .problem = s->problem, .bounds = &c->bounds};
  const subject_result *returned = &s->returned;
  if (returned->outcome != SUBJECT_RETURNED) {
    int failed = returned->outcome == SUBJECT_FAILED;
    return certify_no_output(
        result, s->problem, subject->name, failed ? CERTIFY_FAILED : CERTIFY_SKIPPED,
        failed ? returned->reason : "status(77)",
        failed ? returned->detail : "it does not serve this problem", how, error);
  }
  int declared;
  attest_status status =
      certify_machine_declared(&declared, &machine, s->problem, c->arithmetic, error);
  if (declared) compared.machine = &machine;
  if (!status) status = certify_run(result, &compared, 1, how, error);
  int surprises = !status && certify_case_verdict(result) == ATTEST_REFUTED &&
                  !(c->has_expected && c->expected == ATTEST_REFUTED);
  return surprises ? certify_diagnose(result, &compared, how, error) : status;
}

static attest_status add_digests(certify_case *result, const scene *s, attest_error *error) {
  attest_status status = ATTEST_OK;
  for (int i = 0; i < INPUT_COUNT && !status; i++)
    if (s->problem->input[i].data)
      status =
          certify_case_input(result, problem_input_names[i], NULL, &s->problem->input[i], error);
  for (int i = 0; i < OUTPUT_COUNT && !status; i++)
    if (s->problem->output[i].data)
      status =
          certify_case_input(result, problem_output_names[i], NULL, &s->problem->output[i], error);
  return status;
}

attest_status plan_run(certify_case *result, char said[1600], plan *p, size_t i,
                       const plan_options *options, attest_error *error) {
  plan_instance at = plan_instance_of(p, i);
  const plan_case *c = at.c;
  plan_subject *subject = plan_find_subject(p, plan_value(&at, AXIS_SUBJECT, NULL));
  subject_limits limits = {c->timeout, c->has_memory ? c->memory : subject_default_memory(),
                           options->how->interrupted};
  scene s = {0};
  certify_options how = *options->how;
  char *name = plan_case_name(p, i);
  memset(result, 0, sizeof *result);
  if (said) said[0] = 0;
  if (!name) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  how.name = name;
  attest_status status = open_problem(&s, p, &at, options->data, error);
  if (!status) status = run_subject(&s, subject, c, &limits, error);
  if (!status) status = compare(result, &s, subject, c, &how, error);
  if (!status) status = add_digests(result, &s, error);
  if (!status) explain(said, &s.returned);
  result->has_expected = c->has_expected;
  result->expected = c->expected;
  scene_clear(&s);
  free(name);
  return status;
}
