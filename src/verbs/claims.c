/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest claims: numbers and statements of papers, decided. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../report/claims.h"
#include "internal.h"
#include "verbs.h"

static const verb_flag flags[] = {
    {"data", "DIR", 0,
     "folder with claims/*.yaml (default: data, $ATTEST_DATA, or where attest is installed)"},
    {"json", "FILE", 0,
     "write an array of id, verdict, expected, printed, enclosure {lo, hi}, note"},
    {"explain", NULL, 0, "print the statement, its source and what was found under each verdict"},
    {"quiet", NULL, 0, "print unexpected verdicts only"},
};

static const verb_definition definition = {
    .usage = "attest claims [FILE.yaml ...] [flags]",
    .summary =
        "Decides the claims of the files (default: all of data/claims) by computation: holds,\n"
        "refuted, needs-hypothesis, measured, undecided, not-checkable. Exits 0 when every\n"
        "verdict is the expected one, 1 when one is not, 3 when one is undecided unexpectedly.\n"
        "\n"
        "A file is a list of claims; each has an id, a statement and one of\n"
        "  expr: taylor_min(4)             with  printed: 0.27   (the last digit counts)\n"
        "  predicate: taylor(P, t) > 0     with  for: {P: 0..20 step 2, t: '(-inf, inf)'}\n"
        "  run: {kernel: .., figure: .., bound: 1e-6}   or printed: 6.5e-4 instead of bound\n"
        "  certified: {statement: .., where: {..}}   what attest certify --builtin states\n"
        "  checks: [..]                    several of these\n"
        "  reason: ..                      why it cannot be checked\n"
        "and perhaps source, counterexample, corrected, hypothesis, note, expect.",
    .example = "  attest claims data/claims/posfloor.yaml --explain",
    .flags = flags,
    .flag_count = sizeof flags / sizeof *flags,
    .operands_max = 1000,
};

typedef struct {
  const verb_options *options;
  report_claims *json;
  char data[4096]; /* the folder of tensors, where a check needs it */
  size_t counts[CLAIM_VERDICTS], total, unexpected, undecided, trouble;
} tally;

static void decide_one(tally *t, const claim_file *file, size_t i) {
  claim_result result;
  attest_error error;
  t->total++;
  if (claim_decide(&result, file, i, t->data, &error)) {
    fprintf(stderr, "attest: %s: %s\n", file->claims[i].id, error.message);
    t->trouble++;
    claim_result_clear(&result);
    return;
  }
  int unexpected = result.verdict != result.expected;
  t->counts[result.verdict]++;
  t->unexpected += unexpected && result.verdict != CLAIM_UNDECIDED;
  t->undecided += unexpected && result.verdict == CLAIM_UNDECIDED;
  if (unexpected || !verb_option(t->options, "quiet"))
    report_claim_text(stdout, &result, &file->claims[i],
                      verb_option(t->options, "explain") != NULL);
  fflush(stdout);
  report_claims_add(t->json, &result, &file->claims[i]);
  claim_result_clear(&result);
}

static void summarize(const tally *t, double seconds) {
  fprintf(stderr, "attest: %zu claim%s:", t->total, t->total == 1 ? "" : "s");
  for (int v = 0, first = 1; v < CLAIM_VERDICTS; v++) {
    if (!t->counts[v]) continue;
    fprintf(stderr, "%s %zu %s", first ? "" : ",", t->counts[v], claim_verdict_names[v]);
    first = 0;
  }
  if (t->trouble) fprintf(stderr, "%s %zu in error", t->trouble < t->total ? "," : "", t->trouble);
  fprintf(stderr, "; %zu not as expected; %.1f s\n", t->unexpected + t->undecided + t->trouble,
          seconds);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* All files are read before anything is decided. */
static int decide_files(const verb_options *options, char *const *paths, size_t count) {
  tally t = {.options = options, .json = report_claims_new()};
  claim_file *files = calloc(count + 1, sizeof *files);
  attest_error error;
  int status = 0;
  double start = now();
  if (!t.json || !files) status = verb_usage_error("out of memory");
  for (size_t i = 0; i < count && !status; i++)
    if (claim_file_open(&files[i], paths[i], &error)) status = verb_trouble(&error);
  for (size_t i = 0; i < count && !status && !*t.data; i++)
    if (claim_file_needs_data(&files[i]))
      status = verb_find_data(t.data, verb_option(options, "data"), "stories260k/q.npy");
  for (size_t i = 0; i < count && !status; i++)
    for (size_t k = 0; k < files[i].count; k++)
      decide_one(&t, &files[i], k);
  if (!status) {
    if (!verb_option(options, "quiet")) summarize(&t, now() - start);
    status = t.unexpected  ? EXIT_REFUTED
             : t.trouble   ? EXIT_TROUBLE
             : t.undecided ? EXIT_UNDECIDED
                           : EXIT_HOLDS;
    const char *json = verb_option(options, "json");
    if (json && status != EXIT_TROUBLE && report_claims_write(json, t.json, &error))
      status = verb_trouble(&error);
  }
  for (size_t i = 0; files && i < count; i++)
    claim_file_close(&files[i]);
  free(files);
  report_claims_free(t.json);
  return status;
}

static int decide_all(const verb_options *options) {
  char folder[4096];
  glob_t found;
  int status = verb_find_data(folder, verb_option(options, "data"), "claims");
  if (status) return status;
  if (!verb_claim_files(&found, folder))
    return verb_usage_error("%s/claims/*.yaml: no such files", folder);
  status = decide_files(options, found.gl_pathv, found.gl_pathc);
  globfree(&found);
  return status;
}

int verb_claims(int argc, char **argv) {
  verb_options options;
  int status = verb_options_parse(&options, &definition, argc, argv);
  if (status >= 0) return status;
  status = verb_can_report(&options);
  if (!status && options.operand_count)
    status = decide_files(&options, (char *const *)options.operands, options.operand_count);
  else if (!status)
    status = decide_all(&options);
  verb_options_clear(&options);
  return status;
}
