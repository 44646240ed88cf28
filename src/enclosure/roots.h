/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Certified real zeros of integer polynomials. */
#ifndef ATTEST_ENCLOSURE_ROOTS_H
#define ATTEST_ENCLOSURE_ROOTS_H

#include "flint_poly.h"

/* The sign of f at the finite ball x where all of x agrees: -1, 0 (f is exactly zero there), 1, or
 * 2 when `prec` bits do not tell. */
int roots_sign(const fmpz_poly_t f, const arb_t x, slong prec);

/* The exact sign of f at a dyadic point; `prec` bits are tried first. */
int roots_sign_arf(const fmpz_poly_t f, const arf_t x, slong prec);
/* The exact sign of f at a rational point. */
int roots_sign_fmpq(const fmpz_poly_t f, const fmpq_t x);

/* Narrows x, an interval in which f has exactly one zero and changes its sign, to about `prec`
 * relative bits (absolute ones about a zero at 0). The zero never leaves x. Quadratic: interval
 * Newton, X <- X cut with m - f(m)/f'(X), and bisection where that does not halve X. */
void roots_refine(arb_t x, const fmpz_poly_t f, slong prec);

/* The real zeros of a squarefree f in ascending order, as disjoint balls of `prec` bits, each with
 * exactly one: their number, *zeros to be freed with _arb_vec_clear. */
slong roots_real(arb_ptr *zeros, const fmpz_poly_t f, slong prec);

#endif
