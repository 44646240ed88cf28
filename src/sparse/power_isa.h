/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Powers on vectors of double; included by *_isa.c files only. Fixed order: the same bits on every
 * instruction set. */
#ifndef ATTEST_SPARSE_POWER_ISA_H
#define ATTEST_SPARSE_POWER_ISA_H

#include "../enclosure/log_isa.h"

/* y^r for results in float32 and for guesses: by base 2, with polynomials that are no better than
 * that takes. log2(1 + t) = t P(t) for 1 + t in [sqrt 1/2, sqrt 2), 2^f = Q(f) for |f| <= 1/2, P
 * and Q by interpolation at Chebyshev's nodes: relative errors of log2 and 2^f 2^-34.9 and 2^-34.5
 * in double, 2^-13.4 and 2^-13.6 in float. */
#define LEAN_SPLIT(v, vi, vu, bits, bias, ROOT, ROUND)                                             \
  /* x = 2^n (1 + t), x > 0 normal. */                                                             \
  ISA_INLINE v v##_split(v *n, v x) {                                                              \
    vu shifted = (vu)x - (vu)v##_set1(ROOT) + (((vu){0} + bias) << bits);                          \
    vu e = (shifted >> bits) - ((vu){0} + bias);                                                   \
    *n = (v)((vu)v##_set1(ROUND) + e) - v##_set1(ROUND);                                           \
    return (v)((vu)x - (e << bits)) - v##_set1(1);                                                 \
  }
LEAN_SPLIT(vd, vdi, vdu, 52, 1023, 0x1.6a09e667f3bcdp-1, 0x1.8p52)
LEAN_SPLIT(vf, vfi, vfu, 23, 127, 0x1.6a09e6p-1f, 0x1.8p23f)
#undef LEAN_SPLIT

ISA_INLINE vd vd_lean_log2(vd x) {
  vd n, t = vd_split(&n, x), p = vd_set1(0x1.35673bb33fc05p-4);
  p = vd_fma(p, t, vd_set1(-0x1.21af6d5ddd93cp-3));
  p = vd_fma(p, t, vd_set1(0x1.28dbd2cf0a272p-3));
  p = vd_fma(p, t, vd_set1(-0x1.25de4aa3aaf85p-3));
  p = vd_fma(p, t, vd_set1(0x1.453051c8c9c33p-3));
  p = vd_fma(p, t, vd_set1(-0x1.7131ef80d3e2cp-3));
  p = vd_fma(p, t, vd_set1(0x1.a63df11f4d312p-3));
  p = vd_fma(p, t, vd_set1(-0x1.ec7352cb89bf3p-3));
  p = vd_fma(p, t, vd_set1(0x1.277658c21e745p-2));
  p = vd_fma(p, t, vd_set1(-0x1.71546f4871651p-2));
  p = vd_fma(p, t, vd_set1(0x1.ec709ea6a0c5ep-2));
  p = vd_fma(p, t, vd_set1(-0x1.715476572cc31p-1));
  p = vd_fma(p, t, vd_set1(0x1.71547652a44dbp0));
  return vd_fma(p, t, n);
}

/* 2^x, -1020 <= x <= 1020. */
ISA_INLINE vd vd_lean_exp2(vd x) {
  vd shifted = x + vd_set1(EXP64_ROUND), f = x - (shifted - vd_set1(EXP64_ROUND));
  vd q = vd_set1(0x1.00c0e4e15189cp-16);
  q = vd_fma(q, f, vd_set1(0x1.446c79efd4834p-13));
  q = vd_fma(q, f, vd_set1(0x1.5d877598350dep-10));
  q = vd_fma(q, f, vd_set1(0x1.3b29d8bb0b97ep-7));
  q = vd_fma(q, f, vd_set1(0x1.c6b08da70cce3p-5));
  q = vd_fma(q, f, vd_set1(0x1.ebfbe0aa03df0p-3));
  q = vd_fma(q, f, vd_set1(0x1.62e42fef9cc69p-1));
  q = vd_fma(q, f, vd_set1(0x1.ffffffffa7135p-1));
  return (vd)((vdu)q + ((vdu)shifted << 52));
}

ISA_INLINE vf vf_lean_log2(vf x) {
  vf n, t = vf_split(&n, x), p = vf_set1(0x1.004b76p-2f);
  p = vf_fma(p, t, vf_set1(-0x1.8f0706p-2f));
  p = vf_fma(p, t, vf_set1(0x1.f16542p-2f));
  p = vf_fma(p, t, vf_set1(-0x1.70f65p-1f));
  p = vf_fma(p, t, vf_set1(0x1.7150e2p0f));
  return vf_fma(p, t, n);
}

/* 2^x, -120 <= x <= 120. */
ISA_INLINE vf vf_lean_exp2(vf x) {
  vf shifted = x + vf_set1(EXP32_ROUND), f = x - (shifted - vf_set1(EXP32_ROUND));
  vf q = vf_set1(0x1.c96d5ep-5f);
  q = vf_fma(q, f, vf_set1(0x1.f0ecf8p-3f));
  q = vf_fma(q, f, vf_set1(0x1.62e2d2p-1f));
  q = vf_fma(q, f, vf_set1(0x1.fff61cp-1f));
  return (vf)((vfu)q + ((vfu)shifted << 23));
}

/* 1 / x for normal x > 0 up to a relative 2^-24 (2^-12 in float): a guess by the exponent, off by
 * an eighth, and Newton's steps, which square that. */
ISA_INLINE vd vd_inverse(vd x) {
  vd y = (vd)(((vdu){0} + UINT64_C(0x7fde6238502484ba)) - (vdu)x), two = vd_set1(2);
  y = y * vd_fma(-x, y, two);
  y = y * vd_fma(-x, y, two);
  return y * vd_fma(-x, y, two);
}
ISA_INLINE vf vf_inverse(vf x) {
  vf y = (vf)(((vfu){0} + UINT32_C(0x7ef311c3)) - (vfu)x), two = vf_set1(2);
  y = y * vf_fma(-x, y, two);
  return y * vf_fma(-x, y, two);
}

/* y^r for y > 0 normal; 0 where that is below 2^-1020. */
ISA_INLINE vd vd_power(vd y, double r) {
  vd x = vd_set1(r) * vd_log(y);
  vd most = vd_set1(EXP64_MAX);
  return vd_exp(vd_select(x < most, x, most));
}

#endif
