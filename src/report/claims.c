/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "claims.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../tensor/file.h"
#include "write.h"

/* ---- text ---- */

/* The text with blanks left out. */
static void print_word(FILE *stream, const char *text) {
  for (; *text; text++)
    if (*text != ' ') fputc(*text, stream);
}

static void print_enclosure(FILE *stream, const claim_result *r) {
  for (size_t i = 0; i < r->count; i++) {
    fprintf(stream, "%s%s", i ? "," : " value=", r->low[i]);
    if (strcmp(r->low[i], r->high[i])) fprintf(stream, "..%s", r->high[i]);
  }
}

void report_claim_text(FILE *stream, const claim_result *r, const claim *c, int explain) {
  for (const char *s = claim_verdict_names[r->verdict]; *s; s++)
    fputc(toupper((unsigned char)*s), stream);
  fprintf(stream, " claim=");
  print_word(stream, r->id);
  if (r->printed) {
    fprintf(stream, " printed=");
    print_word(stream, r->printed);
  }
  print_enclosure(stream, r);
  if (r->verdict != r->expected) fprintf(stream, " expected=%s", claim_verdict_names[r->expected]);
  fputc('\n', stream);
  if (!explain) return;
  fprintf(stream, "  claim: %s\n", c->statement);
  if (c->source) fprintf(stream, "  source: %s\n", c->source);
  if (r->note) fprintf(stream, "  found: %s\n", r->note);
}

/* ---- JSON ---- */

struct report_claims {
  json_t *array;
};

report_claims *report_claims_new(void) {
  report_claims *r = malloc(sizeof *r);
  if (r) r->array = json_array();
  return r;
}

void report_claims_free(report_claims *r) {
  if (r) json_decref(r->array);
  free(r);
}

static json_t *text_of(const char *text) {
  json_t *s = text ? json_string(text) : json_null();
  return s ? s : json_string("(not UTF-8)");
}

/* One text, or the list of them. */
static json_t *ends_of(char *const *texts, size_t count) {
  if (count == 1) return text_of(texts[0]);
  json_t *array = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(array, text_of(texts[i]));
  return array;
}

void report_claims_add(report_claims *r, const claim_result *result, const claim *c) {
  json_t *enclosure = result->count
                          ? json_pack("{s:o, s:o}", "lo", ends_of(result->low, result->count), "hi",
                                      ends_of(result->high, result->count))
                          : json_null();
  json_array_append_new(r->array, json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "id",
                                            text_of(result->id), "verdict",
                                            claim_verdict_names[result->verdict], "expected",
                                            claim_verdict_names[result->expected], "printed",
                                            text_of(result->printed), "enclosure", enclosure,
                                            "note", text_of(result->note), "statement",
                                            text_of(c->statement), "source", text_of(c->source)));
}

attest_status report_claims_write(const char *path, const report_claims *r, attest_error *error) {
  return report_write_text(path, json_dumps(r->array, JSON_INDENT(1)), error);
}
