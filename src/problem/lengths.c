/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Lengths of sequences (cu-seqlens, seqused-k) and the small tensors: mask, bias, slopes, sinks. */
#include <math.h>

#include "internal.h"

static int64_t length_at(const attest_tensor *t, int64_t i) {
  return tensor_int_at(t, i * t->stride[0]);
}

/* ---- packed sequences ------------------------------------------------------------------------ */

/* Boundaries that start at 0, do not decrease and end within the packed axis of `rows`. */
static attest_status check_boundaries(int64_t *longest, const attest_problem *problem, int input,
                                      int64_t rows, attest_error *error) {
  const attest_tensor *t = &problem->input[input];
  const char *name = problem_input_names[input];
  char shape[96];
  if (t->ndim != 1 || t->shape[0] < 1)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "%s has shape %s; it is one axis of (sequences + 1) boundaries", name,
                       tensor_shape_text(shape, t));
  int64_t last = length_at(t, 0);
  if (last != 0)
    return attest_fail(error, ATTEST_ERR_INPUT, "%s starts with %lld; boundaries start with 0",
                       name, (long long)last);
  *longest = 0;
  for (int64_t i = 1; i < t->shape[0]; i++) {
    int64_t next = length_at(t, i);
    if (next < last || next > rows)
      return attest_fail(error, ATTEST_ERR_INPUT,
                         "%s[%lld] is %lld after %lld; boundaries must not decrease and not exceed "
                         "the %lld rows of %s",
                         name, (long long)i, (long long)next, (long long)last, (long long)rows,
                         input == INPUT_CU_Q ? "q" : "k");
    *longest = next - last > *longest ? next - last : *longest;
    last = next;
  }
  return ATTEST_OK;
}

static attest_status packed_resolve(attest_problem *problem, attest_error *error) {
  const attest_tensor *q = &problem->input[INPUT_CU_Q], *k = &problem->input[INPUT_CU_K];
  if (!q->data && !k->data && problem->values.layout != LAYOUT_THD) return ATTEST_OK;
  if (!q->data || !k->data)
    return attest_fail(
        error, ATTEST_ERR_INPUT,
        q->data || k->data
            ? "cu-seqlens-q and cu-seqlens-k go together: %s is missing"
            : "layout thd needs cu-seqlens-q and cu-seqlens-k (%s too); one sequence "
              "without them is layout nhd",
        k->data ? "cu-seqlens-q" : "cu-seqlens-k");
  if (problem->values.layout != LAYOUT_THD)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "cu-seqlens need layout thd (packed rows, heads, d), not %s",
                       problem_layout_axes(problem->values.layout)->name);
  attest_status status =
      check_boundaries(&problem->nq, problem, INPUT_CU_Q, problem->input[INPUT_Q].shape[0], error);
  if (!status)
    status = check_boundaries(&problem->nk, problem, INPUT_CU_K, problem->input[INPUT_K].shape[0],
                              error);
  if (status) return status;
  if (q->shape[0] != k->shape[0])
    return attest_fail(
        error, ATTEST_ERR_INPUT,
        "cu-seqlens-q has %lld boundaries and cu-seqlens-k %lld; both have one more than "
        "there are sequences",
        (long long)q->shape[0], (long long)k->shape[0]);
  problem->sequences = q->shape[0] - 1;
  return ATTEST_OK;
}

void problem_sequence_q(int64_t *start, int64_t *count, const attest_problem *problem,
                        int64_t sequence) {
  const attest_tensor *cu = &problem->input[INPUT_CU_Q];
  *start = cu->data ? length_at(cu, sequence) : 0;
  *count = cu->data ? length_at(cu, sequence + 1) - *start : problem->nq;
}

/* Keys before seqused-k. */
static void sequence_keys(int64_t *start, int64_t *count, const attest_problem *problem,
                          int64_t sequence) {
  const attest_tensor *cu = &problem->input[INPUT_CU_K];
  *start = cu->data ? length_at(cu, sequence) : 0;
  *count = cu->data ? length_at(cu, sequence + 1) - *start : problem->nk;
}

void problem_sequence_k(int64_t *start, int64_t *count, const attest_problem *problem,
                        int64_t sequence) {
  sequence_keys(start, count, problem, sequence);
  if (problem->input[INPUT_USED_K].data)
    *count = length_at(&problem->input[INPUT_USED_K], sequence);
}

attest_status problem_lengths_resolve(attest_problem *problem, attest_error *error) {
  attest_status status = packed_resolve(problem, error);
  const attest_tensor *used = &problem->input[INPUT_USED_K];
  char shape[96];
  if (status || !used->data) return status;
  if (used->ndim != 1 || used->shape[0] != problem->sequences)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "seqused-k has shape %s; it is (%lld), one length a sequence",
                       tensor_shape_text(shape, used), (long long)problem->sequences);
  for (int64_t s = 0; s < problem->sequences; s++) {
    int64_t start, keys, count = length_at(used, s);
    sequence_keys(&start, &keys, problem, s);
    if (count < 0 || count > keys)
      return attest_fail(error, ATTEST_ERR_INPUT,
                         "seqused-k[%lld] is %lld; sequence %lld has %lld keys", (long long)s,
                         (long long)count, (long long)s, (long long)keys);
  }
  return ATTEST_OK;
}

/* ---- mask and bias --------------------------------------------------------------------------- */

static attest_status pairs_resolve(const attest_problem *problem, int input, attest_error *error) {
  const attest_tensor *t = &problem->input[input];
  if (!t->data) return ATTEST_OK;
  if (problem->values.layout == LAYOUT_THD && problem->sequences != 1)
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "%s cannot be combined with %lld packed sequences (layout thd): give each "
                       "sequence as a case of its own",
                       problem_input_names[input], (long long)problem->sequences);
  const int64_t full[4] = {problem->sequences, problem->heads_q, problem->nq, problem->nk};
  int fits = t->ndim >= 2;
  for (int i = 0; i < t->ndim && fits; i++)
    fits = t->shape[i] == 1 || t->shape[i] == full[4 - t->ndim + i];
  if (fits) return ATTEST_OK;
  char found[96], pairs[96];
  attest_tensor all = {.ndim = 4, .shape = {full[0], full[1], full[2], full[3]}};
  return attest_fail(
      error, ATTEST_ERR_INPUT,
      "%s %s does not fit (b, h, nq, nk) = %s: it is (nq, nk), (h, nq, nk) or (b, h, nq, "
      "nk), each axis in full or 1",
      problem_input_names[input], tensor_shape_text(found, t), tensor_shape_text(pairs, &all));
}

/* ---- slopes and sinks ------------------------------------------------------------------------ */

/* (h) or, where a batch axis is allowed, (b, h); every entry finite, or -infinity where it is
 * allowed. */
static attest_status heads_resolve(const attest_problem *problem, int input, int batched,
                                   attest_error *error) {
  const attest_tensor *t = &problem->input[input];
  if (!t->data) return ATTEST_OK;
  int by_batch = batched && t->ndim == 2;
  char shape[96];
  if ((t->ndim != 1 && !by_batch) || t->shape[t->ndim - 1] != problem->heads_q ||
      (by_batch && t->shape[0] != problem->sequences))
    return attest_fail(error, ATTEST_ERR_INPUT,
                       batched
                           ? "%s has shape %s; with %lld query heads and %lld sequences it is (h) "
                             "or (b, h)"
                           : "%s has shape %s; with %lld query heads (%lld sequences) it is (h)",
                       problem_input_names[input], tensor_shape_text(shape, t),
                       (long long)problem->heads_q, (long long)problem->sequences);
  for (int64_t b = 0; b < (by_batch ? t->shape[0] : 1); b++)
    for (int64_t h = 0; h < problem->heads_q; h++) {
      double x = tensor_at(t, b * (by_batch ? t->stride[0] : 0) + h * t->stride[t->ndim - 1]);
      if (!isfinite(x) && (batched || !(x < 0)))
        return attest_fail(error, ATTEST_ERR_INPUT, "%s of head %lld is %g; it must be finite%s",
                           problem_input_names[input], (long long)h, x,
                           batched ? "" : " (-infinity: no sink)");
    }
  return ATTEST_OK;
}

attest_status problem_extras_resolve(attest_problem *problem, attest_error *error) {
  attest_status status = pairs_resolve(problem, INPUT_MASK, error);
  if (!status) status = pairs_resolve(problem, INPUT_BIAS, error);
  if (!status) status = heads_resolve(problem, INPUT_SLOPES, 1, error);
  return status ? status : heads_resolve(problem, INPUT_SINKS, 0, error);
}
