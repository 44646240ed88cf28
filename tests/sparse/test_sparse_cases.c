/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Defects of public implementations as inputs that the references answer and the certifier refutes;
 * mutants of sparse kernels; hard rows. */
#include <math.h>

#include "../../src/certify/certify.h"
#include "../../src/sparse/sparse.h"
#include "fixture_sparse.h"

/* ---- defects of public implementations ---- */

typedef struct {
  const char *id, *kernel, *params[5];
  int n;
  float scores[4];
  double expected[4], wrong[4];
} defect;

static const defect defects[] = {
    {"threshold of another support",
     "sparsemax",
     {NULL},
     3,
     {0.175f, 0, -2},
     {0.5875, 0.4125, 0},
     {0.5, 0.325, 0}},
    {"1 absorbed by large scores",
     "sparsemax",
     {NULL},
     2,
     {136762051.0f, 159594639.0f},
     {0, 1},
     {NAN, NAN}},
    /* 0.1 as a float: from mpmath at 50 digits, by bisection. */
    {"powers of 1/9 amplify the threshold",
     "entmax",
     {"alpha", "10"},
     2,
     {0.1f, 0},
     {0.9883615347521632, 0.01163846524783685},
     {1, 0}},
    {"two implementations disagree",
     "sparsemax",
     {NULL},
     4,
     {0.3f, 0.2f, 0.1f, -1},
     {0.3 + 0.4 / 3, 0.2 + 0.4 / 3, 0.1 + 0.4 / 3, 0},
     {0.4, 0.3, 0.3, 0}},
};

START_TEST(defects_have_their_right_value_and_are_refuted) {
  const defect *d = &defects[_i];
  fixture_row r;
  attest_error error;
  fixture_row_open(&r, d->kernel, d->params, d->scores, d->n, d->n);
  attest_tensor out = attest_tensor_of(r.out, ATTEST_FLOAT32, 2, (int64_t[]){1, d->n});
  ck_assert(!attest_reference(&out, r.problem, "out", &error));
  for (int j = 0; j < d->n; j++)
    ck_assert_msg(fabs((double)r.out[j] - d->expected[j]) <= 6e-8, "%s: weight %d is %.9g", d->id,
                  j, (double)r.out[j]);
  ck_assert_int_eq(fixture_row_judge(&r), ATTEST_CERTIFIED);
  ck_assert(!sparse_run_kernel(&out, NULL, r.problem, &error));
  ck_assert_msg(fixture_row_judge(&r) == ATTEST_CERTIFIED, "%s: the built-in kernel is wrong",
                d->id);
  for (int j = 0; j < d->n; j++)
    r.out[j] = (float)d->wrong[j];
  ck_assert_msg(fixture_row_judge(&r) == ATTEST_REFUTED, "%s: the wrong value is not refuted",
                d->id);
  fixture_row_close(&r);
}
END_TEST

/* ---- mutants ---- */

enum { N = 24 };

static int falling(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x < y) - (x > y);
}

/* sparsemax in double with the size of the support moved by `off`. */
static void sparsemax_of(float *p, const float *s, int off) {
  float sorted[N];
  memcpy(sorted, s, sizeof sorted);
  qsort(sorted, N, sizeof *sorted, falling);
  double sum = 0, kept = 0;
  int rho = 0;
  for (int j = 0; j < N; j++) {
    sum += (double)sorted[j];
    if (1 + (j + 1) * (double)sorted[j] > sum) rho = j + 1;
  }
  rho += off;
  for (int j = 0; j < rho; j++)
    kept += (double)sorted[j];
  for (int j = 0; j < N; j++)
    p[j] = (float)fmax((double)s[j] - (kept - 1) / rho, 0);
}

/* entmax 3/2 by `steps` halvings of the bracket, renormalised or not. */
static void entmax_of(float *p, const float *s, int steps, int renormalise) {
  double m = -INFINITY, lo = 0, hi = 1, sum = 0;
  for (int j = 0; j < N; j++)
    m = fmax(m, (double)s[j] / 2);
  for (int i = 0; i < steps; i++) {
    double u = (lo + hi) / 2, total = 0;
    for (int j = 0; j < N; j++)
      total += pow(fmax(u - (m - (double)s[j] / 2), 0), 2);
    *(total < 1 ? &lo : &hi) = u;
  }
  for (int j = 0; j < N; j++)
    sum += pow(fmax(lo - (m - (double)s[j] / 2), 0), 2);
  for (int j = 0; j < N; j++)
    p[j] = (float)(pow(fmax(lo - (m - (double)s[j] / 2), 0), 2) / (renormalise ? sum : 1));
}

static void random_scores(float *s, uint64_t *seed, double size) {
  for (int j = 0; j < N; j++)
    s[j] = (float)(size * (tests_uniform(seed) - 0.5));
}

START_TEST(mutants_of_sparsemax_and_entmax_are_refuted) {
  uint64_t seed = tests_seed() + 17;
  float s[N];
  int moved = 0;
  for (int i = 0; i < 20; i++) {
    fixture_row r;
    random_scores(s, &seed, 1.5);
    fixture_row_open(&r, "sparsemax", NULL, s, N, N);
    sparsemax_of(r.out, s, 0);
    ck_assert_int_eq(fixture_row_judge(&r), ATTEST_CERTIFIED);
    sparsemax_of(r.out, s, 1); /* the support rule with >=, or counted from 1 */
    ck_assert_int_eq(fixture_row_judge(&r), ATTEST_REFUTED);
    sparsemax_of(r.out, s, -1);
    moved += fixture_row_judge(&r) == ATTEST_REFUTED; /* a support of one key loses it: rho = 0 */
    fixture_row_close(&r);
    fixture_row_open(&r, "entmax", (const char *[]){"alpha", "3/2", NULL}, s, N, N);
    entmax_of(r.out, s, 60, 0);
    ck_assert_int_eq(fixture_row_judge(&r), ATTEST_CERTIFIED);
    entmax_of(r.out, s, 12, 1); /* the bracket is lost early, the sum is right */
    ck_assert_int_eq(fixture_row_judge(&r), ATTEST_REFUTED);
    entmax_of(r.out, s, 16, 0); /* the sum is not renormalised */
    ck_assert_int_eq(fixture_row_judge(&r), ATTEST_REFUTED);
    fixture_row_close(&r);
  }
  ck_assert_int_eq(moved, 20);
}
END_TEST

/* normrelu with masked scores set to 0 before the bias 1 - 2/h^2, which is positive for h^2 > 2. */
START_TEST(mask_that_leaks_after_a_bias_is_refuted) {
  static const float s[4] = {0.5f, 0.25f, -0.5f, 0.75f};
  unsigned char mask[4] = {1, 1, 1, 0};
  attest_error error;
  fixture_row r;
  fixture_row_open(&r, "normrelu", (const char *[]){"bandwidth", "2", NULL}, s, 4, 4);
  attest_tensor t = attest_tensor_of(mask, ATTEST_BOOL, 2, (int64_t[]){1, 4});
  ck_assert(!attest_problem_input(r.problem, "mask", &t, &error));
  for (int leak = 0; leak < 2; leak++) {
    double w[4], sum = 0;
    for (int j = 0; j < 4; j++) {
      double score = mask[j] ? (double)s[j] : 0;
      w[j] = mask[j] || leak ? fmax(score / 2 + 0.5, 0) : 0;
      sum += w[j];
    }
    for (int j = 0; j < 4; j++)
      r.out[j] = (float)(w[j] / sum);
    ck_assert_int_eq(fixture_row_judge(&r), leak ? ATTEST_REFUTED : ATTEST_CERTIFIED);
  }
  fixture_row_close(&r);
}
END_TEST

/* top-2 of scores 2, 1, 1, 0: either of the equal keys explains the row, both halves do not, nor
 * does one of them twice. */
START_TEST(selections_among_equal_keys) {
  static const float s[4] = {2, 1, 1, 0};
  static const struct {
    float p[4];
    attest_verdict verdict;
  } rows[] = {
      {{0.5f, 0.5f, 0, 0}, ATTEST_CERTIFIED},      {{0.5f, 0, 0.5f, 0}, ATTEST_CERTIFIED},
      {{0, 0.5f, 0.5f, 0}, ATTEST_REFUTED},        {{0.5f, 0, 0, 0.5f}, ATTEST_REFUTED},
      {{0.5f, 0.25f, 0.25f, 0}, ATTEST_UNDECIDED}, /* in the hull, no selection */
      {{0.5f, 1, 0, 0}, ATTEST_REFUTED},
  };
  fixture_row r;
  fixture_row_open(&r, "topk-uniform", (const char *[]){"topk", "2", NULL}, s, 4, 4);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    memcpy(r.out, rows[i].p, sizeof rows[i].p);
    attest_verdict verdict = fixture_row_judge(&r);
    ck_assert_msg(verdict == rows[i].verdict, "row %zu: verdict %d, not %d", i, (int)verdict,
                  (int)rows[i].verdict);
    /* Without moved scores the row is compared with every selection. */
    ck_assert_int_eq(fixture_row_judge_by(&r, "abs<=1e-7"),
                     rows[i].verdict == ATTEST_UNDECIDED ? ATTEST_REFUTED : rows[i].verdict);
  }
  fixture_row_close(&r);
}
END_TEST

/* Which of n scores 0, 1 or 2 are among the k largest, ties at random. */
static void draw_selection(int in[], const float *s, int n, int k, uint64_t *seed) {
  memset(in, 0, (size_t)n * sizeof *in);
  for (int chosen = 0; chosen < k; chosen++) {
    int best = -1;
    for (int i = 0, at = (int)(tests_random(seed) % (uint64_t)n); i < n; i++, at = (at + 1) % n)
      if (!in[at] && (best < 0 || s[at] > s[best])) best = at;
    in[best] = 1;
  }
}

/* top-k of tied scores: one selection is certified, and half of each of two that differ is refuted
 * by every bound without moved scores. */
START_TEST(tied_rows_are_one_selection_or_refuted) {
  enum { N = 7 };
  static const char *const bounds[] = {"abs<=1e-6", "rel<=1e-6", "ulp<=4", "row<=1e-6",
                                       "allclose=1e-6,1e-6"};
  uint64_t seed = 11;
  int mixed = 0;
  for (int i = 0; i < 200; i++) {
    float s[N];
    char k[2] = {(char)('1' + i % (N - 1)), 0};
    int one[N], other[N], differ = 0;
    for (int j = 0; j < N; j++)
      s[j] = (float)(tests_random(&seed) % 3);
    draw_selection(one, s, N, k[0] - '0', &seed);
    draw_selection(other, s, N, k[0] - '0', &seed);
    fixture_row r;
    fixture_row_open(&r, "topk-uniform", (const char *[]){"topk", k, NULL}, s, N, N);
    for (int j = 0; j < N; j++) {
      differ |= one[j] != other[j];
      r.out[j] = (float)one[j] / (float)(k[0] - '0');
    }
    ck_assert_int_eq(fixture_row_judge_by(&r, bounds[i % 5]), ATTEST_CERTIFIED);
    for (int j = 0; j < N; j++)
      r.out[j] = (float)(one[j] + other[j]) / (float)(2 * (k[0] - '0'));
    ck_assert_int_eq(fixture_row_judge_by(&r, bounds[i % 5]),
                     differ ? ATTEST_REFUTED : ATTEST_CERTIFIED);
    mixed += differ;
    fixture_row_close(&r);
  }
  ck_assert_int_gt(mixed, 50);
}
END_TEST

/* nmse of a tied row is that of the nearest selection; what is none of them counts in full. */
START_TEST(nmse_of_tied_rows_is_that_of_the_nearest_selection) {
  static const float s[4] = {2, 1, 1, 0};
  static const struct {
    float p[4];
    attest_verdict verdict;
  } rows[] = {
      {{0.5f, 0.5f, 0, 0}, ATTEST_CERTIFIED},     {{0.5f, 0, 0.5f, 0}, ATTEST_CERTIFIED},
      {{0.5f, 0, 0.50001f, 0}, ATTEST_CERTIFIED}, {{0.5f, 0.25f, 0.25f, 0}, ATTEST_REFUTED},
      {{1e30f, 0, 0, 0}, ATTEST_REFUTED},         {{0.5f, NAN, 0.5f, 0}, ATTEST_REFUTED},
  };
  fixture_row r;
  fixture_row_open(&r, "topk-uniform", (const char *[]){"topk", "2", NULL}, s, 4, 4);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    memcpy(r.out, rows[i].p, sizeof rows[i].p);
    attest_verdict verdict = fixture_row_judge_by(&r, "nmse<=1e-6");
    ck_assert_msg(verdict == rows[i].verdict, "row %zu: verdict %d, not %d", i, (int)verdict,
                  (int)rows[i].verdict);
  }
  fixture_row_close(&r);
}
END_TEST

/* Rows whose support can empty mix in any proportion: never certified by nmse beyond all of them.
 */
START_TEST(nmse_of_rows_that_can_empty_is_no_pass_for_what_is_far) {
  static const float s[2] = {-1, -1};
  fixture_row r;
  fixture_row_open(&r, "normrelu", (const char *[]){"bandwidth", "2", NULL}, s, 2, 2);
  memcpy(r.out, (float[]){40, 50}, 2 * sizeof *r.out);
  ck_assert_int_ne(fixture_row_judge_by(&r, "nmse<=1e-6"), ATTEST_CERTIFIED);
  ck_assert_int_ne(fixture_row_judge_by(&r, "backward<=4;nmse<=1e-6"), ATTEST_CERTIFIED);
  fixture_row_close(&r);
}
END_TEST

/* ---- hard rows ---- */

enum { LONG = 65536 };

typedef struct {
  const char *what;
  int64_t n;
  int kind; /* 0: all equal, 1: +-1e4, 2: unit normal, 3: duplicates, 4: 1 is absorbed, 5: one above
               many near ties */
} hard_row;

static const hard_row hard_rows[] = {
    {"all equal", LONG, 0},      {"scores to 1e4", LONG, 1},       {"uniform scores", LONG, 2},
    {"duplicates", LONG, 3},     {"1 absorbed in float32", 64, 4}, {"one key", 1, 0},
    {"near ties", LONG, 5},      {"all equal", 1024, 0},           {"scores to 1e4", 1024, 1},
    {"uniform scores", 1024, 2}, {"duplicates", 1024, 3},          {"near ties", 40, 5},
};

static void hard_scores(float *s, const hard_row *h) {
  uint64_t seed = 3;
  for (int64_t j = 0; j < h->n; j++) {
    double x = tests_uniform(&seed) - 0.5;
    s[j] = (float)(h->kind == 0   ? 0.3
                   : h->kind == 1 ? 2e4 * x
                   : h->kind == 2 ? 6 * x
                   : h->kind == 3 ? floor(16 * x)
                   : h->kind == 4 ? 1.5e8 + 64 * floor(8 * x)
                                  : (j == 7 ? 1e-3 : 0));
  }
}

static const char *const alphas[] = {"1.1", "1.0001", "3/2", "2", "3", "10"};

START_TEST(hard_rows_have_certified_weights) {
  const hard_row *h = &hard_rows[_i];
  attest_error error;
  float *s = malloc((size_t)h->n * sizeof *s);
  hard_scores(s, h);
  for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++) {
    fixture_row r;
    fixture_row_open(&r, "entmax", (const char *[]){"alpha", alphas[a], NULL}, s, h->n,
                     h->n == 1 ? 1 : 2);
    attest_tensor out = attest_tensor_of(r.out, ATTEST_FLOAT32, 2, (int64_t[]){1, r.dv});
    ck_assert(!sparse_run_kernel(&out, NULL, r.problem, &error));
    /* Column 0 is the sum of the weights. */
    ck_assert_msg(fabsf(r.out[0] - 1) <= 1e-6f, "%s, alpha %s: the weights add up to %.9g", h->what,
                  alphas[a], (double)r.out[0]);
    /* The sum is exactly 1, which balls of long rows would take seconds to tell: there the values
     * are others, and every other alpha will do. */
    for (int64_t j = 0; j < h->n && h->n == LONG; j++)
      r.v[j * r.dv] = 1 + r.v[j * r.dv + 1] / 3;
    ck_assert(!sparse_run_kernel(&out, NULL, r.problem, &error));
    ck_assert_msg((h->n == LONG && a % 2 == 0) || fixture_row_judge(&r) == ATTEST_CERTIFIED,
                  "%s, alpha %s: not certified", h->what, alphas[a]);
    fixture_row_close(&r);
  }
  free(s);
}
END_TEST

void test_sparse_cases(Suite *suite) {
  TCase *tc = tcase_create("sparse_cases");
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, defects_have_their_right_value_and_are_refuted, 0,
                      sizeof defects / sizeof *defects);
  tcase_add_test(tc, mutants_of_sparsemax_and_entmax_are_refuted);
  tcase_add_test(tc, mask_that_leaks_after_a_bias_is_refuted);
  tcase_add_test(tc, selections_among_equal_keys);
  tcase_add_test(tc, tied_rows_are_one_selection_or_refuted);
  tcase_add_test(tc, nmse_of_tied_rows_is_that_of_the_nearest_selection);
  tcase_add_test(tc, nmse_of_rows_that_can_empty_is_no_pass_for_what_is_far);
  tcase_add_loop_test(tc, hard_rows_have_certified_weights, 0,
                      sizeof hard_rows / sizeof *hard_rows);
  suite_add_tcase(suite, tc);
}
