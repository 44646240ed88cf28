/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Raw files: elements in C order, little endian, without a header. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "file.h"

attest_status tensor_raw_parse(tensor_file *file, const attest_tensor *like, attest_error *error) {
  attest_tensor t = *like;
  uint64_t bytes;
  char shape[96];
  tensor_shape_text(shape, &t);
  if (tensor_byte_count(&bytes, &t))
    return tensor_fail(error, ATTEST_ERR_INPUT, file->path, "the product of shape %s overflows",
                       shape);
  if (bytes != file->size)
    return tensor_fail(error, ATTEST_ERR_INPUT, file->path,
                       "has %zu bytes, %s of shape %s has %" PRIu64
                       ": correct the shape or the type, or save it as .npy",
                       file->size, tensor_dtype_name(t.dtype), shape, bytes);
  tensor_set_strides(&t, 0);
  t.byteswapped = tensor_dtype_size(t.dtype) > 1 && tensor_big_endian_host();
  t.data = (void *)file->map;
  file->entries = calloc(1, sizeof *file->entries);
  char *name = calloc(1, 1);
  if (!file->entries || !name) {
    free(name);
    return tensor_fail(error, ATTEST_ERR_MEMORY, file->path, "out of memory");
  }
  file->entries[0] = (tensor_entry){.name = name, .tensor = t};
  file->count = 1;
  snprintf(file->kind, sizeof file->kind, "raw");
  return ATTEST_OK;
}
