/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One row of softmax attention: which keys carry weight, and their scores as balls. Internal to the
 * softmax room. */
#ifndef ATTEST_SOFTMAX_ROW_H
#define ATTEST_SOFTMAX_ROW_H

#include "softmax.h"

/* What the elements of q, k and bias make of a score. Under `nonfinite error` every visible score
 * is SCORE_FINITE; under `ieee` it is taken in the extended reals. */
typedef enum {
  SCORE_FINITE,
  SCORE_CAP_PLUS,  /* scale q.k = +infinity under a softcap c: exactly +c, a finite score */
  SCORE_CAP_MINUS, /* the same for -infinity: -c */
  SCORE_NAN,
  SCORE_PLUS_INF,
  SCORE_MINUS_INF
} softmax_score_kind;
softmax_score_kind softmax_score_classify(const attest_problem *problem, const problem_slice *slice,
                                          int64_t row, int64_t j);

/* The keys that carry weight in a row: visible, with a finite score. */
typedef struct {
  int64_t count;
  int64_t *key;
  unsigned char *kind; /* softmax_score_kind of each: the first three only */
} softmax_keys;
attest_status softmax_keys_init(softmax_keys *keys, const attest_problem *problem,
                                const problem_slice *slice, int64_t row, attest_error *error);
void softmax_keys_clear(softmax_keys *keys);

/* Element (row, component) of a two-dimensional view. */
static inline double softmax_element(const attest_tensor *t, int64_t row, int64_t column) {
  return tensor_at(t, row * t->stride[0] + column * t->stride[1]);
}

/* A lower bound of the backward error of an element of out whose weights are normalised and never
 * negative: the least B with got, to within B quanta, among the means of values that move by at
 * most B u_w |v|. (hull.c) */
double softmax_beyond_values(const problem_slice *slice, const softmax_keys *keys,
                             int64_t component, double got, double u_w, double quantum);

/* What the scores of a slice have in common, at one working precision. */
typedef struct {
  const attest_problem *problem;
  const problem_slice *slice;
  slong prec;
  arb_t scale, softcap, temperature;
  arb_t z, u, v; /* scratch of softmax_terms_score */
} softmax_terms;
void softmax_terms_init(softmax_terms *terms, const attest_problem *problem,
                        const problem_slice *slice, slong prec);
void softmax_terms_clear(softmax_terms *terms);
/* score(row, j) from dot = q.k and, unless t is NULL, t_j from abs_dot = |q|.|k|. `score` may be
 * `dot`, `t` may be `abs_dot`. */
void softmax_terms_score(arb_t score, arb_t t, softmax_terms *terms, const arb_t dot,
                         const arb_t abs_dot, softmax_score_kind kind, int64_t row, int64_t j);
/* The score of the sink and, unless NULL, its t. */
void softmax_terms_sink(arb_t score, arb_t t, const softmax_terms *terms);

/* Bits to add to the working precision so that scores whose terms have the given magnitudes are
 * known to an absolute 2^-prec: the exponent of the largest t_j, never negative, capped. q_max and
 * k_max are the largest |q_a| and |k_ja|, rest the largest |bias|, |slope (j - i')| or |sink|. */
slong softmax_score_bits(const attest_problem *problem, const problem_slice *slice, double q_max,
                         double k_max, double rest);
/* Bits beyond those, so that rounding errors in the terms of a score do not show in its weight. */
#define SOFTMAX_SCORE_GUARD 16
/* Largest |bias| + |slope (j - i')| of one key, for `rest`. */
double softmax_score_offset_size(const problem_slice *slice, int64_t row, int64_t j);

/* bias + slope (j - i') and |bias| + |slope (j - i')| of one key, exactly; either NULL. */
void softmax_score_offset(arf_t offset, arf_t size, const problem_slice *slice, int64_t row,
                          int64_t j);

/* All scores of a row, the sink last: keys.count + (sink) of them. t is NULL when not wanted. */
typedef struct {
  softmax_keys keys;
  int64_t count;    /* keys and sink */
  slong prec;       /* of weights and everything after them: as asked for */
  slong score_prec; /* of scores and t: raised by their size */
  arb_ptr score, t;
} softmax_row;
attest_status softmax_row_init(softmax_row *r, const attest_problem *problem,
                               const problem_slice *slice, int64_t row, int with_t, slong prec,
                               attest_error *error);
void softmax_row_clear(softmax_row *r);
/* Turns the scores into weights exp(score - max), max being one of the scores, and gives their sum.
 * `max` is the exact midpoint that was subtracted. */
void softmax_row_weights(softmax_row *r, arb_t sum, arb_t max);

/* Keys are visited in blocks of this many, so that values as balls never fill memory. */
#define SOFTMAX_BALL_BLOCK 256

/* Loads values of keys first .. first + n - 1 of the row's list as exact balls, n x dv row major.
 * Components that the edge policy has settled (class not EXACT_FINITE) are loaded as 0. */
void softmax_row_values(arb_ptr values, double *buffer, const softmax_row *r,
                        const problem_slice *slice, const unsigned char *class, int64_t first,
                        int64_t n);

/* The complaint for a row without keys under `empty-row error`. */
attest_status softmax_empty_row_trouble(const problem_slice *slice, int64_t row,
                                        attest_error *error);

#endif
