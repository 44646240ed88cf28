/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* positivity: the partial sums T_P(t) = sum_{m <= P} t^m / m! of exp as attention weights. Where
 * they are positive, how small they get, and what alignment it takes to single out one key.
 *
 * Sources: the posfloor text (floors, required alignment; its printed alignment formula counts the
 * floor twice), Expanding Attention (truncation error, dimension of the feature map). */
#ifndef ATTEST_POSITIVITY_POSITIVITY_H
#define ATTEST_POSITIVITY_POSITIVITY_H

#include "../enclosure/function.h"

enum { POSITIVITY_ORDER_MAX = 1000 };

/* ---- floors (floor.c) ---- */

/* P! T_P, with integer coefficients P!/m!. */
void positivity_polynomial(fmpz_poly_t f, ulong order);
/* T_P(t). */
void positivity_taylor(value *result, ulong order, const value *t, slong prec);
/* The number of real zeros of T_P in (a, b], by Sturm's theorem; a NULL: from -infinity, b NULL: to
 * infinity. */
slong positivity_zeros(ulong order, const fmpq *a, const fmpq *b);
/* Where T_P has its minimum, and the minimum, for even P >= 2. */
void positivity_argmin(value *result, ulong order, slong prec);
void positivity_min(value *result, ulong order, slong prec);

/* ---- required alignment (alignment.c) ---- */

/* The larger t with T_P(t) = y, for even P >= 2: an error where y is below the minimum, a ball
 * without bounds where that is open. */
attest_status positivity_inverse(value *result, ulong order, const value *y, slong prec,
                                 attest_error *error);

extern const room_functions positivity_functions;

/* Rows of the table, by file. */
attest_status positivity_eval_alignment(value *result, const value arguments[], size_t count,
                                        slong prec, attest_error *error);
attest_status positivity_eval_alignment_softmax(value *result, const value arguments[],
                                                size_t count, slong prec, attest_error *error);
attest_status positivity_eval_alignment_scale(value *result, const value arguments[], size_t count,
                                              slong prec, attest_error *error);
attest_status positivity_eval_weight(value *result, const value arguments[], size_t count,
                                     slong prec, attest_error *error);
attest_status positivity_eval_weight_softmax(value *result, const value arguments[], size_t count,
                                             slong prec, attest_error *error);

#endif
