/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Every tests/<room>/test_<name>.c defines one function `void test_<name>(Suite *suite)` that adds
 * its test cases; the runner finds them by file name. */
#ifndef ATTEST_TESTS_H
#define ATTEST_TESTS_H

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The seed of all random tests: ATTEST_SEED in the environment, else 1; printed by the runner. */
uint64_t tests_seed(void);

/* How many of n trials a long test runs: all of them, or the share ATTEST_TRIALS (0.05) where each
 * takes many times as long: under valgrind and sanitizers. */
int64_t tests_trials(int64_t n);

/* splitmix64: small, seedable, the same everywhere. */
static inline uint64_t tests_random(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
/* Uniform in [0, 1). */
static inline double tests_uniform(uint64_t *state) {
  return (double)(tests_random(state) >> 11) * 0x1p-53;
}

#endif
