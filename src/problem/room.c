/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "room.h"

#include <stdlib.h>

unsigned room_want(int output) {
  return output == OUTPUT_OUT ? WANT_OUT : output == OUTPUT_FINAL_STATE ? WANT_STATE : WANT_LSE;
}

void room_balls_init(room_balls *balls, int64_t width) {
  balls->width = width;
  balls->edge = 0;
  balls->selection = NULL;
  balls->selected = 0;
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

void room_choice_clear(room_choice *choice) {
  free(choice->fixed);
  *choice = (room_choice){0};
}
