/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rows whose support may empty, or whose selection may change, under a perturbation within the
 * bound: what explains them is certified, what nothing explains refuted, and a key that is surely
 * there ends the leniency. The same for declared machine models. */
#include <math.h>

#include "../../src/certify/certify.h"
#include "fixture_sparse.h"

enum { DV = 2, KEYS_MAX = 3 };

/* One query, keys on a line, d = 1. Distance kernels: q = 0, h = 1, y = 1 - k^2. normrelu: q = 1,
 * scale 1, h = 1, y = 2 k - 1. */
typedef struct {
  const char *what, *kernel, *empty;
  int keys;
  float k[KEYS_MAX], v[KEYS_MAX][DV], got[DV];
  attest_verdict verdict;
  int ill_posed;
} edge_row;

#define IN (1 - 0x1p-22f)  /* y near 2^-21, at most 2^-19 of reach for distances */
#define OUT (1 + 0x1p-22f) /* y near -2^-21 */
#define HALF_IN (0.5f + 0x1p-22f)
#define HALF_OUT (0.5f - 0x1p-22f)
#define CERTIFIED ATTEST_CERTIFIED
#define REFUTED ATTEST_REFUTED
#define UNDECIDED ATTEST_UNDECIDED

static const edge_row rows[] = {
    {"its value", "epanechnikov", "zero", 1, {IN}, {{3, 5}}, {3, 5}, CERTIFIED, 1},
    {"empty", "epanechnikov", "zero", 1, {IN}, {{3, 5}}, {0, 0}, CERTIFIED, 1},
    {"at the edge: nan", "epanechnikov", "nan", 1, {1}, {{3, 5}}, {NAN, NAN}, CERTIFIED, 1},
    {"half of it", "epanechnikov", "zero", 1, {IN}, {{3, 5}}, {1.5f, 2.5f}, REFUTED, 1},
    {"half empty", "epanechnikov", "zero", 1, {IN}, {{3, 5}}, {3, 0}, UNDECIDED, 1},
    {"another value", "epanechnikov", "zero", 1, {IN}, {{3, 5}}, {3, 5.1f}, REFUTED, 1},
    {"nan", "epanechnikov", "nan", 1, {IN}, {{3, 5}}, {NAN, NAN}, CERTIFIED, 1},
    {"nan under zero", "epanechnikov", "zero", 1, {IN}, {{3, 5}}, {NAN, NAN}, REFUTED, 1},
    {"zero under nan", "epanechnikov", "nan", 1, {IN}, {{3, 5}}, {0, 0}, REFUTED, 1},
    {"outside: empty", "epanechnikov", "zero", 1, {OUT}, {{3, 5}}, {0, 0}, CERTIFIED, 1},
    {"outside: its value", "epanechnikov", "zero", 1, {OUT}, {{3, 5}}, {3, 5}, CERTIFIED, 1},
    {"outside: nan", "epanechnikov", "nan", 1, {OUT}, {{3, 5}}, {NAN, NAN}, CERTIFIED, 1},
    {"outside: its value", "epanechnikov", "nan", 1, {OUT}, {{3, 5}}, {3, 5}, CERTIFIED, 1},
    {"outside: another", "triweight", "nan", 1, {OUT}, {{3, 5}}, {4, 5}, REFUTED, 1},
    {"far outside: its value", "biweight", "zero", 1, {1.25f}, {{3, 5}}, {3, 5}, REFUTED, 0},
    {"a third and two",
     "epanechnikov",
     "zero",
     2,
     {IN, OUT},
     {{1, 0}, {0, 1}},
     {0.25f, 0.75f},
     CERTIFIED,
     1},
    {"three of them",
     "biweight",
     "zero",
     3,
     {IN, OUT, OUT},
     {{1, 0}, {0, 1}, {0, 0}},
     {0.25f, 0.25f},
     CERTIFIED,
     1},
    {"no mixture", "biweight", "zero", 2, {IN, OUT}, {{1, 0}, {0, 1}}, {0.5f, 0.75f}, UNDECIDED, 1},
    {"beyond", "biweight", "zero", 2, {IN, OUT}, {{1, 0}, {0, 1}}, {0.5f, 1.25f}, REFUTED, 1},
    {"a sure key: empty",
     "epanechnikov",
     "zero",
     2,
     {IN, 0.5f},
     {{1, 0}, {0, 1}},
     {0, 0},
     REFUTED,
     0},
    {"a sure key: its value",
     "epanechnikov",
     "zero",
     2,
     {IN, 0.5f},
     {{1, 0}, {0, 1}},
     {0, 1},
     CERTIFIED,
     0},
    {"relu: empty", "normrelu", "zero", 1, {HALF_IN}, {{3, 5}}, {0, 0}, CERTIFIED, 1},
    {"relu outside: its value", "normrelu", "zero", 1, {HALF_OUT}, {{3, 5}}, {3, 5}, CERTIFIED, 1},
    {"relu outside: half", "normrelu", "zero", 1, {HALF_OUT}, {{3, 5}}, {1.5f, 2.5f}, REFUTED, 1},
    {"relu: a sure key", "normrelu", "zero", 1, {0.625f}, {{3, 5}}, {0, 0}, REFUTED, 0},
    {"uniform: its value", "uniform", "zero", 1, {1}, {{3, 5}}, {3, 5}, CERTIFIED, 1},
    {"uniform: empty", "uniform", "zero", 1, {1}, {{3, 5}}, {0, 0}, CERTIFIED, 1},
    {"uniform: half", "uniform", "zero", 1, {1}, {{3, 5}}, {1.5f, 2.5f}, REFUTED, 1},
    {"uniform: nan", "uniform", "nan", 1, {1}, {{3, 5}}, {NAN, NAN}, CERTIFIED, 1},
    {"uniform: one of two", "uniform", "zero", 2, {1, OUT}, {{3, 5}, {1, 1}}, {1, 1}, CERTIFIED, 1},
    {"uniform: neither", "uniform", "zero", 2, {1, OUT}, {{3, 5}, {1, 1}}, {0.5f, 1}, REFUTED, 1},
    {"uniform: far", "uniform", "zero", 1, {0.75f}, {{3, 5}}, {0, 0}, REFUTED, 0},
};

/* The problem of a row, its arrays the caller's. */
static attest_problem *problem_of(const edge_row *r, float *q, float *k, float *v, float *out) {
  attest_error error;
  attest_problem *problem = attest_problem_new(r->kernel, &error);
  int is_score = !strcmp(r->kernel, "normrelu");
  const char *names[] = {"q", "k", "v"};
  float *data[] = {q, k, v};
  int64_t shapes[3][2] = {{1, 1}, {r->keys, 1}, {r->keys, DV}};
  ck_assert_msg(!attest_problem_set(problem, "empty-row", r->empty, &error) &&
                    (!is_score || !attest_problem_set(problem, "scale", "1", &error)),
                "%s", error.message);
  q[0] = is_score ? 1 : 0;
  memcpy(k, r->k, sizeof r->k);
  memcpy(v, r->v, sizeof r->v);
  memcpy(out, r->got, sizeof r->got);
  for (int i = 0; i < 3; i++) {
    attest_tensor t = attest_tensor_of(data[i], ATTEST_FLOAT32, 2, shapes[i]);
    ck_assert_msg(!attest_problem_input(problem, names[i], &t, &error), "%s", error.message);
  }
  attest_tensor t = attest_tensor_of(out, ATTEST_FLOAT32, 2, (int64_t[]){1, DV});
  ck_assert_msg(!attest_problem_output(problem, "out", &t, &error), "%s", error.message);
  return problem;
}

START_TEST(rows_that_may_empty_have_their_verdict) {
  const edge_row *r = &rows[_i];
  float q[1], k[KEYS_MAX], v[KEYS_MAX * DV], out[DV];
  attest_error error;
  attest_problem *problem = problem_of(r, q, k, v, out);
  attest_certificate *c = attest_check(problem, NULL, &error);
  ck_assert_msg(c != NULL, "%s", error.message);
  const char *text = attest_certificate_text(c);
  ck_assert_msg(attest_certificate_verdict(c) == r->verdict, "%s, %s: %s", r->kernel, r->what,
                text);
  ck_assert_msg(!strstr(text, "ill-posed-rows=1") == !r->ill_posed, "%s, %s: %s", r->kernel,
                r->what, text);
  attest_certificate_free(c);
  attest_problem_free(problem);
}
END_TEST

/* ---- keys that nothing moves ---- */

/* Keys exactly at the edge, or nearer than any rounding tells, where the bound moves no argument: t
 * = 0, or a bound on another measure than backward. Only the exact row is right then. */
typedef struct {
  const char *kernel, *scale, *bandwidth, *softcap, *bound;
  double k[2][2]; /* d = 2, q = (0, 1), or (1, 1) for top-k of one key */
  double right, wrong;
} still_row;

static const still_row still[] = {
    {"normrelu", "0", "sqrt(2)", NULL, "backward<=16", {{1, 0}, {1, 0}}, 0, 1},
    {"normrelu", "0", "sqrt(2)", "3", "backward<=16", {{1, 0}, {1, 0}}, 0, 1},
    {"normrelu", "1", "sqrt(2/3)", NULL, "abs<=1e-3", {{0, 2. / 3}, {0, 0.5}}, 0, 1},
    {"normrelu", "1", "1", NULL, "abs<=1e-3", {{0, 0.5}, {0, 0.5}}, 0, 1},
    {"normrelu", "1", "1", "1", "abs<=1e-3", {{0, 0.5}, {0, 0.5}}, 0, 1},
    {"epanechnikov", NULL, "1", NULL, "abs<=1e-3", {{1, 1}, {1, 1}}, 0, 1},
    {"biweight", NULL, "1/3", NULL, "abs<=1e-3", {{1. / 3, 1}, {2, 1}}, 1, 0},
    {"triweight", NULL, "sqrt(2)", NULL, "abs<=1e-3", {{1, 0}, {1, 2}}, 0, 2},
    {"uniform", NULL, "1", NULL, "abs<=1e-3", {{1, 1}, {2, 1}}, 1, 0},
    {"uniform", NULL, "sqrt(2)", NULL, "abs<=1e-3", {{1, 0}, {1 + 0x1p-52, 0}}, 1, 1.5},
    {"topk-uniform", "1", NULL, NULL, "abs<=1e-3", {{1, 0}, {1, 0x1p-300}}, 2, 1},
    {"topk-uniform", "1", NULL, "5", "abs<=1e-3", {{1, 0}, {1, 0x1p-300}}, 2, 1},
    {"topk-softmax", "sqrt(2)", NULL, NULL, "abs<=1e-3", {{1, 0}, {1, 0x1p-300}}, 2, 1},
    {"topk-uniform", "1", NULL, NULL, "backward<=1e-150", {{1, 0}, {1, 0x1p-300}}, 2, 1},
    {"normrelu", "1", "1", "1/2", "abs<=1e-3", {{0, 1e30}, {0, -1e30}}, 0, 1}, /* cap = 1/2 - tiny
                                                                                */
};

START_TEST(keys_that_nothing_moves_are_decided_exactly) {
  const still_row *r = &still[_i];
  int top = !strncmp(r->kernel, "topk", 4);
  double q[2] = {top, 1}, k[2][2], v[2] = {1, 2}, out[1];
  attest_error error;
  memcpy(k, r->k, sizeof k);
  for (int right = 0; right < 2; right++) {
    attest_problem *problem = attest_problem_new(r->kernel, &error);
    const char *names[] = {"scale", "bandwidth", "softcap", "topk"};
    const char *values[] = {r->scale, r->bandwidth, r->softcap, top ? "1" : NULL};
    for (int i = 0; i < 4; i++)
      ck_assert(!values[i] || !attest_problem_set(problem, names[i], values[i], &error));
    attest_tensor t = attest_tensor_of(q, ATTEST_FLOAT64, 2, (int64_t[]){1, 2});
    ck_assert(!attest_problem_input(problem, "q", &t, &error));
    t = attest_tensor_of(k, ATTEST_FLOAT64, 2, (int64_t[]){2, 2});
    ck_assert(!attest_problem_input(problem, "k", &t, &error));
    t = attest_tensor_of(v, ATTEST_FLOAT64, 2, (int64_t[]){2, 1});
    ck_assert(!attest_problem_input(problem, "v", &t, &error));
    t = attest_tensor_of(out, ATTEST_FLOAT64, 2, (int64_t[]){1, 1});
    ck_assert(!attest_problem_output(problem, "out", &t, &error));
    out[0] = right ? r->right : r->wrong;
    attest_certificate *c = attest_check(problem, r->bound, &error);
    ck_assert_msg(c != NULL, "%s", error.message);
    ck_assert_msg(attest_certificate_verdict(c) == (right ? CERTIFIED : REFUTED), "%s",
                  attest_certificate_text(c));
    attest_certificate_free(c);
    attest_problem_free(problem);
  }
}
END_TEST

/* ---- scores so large that rounding them changes everything ---- */

/* Any mean of the values may be what such scores make; nothing beyond them is. */
START_TEST(results_beyond_all_values_are_refuted) {
  static const char *const kernels[] = {"softmax", "sparsemax", "entmax", "relumax",
                                        "topk-softmax"};
  static const float s[3] = {1e30f, -2e30f, 5e29f};
  for (int i = 0; i < 5; i++) {
    fixture_row r;
    fixture_row_open(&r, kernels[i], NULL, s, 3, 3);
    for (int right = 0; right < 2; right++) {
      r.out[0] = right ? 1 : 1.25f;
      ck_assert_msg(fixture_row_judge(&r) == (right ? CERTIFIED : REFUTED), "%s, right: %d",
                    kernels[i], right);
    }
    fixture_row_close(&r);
  }
}
END_TEST

/* Under a cap scores of 30,000 caps and more are as good as equal: any two may be the largest. */
START_TEST(saturated_caps_may_all_be_selected) {
  static const float s[4] = {1e5f, 75000, 90000, 1};
  fixture_row r;
  fixture_row_open(&r, "topk-uniform", (const char *[]){"softcap", "5/2", "topk", "2", NULL}, s, 4,
                   4);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < i; j++) {
      for (int c = 0; c < 4; c++)
        r.out[c] = c == i || c == j ? 0.5f : 0;
      ck_assert_msg(fixture_row_judge(&r) == (i < 3 ? CERTIFIED : REFUTED), "keys %d and %d", i, j);
    }
  fixture_row_close(&r);
}
END_TEST

/* 40 and 90 keys exactly at the edge: rounding may bring in all of them, or one. */
START_TEST(many_keys_at_the_edge_mix) {
  enum { MANY = 90 };
  float s[MANY];
  for (int j = 0; j < MANY; j++)
    s[j] = 0.5f;
  for (int keys = 40; keys <= MANY; keys += 50) {
    fixture_row r;
    fixture_row_open(&r, "normrelu", NULL, s, keys, keys);
    for (int some = 1; some <= keys; some += keys - 1) {
      for (int c = 0; c < keys; c++)
        r.out[c] = c < some ? 1.0f / (float)some : 0;
      ck_assert_msg(fixture_row_judge(&r) == CERTIFIED, "%d of %d", some, keys);
      r.out[0] += 0.5f;
      ck_assert_msg(fixture_row_judge(&r) != CERTIFIED, "beyond %d of %d", some, keys);
    }
    fixture_row_close(&r);
  }
}
END_TEST

/* Scores beyond the range of double, on both sides: their order decides. */
START_TEST(selections_do_not_depend_on_the_size_of_scores) {
  static const char *const scales[] = {"1e400", "1e-400", "1"};
  static const float s[3] = {3, 2, 1};
  for (int i = 0; i < 3; i++)
    for (int key = 0; key < 3; key++) {
      fixture_row r;
      attest_error error;
      fixture_row_open(&r, "topk-uniform", NULL, s, 3, 3);
      attest_problem *scaled = attest_problem_new("topk-uniform", &error);
      ck_assert(!attest_problem_set(scaled, "scale", scales[i], &error));
      for (int input = INPUT_Q; input <= INPUT_V; input++)
        ck_assert(!attest_problem_input(scaled, problem_input_names[input],
                                        &r.problem->input[input], &error));
      ck_assert(!attest_problem_output(scaled, "out", &r.problem->output[OUTPUT_OUT], &error));
      r.out[key] = 1;
      attest_certificate *c = attest_check(scaled, NULL, &error);
      ck_assert_msg(c != NULL, "%s", error.message);
      ck_assert_msg(attest_certificate_verdict(c) == (key == 0 ? CERTIFIED : REFUTED), "%s, key %d",
                    scales[i], key);
      attest_certificate_free(c);
      attest_problem_free(scaled);
      fixture_row_close(&r);
    }
}
END_TEST

/* ---- machine models ---- */

static attest_verdict under_model(const attest_problem *problem, const char *arithmetic) {
  attest_error error;
  certify_bounds bounds = {0, NULL};
  certify_case result;
  room_machine machine;
  ck_assert(!problem_resolve((attest_problem *)problem, &error));
  ck_assert(!certify_machine_parse(&machine, problem->kernel->name, arithmetic, &error));
  certify_machine_returns(&machine, problem);
  ck_assert(!certify_bounds_add(&bounds, "theory", &error));
  certify_subject subject = {"subject", problem, &bounds, &machine, NULL};
  certify_options options = {.name = "model"};
  ck_assert_msg(!certify_run(&result, &subject, 1, &options, &error), "%s", error.message);
  attest_verdict verdict = certify_case_verdict(&result);
  certify_case_clear(&result);
  certify_bounds_clear(&bounds);
  return verdict;
}

#define SINGLE "products=float32,weights=float32,accumulate=float32"
#define DOUBLE "products=float64,weights=float64,accumulate=float64"

/* Results that float32 scores explain, and float64 scores do not; and what neither does. */
START_TEST(models_explain_what_their_rounding_does) {
  static const struct {
    edge_row row;
    attest_verdict single, twice;
  } cases[] = {
      {{"", "epanechnikov", "zero", 1, {1 + 0x1p-23f}, {{3, 5}}, {3, 5}, 0, 0}, CERTIFIED, REFUTED},
      {{"", "epanechnikov", "zero", 1, {1 - 0x1p-24f}, {{3, 5}}, {0, 0}, 0, 0}, CERTIFIED, REFUTED},
      {{"", "epanechnikov", "zero", 1, {1.25f}, {{3, 5}}, {3, 5}, 0, 0}, REFUTED, REFUTED},
      {{"", "epanechnikov", "zero", 1, {1.25f}, {{3, 5}}, {0, 0}, 0, 0}, CERTIFIED, CERTIFIED},
      {{"", "uniform", "zero", 1, {1 + 0x1p-23f}, {{3, 5}}, {3, 5}, 0, 0}, CERTIFIED, REFUTED},
      {{"", "uniform", "zero", 1, {1 - 0x1p-24f}, {{3, 5}}, {0, 0}, 0, 0}, CERTIFIED, REFUTED},
      {{"", "uniform", "zero", 1, {0.5f}, {{3, 5}}, {3, 4}, 0, 0}, REFUTED, REFUTED},
      {{"", "topk-uniform", "zero", 2, {1, 1 - 0x1p-24f}, {{3, 5}, {4, 7}}, {4, 7}, 0, 0},
       CERTIFIED,
       REFUTED},
      {{"", "topk-softmax", "zero", 2, {1, 1 - 0x1p-24f}, {{3, 5}, {4, 7}}, {4, 7}, 0, 0},
       CERTIFIED,
       REFUTED},
      {{"", "topk-softmax", "zero", 2, {1, 1 - 0x1p-24f}, {{3, 5}, {4, 7}}, {4, 9}, 0, 0},
       REFUTED,
       REFUTED},
      {{"", "topk-uniform", "zero", 2, {1, 0.5f}, {{3, 5}, {4, 7}}, {4, 7}, 0, 0},
       REFUTED,
       REFUTED},
  };
  float q[1], k[KEYS_MAX], v[KEYS_MAX * DV], out[DV];
  attest_problem *problem = problem_of(&cases[_i].row, q, k, v, out);
  if (!strncmp(cases[_i].row.kernel, "topk", 4)) q[0] = 1;
  attest_verdict single = under_model(problem, SINGLE), twice = under_model(problem, DOUBLE);
  ck_assert_msg(single == cases[_i].single, "float32: verdict %d", (int)single);
  ck_assert_msg(twice == cases[_i].twice, "float64: verdict %d", (int)twice);
  attest_problem_free(problem);
}
END_TEST
enum { MODEL_CASES = 11 };

/* Two keys with values 3 and 5, scores q.k and 0; the verdict on `got` under float32. */
static attest_verdict single_verdict(const float q[3], const float key[3], const char *param,
                                     const char *value, float got) {
  attest_error error;
  attest_problem *problem = attest_problem_new("sparsemax", &error);
  float k[6] = {key[0], key[1], key[2], 0, 0, 0}, v[2] = {3, 5};
  attest_tensor t[] = {attest_tensor_of((void *)q, ATTEST_FLOAT32, 2, (int64_t[]){1, 3}),
                       attest_tensor_of(k, ATTEST_FLOAT32, 2, (int64_t[]){2, 3}),
                       attest_tensor_of(v, ATTEST_FLOAT32, 2, (int64_t[]){2, 1}),
                       attest_tensor_of(&got, ATTEST_FLOAT32, 2, (int64_t[]){1, 1})};
  ck_assert(!attest_problem_input(problem, "q", &t[0], &error) &&
            !attest_problem_input(problem, "k", &t[1], &error) &&
            !attest_problem_input(problem, "v", &t[2], &error) &&
            !attest_problem_output(problem, "out", &t[3], &error) &&
            !attest_problem_set(problem, param, value, &error) &&
            (!strcmp(param, "scale") || !attest_problem_set(problem, "scale", "1", &error)));
  attest_verdict verdict = under_model(problem, SINGLE);
  attest_problem_free(problem);
  return verdict;
}

/* 2^27 + 7.875 - 2^27 is 0 in float32, where tanh is steep, and 7.875 where it is flat. */
START_TEST(models_err_where_a_softcap_is_steeper) {
  const float q[3] = {1, 1, 1}, k[3] = {0x1p27f, 7.875f, -0x1p27f}, small[3] = {1, 7, 1};
  ck_assert_int_eq(single_verdict(q, k, "softcap", "1", 4), CERTIFIED);
  ck_assert_int_eq(single_verdict(q, small, "softcap", "1", 4), REFUTED);
}
END_TEST

/* q.k overflows before it is scaled: there is no bound. */
START_TEST(models_may_scale_last) {
  const float q[3] = {0x1p100f, 0, 0}, k[3] = {0x1p100f, 0, 0}, small[3] = {0x1p10f, 0, 0};
  ck_assert_int_eq(single_verdict(q, k, "scale", "0x1p-120", 4), UNDECIDED);
  ck_assert_int_eq(single_verdict(q, small, "scale", "0x1p-120", 4), REFUTED);
}
END_TEST

void test_sparse_edges(Suite *suite) {
  TCase *tc = tcase_create("sparse_edges");
  tcase_add_loop_test(tc, rows_that_may_empty_have_their_verdict, 0, sizeof rows / sizeof *rows);
  tcase_add_loop_test(tc, keys_that_nothing_moves_are_decided_exactly, 0,
                      sizeof still / sizeof *still);
  tcase_add_test(tc, results_beyond_all_values_are_refuted);
  tcase_add_test(tc, selections_do_not_depend_on_the_size_of_scores);
  tcase_add_test(tc, saturated_caps_may_all_be_selected);
  tcase_add_test(tc, many_keys_at_the_edge_mix);
  tcase_add_loop_test(tc, models_explain_what_their_rounding_does, 0, MODEL_CASES);
  tcase_add_test(tc, models_err_where_a_softcap_is_steeper);
  tcase_add_test(tc, models_may_scale_last);
  suite_add_tcase(suite, tc);
}
