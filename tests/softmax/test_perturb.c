/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Explicit bounds of the backward error. Perturbed problems are solved here directly, in 300-bit
 * balls; first-order figures come from the conditioning of softmax_ball. */
#include "../../src/softmax/row.h"
#include "golden.h"

enum { KEYS = 6 };
static const double u_w = 0x1p-24, u_s = 0x1p-24;

static measure_interval bounds(test_case *c, int output, double got, double quantum) {
  problem_slice slice;
  measure_interval value = {-1, -1};
  attest_error error = {0};
  case_resolve(c);
  problem_slice_get(&slice, c->problem, 0);
  ck_assert_msg(!softmax_backward_explicit(&value, c->problem, &slice, 0, output, 0, got, u_w, u_s,
                                           quantum, &error),
                "%s", error.message);
  ck_assert(value.lo >= 0 && value.lo <= value.hi);
  return value;
}

/* The double nearest to out (component 0) or lse of scores s_j + theta_j and values v_j. */
static double solve(const double *s, const double *theta, const double *v, int n, int output,
                    double eps) {
  arb_t sum, mean, w, y;
  arb_init(sum);
  arb_init(mean);
  arb_init(w);
  arb_init(y);
  for (int j = 0; j < n; j++) {
    arb_set_d(w, s[j]);
    arb_set_d(y, theta[j]);
    arb_add(w, w, y, 300);
    arb_exp(w, w, 300);
    arb_add(sum, sum, w, 300);
    arb_set_d(y, v[j]);
    arb_addmul(mean, w, y, 300);
  }
  arb_div(mean, mean, sum, 300);
  if (output == OUTPUT_LSE) {
    arb_log(mean, sum, 300);
    arb_set_d(y, eps);
    arb_add_ui(y, y, 1, 300);
    arb_mul(mean, mean, y, 300);
  }
  double result = arf_get_d(arb_midref(mean), ARF_RND_NEAR);
  arb_clear(sum);
  arb_clear(mean);
  arb_clear(w);
  arb_clear(y);
  return result;
}

/* Scores are the keys of one query 1, so t_j = |s_j|. */
static void random_row(double *s, double *v, uint64_t *state) {
  for (int j = 0; j < KEYS; j++) {
    double size = exp2(30 * tests_uniform(state) - 4);
    s[j] = tests_random(state) % 2 ? size : -size;
    v[j] = 2 * tests_uniform(state) - 1;
  }
  for (int j = 1; j < KEYS; j++)
    if (tests_random(state) % 2) s[j] = s[0] * (1 - exp2(-20 - 8 * tests_uniform(state)));
}

/* No perturbation of size B may be said to need more than B; corners of the box reach farthest. */
START_TEST(perturbations_inside_the_box_stay_above_the_lower_bound) {
  uint64_t state = tests_seed();
  int telling = 0;
  for (int trial = 0; trial < 300; trial++) {
    double s[KEYS], v[KEYS], theta[KEYS], moved[KEYS];
    random_row(s, v, &state);
    double size = exp2(12 * tests_uniform(&state) - 6);
    int corner = tests_random(&state) % 2;
    for (int j = 0; j < KEYS; j++) {
      double a = 2 * tests_uniform(&state) - 1, b = 2 * tests_uniform(&state) - 1;
      theta[j] = size * u_s * fabs(s[j]) * (corner ? copysign(1, a) : a);
      moved[j] = v[j] * (1 + size * u_w * (corner ? copysign(1, b) : b));
    }
    test_case c;
    case_scores(&c, KEYS, s, 1, v);
    double got = solve(s, theta, moved, KEYS, OUTPUT_OUT, 0);
    measure_interval b = bounds(&c, OUTPUT_OUT, got, 0);
    ck_assert_msg(b.lo <= size * (1 + 1e-6), "out: %g above %g", b.lo, size);
    telling += b.lo > size / 8;
    double eps = size * u_w * (tests_random(&state) % 2 ? 1 : -1);
    got = solve(s, theta, v, KEYS, OUTPUT_LSE, eps);
    b = bounds(&c, OUTPUT_LSE, got, 0);
    ck_assert_msg(b.lo <= size * (1 + 1e-6), "lse: %g above %g", b.lo, size);
    telling += b.lo > size / 8;
    case_free(&c);
  }
  ck_assert_int_gt(telling, 200); /* the bound is not empty */
}
END_TEST

/* The perturbation that moves everything towards got is found again, whatever its size. */
START_TEST(upper_bound_is_attained_by_the_greedy_perturbation) {
  uint64_t state = tests_seed();
  for (int trial = 0; trial < 200; trial++) {
    double s[KEYS], v[KEYS], theta[KEYS], moved[KEYS], none[KEYS] = {0};
    random_row(s, v, &state);
    double size = exp2(8 * tests_uniform(&state) - 4), x = solve(s, none, v, KEYS, OUTPUT_OUT, 0);
    for (int j = 0; j < KEYS; j++) {
      theta[j] = size * u_s * fabs(s[j]) * (v[j] > x ? 1 : -1);
      moved[j] = v[j] + size * u_w * fabs(v[j]);
    }
    double got = solve(s, theta, moved, KEYS, OUTPUT_OUT, 0);
    if (got - x < 1e-12) continue; /* rounding of got would show */
    test_case c;
    case_scores(&c, KEYS, s, 1, v);
    measure_interval b = bounds(&c, OUTPUT_OUT, got, 0);
    ck_assert_msg(b.hi <= size * 1.006, "%g above %g", b.hi, size);
    ck_assert_msg(b.lo <= size * (1 + 1e-6), "%g above %g", b.lo, size); /* got is rounded */
    case_free(&c);
  }
}
END_TEST

/* |got - x| / (u_w A + u_s S + quantum) in the middle of the ball tier. */
static double first_order(test_case *c, int output, double got, double quantum) {
  problem_slice slice;
  room_balls x;
  attest_error error = {0};
  case_resolve(c);
  problem_slice_get(&slice, c->problem, 0);
  room_balls_init(&x, 1);
  ck_assert(!softmax_ball(&x, c->problem, &slice, 0, output, ~0u, 256, &error));
  double a = arf_get_d(arb_midref(x.a), ARF_RND_NEAR), s = arf_get_d(arb_midref(x.s), ARF_RND_NEAR);
  arb_t gap;
  arb_init(gap);
  arb_set_d(gap, got);
  arb_sub(gap, gap, x.x, 256);
  double distance = fabs(arf_get_d(arb_midref(gap), ARF_RND_NEAR));
  arb_clear(gap);
  room_balls_clear(&x);
  return distance / (u_w * a + u_s * s + quantum);
}

START_TEST(small_errors_agree_with_first_order_within_one_percent) {
  uint64_t state = tests_seed();
  for (int trial = 0; trial < 100; trial++) {
    double s[KEYS], v[KEYS];
    for (int j = 0; j < KEYS; j++) {
      s[j] = 20 * tests_uniform(&state) - 10;
      v[j] = 2 * tests_uniform(&state) - 1;
    }
    test_case c;
    case_scores(&c, KEYS, s, 1, v);
    case_input(&c, "sinks", ATTEST_FLOAT64, 1, (int64_t[]){1}, (double[]){s[0] + 1});
    case_set(&c, "softcap", "20");
    if (trial % 2) case_set(&c, "lse-base", "2");
    for (int output = OUTPUT_OUT; output <= OUTPUT_LSE; output++) {
      double got = tests_uniform(&state), quantum = trial % 3 ? 0 : 1e-8;
      problem_slice slice;
      room_balls x;
      attest_error error = {0};
      case_resolve(&c);
      problem_slice_get(&slice, c.problem, 0);
      room_balls_init(&x, 1);
      softmax_ball(&x, c.problem, &slice, 0, output, WANT_OUT, 128, &error);
      got = arf_get_d(arb_midref(x.x), ARF_RND_NEAR) + 1e-6 * (got - 0.5);
      room_balls_clear(&x);
      double expected = first_order(&c, output, got, quantum);
      measure_interval b = bounds(&c, output, got, quantum);
      ck_assert_msg(b.lo > 0.99 * expected && b.hi < 1.01 * expected, "%d: [%g, %g], not %g",
                    output, b.lo, b.hi, expected);
    }
    case_free(&c);
  }
}
END_TEST

/* p = e^-30 with t = 1e9: first order needs 8e10 units for got = 1/2; half a unit does it, for it
 * moves the score by 30. */
START_TEST(large_condition_needs_the_explicit_bound) {
  test_case c;
  case_new(&c);
  case_set(&c, "scale", "1");
  case_qkv(&c, 1, 2, 2, 1, (double[]){1, 1}, (double[]){0, 0, 5e8 - 30, -5e8}, (double[]){0, 1});
  ck_assert_double_gt(first_order(&c, OUTPUT_OUT, 0.5, 0), 1e10);
  measure_interval b = bounds(&c, OUTPUT_OUT, 0.5, 0);
  ck_assert_msg(b.lo > 0.24 && b.hi < 0.51, "[%g, %g]", b.lo, b.hi);
  case_free(&c);
}
END_TEST

/* The scores move lse by 570, a coarse output format by 4 % of what comes out. */
START_TEST(lse_moved_by_scores_and_then_by_its_roundoff_stays_in_reach) {
  const double v[2] = {1, 1}, u = 0x1p-8, size = 10;
  test_case c;
  problem_slice slice;
  measure_interval b;
  attest_error error = {0};
  case_new(&c); /* scores 0 and -30, with t = 0 and 1e9 */
  case_set(&c, "scale", "1");
  case_qkv(&c, 1, 2, 2, 1, (double[]){1, 1}, (double[]){0, 0, 5e8 - 30, -5e8}, v);
  case_resolve(&c);
  problem_slice_get(&slice, c.problem, 0);
  double moved = -30 + size * u_s * (1e9 - 30); /* beyond e^37 the other key does not show */
  double got = moved * (1 + size * u);
  ck_assert(
      !softmax_backward_explicit(&b, c.problem, &slice, 0, OUTPUT_LSE, 0, got, u, u_s, 0, &error));
  ck_assert_msg(b.lo <= size * 1.0001 && b.lo > size * 0.95 && b.hi < size * 1.01, "[%g, %g]", b.lo,
                b.hi);
  case_free(&c);
}
END_TEST

START_TEST(exact_results_have_backward_error_zero) {
  test_case c; /* equal scores: x = 1/2, which no ball of an irrational score shows */
  case_new(&c);
  case_qkv(&c, 1, 2, 2, 1, (double[]){1, 3}, (double[]){1, 1, 4, 0}, (double[]){0, 1});
  measure_interval b = bounds(&c, OUTPUT_OUT, 0.5, 0);
  ck_assert(b.lo == 0 && b.hi == 0);
  case_free(&c);
}
END_TEST

/* Scores of 1e8 and 5e7, values 1 and 2: what scores may do is bounded badly, but 30 takes values
 * moved by 14 of themselves, -3 by 2.5 of themselves, and 1.5 none. */
START_TEST(results_beyond_all_values_take_moved_values) {
  test_case c;
  case_new(&c);
  case_set(&c, "scale", "1");
  case_qkv(&c, 1, 2, 1, 1, (double[]){1e8}, (double[]){1, 0.5}, (double[]){1, 2});
  measure_interval b = bounds(&c, OUTPUT_OUT, 30, 0);
  ck_assert_msg(b.lo > 0.999 * 14 / u_w && b.lo < 14 / u_w && b.hi > b.lo, "[%g, %g]", b.lo, b.hi);
  b = bounds(&c, OUTPUT_OUT, -3, 0);
  ck_assert_msg(b.lo > 0.999 * 2.5 / u_w && b.lo < 2.5 / u_w, "[%g, %g]", b.lo, b.hi);
  b = bounds(&c, OUTPUT_OUT, 1.5, 0);
  ck_assert_msg(b.lo < 1 / u_s, "[%g, %g]", b.lo, b.hi);
  case_free(&c);
}
END_TEST

/* Whether size (unit |v| + quantum) is at most `far`, in exact arithmetic. */
static int reaches(double size, double unit, double v, double quantum, double far) {
  arf_t sum, part, limit;
  arf_init(sum);
  arf_init(part);
  arf_init(limit);
  arf_set_d(sum, unit);
  arf_set_d(part, fabs(v));
  arf_mul(sum, sum, part, ARF_PREC_EXACT, ARF_RND_DOWN);
  arf_set_d(part, quantum);
  arf_add(sum, sum, part, ARF_PREC_EXACT, ARF_RND_DOWN);
  arf_set_d(part, size);
  arf_mul(sum, sum, part, ARF_PREC_EXACT, ARF_RND_DOWN);
  arf_set_d(limit, far);
  int result = arf_cmp(sum, limit) <= 0;
  arf_clear(sum);
  arf_clear(part);
  arf_clear(limit);
  return result;
}

/* One key: its value, however small, moves by `size` units and quanta, or got is out of reach. */
START_TEST(sizes_beyond_subnormal_values_are_bounded_from_below) {
  uint64_t state = 1;
  for (int i = 0; i < 1000; i++) {
    double v = ldexp(1 + (double)(tests_random(&state) % 4096), -1074 + i % 60);
    double got = v + ldexp(1 + (double)(tests_random(&state) % 64), -1074);
    double quantum = ldexp(i % 3, -1074);
    test_case c;
    problem_slice slice;
    softmax_keys keys;
    attest_error error = {0};
    case_scores(&c, 1, (double[]){0}, 1, (double[]){v});
    case_resolve(&c);
    problem_slice_get(&slice, c.problem, 0);
    ck_assert(!softmax_keys_init(&keys, c.problem, &slice, 0, &error));
    double size = softmax_beyond_values(&slice, &keys, 0, got, 0x1p-53, quantum);
    ck_assert_msg(reaches(size, 0x1p-53, v, quantum, got - v),
                  "size %g, value %a, got %a, %g quanta", size, v, got, quantum);
    softmax_keys_clear(&keys);
    case_free(&c);
  }
}
END_TEST

START_TEST(zero_values_move_by_quanta_only) {
  test_case c;
  case_scores(&c, 2, (double[]){1, 2}, 1, (double[]){0, 0});
  measure_interval b = bounds(&c, OUTPUT_OUT, 3e-40, 1e-40);
  ck_assert(b.lo > 2.97 && b.hi < 3.03);
  b = bounds(&c, OUTPUT_OUT, 3e-40, 0);
  ck_assert(b.lo > 1e30 && isinf(b.hi));
  case_free(&c);
  case_scores(&c, 1, (double[]){1}, 1, (double[]){7}); /* an empty row */
  case_input(&c, "mask", ATTEST_BOOL, 2, (int64_t[]){1, 1}, (double[]){0});
  b = bounds(&c, OUTPUT_OUT, 3e-40, 1e-40);
  ck_assert(b.lo > 2.999 && b.hi < 3.001);
  b = bounds(&c, OUTPUT_OUT, 0, 1e-40);
  ck_assert(b.lo == 0 && b.hi == 0);
  case_free(&c);
}
END_TEST

void test_perturb(Suite *suite) {
  TCase *tc = tcase_create("perturb");
  tcase_set_timeout(tc, 20);
  tcase_add_test(tc, perturbations_inside_the_box_stay_above_the_lower_bound);
  tcase_add_test(tc, upper_bound_is_attained_by_the_greedy_perturbation);
  tcase_add_test(tc, small_errors_agree_with_first_order_within_one_percent);
  tcase_add_test(tc, large_condition_needs_the_explicit_bound);
  tcase_add_test(tc, lse_moved_by_scores_and_then_by_its_roundoff_stays_in_reach);
  tcase_add_test(tc, exact_results_have_backward_error_zero);
  tcase_add_test(tc, results_beyond_all_values_take_moved_values);
  tcase_add_test(tc, sizes_beyond_subnormal_values_are_bounded_from_below);
  tcase_add_test(tc, zero_values_move_by_quanta_only);
  suite_add_tcase(suite, tc);
}
