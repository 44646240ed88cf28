/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double-double tier: for float64 outputs, whose errors the double tier cannot see.
 *
 * Derivation, in the steps of enclose.c. e = DD_ERROR = 2^-103 bounds the relative error of every
 * double-double operation (dd_isa.h); inputs and products are exact.
 * 1. Scores: d additions, the scale (known to 2^-105) and its product, then at most 3 additions and
 *    a product for bias, slope, temperature, each off by e of a quantity below reach:
 *      |s^ - s| <= (d + 8) e reach + (d + 8) 2^-1070 (1 + |scale|) (1 + 1 / temperature) =: E,
 *    the second part being what underflows. Required: scale and temperature within 2^(+-900), so
 *    that both of their parts are normal. A softcap is left to the ball tier. Rotated vectors are
 *    known to sqrt(2) ROTARY_LOW_ROUNDING in norm a pair, 2 sqrt(2) of which is at most sqrt(2)
 *    ROTARY_LOW_ROUNDING t; products of their low parts (below 6 u |pair|) with the other vector
 *    round 3 times, and those of two low parts are left out: 9 2^-105 + 36 2^-106 < 2^-99 of |q_a|
 *    |k_a|, and what underflows is below 2^-1060 (1 + |q| + |k|) a component.
 * 2. Weights: y = s - m is off by e |y|, exp by DD_EXP_ERROR; a key with y >= -80 has relative
 * error at most E + 80 e + 2^-97 =: rho (required: <= 2^-60); all others together weigh at most
 *    N 1.01 e^-80 < N 2^-115 with relative errors below 2^-60 down to -700, and N 2^-1000 beyond.
 * 3. Sums: at most N additions and a product, g = (N + 4) e; quotient 4 e.
 *      |x^ - x| <= 1.01 [(2 rho + 2 g + 4 e) A] + N 2^-170 max|v| + (N + 4) 2^-1000.
 *    The last term covers operations that underflow: sums are wrong by less than 2^-1000 then,
 * unless values are below 2^-850, which get an infinite radius, as do values beyond 2^900.
 * 4. lse = m + log W: log W = y + r - r^2/2, r = W exp(-y) - 1, |r| <= 2^-49, y from log64: off by
 *    rho + g + 2^-97 + r^3 and a few e (1 + |lse|). */
#include <stdlib.h>

#include "../enclosure/exp.h"
#include "../enclosure/flint.h"
#include "../problem/rotary.h"
#include "dd.h"
#include "terms.h"

#define DD_EXP_ERROR 0x1p-97

ISA_DECLARE(void, softmax_dd_scores, (softmax_dd_row * row));
ISA_DECLARE(void, softmax_dd_sums, (softmax_dd_row * row));
ISA_DECLARE(dd_number, softmax_dd_exp, (dd_number x));
void softmax_dd_scores(softmax_dd_row *row) {
  ISA_DISPATCH(softmax_dd_scores)(row);
}
void softmax_dd_sums(softmax_dd_row *row) {
  ISA_DISPATCH(softmax_dd_sums)(row);
}
dd_number softmax_dd_exp(dd_number x) {
  return ISA_DISPATCH(softmax_dd_exp)(x);
}

/* Within 2^-105 relative. */
static dd_number dd_of_real(const problem_real *real) {
  arb_t ball;
  arb_init(ball);
  arb_set_fmpq(ball, real->value, 200);
  if (real->root) arb_sqrt(ball, ball, 200);
  dd_number x = dd_of_ball(ball);
  arb_clear(ball);
  return real->sign < 0 ? dd_negative(x) : real->sign == 0 ? (dd_number){0, 0} : x;
}

/* ---- one row
 * -------------------------------------------------------------------------------------------- */

static double element(const attest_tensor *t, int64_t row, int64_t column) {
  return tensor_at(t, row * t->stride[0] + column * t->stride[1]);
}

/* Bias, slope, temperature, visibility; the largest score becomes the shift. */
static void finish_scores(softmax_dd_row *row) {
  const softmax_pack *pack = row->pack;
  const problem_slice *slice = &pack->slice;
  row->shift = row->has_sink ? row->sink.hi : -INFINITY;
  for (int64_t j = row->lo; j < row->hi; j++) {
    dd_number s = {row->score_hi[j], row->score_lo[j]};
    double bias = slice->bias.data ? element(&slice->bias, row->row, j) : 0;
    if (!problem_visible(pack->problem, slice, row->row, j)) {
      row->score_hi[j] = -INFINITY;
      row->score_lo[j] = 0;
      continue;
    }
    if (slice->bias.data) s = dd_add(s, (dd_number){bias, 0});
    if (slice->has_slope) {
      double step = (double)(j - row->row - slice->offset), p = slice->slope * step;
      s = dd_add(s, (dd_number){p, fma(slice->slope, step, -p)});
    }
    if (pack->has_temperature) s = dd_mul(s, row->inverse_temperature);
    row->score_hi[j] = s.hi;
    row->score_lo[j] = s.lo;
    row->shift = s.hi > row->shift ? s.hi : row->shift;
  }
  for (int64_t j = row->lo / PASS_PANEL_F64 * PASS_PANEL_F64; j < row->lo; j++)
    row->score_hi[j] = -INFINITY;
  for (int64_t j = row->hi; j % PASS_PANEL_F64; j++)
    row->score_hi[j] = -INFINITY;
}

static int row_open(softmax_dd_row *row, const softmax_pack *pack, int64_t index) {
  memset(row, 0, sizeof *row);
  row->pack = pack;
  row->row = index;
  problem_visible_range(&row->lo, &row->hi, pack->problem, &pack->slice, index);
  int64_t keys = pack->blocks * PASS_KEYS, d = (pack->slice.d + 7) / 8 * 8;
  row->query = calloc((size_t)(d + 2 * keys + 3 * pack->dv_pad), sizeof(double));
  if (!row->query) return 0;
  row->score_hi = row->query + d;
  row->score_lo = row->score_hi + keys;
  row->out_hi = row->score_lo + keys;
  row->out_lo = row->out_hi + pack->dv_pad;
  row->size = row->out_lo + pack->dv_pad;
  tensor_load(row->query, &pack->slice.q, index * pack->slice.q.stride[0], pack->slice.d,
              pack->slice.q.stride[1]);
  if (pack->is_rotary) row->query_low = pack->query_low + index * pack->slice.d;
  row->scale = dd_of_real(&pack->problem->values.scale);
  row->inverse_temperature = (dd_number){1, 0};
  if (pack->has_temperature) {
    problem_real inverse;
    problem_real_init(&inverse);
    problem_real_inv(&inverse, &pack->problem->values.temperature);
    row->inverse_temperature = dd_of_real(&inverse);
    problem_real_clear(&inverse);
  }
  row->has_sink = pack->slice.has_sink;
  row->sink = dd_mul((dd_number){pack->slice.sink, 0}, row->inverse_temperature);
  return 1;
}

static void add_sink(softmax_dd_row *row) {
  if (!row->has_sink) return;
  dd_number y = dd_add(row->sink, (dd_number){-row->shift, 0});
  row->sum = dd_add(row->sum, softmax_dd_exp(y));
}

/* 1/ln 2 as a double-double, within 2^-107. */
static const dd_number inverse_ln2 = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};

/* Step 4. */
static dd_number logarithm(const softmax_dd_row *row, int base) {
  double y = log64(row->sum.hi);
  dd_number r = dd_mul(row->sum, softmax_dd_exp((dd_number){-y, 0}));
  r = dd_add(r, (dd_number){-1, 0});
  dd_number lse = dd_add((dd_number){row->shift, 0}, (dd_number){y, 0});
  lse = dd_add(lse, dd_add(r, (dd_number){-0.5 * r.hi * r.hi, 0}));
  return base == 2 ? dd_mul(lse, inverse_ln2) : lse;
}

/* Whether a parameter is known to 2^-105 relative as a double-double. */
static int parameter_in_range(double x, double error) {
  return x == 0 ? error == 0 : fabs(x) >= 0x1p-900 && fabs(x) <= 0x1p900;
}

/* rho and g, or 0 where this tier does not answer. */
static int errors(double *rho, double *g, const softmax_pack *pack,
                  const softmax_row_terms *terms) {
  double scale = fabs(pack->scale), inverse = fabs(pack->inverse_temperature);
  double score_error = ((double)pack->slice.d + 8) *
                       (DD_ERROR * terms->reach + 0x1p-1070 * (1 + scale) * (1 + inverse));
  if (pack->is_rotary)
    score_error += (3 * ROTARY_LOW_ROUNDING + 0x1p-98) * terms->reach +
                   ((double)pack->slice.d + 8) * 0x1p-1060 * scale * inverse *
                       (1 + terms->query_norm + terms->key_norm);
  *rho = (score_error + 80 * DD_ERROR + DD_EXP_ERROR) * 1.01;
  *g = (terms->keys + 4) * DD_ERROR;
  return *rho <= 0x1p-60 && parameter_in_range(scale, pack->scale_error) &&
         parameter_in_range(inverse, pack->inverse_temperature_error) && !pack->has_softcap &&
         !pack->has_nonfinite && !pack->overflows && terms->reach <= 0x1p900;
}

static int value_in_range(double largest) {
  return largest == 0 || (largest >= 0x1p-850 && largest <= 0x1p900);
}

static void row_out(double *x_hi, double *x_lo, double *radius, const softmax_dd_row *row,
                    const softmax_row_terms *terms, double rho, double g) {
  for (int64_t c = 0; c < row->pack->slice.dv; c++) {
    double v_max = softmax_largest_value(row->pack, terms, c);
    dd_number x = dd_div((dd_number){row->out_hi[c], row->out_lo[c]}, row->sum);
    double a = row->size[c] / row->sum.hi * (1 + 0x1p-20);
    x_hi[c] = x.hi;
    x_lo[c] = x.lo;
    radius[c] = 1.01 * (2 * rho + 2 * g + 4 * DD_ERROR) * a + terms->keys * 0x1p-170 * v_max +
                (terms->keys + 4) * 0x1p-1000;
    if (!value_in_range(v_max) || !isfinite(x.hi + x.lo + radius[c])) {
      x_hi[c] = x_lo[c] = 0;
      radius[c] = INFINITY;
    }
  }
}

static void row_lse(double *x_hi, double *x_lo, double *radius, const softmax_dd_row *row,
                    const softmax_row_terms *terms, double rho, double g) {
  int base = row->pack->problem->values.lse_base;
  dd_number lse = logarithm(row, base);
  *x_hi = lse.hi;
  *x_lo = lse.lo;
  *radius = (rho + g + terms->keys * 0x1p-110 + 0x1p-96 + 16 * DD_ERROR * (1 + fabs(lse.hi))) *
            (base == 2 ? 1.6 : 1.1);
  if (!isfinite(lse.hi + lse.lo + *radius)) {
    *x_hi = *x_lo = 0;
    *radius = INFINITY;
  }
}

void softmax_enclose_dd(double *x_hi, double *x_lo, double *radius, const void *work, int64_t row,
                        int output) {
  const softmax_pack *pack = work;
  softmax_row_terms terms;
  softmax_dd_row dd;
  double rho, g;
  int64_t width = output == OUTPUT_OUT ? pack->slice.dv : 1;
  for (int64_t c = 0; c < width; c++) {
    x_hi[c] = x_lo[c] = 0;
    radius[c] = INFINITY;
  }
  softmax_terms_of_row(&terms, pack, row);
  if (!errors(&rho, &g, pack, &terms) || !row_open(&dd, pack, row)) return;
  softmax_dd_scores(&dd);
  finish_scores(&dd);
  if (dd.shift > -INFINITY) {
    softmax_dd_sums(&dd);
    add_sink(&dd);
    if (output == OUTPUT_OUT)
      row_out(x_hi, x_lo, radius, &dd, &terms, rho, g);
    else
      row_lse(x_hi, x_lo, radius, &dd, &terms, rho, g);
  }
  free(dd.query);
}
