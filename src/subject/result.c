/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What became of a subject, in words. */
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "internal.h"

enum { STATUS_SKIPPED = 77 };

void subject_clear(subject_result *result) {
  for (int i = 0; i < OUTPUT_COUNT; i++)
    tensor_file_close(result->files[i]);
  const subject_memory *memories[] = {&result->outputs, &result->inputs};
  for (int i = 0; i < 2; i++)
    if (memories[i]->start) munmap(memories[i]->start, memories[i]->size);
  memset(result, 0, sizeof *result);
}

/* ---- copies ---- */

attest_status subject_copies(char **at, subject_memory *memory, size_t bytes, attest_error *error) {
  void *start = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  *memory = (subject_memory){start, bytes + 1};
  *at = start;
  return ATTEST_OK;
}

/* Rounded up so that what follows is aligned. */
size_t subject_copy_size(const attest_tensor *t) {
  return ((size_t)tensor_elements(t) * tensor_dtype_size(t->dtype) + 63) / 64 * 64;
}

attest_tensor subject_copy(char **at, const attest_tensor *t) {
  attest_tensor copy = attest_tensor_of(*at, t->dtype, t->ndim, t->shape);
  tensor_copy(*at, t);
  *at += subject_copy_size(t);
  return copy;
}

/* ---- outputs ---- */

static void forget_outputs(attest_problem *problem) {
  for (int i = 0; i < OUTPUT_COUNT; i++)
    problem->output[i].data = NULL;
  problem->resolved = 0;
}

attest_status subject_adopt(attest_problem *problem, subject_result *result, attest_error *error) {
  attest_status status = ATTEST_OK;
  forget_outputs(problem);
  if (result->outcome == SUBJECT_RETURNED) {
    for (int i = 0; i < OUTPUT_COUNT && !status; i++)
      if (result->output[i].data)
        status = attest_problem_output(problem, problem_output_names[i], &result->output[i], error);
    if (!status) status = problem_resolve(problem, error);
    if (!status || status == ATTEST_ERR_MEMORY) return status;
    /* The problem was resolved before: what is wrong is what came back. */
    subject_fail(result, "wrong-shape", "%s", error->message);
    forget_outputs(problem);
  }
  return problem_resolve(problem, error);
}

/* One line: an error message may have several. */
static void flatten(char *text) {
  for (char *c = text; *c; c++)
    if ((unsigned char)*c < 0x20) *c = ' ';
}

void subject_fail(subject_result *result, const char *reason, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(result->detail, sizeof result->detail, format, arguments);
  va_end(arguments);
  flatten(result->detail);
  snprintf(result->reason, sizeof result->reason, "%s", reason);
  result->outcome = SUBJECT_FAILED;
}

static void crashed(subject_result *result, int signal) {
  char reason[48];
  const char *name = sigabbrev_np(signal);
  if (name)
    snprintf(reason, sizeof reason, "crash(SIG%s)", name);
  else
    snprintf(reason, sizeof reason, "crash(signal-%d)", signal);
  subject_fail(result, reason, "it was ended by signal %d (%s)%s", signal,
               sigdescr_np(signal) ? sigdescr_np(signal) : "unknown",
               signal == SIGKILL ? ", which the system sends when memory is short" : "");
}

int subject_judge(subject_result *result, child_event event, const subject_child *child,
                  const subject_limits *limits, int shell) {
  int status = child->status, code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  char reason[48];
  if (event == CHILD_TIMEOUT) {
    subject_fail(result, "timeout", "it had not ended after %g seconds (timeout)", limits->timeout);
  } else if (event == CHILD_MEMORY) {
    subject_fail(result, "memory", "it took more than %llu MiB of memory (memory)",
                 (unsigned long long)(limits->memory >> 20));
  } else if (event == CHILD_EXITED && WIFSIGNALED(status)) {
    crashed(result, WTERMSIG(status));
  } else if (code == STATUS_SKIPPED) {
    result->outcome = SUBJECT_SKIPPED;
  } else if (shell && code > 128 && sigabbrev_np(code - 128)) {
    crashed(result, code - 128);
  } else if (code) {
    snprintf(reason, sizeof reason, "status(%d)", code);
    subject_fail(result, reason, "it ended with status %d", code);
  } else {
    return 0;
  }
  return 1;
}

void subject_keep_printed(subject_result *result, const subject_child *child) {
  size_t room = sizeof result->printed - 1;
  size_t skip = child->tail_length > room ? child->tail_length - room : 0;
  size_t length = child->tail_length - skip;
  memcpy(result->printed, child->tail + skip, length);
  while (length && (result->printed[length - 1] == '\n' || result->printed[length - 1] == ' '))
    length--;
  result->printed[length] = 0;
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)result->printed[i];
    if ((c < 0x20 && c != '\n' && c != '\t') || c >= 0x7f) result->printed[i] = '?';
  }
}
