/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* From an expression to what is printed or decided about it: precision is raised until the answer
 * is certain. */
#ifndef ATTEST_CLAIMS_DECIDE_H
#define ATTEST_CLAIMS_DECIDE_H

#include "expression.h"

enum { DECIDE_DIGITS_MAX = 100000, DECIDE_PRECISION_MAX = 1 << 15 };

typedef struct {
  char *text;  /* the value; where undecided, the enclosure "[lo, hi]"; free() it */
  int decided; /* every digit of the text is right */
} decision;

/* The value of e. Rationals with a terminating decimal expansion are printed exactly; other numbers
 * rounded to nearest at `digits` significant digits; lists in brackets; truth values as true and
 * false. `as_fraction`: numbers as p/q, an error for those that are not known to be rational. */
attest_status decide_text(decision *d, const expression *e, long digits, int as_fraction,
                          attest_error *error);

/* The value as text, or NULL where `v` does not decide it yet (or memory ran out). */
char *decide_value_text(const value *v, long digits, slong prec);
/* "[lo, hi]" of a number; of truth values and lists likewise. NULL when out of memory. */
char *decide_enclosure_text(const value *v, long digits, slong prec);

/* The truth of e at the given variables: 1, 0, or VALUE_UNKNOWN beyond the largest precision.
 * Starts at how->prec. */
attest_status decide_truth(int *truth, const expression *e, evaluation *how, slong prec_max,
                           attest_error *error);

#endif
