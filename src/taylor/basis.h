/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Monomials of d coordinates up to a degree: the minimal symmetric basis of truncated exponentials.
 *
 *   T_P(scale q.k) = sum over |beta| <= P of scale^m / beta! q^beta k^beta,   m = |beta|
 *
 * by the multinomial theorem: (q.k)^m = sum over |beta| = m of (m!/beta!) q^beta k^beta. There are
 * binom(d+m-1, m) monomials of order m and binom(d+P, P) up to order P; no feature map of the
 * kernel on an open set has fewer.
 *
 * Order of the basis: graded (orders 0 .. P); inside order m the index tuples i_1 <= .. <= i_m
 * ascend lexicographically. d = 2, P = 2: 1, x0, x1, x0 x0, x0 x1, x1 x1.
 *
 * State, shared by references and kernels: S[beta][c] = sum_j k_j^beta [v_j, 1]_c, of shape
 * (D, dv + 1). The key side holds plain monomials; m!/beta!, 1/m! and scale^m, together
 * scale^m / beta!, are all on the query side. So a state depends neither on the scale nor on the
 * coefficients of the polynomial. */
#ifndef ATTEST_TAYLOR_BASIS_H
#define ATTEST_TAYLOR_BASIS_H

#include "../tensor/tensor.h"

/* Larger bases are refused: their tables alone would fill the memory of a small machine. */
#define TAYLOR_BASIS_MAX ((int64_t)1 << 24)

typedef struct {
  int64_t d, degree, size; /* size D = binom(d + degree, degree) */
  int64_t *start;          /* [degree + 2]: order m is start[m] .. start[m+1] - 1 */
  /* A tuple (i_1, .., i_m) is its parent (i_2, .., i_m) times x_(i_1): [size], parent[0] = -1.
   * Inside an order, tuples of one i_1 are a run, and their parents the run of order m-1 that goes
   * from taylor_basis_tail(m-1, i_1) to its end. */
  int64_t *parent, *coordinate;
  int64_t *multinomial; /* [size]: m!/beta! = the number of orderings of the tuple */
} taylor_basis;

/* binom(n, k), 0 for k > n: 0, or -1 when it does not fit (result untouched). n, k >= 0. */
int taylor_binomial(int64_t *result, int64_t n, int64_t k);
/* binom(d + degree, degree): 0, or -1 when it does not fit. d >= 1. */
int taylor_basis_size(int64_t *size, int64_t d, int64_t degree);

/* Refuses (ATTEST_ERR_SUPPORT) more than TAYLOR_BASIS_MAX monomials and multinomials that do not
 * fit 63 bits. */
attest_status taylor_basis_open(taylor_basis **basis, int64_t d, int64_t degree,
                                attest_error *error);
void taylor_basis_close(taylor_basis *basis);

/* Index of the first tuple of order m with i_1 >= i; start[m+1] when i = d and m >= 1. */
int64_t taylor_basis_tail(const taylor_basis *basis, int64_t m, int64_t i);
/* Order of monomial b. */
int64_t taylor_basis_order(const taylor_basis *basis, int64_t b);
/* Index of x_i times monomial b, which has order m < degree. */
int64_t taylor_basis_times(const taylor_basis *basis, int64_t m, int64_t b, int64_t i);
/* The tuple i_1 <= .. <= i_m of monomial b; returns m. */
int64_t taylor_basis_tuple(int64_t tuple[], const taylor_basis *basis, int64_t b);

/* phi[b] = x^b for all monomials of a row: one rounding for every product but the first of each
 * monomial, x_(i_1) * (x_(i_2) * (.. * x_(i_m))). */
void taylor_monomials_f32(float *phi, const taylor_basis *basis, const float *x);
void taylor_monomials_f64(double *phi, const taylor_basis *basis, const double *x);

/* ---- the naive tensor basis ------------------------------------------------------------------
 * x^(0), x^(1), .., x^(P): d^m entries an order in row-major order of the tuple, every ordering of
 * a tuple an entry of its own. Its states are S[i_1 .. i_m][c] = sum_j k_(j,i_1) .. k_(j,i_m)
 * [v_j, 1]_c. */

/* 1 + d + .. + d^degree: 0, or -1 when it does not fit. */
int taylor_tensor_size(int64_t *size, int64_t d, int64_t degree);
/* map[t] = the monomial of entry t; taylor_tensor_size entries. */
void taylor_tensor_map(int64_t map[], const taylor_basis *basis);
/* Rows of `width` elements. Every entry is that of its monomial: exact. */
void taylor_tensor_from_state(double *tensor, const double *state, const taylor_basis *basis,
                              const int64_t map[], int64_t width);
/* The mean over the orderings of a tuple: the state whose reads are those of the tensor with the
 * features q^(m) / m!, also where it is not quite symmetric. Exact for symmetric tensors as long as
 * the sums are: summed in the order of the entries, then divided by m!/beta!. */
void taylor_tensor_to_state(double *state, const double *tensor, const taylor_basis *basis,
                            const int64_t map[], int64_t width);

#endif
