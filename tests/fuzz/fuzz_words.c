/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What stands on a command line: expressions, bounds, machine models, parameters; and the records
 * in ledgers of sweeps. The first byte says which. What is accepted is used: expressions are
 * evaluated, parameters printed. */
#include <string.h>

#include "../../src/certify/sweep_engine.h"
#include "../../src/claims/expression.h"
#include "fuzz.h"

static void try_expression(const char *text) {
  static const char *const variables[] = {"x"};
  expression e;
  attest_error error;
  value x[1], result;
  if (expression_parse(&e, text, variables, 1, &error)) return;
  evaluation how = {.prec = 64, .variables = x, .steps = 2000};
  value_init(x);
  value_init(&result);
  (void)expression_evaluate(&result, &e, &how, &error);
  value_clear(&result);
  value_clear(x);
  expression_clear(&e);
}

static void try_bound(const char *text) {
  certify_bounds bounds = {0};
  attest_error error;
  certify_bounds_add(&bounds, text, &error);
  certify_bounds_clear(&bounds);
}

static void try_machine(const char *text) {
  room_machine machine = {0};
  attest_error error;
  for (size_t i = 0; i < problem_kernel_count; i++)
    certify_machine_parse(&machine, problem_kernels[i].name, text, &error);
}

/* "NAME VALUE" of each kernel; a number is written and read again. */
static void try_parameter(char *text) {
  attest_error error;
  char *blank = strchr(text, ' ');
  if (blank) *blank = 0;
  for (size_t i = 0; i < problem_kernel_count; i++) {
    attest_problem *problem = attest_problem_new(problem_kernels[i].name, &error);
    if (problem) attest_problem_set(problem, text, blank ? blank + 1 : "", &error);
    attest_problem_free(problem);
  }
  problem_real x, y;
  problem_real_init(&x);
  problem_real_init(&y);
  if (blank && !problem_real_parse(&x, blank + 1)) {
    char *written = problem_real_text(&x);
    if (written && (problem_real_parse(&y, written) || !problem_real_equal(&x, &y))) abort();
    free(written);
  }
  problem_real_clear(&x);
  problem_real_clear(&y);
}

/* An accepted record can be written again. */
static void try_record(const uint8_t *data, size_t size) {
  sweep_record record;
  unsigned char bytes[SWEEP_RECORD_BYTES];
  if (sweep_record_read(&record, data, size)) return;
  size = sweep_record_write(bytes, &record);
  if (sweep_record_read(&record, bytes, size)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size) return 0;
  char *text = malloc(size);
  if (!text) return 0;
  memcpy(text, data + 1, size - 1);
  text[size - 1] = 0;
  switch (data[0]) {
  case 'e':
    try_expression(text);
    break;
  case 'b':
    try_bound(text);
    break;
  case 'm':
    try_machine(text);
    break;
  case 'p':
    try_parameter(text);
    break;
  case 'r':
    try_record(data + 1, size - 1);
    break;
  default:
    break;
  }
  free(text);
  return 0;
}
