/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

attest_status folder_make(char path[FOLDER_PATH], attest_error *error) {
  const char *base = getenv("TMPDIR");
  if (!base || !*base) base = "/tmp";
  if (strchr(base, '\n')) /* it goes as a line to commands that go on */
    return attest_fail(error, ATTEST_ERR_INPUT, "the path in TMPDIR has a line end");
  if (snprintf(path, FOLDER_PATH, "%s/attest-XXXXXX", base) >= FOLDER_PATH - 64)
    return attest_fail(error, ATTEST_ERR_INPUT, "the path in TMPDIR is too long");
  if (mkdtemp(path)) return ATTEST_OK;
  return attest_fail(
      error, ATTEST_ERR_IO,
      "no folder for tensors can be made in %s: %s; name one that can be written in the "
      "environment variable TMPDIR",
      base, strerror(errno));
}

/* ---- filling ---- */

void folder_file(char name[FOLDER_PATH + 64], const char *path, const char *tensor,
                 const char *suffix) {
  int length = snprintf(name, FOLDER_PATH + 64, "%s/", path);
  snprintf(name + length, 64, "%s%s", tensor, suffix);
  for (char *c = name + length; *c; c++)
    if (*c == '-') *c = '_';
}

static attest_status write_json(const char *path, const attest_problem *problem,
                                attest_error *error) {
  char name[FOLDER_PATH + 64];
  tensor_writer *writer;
  char *text = problem_json(problem);
  if (!text) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  folder_file(name, path, "problem", ".json");
  attest_status status = tensor_writer_open(&writer, name, error);
  if (!status) {
    fprintf(tensor_writer_stream(writer), "%s\n", text);
    status = tensor_writer_commit(writer, error);
  }
  free(text);
  return status;
}

attest_status folder_fill(const char *path, const attest_problem *problem, attest_error *error) {
  char name[FOLDER_PATH + 64];
  const char *names[INPUT_COUNT];
  attest_tensor tensors[INPUT_COUNT];
  size_t count = 0;
  attest_status status = write_json(path, problem, error);
  for (int i = 0; i < INPUT_COUNT && !status; i++) {
    const attest_tensor *t = &problem->input[i];
    if (!t->data) continue;
    names[count] = problem_input_names[i];
    tensors[count++] = *t;
    if (t->dtype == ATTEST_BFLOAT16) continue;
    folder_file(name, path, problem_input_names[i], ".npy");
    status = tensor_write_npy(name, t, error);
  }
  folder_file(name, path, "in", ".safetensors");
  return status ? status : tensor_write_safetensors(name, count, names, tensors, error);
}

int folder_is_full(const char *path, uint64_t bytes) {
  struct statvfs info;
  return statvfs(path, &info) == 0 && (uint64_t)info.f_bavail * info.f_frsize < bytes;
}

/* ---- removing ---- */

static int is_dots(const char *name) {
  return !strcmp(name, ".") || !strcmp(name, "..");
}

static int remove_entry(int folder, const char *name) {
  return unlinkat(folder, name, 0) ? unlinkat(folder, name, AT_REMOVEDIR) : 0;
}

/* A subject may have taken the right to read or to remove entries. */
static int open_inner(int folder, const char *name) {
  fchmodat(folder, name, 0700, AT_SYMLINK_NOFOLLOW);
  return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Removes what `inner` holds, which is closed; folders that are not empty move up into `top`. */
static void lift_entries(int top, int inner, unsigned long *lifted) {
  DIR *stream = fdopendir(inner);
  struct dirent *entry;
  if (!stream) close(inner);
  while (stream && (entry = readdir(stream))) {
    char name[32];
    if (is_dots(entry->d_name) || !remove_entry(dirfd(stream), entry->d_name)) continue;
    fchmodat(dirfd(stream), entry->d_name, 0700, AT_SYMLINK_NOFOLLOW);
    snprintf(name, sizeof name, ".%lu", ++*lifted);
    renameat(dirfd(stream), entry->d_name, top, name);
  }
  if (stream) closedir(stream);
}

/* Takes every folder in `top` up by a level: how many are gone. */
static size_t remove_level(int top, unsigned long *lifted) {
  DIR *stream = fdopendir(openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct dirent *entry;
  size_t gone = 0;
  while (stream && (entry = readdir(stream))) {
    if (is_dots(entry->d_name) || !remove_entry(top, entry->d_name)) continue;
    int inner = open_inner(top, entry->d_name);
    if (inner >= 0) lift_entries(top, inner, lifted);
    if (inner >= 0 && !remove_entry(top, entry->d_name)) gone++;
  }
  if (stream) closedir(stream);
  return gone;
}

void folder_remove(const char *path) {
  /* A subject may have put a link to elsewhere in its place. */
  fchmodat(AT_FDCWD, path, 0700, AT_SYMLINK_NOFOLLOW);
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  /* Level by level: folders may be nested deeper than there are descriptors. */
  unsigned long lifted = 0;
  while (folder >= 0 && remove_level(folder, &lifted))
    continue;
  if (folder >= 0) close(folder);
  if (rmdir(path) && errno == ENOTDIR) unlink(path);
}
