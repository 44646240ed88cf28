/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* References, enclosures and direct kernels of rope-softmax, rope-linear and toeplitz against sums
 * in balls from the definition. */
#include <math.h>

#include "fixture_positions.h"

static const char *const kernels[] = {"rope-softmax", "rope-linear", "toeplitz"};
enum { KERNELS = 3, PREC = 220 };

typedef struct {
  int64_t elements, unknown, unknown_dd;
  double worst, worst_dd; /* largest |x^ - x| / radius */
} tally;

typedef struct {
  room_block block;
  double *numbers;
  unsigned char *classes;
} cells;

static void cells_open(cells *c, int64_t rows, int64_t dv) {
  int64_t n = rows * dv + 1;
  memset(c, 0, sizeof *c);
  c->numbers = calloc((size_t)(7 * n + 6 * rows), sizeof(double));
  c->classes = calloc((size_t)(n + rows), 1);
  double **fields[] = {&c->block.out.x,     &c->block.out.radius, &c->block.out.a_lo,
                       &c->block.out.a_hi,  &c->block.out.s_lo,   &c->block.out.s_hi,
                       &c->block.out.theory};
  for (int i = 0; i < 7; i++)
    *fields[i] = c->numbers + i * n;
  c->block.reach = c->numbers + 7 * n;
  c->block.out.class = c->classes;
  c->block.out.width = dv;
  c->block.rows = rows;
}

static void cells_close(cells *c) {
  free(c->numbers);
  free(c->classes);
}

static void same_ball(const arb_t a, const arb_t b, const char *what, slong bits) {
  ck_assert_msg(arb_overlaps(a, b), "%s: the balls are apart", what);
  ck_assert_msg(arb_rel_accuracy_bits(a) >= bits || arb_contains_zero(b), "%s: %ld bits", what,
                (long)arb_rel_accuracy_bits(a));
}

/* The double-double tier, where the room has one. */
static void compare_dd(tally *t, const problem_room *room, const problem_slice *slice,
                       const void *work, arb_srcptr x, int64_t row) {
  int64_t dv = slice->dv;
  double *parts = calloc((size_t)(3 * dv), sizeof *parts);
  arb_t distance, part;
  arb_init(distance);
  arb_init(part);
  room->rows_dd(parts, parts + dv, parts + 2 * dv, work, row, OUTPUT_OUT);
  for (int64_t i = 0; i < dv; i++) {
    double radius = parts[2 * dv + i];
    t->unknown_dd += radius == INFINITY;
    if (radius == INFINITY || arb_rel_accuracy_bits(x + i) < 150) continue;
    arb_set(distance, x + i);
    for (int p = 0; p < 2; p++) {
      arb_set_d(part, parts[p * dv + i]);
      arb_sub(distance, distance, part, PREC);
    }
    double error = fmax(fabs(enclosure_upper(distance)), fabs(enclosure_lower(distance)));
    ck_assert_msg(error <= radius, "double-double: error %g, radius %g", error, radius);
    t->worst_dd = fmax(t->worst_dd, error / radius);
  }
  arb_clear(distance);
  arb_clear(part);
  free(parts);
}

/* One row: the ball tier against direct sums, the double tier against those. */
static void compare_row(tally *t, const problem_room *room, const attest_problem *problem,
                        const problem_slice *slice, const cells *c, const void *work, int64_t row) {
  attest_error error;
  room_balls balls;
  int64_t dv = slice->dv;
  arb_ptr x = _arb_vec_init(3 * dv), a = x + dv, s = a + dv;
  room_balls_init(&balls, dv);
  ck_assert_int_eq(
      room->ball(&balls, problem, slice, row, OUTPUT_OUT, WANT_OUT | WANT_CONDITION, PREC, &error),
      ATTEST_OK);
  int64_t lo, hi, visible = 0;
  problem_visible_range(&lo, &hi, problem, slice, row);
  for (int64_t j = lo; j < hi; j++)
    visible += problem_visible(problem, slice, row, j);
  if (visible) positions_dense(x, a, s, problem, slice, row, PREC + 100);
  if (visible && room->rows_dd) compare_dd(t, room, slice, work, x, row);
  for (int64_t i = 0; i < dv; i++) {
    int64_t at = row * dv + i;
    ck_assert_int_eq(c->block.out.class[at], balls.class[i]);
    if (balls.class[i] != EXACT_FINITE) continue;
    t->elements++;
    if (arb_is_finite(x + i) && arb_rel_accuracy_bits(x + i) > 150) {
      same_ball(balls.x + i, x + i, "x", 100);
      same_ball(balls.a + i, a + i, "A", 100);
      same_ball(balls.s + i, s + i, "S", enclosure_lower(s + i) > 1e-20 ? 100 : WORD_MIN);
    }
    if (c->block.out.radius[at] == INFINITY) {
      t->unknown++;
      continue;
    }
    arb_t distance;
    arb_init(distance);
    arb_set_d(distance, c->block.out.x[at]);
    arb_sub(distance, distance, x + i, PREC);
    double error_hi = fmax(fabs(enclosure_upper(distance)), fabs(enclosure_lower(distance)));
    arb_clear(distance);
    if (error_hi > 0) t->worst = fmax(t->worst, error_hi / c->block.out.radius[at]);
    ck_assert_msg(error_hi <= c->block.out.radius[at], "%s: error %g, radius %g", room->name,
                  error_hi, c->block.out.radius[at]);
    ck_assert(enclosure_upper(a + i) >= c->block.out.a_lo[at]);
    ck_assert(enclosure_lower(a + i) <= c->block.out.a_hi[at]);
    ck_assert_msg(enclosure_upper(s + i) >= c->block.out.s_lo[at], "%s: S %g below %g", room->name,
                  enclosure_upper(s + i), c->block.out.s_lo[at]);
    ck_assert_msg(enclosure_lower(s + i) <= c->block.out.s_hi[at], "%s: S %g above %g", room->name,
                  enclosure_lower(s + i), c->block.out.s_hi[at]);
  }
  room_balls_clear(&balls);
  _arb_vec_clear(x, 3 * dv);
}

static void compare_problem(tally *t, const attest_problem *problem) {
  attest_error error;
  const problem_room *room = certify_room(problem->kernel->name);
  for (int64_t i = 0; i < problem_slice_count(problem); i++) {
    problem_slice slice;
    void *work;
    cells c;
    problem_slice_get(&slice, problem, i);
    ck_assert_int_eq(room->open(&work, problem, &slice, WANT_OUT | WANT_CONDITION, &error),
                     ATTEST_OK);
    cells_open(&c, slice.nq, slice.dv);
    room->rows(&c.block, work, WANT_OUT | WANT_CONDITION);
    for (int64_t row = 0; row < slice.nq; row++)
      compare_row(t, room, problem, &slice, &c, work, row);
    cells_close(&c);
    room->close(work);
  }
}

START_TEST(every_tier_contains_the_sums_of_the_definition) {
  uint64_t seed = tests_seed();
  tally t = {0};
  static const int problems[KERNELS] = {80, 90, 125};
  for (int i = 0; i < problems[_i]; i++) {
    positions_spec spec;
    positions p;
    positions_draw(&spec, kernels[_i], &seed);
    positions_open(&p, &spec, &seed);
    compare_problem(&t, p.problem);
    positions_close(&p);
  }
  printf("%s: %lld elements against direct sums (%lld left to the balls), largest error/radius "
         "%.4f\n",
         kernels[_i], (long long)t.elements, (long long)t.unknown, t.worst);
  ck_assert_int_gt(t.elements, 10000);
  ck_assert_int_lt(t.unknown, t.elements / 4);
  ck_assert_double_gt(t.worst, 0.001);
  if (!certify_room(kernels[_i])->rows_dd) return;
  printf("%s: double-double (%lld left to the balls), largest error/radius %.4f\n", kernels[_i],
         (long long)t.unknown_dd, t.worst_dd);
  ck_assert_int_lt(t.unknown_dd, t.elements / 4);
  ck_assert_double_gt(t.worst_dd, 1e-5);
}
END_TEST

/* Magnitudes at which squares, norms or rotated vectors overflow or underflow; scores of order 1.
 */
START_TEST(extreme_magnitudes_are_enclosed_or_left_to_the_balls) {
  static const struct {
    double size;
    const char *scale;
  } cases[] = {{1e160, "1e-320"}, {1e-170, "1e340"}, {7e307, "1e-615"},
               {1e-300, "1e9"},   {1e-320, "1e300"}, {1e100, "1e-200"}};
  uint64_t seed = tests_seed();
  tally t = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int pairs = 0; pairs < 2; pairs++) {
      positions_spec spec = {.kernel = kernels[_i],
                             .heads_q = 1,
                             .heads_k = 1,
                             .nq = 9,
                             .nk = 12,
                             .d = 4,
                             .dv = 2,
                             .dtype = ATTEST_FLOAT64,
                             .params = {"scale", cases[i].scale},
                             .size = cases[i].size,
                             .positive = pairs};
      positions p;
      positions_open(&p, &spec, &seed);
      compare_problem(&t, p.problem);
      positions_close(&p);
    }
  ck_assert_int_gt(t.elements, t.unknown);
}
END_TEST

/* Keys (x, -x) with x = 1.5e308 at positions 1 and 2 are finite, and infinite once rotated. */
START_TEST(keys_that_overflow_when_rotated_are_left_to_the_balls) {
  uint64_t seed = tests_seed();
  tally t = {0};
  positions_spec spec = {.kernel = kernels[_i],
                         .heads_q = 1,
                         .heads_k = 1,
                         .nq = 1,
                         .nk = 3,
                         .d = 2,
                         .dv = 2,
                         .dtype = ATTEST_FLOAT64,
                         .params = {"scale", "1e-8"},
                         .size = 1e-300};
  positions p;
  positions_open(&p, &spec, &seed);
  double *k = p.memory[1];
  k[2] = k[4] = 1.5e308;
  k[3] = k[5] = -1.5e308;
  compare_problem(&t, p.problem);
  ck_assert_int_eq(t.elements, 2);
  ck_assert_int_eq(t.unknown, 2);
  positions_close(&p);
}
END_TEST

START_TEST(direct_kernels_are_certified) {
  uint64_t seed = tests_seed();
  for (int i = 0; i < 12; i++) {
    positions_spec spec;
    positions p;
    positions_draw(&spec, kernels[_i], &seed);
    spec.nk = 1 + spec.nk / 2;
    positions_open(&p, &spec, &seed);
    for (int wide = 0; wide < 2; wide++) {
      positions_run(&p, wide ? ATTEST_FLOAT64 : ATTEST_FLOAT32);
      ck_assert_msg(positions_verdict(&p, "backward<=16 theory") == ATTEST_CERTIFIED,
                    "%s: problem %d is not certified in %s", kernels[_i], i,
                    wide ? "float64" : "float32");
    }
    positions_close(&p);
  }
}
END_TEST

/* ---- mutants ---- */

typedef enum { SOUND, ANGLE_SIGN, OTHER_PAIRS, BASE_POWER, REVERSED_OFFSET, MUTANTS } mutant;

/* toeplitz with W_p = R_{-p} is rope-softmax; a mutant changes one thing about W on one side. */
static void mutate(double *w, int64_t n, int64_t d, mutant kind) {
  if (kind == SOUND) return;
  memset(w, 0, (size_t)((2 * n - 1) * d * d) * sizeof *w);
  for (int64_t p = 0; p < 2 * n - 1; p++)
    for (int64_t m = 0; m < d / 2; m++) {
      double power = (double)(kind == BASE_POWER ? m + 1 : m);
      double angle = (double)(n - 1 - p) * pow(10000, -2 * power / (double)d);
      if (kind == ANGLE_SIGN) angle = -angle;
      int64_t a = kind == OTHER_PAIRS ? m : 2 * m, b = kind == OTHER_PAIRS ? m + d / 2 : a + 1;
      double *matrix = w + p * d * d;
      matrix[a * d + a] = matrix[b * d + b] = cos(angle);
      matrix[a * d + b] = -sin(angle);
      matrix[b * d + a] = sin(angle);
    }
  for (int64_t p = 0; kind == REVERSED_OFFSET && p < n - 1; p++)
    for (int64_t i = 0; i < d * d; i++) {
      double x = w[p * d * d + i], *y = w + (2 * n - 2 - p) * d * d + i;
      w[p * d * d + i] = *y;
      *y = x;
    }
}

/* The output of a mutated toeplitz kernel, judged as rope-softmax. */
static attest_verdict verdict_of(mutant kind) {
  static const positions_spec rope = {
      "rope-softmax", 1, 1, 24, 24, 8, 4, ATTEST_FLOAT32, {NULL}, 0, 1, 0, WEIGHTS_ROTARY, 0};
  positions_spec general = rope;
  positions exact, broken;
  attest_error error;
  uint64_t first = tests_seed(), second = first;
  general.kernel = "toeplitz";
  positions_open(&exact, &rope, &first);
  positions_open(&broken, &general, &second);
  mutate(broken.memory[3], rope.nq, rope.d, kind);
  positions_run(&broken, ATTEST_FLOAT32);
  attest_tensor out = broken.problem->output[OUTPUT_OUT];
  ck_assert_int_eq(attest_problem_output(exact.problem, "out", &out, &error), ATTEST_OK);
  ck_assert_int_eq(problem_resolve(exact.problem, &error), ATTEST_OK);
  attest_verdict verdict = positions_verdict(&exact, "backward<=16");
  positions_close(&exact);
  positions_close(&broken);
  return verdict;
}

START_TEST(toeplitz_with_rotations_is_rope_and_mutants_are_refuted) {
  for (int kind = SOUND; kind < MUTANTS; kind++)
    ck_assert_msg(verdict_of((mutant)kind) == (kind == SOUND ? ATTEST_CERTIFIED : ATTEST_REFUTED),
                  "mutant %d", kind);
}
END_TEST

/* ---- edges ---- */

START_TEST(zero_scores_of_rope_linear_are_not_a_number) {
  positions_spec spec = {"rope-linear", 1, 1, 3, 3, 4, 2, ATTEST_FLOAT32, {NULL}, 0, 0, 0, 0, 0};
  uint64_t seed = tests_seed();
  positions p;
  positions_open(&p, &spec, &seed);
  positions_run(&p, ATTEST_FLOAT32);
  ck_assert(isnan(((float *)p.memory[5])[0]));
  ck_assert_int_eq(positions_verdict(&p, "backward<=16 theory"), ATTEST_CERTIFIED);
  ((float *)p.memory[5])[1] = 0;
  ck_assert_int_eq(positions_verdict(&p, "backward<=16"), ATTEST_REFUTED);
  positions_close(&p);
}
END_TEST

/* W = 0: every row is the mean of the values it sees. */
START_TEST(zero_weights_give_means) {
  positions_spec spec = {
      "toeplitz",   1, 1, 5, 5, 2, 1, ATTEST_FLOAT32, {"causal", "top-left", NULL}, 0, 1, 0,
      WEIGHTS_ZERO, 0};
  uint64_t seed = tests_seed();
  positions p;
  positions_open(&p, &spec, &seed);
  positions_run(&p, ATTEST_FLOAT64);
  const float *v = p.memory[2];
  const double *out = p.memory[5];
  double sum = 0;
  for (int i = 0; i < 5; i++) {
    sum += (double)v[i];
    ck_assert_double_eq_tol(out[i], sum / (i + 1), 1e-15);
  }
  positions_close(&p);
}
END_TEST

static const char *refusal(const char *kernel, int64_t d, int64_t matrices, const char *param,
                           const char *value) {
  static attest_error error;
  static float zeros[4096];
  int64_t shape[3] = {1, 5, d}, square[3] = {matrices, d, d};
  attest_problem *problem = attest_problem_new(kernel, &error);
  ck_assert_ptr_nonnull(problem);
  static const char *const names[] = {"q", "k", "v"};
  for (int i = 0; i < 3; i++) {
    attest_tensor t = attest_tensor_of(zeros, ATTEST_FLOAT32, 3, shape);
    ck_assert_int_eq(attest_problem_input(problem, names[i], &t, &error), ATTEST_OK);
  }
  if (matrices) {
    attest_tensor t = attest_tensor_of(zeros, ATTEST_FLOAT32, 3, square);
    ck_assert_int_eq(attest_problem_input(problem, "weights", &t, &error), ATTEST_OK);
  }
  if (param) ck_assert_int_eq(attest_problem_set(problem, param, value, &error), ATTEST_OK);
  error.message[0] = 0;
  ck_assert_int_ne(problem_resolve(problem, &error), ATTEST_OK);
  attest_problem_free(problem);
  return error.message;
}

START_TEST(what_has_no_meaning_is_refused_with_a_reason) {
  ck_assert_ptr_nonnull(strstr(refusal("rope-softmax", 3, 0, NULL, NULL), "even"));
  ck_assert_ptr_nonnull(strstr(refusal("rope-linear", 5, 0, NULL, NULL), "d is 5"));
  ck_assert_ptr_nonnull(strstr(refusal("toeplitz", 2, 0, NULL, NULL), "weights is missing"));
  ck_assert_ptr_nonnull(strstr(refusal("toeplitz", 2, 8, NULL, NULL), "(9, 2, 2)"));
  ck_assert_ptr_nonnull(strstr(refusal("rope-softmax", 4, 0, "nonfinite", "ieee"), "nonfinite"));
}
END_TEST

void test_positions(Suite *suite) {
  TCase *tc = tcase_create("positions");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, every_tier_contains_the_sums_of_the_definition, 0, KERNELS);
  tcase_add_loop_test(tc, extreme_magnitudes_are_enclosed_or_left_to_the_balls, 0, KERNELS);
  tcase_add_loop_test(tc, keys_that_overflow_when_rotated_are_left_to_the_balls, 0, 2);
  tcase_add_loop_test(tc, direct_kernels_are_certified, 0, KERNELS);
  tcase_add_test(tc, toeplitz_with_rotations_is_rope_and_mutants_are_refuted);
  tcase_add_test(tc, zero_scores_of_rope_linear_are_not_a_number);
  tcase_add_test(tc, zero_weights_give_means);
  tcase_add_test(tc, what_has_no_meaning_is_refused_with_a_reason);
  suite_add_tcase(suite, tc);
}
