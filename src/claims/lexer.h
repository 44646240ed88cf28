/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Words of the expression language. */
#ifndef ATTEST_CLAIMS_LEXER_H
#define ATTEST_CLAIMS_LEXER_H

#include "expression.h"

typedef enum {
  TOKEN_END,
  TOKEN_NUMBER,
  TOKEN_NAME,
  TOKEN_LET,
  TOKEN_IN,
  TOKEN_FOR,
  TOKEN_AND,
  TOKEN_OR,
  TOKEN_NOT,
  TOKEN_DOTS,  /* .. */
  TOKEN_EQUAL, /* = */
  TOKEN_UNEQUAL,
  TOKEN_LESS,
  TOKEN_LESS_EQUAL,
  TOKEN_GREATER,
  TOKEN_GREATER_EQUAL,
  TOKEN_OTHER /* one character: + - * / ^ ( ) [ ] , */
} token_kind;

typedef struct {
  token_kind kind;
  int column;
  const char *text; /* into the expression */
  size_t length;
} token;

/* The token at *at, which moves past it. An error for characters and numbers that are none. */
attest_status lexer_next(token *t, const char *text, size_t *at, attest_error *error);
/* The exact value of a NUMBER. */
attest_status lexer_number(fmpq_t number, const token *t, attest_error *error);

#endif
