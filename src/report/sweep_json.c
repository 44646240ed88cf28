/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The certificate of a sweep as JSON, schema attest-sweep/1. Inputs and results are bit patterns
 * ("0x3f800000"); infinities and NaN are strings. */
#include <jansson.h>
#include <math.h>
#include <mpfr.h>

#include "../certify/sweep_order.h"
#include "../certify/theorems.h"
#include "../tensor/isa.h"
#include "report.h"
#include "sweep.h"
#include "write.h"

static json_t *number_of(double x) {
  return isnan(x)   ? json_string("nan")
         : isinf(x) ? json_string(x > 0 ? "inf" : "-inf")
                    : json_real(x);
}

static json_t *bits_of(uint32_t bits) {
  char text[16];
  snprintf(text, sizeof text, "0x%08x", bits);
  return json_string(text);
}

static json_t *hex_of(double x) {
  char text[40];
  snprintf(text, sizeof text, "%a", x);
  return json_string(text);
}

static json_t *count_of(uint64_t n) {
  return json_integer((json_int_t)n);
}

static json_t *error_of(const sweep_error *e) {
  return json_pack("{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "lo", number_of(e->lo), "hi",
                   number_of(e->hi), "refined", e->is_refined, "input",
                   bits_of(sweep_bits_of_key(e->key)), "input_hex",
                   hex_of((double)sweep_float(e->key)), "got", bits_of(e->got), "exact_lo",
                   number_of(e->exact[0]), "exact_hi", number_of(e->exact[1]));
}

static json_t *histogram_of(const sweep_record *r) {
  json_t *bins = json_array();
  for (int b = 0; b < SWEEP_BINS; b++)
    json_array_append_new(bins, count_of(r->bins[b]));
  return bins;
}

/* "unresolved" only where there are some. */
static json_t *counts_of(const sweep_record *r) {
  json_t *counts = json_pack(
      "{s:o, s:o, s:o, s:o, s:o, s:o}", "compared", count_of(sweep_record_compared(r)),
      "misrounded", count_of(r->misrounded), "disorder", count_of(r->disorder), "wrong_sign",
      count_of(r->wrong_sign), "flushed", count_of(r->flushed), "outside", count_of(r->outside));
  if (r->unresolved) json_object_set_new(counts, "unresolved", count_of(r->unresolved));
  return counts;
}

static json_t *binades_of(const sweep_result *result) {
  json_t *array = json_array();
  for (int i = 0; i < SWEEP_BINADES; i++) {
    /* Negative ones first, the largest before the smallest. */
    int at = i < 256 ? 511 - i : i - 256;
    const sweep_record *r = &result->binades[at];
    if (!sweep_record_compared(r)) continue;
    json_array_append_new(array, json_pack("{s:i, s:b, s:o, s:o, s:o, s:o}", "exponent_bits",
                                           at & 255, "negative", at > 255, "counts", counts_of(r),
                                           "histogram", histogram_of(r), "largest_ulp",
                                           number_of(r->peaks[PEAK_ULP].hi), "input",
                                           bits_of(sweep_bits_of_key(r->peaks[PEAK_ULP].key))));
  }
  return array;
}

static json_t *specials_of(const sweep_result *result) {
  json_t *array = json_array();
  for (size_t i = 0; i < result->special_count; i++) {
    const sweep_special *s = &result->specials[i];
    json_array_append_new(array, json_pack("{s:s, s:o, s:o, s:o, s:o}", "label", s->label, "input",
                                           bits_of(s->input), "got", bits_of(s->got), "nearest",
                                           number_of(s->nearest), "ulp",
                                           isnan(s->ulp) ? json_null() : number_of(s->ulp)));
  }
  return array;
}

static json_t *bounds_of(const sweep_result *result) {
  json_t *array = json_array();
  for (size_t i = 0; i < result->bound_count; i++)
    json_array_append_new(array, json_pack("{s:s, s:s}", "bound", result->bounds[i].text, "verdict",
                                           report_verdict_name(result->bounds[i].verdict)));
  return array;
}

static json_t *findings_of(const sweep_result *r) {
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "bounds", bounds_of(r), "error",
                   json_pack("{s:o, s:o, s:o}", "ulp", error_of(&r->error[PEAK_ULP]), "abs",
                             error_of(&r->error[PEAK_ABS]), "rel", error_of(&r->error[PEAK_REL])),
                   "counts", counts_of(&r->total), "histogram", histogram_of(&r->total), "binades",
                   binades_of(r), "specials", specials_of(r), "mpfr",
                   json_pack("{s:I, s:I}", "sampled", (json_int_t)r->sampled, "witnesses",
                             (json_int_t)r->witnesses));
}

static json_t *function_of(const sweep_request *q) {
  json_t *o = json_pack("{s:s}", "name", sweep_reference_name(&q->function));
  if (!q->function.rope) return o;
  char *base = fmpq_get_str(NULL, 10, q->function.rope->values.rope_base.value);
  json_object_set_new(
      o, "rope_base",
      json_sprintf("%s%s", base, q->function.rope->values.rope_base.root ? "^(1/2)" : ""));
  json_object_set_new(o, "d", json_integer((json_int_t)q->function.d));
  json_object_set_new(o, "pair", json_integer((json_int_t)q->function.pair));
  flint_free(base);
  return o;
}

static json_t *document_of(const sweep_result *r, const sweep_request *q) {
  char basis[THEOREM_BASIS];
  report_sweep_basis(basis, q);
  json_t *sha = q->library_sha256 ? json_string(q->library_sha256) : json_null();
  json_t *d =
      json_pack("{s:s, s:o, s:s, s:o, s:s, s:o, s:o, s:s, s:o, s:s}", "schema", "attest-sweep/1",
                "function", function_of(q), "subject", sweep_subject_name(q), "library_sha256", sha,
                "verdict", report_verdict_name(r->verdict), "first",
                bits_of(sweep_bits_of_key(q->first)), "last", bits_of(sweep_bits_of_key(q->last)),
                "basis", basis, "elements", count_of(r->planned), "scope",
                q->shards > 1                            ? "shard"
                : q->first == 0 && q->last == UINT32_MAX ? "all-inputs"
                                                         : "range");
  if (q->shards > 1) json_object_set_new(d, "shard", json_sprintf("%d/%d", q->shard, q->shards));
  if (r->undecided) json_object_set_new(d, "reason", json_string(r->undecided));
  if (r->failed)
    json_object_set_new(
        d, "failure",
        json_pack("{s:s, s:s}", "reason", r->failure.reason, "detail", r->failure.detail));
  else
    json_object_set_new(d, "findings", findings_of(r));
  json_object_set_new(d, "environment",
                      json_pack("{s:s, s:s, s:s, s:s, s:i}", "version", ATTEST_VERSION, "flint",
                                FLINT_VERSION, "mpfr", mpfr_get_version(), "isa",
                                isa_name(isa_chosen()), "threads", q->threads));
  json_object_set_new(d, "timing",
                      json_pack("{s:f, s:f, s:o, s:o}", "seconds", r->seconds, "cpu_seconds",
                                r->cpu_seconds, "balls", count_of(r->total.balls), "resumed",
                                count_of(r->resumed)));
  return d;
}

attest_status report_sweep_json(const char *path, const sweep_result *result,
                                const sweep_request *request, attest_error *error) {
  json_t *document = document_of(result, request);
  char *text = document ? json_dumps(document, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(document);
  return report_write_text(path, text, error);
}
