/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The logarithm on vectors of double, and the binades of both formats; included by *_isa.c files
 * only. Fixed order: the same bits on every instruction set. */
#ifndef ATTEST_ENCLOSURE_LOG_ISA_H
#define ATTEST_ENCLOSURE_LOG_ISA_H

#include "exp_isa.h"
#include "log_constants.h"

/* x = 2^e f with f in [root, 2 root), x > 0 normal, root in [1/2, 1): e; f; and e as a number: an
 * integer that small is added to the bits of `round` = 1.5 2^bits. */
#define LOG_BINADE(v, vi, vu, bits, bias)                                                          \
  ISA_INLINE vi v##_binade(v x, v root) {                                                          \
    vu shifted = (vu)x - (vu)root + (((vu){0} + bias) << bits);                                    \
    return (vi)(shifted >> bits) - ((vi){0} + bias);                                               \
  }                                                                                                \
  ISA_INLINE v v##_fraction(v x, v root) {                                                         \
    return (v)((vu)x - ((vu)v##_binade(x, root) << bits));                                         \
  }                                                                                                \
  ISA_INLINE v v##_exponent(v x, v root, v round) {                                                \
    return (v)((vu)round + (vu)v##_binade(x, root)) - round;                                       \
  }
LOG_BINADE(vf, vfi, vfu, 23, 127)
LOG_BINADE(vd, vdi, vdu, 52, 1023)
#undef LOG_BINADE

/* 2 atanh z = log((1 + z) / (1 - z)), |z| <= 0.1716, by its series to z^21. */
ISA_INLINE vd vd_log_series(vd z) {
  vd z2 = z * z, s = vd_set1(LOG64_C21);
  s = vd_fma(s, z2, vd_set1(LOG64_C19));
  s = vd_fma(s, z2, vd_set1(LOG64_C17));
  s = vd_fma(s, z2, vd_set1(LOG64_C15));
  s = vd_fma(s, z2, vd_set1(LOG64_C13));
  s = vd_fma(s, z2, vd_set1(LOG64_C11));
  s = vd_fma(s, z2, vd_set1(LOG64_C9));
  s = vd_fma(s, z2, vd_set1(LOG64_C7));
  s = vd_fma(s, z2, vd_set1(LOG64_C5));
  s = vd_fma(s, z2, vd_set1(LOG64_C3));
  vd y = vd_fma(z * z2, s, z);
  return y + y;
}

/* log f for f in [sqrt 1/2, sqrt 2). */
ISA_INLINE vd vd_log_fraction(vd f) {
  return vd_log_series((f - vd_set1(1)) / (f + vd_set1(1)));
}

/* log(x), x > 0 normal: absolute error at most 2^-51 (1 + |log x|) (proofs/enclosure/log_float.v),
 * relative at most 5.1 unit roundoffs (log_relative.v). */
ISA_INLINE vd vd_log(vd x) {
  vd f = vd_fraction(x, vd_set1(LOG64_ROOT));
  vd n = vd_exponent(x, vd_set1(LOG64_ROOT), vd_set1(EXP64_ROUND));
  vd low = vd_fma(n, vd_set1(EXP64_LN2_LO), vd_log_fraction(f));
  return vd_fma(n, vd_set1(EXP64_LN2_HI), low);
}

#endif
