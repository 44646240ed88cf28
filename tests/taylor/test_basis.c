/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The monomial basis: sizes, order, weights, and the multinomial theorem in integers. */
#include "../../src/taylor/basis.h"

#include "../tests.h"

static taylor_basis *open_basis(int64_t d, int64_t degree) {
  taylor_basis *basis;
  attest_error error;
  ck_assert_msg(taylor_basis_open(&basis, d, degree, &error) == ATTEST_OK, "%s", error.message);
  return basis;
}

/* Pascal's triangle, and the edges of 63 bits: binom(66, 33) fits, binom(67, 33) does not. */
START_TEST(binomials_follow_pascal_and_refuse_overflow) {
  int64_t a, b, c;
  for (int64_t n = 1; n <= 62; n++)
    for (int64_t k = 1; k <= n; k++) {
      ck_assert_int_eq(taylor_binomial(&a, n, k), 0);
      ck_assert_int_eq(taylor_binomial(&b, n - 1, k - 1), 0);
      ck_assert_int_eq(taylor_binomial(&c, n - 1, k), 0);
      ck_assert_int_eq(a, b + c);
    }
  ck_assert_int_eq(taylor_binomial(&a, 66, 33), 0);
  ck_assert_int_eq(a, 7219428434016265740);
  ck_assert_int_eq(taylor_binomial(&a, 67, 33), -1);
  ck_assert_int_eq(taylor_binomial(&a, INT64_MAX, 1), 0);
  ck_assert_int_eq(a, INT64_MAX);
  ck_assert_int_eq(taylor_binomial(&a, INT64_MAX, 2), -1);
  ck_assert_int_eq(taylor_basis_size(&a, INT64_MAX, 1), -1);
  ck_assert_int_eq(taylor_basis_size(&a, 16, 2), 0);
  ck_assert_int_eq(a, 153);
  ck_assert_int_eq(taylor_tensor_size(&a, 16, 2), 0);
  ck_assert_int_eq(a, 273);
  ck_assert_int_eq(taylor_tensor_size(&a, 10, 19), -1);
}
END_TEST

/* Lexicographic successor of a sorted tuple; 0 at the end. */
static int successor(int64_t tuple[], int64_t m, int64_t d) {
  int64_t i = m - 1;
  while (i >= 0 && tuple[i] == d - 1)
    i--;
  if (i < 0) return 0;
  int64_t next = tuple[i] + 1;
  for (; i < m; i++)
    tuple[i] = next;
  return 1;
}

static int64_t factorial(int64_t n) {
  return n < 2 ? 1 : n * factorial(n - 1);
}

/* m! / beta! of a sorted tuple from its definition. */
static int64_t orderings(const int64_t tuple[], int64_t m) {
  int64_t result = factorial(m), run = 1;
  for (int64_t i = 1; i <= m; i++, run++)
    if (i == m || tuple[i] != tuple[i - 1]) {
      result /= factorial(run);
      run = 0;
    }
  return result;
}

START_TEST(tuples_ascend_and_carry_their_multinomial_weights) {
  for (int64_t d = 1; d <= 7; d++) {
    taylor_basis *basis = open_basis(d, 6);
    int64_t b = 0;
    for (int64_t m = 0; m <= 6; m++) {
      int64_t tuple[6] = {0}, got[6], sum = 0, power = 1;
      ck_assert_int_eq(b, basis->start[m]);
      do {
        ck_assert_int_eq(taylor_basis_tuple(got, basis, b), m);
        ck_assert_int_eq(memcmp(got, tuple, (size_t)m * sizeof *got), 0);
        ck_assert_int_eq(taylor_basis_order(basis, b), m);
        ck_assert_int_eq(basis->multinomial[b], orderings(tuple, m));
        sum += basis->multinomial[b++];
      } while (successor(tuple, m, d));
      for (int64_t i = 0; i < m; i++)
        power *= d;
      ck_assert_int_eq(sum, power);
    }
    ck_assert_int_eq(b, basis->size);
    ck_assert_int_eq(b, basis->start[7]);
    taylor_basis_close(basis);
  }
}
END_TEST

/* (q.k)^m = sum (m!/beta!) q^beta k^beta in exact integers, all orders. */
START_TEST(multinomial_theorem_holds_in_integers) {
  uint64_t seed = tests_seed();
  for (int64_t d = 1; d <= 6; d++) {
    taylor_basis *basis = open_basis(d, 5);
    double q[6], k[6], *phi = calloc((size_t)(2 * basis->size), sizeof *phi);
    for (int trial = 0; trial < 10; trial++) {
      int64_t dot = 0, power = 1;
      for (int64_t i = 0; i < d; i++) {
        q[i] = (double)(tests_random(&seed) % 15) - 7;
        k[i] = (double)(tests_random(&seed) % 15) - 7;
        dot += (int64_t)(q[i] * k[i]);
      }
      taylor_monomials_f64(phi, basis, q);
      taylor_monomials_f64(phi + basis->size, basis, k);
      for (int64_t m = 0; m <= 5; m++, power *= dot) {
        int64_t sum = 0;
        for (int64_t b = basis->start[m]; b < basis->start[m + 1]; b++)
          sum += basis->multinomial[b] * (int64_t)phi[b] * (int64_t)phi[basis->size + b];
        ck_assert_int_eq(sum, power);
      }
    }
    free(phi);
    taylor_basis_close(basis);
  }
}
END_TEST

/* phi[b] is the product in the documented order, in both formats, bit for bit. */
START_TEST(monomials_multiply_from_the_last_index_to_the_first) {
  uint64_t seed = tests_seed();
  taylor_basis *basis = open_basis(5, 4);
  float x32[5], *phi32 = calloc((size_t)basis->size, sizeof *phi32);
  double x[5], *phi = calloc((size_t)basis->size, sizeof *phi);
  for (int i = 0; i < 5; i++)
    x[i] = x32[i] = (float)(2 * tests_uniform(&seed) - 1) / 3;
  taylor_monomials_f32(phi32, basis, x32);
  taylor_monomials_f64(phi, basis, x);
  for (int64_t b = 0; b < basis->size; b++) {
    int64_t tuple[4], m = taylor_basis_tuple(tuple, basis, b);
    float p32 = 1;
    double p = 1;
    for (int64_t i = m - 1; i >= 0; i--) {
      p32 = x32[tuple[i]] * p32;
      p = x[tuple[i]] * p;
    }
    ck_assert(phi32[b] == p32 && phi[b] == p);
  }
  free(phi32);
  free(phi);
  taylor_basis_close(basis);
}
END_TEST

START_TEST(times_finds_the_product_whatever_the_order) {
  taylor_basis *basis = open_basis(4, 5);
  double x[4] = {2, 3, 5, 7}, *phi = calloc((size_t)basis->size, sizeof *phi);
  taylor_monomials_f64(phi, basis, x); /* distinct: prime factorisations */
  for (int64_t m = 0; m < 5; m++)
    for (int64_t b = basis->start[m]; b < basis->start[m + 1]; b++)
      for (int64_t i = 0; i < 4; i++)
        ck_assert(phi[taylor_basis_times(basis, m, b, i)] == phi[b] * x[i]);
  free(phi);
  taylor_basis_close(basis);
}
END_TEST

/* The naive state of integer keys, from its definition, against the minimal one both ways. */
START_TEST(tensor_states_convert_exactly_both_ways) {
  enum { D = 3, P = 4, WIDTH = 2, KEYS = 4 };
  uint64_t seed = tests_seed();
  taylor_basis *basis = open_basis(D, P);
  int64_t size, n = basis->size;
  ck_assert_int_eq(taylor_tensor_size(&size, D, P), 0);
  ck_assert_int_eq(size, 1 + 3 + 9 + 27 + 81);
  int64_t *map = calloc((size_t)size, sizeof *map);
  double *state = calloc((size_t)(2 * n * WIDTH), sizeof *state);
  double *back = state + n * WIDTH, *phi = calloc((size_t)n, sizeof *phi);
  double *tensor = calloc((size_t)(2 * size * WIDTH), sizeof *tensor);
  double *expected = tensor + size * WIDTH;
  taylor_tensor_map(map, basis);
  for (int j = 0; j < KEYS; j++) {
    double k[D], v[WIDTH];
    for (int i = 0; i < D; i++)
      k[i] = (double)(tests_random(&seed) % 9) - 4;
    for (int c = 0; c < WIDTH; c++)
      v[c] = (double)(tests_random(&seed) % 9) - 4;
    taylor_monomials_f64(phi, basis, k);
    for (int64_t b = 0; b < n; b++)
      for (int c = 0; c < WIDTH; c++)
        state[b * WIDTH + c] += phi[b] * v[c];
    for (int64_t m = 0, at = 0, count = 1; m <= P; m++, count *= D)
      for (int64_t t = 0; t < count; t++, at++) {
        double product = 1;
        for (int64_t digit = 0, rest = t; digit < m; digit++, rest /= D)
          product *= k[rest % D];
        for (int c = 0; c < WIDTH; c++)
          expected[at * WIDTH + c] += product * v[c];
      }
  }
  taylor_tensor_from_state(tensor, state, basis, map, WIDTH);
  for (int64_t i = 0; i < size * WIDTH; i++)
    ck_assert(tensor[i] == expected[i]);
  taylor_tensor_to_state(back, tensor, basis, map, WIDTH);
  for (int64_t i = 0; i < n * WIDTH; i++)
    ck_assert(back[i] == state[i]);
  free(map);
  free(state);
  free(phi);
  free(tensor);
  taylor_basis_close(basis);
}
END_TEST

START_TEST(bases_that_do_not_fit_are_refused_with_a_remedy) {
  static const int64_t refused[][2] = {{64, 8}, {2, 70}, {3, 60}, {INT64_MAX, 1}, {1 << 24, 1}};
  taylor_basis *basis;
  attest_error error;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    ck_assert_int_eq(taylor_basis_open(&basis, refused[i][0], refused[i][1], &error),
                     ATTEST_ERR_SUPPORT);
    ck_assert_ptr_null(basis);
    ck_assert_ptr_nonnull(strstr(error.message, "lower degree"));
  }
  basis = open_basis(1, 5000); /* one coordinate: every weight is 1 */
  ck_assert_int_eq(basis->size, 5001);
  ck_assert_int_eq(basis->multinomial[5000], 1);
  taylor_basis_close(basis);
  basis = open_basis(2, 66);
  taylor_basis_close(basis);
}
END_TEST

void test_basis(Suite *suite) {
  TCase *tc = tcase_create("basis");
  tcase_add_test(tc, binomials_follow_pascal_and_refuse_overflow);
  tcase_add_test(tc, tuples_ascend_and_carry_their_multinomial_weights);
  tcase_add_test(tc, multinomial_theorem_holds_in_integers);
  tcase_add_test(tc, monomials_multiply_from_the_last_index_to_the_first);
  tcase_add_test(tc, times_finds_the_product_whatever_the_order);
  tcase_add_test(tc, tensor_states_convert_exactly_both_ways);
  tcase_add_test(tc, bases_that_do_not_fit_are_refused_with_a_remedy);
  suite_add_tcase(suite, tc);
}
