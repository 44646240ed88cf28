/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What GitHub shows of a run: an annotation for each output that is not certified, and a summary.
 */
#include <stdlib.h>
#include <string.h>

#include "report.h"

enum { ROWS_MAX = 50 };

/* Workflow commands end at a line, and take % for an escape. */
static void print_message(FILE *f, const char *text) {
  for (; *text; text++)
    if (*text == '%' || *text == '\r' || *text == '\n')
      fprintf(f, "%%%02X", (unsigned)*text);
    else
      fputc(*text, f);
}

static void annotate(FILE *f, attest_verdict verdict, const char *line) {
  fprintf(f, "::%s title=attest::", verdict == ATTEST_REFUTED ? "error" : "warning");
  print_message(f, line);
  fputc('\n', f);
}

/* A cell of a table: no bars, no markup. */
static void print_cell(FILE *f, const char *text) {
  fputs(" `", f);
  for (; *text; text++)
    fputc(*text == '|' || *text == '`' || *text == '\n' ? ' ' : *text, f);
  fputs("` |", f);
}

static void print_row(FILE *f, size_t *rows, const char *verdict, const char *where,
                      const char *what) {
  if (!*rows) fputs("| verdict | case | line |\n|---|---|---|\n", f);
  if ((*rows)++ >= ROWS_MAX) return;
  fputc('|', f);
  print_cell(f, verdict);
  print_cell(f, where);
  print_cell(f, what);
  fputc('\n', f);
}

/* The verdict lines of a case that are no certificates, one by one. */
static void visit_case(FILE *annotations, FILE *summary, size_t *rows, const certify_case *c) {
  char *text = report_text(c, 1), *rest = text, *line;
  if (certify_case_outcome(c) == ATTEST_CERTIFIED) {
    free(text);
    return;
  }
  while (text && (line = strsep(&rest, "\n"))) {
    if (!*line) continue;
    attest_verdict verdict = strncmp(line, "REFUTED", 7) ? ATTEST_UNDECIDED : ATTEST_REFUTED;
    annotate(annotations, verdict, line);
    if (summary) print_row(summary, rows, report_verdict_name(verdict), c->name, line);
  }
  free(text);
}

static void print_counts(FILE *f, const report *r) {
  size_t outputs[3], statements[3];
  report_count(outputs, statements, r);
  fprintf(f, "### attest\n\n%zu certified, %zu refuted, %zu undecided, %zu skipped, %zu in trouble",
          outputs[ATTEST_CERTIFIED] + statements[ATTEST_CERTIFIED],
          outputs[ATTEST_REFUTED] + statements[ATTEST_REFUTED],
          outputs[ATTEST_UNDECIDED] + statements[ATTEST_UNDECIDED], report_skipped(r),
          r->trouble_count);
  if (r->begun < r->planned) fprintf(f, "; %zu of %zu cases were run", r->begun, r->planned);
  fputs(".\n\n", f);
}

void report_github(FILE *annotations, const char *summary_path, const report *r) {
  FILE *summary = summary_path ? fopen(summary_path, "ae") : NULL;
  size_t rows = 0;
  if (summary) print_counts(summary, r);
  for (size_t i = 0; i < r->count; i++)
    visit_case(annotations, summary, &rows, &r->cases[i]);
  for (size_t i = 0; i < r->statements.count; i++) {
    const statement_finding *f = &r->statements.findings[i];
    if (f->verdict == ATTEST_CERTIFIED) continue;
    annotate(annotations, f->verdict, f->facts);
    if (summary) print_row(summary, &rows, report_verdict_name(f->verdict), f->statement, f->facts);
  }
  for (size_t i = 0; i < r->trouble_count; i++) {
    annotate(annotations, ATTEST_REFUTED, r->troubles[i]);
    if (summary) print_row(summary, &rows, "trouble", "", r->troubles[i]);
  }
  if (!summary) return;
  if (rows > ROWS_MAX) fprintf(summary, "\nand %zu more\n", rows - ROWS_MAX);
  fclose(summary);
}
