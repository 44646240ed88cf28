/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Files for the tests of tensor/: a folder that goes with the test case, bytes in and out of it. */
#ifndef ATTEST_TESTS_TENSOR_FILES_H
#define ATTEST_TESTS_TENSOR_FILES_H

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/tensor/tensor.h"
#include "../tests.h"

static char files_folder[64];

static inline void files_setup(void) {
  strcpy(files_folder, "/tmp/attest-test-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(files_folder));
}

static inline int files_remove(const char *path, const struct stat *info, int type,
                               struct FTW *where) {
  (void)info, (void)type, (void)where;
  return remove(path);
}

static inline void files_teardown(void) {
  nftw(files_folder, files_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* The case runs in a folder of its own, removed whatever happens to the tests. */
static inline TCase *files_case(Suite *suite, const char *name) {
  TCase *tcase = tcase_create(name);
  tcase_add_unchecked_fixture(tcase, files_setup, files_teardown);
  suite_add_tcase(suite, tcase);
  return tcase;
}

/* Path of a name in the folder; four may be in use at once. */
static inline const char *files_path(const char *name) {
  static char paths[4][512];
  static unsigned next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", files_folder, name);
  return path;
}

static inline const char *files_write(const char *name, const void *bytes, size_t size) {
  const char *path = files_path(name);
  FILE *stream = fopen(path, "wb");
  ck_assert_ptr_nonnull(stream);
  ck_assert_uint_eq(fwrite(bytes, 1, size, stream), size);
  ck_assert_int_eq(fclose(stream), 0);
  return path;
}

/* The whole file; the caller frees it. */
static inline unsigned char *files_read(size_t *size, const char *path) {
  FILE *stream = fopen(path, "rb");
  ck_assert_ptr_nonnull(stream);
  struct stat info;
  ck_assert_int_eq(fstat(fileno(stream), &info), 0);
  *size = (size_t)info.st_size;
  unsigned char *bytes = malloc(*size + 1);
  ck_assert_ptr_nonnull(bytes);
  ck_assert_uint_eq(fread(bytes, 1, *size, stream), *size);
  fclose(stream);
  return bytes;
}

/* Number of entries in the folder, hidden ones included. */
static inline int files_count(const char *folder) {
  char command[600];
  int count = -1;
  snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder);
  FILE *stream = popen(command, "r");
  ck_assert_ptr_nonnull(stream);
  ck_assert_int_eq(fscanf(stream, "%d", &count), 1);
  pclose(stream);
  return count;
}

/* An npy file of the given version whose header is `dict` padded with spaces and a newline to
 * `header_length` bytes (0: no padding). The caller frees it. */
static inline unsigned char *files_npy(size_t *size, int version, const char *dict,
                                       size_t header_length, const void *data, size_t data_size) {
  size_t text = strlen(dict), width = version == 1 ? 2 : 4;
  size_t length = header_length ? header_length : text;
  ck_assert_uint_ge(length, text);
  *size = 8 + width + length + data_size;
  unsigned char *bytes = malloc(*size);
  ck_assert_ptr_nonnull(bytes);
  memcpy(bytes, "\x93NUMPY", 6);
  bytes[6] = (unsigned char)version;
  bytes[7] = 0;
  for (size_t i = 0; i < width; i++)
    bytes[8 + i] = (unsigned char)(length >> 8 * i);
  unsigned char *header = bytes + 8 + width;
  memset(header, ' ', length);
  memcpy(header, dict, text);
  if (header_length > text) header[length - 1] = '\n';
  if (data_size) memcpy(header + length, data, data_size);
  return bytes;
}

/* A safetensors file whose header is `json` padded with spaces to `header_length` (0: none). */
static inline unsigned char *files_safetensors(size_t *size, const char *json, size_t header_length,
                                               const void *data, size_t data_size) {
  size_t text = strlen(json), length = header_length ? header_length : text;
  ck_assert_uint_ge(length, text);
  *size = 8 + length + data_size;
  unsigned char *bytes = malloc(*size);
  ck_assert_ptr_nonnull(bytes);
  for (size_t i = 0; i < 8; i++)
    bytes[i] = (unsigned char)((uint64_t)length >> 8 * i);
  memset(bytes + 8, ' ', length);
  memcpy(bytes + 8, json, text);
  if (data_size) memcpy(bytes + 8 + length, data, data_size);
  return bytes;
}

/* The file is refused with a status and a message that names it and contains `part`. */
static inline void files_assert_refused(const char *path, unsigned flags, attest_status status,
                                        const char *part) {
  tensor_file *file;
  attest_error error = {0};
  ck_assert_msg(tensor_file_open(&file, path, flags, &error) == status, "%s: got %d, %s", part,
                error.status, error.message);
  ck_assert_ptr_null(file);
  ck_assert_int_eq(error.status, status);
  ck_assert_msg(strstr(error.message, path) == error.message, "unnamed file: %s", error.message);
  ck_assert_msg(strstr(error.message, part) != NULL, "expected \"%s\" in: %s", part, error.message);
}

static inline tensor_file *files_open(const char *path, unsigned flags) {
  tensor_file *file;
  attest_error error = {0};
  ck_assert_msg(tensor_file_open(&file, path, flags, &error) == ATTEST_OK, "%s", error.message);
  return file;
}

#endif
