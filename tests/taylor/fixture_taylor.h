/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Problems of the kernels taylor and linear for tests: seeded data of many kinds, every parameter.
 */
#ifndef ATTEST_TESTS_TAYLOR_FIXTURE_TAYLOR_H
#define ATTEST_TESTS_TAYLOR_FIXTURE_TAYLOR_H

#include "../../src/taylor/taylor.h"
#include "../tests.h"

typedef enum {
  TERMS_UNIT,     /* rows of about unit norm: scores below 1 */
  TERMS_GAUSSIAN, /* scores of some units */
  TERMS_STEEP,    /* scores of hundreds */
  TERMS_ROOT,     /* scores near -1.6 and -1: odd degrees nearly cancel */
  TERMS_BALANCED, /* keys in pairs of opposite sign: sums of odd weights nearly vanish */
  TERMS_TINY,     /* float32 subnormals */
  TERMS_HUGE,     /* values near the largest float32 */
  TERMS_EXTREME,  /* float64 magnitudes over hundreds of binades */
  TERMS_KINDS
} taylor_terms_kind;

typedef struct {
  const char *kernel;
  int64_t heads_q, heads_k, nq, nk, d, dv;
  attest_dtype dtype;
  taylor_terms_kind terms;
  const char *params[24]; /* name, value, ..., NULL */
  int mask, initial;
} taylor_spec;

typedef struct {
  attest_problem *problem;
  void *memory[6];
} taylor_fixture;

void taylor_fixture_open(taylor_fixture *f, const taylor_spec *spec, uint64_t *seed);
void taylor_fixture_close(taylor_fixture *f);
void taylor_fixture_draw(taylor_spec *spec, uint64_t *seed);
/* One sequence of given doubles: q (nq, d), k (nk, d), v (nk, dv); params as above. */
attest_problem *taylor_problem_of(const char *kernel, const char *const params[], double *q,
                                  double *k, double *v, int64_t nq, int64_t nk, int64_t d,
                                  int64_t dv);

/* Memory of one block of rows for taylor_enclose_rows. */
typedef struct {
  room_block block;
  double *numbers;
  unsigned char *classes;
} taylor_cells;
void taylor_cells_open(taylor_cells *b, const attest_problem *problem);
void taylor_cells_close(taylor_cells *b);

#endif
