/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "kernel.h"
#include "taylor.h"

#define ROOM(NAME, THEOREM)                                                                        \
  {                                                                                                \
    .name = NAME, .theorem = THEOREM, .open = taylor_enclose_open, .rows = taylor_enclose_rows,    \
    .close = taylor_enclose_close, .sensitivity = taylor_sensitivity,                              \
    .rows_dd = taylor_enclose_dd, .ball = taylor_ball, .linear_zero = taylor_linear_zero,          \
    .backward_explicit = taylor_backward_explicit, .kernel = taylor_kernel,                        \
    .machine = taylor_machine                                                                      \
  }

const problem_room taylor_room = ROOM("taylor", "taylor_radius");
const problem_room linear_room = ROOM("linear", "taylor_radius");
