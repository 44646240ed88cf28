/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What this room adds to the expression language, and entmax on values for the statements. */
#ifndef ATTEST_SPARSE_FUNCTIONS_H
#define ATTEST_SPARSE_FUNCTIONS_H

#include "../enclosure/function.h"

extern const room_functions sparse_functions;

/* tau with sum [(alpha-1) z_i - tau]_+^(1/(alpha-1)) = 1 for n > 0 numbers z and alpha > 1: exactly
 * for rational z and alpha = 2 (rational) or 3/2 (a square root), else a ball. */
attest_status sparse_value_threshold(value *tau, const value *alpha, const value *z, size_t n,
                                     slong prec, attest_error *error);
/* [(alpha-1) z - tau]_+^(1/(alpha-1)). */
attest_status sparse_value_weight(value *p, const value *alpha, const value *z, const value *tau,
                                  slong prec, attest_error *error);

#endif
