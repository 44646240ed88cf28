/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "predicate.h"

#include <stdlib.h>
#include <string.h>

#include "decide.h"

/* ---- reading ranges ---- */

void predicate_clear(predicate *p) {
  expression_clear(&p->formula);
  free(p->text);
  for (int i = 0; i < p->count; i++) {
    predicate_range *r = &p->ranges[i];
    expression_clear(&r->low);
    expression_clear(&r->high);
    expression_clear(&r->step);
    free(r->name);
    free(r->text);
  }
  memset(p, 0, sizeof *p);
}

/* Parses the bytes from..to, which may use the first `count` variables. */
static attest_status parse_using(expression *e, const char *from, const char *to,
                                 const predicate *p, int count, attest_error *error) {
  const char *names[PREDICATE_VARIABLES_MAX];
  for (int i = 0; i < count; i++)
    names[i] = p->ranges[i].name;
  char *part = strndup(from, (size_t)(to - from));
  if (!part) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  attest_status status = expression_parse(e, part, names, count, error);
  free(part);
  return status;
}

/* The same for a part of a range, which may use the variables before it that are not real. */
static attest_status parse_part(expression *e, const char *from, const char *to, const predicate *p,
                                attest_error *error) {
  int count = 0;
  while (count < p->count && p->ranges[count].kind != RANGE_REALS)
    count++;
  return parse_using(e, from, to, p, count, error);
}

/* The first place of `what` outside all brackets from `text` on, or NULL. */
static const char *find_outside(const char *text, const char *what) {
  int depth = 0;
  for (const char *s = text; *s; s++) {
    if (depth == 0 && !strncmp(s, what, strlen(what))) return s;
    depth += *s == '(' || *s == '[' || *s == '{';
    depth -= *s == ')' || *s == ']' || *s == '}';
  }
  return NULL;
}

static int is_word(const char *from, const char *to, const char *word) {
  while (from < to && *from == ' ')
    from++;
  while (from < to && to[-1] == ' ')
    to--;
  return (size_t)(to - from) == strlen(word) && !strncmp(from, word, (size_t)(to - from));
}

static attest_status read_integers(predicate_range *r, const predicate *p, const char *dots,
                                   attest_error *error) {
  const char *text = r->text, *step = strstr(dots, " step "), *end = text + strlen(text);
  r->kind = RANGE_INTEGERS;
  r->has_step = step != NULL;
  attest_status status = parse_part(&r->low, text, dots, p, error);
  if (!status) status = parse_part(&r->high, dots + 2, step ? step : end, p, error);
  if (!status && step) status = parse_part(&r->step, step + 6, end, p, error);
  return status;
}

static attest_status read_reals(predicate_range *r, const predicate *p, attest_error *error) {
  size_t length = strlen(r->text);
  const char *comma = length < 3 ? NULL : find_outside(r->text + 1, ",");
  const char *end = r->text + length - 1;
  if (!comma || !strchr("([", *r->text) || !strchr(")]", *end))
    return attest_fail(
        error, ATTEST_ERR_INPUT,
        "range '%s': 0..40, 0..40 step 2, {1/2, 0.9}, '[0, 1]' or '(0, inf)' is wanted", r->text);
  r->kind = RANGE_REALS;
  r->low_open = *r->text == '(';
  r->high_open = *end == ')';
  r->low_infinite = is_word(r->text + 1, comma, "-inf");
  r->high_infinite = is_word(comma + 1, end, "inf");
  attest_status status = ATTEST_OK;
  if (!r->low_infinite) status = parse_part(&r->low, r->text + 1, comma, p, error);
  if (!status && !r->high_infinite) status = parse_part(&r->high, comma + 1, end, p, error);
  return status;
}

static attest_status read_values(predicate_range *r, const predicate *p, attest_error *error) {
  char *list = strdup(r->text);
  if (!list) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  size_t length = strlen(list);
  list[0] = '[';
  if (list[length - 1] == '}') list[length - 1] = ']';
  r->kind = RANGE_VALUES;
  attest_status status = parse_part(&r->low, list, list + length, p, error);
  free(list);
  return status;
}

attest_status predicate_add_range(predicate *p, const char *name, const char *text,
                                  attest_error *error) {
  if (p->count == PREDICATE_VARIABLES_MAX)
    return attest_fail(error, ATTEST_ERR_INPUT, "more than %d variables", PREDICATE_VARIABLES_MAX);
  predicate_range *r = &p->ranges[p->count];
  memset(r, 0, sizeof *r);
  r->name = strdup(name);
  r->text = strdup(text);
  attest_status status = ATTEST_OK;
  if (!r->name || !r->text) status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  const char *dots = status ? NULL : find_outside(r->text, "..");
  if (!status && dots)
    status = read_integers(r, p, dots, error);
  else if (!status && *text == '{')
    status = read_values(r, p, error);
  else if (!status)
    status = read_reals(r, p, error);
  if (!status && p->count && p->ranges[p->count - 1].kind == RANGE_REALS && r->kind != RANGE_REALS)
    status = attest_fail(error, ATTEST_ERR_INPUT, "put the real variable %s after %s",
                         p->ranges[p->count - 1].name, name);
  p->count++;
  return status;
}

attest_status predicate_set_formula(predicate *p, const char *text, attest_error *error) {
  p->text = strdup(text);
  if (!p->text) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  return parse_using(&p->formula, text, text + strlen(text), p, p->count, error);
}

/* ---- deciding ---- */

typedef struct {
  const predicate *p;
  predicate_result *result;
  long dead_ends; /* values of some variables for which the next one has none */
  long steps;     /* left of PREDICATE_STEPS */
  value variables[PREDICATE_VARIABLES_MAX];
  attest_error *error;
} decider;

/* The value of a range's end, or list, at the variables before it. */
static attest_status range_value(value *v, const expression *e, decider *d) {
  evaluation how = {.prec = 128, .variables = d->variables, .steps = d->steps};
  attest_status status = expression_evaluate(v, e, &how, d->error);
  d->steps = how.steps;
  return status;
}

/* "P=3, t=-1.5" of the first n variables. */
static char *describe(const decider *d, int n) {
  size_t size = 1, at = 0;
  char *text = calloc(1, 1);
  for (int i = 0; i < n && text; i++) {
    const value *v = &d->variables[i];
    char *one = decide_value_text(v, 12, 128);
    if (!one) one = decide_enclosure_text(v, 12, 128);
    size += strlen(d->p->ranges[i].name) + (one ? strlen(one) : 0) + 4;
    char *longer = one ? realloc(text, size) : NULL;
    if (!longer) free(text);
    if ((text = longer))
      at += (size_t)sprintf(text + at, "%s%s=%s", i ? ", " : "", d->p->ranges[i].name, one);
    free(one);
  }
  return text;
}

/* Takes a truth into the result; the first false one, else the first open one, is described. */
static void note(decider *d, int truth) {
  predicate_result *r = d->result;
  if (truth == 1 || r->truth == 0 || truth == r->truth) return;
  r->truth = truth;
  free(r->witness);
  r->witness = describe(d, d->p->count);
}

static attest_status visit(decider *d, int i);

/* One more combination of the variables that are not real, or one more dead end. */
static attest_status count_one(decider *d, long *counter) {
  ++*counter;
  if (d->result->points + d->dead_ends <= PREDICATE_POINTS_MAX) return ATTEST_OK;
  return attest_fail(d->error, ATTEST_ERR_INPUT, "more than %d combinations of values",
                     PREDICATE_POINTS_MAX);
}

static attest_status visit_point(decider *d) {
  int truth;
  evaluation how = {.prec = 128, .variables = d->variables, .steps = d->steps};
  attest_status status = count_one(d, &d->result->points);
  if (!status) status = decide_truth(&truth, &d->p->formula, &how, DECIDE_PRECISION_MAX, d->error);
  d->steps = how.steps;
  if (!status) note(d, truth);
  return status;
}

static attest_status visit_integers(decider *d, int i) {
  const predicate_range *r = &d->p->ranges[i];
  const expression *parts[3] = {&r->low, &r->high, &r->step};
  fmpz_t ends[3];
  value v;
  value_init(&v);
  attest_status status = ATTEST_OK;
  for (int k = 0; k < 3; k++) {
    fmpz_init_set_si(ends[k], 1);
    if (status || (k == 2 && !r->has_step)) continue;
    status = range_value(&v, parts[k], d);
    if (!status && !value_get_fmpz(ends[k], &v))
      status = attest_fail(d->error, ATTEST_ERR_INPUT, "range of %s: the ends must be integers",
                           r->name);
  }
  if (!status && fmpz_sgn(ends[2]) <= 0)
    status =
        attest_fail(d->error, ATTEST_ERR_INPUT, "range of %s: the step must be positive", r->name);
  if (!status && fmpz_cmp(ends[0], ends[1]) > 0) status = count_one(d, &d->dead_ends);
  for (; !status && d->result->truth != 0 && fmpz_cmp(ends[0], ends[1]) <= 0;
       fmpz_add(ends[0], ends[0], ends[2])) {
    value_set_si(&d->variables[i], 0);
    fmpq_set_fmpz(d->variables[i].rational, ends[0]);
    status = visit(d, i + 1);
  }
  for (int k = 0; k < 3; k++)
    fmpz_clear(ends[k]);
  value_clear(&v);
  return status;
}

static attest_status visit_values(decider *d, int i) {
  value list;
  value_init(&list);
  attest_status status = range_value(&list, &d->p->ranges[i].low, d);
  if (!status && !list.count) status = count_one(d, &d->dead_ends);
  for (size_t k = 0; k < list.count && !status && d->result->truth != 0; k++) {
    /* A value that is no rational is computed anew at every precision: it must be exact. */
    if (list.items[k].kind == VALUE_BALL)
      status = attest_fail(d->error, ATTEST_ERR_INPUT,
                           "range of %s: value %zu is not known exactly; put it into the predicate",
                           d->p->ranges[i].name, k + 1);
    value_set(&d->variables[i], &list.items[k]);
    if (!status) status = visit(d, i + 1);
  }
  value_clear(&list);
  return status;
}

/* An end of a real range. */
static attest_status real_end(fmpq_t end, const expression *e, const char *name, decider *d) {
  value v;
  value_init(&v);
  attest_status status = range_value(&v, e, d);
  if (!status && v.kind != VALUE_RATIONAL)
    status = attest_fail(
        d->error, ATTEST_ERR_INPUT,
        "range of %s: the ends must be rational; put other ones into the predicate", name);
  if (!status) fmpq_set(end, v.rational);
  value_clear(&v);
  return status;
}

static attest_status set_interval(real_interval *x, const predicate_range *r, decider *d) {
  attest_status status = ATTEST_OK;
  x->low_infinite = r->low_infinite;
  x->high_infinite = r->high_infinite;
  x->low_open = r->low_open;
  x->high_open = r->high_open;
  if (!r->low_infinite) status = real_end(x->low, &r->low, r->name, d);
  if (!status && !r->high_infinite) status = real_end(x->high, &r->high, r->name, d);
  return status;
}

/* Balls cover the closed box, so `true` holds for open ends too; a witness is an inner point. */
static attest_status visit_boxes(decider *d, int i, real_interval *ranges) {
  int reals = d->p->count - i, truth;
  for (int k = 0; k < reals; k++) {
    if (ranges[k].low_infinite || ranges[k].high_infinite)
      return attest_fail(d->error, ATTEST_ERR_INPUT,
                         "range of %s: an unbounded range needs a comparison of rational functions "
                         "of one real variable; give it ends",
                         d->p->ranges[i + k].name);
  }
  attest_status status = subdivide(&truth, &d->result->boxes, &d->steps, &d->p->formula,
                                   d->variables, reals, ranges, d->error);
  if (!status) note(d, truth);
  return status;
}

static attest_status visit_reals(decider *d, int i) {
  int reals = d->p->count - i, truth = VALUE_UNKNOWN, is_empty = 0;
  real_interval ranges[PREDICATE_VARIABLES_MAX];
  attest_status status = ATTEST_OK;
  for (int k = 0; k < reals; k++) {
    real_interval_init(&ranges[k]);
    if (!status) status = set_interval(&ranges[k], &d->p->ranges[i + k], d);
    is_empty |= !status && real_interval_is_empty(&ranges[k]);
  }
  if (!status) status = count_one(d, is_empty ? &d->dead_ends : &d->result->points);
  if (!status && !is_empty && reals == 1) {
    evaluation how = {.prec = 128, .variables = d->variables, .steps = EVALUATION_STEPS};
    status = symbolic_decide(&truth, &d->variables[i], &d->p->formula, &how, &ranges[0], d->error);
    if (!status && truth != VALUE_UNKNOWN) {
      d->result->exact_reals = 1;
      note(d, truth);
    }
  }
  if (!status && !is_empty && truth == VALUE_UNKNOWN) status = visit_boxes(d, i, ranges);
  for (int k = 0; k < reals; k++)
    real_interval_clear(&ranges[k]);
  return status;
}

static attest_status visit(decider *d, int i) {
  if (i == d->p->count) return visit_point(d);
  switch (d->p->ranges[i].kind) {
  case RANGE_INTEGERS:
    return visit_integers(d, i);
  case RANGE_VALUES:
    return visit_values(d, i);
  default:
    return visit_reals(d, i);
  }
}

static void decider_init(decider *d, const predicate *p, predicate_result *result,
                         attest_error *error) {
  memset(d, 0, sizeof *d);
  d->p = p;
  d->result = result;
  d->error = error;
  d->steps = PREDICATE_STEPS;
  for (int i = 0; i < PREDICATE_VARIABLES_MAX; i++)
    value_init(&d->variables[i]);
}

static void decider_clear(decider *d) {
  for (int i = 0; i < PREDICATE_VARIABLES_MAX; i++)
    value_clear(&d->variables[i]);
}

attest_status predicate_decide(predicate_result *result, const predicate *p, attest_error *error) {
  decider d;
  *result = (predicate_result){.truth = 1};
  decider_init(&d, p, result, error);
  attest_status status = visit(&d, 0);
  if (!status && !result->points)
    status = attest_fail(error, ATTEST_ERR_INPUT,
                         "the ranges are empty, so nothing is claimed: the low end comes first");
  decider_clear(&d);
  return status;
}

/* ---- counterexamples ---- */

/* 1 when the value certainly lies in the range of variable i. */
static attest_status in_range(int *inside, decider *d, int i) {
  const predicate_range *r = &d->p->ranges[i];
  const value *v = &d->variables[i];
  value end, rest;
  value_init(&end);
  value_init(&rest);
  attest_status status = ATTEST_OK;
  *inside = 1;
  if (r->kind == RANGE_VALUES) {
    status = range_value(&end, &r->low, d);
    *inside = 0;
    for (size_t k = 0; k < end.count && !status; k++)
      *inside |= value_compare(v, &end.items[k], 128) == 0;
  }
  for (int k = 0; k < 2 && r->kind != RANGE_VALUES && !status; k++) {
    if (k ? r->high_infinite : r->low_infinite) continue;
    status = range_value(&end, k ? &r->high : &r->low, d);
    int sign = status ? 0 : value_compare(v, &end, 128), open = k ? r->high_open : r->low_open;
    *inside &= sign == (k ? -1 : 1) || (sign == 0 && !open);
  }
  if (!status && r->kind == RANGE_INTEGERS) { /* an integer number of steps from the low end */
    fmpz_t n;
    fmpz_init(n);
    value one;
    value_init(&one);
    value_set_si(&one, 1);
    if (r->has_step) status = range_value(&one, &r->step, d);
    if (!status) status = range_value(&end, &r->low, d);
    value_sub(&rest, v, &end, 128);
    if (!status) status = value_div(&rest, &rest, &one, 128, d->error);
    *inside &= value_get_fmpz(n, &rest);
    fmpz_clear(n);
    value_clear(&one);
  }
  value_clear(&end);
  value_clear(&rest);
  return status;
}

attest_status predicate_fails_at(int *fails, const predicate *p, const value values[],
                                 attest_error *error) {
  decider d;
  predicate_result unused = {.truth = 1};
  int truth = 1, inside = 1;
  attest_status status = ATTEST_OK;
  decider_init(&d, p, &unused, error);
  for (int i = 0; i < p->count && !status && inside; i++) {
    value_set(&d.variables[i], &values[i]);
    status = in_range(&inside, &d, i);
  }
  evaluation how = {.prec = 128, .variables = d.variables, .steps = EVALUATION_STEPS};
  if (!status && inside)
    status = decide_truth(&truth, &p->formula, &how, DECIDE_PRECISION_MAX, error);
  *fails = inside && truth == 0;
  decider_clear(&d);
  return status;
}
