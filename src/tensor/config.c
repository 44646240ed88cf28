/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { DEPTH_MAX = 32, NODES_MAX = 1000000 };

typedef struct {
  yaml_parser_t yaml;
  const char *path;
  size_t nodes;
  attest_error *error;
} reader;

/* ---- errors ---- */

attest_status config_fail(attest_error *error, const char *path, const config_node *node,
                          const char *format, ...) {
  char message[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return attest_fail(error, ATTEST_ERR_INPUT, "%s:%d: %s", path, node->line, message);
}

static attest_status fail_at(reader *r, size_t line, const char *what) {
  return attest_fail(r->error, ATTEST_ERR_INPUT, "%s:%zu: %s", r->path, line + 1, what);
}

static attest_status out_of_memory(reader *r) {
  return attest_fail(r->error, ATTEST_ERR_MEMORY, "out of memory");
}

static attest_status next(yaml_event_t *event, reader *r) {
  if (yaml_parser_parse(&r->yaml, event)) return ATTEST_OK;
  if (r->yaml.error == YAML_MEMORY_ERROR) return out_of_memory(r);
  const char *problem = r->yaml.problem ? r->yaml.problem : "it is not YAML";
  return fail_at(r,
                 r->yaml.error == YAML_READER_ERROR ? r->yaml.mark.line : r->yaml.problem_mark.line,
                 problem);
}

/* ---- building ---- */

static void clear(config_node *node) {
  for (size_t i = 0; i < node->count; i++)
    clear(&node->items[i]);
  free(node->items);
  free(node->text);
  free(node->key);
}

void config_free(config_node *root) {
  if (root) clear(root);
  free(root);
}

/* A new zeroed last item; NULL: no memory. */
static config_node *append(config_node *parent) {
  if ((parent->count & (parent->count - 1)) == 0) { /* full at powers of two */
    size_t size = parent->count ? 2 * parent->count : 1;
    config_node *items = realloc(parent->items, size * sizeof *items);
    if (!items) return NULL;
    parent->items = items;
  }
  config_node *item = &parent->items[parent->count++];
  memset(item, 0, sizeof *item);
  return item;
}

static attest_status read_node(config_node *node, reader *r, const yaml_event_t *event, int depth);

/* The key in `event`, which must be a scalar that is new to the mapping. */
static attest_status take_key(char **key, const config_node *mapping, reader *r,
                              const yaml_event_t *event) {
  if (event->type != YAML_SCALAR_EVENT)
    return fail_at(r, event->start_mark.line, "a key must be a plain word");
  const char *text = (const char *)event->data.scalar.value;
  if (config_find(mapping, text)) {
    char message[120];
    snprintf(message, sizeof message, "%.60s stands here twice", text);
    return fail_at(r, event->start_mark.line, message);
  }
  *key = strdup(text);
  return *key ? ATTEST_OK : out_of_memory(r);
}

static attest_status read_items(config_node *node, reader *r, int depth) {
  yaml_event_type_t end =
      node->kind == CONFIG_MAPPING ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
  for (;;) {
    yaml_event_t event;
    char *key = NULL;
    attest_status status = next(&event, r);
    if (status) return status;
    int done = event.type == end;
    if (!done && node->kind == CONFIG_MAPPING) {
      status = take_key(&key, node, r, &event);
      yaml_event_delete(&event);
      if (status || (status = next(&event, r))) {
        free(key);
        return status;
      }
    }
    config_node *item = done ? NULL : append(node);
    if (item) {
      item->key = key;
      status = read_node(item, r, &event, depth + 1);
    } else if (!done) {
      free(key);
      status = out_of_memory(r);
    }
    yaml_event_delete(&event);
    if (done || status) return status;
  }
}

static attest_status read_node(config_node *node, reader *r, const yaml_event_t *event, int depth) {
  size_t line = event->start_mark.line;
  node->line = (int)line + 1;
  if (depth > DEPTH_MAX) return fail_at(r, line, "nested too deeply");
  if (++r->nodes > NODES_MAX) return fail_at(r, line, "too many entries");
  if (event->type == YAML_ALIAS_EVENT)
    return fail_at(r, line, "aliases (*name) are not supported: write the value out");
  const yaml_char_t *anchor = event->type == YAML_SCALAR_EVENT ? event->data.scalar.anchor
                              : event->type == YAML_MAPPING_START_EVENT
                                  ? event->data.mapping_start.anchor
                                  : event->data.sequence_start.anchor;
  const yaml_char_t *tag = event->type == YAML_SCALAR_EVENT ? event->data.scalar.tag
                           : event->type == YAML_MAPPING_START_EVENT
                               ? event->data.mapping_start.tag
                               : event->data.sequence_start.tag;
  if (anchor || tag) return fail_at(r, line, "anchors (&name) and tags (!name) are not supported");
  if (event->type == YAML_SCALAR_EVENT) {
    if (strlen((const char *)event->data.scalar.value) != event->data.scalar.length)
      return fail_at(r, line, "a NUL character does not belong here");
    node->kind = CONFIG_SCALAR;
    node->text = strdup((const char *)event->data.scalar.value);
    return node->text ? ATTEST_OK : out_of_memory(r);
  }
  node->kind = event->type == YAML_MAPPING_START_EVENT ? CONFIG_MAPPING : CONFIG_SEQUENCE;
  return read_items(node, r, depth);
}

/* The one event that is wanted next. */
static attest_status skip(reader *r, yaml_event_type_t type, const char *otherwise) {
  yaml_event_t event;
  attest_status status = next(&event, r);
  if (status) return status;
  if (event.type != type) status = fail_at(r, event.start_mark.line, otherwise);
  yaml_event_delete(&event);
  return status;
}

static attest_status read_document(config_node *root, reader *r) {
  yaml_event_t event;
  attest_status status = skip(r, YAML_STREAM_START_EVENT, "it is not YAML");
  if (!status) status = skip(r, YAML_DOCUMENT_START_EVENT, "the file is empty");
  if (!status) status = next(&event, r);
  if (status) return status;
  status = read_node(root, r, &event, 0);
  yaml_event_delete(&event);
  if (!status) status = skip(r, YAML_DOCUMENT_END_EVENT, "the end is wanted here");
  return status ? status : skip(r, YAML_STREAM_END_EVENT, "one document a file");
}

attest_status config_read(config_node **root, const char *path, attest_error *error) {
  reader r = {.path = path, .error = error};
  *root = NULL;
  FILE *file = fopen(path, "rb");
  if (!file)
    return attest_fail(error, ATTEST_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
  config_node *tree = calloc(1, sizeof *tree);
  attest_status status;
  if (!tree || !yaml_parser_initialize(&r.yaml)) {
    status = out_of_memory(&r);
  } else {
    yaml_parser_set_input_file(&r.yaml, file);
    status = read_document(tree, &r);
    yaml_parser_delete(&r.yaml);
  }
  if (!status && ferror(file))
    status = attest_fail(error, ATTEST_ERR_IO, "%s: cannot be read", path);
  fclose(file);
  if (status)
    config_free(tree);
  else
    *root = tree;
  return status;
}

/* ---- looking ---- */

const config_node *config_find(const config_node *mapping, const char *key) {
  for (size_t i = 0; i < mapping->count; i++)
    if (mapping->items[i].key && !strcmp(mapping->items[i].key, key)) return &mapping->items[i];
  return NULL;
}

attest_status config_expect(const config_node *node, config_kind kind, const char *what,
                            const char *path, attest_error *error) {
  static const char *const names[] = {"a single value", "a list", "a mapping (key: value)"};
  if (node->kind == kind) return ATTEST_OK;
  return config_fail(error, path, node, "%s must be %s", what, names[kind]);
}

attest_status config_known_keys(const config_node *mapping, const char *const known[],
                                const char *path, attest_error *error) {
  for (size_t i = 0; i < mapping->count; i++) {
    size_t k = 0, length = 0;
    while (known[k] && strcmp(known[k], mapping->items[i].key))
      k++;
    if (known[k]) continue;
    char list[300] = "";
    for (k = 0; known[k] && length < sizeof list - 1; k++)
      length += (size_t)snprintf(list + length, sizeof list - length, " %s", known[k]);
    return config_fail(error, path, &mapping->items[i], "unknown key %.60s; known:%s",
                       mapping->items[i].key, list);
  }
  return ATTEST_OK;
}
