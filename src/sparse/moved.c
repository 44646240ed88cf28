/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Arguments moved by a multiple of their absolute versions, y + m t: their signs and their order,
 * exactly.
 *
 * Without a softcap, and where the product vanishes under one, these are numbers of the row's field
 * times a positive factor: s + m T, the score and its absolute version without the temperature, for
 * distances -D + m T; where y has a level of its own, L + m |L| more, L = h^2 for distances and
 * h^2/2 - 1 for normrelu. Other capped arguments are rational functions, not constant ones, of the
 * exponential of an algebraic number, which is transcendental: no root of them, so balls of enough
 * precision decide. Two of them may agree in ways that this does not rule out, and saturated ones
 * may need more digits than there is memory for: then the answer is open. */
#include "row.h"

enum { PREC_FIRST = 256, PREC_LAST = 1 << 15 };

/* ---- as numbers of the field ---- */

static int is_number(const sparse_row *r, int64_t i) {
  return sparse_row_is_algebraic(r) || arf_is_zero(r->dot + i) ||
         r->problem->values.scale.sign == 0;
}

/* T of key i, on the coordinates of the field. */
static void absolute_number(fmpq *x, const sparse_row *r, int64_t i) {
  const problem_real *scale = &r->problem->values.scale;
  fmpq_t term;
  arf_t size;
  for (int n = 0; n < SPARSE_BASIS; n++)
    fmpq_zero(x + n);
  if (r->kernel->is_distance) {
    arf_get_fmpq(x, r->size + i);
    return;
  }
  fmpq *product = x + (scale->root ? 1 : 0);
  if (scale->sign != 0) arf_get_fmpq(product, r->size + i);
  if (!scale->root && scale->sign != 0) fmpq_mul(product, product, scale->value);
  fmpq_init(term);
  arf_init(size);
  softmax_score_offset(NULL, size, r->slice, r->row, r->key[i]);
  arf_get_fmpq(term, size);
  fmpq_add(x, x, term);
  fmpq_clear(term);
  arf_clear(size);
}

/* L + m |L|; 0 for rules without a level. */
static void moved_level(fmpq_t level, const sparse_row *r, const fmpq_t m) {
  fmpq_t size;
  fmpq_zero(level);
  if (r->kernel->rule != RULE_POWER && r->kernel->rule != RULE_WITHIN) return;
  fmpq_init(size);
  sparse_bandwidth_squared(level, &r->problem->values);
  if (!r->kernel->is_distance) {
    fmpq_div_2exp(level, level, 1);
    fmpq_sub_si(level, level, 1);
  }
  fmpq_abs(size, level);
  fmpq_addmul(level, m, size);
  fmpq_clear(size);
}

/* x <- y + m t of key i, up to a positive factor. */
static void moved_number(fmpq *x, const sparse_row *r, int64_t i, double move) {
  fmpq *size = _fmpq_vec_init(SPARSE_BASIS);
  fmpq_t m, level;
  arf_t exact;
  fmpq_init(m);
  fmpq_init(level);
  arf_init(exact);
  arf_set_d(exact, move);
  arf_get_fmpq(m, exact);
  sparse_row_number(x, r, i);
  absolute_number(size, r, i);
  for (int n = 0; n < SPARSE_BASIS; n++) {
    if (r->kernel->is_distance) fmpq_neg(x + n, x + n);
    fmpq_addmul(x + n, m, size + n);
  }
  moved_level(level, r, m);
  fmpq_add(x, x, level);
  _fmpq_vec_clear(size, SPARSE_BASIS);
  fmpq_clear(m);
  fmpq_clear(level);
  arf_clear(exact);
}

/* j < 0: against zero. */
static int sign_of_numbers(const sparse_row *r, int64_t i, double move_i, int64_t j,
                           double move_j) {
  fmpq *x = _fmpq_vec_init(2 * SPARSE_BASIS), *y = x + SPARSE_BASIS;
  moved_number(x, r, i, move_i);
  if (j >= 0) moved_number(y, r, j, move_j);
  for (int n = 0; n < SPARSE_BASIS; n++)
    fmpq_sub(x + n, x + n, y + n);
  int sign = sparse_field_sign(x, &r->field);
  _fmpq_vec_clear(x, 2 * SPARSE_BASIS);
  return sign;
}

/* ---- as balls ---- */

/* y + m t, from balls of y and t. */
static void moved_ball(arb_t end, const arb_t y, const arb_t t, double move, slong prec) {
  arb_t m;
  arb_init(m);
  arb_set_d(m, move);
  arb_mul(m, m, t, prec);
  arb_add(end, y, m, prec);
  arb_clear(m);
}

static int sign_of_balls(const sparse_row *r, int64_t i, double move_i, int64_t j, double move_j) {
  const int64_t from[2] = {i, j}, n = j < 0 ? 1 : 2;
  int64_t key[2];
  arf_struct dot[2], offset[2], size[2]; /* borrowed */
  arb_ptr y = _arb_vec_init(4), t = y + 2;
  int sign = 0;
  sparse_row some = *r;
  for (int64_t at = 0; at < n; at++) {
    key[at] = r->key[from[at]];
    dot[at] = r->dot[from[at]];
    offset[at] = r->offset[from[at]];
    size[at] = r->size[from[at]];
  }
  some.count = n;
  some.key = key;
  some.dot = dot;
  some.offset = offset;
  some.size = size;
  for (slong prec = PREC_FIRST; sign == 0 && prec <= PREC_LAST; prec *= 2) {
    sparse_row_arguments(y, t, &some, prec);
    moved_ball(y, y, t, move_i, prec);
    if (j >= 0) moved_ball(y + 1, y + 1, t + 1, move_j, prec);
    if (j >= 0) arb_sub(y, y, y + 1, prec);
    sign = arb_is_positive(y) - arb_is_negative(y);
  }
  _arb_vec_clear(y, 4);
  return sign ? sign : SPARSE_OPEN;
}

/* ---- signs and order ---- */

int sparse_row_moved_sign(const sparse_row *r, int64_t i, double move) {
  if (is_number(r, i)) return sign_of_numbers(r, i, move, -1, 0);
  return move == 0 ? sparse_row_sign(r, i) : sign_of_balls(r, i, move, -1, 0);
}

/* Whether both have the same products and offsets; not said where bias and slope make up one. */
static int same_terms(const sparse_row *r, int64_t i, int64_t j) {
  return !(r->slice->bias.data && r->slice->has_slope) && arf_equal(r->dot + i, r->dot + j) &&
         arf_equal(r->offset + i, r->offset + j) && arf_equal(r->size + i, r->size + j);
}

int sparse_row_moved_compare(const sparse_row *r, int64_t i, double move_i, int64_t j,
                             double move_j) {
  if (move_i == move_j && same_terms(r, i, j)) return 0;
  if (move_i == 0 && move_j == 0) return sparse_row_compare(r, i, j);
  if (is_number(r, i) && is_number(r, j)) return sign_of_numbers(r, i, move_i, j, move_j);
  return sign_of_balls(r, i, move_i, j, move_j);
}

unsigned sparse_row_places(const sparse_row *r, int64_t i, double edge) {
  int low = sparse_row_moved_sign(r, i, -edge), high = sparse_row_moved_sign(r, i, edge);
  int zero_is_in = r->kernel->rule == RULE_WITHIN;
  unsigned places = 0;
  if (high == SPARSE_OPEN)
    places |= SPARSE_IN_OPEN;
  else if (high > 0 || (high == 0 && zero_is_in))
    places |= SPARSE_MAY_BE_IN;
  if (low == SPARSE_OPEN)
    places |= SPARSE_OUT_OPEN;
  else if (low < 0 || (low == 0 && !zero_is_in))
    places |= SPARSE_MAY_BE_OUT;
  return places;
}
