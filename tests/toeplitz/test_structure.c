/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Circulant, Toeplitz and rescaled Toeplitz products against dense sums of the definition. */
#include <math.h>

#include "../../src/toeplitz/structure.h"
#include "../tests.h"

#include <flint/fmpq_vec.h>

static const int64_t shapes[][2] = {{1, 1}, {1, 7}, {6, 1},  {2, 2},
                                    {5, 5}, {8, 3}, {3, 17}, {33, 32}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* ---- dense sums ---- */

static void dense_product(fmpq *y, const fmpq *symbol, const fmpq *x, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; i++) {
    fmpq_zero(y + i);
    for (int64_t j = 0; j < cols; j++)
      fmpq_addmul(y + i, symbol + (i - j + cols - 1), x + j);
  }
}

static void random_rationals(fmpq *x, int64_t n, uint64_t *seed) {
  for (int64_t i = 0; i < n; i++)
    fmpq_set_si(x + i, (slong)(tests_random(seed) % 41) - 20, 1 + tests_random(seed) % 9);
}

typedef struct {
  int64_t rows, cols, length;
  fmpq *left, *symbol, *right, *x, *y, *expected;
} dense;

static void dense_open(dense *m, int64_t rows, int64_t cols, uint64_t *seed) {
  *m = (dense){.rows = rows, .cols = cols, .length = rows + cols - 1};
  m->left = _fmpq_vec_init(rows);
  m->symbol = _fmpq_vec_init(m->length);
  m->right = _fmpq_vec_init(cols);
  m->x = _fmpq_vec_init(cols);
  m->y = _fmpq_vec_init(rows);
  m->expected = _fmpq_vec_init(rows);
  random_rationals(m->left, rows, seed);
  random_rationals(m->symbol, m->length, seed);
  random_rationals(m->right, cols, seed);
  random_rationals(m->x, cols, seed);
}

static void dense_close(dense *m) {
  _fmpq_vec_clear(m->left, m->rows);
  _fmpq_vec_clear(m->symbol, m->length);
  _fmpq_vec_clear(m->right, m->cols);
  _fmpq_vec_clear(m->x, m->cols);
  _fmpq_vec_clear(m->y, m->rows);
  _fmpq_vec_clear(m->expected, m->rows);
}

/* ---- exact ---- */

START_TEST(rational_products_are_the_dense_sums) {
  uint64_t seed = tests_seed();
  for (int s = 0; s < SHAPES; s++) {
    dense m;
    dense_open(&m, shapes[s][0], shapes[s][1], &seed);
    toeplitz_product_fmpq(m.y, m.symbol, m.x, m.rows, m.cols);
    dense_product(m.expected, m.symbol, m.x, m.rows, m.cols);
    for (int64_t i = 0; i < m.rows; i++)
      ck_assert(fmpq_equal(m.y + i, m.expected + i));
    dense_close(&m);
  }
}
END_TEST

START_TEST(circulant_has_the_indices_of_its_definition) {
  uint64_t seed = tests_seed();
  for (int64_t n = 1; n < 12; n++) {
    dense m;
    dense_open(&m, n, n, &seed);
    toeplitz_circulant_fmpq(m.symbol, m.left, n);
    toeplitz_product_fmpq(m.y, m.symbol, m.x, n, n);
    for (int64_t i = 0; i < n; i++) {
      fmpq_zero(m.expected + i);
      for (int64_t j = 0; j < n; j++)
        fmpq_addmul(m.expected + i, m.left + (i - j + n) % n, m.x + j);
      ck_assert(fmpq_equal(m.y + i, m.expected + i));
    }
    dense_close(&m);
  }
}
END_TEST

/* Entry (i, j) of the entrywise product, and one product for a chain of three factors, one of them
 * a window mask. */
START_TEST(chains_of_factors_merge_into_one_rescaled_toeplitz_matrix) {
  uint64_t seed = tests_seed();
  for (int s = 0; s < SHAPES; s++) {
    dense a, b, mask;
    dense_open(&a, shapes[s][0], shapes[s][1], &seed);
    dense_open(&b, a.rows, a.cols, &seed);
    dense_open(&mask, a.rows, a.cols, &seed);
    toeplitz_mask_fmpq(mask.symbol, a.rows, a.cols, -1, 4);
    fmpq_t entry;
    fmpq_init(entry);
    for (int64_t i = 0; i < a.rows; i++) {
      fmpq_zero(a.expected + i);
      for (int64_t j = 0; j < a.cols; j++) {
        if (i - j < -1 || i - j > 4) continue;
        int64_t p = i - j + a.cols - 1;
        fmpq_mul(entry, a.left + i, a.symbol + p);
        fmpq_mul(entry, entry, a.right + j);
        fmpq_mul(entry, entry, b.left + i);
        fmpq_mul(entry, entry, b.symbol + p);
        fmpq_mul(entry, entry, b.right + j);
        fmpq_mul(entry, entry, mask.left + i);
        fmpq_mul(entry, entry, mask.right + j);
        fmpq_addmul(a.expected + i, entry, a.x + j);
      }
    }
    toeplitz_rescaled_fmpq chain = {a.rows, a.cols, a.left, a.symbol, a.right};
    toeplitz_rescaled_fmpq second = {b.rows, b.cols, b.left, b.symbol, b.right};
    toeplitz_rescaled_fmpq third = {a.rows, a.cols, mask.left, mask.symbol, mask.right};
    toeplitz_hadamard_fmpq(&chain, &second);
    toeplitz_hadamard_fmpq(&chain, &third);
    toeplitz_rescaled_product_fmpq(a.y, &chain, a.x);
    for (int64_t i = 0; i < a.rows; i++)
      ck_assert(fmpq_equal(a.y + i, a.expected + i));
    fmpq_clear(entry);
    dense_close(&a);
    dense_close(&b);
    dense_close(&mask);
  }
}
END_TEST

START_TEST(products_of_balls_contain_the_exact_products) {
  uint64_t seed = tests_seed();
  for (int s = 0; s < SHAPES; s++) {
    dense m;
    dense_open(&m, shapes[s][0], shapes[s][1], &seed);
    arb_ptr v = _arb_vec_init(2 * (m.rows + m.cols) + m.length + m.rows);
    toeplitz_rescaled_arb a = {m.rows, m.cols, v, v + m.rows, v + m.rows + m.length};
    arb_ptr x = a.right + m.cols, y = x + m.cols;
    for (int64_t i = 0; i < m.rows; i++)
      arb_set_fmpq(a.left + i, m.left + i, 100);
    for (int64_t p = 0; p < m.length; p++)
      arb_set_fmpq(a.symbol + p, m.symbol + p, 100);
    for (int64_t j = 0; j < m.cols; j++) {
      arb_set_fmpq(a.right + j, m.right + j, 100);
      arb_set_fmpq(x + j, m.x + j, 100);
    }
    toeplitz_rescaled_fmpq exact = {m.rows, m.cols, m.left, m.symbol, m.right};
    toeplitz_hadamard_arb(&a, &a, 100);
    toeplitz_hadamard_fmpq(&exact, &exact);
    toeplitz_rescaled_product_arb(y, &a, x, 100);
    toeplitz_rescaled_product_fmpq(m.y, &exact, m.x);
    for (int64_t i = 0; i < m.rows; i++) {
      ck_assert(arb_contains_fmpq(y + i, m.y + i));
      ck_assert_int_gt(arb_rel_accuracy_bits(y + i), 60);
    }
    _arb_vec_clear(v, 2 * (m.rows + m.cols) + m.length + m.rows);
    dense_close(&m);
  }
}
END_TEST

/* ---- FFTW ---- */

static double norm(const double *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += x[i] * x[i];
  return sqrt(sum);
}

/* The largest |y - T x| over e |a|_2 |x|_2, T x summed in balls. */
static double error_over_bound(const double *y, const double *symbol, const double *x, int64_t rows,
                               int64_t cols, double e) {
  arb_ptr a = _arb_vec_init(rows + cols - 1), b = _arb_vec_init(cols), c = _arb_vec_init(rows);
  for (int64_t p = 0; p < rows + cols - 1; p++)
    arb_set_d(a + p, symbol[p]);
  for (int64_t j = 0; j < cols; j++)
    arb_set_d(b + j, x[j]);
  toeplitz_product_arb(c, a, b, rows, cols, 200);
  double worst = 0, bound = e * norm(symbol, rows + cols - 1) * norm(x, cols);
  arb_t d;
  arb_init(d);
  for (int64_t i = 0; i < rows; i++) {
    arb_set_d(d, y[i]);
    arb_sub(d, d, c + i, 200);
    worst = fmax(worst, fmax(fabs(enclosure_upper(d)), fabs(enclosure_lower(d))) / bound);
  }
  arb_clear(d);
  _arb_vec_clear(a, rows + cols - 1);
  _arb_vec_clear(b, cols);
  _arb_vec_clear(c, rows);
  return worst;
}

/* Values of very different size, where cancellation is worst. */
static double draw(uint64_t *seed, int kind) {
  double x = 2 * tests_uniform(seed) - 1;
  return kind == 0 ? x : kind == 1 ? fabs(x) : ldexp(x, (int)(tests_random(seed) % 30) - 15);
}

#define FFT_TEST(real, suffix, unit)                                                               \
  static double worst_##suffix(int64_t rows, int64_t cols, int kind, uint64_t *seed) {             \
    attest_error error;                                                                            \
    int64_t length = rows + cols - 1;                                                              \
    real *v = calloc((size_t)(2 * rows + length + 2 * cols), sizeof *v);                           \
    double *wide = calloc((size_t)(length + cols + rows), sizeof *wide);                           \
    toeplitz_rescaled_##suffix m = {rows, cols, v, v + rows, v + rows + length};                   \
    real *x = m.right + cols, *y = x + cols;                                                       \
    for (int64_t i = 0; i < rows; i++)                                                             \
      m.left[i] = 1;                                                                               \
    for (int64_t p = 0; p < length; p++)                                                           \
      wide[p] = m.symbol[p] = (real)draw(seed, kind);                                              \
    for (int64_t j = 0; j < cols; j++) {                                                           \
      m.right[j] = 1;                                                                              \
      wide[length + j] = x[j] = (real)draw(seed, kind);                                            \
    }                                                                                              \
    ck_assert_int_eq(toeplitz_rescaled_product_##suffix(y, &m, x, &error), ATTEST_OK);             \
    for (int64_t i = 0; i < rows; i++)                                                             \
      wide[length + cols + i] = y[i];                                                              \
    double e = toeplitz_fft_error(toeplitz_fft_size(rows, cols), unit);                            \
    double worst = error_over_bound(wide + length + cols, wide, wide + length, rows, cols, e);     \
    free(v);                                                                                       \
    free(wide);                                                                                    \
    return worst;                                                                                  \
  }
FFT_TEST(double, f64, 0x1p-53)
FFT_TEST(float, f32, 0x1p-24)

START_TEST(transforms_stay_within_their_bound) {
  static const int64_t sizes[][2] = {{1, 1},     {2, 2},       {7, 5},      {64, 64},
                                     {100, 301}, {1024, 1024}, {2500, 2500}};
  uint64_t seed = tests_seed();
  double worst[2] = {0};
  int64_t elements = 0;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int kind = 0; kind < 3; kind++, elements += 2 * sizes[s][0]) {
      worst[0] = fmax(worst[0], worst_f64(sizes[s][0], sizes[s][1], kind, &seed));
      worst[1] = fmax(worst[1], worst_f32(sizes[s][0], sizes[s][1], kind, &seed));
    }
  printf("structured products: %lld elements, largest error/bound %.4f (double), %.4f (float)\n",
         (long long)elements, worst[0], worst[1]);
  ck_assert_double_lt(worst[0], 1);
  ck_assert_double_lt(worst[1], 1);
  ck_assert_double_gt(worst[0], 1e-3);
  ck_assert_double_gt(worst[1], 1e-3);
}
END_TEST

/* A product whose transforms go wrong in one place, on a Toeplitz matrix of ones and a drawn x:
 * its error in units of the bound. */
typedef enum { SOUND, NO_PADDING, SCALE, REVERSED, WRAPPED } mutant;
static double mutant_error(mutant kind) {
  enum { N = 96 };
  attest_error error;
  toeplitz_fft_f64 fft;
  toeplitz_work_f64 work;
  uint64_t seed = tests_seed();
  double symbol[2 * N - 1], used[2 * N - 1], x[N];
  for (int p = 0; p < 2 * N - 1; p++)
    symbol[p] = draw(&seed, 0);
  for (int j = 0; j < N; j++)
    x[j] = draw(&seed, 0);
  for (int p = 0; p < 2 * N - 1; p++)
    used[p] = kind == REVERSED  ? symbol[2 * N - 2 - p]
              : kind == SCALE   ? 2 * symbol[p]
              : kind == WRAPPED ? symbol[p >= N ? p - N : p]
                                : symbol[p];
  /* Without padding the circulant is too small for both ends of the symbol. */
  ck_assert_int_eq(toeplitz_fft_open_f64(&fft, N, kind == NO_PADDING ? 1 : N, &error), ATTEST_OK);
  ck_assert_int_eq(toeplitz_work_open_f64(&work, 2 * fft.size, &error), ATTEST_OK);
  double *spectrum = toeplitz_spectrum_new_f64(2 * fft.size);
  toeplitz_spectrum_f64(spectrum, &fft, kind == NO_PADDING ? used + N - 1 : used, &work);
  fft.cols = N;
  toeplitz_apply_f64(&fft, spectrum, NULL, x, &work);
  double worst =
      error_over_bound(work.real_part, symbol, x, N, N, toeplitz_fft_error(fft.size, 0x1p-53));
  toeplitz_spectrum_free_f64(spectrum);
  toeplitz_work_close_f64(&work);
  return worst;
}

START_TEST(missing_padding_scale_reversal_and_wrap_break_the_bound) {
  ck_assert_double_lt(mutant_error(SOUND), 1);
  ck_assert_double_gt(mutant_error(NO_PADDING), 1e6);
  ck_assert_double_gt(mutant_error(SCALE), 1e6);
  ck_assert_double_gt(mutant_error(REVERSED), 1e6);
  ck_assert_double_gt(mutant_error(WRAPPED), 1e6);
}
END_TEST

void test_structure(Suite *suite) {
  TCase *tc = tcase_create("structure");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, rational_products_are_the_dense_sums);
  tcase_add_test(tc, circulant_has_the_indices_of_its_definition);
  tcase_add_test(tc, chains_of_factors_merge_into_one_rescaled_toeplitz_matrix);
  tcase_add_test(tc, products_of_balls_contain_the_exact_products);
  tcase_add_test(tc, transforms_stay_within_their_bound);
  tcase_add_test(tc, missing_padding_scale_reversal_and_wrap_break_the_bound);
  suite_add_tcase(suite, tc);
}
