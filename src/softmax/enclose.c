/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double tier: softmax attention in float64 with a radius that contains the exact value.
 *
 * Derivation (theorem softmax_radius). u = 2^-53, g(n) = n u / (1 - n u), hats are computed values.
 *
 * 1. Scores. Product with the scale: the double scale is off by e_c, the product rounds once, the
 *    chain of d fused operations rounds d times, so before anything is added
 *      |s^ - s| <= g(d+3) sum |scale q_a k_a| + e_c |q|_2 |k|_2 + d 2^-1000 (1 + |k|),
 *    the first sum being at most
 *    T = |scale| |q|_2 max |k|_2 over the blocks of visible keys (Cauchy-Schwarz). Rotated vectors
 *    are off by sqrt(2) r in norm, r = ROTARY_ROUNDING, which adds at most 2 sqrt(2) r (1 + r) T,
 * and d 2^-1000 |scale| (1 + |q| + |k|) where their products underflow; their norms are those of q
 * and k up to 2^-50, and absolute scores, sums over pairs of 2 |q_pair| |k_pair|, at most 2 T. A
 *    softcap is
 *    1-Lipschitz; its own arithmetic costs 16 u cap (EXP_TANH_ERROR and three operations), as long
 *    as cap and 1 / cap are normal: required is 2^-1000 <= cap <= 2^1000. Bias,
 *    slope and their additions round at most 4 times a quantity below R = sum of all absolute
 *    terms; the temperature at most 3 times, and stays between 2^-900 and 2^900. Together E.
 * 2. Weights. y = s^ - m rounds once: u |y|. exp: EXP64_ERROR u. A key with y >= -68 has |y| <= 68
 *    (y exceeds PASS_SHIFT by what rounding m + PASS_SHIFT lets through, not by 1/2). Moving the
 * shift multiplies all sums by f = exp(-D), D > 8; a key that still matters (total D <= 76.5) meets
 * at most 9 moves, whose errors add up to at most u (76.5 + 9 (EXP64_ERROR + 1)) <= 112 u. So every
 * key that matters has relative weight error rho = (E + 70 u + [112 u if the shift moved]) (1 +
 * 2^-10),   required: rho <= 2^-16. The others, y < -68 or flushed below EXP64_MIN, have true and
 * computed weights below 1.01 e^-68 < 2^-98 where the sum of weights is at least 1 (the key that
 * set the shift): their share in out is at most tail = N 2^-96 max |v|, N keys with the sink.
 * 3. Sums. A weight meets at most g(32 + 8 + blocks + 10) in out and g(16 + 4 + blocks + 10) in the
 *    normaliser; the division rounds once. With A = sum p |v| and x^ computed,
 *      |x^ - x| <= (1 + 2^-8) [rho (A + |x^|) + g(nO) A + g(nW) |x^| + u |x^|] + tail + (N + 2)
 * 2^-1000 (2^-1073 in truth, but subnormals are slow), the factor absorbing products of the terms
 * and A, x against A^, x^.
 * 4. lse = m + log W: rho + g(nW) + N 2^-96 from W, 2^-51 (1 + |log W|) from log64, one rounding.
 * 5. Conditioning, in float (u_f = 2^-24; theorems condition_a, condition_c, condition_s and
 *    condition_lse): w, t, w t, |v| and |v - m|, m about the mean of the values, are rounded, t is
 * a float dot product, sums have the depth of step 3 and follow the shift at most 9 times, which
 *    rounds twice each: relative errors of A, C and E = sum p t |v - m| over the keys are below
 *      kappa = 2 rho + (d + 110 + blocks) u_f + size_error,
 *    of which d + 69 + blocks are roundings and the others pay for products of errors, and for what
 *    dividing and adding up rounds in double. kappa is relative to the exact sums; required: kappa
 *    <= 2^-10, so that (1 + 2^-3) kappa of the computed ones is enough. Weights below 2^-98 are
 *    bounded, not known, and products of floats underflow: N 2^-95 max|v| in A, N 2^-92 R in C and
 * E, there with |v - m| as its factor, and N 2^-142 in units of the packed values, N (d + 2) 2^-124
 *    (1 + |q| + |k|) in t. Those units are powers of two between 2^-1000 and 2^900, so that the
 *    normaliser times one is in range, and the packed values below 2^24, so nothing overflows in
 *    float as long as R and |k| stay below 2^60. What underflows in double in the products of q and
 * k is below 2^-1068 (1 + |k|) d before the temperature, required to be above 2^-800. A scale that
 *    is off by more than 2^-52 relatively leaves t unknown.
 *    By the triangle inequality S over the keys is within |x - m| C of E: a bound that costs no
 *    second look at the keys, close where attention is spread over many, and 0 at worst. The sink,
 *    whose value is 0, adds its own term to S.
 *
 * Whatever overflows or exceeds its requirement gets an infinite radius: the next tier decides. */
#include <float.h>
#include <stdlib.h>

#include "../enclosure/exp.h"
#include "../enclosure/interval.h"
#include "../problem/rotary.h"
#include "condition_constants.h"
#include "pass.h"
#include "terms.h"

attest_status softmax_enclose_open(void **work, const attest_problem *problem,
                                   const problem_slice *slice, unsigned want, attest_error *error) {
  softmax_pack *pack = NULL;
  int condition = (want & WANT_CONDITION) != 0;
  attest_status status = softmax_pack_open(&pack, problem, slice, 1, condition, error);
  *work = pack;
  return status;
}

void softmax_enclose_close(void *work) {
  softmax_pack_close(work);
}

/* ---- what all elements of a row share
 * -------------------------------------------------------------- */

static double gamma_up(double n) {
  return n * 0x1p-53 * (1 + 0x1p-20);
}

static double query_norm(const softmax_pack *pack, int64_t row) {
  const attest_tensor *t = &pack->slice.q;
  double squares = 0;
  for (int64_t a = 0; a < pack->slice.d; a++) {
    double q = tensor_at(t, row * t->stride[0] + a * t->stride[1]);
    squares += q * q;
  }
  return softmax_norm(squares, pack->slice.d);
}

/* Largest |k|_2 over the blocks that meet lo .. hi - 1. */
static double largest_key(const softmax_pack *pack, int64_t lo, int64_t hi) {
  double largest = 0;
  for (int64_t b = lo / PASS_KEYS; b * PASS_KEYS < hi; b++)
    largest = pack->key_norm[b] > largest ? pack->key_norm[b] : largest;
  return largest;
}

/* Largest |slope (j - i')| for lo <= j < hi. */
static double largest_step(const problem_slice *slice, int64_t row, int64_t lo, int64_t hi) {
  if (!slice->has_slope || hi <= lo) return 0;
  double before = fabs((double)(lo - row - slice->offset));
  double after = fabs((double)(hi - 1 - row - slice->offset));
  return enclosure_mul_up(fabs(slice->slope), before > after ? before : after);
}

void softmax_terms_of_row(softmax_row_terms *terms, const softmax_pack *pack, int64_t row) {
  const problem_slice *slice = &pack->slice;
  problem_visible_range(&terms->lo, &terms->hi, pack->problem, slice, row);
  int64_t lo = terms->lo, hi = terms->hi > lo ? terms->hi : lo;
  double scale = enclosure_add_up(fabs(pack->scale), pack->scale_error);
  double key = terms->key_norm = largest_key(pack, lo, hi);
  terms->query_norm = query_norm(pack, row);
  if (pack->is_rotary) {
    key = terms->key_norm = enclosure_mul_up(key, 1 + 0x1p-48);
    terms->query_norm = enclosure_mul_up(terms->query_norm, 1 + 0x1p-48);
  }
  double products = enclosure_mul_up(scale, enclosure_mul_up(terms->query_norm, key));
  double extras = enclosure_add_up(pack->bias_max, largest_step(slice, row, lo, hi));
  double cap = pack->has_softcap ? pack->softcap : 0;
  double capped = enclosure_mul_up(cap < products ? cap : products, 1 + 0x1p-40);
  double sized = pack->is_rotary ? 2 * products : products;
  double size = enclosure_add_up(enclosure_add_up(sized, capped), extras);
  double inverse = pack->has_temperature ? enclosure_add_up(pack->inverse_temperature,
                                                            pack->inverse_temperature_error)
                                         : 1;
  terms->reach = enclosure_mul_up(size, inverse);
  double sink = slice->has_sink ? enclosure_mul_up(fabs(slice->sink), inverse) : 0;
  double before = gamma_up((double)slice->d + 3) * products +
                  (double)slice->d * 0x1p-1000 * (1 + key) +
                  enclosure_mul_up(pack->scale_error, enclosure_mul_up(terms->query_norm, key));
  if (pack->is_rotary)
    before += 3 * ROTARY_ROUNDING * products +
              (double)slice->d * 0x1p-1000 * scale * (1 + terms->query_norm + key);
  if (pack->overflows || !(inverse >= 0x1p-900 && inverse <= 0x1p900)) before = INFINITY;
  terms->product_error = before * inverse;
  terms->cap_error = 16 * 0x1p-53 * cap * inverse;
  if (pack->has_softcap && !(cap >= 0x1p-1000 && cap <= 0x1p1000)) terms->cap_error = INFINITY;
  terms->extra_error = 0;
  if (pack->has_extras) terms->extra_error += 4 * 0x1p-53 * size * inverse;
  if (pack->has_temperature)
    terms->extra_error +=
        3 * 0x1p-53 * terms->reach + enclosure_mul_up(pack->inverse_temperature_error, size);
  if (slice->has_sink) terms->extra_error += 2 * 0x1p-53 * sink;
  terms->reach = sink > terms->reach ? sink : terms->reach;
  /* A scale among subnormals may be off by more than roundings. */
  double known = pack->scale_error <= 0x1p-52 * fabs(pack->scale) ? 0 : INFINITY;
  terms->size_error = known + gamma_up((double)slice->d + (pack->is_rotary ? 20 : 12)) +
                      (pack->has_softcap ? 3 * before / cap + 300 * 0x1p-53 : 0);
  terms->blocks = (double)(hi / PASS_KEYS - lo / PASS_KEYS + 1);
  terms->keys = (double)(hi - lo + (slice->has_sink != 0));
}

static double score_error(const softmax_row_terms *terms) {
  return terms->product_error + terms->cap_error + terms->extra_error;
}

void softmax_terms_finish(softmax_row_terms *terms, int rescaled) {
  terms->rho = (score_error(terms) + (70 + (rescaled ? 112 : 0)) * 0x1p-53) * (1 + 0x1p-10);
  terms->out_error = gamma_up(PASS_CHAIN + PASS_KEYS / PASS_CHAIN + terms->blocks + 10);
  terms->sum_error = gamma_up(PASS_KEYS / PASS_LANES + 4 + terms->blocks + 10);
  terms->usable = terms->rho <= 0x1p-16 && terms->reach <= 0x1p900;
}

double softmax_tail(const softmax_row_terms *terms, double v_max) {
  return terms->keys * 0x1p-96 * v_max + (terms->keys + 2) * 0x1p-1000;
}

double softmax_radius(const softmax_row_terms *terms, double a, double x, double tail) {
  return (1 + 0x1p-8) *
             (terms->rho * (a + x) + terms->out_error * a + (terms->sum_error + 0x1p-53) * x) +
         tail;
}

/* ---- one row
 * -------------------------------------------------------------------------------------------- */

typedef struct {
  double x, radius, a_lo, a_hi, s_lo, s_hi;
} element;

static const element unknown = {0, INFINITY, 0, INFINITY, 0, INFINITY};

double softmax_largest_value(const softmax_pack *pack, const softmax_row_terms *terms, int64_t c) {
  double largest = 0;
  for (int64_t b = terms->lo / PASS_KEYS; b * PASS_KEYS < terms->hi; b++) {
    double v = pack->value_max[b * pack->slice.dv + c];
    largest = v > largest ? v : largest;
  }
  return largest;
}

/* The row's terms in float, normalised by nothing yet; kept is NULL without condition. */
typedef struct {
  const softmax_state_f64 *state;
  const softmax_condition *kept;
  const softmax_pack *pack;
  const softmax_row_terms *terms;
  const double *v_max; /* a component: softmax_largest_value */
  int64_t r;           /* row of the state */
  double kappa;        /* step 5 */
  double c_off;        /* what underflow does to C */
  double sink;         /* its p t */
  double c_hi;         /* C from above, without the sink */
  int measurable;      /* step 5 applies */
} row_view;

static row_view view_row(const softmax_state_f64 *state, const softmax_condition *kept,
                         const softmax_pack *pack, const softmax_row_terms *terms,
                         const double *v_max, int64_t r) {
  row_view view = {
      .state = state, .kept = kept, .pack = pack, .terms = terms, .v_max = v_max, .r = r};
  if (!kept) return view;
  double depth = (double)pack->slice.d + CONDITION_DEPTH + terms->blocks;
  view.kappa = 2 * terms->rho + depth * 0x1p-24 + terms->size_error;
  int certain = view.kappa <= CONDITION_KAPPA_MAX && fabs(pack->inverse_temperature) <= 0x1p800;
  view.kappa *= 1 + 0x1p-3;
  view.c_off = terms->keys * (CONDITION_TAIL_SIZE * terms->reach +
                              ((double)pack->slice.d + 2) * CONDITION_UNDERFLOW_SIZE *
                                  (1 + fabs(pack->scale) * terms->query_norm + terms->key_norm));
  view.sink = kept->sink[r] / state->sum[r];
  view.c_hi = (double)kept->c[r] / state->sum[r] * (1 + view.kappa) + view.c_off;
  view.measurable = certain && terms->reach <= 0x1p60 && terms->key_norm <= 0x1p60 &&
                    isfinite(view.c_hi + view.sink);
  return view;
}

/* Step 5 for A: replaces the bounds 0 and max |v|. */
static void measure_a(element *e, const row_view *view, int64_t c, double v_max) {
  double unit = view->pack->value_scale_f32 * view->state->sum[view->r];
  double a = (double)view->kept->a[view->r * view->pack->dv_pad_f32 + c] / unit;
  double tail = view->terms->keys *
                    (CONDITION_TAIL * v_max + CONDITION_UNDERFLOW / view->pack->value_scale_f32) +
                0x1p-1060; /* what is subnormal here is off by a few times 2^-1074 */
  e->a_hi = fmin(e->a_hi, a * (1 + view->kappa) + tail);
  e->a_lo = fmax(0, a * (1 - view->kappa) - tail);
}

/* Step 5 for S. */
static void measure_s(element *e, const row_view *view, int64_t c, double v_max) {
  double scale = view->pack->value_scale_f32, center = view->pack->center[c];
  double sum = view->state->sum[view->r], x = fabs(e->x), sink = view->sink * x;
  double s = (double)view->kept->e[view->r * view->pack->dv_pad_f32 + c] / (scale * sum) + sink;
  double away = fabs(e->x * scale - center) / scale + e->radius;
  double size = v_max + (fabs(center) + 0x1p-100) / scale; /* of v - center */
  double off = view->kappa * s + view->c_off * size +
               (view->c_hi + view->terms->keys) * CONDITION_UNDERFLOW / scale + away * view->c_hi +
               2 * view->sink * e->radius + 0x1p-1040;
  e->s_lo = fmax(0, s - off * (1 + 0x1p-20));
  e->s_hi = s + off * (1 + 0x1p-20);
  if (!(e->s_hi >= 0)) e->s_hi = INFINITY;
  if (!(e->s_lo >= 0)) e->s_lo = 0;
}

/* Steps 3 and 5 for component c. */
static element enclose_element(const row_view *view, int64_t c) {
  const softmax_row_terms *terms = view->terms;
  double v_max = view->v_max[c], tail = softmax_tail(terms, v_max);
  element e = {.x = view->state->out[view->r * view->pack->dv_pad + c] / view->state->sum[view->r],
               .a_hi = v_max,
               .s_hi = INFINITY};
  if (view->measurable) measure_a(&e, view, c, v_max);
  e.radius = softmax_radius(terms, e.a_hi, fabs(e.x), tail);
  if (!isfinite(e.x) || !isfinite(e.radius)) return unknown;
  if (view->measurable) measure_s(&e, view, c, v_max);
  return e;
}

/* Step 4. */
static element enclose_lse(const row_view *view) {
  const softmax_row_terms *terms = view->terms;
  double logarithm = log64(view->state->sum[view->r]);
  element e = {.x = view->state->shift[view->r] + logarithm, .s_hi = INFINITY};
  e.radius = (1 + 0x1p-8) * (terms->rho + terms->sum_error + terms->keys * 0x1p-96 +
                             0x1p-51 * (1 + fabs(logarithm)) + 0x1p-53 * fabs(e.x));
  if (view->measurable) {
    double c = (double)view->kept->c[view->r] / view->state->sum[view->r];
    e.s_hi = view->c_hi + view->sink * (1 + view->kappa);
    e.s_lo = fmax(0, (c + view->sink) * (1 - view->kappa) - view->c_off);
  }
  if (view->pack->problem->values.lse_base == 2) {
    e.x *= EXP64_LOG2E;
    e.radius = 1.5 * e.radius + 0x1p-51 * fabs(e.x);
    e.s_lo *= EXP64_LOG2E * (1 - 0x1p-50);
    e.s_hi *= EXP64_LOG2E * (1 + 0x1p-50);
  }
  if (!isfinite(e.x) || !isfinite(e.radius)) return unknown;
  e.a_lo = fmax(0, enclosure_add_down(fabs(e.x), -e.radius));
  e.a_hi = enclosure_add_up(fabs(e.x), e.radius);
  return e;
}

static void put(room_cells *cells, int64_t at, const element *e) {
  cells->x[at] = e->x;
  cells->radius[at] = e->radius;
  if (cells->a_lo) {
    cells->a_lo[at] = e->a_lo;
    cells->a_hi[at] = e->a_hi;
    cells->s_lo[at] = e->s_lo;
    cells->s_hi[at] = e->s_hi;
  }
}

/* Puts what the edge policy prescribes; what it leaves to be computed from a part of the keys is
 * left to the ball tier. */
static int put_special(room_cells *cells, double *value, const softmax_pack *pack, int64_t row,
                       int64_t first, int output) {
  unsigned char *class = cells->class + first;
  int kind = softmax_special_row(class, value, pack->problem, &pack->slice, row, output);
  for (int64_t c = 0; kind != 1 && c < cells->width; c++) {
    element e = {value[c], 0, fabs(value[c]), fabs(value[c]), 0, 0};
    if (kind != 0 || (output == OUTPUT_LSE && class[c] == EXACT_FINITE)) e = unknown;
    put(cells, first + c, &e);
  }
  return kind;
}

static void row_out(room_block *block, const row_view *view, int64_t at, double *value) {
  const softmax_pack *pack = view->pack;
  room_cells *cells = &block->out;
  int special = pack->has_nonfinite || !(view->state->sum[view->r] > 0);
  memset(cells->class + at * cells->width, EXACT_FINITE, (size_t)cells->width);
  if (special &&
      put_special(cells, value, pack, block->row + at, at * cells->width, OUTPUT_OUT) != 1)
    return;
  for (int64_t c = 0; c < cells->width; c++) {
    element e = view->terms->usable ? enclose_element(view, c) : unknown;
    put(cells, at * cells->width + c, &e);
  }
}

static void row_lse(room_block *block, const row_view *view, int64_t at) {
  const softmax_pack *pack = view->pack;
  room_cells *cells = &block->lse;
  double value;
  int special = pack->has_nonfinite || !(view->state->sum[view->r] > 0);
  cells->class[at] = EXACT_FINITE;
  if (special && put_special(cells, &value, pack, block->row + at, at, OUTPUT_LSE) != 1) return;
  element e = view->terms->usable ? enclose_lse(view) : unknown;
  put(cells, at, &e);
}

static void unknown_rows(room_block *block, unsigned want) {
  for (int64_t i = 0; (want & WANT_OUT) && i < block->rows * block->out.width; i++) {
    put(&block->out, i, &unknown);
    block->out.class[i] = EXACT_FINITE;
    if (want & WANT_THEORY) block->out.theory[i] = INFINITY;
  }
  for (int64_t i = 0; (want & WANT_LSE) && i < block->rows; i++) {
    put(&block->lse, i, &unknown);
    block->lse.class[i] = EXACT_FINITE;
    if (want & WANT_THEORY) block->lse.theory[i] = INFINITY;
  }
  for (int64_t i = 0; block->reach && i < block->rows; i++)
    block->reach[i] = INFINITY;
}

/* softmax_largest_value of all components. */
static void largest_values(double *v_max, const softmax_pack *pack,
                           const softmax_row_terms *terms) {
  int64_t dv = pack->slice.dv;
  for (int64_t c = 0; c < dv; c++)
    v_max[c] = 0;
  for (int64_t b = terms->lo / PASS_KEYS; b * PASS_KEYS < terms->hi; b++)
    for (int64_t c = 0; c < dv; c++) {
      double v = pack->value_max[b * dv + c];
      v_max[c] = v > v_max[c] ? v : v_max[c];
    }
}

/* Working memory of one call. It goes from call to call: blocks of rows of short heads take hardly
 * longer than clearing new memory does, which the system hands out a page at a time. */
typedef struct softmax_scratch {
  softmax_state_f64 state;
  softmax_condition kept;
  softmax_second second; /* where it was wanted */
  double *value, *v_max;
  struct softmax_scratch *next;
} scratch;

static void scratch_close(scratch *s) {
  softmax_second_close(&s->second);
  softmax_condition_close(&s->kept);
  softmax_state_close_f64(&s->state);
  free(s->value);
  free(s->v_max);
  free(s);
}

void softmax_spare_close(softmax_pack *pack) {
  for (scratch *s = pack->spare, *next; s; s = next) {
    next = s->next;
    scratch_close(s);
  }
  pack->spare = NULL;
}

static scratch *scratch_open(const softmax_pack *pack) {
  scratch *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->value = malloc(((size_t)pack->slice.dv + 1) * sizeof *s->value);
  s->v_max = malloc(((size_t)pack->slice.dv + 1) * sizeof *s->v_max);
  if (s->value && s->v_max && softmax_state_open_f64(&s->state, pack, NULL) == ATTEST_OK &&
      (!pack->condition || softmax_condition_open(&s->kept, pack, NULL) == ATTEST_OK))
    return s;
  scratch_close(s);
  return NULL;
}

static void scratch_give(softmax_pack *pack, scratch *s) {
#pragma omp critical(softmax_spare)
  {
    s->next = pack->spare;
    pack->spare = s;
  }
}

/* NULL when there is no memory. */
static scratch *scratch_take(softmax_pack *pack, unsigned want) {
  scratch *s;
#pragma omp critical(softmax_spare)
  {
    s = pack->spare;
    if (s) pack->spare = s->next;
  }
  if (!s && !(s = scratch_open(pack))) return NULL;
  if (!(want & WANT_THEORY) || s->second.memory || softmax_second_open(&s->second, pack)) return s;
  scratch_give(pack, s);
  return NULL;
}

static void enclose_rows(room_block *block, scratch *s, const softmax_pack *pack, int64_t at,
                         int64_t rows, unsigned want) {
  if (pack->condition)
    softmax_pass_condition(&s->kept, &s->state, pack, block->row + at, rows);
  else
    softmax_pass_f64(&s->state, pack, block->row + at, rows);
  for (int64_t r = 0; r < rows; r++) {
    softmax_row_terms terms;
    softmax_terms_of_row(&terms, pack, block->row + at + r);
    softmax_terms_finish(&terms, s->state.rescaled[r]);
    largest_values(s->v_max, pack, &terms);
    row_view view =
        view_row(&s->state, pack->condition ? &s->kept : NULL, pack, &terms, s->v_max, r);
    if (block->reach) block->reach[at + r] = terms.reach;
    if (want & WANT_OUT) row_out(block, &view, at + r, s->value);
    if (want & WANT_LSE) row_lse(block, &view, at + r);
    if (want & WANT_THEORY) softmax_theory_row(block, &s->second, pack, at + r, want);
  }
}

void softmax_enclose_rows(room_block *block, const void *work, unsigned want) {
  softmax_pack *pack = (softmax_pack *)work; /* shared: of it only the spare memory changes */
  scratch *s = scratch_take(pack, want);
  if (!s) {
    unknown_rows(block, want);
    return;
  }
  for (int64_t at = 0; at < block->rows; at += PASS_ROWS)
    enclose_rows(block, s, pack, at, block->rows - at < PASS_ROWS ? block->rows - at : PASS_ROWS,
                 want);
  scratch_give(pack, s);
}
