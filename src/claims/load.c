/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Claim files into claims: every key and every expression is checked here, before any work. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "claims.h"

const char *const claim_verdict_names[CLAIM_VERDICTS] = {
    "holds", "refuted", "needs-hypothesis", "measured", "undecided", "not-checkable"};

typedef struct {
  const char *path;
  attest_error *error;
} loader;

static attest_status out_of_memory(loader *l) {
  return attest_fail(l->error, ATTEST_ERR_MEMORY, "out of memory");
}

/* Puts the place before the message of something that was parsed from the node. */
static attest_status at_node(loader *l, const config_node *node, attest_status status) {
  if (status != ATTEST_ERR_INPUT) return status;
  char message[sizeof l->error->message];
  snprintf(message, sizeof message, "%s", l->error->message);
  return config_fail(l->error, l->path, node, "%s: %s", node->key ? node->key : "item", message);
}

/* The text under `key`, copied; NULL stays where it is absent. */
static attest_status take_text(char **text, const config_node *mapping, const char *key,
                               loader *l) {
  const config_node *node = config_find(mapping, key);
  if (!node) return ATTEST_OK;
  attest_status status = config_expect(node, CONFIG_SCALAR, key, l->path, l->error);
  if (status) return status;
  if (!*node->text) return config_fail(l->error, l->path, node, "%s is empty", key);
  *text = strdup(node->text);
  return *text ? ATTEST_OK : out_of_memory(l);
}

/* ---- checks ---- */

/* A printed number must be a decimal or a fraction: what its last digit is must be plain. */
static int is_printed_number(const char *text) {
  size_t digits = 0, i = *text == '-' || *text == '+';
  while (strchr("0123456789", text[i]) && text[i])
    i++, digits++;
  if (text[i] == '/' && digits) {
    size_t denominator = strspn(text + i + 1, "0123456789");
    int is_zero = strspn(text + i + 1, "0") == denominator;
    return !is_zero && !text[i + 1 + denominator];
  }
  if (text[i] == '.') {
    size_t places = strspn(text + i + 1, "0123456789");
    digits += places;
    i += 1 + places;
  }
  if (!digits) return 0;
  if (text[i] != 'e' && text[i] != 'E') return !text[i];
  i += 1 + (text[i + 1] == '-' || text[i + 1] == '+');
  size_t exponent = strspn(text + i, "0123456789");
  return exponent > 0 && exponent < 5 && !text[i + exponent];
}

static attest_status take_printed(claim_check *check, const config_node *node, loader *l) {
  const config_node *items = node->kind == CONFIG_SEQUENCE ? node->items : node;
  size_t count = node->kind == CONFIG_SEQUENCE ? node->count : 1;
  if (!count) return config_fail(l->error, l->path, node, "printed is empty");
  check->printed = calloc(count, sizeof *check->printed);
  if (!check->printed) return out_of_memory(l);
  for (size_t i = 0; i < count; i++) {
    attest_status status =
        config_expect(&items[i], CONFIG_SCALAR, "a printed number", l->path, l->error);
    if (status) return status;
    if (!is_printed_number(items[i].text))
      return config_fail(l->error, l->path, &items[i],
                         "printed '%.40s' is no number: 0.27, 6.5e-4, 127 or 2/3 is wanted",
                         items[i].text);
    check->printed[check->printed_count++] = strdup(items[i].text);
    if (!check->printed[i]) return out_of_memory(l);
  }
  return ATTEST_OK;
}

/* certified: {..} and perhaps the printed number of its fact. */
static attest_status take_certified(claim_check *check, const config_node *mapping, loader *l) {
  const config_node *node = config_find(mapping, "certified"),
                    *printed = config_find(mapping, "printed");
  check->kind = CHECK_CERTIFIED;
  attest_status status = claim_certified_read(&check->certified, node, l->path, l->error);
  if (!status && !printed != !check->certified.fact)
    status = config_fail(l->error, l->path, node, "fact and printed belong together");
  if (!status && printed)
    status = config_expect(printed, CONFIG_SCALAR, "printed", l->path, l->error);
  return status || !printed ? status : take_printed(check, printed, l);
}

static attest_status take_expression(claim_check *check, const config_node *mapping, loader *l) {
  const config_node *node = config_find(mapping, "expr"),
                    *printed = config_find(mapping, "printed");
  check->kind = CHECK_EXPRESSION;
  attest_status status = config_expect(node, CONFIG_SCALAR, "expr", l->path, l->error);
  if (!status && !printed)
    status = config_fail(l->error, l->path, node, "expr needs printed: the number to compare with");
  if (!status)
    status = at_node(l, node, expression_parse(&check->expr, node->text, NULL, 0, l->error));
  return status ? status : take_printed(check, printed, l);
}

static attest_status take_ranges(claim_check *check, const config_node *node, loader *l) {
  attest_status status = config_expect(node, CONFIG_MAPPING, "for", l->path, l->error);
  for (size_t i = 0; i < node->count && !status; i++) {
    const config_node *range = &node->items[i];
    if (range->kind != CONFIG_SCALAR)
      return config_fail(l->error, l->path, range,
                         "%s: put the range into quotes: '[0, 1]', '{1/2, 0.9}'", range->key);
    status = at_node(l, range,
                     predicate_add_range(&check->condition, range->key, range->text, l->error));
  }
  return status;
}

static attest_status take_counterexample(claim_check *check, const config_node *node, loader *l) {
  const predicate *p = &check->condition;
  attest_status status = config_expect(node, CONFIG_MAPPING, "counterexample", l->path, l->error);
  if (status) return status;
  check->counterexample = calloc((size_t)p->count + 1, sizeof *check->counterexample);
  if (!check->counterexample) return out_of_memory(l);
  for (int i = 0; i < p->count; i++) {
    const config_node *item = config_find(node, p->ranges[i].name);
    if (!item)
      return config_fail(l->error, l->path, node, "counterexample needs a value of %s",
                         p->ranges[i].name);
    status = config_expect(item, CONFIG_SCALAR, item->key, l->path, l->error);
    expression *e = &check->counterexample[check->counterexample_count++];
    if (!status) status = at_node(l, item, expression_parse(e, item->text, NULL, 0, l->error));
    if (status) return status;
  }
  if (node->count > (size_t)p->count)
    return config_fail(l->error, l->path, node, "counterexample has more values than variables");
  return ATTEST_OK;
}

static attest_status take_predicate(claim_check *check, const config_node *mapping, loader *l) {
  const config_node *node = config_find(mapping, "predicate"),
                    *ranges = config_find(mapping, "for");
  const config_node *counterexample = config_find(mapping, "counterexample");
  check->kind = CHECK_PREDICATE;
  attest_status status = config_expect(node, CONFIG_SCALAR, "predicate", l->path, l->error);
  if (!status && ranges) status = take_ranges(check, ranges, l);
  if (!status)
    status = at_node(l, node, predicate_set_formula(&check->condition, node->text, l->error));
  if (!status && counterexample) status = take_counterexample(check, counterexample, l);
  return status;
}

/* The one check that the keys of a mapping describe, or none. */
static attest_status take_check(claim_check **checks, size_t *count, const config_node *mapping,
                                int needed, loader *l) {
  static const char *const kinds[] = {"expr", "predicate", "run", "certified"};
  static const char *const parts[][3] = {{"printed", "expr", "certified"},
                                         {"for", "predicate", "predicate"},
                                         {"counterexample", "predicate", "predicate"}};
  const config_node *found = NULL;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const config_node *node = config_find(mapping, kinds[i]);
    if (node && found)
      return config_fail(l->error, l->path, node,
                         "%s and %s are two checks: list them under checks", found->key, kinds[i]);
    if (node) found = node;
  }
  for (size_t i = 0; i < 3; i++) {
    const config_node *part = config_find(mapping, parts[i][0]);
    if (part && (!found || (strcmp(found->key, parts[i][1]) && strcmp(found->key, parts[i][2]))))
      return config_fail(l->error, l->path, part, "%s belongs to %s, which is missing", parts[i][0],
                         parts[i][1]);
  }
  if (!found && needed)
    return config_fail(l->error, l->path, mapping, "expr, predicate, run or certified is missing");
  if (!found) return ATTEST_OK;
  claim_check *longer = realloc(*checks, (*count + 1) * sizeof *longer);
  if (!longer) return out_of_memory(l);
  *checks = longer;
  claim_check *check = &longer[(*count)++];
  memset(check, 0, sizeof *check);
  check->line = found->line;
  if (!strcmp(found->key, "expr")) return take_expression(check, mapping, l);
  if (!strcmp(found->key, "predicate")) return take_predicate(check, mapping, l);
  if (!strcmp(found->key, "certified")) return take_certified(check, mapping, l);
  check->kind = CHECK_RUN;
  return claim_run_read(&check->run, found, l->path, l->error);
}

/* A mapping with the keys of one check, or a list of such. */
static attest_status take_checks(claim_check **checks, size_t *count, const config_node *node,
                                 loader *l) {
  static const char *const keys[] = {"expr",           "printed", "predicate", "for",
                                     "counterexample", "run",     "certified", NULL};
  const config_node *items = node->kind == CONFIG_SEQUENCE ? node->items : node;
  size_t n = node->kind == CONFIG_SEQUENCE ? node->count : 1;
  for (size_t i = 0; i < n; i++) {
    attest_status status = config_expect(&items[i], CONFIG_MAPPING, "a check", l->path, l->error);
    if (!status) status = config_known_keys(&items[i], keys, l->path, l->error);
    if (!status) status = take_check(checks, count, &items[i], 1, l);
    if (status) return status;
  }
  return ATTEST_OK;
}

/* ---- claims ---- */

static attest_status take_expected(claim *c, const config_node *mapping, loader *l) {
  const config_node *node = config_find(mapping, "expect");
  if (!node) return ATTEST_OK;
  attest_status status = config_expect(node, CONFIG_SCALAR, "expect", l->path, l->error);
  for (int v = 0; v < CLAIM_VERDICTS && !status; v++)
    if (!strcmp(node->text, claim_verdict_names[v])) {
      c->expected = (claim_verdict)v;
      return ATTEST_OK;
    }
  return status
             ? status
             : config_fail(l->error, l->path, node,
                           "expect must be holds, refuted, needs-hypothesis, measured, undecided "
                           "or not-checkable");
}

static attest_status check_claim(const claim *c, const config_node *node, loader *l) {
  if (!c->id) return config_fail(l->error, l->path, node, "the claim has no id");
  for (const char *s = c->id; *s; s++)
    if (isspace((unsigned char)*s) || iscntrl((unsigned char)*s))
      return config_fail(l->error, l->path, node, "an id has no spaces, as in S1-09");
  if (!c->statement) return config_fail(l->error, l->path, node, "%s has no statement", c->id);
  if (!c->check_count && !c->reason)
    return config_fail(
        l->error, l->path, node,
        "%s has nothing to check: expr, predicate, run, certified, or the reason why not", c->id);
  if (c->check_count && c->reason)
    return config_fail(l->error, l->path, node,
                       "%s has a reason why it cannot be checked, and a check", c->id);
  if (c->hypothesis && !c->corrected_count)
    return config_fail(l->error, l->path, node,
                       "%s has a hypothesis but no corrected form that uses it", c->id);
  return ATTEST_OK;
}

static attest_status load_claim(claim *c, const config_node *node, loader *l) {
  static const char *const keys[] = {
      "id",        "source",         "statement", "expr",      "printed", "predicate",
      "for",       "counterexample", "run",       "certified", "checks",  "hypothesis",
      "corrected", "expect",         "reason",    "note",      NULL};
  c->line = node->line;
  attest_status status = config_expect(node, CONFIG_MAPPING, "a claim", l->path, l->error);
  if (!status) status = config_known_keys(node, keys, l->path, l->error);
  if (!status) status = take_text(&c->id, node, "id", l);
  if (!status) status = take_text(&c->source, node, "source", l);
  if (!status) status = take_text(&c->statement, node, "statement", l);
  if (!status) status = take_text(&c->hypothesis, node, "hypothesis", l);
  if (!status) status = take_text(&c->reason, node, "reason", l);
  if (!status) status = take_text(&c->note, node, "note", l);
  if (!status) status = take_expected(c, node, l);
  if (!status) status = take_check(&c->checks, &c->check_count, node, 0, l);
  const config_node *more = config_find(node, "checks"),
                    *corrected = config_find(node, "corrected");
  if (!status && more) status = take_checks(&c->checks, &c->check_count, more, l);
  if (!status && corrected) status = take_checks(&c->corrected, &c->corrected_count, corrected, l);
  return status ? status : check_claim(c, node, l);
}

static attest_status check_ids(const claim_file *file, const config_node *list, loader *l) {
  const claim *last = &file->claims[file->count - 1];
  for (size_t i = 0; i + 1 < file->count; i++)
    if (!strcmp(file->claims[i].id, last->id))
      return config_fail(l->error, l->path, &list->items[file->count - 1],
                         "id %s is that of line %d already", last->id, file->claims[i].line);
  return ATTEST_OK;
}

attest_status claim_file_open(claim_file *file, const char *path, attest_error *error) {
  static const char *const keys[] = {"paper", "claims", NULL};
  loader l = {path, error};
  config_node *root;
  memset(file, 0, sizeof *file);
  attest_status status = config_read(&root, path, error);
  if (status) return status;
  status = config_expect(root, CONFIG_MAPPING, "the file", path, error);
  if (!status) status = config_known_keys(root, keys, path, error);
  const config_node *list = status ? NULL : config_find(root, "claims");
  if (!status && !list) status = config_fail(error, path, root, "claims: is missing");
  if (!status) status = config_expect(list, CONFIG_SEQUENCE, "claims", path, error);
  if (!status && !list->count) status = config_fail(error, path, list, "claims: is empty");
  if (!status) {
    file->path = strdup(path);
    file->claims = calloc(list->count + 1, sizeof *file->claims);
    if (!file->path || !file->claims) status = out_of_memory(&l);
  }
  for (size_t i = 0; !status && i < list->count; i++) {
    status = load_claim(&file->claims[file->count++], &list->items[i], &l);
    if (!status) status = check_ids(file, list, &l);
  }
  config_free(root);
  if (status) claim_file_close(file);
  return status;
}

int claim_file_needs_data(const claim_file *file) {
  for (size_t i = 0; i < file->count; i++) {
    const claim *c = &file->claims[i];
    for (size_t k = 0; k < c->check_count + c->corrected_count; k++) {
      const claim_check *check =
          k < c->check_count ? &c->checks[k] : &c->corrected[k - c->check_count];
      int real = check->kind == CHECK_RUN && check->run.generator == generate_find("real");
      if (real || check->kind == CHECK_CERTIFIED) return 1;
    }
  }
  return 0;
}

/* ---- freeing ---- */

static void free_checks(claim_check *checks, size_t count) {
  for (size_t i = 0; i < count; i++) {
    expression_clear(&checks[i].expr);
    predicate_clear(&checks[i].condition);
    claim_run_clear(&checks[i].run);
    claim_certified_clear(&checks[i].certified);
    for (size_t k = 0; k < checks[i].printed_count; k++)
      free(checks[i].printed[k]);
    for (size_t k = 0; k < checks[i].counterexample_count; k++)
      expression_clear(&checks[i].counterexample[k]);
    free(checks[i].printed);
    free(checks[i].counterexample);
  }
  free(checks);
}

void claim_file_close(claim_file *file) {
  for (size_t i = 0; i < file->count; i++) {
    claim *c = &file->claims[i];
    char *texts[] = {c->id, c->source, c->statement, c->hypothesis, c->reason, c->note};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
      free(texts[k]);
    free_checks(c->checks, c->check_count);
    free_checks(c->corrected, c->corrected_count);
  }
  free(file->claims);
  free(file->path);
  memset(file, 0, sizeof *file);
}
