/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The loops over keys of rows.c. Every operation is written out and none is fused, so that vectors
 * of any length give the same bits. */
#include "rows.h"

void ISA(rows_scores)(double *score, double *size, const rows_pack *pack, int64_t i, int64_t lo,
                      int64_t hi);
void ISA(rows_scores)(double *score, double *size, const rows_pack *pack, int64_t i, int64_t lo,
                      int64_t hi) {
  int64_t d = pack->slice.d, nk = pack->slice.nk, shift = pack->slice.nq - 1 - i;
  for (int64_t j = lo; j < hi; j++)
    score[j] = size[j] = 0;
  for (int64_t n = 0; n < pack->term_count; n++) {
    const rows_term *term = &pack->terms[n];
    double q = pack->queries[i * d + term->a], q_size = pack->query_sizes[i * d + term->a];
    const double *k = pack->keys + term->b * nk, *k_size = pack->key_sizes + term->b * nk;
    const double *w = term->symbol ? term->symbol + shift : NULL;
    if (w) {
      for (int64_t j = lo; j < hi; j++) {
        double product = q * (w[j] * k[j]);
        score[j] += product;
        size[j] += fabs(product);
      }
    } else {
      for (int64_t j = lo; j < hi; j++) {
        score[j] += q * k[j];
        size[j] += q_size * k_size[j];
      }
    }
  }
}

void ISA(rows_sums)(double *sum, double *chain, const double *w, const double *values, int64_t dv,
                    int64_t lo, int64_t hi);
void ISA(rows_sums)(double *sum, double *chain, const double *w, const double *values, int64_t dv,
                    int64_t lo, int64_t hi) {
  for (int64_t c = 0; c < dv; c++)
    sum[c] = 0;
  for (int64_t first = lo; first < hi; first += ROWS_CHAIN) {
    int64_t end = hi - first < ROWS_CHAIN ? hi : first + ROWS_CHAIN;
    for (int64_t c = 0; c < dv; c++)
      chain[c] = 0;
    for (int64_t j = first; j < end; j++)
      for (int64_t c = 0; c < dv; c++)
        chain[c] += w[j] * values[j * dv + c];
    for (int64_t c = 0; c < dv; c++)
      sum[c] += chain[c];
  }
}

void ISA(rows_spreads)(double *absolute, double *spread, double *s, const double *x,
                       const double *w, const double *e, const double *h, const double *values,
                       int64_t dv, int64_t lo, int64_t hi);
void ISA(rows_spreads)(double *absolute, double *spread, double *s, const double *x,
                       const double *w, const double *e, const double *h, const double *values,
                       int64_t dv, int64_t lo, int64_t hi) {
  for (int64_t c = 0; c < dv; c++)
    absolute[c] = spread[c] = s[c] = 0;
  for (int64_t j = lo; j < hi; j++) {
    double weight = fabs(w[j]);
    for (int64_t c = 0; c < dv; c++) {
      double v = values[j * dv + c], far = fabs(v - x[c]);
      absolute[c] += weight * fabs(v);
      spread[c] += e[j] * far;
      s[c] += h[j] * far;
    }
  }
}

void ISA(rows_scores_single)(float *restrict score, const rows_floats *floats,
                             const rows_pack *pack, int64_t i, int64_t lo, int64_t hi);
void ISA(rows_scores_single)(float *restrict score, const rows_floats *floats,
                             const rows_pack *pack, int64_t i, int64_t lo, int64_t hi) {
  int64_t d = pack->slice.d, nk = pack->slice.nk, shift = pack->slice.nq - 1 - i;
  for (int64_t j = lo; j < hi; j++)
    score[j] = 0;
  for (int64_t n = 0; n < pack->term_count; n++) {
    const rows_term *term = &pack->terms[n];
    float q = floats->queries[i * d + term->a];
    const float *k = floats->keys + term->b * nk;
    if (floats->symbols) {
      const float *w = floats->symbols + n * floats->length + shift;
      for (int64_t j = lo; j < hi; j++)
        score[j] += q * (w[j] * k[j]);
    } else {
      for (int64_t j = lo; j < hi; j++)
        score[j] += q * k[j];
    }
  }
  for (int64_t j = lo; j < hi; j++)
    score[j] *= floats->factor;
}

float ISA(rows_sum_single)(const float *w, const float *v, int64_t n);
float ISA(rows_sum_single)(const float *w, const float *v, int64_t n) {
  enum { LANES = 16, BLOCK = LANES * ROWS_CHAIN };
  float total = 0;
  for (int64_t first = 0; first < n; first += BLOCK) {
    int64_t end = n - first < BLOCK ? n : first + BLOCK, j = first;
    float lane[LANES] = {0}, sum = 0;
    for (; j + LANES <= end; j += LANES)
      for (int l = 0; l < LANES; l++)
        lane[l] += v ? w[j + l] * v[j + l] : w[j + l];
    for (; j < end; j++)
      lane[(j - first) % LANES] += v ? w[j] * v[j] : w[j];
    for (int l = 0; l < LANES; l++)
      sum += lane[l];
    total += sum;
  }
  return total;
}
