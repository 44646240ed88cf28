/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The two exponential kernels, on vectors; included by *_isa.c files only.
 *
 *   n = x log2(e) rounded to an integer (one fused operation), r = x - n ln 2 in two fused steps,
 *   |r| <= 0.3472, p = polynomial in r by Horner's rule, result 2^n p by adding n to the exponent.
 *
 * The order of operations is fixed: proofs are written about it, and every instruction set gives
 * the same bits. The first step of r is exact (x and n LN2_HI are multiples of a common grid). The
 * error is at most EXP32_ERROR, EXP64_ERROR unit roundoffs relative (proofs/enclosure/exp_float.v):
 * rounding in Horner's rule 1.16 (exp32), 1.61 (exp64), the second step of r 0.26, the polynomial
 * 0.07, 0.08. x below the minimum, -infinity and NaN included, gives 0; x above the maximum is the
 * caller's mistake and gives garbage. */
#ifndef ATTEST_ENCLOSURE_EXP_ISA_H
#define ATTEST_ENCLOSURE_EXP_ISA_H

#include "../tensor/isa.h"
#include "exp_constants.h"

/* exp(r) - 1 = r + r^2 (...) on the reduced range, before the 1 is added. */
ISA_INLINE vf vf_exp_tail(vf r) {
  vf p = vf_set1(EXP32_C6);
  p = vf_fma(p, r, vf_set1(EXP32_C5));
  p = vf_fma(p, r, vf_set1(EXP32_C4));
  p = vf_fma(p, r, vf_set1(EXP32_C3));
  p = vf_fma(p, r, vf_set1(EXP32_C2));
  return vf_fma(p, r, vf_set1(1.0f)); /* (exp(r) - 1) / r */
}

ISA_INLINE vd vd_exp_tail(vd r) {
  vd p = vd_set1(EXP64_C11);
  p = vd_fma(p, r, vd_set1(EXP64_C10));
  p = vd_fma(p, r, vd_set1(EXP64_C9));
  p = vd_fma(p, r, vd_set1(EXP64_C8));
  p = vd_fma(p, r, vd_set1(EXP64_C7));
  p = vd_fma(p, r, vd_set1(EXP64_C6));
  p = vd_fma(p, r, vd_set1(EXP64_C5));
  p = vd_fma(p, r, vd_set1(EXP64_C4));
  p = vd_fma(p, r, vd_set1(EXP64_C3));
  p = vd_fma(p, r, vd_set1(EXP64_C2));
  return vd_fma(p, r, vd_set1(1.0)); /* (exp(r) - 1) / r */
}

ISA_INLINE vf vf_exp(vf x) {
  vf t = vf_fma(x, vf_set1(EXP32_LOG2E), vf_set1(EXP32_ROUND));
  vf n = t - vf_set1(EXP32_ROUND);
  vf r = vf_fma(-n, vf_set1(EXP32_LN2_HI), x);
  r = vf_fma(-n, vf_set1(EXP32_LN2_LO), r);
  vf p = vf_fma(vf_exp_tail(r), r, vf_set1(1.0f));
  vfi bits = (vfi)((vfu)p + ((vfu)t << 23));
  return (vf)(bits & (x >= vf_set1(EXP32_MIN)));
}

ISA_INLINE vd vd_exp(vd x) {
  vd t = vd_fma(x, vd_set1(EXP64_LOG2E), vd_set1(EXP64_ROUND));
  vd n = t - vd_set1(EXP64_ROUND);
  vd r = vd_fma(-n, vd_set1(EXP64_LN2_HI), x);
  r = vd_fma(-n, vd_set1(EXP64_LN2_LO), r);
  vd p = vd_fma(vd_exp_tail(r), r, vd_set1(1.0));
  vdi bits = (vdi)((vdu)p + ((vdu)t << 52));
  return (vd)(bits & (x >= vd_set1(EXP64_MIN)));
}

/* tanh(x) = e / (e + 2) with e = exp(2x) - 1 = 2^n (exp(r) - 1) + (2^n - 1): relative error at most
 * EXP_TANH_ERROR unit roundoffs (proofs/enclosure/tanh_float.v); for |x| > 20 it is tanh 20 = 1,
 * also at infinity and, with the sign +, for a NaN. */
#define EXP_TANH(v, vu, name, width, LIMIT, P)                                                     \
  ISA_INLINE v name(v x) {                                                                         \
    v magnitude = v##_abs(x), two_x = magnitude + magnitude;                                       \
    two_x = v##_select(two_x < v##_set1(LIMIT), two_x, v##_set1(LIMIT));                           \
    v t = v##_fma(two_x, v##_set1(P##_LOG2E), v##_set1(P##_ROUND));                                \
    v n = t - v##_set1(P##_ROUND);                                                                 \
    v r = v##_fma(-n, v##_set1(P##_LN2_HI), two_x);                                                \
    r = v##_fma(-n, v##_set1(P##_LN2_LO), r);                                                      \
    v power = (v)((vu)v##_set1(1) + ((vu)t << width));                                             \
    v e = v##_fma(power, v##_exp_tail(r) * r, power - v##_set1(1));                                \
    v y = e / (e + v##_set1(2));                                                                   \
    return v##_select(x < v##_set1(0), -y, y);                                                     \
  }
EXP_TANH(vf, vfu, vf_tanh, 23, 40, EXP32)
EXP_TANH(vd, vdu, vd_tanh, 52, 40, EXP64)

#endif
