/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The self-test as documents: JSON (schema attest-selftest/1) and, for people, HTML with the kill
 * matrix: which rule finds which mutant. Both are the same on every machine. */
#ifndef ATTEST_REPORT_SELFTEST_H
#define ATTEST_REPORT_SELFTEST_H

#include "../certify/selftest.h"

/* What became of one mutant. */
typedef struct {
  const mutant *mutant;
  selftest_result result;
} selftest_row;

typedef struct {
  size_t count;
  selftest_row *rows;
  selftest_totals totals;
} selftest_matrix;

attest_status report_selftest_json(const char *path, const selftest_matrix *m, attest_error *error);
attest_status report_selftest_html(const char *path, const selftest_matrix *m, attest_error *error);

#endif
