/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The fast kernel: tiled softmax attention with an online shift, in float32 and, from the same
 * source, in float64. Memory linear in the slice: packed keys and values, one block of scores a
 * thread. */
#include <stdlib.h>

#include "../enclosure/exp.h"
#include "pass.h"

static const double class_value[] = {
    [EXACT_NAN] = NAN, [EXACT_PLUS_INF] = INFINITY, [EXACT_MINUS_INF] = -INFINITY};

/* The finite elements of a row in which scores or values are infinite or NaN: some keys count for
 * some components only, so they come from balls. */
static void put_mixed(attest_tensor *t, const softmax_pack *pack, int64_t row, int output) {
  int64_t width = output == OUTPUT_OUT ? pack->slice.dv : 1;
  room_balls balls;
  room_balls_init(&balls, width);
  attest_status status =
      softmax_ball(&balls, pack->problem, &pack->slice, row, output, room_want(output), 128, NULL);
  for (int64_t c = 0; c < width && !status; c++)
    if (balls.class[c] == EXACT_FINITE)
      tensor_store(t, row * t->stride[0] + (output == OUTPUT_OUT ? c * t->stride[1] : 0),
                   arf_get_d(arb_midref(balls.x + c), ARF_RND_NEAR));
  room_balls_clear(&balls);
  flint_cleanup();
}

/* Puts the prescribed elements of a row that is not ordinary over those computed. Returns -1 where
 * the policy says that an empty row is trouble. */
static int put_special(attest_tensor *t, const softmax_pack *pack, int64_t row, int output,
                       unsigned char *class, double *value) {
  int kind = softmax_special_row(class, value, pack->problem, &pack->slice, row, output);
  int64_t width = output == OUTPUT_OUT ? pack->slice.dv : 1;
  if (kind == 2) put_mixed(t, pack, row, output);
  for (int64_t c = 0; kind != 1 && c < width; c++) {
    int64_t at = row * t->stride[0] + (output == OUTPUT_OUT ? c * t->stride[1] : 0);
    if (class[c] != EXACT_FINITE)
      tensor_store(t, at, class_value[class[c]]);
    else if (kind == 0)
      tensor_store(t, at, value[c]);
  }
  return kind;
}

static double log_sum(double shift, double sum, const softmax_pack *pack) {
  double lse = shift + log64(sum);
  return pack->problem->values.lse_base == 2 ? lse * EXP64_LOG2E : lse;
}

/* out[row] = x, straight into memory where the row lies there as it is. */
#define STORE_ROW(real, suffix, type)                                                              \
  static void store_row_##suffix(attest_tensor *out, int64_t row, const real *x, int64_t dv) {     \
    int64_t at = row * out->stride[0];                                                             \
    if (out->dtype == type && !out->byteswapped && out->stride[1] == 1) {                          \
      memcpy((char *)out->data + at * (int64_t)sizeof *x, x, (size_t)dv * sizeof *x);              \
      return;                                                                                      \
    }                                                                                              \
    for (int64_t c = 0; c < dv; c++)                                                               \
      tensor_store(out, at + c * out->stride[1], (double)x[c]);                                    \
  }
STORE_ROW(float, f32, ATTEST_FLOAT32)
STORE_ROW(double, f64, ATTEST_FLOAT64)

/* Divides by the normaliser and stores rows row .. row + rows - 1. */
#define STORE(real, suffix)                                                                        \
  static int store_rows_##suffix(attest_tensor *out, attest_tensor *lse,                           \
                                 softmax_state_##suffix *state, const softmax_pack *pack,          \
                                 int64_t row, int64_t rows, unsigned char *class, double *value) { \
    int trouble = 0;                                                                               \
    softmax_normalise_##suffix(state, pack, rows);                                                 \
    for (int64_t r = 0; r < rows; r++) {                                                           \
      store_row_##suffix(out, row + r, state->out + r * pack->dv_pad, pack->slice.dv);             \
      if (lse->data)                                                                               \
        tensor_store(lse, (row + r) * lse->stride[0],                                              \
                     log_sum((double)state->shift[r], (double)state->sum[r], pack));               \
      if (state->sum[r] > 0 && !pack->has_nonfinite) continue;                                     \
      trouble |= put_special(out, pack, row + r, OUTPUT_OUT, class, value) < 0;                    \
      if (lse->data) put_special(lse, pack, row + r, OUTPUT_LSE, class, value);                    \
    }                                                                                              \
    return trouble;                                                                                \
  }                                                                                                \
                                                                                                   \
  static attest_status slice_##suffix(attest_tensor *out, attest_tensor *lse,                      \
                                      const softmax_pack *pack, attest_error *error) {             \
    attest_status status = ATTEST_OK;                                                              \
    int64_t nq = pack->slice.nq, blocks = (nq + PASS_ROWS - 1) / PASS_ROWS;                        \
    _Pragma("omp parallel if (blocks > 1)") {                                                      \
      softmax_state_##suffix state;                                                                \
      attest_error mine;                                                                           \
      attest_status opened = softmax_state_open_##suffix(&state, pack, &mine);                     \
      size_t width = (size_t)pack->slice.dv + 1;                                                   \
      unsigned char *class = malloc(width);                                                        \
      double *value = malloc(width * sizeof *value);                                               \
      int ready = opened == ATTEST_OK && class && value, trouble = 0;                              \
      _Pragma("omp for schedule(dynamic)") for (int64_t b = blocks - 1; b >= 0; b--) {             \
        int64_t row = b * PASS_ROWS, rows = nq - row < PASS_ROWS ? nq - row : PASS_ROWS;           \
        if (!ready) continue;                                                                      \
        softmax_pass_##suffix(&state, pack, row, rows);                                            \
        trouble |= store_rows_##suffix(out, lse, &state, pack, row, rows, class, value);           \
      }                                                                                            \
      if (!ready || trouble)                                                                       \
        _Pragma("omp critical") status =                                                           \
            ready ? attest_fail(error, ATTEST_ERR_INPUT,                                           \
                                "a row sees no key and empty-row is error: choose zero or nan")    \
                  : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: the softmax kernel");    \
      softmax_state_close_##suffix(&state);                                                        \
      free(class);                                                                                 \
      free(value);                                                                                 \
    }                                                                                              \
    return status;                                                                                 \
  }

STORE(float, f32)
STORE(double, f64)

attest_status softmax_kernel(attest_tensor *out, attest_tensor *lse, const attest_problem *problem,
                             attest_error *error) {
  attest_problem mine = *problem;
  mine.output[OUTPUT_OUT] = *out;
  mine.output[OUTPUT_LSE] = lse ? *lse : (attest_tensor){0};
  int is_double = out->dtype == ATTEST_FLOAT64;
  attest_status status = ATTEST_OK;
  int64_t slices = problem_slice_count(&mine);
  for (int64_t i = 0; i < slices && status == ATTEST_OK; i++) {
    problem_slice slice;
    softmax_pack *pack;
    problem_slice_get(&slice, &mine, i);
    status = softmax_pack_open(&pack, &mine, &slice, is_double, 0, error);
    if (status != ATTEST_OK) break;
    status = (is_double ? slice_f64 : slice_f32)(&slice.out, &slice.lse, pack, error);
    softmax_pack_close(pack);
  }
  return status;
}
