/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fixture_contains.h"

#include <math.h>

double containment_position(const arb_t x, double hi, double lo, double radius) {
  arb_t distance, low;
  arb_init(distance);
  arb_init(low);
  arb_set_d(distance, hi);
  arb_set_d(low, lo);
  arb_add(distance, distance, low, ARF_PREC_EXACT);
  arb_sub(distance, x, distance, 300);
  double error = fmax(fabs(enclosure_upper(distance)), fabs(enclosure_lower(distance)));
  arb_clear(distance);
  arb_clear(low);
  return error == 0 ? 0 : error / radius;
}

void containment_check(containment *seen, const char *what, const arb_t x, double hi, double lo,
                       double radius) {
  seen->elements++;
  if (radius == INFINITY) {
    seen->unknown++;
    return;
  }
  double p = containment_position(x, hi, lo, radius);
  ck_assert_msg(p <= 1, "%s: error / radius = %g (radius %g, value %a)", what, p, radius, hi);
  seen->worst = fmax(seen->worst, p);
}

void containment_between(const char *what, const arb_t x, double lo, double hi) {
  ck_assert_msg(enclosure_upper(x) >= lo && enclosure_lower(x) <= hi,
                "%s outside [%a, %a]: %a .. %a", what, lo, hi, enclosure_lower(x),
                enclosure_upper(x));
}

double containment_climb(double *x, int n, containment_quality *quality, const void *context,
                         uint64_t *seed) {
  double best = quality(x, context);
  for (int step = 0; step < 300; step++) {
    int i = (int)(tests_random(seed) % (uint64_t)n);
    double before = x[i];
    x[i] *= 1 + ldexp(tests_uniform(seed) - 0.5, -(int)(tests_random(seed) % 50));
    double reached = quality(x, context);
    if (reached >= best)
      best = reached;
    else
      x[i] = before;
  }
  return best;
}
