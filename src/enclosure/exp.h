/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The exponential kernels of the project on arrays; see exp_isa.h for the algorithm. */
#ifndef ATTEST_ENCLOSURE_EXP_H
#define ATTEST_ENCLOSURE_EXP_H

#include <stddef.h>

#include "exp_constants.h"

/* y[i] = exp(x[i]), relative error <= EXP32_ERROR 2^-24 on [EXP32_MIN, EXP32_MAX], 0 below. */
void exp32_array(float *y, const float *x, size_t n);
/* y[i] = exp(x[i]), relative error <= EXP64_ERROR 2^-53 on [EXP64_MIN, EXP64_MAX], 0 below. */
void exp64_array(double *y, const double *x, size_t n);
/* y[i] = tanh(x[i]), relative error <= 12 unit roundoffs. */
void tanh32_array(float *y, const float *x, size_t n);
void tanh64_array(double *y, const double *x, size_t n);
/* y[i] = log(x[i]) for finite x > 0, normal: absolute error <= 2^-51 (1 + |log x|). */
void log64_array(double *y, const double *x, size_t n);
/* The same of one number: the same bits everywhere (the library's log does not promise that). */
double log64(double x);

#endif
