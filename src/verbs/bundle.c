/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUNDLE_FILES = 24 };

struct bundle {
  char *path, *folder;
  size_t count;
  char *names[BUNDLE_FILES], *files[BUNDLE_FILES];
};

void bundle_abort(bundle *b) {
  if (!b) return;
  for (size_t i = 0; i < b->count; i++) {
    if (b->files[i]) unlink(b->files[i]);
    free(b->files[i]);
    free(b->names[i]);
  }
  if (b->folder) rmdir(b->folder);
  free(b->folder);
  free(b->path);
  free(b);
}

attest_status bundle_open(bundle **result, const char *path, attest_error *error) {
  struct stat info;
  if (lstat(path, &info) == 0)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "%s exists already: a bundle is a new folder; remove it or name another",
                       path);
  bundle *b = calloc(1, sizeof *b);
  if (b) {
    b->path = strdup(path);
    b->folder = malloc(strlen(path) + 16);
  }
  if (!b || !b->path || !b->folder) {
    bundle_abort(b);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  }
  size_t length = strlen(b->path);
  while (length > 1 && b->path[length - 1] == '/')
    b->path[--length] = 0;
  sprintf(b->folder, "%s.XXXXXX", b->path);
  if (!mkdtemp(b->folder)) {
    attest_fail(error, ATTEST_ERR_IO, "%s: a folder cannot be made there: %s", path,
                strerror(errno));
    free(b->folder);
    b->folder = NULL;
    bundle_abort(b);
    return ATTEST_ERR_IO;
  }
  mode_t mask = umask(0);
  umask(mask);
  chmod(b->folder, 0777 & ~mask); /* mkdtemp makes it private; a failure leaves it so */
  *result = b;
  return ATTEST_OK;
}

const char *bundle_file(bundle *b, const char *name) {
  if (b->count == BUNDLE_FILES) return NULL;
  char *file = malloc(strlen(b->folder) + strlen(name) + 2), *copy = strdup(name);
  if (!file || !copy) {
    free(file);
    free(copy);
    return NULL;
  }
  sprintf(file, "%s/%s", b->folder, name);
  b->names[b->count] = copy;
  b->files[b->count++] = file;
  return file;
}

/* Digest of a file that was just written. */
static attest_status digest(char hex[65], const char *path, attest_error *error) {
  struct stat info;
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  void *data = MAP_FAILED;
  if (descriptor >= 0 && fstat(descriptor, &info) == 0)
    data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (descriptor >= 0) close(descriptor);
  if (data == MAP_FAILED)
    return attest_fail(error, ATTEST_ERR_IO, "%s cannot be read back: %s", path, strerror(errno));
  tensor_sha256(hex, data, (size_t)info.st_size);
  munmap(data, (size_t)info.st_size);
  return ATTEST_OK;
}

static attest_status write_sums(bundle *b, attest_error *error) {
  size_t count = b->count;
  const char *path = bundle_file(b, "SHA256SUMS");
  if (!path) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  tensor_writer *writer;
  attest_status status = tensor_writer_open(&writer, path, error);
  if (status) return status;
  for (size_t i = 0; i < count && !status; i++) {
    char hex[65];
    status = digest(hex, b->files[i], error);
    if (!status) fprintf(tensor_writer_stream(writer), "%s  %s\n", hex, b->names[i]);
  }
  if (!status) return tensor_writer_commit(writer, error);
  tensor_writer_abort(writer);
  return status;
}

attest_status bundle_commit(bundle *b, attest_error *error) {
  attest_status status = write_sums(b, error);
  if (!status && rename(b->folder, b->path))
    status = attest_fail(error, ATTEST_ERR_IO, "%s: %s; name a folder that does not exist yet",
                         b->path, strerror(errno));
  if (!status) { /* nothing is left to remove */
    free(b->folder);
    b->folder = NULL;
    for (size_t i = 0; i < b->count; i++) {
      free(b->files[i]);
      b->files[i] = NULL;
    }
  }
  bundle_abort(b);
  return status;
}
