/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest certify: the built-in suite. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../certify/builtin.h"
#include "../certify/statements.h"
#include "internal.h"
#include "verbs.h"

static const verb_flag flags[] = {
    {"builtin", NULL, 0, "certify the suite's own float32 and float64 kernels"},
    {"data", "DIR", 0,
     "folder with stories260k/ (default: data, $ATTEST_DATA, or where attest is installed)"},
    {"json", "FILE", 0, "write the certificate"},
    {"junit", "FILE", 0, "write JUnit XML"},
    {"quiet", NULL, 0, "print no certified outputs"},
    {"threads", "N", 0, "worker threads (default: all processors)"},
};

static const verb_definition definition = {
    .usage = "attest certify --builtin [flags]",
    .summary =
        "Certifies the built-in kernels on the queries, keys and values of a real model and\n"
        "on synthetic rows: out and lse, bounds backward<=16 and theory; and decides statements\n"
        "about them. Plan files are not in this version.",
    .example = "  attest certify --builtin --json certificate.json",
    .flags = flags,
    .flag_count = sizeof flags / sizeof *flags,
    .operands_max = 1,
};

/* ---- the data folder ---- */

static int holds_data(const char *folder) {
  char path[4200];
  snprintf(path, sizeof path, "%s/stories260k/q.npy", folder);
  return access(path, R_OK) == 0;
}

/* PREFIX/share/attest/data for a command in PREFIX/bin: 0, or -1. */
static int installed_data(char folder[4096]) {
  ssize_t n = readlink("/proc/self/exe", folder, 4000);
  if (n <= 0) return -1;
  folder[n] = 0;
  for (int i = 0; i < 2; i++) {
    char *slash = strrchr(folder, '/');
    if (!slash) return -1;
    *slash = 0;
  }
  strcat(folder, "/share/attest/data");
  return 0;
}

/* 0 and the folder, or 2 after the complaint. */
static int find_data(char folder[4096], const verb_options *options) {
  const char *given = verb_option(options, "data"), *variable = getenv("ATTEST_DATA");
  const char *candidates[] = {given ? given : "data", given ? NULL : variable};
  for (size_t i = 0; i < 2; i++)
    if (candidates[i] && strlen(candidates[i]) < 4096 && holds_data(candidates[i])) {
      strcpy(folder, candidates[i]);
      return 0;
    }
  if (!given && !installed_data(folder) && holds_data(folder)) return 0;
  return verb_usage_error("%s/stories260k/q.npy cannot be read: name the folder with --data or "
                          "ATTEST_DATA",
                          given      ? given
                          : variable ? variable
                                     : "data");
}

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

/* The findings of statement i, printed. */
static void run_statement(report *r, size_t i, const char *folder, const verb_options *options,
                          progress *p) {
  attest_error error = {0};
  const problem_statement *statement = certify_statement(i);
  size_t first = r->statements.count;
  int quiet = verb_option(options, "quiet") != NULL;
  if (statement->run(&r->statements, statement, folder, &error)) {
    progress_hide(p);
    fprintf(stderr, "attest: %s: %s\n", statement->name, error.message);
    report_add_trouble(r, error.message);
  }
  progress_hide(p);
  for (size_t k = first; k < r->statements.count; k++) {
    char *line = report_statement_text(&r->statements.findings[k], quiet);
    if (line) fputs(line, stdout);
    free(line);
  }
  fflush(stdout);
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
  int status = find_data(folder, options);
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
  r->seconds = now() - start;
  progress_end(how.context);
  builtin_close(suite);
  r->interrupted = r->count + r->trouble_count < count || begun < statement_count;
  if (!verb_option(options, "quiet")) summarize(r, count);
  return verb_finish(r, options);
}

int verb_certify(int argc, char **argv) {
  verb_options options;
  report r = {0};
  int status = verb_options_parse(&options, &definition, argc, argv);
  if (status >= 0) return status;
  if (options.operand_count)
    status = verb_usage_error("%s: plan files are not in this version; attest certify --builtin "
                              "runs the built-in suite, attest check compares one output",
                              options.operands[0]);
  else if (!verb_option(&options, "builtin"))
    status = verb_usage_error("say --builtin (plan files are not in this version)");
  else if (!(status = verb_set_threads(&options)) && !(status = verb_can_report(&options))) {
    verb_catch_interrupts();
    status = run_suite(&r, &options);
  }
  report_clear(&r);
  verb_options_clear(&options);
  return status;
}
