/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The decomposition of p(f M), entrywise, for M = sum over S of A^(s), A^(s) rescaled Toeplitz
 * (MATH, Lemma C.2 of the source):
 *
 *   p(f M) = sum over m: S -> N, |m| <= g of alpha_m A^(m),
 *   alpha_m = c_|m| f^|m| |m|! / prod m(s)!,   A^(m) = entrywise product of the A^(s)^m(s),
 *
 * by the multinomial theorem in every entry; A^(m) is rescaled Toeplitz, A^(0) all ones. There are
 * binom(|S| + g, g) multi-indices; each is met once by a walk that keeps the products of its
 * predecessors, so memory is that of g + 1 matrices. */
#ifndef ATTEST_TOEPLITZ_DECOMPOSE_H
#define ATTEST_TOEPLITZ_DECOMPOSE_H

#include <flint/fmpq_poly.h>

#include "structure.h"

/* binom(support + degree, degree). */
void toeplitz_term_count(fmpz_t count, int64_t support, int64_t degree);

enum { TOEPLITZ_DEGREE_MAX = 64 };

/* A multi-index as a non-decreasing chain s_1 <= .. <= s_level. */
typedef struct {
  int64_t support, degree, level;
  int64_t chain[TOEPLITZ_DEGREE_MAX];
  int64_t run[TOEPLITZ_DEGREE_MAX + 1]; /* how often the last of the first l occurs in a row */
} toeplitz_walk;

/* At the empty chain, which is the first multi-index. degree <= TOEPLITZ_DEGREE_MAX. */
void toeplitz_walk_start(toeplitz_walk *walk, int64_t support, int64_t degree);
/* To the next one: its chain without the last element is that of an earlier one whose predecessors
 * have not changed since. 0: there is none left. */
int toeplitz_walk_next(toeplitz_walk *walk);
/* level! / prod m(s)! of the current multi-index from that of the chain without its last element.
 */
void toeplitz_walk_multinomial(fmpz_t count, const fmpz_t before, const toeplitz_walk *walk);
double toeplitz_walk_multinomial_double(double before, const toeplitz_walk *walk);

/* An attention problem over the rationals: forms q_i W_{i-j} k_j with W supported on `support`. */
typedef struct {
  int64_t rows, cols, d, width, support;
  const int64_t *a, *b;       /* [support] */
  const fmpq *q, *k, *values; /* [rows][d], [cols][d], [cols][width] */
  fmpq *const *symbol;        /* [support][rows + cols - 1]: W_{i-j}[a][b] at i - j + cols - 1 */
  const fmpq *mask;           /* [rows + cols - 1]: zeros and ones */
} decompose_problem;

/* out[i][c] = sum_j p(factor M_ij) mask_{i-j} values_jc by the decomposition; returns the number of
 * terms, one structured product for each of them and each column. */
int64_t decompose_attention_fmpq(fmpq *out, const decompose_problem *problem, const fmpq_poly_t p,
                                 const fmpq_t factor);
/* The same by dense sums. */
void decompose_dense_fmpq(fmpq *out, const decompose_problem *problem, const fmpq_poly_t p,
                          const fmpq_t factor);

#endif
