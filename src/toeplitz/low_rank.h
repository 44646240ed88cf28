/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* rope-softmax by a low-rank route: rotate, then the Taylor room. */
#ifndef ATTEST_TOEPLITZ_LOW_RANK_H
#define ATTEST_TOEPLITZ_LOW_RANK_H

#include "toeplitz.h"

typedef struct {
  int64_t degree;
  double eps; /* an upper bound of the polynomial's relative error: without rounding the output is
                 within 2 (1 - sqrt(1 - eps^2)) / eps max|v| of softmax */
} low_rank_report;

/* The problem that the form hands to the Taylor room: rotated queries and keys in dtype, the least
 * even degree with relative error at most eps (0: 2^-24 in float, 2^-40 in double) on the range of
 * the scores. */
typedef struct {
  attest_problem *taylor; /* resolved */
  int64_t degree;
  double eps;   /* as in the report */
  double error; /* how far its exact result may be from softmax, rotations rounded: see forms.c */
  void *memory;
} low_rank_problem;
attest_status low_rank_open(low_rank_problem *low, const attest_problem *problem,
                            const problem_slice *slice, attest_dtype dtype, double eps,
                            attest_error *error);
void low_rank_close(low_rank_problem *low); /* also a zeroed one */

/* One slice into out (nq, dv), float32 or float64, with low_rank_open of its dtype. Takes what
 * check_supported in low_rank.c names, else an error. */
attest_status toeplitz_low_rank(attest_tensor *out, low_rank_report *report,
                                const attest_problem *problem, const problem_slice *slice,
                                double eps, attest_error *error);

#endif
