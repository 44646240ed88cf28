/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The references of a sweep in balls and by MPFR, written apart so that each can accuse the other.
 * x is a float: exact, and finite. */
#include "sweep_exact.h"
#include "../problem/pairing.h"

/* ---- balls ----------------------------------------------------------------------------------- */

void sweep_ball_exp(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  (void)f;
  arb_exp(y, x, prec);
}

void sweep_ball_gaussian(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  (void)f;
  arb_mul_2exp_si(y, x, -1);
  arb_neg(y, y);
  arb_exp(y, y, prec);
}

/* Exact at integers. */
void sweep_ball_exp2(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  (void)f;
  if (arb_is_int(x)) {
    fmpz_t n;
    fmpz_init(n);
    arf_get_fmpz(n, arb_midref(x), ARF_RND_NEAR);
    arb_one(y);
    arb_mul_2exp_fmpz(y, y, n);
    fmpz_clear(n);
    return;
  }
  arb_t ln2;
  arb_init(ln2);
  arb_const_log2(ln2, prec + 160); /* |x| < 2^128 */
  arb_mul(y, x, ln2, prec + 160);
  arb_exp(y, y, prec);
  arb_clear(ln2);
}

void sweep_ball_expm1(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  (void)f;
  arb_expm1(y, x, prec);
}

void sweep_ball_log(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  (void)f;
  arb_log(y, x, prec);
}

/* Exact at powers of two. */
void sweep_ball_log2(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  (void)f;
  fmpz_t mantissa, exponent;
  fmpz_init(mantissa);
  fmpz_init(exponent);
  arf_get_fmpz_2exp(mantissa, exponent, arb_midref(x));
  if (fmpz_is_one(mantissa))
    arb_set_fmpz(y, exponent);
  else
    arb_log_base_ui(y, x, 2, prec);
  fmpz_clear(mantissa);
  fmpz_clear(exponent);
}

void sweep_ball_log1p(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  (void)f;
  arb_log1p(y, x, prec);
}

/* The position times theta_pair; exactly 0 at 0. */
static void angle(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  if (!f->rope) {
    arb_set(y, x);
    return;
  }
  arb_t theta;
  arb_init(theta);
  problem_rotary_angle(theta, &f->rope->values, f->d, f->pair, prec + 160);
  arb_mul(y, x, theta, prec + 160);
  arb_clear(theta);
}

void sweep_ball_sin(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  angle(y, x, f, prec);
  arb_sin(y, y, prec);
}

void sweep_ball_cos(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  angle(y, x, f, prec);
  arb_cos(y, y, prec);
}

void sweep_ball_tanh(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  (void)f;
  arb_tanh(y, x, prec);
}

void sweep_ball_sigmoid(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  (void)f;
  arb_neg(y, x);
  arb_exp(y, y, prec + 4);
  arb_add_ui(y, y, 1, prec + 4);
  arb_inv(y, y, prec);
}

void sweep_ball_silu(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  sweep_ball_sigmoid(y, x, f, prec + 4);
  arb_mul(y, x, y, prec);
}

void sweep_ball_sqrt(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  (void)f;
  arb_sqrt(y, x, prec);
}

void sweep_ball_rsqrt(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  (void)f;
  arb_sqrt(y, x, prec + 4);
  arb_inv(y, y, prec);
}

void sweep_ball_reciprocal(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  (void)f;
  arb_inv(y, x, prec);
}

/* y / n, exact where that is a dyadic number and y is exact. */
static void divide(arb_t y, ulong n, slong prec) {
  fmpz_t mantissa, exponent;
  fmpz_init(mantissa);
  fmpz_init(exponent);
  while (n % 2 == 0) {
    n /= 2;
    arb_mul_2exp_si(y, y, -1);
  }
  arf_get_fmpz_2exp(mantissa, exponent, arb_midref(y));
  if (fmpz_divisible_si(mantissa, (slong)n)) {
    fmpz_divexact_ui(mantissa, mantissa, n);
    arf_set_fmpz_2exp(arb_midref(y), mantissa, exponent);
  } else {
    arb_div_ui(y, y, n, prec);
  }
  fmpz_clear(mantissa);
  fmpz_clear(exponent);
}

/* P! T_P(x) = (..((x + P) x + P (P-1)) x + ..), exactly, over P!. */
void sweep_ball_taylor(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  ulong factor = 1;
  arb_one(y);
  for (int m = f->reference->degree; m >= 1; m--) {
    factor *= (ulong)m;
    arb_mul(y, y, x, ARF_PREC_EXACT);
    arb_add_ui(y, y, factor, ARF_PREC_EXACT);
  }
  divide(y, factor, prec);
}

void sweep_ball_profile(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  (void)prec;
  arb_sub_ui(y, x, 1, ARF_PREC_EXACT);
  arb_neg(y, y);
  if (arb_is_negative(y)) arb_zero(y);
  arb_t t;
  arb_init(t);
  arb_set(t, y);
  for (int i = 1; i < f->reference->degree; i++)
    arb_mul(y, y, t, ARF_PREC_EXACT);
  arb_clear(t);
}

/* ---- MPFR ------------------------------------------------------------------------------------ */

void sweep_mpfr_exp(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  (void)f;
  mpfr_exp(y, x, MPFR_RNDN);
}

void sweep_mpfr_gaussian(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  (void)f;
  mpfr_div_si(y, x, -2, MPFR_RNDN);
  mpfr_exp(y, y, MPFR_RNDN);
}

void sweep_mpfr_exp2(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  (void)f;
  mpfr_exp2(y, x, MPFR_RNDN);
}

void sweep_mpfr_expm1(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  (void)f;
  mpfr_expm1(y, x, MPFR_RNDN);
}

void sweep_mpfr_log(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  (void)f;
  mpfr_log(y, x, MPFR_RNDN);
}

void sweep_mpfr_log2(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  (void)f;
  mpfr_log2(y, x, MPFR_RNDN);
}

void sweep_mpfr_log1p(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  (void)f;
  mpfr_log1p(y, x, MPFR_RNDN);
}

/* theta = exp(-2 pair/d log base); 320 bits more than y: a position has up to 128 before the point,
 * and sine and cosine may cancel. */
static void mpfr_angle(mpfr_t z, const mpfr_t x, const sweep_function *f) {
  if (!f->rope) {
    mpfr_set(z, x, MPFR_RNDN);
    return;
  }
  mpq_t base;
  mpfr_t theta;
  mpq_init(base);
  mpfr_init2(theta, mpfr_get_prec(z));
  fmpq_get_mpq(base, f->rope->values.rope_base.value);
  mpfr_set_q(theta, base, MPFR_RNDN);
  mpq_clear(base);
  mpfr_log(theta, theta, MPFR_RNDN);
  if (f->rope->values.rope_base.root) mpfr_div_2ui(theta, theta, 1, MPFR_RNDN);
  mpfr_mul_si(theta, theta, -2 * (long)f->pair, MPFR_RNDN);
  mpfr_div_si(theta, theta, (long)f->d, MPFR_RNDN);
  mpfr_exp(theta, theta, MPFR_RNDN);
  mpfr_mul(z, x, theta, MPFR_RNDN);
  mpfr_clear(theta);
}

static void mpfr_of_angle(mpfr_t y, const mpfr_t x, const sweep_function *f,
                          int (*function)(mpfr_t, const mpfr_t, mpfr_rnd_t)) {
  mpfr_t z;
  mpfr_init2(z, mpfr_get_prec(y) + 320);
  mpfr_angle(z, x, f);
  function(y, z, MPFR_RNDN);
  mpfr_clear(z);
}

void sweep_mpfr_sin(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  mpfr_of_angle(y, x, f, mpfr_sin);
}

void sweep_mpfr_cos(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  mpfr_of_angle(y, x, f, mpfr_cos);
}

void sweep_mpfr_tanh(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  (void)f;
  mpfr_tanh(y, x, MPFR_RNDN);
}

/* (1 + tanh(x/2))/2 would cancel: exp(-|x|) instead. */
void sweep_mpfr_sigmoid(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  (void)f;
  mpfr_t e;
  mpfr_init2(e, mpfr_get_prec(y));
  mpfr_abs(e, x, MPFR_RNDN);
  mpfr_neg(e, e, MPFR_RNDN);
  mpfr_exp(e, e, MPFR_RNDN);
  mpfr_add_ui(y, e, 1, MPFR_RNDN);
  if (mpfr_sgn(x) < 0)
    mpfr_div(y, e, y, MPFR_RNDN);
  else
    mpfr_ui_div(y, 1, y, MPFR_RNDN);
  mpfr_clear(e);
}

void sweep_mpfr_silu(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  sweep_mpfr_sigmoid(y, x, f);
  mpfr_mul(y, y, x, MPFR_RNDN);
}

void sweep_mpfr_sqrt(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  (void)f;
  mpfr_sqrt(y, x, MPFR_RNDN);
}

void sweep_mpfr_rsqrt(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  (void)f;
  mpfr_rec_sqrt(y, x, MPFR_RNDN);
}

void sweep_mpfr_reciprocal(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  (void)f;
  mpfr_ui_div(y, 1, x, MPFR_RNDN);
}

/* The sum of x^m/m!, term by term over the rationals. */
void sweep_mpfr_taylor(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  mpq_t z, term, sum, m;
  mpq_inits(z, term, sum, m, (mpq_ptr)NULL);
  mpfr_get_q(z, x);
  mpq_set_ui(term, 1, 1);
  mpq_set_ui(sum, 1, 1);
  for (int k = 1; k <= f->reference->degree; k++) {
    mpq_set_ui(m, 1, (unsigned long)k);
    mpq_mul(term, term, z);
    mpq_mul(term, term, m);
    mpq_add(sum, sum, term);
  }
  mpfr_set_q(y, sum, MPFR_RNDN);
  mpq_clears(z, term, sum, m, (mpq_ptr)NULL);
}

void sweep_mpfr_profile(mpfr_t y, const mpfr_t x, const sweep_function *f) {
  mpfr_t t;
  mpfr_init2(t, 320); /* 1 - x: from 2^128 down to 2^-149 */
  mpfr_ui_sub(t, 1, x, MPFR_RNDN);
  if (mpfr_sgn(t) < 0) mpfr_set_zero(t, 1);
  mpfr_pow_ui(y, t, (unsigned long)f->reference->degree, MPFR_RNDN);
  mpfr_clear(t);
}
