/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of plans share: plan_read.c fills it, plan.c counts and names, plan_run.c runs. */
#ifndef ATTEST_CERTIFY_PLAN_INTERNAL_H
#define ATTEST_CERTIFY_PLAN_INTERNAL_H

#include "plan.h"

/* What an axis varies. */
typedef enum {
  AXIS_SUBJECT,
  AXIS_KERNEL,
  AXIS_DTYPE,
  AXIS_PARAM,
  AXIS_TENSOR, /* a parameter that is a file */
  AXIS_SHAPE,
  AXIS_GENERATOR,
  AXIS_SEED
} axis_kind;

/* One key with its values. */
typedef struct {
  axis_kind kind;
  int line;
  char *key;
  size_t count;
  char **values;
} plan_axis;

enum { PLAN_AXES = 64 };

typedef enum { SUBJECT_EXEC, SUBJECT_LIBRARY, SUBJECT_STORED } plan_subject_kind;

typedef struct {
  plan_subject_kind kind;
  int line;
  char *name;
  char **words; /* of a command; NULL ends them */
  int shell, persistent;
  char *library;
  char *stored[OUTPUT_COUNT];
  subject_command *command; /* made when it is first wanted */
} plan_subject;

typedef struct {
  int line;
  char *name, *input, *arithmetic;
  unsigned outputs; /* bits */
  double timeout;   /* seconds */
  uint64_t memory;  /* bytes */
  int has_memory;
  int has_expected;
  attest_verdict expected;
  certify_bounds bounds;
  size_t axis_count;
  plan_axis axes[PLAN_AXES];
  size_t count; /* product over the axes */
  size_t first; /* how many the cases before it make */
} plan_case;

struct plan {
  char *path, *convention;
  size_t subject_count, case_count, count;
  plan_subject *subjects;
  plan_case *cases;
};

/* One choice of values. */
typedef struct {
  const plan_case *c;
  size_t chosen[PLAN_AXES];
} plan_instance;

plan_instance plan_instance_of(const plan *p, size_t i);
/* The value chosen for a kind (and key, unless NULL); NULL when there is no such axis. */
const char *plan_value(const plan_instance *at, axis_kind kind, const char *key);
plan_subject *plan_find_subject(const plan *p, const char *name);
/* Whether the value says that the parameter is not given: null, or none where that is no value. */
int plan_is_absent(const char *key, const char *value);

attest_status plan_read(plan *p, const config_node *root, attest_error *error);

#endif
