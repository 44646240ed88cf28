/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Many rows of softmax attention in balls at once: scores and weighted values by blocked exact
 * matrix products. Rows are taken in tiles and keys in blocks, so memory does not depend on N
 * beyond one byte a (row, key) of a tile. Every row subtracts a shift of its own, the largest score
 * of its first block with a visible key: any shift is exact, since balls do not overflow. */
#include <math.h>
#include <stdlib.h>

#include "../problem/pairing.h"
#include "row.h"

/* Measured: a tile of this size takes a fifth to a third of the time of its rows one by one at 128
 * bits; fewer rows gain less, and four or fewer nothing. */
#define TILE_ROWS 64
#define TILE_KEYS 512
#define TILE_ROWS_MIN 5

typedef struct {
  const attest_problem *problem;
  const problem_slice *slice;
  int64_t rows, row[TILE_ROWS]; /* the ordinary rows of the tile */
  int64_t lo, hi;               /* keys that any of them can see */
  unsigned char *visible;       /* rows x (hi - lo) */
  int64_t count[TILE_ROWS];     /* visible keys of a row */
  int64_t last[TILE_ROWS];      /* one of them */
  double *buffer;
  slong prec, score_prec; /* of weights and results; of scores */
  softmax_terms terms;
  problem_pairs pairs;
  arb_mat_t q;                /* rows x d */
  arb_mat_t sum, shift, mean; /* rows x 1, rows x 1, rows x dv */
} tile;

/* ---- preparation
 * ------------------------------------------------------------------------------------ */

static void find_range(tile *t) {
  t->lo = INT64_MAX;
  t->hi = 0;
  for (int64_t r = 0; r < t->rows; r++) {
    int64_t lo, hi;
    problem_visible_range(&lo, &hi, t->problem, t->slice, t->row[r]);
    if (lo < t->lo) t->lo = lo;
    if (hi > t->hi) t->hi = hi;
  }
}

static void find_visible(tile *t) {
  int64_t span = t->hi - t->lo;
  for (int64_t r = 0; r < t->rows; r++) {
    int64_t lo, hi;
    problem_visible_range(&lo, &hi, t->problem, t->slice, t->row[r]);
    t->count[r] = 0;
    for (int64_t j = lo; j < hi; j++) {
      if (!problem_visible(t->problem, t->slice, t->row[r], j)) continue;
      t->visible[r * span + j - t->lo] = 1;
      t->last[r] = j;
      t->count[r]++;
    }
  }
}

static int sees(const tile *t, int64_t r, int64_t j) {
  return t->visible[r * (t->hi - t->lo) + j - t->lo];
}

/* Whether any row of the tile sees key j: only then may its elements be looked at. */
static int seen(const tile *t, int64_t j) {
  for (int64_t r = 0; r < t->rows; r++)
    if (sees(t, r, j)) return 1;
  return 0;
}

static double row_size(tile *t, const attest_tensor *x, int64_t row) {
  double size = 0;
  tensor_load(t->buffer, x, row * x->stride[0], t->slice->d, x->stride[1]);
  for (int64_t a = 0; a < t->slice->d; a++)
    size = fmax(size, fabs(t->buffer[a]));
  return size;
}

/* Bits that the largest possible score of the tile costs. */
static slong tile_bits(tile *t) {
  const problem_slice *slice = t->slice;
  double q_max = 0, k_max = 0, rest = slice->has_sink ? fabs(slice->sink) : 0;
  for (int64_t r = 0; r < t->rows; r++) {
    q_max = fmax(q_max, row_size(t, &slice->q, t->row[r]));
    if (!slice->bias.data && !slice->has_slope) continue;
    for (int64_t j = t->lo; j < t->hi; j++)
      if (sees(t, r, j)) rest = fmax(rest, softmax_score_offset_size(slice, t->row[r], j));
  }
  for (int64_t j = t->lo; j < t->hi; j++)
    if (seen(t, j)) k_max = fmax(k_max, row_size(t, &slice->k, j));
  return softmax_score_bits(t->problem, slice, q_max, k_max, rest);
}

static void tile_clear(tile *t) {
  free(t->visible);
  free(t->buffer);
  softmax_terms_clear(&t->terms);
  problem_pairs_close(&t->pairs);
  arb_mat_clear(t->q);
  arb_mat_clear(t->sum);
  arb_mat_clear(t->shift);
  arb_mat_clear(t->mean);
}

static attest_status tile_init(tile *t, slong prec, attest_error *error) {
  const problem_slice *slice = t->slice;
  find_range(t);
  int64_t width = slice->d > slice->dv ? slice->d : slice->dv;
  t->visible = calloc((size_t)t->rows, (size_t)(t->hi - t->lo));
  t->buffer = malloc((size_t)(width + 1) * sizeof *t->buffer);
  if (!t->visible || !t->buffer) {
    free(t->visible);
    free(t->buffer);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for %lld rows of %lld keys",
                       (long long)t->rows, (long long)(t->hi - t->lo));
  }
  find_visible(t);
  t->prec = prec;
  t->score_prec = prec + SOFTMAX_SCORE_GUARD + tile_bits(t);
  attest_status status = problem_pairs_open(&t->pairs, t->problem, slice, t->score_prec, error);
  if (status) {
    free(t->visible);
    free(t->buffer);
    return status;
  }
  softmax_terms_init(&t->terms, t->problem, slice, t->score_prec);
  arb_mat_init(t->q, t->rows, slice->d);
  arb_mat_init(t->sum, t->rows, 1);
  arb_mat_init(t->shift, t->rows, 1);
  arb_mat_init(t->mean, t->rows, slice->dv);
  for (int64_t r = 0; r < t->rows; r++) {
    problem_pairs_query(arb_mat_entry(t->q, r, 0), &t->pairs, t->row[r]);
    arb_indeterminate(arb_mat_entry(t->shift, r, 0)); /* not chosen yet */
  }
  return ATTEST_OK;
}

/* ---- one block of keys
 * ------------------------------------------------------------------------------ */

/* Keys (transposed) and values of first .. first + n - 1; unseen keys are zero. */
static void load_block(arb_mat_t k, arb_mat_t v, tile *t, int64_t first) {
  const problem_slice *slice = t->slice;
  arb_ptr key = _arb_vec_init(slice->d);
  for (int64_t i = 0; i < arb_mat_nrows(v); i++) {
    int64_t j = first + i;
    if (!seen(t, j)) continue;
    problem_pairs_key(key, &t->pairs, j);
    for (int64_t a = 0; a < slice->d; a++)
      arb_swap(arb_mat_entry(k, a, i), key + a);
    tensor_load(t->buffer, &slice->v, j * slice->v.stride[0], slice->dv, slice->v.stride[1]);
    for (int64_t c = 0; c < slice->dv; c++)
      arb_set_d(arb_mat_entry(v, i, c), t->buffer[c]);
  }
  _arb_vec_clear(key, slice->d);
}

/* From q.k to weights exp(score - shift) in place, zero where the key is not visible. */
static void block_weights(arb_mat_t p, tile *t, int64_t first) {
  for (int64_t r = 0; r < t->rows; r++) {
    arb_ptr shift = arb_mat_entry(t->shift, r, 0), best = NULL;
    for (int64_t i = 0; i < arb_mat_ncols(p); i++) {
      arb_ptr s = arb_mat_entry(p, r, i);
      if (!sees(t, r, first + i)) continue;
      softmax_terms_score(s, NULL, &t->terms, s, NULL, SCORE_FINITE, t->row[r], first + i);
      if (!best || arf_cmp(arb_midref(s), arb_midref(best)) > 0) best = s;
    }
    if (best && !arb_is_finite(shift)) arb_set_arf(shift, arb_midref(best));
    for (int64_t i = 0; i < arb_mat_ncols(p); i++) {
      arb_ptr s = arb_mat_entry(p, r, i);
      if (!sees(t, r, first + i)) {
        arb_zero(s);
        continue;
      }
      arb_sub(s, s, shift, t->score_prec);
      arb_exp(s, s, t->prec);
      arb_add(arb_mat_entry(t->sum, r, 0), arb_mat_entry(t->sum, r, 0), s, t->prec);
    }
  }
}

static void add_block(tile *t, int64_t first, int64_t n) {
  arb_mat_t k, v, p, pv;
  arb_mat_init(k, t->slice->d, n);
  arb_mat_init(v, n, t->slice->dv);
  arb_mat_init(p, t->rows, n);
  arb_mat_init(pv, t->rows, t->slice->dv);
  load_block(k, v, t, first);
  arb_mat_mul_block(p, t->q, k, t->score_prec);
  block_weights(p, t, first);
  arb_mat_mul_block(pv, p, v, t->prec);
  arb_mat_add(t->mean, t->mean, pv, t->prec);
  arb_mat_clear(k);
  arb_mat_clear(v);
  arb_mat_clear(p);
  arb_mat_clear(pv);
}

/* ---- results
 * ---------------------------------------------------------------------------------------- */

static void finish_row(arb_ptr out, arb_ptr lse, tile *t, int64_t r) {
  const problem_slice *slice = t->slice;
  arb_ptr sum = arb_mat_entry(t->sum, r, 0), shift = arb_mat_entry(t->shift, r, 0);
  arb_t term;
  arb_init(term);
  if (slice->has_sink) {
    softmax_terms_sink(term, NULL, &t->terms);
    arb_sub(term, term, shift, t->score_prec);
    arb_exp(term, term, t->prec);
    arb_add(sum, sum, term, t->prec);
  }
  arb_log(lse, sum, t->prec);
  arb_add(lse, lse, shift, t->prec);
  if (t->problem->values.lse_base == 2) {
    arb_const_log2(term, t->prec);
    arb_div(lse, lse, term, t->prec);
  }
  for (int64_t c = 0; c < slice->dv; c++) {
    if (t->count[r] == 1 && !slice->has_sink) /* one key: its value, exactly */
      arb_set_d(out + c, softmax_element(&slice->v, t->last[r], c));
    else
      arb_div(out + c, arb_mat_entry(t->mean, r, c), sum, t->prec);
  }
  arb_clear(term);
}

static attest_status compute_tile(arb_ptr out, arb_ptr lse, int64_t row, tile *t, slong prec,
                                  attest_error *error) {
  attest_status status = tile_init(t, prec, error);
  if (status) return status;
  for (int64_t first = t->lo; first < t->hi; first += TILE_KEYS)
    add_block(t, first, t->hi - first < TILE_KEYS ? t->hi - first : TILE_KEYS);
  for (int64_t r = 0; r < t->rows; r++)
    finish_row(out + (t->row[r] - row) * t->slice->dv, lse + (t->row[r] - row), t, r);
  tile_clear(t);
  return ATTEST_OK;
}

/* One row of both outputs by itself. */
static attest_status single_row(arb_ptr out, arb_ptr lse, unsigned char *out_class,
                                unsigned char *lse_class, const attest_problem *problem,
                                const problem_slice *slice, int64_t row, slong prec,
                                attest_error *error) {
  room_balls x = {.width = slice->dv, .x = out, .class = out_class};
  room_balls l = {.width = 1, .x = lse, .class = lse_class};
  attest_status status = softmax_ball(&x, problem, slice, row, OUTPUT_OUT, WANT_OUT, prec, error);
  if (status) return status;
  return softmax_ball(&l, problem, slice, row, OUTPUT_LSE, WANT_LSE, prec, error);
}

/* Whether the row is computed from all its visible keys in both outputs. */
static int is_ordinary(unsigned char *out_class, unsigned char *lse_class, double *value,
                       const attest_problem *problem, const problem_slice *slice, int64_t row) {
  return softmax_special_row(out_class, value, problem, slice, row, OUTPUT_OUT) == 1 &&
         softmax_special_row(lse_class, value, problem, slice, row, OUTPUT_LSE) == 1;
}

static attest_status tile_rows(arb_ptr out, arb_ptr lse, unsigned char *out_class,
                               unsigned char *lse_class, double *value,
                               const attest_problem *problem, const problem_slice *slice,
                               int64_t row, int64_t rows, slong prec, attest_error *error) {
  int64_t dv = slice->dv;
  tile t = {.problem = problem, .slice = slice};
  attest_status status = ATTEST_OK;
  unsigned char together[TILE_ROWS];
  for (int64_t i = 0; i < rows; i++) {
    together[i] = (unsigned char)is_ordinary(out_class + i * dv, lse_class + i, value, problem,
                                             slice, row + i);
    if (together[i]) t.row[t.rows++] = row + i;
  }
  int alone = t.rows < TILE_ROWS_MIN;
  for (int64_t i = 0; i < rows && !status; i++)
    if (alone || !together[i])
      status = single_row(out + i * dv, lse + i, out_class + i * dv, lse_class + i, problem, slice,
                          row + i, prec, error);
  return status || alone ? status : compute_tile(out, lse, row, &t, prec, error);
}

attest_status softmax_ball_rows(arb_ptr out, arb_ptr lse, unsigned char *out_class,
                                unsigned char *lse_class, const attest_problem *problem,
                                const problem_slice *slice, int64_t row, int64_t rows, slong prec,
                                attest_error *error) {
  int64_t dv = slice->dv, cells = TILE_ROWS * (dv + 1);
  double *value = malloc((size_t)(dv + 1) * sizeof *value);
  unsigned char *class = malloc((size_t)cells); /* for callers that do not ask */
  attest_status status = ATTEST_OK;
  if (!value || !class)
    status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for %lld rows of %lld values",
                         (long long)rows, (long long)dv);
  for (int64_t i = 0; i < rows && !status; i += TILE_ROWS)
    status = tile_rows(out + i * dv, lse + i, out_class ? out_class + i * dv : class,
                       lse_class ? lse_class + i : class + TILE_ROWS * dv, value, problem, slice,
                       row + i, rows - i < TILE_ROWS ? rows - i : TILE_ROWS, prec, error);
  free(value);
  free(class);
  return status;
}
