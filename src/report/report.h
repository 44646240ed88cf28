/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* report: certificates as verdict lines, JSON and JUnit. */
#ifndef ATTEST_REPORT_REPORT_H
#define ATTEST_REPORT_REPORT_H

#include "../certify/certify.h"
#include "../problem/statement.h"

/* Everything one command found. */
typedef struct {
  size_t count;
  certify_case *cases;
  statement_findings statements;
  size_t trouble_count;  /* cases and statements that could not be compared */
  char **troubles;       /* their messages */
  size_t planned, begun; /* cases of a plan: all, and those that were run; 0, 0: no plan */
  int interrupted;       /* Ctrl-C: not all cases were begun */
  double seconds;
} report;

/* Takes the case over. 0, or -1 when out of memory (the case is cleared then). */
int report_add(report *r, certify_case *c);
/* Notes a case that failed. */
int report_add_trouble(report *r, const char *message);
void report_clear(report *r);
/* 1 when anything is refuted, else 2 when there was trouble, else 3 when anything is undecided,
 * else 0. */
int report_exit_status(const report *r);

/* One line an output; `quiet` leaves out the certified ones. Caller frees with free(); NULL when
 * out of memory. (text.c) */
char *report_text(const certify_case *c, int quiet);
/* The verdict line of a finding, with its newline, or "" when `quiet` and certified. Caller frees;
 * NULL when out of memory. */
char *report_statement_text(const statement_finding *finding, int quiet);
/* Verdicts of outputs and of statements, by attest_verdict. A subject that failed counts as one
 * refuted output. */
void report_count(size_t outputs[3], size_t statements[3], const report *r);
/* Subjects that skipped a case. */
size_t report_skipped(const report *r);
/* "certified" "refuted" "undecided". */
const char *report_verdict_name(attest_verdict verdict);
/* At most four significant digits, rounded up, "6.74": never less than the figure. */
char *report_figure(char buf[32], double figure);
/* The fewest digits that read back as the same double. */
char *report_exact_decimal(char buf[32], double x);
/* "scope=..", what part of the output the verdict speaks of. */
char *report_scope(char buf[32], const certify_output *o);
/* "interrupted,precision": why an output is undecided; "" otherwise. */
char *report_why(char buf[96], const certify_output *o);

/* The document of --json. Caller frees with free(); NULL when out of memory. (json.c) */
char *report_json(const report *r);
/* Both write a whole file or none. `text` of report_json; JUnit XML. (json.c, junit.c) */
attest_status report_write_json(const char *path, const report *r, attest_error *error);
attest_status report_write_junit(const char *path, const report *r, attest_error *error);

/* For GitHub Actions: workflow commands (an annotation for each output that is not certified) to
 * `annotations`, a summary in Markdown appended to the file `summary` (NULL: none). (github.c) */
void report_github(FILE *annotations, const char *summary, const report *r);

#endif
