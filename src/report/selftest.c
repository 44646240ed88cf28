/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "selftest.h"

#include <jansson.h>

#include "write.h"

/* ---- JSON ---- */

/* The names of the rules that find it, or that do not. */
static json_t *rules_of(const selftest_result *r, unsigned wanted) {
  json_t *list = json_array();
  for (int rule = 0; rule < SELFTEST_RULES; rule++)
    if ((r->rules >> rule & 1) == wanted)
      json_array_append_new(list, json_string(selftest_rule_names[rule]));
  return list;
}

static json_t *row_of(const selftest_row *row) {
  const selftest_result *r = &row->result;
  json_t *o = json_pack("{s:s, s:s, s:b, s:b, s:s, s:s}", "name", row->mutant->name, "family",
                        row->mutant->family, "applied", r->applied, "killed",
                        r->killed && r->applied, "by", r->by, "error", r->error);
  if (!o || !r->is_kernel) return o;
  json_object_set_new(o, "cases", json_integer((json_int_t)r->cases));
  json_object_set_new(o, "differing", json_integer((json_int_t)r->differing));
  json_object_set_new(o, "found_by", rules_of(r, 1));
  json_object_set_new(o, "passed_by", rules_of(r, 0));
  return o;
}

static json_t *totals_of(const selftest_totals *t) {
  return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "mutants", (json_int_t)t->mutants,
                   "killed", (json_int_t)t->killed, "not_applied", (json_int_t)t->not_applied,
                   "sound", (json_int_t)t->sound, "sound_refuted", (json_int_t)t->sound_failed,
                   "known", (json_int_t)t->known, "known_wrong", (json_int_t)t->known_wrong,
                   "inputs", t->digest);
}

static json_t *scores_of(const selftest_totals *t) {
  json_t *list = json_array();
  for (int rule = 0; rule < SELFTEST_RULES; rule++)
    json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I}", "rule", selftest_rule_names[rule],
                                          "found", (json_int_t)t->found[rule], "passed",
                                          (json_int_t)(t->kernel_mutants - t->found[rule]),
                                          "sound_rejected", (json_int_t)t->rejected[rule]));
  return list;
}

attest_status report_selftest_json(const char *path, const selftest_matrix *m,
                                   attest_error *error) {
  json_t *rows = json_array();
  for (size_t i = 0; i < m->count; i++)
    json_array_append_new(rows, row_of(&m->rows[i]));
  json_t *document =
      json_pack("{s:s, s:o, s:o, s:o}", "schema", "attest-selftest/1", "mutants", rows, "rules",
                scores_of(&m->totals), "totals", totals_of(&m->totals));
  char *text = document ? json_dumps(document, JSON_INDENT(1)) : NULL;
  json_decref(document);
  return report_write_text(path, text, error);
}

/* ---- HTML: names of mutants, families and rules need no escapes ---- */

static void put_row(FILE *f, const selftest_row *row) {
  const selftest_result *r = &row->result;
  int killed = r->killed && r->applied;
  fprintf(f, "<tr><td>%s</td><td>%s</td><td class=\"%s\">%s %s</td>", row->mutant->name,
          row->mutant->family, killed ? "y" : "n", killed ? "killed" : "survived", r->error);
  for (int rule = 0; rule < SELFTEST_RULES; rule++)
    fputs(!r->is_kernel          ? "<td></td>"
          : r->rules >> rule & 1 ? "<td class=\"y\">found</td>"
                                 : "<td class=\"n\">passed</td>",
          f);
  fputs("</tr>\n", f);
}

static void put_totals(FILE *f, const selftest_totals *t) {
  fprintf(f, "<tr><th>%zu of kernels: found</th><th></th><th>%zu of %zu</th>", t->kernel_mutants,
          t->killed, t->mutants);
  for (int rule = 0; rule < SELFTEST_RULES; rule++)
    fprintf(f, "<th>%zu</th>", t->found[rule]);
  fprintf(f, "</tr>\n<tr><th>%zu sound cases: rejected</th><th></th><th>%zu</th>", t->sound,
          t->sound_failed);
  for (int rule = 0; rule < SELFTEST_RULES; rule++)
    fprintf(f, "<th>%zu</th>", t->rejected[rule]);
  fputs("</tr>\n", f);
}

attest_status report_selftest_html(const char *path, const selftest_matrix *m,
                                   attest_error *error) {
  tensor_writer *writer;
  attest_status status = tensor_writer_open(&writer, path, error);
  if (status) return status;
  FILE *f = tensor_writer_stream(writer);
  fputs("<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>attest selftest</title>\n"
        "<style>table{border-collapse:collapse;font:13px sans-serif}td,th{border:1px solid #ccc;"
        "padding:2px 6px;text-align:left}.y{background:#dfd}.n{background:#fdd}</style>\n"
        "<table>\n<tr><th>mutant</th><th>family</th><th>attest</th>",
        f);
  for (int rule = 0; rule < SELFTEST_RULES; rule++)
    fprintf(f, "<th>%s</th>", selftest_rule_names[rule]);
  fputs("</tr>\n", f);
  put_totals(f, &m->totals);
  for (size_t i = 0; i < m->count; i++)
    put_row(f, &m->rows[i]);
  fputs("</table>\n", f);
  return tensor_writer_commit(writer, error);
}
