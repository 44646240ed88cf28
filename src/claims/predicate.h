/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A comparison that is claimed for all values of its variables: exhaustive over integers, exact for
 * rational functions of one real variable, by subdivision for other functions of real ones. */
#ifndef ATTEST_CLAIMS_PREDICATE_H
#define ATTEST_CLAIMS_PREDICATE_H

#include "symbolic.h"

/* The steps of all evaluations of one predicate are bounded: see expression.h. */
enum {
  PREDICATE_VARIABLES_MAX = 8,
  PREDICATE_POINTS_MAX = 1000000,
  PREDICATE_STEPS = 4 * EVALUATION_STEPS
};

typedef enum { RANGE_INTEGERS, RANGE_VALUES, RANGE_REALS } range_kind;

/* The values of one variable; ends may depend on the variables before it. */
typedef struct {
  char *name, *text;
  range_kind kind;
  expression low, high, step; /* VALUES: low is the list; step absent: 1 */
  int has_step, low_infinite, high_infinite, low_open, high_open;
} predicate_range;

typedef struct {
  expression formula;
  char *text;
  int count;
  predicate_range ranges[PREDICATE_VARIABLES_MAX];
} predicate;

/* Ranges: "0..40", "0..40 step 2" (integers); "{1/2, 0.9}" (values); "[0, 1]", "(0, inf)",
 * "(-inf, inf)" (reals, which come last). */
attest_status predicate_add_range(predicate *p, const char *name, const char *text,
                                  attest_error *error);
/* After all ranges. */
attest_status predicate_set_formula(predicate *p, const char *text, attest_error *error);
void predicate_clear(predicate *p);

typedef struct {
  int truth;          /* 1 for all values, 0 for some, VALUE_UNKNOWN */
  long points, boxes; /* looked at: combinations of integers and values; boxes of reals */
  int exact_reals;    /* real ranges were decided by isolating zeros */
  char *witness;      /* truth 0: values for which it fails, "P=3, t=-2"; UNKNOWN: where it is open;
                         free() it */
} predicate_result;

attest_status predicate_decide(predicate_result *result, const predicate *p, attest_error *error);

/* Whether the formula fails at the values given as texts, one a variable, all within their ranges:
 * 1 verified, 0 not. */
attest_status predicate_fails_at(int *fails, const predicate *p, const value values[],
                                 attest_error *error);

/* ---- subdivide.c ---- */

/* Whether the formula holds for all values of the last `reals` variables in the given closed boxes
 * (how->variables has room for all); a witness is left in the variables. Numbers of boxes are
 * bounded, and steps: what is left of them comes back, an error where they run out. */
attest_status subdivide(int *truth, long *boxes, long *steps, const expression *e,
                        value variables[], int reals, const real_interval ranges[],
                        attest_error *error);

#endif
