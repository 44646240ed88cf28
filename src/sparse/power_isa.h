/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Powers on vectors of double; included by *_isa.c files only. Fixed order: the same bits on every
 * instruction set. */
#ifndef ATTEST_SPARSE_POWER_ISA_H
#define ATTEST_SPARSE_POWER_ISA_H

#include "../enclosure/log_isa.h"

/* y^r for results in float32 and for guesses: by base 2, with polynomials that are no better than
 * that takes. log2(1 + t) = t P(t) for 1 + t in [sqrt 1/2, sqrt 2), 2^f = Q(f) for |f| <= 1/2, P
 * and Q by interpolation at Chebyshev's nodes. Relative errors with all roundings
 * (proofs/sparse/lean_float.v): */
#define LEAN32_LOG2_ERROR 0x1p-14
#define LEAN32_EXP2_ERROR 0x1.cp-14 /* 2^-13.2 */
#define LEAN64_LOG2_ERROR 0x1.6p-36 /* 2^-35.5 */
#define LEAN64_EXP2_ERROR 0x1p-34
#define LEAN32_ROOT 0x1.6a09e6p-1f /* near sqrt 1/2 */

/* Of `width` <= 2 vectors, step by step: each step of a polynomial waits for the one before, and a
 * processor that looks 64 operations ahead would not see the next vector's. */
#define LEAN_POLYNOMIAL(v, real)                                                                   \
  ISA_INLINE void v##_polynomial(v p[], const v t[], const real *c, const int degree,              \
                                 const int width) {                                                \
    for (int i = 0; i < width; i++)                                                                \
      p[i] = v##_set1(c[0]);                                                                       \
    _Pragma("GCC unroll 16") for (int k = 1; k <= degree; k++) for (int i = 0; i < width; i++)     \
        p[i] = v##_fma(p[i], t[i], v##_set1(c[k]));                                                \
  }
LEAN_POLYNOMIAL(vd, double)
LEAN_POLYNOMIAL(vf, float)
#undef LEAN_POLYNOMIAL

ISA_INLINE void vd_lean_log2(vd y[], const vd x[], const int width) {
  static const double c[] = {0x1.35673bb33fc05p-4,  -0x1.21af6d5ddd93cp-3, 0x1.28dbd2cf0a272p-3,
                             -0x1.25de4aa3aaf85p-3, 0x1.453051c8c9c33p-3,  -0x1.7131ef80d3e2cp-3,
                             0x1.a63df11f4d312p-3,  -0x1.ec7352cb89bf3p-3, 0x1.277658c21e745p-2,
                             -0x1.71546f4871651p-2, 0x1.ec709ea6a0c5ep-2,  -0x1.715476572cc31p-1,
                             0x1.71547652a44dbp0};
  const vd root = vd_set1(LOG64_ROOT);
  vd t[2], p[2];
  for (int i = 0; i < width; i++)
    t[i] = vd_fraction(x[i], root) - vd_set1(1);
  vd_polynomial(p, t, c, 12, width);
  for (int i = 0; i < width; i++)
    y[i] = vd_fma(p[i], t[i], vd_exponent(x[i], root, vd_set1(EXP64_ROUND)));
}

/* 2^x, -1020 <= x <= 1020. */
ISA_INLINE void vd_lean_exp2(vd y[], const vd x[], const int width) {
  static const double c[] = {0x1.00c0e4e15189cp-16, 0x1.446c79efd4834p-13, 0x1.5d877598350dep-10,
                             0x1.3b29d8bb0b97ep-7,  0x1.c6b08da70cce3p-5,  0x1.ebfbe0aa03df0p-3,
                             0x1.62e42fef9cc69p-1,  0x1.ffffffffa7135p-1};
  vd shifted[2], f[2], q[2];
  for (int i = 0; i < width; i++) {
    shifted[i] = x[i] + vd_set1(EXP64_ROUND);
    f[i] = x[i] - (shifted[i] - vd_set1(EXP64_ROUND));
  }
  vd_polynomial(q, f, c, 7, width);
  for (int i = 0; i < width; i++)
    y[i] = (vd)((vdu)q[i] + ((vdu)shifted[i] << 52));
}

ISA_INLINE void vf_lean_log2(vf y[], const vf x[], const int width) {
  static const float c[] = {0x1.004b76p-2f, -0x1.8f0706p-2f, 0x1.f16542p-2f, -0x1.70f65p-1f,
                            0x1.7150e2p0f};
  const vf root = vf_set1(LEAN32_ROOT);
  vf t[2], p[2];
  for (int i = 0; i < width; i++)
    t[i] = vf_fraction(x[i], root) - vf_set1(1);
  vf_polynomial(p, t, c, 4, width);
  for (int i = 0; i < width; i++)
    y[i] = vf_fma(p[i], t[i], vf_exponent(x[i], root, vf_set1(EXP32_ROUND)));
}

/* 2^x, -120 <= x <= 120. */
ISA_INLINE void vf_lean_exp2(vf y[], const vf x[], const int width) {
  static const float c[] = {0x1.c96d5ep-5f, 0x1.f0ecf8p-3f, 0x1.62e2d2p-1f, 0x1.fff61cp-1f};
  vf shifted[2], f[2], q[2];
  for (int i = 0; i < width; i++) {
    shifted[i] = x[i] + vf_set1(EXP32_ROUND);
    f[i] = x[i] - (shifted[i] - vf_set1(EXP32_ROUND));
  }
  vf_polynomial(q, f, c, 3, width);
  for (int i = 0; i < width; i++)
    y[i] = (vf)((vfu)q[i] + ((vfu)shifted[i] << 23));
}

/* 1 / x for normal x, 0 < x <= 2^1021 (2^125 in float), up to a relative 2^-34 (2^-17): a guess by
 * the exponent, off by 0.0506 at most, and Newton's steps, which square that. */
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

/* [y]_+^r, r = 1, 2, 3, by products (theorem profile_error). */
ISA_INLINE vd vd_profile(vd y, const int r) {
  vd x = vd_max(y, vd_set1(0));
  if (r == 1) return x;
  if (r == 2) return x * x;
  return x * x * x;
}

/* y^r for y > 0 normal; 0 where that is below 2^-1020. With L = log y, within about |r| 2^-51 (1 +
 * 2 |L|) + 2^-52 of it, relatively (theorem power64_error). */
ISA_INLINE vd vd_power(vd y, double r) {
  vd x = vd_set1(r) * vd_log(y);
  vd most = vd_set1(EXP64_MAX);
  return vd_exp(vd_select(x < most, x, most));
}

#endif
