/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Queries, keys and values of the trained model in data/stories260k, for statements. */
#ifndef ATTEST_TAYLOR_STORIES_H
#define ATTEST_TAYLOR_STORIES_H

#include "../enclosure/flint.h"
#include "../tensor/tensor.h"

typedef struct {
  tensor_file *file[3];
  attest_tensor tensor[3]; /* q, k, v: (layer, head, position, element), the last two axes alike */
} taylor_stories;

/* `data` is the folder that holds stories260k/. Close in any case. */
attest_status taylor_stories_open(taylor_stories *t, const char *data, attest_error *error);
void taylor_stories_close(taylor_stories *t);
/* Head 0 of a layer, tensor `which` (0 q, 1 k, 2 v), as doubles (position, element). */
void taylor_stories_load(double *x, const taylor_stories *t, int which, int64_t layer);
/* One element of head 0 of layer 0, exactly. */
void taylor_stories_fmpq(fmpq_t x, const taylor_stories *t, int which, int64_t position,
                         int64_t element);

#endif
