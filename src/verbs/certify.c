/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest certify: the built-in suite. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../certify/builtin.h"
#include "../certify/statements.h"
#include "../claims/claims.h"
#include "internal.h"
#include "verbs.h"

static const verb_flag flags[] = {
    {"builtin", NULL, 0, "certify the suite's own float32 and float64 kernels"},
    {"data", "DIR", 0,
     "folder with stories260k/ (default: data, $ATTEST_DATA, or where attest is installed)"},
    {"time", "T", 0,
     "spend this much on a plan (60s, 5m): cases from all of it, the fraction is stated"},
    {"rows", "K", 0, "of each problem compare K rows, spread evenly; the scope says the fraction"},
    {"case", "NAME", 0, "run this case of the plan only"},
    {"json", "FILE", 0, "write the certificate"},
    {"junit", "FILE", 0, "write JUnit XML"},
    {"quiet", NULL, 0, "print no certified outputs"},
    {"threads", "N", 0, "worker threads (default: all processors)"},
};

static const verb_definition definition = {
    .usage = "attest certify [PLAN.yaml | --builtin] [flags]",
    .summary =
        "Runs a plan (default: attest.yaml): subjects, problems and bounds in a YAML file, lists\n"
        "multiplied out; README.md shows one. With --builtin:\n"
        "Certifies the built-in kernels on the queries, keys and values of a real model and\n"
        "on synthetic rows: out and lse, bounds backward<=16 and theory; and decides statements\n"
        "about them, and the claims of data/claims.",
    .example = "  attest certify --builtin --json certificate.json",
    .flags = flags,
    .flag_count = sizeof flags / sizeof *flags,
    .operands_max = 1,
};

/* ---- the suite ---- */

static void step(void *context, int64_t pairs) {
  progress_step(context, pairs);
}

static void run_case(report *r, const builtin_suite *suite, size_t i, const verb_options *options,
                     const certify_options *how) {
  attest_error error = {0};
  certify_case result;
  if (builtin_run(&result, suite, i, how, &error)) {
    certify_case_clear(&result);
    progress_hide(how->context);
    fprintf(stderr, "attest: %s: %s\n", builtin_name(suite, i), error.message);
    report_add_trouble(r, error.message);
    return;
  }
  verb_print_case(&result, options, how->context);
  if (report_add(r, &result)) report_add_trouble(r, "out of memory");
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The findings from number `first` on, printed; before them the trouble there was. */
static void print_findings(report *r, size_t first, const char *name, attest_status status,
                           const attest_error *error, const verb_options *options, progress *p) {
  int quiet = verb_option(options, "quiet") != NULL;
  progress_hide(p);
  if (status) {
    fprintf(stderr, "attest: %s: %s\n", name, error->message);
    report_add_trouble(r, error->message);
  }
  for (size_t k = first; k < r->statements.count; k++) {
    char *line = report_statement_text(&r->statements.findings[k], quiet);
    if (line) fputs(line, stdout);
    free(line);
  }
  fflush(stdout);
}

static void run_statement(report *r, size_t i, const char *folder, const verb_options *options,
                          progress *p) {
  attest_error error = {0};
  const problem_statement *statement = certify_statement(i);
  size_t first = r->statements.count;
  attest_status status = statement->run(&r->statements, statement, folder, &error);
  print_findings(r, first, statement->name, status, &error, options, p);
}

static void run_claims(report *r, const char *path, const char *folder, const verb_options *options,
                       progress *p) {
  attest_error error = {0};
  size_t first = r->statements.count;
  attest_status status = claim_findings_add(&r->statements, path, folder, &error);
  print_findings(r, first, path, status, &error, options, p);
}

static void summarize(const report *r, size_t planned) {
  size_t outputs[3], statements[3];
  report_count(outputs, statements, r);
  fprintf(stderr,
          "attest: %zu of %zu cases, outputs: %zu certified, %zu refuted, %zu undecided; "
          "statements: %zu certified, %zu refuted, %zu undecided; %.1f s\n",
          r->count, planned, outputs[ATTEST_CERTIFIED], outputs[ATTEST_REFUTED],
          outputs[ATTEST_UNDECIDED], statements[ATTEST_CERTIFIED], statements[ATTEST_REFUTED],
          statements[ATTEST_UNDECIDED], r->seconds);
}

static int run_suite(report *r, const verb_options *options) {
  char folder[4096];
  builtin_suite *suite;
  attest_error error;
  int status = verb_find_data(folder, verb_option(options, "data"), "stories260k/q.npy");
  if (status) return status;
  if (builtin_open(&suite, folder, &error)) return verb_trouble(&error);
  certify_options how = {.interrupted = &verb_interrupted,
                         .step = step,
                         .context = progress_start("certify", builtin_pairs(suite))};
  size_t count = builtin_count(suite);
  double start = now();
  for (size_t i = 0; i < count && !verb_interrupted; i++)
    run_case(r, suite, i, options, &how);
  size_t statement_count = certify_statement_count(), begun = 0;
  for (; begun < statement_count && !verb_interrupted; begun++)
    run_statement(r, begun, folder, options, how.context);
  glob_t claims;
  size_t claim_files = verb_claim_files(&claims, folder), decided = 0;
  for (; decided < claim_files && !verb_interrupted; decided++)
    run_claims(r, claims.gl_pathv[decided], folder, options, how.context);
  globfree(&claims);
  r->seconds = now() - start;
  progress_end(how.context);
  builtin_close(suite);
  r->interrupted =
      r->count + r->trouble_count < count || begun < statement_count || decided < claim_files;
  if (!verb_option(options, "quiet")) summarize(r, count);
  return verb_finish(r, options);
}

/* The first flag given that the suite has no use for; NULL: none. */
static const char *only_of_plans(const verb_options *options) {
  static const char *const names[] = {"time", "rows", "case"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (verb_option(options, names[i])) return names[i];
  return NULL;
}

int verb_certify(int argc, char **argv) {
  verb_options options;
  report r = {0};
  int status = verb_options_parse(&options, &definition, argc, argv);
  if (status >= 0) return status;
  int builtin = verb_option(&options, "builtin") != NULL;
  const char *path = options.operand_count ? options.operands[0] : "attest.yaml", *plan_only;
  if (builtin && options.operand_count)
    status = verb_usage_error("%s and --builtin: give one of them", path);
  else if (builtin && (plan_only = only_of_plans(&options)))
    status = verb_usage_error("--%s is for plans, not for --builtin", plan_only);
  else if (!builtin && !options.operand_count && access(path, R_OK))
    status = verb_usage_error("no plan: name one, put attest.yaml here, or say --builtin");
  else if (!(status = verb_set_threads(&options)) && !(status = verb_can_report(&options))) {
    verb_catch_interrupts();
    status = builtin ? run_suite(&r, &options) : verb_certify_plan(&r, &options, path);
  }
  report_clear(&r);
  verb_options_clear(&options);
  return status;
}
