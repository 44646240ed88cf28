/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Sweeps: what is settled by a rule, next to a limit and next to 0, against balls. */
#include <float.h>
#include <math.h>

#include "fixture_sweep.h"

static int holds(arb_t value, measure_interval m) {
  arb_t end;
  arb_init(end);
  arb_set_d(end, m.lo);
  int holds = !arb_lt(value, end);
  arb_set_d(end, m.hi);
  holds = holds && !arb_gt(value, end);
  arb_clear(end);
  return holds;
}

static const char *const with_limits[] = {
    "tanh", "sigmoid", "expm1",   "silu",         "exp",     "exp2",     "log1p",     "sin",
    "cos",  "taylor1", "taylor6", "epanechnikov", "taylor3", "biweight", "triweight", "gaussian"};
enum { WITH_LIMITS = sizeof with_limits / sizeof *with_limits };

/* Large, or next to 0. */
static float input_near_limit(uint64_t *seed, int k) {
  float x = (float)(32 + 400 * tests_uniform(seed));
  if (k % 8 == 0) x = (float)(k % 16 ? 64 : 128);
  if (k % 2) x = (float)ldexp(1 + tests_uniform(seed), -21 - (int)(tests_random(seed) % 129));
  if (k % 16 == 1) x = ldexpf(1, -21 - (int)(tests_random(seed) % 129));
  return tests_random(seed) % 2 ? -x : x;
}

/* What is said of results near a limit, against 2,000 bits. */
START_TEST(limits_agree_with_balls) {
  const char *const *names = with_limits;
  const tensor_format *format = tensor_dtype_format(ATTEST_FLOAT32);
  sweep_function f = {.reference = sweep_reference_find(names[_i])};
  uint64_t seed = tests_seed();
  int settled = 0;
  arb_t x, y, t;
  arb_init(x);
  arb_init(y);
  arb_init(t);
  for (int k = 0; k < 4000; k++) {
    sweep_limit found;
    float input = input_near_limit(&seed, k);
    if (!sweep_limit_find(&found, f.reference, input)) continue;
    float limit = found.value, near = nextafterf(limit, 0), far = nextafterf(limit, 2 * limit);
    float gots[] = {limit,     near,      nextafterf(near, 0), -limit,   far,
                    limit / 2, limit * 2, 0x1p-140f,           0,        nextafterf(far, 2 * far),
                    -0x1p-3f,  FLT_MAX,   limit * 1.25f,       3 * limit};
    float got = gots[tests_random(&seed) % (sizeof gots / sizeof *gots)];
    sweep_element e;
    if (!sweep_settle_near_limit(&e, f.reference, input, got)) continue;
    settled++;
    arb_set_d(x, (double)input);
    f.reference->ball(y, x, &f, 2000);
    double nearest;
    ck_assert(enclosure_round(&nearest, y, format) && e.misrounded == ((double)got != nearest));
    ck_assert_int_eq(e.wrong_sign, (double)got * nearest < 0);
    measure_abs_arb(t, (double)got, y, 2000);
    ck_assert_msg(holds(t, e.error[PEAK_ABS]), "%s abs %a %a", names[_i], (double)input,
                  (double)got);
    measure_rel_arb(t, (double)got, y, 2000);
    ck_assert_msg(holds(t, e.error[PEAK_REL]), "%s rel %a %a", names[_i], (double)input,
                  (double)got);
    measure_ulp_arb(t, (double)got, y, format, 2000);
    ck_assert_msg(holds(t, e.error[PEAK_ULP]), "%s ulp %a %a", names[_i], (double)input,
                  (double)got);
    arb_get_lbound_arf(arb_midref(x), t, 1000); /* towards 0 by less than to the next double */
    double low = arf_get_d(arb_midref(x), ARF_RND_DOWN);
    ck_assert_int_eq(e.bin, sweep_bin(low));
  }
  ck_assert_int_gt(settled, 800);
  arb_clear(x);
  arb_clear(y);
  arb_clear(t);
}
END_TEST

void test_sweep_limit(Suite *suite) {
  TCase *c = tcase_create("sweep_limit");
  tcase_set_timeout(c, 60);
  tcase_add_loop_test(c, limits_agree_with_balls, 0, WITH_LIMITS);
  suite_add_tcase(suite, c);
}
