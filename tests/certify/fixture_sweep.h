/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Sweeps of C functions, and the same figures by brute force with MPFR. */
#ifndef ATTEST_TESTS_CERTIFY_FIXTURE_SWEEP_H
#define ATTEST_TESTS_CERTIFY_FIXTURE_SWEEP_H

#include "../../src/certify/sweep_engine.h"
#include "../tests.h"

typedef float sweep_fake(float x);

/* exp by way of double: all but correctly rounded. */
sweep_fake sweep_nearest_exp;

/* Sweeps `f` (NULL: the suite's own kernel) as the function `name` over the keys of from .. to, in
 * this process. clear() the result. */
void sweep_fixture_run(sweep_result *result, const char *name, sweep_fake *f, float from, float to,
                       const char *bound);
/* The same against a row that is not in the table. */
void sweep_fixture_run_on(sweep_result *result, const sweep_reference *reference, sweep_fake *f,
                          float from, float to, const char *bound);

/* The same counts by MPFR, input by input. */
typedef struct {
  uint64_t bins[SWEEP_BINS], misrounded;
  uint32_t key;   /* of the first of the largest errors */
  mpfr_t largest; /* in ulp */
} sweep_brute;
void sweep_brute_run(sweep_brute *b, int (*exact)(mpfr_t, const mpfr_t, mpfr_rnd_t), sweep_fake *f,
                     float from, float to);

#endif
