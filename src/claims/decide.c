/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "decide.h"

#include <stdlib.h>
#include <string.h>

#include "../enclosure/enclosure.h"

/* ---- exact decimals ---- */

/* q 10^places is an integer for the least such places >= 0, or -1 when there is none. */
static slong decimal_places(const fmpq_t q) {
  fmpz_t rest, prime;
  fmpz_init(rest);
  fmpz_init(prime);
  fmpz_set_ui(prime, 2);
  slong twos = fmpz_remove(rest, fmpq_denref(q), prime);
  fmpz_set_ui(prime, 5);
  slong fives = fmpz_remove(rest, rest, prime);
  slong places = fmpz_is_one(rest) ? FLINT_MAX(twos, fives) : -1;
  fmpz_clear(rest);
  fmpz_clear(prime);
  return places;
}

/* digits 10^-places with the point where it belongs; small numbers as d.ddde-n. */
static char *place_point(const char *sign, const char *digits, slong places) {
  slong n = (slong)strlen(digits);
  char *text = malloc((size_t)n + 48);
  if (!text) return NULL;
  if (places == 0)
    sprintf(text, "%s%s", sign, digits);
  else if (n > places)
    sprintf(text, "%s%.*s.%s", sign, (int)(n - places), digits, digits + n - places);
  else if (places - n < 6)
    sprintf(text, "%s0.%.*s%s", sign, (int)(places - n), "00000", digits);
  else
    sprintf(text, "%s%c%s%se-%ld", sign, digits[0], n > 1 ? "." : "", digits + 1,
            (long)(places - n + 1));
  return text;
}

static char *exact_decimal(const fmpq_t q, slong places) {
  fmpz_t n, power;
  fmpz_init(n);
  fmpz_init(power);
  fmpz_ui_pow_ui(power, 10, (ulong)places);
  fmpz_mul(n, fmpq_numref(q), power);
  fmpz_divexact(n, n, fmpq_denref(q));
  const char *sign = fmpz_sgn(n) < 0 ? "-" : "";
  fmpz_abs(n, n);
  char *digits = fmpz_get_str(NULL, 10, n), *text = place_point(sign, digits, places);
  flint_free(digits);
  fmpz_clear(n);
  fmpz_clear(power);
  return text;
}

/* ---- texts of values ---- */

static char *number_text(const value *v, long digits, slong prec) {
  slong places = v->kind == VALUE_RATIONAL ? decimal_places(v->rational) : -1;
  if (places >= 0) return exact_decimal(v->rational, places);
  char *text = NULL;
  arb_t x;
  arb_init(x);
  value_get_ball(x, v, prec);
  enclosure_decimal(&text, x, digits);
  arb_clear(x);
  return text;
}

static char *number_enclosure(const value *v, long digits, slong prec) {
  arb_t x;
  arb_init(x);
  value_get_ball(x, v, prec);
  char *low = enclosure_end_decimal(x, 0, digits), *high = enclosure_end_decimal(x, 1, digits);
  size_t size = low && high ? strlen(low) + strlen(high) + 5 : 0;
  char *text = size ? malloc(size) : NULL;
  if (text) snprintf(text, size, "[%s, %s]", low, high);
  free(low);
  free(high);
  arb_clear(x);
  return text;
}

static char *fraction_text(const value *v, long digits, slong prec) {
  (void)digits;
  (void)prec;
  if (v->kind != VALUE_RATIONAL) return NULL;
  char *flint = fmpq_get_str(NULL, 10, v->rational), *text = strdup(flint);
  flint_free(flint);
  return text;
}

typedef char *number_writer(const value *, long, slong);

static char *write_value(const value *v, long digits, slong prec, number_writer *number);

static char *write_list(const value *v, long digits, slong prec, number_writer *number) {
  size_t size = 3, at = 1;
  char *text = malloc(size);
  if (text) strcpy(text, "[");
  for (size_t i = 0; i < v->count && text; i++) {
    char *item = write_value(&v->items[i], digits, prec, number);
    size_t length = item ? strlen(item) : 0;
    char *longer = item ? realloc(text, size += length + 2) : NULL;
    if (!longer) free(text);
    if ((text = longer)) at += (size_t)sprintf(text + at, "%s%s", i ? ", " : "", item);
    free(item);
  }
  return text ? strcat(text, "]") : NULL;
}

static char *write_value(const value *v, long digits, slong prec, number_writer *number) {
  if (v->kind == VALUE_LIST) return write_list(v, digits, prec, number);
  if (v->kind != VALUE_TRUTH) return number(v, digits, prec);
  if (v->truth == VALUE_UNKNOWN) return number == number_enclosure ? strdup("undecided") : NULL;
  return strdup(v->truth ? "true" : "false");
}

char *decide_value_text(const value *v, long digits, slong prec) {
  return write_value(v, digits, prec, number_text);
}

char *decide_enclosure_text(const value *v, long digits, slong prec) {
  return write_value(v, digits, prec, number_enclosure);
}

static int has_irrational(const value *v) {
  if (v->kind == VALUE_ALGEBRAIC || v->kind == VALUE_BALL) return 1;
  for (size_t i = 0; i < v->count; i++)
    if (has_irrational(&v->items[i])) return 1;
  return 0;
}

/* ---- raising the precision ---- */

attest_status decide_text(decision *d, const expression *e, long digits, int as_fraction,
                          attest_error *error) {
  slong start = 64 + (slong)((double)digits * 3.33),
        most = FLINT_MAX(DECIDE_PRECISION_MAX, 4 * start);
  value v;
  value_init(&v);
  attest_status status = ATTEST_OK;
  evaluation how = {.steps = EVALUATION_STEPS};
  *d = (decision){NULL, 0};
  for (slong prec = start; prec <= most && !status && !d->text; prec *= 2) {
    how.prec = prec;
    status = expression_evaluate(&v, e, &how, error);
    if (!status && as_fraction && has_irrational(&v))
      status = attest_fail(error, ATTEST_ERR_INPUT,
                           "--rational: the value is not known to be rational; leave the flag out");
    if (!status) d->text = write_value(&v, digits, prec, as_fraction ? fraction_text : number_text);
  }
  d->decided = d->text != NULL;
  if (!status && !d->text) d->text = decide_enclosure_text(&v, digits, most);
  if (!status && !d->text) status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  value_clear(&v);
  return status;
}

attest_status decide_truth(int *truth, const expression *e, evaluation *how, slong prec_max,
                           attest_error *error) {
  value v;
  value_init(&v);
  attest_status status = ATTEST_OK;
  *truth = VALUE_UNKNOWN;
  for (; how->prec <= prec_max && !status && *truth == VALUE_UNKNOWN; how->prec *= 2) {
    status = expression_evaluate(&v, e, how, error);
    if (!status && v.kind != VALUE_TRUTH)
      status = attest_fail(error, ATTEST_ERR_INPUT,
                           "a predicate must be a comparison, not a number or a list");
    if (!status) *truth = v.truth;
  }
  value_clear(&v);
  return status;
}
