/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The bilinear form of a score as balls and exactly. */
#include "pairing.h"

#include <math.h>
#include <stdlib.h>

#include "internal.h"
#include "rotary.h"

void problem_rotary_angle(arb_t theta, const problem_values *values, int64_t d, int64_t m,
                          slong prec) {
  const problem_real *base = &values->rope_base;
  fmpq_t exponent;
  fmpq_init(exponent);
  fmpq_set_si(exponent, -2 * m, (ulong)(base->root ? 2 * d : d));
  arb_set_fmpq(theta, base->value, prec);
  arb_pow_fmpq(theta, theta, exponent, prec);
  fmpq_clear(exponent);
}

/* ---- weights ---- */

double problem_weight(const attest_problem *problem, int64_t p, int64_t a, int64_t b) {
  const attest_tensor *w = &problem->input[INPUT_WEIGHTS];
  int64_t n = (w->shape[0] + 1) / 2;
  return tensor_at(w, (p + n - 1) * w->stride[0] + a * w->stride[1] + b * w->stride[2]);
}

void problem_weights_load(double *x, const attest_problem *problem, int64_t first, int64_t count,
                          int64_t a, int64_t b) {
  const attest_tensor *w = &problem->input[INPUT_WEIGHTS];
  int64_t n = (w->shape[0] + 1) / 2;
  tensor_load(x, w, (first + n - 1) * w->stride[0] + a * w->stride[1] + b * w->stride[2], count,
              w->stride[0]);
}

int64_t problem_coefficients(double *c, const attest_problem *problem) {
  const attest_tensor *t = &problem->input[INPUT_COEFFICIENTS];
  if (!t->data) return -1;
  tensor_load(c, t, 0, t->shape[0], t->stride[0]);
  return t->shape[0] - 1;
}

double problem_largest_weight(const attest_problem *problem) {
  const attest_tensor *w = &problem->input[INPUT_WEIGHTS];
  double largest = 0;
  if (problem->pairing != PAIRING_WEIGHTS) return 0;
  for (int64_t i = 0; i < w->shape[0]; i++)
    for (int64_t a = 0; a < problem->d; a++)
      for (int64_t b = 0; b < problem->d; b++)
        largest = fmax(largest,
                       fabs(tensor_at(w, i * w->stride[0] + a * w->stride[1] + b * w->stride[2])));
  return largest;
}

/* ---- phases ---- */

/* Powers of e^{i angle}: count of them. */
static void powers(arb_ptr table, int64_t count, const arb_t angle, slong prec) {
  arb_ptr step = _arb_vec_init(2);
  arb_sin_cos(step + 1, step, angle, prec);
  arb_one(table);
  arb_zero(table + 1);
  for (int64_t i = 1; i < count; i++) {
    arb_ptr at = table + 2 * i;
    arb_mul(at, at - 2, step, prec);
    arb_submul(at, at - 1, step + 1, prec);
    arb_mul(at + 1, at - 2, step + 1, prec);
    arb_addmul(at + 1, at - 1, step, prec);
  }
  _arb_vec_clear(step, 2);
}

static int64_t phase_count(const problem_pairs *pairs) {
  return pairs->slice->d / 2 * 2 * (pairs->fine + pairs->coarse);
}

/* Tables of about the square root of the positions; multiplication costs them as many bits. */
static void open_phases(problem_pairs *pairs) {
  const problem_slice *slice = pairs->slice;
  int64_t first = problem_first_position(slice), last = slice->nk;
  if (slice->nq + slice->offset > last) last = slice->nq + slice->offset;
  pairs->fine = 1;
  while (pairs->fine * pairs->fine < last - first)
    pairs->fine *= 2;
  pairs->coarse = (last - first) / pairs->fine + 1;
  pairs->phases = _arb_vec_init(phase_count(pairs));
  slong prec = pairs->prec + 2 * FLINT_BIT_COUNT((ulong)pairs->coarse) + 16;
  for (int64_t m = 0; m < slice->d / 2; m++) {
    arb_ptr table = pairs->phases + 2 * m * (pairs->fine + pairs->coarse);
    problem_rotary_angle(pairs->term, &pairs->problem->values, slice->d, m, prec + 64);
    powers(table, pairs->fine, pairs->term, prec);
    arb_mul_si(pairs->term, pairs->term, pairs->fine, prec + 64);
    powers(table + 2 * pairs->fine, pairs->coarse, pairs->term, prec);
  }
}

/* x becomes R_position x. */
static void rotate(arb_ptr x, const problem_pairs *pairs, int64_t position) {
  slong prec = pairs->prec;
  arb_ptr w = _arb_vec_init(4);
  arb_ptr c = w, s = w + 1, y = w + 2, z = w + 3;
  position -= problem_first_position(pairs->slice);
  for (int64_t m = 0; m < pairs->slice->d / 2; m++) {
    int64_t a, b;
    problem_rotary_pair(&a, &b, &pairs->problem->values, pairs->slice->d, m);
    arb_srcptr fine = pairs->phases + 2 * m * (pairs->fine + pairs->coarse);
    arb_srcptr coarse = fine + 2 * (pairs->fine + position / pairs->fine);
    fine += 2 * (position % pairs->fine);
    arb_mul(c, fine, coarse, prec);
    arb_submul(c, fine + 1, coarse + 1, prec);
    arb_mul(s, fine, coarse + 1, prec);
    arb_addmul(s, fine + 1, coarse, prec);
    arb_mul(y, x + a, c, prec);
    arb_submul(y, x + b, s, prec);
    arb_mul(z, x + a, s, prec);
    arb_addmul(z, x + b, c, prec);
    arb_swap(x + a, y);
    arb_swap(x + b, z);
  }
  _arb_vec_clear(w, 4);
}

/* ---- one row ---- */

attest_status problem_pairs_open(problem_pairs *pairs, const attest_problem *problem,
                                 const problem_slice *slice, slong prec, attest_error *error) {
  *pairs = (problem_pairs){.problem = problem, .slice = slice, .prec = prec, .row = -1};
  pairs->buffer = malloc((size_t)(slice->d + 1) * sizeof *pairs->buffer);
  if (!pairs->buffer)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for one query of %lld elements",
                       (long long)slice->d);
  pairs->q = _arb_vec_init(2 * slice->d);
  pairs->k = _arb_vec_init(2 * slice->d);
  arb_init(pairs->term);
  if (problem->pairing == PAIRING_ROTARY) open_phases(pairs);
  return ATTEST_OK;
}

void problem_pairs_close(problem_pairs *pairs) {
  if (!pairs->buffer) return;
  free(pairs->buffer);
  if (pairs->phases) _arb_vec_clear(pairs->phases, phase_count(pairs));
  _arb_vec_clear(pairs->q, 2 * pairs->slice->d);
  _arb_vec_clear(pairs->k, 2 * pairs->slice->d);
  arb_clear(pairs->term);
}

/* Components of a row of q or k, rotated where they are, then their sizes. */
static void load(arb_ptr x, problem_pairs *pairs, const attest_tensor *t, int64_t row,
                 int64_t position) {
  int64_t d = pairs->slice->d;
  int rotary = pairs->problem->pairing == PAIRING_ROTARY;
  tensor_load(pairs->buffer, t, row * t->stride[0], d, t->stride[1]);
  for (int64_t a = 0; a < d; a++) {
    arb_set_d(x + a, pairs->buffer[a]);
    if (!rotary) arb_set_d(x + d + a, fabs(pairs->buffer[a]));
  }
  if (!rotary) return;
  for (int64_t m = 0; m < d / 2; m++) {
    int64_t a, b;
    problem_rotary_pair(&a, &b, &pairs->problem->values, d, m);
    arb_mul(x + d + a, x + a, x + a, pairs->prec);
    arb_addmul(x + d + a, x + b, x + b, pairs->prec);
    arb_sqrt(x + d + a, x + d + a, pairs->prec);
    arb_set(x + d + b, x + d + a);
  }
  rotate(x, pairs, position);
}

static void load_query(problem_pairs *pairs, int64_t row) {
  if (pairs->row != row) load(pairs->q, pairs, &pairs->slice->q, row, row + pairs->slice->offset);
  pairs->row = row;
}

void problem_pairs_query(arb_ptr q, problem_pairs *pairs, int64_t row) {
  load_query(pairs, row);
  _arb_vec_set(q, pairs->q, pairs->slice->d);
}

void problem_pairs_key(arb_ptr k, problem_pairs *pairs, int64_t j) {
  load(pairs->k, pairs, &pairs->slice->k, j, j);
  _arb_vec_set(k, pairs->k, pairs->slice->d);
}

static void weighted_form(arb_t form, arb_t size, problem_pairs *pairs, int64_t row, int64_t j) {
  int64_t d = pairs->slice->d, p = row + pairs->slice->offset - j;
  arb_zero(form);
  if (size) arb_zero(size);
  for (int64_t a = 0; a < d; a++)
    for (int64_t b = 0; b < d; b++) {
      double w = problem_weight(pairs->problem, p, a, b);
      if (w == 0) continue;
      arb_set_d(pairs->term, w);
      arb_mul(pairs->term, pairs->term, pairs->k + b, pairs->prec);
      arb_addmul(form, pairs->term, pairs->q + a, pairs->prec);
      if (!size) continue;
      arb_set_d(pairs->term, fabs(w));
      arb_mul(pairs->term, pairs->term, pairs->k + d + b, pairs->prec);
      arb_addmul(size, pairs->term, pairs->q + d + a, pairs->prec);
    }
}

void problem_pairs_form(arb_t form, arb_t size, problem_pairs *pairs, int64_t row, int64_t j) {
  int64_t d = pairs->slice->d;
  load_query(pairs, row);
  load(pairs->k, pairs, &pairs->slice->k, j, j);
  if (pairs->problem->pairing == PAIRING_WEIGHTS) {
    weighted_form(form, size, pairs, row, j);
    return;
  }
  arb_dot(form, NULL, 0, pairs->q, 1, pairs->k, 1, d, pairs->prec);
  if (size) arb_dot(size, NULL, 0, pairs->q + d, 1, pairs->k + d, 1, d, pairs->prec);
}

slong problem_pairs_bits(const attest_problem *problem) {
  int e = 0;
  if (problem->pairing == PAIRING_ROTARY) return 1;
  if (problem->pairing != PAIRING_WEIGHTS) return 0;
  frexp(problem->largest_weight * (double)problem->d, &e);
  return e;
}

int problem_pair_exact(arf_t form, const attest_problem *problem, const problem_slice *slice,
                       int64_t row, int64_t j) {
  const attest_tensor *q = &slice->q, *k = &slice->k;
  int weighted = problem->pairing == PAIRING_WEIGHTS;
  if (problem->pairing == PAIRING_ROTARY) return 0;
  arf_t x, y, w;
  arf_init(x);
  arf_init(y);
  arf_init(w);
  arf_zero(form);
  for (int64_t a = 0; a < slice->d; a++)
    for (int64_t b = weighted ? 0 : a; b < (weighted ? slice->d : a + 1); b++) {
      double weight = weighted ? problem_weight(problem, row + slice->offset - j, a, b) : 1;
      if (weight == 0) continue;
      arf_set_d(w, weight);
      arf_set_d(x, tensor_at(q, row * q->stride[0] + a * q->stride[1]));
      arf_set_d(y, tensor_at(k, j * k->stride[0] + b * k->stride[1]));
      arf_mul(x, x, w, ARF_PREC_EXACT, ARF_RND_DOWN);
      arf_addmul(form, x, y, ARF_PREC_EXACT, ARF_RND_DOWN);
    }
  arf_clear(x);
  arf_clear(y);
  arf_clear(w);
  return 1;
}
