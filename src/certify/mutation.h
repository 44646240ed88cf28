/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the mutated sources use; forced into them by the Makefile. They exist inside the self-test
 * alone: the sources of the library know nothing of mutants. */
#ifndef ATTEST_CERTIFY_MUTATION_H
#define ATTEST_CERTIFY_MUTATION_H

extern int certify_mutation; /* the mutant that is alive, from 1; 0: none */
#define MUTATED(n) (certify_mutation == (n))

/* x of a float (or of a vector of them) to 11 bits, a half-precision number's; of a double to 40.
 */
#define MUTATION_HALF(x) ((x)*8193.0f - ((x)*8193.0f - (x)))

#endif
