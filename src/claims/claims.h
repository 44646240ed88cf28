/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Claim files: numbers and statements of papers, each decided by computation.
 *
 * A claim has an id and one or more checks:
 *   expr + printed     the value rounds to the printed decimal in its last digit (lists: each one)
 *   predicate + for    a comparison holds for all values of its variables
 *   run                what the project's own kernels do (run.h)
 *   certified          what the rooms certify of their mathematics (certified.h)
 * and perhaps a counterexample of its predicate, a corrected form with checks of its own, and a
 * hypothesis under which the corrected form is what was meant. Verdicts:
 *   holds              every check holds
 *   refuted            a check fails: by its enclosure, or by a verified counterexample
 *   needs-hypothesis   refuted as printed, but the corrected form holds under the hypothesis stated
 *   measured           a figure of a run (a time, say) beside the printed one: never certified
 *   undecided          neither could be shown
 *   not-checkable      there is nothing to compute, for the reason stated */
#ifndef ATTEST_CLAIMS_CLAIMS_H
#define ATTEST_CLAIMS_CLAIMS_H

#include "../tensor/config.h"
#include "certified.h"
#include "predicate.h"
#include "run.h"

typedef enum {
  CLAIM_HOLDS,
  CLAIM_REFUTED,
  CLAIM_NEEDS_HYPOTHESIS,
  CLAIM_MEASURED,
  CLAIM_UNDECIDED,
  CLAIM_NOT_CHECKABLE,
  CLAIM_VERDICTS
} claim_verdict;
extern const char *const claim_verdict_names[CLAIM_VERDICTS];

typedef enum { CHECK_EXPRESSION, CHECK_PREDICATE, CHECK_RUN, CHECK_CERTIFIED } check_kind;

typedef struct {
  check_kind kind;
  int line;
  expression expr;
  size_t printed_count;
  char **printed; /* decimals or fractions */
  predicate condition;
  size_t counterexample_count;
  expression *counterexample; /* one a variable of the predicate, in their order */
  claim_run run;
  claim_certified certified;
} claim_check;

typedef struct {
  char *id, *source, *statement, *hypothesis, *reason, *note;
  int line;
  claim_verdict expected;
  size_t check_count, corrected_count;
  claim_check *checks, *corrected;
} claim;

typedef struct {
  char *path;
  size_t count;
  claim *claims;
} claim_file;

/* Reads and parses a whole file; messages begin with "PATH:LINE: ". */
attest_status claim_file_open(claim_file *file, const char *path, attest_error *error);
void claim_file_close(claim_file *file);
/* Whether a check needs the folder of the project's tensors. */
int claim_file_needs_data(const claim_file *file);

/* What was found out about one claim. Texts are owned; NULL where there are none. */
typedef struct {
  const char *id; /* of the claim */
  claim_verdict verdict, expected;
  char *printed; /* as in the paper: "0.5, 0.27, 0.15" */
  /* The enclosure of the value, or of each value, that the printed number stands for. */
  size_t count;
  char **low, **high;
  char *note; /* what was verified, and how */
} claim_result;

/* Trouble (not a verdict): a domain error, a predicate without bounds, a kernel that is not built.
 * `data`: the folder that holds stories260k/. `result` is to be cleared in any case. */
attest_status claim_decide(claim_result *result, const claim_file *file, size_t i, const char *data,
                           attest_error *error);
void claim_result_clear(claim_result *result);

/* All claims of a file as findings (findings.c). */
attest_status claim_findings_add(statement_findings *into, const char *path, const char *data,
                                 attest_error *error);

#endif
