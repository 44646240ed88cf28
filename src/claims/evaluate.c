/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "expression.h"

enum { LIST_MAX = 100000, TERMS_MAX = 10000000, SECONDS_MAX = 20 };

typedef struct {
  evaluation *how;
  value *slots;
  clock_t deadline; /* processor time, 0: not set; a last resort, steps come first */
  unsigned nodes;
  attest_error *error;
} evaluator;

static attest_status evaluate(value *result, const node *n, evaluator *ev);

/* ---- errors ---- */

/* Puts "column N: " before the message. */
static attest_status at_column(int column, evaluator *ev, attest_status status) {
  if (!status || !ev->error) return status;
  char message[sizeof ev->error->message];
  snprintf(message, sizeof message, "%s", ev->error->message);
  return attest_fail(ev->error, status, "column %d: %.480s", column, message);
}

static attest_status fail_at(const node *n, evaluator *ev, const char *message) {
  return attest_fail(ev->error, ATTEST_ERR_INPUT, "column %d: %s", n->column, message);
}

/* Short evaluations, of which predicates make a million, never ask for the time. */
static int is_late(evaluator *ev) {
  if (++ev->nodes % 64) return 0;
  if (!ev->deadline) ev->deadline = clock() + SECONDS_MAX * CLOCKS_PER_SEC;
  return clock() > ev->deadline;
}

static attest_status spend(const node *n, evaluator *ev) {
  ev->how->steps -= 1 + ev->how->prec / 1024;
  if (ev->how->steps < 0 || is_late(ev)) return fail_at(n, ev, "this takes too long to evaluate");
  return ATTEST_OK;
}

/* What a value costs beyond one step: large exact numbers and lists take time and memory. */
static long weight(const value *v) {
  long cost = v->kind == VALUE_RATIONAL ? (long)(fmpq_height_bits(v->rational) / 64) : 0;
  for (size_t i = 0; i < v->count; i++)
    cost += 16 + weight(&v->items[i]);
  return cost;
}

static attest_status spend_weight(const value *v, const node *n, evaluator *ev) {
  ev->how->steps -= weight(v);
  return ev->how->steps < 0 ? fail_at(n, ev, "this takes too long to evaluate") : ATTEST_OK;
}

static const char *kind_name(const value *v) {
  return v->kind == VALUE_LIST ? "a list" : v->kind == VALUE_TRUTH ? "a truth value" : "a number";
}

static attest_status need_number(const node *n, evaluator *ev, const value *v) {
  if (value_is_number(v)) return ATTEST_OK;
  return attest_fail(ev->error, ATTEST_ERR_INPUT, "column %d: a number is wanted, not %s",
                     n->column, kind_name(v));
}

static attest_status evaluate_number(value *result, const node *n, evaluator *ev) {
  attest_status status = evaluate(result, n, ev);
  return status ? status : need_number(n, ev, result);
}

static attest_status evaluate_truth(value *result, const node *n, evaluator *ev) {
  attest_status status = evaluate(result, n, ev);
  if (!status && result->kind != VALUE_TRUTH)
    status = attest_fail(ev->error, ATTEST_ERR_INPUT, "column %d: a comparison is wanted, not %s",
                         n->column, kind_name(result));
  return status;
}

/* ---- arithmetic ---- */

/* a OPERATOR b, for the operator before child i of n. */
static attest_status combine(value *a, const value *b, const node *n, size_t i, evaluator *ev) {
  char operator= n->operators[i];
  slong prec = ev->how->prec;
  attest_status status = ATTEST_OK;
  if (operator== '+')
    value_add(a, a, b, prec);
  else if (operator== '-')
    value_sub(a, a, b, prec);
  else if (operator== '*')
    value_mul(a, a, b, prec);
  else
    status = value_div(a, a, b, prec, ev->error);
  if (!status) status = value_check_size(a, ev->error);
  if (!status) ev->how->steps -= weight(a);
  return at_column(n->columns[i], ev, status);
}

static attest_status evaluate_chain(value *result, const node *n, evaluator *ev) {
  attest_status status = evaluate_number(result, n->children[0], ev);
  value next;
  value_init(&next);
  for (size_t i = 1; i < n->count && !status; i++) {
    status = evaluate_number(&next, n->children[i], ev);
    if (!status) status = combine(result, &next, n, i, ev);
  }
  value_clear(&next);
  return status;
}

static attest_status evaluate_power(value *result, const node *n, evaluator *ev) {
  value exponent;
  value_init(&exponent);
  attest_status status = evaluate_number(result, n->children[0], ev);
  if (!status) status = evaluate_number(&exponent, n->children[1], ev);
  if (!status) {
    status = value_pow(result, result, &exponent, ev->how->prec, ev->error);
    if (!status) status = value_check_size(result, ev->error);
    status = at_column(n->column, ev, status);
  }
  value_clear(&exponent);
  return status;
}

static void set_constant(value *result, node_kind kind, slong prec) {
  arb_t x;
  arb_init(x);
  if (kind == NODE_PI)
    arb_const_pi(x, prec);
  else
    arb_const_e(x, prec);
  value_set_ball(result, x);
  arb_clear(x);
}

/* ---- truth ---- */

static int not_of(int truth) {
  return truth == VALUE_UNKNOWN ? truth : !truth;
}

static int and_of(int a, int b) {
  if (a == 0 || b == 0) return 0;
  return a == 1 && b == 1 ? 1 : VALUE_UNKNOWN;
}

int expression_holds(int sign, char operator) {
  switch (operator) {
  case '=':
    return sign == 0;
  case '!':
    return sign != 0;
  case '<':
    return sign < 0;
  case 'l':
    return sign <= 0;
  case '>':
    return sign > 0;
  default:
    return sign >= 0;
  }
}

/* Balls may decide <= where they do not decide the sign: [0, 1] >= 0. */
static int compare_balls(const value *a, const value *b, char operator, slong prec) {
  arb_t x, y;
  arb_init(x);
  arb_init(y);
  value_get_ball(x, a, prec);
  value_get_ball(y, b, prec);
  int truth = VALUE_UNKNOWN;
  if (operator== 'l')
    truth = arb_le(x, y) ? 1 : arb_gt(x, y) ? 0 : VALUE_UNKNOWN;
  else if (operator== 'g')
    truth = arb_ge(x, y) ? 1 : arb_lt(x, y) ? 0 : VALUE_UNKNOWN;
  arb_clear(x);
  arb_clear(y);
  return truth;
}

/* Truth values and lists are only equal or unequal, and to their like. */
static attest_status compare(int *truth, const value *a, const value *b, char operator,
                             const node * n, evaluator *ev) {
  if (value_is_number(a) && value_is_number(b)) {
    {
      int sign = value_compare(a, b, ev->how->prec);
      *truth = sign == VALUE_UNKNOWN ? VALUE_UNKNOWN : expression_holds(sign, operator);
    }
    if (*truth == VALUE_UNKNOWN) *truth = compare_balls(a, b, operator, ev->how->prec);
    return ATTEST_OK;
  }
  if (a->kind != b->kind || (operator!= '=' && operator!= '!'))
    return attest_fail(ev->error, ATTEST_ERR_INPUT, "column %d: %s and %s do not compare",
                       n->column, kind_name(a), kind_name(b));
  if (a->kind == VALUE_TRUTH) {
    int unknown = a->truth == VALUE_UNKNOWN || b->truth == VALUE_UNKNOWN;
    *truth = unknown ? VALUE_UNKNOWN : a->truth == b->truth;
  } else {
    *truth = a->count == b->count;
    for (size_t i = 0; i < a->count && *truth; i++) {
      int equal;
      attest_status status = compare(&equal, &a->items[i], &b->items[i], '=', n, ev);
      if (status) return status;
      *truth = and_of(*truth, equal);
    }
  }
  if (operator== '!') *truth = not_of(*truth);
  return ATTEST_OK;
}

static attest_status evaluate_compare(value *result, const node *n, evaluator *ev) {
  value left, right;
  value_init(&left);
  value_init(&right);
  int truth = 1, one = 1;
  attest_status status = evaluate(&left, n->children[0], ev);
  for (size_t i = 1; i < n->count && !status; i++) {
    status = evaluate(&right, n->children[i], ev);
    if (!status) status = compare(&one, &left, &right, n->operators[i], n, ev);
    truth = and_of(truth, one);
    value_swap(&left, &right);
  }
  value_set_truth(result, truth);
  value_clear(&left);
  value_clear(&right);
  return status;
}

/* and; or by De Morgan. Stops at the first operand that decides. */
static attest_status evaluate_words(value *result, const node *n, evaluator *ev) {
  int is_or = n->kind == NODE_OR, truth = 1;
  attest_status status = ATTEST_OK;
  for (size_t i = 0; i < n->count && !status && truth; i++) {
    status = evaluate_truth(result, n->children[i], ev);
    if (!status) truth = and_of(truth, is_or ? not_of(result->truth) : result->truth);
  }
  value_set_truth(result, is_or ? not_of(truth) : truth);
  return status;
}

/* ---- names, lists, calls ---- */

static attest_status evaluate_let(value *result, const node *n, evaluator *ev) {
  attest_status status = evaluate(result, n->children[0], ev);
  if (status) return status;
  value_swap(&ev->slots[n->slot], result);
  return evaluate(result, n->children[1], ev);
}

static attest_status evaluate_bound(fmpz_t bound, const node *n, evaluator *ev) {
  value v;
  value_init(&v);
  attest_status status = evaluate_number(&v, n, ev);
  if (!status && !value_get_fmpz(bound, &v))
    status = fail_at(n, ev, "the bound must be an integer that is known exactly");
  if (!status && fmpz_bits(bound) > 60) status = fail_at(n, ev, "the bound is too large");
  value_clear(&v);
  return status;
}

/* The integers from..to of an EACH or TOTAL node; an empty range has count 0. */
static attest_status evaluate_range(slong *from, slong *count, const node *n, slong most,
                                    evaluator *ev) {
  fmpz_t low, high;
  fmpz_init(low);
  fmpz_init(high);
  attest_status status = evaluate_bound(low, n->children[0], ev);
  if (!status) status = evaluate_bound(high, n->children[1], ev);
  if (!status) {
    *from = fmpz_get_si(low);
    *count = fmpz_get_si(high) - *from + 1;
    if (*count < 0) *count = 0;
    if (*count > most)
      status = attest_fail(ev->error, ATTEST_ERR_INPUT,
                           "column %d: %ld terms are too many (at most %ld)", n->column,
                           (long)*count, (long)most);
  }
  fmpz_clear(low);
  fmpz_clear(high);
  return status;
}

static attest_status evaluate_each(value *result, const node *n, evaluator *ev) {
  slong from = 0, count = 0;
  value list;
  value_init(&list);
  attest_status status = evaluate_range(&from, &count, n, LIST_MAX, ev);
  if (!status) status = value_set_list(&list, (size_t)count, ev->error);
  for (slong i = 0; i < count && !status; i++) {
    value_set_si(&ev->slots[n->slot], from + i);
    status = evaluate(&list.items[i], n->children[2], ev);
  }
  value_swap(result, &list);
  value_clear(&list);
  return status;
}

/* Exact partial sums of fractions cost more and more: beyond these bits they become balls. */
static void bound_fraction(value *sum, slong prec) {
  enum { BITS = 4096 };
  if (sum->kind != VALUE_RATIONAL || fmpz_bits(fmpq_denref(sum->rational)) < BITS) return;
  arb_t x;
  arb_init(x);
  value_get_ball(x, sum, prec);
  value_set_ball(sum, x);
  arb_clear(x);
}

static attest_status evaluate_total(value *result, const node *n, evaluator *ev) {
  slong from = 0, count = 0, prec = ev->how->prec + 32;
  value sum, term;
  value_init(&sum);
  value_init(&term);
  attest_status status = evaluate_range(&from, &count, n, TERMS_MAX, ev);
  for (slong i = 0; i < count && !status; i++) {
    value_set_si(&ev->slots[n->slot], from + i);
    status = evaluate_number(&term, n->children[2], ev);
    if (!status) value_add(&sum, &sum, &term, prec);
    bound_fraction(&sum, prec);
  }
  if (!status) status = at_column(n->column, ev, value_check_size(&sum, ev->error));
  value_swap(result, &sum);
  value_clear(&sum);
  value_clear(&term);
  return status;
}

static attest_status evaluate_list(value *result, const node *n, evaluator *ev) {
  value list;
  value_init(&list);
  attest_status status = value_set_list(&list, n->count, ev->error);
  for (size_t i = 0; i < n->count && !status; i++)
    status = evaluate(&list.items[i], n->children[i], ev);
  value_swap(result, &list);
  value_clear(&list);
  return status;
}

static attest_status evaluate_call(value *result, const node *n, evaluator *ev) {
  value arguments;
  value_init(&arguments);
  attest_status status = evaluate_list(&arguments, n, ev);
  if (!status) {
    status = n->function->evaluate(result, arguments.items, n->count, ev->how->prec, ev->error);
    if (!status) status = value_check_size(result, ev->error);
    status = at_column(n->column, ev, status);
  }
  value_clear(&arguments);
  return status;
}

static attest_status evaluate_node(value *result, const node *n, evaluator *ev) {
  attest_status status;
  switch (n->kind) {
  case NODE_NUMBER:
    value_set_fmpq(result, n->number);
    return ATTEST_OK;
  case NODE_SLOT:
    status = spend_weight(&ev->slots[n->slot], n, ev); /* before the copy */
    if (!status) value_set(result, &ev->slots[n->slot]);
    return status;
  case NODE_PI:
  case NODE_E:
    set_constant(result, n->kind, ev->how->prec);
    return ATTEST_OK;
  case NODE_SUM:
  case NODE_PRODUCT:
    return evaluate_chain(result, n, ev);
  case NODE_NEGATE:
    status = evaluate_number(result, n->children[0], ev);
    value_neg(result, result);
    return status;
  case NODE_POWER:
    return evaluate_power(result, n, ev);
  case NODE_COMPARE:
    return evaluate_compare(result, n, ev);
  case NODE_AND:
  case NODE_OR:
    return evaluate_words(result, n, ev);
  case NODE_NOT:
    status = evaluate_truth(result, n->children[0], ev);
    result->truth = not_of(result->truth);
    return status;
  case NODE_CALL:
    return evaluate_call(result, n, ev);
  case NODE_LIST:
    return evaluate_list(result, n, ev);
  case NODE_LET:
    return evaluate_let(result, n, ev);
  case NODE_EACH:
    return evaluate_each(result, n, ev);
  case NODE_TOTAL:
    return evaluate_total(result, n, ev);
  }
  return ATTEST_OK;
}

static attest_status evaluate(value *result, const node *n, evaluator *ev) {
  attest_status status = spend(n, ev);
  if (!status) status = evaluate_node(result, n, ev);
  if (!status && n->kind != NODE_SLOT) status = spend_weight(result, n, ev);
  return status;
}

attest_status expression_evaluate(value *result, const expression *e, evaluation *how,
                                  attest_error *error) {
  attest_error unused;
  evaluator ev = {.how = how, .error = error ? error : &unused};
  ev.slots = calloc((size_t)e->slots + 1, sizeof *ev.slots);
  if (!ev.slots) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (int i = 0; i < e->slots; i++)
    value_init(&ev.slots[i]);
  for (int i = 0; i < e->variables; i++)
    value_set(&ev.slots[i], &how->variables[i]);
  attest_status status = evaluate(result, e->root, &ev);
  for (int i = 0; i < e->slots; i++)
    value_clear(&ev.slots[i]);
  free(ev.slots);
  return status;
}
