/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Random problems of every sparse kernel. */
#ifndef ATTEST_TESTS_SPARSE_FIXTURE_H
#define ATTEST_TESTS_SPARSE_FIXTURE_H

#include "../softmax/fixture.h"

/* A specification of kernel number `kernel` (of sparse_rooms), sizes and data at random. */
void fixture_draw_sparse(fixture_spec *spec, int kernel, uint64_t *seed);

#endif
