/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "statements.h"

const problem_statement taylor_statements[] = {
    {"taylor", "recurrence-is-truncated-kernel", "rationals",
     "all forms equal the plain sum with difference 0, for every chunk and every merge of states",
     taylor_forms_are_equal},
    {"taylor", "state-rank", "integers",
     "ranks of the state by order and in total, and what the unit sphere saves", taylor_state_rank},
    {"taylor", "deviation-from-softmax", "balls",
     "largest distance from softmax attention by degree, beside its sharp bound", taylor_deviation},
};
const size_t taylor_statement_count = sizeof taylor_statements / sizeof *taylor_statements;
