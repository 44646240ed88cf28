/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The function under test again: the blocks that hold special values, and the special values and a
 * few beginnings of blocks by themselves. A result may depend neither on when it is asked for nor
 * on how many others are asked for with it; the loop for what is left of an array is easily wrong.
 */
#include "sweep_engine.h"

int sweep_call_again(sweep_worker *w, const sweep_summary *block, attest_error *error) {
  int64_t n = (int64_t)block->count;
  ISA_DISPATCH(sweep_inputs)(w->in, (uint32_t)block->first, 1, n);
  int failed = sweep_worker_call(w, w->out, w->in, n, error);
  if (failed) return failed;
  if (sweep_result_bits(w->out[0]) == block->first_got &&
      sweep_result_bits(w->out[n - 1]) == block->last_got)
    return 0;
  snprintf(w->failure.reason, sizeof w->failure.reason, "not-deterministic");
  snprintf(w->failure.detail, sizeof w->failure.detail,
           "it returned other results for %a .. %a when called again", (double)w->in[0],
           (double)w->in[n - 1]);
  return 1;
}

/* 1 where the results at an input differ, with n inputs in the one call and m in the other. */
static int differs(sweep_worker *w, float x, float a, int64_t n, float b, int64_t m) {
  if (sweep_result_bits(a) == sweep_result_bits(b)) return 0;
  if (sweep_worker_segment(w, sweep_key(x)).demand == SWEEP_OUTSIDE) return 0;
  snprintf(w->failure.reason, sizeof w->failure.reason, "not-deterministic");
  snprintf(w->failure.detail, sizeof w->failure.detail,
           "at %a it returned %a in a call with %lld inputs and %a in one with %lld", (double)x,
           (double)a, (long long)n, (double)b, (long long)m);
  return 1;
}

/* The special values of one block, which is called again. */
static int compare_specials(const sweep_result *result, sweep_worker *w, const sweep_summary *b,
                            attest_error *error) {
  int is_called = 0;
  for (size_t i = 0; i < result->special_count; i++) {
    const sweep_special *s = &result->specials[i];
    uint64_t at = (uint64_t)sweep_key_of_bits(s->input) - b->first;
    if (at >= b->count) continue; /* below the block too: the difference wraps */
    int failed = is_called ? 0 : sweep_call_again(w, b, error);
    if (failed) return failed;
    is_called = 1;
    if (differs(w, tensor_bits_float(s->input), w->out[at], (int64_t)b->count,
                tensor_bits_float(s->got), (int64_t)result->special_count))
      return 1;
  }
  return 0;
}

/* The first m inputs of a block, which w->in and `whole` hold with its results. */
static int compare_beginning(sweep_worker *w, const float *whole, int64_t n, int64_t m,
                             attest_error *error) {
  if (m < 1 || m >= n) return 0;
  int failed = sweep_worker_call(w, w->out, w->in, m, error);
  if (failed) return failed;
  for (int64_t i = 0; i < m; i++)
    if (differs(w, w->in[i], whole[i], n, w->out[i], m)) return 1;
  return 0;
}

static int compare_beginnings(sweep_worker *w, float *whole, const sweep_summary *b,
                              attest_error *error) {
  const int64_t n = (int64_t)b->count, lengths[] = {1, 13, 31, n - 1, n - 6};
  int failed = sweep_call_again(w, b, error);
  if (failed) return failed;
  memcpy(whole, w->out, (size_t)n * sizeof *whole);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    failed = compare_beginning(w, whole, n, lengths[i], error);
    if (failed) return failed;
  }
  return 0;
}

int sweep_repeat(const sweep_result *result, sweep_worker *w, const sweep_summary *blocks,
                 size_t count, attest_error *error) {
  enum { BLOCKS = 4 };
  float *whole = isa_allocate(SWEEP_BLOCK, sizeof *whole);
  int failed = whole ? 0 : -1;
  if (failed) attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (size_t i = 0; i < count && !failed; i++)
    if (blocks[i].count) failed = compare_specials(result, w, &blocks[i], error);
  for (size_t k = 0; k < BLOCKS && !failed; k++) {
    size_t i = k * count / BLOCKS;
    while (i < count && !blocks[i].count) /* of another shard */
      i++;
    if (i < count) failed = compare_beginnings(w, whole, &blocks[i], error);
  }
  free(whole);
  return failed;
}
