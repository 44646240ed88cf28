/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* tensor: dtypes as exact dyadic numbers, tensor files (npy, npz, safetensors, raw), views.
 *
 * A file is mapped, never read into memory, so a file larger than memory works (npz is unpacked).
 * All sizes in a header are checked against the size of the file before anything is allocated or
 * touched. */
#ifndef ATTEST_TENSOR_TENSOR_H
#define ATTEST_TENSOR_TENSOR_H

#include <stdio.h>

#include "../attest.h"

/* ---- dtypes (dtype.c) ----------------------------------------------------------------------- */

/* A binary floating-point format: value = +-m 2^(e-p+1), 2^(p-1) <= m < 2^p, emin <= e <= emax. */
typedef struct {
  const char *name; /* "float32": as in verdict lines and --dtype */
  int precision;    /* p: 11, 8, 24, 53 */
  int emin, emax;   /* exponents of the smallest and largest normal number: -126, 127 for float32 */
} tensor_format;

size_t tensor_dtype_size(attest_dtype dtype);
const char *tensor_dtype_name(attest_dtype dtype);
/* NULL for bool and integers. */
const tensor_format *tensor_dtype_format(attest_dtype dtype);
/* "float16 f16 half bfloat16 bf16 float32 f32 float64 f64 double": 0, or -1 when unknown. */
int tensor_dtype_parse(attest_dtype *dtype, const char *name);

/* ---- elements (view.c) ---------------------------------------------------------------------- */

int64_t tensor_elements(const attest_tensor *t); /* product of the shape; 1 for ndim 0 */
/* Element at `offset` elements from the first, exactly (integers beyond 2^53 round). */
double tensor_at(const attest_tensor *t, int64_t offset);
int64_t tensor_int_at(const attest_tensor *t, int64_t offset);
/* Rounds to nearest even and stores; `value` must be representable for exactness. */
void tensor_store(attest_tensor *t, int64_t offset, double value);
/* dst[i] = element at offset + i * stride, i < n. Fast (vectorised) when stride is 1. */
void tensor_load(double *dst, const attest_tensor *t, int64_t offset, int64_t n, int64_t stride);
void tensor_load_float(float *dst, const attest_tensor *t, int64_t offset, int64_t n,
                       int64_t stride); /* rounds float64 to nearest */
/* All elements in C order, in the byte order of this machine, to `dst`. */
void tensor_copy(void *dst, const attest_tensor *t);
/* "(2, 9, 8)" into buf; returns buf. */
char *tensor_shape_text(char buf[96], const attest_tensor *t);
/* The view with axes in another order: result axis i is axis order[i] of t. */
attest_tensor tensor_permute(const attest_tensor *t, const int order[]);
/* The same elements in the same C order with neighbouring axes merged where storage allows: one
 * axis for a contiguous tensor (and for a single number). */
attest_tensor tensor_collapse(const attest_tensor *t);
/* Offset of the first element of row `row`: rows run along the last axis and are counted in C order
 * over the other axes. */
int64_t tensor_row_offset(const attest_tensor *t, int64_t row);

/* ---- files (file.c, npy.c, npz.c, safetensors.c, raw.c)
 * --------------------------------------------------- */

typedef struct tensor_file tensor_file;

enum { TENSOR_BF16 = 1 /* read two-byte unsigned or void items as bfloat16 */ };

/* Maps a .npy, .npz or .safetensors file (told apart by content, not by name). A .pt / pickle / zip
 * is refused with the two lines of Python that convert it. */
attest_status tensor_file_open(tensor_file **file, const char *path, unsigned flags,
                               attest_error *error);
/* Maps a file without a header: one tensor with the type and shape of `like`, little endian. */
attest_status tensor_file_open_raw(tensor_file **file, const char *path, const attest_tensor *like,
                                   attest_error *error);
void tensor_file_close(tensor_file *file);
const char *tensor_file_path(const tensor_file *file);
const char *tensor_file_kind(const tensor_file *file); /* "npy 1.0", "safetensors" */
size_t tensor_file_count(const tensor_file *file);
const char *tensor_file_name(const tensor_file *file, size_t i); /* npy: "" */
const attest_tensor *tensor_file_tensor(const tensor_file *file, size_t i);
uint64_t tensor_file_size(const tensor_file *file); /* bytes */
/* Where element (0, ..., 0) of tensor i lies in the file, or in its member of an npz, in bytes. */
uint64_t tensor_file_offset(const tensor_file *file, size_t i);
/* By name; NULL when absent. */
const attest_tensor *tensor_file_find(const tensor_file *file, const char *name);
/* Hex SHA-256 of the whole file. */
attest_status tensor_file_sha256(char hex[65], const tensor_file *file, attest_error *error);
void tensor_sha256(char hex[65], const void *data, size_t size);

/* Opens the file of "F" or "F:NAME"; *name points to NAME in `spec`, or is NULL. A spec that is an
 * existing file is one in full, colons and all; else the longest part before a colon that is. */
attest_status tensor_file_open_spec(tensor_file **file, const char **name, const char *spec,
                                    unsigned flags, attest_error *error);

/* Index of the tensor that is meant. A safetensors file with one tensor needs no name (NULL); with
 * several, the `role` ("q", "out"; may be NULL) is tried as the name. */
attest_status tensor_file_choose(size_t *index, const tensor_file *file, const char *name,
                                 const char *role, attest_error *error);
/* Opens "F" or "F:NAME" and chooses. The view borrows from *file. */
attest_status tensor_open(tensor_file **file, attest_tensor *tensor, const char *spec,
                          const char *role, unsigned flags, attest_error *error);

/* Runs `work` (on one thread), which reads files that others may shorten: 0, or -1 where one was.
 * The work ends at that moment, and what it held is lost. (guard.c) */
int tensor_guarded(void (*work)(void *context), void *context);

/* ---- writing (write.c) ---------------------------------------------------------------------- */

/* A file that appears whole or not at all: written under a temporary name in the same folder, then
 * renamed. A path that is a device or a pipe (/dev/stdout) is written directly. */
typedef struct tensor_writer tensor_writer;
attest_status tensor_writer_open(tensor_writer **writer, const char *path, attest_error *error);
FILE *tensor_writer_stream(tensor_writer *writer);
/* Flushes, checks every write error (full disk), renames. Frees the writer in any case. */
attest_status tensor_writer_commit(tensor_writer *writer, attest_error *error);
void tensor_writer_abort(tensor_writer *writer);

/* Contiguous C order, little endian. bfloat16 is written as '<V2' in npy. */
attest_status tensor_write_npy(const char *path, const attest_tensor *t, attest_error *error);
attest_status tensor_write_safetensors(const char *path, size_t count, const char *const names[],
                                       const attest_tensor tensors[], attest_error *error);

#endif
