/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Identities of the compact kernels over the rationals, on rational points of the sphere, and what
 * fails where a hypothesis is missing. */
#include "functions.h"
#include "instance.h"
#include "statements.h"

enum { INSTANCES = 60, WIDE = INSTANCE_KEYS_MAX };

/* p <- [a_i]_+ / sum [a]_+; 0 when all vanish. */
static int positive_shares(fmpq *p, const fmpq *a, int n) {
  fmpq_t sum;
  fmpq_init(sum);
  for (int i = 0; i < n; i++) {
    fmpq_zero(p + i);
    if (fmpq_sgn(a + i) > 0) fmpq_set(p + i, a + i);
    fmpq_add(sum, sum, p + i);
  }
  int some = !fmpq_is_zero(sum);
  for (int i = 0; i < n && some; i++)
    fmpq_div(p + i, p + i, sum);
  fmpq_clear(sum);
  return some;
}

static int differences(const fmpq *p, const fmpq *q, int n) {
  int count = 0;
  for (int i = 0; i < n; i++)
    count += !fmpq_equal(p + i, q + i);
  return count;
}

/* Epanechnikov shares [1 - D/h2]_+, h2 > 0. */
static int epanechnikov_shares(fmpq *p, const sparse_instance *x, const fmpq_t h2) {
  fmpq *a = _fmpq_vec_init(WIDE);
  for (int i = 0; i < x->n; i++)
    fmpq_sub(a + i, h2, x->distance + i);
  int some = positive_shares(p, a, x->n);
  _fmpq_vec_clear(a, WIDE);
  return some;
}

/* ---- the Gaussian ---- */

attest_status sparse_gaussian_softmax(statement_findings *into, const problem_statement *statement,
                                      const char *data, attest_error *error) {
  int different = 0, keys = 0;
  fmpq_t a, b;
  fmpq_init(a);
  fmpq_init(b);
  (void)data;
  for (int i = 0; i < INSTANCES; i++) {
    sparse_instance x;
    sparse_instance_open(&x, i);
    /* -D/(2 h^2) and s/h^2 differ by the same number for every key, so exponentials are
     * proportional: with h^2 = gamma, -D/2 - s is constant. */
    for (int k = 0; k < x.n; k++) {
      fmpq_div_2exp(a, x.distance + k, 1);
      fmpq_add(a, a, x.s + k);
      if (k == 0) fmpq_set(b, a);
      different += !fmpq_equal(a, b);
      keys++;
    }
    sparse_instance_clear(&x);
  }
  fmpq_clear(a);
  fmpq_clear(b);
  return statement_add(into, statement, different ? ATTEST_REFUTED : ATTEST_CERTIFIED, error,
                       "rows=%d weights=%d differences=%d", INSTANCES, keys, different);
}

/* ---- three Epanechnikov kernels ---- */

typedef struct {
  int rows, different, empty;
} family;

/* normrelu [2 s/h^2 + 1 - 2/h^2]_+ against Epanechnikov at h. */
static void normrelu_row(family *f, const sparse_instance *x) {
  fmpq *a = _fmpq_vec_init(3 * WIDE), *p = a + WIDE, *q = p + WIDE;
  fmpq_t two, share;
  fmpq_init(two);
  fmpq_init(share);
  fmpq_set_si(two, 2, 1);
  fmpq_div(share, two, &x->gamma); /* h^2 = gamma */
  for (int i = 0; i < x->n; i++) {
    fmpq_mul(a + i, share, x->s + i);
    fmpq_sub(a + i, a + i, share);
    fmpq_add_si(a + i, a + i, 1);
  }
  int some = positive_shares(p, a, x->n), other = epanechnikov_shares(q, x, &x->gamma);
  f->rows++;
  f->empty += !some;
  f->different += some != other;
  if (some && other) f->different += differences(p, q, x->n);
  _fmpq_vec_clear(a, 3 * WIDE);
  fmpq_clear(two);
  fmpq_clear(share);
}

/* relumax with b h^2 = gamma: [gamma - (m - s)]_+, against Epanechnikov at H^2 = d_min^2 + 2 gamma
 * and sparsemax at gamma* = sum [gamma - (m - s)]_+. */
static attest_status relumax_row(family *f, family *g, const sparse_instance *x,
                                 attest_error *error) {
  fmpq *a = _fmpq_vec_init(3 * WIDE), *p = a + WIDE, *q = p + WIDE;
  value alpha, tau, w, z[WIDE];
  fmpq_t h2, total;
  fmpq_init(h2);
  fmpq_init(total);
  const fmpq *m = sparse_instance_largest(x);
  for (int i = 0; i < x->n; i++) {
    fmpq_sub(a + i, x->s + i, m);
    fmpq_add(a + i, a + i, &x->gamma);
    if (fmpq_sgn(a + i) > 0) fmpq_add(total, total, a + i);
  }
  positive_shares(p, a, x->n);
  fmpq_set_si(h2, 1, 1);
  fmpq_sub(h2, h2, m);
  fmpq_add(h2, h2, &x->gamma);
  fmpq_mul_2exp(h2, h2, 1);
  epanechnikov_shares(q, x, h2);
  f->rows++;
  f->different += differences(p, q, x->n);
  value_init(&alpha);
  value_init(&tau);
  value_init(&w);
  value_set_si(&alpha, 2);
  for (int i = 0; i < x->n; i++) {
    value_init(&z[i]);
    fmpq_div(h2, x->s + i, total);
    value_set_fmpq(&z[i], h2);
  }
  attest_status status = sparse_value_threshold(&tau, &alpha, z, (size_t)x->n, 128, error);
  for (int i = 0; i < x->n && !status; i++) {
    status = sparse_value_weight(&w, &alpha, &z[i], &tau, 128, error);
    if (!status && w.kind == VALUE_RATIONAL)
      fmpq_set(q + i, w.rational);
    else
      g->different++;
  }
  g->rows++;
  g->different += differences(p, q, x->n);
  for (int i = 0; i < x->n; i++)
    value_clear(&z[i]);
  value_clear(&alpha);
  value_clear(&tau);
  value_clear(&w);
  fmpq_clear(h2);
  fmpq_clear(total);
  _fmpq_vec_clear(a, 3 * WIDE);
  return status;
}

static attest_status add_family(statement_findings *into, const problem_statement *statement,
                                const family *f, const char *what, attest_error *error) {
  return statement_add(into, statement, f->different ? ATTEST_REFUTED : ATTEST_CERTIFIED, error,
                       "of=%s rows=%d empty=%d differences=%d", what, f->rows, f->empty,
                       f->different);
}

attest_status sparse_epanechnikov(statement_findings *into, const problem_statement *statement,
                                  const char *data, attest_error *error) {
  family normrelu = {0, 0, 0}, relumax = {0, 0, 0}, sparsemax = {0, 0, 0};
  attest_status status = ATTEST_OK;
  (void)data;
  for (int i = 0; i < INSTANCES && !status; i++) {
    sparse_instance x;
    sparse_instance_open(&x, i);
    normrelu_row(&normrelu, &x);
    status = relumax_row(&relumax, &sparsemax, &x, error);
    sparse_instance_clear(&x);
  }
  if (!status)
    status = add_family(into, statement, &normrelu, "normrelu-at-fixed-bandwidth", error);
  if (!status)
    status = add_family(into, statement, &relumax, "relumax-at-adaptive-bandwidth", error);
  if (!status)
    status = add_family(into, statement, &sparsemax, "relumax-as-sparsemax-at-gamma-star", error);
  return status;
}

/* ---- nearest keys ---- */

/* Keys with D <= radius2. */
static int within(const sparse_instance *x, const fmpq_t radius2) {
  int count = 0;
  for (int i = 0; i < x->n; i++)
    count += fmpq_cmp(x->distance + i, radius2) <= 0;
  return count;
}

/* Whether some radius admits exactly k keys: the k-th distance does if any does. */
static int some_radius(const sparse_instance *x, int k) {
  int found = 0;
  for (int i = 0; i < x->n; i++)
    found |= within(x, x->distance + i) == k;
  return found;
}

/* Whether the k-th smallest distance equals the next one. */
static int tied_at(const sparse_instance *x, int k) {
  for (int i = 0; i < x->n; i++) {
    int below = 0, equal = 0;
    for (int j = 0; j < x->n; j++) {
      below += fmpq_cmp(x->distance + j, x->distance + i) < 0;
      equal += fmpq_equal(x->distance + j, x->distance + i);
    }
    if (below < k && below + equal > k) return 1;
  }
  return 0;
}

attest_status sparse_nearest_keys(statement_findings *into, const problem_statement *statement,
                                  const char *data, attest_error *error) {
  int plain = 0, plain_fails = 0, tied = 0, tied_fails = 0;
  (void)data;
  for (int i = 0; i < INSTANCES; i++) {
    sparse_instance x;
    sparse_instance_open(&x, i);
    for (int k = 1; k <= x.n; k++) {
      int is_tied = tied_at(&x, k), admits = some_radius(&x, k);
      *(is_tied ? &tied : &plain) += 1;
      if (is_tied)
        tied_fails += admits;
      else
        plain_fails += !admits;
    }
    sparse_instance_clear(&x);
  }
  attest_status status =
      statement_add(into, statement, plain_fails ? ATTEST_REFUTED : ATTEST_CERTIFIED, error,
                    "ties=no selections=%d without-radius=%d", plain, plain_fails);
  if (status) return status;
  return statement_add(into, statement, tied_fails || !tied ? ATTEST_REFUTED : ATTEST_CERTIFIED,
                       error, "ties=yes selections=%d with-radius=%d", tied, tied_fails);
}

/* ---- missing hypotheses ---- */

/* q = (1, 0), keys (2, 0), (0, 1), (1, 3): scores 2, 0, 1. sparsemax has tau = 1 and weights
 * (1, 0, 0); the bandwidth would be h^2 = 2 - 2 tau = 0, at which no key has weight (D = 1, 2, 9).
 */
static attest_status unequal_norms(statement_findings *into, const problem_statement *statement,
                                   attest_error *error) {
  static const slong scores[] = {2, 0, 1};
  value alpha, tau, z[3];
  value_init(&alpha);
  value_init(&tau);
  value_set_si(&alpha, 2);
  for (int i = 0; i < 3; i++) {
    value_init(&z[i]);
    value_set_si(&z[i], scores[i]);
  }
  attest_status status = sparse_value_threshold(&tau, &alpha, z, 3, 128, error);
  int is_one = tau.kind == VALUE_RATIONAL && fmpq_is_one(tau.rational);
  if (!status)
    status = statement_add(into, statement, is_one ? ATTEST_CERTIFIED : ATTEST_REFUTED, error,
                           "without=unit-norms tau=%s bandwidth-squared=%s", is_one ? "1" : "other",
                           is_one ? "0" : "other");
  for (int i = 0; i < 3; i++)
    value_clear(&z[i]);
  value_clear(&alpha);
  value_clear(&tau);
  return status;
}

/* The weight of key 1 under relumax with b = h = 1 and scores (x, 0, -1/2). */
static void margin_weight(fmpq_t p, const fmpq_t x) {
  fmpq *s = _fmpq_vec_init(6), *a = s + 3;
  fmpq_t m;
  fmpq_init(m);
  fmpq_set(s, x);
  fmpq_set_si(s + 2, -1, 2);
  for (int i = 0; i < 3; i++)
    if (i == 0 || fmpq_cmp(s + i, m) > 0) fmpq_set(m, s + i);
  for (int i = 0; i < 3; i++) {
    fmpq_sub(a + i, s + i, m);
    fmpq_add_si(a + i, a + i, 1);
  }
  positive_shares(s, a, 3);
  fmpq_set(p, s);
  _fmpq_vec_clear(s, 6);
  fmpq_clear(m);
}

/* While neither the largest score nor the support changes, p(x) = (a + b x) / (1 + c x) exactly:
 * p'(0) = b - a c on that side, from p at 0, h and 2h. 0 where p(3h) does not fit. */
static int slope_from(fmpq_t slope, const fmpq_t h) {
  fmpq *p = _fmpq_vec_init(7), *ch = p + 4, *bh = p + 5, *x = p + 6;
  for (int i = 0; i < 4; i++) {
    fmpq_mul_si(x, h, i);
    margin_weight(p + i, x);
  }
  /* c h = (2 p(h) - p(0) - p(2h)) / (2 (p(2h) - p(h))), b h = p(h) (1 + c h) - p(0) */
  fmpq_mul_2exp(ch, p + 1, 1);
  fmpq_sub(ch, ch, p);
  fmpq_sub(ch, ch, p + 2);
  fmpq_sub(x, p + 2, p + 1);
  fmpq_mul_2exp(x, x, 1);
  fmpq_div(ch, ch, x);
  fmpq_add_si(bh, ch, 1);
  fmpq_mul(bh, bh, p + 1);
  fmpq_sub(bh, bh, p);
  fmpq_mul(slope, p, ch);
  fmpq_sub(slope, bh, slope);
  fmpq_div(slope, slope, h);
  /* p(3h) (1 + 3 c h) = a + 3 b h? */
  fmpq_mul_si(x, ch, 3);
  fmpq_add_si(x, x, 1);
  fmpq_mul(x, x, p + 3);
  fmpq_mul_si(bh, bh, 3);
  fmpq_add(bh, bh, p);
  int fits = fmpq_equal(x, bh);
  _fmpq_vec_clear(p, 7);
  return fits;
}

/* The slopes on the two sides of x = 0 differ. */
static attest_status kink(statement_findings *into, const problem_statement *statement,
                          attest_error *error) {
  fmpq *slope = _fmpq_vec_init(2);
  fmpq_t h;
  fmpq_init(h);
  int fit = 1;
  for (int side = 0; side < 2; side++) {
    fmpq_set_si(h, side ? -1 : 1, 64);
    fit &= slope_from(slope + side, h);
  }
  int differ = fit && !fmpq_equal(slope, slope + 1);
  char *right = fmpq_get_str(NULL, 10, slope), *left = fmpq_get_str(NULL, 10, slope + 1);
  attest_status status =
      statement_add(into, statement, differ ? ATTEST_CERTIFIED : ATTEST_REFUTED, error,
                    "without=one-largest-score right-slope=%s left-slope=%s", right, left);
  flint_free(right);
  flint_free(left);
  fmpq_clear(h);
  _fmpq_vec_clear(slope, 2);
  return status;
}

/* One key at the largest score, N at gap b h^2 (b = h = 1) get no weight from relumax; of softmax
 * they hold all but 1 / (1 + N/e). */
static attest_status lost_mass(statement_findings *into, const problem_statement *statement,
                               attest_error *error) {
  attest_status status = ATTEST_OK;
  arb_t mass, e;
  arb_init(mass);
  arb_init(e);
  for (slong n = 1000; n <= 1000000 && !status; n *= 1000) {
    fmpq *s = _fmpq_vec_init(4), *a = s + 2;
    fmpq_set_si(a, 1, 1); /* 1 + 0, 1 - 1 */
    positive_shares(s, a, 2);
    int dropped = fmpq_is_zero(s + 1);
    _fmpq_vec_clear(s, 4);
    arb_const_e(e, 128);
    arb_ui_div(mass, (ulong)n, e, 128);
    arb_add_ui(mass, mass, 1, 128);
    arb_inv(mass, mass, 128);
    status = statement_add(into, statement, dropped ? ATTEST_CERTIFIED : ATTEST_REFUTED, error,
                           "without=mass-bound keys=%ld retained=%.12g", (long)n,
                           arf_get_d(arb_midref(mass), ARF_RND_NEAR));
  }
  arb_clear(mass);
  arb_clear(e);
  return status;
}

attest_status sparse_hypotheses(statement_findings *into, const problem_statement *statement,
                                const char *data, attest_error *error) {
  (void)data;
  attest_status status = unequal_norms(into, statement, error);
  if (!status) status = kink(into, statement, error);
  if (!status) status = lost_mass(into, statement, error);
  return status;
}
