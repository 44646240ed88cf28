/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The fast kernel: the same bits everywhere, and within its own a-priori bound. */
#include <math.h>
#include <omp.h>

#include "../../src/softmax/pass.h"
#include "fixture.h"

/* Outputs of the kernel for a fixture, as one array: out then lse. */
static unsigned char *run(const fixture *f, attest_dtype dtype, size_t *size, attest_tensor *out,
                          attest_tensor *lse) {
  const attest_problem *p = f->problem;
  attest_error error;
  int64_t shape[3] = {p->heads_q, p->nq, p->dv};
  size_t item = tensor_dtype_size(dtype), rows = (size_t)(p->heads_q * p->nq);
  *size = rows * ((size_t)p->dv + 1) * item;
  unsigned char *memory = calloc(*size + 1, 1);
  *out = attest_tensor_of(memory, dtype, 3, shape);
  *lse = attest_tensor_of(memory + rows * (size_t)p->dv * item, dtype, 2, shape);
  ck_assert_msg(softmax_kernel(out, lse, p, &error) == ATTEST_OK, "%s", error.message);
  return memory;
}

START_TEST(kernel_gives_the_same_bits_at_any_thread_count) {
  uint64_t seed = tests_seed();
  for (int i = 0; i < 20; i++) {
    fixture_spec spec;
    fixture f;
    attest_tensor out, lse;
    size_t size;
    fixture_draw(&spec, &seed);
    spec.nq = 100;
    fixture_open(&f, &spec, &seed);
    for (int dtype = ATTEST_FLOAT32; dtype <= ATTEST_FLOAT64; dtype++) {
      omp_set_num_threads(1);
      unsigned char *one = run(&f, (attest_dtype)dtype, &size, &out, &lse);
      omp_set_num_threads(3);
      unsigned char *three = run(&f, (attest_dtype)dtype, &size, &out, &lse);
      ck_assert_int_eq(memcmp(one, three, size), 0);
      free(one);
      free(three);
    }
    fixture_close(&f);
  }
}
END_TEST

#if defined(__x86_64__)
ISA_DECLARE(void, softmax_pass_f32,
            (softmax_state_f32 * state, const softmax_pack *pack, int64_t row, int64_t rows));
ISA_DECLARE(void, softmax_pass_f64,
            (softmax_state_f64 * state, const softmax_pack *pack, int64_t row, int64_t rows));

/* Every instruction set against baseline: all sums and shifts of the first rows. */
#define SAME_BITS(real, suffix, is_double)                                                         \
  static void same_bits_##suffix(const attest_problem *problem) {                                  \
    void (*const pass[])(softmax_state_##suffix *, const softmax_pack *, int64_t, int64_t) = {     \
        softmax_pass_##suffix##_baseline, softmax_pass_##suffix##_avx2,                            \
        softmax_pass_##suffix##_avx512};                                                           \
    attest_error error;                                                                            \
    problem_slice slice;                                                                           \
    softmax_pack *pack;                                                                            \
    softmax_state_##suffix state[3];                                                               \
    problem_slice_get(&slice, problem, 0);                                                         \
    ck_assert_int_eq(softmax_pack_open(&pack, problem, &slice, is_double, is_double, &error), 0);  \
    int64_t rows = slice.nq < PASS_ROWS ? slice.nq : PASS_ROWS;                                    \
    for (int i = 0; i <= (int)isa_chosen(); i++) {                                                 \
      ck_assert_int_eq(softmax_state_open_##suffix(&state[i], pack, &error), 0);                   \
      pass[i](&state[i], pack, 0, rows);                                                           \
      ck_assert_int_eq(memcmp(state[i].sum, state[0].sum, (size_t)rows * sizeof(real)), 0);        \
      ck_assert_int_eq(memcmp(state[i].shift, state[0].shift, (size_t)rows * sizeof(real)), 0);    \
      ck_assert_int_eq(                                                                            \
          memcmp(state[i].out, state[0].out, (size_t)(rows * pack->dv_pad) * sizeof(real)), 0);    \
    }                                                                                              \
    for (int i = 0; i <= (int)isa_chosen(); i++)                                                   \
      softmax_state_close_##suffix(&state[i]);                                                     \
    softmax_pack_close(pack);                                                                      \
  }
SAME_BITS(float, f32, 0)
SAME_BITS(double, f64, 1)

START_TEST(kernel_gives_the_same_bits_on_every_instruction_set) {
  uint64_t seed = tests_seed();
  printf("instruction sets: baseline to %s\n", isa_name(isa_chosen()));
  for (int i = 0; i < 60; i++) {
    fixture_spec spec;
    fixture f;
    fixture_draw(&spec, &seed);
    fixture_open(&f, &spec, &seed);
    same_bits_f32(f.problem);
    same_bits_f64(f.problem);
    fixture_close(&f);
  }
}
END_TEST
#endif

/* |got - x| <= theory for all elements of a slice; returns the largest quotient. */
static double compare(const attest_problem *problem, const problem_slice *slice,
                      const room_machine *machine) {
  attest_error error;
  void *work;
  unsigned want = WANT_OUT | WANT_LSE | WANT_THEORY;
  int64_t rows = slice->nq, n = rows * slice->dv;
  double *x = calloc((size_t)(4 * n + 4 * rows + 1), sizeof *x), worst = 0;
  unsigned char *class = calloc((size_t)(n + rows + 1), 1);
  room_block block = {.rows = rows, .machine = machine};
  block.out = (room_cells){
      .width = slice->dv, .x = x, .radius = x + n, .theory = x + 2 * n, .class = class};
  x += 3 * n;
  block.lse = (room_cells){
      .width = 1, .x = x, .radius = x + rows, .theory = x + 2 * rows, .class = class + n};
  ck_assert_int_eq(softmax_enclose_open(&work, problem, slice, want, &error), ATTEST_OK);
  softmax_enclose_rows(&block, work, want);
  for (int64_t i = 0; i < n + rows; i++) {
    const room_cells *cells = i < n ? &block.out : &block.lse;
    int64_t at = i < n ? i : i - n;
    if (cells->class[at] != EXACT_FINITE || cells->radius[at] == INFINITY) continue;
    double got = i < n ? tensor_at(&slice->out, at / slice->dv * slice->out.stride[0] +
                                                    at % slice->dv * slice->out.stride[1])
                       : tensor_at(&slice->lse, at * slice->lse.stride[0]);
    double off = fabs(got - cells->x[at]);
    ck_assert_msg(off <= cells->theory[at], "%s %lld: |%a - %a| = %g, bound %g",
                  i < n ? "out" : "lse", (long long)at, got, cells->x[at], off, cells->theory[at]);
    if (off > 0) worst = fmax(worst, off / cells->theory[at]);
  }
  softmax_enclose_close(work);
  free(block.out.x);
  free(class);
  return worst;
}

START_TEST(kernel_stays_within_its_bound_on_random_and_adversarial_problems) {
  uint64_t seed = tests_seed();
  double worst = 0;
  for (int i = 0; i < 300; i++) {
    fixture_spec spec;
    fixture f;
    attest_error error;
    fixture_draw(&spec, &seed);
    if (spec.data == DATA_EXTREME) continue; /* beyond the range of float32 */
    fixture_open(&f, &spec, &seed);
    for (int dtype = ATTEST_FLOAT32; dtype <= ATTEST_FLOAT64; dtype++) {
      attest_tensor out, lse;
      size_t size;
      unsigned char *memory = run(&f, (attest_dtype)dtype, &size, &out, &lse);
      room_machine machine = softmax_machine((attest_dtype)dtype);
      ck_assert_int_eq(attest_problem_output(f.problem, "out", &out, &error), ATTEST_OK);
      ck_assert_int_eq(attest_problem_output(f.problem, "lse", &lse, &error), ATTEST_OK);
      ck_assert_msg(problem_resolve(f.problem, &error) == ATTEST_OK, "%s", error.message);
      for (int64_t s = 0; s < problem_slice_count(f.problem); s++) {
        problem_slice slice;
        problem_slice_get(&slice, f.problem, s);
        worst = fmax(worst, compare(f.problem, &slice, &machine));
      }
      free(memory);
    }
    fixture_close(&f);
  }
  printf("kernel: largest error/bound %.3f\n", worst);
  ck_assert_double_lt(worst, 1);
  ck_assert_double_gt(worst, 0.02);
}
END_TEST

void test_kernel(Suite *suite) {
  TCase *tc = tcase_create("kernel");
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, kernel_gives_the_same_bits_at_any_thread_count);
#if defined(__x86_64__)
  tcase_add_test(tc, kernel_gives_the_same_bits_on_every_instruction_set);
#endif
  tcase_add_test(tc, kernel_stays_within_its_bound_on_random_and_adversarial_problems);
  suite_add_tcase(suite, tc);
}
