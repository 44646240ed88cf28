/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The sums of enclose.h on one instruction set. */
#include "enclose.h"

#define REAL double
#define VEC vd
#define NAME(x) x##_f64
#define OP(op) vd_##op
#define LANES VD_LANES
#define WIDTH (ISA_BYTES == 64 ? 4 : 2)
#include "../tensor/tile_impl.h"

static void tiles_f64(double *c, int64_t c_stride, const double *a, int64_t a_stride,
                      const double *b, int64_t b_stride, int64_t steps, int add, int64_t vectors) {
  tiles_of_f64(c, c_stride, a, a_stride, 1, b, b_stride, steps, add, vectors, 0, TILE_ROWS);
}

static void tiles_abs_f64(double *c, int64_t c_stride, const double *a, int64_t a_stride,
                          const double *b, int64_t b_stride, int64_t steps, int add,
                          int64_t vectors) {
  tiles_of_f64(c, c_stride, a, a_stride, 1, b, b_stride, steps, add, vectors, 1, TILE_ROWS);
}

/* ---- polynomials of vectors ------------------------------------------------------------------ */

/* T_degree(x) = 1 + x (1 + x/2 (...)): three roundings a level. x itself for degree -1. */
ISA_INLINE vd polynomial(vd x, int64_t degree, const double *inverse) {
  if (degree < 0) return x;
  vd y = vd_set1(1);
  for (int64_t m = degree; m >= 1; m--)
    y = vd_fma(x * vd_set1(inverse[m]), y, vd_set1(1));
  return y;
}

ISA_INLINE vd derivative(vd x, int64_t degree, const double *inverse) {
  if (degree < 0) return vd_set1(1);
  return degree == 0 ? vd_set1(0) : polynomial(x, degree - 1, inverse);
}

/* From z = f(q).f(k) and tau = |f(q)|.|f(k)|, in place: w, g; c and h unless NULL. */
typedef struct {
  double *w, *g, *size, *c, *h;
  double h_slope, h_value;
} weight_row;

ISA_INLINE void weigh(const weight_row *x, const taylor_work *work, int64_t from, int64_t to) {
  int64_t degree = work->kind.degree;
  const double *inverse = work->inverse;
  vd scale = vd_set1(work->scale), tiny = vd_set1(work->tiny);
  for (int64_t j = from; j < to; j += VD_LANES) {
    vd s = vd_load(x->w + j) * scale, t = vd_fma(vd_abs(scale), vd_load(x->g + j), tiny);
    vd bound = vd_abs(s), value = degree < 0 ? t : polynomial(bound, degree, inverse);
    vd slope = t * derivative(bound, degree, inverse), w = polynomial(s, degree, inverse);
    vd_store(x->w + j, w);
    vd_store(x->g + j, degree < 0 ? t : slope + value);
    if (x->size) vd_store(x->size + j, vd_abs(w));
    if (!x->c && !x->h) continue;
    vd stateful = work->kind.is_stateful ? polynomial(t, degree, inverse) : value;
    if (x->c)
      vd_store(x->c + j, work->kind.is_stateful
                             ? stateful
                             : t * vd_abs(derivative(s, degree, inverse)) + value);
    if (x->h)
      vd_store(x->h + j, work->kind.is_stateful
                             ? vd_set1(x->h_value) * stateful
                             : vd_set1(x->h_slope) * slope + vd_set1(x->h_value) * value);
  }
}

/* Largest t of the row, from tau; before weigh. */
static double largest_t(const double *tau, const taylor_work *work, int64_t from, int64_t to) {
  double largest = 0;
  for (int64_t j = from; j < to; j++)
    largest = tau[j] > largest || tau[j] != tau[j] ? tau[j] : largest;
  return fma(fabs(work->scale), largest, work->tiny);
}

static void scale_all(const weight_row *x, int64_t j, double factor) {
  x->w[j] *= factor;
  x->g[j] *= factor;
  if (x->size) x->size[j] *= factor;
  if (x->c) x->c[j] *= factor;
  if (x->h) x->h[j] *= factor;
}

static void clear_all(const weight_row *x, int64_t j) {
  x->w[j] = x->g[j] = 0;
  if (x->size) x->size[j] = 0;
  if (x->c) x->c[j] = 0;
  if (x->h) x->h[j] = 0;
}

/* Decay and visibility for columns from .. to - 1, which stand for keys key + from ..; [first, end)
 * is the visible range. */
static void finish(const weight_row *x, const taylor_work *work, int64_t row, int64_t key,
                   int64_t from, int64_t to, int64_t first, int64_t end) {
  const problem_slice *slice = &work->slice;
  for (int64_t j = from; j < to; j++) {
    int64_t k = key + j;
    int shown = k >= first && k < end;
    if (shown && slice->mask.data)
      shown = tensor_at(&slice->mask, row * slice->mask.stride[0] + k * slice->mask.stride[1]) != 0;
    if (!shown)
      clear_all(x, j);
    else if (work->power)
      scale_all(x, j, work->power[taylor_steps(slice, row, k)]);
  }
}

/* ---- products -------------------------------------------------------------------------------- */

/* Rows of `stride` against the panels from .. to of a block of keys. */
static void products(double *score, const double *query, const double *keys, int64_t d,
                     int64_t rows, int64_t from, int64_t to, int absolute) {
  for (int64_t at = from; at < to; at += SUMS_PANEL)
    for (int64_t r = 0; r < rows; r += TILE_ROWS)
      (absolute ? tiles_abs_f64 : tiles_f64)(score + r * SUMS_STRIDE + at, SUMS_STRIDE,
                                             query + r * d, d, keys + at * d, SUMS_PANEL, d, 0,
                                             SUMS_PANEL / VD_LANES);
}

/* sum += weights (rows of `stride`) times values or |values|, over the chains that meet
 * [first, end). */
static void gather(double *sum, double *chain, const double *weights, int64_t stride,
                   const double *values, int64_t pad, int64_t rows, int64_t first, int64_t end,
                   int absolute) {
  int64_t started = 0, tiled = (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
  for (int64_t at = first / SUMS_CHAIN * SUMS_CHAIN; at < end; at += SUMS_CHAIN, started = 1)
    for (int64_t r = 0; r < rows; r += TILE_ROWS)
      (absolute ? tiles_abs_f64 : tiles_f64)(chain + r * pad, pad, weights + r * stride + at,
                                             stride, values + at * pad, pad, SUMS_CHAIN,
                                             started != 0, pad / VD_LANES);
  for (int64_t i = 0; started && i < tiled * pad; i += VD_LANES)
    vd_store(sum + i, vd_load(sum + i) + vd_load(chain + i));
}

static void gather_all(taylor_sums *s, const taylor_work *work, const double *values, int64_t rows,
                       int64_t first, int64_t end) {
  int64_t pad = work->pad;
  gather(s->n, s->chain, s->w, SUMS_STRIDE, values, pad, rows, first, end, 0);
  gather(s->e, s->chain, s->g, SUMS_STRIDE, values, pad, rows, first, end, 1);
  if (s->want & WANT_CONDITION) {
    gather(s->a, s->chain, s->size, SUMS_STRIDE, values, pad, rows, first, end, 1);
    gather(s->cc, s->chain, s->c, SUMS_STRIDE, values, pad, rows, first, end, 1);
    if (!work->kind.is_stateful)
      gather(s->m, s->chain, s->c, SUMS_STRIDE, values, pad, rows, first, end, 0);
  }
  if (s->want & WANT_THEORY)
    gather(s->hh, s->chain, s->h, SUMS_STRIDE, values, pad, rows, first, end, 1);
}

static weight_row row_of(const taylor_sums *s, int64_t r) {
  int64_t at = r * SUMS_STRIDE;
  int condition = (s->want & WANT_CONDITION) != 0, theory = (s->want & WANT_THEORY) != 0;
  return (weight_row){s->w + at,
                      s->g + at,
                      condition ? s->size + at : NULL,
                      condition ? s->c + at : NULL,
                      theory ? s->h + at : NULL,
                      s->h_slope[r],
                      s->h_value[r]};
}

void ISA(taylor_sums_keys)(taylor_sums *s, const taylor_work *work, int64_t row, int64_t rows);
void ISA(taylor_sums_keys)(taylor_sums *s, const taylor_work *work, int64_t row, int64_t rows) {
  int64_t lo = INT64_MAX, hi = 0, d = work->slice.d;
  for (int64_t r = 0; r < rows; r++) {
    if (s->hi[r] <= s->lo[r]) continue;
    lo = s->lo[r] < lo ? s->lo[r] : lo;
    hi = s->hi[r] > hi ? s->hi[r] : hi;
  }
  for (int64_t key = lo / SUMS_KEYS * SUMS_KEYS; key < hi; key += SUMS_KEYS) {
    int64_t first = lo > key ? lo - key : 0, end = hi - key < SUMS_KEYS ? hi - key : SUMS_KEYS;
    int64_t from = first / SUMS_PANEL * SUMS_PANEL;
    int64_t to = (end + SUMS_PANEL - 1) / SUMS_PANEL * SUMS_PANEL;
    products(s->w, s->query, work->keys + key * d, d, rows, from, to, 0);
    products(s->g, s->query_abs, work->keys + key * d, d, rows, from, to, 1);
    for (int64_t r = 0; r < rows; r++) {
      weight_row x = row_of(s, r);
      int64_t shown = s->lo[r] > key + from ? s->lo[r] - key : from;
      int64_t last = s->hi[r] < key + to ? s->hi[r] - key : to;
      double t = largest_t(x.g, work, shown, last);
      if (last > shown && !(t <= s->t_max[r])) s->t_max[r] = t;
      weigh(&x, work, from, to);
      finish(&x, work, row + r, key, from, to, s->lo[r], s->hi[r]);
    }
    gather_all(s, work, work->values + key * work->pad, rows, first, end);
  }
}

/* The initial state: weights psi, g = |psi|, c = |psi|; stateful, so that m counts for nothing. */
void ISA(taylor_sums_state)(taylor_sums *s, const taylor_work *work, int64_t rows);
void ISA(taylor_sums_state)(taylor_sums *s, const taylor_work *work, int64_t rows) {
  int64_t pad = work->pad, stride = work->state_pad;
  double *size = s->psi + SUMS_ROWS * stride;
  gather(s->n, s->chain, s->psi, stride, work->state_values, pad, rows, 0, stride, 0);
  for (int64_t i = 0; i < rows * stride; i++)
    size[i] = fabs(s->psi[i]);
  gather(s->e, s->chain, size, stride, work->state_values, pad, rows, 0, stride, 1);
  if (s->want & WANT_CONDITION) {
    gather(s->a, s->chain, size, stride, work->state_values, pad, rows, 0, stride, 1);
    gather(s->cc, s->chain, size, stride, work->state_values, pad, rows, 0, stride, 1);
  }
  for (int64_t r = 0; r < rows && s->want & WANT_THEORY; r++)
    for (int64_t i = r * stride; i < (r + 1) * stride; i++)
      size[i] *= s->h_value[r] + s->h_slope[r];
  if (s->want & WANT_THEORY)
    gather(s->hh, s->chain, size, stride, work->state_values, pad, rows, 0, stride, 1);
}

/* One row over its whole range, for second passes: key by key with the loops of a block. */
void ISA(taylor_weigh_block)(double *w, double *g, double *c, const double *query,
                             const double *query_abs, const taylor_work *work, int64_t row,
                             int64_t key, int64_t lo, int64_t hi);
void ISA(taylor_weigh_block)(double *w, double *g, double *c, const double *query,
                             const double *query_abs, const taylor_work *work, int64_t row,
                             int64_t key, int64_t lo, int64_t hi) {
  const double *keys = work->keys + key * work->slice.d;
  weight_row x = {w, g, NULL, c, NULL, 0, 0};
  for (int64_t at = 0; at < SUMS_KEYS; at += SUMS_PANEL)
    for (int64_t j = at; j < at + SUMS_PANEL; j += VD_LANES) {
      vd z = {0}, tau = {0};
      for (int64_t a = 0; a < work->slice.d; a++) {
        vd k = vd_load(keys + at * work->slice.d + a * SUMS_PANEL + j - at);
        z = vd_fma(vd_set1(query[a]), k, z);
        tau = vd_fma(vd_set1(query_abs[a]), vd_abs(k), tau);
      }
      vd_store(w + j, z);
      vd_store(g + j, tau);
    }
  weigh(&x, work, 0, SUMS_KEYS);
  finish(&x, work, row, key, 0, SUMS_KEYS, lo, hi);
}

/* Features (rows of SUMS_STRIDE in s->w) of the final state against one block of keys. */
void ISA(taylor_state_block)(taylor_sums *s, const taylor_work *work, int64_t rows, int64_t key,
                             int64_t keys);
void ISA(taylor_state_block)(taylor_sums *s, const taylor_work *work, int64_t rows, int64_t key,
                             int64_t keys) {
  const double *values = work->values + key * work->pad;
  for (int64_t i = 0; i < SUMS_ROWS * SUMS_STRIDE; i++)
    s->g[i] = fabs(s->w[i]);
  gather(s->n, s->chain, s->w, SUMS_STRIDE, values, work->pad, rows, 0, keys, 0);
  gather(s->e, s->chain, s->g, SUMS_STRIDE, values, work->pad, rows, 0, keys, 1);
}
