/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "printed.h"

#include <stdlib.h>
#include <string.h>

/* q * 10^exponent */
static void scale_by_ten(fmpq_t q, long exponent) {
  fmpz_t power;
  fmpz_init(power);
  fmpz_ui_pow_ui(power, 10, (ulong)labs(exponent));
  if (exponent >= 0)
    fmpq_mul_fmpz(q, q, power);
  else
    fmpq_div_fmpz(q, q, power);
  fmpz_clear(power);
}

void printed_parse(fmpq_t number, fmpq_t half_unit, const char *text) {
  int negative = *text == '-';
  const char *s = text + (*text == '-' || *text == '+'), *slash = strchr(s, '/');
  long places = 0, after_point = 0, exponent = 0;
  fmpq_zero(number);
  fmpq_zero(half_unit);
  for (; *s && *s != '/'; s++) {
    if (*s == '.') {
      after_point = 1;
    } else if (*s == 'e' || *s == 'E') {
      exponent = strtol(s + 1, NULL, 10);
      break;
    } else {
      fmpz_mul_ui(fmpq_numref(number), fmpq_numref(number), 10);
      fmpz_add_ui(fmpq_numref(number), fmpq_numref(number), (ulong)(*s - '0'));
      places += after_point;
    }
  }
  if (slash) {
    fmpz_t den;
    fmpz_init(den);
    fmpz_set_str(den, slash + 1, 10);
    if (!fmpz_is_zero(den)) fmpq_div_fmpz(number, number, den);
    fmpz_clear(den);
  } else {
    scale_by_ten(number, exponent - places);
    fmpq_set_si(half_unit, 1, 2);
    scale_by_ten(half_unit, exponent - places);
  }
  if (negative) fmpq_neg(number, number);
}

int printed_matches(const value *v, const char *text, slong prec) {
  value distance, half;
  value_init(&distance);
  value_init(&half);
  value_set_si(&distance, 0);
  value_set_si(&half, 0);
  printed_parse(distance.rational, half.rational, text);
  value_sub(&distance, v, &distance, prec);
  value_abs(&distance, &distance);
  int sign = value_compare(&distance, &half, prec);
  value_clear(&distance);
  value_clear(&half);
  return sign == VALUE_UNKNOWN ? VALUE_UNKNOWN : sign <= 0;
}
