/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the parameters of a problem mean for its weights, and the rows that have no key. */
#include <string.h>

#include "../enclosure/exp.h"
#include "taylor.h"

static int is_one(const problem_real *x) {
  return x->sign > 0 && !x->root && fmpq_is_one(x->value);
}

taylor_kind taylor_kind_of(const attest_problem *problem) {
  const problem_values *values = &problem->values;
  taylor_kind kind = {.feature = FEATURE_IDENTITY,
                      .degree = values->degree,
                      .is_stateful = values->form != FORM_DIRECT,
                      .has_normalizer = values->normalize == NORMALIZE_SUM,
                      .has_decay = !is_one(&values->decay)};
  if (strcmp(problem->kernel->name, "linear") != 0) return kind;
  kind.is_stateful = 1;
  if (values->feature == FEATURE_TAYLOR) return kind;
  kind.feature = values->feature;
  kind.degree = -1;
  return kind;
}

double taylor_feature(problem_feature feature, double x) {
  double y;
  switch (feature) {
  case FEATURE_RELU:
    return x > 0 ? x : 0;
  case FEATURE_ELU1:
    if (x >= 0) return x + 1;
    exp64_array(&y, &x, 1);
    return y;
  default:
    return x;
  }
}

void taylor_feature_arb(arb_t y, problem_feature feature, double x, slong prec) {
  arb_set_d(y, feature == FEATURE_RELU && x < 0 ? 0 : x);
  if (feature != FEATURE_ELU1) return;
  if (x >= 0)
    arb_add_ui(y, y, 1, ARF_PREC_EXACT);
  else
    arb_exp(y, y, prec);
}

int64_t taylor_steps(const problem_slice *slice, int64_t row, int64_t key) {
  return row + slice->offset - key;
}

int64_t taylor_initial_steps(const problem_slice *slice, int64_t row) {
  int64_t steps = row + slice->offset + 1;
  return steps > 0 ? steps : 0;
}

/* ---- rows without a key ---------------------------------------------------------------------- */

static int any_visible(const attest_problem *problem, const problem_slice *slice, int64_t row) {
  int64_t lo, hi;
  problem_visible_range(&lo, &hi, problem, slice, row);
  for (int64_t j = lo; j < hi; j++)
    if (problem_visible(problem, slice, row, j)) return 1;
  return 0;
}

int taylor_special_row(unsigned char *class, double *value, const attest_problem *problem,
                       const problem_slice *slice, int64_t row) {
  memset(class, EXACT_FINITE, (size_t)slice->dv);
  for (int64_t c = 0; c < slice->dv; c++)
    value[c] = 0;
  if (slice->initial_state.data || any_visible(problem, slice, row)) return 1;
  if (problem->values.empty_row == EMPTY_ERROR) return -1;
  if (problem->values.empty_row == EMPTY_NAN) memset(class, EXACT_NAN, (size_t)slice->dv);
  return 0;
}

attest_status taylor_empty_row_trouble(const problem_slice *slice, int64_t row,
                                       attest_error *error) {
  return attest_fail(error, ATTEST_ERR_INPUT,
                     "sequence %lld, query head %lld: row %lld sees no key and empty-row is error; "
                     "set empty-row to zero or nan, or let the row see a key",
                     (long long)slice->sequence, (long long)slice->head, (long long)row);
}
