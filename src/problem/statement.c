/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "statement.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

attest_status statement_add(statement_findings *into, const problem_statement *statement,
                            attest_verdict verdict, attest_error *error, const char *format, ...) {
  char *facts = NULL;
  va_list arguments;
  va_start(arguments, format);
  int length = vasprintf(&facts, format, arguments);
  va_end(arguments);
  statement_finding *findings = realloc(into->findings, (into->count + 1) * sizeof *findings);
  if (findings) into->findings = findings;
  if (length < 0 || !findings) {
    if (length >= 0) free(facts);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  }
  findings[into->count++] =
      (statement_finding){verdict, statement->kernel, statement->name, statement->by, facts};
  return ATTEST_OK;
}

void statement_clear(statement_findings *findings) {
  for (size_t i = 0; i < findings->count; i++)
    free(findings->findings[i].facts);
  free(findings->findings);
  memset(findings, 0, sizeof *findings);
}
