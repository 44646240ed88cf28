/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The synthetic cases of the suite, in one table (synthetic.c). */
#ifndef ATTEST_CERTIFY_SYNTHETIC_H
#define ATTEST_CERTIFY_SYNTHETIC_H

#include "certify.h"

extern const size_t synthetic_count;
const char *synthetic_name(size_t i);
/* Sets "name=value name=value". */
attest_status synthetic_params(attest_problem *problem, const char *params, attest_error *error);
/* A resolved problem without outputs; its tensors live in *storage, which is to be freed after it.
 */
attest_status synthetic_problem(attest_problem **problem, void **storage, size_t i,
                                attest_error *error);

#endif
