/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* subject: what is under test when it is not a stored output. An external command or a function of
 * a shared library computes in a child process, under limits; whatever it does, this process goes
 * on and knows the reason. */
#ifndef ATTEST_SUBJECT_SUBJECT_H
#define ATTEST_SUBJECT_SUBJECT_H

#include <signal.h>

#include "../problem/problem.h"

typedef struct {
  double timeout;  /* seconds */
  uint64_t memory; /* bytes in memory, of all processes of the subject; 0: no limit */
  const volatile sig_atomic_t *interrupted; /* NULL: never */
} subject_limits;

/* Four fifths of the memory that is available now. (limits.c) */
uint64_t subject_default_memory(void);
/* "60", "60s", "1.5m", "2h": 0 and a positive number of seconds, or -1. */
int subject_parse_seconds(double *seconds, const char *text);
/* "500M", "8G", "100000", "none" (0): 0 and the bytes, or -1. */
int subject_parse_bytes(uint64_t *bytes, const char *text);

typedef enum {
  SUBJECT_RETURNED,
  SUBJECT_SKIPPED, /* it says that it does not serve this problem: status 77 */
  SUBJECT_FAILED   /* a refutation: `reason` and `detail` say why */
} subject_outcome;

/* Pages of this process alone, or those shared with a library. */
typedef struct {
  void *start; /* NULL: none */
  size_t size;
} subject_memory;

typedef struct {
  subject_outcome outcome;
  char reason[48];                    /* a word: "crash(SIGSEGV)", "timeout", "no-output", .. */
  char detail[400];                   /* the same as a sentence, one line */
  char printed[1024];                 /* the end of what it printed: text, several lines */
  attest_tensor output[OUTPUT_COUNT]; /* data NULL: not returned; live until subject_clear */
  tensor_file *files[OUTPUT_COUNT];
  subject_memory outputs, inputs; /* that of `output`, and that of the problem's inputs */
} subject_result;

void subject_clear(subject_result *result);
/* Makes what the subject returned the outputs of the problem, in place of earlier ones. Where it
 * does not fit, the problem is left without outputs and the result becomes a failure. */
attest_status subject_adopt(attest_problem *problem, subject_result *result, attest_error *error);

/* ---- external commands (exec.c) ---- */

/* A command that may serve several problems. */
typedef struct subject_command subject_command;

/* Each word of `words` (NULL ends them) is an argument; with `shell`, words[0] is a command line
 * for sh -c. `persistent`: the command keeps running; each folder comes as a line of its standard
 * input, and it answers each with a line of its standard output that holds a status alone: 0 done,
 * 77 skipped, anything else failed. (Without an answer its output counts once the file is whole,
 * has not changed for half a second and the command waits in read() for its next line; one that
 * waits otherwise must answer.) `flags`: of tensor_file_open. */
attest_status subject_command_new(subject_command **command, char *const words[], int shell,
                                  int persistent, unsigned flags, attest_error *error);
void subject_command_free(subject_command *command);

/* Gives the command a folder with the inputs of a resolved problem: in.safetensors, problem.json,
 * and NAME.npy of every input that npy can hold. Its path is appended as the last argument. Reads
 * back out.safetensors, or out.npy (lse.npy, final-state.npy). `wanted`: the outputs without which
 * it fails, as bits. The folder is gone when this returns. Copies of its own, which live until
 * subject_clear, become the inputs of the problem: what the command writes cannot change what its
 * output is compared with; that it wrote into its inputs is a failure. Trouble is for what is not
 * the subject's: no room on the disk, no such command; ATTEST_ERR_INTERRUPT after Ctrl-C. */
attest_status subject_exec(subject_result *result, subject_command *command,
                           attest_problem *problem, unsigned wanted, const subject_limits *limits,
                           attest_error *error);

/* ---- shared libraries (library.c, worker.c) ---- */

/* Calls an attest_subject of a shared library ("FILE:SYMBOL") in a child process that is this
 * program again (verb subject-worker). Of the outputs `wanted`, out and final-state have `dtype`,
 * and lse has float32 (float64 where out has). Inputs are read only and outputs lie between guard
 * pages; a write beside them, a floating-point environment that is not put back, a crash are
 * failures. The problem's inputs become copies, as above. Trouble is for a library that cannot be
 * loaded. */
attest_status subject_library(subject_result *result, const char *spec, attest_problem *problem,
                              unsigned wanted, attest_dtype dtype, const subject_limits *limits,
                              attest_error *error);
/* The child's side: descriptor 3 holds the tensors. The exit status of the process. */
int subject_worker(const char *path, const char *symbol);

#endif
