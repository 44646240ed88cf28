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

/* One slice into out (nq, dv), float32 or float64; the least even degree with relative error at
 * most eps on the range of the scores. Takes what check_supported in low_rank.c names, else an
 * error. */
attest_status toeplitz_low_rank(attest_tensor *out, low_rank_report *report,
                                const attest_problem *problem, const problem_slice *slice,
                                double eps, attest_error *error);

#endif
