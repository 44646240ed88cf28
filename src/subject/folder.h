/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The folder that an external command works in. */
#ifndef ATTEST_SUBJECT_FOLDER_H
#define ATTEST_SUBJECT_FOLDER_H

#include "../problem/problem.h"

enum { FOLDER_PATH = 4096 };

/* Makes a new private folder in $TMPDIR (else /tmp). */
attest_status folder_make(char path[FOLDER_PATH], attest_error *error);
/* "PATH/final_state.npy": an underscore where the tensor has a dash, so that it reads as a Python
 * name. */
void folder_file(char name[FOLDER_PATH + 64], const char *path, const char *tensor,
                 const char *suffix);
/* Writes problem.json, in.safetensors and NAME.npy of every input that npy can hold. */
attest_status folder_fill(const char *path, const attest_problem *problem, attest_error *error);
/* Whether the disk has no more room than `bytes`. */
int folder_is_full(const char *path, uint64_t bytes);
/* Removes it with everything in it. */
void folder_remove(const char *path);

#endif
