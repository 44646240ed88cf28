/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The self-test: one frozen plan whose bounds certify every sound kernel and refute every mutant of
 * mutants.h, and outputs with known verdicts that every mutant of the comparator gets wrong. */
#ifndef ATTEST_CERTIFY_SELFTEST_H
#define ATTEST_CERTIFY_SELFTEST_H

#include "mutants.h"
#include "synthetic.h"

/* ---- the frozen plan (selftest_plan.c) ---- */

typedef struct {
  synthetic_case problem;
  uint64_t seed;
  attest_dtype dtype; /* of the outputs */
  int fft;            /* the FFT form of toeplitz instead of the kernel of the room */
  const char *bounds; /* "out:backward<=6;lse:backward<=3": every output is named */
} selftest_case;

extern const selftest_case selftest_plan[];
extern const size_t selftest_plan_count;

/* NULL: there is none. */
const selftest_case *selftest_plan_find(const char *kernel, const char *name, attest_dtype dtype);

/* ---- usual rules (selftest_rules.c) ---- */

enum { SELFTEST_RULES = 6, SELFTEST_RATIO = 8 };
extern const char *const selftest_rule_names[SELFTEST_RULES];
/* Whether each rule finds fault with `got`, n numbers: as bits. `reference`: what a float64 kernel
 * returned; `baseline`: what a sound kernel of the format under test did. */
unsigned selftest_rules(const double *got, const double *reference, const double *baseline,
                        int64_t n);

/* ---- outputs that were stored (selftest_stored.c) ---- */

enum { SELFTEST_STORED = 5 };
typedef struct selftest_stored selftest_stored;
/* Writes the files, in a folder of their own below $TMPDIR or /tmp, which closing removes (or the
 * watcher of subjects, where that was started). */
attest_status selftest_stored_open(selftest_stored **stored, attest_error *error);
void selftest_stored_close(selftest_stored *stored);
const char *selftest_stored_name(size_t i);
/* Whether this library (NULL: the library itself) reads file i as what it is. */
int selftest_stored_holds(const selftest_stored *stored, size_t i, const mutant_library *library);

/* ---- outputs with known verdicts (selftest_known.c) ---- */

typedef struct selftest_known selftest_known;
attest_status selftest_known_open(selftest_known **known, attest_error *error);
void selftest_known_close(selftest_known *known);
size_t selftest_known_count(const selftest_known *known);
const char *selftest_known_name(const selftest_known *known, size_t i);
/* Whether the verdict on i by this library (NULL: the library itself) is the known one. */
int selftest_known_holds(const selftest_known *known, size_t i, const mutant_library *library);

/* ---- the test (selftest.c) ---- */

typedef struct selftest selftest;

typedef struct {
  size_t sound, sound_failed; /* cases; not certified, other bits in the copy, or a loose bound */
  size_t known, known_wrong;  /* outputs with known verdicts; those that got another */
  size_t mutants, killed, not_applied;
  size_t kernel_mutants, found[SELFTEST_RULES]; /* mutants of kernels, found by each usual rule */
  size_t rejected[SELFTEST_RULES];              /* sound cases that the rule finds fault with */
  double ratio;                                 /* the largest bound / measured error */
  char digest[17];                              /* of all inputs of the plan */
} selftest_totals;
/* Whether everything sound was certified, every known verdict was right and every mutant killed. */
int selftest_holds(const selftest_totals *totals);

/* Runs the sound kernels on the plan. */
attest_status selftest_open(selftest **test, const mutant_library *library, attest_error *error);
void selftest_close(selftest *test);
/* Judges the sound kernels and the outputs with known verdicts. */
attest_status selftest_begin(selftest_totals *totals, selftest *test, attest_error *error);

/* A sound kernel on case i of the plan. */
typedef struct {
  const char *kernel, *name;
  attest_dtype dtype;
  attest_verdict verdict;
  int same; /* the copy without a living mutant returns the same bits */
  size_t output_count;
  struct {
    const char *output;
    measure_kind measure;
    double measured, limit; /* in units of the measure */
  } outputs[3];
  unsigned rules; /* usual rules that find fault with it, as bits */
} selftest_sound;
const selftest_sound *selftest_sound_case(selftest_totals *totals, const selftest *test, size_t i);
/* The verdict of the library itself on output i of selftest_known: NULL when it is the known one,
 * else the name of the output. */
const char *selftest_known_wrong(selftest_totals *totals, const selftest *test, size_t i);

typedef struct {
  int applied; /* it was found in the sources, and changed bits or verdicts */
  int killed;
  size_t cases, differing; /* that it was tried on; those with other bits or verdicts: of mutants of
                              the comparator, up to about the first */
  char by[96];             /* the first case that refutes it */
  char error[64];          /* "backward=1.2e+05" */
  int is_kernel;           /* else rules says nothing */
  unsigned rules; /* usual rules that find fault somewhere where they pass the sound kernel */
} selftest_result;
attest_status selftest_run_mutant(selftest_result *result, selftest_totals *totals, selftest *test,
                                  size_t m, attest_error *error);

#endif
