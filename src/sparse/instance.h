/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rational points of the sphere, for identities that need unit norms. Internal to the room. */
#ifndef ATTEST_SPARSE_INSTANCE_H
#define ATTEST_SPARSE_INSTANCE_H

#include "../enclosure/value.h"

enum { INSTANCE_DIM = 4, INSTANCE_KEYS_MAX = 12 };

/* Unit keys and a unit query: s = k.q and D = |k - q|^2, computed from the coordinates. */
typedef struct {
  int n;
  fmpq s[INSTANCE_KEYS_MAX], distance[INSTANCE_KEYS_MAX];
  fmpq gamma; /* a temperature */
} sparse_instance;

/* Number `index` of the instances: random keys; every fourth with ties, every fifth with the query
 * among the keys, every seventh with one key. */
void sparse_instance_open(sparse_instance *x, int index);
void sparse_instance_clear(sparse_instance *x);
/* The largest score. */
const fmpq *sparse_instance_largest(const sparse_instance *x);

#endif
