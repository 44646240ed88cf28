/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Double-double numbers hi + lo on vectors; included by *_isa.c files only.
 *
 * u = 2^-53. Relative errors (Joldes, Muller, Popescu, "Tight and rigorous error bounds for basic
 * building blocks of double-word arithmetic", ACM TOMS 44, 2017): sum of two double-words at most
 * 3 u^2 + 13 u^3, product of two at most 5 u^2, of a double-word and a double at most 2 u^2,
 * as long as nothing under- or overflows. DD_ERROR = 8 u^2 is used for every operation. */
#ifndef ATTEST_ENCLOSURE_DD_ISA_H
#define ATTEST_ENCLOSURE_DD_ISA_H

#include "../tensor/isa.h"
#include "dd.h"
#include "exp_constants.h"

typedef struct {
  vd hi, lo;
} vdd;

ISA_INLINE vdd vdd_of(vd hi) {
  return (vdd){hi, (vd){0}};
}

/* a + b = hi + lo exactly (|a| >= |b| or a = 0 for the fast form). */
ISA_INLINE vdd vdd_fast_two_sum(vd a, vd b) {
  vd s = a + b;
  return (vdd){s, b - (s - a)};
}

ISA_INLINE vdd vdd_two_sum(vd a, vd b) {
  vd s = a + b, a1 = s - b, b1 = s - a1;
  return (vdd){s, (a - a1) + (b - b1)};
}

/* a b = hi + lo exactly. */
ISA_INLINE vdd vdd_two_product(vd a, vd b) {
  vd p = a * b;
  return (vdd){p, vd_fma(a, b, -p)};
}

ISA_INLINE vdd vdd_add(vdd a, vdd b) {
  vdd s = vdd_two_sum(a.hi, b.hi), t = vdd_two_sum(a.lo, b.lo);
  vdd v = vdd_fast_two_sum(s.hi, s.lo + t.hi);
  return vdd_fast_two_sum(v.hi, t.lo + v.lo);
}

ISA_INLINE vdd vdd_mul(vdd a, vdd b) {
  vdd p = vdd_two_product(a.hi, b.hi);
  vd cross = vd_fma(a.lo, b.hi, vd_fma(a.hi, b.lo, a.lo * b.lo));
  return vdd_fast_two_sum(p.hi, p.lo + cross);
}

ISA_INLINE vdd vdd_mul_double(vdd a, vd b) {
  vdd p = vdd_two_product(a.hi, b);
  return vdd_fast_two_sum(p.hi, vd_fma(a.lo, b, p.lo));
}

/* ln 2 in three parts: n LN2_1 is exact for |n| < 2^20; the rest after the third is below 2^-140.
 */
#define DD_LN2_1 EXP64_LN2_HI
#define DD_LN2_2 EXP64_LN2_LO
#define DD_LN2_3 -0x1.9ff0342542fc3p-90
/* 1/k! as double-doubles, k = 2 .. 9. */
static const double dd_inverse_factorial[8][2] = {{0x1p-1, 0},
                                                  {0x1.5555555555555p-3, 0x1.5555555555555p-57},
                                                  {0x1.5555555555555p-5, 0x1.5555555555555p-59},
                                                  {0x1.1111111111111p-7, 0x1.1111111111111p-63},
                                                  {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
                                                  {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
                                                  {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
                                                  {0x1.71de3a556c734p-19, -0x1.c154f8ddc6cp-73}};

/* exp(x), x.hi in [-700, 700]; 0 below -700. r = x - n ln 2, |r| <= 0.3472; e = exp(r / 512) - 1 by
 * Taylor to degree 9 (the rest is below 2^-116 e); nine doublings e <- e (2 + e), each adding at
 * most 3 DD_ERROR to its relative error; 1 + e; times 2^n. Together at most DD_EXP_ERROR relative.
 */
#define DD_EXP_ERROR 0x1p-97
ISA_INLINE vdd vdd_exp(vdd x) {
  vd t = vd_fma(x.hi, vd_set1(EXP64_LOG2E), vd_set1(EXP64_ROUND)), n = t - vd_set1(EXP64_ROUND);
  vdd r = vdd_add(x, vdd_of(-n * vd_set1(DD_LN2_1)));
  r = vdd_add(r, vdd_two_product(-n, vd_set1(DD_LN2_2)));
  r = vdd_add(r, vdd_of(-n * vd_set1(DD_LN2_3)));
  r.hi *= vd_set1(0x1p-9);
  r.lo *= vd_set1(0x1p-9);
  vdd e = {vd_set1(dd_inverse_factorial[7][0]), vd_set1(dd_inverse_factorial[7][1])};
  for (int k = 6; k >= 0; k--) {
    vdd c = {vd_set1(dd_inverse_factorial[k][0]), vd_set1(dd_inverse_factorial[k][1])};
    e = vdd_add(vdd_mul(e, r), c);
  }
  e = vdd_add(vdd_mul(vdd_mul(e, r), r), r); /* r + r^2 (1/2 + ...) */
  for (int k = 0; k < 9; k++) {
    vdd two = {e.hi + e.hi, e.lo + e.lo};
    e = vdd_add(two, vdd_mul(e, e));
  }
  e = vdd_add(e, vdd_of(vd_set1(1)));
  vd power = (vd)((vdu)vd_set1(1) + ((vdu)t << 52));
  vdi normal = x.hi >= vd_set1(-700);
  return (vdd){(vd)((vdi)(e.hi * power) & normal), (vd)((vdi)(e.lo * power) & normal)};
}

#endif
