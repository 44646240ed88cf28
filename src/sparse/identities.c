/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Entmax as kernel regression (Proposition 3.1 of "Sparse Attention as Compact Kernel Regression",
 * with r = 1/(alpha-1) and z = s/gamma), on rational points of the sphere: exactly where tau is
 * algebraic (r = 1, 2), else in balls of PREC bits, 200 digits. */
#include <string.h>

#include "functions.h"
#include "instance.h"
#include "statements.h"

enum { PREC = 720, INSTANCES = 40 };

typedef struct {
  const char *name; /* of r */
  slong num;
  ulong den;
} exponent;
static const exponent exponents[] = {{"1/2", 1, 2},     {"1", 1, 1}, {"3/2", 3, 2}, {"2", 2, 1},
                                     {"27/10", 27, 10}, {"3", 3, 1}, {"10", 10, 1}};
enum { EXPONENTS = sizeof exponents / sizeof *exponents };

/* alpha = 1 + 1/r, z = s / gamma, tau, h^2 = 2 - 2 r gamma tau. */
typedef struct {
  sparse_instance x;
  value alpha, r, tau, h2;
  value z[INSTANCE_KEYS_MAX];
} regression;

static attest_status regression_open(regression *p, int index, const exponent *e,
                                     attest_error *error) {
  fmpq_t r, t;
  value product;
  fmpq_init(r);
  fmpq_init(t);
  value_init(&p->alpha);
  value_init(&p->r);
  value_init(&p->tau);
  value_init(&p->h2);
  value_init(&product);
  sparse_instance_open(&p->x, index);
  fmpq_set_si(r, e->num, e->den);
  value_set_fmpq(&p->r, r);
  fmpq_inv(t, r);
  fmpq_add_si(t, t, 1);
  value_set_fmpq(&p->alpha, t);
  for (int i = 0; i < p->x.n; i++) {
    value_init(&p->z[i]);
    fmpq_div(t, p->x.s + i, &p->x.gamma);
    value_set_fmpq(&p->z[i], t);
  }
  attest_status status =
      sparse_value_threshold(&p->tau, &p->alpha, p->z, (size_t)p->x.n, PREC + 64, error);
  fmpq_mul(t, r, &p->x.gamma);
  fmpq_mul_2exp(t, t, 1);
  value_set_fmpq(&product, t);
  value_mul(&product, &product, &p->tau, PREC + 64);
  value_set_si(&p->h2, 2);
  value_sub(&p->h2, &p->h2, &product, PREC + 64);
  value_clear(&product);
  fmpq_clear(r);
  fmpq_clear(t);
  return status;
}

static void regression_clear(regression *p) {
  for (int i = 0; i < p->x.n; i++)
    value_clear(&p->z[i]);
  value_clear(&p->alpha);
  value_clear(&p->r);
  value_clear(&p->tau);
  value_clear(&p->h2);
  sparse_instance_clear(&p->x);
}

/* w <- [1 - D/h^2]_+^r, a weight of r = 1/(alpha' - 1) whose threshold is 0. */
static attest_status kernel_weight(value *w, const regression *p, int i, attest_error *error) {
  value y, zero;
  value_init(&y);
  value_init(&zero);
  value_set_fmpq(&y, p->x.distance + i);
  attest_status status = value_div(&y, &y, &p->h2, PREC + 64, error);
  value_set_si(w, 1);
  value_sub(&y, w, &y, PREC + 64);
  value_mul(&y, &y, &p->r, PREC + 64); /* (alpha - 1) r = 1 */
  if (!status) status = sparse_value_weight(w, &p->alpha, &y, &zero, PREC, error);
  value_clear(&y);
  value_clear(&zero);
  return status;
}

/* How two numbers compare: exactly equal, balls that overlap and are narrow, or not. */
typedef enum { SAME_EXACT, SAME_BALLS, DIFFERENT } sameness;
static sameness compare(const value *a, const value *b) {
  value off;
  arb_t x;
  value_init(&off);
  arb_init(x);
  value_sub(&off, a, b, PREC);
  value_get_ball(x, &off, PREC);
  sameness same = off.kind == VALUE_RATIONAL && fmpq_is_zero(off.rational) ? SAME_EXACT : DIFFERENT;
  if (off.kind == VALUE_BALL && arb_contains_zero(x) && mag_cmp_2exp_si(arb_radref(x), -664) <= 0)
    same = SAME_BALLS; /* 10^-200 = 2^-664.4 */
  arb_clear(x);
  value_clear(&off);
  return same;
}

/* Counts of entries that are the same. */
typedef struct {
  int exact, balls, different;
} tally;

static void count(tally *t, sameness same) {
  t->exact += same == SAME_EXACT;
  t->balls += same == SAME_BALLS;
  t->different += same == DIFFERENT;
}

static attest_status compare_weights(tally *t, const regression *p, attest_error *error) {
  value w[INSTANCE_KEYS_MAX], sum, entmax;
  attest_status status = ATTEST_OK;
  value_init(&sum);
  value_init(&entmax);
  for (int i = 0; i < p->x.n; i++) {
    value_init(&w[i]);
    if (!status) status = kernel_weight(&w[i], p, i, error);
    value_add(&sum, &sum, &w[i], PREC);
  }
  for (int i = 0; i < p->x.n && !status; i++) {
    status = value_div(&w[i], &w[i], &sum, PREC, error);
    if (!status) status = sparse_value_weight(&entmax, &p->alpha, &p->z[i], &p->tau, PREC, error);
    if (!status) count(t, compare(&w[i], &entmax));
  }
  for (int i = 0; i < p->x.n; i++)
    value_clear(&w[i]);
  value_clear(&sum);
  value_clear(&entmax);
  return status;
}

attest_status sparse_kernel_regression(statement_findings *into, const problem_statement *statement,
                                       const char *data, attest_error *error) {
  attest_status status = ATTEST_OK;
  (void)data;
  for (int e = 0; e < EXPONENTS && !status; e++) {
    tally t = {0, 0, 0};
    int positive = 1;
    for (int i = 0; i < INSTANCES && !status; i++) {
      regression p;
      status = regression_open(&p, i, &exponents[e], error);
      positive &= value_sign(&p.h2) == 1;
      if (!status) status = compare_weights(&t, &p, error);
      regression_clear(&p);
    }
    if (!status)
      status = statement_add(
          into, statement, t.different == 0 && positive ? ATTEST_CERTIFIED : ATTEST_REFUTED, error,
          "r=%s rows=%d weights=%d exact=%d to-200-digits=%d differences=%d "
          "h-positive=%s",
          exponents[e].name, INSTANCES, t.exact + t.balls + t.different, t.exact, t.balls,
          t.different, positive ? "yes" : "no");
  }
  return status;
}

/* ---- the range of h ---- */

/* a <= b up to balls that overlap. */
static int at_most(const value *a, const value *b) {
  int order = value_compare(a, b, PREC);
  return order <= 0 || order == VALUE_UNKNOWN;
}

attest_status sparse_bandwidth_range(statement_findings *into, const problem_statement *statement,
                                     const char *data, attest_error *error) {
  attest_status status = ATTEST_OK;
  (void)data;
  for (int e = 0; e < EXPONENTS && !status; e++) {
    int within = 1, low = 0, high = 0, ends = 1;
    for (int i = 0; i < INSTANCES && !status; i++) {
      regression p;
      value span, top, bottom, keys, share;
      value *all[] = {&span, &top, &bottom, &keys, &share};
      for (int v = 0; v < 5; v++)
        value_init(all[v]);
      status = regression_open(&p, i, &exponents[e], error);
      fmpq_t d_min;
      fmpq_init(d_min);
      fmpq_set_si(d_min, 1, 1);
      fmpq_sub(d_min, d_min, sparse_instance_largest(&p.x));
      fmpq_mul_2exp(d_min, d_min, 1); /* d_min^2 = 2 - 2 max s */
      value_set_fmpq(&span, d_min);
      value_sub(&span, &p.h2, &span, PREC);
      value_set_fmpq(&top, &p.x.gamma);
      value_mul(&top, &top, &p.r, PREC);
      value_add(&top, &top, &top, PREC); /* 2 r gamma */
      value_set_si(&keys, p.x.n);
      value_set_si(&share, 1);
      if (!status) status = value_div(&share, &share, &p.r, PREC, error);
      value_neg(&share, &share);
      if (!status) status = value_pow(&bottom, &keys, &share, PREC, error);
      value_mul(&bottom, &bottom, &top, PREC);
      within &= at_most(&bottom, &span) && at_most(&span, &top);
      /* The left end is attained iff all scores tie, the right one iff one key has all the mass. */
      int tied = 1, alone = 0;
      for (int k = 0; k < p.x.n && !status; k++) {
        value w;
        value_init(&w);
        tied &= fmpq_equal(p.x.s + k, p.x.s);
        status = sparse_value_weight(&w, &p.alpha, &p.z[k], &p.tau, PREC, error);
        alone += !(w.kind == VALUE_RATIONAL && fmpq_is_zero(w.rational));
        value_clear(&w);
      }
      int at_low = compare(&bottom, &span) != DIFFERENT,
          at_high = compare(&span, &top) != DIFFERENT;
      low += at_low;
      high += at_high;
      ends &= at_low == tied && at_high == (alone == 1);
      fmpq_clear(d_min);
      for (int v = 0; v < 5; v++)
        value_clear(all[v]);
      regression_clear(&p);
    }
    if (!status)
      status = statement_add(
          into, statement, within && ends ? ATTEST_CERTIFIED : ATTEST_REFUTED, error,
          "r=%s rows=%d within=%s left-attained=%d right-attained=%d "
          "iff-tied-or-alone=%s",
          exponents[e].name, INSTANCES, within ? "yes" : "no", low, high, ends ? "yes" : "no");
  }
  return status;
}

/* ---- r to infinity ---- */

/* The largest |entmax - softmax| over the rows, as a ball. */
static attest_status softmax_distance(arb_t most, slong r, attest_error *error) {
  attest_status status = ATTEST_OK;
  arb_zero(most);
  for (int i = 0; i < 10 && !status; i++) {
    const exponent e = {"", r, 1};
    regression p;
    value w;
    arb_t sum, x, y;
    value_init(&w);
    arb_init(sum);
    arb_init(x);
    arb_init(y);
    status = regression_open(&p, i, &e, error);
    for (int k = 0; k < p.x.n; k++) {
      value_get_ball(x, &p.z[k], PREC);
      arb_exp(x, x, PREC);
      arb_add(sum, sum, x, PREC);
    }
    for (int k = 0; k < p.x.n && !status; k++) {
      status = sparse_value_weight(&w, &p.alpha, &p.z[k], &p.tau, PREC, error);
      value_get_ball(x, &p.z[k], PREC);
      arb_exp(x, x, PREC);
      arb_div(x, x, sum, PREC);
      value_get_ball(y, &w, PREC);
      arb_sub(x, x, y, PREC);
      arb_abs(x, x);
      arb_max(most, most, x, PREC);
    }
    value_clear(&w);
    arb_clear(sum);
    arb_clear(x);
    arb_clear(y);
    regression_clear(&p);
  }
  return status;
}

attest_status sparse_softmax_limit(statement_findings *into, const problem_statement *statement,
                                   const char *data, attest_error *error) {
  static const slong powers[] = {10, 100, 1000, 10000};
  attest_status status = ATTEST_OK;
  arb_t distance, last;
  arb_init(distance);
  arb_init(last);
  (void)data;
  for (int i = 0; i < 4 && !status; i++) {
    status = softmax_distance(distance, powers[i], error);
    /* Ten times r: about a tenth of the distance. */
    arb_mul_ui(last, last, 2, PREC);
    arb_div_ui(last, last, 10, PREC);
    int falls = i == 0 || arb_lt(distance, last);
    arb_set(last, distance);
    arb_mul_si(distance, distance, powers[i], PREC);
    if (!status)
      status = statement_add(into, statement, falls ? ATTEST_CERTIFIED : ATTEST_REFUTED, error,
                             "r=%ld distance=%.4g distance-times-r=%.4g", (long)powers[i],
                             arf_get_d(arb_midref(last), ARF_RND_NEAR),
                             arf_get_d(arb_midref(distance), ARF_RND_NEAR));
  }
  arb_clear(distance);
  arb_clear(last);
  return status;
}
