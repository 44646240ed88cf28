/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The sign of a polynomial on an interval, exactly: its real zeros are isolated, and between them
 * it has the sign that it has at one rational point. */
#include "../enclosure/roots.h"
#include "symbolic.h"

enum { DEGREE_MAX = 100 };

void real_interval_init(real_interval *x) {
  fmpq_init(x->low);
  fmpq_init(x->high);
  x->low_infinite = x->high_infinite = 1;
  x->low_open = x->high_open = 1;
}

void real_interval_clear(real_interval *x) {
  fmpq_clear(x->low);
  fmpq_clear(x->high);
}

int real_interval_is_empty(const real_interval *x) {
  if (x->low_infinite || x->high_infinite) return 0;
  int order = fmpq_cmp(x->low, x->high);
  return order > 0 || (order == 0 && (x->low_open || x->high_open));
}

int real_interval_contains(const real_interval *x, const fmpq_t point) {
  int low = x->low_infinite ? 1 : fmpq_cmp(point, x->low);
  int high = x->high_infinite ? -1 : fmpq_cmp(point, x->high);
  return (low > 0 || (low == 0 && !x->low_open)) && (high < 0 || (high == 0 && !x->high_open));
}

/* The zeros of f, which are those of p and the ends of the range, isolated in ascending order: so
 * every stretch between two of them, and every zero but the ends, is wholly in the range or not. */
typedef struct {
  fmpz_poly_t f, p;
  arb_ptr marks;
  slong count;
  char operator;
  const real_interval *range;
} sign_chart;

/* f <- the squarefree part of p (t - low) (t - high). */
static void set_marks(sign_chart *c) {
  const real_interval *r = c->range;
  fmpz_poly_t factor;
  fmpz_poly_init(factor);
  if (fmpz_poly_is_zero(c->p))
    fmpz_poly_one(c->f);
  else
    fmpz_poly_set(c->f, c->p);
  for (int i = 0; i < 2; i++) {
    if (i ? r->high_infinite : r->low_infinite) continue;
    const fmpq *end = i ? r->high : r->low;
    fmpz_poly_set_coeff_fmpz(factor, 1, fmpq_denref(end));
    fmpz_poly_set_coeff_fmpz(factor, 0, fmpq_numref(end));
    fmpz_neg(factor->coeffs, factor->coeffs);
    fmpz_poly_mul(c->f, c->f, factor);
  }
  fmpz_poly_derivative(factor, c->f);
  fmpz_poly_gcd(factor, c->f, factor);
  fmpz_poly_div(c->f, c->f, factor);
  fmpz_poly_clear(factor);
  c->count = roots_real(&c->marks, c->f, 64);
}

/* 0 where the sign of p at a point of the range does not obey: it is then the witness. */
static int obeys_at(value *witness, const sign_chart *c, const fmpq_t point) {
  if (!real_interval_contains(c->range, point) ||
      expression_holds(roots_sign_fmpq(c->p, point), c->operator))
    return 1;
  value_set_fmpq(witness, point);
  return 0;
}

/* The same at one point between marks i - 1 and i. */
static int obeys_before(value *witness, const sign_chart *c, slong i) {
  arf_t a, b;
  fmpq_t point;
  arf_init(a);
  arf_init(b);
  fmpq_init(point);
  if (i > 0) arb_get_ubound_arf(a, c->marks + i - 1, ARF_PREC_EXACT);
  if (i < c->count)
    arb_get_lbound_arf(b, c->marks + i, ARF_PREC_EXACT);
  else
    arf_add_ui(b, a, 1, ARF_PREC_EXACT, ARF_RND_DOWN);
  if (i == 0) arf_sub_ui(a, b, 1, ARF_PREC_EXACT, ARF_RND_DOWN);
  arf_add(a, a, b, ARF_PREC_EXACT, ARF_RND_DOWN);
  arf_mul_2exp_si(a, a, -1);
  arf_get_fmpq(point, a);
  int truth = obeys_at(witness, c, point);
  arf_clear(a);
  arf_clear(b);
  fmpq_clear(point);
  return truth;
}

/* The same at mark i, a zero of p unless it is an end of the range, which is looked at apart. Marks
 * are disjoint, so a mark that does not contain an end is on one side of it. */
static int obeys_on(value *witness, const sign_chart *c, slong i) {
  const real_interval *r = c->range;
  if (expression_holds(0, c->operator)) return 1;
  if (!r->low_infinite && arb_contains_fmpq(c->marks + i, r->low)) return 1;
  if (!r->high_infinite && arb_contains_fmpq(c->marks + i, r->high)) return 1;
  fmpq_t point;
  fmpq_init(point);
  arf_get_fmpq(point, arb_midref(c->marks + i));
  int inside = real_interval_contains(r, point);
  fmpq_clear(point);
  if (!inside) return 1;
  value_set_zero(witness, c->f, c->marks + i, 0, 128);
  return 0;
}

int symbolic_sign(value *witness, const fmpq_poly_t polynomial, char operator,
                  const real_interval * range) {
  sign_chart c = {.operator= operator, .range = range };
  if (real_interval_is_empty(range)) return 1;
  if (fmpq_poly_degree(polynomial) > DEGREE_MAX) return VALUE_UNKNOWN;
  fmpz_poly_init(c.f);
  fmpz_poly_init(c.p);
  fmpq_poly_get_numerator(c.p, polynomial);
  set_marks(&c);
  int truth = 1;
  /* rational witnesses first */
  if (!range->low_infinite) truth = obeys_at(witness, &c, range->low);
  if (truth && !range->high_infinite) truth = obeys_at(witness, &c, range->high);
  for (slong i = 0; i <= c.count && truth; i++)
    truth = obeys_before(witness, &c, i);
  for (slong i = 0; i < c.count && truth; i++)
    truth = obeys_on(witness, &c, i);
  if (c.count) _arb_vec_clear(c.marks, c.count);
  fmpz_poly_clear(c.f);
  fmpz_poly_clear(c.p);
  return truth;
}
