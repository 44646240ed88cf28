/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* On which side of a limit the backward error lies where first order does not apply, for a whole
 * row in double: the bounds of perturb.c at one size B = limit.
 *
 * With theta_j = B u_s t_j (required: at most 30), eps_v = B u_w and the sums of the row in double,
 *   U = [sum p (expm1(theta) |v - x| + eps_v e^theta |v|)] / sum p e^-theta   is never exceeded;
 *   E = [sum move + eps_v sum w' |v|] / sum w'   is attained by the perturbation that grows the
 * keys on the side of got and shrinks the others (move, w': softmax_row_moves). Errors. Weights, t
 * and sums are off by kappa = 2 rho + (1 + theta) size_error + (3 N + 64) u relative, counted 4
 * times over (p, e^theta, numerator, denominator; required: kappa <= 2^-24); |v - x| by the radius,
 * that is sum p expm1(theta) radius in both; keys whose weight is below e^-68 have weights below
 * e^-38 < 2^-54 even when grown: N 2^-52 (1 + eps_v) max|v - x| more for U, and N 2^-53 in the
 * denominator of E, where they could only help the numerator. A choice of sides that rounding got
 * wrong is still a perturbation, off by the radius again. */
#include <math.h>
#include <stdlib.h>

#include "terms.h"

typedef struct {
  double theta_max, kappa, eps_v;
  double sum_grown; /* sum p expm1(theta), the sink's included */
  double least;     /* sum p e^-theta */
  double sink_grown, sink_shrunk, sink;
} side_terms;

/* second->g holds p on entry; on return p, grown and shrunk are in g, size and run, p e^theta in h.
 */
static void grow(side_terms *t, softmax_second *second, const softmax_row_terms *terms,
                 double eps_s) {
  double theta = eps_s * second->sink_size;
  t->sink = second->sink_weight;
  t->sink_grown = t->sink * expm1(theta);
  t->sink_shrunk = -t->sink * expm1(-theta);
  t->sum_grown = t->sink_grown;
  t->least = t->sink - t->sink_shrunk;
  for (int64_t j = terms->lo; j < terms->hi; j++) {
    double p = second->g[j];
    theta = eps_s * second->size[j];
    second->size[j] = p > 0 ? p * expm1(theta) : 0;
    second->run[j] = p > 0 ? -p * expm1(-theta) : 0;
    second->h[j] = p + second->size[j];
    t->sum_grown += second->size[j];
    t->least += p - second->run[j];
  }
}

/* The sink, whose value is 0, in E. */
static void add_sink(double *move, double *weight, const side_terms *t, double x, double towards) {
  int up = -x * towards > 0;
  *move += (up ? t->sink_grown : t->sink_shrunk) * fabs(x);
  *weight += up ? t->sink + t->sink_grown : t->sink - t->sink_shrunk;
}

static signed char side_of(double reach_most, double reach_sure, double gap, double radius,
                           double allowed) {
  if (gap - radius > reach_most + allowed) return -1;
  return gap + radius <= reach_sure + allowed;
}

static int side_terms_open(side_terms *t, softmax_second *second, const softmax_pack *pack,
                           const softmax_row_terms *terms, double limit, double u_w, double u_s) {
  t->theta_max = limit * u_s * terms->reach;
  t->eps_v = limit * u_w;
  t->kappa = 4 * (2 * terms->rho + (1 + t->theta_max) * terms->size_error +
                  (3 * terms->keys + 64) * 0x1p-53);
  return terms->usable && t->theta_max <= 30 && t->kappa <= 0x1p-24 && t->eps_v <= 1 &&
         softmax_second_open(second, pack);
}

void softmax_backward_side(signed char *side, const double *got, const double *x,
                           const double *radius, const void *work, int64_t row, double limit,
                           double u_w, double u_s, double quantum) {
  const softmax_pack *pack = work;
  int64_t dv = pack->slice.dv;
  softmax_row_terms terms;
  softmax_second second = {0};
  side_terms t;
  memset(side, 0, (size_t)dv);
  softmax_terms_of_row(&terms, pack, row);
  softmax_terms_finish(&terms, 1);
  if (!side_terms_open(&t, &second, pack, &terms, limit, u_w, u_s)) return;
  softmax_second_weights(&second, pack, &terms, row);
  grow(&t, &second, &terms, limit * u_s);
  softmax_row_sums(second.spread, second.total, x, second.size, second.h, pack, terms.lo, terms.hi);
  double *towards = second.scratch, *move = towards + dv, *size = move + dv, *weight = size + dv;
  for (int64_t c = 0; c < dv; c++)
    towards[c] = got[c] >= x[c] ? 1 : -1;
  softmax_moves moves = {second.g, second.size, second.run};
  softmax_row_moves(move, size, weight, x, towards, &moves, pack, terms.lo, terms.hi);
  for (int64_t c = 0; c < dv && second.sum > 0; c++) {
    double far = softmax_largest_value(pack, &terms, c) + fabs(x[c]);
    double most = second.spread[c] + t.sink_grown * fabs(x[c]) + t.eps_v * second.total[c];
    add_sink(&move[c], &weight[c], &t, x[c], towards[c]);
    double loose = t.sum_grown * radius[c];
    most = ((most + loose) * (1 + t.kappa) + terms.keys * 0x1p-52 * (1 + t.eps_v) * far) / t.least *
           (1 + t.kappa);
    double sure = (move[c] + t.eps_v * size[c]) * (1 - t.kappa) - loose;
    sure = sure / ((weight[c] + terms.keys * 0x1p-53) * (1 + t.kappa));
    side[c] = side_of(most, sure, fabs(got[c] - x[c]), radius[c], limit * quantum);
    if (!isfinite(most + sure + radius[c] + got[c])) side[c] = 0;
  }
  softmax_second_close(&second);
}
