/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inputs of a subject that runs: whatever it does to files and folders, what it is judged by stays
 * as it was, and a write into its inputs is found. */
#ifndef ATTEST_SUBJECT_INPUTS_H
#define ATTEST_SUBJECT_INPUTS_H

#include "subject.h"

/* The inputs as the caller gave them: they may lie in files that the subject can reach. */
typedef struct {
  attest_tensor given[INPUT_COUNT]; /* data NULL: absent */
} subject_inputs;

/* Copies, which only this process has and which live until subject_clear, become the inputs of the
 * problem. */
attest_status inputs_keep(subject_inputs *inputs, subject_result *result, attest_problem *problem,
                          attest_error *error);
/* Gives the problem its inputs back, after trouble. */
void inputs_put_back(attest_problem *problem, const subject_inputs *inputs);
/* Makes a result that is no failure yet one where the caller's inputs, or those in `folder` (NULL:
 * none), no longer hold what the copies hold. What has been removed is not missed. */
attest_status inputs_inspect(subject_result *result, const subject_inputs *inputs,
                             const attest_problem *problem, const char *folder,
                             attest_error *error);

#endif
