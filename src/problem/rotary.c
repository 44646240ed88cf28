/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Phases of rotary embedding: e^{i p theta} = e^{i FINE floor(p / FINE) theta} e^{i (p mod FINE)
 * theta}, both factors from tables of double-doubles rounded from balls. */
#include "rotary.h"

#include <math.h>
#include <stdlib.h>

#include "../enclosure/enclosure.h"
#include "pairing.h"

enum { FINE = 256, TABLE_BITS = 192 };

typedef struct {
  double hi, lo;
} dd;

struct problem_rotary {
  const problem_values *values;
  int64_t d, coarse;
  /* [m][entry][cos, sin]: FINE fine entries of step theta_m, then the coarse ones of step FINE
   * theta_m. */
  dd *table;
};

static const dd *entry(const problem_rotary *rotary, int64_t m, int64_t i) {
  return rotary->table + 2 * (m * (FINE + rotary->coarse) + i);
}

static dd dd_of_ball(const arb_t x) {
  dd y;
  arf_t rest;
  arf_init(rest);
  y.hi = arf_get_d(arb_midref(x), ARF_RND_NEAR);
  arf_set_d(rest, y.hi);
  arf_sub(rest, arb_midref(x), rest, ARF_PREC_EXACT, ARF_RND_DOWN);
  y.lo = arf_get_d(rest, ARF_RND_NEAR);
  arf_clear(rest);
  return y;
}

/* count powers of e^{i angle}, by multiplication: every step adds a few units of 2^-TABLE_BITS,
 * which the balls follow, far below 2^-107 for 2^40 positions. */
static void fill(dd *table, int64_t count, const arb_t angle) {
  arb_ptr w = _arb_vec_init(6);
  arb_ptr c = w, s = w + 1, step_c = w + 2, step_s = w + 3, x = w + 4, y = w + 5;
  arb_sin_cos(step_s, step_c, angle, TABLE_BITS);
  arb_one(c);
  for (int64_t i = 0; i < count; i++) {
    table[2 * i] = dd_of_ball(c);
    table[2 * i + 1] = dd_of_ball(s);
    arb_mul(x, c, step_c, TABLE_BITS);
    arb_submul(x, s, step_s, TABLE_BITS);
    arb_mul(y, s, step_c, TABLE_BITS);
    arb_addmul(y, c, step_s, TABLE_BITS);
    arb_swap(c, x);
    arb_swap(s, y);
  }
  _arb_vec_clear(w, 6);
}

attest_status problem_rotary_open(problem_rotary **result, const problem_values *values, int64_t d,
                                  int64_t positions, attest_error *error) {
  problem_rotary *rotary = calloc(1, sizeof *rotary);
  *result = NULL;
  if (rotary) {
    rotary->values = values;
    rotary->d = d;
    rotary->coarse = positions / FINE + 1;
    rotary->table = malloc((size_t)(d / 2 * (FINE + rotary->coarse) * 2 + 1) * sizeof(dd));
  }
  if (!rotary || !rotary->table) {
    problem_rotary_close(rotary);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: phases of %lld positions",
                       (long long)positions);
  }
  arb_t angle;
  arb_init(angle);
  for (int64_t m = 0; m < d / 2; m++) {
    dd *table = rotary->table + 2 * m * (FINE + rotary->coarse);
    problem_rotary_angle(angle, values, d, m, TABLE_BITS);
    fill(table, FINE, angle);
    arb_mul_si(angle, angle, FINE, TABLE_BITS);
    fill(table + 2 * FINE, rotary->coarse, angle);
  }
  arb_clear(angle);
  *result = rotary;
  return ATTEST_OK;
}

void problem_rotary_close(problem_rotary *rotary) {
  if (rotary) free(rotary->table);
  free(rotary);
}

/* ---- double-double ---- */

static dd two_sum(double a, double b) {
  double s = a + b, a1 = s - b, b1 = s - a1;
  return (dd){s, (a - a1) + (b - b1)};
}

static dd dd_add(dd a, dd b) {
  dd s = two_sum(a.hi, b.hi), t = two_sum(a.lo, b.lo);
  dd v = two_sum(s.hi, s.lo + t.hi);
  return two_sum(v.hi, t.lo + v.lo);
}

static dd dd_mul(dd a, dd b) {
  double p = a.hi * b.hi, low = fma(a.hi, b.hi, -p);
  return two_sum(p, low + (a.hi * b.lo + a.lo * b.hi));
}

/* Tables are within 2^-106, products of numbers up to 1 within 2^-103, sums within 2^-103: four
 * times the first, twice the second and the third are below ROTARY_ERROR. */
void problem_rotary_phase(double cosine[2], double sine[2], const problem_rotary *rotary,
                          int64_t position, int64_t m) {
  const dd *a = entry(rotary, m, FINE + position / FINE), *b = entry(rotary, m, position % FINE);
  dd minus = {-a[1].hi, -a[1].lo};
  dd c = dd_add(dd_mul(a[0], b[0]), dd_mul(minus, b[1]));
  dd s = dd_add(dd_mul(a[1], b[0]), dd_mul(a[0], b[1]));
  cosine[0] = c.hi;
  cosine[1] = c.lo;
  sine[0] = s.hi;
  sine[1] = s.lo;
}

/* ---- rotation ---- */

void problem_rotate(double *y, const double *x, const problem_rotary *rotary, int64_t position) {
  for (int64_t m = 0; m < rotary->d / 2; m++) {
    int64_t a, b;
    double c[2], s[2];
    problem_rotary_pair(&a, &b, rotary->values, rotary->d, m);
    problem_rotary_phase(c, s, rotary, position, m);
    y[a] = fma(x[a], c[0], -(x[b] * s[0]));
    y[b] = fma(x[a], s[0], x[b] * c[0]);
  }
}

/* x z, then the sum of two such products beside y. */
static double low_of(double y, dd first, dd second) {
  dd z = dd_add(first, second);
  return (z.hi - y) + z.lo;
}

void problem_rotate_low(double *low, const double *y, const double *x, const problem_rotary *rotary,
                        int64_t position) {
  for (int64_t m = 0; m < rotary->d / 2; m++) {
    int64_t a, b;
    double c[2], s[2];
    problem_rotary_pair(&a, &b, rotary->values, rotary->d, m);
    problem_rotary_phase(c, s, rotary, position, m);
    dd cosine = {c[0], c[1]}, sine = {s[0], s[1]};
    dd xa = {x[a], 0}, xb = {x[b], 0}, minus = {-x[b], 0};
    low[a] = low_of(y[a], dd_mul(xa, cosine), dd_mul(minus, sine));
    low[b] = low_of(y[b], dd_mul(xa, sine), dd_mul(xb, cosine));
  }
}

void problem_rotary_sizes(double *size, const double *x, const problem_values *values, int64_t d) {
  for (int64_t m = 0; m < d / 2; m++) {
    int64_t a, b;
    problem_rotary_pair(&a, &b, values, d, m);
    double large = fmax(fabs(x[a]), fabs(x[b])), small = fmin(fabs(x[a]), fabs(x[b]));
    double ratio = large > 0 ? small / large : 0;
    size[a] = size[b] = large * sqrt(1 + ratio * ratio);
  }
}
