/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Expressions as rational functions of the last variable. */
#include "symbolic.h"

#include <stdlib.h>
#include <string.h>

enum { DEGREE_MAX = 100, TERMS_MAX = 1000 };

/* What a subexpression is. */
typedef enum { IS_FUNCTION, IS_OTHER, IS_ERROR } symbolic_kind;

typedef struct {
  const real_interval *range;
  rational_function *slots; /* by slot; NULL polynomials: not rational */
  char *known;
  attest_error *error;
  attest_status status;
} symbolic;

static symbolic_kind convert(rational_function *r, const node *n, symbolic *s);

/* ---- rational functions ---- */

static void function_init(rational_function *r) {
  fmpq_poly_init(r->num);
  fmpq_poly_init(r->den);
  fmpq_poly_one(r->den);
}

static void function_clear(rational_function *r) {
  fmpq_poly_clear(r->num);
  fmpq_poly_clear(r->den);
}

static void function_set(rational_function *r, const rational_function *a) {
  fmpq_poly_set(r->num, a->num);
  fmpq_poly_set(r->den, a->den);
}

static void function_multiply(rational_function *r, const rational_function *a, int invert) {
  fmpq_poly_mul(r->num, r->num, invert ? a->den : a->num);
  fmpq_poly_mul(r->den, r->den, invert ? a->num : a->den);
}

static void function_add(rational_function *r, const rational_function *a, int negative) {
  fmpq_poly_t term;
  fmpq_poly_init(term);
  if (fmpq_poly_equal(r->den, a->den)) {
    fmpq_poly_set(term, a->num);
  } else {
    fmpq_poly_mul(term, a->num, r->den);
    fmpq_poly_mul(r->num, r->num, a->den);
    fmpq_poly_mul(r->den, r->den, a->den);
  }
  if (negative)
    fmpq_poly_sub(r->num, r->num, term);
  else
    fmpq_poly_add(r->num, r->num, term);
  fmpq_poly_clear(term);
}

static int is_constant(const rational_function *r) {
  return fmpq_poly_degree(r->num) <= 0 && fmpq_poly_degree(r->den) == 0;
}

static void constant_value(value *v, const rational_function *r) {
  fmpq_t den;
  fmpq_init(den);
  value_set_si(v, 0);
  fmpq_poly_get_coeff_fmpq(v->rational, r->num, 0);
  fmpq_poly_get_coeff_fmpq(den, r->den, 0);
  fmpq_div(v->rational, v->rational, den);
  fmpq_clear(den);
}

static symbolic_kind set_value(rational_function *r, const value *v) {
  if (v->kind != VALUE_RATIONAL) return IS_OTHER;
  fmpq_poly_set_fmpq(r->num, v->rational);
  fmpq_poly_one(r->den);
  return IS_FUNCTION;
}

/* ---- nodes ---- */

/* Whether the range has no zero of a divisor: an error if it has one, as the expression has no
 * value there, whatever becomes of the quotient: 1/(1/t), (1/t)^0. */
static symbolic_kind check_divisor(const fmpq_poly_t p, int column, symbolic *s) {
  value zero;
  value_init(&zero);
  int vanishes_nowhere = symbolic_sign(&zero, p, '!', s->range);
  value_clear(&zero);
  if (vanishes_nowhere == VALUE_UNKNOWN) return IS_OTHER;
  if (vanishes_nowhere) return IS_FUNCTION;
  s->status = attest_fail(s->error, ATTEST_ERR_INPUT,
                          fmpq_poly_is_zero(p) ? "column %d: division by zero"
                                               : "column %d: division by zero within the range",
                          column);
  return IS_ERROR;
}

static symbolic_kind convert_chain(rational_function *r, const node *n, symbolic *s) {
  symbolic_kind kind = convert(r, n->children[0], s);
  rational_function next;
  function_init(&next);
  for (size_t i = 1; i < n->count && kind == IS_FUNCTION; i++) {
    char operator= n->operators[i];
    kind = convert(&next, n->children[i], s);
    if (kind != IS_FUNCTION) break;
    if (operator== '/') kind = check_divisor(next.num, n->columns[i], s);
    if (kind != IS_FUNCTION) break;
    if (operator== '*' || operator== '/')
      function_multiply(r, &next, operator== '/');
    else
      function_add(r, &next, operator== '-');
    if (kind == IS_FUNCTION &&
        (fmpq_poly_degree(r->num) > DEGREE_MAX || fmpq_poly_degree(r->den) > DEGREE_MAX))
      kind = IS_OTHER;
  }
  function_clear(&next);
  return kind;
}

static symbolic_kind convert_power(rational_function *r, const node *n, symbolic *s) {
  rational_function exponent;
  value v;
  fmpz_t k;
  function_init(&exponent);
  value_init(&v);
  fmpz_init(k);
  symbolic_kind kind = convert(r, n->children[0], s);
  if (kind == IS_FUNCTION) kind = convert(&exponent, n->children[1], s);
  if (kind == IS_FUNCTION && is_constant(&exponent)) constant_value(&v, &exponent);
  if (kind == IS_FUNCTION) {
    slong degree = FLINT_MAX(fmpq_poly_degree(r->num), fmpq_poly_degree(r->den));
    int whole = is_constant(&exponent) && value_get_fmpz(k, &v) &&
                fmpz_bits(k) <= 7; /* degrees end below */
    slong power = whole ? fmpz_get_si(k) : 0;
    if (!whole || FLINT_ABS(power) * degree > DEGREE_MAX)
      kind = IS_OTHER;
    else if (power < 0)
      kind = check_divisor(r->num, n->column, s);
    if (kind == IS_FUNCTION) {
      if (power < 0) fmpq_poly_swap(r->num, r->den);
      fmpq_poly_pow(r->num, r->num, (ulong)FLINT_ABS(power));
      fmpq_poly_pow(r->den, r->den, (ulong)FLINT_ABS(power));
    }
  }
  function_clear(&exponent);
  value_clear(&v);
  fmpz_clear(k);
  return kind;
}

/* p(num/den) = sum of p_i num^i den^(deg - i) over den^deg. */
static symbolic_kind compose(rational_function *r, const fmpq_poly_t p,
                             const rational_function *x) {
  slong degree = fmpq_poly_degree(p);
  slong inner = FLINT_MAX(fmpq_poly_degree(x->num), fmpq_poly_degree(x->den));
  if (degree * inner > DEGREE_MAX) return IS_OTHER;
  fmpq_t coefficient;
  fmpq_poly_t power, term;
  fmpq_init(coefficient);
  fmpq_poly_init(power);
  fmpq_poly_init(term);
  fmpq_poly_zero(r->num);
  fmpq_poly_one(power); /* den^(deg - i) */
  for (slong i = degree; i >= 0; i--) {
    fmpq_poly_get_coeff_fmpq(coefficient, p, i);
    fmpq_poly_scalar_mul_fmpq(term, power, coefficient);
    fmpq_poly_mul(r->num, r->num, x->num);
    fmpq_poly_add(r->num, r->num, term);
    if (i > 0) fmpq_poly_mul(power, power, x->den);
  }
  fmpq_poly_set(r->den, power);
  fmpq_clear(coefficient);
  fmpq_poly_clear(power);
  fmpq_poly_clear(term);
  return IS_FUNCTION;
}

static symbolic_kind call_function(rational_function *r, const node *n,
                                   const rational_function *arguments, symbolic *s) {
  const room_function *f = n->function;
  size_t constants = 0;
  while (constants < n->count && is_constant(&arguments[constants]))
    constants++;
  value *values = flint_calloc(n->count + 1, sizeof *values), result;
  symbolic_kind kind = IS_OTHER;
  value_init(&result);
  for (size_t i = 0; i < n->count; i++) {
    value_init(&values[i]);
    if (i < constants) constant_value(&values[i], &arguments[i]);
  }
  attest_status status = ATTEST_OK;
  if (constants == n->count) {
    status = f->evaluate(&result, values, n->count, 64, s->error);
    if (!status) kind = set_value(r, &result);
  } else if (f->polynomial && constants == n->count - 1) {
    fmpq_poly_t p;
    fmpq_poly_init(p);
    status = f->polynomial(p, values, n->count, s->error);
    if (!status) kind = compose(r, p, &arguments[constants]);
    fmpq_poly_clear(p);
  }
  /* the numerical route repeats the error with its column */
  for (size_t i = 0; i < n->count; i++)
    value_clear(&values[i]);
  flint_free(values);
  value_clear(&result);
  return status ? IS_OTHER : kind;
}

static symbolic_kind convert_call(rational_function *r, const node *n, symbolic *s) {
  rational_function *arguments = flint_calloc(n->count + 1, sizeof *arguments);
  symbolic_kind kind = IS_FUNCTION;
  for (size_t i = 0; i < n->count; i++)
    function_init(&arguments[i]);
  for (size_t i = 0; i < n->count && kind == IS_FUNCTION; i++)
    kind = convert(&arguments[i], n->children[i], s);
  if (kind == IS_FUNCTION) kind = call_function(r, n, arguments, s);
  for (size_t i = 0; i < n->count; i++)
    function_clear(&arguments[i]);
  flint_free(arguments);
  return kind;
}

/* Gives the name of a LET node its value. */
static symbolic_kind bind(const node *n, symbolic *s) {
  rational_function r;
  function_init(&r);
  symbolic_kind kind = convert(&r, n->children[0], s);
  s->known[n->slot] = kind == IS_FUNCTION;
  if (kind == IS_FUNCTION) function_set(&s->slots[n->slot], &r);
  function_clear(&r);
  return kind;
}

static symbolic_kind convert_let(rational_function *r, const node *n, symbolic *s) {
  return bind(n, s) == IS_ERROR ? IS_ERROR : convert(r, n->children[1], s);
}

/* An integer that does not depend on the variable. */
static symbolic_kind convert_bound(slong *bound, const node *n, symbolic *s) {
  rational_function r;
  value v;
  fmpz_t k;
  function_init(&r);
  value_init(&v);
  fmpz_init(k);
  symbolic_kind kind = convert(&r, n, s);
  if (kind == IS_FUNCTION && is_constant(&r)) constant_value(&v, &r);
  if (kind == IS_FUNCTION && (!is_constant(&r) || !value_get_fmpz(k, &v) || fmpz_bits(k) > 30))
    kind = IS_OTHER;
  *bound = kind == IS_FUNCTION ? fmpz_get_si(k) : 0;
  function_clear(&r);
  value_clear(&v);
  fmpz_clear(k);
  return kind;
}

static symbolic_kind convert_total(rational_function *r, const node *n, symbolic *s) {
  slong from, to = 0;
  rational_function term;
  symbolic_kind kind = convert_bound(&from, n->children[0], s);
  if (kind == IS_FUNCTION) kind = convert_bound(&to, n->children[1], s);
  if (kind == IS_FUNCTION && to - from > TERMS_MAX) kind = IS_OTHER;
  function_init(&term);
  fmpq_poly_zero(r->num);
  fmpq_poly_one(r->den);
  for (slong i = from; i <= to && kind == IS_FUNCTION; i++) {
    rational_function *index = &s->slots[n->slot];
    fmpq_poly_set_si(index->num, i);
    fmpq_poly_one(index->den);
    s->known[n->slot] = 1;
    kind = convert(&term, n->children[2], s);
    if (kind == IS_FUNCTION) function_add(r, &term, 0);
    if (fmpq_poly_degree(r->num) > DEGREE_MAX || fmpq_poly_degree(r->den) > DEGREE_MAX)
      kind = IS_OTHER;
  }
  function_clear(&term);
  return kind;
}

static symbolic_kind convert(rational_function *r, const node *n, symbolic *s) {
  symbolic_kind kind;
  switch (n->kind) {
  case NODE_NUMBER:
    fmpq_poly_set_fmpq(r->num, n->number);
    fmpq_poly_one(r->den);
    return IS_FUNCTION;
  case NODE_SLOT:
    if (!s->known[n->slot]) return IS_OTHER;
    function_set(r, &s->slots[n->slot]);
    return IS_FUNCTION;
  case NODE_SUM:
  case NODE_PRODUCT:
    return convert_chain(r, n, s);
  case NODE_NEGATE:
    kind = convert(r, n->children[0], s);
    fmpq_poly_neg(r->num, r->num);
    return kind;
  case NODE_POWER:
    return convert_power(r, n, s);
  case NODE_CALL:
    return convert_call(r, n, s);
  case NODE_LET:
    return convert_let(r, n, s);
  case NODE_TOTAL:
    return convert_total(r, n, s);
  default:
    return IS_OTHER;
  }
}

/* ---- predicates ---- */

/* a OPERATOR b: the sign of (a - b) = num/den is that of num den. */
static attest_status decide_pair(int *truth, value *witness, const node *a, const node *b,
                                 char operator, symbolic * s) {
  rational_function left, right;
  function_init(&left);
  function_init(&right);
  symbolic_kind kind = convert(&left, a, s);
  if (kind == IS_FUNCTION) kind = convert(&right, b, s);
  attest_status status = kind == IS_ERROR ? s->status : ATTEST_OK;
  *truth = VALUE_UNKNOWN;
  if (kind == IS_FUNCTION) {
    function_add(&left, &right, 1);
    fmpq_poly_mul(left.num, left.num, left.den);
    *truth = symbolic_sign(witness, left.num, operator, s->range);
  }
  function_clear(&left);
  function_clear(&right);
  return status;
}

static attest_status decide_node(int *truth, value *witness, const node *n, symbolic *s) {
  attest_status status = ATTEST_OK;
  int every = 1;
  *truth = VALUE_UNKNOWN;
  if (n->kind == NODE_LET) {
    symbolic_kind kind = bind(n, s);
    return kind == IS_ERROR ? s->status : decide_node(truth, witness, n->children[1], s);
  }
  if (n->kind != NODE_COMPARE && n->kind != NODE_AND) return ATTEST_OK;
  for (size_t i = n->kind == NODE_COMPARE; i < n->count && !status; i++) {
    status = n->kind == NODE_AND ? decide_node(truth, witness, n->children[i], s)
                                 : decide_pair(truth, witness, n->children[i - 1], n->children[i],
                                               n->operators[i], s);
    if (status || *truth == 0) return status;
    if (*truth == VALUE_UNKNOWN) every = VALUE_UNKNOWN;
  }
  *truth = every;
  return status;
}

attest_status symbolic_decide(int *truth, value *witness, const expression *e,
                              const evaluation *how, const real_interval *range,
                              attest_error *error) {
  attest_error unused;
  symbolic s = {.range = range, .error = error ? error : &unused};
  s.slots = flint_calloc((size_t)e->slots + 1, sizeof *s.slots);
  s.known = flint_calloc((size_t)e->slots + 1, 1);
  for (int i = 0; i < e->slots; i++)
    function_init(&s.slots[i]);
  for (int i = 0; i < e->variables - 1; i++)
    s.known[i] = set_value(&s.slots[i], &how->variables[i]) == IS_FUNCTION;
  fmpq_poly_set_coeff_si(s.slots[e->variables - 1].num, 1, 1);
  s.known[e->variables - 1] = 1;
  attest_status status = decide_node(truth, witness, e->root, &s);
  for (int i = 0; i < e->slots; i++)
    function_clear(&s.slots[i]);
  flint_free(s.slots);
  flint_free(s.known);
  return status;
}
