/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Two files of attest bench --json, an old and a new one, figure by figure. */
#include <math.h>
#include <string.h>

#include "compare.h"

static int is_benchmark(const json_t *document) {
  const char *schema = json_string_value(json_object_get(document, "schema"));
  return schema && !strcmp(schema, "attest-bench/1") &&
         json_is_array(json_object_get(document, "figures"));
}

int compare_is_benchmark(const char *path) {
  json_t *document = json_load_file(path, 0, NULL);
  int yes = is_benchmark(document);
  json_decref(document);
  return yes;
}

static attest_status read_figures(json_t **document, const char *path, attest_error *error) {
  attest_status status = compare_load(document, path, error);
  if (status) return status;
  if (is_benchmark(*document)) return ATTEST_OK;
  json_decref(*document);
  *document = NULL;
  return attest_fail(error, ATTEST_ERR_INPUT,
                     "%s is not what attest bench --json writes (schema attest-bench/1)", path);
}

static const char *text_of(const json_t *figure, const char *key) {
  const char *text = json_string_value(json_object_get(figure, key));
  return text ? text : "";
}

static double value_of(const json_t *figure) {
  return json_number_value(json_object_get(figure, "value"));
}

static const json_t *find(const json_t *document, const char *name) {
  size_t i;
  json_t *figure;
  json_array_foreach(json_object_get(document, "figures"), i,
                     figure) if (!strcmp(text_of(figure, "name"), name)) return figure;
  return NULL;
}

/* How many times worse the new figure is: more is better of rates and fractions of the peak. */
static double worsening(const json_t *before, const json_t *after) {
  const char *unit = text_of(after, "unit");
  int rate = strchr(unit, '/') != NULL || !strcmp(unit, "fraction");
  if (value_of(before) == value_of(after)) return 1; /* both may be 0 */
  return rate ? value_of(before) / value_of(after) : value_of(after) / value_of(before);
}

/* A line where the figure moved; of largest backward errors always, so that before and after stand
 * side by side for each kernel: no change for speed may raise them. */
static void compare_figure(compare_counts *counts, FILE *f, const json_t *before,
                           const json_t *after, double growth) {
  double times = worsening(before, after);
  int change = times > growth ? 1 : times < 1 / growth ? -1 : 0;
  counts->worse += change > 0;
  counts->better += change < 0;
  counts->same += !change;
  if (change || !strcmp(text_of(after, "unit"), "backward"))
    fprintf(f, "%s %s %s=%.4g->%.4g %.2fx\n",
            change > 0   ? "WORSE"
            : change < 0 ? "BETTER"
                         : "SAME",
            text_of(after, "name"), text_of(after, "unit"), value_of(before), value_of(after),
            times >= 1 ? times : 1 / times);
}

attest_status compare_benchmarks(compare_counts *counts, FILE *f, const char *old_path,
                                 const char *new_path, double growth, attest_error *error) {
  json_t *old = NULL, *new = NULL, *figure;
  size_t i;
  memset(counts, 0, sizeof *counts);
  attest_status status = read_figures(&old, old_path, error);
  if (!status) status = read_figures(&new, new_path, error);
  json_array_foreach(status ? NULL : json_object_get(old, "figures"), i, figure) {
    const json_t *after = find(new, text_of(figure, "name"));
    if (after) {
      compare_figure(counts, f, figure, after, growth);
      continue;
    }
    counts->missing++;
    fprintf(f, "MISSING %s\n", text_of(figure, "name"));
  }
  json_array_foreach(status ? NULL : json_object_get(new, "figures"), i, figure) {
    if (find(old, text_of(figure, "name"))) continue;
    counts->added++;
    fprintf(f, "NEW %s\n", text_of(figure, "name"));
  }
  json_decref(old);
  json_decref(new);
  return status;
}
