/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Kernels that can be computed with a state of fixed size: its shape, and the parameters that only
 * they have.
 *
 * The state of a key head is S[f][c] = sum_j f(k_j) [v_j, 1]_c over features f and components c,
 * the last column being the normaliser's. Features of a Taylor kernel are the monomials of k in
 * graded order: orders 0 .. P, inside an order the index tuples i_1 <= .. <= i_m in lexicographic
 * order; all factors (m!/beta!, 1/m!, scale^m) are on the query side. Features of `linear` are the
 * components of the feature map; it keeps the normaliser's column only under normalize sum. Axes:
 * (b, hk, features, columns), without b or hk where q has no such axis; packed sequences count as
 * the batch. */
#include <math.h>
#include <string.h>

#include "internal.h"

/* Higher degrees are refused: the largest float64 is below 200 terms of any use. */
#define DEGREE_MAX 1000
/* Larger states cannot be tensors. */
#define STATE_MAX ((int64_t)1 << 48)

int problem_has_state(const attest_problem *problem) {
  return problem_word_find(problem->kernel->outputs, ' ',
                           problem_output_names[OUTPUT_FINAL_STATE]) >= 0;
}

static int is_linear(const attest_problem *problem) {
  return problem_word_find(problem->kernel->params, ' ', "feature") >= 0;
}

static int has_degree(const attest_problem *problem) {
  return !is_linear(problem) || problem->values.feature == FEATURE_TAYLOR;
}

/* binom(d + degree, degree), or -1 beyond STATE_MAX. */
static int64_t monomials(int64_t d, int64_t degree) {
  int64_t n = 1;
  for (int64_t m = 1; m <= degree; m++) {
    if (__builtin_mul_overflow(n, d + m, &n)) return -1;
    n /= m; /* binomials all the way: exact */
    if (n > STATE_MAX) return -1;
  }
  return n;
}

/* ---- shape ----------------------------------------------------------------------------------- */

void problem_state_shape(int *ndim, int64_t shape[], const attest_problem *problem) {
  const problem_axes *axes = problem_layout_axes(problem->values.layout);
  int n = 0;
  if (axes->b >= 0 || problem->values.layout == LAYOUT_THD) shape[n++] = problem->sequences;
  if (axes->h >= 0) shape[n++] = problem->heads_k;
  shape[n++] = problem->state_rows;
  shape[n++] = problem->state_width;
  *ndim = n;
}

void problem_state_index(int64_t index[], const attest_problem *problem, const problem_slice *slice,
                         int64_t row, int64_t component) {
  const problem_axes *axes = problem_layout_axes(problem->values.layout);
  int n = 0;
  if (axes->b >= 0 || problem->values.layout == LAYOUT_THD) index[n++] = slice->sequence;
  if (axes->h >= 0) index[n++] = slice->head / (problem->heads_q / problem->heads_k);
  index[n++] = row;
  index[n] = component;
}

attest_tensor problem_state_view(const attest_tensor *t, const attest_problem *problem,
                                 const problem_slice *slice) {
  if (!t->data) return (attest_tensor){0};
  int64_t index[ATTEST_MAX_DIMS], offset = 0;
  problem_state_index(index, problem, slice, 0, 0);
  for (int i = 0; i < t->ndim; i++)
    offset += index[i] * t->stride[i];
  attest_tensor view = {.dtype = t->dtype, .byteswapped = t->byteswapped, .ndim = 2};
  view.data = (char *)t->data + offset * (int64_t)tensor_dtype_size(t->dtype);
  for (int i = 0; i < 2; i++) {
    view.shape[i] = t->shape[t->ndim - 2 + i];
    view.stride[i] = t->stride[t->ndim - 2 + i];
  }
  return view;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static attest_status values_check(const attest_problem *problem, attest_error *error) {
  const problem_values *values = &problem->values;
  problem_real one;
  problem_real_init(&one);
  problem_real_set_si(&one, 1);
  int decays = !problem_real_equal(&values->decay, &one);
  problem_real_clear(&one);
  if (has_degree(problem) && values->degree > DEGREE_MAX)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "degree is %lld; at most %d terms beyond the first are supported",
                       (long long)values->degree, DEGREE_MAX);
  if (!has_degree(problem) && problem_is_given(problem, "degree"))
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "degree belongs to --feature taylor: leave it out, or give that feature");
  if (values->eps.root || values->decay.root)
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "%s is an irrational square root; rows are decided over the rationals: give "
                       "a decimal, a ratio or a hex float",
                       values->eps.root ? "eps" : "decay");
  if (values->normalize == NORMALIZE_NONE && values->eps.sign != 0 &&
      problem_is_given(problem, "eps"))
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "eps is added to the normaliser, which normalize none does not have: leave "
                       "it out");
  if (values->nonfinite == NONFINITE_IEEE)
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "nonfinite ieee is not available for kernel %s: leave it out, and infinite "
                       "or NaN elements that a row sees are refused",
                       problem->kernel->name);
  if (decays && values->causal == CAUSAL_NONE)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "decay needs --causal: it is a factor of the state a step, and without an "
                       "order of the keys there are no steps");
  return ATTEST_OK;
}

/* One state for all rows cannot leave out what a mask or a window hides from some: which of them
 * does, or NULL. */
static const char *hides_keys(const attest_problem *problem) {
  const problem_values *values = &problem->values;
  int window = values->window_left >= 0 || (values->window_right >= 0 && !values->causal);
  return problem->input[INPUT_MASK].data ? "mask" : window ? "window" : NULL;
}

int problem_form_returns(const attest_problem *problem, int output) {
  if (!problem_kernel_returns(problem->kernel, output)) return 0;
  return output != OUTPUT_LSE || problem->values.form < FORM_FFT;
}

int problem_ends_in_state(const attest_problem *problem) {
  return problem_has_state(problem) && problem->state_rows > 0 && !hides_keys(problem);
}

static attest_status visibility_check(const attest_problem *problem, attest_error *error) {
  const problem_values *values = &problem->values;
  const char *what = hides_keys(problem);
  const char *state = problem->input[INPUT_INITIAL_STATE].data   ? "initial-state"
                      : problem->output[OUTPUT_FINAL_STATE].data ? "final-state"
                      : values->form == FORM_RECURRENT           ? "form recurrent"
                      : values->form == FORM_CHUNKED             ? "form chunked"
                                                                 : NULL;
  if (!what || !state) return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_INPUT,
                     "%s and %s do not go together: one state serves all rows, so nothing can be "
                     "hidden from some of them; form direct takes a %s",
                     state, what, what);
}

static attest_status shape_check(const attest_problem *problem, const attest_tensor *t,
                                 const char *name, attest_error *error) {
  attest_tensor wanted = {0};
  char found[96], right[96];
  if (!t->data) return ATTEST_OK;
  if (problem->state_rows < 0)
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "%s: a state of degree %lld in %lld dimensions has too many monomials", name,
                       (long long)problem->values.degree, (long long)problem->d);
  problem_state_shape(&wanted.ndim, wanted.shape, problem);
  if (t->ndim == wanted.ndim && !memcmp(t->shape, wanted.shape, (size_t)t->ndim * sizeof(int64_t)))
    return ATTEST_OK;
  return attest_fail(
      error, ATTEST_ERR_INPUT,
      "%s has shape %s; with %lld features and %lld columns (%s) a state is %s", name,
      tensor_shape_text(found, t), (long long)problem->state_rows, (long long)problem->state_width,
      problem->state_width > problem->dv ? "those of v and the normaliser's" : "those of v",
      tensor_shape_text(right, &wanted));
}

static attest_status finite_check(const attest_tensor *t, attest_error *error) {
  int64_t width = t->data ? t->shape[t->ndim - 1] : 1;
  int64_t rows = t->data && width > 0 ? tensor_elements(t) / width : 0;
  for (int64_t row = 0; row < rows; row++) {
    int64_t offset = tensor_row_offset(t, row);
    for (int64_t c = 0; c < width; c++) {
      double x = tensor_at(t, offset + c * t->stride[t->ndim - 1]);
      if (!isfinite(x))
        return attest_fail(error, ATTEST_ERR_INPUT,
                           "initial-state: column %lld of row %lld (rows of the last axis in C "
                           "order) is %g; a state is finite",
                           (long long)c, (long long)row, x);
    }
  }
  return ATTEST_OK;
}

attest_status problem_state_resolve(attest_problem *problem, attest_error *error) {
  problem->state_rows = problem->state_width = 0;
  if (!problem_has_state(problem)) return ATTEST_OK;
  attest_status status = values_check(problem, error);
  if (status) return status;
  const attest_tensor *initial = &problem->input[INPUT_INITIAL_STATE];
  problem->state_rows =
      has_degree(problem) ? monomials(problem->d, problem->values.degree) : problem->d;
  problem->state_width =
      problem->dv + (!is_linear(problem) || problem->values.normalize == NORMALIZE_SUM);
  status = visibility_check(problem, error);
  if (!status) status = shape_check(problem, initial, "initial-state", error);
  if (!status)
    status = shape_check(problem, &problem->output[OUTPUT_FINAL_STATE], "final-state", error);
  return status ? status : finite_check(initial, error);
}

/* ---- rows and columns of outputs ------------------------------------------------------------- */

int64_t problem_output_rows(const attest_problem *problem, const problem_slice *slice, int output) {
  if (output != OUTPUT_FINAL_STATE) return slice->nq;
  int first = slice->head % (problem->heads_q / problem->heads_k) == 0;
  return first && problem->state_rows > 0 ? problem->state_rows : 0;
}

int64_t problem_output_width(const attest_problem *problem, int output) {
  switch (output) {
  case OUTPUT_OUT:
    return problem->dv;
  case OUTPUT_FINAL_STATE:
    return problem->state_width;
  case OUTPUT_INDICES:
    return problem->values.topk < problem->nk ? problem->values.topk : problem->nk;
  default:
    return 1;
  }
}
