/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "toeplitz.h"

#include "../softmax/softmax.h"

const problem_room rope_softmax_room = {
    .name = "rope-softmax",
    .theorem = "softmax_radius",
    .open = softmax_enclose_open,
    .rows = softmax_enclose_rows,
    .close = softmax_enclose_close,
    .sensitivity = softmax_sensitivity,
    .rows_dd = softmax_enclose_dd,
    .ball = softmax_ball,
    .linear_zero = softmax_linear_zero,
    .backward_explicit = softmax_backward_explicit,
    .backward_side = softmax_backward_side,
    .kernel = softmax_kernel,
    .machine = softmax_machine,
    .ball_rows = softmax_ball_rows,
};

const problem_room rope_linear_room = {
    .name = "rope-linear",
    .theorem = "toeplitz_radius",
    .open = toeplitz_enclose_open,
    .rows = toeplitz_enclose_rows,
    .close = toeplitz_enclose_close,
    .sensitivity = toeplitz_sensitivity,
    .ball = rope_linear_ball,
    .backward_explicit = rope_linear_backward_explicit,
    .kernel = toeplitz_kernel,
    .machine = toeplitz_machine,
};

const problem_room toeplitz_room = {
    .name = "toeplitz",
    .theorem = "toeplitz_radius",
    .open = toeplitz_enclose_open,
    .rows = toeplitz_enclose_rows,
    .close = toeplitz_enclose_close,
    .sensitivity = toeplitz_sensitivity,
    .ball = softmax_ball,
    .linear_zero = softmax_linear_zero,
    .backward_explicit = softmax_backward_explicit,
    .kernel = toeplitz_kernel,
    .machine = toeplitz_machine,
};
