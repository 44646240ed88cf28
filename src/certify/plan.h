/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Plans: subjects and problems in a YAML file, lists multiplied out.
 *
 *   attest: 1
 *   convention: flash-attn            # of all problems
 *   defaults: {dtype, bound, timeout, memory, arithmetic, outputs, params, data}
 *   subjects:
 *     NAME: {exec: COMMAND or [WORD, ..], persistent: true}
 *     NAME: {library: FILE:SYMBOL}
 *     NAME: {out: FILE[:TENSOR], lse: FILE[:TENSOR]}      # stored
 *   cases:
 *     - {name, subject, kernel, params, shape, data, dtype, input, outputs, bound, expect,
 *        arithmetic, timeout, memory}
 *
 * A list under subject, kernel, dtype, or a key of params, shape or data stands for as many cases;
 * several lists multiply. (A window is itself a list: a list of lists multiplies.) Files are named
 * from the folder that attest runs in. */
#ifndef ATTEST_CERTIFY_PLAN_H
#define ATTEST_CERTIFY_PLAN_H

#include "../subject/subject.h"
#include "../tensor/config.h"
#include "certify.h"
#include "generate.h"

typedef struct plan plan;

/* Reads a plan and checks all that can be known before it runs. Messages begin "PATH:LINE: ". */
attest_status plan_open(plan **p, const char *path, attest_error *error);
/* Ends subjects that are still there. */
void plan_close(plan *p);

size_t plan_count(const plan *p);
/* The first text of the plan that may name a file it reads (inputs, stored outputs, libraries,
 * words of commands) for which matches() says so; NULL: none. */
const char *plan_find_file(const plan *p, int (*matches)(const char *text, const char *path),
                           const char *path);
/* Whether some case takes rows of the trained model. */
int plan_needs_data(const plan *p);
/* "fwd/softcap=30/nq=127": the case's name, and the keys that have several values. Caller frees;
 * NULL when out of memory. */
char *plan_case_name(const plan *p, size_t i);

typedef struct {
  const certify_options *how; /* name is ignored */
  const char *data;           /* the folder that holds stories260k/, NULL: none */
} plan_options;

/* Generates or opens the inputs of case i, runs its subject, compares. `result` is to be cleared in
 * any case. `said`: what a subject that failed has printed and why, for people; may be NULL. */
attest_status plan_run(certify_case *result, char said[1600], plan *p, size_t i,
                       const plan_options *options, attest_error *error);

#endif
