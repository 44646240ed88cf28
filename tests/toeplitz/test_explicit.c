/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Explicit backward errors of rope-linear, where the normaliser is small against the sum of
 * absolute scores: against perturbations that are really applied. */
#include <math.h>

#include "../../src/problem/pairing.h"
#include "fixture_positions.h"

enum { KEYS = 6 };

typedef struct {
  positions p;
  problem_slice slice;
  double s[KEYS], t[KEYS], v[KEYS]; /* scores, absolute scores, component 0 */
} row;

static void row_open(row *r, uint64_t *seed) {
  attest_error error;
  positions_spec spec = {.kernel = "rope-linear",
                         .heads_q = 1,
                         .heads_k = 1,
                         .nq = 1,
                         .nk = KEYS,
                         .d = 4,
                         .dv = 1,
                         .dtype = ATTEST_FLOAT64,
                         .params = {"scale", "1"},
                         .size = 1};
  positions_open(&r->p, &spec, seed);
  problem_slice_get(&r->slice, r->p.problem, 0);
  problem_pairs pairs;
  arb_t form, size;
  arb_init(form);
  arb_init(size);
  ck_assert_int_eq(problem_pairs_open(&pairs, r->p.problem, &r->slice, 128, &error), ATTEST_OK);
  for (int j = 0; j < KEYS; j++) {
    problem_pairs_form(form, size, &pairs, 0, j);
    r->s[j] = arf_get_d(arb_midref(form), ARF_RND_NEAR);
    r->t[j] = arf_get_d(arb_midref(size), ARF_RND_NEAR);
    r->v[j] = ((double *)r->p.memory[2])[j];
  }
  problem_pairs_close(&pairs);
  arb_clear(form);
  arb_clear(size);
}

/* The output with scores moved by e sign_j t_j and values by e other_j |v_j|. */
static double moved(const row *r, double e, const int *sign, const int *other) {
  double sum = 0, total = 0;
  for (int j = 0; j < KEYS; j++) {
    double s = r->s[j] + e * sign[j] * r->t[j];
    sum += s * (r->v[j] + e * other[j] * fabs(r->v[j]));
    total += s;
  }
  return sum / total;
}

static measure_interval explicit_of(const row *r, double got, double u) {
  attest_error error;
  measure_interval value;
  ck_assert_int_eq(score_backward_explicit(&value, r->p.problem, &r->slice, 0, OUTPUT_OUT, 0, got,
                                           u, u, 0, &error),
                   ATTEST_OK);
  ck_assert(value.lo <= value.hi);
  return value;
}

/* What a perturbation of size 1 (in units of u) gives is explained by size 1. */
START_TEST(no_perturbation_is_called_larger_than_it_is) {
  uint64_t seed = tests_seed();
  int steep = 0;
  for (int i = 0; i < 60; i++) {
    row r;
    row_open(&r, &seed);
    double u = ldexp(1, -(int)(tests_random(&seed) % 12) - 3), total = 0, size = 0;
    for (int j = 0; j < KEYS; j++) {
      total += r.s[j];
      size += r.t[j];
    }
    steep += u * size > fabs(total) / 64;
    for (int k = 0; k < 20; k++) {
      int sign[KEYS], other[KEYS];
      for (int j = 0; j < KEYS; j++) {
        sign[j] = tests_random(&seed) % 2 ? 1 : -1;
        other[j] = tests_random(&seed) % 2 ? 1 : -1;
      }
      double got = moved(&r, u, sign, other);
      ck_assert_double_le(explicit_of(&r, got, u).lo, 1 + 1e-9);
    }
    positions_close(&r.p);
  }
  ck_assert_int_gt(steep, 20); /* rows to which first order does not apply are among them */
}
END_TEST

/* Far from a vanishing normaliser the two bounds are close: every score and value moved towards
 * got. */
START_TEST(the_largest_move_of_a_size_is_explained_by_about_that_size) {
  uint64_t seed = tests_seed();
  int checked = 0;
  for (int i = 0; i < 60; i++) {
    row r;
    row_open(&r, &seed);
    double total = 0, size = 0, x, u;
    int sign[KEYS] = {0}, other[KEYS] = {0};
    for (int j = 0; j < KEYS; j++) {
      total += r.s[j];
      size += r.t[j];
    }
    u = fabs(total) / size / 200;
    x = moved(&r, 0, sign, other);
    for (int j = 0; j < KEYS; j++) {
      sign[j] = (r.v[j] > x ? 1 : -1) * (total > 0 ? 1 : -1);
      other[j] = r.s[j] / total > 0 ? 1 : -1;
    }
    measure_interval value = explicit_of(&r, moved(&r, u, sign, other), u);
    ck_assert_double_gt(value.lo, 0.85);
    ck_assert_double_lt(value.hi, 1.15);
    checked++;
    value = explicit_of(&r, x, u);
    ck_assert_double_lt(value.hi, 1e-9 / u);
    positions_close(&r.p);
  }
  ck_assert_int_eq(checked, 60);
}
END_TEST

void test_explicit(Suite *suite) {
  TCase *tc = tcase_create("explicit");
  tcase_set_timeout(tc, 30);
  tcase_add_test(tc, no_perturbation_is_called_larger_than_it_is);
  tcase_add_test(tc, the_largest_move_of_a_size_is_explained_by_about_that_size);
  suite_add_tcase(suite, tc);
}
