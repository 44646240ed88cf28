/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* --library and --exec: from flags to a subject that has run. */
#include <stdlib.h>
#include <string.h>

#include "../subject/function.h"
#include "../subject/watcher.h"
#include "internal.h"
#include "verbs.h"

int verb_has_subject(const verb_options *options) {
  return verb_option(options, "library") || verb_option(options, "exec");
}

/* ---- flags ---- */

attest_status verb_subject_limits(subject_limits *limits, const verb_options *options,
                                  attest_error *error) {
  const char *timeout = verb_option(options, "timeout"), *memory = verb_option(options, "memory");
  *limits = (subject_limits){60, subject_default_memory(), &verb_interrupted};
  if (timeout && subject_parse_seconds(&limits->timeout, timeout))
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "--timeout %s: a positive number of seconds is wanted", timeout);
  if (memory && subject_parse_bytes(&limits->memory, memory))
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "--memory %s: a size such as 500M, 8G or none is wanted", memory);
  return ATTEST_OK;
}

/* --outputs as bits; out without it. */
static attest_status parse_outputs(unsigned *wanted, const verb_options *options,
                                   attest_error *error) {
  const char *list = verb_option(options, "outputs");
  char *copy = strdup(list ? list : "out"), *rest = copy, *name;
  attest_status status = copy ? ATTEST_OK : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  *wanted = 0;
  while (!status && (name = strsep(&rest, ","))) {
    int output = problem_output_find(name);
    if (output < 0)
      status =
          attest_fail(error, ATTEST_ERR_INPUT,
                      "--outputs %s: a list of out, lse, final-state, indices is wanted", list);
    else
      *wanted |= 1u << output;
  }
  free(copy);
  return status;
}

static attest_status parse_dtype(attest_dtype *dtype, const verb_options *options,
                                 const attest_problem *problem, attest_error *error) {
  const char *text = verb_option(options, "dtype");
  *dtype = problem->input[INPUT_Q].dtype;
  if (!text || (!tensor_dtype_parse(dtype, text) && tensor_dtype_format(*dtype))) return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_INPUT,
                     "--dtype %s: one of float16, bfloat16, float32, float64 is wanted", text);
}

/* ---- running ---- */

static attest_status run_exec(subject_result *result, const char *text, attest_problem *problem,
                              unsigned wanted, const subject_limits *limits, unsigned flags,
                              attest_error *error) {
  subject_command *command;
  char *words[] = {(char *)text, NULL};
  attest_status status = subject_command_new(&command, words, 1, 0, flags, error);
  if (!status) status = subject_exec(result, command, problem, wanted, limits, error);
  subject_command_free(command);
  return status;
}

attest_status verb_subject_run(subject_result *result, const char **name, attest_problem *problem,
                               const verb_options *options, attest_error *error) {
  const char *library = verb_option(options, "library"), *exec = verb_option(options, "exec");
  subject_limits limits;
  unsigned wanted;
  attest_dtype dtype;
  memset(result, 0, sizeof *result);
  if (library && exec)
    return attest_fail(error, ATTEST_ERR_INPUT, "--library and --exec are two subjects: give one");
  for (int i = 0; i < OUTPUT_COUNT; i++)
    if (problem->output[i].data)
      return attest_fail(error, ATTEST_ERR_INPUT,
                         "--%s is a stored output and --%s computes one: give one of them",
                         problem_output_names[i], library ? "library" : "exec");
  attest_status status = verb_subject_limits(&limits, options, error);
  if (!status) status = parse_outputs(&wanted, options, error);
  if (!status) status = parse_dtype(&dtype, options, problem, error);
  for (int i = 0; i < OUTPUT_COUNT && !status; i++)
    if (wanted & 1u << i && !problem_kernel_returns(problem->kernel, i))
      status = attest_fail(error, ATTEST_ERR_INPUT, "--outputs: kernel %s has no output %s",
                           problem->kernel->name, problem_output_names[i]);
  if (status) return status;
  *name = library ? library : "exec";
  if (library) {
    status = subject_library(result, library, problem, wanted, dtype, &limits, error);
  } else {
    unsigned flags = verb_option(options, "bf16") ? TENSOR_BF16 : 0;
    status = run_exec(result, exec, problem, wanted, &limits, flags, error);
  }
  return status ? status : subject_adopt(problem, result, error);
}

void verb_subject_explain(const subject_result *result) {
  if (result->outcome == SUBJECT_RETURNED) return;
  fprintf(stderr, "attest: subject: %s\n",
          result->outcome == SUBJECT_SKIPPED ? "it does not serve this problem (status 77)"
                                             : result->detail);
  if (result->printed[0]) fprintf(stderr, "attest: it printed:\n%s\n", result->printed);
}

int verb_subject_worker(int argc, char **argv) {
  if (argc != 3) return verb_usage_error("subject-worker is for attest itself");
  return subject_worker(argv[1], argv[2]);
}

int verb_subject_watcher(int argc) {
  if (argc != 1 || subject_watcher())
    return verb_usage_error("subject-watcher is for attest itself");
  return EXIT_HOLDS;
}

int verb_function_worker(int argc, char **argv) {
  if (argc != 4) return verb_usage_error("function-worker is for attest itself");
  return subject_function_worker(argv[1], argv[2], argv[3]);
}
