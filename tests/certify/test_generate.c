/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Generators of plans: what each promises about the numbers, in every type and layout. */
#include <math.h>
#include <string.h>

#include "../../src/certify/generate.h"
#include "../tests.h"

static const attest_dtype types[] = {ATTEST_FLOAT16, ATTEST_BFLOAT16, ATTEST_FLOAT32,
                                     ATTEST_FLOAT64};

static generated make(const char *name, uint64_t seed, const generate_sizes *sizes,
                      attest_dtype dtype, const char *layout) {
  generated g;
  attest_error error = {0};
  attest_status status =
      generate_inputs(&g, generate_find(name), seed, sizes, dtype, layout, "data", &error);
  ck_assert_msg(!status, "%s: %s", name, error.message);
  return g;
}

static double at(const attest_tensor *t, int64_t i, int64_t c) {
  return tensor_at(t, i * t->stride[0] + c * t->stride[1]);
}

/* In integers: the sum of the first n values is n times a small whole number, and it is another one
 * than before in some component, so that a kernel which drops the last key is wrong there. */
START_TEST(rational_means_are_whole_and_move_with_every_key) {
  enum { WIDTH = 64 };
  const generate_sizes sizes = {1, 1, 1, 4, 4096, 8, WIDTH};
  generated g = make("rational", (uint64_t)_i + 1, &sizes, types[_i], "nd");
  static const int64_t most[] = {3, 31, 1, 1};
  int64_t largest = most[_i], sum[WIDTH] = {0}, mean[WIDTH] = {0};
  for (int64_t n = 1; n <= 4096; n++) {
    int changes = 0, whole = 1; /* asserted once a key: each assertion is a system call */
    for (int64_t c = 0; c < WIDTH; c++) {
      double value = at(&g.v, n - 1, c);
      sum[c] += (int64_t)value;
      whole &= value == rint(value) && sum[c] % n == 0 && sum[c] >= 0 && sum[c] <= largest * n;
      changes += sum[c] / n != mean[c];
      mean[c] = sum[c] / n;
    }
    ck_assert_msg(whole, "the mean of %lld values", (long long)n);
    ck_assert_msg(n == 1 || changes > 0, "key %lld changes nothing", (long long)n);
  }
  int same = 1;
  for (int64_t j = 1; j < 4096; j++)
    for (int64_t c = 0; c < 8; c++)
      same &= at(&g.k, j, c) == at(&g.k, 0, c);
  ck_assert(same);
  generate_clear(&g);
}
END_TEST

START_TEST(each_generator_keeps_its_promise) {
  const generate_sizes sizes = {1, 1, 1, 40, 40, 16, 16};
  generated g = make("sphere", 1, &sizes, ATTEST_FLOAT64, "nd");
  for (int64_t i = 0; i < 40; i++) {
    double square = 0;
    for (int64_t c = 0; c < 16; c++)
      square += at(&g.k, i, c) * at(&g.k, i, c);
    ck_assert_double_eq_tol(square, 1, 1e-14);
  }
  generate_clear(&g);
  g = make("ties", 1, &sizes, ATTEST_FLOAT32, "nd");
  for (int64_t j = 4; j < 40; j++)
    ck_assert_double_eq(at(&g.k, j, 3), at(&g.k, j - 4, 3));
  ck_assert_double_ne(at(&g.k, 1, 3), at(&g.k, 0, 3));
  generate_clear(&g);
  g = make("cancelling", 1, &sizes, ATTEST_FLOAT32, "nd");
  for (int64_t j = 0; j < 40; j += 2) {
    ck_assert_double_eq(at(&g.k, j, 5), at(&g.k, j + 1, 5));
    ck_assert_double_le(fabs(at(&g.v, j, 5) + at(&g.v, j + 1, 5)), 1e-4 * fabs(at(&g.v, j, 5)));
  }
  generate_clear(&g);
  for (size_t i = 0; i < 4; i++) {
    g = make("denormal", 1, &sizes, types[i], "nd");
    int subnormal = 0;
    for (int64_t j = 0; j < 40; j++) {
      double limit = ldexp(1, tensor_dtype_format(types[i])->emin), x = fabs(at(&g.v, j, 0));
      subnormal += x > 0 && x < limit;
    }
    ck_assert_int_gt(subnormal, 30);
    generate_clear(&g);
  }
}
END_TEST

/* The same numbers wherever their axes stand, other numbers for another seed. */
START_TEST(layouts_hold_the_same_numbers) {
  const generate_sizes sizes = {2, 4, 2, 3, 5, 6, 7};
  generated a = make("gaussian", 9, &sizes, ATTEST_FLOAT32, "bhnd");
  generated b = make("gaussian", 9, &sizes, ATTEST_FLOAT32, "sbhd");
  generated c = make("gaussian", 10, &sizes, ATTEST_FLOAT32, "bhnd");
  int differ = 0;
  for (int64_t s = 0; s < 2; s++)
    for (int64_t h = 0; h < 2; h++)
      for (int64_t n = 0; n < 5; n++)
        for (int64_t x = 0; x < 7; x++) {
          double value = tensor_at(&a.v, ((s * 2 + h) * 5 + n) * 7 + x);
          ck_assert_double_eq(value, tensor_at(&b.v, ((n * 2 + s) * 2 + h) * 7 + x));
          differ += value != tensor_at(&c.v, ((s * 2 + h) * 5 + n) * 7 + x);
        }
  ck_assert_int_gt(differ, 130);
  ck_assert_int_eq(a.q.shape[1], 4);
  ck_assert_int_eq(b.q.shape[0], 3);
  generate_clear(&a);
  generate_clear(&b);
  generate_clear(&c);
  attest_error error;
  ck_assert_int_eq(generate_inputs(&a, 0, 1, &sizes, ATTEST_FLOAT32, "hnd", NULL, &error),
                   ATTEST_ERR_SUPPORT);
  ck_assert_ptr_nonnull(strstr(error.message, "layout hnd"));
  generate_clear(&a);
}
END_TEST

void test_generate(Suite *suite) {
  TCase *c = tcase_create("generators");
  tcase_add_loop_test(c, rational_means_are_whole_and_move_with_every_key, 0, 4);
  tcase_add_test(c, each_generator_keeps_its_promise);
  tcase_add_test(c, layouts_hold_the_same_numbers);
  suite_add_tcase(suite, c);
}
