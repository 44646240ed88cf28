/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Recursive descent. Sums, products and comparisons are nodes with many children, so that the depth
 * of the tree is the nesting of the text, which is bounded. */
#include <stdlib.h>
#include <string.h>

#include "lexer.h"

typedef struct {
  const char *text;
  size_t at;
  token next; /* the token not yet used */
  int column; /* of the last one used */
  int nesting, count, slots;
  struct {
    const char *name;
    size_t length;
  } names[EXPRESSION_SLOTS_MAX]; /* in force; the place is the slot */
  attest_error *error;
} parser;

/* ---- nodes ---- */

static void node_free(node *n) {
  if (!n) return;
  for (size_t i = 0; i < n->count; i++)
    node_free(n->children[i]);
  fmpq_clear(n->number);
  free(n->children);
  free(n->operators);
  free(n->columns);
  free(n);
}

static attest_status out_of_memory(parser *p) {
  return attest_fail(p->error, ATTEST_ERR_MEMORY, "out of memory");
}

static attest_status node_new(node **n, parser *p, node_kind kind, int column) {
  *n = calloc(1, sizeof **n);
  if (!*n) return out_of_memory(p);
  (*n)->kind = kind;
  (*n)->column = column;
  fmpq_init((*n)->number);
  return ATTEST_OK;
}

/* Takes the child, also when there is no memory for it. */
static attest_status node_add(node *n, parser *p, node *child, char operator, int column) {
  if ((n->count & (n->count - 1)) == 0) { /* full at powers of two */
    size_t size = n->count ? 2 * n->count : 1;
    node **children = realloc(n->children, size * sizeof *children);
    if (children) n->children = children;
    char *operators = realloc(n->operators, size);
    if (operators) n->operators = operators;
    int *columns = realloc(n->columns, size * sizeof *columns);
    if (columns) n->columns = columns;
    if (!children || !operators || !columns) {
      node_free(child);
      return out_of_memory(p);
    }
  }
  n->operators[n->count] = operator;
  n->columns[n->count] = column;
  n->children[n->count++] = child;
  return ATTEST_OK;
}

/* ---- tokens ---- */

static attest_status advance(parser *p) {
  p->column = p->next.column;
  return lexer_next(&p->next, p->text, &p->at, p->error);
}

static int is(const parser *p, char c) {
  return p->next.kind == TOKEN_OTHER && *p->next.text == c;
}

static attest_status expected(parser *p, const char *what) {
  if (p->next.kind == TOKEN_END)
    return attest_fail(p->error, ATTEST_ERR_INPUT, "column %d: %s is missing at the end",
                       p->next.column, what);
  int stars = p->next.column > 1 && *p->next.text == '*' && p->next.text[-1] == '*';
  return attest_fail(p->error, ATTEST_ERR_INPUT, "column %d: %s is wanted, not '%.*s'%s",
                     p->next.column, what, (int)(p->next.length < 40 ? p->next.length : 40),
                     p->next.text, stars ? " (a power is x^y)" : "");
}

static attest_status take(parser *p, char c) {
  char what[] = "'?'";
  what[1] = c;
  return is(p, c) ? advance(p) : expected(p, what);
}

static attest_status take_word(parser *p, token_kind kind, const char *what) {
  return p->next.kind == kind ? advance(p) : expected(p, what);
}

/* ---- names ---- */

static int find_name(const parser *p, const token *t) {
  for (int i = p->count - 1; i >= 0; i--)
    if (p->names[i].length == t->length && !memcmp(p->names[i].name, t->text, t->length)) return i;
  return -1;
}

static int is_constant(const token *t) {
  return (t->length == 2 && !memcmp(t->text, "pi", 2)) || (t->length == 1 && *t->text == 'e');
}

static attest_status push_name(parser *p, const token *t) {
  if (is_constant(t) || expression_function(t->text, t->length))
    return attest_fail(p->error, ATTEST_ERR_INPUT,
                       "column %d: %.*s has a meaning already: choose another name", t->column,
                       (int)t->length, t->text);
  if (p->count == EXPRESSION_SLOTS_MAX)
    return attest_fail(p->error, ATTEST_ERR_INPUT, "column %d: more than %d names in force",
                       t->column, EXPRESSION_SLOTS_MAX);
  p->names[p->count].name = t->text;
  p->names[p->count++].length = t->length;
  if (p->count > p->slots) p->slots = p->count;
  return ATTEST_OK;
}

/* ---- grammar ---- */

static attest_status parse_expression(node **result, parser *p);
static attest_status parse_sum(node **result, parser *p);
static attest_status parse_sign(node **result, parser *p);

static attest_status add_parsed(node *n, parser *p, char operator,
                                attest_status (*parse)(node **, parser *)) {
  node *child = NULL;
  int column = p->column;
  attest_status status = parse(&child, p);
  if (status) {
    node_free(child);
    return status;
  }
  return node_add(n, p, child, operator, column);
}

/* expression { "," expression } closing */
static attest_status parse_list(node *n, parser *p, char closing) {
  if (is(p, closing)) return advance(p);
  for (;;) {
    attest_status status = add_parsed(n, p, ',', parse_expression);
    if (status) return status;
    if (is(p, closing)) return advance(p);
    if (!is(p, ',')) {
      char what[] = "',' or '?'";
      what[8] = closing;
      return expected(p, what);
    }
    if ((status = advance(p))) return status;
  }
}

static attest_status check_count(parser *p, const node *call) {
  const room_function *f = call->function;
  if (call->count >= f->least && call->count <= f->most) return ATTEST_OK;
  return attest_fail(p->error, ATTEST_ERR_INPUT,
                     "column %d: %s takes %zu%s argument%s (%s), not %zu", call->column, f->name,
                     f->least,
                     f->most == f->least       ? ""
                     : f->most == f->least + 1 ? " or one more"
                                               : " or more",
                     f->most == 1 ? "" : "s", f->parameters, call->count);
}

/* sum(NAME, from, to, body), where NAME has no meaning yet: looks ahead for "( NAME ,". */
static int is_indexed_sum(const parser *p, const token *function) {
  token name, comma;
  size_t at = p->at;
  attest_error ignored;
  if (function->length != 3 || memcmp(function->text, "sum", 3)) return 0;
  if (lexer_next(&name, p->text, &at, &ignored) || name.kind != TOKEN_NAME) return 0;
  if (lexer_next(&comma, p->text, &at, &ignored)) return 0;
  return comma.kind == TOKEN_OTHER && *comma.text == ',' && find_name(p, &name) < 0 &&
         !is_constant(&name);
}

/* After "sum": (NAME, from, to, body). The name is in force in the body only. */
static attest_status parse_indexed_sum(node *n, parser *p) {
  attest_status status = take(p, '(');
  token name = p->next;
  if (!status) status = advance(p);
  if (!status) status = take(p, ',');
  if (!status) status = add_parsed(n, p, ',', parse_expression);
  if (!status) status = take(p, ',');
  if (!status) status = add_parsed(n, p, ',', parse_expression);
  if (!status) status = take(p, ',');
  int count = p->count;
  if (!status) status = push_name(p, &name);
  n->slot = count;
  if (!status) status = add_parsed(n, p, ',', parse_expression);
  p->count = count;
  return status ? status : take(p, ')');
}

/* How the language says what other languages call by that name. */
static const char *instead_of(const token *name) {
  static const char *const others[][2] = {
      {"ln", "the natural logarithm is log(x)"},
      {"log2", "write log(x)/log(2)"},
      {"log10", "write log(x)/log(10)"},
      {"log1p", "write log(1 + x)"},
      {"expm1", "write exp(x) - 1"},
      {"pow", "a power is x^y"},
      {"sqr", "write x^2"},
      {"cbrt", "write x^(1/3)"},
      {"fabs", "write abs(x)"},
      {"sinh", "write (exp(x) - exp(-x))/2"},
      {"cosh", "write (exp(x) + exp(-x))/2"},
      {"tanh", "write (exp(2*x) - 1)/(exp(2*x) + 1)"},
      {"sigmoid", "write 1/(1 + exp(-x))"},
      {"tan", "write sin(x)/cos(x)"},
      {"round", "write floor(x + 1/2)"},
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strlen(others[i][0]) == name->length && !memcmp(others[i][0], name->text, name->length))
      return others[i][1];
  return "attest eval --help lists them";
}

static attest_status parse_call(node **result, parser *p, const token *name) {
  attest_status status;
  if (is_indexed_sum(p, name)) {
    status = node_new(result, p, NODE_TOTAL, name->column);
    return status ? status : parse_indexed_sum(*result, p);
  }
  const room_function *f = expression_function(name->text, name->length);
  if (!f)
    return attest_fail(p->error, ATTEST_ERR_INPUT, "column %d: there is no function %.*s (%s)",
                       name->column, (int)(name->length < 40 ? name->length : 40), name->text,
                       instead_of(name));
  status = node_new(result, p, NODE_CALL, name->column);
  if (status) return status;
  (*result)->function = f;
  status = take(p, '(');
  if (!status) status = parse_list(*result, p, ')');
  return status ? status : check_count(p, *result);
}

static attest_status parse_name(node **result, parser *p) {
  token name = p->next;
  attest_status status = advance(p);
  if (status) return status;
  if (is(p, '(')) return parse_call(result, p, &name);
  int slot = find_name(p, &name);
  if (slot >= 0) {
    status = node_new(result, p, NODE_SLOT, name.column);
    if (!status) (*result)->slot = slot;
    return status;
  }
  if (is_constant(&name))
    return node_new(result, p, name.length == 1 ? NODE_E : NODE_PI, name.column);
  if (expression_function(name.text, name.length))
    return attest_fail(p->error, ATTEST_ERR_INPUT, "column %d: %.*s is a function: %.*s(%s)",
                       name.column, (int)name.length, name.text, (int)name.length, name.text,
                       expression_function(name.text, name.length)->parameters);
  return attest_fail(p->error, ATTEST_ERR_INPUT, "column %d: %.*s has no value here", name.column,
                     (int)(name.length < 40 ? name.length : 40), name.text);
}

/* Where the name of a comprehension stands: the text is read twice, as the body comes first. */
typedef struct {
  size_t at;
  token next;
} place;

/* The place of "for" that ends the expression which begins here, at this level of brackets; its
 * kind is TOKEN_END when there is none. */
static place find_for(const parser *p) {
  place found = {p->at, p->next};
  attest_error ignored;
  for (int depth = 0;;) {
    token t = found.next;
    if (t.kind == TOKEN_FOR && depth == 0) return found;
    int opens = t.kind == TOKEN_OTHER && (*t.text == '[' || *t.text == '(');
    int closes = t.kind == TOKEN_OTHER && (*t.text == ']' || *t.text == ')');
    depth += opens - closes;
    int ends = depth < 0 || (depth == 0 && t.kind == TOKEN_OTHER && *t.text == ',');
    if (ends || t.kind == TOKEN_END || lexer_next(&found.next, p->text, &found.at, &ignored)) {
      found.next.kind = TOKEN_END;
      return found;
    }
  }
}

/* After "[": body "for" NAME "in" from ".." to "]", whose "for" is at `where`. */
static attest_status parse_each(node *n, parser *p, place where) {
  place body = {p->at, p->next};
  p->at = where.at;
  p->next = where.next;
  attest_status status = advance(p);
  token name = p->next;
  if (!status && name.kind != TOKEN_NAME) status = expected(p, "a name");
  if (!status) status = advance(p);
  if (!status) status = take_word(p, TOKEN_IN, "'in'");
  if (!status) status = add_parsed(n, p, ',', parse_sum);
  if (!status) status = take_word(p, TOKEN_DOTS, "'..'");
  if (!status) status = add_parsed(n, p, ',', parse_sum);
  if (!status && !is(p, ']')) status = expected(p, "']'");
  if (status) return status;
  place end = {p->at, p->next};
  int count = p->count;
  status = push_name(p, &name);
  n->slot = count;
  p->at = body.at;
  p->next = body.next;
  if (!status) status = add_parsed(n, p, ',', parse_expression);
  if (!status && p->next.kind != TOKEN_FOR) status = expected(p, "'for'");
  p->count = count;
  p->at = end.at;
  p->next = end.next;
  return status ? status : advance(p);
}

static attest_status parse_brackets(node **result, parser *p) {
  int column = p->next.column;
  attest_status status = advance(p);
  if (status) return status;
  place where = find_for(p);
  status = node_new(result, p, where.next.kind == TOKEN_FOR ? NODE_EACH : NODE_LIST, column);
  if (status) return status;
  return where.next.kind == TOKEN_FOR ? parse_each(*result, p, where) : parse_list(*result, p, ']');
}

static attest_status parse_primary(node **result, parser *p) {
  attest_status status;
  if (p->next.kind == TOKEN_NUMBER) {
    status = node_new(result, p, NODE_NUMBER, p->next.column);
    if (!status) status = lexer_number((*result)->number, &p->next, p->error);
    return status ? status : advance(p);
  }
  if (p->next.kind == TOKEN_NAME) return parse_name(result, p);
  if (is(p, '[')) return parse_brackets(result, p);
  if (!is(p, '(')) return expected(p, "a number, a name or '('");
  status = advance(p);
  if (!status) status = parse_expression(result, p);
  return status ? status : take(p, ')');
}

/* *result gets a parent of the given kind. */
static attest_status wrap(node **result, parser *p, node_kind kind, int column, char operator) {
  node *parent;
  attest_status status = node_new(&parent, p, kind, column);
  if (status) return status;
  node *child = *result;
  *result = parent;
  return node_add(parent, p, child, operator, column);
}

static attest_status deeper(parser *p) {
  if (++p->nesting <= EXPRESSION_NESTING_MAX) return ATTEST_OK;
  return attest_fail(p->error, ATTEST_ERR_INPUT, "column %d: nested more than %d deep",
                     p->next.column, EXPRESSION_NESTING_MAX);
}

static attest_status parse_power(node **result, parser *p) {
  attest_status status = deeper(p);
  if (!status) status = parse_primary(result, p);
  if (!status && is(p, '^')) {
    status = wrap(result, p, NODE_POWER, p->next.column, '^');
    if (!status) status = advance(p);
    if (!status) status = add_parsed(*result, p, '^', parse_sign);
  }
  p->nesting--;
  return status;
}

static attest_status parse_sign(node **result, parser *p) {
  int negative = 0, column = p->next.column;
  attest_status status = ATTEST_OK;
  while (!status && (is(p, '-') || is(p, '+'))) {
    negative ^= is(p, '-');
    status = advance(p);
  }
  if (!status) status = parse_power(result, p);
  return !status && negative ? wrap(result, p, NODE_NEGATE, column, '-') : status;
}

/* operand { one of `operators` operand }; the first operator of a node stands for its first child,
 * which has none. */
static attest_status parse_chain(node **result, parser *p, node_kind kind, const char *operators,
                                 attest_status (*parse)(node **, parser *)) {
  attest_status status = parse(result, p);
  if (status || p->next.kind != TOKEN_OTHER || !strchr(operators, *p->next.text)) return status;
  status = wrap(result, p, kind, p->next.column, operators[0]);
  while (!status && p->next.kind == TOKEN_OTHER && strchr(operators, *p->next.text)) {
    char operator= * p->next.text;
    status = advance(p);
    if (!status) status = add_parsed(*result, p, operator, parse);
  }
  return status;
}

static attest_status parse_product(node **result, parser *p) {
  return parse_chain(result, p, NODE_PRODUCT, "*/", parse_sign);
}

static attest_status parse_sum(node **result, parser *p) {
  return parse_chain(result, p, NODE_SUM, "+-", parse_product);
}

static char comparison(const token *t) {
  switch (t->kind) {
  case TOKEN_EQUAL:
    return '=';
  case TOKEN_UNEQUAL:
    return '!';
  case TOKEN_LESS:
    return '<';
  case TOKEN_LESS_EQUAL:
    return 'l';
  case TOKEN_GREATER:
    return '>';
  case TOKEN_GREATER_EQUAL:
    return 'g';
  default:
    return 0;
  }
}

static attest_status parse_comparison(node **result, parser *p) {
  attest_status status = parse_sum(result, p);
  if (status || !comparison(&p->next)) return status;
  status = wrap(result, p, NODE_COMPARE, p->next.column, ' ');
  while (!status && comparison(&p->next)) {
    char operator= comparison(&p->next);
    status = advance(p);
    if (!status) status = add_parsed(*result, p, operator, parse_sum);
  }
  return status;
}

static attest_status parse_negation(node **result, parser *p) {
  int negative = 0, column = p->next.column;
  attest_status status = ATTEST_OK;
  while (!status && p->next.kind == TOKEN_NOT) {
    negative ^= 1;
    status = advance(p);
  }
  if (!status) status = parse_comparison(result, p);
  return !status && negative ? wrap(result, p, NODE_NOT, column, '!') : status;
}

/* operand { word operand } */
static attest_status parse_words(node **result, parser *p, node_kind kind, token_kind word,
                                 attest_status (*parse)(node **, parser *)) {
  attest_status status = parse(result, p);
  if (status || p->next.kind != word) return status;
  status = wrap(result, p, kind, p->next.column, ' ');
  while (!status && p->next.kind == word) {
    status = advance(p);
    if (!status) status = add_parsed(*result, p, ' ', parse);
  }
  return status;
}

static attest_status parse_conjunction(node **result, parser *p) {
  return parse_words(result, p, NODE_AND, TOKEN_AND, parse_negation);
}

static attest_status parse_let(node **result, parser *p) {
  attest_status status = node_new(result, p, NODE_LET, p->next.column);
  int count = p->count;
  if (!status) status = advance(p);
  token name = p->next;
  if (!status && name.kind != TOKEN_NAME) status = expected(p, "a name");
  if (!status) status = advance(p);
  if (!status) status = take_word(p, TOKEN_EQUAL, "'='");
  if (!status) status = add_parsed(*result, p, ' ', parse_expression);
  if (!status) status = take_word(p, TOKEN_IN, "'in'");
  if (!status) status = push_name(p, &name);
  if (!status) (*result)->slot = count;
  if (!status) status = add_parsed(*result, p, ' ', parse_expression);
  p->count = count;
  return status;
}

static attest_status parse_expression(node **result, parser *p) {
  attest_status status = deeper(p);
  if (!status && p->next.kind == TOKEN_LET)
    status = parse_let(result, p);
  else if (!status)
    status = parse_words(result, p, NODE_OR, TOKEN_OR, parse_conjunction);
  p->nesting--;
  return status;
}

/* ---- whole texts ---- */

static attest_status declare(parser *p, const char *const variables[], int count) {
  for (int i = 0; i < count; i++) {
    token name;
    size_t at = 0;
    attest_status status = lexer_next(&name, variables[i], &at, p->error);
    if (!status && (name.kind != TOKEN_NAME || variables[i][at]))
      status = attest_fail(p->error, ATTEST_ERR_INPUT, "%s is not a name", variables[i]);
    if (!status) status = push_name(p, &name);
    if (status) return status;
  }
  return ATTEST_OK;
}

attest_status expression_parse(expression *e, const char *text, const char *const variables[],
                               int count, attest_error *error) {
  parser p = {.text = text, .error = error};
  memset(e, 0, sizeof *e);
  if (strlen(text) > EXPRESSION_LENGTH_MAX)
    return attest_fail(error, ATTEST_ERR_INPUT, "the expression has more than %d characters",
                       EXPRESSION_LENGTH_MAX);
  attest_status status = declare(&p, variables, count);
  if (!status) status = advance(&p);
  if (!status) status = parse_expression(&e->root, &p);
  if (!status && p.next.kind != TOKEN_END) status = expected(&p, "an operator or the end");
  e->variables = count;
  e->slots = p.slots;
  if (status) expression_clear(e);
  return status;
}

void expression_clear(expression *e) {
  node_free(e->root);
  e->root = NULL;
}
