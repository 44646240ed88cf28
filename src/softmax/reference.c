/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One row of softmax attention in balls, from exact inputs, at any precision. */
#include <stdlib.h>

#include "row.h"

/* The conditioning of lse: A = |lse|, S = sum p t; in base 2 lse is divided by ln 2 and so is S,
 * for d(lse)/d(score j) = p_j / ln 2. */
static void row_lse(room_balls *balls, const softmax_row *r, const arb_t sum, const arb_t max,
                    const attest_problem *problem, unsigned want) {
  slong prec = r->prec;
  arb_t ln2;
  arb_init(ln2);
  arb_log(balls->x, sum, prec);
  arb_add(balls->x, balls->x, max, prec);
  if (want & WANT_CONDITION) {
    arb_dot(balls->s, NULL, 0, r->score, 1, r->t, 1, r->count, prec);
    arb_div(balls->s, balls->s, sum, prec);
  }
  if (problem->values.lse_base == 2) {
    arb_const_log2(ln2, prec);
    arb_div(balls->x, balls->x, ln2, prec);
    if (want & WANT_CONDITION) arb_div(balls->s, balls->s, ln2, prec);
  }
  if (want & WANT_CONDITION) arb_abs(balls->a, balls->x);
  arb_clear(ln2);
}

/* Scratch of the passes over the values. */
typedef struct {
  arb_ptr values; /* a block of keys x dv */
  arb_ptr sign;   /* a block of keys */
  double *buffer; /* dv */
  arb_t term;
} value_block;

static int value_block_init(value_block *b, const problem_slice *slice) {
  b->buffer = malloc((size_t)(slice->dv + 1) * sizeof *b->buffer);
  if (!b->buffer) return -1;
  b->values = _arb_vec_init(SOFTMAX_BALL_BLOCK * slice->dv);
  b->sign = _arb_vec_init(SOFTMAX_BALL_BLOCK);
  arb_init(b->term);
  return 0;
}

static void value_block_clear(value_block *b, const problem_slice *slice) {
  free(b->buffer);
  _arb_vec_clear(b->values, SOFTMAX_BALL_BLOCK * slice->dv);
  _arb_vec_clear(b->sign, SOFTMAX_BALL_BLOCK);
  arb_clear(b->term);
}

/* Keys of the row in the block that starts at `first`. */
static int64_t block_size(const softmax_row *r, int64_t first) {
  int64_t n = r->keys.count - first;
  return n < SOFTMAX_BALL_BLOCK ? n : SOFTMAX_BALL_BLOCK;
}

/* x = sum p v and, when wanted, a = sum p |v|; one key without a sink gives v itself, exactly. */
static void row_means(room_balls *balls, const softmax_row *r, value_block *b, const arb_t sum,
                      const problem_slice *slice, unsigned want) {
  int64_t dv = slice->dv;
  int alone = r->count == 1 && r->keys.count == 1;
  for (int64_t first = 0; first < r->keys.count; first += SOFTMAX_BALL_BLOCK) {
    int64_t n = block_size(r, first);
    softmax_row_values(b->values, b->buffer, r, slice, balls->class, first, n);
    for (int64_t c = 0; c < dv; c++)
      arb_dot(balls->x + c, balls->x + c, 0, b->values + c, dv, r->score + first, 1, n, r->prec);
    if (alone) _arb_vec_set(balls->x, b->values, dv);
    if (!(want & WANT_CONDITION)) continue;
    for (int64_t i = 0; i < n * dv; i++)
      arb_abs(b->values + i, b->values + i);
    for (int64_t c = 0; c < dv; c++)
      arb_dot(balls->a + c, balls->a + c, 0, b->values + c, dv, r->score + first, 1, n, r->prec);
  }
  for (int64_t c = 0; c < dv; c++) {
    if (!alone) arb_div(balls->x + c, balls->x + c, sum, r->prec);
    if (want & WANT_CONDITION) arb_div(balls->a + c, balls->a + c, sum, r->prec);
  }
}

/* s += sum g |v - x| over one component of a block, as two dot products: sum (+-g) v into s and
 * sum +-g into `signs`, with the sign of v - x. Keys whose v the ball x does not tell from x are
 * added one by one. `v` is used up. */
static void block_sensitivity(arb_t s, arb_t signs, value_block *b, arb_ptr v, slong stride,
                              const arb_t x, arb_srcptr g, int64_t n, slong prec) {
  arf_t lo, hi;
  arf_init(lo);
  arf_init(hi);
  arb_get_lbound_arf(lo, x, prec);
  arb_get_ubound_arf(hi, x, prec);
  for (int64_t i = 0; i < n; i++) {
    arb_ptr vi = v + i * stride;
    int sign = arf_cmp(arb_midref(vi), hi) > 0 ? 1 : arf_cmp(arb_midref(vi), lo) < 0 ? -1 : 0;
    arb_set_si(b->sign + i, sign);
    if (sign < 0) arb_neg(vi, vi);
    if (sign != 0) continue;
    arb_sub(b->term, vi, x, prec);
    arb_abs(b->term, b->term);
    arb_addmul(s, b->term, g + i, prec);
    arb_zero(vi);
  }
  arb_dot(s, s, 0, v, stride, g, 1, n, prec);
  arb_dot(signs, signs, 0, b->sign, 1, g, 1, n, prec);
  arf_clear(lo);
  arf_clear(hi);
}

/* s = sum p t |v - x|, the sink (v = 0) included; the weights in r->score become p t. */
static void row_sensitivity(room_balls *balls, softmax_row *r, value_block *b, const arb_t sum,
                            const problem_slice *slice) {
  int64_t dv = slice->dv;
  arb_ptr signs = _arb_vec_init(dv);
  for (int64_t n = 0; n < r->count; n++)
    arb_mul(r->score + n, r->score + n, r->t + n, r->prec);
  for (int64_t first = 0; first < r->keys.count; first += SOFTMAX_BALL_BLOCK) {
    int64_t n = block_size(r, first);
    softmax_row_values(b->values, b->buffer, r, slice, balls->class, first, n);
    for (int64_t c = 0; c < dv; c++)
      block_sensitivity(balls->s + c, signs + c, b, b->values + c, dv, balls->x + c,
                        r->score + first, n, r->prec);
  }
  for (int64_t c = 0; c < dv; c++) {
    arb_submul(balls->s + c, signs + c, balls->x + c, r->prec);
    if (r->count > r->keys.count) {
      arb_abs(b->term, balls->x + c);
      arb_addmul(balls->s + c, b->term, r->score + r->keys.count, r->prec);
    }
    arb_div(balls->s + c, balls->s + c, sum, r->prec);
  }
  _arb_vec_clear(signs, dv);
}

static attest_status row_out(room_balls *balls, softmax_row *r, const arb_t sum,
                             const problem_slice *slice, unsigned want, attest_error *error) {
  value_block b;
  if (value_block_init(&b, slice))
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for one row of %lld values",
                       (long long)slice->dv);
  row_means(balls, r, &b, sum, slice, want);
  if (want & WANT_CONDITION) row_sensitivity(balls, r, &b, sum, slice);
  value_block_clear(&b, slice);
  return ATTEST_OK;
}

static attest_status ordinary_row(room_balls *balls, const attest_problem *problem,
                                  const problem_slice *slice, int64_t row, int output,
                                  unsigned want, slong prec, attest_error *error) {
  softmax_row r;
  attest_status status =
      softmax_row_init(&r, problem, slice, row, (want & WANT_CONDITION) != 0, prec, error);
  if (status) return status;
  arb_t sum, max;
  arb_init(sum);
  arb_init(max);
  softmax_row_weights(&r, sum, max);
  if (output == OUTPUT_LSE)
    row_lse(balls, &r, sum, max, problem, want);
  else
    status = row_out(balls, &r, sum, slice, want, error);
  arb_clear(sum);
  arb_clear(max);
  softmax_row_clear(&r);
  return status;
}

attest_status softmax_empty_row_trouble(const problem_slice *slice, int64_t row,
                                        attest_error *error) {
  return attest_fail(error, ATTEST_ERR_INPUT,
                     "sequence %lld, query head %lld: row %lld sees no key and empty-row is error; "
                     "set empty-row to zero or nan, or let the row see a key",
                     (long long)slice->sequence, (long long)slice->head, (long long)row);
}

attest_status softmax_ball(room_balls *balls, const attest_problem *problem,
                           const problem_slice *slice, int64_t row, int output, unsigned want,
                           slong prec, attest_error *error) {
  int64_t width = output == OUTPUT_OUT ? slice->dv : 1;
  double *value = malloc((size_t)(width + 1) * sizeof *value);
  if (!value)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for one row of %lld values",
                       (long long)width);
  _arb_vec_zero(balls->x, width);
  if (want & WANT_CONDITION) {
    _arb_vec_zero(balls->a, width);
    _arb_vec_zero(balls->s, width);
  }
  int kind = softmax_special_row(balls->class, value, problem, slice, row, output);
  if (kind == 0)
    for (int64_t c = 0; c < width; c++) {
      arb_set_d(balls->x + c, value[c]);
      if (want & WANT_CONDITION) arb_abs(balls->a + c, balls->x + c);
      /* A finite lse without keys is the score of the sink, which is all that can move. */
      if (want & WANT_CONDITION && output == OUTPUT_LSE) arb_abs(balls->s + c, balls->x + c);
    }
  free(value);
  if (kind < 0) return softmax_empty_row_trouble(slice, row, error);
  if (kind == 0) return ATTEST_OK;
  return ordinary_row(balls, problem, slice, row, output, want, prec, error);
}
