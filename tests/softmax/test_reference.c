/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The ball tier of softmax attention. Golden values: data/softmax/golden.py (mpmath, 80 digits). */
#include "golden.h"

/* Whether x is the number of `text` to 50 significant digits: its ball is narrower than that and
 * meets the decimal +- one unit of the 55th digit. */
static int agrees(const arb_t x, const char *text) {
  arb_t expected, size;
  arb_init(expected);
  arb_init(size);
  arb_set_str(expected, text, 400);
  arb_abs(size, expected);
  arb_t ten;
  arb_init(ten);
  arb_set_si(ten, 10);
  arb_pow_ui(ten, ten, 55, 400);
  arb_div(size, size, ten, 400);
  arb_add_error(expected, size);
  int yes = arb_overlaps(x, expected) &&
            (arb_is_zero(x) || arb_rel_accuracy_bits(x) > 190 || arb_contains_zero(expected));
  arb_clear(expected);
  arb_clear(size);
  arb_clear(ten);
  return yes;
}

static void check_element(const char *name, const char *expected, const arb_t x, int class,
                          int64_t flat) {
  char *got = arb_get_str(x, 60, 0);
  if (!strcmp(expected, "nan"))
    ck_assert_msg(class == EXACT_NAN, "%s[%lld]", name, (long long)flat);
  else if (!strcmp(expected, "-inf"))
    ck_assert_msg(class == EXACT_MINUS_INF, "%s[%lld]", name, (long long)flat);
  else
    ck_assert_msg(class == EXACT_FINITE && agrees(x, expected), "%s[%lld]: %s, not %s", name,
                  (long long)flat, got, expected);
  flint_free(got);
}

static const char *string_at(json_t *object, const char *key, int64_t i) {
  return json_string_value(json_array_get(json_object_get(object, key), (size_t)i));
}

/* One output of one slice against the file, row by row; returns the elements compared. */
static int64_t check_rows(json_t *golden, const char *output_name, const attest_problem *problem,
                          const problem_slice *slice) {
  int output = problem_output_find(output_name);
  int64_t width = output == OUTPUT_OUT ? slice->dv : 1, compared = 0;
  json_t *expected = json_object_get(golden, output_name);
  json_t *condition = json_object_get(json_object_get(golden, "condition"), output_name);
  const char *name = json_string_value(json_object_get(golden, "name"));
  room_balls balls;
  room_balls_init(&balls, width);
  for (int64_t row = 0; row < slice->nq; row++) {
    attest_error error = {0};
    ck_assert_msg(!softmax_ball(&balls, problem, slice, row, output, ~0u, 300, &error), "%s",
                  error.message);
    for (int64_t c = 0; c < width; c++, compared++) {
      int64_t flat = golden_flat(problem, slice, output, row, c);
      check_element(name, string_at(expected, "values", flat), balls.x + c, balls.class[c], flat);
      if (!condition) continue;
      json_t *sizes = json_array_get(condition, (size_t)flat);
      arb_t a, s, error_bound;
      arb_init(a);
      arb_init(s);
      arb_init(error_bound);
      arb_set_str(a, json_string_value(json_object_get(sizes, "a")), 200);
      arb_set_str(s, json_string_value(json_object_get(sizes, "s")), 200);
      arb_set_str(error_bound, "1e-35", 200); /* relative to terms of moderate size */
      arb_add_error(a, error_bound);
      arb_add_error(s, error_bound);
      ck_assert_msg(arb_overlaps(balls.a + c, a), "%s: A of %s[%lld]", name, output_name,
                    (long long)flat);
      ck_assert_msg(arb_overlaps(balls.s + c, s), "%s: S of %s[%lld]", name, output_name,
                    (long long)flat);
      ck_assert(arb_rel_accuracy_bits(balls.s + c) > 150 || arb_is_zero(balls.s + c));
      arb_clear(a);
      arb_clear(s);
      arb_clear(error_bound);
    }
  }
  room_balls_clear(&balls);
  return compared;
}

START_TEST(rows_agree_with_mpmath_to_50_digits) {
  json_t *cases = golden_load(), *golden;
  size_t i;
  int64_t compared = 0;
  ck_assert_uint_ge(json_array_size(cases), 24);
  json_array_foreach(cases, i, golden) {
    test_case c;
    golden_case(&c, golden);
    for (int64_t s = 0; s < problem_slice_count(c.problem); s++) {
      problem_slice slice;
      problem_slice_get(&slice, c.problem, s);
      compared += check_rows(golden, "out", c.problem, &slice);
      compared += check_rows(golden, "lse", c.problem, &slice);
    }
    case_free(&c);
  }
  json_decref(cases);
  ck_assert_int_gt(compared, 450);
}
END_TEST

/* Blocked rows of one slice; `together` are the rows of one call. */
static void check_blocked(json_t *golden, const attest_problem *problem, const problem_slice *slice,
                          int64_t together) {
  const char *name = json_string_value(json_object_get(golden, "name"));
  arb_ptr out = _arb_vec_init(slice->nq * slice->dv), lse = _arb_vec_init(slice->nq);
  unsigned char *class = malloc((size_t)(slice->nq * (slice->dv + 1) + 1));
  unsigned char *lse_class = class + slice->nq * slice->dv;
  attest_error error = {0};
  for (int64_t row = 0; row < slice->nq; row += together) {
    int64_t n = slice->nq - row < together ? slice->nq - row : together;
    ck_assert_msg(!softmax_ball_rows(out + row * slice->dv, lse + row, class + row * slice->dv,
                                     lse_class + row, problem, slice, row, n, 300, &error),
                  "%s", error.message);
  }
  for (int64_t row = 0; row < slice->nq; row++) {
    for (int64_t c = 0; c < slice->dv; c++) {
      int64_t flat = golden_flat(problem, slice, OUTPUT_OUT, row, c), i = row * slice->dv + c;
      check_element(name, string_at(json_object_get(golden, "out"), "values", flat), out + i,
                    class[i], flat);
    }
    int64_t flat = golden_flat(problem, slice, OUTPUT_LSE, row, 0);
    check_element(name, string_at(json_object_get(golden, "lse"), "values", flat), lse + row,
                  lse_class[row], flat);
  }
  _arb_vec_clear(out, slice->nq * slice->dv);
  _arb_vec_clear(lse, slice->nq);
  free(class);
}

START_TEST(blocked_rows_agree_with_mpmath_to_50_digits) {
  json_t *cases = golden_load(), *golden;
  size_t i;
  json_array_foreach(cases, i, golden) {
    test_case c;
    golden_case(&c, golden);
    for (int64_t s = 0; s < problem_slice_count(c.problem); s++) {
      problem_slice slice;
      problem_slice_get(&slice, c.problem, s);
      check_blocked(golden, c.problem, &slice, slice.nq + 1);
      check_blocked(golden, c.problem, &slice, 1);
    }
    case_free(&c);
  }
  json_decref(cases);
}
END_TEST

static double *random_values(uint64_t *state, int64_t n, double size) {
  double *x = malloc((size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++)
    x[i] = (float)(size * (2 * tests_uniform(state) - 1));
  return x;
}

/* Several tiles of rows and several blocks of keys, with a mask, against single rows; then the same
 * with elements from 1e-150 to 1e150 whose products are of moderate size. */
START_TEST(blocked_rows_overlap_single_rows_beyond_one_block) {
  enum { NQ = 70, NK = 1100, D = 3, DV = 2 };
  uint64_t state = tests_seed();
  double *q = random_values(&state, NQ * D, 8), *k = random_values(&state, NK * D, 8),
         *v = random_values(&state, NK * DV, 1), *mask = malloc(NQ * NK * sizeof *mask);
  const double spread[D] = {1, _i ? 1e150 : 1, _i ? 1e-150 : 1};
  for (int64_t i = 0; i < NQ * D; i++)
    q[i] *= spread[i % D];
  for (int64_t i = 0; i < NK * D; i++)
    k[i] /= spread[i % D];
  for (int64_t i = 0; i < NK * DV && _i; i++)
    v[i] *= exp2(1000 * tests_uniform(&state) - 500);
  for (int64_t i = 0; i < NQ * NK; i++)
    mask[i] = tests_uniform(&state) < 0.5;
  for (int64_t j = 0; j < NK; j++)
    mask[5 * NK + j] = 0; /* an empty row inside the tile */
  for (int64_t j = 0; j < NK; j++)
    mask[6 * NK + j] = j == 1050;
  for (int64_t i = 0; i < NQ; i++)
    mask[i * NK + 7] = 0; /* a key that nobody sees */
  k[7 * D] = NAN;
  v[7 * DV] = INFINITY;
  test_case c;
  case_new(&c);
  case_qkv(&c, NQ, NK, D, DV, q, k, v);
  case_input(&c, "mask", ATTEST_BOOL, 2, (int64_t[]){NQ, NK}, mask);
  if (_i) case_input(&c, "sinks", ATTEST_FLOAT64, 1, (int64_t[]){1}, (double[]){5});
  case_resolve(&c);
  problem_slice slice;
  problem_slice_get(&slice, c.problem, 0);
  arb_ptr out = _arb_vec_init(NQ * DV), lse = _arb_vec_init(NQ);
  attest_error error = {0};
  ck_assert_msg(!softmax_ball_rows(out, lse, NULL, NULL, c.problem, &slice, 0, NQ, 128, &error),
                "%s", error.message);
  room_balls x, l;
  room_balls_init(&x, DV);
  room_balls_init(&l, 1);
  for (int64_t row = 0; row < NQ; row++) {
    softmax_ball(&x, c.problem, &slice, row, OUTPUT_OUT, WANT_OUT, 128, &error);
    softmax_ball(&l, c.problem, &slice, row, OUTPUT_LSE, WANT_LSE, 128, &error);
    for (int64_t i = 0; i < DV; i++) {
      ck_assert(arb_overlaps(x.x + i, out + row * DV + i));
      ck_assert(row == 5 || arb_rel_accuracy_bits(out + row * DV + i) > 100);
    }
    ck_assert(arb_overlaps(l.x, lse + row));
  }
  ck_assert(_i || arb_is_exact(out + 6 * DV)); /* one key and no sink: its value */
  room_balls_clear(&x);
  room_balls_clear(&l);
  _arb_vec_clear(out, NQ * DV);
  _arb_vec_clear(lse, NQ);
  case_free(&c);
  free(q);
  free(k);
  free(v);
  free(mask);
}
END_TEST

/* Scores of +-1e300 and beyond: the larger one takes all, at any precision asked for. */
START_TEST(scores_of_any_size_keep_the_precision_asked_for) {
  const double scores[4] = {1e300, -1e300, 1e300, 1e299}, v[4] = {1, 5, 2, 7};
  test_case c;
  case_scores(&c, 4, scores, 1, v);
  case_resolve(&c);
  problem_slice slice;
  problem_slice_get(&slice, c.problem, 0);
  room_balls x;
  room_balls_init(&x, 1);
  attest_error error = {0};
  for (slong prec = 32; prec <= 1024; prec *= 4) {
    softmax_ball(&x, c.problem, &slice, 0, OUTPUT_OUT, WANT_OUT, prec, &error);
    ck_assert_int_ge(arb_rel_accuracy_bits(x.x), prec - 6);
    arb_sub_si(x.x, x.x, 0, 64);
    arb_mul_2exp_si(x.x, x.x, 1); /* (1 + 2) / 2 */
    arb_sub_si(x.x, x.x, 3, 64);
    ck_assert(arb_contains_zero(x.x));
  }
  room_balls_clear(&x);
  case_free(&c);
}
END_TEST

/* ---- conditioning, by hand --------------------------------------------------------------------
 */

/* One row whose keys all have score 0, so that p is the same for all of them. */
typedef struct {
  const char *name, *scale, *temperature, *base;
  double k[4];    /* two keys of two components; q = (1, 1) */
  double bias[2]; /* with which the scores are 0 */
  int has_sink;   /* of score 0 */
  double v[2];
  int output;
  double a, s;
} hand_case;

static const hand_case hand_cases[] = {
    {"equal scores 1 - 1", "1", "1", "e", {1, 0, 0, 1}, {-1, -1}, 0, {0, 1}, OUTPUT_OUT, .5, 1},
    {"one large t", "1", "1", "e", {3, 0, 0, 0}, {-3, 0}, 0, {1, -1}, OUTPUT_OUT, 1, 3},
    {"cancelling products", "-1/2", "2", "e", {2, -2, 0, 0}, {0, 0}, 0, {3, 1}, OUTPUT_OUT, 2, .5},
    {"sink", "1", "1", "e", {2, 0, 4, 0}, {-2, -4}, 1, {3, 0}, OUTPUT_OUT, 1, 16. / 3},
    {"equal values", "1", "1", "e", {3, 0, 0, 5}, {-3, -5}, 0, {7, 7}, OUTPUT_OUT, 7, 0},
    {"lse", "1", "1", "e", {3, 0, 0, 0}, {-3, 0}, 0, {1, -1}, OUTPUT_LSE, M_LN2, 3},
    {"lse in base 2", "1", "1", "2", {3, 0, 0, 0}, {-3, 0}, 0, {1, -1}, OUTPUT_LSE, 1, 3 / M_LN2},
};

START_TEST(conditioning_agrees_with_hand_computation) {
  const hand_case *h = &hand_cases[_i];
  test_case c;
  problem_slice slice;
  room_balls x;
  attest_error error = {0};
  case_new(&c);
  case_set(&c, "scale", h->scale);
  case_set(&c, "temperature", h->temperature);
  case_set(&c, "lse-base", h->base);
  case_qkv(&c, 1, 2, 2, 1, (double[]){1, 1}, h->k, h->v);
  case_input(&c, "bias", ATTEST_FLOAT64, 2, (int64_t[]){1, 2}, h->bias);
  if (h->has_sink) case_input(&c, "sinks", ATTEST_FLOAT64, 1, (int64_t[]){1}, (double[]){0});
  case_resolve(&c);
  problem_slice_get(&slice, c.problem, 0);
  room_balls_init(&x, 1);
  ck_assert(!softmax_ball(&x, c.problem, &slice, 0, h->output, ~0u, 128, &error));
  double a = arf_get_d(arb_midref(x.a), ARF_RND_NEAR), s = arf_get_d(arb_midref(x.s), ARF_RND_NEAR);
  ck_assert_msg(fabs(a - h->a) <= 1e-15 * h->a, "%s: A = %g, not %g", h->name, a, h->a);
  ck_assert_msg(fabs(s - h->s) <= 1e-15 * h->s + 1e-30, "%s: S = %g, not %g", h->name, s, h->s);
  room_balls_clear(&x);
  case_free(&c);
}
END_TEST

/* ---- real defects (public issue trackers), computed here exactly
 * ---------------------------------- */

static double out_of(test_case *c, int64_t slice_index, int64_t row, int64_t component,
                     int output) {
  problem_slice slice;
  room_balls x;
  attest_error error = {0};
  case_resolve(c);
  problem_slice_get(&slice, c->problem, slice_index);
  room_balls_init(&x, output == OUTPUT_OUT ? slice.dv : 1);
  ck_assert_msg(!softmax_ball(&x, c->problem, &slice, row, output, WANT_OUT, 128, &error), "%s",
                error.message);
  double value = arf_get_d(arb_midref(x.x + component), ARF_RND_NEAR);
  if (x.class[component] == EXACT_NAN) value = NAN;
  if (x.class[component] == EXACT_PLUS_INF) value = INFINITY;
  if (x.class[component] == EXACT_MINUS_INF) value = -INFINITY;
  room_balls_clear(&x);
  return value;
}

#define ck_near(x, y) ck_assert_double_eq_tol(x, y, 1e-15 * fabs(y))

/* pytorch #103963: rows that the mask leaves empty, by policy. */
START_TEST(fully_masked_row_follows_the_policy) {
  for (int nan = 0; nan <= 1; nan++) {
    test_case c;
    case_new(&c);
    if (nan) case_set(&c, "empty-row", "nan");
    case_qkv(&c, 2, 3, 1, 1, (double[]){0, 0}, (double[]){0, 0, 0}, (double[]){1, 2, 3});
    case_input(&c, "mask", ATTEST_BOOL, 2, (int64_t[]){2, 3}, (double[]){1, 1, 1, 0, 0, 0});
    ck_assert_double_eq(out_of(&c, 0, 0, 0, OUTPUT_OUT), 2);
    if (nan)
      ck_assert_double_nan(out_of(&c, 0, 1, 0, OUTPUT_OUT));
    else
      ck_assert_double_eq(out_of(&c, 0, 1, 0, OUTPUT_OUT), 0);
    ck_assert(nan || out_of(&c, 0, 1, 0, OUTPUT_LSE) == -INFINITY);
    case_free(&c);
  }
}
END_TEST

/* pytorch #127055: a band mask whose first keys are hidden; softmax of equal scores is the mean. */
START_TEST(band_mask_gives_the_mean_of_the_band) {
  enum { N = 600 };
  double *zero = calloc(N, sizeof *zero), *v = malloc(N * sizeof *v);
  for (int j = 0; j < N; j++)
    v[j] = j;
  test_case c;
  case_new(&c);
  case_set(&c, "window", "9,0");
  case_qkv(&c, N, N, 1, 1, zero, zero, v);
  ck_assert_double_eq(out_of(&c, 0, 599, 0, OUTPUT_OUT), 594.5);
  case_free(&c);
  free(zero);
  free(v);
}
END_TEST

/* burn #4697, flashinfer #4267: large negative scores are not masked scores. */
START_TEST(large_negative_scores_are_ordinary) {
  const double v[4] = {1, 0, 0, 1};
  const double scores[2][2] = {{-20000, -20001}, {-60000, -60001}};
  for (int i = 0; i < 2; i++) {
    test_case c;
    case_scores(&c, 2, scores[i], 2, v);
    ck_near(out_of(&c, 0, 0, 0, OUTPUT_OUT), 0.7310585786300048793);
    ck_near(out_of(&c, 0, 0, 1, OUTPUT_OUT), 0.2689414213699951207);
    case_free(&c);
  }
}
END_TEST

/* ik_llama.cpp #2344: rows without keys and a sink. */
START_TEST(sink_absorbs_an_empty_row) {
  test_case c;
  double q[20] = {0}, v[20], bias[400];
  for (int i = 0; i < 20; i++) {
    v[i] = i + 1;
    for (int j = 0; j < 20; j++)
      bias[20 * i + j] = i < 14 || j > i ? -INFINITY : 0;
  }
  case_new(&c);
  case_qkv(&c, 20, 20, 1, 1, q, q, v);
  case_input(&c, "bias", ATTEST_FLOAT32, 2, (int64_t[]){20, 20}, bias);
  case_input(&c, "sinks", ATTEST_FLOAT32, 1, (int64_t[]){1}, (double[]){1});
  for (int i = 0; i < 14; i++) {
    ck_assert_double_eq(out_of(&c, 0, i, 0, OUTPUT_OUT), 0);
    ck_assert_double_eq(out_of(&c, 0, i, 0, OUTPUT_LSE), 1);
  }
  ck_near(out_of(&c, 0, 14, 0, OUTPUT_OUT), 120 / (15 + exp(1)));
  case_free(&c);
}
END_TEST

/* pytorch #81077, flash-attention #2470: sequences without keys. */
START_TEST(sequences_without_keys_are_zero) {
  test_case c;
  double x[6] = {1, 2, 3, 4, 5, 6};
  case_new(&c);
  for (int i = 0; i < 3; i++)
    case_input(&c, (const char *[]){"q", "k", "v"}[i], ATTEST_FLOAT32, 4, (int64_t[]){2, 1, 3, 1},
               x);
  case_input(&c, "seqused-k", ATTEST_INT32, 1, (int64_t[]){2}, (double[]){3, 0});
  ck_assert_double_gt(out_of(&c, 0, 0, 0, OUTPUT_OUT), 2);
  for (int i = 0; i < 3; i++)
    ck_assert_double_eq(out_of(&c, 1, i, 0, OUTPUT_OUT), 0);
  case_free(&c);
  case_new(&c);
  case_qkv(&c, 4, 0, 64, 2, (double[256]){0}, x, x);
  ck_assert_double_eq(out_of(&c, 0, 3, 1, OUTPUT_OUT), 0);
  ck_assert(out_of(&c, 0, 3, 0, OUTPUT_LSE) == -INFINITY);
  case_free(&c);
}
END_TEST

/* pytorch #101967, flash-attention #2374: NaN in keys and values that nobody sees. */
START_TEST(invisible_nan_does_not_matter) {
  test_case c;
  double v[8], zero[8] = {0}, k[8] = {0};
  for (int i = 0; i < 8; i++)
    v[i] = i;
  k[4] = NAN;
  case_new(&c);
  case_qkv(&c, 2, 2, 4, 4, zero, k, v);
  case_input(&c, "mask", ATTEST_BOOL, 2, (int64_t[]){2, 2}, (double[]){1, 0, 1, 0});
  for (int i = 0; i < 8; i++)
    ck_assert_double_eq(out_of(&c, 0, i / 4, i % 4, OUTPUT_OUT), i % 4);
  case_free(&c);
  case_new(&c);
  case_qkv(&c, 1, 4, 1, 1, zero, zero, (double[]){1, 2, NAN, INFINITY});
  case_input(&c, "seqused-k", ATTEST_INT32, 1, (int64_t[]){1}, (double[]){2});
  ck_assert_double_eq(out_of(&c, 0, 0, 0, OUTPUT_OUT), 1.5);
  case_free(&c);
}
END_TEST

/* machinelearning #3648, uTensor #175: scores beyond the range of exp in float32. */
START_TEST(large_scores_do_not_overflow) {
  test_case c;
  case_scores(&c, 3, (double[]){90, 2, -2}, 3, (double[]){1, 0, 0, 0, 1, 0, 0, 0, 1});
  ck_near(out_of(&c, 0, 0, 0, OUTPUT_OUT), 1.0);
  ck_near(out_of(&c, 0, 0, 1, OUTPUT_OUT), 6.054601895401185e-39);
  ck_near(out_of(&c, 0, 0, 2, OUTPUT_OUT), 1.1089390193121363e-40);
  case_free(&c);
  case_scores(&c, 5, (double[]){-249.873093, -424.126709, -460.292542, 378.097443, -292.614532}, 1,
              (double[]){0, 0, 0, 1, 0});
  ck_assert_double_eq(out_of(&c, 0, 0, 0, OUTPUT_OUT), 1);
  case_free(&c);
}
END_TEST

/* transformers #28163: q.k = 115200 is not representable in float16; the score is. */
START_TEST(float16_products_are_exact) {
  test_case c;
  double thirty[256];
  for (int i = 0; i < 256; i++)
    thirty[i] = 30;
  case_new(&c);
  case_input(&c, "q", ATTEST_FLOAT16, 2, (int64_t[]){1, 128}, thirty);
  case_input(&c, "k", ATTEST_FLOAT16, 2, (int64_t[]){1, 128}, thirty);
  case_input(&c, "v", ATTEST_FLOAT16, 2, (int64_t[]){1, 1}, thirty);
  ck_near(out_of(&c, 0, 0, 0, OUTPUT_LSE), 115200 / sqrt(128));
  case_free(&c);
}
END_TEST

/* SKaiNET #860: a scale of 0 that means "not set" gives uniform weights. */
START_TEST(default_scale_is_not_zero) {
  test_case c;
  case_new(&c);
  case_set(&c, "causal", "top-left");
  case_input(&c, "q", ATTEST_FLOAT32, 2, (int64_t[]){3, 2}, (double[]){.1, .2, .3, .4, .5, .6});
  case_input(&c, "k", ATTEST_FLOAT32, 2, (int64_t[]){3, 2}, (double[]){.7, .8, .9, 1, 1.1, 1.2});
  case_input(&c, "v", ATTEST_FLOAT32, 2, (int64_t[]){3, 2}, (double[]){1, 2, 3, 4, 5, 6});
  const double expected[6] = {
      1, 2, 2.0494570896388837, 3.0494570896388837, 3.206585790321726, 4.206585790321726};
  for (int i = 0; i < 6; i++)
    ck_near(out_of(&c, 0, i / 2, i % 2, OUTPUT_OUT), expected[i]);
  case_free(&c);
}
END_TEST

/* onnx #7865: the softcap comes before the mask; unsloth #593: it is c tanh(x/c). */
START_TEST(softcap_is_c_tanh_x_over_c_before_the_mask) {
  test_case c;
  case_scores(&c, 2, (double[]){0.5, 9}, 2, (double[]){1, 0, 0, 1});
  case_set(&c, "softcap", "1");
  case_input(&c, "bias", ATTEST_FLOAT32, 2, (int64_t[]){1, 2}, (double[]){0, -INFINITY});
  ck_assert_double_eq(out_of(&c, 0, 0, 0, OUTPUT_OUT), 1);
  ck_assert_double_eq(out_of(&c, 0, 0, 1, OUTPUT_OUT), 0);
  case_free(&c);
  case_scores(&c, 1, (double[]){124}, 1, (double[]){1});
  case_set(&c, "softcap", "30");
  ck_near(out_of(&c, 0, 0, 0, OUTPUT_LSE), 30 * tanh(124.0 / 30));
  case_free(&c);
}
END_TEST

/* modular #6198: the sink belongs in the denominator. */
START_TEST(sink_is_in_the_denominator) {
  test_case c;
  case_new(&c);
  case_qkv(&c, 1, 4, 1, 1, (double[4]){0}, (double[4]){0}, (double[]){1, 1, 1, 1});
  case_input(&c, "sinks", ATTEST_FLOAT64, 1, (int64_t[]){1}, (double[]){2.2278});
  ck_near(out_of(&c, 0, 0, 0, OUTPUT_OUT), 4 / (4 + exp(2.2278)));
  ck_assert_double_eq_tol(out_of(&c, 0, 0, 0, OUTPUT_OUT), 0.30121777383497583, 1e-14);
  case_free(&c);
}
END_TEST

/* flash-attention-jax #15: values of another width than keys, one key head for all. */
START_TEST(values_have_their_own_width) {
  test_case c;
  uint64_t state = tests_seed();
  double *q = random_values(&state, 4 * 32, 1), *k = random_values(&state, 36 * 32, 1),
         *v = random_values(&state, 36 * 24, 1);
  case_new(&c);
  case_input(&c, "q", ATTEST_FLOAT32, 4, (int64_t[]){1, 4, 1, 32}, q);
  case_input(&c, "k", ATTEST_FLOAT32, 4, (int64_t[]){1, 1, 36, 32}, k);
  case_input(&c, "v", ATTEST_FLOAT32, 4, (int64_t[]){1, 1, 36, 24}, v);
  double sum = 0, mean = 0; /* head 3, component 23, in plain double */
  for (int j = 0; j < 36; j++) {
    double s = 0;
    for (int a = 0; a < 32; a++)
      s += q[3 * 32 + a] * k[32 * j + a];
    sum += exp(s / sqrt(32));
    mean += exp(s / sqrt(32)) * v[24 * j + 23];
  }
  ck_assert_double_eq_tol(out_of(&c, 3, 0, 23, OUTPUT_OUT), mean / sum, 1e-13);
  case_free(&c);
  free(q);
  free(k);
  free(v);
}
END_TEST

void test_reference(Suite *suite) {
  TCase *tc = tcase_create("reference");
  tcase_add_test(tc, rows_agree_with_mpmath_to_50_digits);
  tcase_add_test(tc, blocked_rows_agree_with_mpmath_to_50_digits);
  tcase_add_loop_test(tc, blocked_rows_overlap_single_rows_beyond_one_block, 0, 2);
  tcase_add_test(tc, scores_of_any_size_keep_the_precision_asked_for);
  tcase_add_loop_test(tc, conditioning_agrees_with_hand_computation, 0,
                      sizeof hand_cases / sizeof *hand_cases);
  suite_add_tcase(suite, tc);
  tc = tcase_create("defects");
  tcase_add_test(tc, fully_masked_row_follows_the_policy);
  tcase_add_test(tc, band_mask_gives_the_mean_of_the_band);
  tcase_add_test(tc, large_negative_scores_are_ordinary);
  tcase_add_test(tc, sink_absorbs_an_empty_row);
  tcase_add_test(tc, sequences_without_keys_are_zero);
  tcase_add_test(tc, invisible_nan_does_not_matter);
  tcase_add_test(tc, large_scores_do_not_overflow);
  tcase_add_test(tc, float16_products_are_exact);
  tcase_add_test(tc, default_scale_is_not_zero);
  tcase_add_test(tc, softcap_is_c_tanh_x_over_c_before_the_mask);
  tcase_add_test(tc, sink_is_in_the_denominator);
  tcase_add_test(tc, values_have_their_own_width);
  suite_add_tcase(suite, tc);
}
