/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A folder that appears whole or not at all: made under a temporary name beside its place, renamed
 * when complete. */
#ifndef ATTEST_VERBS_BUNDLE_H
#define ATTEST_VERBS_BUNDLE_H

#include "../tensor/tensor.h"

typedef struct bundle bundle;

/* `path` must not exist yet. */
attest_status bundle_open(bundle **b, const char *path, attest_error *error);
/* Full path for a new file of that name, which the caller writes next; owned by the bundle. NULL
 * when out of memory. */
const char *bundle_file(bundle *b, const char *name);
/* Adds SHA256SUMS (as sha256sum -c reads it) and renames. Frees the bundle in any case. */
attest_status bundle_commit(bundle *b, attest_error *error);
/* Removes what was written. */
void bundle_abort(bundle *b);

#endif
