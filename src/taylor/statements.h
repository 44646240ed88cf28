/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is certified of truncated exponentials as such (problem/statement.h). */
#ifndef ATTEST_TAYLOR_STATEMENTS_H
#define ATTEST_TAYLOR_STATEMENTS_H

#include "../problem/statement.h"

extern const problem_statement taylor_statements[];
extern const size_t taylor_statement_count;

/* All forms of truncated attention are one, over the rationals. (identity.c) */
attest_status taylor_forms_are_equal(statement_findings *into, const problem_statement *statement,
                                     const char *data, attest_error *error);
/* Ranks of states and of key features, exactly. (rank.c) */
attest_status taylor_state_rank(statement_findings *into, const problem_statement *statement,
                                const char *data, attest_error *error);
/* How far truncated attention is from softmax attention, by degree. (deviation.c) */
attest_status taylor_deviation(statement_findings *into, const problem_statement *statement,
                               const char *data, attest_error *error);

#endif
