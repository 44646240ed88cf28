/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "folder.h"
#include "processes.h"

extern char **environ;

/* One packet; the path only as far as it goes. */
typedef struct {
  int32_t kind;
  int32_t pid;
  char path[FOLDER_PATH];
} note;

static int notes = -1; /* our end of the socket */
static pid_t watcher;

/* ---- the side of attest ---- */

static int spawn(int end) {
  char *argv[] = {(char *)"/proc/self/exe", (char *)"subject-watcher", NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int code = posix_spawn_file_actions_init(&actions);
  if (code) return code;
  if (!(code = posix_spawnattr_init(&attributes))) {
    code = posix_spawn_file_actions_adddup2(&actions, end, 0);
    for (int stream = 1; stream <= 2 && !code; stream++)
      code = posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
    /* Neither Ctrl-C nor whatever ends a process group is meant for it. */
    if (!code) code = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    if (!code) code = posix_spawn(&watcher, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return code;
}

attest_status watcher_start(attest_error *error) {
  int ends[2] = {-1, -1};
  if (notes >= 0) return ATTEST_OK;
  int code = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ? errno : spawn(ends[1]);
  if (ends[1] >= 0) close(ends[1]);
  if (!code) {
    notes = ends[0];
    return ATTEST_OK;
  }
  if (ends[0] >= 0) close(ends[0]);
  return attest_fail(error, ATTEST_ERR_IO, "no process can be started to watch over subjects: %s",
                     strerror(code));
}

void watcher_note(watcher_note_kind kind, pid_t pid, const char *path) {
  note n = {.kind = (int32_t)kind, .pid = (int32_t)pid};
  if (notes < 0) return;
  size_t length = path ? strlen(path) : 0;
  if (length >= sizeof n.path) return;
  if (path) memcpy(n.path, path, length + 1);
  while (send(notes, &n, offsetof(note, path) + length + 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
    continue;
}

int watcher_is(pid_t pid) {
  return watcher > 0 && pid == watcher;
}

/* ---- the side of the watcher ---- */

typedef struct {
  size_t count, capacity;
  note *items;
} note_list;

/* Without memory for it a note is lost: the watcher can only do less then. */
static void remember(note_list *list, const note *n) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 8;
    note *items = realloc(list->items, capacity * sizeof *items);
    if (!items) return;
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count++] = *n;
}

static void forget(note_list *list, const note *n) {
  for (size_t i = list->count; i-- > 0;)
    if (list->items[i].kind + 1 == n->kind && list->items[i].pid == n->pid &&
        !strcmp(list->items[i].path, n->path)) {
      list->items[i] = list->items[--list->count];
      return;
    }
}

/* Files are closed before a process is gone, and when it goes its children's groups lose their last
 * tie to its session: members that were stopped by then would be woken and hung up. */
static void wait_for_end(pid_t parent) {
  for (int i = 0; i < 2000 && getppid() == parent; i++)
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  nanosleep(&(struct timespec){0, 5000000}, NULL);
}

int subject_watcher(void) {
  pid_t parent = getppid();
  note_list list = {0, 0, NULL};
  note n;
  for (;;) {
    memset(&n, 0, sizeof n);
    ssize_t length = recv(STDIN_FILENO, &n, sizeof n - 1, 0);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && errno == ENOTSOCK) return -1;
    if (length <= 0) break;
    if (n.kind == WATCH_CHILD || n.kind == WATCH_FOLDER)
      remember(&list, &n);
    else
      forget(&list, &n);
  }
  if (list.count) wait_for_end(parent);
  for (size_t i = 0; i < list.count; i++)
    if (list.items[i].kind == WATCH_CHILD) processes_kill(list.items[i].pid, NULL);
  for (size_t i = 0; i < list.count; i++)
    if (list.items[i].kind == WATCH_FOLDER) folder_remove(list.items[i].path);
  free(list.items);
  return 0;
}
