/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Second passes over one row in double: the sensitivity S itself instead of its bounds. */
#include <stdlib.h>

#include "../enclosure/exp.h"
#include "condition_constants.h"
#include "terms.h"

int softmax_second_open(softmax_second *second, const softmax_pack *pack) {
  int64_t keys = pack->blocks * PASS_KEYS + 1, dv = pack->slice.dv;
  memset(second, 0, sizeof *second);
  second->memory = malloc((size_t)(5 * keys + 6 * dv) * sizeof(double));
  if (!second->memory || softmax_state_open_f64(&second->state, pack, NULL) != ATTEST_OK) {
    softmax_second_close(second);
    return 0;
  }
  second->score = second->memory;
  second->size = second->score + keys;
  second->g = second->size + keys;
  second->h = second->g + keys;
  second->run = second->h + keys;
  second->spread = second->run + keys;
  second->total = second->spread + dv;
  second->scratch = second->total + dv;
  return 1;
}

void softmax_second_close(softmax_second *second) {
  if (!second->memory) return;
  softmax_state_close_f64(&second->state);
  free(second->memory);
  second->memory = NULL;
}

/* exp(x) for any x <= 0. */
static double weight(double x) {
  double w;
  exp64_array(&w, &x, 1);
  return w;
}

void softmax_second_weights(softmax_second *second, const softmax_pack *pack,
                            const softmax_row_terms *terms, int64_t row) {
  softmax_row_scores(second->score, second->size, &second->state, pack, row);
  double sink = second->state.shift[0], largest = sink; /* -infinity without a sink */
  for (int64_t j = terms->lo; j < terms->hi; j++)
    largest = second->score[j] > largest ? second->score[j] : largest;
  double base = largest > -INFINITY ? largest : 0;
  for (int64_t j = terms->lo; j < terms->hi; j++)
    second->h[j] = second->score[j] - base;
  if (terms->hi > terms->lo)
    exp64_array(second->g + terms->lo, second->h + terms->lo, (size_t)(terms->hi - terms->lo));
  second->sink_weight = weight(sink - base);
  second->sink_size = pack->slice.has_sink ? fabs(sink) : 0;
  second->largest = largest;
  second->sum = second->sink_weight;
  for (int64_t j = terms->lo; j < terms->hi; j++)
    second->sum += second->g[j];
  for (int64_t j = terms->lo; j < terms->hi; j++)
    second->g[j] /= second->sum;
  second->sink_weight /= second->sum;
}

/* S^_c = sum p t |v_c - x^_c|: weights are off by 2 rho + (N + 4) u relative, t by size_error, the
 * sums by 2 N u, |v - x| by the radius; keys with weights below e^-68 by N 2^-95 max t max|v - x|.
 * The relative part is of the exact S; up to 2^-10, (1 + 2^-2) of it of the computed S is enough,
 * beyond that nothing is known. What underflows is off by half a subnormal: d + 2 times in a t,
 * before the scale of the other factor and the temperature, and once a key in the sum. (theorem
 * second_pass) */
void softmax_sensitivity(double *s_lo, double *s_hi, const double *x, const double *radius,
                         const void *work, int64_t row) {
  const softmax_pack *pack = work;
  softmax_second second = {0};
  softmax_row_terms terms;
  softmax_terms_of_row(&terms, pack, row);
  softmax_terms_finish(&terms, 0);
  double c_total = 0;
  for (int64_t c = 0; c < pack->slice.dv; c++) {
    s_lo[c] = 0;
    s_hi[c] = INFINITY;
  }
  double relative = 2 * terms.rho + terms.size_error + (3 * terms.keys + 100) * 0x1p-53;
  double tiny = ((double)pack->slice.d + 2) * 0x1p-1000 *
                (1 + fabs(pack->scale) * terms.query_norm + terms.key_norm) *
                (1 + fabs(pack->inverse_temperature));
  int certain = terms.usable && relative <= 0x1p-10 && terms.keys <= 0x1p29;
  if (!certain || !softmax_second_open(&second, pack)) return;
  relative *= 1 + 0x1p-2;
  softmax_second_weights(&second, pack, &terms, row);
  for (int64_t j = terms.lo; j < terms.hi; j++) {
    second.h[j] = 0;
    second.g[j] *= second.size[j];
    c_total += second.g[j];
  }
  softmax_row_sums(second.spread, second.total, x, second.g, second.h, pack, terms.lo, terms.hi);
  double sink = second.sink_weight * second.sink_size; /* the sink, whose value is 0 */
  for (int64_t c = 0; c < pack->slice.dv && second.sum > 0; c++) {
    double s = second.spread[c] + sink * fabs(x[c]);
    double far = softmax_largest_value(pack, &terms, c) + fabs(x[c]) + radius[c] + 0x1p-960;
    double off = relative * s + radius[c] * (c_total + sink) * (1 + relative) +
                 terms.keys * CONDITION_TAIL * terms.reach * far + tiny * far +
                 (terms.keys + 2) * 0x1p-1000;
    s_lo[c] = fmax(0, s - off * (1 + 0x1p-20));
    s_hi[c] = s + off * (1 + 0x1p-20);
    if (!(s_hi[c] >= 0)) s_hi[c] = INFINITY;
  }
  softmax_second_close(&second);
}
