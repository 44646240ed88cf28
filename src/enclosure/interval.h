/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Directed double arithmetic for bounds, in round-to-nearest mode (never fesetround).
 *
 * Operands are >= 0, possibly infinite, never NaN. The result is the exact one rounded up (down):
 * exact results stay exact, others are the next double, so the relative error is below 2^-52.
 * Products and quotients below 2^-960 may be one double further out: the absolute error is then
 * below 2^-1073 + 2^-51 times the result. A finite result that overflows gives infinity upwards and
 * DBL_MAX downwards. 0/0 = 0; 0 * infinity and infinity/infinity give the safe side: infinity
 * upwards, 0 downwards. */
#ifndef ATTEST_ENCLOSURE_INTERVAL_H
#define ATTEST_ENCLOSURE_INTERVAL_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Below this a residual by fma may itself underflow. */
#define ENCLOSURE_TINY 0x1p-960

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

/* The rounding error of s = fl(a + b): a + b = s + error exactly, any signs, s finite. Dekker's
 * form with the larger operand first cannot overflow where s does not. */
static inline double enclosure_sum_error(double s, double a, double b) {
  return fabs(a) >= fabs(b) ? b - (s - a) : a - (s - b);
}

/* a + b of any signs, rounded up (to infinity beyond DBL_MAX; -DBL_MAX below). */
static inline double enclosure_add_up(double a, double b) {
  double s = a + b;
  if (!(fabs(s) <= DBL_MAX))
    return s < 0 && a >= -DBL_MAX && b >= -DBL_MAX ? -DBL_MAX : s != s ? INFINITY : s;
  return enclosure_sum_error(s, a, b) > 0 ? enclosure_up(s) : s;
}

/* a + b of any signs, rounded down. */
static inline double enclosure_add_down(double a, double b) {
  return -enclosure_add_up(-a, -b);
}

/* The sign of the residual a b - p, by one fma, tells whether p is below, above or exact. */
static inline double enclosure_mul_up(double a, double b) {
  double p = a * b;
  if (p != p) return INFINITY;
  if (p > DBL_MAX) return p;
  if (p < ENCLOSURE_TINY) return a == 0 || b == 0 ? 0 : enclosure_up(p);
  return fma(a, b, -p) > 0 ? enclosure_up(p) : p;
}

static inline double enclosure_mul_down(double a, double b) {
  double p = a * b;
  if (p != p) return 0;
  if (p > DBL_MAX) return a > DBL_MAX || b > DBL_MAX ? p : DBL_MAX;
  if (p < ENCLOSURE_TINY) return p == 0 ? 0 : enclosure_down(p);
  return fma(a, b, -p) < 0 ? enclosure_down(p) : p;
}

static inline double enclosure_div_up(double a, double b) {
  if (a == 0) return 0;
  double q = a / b;
  if (q != q) return INFINITY;
  if (q > DBL_MAX || b > DBL_MAX) return q;
  if (a < ENCLOSURE_TINY || q < ENCLOSURE_TINY) return enclosure_up(q);
  return fma(-q, b, a) > 0 ? enclosure_up(q) : q;
}

static inline double enclosure_div_down(double a, double b) {
  if (a == 0) return 0;
  double q = a / b;
  if (q != q) return 0;
  if (q > DBL_MAX) return a > DBL_MAX || b == 0 ? q : DBL_MAX;
  if (a < ENCLOSURE_TINY || q < ENCLOSURE_TINY) return q == 0 ? 0 : enclosure_down(q);
  return fma(-q, b, a) < 0 ? enclosure_down(q) : q;
}

#endif
