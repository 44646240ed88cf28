/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The direct kernels of toeplitz and rope-linear: float64 outputs are the rows of the double tier;
 * others are computed in float from queries, keys, symbols and values rounded to float (rotated
 * ones after they have been rotated in double), by
 *
 *   s = f (sum q (w k))            the terms one after the other
 *   weight = exp(s - max s), s, or p(s) by Horner's rule
 *   sums of weights and of weight v  in 16 lanes of ROWS_CHAIN keys, added up in order, then in all
 *
 * with one IEEE operation an element where it stands. So they are machines of bound.c with
 * everything in float32 and chains of ROWS_CHAIN keys: a term of a sum of n keys meets at most
 * min(n, ROWS_CHAIN) + ceil(n / ROWS_CHAIN) + 3 roundings, its product and its value's rounding
 * among them: beyond 64 keys ceil(n / 16) - 1 or 63 in its lane, 15 between lanes and one a block
 * of 1024 keys but the first; below, ceil(n / 16) - 1 and min(n, 16) - 1; and two. */
#include <stdlib.h>

#include "../enclosure/exp.h"
#include "rows.h"

room_machine toeplitz_machine(attest_dtype dtype) {
  int is_double = dtype == ATTEST_FLOAT64;
  attest_dtype work = is_double ? ATTEST_FLOAT64 : ATTEST_FLOAT32;
  return (room_machine){.products = work,
                        .weights = work,
                        .accumulate = work,
                        .phases = ATTEST_FLOAT64,
                        .result = dtype,
                        .result_lse = dtype,
                        .block = ROWS_CHAIN,
                        .exp_error = is_double ? EXP64_ERROR : EXP32_ERROR,
                        .builtin = 1};
}

/* ---- packing ---- */

static void round_all(float *to, const double *from, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    to[i] = (float)from[i];
}

int rows_floats_open(rows_floats *f, const rows_pack *pack) {
  int64_t nq = pack->slice.nq, nk = pack->slice.nk, d = pack->slice.d, dv = pack->slice.dv;
  int64_t length = nq + nk, symbols = pack->is_rotary ? 0 : pack->term_count * length;
  *f = (rows_floats){.length = length, .factor = (float)pack->factor, .eps = (float)pack->eps};
  f->memory = malloc((size_t)((nq + nk) * d + nk * dv + symbols + 1) * sizeof(float));
  if (!f->memory) return 0;
  f->queries = f->memory;
  f->keys = f->queries + nq * d;
  f->values = f->keys + nk * d;
  f->symbols = pack->is_rotary ? NULL : f->values + nk * dv;
  round_all(f->queries, pack->queries, nq * d);
  round_all(f->keys, pack->keys, nk * d);
  for (int64_t j = 0; j < nk; j++)
    for (int64_t c = 0; c < dv; c++)
      f->values[c * nk + j] = (float)pack->values[j * dv + c];
  for (int64_t n = 0; f->symbols && n < pack->term_count; n++)
    round_all(f->symbols + n * length, pack->terms[n].symbol, length - 1);
  for (int64_t n = 0; n <= pack->degree; n++)
    f->c[n] = (float)pack->c[n];
  return 1;
}

void rows_floats_close(rows_floats *f) {
  free(f->memory);
  f->memory = NULL;
}

/* ---- one row ---- */

/* Scratch of one thread; x has dv entries. */
typedef struct {
  rows_row row; /* in double, for the question whether weights add up to 0 */
  float *weight;
  double *x, *value;
  unsigned char *class;
} scratch;

static int scratch_open(scratch *s, const rows_pack *pack) {
  int64_t dv = pack->slice.dv;
  *s = (scratch){.weight = malloc((size_t)(pack->slice.nk + 1) * sizeof *s->weight),
                 .x = malloc((size_t)(2 * dv + 1) * sizeof *s->x),
                 .class = malloc((size_t)dv + 1)};
  s->value = s->x + dv;
  return rows_row_open(&s->row, pack) && s->weight && s->x && s->class;
}

static void scratch_close(scratch *s) {
  rows_row_close(&s->row);
  free(s->weight);
  free(s->x);
  free(s->class);
}

/* exp(w - max w); hidden keys are at -infinity. */
static void exponentiate(float *w, int64_t n) {
  float largest = -INFINITY;
  for (int64_t j = 0; j < n; j++)
    largest = w[j] > largest ? w[j] : largest;
  for (int64_t j = 0; j < n; j++)
    w[j] -= largest;
  exp32_array(w, w, (size_t)n);
}

static void evaluate(float *w, int64_t n, const float *c, int64_t degree) {
  for (int64_t j = 0; j < n; j++) {
    float y = c[degree];
    for (int64_t t = degree - 1; t >= 0; t--)
      y = y * w[j] + c[t];
    w[j] = y;
  }
}

static void hide(float *w, const rows_pack *pack, int64_t i, int64_t lo, int64_t hi, float hidden) {
  const attest_tensor *mask = &pack->slice.mask;
  for (int64_t j = lo; mask->data && j < hi; j++)
    if (!tensor_int_at(mask, i * mask->stride[0] + j * mask->stride[1])) w[j] = hidden;
}

/* Row i into s->x; returns the sum of its weights, 1 where they are not normalised. */
static float compute(scratch *s, const rows_floats *f, const rows_pack *pack, int64_t i) {
  int64_t lo, hi, nk = pack->slice.nk;
  float *w = s->weight, total = 1;
  problem_visible_range(&lo, &hi, pack->problem, &pack->slice, i);
  rows_scores_single(w, f, pack, i, lo, hi);
  if (pack->weights == ROWS_EXP) {
    hide(w, pack, i, lo, hi, -INFINITY);
    exponentiate(w + lo, hi - lo);
  } else {
    if (pack->weights == ROWS_POLYNOMIAL) evaluate(w + lo, hi - lo, f->c, pack->degree);
    hide(w, pack, i, lo, hi, 0);
  }
  if (pack->normalizes) total = rows_sum_single(w + lo, NULL, hi - lo);
  if (pack->normalizes && pack->weights != ROWS_EXP) total += f->eps;
  for (int64_t c = 0; c < pack->slice.dv; c++)
    s->x[c] = (double)(rows_sum_single(w + lo, f->values + c * nk + lo, hi - lo) / total);
  return total;
}

/* Whether the weights of row i, whose sum in float is small beside what they may be, add up to 0.
 */
static int vanishes(scratch *s, const rows_pack *pack, int64_t i, double total) {
  double most = (double)pack->slice.nk * rows_weight_max(pack, i);
  if (pack->weights == ROWS_EXP || !pack->normalizes || fabs(total) > most * 0x1p-12) return 0;
  rows_row_compute(&s->row, pack, i, 1);
  return rows_row_vanishes(&s->row, pack, i);
}

static int store(attest_tensor *out, scratch *s, const rows_floats *f, const rows_pack *pack,
                 int64_t i) {
  int kind = rows_special(s->class, s->value, pack, i);
  if (kind == 1 && vanishes(s, pack, i, (double)compute(s, f, pack, i))) {
    memset(s->class, EXACT_NAN, (size_t)pack->slice.dv);
    kind = 0;
  }
  rows_put(out, kind == 1 ? s->x : NULL, s->class, s->value, pack, i);
  return kind;
}

/* ---- slices ---- */

/* f NULL: in double. */
static attest_status kernel_slice(attest_tensor *out, const rows_floats *f, const rows_pack *pack,
                                  attest_error *error) {
  attest_status status = ATTEST_OK;
  int64_t nq = pack->slice.nq;
#pragma omp parallel if (nq > 1)
  {
    scratch s;
    int ready = scratch_open(&s, pack), trouble = 0;
#pragma omp for schedule(dynamic, 16)
    for (int64_t i = 0; i < nq; i++)
      if (ready)
        trouble |= (f ? store(out, &s, f, pack, i)
                      : rows_store(out, &s.row, s.class, s.value, pack, i)) < 0;
    if (!ready || trouble)
#pragma omp critical
      status = ready ? attest_fail(error, ATTEST_ERR_INPUT, ROWS_EMPTY_MESSAGE)
                     : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: one row");
    scratch_close(&s);
  }
  return status;
}

attest_status toeplitz_kernel(attest_tensor *out, attest_tensor *lse, const attest_problem *problem,
                              attest_error *error) {
  attest_problem mine = *problem;
  attest_status status = ATTEST_OK;
  (void)lse; /* these kernels have none */
  mine.output[OUTPUT_OUT] = *out;
  for (int64_t i = 0; i < problem_slice_count(&mine) && !status; i++) {
    problem_slice slice;
    rows_pack *pack;
    rows_floats floats = {0};
    problem_slice_get(&slice, &mine, i);
    status = rows_pack_open(&pack, &mine, &slice, error);
    if (status) break;
    int is_single = out->dtype != ATTEST_FLOAT64;
    if (is_single && !rows_floats_open(&floats, pack))
      status =
          attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: %lld keys", (long long)slice.nk);
    if (!status) status = kernel_slice(&slice.out, is_single ? &floats : NULL, pack, error);
    rows_floats_close(&floats);
    rows_pack_close(pack);
  }
  return status;
}
