/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double tier of toeplitz and rope-linear: rows in float64 with a radius that contains the
 * exact value, and the direct kernel in double, which is these rows rounded.
 *
 * Derivation (theorem toeplitz_radius). u = 2^-53, hats are computed values, f = scale /
 * temperature.
 *
 * 1. Forms. toeplitz: q_a (w k_b), two roundings a term, |S| - 1 additions: |form^ - form| <= (|S|
 * + 2) u size, size = sum |q_a w k_b|. rope-linear: vectors rotated within sqrt(2) ROTARY_ROUNDING
 *    relative in norm a pair (3.9 u, twice: 8 u), d products and additions: (d + 13) u size with
 *    size = sum |q_pair| |k_pair| over both components. What underflows is below |S| 2^-1060 (1 +
 *    |q| + |k|). Sizes are off by (|S| + 10) u relative.
 * 2. Scores s = f form: one rounding, |s|<= t = |f| size, and e_f size for the error of f. Together
 *    E_j.
 * 3. Weights. rope-linear: w = s, |w^ - w| <= e_j = E_j. Polynomials: with z = |s^| + E_j and P the
 *    polynomial of the absolute coefficients, |p(s) - p(s^)| <= E_j P'(z), and Horner's rule costs
 *    (2 g + 2) u P(z): e_j = E_j P'(z) + (2 g + 4) u P(z), 2^-900 added to the coefficients of P
 *    for underflow. toeplitz: w = exp(s - m), m the computed
 *    maximum (any m is exact): z = E_j + u |s^ - m| + (EXP64_ERROR + 1) u, e_j = w^ (z + z^2) +
 *    2^-1000, required z + z^2 <= 1/4; the last term covers weights below EXP64_MIN.
 * 4. Sums in chains of ROWS_CHAIN keys: relative to the sum of absolute terms off by
 *    g = (ROWS_CHAIN + N / ROWS_CHAIN + 4) u. With x' the exact quotient of the computed weights
 * and D = sum w + eps, |x^ - x'| <= [g (sum |w^ v| + |x^| (sum |w^| + eps)) + |x^| e_eps] / D + u
 * |x^| =: r, D (x' - x) = sum (w^_j - w_j) (v_j - x')     (both sides are sum w^ v - x' sum w^ - N
 * + x' W) |x^ - x| <= r + [sum e_j |v_j - x^| + r sum e_j] / D, D from below: |D^| - sum e_j - g
 * sum |w^|, which must be positive. Without normalisation x^ in the sums and D - 1 are zero. The
 * factor 1 + 2^-8 covers the rounding of these sums themselves.
 * 5. A = sum |w v| / |D|, S = sum h |v - x| / |D|, h = w t (toeplitz), t (rope-linear) or |p'(s)| t
 *    + P(|s|): computed around x^, so off by radius sum h / |D|; h by rho + 4 size errors, rho the
 *    largest z + z^2, or the relative error of the polynomial's h: t (E_j P''(z) + (2 g + 4) u
 *    P'(z)) + e_j over h. */
#include <stdlib.h>

#include "../softmax/softmax.h"
#include "rows.h"

attest_status toeplitz_enclose_open(void **work, const attest_problem *problem,
                                    const problem_slice *slice, unsigned want,
                                    attest_error *error) {
  rows_pack *pack = NULL;
  (void)want; /* everything is computed */
  attest_status status = rows_pack_open(&pack, problem, slice, error);
  *work = pack;
  return status;
}

void toeplitz_enclose_close(void *work) {
  rows_pack_close(work);
}

/* Classes and values that the edge policy prescribes: as softmax_special_row, and NaN for 0/0. */
int rows_special(unsigned char *class, double *value, const rows_pack *pack, int64_t i) {
  const problem_values *values = &pack->problem->values;
  int kind = softmax_special_row(class, value, pack->problem, &pack->slice, i, OUTPUT_OUT);
  if (kind != 1 || pack->weights != ROWS_SCORE || !pack->normalizes || values->eps.sign != 0 ||
      !rope_linear_vanishes(pack->problem, &pack->slice, i))
    return kind;
  memset(class, EXACT_NAN, (size_t)pack->slice.dv);
  return 0;
}

static void put(room_cells *cells, int64_t at, double x, double radius) {
  cells->x[at] = x;
  cells->radius[at] = radius;
  if (!cells->a_lo) return;
  cells->a_lo[at] = cells->a_hi[at] = fabs(x);
  cells->s_lo[at] = cells->s_hi[at] = 0;
  if (radius == 0) return;
  cells->a_lo[at] = 0;
  cells->a_hi[at] = cells->s_hi[at] = INFINITY;
}

static void put_row(room_cells *cells, int64_t first, const rows_row *row) {
  for (int64_t c = 0; c < cells->width; c++) {
    cells->x[first + c] = row->x[c];
    cells->radius[first + c] = row->radius[c];
    if (!cells->a_lo) continue;
    cells->a_lo[first + c] = row->a_lo[c];
    cells->a_hi[first + c] = row->a_hi[c];
    cells->s_lo[first + c] = row->s_lo[c];
    cells->s_hi[first + c] = row->s_hi[c];
  }
}

double rows_stored(const room_machine *machine, double x, double radius) {
  const tensor_format *format = tensor_dtype_format(machine->result);
  double u = measure_unit_roundoff(format), largest = ldexp(1, format->emax);
  double bound = radius + u * (fabs(x) + radius) * (1 + 0x1p-20) +
                 ldexp(1, format->emin - format->precision + 1);
  return fabs(x) + bound < largest ? bound : INFINITY;
}

void toeplitz_enclose_rows(room_block *block, const void *work, unsigned want) {
  const rows_pack *pack = work;
  room_cells *cells = &block->out;
  rows_row row;
  int ready = rows_row_open(&row, pack);
  /* The double kernel stores these very rows. */
  int is_own =
      (want & WANT_THEORY) && block->machine->builtin && block->machine->products == ATTEST_FLOAT64;
  double *value = calloc((size_t)cells->width + 1, sizeof *value);
  for (int64_t r = 0; r < block->rows; r++) {
    int64_t first = r * cells->width;
    unsigned char *class = cells->class + first;
    memset(class, EXACT_FINITE, (size_t)cells->width);
    if (block->reach) block->reach[r] = ready ? 0 : INFINITY;
    int ordinary = ready && value && rows_special(class, value, pack, block->row + r) == 1;
    if (ordinary) {
      rows_row_compute(&row, pack, block->row + r, 1);
      ordinary = !rows_row_vanishes(&row, pack, block->row + r);
      if (!ordinary) memset(class, EXACT_NAN, (size_t)cells->width);
    }
    if (ordinary) {
      put_row(cells, first, &row);
      if (block->reach) block->reach[r] = row.reach;
    }
    for (int64_t c = 0; c < cells->width; c++) {
      int64_t at = first + c;
      if (!ordinary) put(cells, at, ready && value ? value[c] : 0, ready && value ? 0 : INFINITY);
      if (want & WANT_THEORY)
        cells->theory[at] =
            ordinary ? rows_stored(block->machine, cells->x[at], cells->radius[at]) : 0;
    }
    if (ordinary && (want & WANT_THEORY) && !is_own)
      rows_theory(cells->theory + first, &row, pack, block->machine, block->row + r);
  }
  free(value);
  rows_row_close(&row);
}

void toeplitz_sensitivity(double *s_lo, double *s_hi, const double *x, const double *radius,
                          const void *work, int64_t i) {
  const rows_pack *pack = work;
  rows_row row;
  (void)x;
  (void)radius;
  int ready = rows_row_open(&row, pack);
  if (ready) rows_row_compute(&row, pack, i, 1);
  for (int64_t c = 0; c < pack->slice.dv; c++) {
    s_lo[c] = ready ? row.s_lo[c] : 0;
    s_hi[c] = ready ? row.s_hi[c] : INFINITY;
  }
  rows_row_close(&row);
}

/* ---- rows as they are stored ---- */

static const double class_value[] = {
    [EXACT_NAN] = NAN, [EXACT_PLUS_INF] = INFINITY, [EXACT_MINUS_INF] = -INFINITY};

void rows_put(attest_tensor *out, const double *x, const unsigned char *class, const double *value,
              const rows_pack *pack, int64_t i) {
  for (int64_t c = 0; c < pack->slice.dv; c++)
    tensor_store(out, i * out->stride[0] + c * out->stride[1],
                 x                          ? x[c]
                 : class[c] == EXACT_FINITE ? value[c]
                                            : class_value[class[c]]);
}

int rows_store(attest_tensor *out, rows_row *row, unsigned char *class, double *value,
               const rows_pack *pack, int64_t i) {
  int kind = rows_special(class, value, pack, i);
  if (kind == 1) rows_row_compute(row, pack, i, 0);
  double most = (double)pack->slice.nk * rows_weight_max(pack, i);
  if (kind == 1 && !(fabs(row->total) > most * 0x1p-30)) {
    rows_row_compute(row, pack, i, 1);
    if (rows_row_vanishes(row, pack, i)) {
      memset(class, EXACT_NAN, (size_t)pack->slice.dv);
      kind = 0;
    } else {
      rows_row_compute(row, pack, i, 0); /* bounds leave no x where they know nothing */
    }
  }
  rows_put(out, kind == 1 ? row->x : NULL, class, value, pack, i);
  return kind;
}
