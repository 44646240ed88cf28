/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The FFT form against the ball tier, its two causal forms, and its fallbacks. */
#include <math.h>

#include "../../src/softmax/softmax.h"
#include "../../src/toeplitz/fft.h"
#include "../../src/toeplitz/low_rank.h"
#include "fixture_positions.h"

typedef struct {
  positions p;
  problem_slice slice;
  double *radius;
  toeplitz_fft_report report;
} run;

static void run_form(run *r, const toeplitz_fft_options *options, attest_dtype dtype) {
  attest_error error;
  int64_t shape[3] = {1, r->p.problem->nq, r->p.problem->dv};
  attest_tensor out = attest_tensor_of(NULL, dtype, 3, shape);
  free(r->p.memory[5]);
  r->p.memory[5] = out.data = calloc((size_t)tensor_elements(&out) + 1, tensor_dtype_size(dtype));
  ck_assert_int_eq(attest_problem_output(r->p.problem, "out", &out, &error), ATTEST_OK);
  ck_assert_int_eq(problem_resolve(r->p.problem, &error), ATTEST_OK);
  problem_slice_get(&r->slice, r->p.problem, 0);
  ck_assert_msg(toeplitz_fft_attention(&r->report, r->radius, r->p.problem, &r->slice, options,
                                       &error) == ATTEST_OK,
                "%s", error.message);
}

static void run_open(run *r, const positions_spec *spec, uint64_t *seed) {
  positions_open(&r->p, spec, seed);
  r->radius = calloc((size_t)spec->nq, sizeof *r->radius);
}

static void run_close(run *r) {
  positions_close(&r->p);
  free(r->radius);
}

static double element(const run *r, int64_t i, int64_t c) {
  return tensor_at(&r->slice.out, i * r->slice.out.stride[0] + c * r->slice.out.stride[1]);
}

/* The largest error / radius over the rows; half a unit of the output's format is allowed on top.
 */
static double worst_ratio(const run *r, int64_t *elements) {
  attest_error error;
  room_balls balls;
  double worst = 0, u = r->slice.out.dtype == ATTEST_FLOAT64 ? 0x1p-53 : 0x1p-24, largest = 0;
  arb_t distance;
  arb_init(distance);
  for (int64_t j = 0; j < r->slice.nk * r->slice.dv; j++)
    largest = fmax(largest, fabs((double)((float *)r->p.memory[2])[j]));
  room_balls_init(&balls, r->slice.dv);
  for (int64_t i = 0; i < r->slice.nq; i++) {
    ck_assert_int_eq(
        softmax_ball(&balls, r->p.problem, &r->slice, i, OUTPUT_OUT, WANT_OUT, 128, &error),
        ATTEST_OK);
    for (int64_t c = 0; c < r->slice.dv; c++, ++*elements) {
      double x = element(r, i, c);
      arb_set_d(distance, x);
      arb_sub(distance, distance, balls.x + c, 128);
      double off = fmax(fabs(enclosure_upper(distance)), fabs(enclosure_lower(distance)));
      double allowed = isinf(r->radius[i]) ? 1e-13 * largest : r->radius[i];
      worst = fmax(worst, off / (allowed + u * fabs(x) * 1.01));
    }
  }
  room_balls_clear(&balls);
  arb_clear(distance);
  return worst;
}

static positions_spec spec_of(const char *kernel, int64_t n, int64_t d, positions_weights weights) {
  return (positions_spec){.kernel = kernel,
                          .heads_q = 1,
                          .heads_k = 1,
                          .nq = n,
                          .nk = n,
                          .d = d,
                          .dv = 3,
                          .dtype = ATTEST_FLOAT32,
                          .size = 0.3,
                          .weights = weights};
}

START_TEST(fft_form_stays_within_its_radius_of_softmax) {
  static const int64_t sizes[] = {1, 2, 17, 64, 257};
  static const char *const params[][4] = {
      {NULL}, {"causal", "top-left", NULL}, {"window", "20,5", NULL}, {"scale", "-3/4", NULL}};
  uint64_t seed = tests_seed();
  int64_t elements = 0, terms = 0;
  double worst[2] = {0};
  for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
    for (int kind = 0; kind < 4; kind++)
      for (int rotary = 0; rotary < 2; rotary++) {
        run r = {0};
        positions_spec s = spec_of(rotary ? "rope-softmax" : "toeplitz", sizes[n], 2,
                                   (positions_weights)(kind % 3));
        if (kind == 1) s.nk = sizes[n] + 7;
        memcpy(s.params, params[kind], sizeof params[kind]);
        run_open(&r, &s, &seed);
        for (int single = 0; single < 2; single++) {
          toeplitz_fft_options options = {.eps = single ? 1e-3 : 1e-7};
          run_form(&r, &options, single ? ATTEST_FLOAT32 : ATTEST_FLOAT64);
          worst[single] = fmax(worst[single], worst_ratio(&r, &elements));
          ck_assert_int_eq(r.report.recomputed, 0);
          terms += r.report.terms;
        }
        run_close(&r);
      }
  printf("FFT form: %lld elements, %lld terms, largest error/radius %.3f (double), %.3f (float)\n",
         (long long)elements, (long long)terms, worst[0], worst[1]);
  ck_assert_int_gt(elements, 12000);
  ck_assert_double_lt(worst[0], 1);
  ck_assert_double_lt(worst[1], 1);
  ck_assert_double_gt(worst[0], 1e-3);
}
END_TEST

/* The same with the token `from` and all later ones drawn anew. */
static void change_future(run *r, int64_t from, double size, uint64_t *seed) {
  int64_t d = r->p.problem->d, dv = r->p.problem->dv, n = r->p.problem->nk;
  float *k = r->p.memory[1], *v = r->p.memory[2];
  for (int64_t j = from; j < n; j++) {
    for (int64_t a = 0; a < d; a++)
      k[j * d + a] = (float)(0.1 * tests_uniform(seed));
    for (int64_t c = 0; c < dv; c++)
      v[j * dv + c] = (float)(size * tests_uniform(seed));
  }
}

/* Largest change of rows before `from` in an output of doubles. */
static double change_of_past(run *r, const toeplitz_fft_options *options, int64_t from, double size,
                             double *leak, uint64_t *seed) {
  run_form(r, options, ATTEST_FLOAT64);
  int64_t n = from * r->p.problem->dv;
  double *before = malloc((size_t)(n + 1) * sizeof *before), change = 0;
  memcpy(before, r->p.memory[5], (size_t)n * sizeof *before);
  *leak = r->report.leak;
  change_future(r, from, size, seed);
  run_form(r, options, ATTEST_FLOAT64);
  *leak += r->report.leak;
  for (int64_t i = 0; i < n; i++)
    change = fmax(change, fabs(((double *)r->p.memory[5])[i] - before[i]));
  free(before);
  return change;
}

/* A term x_1^a x_2^b of (x_1 + x_2)^t taken once instead of binom(t, a) times. */
static double without_multinomials(double x1, double x2) {
  double sum = 0, factorial = 1;
  for (int t = 0; t <= 12; t++) {
    if (t > 0) factorial *= t;
    for (int a = 0; a <= t; a++)
      sum += pow(x1, a) * pow(x2, t - a) / factorial;
  }
  return sum;
}

/* Attention whose weights are w(q_0 W_00 k_0, q_1 W_11 k_1), with W two diagonal elements. */
static void two_term_attention(run *r, int sound) {
  int64_t n = r->slice.nq;
  const float *q = r->p.memory[0], *k = r->p.memory[1], *v = r->p.memory[2];
  const double *w = r->p.memory[3];
  for (int64_t i = 0; i < n; i++) {
    double total = 0, sum[3] = {0};
    for (int64_t j = 0; j < n; j++) {
      const double *matrix = w + (i - j + n - 1) * 4;
      double x1 = (double)q[2 * i] * matrix[0] * (double)k[2 * j];
      double x2 = (double)q[2 * i + 1] * matrix[3] * (double)k[2 * j + 1];
      double weight = sound ? exp(x1 + x2) : without_multinomials(x1, x2);
      total += weight;
      for (int c = 0; c < 3; c++)
        sum[c] += weight * (double)v[3 * j + c];
    }
    for (int c = 0; c < 3; c++)
      tensor_store(&r->slice.out, i * r->slice.out.stride[0] + c, sum[c] / total);
  }
}

START_TEST(a_wrong_multinomial_is_refuted) {
  uint64_t seed = tests_seed();
  positions_spec s = spec_of("toeplitz", 24, 2, WEIGHTS_DENSE);
  s.size = 1;
  s.params[0] = "scale";
  s.params[1] = "1";
  run r = {0};
  run_open(&r, &s, &seed);
  double *w = r.p.memory[3];
  for (int64_t i = 0; i < 47; i++)
    w[4 * i + 1] = w[4 * i + 2] = 0;
  for (int sound = 0; sound < 2; sound++) {
    positions_run(&r.p, ATTEST_FLOAT32);
    problem_slice_get(&r.slice, r.p.problem, 0);
    two_term_attention(&r, sound);
    ck_assert_int_eq(positions_verdict(&r.p, "backward<=16"),
                     sound ? ATTEST_CERTIFIED : ATTEST_REFUTED);
  }
  run_close(&r);
}
END_TEST

/* 2^18 positions, one element of W: rows here and there against direct sums in double. */
START_TEST(quarter_of_a_million_positions) {
  enum { N = 1 << 18 };
  uint64_t seed = tests_seed();
  attest_error error;
  positions_spec s = spec_of("toeplitz", N, 2, WEIGHTS_ZERO);
  run r = {0};
  s.dv = 1;
  s.params[0] = "causal";
  s.params[1] = "top-left";
  run_open(&r, &s, &seed);
  double *w = r.p.memory[3];
  for (int64_t i = 0; i < 2 * N - 1; i++)
    w[4 * i + 1] = tests_uniform(&seed);
  toeplitz_fft_options options = {.eps = 1e-11};
  run_form(&r, &options, ATTEST_FLOAT64);
  ck_assert_int_eq(r.report.support, 1);
  ck_assert_int_eq(r.report.recomputed, 0);
  void *work;
  ck_assert_int_eq(toeplitz_enclose_open(&work, r.p.problem, &r.slice, WANT_OUT, &error),
                   ATTEST_OK);
  static const int64_t rows[] = {0, 1, 4095, 65536, 150001, N - 1};
  double worst = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double x, radius;
    unsigned char class;
    room_block block = {.row = rows[i],
                        .rows = 1,
                        .out = {.width = 1, .x = &x, .radius = &radius, .class = &class}};
    toeplitz_enclose_rows(&block, work, WANT_OUT);
    double allowed = r.radius[rows[i]] + radius + 0x1p-52 * fabs(x);
    worst = fmax(worst, fabs(element(&r, rows[i], 0) - x) / allowed);
  }
  toeplitz_enclose_close(work);
  printf("n = 2^18: %lld terms, %lld transforms, largest error/radius %.2g\n",
         (long long)r.report.terms, (long long)r.report.transforms, worst);
  ck_assert_double_lt(worst, 1);
  run_close(&r);
}
END_TEST

START_TEST(blocked_form_is_causal_bit_for_bit_and_one_transform_leaks_within_its_bound) {
  uint64_t seed = tests_seed();
  positions_spec s = spec_of("toeplitz", 300, 2, WEIGHTS_DENSE);
  s.params[0] = "causal";
  s.params[1] = "top-left";
  toeplitz_fft_options options[2] = {{.form = TOEPLITZ_BLOCKED_FORM, .b = 1, .eps = 1e-8},
                                     {.form = TOEPLITZ_FFT_FORM, .b = 1, .eps = 1e-8}};
  for (int form = 0; form < 2; form++) {
    run r = {0};
    double leak;
    int64_t elements = 0;
    run_open(&r, &s, &seed);
    double change = change_of_past(&r, &options[form], 131, 1e9, &leak, &seed);
    printf("causal %s: change of the past %g, leak at most %g\n", form ? "fft" : "blocked", change,
           leak);
    if (form == 0) ck_assert_double_eq(change, 0);
    if (form == 1) ck_assert_double_gt(change, 0);
    ck_assert_double_le(change, leak);
    if (form == 0) ck_assert_double_lt(worst_ratio(&r, &elements), 1);
    run_close(&r);
  }
}
END_TEST

START_TEST(rows_outside_the_range_or_with_open_denominators_are_computed_directly) {
  uint64_t seed = tests_seed();
  positions_spec s = spec_of("toeplitz", 60, 2, WEIGHTS_DENSE);
  run r = {0};
  int64_t elements = 0;
  s.size = 1;
  run_open(&r, &s, &seed);
  toeplitz_fft_options options = {.b = 3, .eps = 1e-3};
  run_form(&r, &options, ATTEST_FLOAT64);
  ck_assert_int_gt(r.report.recomputed, 0);
  ck_assert_int_lt(r.report.recomputed, 60);
  ck_assert_double_lt(worst_ratio(&r, &elements), 1);
  /* One key so large that in float nothing is left of the denominators of rows that do not see it.
   */
  ((float *)r.p.memory[1])[59 * 2] = 1e15f;
  ((float *)r.p.memory[1])[59 * 2 + 1] = 1e15f;
  ck_assert_int_eq(attest_problem_set(r.p.problem, "causal", "top-left", NULL), ATTEST_OK);
  options.eps = 1e-3;
  options.b = 8;
  run_form(&r, &options, ATTEST_FLOAT32);
  ck_assert_int_eq(r.report.recomputed, 60);
  ck_assert_double_lt(worst_ratio(&r, &elements), 1);
  run_close(&r);
}
END_TEST

/* Rotations are rounded to the format, and the Taylor kernel rounds: 40 units are far more than
 * both need with scores of order 1; the polynomial's part is proved. */
START_TEST(low_rank_form_stays_within_the_polynomials_error_of_softmax) {
  static const char *const params[][6] = {
      {NULL}, {"causal", "top-left", NULL}, {"causal", "bottom-right", "rope-pairs", "half", NULL}};
  uint64_t seed = tests_seed();
  attest_error error;
  for (int kind = 0; kind < 3; kind++)
    for (int wide = 0; wide < 2; wide++) {
      run r = {0};
      int64_t elements = 0;
      low_rank_report report;
      positions_spec s = spec_of("rope-softmax", 70, 4, WEIGHTS_DENSE);
      s.nk = kind == 2 ? 90 : 70;
      memcpy(s.params, params[kind], sizeof params[kind]);
      run_open(&r, &s, &seed);
      positions_run(&r.p, wide ? ATTEST_FLOAT64 : ATTEST_FLOAT32);
      problem_slice_get(&r.slice, r.p.problem, 0);
      double eps = wide ? 1e-12 : 1e-4;
      ck_assert_msg(toeplitz_low_rank(&r.slice.out, &report, r.p.problem, &r.slice, eps, &error) ==
                        ATTEST_OK,
                    "%s", error.message);
      ck_assert_double_le(report.eps, eps);
      ck_assert_int_eq(report.degree % 2, 0);
      for (int64_t i = 0; i < 70; i++)
        r.radius[i] = 4 * (2 * report.eps / (1 + sqrt(1 - report.eps * report.eps)) +
                           40 * (wide ? 0x1p-53 : 0x1p-24)); /* values are below 4 */
      double worst = worst_ratio(&r, &elements);
      ck_assert_double_lt(worst, 1);
      ck_assert_double_gt(worst, 1e-4);
      run_close(&r);
    }
}
END_TEST

START_TEST(problems_that_the_form_does_not_cover_are_refused) {
  uint64_t seed = tests_seed();
  attest_error error = {0};
  toeplitz_fft_report report;
  positions_spec s = spec_of("toeplitz", 9, 2, WEIGHTS_DENSE);
  s.mask = 1;
  run r = {0};
  run_open(&r, &s, &seed);
  positions_run(&r.p, ATTEST_FLOAT32);
  problem_slice_get(&r.slice, r.p.problem, 0);
  toeplitz_fft_options options = {0};
  ck_assert_int_ne(toeplitz_fft_attention(&report, NULL, r.p.problem, &r.slice, &options, &error),
                   ATTEST_OK);
  ck_assert_ptr_nonnull(strstr(error.message, "mask"));
  run_close(&r);
  s.mask = 0;
  s.size = 30;
  run_open(&r, &s, &seed);
  positions_run(&r.p, ATTEST_FLOAT32);
  problem_slice_get(&r.slice, r.p.problem, 0);
  ck_assert_int_ne(toeplitz_fft_attention(&report, NULL, r.p.problem, &r.slice, &options, &error),
                   ATTEST_OK);
  ck_assert_ptr_nonnull(strstr(error.message, "direct form"));
  options.b = 1;
  options.form = TOEPLITZ_BLOCKED_FORM;
  ck_assert_int_ne(toeplitz_fft_attention(&report, NULL, r.p.problem, &r.slice, &options, &error),
                   ATTEST_OK);
  ck_assert_ptr_nonnull(strstr(error.message, "causal"));
  run_close(&r);
}
END_TEST

void test_fft(Suite *suite) {
  TCase *tc = tcase_create("fft");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, fft_form_stays_within_its_radius_of_softmax);
  tcase_add_test(tc, a_wrong_multinomial_is_refuted);
  tcase_add_test(tc, quarter_of_a_million_positions);
  tcase_add_test(tc, blocked_form_is_causal_bit_for_bit_and_one_transform_leaks_within_its_bound);
  tcase_add_test(tc, rows_outside_the_range_or_with_open_denominators_are_computed_directly);
  tcase_add_test(tc, low_rank_form_stays_within_the_polynomials_error_of_softmax);
  tcase_add_test(tc, problems_that_the_form_does_not_cover_are_refused);
  suite_add_tcase(suite, tc);
}
