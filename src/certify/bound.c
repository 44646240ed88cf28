/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* --bound: text to exact numbers. */
#include <stdlib.h>
#include <string.h>

#include "certify.h"

static const char syntax[] =
    "write [OUTPUT:]MEASURE<=X with MEASURE one of abs rel ulp row nmse backward, "
    "[OUTPUT:]theory, or [OUTPUT:]allclose=RTOL,ATOL";

const char *certify_default_bound(attest_dtype dtype) {
  return dtype == ATTEST_FLOAT16 || dtype == ATTEST_BFLOAT16 ? "backward<=4" : "backward<=16";
}

/* A rational >= 0 written in `text[0 .. length)`: 0, or -1. */
static int parse_limit(fmpq_t value, const char *text, size_t length) {
  char *copy = strndup(text, length);
  problem_real x;
  problem_real_init(&x);
  int ok = copy && problem_real_parse(&x, copy) == 0 && !x.root && x.sign >= 0;
  if (ok) fmpq_set(value, x.value);
  problem_real_clear(&x);
  free(copy);
  return ok ? 0 : -1;
}

/* Splits "allclose=RTOL,ATOL", "theory" or "MEASURE<=X" into the bound: 0, or -1. */
static int parse_measure(certify_bound *bound, const char *text) {
  static const char allclose[] = "allclose=";
  fmpq_one(bound->limit);
  if (!strcmp(text, measure_names[MEASURE_THEORY])) {
    bound->measure = MEASURE_THEORY;
    return 0;
  }
  if (!strncmp(text, allclose, strlen(allclose))) {
    const char *rtol = text + strlen(allclose), *comma = strchr(rtol, ',');
    bound->measure = MEASURE_ALLCLOSE;
    return comma && !parse_limit(bound->rtol, rtol, (size_t)(comma - rtol)) &&
                   !parse_limit(bound->atol, comma + 1, strlen(comma + 1))
               ? 0
               : -1;
  }
  const char *sign = strstr(text, "<=");
  for (int m = 0; sign && m < MEASURE_COUNT; m++) {
    size_t length = strlen(measure_names[m]);
    if (m == MEASURE_THEORY || m == MEASURE_ALLCLOSE || (size_t)(sign - text) != length ||
        strncmp(text, measure_names[m], length))
      continue;
    bound->measure = (measure_kind)m;
    return parse_limit(bound->limit, sign + 2, strlen(sign + 2));
  }
  return -1;
}

static void bound_clear(certify_bound *bound) {
  fmpq_clear(bound->limit);
  fmpq_clear(bound->rtol);
  fmpq_clear(bound->atol);
  free(bound->text);
}

static attest_status bound_parse(certify_bound *bound, const char *text, attest_error *error) {
  const char *colon = strchr(text, ':'), *rest = colon ? colon + 1 : text;
  bound->output = -1;
  if (colon) {
    for (int i = 0; i < OUTPUT_COUNT; i++)
      if (strlen(problem_output_names[i]) == (size_t)(colon - text) &&
          !strncmp(problem_output_names[i], text, (size_t)(colon - text)))
        bound->output = i;
    if (bound->output < 0)
      return attest_fail(error, ATTEST_ERR_INPUT, "bound %s: no output is called %.*s; %s", text,
                         (int)(colon - text), text, syntax);
  }
  if (parse_measure(bound, rest))
    return attest_fail(error, ATTEST_ERR_INPUT, "bound %s is not understood: %s", text, syntax);
  bound->text = strdup(rest);
  return bound->text ? ATTEST_OK : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
}

attest_status certify_bounds_add(certify_bounds *bounds, const char *text, attest_error *error) {
  certify_bound *items = realloc(bounds->items, (bounds->count + 1) * sizeof *items);
  if (!items) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  bounds->items = items;
  certify_bound *bound = &items[bounds->count];
  memset(bound, 0, sizeof *bound);
  fmpq_init(bound->limit);
  fmpq_init(bound->rtol);
  fmpq_init(bound->atol);
  attest_status status = bound_parse(bound, text, error);
  for (size_t i = 0; i < bounds->count && !status; i++)
    if (items[i].output == bound->output && !strcmp(items[i].text, bound->text)) {
      bound_clear(bound); /* given twice */
      return ATTEST_OK;
    }
  if (status)
    bound_clear(bound);
  else
    bounds->count++;
  return status;
}

void certify_bounds_clear(certify_bounds *bounds) {
  for (size_t i = 0; i < bounds->count; i++)
    bound_clear(&bounds->items[i]);
  free(bounds->items);
  memset(bounds, 0, sizeof *bounds);
}
