/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Softmax attention with scores f q_i W_{i'-j} k_j in almost linear time: exp is replaced by a
 * polynomial p of degree g on [-b, b], p(f M) is decomposed into binom(|S| + g, g) rescaled
 * Toeplitz matrices (decompose.h) and each meets the values through FFTW.
 *
 * Per term one transform of its symbol and two for each of the dv + 1 columns (values and ones);
 * memory is linear in n: g + 1 levels of factors, made on the fly.
 *
 * Error. p has relative error eps on [-b, b], so that without rounding the output is within
 * 2 (1 - sqrt(1 - eps^2)) / eps max|v| of softmax (MATH F0.10). A term's product is off by
 *   |alpha L_i| |C|_2 |R o v|_2 (e + (7 t + g + 8) u + N_terms 2^-53),  t = |m|,
 * L, C, R its left factors, symbol and right factors, e toeplitz_fft_error of the transforms:
 * factors are products of t numbers that round 7 times a step together, and every entry of the
 * product is at most |C|_2 |R o v|_2. Sums over terms are kept in double. Underflow: with eta the
 * smallest positive number a factor is off by l_t = l_(t-1) max|x| + eta after its t-th product,
 * and transforms of N elements by 64 lg N N^(5/2) eta (1 + |C|_2 + |R o v|_2) (log2 N levels that
 * double what is lost, a product with a spectrum, a sum of N terms). The bound beta of the column
 * of ones encloses the denominator; where the computed denominator is below 4 beta (so wherever the
 * enclosure reaches zero), and where a row's scores may leave [-b, b], the row is computed directly
 * and counted. Elsewhere, with D >= 3 beta the exact denominator and x the exact quotient, |x^ - x|
 * <= beta (max|v| + |x|) / (D - beta) + rounding of the quotient.
 *
 * Where the problem has coefficients, they are the polynomial, and there is no eps: the exact
 * result is that of the polynomial kernel.
 *
 * Causal forms. FFT: the mask is a factor of the symbol and one transform does all, so that
 * rounding carries something of later tokens into earlier rows: at most `leak`, the rounding part
 * of the bound. BLOCKED: relaxed multiplication in dyadic blocks, O(n log^2 n): row i is computed
 * from tokens up to i by operations that do not look at later ones; for a given b (options.b) its
 * bits do not depend on them. */
#ifndef ATTEST_TOEPLITZ_FFT_H
#define ATTEST_TOEPLITZ_FFT_H

#include "exp_poly.h"
#include "toeplitz.h"

typedef enum { TOEPLITZ_FFT_FORM, TOEPLITZ_BLOCKED_FORM } toeplitz_form;

typedef struct {
  toeplitz_form form;
  double eps;        /* of the polynomial, relative; 0: 2^-24 for float, 2^-40 for double.
                        Ignored where the problem has coefficients */
  double b;          /* half-width of the scores; 0: from the data */
  int64_t terms_max; /* 0: 10^6 */
} toeplitz_fft_options;

typedef struct {
  int64_t support, degree, terms;
  int64_t transforms; /* of `size`; BLOCKED: of all sizes together */
  int64_t size;
  int64_t recomputed; /* rows computed directly */
  double b;
  double eps;              /* an upper bound of p's relative error */
  double polynomial_error; /* 2 (1 - sqrt(1 - eps^2)) / eps max|v|, rounded up */
  double leak;             /* the largest rounding error of an element of the other rows */
} toeplitz_fft_report;

/* One slice of a toeplitz, rope-softmax or (with coefficients) rope-linear problem without mask,
 * bias, softcap, slopes and sinks into slice->out, in float for float32 outputs and in double for
 * others. radius (nq entries, may be NULL): a row's bound of |out - exact| before the output is
 * rounded to its format. */
attest_status toeplitz_fft_attention(toeplitz_fft_report *report, double *radius,
                                     const attest_problem *problem, const problem_slice *slice,
                                     const toeplitz_fft_options *options, attest_error *error);

/* What is known before anything is computed: beta by row, and the polynomial's part of the bound.
 */
typedef struct {
  double *beta;            /* [nq]; infinite where the polynomial's range is left */
  double eps;              /* as in the report; 0 with coefficients */
  double polynomial_error; /* as in the report */
  double value_max;
} toeplitz_fft_bounds;
attest_status toeplitz_fft_bounds_open(toeplitz_fft_bounds *bounds, const attest_problem *problem,
                                       const problem_slice *slice, int is_single,
                                       attest_error *error);
void toeplitz_fft_bounds_close(toeplitz_fft_bounds *bounds);

#endif
