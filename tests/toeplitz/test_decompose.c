/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The decomposition of polynomials of Toeplitz scores: the walk, and equality over the rationals.
 */
#include "../../src/toeplitz/decompose.h"
#include "../tests.h"

START_TEST(the_walk_meets_every_multi_index_once_with_its_multinomial) {
  fmpz_t count, sum, power;
  fmpz_t multinomial[TOEPLITZ_DEGREE_MAX + 1];
  fmpz_init(count);
  fmpz_init(sum);
  fmpz_init(power);
  for (int l = 0; l <= TOEPLITZ_DEGREE_MAX; l++)
    fmpz_init(multinomial[l]);
  for (int64_t support = 0; support <= 6; support++)
    for (int64_t degree = 0; degree <= 6; degree++) {
      toeplitz_walk walk;
      int64_t terms = 0, by_level[8] = {0};
      fmpz_zero(sum);
      fmpz_one(multinomial[0]);
      toeplitz_walk_start(&walk, support, degree);
      do {
        int64_t l = walk.level;
        if (l > 0) toeplitz_walk_multinomial(multinomial[l], multinomial[l - 1], &walk);
        for (int64_t i = 1; i < l; i++)
          ck_assert_int_le(walk.chain[i - 1], walk.chain[i]);
        if (l == degree) fmpz_add(sum, sum, multinomial[l]);
        by_level[l]++;
        terms++;
      } while (toeplitz_walk_next(&walk));
      toeplitz_term_count(count, support, degree);
      ck_assert(fmpz_equal_si(count, terms));
      /* At ones: the sum of all multinomials of one degree is support^degree. */
      fmpz_set_si(power, support);
      fmpz_pow_ui(power, power, (ulong)degree);
      ck_assert(fmpz_equal(power, sum));
    }
  fmpz_clear(count);
  fmpz_clear(sum);
  fmpz_clear(power);
  for (int l = 0; l <= TOEPLITZ_DEGREE_MAX; l++)
    fmpz_clear(multinomial[l]);
}
END_TEST

START_TEST(term_counts_are_binomials) {
  static const int64_t cases[][3] = {
      {4, 6, 210}, {8, 7, 6435}, {0, 5, 1}, {5, 0, 1}, {16, 4, 4845}};
  fmpz_t count;
  fmpz_init(count);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    toeplitz_term_count(count, cases[i][0], cases[i][1]);
    ck_assert(fmpz_equal_si(count, cases[i][2]));
  }
  fmpz_clear(count);
}
END_TEST

static void draw(fmpq *x, int64_t n, uint64_t *seed) {
  for (int64_t i = 0; i < n; i++)
    fmpq_set_si(x + i, (slong)(tests_random(seed) % 19) - 9, 1 + tests_random(seed) % 5);
}

/* Rows x cols of a random problem whose W has `support` elements. */
static void compare(int64_t rows, int64_t cols, int64_t support, int64_t degree, uint64_t *seed) {
  enum { D = 3, WIDTH = 2 };
  static const int64_t a[] = {0, 0, 1, 2, 2}, b[] = {0, 1, 1, 0, 2};
  int64_t length = rows + cols - 1;
  fmpq *q = _fmpq_vec_init(rows * D), *k = _fmpq_vec_init(cols * D);
  fmpq *v = _fmpq_vec_init(cols * WIDTH), *mask = _fmpq_vec_init(length);
  fmpq *out = _fmpq_vec_init(2 * rows * WIDTH), *symbol[5];
  fmpq_poly_t p;
  fmpq_t factor;
  fmpq_poly_init(p);
  fmpq_init(factor);
  draw(q, rows * D, seed);
  draw(k, cols * D, seed);
  draw(v, cols * WIDTH, seed);
  toeplitz_mask_fmpq(mask, rows, cols, support % 2 ? 0 : -cols, rows);
  for (int64_t s = 0; s < 5; s++) {
    symbol[s] = _fmpq_vec_init(length);
    draw(symbol[s], length, seed);
  }
  for (int64_t t = 0; t <= degree; t++)
    fmpq_poly_set_coeff_si(p, t, 1 + (slong)(tests_random(seed) % 7));
  fmpq_set_si(factor, -2, 3);
  decompose_problem problem = {rows, cols, D, WIDTH, support, a, b, q, k, v, symbol, mask};
  int64_t terms = decompose_attention_fmpq(out, &problem, p, factor);
  decompose_dense_fmpq(out + rows * WIDTH, &problem, p, factor);
  fmpz_t count;
  fmpz_init(count);
  toeplitz_term_count(count, support, degree);
  ck_assert(fmpz_equal_si(count, terms));
  for (int64_t i = 0; i < rows * WIDTH; i++)
    ck_assert(fmpq_equal(out + i, out + rows * WIDTH + i));
  fmpz_clear(count);
  _fmpq_vec_clear(q, rows * D);
  _fmpq_vec_clear(k, cols * D);
  _fmpq_vec_clear(v, cols * WIDTH);
  _fmpq_vec_clear(mask, length);
  _fmpq_vec_clear(out, 2 * rows * WIDTH);
  for (int64_t s = 0; s < 5; s++)
    _fmpq_vec_clear(symbol[s], length);
  fmpq_poly_clear(p);
  fmpq_clear(factor);
}

START_TEST(decomposed_attention_equals_dense_sums_over_the_rationals) {
  uint64_t seed = tests_seed();
  compare(1, 1, 3, 4, &seed);
  compare(5, 5, 5, 3, &seed);
  compare(7, 7, 4, 4, &seed);
  compare(4, 9, 2, 5, &seed);
  compare(6, 3, 1, 6, &seed);
  compare(3, 3, 0, 2, &seed);
  compare(5, 5, 2, 0, &seed);
}
END_TEST

void test_decompose(Suite *suite) {
  TCase *tc = tcase_create("decompose");
  tcase_set_timeout(tc, 30);
  tcase_add_test(tc, the_walk_meets_every_multi_index_once_with_its_multinomial);
  tcase_add_test(tc, term_counts_are_binomials);
  tcase_add_test(tc, decomposed_attention_equals_dense_sums_over_the_rationals);
  suite_add_tcase(suite, tc);
}
