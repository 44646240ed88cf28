/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The explicit state: decoding, merging, saving and loading, counters that do not stall. */
#include <math.h>

#include "fixture_kernel.h"

enum { D = 3, DV = 5, SIZE = 10 /* of degree 2 */ };

static taylor_plan *plan_of(int is_double) {
  attest_error error;
  taylor_plan *plan;
  problem_real scale;
  problem_real_init(&scale);
  problem_real_parse(&scale, "1/2");
  ck_assert_int_eq(taylor_plan_open_taylor(&plan, D, DV, 2, &scale, is_double, &error), ATTEST_OK);
  problem_real_clear(&scale);
  ck_assert_int_eq(plan->size, SIZE);
  return plan;
}

static void open_f32(taylor_state_f32 *state, const taylor_plan *plan, int64_t chunk) {
  attest_error error;
  ck_assert_int_eq(taylor_state_open_f32(state, plan, chunk, &error), ATTEST_OK);
}

/* What state.c holds, as numbers: the sums of hi and lo, (SIZE, DV + 1). */
static void numbers(double *x, const taylor_state_f32 *state) {
  attest_tensor t = attest_tensor_of(x, ATTEST_FLOAT64, 2, (int64_t[]){SIZE, DV + 1});
  taylor_state_save_f32(&t, state);
}

static void fill(float *x, int64_t n, uint64_t *seed) {
  for (int64_t i = 0; i < n; i++)
    x[i] = (float)(2 * tests_uniform(seed) - 1);
}

/* Keys key .. end - 1, one at a time, and settled. */
static void feed(taylor_state_f32 *state, const float *k, const float *v, int64_t key,
                 int64_t end) {
  for (int64_t j = key; j < end; j++)
    taylor_state_update_f32(state, k + j * D, v + j * DV);
  taylor_state_settle_f32(state);
}

/* Token by token with room for c keys: the bits of the chunked form with chunk c. */
START_TEST(decoding_gives_the_bits_of_the_chunked_form) {
  enum { N = 150 };
  uint64_t seed = tests_seed();
  attest_error error;
  for (int chunk = 1; chunk <= 64; chunk += chunk < 8 ? 1 : 19) {
    char text[16];
    snprintf(text, sizeof text, "%d", chunk);
    kernel_spec spec = kernel_causal_spec("chunked", text, N, D, DV);
    kernel_fixture f;
    kernel_fixture_open(&f, &spec, ATTEST_FLOAT32, 1, &seed);
    kernel_fixture_run(&f);
    const float *q = f.problem->input[INPUT_Q].data, *k = f.problem->input[INPUT_K].data;
    const float *v = f.problem->input[INPUT_V].data;
    taylor_plan *plan = plan_of(0);
    taylor_state_f32 state;
    taylor_rows_f32 work;
    float out[DV], saved[SIZE * (DV + 1)];
    open_f32(&state, plan, chunk);
    ck_assert_int_eq(taylor_rows_open_f32(&work, plan, &error), ATTEST_OK);
    for (int64_t i = 0; i < N; i++) {
      taylor_state_update_f32(&state, k + i * D, v + i * DV);
      taylor_state_read_f32(out, &work, &state, q + i * D);
      ck_assert_int_eq(memcmp(out, (float *)f.out.data + i * DV, sizeof out), 0);
    }
    taylor_state_settle_f32(&state);
    attest_tensor t = attest_tensor_of(saved, ATTEST_FLOAT32, 2, (int64_t[]){SIZE, DV + 1});
    taylor_state_save_f32(&t, &state);
    ck_assert_int_eq(memcmp(saved, f.state.data, sizeof saved), 0);
    taylor_state_close_f32(&state);
    taylor_rows_close_f32(&work);
    taylor_plan_close(plan);
    kernel_fixture_close(&f);
  }
}
END_TEST

/* sum |phi_j| |v_j| of feature b and column c, in double: products of three floats are exact to a
 * few roundoffs of double. */
static double term_sum(double *absolute, const taylor_basis *basis, const float *k, const float *v,
                       int64_t n, int64_t b, int64_t c) {
  double sum = 0;
  *absolute = 0;
  for (int64_t j = 0; j < n; j++) {
    double phi[SIZE], x[D];
    for (int i = 0; i < D; i++)
      x[i] = (double)k[j * D + i];
    taylor_monomials_f64(phi, basis, x);
    double term = phi[b] * (c < DV ? (double)v[j * DV + c] : 1);
    sum += term;
    *absolute += fabs(term);
  }
  return sum;
}

/* One roundoff for the monomial, one chain of 64 for a fold, and the folds cost nothing: the error
 * of a state does not grow with its length, in any order of the keys, merged or not. */
START_TEST(merged_states_stay_within_the_bound_of_one_fold) {
  enum { N = 3000, CUT = 1234 };
  uint64_t seed = tests_seed();
  taylor_plan *plan = plan_of(0);
  float *k = malloc(sizeof(float) * N * D), *v = malloc(sizeof(float) * N * DV);
  double whole[SIZE * (DV + 1)], merged[SIZE * (DV + 1)], worst = 0;
  taylor_state_f32 all, one, two;
  fill(k, N * D, &seed);
  fill(v, N * DV, &seed);
  open_f32(&all, plan, 64);
  open_f32(&one, plan, 7);
  open_f32(&two, plan, 64);
  feed(&all, k, v, 0, N);
  feed(&one, k, v, CUT, N); /* the later keys first: a permutation */
  feed(&two, k, v, 0, CUT);
  taylor_state_merge_f32(&two, &one);
  ck_assert_int_eq(two.keys, N);
  numbers(whole, &all);
  numbers(merged, &two);
  for (int64_t i = 0; i < SIZE * (DV + 1); i++) {
    double size, sum = term_sum(&size, plan->basis, k, v, N, i / (DV + 1), i % (DV + 1));
    double bound = (1 + 64) * 0x1p-24 * size; /* gamma_65 but for u^2 */
    ck_assert(fabs(whole[i] - sum) <= bound && fabs(merged[i] - sum) <= bound);
    worst = fmax(worst, fabs(merged[i] - sum) / (0x1p-24 * size));
  }
  printf("state of %d keys: error %.2f roundoffs\n", N, worst);
  ck_assert(worst > 0.01);
  ck_assert(whole[DV] == N && merged[DV] == N); /* the counter, exactly */
  taylor_state_close_f32(&all);
  taylor_state_close_f32(&one);
  taylor_state_close_f32(&two);
  free(k);
  free(v);
  taylor_plan_close(plan);
}
END_TEST

START_TEST(states_load_what_they_saved) {
  enum { N = 40 };
  uint64_t seed = tests_seed();
  taylor_plan *plan = plan_of(0);
  float k[N * D], v[N * DV], q[D], first[DV], second[DV];
  double saved[SIZE * (DV + 1)], again[SIZE * (DV + 1)];
  attest_error error;
  taylor_state_f32 state, loaded;
  taylor_rows_f32 work;
  fill(k, N * D, &seed);
  fill(v, N * DV, &seed);
  fill(q, D, &seed);
  open_f32(&state, plan, 16);
  open_f32(&loaded, plan, 16);
  ck_assert_int_eq(taylor_rows_open_f32(&work, plan, &error), ATTEST_OK);
  feed(&state, k, v, 0, N);
  numbers(saved, &state);
  attest_tensor t = attest_tensor_of(saved, ATTEST_FLOAT64, 2, (int64_t[]){SIZE, DV + 1});
  taylor_state_load_f32(&loaded, &t);
  numbers(again, &loaded);
  ck_assert_int_eq(memcmp(saved, again, sizeof saved), 0);
  taylor_state_read_f32(first, &work, &state, q);
  taylor_state_read_f32(second, &work, &loaded, q);
  ck_assert_int_eq(memcmp(first, second, sizeof first), 0);
  taylor_state_close_f32(&state);
  taylor_state_close_f32(&loaded);
  taylor_rows_close_f32(&work);
  taylor_plan_close(plan);
}
END_TEST

/* A state of 2^24 (2^32) equal keys, then `more` of them: the counter and the values go on. The
 * plain float sum beside it stands still, per token at 2^24, in chunks of 256 at 2^32. */
static void count_on(double start, int step, int more) {
  taylor_plan *plan = plan_of(0);
  attest_error error;
  taylor_state_f32 state;
  taylor_rows_f32 work;
  double x[SIZE * (DV + 1)] = {0};
  float k[D] = {0}, v[DV] = {1, 1, 1, 1, 1}, q[D] = {1, 1, 1}, out[DV];
  volatile float plain = (float)start;
  for (int c = 0; c <= DV; c++)
    x[c] = start;
  attest_tensor t = attest_tensor_of(x, ATTEST_FLOAT64, 2, (int64_t[]){SIZE, DV + 1});
  open_f32(&state, plan, step < 64 ? step : 64);
  ck_assert_int_eq(taylor_rows_open_f32(&work, plan, &error), ATTEST_OK);
  taylor_state_load_f32(&state, &t);
  for (int i = 0; i < more; i++) {
    taylor_state_update_f32(&state, k, v);
    if ((i + 1) % step == 0) plain += (float)step;
  }
  taylor_state_settle_f32(&state);
  taylor_state_read_f32(out, &work, &state, q);
  numbers(x, &state);
  ck_assert((double)plain == start);
  ck_assert(x[DV] == start + more && x[0] == start + more);
  for (int c = 0; c < DV; c++)
    ck_assert(out[c] == 1);
  taylor_state_close_f32(&state);
  taylor_rows_close_f32(&work);
  taylor_plan_close(plan);
}

START_TEST(counters_go_on_where_a_plain_float_sum_stalls) {
  count_on(0x1p24, 1, 1000);
  count_on(0x1p32, 256, 2560);
  count_on(0x1p40, 64, 6400);
}
END_TEST

static attest_verdict verdict_of(kernel_fixture *f, const char *bound) {
  attest_error error;
  ck_assert_int_eq(attest_problem_output(f->problem, "out", &f->out, &error), ATTEST_OK);
  attest_certificate *certificate = attest_check(f->problem, bound, &error);
  ck_assert_msg(certificate != NULL, "%s", error.message);
  attest_verdict verdict = attest_certificate_verdict(certificate);
  attest_certificate_free(certificate);
  return verdict;
}

/* out of the last query by a state of plain float sums, token by token. */
static void plain_recurrence(float *out, const taylor_plan *plan, const float *q, const float *k,
                             const float *v, int64_t n) {
  float state[SIZE * (DV + 1)] = {0}, phi[SIZE], sum[DV + 1] = {0};
  const float *weight = plan->feature_weight;
  for (int64_t j = 0; j < n; j++) {
    taylor_monomials_f32(phi, plan->basis, k + j * D);
    for (int b = 0; b < SIZE; b++)
      for (int c = 0; c <= DV; c++)
        state[b * (DV + 1) + c] += phi[b] * (c < DV ? v[j * DV + c] : 1);
  }
  taylor_monomials_f32(phi, plan->basis, q);
  for (int b = 0; b < SIZE; b++)
    for (int c = 0; c <= DV; c++)
      sum[c] += weight[b] * phi[b] * state[b * (DV + 1) + c];
  for (int c = 0; c < DV; c++)
    out[c] = sum[c] / sum[DV];
}

/* 2^18 keys with values in [1, 3]: certified to a backward error of 2 in the forms that keep a
 * state, refuted at 16 when the state is a plain sum. */
START_TEST(long_contexts_are_certified_and_plain_sums_of_them_refuted) {
  enum { N = 1 << 18 };
  static const char *const forms[] = {"recurrent", "chunked"};
  for (int i = 0; i < 2; i++) {
    uint64_t seed = tests_seed();
    kernel_spec spec = kernel_causal_spec(forms[i], "64", N, D, DV);
    kernel_fixture f;
    spec.nq = 1;
    spec.offset = 2;
    spec.params[1] = "bottom-right";
    kernel_fixture_open(&f, &spec, ATTEST_FLOAT32, 0, &seed);
    kernel_fixture_run(&f);
    ck_assert_int_eq(verdict_of(&f, "backward<=2"), ATTEST_CERTIFIED);
    taylor_plan *plan = plan_of(0);
    plain_recurrence(f.out.data, plan, f.problem->input[INPUT_Q].data,
                     f.problem->input[INPUT_K].data, f.problem->input[INPUT_V].data, N);
    ck_assert_int_eq(verdict_of(&f, "backward<=16"), ATTEST_REFUTED);
    taylor_plan_close(plan);
    kernel_fixture_close(&f);
  }
}
END_TEST

/* 0.999 is no float: were it rounded, 3000 steps would cost hundreds of roundoffs. */
START_TEST(decay_does_not_drift) {
  uint64_t seed = tests_seed();
  kernel_spec spec = kernel_causal_spec("recurrent", "1", 3000, 2, 2);
  spec.nq = 1;
  spec.offset = 2;
  spec.params[1] = "bottom-right";
  spec.params[8] = "decay";
  spec.params[9] = "0.999";
  kernel_fixture f;
  kernel_fixture_open(&f, &spec, ATTEST_FLOAT32, 1, &seed);
  kernel_fixture_run(&f);
  ck_assert(kernel_fixture_state_error(&f) < 3);
  ck_assert(kernel_fixture_out_error(&f) < 8);
  kernel_fixture_close(&f);
}
END_TEST

/* The naive basis of all d^m entries a tensor: a user's state of that kind, converted, reads the
 * same. Its own read, sum over m of scale^m / m! <q^(m), S_m>, is written out here. */
START_TEST(states_of_the_tensor_basis_read_the_same) {
  enum { N = 6, TENSOR = 1 + D + D * D };
  uint64_t seed = tests_seed();
  taylor_plan *plan = plan_of(1);
  attest_error error;
  taylor_state_f64 state;
  taylor_rows_f64 work;
  int64_t map[TENSOR];
  double k[D], v[DV], q[D], tensor[TENSOR * (DV + 1)] = {0}, minimal[SIZE * (DV + 1)];
  double out[DV], sum[DV + 1] = {0};
  for (int j = 0; j < N; j++) {
    for (int i = 0; i < D; i++)
      k[i] = (double)(tests_random(&seed) % 9) - 4; /* integers: all sums exact */
    for (int c = 0; c < DV; c++)
      v[c] = (double)(tests_random(&seed) % 9) - 4;
    for (int t = 0; t < TENSOR; t++) {
      double phi = t == 0 ? 1 : t <= D ? k[t - 1] : k[(t - 1 - D) / D] * k[(t - 1 - D) % D];
      for (int c = 0; c <= DV; c++)
        tensor[t * (DV + 1) + c] += phi * (c < DV ? v[c] : 1);
    }
  }
  for (int i = 0; i < D; i++)
    q[i] = tests_uniform(&seed);
  for (int t = 0; t < TENSOR; t++) {
    double phi = t == 0 ? 1 : t <= D ? q[t - 1] / 2 : q[(t - 1 - D) / D] * q[(t - 1 - D) % D] / 8;
    for (int c = 0; c <= DV; c++)
      sum[c] += phi * tensor[t * (DV + 1) + c];
  }
  taylor_tensor_map(map, plan->basis);
  taylor_tensor_to_state(minimal, tensor, plan->basis, map, DV + 1);
  attest_tensor t = attest_tensor_of(minimal, ATTEST_FLOAT64, 2, (int64_t[]){SIZE, DV + 1});
  ck_assert_int_eq(taylor_state_open_f64(&state, plan, 1, &error), ATTEST_OK);
  ck_assert_int_eq(taylor_rows_open_f64(&work, plan, &error), ATTEST_OK);
  taylor_state_load_f64(&state, &t);
  taylor_state_read_f64(out, &work, &state, q);
  for (int c = 0; c < DV; c++)
    ck_assert_double_eq_tol(out[c], sum[c] / sum[DV], 1e-13 * fabs(sum[c] / sum[DV]) + 1e-13);
  taylor_state_close_f64(&state);
  taylor_rows_close_f64(&work);
  taylor_plan_close(plan);
}
END_TEST

void test_state(Suite *suite) {
  TCase *tc = tcase_create("state");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, decoding_gives_the_bits_of_the_chunked_form);
  tcase_add_test(tc, merged_states_stay_within_the_bound_of_one_fold);
  tcase_add_test(tc, states_load_what_they_saved);
  tcase_add_test(tc, counters_go_on_where_a_plain_float_sum_stalls);
  tcase_add_test(tc, long_contexts_are_certified_and_plain_sums_of_them_refuted);
  tcase_add_test(tc, decay_does_not_drift);
  tcase_add_test(tc, states_of_the_tensor_basis_read_the_same);
  suite_add_tcase(suite, tc);
}
