/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reference data: every element of the outputs of a problem, correctly rounded to decimals or to a
 * dtype. The ball tier climbs in precision until an element rounds; where it would for ever sit on
 * a rounding boundary, the exact tier decides. Any number of threads, the same result. */
#ifndef ATTEST_CERTIFY_REFERENCE_H
#define ATTEST_CERTIFY_REFERENCE_H

#include "certify.h"

/* What became of an element. */
typedef enum {
  REFERENCE_ROUNDED,   /* correctly rounded */
  REFERENCE_NAN,       /* prescribed by a policy of the problem */
  REFERENCE_PLUS_INF,  /* likewise */
  REFERENCE_MINUS_INF, /* likewise */
  REFERENCE_PADDING,   /* no row of the problem: beyond the last packed sequence; written as 0 */
  REFERENCE_OPEN       /* within the radius, but not known to be correctly rounded */
} reference_status;
extern const char *const reference_status_names[];

/* One output in decimals, row-major in the axes of the output. */
typedef struct {
  int ndim;
  int64_t shape[ATTEST_MAX_DIMS], elements;
  char **mid, **rad; /* rad bounds |mid - exact|; mid is "nan", "inf", "-inf" where prescribed */
  unsigned char *status;
} reference_decimals;

typedef struct {
  const volatile sig_atomic_t *interrupted;   /* NULL: never */
  void (*step)(void *context, int64_t pairs); /* certify_pairs in all */
  void *context;
  int with_state; /* decimals of final-state too */
} reference_options;

/* `digits` significant digits of out and lse (what the kernel has of them) and, where asked for,
 * final-state, to nearest, ties to even. *open counts elements that stayed REFERENCE_OPEN.
 * decimals[OUTPUT_COUNT] is zeroed first and to be cleared in any case. */
attest_status certify_reference_decimals(reference_decimals decimals[], int64_t *open,
                                         const attest_problem *problem, long digits,
                                         const reference_options *options, attest_error *error);
void certify_reference_clear(reference_decimals decimals[]);

/* Rounded into results[OUTPUT_*], tensors of the right shape and a floating dtype; data NULL: not
 * wanted. An element that stays open is an error here. */
attest_status certify_reference_round(attest_tensor results[], const attest_problem *problem,
                                      const reference_options *options, attest_error *error);

#endif
