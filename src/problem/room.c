/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "room.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

unsigned room_want(int output) {
  return output == OUTPUT_OUT           ? WANT_OUT
         : output == OUTPUT_FINAL_STATE ? WANT_STATE
         : output == OUTPUT_INDICES     ? WANT_INDICES
                                        : WANT_LSE;
}

void room_balls_init(room_balls *balls, int64_t width) {
  balls->width = width;
  balls->edge = 0;
  balls->selection = NULL;
  balls->selected = 0;
  balls->weights = NULL;
  balls->x = _arb_vec_init(width);
  balls->a = _arb_vec_init(width);
  balls->s = _arb_vec_init(width);
  balls->class = flint_calloc((size_t)width + 1, 1);
}

void room_balls_clear(room_balls *balls) {
  _arb_vec_clear(balls->x, balls->width);
  _arb_vec_clear(balls->a, balls->width);
  _arb_vec_clear(balls->s, balls->width);
  flint_free(balls->class);
}

int room_equals(room_linear_zero *linear_zero, const attest_problem *problem,
                const problem_slice *slice, int64_t row, int output, int64_t component,
                const fmpq_t c) {
  fmpq_t one;
  fmpq_init(one);
  fmpq_one(one);
  int answer = linear_zero ? linear_zero(problem, slice, row, output, 1, &component, one, c) : -1;
  fmpq_clear(one);
  return answer;
}

int room_equals_double(room_linear_zero *linear_zero, const attest_problem *problem,
                       const problem_slice *slice, int64_t row, int output, int64_t component,
                       double c) {
  fmpq_t constant;
  arf_t x;
  fmpq_init(constant);
  arf_init(x);
  arf_set_d(x, c);
  arf_get_fmpq(constant, x);
  int answer = room_equals(linear_zero, problem, slice, row, output, component, constant);
  fmpq_clear(constant);
  arf_clear(x);
  return answer;
}

void room_choice_clear(room_choice *choice) {
  free(choice->fixed);
  *choice = (room_choice){0};
}

/* ---- declared machine models ----------------------------------------------------------------- */

static int parse_field(room_machine *machine, const char *key, const char *value) {
  char *end;
  attest_dtype *format = strcmp(key, "products") == 0     ? &machine->products
                         : strcmp(key, "weights") == 0    ? &machine->weights
                         : strcmp(key, "accumulate") == 0 ? &machine->accumulate
                         : strcmp(key, "phases") == 0     ? &machine->phases
                                                          : NULL;
  if (format) return tensor_dtype_parse(format, value) == 0 && tensor_dtype_format(*format);
  if (strcmp(key, "block") == 0) {
    machine->block = strtoll(value, &end, 10);
    return *value && !*end && machine->block >= 0;
  }
  if (strcmp(key, "exp") == 0) {
    machine->exp_error = strtod(value, &end);
    /* An ulp is up to two roundoffs of the value itself. */
    if (end != value && !strcmp(end, "ulp")) {
      machine->exp_error *= 2;
      end += 3;
    }
    return *value && !*end && machine->exp_error >= 0 && machine->exp_error <= 0x1p40;
  }
  return 0;
}

attest_status room_machine_parse(room_machine *machine, const char *text, attest_error *error) {
  char *copy = strdup(text), *rest = copy;
  if (!copy) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (char *field; (field = strsep(&rest, ","));) {
    char *value = strchr(field, '=');
    if (value) *value++ = 0;
    if (value && parse_field(machine, field, value)) continue;
    attest_fail(error, ATTEST_ERR_INPUT,
                "--arithmetic: '%s%s%s' is not understood; write products=DTYPE, weights=DTYPE, "
                "accumulate=DTYPE, phases=DTYPE (rotary angles), block=KEYS (0: one chain) or "
                "exp=ERROR in unit roundoffs (or 2ulp)",
                field, value ? "=" : "", value ? value : "");
    free(copy);
    return ATTEST_ERR_INPUT;
  }
  free(copy);
  return ATTEST_OK;
}

/* ---- rotations of a declared machine --------------------------------------------------------- */

static double unit(attest_dtype dtype) {
  return measure_unit_roundoff(tensor_dtype_format(dtype));
}

/* a(p): how far cos and sin of an angle of position p may be off. */
static double phase_error(const room_machine *machine, const problem_values *values,
                          double position) {
  double u = unit(machine->phases), unused;
  double base = problem_real_double(&unused, &values->rope_base);
  double theta = base < 1 ? 1 / base * (1 + 0x1p-40) : 1;
  return fmin(2, position * theta * (2 * u + u * u)) + u;
}

double room_rotation_error(const room_machine *machine, const problem_values *values,
                           double query_position, double key_position) {
  double u = 2 * unit(machine->products);
  double q = 1.4143 * phase_error(machine, values, query_position) + u;
  double k = 1.4143 * phase_error(machine, values, key_position) + u;
  return (1 + q) * (1 + k) - 1 + 0x1p-50;
}
