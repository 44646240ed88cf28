/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Tolerances that are derived instead of guessed.
 *
 * On seeded data of one head, the a-priori bound of a machine model is taken for every element,
 * |computed - exact| <= theory. With rtol fixed at four unit roundoffs of the type, the least atol
 * such that theory + rounding of the reference <= atol + rtol |exact| everywhere lets every kernel
 * of the model pass, on these data. What the project's own kernel actually needs is far less: the
 * measured tolerance is four times that. Mutants tell what a tolerance is worth. */
#ifndef ATTEST_CERTIFY_TOLERANCE_H
#define ATTEST_CERTIFY_TOLERANCE_H

#include "certify.h"
#include "generate.h"

enum { TOLERANCE_MUTANTS = 9, TOLERANCE_PARAMS = 32 };

typedef struct {
  const char *kernel;
  int64_t n, d, dv;
  attest_dtype dtype;
  int generator;
  uint64_t seed;
  const char *data;       /* the folder of stories260k/, for the generator real */
  const char *arithmetic; /* as --arithmetic; NULL: that of the built-in kernel */
  size_t param_count;
  const char *names[TOLERANCE_PARAMS], *values[TOLERANCE_PARAMS];
} tolerance_request;

typedef struct {
  const char *name;
  double beyond_theory, beyond_measured; /* fractions of elements outside of each tolerance */
} tolerance_mutant;

typedef struct {
  int64_t elements;
  double theory_median, theory_max;         /* a-priori bounds; infinite: the model has none */
  double error_median, error_99, error_max; /* measured, of the built-in kernel */
  double rtol, theory_atol, measured_atol;
  size_t mutant_count;
  tolerance_mutant mutants[TOLERANCE_MUTANTS];
} tolerance_result;

attest_status tolerance_measure(tolerance_result *result, const tolerance_request *request,
                                attest_error *error);

#endif
