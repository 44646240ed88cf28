/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which theorem of proofs/ stands behind what a certificate says. */
#ifndef ATTEST_CERTIFY_THEOREMS_H
#define ATTEST_CERTIFY_THEOREMS_H

#include "../problem/statement.h"
#include "certify.h"

/* A row of the map. A sweep of a function ("exp") rests on "sweep_radius", of which a theorem must
 * cover the function's enclosure. A verdict on an output rests on an error analysis
 * ("softmax_radius") for a kernel and an output; the theorem must cover the analysis as the C code
 * follows it for them. `without` names parameters and inputs of the problem, and measures of
 * bounds, with which it does not, "bias softcap+backward" (both together); `only` the values of
 * parameters with which it does, "temperature=1", one or several of each, or "alpha=1.5..2". A
 * finding of a statement is covered when it is an instance of what the theorem says. */
typedef struct {
  const char *kernel;         /* or the function that is swept */
  const char *of;             /* the error analysis, or the name of the statement */
  const char *part;           /* "out"; or what the facts of the finding begin with; NULL: any */
  const char *without, *only; /* of outputs; NULL: no condition */
  const char *theorem;
} theorem_link;

typedef struct {
  const theorem_link *links;
  size_t count;
} theorem_map;
extern const theorem_map certify_theorems;

enum { THEOREM_BASIS = 128 };
/* "proved(THEOREM)" where the map has one, "derived(ANALYSIS)" otherwise. An output of float64 is
 * settled above the double tier, of which the theorems of outputs speak: derived. So is a bound on
 * backward once a row's scores are too large for first order. */
char *theorem_output_basis(char basis[THEOREM_BASIS], const theorem_map *map, const certify_case *c,
                           const certify_output *o);
char *theorem_sweep_basis(char basis[THEOREM_BASIS], const theorem_map *map, const char *function);
char *theorem_statement_basis(char basis[THEOREM_BASIS], const theorem_map *map,
                              const statement_finding *finding);

#endif
