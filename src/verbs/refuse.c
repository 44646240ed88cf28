/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Command lines that would do harm or nothing: a file to be written that is also named to be read,
 * or to be written by another flag; limits of what is not run; flags without effect. */
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "verbs.h"

static int is_written(const char *flag) {
  static const char *const flags[] = {"json", "junit", "html", "output"};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (!strcmp(flag, flags[i])) return 1;
  return 0;
}

/* The file of "F" or, where there is no such file, of "F:NAME". 0, or -1: none. */
static int file_of(struct stat *file, const char *spec) {
  char path[4096];
  if (!stat(spec, file)) return 0;
  const char *colon = strrchr(spec, ':');
  if (!colon || (size_t)(colon - spec) >= sizeof path) return -1;
  memcpy(path, spec, (size_t)(colon - spec));
  path[colon - spec] = 0;
  return stat(path, file);
}

/* Whether `spec` names the file of `path`, or would. Device files (/dev/null, a terminal) take what
 * everyone writes. */
int verb_is_same_file(const char *spec, const char *path) {
  struct stat a, b;
  if (!stat(path, &a))
    return S_ISREG(a.st_mode) && !file_of(&b, spec) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  return !strcmp(path, spec);
}

static int complain(const verb_setting *written, const char *dashes, const char *other) {
  return verb_usage_error("--%s %s would overwrite the file of %s%s: name another file",
                          written->spelled, written->value, dashes, other);
}

int verb_refuse_limits(const verb_options *options) {
  static const char *const names[] = {"abi", "timeout", "memory", "outputs"};
  if (verb_option(options, "library") || verb_option(options, "exec")) return 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (verb_option(options, names[i]))
      return verb_usage_error("--%s is for what attest runs (--library, --exec)", names[i]);
  return 0;
}

/* Whether the bounds, or the one in force without them, ask for a measure. */
static int is_measured(const certify_bounds *bounds, measure_kind measure) {
  int named = 0; /* bounds of one output leave the default to the others */
  for (size_t i = 0; i < bounds->count; i++) {
    if (bounds->items[i].measure == measure) return 1;
    named |= bounds->items[i].output >= 0;
  }
  return measure == MEASURE_BACKWARD && (named || !bounds->count);
}

static void note_unused(const verb_options *options, const char *name, const char *wanted) {
  if (verb_option(options, name))
    fprintf(stderr, "attest: --%s has no effect here: it is for %s\n", name, wanted);
}

void verb_note_unused(const verb_options *options, const certify_bounds *bounds) {
  if (!is_measured(bounds, MEASURE_THEORY)) note_unused(options, "arithmetic", "--bound theory");
  if (!is_measured(bounds, MEASURE_BACKWARD)) {
    note_unused(options, "roundoff-weights", "the bound backward");
    note_unused(options, "roundoff-scores", "the bound backward");
  }
  if (!verb_option(options, "library") && !verb_option(options, "shape"))
    note_unused(options, "dtype", "--library and, with --shape, files without a header");
}

int verb_check_overwrite(const verb_options *options) {
  for (size_t i = 0; i < options->setting_count; i++) {
    const verb_setting *written = &options->settings[i];
    if (!is_written(written->name)) continue;
    for (size_t k = 0; k < options->setting_count; k++) {
      const verb_setting *s = &options->settings[k];
      if (k != i && s->value && verb_is_same_file(s->value, written->value))
        return complain(written, "--", s->spelled);
    }
    for (size_t k = 0; k < options->operand_count; k++)
      if (verb_is_same_file(options->operands[k], written->value))
        return complain(written, "", options->operands[k]);
  }
  return 0;
}
