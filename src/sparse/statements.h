/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is certified of sparse attention as such (problem/statement.h). */
#ifndef ATTEST_SPARSE_STATEMENTS_H
#define ATTEST_SPARSE_STATEMENTS_H

#include "../problem/statement.h"

extern const problem_statement sparse_statements[];
extern const size_t sparse_statement_count;

/* ---- identities.c ---- */
attest_status sparse_kernel_regression(statement_findings *into, const problem_statement *statement,
                                       const char *data, attest_error *error);
attest_status sparse_bandwidth_range(statement_findings *into, const problem_statement *statement,
                                     const char *data, attest_error *error);
attest_status sparse_softmax_limit(statement_findings *into, const problem_statement *statement,
                                   const char *data, attest_error *error);
/* ---- compact.c ---- */
attest_status sparse_gaussian_softmax(statement_findings *into, const problem_statement *statement,
                                      const char *data, attest_error *error);
attest_status sparse_epanechnikov(statement_findings *into, const problem_statement *statement,
                                  const char *data, attest_error *error);
attest_status sparse_nearest_keys(statement_findings *into, const problem_statement *statement,
                                  const char *data, attest_error *error);
attest_status sparse_hypotheses(statement_findings *into, const problem_statement *statement,
                                const char *data, attest_error *error);

#endif
