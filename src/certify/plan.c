/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "plan_internal.h"

attest_status plan_open(plan **p, const char *path, attest_error *error) {
  config_node *root;
  *p = NULL;
  attest_status status = config_read(&root, path, error);
  if (status) return status;
  plan *opened = calloc(1, sizeof *opened);
  if (opened) opened->path = strdup(path);
  status = opened && opened->path ? plan_read(opened, root, error)
                                  : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  config_free(root);
  if (status)
    plan_close(opened);
  else
    *p = opened;
  return status;
}

static void clear_case(plan_case *c) {
  for (size_t i = 0; i < c->axis_count; i++) {
    for (size_t k = 0; k < c->axes[i].count; k++)
      free(c->axes[i].values[k]);
    free(c->axes[i].values);
    free(c->axes[i].key);
  }
  certify_bounds_clear(&c->bounds);
  free(c->name);
  free(c->input);
  free(c->arithmetic);
}

static void clear_subject(plan_subject *s) {
  subject_command_free(s->command);
  for (size_t i = 0; s->words && s->words[i]; i++)
    free(s->words[i]);
  for (int i = 0; i < OUTPUT_COUNT; i++)
    free(s->stored[i]);
  free(s->words);
  free(s->library);
  free(s->name);
}

void plan_close(plan *p) {
  if (!p) return;
  for (size_t i = 0; i < p->case_count; i++)
    clear_case(&p->cases[i]);
  for (size_t i = 0; i < p->subject_count; i++)
    clear_subject(&p->subjects[i]);
  free(p->cases);
  free(p->subjects);
  free(p->convention);
  free(p->path);
  free(p);
}

size_t plan_count(const plan *p) {
  return p->count;
}

static const char *subject_file(const plan_subject *s,
                                int (*matches)(const char *text, const char *path),
                                const char *path) {
  if (s->library && matches(s->library, path)) return s->library;
  for (int i = 0; i < OUTPUT_COUNT; i++)
    if (s->stored[i] && matches(s->stored[i], path)) return s->stored[i];
  for (char **word = s->words; word && *word; word++)
    if (matches(*word, path)) return *word;
  return NULL;
}

const char *plan_find_file(const plan *p, int (*matches)(const char *text, const char *path),
                           const char *path) {
  const char *found = NULL;
  for (size_t i = 0; i < p->subject_count && !found; i++)
    found = subject_file(&p->subjects[i], matches, path);
  for (size_t i = 0; i < p->case_count; i++) {
    const plan_case *c = &p->cases[i];
    if (!found && c->input && matches(c->input, path)) found = c->input;
    for (size_t a = 0; a < c->axis_count; a++)
      for (size_t k = 0; c->axes[a].kind == AXIS_TENSOR && k < c->axes[a].count && !found; k++)
        if (matches(c->axes[a].values[k], path)) found = c->axes[a].values[k];
  }
  return found;
}

int plan_needs_data(const plan *p) {
  for (size_t i = 0; i < p->case_count; i++)
    for (size_t a = 0; a < p->cases[i].axis_count; a++) {
      const plan_axis *axis = &p->cases[i].axes[a];
      for (size_t k = 0; axis->kind == AXIS_GENERATOR && k < axis->count; k++)
        if (!strcmp(axis->values[k], "real")) return 1;
    }
  return 0;
}

plan_subject *plan_find_subject(const plan *p, const char *name) {
  for (size_t i = 0; i < p->subject_count; i++)
    if (!strcmp(p->subjects[i].name, name)) return &p->subjects[i];
  return NULL;
}

/* The last axis changes fastest. */
plan_instance plan_instance_of(const plan *p, size_t i) {
  size_t from = 0, to = p->case_count; /* the case is one of these */
  while (to - from > 1) {
    size_t middle = from + (to - from) / 2;
    if (p->cases[middle].first <= i)
      from = middle;
    else
      to = middle;
  }
  plan_instance at = {.c = &p->cases[from]};
  i -= at.c->first;
  for (size_t a = at.c->axis_count; a-- > 0;) {
    at.chosen[a] = i % at.c->axes[a].count;
    i /= at.c->axes[a].count;
  }
  return at;
}

const char *plan_value(const plan_instance *at, axis_kind kind, const char *key) {
  for (size_t a = 0; a < at->c->axis_count; a++) {
    const plan_axis *axis = &at->c->axes[a];
    if (axis->kind == kind && (!key || !strcmp(axis->key, key))) return axis->values[at->chosen[a]];
  }
  return NULL;
}

char *plan_case_name(const plan *p, size_t i) {
  plan_instance at = plan_instance_of(p, i);
  char *text = NULL;
  size_t size;
  FILE *f = open_memstream(&text, &size);
  if (!f) return NULL;
  fputs(at.c->name, f);
  for (size_t a = 0; a < at.c->axis_count; a++) {
    const plan_axis *axis = &at.c->axes[a];
    if (axis->count > 1) fprintf(f, "/%s=%s", axis->key, axis->values[at.chosen[a]]);
  }
  return fclose(f) ? NULL : text;
}
