/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "dd.h"

#include "../enclosure/dd_isa.h"

ISA_INLINE vdd vdd_set(dd_number x) {
  return (vdd){vd_set1(x.hi), vd_set1(x.lo)};
}

/* Keys across lanes; products are exact, each addition is off by DD_ERROR of the partial sum. Low
 * parts of rotated vectors are multiplied in double. */
void ISA(softmax_dd_scores)(softmax_dd_row *row);
void ISA(softmax_dd_scores)(softmax_dd_row *row) {
  const softmax_pack *pack = row->pack;
  const double *keys = pack->keys;
  int64_t d = pack->slice.d;
  vdd scale = vdd_set(row->scale);
  for (int64_t j = row->lo / PASS_PANEL_F64 * PASS_PANEL_F64; j < row->hi; j += VD_LANES) {
    const double *at = keys + pass_key_at(j, d, PASS_PANEL_F64);
    vdd sum = vdd_of((vd){0});
    for (int64_t a = 0; a < d; a++) {
      vd q = vd_set1(row->query[a]), k = vd_load(at + a * PASS_PANEL_F64);
      vdd product = vdd_two_product(q, k);
      if (row->query_low) {
        vd low = q * vd_load(pack->key_low + (at - keys) + a * PASS_PANEL_F64);
        low = vd_fma(vd_set1(row->query_low[a]), k, low);
        product = vdd_two_sum(product.hi, product.lo + low);
      }
      sum = vdd_add(sum, product);
    }
    sum = vdd_mul(sum, scale);
    vd_store(row->score_hi + j, sum.hi);
    vd_store(row->score_lo + j, sum.lo);
  }
}

/* Turns scores into weights; lanes outside [lo, hi) and hidden keys get 0. */
static vdd weigh(softmax_dd_row *row) {
  vdd sum = vdd_of((vd){0});
  for (int64_t j = row->lo / VD_LANES * VD_LANES; j < row->hi; j += VD_LANES) {
    vdd s = {vd_load(row->score_hi + j), vd_load(row->score_lo + j)};
    vdi shown = s.hi > vd_set1(-INFINITY);
    s.hi = vd_select(shown, s.hi, vd_set1(-INFINITY));
    vdd w = vdd_exp(vdd_add(s, vdd_of(vd_set1(-row->shift))));
    w.hi = (vd)((vdi)w.hi & shown);
    w.lo = (vd)((vdi)w.lo & shown);
    vd_store(row->score_hi + j, w.hi);
    vd_store(row->score_lo + j, w.lo);
    sum = vdd_add(sum, w);
  }
  return sum;
}

static dd_number total(vdd sum) {
  vdd all = vdd_of((vd){0});
  for (int i = 0; i < VD_LANES; i++)
    all = vdd_add(all, (vdd){vd_set1(sum.hi[i]), vd_set1(sum.lo[i])});
  return (dd_number){all.hi[0], all.lo[0]};
}

void ISA(softmax_dd_sums)(softmax_dd_row *row);
void ISA(softmax_dd_sums)(softmax_dd_row *row) {
  const double *values = row->pack->values;
  int64_t dv_pad = row->pack->dv_pad;
  row->sum = total(weigh(row));
  for (int64_t c = 0; c < dv_pad; c += VD_LANES) {
    vdd sum = vdd_of((vd){0});
    vd size = {0};
    for (int64_t j = row->lo; j < row->hi; j++) {
      dd_number w = {row->score_hi[j], row->score_lo[j]};
      if (w.hi == 0) continue;
      vd v = vd_load(values + j * dv_pad + c);
      sum = vdd_add(sum, vdd_mul_double(vdd_set(w), v));
      size = vd_fma(vd_set1(w.hi), vd_abs(v), size);
    }
    vd_store(row->out_hi + c, sum.hi);
    vd_store(row->out_lo + c, sum.lo);
    vd_store(row->size + c, size);
  }
}

dd_number ISA(softmax_dd_exp)(dd_number x);
dd_number ISA(softmax_dd_exp)(dd_number x) {
  vdd y = vdd_exp(vdd_set(x));
  return (dd_number){y.hi[0], y.lo[0]};
}
