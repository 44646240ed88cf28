/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The fast kernels against the plain sums, and the same bits everywhere. */
#include <math.h>
#include <omp.h>

#include "fixture_kernel.h"

/* Whether out and final-state can both be asked for. */
static int may_keep(const kernel_spec *spec) {
  for (int p = 0; spec->params[p]; p += 2)
    if (!strcmp(spec->params[p], "window")) return 0;
  return !spec->mask;
}

static void explain(const kernel_spec *spec, double out, double state) {
  printf("%s: out %g, state %g; nq %d nk %d d %d dv %d heads %d %d mask %d initial %d",
         spec->kernel, out, state, (int)spec->nq, (int)spec->nk, (int)spec->d, (int)spec->dv,
         (int)spec->heads_q, (int)spec->heads_k, spec->mask, spec->initial);
  for (int p = 0; spec->params[p]; p += 2)
    printf(" %s %s", spec->params[p], spec->params[p + 1]);
  printf("\n");
}

/* Roundoffs of the largest depth here: monomials and factors 10, a read 37, keys 71, division,
 * transform; the errors met are far smaller, of random sign. */
#define FEW 20.0

START_TEST(kernels_agree_with_the_plain_sums_in_every_form) {
  uint64_t seed = tests_seed();
  double worst_out = 0, worst_state = 0;
  for (int i = 0; i < 120; i++) {
    kernel_spec spec;
    kernel_fixture f;
    kernel_fixture_draw(&spec, &seed);
    int with_state = may_keep(&spec) && tests_random(&seed) % 2;
    attest_dtype result = tests_random(&seed) % 2 ? ATTEST_FLOAT32 : ATTEST_FLOAT64;
    if (spec.dtype == ATTEST_FLOAT64) result = ATTEST_FLOAT64; /* inputs are then exact */
    kernel_fixture_open(&f, &spec, result, with_state, &seed);
    kernel_fixture_run(&f);
    double out = kernel_fixture_out_error(&f);
    double state = with_state ? kernel_fixture_state_error(&f) : 0;
    if (!(out < FEW && state < FEW)) explain(&spec, out, state);
    ck_assert(out < FEW && state < FEW);
    worst_out = fmax(worst_out, out);
    worst_state = fmax(worst_state, state);
    kernel_fixture_close(&f);
  }
  printf("taylor kernel: errors in roundoffs, out %.2f, state %.2f\n", worst_out, worst_state);
  ck_assert(worst_out > 0.5 && worst_state > 0.5); /* the comparison compares */
}
END_TEST

START_TEST(every_chunk_size_gives_the_sums_and_the_state) {
  for (int64_t n = 1; n <= 13; n += 4)
    for (int chunk = 1; chunk <= n + 1; chunk++)
      for (int dtype = ATTEST_FLOAT32; dtype <= ATTEST_FLOAT64; dtype++) {
        char text[8];
        uint64_t seed = tests_seed();
        snprintf(text, sizeof text, "%d", chunk);
        kernel_spec spec = kernel_causal_spec("chunked", text, n, 4, 5);
        kernel_fixture f;
        kernel_fixture_open(&f, &spec, (attest_dtype)dtype, 1, &seed);
        kernel_fixture_run(&f);
        ck_assert(kernel_fixture_out_error(&f) < 8);
        ck_assert(kernel_fixture_state_error(&f) < 8);
        kernel_fixture_close(&f);
      }
}
END_TEST

/* The certifier on the kernel's own output: within a backward error of 16, at any form. Odd degrees
 * and score weights may cancel, and then have no such bound. */
START_TEST(kernels_are_certified_in_every_form) {
  uint64_t seed = tests_seed();
  for (int i = 0, done = 0; done < 40; i++) {
    kernel_spec spec;
    kernel_fixture f;
    attest_error error;
    kernel_fixture_draw(&spec, &seed);
    kernel_fixture_open(&f, &spec, i % 2 ? ATTEST_FLOAT32 : ATTEST_FLOAT64, may_keep(&spec), &seed);
    const problem_values *values = &f.problem->values;
    int score = !strcmp(spec.kernel, "linear") && values->feature != FEATURE_TAYLOR;
    if (score || values->degree % 2 || spec.initial) {
      kernel_fixture_close(&f);
      continue;
    }
    kernel_fixture_run(&f);
    ck_assert_int_eq(attest_problem_output(f.problem, "out", &f.out, &error), ATTEST_OK);
    attest_certificate *c = attest_check(f.problem, "backward<=16", &error);
    ck_assert_msg(c != NULL, "%s", error.message);
    if (attest_certificate_verdict(c) != ATTEST_CERTIFIED) explain(&spec, 0, 0);
    ck_assert_msg(attest_certificate_verdict(c) == ATTEST_CERTIFIED, "%s",
                  attest_certificate_text(c));
    attest_certificate_free(c);
    kernel_fixture_close(&f);
    done++;
  }
}
END_TEST

/* ---- the same bits -----------------------------------------------------------------------------
 */

static void run_copy(unsigned char **copy, size_t *size, kernel_fixture *f) {
  size_t item = tensor_dtype_size(f->out.dtype);
  size_t out = (size_t)tensor_elements(&f->out) * item;
  size_t state = f->state.data ? (size_t)tensor_elements(&f->state) * item : 0;
  kernel_fixture_run(f);
  *size = out + state;
  *copy = malloc(*size + 1);
  memcpy(*copy, f->out.data, out);
  if (state) memcpy(*copy + out, f->state.data, state);
}

START_TEST(kernels_give_the_same_bits_at_any_thread_count) {
  uint64_t seed = tests_seed();
  for (int i = 0; i < 40; i++) {
    kernel_spec spec;
    kernel_fixture f;
    unsigned char *one, *three;
    size_t size;
    kernel_fixture_draw(&spec, &seed);
    kernel_fixture_open(&f, &spec, i % 2 ? ATTEST_FLOAT32 : ATTEST_FLOAT64, may_keep(&spec), &seed);
    omp_set_num_threads(1);
    run_copy(&one, &size, &f);
    omp_set_num_threads(3);
    run_copy(&three, &size, &f);
    ck_assert_int_eq(memcmp(one, three, size), 0);
    free(one);
    free(three);
    kernel_fixture_close(&f);
  }
}
END_TEST

/* Row `row` by itself, as the last of row + 1 queries and keys: the same bits. */
static void compare_row(const kernel_fixture *f, int64_t row) {
  attest_problem part = *f->problem;
  attest_error error;
  int64_t d = part.d, dv = part.dv, shape[] = {1, 1, dv};
  float single[64];
  part.values.causal = part.values.alignment = CAUSAL_BOTTOM_RIGHT;
  part.nq = 1;
  part.nk = row + 1;
  part.input[INPUT_Q].data = (float *)part.input[INPUT_Q].data + d * row;
  part.input[INPUT_Q].shape[1] = 1;
  part.input[INPUT_K].shape[1] = part.input[INPUT_V].shape[1] = row + 1;
  attest_tensor out = attest_tensor_of(single, ATTEST_FLOAT32, 3, shape);
  ck_assert_int_eq(taylor_kernel(&out, NULL, &part, &error), ATTEST_OK);
  ck_assert_int_eq(memcmp(single, (float *)f->out.data + dv * row, (size_t)dv * sizeof *single), 0);
}

/* A row does not depend on those computed beside it: few and many features, in one and in several
 * groups of chains, over few and many keys. */
START_TEST(rows_do_not_depend_on_their_neighbours) {
  static const char *const forms[] = {"direct", "chunked", "recurrent"};
  static const struct {
    int64_t d, dv, n, step;
    const char *degree;
  } sizes[] = {
      {4, 5, 70, 3, "2"}, {12, 16, 70, 9, "2"}, {16, 16, 70, 23, "3"}, {2, 3, 1200, 97, "2"}};
  uint64_t seed = tests_seed();
  for (int i = 0; i < 12; i++) {
    kernel_spec spec = kernel_causal_spec(forms[i % 3], "30", sizes[i / 3].n, 4, 5);
    kernel_fixture f;
    spec.d = sizes[i / 3].d;
    spec.dv = sizes[i / 3].dv;
    spec.params[8] = "degree";
    spec.params[9] = sizes[i / 3].degree;
    kernel_fixture_open(&f, &spec, ATTEST_FLOAT32, 0, &seed);
    kernel_fixture_run(&f);
    for (int64_t row = 0; row < spec.nq; row += sizes[i / 3].step)
      compare_row(&f, row);
    kernel_fixture_close(&f);
  }
}
END_TEST

/* More keys than one group of chains has, and more than two. */
START_TEST(long_rows_agree_with_the_plain_sums) {
  static const char *const forms[] = {"direct", "chunked"};
  uint64_t seed = tests_seed();
  for (int i = 0; i < 2; i++) {
    kernel_spec spec = kernel_causal_spec(forms[i], "1300", 2500, 4, 5);
    kernel_fixture f;
    spec.nq = 3;
    spec.params[1] = "bottom-right";
    kernel_fixture_open(&f, &spec, ATTEST_FLOAT32, 1, &seed);
    kernel_fixture_run(&f);
    ck_assert(kernel_fixture_out_error(&f) < 4);
    ck_assert(kernel_fixture_state_error(&f) < 4);
    kernel_fixture_close(&f);
  }
}
END_TEST

#if defined(__x86_64__)
#define DECLARE(suffix)                                                                            \
  ISA_DECLARE(void, taylor_block_pack_##suffix,                                                    \
              (taylor_block_##suffix * block, const taylor_plan *plan, const attest_tensor *k,     \
               const attest_tensor *v, int64_t key, int64_t count));                               \
  ISA_DECLARE(void, taylor_state_fold_##suffix,                                                    \
              (taylor_state_##suffix * state, const taylor_block_##suffix *keys));                 \
  ISA_DECLARE(void, taylor_rows_begin_##suffix,                                                    \
              (taylor_rows_##suffix * work, const taylor_plan *plan, const attest_tensor *q,       \
               int64_t row));                                                                      \
  ISA_DECLARE(void, taylor_rows_read_##suffix,                                                     \
              (taylor_rows_##suffix * work, const taylor_state_##suffix *state));                  \
  ISA_DECLARE(void, taylor_rows_keys_##suffix,                                                     \
              (taylor_rows_##suffix * work, const taylor_plan *plan,                               \
               const taylor_block_##suffix *block, int64_t key, const attest_tensor *mask,         \
               int64_t row));                                                                      \
  ISA_DECLARE(void, taylor_rows_end_##suffix,                                                      \
              (SAME_REAL_##suffix * out, int64_t stride, taylor_rows_##suffix * work,              \
               const taylor_plan *plan));
#define SAME_REAL_f32 float
#define SAME_REAL_f64 double
DECLARE(f32)
DECLARE(f64)

/* Some keys into a state, some beside it, `rows` rows that see them all: on each instruction set.
 */
#define SAME_BITS(real, suffix, is_double_)                                                        \
  static void same_bits_##suffix(const attest_problem *problem, int64_t rows, int level,           \
                                 real *out) {                                                      \
    attest_error error;                                                                            \
    problem_slice slice;                                                                           \
    taylor_plan *plan;                                                                             \
    taylor_state_##suffix state;                                                                   \
    taylor_rows_##suffix work;                                                                     \
    taylor_block_##suffix block;                                                                   \
    void (*const pack[])(taylor_block_##suffix *, const taylor_plan *, const attest_tensor *,      \
                         const attest_tensor *, int64_t, int64_t) = {                              \
        taylor_block_pack_##suffix##_baseline, taylor_block_pack_##suffix##_avx2,                  \
        taylor_block_pack_##suffix##_avx512};                                                      \
    void (*const fold[])(taylor_state_##suffix *, const taylor_block_##suffix *) = {               \
        taylor_state_fold_##suffix##_baseline, taylor_state_fold_##suffix##_avx2,                  \
        taylor_state_fold_##suffix##_avx512};                                                      \
    void (*const begin[])(taylor_rows_##suffix *, const taylor_plan *, const attest_tensor *,      \
                          int64_t) = {taylor_rows_begin_##suffix##_baseline,                       \
                                      taylor_rows_begin_##suffix##_avx2,                           \
                                      taylor_rows_begin_##suffix##_avx512};                        \
    void (*const read[])(taylor_rows_##suffix *, const taylor_state_##suffix *) = {                \
        taylor_rows_read_##suffix##_baseline, taylor_rows_read_##suffix##_avx2,                    \
        taylor_rows_read_##suffix##_avx512};                                                       \
    void (*const keys[])(taylor_rows_##suffix *, const taylor_plan *,                              \
                         const taylor_block_##suffix *, int64_t, const attest_tensor *,            \
                         int64_t) = {taylor_rows_keys_##suffix##_baseline,                         \
                                     taylor_rows_keys_##suffix##_avx2,                             \
                                     taylor_rows_keys_##suffix##_avx512};                          \
    void (*const end[])(real *, int64_t, taylor_rows_##suffix *, const taylor_plan *) = {          \
        taylor_rows_end_##suffix##_baseline, taylor_rows_end_##suffix##_avx2,                      \
        taylor_rows_end_##suffix##_avx512};                                                        \
    problem_slice_get(&slice, problem, 0);                                                         \
    ck_assert_int_eq(taylor_plan_open(&plan, problem, is_double_, 1, 300, &error), 0);             \
    ck_assert_int_eq(taylor_state_open_##suffix(&state, plan, 64, &error), 0);                     \
    ck_assert_int_eq(taylor_rows_open_##suffix(&work, plan, &error), 0);                           \
    ck_assert_int_eq(taylor_block_open_##suffix(&block, plan), 0);                                 \
    int64_t nk = slice.nk, half = nk / 2 < 64 ? nk / 2 : 64, rest = nk - half;                     \
    if (rest > 64) rest = 64;                                                                      \
    pack[level](&block, plan, &slice.k, &slice.v, 0, half);                                        \
    fold[level](&state, &block);                                                                   \
    pack[level](&block, plan, &slice.k, &slice.v, half, rest);                                     \
    work.rows = rows;                                                                              \
    for (int64_t r = 0; r < rows; r++) {                                                           \
      work.lo[r] = 0;                                                                              \
      work.hi[r] = half + (r + 1) * rest / rows;                                                   \
      work.position[r] = work.hi[r];                                                               \
    }                                                                                              \
    begin[level](&work, plan, &slice.q, 0);                                                        \
    if (half) read[level](&work, &state);                                                          \
    keys[level](&work, plan, &block, half, NULL, 0);                                               \
    end[level](out, slice.dv, &work, plan);                                                        \
    memcpy(out + rows * slice.dv, state.hi, (size_t)(plan->size * plan->dv_pad) * sizeof(real));   \
    memcpy(out + rows * slice.dv + plan->size * plan->dv_pad, state.lo,                            \
           (size_t)(plan->size * plan->dv_pad) * sizeof(real));                                    \
    taylor_state_close_##suffix(&state);                                                           \
    taylor_rows_close_##suffix(&work);                                                             \
    free(block.memory);                                                                            \
    taylor_plan_close(plan);                                                                       \
  }
SAME_BITS(float, f32, 0)
SAME_BITS(double, f64, 1)

START_TEST(kernels_give_the_same_bits_on_every_instruction_set) {
  uint64_t seed = tests_seed();
  size_t n = 1 << 19;
  char *out[3];
  for (int level = 0; level < 3; level++)
    out[level] = calloc(n, sizeof(double));
  for (int i = 0; i < 60; i++) {
    kernel_spec spec;
    kernel_fixture f;
    kernel_fixture_draw(&spec, &seed);
    spec.mask = 0;
    kernel_fixture_open(&f, &spec, ATTEST_FLOAT32, 0, &seed);
    int64_t rows = 1 + (int64_t)(tests_random(&seed) % (uint64_t)(spec.nq < 64 ? spec.nq : 64));
    for (int level = 0; level <= (int)isa_chosen(); level++) {
      memset(out[level], 0, n * sizeof(double));
      if (i % 2)
        same_bits_f32(f.problem, rows, level, (float *)out[level]);
      else
        same_bits_f64(f.problem, rows, level, (double *)out[level]);
      ck_assert_int_eq(memcmp(out[level], out[0], n * sizeof(double)), 0);
    }
    kernel_fixture_close(&f);
  }
  for (int level = 0; level < 3; level++)
    free(out[level]);
}
END_TEST
#endif

/* ---- rows that have no value -------------------------------------------------------------------
 */

/* Degree 1 at score -1: the weights 1 + s are exactly 0. Never 0 or infinity, but NaN. */
START_TEST(zero_denominators_give_nan_in_every_form) {
  static const char *const forms[] = {"direct", "recurrent", "chunked"};
  for (int i = 0; i < 3; i++) {
    attest_error error;
    float q = 1, k[2] = {-1, -1}, v[2] = {0, 5}, out = 0;
    attest_problem *p = attest_problem_new("taylor", &error);
    const int64_t one[] = {1, 1}, two[] = {2, 1};
    attest_tensor t = attest_tensor_of(&q, ATTEST_FLOAT32, 2, one);
    ck_assert_int_eq(attest_problem_input(p, "q", &t, &error), ATTEST_OK);
    t = attest_tensor_of(k, ATTEST_FLOAT32, 2, two);
    ck_assert_int_eq(attest_problem_input(p, "k", &t, &error), ATTEST_OK);
    t = attest_tensor_of(v, ATTEST_FLOAT32, 2, two);
    ck_assert_int_eq(attest_problem_input(p, "v", &t, &error), ATTEST_OK);
    attest_problem_set(p, "degree", "1", &error);
    attest_problem_set(p, "scale", "1", &error);
    attest_problem_set(p, "form", forms[i], &error);
    ck_assert_msg(problem_resolve(p, &error) == ATTEST_OK, "%s", error.message);
    t = attest_tensor_of(&out, ATTEST_FLOAT32, 2, one);
    ck_assert_int_eq(taylor_kernel(&t, NULL, p, &error), ATTEST_OK);
    ck_assert(isnan(out));
    attest_problem_free(p);
  }
}
END_TEST

/* A key that no row sees may hold anything; a final state over it may not. */
START_TEST(hidden_keys_never_contribute_even_nan) {
  static const char *const forms[] = {"direct", "recurrent", "chunked"};
  for (int i = 0; i < 3; i++) {
    uint64_t seed = tests_seed();
    attest_error error;
    kernel_spec spec = kernel_causal_spec(forms[i], "4", 9, 4, 5);
    kernel_fixture f;
    spec.nk = 12;
    kernel_fixture_open(&f, &spec, ATTEST_FLOAT32, 0, &seed);
    float *k = f.problem->input[INPUT_K].data, *v = f.problem->input[INPUT_V].data;
    k[9 * 4 + 1] = NAN;
    v[10 * 5] = INFINITY;
    kernel_fixture_run(&f);
    ck_assert(kernel_fixture_out_error(&f) < 8);
    float state[15 * 6];
    f.problem->output[OUTPUT_FINAL_STATE] =
        attest_tensor_of(state, ATTEST_FLOAT32, 3, (int64_t[]){1, 15, 6});
    ck_assert_int_eq(taylor_kernel(&f.out, NULL, f.problem, &error), ATTEST_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(error.message, "final-state"));
    kernel_fixture_close(&f);
  }
}
END_TEST

START_TEST(empty_rows_follow_the_policy) {
  uint64_t seed = tests_seed();
  attest_error error;
  kernel_spec spec = kernel_causal_spec("recurrent", "4", 5, 4, 5);
  kernel_fixture f;
  spec.nk = 3;
  spec.params[1] = "bottom-right"; /* the first two rows see nothing */
  kernel_fixture_open(&f, &spec, ATTEST_FLOAT32, 0, &seed);
  const float *out = f.out.data;
  kernel_fixture_run(&f);
  ck_assert(out[0] == 0 && out[9] == 0 && out[10] != 0);
  f.problem->values.empty_row = EMPTY_NAN;
  kernel_fixture_run(&f);
  ck_assert(isnan(out[0]) && isnan(out[9]) && !isnan(out[10]));
  f.problem->values.empty_row = EMPTY_ERROR;
  ck_assert_int_eq(taylor_kernel(&f.out, NULL, f.problem, &error), ATTEST_ERR_INPUT);
  kernel_fixture_close(&f);
}
END_TEST

void test_taylor_kernel(Suite *suite) {
  TCase *tc = tcase_create("taylor_kernel");
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, kernels_agree_with_the_plain_sums_in_every_form);
  tcase_add_test(tc, every_chunk_size_gives_the_sums_and_the_state);
  tcase_add_test(tc, kernels_are_certified_in_every_form);
  tcase_add_test(tc, kernels_give_the_same_bits_at_any_thread_count);
  tcase_add_test(tc, rows_do_not_depend_on_their_neighbours);
  tcase_add_test(tc, long_rows_agree_with_the_plain_sums);
#if defined(__x86_64__)
  tcase_add_test(tc, kernels_give_the_same_bits_on_every_instruction_set);
#endif
  tcase_add_test(tc, zero_denominators_give_nan_in_every_form);
  tcase_add_test(tc, hidden_keys_never_contribute_even_nan);
  tcase_add_test(tc, empty_rows_follow_the_policy);
  suite_add_tcase(suite, tc);
}
