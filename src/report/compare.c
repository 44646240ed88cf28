/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "compare.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* ---- reading ---- */

attest_status compare_load(json_t **document, const char *path, attest_error *error) {
  json_error_t why;
  errno = 0;
  *document = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
  if (*document) return ATTEST_OK;
  /* Where the file cannot be opened, text and line say nothing more than errno. */
  if (json_error_code(&why) == json_error_cannot_open_file)
    return attest_fail(error, ATTEST_ERR_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
  return attest_fail(error, ATTEST_ERR_INPUT, "%s:%d: %s; give what --json has written", path,
                     why.line > 0 ? why.line : 1, why.text);
}

static attest_status read_document(json_t **document, const char *path, attest_error *error) {
  attest_status status = compare_load(document, path, error);
  if (status) return status;
  const char *schema = json_string_value(json_object_get(*document, "schema"));
  if (schema && !strcmp(schema, "attest/1") && json_is_array(json_object_get(*document, "cases")))
    return ATTEST_OK;
  json_decref(*document);
  *document = NULL;
  return attest_fail(error, ATTEST_ERR_INPUT,
                     "%s is no certificate of attest (schema attest/1): give what --json of "
                     "attest check or attest certify has written",
                     path);
}

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

/* An output with the case that it belongs to. A subject without outputs counts as one. */
typedef struct {
  const json_t *of, *output;
} entry;

static const char *name_of(const entry *e) {
  return e->output ? text_of(e->output, "name") : "";
}

static int same_place(const entry *a, const entry *b) {
  static const char *const keys[] = {"kernel", "case", "subject"};
  for (int i = 0; i < 3; i++)
    if (strcmp(text_of(a->of, keys[i]), text_of(b->of, keys[i]))) return 0;
  /* A subject that failed has no outputs: it stands for each of them. */
  return !a->output || !b->output || !strcmp(name_of(a), name_of(b));
}

typedef struct {
  size_t count;
  entry *items;
} entries;

static int list_entries(entries *list, const json_t *document) {
  size_t room = 0, i, k;
  json_t *c, *output;
  json_array_foreach(json_object_get(document, "cases"), i, c) room +=
      1 + json_array_size(json_object_get(c, "outputs"));
  if (!(list->items = calloc(room + 1, sizeof *list->items))) return -1;
  json_array_foreach(json_object_get(document, "cases"), i, c) {
    const json_t *outputs = json_object_get(c, "outputs");
    if (!json_array_size(outputs)) list->items[list->count++] = (entry){c, NULL};
    json_array_foreach(outputs, k, output) list->items[list->count++] = (entry){c, output};
  }
  return 0;
}

/* ---- comparing ---- */

/* The worse, the larger; skipped stands beside undecided: nothing is known. */
static int rank_of(const char *verdict) {
  return !strcmp(verdict, "certified") ? 0 : !strcmp(verdict, "refuted") ? 2 : 1;
}

static const char *verdict_of(const entry *e) {
  if (e->output) return text_of(e->output, "verdict");
  return json_object_get(e->of, "failure") ? "refuted" : "skipped";
}

/* The largest error in the measure of the first bound; NaN when there is none. */
static double error_of(char measure[32], const entry *e) {
  const char *bound = e->output ? text_of(e->output, "bound") : "";
  size_t length = strcspn(bound, "<=;");
  snprintf(measure, 32, "%.*s", (int)(length < 31 ? length : 31), bound);
  const json_t *error = json_object_get(json_object_get(e->output, "error"), measure);
  const json_t *hi = json_object_get(error, "hi");
  return json_is_number(hi) ? json_number_value(hi) : json_is_string(hi) ? INFINITY : NAN;
}

static void print_word(FILE *f, const char *key, const char *text) {
  fprintf(f, " %s=", key);
  for (; *text; text++)
    if (isgraph((unsigned char)*text) && *text != '%')
      fputc(*text, f);
    else
      fprintf(f, "%%%02X", (unsigned char)*text);
}

static void print_place(FILE *f, const char *what, const entry *e) {
  fprintf(f, "%s kernel=%s", what, text_of(e->of, "kernel"));
  print_word(f, "case", text_of(e->of, "case"));
  print_word(f, "subject", text_of(e->of, "subject"));
  if (e->output) print_word(f, "output", name_of(e));
}

static void compare_entry(compare_counts *counts, FILE *f, const entry *before, const entry *after,
                          double growth) {
  char measure[32], old_measure[32], figure[32], old_figure[32];
  const char *old = verdict_of(before), *new = verdict_of(after);
  double was = error_of(old_measure, before), is = error_of(measure, after);
  int change = rank_of(new) - rank_of(old);
  int grew = growth > 0 && !strcmp(measure, old_measure) && is > was * growth;
  counts->worse += change > 0 || (!change && grew);
  counts->better += change < 0;
  counts->same += !change && !grew;
  if (!change && !grew) return;
  print_place(f, change < 0 ? "BETTER" : "WORSE", after);
  fprintf(f, " verdict=%s->%s", old, new);
  if (!isnan(was) && !isnan(is) && !strcmp(measure, old_measure))
    fprintf(f, " %s=%s->%s", measure, report_figure(old_figure, was), report_figure(figure, is));
  fputc('\n', f);
}

static const entry *find(const entries *list, const entry *wanted) {
  for (size_t i = 0; i < list->count; i++)
    if (same_place(&list->items[i], wanted)) return &list->items[i];
  return NULL;
}

static void compare_lists(compare_counts *counts, FILE *f, const entries *before,
                          const entries *after, double growth) {
  for (size_t i = 0; i < before->count; i++) {
    const entry *found = find(after, &before->items[i]);
    if (found) {
      compare_entry(counts, f, &before->items[i], found, growth);
      continue;
    }
    counts->missing++;
    print_place(f, "MISSING", &before->items[i]);
    fprintf(f, " verdict=%s->none\n", verdict_of(&before->items[i]));
  }
  for (size_t i = 0; i < after->count; i++) {
    if (find(before, &after->items[i])) continue;
    counts->added++;
    print_place(f, "NEW", &after->items[i]);
    fprintf(f, " verdict=none->%s\n", verdict_of(&after->items[i]));
  }
}

attest_status compare_certificates(compare_counts *counts, FILE *f, const char *old_path,
                                   const char *new_path, double growth, attest_error *error) {
  json_t *old = NULL, *new = NULL;
  entries before = {0, NULL}, after = {0, NULL};
  memset(counts, 0, sizeof *counts);
  attest_status status = read_document(&old, old_path, error);
  if (!status) status = read_document(&new, new_path, error);
  if (!status && (list_entries(&before, old) || list_entries(&after, new)))
    status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  if (!status) compare_lists(counts, f, &before, &after, growth);
  free(before.items);
  free(after.items);
  json_decref(old);
  json_decref(new);
  return status;
}
