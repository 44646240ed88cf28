/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lexer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int is_digit(char c) {
  return c >= '0' && c <= '9';
}

static int is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t digits(const char *s) {
  size_t n = 0;
  while (is_digit(s[n]))
    n++;
  return n;
}

/* Bytes of a decimal literal: digits around at most one point, then perhaps an exponent. Two
 * points are a range, so the first of them ends the number. */
static size_t number_length(const char *s) {
  size_t n = digits(s);
  if (s[n] == '.' && s[n + 1] != '.') n += 1 + digits(s + n + 1);
  if (s[n] != 'e' && s[n] != 'E') return n;
  size_t sign = s[n + 1] == '+' || s[n + 1] == '-', exponent = digits(s + n + 1 + sign);
  return exponent ? n + 1 + sign + exponent : n;
}

static token_kind keyword(const char *s, size_t n) {
  static const struct {
    const char *word;
    token_kind kind;
  } words[] = {{"let", TOKEN_LET}, {"in", TOKEN_IN}, {"for", TOKEN_FOR},
               {"and", TOKEN_AND}, {"or", TOKEN_OR}, {"not", TOKEN_NOT}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen(words[i].word) == n && !memcmp(words[i].word, s, n)) return words[i].kind;
  return TOKEN_NAME;
}

static token_kind operator_of(const char *s, size_t *length) {
  static const struct {
    const char *text;
    token_kind kind;
  } operators[] = {{"..", TOKEN_DOTS},  {"!=", TOKEN_UNEQUAL},       {"<=", TOKEN_LESS_EQUAL},
                   {"<", TOKEN_LESS},   {">=", TOKEN_GREATER_EQUAL}, {">", TOKEN_GREATER},
                   {"==", TOKEN_EQUAL}, {"=", TOKEN_EQUAL}};
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    *length = strlen(operators[i].text);
    if (!strncmp(s, operators[i].text, *length)) return operators[i].kind;
  }
  *length = 1;
  return *s && strchr("+-*/^()[],", *s) ? TOKEN_OTHER : TOKEN_END;
}

static attest_status bad_character(const token *t, attest_error *error) {
  unsigned char c = (unsigned char)*t->text;
  if (c >= 0x80 || c < 0x20 || c == 0x7f)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "column %d: byte 0x%02x is not part of the language (use plain ASCII: - * / "
                       "^ <= >=)",
                       t->column, c);
  return attest_fail(error, ATTEST_ERR_INPUT, "column %d: '%c' is not part of the language%s",
                     t->column, c,
                     c == '!'   ? " (factorial(n), and != for unequal)"
                     : c == '.' ? " (a number needs a digit at its point)"
                                : "");
}

attest_status lexer_next(token *t, const char *text, size_t *at, attest_error *error) {
  while (text[*at] == ' ' || text[*at] == '\t' || text[*at] == '\n' || text[*at] == '\r')
    ++*at;
  const char *s = text + *at;
  *t = (token){TOKEN_END, (int)*at + 1, s, 0};
  if (!*s) return ATTEST_OK;
  if (is_digit(*s) || (*s == '.' && is_digit(s[1]))) {
    t->kind = TOKEN_NUMBER;
    t->length = number_length(s);
    if (is_letter(s[t->length]) || (s[t->length] == '.' && s[t->length + 1] != '.'))
      return attest_fail(error, ATTEST_ERR_INPUT,
                         "column %d: '%.*s' is no number (a product needs its *)", t->column,
                         (int)(t->length < 40 ? t->length + 1 : 40), s);
  } else if (is_letter(*s)) {
    while (is_letter(s[t->length]) || is_digit(s[t->length]))
      t->length++;
    t->kind = keyword(s, t->length);
  } else {
    t->kind = operator_of(s, &t->length);
    if (t->kind == TOKEN_END) return bad_character(t, error);
  }
  *at += t->length;
  return ATTEST_OK;
}

/* [+-]digits as a long, at most EXPRESSION_EXPONENT_MAX + 1 in size. */
static long exponent_of(const char *s, const char *end) {
  int negative = *s == '-';
  long value = 0;
  if (*s == '-' || *s == '+') s++;
  for (; s < end; s++)
    if (value <= EXPRESSION_EXPONENT_MAX) value = 10 * value + (*s - '0');
  if (value > EXPRESSION_EXPONENT_MAX) value = EXPRESSION_EXPONENT_MAX + 1;
  return negative ? -value : value;
}

attest_status lexer_number(fmpq_t number, const token *t, attest_error *error) {
  const char *end = t->text + t->length;
  char *buffer = flint_malloc(t->length + 1), *to = buffer;
  long exponent = 0, places = 0;
  int after_point = 0;
  for (const char *s = t->text; s < end; s++) {
    if (*s == '.') {
      after_point = 1;
    } else if (is_digit(*s)) {
      *to++ = *s;
      places += after_point;
    } else {
      exponent = exponent_of(s + 1, end);
      break;
    }
  }
  *to = 0;
  attest_status status = ATTEST_OK;
  if (labs(exponent) > EXPRESSION_EXPONENT_MAX) {
    status = attest_fail(error, ATTEST_ERR_INPUT, "column %d: exponents go from -%d to %d",
                         t->column, EXPRESSION_EXPONENT_MAX, EXPRESSION_EXPONENT_MAX);
  } else {
    fmpz_t power;
    fmpz_init(power);
    exponent -= places;
    fmpz_set_str(fmpq_numref(number), buffer, 10);
    fmpz_ui_pow_ui(power, 10, (ulong)labs(exponent));
    if (exponent >= 0) {
      fmpz_mul(fmpq_numref(number), fmpq_numref(number), power);
      fmpz_one(fmpq_denref(number));
    } else {
      fmpz_set(fmpq_denref(number), power);
      fmpq_canonicalise(number);
    }
    fmpz_clear(power);
  }
  flint_free(buffer);
  return status;
}
