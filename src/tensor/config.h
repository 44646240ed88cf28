/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* YAML files as trees in which every node knows its line. Anchors, aliases, tags and several
 * documents in a file are refused; so are duplicate keys. */
#ifndef ATTEST_TENSOR_CONFIG_H
#define ATTEST_TENSOR_CONFIG_H

#include "../attest.h"

typedef enum { CONFIG_SCALAR, CONFIG_SEQUENCE, CONFIG_MAPPING } config_kind;

typedef struct config_node {
  config_kind kind;
  int line;
  char *text; /* SCALAR */
  char *key;  /* of an entry of a mapping */
  size_t count;
  struct config_node *items;
} config_node;

/* Reads a whole file. Messages begin with "PATH:LINE: ". */
attest_status config_read(config_node **root, const char *path, attest_error *error);
void config_free(config_node *root);

/* The entry of a mapping, or NULL. */
const config_node *config_find(const config_node *mapping, const char *key);
/* Fails with "PATH:LINE: " before the message. */
attest_status config_fail(attest_error *error, const char *path, const config_node *node,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Refuses a node of another kind; `what` names it in the message. */
attest_status config_expect(const config_node *node, config_kind kind, const char *what,
                            const char *path, attest_error *error);
/* Refuses keys of a mapping that are not in the list, which NULL ends. */
attest_status config_known_keys(const config_node *mapping, const char *const known[],
                                const char *path, attest_error *error);

#endif
