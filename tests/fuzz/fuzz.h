/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the fuzzers share: parsers take files, so each input becomes one in memory. */
#ifndef ATTEST_TESTS_FUZZ_H
#define ATTEST_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file with these bytes; its path is good until the descriptor is closed. */
static inline int fuzz_file(char path[32], const uint8_t *data, size_t size) {
  int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
  if (descriptor < 0 || write(descriptor, data, size) != (ssize_t)size) abort();
  snprintf(path, 32, "/proc/self/fd/%d", descriptor);
  return descriptor;
}

#endif
