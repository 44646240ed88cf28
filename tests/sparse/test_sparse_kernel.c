/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The fast kernels of the sparse room, judged by the certifier: a few units of backward error on
 * random and adversarial rows, the same bits on every instruction set. */
#include <math.h>

#include "../../src/certify/certify.h"
#include "../../src/sparse/kernel.h"
#include "fixture_sparse.h"

static attest_tensor output_like(const attest_problem *problem, int output, attest_dtype dtype) {
  int ndim;
  int64_t shape[ATTEST_MAX_DIMS];
  problem_output_shape(&ndim, shape, problem, output);
  attest_tensor t = attest_tensor_of(NULL, dtype, ndim, shape);
  t.data = calloc((size_t)tensor_elements(&t) + 1, tensor_dtype_size(dtype));
  return t;
}

/* The largest error of any kernel in units of its a-priori bound. */
static double theory_used;

/* The largest backward error of the kernel on a problem, certified below the bound. */
static double judged(const attest_problem *problem, attest_dtype dtype, const char *bound,
                     const char *what) {
  attest_problem mine = *problem;
  attest_error error;
  int has_lse = strstr(problem->kernel->outputs, "lse") != NULL;
  attest_tensor out = output_like(problem, OUTPUT_OUT, dtype);
  attest_tensor lse = {0};
  if (has_lse) lse = output_like(problem, OUTPUT_LSE, dtype);
  attest_tensor indices = {0};
  if (problem_kernel_returns(problem->kernel, OUTPUT_INDICES))
    indices = output_like(problem, OUTPUT_INDICES, ATTEST_INT64);
  mine.output[OUTPUT_INDICES] = indices;
  ck_assert_msg(sparse_run_kernel(&out, &lse, &mine, &error) == ATTEST_OK, "%s", error.message);
  mine.output[OUTPUT_OUT] = out;
  mine.output[OUTPUT_LSE] = lse;
  mine.output[OUTPUT_INDICES] = indices;
  certify_bounds bounds = {0, NULL};
  certify_case result;
  room_machine machine = sparse_machine(dtype);
  int continuous = certify_room(problem->kernel->name)->machine != NULL;
  ck_assert_int_eq(certify_bounds_add(&bounds, bound, &error), ATTEST_OK);
  if (continuous) ck_assert_int_eq(certify_bounds_add(&bounds, "theory", &error), ATTEST_OK);
  certify_subject subject = {"kernel", &mine, &bounds, continuous ? &machine : NULL, NULL};
  certify_options options = {.name = "kernel", .allow_empty = 1};
  attest_status status = certify_run(&result, &subject, 1, &options, &error);
  ck_assert_msg(status == ATTEST_OK, "%s: %s", what, error.message);
  double worst = 0;
  for (size_t i = 0; i < result.subjects[0].output_count; i++) {
    const certify_output *o = &result.subjects[0].outputs[i];
    worst = fmax(worst, o->error[MEASURE_BACKWARD].hi);
    if (o->bound_count > 1 && o->bounds[1].verdict == ATTEST_CERTIFIED)
      theory_used = fmax(theory_used, o->error[MEASURE_THEORY].hi);
    ck_assert_msg(o->bound_count < 2 || o->bounds[1].verdict != ATTEST_REFUTED,
                  "%s: the a-priori bound is exceeded %g times", what, o->error[MEASURE_THEORY].hi);
    ck_assert_msg(o->bounds[0].verdict == ATTEST_CERTIFIED,
                  "%s: output %d is %d with backward %g at %lld,%lld,%lld: got %.9g, exact %.9g",
                  what, o->output, o->verdict, o->error[MEASURE_BACKWARD].hi,
                  (long long)o->worst_index[0], (long long)o->worst_index[1],
                  (long long)o->worst_index[2], o->worst_got, o->worst_lo);
  }
  certify_case_clear(&result);
  certify_bounds_clear(&bounds);
  free(out.data);
  free(lse.data);
  free(indices.data);
  return worst;
}

static void describe(char what[512], const fixture_spec *s, int n) {
  int used = snprintf(what, 512, "%s %d, data %d", s->kernel, n, (int)s->data);
  for (int i = 0; s->params[i]; i++)
    used += snprintf(what + used, 512 - (size_t)used, " %s", s->params[i]);
}

START_TEST(kernel_is_certified_on_random_rows) {
  uint64_t seed = tests_seed() * 811 + (uint64_t)_i;
  double worst = 0;
  for (int n = 0; n < 40; n++) {
    fixture_spec s;
    fixture f;
    char what[512];
    fixture_draw_sparse(&s, _i, &seed);
    if (s.data == DATA_EXTREME) continue; /* beyond the range of float32 */
    /* Scores underflow in float32, and these kernels look at nothing but their order, or at scores
     * beside nothing else. */
    int scale_free = !strncmp(s.kernel, "topk", 4) || !strcmp(s.kernel, "normrelu");
    if (s.data == DATA_DENORMAL && scale_free) continue;
    describe(what, &s, n);
    fixture_open(&f, &s, &seed);
    worst = fmax(worst, judged(f.problem, ATTEST_FLOAT32, "backward<=16", what));
    fixture_close(&f);
  }
  printf("%-13s float32 backward <= %.2f, error <= %.3f of the a-priori bound\n",
         sparse_rooms[_i].name, worst, theory_used);
}
END_TEST

/* One step of the kernels under every instruction set this machine has; the results must not
 * differ in a bit. */
#if defined(__x86_64__)
#define EACH_ISA(result, bytes, function, ...)                                                     \
  {                                                                                                \
    char first[sizeof result];                                                                     \
    function##_baseline(__VA_ARGS__);                                                              \
    memcpy(first, result, bytes);                                                                  \
    if (isa_chosen() >= ISA_AVX2) function##_avx2(__VA_ARGS__);                                    \
    ck_assert_msg(!memcmp(first, result, bytes), #function ": avx2 differs");                      \
    if (isa_chosen() >= ISA_AVX512) function##_avx512(__VA_ARGS__);                                \
    ck_assert_msg(!memcmp(first, result, bytes), #function ": avx512 differs");                    \
  }
#else
#define EACH_ISA(result, bytes, function, ...) function##_baseline(__VA_ARGS__);
#endif

enum { KEYS = 3 * SPARSE_PANEL, WIDE = 48 };

#define STEPS(real, suffix)                                                                        \
  static void steps_##suffix(uint64_t *seed) {                                                     \
    static _Alignas(64) real q[SPARSE_ROWS * 9], keys[KEYS * 9], values[KEYS * WIDE];              \
    static _Alignas(64) real score[SPARSE_ROWS * KEYS], out[WIDE];                                 \
    sparse_support s;                                                                              \
    ck_assert(sparse_support_open(&s, KEYS));                                                      \
    for (int i = 0; i < SPARSE_ROWS * 9; i++)                                                      \
      q[i] = (real)(tests_uniform(seed) - 0.5);                                                    \
    for (int i = 0; i < KEYS * 9; i++)                                                             \
      keys[i] = (real)(tests_uniform(seed) - 0.5);                                                 \
    for (int i = 0; i < KEYS * WIDE; i++)                                                          \
      values[i] = (real)(tests_uniform(seed) - 0.5);                                               \
    for (int distance = 0; distance < 2; distance++)                                               \
      EACH_ISA(score, sizeof score, sparse_scores_##suffix, score, KEYS, q, keys, 9, 0, 3,         \
               distance);                                                                          \
    real above = (real)0.1;                                                                        \
    sparse_gather_##suffix##_baseline(&s, score, KEYS - 3, above);                                 \
    int64_t count = s.count, last = s.key[count - 1];                                              \
    ck_assert(ISA_DISPATCH(sparse_largest_##suffix)(score, KEYS - 3) ==                            \
              sparse_largest_##suffix##_baseline(score, KEYS - 3));                                \
    ISA_DISPATCH(sparse_gather_##suffix)(&s, score, KEYS - 3, above);                              \
    ck_assert(s.count == count && s.key[count - 1] == last && count > 20);                         \
    for (int64_t i = 0; i < s.count; i++)                                                          \
      s.weight[i] = tests_uniform(seed);                                                           \
    s.sum = 17;                                                                                    \
    EACH_ISA(out, sizeof out, sparse_combine_##suffix, out, &s, values, WIDE, (real)4);            \
    sparse_support_close(&s);                                                                      \
  }
STEPS(float, f32)
STEPS(double, f64)

static void solve_steps(uint64_t *seed, double r, int whole) {
  enum { N = 77, PADDED = 80 };
  static double gap[PADDED], given[PADDED], w[PADDED];
  for (int i = 0; i < PADDED; i++)
    given[i] = i >= N ? 2 : i == 5 ? 0 : tests_uniform(seed);
  double (*const solvers[])(double *, double *, double *, int64_t *, int64_t *, double, int,
                            int) = {
    sparse_solve_gaps_baseline,
#if defined(__x86_64__)
    sparse_solve_gaps_avx2,
    sparse_solve_gaps_avx512
#endif
  };
  double first[PADDED], scratch[PADDED], sum = 0;
  int64_t key[PADDED], kept = 0;
  for (int i = 0; i <= (int)isa_chosen(); i++) {
    int64_t keys = N;
    memcpy(gap, given, sizeof gap);
    memset(w, 0, sizeof w);
    for (int j = 0; j < N; j++)
      key[j] = j;
    double total = solvers[i](w, scratch, gap, key, &keys, r, whole, whole == 0 && r < 5);
    if (i == 0) memcpy(first, w, sizeof first);
    if (i == 0) sum = total, kept = keys;
    ck_assert_msg(total == sum && keys == kept && !memcmp(first, w, sizeof w),
                  "r = %g: bits differ", r);
  }
  ck_assert_msg(fabs(sum - 1) <= 0x1p-26, "r = %g: the weights add up to %.17g", r, sum);
}

START_TEST(steps_give_the_same_bits_on_every_instruction_set) {
  uint64_t seed = tests_seed();
  steps_f32(&seed);
  steps_f64(&seed);
  for (int i = 0; i < 20; i++) {
    solve_steps(&seed, 1, 1);
    solve_steps(&seed, 2, 2);
    solve_steps(&seed, 3, 3);
    solve_steps(&seed, 2.7, 0);
    solve_steps(&seed, 10, 0);
    solve_steps(&seed, 1e4, 0);
    solve_steps(&seed, 0.5, 0);
    solve_steps(&seed, 1.0 / 9, 0);
    solve_steps(&seed, 0.01, 0);
    solve_steps(&seed, 1e-4, 0);
  }
}
END_TEST

/* One key leads by 1, the least at which it takes all: exactly the threshold of every alpha. For r
 * < 1 a threshold rounded up gives the others weights of a power of that rounding. */
START_TEST(keys_at_the_threshold_have_no_weight) {
  static const double power[] = {1e-4, 0.01, 0.1, 1.0 / 9, 0.15, 0.25, 1.0 / 3, 0.4, 0.5, 0.7, 0.9};
  for (size_t p = 0; p < sizeof power / sizeof *power; p++)
    for (int keys = 2; keys <= 6; keys++)
      for (int is_double = 0; is_double < 2; is_double++) {
        double gap[16], w[16] = {0}, scratch[16], most = 0, sum = 0;
        int64_t key[16], left = keys, leader = -1;
        for (int j = 0; j < 16; j++) {
          gap[j] = j == 1 ? 0 : j < keys ? 1 : 2;
          key[j] = j;
        }
        ISA_DISPATCH(sparse_solve_gaps)
        (w, scratch, gap, key, &left, power[p], 0, is_double);
        for (int64_t j = 0; j < left; j++) {
          if (key[j] == 1)
            leader = j;
          else
            most = fmax(most, w[j]);
          sum += w[j];
        }
        ck_assert(leader >= 0);
        ck_assert_msg(most == 0 && fabs(w[leader] - 1) <= 0x1p-30 && fabs(sum - 1) <= 0x1p-30,
                      "r = %g, %d keys, double %d: %g and %.17g", power[p], keys, is_double, most,
                      w[leader]);
      }
}
END_TEST

/* alpha = 101: what is left of u above the edge, t^100, underflows, and the last key weighs t = 1 -
 * 2^-0.01 all the same. */
START_TEST(the_last_key_has_its_weight_where_the_rest_underflows) {
  for (int is_double = 0; is_double < 2; is_double++) {
    double gap[16], w[16] = {0}, scratch[16];
    int64_t key[16], left = 3;
    for (int j = 0; j < 16; j++) {
      gap[j] = j == 0 ? 0 : j == 1 ? 0.5 : j == 2 ? 0.75 : 2;
      key[j] = j;
    }
    ISA_DISPATCH(sparse_solve_gaps)(w, scratch, gap, key, &left, 0.01, 0, is_double);
    double least = is_double ? 1e-14 : 1e-7, last = 1 - exp2(-0.01);
    ck_assert_int_ge(left, 2);
    ck_assert_msg(fabs(w[0] - exp2(-0.01)) <= least && fabs(w[1] - last) <= least,
                  "double %d: %.17g and %.17g", is_double, w[0], w[1]);
    ck_assert(left < 3 || w[2] == 0);
  }
}
END_TEST

START_TEST(float64_kernel_is_certified_on_random_rows) {
  uint64_t seed = tests_seed() * 577 + (uint64_t)_i;
  double worst = 0;
  for (int n = 0; n < 16; n++) {
    fixture_spec s;
    fixture f;
    char what[512];
    fixture_draw_sparse(&s, _i, &seed);
    if (s.data == DATA_EXTREME) continue;
    if (s.nk > 100) s.nk /= 8;
    describe(what, &s, n);
    fixture_open(&f, &s, &seed);
    worst = fmax(worst, judged(f.problem, ATTEST_FLOAT64, "backward<=16", what));
    fixture_close(&f);
  }
  printf("%-13s float64 backward <= %.2f\n", sparse_rooms[_i].name, worst);
}
END_TEST

void test_sparse_kernel(Suite *suite) {
  TCase *tc = tcase_create("sparse_kernel");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, kernel_is_certified_on_random_rows, 0, SPARSE_KERNELS);
  tcase_add_loop_test(tc, float64_kernel_is_certified_on_random_rows, 0, SPARSE_KERNELS);
  tcase_add_test(tc, steps_give_the_same_bits_on_every_instruction_set);
  tcase_add_test(tc, keys_at_the_threshold_have_no_weight);
  tcase_add_test(tc, the_last_key_has_its_weight_where_the_rest_underflows);
  suite_add_tcase(suite, tc);
}
