/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The pass of pass.h, for float and for double, on one instruction set. */
#include "../enclosure/exp_isa.h"
#include "pass.h"

#define REAL float
#define VEC vf
#define NAME(x) x##_f32
#define LOAD tensor_load_float
#include "pass_impl.h"
#undef REAL
#undef VEC
#undef NAME
#undef LOAD

#define REAL double
#define VEC vd
#define NAME(x) x##_f64
#define LOAD tensor_load
#include "pass_impl.h"

/* ---- second passes over one row: see pass.h
 * ------------------------------------------------------ */

void ISA(softmax_row_scores)(double *score, double *size, softmax_state_f64 *state,
                             const softmax_pack *pack, int64_t row);
void ISA(softmax_row_scores)(double *score, double *size, softmax_state_f64 *state,
                             const softmax_pack *pack, int64_t row) {
  begin_f64(state, pack, row, 1);
  for (int64_t key = state->lo[0] / PASS_KEYS * PASS_KEYS; key < state->hi[0]; key += PASS_KEYS) {
    score_block_f64(state, pack, row, 1, key, 0, PASS_KEYS);
    memcpy(score + key, state->score, PASS_KEYS * sizeof *score);
    memcpy(size + key, state->size, PASS_KEYS * sizeof *size);
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
