/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Polynomials for exp on [-b, b] with rational coefficients, and rigorous enclosures of their
 * errors, sup |p(x) - e^x| (absolute) or sup |p(x) e^-x - 1| (relative) over the interval. */
#ifndef ATTEST_TOEPLITZ_EXP_POLY_H
#define ATTEST_TOEPLITZ_EXP_POLY_H

#include <flint/fmpq_poly.h>

#include "../enclosure/enclosure.h"

typedef enum {
  EXP_TAYLOR,    /* sum x^k / k! */
  EXP_CHEBYSHEV, /* I_0(b) + 2 sum I_k(b) T_k(x / b), the Chebyshev series cut at the degree */
  EXP_MINIMAX    /* least sup error of its degree (Remez) */
} exp_poly_kind;
typedef enum { EXP_ABSOLUTE, EXP_RELATIVE } exp_poly_measure;

enum { EXP_POLY_DEGREE_MAX = 256 };

/* The polynomial of the given degree, b > 0. Taylor coefficients are exact; the others are dyadic
 * in x/b, rounded to a relative 2^-bits (bits >= 64) where the optimum is irrational. `measure`
 * matters for the minimax polynomial only. */
attest_status exp_poly(fmpq_poly_t p, exp_poly_kind kind, exp_poly_measure measure, int64_t degree,
                       const fmpq_t b, slong bits, attest_error *error);

/* sup of the error as a ball of relative width below 2^-16. Infinite where 2^16 bits are not
 * enough.
 */
void exp_poly_error(arb_t sup, const fmpq_poly_t p, const fmpq_t b, exp_poly_measure measure);
/* The same with a relative width below 2^(2-bits), 4 <= bits <= 18: sooner done. */
void exp_poly_error_bits(arb_t sup, const fmpq_poly_t p, const fmpq_t b, exp_poly_measure measure,
                         slong bits);

/* A lower bound of the error of every polynomial of the degree of p, by the alternation of p's
 * error at degree + 2 points (de la Vallee Poussin): for minimax polynomials close to their error.
 * The points are those of Remez for (degree, b, measure). 0 where the signs do not alternate. */
attest_status exp_poly_least_error(arb_t least, int64_t degree, const fmpq_t b,
                                   exp_poly_measure measure, attest_error *error);

/* The least degree whose error is at most eps: for minimax, of any polynomial at all; else of the
 * family. Rigorous: every smaller degree has an error that is proved to exceed eps. b > 0, eps > 0.
 */
attest_status exp_poly_degree(int64_t *degree, exp_poly_kind kind, exp_poly_measure measure,
                              const fmpq_t b, const fmpq_t eps, attest_error *error);

#endif
