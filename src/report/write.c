/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "write.h"

#include <stdlib.h>

attest_status report_write_text(const char *path, char *text, attest_error *error) {
  tensor_writer *writer;
  attest_status status = text ? tensor_writer_open(&writer, path, error)
                              : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  if (!status) {
    fprintf(tensor_writer_stream(writer), "%s\n", text);
    status = tensor_writer_commit(writer, error);
  }
  free(text);
  return status;
}
