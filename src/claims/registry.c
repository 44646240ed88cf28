/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The one place that knows which rooms add functions to the language. */
#include <string.h>

#include "../positivity/positivity.h"
#include "../sparse/functions.h"
#include "../toeplitz/functions.h"
#include "expression.h"

static const room_functions *const rooms[] = {&expression_functions, &positivity_functions,
                                              &toeplitz_functions, &sparse_functions};

const room_functions *expression_room(size_t i) {
  return i < sizeof rooms / sizeof *rooms ? rooms[i] : NULL;
}

const room_function *expression_function(const char *name, size_t length) {
  const room_functions *room;
  for (size_t i = 0; (room = expression_room(i)); i++)
    for (size_t j = 0; j < room->count; j++)
      if (strlen(room->functions[j].name) == length &&
          !memcmp(room->functions[j].name, name, length))
        return &room->functions[j];
  return NULL;
}
