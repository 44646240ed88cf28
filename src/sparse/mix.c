/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Weights that explain a row whose support can empty: the mean of the loose values nearest to what
 * was returned, by moving weight between the two keys for which that helps most (Frank-Wolfe in
 * pairs, with exact steps). A good guess in double, which the certifier verifies. */
#include <math.h>
#include <stdlib.h>

#include "weights.h"

enum { STEPS = 4096 };
/* Products that all steps may take together. */
#define WORK 0x1p28

/* sum_c v_j[c] (x[c] - got[c]): how fast the distance grows with the weight of key j. */
static double slope_of(const double *v, const double *x, const double *got, int64_t dv) {
  double sum = 0;
  for (int64_t c = 0; c < dv; c++)
    sum += v[c] * (x[c] - got[c]);
  return sum;
}

/* One step from x = sum w v: 0 when none helps. */
static int step(double *w, double *x, const double *v, const double *got, int64_t n, int64_t dv) {
  int64_t to = -1, from = -1;
  double least = INFINITY, most = -INFINITY, square = 0;
  for (int64_t j = 0; j < n; j++) {
    double slope = slope_of(v + j * dv, x, got, dv);
    if (slope < least) least = slope, to = j;
    if (w[j] > 0 && slope > most) most = slope, from = j;
  }
  if (to < 0 || from < 0 || !(least < most)) return 0;
  for (int64_t c = 0; c < dv; c++) {
    double d = v[to * dv + c] - v[from * dv + c];
    square += d * d;
  }
  double move = fmin(w[from], (most - least) / square);
  if (!(move > 0)) return 0;
  w[from] = move < w[from] ? w[from] - move : 0;
  w[to] += move;
  for (int64_t c = 0; c < dv; c++) {
    x[c] = 0;
    for (int64_t j = 0; j < n; j++)
      x[c] += w[j] * v[j * dv + c];
  }
  return 1;
}

static double square_distance(const double *x, const double *got, int64_t dv) {
  double sum = 0;
  for (int64_t c = 0; c < dv; c++)
    sum += (x[c] - got[c]) * (x[c] - got[c]);
  return sum;
}

/* The best of equal weights and of single keys. */
static void start(double *w, double *x, const double *v, const double *got, int64_t n, int64_t dv) {
  int64_t nearest = 0;
  double least = INFINITY;
  for (int64_t c = 0; c < dv; c++)
    x[c] = 0;
  for (int64_t j = 0; j < n; j++) {
    double square = square_distance(v + j * dv, got, dv);
    if (square < least) least = square, nearest = j;
    w[j] = 1 / (double)n;
    for (int64_t c = 0; c < dv; c++)
      x[c] += w[j] * v[j * dv + c];
  }
  if (square_distance(x, got, dv) < least) return;
  for (int64_t j = 0; j < n; j++)
    w[j] = j == nearest;
  for (int64_t c = 0; c < dv; c++)
    x[c] = v[nearest * dv + c];
}

int sparse_mix(double *weights, const room_choice *choice, const problem_slice *slice,
               const double *got) {
  int64_t n = choice->loose_count, dv = slice->dv;
  if (n == 0) return 0;
  double *x = malloc((size_t)((n + 1) * dv + 1) * sizeof *x), *v = x + dv;
  double steps = fmin(STEPS, WORK / ((double)n * (double)dv));
  if (!x) return 0;
  for (int64_t j = 0; j < n; j++)
    tensor_load(v + j * dv, &slice->v, choice->loose[j] * slice->v.stride[0], dv,
                slice->v.stride[1]);
  start(weights, x, v, got, n, dv);
  for (int s = 0; s < steps; s++)
    if (!step(weights, x, v, got, n, dv)) break;
  free(x);
  return 1;
}
