/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of this folder share with each other only. */
#ifndef ATTEST_SUBJECT_INTERNAL_H
#define ATTEST_SUBJECT_INTERNAL_H

#include "child.h"
#include "subject.h"

/* Makes the result a failure: `reason` is a word, the rest its sentence. (result.c) */
void subject_fail(subject_result *result, const char *reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What ended the child, where it was not an exit with status 0: 1 and the result (a failure, or
 * skipped); 0 when the child did its work. `shell`: its own status 128 + N tells of signal N. */
int subject_judge(subject_result *result, child_event event, const subject_child *child,
                  const subject_limits *limits, int shell);
/* Private pages for `bytes`; *at: where they begin. */
attest_status subject_copies(char **at, subject_memory *memory, size_t bytes, attest_error *error);
/* The bytes that a copy takes there, and a contiguous copy at *at, which moves on by as many. */
size_t subject_copy_size(const attest_tensor *t);
attest_tensor subject_copy(char **at, const attest_tensor *t);
/* Keeps what the child printed, as text. */
void subject_keep_printed(subject_result *result, const subject_child *child);

#endif
