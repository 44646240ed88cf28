/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The statements of all rooms. */
#ifndef ATTEST_CERTIFY_STATEMENTS_H
#define ATTEST_CERTIFY_STATEMENTS_H

#include "../problem/statement.h"

size_t certify_statement_count(void);
const problem_statement *certify_statement(size_t i);

#endif
