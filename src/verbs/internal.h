/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Shared by the files of this folder. */
#ifndef ATTEST_VERBS_INTERNAL_H
#define ATTEST_VERBS_INTERNAL_H

#include "options.h"

/* --input, --bf16, --threads: flags of every verb that takes a problem. */
extern const verb_flag verb_problem_flags[];
extern const size_t verb_problem_flag_count;

/* The help of one verb, generated from its tables, on standard output. */
void verb_help_print(const verb_definition *definition);

#endif
