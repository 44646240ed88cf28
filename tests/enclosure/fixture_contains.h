/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Exact elements, as balls, inside the enclosures of the double tiers; and a search for elements
 * that come near the end of theirs. */
#ifndef ATTEST_TESTS_CONTAINS_H
#define ATTEST_TESTS_CONTAINS_H

#include "../../src/enclosure/enclosure.h"
#include "../tests.h"

typedef struct {
  int64_t elements, unknown; /* unknown: of infinite radius */
  double worst;              /* largest error / radius */
} containment;

/* Largest |y - (hi + lo)| over y in x, relative to the radius, from above: > 1 is outside. */
double containment_position(const arb_t x, double hi, double lo, double radius);
/* Counts one element; fails when it is outside. */
void containment_check(containment *seen, const char *what, const arb_t x, double hi, double lo,
                       double radius);
/* Fails when x is known to lie outside [lo, hi]. */
void containment_between(const char *what, const arb_t x, double lo, double hi);

/* error / radius of the element that n numbers make. */
typedef double containment_quality(const double *x, const void *context);
/* Moves x, one number at a time by a random factor, as long as that raises the quality; returns the
 * quality reached. The numbers are left there. n <= 16. */
double containment_climb(double *x, int n, containment_quality *quality, const void *context,
                         uint64_t *seed);

#endif
