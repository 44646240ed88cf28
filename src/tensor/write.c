/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Files that appear whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bits.h"
#include "file.h"

struct tensor_writer {
  FILE *stream;
  char *path;      /* as the user named it, for messages */
  char *target;    /* what is replaced: `path` with symbolic links followed */
  char *temporary; /* NULL: `path` is written directly */
};

static void release(tensor_writer *writer) {
  if (writer->stream) fclose(writer->stream);
  free(writer->path);
  free(writer->target);
  free(writer->temporary);
  free(writer);
}

/* Frees the writer: the last step of every failure. */
static attest_status fail_write(tensor_writer *writer, const char *what, int code,
                                const char *remedy, attest_error *error) {
  attest_status status = tensor_fail(error, ATTEST_ERR_IO, writer->path, "%s: %s; %s", what,
                                     code ? strerror(code) : "write error", remedy);
  release(writer);
  return status;
}

/* Devices, pipes and the streams of this process have nothing that a rename could replace. */
static int is_direct(const char *path) {
  struct stat info;
  if (strncmp(path, "/dev/std", 8) == 0 || strncmp(path, "/dev/fd/", 8) == 0) return 1;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/* FOLDER/.attest-PID-N, the first N that is free; created with the permissions of a new file. */
static FILE *create_temporary(tensor_writer *writer) {
  const char *slash = strrchr(writer->target, '/');
  int folder = slash ? (int)(slash + 1 - writer->target) : 0;
  size_t size = (size_t)folder + 48;
  writer->temporary = malloc(size);
  if (!writer->temporary) return NULL;
  int descriptor = -1;
  for (unsigned n = 0; descriptor < 0; n++) {
    snprintf(writer->temporary, size, "%.*s.attest-%ld-%u", folder, writer->target, (long)getpid(),
             n);
    descriptor = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno != EEXIST) return NULL;
  }
  FILE *stream = fdopen(descriptor, "wb");
  if (stream) return stream;
  int code = errno;
  close(descriptor);
  unlink(writer->temporary);
  errno = code;
  return NULL;
}

attest_status tensor_writer_open(tensor_writer **writer, const char *path, attest_error *error) {
  struct stat info;
  *writer = NULL;
  tensor_writer *opened = calloc(1, sizeof *opened);
  if (!opened) return tensor_fail(error, ATTEST_ERR_MEMORY, path, "out of memory");
  opened->path = strdup(path);
  opened->target = realpath(path, NULL); /* NULL when it does not exist yet */
  if (!opened->target) opened->target = strdup(path);
  if (!opened->path || !opened->target) {
    release(opened);
    return tensor_fail(error, ATTEST_ERR_MEMORY, path, "out of memory");
  }
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
    return fail_write(opened, "cannot be written", EISDIR, "name a file in it", error);
  if (is_direct(path))
    opened->stream = fopen(path, "ab"); /* never cuts what a redirection already holds */
  else
    opened->stream = create_temporary(opened);
  if (!opened->stream)
    return fail_write(opened, "cannot be created", errno,
                      "choose a folder that exists and can be written", error);
  *writer = opened;
  return ATTEST_OK;
}

FILE *tensor_writer_stream(tensor_writer *writer) {
  return writer->stream;
}

attest_status tensor_writer_commit(tensor_writer *writer, attest_error *error) {
  int failed = ferror(writer->stream), code = 0;
  if (fflush(writer->stream) != 0) {
    failed = 1;
    code = errno;
  }
  if (fclose(writer->stream) != 0 && !failed) {
    failed = 1;
    code = errno;
  }
  writer->stream = NULL;
  if (!failed && writer->temporary && rename(writer->temporary, writer->target) != 0) {
    failed = 1;
    code = errno;
  }
  if (!failed) {
    release(writer);
    return ATTEST_OK;
  }
  if (writer->temporary) unlink(writer->temporary);
  return fail_write(writer, "cannot be written in full", code,
                    "nothing was left behind; free some space or choose another folder", error);
}

void tensor_writer_abort(tensor_writer *writer) {
  if (!writer) return;
  if (writer->temporary) unlink(writer->temporary);
  release(writer);
}

/* n elements of a row, at most as many as fit the buffer. */
static void write_run(FILE *stream, const attest_tensor *t, int64_t offset, int64_t n) {
  unsigned char buffer[4096];
  size_t size = tensor_dtype_size(t->dtype);
  tensor_gather(buffer, t, offset, n, t->stride[t->ndim - 1],
                t->byteswapped != tensor_big_endian_host());
  if (t->dtype == ATTEST_BOOL)
    for (int64_t i = 0; i < n; i++)
      buffer[i] = buffer[i] != 0;
  fwrite(buffer, size, (size_t)n, stream);
}

void tensor_write_elements(FILE *stream, const attest_tensor *t) {
  enum { RUN = 512 }; /* elements of at most 8 bytes */
  attest_tensor flat = tensor_collapse(t);
  int64_t length = flat.shape[flat.ndim - 1], elements = tensor_elements(&flat);
  int64_t rows = length ? elements / length : 0;
  for (int64_t row = 0; row < rows; row++) {
    int64_t start = tensor_row_offset(&flat, row);
    for (int64_t i = 0; i < length; i += RUN)
      write_run(stream, &flat, start + i * flat.stride[flat.ndim - 1],
                length - i < RUN ? length - i : RUN);
  }
}
