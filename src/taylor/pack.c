/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A slice packed for the double tier, and the memory of a block of its rows. */
#include <stdlib.h>
#include <string.h>

#include "../enclosure/exp.h"
#include "dd.h"
#include "row.h"

static int64_t round_up(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

/* count zeros, 64-byte aligned; NULL when there is no memory. */
static double *zeros(int64_t count) {
  size_t bytes;
  if (__builtin_mul_overflow((size_t)count, sizeof(double), &bytes) || bytes > SIZE_MAX - 64)
    return NULL;
  bytes = (bytes + 64) / 64 * 64;
  double *memory = aligned_alloc(64, bytes);
  if (memory) memset(memory, 0, bytes);
  return memory;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* Zero exactly, or within 2^(+-limit). */
static int in_range(double x, int limit) {
  return x == 0 || (fabs(x) >= ldexp(1, -limit) && fabs(x) <= ldexp(1, limit));
}

static void set_parameters(taylor_work *work) {
  const problem_values *values = &work->problem->values;
  work->scale = problem_real_double(&work->scale_error, &values->scale);
  if (work->kind.feature == FEATURE_ELU1) work->feature_error = EXP64_ERROR + 1;
  if (!in_range(work->scale, 900) || (work->scale == 0 && work->scale_error > 0))
    work->unusable = 1;
}

/* Of parameters, so that products of many stay good to 2^-105. */
enum { PREC = 256 };

static void split(double *hi, double *lo, const arb_t x) {
  dd_number y = dd_of_ball(x);
  *hi = y.hi;
  *lo = y.lo;
}

/* decay^n to the nearest double, 0 below 2^-900. */
static int set_powers(taylor_work *work) {
  int64_t count = work->slice.nq + work->slice.nk + 2;
  if (!work->kind.has_decay) return 1;
  work->power = zeros(count);
  work->power_lo = zeros(count);
  if (!work->power || !work->power_lo) return 0;
  arb_t decay, power;
  arb_init(decay);
  arb_init(power);
  taylor_real_ball(decay, &work->problem->values.decay, PREC);
  arb_one(power);
  for (int64_t n = 0; n < count; n++) {
    split(&work->power[n], &work->power_lo[n], power);
    if (work->power[n] < 0x1p-900) {
      work->power[n] = work->power_lo[n] = 0;
      break;
    }
    arb_mul(power, power, decay, PREC);
  }
  arb_clear(decay);
  arb_clear(power);
  return 1;
}

static int set_inverses(taylor_work *work) {
  int64_t degree = work->kind.degree > 0 ? work->kind.degree : 0;
  if (!(work->inverse = zeros(degree + 1))) return 0;
  for (int64_t m = 1; m <= degree; m++)
    work->inverse[m] = 1 / (double)m;
  return 1;
}

/* ---- keys and values ------------------------------------------------------------------------- */

/* Loads a row; zeros and 0 where an element is not finite. */
static int load_finite(double *x, const attest_tensor *t, int64_t row, int64_t n) {
  tensor_load(x, t, row * t->stride[0], n, t->stride[1]);
  for (int64_t i = 0; i < n; i++)
    if (!isfinite(x[i])) {
      memset(x, 0, (size_t)n * sizeof *x);
      return 0;
    }
  return 1;
}

static void raise_to(double *largest, double x) {
  if (fabs(x) > *largest) *largest = fabs(x);
}

/* Rows that are not finite are hidden from all rows of out: they are packed as zeros. */
static void pack_keys(taylor_work *work, double *x, double *largest) {
  int64_t d = work->slice.d;
  for (int64_t j = 0; j < work->slice.nk; j++) {
    work->has_nonfinite |= !load_finite(x, &work->slice.k, j, d);
    int64_t at = j / SUMS_PANEL * SUMS_PANEL * d + j % SUMS_PANEL;
    for (int64_t a = 0; a < d; a++) {
      double f = taylor_feature(work->kind.feature, x[a]);
      work->keys[at + a * SUMS_PANEL] = f;
      raise_to(largest, f);
      work->is_deep |= work->kind.feature == FEATURE_ELU1 && x[a] < TAYLOR_DD_LEAST;
      if (work->keys_dd) work->keys_dd[at + a * SUMS_PANEL] = x[a];
    }
  }
}

static void pack_values(taylor_work *work, double *x) {
  int64_t dv = work->slice.dv;
  for (int64_t j = 0; j < work->slice.nk; j++) {
    double *to = work->values + j * work->pad;
    work->has_nonfinite |= !load_finite(x, &work->slice.v, j, dv);
    memcpy(to, x, (size_t)dv * sizeof *x);
    to[dv] = 1;
    for (int64_t c = 0; c <= dv; c++)
      raise_to(&work->value_max[c], to[c]);
  }
}

static double largest_query(const taylor_work *work, double *x) {
  double largest = 0;
  for (int64_t i = 0; i < work->slice.nq; i++) {
    load_finite(x, &work->slice.q, i, work->slice.d);
    for (int64_t a = 0; a < work->slice.d; a++)
      raise_to(&largest, taylor_feature(work->kind.feature, x[a]));
  }
  return largest;
}

/* (1 + x)^degree from above, 1 + x for features that are no monomials. */
static double feature_bound(const taylor_work *work, double x) {
  double bound = 1 + x;
  for (int64_t m = 1; m < work->kind.degree; m++)
    bound *= 1 + x;
  return bound * (1 + 0x1p-30);
}

/* ---- the initial state ----------------------------------------------------------------------- */

/* factor_beta = scale^m / beta! to the nearest double: the query features of q = (1, .., 1). */
static attest_status set_factors(taylor_work *work, attest_error *error) {
  arb_t scale, power;
  fmpz_t multinomial;
  int64_t rows = work->state_rows;
  if (work->kind.degree < 0) {
    arb_init(scale);
    taylor_real_ball(scale, &work->problem->values.scale, PREC);
    for (int64_t a = 0; a < rows; a++)
      split(&work->factor[a], &work->factor_lo[a], scale);
    arb_clear(scale);
    return ATTEST_OK;
  }
  attest_status status = taylor_basis_open(&work->basis, work->slice.d, work->kind.degree, error);
  if (status) return status;
  arb_init(scale);
  arb_init(power);
  fmpz_init(multinomial);
  taylor_real_ball(scale, &work->problem->values.scale, PREC);
  for (int64_t m = 0; m <= work->kind.degree; m++) {
    arb_pow_ui(power, scale, (ulong)m, PREC);
    for (int64_t i = 2; i <= m; i++)
      arb_div_ui(power, power, (ulong)i, PREC);
    for (int64_t b = work->basis->start[m]; b < work->basis->start[m + 1]; b++) {
      arb_t factor;
      arb_init(factor);
      fmpz_set_si(multinomial, work->basis->multinomial[b]);
      arb_mul_fmpz(factor, power, multinomial, PREC);
      split(&work->factor[b], &work->factor_lo[b], factor);
      if (!in_range(work->factor[b], 60) || (work->factor[b] == 0 && work->scale != 0))
        work->unusable = 1;
      arb_clear(factor);
    }
  }
  arb_clear(scale);
  arb_clear(power);
  fmpz_clear(multinomial);
  return ATTEST_OK;
}

static attest_status pack_state(taylor_work *work, attest_error *error) {
  const attest_tensor *state = &work->slice.initial_state;
  if (!state->data) return ATTEST_OK;
  work->state_rows = state->shape[0];
  work->state_pad = round_up(work->state_rows, SUMS_CHAIN);
  work->state_values = zeros(work->state_pad * work->pad);
  work->state_max = zeros(work->columns);
  work->factor = zeros(work->state_rows);
  work->factor_lo = zeros(work->state_rows);
  if (!work->state_values || !work->state_max || !work->factor || !work->factor_lo)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: a state of %lld rows",
                       (long long)work->state_rows);
  for (int64_t b = 0; b < work->state_rows; b++)
    for (int64_t c = 0; c < state->shape[1]; c++) {
      double x = taylor_element(state, b, c);
      work->state_values[b * work->pad + c] = x;
      raise_to(&work->state_max[c], x);
      raise_to(&work->state_max_all, x);
    }
  return set_factors(work, error);
}

static void set_psi_max(taylor_work *work) {
  double largest = 0;
  for (int64_t b = 0; b < work->state_rows && work->factor; b++)
    raise_to(&largest, work->factor[b]);
  work->psi_max = (1 + largest) * work->query_max;
}

/* ---- the whole slice ------------------------------------------------------------------------- */

void taylor_enclose_close(void *closed) {
  taylor_work *work = closed;
  if (!work) return;
  free(work->keys);
  free(work->values);
  free(work->value_max);
  free(work->power);
  free(work->power_lo);
  free(work->inverse);
  free(work->state_values);
  free(work->state_max);
  free(work->factor);
  free(work->factor_lo);
  free(work->keys_dd);
  taylor_basis_close(work->basis);
  free(work);
}

static int allocate(taylor_work *work) {
  int64_t keys = work->blocks * SUMS_KEYS, key_elements, value_elements;
  if (__builtin_mul_overflow(keys, work->slice.d, &key_elements) ||
      __builtin_mul_overflow(keys, work->pad, &value_elements))
    return 0;
  work->keys = zeros(key_elements);
  work->values = zeros(value_elements);
  if (work->kind.feature == FEATURE_ELU1 && !(work->keys_dd = zeros(2 * key_elements))) return 0;
  work->value_max = zeros(work->columns);
  return work->keys && work->values && work->value_max && set_powers(work) && set_inverses(work);
}

attest_status taylor_enclose_open(void **result, const attest_problem *problem,
                                  const problem_slice *slice, unsigned want, attest_error *error) {
  taylor_work *work = calloc(1, sizeof *work);
  double *x = zeros(slice->d > slice->dv ? slice->d : slice->dv);
  attest_status status = ATTEST_OK;
  *result = NULL;
  if (work) {
    work->problem = problem;
    work->slice = *slice;
    work->kind = taylor_kind_of(problem);
    work->want = want;
    work->columns = slice->dv + 1;
    work->pad = round_up(work->columns, 8);
    work->blocks = (slice->nk + SUMS_KEYS - 1) / SUMS_KEYS;
  }
  if (!work || !x || !allocate(work)) {
    status = attest_fail(error, ATTEST_ERR_MEMORY,
                         "out of memory: packing %lld keys of %lld + %lld elements",
                         (long long)slice->nk, (long long)slice->d, (long long)slice->dv);
  } else {
    double key_max = 0;
    set_parameters(work);
    pack_keys(work, x, &key_max);
    pack_values(work, x);
    if (work->keys_dd)
      taylor_dd_elu1(work->keys_dd, work->keys_dd + work->blocks * SUMS_KEYS * slice->d,
                     work->keys_dd, work->blocks * SUMS_KEYS * slice->d);
    double query_max = largest_query(work, x);
    work->tiny = 0x1p-900 * (1 + fabs(work->scale)) * (1 + key_max) * (1 + query_max);
    if (!(work->tiny <= 0x1p-300)) work->unusable = 1;
    work->feature_max = feature_bound(work, key_max);
    work->query_max = feature_bound(work, query_max);
    status = pack_state(work, error);
    set_psi_max(work);
  }
  free(x);
  if (status)
    taylor_enclose_close(work);
  else
    *result = work;
  return status;
}

/* ---- sums of a block of rows ----------------------------------------------------------------- */

attest_status taylor_sums_open(taylor_sums *sums, const taylor_work *work, unsigned want,
                               attest_error *error) {
  int64_t weights = SUMS_ROWS * SUMS_STRIDE, wide = SUMS_ROWS * work->pad;
  int64_t query = round_up(SUMS_ROWS * work->slice.d, 8), psi = SUMS_ROWS * work->state_pad;
  memset(sums, 0, sizeof *sums);
  sums->want = want;
  double *at = sums->memory = zeros(5 * weights + 2 * query + 7 * wide + 2 * psi);
  if (!at)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: a block of %d rows", SUMS_ROWS);
  double **wide_arrays[] = {&sums->chain, &sums->n, &sums->e, &sums->a,
                            &sums->cc,    &sums->m, &sums->hh};
  double **weight_arrays[] = {&sums->w, &sums->g, &sums->size, &sums->c, &sums->h};
  for (int i = 0; i < 5; i++, at += weights)
    *weight_arrays[i] = at;
  for (int i = 0; i < 7; i++, at += wide)
    *wide_arrays[i] = at;
  sums->query = at;
  sums->query_abs = at + query;
  sums->psi = at + 2 * query;
  return ATTEST_OK;
}

void taylor_sums_close(taylor_sums *sums) {
  free(sums->memory);
  sums->memory = NULL;
}

ISA_DECLARE(void, taylor_sums_keys,
            (taylor_sums * s, const taylor_work *work, int64_t row, int64_t rows));
ISA_DECLARE(void, taylor_sums_state, (taylor_sums * s, const taylor_work *work, int64_t rows));
ISA_DECLARE(void, taylor_weigh_block,
            (double *w, double *g, double *c, const double *query, const double *query_abs,
             const taylor_work *work, int64_t row, int64_t key, int64_t lo, int64_t hi));
ISA_DECLARE(void, taylor_state_block,
            (taylor_sums * s, const taylor_work *work, int64_t rows, int64_t key, int64_t keys));

/* f(q) and |f(q)| of a row. */
static void load_query(double *q, double *q_abs, const taylor_work *work, int64_t row) {
  load_finite(q, &work->slice.q, row, work->slice.d);
  for (int64_t a = 0; a < work->slice.d; a++) {
    q[a] = taylor_feature(work->kind.feature, q[a]);
    q_abs[a] = fabs(q[a]);
  }
}

/* psi_beta = decay^(i'+1) factor_beta f(q)^beta. */
static void load_state_weights(double *psi, const double *q, const taylor_work *work, int64_t row) {
  double decay = work->power ? work->power[taylor_initial_steps(&work->slice, row)] : 1;
  if (work->basis)
    taylor_monomials_f64(psi, work->basis, q);
  else
    memcpy(psi, q, (size_t)work->state_rows * sizeof *psi);
  for (int64_t b = 0; b < work->state_rows; b++)
    psi[b] = psi[b] * work->factor[b] * decay;
}

void taylor_sums_rows(taylor_sums *sums, const taylor_work *work, int64_t row, int64_t rows) {
  int64_t d = work->slice.d, wide = SUMS_ROWS * work->pad;
  memset(sums->query, 0, (size_t)(SUMS_ROWS * d) * sizeof(double));
  memset(sums->query_abs, 0, (size_t)(SUMS_ROWS * d) * sizeof(double));
  memset(sums->n, 0, (size_t)(6 * wide) * sizeof(double)); /* n, e, a, cc, m, hh */
  for (int64_t r = 0; r < rows; r++) {
    load_query(sums->query + r * d, sums->query_abs + r * d, work, row + r);
    problem_visible_range(&sums->lo[r], &sums->hi[r], work->problem, &work->slice, row + r);
    sums->t_max[r] = 0;
    if (work->state_rows)
      load_state_weights(sums->psi + r * work->state_pad, sums->query + r * d, work, row + r);
  }
  ISA_DISPATCH(taylor_sums_keys)(sums, work, row, rows);
  if (work->state_rows) ISA_DISPATCH(taylor_sums_state)(sums, work, rows);
}

void taylor_row_weights(double *w, double *g, double *c, const taylor_work *work, int64_t row) {
  int64_t lo, hi, d = work->slice.d;
  double *q = c + work->blocks * SUMS_KEYS; /* the caller leaves room for 2 d */
  load_query(q, q + d, work, row);
  problem_visible_range(&lo, &hi, work->problem, &work->slice, row);
  for (int64_t key = lo / SUMS_KEYS * SUMS_KEYS; key < hi; key += SUMS_KEYS)
    ISA_DISPATCH(taylor_weigh_block)
  (w + key, g + key, c + key, q, q + d, work, row, key, lo, hi);
}

/* ---- the final state ------------------------------------------------------------------------- */

/* Feature `first + r` of key j for all rows of the block. */
static void state_features(taylor_sums *sums, const taylor_work *work, const taylor_basis *basis,
                           double *phi, int64_t first, int64_t rows, int64_t key, int64_t keys) {
  int64_t d = work->slice.d, n = work->slice.nk;
  double *x = sums->query;
  for (int64_t j = 0; j < keys; j++) {
    int64_t at = (key + j) / SUMS_PANEL * SUMS_PANEL * d + (key + j) % SUMS_PANEL;
    double decay = work->power ? work->power[n - 1 - key - j] : 1;
    for (int64_t a = 0; a < d; a++)
      x[a] = work->keys[at + a * SUMS_PANEL];
    if (basis) taylor_monomials_f64(phi, basis, x);
    for (int64_t r = 0; r < rows; r++)
      sums->w[r * SUMS_STRIDE + j] = (basis ? phi[first + r] : x[first + r]) * decay;
  }
}

attest_status taylor_state_sums(taylor_sums *sums, const taylor_work *work, int64_t first,
                                int64_t rows, attest_error *error) {
  taylor_basis *basis = NULL;
  attest_status status = ATTEST_OK;
  if (work->kind.degree >= 0)
    status = taylor_basis_open(&basis, work->slice.d, work->kind.degree, error);
  if (status) return status;
  double *phi = zeros(basis ? basis->size : 1);
  memset(sums->n, 0, (size_t)(6 * SUMS_ROWS * work->pad) * sizeof(double));
  for (int64_t key = 0; phi && key < work->slice.nk; key += SUMS_KEYS) {
    int64_t left = work->slice.nk - key, keys = left < SUMS_KEYS ? left : SUMS_KEYS;
    memset(sums->w, 0, (size_t)(SUMS_ROWS * SUMS_STRIDE) * sizeof(double));
    state_features(sums, work, basis, phi, first, rows, key, keys);
    ISA_DISPATCH(taylor_state_block)(sums, work, rows, key, keys);
  }
  if (!phi) status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: features of one key");
  free(phi);
  taylor_basis_close(basis);
  return status;
}
