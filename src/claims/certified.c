/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "certified.h"

#include <stdlib.h>
#include <string.h>

#include "../certify/statements.h"
#include "printed.h"

static const problem_statement *find_statement(const char *name) {
  for (size_t i = 0; i < certify_statement_count(); i++)
    if (!strcmp(certify_statement(i)->name, name)) return certify_statement(i);
  return NULL;
}

/* ---- reading ---- */

static attest_status take_word(char **word, const config_node *node, const char *path,
                               attest_error *error) {
  attest_status status = config_expect(node, CONFIG_SCALAR, node->key, path, error);
  if (status) return status;
  *word = strdup(node->text);
  return *word ? ATTEST_OK : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
}

static attest_status take_where(claim_certified *c, const config_node *node, const char *path,
                                attest_error *error) {
  attest_status status = config_expect(node, CONFIG_MAPPING, "where", path, error);
  if (status) return status;
  c->keys = calloc(node->count + 1, sizeof *c->keys);
  c->values = calloc(node->count + 1, sizeof *c->values);
  if (!c->keys || !c->values) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (size_t i = 0; i < node->count && !status; i++) {
    c->count++;
    status = take_word(&c->values[i], &node->items[i], path, error);
    if (!status && !(c->keys[i] = strdup(node->items[i].key)))
      status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  }
  return status;
}

attest_status claim_certified_read(claim_certified *c, const config_node *node, const char *path,
                                   attest_error *error) {
  static const char *const keys[] = {"statement", "where", "fact", NULL};
  memset(c, 0, sizeof *c);
  attest_status status = config_expect(node, CONFIG_MAPPING, "certified", path, error);
  if (!status) status = config_known_keys(node, keys, path, error);
  if (status) return status;
  const config_node *name = config_find(node, "statement"), *where = config_find(node, "where");
  const config_node *fact = config_find(node, "fact");
  if (!name) return config_fail(error, path, node, "statement is missing");
  status = take_word(&c->statement, name, path, error);
  if (!status && !find_statement(c->statement))
    status = config_fail(error, path, name,
                         "there is no statement %.60s (attest certify --builtin prints them)",
                         c->statement);
  if (!status && where) status = take_where(c, where, path, error);
  if (!status && fact) status = take_word(&c->fact, fact, path, error);
  return status;
}

void claim_certified_clear(claim_certified *c) {
  for (size_t i = 0; i < c->count; i++) {
    free(c->keys[i]);
    free(c->values[i]);
  }
  free(c->keys);
  free(c->values);
  free(c->statement);
  free(c->fact);
  memset(c, 0, sizeof *c);
}

/* ---- running ---- */

/* The value of `key` in "key=value key=value" and its length, or NULL. */
static const char *fact_of(size_t *length, const char *facts, const char *key) {
  size_t n = strlen(key);
  for (const char *s = facts; *s; s += *s == ' ') {
    size_t word = strcspn(s, " ");
    if (!strncmp(s, key, n) && s[n] == '=') {
      *length = word - n - 1;
      return s + n + 1;
    }
    s += word;
  }
  return NULL;
}

static int matches(const claim_certified *c, const char *facts) {
  for (size_t i = 0; i < c->count; i++) {
    size_t length;
    const char *text = fact_of(&length, facts, c->keys[i]);
    if (!text || strlen(c->values[i]) != length || strncmp(text, c->values[i], length)) return 0;
  }
  return 1;
}

static attest_status take_fact(claim_findings *found, const claim_certified *c, const char *facts,
                               attest_error *error) {
  size_t length;
  const char *text = fact_of(&length, facts, c->fact);
  char number[64];
  if (!text || length >= sizeof number || strspn(text, "0123456789.-/") < length)
    return attest_fail(error, ATTEST_ERR_INPUT, "statement %s has no number %s there", c->statement,
                       c->fact);
  snprintf(number, sizeof number, "%.*s", (int)length, text);
  fmpq_t half;
  fmpq_init(half);
  value_set_si(&found->fact, 0);
  printed_parse(found->fact.rational, half, number);
  fmpq_clear(half);
  return ATTEST_OK;
}

attest_status claim_certified_run(claim_findings *found, const claim_certified *c, const char *data,
                                  attest_error *error) {
  const problem_statement *statement = find_statement(c->statement);
  statement_findings all = {0, NULL};
  attest_status status = statement->run(&all, statement, data, error);
  size_t count = 0;
  for (size_t i = 0; i < all.count && !status; i++) {
    if (!matches(c, all.findings[i].facts)) continue;
    count++;
    found->certified += all.findings[i].verdict == ATTEST_CERTIFIED;
    found->refuted += all.findings[i].verdict == ATTEST_REFUTED;
    found->undecided += all.findings[i].verdict == ATTEST_UNDECIDED;
    if (c->fact) status = take_fact(found, c, all.findings[i].facts, error);
  }
  if (!status && (!count || (c->fact && count > 1)))
    status = attest_fail(error, ATTEST_ERR_INPUT, "%zu findings of statement %s match, %s wanted",
                         count, c->statement, c->fact ? "one is" : "some are");
  statement_clear(&all);
  return status;
}
