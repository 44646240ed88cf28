/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The threshold of entmax in double: no better than a good guess, which its users certify. */
#include "line.h"

#include <math.h>

static double power_of(double y, double r) {
  return r == 1 ? y : r == 2 ? y * y : pow(y, r);
}

/* F^(1/r) with F = sum [u - g]_+^r is a norm of the positive parts, increasing in u with slope at
 * least 1 and, for r >= 1, convex: Newton from u = 1 falls to the root and meets it in a few steps.
 */
static double newton(const double *gap, int64_t n, double r) {
  double u = 1;
  for (int step = 0; step < 100; step++) {
    double total = 0, slope = 0;
    for (int64_t j = 0; j < n; j++) {
      double y = u - gap[j];
      if (!(y > 0)) continue;
      double power = power_of(y, r);
      total += power;
      slope += r == 1 ? 1 : power / y;
    }
    double norm = r == 1 ? total : pow(total, 1 / r);
    double next = u - (norm - 1) * total / (norm * slope);
    if (!(next < u && next > 0)) break;
    int done = u - next <= 0x1p-52 * u;
    u = next;
    if (done) break;
  }
  return u;
}

/* For r < 1, where slopes are infinite. */
static double bisect(const double *gap, int64_t n, double r) {
  double lo = 0, hi = 1;
  for (int step = 0; step < 200 && hi > 1e-300; step++) {
    double middle = lo > 0 ? (hi > 4 * lo ? sqrt(lo * hi) : lo + (hi - lo) / 2) : hi * 0x1p-8;
    if (!(middle > lo && middle < hi)) break;
    double total = 0;
    for (int64_t j = 0; j < n; j++)
      if (gap[j] < middle) total += pow(middle - gap[j], r);
    *(total < 1 ? &lo : &hi) = middle;
  }
  return hi;
}

double sparse_threshold(const double *gap, int64_t n, double r) {
  return r >= 1 ? newton(gap, n, r) : bisect(gap, n, r);
}
