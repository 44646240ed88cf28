/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "processes.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  pid_t pid, parent, group;
  char state; /* as in /proc/PID/stat: 'Z' has ended */
  int member;
} process;

typedef struct {
  size_t count, capacity;
  process *items;
} process_list;

/* 0 and the process, or -1 when it is gone. */
static int read_process(process *p, const char *pid) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
  FILE *f = fopen(path, "re");
  if (!f) return -1;
  size_t length = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[length] = 0;
  /* The name stands in parentheses and may hold any character. */
  const char *after = strrchr(text, ')');
  int parent, group;
  if (!after || sscanf(after + 1, " %c %d %d", &p->state, &parent, &group) != 3) return -1;
  *p = (process){(pid_t)atoi(pid), parent, group, p->state, 0};
  return 0;
}

static void list_all(process_list *list) {
  DIR *folder = opendir("/proc");
  struct dirent *entry;
  while (folder && (entry = readdir(folder))) {
    process p;
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || read_process(&p, entry->d_name))
      continue;
    if (list->count == list->capacity) {
      size_t capacity = list->capacity ? 2 * list->capacity : 256;
      process *items = realloc(list->items, capacity * sizeof *items);
      if (!items) break;
      list->items = items;
      list->capacity = capacity;
    }
    list->items[list->count++] = p;
  }
  if (folder) closedir(folder);
}

static int is_member(const process_list *list, pid_t pid) {
  for (size_t i = 0; i < list->count; i++)
    if (list->items[i].pid == pid) return list->items[i].member;
  return 0;
}

/* Marks what belongs to `root`; `spared` NULL: adopted processes are not looked for. */
static void mark(process_list *list, pid_t root, int (*spared)(pid_t pid)) {
  int changed = 1;
  pid_t self = getpid();
  while (changed) {
    changed = 0;
    for (size_t i = 0; i < list->count; i++) {
      process *p = &list->items[i];
      if (p->member || p->pid == self) continue;
      int adopted = p->parent == self && spared && !spared(p->pid);
      p->member = p->pid == root || p->group == root || adopted || is_member(list, p->parent);
      changed |= p->member;
    }
  }
}

uint64_t processes_memory(pid_t root) {
  process_list list = {0, 0, NULL};
  uint64_t own = 0, shared_most = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);
  list_all(&list);
  mark(&list, root, NULL);
  for (size_t i = 0; i < list.count; i++) {
    if (!list.items[i].member) continue;
    char path[64];
    unsigned long long size, resident, shared;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)list.items[i].pid);
    FILE *f = fopen(path, "re");
    if (!f) continue;
    if (fscanf(f, "%llu %llu %llu", &size, &resident, &shared) == 3 && resident >= shared) {
      own += (resident - shared) * page;
      if (shared * page > shared_most) shared_most = shared * page;
    }
    fclose(f);
  }
  free(list.items);
  return own + shared_most;
}

/* Stops all of them first: what is killed while others run leaves orphans that nobody finds, unless
 * they come to this process. Whatever cannot be stopped is killed as it is. */
static void stop_all(pid_t root, int (*spared)(pid_t pid)) {
  for (int round = 0; round < 20; round++) {
    process_list list = {0, 0, NULL};
    size_t running = 0;
    list_all(&list);
    mark(&list, root, spared);
    for (size_t i = 0; i < list.count; i++) {
      const process *p = &list.items[i];
      if (!p->member || strchr("ZXTt", p->state)) continue;
      running++;
      kill(p->pid, SIGSTOP);
    }
    free(list.items);
    if (!running) return;
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
}

void processes_kill(pid_t root, int (*spared)(pid_t pid)) {
  stop_all(root, spared);
  /* Whatever forks while it is being killed is found in a later round. */
  for (int round = 0; round < 200; round++) {
    process_list list = {0, 0, NULL};
    size_t alive = 0;
    list_all(&list);
    mark(&list, root, spared);
    kill(-root, SIGKILL);
    for (size_t i = 0; i < list.count; i++) {
      const process *p = &list.items[i];
      if (!p->member) continue;
      if (p->state != 'Z') {
        alive++;
        kill(p->pid, SIGKILL);
      } else if (p->pid != root && p->parent == getpid()) {
        waitpid(p->pid, NULL, WNOHANG);
      }
    }
    free(list.items);
    if (!alive && round > 0) return;
    nanosleep(&(struct timespec){0, round < 5 ? 1000000 : 10000000}, NULL);
  }
}

int processes_await_input(pid_t root) {
  process_list list = {0, 0, NULL};
  int waits = 0;
  list_all(&list);
  mark(&list, root, NULL);
  for (size_t i = 0; i < list.count && !waits; i++) {
    if (!list.items[i].member) continue;
    char path[64];
    long call;
    unsigned long long descriptor;
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)list.items[i].pid);
    FILE *f = fopen(path, "re");
    if (!f) continue;
    waits = fscanf(f, "%ld %llx", &call, &descriptor) == 2 && call == SYS_read && descriptor == 0;
    fclose(f);
  }
  free(list.items);
  return waits;
}
