/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Predicates about rational functions of one real variable, decided exactly. */
#ifndef ATTEST_CLAIMS_SYMBOLIC_H
#define ATTEST_CLAIMS_SYMBOLIC_H

#include "expression.h"

/* An interval of real numbers; ends that are infinite have no value. */
typedef struct {
  fmpq_t low, high;
  int low_infinite, high_infinite, low_open, high_open;
} real_interval;

void real_interval_init(real_interval *x);
void real_interval_clear(real_interval *x);
int real_interval_is_empty(const real_interval *x);
int real_interval_contains(const real_interval *x, const fmpq_t point);

/* num/den, den not zero. */
typedef struct {
  fmpq_poly_t num, den;
} rational_function;

/* Whether the predicate holds for every value in `range` of the last variable: 1, 0 (*witness is
 * then a value for which it does not, rational where that is possible, else a ball), or
 * VALUE_UNKNOWN when it is not a comparison of rational functions with rational coefficients, or of
 * a degree that is too high. Denominators that vanish in the range are an error. */
attest_status symbolic_decide(int *truth, value *witness, const expression *e,
                              const evaluation *how, const real_interval *range,
                              attest_error *error);

/* ---- sturm.c ---- */

/* Whether p(t) OPERATOR 0 (operators as in NODE_COMPARE) for all t in the range; as above. */
int symbolic_sign(value *witness, const fmpq_poly_t p, char operator, const real_interval * range);

#endif
