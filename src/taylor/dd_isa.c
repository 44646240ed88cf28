/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "dd.h"

#include "../enclosure/dd_isa.h"

ISA_INLINE vdd vdd_set(taylor_dd x) {
  return (vdd){vd_set1(x.hi), vd_set1(x.lo)};
}

/* Keys across lanes; products of elements are exact. */
void ISA(taylor_dd_weights)(taylor_dd_row *row);
void ISA(taylor_dd_weights)(taylor_dd_row *row) {
  const taylor_work *work = row->work;
  int64_t d = work->slice.d, degree = work->kind.degree;
  vdd scale = vdd_set(row->scale);
  for (int64_t j = row->lo / SUMS_PANEL * SUMS_PANEL; j < row->hi; j += VD_LANES) {
    const double *at = work->keys + j / SUMS_PANEL * SUMS_PANEL * d + j % SUMS_PANEL;
    vdd s = vdd_of((vd){0});
    for (int64_t a = 0; a < d; a++)
      s = vdd_add(s, vdd_two_product(vd_set1(row->query[a]), vd_load(at + a * SUMS_PANEL)));
    s = vdd_mul(s, scale);
    vdd w = degree < 0 ? s : vdd_of(vd_set1(1));
    for (int64_t m = degree; m >= 1; m--)
      w = vdd_add(vdd_mul(vdd_mul(s, vdd_set(row->inverse[m])), w), vdd_of(vd_set1(1)));
    vd_store(row->w_hi + j, w.hi);
    vd_store(row->w_lo + j, w.lo);
  }
}

/* Columns across lanes. */
void ISA(taylor_dd_sums)(taylor_dd_row *row);
void ISA(taylor_dd_sums)(taylor_dd_row *row) {
  const double *values = row->work->values;
  int64_t pad = row->work->pad;
  for (int64_t c = 0; c < pad; c += VD_LANES) {
    vdd sum = vdd_of((vd){0});
    for (int64_t j = row->lo; j < row->hi; j++) {
      taylor_dd w = {row->w_hi[j], row->w_lo[j]};
      if (w.hi == 0) continue;
      sum = vdd_add(sum, vdd_mul_double(vdd_set(w), vd_load(values + j * pad + c)));
    }
    vd_store(row->n_hi + c, sum.hi);
    vd_store(row->n_lo + c, sum.lo);
  }
}
