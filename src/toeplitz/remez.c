/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Remez' exchange for exp on [-b, b], in t = x / b. The error function of degree g has exactly
 * g + 2 extrema with alternating signs, the ends of the interval among them: its derivative, e^x up
 * to a factor times p' - e^x or p' - p, has at most g zeros. So the exchange moves g inner points,
 * each by Newton's method, or by bisection where that leads out of its place: the error has one
 * zero between neighbouring points and one extremum between neighbouring zeros. Plain arithmetic of
 * many digits: nothing here is a proof. */
#include <stdlib.h>

#include "exp_poly_internal.h"

enum { NEWTON_STEPS = 4, BISECTIONS = 24 };

typedef struct {
  int64_t degree;
  exp_poly_measure measure;
  slong prec;
  arb_t b;
  arb_ptr t;     /* degree + 2 points in [-1, 1], increasing */
  arb_ptr c;     /* degree + 2: coefficients in t, then the level */
  arb_ptr first; /* coefficients of dp/dt */
} exchange;

/* The points of largest |T_{degree+1}|. */
static void first_points(exchange *e) {
  int64_t n = e->degree + 1;
  fmpq_t angle;
  fmpq_init(angle);
  for (int64_t i = 0; i <= n; i++) {
    fmpq_set_si(angle, n - i, (ulong)n);
    arb_cos_pi_fmpq(e->t + i, angle, e->prec);
    mag_zero(arb_radref(e->t + i));
  }
  fmpq_clear(angle);
}

/* exp(b t) and, for the relative measure, the same as weight. */
static void exp_at(arb_t y, const exchange *e, const arb_t t) {
  arb_mul(y, e->b, t, e->prec);
  arb_exp(y, y, e->prec);
}

/* Coefficients and level with p(t_i) + (-1)^i level w_i = e^{b t_i}. 0: singular. */
static int solve(exchange *e) {
  int64_t n = e->degree + 2;
  arb_mat_t a, y;
  arb_mat_init(a, n, n);
  arb_mat_init(y, n, 1);
  for (int64_t i = 0; i < n; i++) {
    arb_ptr right = arb_mat_entry(y, i, 0), level = arb_mat_entry(a, i, n - 1);
    exp_at(right, e, e->t + i);
    arb_one(arb_mat_entry(a, i, 0));
    for (int64_t k = 1; k < n - 1; k++)
      arb_mul(arb_mat_entry(a, i, k), arb_mat_entry(a, i, k - 1), e->t + i, e->prec);
    if (e->measure == EXP_RELATIVE)
      arb_set(level, right);
    else
      arb_one(level);
    if (i % 2) arb_neg(level, level);
  }
  int ok = arb_mat_approx_solve(y, a, y, e->prec);
  for (int64_t k = 0; ok && k < n; k++) {
    arb_set(e->c + k, arb_mat_entry(y, k, 0));
    mag_zero(arb_radref(e->c + k));
  }
  arb_mat_clear(a);
  arb_mat_clear(y);
  _arb_poly_derivative(e->first, e->c, e->degree + 1, e->prec);
  return ok;
}

/* The derivative of the error at t up to a positive factor, and its derivative unless NULL: p' - b
 * e^{bt} (absolute) or p' - b p (relative). */
static void slope_at(arb_t f, arb_t f1, const exchange *e, const arb_t t) {
  slong prec = e->prec;
  int64_t n = e->degree + 1;
  arb_t p, p1, y;
  arb_init(p);
  arb_init(p1);
  arb_init(y);
  _arb_poly_evaluate2(f, y, e->first, n - 1, t, prec);
  if (e->measure == EXP_ABSOLUTE) {
    exp_at(p, e, t);
    arb_mul(p, p, e->b, prec);
    arb_mul(p1, p, e->b, prec);
  } else {
    _arb_poly_evaluate2(p, p1, e->c, n, t, prec);
    arb_mul(p, p, e->b, prec);
    arb_mul(p1, p1, e->b, prec);
  }
  arb_sub(f, f, p, prec);
  if (f1) arb_sub(f1, y, p1, prec);
  arb_clear(p);
  arb_clear(p1);
  arb_clear(y);
}

/* The error at t up to a positive factor. */
static void error_at(arb_t f, const exchange *e, const arb_t t) {
  arb_t y;
  arb_init(y);
  exp_at(y, e, t);
  _arb_poly_evaluate(f, e->c, e->degree + 1, t, e->prec);
  arb_sub(f, f, y, e->prec);
  arb_clear(y);
}

static void newton_step(arb_t t, const exchange *e) {
  arb_t f, f1;
  arb_init(f);
  arb_init(f1);
  slope_at(f, f1, e, t);
  arb_div(f, f, f1, e->prec);
  arb_sub(t, t, f, e->prec);
  mag_zero(arb_radref(t));
  arb_clear(f);
  arb_clear(f1);
}

/* A zero of the error (slope 0) or of its derivative (slope 1) between lo and hi. */
static void bisect(arb_t t, const exchange *e, const arb_t lo, const arb_t hi, int slope) {
  arb_t f, a, b;
  arb_init(f);
  arb_init(a);
  arb_init(b);
  arb_set(a, lo);
  arb_set(b, hi);
  for (int step = 0, left = 0; step <= BISECTIONS; step++) {
    if (step > 0) {
      arb_add(t, a, b, e->prec);
      arb_mul_2exp_si(t, t, -1);
    } else {
      arb_set(t, a);
    }
    mag_zero(arb_radref(t));
    if (slope)
      slope_at(f, NULL, e, t);
    else
      error_at(f, e, t);
    int sign = arf_sgn(arb_midref(f));
    if (step == 0) left = sign;
    arb_set(sign == left ? a : b, t);
  }
  arb_clear(f);
  arb_clear(a);
  arb_clear(b);
}

/* The extremum that belongs to point i. */
static void bracketed_extremum(arb_t t, const exchange *e, int64_t i) {
  arb_t before, after;
  arb_init(before);
  arb_init(after);
  bisect(before, e, e->t + i - 1, e->t + i, 0);
  bisect(after, e, e->t + i, e->t + i + 1, 0);
  bisect(t, e, before, after, 1);
  arb_clear(before);
  arb_clear(after);
}

/* Whether Newton's method has stayed within a quarter of the way to the neighbours of point i: then
 * the zero that it found is that point's. */
static int in_place(const exchange *e, arb_srcptr t, int64_t i) {
  arb_t moved, gap;
  arb_init(moved);
  arb_init(gap);
  arb_sub(moved, t, e->t + i, e->prec);
  arb_mul_2exp_si(moved, moved, 2);
  int inside = arb_is_finite(t);
  for (int64_t side = -1; side <= 1; side += 2) {
    arb_sub(gap, e->t + i + side, e->t + i, e->prec);
    inside &= arf_cmpabs(arb_midref(moved), arb_midref(gap)) < 0;
  }
  arb_clear(moved);
  arb_clear(gap);
  return inside;
}

/* Moves the inner points; returns whether all of them had settled. */
static int exchange_points(exchange *e) {
  int settled = 1;
  arb_t step;
  arb_ptr moved = _arb_vec_init(e->degree + 2);
  arb_init(step);
  for (int64_t i = 1; i <= e->degree; i++) {
    arb_set(moved + i, e->t + i);
    for (int k = 0; k < NEWTON_STEPS; k++)
      newton_step(moved + i, e);
    if (!in_place(e, moved + i, i)) bracketed_extremum(moved + i, e, i);
  }
  for (int64_t i = 1; i <= e->degree; i++) {
    arb_sub(step, moved + i, e->t + i, e->prec);
    if (arf_cmpabs_2exp_si(arb_midref(step), -48) > 0) settled = 0;
    arb_swap(e->t + i, moved + i);
  }
  arb_clear(step);
  _arb_vec_clear(moved, e->degree + 2);
  return settled;
}

static attest_status run(exchange *e, int rounds, attest_error *error) {
  first_points(e);
  int solved = solve(e), settled = rounds == 0;
  for (int round = 0; round < rounds && solved && !settled; round++) {
    settled = exchange_points(e);
    solved = solve(e);
  }
  if (solved && settled) return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_SUPPORT,
                     "Remez' exchange does not settle for degree %lld on this interval",
                     (long long)e->degree);
}

attest_status exp_poly_remez(fmpq_poly_t p, fmpq *points, exp_poly_measure measure, int64_t degree,
                             const fmpq_t b, slong bits, int rounds, attest_error *error) {
  exchange e = {.degree = degree, .measure = measure, .prec = 2 * bits + 8 * degree};
  fmpq_t c;
  fmpq_init(c);
  arb_init(e.b);
  e.t = _arb_vec_init(degree + 2);
  e.c = _arb_vec_init(degree + 2);
  e.first = _arb_vec_init(degree + 1);
  arb_set_fmpq(e.b, b, e.prec);
  mag_zero(arb_radref(e.b));
  attest_status status = run(&e, rounds, error);
  fmpq_poly_zero(p);
  for (int64_t k = 0; k <= degree && !status; k++) {
    exp_poly_dyadic(c, e.c + k, bits);
    fmpq_poly_set_coeff_fmpq(p, k, c);
  }
  if (!status) exp_poly_stretch(p, b);
  for (int64_t i = 0; points && i < degree + 2 && !status; i++) {
    exp_poly_dyadic(points + i, e.t + i, 64);
    fmpq_mul(points + i, points + i, b);
  }
  fmpq_clear(c);
  arb_clear(e.b);
  _arb_vec_clear(e.t, degree + 2);
  _arb_vec_clear(e.c, degree + 2);
  _arb_vec_clear(e.first, degree + 1);
  return status;
}
