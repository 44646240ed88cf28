/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Exact real parameters: rationals and square roots of rationals, with a sign. */
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "room.h"

#define EXPONENT_MAX 9999 /* of decimal and binary exponents as typed */
#define TEXT_MAX_BYTES                                                                             \
  40000 /* longer than any text that problem_real_text writes of a parsed one */

void problem_real_init(problem_real *x) {
  fmpq_init(x->value);
  x->root = 0;
  x->sign = 0;
}

void problem_real_clear(problem_real *x) {
  fmpq_clear(x->value);
}

void problem_real_set(problem_real *x, const problem_real *y) {
  fmpq_set(x->value, y->value);
  x->root = y->root;
  x->sign = y->sign;
}

/* Zero has sign 0 and no root; the square root of a square is that rational. num and den are
 * coprime, so the quotient is a square iff both are. */
static void canonicalise(problem_real *x) {
  if (fmpq_is_zero(x->value)) x->sign = x->root = 0;
  if (x->root && fmpz_is_square(fmpq_numref(x->value)) && fmpz_is_square(fmpq_denref(x->value))) {
    fmpz_sqrt(fmpq_numref(x->value), fmpq_numref(x->value));
    fmpz_sqrt(fmpq_denref(x->value), fmpq_denref(x->value));
    x->root = 0;
  }
}

void problem_real_set_si(problem_real *x, long n) {
  fmpq_set_si(x->value, n, 1);
  fmpq_abs(x->value, x->value);
  x->root = 0;
  x->sign = (n > 0) - (n < 0);
}

void problem_real_inv_sqrt_ui(problem_real *x, unsigned long d) {
  fmpz_one(fmpq_numref(x->value));
  fmpz_set_ui(fmpq_denref(x->value), d);
  x->root = x->sign = 1;
  canonicalise(x);
}

void problem_real_mul(problem_real *result, const problem_real *x, const problem_real *y) {
  fmpq_t square;
  fmpq_init(square);
  int root = x->root || y->root, sign = x->sign * y->sign;
  if (x->root == y->root) {
    fmpq_mul(result->value, x->value, y->value);
  } else { /* sqrt(a) b = sqrt(a b^2) */
    const problem_real *plain = x->root ? y : x, *under = x->root ? x : y;
    fmpq_mul(square, plain->value, plain->value);
    fmpq_mul(result->value, under->value, square);
  }
  fmpq_clear(square);
  result->root = root;
  result->sign = sign;
  canonicalise(result);
}

void problem_real_inv(problem_real *result, const problem_real *x) {
  fmpq_inv(result->value, x->value);
  result->root = x->root;
  result->sign = x->sign;
}

int problem_real_equal(const problem_real *x, const problem_real *y) {
  return x->sign == y->sign && x->root == y->root && fmpq_equal(x->value, y->value);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* An optional exponent after `letter` or its capital: 0 and *exponent, or -1. Advances *text. */
static int read_exponent(long *exponent, const char **text, char letter) {
  *exponent = 0;
  if (tolower((unsigned char)**text) != letter) return 0;
  const char *s = *text + 1;
  int negative = *s == '-';
  if (*s == '-' || *s == '+') s++;
  if (!isdigit((unsigned char)*s)) return -1;
  for (; isdigit((unsigned char)*s); s++) {
    *exponent = 10 * *exponent + (*s - '0');
    if (*exponent > EXPONENT_MAX) return -1;
  }
  if (negative) *exponent = -*exponent;
  *text = s;
  return 0;
}

/* The digits of base 10 or 16 around at most one point, without it: their count after the point is
 * *places. 0, or -1 when there is no digit. Advances *text. */
static int read_digits(fmpz_t digits, long *places, const char **text, int base) {
  char *buffer = malloc(strlen(*text) + 1);
  if (!buffer) return -1;
  const char *s = *text;
  size_t count = 0;
  int point = 0;
  *places = 0;
  for (;; s++) {
    if (*s == '.' && !point) {
      point = 1;
    } else if (base == 10 ? isdigit((unsigned char)*s) : isxdigit((unsigned char)*s)) {
      buffer[count++] = *s;
      *places += point;
    } else {
      break;
    }
  }
  buffer[count] = 0;
  int status = count && fmpz_set_str(digits, buffer, base) == 0 ? 0 : -1;
  free(buffer);
  *text = s;
  return status;
}

/* One unsigned decimal or hex float. Advances *text. */
static int read_number(fmpq_t value, const char **text) {
  int hex = (*text)[0] == '0' && ((*text)[1] == 'x' || (*text)[1] == 'X');
  long places, exponent;
  fmpz_t digits, power;
  fmpz_init(digits);
  fmpz_init(power);
  *text += hex ? 2 : 0;
  int status = read_digits(digits, &places, text, hex ? 16 : 10);
  if (!status) status = read_exponent(&exponent, text, hex ? 'p' : 'e');
  if (!status) {
    exponent -= hex ? 4 * places : places;
    fmpz_set_ui(power, hex ? 2 : 10);
    fmpz_pow_ui(power, power, (ulong)labs(exponent));
    fmpz_set(fmpq_numref(value), digits);
    fmpz_one(fmpq_denref(value));
    if (exponent >= 0)
      fmpq_mul_fmpz(value, value, power);
    else
      fmpq_div_fmpz(value, value, power);
  }
  fmpz_clear(digits);
  fmpz_clear(power);
  return status;
}

/* A number, or sqrt(number) or sqrt(number/number). Advances *text. */
static int read_term(problem_real *x, const char **text) {
  x->sign = 1;
  x->root = strncmp(*text, "sqrt(", 5) == 0;
  *text += x->root ? 5 : 0;
  if (read_number(x->value, text)) return -1;
  if (x->root && **text == '/') {
    fmpq_t below;
    fmpq_init(below);
    (*text)++;
    int status = read_number(below, text);
    if (!status && fmpq_is_zero(below)) status = -1;
    if (!status) fmpq_div(x->value, x->value, below);
    fmpq_clear(below);
    if (status) return -1;
  }
  if (x->root && *(*text)++ != ')') return -1;
  canonicalise(x);
  return 0;
}

int problem_real_parse(problem_real *x, const char *text) {
  if (strlen(text) > TEXT_MAX_BYTES) return -1;
  problem_real above, below;
  problem_real_init(&above);
  problem_real_init(&below);
  int negative = *text == '-';
  if (*text == '-' || *text == '+') text++;
  int status = read_term(&above, &text);
  if (!status && *text == '/') {
    text++;
    status = read_term(&below, &text);
    if (!status && below.sign == 0) status = -1;
    if (!status) {
      problem_real_inv(&below, &below);
      problem_real_mul(&above, &above, &below);
    }
  }
  if (!status && *text) status = -1;
  if (!status) {
    problem_real_set(x, &above);
    x->sign = negative ? -x->sign : x->sign;
  }
  problem_real_clear(&above);
  problem_real_clear(&below);
  return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* "MeK" (base 10) or "0xMpK" (base 16) into text when value = M 10^K or M 2^K with an exponent
 * that can be read back and this is shorter than what text holds. */
static void shorten(char *text, const problem_real *x, int base) {
  fmpz_t m, factor, power;
  fmpz_init(m);
  fmpz_init(factor);
  fmpz_init(power);
  /* K = -k, k the least with 10^k (or 2^k) value whole; else strip factors of a whole value. */
  fmpz_set_ui(factor, 2);
  fmpz_set(m, fmpq_denref(x->value));
  slong k = fmpz_remove(m, m, factor);
  if (base == 10) {
    fmpz_set_ui(factor, 5);
    slong fives = fmpz_remove(m, m, factor);
    k = fives > k ? fives : k;
    fmpz_set_ui(factor, 10);
  }
  if (fmpz_is_one(m)) {
    fmpz_pow_ui(power, factor, (ulong)k);
    fmpz_mul(m, fmpq_numref(x->value), power);
    fmpz_divexact(m, m, fmpq_denref(x->value));
    k -= fmpz_remove(m, m, factor);
    size_t digits = fmpz_sizeinbase(m, base);
    if (labs(k) <= EXPONENT_MAX && digits < strlen(text)) {
      char *mantissa = malloc(digits + 2), *shorter = malloc(digits + 32);
      if (mantissa && shorter) {
        fmpz_get_str(mantissa, base, m);
        sprintf(shorter, base == 10 ? "%se%ld" : "0x%sp%ld", mantissa, -(long)k);
        if (strlen(shorter) < strlen(text)) strcpy(text, shorter);
      }
      free(mantissa);
      free(shorter);
    }
  }
  fmpz_clear(m);
  fmpz_clear(factor);
  fmpz_clear(power);
}

char *problem_real_text(const problem_real *x) {
  size_t size =
      fmpz_sizeinbase(fmpq_numref(x->value), 10) + fmpz_sizeinbase(fmpq_denref(x->value), 10) + 16;
  char *number = malloc(size), *text = malloc(size + 16);
  if (number && text) {
    fmpz_get_str(number, 10, fmpq_numref(x->value));
    if (!fmpz_is_one(fmpq_denref(x->value))) {
      strcat(number, "/");
      fmpz_get_str(number + strlen(number), 10, fmpq_denref(x->value));
    }
    if (x->sign) {
      shorten(number, x, 10);
      shorten(number, x, 16);
    }
    sprintf(text, x->root ? "%ssqrt(%s)" : "%s%s", x->sign < 0 ? "-" : "", number);
  } else {
    free(text);
    text = NULL;
  }
  free(number);
  return text;
}

/* ---- to double ------------------------------------------------------------------------------- */

/* floor(value 2^shift) with its lowest bit raised when something was cut off, for a value with
 * 2^61 <= value 2^shift < 2^63: two spare bits at least below the 53 that count. */
static uint64_t floor_sticky(const fmpq_t value, slong shift) {
  fmpz_t num, quotient, rest;
  fmpz_init(num);
  fmpz_init(quotient);
  fmpz_init(rest);
  if (shift >= 0) {
    fmpz_mul_2exp(num, fmpq_numref(value), (ulong)shift);
    fmpz_fdiv_qr(quotient, rest, num, fmpq_denref(value));
  } else {
    fmpz_mul_2exp(num, fmpq_denref(value), (ulong)-shift);
    fmpz_fdiv_qr(quotient, rest, fmpq_numref(value), num);
  }
  uint64_t q = fmpz_get_ui(quotient) | !fmpz_is_zero(rest);
  fmpz_clear(num);
  fmpz_clear(quotient);
  fmpz_clear(rest);
  return q;
}

/* The double nearest to the number that q stands for in units of 2^-shift (its lowest bit sticky),
 * ties to even, subnormals included. */
static double round_sticky(uint64_t q, slong shift) {
  int bits = 0;
  while (bits < 64 && q >> bits)
    bits++;
  slong unit = bits - 53 - shift; /* exponent of the last place */
  if (unit < -1074) unit = -1074;
  slong drop = unit + shift;
  if (drop > 63) return 0;
  uint64_t kept = q >> drop, rest = q & (((uint64_t)1 << drop) - 1),
           half = (uint64_t)1 << (drop - 1);
  if (rest > half || (rest == half && (kept & 1))) kept++;
  return unit > 1024 ? INFINITY : ldexp((double)kept, (int)unit);
}

/* floor(log2(value)) or one more. */
static slong magnitude(const fmpq_t value) {
  return (slong)fmpz_bits(fmpq_numref(value)) - (slong)fmpz_bits(fmpq_denref(value));
}

static double nearest(const fmpq_t value) {
  if (fmpq_is_zero(value)) return 0;
  slong shift = 62 - magnitude(value);
  return round_sticky(floor_sticky(value, shift), shift);
}

static void set_double(fmpq_t x, double y) { /* exact; y finite and >= 0 */
  int exponent;
  double fraction = frexp(y, &exponent);
  fmpq_set_si(x, (slong)ldexp(fraction, 53), 1);
  exponent -= 53;
  if (exponent >= 0)
    fmpq_mul_2exp(x, x, (ulong)exponent);
  else
    fmpq_div_2exp(x, x, (ulong)-exponent);
}

static double upward(const fmpq_t value) {
  return fmpq_is_zero(value) ? 0 : nextafter(nearest(value), INFINITY);
}

/* The double nearest to sqrt(value), value not a square, and |sqrt(value) - y| <= *radius:
 * |value - y^2| / (sqrt(value) + y), the root in the denominator taken from below. */
static double nearest_root(double *radius, const fmpq_t value) {
  slong half = magnitude(value) / 2 - 1, shift = 62 - half;
  fmpq_t scaled, below, error;
  fmpz_t root;
  fmpq_init(scaled);
  fmpq_init(below);
  fmpq_init(error);
  fmpz_init(root);
  if (shift >= 0)
    fmpq_mul_2exp(scaled, value, 2 * (ulong)shift);
  else
    fmpq_div_2exp(scaled, value, 2 * (ulong)-shift);
  fmpz_fdiv_q(root, fmpq_numref(scaled), fmpq_denref(scaled));
  fmpz_sqrt(root, root); /* floor(sqrt(value) 2^shift), irrational: never exact */
  double y = round_sticky(fmpz_get_ui(root) | 1, shift);
  *radius = INFINITY;
  if (isfinite(y)) {
    fmpz_set(fmpq_numref(below), root);
    fmpz_one(fmpq_denref(below));
    if (shift >= 0)
      fmpq_div_2exp(below, below, (ulong)shift);
    else
      fmpq_mul_2exp(below, below, (ulong)-shift);
    set_double(scaled, y);
    fmpq_add(below, below, scaled);
    fmpq_mul(scaled, scaled, scaled);
    fmpq_sub(error, value, scaled);
    fmpq_abs(error, error);
    fmpq_div(error, error, below);
    *radius = upward(error);
  }
  fmpq_clear(scaled);
  fmpq_clear(below);
  fmpq_clear(error);
  fmpz_clear(root);
  return y;
}

double problem_real_double(double *radius, const problem_real *x) {
  double y;
  if (x->root) {
    y = nearest_root(radius, x->value);
  } else {
    y = nearest(x->value);
    *radius = INFINITY;
    if (isfinite(y)) {
      fmpq_t error;
      fmpq_init(error);
      set_double(error, y);
      fmpq_sub(error, x->value, error);
      fmpq_abs(error, error);
      *radius = upward(error);
      fmpq_clear(error);
    }
  }
  if (!isfinite(y)) y = DBL_MAX;
  return x->sign < 0 ? -y : y;
}

void problem_real_ball(arb_t x, const problem_real *real, slong prec) {
  arb_set_fmpq(x, real->value, prec);
  if (real->root) arb_sqrt(x, x, prec);
  if (real->sign < 0) arb_neg(x, x);
  if (real->sign == 0) arb_zero(x);
}
