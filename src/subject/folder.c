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
  return attest_fail(error, ATTEST_ERR_IO,
                     "no folder for the subject's tensors can be made in %s: %s; name one that can "
                     "be written in the environment variable TMPDIR",
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

static void remove_entries(int folder) {
  DIR *stream = fdopendir(folder); /* closes `folder` at its end */
  if (!stream) {
    close(folder);
    return;
  }
  struct dirent *entry;
  while ((entry = readdir(stream))) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    if (!unlinkat(dirfd(stream), entry->d_name, 0)) continue;
    int inner =
        openat(dirfd(stream), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0 && !fchmodat(dirfd(stream), entry->d_name, 0700, AT_SYMLINK_NOFOLLOW))
      inner = openat(dirfd(stream), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0) continue;
    fchmod(inner, 0700); /* a subject may have taken the right to remove entries */
    remove_entries(inner);
    unlinkat(dirfd(stream), entry->d_name, AT_REMOVEDIR);
  }
  closedir(stream);
}

void folder_remove(const char *path) {
  /* A subject may have put a link to elsewhere in its place. */
  fchmodat(AT_FDCWD, path, 0700, AT_SYMLINK_NOFOLLOW);
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder >= 0) remove_entries(folder);
  if (rmdir(path) && errno == ENOTDIR) unlink(path);
}
