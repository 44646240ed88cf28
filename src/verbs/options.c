/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "verbs.h"

int verb_trouble(const attest_error *error) {
  fprintf(stderr, "attest: %s\n", error->message);
  return EXIT_TROUBLE;
}

int verb_usage_error(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "attest: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
  return EXIT_TROUBLE;
}

/* Flags of every verb that takes a problem. */
const verb_flag verb_problem_flags[] = {
    {"input", "FILE", 0, "a safetensors file that holds tensors by name: q k v .. and out lse"},
    {"bf16", NULL, 0, "read two-byte unsigned or void npy items as bfloat16"},
    {"threads", "N", 0, "worker threads (default: all processors)"},
};
const size_t verb_problem_flag_count = sizeof verb_problem_flags / sizeof *verb_problem_flags;

static const verb_flag help_flag = {"help", NULL, 0, "this text"};

static const verb_flag *find_flag(const verb_definition *definition, const char *name) {
  for (size_t i = 0; i < definition->flag_count; i++)
    if (!strcmp(definition->flags[i].name, name)) return &definition->flags[i];
  if (definition->accepts & VERB_PROBLEM)
    for (size_t i = 0; i < verb_problem_flag_count; i++)
      if (!strcmp(verb_problem_flags[i].name, name)) return &verb_problem_flags[i];
  return strcmp(help_flag.name, name) ? NULL : &help_flag;
}

static int is_tensor_name(const verb_definition *definition, const char *name) {
  return ((definition->accepts & VERB_PROBLEM) && problem_input_find(name) >= 0) ||
         ((definition->accepts & VERB_OUTPUTS) && problem_output_find(name) >= 0);
}

/* ---- the nearest name, for the message about an unknown flag
 * --------------------------------------- */

#define NAME_MAX_LENGTH 31

/* Edits (insert, delete, replace) that turn a into b; names longer than the rows count as far. */
static int edit_distance(const char *a, const char *b) {
  size_t m = strlen(a), n = strlen(b);
  if (m > NAME_MAX_LENGTH || n > NAME_MAX_LENGTH) return NAME_MAX_LENGTH;
  int row[NAME_MAX_LENGTH + 1];
  for (size_t j = 0; j <= n; j++)
    row[j] = (int)j;
  for (size_t i = 1; i <= m; i++) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= n; j++) {
      int best = diagonal + (a[i - 1] != b[j - 1]);
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[n];
}

typedef struct {
  const char *typed;
  char name[NAME_MAX_LENGTH + 1];
  int distance;
} nearest;

static void consider(nearest *best, const char *name, size_t length) {
  char copy[NAME_MAX_LENGTH + 1];
  if (length > NAME_MAX_LENGTH) return;
  memcpy(copy, name, length);
  copy[length] = 0;
  int distance = edit_distance(best->typed, copy);
  /* What was meant as an abbreviation is nearer than any typing error. */
  size_t typed_length = strlen(best->typed);
  if (typed_length >= 2 && !strncmp(best->typed, copy, typed_length)) distance = 0;
  if (distance < best->distance) {
    best->distance = distance;
    strcpy(best->name, copy);
  }
}

static void consider_words(nearest *best, const char *words) {
  while (*words) {
    size_t length = strcspn(words, " ");
    consider(best, words, length);
    words += length + (words[length] == ' ');
  }
}

static int unknown_flag(const verb_definition *definition, const char *typed) {
  nearest best = {typed, "", 4};
  for (size_t i = 0; i < definition->flag_count; i++)
    consider_words(&best, definition->flags[i].name);
  consider_words(&best, help_flag.name);
  if (definition->accepts & VERB_PROBLEM) {
    for (size_t i = 0; i < verb_problem_flag_count; i++)
      consider_words(&best, verb_problem_flags[i].name);
    for (size_t i = 0; i < problem_param_count; i++) {
      consider_words(&best, problem_params[i].name);
      consider_words(&best, problem_params[i].aliases);
    }
    for (int i = 0; i < INPUT_COUNT; i++)
      consider_words(&best, problem_input_names[i]);
  }
  if (definition->accepts & VERB_OUTPUTS)
    for (int i = 0; i < OUTPUT_COUNT; i++)
      consider_words(&best, problem_output_names[i]);
  if (best.distance < 4)
    return verb_usage_error("unknown flag --%s: did you mean --%s? (flags are never abbreviated; "
                            "--help lists them)",
                            typed, best.name);
  return verb_usage_error("unknown flag --%s: --help lists the flags", typed);
}

/* ---- parsing
 * ------------------------------------------------------------------------------------------ */

/* What a name on the command line stands for. */
typedef struct {
  const verb_flag *flag;
  const problem_param *param;
  const char *name, *implied; /* implied: the value of a flag that may stand alone, else NULL */
  int alone;                  /* takes no value */
  int bare;                   /* may stand without one, which is then "" */
} meaning;

/* 0, or -1 when the name is unknown. */
static int find_meaning(meaning *m, const verb_definition *definition, const char *spelled) {
  memset(m, 0, sizeof *m);
  if ((m->flag = find_flag(definition, spelled))) {
    m->name = m->flag->name;
    m->alone = !m->flag->argument;
    return 0;
  }
  if (definition->accepts & VERB_PROBLEM && (m->param = problem_param_find(spelled, &m->implied))) {
    m->name = m->param->name;
    m->alone = m->implied != NULL;
    m->bare = m->param->bare;
    return 0;
  }
  m->name = spelled;
  return is_tensor_name(definition, spelled) ? 0 : -1;
}

static int same(const char *a, const char *b) {
  return a == b || (a && b && !strcmp(a, b));
}

/* 0 and the setting is stored, or 2 after the complaint. */
static int store(verb_options *options, const meaning *m, const char *spelled, const char *value) {
  for (size_t i = 0; i < options->setting_count && !(m->flag && m->flag->repeats); i++) {
    const verb_setting *s = &options->settings[i];
    if (strcmp(s->name, m->name)) continue;
    if (same(s->value, value) && (!strcmp(s->spelled, spelled) || m->implied)) return 0;
    return verb_usage_error("--%s %s contradicts --%s %s: give it once", spelled,
                            value ? value : "", s->spelled, s->value ? s->value : "");
  }
  options->settings[options->setting_count++] = (verb_setting){m->name, spelled, value, m->param};
  return 0;
}

/* One argument that starts with "--"; *next is the argument after it, moved on when it is used. */
static int parse_flag(verb_options *options, char *spelled, const char *value, char **argv,
                      int argc, int *next) {
  for (char *c = spelled; *c; c++)
    if (*c == '_') *c = '-';
  meaning m;
  if (find_meaning(&m, options->definition, spelled))
    return unknown_flag(options->definition, spelled);
  if (m.alone && value && m.flag) return verb_usage_error("--%s takes no value", spelled);
  if (m.alone && !value) value = m.implied;
  int is_last = *next >= argc || !strncmp(argv[*next], "--", 2);
  if (m.bare && !m.alone && !value && is_last) value = "";
  if (!m.alone && !value) {
    if (*next >= argc) return verb_usage_error("--%s needs a value", spelled);
    value = argv[(*next)++];
    if (!strncmp(value, "--", 2))
      return verb_usage_error("--%s needs a value, but %s follows (write --%s=VALUE for a value "
                              "that starts with two dashes)",
                              spelled, value, spelled);
  }
  return store(options, &m, spelled, value);
}

static int asks_for_help(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return 1;
  return 0;
}

static int is_operand(const verb_definition *definition, const char *argument) {
  if (argument[0] != '-' || !argument[1]) return 1;
  return definition->accepts & VERB_MINUS && (argument[1] != '-' || !isalpha(argument[2]));
}

/* 0 or 2. */
static int parse_arguments(verb_options *options, int argc, char **argv) {
  char *storage = options->spellings;
  for (int i = 1; i < argc;) {
    char *argument = argv[i++];
    if (is_operand(options->definition, argument)) {
      options->operands[options->operand_count++] = argument;
      continue;
    }
    if (argument[1] != '-' || !argument[2])
      return verb_usage_error("unknown flag %s: flags start with two dashes", argument);
    const char *equal = strchr(argument, '=');
    size_t length = equal ? (size_t)(equal - argument) - 2 : strlen(argument) - 2;
    char *spelled = memcpy(storage, argument + 2, length);
    spelled[length] = 0;
    storage += length + 1;
    int status = parse_flag(options, spelled, equal ? equal + 1 : NULL, argv, argc, &i);
    if (status) return status;
  }
  const verb_definition *d = options->definition;
  if (options->operand_count < d->operands_min)
    return verb_usage_error("too few arguments: %s", d->usage);
  if (options->operand_count > d->operands_max)
    return verb_usage_error("unexpected argument %s: %s", options->operands[d->operands_max],
                            d->usage);
  return verb_check_overwrite(options);
}

int verb_options_parse(verb_options *options, const verb_definition *definition, int argc,
                       char **argv) {
  memset(options, 0, sizeof *options);
  options->definition = definition;
  if (asks_for_help(argc, argv)) {
    verb_help_print(definition, argc > 1 ? problem_kernel_find(argv[1]) : NULL);
    return EXIT_HOLDS;
  }
  size_t bytes = 1;
  for (int i = 0; i < argc; i++)
    bytes += strlen(argv[i]) + 1;
  options->operands = calloc((size_t)argc + 1, sizeof *options->operands);
  options->settings = calloc((size_t)argc + 1, sizeof *options->settings);
  options->spellings = malloc(bytes);
  int status = EXIT_TROUBLE;
  if (!options->operands || !options->settings || !options->spellings)
    verb_usage_error("out of memory");
  else
    status = parse_arguments(options, argc, argv);
  if (!status) return -1;
  verb_options_clear(options);
  return status;
}

void verb_options_clear(verb_options *options) {
  free(options->operands);
  free(options->settings);
  free(options->spellings);
  memset(options, 0, sizeof *options);
}

const char *verb_option_nth(const verb_options *options, const char *name, size_t n) {
  for (size_t i = 0; i < options->setting_count; i++) {
    const verb_setting *s = &options->settings[i];
    if (!strcmp(s->name, name) && n-- == 0) return s->value ? s->value : "";
  }
  return NULL;
}

const char *verb_option(const verb_options *options, const char *name) {
  return verb_option_nth(options, name, 0);
}

int verb_option_count(long *value, const verb_options *options, const char *name, long fallback) {
  const char *text = verb_option(options, name);
  *value = fallback;
  if (!text) return 0;
  char *end;
  errno = 0;
  *value = strtol(text, &end, 10);
  if (errno || end == text || *end || *value < 1 || text[0] < '0' || text[0] > '9')
    return verb_usage_error("--%s %s: a positive whole number is wanted", name, text);
  return 0;
}
