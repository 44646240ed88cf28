/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A sound output that comes back from files in every format: certified as it was, and refused where
 * the file is damaged. */
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "../subject/folder.h"
#include "../subject/watcher.h"
#include "builtin.h"
#include "selftest.h"

enum { NAMES = 4 };
static const char *const names[NAMES] = {"q", "k", "v", "out"};

struct selftest_stored {
  char folder[FOLDER_PATH];
  const selftest_case *plan;
  attest_problem *problem;
  void *storage;
  builtin_kernel kernel;
  attest_tensor tensors[NAMES];
};

static const char *const stored_names[SELFTEST_STORED] = {
    "safetensors", "npz", "npy-of-fortran-and-big-endian", "safetensors-truncated", "npz-damaged"};

const char *selftest_stored_name(size_t i) {
  return stored_names[i];
}

static void path_of(char path[FOLDER_PATH + 64], const selftest_stored *s, const char *name,
                    const char *end) {
  folder_file(path, s->folder, name, end);
}

static attest_status io_error(const selftest_stored *s, attest_error *error) {
  return attest_fail(error, ATTEST_ERR_IO, "%s: the files of the self-test cannot be written",
                     s->folder);
}

/* ---- writing ---- */

/* Elements with the first axis fastest, the most significant byte first. */
static attest_status write_reversed(const selftest_stored *s, const char *name,
                                    const attest_tensor *t, attest_error *error) {
  char path[FOLDER_PATH + 64], header[118 + 1];
  path_of(path, s, name, ".be.npy");
  FILE *f = fopen(path, "wb");
  if (!f) return io_error(s, error);
  int used = snprintf(header, sizeof header,
                      "{'descr': '>f4', 'fortran_order': True, 'shape': (%d, %d, %d), }",
                      (int)t->shape[0], (int)t->shape[1], (int)t->shape[2]);
  memset(header + used, ' ', sizeof header - (size_t)used);
  header[117] = '\n';
  fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, f);
  fwrite(header, 1, 118, f);
  for (int64_t k = 0; k < t->shape[2]; k++)
    for (int64_t j = 0; j < t->shape[1]; j++)
      for (int64_t i = 0; i < t->shape[0]; i++) {
        float x = (float)tensor_at(t, i * t->stride[0] + j * t->stride[1] + k * t->stride[2]);
        unsigned char bytes[sizeof x];
        memcpy(bytes, &x, sizeof x);
        for (size_t b = sizeof x; b-- > 0;)
          fputc(bytes[b], f);
      }
  return fclose(f) ? io_error(s, error) : ATTEST_OK;
}

static attest_status write_npz(const selftest_stored *s, attest_error *error) {
  char path[FOLDER_PATH + 64], member[FOLDER_PATH + 64], name[16];
  int code, failed = 0;
  path_of(path, s, "all", ".npz");
  zip_t *archive = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (!archive) return io_error(s, error);
  for (int i = 0; i < NAMES && !failed; i++) {
    path_of(member, s, names[i], ".npy");
    snprintf(name, sizeof name, "%s.npy", names[i]);
    zip_source_t *source = zip_source_file(archive, member, 0, -1);
    failed = !source || zip_file_add(archive, name, source, 0) < 0;
  }
  if (failed) {
    zip_discard(archive);
    return io_error(s, error);
  }
  return zip_close(archive) ? io_error(s, error) : ATTEST_OK;
}

/* A copy without its last bytes, or with one of them changed. */
static attest_status write_damaged(const selftest_stored *s, const char *from, const char *to,
                                   int truncate, attest_error *error) {
  char path[FOLDER_PATH + 64];
  path_of(path, s, from, "");
  FILE *in = fopen(path, "rb");
  path_of(path, s, to, "");
  FILE *out = fopen(path, "wb");
  static unsigned char bytes[1 << 16];
  size_t n = in ? fread(bytes, 1, sizeof bytes, in) : 0;
  if (n > 1000 && n < sizeof bytes && !truncate) bytes[500] ^= 1;
  size_t wanted = truncate && n > 4 ? n - 4 : n;
  int failed = !in || !out || n == sizeof bytes || fwrite(bytes, 1, wanted, out) != wanted;
  if (in) failed |= fclose(in) != 0;
  if (out) failed |= fclose(out) != 0;
  return failed ? io_error(s, error) : ATTEST_OK;
}

static attest_status write_all(const selftest_stored *s, attest_error *error) {
  char path[FOLDER_PATH + 64];
  path_of(path, s, "all", ".safetensors");
  attest_status status = tensor_write_safetensors(path, NAMES, names, s->tensors, error);
  for (int i = 0; i < NAMES && !status; i++) {
    path_of(path, s, names[i], ".npy");
    status = tensor_write_npy(path, &s->tensors[i], error);
    if (!status) status = write_reversed(s, names[i], &s->tensors[i], error);
  }
  if (!status) status = write_npz(s, error);
  if (!status) status = write_damaged(s, "all.safetensors", "cut.safetensors", 1, error);
  return status ? status : write_damaged(s, "all.npz", "bad.npz", 0, error);
}

attest_status selftest_stored_open(selftest_stored **result, attest_error *error) {
  selftest_stored *s = *result = calloc(1, sizeof *s);
  if (!s) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  attest_status status = folder_make(s->folder, error);
  if (status) {
    *s->folder = 0;
    return status;
  }
  watcher_note(WATCH_FOLDER, 0, s->folder);
  s->plan = selftest_plan_find("softmax", "causal", ATTEST_FLOAT32);
  if (!s->plan) return attest_fail(error, ATTEST_ERR_INPUT, "the plan has no case softmax/causal");
  const problem_room *room = certify_room(s->plan->problem.kernel);
  status = synthetic_build(&s->problem, &s->storage, &s->plan->problem, s->plan->seed, error);
  if (!status) status = builtin_kernel_prepare(&s->kernel, room, s->problem, ATTEST_FLOAT32, error);
  if (!status) status = builtin_kernel_compute(&s->kernel, room, error);
  if (status) return status;
  for (int i = 0; i < NAMES; i++)
    s->tensors[i] = i < NAMES - 1 ? s->problem->input[i] : s->kernel.problem.output[OUTPUT_OUT];
  return write_all(s, error);
}

void selftest_stored_close(selftest_stored *s) {
  if (!s) return;
  if (*s->folder) {
    folder_remove(s->folder);
    watcher_note(FORGET_FOLDER, 0, s->folder);
  }
  builtin_kernel_clear(&s->kernel);
  attest_problem_free(s->problem);
  free(s->storage);
  free(s);
}

/* ---- reading ---- */

/* The functions that a library reads files with. */
static const mutant_library here = {
    .open = tensor_file_open, .find = tensor_file_find, .close = tensor_file_close};

static attest_status read_one(tensor_file **file, attest_tensor *t, const selftest_stored *s,
                              size_t format, int i, const mutant_library *library) {
  static const char *const archives[SELFTEST_STORED] = {"all.safetensors", "all.npz", "",
                                                        "cut.safetensors", "bad.npz"};
  char path[FOLDER_PATH + 64];
  attest_error error;
  path_of(path, s, *archives[format] ? archives[format] : names[i],
          *archives[format] ? "" : ".be.npy");
  attest_status status = library->open(file, path, 0, &error);
  if (status) return status;
  const attest_tensor *found = library->find(*file, *archives[format] ? names[i] : "");
  if (!found) return ATTEST_ERR_INPUT;
  *t = *found;
  return ATTEST_OK;
}

static attest_status compare(attest_verdict *verdict, const selftest_stored *s,
                             const attest_tensor tensors[]) {
  attest_error error;
  certify_bounds bounds = {0, NULL};
  certify_case result;
  memset(&result, 0, sizeof result);
  attest_problem *problem = attest_problem_new(s->plan->problem.kernel, &error);
  if (!problem) return error.status;
  attest_status status = synthetic_params(problem, s->plan->problem.params, &error);
  for (int i = 0; i < NAMES - 1 && !status; i++)
    status = attest_problem_input(problem, names[i], &tensors[i], &error);
  if (!status) status = attest_problem_output(problem, "out", &tensors[NAMES - 1], &error);
  if (!status) status = problem_resolve(problem, &error);
  if (!status) status = certify_bounds_add(&bounds, "backward<=16", &error);
  const certify_subject subject = {"stored", problem, &bounds, NULL, NULL};
  const certify_options options = {.name = "stored"};
  if (!status) status = certify_run(&result, &subject, 1, &options, &error);
  if (!status) *verdict = certify_case_verdict(&result);
  certify_case_clear(&result);
  certify_bounds_clear(&bounds);
  attest_problem_free(problem);
  return status;
}

int selftest_stored_holds(const selftest_stored *s, size_t i, const mutant_library *library) {
  tensor_file *files[NAMES] = {NULL};
  attest_tensor tensors[NAMES];
  attest_verdict verdict = ATTEST_UNDECIDED;
  attest_status status = ATTEST_OK;
  int damaged = i >= SELFTEST_STORED - 2;
  if (!library) library = &here;
  for (int k = 0; k < NAMES && !status; k++)
    status = read_one(&files[k], &tensors[k], s, i, k, library);
  int holds = damaged ? status != ATTEST_OK
                      : !status && !compare(&verdict, s, tensors) && verdict == ATTEST_CERTIFIED;
  for (int k = 0; k < NAMES; k++)
    if (files[k]) library->close(files[k]);
  return holds;
}
