/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The functions of the three rooms, whatever form the problem asks for: see forms.c, and
 * problem/room.h for what each of them does. */
#ifndef ATTEST_TOEPLITZ_FORMS_H
#define ATTEST_TOEPLITZ_FORMS_H

#include "toeplitz.h"

attest_status forms_open(void **work, const attest_problem *problem, const problem_slice *slice,
                         unsigned want, attest_error *error);
void forms_rows(room_block *block, const void *work, unsigned want);
void forms_close(void *work);
void forms_sensitivity(double *s_lo, double *s_hi, const double *x, const double *radius,
                       const void *work, int64_t row);
/* Of rope-softmax. */
void forms_softmax_dd(double *x_hi, double *x_lo, double *radius, const void *work, int64_t row,
                      int output);
void forms_softmax_side(signed char *side, const double *got, const double *x, const double *radius,
                        const void *work, int64_t row, double limit, double u_w, double u_s,
                        double quantum);
attest_status forms_kernel(attest_tensor *out, attest_tensor *lse, const attest_problem *problem,
                           attest_error *error);
attest_status forms_kernel_account(room_account *account, attest_tensor *out, attest_tensor *lse,
                                   const attest_problem *problem, attest_error *error);

#endif
