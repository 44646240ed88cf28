/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The expression language over real numbers: parsing and evaluation.
 *
 *   expression  := "let" NAME "=" expression "in" expression | disjunction
 *   disjunction := conjunction { "or" conjunction }
 *   conjunction := negation { "and" negation }
 *   negation    := "not" negation | comparison
 *   comparison  := sum { ("=" | "!=" | "<" | "<=" | ">" | ">=") sum }     a < b < c: both
 *   sum         := product { ("+" | "-") product }
 *   product     := sign { ("*" | "/") sign }
 *   sign        := { "-" | "+" } power
 *   power       := primary [ "^" sign ]                                   right-associative
 *   primary     := NUMBER | NAME | NAME "(" [list] ")" | "(" expression ")" | "[" [list] "]"
 *                | "[" expression "for" NAME "in" sum ".." sum "]"
 *                | "sum" "(" NAME "," from "," to "," expression ")"
 *
 * Decimal literals are exact. Numbers, truth values and lists are the types; nothing is converted.
 */
#ifndef ATTEST_CLAIMS_EXPRESSION_H
#define ATTEST_CLAIMS_EXPRESSION_H

#include "../enclosure/function.h"

enum {
  EXPRESSION_LENGTH_MAX = 1 << 16, /* bytes of text */
  EXPRESSION_NESTING_MAX = 200,
  EXPRESSION_EXPONENT_MAX = 1000000, /* of decimal literals, in size */
  EXPRESSION_SLOTS_MAX = 64          /* names in force at one place */
};

typedef enum {
  NODE_NUMBER,
  NODE_SLOT, /* a variable or local name */
  NODE_PI,
  NODE_E,
  NODE_SUM,     /* children; operators '+' or '-' before each */
  NODE_PRODUCT, /* children; operators '*' or '/' before each */
  NODE_NEGATE,
  NODE_POWER,
  NODE_COMPARE, /* children; operator i between i - 1 and i: '=' '!' '<' 'l' (<=) '>' 'g' (>=) */
  NODE_AND,
  NODE_OR,
  NODE_NOT,
  NODE_CALL,
  NODE_LIST,
  NODE_LET,  /* value, body */
  NODE_EACH, /* from, to, body: the list of bodies */
  NODE_TOTAL /* from, to, body: their sum */
} node_kind;

typedef struct node {
  node_kind kind;
  int column; /* where it stands in the text, from 1 */
  int slot;
  fmpq_t number;
  const room_function *function;
  size_t count;
  struct node **children;
  char *operators; /* before each child .. */
  int *columns;    /* .. and where they stand */
} node;

typedef struct {
  node *root;
  int variables, slots; /* slots: variables first, then local names */
} expression;

/* `variables` are the names that have a value from outside, in the order of their slots. Messages
 * begin with "column N: ". */
attest_status expression_parse(expression *e, const char *text, const char *const variables[],
                               int count, attest_error *error);
void expression_clear(expression *e);

/* Whether a OPERATOR b holds (operators as in NODE_COMPARE), from the sign of a - b. */
int expression_holds(int sign, char operator);

/* What one evaluation may use; shared by several evaluations where `steps` is carried over. */
typedef struct {
  slong prec;
  const value *variables; /* as many as the expression has */
  long steps;             /* left; every node and every list item costs 1 + prec / 1024 */
} evaluation;
enum { EVALUATION_STEPS = 20000000 };

/* The value with about `prec` bits, or an error whose message begins with "column N: ": an argument
 * outside a domain, a number or list that is too large, too many steps. */
attest_status expression_evaluate(value *result, const expression *e, evaluation *how,
                                  attest_error *error);

/* ---- functions (registry.c) ---- */

/* NULL: no such function. */
const room_function *expression_function(const char *name, size_t length);
/* Tables of functions by room; NULL after the last. */
const room_functions *expression_room(size_t i);
/* The functions of the language itself: sqrt exp log .. (functions.c). */
extern const room_functions expression_functions;

#endif
