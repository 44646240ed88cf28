/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "rational.h"

#include <stdlib.h>

static ulong splitmix(ulong *state) {
  ulong z = (*state += UWORD(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UWORD(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UWORD(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

void rational_fill(fmpq *x, int64_t n, ulong *seed) {
  for (int64_t i = 0; i < n; i++) {
    slong numerator = (slong)(splitmix(seed) % 18) - 9;
    fmpq_set_si(x + i, numerator < 0 ? numerator : numerator + 1, 1 + splitmix(seed) % 7);
  }
}

void rational_copy(fmpq *x, const fmpq *y, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    fmpq_set(x + i, y + i);
}

/* cos and sin of the angle of pair m, with u = m + 2 and v = 1. */
static void pythagorean(fmpq_t c, fmpq_t s, int64_t m) {
  slong u = m + 2;
  fmpq_set_si(c, u * u - 1, (ulong)(u * u + 1));
  fmpq_set_si(s, 2 * u, (ulong)(u * u + 1));
}

/* (c, s) becomes the angle's multiple `step`, of any sign. */
static void power(fmpq_t c, fmpq_t s, int64_t step) {
  fmpq_t a, b, x, y;
  fmpq_init(a);
  fmpq_init(b);
  fmpq_init(x);
  fmpq_init(y);
  fmpq_one(a);
  if (step < 0) fmpq_neg(s, s);
  for (int64_t n = step < 0 ? -step : step; n > 0; n--) {
    fmpq_mul(x, a, c);
    fmpq_submul(x, b, s);
    fmpq_mul(y, b, c);
    fmpq_addmul(y, a, s);
    fmpq_swap(a, x);
    fmpq_swap(b, y);
  }
  fmpq_swap(c, a);
  fmpq_swap(s, b);
  fmpq_clear(a);
  fmpq_clear(b);
  fmpq_clear(x);
  fmpq_clear(y);
}

void rational_rotation(fmpq_t c, fmpq_t s, int64_t m, int64_t step) {
  pythagorean(c, s, m);
  power(c, s, step);
}

/* The four symbols of pair m, at i - j + n - 1: R_{j-i}. */
static void fill_symbols(rational_rope *rope, int64_t n, int64_t m) {
  fmpq_t c, s;
  fmpq_init(c);
  fmpq_init(s);
  for (int i = 0; i < 4; i++) {
    rope->places[4 * m + i] = 2 * m + i / 2;
    rope->places[rope->problem.support + 4 * m + i] = 2 * m + i % 2;
  }
  for (int64_t p = 0; p < 2 * n - 1; p++) {
    rational_rotation(c, s, m, n - 1 - p);
    fmpq_set(rope->symbols[4 * m] + p, c);
    fmpq_neg(rope->symbols[4 * m + 1] + p, s);
    fmpq_set(rope->symbols[4 * m + 2] + p, s);
    fmpq_set(rope->symbols[4 * m + 3] + p, c);
  }
  fmpq_clear(c);
  fmpq_clear(s);
}

int rational_rope_open(rational_rope *rope, int64_t n, int64_t d, int64_t width, int causal) {
  int64_t support = 2 * d, length = 2 * n - 1;
  ulong seed = (ulong)(n * 100 + d);
  fmpq_init(rope->half);
  fmpq_one(rope->half);
  rope->places = calloc((size_t)(2 * support), sizeof *rope->places);
  rope->symbols = calloc((size_t)support, sizeof *rope->symbols);
  rope->q = _fmpq_vec_init(n * d);
  rope->k = _fmpq_vec_init(n * d);
  rope->values = _fmpq_vec_init(n * width);
  rope->mask = _fmpq_vec_init(length);
  rope->problem =
      (decompose_problem){n,    n,       d,       width,        support,       rope->places,
                          NULL, rope->q, rope->k, rope->values, rope->symbols, rope->mask};
  if (!rope->places || !rope->symbols) {
    rational_rope_close(rope);
    return -1;
  }
  rope->problem.b = rope->places + support;
  for (int64_t s = 0; s < support; s++)
    rope->symbols[s] = _fmpq_vec_init(length);
  rational_fill(rope->q, n * d, &seed);
  rational_fill(rope->k, n * d, &seed);
  rational_fill(rope->values, n * width, &seed);
  toeplitz_mask_fmpq(rope->mask, n, n, causal ? 0 : -n, n);
  for (int64_t m = 0; m < d / 2; m++)
    fill_symbols(rope, n, m);
  return 0;
}

void rational_rope_close(rational_rope *rope) {
  const decompose_problem *p = &rope->problem;
  for (int64_t s = 0; rope->symbols && s < p->support; s++)
    if (rope->symbols[s]) _fmpq_vec_clear(rope->symbols[s], p->rows + p->cols - 1);
  _fmpq_vec_clear(rope->q, p->rows * p->d);
  _fmpq_vec_clear(rope->k, p->cols * p->d);
  _fmpq_vec_clear(rope->values, p->cols * p->width);
  _fmpq_vec_clear(rope->mask, p->rows + p->cols - 1);
  fmpq_clear(rope->half);
  free(rope->symbols);
  free(rope->places);
}
