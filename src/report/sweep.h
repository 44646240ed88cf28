/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a sweep found: a verdict line, tables, JSON. Everything but "environment" and "timing" of
 * the JSON is the same on every machine. */
#ifndef ATTEST_REPORT_SWEEP_H
#define ATTEST_REPORT_SWEEP_H

#include "../certify/sweep.h"
#include "../certify/theorems.h"

/* What its figures rest on. */
char *report_sweep_basis(char basis[THEOREM_BASIS], const sweep_request *request);
/* The verdict line. */
void report_sweep_line(FILE *f, const sweep_result *result, const sweep_request *request);
/* Histograms and special values, for people. */
void report_sweep_tables(FILE *f, const sweep_result *result, const sweep_request *request);
/* The JSON document, schema attest-sweep/1, in a file. */
attest_status report_sweep_json(const char *path, const sweep_result *result,
                                const sweep_request *request, attest_error *error);

#endif
