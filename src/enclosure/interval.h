/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Directed double arithmetic for bounds, in round-to-nearest mode (never fesetround).
 *
 * Sums are the exact sum rounded up (down): exact results stay exact. Products and quotients are
 * the rounded one's next double: the relative error is below 2^-51, in the subnormal range the
 * absolute error below 2^-1073; a zero operand gives exactly 0. A finite result that overflows
 * gives infinity upwards and DBL_MAX downwards. Operands of products and quotients are >= 0,
 * possibly infinite, never NaN. 0/0 = 0; 0 * infinity and infinity/infinity give the safe side:
 * infinity upwards, 0 downwards. */
#ifndef ATTEST_ENCLOSURE_INTERVAL_H
#define ATTEST_ENCLOSURE_INTERVAL_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* The next double above x, any sign; +infinity and NaN stay. */
static inline double enclosure_up(double x) {
  if (!(x < INFINITY)) return x;
  if (x == 0) return 0x1p-1074;
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits += x > 0 ? 1 : -1;
  memcpy(&x, &bits, sizeof bits);
  return x;
}

/* The next double below x. */
static inline double enclosure_down(double x) {
  return -enclosure_up(-x);
}

/* The next double above x (finite, not 0) where `inexact`, else x; no branch to mispredict. */
static inline double enclosure_up_if(double x, int inexact) {
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits += (1 | bits >> 63) & -(int64_t)inexact;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The rounding error of s = fl(a + b), |s| < 2^1022: a + b = s + error exactly, any signs. */
static inline double enclosure_sum_error(double s, double a, double b) {
  double b_part = s - a;
  return (a - (s - b_part)) + (b - b_part);
}

/* a + b of any signs, rounded up (to infinity beyond DBL_MAX; -DBL_MAX below). */
static inline double enclosure_add_up(double a, double b) {
  double s = a + b;
  if (fabs(s) < 0x1p1022) return enclosure_up_if(s, enclosure_sum_error(s, a, b) > 0);
  if (fabs(a) > DBL_MAX || fabs(b) > DBL_MAX) return s != s ? INFINITY : s;
  /* Too close to overflow for the error term: halves have one, unless halving rounds, and then that
   * operand is so small that s is the other one. */
  if (fabs(a) < 0x1p-1000) return enclosure_up_if(s, a > 0);
  if (fabs(b) < 0x1p-1000) return enclosure_up_if(s, b > 0);
  double half = a / 2 + b / 2;
  s = 2 * enclosure_up_if(half, enclosure_sum_error(half, a / 2, b / 2) > 0);
  return s < -DBL_MAX ? -DBL_MAX : s;
}

/* a + b of any signs, rounded down. */
static inline double enclosure_add_down(double a, double b) {
  return -enclosure_add_up(-a, -b);
}

static inline double enclosure_mul_up(double a, double b) {
  double p = a * b;
  return p != p ? INFINITY : a == 0 || b == 0 ? 0 : enclosure_up(p);
}

static inline double enclosure_mul_down(double a, double b) {
  double p = a * b;
  if (p != p || p == 0) return 0;
  return a > DBL_MAX || b > DBL_MAX ? p : enclosure_down(p);
}

static inline double enclosure_div_up(double a, double b) {
  double q = a / b;
  return a == 0 ? 0 : q != q ? INFINITY : enclosure_up(q);
}

static inline double enclosure_div_down(double a, double b) {
  double q = a / b;
  if (q != q || q == 0) return 0;
  return a > DBL_MAX || b == 0 ? q : enclosure_down(q);
}

#endif
