/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Powers on vectors of double; included by *_isa.c files only. Fixed order: the same bits on every
 * instruction set. */
#ifndef ATTEST_SPARSE_POWER_ISA_H
#define ATTEST_SPARSE_POWER_ISA_H

#include "../enclosure/exp_isa.h"

/* log(x), x > 0 normal: x = 2^e f with f in [sqrt 1/2, sqrt 2), log f = 2 atanh z with z = (f-1) /
 * (f+1), |z| <= 0.1716, by its series to z^21 (the rest is below 2^-56). Error as log64: at most
 * 2^-51 (1 + |log x|). */
ISA_INLINE vd vd_log(vd x) {
  vdu bits = (vdu)x, root = (vdu)vd_set1(0x1.6a09e667f3bcdp-1);
  vdu shifted = bits - root + ((vdu){0} + (UINT64_C(1023) << 52));
  vdi e = (vdi)(shifted >> 52) - ((vdi){0} + 1023);
  vd f = (vd)(bits - ((vdu)e << 52));
  /* A small integer as a double: its bits after those of 1.5 2^52. */
  vd n = (vd)((vdu)vd_set1(0x1.8p52) + (vdu)e) - vd_set1(0x1.8p52);
  vd z = (f - vd_set1(1)) / (f + vd_set1(1)), z2 = z * z, s = vd_set1(1.0 / 21);
  s = vd_fma(s, z2, vd_set1(1.0 / 19));
  s = vd_fma(s, z2, vd_set1(1.0 / 17));
  s = vd_fma(s, z2, vd_set1(1.0 / 15));
  s = vd_fma(s, z2, vd_set1(1.0 / 13));
  s = vd_fma(s, z2, vd_set1(1.0 / 11));
  s = vd_fma(s, z2, vd_set1(1.0 / 9));
  s = vd_fma(s, z2, vd_set1(1.0 / 7));
  s = vd_fma(s, z2, vd_set1(1.0 / 5));
  s = vd_fma(s, z2, vd_set1(1.0 / 3));
  vd log_f = vd_fma(z * z2, s, z);
  log_f = log_f + log_f;
  return vd_fma(n, vd_set1(EXP64_LN2_HI), vd_fma(n, vd_set1(EXP64_LN2_LO), log_f));
}

/* The same in float to about 2^-20, for guesses: x = 2^e (1 + f), log(1 + f) = f - f^2/2 + f^3 P(f)
 * with the polynomial of Cephes' logf. */
ISA_INLINE vf vf_log(vf x) {
  vfu bits = (vfu)x, root = (vfu)vf_set1(0x1.6a09e6p-1f);
  vfu shifted = bits - root + ((vfu){0} + (UINT32_C(127) << 23));
  vfi e = (vfi)(shifted >> 23) - ((vfi){0} + 127);
  vf f = (vf)(bits - ((vfu)e << 23)) - vf_set1(1), square = f * f;
  vf n = (vf)((vfu)vf_set1(0x1.8p23f) + (vfu)e) - vf_set1(0x1.8p23f);
  vf p = vf_set1(0x1.204376p-4f);             /* 0.070376836 */
  p = vf_fma(p, f, vf_set1(-0x1.d7a37p-4f));  /* -0.11514610 */
  p = vf_fma(p, f, vf_set1(0x1.de4a34p-4f));  /* 0.11676998 */
  p = vf_fma(p, f, vf_set1(-0x1.fcba9ep-4f)); /* -0.12420141 */
  p = vf_fma(p, f, vf_set1(0x1.23d37ep-3f));  /* 0.14249323 */
  p = vf_fma(p, f, vf_set1(-0x1.555cap-3f));  /* -0.16668057 */
  p = vf_fma(p, f, vf_set1(0x1.999d58p-3f));  /* 0.20000714 */
  p = vf_fma(p, f, vf_set1(-0x1.fffff8p-3f)); /* -0.24999994 */
  p = vf_fma(p, f, vf_set1(0x1.555554p-2f));  /* 0.33333331 */
  p = vf_fma(p * f, square, vf_fma(square, vf_set1(-0.5f), f));
  return vf_fma(n, vf_set1(0x1.62e43p-1f), p);
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
