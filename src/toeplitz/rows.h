/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rows of toeplitz and rope-linear in double: what a slice is packed into, and one row with its
 * radius. Internal to the toeplitz room; the derivation stands in enclose.c. */
#ifndef ATTEST_TOEPLITZ_ROWS_H
#define ATTEST_TOEPLITZ_ROWS_H

#include "../tensor/isa.h"
#include "toeplitz.h"

/* One product of the form: q[a] w k[b]. */
typedef struct {
  int64_t a, b;
  double *symbol; /* [nq + nk - 1]: w of row i and key j at j - i + nq - 1; NULL: ones */
} rows_term;

typedef struct {
  const attest_problem *problem;
  problem_slice slice;
  int is_linear; /* rope-linear: weights are the scores */
  int normalizes;
  int64_t term_count;
  rows_term *terms;
  double *queries, *query_sizes; /* [nq][d], rotated; sizes as in rotary.h or |q| */
  double *keys, *key_sizes;      /* [d][nk] */
  double *values;                /* [nk][dv] */
  double key_max, value_max;     /* the largest sizes */
  double factor, factor_error;   /* scale / temperature, and its absolute error */
  double eps, eps_error;
  double form_error; /* |form^ - form| <= form_error size, underflow apart */
  double size_error; /* relative error of a size */
} rows_pack;

/* One row: x within radius; A and S of MATH section 7 from both sides. dv entries each. */
typedef struct {
  double *x, *radius, *a_lo, *a_hi, *s_lo, *s_hi;
  double reach; /* largest t_j; rope-linear: sum t_j over the normaliser */
  /* By key: form, then weight; size, then t times weight; bound of the weight's error. */
  double *weight, *size, *error;
  double *chain, *absolute, *spread;
  void *memory;
} rows_row;

attest_status rows_pack_open(rows_pack **pack, const attest_problem *problem,
                             const problem_slice *slice, attest_error *error);
void rows_pack_close(rows_pack *pack);
int rows_row_open(rows_row *row, const rows_pack *pack); /* 0: out of memory */
void rows_row_close(rows_row *row);
/* An ordinary row; without `bounds` x only, with the same bits. */
void rows_row_compute(rows_row *row, const rows_pack *pack, int64_t i, int bounds);

/* ---- rows_isa.c: plain loops, the same bits on every instruction set ---- */

/* score[j], size[j] for lo <= j < hi: the form and the absolute value of its terms. */
void rows_scores(double *score, double *size, const rows_pack *pack, int64_t i, int64_t lo,
                 int64_t hi);
/* sum[c] = sum_j w[j] v[j][c] in chains of ROWS_CHAIN keys, then their sum. */
enum { ROWS_CHAIN = 64 };
void rows_sums(double *sum, double *chain, const double *w, const double *values, int64_t dv,
               int64_t lo, int64_t hi);
/* absolute[c] = sum |w_j| |v_jc|, spread[c] = sum e_j |v_jc - x_c|, s[c] = sum h_j |v_jc - x_c|. */
void rows_spreads(double *absolute, double *spread, double *s, const double *x, const double *w,
                  const double *e, const double *h, const double *values, int64_t dv, int64_t lo,
                  int64_t hi);

#endif
