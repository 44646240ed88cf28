/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "processes.h"
#include "watcher.h"

enum { POLL_MILLISECONDS = 5, KEPT_DESCRIPTOR = 3 };

/* Those that run now: when one ends, the others are no orphans of it. Each may be waited for by a
 * thread of its own. */
static subject_child *running;

static int is_running(pid_t pid) {
  int found = watcher_is(pid);
#pragma omp critical(subject_children)
  for (const subject_child *c = running; c; c = c->next)
    found |= c->pid == pid;
  return found;
}

/* Ends all that came from the child, which is reaped already or still to be. */
static void end_processes(const subject_child *child) {
#pragma omp critical(subject_children)
  {
    subject_child **c = &running;
    while (*c && *c != child)
      c = &(*c)->next;
    if (*c) *c = child->next;
  }
  processes_kill(child->pid, is_running);
  watcher_note(FORGET_CHILD, child->pid, NULL);
}

/* ---- starting ---- */

static void close_pair(int pair[2]) {
  for (int i = 0; i < 2; i++)
    if (pair[i] >= 0) close(pair[i]);
}

/* In the child, between fork and exec: only what is safe there. Reports errno through `failure`.
 * Unblocks signals, and lets no core files of subjects fill the disk. */
__attribute__((noreturn)) static void become(char *const argv[], int in, int out, int err, int keep,
                                             int failure) {
  sigset_t none;
  sigemptyset(&none);
  setpgid(0, 0);
  /* Before it is a subject: no moment is left in which nobody knows of it. */
  watcher_note(WATCH_CHILD, getpid(), NULL);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  for (int i = 1; i < NSIG; i++)
    signal(i, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
  /* Clear of the numbers that dup2 fills. */
  int moved = fcntl(failure, F_DUPFD_CLOEXEC, 10);
  int kept = keep < 0 ? -1 : fcntl(keep, F_DUPFD_CLOEXEC, 10);
  if (moved >= 0 && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0 &&
      (keep < 0 || dup2(kept, KEPT_DESCRIPTOR) >= 0))
    execvp(argv[0], argv);
  int code = errno;
  ssize_t written = write(moved >= 0 ? moved : failure, &code, sizeof code);
  (void)written;
  _exit(127);
}

static attest_status open_streams(int in[2], int out[2], int err[2], int failure[2], int talks,
                                  attest_error *error) {
  int ok =
      talks ? pipe2(in, O_CLOEXEC) == 0 : (in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;
  ok = ok && pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0 &&
       pipe2(failure, O_CLOEXEC) == 0;
  if (ok) return ATTEST_OK;
  int code = errno;
  close_pair(in);
  close_pair(out);
  close_pair(err);
  close_pair(failure);
  return attest_fail(error, ATTEST_ERR_IO, "pipes to the subject cannot be made: %s",
                     strerror(code));
}

attest_status child_start(subject_child *child, char *const argv[], int keep, int talks,
                          attest_error *error) {
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, failure[2] = {-1, -1};
  memset(child, 0, sizeof *child);
  child->in = child->out = child->err = -1;
  attest_status status = watcher_start(error);
  if (!status) status = open_streams(in, out, err, failure, talks, error);
  if (status) return status;
  /* Descendants that lose their parent come to this process, which can end them. */
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_t pid = fork();
  if (pid == 0) become(argv, in[0], out[1], err[1], keep, failure[1]);
  int code = pid < 0 ? errno : 0;
  close(failure[1]);
  failure[1] = -1;
  if (pid > 0 && read(failure[0], &code, sizeof code) == sizeof code) {
    watcher_note(FORGET_CHILD, pid, NULL);
    waitpid(pid, NULL, 0);
  }
  if (code) {
    close_pair(in);
    close_pair(out);
    close_pair(err);
    close(failure[0]);
    return attest_fail(error, ATTEST_ERR_IO, "%s cannot be started: %s", argv[0], strerror(code));
  }
  close(failure[0]);
  close(in[0]);
  close(out[1]);
  close(err[1]);
  fcntl(out[0], F_SETFL, O_NONBLOCK);
  fcntl(err[0], F_SETFL, O_NONBLOCK);
  child->pid = pid;
  child->in = in[1];
  child->out = out[0];
  child->err = err[0];
#pragma omp critical(subject_children)
  {
    child->next = running;
    running = child;
  }
  return ATTEST_OK;
}

/* ---- what it prints ---- */

static void keep_tail(subject_child *child, const char *text, size_t length) {
  if (length > CHILD_TAIL) {
    text += length - CHILD_TAIL;
    length = CHILD_TAIL;
  }
  if (child->tail_length + length > CHILD_TAIL) {
    size_t drop = child->tail_length + length - CHILD_TAIL;
    memmove(child->tail, child->tail + drop, child->tail_length - drop);
    child->tail_length -= drop;
  }
  memcpy(child->tail + child->tail_length, text, length);
  child->tail_length += length;
}

/* Lines of standard output, one after the other: 1 when one is an answer. Longer ones are none. */
static int find_answer(subject_child *child, const char *text, size_t length,
                       const child_answer *answer) {
  int found = 0;
  for (size_t i = 0; i < length; i++) {
    if (text[i] != '\n') {
      if (child->line_length < CHILD_LINE) child->line[child->line_length++] = text[i];
      continue;
    }
    if (child->line_length < CHILD_LINE) {
      child->line[child->line_length] = 0;
      found |= answer->is_answer(&child->status, answer->context, child->line);
    }
    child->line_length = 0;
  }
  return found;
}

/* Reads what is there; closes the stream at its end. 1 when an answer was found. */
static int drain(subject_child *child, int *stream, const child_answer *answer) {
  char text[4096];
  int found = 0;
  /* At most a megabyte at a time: one that prints without end must not hold up the clock. */
  for (int i = 0; i < 256 && *stream >= 0; i++) {
    ssize_t n = read(*stream, text, sizeof text);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (n <= 0) {
      close(*stream);
      *stream = -1;
      break;
    }
    keep_tail(child, text, (size_t)n);
    if (answer) found |= find_answer(child, text, (size_t)n, answer);
  }
  return found;
}

/* ---- waiting ---- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void poll_streams(const subject_child *child) {
  struct pollfd fds[2] = {{child->out, POLLIN, 0}, {child->err, POLLIN, 0}};
  poll(fds, 2, POLL_MILLISECONDS); /* ignores -1 */
}

/* What ends a wait at time t, if anything: asked every CHILD_LOOK_MILLISECONDS. */
static int over_limit(child_event *event, const subject_child *child, const subject_limits *limits,
                      double elapsed) {
  if (limits->interrupted && *limits->interrupted)
    *event = CHILD_INTERRUPTED;
  else if (elapsed > limits->timeout)
    *event = CHILD_TIMEOUT;
  else if (limits->memory && processes_memory(child->pid) > limits->memory)
    *event = CHILD_MEMORY;
  else
    return 0;
  return 1;
}

/* The streams, the process, the limits, until one of them says something. */
static child_event watch(subject_child *child, const subject_limits *limits,
                         const child_answer *answer) {
  double start = now(), looked = start;
  child_event event;
  for (;;) {
    poll_streams(child);
    int answered = drain(child, &child->out, answer);
    drain(child, &child->err, NULL);
    if (answered) return CHILD_ANSWERED;
    if (waitpid(child->pid, &child->status, WNOHANG) == child->pid) {
      drain(child, &child->out, NULL); /* what came after the look above */
      drain(child, &child->err, NULL);
      return CHILD_EXITED;
    }
    double t = now();
    if ((t - looked) * 1000 < CHILD_LOOK_MILLISECONDS) continue;
    looked = t;
    if (answer && answer->is_answer(&child->status, answer->context, NULL)) {
      /* What it printed since the look above is to this line, not to the next one. */
      drain(child, &child->out, answer);
      return CHILD_ANSWERED;
    }
    if (over_limit(&event, child, limits, t - start)) return event;
  }
}

child_event child_wait(subject_child *child, const subject_limits *limits,
                       const child_answer *answer) {
  child_event event = watch(child, limits, answer);
  if (event == CHILD_ANSWERED) return event;
  int status = child->status;
  if (event == CHILD_EXITED) {
    end_processes(child);
    child->pid = 0;
  }
  child_end(child);
  child->status = status;
  return event;
}

void child_end(subject_child *child) {
  if (child->pid > 0) {
    end_processes(child);
    while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
      continue;
    child->pid = 0;
  }
  int *streams[] = {&child->in, &child->out, &child->err};
  for (int i = 0; i < 3; i++) {
    if (*streams[i] >= 0) close(*streams[i]);
    *streams[i] = -1;
  }
}
