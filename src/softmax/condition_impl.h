/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A, C and S of the double pass, in float: the weights of the pass are kept as floats, linear in
 * the keys, and once x is known size = |scale q| |k|, sized = w size      (with extras: w t, from
 * the pass itself) a = sum w |v|,  c = sum sized,  s = sum sized |v - x| Included by pass_isa.c
 * after both passes. */

/* Keeps the weights of one block; earlier ones follow the shift when it moves. */
static void keep_weights(softmax_condition *kept, const softmax_state_f64 *state,
                         const softmax_pack *pack, int64_t rows, int64_t key, int64_t start,
                         part_f64 p) {
  for (int64_t r = 0; r < rows; r++) {
    float *w = kept->weights + r * kept->stride, *t = kept->sized + r * kept->stride;
    for (int64_t j = start; state->moved[r] != 1 && j < key; j++) {
      w[j] *= (float)state->moved[r];
      t[j] *= (float)state->moved[r];
    }
    const double *from = state->score + r * PASS_STRIDE, *size = state->size + r * PASS_STRIDE;
    for (int64_t j = p.from; j < p.to; j++)
      w[key + j] = (float)from[j];
    for (int64_t j = p.from; pack->has_extras && j < p.to; j++)
      t[key + j] = (float)(from[j] * size[j]);
  }
}

/* s[r] += sum of sized |v - center| over `steps` keys, two rows, `width` vectors. */
ISA_INLINE void spread_tile(float *s, int64_t dv_pad, const float *sized, int64_t stride,
                            const float *values, const float *center, int64_t steps,
                            const int width) {
  vf x[2][4], sum[2][4];
#pragma GCC unroll 2
  for (int r = 0; r < 2; r++)
#pragma GCC unroll 4
    for (int v = 0; v < width; v++) {
      x[r][v] = vf_load(center + r * dv_pad + v * VF_LANES);
      sum[r][v] = (vf){0};
    }
  for (int64_t k = 0; k < steps; k++) {
    vf t0 = vf_set1(sized[k]), t1 = vf_set1(sized[stride + k]);
#pragma GCC unroll 4
    for (int v = 0; v < width; v++) {
      vf value = vf_load(values + k * dv_pad + v * VF_LANES);
      sum[0][v] = vf_fma(t0, vf_abs(value - x[0][v]), sum[0][v]);
      sum[1][v] = vf_fma(t1, vf_abs(value - x[1][v]), sum[1][v]);
    }
  }
#pragma GCC unroll 2
  for (int r = 0; r < 2; r++)
#pragma GCC unroll 4
    for (int v = 0; v < width; v++) {
      float *to = s + r * dv_pad + v * VF_LANES;
      vf_store(to, vf_load(to) + sum[r][v]);
    }
}

static void spread_tiles(float *s, int64_t dv_pad, const float *sized, int64_t stride,
                         const float *values, const float *center, int64_t steps) {
  int64_t v = 0, vectors = dv_pad / VF_LANES;
  for (; v + 2 <= vectors; v += 2)
    spread_tile(s + v * VF_LANES, dv_pad, sized, stride, values + v * VF_LANES,
                center + v * VF_LANES, steps, 2);
  if (v < vectors)
    spread_tile(s + v * VF_LANES, dv_pad, sized, stride, values + v * VF_LANES,
                center + v * VF_LANES, steps, 1);
}

/* Turns sizes into w t and returns their sum over the columns from .. to. */
static double size_weights(float *sized, const float *weights, int extras, int64_t from,
                           int64_t to) {
  vf chain[PASS_LANES / VF_LANES];
  for (int i = 0; i < PASS_LANES / VF_LANES; i++)
    chain[i] = (vf){0};
  for (int64_t j = from; j < to; j += PASS_LANES)
    for (int i = 0; i < PASS_LANES / VF_LANES; i++) {
      float *at = sized + j + i * VF_LANES;
      vf wt = extras ? vf_load(at) : vf_load(at) * vf_load(weights + j + i * VF_LANES);
      vf_store(at, wt);
      chain[i] += wt;
    }
  return (double)tree_f32(chain);
}

/* Queries and center in float. */
static void condition_begin(softmax_condition *kept, const softmax_state_f64 *state,
                            const softmax_pack *pack, int64_t rows) {
  const problem_slice *slice = &pack->slice;
  int64_t stored = PASS_ROWS * pack->dv_pad_f32;
  double sink = slice->has_sink ? slice->sink * pack->inverse_temperature : 0;
  memset(kept->a, 0, (size_t)stored * sizeof(float));
  memset(kept->s, 0, (size_t)stored * sizeof(float));
  memset(kept->center, 0, (size_t)stored * sizeof(float));
  for (int64_t i = 0; i < PASS_ROWS * slice->d; i++)
    kept->query[i] = (float)state->query_abs[i];
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t c = 0; c < slice->dv; c++)
      kept->center[r * pack->dv_pad_f32 + c] =
          (float)(state->out[r * pack->dv_pad + c] / state->sum[r] * pack->value_scale_f32);
    kept->sink[r] = slice->has_sink ? exp(sink - state->shift[r]) * fabs(sink) : 0;
    kept->c[r] = kept->sink[r];
  }
}

void ISA(softmax_pass_condition)(softmax_condition *kept, softmax_state_f64 *state,
                                 const softmax_pack *pack, int64_t row, int64_t rows);
void ISA(softmax_pass_condition)(softmax_condition *kept, softmax_state_f64 *state,
                                 const softmax_pack *pack, int64_t row, int64_t rows) {
  int64_t lo, hi, d = pack->slice.d, dv_pad = pack->dv_pad_f32, stride = kept->stride;
  begin_f64(state, pack, row, rows);
  union_range_f64(&lo, &hi, state, rows);
  int64_t start = lo / PASS_KEYS * PASS_KEYS;
  for (int64_t key = start; key < hi; key += PASS_KEYS) {
    part_f64 p = part_of_f64(lo, hi, key);
    score_block_f64(state, pack, row, rows, key, p.from, p.to,
                    pack->has_extras ? state->size : NULL);
    for (int64_t r = 0; r < rows; r++)
      weigh_f64(state, pack, r, p.from, p.to);
    gather_f64(state->out, state->chain, state->score, PASS_STRIDE,
               (const double *)pack->values + key * pack->dv_pad, pack->dv_pad, rows, p.first,
               p.end, 0);
    keep_weights(kept, state, pack, rows, key, start, p);
  }
  condition_begin(kept, state, pack, rows);
  for (int64_t key = start; key < hi; key += PASS_KEYS) {
    part_f64 p = part_of_f64(lo, hi, key);
    const float *values = pack->values_f32 + key * dv_pad;
    if (!pack->has_extras)
      products_f32(kept->sized + key, stride, kept->query, pack->keys_f32 + key * d, d, rows,
                   p.from, p.to, 1);
    for (int64_t r = 0; r < rows; r++)
      kept->c[r] += size_weights(kept->sized + r * stride + key, kept->weights + r * stride + key,
                                 pack->has_extras, p.from, p.to);
    gather_f32(kept->a, kept->chain, kept->weights + key, stride, values, dv_pad, rows, p.first,
               p.end, 1);
    memset(kept->chain, 0, (size_t)(PASS_ROWS * dv_pad) * sizeof(float));
    for (int64_t at = p.first / PASS_CHAIN * PASS_CHAIN; at < p.end; at += PASS_CHAIN)
      for (int64_t r = 0; r < rows; r += 2)
        spread_tiles(kept->chain + r * dv_pad, dv_pad, kept->sized + r * stride + key + at, stride,
                     values + at * dv_pad, kept->center + r * dv_pad, PASS_CHAIN);
    join_f32(kept->s, kept->chain, PASS_ROWS * dv_pad);
  }
}
