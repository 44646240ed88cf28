/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The a-priori bound of a declared machine model: what rounding can do at worst, element by
 * element, to a Taylor or linear attention that multiplies and sums in the named formats.
 *
 * Derivation. u_P, u_W, u_A, u_O are the unit roundoffs of products, weights, accumulate, result;
 * n keys, D features. Sums of m terms in chains of `block` (0: one chain) round a term at most
 * depth(m) = block + 2 ceil(m / block) times, or m times.
 *
 * Form direct. The score is off by (d + 4) u_P t (products, sums, scale and its rounding; 2 u_P
 * more where q or k are rounded when read), so the weight by (d + 4) u_P t p'(|s|) and, for
 * evaluating the polynomial in any usual way, by (3 P + 3) u_P p(|s|); it may be rounded to the
 * format of weights; with a decay its power and product round, 3 u_P. The sums add depth(n) u_A: h
 * = slope t p'(|s|) + value p(|s|),  slope = (d + 4) u_P,  value = (3 P + 3) u_P + u_W + depth u_A.
 *
 * Forms recurrent and chunked. A product of features, psi_beta(q) k^beta v, meets 2 (P - 1)
 * roundings in the monomials, at most 2 P + 4 in the factor scale^m / beta! and the products, one
 * in weights, depth(n) in the state, depth(D) when it is read; elu1 adds 2 exp errors. Relative
 * errors of features do not cancel: h = value p(t), as sum |psi_beta k^beta| = p(t). A state that
 * decays step by step rounds twice more a step, and its factor is off by u_P: 3 n. Chunked: depth
 * is `chunk` + ceil(n / chunk) at most, and the keys of the own chunk take the direct path, whose
 * score costs at most (d + 4) u_P t p'(t) <= P (d + 4) u_P p(t); the larger of the two counts. The
 * two parts are added: one more.
 *
 * All of this in first order; the exact product of the factors 1 + e is within e^eta of it, where
 * eta is the sum of all relative errors at the largest t, required to be at most 1/2. With H = sum
 * h |u| e^eta, and 2 u_A (|W| + eps) more for adding eps, the quotient obeys x' - x = (dN - x dW) /
 * W',   |x' - x| <= (H_c + |x| H_dv) / (|W| - H_dv), where H_dv >= |W| makes the bound infinite.
 * Division and result round once each. Numbers that fall among the subnormals of a format lose at
 * most half a unit of them a product: (d + 4) a score, one a product with a feature or a value.
 * What may leave the range of a format makes the bound infinite. */
#include <stdlib.h>
#include <string.h>

#include "../enclosure/interval.h"
#include "terms.h"

static double roundoff(attest_dtype dtype) {
  return measure_unit_roundoff(tensor_dtype_format(dtype));
}

/* The smallest number of a format. */
static double quantum(attest_dtype dtype) {
  const tensor_format *format = tensor_dtype_format(dtype);
  return ldexp(1, format->emin - format->precision + 1);
}

room_machine taylor_machine(attest_dtype dtype) {
  attest_dtype work = dtype == ATTEST_FLOAT64 ? ATTEST_FLOAT64 : ATTEST_FLOAT32;
  return (room_machine){.products = work,
                        .weights = work,
                        .accumulate = work,
                        .result = dtype,
                        .result_lse = dtype,
                        .result_state = dtype,
                        .exp_error = 2,
                        .builtin = 1};
}

/* ---- declared models ------------------------------------------------------------------------- */

attest_status taylor_machine_parse(room_machine *machine, const char *text, attest_error *error) {
  *machine = taylor_machine(ATTEST_FLOAT32);
  machine->builtin = 0;
  return room_machine_parse(machine, text, error);
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Whether a tensor has more digits than a format, so that it is rounded when it is read. */
static int rounds(const attest_tensor *t, attest_dtype to) {
  return tensor_dtype_format(t->dtype)->precision > tensor_dtype_format(to)->precision;
}

static double depth(const room_machine *machine, double terms) {
  double block = (double)machine->block;
  if (!(block > 0) || block >= terms) return terms;
  return block + 2 * ceil(terms / block);
}

static double degree_of(const taylor_work *work) {
  return work->kind.degree > 0 ? (double)work->kind.degree : 1;
}

static double score_units(const room_machine *machine, const taylor_work *work) {
  int inputs =
      rounds(&work->slice.q, machine->products) || rounds(&work->slice.k, machine->products);
  double feature = work->kind.feature == FEATURE_ELU1 ? 2 * (machine->exp_error + 1) : 0;
  return (double)work->slice.d + 4 + 2 * inputs + feature;
}

static double weight_units(const room_machine *machine, const taylor_work *work) {
  double decay = work->power ? 3 : 0, degree = work->kind.degree > 0 ? degree_of(work) : 0;
  return (3 * degree + 3 + decay) * roundoff(machine->products);
}

/* Keys that the state of the row has summed. */
static double keys_of_row(const taylor_work *work, int64_t row) {
  int64_t lo, hi;
  problem_visible_range(&lo, &hi, work->problem, &work->slice, row);
  return hi > lo ? (double)(hi - lo) : 0;
}

static double state_depth(const room_machine *machine, const taylor_work *work, double keys) {
  const problem_values *values = &work->problem->values;
  double chunk = (double)values->chunk;
  if (values->form == FORM_CHUNKED && chunk < keys)
    return depth(machine, chunk) + ceil(keys / chunk) + 1;
  return depth(machine, keys);
}

/* Roundings of a feature of the key side and of its sum, in absolute units. */
static double key_side(const room_machine *machine, const taylor_work *work, double keys) {
  double u = roundoff(machine->products), a = roundoff(machine->accumulate),
         degree = degree_of(work);
  double inputs = rounds(&work->slice.k, machine->products) ? degree : 0;
  double feature = work->kind.feature == FEATURE_ELU1 ? machine->exp_error + 1 : 0;
  double decay = work->power ? (keys + 2) * (2 * a + u) : 0;
  double values = rounds(&work->slice.v, machine->accumulate);
  return (degree + inputs + feature) * u + (state_depth(machine, work, keys) + 1 + values) * a +
         decay;
}

void taylor_theory_units(double *slope, double *value, const room_machine *machine,
                         const taylor_work *work, int64_t row) {
  double u = roundoff(machine->products), a = roundoff(machine->accumulate);
  double weights = machine->weights == machine->products ? 0 : roundoff(machine->weights);
  double keys = keys_of_row(work, row) + (work->state_rows ? 1 : 0), degree = degree_of(work);
  double values = rounds(&work->slice.v, machine->accumulate);
  *slope = score_units(machine, work) * u;
  *value = weight_units(machine, work) + weights + (depth(machine, keys) + values + 2) * a;
  if (!work->kind.is_stateful && !work->state_rows) return;
  double features = (double)(work->state_rows ? work->state_rows : work->problem->state_rows);
  if (!(features > 0)) features = INFINITY; /* more than can be counted */
  double inputs = rounds(&work->slice.q, machine->products) ? degree : 0;
  double feature = work->kind.feature == FEATURE_ELU1 ? machine->exp_error + 1 : 0;
  double state = (3 * degree + 4 + inputs + feature) * u + weights + key_side(machine, work, keys) +
                 (depth(machine, features) + 1) * a;
  double direct = degree * *slope + *value + a;
  if (work->kind.is_stateful) *slope = 0;
  *value = state > direct ? state : direct;
}

/* ---- out ------------------------------------------------------------------------------------- */

/* What subnormals cost a sum over the row whose values are at most `largest`. */
static double underflow(const room_machine *machine, const taylor_row_view *v, double largest) {
  const taylor_work *work = v->work;
  double q = quantum(machine->products), keys = v->error.keys + (double)work->state_rows + 1;
  double size = (1 + fabs(work->scale)) * (1 + work->query_max) * (1 + work->feature_max);
  double score = ((double)work->slice.d + 4) * q * size;
  double cost =
      keys * (1 + largest) *
      (score * v->error.slope_max + q + quantum(machine->weights) + quantum(machine->accumulate));
  if (!work->kind.is_stateful) return cost;
  double power = 1;
  for (int64_t m = 0; m < work->kind.degree; m++)
    power *= fmax(1, fabs(work->scale));
  double features = (double)(work->problem->state_rows > 0 ? work->problem->state_rows : 1);
  return cost + features * keys * (q + quantum(machine->accumulate)) * size * power * (1 + largest);
}

/* Whether everything that the model computes stays within the range of its formats. */
static int fits(const room_machine *machine, const taylor_row_view *v, double largest) {
  const taylor_work *work = v->work;
  const tensor_format *products = tensor_dtype_format(machine->products);
  const tensor_format *weights = tensor_dtype_format(machine->weights);
  const tensor_format *sums = tensor_dtype_format(machine->accumulate);
  double keys = v->error.keys + 1, power = 1;
  for (int64_t m = 0; work->kind.is_stateful && m < work->kind.degree; m++)
    power *= fmax(1, fabs(work->scale));
  double state = work->kind.is_stateful || work->state_rows ? work->feature_max : 1;
  double query = work->kind.is_stateful || work->state_rows ? work->query_max : 1;
  double scale = fabs(work->scale);
  int normal =
      scale == 0 || (scale >= ldexp(1, products->emin) && scale < ldexp(1, products->emax));
  /* The scale may come last. */
  int unscaled = scale == 0 || v->error.t_max / scale < ldexp(1, products->emax - 1);
  return normal && unscaled && v->error.slope_max < ldexp(1, products->emax - 1) &&
         v->error.slope_max < ldexp(1, weights->emax - 1) &&
         query * power < ldexp(1, products->emax - 1) && state < ldexp(1, products->emax - 1) &&
         fmax(v->error.slope_max, state) * keys * (1 + largest) < ldexp(1, sums->emax - 1) &&
         work->state_max_all * query * power < ldexp(1, sums->emax - 1);
}

/* The sum of all relative errors at the largest t, or infinity where first order says nothing. */
static double growth(const room_machine *machine, const taylor_row_view *v, int64_t row) {
  double slope, value;
  taylor_theory_units(&slope, &value, machine, v->work, row);
  double eta = score_units(machine, v->work) * roundoff(machine->products) * (1 + v->error.t_max) +
               value + slope;
  return eta <= 0.5 ? eta : INFINITY;
}

void taylor_theory_row(room_block *block, const taylor_row_view *v, int64_t at) {
  const room_machine *machine = block->machine;
  const taylor_work *work = v->work;
  const tensor_format *result = tensor_dtype_format(machine->result);
  int64_t dv = work->slice.dv, width = block->out.width;
  double eta = growth(machine, v, block->row + at), factor = (1 + 2 * eta) * (1 + 0x1p-6);
  double a = roundoff(machine->accumulate), unused;
  double eps = problem_real_double(&unused, &work->problem->values.eps);
  double w_error = 0;
  if (work->kind.has_normalizer)
    w_error = v->hh[dv] * factor + 2 * a * (v->w_most + eps) + underflow(machine, v, 1);
  double w_least = v->w_least - w_error * (1 + 0x1p-20);
  for (int64_t c = 0; c < width; c++) {
    double *bound = &block->out.theory[at * width + c];
    double x = fabs(block->out.x[at * width + c]), radius = block->out.radius[at * width + c];
    double size = (x + radius) * (1 + 0x1p-40);
    double n_error = v->hh[c] * factor + underflow(machine, v, work->value_max[c]);
    double moved = (n_error + size * w_error) / w_least;
    if (!work->kind.has_normalizer) moved = n_error;
    double ends = (a + roundoff(machine->result)) * (size + moved) + quantum(machine->accumulate) +
                  quantum(machine->result);
    *bound = (moved + ends) * (1 + 0x1p-6);
    double largest = ldexp(2 - ldexp(1, 1 - result->precision), result->emax);
    if (!v->usable || !(w_least > 0) || !(*bound >= 0) || !isfinite(radius) ||
        !(size + *bound <= largest) || !fits(machine, v, work->value_max[c]))
      *bound = INFINITY;
  }
}

/* ---- the final state ------------------------------------------------------------------------- */

void taylor_theory_state(room_block *block, const taylor_sums *sums, const taylor_work *work,
                         int64_t at) {
  const room_machine *machine = block->machine;
  const tensor_format *format = tensor_dtype_format(machine->accumulate);
  int64_t width = block->state.width;
  double keys = (double)work->slice.nk + 1;
  double units = key_side(machine, work, keys) + 2 * roundoff(machine->accumulate);
  for (int64_t c = 0; c < width; c++) {
    int64_t i = at * width + c;
    double start = work->slice.initial_state.data
                       ? fabs(taylor_element(&work->slice.initial_state, block->row + at, c))
                       : 0;
    double size = sums->e[at * work->pad + c] * (1 + 0x1p-20) + start;
    double x = fabs(block->state.x[i]), radius = block->state.radius[i];
    double lost = keys * (quantum(machine->products) + quantum(machine->accumulate)) *
                  work->feature_max * (1 + work->value_max[c] + start);
    double bound = units * size * (1 + 2 * units) +
                   roundoff(machine->result_state) * (x + radius + units * size) + lost +
                   quantum(machine->result_state);
    int inside =
        units <= 0.5 && isfinite(radius) &&
        work->feature_max * keys * (1 + work->value_max[c] + start) < ldexp(1, format->emax - 1) &&
        x + bound < ldexp(1, tensor_dtype_format(machine->result_state)->emax);
    block->state.theory[i] = inside ? bound * (1 + 0x1p-6) : INFINITY;
  }
}
