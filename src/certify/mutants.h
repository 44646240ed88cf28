/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Mutants: the library built once more from the same sources, with the defects of mutants.txt built
 * into them as choices (mutate.awk). All of it is one object whose only symbol is certify_mutants;
 * the command alone is linked with it. */
#ifndef ATTEST_CERTIFY_MUTANTS_H
#define ATTEST_CERTIFY_MUTANTS_H

#include "../toeplitz/fft.h"
#include "certify.h"

typedef struct {
  const char *name, *family;
  const char *role;  /* "kernel softmax taylor": kernels whose cases it is tried on; "comparator" */
  int found, wanted; /* places of the sources that it changes */
} mutant;

typedef struct {
  size_t count;
  const mutant *list;
  /* From here on mutant `number`, 1 .. count, is alive in this copy of the library; 0: none. Not
   * while it computes. */
  void (*choose)(int number);
  /* The functions of the copy. */
  const problem_room *(*room)(const char *kernel);
  attest_status (*fft)(toeplitz_fft_report *report, double *radius, const attest_problem *problem,
                       const problem_slice *slice, const toeplitz_fft_options *options,
                       attest_error *error);
  attest_status (*run)(certify_case *result, const certify_subject *subjects, size_t count,
                       const certify_options *options, attest_error *error);
  attest_status (*reference)(attest_tensor *result, const attest_problem *problem,
                             const char *output, attest_error *error);
  attest_status (*open)(tensor_file **file, const char *path, unsigned flags, attest_error *error);
  const attest_tensor *(*find)(const tensor_file *file, const char *name);
  void (*close)(tensor_file *file);
} mutant_library;

extern const mutant_library certify_mutants;

#endif
