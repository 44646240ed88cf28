/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "report.h"

#include <stdlib.h>
#include <string.h>

int report_add(report *r, certify_case *c) {
  certify_case *cases = realloc(r->cases, (r->count + 1) * sizeof *cases);
  if (!cases) {
    certify_case_clear(c);
    return -1;
  }
  r->cases = cases;
  cases[r->count++] = *c;
  memset(c, 0, sizeof *c);
  return 0;
}

int report_add_trouble(report *r, const char *message) {
  char **troubles = realloc(r->troubles, (r->trouble_count + 1) * sizeof *troubles);
  if (!troubles) return -1;
  r->troubles = troubles;
  if (!(troubles[r->trouble_count] = strdup(message))) return -1;
  r->trouble_count++;
  return 0;
}

void report_clear(report *r) {
  for (size_t i = 0; i < r->count; i++)
    certify_case_clear(&r->cases[i]);
  for (size_t i = 0; i < r->trouble_count; i++)
    free(r->troubles[i]);
  statement_clear(&r->statements);
  free(r->cases);
  free(r->troubles);
  memset(r, 0, sizeof *r);
}

void report_count(size_t outputs[3], size_t statements[3], const report *r) {
  for (int i = 0; i < 3; i++)
    outputs[i] = statements[i] = 0;
  for (size_t i = 0; i < r->count; i++)
    for (size_t j = 0; j < r->cases[i].subject_count; j++) {
      const certify_subject_result *s = &r->cases[i].subjects[j];
      outputs[ATTEST_REFUTED] += s->outcome == CERTIFY_FAILED;
      for (size_t k = 0; k < s->output_count; k++)
        outputs[s->outputs[k].verdict]++;
    }
  for (size_t i = 0; i < r->statements.count; i++)
    statements[r->statements.findings[i].verdict]++;
}

size_t report_skipped(const report *r) {
  size_t skipped = 0;
  for (size_t i = 0; i < r->count; i++)
    for (size_t j = 0; j < r->cases[i].subject_count; j++)
      skipped += r->cases[i].subjects[j].outcome == CERTIFY_SKIPPED;
  return skipped;
}

int report_exit_status(const report *r) {
  attest_verdict verdict = ATTEST_CERTIFIED;
  for (size_t i = 0; i < r->count; i++)
    verdict = certify_worse(verdict, certify_case_outcome(&r->cases[i]));
  for (size_t i = 0; i < r->statements.count; i++)
    verdict = certify_worse(verdict, r->statements.findings[i].verdict);
  if (verdict == ATTEST_REFUTED) return 1;
  if (r->trouble_count) return 2;
  return verdict == ATTEST_UNDECIDED || r->interrupted ? 3 : 0;
}
