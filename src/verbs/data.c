/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where the data folder is: named, here, in the environment, or beside the command. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static int holds(const char *folder, const char *what) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", folder, what);
  return access(path, R_OK) == 0;
}

/* For a command in PREFIX/bin the folder PREFIX/share/attest/data; for one in TOP/build the folder
 * TOP/data: 1 when it holds `what`. */
static int find_beside(char folder[4096], const char *what) {
  ssize_t n = readlink("/proc/self/exe", folder, 4000);
  if (n <= 0) return 0;
  folder[n] = 0;
  for (int i = 0; i < 2; i++) {
    char *slash = strrchr(folder, '/');
    if (!slash) return 0;
    *slash = 0;
  }
  size_t top = strlen(folder);
  strcpy(folder + top, "/share/attest/data");
  if (holds(folder, what)) return 1;
  strcpy(folder + top, "/data");
  return holds(folder, what);
}

int verb_find_data(char folder[4096], const char *given, const char *what) {
  const char *variable = getenv("ATTEST_DATA");
  const char *candidates[] = {given ? given : "data", given ? NULL : variable};
  for (size_t i = 0; i < 2; i++)
    if (candidates[i] && strlen(candidates[i]) < 4096 && holds(candidates[i], what)) {
      strcpy(folder, candidates[i]);
      return 0;
    }
  if (!given && find_beside(folder, what)) return 0;
  return verb_usage_error("%s/%s cannot be read: name the folder with --data or ATTEST_DATA",
                          given      ? given
                          : variable ? variable
                                     : "data",
                          what);
}

size_t verb_claim_files(glob_t *found, const char *folder) {
  char pattern[4200];
  snprintf(pattern, sizeof pattern, "%s/claims/*.yaml", folder);
  memset(found, 0, sizeof *found);
  return glob(pattern, 0, NULL, found) ? 0 : found->gl_pathc;
}
