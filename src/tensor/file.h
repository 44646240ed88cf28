/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of this folder share about tensor files. */
#ifndef ATTEST_TENSOR_FILE_H
#define ATTEST_TENSOR_FILE_H

#include "tensor.h"

typedef struct {
  char *name; /* "" in an npy file */
  attest_tensor tensor;
  unsigned char *storage; /* of a member that was unpacked; NULL: the tensor lies in the map */
} tensor_entry;

struct tensor_file {
  char *path;
  const unsigned char *map; /* the whole file, read only */
  size_t size;
  char kind[16];
  size_t count;
  tensor_entry *entries;
};

/* "PATH: message"; a path too long for an error message is cut at its front. */
attest_status tensor_fail(attest_error *error, attest_status status, const char *path,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Fill kind, count and entries from map, size and path; what was filled when they fail is freed by
 * tensor_file_close. */
attest_status tensor_npy_parse(tensor_file *file, unsigned flags, attest_error *error);
attest_status tensor_safetensors_parse(tensor_file *file, attest_error *error);
attest_status tensor_npz_parse(tensor_file *file, unsigned flags, attest_error *error);
/* The whole file is one tensor with the type and shape of `like`. */
attest_status tensor_raw_parse(tensor_file *file, const attest_tensor *like, attest_error *error);

/* Whether the file starts as a safetensors file does: a length that fits, then a brace. */
int tensor_safetensors_probe(const unsigned char *map, size_t size);

/* Little-endian number of `bytes` <= 8 bytes. */
uint64_t tensor_little_endian(const unsigned char *p, int bytes);

/* *bytes = size of the elements. 0, or -1 when the product of the non-zero lengths and the item
 * size does not fit an int64 (so that no stride can overflow either). */
int tensor_byte_count(uint64_t *bytes, const attest_tensor *t);

/* Strides of contiguous storage, last axis fastest, or first axis fastest. */
void tensor_set_strides(attest_tensor *t, int fortran_order);

/* n raw elements from `offset` in steps of `stride`, each with its bytes reversed where `swap`. */
void tensor_gather(void *dst, const attest_tensor *t, int64_t offset, int64_t n, int64_t stride,
                   int swap);

/* All elements in C order as little-endian bytes; booleans become 0 or 1. Errors of the stream are
 * left for tensor_writer_commit. */
void tensor_write_elements(FILE *stream, const attest_tensor *t);

#endif
