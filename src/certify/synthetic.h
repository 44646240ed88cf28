/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The synthetic cases of the suite, in one table (synthetic.c). */
#ifndef ATTEST_CERTIFY_SYNTHETIC_H
#define ATTEST_CERTIFY_SYNTHETIC_H

#include "certify.h"

/* How q, k, v are filled. */
typedef enum {
  FILL_NORMAL,     /* sums of uniform numbers: about unit normal */
  FILL_TIES,       /* all keys are the same: every weight is 1/n */
  FILL_DOMINANT,   /* one key far above the others */
  FILL_STEEP,      /* scores up to +-1e4 */
  FILL_DENORMAL,   /* values among the subnormals of float32 */
  FILL_HUGE,       /* values near the largest float32 */
  FILL_CANCEL,     /* values +-c on pairs of equal keys: exact zeros and near ones */
  FILL_DUPLICATES, /* every key three times with different values */
  FILL_OPPOSITE,   /* keys in pairs of nearly opposite sign: sums of odd weights nearly cancel */
  FILL_VANISHING,  /* the same with exactly opposite ones: under degree 1 or identity features */
  FILL_UNIT,       /* queries and keys of unit norm */
  FILL_LOW,        /* all scores far below zero */
  FILL_RISING,     /* scores that grow along the keys */
  FILL_GIANT       /* scores around 1e9: one key has all the weight */
} synthetic_fill;

enum {
  WITH_BIAS = 1,
  WITH_MASK = 2, /* row 1 sees nothing */
  WITH_SLOPES = 4,
  WITH_SINKS = 8,
  WITH_LENGTHS = 16,       /* packed: three sequences, one of them empty */
  WITH_STATE = 32,         /* an initial state */
  WITH_WEIGHTS = 64,       /* weights of toeplitz, every third element zero */
  WITH_HIDDEN_NAN = 128,   /* the last keys, which no row may see, are NaN */
  WITH_SEEN_NAN = 256,     /* one element of v is NaN */
  WITH_PADDING = 512,      /* a mask that leaves all keys but the last four */
  WITH_COEFFICIENTS = 1024 /* 1, 1, 1/2, 1/6 .. in float32 */
};

typedef struct {
  const char *kernel, *name;
  synthetic_fill fill;
  int64_t heads_q, heads_k, nq, nk, d, dv;
  const char *params; /* "causal=top-left window=3,0" */
  unsigned with;
} synthetic_case;

extern const size_t synthetic_count;
const char *synthetic_name(size_t i);
/* A bound on out beside those of all cases; NULL: none. */
const char *synthetic_bound(size_t i, attest_dtype dtype);
/* Divides rows by the root of the sum of their squares, which is taken in order, in double: the
 * same numbers on every machine. Rows of zeros stay. */
void synthetic_unit_rows(float *x, int64_t rows, int64_t width);
/* Sets "name=value name=value". */
attest_status synthetic_params(attest_problem *problem, const char *params, attest_error *error);
/* A resolved problem without outputs; its tensors live in *storage, which is to be freed after it.
 * The same case and seed give the same bits on every machine. */
attest_status synthetic_build(attest_problem **problem, void **storage, const synthetic_case *c,
                              uint64_t seed, attest_error *error);
/* Case i of the table. */
attest_status synthetic_problem(attest_problem **problem, void **storage, size_t i,
                                attest_error *error);

#endif
