/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Two certificates, an old and a new one, output by output. */
#ifndef ATTEST_REPORT_COMPARE_H
#define ATTEST_REPORT_COMPARE_H

#include <jansson.h>
#include <stdio.h>

#include "../attest.h"

typedef struct {
  size_t same, better, worse, missing, added;
} compare_counts;

/* The document in a file, json_decref(); what cannot be read is named. */
attest_status compare_load(json_t **document, const char *path, attest_error *error);

/* Prints a line for each output whose verdict changed, that is missing or new, or whose largest
 * error (in the first bound's measure) grew by more than `growth` (0: not looked at); counts all.
 * A verdict that got worse, a missing output and such growth are regressions: worse and missing. */
attest_status compare_certificates(compare_counts *counts, FILE *f, const char *old_path,
                                   const char *new_path, double growth, attest_error *error);

/* Whether the file holds what attest bench --json writes. */
int compare_is_benchmark(const char *path);
/* The same for two of those: a line for each figure that is more than `growth` >= 1 times worse or
 * better (times, errors and ratios better when less, rates and fractions when more), missing or
 * new, and for each largest backward error. (compare_bench.c) */
attest_status compare_benchmarks(compare_counts *counts, FILE *f, const char *old_path,
                                 const char *new_path, double growth, attest_error *error);

#endif
