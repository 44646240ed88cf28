/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Directed double arithmetic against exact dyadic numbers. */
#include "../../src/enclosure/interval.h"

#include "../../src/enclosure/enclosure.h"
#include "../tests.h"

/* A nonnegative double of any exponent; one in eight is special. */
static double any_double(uint64_t *state) {
  const double special[] = {0, 0x1p-1074, 0x1p-1022, 1, DBL_MAX, 0x1p1023, 0x1p-960, 3};
  uint64_t r = tests_random(state);
  if (r % 8 == 0) return special[(r >> 8) % 8];
  r = (r >> 1) % 0x7ff0000000000000u;
  if (tests_random(state) % 4 == 0) r &= ~(uint64_t)0xffffffffffff; /* few bits: exact results */
  double x;
  memcpy(&x, &r, sizeof x);
  return x;
}

static double near_one(uint64_t *state) {
  return ldexp(0.5 + tests_uniform(state), (int)(tests_random(state) % 40) - 20);
}

/* down <= exact <= up, at most `steps` doubles apart. */
static void check_bracket(double down, double up, const arf_t exact, int steps) {
  ck_assert(arf_cmp_d(exact, down) >= 0 && arf_cmp_d(exact, up) <= 0);
  ck_assert(down >= 0 && down < INFINITY);
  while (steps-- > 0)
    down = enclosure_up(down);
  ck_assert(up <= down);
}

START_TEST(sums_and_products_bracket_the_exact_value) {
  uint64_t state = tests_seed();
  arf_t a, b, exact;
  arf_init(a);
  arf_init(b);
  arf_init(exact);
  for (int n = 0; n < 100000; n++) {
    double x = any_double(&state), y = n & 1 ? any_double(&state) : near_one(&state);
    if (n % 5 == 0) y = x * near_one(&state) <= DBL_MAX ? x * near_one(&state) : x;
    if (y > DBL_MAX) y = DBL_MAX;
    arf_set_d(a, x);
    arf_set_d(b, y);
    arf_mul(exact, a, b, ARF_PREC_EXACT, ARF_RND_DOWN);
    check_bracket(enclosure_mul_down(x, y), enclosure_mul_up(x, y), exact, 2);
    arf_add(exact, a, b, ARF_PREC_EXACT, ARF_RND_DOWN);
    check_bracket(enclosure_add_down(x, y), enclosure_add_up(x, y), exact, 1);
  }
  arf_clear(a);
  arf_clear(b);
  arf_clear(exact);
}
END_TEST

START_TEST(differences_bracket_the_exact_value) {
  uint64_t state = tests_seed();
  arf_t a, b, exact;
  arf_init(a);
  arf_init(b);
  arf_init(exact);
  for (int n = 0; n < 50000; n++) {
    double x = any_double(&state), y = -any_double(&state);
    if (n & 1) y = -fmin(x * near_one(&state), DBL_MAX);
    double down = enclosure_add_down(x, y), up = enclosure_add_up(x, y);
    arf_set_d(a, x);
    arf_set_d(b, y);
    arf_add(exact, a, b, ARF_PREC_EXACT, ARF_RND_DOWN);
    ck_assert(arf_cmp_d(exact, down) >= 0 && arf_cmp_d(exact, up) <= 0);
    ck_assert(down == up || up == enclosure_up(down));
    ck_assert(down != up || arf_cmp_d(exact, up) == 0);
  }
  arf_clear(a);
  arf_clear(b);
  arf_clear(exact);
}
END_TEST

/* q b against a, exactly: the quotient itself is no dyadic number. */
START_TEST(quotients_bracket_the_exact_value) {
  uint64_t state = tests_seed();
  arf_t a, b, q, t;
  arf_init(a);
  arf_init(b);
  arf_init(q);
  arf_init(t);
  for (int n = 0; n < 100000; n++) {
    double x = any_double(&state), y = n & 1 ? any_double(&state) : near_one(&state);
    if (y == 0) continue;
    if (n % 4 == 0) x = fmin(y * (double)(tests_random(&state) % 1000), DBL_MAX);
    double down = enclosure_div_down(x, y), up = enclosure_div_up(x, y);
    arf_set_d(a, x);
    arf_set_d(b, y);
    arf_set_d(q, down);
    arf_mul(t, b, q, ARF_PREC_EXACT, ARF_RND_DOWN);
    ck_assert(arf_cmp(t, a) <= 0);
    if (up < INFINITY) {
      arf_set_d(q, up);
      arf_mul(t, b, q, ARF_PREC_EXACT, ARF_RND_DOWN);
      ck_assert(arf_cmp(t, a) >= 0);
    }
    ck_assert(down >= 0 && down < INFINITY);
    ck_assert(up <= enclosure_up(enclosure_up(down)));
  }
  arf_clear(a);
  arf_clear(b);
  arf_clear(q);
  arf_clear(t);
}
END_TEST

START_TEST(zero_and_infinity_follow_the_documented_rules) {
  const double inf = INFINITY;
  ck_assert(enclosure_up(0) == 0x1p-1074 && enclosure_down(0) == -0x1p-1074);
  ck_assert(enclosure_up(DBL_MAX) == inf && enclosure_up(inf) == inf);
  ck_assert(enclosure_down(inf) == DBL_MAX && enclosure_up(-inf) == -DBL_MAX);
  ck_assert(enclosure_up(1) == 1 + DBL_EPSILON && enclosure_up(-1) == -1 + DBL_EPSILON / 2);
  ck_assert(enclosure_add_up(DBL_MAX, DBL_MAX) == inf);
  ck_assert(enclosure_add_down(DBL_MAX, DBL_MAX) == DBL_MAX);
  ck_assert(enclosure_add_up(-DBL_MAX, -DBL_MAX) == -DBL_MAX);
  ck_assert(enclosure_add_up(inf, 1) == inf && enclosure_add_down(inf, 1) == inf);
  ck_assert(enclosure_add_up(inf, -inf) == inf && enclosure_add_down(inf, -inf) == -inf);
  ck_assert(enclosure_mul_up(0, inf) == inf && enclosure_mul_down(0, inf) == 0);
  ck_assert(enclosure_mul_up(2, inf) == inf && enclosure_mul_down(2, inf) == inf);
  ck_assert(enclosure_mul_down(DBL_MAX, 2) == DBL_MAX);
  ck_assert(enclosure_mul_up(0x1p-1000, 0x1p-1000) == 0x1p-1074 && enclosure_mul_up(0, 1) == 0);
  ck_assert(enclosure_mul_down(0x1p-1000, 0x1p-1000) == 0);
  ck_assert(enclosure_div_up(0, 0) == 0 && enclosure_div_down(0, 0) == 0);
  ck_assert(enclosure_div_up(1, 0) == inf && enclosure_div_down(1, 0) == inf);
  ck_assert(enclosure_div_up(inf, inf) == inf && enclosure_div_down(inf, inf) == 0);
  ck_assert(enclosure_div_up(1, inf) == 0x1p-1074 && enclosure_div_down(1, inf) == 0);
  ck_assert(enclosure_div_up(inf, 2) == inf && enclosure_div_down(inf, 2) == inf);
  ck_assert(enclosure_div_down(DBL_MAX, 0.5) == DBL_MAX);
  ck_assert(enclosure_add_up(1, 2) == 3 && enclosure_add_down(1, 2) == 3);
}
END_TEST

void test_interval(Suite *suite) {
  TCase *tests = tcase_create("interval");
  tcase_add_test(tests, sums_and_products_bracket_the_exact_value);
  tcase_add_test(tests, differences_bracket_the_exact_value);
  tcase_add_test(tests, quotients_bracket_the_exact_value);
  tcase_add_test(tests, zero_and_infinity_follow_the_documented_rules);
  suite_add_tcase(suite, tests);
}
