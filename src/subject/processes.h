/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A process and all that came from it, by what /proc says. */
#ifndef ATTEST_SUBJECT_PROCESSES_H
#define ATTEST_SUBJECT_PROCESSES_H

#include <stdint.h>
#include <sys/types.h>

/* Bytes in memory that belong to `root` and its descendants alone, and the most that one of them
 * shares (files it has mapped). Members of the group `root` count, and so do processes that lost
 * their parent and became children of this one (adopted). */
uint64_t processes_memory(pid_t root);
/* Sends SIGKILL to all of them until none is left, and reaps those that are children of this
 * process, `root` excepted. Children of this process for which `spared` answers 1 are left alone.
 */
void processes_kill(pid_t root, int (*spared)(pid_t pid));

/* Whether one of them waits in read() on its standard input, by /proc/PID/syscall; 0 where that
 * cannot be read. Descriptors that wait in poll() are not seen. */
int processes_await_input(pid_t root);

#endif
