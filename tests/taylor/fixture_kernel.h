/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Problems for the kernels of the Taylor room, and their outputs against the plain sums in balls.
 */
#ifndef ATTEST_TESTS_TAYLOR_FIXTURE_KERNEL_H
#define ATTEST_TESTS_TAYLOR_FIXTURE_KERNEL_H

#include "../../src/taylor/kernel.h"
#include "../tests.h"

typedef struct {
  const char *kernel; /* "taylor" or "linear" */
  int64_t heads_q, heads_k, nq, nk, d, dv;
  attest_dtype dtype; /* of q, k, v */
  double size;        /* of the elements of q and k: uniform in [-size, size] */
  double offset;      /* added to the elements of v, uniform in [-1, 1] */
  int mask, initial;
  const char *params[20]; /* name, value, ..., NULL */
} kernel_spec;

typedef struct {
  attest_problem *problem;
  attest_tensor out, state;
  void *memory[7];
} kernel_fixture;

/* Fails the test when the problem cannot be built. out and final-state have dtype `result`; the
 * state only when with_state. */
void kernel_fixture_open(kernel_fixture *f, const kernel_spec *spec, attest_dtype result,
                         int with_state, uint64_t *seed);
void kernel_fixture_close(kernel_fixture *f);
/* One head of n causal rows, degree 2, scale 1/2, float32; params after the first four pairs are
 * free. chunk is heeded by form chunked alone. */
kernel_spec kernel_causal_spec(const char *form, const char *chunk, int64_t n, int64_t d,
                               int64_t dv);
/* A specification drawn at random; forms, masks and states as they go together. */
void kernel_fixture_draw(kernel_spec *spec, uint64_t *seed);
void kernel_fixture_run(kernel_fixture *f);

/* The largest |got - x| over all elements of out, in units of u (sum |w~|(|v| + |x|)) / |W|, with
 * |w~| = decay^n T_P(t) (linear: t) the absolute version of a weight; of the final state in units
 * of u sum |f(k)| |v|. */
double kernel_fixture_out_error(const kernel_fixture *f);
double kernel_fixture_state_error(const kernel_fixture *f);

#endif
