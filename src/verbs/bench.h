/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the parts of attest bench share. */
#ifndef ATTEST_VERBS_BENCH_H
#define ATTEST_VERBS_BENCH_H

#include "../attest.h"

enum { BENCH_REPEATS = 5 };

/* Sorts the BENCH_REPEATS numbers. */
double bench_median(double *x);
/* In [0, 1). */
double bench_uniform(uint64_t *state);

/* Prints the lines of the Taylor kernels; one thread. */
attest_status bench_taylor(int quick, attest_error *error);
/* The forms of Toeplitz attention and where they cross. */
attest_status bench_toeplitz(int quick, attest_error *error);
/* Sparse weights and sparse attention. */
attest_status bench_sparse(int quick, attest_error *error);

#endif
