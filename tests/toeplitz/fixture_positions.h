/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Problems for the kernels of the Toeplitz room, and their rows summed in balls straight from the
 * definition: q_i^T R_{j-i'} k_j with the angle of the difference, q_i W_{i'-j} k_j. */
#ifndef ATTEST_TESTS_TOEPLITZ_FIXTURE_POSITIONS_H
#define ATTEST_TESTS_TOEPLITZ_FIXTURE_POSITIONS_H

#include "../../src/certify/certify.h"
#include "../../src/toeplitz/toeplitz.h"
#include "../tests.h"

typedef enum { WEIGHTS_DENSE, WEIGHTS_SPARSE, WEIGHTS_ZERO, WEIGHTS_ROTARY } positions_weights;

typedef struct {
  const char *kernel;
  int64_t heads_q, heads_k, nq, nk, d, dv;
  attest_dtype dtype;
  const char *params[16]; /* name, value, ..., NULL */
  int mask;
  double size; /* of q and k */
  int positive;
  positions_weights weights;
  int64_t coefficients; /* of a polynomial for the weights; 0: none */
} positions_spec;

typedef struct {
  attest_problem *problem;
  void *memory[7]; /* q, k, v, weights, mask, out, coefficients */
} positions;

/* Fails the test when the problem cannot be built. */
void positions_open(positions *p, const positions_spec *spec, uint64_t *seed);
void positions_close(positions *p);
void positions_draw(positions_spec *spec, const char *kernel, uint64_t *seed);
/* Runs the room's kernel into an output of dtype. */
void positions_run(positions *p, attest_dtype dtype);
/* x, A and S of one row (MATH section 7), dv balls each, by direct sums. Rows with a visible key.
 */
void positions_dense(arb_ptr x, arb_ptr a, arb_ptr s, const attest_problem *problem,
                     const problem_slice *slice, int64_t row, slong prec);
/* The verdict on the output under bounds separated by spaces; theory of the room's machine. */
attest_verdict positions_verdict(const positions *p, const char *bounds);

#endif
