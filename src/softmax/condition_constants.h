/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Constants of step 5 of the double tier, the conditioning in float (enclose.c). The proofs read
 * them from here: proofs/softmax/sensitivity.v, second.v. */
#ifndef ATTEST_SOFTMAX_CONDITION_CONSTANTS_H
#define ATTEST_SOFTMAX_CONDITION_CONSTANTS_H

/* Roundings of A, C and E beside those of d products and of the blocks, in units of 2^-24. */
#define CONDITION_DEPTH 110.0
/* What kappa may be at most. */
#define CONDITION_KAPPA_MAX 0x1p-10
/* Weights below 2^-98, bounded and not known: a key's share in A, over max |v|; ... */
#define CONDITION_TAIL 0x1p-95
/* ... in C, over the largest t. */
#define CONDITION_TAIL_SIZE 0x1p-92
/* Products that underflow: in units of the packed values; ... */
#define CONDITION_UNDERFLOW 0x1p-142
/* ... in t, over (d + 2) (1 + |q| + |k|). */
#define CONDITION_UNDERFLOW_SIZE 0x1p-124

#endif
