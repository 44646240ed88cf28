/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rows at the edge: no visible key, and elements that are not finite. */
#include "row.h"

#include <math.h>
#include <string.h>

/* ---- scores in the extended reals ---------------------------------------------------------------
 */

/* q.k when one of the elements is not finite: NaN or an infinity; 0 stands for any finite value. */
static double dot_limit(const problem_slice *slice, int64_t row, int64_t j) {
  double limit = 0;
  for (int64_t a = 0; a < slice->d; a++) {
    double q = softmax_element(&slice->q, row, a), k = softmax_element(&slice->k, j, a);
    if (isfinite(q) && isfinite(k)) continue; /* the product is a real number, however large */
    double sign = q * k;                      /* infinite or NaN */
    limit = limit == 0 ? sign : limit + sign;
  }
  return limit;
}

softmax_score_kind softmax_score_classify(const attest_problem *problem, const problem_slice *slice,
                                          int64_t row, int64_t j) {
  const problem_values *values = &problem->values;
  double z = dot_limit(slice, row, j);
  if (z != 0) z *= values->scale.sign; /* 0 times infinity is NaN */
  double bias = slice->bias.data ? softmax_element(&slice->bias, row, j) : 0;
  if (values->has_softcap && isinf(z) && isfinite(bias))
    return z > 0 ? SCORE_CAP_PLUS : SCORE_CAP_MINUS;
  if (values->has_softcap && isinf(z)) z = 0;
  double score = (isfinite(z) ? 0 : z) + (isfinite(bias) ? 0 : bias);
  if (isnan(score)) return SCORE_NAN;
  if (score == 0) return SCORE_FINITE;
  return score > 0 ? SCORE_PLUS_INF : SCORE_MINUS_INF;
}

/* ---- one row
 * --------------------------------------------------------------------------------------- */

typedef struct {
  int64_t visible, finite, capped; /* capped keys are among the finite */
  int has_nan, has_plus;           /* some score is NaN, +infinity */
} row_census;

static int any_visible(const attest_problem *problem, const problem_slice *slice, int64_t row) {
  int64_t lo, hi;
  problem_visible_range(&lo, &hi, problem, slice, row);
  for (int64_t j = lo; j < hi; j++)
    if (problem_visible(problem, slice, row, j)) return 1;
  return 0;
}

/* Adds the v of one visible key to what the components can be: NaN for 0 * infinity where the
 * weight is zero, else the infinity itself. A sum of classes is a sum of limits. */
static void join_values(unsigned char *class, const problem_slice *slice, int64_t j,
                        int weightless) {
  for (int64_t c = 0; c < slice->dv; c++) {
    double v = softmax_element(&slice->v, j, c);
    if (isfinite(v)) continue;
    unsigned char joined = isnan(v) || weightless ? EXACT_NAN
                           : v > 0                ? EXACT_PLUS_INF
                                                  : EXACT_MINUS_INF;
    class[c] = class[c] == EXACT_FINITE || class[c] == joined ? joined : EXACT_NAN;
  }
}

/* Counts the keys of a row and, for out, joins the classes of the components. */
static row_census census(unsigned char *class, const attest_problem *problem,
                         const problem_slice *slice, int64_t row, int output) {
  row_census n = {0};
  int64_t lo, hi;
  problem_visible_range(&lo, &hi, problem, slice, row);
  for (int64_t j = lo; j < hi; j++) {
    if (!problem_visible(problem, slice, row, j)) continue;
    softmax_score_kind kind = softmax_score_classify(problem, slice, row, j);
    n.visible++;
    n.finite += kind <= SCORE_CAP_MINUS;
    n.capped += kind == SCORE_CAP_PLUS || kind == SCORE_CAP_MINUS;
    n.has_nan |= kind == SCORE_NAN;
    n.has_plus |= kind == SCORE_PLUS_INF;
    if (output == OUTPUT_OUT) join_values(class, slice, j, kind == SCORE_MINUS_INF);
  }
  return n;
}

static int64_t width_of(const problem_slice *slice, int output) {
  return output == OUTPUT_OUT ? slice->dv : 1;
}

static int whole_row(unsigned char *class, const problem_slice *slice, int output,
                     measure_class what) {
  memset(class, what, (size_t)width_of(slice, output));
  return 0;
}

/* Only the sink carries weight: out is 0, lse the score of the sink. */
static int sink_alone(double *value, const attest_problem *problem, const problem_slice *slice,
                      int output) {
  if (output == OUTPUT_OUT) return 0;
  problem_real one;
  problem_real_init(&one);
  problem_real_set_si(&one, 1);
  int exact =
      problem->values.lse_base == 0 && problem_real_equal(&problem->values.temperature, &one);
  problem_real_clear(&one);
  if (exact || slice->sink == 0) {
    value[0] = slice->sink;
    return 0;
  }
  return 2;
}

static int empty_row(unsigned char *class, double *value, const attest_problem *problem,
                     const problem_slice *slice, int output) {
  if (slice->has_sink) return sink_alone(value, problem, slice, output);
  if (problem->values.empty_row == EMPTY_ERROR) return -1;
  if (problem->values.empty_row == EMPTY_NAN) return whole_row(class, slice, output, EXACT_NAN);
  return whole_row(class, slice, output, output == OUTPUT_OUT ? EXACT_FINITE : EXACT_MINUS_INF);
}

/* `nonfinite ieee`: see softmax.h. */
static int ieee_row(unsigned char *class, double *value, const attest_problem *problem,
                    const problem_slice *slice, int64_t row, int output) {
  int is_out = output == OUTPUT_OUT;
  row_census n = census(class, problem, slice, row, output);
  if (n.visible == 0) return empty_row(class, value, problem, slice, output);
  if (n.has_nan) return whole_row(class, slice, output, EXACT_NAN);
  if (n.has_plus) return whole_row(class, slice, output, is_out ? EXACT_NAN : EXACT_PLUS_INF);
  if (n.finite == 0 && !slice->has_sink)
    return whole_row(class, slice, output, is_out ? EXACT_NAN : EXACT_MINUS_INF);
  if (n.finite == 0) return sink_alone(value, problem, slice, output);
  int64_t prescribed = 0, width = width_of(slice, output);
  for (int64_t c = 0; c < width; c++)
    prescribed += class[c] != EXACT_FINITE;
  if (prescribed == width && width > 0) return 0;
  return prescribed == 0 && n.capped == 0 && n.finite == n.visible ? 1 : 2;
}

int softmax_special_row(unsigned char *class, double *value, const attest_problem *problem,
                        const problem_slice *slice, int64_t row, int output) {
  int64_t width = width_of(slice, output);
  whole_row(class, slice, output, EXACT_FINITE);
  for (int64_t c = 0; c < width; c++)
    value[c] = 0;
  if (problem->values.nonfinite == NONFINITE_IEEE)
    return ieee_row(class, value, problem, slice, row, output);
  return any_visible(problem, slice, row) ? 1 : empty_row(class, value, problem, slice, output);
}
