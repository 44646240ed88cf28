/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "../softmax/softmax.h"
#include "forms.h"

const problem_room rope_softmax_room = {
    .name = "rope-softmax",
    .theorem = "softmax_radius",
    .open = forms_open,
    .rows = forms_rows,
    .close = forms_close,
    .sensitivity = forms_sensitivity,
    .rows_dd = forms_softmax_dd,
    .ball = softmax_ball,
    .linear_zero = softmax_linear_zero,
    .backward_explicit = softmax_backward_explicit,
    .backward_side = forms_softmax_side,
    .kernel = forms_kernel,
    .kernel_account = forms_kernel_account,
    .machine = softmax_machine,
    .ball_rows = softmax_ball_rows,
};

/* toeplitz is softmax attention, or has a polynomial of the score for exp. */
static int is_polynomial(const attest_problem *problem) {
  return problem->input[INPUT_COEFFICIENTS].data != NULL;
}

static attest_status toeplitz_ball(room_balls *balls, const attest_problem *problem,
                                   const problem_slice *slice, int64_t row, int output,
                                   unsigned want, slong prec, attest_error *error) {
  return (is_polynomial(problem) ? score_ball : softmax_ball)(balls, problem, slice, row, output,
                                                              want, prec, error);
}

static int toeplitz_linear_zero(const attest_problem *problem, const problem_slice *slice,
                                int64_t row, int output, int n, const int64_t component[],
                                const fmpq *coefficient, const fmpq_t constant) {
  return (is_polynomial(problem) ? score_linear_zero : softmax_linear_zero)(
      problem, slice, row, output, n, component, coefficient, constant);
}

static attest_status toeplitz_explicit(measure_interval *value, const attest_problem *problem,
                                       const problem_slice *slice, int64_t row, int output,
                                       int64_t component, double got, double u_w, double u_s,
                                       double quantum, attest_error *error) {
  return (is_polynomial(problem) ? score_backward_explicit : softmax_backward_explicit)(
      value, problem, slice, row, output, component, got, u_w, u_s, quantum, error);
}

const problem_room rope_linear_room = {
    .name = "rope-linear",
    .theorem = "toeplitz_radius",
    .open = forms_open,
    .rows = forms_rows,
    .close = forms_close,
    .sensitivity = forms_sensitivity,
    .ball = score_ball,
    .linear_zero = score_linear_zero,
    .backward_explicit = score_backward_explicit,
    .kernel = forms_kernel,
    .kernel_account = forms_kernel_account,
    .machine = toeplitz_machine,
};

const problem_room toeplitz_room = {
    .name = "toeplitz",
    .theorem = "toeplitz_radius",
    .open = forms_open,
    .rows = forms_rows,
    .close = forms_close,
    .sensitivity = forms_sensitivity,
    .ball = toeplitz_ball,
    .linear_zero = toeplitz_linear_zero,
    .backward_explicit = toeplitz_explicit,
    .kernel = forms_kernel,
    .kernel_account = forms_kernel_account,
    .machine = toeplitz_machine,
};
