/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the libraries of the field take for granted. */
#include <stddef.h>
#include <string.h>

#include "internal.h"

typedef struct {
  int sequence_first;     /* q, k, v are (b, n, h, d) */
  int out_sequence_first; /* so is out */
  problem_causal alignment;
  int heads_first; /* lse is (b, h, n) whatever the layout */
  problem_empty_row empty_row;
} preset;

/* sdpa: torch.nn.functional.scaled_dot_product_attention (2.5 or later for empty rows). flash-attn:
 * version 2.1 or later. ggml: ggml_flash_attn_ext, whose result has heads inside rows. */
static const preset presets[] = {
    [CONVENTION_NONE] = {0, 0, CAUSAL_TOP_LEFT, 0, EMPTY_ZERO},
    [CONVENTION_SDPA] = {0, 0, CAUSAL_TOP_LEFT, 0, EMPTY_ZERO},
    [CONVENTION_FLASH_ATTN] = {1, 1, CAUSAL_BOTTOM_RIGHT, 1, EMPTY_ZERO},
    [CONVENTION_XFORMERS] = {1, 1, CAUSAL_TOP_LEFT, 1, EMPTY_ZERO},
    [CONVENTION_FLA] = {1, 1, CAUSAL_TOP_LEFT, 0, EMPTY_ZERO},
    [CONVENTION_GGML] = {0, 1, CAUSAL_BOTTOM_RIGHT, 0, EMPTY_ZERO},
};

/* Layout by number of axes: 2-D nd, 3-D hnd, nhd or thd, 4-D bhnd or bnhd. */
static problem_layout by_axes(int ndim, int sequence_first, int packed) {
  if (ndim == 2) return LAYOUT_ND;
  if (ndim == 3) return packed ? LAYOUT_THD : sequence_first ? LAYOUT_NHD : LAYOUT_HND;
  return sequence_first ? LAYOUT_BNHD : LAYOUT_BHND;
}

problem_layout problem_convention_layout(problem_convention convention, int ndim, int packed) {
  return by_axes(ndim, presets[convention].sequence_first, packed);
}

problem_layout problem_convention_out_layout(problem_convention convention, int ndim, int packed) {
  const preset *p = &presets[convention];
  return p->sequence_first == p->out_sequence_first ? LAYOUT_DEFAULT
                                                    : by_axes(ndim, p->out_sequence_first, packed);
}

problem_causal problem_convention_alignment(problem_convention convention) {
  return presets[convention].alignment;
}

int problem_convention_heads_first(problem_convention convention) {
  return presets[convention].heads_first;
}

void problem_convention_apply(attest_problem *problem) {
  problem_values *values = &problem->values;
  if (values->convention == CONVENTION_NONE) return;
  if (!problem_is_given(problem, "empty-row")) {
    values->empty_row = presets[values->convention].empty_row;
    problem->is_set[problem_param_index("empty-row")] = 1;
  }
  /* fla adds 1e-6 to the normaliser of its Taylor kernel and 1e-10 to that of linear attention. */
  size_t eps = problem_param_index("eps");
  if (values->convention == CONVENTION_FLA && !problem_is_given(problem, "eps") &&
      problem_kernel_takes(problem->kernel, &problem_params[eps])) {
    int linear = !strcmp(problem->kernel->name, "linear");
    problem_real_parse(&values->eps, linear ? "1e-10" : "1e-6");
    problem->is_set[eps] = 1;
  }
}
