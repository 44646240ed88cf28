/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The fast kernels against the plain sums, and the same bits everywhere. */
#include <math.h>
#include <omp.h>

#include "fixture_kernel.h"

START_TEST(kernels_agree_with_the_plain_sums_in_every_form) {
  uint64_t seed = tests_seed();
  double worst_out = 0, worst_state = 0;
  for (int i = 0; i < 150; i++) {
    kernel_spec spec;
    kernel_fixture f;
    kernel_fixture_draw(&spec, &seed);
    int with_state = spec.mask ? 0 : (int)(tests_random(&seed) % 2);
    for (int p = 0; spec.params[p]; p += 2)
      if (!strcmp(spec.params[p], "window")) with_state = 0;
    attest_dtype result = tests_random(&seed) % 2 ? ATTEST_FLOAT32 : ATTEST_FLOAT64;
    if (spec.dtype == ATTEST_FLOAT64) result = ATTEST_FLOAT64; /* inputs are then exact */
    kernel_fixture_open(&f, &spec, result, with_state, &seed);
    kernel_fixture_run(&f);
    double out = kernel_fixture_out_error(&f);
    double state = with_state ? kernel_fixture_state_error(&f) : 0;
    if (!(out < 40 && state < 40)) {
      printf("%s %d: out %g state %g; nq %d nk %d d %d dv %d hq %d hk %d mask %d initial %d\n",
             spec.kernel, i, out, state, (int)spec.nq, (int)spec.nk, (int)spec.d, (int)spec.dv,
             (int)spec.heads_q, (int)spec.heads_k, spec.mask, spec.initial);
      for (int p = 0; spec.params[p]; p += 2)
        printf("  %s %s\n", spec.params[p], spec.params[p + 1]);
    }
    worst_out = fmax(worst_out, out);
    worst_state = fmax(worst_state, state);
    ck_assert(out < 40);
    ck_assert(state < 40);
    kernel_fixture_close(&f);
  }
  printf("taylor kernel: errors in roundoffs, out %.2f, state %.2f\n", worst_out, worst_state);
}
END_TEST

void test_taylor_kernel(Suite *suite) {
  TCase *tc = tcase_create("taylor_kernel");
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, kernels_agree_with_the_plain_sums_in_every_form);
  suite_add_tcase(suite, tc);
}
