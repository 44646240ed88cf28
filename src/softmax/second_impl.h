/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Second passes over one row in double: see pass.h. Included by pass_isa.c after the passes. */

void ISA(softmax_row_scores)(double *score, double *size, softmax_state_f64 *state,
                             const softmax_pack *pack, int64_t row);
void ISA(softmax_row_scores)(double *score, double *size, softmax_state_f64 *state,
                             const softmax_pack *pack, int64_t row) {
  int64_t lo, hi;
  begin_f64(state, pack, row, 1, 1);
  union_range(&lo, &hi, state->lo, state->hi, 1);
  for (int64_t key = lo / PASS_KEYS * PASS_KEYS; key < hi; key += PASS_KEYS) {
    pass_part p = part_of(state->lo, state->hi, 1, key);
    score_block_f64(state, pack, row, 1, key, &p, state->size);
    memcpy(score + key + p.from, state->score + p.from, (size_t)(p.to - p.from) * sizeof *score);
    memcpy(size + key + p.from, state->size + p.from, (size_t)(p.to - p.from) * sizeof *size);
  }
}

void ISA(softmax_row_sums)(double *spread, double *total, const double *x, const double *g,
                           const double *h, const softmax_pack *pack, int64_t lo, int64_t hi);
void ISA(softmax_row_sums)(double *spread, double *total, const double *x, const double *g,
                           const double *h, const softmax_pack *pack, int64_t lo, int64_t hi) {
  const double *values = pack->values;
  int64_t dv = pack->slice.dv;
  for (int64_t c = 0; c < dv; c++)
    spread[c] = total[c] = 0;
  for (int64_t j = lo; j < hi; j++) {
    const double *v = values + j * pack->dv_pad;
    if (g[j] == 0 && h[j] == 0) continue;
    for (int64_t c = 0; c < dv; c++) {
      spread[c] += g[j] * fabs(v[c] - x[c]);
      total[c] += h[j] * fabs(v[c]);
    }
  }
}

void ISA(softmax_running_scores)(double *run, const softmax_state_f64 *state,
                                 const softmax_pack *pack, int64_t lo, int64_t hi);
void ISA(softmax_running_scores)(double *run, const softmax_state_f64 *state,
                                 const softmax_pack *pack, int64_t lo, int64_t hi) {
  const double *keys = pack->keys;
  int64_t d = pack->slice.d;
  for (int64_t j = lo / PASS_PANEL_F64 * PASS_PANEL_F64; j < hi; j += VD_LANES) {
    const double *at = keys + pass_key_at(j, d, PASS_PANEL_F64);
    vd partial = {0}, sum = {0};
    for (int64_t a = 0; a < d; a++) {
      partial =
          vd_fma(vd_set1(state->query[a * TILE_ROWS]), vd_load(at + a * PASS_PANEL_F64), partial);
      sum += vd_abs(partial);
    }
    vd_store(run + j, sum);
  }
}

void ISA(softmax_running_sums)(double *run, double *scratch, const double *p,
                               const softmax_pack *pack, int64_t lo, int64_t hi);
void ISA(softmax_running_sums)(double *run, double *scratch, const double *p,
                               const softmax_pack *pack, int64_t lo, int64_t hi) {
  int64_t dv = pack->slice.dv;
  double *chain = scratch, *block = scratch + dv, *total = scratch + 2 * dv;
  memset(scratch, 0, (size_t)(3 * dv) * sizeof *scratch);
  for (int64_t c = 0; c < dv; c++)
    run[c] = 0;
  for (int64_t j = lo; j < hi; j++) {
    const double *v = (const double *)pack->values + j * pack->dv_pad;
    for (int64_t c = 0; c < dv; c++) {
      chain[c] += p[j] * v[c];
      run[c] += p[j] == 0 ? 0 : fabs(chain[c]);
    }
    int chain_ends = (j + 1) % PASS_CHAIN == 0 || j + 1 == hi;
    int block_ends = (j + 1) % PASS_KEYS == 0 || j + 1 == hi;
    for (int64_t c = 0; chain_ends && c < dv; c++) {
      block[c] += chain[c];
      run[c] += fabs(block[c]);
      chain[c] = 0;
    }
    for (int64_t c = 0; block_ends && c < dv; c++) {
      total[c] += block[c];
      run[c] += fabs(total[c]);
      block[c] = 0;
    }
  }
}

void ISA(softmax_row_moves)(double *move, double *size, double *weight, const double *x,
                            const double *towards, const softmax_moves *moves,
                            const softmax_pack *pack, int64_t lo, int64_t hi);
void ISA(softmax_row_moves)(double *move, double *size, double *weight, const double *x,
                            const double *towards, const softmax_moves *moves,
                            const softmax_pack *pack, int64_t lo, int64_t hi) {
  int64_t dv = pack->slice.dv;
  for (int64_t c = 0; c < dv; c++)
    move[c] = size[c] = weight[c] = 0;
  for (int64_t j = lo; j < hi; j++) {
    const double *v = (const double *)pack->values + j * pack->dv_pad;
    double p = moves->p[j], grown = moves->grown[j], shrunk = moves->shrunk[j];
    if (p == 0) continue;
    for (int64_t c = 0; c < dv; c++) {
      double off = (v[c] - x[c]) * towards[c];
      double w = off > 0 ? p + grown : p - shrunk;
      move[c] += (off > 0 ? grown : shrunk) * fabs(off);
      size[c] += w * fabs(v[c]);
      weight[c] += w;
    }
  }
}
