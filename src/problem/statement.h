/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Statements: what a room proves of its mathematics and of its kernels beside the comparison of
 * stored outputs: identities over the rationals, ranks, certified maxima. `attest certify
 * --builtin` decides all of them; each writes one verdict line a finding. */
#ifndef ATTEST_PROBLEM_STATEMENT_H
#define ATTEST_PROBLEM_STATEMENT_H

#include <stddef.h>

#include "../attest.h"

/* One finding. */
typedef struct {
  attest_verdict verdict;
  const char *kernel, *statement; /* "taylor", "state-rank" */
  const char *by;                 /* what decided it: "rationals", "balls", "integers" */
  char *facts;                    /* "order=2 d=16 rank=136": words key=value, one blank between */
} statement_finding;

typedef struct {
  size_t count;
  statement_finding *findings;
} statement_findings;

typedef struct problem_statement problem_statement;
struct problem_statement {
  const char *kernel, *name;
  const char *by;
  const char *about; /* one line: what is stated */
  /* Decides and adds its findings by statement_add. `data` is the folder of the project's tensors
   * (it holds stories260k/). Trouble (a status other than ATTEST_OK) is for missing files and
   * memory, never for a statement that fails: that is a finding, refuted. */
  attest_status (*run)(statement_findings *into, const problem_statement *statement,
                       const char *data, attest_error *error);
};

/* Adds a finding whose facts are printed by `format`: words key=value with one blank between them,
 * values without blanks. */
attest_status statement_add(statement_findings *into, const problem_statement *statement,
                            attest_verdict verdict, attest_error *error, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void statement_clear(statement_findings *findings);

#endif
