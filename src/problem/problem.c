/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Building a problem: kernel, parameters, tensors. Everything that needs the sizes waits for
 * problem_resolve. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

const char *const problem_output_names[OUTPUT_COUNT] = {"out", "lse", "final-state", "indices"};
const char *const problem_input_names[INPUT_COUNT] = {"q",
                                                      "k",
                                                      "v",
                                                      "bias",
                                                      "mask",
                                                      "alibi-slopes",
                                                      "sinks",
                                                      "cu-seqlens-q",
                                                      "cu-seqlens-k",
                                                      "seqused-k",
                                                      "initial-state",
                                                      "weights",
                                                      "coefficients"};

static int name_find(const char *const names[], int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (problem_same_word(name, strlen(name), names[i])) return i;
  return -1;
}

int problem_output_find(const char *name) {
  return name_find(problem_output_names, OUTPUT_COUNT, name);
}

int problem_input_find(const char *name) {
  const problem_param *param = problem_param_find(name, NULL);
  return name_find(problem_input_names, INPUT_COUNT, param ? param->name : name);
}

int problem_kernel_returns(const problem_kernel *kernel, int output) {
  return problem_word_find(kernel->outputs, ' ', problem_output_names[output]) >= 0;
}

/* ---- new and free ---------------------------------------------------------------------------- */

static void free_texts(char **texts) {
  for (size_t i = 0; texts && i < problem_param_count; i++) {
    free(texts[i]);
    texts[i] = NULL;
  }
}

void attest_problem_free(attest_problem *problem) {
  if (!problem) return;
  free_texts(problem->texts);
  free_texts(problem->in_force);
  free(problem->texts);
  free(problem->in_force);
  free(problem->is_set);
  problem_values_clear(&problem->values);
  free(problem);
}

static const problem_kernel *available(const char *name, attest_error *error) {
  const problem_kernel *kernel = problem_kernel_find(name);
  char quoted[48];
  problem_text names = {0};
  if (kernel && kernel->built) return kernel;
  for (size_t i = 0; i < problem_kernel_count; i++)
    if (problem_kernels[i].built || !kernel)
      problem_text_add(&names, "%s%s", names.length ? " " : "", problem_kernels[i].name);
  char *list = problem_text_take(&names);
  if (kernel)
    attest_fail(error, ATTEST_ERR_SUPPORT,
                "kernel %s is not available in this version; available: %s", kernel->name,
                list ? list : "");
  else
    attest_fail(error, ATTEST_ERR_INPUT, "unknown kernel '%s'; known: %s",
                problem_quote(quoted, name), list ? list : "");
  free(list);
  return NULL;
}

attest_problem *attest_problem_new(const char *kernel_name, attest_error *error) {
  const problem_kernel *kernel = available(kernel_name, error);
  if (!kernel) return NULL;
  attest_problem *problem = calloc(1, sizeof *problem);
  if (problem) {
    problem->size = sizeof *problem;
    problem->kernel = kernel;
    problem->pairing = problem_kernel_pairing(kernel);
    problem_values_init(&problem->values);
    problem->is_set = calloc(problem_param_count, 1);
    problem->texts = calloc(problem_param_count, sizeof(char *));
    problem->in_force = calloc(problem_param_count, sizeof(char *));
    if (problem->is_set && problem->texts && problem->in_force) return problem;
  }
  attest_problem_free(problem);
  attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for a problem");
  return NULL;
}

/* ---- parameters ------------------------------------------------------------------------------ */

int problem_is_given(const attest_problem *problem, const char *name) {
  return problem->texts[problem_param_index(name)] != NULL;
}

/* The words that a plan or --is-causal may use for causal, as the table has them: the alias always
 * means top-left, plain true leaves the alignment open as a bare --causal does. */
static const char *causal_words(const problem_param *param, const char *name, const char *value) {
  int alias = !problem_same_word(name, strlen(name), param->name);
  if (!strcmp(value, "true") || !strcmp(value, "1") || !*value) return alias ? "top-left" : "";
  return !strcmp(value, "false") || !strcmp(value, "0") ? "none" : value;
}

/* The canonical text of a legal value; NULL with an error. A bare causal stays "". */
static char *canonical_text(const problem_param *param, const char *value, attest_error *error) {
  problem_values scratch;
  char quoted[48], *text = NULL;
  problem_values_init(&scratch);
  if (problem_param_parse(&scratch, param, value)) {
    attest_fail(error, ATTEST_ERR_INPUT, "%s is '%s'; it takes %s", param->name,
                problem_quote(quoted, value), problem_param_legal(param));
  } else {
    text = param->bare && !*value ? strdup("") : problem_param_text(&scratch, param);
    if (!text)
      attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for the parameter %s", param->name);
  }
  problem_values_clear(&scratch);
  return text;
}

static const problem_param *value_param(const char *name, attest_error *error) {
  const problem_param *param = problem_param_find(name, NULL);
  char quoted[48];
  if (!param)
    attest_fail(error, ATTEST_ERR_INPUT,
                "unknown parameter '%s'; attest check --help lists all of them (no abbreviations)",
                problem_quote(quoted, name));
  else if (param->kind == PARAM_TENSOR) {
    attest_fail(error, ATTEST_ERR_INPUT,
                "%s is a tensor: give it as a file (--%s FILE) or with attest_problem_input",
                param->name, param->name);
    param = NULL;
  }
  return param;
}

attest_status attest_problem_set(attest_problem *problem, const char *name, const char *value,
                                 attest_error *error) {
  attest_error local = {0};
  error = error ? error : &local;
  const problem_param *param = value_param(name, error);
  if (!param) return error->status;
  value = value ? value : "";
  if (param->field == FIELD_CAUSAL) value = causal_words(param, name, value);
  char *text = canonical_text(param, value, error);
  if (!text) return error->status;
  attest_status status = problem_kernel_accepts(problem->kernel, param, text, error);
  char **place = &problem->texts[param - problem_params];
  if (!status && *place && strcmp(*place, text)) {
    char a[48], b[48];
    status = attest_fail(error, ATTEST_ERR_INPUT,
                         "%s is set twice, to '%s' and to '%s' (aliases count); keep one",
                         param->name, problem_quote(a, *place), problem_quote(b, text));
  }
  if (!status && !*place) {
    *place = text;
    text = NULL;
    problem->resolved = 0;
  }
  free(text);
  return status;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Whether counts and offsets of the tensor can be computed in int64: all extents are at least 0,
 * their product (zeros apart) is below 2^60, and so is the reach of its strides. */
static int sane(const attest_tensor *t) {
  const int64_t limit = INT64_MAX / 8;
  int64_t product = 1, reach = 0;
  if (t->ndim < 0 || t->ndim > ATTEST_MAX_DIMS) return 0;
  for (int i = 0; i < t->ndim; i++) {
    int64_t n = t->shape[i], step, part;
    if (n < 0 || t->stride[i] == INT64_MIN) return 0;
    if (__builtin_mul_overflow(product, n > 1 ? n : 1, &product) || product > limit) return 0;
    step = t->stride[i] < 0 ? -t->stride[i] : t->stride[i];
    if (__builtin_mul_overflow(step, n > 1 ? n - 1 : 0, &part) ||
        __builtin_add_overflow(reach, part, &reach) || reach > limit)
      return 0;
  }
  return 1;
}

/* Copies the view. An empty tensor may come without data; absence is data == NULL, so it gets some.
 */
static attest_status adopt(attest_tensor *place, const char *name, const attest_tensor *tensor,
                           attest_error *error) {
  static double nothing;
  char shape[96];
  if (!sane(tensor))
    return attest_fail(
        error, ATTEST_ERR_INPUT,
        "%s: the view has %d axes or an extent or stride out of range; at most %d axes "
        "and 2^60 elements are supported",
        name, tensor->ndim, ATTEST_MAX_DIMS);
  if (!tensor->data && tensor_elements(tensor) > 0)
    return attest_fail(error, ATTEST_ERR_INPUT, "%s %s has no data (NULL pointer)", name,
                       tensor_shape_text(shape, tensor));
  *place = *tensor;
  if (!place->data) place->data = &nothing;
  return ATTEST_OK;
}

static attest_status check_dtype(int input, const attest_tensor *t, attest_error *error) {
  const char *name = problem_input_names[input], *found = tensor_dtype_name(t->dtype);
  int is_float = tensor_dtype_format(t->dtype) != NULL;
  int is_length = t->dtype == ATTEST_INT32 || t->dtype == ATTEST_INT64;
  if (input == INPUT_MASK) {
    if (t->dtype == ATTEST_BOOL) return ATTEST_OK;
    return attest_fail(error, ATTEST_ERR_INPUT,
                       is_float
                           ? "mask is %s; a mask is bool (true = attend): give an additive mask "
                             "as --bias"
                           : "mask is %s; a mask is bool (true = attend): convert it",
                       found);
  }
  if (input == INPUT_CU_Q || input == INPUT_CU_K || input == INPUT_USED_K)
    return is_length ? ATTEST_OK
                     : attest_fail(error, ATTEST_ERR_INPUT, "%s is %s; lengths are int32 or int64",
                                   name, found);
  if (is_float) return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_INPUT,
                     input == INPUT_BIAS && t->dtype == ATTEST_BOOL
                         ? "%s is %s; a boolean mask (true = attend) goes to --mask"
                         : "%s is %s; it must be float16, bfloat16, float32 or float64",
                     name, found);
}

attest_status attest_problem_input(attest_problem *problem, const char *name,
                                   const attest_tensor *tensor, attest_error *error) {
  int input = problem_input_find(name);
  char quoted[48];
  if (input < 0)
    return attest_fail(error, ATTEST_ERR_INPUT, "unknown input '%s'", problem_quote(quoted, name));
  const problem_param *param = problem_param_find(problem_input_names[input], NULL);
  attest_status status = ATTEST_OK;
  if (param) status = problem_kernel_accepts(problem->kernel, param, "", error);
  if (!status) status = check_dtype(input, tensor, error);
  if (!status) status = adopt(&problem->input[input], problem_input_names[input], tensor, error);
  if (!status) problem->resolved = 0;
  return status;
}

attest_status attest_problem_output(attest_problem *problem, const char *name,
                                    const attest_tensor *tensor, attest_error *error) {
  int output = problem_output_find(name);
  char quoted[48];
  if (output < 0 || !problem_kernel_returns(problem->kernel, output))
    return attest_fail(error, ATTEST_ERR_INPUT, "kernel %s has no output '%s'; its outputs: %s",
                       problem->kernel->name, problem_quote(quoted, name),
                       problem->kernel->outputs);
  if (output == OUTPUT_INDICES && tensor->dtype != ATTEST_INT32 && tensor->dtype != ATTEST_INT64)
    return attest_fail(error, ATTEST_ERR_INPUT, "indices are %s; they must be int32 or int64",
                       tensor_dtype_name(tensor->dtype));
  if (output != OUTPUT_INDICES && !tensor_dtype_format(tensor->dtype))
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "%s is %s; it must be float16, bfloat16, float32 or float64",
                       problem_output_names[output], tensor_dtype_name(tensor->dtype));
  attest_status status =
      adopt(&problem->output[output], problem_output_names[output], tensor, error);
  if (!status) problem->resolved = 0;
  return status;
}
