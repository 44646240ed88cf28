/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double-double tier: for float64 outputs, whose errors the double tier cannot see.
 *
 * Derivation, in the steps of enclose.c. e = DD_ERROR = 2^-103 bounds the relative error of every
 * double-double operation (dd_isa.h); elements and their products are exact.
 * 1. Scores: d additions of what is below t together, the scale (known to 2^-105) and its product:
 *    |s^ - s| <= (d + 2) e t.
 * 2. Weights: that times p'(|s|), and four operations a level (1/m is known to 2^-105):
 *    (4 P + 1) e p(|s|) more. Linear: w = s.
 * 3. Sums: a product and at most `keys` additions: (keys + 2) e |w|. With g and E of enclose.c
 *      |N^ - N| <= 1.01 (max(d + 2, 4 P + 1) + keys + 2) e E + tail.
 *    W = N_dv + eps: eps is known to 2^-105 and one addition: 2 e (|W| + eps).
 * 4. The quotient takes two Newton corrections: 4 e |x|.
 * E comes from the double pass of the row. tail is what underflows, (keys + 4) (d + 8) 2^-1000
 * (1 + |scale|)(1 + p(max t))(1 + max t)(1 + max |u|). Left to the ball tier: the feature elu1, a
 * decay, an initial state; values beyond 2^900 and scales beyond 2^(+-900).
 *
 * The final state: P - 1 products and as many additions as keys: (P + keys + 2) e sum |f(k) u|. */
#include <stdlib.h>
#include <string.h>

#include "../enclosure/flint.h"
#include "dd.h"
#include "terms.h"

#define DD_ERROR 0x1p-103

ISA_DECLARE(void, taylor_dd_weights, (taylor_dd_row * row));
ISA_DECLARE(void, taylor_dd_sums, (taylor_dd_row * row));
void taylor_dd_weights(taylor_dd_row *row) {
  ISA_DISPATCH(taylor_dd_weights)(row);
}
void taylor_dd_sums(taylor_dd_row *row) {
  ISA_DISPATCH(taylor_dd_sums)(row);
}

/* ---- scalar double-double -------------------------------------------------------------------- */

static taylor_dd two_sum(double a, double b) {
  double s = a + b, a1 = s - b, b1 = s - a1;
  return (taylor_dd){s, (a - a1) + (b - b1)};
}

static taylor_dd dd_add(taylor_dd a, taylor_dd b) {
  taylor_dd s = two_sum(a.hi, b.hi), t = two_sum(a.lo, b.lo);
  taylor_dd v = two_sum(s.hi, s.lo + t.hi);
  return two_sum(v.hi, t.lo + v.lo);
}

static taylor_dd dd_mul(taylor_dd a, taylor_dd b) {
  double p = a.hi * b.hi, low = fma(a.hi, b.hi, -p);
  return two_sum(p, low + (a.hi * b.lo + a.lo * b.hi));
}

static taylor_dd dd_div(taylor_dd a, taylor_dd b) {
  taylor_dd q = {a.hi / b.hi, 0};
  for (int i = 0; i < 2; i++) {
    taylor_dd product = dd_mul(q, b);
    taylor_dd rest = dd_add(a, (taylor_dd){-product.hi, -product.lo});
    q = dd_add(q, (taylor_dd){rest.hi / b.hi, 0});
  }
  return q;
}

/* The middle of a ball of at least 200 bits, within 2^-105 relative. */
static taylor_dd dd_of_ball(const arb_t ball) {
  taylor_dd x;
  arf_t high;
  arf_init(high);
  x.hi = arf_get_d(arb_midref(ball), ARF_RND_NEAR);
  arf_set_d(high, x.hi);
  arf_sub(high, arb_midref(ball), high, ARF_PREC_EXACT, ARF_RND_DOWN);
  x.lo = arf_get_d(high, ARF_RND_NEAR);
  arf_clear(high);
  return x;
}

static taylor_dd dd_of_real(const problem_real *real) {
  arb_t ball;
  arb_init(ball);
  arb_set_fmpq(ball, real->value, 200);
  if (real->root) arb_sqrt(ball, ball, 200);
  taylor_dd x = dd_of_ball(ball);
  arb_clear(ball);
  if (real->sign < 0) x = (taylor_dd){-x.hi, -x.lo};
  return real->sign == 0 ? (taylor_dd){0, 0} : x;
}

/* ---- out ------------------------------------------------------------------------------------- */

static void forget(double *x_hi, double *x_lo, double *radius, int64_t c) {
  x_hi[c] = x_lo[c] = 0;
  radius[c] = INFINITY;
}

static int row_open(taylor_dd_row *row, const taylor_work *work, int64_t index,
                    const double *query) {
  int64_t keys = work->blocks * SUMS_KEYS, degree = work->kind.degree > 0 ? work->kind.degree : 0;
  memset(row, 0, sizeof *row);
  row->work = work;
  row->row = index;
  row->query = query;
  problem_visible_range(&row->lo, &row->hi, work->problem, &work->slice, index);
  row->w_hi = calloc((size_t)(2 * keys + 2 * work->pad + 2 * degree + 2), sizeof(double));
  if (!row->w_hi) return 0;
  row->w_lo = row->w_hi + keys;
  row->n_hi = row->w_lo + keys;
  row->n_lo = row->n_hi + work->pad;
  row->inverse = (taylor_dd *)(row->n_lo + work->pad);
  row->scale = dd_of_real(&work->problem->values.scale);
  arb_t ball;
  arb_init(ball);
  for (int64_t m = 1; m <= degree; m++) {
    arb_set_ui(ball, 1);
    arb_div_ui(ball, ball, (ulong)m, 200);
    row->inverse[m] = dd_of_ball(ball);
  }
  arb_clear(ball);
  return 1;
}

static void hide(taylor_dd_row *row) {
  const taylor_work *work = row->work;
  for (int64_t j = row->lo; j < row->hi; j++)
    if (!problem_visible(work->problem, &work->slice, row->row, j)) row->w_hi[j] = row->w_lo[j] = 0;
}

/* What the sum of a column is off by. */
static double column_error(const taylor_row_view *v, int64_t c) {
  const taylor_work *work = v->work;
  double d = (double)work->slice.d, degree = work->kind.degree > 0 ? (double)work->kind.degree : 0;
  double largest = work->value_max[c], keys = v->error.keys;
  double tail = (keys + 4) * (d + 8) * 0x1p-1000 * (1 + fabs(work->scale)) * v->error.slope_max *
                (1 + largest);
  if (largest > 0x1p900) return INFINITY;
  return 1.01 * (fmax(d + 2, 4 * degree + 1) + keys + 2) * DD_ERROR * v->e[c] * (1 + 0x1p-20) +
         tail;
}

static void finish_row(double *x_hi, double *x_lo, double *radius, const taylor_dd_row *row,
                       const taylor_row_view *v) {
  const taylor_work *work = row->work;
  int64_t dv = work->slice.dv;
  taylor_dd w = {1, 0}, eps = dd_of_real(&work->problem->values.eps);
  double w_error = 0;
  if (work->kind.has_normalizer) {
    w = dd_add((taylor_dd){row->n_hi[dv], row->n_lo[dv]}, eps);
    w_error = column_error(v, dv) + 2 * DD_ERROR * (fabs(w.hi) + fabs(eps.hi)) * 1.01;
  }
  double least = (fabs(w.hi) - w_error) * (1 - 0x1p-40);
  for (int64_t c = 0; c < dv; c++) {
    taylor_dd n = {row->n_hi[c], row->n_lo[c]}, x = work->kind.has_normalizer ? dd_div(n, w) : n;
    double size = fabs(x.hi);
    x_hi[c] = x.hi;
    x_lo[c] = x.lo;
    radius[c] = column_error(v, c);
    if (work->kind.has_normalizer)
      radius[c] =
          1.01 * (radius[c] + size * w_error) / least + 4 * DD_ERROR * 1.01 * size + 0x1p-1000;
    if (!(least > 0) || !isfinite(x.hi + x.lo + radius[c])) forget(x_hi, x_lo, radius, c);
  }
}

static int is_served(const taylor_work *work) {
  const problem_real *eps = &work->problem->values.eps;
  double unused, value = problem_real_double(&unused, eps);
  return work->kind.feature != FEATURE_ELU1 && !work->power && !work->state_rows &&
         !work->unusable && (eps->sign == 0 || (value >= 0x1p-800 && value <= 0x1p800));
}

static void out_row(double *x_hi, double *x_lo, double *radius, const taylor_work *work,
                    int64_t row) {
  taylor_sums sums;
  taylor_dd_row dd;
  attest_error error;
  if (!is_served(work) || taylor_sums_open(&sums, work, 0, &error)) return;
  taylor_sums_rows(&sums, work, row, 1);
  taylor_row_view v = taylor_view_row(work, &sums, 0);
  if (v.usable && row_open(&dd, work, row, sums.query)) {
    taylor_dd_weights(&dd);
    hide(&dd);
    taylor_dd_sums(&dd);
    finish_row(x_hi, x_lo, radius, &dd, &v);
    free(dd.w_hi);
  }
  taylor_sums_close(&sums);
}

/* ---- the final state ------------------------------------------------------------------------- */

/* Feature `row` of key j as a double-double. */
static taylor_dd key_feature(const taylor_work *work, const int64_t tuple[], int64_t order,
                             int64_t row, int64_t j) {
  const double *at = work->keys + j / SUMS_PANEL * SUMS_PANEL * work->slice.d + j % SUMS_PANEL;
  if (work->kind.degree < 0) return (taylor_dd){at[row * SUMS_PANEL], 0};
  taylor_dd f = {1, 0};
  for (int64_t i = 0; i < order; i++)
    f = dd_mul(f, (taylor_dd){at[tuple[i] * SUMS_PANEL], 0});
  return f;
}

static void state_row(double *x_hi, double *x_lo, double *radius, const taylor_work *work,
                      int64_t row) {
  int64_t width = work->problem->state_width, keys = work->slice.nk, tuple[1024], order = 0;
  taylor_basis *basis = NULL;
  taylor_dd_row dd;
  if (!is_served(work) || work->has_nonfinite || !(work->feature_max <= 0x1p500)) return;
  if (work->kind.degree >= 0 && taylor_basis_open(&basis, work->slice.d, work->kind.degree, NULL))
    return;
  if (basis) order = taylor_basis_tuple(tuple, basis, row);
  taylor_basis_close(basis);
  double *size = calloc((size_t)work->columns, sizeof *size);
  if (size && row_open(&dd, work, 0, NULL)) {
    dd.lo = 0;
    dd.hi = keys;
    for (int64_t j = 0; j < keys; j++) {
      taylor_dd f = key_feature(work, tuple, order, row, j);
      dd.w_hi[j] = f.hi;
      dd.w_lo[j] = f.lo;
      for (int64_t c = 0; c < work->columns; c++)
        size[c] += fabs(f.hi * work->values[j * work->pad + c]);
    }
    taylor_dd_sums(&dd);
    for (int64_t c = 0; c < width; c++) {
      x_hi[c] = dd.n_hi[c];
      x_lo[c] = dd.n_lo[c];
      radius[c] =
          1.01 * ((double)order + (double)keys + 2) * DD_ERROR * size[c] * (1 + 0x1p-20) +
          ((double)keys + 4) * 0x1p-1000 * (1 + work->feature_max) * (1 + work->value_max[c]);
      if (!isfinite(x_hi[c] + x_lo[c] + radius[c]) || work->value_max[c] > 0x1p500)
        forget(x_hi, x_lo, radius, c);
    }
    free(dd.w_hi);
  }
  free(size);
}

void taylor_enclose_dd(double *x_hi, double *x_lo, double *radius, const void *opened, int64_t row,
                       int output) {
  const taylor_work *work = opened;
  int64_t width = problem_output_width(work->problem, output);
  for (int64_t c = 0; c < width; c++)
    forget(x_hi, x_lo, radius, c);
  if (output == OUTPUT_FINAL_STATE)
    state_row(x_hi, x_lo, radius, work, row);
  else
    out_row(x_hi, x_lo, radius, work, row);
}
