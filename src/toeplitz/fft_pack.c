/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Queries, keys, values and symbols of one slice by columns, for the FFT form. */
#include "fft_pack.h"

#include <stdlib.h>
#include <string.h>

#include "../enclosure/interval.h"
#include "../problem/pairing.h"
#include "../problem/rotary.h"
#include "loops.h"

void fft_pack_close(fft_pack *pack) {
  free(pack->memory);
  free(pack->a);
  free(pack->symbols);
  *pack = (fft_pack){0};
}

static attest_status check_supported(const attest_problem *problem, const problem_slice *slice,
                                     attest_error *error) {
  const char *what = slice->mask.data              ? "mask"
                     : slice->bias.data            ? "bias"
                     : slice->has_slope            ? "alibi-slopes"
                     : slice->has_sink             ? "sinks"
                     : problem->values.has_softcap ? "softcap"
                                                   : NULL;
  if (problem->pairing == PAIRING_DOT || what)
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "the forms fft and blocked take no %s; use the direct form",
                       what ? what : "other score terms");
  if (!strcmp(problem->kernel->name, "rope-linear") && !problem->input[INPUT_COEFFICIENTS].data)
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "the FFT form of rope-linear needs --coefficients: 0, 1 for the scores "
                       "themselves");
  if (slice->nq == 0 || slice->nk == 0)
    return attest_fail(error, ATTEST_ERR_SUPPORT, "the FFT form needs at least one query and key");
  return ATTEST_OK;
}

/* lo <= i - j <= hi for the visible keys. */
static void set_range(fft_pack *pack) {
  const problem_values *values = &pack->problem->values;
  int64_t offset = pack->slice->offset, right = values->window_right;
  if (values->causal != CAUSAL_NONE) right = 0;
  pack->lo = right < 0 || right >= pack->nq + pack->nk ? -(pack->nk - 1) : -offset - right;
  pack->hi = values->window_left < 0 || values->window_left >= pack->nq + pack->nk
                 ? pack->nq - 1
                 : values->window_left - offset;
}

/* Column a of q or k. An element that is not finite is 0: it is hidden. */
static void load_column(double *x, const attest_tensor *t, int64_t rows, int64_t a) {
  tensor_load(x, t, a * t->stride[1], rows, t->stride[0]);
  if (loops_largest(x, rows) < INFINITY) return;
  for (int64_t i = 0; i < rows; i++)
    if (!isfinite(x[i])) x[i] = 0;
}

/* ---- symbols ---- */

/* cos and sin of (j - i') theta_m in the four places of pair m. */
static attest_status rotary_symbols(fft_pack *pack, attest_error *error) {
  problem_rotary *rotary;
  const problem_values *values = &pack->problem->values;
  int64_t offset = pack->slice->offset, positions = pack->length + llabs(offset) + 1;
  attest_status status = problem_rotary_open(&rotary, values, pack->d, positions, error);
  if (status) return status;
  for (int64_t m = 0; m < pack->d / 2; m++) {
    int64_t x, y, s = 4 * m;
    problem_rotary_pair(&x, &y, values, pack->d, m);
    const int64_t a[4] = {x, x, y, y}, b[4] = {x, y, x, y};
    for (int i = 0; i < 4; i++) {
      pack->a[s + i] = a[i];
      pack->b[s + i] = b[i];
    }
    for (int64_t n = 0; n < pack->length; n++) {
      int64_t step = pack->nk - 1 - n - offset;
      double c[2], sine[2], *at = pack->symbols + s * pack->length + n;
      problem_rotary_phase(c, sine, rotary, llabs(step), m);
      double turned = step < 0 ? -sine[0] : sine[0];
      at[0] = at[3 * pack->length] = c[0];
      at[pack->length] = -turned;
      at[2 * pack->length] = turned;
    }
  }
  problem_rotary_close(rotary);
  return ATTEST_OK;
}

static void load_weight(double *w, const fft_pack *pack, int64_t a, int64_t b) {
  problem_weights_load(w, pack->problem, pack->slice->offset - (pack->nk - 1), pack->length, a, b);
}

/* The elements of W that are used. */
static attest_status find_support(fft_pack *pack, attest_error *error) {
  double *w = malloc((size_t)pack->length * sizeof *w);
  if (!w) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (int64_t n = 0; n < pack->d * pack->d; n++) {
    load_weight(w, pack, n / pack->d, n % pack->d);
    if (loops_largest(w, pack->length) == 0) continue;
    pack->a[pack->support] = n / pack->d;
    pack->b[pack->support++] = n % pack->d;
  }
  free(w);
  return ATTEST_OK;
}

static attest_status load_symbols(fft_pack *pack, attest_error *error) {
  int rotary = pack->problem->pairing == PAIRING_ROTARY;
  int64_t d = pack->d, most = rotary ? 2 * d : d * d;
  attest_status status = ATTEST_OK;
  pack->a = calloc((size_t)(2 * most + 1), sizeof *pack->a);
  if (!pack->a) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  pack->b = pack->a + most;
  if (rotary)
    pack->support = most;
  else
    status = find_support(pack, error);
  if (status) return status;
  pack->symbols = malloc((size_t)(pack->support * (pack->length + 1) + 1) * sizeof(double));
  if (!pack->symbols)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: %lld symbols of %lld offsets",
                       (long long)pack->support, (long long)pack->length);
  pack->symbol_max = pack->symbols + pack->support * pack->length;
  if (rotary) status = rotary_symbols(pack, error);
  for (int64_t s = 0; s < pack->support && !status; s++) {
    double *symbol = pack->symbols + s * pack->length;
    if (!rotary) load_weight(symbol, pack, pack->a[s], pack->b[s]);
    pack->symbol_max[s] = loops_largest(symbol, pack->length);
  }
  return status;
}

/* ---- bounds of the scores ---- */

static double vector_norm(const double *x, int64_t d, int64_t stride, int64_t i) {
  double squares = 0;
  for (int64_t a = 0; a < d; a++)
    squares = enclosure_add_up(squares,
                               enclosure_mul_up(fabs(x[a * stride + i]), fabs(x[a * stride + i])));
  return enclosure_up(sqrt(squares));
}

/* |f| |q_i| max |k_j| for rotations, |f| sum |q_a| max |w_ab| max |k_b| else, over the keys that
 * row i may see: only earlier ones count where the mask is causal. */
static void bound_rows(fft_pack *pack) {
  double factor = enclosure_up(fabs(pack->factor)), key_norm = 0;
  double *key_max = pack->key_max;
  memset(key_max, 0, (size_t)pack->d * sizeof *key_max);
  int rotary = pack->problem->pairing == PAIRING_ROTARY;
  int64_t seen = 0;
  for (int64_t i = 0; i < pack->nq; i++) {
    for (; seen < pack->nk && seen <= i - pack->lo; seen++) {
      double norm = rotary ? vector_norm(pack->keys, pack->d, pack->nk, seen) : 0;
      if (norm > key_norm) key_norm = norm;
      for (int64_t a = 0; a < pack->d; a++) {
        double size = fabs(pack->keys[a * pack->nk + seen]);
        if (size > key_max[a]) key_max[a] = size;
      }
    }
    double bound = 0;
    if (rotary)
      bound = enclosure_mul_up(vector_norm(pack->queries, pack->d, pack->nq, i), key_norm);
    for (int64_t s = 0; s < pack->support && !rotary; s++)
      bound = enclosure_add_up(
          bound, enclosure_mul_up(enclosure_mul_up(fabs(pack->queries[pack->a[s] * pack->nq + i]),
                                                   pack->symbol_max[s]),
                                  key_max[pack->b[s]]));
    pack->row_bound[i] = enclosure_mul_up(bound, factor);
  }
  for (int64_t a = 0; a < pack->d; a++) {
    key_max[a] = loops_largest(pack->keys + a * pack->nk, pack->nk);
    pack->query_max[a] = loops_largest(pack->queries + a * pack->nq, pack->nq) * factor;
  }
}

/* ---- all of it ---- */

static void set_factor(fft_pack *pack) {
  problem_real factor;
  double unused;
  problem_real_init(&factor);
  problem_real_inv(&factor, &pack->problem->values.temperature);
  problem_real_mul(&factor, &factor, &pack->problem->values.scale);
  pack->factor = problem_real_double(&unused, &factor);
  pack->eps = problem_real_double(&unused, &pack->problem->values.eps);
  pack->normalizes = pack->problem->values.normalize == NORMALIZE_SUM;
  problem_real_clear(&factor);
}

attest_status fft_pack_open(fft_pack *pack, const attest_problem *problem,
                            const problem_slice *slice, attest_error *error) {
  *pack = (fft_pack){.problem = problem,
                     .slice = slice,
                     .nq = slice->nq,
                     .nk = slice->nk,
                     .d = slice->d,
                     .dv = slice->dv,
                     .length = slice->nq + slice->nk - 1};
  attest_status status = check_supported(problem, slice, error);
  if (status) return status;
  int64_t d = pack->d, nq = pack->nq, nk = pack->nk;
  pack->memory = malloc((size_t)((nq + nk) * d + nk * pack->dv + 2 * d + nq + 1) * sizeof(double));
  if (!pack->memory)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: %lld queries and %lld keys",
                       (long long)nq, (long long)nk);
  pack->queries = pack->memory;
  pack->keys = pack->queries + nq * d;
  pack->values = pack->keys + nk * d;
  pack->key_max = pack->values + nk * pack->dv;
  pack->query_max = pack->key_max + d;
  pack->row_bound = pack->query_max + d;
  for (int64_t a = 0; a < d; a++) {
    load_column(pack->queries + a * nq, &slice->q, nq, a);
    load_column(pack->keys + a * nk, &slice->k, nk, a);
  }
  for (int64_t c = 0; c < pack->dv; c++) {
    load_column(pack->values + c * nk, &slice->v, nk, c);
    pack->value_max = fmax(pack->value_max, loops_largest(pack->values + c * nk, nk));
  }
  set_range(pack);
  set_factor(pack);
  status = load_symbols(pack, error);
  if (status) {
    fft_pack_close(pack);
    return status;
  }
  bound_rows(pack);
  return ATTEST_OK;
}
