/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The synthetic cases of the suite, in one table (synthetic.c). */
#ifndef ATTEST_CERTIFY_SYNTHETIC_H
#define ATTEST_CERTIFY_SYNTHETIC_H

#include "certify.h"

extern const size_t synthetic_count;
const char *synthetic_name(size_t i);
/* A bound on out beside those of all cases; NULL: none. */
const char *synthetic_bound(size_t i, attest_dtype dtype);
/* Divides rows by the root of the sum of their squares, which is taken in order, in double: the
 * same numbers on every machine. Rows of zeros stay. */
void synthetic_unit_rows(float *x, int64_t rows, int64_t width);
/* Sets "name=value name=value". */
attest_status synthetic_params(attest_problem *problem, const char *params, attest_error *error);
/* A resolved problem without outputs; its tensors live in *storage, which is to be freed after it.
 */
attest_status synthetic_problem(attest_problem **problem, void **storage, size_t i,
                                attest_error *error);

#endif
