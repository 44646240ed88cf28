/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A child process with limits: started by fork and exec in a process group of its own, watched for
 * time and memory, ended with all that came from it. */
#ifndef ATTEST_SUBJECT_CHILD_H
#define ATTEST_SUBJECT_CHILD_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "../attest.h"
#include "subject.h"

enum { CHILD_TAIL = 2048, CHILD_LINE = 256, CHILD_LOOK_MILLISECONDS = 50 };

typedef struct subject_child {
  pid_t pid;        /* its process group too; 0: not running */
  int in, out, err; /* our ends of its standard streams; -1: closed */
  int status;       /* as waitpid has it, once it has ended by itself */
  size_t tail_length, line_length;
  char tail[CHILD_TAIL]; /* the end of what it printed on both streams */
  char line[CHILD_LINE]; /* the line of standard output that is not complete yet */
  struct subject_child *next;
} subject_child;

/* How a wait ended. */
typedef enum {
  CHILD_EXITED,   /* see status */
  CHILD_ANSWERED, /* it printed an answer and goes on */
  CHILD_TIMEOUT,
  CHILD_MEMORY,
  CHILD_INTERRUPTED
} child_event;

/* Starts argv[0] (searched in PATH) with the environment of this process. `keep`: a descriptor that
 * the child finds as number 3; -1: none. `talks`: its standard input is `in`, else /dev/null. */
attest_status child_start(subject_child *child, char *const argv[], int keep, int talks,
                          attest_error *error);
/* What counts as an answer of a process that goes on: called with every line of its standard
 * output, and with NULL every CHILD_LOOK_MILLISECONDS. 1: an answer, and *status is what it says.
 */
typedef struct {
  int (*is_answer)(int *status, void *context, const char *line);
  void *context;
} child_answer;

/* Waits until it exits or, with `answer` not NULL, answers. Any end but CHILD_ANSWERED ends all of
 * its processes. */
child_event child_wait(subject_child *child, const subject_limits *limits,
                       const child_answer *answer);
/* Ends all of its processes and closes the streams. */
void child_end(subject_child *child);

#endif
