/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Plan files: every key and every value is checked here, before any work. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan_internal.h"

/* Products of lists beyond this are a slip of the pen. */
enum { CASES_MAX = 1000000 };
#define EXTENT_MAX (INT64_C(1) << 31)

typedef struct {
  plan *p;
  attest_error *error;
  const config_node *defaults; /* NULL: none */
} reader;

static attest_status out_of_memory(reader *r) {
  return attest_fail(r->error, ATTEST_ERR_MEMORY, "out of memory");
}

#define FAIL(r, node, ...) config_fail((r)->error, (r)->p->path, (node), __VA_ARGS__)

static attest_status expect(reader *r, const config_node *node, config_kind kind,
                            const char *what) {
  return config_expect(node, kind, what, r->p->path, r->error);
}

/* Puts the line before the message of something that was parsed from the node. */
static attest_status at_line(reader *r, const config_node *node, attest_status status) {
  char message[sizeof r->error->message];
  if (!status || status == ATTEST_ERR_MEMORY) return status;
  snprintf(message, sizeof message, "%s", r->error->message);
  return FAIL(r, node, "%s", message);
}

static attest_status take_text(reader *r, char **text, const config_node *mapping,
                               const char *key) {
  const config_node *node = config_find(mapping, key);
  if (!node) return ATTEST_OK;
  attest_status status = expect(r, node, CONFIG_SCALAR, key);
  if (status) return status;
  free(*text);
  return (*text = strdup(node->text)) ? ATTEST_OK : out_of_memory(r);
}

/* ---- subjects ---- */

static int is_blank(const config_node *node) {
  return node->kind == CONFIG_SCALAR && !node->text[strspn(node->text, " \t\n")];
}

static attest_status take_words(reader *r, plan_subject *s, const config_node *node) {
  s->shell = node->kind == CONFIG_SCALAR;
  const config_node *items = s->shell ? node : node->items;
  size_t count = s->shell ? 1 : node->count;
  if (node->kind == CONFIG_MAPPING || !count || is_blank(items))
    return FAIL(r, node, "exec must be a command line or a list of words");
  if (!(s->words = calloc(count + 1, sizeof *s->words))) return out_of_memory(r);
  for (size_t i = 0; i < count; i++) {
    attest_status status = expect(r, &items[i], CONFIG_SCALAR, "a word of exec");
    if (status) return status;
    if (!(s->words[i] = strdup(items[i].text))) return out_of_memory(r);
  }
  return ATTEST_OK;
}

static attest_status take_flag(reader *r, int *flag, const config_node *node, const char *key) {
  if (!node) return ATTEST_OK;
  attest_status status = expect(r, node, CONFIG_SCALAR, key);
  if (status) return status;
  *flag = !strcmp(node->text, "true");
  return *flag || !strcmp(node->text, "false") ? ATTEST_OK
                                               : FAIL(r, node, "%s must be true or false", key);
}

static attest_status take_subject(reader *r, plan_subject *s, const config_node *node) {
  static const char *const keys[] = {"exec", "persistent",  "library", "out",
                                     "lse",  "final-state", NULL};
  s->line = node->line;
  attest_status status = expect(r, node, CONFIG_MAPPING, "a subject");
  if (!status) status = config_known_keys(node, keys, r->p->path, r->error);
  if (status) return status;
  if (!(s->name = strdup(node->key))) return out_of_memory(r);
  const config_node *exec = config_find(node, "exec"), *flag = config_find(node, "persistent");
  status = take_text(r, &s->library, node, "library");
  int stored = 0;
  for (int i = 0; i < OUTPUT_COUNT && !status; i++) {
    status = take_text(r, &s->stored[i], node, problem_output_names[i]);
    stored |= s->stored[i] != NULL;
  }
  if (status) return status;
  s->kind = exec ? SUBJECT_EXEC : s->library ? SUBJECT_LIBRARY : SUBJECT_STORED;
  if ((exec != NULL) + (s->library != NULL) + stored != 1)
    return FAIL(r, node, "subject %s needs one of exec, library, or the files of its outputs",
                node->key);
  if (exec) status = take_words(r, s, exec);
  if (!status) status = take_flag(r, &s->persistent, flag, "persistent");
  if (!status && s->persistent && (!exec || s->shell))
    return FAIL(r, flag, "persistent is for exec as a list of words");
  return status;
}

static attest_status take_subjects(reader *r, const config_node *node) {
  attest_status status = expect(r, node, CONFIG_MAPPING, "subjects");
  if (status) return status;
  if (!(r->p->subjects = calloc(node->count + 1, sizeof *r->p->subjects))) return out_of_memory(r);
  for (size_t i = 0; i < node->count && !status; i++)
    status = take_subject(r, &r->p->subjects[r->p->subject_count++], &node->items[i]);
  return status;
}

/* ---- axes ---- */

static attest_status add_value(reader *r, plan_axis *axis, const char *text) {
  char **values = realloc(axis->values, (axis->count + 1) * sizeof *values);
  if (!values) return out_of_memory(r);
  axis->values = values;
  return (values[axis->count++] = strdup(text)) ? ATTEST_OK : out_of_memory(r);
}

/* "1..4096": every whole number from the first to the last. */
static attest_status add_range(reader *r, plan_axis *axis, const config_node *node) {
  long long first, last;
  int end = 0;
  /* 18 digits at most: longer numbers would overflow. */
  if (sscanf(node->text, "%18lld..%18lld%n", &first, &last, &end) != 2 || node->text[end])
    return strstr(node->text, "..") ? FAIL(r, node, "%.60s is no range: write 1..4096", node->text)
                                    : add_value(r, axis, node->text);
  if (first < 0 || last < first || last - first >= CASES_MAX)
    return FAIL(r, node, "%s is no range: write 1..4096", node->text);
  attest_status status = ATTEST_OK;
  for (long long n = first; n <= last && !status; n++) {
    char text[32];
    snprintf(text, sizeof text, "%lld", n);
    status = add_value(r, axis, text);
  }
  return status;
}

/* A list of scalars as one value: [255, 0] is "255,0". */
static attest_status add_joined(reader *r, plan_axis *axis, const config_node *node) {
  char text[64] = "";
  size_t length = 0;
  for (size_t i = 0; i < node->count; i++) {
    attest_status status = expect(r, &node->items[i], CONFIG_SCALAR, axis->key);
    if (status) return status;
    length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", i ? "," : "",
                               node->items[i].text);
    if (length >= sizeof text) return FAIL(r, node, "%s: the list is too long", axis->key);
  }
  return add_value(r, axis, text);
}

static attest_status add_item(reader *r, plan_axis *axis, const config_node *node) {
  if (node->kind == CONFIG_SEQUENCE && axis->kind == AXIS_PARAM) return add_joined(r, axis, node);
  attest_status status = expect(r, node, CONFIG_SCALAR, axis->key);
  if (status) return status;
  return axis->kind == AXIS_SHAPE || axis->kind == AXIS_SEED ? add_range(r, axis, node)
                                                             : add_value(r, axis, node->text);
}

/* The axis of that kind and key, replaced when the case overrides its defaults. */
static plan_axis *place_axis(plan_case *c, axis_kind kind, const char *key) {
  for (size_t i = 0; i < c->axis_count; i++) {
    plan_axis *axis = &c->axes[i];
    if (axis->kind != kind || strcmp(axis->key, key)) continue;
    while (axis->count)
      free(axis->values[--axis->count]);
    return axis;
  }
  if (c->axis_count == PLAN_AXES) return NULL;
  plan_axis *axis = &c->axes[c->axis_count];
  *axis = (plan_axis){.kind = kind, .key = strdup(key)};
  if (!axis->key) return NULL;
  c->axis_count++;
  return axis;
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Cases are told apart by their values. */
static attest_status check_distinct(reader *r, const plan_axis *axis, const config_node *node) {
  char **sorted = malloc((axis->count + 1) * sizeof *sorted);
  if (!sorted) return out_of_memory(r);
  attest_status status = ATTEST_OK;
  memcpy(sorted, axis->values, axis->count * sizeof *sorted);
  qsort(sorted, axis->count, sizeof *sorted, compare_texts);
  for (size_t i = 1; i < axis->count && !status; i++)
    if (!strcmp(sorted[i - 1], sorted[i]))
      status = FAIL(r, node, "%s has the value %.60s twice", axis->key, sorted[i]);
  free(sorted);
  return status;
}

static attest_status take_axis(reader *r, plan_case *c, axis_kind kind, const char *key,
                               const config_node *node) {
  if (!node) return ATTEST_OK;
  plan_axis *axis = place_axis(c, kind, key);
  if (!axis) return FAIL(r, node, "too many keys");
  axis->line = node->line;
  /* A window is a list itself. */
  int is_list = node->kind == CONFIG_SEQUENCE;
  if (is_list && (!strcmp(key, "window") || !strcmp(key, "window-size")) && node->count &&
      node->items[0].kind == CONFIG_SCALAR && !strchr(node->items[0].text, ','))
    is_list = 0;
  if (!is_list) return add_item(r, axis, node);
  attest_status status = node->count ? ATTEST_OK : FAIL(r, node, "%s is an empty list", key);
  for (size_t i = 0; i < node->count && !status; i++)
    status = add_item(r, axis, &node->items[i]);
  return status ? status : check_distinct(r, axis, node);
}

static attest_status take_params(reader *r, plan_case *c, const config_node *node) {
  if (!node) return ATTEST_OK;
  attest_status status = expect(r, node, CONFIG_MAPPING, "params");
  for (size_t i = 0; i < node->count && !status; i++) {
    const config_node *item = &node->items[i];
    const problem_param *param = problem_param_find(item->key, NULL);
    if (!param)
      return FAIL(r, item, "unknown parameter %.60s: attest check --help lists them", item->key);
    status =
        take_axis(r, c, param->kind == PARAM_TENSOR ? AXIS_TENSOR : AXIS_PARAM, item->key, item);
  }
  return status;
}

static attest_status check_extents(reader *r, const plan_axis *axis, const config_node *node) {
  for (size_t i = 0; i < axis->count; i++) {
    char *end;
    errno = 0;
    long long n = strtoll(axis->values[i], &end, 10);
    if (errno || end == axis->values[i] || *end || n < 0 || n > EXTENT_MAX)
      return FAIL(r, node, "%s is '%.40s': a whole number is wanted, a list or a range 1..4096",
                  axis->key, axis->values[i]);
  }
  return ATTEST_OK;
}

static attest_status take_shape(reader *r, plan_case *c, const config_node *node) {
  static const char *const keys[] = {"b", "h", "hq", "hkv", "n", "nq", "nk", "d", "dv", NULL};
  if (!node) return ATTEST_OK;
  attest_status status = expect(r, node, CONFIG_MAPPING, "shape");
  if (!status) status = config_known_keys(node, keys, r->p->path, r->error);
  for (size_t i = 0; i < node->count && !status; i++) {
    const config_node *item = &node->items[i];
    status = take_axis(r, c, AXIS_SHAPE, item->key, item);
    if (!status) status = check_extents(r, &c->axes[c->axis_count - 1], item);
  }
  static const char *const alternatives[][2] = {
      {"h", "hq"}, {"h", "hkv"}, {"n", "nq"}, {"n", "nk"}};
  for (size_t i = 0; i < 4 && !status; i++)
    if (config_find(node, alternatives[i][0]) && config_find(node, alternatives[i][1]))
      return FAIL(r, config_find(node, alternatives[i][1]), "%s and %s contradict each other",
                  alternatives[i][0], alternatives[i][1]);
  return status;
}

static int is_seed(const char *text) {
  size_t digits = strspn(text, "0123456789");
  return digits && digits <= 18 && !text[digits];
}

static attest_status take_data(reader *r, plan_case *c, const config_node *node) {
  static const char *const keys[] = {"generator", "seed", NULL};
  if (!node) return ATTEST_OK;
  attest_status status = expect(r, node, CONFIG_MAPPING, "data");
  if (!status) status = config_known_keys(node, keys, r->p->path, r->error);
  const config_node *names = status ? NULL : config_find(node, "generator");
  const config_node *seeds = status ? NULL : config_find(node, "seed");
  if (!status) status = take_axis(r, c, AXIS_GENERATOR, "generator", names);
  if (!status) status = take_axis(r, c, AXIS_SEED, "seed", seeds);
  for (size_t a = 0; a < c->axis_count && !status; a++)
    for (size_t i = 0; i < c->axes[a].count && !status; i++) {
      const char *value = c->axes[a].values[i];
      if (c->axes[a].kind == AXIS_GENERATOR && names && generate_find(value) < 0)
        status = FAIL(r, names,
                      "unknown generator %.40s; known: gaussian sphere real ties dominant "
                      "saturated cancelling denormal rational",
                      value);
      if (c->axes[a].kind == AXIS_SEED && seeds && !is_seed(value))
        status = FAIL(r, seeds, "seed is '%.40s': a whole number below 10^18 is wanted", value);
    }
  return status;
}

/* ---- the rest of a case ---- */

static attest_status add_bound(reader *r, plan_case *c, const config_node *node,
                               const char *output) {
  char *text;
  attest_status status = expect(r, node, CONFIG_SCALAR, "bound");
  if (status) return status;
  if (asprintf(&text, "%s%s%s", output ? output : "", output ? ":" : "", node->text) < 0)
    return out_of_memory(r);
  status = at_line(r, node, certify_bounds_add(&c->bounds, text, r->error));
  free(text);
  return status;
}

/* A bound, a list of bounds that all must hold, or a mapping from outputs to either. */
static attest_status take_bound(reader *r, plan_case *c, const config_node *node,
                                const char *output) {
  if (!node) return ATTEST_OK;
  if (node->kind == CONFIG_SCALAR) return add_bound(r, c, node, output);
  if ((node->kind == CONFIG_MAPPING && output) || !node->count)
    return FAIL(r, node, "a bound is expected, or a list of bounds");
  attest_status status = ATTEST_OK;
  for (size_t i = 0; i < node->count && !status; i++) {
    const config_node *item = &node->items[i];
    status = node->kind == CONFIG_MAPPING ? take_bound(r, c, item, item->key)
                                          : add_bound(r, c, item, output);
  }
  return status;
}

/* "products=bf16,block=64", or the same as a mapping. */
static attest_status take_arithmetic(reader *r, plan_case *c, const config_node *node) {
  char text[256] = "";
  size_t length = 0;
  if (!node) return ATTEST_OK;
  if (node->kind == CONFIG_SEQUENCE)
    return FAIL(r, node, "arithmetic is a mapping: {products: bf16, accumulate: f32, ..}");
  if (node->kind == CONFIG_SCALAR) length = (size_t)snprintf(text, sizeof text, "%s", node->text);
  for (size_t i = 0; i < node->count; i++) {
    attest_status status = expect(r, &node->items[i], CONFIG_SCALAR, node->items[i].key);
    if (status) return status;
    length += (size_t)snprintf(text + length, sizeof text - length, "%s%s=%s", i ? "," : "",
                               node->items[i].key, node->items[i].text);
    if (length >= sizeof text) break;
  }
  if (length >= sizeof text) return FAIL(r, node, "arithmetic is too long");
  free(c->arithmetic);
  return (c->arithmetic = strdup(text)) ? ATTEST_OK : out_of_memory(r);
}

static attest_status take_outputs(reader *r, plan_case *c, const config_node *node) {
  if (!node) return ATTEST_OK;
  const config_node *items = node->kind == CONFIG_SEQUENCE ? node->items : node;
  size_t count = node->kind == CONFIG_SEQUENCE ? node->count : 1;
  c->outputs = 0;
  if (!count) return FAIL(r, node, "outputs is an empty list");
  for (size_t i = 0; i < count; i++) {
    attest_status status = expect(r, &items[i], CONFIG_SCALAR, "an output");
    if (status) return status;
    int output = problem_output_find(items[i].text);
    if (output < 0)
      return FAIL(r, &items[i], "unknown output %.40s; known: out lse final-state", items[i].text);
    c->outputs |= 1u << output;
  }
  return ATTEST_OK;
}

static attest_status take_limits(reader *r, plan_case *c, const config_node *node) {
  const config_node *timeout = config_find(node, "timeout"), *memory = config_find(node, "memory");
  attest_status status = ATTEST_OK;
  if (timeout) {
    status = expect(r, timeout, CONFIG_SCALAR, "timeout");
    if (!status && subject_parse_seconds(&c->timeout, timeout->text))
      status = FAIL(r, timeout, "timeout is '%.40s': 60s or 5m is wanted", timeout->text);
  }
  if (!status && memory) {
    status = expect(r, memory, CONFIG_SCALAR, "memory");
    c->has_memory = 1;
    if (!status && subject_parse_bytes(&c->memory, memory->text))
      status = FAIL(r, memory, "memory is '%.40s': 500M, 8G or none is wanted", memory->text);
  }
  return status;
}

static attest_status take_expect(reader *r, plan_case *c, const config_node *node) {
  static const char *const verdicts[] = {"certified", "refuted", "undecided"};
  if (!node) return ATTEST_OK;
  attest_status status = expect(r, node, CONFIG_SCALAR, "expect");
  for (int v = 0; v < 3 && !status; v++)
    if (!strcmp(node->text, verdicts[v])) {
      c->has_expected = 1;
      c->expected = (attest_verdict)v;
      return ATTEST_OK;
    }
  return status ? status : FAIL(r, node, "expect must be certified, refuted or undecided");
}

/* What defaults and cases have in common. */
static attest_status take_common(reader *r, plan_case *c, const config_node *node) {
  attest_status status = take_axis(r, c, AXIS_DTYPE, "dtype", config_find(node, "dtype"));
  if (!status) status = take_params(r, c, config_find(node, "params"));
  if (!status) status = take_arithmetic(r, c, config_find(node, "arithmetic"));
  if (!status) status = take_outputs(r, c, config_find(node, "outputs"));
  return status ? status : take_limits(r, c, node);
}

/* ---- checks that need more than one key ---- */

static attest_status check_kernel(reader *r, const plan_case *c, const char *name,
                                  const config_node *node) {
  attest_problem *problem = attest_problem_new(name, r->error);
  const config_node *arithmetic = config_find(node, "arithmetic");
  room_machine machine;
  if (!problem) return at_line(r, node, r->error->status);
  attest_status status = ATTEST_OK;
  if (r->p->convention)
    status =
        at_line(r, node, attest_problem_set(problem, "convention", r->p->convention, r->error));
  attest_problem_free(problem);
  for (size_t a = 0; a < c->axis_count && !status; a++) {
    const plan_axis *axis = &c->axes[a];
    const config_node place = {.line = axis->line};
    for (size_t i = 0; i < axis->count && !status && axis->kind == AXIS_PARAM; i++) {
      if (!(problem = attest_problem_new(name, r->error))) return r->error->status;
      if (!plan_is_absent(axis->key, axis->values[i]))
        status =
            at_line(r, &place, attest_problem_set(problem, axis->key, axis->values[i], r->error));
      attest_problem_free(problem);
    }
  }
  if (!status && c->arithmetic)
    status = at_line(r, arithmetic ? arithmetic : node,
                     certify_machine_parse(&machine, name, c->arithmetic, r->error));
  return status;
}

static attest_status check_axes(reader *r, const plan_case *c, const config_node *node) {
  attest_status status = ATTEST_OK;
  for (size_t a = 0; a < c->axis_count && !status; a++) {
    const plan_axis *axis = &c->axes[a];
    const config_node place = {.line = axis->line};
    for (size_t i = 0; i < axis->count && !status; i++) {
      attest_dtype dtype;
      if (axis->kind == AXIS_KERNEL) status = check_kernel(r, c, axis->values[i], node);
      if (axis->kind == AXIS_DTYPE &&
          (tensor_dtype_parse(&dtype, axis->values[i]) || !tensor_dtype_format(dtype)))
        status =
            FAIL(r, &place, "dtype is '%.40s': f16, bf16, f32 or f64 is wanted", axis->values[i]);
      if (axis->kind == AXIS_SUBJECT && !plan_find_subject(r->p, axis->values[i]))
        status = FAIL(r, &place, "subject %.60s is not under subjects", axis->values[i]);
      if (axis->kind == AXIS_SUBJECT && !status && !c->input &&
          plan_find_subject(r->p, axis->values[i])->kind == SUBJECT_STORED)
        status = FAIL(r, &place,
                      "subject %.60s is stored: the case needs input, the file that "
                      "holds q, k, v",
                      axis->values[i]);
    }
  }
  return status;
}

/* The product over the axes. */
static attest_status count_case(reader *r, plan_case *c, const config_node *node) {
  c->count = 1;
  for (size_t a = 0; a < c->axis_count; a++)
    if (__builtin_mul_overflow(c->count, c->axes[a].count, &c->count) || c->count > CASES_MAX)
      return FAIL(r, node, "the lists multiply to more than %d cases", CASES_MAX);
  c->first = r->p->count;
  r->p->count += c->count;
  return r->p->count <= CASES_MAX ? ATTEST_OK
                                  : FAIL(r, node, "the plan has more than %d cases", CASES_MAX);
}

static const plan_axis *find_shape(const plan_case *c, const char *key) {
  for (size_t a = 0; a < c->axis_count; a++)
    if (c->axes[a].kind == AXIS_SHAPE && !strcmp(c->axes[a].key, key)) return &c->axes[a];
  return NULL;
}

/* Lists multiply, so that every hq meets every hkv. */
static attest_status check_heads(reader *r, const plan_case *c, const config_node *node) {
  static const char *const one[] = {"1"};
  const plan_axis *hq = find_shape(c, "hq"), *hkv = find_shape(c, "hkv");
  const char *const *given = hq ? (const char *const *)hq->values : one;
  for (size_t i = 0; hkv && i < (hq ? hq->count : 1); i++)
    for (size_t k = 0; k < hkv->count; k++) {
      long long n = strtoll(given[i], NULL, 10), m = strtoll(hkv->values[k], NULL, 10);
      if (m ? n % m : n)
        return FAIL(r, config_find(config_find(node, "shape"), "hkv"),
                    "hkv %lld does not divide hq %lld: a key head serves as many query heads as "
                    "any other; lists multiply, so put pairs that go together into cases of their "
                    "own",
                    m, n);
    }
  return ATTEST_OK;
}

/* rational without a number of keys visits every row length, one row each. */
static attest_status complete_shape(reader *r, plan_case *c, const config_node *node) {
  const config_node *shape = config_find(node, "shape");
  static const char *const given[] = {"shape", "data", "dtype"};
  for (size_t i = 0; i < 3 && c->input; i++)
    if (config_find(node, given[i]))
      return FAIL(r, config_find(node, given[i]), "%s is that of the input: leave it out",
                  given[i]);
  if (c->input) return ATTEST_OK;
  if (!shape) return FAIL(r, node, "case %s needs a shape (or an input)", c->name);
  if (!config_find(shape, "d")) return FAIL(r, shape, "shape needs d");
  if (config_find(shape, "n") || (config_find(shape, "nq") && config_find(shape, "nk")))
    return ATTEST_OK;
  int only_rational = 0;
  for (size_t a = 0; a < c->axis_count; a++)
    if (c->axes[a].kind == AXIS_GENERATOR)
      only_rational = c->axes[a].count == 1 && !strcmp(c->axes[a].values[0], "rational");
  if (!only_rational) return FAIL(r, shape, "shape needs n, or nq and nk");
  config_node one = {CONFIG_SCALAR, shape->line, (char *)"1", NULL, 0, NULL};
  config_node all = {CONFIG_SCALAR, shape->line, (char *)"1..4096", NULL, 0, NULL};
  attest_status status = ATTEST_OK;
  if (!config_find(shape, "nq")) status = take_axis(r, c, AXIS_SHAPE, "nq", &one);
  if (!status && !config_find(shape, "nk")) status = take_axis(r, c, AXIS_SHAPE, "nk", &all);
  return status;
}

static attest_status take_case(reader *r, plan_case *c, const config_node *node) {
  static const char *const keys[] = {"name",   "subject",    "kernel",  "params",  "shape",
                                     "data",   "dtype",      "input",   "outputs", "bound",
                                     "expect", "arithmetic", "timeout", "memory",  NULL};
  const config_node *bound = NULL;
  c->line = node->line;
  c->outputs = 1u << OUTPUT_OUT;
  c->timeout = 60;
  attest_status status = expect(r, node, CONFIG_MAPPING, "a case");
  if (!status) status = config_known_keys(node, keys, r->p->path, r->error);
  if (!status) status = take_text(r, &c->name, node, "name");
  if (!status) status = take_text(r, &c->input, node, "input");
  if (!status && (!c->name || !*c->name)) status = FAIL(r, node, "the case has no name");
  if (!status && !config_find(node, "kernel"))
    status = FAIL(r, node, "case %s has no kernel", c->name);
  if (!status && !config_find(node, "subject"))
    status = FAIL(r, node, "case %s has no subject", c->name);
  if (!status) status = take_axis(r, c, AXIS_SUBJECT, "subject", config_find(node, "subject"));
  if (!status) status = take_axis(r, c, AXIS_KERNEL, "kernel", config_find(node, "kernel"));
  if (!status && r->defaults) status = take_common(r, c, r->defaults);
  if (!status) status = take_common(r, c, node);
  if (!status) status = take_shape(r, c, config_find(node, "shape"));
  if (!status && r->defaults) status = take_data(r, c, config_find(r->defaults, "data"));
  if (!status) status = take_data(r, c, config_find(node, "data"));
  if (!status) status = complete_shape(r, c, node);
  if (!status) status = take_expect(r, c, config_find(node, "expect"));
  if (status) return status;
  bound = config_find(node, "bound");
  if (!bound && r->defaults) bound = config_find(r->defaults, "bound");
  status = take_bound(r, c, bound, NULL);
  if (!status) status = check_axes(r, c, node);
  if (!status) status = count_case(r, c, node);
  return status ? status : check_heads(r, c, node);
}

/* By name, those of a name in the order of the file. */
static int compare_names(const void *a, const void *b) {
  const plan_case *x = *(plan_case *const *)a, *y = *(plan_case *const *)b;
  int order = strcmp(x->name, y->name);
  return order ? order : (x > y) - (x < y);
}

static attest_status check_names(reader *r, const config_node *cases) {
  size_t n = r->p->case_count;
  plan_case **sorted = malloc((n + 1) * sizeof *sorted);
  if (!sorted) return out_of_memory(r);
  attest_status status = ATTEST_OK;
  for (size_t i = 0; i < n; i++)
    sorted[i] = &r->p->cases[i];
  qsort(sorted, n, sizeof *sorted, compare_names);
  for (size_t i = 1; i < n && !status; i++)
    if (!strcmp(sorted[i - 1]->name, sorted[i]->name))
      status = FAIL(r, &cases->items[sorted[i] - r->p->cases], "name %s is that of line %d already",
                    sorted[i]->name, sorted[i - 1]->line);
  free(sorted);
  return status;
}

static attest_status take_cases(reader *r, const config_node *node) {
  attest_status status = expect(r, node, CONFIG_SEQUENCE, "cases");
  if (status) return status;
  if (!node->count) return FAIL(r, node, "cases is empty");
  if (!(r->p->cases = calloc(node->count, sizeof *r->p->cases))) return out_of_memory(r);
  for (size_t i = 0; i < node->count && !status; i++)
    status = take_case(r, &r->p->cases[r->p->case_count++], &node->items[i]);
  return status ? status : check_names(r, node);
}

attest_status plan_read(plan *p, const config_node *root, attest_error *error) {
  static const char *const keys[] = {"attest", "convention", "defaults", "subjects", "cases", NULL};
  static const char *const defaults[] = {"dtype",   "bound",  "timeout", "memory", "arithmetic",
                                         "outputs", "params", "data",    NULL};
  reader r = {p, error, NULL};
  attest_status status = expect(&r, root, CONFIG_MAPPING, "the plan");
  if (!status) status = config_known_keys(root, keys, p->path, error);
  if (status) return status;
  const config_node *version = config_find(root, "attest"), *cases = config_find(root, "cases");
  const config_node *subjects = config_find(root, "subjects");
  if (!version || version->kind != CONFIG_SCALAR || strcmp(version->text, "1"))
    return FAIL(&r, version ? version : root, "a plan says attest: 1");
  r.defaults = config_find(root, "defaults");
  status = take_text(&r, &p->convention, root, "convention");
  if (!status && r.defaults) status = expect(&r, r.defaults, CONFIG_MAPPING, "defaults");
  if (!status && r.defaults) status = config_known_keys(r.defaults, defaults, p->path, error);
  if (!status && subjects) status = take_subjects(&r, subjects);
  if (!status && !cases) status = FAIL(&r, root, "the plan has no cases");
  return status ? status : take_cases(&r, cases);
}
