/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The exponential kernels against MPFR. */
#include <float.h>
#include <math.h>
#include <mpfr.h>

#include "../../src/enclosure/exp.h"
#include "../../src/tensor/isa.h"
#include "../tests.h"

typedef int mpfr_function(mpfr_t, const mpfr_t, mpfr_rnd_t);

/* |y / f(x) - 1| in units of 2^-p. */
static double error_of(double y, double x, mpfr_function *f, int precision) {
  mpfr_t exact;
  mpfr_init2(exact, 160);
  mpfr_set_d(exact, x, MPFR_RNDN);
  f(exact, exact, MPFR_RNDN);
  mpfr_d_div(exact, y, exact, MPFR_RNDN);
  mpfr_sub_ui(exact, exact, 1, MPFR_RNDN);
  double error = fabs(ldexp(mpfr_get_d(exact, MPFR_RNDN), precision));
  mpfr_clear(exact);
  return error;
}

static double wide(uint64_t *seed, double low, double high) {
  return low + (high - low) * tests_uniform(seed);
}

START_TEST(exp64_stays_within_its_error) {
  uint64_t seed = tests_seed();
  double worst = 0, y;
  for (int i = 0; i < 100000; i++) {
    double x = i % 3 ? wide(&seed, -2, 2) : wide(&seed, EXP64_MIN, EXP64_MAX);
    exp64_array(&y, &x, 1);
    worst = fmax(worst, error_of(y, x, mpfr_exp, 53));
  }
  printf("exp64: largest error %.4f u, claimed %.1f u\n", worst, EXP64_ERROR);
  ck_assert_double_le(worst, EXP64_ERROR);
  ck_assert_double_gt(worst, 0.5 * EXP64_ERROR);
}
END_TEST

START_TEST(exp32_stays_within_its_error) {
  uint64_t seed = tests_seed();
  double worst = 0;
  for (int i = 0; i < 100000; i++) {
    float y, x = (float)(i % 3 ? wide(&seed, -2, 2) : wide(&seed, EXP32_MIN, EXP32_MAX));
    exp32_array(&y, &x, 1);
    worst = fmax(worst, error_of(y, x, mpfr_exp, 24));
  }
  printf("exp32: largest error %.4f u, claimed %.1f u\n", worst, EXP32_ERROR);
  ck_assert_double_le(worst, EXP32_ERROR);
  ck_assert_double_gt(worst, 0.5 * EXP32_ERROR);
}
END_TEST

START_TEST(exponentials_of_edges) {
  float x[] = {0, -0.0f, EXP32_MIN, nextafterf(EXP32_MIN, -INFINITY), -INFINITY, -1e30f}, y[6];
  exp32_array(y, x, 6);
  ck_assert(y[0] == 1 && y[1] == 1 && y[2] > 0 && y[3] == 0 && y[4] == 0 && y[5] == 0);
  double a[] = {0, -0.0, EXP64_MIN, nextafter(EXP64_MIN, -INFINITY), -INFINITY, -1e300}, b[6];
  exp64_array(b, a, 6);
  ck_assert(b[0] == 1 && b[1] == 1 && b[2] > 0 && b[3] == 0 && b[4] == 0 && b[5] == 0);
}
END_TEST

START_TEST(tanh_stays_within_its_error) {
  uint64_t seed = tests_seed();
  double worst = 0, y;
  float yf;
  for (int i = 0; i < 60000; i++) {
    double x = ldexp(wide(&seed, -1, 1), 5 - (int)(tests_random(&seed) % 60));
    float xf = (float)x;
    tanh64_array(&y, &x, 1);
    tanh32_array(&yf, &xf, 1);
    worst = fmax(worst, fmax(error_of(y, x, mpfr_tanh, 53), error_of(yf, xf, mpfr_tanh, 24)));
  }
  printf("tanh: largest error %.4f u, claimed 12 u\n", worst);
  ck_assert_double_le(worst, 12);
}
END_TEST

START_TEST(log64_stays_within_its_error) {
  uint64_t seed = tests_seed();
  double worst = 0;
  for (int i = 0; i < 100000; i++) {
    double x = i % 2 ? 1 + ldexp(wide(&seed, -1, 1), -(int)(tests_random(&seed) % 50))
                     : ldexp(1 + tests_uniform(&seed), (int)(tests_random(&seed) % 2000) - 1000);
    mpfr_t exact;
    mpfr_init2(exact, 160);
    mpfr_set_d(exact, x, MPFR_RNDN);
    mpfr_log(exact, exact, MPFR_RNDN);
    mpfr_sub_d(exact, exact, log64(x), MPFR_RNDN);
    double off = fabs(mpfr_get_d(exact, MPFR_RNDN)) / (0x1p-51 * (1 + fabs(log64(x))));
    mpfr_clear(exact);
    worst = fmax(worst, off);
  }
  printf("log64: largest error %.4f of its bound\n", worst);
  ck_assert_double_lt(worst, 1);
  ck_assert_double_gt(worst, 0.1);
}
END_TEST

#if defined(__x86_64__)
ISA_DECLARE(void, exp32_array, (float *y, const float *x, size_t n));
ISA_DECLARE(void, exp64_array, (double *y, const double *x, size_t n));

START_TEST(exponentials_give_the_same_bits_on_every_instruction_set) {
  enum { N = 1000 };
  void (*const e32[])(float *, const float *, size_t) = {exp32_array_baseline, exp32_array_avx2,
                                                         exp32_array_avx512};
  void (*const e64[])(double *, const double *, size_t) = {exp64_array_baseline, exp64_array_avx2,
                                                           exp64_array_avx512};
  uint64_t seed = tests_seed();
  static float x[N], y[2][N];
  static double a[N], b[2][N];
  for (int i = 0; i < N; i++)
    x[i] = (float)(a[i] = wide(&seed, -100, 88));
  e32[0](y[0], x, N);
  e64[0](b[0], a, N);
  for (int level = 1; level <= (int)isa_chosen(); level++) {
    e32[level](y[1], x, N);
    e64[level](b[1], a, N);
    ck_assert_int_eq(memcmp(y[0], y[1], sizeof y[0]), 0);
    ck_assert_int_eq(memcmp(b[0], b[1], sizeof b[0]), 0);
  }
}
END_TEST
#endif

void test_exp(Suite *suite) {
  TCase *tc = tcase_create("exp");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, exp64_stays_within_its_error);
  tcase_add_test(tc, exp32_stays_within_its_error);
  tcase_add_test(tc, exponentials_of_edges);
  tcase_add_test(tc, tanh_stays_within_its_error);
  tcase_add_test(tc, log64_stays_within_its_error);
#if defined(__x86_64__)
  tcase_add_test(tc, exponentials_give_the_same_bits_on_every_instruction_set);
#endif
  suite_add_tcase(suite, tc);
}
