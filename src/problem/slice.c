/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Slices: one sequence and one query head as two-dimensional views; which keys a row sees. */
#include <math.h>

#include "internal.h"

static int64_t min64(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t max64(int64_t a, int64_t b) {
  return a > b ? a : b;
}

int64_t problem_slice_count(const attest_problem *problem) {
  return problem->sequences * problem->heads_q;
}

/* ---- views ----------------------------------------------------------------------------------- */

static attest_tensor view(const attest_tensor *t, int64_t offset, int ndim, int64_t rows,
                          int64_t row_stride, int64_t width, int64_t stride) {
  attest_tensor slice = {.dtype = t->dtype, .byteswapped = t->byteswapped, .ndim = ndim};
  slice.data = (char *)t->data + offset * (int64_t)tensor_dtype_size(t->dtype);
  slice.shape[0] = rows;
  slice.stride[0] = row_stride;
  slice.shape[1] = width;
  slice.stride[1] = stride;
  return slice;
}

static int64_t stride_of(const attest_tensor *t, int axis) {
  return axis < 0 ? 0 : t->stride[axis];
}

/* Rows start .. start + rows - 1 of one batch entry and head: (rows, d), or (rows) without axis d.
 */
static attest_tensor head_view(const attest_tensor *t, const problem_axes *axes, int64_t batch,
                               int64_t head, int64_t start, int64_t rows) {
  if (!t->data) return (attest_tensor){0};
  int64_t step = stride_of(t, axes->n);
  int64_t offset = batch * stride_of(t, axes->b) + head * stride_of(t, axes->h) + start * step;
  int has_d = axes->d >= 0;
  return view(t, offset, has_d ? 2 : 1, rows, step, has_d ? t->shape[axes->d] : 0,
              stride_of(t, axes->d));
}

/* The (nq, nk) view of mask or bias for one sequence and head; axes of extent 1 are repeated. */
static attest_tensor pair_view(const attest_tensor *t, int64_t sequence, int64_t head, int64_t nq,
                               int64_t nk) {
  if (!t->data) return (attest_tensor){0};
  int64_t stride[4] = {0, 0, 0, 0};
  for (int i = 0; i < t->ndim; i++)
    stride[4 - t->ndim + i] = t->shape[i] == 1 ? 0 : t->stride[i];
  return view(t, sequence * stride[0] + head * stride[1], 2, nq, stride[2], nk, stride[3]);
}

/* slopes[h], slopes[b][h] or sinks[h]: 1 and the number, or 0. */
static int head_number(double *x, const attest_tensor *t, int64_t sequence, int64_t head) {
  if (!t->data) return 0;
  int64_t batch_stride = t->ndim == 2 ? t->stride[0] : 0;
  *x = tensor_at(t, sequence * batch_stride + head * t->stride[t->ndim - 1]);
  return 1;
}

void problem_slice_get(problem_slice *slice, const attest_problem *problem, int64_t index) {
  const attest_tensor *input = problem->input;
  const problem_values *values = &problem->values;
  const problem_axes *in = problem_layout_axes(values->layout);
  const problem_axes *out = problem_layout_axes(values->out_layout);
  const problem_axes lse = problem_lse_axes(values->out_layout, problem->lse_heads_first);
  int64_t s = index / problem->heads_q, h = index % problem->heads_q, q0, k0;
  int64_t key_head = h / (problem->heads_q / problem->heads_k);
  *slice = (problem_slice){.index = index, .sequence = s, .head = h};
  slice->d = problem->d;
  slice->dv = problem->dv;
  problem_sequence_q(&q0, &slice->nq, problem, s);
  problem_sequence_k(&k0, &slice->nk, problem, s);
  slice->offset = values->alignment == CAUSAL_BOTTOM_RIGHT ? slice->nk - slice->nq : 0;
  slice->q = head_view(&input[INPUT_Q], in, s, h, q0, slice->nq);
  slice->k = head_view(&input[INPUT_K], in, s, key_head, k0, slice->nk);
  slice->v = head_view(&input[INPUT_V], in, s, key_head, k0, slice->nk);
  slice->out = head_view(&problem->output[OUTPUT_OUT], out, s, h, q0, slice->nq);
  slice->lse = head_view(&problem->output[OUTPUT_LSE], &lse, s, h, q0, slice->nq);
  slice->indices = head_view(&problem->output[OUTPUT_INDICES], out, s, h, q0, slice->nq);
  slice->bias = pair_view(&input[INPUT_BIAS], s, h, slice->nq, slice->nk);
  slice->mask = pair_view(&input[INPUT_MASK], s, h, slice->nq, slice->nk);
  slice->initial_state = problem_state_view(&input[INPUT_INITIAL_STATE], problem, slice);
  slice->final_state = problem_state_view(&problem->output[OUTPUT_FINAL_STATE], problem, slice);
  slice->has_slope = head_number(&slice->slope, &input[INPUT_SLOPES], s, h);
  slice->has_sink = head_number(&slice->sink, &input[INPUT_SINKS], s, h) && !isinf(slice->sink);
  if (!slice->has_sink) slice->sink = 0;
}

/* ---- visibility ------------------------------------------------------------------------------ */

/* Positions and windows are below 2^61 and 2^62, so no sum here leaves int64. */
void problem_visible_range(int64_t *lo, int64_t *hi, const attest_problem *problem,
                           const problem_slice *slice, int64_t i) {
  const problem_values *values = &problem->values;
  int64_t position = i + slice->offset, first = 0, end = slice->nk;
  if (values->window_left >= 0) first = max64(first, position - values->window_left);
  if (values->window_right >= 0) end = min64(end, position + values->window_right + 1);
  if (values->causal != CAUSAL_NONE) end = min64(end, position + 1);
  *lo = min64(first, slice->nk);
  *hi = max64(end, *lo);
}

/* Whether mask and bias leave key j to row i. */
static int pair_visible(const problem_slice *slice, int64_t i, int64_t j) {
  const attest_tensor *mask = &slice->mask, *bias = &slice->bias;
  if (mask->data && !tensor_int_at(mask, i * mask->stride[0] + j * mask->stride[1])) return 0;
  return !bias->data ||
         tensor_at(bias, i * bias->stride[0] + j * bias->stride[1]) != -(double)INFINITY;
}

int problem_visible(const attest_problem *problem, const problem_slice *slice, int64_t i,
                    int64_t j) {
  int64_t lo, hi;
  problem_visible_range(&lo, &hi, problem, slice, i);
  return lo <= j && j < hi && pair_visible(slice, i, j);
}

void problem_output_index(int64_t index[], const attest_problem *problem,
                          const problem_slice *slice, int output, int64_t row, int64_t component) {
  problem_axes axes = *problem_layout_axes(problem->values.out_layout);
  int64_t start, count;
  if (output == OUTPUT_FINAL_STATE) {
    problem_state_index(index, problem, slice, row, component);
    return;
  }
  if (output == OUTPUT_LSE)
    axes = problem_lse_axes(problem->values.out_layout, problem->lse_heads_first);
  problem_sequence_q(&start, &count, problem, slice->sequence);
  if (axes.b >= 0) index[axes.b] = slice->sequence;
  if (axes.h >= 0) index[axes.h] = slice->head;
  index[axes.n] = start + row;
  if (axes.d >= 0) index[axes.d] = component;
}

/* ---- elements that are not finite ------------------------------------------------------------ */

enum { CHUNK = 256 };

/* First component of a row, from `from` on, that is not finite; -1: none. */
static int64_t row_nonfinite(const attest_tensor *t, int64_t row) {
  double chunk[CHUNK];
  for (int64_t at = 0; at < t->shape[1]; at += CHUNK) {
    int64_t n = min64(CHUNK, t->shape[1] - at);
    tensor_load(chunk, t, row * t->stride[0] + at * t->stride[1], n, t->stride[1]);
    for (int64_t c = 0; c < n; c++)
      if (!isfinite(chunk[c])) return at + c;
  }
  return -1;
}

/* Whether row i sees any key. */
static int row_sees(const attest_problem *problem, const problem_slice *slice, int64_t i) {
  int64_t lo, hi;
  problem_visible_range(&lo, &hi, problem, slice, i);
  if (!slice->mask.data && !slice->bias.data) return lo < hi;
  for (int64_t j = lo; j < hi; j++)
    if (pair_visible(slice, i, j)) return 1;
  return 0;
}

/* Whether any row sees key j. Neither end of the visible range decreases with i, so the rows that
 * have j in range are one run: bisect for its start. */
static int key_seen(const attest_problem *problem, const problem_slice *slice, int64_t j) {
  int64_t below = 0, above = slice->nq, lo, hi;
  while (below < above) { /* first row with hi > j */
    int64_t i = below + (above - below) / 2;
    problem_visible_range(&lo, &hi, problem, slice, i);
    if (hi > j)
      above = i;
    else
      below = i + 1;
  }
  for (int64_t i = below; i < slice->nq; i++) {
    problem_visible_range(&lo, &hi, problem, slice, i);
    if (lo > j) return 0;
    if (pair_visible(slice, i, j)) return 1;
  }
  return 0;
}

static int bias_nonfinite(int64_t *row, int64_t *key, const attest_problem *problem,
                          const problem_slice *slice) {
  for (int64_t i = 0; i < slice->nq; i++) {
    int64_t lo, hi;
    problem_visible_range(&lo, &hi, problem, slice, i);
    for (int64_t j = lo; j < hi; j++) {
      double x = tensor_at(&slice->bias, i * slice->bias.stride[0] + j * slice->bias.stride[1]);
      if (!isfinite(x) && pair_visible(slice, i, j)) {
        *row = i;
        *key = j;
        return 1;
      }
    }
  }
  return 0;
}

/* Index of (row, component) of a slice of q, k or v in the axes of the input. */
static void input_index(int64_t index[], const attest_problem *problem, const problem_slice *slice,
                        int input, int64_t row, int64_t component) {
  const problem_axes *axes = problem_layout_axes(problem->values.layout);
  int64_t start, count, head = slice->head;
  if (input == INPUT_Q) {
    problem_sequence_q(&start, &count, problem, slice->sequence);
  } else {
    problem_sequence_k(&start, &count, problem, slice->sequence);
    head /= problem->heads_q / problem->heads_k;
  }
  if (axes->b >= 0) index[axes->b] = slice->sequence;
  if (axes->h >= 0) index[axes->h] = head;
  index[axes->n] = start + row;
  index[axes->d] = component;
}

/* Index of (i, j) in the axes of the bias tensor, which may lack axes or have them of extent 1. */
static void bias_index(int64_t index[], const attest_problem *problem, const problem_slice *slice,
                       int64_t i, int64_t j) {
  const attest_tensor *t = &problem->input[INPUT_BIAS];
  const int64_t full[4] = {slice->sequence, slice->head, i, j};
  for (int axis = 0; axis < t->ndim; axis++)
    index[axis] = t->shape[axis] == 1 ? 0 : full[4 - t->ndim + axis];
}

int problem_find_nonfinite(const char **name, int64_t index[ATTEST_MAX_DIMS],
                           const attest_problem *problem, const problem_slice *slice) {
  const attest_tensor *views[3] = {&slice->q, &slice->k, &slice->v};
  for (int input = INPUT_Q; input <= INPUT_V; input++) {
    const attest_tensor *t = views[input];
    for (int64_t row = 0; row < t->shape[0]; row++) {
      int64_t c = row_nonfinite(t, row);
      if (c >= 0 &&
          (input == INPUT_Q ? row_sees(problem, slice, row) : key_seen(problem, slice, row))) {
        *name = problem_input_names[input];
        input_index(index, problem, slice, input, row, c);
        return 1;
      }
    }
  }
  int64_t row, key;
  if (slice->bias.data && bias_nonfinite(&row, &key, problem, slice)) {
    *name = problem_input_names[INPUT_BIAS];
    bias_index(index, problem, slice, row, key);
    return 1;
  }
  return 0;
}
