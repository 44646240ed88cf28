/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Exact elements to decimal texts. */
#include <stdlib.h>
#include <string.h>

#include "reference_internal.h"

const char *const reference_status_names[] = {"rounded", "nan", "inf", "-inf", "padding", "open"};

typedef struct {
  reference_target target;
  long digits;
  reference_decimals *decimals;
} decimal_target;

/* Takes the text over. */
static int keep(reference_target *target, int output, int64_t flat, char *mid, char *rad,
                reference_status status) {
  reference_decimals *d = &((decimal_target *)target)->decimals[output];
  d->mid[flat] = mid;
  d->rad[flat] = rad;
  d->status[flat] = (unsigned char)status;
  return mid && rad ? 1 : -1;
}

static int store(reference_target *target, int output, int64_t flat, const arb_t x) {
  char *mid;
  if (!enclosure_decimal(&mid, x, ((decimal_target *)target)->digits)) return 0;
  return keep(target, output, flat, mid, enclosure_radius_decimal(x, mid), REFERENCE_ROUNDED);
}

/* Decimals with one digit more, a 5, are the midpoints between decimals. */
static int boundary(fmpq_t c, const reference_target *target, int output, const arb_t x) {
  (void)output;
  arb_t mid;
  arb_init(mid);
  arb_set_arf(mid, arb_midref(x));
  char *text = NULL;
  int found = enclosure_decimal(&text, mid, ((const decimal_target *)target)->digits + 1);
  arb_clear(mid);
  size_t mantissa = found ? strcspn(text, "e") : 0;
  problem_real value;
  problem_real_init(&value);
  found = found && text[mantissa - 1] == '5' && problem_real_parse(&value, text) == 0;
  if (found) {
    fmpq_set(c, value.value);
    if (value.sign < 0) fmpq_neg(c, c);
  }
  problem_real_clear(&value);
  free(text);
  return found;
}

/* A midpoint: of the decimals just below and just above, the one with the even last digit. */
static int store_exact(reference_target *target, int output, int64_t flat, const fmpq_t c) {
  if (fmpq_is_zero(c))
    return keep(target, output, flat, strdup("0"), strdup("0"), REFERENCE_ROUNDED);
  long digits = ((decimal_target *)target)->digits;
  slong prec = 64 + 8 * digits;
  char *text[2] = {NULL, NULL}, *rad = NULL;
  arb_t x, step, side;
  arb_init(x);
  arb_init(step);
  arb_init(side);
  arb_set_fmpq(x, c, prec);
  arb_mul_2exp_si(step, x, -32 - 4 * digits);
  for (int i = 0; i < 2; i++) {
    if (i == 0)
      arb_sub(side, x, step, prec);
    else
      arb_add(side, x, step, prec);
    enclosure_decimal(&text[i], side, digits);
  }
  int even = text[0] && (text[0][strcspn(text[0], "e") - 1] - '0') % 2 == 0 ? 0 : 1;
  if (text[even]) rad = enclosure_radius_decimal(x, text[even]);
  free(text[1 - even]);
  arb_clear(x);
  arb_clear(step);
  arb_clear(side);
  return keep(target, output, flat, text[even], rad, REFERENCE_ROUNDED);
}

static int store_class(reference_target *target, int output, int64_t flat, measure_class class) {
  const char *text = class == EXACT_NAN ? "nan" : class == EXACT_PLUS_INF ? "inf" : "-inf";
  return keep(target, output, flat, strdup(text), strdup("0"),
              class == EXACT_NAN        ? REFERENCE_NAN
              : class == EXACT_PLUS_INF ? REFERENCE_PLUS_INF
                                        : REFERENCE_MINUS_INF);
}

/* The middle of the ball, where no digit is certain: the radius says how good it is. */
static int store_open(reference_target *target, int output, int64_t flat, const arb_t x) {
  char *mid = NULL;
  arb_t middle;
  arb_init(middle);
  arb_set_arf(middle, arb_midref(x));
  if (!enclosure_decimal(&mid, middle, ((decimal_target *)target)->digits)) mid = strdup("0");
  arb_clear(middle);
  char *rad = mid ? enclosure_radius_decimal(x, mid) : NULL;
  return keep(target, output, flat, mid, rad, REFERENCE_OPEN);
}

static int store_key(reference_target *target, int output, int64_t flat, int64_t key) {
  char *mid = NULL;
  if (asprintf(&mid, "%lld", (long long)key) < 0) mid = NULL;
  return keep(target, output, flat, mid, strdup("0"),
              key < 0 ? REFERENCE_PADDING : REFERENCE_ROUNDED);
}

static attest_status allocate(reference_decimals *d, const attest_problem *problem, int output,
                              attest_error *error) {
  attest_tensor shape = {0};
  problem_output_shape(&d->ndim, d->shape, problem, output);
  shape.ndim = d->ndim;
  memcpy(shape.shape, d->shape, sizeof d->shape);
  d->elements = tensor_elements(&shape);
  size_t n = (size_t)d->elements + 1;
  d->mid = calloc(n, sizeof *d->mid);
  d->rad = calloc(n, sizeof *d->rad);
  d->status = calloc(n, 1);
  if (d->mid && d->rad && d->status) return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for %lld decimals of %s",
                     (long long)d->elements, problem_output_names[output]);
}

/* Elements that no row has stored, and the number of open ones. */
static attest_status finish(reference_decimals *d, int output, int64_t *open, attest_error *error) {
  for (int64_t i = 0; i < d->elements; i++) {
    *open += d->status[i] == REFERENCE_OPEN;
    if (d->mid[i]) continue;
    d->mid[i] = strdup(output == OUTPUT_INDICES ? "-1" : "0");
    d->rad[i] = strdup("0");
    d->status[i] = REFERENCE_PADDING;
    if (!d->mid[i] || !d->rad[i])
      return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for the decimals");
  }
  return ATTEST_OK;
}

attest_status certify_reference_decimals(reference_decimals decimals[], int64_t *open,
                                         const attest_problem *problem, long digits,
                                         const reference_options *options, attest_error *error) {
  memset(decimals, 0, OUTPUT_COUNT * sizeof *decimals);
  *open = 0;
  decimal_target t = {
      {store, boundary, store_exact, store_class, store_open, store_key, {0}, 0}, digits, decimals};
  t.target.precision = 64 + (slong)((double)digits * 3.3219280948873626);
  attest_status status = ATTEST_OK;
  for (int output = OUTPUT_OUT; output < OUTPUT_COUNT && !status; output++) {
    t.target.wanted[output] = problem_kernel_returns(problem->kernel, output) &&
                              (output != OUTPUT_FINAL_STATE || (options && options->with_state));
    if (t.target.wanted[output]) status = allocate(&decimals[output], problem, output, error);
  }
  if (!status) status = certify_reference_run(&t.target, problem, options, error);
  for (int output = 0; output < OUTPUT_COUNT && !status; output++)
    status = finish(&decimals[output], output, open, error);
  return status;
}

void certify_reference_clear(reference_decimals decimals[]) {
  for (int output = 0; output < OUTPUT_COUNT; output++) {
    reference_decimals *d = &decimals[output];
    for (int64_t i = 0; i < d->elements; i++) {
      if (d->mid) free(d->mid[i]);
      if (d->rad) free(d->rad[i]);
    }
    free(d->mid);
    free(d->rad);
    free(d->status);
  }
  memset(decimals, 0, OUTPUT_COUNT * sizeof *decimals);
}
