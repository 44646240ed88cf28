/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The fast kernels: the forms, slice by slice. Memory of a slice: one state and one chunk. */
#include <stdlib.h>

#include "kernel.h"

/* A row without a visible key and without an initial state: empty-row says what it is. */
static int is_empty(const attest_problem *problem, const problem_slice *slice, int64_t row) {
  int64_t lo, hi;
  problem_visible_range(&lo, &hi, problem, slice, row);
  if (slice->initial_state.data) return 0;
  if (!slice->mask.data) return lo == hi;
  while (lo < hi && !problem_visible(problem, slice, row, lo))
    lo++;
  return lo == hi;
}

#define REAL float
#define DTYPE ATTEST_FLOAT32
#define NAME(x) x##_f32
#include "forms_impl.h"
#undef REAL
#undef DTYPE
#undef NAME

#define REAL double
#define DTYPE ATTEST_FLOAT64
#define NAME(x) x##_f64
#include "forms_impl.h"

attest_status taylor_kernel(attest_tensor *out, attest_tensor *lse, const attest_problem *problem,
                            attest_error *error) {
  (void)lse;
  attest_problem mine = *problem;
  mine.output[OUTPUT_OUT] = *out;
  taylor_plan *plan;
  int with_state = mine.values.form != FORM_DIRECT || mine.input[INPUT_INITIAL_STATE].data ||
                   mine.output[OUTPUT_FINAL_STATE].data;
  int is_double = out->dtype == ATTEST_FLOAT64;
  /* Steps of decay: from the last row or key to the state before the first key. */
  int64_t steps = 1 + (mine.nq > mine.nk ? mine.nq : mine.nk);
  attest_status status = taylor_plan_open(&plan, &mine, is_double, with_state, steps + 1, error);
  if (status) return status;
  int64_t slices = problem_slice_count(&mine);
  /* Whole slices side by side, or the rows of one. */
#pragma omp parallel for schedule(dynamic) if (slices > 1 && mine.values.form != FORM_DIRECT)
  for (int64_t i = 0; i < slices; i++) {
    problem_slice slice;
    attest_error own;
    problem_slice_get(&slice, &mine, i);
    attest_status one = (is_double ? slice_f64 : slice_f32)(plan, &mine, &slice, &own);
    if (one)
#pragma omp critical
    {
      status = one;
      if (error) *error = own;
    }
  }
  taylor_plan_close(plan);
  return status;
}
