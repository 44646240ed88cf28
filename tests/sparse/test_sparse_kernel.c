/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The fast kernels of the sparse room, judged by the certifier: a few units of backward error on
 * random and adversarial rows, the same bits on every instruction set. */
#include <math.h>

#include "../../src/certify/certify.h"
#include "../../src/sparse/sparse.h"
#include "../../src/tensor/isa.h"
#include "fixture_sparse.h"

static attest_tensor output_like(const attest_problem *problem, int output, attest_dtype dtype) {
  int ndim;
  int64_t shape[ATTEST_MAX_DIMS];
  problem_output_shape(&ndim, shape, problem, output);
  attest_tensor t = attest_tensor_of(NULL, dtype, ndim, shape);
  t.data = calloc((size_t)tensor_elements(&t) + 1, tensor_dtype_size(dtype));
  return t;
}

/* The largest backward error of the kernel on a problem, certified below the bound. */
static double judged(const attest_problem *problem, attest_dtype dtype, const char *bound,
                     const char *what) {
  attest_problem mine = *problem;
  attest_error error;
  int has_lse = strstr(problem->kernel->outputs, "lse") != NULL;
  attest_tensor out = output_like(problem, OUTPUT_OUT, dtype);
  attest_tensor lse = {0};
  if (has_lse) lse = output_like(problem, OUTPUT_LSE, dtype);
  ck_assert_msg(sparse_run_kernel(&out, &lse, problem, &error) == ATTEST_OK, "%s", error.message);
  mine.output[OUTPUT_OUT] = out;
  mine.output[OUTPUT_LSE] = lse;
  certify_bounds bounds = {0, NULL};
  certify_case result;
  ck_assert_int_eq(certify_bounds_add(&bounds, bound, &error), ATTEST_OK);
  certify_subject subject = {"kernel", &mine, &bounds, NULL};
  certify_options options = {.name = "kernel", .allow_empty = 1};
  attest_status status = certify_run(&result, &subject, 1, &options, &error);
  ck_assert_msg(status == ATTEST_OK, "%s: %s", what, error.message);
  double worst = 0;
  for (size_t i = 0; i < result.subjects[0].output_count; i++) {
    const certify_output *o = &result.subjects[0].outputs[i];
    worst = fmax(worst, o->error[MEASURE_BACKWARD].hi);
    ck_assert_msg(o->verdict == ATTEST_CERTIFIED,
                  "%s: output %d is %d with backward %g at %lld,%lld,%lld: got %.9g, exact %.9g",
                  what, o->output, o->verdict, o->error[MEASURE_BACKWARD].hi,
                  (long long)o->worst_index[0], (long long)o->worst_index[1],
                  (long long)o->worst_index[2], o->worst_got, o->worst_lo);
  }
  certify_case_clear(&result);
  certify_bounds_clear(&bounds);
  free(out.data);
  free(lse.data);
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
    describe(what, &s, n);
    fixture_open(&f, &s, &seed);
    worst = fmax(worst, judged(f.problem, ATTEST_FLOAT32, "backward<=16", what));
    fixture_close(&f);
  }
  printf("%-13s float32 backward <= %.2f\n", sparse_rooms[_i].name, worst);
}
END_TEST

void test_sparse_kernel(Suite *suite) {
  TCase *tc = tcase_create("sparse_kernel");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, kernel_is_certified_on_random_rows, 0, SPARSE_KERNELS);
  suite_add_tcase(suite, tc);
}
