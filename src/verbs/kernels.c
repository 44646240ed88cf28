/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest kernels: the names, and which of them this version serves. */
#include <stdio.h>

#include "internal.h"
#include "verbs.h"

static const verb_definition definition = {
    .usage = "attest kernels",
    .summary = "Lists the kernels: name, whether this version has it, what it computes.",
    .example = "  attest kernels",
};

int verb_kernels(int argc, char **argv) {
  verb_options options;
  int status = verb_options_parse(&options, &definition, argc, argv);
  if (status >= 0) return status;
  for (size_t i = 0; i < problem_kernel_count; i++)
    printf("%-14s %-9s %s\n", problem_kernels[i].name,
           problem_kernels[i].built ? "built" : "not-built", problem_kernels[i].summary);
  verb_options_clear(&options);
  return EXIT_HOLDS;
}
