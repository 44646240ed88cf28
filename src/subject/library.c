/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Functions of shared libraries: the tensors go into shared memory, a worker calls, the memory is
 * looked at. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inputs.h"
#include "internal.h"
#include "shared.h"

typedef struct {
  int descriptor;
  unsigned char *memory;
  shared_header *header;     /* the worker's side can write there */
  const shared_header *plan; /* what it was at first: where the tensors are */
} shared;

static uint64_t round_up(uint64_t n, uint64_t to) {
  return (n + to - 1) / to * to;
}

/* ---- laying out ---- */

static uint64_t bytes_of(const attest_tensor *t) {
  return (uint64_t)tensor_elements(t) * tensor_dtype_size(t->dtype);
}

static void place(shared_header *plan, int output, int index, const attest_tensor *t,
                  uint64_t page) {
  uint64_t bytes = bytes_of(t), used = round_up(bytes, SHARED_ALIGNMENT);
  shared_tensor *s = &plan->tensors[plan->count++];
  *s = (shared_tensor){.output = output, .index = index, .bytes = bytes};
  s->tensor = attest_tensor_of(NULL, t->dtype, t->ndim, t->shape);
  s->pages_at = plan->size;
  s->pages_size = round_up(used ? used : 1, page);
  s->lead = s->pages_size - used;
  plan->size += s->pages_size;
}

static void lay_out(shared_header *plan, const attest_problem *problem, unsigned wanted,
                    attest_dtype dtype, uint64_t params_bytes) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  memset(plan, 0, sizeof *plan);
  plan->params_at = sizeof *plan;
  plan->size = round_up(sizeof *plan + params_bytes, page);
  for (int i = 0; i < INPUT_COUNT; i++)
    if (problem->input[i].data) place(plan, 0, i, &problem->input[i], page);
  for (int i = 0; i < OUTPUT_COUNT; i++) {
    if (!(wanted & 1u << i)) continue;
    int ndim;
    int64_t shape[ATTEST_MAX_DIMS];
    problem_output_shape(&ndim, shape, problem, i);
    attest_dtype wide = dtype == ATTEST_FLOAT64 ? ATTEST_FLOAT64 : ATTEST_FLOAT32;
    attest_dtype type = i == OUTPUT_LSE ? wide : i == OUTPUT_INDICES ? ATTEST_INT32 : dtype;
    attest_tensor t = attest_tensor_of(NULL, type, ndim, shape);
    place(plan, 1, i, &t, page);
  }
  double radius;
  snprintf(plan->kernel, sizeof plan->kernel, "%s", problem->kernel->name);
  plan->scale = problem_real_double(&radius, &problem->values.scale);
  plan->causal = (int32_t)problem->values.causal;
  plan->fault_tensor = -1;
}

static attest_status map_shared(shared *s, uint64_t size, attest_error *error) {
  s->descriptor = memfd_create("attest", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  void *memory = MAP_FAILED;
  if (s->descriptor >= 0 && !ftruncate(s->descriptor, (off_t)size))
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, s->descriptor, 0);
  /* A library that finds the descriptor cannot cut the memory short while it is read here. */
  if (memory != MAP_FAILED) fcntl(s->descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  if (memory == MAP_FAILED) {
    int code = errno;
    if (s->descriptor >= 0) close(s->descriptor);
    return attest_fail(error, ATTEST_ERR_MEMORY, "%llu bytes to share with the library: %s",
                       (unsigned long long)size, strerror(code));
  }
  s->memory = memory;
  s->header = memory;
  return ATTEST_OK;
}

static void fill(const shared *s, const attest_problem *problem) {
  for (int i = 0; i < s->plan->count; i++) {
    const shared_tensor *t = &s->plan->tensors[i];
    unsigned char *pages = s->memory + t->pages_at;
    memset(pages, SHARED_FILL, t->pages_size);
    if (t->output) /* all bits set is NaN in every format: what is not written is refuted */
      memset(pages + t->lead, 0xff, t->bytes);
    else
      tensor_copy(pages + t->lead, &problem->input[t->index]);
  }
}

/* ---- looking at it ---- */

static const char *name_of(const shared_tensor *t) {
  return t->output ? problem_output_names[t->index] : problem_input_names[t->index];
}

/* Bytes beside the tensor that are no longer as they were; *at: the first, from its first byte. */
static uint64_t touched_beside(int64_t *at, const shared *s, const shared_tensor *t) {
  const unsigned char *pages = s->memory + t->pages_at;
  uint64_t count = 0;
  for (uint64_t i = 0; i < t->pages_size; i++) {
    if (i == t->lead) i += t->bytes;
    if (i >= t->pages_size || pages[i] == SHARED_FILL) continue;
    if (!count++) *at = (int64_t)i - (int64_t)t->lead;
  }
  return count;
}

static void fail_fault(subject_result *result, const shared *s) {
  const shared_header *h = s->header;
  int number = h->fault_tensor;
  if (number < 0 || number >= s->plan->count) return; /* the signal says it */
  const shared_tensor *t = &s->plan->tensors[number];
  const char *name = name_of(t), *did = h->fault_is_write ? "wrote" : "read";
  char reason[48];
  long long offset = h->fault_offset, bytes = (long long)t->bytes;
  if (offset >= 0 && offset < bytes) {
    snprintf(reason, sizeof reason, "wrote-input(%.20s)", name);
    subject_fail(result, reason, "it wrote to byte %lld of the input %s", offset, name);
    return;
  }
  snprintf(reason, sizeof reason, "%s-%s(%.20s)", did, offset < 0 ? "before" : "past-end", name);
  subject_fail(result, reason, "it %s %lld bytes %s %s, which has %lld bytes", did,
               offset < 0 ? -offset : offset - bytes + 1, offset < 0 ? "before" : "past the end of",
               name, bytes);
}

/* An input that is no longer what it was, through memory that the library made writable. */
static int is_changed(const shared *s, const shared_tensor *t, const attest_problem *problem) {
  return !t->output &&
         memcmp(s->memory + t->pages_at + t->lead, problem->input[t->index].data, t->bytes);
}

/* After a call that returned 0: whether it kept to its tensors and left the environment alone. The
 * inputs of the problem are copies that only this process has. */
static void inspect(subject_result *result, const shared *s, const attest_problem *problem) {
  const shared_header *h = s->header;
  static const char flags[] = "flush-to-zero, denormals-are-zero or a rounding mode";
  if (h->environment & ENVIRONMENT_AFTER_LOAD) {
    subject_fail(result, "environment",
                 "loading the library sets %s for the whole process (linked with -ffast-math or "
                 "-Ofast?)",
                 flags);
    return;
  }
  if (h->environment & ENVIRONMENT_AFTER_CALL) {
    subject_fail(result, "environment", "it returned with %s changed", flags);
    return;
  }
  for (int i = 0; i < s->plan->count; i++) {
    const shared_tensor *t = &s->plan->tensors[i];
    int64_t at = 0;
    uint64_t count = t->output ? touched_beside(&at, s, t) : 0;
    char reason[48];
    if (is_changed(s, t, problem)) {
      snprintf(reason, sizeof reason, "wrote-input(%.20s)", name_of(t));
      subject_fail(result, reason, "it made the input %s writable, and wrote to it", name_of(t));
      return;
    }
    if (!count) continue;
    snprintf(reason, sizeof reason, "wrote-%s(%.20s)", at < 0 ? "before" : "past-end", name_of(t));
    subject_fail(result, reason, "it wrote %llu bytes beside %s, the first at %lld of %llu",
                 (unsigned long long)count, name_of(t), (long long)at,
                 (unsigned long long)t->bytes);
    return;
  }
}

static void judge(subject_result *result, const shared *s, const attest_problem *problem,
                  child_event event, const subject_child *child, const subject_limits *limits) {
  const shared_header *h = s->header;
  if (subject_judge(result, event, child, limits, 0)) {
    if (event == CHILD_EXITED && WIFSIGNALED(child->status) && h->fault_signal)
      fail_fault(result, s);
    return;
  }
  if (h->phase != PHASE_RETURNED) {
    subject_fail(result, "exited", "it ended the process instead of returning");
    return;
  }
  inspect(result, s, problem);
}

/* ---- the call ---- */

static attest_status call(subject_result *result, const shared *s, const char *path,
                          const char *symbol, const attest_problem *problem,
                          const subject_limits *limits, attest_error *error) {
  subject_child child;
  char *argv[] = {(char *)"/proc/self/exe", (char *)"subject-worker", (char *)path, (char *)symbol,
                  NULL};
  attest_status status = child_start(&child, argv, s->descriptor, 0, error);
  if (status) return status;
  child_event event = child_wait(&child, limits, NULL);
  subject_keep_printed(result, &child);
  if (event == CHILD_INTERRUPTED)
    return attest_fail(error, ATTEST_ERR_INTERRUPT, "interrupted while the subject ran");
  s->header->message[sizeof s->header->message - 1] = 0;
  if (event == CHILD_EXITED && s->header->phase == PHASE_START && s->header->message[0])
    return attest_fail(error, ATTEST_ERR_INPUT, "library: %s", s->header->message);
  judge(result, s, problem, event, &child, limits);
  return ATTEST_OK;
}

/* Splits "FILE:SYMBOL" at its last colon; a file without a folder is one of this folder. */
static attest_status split(char **path, const char **symbol, const char *spec,
                           attest_error *error) {
  const char *colon = strrchr(spec, ':');
  if (!colon || colon == spec || !colon[1])
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "library %s: write FILE:SYMBOL, as in ./kernel.so:attention", spec);
  int length = (int)(colon - spec);
  *symbol = colon + 1;
  const char *folder = memchr(spec, '/', (size_t)length) ? "" : "./";
  return asprintf(path, "%s%.*s", folder, length, spec) < 0
             ? attest_fail(error, ATTEST_ERR_MEMORY, "out of memory")
             : ATTEST_OK;
}

/* What the worker has filled becomes the outputs of the result. */
static void take_outputs(subject_result *result, const shared *s) {
  for (int i = 0; i < s->plan->count; i++) {
    const shared_tensor *t = &s->plan->tensors[i];
    if (!t->output) continue;
    result->output[t->index] = t->tensor;
    result->output[t->index].data = s->memory + t->pages_at + t->lead;
  }
}

attest_status subject_library(subject_result *result, const char *spec, attest_problem *problem,
                              unsigned wanted, attest_dtype dtype, const subject_limits *limits,
                              attest_error *error) {
  shared_header plan;
  shared s = {-1, NULL, NULL, &plan};
  subject_inputs inputs;
  char *path = NULL, *params;
  const char *symbol = NULL;
  memset(result, 0, sizeof *result);
  attest_status status = split(&path, &symbol, spec, error);
  if (status) return status;
  if (!(params = problem_json(problem))) {
    free(path);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  }
  lay_out(&plan, problem, wanted, dtype, strlen(params) + 1);
  status = map_shared(&s, plan.size, error);
  if (!status) {
    *s.header = plan;
    strcpy((char *)s.memory + plan.params_at, params);
    result->outputs = (subject_memory){s.memory, plan.size};
    status = inputs_keep(&inputs, result, problem, error);
    if (!status) fill(&s, problem);
    if (!status) status = call(result, &s, path, symbol, problem, limits, error);
    if (!status) status = inputs_inspect(result, &inputs, problem, NULL, error);
    if (status) inputs_put_back(problem, &inputs);
    close(s.descriptor);
  }
  if (!status) take_outputs(result, &s);
  free(params);
  free(path);
  if (status) subject_clear(result);
  return status;
}
