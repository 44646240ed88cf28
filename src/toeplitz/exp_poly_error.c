/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rigorous sup norms of p - e^x and p e^-x - 1 on [-b, b], by branch and bound.
 *
 * Around the middle m of a subinterval, x = m + h, |h| <= r <= 1: with p(m + h) = sum p_k h^k and
 *   D(h) = e^-m p(m + h) - e^h = sum d_k h^k,   d_k = e^-m p_k - 1/k!
 * the absolute error is e^m D and the relative one e^-h D. No cancellation is left in the d_k but
 * that of the balls. Either is R(h) = R_0 + R_1 h + R_2 h^2 + rest, |rest| <= r^3/6 sup |R'''|, and
 *   R''' = D''' (absolute, times e^m) or e^-h (D''' - 3 D'' + 3 D' - D) (relative),
 * with |D^(i)| <= sum_{k >= i} |d_k| k!/(k-i)! r^{k-i}; beyond the degree g of p, |d_k| = 1/k!, so
 * those terms add at most r^{n-i}/(n-i)! e^r, n = max(g + 1, i), for r <= 1 (first term times e^r).
 * The quadratic is at most its values at the ends and, where its vertex may lie between, there.
 * A subinterval is done once its bound is at most the largest value seen anywhere, times 1 +
 * 2^-bits. */
#include "exp_poly_internal.h"

enum { TOLERANCE_BITS = 18, DEPTH_MAX = 60 };

void exp_poly_difference(arb_t f, const fmpq_poly_t p, const arb_t x, exp_poly_measure measure,
                         slong prec) {
  arb_t y;
  arb_poly_t q;
  arb_init(y);
  arb_poly_init(q);
  arb_poly_set_fmpq_poly(q, p, prec);
  arb_poly_evaluate(f, q, x, prec);
  if (measure == EXP_RELATIVE) {
    arb_neg(y, x);
    arb_exp(y, y, prec);
    arb_mul(f, f, y, prec);
    arb_sub_ui(f, f, 1, prec);
  } else {
    arb_exp(y, x, prec);
    arb_sub(f, f, y, prec);
  }
  arb_clear(y);
  arb_poly_clear(q);
}

typedef struct {
  exp_poly_measure measure;
  slong prec, bits;
  arb_poly_t p, shifted;
  arb_t seen;  /* lower bound of the sup: exact */
  arb_t bound; /* upper bound over what is done: exact */
  int lost;    /* a subinterval that no depth settles: more precision is needed */
} search;

/* seen = max(seen, least point of |f|). */
static void see(search *s, const arb_t f) {
  arf_t low;
  arf_init(low);
  arb_get_abs_lbound_arf(low, f, s->prec);
  if (arf_cmp(low, arb_midref(s->seen)) > 0) arb_set_arf(s->seen, low);
  arf_clear(low);
}

/* d_k of the subinterval around m into s->shifted. */
static void expand(search *s, const arb_t m) {
  slong prec = s->prec, length = arb_poly_length(s->p);
  arb_t scale, c;
  arb_init(scale);
  arb_init(c);
  arb_neg(scale, m);
  arb_exp(scale, scale, prec);
  arb_poly_taylor_shift(s->shifted, s->p, m, prec);
  arb_poly_scalar_mul(s->shifted, s->shifted, scale, prec);
  for (slong k = 0; k < length || k < 3; k++) {
    arb_poly_get_coeff_arb(scale, s->shifted, k);
    arb_fac_ui(c, (ulong)k, prec);
    arb_inv(c, c, prec);
    arb_sub(scale, scale, c, prec);
    arb_poly_set_coeff_arb(s->shifted, k, scale);
  }
  arb_clear(scale);
  arb_clear(c);
}

/* An upper bound of |D^(i)| over |h| <= r. */
static void derivative_bound(arb_t bound, const search *s, slong i, const arb_t r) {
  slong prec = s->prec, length = arb_poly_length(s->shifted), n = length > i ? length : i;
  arb_t term, c;
  arb_init(term);
  arb_init(c);
  arb_zero(bound);
  for (slong k = length - 1; k >= i; k--) { /* Horner in r */
    arb_poly_get_coeff_arb(c, s->shifted, k);
    arb_abs(c, c);
    for (slong f = 0; f < i; f++)
      arb_mul_si(c, c, k - f, prec);
    arb_mul(bound, bound, r, prec);
    arb_add(bound, bound, c, prec);
  }
  arb_pow_ui(term, r, (ulong)(n - i), prec);
  arb_fac_ui(c, (ulong)(n - i), prec);
  arb_div(term, term, c, prec);
  arb_exp(c, r, prec);
  arb_addmul(bound, term, c, prec);
  arb_clear(term);
  arb_clear(c);
}

/* R_0, R_1, R_2 and an upper bound of |R'''| r^3 / 6. */
static void local_model(arb_ptr R, arb_t rest, const search *s, const arb_t m, const arb_t r) {
  slong prec = s->prec;
  arb_t x;
  arb_init(x);
  for (slong k = 0; k < 3; k++)
    arb_poly_get_coeff_arb(R + k, s->shifted, k);
  derivative_bound(rest, s, 3, r);
  if (s->measure == EXP_RELATIVE) { /* e^-h = 1 - h + h^2/2 - .. */
    static const slong factor[3] = {1, 3, 3};
    for (slong i = 0; i < 3; i++) {
      derivative_bound(x, s, i, r);
      arb_addmul_si(rest, x, factor[i], prec);
    }
    arb_exp(x, r, prec);
    arb_mul(rest, rest, x, prec);
    arb_sub(R + 2, R + 2, R + 1, prec);
    arb_mul_2exp_si(x, R, -1);
    arb_add(R + 2, R + 2, x, prec);
    arb_sub(R + 1, R + 1, R, prec);
  } else {
    arb_exp(x, m, prec);
    for (slong k = 0; k < 3; k++)
      arb_mul(R + k, R + k, x, prec);
    arb_mul(rest, rest, x, prec);
  }
  arb_pow_ui(x, r, 3, prec);
  arb_mul(rest, rest, x, prec);
  arb_div_ui(rest, rest, 6, prec);
  arb_clear(x);
}

/* bound = max(bound, |y|). */
static void raise_to(arb_t bound, const arb_t y, slong prec) {
  arb_t size;
  arb_init(size);
  arb_abs(size, y);
  arb_max(bound, bound, size, prec);
  arb_clear(size);
}

/* An upper bound of |R_0 + R_1 h + R_2 h^2| over |h| <= r. */
static void quadratic_bound(arb_t bound, arb_srcptr R, const arb_t r, slong prec) {
  arb_t x, y;
  arb_init(x);
  arb_init(y);
  arb_zero(bound);
  for (int side = -1; side <= 1; side += 2) {
    arb_mul_si(x, r, side, prec);
    arb_mul(y, R + 2, x, prec);
    arb_add(y, y, R + 1, prec);
    arb_mul(y, y, x, prec);
    arb_add(y, y, R, prec);
    raise_to(bound, y, prec);
  }
  arb_mul(x, R + 2, r, prec);
  arb_mul_2exp_si(x, x, 1);
  arb_abs(x, x);
  arb_abs(y, R + 1);
  if (arb_gt(y, x)) { /* the vertex lies outside */
  } else if (arb_contains_zero(R + 2)) {
    arb_mul(y, y, r, prec);
    arb_mul(x, x, r, prec);
    arb_add(y, y, x, prec);
    arb_abs(x, R);
    arb_add(y, y, x, prec);
    raise_to(bound, y, prec);
  } else {
    arb_mul(y, R + 1, R + 1, prec);
    arb_div(y, y, R + 2, prec);
    arb_mul_2exp_si(y, y, -2);
    arb_sub(y, R, y, prec);
    raise_to(bound, y, prec);
  }
  arb_clear(x);
  arb_clear(y);
}

static int settled(const search *s, const arb_t bound) {
  arb_t limit;
  arb_init(limit);
  arb_mul_2exp_si(limit, s->seen, -s->bits);
  arb_add(limit, limit, s->seen, s->prec);
  int yes = arb_le(bound, limit);
  arb_clear(limit);
  return yes;
}

/* The subinterval [m - r, m + r]; m and r exact up to rounding of b. */
static void branch(search *s, const arb_t m, const arb_t r, int depth) {
  slong prec = s->prec;
  arb_ptr R = _arb_vec_init(3);
  arb_t bound, rest;
  arb_init(bound);
  arb_init(rest);
  expand(s, m);
  local_model(R, rest, s, m, r);
  see(s, R);
  quadratic_bound(bound, R, r, prec);
  arb_add(bound, bound, rest, prec);
  if (settled(s, bound)) {
    arb_max(s->bound, s->bound, bound, prec);
  } else if (depth == DEPTH_MAX || s->lost) {
    s->lost = 1;
  } else {
    arb_mul_2exp_si(rest, r, -1);
    arb_sub(bound, m, rest, prec);
    branch(s, bound, rest, depth + 1);
    arb_add(bound, m, rest, prec);
    branch(s, bound, rest, depth + 1);
  }
  _arb_vec_clear(R, 3);
  arb_clear(bound);
  arb_clear(rest);
}

/* One precision: whether the sup is known. */
static int search_once(arb_t sup, const fmpq_poly_t p, const fmpq_t b, exp_poly_measure measure,
                       slong bits, slong prec) {
  search s = {.measure = measure, .prec = prec, .bits = bits};
  arb_t x, r, step;
  arb_init(x);
  arb_init(r);
  arb_init(step);
  arb_init(s.seen);
  arb_init(s.bound);
  arb_poly_init(s.p);
  arb_poly_init(s.shifted);
  arb_poly_set_fmpq_poly(s.p, p, prec);
  arb_set_fmpq(x, b, prec);
  slong pieces = fmpq_poly_length(p) + 2 + arf_get_si(arb_midref(x), ARF_RND_CEIL);
  if (bits > 8) pieces *= 2;
  arb_div_si(r, x, 2 * pieces, prec); /* half a piece of [-b, b] is b / (2 pieces) .. */
  arb_mul_2exp_si(r, r, 1);
  for (slong i = 0; i <= 2 * pieces; i++) { /* points at the ends and between */
    arb_mul_si(x, r, i - pieces, prec);
    exp_poly_difference(step, p, x, measure, prec);
    see(&s, step);
  }
  arb_mul_2exp_si(r, r, -1);
  for (slong i = 0; i < 2 * pieces; i++) {
    arb_mul_si(x, r, 2 * (i - pieces) + 1, prec);
    branch(&s, x, r, 0);
  }
  int ok = !s.lost && arb_is_finite(s.bound) && arb_is_positive(s.seen);
  arb_union(sup, s.seen, s.bound, prec);
  arb_clear(x);
  arb_clear(r);
  arb_clear(step);
  arb_clear(s.seen);
  arb_clear(s.bound);
  arb_poly_clear(s.p);
  arb_poly_clear(s.shifted);
  return ok && arb_rel_accuracy_bits(sup) >= bits - 2;
}

void exp_poly_error_bits(arb_t sup, const fmpq_poly_t p, const fmpq_t b, exp_poly_measure measure,
                         slong bits) {
  for (slong prec = 128; prec <= 65536; prec *= 2)
    if (search_once(sup, p, b, measure, bits, prec)) return;
  arb_indeterminate(sup);
}

void exp_poly_error(arb_t sup, const fmpq_poly_t p, const fmpq_t b, exp_poly_measure measure) {
  exp_poly_error_bits(sup, p, b, measure, TOLERANCE_BITS);
}

attest_status exp_poly_least_error(arb_t least, int64_t degree, const fmpq_t b,
                                   exp_poly_measure measure, attest_error *error) {
  return exp_poly_alternation(least, degree, b, measure, EXP_POLY_EXCHANGES, error);
}

attest_status exp_poly_alternation(arb_t least, int64_t degree, const fmpq_t b,
                                   exp_poly_measure measure, int rounds, attest_error *error) {
  slong prec = 1024;
  fmpq_poly_t p;
  fmpq *points = _fmpq_vec_init(degree + 2);
  arb_t x, f;
  arf_t low;
  fmpq_poly_init(p);
  arb_init(x);
  arb_init(f);
  arf_init(low);
  attest_status status = exp_poly_remez(p, points, measure, degree, b, 192, rounds, error);
  int sign = 0;
  arb_zero(least);
  for (int64_t i = 0; i < degree + 2 && !status; i++) {
    arb_set_fmpq(x, points + i, prec);
    exp_poly_difference(f, p, x, measure, prec);
    arb_get_abs_lbound_arf(low, f, prec);
    int here = arb_is_positive(f) ? 1 : arb_is_negative(f) ? -1 : 0;
    if (here == 0 || here == sign || (i > 0 && fmpq_cmp(points + i - 1, points + i) >= 0)) {
      arb_zero(least);
      break;
    }
    if (i == 0 || arf_cmp(low, arb_midref(least)) < 0) arb_set_arf(least, low);
    sign = here;
  }
  fmpq_poly_clear(p);
  _fmpq_vec_clear(points, degree + 2);
  arb_clear(x);
  arb_clear(f);
  arf_clear(low);
  return status;
}
