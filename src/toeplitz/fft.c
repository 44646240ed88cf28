/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The FFT form of one slice: polynomial, sums, enclosed denominators, rows that fall back. */
#include "fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../enclosure/exp.h"
#include "../enclosure/interval.h"
#include "../problem/pairing.h"
#include "decompose.h"
#include "fft_pack.h"
#include "rows.h"

/* ---- the polynomial ---- */

/* p with coefficients rounded to double, and its error on [-b, b] as it then is, to 2 %. */
static void rounded(fft_polynomial *p, const fmpq_poly_t exact, const fmpq_t b) {
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
  exp_poly_error_bits(sup, q, b, EXP_RELATIVE, 6);
  p->eps = enclosure_upper(sup);
  fmpq_poly_clear(q);
  fmpq_clear(c);
  arb_clear(x);
  arb_clear(sup);
  arf_clear(mid);
}

static int64_t count_terms(int64_t support, int64_t degree) {
  fmpz_t count;
  fmpz_init(count);
  toeplitz_term_count(count, support, degree);
  int64_t terms = fmpz_fits_si(count) ? fmpz_get_si(count) : INT64_MAX;
  fmpz_clear(count);
  return terms;
}

/* The coefficients of the problem as they are. */
static attest_status given_polynomial(fft_polynomial *p, fft_sums *sums, int64_t terms_max,
                                      const fft_pack *pack, attest_error *error) {
  p->degree = problem_coefficients(p->c, pack->problem);
  sums->terms = count_terms(pack->support, p->degree);
  if (sums->terms <= terms_max) return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_SUPPORT,
                     "degree %lld and %lld elements of W make %lld terms, more than %lld; use the "
                     "direct form",
                     (long long)p->degree, (long long)pack->support, (long long)sums->terms,
                     (long long)terms_max);
}

/* I_k(b), the modified Bessel function, about. */
static double bessel(int64_t k, double b) {
  double term = 1, sum = 0;
  for (int64_t m = 1; m <= k; m++)
    term *= b / 2 / (double)m;
  for (int64_t m = 1; term > sum * 0x1p-60; m++) {
    sum += term;
    term *= b * b / 4 / (double)m / (double)(m + k);
  }
  return sum;
}

/* A degree that the Chebyshev series, cut, needs at least for a relative eps: at -b its error is
 * e^b 2 (I_(g+1) - I_(g+2) + I_(g+3) - ..), more than its first two terms. */
static int64_t first_degree(double b, double eps) {
  double growth;
  int64_t g = 0;
  exp64_array(&growth, &b, 1);
  while (g < TOEPLITZ_DEGREE_MAX &&
         2 * growth * (bessel(g + 1, b) - bessel(g + 2, b)) > eps * (1 + 0x1p-20))
    g++;
  return g;
}

static attest_status too_many_terms(double b, double eps, int64_t degree, int64_t support,
                                    int64_t terms, int64_t terms_max, attest_error *error) {
  return attest_fail(
      error, ATTEST_ERR_SUPPORT,
      "scores up to %.3g to a relative %.3g need degree %lld at least, and with %lld "
      "elements of W %lld terms, more than %lld; use the direct form",
      b, eps, (long long)degree, (long long)support, (long long)terms, (long long)terms_max);
}

/* The least degree whose polynomial is within eps, give or take the 2 % and what rounding its
 * coefficients takes: at most 2^-53 sum |c_k| b^k e^b. */
static attest_status choose_polynomial(fft_polynomial *p, fft_sums *sums, double b, double eps,
                                       int64_t terms_max, int64_t support, attest_error *error) {
  fmpq_t half;
  fmpq_poly_t exact;
  arf_t x;
  attest_status status = ATTEST_OK;
  if (!(b <= 64))
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "scores may reach %.3g, where a polynomial of exp needs too many terms; use "
                       "the direct form",
                       b);
  b = ceil(fmax(b, 0x1p-12) * 4096) / 4096;
  fmpq_init(half);
  fmpq_poly_init(exact);
  arf_init(x);
  arf_set_d(x, b);
  arf_get_fmpq(half, x);
  double growth, twice = 2 * b, limit;
  exp64_array(&growth, &twice, 1);
  limit = 1.02 * eps + 0x1p-52 * growth;
  p->eps = INFINITY;
  for (p->degree = first_degree(b, eps); !(p->eps <= limit) && !status; p->degree++) {
    sums->terms = count_terms(support, p->degree);
    if (p->degree >= TOEPLITZ_DEGREE_MAX || sums->terms > terms_max)
      status = too_many_terms(b, eps, p->degree, support, sums->terms, terms_max, error);
    else
      status = exp_poly(exact, EXP_CHEBYSHEV, EXP_RELATIVE, p->degree, half, 128, error);
    if (!status) rounded(p, exact, half);
  }
  p->degree--;
  fmpq_clear(half);
  fmpq_poly_clear(exact);
  arf_clear(x);
  if (status || p->eps < 0.5) return status;
  return attest_fail(error, ATTEST_ERR_SUPPORT,
                     "no polynomial of degree %lld with double coefficients is good enough on this "
                     "range of scores; use the direct form",
                     (long long)p->degree);
}

/* ---- rows ---- */

/* Rows that are computed directly: packed when the first one is met. */
typedef struct {
  rows_pack *pack;
  rows_row row;
  unsigned char *class;
  double *value;
} direct_rows;

static void direct_close(direct_rows *d) {
  rows_row_close(&d->row);
  rows_pack_close(d->pack);
  free(d->class);
  free(d->value);
}

static attest_status direct_row(direct_rows *d, attest_tensor *out, const fft_pack *pack, int64_t i,
                                attest_error *error) {
  if (!d->pack) {
    attest_status status = rows_pack_open(&d->pack, pack->problem, pack->slice, error);
    if (status) return status;
    d->class = calloc((size_t)pack->dv + 1, 1);
    d->value = calloc((size_t)pack->dv + 1, sizeof *d->value);
    if (!d->class || !d->value || !rows_row_open(&d->row, d->pack))
      return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: one row");
  }
  if (rows_store(out, &d->row, d->class, d->value, d->pack, i) >= 0) return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_INPUT, ROWS_EMPTY_MESSAGE);
}

/* What a finished slice is made of. */
typedef struct {
  const fft_pack *pack;
  fft_polynomial p;
  fft_sums sums;
  double b, polynomial_error;
  double *memory, *row;
} fft_run;

/* The quotients of row i into run->row, and how far rounding may have moved them; infinite: the row
 * is to be computed directly. */
static double quotients(const fft_run *run, int64_t i) {
  const fft_pack *pack = run->pack;
  double beta = run->sums.bound[i], most = 0;
  double ones = pack->normalizes ? run->sums.sum[pack->dv * pack->nq + i] + pack->eps : 1;
  double least = pack->normalizes ? fabs(ones) - beta : 1;
  int finite = 1;
  if (!(pack->row_bound[i] <= run->b) || !(least >= (pack->normalizes ? 3 * beta : 0)) ||
      !(least > 0))
    return INFINITY;
  for (int64_t c = 0; c < pack->dv; c++) {
    double x = run->sums.sum[c * pack->nq + i] / ones;
    run->row[c] = x;
    finite &= fabs(x) < INFINITY;
    most = fabs(x) > most ? fabs(x) : most;
  }
  if (!finite) return INFINITY;
  return beta * (pack->value_max + (pack->normalizes ? most : 0)) / least * (1 + 0x1p-10) +
         0x1p-51 * most;
}

static void store_row(attest_tensor *out, int64_t i, const double *x, int64_t dv) {
  int64_t at = i * out->stride[0];
  if (out->dtype == ATTEST_FLOAT32 && !out->byteswapped) {
    for (int64_t c = 0; c < dv; c++) {
      float y = (float)x[c];
      memcpy((char *)out->data + (at + c * out->stride[1]) * (int64_t)sizeof y, &y, sizeof y);
    }
    return;
  }
  for (int64_t c = 0; c < dv; c++)
    tensor_store(out, at + c * out->stride[1], x[c]);
}

static attest_status finish_rows(toeplitz_fft_report *report, double *radius, attest_tensor *out,
                                 const fft_run *run, attest_error *error) {
  const fft_pack *pack = run->pack;
  direct_rows direct = {0};
  attest_status status = ATTEST_OK;
  for (int64_t i = 0; i < pack->nq && !status; i++) {
    double rounding = quotients(run, i);
    int ordinary = rounding < INFINITY;
    if (ordinary)
      store_row(out, i, run->row, pack->dv);
    else
      status = direct_row(&direct, out, pack, i, error);
    report->recomputed += !ordinary;
    if (ordinary && rounding > report->leak) report->leak = rounding;
    if (radius) radius[i] = rounding + run->polynomial_error;
  }
  direct_close(&direct);
  return status;
}

/* 2 (1 - sqrt(1 - eps^2)) / eps max|v| = 2 eps / (1 + sqrt(1 - eps^2)) max|v|. */
static double polynomial_error(double eps, double value_max) {
  return 2 * eps / (1 + sqrt((1 - eps) * (1 + eps))) * value_max * (1 + 0x1p-40);
}

static attest_status check_blocked(const fft_pack *pack, attest_error *error) {
  if (pack->nq == pack->nk && pack->slice->offset == 0 && pack->lo >= 0) return ATTEST_OK;
  return attest_fail(
      error, ATTEST_ERR_SUPPORT,
      "the blocked form takes --causal problems with as many queries as keys (%lld and %lld "
      "here); use the fft form",
      (long long)pack->nq, (long long)pack->nk);
}

/* The polynomial and the bounds, and, with `sums`, the sums themselves. */
static attest_status fft_run_open(fft_run *run, const fft_pack *pack,
                                  const toeplitz_fft_options *options, int is_single, int with_sums,
                                  attest_error *error) {
  double eps = options->eps > 0 ? options->eps : is_single ? 0x1p-24 : 0x1p-40;
  int64_t terms_max = options->terms_max ? options->terms_max : 1000000, nq = pack->nq;
  int is_given = pack->problem->input[INPUT_COEFFICIENTS].data != NULL;
  attest_status status = ATTEST_OK;
  *run = (fft_run){.pack = pack, .b = is_given ? INFINITY : options->b};
  for (int64_t i = 0; i < nq && !(run->b > 0 && options->b > 0) && !is_given; i++)
    run->b = fmax(run->b, pack->row_bound[i]);
  if (options->form == TOEPLITZ_BLOCKED_FORM) status = check_blocked(pack, error);
  if (!status)
    status = is_given ? given_polynomial(&run->p, &run->sums, terms_max, pack, error)
                      : choose_polynomial(&run->p, &run->sums, run->b, eps, terms_max,
                                          pack->support, error);
  if (status) return status;
  run->memory = calloc((size_t)((with_sums ? (pack->dv + 1) * nq : 0) + nq + pack->dv + 1),
                       sizeof *run->memory);
  if (!run->memory)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: %lld rows", (long long)nq);
  run->sums.bound = run->memory;
  run->row = run->memory + nq;
  if (with_sums) run->sums.sum = run->row + pack->dv;
  run->polynomial_error = is_given ? 0 : polynomial_error(run->p.eps, pack->value_max);
  status =
      (is_single ? fft_sums_f32 : fft_sums_f64)(&run->sums, pack, &run->p, options->form, error);
  double tiny =
      run->sums.underflow * fmax(1, pack->value_max) * (1 + 0x1p-10) + pack->eps * 0x1p-51;
  for (int64_t i = 0; i < nq; i++)
    run->sums.bound[i] = run->sums.bound[i] * (1 + 0x1p-10) + tiny;
  return status;
}

attest_status toeplitz_fft_attention(toeplitz_fft_report *report, double *radius,
                                     const attest_problem *problem, const problem_slice *slice,
                                     const toeplitz_fft_options *options, attest_error *error) {
  fft_pack pack;
  fft_run run = {0};
  attest_tensor out = slice->out;
  memset(report, 0, sizeof *report);
  attest_status status = fft_pack_open(&pack, problem, slice, error);
  if (status) return status;
  status = fft_run_open(&run, &pack, options, out.dtype != ATTEST_FLOAT64, 1, error);
  if (!status) {
    *report = (toeplitz_fft_report){.support = pack.support,
                                    .degree = run.p.degree,
                                    .terms = run.sums.terms,
                                    .transforms = run.sums.transforms,
                                    .size = run.sums.size,
                                    .b = run.b,
                                    .eps = run.p.eps,
                                    .polynomial_error = run.polynomial_error};
    status = finish_rows(report, radius, &out, &run, error);
  }
  free(run.memory);
  fft_pack_close(&pack);
  return status;
}

attest_status toeplitz_fft_bounds_open(toeplitz_fft_bounds *bounds, const attest_problem *problem,
                                       const problem_slice *slice, int is_single,
                                       attest_error *error) {
  fft_pack pack;
  fft_run run = {0};
  toeplitz_fft_options options = {
      .form = problem->values.form == FORM_BLOCKED ? TOEPLITZ_BLOCKED_FORM : TOEPLITZ_FFT_FORM};
  *bounds = (toeplitz_fft_bounds){0};
  attest_status status = fft_pack_open(&pack, problem, slice, error);
  if (status) return status;
  status = fft_run_open(&run, &pack, &options, is_single, 0, error);
  if (status)
    free(run.memory);
  else
    *bounds = (toeplitz_fft_bounds){.beta = run.sums.bound,
                                    .eps = run.p.eps,
                                    .polynomial_error = run.polynomial_error,
                                    .value_max = pack.value_max};
  fft_pack_close(&pack);
  return status;
}

void toeplitz_fft_bounds_close(toeplitz_fft_bounds *bounds) {
  free(bounds->beta);
  bounds->beta = NULL;
}
