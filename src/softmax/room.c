/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "softmax.h"

const problem_room softmax_room = {
    .name = "softmax",
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
