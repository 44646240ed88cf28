/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "reference.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *shape_of(int ndim, const int64_t shape[]) {
  json_t *array = json_array();
  for (int i = 0; i < ndim; i++)
    json_array_append_new(array, json_integer(shape[i]));
  return array;
}

/* "key": value, on a line of its own. Takes the value over; NULL stands for no memory. */
static int put(FILE *stream, const char *key, json_t *value) {
  if (!value) return -1;
  fprintf(stream, "  \"%s\": ", key);
  int failed = json_dumpf(value, stream, JSON_ENCODE_ANY);
  json_decref(value);
  fprintf(stream, ",\n");
  return failed && !ferror(stream) ? -1 : 0;
}

static json_t *params_of(const attest_problem *problem) {
  size_t count = problem_params_in_force(NULL, NULL, problem);
  const char **names = calloc(count + 1, sizeof *names), **texts = calloc(count + 1, sizeof *texts);
  json_t *params = names && texts ? json_object() : NULL;
  if (params) {
    problem_params_in_force(names, texts, problem);
    for (size_t i = 0; i < count; i++)
      json_object_set_new(params, names[i], json_string(texts[i]));
  }
  free(names);
  free(texts);
  return params;
}

/* File names need not be UTF-8, JSON strings are: other bytes become question marks. */
static json_t *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  json_t *text = json_string(slash ? slash + 1 : path);
  char *copy;
  if (text || !(copy = strdup(slash ? slash + 1 : path))) return text;
  for (char *c = copy; *c; c++)
    if ((unsigned char)*c >= 0x80) *c = '?';
  text = json_string(copy);
  free(copy);
  return text;
}

static json_t *inputs_of(const attest_problem *problem, const report_reference_input *inputs,
                         size_t count) {
  json_t *object = json_object();
  for (size_t i = 0; i < count; i++) {
    const attest_tensor *t = &problem->input[inputs[i].index];
    json_object_set_new(object, problem_input_names[inputs[i].index],
                        json_pack("{s:o, s:s, s:o, s:s}", "path", file_name(inputs[i].path),
                                  "sha256", inputs[i].sha256, "shape", shape_of(t->ndim, t->shape),
                                  "dtype", tensor_dtype_name(t->dtype)));
  }
  return object;
}

/* Texts of decimals and statuses need no escapes. */
static void put_texts(FILE *stream, const char *key, char *const *texts, int64_t n) {
  fprintf(stream, "\"%s\": [", key);
  for (int64_t i = 0; i < n; i++)
    fprintf(stream, "%s\"%s\"", i ? ", " : "", texts[i]);
  fprintf(stream, "]");
}

static int put_output(FILE *stream, const reference_decimals *d) {
  json_t *shape = shape_of(d->ndim, d->shape);
  if (!shape) return -1;
  fprintf(stream, "{\"shape\": ");
  json_dumpf(shape, stream, 0);
  json_decref(shape);
  fprintf(stream, ",\n    ");
  put_texts(stream, "mid", d->mid, d->elements);
  fprintf(stream, ",\n    ");
  put_texts(stream, "rad", d->rad, d->elements);
  fprintf(stream, ",\n    \"status\": [");
  for (int64_t i = 0; i < d->elements; i++)
    fprintf(stream, "%s\"%s\"", i ? ", " : "", reference_status_names[d->status[i]]);
  fprintf(stream, "]}");
  return 0;
}

int report_reference_json(FILE *stream, const attest_problem *problem,
                          const report_reference_input *inputs, size_t input_count, long digits,
                          const reference_decimals decimals[]) {
  fprintf(stream, "{\n");
  if (put(stream, "kernel", json_string(problem->kernel->name)) ||
      put(stream, "params", params_of(problem)) ||
      put(stream, "inputs", inputs_of(problem, inputs, input_count)) ||
      put(stream, "version", json_string(ATTEST_VERSION)) ||
      put(stream, "digits", json_integer(digits)))
    return -1;
  fprintf(stream, "  \"output\": ");
  if (put_output(stream, &decimals[OUTPUT_OUT])) return -1;
  fprintf(stream, ",\n  \"outputs\": {");
  const char *separator = "";
  for (int output = OUTPUT_OUT + 1; output < OUTPUT_COUNT; output++) {
    if (!decimals[output].mid) continue;
    fprintf(stream, "%s\"%s\": ", separator, problem_output_names[output]);
    if (put_output(stream, &decimals[output])) return -1;
    separator = ", ";
  }
  fprintf(stream, "}\n}\n");
  return 0;
}
