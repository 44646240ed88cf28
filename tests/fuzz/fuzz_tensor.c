/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* npy, npz and safetensors: whatever is accepted can be read to its last element. */
#include "../../src/tensor/tensor.h"
#include "fuzz.h"

/* Elements that are read of each tensor: from both ends, so that a wrong size is noticed. */
enum { READ = 4096 };

static void read_all(const attest_tensor *t) {
  int64_t elements = tensor_elements(t);
  int64_t width = t->ndim ? t->shape[t->ndim - 1] : 1;
  volatile double sum = 0;
  for (int64_t i = 0; i < elements && i < READ; i++) {
    int64_t places[2] = {i, elements - 1 - i};
    for (int k = 0; k < 2; k++) {
      int64_t offset = tensor_row_offset(t, places[k] / width);
      if (t->ndim) offset += places[k] % width * t->stride[t->ndim - 1];
      sum = sum + tensor_at(t, offset);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[32];
  tensor_file *file;
  attest_error error;
  int descriptor = fuzz_file(path, data, size);
  for (unsigned flags = 0; flags <= TENSOR_BF16; flags++)
    if (!tensor_file_open(&file, path, flags, &error)) {
      for (size_t i = 0; i < tensor_file_count(file); i++)
        read_all(tensor_file_tensor(file, i));
      tensor_file_close(file);
    }
  close(descriptor);
  return 0;
}
