/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The output indices of top-k: verdicts on sets of keys, their backward error against all pairs of
 * keys, the policy of ties, and indices as witness of out. */
#include <math.h>

#include "../../src/certify/certify.h"
#include "../../src/sparse/sparse.h"
#include "fixture_sparse.h"

/* The verdict on these indices alone, of one row; width of them. */
static attest_verdict verdict_of(const fixture_row *r, int32_t *indices, int64_t width,
                                 const char *bound) {
  attest_error error;
  attest_tensor t = attest_tensor_of(indices, ATTEST_INT32, 2, (int64_t[]){1, width});
  attest_tensor none = {0};
  r->problem->output[OUTPUT_OUT] = none;
  ck_assert_msg(!attest_problem_output(r->problem, "indices", &t, &error), "%s", error.message);
  attest_certificate *c = attest_check(r->problem, bound, &error);
  ck_assert_msg(c != NULL, "%s", error.message);
  attest_verdict verdict = attest_certificate_verdict(c);
  attest_certificate_free(c);
  r->problem->output[OUTPUT_INDICES] = none;
  return verdict;
}

typedef struct {
  int32_t indices[3];
  attest_verdict any, lowest, highest;
} judged_set;

/* top-2 of 2, 1, 1, 0, -5 with the last key hidden. */
START_TEST(sets_of_keys_have_their_verdicts) {
  static const float s[5] = {2, 1, 1, 0, -5};
  static const judged_set sets[] = {
      {{0, 1}, ATTEST_CERTIFIED, ATTEST_CERTIFIED, ATTEST_REFUTED},
      {{1, 0},
       ATTEST_CERTIFIED,
       ATTEST_CERTIFIED,
       ATTEST_REFUTED}, /* a set: the order does not matter */
      {{0, 2}, ATTEST_CERTIFIED, ATTEST_REFUTED, ATTEST_CERTIFIED},
      {{1, 2}, ATTEST_REFUTED, ATTEST_REFUTED, ATTEST_REFUTED},
      {{0, 3}, ATTEST_REFUTED, ATTEST_REFUTED, ATTEST_REFUTED},
      {{0, 0}, ATTEST_REFUTED, ATTEST_REFUTED, ATTEST_REFUTED},
      {{0, 5}, ATTEST_REFUTED, ATTEST_REFUTED, ATTEST_REFUTED},
      {{0, -2}, ATTEST_REFUTED, ATTEST_REFUTED, ATTEST_REFUTED},
      {{0, -1}, ATTEST_REFUTED, ATTEST_REFUTED, ATTEST_REFUTED},
      {{0, 4}, ATTEST_REFUTED, ATTEST_REFUTED, ATTEST_REFUTED},
      {{0, INT32_MAX}, ATTEST_REFUTED, ATTEST_REFUTED, ATTEST_REFUTED},
  };
  static const char *const policies[] = {"any", "lowest", "highest"};
  unsigned char mask[5] = {1, 1, 1, 1, 0};
  for (int policy = 0; policy < 3; policy++) {
    attest_error error;
    fixture_row r;
    fixture_row_open(&r, _i ? "topk-softmax" : "topk-uniform",
                     (const char *[]){"topk", "2", "ties", policies[policy], NULL}, s, 5, 5);
    attest_tensor t = attest_tensor_of(mask, ATTEST_BOOL, 2, (int64_t[]){1, 5});
    ck_assert(!attest_problem_input(r.problem, "mask", &t, &error));
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
      int32_t indices[2] = {sets[i].indices[0], sets[i].indices[1]};
      attest_verdict wanted = policy == 0   ? sets[i].any
                              : policy == 1 ? sets[i].lowest
                                            : sets[i].highest;
      attest_verdict verdict = verdict_of(&r, indices, 2, "backward<=16");
      ck_assert_msg(verdict == wanted, "ties %s, {%d, %d}: verdict %d, not %d", policies[policy],
                    indices[0], indices[1], (int)verdict, (int)wanted);
    }
    fixture_row_close(&r);
  }
}
END_TEST

/* A row that sees two keys where three are selected: the place left is -1. */
START_TEST(rows_with_few_keys_are_padded) {
  static const float s[4] = {2, 1, 1, 0};
  unsigned char mask[4] = {1, 0, 0, 1};
  int32_t right[3] = {3, -1, 0}, missing[3] = {0, -1, -1}, hidden[3] = {0, 3, 1};
  attest_error error;
  fixture_row r;
  fixture_row_open(&r, "topk-uniform", (const char *[]){"topk", "3", NULL}, s, 4, 4);
  attest_tensor t = attest_tensor_of(mask, ATTEST_BOOL, 2, (int64_t[]){1, 4});
  ck_assert(!attest_problem_input(r.problem, "mask", &t, &error));
  ck_assert_int_eq(verdict_of(&r, right, 3, NULL), ATTEST_CERTIFIED);
  ck_assert_int_eq(verdict_of(&r, missing, 3, NULL), ATTEST_REFUTED);
  ck_assert_int_eq(verdict_of(&r, hidden, 3, NULL), ATTEST_REFUTED);
  fixture_row_close(&r);
}
END_TEST

/* The reference: by falling score, equal scores by rising key, or falling ones under highest; more
 * keys than there are make a row of all keys. */
START_TEST(reference_indices_have_their_order) {
  static const float s[5] = {1, 3, 1, 3, 2};
  static const struct {
    const char *topk, *ties;
    int64_t width, keys[5];
  } cases[] = {{"4", "any", 4, {1, 3, 4, 0}},
               {"4", "highest", 4, {3, 1, 4, 2}},
               {"900000000000", "lowest", 5, {1, 3, 4, 0, 2}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fixture_row r;
    attest_error error;
    int64_t keys[5], shape[2] = {1, cases[i].width};
    fixture_row_open(&r, "topk-softmax",
                     (const char *[]){"topk", cases[i].topk, "ties", cases[i].ties, NULL}, s, 5, 5);
    attest_tensor t = attest_tensor_of(keys, ATTEST_INT64, 2, shape);
    ck_assert_msg(!attest_reference(&t, r.problem, "indices", &error), "%s", error.message);
    for (int64_t j = 0; j < cases[i].width; j++)
      ck_assert_int_eq(keys[j], cases[i].keys[j]);
    fixture_row_close(&r);
  }
}
END_TEST

/* ---- the error of a selection ---- */

enum { N = 9, D = 3 };

/* The largest (s_j - s_i) / (t_i + t_j) over keys i selected and j not, in long double. */
static double over_all_pairs(const float *q, const float *k, unsigned set) {
  long double s[N] = {0}, t[N] = {0}, most = 0;
  for (int j = 0; j < N; j++)
    for (int a = 0; a < D; a++) {
      s[j] += (long double)q[a] * (long double)k[j * D + a];
      t[j] += fabsl((long double)q[a] * (long double)k[j * D + a]);
    }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      if (set >> i & 1 && !(set >> j & 1)) most = fmaxl(most, (s[j] - s[i]) / (t[i] + t[j]));
  return (double)most;
}

START_TEST(backward_error_is_that_of_the_worst_pair) {
  uint64_t seed = tests_seed() + 23;
  int zero = 0, positive = 0;
  for (int trial = 0; trial < 40; trial++) {
    float q[D], k[N * D], v[N] = {0};
    attest_error error;
    for (int i = 0; i < D; i++)
      q[i] = (float)((double)(tests_random(&seed) % 33) - 16);
    for (int i = 0; i < N * D; i++)
      k[i] = (float)((double)(tests_random(&seed) % 33) - 16);
    attest_problem *problem = attest_problem_new("topk-uniform", &error);
    const char *names[] = {"q", "k", "v"};
    float *data[] = {q, k, v};
    int64_t shapes[3][2] = {{1, D}, {N, D}, {N, 1}};
    ck_assert(!attest_problem_set(problem, "topk", "4", &error));
    for (int i = 0; i < 3; i++) {
      attest_tensor t = attest_tensor_of(data[i], ATTEST_FLOAT32, 2, shapes[i]);
      ck_assert(!attest_problem_input(problem, names[i], &t, &error));
    }
    ck_assert(!problem_resolve(problem, &error));
    problem_slice slice;
    problem_slice_get(&slice, problem, 0);
    for (unsigned set = 0; set < 1u << N; set++) {
      int64_t keys[4], n = 0;
      if (__builtin_popcount(set) != 4 || tests_random(&seed) % 4) continue;
      for (int j = 0; j < N; j++)
        if (set >> j & 1) keys[n++] = j;
      room_misselection found;
      ck_assert(!sparse_misselection(&found, problem, &slice, 0, keys, n, 0x1p-24, 128, &error));
      double exact = over_all_pairs(q, k, set) * 0x1p24;
      ck_assert_msg(found.size.lo <= exact * (1 + 1e-15) && exact <= found.size.hi * (1 + 1e-15) &&
                        found.size.hi <= found.size.lo * (1 + 0x1p-40),
                    "set %x: [%.17g, %.17g], not %.17g", set, found.size.lo, found.size.hi, exact);
      zero += exact == 0;
      positive += exact > 0;
    }
    attest_problem_free(problem);
  }
  ck_assert_msg(zero > 0 && positive > 500, "%d, %d", zero, positive);
}
END_TEST

/* Two scores that differ by 2^-19 of their size: a selection of the lesser needs 2^-20 of each,
 * which is 16 units. */
START_TEST(near_ties_are_within_their_units) {
  static const float s[2] = {1, 1 - 0x1p-19f};
  int32_t lesser[1] = {1};
  fixture_row r;
  fixture_row_open(&r, "topk-uniform", NULL, s, 2, 2);
  ck_assert_int_eq(verdict_of(&r, lesser, 1, "backward<=16.1"), ATTEST_CERTIFIED);
  ck_assert_int_eq(verdict_of(&r, lesser, 1, "backward<=15.9"), ATTEST_REFUTED);
  fixture_row_close(&r);
}
END_TEST

/* Under a cap scores of 40,000 and 30,000 caps differ by no number that balls show: as good as
 * equal, though not so. */
START_TEST(saturated_caps_are_near_ties) {
  static const float s[2] = {1e5f, 75000};
  int32_t lesser[1] = {1}, larger[1] = {0};
  fixture_row r;
  fixture_row_open(&r, "topk-uniform", (const char *[]){"softcap", "5/2", "topk", "1", NULL}, s, 2,
                   2);
  ck_assert_int_eq(verdict_of(&r, larger, 1, "backward<=0"), ATTEST_CERTIFIED);
  ck_assert_int_eq(verdict_of(&r, lesser, 1, "backward<=16"), ATTEST_CERTIFIED);
  ck_assert_int_ne(verdict_of(&r, lesser, 1, "backward<=0"), ATTEST_CERTIFIED);
  fixture_row_close(&r);
}
END_TEST

/* Scores of +-1e30 under a cap of 1/2 and biases that differ by 1, or by 1/2 from a score of 0: the
 * ends of the caps are equal, which no ball tells from what the caps are. */
START_TEST(saturated_caps_stay_within_their_ends) {
  static const struct {
    float s[2], bias[2];
    int larger;
  } rows[] = {{{1e30f, -1e30f}, {-1, 0}, 1}, {{-1e30f, 1e30f}, {0, -1}, 0},
              {{1e30f, 0}, {-0.5f, 0}, 1},   {{0, 1e30f}, {0, -0.5f}, 0},
              {{0, -1e30f}, {-0.5f, 0}, 1},  {{-1e30f, 0}, {0.5f, 0}, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    float bias[2] = {rows[i].bias[0], rows[i].bias[1]};
    int32_t larger[1] = {rows[i].larger};
    attest_error error;
    fixture_row r;
    fixture_row_open(&r, "topk-uniform", (const char *[]){"softcap", "1/2", "topk", "1", NULL},
                     rows[i].s, 2, 2);
    attest_tensor t = attest_tensor_of(bias, ATTEST_FLOAT32, 2, (int64_t[]){1, 2});
    ck_assert(!attest_problem_input(r.problem, "bias", &t, &error));
    ck_assert_msg(verdict_of(&r, larger, 1, "backward<=0") == ATTEST_CERTIFIED, "row %zu", i);
    larger[0] = 1 - larger[0];
    ck_assert_msg(verdict_of(&r, larger, 1, "backward<=0") != ATTEST_CERTIFIED, "row %zu", i);
    fixture_row_close(&r);
  }
}
END_TEST

/* ---- out and its witness ---- */

/* 40 equal keys, any 20 of which may be selected: too many to try, but the indices say which. */
START_TEST(indices_are_the_witness_of_out) {
  enum { MANY = 40, HALF = 20 };
  float s[MANY] = {0};
  int32_t indices[HALF];
  uint64_t seed = 3;
  attest_error error;
  fixture_row r;
  fixture_row_open(&r, "topk-uniform", (const char *[]){"topk", "20", NULL}, s, MANY, MANY);
  for (int i = 0, j = 0; i < HALF; i++, j += 2)
    indices[i] = (int32_t)(j + (int)(tests_random(&seed) % 2));
  for (int i = 0; i < HALF; i++)
    r.out[indices[i]] = 1.0f / HALF;
  ck_assert_int_eq(fixture_row_judge(&r), ATTEST_UNDECIDED);
  attest_tensor t = attest_tensor_of(indices, ATTEST_INT32, 2, (int64_t[]){1, HALF});
  ck_assert(!attest_problem_output(r.problem, "indices", &t, &error));
  ck_assert_int_eq(fixture_row_judge(&r), ATTEST_CERTIFIED);
  indices[3] ^= 1; /* admissible, but not what made out */
  ck_assert_int_eq(fixture_row_judge(&r), ATTEST_UNDECIDED);
  fixture_row_close(&r);
}
END_TEST

/* Weight on the wrong one of equal keys is refuted where `ties` says which is right. */
START_TEST(ties_bind_out_too) {
  static const float s[6] = {2, 1, 1, 0, 1, -1};
  static const struct {
    const char *ties;
    float p[6];
    attest_verdict verdict;
  } rows[] = {
      {"any", {1, 0, 1, 0, 1, 0}, ATTEST_CERTIFIED},
      {"lowest", {1, 1, 1, 0, 0, 0}, ATTEST_CERTIFIED},
      {"lowest", {1, 0, 1, 0, 1, 0}, ATTEST_REFUTED},
      {"lowest", {1, 1, 0, 0, 1, 0}, ATTEST_REFUTED},
      {"highest", {1, 0, 1, 0, 1, 0}, ATTEST_CERTIFIED},
      {"highest", {1, 1, 1, 0, 0, 0}, ATTEST_REFUTED},
      {"highest", {1, 1, 0, 0, 1, 0}, ATTEST_REFUTED},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fixture_row r;
    fixture_row_open(&r, "topk-uniform", (const char *[]){"topk", "3", "ties", rows[i].ties, NULL},
                     s, 6, 6);
    for (int j = 0; j < 6; j++)
      r.out[j] = rows[i].p[j] / 3;
    attest_verdict verdict = fixture_row_judge(&r);
    ck_assert_msg(verdict == rows[i].verdict, "row %zu: verdict %d, not %d", i, (int)verdict,
                  (int)rows[i].verdict);
    fixture_row_close(&r);
  }
}
END_TEST

/* The policy binds keys that are the same, not keys whose scores happen to be equal: 1 2 + 2 1 and
 * 2 1 + 1 2 may be rounded in different ways. */
START_TEST(ties_leave_other_keys_alone) {
  float q[2] = {1, 1}, k[6] = {2, 1, 1, 2, 1, 2}, v[3] = {1, 2, 3};
  static const attest_verdict wanted[3] = {ATTEST_CERTIFIED, ATTEST_CERTIFIED, ATTEST_REFUTED};
  attest_error error;
  attest_problem *problem = attest_problem_new("topk-uniform", &error);
  const char *names[] = {"q", "k", "v"};
  float *data[] = {q, k, v};
  int64_t shapes[3][2] = {{1, 2}, {3, 2}, {3, 1}};
  ck_assert(!attest_problem_set(problem, "ties", "lowest", &error));
  for (int i = 0; i < 3; i++) {
    attest_tensor t = attest_tensor_of(data[i], ATTEST_FLOAT32, 2, shapes[i]);
    ck_assert(!attest_problem_input(problem, names[i], &t, &error));
  }
  for (int i = 0; i < 3; i++) {
    attest_tensor out = attest_tensor_of(&v[i], ATTEST_FLOAT32, 2, (int64_t[]){1, 1});
    ck_assert(!attest_problem_output(problem, "out", &out, &error));
    attest_certificate *c = attest_check(problem, NULL, &error);
    ck_assert_msg(c != NULL, "%s", error.message);
    ck_assert_msg(attest_certificate_verdict(c) == wanted[i], "key %d: %s", i,
                  attest_certificate_text(c));
    attest_certificate_free(c);
  }
  attest_problem_free(problem);
}
END_TEST

void test_sparse_indices(Suite *suite) {
  TCase *tc = tcase_create("sparse_indices");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, sets_of_keys_have_their_verdicts, 0, 2);
  tcase_add_test(tc, rows_with_few_keys_are_padded);
  tcase_add_test(tc, reference_indices_have_their_order);
  tcase_add_test(tc, backward_error_is_that_of_the_worst_pair);
  tcase_add_test(tc, near_ties_are_within_their_units);
  tcase_add_test(tc, saturated_caps_are_near_ties);
  tcase_add_test(tc, saturated_caps_stay_within_their_ends);
  tcase_add_test(tc, indices_are_the_witness_of_out);
  tcase_add_test(tc, ties_bind_out_too);
  tcase_add_test(tc, ties_leave_other_keys_alone);
  suite_add_tcase(suite, tc);
}
