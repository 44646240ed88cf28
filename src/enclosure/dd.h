/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Double-double numbers hi + lo, one at a time; see dd_isa.h for vectors and for the error bounds.
 */
#ifndef ATTEST_ENCLOSURE_DD_H
#define ATTEST_ENCLOSURE_DD_H

#include <math.h>

#include "flint.h"

#define DD_ERROR 0x1p-103 /* relative, of every operation */

typedef struct {
  double hi, lo;
} dd_number;

static inline dd_number dd_two_sum(double a, double b) {
  double s = a + b, a1 = s - b, b1 = s - a1;
  return (dd_number){s, (a - a1) + (b - b1)};
}

static inline dd_number dd_add(dd_number a, dd_number b) {
  dd_number s = dd_two_sum(a.hi, b.hi), t = dd_two_sum(a.lo, b.lo);
  dd_number v = dd_two_sum(s.hi, s.lo + t.hi);
  return dd_two_sum(v.hi, t.lo + v.lo);
}

static inline dd_number dd_mul(dd_number a, dd_number b) {
  double p = a.hi * b.hi, low = fma(a.hi, b.hi, -p);
  return dd_two_sum(p, low + (a.hi * b.lo + a.lo * b.hi));
}

static inline dd_number dd_negative(dd_number a) {
  return (dd_number){-a.hi, -a.lo};
}

/* Two Newton corrections: relative error below 4 DD_ERROR. */
static inline dd_number dd_div(dd_number a, dd_number b) {
  dd_number q = {a.hi / b.hi, 0};
  for (int i = 0; i < 2; i++) {
    dd_number rest = dd_add(a, dd_negative(dd_mul(q, b)));
    q = dd_add(q, (dd_number){rest.hi / b.hi, 0});
  }
  return q;
}

/* The middle of a ball, within 2^-105 relative of it where that is normal. */
static inline dd_number dd_of_ball(const arb_t ball) {
  dd_number x;
  arf_t rest;
  arf_init(rest);
  x.hi = arf_get_d(arb_midref(ball), ARF_RND_NEAR);
  arf_set_d(rest, x.hi);
  arf_sub(rest, arb_midref(ball), rest, ARF_PREC_EXACT, ARF_RND_DOWN);
  x.lo = arf_get_d(rest, ARF_RND_NEAR);
  arf_clear(rest);
  return x;
}

#endif
