/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rotary phases as models compute them, beside the exact ones (rotary.h), by binade of the
 * position.
 *
 * A model rounds the frequency theta_m to a format, multiplies it by the position in float32 (or
 * double) and takes cos and sin. With r the relative roundoff of the frequency and u that of the
 * product, the phase p theta is off by at most p theta (r + u + r u), and so are cos and sin, which
 * never differ by more than 2; the last rounding of cos and sin to the format is left out. Since
 * theta_0 = 1 is exact in every format and theta_m < 1 otherwise, the largest errors belong to
 * pairs whose frequency is rounded. */
#include <math.h>

#include "../enclosure/interval.h"
#include "../problem/pairing.h"
#include "../problem/rotary.h"
#include "statements.h"

enum { COMPONENTS = 128, POSITION_BITS = 20, SAMPLES = 256, PREC = 128, PHASE_PREC = 96 };

typedef struct {
  const char *name;
  attest_dtype frequency, product;
} phase_format;

static const phase_format formats[] = {{"float32", ATTEST_FLOAT32, ATTEST_FLOAT32},
                                       {"bfloat16-frequencies", ATTEST_BFLOAT16, ATTEST_FLOAT32},
                                       {"float64", ATTEST_FLOAT64, ATTEST_FLOAT64}};

/* x rounded to nearest, ties to even. */
static double rounded(const arb_t x, attest_dtype dtype) {
  double y = NAN;
  enclosure_round(&y, x, tensor_dtype_format(dtype));
  return y;
}

static double unit(attest_dtype dtype) {
  return measure_unit_roundoff(tensor_dtype_format(dtype));
}

/* An upper bound of |cos phase - c| and |sin phase - s|, phase a double; w: three balls. */
static double phase_error(arb_ptr w, double phase, const double c[2], const double s[2]) {
  double worst = 0;
  arb_set_d(w, phase);
  arb_sin_cos(w + 1, w + 2, w, PHASE_PREC);
  for (int i = 0; i < 2; i++) {
    const double *exact = i ? c : s;
    for (int part = 0; part < 2; part++) {
      arb_set_d(w, exact[part]);
      arb_sub(w + 1 + i, w + 1 + i, w, PHASE_PREC);
    }
    worst = fmax(worst, fmax(fabs(enclosure_upper(w + 1 + i)), fabs(enclosure_lower(w + 1 + i))));
  }
  return enclosure_add_up(worst, ROTARY_ERROR);
}

/* position frequency rounded to the product's format: in double the product of a float32 frequency
 * (or a shorter one) and a position below 2^21 is exact. */
static double product_of(double frequency, int64_t position, const phase_format *format) {
  double product = frequency * (double)position;
  return format->product == ATTEST_FLOAT32 ? (double)(float)product : product;
}

/* frequency[m] as the model holds it. */
static void fill_frequencies(double *frequency, const problem_values *values,
                             const phase_format *format) {
  arb_t theta;
  arb_init(theta);
  for (int64_t m = 0; m < COMPONENTS / 2; m++) {
    problem_rotary_angle(theta, values, COMPONENTS, m, PREC);
    frequency[m] = rounded(theta, format->frequency);
  }
  arb_clear(theta);
}

/* Positions of a binade that are looked at: all, or SAMPLES of them, evenly spread, both ends among
 * them. */
static int64_t sample_count(int64_t first) {
  return first < SAMPLES ? first : SAMPLES;
}

/* The largest error over sampled positions of a binade and all pairs, and the largest bound. */
static int decide_binade(double *worst, double *bound, const problem_rotary *rotary,
                         const double *frequency, const phase_format *format, int64_t first) {
  double r = unit(format->frequency), u = unit(format->product);
  int holds = 1;
  int64_t count = sample_count(first);
  arb_ptr scratch = _arb_vec_init(3);
  *worst = *bound = 0;
  for (int64_t n = 0; n < count; n++) {
    int64_t position = first + (count > 1 ? (first - 1) * n / (count - 1) : 0);
    for (int64_t m = 0; m < COMPONENTS / 2; m++) {
      double c[2], s[2];
      problem_rotary_phase(c, s, rotary, position, m);
      double e = phase_error(scratch, product_of(frequency[m], position, format), c, s);
      /* frequency (1 + 2 r) is above theta. */
      double theta = frequency[m] * (1 + 2 * r);
      double b = fmin(2, (double)position * theta * (r + u + r * u) * (1 + 0x1p-40) + ROTARY_ERROR);
      holds &= e <= b + 0x1p-96;
      *worst = fmax(*worst, e);
      *bound = fmax(*bound, b);
    }
  }
  _arb_vec_clear(scratch, 3);
  return holds;
}

static attest_status decide_format(statement_findings *into, const problem_statement *statement,
                                   const problem_values *values, const problem_rotary *rotary,
                                   const phase_format *format, attest_error *error) {
  double frequency[COMPONENTS / 2], worst, bound;
  attest_status status = ATTEST_OK;
  fill_frequencies(frequency, values, format);
  for (int bits = 0; bits < POSITION_BITS && !status; bits++) {
    int64_t first = INT64_C(1) << bits;
    int holds = decide_binade(&worst, &bound, rotary, frequency, format, first);
    status = statement_add(into, statement, holds ? ATTEST_CERTIFIED : ATTEST_REFUTED, error,
                           "phases=%s base=10000 d=%d positions=%lld..%lld sampled=%lld "
                           "largest=%.3g bound=%.3g",
                           format->name, COMPONENTS, (long long)first, (long long)(2 * first - 1),
                           (long long)sample_count(first), worst, bound);
  }
  return status;
}

attest_status toeplitz_phases(statement_findings *into, const problem_statement *statement,
                              const char *data, attest_error *error) {
  problem_rotary *rotary;
  (void)data;
  attest_problem *problem = attest_problem_new("rope-softmax", error);
  if (!problem) return error->status;
  attest_status status = problem_rotary_open(&rotary, &problem->values, COMPONENTS,
                                             INT64_C(1) << POSITION_BITS, error);
  for (size_t f = 0; f < sizeof formats / sizeof *formats && !status; f++)
    status = decide_format(into, statement, &problem->values, rotary, &formats[f], error);
  problem_rotary_close(rotary);
  attest_problem_free(problem);
  return status;
}
