/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* From what was given to what is in force: defaults, then the convention, then explicit values,
 * then everything that depends on the sizes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* window and sliding-window set the same values: both may be given only where they agree. */
static attest_status window_agrees(const attest_problem *problem, attest_error *error) {
  const char *window = problem->texts[problem_param_index("window")];
  const char *sliding = problem->texts[problem_param_index("sliding-window")];
  char meant[32];
  if (!window || !sliding) return ATTEST_OK;
  snprintf(meant, sizeof meant, "%lld,0", strtoll(sliding, NULL, 10) - 1);
  if (!strcmp(window, meant)) return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_INPUT,
                     "window is %s and sliding-window %s means %s; give one of them", window,
                     sliding, meant);
}

attest_status problem_values_resolve(attest_problem *problem, attest_error *error) {
  problem_values_default(&problem->values);
  for (size_t i = 0; i < problem_param_count; i++) {
    problem->is_set[i] = problem->texts[i] != NULL;
    if (problem->texts[i] &&
        problem_param_parse(&problem->values, &problem_params[i], problem->texts[i]))
      return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for the parameter %s",
                         problem_params[i].name);
  }
  attest_status status = window_agrees(problem, error);
  if (status) return status;
  if (problem->values.subnormals == SUBNORMALS_FLUSH)
    return attest_fail(
        error, ATTEST_ERR_SUPPORT,
        "subnormals flush is not available in this version; leave it out or give ieee");
  problem_convention_apply(problem);
  return ATTEST_OK;
}

static attest_status inputs_present(const attest_problem *problem, attest_error *error) {
  for (int i = INPUT_Q; i <= INPUT_V; i++)
    if (!problem->input[i].data)
      return attest_fail(error, ATTEST_ERR_INPUT, "%s is missing: give it as --%s FILE",
                         problem_input_names[i], problem_input_names[i]);
  return ATTEST_OK;
}

/* ---- alignment ------------------------------------------------------------------------------- */

/* The first sequence in which the alignments differ, or -1. */
static int64_t uneven_sequence(int64_t *nq, int64_t *nk, const attest_problem *problem) {
  int packed = problem->input[INPUT_CU_Q].data || problem->input[INPUT_USED_K].data;
  int64_t start;
  for (int64_t s = 0; s < (packed ? problem->sequences : problem->sequences > 0); s++) {
    problem_sequence_q(&start, nq, problem, s);
    problem_sequence_k(&start, nk, problem, s);
    if (*nq != *nk && *nq && *nk) return s;
  }
  return -1;
}

static attest_status bare_causal(attest_problem *problem, attest_error *error) {
  problem_values *values = &problem->values;
  int64_t nq, nk, s;
  if (values->alignment != CAUSAL_NONE) {
    values->causal = values->alignment;
  } else if (values->convention != CONVENTION_NONE) {
    values->causal = problem_convention_alignment(values->convention);
  } else if ((s = uneven_sequence(&nq, &nk, problem)) >= 0) {
    return attest_fail(
        error, ATTEST_ERR_INPUT,
        "causal without an alignment is ambiguous: sequence %lld has %lld queries and "
        "%lld keys; say --causal top-left (as scaled_dot_product_attention) or --causal "
        "bottom-right (as flash-attention 2.1 and later)",
        (long long)s, (long long)nq, (long long)nk);
  }
  return ATTEST_OK;
}

static attest_status alignment_resolve(attest_problem *problem, attest_error *error) {
  problem_values *values = &problem->values;
  const char *causal = problem->texts[problem_param_index("causal")];
  if (causal && !*causal) {
    attest_status status = bare_causal(problem, error);
    if (status) return status;
  }
  if (values->causal != CAUSAL_NONE) {
    if (values->alignment != CAUSAL_NONE && values->alignment != values->causal)
      return attest_fail(error, ATTEST_ERR_INPUT,
                         "causal and alignment contradict each other; leave alignment out");
    values->alignment = values->causal;
  } else if (values->alignment == CAUSAL_NONE) {
    values->alignment = problem_convention_alignment(values->convention);
  }
  problem->is_set[problem_param_index("alignment")] |= values->convention != CONVENTION_NONE;
  /* flash-attention subtracts slope |j - i'|, which is slope (j - i') only where j <= i'. */
  if (values->convention == CONVENTION_FLASH_ATTN && problem->input[INPUT_SLOPES].data &&
      values->causal == CAUSAL_NONE && values->window_right != 0)
    return attest_fail(
        error, ATTEST_ERR_SUPPORT,
        "alibi-slopes here add slope (j - i'), flash-attention without causal subtracts "
        "slope |j - i'|; give these terms as --bias, or --causal");
  return ATTEST_OK;
}

/* ---- texts in force -------------------------------------------------------------------------- */

static char *tensor_text(const attest_tensor *t) {
  problem_text text = {0};
  problem_text_add(&text, "%s(", tensor_dtype_name(t->dtype));
  for (int i = 0; i < t->ndim; i++)
    problem_text_add(&text, "%s%lld", i ? "," : "", (long long)t->shape[i]);
  problem_text_add(&text, ")");
  return problem_text_take(&text);
}

/* The text of row i; "" when nothing is in force; NULL when out of memory. */
static char *text_in_force(const attest_problem *problem, size_t i) {
  const problem_param *param = &problem_params[i];
  if (!problem_kernel_takes(problem->kernel, param) || param->field == FIELD_SLIDING_WINDOW)
    return strdup("");
  if (param->kind == PARAM_VALUE) return problem_param_text(&problem->values, param);
  const attest_tensor *t = &problem->input[problem_input_find(param->name)];
  return t->data ? tensor_text(t) : strdup("");
}

static attest_status texts_resolve(attest_problem *problem, attest_error *error) {
  for (size_t i = 0; i < problem_param_count; i++) {
    char *text = text_in_force(problem, i);
    if (!text)
      return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for the parameter %s",
                         problem_params[i].name);
    free(problem->in_force[i]);
    problem->in_force[i] = *text ? text : NULL;
    if (!*text) free(text);
  }
  return ATTEST_OK;
}

size_t problem_params_in_force(const char *names[], const char *texts[],
                               const attest_problem *problem) {
  size_t count = 0;
  for (size_t i = 0; i < problem_param_count; i++)
    if (problem->in_force[i]) {
      if (names) names[count] = problem_params[i].name;
      if (texts) texts[count] = problem->in_force[i];
      count++;
    }
  return count;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Slices are numbered by one int64. */
static attest_status count_check(const attest_problem *problem, attest_error *error) {
  int64_t product;
  if (__builtin_mul_overflow(problem->sequences, problem->heads_q, &product))
    return attest_fail(error, ATTEST_ERR_INPUT, "%lld sequences of %lld heads are too many",
                       (long long)problem->sequences, (long long)problem->heads_q);
  return ATTEST_OK;
}

attest_status problem_resolve(attest_problem *problem, attest_error *error) {
  static attest_status (*const steps[])(attest_problem *, attest_error *) = {
      problem_layouts_choose, problem_sizes_resolve,   problem_lengths_resolve,
      problem_extras_resolve, problem_outputs_resolve, alignment_resolve,
      problem_state_resolve,  problem_pairing_resolve};
  attest_error local = {0};
  error = error ? error : &local;
  if (problem->resolved) return ATTEST_OK;
  attest_status status = problem_values_resolve(problem, error);
  if (!status) status = inputs_present(problem, error);
  for (size_t i = 0; !status && i < sizeof steps / sizeof steps[0]; i++)
    status = steps[i](problem, error);
  if (!status) status = count_check(problem, error);
  if (status) return status;
  if (!problem_is_given(problem, "scale") &&
      !problem_kernel_fixes(problem->kernel, &problem_params[problem_param_index("scale")]))
    problem_real_inv_sqrt_ui(&problem->values.scale, (unsigned long)problem->d);
  status = texts_resolve(problem, error);
  problem->resolved = !status;
  return status;
}
