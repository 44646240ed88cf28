/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "dd.h"

#include "../enclosure/dd_isa.h"

ISA_INLINE vdd vdd_set(dd_number x) {
  return (vdd){vd_set1(x.hi), vd_set1(x.lo)};
}

/* f(q).f(k) for the keys of a vector: products of elements are exact, those of features are not. */
ISA_INLINE vdd dot(const taylor_dd_row *row, int64_t j) {
  const taylor_work *work = row->work;
  int64_t d = work->slice.d, at = j / SUMS_PANEL * SUMS_PANEL * d + j % SUMS_PANEL;
  const double *hi = work->keys_dd ? work->keys_dd : work->keys;
  const double *lo = hi + work->blocks * SUMS_KEYS * d;
  vdd sum = vdd_of((vd){0});
  for (int64_t a = 0; a < d; a++, at += SUMS_PANEL) {
    vd q = vd_set1(row->q_hi[a]), k = vd_load(hi + at);
    vdd product = work->keys_dd
                      ? vdd_mul((vdd){q, vd_set1(row->q_lo[a])}, (vdd){k, vd_load(lo + at)})
                      : vdd_two_product(q, k);
    sum = vdd_add(sum, product);
  }
  return sum;
}

/* Keys across lanes. */
void ISA(taylor_dd_weights)(taylor_dd_row *row);
void ISA(taylor_dd_weights)(taylor_dd_row *row) {
  int64_t degree = row->work->kind.degree;
  vdd scale = vdd_set(row->scale);
  for (int64_t j = row->lo / SUMS_PANEL * SUMS_PANEL; j < row->hi; j += VD_LANES) {
    vdd s = vdd_mul(dot(row, j), scale);
    vdd w = degree < 0 ? s : vdd_of(vd_set1(1));
    for (int64_t m = degree; m >= 1; m--)
      w = vdd_add(vdd_mul(vdd_mul(s, vdd_set(row->inverse[m])), w), vdd_of(vd_set1(1)));
    vd_store(row->w_hi + j, w.hi);
    vd_store(row->w_lo + j, w.lo);
  }
}

/* Columns across lanes. */
void ISA(taylor_dd_sums)(taylor_dd_row *row, const double *w_hi, const double *w_lo,
                         const double *values, int64_t first, int64_t last);
void ISA(taylor_dd_sums)(taylor_dd_row *row, const double *w_hi, const double *w_lo,
                         const double *values, int64_t first, int64_t last) {
  int64_t pad = row->work->pad;
  for (int64_t c = 0; c < pad; c += VD_LANES) {
    vdd sum = {vd_load(row->n_hi + c), vd_load(row->n_lo + c)};
    for (int64_t j = first; j < last; j++) {
      dd_number w = {w_hi[j], w_lo[j]};
      if (w.hi == 0) continue;
      sum = vdd_add(sum, vdd_mul_double(vdd_set(w), vd_load(values + j * pad + c)));
    }
    vd_store(row->n_hi + c, sum.hi);
    vd_store(row->n_lo + c, sum.lo);
  }
}

void ISA(taylor_dd_elu1)(double *hi, double *lo, const double *x, int64_t n);
void ISA(taylor_dd_elu1)(double *hi, double *lo, const double *x, int64_t n) {
  for (int64_t i = 0; i < n; i += VD_LANES) {
    vd y = vd_load(x + i);
    vdi negative = y < vd_set1(0);
    vdd sum = vdd_two_sum(y, vd_set1(1));
    vdd power = vdd_exp(vdd_of(vd_select(negative, y, (vd){0})));
    vd_store(hi + i, vd_select(negative, power.hi, sum.hi));
    vd_store(lo + i, vd_select(negative, power.lo, sum.lo));
  }
}
