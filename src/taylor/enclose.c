/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double tier: Taylor and linear attention in float64 with a radius that contains the exact
 * value.
 *
 * Derivation (theorem taylor_radius). u = 2^-53, hats are computed values, p = T_P and p' = T_{P-1}
 * (linear: p(s) = s, p' = 1), g(n) = n u / (1 - n u). All bounds are first-order sums of errors
 * times (1 + 2^-8), which absorbs their products: every single one is required to be below 2^-10.
 *
 * 1. Scores. Features are exact or, for elu1, off by F u relative. The chain of d fused operations
 *    rounds d times, the scale is off by e_c <= u |scale|, its product rounds once:
 *      |s^ - s| <= (d + 2 F + 4) u t,   t = |scale| |f(q)|.|f(k)| + tiny,
 *    and t^, computed by the same operations, is t within the same relative error. tiny =
 *    2^-900 (1 + |scale|)(1 + max f(k))(1 + max f(q)) makes up for what underflows: each of the d
 *    products loses at most 2^-1074, a feature below e^EXP64_MIN at most 2^-1000 max f, times the
 *    scale. Required: (d + 2 F + 4) u t <= 2^-10.
 * 2. Weights. |p(s^) - p(s)| <= |s^ - s| p'(|s^| + |s^ - s|) and p'(x + y) <= e^y p'(x), as the
 *    coefficients of p' are at least those of its derivative; y <= 2^-10. Three roundings a level
 *    of the polynomial (1/m, the product with it, the fused operation) meet the term of order m at
 *    most 3 m + 1 times: (3 P + 1) u p(|s^|) more. The power of the decay is rounded and its
 *    product rounds, 2 u p(|s^|) more, or it is below 2^-900 and counts as 0. With
 *      g = t p'(|s|) + p(|s|)   (linear: t)
 *    times the decay, a weight is off by at most max(d + 2 F + 4, 3 P + 3) u g.
 *    The weight psi = factor q^beta decay of a row of the initial state rounds at most P - 1 times
 *    in the monomial, once for the factor itself and once for each product, twice for the decay:
 *    (P + 4) u |psi|; its share of g is |psi|.
 * 3. Sums. A product meets at most 32 + 8 + blocks + 1 roundings (chain, block, total) and the rows
 *    of the initial state 32 + state_pad / 32 + 1: `depth`. So with K = max(..) + depth + 2 and
 *    E = sum g |u|,
 *      |N^ - N| <= (1 + 2^-8) K u E^ + tail     for every column, the normaliser's among them,
 *    tail = (terms + 2) 2^-1000 (1 + max |u|) for what underflows in the sums, and with a decay
 *    keys 2^-899 max p(t) max |u| for the powers that were left out. A product of a monomial of q
 *    that underflows is off by 2^-1074 and may be multiplied by large elements afterwards, a power
 *    that was left out had a large monomial: rows 2^-899 max (1 + |factor|) max (1 + |f(q)|)^P
 *    (1 + max |S0|) for the initial state.
 * 4. Quotient. W^ = N^_dv + eps^ rounds once and eps is off by u eps: r_W = r_dv + 2 u (eps +
 * |W^|). Required: |W^| > 2 r_W, so that W is not 0. x = N/W: |x^ - x| <= (r_N + |x^| r_W) / (|W^|
 * - r_W) (1 + 2^-8) + u |x^|. Without a normaliser W = 1 and r_W = 0.
 * 5. Conditioning. A = sum |w| |u| / |W|: its sum is off by at most r_N, too. c is t |p'(s)| +
 *    p(|s|) or, for stateful forms, p(t). The latter is off by a relative (P (d + 2 F + 4) + 3 P +
 * 3
 *    + depth) u, as t p'(t) <= P p(t); the former by at most (d + 2 F + 4 + 3 P + 3) u g (1 + t),
 *    for |p'(s^) - p'(s)| t <= (d + 2 F + 4) u t^2 p'', |p(|s^|) - p(|s|)| and what t^ is off by
 *    are at most (d + 2 F + 4) u t p', p'' <= p' <= p, and t (2 + t) <= (1 + t)^2; so is every sum
 *    with it by (.. + depth + 2) u (1 + max t) E. tiny counts as much as in tails as it does in t.
 *      S = sum c (|u| + |x| u_dv) / |W|                                             (stateful)
 *      |sum c u - x sum c u_dv| <= |W| S <= sum c |u| + |x| sum c u_dv              (direct)
 *    and exactly, key by key, in the second pass of `sensitivity`. The uncertainty of x adds
 *    radius sum c u_dv.
 *
 * The final state: sum of f(k) u with P - 1 roundings in f (F for elu1), 2 for the decay, and the
 * depth of the sum; A = S = sum |f(k) u|.
 *
 * Whatever overflows or exceeds its requirement gets an infinite radius: the next tier decides. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "../enclosure/interval.h"
#include "enclose.h"
#include "terms.h"

#define UNIT 0x1p-53
#define SLACK (1 + 0x1p-8)

double taylor_polynomial_double(double x, int64_t degree) {
  if (degree < 0) return x;
  double y = 1;
  for (int64_t m = degree; m >= 1; m--)
    y = 1 + x / (double)m * y;
  return y;
}

static double score_units(const taylor_work *work) {
  return (double)work->slice.d + 2 * work->feature_error + 4;
}

static double polynomial_units(const taylor_work *work) {
  return work->kind.degree > 0 ? 3 * (double)work->kind.degree + 3 : 3;
}

taylor_row_error taylor_error_of_row(const taylor_work *work, const taylor_sums *sums, int64_t r) {
  taylor_row_error e = {0};
  int64_t lo = sums->lo[r], hi = sums->hi[r] > lo ? sums->hi[r] : lo;
  double blocks = (double)(hi / SUMS_KEYS - lo / SUMS_KEYS + 1), t = sums->t_max[r];
  double state = work->state_rows ? SUMS_CHAIN + (double)(work->state_pad / SUMS_CHAIN) + 1 : 0;
  e.keys = (double)(hi - lo);
  e.depth = SUMS_CHAIN + SUMS_KEYS / SUMS_CHAIN + blocks + 1;
  if (state > e.depth) e.depth = state;
  e.units = fmax(score_units(work), polynomial_units(work)) + e.depth + 2;
  e.t_max = t;
  e.slope_max = (1 + t) * (1 + taylor_polynomial_double(t, work->kind.degree));
  e.usable = !work->unusable && score_units(work) * UNIT * t <= 0x1p-10 && e.units <= 0x1p40 &&
             e.slope_max <= 0x1p500;
  return e;
}

double taylor_tail(const taylor_work *work, const taylor_row_error *e, int64_t column) {
  double largest = work->value_max[column];
  double tail = (e->keys + 2) * 0x1p-1000 * (1 + largest);
  if (work->state_rows)
    tail += (double)work->state_rows * 0x1p-899 * work->psi_max * (1 + work->state_max[column]);
  if (work->power) tail += e->keys * 0x1p-899 * e->slope_max * largest;
  return tail;
}

/* ---- one row --------------------------------------------------------------------------------- */

typedef struct {
  double x, radius, a_lo, a_hi, s_lo, s_hi;
} element;

static const element unknown = {0, INFINITY, 0, INFINITY, 0, INFINITY};

double taylor_column_radius(const taylor_row_view *v, int64_t c) {
  return SLACK * v->error.units * UNIT * v->e[c] + taylor_tail(v->work, &v->error, c);
}

taylor_row_view taylor_view_row(const taylor_work *work, const taylor_sums *sums, int64_t r) {
  int64_t at = r * work->pad, dv = work->slice.dv;
  taylor_row_view v = {.work = work,
                       .error = taylor_error_of_row(work, sums, r),
                       .n = sums->n + at,
                       .e = sums->e + at,
                       .a = sums->a + at,
                       .cc = sums->cc + at,
                       .m = sums->m + at,
                       .hh = sums->hh + at,
                       .w = 1};
  if (work->kind.has_normalizer) {
    double unused, eps = problem_real_double(&unused, &work->problem->values.eps);
    v.w = v.n[dv] + eps;
    v.w_radius = taylor_column_radius(&v, dv) + 2 * UNIT * (eps + fabs(v.w));
    if (eps != 0 && !(eps >= 0x1p-900 && eps <= 0x1p900)) v.w_radius = INFINITY;
  }
  v.w_least = (fabs(v.w) - v.w_radius) * (1 - 0x1p-50);
  v.w_most = (fabs(v.w) + v.w_radius) * (1 + 0x1p-50);
  v.usable =
      v.error.usable && fabs(v.w) > 2 * v.w_radius && v.w_least > 0x1p-900 && v.w_most < 0x1p900;
  return v;
}

/* What a sum with c is off by: relatively where stateful, else by units of (1 + max t) E. */
static double conditioning_error(const taylor_row_view *v, double sum, double e) {
  const taylor_work *work = v->work;
  double degree = work->kind.degree > 0 ? (double)work->kind.degree : 1;
  double units = score_units(work) + polynomial_units(work) + v->error.depth + 2;
  if (!work->kind.is_stateful) return SLACK * units * UNIT * (1 + v->error.t_max) * e;
  return SLACK * UNIT * sum * (degree * score_units(work) + v->error.units);
}

/* What underflow, tiny and vanishing powers of the decay cost a sum with c. */
static double conditioning_tail(const taylor_row_view *v, int64_t c) {
  const taylor_work *work = v->work;
  return (1 + v->error.t_max) * taylor_tail(work, &v->error, c) +
         v->error.keys * work->tiny * v->error.slope_max * (1 + work->value_max[c]);
}

/* Step 5 for S. Without a normaliser nothing is subtracted. */
static void measure_s(element *e, const taylor_row_view *v, int64_t c) {
  int64_t dv = v->work->slice.dv;
  double x = v->work->kind.has_normalizer ? fabs(e->x) : 0;
  double x_off = v->work->kind.has_normalizer ? e->radius : 0;
  double all = v->cc[c] + x * v->cc[dv];
  double off = conditioning_error(v, all, v->e[c] + x * v->e[dv]) + x_off * v->cc[dv] * SLACK +
               (1 + x + x_off) * (conditioning_tail(v, c) + conditioning_tail(v, dv));
  double least = v->work->kind.is_stateful
                     ? all
                     : fabs(v->m[c] - (v->work->kind.has_normalizer ? e->x : 0) * v->m[dv]);
  /* Features of the initial state are stateful in every form, and not in m. */
  e->s_hi = (all + off) * (1 + 0x1p-40) / v->w_least;
  e->s_lo = fmax(0, (least - off - 0x1p-50 * all) * (1 - 0x1p-40) / v->w_most);
  if (!(e->s_hi >= 0)) e->s_hi = INFINITY;
  if (!(e->s_lo >= 0)) e->s_lo = 0;
}

/* Steps 3 to 5 for component c. */
static element enclose_element(const taylor_row_view *v, int64_t c, int condition) {
  double r = taylor_column_radius(v, c);
  element e = {.x = v->n[c] / v->w, .a_hi = INFINITY, .s_hi = INFINITY};
  e.radius = SLACK * (r + fabs(e.x) * v->w_radius) / v->w_least + UNIT * fabs(e.x) + 0x1p-1000;
  if (!v->work->kind.has_normalizer) e.radius = r;
  if (!v->usable || !isfinite(e.x) || !isfinite(e.radius)) return unknown;
  if (!condition) return e;
  e.a_hi = (v->a[c] + r) * (1 + 0x1p-40) / v->w_least;
  e.a_lo = fmax(0, (v->a[c] - r) * (1 - 0x1p-40) / v->w_most);
  if (!(e.a_hi >= 0)) e.a_hi = INFINITY;
  measure_s(&e, v, c);
  return e;
}

static void put(room_cells *cells, int64_t at, const element *e) {
  cells->x[at] = e->x;
  cells->radius[at] = e->radius;
  cells->class[at] = EXACT_FINITE;
  if (cells->a_lo) {
    cells->a_lo[at] = e->a_lo;
    cells->a_hi[at] = e->a_hi;
    cells->s_lo[at] = e->s_lo;
    cells->s_hi[at] = e->s_hi;
  }
}

/* Puts what the edge policy prescribes: whether it prescribes anything. Rows that are trouble are
 * left to the ball tier. */
static int put_special(room_block *block, const taylor_work *work, int64_t at, double *value) {
  room_cells *cells = &block->out;
  int64_t first = at * cells->width;
  int kind =
      taylor_special_row(cells->class + first, value, work->problem, &work->slice, block->row + at);
  static const element zero = {0};
  for (int64_t c = 0; kind != 1 && c < cells->width; c++) {
    unsigned char class = cells->class[first + c];
    put(cells, first + c, kind == 0 ? &zero : &unknown);
    cells->class[first + c] = class;
  }
  return kind != 1;
}

/* The largest size of a perturbation that first order can speak of is limited by 1 / reach: scores
 * enter the weights of form direct by a polynomial of degree P, and all weights enter the
 * denominator. */
static double reach_of(const taylor_row_view *v) {
  double t = v->error.t_max, reach = 0;
  if (!v->usable) return INFINITY;
  if (!v->work->kind.is_stateful && v->work->kind.degree >= 2) reach = fmax(t, t * t);
  if (!v->work->kind.has_normalizer) return reach;
  double spread = v->cc[v->work->slice.dv] / v->w_least;
  return spread > reach ? spread : reach;
}

static void out_row(room_block *block, const taylor_row_view *v, int64_t at, unsigned want) {
  for (int64_t c = 0; c < block->out.width; c++) {
    element e = enclose_element(v, c, (want & WANT_CONDITION) != 0);
    put(&block->out, at * block->out.width + c, &e);
  }
}

static void everything_unknown(room_block *block, room_cells *cells) {
  for (int64_t i = 0; i < block->rows * cells->width; i++) {
    put(cells, i, &unknown);
    if (cells->theory) cells->theory[i] = INFINITY;
  }
  for (int64_t i = 0; i < block->rows; i++)
    block->reach[i] = INFINITY;
}

/* Rows of out, SUMS_ROWS at a time at most. */
static void out_rows(room_block *block, const taylor_work *work, unsigned want) {
  taylor_sums sums;
  attest_error error;
  double *value = calloc((size_t)work->columns, sizeof *value);
  attest_status opened = taylor_sums_open(&sums, work, want, &error);
  if (opened || !value || block->rows > SUMS_ROWS) {
    everything_unknown(block, &block->out);
  } else {
    for (int64_t r = 0; want & WANT_THEORY && r < block->rows; r++)
      taylor_theory_units(&sums.h_slope[r], &sums.h_value[r], block->machine, work, block->row + r);
    taylor_sums_rows(&sums, work, block->row, block->rows);
    for (int64_t r = 0; r < block->rows; r++) {
      taylor_row_view v = taylor_view_row(work, &sums, r);
      block->reach[r] = 0;
      if (put_special(block, work, r, value)) {
        for (int64_t c = 0; want & WANT_THEORY && c < block->out.width; c++)
          block->out.theory[r * block->out.width + c] = 0;
        continue;
      }
      block->reach[r] = reach_of(&v);
      out_row(block, &v, r, want);
      if (want & WANT_THEORY) taylor_theory_row(block, &v, r);
    }
  }
  if (!opened) taylor_sums_close(&sums);
  free(value);
}

/* ---- the final state ------------------------------------------------------------------------- */

static double state_units(const taylor_work *work) {
  double degree = work->kind.degree > 0 ? (double)work->kind.degree : 1;
  return degree + work->feature_error + 4 + SUMS_CHAIN + SUMS_KEYS / SUMS_CHAIN +
         (double)work->blocks + 2;
}

static element state_element(const taylor_work *work, const taylor_sums *sums, int64_t at,
                             int64_t c, double initial) {
  double decay = work->power ? work->power[work->slice.nk] : 1, start = initial * decay;
  double size = sums->e[at + c] + fabs(start);
  double tail =
      ((double)work->slice.nk + 2) * 0x1p-1000 * (1 + work->feature_max) * (1 + work->value_max[c]);
  if (work->power) /* those that were left out */
    tail = tail * 0x1p101 + 0x1p-899 * fabs(initial);
  element e = {.x = sums->n[at + c] + start};
  e.radius = SLACK * (state_units(work) + 3) * UNIT * size + tail;
  e.a_hi = e.s_hi = size * (1 + 0x1p-20) + tail;
  e.a_lo = e.s_lo = fmax(0, size * (1 - 0x1p-20) - tail);
  return isfinite(e.x) && isfinite(e.radius) ? e : unknown;
}

static void state_rows(room_block *block, const taylor_work *work, unsigned want) {
  taylor_sums sums;
  attest_error error;
  const attest_tensor *initial = &work->slice.initial_state;
  attest_status status = taylor_sums_open(&sums, work, 0, &error);
  if (!status) status = taylor_state_sums(&sums, work, block->row, block->rows, &error);
  if (status || work->has_nonfinite || block->rows > SUMS_ROWS || !(work->feature_max <= 0x1p900)) {
    everything_unknown(block, &block->state);
  } else {
    for (int64_t r = 0; r < block->rows; r++) {
      block->reach[r] = 0;
      for (int64_t c = 0; c < block->state.width; c++) {
        double start = initial->data ? taylor_element(initial, block->row + r, c) : 0;
        element e = state_element(work, &sums, r * work->pad, c, start);
        put(&block->state, r * block->state.width + c, &e);
      }
      if (want & WANT_THEORY) taylor_theory_state(block, &sums, work, r);
    }
  }
  if (sums.memory) taylor_sums_close(&sums);
}

void taylor_enclose_rows(room_block *block, const void *work, unsigned want) {
  if (want & WANT_STATE)
    state_rows(block, work, want);
  else if (want & WANT_OUT)
    out_rows(block, work, want);
}

/* ---- second pass ----------------------------------------------------------------------------- */

/* S of form direct, key by key: sum c |u_c - x u_dv| in the order of the keys. */
static void direct_sums(double *sum, const double *x, const double *c, const taylor_work *work,
                        int64_t lo, int64_t hi) {
  int64_t dv = work->slice.dv;
  for (int64_t j = lo; j < hi; j++) {
    const double *u = work->values + j * work->pad;
    if (c[j] == 0) continue;
    for (int64_t k = 0; k < dv; k++)
      sum[k] += c[j] * fabs(u[k] - x[k]);
  }
}

static int second_pass(double *s_lo, double *s_hi, const double *x, const double *radius,
                       const taylor_work *work, const taylor_row_view *v, int64_t row) {
  int64_t keys = work->blocks * SUMS_KEYS, dv = work->slice.dv, lo, hi;
  double *memory =
      calloc((size_t)(3 * keys + 2 * work->slice.d + 2 * work->columns + 8), sizeof *memory);
  if (!memory) return 0;
  double *w = memory, *g = w + keys, *c = g + keys, *sum = c + keys + 2 * work->slice.d;
  double *center = sum + work->columns;
  for (int64_t k = 0; k < dv; k++)
    center[k] = work->kind.has_normalizer ? x[k] : 0;
  taylor_row_weights(w, g, c, work, row);
  problem_visible_range(&lo, &hi, work->problem, &work->slice, row);
  direct_sums(sum, center, c, work, lo, hi);
  for (int64_t k = 0; k < dv; k++) {
    double size = fabs(center[k]), moved = work->kind.has_normalizer ? radius[k] : 0;
    double off = conditioning_error(v, sum[k], v->e[k] + size * v->e[dv]) +
                 (v->error.keys + 8) * UNIT * sum[k] + 2 * UNIT * (v->cc[k] + size * v->cc[dv]) +
                 moved * v->cc[dv] * SLACK +
                 (1 + size) * (conditioning_tail(v, k) + conditioning_tail(v, dv));
    if (!v->usable || !isfinite(radius[k]) || !isfinite(sum[k]) || !isfinite(off)) {
      s_lo[k] = 0;
      s_hi[k] = INFINITY;
      continue;
    }
    s_hi[k] = (sum[k] + off) * (1 + 0x1p-40) / v->w_least;
    s_lo[k] = fmax(0, (sum[k] - off) * (1 - 0x1p-40) / v->w_most);
  }
  free(memory);
  return 1;
}

void taylor_sensitivity(double *s_lo, double *s_hi, const double *x, const double *radius,
                        const void *opened, int64_t row) {
  const taylor_work *work = opened;
  taylor_sums sums;
  attest_error error;
  for (int64_t c = 0; c < work->slice.dv; c++) {
    s_lo[c] = 0;
    s_hi[c] = INFINITY;
  }
  if (taylor_sums_open(&sums, work, WANT_CONDITION, &error)) return;
  taylor_sums_rows(&sums, work, row, 1);
  taylor_row_view v = taylor_view_row(work, &sums, 0);
  /* The initial state has both rules in one row: the first pass says all that is needed. */
  if (work->kind.is_stateful || work->state_rows ||
      !second_pass(s_lo, s_hi, x, radius, work, &v, row))
    for (int64_t c = 0; c < work->slice.dv && v.usable; c++) {
      element e = enclose_element(&v, c, 1);
      s_lo[c] = e.s_lo;
      s_hi[c] = e.s_hi;
    }
  taylor_sums_close(&sums);
}
