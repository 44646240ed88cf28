/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double tier: sparse kernels in float64 with a radius that contains the exact value.
 *
 * Derivation. u = 2^-53, hats are computed values. Proved as evaluated here, steps 1 to 4, for
 * powers and thresholds without softcap (proofs/sparse/radius.v: compact_radius, normrelu_radius,
 * relumax_radius, entmax_radius; exponential.v: gaussian_radius).
 *
 * 1. Scores and distances are chains over d without fused operations. |dot^ - dot| <= (d + 2) u
 *    sum |q_a k_a|; a distance has positive terms only and relative error (d + 4) u. Scale,
 * softcap, bias, slope and temperature add what line.c says at each step, parameters their distance
 * from the nearest double. So every argument y has an error e of its own.
 * 2. What moves all arguments alike (`common`). Subtracting one number from all scores changes
 *    neither exponentials nor thresholds, so there the largest score counts as exact. relumax: the
 *    largest of numbers that move by e_j moves by at most the largest e_j of those that may be the
 *    largest. Thresholds: g^_j = (alpha-1)(max z^ - z^_j) as given, u^ solves sum [u - g^]_+^r = 1
 *    up to a residual: where y <= 1, the sum F grows at least by the factor exp(r d) when u does by
 *    d, so the root is within max(F - 1, 1 - F) / (r min(1, F)), hardly more, of u^. And the root
 * moves by no more than g does: with E the largest e_j over keys that g^ - e leaves in the support,
 * the sum at root + E is at least, at root - E at most 1.
 * 3. Weights. w' of any argument within e + common of y^ lies between the powers (exponentials) of
 *    the two ends: off_j >= |w'_j - w^_j|.
 * 4. Elements. With x~ = sum w^ v / sum w^ exactly and W the exact sum of weights (1 for
 *    thresholds), sum w^ (v - x~) = 0 and
 *      x - x~ = sum (w_j - w^_j) (v_j - x~) / W,   |x - x~| <= sum off_j |v_j - x~| / W,
 *    W >= the sum of the least weights. x^ is x~ up to 2 g (sum w^ |v| / sum w^ + |x^|), g the
 * depth of rounding of the sums (chains of LINE_CHAIN) plus the division; |v - x~| <= |v - x^| +
 * that.
 * 5. Conditioning: S = sum g_j |v_j - c| / G as in reference.c. The factors g_j lie in intervals:
 *    slopes between those of the ends of y +- (e + common), t within te; S at every edge from 0 to
 *    that of the block. Its sums are those of step 4.
 *
 * Selections (top-k, uniform) are made by enclosures where these tell, else exactly. Whatever
 * overflows, or what double cannot tell, gets an infinite radius: the next tier decides. */
#include <float.h>
#include <stdlib.h>

#include "../enclosure/exp.h"
#include "../enclosure/interval.h"
#include "../softmax/row.h"
#include "enclose.h"
#include "row.h"

#define U 0x1p-53
#define SLACK (1 + 0x1p-20)
#define TINY 0x1p-1000

/* ---- opening ---- */

attest_status sparse_enclose_open(void **work, const attest_problem *problem,
                                  const problem_slice *slice, unsigned want, attest_error *error) {
  sparse_pack *pack;
  (void)want;
  attest_status status = sparse_pack_open(&pack, problem, slice, error);
  *work = pack;
  return status;
}

void sparse_enclose_close(void *work) {
  sparse_pack_close(work);
}

/* ---- working memory ---- */

int sparse_sums_open(sparse_row_sums *s, const sparse_pack *pack) {
  size_t dv = (size_t)pack->slice.dv + 1;
  memset(s, 0, sizeof *s);
  double **arrays[] = {&s->x,   &s->a,    &s->off_a, &s->off_x, &s->center, &s->off_center,
                       &s->far, &s->pull, &s->loose, &s->s_lo,  &s->s_hi,   &s->radius};
  enum { ARRAYS = sizeof arrays / sizeof *arrays };
  int64_t width = problem_output_width(pack->problem, OUTPUT_INDICES);
  double *next = s->memory = calloc((ARRAYS + 2) * dv, sizeof *next);
  s->selection = calloc((size_t)width + 1, sizeof *s->selection);
  if (!next || !s->selection || !sparse_line_open(&s->line, pack)) {
    sparse_sums_close(s);
    return 0;
  }
  for (int i = 0; i < ARRAYS; i++, next += dv)
    *arrays[i] = next;
  s->chain = next;
  return 1;
}

void sparse_sums_close(sparse_row_sums *s) {
  sparse_line_close(&s->line);
  free(s->memory);
  free(s->selection);
  s->memory = NULL;
  s->selection = NULL;
}

/* ---- elements ---- */

static void sums(double *sum, double *size, sparse_row_sums *s, const double *w) {
  const sparse_pack *pack = s->line.pack;
  ISA_DISPATCH(sparse_sums)
  (sum, size, s->chain, w, s->line.key, s->line.count, pack->values, pack->slice.dv);
}

static void spreads(double *far, double *pull, sparse_row_sums *s, const double *w,
                    const double *x) {
  const sparse_pack *pack = s->line.pack;
  ISA_DISPATCH(sparse_spreads)
  (far, pull, s->chain, w, s->line.key, s->line.count, pack->values, x, pack->slice.dv);
}

static double sum_of(const double *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += x[i];
  return sum;
}

/* Drops keys that carry neither weight nor slope nor doubt, so that the loops over values skip
 * them.
 */
static void drop_idle(sparse_line *line) {
  double *arrays[] = {line->w, line->off, line->slope, line->slope_off};
  int64_t n = 0;
  for (int64_t i = 0; i < line->count; i++) {
    if (line->w[i] == 0 && line->off[i] == 0 && line->slope[i] == 0 && line->slope_off[i] == 0)
      continue;
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++)
      arrays[a][n] = arrays[a][i];
    sparse_line_swap(line, i, n++);
  }
  line->count = n;
}

void sparse_sums_moved(double *moved, sparse_row_sums *s, const double *half) {
  sparse_line *line = &s->line;
  double least = sparse_line_deviations(line->off, line, half);
  double total = sum_of(line->off, line->count) * SLACK;
  double depth = sparse_line_rounding(line->count) + 2 * U;
  spreads(moved, NULL, s, line->off, s->x);
  for (int64_t c = 0; c < line->pack->slice.dv; c++) {
    moved[c] = (moved[c] * (1 + 2 * depth) + total * (s->off_x[c] + 4 * U * fabs(s->x[c])) +
                ((double)line->count + 2) * TINY) /
               least * SLACK;
    if (!(least > 0) || !(moved[c] >= 0)) moved[c] = INFINITY;
  }
}

/* One key alone is its value, exactly. */
static void single_key(sparse_row_sums *s) {
  const sparse_line *line = &s->line;
  int64_t dv = line->pack->slice.dv;
  memcpy(s->x, line->pack->values + line->key[0] * dv, (size_t)dv * sizeof *s->x);
  for (int64_t c = 0; c < dv; c++) {
    s->a[c] = fabs(s->x[c]);
    s->radius[c] = s->off_x[c] = s->off_a[c] = 0;
  }
}

/* Step 4: x, A and their radii. A is a mean as x is, off by sum off (|v| + A) / W. */
static void element_sums(sparse_row_sums *s) {
  const sparse_line *line = &s->line;
  int64_t dv = line->pack->slice.dv;
  double depth = sparse_line_rounding(s->visible) + 2 * U;
  double total = sum_of(line->off, line->count) * SLACK;
  sums(s->far, s->loose, s, line->off);
  sums(s->x, s->a, s, line->w);
  for (int64_t c = 0; c < dv; c++) {
    s->x[c] /= line->sum;
    s->a[c] /= line->sum;
    double tiny = ((double)line->count + 2) * TINY / fmin(1, line->sum);
    s->off_x[c] = 2 * depth * (s->a[c] + fabs(s->x[c])) * SLACK + tiny;
    s->off_a[c] = (4 * depth * s->a[c] + (s->loose[c] + total * s->a[c]) / s->least) * SLACK + tiny;
  }
  sparse_sums_moved(s->radius, s, line->e);
  for (int64_t c = 0; c < dv; c++) {
    s->radius[c] = (s->radius[c] + s->off_x[c]) * SLACK;
    if (isfinite(s->x[c]) && s->radius[c] < INFINITY) continue;
    s->x[c] = 0;
    s->radius[c] = INFINITY;
  }
  if (line->count == 1 && line->w[0] > 0) single_key(s);
}

/* ---- conditioning ---- */

/* The slope of [y]_+^r without the factor r, for an argument in [lo, hi]: its bounds. */
static void slope_bounds(double *least, double *most, const sparse_pack *pack, double lo, double hi,
                         double delta) {
  double r = pack->power.value;
  int whole = pack->whole_power;
  *least = *most = 0;
  if (!(hi + delta > 0)) return;
  if (whole == 1) {
    *least = lo > 0;
    *most = 1;
  } else if (whole) {
    double low = fmax(lo, 0), high = hi + delta;
    *least = whole == 2 ? low : low * low;
    *most = whole == 2 ? high : high * high;
  } else if (r > 1) {
    *least = lo > 0 ? pow(lo, r - 1) : 0;
    *most = pow(hi + delta, r - 1);
  } else {
    /* Infinite at the edge; a secant over +-delta has a slope between those of its ends. */
    *least = lo > 0 ? pow(hi, r - 1) : 0;
    *most = lo - delta > 0 ? pow(lo - delta, r - 1) : INFINITY;
  }
  *least *= 1 - 0x1p-40;
  *most *= 1 + 0x1p-40;
}

/* slope and slope_off: the mid and half-width of what multiplies t |v - c|; up: the largest t + te
 * that the row's support may have. */
static void slopes(sparse_row_sums *s, double edge) {
  sparse_line *line = &s->line;
  const sparse_pack *pack = line->pack;
  sparse_rule rule = pack->kernel->rule;
  int moves = rule == RULE_THRESHOLD || rule == RULE_MARGIN;
  double top = 0, unit = rule == RULE_THRESHOLD ? pack->alpha_less.value * SLACK : 1;
  double factor = rule == RULE_POWER ? pack->power.value : 1;
  memset(line->slope, 0, (size_t)line->count * sizeof *line->slope);
  memset(line->slope_off, 0, (size_t)line->count * sizeof *line->slope_off);
  if (rule == RULE_WITHIN || rule == RULE_TOP_MEAN) return;
  if (rule == RULE_EXP || rule == RULE_TOP_EXP) {
    memcpy(line->slope, line->w, (size_t)line->count * sizeof *line->slope);
    memcpy(line->slope_off, line->off, (size_t)line->count * sizeof *line->slope_off);
    return;
  }
  for (int64_t i = 0; i < line->count && moves; i++)
    if (line->y[i] + line->e[i] + line->common > 0) top = fmax(top, line->t[i] + line->te[i]);
  for (int64_t i = 0; i < line->count; i++) {
    double h = (line->e[i] + line->common) * SLACK, least, most;
    double delta = edge * unit * (line->t[i] + line->te[i] + top) * SLACK;
    slope_bounds(&least, &most, pack, line->y[i] - h, line->y[i] + h, delta);
    if (most == INFINITY) s->is_steep = 1;
    line->slope[i] = most == INFINITY ? 0 : factor * (least + most) / 2;
    line->slope_off[i] = most == INFINITY ? 0 : factor * (most - least) / 2 * SLACK;
  }
}

/* The factors g = slope t as an interval: line->up gets their upper ends, line->plain the widths.
 */
static void factors(sparse_line *line) {
  for (int64_t i = 0; i < line->count; i++) {
    double low = fmax(0, line->slope[i] - line->slope_off[i]) * fmax(0, line->t[i] - line->te[i]);
    line->up[i] = (line->slope[i] + line->slope_off[i]) * (line->t[i] + line->te[i]) * SLACK;
    line->plain[i] = (line->up[i] - low * (1 - 4 * U)) * SLACK;
  }
}

/* s_lo, s_hi from sum g |v - c|, c known within `off`, before the division by G. */
static void plain_sensitivity(sparse_row_sums *s, const double *center, const double *off) {
  sparse_line *line = &s->line;
  double depth = sparse_line_rounding(line->count) + 4 * U;
  double total = sum_of(line->up, line->count) * SLACK;
  spreads(s->far, NULL, s, line->up, center);
  spreads(s->loose, NULL, s, line->plain, center);
  for (int64_t c = 0; c < line->pack->slice.dv; c++) {
    double rounding = 4 * U * fabs(center[c]) + off[c] + TINY;
    double high = s->far[c] * (1 + 2 * depth) + total * rounding;
    double low = s->far[c] * (1 - 2 * depth) - total * rounding -
                 (s->loose[c] * (1 + 2 * depth) + total * rounding);
    s->s_hi[c] = high * SLACK;
    s->s_lo[c] = fmax(0, low * (1 - 0x1p-20));
  }
}

/* Thresholds: c = sum slope v / sum slope. */
static void centers(sparse_row_sums *s) {
  sparse_line *line = &s->line;
  int64_t dv = line->pack->slice.dv;
  double total = sum_of(line->slope, line->count), off = sum_of(line->slope_off, line->count);
  double depth = sparse_line_rounding(line->count) + ((double)line->count + 4) * U;
  sums(s->center, s->off_center, s, line->slope);
  for (int64_t c = 0; c < dv; c++) {
    s->center[c] /= total;
    s->off_center[c] = 2 * depth * (s->off_center[c] / total + fabs(s->center[c]));
  }
  spreads(s->far, NULL, s, line->slope_off, s->center);
  for (int64_t c = 0; c < dv; c++) {
    double far = s->far[c] * SLACK + off * (s->off_center[c] + 4 * U * fabs(s->center[c]));
    s->off_center[c] = (s->off_center[c] + far / (total - off)) * SLACK + TINY;
    if (!(total - off > 0) || !isfinite(s->center[c])) {
      s->center[c] = 0;
      s->off_center[c] = INFINITY;
    }
  }
}

/* relumax, after plain_sensitivity about x: T in [s_lo, s_hi]. The exact form where one key alone
 * can be the largest is T - t_m |v_m - x| + t_m |(v_m - x) - pull|, else T + t* |pull|, with pull =
 * sum slope (v - x). */
static void margin_sensitivity(sparse_row_sums *s, double edge) {
  sparse_line *line = &s->line;
  const sparse_pack *pack = line->pack;
  int64_t m = 0;
  for (int64_t i = 1; i < line->count; i++)
    if (line->y[i] > line->y[m]) m = i;
  double least_top = fmax(0, line->t[m] - line->te[m]), top = line->t[m] + line->te[m];
  int alone_surely = 1, others_surely = 0;
  for (int64_t i = 0; i < line->count; i++) {
    if (i == m) continue;
    double gap = line->y[m] - line->y[i],
           error = (line->e[m] + line->e[i]) * SLACK + 4 * U * fabs(gap);
    double reach = edge * (line->t[m] + line->te[m] + line->t[i] + line->te[i]) * SLACK;
    if (gap - error > reach) continue;
    alone_surely = 0;
    others_surely |= gap + error <= 0;
    top = fmax(top, line->t[i] + line->te[i]);
  }
  double depth = sparse_line_rounding(line->count) + 4 * U;
  double total = sum_of(line->slope, line->count) + sum_of(line->slope_off, line->count);
  spreads(s->far, s->pull, s, line->slope, s->x);
  spreads(s->loose, NULL, s, line->slope_off, s->x);
  const double *v = pack->values + line->key[m] * pack->slice.dv;
  for (int64_t c = 0; c < pack->slice.dv; c++) {
    double rounding = s->radius[c] + 4 * U * fabs(s->x[c]) + TINY;
    double off = (2 * depth * s->far[c] + s->loose[c] * SLACK + total * rounding) * SLACK;
    double own = fabs(v[c] - s->x[c]), both = fabs(v[c] - s->x[c] - s->pull[c]);
    double wide = off + 2 * rounding + 8 * U * (own + fabs(s->pull[c]));
    double alone_hi = s->s_hi[c] + (line->t[m] + line->te[m]) * (both - own + wide);
    double alone_lo = s->s_lo[c] + line->t[m] * (both - own) - line->te[m] * fabs(both - own) -
                      (line->t[m] + line->te[m]) * wide;
    if (both < own)
      alone_hi = s->s_hi[c] + fmax(0, line->t[m] - line->te[m]) * (both - own) +
                 (line->t[m] + line->te[m]) * wide;
    double many_hi = s->s_hi[c] + top * (fabs(s->pull[c]) + off);
    double many_lo = s->s_lo[c] + least_top * fmax(0, fabs(s->pull[c]) - off);
    s->s_hi[c] = alone_surely ? alone_hi : fmax(many_hi, others_surely ? 0 : alone_hi);
    s->s_lo[c] = alone_surely ? alone_lo : others_surely ? many_lo : fmin(many_lo, alone_lo);
    s->s_hi[c] *= SLACK;
    s->s_lo[c] = fmax(0, s->s_lo[c] * (s->s_lo[c] > 0 ? 1 - 0x1p-20 : 1));
  }
}

/* Step 5. `least` and `most` bound W. */
static void condition_sums(sparse_row_sums *s, double edge, double least, double most) {
  sparse_line *line = &s->line;
  sparse_rule rule = line->pack->kernel->rule;
  int64_t dv = line->pack->slice.dv;
  factors(line);
  if (rule == RULE_THRESHOLD) {
    centers(s);
    plain_sensitivity(s, s->center, s->off_center);
    least = most = 1;
  } else {
    plain_sensitivity(s, s->x, s->radius);
    if (rule == RULE_MARGIN) margin_sensitivity(s, edge);
  }
  for (int64_t c = 0; c < dv; c++) {
    s->s_hi[c] = s->s_hi[c] / least * SLACK;
    s->s_lo[c] = s->s_lo[c] / most * (1 - 0x1p-20);
    if (!(s->s_hi[c] >= 0) || s->is_steep) s->s_hi[c] = INFINITY;
    if (!(s->s_lo[c] >= 0) || s->is_steep) s->s_lo[c] = 0;
  }
}

/* ---- rows ---- */

static int is_top(const sparse_line *line) {
  sparse_rule rule = line->pack->kernel->rule;
  return rule == RULE_TOP_EXP || rule == RULE_TOP_MEAN;
}

/* Where key i may end, when t may be 0 or the edge is, so that what is within reach of the
 * bandwidth may be so by rounding only. All that is possible where memory is short. */
static unsigned exact_places(const sparse_line *line, int64_t i, double edge) {
  sparse_row row;
  if (sparse_row_of_keys(&row, line->pack->problem, &line->pack->slice, line->row, &line->key[i], 1,
                         1, NULL))
    return SPARSE_IN_OPEN | SPARSE_OUT_OPEN;
  unsigned places = sparse_row_places(&row, 0, edge);
  sparse_row_clear(&row);
  return places;
}

/* Whether arguments that move by edge t may change the keys within (uniform), or leave none or some
 * where there are some or none (powers). */
static int is_near(const sparse_line *line, double edge) {
  const unsigned in = SPARSE_MAY_BE_IN | SPARSE_IN_OPEN, out = SPARSE_MAY_BE_OUT | SPARSE_OUT_OPEN;
  sparse_rule rule = line->pack->kernel->rule;
  int near = 0, sure = 0;
  for (int64_t i = 0; i < line->count && (rule == RULE_WITHIN || rule == RULE_POWER); i++) {
    double y = line->y[i], move = (edge * (line->t[i] + line->te[i]) + line->e[i]) * SLACK;
    unsigned places = y > move ? in : y < -move ? out : in | out;
    if (places == (in | out) && (edge == 0 || line->t[i] <= line->te[i]))
      places = exact_places(line, i, edge);
    near |= (places & in) && (places & out);
    sure |= !(places & out);
  }
  return near && (rule == RULE_WITHIN || !sure);
}

/* By how much of itself the sum of weights moves at most when arguments move by u t, over u, to
 * first order. */
static double relative_move(const sparse_line *line, double least) {
  double sum = 0;
  for (int64_t i = 0; i < line->count; i++)
    sum += (line->slope[i] + line->slope_off[i]) * (line->t[i] + line->te[i]);
  return sum > 0 ? sum / least : 0;
}

int sparse_sums_row(sparse_row_sums *s, int64_t row, unsigned want, double edge) {
  sparse_line *line = &s->line;
  s->is_steep = 0;
  sparse_line_arguments(line, row, edge);
  sparse_line_weights(line);
  s->visible = line->count;
  if (is_top(line) && !line->is_unknown)
    memcpy(s->selection, line->key, (size_t)line->count * sizeof *s->selection);
  s->is_near = is_near(line, edge);
  if (line->is_unknown) return 0;
  if (line->count == 0 || line->is_empty) return 1;
  double least = sparse_line_deviations(line->off, line, line->e);
  double off = sum_of(line->off, line->count) * SLACK;
  double depth = sparse_line_rounding(line->count) + ((double)line->count + 2) * U;
  slopes(s, want & WANT_CONDITION ? edge : 0);
  s->least = least;
  s->most = (line->sum * (1 + 2 * depth) + off) * SLACK;
  sparse_rule rule = line->pack->kernel->rule;
  if (rule == RULE_POWER || rule == RULE_MARGIN)
    line->reach = fmax(line->reach, relative_move(line, least));
  drop_idle(line);
  element_sums(s);
  if (want & WANT_CONDITION) condition_sums(s, edge, least, s->most);
  return 1;
}

static void put_unknown(room_cells *cells, int64_t at, unsigned want) {
  cells->class[at] = EXACT_FINITE;
  cells->x[at] = 0;
  cells->radius[at] = INFINITY;
  if (!(want & WANT_CONDITION)) return;
  cells->a_lo[at] = cells->s_lo[at] = 0;
  cells->a_hi[at] = cells->s_hi[at] = INFINITY;
}

/* A row without weight: what the policy prescribes. */
static void put_empty(room_cells *cells, int64_t at, const attest_problem *problem, int output,
                      unsigned want) {
  put_unknown(cells, at, want);
  problem_empty_row policy = problem->values.empty_row;
  if (policy == EMPTY_ERROR) return; /* the ball tier complains */
  cells->class[at] = policy == EMPTY_NAN    ? EXACT_NAN
                     : output == OUTPUT_OUT ? EXACT_FINITE
                                            : EXACT_MINUS_INF;
  cells->radius[at] = 0;
  if (want & WANT_CONDITION) cells->a_hi[at] = cells->s_hi[at] = 0;
}

static void put_out(room_cells *cells, int64_t first, const sparse_row_sums *s, unsigned want) {
  for (int64_t c = 0; c < cells->width; c++) {
    int64_t at = first + c;
    cells->class[at] = EXACT_FINITE;
    cells->x[at] = s->x[c];
    cells->radius[at] = s->radius[c];
    if (!(want & WANT_CONDITION)) continue;
    cells->a_lo[at] = fmax(0, s->a[c] - s->off_a[c]);
    cells->a_hi[at] = s->radius[c] < INFINITY ? s->a[c] + s->off_a[c] : INFINITY;
    cells->s_lo[at] = s->s_lo[c];
    cells->s_hi[at] = s->s_hi[c];
  }
}

/* log sum exp: largest + log sum, S = sum p t; over ln 2 in base 2. */
static void put_lse(room_cells *cells, int64_t at, const sparse_row_sums *s, unsigned want) {
  const sparse_line *line = &s->line;
  double logarithm = log64(line->sum), x = line->largest + logarithm, unit = 1, sized = 0,
         loose = 0;
  double depth = sparse_line_rounding(s->visible) + ((double)line->count + 4) * U;
  double radius = (depth + (s->most - s->least) / s->least + 0x1p-51 * (1 + fabs(logarithm)) +
                   2 * U * fabs(x)) *
                  SLACK;
  for (int64_t i = 0; i < line->count; i++) {
    sized += line->w[i] * line->t[i];
    loose += line->off[i] * (line->t[i] + line->te[i]) + line->w[i] * line->te[i];
  }
  if (line->pack->problem->values.lse_base == 2) {
    unit = EXP64_LOG2E;
    radius = 1.5 * radius + 0x1p-51 * fabs(x * unit);
  }
  cells->class[at] = EXACT_FINITE;
  cells->x[at] = x * unit;
  cells->radius[at] = isfinite(x) && radius < 1 ? radius : INFINITY;
  if (!(want & WANT_CONDITION)) return;
  cells->a_lo[at] = fmax(0, fabs(cells->x[at]) - cells->radius[at]);
  cells->a_hi[at] = fabs(cells->x[at]) + cells->radius[at];
  cells->s_lo[at] =
      fmax(0, (sized * (1 - 2 * depth) - loose * SLACK) / s->most * unit) * (1 - 0x1p-20);
  cells->s_hi[at] = (sized * (1 + 2 * depth) + loose * SLACK) / s->least * unit * SLACK;
}

/* Whether arguments that move by edge t may change the selection or empty the support, as far as
 * double can tell. */
static int may_jump(const sparse_row_sums *s, int known) {
  if (is_top(&s->line)) return !known || s->line.cut_low <= s->line.cut_high;
  sparse_rule rule = s->line.pack->kernel->rule;
  return s->is_near || (!known && (rule == RULE_WITHIN || rule == RULE_POWER));
}

/* The selection of row `at`, of an output of this width. */
static void put_indices(int64_t *indices, int64_t width, const sparse_row_sums *s) {
  int64_t count = s->line.is_unknown ? 0 : s->visible;
  for (int64_t i = 0; i < width; i++)
    indices[i] = i < count ? s->selection[i] : -1;
  if (s->line.is_unknown && width) indices[0] = INDICES_UNKNOWN;
}

/* After out and lse, whose scratch it overwrites. */
static void put_theory(room_block *block, sparse_row_sums *s, int64_t at, unsigned want, int known,
                       int empty) {
  double *theory = block->out.theory + at * block->out.width;
  int bounded = want & WANT_OUT && known && sparse_theory_row(theory, s, block->machine);
  for (int64_t c = 0; c < block->out.width && want & WANT_OUT && !bounded; c++)
    theory[c] = INFINITY;
  if (!(want & WANT_LSE)) return;
  const room_cells *lse = &block->lse;
  lse->theory[at] = empty    ? 0
                    : !known ? INFINITY
                             : sparse_theory_lse(s, block->machine, lse->x[at], lse->radius[at]);
}

static void enclose_row(room_block *block, sparse_row_sums *s, int64_t at, unsigned want) {
  const attest_problem *problem = s->line.pack->problem;
  int known = sparse_sums_row(s, block->row + at, want, block->edge);
  int empty = known && (s->visible == 0 || s->line.is_empty);
  if (block->reach) block->reach[at] = s->line.reach;
  if (block->jump) block->jump[at] = (unsigned char)may_jump(s, known);
  int64_t first = at * block->out.width, width = problem_output_width(problem, OUTPUT_INDICES);
  if (want & WANT_INDICES) put_indices(block->indices + at * width, width, s);
  for (int64_t c = 0; c < block->out.width && want & WANT_OUT && (empty || !known); c++)
    empty ? put_empty(&block->out, first + c, problem, OUTPUT_OUT, want)
          : put_unknown(&block->out, first + c, want);
  if (want & WANT_OUT && known && !empty) put_out(&block->out, first, s, want);
  if (want & WANT_LSE) {
    if (empty)
      put_empty(&block->lse, at, problem, OUTPUT_LSE, want);
    else if (!known)
      put_unknown(&block->lse, at, want);
    else
      put_lse(&block->lse, at, s, want);
  }
  if (want & WANT_THEORY) put_theory(block, s, at, want, known, empty);
}

static void unknown_rows(room_block *block, int64_t width, unsigned want) {
  for (int64_t i = 0; i < block->rows; i++) {
    for (int64_t c = 0; want & WANT_OUT && c < block->out.width; c++) {
      put_unknown(&block->out, i * block->out.width + c, want);
      if (want & WANT_THEORY) block->out.theory[i * block->out.width + c] = INFINITY;
    }
    if (want & WANT_LSE) put_unknown(&block->lse, i, want);
    if (want & WANT_LSE && want & WANT_THEORY) block->lse.theory[i] = INFINITY;
    if (want & WANT_INDICES) block->indices[i * width] = INDICES_UNKNOWN;
    if (block->reach) block->reach[i] = INFINITY;
    if (block->jump) block->jump[i] = 0;
  }
}

void sparse_enclose_rows(room_block *block, const void *work, unsigned want) {
  sparse_row_sums s;
  if (!sparse_sums_open(&s, work)) {
    const sparse_pack *pack = work;
    unknown_rows(block, problem_output_width(pack->problem, OUTPUT_INDICES), want);
    return;
  }
  for (int64_t at = 0; at < block->rows; at++)
    enclose_row(block, &s, at, want);
  sparse_sums_close(&s);
}
