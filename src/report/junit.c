/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* JUnit XML: a test case an output. Refuted is a failure; undecided and trouble are errors, never a
 * pass. */
#include <stdlib.h>
#include <string.h>

#include "report.h"

static void print_escaped(FILE *f, const char *text) {
  for (; *text; text++)
    switch (*text) {
    case '&':
      fputs("&amp;", f);
      break;
    case '<':
      fputs("&lt;", f);
      break;
    case '>':
      fputs("&gt;", f);
      break;
    case '"':
      fputs("&quot;", f);
      break;
    case '\'':
      fputs("&apos;", f);
      break;
    default: /* other control characters are not legal in XML, other bytes perhaps not UTF-8 */
      fputc((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f ? '?' : *text, f);
    }
}

static void print_attribute(FILE *f, const char *name, const char *text) {
  fprintf(f, " %s=\"", name);
  print_escaped(f, text);
  fputc('"', f);
}

/* The verdict line of one output without its newline. */
static char *line_of(const certify_case *c, const certify_subject_result *s, size_t k) {
  certify_subject_result one = *s;
  one.outputs[0] = s->outputs[k];
  one.output_count = 1;
  certify_case single = *c;
  single.subjects = &one;
  single.subject_count = 1;
  char *line = report_text(&single, 0);
  if (line) line[strcspn(line, "\n")] = 0;
  return line;
}

static void print_failure(FILE *f, attest_verdict verdict, const char *line) {
  if (verdict == ATTEST_CERTIFIED) return;
  fprintf(f, "\n    <%s", verdict == ATTEST_REFUTED ? "failure" : "error");
  print_attribute(f, "message", line);
  fprintf(f, "/>\n  ");
}

/* A subject that returned nothing to compare. */
static void print_no_output(FILE *f, const certify_case *c, const certify_subject_result *s) {
  fprintf(f, "  <testcase");
  print_attribute(f, "classname", c->name);
  print_attribute(f, "name", s->name ? s->name : "stored");
  fprintf(f, ">\n    <%s", s->outcome == CERTIFY_FAILED ? "failure" : "skipped");
  print_attribute(f, "message", s->detail);
  fprintf(f, "/>\n  </testcase>\n");
}

static attest_status print_case(FILE *f, const certify_case *c, attest_error *error) {
  for (size_t j = 0; j < c->subject_count; j++) {
    if (c->subjects[j].outcome != CERTIFY_COMPARED) print_no_output(f, c, &c->subjects[j]);
    for (size_t k = 0; k < c->subjects[j].output_count; k++) {
      const certify_subject_result *s = &c->subjects[j];
      const certify_output *o = &s->outputs[k];
      char *line = line_of(c, s, k), name[64];
      if (!line) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
      snprintf(name, sizeof name, "%s%s%s", s->name ? s->name : "", s->name ? " " : "",
               problem_output_names[o->output]);
      fprintf(f, "  <testcase");
      print_attribute(f, "classname", c->name);
      print_attribute(f, "name", name);
      fprintf(f, " time=\"%.3f\">", c->seconds);
      print_failure(f, o->verdict, line);
      fprintf(f, "</testcase>\n");
      free(line);
    }
  }
  return ATTEST_OK;
}

static void print_trouble(FILE *f, size_t number, const char *message) {
  fprintf(f, "  <testcase classname=\"trouble\" name=\"%zu\">\n    <error", number);
  print_attribute(f, "message", message);
  fprintf(f, "/>\n  </testcase>\n");
}

static attest_status print_statement(FILE *f, const statement_finding *finding,
                                     attest_error *error) {
  char *line = report_statement_text(finding, 0);
  if (!line) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  line[strcspn(line, "\n")] = 0;
  fprintf(f, "  <testcase");
  print_attribute(f, "classname", finding->statement);
  print_attribute(f, "name", finding->facts);
  fprintf(f, ">");
  print_failure(f, finding->verdict, line);
  fprintf(f, "</testcase>\n");
  free(line);
  return ATTEST_OK;
}

attest_status report_write_junit(const char *path, const report *r, attest_error *error) {
  tensor_writer *writer;
  attest_status status = tensor_writer_open(&writer, path, error);
  if (status) return status;
  FILE *f = tensor_writer_stream(writer);
  size_t counts[3], statements[3];
  report_count(counts, statements, r);
  for (int v = 0; v < 3; v++)
    counts[v] += statements[v];
  size_t troubles = r->trouble_count + (r->interrupted != 0), skipped = report_skipped(r);
  fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
  fprintf(f,
          "<testsuite name=\"attest\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
          "skipped=\"%zu\" time=\"%.3f\">\n",
          counts[0] + counts[1] + counts[2] + troubles + skipped, counts[ATTEST_REFUTED],
          counts[ATTEST_UNDECIDED] + troubles, skipped, r->seconds);
  for (size_t i = 0; i < r->count && !status; i++)
    status = print_case(f, &r->cases[i], error);
  for (size_t i = 0; i < r->statements.count && !status; i++)
    status = print_statement(f, &r->statements.findings[i], error);
  for (size_t i = 0; i < r->trouble_count; i++)
    print_trouble(f, i + 1, r->troubles[i]);
  if (r->interrupted) print_trouble(f, troubles, "interrupted: not all cases were begun");
  fprintf(f, "</testsuite>\n");
  if (status) {
    tensor_writer_abort(writer);
    return status;
  }
  return tensor_writer_commit(writer, error);
}
