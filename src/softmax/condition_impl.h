/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A, C and E of the double pass, in float, in the same pass over the keys: w and w t are rounded to
 * float, size = |scale q| |k| (with extras: t, from the pass itself),
 *   a = sum w |v|,  c = sum w t,  e = sum w t |v - center|.
 * Included by pass_isa.c after both passes. */

/* Sums of row r follow the shift. */
static void move_condition(softmax_condition *kept, int64_t r, int64_t dv_pad, double factor) {
  vf f = vf_set1((float)factor);
  kept->c[r] *= (float)factor;
  for (int64_t c = r * dv_pad; c < (r + 1) * dv_pad; c += VF_LANES) {
    vf_store(kept->a + c, vf_load(kept->a + c) * f);
    vf_store(kept->e + c, vf_load(kept->e + c) * f);
  }
}

/* Weights of one row as floats, and sized weights in the place of its sizes. */
static void size_weights(softmax_condition *kept, const softmax_state_f64 *state, int64_t r,
                         int64_t from, int64_t to, int extras) {
  const double *w = state->score + r * PASS_STRIDE, *t = state->size + r * PASS_STRIDE;
  float *weight = kept->weight + r * PASS_STRIDE, *size = kept->size + r * PASS_STRIDE;
  vf chain[PASS_LANES / VF_LANES];
  for (int i = 0; i < PASS_LANES / VF_LANES; i++)
    chain[i] = (vf){0};
  for (int64_t j = from; j < to; j++)
    weight[j] = (float)w[j];
  for (int64_t j = from; extras && j < to; j++)
    size[j] = (float)(w[j] * t[j]);
  for (int64_t j = from; j < to; j += PASS_LANES)
    for (int i = 0; i < PASS_LANES / VF_LANES; i++) {
      float *at = size + j + i * VF_LANES;
      vf sized = extras ? vf_load(at) : vf_load(at) * vf_load(weight + j + i * VF_LANES);
      vf_store(at, sized);
      chain[i] += sized;
    }
  kept->c[r] += tree_f32(chain);
}

static void condition_begin(softmax_condition *kept, const softmax_state_f64 *state,
                            const softmax_pack *pack) {
  size_t stored = (size_t)(PASS_ROWS * pack->dv_pad_f32);
  memset(kept->a, 0, stored * sizeof(float));
  memset(kept->e, 0, stored * sizeof(float));
  memset(kept->c, 0, sizeof kept->c);
  for (int64_t i = 0; i < PASS_ROWS * pack->slice.d; i++)
    kept->query[i] = (float)state->query_abs[i];
}

/* What one block of keys, weighed, adds. */
static void condition_block(softmax_condition *kept, const softmax_state_f64 *state,
                            const softmax_pack *pack, int64_t key, const pass_part *p,
                            int64_t rows) {
  int64_t d = pack->slice.d, dv_pad = pack->dv_pad_f32;
  if (!pack->has_extras)
    products_f32(kept->size, kept->query, pack->keys_f32 + key * d, d, p, rows);
  for (int64_t r = 0; r < rows; r++) {
    if (state->moved[r] != 1) move_condition(kept, r, dv_pad, state->moved[r]);
    size_weights(kept, state, r, p->tile_from[r / TILE_ROWS], p->tile_to[r / TILE_ROWS],
                 pack->has_extras);
  }
  gather_f32(kept->a, kept->chain, kept->weight, pack->values_f32 + key * dv_pad, dv_pad, p, rows);
  gather_f32(kept->e, kept->chain, kept->size, pack->spreads_f32 + key * dv_pad, dv_pad, p, rows);
}

/* The exponential of the pass, of which a theorem knows the error: the library's may be another. */
static double weigh_sink(double y) {
  double lane[VD_LANES];
  vd_store(lane, vd_exp(vd_set1(y)));
  return lane[0];
}

void ISA(softmax_pass_condition)(softmax_condition *kept, softmax_state_f64 *state,
                                 const softmax_pack *pack, int64_t row, int64_t rows);
void ISA(softmax_pass_condition)(softmax_condition *kept, softmax_state_f64 *state,
                                 const softmax_pack *pack, int64_t row, int64_t rows) {
  const problem_slice *slice = &pack->slice;
  double sink = slice->has_sink ? slice->sink * pack->inverse_temperature : 0;
  int64_t lo, hi;
  begin_f64(state, pack, row, rows, 1);
  condition_begin(kept, state, pack);
  union_range(&lo, &hi, state->lo, state->hi, rows);
  for (int64_t key = lo / PASS_KEYS * PASS_KEYS; key < hi; key += PASS_KEYS) {
    pass_part p = part_of(state->lo, state->hi, rows, key);
    score_block_f64(state, pack, row, rows, key, &p, pack->has_extras ? state->size : NULL);
    weigh_block_f64(state, pack, &p, rows);
    gather_block_f64(state, pack, key, &p, rows);
    condition_block(kept, state, pack, key, &p, rows);
  }
  for (int64_t r = 0; r < rows; r++)
    kept->sink[r] = slice->has_sink ? weigh_sink(sink - state->shift[r]) * fabs(sink) : 0;
}
