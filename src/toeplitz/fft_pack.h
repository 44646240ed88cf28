/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the FFT form is computed from. Internal to the toeplitz room. */
#ifndef ATTEST_TOEPLITZ_FFT_PACK_H
#define ATTEST_TOEPLITZ_FFT_PACK_H

#include "fft.h"
#include "structure.h"

typedef struct {
  const attest_problem *problem;
  const problem_slice *slice;
  int64_t nq, nk, d, dv, length; /* length = nq + nk - 1 */
  int64_t lo, hi;                /* visible: lo <= i - j <= hi, i and j indices */
  int64_t support, *a, *b;
  double *queries, *keys;      /* [d][nq], [d][nk] */
  double *values;              /* [dv][nk] */
  double *symbols;             /* [support][length]: at i - j + nk - 1 */
  double *symbol_max;          /* [support] */
  double *query_max, *key_max; /* [d]: |f q|, |k| */
  double value_max, factor;    /* scale / temperature, rounded */
  int normalizes;
  double eps;        /* added to the normaliser, rounded */
  double *row_bound; /* [nq]: |f q_i W k_j| is at most this for the keys of the row */
  void *memory;
} fft_pack;

attest_status fft_pack_open(fft_pack *pack, const attest_problem *problem,
                            const problem_slice *slice, attest_error *error);
void fft_pack_close(fft_pack *pack);
/* p rounded to double, and what is known of it. */
typedef struct {
  int64_t degree;
  double c[EXP_POLY_DEGREE_MAX + 1];
  double eps;
} fft_polynomial;

/* Sums of the decomposition: sum[c][i] for the columns of values, then ones; bound[i] of the error
 * of the column of ones (times value_max: of the others). sum NULL: the bounds only. */
typedef struct {
  double *sum, *bound;
  double underflow; /* what it takes from a sum of values up to 1, of any row */
  int64_t terms, transforms, size;
} fft_sums;

attest_status fft_sums_f64(fft_sums *sums, const fft_pack *pack, const fft_polynomial *p,
                           toeplitz_form form, attest_error *error);
attest_status fft_sums_f32(fft_sums *sums, const fft_pack *pack, const fft_polynomial *p,
                           toeplitz_form form, attest_error *error);

#endif
