/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Claims that rest on what the rooms state and certify (problem/statement.h).
 *
 *   certified: {statement: state-rank, where: {keys: sphere, d: 16, order: all}, fact: rank}
 *   printed: 153
 *
 * Of the findings of that statement those count whose facts have the given values. Without `fact`
 * all of them must be certified; with it there must be one, certified, and the printed number is
 * compared with that fact. */
#ifndef ATTEST_CLAIMS_CERTIFIED_H
#define ATTEST_CLAIMS_CERTIFIED_H

#include "../enclosure/value.h"
#include "../problem/statement.h"
#include "../tensor/config.h"

typedef struct {
  char *statement, *fact; /* fact NULL: none */
  size_t count;
  char **keys, **values; /* where */
} claim_certified;

attest_status claim_certified_read(claim_certified *c, const config_node *node, const char *path,
                                   attest_error *error);
void claim_certified_clear(claim_certified *c);

typedef struct {
  size_t certified, refuted, undecided; /* findings that match */
  value fact;                           /* with `fact`: its number */
} claim_findings;

/* `data`: the folder of the project's tensors. */
attest_status claim_certified_run(claim_findings *found, const claim_certified *c, const char *data,
                                  attest_error *error);

#endif
