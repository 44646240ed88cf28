/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The pass of pass.h for one type. pass_isa.c includes this file once for float and once for
 * double, with REAL (the type), VEC (its vector), NAME(x) (x with the type's suffix) and LOAD
 * (reads elements of a tensor) defined. */

#define OP2(vec, op) vec##_##op
#define OP1(vec, op) OP2(vec, op)
#define OP(op) OP1(VEC, op)
#define LANES ((int)(ISA_BYTES / sizeof(REAL)))
/* Vectors of B held in registers beside TILE_ROWS rows of accumulators. */
#define WIDTH (ISA_BYTES == 64 ? 4 : 2)

#include "../tensor/tile_impl.h"

static void NAME(tiles)(REAL *c, int64_t c_stride, const REAL *a, int64_t a_stride, const REAL *b,
                        int64_t b_stride, int64_t steps, int add, int64_t vectors) {
  NAME(tiles_of)(c, c_stride, a, a_stride, 1, b, b_stride, steps, add, vectors, 0, TILE_ROWS);
}

static void NAME(tiles_abs)(REAL *c, int64_t c_stride, const REAL *a, int64_t a_stride,
                            const REAL *b, int64_t b_stride, int64_t steps, int add,
                            int64_t vectors) {
  NAME(tiles_of)(c, c_stride, a, a_stride, 1, b, b_stride, steps, add, vectors, 1, TILE_ROWS);
}

/* Scaled queries, visible ranges, empty sums (or the sink's). */
static void NAME(begin)(NAME(softmax_state) * state, const softmax_pack *pack, int64_t row,
                        int64_t rows) {
  const problem_slice *slice = &pack->slice;
  int64_t d = slice->d, stored = PASS_ROWS * pack->dv_pad;
  REAL scale = (REAL)pack->scale;
  for (int64_t r = 0; r < PASS_ROWS; r++) {
    REAL *q = state->query + r * d;
    state->lo[r] = state->hi[r] = 0;
    if (r < rows) {
      LOAD(q, &slice->q, (row + r) * slice->q.stride[0], d, slice->q.stride[1]);
      problem_visible_range(&state->lo[r], &state->hi[r], pack->problem, slice, row + r);
    }
    for (int64_t i = 0; i < d; i++) {
      q[i] = r < rows ? q[i] * scale : 0;
      state->query_abs[r * d + i] = q[i] < 0 ? -q[i] : q[i];
    }
    for (int64_t i = 0; pack->query_size && r < rows && i < d; i++)
      state->query_abs[r * d + i] =
          (REAL)pack->query_size[(row + r) * d + i] * (scale < 0 ? -scale : scale);
    REAL sink = (REAL)slice->sink;
    if (pack->has_temperature) sink *= (REAL)pack->inverse_temperature;
    state->shift[r] = slice->has_sink ? sink : (REAL)-INFINITY;
    state->sum[r] = slice->has_sink;
    state->rescaled[r] = 0;
  }
  memset(state->out, 0, (size_t)stored * sizeof(REAL));
}

/* Softcap: s <- cap tanh(s / cap), t <- t sech^2 + |s|, with sech^2 = 4e / (1 + e)^2, e = e^-2|y|.
 */
static void NAME(cap)(REAL *s, REAL *t, const softmax_pack *pack, int64_t n) {
  VEC cap = OP(set1)((REAL)pack->softcap), inverse = OP(set1)((REAL)(1 / pack->softcap));
  for (int64_t j = 0; j < n; j += LANES) {
    VEC y = OP(load)(s + j) * inverse;
    VEC capped = cap * OP(tanh)(y);
    OP(store)(s + j, capped);
    if (!t) continue;
    VEC e = OP(exp)(OP(set1)(-2) * OP(abs)(y)), one = e + OP(set1)(1);
    VEC slope = OP(set1)(4) * e / (one * one);
    OP(store)(t + j, OP(load)(t + j) * slope + OP(abs)(capped));
  }
}

/* Softcap, bias, slope and temperature for keys key + from .. key + to - 1; -infinity where the
 * mask hides. t: absolute scores, or NULL. */
static void NAME(finish)(NAME(softmax_state) * state, const softmax_pack *pack, int64_t row,
                         int64_t r, int64_t key, int64_t from, int64_t to, REAL *t) {
  const problem_slice *slice = &pack->slice;
  REAL *s = state->score + r * PASS_STRIDE;
  int64_t first = state->lo[r] - key, end = state->hi[r] - key;
  if (first < 0) first = 0;
  if (end > PASS_KEYS) end = PASS_KEYS;
  if (pack->has_softcap) NAME(cap)(s + from, t ? t + from : NULL, pack, to - from);
  if (slice->bias.data && end > first) {
    tensor_load(state->bias + first, &slice->bias,
                row * slice->bias.stride[0] + (key + first) * slice->bias.stride[1], end - first,
                slice->bias.stride[1]);
    for (int64_t j = first; j < end; j++) {
      REAL bias = (REAL)state->bias[j];
      s[j] += bias;
      if (t && bias > (REAL)-INFINITY) t[j] += bias < 0 ? -bias : bias;
    }
  }
  for (int64_t j = first; slice->has_slope && j < end; j++) {
    REAL step = (REAL)slice->slope * (REAL)(key + j - row - slice->offset);
    s[j] += step;
    if (t) t[j] += step < 0 ? -step : step;
  }
  for (int64_t j = first; pack->has_temperature && j < end; j++) {
    s[j] *= (REAL)pack->inverse_temperature;
    if (t) t[j] *= (REAL)pack->inverse_temperature;
  }
  for (int64_t j = first; slice->mask.data && j < end; j++)
    if (tensor_at(&slice->mask, row * slice->mask.stride[0] + (key + j) * slice->mask.stride[1]) ==
        0)
      s[j] = (REAL)-INFINITY;
}

/* Columns from .. to - 1 of a row that the visible range first .. end - 1 leaves out: score
 * -infinity, size 0. */
static void NAME(hide)(REAL *s, REAL *t, int64_t first, int64_t end, int64_t from, int64_t to) {
  for (int64_t j = from; j < to; j++) {
    if (j == first && end > first) j = end;
    if (j >= to) break;
    s[j] = (REAL)-INFINITY;
    if (t) t[j] = 0;
  }
}

ISA_INLINE REAL NAME(largest)(const REAL *s, int64_t from, int64_t to) {
  VEC m = OP(load)(s + from);
  for (int64_t j = from + LANES; j < to; j += LANES)
    m = OP(max)(m, OP(load)(s + j));
  REAL lane[LANES];
  OP(store)(lane, m);
  REAL result = lane[0];
  for (int i = 1; i < LANES; i++)
    result = lane[i] > result ? lane[i] : result;
  return result;
}

/* Sum of the interleaved chains by a tree. */
ISA_INLINE REAL NAME(tree)(const VEC chain[]) {
  REAL lane[PASS_LANES];
  for (int i = 0; i < PASS_LANES / LANES; i++)
    OP(store)(lane + i * LANES, chain[i]);
  for (int step = PASS_LANES / 2; step; step /= 2)
    for (int i = 0; i < step; i++)
      lane[i] += lane[i + step];
  return lane[0];
}

/* Moves the shift of row r up to `maximum`. */
static void NAME(move_shift)(NAME(softmax_state) * state, const softmax_pack *pack, int64_t r,
                             REAL maximum) {
  REAL factor = 0;
  if (state->shift[r] > (REAL)-INFINITY) {
    REAL lane[LANES];
    OP(store)(lane, OP(exp)(OP(set1)(state->shift[r] - maximum)));
    factor = lane[0];
    state->rescaled[r] = 1;
  }
  state->shift[r] = maximum;
  state->moved[r] = factor;
  state->sum[r] *= factor;
  for (int64_t i = 0; i < pack->dv_pad; i++)
    state->out[r * pack->dv_pad + i] *= factor;
}

/* Weights of one row for one block of keys, and their share of the normaliser. */
static void NAME(weigh)(NAME(softmax_state) * state, const softmax_pack *pack, int64_t r,
                        int64_t from, int64_t to) {
  REAL *s = state->score + r * PASS_STRIDE;
  REAL maximum = NAME(largest)(s, from, to);
  state->moved[r] = 1;
  if (maximum > state->shift[r] + (REAL)PASS_SHIFT) NAME(move_shift)(state, pack, r, maximum);
  VEC shift = OP(set1)(state->shift[r] > (REAL)-INFINITY ? state->shift[r] : 0);
  VEC chain[PASS_LANES / LANES];
  for (int i = 0; i < PASS_LANES / LANES; i++)
    chain[i] = (VEC){0};
  for (int64_t j = from; j < to; j += PASS_LANES)
#pragma GCC unroll 8
    for (int i = 0; i < PASS_LANES / LANES; i++) {
      VEC w = OP(exp)(OP(load)(s + j + i * LANES) - shift);
      OP(store)(s + j + i * LANES, w);
      chain[i] += w;
    }
  state->sum[r] += NAME(tree)(chain);
}

/* to += from over all rows. */
static void NAME(join)(REAL *to, const REAL *from, int64_t n) {
  for (int64_t i = 0; i < n; i += LANES)
    OP(store)(to + i, OP(load)(to + i) + OP(load)(from + i));
}

/* sum += weights (rows of `stride`) times values (or |values|), for the chains of keys that meet
 * [first, end); weights and values start at the same key. */
static void NAME(gather)(REAL *sum, REAL *block, const REAL *weights, int64_t stride,
                         const REAL *values, int64_t dv_pad, int64_t rows, int64_t first,
                         int64_t end, int absolute) {
  int64_t started = 0;
  for (int64_t at = first / PASS_CHAIN * PASS_CHAIN; at < end; at += PASS_CHAIN, started = 1)
    for (int64_t r = 0; r < rows; r += TILE_ROWS)
      (absolute ? NAME(tiles_abs) : NAME(tiles))(
          block + r * dv_pad, dv_pad, weights + r * stride + at, stride, values + at * dv_pad,
          dv_pad, PASS_CHAIN, started != 0, dv_pad / LANES);
  if (started) NAME(join)(sum, block, (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS * dv_pad);
}

/* Scores (rows of `stride`) of all rows against the panels from .. to of a block of keys; with
 * absolute keys where `absolute`. */
static void NAME(products)(REAL *score, int64_t stride, const REAL *query, const REAL *keys,
                           int64_t d, int64_t rows, int64_t from, int64_t to, int absolute) {
  for (int64_t at = from; at < to; at += PASS_PANEL)
    for (int64_t r = 0; r < rows; r += TILE_ROWS)
      (absolute ? NAME(tiles_abs) : NAME(tiles))(score + r * stride + at, stride, query + r * d, d,
                                                 keys + at * d, PASS_PANEL, d, 0,
                                                 PASS_PANEL / LANES);
}

/* Finished scores of the columns from .. to of the block that starts at `key`; absolute scores to
 * size unless it is NULL. */
static void NAME(score_block)(NAME(softmax_state) * state, const softmax_pack *pack, int64_t row,
                              int64_t rows, int64_t key, int64_t from, int64_t to, REAL *size) {
  int64_t d = pack->slice.d;
  const REAL *sized = pack->key_size ? pack->key_size : pack->keys;
  NAME(products)
  (state->score, PASS_STRIDE, state->query, (const REAL *)pack->keys + key * d, d, rows, from, to,
   0);
  if (size) NAME(products)
  (size, PASS_STRIDE, state->query_abs, sized + key * d, d, rows, from, to, 1);
  for (int64_t r = 0; r < rows; r++) {
    REAL *s = state->score + r * PASS_STRIDE, *t = size ? size + r * PASS_STRIDE : NULL;
    int64_t start = state->lo[r] > key + from ? state->lo[r] - key : from;
    if (pack->has_extras) NAME(finish)(state, pack, row + r, r, key, from, to, t);
    NAME(hide)(s, t, start, state->hi[r] - key, from, to);
  }
}

/* Keys that some row of the block sees. */
static void NAME(union_range)(int64_t *lo, int64_t *hi, const NAME(softmax_state) * state,
                              int64_t rows) {
  *lo = INT64_MAX;
  *hi = 0;
  for (int64_t r = 0; r < rows; r++) {
    if (state->hi[r] <= state->lo[r]) continue;
    *lo = state->lo[r] < *lo ? state->lo[r] : *lo;
    *hi = state->hi[r] > *hi ? state->hi[r] : *hi;
  }
  if (*hi == 0) *lo = 0;
}

/* The part of a block of keys that all rows together see: [first, end) and the panels that meet
 * it. */
typedef struct {
  int64_t first, end, from, to;
} NAME(part);

static NAME(part) NAME(part_of)(int64_t lo, int64_t hi, int64_t key) {
  NAME(part) p;
  p.first = lo > key ? lo - key : 0;
  p.end = hi - key < PASS_KEYS ? hi - key : PASS_KEYS;
  p.from = p.first / PASS_PANEL * PASS_PANEL;
  p.to = (p.end + PASS_PANEL - 1) / PASS_PANEL * PASS_PANEL;
  return p;
}

void ISA(NAME(softmax_pass))(NAME(softmax_state) * state, const softmax_pack *pack, int64_t row,
                             int64_t rows);
void ISA(NAME(softmax_pass))(NAME(softmax_state) * state, const softmax_pack *pack, int64_t row,
                             int64_t rows) {
  int64_t lo, hi;
  NAME(begin)(state, pack, row, rows);
  NAME(union_range)(&lo, &hi, state, rows);
  for (int64_t key = lo / PASS_KEYS * PASS_KEYS; key < hi; key += PASS_KEYS) {
    NAME(part) p = NAME(part_of)(lo, hi, key);
    NAME(score_block)(state, pack, row, rows, key, p.from, p.to, NULL);
    for (int64_t r = 0; r < rows; r++)
      NAME(weigh)(state, pack, r, p.from, p.to);
    NAME(gather)
    (state->out, state->chain, state->score, PASS_STRIDE,
     (const REAL *)pack->values + key * pack->dv_pad, pack->dv_pad, rows, p.first, p.end, 0);
  }
}

#undef OP2
#undef OP1
#undef OP
#undef LANES
#undef WIDTH
