/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Seeded queries, keys and values for plans, the same on every machine.
 *
 *   gaussian    independent, about unit normal
 *   sphere      q and k on the unit sphere, v normal
 *   real        rows of a trained model (stories260k in the data folder), in their order
 *   ties        every fourth key is the same, so scores are equal in groups; values differ
 *   dominant    one key of each head is far above the others
 *   saturated   scores up to thousands: all but a few weights vanish
 *   cancelling  values in pairs +-c on equal keys, a little noise on top: sums that cancel
 *   denormal    values among the subnormals of the type
 *   rational    all scores equal, values such that the mean of the first n is a small whole number,
 *               0 or 1 in float32, for every n up to 4096, and in rows of 64 components another one
 *               somewhere than that of the first n - 1: what softmax returns is known without any
 * exponential */
#ifndef ATTEST_CERTIFY_GENERATE_H
#define ATTEST_CERTIFY_GENERATE_H

#include "../problem/problem.h"

/* The next number of a sequence (splitmix64, exact arithmetic only): uniform in [0, 1), or the sum
 * of twelve such numbers less 6, which has variance 1. */
double generate_uniform(uint64_t *state);
double generate_normal(uint64_t *state);

extern const char *const generate_names[]; /* NULL ends them */
int generate_find(const char *name);       /* -1 when unknown */

typedef struct {
  int64_t b, heads_q, heads_k, nq, nk, d, dv;
} generate_sizes;

typedef struct {
  attest_tensor q, k, v; /* in the axes of the layout */
  void *storage;
} generated;

/* `layout`: its letters, "bhnd"; one without b needs b = 1, one without h one head. `data`: the
 * folder that holds stories260k/, for real. Clear in any case. */
attest_status generate_inputs(generated *g, int generator, uint64_t seed,
                              const generate_sizes *sizes, attest_dtype dtype, const char *layout,
                              const char *data, attest_error *error);
void generate_clear(generated *g);

#endif
