/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which keys a row sees: the visible range against its definition for all small sizes, mask and
 * bias, packed sequences and lengths, elements that are not finite. Case names are those of the
 * literature on defects: the expected patterns are written out. */
#include <math.h>

#include "build.h"

static const char *const alignments[] = {"none", "top-left", "bottom-right"};

/* The definition: causal j <= i', window i' - L <= j <= i' + R, j < used. */
static int defined_visible(int64_t i, int64_t j, int64_t nq, int64_t used, problem_causal causal,
                           problem_causal alignment, int64_t left, int64_t right) {
  int64_t at = i + (alignment == CAUSAL_BOTTOM_RIGHT ? used - nq : 0);
  return j < used && (causal == CAUSAL_NONE || j <= at) && (left < 0 || j >= at - left) &&
         (right < 0 || j <= at + right);
}

static void check_range(const attest_problem *p, problem_causal causal, problem_causal alignment,
                        int64_t left, int64_t right) {
  problem_slice x;
  problem_slice_get(&x, p, 0);
  int64_t lo, hi, lo_before = 0, hi_before = 0;
  int wrong = 0; /* one assertion a problem: each costs a system call */
  for (int64_t i = 0; i < x.nq; i++) {
    problem_visible_range(&lo, &hi, p, &x, i);
    wrong |= lo < lo_before || hi < hi_before || hi < lo || hi > x.nk;
    for (int64_t j = 0; j < x.nk; j++) {
      int expected = defined_visible(i, j, x.nq, x.nk, causal, alignment, left, right);
      wrong |= (lo <= j && j < hi) != expected || problem_visible(p, &x, i, j) != expected;
    }
    lo_before = lo;
    hi_before = hi;
  }
  ck_assert_msg(!wrong, "nq %d nk %d causal %d alignment %d L %d R %d", (int)x.nq, (int)x.nk,
                (int)causal, (int)alignment, (int)left, (int)right);
}

/* One size: every alignment, window and used length. The resolved struct is varied directly, so
 * that 150,000 problems need no parsing. */
static void check_size(int64_t nq, int64_t nk) {
  const int64_t q[] = {nq, 1}, k[] = {nk, 1};
  attest_problem *p = on_ones(2, q, k, k);
  int64_t used = 0, one = 1;
  input(p, "seqused-k", attest_tensor_of(&used, ATTEST_INT64, 1, &one));
  resolve(p);
  for (used = 0; used <= nk; used++)
    for (int causal = CAUSAL_NONE; causal <= CAUSAL_BOTTOM_RIGHT; causal++)
      for (int align = CAUSAL_TOP_LEFT; align <= CAUSAL_BOTTOM_RIGHT; align++)
        for (int64_t left = -1; left <= nk + 1; left++)
          for (int64_t right = -1; right <= nk + 1; right++) {
            if (causal != CAUSAL_NONE && causal != align) continue;
            p->values.causal = (problem_causal)causal;
            p->values.alignment = (problem_causal)align;
            p->values.window_left = left;
            p->values.window_right = right;
            check_range(p, (problem_causal)causal, (problem_causal)align, left, right);
          }
  attest_problem_free(p);
}

START_TEST(visible_range_is_the_definition_for_all_small_sizes) {
  for (int64_t nq = 0; nq <= 6; nq++)
    for (int64_t nk = 0; nk <= 6; nk++)
      check_size(nq, nk);
}
END_TEST

/* "10 110": visible keys of every row, '1' seen, rows separated by blanks. */
static void check_pattern(const attest_problem *p, int64_t index, const char *expected) {
  problem_slice x;
  char found[1024];
  size_t n = 0;
  problem_slice_get(&x, p, index);
  for (int64_t i = 0; i < x.nq; i++) {
    for (int64_t j = 0; j < x.nk; j++)
      found[n++] = problem_visible(p, &x, i, j) ? '1' : '0';
    found[n++] = ' ';
  }
  found[n ? n - 1 : 0] = 0;
  ck_assert_str_eq(found, expected);
}

static attest_problem *sized(int64_t nq, int64_t nk) {
  const int64_t q[] = {nq, 2}, k[] = {nk, 2};
  return on_ones(2, q, k, k);
}

/* H01 */
START_TEST(causal_alignment_with_fewer_queries_than_keys) {
  attest_problem *p = sized(2, 5);
  set(p, "causal", "top-left");
  resolve(p);
  check_pattern(p, 0, "10000 11000");
  attest_problem_free(p);
  p = sized(2, 5);
  set(p, "causal", "bottom-right");
  resolve(p);
  check_pattern(p, 0, "11110 11111");
  attest_problem_free(p);
  p = sized(5, 2);
  set(p, "causal", "bottom-right");
  resolve(p);
  check_pattern(p, 0, "00 00 00 10 11");
  attest_problem_free(p);
}
END_TEST

START_TEST(bare_causal_is_refused_where_alignments_differ) {
  attest_problem *p = sized(2, 5);
  set(p, "causal", "");
  refuse(p, ATTEST_ERR_INPUT, "2 queries and 5 keys; say --causal top-left");
  set(p, "alignment", "bottom-right");
  resolve(p);
  check_pattern(p, 0, "11110 11111");
  attest_problem_free(p);
  p = sized(3, 3);
  set(p, "causal", "");
  resolve(p);
  ck_assert_str_eq(in_force(p, "causal"), "top-left");
  check_pattern(p, 0, "100 110 111");
  int64_t used = 2, one = 1;
  input(p, "seqused-k", attest_tensor_of(&used, ATTEST_INT64, 1, &one));
  refuse(p, ATTEST_ERR_INPUT, "3 queries and 2 keys");
  attest_problem_free(p);
}
END_TEST

START_TEST(causal_and_alignment_may_not_contradict) {
  attest_problem *p = sized(2, 5);
  set(p, "causal", "top-left");
  set(p, "alignment", "bottom-right");
  refuse(p, ATTEST_ERR_INPUT, "contradict");
  attest_problem_free(p);
}
END_TEST

/* H04: a total of W keys against W keys to the left and the row's own. */
START_TEST(sliding_window_counts_keys_and_window_counts_distance) {
  static const struct {
    const char *name, *value;
    int keys[10];
  } windows[] = {{"sliding-window", "4", {1, 2, 3, 4, 4, 4, 4, 4, 4, 4}},
                 {"window", "4,0", {1, 2, 3, 4, 5, 5, 5, 5, 5, 5}}};
  for (int w = 0; w < 2; w++) {
    attest_problem *p = sized(10, 10);
    problem_slice x;
    set(p, "causal", "top-left");
    set(p, windows[w].name, windows[w].value);
    resolve(p);
    ck_assert_str_eq(in_force(p, "window"), w ? "4,0" : "3,0");
    problem_slice_get(&x, p, 0);
    for (int64_t i = 0; i < 10; i++) {
      int64_t lo, hi;
      problem_visible_range(&lo, &hi, p, &x, i);
      ck_assert_int_eq(hi - lo, windows[w].keys[i]);
    }
    attest_problem_free(p);
  }
}
END_TEST

START_TEST(window_without_causal_follows_the_alignment) {
  attest_problem *p = sized(2, 5);
  set(p, "window", "1,0");
  resolve(p);
  check_pattern(p, 0, "10000 11000");
  set(p, "convention", "flash-attn");
  resolve(p);
  check_pattern(p, 0, "00110 00011");
  ck_assert_str_eq(in_force(p, "alignment"), "bottom-right");
  attest_problem_free(p);
}
END_TEST

/* H05: true = attend. The upper triangle hides the row itself; row 2 sees nothing. */
START_TEST(mask_true_means_attend) {
  unsigned char triu[9] = {0, 1, 1, 0, 0, 1, 0, 0, 0};
  attest_problem *p = sized(3, 3);
  input(p, "attn_mask", attest_tensor_of(triu, ATTEST_BOOL, SHAPE(3, 3)));
  resolve(p);
  check_pattern(p, 0, "011 001 000");
  ck_assert_str_eq(in_force(p, "mask"), "bool(3,3)");
  attest_problem_free(p);
}
END_TEST

START_TEST(float_masks_and_bool_biases_are_sent_to_the_other_flag) {
  attest_problem *p = sized(3, 3);
  attest_error error = {0};
  attest_tensor t = ones(SHAPE(3, 3));
  ck_assert_int_eq(attest_problem_input(p, "mask", &t, &error), ATTEST_ERR_INPUT);
  ck_assert_ptr_nonnull(strstr(error.message, "--bias"));
  t.dtype = ATTEST_BOOL;
  ck_assert_int_eq(attest_problem_input(p, "bias", &t, &error), ATTEST_ERR_INPUT);
  ck_assert_ptr_nonnull(strstr(error.message, "--mask"));
  attest_problem_free(p);
}
END_TEST

START_TEST(minus_infinite_bias_hides_and_broadcasts_by_axes_of_one) {
  double bias[2 * 3] = {0, -INFINITY, 1, -INFINITY, 0, 0};
  const int64_t q[] = {2, 2, 3, 2}; /* b, h, n, d */
  attest_problem *p = on_ones(4, q, q, q);
  input(p, "bias", attest_tensor_of(bias, ATTEST_FLOAT64, SHAPE(2, 1, 3))); /* by head and key */
  resolve(p);
  for (int b = 0; b < 2; b++) {
    check_pattern(p, 2 * b, "101 101 101");
    check_pattern(p, 2 * b + 1, "011 011 011");
  }
  input(p, "bias",
        attest_tensor_of(bias, ATTEST_FLOAT64, SHAPE(2, 1, 3, 1))); /* by batch and row */
  resolve(p);
  check_pattern(p, 0, "111 000 111");
  check_pattern(p, 3, "000 111 111");
  static const int64_t bad[][4] = {{3, 3, 0, 0}, {2, 2, 3, 0}, {3, 1, 1, 3}};
  static const int axes[] = {1, 3, 4};
  for (int i = 0; i < 3; i++) {
    input(p, "bias", ones(axes[i], bad[i]));
    refuse(p, ATTEST_ERR_INPUT, "does not fit (b, h, nq, nk) = (2, 2, 3, 3)");
  }
  attest_problem_free(p);
}
END_TEST

/* ---- slopes, sinks, heads -------------------------------------------------------------------- */

/* J06 (slopes are given, never computed) and J10 (64 query heads on 8 key heads). */
START_TEST(slopes_sinks_and_key_heads_belong_to_their_query_head) {
  const int64_t q[] = {2, 64, 4, 2}, k[] = {2, 8, 4, 2};
  static double slopes[128], sinks[64], keys[8];
  for (int i = 0; i < 128; i++)
    slopes[i] = ldexp(1 + i / 64, -i % 64 - 1);
  for (int i = 0; i < 64; i++)
    sinks[i] = i == 5 ? -INFINITY : i;
  for (int i = 0; i < 8; i++)
    keys[i] = i;
  attest_problem *p = on_ones(4, q, k, k);
  attest_tensor by_head = ones(4, k);
  by_head.data = keys;
  by_head.stride[1] = 1;
  input(p, "k", by_head);
  input(p, "sinks", attest_tensor_of(sinks, ATTEST_FLOAT64, SHAPE(64)));
  for (int batched = 0; batched < 2; batched++) {
    input(p, "alibi-slopes",
          batched ? attest_tensor_of(slopes, ATTEST_FLOAT64, SHAPE(2, 64))
                  : attest_tensor_of(slopes, ATTEST_FLOAT64, SHAPE(64)));
    resolve(p);
    for (int64_t s = 0; s < 128; s++) {
      problem_slice x;
      problem_slice_get(&x, p, s);
      ck_assert_int_eq(x.sequence, s / 64);
      ck_assert_int_eq(x.head, s % 64);
      ck_assert(element(&x.k, 0, 0) == (double)(x.head / 8));
      ck_assert(x.has_slope && x.slope == slopes[batched ? s : x.head]);
      ck_assert_int_eq(x.has_sink, x.head != 5);
      ck_assert(x.sink == (x.head == 5 ? 0 : (double)x.head));
    }
  }
  attest_problem_free(p);
}
END_TEST

START_TEST(slopes_and_sinks_must_be_finite_and_of_the_right_shape) {
  static const struct {
    const char *name;
    double value;
    int count;
    const char *message;
  } bad[] = {{"alibi-slopes", NAN, 2, "must be finite"},
             {"alibi-slopes", -INFINITY, 2, "must be finite"},
             {"sinks", NAN, 2, "no sink"},
             {"sinks", INFINITY, 2, "no sink"},
             {"sinks", 0, 3, "has shape (3,)"},
             {"alibi-slopes", 0, 1, "has shape (1,)"}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    double values[3] = {bad[i].value, bad[i].value, bad[i].value};
    int64_t n = bad[i].count;
    const int64_t q[] = {2, 3, 2};
    attest_problem *p = on_ones(3, q, q, q);
    input(p, bad[i].name, attest_tensor_of(values, ATTEST_FLOAT64, 1, &n));
    refuse(p, ATTEST_ERR_INPUT, bad[i].message);
    attest_problem_free(p);
  }
  const int64_t q[] = {2, 3, 2};
  attest_problem *p = on_ones(3, q, q, q);
  input(p, "alibi-slopes", ones(SHAPE(2)));
  set(p, "convention", "flash-attn");
  set(p, "layout", "hnd");
  refuse(p, ATTEST_ERR_SUPPORT, "slope |j - i'|");
  set(p, "causal", "");
  resolve(p);
  attest_problem_free(p);
}
END_TEST

/* ---- packed sequences and lengths ------------------------------------------------------------ */

START_TEST(packed_sequences_are_slices_of_their_rows) {
  int32_t cu_q[] = {0, 3, 3, 7}, cu_k[] = {0, 2, 5, 9};
  double rows[10 * 2 * 1];
  for (int i = 0; i < 20; i++)
    rows[i] = i;
  for (int lse_first = 0; lse_first < 2; lse_first++) {
    attest_problem *p = new_problem("softmax");
    attest_tensor t = attest_tensor_of(rows, ATTEST_FLOAT64, SHAPE(10, 2, 1));
    input(p, "q", t);
    input(p, "k", t);
    input(p, "v", t);
    output(p, "out", t);
    output(p, "lse",
           lse_first ? attest_tensor_of(rows, ATTEST_FLOAT64, SHAPE(2, 10))
                     : attest_tensor_of(rows, ATTEST_FLOAT64, SHAPE(10, 2)));
    input(p, "cu-seqlens-q", attest_tensor_of(cu_q, ATTEST_INT32, SHAPE(4)));
    input(p, "cu-seqlens-k", attest_tensor_of(cu_k, ATTEST_INT32, SHAPE(4)));
    set(p, "causal", "bottom-right");
    resolve(p);
    ck_assert_str_eq(in_force(p, "layout"), "thd");
    ck_assert_int_eq(problem_slice_count(p), 6);
    ck_assert_int_eq(p->nq, 4);
    ck_assert_int_eq(p->nk, 4);
    for (int64_t s = 0; s < 6; s++) {
      problem_slice x;
      int64_t index[4];
      problem_slice_get(&x, p, s);
      int64_t b = s / 2, h = s % 2;
      ck_assert_int_eq(x.nq, cu_q[b + 1] - cu_q[b]);
      ck_assert_int_eq(x.nk, cu_k[b + 1] - cu_k[b]);
      ck_assert_int_eq(x.offset, x.nk - x.nq);
      for (int64_t i = 0; i < x.nq; i++) {
        ck_assert(element(&x.q, i, 0) == (double)((cu_q[b] + i) * 2 + h));
        ck_assert(element(&x.lse, i, 0) ==
                  (double)(lse_first ? h * 10 + cu_q[b] + i : (cu_q[b] + i) * 2 + h));
        problem_output_index(index, p, &x, OUTPUT_LSE, i, 0);
        ck_assert_int_eq(index[lse_first], cu_q[b] + i);
        ck_assert_int_eq(index[!lse_first], h);
      }
      for (int64_t j = 0; j < x.nk; j++)
        ck_assert(element(&x.k, j, 0) == (double)((cu_k[b] + j) * 2 + h));
    }
    check_pattern(p, 0, "00 10 11");
    check_pattern(p, 2, "");
    attest_problem_free(p);
  }
}
END_TEST

START_TEST(boundaries_that_make_no_sense_are_refused) {
  static const struct {
    int64_t q[3], k[3];
    const char *message;
  } bad[] = {{{1, 2, 3}, {0, 2, 4}, "starts with 1"},
             {{0, 3, 2}, {0, 2, 4}, "cu-seqlens-q[2] is 2 after 3"},
             {{0, 2, 4}, {0, 2, 5}, "not exceed the 4 rows of k"},
             {{0, -1, 4}, {0, 2, 4}, "is -1 after 0"}};
  const int64_t q[] = {4, 2, 3};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    attest_problem *p = on_ones(3, q, q, q);
    input(p, "cu-seqlens-q", attest_tensor_of((void *)bad[i].q, ATTEST_INT64, SHAPE(3)));
    input(p, "cu-seqlens-k", attest_tensor_of((void *)bad[i].k, ATTEST_INT64, SHAPE(3)));
    refuse(p, ATTEST_ERR_INPUT, bad[i].message);
    attest_problem_free(p);
  }
  int64_t cu[3] = {0, 2, 4};
  attest_problem *p = on_ones(3, q, q, q);
  input(p, "cu-seqlens-q", attest_tensor_of(cu, ATTEST_INT64, SHAPE(3)));
  refuse(p, ATTEST_ERR_INPUT, "go together: cu-seqlens-k is missing");
  input(p, "cu-seqlens-k", attest_tensor_of(cu, ATTEST_INT64, SHAPE(2)));
  refuse(p, ATTEST_ERR_INPUT, "3 boundaries and cu-seqlens-k 2");
  input(p, "cu-seqlens-k", attest_tensor_of(cu, ATTEST_INT64, SHAPE(3)));
  set(p, "layout", "nhd");
  refuse(p, ATTEST_ERR_INPUT, "cu-seqlens need layout thd");
  attest_problem_free(p);
  p = on_ones(3, q, q, q);
  input(p, "cu-seqlens-q", attest_tensor_of(cu, ATTEST_INT64, SHAPE(3)));
  input(p, "cu-seqlens-k", attest_tensor_of(cu, ATTEST_INT64, SHAPE(3)));
  input(p, "bias", ones(SHAPE(2, 2)));
  refuse(p, ATTEST_ERR_SUPPORT, "bias cannot be combined with 2 packed sequences");
  attest_error error = {0};
  attest_tensor floats = ones(SHAPE(3));
  ck_assert_int_eq(attest_problem_input(p, "seqused-k", &floats, &error), ATTEST_ERR_INPUT);
  ck_assert_ptr_nonnull(strstr(error.message, "int32 or int64"));
  attest_problem_free(p);
}
END_TEST

/* A14: lengths 3 and 0 of 3 keys. A15: no keys at all. */
START_TEST(sequences_and_problems_without_keys_are_legal) {
  int32_t used[] = {3, 0};
  const int64_t shape[] = {2, 1, 3, 2}, none[] = {1, 1, 0, 2}, one[] = {1, 1, 4, 2};
  attest_problem *p = on_ones(4, shape, shape, shape);
  input(p, "seqused-k", attest_tensor_of(used, ATTEST_INT32, SHAPE(2)));
  resolve(p);
  check_pattern(p, 0, "111 111 111");
  check_pattern(p, 1, "  "); /* three rows of no keys */
  used[1] = 4;
  p->resolved = 0;
  refuse(p, ATTEST_ERR_INPUT, "seqused-k[1] is 4; sequence 1 has 3 keys");
  attest_problem_free(p);
  p = on_ones(4, one, none, none);
  set(p, "causal", "bottom-right");
  resolve(p);
  ck_assert_int_eq(p->nk, 0);
  check_pattern(p, 0, "   ");
  attest_problem_free(p);
}
END_TEST

START_TEST(empty_tensors_may_come_without_data) {
  attest_problem *p = new_problem("softmax");
  input(p, "q", attest_tensor_of(NULL, ATTEST_FLOAT32, SHAPE(2, 0, 4)));
  input(p, "k", ones(SHAPE(2, 3, 4)));
  input(p, "v", ones(SHAPE(2, 3, 4)));
  resolve(p);
  ck_assert_int_eq(problem_slice_count(p), 2);
  input(p, "q", attest_tensor_of(NULL, ATTEST_FLOAT32, SHAPE(0, 3, 4)));
  input(p, "k", attest_tensor_of(NULL, ATTEST_FLOAT32, SHAPE(0, 3, 4)));
  input(p, "v", attest_tensor_of(NULL, ATTEST_FLOAT32, SHAPE(0, 3, 4)));
  resolve(p);
  ck_assert_int_eq(problem_slice_count(p), 0);
  attest_error error = {0};
  attest_tensor t = attest_tensor_of(NULL, ATTEST_FLOAT32, SHAPE(2, 3, 4));
  ck_assert_int_eq(attest_problem_input(p, "q", &t, &error), ATTEST_ERR_INPUT);
  ck_assert_ptr_nonnull(strstr(error.message, "q (2, 3, 4) has no data"));
  attest_problem_free(p);
}
END_TEST

/* ---- elements that are not finite ------------------------------------------------------------ */

enum { N = 5, M = 6, W = 3 };

/* A random problem of (N, W) queries and (M, W) keys with a few NaN and infinities, a mask, a bias
 * and a window, each present or not. */
typedef struct {
  double q[N * W], k[M * W], v[M * W], bias[N * M];
  unsigned char mask[N * M];
} sample;

static double spoiled(uint64_t *state, unsigned rarity) {
  static const double bad[] = {NAN, INFINITY, -INFINITY};
  return tests_random(state) % rarity ? tests_uniform(state) : bad[tests_random(state) % 3];
}

static attest_problem *random_problem(sample *s, uint64_t *state) {
  for (int i = 0; i < N * W; i++)
    s->q[i] = spoiled(state, 150);
  for (int i = 0; i < M * W; i++)
    s->k[i] = spoiled(state, 60);
  for (int i = 0; i < M * W; i++)
    s->v[i] = spoiled(state, 60);
  for (int i = 0; i < N * M; i++)
    s->mask[i] = tests_random(state) % 3 == 0;
  for (int i = 0; i < N * M; i++)
    s->bias[i] = spoiled(state, 20);
  attest_problem *p = new_problem("softmax");
  input(p, "q", attest_tensor_of(s->q, ATTEST_FLOAT64, SHAPE(N, W)));
  input(p, "k", attest_tensor_of(s->k, ATTEST_FLOAT64, SHAPE(M, W)));
  input(p, "v", attest_tensor_of(s->v, ATTEST_FLOAT64, SHAPE(M, W)));
  if (tests_random(state) % 2)
    input(p, "mask", attest_tensor_of(s->mask, ATTEST_BOOL, SHAPE(N, M)));
  if (tests_random(state) % 3 == 0)
    input(p, "bias", attest_tensor_of(s->bias, ATTEST_FLOAT64, SHAPE(N, M)));
  set(p, "causal", alignments[tests_random(state) % 3]);
  char window[16];
  snprintf(window, sizeof window, "%d,%d", (int)(tests_random(state) % 4) - 1,
           (int)(tests_random(state) % 4) - 1);
  set(p, "window", window);
  resolve(p);
  return p;
}

static int row_bad(const double *t, int row) {
  for (int c = 0; c < W; c++)
    if (!isfinite(t[row * W + c])) return 1;
  return 0;
}

/* By the definition: some visible pair touches an element that is not finite. */
static int any_bad(const sample *s, const attest_problem *p, const problem_slice *x) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++)
      if (problem_visible(p, x, i, j) &&
          (row_bad(s->q, i) || row_bad(s->k, j) || row_bad(s->v, j) ||
           (x->bias.data && !isfinite(s->bias[i * M + j]))))
        return 1;
  return 0;
}

static void check_place(const sample *s, const attest_problem *p, const problem_slice *x,
                        const char *name, const int64_t index[]) {
  int touched = 0;
  int64_t row = index[0], c = index[1];
  for (int64_t i = 0; i < N; i++)
    for (int64_t j = 0; j < M; j++)
      touched |= problem_visible(p, x, i, j) && (*name == 'q'   ? i == row
                                                 : *name == 'b' ? i == row && j == c
                                                                : j == row);
  ck_assert(touched);
  const double *t = *name == 'q' ? s->q : *name == 'k' ? s->k : *name == 'v' ? s->v : s->bias;
  ck_assert(!isfinite(t[row * (*name == 'b' ? M : W) + c]));
}

START_TEST(only_visible_elements_that_are_not_finite_are_found) {
  uint64_t state = tests_seed();
  int found = 0, hidden = 0;
  for (int trial = 0; trial < 4000; trial++) {
    sample s;
    attest_problem *p = random_problem(&s, &state);
    problem_slice x;
    const char *name;
    int64_t index[ATTEST_MAX_DIMS];
    problem_slice_get(&x, p, 0);
    int expected = any_bad(&s, p, &x);
    ck_assert_int_eq(problem_find_nonfinite(&name, index, p, &x), expected);
    if (expected) check_place(&s, p, &x, name, index);
    found += expected;
    hidden += !expected;
    attest_problem_free(p);
  }
  ck_assert_int_gt(found, 500);
  ck_assert_int_gt(hidden, 500);
}
END_TEST

START_TEST(a_place_is_given_in_the_axes_of_the_input) {
  const int64_t q[] = {1, 2, 4, 3}, k[] = {1, 2, 2, 3}; /* b, n, h, d: 4 query heads on 2 */
  double keys[12] = {0};
  keys[(1 * 2 + 1) * 3 + 2] = NAN; /* n 1, key head 1, component 2 */
  attest_problem *p = on_ones(4, q, k, k);
  input(p, "k", attest_tensor_of(keys, ATTEST_FLOAT64, SHAPE(1, 2, 2, 3)));
  set(p, "layout", "bnhd");
  resolve(p);
  for (int64_t h = 0; h < 4; h++) {
    problem_slice x;
    const char *name;
    int64_t index[ATTEST_MAX_DIMS];
    problem_slice_get(&x, p, h);
    ck_assert_int_eq(problem_find_nonfinite(&name, index, p, &x), h >= 2);
    if (h >= 2)
      ck_assert(*name == 'k' && index[0] == 0 && index[1] == 1 && index[2] == 1 && index[3] == 2);
  }
  attest_problem_free(p);
}
END_TEST

void test_visible(Suite *suite) {
  TCase *tc = tcase_create("visible");
  tcase_add_test(tc, visible_range_is_the_definition_for_all_small_sizes);
  tcase_add_test(tc, causal_alignment_with_fewer_queries_than_keys);
  tcase_add_test(tc, bare_causal_is_refused_where_alignments_differ);
  tcase_add_test(tc, causal_and_alignment_may_not_contradict);
  tcase_add_test(tc, sliding_window_counts_keys_and_window_counts_distance);
  tcase_add_test(tc, window_without_causal_follows_the_alignment);
  tcase_add_test(tc, mask_true_means_attend);
  tcase_add_test(tc, float_masks_and_bool_biases_are_sent_to_the_other_flag);
  tcase_add_test(tc, minus_infinite_bias_hides_and_broadcasts_by_axes_of_one);
  tcase_add_test(tc, slopes_sinks_and_key_heads_belong_to_their_query_head);
  tcase_add_test(tc, slopes_and_sinks_must_be_finite_and_of_the_right_shape);
  tcase_add_test(tc, packed_sequences_are_slices_of_their_rows);
  tcase_add_test(tc, boundaries_that_make_no_sense_are_refused);
  tcase_add_test(tc, sequences_and_problems_without_keys_are_legal);
  tcase_add_test(tc, empty_tensors_may_come_without_data);
  tcase_add_test(tc, only_visible_elements_that_are_not_finite_are_found);
  tcase_add_test(tc, a_place_is_given_in_the_axes_of_the_input);
  suite_add_tcase(suite, tc);
}
