/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest selftest: the certifier on trial. */
#include "../report/selftest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../subject/watcher.h"
#include "internal.h"
#include "verbs.h"

static const verb_flag flags[] = {
    {"mutant", "NAME", 1, "try only this mutant (repeats)"},
    {"json", "FILE", 0, "write what became of every mutant, rule by rule"},
    {"html", "FILE", 0, "the same as a table to look at"},
};

static const verb_definition definition = {
    .usage = "attest selftest [--mutant NAME]... [--json FILE] [--html FILE]",
    .summary =
        "Puts the certifier itself to the test, on one frozen plan: its bounds, at most 8 times "
        "what\n"
        "the sound kernels need, must certify every sound kernel and refute every mutant, a copy\n"
        "of the sources with one mistake built in; mutants of the comparator must get a verdict\n"
        "wrong that is known. Says which mutants the usual rules let pass.\n"
        "Exits 0 when all mutants are killed and everything sound is certified, else 1.",
    .example = "  attest selftest",
    .flags = flags,
    .flag_count = sizeof flags / sizeof *flags,
};

/* "float32" is said as a suffix, as in names of subjects. */
static void print_sound(const selftest_sound *s) {
  for (size_t i = 0; i < s->output_count; i++) {
    double measured = s->outputs[i].measured, limit = s->outputs[i].limit;
    printf("%s kernel=%s case=%s subject=%s output=%s %s=%.4g bound=%s<=%.4g ratio=%.3g\n",
           s->verdict == ATTEST_CERTIFIED ? "SOUND" : "SOUND-NOT-CERTIFIED", s->kernel, s->name,
           tensor_dtype_name(s->dtype), s->outputs[i].output, measure_names[s->outputs[i].measure],
           measured, measure_names[s->outputs[i].measure], limit,
           measured > 0 ? limit / measured : 1.0);
  }
  if (!s->same)
    printf("SOUND-DIFFERS kernel=%s case=%s subject=%s: the copy that mutants are built into\n",
           s->kernel, s->name, tensor_dtype_name(s->dtype));
}

/* "allclose-1e-3,abs-0.3" */
static void print_rules(unsigned found) {
  const char *comma = "";
  for (int rule = 0; rule < SELFTEST_RULES; rule++)
    if (!(found >> rule & 1)) {
      printf("%s%s", comma, selftest_rule_names[rule]);
      comma = ",";
    }
  if (!*comma) printf("none");
}

static void print_mutant(const mutant *m, const selftest_result *r) {
  printf("%s mutant=%s family=%s", r->killed && r->applied ? "KILLED" : "SURVIVED", m->name,
         m->family);
  if (m->found < m->wanted)
    printf(" applied=no:%d-of-%d-places-are-in-the-sources", m->found, m->wanted);
  else if (!r->applied)
    printf(" applied=no:nothing-differs");
  if (r->is_kernel) printf(" differs=%zu/%zu", r->differing, r->cases);
  if (*r->by) printf(" by=%s", r->by);
  if (*r->error) printf(" error=%s", r->error);
  if (r->is_kernel && r->killed) {
    printf(" passed-by=");
    print_rules(r->rules);
  }
  printf("\n");
  fflush(stdout);
}

static void print_totals(const selftest_totals *t, double seconds) {
  for (int rule = 0; rule < SELFTEST_RULES; rule++)
    printf(
        "RULE rule=%s kernel-mutants=%zu found=%zu passed=%zu sound-cases=%zu sound-rejected=%zu\n",
        selftest_rule_names[rule], t->kernel_mutants, t->found[rule],
        t->kernel_mutants - t->found[rule], t->sound, t->rejected[rule]);
  printf("TOTAL mutants=%zu killed=%zu survived=%zu not-applied=%zu sound=%zu sound-refuted=%zu "
         "known=%zu known-wrong=%zu largest-bound/measured=%.3g inputs=%s\n",
         t->mutants, t->killed, t->mutants - t->killed, t->not_applied, t->sound, t->sound_failed,
         t->known, t->known_wrong, t->ratio, t->digest);
  fprintf(stderr, "attest: selftest: %.1f s\n", seconds);
}

static int is_asked(const verb_options *options, const char *name) {
  const char *asked = verb_option_nth(options, "mutant", 0);
  if (!asked) return 1;
  for (size_t n = 0; (asked = verb_option_nth(options, "mutant", n)); n++)
    if (!strcmp(asked, name)) return 1;
  return 0;
}

static int check_names(const verb_options *options) {
  const char *asked;
  for (size_t n = 0; (asked = verb_option_nth(options, "mutant", n)); n++) {
    size_t m = 0;
    while (m < certify_mutants.count && strcmp(certify_mutants.list[m].name, asked))
      m++;
    if (m == certify_mutants.count)
      return verb_usage_error("no mutant is called %s: attest selftest lists them", asked);
  }
  return 0;
}

static attest_status run(selftest_matrix *matrix, const verb_options *options,
                         attest_error *error) {
  selftest *test;
  selftest_totals *totals = &matrix->totals;
  /* It removes the folder of the stored outputs when this process is killed. */
  attest_status status = watcher_start(error);
  if (status) return status;
  status = selftest_open(&test, &certify_mutants, error);
  if (!status) status = selftest_begin(totals, test, error);
  for (size_t i = 0; i < selftest_plan_count && !status; i++)
    print_sound(selftest_sound_case(totals, test, i));
  for (size_t i = 0; i < totals->known && !status; i++) {
    const char *wrong = selftest_known_wrong(totals, test, i);
    if (wrong) printf("KNOWN-WRONG output=%s\n", wrong);
  }
  for (size_t m = 0; m < certify_mutants.count && !status; m++) {
    selftest_row *row = &matrix->rows[matrix->count];
    row->mutant = &certify_mutants.list[m];
    if (!is_asked(options, row->mutant->name)) continue;
    status = selftest_run_mutant(&row->result, totals, test, m, error);
    if (status) break;
    print_mutant(row->mutant, &row->result);
    matrix->count++;
  }
  selftest_close(test);
  return status;
}

static attest_status write_files(const selftest_matrix *matrix, const verb_options *options,
                                 attest_error *error) {
  const char *json = verb_option(options, "json"), *html = verb_option(options, "html");
  attest_status status = json ? report_selftest_json(json, matrix, error) : ATTEST_OK;
  if (!status && html) status = report_selftest_html(html, matrix, error);
  return status;
}

static int run_and_tell(const verb_options *options) {
  attest_error error;
  struct timespec begin, end;
  selftest_matrix matrix = {.rows = calloc(certify_mutants.count, sizeof *matrix.rows)};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  attest_status status = matrix.rows ? run(&matrix, options, &error)
                                     : attest_fail(&error, ATTEST_ERR_MEMORY, "out of memory");
  if (!status) {
    clock_gettime(CLOCK_MONOTONIC, &end);
    print_totals(&matrix.totals, (double)(end.tv_sec - begin.tv_sec) +
                                     (double)(end.tv_nsec - begin.tv_nsec) * 1e-9);
    status = write_files(&matrix, options, &error);
  }
  free(matrix.rows);
  if (status) return verb_trouble(&error);
  return selftest_holds(&matrix.totals) ? EXIT_HOLDS : EXIT_REFUTED;
}

int verb_selftest(int argc, char **argv) {
  verb_options options;
  int status = verb_options_parse(&options, &definition, argc, argv);
  if (status >= 0) return status;
  status = check_names(&options);
  if (!status) status = verb_can_report(&options);
  if (!status) status = run_and_tell(&options);
  verb_options_clear(&options);
  return status;
}
