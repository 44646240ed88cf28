/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The pass of pass.h for one type: REAL, VEC (its vector), NAME(x) (x with the type's suffix) and
 * LIMIT_TANH are set by pass_isa.c, which includes this file once for float and once for double. */

#define OP2(vec, op) vec##_##op
#define OP1(vec, op) OP2(vec, op)
#define OP(op) OP1(VEC, op)
#define LANES ((int)(ISA_BYTES / sizeof(REAL)))
/* Vectors of B held in registers beside PASS_TILE rows of accumulators. */
#define WIDTH (ISA_BYTES == 64 ? 4 : 2)

/* c[r][v] (+)= sum over k = 0 .. steps-1, in this order, of a[r][k] b[k][v]; r < PASS_TILE, v over
 * `width` vectors. */
ISA_INLINE void NAME(tile)(REAL *c, int64_t c_stride, const REAL *a, int64_t a_stride,
                           const REAL *b, int64_t b_stride, int64_t steps, int add,
                           const int width) {
  VEC sum[PASS_TILE][4];
#pragma GCC unroll 6
  for (int r = 0; r < PASS_TILE; r++)
#pragma GCC unroll 4
    for (int v = 0; v < width; v++)
      sum[r][v] = (VEC){0};
  for (int64_t k = 0; k < steps; k++) {
    VEC bk[4];
#pragma GCC unroll 4
    for (int v = 0; v < width; v++)
      bk[v] = OP(load)(b + k * b_stride + v * LANES);
#pragma GCC unroll 6
    for (int r = 0; r < PASS_TILE; r++) {
      VEC ark = OP(set1)(a[r * a_stride + k]);
#pragma GCC unroll 4
      for (int v = 0; v < width; v++)
        sum[r][v] = OP(fma)(ark, bk[v], sum[r][v]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < PASS_TILE; r++)
#pragma GCC unroll 4
    for (int v = 0; v < width; v++) {
      REAL *to = c + r * c_stride + v * LANES;
      OP(store)(to, add ? OP(load)(to) + sum[r][v] : sum[r][v]);
    }
}

/* The same over `vectors` vectors, as many as it takes. */
static void NAME(tiles)(REAL *c, int64_t c_stride, const REAL *a, int64_t a_stride, const REAL *b,
                        int64_t b_stride, int64_t steps, int add, int64_t vectors) {
  int64_t v = 0;
  for (; v + WIDTH <= vectors; v += WIDTH)
    NAME(tile)(c + v * LANES, c_stride, a, a_stride, b + v * LANES, b_stride, steps, add, WIDTH);
  switch (vectors - v) {
  case 3:
    NAME(tile)(c + v * LANES, c_stride, a, a_stride, b + v * LANES, b_stride, steps, add, 3);
    break;
  case 2:
    NAME(tile)(c + v * LANES, c_stride, a, a_stride, b + v * LANES, b_stride, steps, add, 2);
    break;
  case 1:
    NAME(tile)(c + v * LANES, c_stride, a, a_stride, b + v * LANES, b_stride, steps, add, 1);
    break;
  default:
    break;
  }
}

/* Scaled queries, absolute values, visible ranges, empty sums (or the sink's). */
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
      if (pack->condition) state->query_abs[r * d + i] = q[i] < 0 ? -q[i] : q[i];
    }
    REAL sink = (REAL)slice->sink;
    if (pack->has_temperature) sink *= (REAL)pack->inverse_temperature;
    state->shift[r] = slice->has_sink ? sink : (REAL)-INFINITY;
    state->sum[r] = slice->has_sink;
    state->c[r] = slice->has_sink ? (sink < 0 ? -sink : sink) : 0;
    state->rescaled[r] = 0;
  }
  memset(state->out, 0, (size_t)stored * sizeof(REAL));
  if (pack->condition) {
    memset(state->a, 0, (size_t)stored * sizeof(REAL));
    memset(state->tv, 0, (size_t)stored * sizeof(REAL));
  }
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
 * mask hides. */
static void NAME(finish)(NAME(softmax_state) * state, const softmax_pack *pack, int64_t row,
                         int64_t r, int64_t key, int64_t from, int64_t to) {
  const problem_slice *slice = &pack->slice;
  REAL *s = state->score + r * PASS_KEYS;
  REAL *t = pack->condition ? state->size + r * PASS_KEYS : NULL;
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
  state->sum[r] *= factor;
  state->c[r] *= factor;
  for (int64_t i = 0; i < pack->dv_pad; i++) {
    state->out[r * pack->dv_pad + i] *= factor;
    if (pack->condition) {
      state->a[r * pack->dv_pad + i] *= factor;
      state->tv[r * pack->dv_pad + i] *= factor;
    }
  }
}

/* Weights of one row for one block of keys, its normaliser, and with condition w t. */
static void NAME(weigh)(NAME(softmax_state) * state, const softmax_pack *pack, int64_t r,
                        int64_t from, int64_t to) {
  REAL *s = state->score + r * PASS_KEYS;
  REAL maximum = NAME(largest)(s, from, to);
  if (maximum > state->shift[r] + (REAL)PASS_SHIFT) NAME(move_shift)(state, pack, r, maximum);
  VEC shift = OP(set1)(state->shift[r] > (REAL)-INFINITY ? state->shift[r] : 0);
  VEC chain[PASS_LANES / LANES], sized[PASS_LANES / LANES];
  for (int i = 0; i < PASS_LANES / LANES; i++)
    chain[i] = sized[i] = (VEC){0};
  REAL *t = state->size + r * PASS_KEYS;
  for (int64_t j = from; j < to; j += PASS_LANES)
#pragma GCC unroll 8
    for (int i = 0; i < PASS_LANES / LANES; i++) {
      REAL *at = s + j + i * LANES;
      VEC w = OP(exp)(OP(load)(at) - shift);
      OP(store)(at, w);
      chain[i] += w;
      if (pack->condition) {
        VEC wt = w * OP(load)(t + j + i * LANES);
        OP(store)(t + j + i * LANES, wt);
        sized[i] += wt;
      }
    }
  state->sum[r] += NAME(tree)(chain);
  if (pack->condition) state->c[r] += NAME(tree)(sized);
}

/* to += from over all rows. */
static void NAME(join)(REAL *to, const REAL *from, int64_t n) {
  for (int64_t i = 0; i < n; i += LANES)
    OP(store)(to + i, OP(load)(to + i) + OP(load)(from + i));
}

/* sum += weights times values, keys key .. key + PASS_KEYS - 1, of which only the chains that meet
 * [first, end) matter. */
static void NAME(gather)(REAL *sum, REAL *block, const REAL *weights, const REAL *values,
                         const softmax_pack *pack, int64_t rows, int64_t key, int64_t first,
                         int64_t end) {
  int64_t dv_pad = pack->dv_pad, started = 0;
  for (int64_t at = first / PASS_CHAIN * PASS_CHAIN; at < end; at += PASS_CHAIN, started = 1)
    for (int64_t r = 0; r < rows; r += PASS_TILE)
      NAME(tiles)
  (block + r * dv_pad, dv_pad, weights + r * PASS_KEYS + at, PASS_KEYS,
   values + (key + at) * dv_pad, dv_pad, PASS_CHAIN, started != 0, dv_pad / LANES);
  if (started) NAME(join)(sum, block, (rows + PASS_TILE - 1) / PASS_TILE * PASS_TILE * dv_pad);
}

/* Scores (or absolute scores) of all rows against the panels of one block that meet from .. to. */
static void NAME(products)(REAL *score, const REAL *query, const REAL *keys, int64_t d,
                           int64_t rows, int64_t from, int64_t to) {
  for (int64_t at = from; at < to; at += PASS_PANEL)
    for (int64_t r = 0; r < rows; r += PASS_TILE)
      NAME(tiles)
  (score + r * PASS_KEYS + at, PASS_KEYS, query + r * d, d, keys + at * d, PASS_PANEL, d, 0,
   PASS_PANEL / LANES);
}

/* Finished scores (and absolute scores) of the columns from .. to of the block that starts at
 * `key`. */
static void NAME(score_block)(NAME(softmax_state) * state, const softmax_pack *pack, int64_t row,
                              int64_t rows, int64_t key, int64_t from, int64_t to) {
  int64_t d = pack->slice.d;
  NAME(products)(state->score, state->query, (const REAL *)pack->keys + key * d, d, rows, from, to);
  if (pack->condition) NAME(products)
  (state->size, state->query_abs, (const REAL *)pack->keys_abs + key * d, d, rows, from, to);
  for (int64_t r = 0; r < rows; r++) {
    REAL *s = state->score + r * PASS_KEYS;
    REAL *t = pack->condition ? state->size + r * PASS_KEYS : NULL;
    int64_t start = state->lo[r] > key + from ? state->lo[r] - key : from;
    if (pack->has_extras) NAME(finish)(state, pack, row + r, r, key, from, to);
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

void ISA(NAME(softmax_pass))(NAME(softmax_state) * state, const softmax_pack *pack, int64_t row,
                             int64_t rows);
void ISA(NAME(softmax_pass))(NAME(softmax_state) * state, const softmax_pack *pack, int64_t row,
                             int64_t rows) {
  int64_t lo, hi;
  NAME(begin)(state, pack, row, rows);
  NAME(union_range)(&lo, &hi, state, rows);
  for (int64_t key = lo / PASS_KEYS * PASS_KEYS; key < hi; key += PASS_KEYS) {
    int64_t first = lo > key ? lo - key : 0, end = hi - key < PASS_KEYS ? hi - key : PASS_KEYS;
    int64_t from = first / PASS_PANEL * PASS_PANEL;
    int64_t to = (end + PASS_PANEL - 1) / PASS_PANEL * PASS_PANEL;
    NAME(score_block)(state, pack, row, rows, key, from, to);
    for (int64_t r = 0; r < rows; r++)
      NAME(weigh)(state, pack, r, from, to);
    NAME(gather)
    (state->out, state->chain_out, state->score, pack->values, pack, rows, key, first, end);
    if (!pack->condition) continue;
    NAME(gather)
    (state->a, state->chain_a, state->score, pack->values_abs, pack, rows, key, first, end);
    NAME(gather)
    (state->tv, state->chain_tv, state->size, pack->values, pack, rows, key, first, end);
  }
}

#undef OP2
#undef OP1
#undef OP
#undef LANES
#undef WIDTH
