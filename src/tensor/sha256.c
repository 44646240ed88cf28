/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <nettle/sha2.h>

#include "file.h"

void tensor_sha256(char hex[65], const void *data, size_t size) {
  struct sha256_ctx context;
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_init(&context);
  sha256_update(&context, size, data);
  sha256_digest(&context, sizeof digest, digest);
  for (int i = 0; i < SHA256_DIGEST_SIZE; i++)
    snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

attest_status tensor_file_sha256(char hex[65], const tensor_file *file, attest_error *error) {
  (void)error; /* a mapped file has nothing left to fail */
  tensor_sha256(hex, file->map, file->size);
  return ATTEST_OK;
}
