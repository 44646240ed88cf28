/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double-double tier: for float64 outputs, whose errors the double tier cannot see.
 *
 * Derivation, in the steps of enclose.c. e = DD_ERROR = 2^-103 bounds the relative error of every
 * double-double operation (dd_isa.h); elements and their products are exact. Parameters (scale,
 * 1/m, eps, powers of the decay, factors of the query features) are known to 2^-105.
 * 1. Scores: features of elu1 are off by 2^-97 = 64 e each and their product rounds, F = 130 units
 * a product (else F = 0); d additions of what is below t together, the product with the scale: |s^
 * - s| <= (d + F + 2) e t.
 * 2. Weights: that times p'(|s|), and four operations a level: (4 P + 1) e p(|s|) more. Linear: w =
 *    s. A decay costs 2 e p(|s|), and powers below 2^-900 are left out: keys 2^-899 max p max |u|.
 *    A feature of the initial state takes P products, its factor and the decay: (P + F + 5) e
 * |psi|.
 * 3. Sums: a product and at most `terms` additions: (terms + 2) e |w|. With g and E of enclose.c
 *      |N^ - N| <= 1.01 (max(d + F + 2, 4 P + 3, P + F + 5) + 2 + terms + 2) e E + tail.
 *    W = N_dv + eps: eps and one addition: 2 e (|W| + eps).
 * 4. The quotient takes two Newton corrections: 4 e |x|.
 * E comes from the double pass of the row. tail is what underflows, (terms + 4) (d + 8) 2^-1000
 * (1 + |scale|)(1 + p(max t))(1 + max t)(1 + max |u|), and what enclose.c counts of states and
 * powers. Left to the ball tier: values beyond 2^900, scales beyond 2^(+-900), elu1 below e^-600.
 *
 * The final state: P - 1 products (F for elu1), 2 for the decay, as many additions as keys and the
 * initial state: (P + F + keys + 6) e sum |f(k) u|. */
#include <stdlib.h>
#include <string.h>

#include "../enclosure/flint.h"
#include "dd.h"
#include "terms.h"

ISA_DECLARE(void, taylor_dd_weights, (taylor_dd_row * row));
ISA_DECLARE(void, taylor_dd_sums,
            (taylor_dd_row * row, const double *w_hi, const double *w_lo, const double *values,
             int64_t first, int64_t last));
ISA_DECLARE(void, taylor_dd_elu1, (double *hi, double *lo, const double *x, int64_t n));
void taylor_dd_weights(taylor_dd_row *row) {
  ISA_DISPATCH(taylor_dd_weights)(row);
}
void taylor_dd_sums(taylor_dd_row *row, const double *w_hi, const double *w_lo,
                    const double *values, int64_t first, int64_t last) {
  ISA_DISPATCH(taylor_dd_sums)(row, w_hi, w_lo, values, first, last);
}
void taylor_dd_elu1(double *hi, double *lo, const double *x, int64_t n) {
  ISA_DISPATCH(taylor_dd_elu1)(hi, lo, x, n);
}

static dd_number dd_of_real(const problem_real *real) {
  arb_t ball;
  arb_init(ball);
  arb_set_fmpq(ball, real->value, 200);
  if (real->root) arb_sqrt(ball, ball, 200);
  dd_number x = dd_of_ball(ball);
  arb_clear(ball);
  if (real->sign < 0) x = (dd_number){-x.hi, -x.lo};
  return real->sign == 0 ? (dd_number){0, 0} : x;
}

/* ---- out ------------------------------------------------------------------------------------- */

static void forget(double *x_hi, double *x_lo, double *radius, int64_t c) {
  x_hi[c] = x_lo[c] = 0;
  radius[c] = INFINITY;
}

/* f(q) of a row, unless index is -1. */
static int load_query(taylor_dd_row *row, int64_t index) {
  const taylor_work *work = row->work;
  const attest_tensor *q = &work->slice.q;
  int64_t d = work->slice.d, pad = (d + 7) / 8 * 8;
  if (index < 0) return 1;
  for (int64_t a = 0; a < d; a++) {
    double x = taylor_element(q, index, a);
    if (work->kind.feature == FEATURE_ELU1 && !(x >= TAYLOR_DD_LEAST)) return 0;
    row->q_hi[a] = work->kind.feature == FEATURE_RELU && x < 0 ? 0 : x;
  }
  if (work->kind.feature == FEATURE_ELU1) taylor_dd_elu1(row->q_hi, row->q_lo, row->q_hi, pad);
  return 1;
}

/* 0: out of memory, or the query is not served. */
static int row_open(taylor_dd_row *row, const taylor_work *work, int64_t index) {
  int64_t keys = work->blocks * SUMS_KEYS, degree = work->kind.degree > 0 ? work->kind.degree : 0;
  int64_t query = (work->slice.d + 7) / 8 * 8;
  memset(row, 0, sizeof *row);
  row->work = work;
  row->row = index;
  if (index >= 0) problem_visible_range(&row->lo, &row->hi, work->problem, &work->slice, index);
  row->w_hi =
      calloc((size_t)(2 * keys + 2 * work->pad + 2 * query + 2 * degree + 2), sizeof(double));
  if (!row->w_hi) return 0;
  row->w_lo = row->w_hi + keys;
  row->n_hi = row->w_lo + keys;
  row->n_lo = row->n_hi + work->pad;
  row->q_hi = row->n_lo + work->pad;
  row->q_lo = row->q_hi + query;
  row->inverse = (dd_number *)(row->q_lo + query);
  row->scale = dd_of_real(&work->problem->values.scale);
  arb_t ball;
  arb_init(ball);
  for (int64_t m = 1; m <= degree; m++) {
    arb_set_ui(ball, 1);
    arb_div_ui(ball, ball, (ulong)m, 200);
    row->inverse[m] = dd_of_ball(ball);
  }
  arb_clear(ball);
  if (load_query(row, index)) return 1;
  free(row->w_hi);
  return 0;
}

static dd_number power_of(const taylor_work *work, int64_t steps) {
  return (dd_number){work->power[steps], work->power_lo[steps]};
}

/* Visibility and decay. */
static void finish_weights(taylor_dd_row *row) {
  const taylor_work *work = row->work;
  for (int64_t j = row->lo; j < row->hi; j++) {
    dd_number w = {row->w_hi[j], row->w_lo[j]};
    if (!problem_visible(work->problem, &work->slice, row->row, j))
      w = (dd_number){0, 0};
    else if (work->power)
      w = dd_mul(w, power_of(work, taylor_steps(&work->slice, row->row, j)));
    row->w_hi[j] = w.hi;
    row->w_lo[j] = w.lo;
  }
}

/* Adds the read of the initial state: 0 when out of memory. */
static int add_state(taylor_dd_row *row) {
  const taylor_work *work = row->work;
  const taylor_basis *basis = work->basis;
  int64_t rows = work->state_rows;
  if (!rows) return 1;
  double *hi = calloc((size_t)(2 * rows), sizeof *hi), *lo = hi + rows;
  if (!hi) return 0;
  for (int64_t b = 0; b < rows; b++) {
    dd_number psi = {1, 0};
    int64_t a = basis ? basis->coordinate[b] : b;
    if (a >= 0) psi = (dd_number){row->q_hi[a], row->q_lo[a]};
    if (basis && b > 0) psi = dd_mul(psi, (dd_number){hi[basis->parent[b]], lo[basis->parent[b]]});
    hi[b] = psi.hi;
    lo[b] = psi.lo;
  }
  for (int64_t b = 0; b < rows; b++) {
    dd_number psi =
        dd_mul((dd_number){hi[b], lo[b]}, (dd_number){work->factor[b], work->factor_lo[b]});
    if (work->power)
      psi = dd_mul(psi, power_of(work, taylor_initial_steps(&work->slice, row->row)));
    hi[b] = psi.hi;
    lo[b] = psi.lo;
  }
  taylor_dd_sums(row, hi, lo, work->state_values, 0, rows);
  free(hi);
  return 1;
}

static double feature_units(const taylor_work *work) {
  return work->kind.feature == FEATURE_ELU1 ? 130 : 0;
}

/* What the sum of a column is off by. */
static double column_error(const taylor_row_view *v, int64_t c) {
  const taylor_work *work = v->work;
  double d = (double)work->slice.d, degree = work->kind.degree > 0 ? (double)work->kind.degree : 1;
  double largest = work->value_max[c], terms = v->error.keys + (double)work->state_rows;
  double start = work->state_rows ? work->state_max[c] : 0;
  double f = feature_units(work), score = d + f + 2, state = degree + f + 5;
  double units = fmax(fmax(score, 4 * degree + 3), state) + 2 + terms + 2;
  double tail = (terms + 4) * (d + 8) * 0x1p-1000 * (1 + fabs(work->scale)) * v->error.slope_max *
                (1 + largest + start);
  if (largest > 0x1p900 || start > 0x1p900) return INFINITY;
  return 1.01 * units * DD_ERROR * v->e[c] * (1 + 0x1p-20) + tail + taylor_tail(work, &v->error, c);
}

static void finish_row(double *x_hi, double *x_lo, double *radius, const taylor_dd_row *row,
                       const taylor_row_view *v) {
  const taylor_work *work = row->work;
  int64_t dv = work->slice.dv;
  dd_number w = {1, 0}, eps = dd_of_real(&work->problem->values.eps);
  double w_error = 0;
  if (work->kind.has_normalizer) {
    w = dd_add((dd_number){row->n_hi[dv], row->n_lo[dv]}, eps);
    w_error = column_error(v, dv) + 2 * DD_ERROR * (fabs(w.hi) + fabs(eps.hi)) * 1.01;
  }
  double least = (fabs(w.hi) - w_error) * (1 - 0x1p-40);
  for (int64_t c = 0; c < dv; c++) {
    dd_number n = {row->n_hi[c], row->n_lo[c]}, x = work->kind.has_normalizer ? dd_div(n, w) : n;
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
  return !work->is_deep && !work->unusable &&
         (eps->sign == 0 || (value >= 0x1p-800 && value <= 0x1p800));
}

static void out_row(double *x_hi, double *x_lo, double *radius, const taylor_work *work,
                    int64_t row) {
  taylor_sums sums;
  taylor_dd_row dd;
  attest_error error;
  if (!is_served(work) || taylor_sums_open(&sums, work, 0, &error)) return;
  taylor_sums_rows(&sums, work, row, 1);
  taylor_row_view v = taylor_view_row(work, &sums, 0);
  if (v.usable && row_open(&dd, work, row)) {
    taylor_dd_weights(&dd);
    finish_weights(&dd);
    taylor_dd_sums(&dd, dd.w_hi, dd.w_lo, work->values, dd.lo, dd.hi);
    if (add_state(&dd)) finish_row(x_hi, x_lo, radius, &dd, &v);
    free(dd.w_hi);
  }
  taylor_sums_close(&sums);
}

/* ---- the final state ------------------------------------------------------------------------- */

/* Feature `row` of key j as a double-double, decay included. */
static dd_number key_feature(const taylor_work *work, const int64_t tuple[], int64_t order,
                             int64_t row, int64_t j) {
  int64_t d = work->slice.d, at = j / SUMS_PANEL * SUMS_PANEL * d + j % SUMS_PANEL;
  const double *hi = work->keys_dd ? work->keys_dd : work->keys;
  dd_number f = {1, 0};
  if (work->kind.degree < 0) {
    int64_t i = at + row * SUMS_PANEL;
    f = (dd_number){hi[i], work->keys_dd ? hi[i + work->blocks * SUMS_KEYS * d] : 0};
  }
  for (int64_t i = 0; i < order; i++)
    f = dd_mul(f, (dd_number){hi[at + tuple[i] * SUMS_PANEL], 0});
  return work->power ? dd_mul(f, power_of(work, work->slice.nk - 1 - j)) : f;
}

/* Adds decay^n S0 and its size. */
static void add_initial(taylor_dd_row *dd, double *size, int64_t row) {
  const taylor_work *work = dd->work;
  for (int64_t c = 0; work->state_rows && c < work->problem->state_width; c++) {
    dd_number start = {work->state_values[row * work->pad + c], 0};
    if (work->power) start = dd_mul(start, power_of(work, work->slice.nk));
    dd_number sum = dd_add((dd_number){dd->n_hi[c], dd->n_lo[c]}, start);
    dd->n_hi[c] = sum.hi;
    dd->n_lo[c] = sum.lo;
    size[c] += fabs(start.hi);
  }
}

/* What element c of the row is off by. */
static double state_error(const taylor_work *work, int64_t order, double size, int64_t c) {
  double keys = (double)work->slice.nk, start = work->state_rows ? work->state_max[c] : 0;
  double tail = (keys + 4) * 0x1p-1000 * (1 + work->feature_max) * (1 + work->value_max[c]);
  if (work->power) /* those that were left out */
    tail = tail * 0x1p101 + 0x1p-899 * start;
  if (work->value_max[c] > 0x1p500 || start > 0x1p500) return INFINITY;
  return 1.01 * ((double)order + feature_units(work) + keys + 6) * DD_ERROR * size * (1 + 0x1p-20) +
         tail;
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
  if (size && row_open(&dd, work, -1)) {
    for (int64_t j = 0; j < keys; j++) {
      dd_number f = key_feature(work, tuple, order, row, j);
      dd.w_hi[j] = f.hi;
      dd.w_lo[j] = f.lo;
      for (int64_t c = 0; c < work->columns; c++)
        size[c] += fabs(f.hi * work->values[j * work->pad + c]);
    }
    taylor_dd_sums(&dd, dd.w_hi, dd.w_lo, work->values, 0, keys);
    add_initial(&dd, size, row);
    for (int64_t c = 0; c < width; c++) {
      x_hi[c] = dd.n_hi[c];
      x_lo[c] = dd.n_lo[c];
      radius[c] = state_error(work, order, size[c], c);
      if (!isfinite(x_hi[c] + x_lo[c] + radius[c])) forget(x_hi, x_lo, radius, c);
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
