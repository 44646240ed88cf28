/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A function that a mathematics room offers to the expression language: one row of its table. */
#ifndef ATTEST_ENCLOSURE_FUNCTION_H
#define ATTEST_ENCLOSURE_FUNCTION_H

#include "value.h"

typedef struct room_function {
  const char *name;       /* "taylor" */
  const char *parameters; /* as the help shows them: "P, t" */
  const char *summary;    /* one line */
  size_t least, most;     /* how many arguments it takes */
  /* Sets *result to the value at arguments of any kind. A number outside the domain is an error
   * whose message starts with the parameter's name; where a ball straddles the edge of the domain
   * the result is a ball without bounds. Wide balls must give an enclosure of the range. */
  attest_status (*evaluate)(value *result, const value arguments[], size_t count, slong prec,
                            attest_error *error);
  /* The function as a polynomial in its last argument, given the others: for exact decisions.
   * NULL: it is none. */
  attest_status (*polynomial)(fmpq_poly_t p, const value arguments[], size_t count,
                              attest_error *error);
} room_function;

typedef struct {
  const char *room; /* "positivity" */
  const room_function *functions;
  size_t count;
} room_functions;

/* ---- arguments, for the functions of rooms (function.c) ---- */

/* An exact integer from `low` to `high`; the message names the parameter. */
attest_status function_integer(slong *n, const value *argument, const char *name, slong low,
                               slong high, attest_error *error);
/* A number. */
attest_status function_number(const value *argument, const char *name, attest_error *error);
/* A number of which it is not certain that it lies outside low..high, ends included or not; *inside
 * says whether it certainly lies within. NULL for a missing bound. */
attest_status function_range(int *inside, const value *argument, const char *name, const value *low,
                             int low_open, const value *high, int high_open, const char *wanted,
                             attest_error *error);

#endif
