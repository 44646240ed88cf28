/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Limits of subjects from text. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

uint64_t subject_default_memory(void) {
  char line[128];
  unsigned long long kilobytes = 0;
  FILE *f = fopen("/proc/meminfo", "re");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "MemAvailable: %llu", &kilobytes) == 1) break;
  if (f) fclose(f);
  return kilobytes * 1024 / 5 * 4;
}

/* A plain decimal, then one of the letters of `units`, or nothing: 0 and the product, or -1. */
static int parse_scaled(double *value, const char *text, const char *units, const double *sizes,
                        double size) {
  char *end;
  if (!isdigit((unsigned char)*text) && *text != '.') return -1;
  *value = strtod(text, &end);
  if (end == text || strspn(text, "0123456789.") != (size_t)(end - text)) return -1;
  if (*end) {
    const char *unit = strchr(units, *end);
    if (!unit || end[1]) return -1;
    size = sizes[unit - units];
  }
  *value *= size;
  return *value > 0 && *value < 1e18 ? 0 : -1;
}

int subject_parse_seconds(double *seconds, const char *text) {
  static const double sizes[] = {1, 60, 3600};
  return parse_scaled(seconds, text, "smh", sizes, 1);
}

int subject_parse_bytes(uint64_t *bytes, const char *text) {
  static const double sizes[] = {0x1p10, 0x1p20, 0x1p30, 0x1p40};
  double value;
  *bytes = 0;
  if (!strcmp(text, "none")) return 0;
  if (parse_scaled(&value, text, "KMGT", sizes, 1)) return -1;
  *bytes = (uint64_t)value;
  return 0;
}
