/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The least size of a perturbation that explains a result, between a size that is known to be too
 * small and one that is known to be enough. */
#ifndef ATTEST_ENCLOSURE_SEARCH_H
#define ATTEST_ENCLOSURE_SEARCH_H

#include "enclosure.h"

/* A question about a size; both below must be monotone: what holds for a size holds for smaller
 * ones, up to the sharpness of the balls that answer. */
typedef int search_question(const void *context, double size);

/* cannot_reach(size): no perturbation up to `size` reaches the result. falls_short(size): it is not
 * known that one does. `guess` is where to start. Sizes are on a grid of 2^(1/128) from 2^-100 to
 * 2^1000; without an answer on it the ends are 0 and infinity. */
measure_interval search_least_size(const void *context, search_question *cannot_reach,
                                   search_question *falls_short, double guess);

/* What perturbations of one size do: a bound of all of them, or what an explicit one attains. */
typedef enum { REACH_BOUND, REACH_EXPLICIT } reach_kind;
/* How far perturbations up to `size` move a result: grows with the size, nearly linear where that
 * is small. */
typedef void search_reach(arb_t reach, const void *context, double size, reach_kind kind);

/* The least size at which `reach` attains gap > 0. */
measure_interval search_least_move(const void *context, search_reach *reach, const arb_t gap);

#endif
