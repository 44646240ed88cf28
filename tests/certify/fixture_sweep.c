/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fixture_sweep.h"

float sweep_nearest_exp(float x) {
  double y = exp((double)x);
  return (float)y;
}

static int call(void *context, int worker, float *out, const float *in, int64_t n,
                sweep_failure *failure, attest_error *error) {
  sweep_fake *const *f = context;
  (void)worker;
  (void)failure;
  (void)error;
  for (int64_t i = 0; i < n; i++)
    out[i] = (*f)(in[i]);
  return 0;
}

void sweep_fixture_run_on(sweep_result *result, const sweep_reference *reference, sweep_fake *f,
                          float from, float to, const char *bound) {
  attest_error error = {0};
  certify_bounds bounds = {0, NULL};
  sweep_foreign foreign = {call, &f};
  sweep_request q = {.foreign = f ? &foreign : NULL,
                     .subject = "fake",
                     .library_sha256 = "",
                     .bounds = &bounds,
                     .first = sweep_key(from),
                     .last = sweep_key(to),
                     .shard = 1,
                     .shards = 1,
                     .seed = tests_seed(),
                     .samples = 20,
                     .threads = 2};
  q.function.reference = reference;
  ck_assert_ptr_nonnull(reference);
  ck_assert_int_eq(certify_bounds_add(&bounds, bound, &error), ATTEST_OK);
  attest_status status = sweep_run(result, &q, &error);
  ck_assert_msg(status == ATTEST_OK, "%s", error.message);
  certify_bounds_clear(&bounds);
}

void sweep_fixture_run(sweep_result *result, const char *name, sweep_fake *f, float from, float to,
                       const char *bound) {
  sweep_fixture_run_on(result, sweep_reference_find(name), f, from, to, bound);
}

/* |got - x| in units 2^(max(floor(log2 |x|), -126) - 23). */
static void error_in_ulp(mpfr_t e, float got, const mpfr_t x) {
  mpfr_exp_t exponent = mpfr_zero_p(x) || mpfr_get_exp(x) - 1 < -126 ? -126 : mpfr_get_exp(x) - 1;
  mpfr_set_flt(e, got, MPFR_RNDN);
  mpfr_sub(e, e, x, MPFR_RNDN);
  mpfr_abs(e, e, MPFR_RNDN);
  mpfr_mul_2si(e, e, 23 - (long)exponent, MPFR_RNDN);
}

/* The nearest float, ties to even; results here are neither huge nor subnormal. */
static float nearest(const mpfr_t x) {
  mpfr_t y;
  mpfr_init2(y, 24);
  mpfr_set(y, x, MPFR_RNDN);
  float f = mpfr_get_flt(y, MPFR_RNDN);
  mpfr_clear(y);
  return f;
}

void sweep_brute_run(sweep_brute *b, int (*exact)(mpfr_t, const mpfr_t, mpfr_rnd_t), sweep_fake *f,
                     float from, float to) {
  mpfr_t x, y, e;
  memset(b, 0, sizeof *b);
  mpfr_inits2(300, b->largest, y, e, (mpfr_ptr)NULL);
  mpfr_init2(x, 24);
  mpfr_set_si(b->largest, -1, MPFR_RNDN);
  for (uint32_t key = sweep_key(from); key <= sweep_key(to); key++) {
    float input = sweep_float(key), got = f(input);
    mpfr_set_flt(x, input, MPFR_RNDN);
    exact(y, x, MPFR_RNDN);
    error_in_ulp(e, got, y);
    b->misrounded += got != nearest(y);
    int bin = mpfr_zero_p(e) ? 0 : (int)mpfr_get_exp(e) - 1 - SWEEP_BIN_LEAST + 1;
    b->bins[bin < 0 ? 0 : bin < SWEEP_BIN_INFINITE ? bin : SWEEP_BIN_INFINITE - 1]++;
    if (mpfr_cmp(e, b->largest) > 0) {
      mpfr_set(b->largest, e, MPFR_RNDN);
      b->key = key;
    }
  }
  mpfr_clears(x, y, e, (mpfr_ptr)NULL);
}
