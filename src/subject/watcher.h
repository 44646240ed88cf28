/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A process that outlives this one by a moment. Should this one be killed, so that it cannot clean
 * up, the watcher ends the subjects and removes their folders. */
#ifndef ATTEST_SUBJECT_WATCHER_H
#define ATTEST_SUBJECT_WATCHER_H

#include <sys/types.h>

#include "../attest.h"

/* What the watcher is to know from now on. */
typedef enum { WATCH_CHILD, FORGET_CHILD, WATCH_FOLDER, FORGET_FOLDER } watcher_note_kind;

/* Starts the watcher, once: this program again (verb subject-watcher), in a session of its own. */
attest_status watcher_start(attest_error *error);
/* Tells it: `pid` of a child or the path of a folder, NULL or 0 where the other is meant. Nothing
 * happens when there is none. Safe between fork and exec. */
void watcher_note(watcher_note_kind kind, pid_t pid, const char *path);
/* Whether `pid` is the watcher, which is no subject. */
int watcher_is(pid_t pid);
/* The watcher's side: 0 after it has done its work, -1 where standard input is no socket. */
int subject_watcher(void);

#endif
