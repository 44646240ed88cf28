/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest report: what changed between two certificates, or between two runs of attest bench. */
#include <math.h>
#include <stdlib.h>

#include "../report/compare.h"
#include "internal.h"
#include "verbs.h"

static const verb_flag flags[] = {
    {"fail-on-regression", NULL, 0, "exit 1 when something got worse or is missing"},
    {"growth", "F", 0,
     "an error (of two runs of bench: a figure, 1.1) that grew by more counts as worse"},
};

static const verb_definition definition = {
    .usage = "attest report OLD.json NEW.json [flags]",
    .summary =
        "Compares two certificates (--json of check or certify) output by output: a line for\n"
        "each whose verdict changed (WORSE, BETTER), that is MISSING, or NEW; then the counts.\n"
        "Statements of certify --builtin are not compared: each run decides them anew.\n"
        "Two files of attest bench --json are compared figure by figure; the largest backward\n"
        "error of each kernel, before and after, is printed even where it is the SAME.",
    .example = "  attest report main.json branch.json --fail-on-regression --growth 2",
    .flags = flags,
    .flag_count = sizeof flags / sizeof *flags,
    .operands_min = 2,
    .operands_max = 2,
};

int verb_report(int argc, char **argv) {
  verb_options options;
  attest_error error;
  compare_counts counts;
  int status = verb_options_parse(&options, &definition, argc, argv);
  if (status >= 0) return status;
  const char *text = verb_option(&options, "growth");
  char *end = NULL;
  double growth = text ? strtod(text, &end) : 0;
  const char *old = options.operands[0], *new = options.operands[1];
  int is_benchmark = compare_is_benchmark(old);
  status = EXIT_HOLDS;
  if (text && (end == text || *end || !(growth >= 1) || isinf(growth))) {
    status = verb_usage_error("--growth %s: a factor of at least 1 is wanted", text);
  } else if (is_benchmark
                 ? compare_benchmarks(&counts, stdout, old, new, text ? growth : 1.1, &error)
                 : compare_certificates(&counts, stdout, old, new, growth, &error)) {
    status = verb_trouble(&error);
  } else {
    printf("same=%zu better=%zu worse=%zu missing=%zu new=%zu\n", counts.same, counts.better,
           counts.worse, counts.missing, counts.added);
    if (verb_option(&options, "fail-on-regression") && counts.worse + counts.missing)
      status = EXIT_REFUTED;
  }
  verb_options_clear(&options);
  return status;
}
