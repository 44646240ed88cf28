/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The pass of pass.h for one type. pass_isa.c includes this file once for float and once for
 * double, with REAL (the type), VEC (its vector), NAME(x) (x with the type's suffix) and LOAD
 * (reads elements of a tensor) defined. */

#define OP2(vec, op) vec##_##op
#define OP1(vec, op) OP2(vec, op)
#define OP(op) OP1(VEC, op)
#define LANES ((int)(ISA_BYTES / sizeof(REAL)))
#define PANEL (sizeof(REAL) == 4 ? PASS_PANEL_F32 : PASS_PANEL_F64)
/* Vectors of B held in registers beside TILE_ROWS rows of accumulators. */
#define WIDTH (ISA_BYTES == 64 ? 4 : 2)

#include "../tensor/tile_impl.h"

/* The same beside one row of accumulators. */
#define WIDTH_ALONE (PANEL / LANES < TILE_WIDTH ? PANEL / LANES : TILE_WIDTH)

/* Scaled queries, their absolute values where `sized`, visible ranges, empty sums (or the sink's).
 */
ISA_INLINE void NAME(begin)(NAME(softmax_state) * state, const softmax_pack *pack, int64_t row,
                            int64_t rows, const int sized) {
  const problem_slice *slice = &pack->slice;
  int64_t d = slice->d, stored = PASS_ROWS * pack->dv_pad;
  REAL scale = (REAL)pack->scale;
  for (int64_t r = 0; r < PASS_ROWS; r++) {
    REAL *q = state->query + pass_query_at(r, d), *size = state->query_abs + pass_query_at(r, d);
    state->lo[r] = state->hi[r] = 0;
    if (r < rows) {
      LOAD(state->row, &slice->q, (row + r) * slice->q.stride[0], d, slice->q.stride[1]);
      problem_visible_range(&state->lo[r], &state->hi[r], pack->problem, slice, row + r);
    }
    for (int64_t i = 0; i < d; i++)
      q[i * TILE_ROWS] = r < rows ? state->row[i] * scale : 0;
    for (int64_t i = 0; sized && i < d; i++) {
      REAL x = q[i * TILE_ROWS];
      size[i * TILE_ROWS] = x < 0 ? -x : x;
    }
    for (int64_t i = 0; sized && pack->query_size && r < rows && i < d; i++)
      size[i * TILE_ROWS] =
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
  VEC m = OP(load)(s + from), m1 = OP(load)(s + from + LANES);
  for (int64_t j = from + 2 * LANES; j < to; j += 2 * LANES) {
    m = OP(max)(m, OP(load)(s + j));
    m1 = OP(max)(m1, OP(load)(s + j + LANES));
  }
  return OP(largest)(OP(max)(m, m1));
}

/* Sum of the interleaved chains by a tree. */
ISA_INLINE REAL NAME(tree)(const VEC chain[]) {
  VEC sum[PASS_LANES / LANES];
  memcpy(sum, chain, sizeof sum);
#pragma GCC unroll 4
  for (int step = PASS_LANES / LANES / 2; step; step /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < step; i++)
      sum[i] += sum[i + step];
  return OP(tree_sum)(sum[0]);
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
  state->moved[r] = 1;
  if (from >= to) return;
  REAL maximum = NAME(largest)(s, from, to);
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

/* sum += weights times values over the columns of a block of keys that p leaves. The sums of one
 * block stand apart, WIDTH vectors of all rows after the next: there they lie densely. */
static void NAME(gather)(REAL *sum, REAL *block, const REAL *weights, const REAL *values,
                         int64_t dv_pad, const pass_part *p, int64_t rows) {
  int64_t vectors = dv_pad / LANES;
#define TILE(width)                                                                                \
  for (int64_t t = 0; t * TILE_ROWS < rows; t++)                                                   \
    if (p->tile_from[t] <= at && at < p->tile_to[t]) NAME(tile)                                    \
  (block + (v * PASS_ROWS + t * TILE_ROWS * width) * LANES, width * LANES,                         \
   weights + t * TILE_ROWS * PASS_STRIDE + at, PASS_STRIDE, 1, values + at * dv_pad + v * LANES,   \
   dv_pad, PASS_CHAIN, 1, 0, TILE_ROWS, width)
  memset(block, 0, (size_t)(PASS_ROWS * dv_pad) * sizeof *block);
  for (int64_t at = p->from; at < p->to; at += PASS_CHAIN) {
    int64_t v = 0;
    for (; v + WIDTH <= vectors; v += WIDTH)
      TILE(WIDTH);
    if (vectors - v == 3) {
      TILE(3);
    } else if (vectors - v == 2) {
      TILE(2);
    } else if (vectors - v == 1) {
      TILE(1);
    }
  }
#undef TILE
  for (int64_t v = 0; v < vectors; v += WIDTH) {
    int64_t width = (vectors - v < WIDTH ? vectors - v : WIDTH) * LANES;
    for (int64_t r = 0; r < rows; r++)
      NAME(join)(sum + r * dv_pad + v * LANES, block + v * LANES * PASS_ROWS + r * width, width);
  }
}

/* The same for one row alone. */
static void NAME(gather_alone)(REAL *sum, REAL *block, const REAL *weights, const REAL *values,
                               int64_t dv_pad, const pass_part *p) {
#define TILE(width)                                                                                \
  NAME(tile)                                                                                       \
  (block + v, 0, weights + at, 0, 1, values + at * dv_pad + v, dv_pad, PASS_CHAIN, 1, 0, 1, width)
  memset(block, 0, (size_t)dv_pad * sizeof *block);
  for (int64_t at = p->from; at < p->to; at += PASS_CHAIN) {
    int64_t v = 0;
    for (; v + WIDTH_ALONE * LANES <= dv_pad; v += WIDTH_ALONE * LANES)
      TILE(WIDTH_ALONE);
    for (; v < dv_pad; v += LANES)
      TILE(1);
  }
#undef TILE
  NAME(join)(sum, block, dv_pad);
}

/* Scores of all rows against the columns of a block of keys that p leaves; with absolute keys where
 * `absolute`. */
ISA_INLINE void NAME(products_of)(REAL *score, const REAL *query, const REAL *keys, int64_t d,
                                  const pass_part *p, int64_t rows, const int absolute) {
  for (int64_t at = p->from / PANEL * PANEL; at < p->to; at += PANEL) {
    const REAL *panel = keys + at * d;
    for (int64_t v = 0; rows == 1 && v < PANEL / LANES; v += WIDTH_ALONE)
      NAME(tile)
    (score + at + v * LANES, 0, query, 0, TILE_ROWS, panel + v * LANES, PANEL, d, 0, absolute, 1,
     WIDTH_ALONE);
    for (int64_t t = 0; rows > 1 && t * TILE_ROWS < rows; t++) {
      if (p->tile_to[t] <= at || at + PANEL <= p->tile_from[t]) continue;
      for (int64_t v = 0; v < PANEL / LANES; v += WIDTH)
        NAME(tile)
      (score + t * TILE_ROWS * PASS_STRIDE + at + v * LANES, PASS_STRIDE, query + t * TILE_ROWS * d,
       1, TILE_ROWS, panel + v * LANES, PANEL, d, 0, absolute, TILE_ROWS, WIDTH);
    }
  }
}

static void NAME(products)(REAL *score, const REAL *query, const REAL *keys, int64_t d,
                           const pass_part *p, int64_t rows) {
  NAME(products_of)(score, query, keys, d, p, rows, 0);
}

/* Finished scores of the columns of the block that starts at `key`; absolute scores to size unless
 * it is NULL. */
static void NAME(score_block)(NAME(softmax_state) * state, const softmax_pack *pack, int64_t row,
                              int64_t rows, int64_t key, const pass_part *p, REAL *size) {
  int64_t d = pack->slice.d;
  const REAL *sized = pack->key_size ? pack->key_size : pack->keys;
  NAME(products)(state->score, state->query, (const REAL *)pack->keys + key * d, d, p, rows);
  if (size) NAME(products_of)(size, state->query_abs, sized + key * d, d, p, rows, 1);
  for (int64_t r = 0; r < rows; r++) {
    REAL *s = state->score + r * PASS_STRIDE, *t = size ? size + r * PASS_STRIDE : NULL;
    int64_t from = p->tile_from[r / TILE_ROWS], to = p->tile_to[r / TILE_ROWS];
    int64_t start = state->lo[r] > key + from ? state->lo[r] - key : from;
    if (pack->has_extras) NAME(finish)(state, pack, row + r, r, key, from, to, t);
    NAME(hide)(s, t, start, state->hi[r] - key, from, to);
  }
}

/* Weights of all rows for one block of keys. */
static void NAME(weigh_block)(NAME(softmax_state) * state, const softmax_pack *pack,
                              const pass_part *p, int64_t rows) {
  for (int64_t r = 0; r < rows; r++)
    NAME(weigh)(state, pack, r, p->tile_from[r / TILE_ROWS], p->tile_to[r / TILE_ROWS]);
}

/* What the weights of one block of keys add to the sums. */
static void NAME(gather_block)(NAME(softmax_state) * state, const softmax_pack *pack, int64_t key,
                               const pass_part *p, int64_t rows) {
  const REAL *values = (const REAL *)pack->values + key * pack->dv_pad;
  if (rows == 1)
    NAME(gather_alone)(state->out, state->chain, state->score, values, pack->dv_pad, p);
  else
    NAME(gather)(state->out, state->chain, state->score, values, pack->dv_pad, p, rows);
}

void ISA(NAME(softmax_pass))(NAME(softmax_state) * state, const softmax_pack *pack, int64_t row,
                             int64_t rows);
void ISA(NAME(softmax_pass))(NAME(softmax_state) * state, const softmax_pack *pack, int64_t row,
                             int64_t rows) {
  int64_t lo, hi;
  NAME(begin)(state, pack, row, rows, 0);
  union_range(&lo, &hi, state->lo, state->hi, rows);
  for (int64_t key = lo / PASS_KEYS * PASS_KEYS; key < hi; key += PASS_KEYS) {
    pass_part p = part_of(state->lo, state->hi, rows, key);
    NAME(score_block)(state, pack, row, rows, key, &p, NULL);
    NAME(weigh_block)(state, pack, &p, rows);
    NAME(gather_block)(state, pack, key, &p, rows);
  }
}

void ISA(NAME(softmax_normalise))(NAME(softmax_state) * state, const softmax_pack *pack,
                                  int64_t rows);
void ISA(NAME(softmax_normalise))(NAME(softmax_state) * state, const softmax_pack *pack,
                                  int64_t rows) {
  VEC back = OP(set1)((REAL)(1 / pack->value_scale));
  for (int64_t r = 0; r < rows; r++) {
    REAL *out = state->out + r * pack->dv_pad;
    VEC total = OP(set1)(state->sum[r]);
    for (int64_t c = 0; c < pack->dv_pad; c += LANES)
      OP(store)(out + c, OP(load)(out + c) / total * back);
  }
}

#undef OP2
#undef OP1
#undef OP
#undef LANES
#undef WIDTH
#undef WIDTH_ALONE
#undef PANEL
