/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reference data as JSON. */
#ifndef ATTEST_REPORT_REFERENCE_H
#define ATTEST_REPORT_REFERENCE_H

#include <stdio.h>

#include "../certify/reference.h"

/* An input of the problem and the file it came from. */
typedef struct {
  int index; /* INPUT_* */
  const char *path;
  char sha256[65]; /* of the file */
} report_reference_input;

/* Writes {"kernel", "params", "inputs": {name: {path, sha256, shape, dtype}}, "version", "digits",
 * "output": {shape, mid, rad, status}, "outputs": {"lse": ..}}: out, and every other output that
 * `decimals` holds. mid and rad are decimal strings, row-major: |mid - exact| <= rad, and mid is
 * the exact value correctly rounded where status is "rounded". path is the file's name without
 * folders. 0, or -1 when out of memory; the caller checks the stream. */
int report_reference_json(FILE *stream, const attest_problem *problem,
                          const report_reference_input *inputs, size_t input_count, long digits,
                          const reference_decimals decimals[]);

#endif
