/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Functions of one float32, from shared libraries, called on arrays of inputs by worker processes
 * that stay. */
#ifndef ATTEST_SUBJECT_FUNCTION_H
#define ATTEST_SUBJECT_FUNCTION_H

#include "subject.h"

/* How the function is called; the types are in attest.h. */
typedef enum {
  FUNCTION_SCALAR, /* attest_scalar_function */
  FUNCTION_ARRAY,  /* attest_array_function */
  FUNCTION_VECTOR  /* vector in, vector out, as in glibc's libmvec: _ZGVdN8v_expf */
} function_abi;

typedef struct subject_function subject_function;

/* "FILE:SYMBOL", "libm:expf" or "libmvec:expf" (the variant for the widest vectors that this
 * machine has, or that ATTEST_ISA allows). A FILE without a folder is one of this folder or, where
 * there is none, what the loader finds under that name. abi: "scalar" (or NULL) or "array"; a
 * SYMBOL such as _ZGVbN4v_expf is a vector function by itself. Starts `workers` processes, each of
 * which takes up to `most` inputs at a time. Trouble is for what cannot be loaded. */
attest_status subject_function_open(subject_function **f, const char *spec, const char *abi,
                                    int workers, int64_t most, const subject_limits *limits,
                                    attest_error *error);
void subject_function_close(subject_function *f);
/* "libmvec:_ZGVdN8v_expf": the spec, with the variant that was chosen. */
const char *subject_function_name(const subject_function *f);
/* Hex SHA-256 of the library's file. */
const char *subject_function_sha256(const subject_function *f);

/* out[i] = f(in[i]), i < n <= most, in a worker that no other thread uses meanwhile. 0: done; 1: it
 * failed, as `result` says; -1: trouble, or Ctrl-C (ATTEST_ERR_INTERRUPT). A worker that has failed
 * fails again. */
int subject_function_call(subject_function *f, int worker, float *out, const float *in, int64_t n,
                          subject_result *result, attest_error *error);

/* The child's side (verb function-worker); the exit status of the process. */
int subject_function_worker(const char *path, const char *symbol, const char *abi);

#endif
