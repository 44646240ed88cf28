/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rotary phases and rotated vectors against balls, at every binade of the position. */
#include <math.h>

#include "../../src/problem/rotary.h"
#include "../../src/toeplitz/toeplitz.h"
#include "../tests.h"

enum { D = 64, PREC = 200 };

/* position base^(-2m/d) by logarithms. */
static void exact_angle(arb_t angle, const problem_real *base, int64_t position, int64_t m) {
  arb_set_fmpq(angle, base->value, PREC);
  arb_log(angle, angle, PREC);
  arb_mul_si(angle, angle, base->root ? -m : -2 * m, PREC);
  arb_div_si(angle, angle, D, PREC);
  arb_exp(angle, angle, PREC);
  arb_mul_si(angle, angle, position, PREC);
}

static double distance(const arb_t x, const double parts[2], int count) {
  arb_t d, part;
  arb_init(d);
  arb_init(part);
  arb_set(d, x);
  for (int i = 0; i < count; i++) {
    arb_set_d(part, parts[i]);
    arb_sub(d, d, part, PREC);
  }
  double worst = fmax(fabs(enclosure_upper(d)), fabs(enclosure_lower(d)));
  arb_clear(d);
  arb_clear(part);
  return worst;
}

/* The error of R x in component of pair m over the pair's norm. */
static double rotation_error(const double *x, const double *y, int64_t a, int64_t b,
                             const arb_t cosine, const arb_t sine) {
  arb_ptr w = _arb_vec_init(3);
  double norm = hypot(x[a], x[b]), worst = 0;
  arb_set_d(w, x[a]);
  arb_set_d(w + 1, x[b]);
  arb_mul(w + 2, w, cosine, PREC);
  arb_submul(w + 2, w + 1, sine, PREC);
  worst = distance(w + 2, &y[a], 1);
  arb_mul(w + 2, w, sine, PREC);
  arb_addmul(w + 2, w + 1, cosine, PREC);
  worst = fmax(worst, distance(w + 2, &y[b], 1));
  _arb_vec_clear(w, 3);
  return worst / norm;
}

typedef struct {
  double phase, rotation;
} worst_errors;

static void compare_position(worst_errors *worst, const problem_rotary *rotary,
                             const problem_values *values, int64_t position, uint64_t *seed) {
  double x[D], y[D];
  arb_t angle, cosine, sine;
  arb_init(angle);
  arb_init(cosine);
  arb_init(sine);
  for (int i = 0; i < D; i++)
    x[i] = ldexp(2 * tests_uniform(seed) - 1, (int)(tests_random(seed) % 20));
  problem_rotate(y, x, rotary, position);
  for (int64_t m = 0; m < D / 2; m++) {
    int64_t a, b;
    double c[2], s[2];
    problem_rotary_pair(&a, &b, values, D, m);
    problem_rotary_phase(c, s, rotary, position, m);
    exact_angle(angle, &values->rope_base, position, m);
    arb_sin_cos(sine, cosine, angle, PREC);
    worst->phase = fmax(worst->phase, fmax(distance(cosine, c, 2), distance(sine, s, 2)));
    worst->rotation = fmax(worst->rotation, rotation_error(x, y, a, b, cosine, sine));
  }
  arb_clear(angle);
  arb_clear(cosine);
  arb_clear(sine);
}

START_TEST(phases_and_rotations_stay_within_their_bounds_to_position_2_20) {
  static const char *const bases[] = {"10000", "500000", "sqrt(10)"};
  attest_error error;
  uint64_t seed = tests_seed();
  worst_errors worst = {0};
  for (int i = 0; i < 3; i++) {
    attest_problem *problem = attest_problem_new("rope-softmax", &error);
    problem_rotary *rotary;
    problem_values *values = &problem->values;
    ck_assert_int_eq(problem_real_parse(&values->rope_base, bases[i]), 0);
    values->rope_pairs = i % 2 ? ROPE_HALF : ROPE_INTERLEAVED;
    ck_assert_int_eq(problem_rotary_open(&rotary, values, D, (1 << 20) + 1, &error), ATTEST_OK);
    compare_position(&worst, rotary, values, 0, &seed);
    for (int bits = 0; bits <= 20; bits++) {
      int64_t first = INT64_C(1) << bits;
      compare_position(&worst, rotary, values, first, &seed);
      if (bits > 0) compare_position(&worst, rotary, values, first - 1, &seed);
      compare_position(&worst, rotary, values,
                       first / 2 + (int64_t)(tests_random(&seed) % (uint64_t)first) / 2, &seed);
    }
    problem_rotary_close(rotary);
    attest_problem_free(problem);
  }
  printf("rotary phases: largest error/bound %.3f; rotated vectors %.3f\n",
         worst.phase / ROTARY_ERROR, worst.rotation / ROTARY_ROUNDING);
  ck_assert_double_le(worst.phase, ROTARY_ERROR);
  ck_assert_double_le(worst.rotation, ROTARY_ROUNDING);
  ck_assert_double_gt(worst.phase, ROTARY_ERROR / 4096);
  ck_assert_double_gt(worst.rotation, ROTARY_ROUNDING / 16);
}
END_TEST

void test_rotary(Suite *suite) {
  TCase *tc = tcase_create("rotary");
  tcase_set_timeout(tc, 30);
  tcase_add_test(tc, phases_and_rotations_stay_within_their_bounds_to_position_2_20);
  suite_add_tcase(suite, tc);
}
