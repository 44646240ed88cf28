/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest certify PLAN.yaml. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../certify/plan.h"
#include "internal.h"
#include "verbs.h"

typedef struct {
  report *r;
  const verb_options *options;
  const char *path;
  plan *p;
  plan_options how;
  progress *shown;
} planner;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* attest certify PLAN --case NAME, quoted for a shell. */
static char *replay_of(const planner *l, const char *name) {
  char *text = NULL;
  size_t size;
  FILE *f = open_memstream(&text, &size);
  if (!f) return NULL;
  fprintf(f, "attest certify ");
  verb_print_quoted(f, l->path);
  fprintf(f, " --case ");
  verb_print_quoted(f, name);
  return fclose(f) ? NULL : text;
}

/* Runs case i: 0, or 1 after Ctrl-C. */
static int run_case(planner *l, size_t i, const char *name) {
  attest_error error = {0};
  certify_case result;
  char said[1600];
  attest_status status = plan_run(&result, said, l->p, i, &l->how, &error);
  if (status) {
    certify_case_clear(&result);
    progress_hide(l->shown);
    fprintf(stderr, "attest: %s: %s\n", name, error.message);
    if (status == ATTEST_ERR_INTERRUPT) return 1;
    if (report_add_trouble(l->r, error.message)) verb_trouble(&error);
    return 0;
  }
  result.replay = replay_of(l, name);
  verb_print_case(&result, l->options, l->shown);
  if (said[0]) fprintf(stderr, "attest: subject: %s\n", said);
  l->r->seconds += result.seconds;
  if (report_add(l->r, &result)) report_add_trouble(l->r, "out of memory");
  return 0;
}

/* A step through all n cases that visits distant ones early: near n times the golden ratio, without
 * a factor in common. */
static size_t stride_of(size_t n) {
  size_t stride = (size_t)((double)n * 0.6180339887498949);
  for (;; stride++) {
    size_t a = n, b = stride ? stride : 1;
    while (b) {
      size_t rest = a % b;
      a = b;
      b = rest;
    }
    if (a == 1) return stride ? stride : 1;
  }
}

static void summarize(const planner *l, size_t done, size_t planned, double seconds) {
  size_t outputs[3], statements[3];
  report_count(outputs, statements, l->r);
  fprintf(stderr, "attest: %zu of %zu cases", done, planned);
  if (done < planned) fprintf(stderr, " (%.4f)", (double)done / (double)planned);
  fprintf(stderr, ", outputs: %zu certified, %zu refuted, %zu undecided; %zu skipped; %.1f s\n",
          outputs[ATTEST_CERTIFIED], outputs[ATTEST_REFUTED], outputs[ATTEST_UNDECIDED],
          report_skipped(l->r), seconds);
  if (done && report_skipped(l->r) == done)
    fprintf(stderr, "attest: nothing was compared: the subjects skipped every case\n");
}

/* In the order of the plan; with a budget in strides, until it is spent. What is not run counts. */
static int run_plan(planner *l, double budget) {
  const char *only = verb_option(l->options, "case");
  size_t n = plan_count(l->p), stride = budget > 0 ? stride_of(n) : 1, done = 0, planned = 0;
  double start = now();
  int interrupted = 0;
  l->shown = progress_start("certify", (int64_t)n);
  for (size_t k = 0; k < n; k++) {
    size_t i = k * stride % n; /* at most a million cases */
    char *name = plan_case_name(l->p, i);
    int wanted = name && (!only || !strcmp(only, name));
    planned += (size_t)wanted;
    interrupted |= verb_interrupted;
    if (wanted && !interrupted && (budget <= 0 || !done || now() - start < budget)) {
      interrupted = run_case(l, i, name);
      done += !interrupted;
    }
    progress_step(l->shown, 1);
    free(name);
  }
  progress_end(l->shown);
  if (only && !planned)
    return verb_usage_error("--case %s: the plan has no case of that name", only);
  l->r->interrupted = interrupted;
  l->r->planned = planned;
  l->r->begun = done;
  if (!verb_option(l->options, "quiet")) summarize(l, done, planned, now() - start);
  return verb_finish(l->r, l->options);
}

/* Whether a report would take the place of a file that the plan reads, after the complaint. */
static int overwrites(const plan *p, const verb_options *options) {
  static const char *const reports[] = {"json", "junit"};
  for (size_t i = 0; i < 2; i++) {
    const char *path = verb_option(options, reports[i]);
    const char *text = path ? plan_find_file(p, verb_is_same_file, path) : NULL;
    if (text)
      return verb_usage_error("--%s %s would overwrite %s, which the plan reads: name another file",
                              reports[i], path, text);
  }
  return 0;
}

int verb_certify_plan(report *r, const verb_options *options, const char *path) {
  const char *time = verb_option(options, "time"), *folder = verb_option(options, "data");
  char data[4096];
  long rows;
  double budget = 0;
  attest_error error;
  plan *p;
  if (time && subject_parse_seconds(&budget, time))
    return verb_usage_error("--time %s: a time such as 60s or 5m is wanted", time);
  if (verb_option_count(&rows, options, "rows", 0)) return EXIT_TROUBLE;
  if (plan_open(&p, path, &error)) return verb_trouble(&error);
  if (overwrites(p, options)) {
    plan_close(p);
    return EXIT_TROUBLE;
  }
  certify_options how = {.interrupted = &verb_interrupted, .rows = rows};
  int status = 0;
  const char *found = NULL;
  if (plan_needs_data(p)) {
    status = verb_find_data(data, folder, "stories260k/q.npy");
    found = data;
  }
  if (!status) {
    planner l = {r, options, path, p, {&how, found}, NULL};
    status = run_plan(&l, budget);
  }
  plan_close(p);
  return status;
}
