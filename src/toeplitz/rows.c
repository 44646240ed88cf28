/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Packing and one row in double; see enclose.c for the derivation. */
#include "rows.h"

#include <stdlib.h>

#include "../enclosure/exp.h"
#include "../enclosure/interval.h"
#include "../problem/pairing.h"
#include "../problem/rotary.h"

#define U 0x1p-53

ISA_DECLARE(void, rows_scores,
            (double *score, double *size, const rows_pack *pack, int64_t i, int64_t lo,
             int64_t hi));
void rows_scores(double *score, double *size, const rows_pack *pack, int64_t i, int64_t lo,
                 int64_t hi) {
  ISA_DISPATCH(rows_scores)(score, size, pack, i, lo, hi);
}

ISA_DECLARE(void, rows_sums,
            (double *sum, double *chain, const double *w, const double *values, int64_t dv,
             int64_t lo, int64_t hi));
void rows_sums(double *sum, double *chain, const double *w, const double *values, int64_t dv,
               int64_t lo, int64_t hi) {
  ISA_DISPATCH(rows_sums)(sum, chain, w, values, dv, lo, hi);
}

ISA_DECLARE(void, rows_spreads,
            (double *absolute, double *spread, double *s, const double *x, const double *w,
             const double *e, const double *h, const double *values, int64_t dv, int64_t lo,
             int64_t hi));
void rows_spreads(double *absolute, double *spread, double *s, const double *x, const double *w,
                  const double *e, const double *h, const double *values, int64_t dv, int64_t lo,
                  int64_t hi) {
  ISA_DISPATCH(rows_spreads)(absolute, spread, s, x, w, e, h, values, dv, lo, hi);
}

ISA_DECLARE(void, rows_scores_single,
            (float *score, const rows_floats *floats, const rows_pack *pack, int64_t i, int64_t lo,
             int64_t hi));
void rows_scores_single(float *score, const rows_floats *floats, const rows_pack *pack, int64_t i,
                        int64_t lo, int64_t hi) {
  ISA_DISPATCH(rows_scores_single)(score, floats, pack, i, lo, hi);
}

ISA_DECLARE(float, rows_sum_single, (const float *w, const float *v, int64_t n));
float rows_sum_single(const float *w, const float *v, int64_t n) {
  return ISA_DISPATCH(rows_sum_single)(w, v, n);
}

/* ---- packing ---- */

void rows_pack_close(rows_pack *pack) {
  if (!pack) return;
  for (int64_t n = 0; pack->terms && n < pack->term_count; n++)
    free(pack->terms[n].symbol);
  free(pack->terms);
  free(pack->queries);
  free(pack);
}

static double *numbers(int64_t n) {
  return calloc((size_t)n + 1, sizeof(double));
}

/* Vector `row` of q or k into x and its sizes; rotated where they are. A row that holds an element
 * that is not finite is zero: it is hidden. */
static void load_vector(double *x, double *size, double *raw, const rows_pack *pack,
                        const attest_tensor *t, int64_t row, const problem_rotary *rotary,
                        int64_t position) {
  int64_t d = pack->slice.d;
  int finite = 1;
  tensor_load(raw, t, row * t->stride[0], d, t->stride[1]);
  for (int64_t a = 0; a < d; a++)
    finite &= isfinite(raw[a]) != 0;
  for (int64_t a = 0; a < d && !finite; a++)
    raw[a] = 0;
  if (rotary) {
    problem_rotate(x, raw, rotary, position);
    problem_rotary_sizes(size, raw, &pack->problem->values, d);
    return;
  }
  for (int64_t a = 0; a < d; a++) {
    x[a] = raw[a];
    size[a] = fabs(raw[a]);
  }
}

static void load_vectors(rows_pack *pack, double *scratch, const problem_rotary *rotary) {
  const problem_slice *slice = &pack->slice;
  int64_t d = slice->d, nk = slice->nk, first = problem_first_position(slice);
  for (int64_t i = 0; i < slice->nq; i++)
    load_vector(pack->queries + i * d, pack->query_sizes + i * d, scratch, pack, &slice->q, i,
                rotary, i + slice->offset - first);
  for (int64_t j = 0; j < nk; j++) {
    double *key = scratch + d, *size = key + d;
    load_vector(key, size, scratch, pack, &slice->k, j, rotary, j - first);
    for (int64_t a = 0; a < d; a++) {
      pack->keys[a * nk + j] = key[a];
      pack->key_sizes[a * nk + j] = size[a];
      pack->key_max = fmax(pack->key_max, size[a]);
    }
  }
  for (int64_t j = 0; j < nk; j++) {
    double *v = pack->values + j * slice->dv;
    tensor_load(v, &slice->v, j * slice->v.stride[0], slice->dv, slice->v.stride[1]);
    for (int64_t c = 0; c < slice->dv; c++)
      if (!isfinite(v[c])) v[c] = 0; /* hidden */
    for (int64_t c = 0; c < slice->dv; c++)
      pack->value_max = fmax(pack->value_max, fabs(v[c]));
  }
}

static void set_parameters(rows_pack *pack) {
  const problem_values *values = &pack->problem->values;
  problem_real factor;
  problem_real_init(&factor);
  problem_real_inv(&factor, &values->temperature);
  problem_real_mul(&factor, &factor, &values->scale);
  pack->factor = problem_real_double(&pack->factor_error, &factor);
  problem_real_clear(&factor);
  pack->eps = problem_real_double(&pack->eps_error, &values->eps);
  pack->normalizes = pack->weights == ROWS_EXP || values->normalize == NORMALIZE_SUM;
  double n = (double)pack->term_count;
  pack->form_error = (pack->is_rotary ? n + 13 : n + 2) * U * (1 + 0x1p-20);
  pack->size_error = (n + 10) * U * (1 + 0x1p-20);
  if (pack->factor != 0 && fabs(pack->factor) < 0x1p-960) pack->size_error = INFINITY;
}

/* Whether W_p has a non-zero element (a, b) for some p that the slice uses; fills the symbol. */
static int fill_symbol(double *symbol, const rows_pack *pack, int64_t a, int64_t b) {
  const problem_slice *slice = &pack->slice;
  int any = 0;
  for (int64_t n = 0; n < slice->nq + slice->nk - 1; n++) {
    symbol[n] = problem_weight(pack->problem, slice->offset + slice->nq - 1 - n, a, b);
    any |= symbol[n] != 0;
  }
  return any;
}

static int find_terms(rows_pack *pack) {
  int64_t d = pack->slice.d, most = pack->is_rotary ? d : d * d;
  pack->terms = calloc((size_t)most + 1, sizeof *pack->terms);
  if (!pack->terms) return 0;
  for (int64_t a = 0; a < d && pack->is_rotary; a++)
    pack->terms[pack->term_count++] = (rows_term){a, a, NULL};
  for (int64_t n = 0; n < most && !pack->is_rotary; n++) {
    double *symbol = numbers(pack->slice.nq + pack->slice.nk);
    if (!symbol) return 0;
    if (pack->slice.nq + pack->slice.nk > 0 && fill_symbol(symbol, pack, n / d, n % d))
      pack->terms[pack->term_count++] = (rows_term){n / d, n % d, symbol};
    else
      free(symbol);
  }
  return 1;
}

attest_status rows_pack_open(rows_pack **result, const attest_problem *problem,
                             const problem_slice *slice, attest_error *error) {
  rows_pack *pack = calloc(1, sizeof *pack);
  problem_rotary *rotary = NULL;
  int64_t d = slice->d, nq = slice->nq, nk = slice->nk;
  attest_status status = ATTEST_OK;
  double *scratch = numbers(3 * d);
  int ok = pack && scratch;
  *result = NULL;
  if (ok) {
    pack->problem = problem;
    pack->slice = *slice;
    pack->is_rotary = problem->pairing == PAIRING_ROTARY;
    pack->degree = problem_coefficients(pack->c, problem);
    pack->weights = pack->degree >= 0                               ? ROWS_POLYNOMIAL
                    : !strcmp(problem->kernel->name, "rope-linear") ? ROWS_SCORE
                                                                    : ROWS_EXP;
    pack->queries = numbers(2 * nq * d + 2 * nk * d + nk * slice->dv);
    ok = pack->queries && find_terms(pack);
  }
  if (!ok)
    status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: %lld queries and %lld keys",
                         (long long)nq, (long long)nk);
  if (!status && pack->is_rotary) {
    int64_t end = nq + slice->offset > nk ? nq + slice->offset : nk;
    status = problem_rotary_open(&rotary, &problem->values, d, end - problem_first_position(slice),
                                 error);
  }
  if (!status) {
    pack->query_sizes = pack->queries + nq * d;
    pack->keys = pack->query_sizes + nq * d;
    pack->key_sizes = pack->keys + nk * d;
    pack->values = pack->key_sizes + nk * d;
    load_vectors(pack, scratch, rotary);
    set_parameters(pack);
  }
  problem_rotary_close(rotary);
  free(scratch);
  if (status) rows_pack_close(pack);
  if (!status) *result = pack;
  return status;
}

/* ---- one row ---- */

int rows_row_open(rows_row *row, const rows_pack *pack) {
  int64_t nk = pack->slice.nk, dv = pack->slice.dv;
  double *at = row->memory = numbers(3 * nk + 9 * dv);
  if (!at) return 0;
  double **fields[] = {&row->x,    &row->radius, &row->a_lo,     &row->a_hi,  &row->s_lo,
                       &row->s_hi, &row->chain,  &row->absolute, &row->spread};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++, at += dv)
    *fields[i] = at;
  row->weight = at;
  row->size = at + nk;
  row->error = at + 2 * nk;
  return 1;
}

void rows_row_close(rows_row *row) {
  free(row->memory);
  row->memory = NULL;
}

/* What all components of a row share. */
typedef struct {
  int64_t lo, hi;
  double total, total_size;    /* D^ and the sum of absolute weights (+ eps) */
  double error_sum, moves_sum; /* sum of e_j, of h_j */
  double rho;                  /* relative error of h_j beside that of its size */
  double depth;                /* relative error of chained sums */
  double total_error;          /* |D^ - D| */
  double tiny;                 /* what underflow takes from a score or a t */
} row_sums;

/* t_j from above and the absolute error of the score, given the form's size. */
static double score_error(double *t, const rows_pack *pack, double size, double tiny) {
  double factor = fabs(pack->factor);
  *t = (factor + pack->factor_error) * size * (1 + 2 * pack->size_error);
  return *t * (pack->form_error + 2 * U) + pack->factor_error * size * (1 + 0x1p-20) +
         factor * tiny;
}

/* Weights exp(s - max s), their errors, and h = w t. */
static void exponential_weights(rows_row *row, row_sums *sums, const rows_pack *pack, double tiny,
                                int bounds) {
  double largest = -INFINITY, t;
  for (int64_t j = sums->lo; j < sums->hi; j++) {
    row->weight[j] *= pack->factor;
    if (row->size[j] >= 0 && row->weight[j] > largest) largest = row->weight[j];
  }
  row->shift = largest;
  for (int64_t j = sums->lo; j < sums->hi; j++)
    row->weight[j] = row->size[j] >= 0 ? row->weight[j] - largest : EXP64_MIN * 2;
  for (int64_t j = sums->lo; bounds && j < sums->hi; j++) {
    if (row->size[j] < 0) {
      row->error[j] = row->size[j] = 0;
      continue;
    }
    double y = fabs(row->weight[j]), z = score_error(&t, pack, row->size[j], tiny);
    z += (y + EXP64_ERROR + 1) * U;
    sums->rho = fmax(sums->rho, z * (1 + z));
    row->error[j] = z * (1 + z) * (1 + 0x1p-20); /* relative so far */
    row->size[j] = t;
    row->reach = fmax(row->reach, t);
  }
  exp64_array(row->weight + sums->lo, row->weight + sums->lo, (size_t)(sums->hi - sums->lo));
  for (int64_t j = sums->lo; bounds && j < sums->hi; j++) {
    row->size[j] *= row->weight[j];
    row->error[j] = row->error[j] * row->weight[j] + (row->error[j] > 0 ? 0x1p-1000 : 0);
  }
}

/* Weights are the scores; h = t. */
static void linear_weights(rows_row *row, row_sums *sums, const rows_pack *pack, double tiny,
                           int bounds) {
  for (int64_t j = sums->lo; j < sums->hi; j++) {
    double t = 0;
    int hidden = row->size[j] < 0;
    row->error[j] = hidden || !bounds ? 0 : score_error(&t, pack, row->size[j], tiny);
    row->weight[j] = hidden ? 0 : row->weight[j] * pack->factor;
    row->size[j] = t;
  }
}

/* p(x), p'(x) and p''(x) / 2 by Horner's rule. */
static void horner(double value[3], const double *c, int64_t degree, double x) {
  value[0] = value[1] = value[2] = 0;
  for (int64_t t = degree; t >= 0; t--) {
    value[2] = value[2] * x + value[1];
    value[1] = value[1] * x + value[0];
    value[0] = value[0] * x + c[t];
  }
}

/* Weights p(s); h = |p'(s)| t + P(|s|), P with the absolute values of the coefficients. (Step 3 of
 * enclose.c; 2^-900 covers what underflows.) */
static void polynomial_weights(rows_row *row, row_sums *sums, const rows_pack *pack, double tiny,
                               int bounds) {
  double size[PROBLEM_COEFFICIENTS_MAX], p[3], most[3], t;
  double round = (2 * (double)pack->degree + 4) * U;
  for (int64_t n = 0; n <= pack->degree; n++)
    size[n] = fabs(pack->c[n]) + 0x1p-900;
  for (int64_t j = sums->lo; j < sums->hi; j++) {
    double s = row->weight[j] * pack->factor;
    if (row->size[j] < 0) {
      row->weight[j] = row->size[j] = row->error[j] = 0;
      continue;
    }
    horner(p, pack->c, pack->degree, s);
    row->weight[j] = p[0];
    if (!bounds) continue;
    double off = score_error(&t, pack, row->size[j], tiny);
    horner(most, size, pack->degree, (fabs(s) + off) * (1 + 0x1p-40));
    row->error[j] = (off * most[1] + round * most[0]) * (1 + 0x1p-20);
    double h = t * fabs(p[1]) + most[0], h_off = t * (2 * off * most[2] + round * most[1]);
    double relative = (h_off + row->error[j]) / h * (1 + 0x1p-20);
    sums->rho = fmax(sums->rho, relative < 0.25 ? relative / (1 - relative) : INFINITY);
    row->size[j] = h;
    row->reach = fmax(row->reach, (double)pack->degree * t);
  }
}

void rows_hide(rows_row *row, const rows_pack *pack, int64_t i, int64_t lo, int64_t hi) {
  const attest_tensor *mask = &pack->slice.mask;
  for (int64_t j = lo; mask->data && j < hi; j++)
    if (!tensor_int_at(mask, i * mask->stride[0] + j * mask->stride[1])) {
      row->size[j] = -1;
      row->weight[j] = 0;
    }
}

static void find_sums(rows_row *row, row_sums *sums, const rows_pack *pack) {
  double chain = 0;
  for (int64_t j = sums->lo; j < sums->hi; j++) {
    chain += row->weight[j];
    sums->total_size += fabs(row->weight[j]);
    sums->error_sum += row->error[j];
    sums->moves_sum += row->size[j];
    if ((j - sums->lo + 1) % ROWS_CHAIN && j + 1 < sums->hi) continue;
    sums->total += chain;
    chain = 0;
  }
  double keys = (double)(sums->hi - sums->lo);
  sums->depth = (ROWS_CHAIN + keys / ROWS_CHAIN + 4) * U * (1 + 0x1p-10);
  sums->total_error = (sums->error_sum + sums->depth * sums->total_size) * (1 + 0x1p-10);
  if (pack->weights == ROWS_EXP) return;
  sums->total += pack->eps;
  sums->total_error += pack->eps_error + U * (sums->total_size + pack->eps);
  if (pack->normalizes) return;
  sums->total = 1;
  sums->total_error = 0;
}

/* Steps 3 to 5 of enclose.c for component c. */
static void finish_component(rows_row *row, const row_sums *sums, const rows_pack *pack,
                             double keys, int64_t c) {
  double x = row->x[c], slack = 1 + 0x1p-8, size = fabs(x) * (pack->normalizes ? 1 : 0);
  double total = fabs(sums->total), least = (total - sums->total_error) * (1 - 0x1p-40);
  double most = (total + sums->total_error) * (1 + 0x1p-40);
  double tiny = (keys + 2) * 0x1p-1000 / least;
  double sum_error = (sums->depth * (row->absolute[c] + size * (sums->total_size + pack->eps)) +
                      size * pack->eps_error) /
                         least +
                     U * fabs(x);
  double radius = sum_error + (row->spread[c] + sum_error * sums->error_sum) / least;
  row->radius[c] = radius * slack + tiny;
  double a = row->absolute[c] / total, lost = (row->spread[c] + size * sums->error_sum) * slack;
  double wide = (keys + 8) * 0x1p-51;
  row->a_lo[c] = fmax(0, (row->absolute[c] * (1 - wide) - lost) / most - tiny) * (1 - 0x1p-40);
  row->a_hi[c] = ((row->absolute[c] * (1 + wide) + lost) / least + tiny) * (1 + 0x1p-40);
  double kappa = wide + sums->rho * slack + 4 * pack->size_error;
  double moved = pack->normalizes ? row->radius[c] * sums->moves_sum * (1 + kappa) * slack : 0;
  moved += sums->tiny * keys * (pack->value_max + fabs(x)) * slack;
  double s = row->s_hi[c];
  row->s_lo[c] = fmax(0, (s * (1 - kappa) - moved) / most - tiny) * (1 - 0x1p-40);
  row->s_hi[c] = ((s * (1 + kappa) + moved) / least + tiny) * (1 + 0x1p-40);
  int known = least > 0 && kappa <= 0.25 && isfinite(radius) && isfinite(x) && isfinite(a) &&
              isfinite(row->s_hi[c]) && isfinite(row->a_hi[c]);
  if (known) return;
  row->x[c] = row->a_lo[c] = row->s_lo[c] = 0;
  row->radius[c] = row->a_hi[c] = row->s_hi[c] = INFINITY;
}

void rows_row_compute(rows_row *row, const rows_pack *pack, int64_t i, int bounds) {
  int64_t dv = pack->slice.dv, d = pack->slice.d;
  row_sums sums = {0};
  problem_visible_range(&sums.lo, &sums.hi, pack->problem, &pack->slice, i);
  double query_max = 0, keys = (double)(sums.hi - sums.lo);
  for (int64_t a = 0; a < d; a++)
    query_max = fmax(query_max, pack->query_sizes[i * d + a]);
  double tiny = (double)pack->term_count * 0x1p-1060 * (1 + query_max + pack->key_max);
  sums.tiny = tiny * fabs(pack->factor);
  row->reach = row->shift = 0;
  rows_scores(row->weight, row->size, pack, i, sums.lo, sums.hi);
  rows_hide(row, pack, i, sums.lo, sums.hi);
  static void (*const weigh[])(rows_row *, row_sums *, const rows_pack *, double,
                               int) = {exponential_weights, linear_weights, polynomial_weights};
  weigh[pack->weights](row, &sums, pack, tiny, bounds);
  find_sums(row, &sums, pack);
  row->total = sums.total;
  row->total_error = sums.total_error;
  row->total_size = sums.total_size;
  rows_sums(row->x, row->chain, row->weight, pack->values, dv, sums.lo, sums.hi);
  for (int64_t c = 0; c < dv; c++) {
    row->x[c] /= sums.total;
    row->chain[c] = pack->normalizes ? row->x[c] : 0;
  }
  if (!bounds) return;
  rows_spreads(row->absolute, row->spread, row->s_hi, row->chain, row->weight, row->error,
               row->size, pack->values, dv, sums.lo, sums.hi);
  for (int64_t c = 0; c < dv; c++)
    finish_component(row, &sums, pack, keys, c);
  if (pack->weights == ROWS_EXP || !pack->normalizes) return;
  double least = fabs(sums.total) - sums.total_error;
  row->reach = least > 0 ? fmax(row->reach, sums.moves_sum / least * (1 + 0x1p-20)) : INFINITY;
}

int rows_row_vanishes(const rows_row *row, const rows_pack *pack, int64_t i) {
  return pack->weights != ROWS_EXP && pack->normalizes && !(fabs(row->total) > row->total_error) &&
         weights_vanish(pack->problem, &pack->slice, i);
}

double rows_weight_max(const rows_pack *pack, int64_t i) {
  double query_max = 0, t, p[3], size[PROBLEM_COEFFICIENTS_MAX];
  for (int64_t a = 0; a < pack->slice.d; a++)
    query_max = fmax(query_max, pack->query_sizes[i * pack->slice.d + a]);
  t = fabs(pack->factor) * (double)pack->term_count * query_max * pack->key_max;
  if (!pack->is_rotary) t *= pack->problem->largest_weight;
  if (pack->weights == ROWS_EXP) return 1;
  if (pack->weights == ROWS_SCORE) return t;
  for (int64_t n = 0; n <= pack->degree; n++)
    size[n] = fabs(pack->c[n]);
  horner(p, size, pack->degree, t);
  return p[0];
}
