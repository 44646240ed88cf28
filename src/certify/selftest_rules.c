/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rules that test suites of attention kernels use, applied as they do: against the output of a
 * float64 kernel, NaN being a fault. */
#include <math.h>

#include "selftest.h"

const char *const selftest_rule_names[SELFTEST_RULES] = {
    "allclose-1e-3", "allclose-1e-5", "twice-the-baseline",
    "nmse-5e-4",     "abs-0.3",       "rms-ratio-0.005"};

static int close_to(const double *got, const double *reference, int64_t n, double tolerance) {
  for (int64_t i = 0; i < n; i++) {
    if (got[i] == reference[i] || (isnan(got[i]) && isnan(reference[i]))) continue;
    if (!(fabs(got[i] - reference[i]) <= tolerance + tolerance * fabs(reference[i]))) return 0;
  }
  return 1;
}

/* NaN where one of the two is NaN and the other is not. */
static double distance(double a, double b) {
  return a == b || (isnan(a) && isnan(b)) ? 0 : fabs(a - b);
}

typedef struct {
  double most, squares, size; /* the largest distance, sums of squares */
} summary;

static summary summarise(const double *got, const double *reference, int64_t n) {
  summary s = {0, 0, 0};
  for (int64_t i = 0; i < n; i++) {
    double d = distance(got[i], reference[i]);
    if (!(d <= s.most) && !isnan(s.most)) s.most = d;
    s.squares += d * d;
    if (isfinite(reference[i])) s.size += reference[i] * reference[i];
  }
  return s;
}

unsigned selftest_rules(const double *got, const double *reference, const double *baseline,
                        int64_t n) {
  summary s = summarise(got, reference, n), sound = summarise(baseline, reference, n);
  int holds[SELFTEST_RULES] = {close_to(got, reference, n, 1e-3),
                               close_to(got, reference, n, 1e-5),
                               s.most <= 2 * sound.most,
                               s.squares <= 5e-4 * s.size,
                               s.most <= 0.3,
                               s.squares <= 0.005 * 0.005 * s.size};
  unsigned faults = 0;
  for (int rule = 0; rule < SELFTEST_RULES; rule++)
    if (!holds[rule]) faults |= 1u << rule;
  return faults;
}
