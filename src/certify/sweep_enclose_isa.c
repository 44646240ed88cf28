/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The references of a sweep in double with a radius, u = 2^-53. Inputs are floats, exact in double
 * and normal there. Every radius is a sum of at most a few roundings, derived beside it; the
 * factors below leave room for second-order terms and for the rounding of the radius itself.
 *
 * exp, tanh and their polynomials are those of enclosure/exp_isa.h, whose bounds are used; log is
 * that of enclosure/log_isa.h. */
#include "../enclosure/log_isa.h"
#include "sweep_engine.h"

typedef float vhf __attribute__((vector_size(ISA_BYTES / 2)));

#define U 0x1p-53

/* Where the exact value is known to lie in (0, 2 TINY] only: far below every float. */
#define TINY 0x1p-1020

/* mid and rad of one vector of inputs. */
typedef struct {
  vd mid, rad;
} ball;

ISA_INLINE ball relative(vd y, double units) {
  return (ball){y, vd_abs(y) * vd_set1(units * U)};
}

/* y is 0 only where the exact value is positive and below 2 TINY. */
ISA_INLINE ball positive(vd y, double units) {
  vdi is_known = y > vd_set1(0);
  vd rad = vd_select(is_known, vd_abs(y) * vd_set1(units * U), vd_set1(TINY));
  return (ball){vd_select(is_known, y, vd_set1(TINY)), rad};
}

ISA_INLINE vd vd_min(vd a, vd b) {
  return -vd_max(-a, -b);
}

ISA_INLINE vd vd_sqrt(vd x) {
#if ISA_BYTES == 64
  return (vd)_mm512_sqrt_pd((__m512d)x);
#elif ISA_BYTES == 32
  return (vd)_mm256_sqrt_pd((__m256d)x);
#else
  for (int i = 0; i < VD_LANES; i++)
    x[i] = sqrt(x[i]);
  return x;
#endif
}

/* ---- exponentials ---------------------------------------------------------------------------- */

/* Inputs beyond EXP64_MAX are not asked for (reference.vast). */
ISA_INLINE ball enclose_exp(vd x, const sweep_constants *c) {
  (void)c;
  return positive(vd_exp(vd_min(x, vd_set1(EXP64_MAX))), EXP64_ERROR + 0.5);
}

ISA_INLINE ball enclose_gaussian(vd x, const sweep_constants *c) {
  return enclose_exp(x * vd_set1(-0.5), c);
}

/* x = n + r exactly; r ln 2 is off by 2 u |r ln 2|, 0.7 u in the result; then the polynomial and
 * its roundings as in vd_exp, 2 u. */
ISA_INLINE ball enclose_exp2(vd x, const sweep_constants *c) {
  (void)c;
  vd z = vd_max(vd_min(x, vd_set1(1000)), vd_set1(-1019));
  vd t = z + vd_set1(EXP64_ROUND);
  vd r = (z - (t - vd_set1(EXP64_ROUND))) * vd_set1(0x1.62e42fefa39efp-1); /* ln 2 = 0.693147 */
  vd p = vd_fma(vd_exp_tail(r), r, vd_set1(1));
  vdi bits = (vdi)((vdu)p + ((vdu)t << 52));
  vd y = (vd)(bits & (x >= vd_set1(-1019)));
  return positive(y, 4);
}

/* |x| <= 0.34: x (exp(x) - 1)/x. The polynomial agrees with exp to 2^-57.8 and its first two
 * coefficients are exact, so that it is off from (exp(x) - 1)/x by at most u (for |x| >= 1/16 by
 * 1.42 2^-57.8 16; below, coefficient by coefficient, by |x| 2^-48.8); the last two steps of
 * Horner's rule and the product round to 2.6 u. Elsewhere |exp(x) - 1| >= 0.288 exp(x) and >= 0.4
 * for x > 0: 2 u exp(x) is 7 u of it at most, and the subtraction rounds. */
ISA_INLINE ball enclose_expm1(vd x, const sweep_constants *c) {
  (void)c;
  vdi is_small = vd_abs(x) <= vd_set1(0.34);
  vd near = x * vd_exp_tail(vd_select(is_small, x, vd_set1(0)));
  vd far = vd_exp(vd_min(x, vd_set1(EXP64_MAX))) - vd_set1(1);
  return relative(vd_select(is_small, near, far), 9);
}

ISA_INLINE ball enclose_tanh(vd x, const sweep_constants *c) {
  (void)c;
  return relative(vd_tanh(x), EXP_TANH_ERROR + 0.5);
}

/* exp 2 u, the sum and the quotient one each. */
ISA_INLINE vd sigmoid(vd x) {
  vd e = vd_exp(-vd_abs(x)), one = vd_set1(1);
  return vd_select(x < vd_set1(0), e, one) / (one + e);
}

ISA_INLINE ball enclose_sigmoid(vd x, const sweep_constants *c) {
  (void)c;
  return positive(sigmoid(x), 6);
}

/* Where the sigmoid is 0 in double, |x| sigmoid(x) is below 2^128 2^-1019. */
ISA_INLINE ball enclose_silu(vd x, const sweep_constants *c) {
  (void)c;
  vd y = x * sigmoid(x), size = vd_abs(y);
  vdi is_gone = (y >= vd_set1(0)) & (x < vd_set1(-1));
  vd rad = vd_select(is_gone, vd_set1(0x1p-890), size * vd_set1(7 * U));
  return (ball){vd_select(is_gone, vd_set1(-0x1p-890), y), rad};
}

/* ---- logarithms ------------------------------------------------------------------------------ */

/* vd_log_fraction is off by 3.35 u relative: f + 1 and the quotient round z, the series rounds it
 * again and is off from 2 atanh z by 0.2 u. */

/* Where the exponent is not 0 the logarithm is at least 0.346, and 3.35 u of log f, 0.347 at most,
 * and the rounding of the low part to 1/4 u are 4.2 u of it; the last sum rounds. */
ISA_INLINE ball enclose_log(vd x, const sweep_constants *c) {
  (void)c;
  return relative(vd_log(x), 5.5);
}

/* log2 f = log f log2(e), where log2(e) is off by 0.2 u; the sum rounds. Where e is not 0, |e +
 * log2 f| >= 1/2 >= |log2 f|. */
ISA_INLINE ball enclose_log2(vd x, const sweep_constants *c) {
  (void)c;
  vd root = vd_set1(LOG64_ROOT), l = vd_log_fraction(vd_fraction(x, root));
  return relative(vd_fma(l, vd_set1(EXP64_LOG2E), vd_exponent(x, root, vd_set1(EXP64_ROUND))), 5);
}

/* Within [-0.29, 0.41] z = x / (2 + x), which rounds as in vd_log_fraction; elsewhere |log(1 + x)|
 * > 0.342, and the rounding of 1 + x counts u / 0.342 beside that of the logarithm. */
ISA_INLINE ball enclose_log1p(vd x, const sweep_constants *c) {
  (void)c;
  vdi is_near = (x >= vd_set1(-0.29)) & (x <= vd_set1(0.41));
  vd near = vd_log_series(vd_select(is_near, x, vd_set1(0)) / (x + vd_set1(2)));
  return relative(vd_select(is_near, near, vd_log(x + vd_set1(1))), 9);
}

/* ---- angles ---------------------------------------------------------------------------------- */

/* sin r = r + r z S(z), cos r = 1 + z C(z), z = r^2, |r| <= 0.7855: Taylor to r^17 and r^18, the
 * rest below 2^-63. */
ISA_INLINE vd sine_series(vd z) {
  static const double s[] = {-0x1.5555555555555p-3,  0x1.1111111111111p-7,   -0x1.a01a01a01a01ap-13,
                             0x1.71de3a556c734p-19,  -0x1.ae64567f544e4p-26, 0x1.6124613a86d09p-33,
                             -0x1.ae7f3e733b81fp-41, 0x1.952c77030ad4ap-49};
  vd p = vd_set1(s[7]);
#pragma GCC unroll 8
  for (int i = 6; i >= 0; i--)
    p = vd_fma(p, z, vd_set1(s[i]));
  return p;
}

ISA_INLINE vd cosine_series(vd z) {
  static const double k[] = {-0x1p-1,
                             0x1.5555555555555p-5,
                             -0x1.6c16c16c16c17p-10,
                             0x1.a01a01a01a01ap-16,
                             -0x1.27e4fb7789f5cp-22,
                             0x1.1eed8eff8d898p-29,
                             -0x1.93974a8c07c9dp-37,
                             0x1.ae7f3e733b81fp-45,
                             -0x1.6827863b97d97p-53};
  vd q = vd_set1(k[8]);
#pragma GCC unroll 8
  for (int i = 7; i >= 0; i--)
    q = vd_fma(q, z, vd_set1(k[i]));
  return q;
}

ISA_INLINE vd sine(vd r) {
  vd z = r * r;
  return vd_fma(r * z, sine_series(z), r);
}

ISA_INLINE vd cosine(vd r) {
  vd z = r * r;
  return vd_fma(z, cosine_series(z), vd_set1(1));
}

/* The angle x (high + low), below pi/4. */
ISA_INLINE vd reduce_small(vd x, vd high, vd low) {
  return vd_fma(x, high, x * low);
}

/* The angle reduced to r in [-pi/4, pi/4] and quarter turns (mod 4, as integers in double), given
 * the mantissa m and the parts of a quarter turn for m = 1. m high and m middle are exact, so is
 * what is left of them without the whole turns; m low is added with one rounding, 2^-82 are missing
 * of it; times pi/2 with two. */
ISA_INLINE vd reduce_large(vd *turns, vd m, vd high, vd middle, vd low) {
  vd round = vd_set1(EXP64_ROUND), a = m * high, b = m * middle;
  vd n = (a + b + round) - round;
  *turns = n;
  return vd_fma(m, low, (a - n) + b) * vd_set1(0x1.921fb54442d18p+0); /* pi/2 = 1.570796 */
}

/* sin of the angle plus `quarters` quarter turns. r is off by 2.5 u relative and 2^-81; sine and
 * cosine then by 2 u of r and 1.7 u. A position of rope has an angle of at least 2^-700, so that
 * nothing falls among the subnormals (proofs/certify/sweep_angle.v). */
ISA_INLINE ball turned(vd x, int quarters, const sweep_constants *c) {
  vd turns = vd_set1(0), r;
  if (c->is_small)
    r = reduce_small(x, vd_set1(c->theta[0]), vd_set1(c->theta[1]));
  else
    r = reduce_large(&turns, x * vd_set1(c->inverse_unit), vd_set1(c->part[0]), vd_set1(c->part[1]),
                     vd_set1(c->part[2]));
  vdi n = (vdi)((vdu)(turns + vd_set1(EXP64_ROUND))) + quarters;
  vd y = vd_select((n & 1) == 1, cosine(r), sine(r));
  y = vd_select((n & 2) == 2, -y, y);
  ball b = relative(y, 6.5);
  if (!c->is_small) b.rad += vd_set1(0x1p-80);
  return b;
}

ISA_INLINE ball enclose_sin(vd x, const sweep_constants *c) {
  return turned(x, 0, c);
}

ISA_INLINE ball enclose_cos(vd x, const sweep_constants *c) {
  return turned(x, 1, c);
}

/* ---- algebraic functions --------------------------------------------------------------------- */

ISA_INLINE ball enclose_sqrt(vd x, const sweep_constants *c) {
  (void)c;
  return relative(vd_sqrt(x), 1.01);
}

ISA_INLINE ball enclose_rsqrt(vd x, const sweep_constants *c) {
  (void)c;
  return relative(vd_set1(1) / vd_sqrt(x), 2.01);
}

ISA_INLINE ball enclose_reciprocal(vd x, const sweep_constants *c) {
  (void)c;
  return relative(vd_set1(1) / x, 1.01);
}

/* s + *error = a + b exactly. */
ISA_INLINE vd two_sum(vd *error, vd a, vd b) {
  vd s = a + b, b_part = s - a;
  *error = (a - (s - b_part)) + (b - b_part);
  return s;
}

/* sum of x^m / m!, m <= degree. Degrees 1 and 2 keep what rounding loses, since many results are
 * exact or lie halfway between floats. Others: Horner's rule with coefficients off by u relative
 * (the first three exact), degree + 1 roundings of what the same sum is for |x|. */
ISA_INLINE ball enclose_taylor(vd x, const sweep_constants *c) {
  static const double inverse[] = {1,
                                   1,
                                   0.5,
                                   0x1.5555555555555p-3,
                                   0x1.5555555555555p-5,
                                   0x1.1111111111111p-7,
                                   0x1.6c16c16c16c17p-10,
                                   0x1.a01a01a01a01ap-13,
                                   0x1.a01a01a01a01ap-16};
  int degree = c->degree;
  vd one = vd_set1(1), zero = vd_set1(0);
  if (degree == 0) return (ball){one, zero};
  if (degree <= 2) {
    vd e1, e2, e3, square = degree == 2 ? x * x * vd_set1(0.5) : zero;
    vd s = two_sum(&e2, two_sum(&e1, one, x), square);
    vd lost = e1 + e2;
    s = two_sum(&e3, s, lost);
    return (ball){s, vd_abs(e3) * vd_set1(1 + 0x1p-40) + vd_abs(lost) * vd_set1(2 * U)};
  }
  vd y = vd_set1(inverse[degree]), size = y, magnitude = vd_abs(x);
  for (int m = degree - 1; m >= 0; m--) {
    y = vd_fma(y, x, vd_set1(inverse[m]));
    size = vd_fma(size, magnitude, vd_set1(inverse[m]));
  }
  return (ball){y, size * vd_set1((degree + 2.5) * U)};
}

/* [1 - x]_+^degree, degree 1 to 3, with what rounding loses: t + e = 1 - x; t^2 is p + e2, p t is q
 * + e3, and the cube is q + e3 + e2 t + 3 t^2 e up to second order. */
ISA_INLINE ball enclose_profile(vd x, const sweep_constants *c) {
  vd e, zero = vd_set1(0), room = vd_set1(1 + 0x1p-40);
  vd t = two_sum(&e, vd_set1(1), -x);
  vdi inside = t > zero;
  t = vd_select(inside, t, zero);
  e = vd_select(inside, vd_abs(e), zero);
  if (c->degree == 1) return (ball){t, e};
  vd p = t * t, e2 = vd_abs(vd_fma(t, t, -p));
  if (c->degree == 2) return (ball){p, (e2 + vd_set1(2) * t * e) * room};
  vd q = p * t, e3 = vd_abs(vd_fma(p, t, -q));
  return (ball){q, (e3 + e2 * t + vd_set1(3) * p * e) * room};
}

/* ---- arrays ---------------------------------------------------------------------------------- */

#define DEFINE(name)                                                                               \
  void ISA(sweep_enclose_##name)(double *mid, double *rad, const float *x, int64_t n,              \
                                 const sweep_constants *c) {                                       \
    for (int64_t i = 0; i < n; i += VD_LANES) {                                                    \
      vhf input;                                                                                   \
      memcpy(&input, x + i, sizeof input);                                                         \
      ball b = enclose_##name(__builtin_convertvector(input, vd), c);                              \
      vd_store(mid + i, b.mid);                                                                    \
      vd_store(rad + i, b.rad);                                                                    \
    }                                                                                              \
  }
SWEEP_ENCLOSURES(DEFINE)
