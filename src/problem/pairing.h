/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How a query meets a key before scale and everything else: the bilinear form of the score, as
 * balls and exactly.
 *
 *   PAIRING_DOT      q_i . k_j
 *   PAIRING_ROTARY   (R_i' q_i) . (R_j k_j) = q_i^T R_{j-i'} k_j      (rotary.h)
 *   PAIRING_WEIGHTS  q_i W_{i'-j} k_j, W_p the matrix p + n - 1 of `weights`
 *
 * with i' = i + offset. The absolute value of the score's terms (MATH section 7) is
 * sum |q_a| |k_a|, sum over pairs 2 |q_pair| |k_pair|, and sum |q_a| |W_ab| |k_b|. */
#ifndef ATTEST_PROBLEM_PAIRING_H
#define ATTEST_PROBLEM_PAIRING_H

#include "../enclosure/enclosure.h"
#include "problem.h"

/* theta_m = rope-base^(-2m/d). */
void problem_rotary_angle(arb_t theta, const problem_values *values, int64_t d, int64_t m,
                          slong prec);

/* Element (a, b) of W_{i'-j}; p = i' - j is in range for every row and key of a resolved problem.
 */
double problem_weight(const attest_problem *problem, int64_t p, int64_t a, int64_t b);
/* Coefficients c_0 .. c_g of the weights as a polynomial of the score; -1: they are no such
 * polynomial, else g. c has PROBLEM_COEFFICIENTS_MAX entries. */
int64_t problem_coefficients(double *c, const attest_problem *problem);
/* The largest |W| element; 0 without weights. */
/* The elements (a, b) of W_first .. W_(first + count - 1). */
void problem_weights_load(double *w, const attest_problem *problem, int64_t first, int64_t count,
                          int64_t a, int64_t b);
double problem_largest_weight(const attest_problem *problem);

/* Scratch of one row; one thread. */
typedef struct {
  const attest_problem *problem;
  const problem_slice *slice;
  slong prec;
  int64_t row; /* of the query that is loaded; -1: none */
  double *buffer;
  arb_ptr q, k; /* 2 d each: components, then their sizes */
  int64_t fine, coarse;
  arb_ptr phases; /* [m][entry][cos, sin], as in rotary.c; NULL unless PAIRING_ROTARY */
  arb_t term;
} problem_pairs;

attest_status problem_pairs_open(problem_pairs *pairs, const attest_problem *problem,
                                 const problem_slice *slice, slong prec, attest_error *error);
void problem_pairs_close(problem_pairs *pairs);
/* The form of (row, j) and, unless size is NULL, the absolute value of its terms. */
void problem_pairs_form(arb_t form, arb_t size, problem_pairs *pairs, int64_t row, int64_t j);
/* The vectors whose dot product is the form (not PAIRING_WEIGHTS): d balls each. */
void problem_pairs_query(arb_ptr q, problem_pairs *pairs, int64_t row);
void problem_pairs_key(arb_ptr k, problem_pairs *pairs, int64_t j);
/* An e with |form| <= 2^e sum .. max|q| max|k|: bits that the form costs beyond those of d
 * products.
 */
slong problem_pairs_bits(const attest_problem *problem);

/* The form without rounding: 1, or 0 under PAIRING_ROTARY, where it is no dyadic number. */
int problem_pair_exact(arf_t form, const attest_problem *problem, const problem_slice *slice,
                       int64_t row, int64_t j);

#endif
