/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Functions of one float32 in worker processes: inputs and results in shared memory, a byte for
 * each call, a line for each answer. */
#include "function.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "function_shared.h"
#include "internal.h"

typedef struct {
  subject_child child;
  int descriptor;
  unsigned char *memory;
  function_header *header;
  int failed;
  subject_result failure;
} worker;

struct subject_function {
  char *name, *path, *symbol;
  char abi[8]; /* "scalar", "array", or the letter of a vector function */
  char sha256[65];
  subject_limits limits;
  uint64_t size; /* of a worker's shared memory */
  int64_t most;
  int workers;
  worker *worker;
};

/* ---- what is named --------------------------------------------------------------------------- */

/* "_ZGVdN8v_expf": its letter; 0 for other symbols. */
static char vector_letter(const char *symbol) {
  static const char *const prefixes[] = {"_ZGVbN4v_", "_ZGVdN8v_", "_ZGVeN16v_"};
  for (size_t i = 0; i < 3; i++)
    if (!strncmp(symbol, prefixes[i], strlen(prefixes[i]))) return prefixes[i][4];
  return 0;
}

static const char *vector_prefix(void) {
  static const char *const prefixes[] = {"_ZGVbN4v_", "_ZGVdN8v_", "_ZGVeN16v_"};
  return prefixes[isa_chosen()];
}

static attest_status parse_abi(subject_function *f, const char *abi, attest_error *error) {
  char letter = vector_letter(f->symbol);
  isa_level needed = letter == 'e' ? ISA_AVX512 : letter == 'd' ? ISA_AVX2 : ISA_BASELINE;
  if (abi && strcmp(abi, "scalar") && strcmp(abi, "array"))
    return attest_fail(error, ATTEST_ERR_INPUT, "--abi %s: scalar or array is wanted", abi);
  if (letter && isa_chosen() < needed)
    return attest_fail(error, ATTEST_ERR_INPUT, "--library: %s needs vectors of %s, and this is %s",
                       f->symbol, isa_name(needed), isa_name(isa_chosen()));
#if defined(__x86_64__)
  char vectors[] = {letter, 0};
  if (letter && !abi) abi = vectors;
#else
  if (letter)
    return attest_fail(error, ATTEST_ERR_SUPPORT, "--library: vector functions are for x86-64");
#endif
  snprintf(f->abi, sizeof f->abi, "%s", abi ? abi : "scalar");
  return ATTEST_OK;
}

static attest_status parse_spec(subject_function *f, const char *spec, attest_error *error) {
  const char *colon = strrchr(spec, ':');
  if (!colon || colon == spec || !colon[1])
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "--library %s: write FILE:SYMBOL, as in ./my.so:my_expf, or libm:expf",
                       spec);
  int length = (int)(colon - spec), is_vector = !strncmp(spec, "libmvec:", 8);
  const char *known = !strncmp(spec, "libm:", 5) ? "libm.so.6" : is_vector ? "libmvec.so.1" : NULL;
  const char *prefix = is_vector && !vector_letter(colon + 1) ? vector_prefix() : "";
  int ok = asprintf(&f->symbol, "%s%s", prefix, colon + 1) >= 0 &&
           asprintf(&f->name, "%.*s:%s", length, spec, f->symbol) >= 0;
  char *file = strndup(spec, (size_t)length), *here = NULL;
  ok = ok && file && asprintf(&here, "./%s", file) >= 0;
  if (ok && !known && !strchr(file, '/') && access(here, F_OK) == 0)
    f->path = strdup(here);
  else if (ok)
    f->path = strdup(known ? known : file);
  free(here);
  free(file);
  return ok && f->path ? ATTEST_OK : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
}

static attest_status hash_library(subject_function *f, attest_error *error) {
  const char *path = f->worker[0].header->path;
  FILE *file = fopen(path, "rbe");
  long size = -1;
  if (file && !fseek(file, 0, SEEK_END)) size = ftell(file);
  void *bytes =
      size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fileno(file), 0) : MAP_FAILED;
  int code = errno;
  if (file) fclose(file);
  if (bytes == MAP_FAILED)
    return attest_fail(error, ATTEST_ERR_IO, "--library: %s cannot be read: %s", path,
                       strerror(code));
  tensor_sha256(f->sha256, bytes, (size_t)size);
  munmap(bytes, (size_t)size);
  return ATTEST_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int is_answer(int *status, void *context, const char *line) {
  (void)context;
  *status = 0;
  return line && !strcmp(line, "0");
}

/* One byte into a pipe whose other end may have gone. */
static void send_byte(int descriptor) {
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  /* Where it cannot be sent the process has ended: the wait says how. */
  if (write(descriptor, "c", 1) < 0 && errno == EPIPE)
    sigtimedwait(&pipe, NULL, &(struct timespec){0, 0});
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The input that it was called with, or the range of them. */
static void name_input(worker *w, const float *in) {
  size_t used = strlen(w->failure.detail), room = sizeof w->failure.detail - used;
  int64_t at = w->header->at, n = w->header->n;
  if (at >= 0 && at < n)
    snprintf(w->failure.detail + used, room, "; the input was %a", (double)in[at]);
  else if (n > 0)
    snprintf(w->failure.detail + used, room, "; the inputs were %a .. %a", (double)in[0],
             (double)in[n - 1]);
}

static void check_environment(worker *w) {
  static const char flags[] = "flush-to-zero, denormals-are-zero or a rounding mode";
  if (w->header->environment & ENVIRONMENT_AFTER_LOAD)
    subject_fail(&w->failure, "environment",
                 "loading the library sets %s for the whole process (linked with -ffast-math or "
                 "-Ofast?)",
                 flags);
  else if (w->header->environment & ENVIRONMENT_AFTER_CALL)
    subject_fail(&w->failure, "environment", "it returned with %s changed", flags);
  w->failed |= w->header->environment != 0;
}

/* Waits for an answer: 0, 1, -1. */
static int await(subject_function *f, worker *w, attest_error *error) {
  const child_answer answer = {is_answer, NULL};
  child_event event = child_wait(&w->child, &f->limits, &answer);
  if (event == CHILD_ANSWERED) {
    check_environment(w);
    return w->failed;
  }
  w->failed = 1;
  if (event == CHILD_INTERRUPTED) {
    attest_fail(error, ATTEST_ERR_INTERRUPT, "interrupted while the function ran");
    return -1;
  }
  w->header->message[sizeof w->header->message - 1] = 0;
  if (event == CHILD_EXITED && w->header->message[0]) {
    attest_fail(error, ATTEST_ERR_INPUT, "--library: %s", w->header->message);
    return -1;
  }
  if (!subject_judge(&w->failure, event, &w->child, &f->limits, 0) ||
      w->failure.outcome == SUBJECT_SKIPPED)
    subject_fail(&w->failure, "exited", "it ended the process instead of returning");
  return 1;
}

int subject_function_call(subject_function *f, int number, float *out, const float *in, int64_t n,
                          subject_result *result, attest_error *error) {
  worker *w = &f->worker[number];
  if (!w->failed) {
    unsigned char *inputs = w->memory + w->header->header_bytes;
    uint64_t lead = function_lead(w->header, n);
    memcpy(inputs + lead, in, (size_t)n * sizeof *in);
    unsigned char *results = inputs + w->header->array_bytes;
    memset(results + lead, 0xff, (size_t)n * sizeof *out); /* NaN where nothing is written */
    w->header->n = n;
    w->header->at = -1;
    send_byte(w->child.in);
    int failed = await(f, w, error);
    if (failed < 0) return -1;
    if (!failed) {
      memcpy(out, results + lead, (size_t)n * sizeof *out);
      return 0;
    }
    name_input(w, in);
  }
  *result = w->failure;
  return 1;
}

/* ---- opening --------------------------------------------------------------------------------- */

static attest_status start(subject_function *f, worker *w, attest_error *error) {
  char *argv[] = {
      (char *)"/proc/self/exe", (char *)"function-worker", f->path, f->symbol, f->abi, NULL};
  w->descriptor = memfd_create("attest", MFD_CLOEXEC);
  void *memory = MAP_FAILED;
  if (w->descriptor >= 0 && !ftruncate(w->descriptor, (off_t)f->size))
    memory = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, w->descriptor, 0);
  if (memory == MAP_FAILED)
    return attest_fail(error, ATTEST_ERR_MEMORY, "memory to share with the library: %s",
                       strerror(errno));
  w->memory = memory;
  w->header = memory;
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  w->header->header_bytes = (sizeof *w->header + page - 1) / page * page;
  w->header->array_bytes = (f->size - w->header->header_bytes) / 2;
  w->header->at = -1;
  return child_start(&w->child, argv, w->descriptor, 1, error);
}

static attest_status start_all(subject_function *f, int64_t most, attest_error *error) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t array = ((uint64_t)most * sizeof(float) + page - 1) / page * page;
  attest_status status = ATTEST_OK;
  f->size = (sizeof(function_header) + page - 1) / page * page + 2 * array;
  for (int i = 0; i < f->workers; i++)
    f->worker[i].descriptor = -1;
  for (int i = 0; i < f->workers && !status; i++)
    status = start(f, &f->worker[i], error);
  for (int i = 0; i < f->workers && !status; i++)
    if (await(f, &f->worker[i], error) < 0) status = error->status;
  return status;
}

attest_status subject_function_open(subject_function **result, const char *spec, const char *abi,
                                    int workers, int64_t most, const subject_limits *limits,
                                    attest_error *error) {
  subject_function *f = *result = calloc(1, sizeof *f);
  if (f) f->worker = calloc((size_t)workers, sizeof *f->worker);
  if (!f || !f->worker) {
    subject_function_close(f);
    *result = NULL;
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  }
  f->workers = workers;
  f->limits = *limits;
  attest_status status = parse_spec(f, spec, error);
  if (!status) status = parse_abi(f, abi, error);
  if (!status) status = start_all(f, most, error);
  if (!status && f->worker[0].header->path[0]) status = hash_library(f, error);
  if (status) {
    subject_function_close(f);
    *result = NULL;
  }
  return status;
}

void subject_function_close(subject_function *f) {
  if (!f) return;
  for (int i = 0; f->worker && i < f->workers; i++) {
    worker *w = &f->worker[i];
    if (w->child.pid) child_end(&w->child);
    if (w->memory) munmap(w->memory, f->size);
    if (w->memory || w->descriptor > 0) close(w->descriptor);
  }
  free(f->worker);
  free(f->name);
  free(f->path);
  free(f->symbol);
  free(f);
}

const char *subject_function_name(const subject_function *f) {
  return f->name;
}

const char *subject_function_sha256(const subject_function *f) {
  return f->sha256;
}
