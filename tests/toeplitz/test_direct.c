/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The loops of the float32 direct kernel: the same bits on every instruction set, and no more
 * roundings than its machine model counts. */
#include <math.h>

#include "../../src/toeplitz/rows.h"
#include "../tests.h"
#include "fixture_positions.h"

ISA_DECLARE(float, rows_sum_single, (const float *w, const float *v, int64_t n));
ISA_DECLARE(void, rows_scores_single,
            (float *score, const rows_floats *floats, const rows_pack *pack, int64_t i, int64_t lo,
             int64_t hi));

enum { LEVELS = 3, LONGEST = 3000 };

typedef float sum_function(const float *w, const float *v, int64_t n);
typedef void scores_function(float *score, const rows_floats *floats, const rows_pack *pack,
                             int64_t i, int64_t lo, int64_t hi);
#if defined(__x86_64__)
static sum_function *const sums[LEVELS] = {rows_sum_single_baseline, rows_sum_single_avx2,
                                           rows_sum_single_avx512};
static scores_function *const scores[LEVELS] = {rows_scores_single_baseline,
                                                rows_scores_single_avx2, rows_scores_single_avx512};
#else
static sum_function *const sums[LEVELS] = {rows_sum_single_baseline};
static scores_function *const scores[LEVELS] = {rows_scores_single_baseline};
#endif

static void draw(float *x, int64_t n, int positive, uint64_t *seed) {
  for (int64_t i = 0; i < n; i++)
    x[i] = (float)(positive ? 0.5 + tests_uniform(seed) : 2 * tests_uniform(seed) - 1);
}

static const int64_t lengths[] = {1, 2, 15, 16, 17, 63, 64, 65, 500, 1023, 1024, 1025, LONGEST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

START_TEST(sums_are_the_same_on_every_instruction_set) {
  static float w[LONGEST], v[LONGEST];
  uint64_t seed = tests_seed();
  for (int n = 0; n < LENGTHS; n++) {
    draw(w, lengths[n], 0, &seed);
    draw(v, lengths[n], 0, &seed);
    for (int level = 0; level <= (int)isa_chosen(); level++)
      for (int alone = 0; alone < 2; alone++) {
        const float *second = alone ? NULL : v;
        float a = sums[0](w, second, lengths[n]), b = sums[level](w, second, lengths[n]);
        ck_assert_msg(!memcmp(&a, &b, sizeof a), "%lld terms, %s: %a, not %a",
                      (long long)lengths[n], isa_name((isa_level)level), (double)b, (double)a);
      }
  }
}
END_TEST

/* Positive terms: every rounding moves the sum by at most u times itself. */
START_TEST(sums_round_no_more_than_the_machine_model_counts) {
  static float w[LONGEST], v[LONGEST];
  uint64_t seed = tests_seed();
  room_machine machine = toeplitz_machine(ATTEST_FLOAT32);
  double worst = 0;
  ck_assert_int_eq(machine.products, ATTEST_FLOAT32);
  ck_assert_int_eq(machine.accumulate, ATTEST_FLOAT32);
  for (int draws = 0; draws < 50; draws++)
    for (int n = 0; n < LENGTHS; n++) {
      double exact = 0, keys = (double)lengths[n], block = (double)machine.block;
      draw(w, lengths[n], 1, &seed);
      draw(v, lengths[n], 1, &seed);
      for (int64_t j = 0; j < lengths[n]; j++)
        exact += (double)w[j] * (double)v[j];
      double depth = fmin(block, keys) + ceil(keys / fmin(block, keys)) + 2;
      double error = fabs((double)rows_sum_single(w, v, lengths[n]) - exact) / exact;
      worst = fmax(worst, error / (depth * 0x1p-24));
    }
  printf("float sums: largest error/bound %.3f\n", worst);
  ck_assert_double_lt(worst, 1);
  ck_assert_double_gt(worst, 0.01);
}
END_TEST

START_TEST(scores_are_the_same_on_every_instruction_set) {
  static const char *const kernels[] = {"toeplitz", "rope-linear"};
  uint64_t seed = tests_seed();
  for (int kernel = 0; kernel < 2; kernel++) {
    positions_spec s = {.kernel = kernels[kernel],
                        .heads_q = 1,
                        .heads_k = 1,
                        .nq = 7,
                        .nk = 77,
                        .d = 4,
                        .dv = 1,
                        .dtype = ATTEST_FLOAT32,
                        .size = 1,
                        .weights = WEIGHTS_DENSE};
    positions p;
    problem_slice slice;
    rows_pack *pack;
    rows_floats floats;
    attest_error error;
    positions_open(&p, &s, &seed);
    positions_run(&p, ATTEST_FLOAT32);
    problem_slice_get(&slice, p.problem, 0);
    ck_assert_int_eq(rows_pack_open(&pack, p.problem, &slice, &error), ATTEST_OK);
    ck_assert(rows_floats_open(&floats, pack));
    for (int64_t i = 0; i < s.nq; i++)
      for (int level = 0; level <= (int)isa_chosen(); level++) {
        float a[77] = {0}, b[77] = {0};
        scores[0](a, &floats, pack, i, i, 77);
        scores[level](b, &floats, pack, i, i, 77);
        ck_assert_msg(!memcmp(a, b, sizeof a), "%s, row %lld, %s", kernels[kernel], (long long)i,
                      isa_name((isa_level)level));
      }
    rows_floats_close(&floats);
    rows_pack_close(pack);
    positions_close(&p);
  }
}
END_TEST

void test_direct(Suite *suite) {
  TCase *tc = tcase_create("direct");
  tcase_add_test(tc, sums_are_the_same_on_every_instruction_set);
  tcase_add_test(tc, sums_round_no_more_than_the_machine_model_counts);
  tcase_add_test(tc, scores_are_the_same_on_every_instruction_set);
  suite_add_tcase(suite, tc);
}
