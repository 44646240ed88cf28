/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Shared by the files of this folder. */
#ifndef ATTEST_VERBS_INTERNAL_H
#define ATTEST_VERBS_INTERNAL_H

#include <glob.h>
#include <signal.h>

#include "../report/progress.h"
#include "../report/report.h"
#include "../subject/subject.h"
#include "options.h"

/* --input, --bf16, --threads: flags of every verb that takes a problem. */
extern const verb_flag verb_problem_flags[];
extern const size_t verb_problem_flag_count;

/* The help of one verb, generated from its tables, on standard output; parameters are those of
 * `kernel`, of all kernels when it is NULL. */
void verb_help_print(const verb_definition *definition, const problem_kernel *kernel);

/* "  name      text": one row of a help, the text in its column. */
void verb_help_row(const char *name, const char *text);

/* The folder that holds `what` ("stories260k/q.npy"): the one given, or, where that is NULL, data,
 * $ATTEST_DATA or the installed one (data.c). 0, or 2 after the complaint. */
int verb_find_data(char folder[4096], const char *given, const char *what);
/* The claim files of a data folder, in the order of their names; globfree(). Their number. */
size_t verb_claim_files(glob_t *found, const char *folder);

/* ---- --library and --exec (subject.c) ---- */

int verb_has_subject(const verb_options *options);
/* --timeout and --memory. */
attest_status verb_subject_limits(subject_limits *limits, const verb_options *options,
                                  attest_error *error);
/* Runs the subject on the resolved problem and makes what it returns its outputs. `result` is to be
 * cleared after the problem is freed; *name is how verdict lines call it. */
attest_status verb_subject_run(subject_result *result, const char **name, attest_problem *problem,
                               const verb_options *options, attest_error *error);
/* On standard error: why there is nothing to compare, and what the subject printed. */
void verb_subject_explain(const subject_result *result);

/* ---- attest certify PLAN (plan.c) ---- */

int verb_certify_plan(report *r, const verb_options *options, const char *path);

/* ---- check and certify (finish.c) ---- */

/* Set by the first Ctrl-C (or SIGTERM) after verb_catch_interrupts; the second one kills. */
extern volatile sig_atomic_t verb_interrupted;
void verb_catch_interrupts(void);
/* --threads: 0, or 2 after the complaint. */
int verb_set_threads(const verb_options *options);
/* 0, or 2 after the complaint that a file to be written (--json, --junit, --html, --output) is also
 * named as another. (refuse.c) */
int verb_check_overwrite(const verb_options *options);
/* Whether a text ("F" or "F:NAME") names the file of a path, devices left out. (refuse.c) */
int verb_is_same_file(const char *spec, const char *path);
/* Without a subject to run, flags that limit one have no use: 0, or 2 after the complaint. */
int verb_refuse_limits(const verb_options *options);
/* A line on standard error for each flag that changes nothing under the bounds given. (refuse.c) */
void verb_note_unused(const verb_options *options, const certify_bounds *bounds);
/* Whether --json, --junit and --html can be written, asked before the work: 0, or 2 after the
 * complaint. */
int verb_can_report(const verb_options *options);
/* Verdict lines to standard output (--quiet: the certified ones left out); how to repeat a refuted
 * case to standard error. */
void verb_print_case(const certify_case *c, const verb_options *options, progress *p);
/* A word of a command line, quoted where a shell would take it apart. */
void verb_print_quoted(FILE *f, const char *word);
/* Writes --json and --junit and returns the exit status. */
int verb_finish(report *r, const verb_options *options);

#endif
