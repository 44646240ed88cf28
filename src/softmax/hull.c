/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* However scores move, normalised weights make a mean of the values: what lies beyond all of them
 * takes moved values or quanta. */
#include <float.h>
#include <math.h>

#include "row.h"

/* Shrinks a bound by more than it takes to round it. */
#define BELOW (1 - 0x1p-48)

/* The size at which a value that is `far` off meets got, from below. */
static double size_of(double far, double v, double u_w, double quantum) {
  if (!(far > 0)) return 0;
  double unit = (u_w * fabs(v) + quantum) / BELOW;
  if (v != 0 || quantum > 0) unit += 0x1p-1073; /* what rounds among subnormals, or to 0 */
  return unit > 0 ? fmin(far * BELOW / unit, DBL_MAX) : INFINITY;
}

double softmax_beyond_values(const problem_slice *slice, const softmax_keys *keys,
                             int64_t component, double got, double u_w, double quantum) {
  double above = INFINITY, below = INFINITY; /* least sizes from which got is not beyond */
  for (int64_t n = slice->has_sink ? -1 : 0; n < keys->count; n++) {
    double v = n < 0 ? 0 : softmax_element(&slice->v, keys->key[n], component);
    above = fmin(above, size_of(fmin(got - v, DBL_MAX), v, u_w, quantum));
    below = fmin(below, size_of(fmin(v - got, DBL_MAX), v, u_w, quantum));
  }
  return fmax(above, below);
}
