/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "inputs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "folder.h"
#include "internal.h"

/* ---- copies ---- */

attest_status inputs_keep(subject_inputs *inputs, subject_result *result, attest_problem *problem,
                          attest_error *error) {
  size_t bytes = 0;
  char *at;
  for (int i = 0; i < INPUT_COUNT; i++) {
    inputs->given[i] = problem->input[i];
    if (problem->input[i].data) bytes += subject_copy_size(&problem->input[i]);
  }
  attest_status status = subject_copies(&at, &result->inputs, bytes, error);
  if (status) return status;
  for (int i = 0; i < INPUT_COUNT && !status; i++) {
    if (!inputs->given[i].data) continue;
    attest_tensor copy = subject_copy(&at, &inputs->given[i]);
    status = attest_problem_input(problem, problem_input_names[i], &copy, error);
  }
  mprotect(result->inputs.start, result->inputs.size, PROT_READ);
  return status ? status : problem_resolve(problem, error);
}

void inputs_put_back(attest_problem *problem, const subject_inputs *inputs) {
  memcpy(problem->input, inputs->given, sizeof problem->input);
  problem->resolved = 0;
}

/* ---- what has become of them ---- */

typedef struct {
  subject_result *result;
  const subject_inputs *inputs;
  const attest_problem *problem;
  const char *folder;
  void *row; /* room for the longest row */
} inspection;

static int64_t row_length(const attest_tensor *t) {
  return t->ndim ? t->shape[t->ndim - 1] : 1;
}

static attest_tensor row_of(const attest_tensor *t, int64_t row) {
  int64_t n = row_length(t);
  attest_tensor view = attest_tensor_of(NULL, t->dtype, 1, &n);
  view.data = (char *)t->data + tensor_row_offset(t, row) * (int64_t)tensor_dtype_size(t->dtype);
  view.stride[0] = t->ndim ? t->stride[t->ndim - 1] : 1;
  view.byteswapped = t->byteswapped;
  return view;
}

/* Any byte but 0 is true. */
static int is_same(const void *a, const void *b, size_t bytes, attest_dtype dtype) {
  const unsigned char *x = a, *y = b;
  if (dtype != ATTEST_BOOL) return !memcmp(a, b, bytes);
  for (size_t i = 0; i < bytes; i++)
    if (!x[i] != !y[i]) return 0;
  return 1;
}

/* Whether a tensor holds, bit for bit, what the copy holds. */
static int holds(const inspection *s, const attest_tensor *t, const attest_tensor *copy) {
  if (t->dtype != copy->dtype || t->ndim != copy->ndim) return 0;
  for (int a = 0; a < t->ndim; a++)
    if (t->shape[a] != copy->shape[a]) return 0;
  int64_t n = row_length(copy), elements = tensor_elements(copy);
  size_t bytes = (size_t)n * tensor_dtype_size(copy->dtype);
  for (int64_t row = 0; n && row < elements / n; row++) {
    attest_tensor view = row_of(t, row);
    tensor_copy(s->row, &view);
    if (!is_same(s->row, (const char *)copy->data + (size_t)row * bytes, bytes, copy->dtype))
      return 0;
  }
  return 1;
}

static void fail_write(const inspection *s, int input, const char *where) {
  char reason[48];
  snprintf(reason, sizeof reason, "wrote-input(%.20s)", problem_input_names[input]);
  subject_fail(s->result, reason, "while it ran the input %s was written to%s%s",
               problem_input_names[input], *where ? ", in " : ", in the file that the caller named",
               where);
}

/* A file of the folder that is still there: `input` -1: in.safetensors, with all of them. */
static void inspect_file(const inspection *s, int input) {
  char path[FOLDER_PATH + 64];
  struct stat info;
  tensor_file *file = NULL;
  attest_error ignored;
  folder_file(path, s->folder, input < 0 ? "in" : problem_input_names[input],
              input < 0 ? ".safetensors" : ".npy");
  if (lstat(path, &info)) return;
  int whole = !tensor_file_open(&file, path, 0, &ignored);
  for (int i = 0; i < INPUT_COUNT && !s->result->reason[0]; i++) {
    const attest_tensor *copy = &s->problem->input[i];
    if (!copy->data || (input >= 0 && i != input)) continue;
    const attest_tensor *t = NULL;
    if (whole)
      t = input < 0 ? tensor_file_find(file, problem_input_names[i]) : tensor_file_tensor(file, 0);
    if (!t || !holds(s, t, copy)) fail_write(s, i, strrchr(path, '/') + 1);
  }
  tensor_file_close(file);
}

static void inspect(void *context) {
  const inspection *s = context;
  for (int i = 0; i < INPUT_COUNT && !s->result->reason[0]; i++) {
    const attest_tensor *copy = &s->problem->input[i];
    if (!copy->data) continue;
    if (!holds(s, &s->inputs->given[i], copy)) fail_write(s, i, "");
    if (s->folder && copy->dtype != ATTEST_BFLOAT16 && !s->result->reason[0]) inspect_file(s, i);
  }
  if (s->folder && !s->result->reason[0]) inspect_file(s, -1);
}

attest_status inputs_inspect(subject_result *result, const subject_inputs *inputs,
                             const attest_problem *problem, const char *folder,
                             attest_error *error) {
  inspection s = {result, inputs, problem, folder, NULL};
  size_t longest = 1;
  if (result->outcome != SUBJECT_RETURNED) return ATTEST_OK;
  for (int i = 0; i < INPUT_COUNT; i++) {
    const attest_tensor *t = &problem->input[i];
    size_t bytes = t->data ? (size_t)row_length(t) * tensor_dtype_size(t->dtype) : 0;
    if (bytes > longest) longest = bytes;
  }
  if (!(s.row = malloc(longest))) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  if (tensor_guarded(inspect, &s))
    subject_fail(result, "wrote-input", "while it ran a file of its inputs was cut short");
  free(s.row);
  return ATTEST_OK;
}
