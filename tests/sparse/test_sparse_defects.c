/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* More defects of public implementations, whose inputs are no plain row of scores: the right value
 * comes out of the reference and of the built-in kernel and is certified, the wrong one is refuted.
 */
#include <math.h>

#include "../../src/sparse/sparse.h"
#include "fixture_sparse.h"

/* What the built-in kernel and the reference return is certified; both into r->out, the kernel
 * last. */
static void computed_is_certified(fixture_row *r) {
  attest_error error;
  attest_tensor out = attest_tensor_of(r->out, ATTEST_FLOAT32, 2, (int64_t[]){1, r->dv});
  ck_assert_msg(!attest_reference(&out, r->problem, "out", &error), "%s", error.message);
  ck_assert_int_eq(fixture_row_judge(r), ATTEST_CERTIFIED);
  ck_assert_msg(!sparse_run_kernel(&out, NULL, r->problem, &error), "%s", error.message);
  ck_assert_int_eq(fixture_row_judge(r), ATTEST_CERTIFIED);
}

static void is_refuted(fixture_row *r, double wrong) {
  for (int64_t c = 0; c < r->dv; c++)
    r->out[c] = (float)wrong;
  ck_assert_int_eq(fixture_row_judge(r), ATTEST_REFUTED);
}

static void add_bias(fixture_row *r, float *bias) {
  attest_error error;
  attest_tensor t = attest_tensor_of(bias, ATTEST_FLOAT32, 2, (int64_t[]){1, r->n});
  ck_assert_msg(!attest_problem_input(r->problem, "bias", &t, &error), "%s", error.message);
}

/* Every score -infinity: the row that the policy prescribes, and no index of an empty support. */
START_TEST(fully_masked_rows_follow_the_policy) {
  static const char *const kernels[] = {"sparsemax", "entmax",       "relumax",
                                        "normrelu",  "topk-softmax", "topk-uniform"};
  static const char *const policies[] = {"zero", "nan"};
  static const float s[10] = {0};
  float bias[10];
  for (int i = 0; i < 10; i++)
    bias[i] = -INFINITY;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    for (int nan = 0; nan < 2; nan++) {
      fixture_row r;
      fixture_row_open(&r, kernels[i], (const char *[]){"empty-row", policies[nan], NULL}, s, 10,
                       10);
      add_bias(&r, bias);
      computed_is_certified(&r);
      for (int c = 0; c < 10; c++)
        ck_assert(nan ? isnan(r.out[c]) : r.out[c] == 0);
      is_refuted(&r, 0.1);
      is_refuted(&r, nan ? 0 : NAN);
      fixture_row_close(&r);
    }
}
END_TEST

/* One score -infinity among others: 0 times infinity is no part of the result. */
START_TEST(infinite_scores_hide_their_key) {
  static const float s[3] = {0.2f, 0.1f, 7};
  float bias[3] = {0, 0, -INFINITY};
  fixture_row r;
  fixture_row_open(&r, "entmax", (const char *[]){"alpha", "2", NULL}, s, 3, 3);
  add_bias(&r, bias);
  r.v[8] = NAN; /* nor what it would be multiplied by */
  computed_is_certified(&r);
  ck_assert(fabsf(r.out[0] - 0.55f) < 1e-7f && fabsf(r.out[1] - 0.45f) < 1e-7f && r.out[2] == 0);
  is_refuted(&r, NAN);
  fixture_row_close(&r);
}
END_TEST

/* -1000 and 127 times -1005: in bfloat16 both ends of the bracket of tau are the same number. */
START_TEST(collapsed_brackets_are_refuted) {
  float s[128];
  fixture_row r;
  for (int j = 0; j < 128; j++)
    s[j] = j ? -1005 : -1000;
  fixture_row_open(&r, "entmax", (const char *[]){"alpha", "1.5", NULL}, s, 128, 128);
  computed_is_certified(&r);
  for (int j = 0; j < 128; j++)
    ck_assert(r.out[j] == (j == 0));
  is_refuted(&r, NAN);
  fixture_row_close(&r);
}
END_TEST

/* Peaked rows at alpha = 3: a bisection that takes the wrong branch where the lower end is exact.
 */
START_TEST(peaked_rows_have_one_weight) {
  uint64_t seed = 9;
  for (int row = 0; row < 10; row++) {
    float s[100];
    int best = 0;
    fixture_row r;
    for (int j = 0; j < 100; j++) {
      s[j] = 0;
      for (int i = 0; i < 12; i++) /* about 1000 times a unit normal number */
        s[j] += (float)(1000 * (tests_uniform(&seed) - 0.5));
      if (s[j] > s[best]) best = j;
    }
    fixture_row_open(&r, "entmax", (const char *[]){"alpha", "3", NULL}, s, 100, 100);
    computed_is_certified(&r);
    ck_assert(r.out[best] == 1);
    is_refuted(&r, NAN);
    r.out[best] = 0.75f; /* renormalised by whoever hides it */
    is_refuted(&r, 0.01);
    fixture_row_close(&r);
  }
}
END_TEST

/* A learned alpha that leaves its domain is refused; 1 is softmax. */
START_TEST(alpha_has_a_domain) {
  static const char *const refused[] = {"0.9", "0", "-1", "nan", "inf", ""};
  static const float s[2] = {1, 0};
  attest_error error;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    attest_problem *problem = attest_problem_new("entmax", &error);
    ck_assert_int_eq(attest_problem_set(problem, "alpha", refused[i], &error), ATTEST_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(error.message, "alpha"));
    attest_problem_free(problem);
  }
  fixture_row r;
  fixture_row_open(&r, "entmax", (const char *[]){"alpha", "1", NULL}, s, 2, 2);
  computed_is_certified(&r);
  ck_assert(fabs((double)r.out[0] - 0.7310585786300049) < 1e-7); /* 1 / (1 + 1/e) */
  is_refuted(&r, 0.5);                                           /* uniform */
  fixture_row_close(&r);
}
END_TEST

/* Very many near ties: a running sum in float32 loses mass, 4e-5 of it in a million keys. */
START_TEST(mass_is_not_lost_in_long_rows) {
  enum { LONG = 1 << 18 };
  float *s = calloc(LONG, sizeof *s);
  attest_error error;
  fixture_row r;
  s[0] = 1e-3f;
  fixture_row_open(&r, "sparsemax", NULL, s, LONG, 1);
  for (int j = 0; j < LONG; j++)
    r.v[j] = j % 3 ? 1 : 0.75f; /* a mean that is no float: balls need not tell it from one */
  attest_tensor out = attest_tensor_of(r.out, ATTEST_FLOAT32, 2, (int64_t[]){1, 1});
  ck_assert(!sparse_run_kernel(&out, NULL, r.problem, &error));
  ck_assert_int_eq(fixture_row_judge(&r), ATTEST_CERTIFIED);
  is_refuted(&r, 0.99996 * (double)r.out[0]);
  fixture_row_close(&r);
  free(s);
}
END_TEST

/* The recursion over the k largest scores must go on where all of them are in the support. */
START_TEST(partial_sorts_are_refuted) {
  enum { N = 64, K = 4 };
  uint64_t seed = 4;
  float s[N];
  fixture_row r;
  for (int j = 0; j < N; j++)
    s[j] = (float)(0.3 * (tests_uniform(&seed) - 0.5));
  fixture_row_open(&r, "sparsemax", NULL, s, N, N);
  computed_is_certified(&r);
  int support = 0, largest[K];
  for (int j = 0; j < N; j++)
    support += r.out[j] > 0;
  ck_assert_int_gt(support, K);
  float sum = 0;
  for (int k = 0; k < K; k++) {
    largest[k] = -1;
    for (int j = 0; j < N; j++) {
      int taken = 0;
      for (int i = 0; i < k; i++)
        taken |= largest[i] == j;
      if (!taken && (largest[k] < 0 || s[j] > s[largest[k]])) largest[k] = j;
    }
    sum += s[largest[k]];
  }
  memset(r.out, 0, N * sizeof *r.out);
  for (int k = 0; k < K; k++)
    r.out[largest[k]] = s[largest[k]] - (sum - 1) / K;
  ck_assert_int_eq(fixture_row_judge(&r), ATTEST_REFUTED);
  fixture_row_close(&r);
}
END_TEST

/* ---- kernel regression ---- */

/* Values of the identity at keys on a line, the query at 0. */
static void line_open(fixture_row *r, const char *kernel, const char *bandwidth, const float *keys,
                      float query) {
  fixture_row_open(r, kernel, (const char *[]){"bandwidth", bandwidth, NULL}, keys, 3, 3);
  r->q[0] = query;
}

/* exp(-200), exp(-220.5), exp(-242) all underflow in float32. */
START_TEST(weights_that_underflow_are_normalised) {
  static const float keys[3] = {20, 21, 22};
  /* Of 50 digits, rounded. */
  static const double expected[3] = {0.9999999987498471, 1.2501528648238605e-09,
                                     5.749522257105778e-19};
  fixture_row r;
  line_open(&r, "gaussian", "1", keys, 0);
  computed_is_certified(&r);
  for (int c = 0; c < 3; c++)
    ck_assert(fabs((double)r.out[c] / expected[c] - 1) < 4e-7);
  is_refuted(&r, NAN);
  fixture_row_close(&r);
}
END_TEST

/* A query that is a key: weights of compact kernels are finite there. */
START_TEST(queries_may_be_keys) {
  static const float keys[3] = {1, 2, 3};
  static const char *const compact[] = {"epanechnikov", "biweight", "triweight", "uniform"};
  for (int i = 0; i < 4; i++) {
    fixture_row r;
    line_open(&r, compact[i], i < 3 ? "1" : "1/2", keys, 1);
    computed_is_certified(&r);
    ck_assert(r.out[0] == 1 && r.out[1] == 0 && r.out[2] == 0);
    is_refuted(&r, NAN);
    fixture_row_close(&r);
  }
}
END_TEST

void test_sparse_defects(Suite *suite) {
  TCase *tc = tcase_create("sparse_defects");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, fully_masked_rows_follow_the_policy);
  tcase_add_test(tc, infinite_scores_hide_their_key);
  tcase_add_test(tc, collapsed_brackets_are_refuted);
  tcase_add_test(tc, peaked_rows_have_one_weight);
  tcase_add_test(tc, alpha_has_a_domain);
  tcase_add_test(tc, mass_is_not_lost_in_long_rows);
  tcase_add_test(tc, partial_sorts_are_refuted);
  tcase_add_test(tc, weights_that_underflow_are_normalised);
  tcase_add_test(tc, queries_may_be_keys);
  suite_add_tcase(suite, tc);
}
