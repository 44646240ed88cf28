/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The FFT form of one slice: polynomial, sums, enclosed denominators, rows that fall back. */
#include "fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../enclosure/interval.h"
#include "decompose.h"
#include "fft_pack.h"

/* ---- the polynomial ---- */

/* p with coefficients rounded to double, and its error on [-b, b] as it then is. */
static attest_status rounded(fft_polynomial *p, const fmpq_poly_t exact, const fmpq_t b,
                             attest_error *error) {
  fmpq_poly_t q;
  fmpq_t c;
  arb_t x, sup;
  arf_t mid;
  fmpq_poly_init(q);
  fmpq_init(c);
  arb_init(x);
  arb_init(sup);
  arf_init(mid);
  for (int64_t t = 0; t <= p->degree; t++) {
    fmpq_poly_get_coeff_fmpq(c, exact, t);
    arb_set_fmpq(x, c, 128);
    p->c[t] = arf_get_d(arb_midref(x), ARF_RND_NEAR);
    arf_set_d(mid, p->c[t]);
    arf_get_fmpq(c, mid);
    fmpq_poly_set_coeff_fmpq(q, t, c);
  }
  exp_poly_error(sup, q, b, EXP_RELATIVE);
  p->eps = enclosure_upper(sup);
  fmpq_poly_clear(q);
  fmpq_clear(c);
  arb_clear(x);
  arb_clear(sup);
  arf_clear(mid);
  if (p->eps < 0.5) return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_SUPPORT,
                     "no polynomial of degree %lld with double coefficients is good enough on this "
                     "range of scores; use the direct form",
                     (long long)p->degree);
}

static int64_t count_terms(int64_t support, int64_t degree) {
  fmpz_t count;
  fmpz_init(count);
  toeplitz_term_count(count, support, degree);
  int64_t terms = fmpz_fits_si(count) ? fmpz_get_si(count) : INT64_MAX;
  fmpz_clear(count);
  return terms;
}

static attest_status choose_polynomial(fft_polynomial *p, fft_sums *sums, double b, double eps,
                                       int64_t terms_max, int64_t support, attest_error *error) {
  fmpq_t half, limit;
  fmpq_poly_t exact;
  arf_t x;
  if (!(b <= 64))
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "scores may reach %.3g, where a polynomial of exp needs too many terms; use "
                       "the direct form",
                       b);
  fmpq_init(half);
  fmpq_init(limit);
  fmpq_poly_init(exact);
  arf_init(x);
  arf_set_d(x, ceil(fmax(b, 0x1p-12) * 4096) / 4096);
  arf_get_fmpq(half, x);
  arf_set_d(x, eps);
  arf_get_fmpq(limit, x);
  attest_status status =
      exp_poly_degree(&p->degree, EXP_CHEBYSHEV, EXP_RELATIVE, half, limit, error);
  if (!status) {
    sums->terms = count_terms(support, p->degree);
    if (p->degree > TOEPLITZ_DEGREE_MAX || sums->terms > terms_max)
      status = attest_fail(error, ATTEST_ERR_SUPPORT,
                           "scores up to %.3g to a relative %.3g need degree %lld, and with %lld "
                           "elements of W %lld terms, more than %lld; use the direct form",
                           b, eps, (long long)p->degree, (long long)support, (long long)sums->terms,
                           (long long)terms_max);
  }
  if (!status) status = exp_poly(exact, EXP_CHEBYSHEV, EXP_RELATIVE, p->degree, half, 128, error);
  if (!status) status = rounded(p, exact, half, error);
  fmpq_clear(half);
  fmpq_clear(limit);
  fmpq_poly_clear(exact);
  arf_clear(x);
  return status;
}

/* ---- rows ---- */

/* What underflow can do to a sum (fft.h). */
static double underflow(const fft_pack *pack, const fft_sums *sums, const fft_polynomial *p,
                        double smallest) {
  double query = 1, weight = 1, key = 1, alpha = 0, g = (double)p->degree;
  for (int64_t i = 0; i < pack->d * pack->nq; i++)
    query = fmax(query, fabs(pack->queries[i] * pack->factor));
  for (int64_t s = 0; s < pack->support; s++)
    weight = fmax(weight, pack->symbol_max[s]);
  for (int64_t j = 0; j < pack->d * pack->nk; j++)
    key = fmax(key, fabs(pack->keys[j]));
  for (int64_t t = 0; t <= p->degree; t++)
    alpha = fmax(alpha, fabs(p->c[t]));
  /* Multinomials are at most g!. */
  double k = pow(query * weight * key, g) * alpha * tgamma(g + 1);
  double n = (double)sums->size, cost = (double)sums->terms * 64 * (g + 1) * n * n * smallest * k;
  return cost * fmax(1, pack->value_max) * (1 + 0x1p-10);
}

static void finish_rows(toeplitz_fft_report *report, double *radius, attest_tensor *out,
                        const fft_pack *pack, const fft_sums *sums, double tiny, double *scratch,
                        double *row) {
  int64_t nq = pack->nq, dv = pack->dv;
  const double *ones = sums->sum + dv * nq;
  for (int64_t i = 0; i < nq; i++) {
    double bound = sums->bound[i] * (1 + 0x1p-10) + tiny, least = ones[i] - bound, most = 0;
    int direct = !(pack->row_bound[i] <= report->b) || !(least > 0);
    for (int64_t c = 0; c < dv && !direct; c++) {
      row[c] = sums->sum[c * nq + i] / ones[i];
      most = fmax(most, fabs(row[c]));
      direct |= !isfinite(row[c]);
    }
    double rounding = (bound * (pack->value_max + most) / least) * (1 + 0x1p-10) + 0x1p-52 * most;
    direct |= !isfinite(rounding);
    if (direct) fft_direct_row(row, scratch, pack, i);
    for (int64_t c = 0; c < dv; c++)
      tensor_store(out, i * out->stride[0] + c * out->stride[1], row[c]);
    report->recomputed += direct;
    if (!direct) report->leak = fmax(report->leak, rounding);
    if (radius) radius[i] = direct ? INFINITY : rounding + report->polynomial_error;
  }
}

/* 2 (1 - sqrt(1 - eps^2)) / eps max|v| = 2 eps / (1 + sqrt(1 - eps^2)) max|v|. */
static double polynomial_error(double eps, double value_max) {
  return 2 * eps / (1 + sqrt((1 - eps) * (1 + eps))) * value_max * (1 + 0x1p-40);
}

static attest_status check_blocked(const fft_pack *pack, attest_error *error) {
  if (pack->nq == pack->nk && pack->slice->offset == 0 && pack->lo >= 0) return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_SUPPORT,
                     "the blocked form is causal, with as many queries as keys: %lld and %lld here",
                     (long long)pack->nq, (long long)pack->nk);
}

static attest_status run(toeplitz_fft_report *report, double *radius, attest_tensor *out,
                         const fft_pack *pack, const toeplitz_fft_options *options,
                         attest_error *error) {
  int single = out->dtype != ATTEST_FLOAT64;
  double eps = options->eps > 0 ? options->eps : single ? 0x1p-24 : 0x1p-40, b = options->b;
  fft_polynomial p = {0};
  fft_sums sums = {0};
  attest_status status = ATTEST_OK;
  for (int64_t i = 0; i < pack->nq && !(options->b > 0); i++)
    b = fmax(b, pack->row_bound[i]);
  if (options->form == TOEPLITZ_BLOCKED_FORM) status = check_blocked(pack, error);
  if (!status)
    status = choose_polynomial(&p, &sums, b, eps, options->terms_max ? options->terms_max : 1000000,
                               pack->support, error);
  if (status) return status;
  double *memory =
      calloc((size_t)((pack->dv + 2) * pack->nq + pack->nk + pack->dv + 1), sizeof *memory);
  if (!memory)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: %lld rows", (long long)pack->nq);
  sums.sum = memory;
  sums.bound = sums.sum + (pack->dv + 1) * pack->nq;
  double *scratch = sums.bound + pack->nq, *row = scratch + pack->nk;
  status = (single ? fft_sums_f32 : fft_sums_f64)(&sums, pack, &p, options->form, error);
  if (!status) {
    *report = (toeplitz_fft_report){.support = pack->support,
                                    .degree = p.degree,
                                    .terms = sums.terms,
                                    .transforms = sums.transforms,
                                    .size = sums.size,
                                    .b = b,
                                    .eps = p.eps,
                                    .polynomial_error = polynomial_error(p.eps, pack->value_max)};
    finish_rows(report, radius, out, pack, &sums,
                underflow(pack, &sums, &p, single ? 0x1p-149 : 0x1p-1074), scratch, row);
  }
  free(memory);
  return status;
}

attest_status toeplitz_fft_attention(toeplitz_fft_report *report, double *radius,
                                     const attest_problem *problem, const problem_slice *slice,
                                     const toeplitz_fft_options *options, attest_error *error) {
  fft_pack pack;
  attest_tensor out = slice->out;
  memset(report, 0, sizeof *report);
  attest_status status = fft_pack_open(&pack, problem, slice, error);
  if (status) return status;
  status = run(report, radius, &out, &pack, options, error);
  fft_pack_close(&pack);
  return status;
}
