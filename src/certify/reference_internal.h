/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How reference.c hands exact elements to what stores them. */
#ifndef ATTEST_CERTIFY_REFERENCE_INTERNAL_H
#define ATTEST_CERTIFY_REFERENCE_INTERNAL_H

#include "reference.h"

/* Where the elements go. Functions are called by several threads, each for elements of its own;
 * `flat` is the row-major position in the output. Failures (memory) are returned. */
typedef struct reference_target {
  /* 1: x was narrow enough, stored; 0: it straddles a rounding boundary; -1: no memory. */
  int (*store)(struct reference_target *target, int output, int64_t flat, const arb_t x);
  /* The rounding boundary nearest to mid(x) != 0, if mid(x) may lie on one: 1 and the number. */
  int (*boundary)(fmpq_t c, const struct reference_target *target, int output, const arb_t x);
  /* x is exactly c, a boundary or zero. */
  int (*store_exact)(struct reference_target *target, int output, int64_t flat, const fmpq_t c);
  /* A policy prescribes the class; or, with `open`, x is all that is known. */
  int (*store_class)(struct reference_target *target, int output, int64_t flat,
                     measure_class class);
  int (*store_open)(struct reference_target *target, int output, int64_t flat, const arb_t x);
  /* The index of a key; -1 where the row has none. */
  int (*store_key)(struct reference_target *target, int output, int64_t flat, int64_t key);
  int wanted[OUTPUT_COUNT];
  slong precision; /* to begin with */
} reference_target;

attest_status certify_reference_run(reference_target *target, const attest_problem *problem,
                                    const reference_options *options, attest_error *error);

#endif
