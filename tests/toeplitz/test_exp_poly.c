/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Polynomials of exp: their enclosed errors against closed forms, samples and classical bounds. */
#include "../../src/toeplitz/exp_poly.h"
#include "../tests.h"

enum { PREC = 400 };

static void enclosed_error(arb_t sup, exp_poly_kind kind, exp_poly_measure measure, int64_t degree,
                           const fmpq_t b) {
  attest_error error;
  fmpq_poly_t p;
  fmpq_poly_init(p);
  ck_assert_msg(exp_poly(p, kind, measure, degree, b, 320, &error) == ATTEST_OK, "%s",
                error.message);
  ck_assert_int_le(fmpq_poly_degree(p), degree);
  arb_t wide;
  arb_init(wide);
  exp_poly_error_bits(wide, p, b, measure, 6);
  exp_poly_error(sup, p, b, measure);
  ck_assert_int_ge(arb_rel_accuracy_bits(sup), 16);
  ck_assert_int_ge(arb_rel_accuracy_bits(wide), 4);
  ck_assert(arb_overlaps(wide, sup));
  arb_clear(wide);
  fmpq_poly_clear(p);
}

/* sup |T_g - exp| is at b; sup |T_g / exp - 1| is at -b (MATH F0.9). */
static void taylor_error(arb_t e, exp_poly_measure measure, int64_t degree, const fmpq_t b) {
  arb_t x, term;
  arb_init(x);
  arb_init(term);
  arb_set_fmpq(x, b, PREC);
  if (measure == EXP_RELATIVE) arb_neg(x, x);
  arb_exp(e, x, PREC);
  arb_one(term);
  for (int64_t k = 0; k <= degree; k++) {
    if (k > 0) {
      arb_mul(term, term, x, PREC);
      arb_div_si(term, term, k, PREC);
    }
    arb_sub(e, e, term, PREC);
  }
  if (measure == EXP_RELATIVE) {
    arb_neg(x, x);
    arb_exp(x, x, PREC);
    arb_mul(e, e, x, PREC);
  }
  arb_abs(e, e);
  arb_clear(x);
  arb_clear(term);
}

/* All I_k(b) > 0, so the tail 2 sum_{k>g} I_k T_k is largest at b: e^b - I_0 - 2 sum_{k<=g} I_k. */
static void chebyshev_error(arb_t e, int64_t degree, const fmpq_t b) {
  arb_t x, order, term;
  arb_init(x);
  arb_init(order);
  arb_init(term);
  arb_set_fmpq(x, b, PREC);
  arb_exp(e, x, PREC);
  for (int64_t k = 0; k <= degree; k++) {
    arb_set_si(order, k);
    arb_hypgeom_bessel_i(term, order, x, PREC);
    if (k > 0) arb_mul_2exp_si(term, term, 1);
    arb_sub(e, e, term, PREC);
  }
  arb_clear(x);
  arb_clear(order);
  arb_clear(term);
}

/* The two enclosures overlap once `slack` 2^-bits relative is allowed for rounded coefficients. */
static void same(const arb_t a, const arb_t b, slong bits) {
  arb_t x, y;
  arb_init(x);
  arb_init(y);
  arb_mul_2exp_si(x, b, -bits);
  arb_get_mag(arb_radref(y), x);
  arb_add(y, y, a, PREC);
  ck_assert(arb_overlaps(y, b));
  arb_clear(x);
  arb_clear(y);
}

START_TEST(errors_of_taylor_and_chebyshev_polynomials_are_those_of_their_tails) {
  static const char *const widths[] = {"1/8", "1", "5/2", "16"};
  fmpq_t b;
  arb_t sup, closed;
  fmpq_init(b);
  arb_init(sup);
  arb_init(closed);
  for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
    ck_assert_int_eq(fmpq_set_str(b, widths[w], 10), 0);
    for (int64_t g = 0; g <= 24; g += 1 + g / 4) {
      for (int m = 0; m < 2; m++) {
        enclosed_error(sup, EXP_TAYLOR, (exp_poly_measure)m, g, b);
        taylor_error(closed, (exp_poly_measure)m, g, b);
        same(sup, closed, 200);
      }
      enclosed_error(sup, EXP_CHEBYSHEV, EXP_ABSOLUTE, g, b);
      chebyshev_error(closed, g, b);
      same(sup, closed, 60);
    }
  }
  fmpq_clear(b);
  arb_clear(sup);
  arb_clear(closed);
}
END_TEST

/* |p - e^x| (or relative) at x = b k / n. */
static void sample(arb_t f, const fmpq_poly_t p, const fmpq_t b, exp_poly_measure measure,
                   int64_t k, int64_t n) {
  arb_t x;
  arb_poly_t q;
  arb_init(x);
  arb_poly_init(q);
  arb_poly_set_fmpq_poly(q, p, PREC);
  arb_set_fmpq(x, b, PREC);
  arb_mul_si(x, x, k, PREC);
  arb_div_si(x, x, n, PREC);
  arb_poly_evaluate(f, q, x, PREC);
  arb_exp(x, x, PREC);
  arb_sub(f, f, x, PREC);
  if (measure == EXP_RELATIVE) arb_div(f, f, x, PREC);
  arb_abs(f, f);
  arb_clear(x);
  arb_poly_clear(q);
}

START_TEST(no_sample_exceeds_the_enclosed_error_and_some_come_close) {
  enum { SAMPLES = 600 };
  attest_error error;
  fmpq_t b;
  fmpq_poly_t p;
  arb_t sup, f, largest;
  fmpq_init(b);
  fmpq_poly_init(p);
  arb_init(sup);
  arb_init(f);
  arb_init(largest);
  for (int kind = 0; kind < 3; kind++)
    for (int m = 0; m < 2; m++)
      for (int64_t g = 1; g <= 13; g += 4) {
        fmpq_set_si(b, 3, 2);
        ck_assert_int_eq(exp_poly(p, (exp_poly_kind)kind, (exp_poly_measure)m, g, b, 200, &error),
                         ATTEST_OK);
        exp_poly_error(sup, p, b, (exp_poly_measure)m);
        arb_zero(largest);
        for (int64_t k = -SAMPLES; k <= SAMPLES; k++) {
          sample(f, p, b, (exp_poly_measure)m, k, SAMPLES);
          ck_assert(!arb_gt(f, sup));
          arb_max(largest, largest, f, PREC);
        }
        arb_div(largest, largest, sup, PREC);
        ck_assert_double_gt(enclosure_upper(largest), 0.999);
      }
  fmpq_clear(b);
  fmpq_poly_clear(p);
  arb_clear(sup);
  arb_clear(f);
  arb_clear(largest);
}
END_TEST

/* Degree 0: sinh b and tanh b. Degree 1, absolute, b = 1: with a = sinh 1 the slope of the best
 * line, the error is (e - 2 a + a log a) / 2. */
START_TEST(minimax_errors_of_low_degree_have_their_closed_forms) {
  fmpq_t b;
  arb_t sup, closed, x;
  fmpq_init(b);
  arb_init(sup);
  arb_init(closed);
  arb_init(x);
  for (slong n = 1; n <= 3; n++) {
    fmpq_set_si(b, n, 2);
    arb_set_fmpq(x, b, PREC);
    enclosed_error(sup, EXP_MINIMAX, EXP_ABSOLUTE, 0, b);
    arb_sinh(closed, x, PREC);
    same(sup, closed, 200);
    enclosed_error(sup, EXP_MINIMAX, EXP_RELATIVE, 0, b);
    arb_tanh(closed, x, PREC);
    same(sup, closed, 60);
  }
  fmpq_one(b);
  arb_one(x);
  enclosed_error(sup, EXP_MINIMAX, EXP_ABSOLUTE, 1, b);
  arb_sinh(x, x, PREC);
  arb_log(closed, x, PREC);
  arb_sub_ui(closed, closed, 2, PREC);
  arb_mul(closed, closed, x, PREC);
  arb_const_e(x, PREC);
  arb_add(closed, closed, x, PREC);
  arb_mul_2exp_si(closed, closed, -1);
  same(sup, closed, 60);
  fmpq_clear(b);
  arb_clear(sup);
  arb_clear(closed);
  arb_clear(x);
}
END_TEST

/* e^-b c <= E_g <= e^b c with c = b^{g+1} / (2^g (g+1)!): the (g+1)-st derivative of exp lies
 * between e^-b and e^b. And no polynomial of the degree is better than the alternation says. */
START_TEST(minimax_errors_lie_between_bernsteins_bounds_and_are_least) {
  attest_error error;
  fmpq_t b;
  arb_t sup, least, c, x;
  fmpq_init(b);
  arb_init(sup);
  arb_init(least);
  arb_init(c);
  arb_init(x);
  for (int64_t g = 0; g <= 20; g += 2) {
    fmpq_set_si(b, 2, 1);
    enclosed_error(sup, EXP_MINIMAX, EXP_ABSOLUTE, g, b);
    arb_set_si(c, 2);
    arb_fac_ui(x, (ulong)g + 1, PREC);
    arb_div(c, c, x, PREC);
    arb_set_si(x, 2);
    arb_exp(x, x, PREC);
    arb_mul(least, c, x, PREC);
    ck_assert(arb_le(sup, least));
    arb_div(least, c, x, PREC);
    ck_assert(arb_ge(sup, least));
    for (int m = 0; m < 2; m++) {
      enclosed_error(sup, EXP_MINIMAX, (exp_poly_measure)m, g, b);
      ck_assert_int_eq(exp_poly_least_error(least, g, b, (exp_poly_measure)m, &error), ATTEST_OK);
      ck_assert(!arb_gt(least, sup));
      arb_mul_2exp_si(x, least, -16);
      arb_add(least, least, x, PREC);
      ck_assert(!arb_lt(least, sup));
    }
  }
  fmpq_clear(b);
  arb_clear(sup);
  arb_clear(least);
  arb_clear(c);
  arb_clear(x);
}
END_TEST

/* The least degree by the closed forms. */
static int64_t degree_by_tail(exp_poly_kind kind, exp_poly_measure measure, const fmpq_t b,
                              const fmpq_t eps) {
  arb_t e, limit;
  int64_t g = -1;
  arb_init(e);
  arb_init(limit);
  arb_set_fmpq(limit, eps, PREC);
  do {
    g++;
    if (kind == EXP_TAYLOR)
      taylor_error(e, measure, g, b);
    else
      chebyshev_error(e, g, b);
  } while (!arb_le(e, limit));
  arb_clear(e);
  arb_clear(limit);
  return g;
}

static int64_t degree_of(exp_poly_kind kind, exp_poly_measure measure, const fmpq_t b,
                         const fmpq_t eps) {
  attest_error error;
  int64_t degree = -1;
  ck_assert_msg(exp_poly_degree(&degree, kind, measure, b, eps, &error) == ATTEST_OK, "%s",
                error.message);
  return degree;
}

START_TEST(least_degrees_are_those_of_the_tails_and_minimax_needs_no_more) {
  static const struct {
    slong b;
    const char *eps;
  } cases[] = {{1, "1/1000"},          {1, "1/1000000"},       {1, "1/1000000000000"},
               {2, "1/1000000000000"}, {4, "1/1000000000000"}, {16, "1/1000000000000"}};
  fmpq_t b, eps;
  fmpq_init(b);
  fmpq_init(eps);
  for (int64_t i = 0; i < tests_trials(sizeof cases / sizeof *cases); i++) {
    fmpq_set_si(b, cases[i].b, 1);
    ck_assert_int_eq(fmpq_set_str(eps, cases[i].eps, 10), 0);
    int64_t chebyshev = degree_of(EXP_CHEBYSHEV, EXP_ABSOLUTE, b, eps);
    int64_t best = degree_of(EXP_MINIMAX, EXP_ABSOLUTE, b, eps);
    int64_t taylor = degree_of(EXP_TAYLOR, EXP_ABSOLUTE, b, eps);
    int64_t relative = degree_of(EXP_TAYLOR, EXP_RELATIVE, b, eps);
    printf("exp on [-%lld, %lld] to %s: degree %lld (Chebyshev), %lld (minimax), %lld (Taylor), "
           "%lld (Taylor, relative)\n",
           (long long)cases[i].b, (long long)cases[i].b, cases[i].eps, (long long)chebyshev,
           (long long)best, (long long)taylor, (long long)relative);
    ck_assert_int_eq(chebyshev, degree_by_tail(EXP_CHEBYSHEV, EXP_ABSOLUTE, b, eps));
    ck_assert_int_eq(taylor, degree_by_tail(EXP_TAYLOR, EXP_ABSOLUTE, b, eps));
    ck_assert_int_eq(relative, degree_by_tail(EXP_TAYLOR, EXP_RELATIVE, b, eps));
    ck_assert_int_le(best, chebyshev);
    ck_assert_int_ge(best, chebyshev - 1);
  }
  fmpq_clear(b);
  fmpq_clear(eps);
}
END_TEST

START_TEST(impossible_requests_are_refused_with_a_reason) {
  attest_error error = {0};
  fmpq_t b, eps;
  fmpq_poly_t p;
  int64_t degree;
  fmpq_init(b);
  fmpq_init(eps);
  fmpq_poly_init(p);
  fmpq_set_si(b, -1, 1);
  ck_assert_int_ne(exp_poly(p, EXP_TAYLOR, EXP_ABSOLUTE, 3, b, 100, &error), ATTEST_OK);
  ck_assert_ptr_nonnull(strstr(error.message, "positive"));
  fmpq_one(b);
  ck_assert_int_ne(exp_poly(p, EXP_TAYLOR, EXP_ABSOLUTE, 1000, b, 100, &error), ATTEST_OK);
  ck_assert_int_ne(exp_poly_degree(&degree, EXP_TAYLOR, EXP_ABSOLUTE, b, eps, &error), ATTEST_OK);
  ck_assert_ptr_nonnull(strstr(error.message, "eps"));
  fmpq_clear(b);
  fmpq_clear(eps);
  fmpq_poly_clear(p);
}
END_TEST

void test_exp_poly(Suite *suite) {
  TCase *tc = tcase_create("exp_poly");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, errors_of_taylor_and_chebyshev_polynomials_are_those_of_their_tails);
  tcase_add_test(tc, no_sample_exceeds_the_enclosed_error_and_some_come_close);
  tcase_add_test(tc, minimax_errors_of_low_degree_have_their_closed_forms);
  tcase_add_test(tc, minimax_errors_lie_between_bernsteins_bounds_and_are_least);
  tcase_add_test(tc, least_degrees_are_those_of_the_tails_and_minimax_needs_no_more);
  tcase_add_test(tc, impossible_requests_are_refused_with_a_reason);
  suite_add_tcase(suite, tc);
}
