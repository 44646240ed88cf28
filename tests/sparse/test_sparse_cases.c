/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Defects of public implementations as inputs that the references answer and the certifier refutes;
 * mutants of sparse kernels; hard rows. One head of scores s is q = (1), k = s, scale 1, and v the
 * identity, so that out is the row of weights. */
#include <math.h>

#include "../../src/certify/certify.h"
#include "../../src/sparse/sparse.h"
#include "fixture_sparse.h"

typedef struct {
  attest_problem *problem;
  float *q, *k, *v, *out;
  int64_t n, dv;
} row_problem;

static void set_tensor(row_problem *r, const char *name, float *data, int64_t rows,
                       int64_t columns) {
  attest_error error;
  attest_tensor t = attest_tensor_of(data, ATTEST_FLOAT32, 2, (int64_t[]){rows, columns});
  attest_status status = !strcmp(name, "out") ? attest_problem_output(r->problem, name, &t, &error)
                                              : attest_problem_input(r->problem, name, &t, &error);
  ck_assert_msg(status == ATTEST_OK, "%s", error.message);
}

/* v: the identity when dv = n, else ones in column 0 and pseudo-random numbers in the others. */
static void row_open(row_problem *r, const char *kernel, const char *const params[], const float *s,
                     int64_t n, int64_t dv) {
  attest_error error;
  uint64_t seed = 5;
  *r = (row_problem){.n = n, .dv = dv};
  r->problem = attest_problem_new(kernel, &error);
  for (int i = 0; params && params[i]; i += 2)
    ck_assert_msg(!attest_problem_set(r->problem, params[i], params[i + 1], &error), "%s",
                  error.message);
  if (problem_kernel_takes(r->problem->kernel, problem_param_find("softcap", NULL)))
    ck_assert(!attest_problem_set(r->problem, "scale", "1", &error));
  r->q = calloc(1, sizeof *r->q);
  r->k = calloc((size_t)n, sizeof *r->k);
  r->v = calloc((size_t)(n * dv), sizeof *r->v);
  r->out = calloc((size_t)dv, sizeof *r->out);
  r->q[0] = 1;
  memcpy(r->k, s, (size_t)n * sizeof *s);
  for (int64_t j = 0; j < n; j++)
    for (int64_t c = 0; c < dv; c++)
      r->v[j * dv + c] = dv == n ? j == c : c == 0 ? 1 : (float)(tests_uniform(&seed) - 0.5);
  set_tensor(r, "q", r->q, 1, 1);
  set_tensor(r, "k", r->k, n, 1);
  set_tensor(r, "v", r->v, n, dv);
  set_tensor(r, "out", r->out, 1, dv);
  ck_assert_msg(!problem_resolve(r->problem, &error), "%s", error.message);
}

static void row_close(row_problem *r) {
  attest_problem_free(r->problem);
  free(r->q);
  free(r->k);
  free(r->v);
  free(r->out);
}

/* The verdict on r->out under backward<=16. */
static attest_verdict judge(const row_problem *r) {
  attest_error error;
  attest_certificate *c = attest_check(r->problem, "backward<=16", &error);
  ck_assert_msg(c != NULL, "%s", error.message);
  attest_verdict verdict = attest_certificate_verdict(c);
  attest_certificate_free(c);
  return verdict;
}

/* ---- defects of public implementations ---- */

typedef struct {
  const char *id, *kernel, *params[5];
  int n;
  float scores[4];
  double expected[4], wrong[4];
} defect;

static const defect defects[] = {
    {"F02: threshold of another support",
     "sparsemax",
     {NULL},
     3,
     {0.175f, 0, -2},
     {0.5875, 0.4125, 0},
     {0.5, 0.325, 0}},
    {"F03: 1 absorbed by large scores",
     "sparsemax",
     {NULL},
     2,
     {136762051.0f, 159594639.0f},
     {0, 1},
     {NAN, NAN}},
    /* 0.1 as a float: from mpmath at 50 digits, by bisection. */
    {"F09: powers of 1/9 amplify the threshold",
     "entmax",
     {"alpha", "10"},
     2,
     {0.1f, 0},
     {0.9883615347521632, 0.01163846524783685},
     {1, 0}},
    {"F16: two implementations disagree",
     "sparsemax",
     {NULL},
     4,
     {0.3f, 0.2f, 0.1f, -1},
     {0.3 + 0.4 / 3, 0.2 + 0.4 / 3, 0.1 + 0.4 / 3, 0},
     {0.4, 0.3, 0.3, 0}},
};

START_TEST(defects_have_their_right_value_and_are_refuted) {
  const defect *d = &defects[_i];
  row_problem r;
  attest_error error;
  row_open(&r, d->kernel, d->params, d->scores, d->n, d->n);
  attest_tensor out = attest_tensor_of(r.out, ATTEST_FLOAT32, 2, (int64_t[]){1, d->n});
  ck_assert(!attest_reference(&out, r.problem, "out", &error));
  for (int j = 0; j < d->n; j++)
    ck_assert_msg(fabs((double)r.out[j] - d->expected[j]) <= 6e-8, "%s: weight %d is %.9g", d->id,
                  j, (double)r.out[j]);
  ck_assert_int_eq(judge(&r), ATTEST_CERTIFIED);
  ck_assert(!sparse_run_kernel(&out, NULL, r.problem, &error));
  ck_assert_msg(judge(&r) == ATTEST_CERTIFIED, "%s: the built-in kernel is wrong", d->id);
  for (int j = 0; j < d->n; j++)
    r.out[j] = (float)d->wrong[j];
  ck_assert_msg(judge(&r) == ATTEST_REFUTED, "%s: the wrong value is not refuted", d->id);
  row_close(&r);
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
    row_problem r;
    random_scores(s, &seed, 1.5);
    row_open(&r, "sparsemax", NULL, s, N, N);
    sparsemax_of(r.out, s, 0);
    ck_assert_int_eq(judge(&r), ATTEST_CERTIFIED);
    sparsemax_of(r.out, s, 1); /* the support rule with >=, or counted from 1 */
    ck_assert_int_eq(judge(&r), ATTEST_REFUTED);
    sparsemax_of(r.out, s, -1);
    moved += judge(&r) == ATTEST_REFUTED; /* a support of one key loses it: rho = 0 */
    row_close(&r);
    row_open(&r, "entmax", (const char *[]){"alpha", "3/2", NULL}, s, N, N);
    entmax_of(r.out, s, 60, 0);
    ck_assert_int_eq(judge(&r), ATTEST_CERTIFIED);
    entmax_of(r.out, s, 12, 1); /* the bracket is lost early, the sum is right */
    ck_assert_int_eq(judge(&r), ATTEST_REFUTED);
    entmax_of(r.out, s, 16, 0); /* the sum is not renormalised */
    ck_assert_int_eq(judge(&r), ATTEST_REFUTED);
    row_close(&r);
  }
  ck_assert_int_eq(moved, 20);
}
END_TEST

/* normrelu with masked scores set to 0 before the bias 1 - 2/h^2, which is positive for h^2 > 2. */
START_TEST(mask_that_leaks_after_a_bias_is_refuted) {
  static const float s[4] = {0.5f, 0.25f, -0.5f, 0.75f};
  unsigned char mask[4] = {1, 1, 1, 0};
  attest_error error;
  row_problem r;
  row_open(&r, "normrelu", (const char *[]){"bandwidth", "2", NULL}, s, 4, 4);
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
    ck_assert_int_eq(judge(&r), leak ? ATTEST_REFUTED : ATTEST_CERTIFIED);
  }
  row_close(&r);
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
  row_problem r;
  row_open(&r, "topk-uniform", (const char *[]){"topk", "2", NULL}, s, 4, 4);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    memcpy(r.out, rows[i].p, sizeof rows[i].p);
    attest_verdict verdict = judge(&r);
    ck_assert_msg(verdict == rows[i].verdict, "row %zu: verdict %d, not %d", i, (int)verdict,
                  (int)rows[i].verdict);
  }
  row_close(&r);
}
END_TEST

/* ---- hard rows ---- */

enum { LONG = 65536, JUDGED = 1024 }; /* balls of long rows take seconds */

typedef struct {
  const char *what;
  int64_t n;
  int kind; /* 0: all equal, 1: +-1e4, 2: unit normal, 3: duplicates, 4: 1 is absorbed, 5: one above
               many near ties */
} hard_row;

static const hard_row hard_rows[] = {
    {"all equal", LONG, 0},  {"scores to 1e4", LONG, 1},       {"uniform scores", LONG, 2},
    {"duplicates", LONG, 3}, {"1 absorbed in float32", 64, 4}, {"one key", 1, 0},
    {"near ties", LONG, 5},  {"all equal", JUDGED, 0},         {"scores to 1e4", JUDGED, 1},
    {"uniform", JUDGED, 2},  {"duplicates", JUDGED, 3},        {"near ties", 40, 5},
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

static const char *const alphas[] = {"1.0001", "1.1", "3/2", "2", "3", "10"};

START_TEST(hard_rows_have_certified_weights) {
  const hard_row *h = &hard_rows[_i];
  attest_error error;
  float *s = malloc((size_t)h->n * sizeof *s);
  hard_scores(s, h);
  for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++) {
    row_problem r;
    row_open(&r, "entmax", (const char *[]){"alpha", alphas[a], NULL}, s, h->n, h->n == 1 ? 1 : 2);
    attest_tensor out = attest_tensor_of(r.out, ATTEST_FLOAT32, 2, (int64_t[]){1, r.dv});
    ck_assert(!sparse_run_kernel(&out, NULL, r.problem, &error));
    /* Column 0 is the sum of the weights. */
    ck_assert_msg(fabsf(r.out[0] - 1) <= 1e-6f, "%s, alpha %s: the weights add up to %.9g", h->what,
                  alphas[a], (double)r.out[0]);
    if (h->n <= JUDGED)
      ck_assert_msg(judge(&r) == ATTEST_CERTIFIED, "%s, alpha %s: not certified", h->what,
                    alphas[a]);
    row_close(&r);
  }
  free(s);
}
END_TEST

void test_sparse_cases(Suite *suite) {
  TCase *tc = tcase_create("sparse_cases");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, defects_have_their_right_value_and_are_refuted, 0,
                      sizeof defects / sizeof *defects);
  tcase_add_test(tc, mutants_of_sparsemax_and_entmax_are_refuted);
  tcase_add_test(tc, mask_that_leaks_after_a_bias_is_refuted);
  tcase_add_test(tc, selections_among_equal_keys);
  tcase_add_loop_test(tc, hard_rows_have_certified_weights, 0,
                      sizeof hard_rows / sizeof *hard_rows);
  suite_add_tcase(suite, tc);
}
