/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The certificate as JSON, schema attest/1. Canonical: everything but "environment" and "timing".
 * Infinities and NaN are strings, errors that were not measured are null. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../certify/theorems.h"
#include "../tensor/isa.h"
#include "report.h"
#include "write.h"

/* Jansson takes UTF-8 only; other bytes become question marks. */
static json_t *string_of(const char *text) {
  json_t *s = json_string(text);
  char *copy;
  if (s || !(copy = strdup(text))) return s;
  for (char *c = copy; *c; c++)
    if ((unsigned char)*c >= 0x80) *c = '?';
  s = json_string(copy);
  free(copy);
  return s;
}

static json_t *number_of(double x) {
  return isnan(x)   ? json_string("nan")
         : isinf(x) ? json_string(x > 0 ? "inf" : "-inf")
                    : json_real(x);
}

static json_t *index_of(const int64_t index[], int ndim) {
  json_t *array = json_array();
  for (int i = 0; i < ndim; i++)
    json_array_append_new(array, json_integer(index[i]));
  return array;
}

static json_t *error_of(const certify_error *e, int ndim) {
  if (!e->measured) return json_null();
  json_t *o = json_pack("{s:o, s:o}", "lo", number_of(e->lo), "hi", number_of(e->hi));
  if (e->has_index) json_object_set_new(o, "index", index_of(e->index, ndim));
  return o;
}

static json_t *errors_of(const certify_output *o) {
  json_t *errors = json_object();
  for (int m = 0; m < MEASURE_COUNT; m++)
    json_object_set_new(errors, measure_names[m], error_of(&o->error[m], o->ndim));
  return errors;
}

static json_t *bounds_of(const certify_output *o) {
  json_t *bounds = json_array();
  for (size_t i = 0; i < o->bound_count; i++)
    json_array_append_new(bounds, json_pack("{s:o, s:s}", "bound", string_of(o->bounds[i].text),
                                            "verdict", report_verdict_name(o->bounds[i].verdict)));
  return bounds;
}

/* All bounds in one string, separated by semicolons. */
static json_t *bound_text(const certify_output *o) {
  size_t length = 1;
  for (size_t i = 0; i < o->bound_count; i++)
    length += strlen(o->bounds[i].text) + 1;
  char *text = calloc(length, 1);
  if (!text) return NULL;
  for (size_t i = 0; i < o->bound_count; i++) {
    if (i) strcat(text, ";");
    strcat(text, o->bounds[i].text);
  }
  json_t *s = string_of(text);
  free(text);
  return s;
}

static json_t *worst_of(const certify_output *o) {
  char hex[64];
  if (!o->has_worst) return json_null();
  snprintf(hex, sizeof hex, "%a", o->worst_got);
  return json_pack("{s:o, s:o, s:s, s:o, s:o}", "index", index_of(o->worst_index, o->ndim), "got",
                   number_of(o->worst_got), "got_hex", hex, "lo", number_of(o->worst_lo), "hi",
                   number_of(o->worst_hi));
}

static json_t *output_of(const certify_case *c, const certify_output *o) {
  char scope[32], why[96], basis[THEOREM_BASIS];
  theorem_output_basis(basis, &certify_theorems, c, o);
  json_t *counts = json_pack("{s:I, s:I, s:I, s:I}", "compared", (json_int_t)o->compared,
                             "certified", (json_int_t)o->certified, "refuted",
                             (json_int_t)o->refuted, "undecided", (json_int_t)o->undecided);
  if (o->ill_posed)
    json_object_set_new(counts, "ill_posed_rows", json_integer((json_int_t)o->ill_posed));
  if (o->account.has_recomputed)
    json_object_set_new(counts, "recomputed_rows", json_integer((json_int_t)o->account.recomputed));
  json_t *roundoff =
      json_pack("{s:f, s:f}", "weights", o->roundoff_weights, "scores", o->roundoff_scores);
  json_t *result = json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s}", "name",
                             problem_output_names[o->output], "dtype", tensor_dtype_name(o->dtype),
                             "verdict", report_verdict_name(o->verdict), "elements",
                             (json_int_t)o->elements, "error", errors_of(o), "bound", bound_text(o),
                             "bounds", bounds_of(o), "worst", worst_of(o), "counts", counts,
                             "roundoff", roundoff, "scope", report_scope(scope, o), "basis", basis);
  if (o->account.has_leak) json_object_set_new(result, "leak", number_of(o->account.leak));
  if (*report_why(why, o)) json_object_set_new(result, "why", json_string(why));
  return result;
}

static json_t *inputs_of(const certify_case *c) {
  json_t *inputs = json_object();
  for (size_t i = 0; i < c->input_count; i++) {
    const certify_input *in = &c->inputs[i];
    json_object_set_new(inputs, in->name,
                        json_pack("{s:o, s:s}", "file",
                                  in->file ? string_of(in->file) : json_null(), "sha256",
                                  in->sha256));
  }
  return inputs;
}

static json_t *params_of(const certify_case *c) {
  json_t *params = json_object();
  for (size_t i = 0; i < c->param_count; i++)
    json_object_set_new(params, c->param_names[i], string_of(c->param_texts[i]));
  return params;
}

static json_t *case_of(const certify_case *c, const certify_subject_result *s) {
  json_t *outputs = json_array();
  for (size_t k = 0; k < s->output_count; k++)
    json_array_append_new(outputs, output_of(c, &s->outputs[k]));
  json_t *result =
      json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "kernel", c->kernel, "case", string_of(c->name),
                "params", params_of(c), "subject", string_of(s->name ? s->name : "stored"),
                "outputs", outputs, "inputs", inputs_of(c));
  if (s->outcome != CERTIFY_COMPARED)
    json_object_set_new(
        result, s->outcome == CERTIFY_FAILED ? "failure" : "skipped",
        json_pack("{s:o, s:o}", "reason", string_of(s->reason), "detail", string_of(s->detail)));
  if (c->has_expected)
    json_object_set_new(result, "expect", json_string(report_verdict_name(c->expected)));
  if (c->diagnosis_count) {
    json_t *lines = json_array();
    for (size_t i = 0; i < c->diagnosis_count; i++)
      json_array_append_new(lines, json_string(c->diagnosis[i]));
    json_object_set_new(result, "diagnosis", lines);
  }
  if (c->replay) json_object_set_new(result, "replay", string_of(c->replay));
  return result;
}

/* ---- the whole document ---- */

static json_t *totals_of(const report *r) {
  json_int_t elements = 0;
  size_t outputs[3], statements[3];
  report_count(outputs, statements, r);
  for (size_t i = 0; i < r->count; i++)
    for (size_t j = 0; j < r->cases[i].subject_count; j++)
      for (size_t k = 0; k < r->cases[i].subjects[j].output_count; k++)
        elements += r->cases[i].subjects[j].outputs[k].elements;
  json_int_t count[3];
  for (int v = 0; v < 3; v++)
    count[v] = (json_int_t)(outputs[v] + statements[v]);
  json_t *totals =
      json_pack("{s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "interrupted", r->interrupted,
                "outputs", (json_int_t)(outputs[0] + outputs[1] + outputs[2]), "statements",
                (json_int_t)r->statements.count, "certified", count[0], "refuted", count[1],
                "undecided", count[2], "skipped", (json_int_t)report_skipped(r), "trouble",
                (json_int_t)r->trouble_count, "elements", elements);
  if (r->planned)
    json_object_set_new(
        totals, "plan",
        json_pack("{s:I, s:I}", "cases", (json_int_t)r->planned, "run", (json_int_t)r->begun));
  return totals;
}

/* "key=value key=value" as an object of strings. */
static json_t *facts_of(const char *facts) {
  json_t *object = json_object();
  while (*facts) {
    size_t key = strcspn(facts, "= "), start = key + (facts[key] == '=');
    size_t value = strcspn(facts + start, " ");
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)key, facts);
    json_object_set_new(object, name, json_stringn(facts + start, value));
    facts += start + value;
    facts += *facts == ' ';
  }
  return object;
}

static json_t *statements_of(const report *r) {
  json_t *array = json_array();
  for (size_t i = 0; i < r->statements.count; i++) {
    const statement_finding *f = &r->statements.findings[i];
    char basis[THEOREM_BASIS];
    theorem_statement_basis(basis, &certify_theorems, f);
    json_array_append_new(
        array, json_pack("{s:s, s:s, s:s, s:o, s:s, s:s}", "kernel", f->kernel, "statement",
                         f->statement, "verdict", report_verdict_name(f->verdict), "facts",
                         facts_of(f->facts), "scope", "instance", "basis", basis));
  }
  return array;
}

/* "model name" of the first processor. */
static json_t *processor(void) {
  char line[512];
  FILE *f = fopen("/proc/cpuinfo", "r");
  json_t *name = NULL;
  while (f && !name && fgets(line, sizeof line, f)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) || !colon) continue;
    colon[strcspn(colon, "\n")] = 0;
    name = string_of(colon[1] ? colon + 2 : "");
  }
  if (f) fclose(f);
  return name ? name : json_null();
}

#ifdef __clang__
#define COMPILER __VERSION__ /* starts with the name */
#else
#define COMPILER "gcc " __VERSION__
#endif

static json_t *environment_of(const report *r) {
  return json_pack("{s:s, s:s, s:s, s:s, s:i, s:o}", "version", ATTEST_VERSION, "compiler",
                   COMPILER, "flint", FLINT_VERSION, "isa", isa_name(isa_chosen()), "threads",
                   r->count ? r->cases[0].threads : 1, "cpu", processor());
}

static json_t *tiers_of(const certify_case *c) {
  json_t *tiers = json_object();
  for (int t = 0; t < TIER_COUNT; t++) {
    json_int_t n = 0;
    for (size_t i = 0; i < c->subject_count; i++)
      for (size_t k = 0; k < c->subjects[i].output_count; k++)
        n += c->subjects[i].outputs[k].tiers[t];
    json_object_set_new(tiers, enclosure_ladder[t].name, json_integer(n));
  }
  return tiers;
}

static json_t *timing_of(const report *r) {
  json_t *cases = json_array();
  for (size_t i = 0; i < r->count; i++)
    json_array_append_new(cases, json_pack("{s:o, s:f, s:o}", "case", string_of(r->cases[i].name),
                                           "seconds", r->cases[i].seconds, "elements_by_tier",
                                           tiers_of(&r->cases[i])));
  return json_pack("{s:f, s:o}", "seconds", r->seconds, "cases", cases);
}

char *report_json(const report *r) {
  json_t *cases = json_array();
  for (size_t i = 0; i < r->count; i++)
    for (size_t j = 0; j < r->cases[i].subject_count; j++)
      json_array_append_new(cases, case_of(&r->cases[i], &r->cases[i].subjects[j]));
  json_t *document = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "schema", "attest/1", "cases",
                               cases, "statements", statements_of(r), "totals", totals_of(r),
                               "environment", environment_of(r), "timing", timing_of(r));
  char *text = document ? json_dumps(document, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(document);
  return text;
}

attest_status report_write_json(const char *path, const report *r, attest_error *error) {
  return report_write_text(path, report_json(r), error);
}
