/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Oracles beside Arb for a row of out: MPFR and rationals of GMP, both straight from the
 * definitions, sharing nothing with the rooms but which keys are visible. And problems of every
 * kernel to ask them about. */
#ifndef ATTEST_TESTS_CERTIFY_FIXTURE_ORACLE_H
#define ATTEST_TESTS_CERTIFY_FIXTURE_ORACLE_H

#include <gmp.h>
#include <mpfr.h>

#include "../../src/certify/certify.h"
#include "../softmax/fixture.h"
#include "../taylor/fixture_taylor.h"
#include "../tests.h"
#include "../toeplitz/fixture_positions.h"

/* The visible keys of a row. */
typedef struct {
  const attest_problem *problem;
  const problem_slice *slice;
  int64_t row, at; /* at: the query's position among the keys */
  int64_t *key, count;
} oracle_row;

void oracle_row_open(oracle_row *row, const attest_problem *problem, const problem_slice *slice,
                     int64_t at);
void oracle_row_close(oracle_row *row);
double oracle_element(const attest_tensor *t, int64_t row, int64_t column);
int oracle_is(const oracle_row *row, const char *kernel);

/* x[0 .. dv-1] become enclosures of the exact row: 1, or 0 where the oracle has no answer (rows
 * without weight, initial states; for rationals whatever is irrational). MPFR's ball is what 640
 * bits are off by at most, generously. */
int oracle_mpfr(arb_ptr x, const oracle_row *row);
int oracle_rational(arb_ptr x, const oracle_row *row);

/* ---- problems ---- */

typedef struct {
  attest_problem *problem;
  fixture scores;
  taylor_fixture sums;
  positions places;
} oracle_case;

/* A problem of the kernel drawn at random, with all that the kernel takes; `small`: a few keys in
 * float64, to be searched for bad inputs. */
void oracle_case_open(oracle_case *c, const char *kernel, int small, uint64_t *seed);
void oracle_case_close(oracle_case *c);

#endif
