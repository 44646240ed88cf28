/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Problems of softmax, or of a kernel like it, for tests: seeded data of many kinds, with every
 * feature. */
#ifndef ATTEST_TESTS_SOFTMAX_FIXTURE_H
#define ATTEST_TESTS_SOFTMAX_FIXTURE_H

#include "../../src/problem/problem.h"
#include "../tests.h"

typedef enum {
  DATA_GAUSSIAN,
  DATA_TIES,        /* few distinct keys */
  DATA_DOMINANT,    /* one key far above the others */
  DATA_HUGE_SCORES, /* scores of +-1e4 */
  DATA_DENORMAL,
  DATA_HUGE_VALUES,
  DATA_CANCELLING, /* values that nearly cancel */
  DATA_DUPLICATE,  /* every key twice */
  DATA_GROWING,    /* scores grow along the keys: the shift moves often */
  DATA_EXTREME,    /* float64 magnitudes from 1e-200 to 1e100 */
  DATA_KINDS
} fixture_data;

typedef struct {
  int64_t heads_q, heads_k, nq, nk, d, dv;
  attest_dtype dtype;
  fixture_data data;
  const char *params[24]; /* name, value, ..., NULL */
  int bias, mask, slopes, sinks;
  const char *kernel; /* NULL: softmax */
} fixture_spec;

typedef struct {
  attest_problem *problem;
  void *memory[8];
} fixture;

/* Fails the test when the problem cannot be built. */
void fixture_open(fixture *f, const fixture_spec *spec, uint64_t *seed);
void fixture_close(fixture *f);
/* A specification drawn at random: sizes, data, features; float32 unless `extreme`. */
void fixture_draw(fixture_spec *spec, uint64_t *seed);

#endif
