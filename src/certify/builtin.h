/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The suite of --builtin: the project's own float32 and float64 kernels on tensors of a real model
 * and on synthetic rows, every feature and every edge of the number formats among them. */
#ifndef ATTEST_CERTIFY_BUILTIN_H
#define ATTEST_CERTIFY_BUILTIN_H

#include "certify.h"

typedef struct builtin_suite builtin_suite;

/* `data`: the folder that holds stories260k/. Its tensors are mapped. */
attest_status builtin_open(builtin_suite **suite, const char *data, attest_error *error);
void builtin_close(builtin_suite *suite);
size_t builtin_count(const builtin_suite *suite);
const char *builtin_name(const builtin_suite *suite, size_t i); /* "stories260k/layer0" */
int64_t builtin_pairs(const builtin_suite *suite);              /* of all cases: certify_pairs */
/* Runs both kernels on case i and compares both with one pass over the reference. `result` is to be
 * cleared in any case. options->name is ignored. */
attest_status builtin_run(certify_case *result, const builtin_suite *suite, size_t i,
                          const certify_options *options, attest_error *error);

/* ---- one kernel on one problem ---- */

typedef struct {
  attest_problem problem; /* shallow: shares everything but the outputs */
  room_machine machine;
  room_account account;
  char name[64];            /* "softmax.float32" */
  void *data[OUTPUT_COUNT]; /* of the outputs, zero at first */
} builtin_kernel;

/* Room for every output that the kernel has. To be cleared in any case. */
attest_status builtin_kernel_prepare(builtin_kernel *kernel, const problem_room *room,
                                     const attest_problem *problem, attest_dtype dtype,
                                     attest_error *error);
attest_status builtin_kernel_compute(builtin_kernel *kernel, const problem_room *room,
                                     attest_error *error);
void builtin_kernel_clear(builtin_kernel *kernel);

#endif
