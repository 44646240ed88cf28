/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where the data folder is: named, here, in the environment, or where attest is installed. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static int holds(const char *folder, const char *what) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", folder, what);
  return access(path, R_OK) == 0;
}

/* PREFIX/share/attest/data for a command in PREFIX/bin: 0, or -1. */
static int installed_data(char folder[4096]) {
  ssize_t n = readlink("/proc/self/exe", folder, 4000);
  if (n <= 0) return -1;
  folder[n] = 0;
  for (int i = 0; i < 2; i++) {
    char *slash = strrchr(folder, '/');
    if (!slash) return -1;
    *slash = 0;
  }
  strcat(folder, "/share/attest/data");
  return 0;
}

int verb_find_data(char folder[4096], const char *given, const char *what) {
  const char *variable = getenv("ATTEST_DATA");
  const char *candidates[] = {given ? given : "data", given ? NULL : variable};
  for (size_t i = 0; i < 2; i++)
    if (candidates[i] && strlen(candidates[i]) < 4096 && holds(candidates[i], what)) {
      strcpy(folder, candidates[i]);
      return 0;
    }
  if (!given && !installed_data(folder) && holds(folder, what)) return 0;
  return verb_usage_error("%s/%s cannot be read: name the folder with --data or ATTEST_DATA",
                          given      ? given
                          : variable ? variable
                                     : "data",
                          what);
}
