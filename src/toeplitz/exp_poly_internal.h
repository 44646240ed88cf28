/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of the exponential's polynomials share with each other only. */
#ifndef ATTEST_TOEPLITZ_EXP_POLY_INTERNAL_H
#define ATTEST_TOEPLITZ_EXP_POLY_INTERNAL_H

#include "exp_poly.h"

void exp_poly_dyadic(fmpq_t c, const arb_t x, slong bits);
void exp_poly_stretch(fmpq_poly_t p, const fmpq_t b);
/* Value of the error function at the point x: p(x) - e^x or p(x) e^-x - 1. (exp_poly_error.c) */
void exp_poly_difference(arb_t f, const fmpq_poly_t p, const arb_t x, exp_poly_measure measure,
                         slong prec);
/* The polynomial after at most `rounds` exchanges (0: that of the first points; else an error where
 * they have not settled) and, unless NULL, its degree + 2 alternation points in increasing order.
 * Neither carries a proof: exp_poly_error and exp_poly_alternation give it. (remez.c) */
attest_status exp_poly_remez(fmpq_poly_t p, fmpq *points, exp_poly_measure measure, int64_t degree,
                             const fmpq_t b, slong bits, int rounds, attest_error *error);
/* exp_poly_least_error after at most so many exchanges. (exp_poly_error.c) */
attest_status exp_poly_alternation(arb_t least, int64_t degree, const fmpq_t b,
                                   exp_poly_measure measure, int rounds, attest_error *error);
enum { EXP_POLY_EXCHANGES = 40 };

#endif
