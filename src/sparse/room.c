/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "sparse.h"

#include <string.h>

static const sparse_kernel kernels[SPARSE_KERNELS] = {
    {"gaussian", RULE_EXP, 1, 0},          {"epanechnikov", RULE_POWER, 1, 1},
    {"biweight", RULE_POWER, 1, 2},        {"triweight", RULE_POWER, 1, 3},
    {"uniform", RULE_WITHIN, 1, 0},        {"sparsemax", RULE_THRESHOLD, 0, 0},
    {"entmax", RULE_THRESHOLD, 0, 0},      {"normrelu", RULE_POWER, 0, 1},
    {"relumax", RULE_MARGIN, 0, 1},        {"topk-softmax", RULE_TOP_EXP, 0, 0},
    {"topk-uniform", RULE_TOP_MEAN, 0, 0},
};
static const sparse_kernel entmax_one = {"entmax", RULE_EXP, 0, 0};

const sparse_kernel *sparse_kernel_of(const attest_problem *problem) {
  const char *name = problem->kernel->name;
  const problem_real *alpha = &problem->values.alpha;
  if (!strcmp(name, entmax_one.name) && !alpha->root && fmpq_is_one(alpha->value))
    return &entmax_one;
  for (int i = 0; i < SPARSE_KERNELS; i++)
    if (!strcmp(kernels[i].name, name)) return &kernels[i];
  return NULL;
}

#define ROOM(title)                                                                                \
  .name = title, .theorem = "sparse_radius", .open = sparse_enclose_open,                          \
  .rows = sparse_enclose_rows, .close = sparse_enclose_close, .ball = sparse_ball,                 \
  .linear_zero = sparse_linear_zero, .backward_explicit = sparse_backward_explicit,                \
  .kernel = sparse_run_kernel
#define MODELLED(title) ROOM(title), .machine = sparse_machine
#define CONTINUOUS(title)                                                                          \
  { MODELLED(title) }
#define CHOOSING(title)                                                                            \
  MODELLED(title), .choice = sparse_choice, .admits = sparse_admits, .outside = sparse_outside
#define SELECTING(title)                                                                           \
  { CHOOSING(title) }
#define RANKING(title)                                                                             \
  { CHOOSING(title), .select = sparse_select, .misselection = sparse_misselection }
#define EMPTYING(title)                                                                            \
  { CHOOSING(title), .mix = sparse_mix }
const problem_room sparse_rooms[SPARSE_KERNELS] = {
    CONTINUOUS("gaussian"),  EMPTYING("epanechnikov"), EMPTYING("biweight"),
    EMPTYING("triweight"),   SELECTING("uniform"),     CONTINUOUS("sparsemax"),
    CONTINUOUS("entmax"),    EMPTYING("normrelu"),     CONTINUOUS("relumax"),
    RANKING("topk-softmax"), RANKING("topk-uniform"),
};
