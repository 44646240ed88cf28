/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "certify.h"

static int takes_ieee(const attest_problem *problem) {
  attest_error ignored;
  attest_problem *same = attest_problem_new(problem->kernel->name, &ignored);
  int takes = same && !attest_problem_set(same, "nonfinite", "ieee", &ignored);
  attest_problem_free(same);
  return takes;
}

attest_status certify_check_finite(const attest_problem *problem, const problem_slice *slice,
                                   attest_error *error) {
  const char *name;
  int64_t index[ATTEST_MAX_DIMS];
  if (problem->values.nonfinite != NONFINITE_ERROR ||
      !problem_find_nonfinite(&name, index, problem, slice))
    return ATTEST_OK;
  const attest_tensor *t = &problem->input[problem_input_find(name)];
  int follows = problem->pairing == PAIRING_DOT && takes_ieee(problem) &&
                !problem_kernel_returns(problem->kernel, OUTPUT_FINAL_STATE);
  char place[96] = "";
  int64_t offset = 0;
  for (int i = 0, n = 0; i < t->ndim; i++) {
    n += snprintf(place + n, sizeof place - (size_t)n, "%s%lld", i ? "," : "", (long long)index[i]);
    offset += index[i] * t->stride[i];
  }
  return attest_fail(error, ATTEST_ERR_INPUT,
                     "%s[%s] is %g and visible: hide it by mask, window or lengths%s", name, place,
                     tensor_at(t, offset), follows ? ", or ask for nonfinite ieee" : "");
}
