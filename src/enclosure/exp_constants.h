/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Constants of the two exponential kernels: the single source; proofs are generated from this file.
 * Polynomials: minimax in relative error on |r| <= 0.348 (exp64) and 0.3472 (exp32) among those
 * with coefficients 1, 1 of degree 0 and 1 and coefficients of the format (Sollya fpminimax);
 * sup-norm error 2^-57.8 and 2^-28.1. */
#ifndef ATTEST_ENCLOSURE_EXP_CONSTANTS_H
#define ATTEST_ENCLOSURE_EXP_CONSTANTS_H

/* x in [EXP32_MIN, EXP32_MAX]: relative error <= 1.5 * 2^-24; below: 0. */
#define EXP32_MIN -86.0f
#define EXP32_MAX 88.0f
#define EXP32_ERROR 1.5              /* in unit roundoffs 2^-24 */
#define EXP32_LOG2E 0x1.715476p+0f   /* 1.4426950216 */
#define EXP32_LN2_HI 0x1.62e4p-1f    /* 0.6931457520 */
#define EXP32_LN2_LO 0x1.7f7d1cp-20f /* 1.4286067653e-06: |ln 2 - hi - lo| <= 2^-44 */
#define EXP32_ROUND 0x1.8p23f        /* adding it rounds to an integer in the low bits */
#define EXP32_C2 0x1.fffffap-2f      /* 0.49999991059*/
#define EXP32_C3 0x1.555492p-3f      /* 0.16666521132*/
#define EXP32_C4 0x1.555a26p-5f      /* 0.04166896269*/
#define EXP32_C5 0x1.12397ep-7f      /* 0.00836867001*/
#define EXP32_C6 0x1.694c8ep-10f     /* 0.00137824647*/

/* x in [EXP64_MIN, EXP64_MAX]: relative error <= 2 * 2^-53; below: 0. */
#define EXP64_MIN -707.0
#define EXP64_MAX 709.0
#define EXP64_ERROR 2.0                  /* in unit roundoffs 2^-53 */
#define EXP64_LOG2E 0x1.71547652b82fep+0 /* 1.4426950408889634 */
/* 0.69314718060195446 and -4.2009150726810846e-11: |ln 2 - hi - lo| <= 2^-89 */
#define EXP64_LN2_HI 0x1.62e42ffp-1
#define EXP64_LN2_LO -0x1.718432a1b0e26p-35
#define EXP64_ROUND 0x1.8p52
#define EXP64_C2 0x1.000000000000ap-1
#define EXP64_C3 0x1.55555555554f6p-3
#define EXP64_C4 0x1.55555555505d6p-5
#define EXP64_C5 0x1.11111111287bp-7
#define EXP64_C6 0x1.6c16c184c6689p-10
#define EXP64_C7 0x1.a01a012783e6dp-13
#define EXP64_C8 0x1.a0199851bc815p-16
#define EXP64_C9 0x1.71df28fc9ddb8p-19
#define EXP64_C10 0x1.28af1b211f4b3p-22
#define EXP64_C11 0x1.ad7dda9143fb8p-26

/* tanh in both formats: relative error in unit roundoffs. */
#define EXP_TANH_ERROR 12.0

#endif
