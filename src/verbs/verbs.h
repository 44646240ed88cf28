/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The verbs of the command, one file each. argv[0] is the verb's own name; the result is the exit
 * status of the command. */
#ifndef ATTEST_VERBS_VERBS_H
#define ATTEST_VERBS_VERBS_H

enum {
  EXIT_HOLDS = 0,     /* everything that was asked for holds */
  EXIT_REFUTED = 1,   /* something is refuted */
  EXIT_TROUBLE = 2,   /* usage, malformed input, no memory, no disk */
  EXIT_UNDECIDED = 3, /* something stayed open */
};

int verb_check(int argc, char **argv);
int verb_certify(int argc, char **argv);
int verb_reference(int argc, char **argv);
int verb_tolerance(int argc, char **argv);
int verb_sweep(int argc, char **argv);
int verb_report(int argc, char **argv);
int verb_claims(int argc, char **argv);
int verb_eval(int argc, char **argv);
int verb_inspect(int argc, char **argv);
int verb_kernels(int argc, char **argv);
int verb_bench(int argc, char **argv);
int verb_selftest(int argc, char **argv);

/* The processes that call a library under test: started by check, certify and sweep only. */
int verb_subject_worker(int argc, char **argv);
int verb_function_worker(int argc, char **argv);
/* The process that cleans up after them when attest is killed. */
int verb_subject_watcher(int argc);

/* The whole command: argv[1] names the verb (help.c). */
int verb_dispatch(int argc, char **argv);

#endif
