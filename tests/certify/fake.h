/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A room whose exact elements are a table of rationals, whose enclosures are as wide as a test
 * wants them, and which counts what it is asked: the rules of verdicts without any mathematics. */
#ifndef ATTEST_TESTS_CERTIFY_FAKE_H
#define ATTEST_TESTS_CERTIFY_FAKE_H

#include <math.h>
#include <stdatomic.h>

#include "../../src/certify/certify.h"
#include "../tests.h"

#define FAKE_WIDTH 4
#define FAKE_ROWS 80

/* What the fake room does, reset by fake_reset. Element (row, c) of every slice. */
static struct {
  const char *exact[FAKE_ROWS][FAKE_WIDTH]; /* rationals */
  unsigned char class[FAKE_ROWS][FAKE_WIDTH];
  double radius;        /* of the double tier, relative; may be infinite */
  double dd_radius;     /* of the double-double tier, relative; 0: no such tier is offered */
  int inexact_balls;    /* balls never become exact: one more ulp of radius */
  int linear;           /* linear_zero knows the answer */
  double a0;            /* a of row 0, where it differs: 0, else a */
  double a_loose;       /* the upper end of a as the double tier has it, where it is larger */
  double a, s, s_loose; /* condition: s in [s_loose, s] until sensitivity is asked */
  double s_above;       /* the upper end of s until then, where it is larger than s */
  double theory, reach;
  measure_interval explicit_value;
  atomic_int blocks, sensitivities, dd_rows, ball_rows, linear_calls, explicit_calls, opened;
} fake;

static const char *fake_exact(int64_t row, int64_t c) {
  return fake.exact[row][c] ? fake.exact[row][c] : "1";
}

static void fake_fmpq(fmpq_t x, int64_t row, int64_t c) {
  fmpq_set_str(x, fake_exact(row, c), 10);
}

static void fake_arb(arb_t x, int64_t row, int64_t c, slong prec) {
  fmpq_t q;
  fmpq_init(q);
  fake_fmpq(q, row, c);
  arb_set_fmpq(x, q, prec);
  if (fake.inexact_balls) arb_add_error_2exp_si(x, -prec);
  fmpq_clear(q);
}

static double fake_double(int64_t row, int64_t c) {
  arb_t x;
  arb_init(x);
  fake_arb(x, row, c, 128);
  double d = arf_get_d(arb_midref(x), ARF_RND_NEAR);
  arb_clear(x);
  return d;
}

static double fake_a(int64_t row) {
  return row == 0 && fake.a0 > 0 ? fake.a0 : fake.a;
}

static attest_status fake_open(void **work, const attest_problem *problem,
                               const problem_slice *slice, unsigned want, attest_error *error) {
  (void)problem;
  (void)slice;
  (void)want;
  (void)error;
  *work = &fake;
  atomic_fetch_add(&fake.opened, 1);
  return ATTEST_OK;
}

static void fake_close(void *work) {
  (void)work;
}

static void fake_cells(room_cells *cells, const room_block *block, unsigned want) {
  for (int64_t i = 0; i < block->rows; i++)
    for (int64_t c = 0; c < cells->width; c++) {
      int64_t at = i * cells->width + c;
      double x = fake_double(block->row + i, c);
      cells->x[at] = x;
      cells->radius[at] = fabs(x) * (fake.radius + 0x1p-53) + (x == 0 ? fake.radius : 0);
      cells->class[at] = fake.class[block->row + i][c];
      if (want & WANT_CONDITION) {
        cells->a_lo[at] = fake_a(block->row + i);
        cells->a_hi[at] = fmax(fake.a_loose, cells->a_lo[at]);
        cells->s_lo[at] = fake.s_loose;
        cells->s_hi[at] = fmax(fake.s, fake.s_above);
      }
      if (want & WANT_THEORY) cells->theory[at] = fake.theory;
    }
}

static void fake_rows(room_block *block, const void *work, unsigned want) {
  (void)work;
  atomic_fetch_add(&fake.blocks, 1);
  if (want & WANT_OUT) fake_cells(&block->out, block, want);
  if (want & WANT_LSE) fake_cells(&block->lse, block, want);
  for (int64_t i = 0; i < block->rows; i++)
    block->reach[i] = fake.reach;
}

static void fake_sensitivity(double *s_lo, double *s_hi, const double *x, const double *radius,
                             const void *work, int64_t row) {
  (void)x;
  (void)radius;
  (void)work;
  (void)row;
  atomic_fetch_add(&fake.sensitivities, 1);
  for (int c = 0; c < FAKE_WIDTH; c++)
    s_lo[c] = s_hi[c] = fake.s;
}

static void fake_rows_dd(double *x_hi, double *x_lo, double *radius, const void *work, int64_t row,
                         int output) {
  (void)work;
  atomic_fetch_add(&fake.dd_rows, 1);
  arb_t x, hi;
  arb_init(x);
  arb_init(hi);
  for (int64_t c = 0; c < (output == OUTPUT_OUT ? FAKE_WIDTH : 1); c++) {
    fake_arb(x, row, c, 256);
    x_hi[c] = arf_get_d(arb_midref(x), ARF_RND_NEAR);
    arb_set_d(hi, x_hi[c]);
    arb_sub(x, x, hi, 256);
    x_lo[c] = arf_get_d(arb_midref(x), ARF_RND_NEAR);
    radius[c] = fabs(x_hi[c]) * (fake.dd_radius + 0x1p-104);
  }
  arb_clear(x);
  arb_clear(hi);
}

static attest_status fake_ball(room_balls *balls, const attest_problem *problem,
                               const problem_slice *slice, int64_t row, int output, unsigned want,
                               slong prec, attest_error *error) {
  (void)problem;
  (void)slice;
  (void)error;
  atomic_fetch_add(&fake.ball_rows, 1);
  for (int64_t c = 0; c < (output == OUTPUT_OUT ? FAKE_WIDTH : 1); c++) {
    fake_arb(balls->x + c, row, c, prec);
    balls->class[c] = fake.class[row][c];
    if (want & WANT_CONDITION) {
      arb_set_d(balls->a + c, fake_a(row));
      arb_set_d(balls->s + c, fake.s);
    }
  }
  return ATTEST_OK;
}

static int fake_linear_zero(const attest_problem *problem, const problem_slice *slice, int64_t row,
                            int output, int n, const int64_t component[], const fmpq *coefficient,
                            const fmpq_t constant) {
  (void)problem;
  (void)slice;
  (void)output;
  atomic_fetch_add(&fake.linear_calls, 1);
  if (!fake.linear) return -1;
  fmpq_t sum, x;
  fmpq_init(sum);
  fmpq_init(x);
  for (int i = 0; i < n; i++) {
    fake_fmpq(x, row, component[i]);
    fmpq_addmul(sum, x, coefficient + i);
  }
  int zero = fmpq_equal(sum, constant);
  fmpq_clear(sum);
  fmpq_clear(x);
  return zero;
}

static attest_status fake_backward_explicit(measure_interval *value, const attest_problem *problem,
                                            const problem_slice *slice, int64_t row, int output,
                                            int64_t component, double got, double u_w, double u_s,
                                            double quantum, attest_error *error) {
  (void)problem;
  (void)slice;
  (void)row;
  (void)output;
  (void)component;
  (void)got;
  (void)u_w;
  (void)u_s;
  (void)quantum;
  (void)error;
  atomic_fetch_add(&fake.explicit_calls, 1);
  *value = fake.explicit_value;
  return ATTEST_OK;
}

static problem_room fake_room = {
    .name = "softmax",
    .theorem = "fake_radius",
    .open = fake_open,
    .rows = fake_rows,
    .close = fake_close,
    .sensitivity = fake_sensitivity,
    .rows_dd = fake_rows_dd,
    .ball = fake_ball,
    .linear_zero = fake_linear_zero,
    .backward_explicit = fake_backward_explicit,
};

static float fake_ones[FAKE_ROWS * FAKE_WIDTH];

static void fake_reset(void) {
  for (int i = 0; i < FAKE_ROWS * FAKE_WIDTH; i++)
    fake_ones[i] = 1;
  memset(&fake, 0, sizeof fake);
  fake.radius = 0x1p-40;
  fake.linear = 1;
  fake.inexact_balls = 1;
  fake.a = 1;
  fake.theory = 1;
  fake.reach = 1;
  fake_room.rows_dd = fake_rows_dd;
}

/* ---- problems around it ---- */

/* `heads` slices of `rows` rows of FAKE_WIDTH components; out as given. */
static attest_problem *fake_problem(int64_t heads, int64_t rows, void *out, attest_dtype dtype) {
  static float inputs[4 * FAKE_ROWS * FAKE_WIDTH];
  const int64_t q_shape[3] = {heads, rows, 1}, k_shape[3] = {heads, 1, 1};
  const int64_t v_shape[3] = {heads, 1, FAKE_WIDTH}, o_shape[3] = {heads, rows, FAKE_WIDTH};
  attest_error error;
  attest_problem *p = attest_problem_new("softmax", &error);
  attest_tensor q = attest_tensor_of(inputs, ATTEST_FLOAT32, 3, q_shape);
  attest_tensor k = attest_tensor_of(inputs, ATTEST_FLOAT32, 3, k_shape);
  attest_tensor v = attest_tensor_of(inputs, ATTEST_FLOAT32, 3, v_shape);
  attest_tensor o = attest_tensor_of(out, dtype, 3, o_shape);
  attest_problem_input(p, "q", &q, &error);
  attest_problem_input(p, "k", &k, &error);
  attest_problem_input(p, "v", &v, &error);
  attest_problem_output(p, "out", &o, &error);
  ck_assert_msg(problem_resolve(p, &error) == ATTEST_OK, "%s", error.message);
  return p;
}

/* Compares and returns the result of `out`; bounds separated by blanks. */
static attest_status fake_run(certify_case *result, attest_problem *p, const char *bounds,
                              certify_options *options, attest_error *error) {
  certify_bounds list = {0, NULL};
  static const room_machine machine;
  char copy[8192], *rest = copy, *item;
  strcpy(copy, bounds);
  while ((item = strsep(&rest, " ")))
    if (*item) ck_assert_int_eq(certify_bounds_add(&list, item, error), ATTEST_OK);
  certify_subject subject = {NULL, p, &list, &machine, NULL};
  options->name = "fake";
  attest_status status = certify_run_room(result, &fake_room, &subject, 1, options, error);
  certify_bounds_clear(&list);
  return status;
}

/* Rows of one slice against float32 elements; the caller clears the result. */
static const certify_output *fake_check(certify_case *result, const float *out, int64_t rows,
                                        const char *bounds) {
  attest_error error = {0};
  certify_options options = {0};
  attest_problem *p = fake_problem(1, rows, (void *)out, ATTEST_FLOAT32);
  attest_status status = fake_run(result, p, bounds, &options, &error);
  attest_problem_free(p);
  ck_assert_msg(status == ATTEST_OK, "%s", error.message);
  return &result->subjects[0].outputs[0];
}

/* The verdict alone. */
static attest_verdict fake_verdict(const float *out, int64_t rows, const char *bounds) {
  certify_case result;
  attest_verdict verdict = fake_check(&result, out, rows, bounds)->verdict;
  certify_case_clear(&result);
  return verdict;
}

#endif
