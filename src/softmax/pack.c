/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Packed keys and values of one slice, and the working memory of a pass. */
#include "pass.h"

#include <stdlib.h>

#include "../enclosure/interval.h"
#include "../problem/rotary.h"

static int64_t round_up(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

void softmax_pack_close(softmax_pack *pack) {
  if (!pack) return;
  softmax_spare_close(pack);
  free(pack->rotated);
  free(pack->key_size);
  free(pack->key_low);
  free(pack->keys);
  free(pack->values);
  free(pack->keys_f32);
  free(pack->values_f32);
  free(pack->spreads_f32);
  free(pack->center);
  free(pack->key_norm);
  free(pack->value_max);
  free(pack);
}

ISA_DECLARE(int, softmax_rows_finite, (const double *x, int64_t n));
ISA_DECLARE(double, softmax_rows_largest, (const double *x, int64_t n));
ISA_DECLARE(void, softmax_rows_add,
            (double *sum, const double *x, int64_t rows, int64_t n, double factor));
ISA_DECLARE(void, softmax_put_keys_f32,
            (float *restrict panel, const double *restrict x, int64_t d));
ISA_DECLARE(void, softmax_put_keys_f64,
            (double *restrict panel, double *restrict squares, float *restrict sizes,
             const double *restrict x, int64_t d));
ISA_DECLARE(void, softmax_put_values, (softmax_pack * pack, const double *restrict x, int64_t j));

/* Loads rows row .. row + rows - 1 of n elements; zeros instead of a row that is not finite.
 * Returns whether there was one. */
static int load_finite(double *x, const attest_tensor *t, int64_t row, int64_t rows, int64_t n) {
  if (t->stride[1] == 1 && t->stride[0] == n)
    tensor_load(x, t, row * n, rows * n, 1);
  else
    for (int64_t r = 0; r < rows; r++)
      tensor_load(x + r * n, t, (row + r) * t->stride[0], n, t->stride[1]);
  if (ISA_DISPATCH(softmax_rows_finite)(x, rows * n)) return 0;
  for (int64_t r = 0; r < rows; r++, x += n)
    if (!ISA_DISPATCH(softmax_rows_finite)(x, n)) memset(x, 0, (size_t)n * sizeof *x);
  return 1;
}

double softmax_norm(double squares, int64_t n) {
  if (squares < 0x1p-900) squares += (double)n * 0x1p-1074;
  return enclosure_up(sqrt(squares * (1 + ((double)n + 4) * 0x1p-52)));
}

/* What component i of rotated key j counts in an absolute score. Keys that are hidden for an
 * element that is not finite are zero. */
static double size_of(const softmax_pack *pack, int64_t j, int64_t i) {
  double size = pack->query_size[(pack->slice.nq + j) * pack->slice.d + i];
  return isfinite(size) ? size : 0;
}

static double low_of(const softmax_pack *pack, int64_t j, int64_t i) {
  double low = pack->query_low[(pack->slice.nq + j) * pack->slice.d + i];
  return isfinite(low) ? low : 0;
}

/* Sizes and low parts of rotated keys j .. j + keys - 1, which stand at `at` in the packed arrays.
 */
static void put_rotated(softmax_pack *pack, int64_t j, int64_t keys) {
  int64_t d = pack->slice.d;
  for (int64_t r = j; r < j + keys; r++) {
    int64_t at = pass_key_at(r, d, PASS_PANEL_F64), at_f32 = pass_key_at(r, d, PASS_PANEL_F32);
    for (int64_t i = 0; i < d; i++) {
      double size = size_of(pack, r, i);
      if (pack->condition) pack->keys_f32[at_f32 + i * PASS_PANEL_F32] = (float)size;
      ((double *)pack->key_size)[at + i * PASS_PANEL_F64] = size;
      pack->key_low[at + i * PASS_PANEL_F64] = low_of(pack, r, i);
    }
  }
}

/* The panel that starts at key j, and the largest norm of its keys. */
static void put_keys(softmax_pack *pack, const double *x, int64_t j, int64_t keys) {
  int64_t d = pack->slice.d;
  if (!pack->is_double) {
    ISA_DISPATCH(softmax_put_keys_f32)((float *)pack->keys + j * d, x, d);
    return;
  }
  double squares[PASS_PANEL_F64], *largest = pack->key_norm + j / PASS_KEYS;
  float *sizes = pack->condition && !pack->is_rotary
                     ? pack->keys_f32 + pass_key_at(j, d, PASS_PANEL_F32)
                     : NULL;
  ISA_DISPATCH(softmax_put_keys_f64)((double *)pack->keys + j * d, squares, sizes, x, d);
  if (pack->is_rotary) put_rotated(pack, j, keys);
  for (int64_t r = 0; r < keys; r++) {
    double norm = softmax_norm(squares[r], d);
    if (norm > *largest) *largest = norm;
  }
}

static void pack_keys(softmax_pack *pack, double *x) {
  int64_t d = pack->slice.d, nk = pack->slice.nk;
  int64_t panel = pack->is_double ? PASS_PANEL_F64 : PASS_PANEL_F32;
  for (int64_t j = 0; j < nk; j += panel) {
    int64_t keys = nk - j < panel ? nk - j : panel;
    pack->has_nonfinite |= load_finite(x, &pack->slice.k, j, keys, d);
    memset(x + keys * d, 0, (size_t)((panel - keys) * d) * sizeof *x);
    put_keys(pack, x, j, keys);
  }
}

/* Loads values j .. of a panel; returns their number. */
static int64_t load_values(double *x, softmax_pack *pack, int64_t j) {
  int64_t left = pack->slice.nk - j, keys = left < PASS_PANEL_F32 ? left : PASS_PANEL_F32;
  pack->has_nonfinite |= load_finite(x, &pack->slice.v, j, keys, pack->slice.dv);
  return keys;
}

static double largest_value(softmax_pack *pack, double *x) {
  double largest = 0;
  for (int64_t j = 0; j < pack->slice.nk; j += PASS_PANEL_F32) {
    int64_t keys = load_values(x, pack, j);
    double most = ISA_DISPATCH(softmax_rows_largest)(x, keys * pack->slice.dv);
    largest = most > largest ? most : largest;
  }
  return largest;
}

/* About the mean of the values: small beside them whatever it is, and any number would do. */
static void set_center(softmax_pack *pack, double *x) {
  int64_t dv = pack->slice.dv;
  double factor = pack->value_scale_f32 / (double)(pack->slice.nk + !pack->slice.nk);
  for (int64_t j = 0; pack->condition && j < pack->slice.nk; j += PASS_PANEL_F32) {
    int64_t keys = load_values(x, pack, j);
    ISA_DISPATCH(softmax_rows_add)(pack->center, x, keys, dv, factor);
  }
  for (int64_t c = 0; pack->condition && c < dv; c++)
    pack->center[c] = (float)pack->center[c];
}

static void pack_values(softmax_pack *pack, double *x) {
  for (int64_t j = 0; j < pack->slice.nk; j += PASS_PANEL_F32) {
    int64_t keys = load_values(x, pack, j);
    for (int64_t r = 0; r < keys; r++)
      ISA_DISPATCH(softmax_put_values)(pack, x + r * pack->slice.dv, j + r);
  }
}

/* Queries and bias are not packed, but whether they are all finite is asked once here; a bias of
 * -infinity only hides. */
static void scan_unpacked(softmax_pack *pack, double *x) {
  const problem_slice *slice = &pack->slice;
  for (int64_t i = 0; i < slice->nq; i += PASS_PANEL_F32) {
    int64_t rows = slice->nq - i < PASS_PANEL_F32 ? slice->nq - i : PASS_PANEL_F32;
    pack->has_nonfinite |= load_finite(x, &slice->q, i, rows, slice->d);
  }
  if (!slice->bias.data) return;
  int64_t rows = slice->bias.stride[0] ? slice->nq : slice->nq > 0;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < slice->nk; j++) {
      double bias = tensor_at(&slice->bias, i * slice->bias.stride[0] + j * slice->bias.stride[1]);
      if (isfinite(bias))
        pack->bias_max = fabs(bias) > pack->bias_max ? fabs(bias) : pack->bias_max;
      else if (bias != -INFINITY)
        pack->has_nonfinite = 1;
    }
}

static void set_parameters(softmax_pack *pack) {
  const problem_values *values = &pack->problem->values;
  double unused;
  pack->scale = problem_real_double(&pack->scale_error, &values->scale);
  pack->has_softcap = values->has_softcap;
  pack->softcap = values->has_softcap ? problem_real_double(&unused, &values->softcap) : 0;
  problem_real one;
  problem_real_init(&one);
  problem_real_set_si(&one, 1);
  pack->has_temperature = !problem_real_equal(&values->temperature, &one);
  problem_real_inv(&one, &values->temperature);
  pack->inverse_temperature = problem_real_double(&pack->inverse_temperature_error, &one);
  problem_real_clear(&one);
  pack->has_extras = pack->has_softcap || pack->has_temperature || pack->slice.bias.data ||
                     pack->slice.mask.data || pack->slice.has_slope;
}

/* Float sums of values beyond 2^64 could overflow before they are divided: pack them smaller. For
 * the terms of the backward error the largest value is brought to [1, 2), as far as products of the
 * scale with a normaliser neither overflow nor underflow. */
static void set_value_scales(softmax_pack *pack, double *x) {
  pack->value_scale = pack->value_scale_f32 = 1;
  if (pack->is_double && !pack->condition) return;
  double largest = largest_value(pack, x);
  if (pack->condition && largest > 0) {
    int exponent = -ilogb(largest);
    exponent = exponent < -1000 ? -1000 : exponent;
    pack->value_scale_f32 = ldexp(1, exponent < 900 ? exponent : 900);
  }
  if (!pack->is_double && largest > 0x1p64) pack->value_scale = ldexp(1, 64 - ilogb(largest));
}

static int all_finite(const double *x, int64_t n) {
  int finite = 1;
  for (int64_t i = 0; i < n; i++)
    finite &= isfinite(x[i]) != 0;
  return finite;
}

/* Puts rotated vectors in the place of q and k. */
static attest_status rotate_slice(softmax_pack *pack, double *x, attest_error *error) {
  const problem_slice *slice = &pack->slice;
  const problem_values *values = &pack->problem->values;
  int64_t d = slice->d, first = problem_first_position(slice), rows = slice->nq + slice->nk;
  int64_t end = slice->nq + slice->offset > slice->nk ? slice->nq + slice->offset : slice->nk;
  problem_rotary *rotary;
  pack->rotated = isa_allocate(3 * rows * d, sizeof(double));
  pack->query_size = pack->rotated + rows * d;
  pack->query_low = pack->query_size + rows * d;
  attest_status status = pack->rotated
                             ? problem_rotary_open(&rotary, values, d, end - first, error)
                             : attest_fail(error, ATTEST_ERR_MEMORY,
                                           "out of memory: %lld rotated vectors", (long long)rows);
  if (status) return status;
  for (int64_t i = 0; i < rows; i++) {
    int is_key = i >= slice->nq;
    const attest_tensor *t = is_key ? &slice->k : &slice->q;
    int64_t row = is_key ? i - slice->nq : i, position = row + (is_key ? 0 : slice->offset) - first;
    tensor_load(x, t, row * t->stride[0], d, t->stride[1]);
    problem_rotate(pack->rotated + i * d, x, rotary, position);
    if (pack->is_double)
      problem_rotate_low(pack->query_low + i * d, pack->rotated + i * d, x, rotary, position);
    problem_rotary_sizes(pack->query_size + i * d, x, values, d);
    if (all_finite(x, d))
      pack->overflows |=
          !all_finite(pack->query_size + i * d, d) || !all_finite(pack->rotated + i * d, d);
  }
  problem_rotary_close(rotary);
  const int64_t shapes[2][2] = {{slice->nq, d}, {slice->nk, d}};
  pack->slice.q = attest_tensor_of(pack->rotated, ATTEST_FLOAT64, 2, shapes[0]);
  pack->slice.k = attest_tensor_of(pack->rotated + slice->nq * d, ATTEST_FLOAT64, 2, shapes[1]);
  return ATTEST_OK;
}

static int pack_allocate(softmax_pack *pack) {
  int64_t d = pack->slice.d, dv = pack->slice.dv, keys = pack->blocks * PASS_KEYS;
  size_t size = pack->is_double ? sizeof(double) : sizeof(float);
  int64_t key_elements, value_elements;
  if (__builtin_mul_overflow(keys, d, &key_elements) ||
      __builtin_mul_overflow(keys, pack->dv_pad, &value_elements))
    return 0;
  pack->keys = isa_allocate(key_elements, size);
  pack->values = isa_allocate(value_elements, size);
  pack->key_norm = isa_allocate(pack->blocks, sizeof(double));
  pack->value_max = isa_allocate(pack->blocks * dv, sizeof(double));
  if (pack->is_rotary && pack->is_double) {
    pack->key_size = isa_allocate(key_elements, size);
    pack->key_low = isa_allocate(key_elements, size);
  }
  int ok = pack->keys && pack->values && pack->key_norm && pack->value_max &&
           ((pack->key_size && pack->key_low) || !pack->is_rotary || !pack->is_double);
  if (!ok || !pack->condition) return ok;
  pack->keys_f32 = isa_allocate(key_elements, sizeof(float));
  pack->values_f32 = isa_allocate(keys * pack->dv_pad_f32, sizeof(float));
  pack->spreads_f32 = isa_allocate(keys * pack->dv_pad_f32, sizeof(float));
  pack->center = isa_allocate(dv, sizeof(double));
  return pack->keys_f32 && pack->values_f32 && pack->spreads_f32 && pack->center;
}

attest_status softmax_pack_open(softmax_pack **result, const attest_problem *problem,
                                const problem_slice *slice, int is_double, int condition,
                                attest_error *error) {
  *result = NULL;
  softmax_pack *pack = calloc(1, sizeof *pack);
  int64_t widest = slice->d > slice->dv ? slice->d : slice->dv;
  double *x = isa_allocate(widest, PASS_PANEL_F32 * sizeof(double));
  if (pack) {
    pack->problem = problem;
    pack->slice = *slice;
    pack->is_rotary = problem->pairing == PAIRING_ROTARY;
    pack->is_double = is_double;
    pack->condition = condition;
    pack->blocks = (slice->nk + PASS_KEYS - 1) / PASS_KEYS;
    pack->dv_pad = round_up(slice->dv, is_double ? 8 : 16);
    pack->dv_pad_f32 = round_up(slice->dv, 16);
  }
  if (!pack || !x || !pack_allocate(pack)) {
    free(x);
    softmax_pack_close(pack);
    return attest_fail(error, ATTEST_ERR_MEMORY,
                       "out of memory: packing %lld keys of %lld + %lld elements",
                       (long long)slice->nk, (long long)slice->d, (long long)slice->dv);
  }
  if (pack->is_rotary) {
    attest_status status = rotate_slice(pack, x, error);
    if (status) {
      free(x);
      softmax_pack_close(pack);
      return status;
    }
  }
  set_parameters(pack);
  set_value_scales(pack, x);
  set_center(pack, x);
  pack_keys(pack, x);
  pack_values(pack, x);
  scan_unpacked(pack, x);
  free(x);
  *result = pack;
  return ATTEST_OK;
}

/* One allocation a state, cut into its arrays. */
#define STATE(real, suffix)                                                                        \
  ISA_DECLARE(                                                                                     \
      void, softmax_pass_##suffix,                                                                 \
      (softmax_state_##suffix * state, const softmax_pack *pack, int64_t row, int64_t rows));      \
  void softmax_pass_##suffix(softmax_state_##suffix *state, const softmax_pack *pack, int64_t row, \
                             int64_t rows) {                                                       \
    ISA_DISPATCH(softmax_pass_##suffix)(state, pack, row, rows);                                   \
  }                                                                                                \
  ISA_DECLARE(void, softmax_normalise_##suffix,                                                    \
              (softmax_state_##suffix * state, const softmax_pack *pack, int64_t rows));           \
  void softmax_normalise_##suffix(softmax_state_##suffix *state, const softmax_pack *pack,         \
                                  int64_t rows) {                                                  \
    ISA_DISPATCH(softmax_normalise_##suffix)(state, pack, rows);                                   \
  }                                                                                                \
  void softmax_state_close_##suffix(softmax_state_##suffix *state) {                               \
    free(state->memory);                                                                           \
    free(state->bias);                                                                             \
    state->memory = state->bias = NULL;                                                            \
  }                                                                                                \
  attest_status softmax_state_open_##suffix(softmax_state_##suffix *state,                         \
                                            const softmax_pack *pack, attest_error *error) {       \
    int64_t query = round_up(PASS_ROWS * pack->slice.d, 16), wide = PASS_ROWS * pack->dv_pad;      \
    int64_t score = PASS_ROWS * PASS_STRIDE;                                                       \
    memset(state, 0, sizeof *state);                                                               \
    real *at = state->memory = isa_allocate(query + 2 * (query + score + wide), sizeof(real));     \
    state->bias = isa_allocate(PASS_KEYS, sizeof(double));                                         \
    if (!state->memory || !state->bias) {                                                          \
      softmax_state_close_##suffix(state);                                                         \
      return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: a block of %d rows",            \
                         PASS_ROWS);                                                               \
    }                                                                                              \
    state->query = at;                                                                             \
    state->query_abs = state->query + query;                                                       \
    state->score = state->query_abs + query;                                                       \
    state->size = state->score + score;                                                            \
    state->chain = state->size + score;                                                            \
    state->out = state->chain + wide;                                                              \
    state->row = state->out + wide;                                                                \
    return ATTEST_OK;                                                                              \
  }

STATE(float, f32)
STATE(double, f64)

attest_status softmax_condition_open(softmax_condition *kept, const softmax_pack *pack,
                                     attest_error *error) {
  int64_t query = round_up(PASS_ROWS * pack->slice.d, 16), wide = PASS_ROWS * pack->dv_pad_f32;
  int64_t scores = PASS_ROWS * PASS_STRIDE;
  float *at = kept->memory = isa_allocate(query + 2 * scores + 3 * wide, sizeof(float));
  if (!at)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: weights of %d rows", PASS_ROWS);
  kept->query = at;
  kept->weight = kept->query + query;
  kept->size = kept->weight + scores;
  kept->chain = kept->size + scores;
  kept->a = kept->chain + wide;
  kept->e = kept->a + wide;
  return ATTEST_OK;
}

void softmax_condition_close(softmax_condition *kept) {
  free(kept->memory);
  kept->memory = NULL;
}

ISA_DECLARE(void, softmax_pass_condition,
            (softmax_condition * kept, softmax_state_f64 *state, const softmax_pack *pack,
             int64_t row, int64_t rows));
void softmax_pass_condition(softmax_condition *kept, softmax_state_f64 *state,
                            const softmax_pack *pack, int64_t row, int64_t rows) {
  ISA_DISPATCH(softmax_pass_condition)(kept, state, pack, row, rows);
}

ISA_DECLARE(void, softmax_row_scores,
            (double *score, double *size, softmax_state_f64 *state, const softmax_pack *pack,
             int64_t row));
void softmax_row_scores(double *score, double *size, softmax_state_f64 *state,
                        const softmax_pack *pack, int64_t row) {
  ISA_DISPATCH(softmax_row_scores)(score, size, state, pack, row);
}

ISA_DECLARE(void, softmax_row_sums,
            (double *spread, double *total, const double *x, const double *g, const double *h,
             const softmax_pack *pack, int64_t lo, int64_t hi));
void softmax_row_sums(double *spread, double *total, const double *x, const double *g,
                      const double *h, const softmax_pack *pack, int64_t lo, int64_t hi) {
  ISA_DISPATCH(softmax_row_sums)(spread, total, x, g, h, pack, lo, hi);
}

ISA_DECLARE(void, softmax_running_scores,
            (double *run, const softmax_state_f64 *state, const softmax_pack *pack, int64_t lo,
             int64_t hi));
void softmax_running_scores(double *run, const softmax_state_f64 *state, const softmax_pack *pack,
                            int64_t lo, int64_t hi) {
  ISA_DISPATCH(softmax_running_scores)(run, state, pack, lo, hi);
}

ISA_DECLARE(void, softmax_running_sums,
            (double *run, double *scratch, const double *p, const softmax_pack *pack, int64_t lo,
             int64_t hi));
void softmax_running_sums(double *run, double *scratch, const double *p, const softmax_pack *pack,
                          int64_t lo, int64_t hi) {
  ISA_DISPATCH(softmax_running_sums)(run, scratch, p, pack, lo, hi);
}

ISA_DECLARE(void, softmax_row_moves,
            (double *move, double *size, double *weight, const double *x, const double *towards,
             const softmax_moves *moves, const softmax_pack *pack, int64_t lo, int64_t hi));
void softmax_row_moves(double *move, double *size, double *weight, const double *x,
                       const double *towards, const softmax_moves *moves, const softmax_pack *pack,
                       int64_t lo, int64_t hi) {
  ISA_DISPATCH(softmax_row_moves)(move, size, weight, x, towards, moves, pack, lo, hi);
}
