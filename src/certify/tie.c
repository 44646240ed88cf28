/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Straddles that would never end. Where an error equals a threshold exactly, the exact element
 * satisfies a linear equation with rational coefficients, and the room can decide that. */
#include <math.h>

#include "engine.h"

/* The rational number that a double is; an infinite one counts as 2^1024. */
static void set_double(fmpq_t value, double x) {
  int e = 1025;
  double significand = isinf(x) ? copysign(0.5, x) : frexp(x, &e);
  fmpz_set_d(fmpq_numref(value), ldexp(significand, 53));
  fmpz_one(fmpq_denref(value));
  if (e >= 53)
    fmpq_mul_2exp(value, value, (flint_bitcnt_t)(e - 53));
  else
    fmpq_div_2exp(value, value, (flint_bitcnt_t)(53 - e));
}

/* sum coefficient[i] x[component[i]] = constant? */
static int linear(const engine_place *at, int n, const int64_t component[], const fmpq *coefficient,
                  const fmpq_t constant) {
  if (n == 1 && fmpq_is_zero(coefficient)) return fmpq_is_zero(constant);
  if (!at->e->room->linear_zero) return -1;
  return at->e->room->linear_zero(at->o->subject->problem, at->slice, at->row, at->o->output, n,
                                  component, coefficient, constant);
}

int engine_is_exactly(const engine_place *at, int64_t component, double c) {
  fmpq_t constant;
  fmpq_init(constant);
  set_double(constant, c);
  int answer = room_equals(at->e->room->linear_zero, at->o->subject->problem, at->slice, at->row,
                           at->o->output, component, constant);
  fmpq_clear(constant);
  return answer;
}

/* Yes beats not known beats no. */
static int any(int a, int b) {
  return a == 1 || b == 1 ? 1 : a < 0 || b < 0 ? -1 : 0;
}

/* Whether a ball's points may have this sign. */
static int may_be(const arb_t x, int sign) {
  return sign > 0 ? !arb_is_nonpositive(x) : !arb_is_nonnegative(x);
}

/* The question (1 + sign * slope) x = got - side * offset. */
static int affine(const engine_place *at, int64_t component, const fmpq_t got, int sign,
                  const fmpq_t slope, int side, const fmpq_t offset) {
  fmpq_t coefficient, constant;
  fmpq_init(coefficient);
  fmpq_init(constant);
  fmpq_one(coefficient);
  if (sign > 0)
    fmpq_add(coefficient, coefficient, slope);
  else
    fmpq_sub(coefficient, coefficient, slope);
  if (side > 0)
    fmpq_sub(constant, got, offset);
  else
    fmpq_add(constant, got, offset);
  int answer = linear(at, 1, &component, coefficient, constant);
  fmpq_clear(coefficient);
  fmpq_clear(constant);
  return answer;
}

/* |got - x| = offset + slope |x|, for the signs that got - x and x may have. */
static int tie_affine(const engine_place *at, int64_t component, const fmpq_t got,
                      const arb_t distance, const arb_t x, const fmpq_t slope,
                      const fmpq_t offset) {
  int answer = 0;
  for (int side = -1; side <= 1; side += 2)
    for (int sign = -1; sign <= 1; sign += 2)
      if (may_be(distance, side) && may_be(x, sign))
        answer = any(answer, affine(at, component, got, side * sign, slope, side, offset));
  return answer;
}

/* |got - x_c| = threshold |x_m|, m another component of the row. */
static int tie_with(const engine_place *at, int64_t c, int64_t m, const fmpq_t got,
                    const fmpq_t threshold) {
  fmpq *coefficient = _fmpq_vec_init(2);
  int64_t component[2] = {c, m};
  int answer = 0;
  fmpq_one(coefficient);
  fmpq_set(coefficient + 1, threshold);
  for (int i = 0; i < 2; i++) {
    answer = any(answer, linear(at, 2, component, coefficient, got));
    fmpq_neg(coefficient + 1, coefficient + 1);
  }
  _fmpq_vec_clear(coefficient, 2);
  return answer;
}

/* |got - x_c| = threshold |x_m| for any m that may be the largest of the row. */
static int tie_row(const engine_place *at, int64_t c, const fmpq_t got, const arb_t distance,
                   const fmpq_t threshold, const engine_view *view, arb_srcptr x) {
  fmpq_t zero;
  arb_t largest, other;
  fmpq_init(zero);
  arb_init(largest);
  arb_init(other);
  int answer = 0;
  for (int64_t m = 0; m < at->o->width; m++) {
    arb_abs(other, x + m);
    if (view->class[m] == EXACT_FINITE) arb_max(largest, largest, other, 2 * 128);
  }
  for (int64_t m = 0; m < at->o->width; m++) {
    arb_abs(other, x + m);
    if (view->class[m] != EXACT_FINITE || arb_lt(other, largest)) continue;
    int here = m == c ? tie_affine(at, c, got, distance, x + c, threshold, zero)
                      : tie_with(at, c, m, got, threshold);
    answer = any(answer, here);
  }
  fmpq_clear(zero);
  arb_clear(largest);
  arb_clear(other);
  return answer;
}

/* Slope and offset of the tie |got - x| = offset + slope |x| at this threshold. */
static void tie_line(fmpq_t slope, fmpq_t offset, const engine_output *o, measure_kind measure,
                     const fmpq_t threshold, double theory, const arb_t x) {
  fmpq_zero(slope);
  fmpq_set(offset, threshold);
  if (measure == MEASURE_REL) {
    fmpq_set(slope, threshold);
    fmpq_zero(offset);
  } else if (measure == MEASURE_ALLCLOSE) {
    fmpq_mul(slope, threshold, o->allclose->rtol);
    fmpq_mul(offset, threshold, o->allclose->atol);
  } else if (measure == MEASURE_THEORY) {
    fmpq_t bound;
    fmpq_init(bound);
    set_double(bound, measure_canonical(theory));
    fmpq_mul(offset, threshold, bound);
    fmpq_clear(bound);
  } else if (measure == MEASURE_ULP) {
    int e;
    double middle = arf_get_d(arb_midref(x), ARF_RND_DOWN); /* of the one binade of x */
    frexp(middle, &e);
    e = (middle == 0 || e - 1 < o->format->emin ? o->format->emin : e - 1) - o->format->precision +
        1;
    if (e >= 0)
      fmpq_mul_2exp(offset, offset, (flint_bitcnt_t)e);
    else
      fmpq_div_2exp(offset, offset, (flint_bitcnt_t)-e);
  }
}

int engine_tie(const engine_place *at, const engine_element *element, measure_kind measure,
               const fmpq_t threshold, const engine_view *view, arb_srcptr x) {
  const int64_t c = element->component;
  if (measure == MEASURE_BACKWARD || measure == MEASURE_NMSE) return -1;
  fmpq_t got, slope, offset;
  arb_t distance;
  fmpq_init(got);
  fmpq_init(slope);
  fmpq_init(offset);
  arb_init(distance);
  set_double(got, element->counted);
  arb_set_fmpq(distance, got, 256);
  arb_sub(distance, distance, x + c, 256);
  int answer;
  if (measure == MEASURE_ROW) {
    answer = tie_row(at, c, got, distance, threshold, view, x);
  } else {
    tie_line(slope, offset, at->o, measure, threshold,
             measure == MEASURE_THEORY ? view->theory[c] : 0, x + c);
    answer = tie_affine(at, c, got, distance, x + c, slope, offset);
  }
  fmpq_clear(got);
  fmpq_clear(slope);
  fmpq_clear(offset);
  arb_clear(distance);
  return answer;
}
