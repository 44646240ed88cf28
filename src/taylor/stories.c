/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "stories.h"

#include <stdio.h>
#include <string.h>

void taylor_stories_close(taylor_stories *t) {
  for (int i = 0; i < 3; i++)
    tensor_file_close(t->file[i]);
}

attest_status taylor_stories_open(taylor_stories *t, const char *data, attest_error *error) {
  static const char *const names[3] = {"q", "k", "v"};
  attest_status status = ATTEST_OK;
  memset(t, 0, sizeof *t);
  for (int i = 0; i < 3 && !status; i++) {
    char path[4200];
    snprintf(path, sizeof path, "%s/stories260k/%s.npy", data, names[i]);
    status = tensor_open(&t->file[i], &t->tensor[i], path, NULL, 0, error);
    const int64_t *shape = t->tensor[i].shape;
    if (!status && (t->tensor[i].ndim != 4 || shape[2] != t->tensor[0].shape[2] ||
                    shape[3] != t->tensor[0].shape[3]))
      status = attest_fail(error, ATTEST_ERR_INPUT,
                           "%s: has not the axes (layer, head, position, element) of q.npy: "
                           "restore the file",
                           path);
  }
  return status;
}

void taylor_stories_load(double *x, const taylor_stories *t, int which, int64_t layer) {
  const attest_tensor *tensor = &t->tensor[which];
  for (int64_t i = 0; i < tensor->shape[2]; i++)
    tensor_load(x + i * tensor->shape[3], tensor, layer * tensor->stride[0] + i * tensor->stride[2],
                tensor->shape[3], tensor->stride[3]);
}

void taylor_stories_fmpq(fmpq_t x, const taylor_stories *t, int which, int64_t position,
                         int64_t element) {
  const attest_tensor *tensor = &t->tensor[which];
  arf_t value;
  arf_init(value);
  arf_set_d(value, tensor_at(tensor, position * tensor->stride[2] + element * tensor->stride[3]));
  arf_get_fmpq(x, value);
  arf_clear(value);
}
