/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Random problems of every sparse kernel, and single rows. */
#ifndef ATTEST_TESTS_SPARSE_FIXTURE_H
#define ATTEST_TESTS_SPARSE_FIXTURE_H

#include "../softmax/fixture.h"

/* A specification of kernel number `kernel` (of sparse_rooms), sizes and data at random. */
void fixture_draw_sparse(fixture_spec *spec, int kernel, uint64_t *seed);

/* One row of given scores: q = (1), k = the scores, scale 1. v is the identity when dv = n, so that
 * out is the row of weights; else ones in column 0 and pseudo-random numbers in the others. */
typedef struct {
  attest_problem *problem;
  float *q, *k, *v, *out;
  int64_t n, dv;
} fixture_row;
/* params: name, value, .., NULL; or NULL. */
void fixture_row_open(fixture_row *row, const char *kernel, const char *const params[],
                      const float *scores, int64_t n, int64_t dv);
void fixture_row_close(fixture_row *row);
/* The verdict on what the problem was given, row->out among it, under a bound; backward<=16. */
attest_verdict fixture_row_judge_by(const fixture_row *row, const char *bound);
attest_verdict fixture_row_judge(const fixture_row *row);

#endif
