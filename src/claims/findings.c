/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The claims of a file as findings of attest certify --builtin: certified is a claim whose verdict
 * is the expected one. Figures that depend on the machine are left out. */
#include <stdlib.h>
#include <string.h>

#include "claims.h"

static const problem_statement paper = {
    .kernel = "claims", .name = "paper", .by = "claims", .about = "verdicts on claims of papers"};

/* The printed numbers with their blanks left out. */
static char *without_blanks(const char *text) {
  char *copy = strdup(text ? text : ""), *to = copy;
  for (const char *s = copy; s && *s; s++)
    if (*s != ' ') *to++ = *s;
  if (copy) *to = 0;
  return copy;
}

static attest_status add(statement_findings *into, const claim_result *result,
                         attest_error *error) {
  char *printed = without_blanks(result->printed);
  if (!printed) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  attest_verdict verdict = result->verdict == result->expected  ? ATTEST_CERTIFIED
                           : result->verdict == CLAIM_UNDECIDED ? ATTEST_UNDECIDED
                                                                : ATTEST_REFUTED;
  attest_status status =
      statement_add(into, &paper, verdict, error, "claim=%s verdict=%s expected=%s%s%s", result->id,
                    claim_verdict_names[result->verdict], claim_verdict_names[result->expected],
                    *printed ? " printed=" : "", printed);
  free(printed);
  return status;
}

attest_status claim_findings_add(statement_findings *into, const char *path, const char *data,
                                 attest_error *error) {
  claim_file file;
  attest_status status = claim_file_open(&file, path, error);
  if (status) return status;
  for (size_t i = 0; i < file.count && !status; i++) {
    claim_result result;
    status = claim_decide(&result, &file, i, data, error);
    if (!status) status = add(into, &result, error);
    claim_result_clear(&result);
  }
  claim_file_close(&file);
  return status;
}
