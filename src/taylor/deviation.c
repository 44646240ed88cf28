/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Truncated attention against softmax attention, by degree, in balls.
 *
 * With t = scale q.k in [-x, x] the weight T_P(t) is e^t (1 + delta), |delta| <= eps,
 *   eps = (1/P!) integral of s^P e^s over [0, x] = |e^x T_P(-x) - 1|,
 * attained at t = -x. If eps < 1 the normalised weights differ by at most
 *   2 (1 - sqrt(1 - eps^2)) / eps
 * in the sum of absolute values, which is sharp, and each component of the output by that times the
 * largest |v|. Where eps >= 1 there is no bound: weights of odd degree can be negative,
 * denominators too, and even degrees, though positive, are far from softmax. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../enclosure/enclosure.h"
#include "statements.h"
#include "stories.h"

enum { DEGREES = 9, PREC = 128, ROWS_A_HEAD = 8 };

/* One causal head, as doubles. */
typedef struct {
  int64_t n, d, dv;
  const double *q, *k, *v;
  const arb_struct *scale;
} head;

typedef struct {
  double lo, hi;    /* largest |o_P - o| / max |v_j| over the rows */
  double least;     /* least weight, from below */
  int64_t negative; /* weights */
  int64_t broken;   /* rows without a positive denominator */
  int unclear;      /* a sign that balls did not decide */
} deviation;

/* Sums of one row: numerators and the denominator last, softmax first, then degrees 0 .. 8. */
typedef struct {
  arb_ptr sum[DEGREES + 1];
  arb_t score, weight, term, product;
} workspace;

static void workspace_init(workspace *w, int64_t dv) {
  for (int i = 0; i <= DEGREES; i++)
    w->sum[i] = _arb_vec_init(dv + 1);
  arb_init(w->score);
  arb_init(w->weight);
  arb_init(w->term);
  arb_init(w->product);
}

static void workspace_clear(workspace *w, int64_t dv) {
  for (int i = 0; i <= DEGREES; i++)
    _arb_vec_clear(w->sum[i], dv + 1);
  arb_clear(w->score);
  arb_clear(w->weight);
  arb_clear(w->term);
  arb_clear(w->product);
}

static void score_of(arb_t score, const head *h, int64_t i, int64_t j, arb_t product) {
  arb_t x;
  arb_init(x);
  arb_zero(score);
  for (int64_t a = 0; a < h->d; a++) {
    arb_set_d(x, h->q[i * h->d + a]);
    arb_set_d(product, h->k[j * h->d + a]);
    arb_addmul(score, x, product, PREC);
  }
  arb_mul(score, score, h->scale, PREC);
  arb_clear(x);
}

/* sum += weight * [v_j, 1] */
static void add_weighted(arb_ptr sum, const arb_t weight, const head *h, int64_t j, arb_t value) {
  for (int64_t c = 0; c < h->dv; c++) {
    arb_set_d(value, h->v[j * h->dv + c]);
    arb_addmul(sum + c, weight, value, PREC);
  }
  arb_add(sum + h->dv, sum + h->dv, weight, PREC);
}

static void note_weight(deviation *found, const arb_t weight) {
  found->least = fmin(found->least, enclosure_lower(weight));
  found->negative += arb_is_negative(weight);
  found->unclear |= arb_contains_zero(weight) && !arb_is_zero(weight);
}

static void add_key(workspace *w, deviation found[DEGREES], const head *h, int64_t j) {
  arb_exp(w->weight, w->score, PREC);
  add_weighted(w->sum[0], w->weight, h, j, w->product);
  arb_zero(w->weight);
  arb_one(w->term);
  for (int p = 0; p < DEGREES; p++) {
    if (p > 0) {
      arb_mul(w->term, w->term, w->score, PREC);
      arb_div_si(w->term, w->term, p, PREC);
    }
    arb_add(w->weight, w->weight, w->term, PREC);
    note_weight(&found[p], w->weight);
    add_weighted(w->sum[p + 1], w->weight, h, j, w->product);
  }
}

/* Raises the largest deviation by those of a row whose largest |v| is v_max. */
static void compare(deviation *found, workspace *w, int p, int64_t dv, double v_max) {
  arb_ptr exact = w->sum[0], truncated = w->sum[p + 1];
  if (!arb_is_positive(truncated + dv)) {
    found->broken += arb_is_nonpositive(truncated + dv);
    found->unclear |= !arb_is_nonpositive(truncated + dv);
    return;
  }
  for (int64_t c = 0; c < dv; c++) {
    arb_div(w->term, exact + c, exact + dv, PREC);
    arb_div(w->product, truncated + c, truncated + dv, PREC);
    arb_sub(w->term, w->term, w->product, PREC);
    arb_set_d(w->product, v_max);
    arb_div(w->term, w->term, w->product, PREC);
    arb_abs(w->term, w->term);
    found->lo = fmax(found->lo, enclosure_lower(w->term));
    found->hi = fmax(found->hi, enclosure_upper(w->term));
  }
}

/* Row i against all degrees; *size becomes the largest |t|. */
static void compare_row(workspace *w, deviation found[DEGREES], arb_t size, const head *h,
                        int64_t i) {
  double v_max = 0;
  for (int p = 0; p <= DEGREES; p++)
    _arb_vec_zero(w->sum[p], h->dv + 1);
  for (int64_t j = 0; j <= i; j++) {
    score_of(w->score, h, i, j, w->product);
    arb_abs(w->term, w->score);
    arb_max(size, size, w->term, PREC);
    add_key(w, found, h, j);
    for (int64_t c = 0; c < h->dv; c++)
      v_max = fmax(v_max, fabs(h->v[j * h->dv + c]));
  }
  for (int p = 0; p < DEGREES; p++)
    compare(&found[p], w, p, h->dv, v_max);
}

/* ---- the bound ---- */

/* eps of degree P on [-x, x]. */
static void relative_error(arb_t eps, const arb_t x, int degree) {
  arb_t term, sum;
  arb_init(term);
  arb_init(sum);
  arb_one(term);
  arb_one(sum);
  for (int m = 1; m <= degree; m++) {
    arb_mul(term, term, x, PREC);
    arb_div_si(term, term, -m, PREC);
    arb_add(sum, sum, term, PREC);
  }
  arb_exp(term, x, PREC);
  arb_mul(eps, term, sum, PREC);
  arb_sub_ui(eps, eps, 1, PREC);
  arb_abs(eps, eps);
  arb_clear(term);
  arb_clear(sum);
}

/* 2 (1 - sqrt(1 - eps^2)) / eps = 2 eps / (1 + sqrt(1 - eps^2)) from above; infinite unless eps
 * < 1.
 */
static double output_bound(const arb_t eps) {
  arb_t one, root;
  double bound = INFINITY;
  arb_init(one);
  arb_init(root);
  arb_one(one);
  if (arb_lt(eps, one)) {
    arb_mul(root, eps, eps, PREC);
    arb_sub(root, one, root, PREC);
    arb_sqrt(root, root, PREC);
    arb_add(root, root, one, PREC);
    arb_div(root, eps, root, PREC);
    arb_mul_2exp_si(root, root, 1);
    bound = enclosure_upper(root);
  }
  arb_clear(one);
  arb_clear(root);
  return bound;
}

/* ---- findings ---- */

/* Certified where the bound applies and holds, and where it does not apply as an enclosed figure.
 */
static attest_verdict verdict_of(const deviation *found, double bound, int degree) {
  if (found->unclear || !(found->hi - found->lo <= 1e-9 * found->hi)) return ATTEST_UNDECIDED;
  int broken = found->negative || found->broken;
  if (broken && (degree % 2 == 0 || bound < INFINITY)) return ATTEST_REFUTED;
  return found->hi <= bound ? ATTEST_CERTIFIED : ATTEST_REFUTED;
}

typedef struct {
  const char *name;
  int64_t rows, pairs;
  arb_t size;
  deviation found[DEGREES];
} survey;

static void survey_init(survey *s, const char *name) {
  *s = (survey){.name = name};
  arb_init(s->size);
  for (int p = 0; p < DEGREES; p++)
    s->found[p].least = INFINITY;
}

/* ROWS_A_HEAD rows, evenly, the last among them. */
static void survey_head(survey *s, const head *h) {
  workspace w;
  workspace_init(&w, h->dv);
  for (int64_t r = 1; r <= ROWS_A_HEAD; r++) {
    int64_t row = h->n * r / ROWS_A_HEAD - 1;
    compare_row(&w, s->found, s->size, h, row);
    s->rows++;
    s->pairs += row + 1;
  }
  workspace_clear(&w, h->dv);
}

static attest_status survey_report(statement_findings *into, const problem_statement *statement,
                                   const survey *s, attest_error *error) {
  attest_status status = ATTEST_OK;
  arb_t eps;
  arb_init(eps);
  for (int p = 0; p < DEGREES && !status; p++) {
    const deviation *f = &s->found[p];
    relative_error(eps, s->size, p);
    double bound = output_bound(eps);
    status = statement_add(into, statement, verdict_of(f, bound, p), error,
                           "rows=%s degree=%d compared=%lld pairs=%lld largest-score=%.4g "
                           "weight-error=%.4g deviation=%.6g bound=%.4g least-weight=%.6g "
                           "negative-weights=%lld nonpositive-denominators=%lld",
                           s->name, p, (long long)s->rows, (long long)s->pairs,
                           enclosure_upper(s->size), enclosure_upper(eps), f->hi, bound, f->least,
                           (long long)f->negative, (long long)f->broken);
  }
  arb_clear(eps);
  return status;
}

/* ---- the rows ---- */

/* Each row of `width` elements to unit length, rounded to float. */
static void normalise(double *x, int64_t rows, int64_t width) {
  for (int64_t i = 0; i < rows; i++, x += width) {
    double square = 0;
    for (int64_t a = 0; a < width; a++)
      square += x[a] * x[a];
    for (int64_t a = 0; a < width && square > 0; a++)
      x[a] = (float)(x[a] / sqrt(square));
  }
}

/* About normal: twelve uniform numbers have variance 1 in sum. splitmix64, exact arithmetic. */
static void fill_normal(double *x, int64_t n, uint64_t *state) {
  for (int64_t i = 0; i < n; i++) {
    double sum = -6;
    for (int u = 0; u < 12; u++) {
      uint64_t z = (*state += 0x9e3779b97f4a7c15u);
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      sum += (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
    }
    x[i] = (float)sum;
  }
}

/* d = 16, dv = 64, unit rows, scale 1/2: |t| <= 1/2. */
static attest_status survey_sphere(survey *s, attest_error *error) {
  enum { N = 256, D = 16, DV = 64 };
  double *x = malloc(N * (2 * D + DV) * sizeof *x);
  if (!x) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  uint64_t state = 1;
  arb_t scale;
  arb_init(scale);
  arb_set_d(scale, 0.5);
  fill_normal(x, N * (2 * D + DV), &state);
  normalise(x, 2 * N, D);
  head h = {N, D, DV, x, x + N * D, x + 2 * N * D, scale};
  survey_head(s, &h);
  arb_clear(scale);
  free(x);
  return ATTEST_OK;
}

/* Query head 0 of every layer with its keys; scale 1/sqrt(d) or, on unit rows, 1/2. */
static attest_status survey_stories(survey *s, const taylor_stories *t, int unit,
                                    attest_error *error) {
  const int64_t *shape = t->tensor[0].shape;
  int64_t n = shape[2], d = shape[3], size = n * d;
  double *x = malloc((size_t)size * 3 * sizeof *x);
  if (!x) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  arb_t scale;
  arb_init(scale);
  arb_set_ui(scale, unit ? 4 : (ulong)d);
  arb_rsqrt(scale, scale, PREC);
  for (int64_t layer = 0; layer < shape[0]; layer++) {
    for (int i = 0; i < 3; i++)
      taylor_stories_load(x + i * size, t, i, layer);
    if (unit) normalise(x, 2 * n, d);
    head h = {n, d, d, x, x + size, x + 2 * size, scale};
    survey_head(s, &h);
  }
  arb_clear(scale);
  free(x);
  return ATTEST_OK;
}

attest_status taylor_deviation(statement_findings *into, const problem_statement *statement,
                               const char *data, attest_error *error) {
  static const char *const names[3] = {"unit-gaussian", "stories260k-unit", "stories260k"};
  taylor_stories real;
  attest_status status = taylor_stories_open(&real, data, error);
  for (int i = 0; i < 3 && !status; i++) {
    survey s;
    survey_init(&s, names[i]);
    status = i == 0 ? survey_sphere(&s, error) : survey_stories(&s, &real, i == 1, error);
    if (!status) status = survey_report(into, statement, &s, error);
    arb_clear(s.size);
  }
  taylor_stories_close(&real);
  return status;
}
