/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* argv of one verb: flags, operands and, where the verb takes them, the parameters and tensors of a
 * problem, all from tables that also print the help. Strict: no abbreviations, '-' and '_' alike,
 * "--flag value" and "--flag=value" alike, a flag given twice only with the same value. */
#ifndef ATTEST_VERBS_OPTIONS_H
#define ATTEST_VERBS_OPTIONS_H

#include "../problem/problem.h"

/* A flag of the verb itself, beyond the parameters of problems. */
typedef struct {
  const char *name;     /* "json" */
  const char *argument; /* "FILE"; NULL: the flag stands alone */
  int repeats;          /* may be given several times with several values */
  const char *help;     /* one line */
} verb_flag;

enum {
  VERB_PROBLEM =
      1, /* accepts KERNEL, the table of parameters, tensors, --input, --bf16, --threads */
  VERB_OUTPUTS = 2, /* ... and the tensors that a kernel returned: --out, --lse, --final-state */
  VERB_MINUS = 4    /* operands may start with a minus sign */
};

typedef struct {
  const char *usage;   /* "attest check KERNEL --q F --k F --v F --out F [flags]" */
  const char *summary; /* what it does: one or more lines */
  const char *example; /* one or more command lines */
  const verb_flag *flags;
  size_t flag_count;
  unsigned accepts; /* VERB_* */
  size_t operands_min, operands_max;
} verb_definition;

typedef struct {
  const char *name;           /* as in the tables: dashes */
  const char *spelled;        /* as typed, without the leading dashes, '_' made '-' */
  const char *value;          /* NULL: a flag that stands alone */
  const problem_param *param; /* NULL: not a parameter */
} verb_setting;

typedef struct {
  const verb_definition *definition;
  size_t operand_count, setting_count;
  const char **operands;
  verb_setting *settings;
  char *spellings; /* storage of the names */
} verb_options;

/* -1: parsed, go on (and later verb_options_clear). Otherwise the exit status: 0 after --help has
 * been printed, 2 after a usage error has been explained on standard error. */
int verb_options_parse(verb_options *options, const verb_definition *definition, int argc,
                       char **argv);
void verb_options_clear(verb_options *options);

/* The value of a flag ("" for one that stands alone), NULL when it was not given. */
const char *verb_option(const verb_options *options, const char *name);
/* The n-th value of a flag that repeats, NULL after the last. */
const char *verb_option_nth(const verb_options *options, const char *name, size_t n);
/* A positive integer flag: 0 and *value (`fallback` when absent), or 2 after the complaint. */
int verb_option_count(long *value, const verb_options *options, const char *name, long fallback);

/* Prints "attest: message" and returns EXIT_TROUBLE. */
int verb_trouble(const attest_error *error);
int verb_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- the problem that the options describe
 * -------------------------------------------------------- */

typedef struct {
  const char *name; /* "q", "alibi-slopes", "out" */
  char *spec;       /* "F" or "F:NAME" as given */
  tensor_file *file;
  int borrowed;         /* an earlier tensor closes the file */
  int is_output, index; /* INPUT_* or OUTPUT_* */
} verb_tensor;

typedef struct {
  attest_problem *problem;
  size_t tensor_count;
  verb_tensor *tensors;
  int has_raw; /* --shape was used */
} verb_problem;

/* Kernel (operand 0), parameters, input tensors and outputs of `options`, resolved. */
attest_status verb_problem_open(verb_problem *p, const verb_options *options, attest_error *error);
void verb_problem_close(verb_problem *p);

#endif
