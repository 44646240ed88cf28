/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Softmax attention: references, enclosures, kernels, bounds. */
#ifndef ATTEST_SOFTMAX_SOFTMAX_H
#define ATTEST_SOFTMAX_SOFTMAX_H

#include "../problem/room.h"

extern const problem_room softmax_room;

/* ---- reference.c (balls) ------------------------------------------------------------------------
 */
attest_status softmax_ball(room_balls *balls, const attest_problem *problem,
                           const problem_slice *slice, int64_t row, int output, unsigned want,
                           slong prec, attest_error *error);
/* Rows row .. row + rows - 1 of out (rows x dv) at once, by blocked exact products. class may be
 * NULL. Used by attest reference. */
attest_status softmax_ball_rows(arb_ptr out, arb_ptr lse, unsigned char *out_class,
                                unsigned char *lse_class, const attest_problem *problem,
                                const problem_slice *slice, int64_t row, int64_t rows, slong prec,
                                attest_error *error);
/* ---- exact.c (Lindemann-Weierstrass)
 * ------------------------------------------------------------- */
int softmax_linear_zero(const attest_problem *problem, const problem_slice *slice, int64_t row,
                        int output, int n, const int64_t component[], const fmpq *coefficient,
                        const fmpq_t constant);
/* ---- perturb.c
 * -------------------------------------------------------------------------------------- */
attest_status softmax_backward_explicit(measure_interval *value, const attest_problem *problem,
                                        const problem_slice *slice, int64_t row, int output,
                                        int64_t component, double got, double u_w, double u_s,
                                        double quantum, attest_error *error);
/* ---- enclose.c (double)
 * ------------------------------------------------------------------------------ */
attest_status softmax_enclose_open(void **work, const attest_problem *problem,
                                   const problem_slice *slice, unsigned want, attest_error *error);
void softmax_enclose_rows(room_block *block, const void *work, unsigned want);
void softmax_enclose_close(void *work);
void softmax_sensitivity(double *s_lo, double *s_hi, const double *x, const double *radius,
                         const void *work, int64_t row);
/* ---- side.c ------------------------------------------------------------------------------------
 */
void softmax_backward_side(signed char *side, const double *got, const double *x,
                           const double *radius, const void *work, int64_t row, double limit,
                           double u_w, double u_s, double quantum);
/* ---- enclose_dd.c (double-double)
 * -------------------------------------------------------------------- */
void softmax_enclose_dd(double *x_hi, double *x_lo, double *radius, const void *work, int64_t row,
                        int output);
/* ---- kernel.c
 * ------------------------------------------------------------------------------------------ */
attest_status softmax_kernel(attest_tensor *out, attest_tensor *lse, const attest_problem *problem,
                             attest_error *error);
/* ---- bound.c
 * ------------------------------------------------------------------------------------------- */
room_machine softmax_machine(attest_dtype dtype);
attest_status softmax_machine_parse(room_machine *machine, const char *text, attest_error *error);

/* Edge policy shared by all tiers: the class of every element of a row (dv of them for out, 1 for
 * lse) under `empty-row` and `nonfinite ieee`. (special.c)
 *   1: an ordinary row, all EXACT_FINITE and to be computed from every visible key;
 *   0: `class` and, for finite elements, `value` (exact) are the whole answer;
 *   2: only the elements of class EXACT_FINITE are to be computed, from the visible keys of finite
 *      score (nonfinite ieee): the ball tier does, cheaper tiers give an infinite radius;
 *  -1: the row sees no key and empty-row is error: trouble.
 * Under nonfinite error the visible elements are finite (problem_find_nonfinite has been asked).
 * ieee, exact in the extended reals: a NaN score makes out and lse NaN; else a score of +infinity
 * makes out NaN and lse +infinity; a score of -infinity has weight 0, and its v makes a component
 * NaN where it is not finite (0 * inf); a finite score carries an infinite or NaN v into its
 * component (both infinities: NaN); without a finite score and without a sink out is NaN and lse
 * -infinity. */
int softmax_special_row(unsigned char *class, double *value, const attest_problem *problem,
                        const problem_slice *slice, int64_t row, int output);

#endif
