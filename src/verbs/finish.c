/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What check and certify share: flags, Ctrl-C, progress, verdict lines, report files. */
#include <ctype.h>
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "verbs.h"

volatile sig_atomic_t verb_interrupted;

static void on_signal(int number) {
  (void)number;
  verb_interrupted = 1;
}

void verb_catch_interrupts(void) {
  /* The first one ends the work and leaves a report, the second one ends the program. */
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
}

int verb_set_threads(const verb_options *options) {
  long threads;
  int status = verb_option_count(&threads, options, "threads", 0);
  if (!status && threads > 1024) return verb_usage_error("--threads %ld: at most 1024", threads);
  if (!status && threads) omp_set_num_threads((int)threads);
  return status;
}

int verb_can_report(const verb_options *options) {
  static const char *const reports[] = {"json", "junit", "html"};
  for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
    const char *path = verb_option(options, reports[i]);
    tensor_writer *writer;
    attest_error error;
    if (!path) continue;
    if (tensor_writer_open(&writer, path, &error)) return verb_trouble(&error);
    tensor_writer_abort(writer);
  }
  return 0;
}

void verb_print_case(const certify_case *c, const verb_options *options, progress *p) {
  char *text = report_text(c, verb_option(options, "quiet") != NULL);
  progress_hide(p);
  if (text) fputs(text, stdout);
  fflush(stdout);
  for (size_t i = 0; i < c->diagnosis_count; i++)
    fprintf(stderr, "attest: diagnosis: %s\n", c->diagnosis[i]);
  if (certify_case_verdict(c) == ATTEST_REFUTED && c->replay)
    fprintf(stderr, "attest: replay: %s\n", c->replay);
  free(text);
}

void verb_print_quoted(FILE *f, const char *word) {
  int plain = *word != 0;
  for (const char *c = word; *c; c++)
    plain &= isalnum((unsigned char)*c) || strchr("-_=+./,:@%", *c) != NULL;
  if (plain) {
    fputs(word, f);
    return;
  }
  fputc('\'', f);
  for (; *word; word++)
    fputs(*word == '\'' ? "'\\''" : (char[2]){*word, 0}, f);
  fputc('\'', f);
}

int verb_finish(report *r, const verb_options *options) {
  const char *json = verb_option(options, "json"), *junit = verb_option(options, "junit");
  const char *github = getenv("GITHUB_ACTIONS");
  attest_error error;
  int status = report_exit_status(r);
  /* The runner reads commands from standard error too, and standard output stays as it is. */
  if (github && *github) report_github(stderr, getenv("GITHUB_STEP_SUMMARY"), r);
  if (json && status != EXIT_TROUBLE && report_write_json(json, r, &error)) {
    verb_trouble(&error);
    status = status == EXIT_REFUTED ? EXIT_REFUTED : EXIT_TROUBLE;
  }
  if (junit && report_write_junit(junit, r, &error)) {
    verb_trouble(&error);
    status = status == EXIT_REFUTED ? EXIT_REFUTED : EXIT_TROUBLE;
  }
  return status;
}
