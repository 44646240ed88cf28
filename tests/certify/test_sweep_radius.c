/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double enclosures of sweeps contain the exact values: random and directed inputs against Arb
 * and MPFR. */
#include <float.h>
#include <math.h>

#include "../../src/enclosure/interval.h"
#include "fixture_sweep.h"

enum { RANDOM = 6000, NEAR = 40 };

/* Where an argument is reduced, split, or cancels. */
static const float directed[] = {0,
                                 0x1p-149f,
                                 FLT_MIN,
                                 0x1p-30f,
                                 0x1p-12f,
                                 0.29f,
                                 0.34f,
                                 0.41f,
                                 0x1.62e43p-2f, /* ln 2 / 2 */
                                 0x1.62e43p-1f,
                                 0x1.6a09e6p-1f, /* sqrt 1/2 */
                                 0x1.6a09e6p+0f,
                                 0x1.921fb4p-1f, /* pi/4, pi/2, pi */
                                 0x1.921fb6p+0f,
                                 0x1.921fb6p+1f,
                                 0.5f,
                                 1,
                                 1.5f,
                                 1.5960717f, /* zeros of odd Taylor polynomials, negated */
                                 2.180607f,
                                 2.7590027f,
                                 2,
                                 3,
                                 8,
                                 20,
                                 86,
                                 88.72284f,
                                 103.97208f,
                                 706.9f,
                                 709,
                                 1000,
                                 1418,
                                 1019,
                                 0x1.47d0fep+34f, /* close to multiples of pi/2 */
                                 0x1.6ac5b2p+87f,
                                 0x1.08871ap+98f,
                                 0x1p+24f,
                                 0x1p+64f,
                                 FLT_MAX};
enum { DIRECTED = sizeof directed / sizeof *directed };

typedef struct {
  sweep_worker worker;
  sweep_request request;
  attest_problem *rope;
  double worst; /* error over radius */
  float worst_at;
  int64_t checked, exact;
} check;

/* |f(x) - mid| / rad, from above; inputs that the enclosure is not asked for are left out. */
static void check_input(check *c, float x) {
  sweep_worker *w = &c->worker;
  const sweep_function *f = &c->request.function;
  float inputs[SWEEP_PAD + 1];
  sweep_demand demand = sweep_reference_segment(f->reference, sweep_key(x)).demand;
  if (demand != SWEEP_COMPARE && demand != SWEEP_HUGE) return;
  for (int i = 0; i <= SWEEP_PAD; i++)
    inputs[i] = x;
  sweep_worker_enclose(w, inputs, 1);
  ck_assert_msg(isfinite(w->mid[0]) && w->rad[0] >= 0 && isfinite(w->rad[0]), "%s at %a",
                f->reference->name, (double)x);
  arb_set_d(w->balls.x, (double)x);
  f->reference->ball(w->balls.y, w->balls.x, f, 400);
  arb_set_d(w->balls.t, w->mid[0]);
  arb_sub(w->balls.y, w->balls.y, w->balls.t, 400);
  arb_abs(w->balls.y, w->balls.y);
  arb_set_d(w->balls.t, w->rad[0]);
  double error = enclosure_upper(w->balls.y);
  /* 400 bits may not tell rad from rad - exp(-10^9). */
  ck_assert_msg(!arb_gt(w->balls.y, w->balls.t), "%s at %a: error %a, radius %a",
                f->reference->name, (double)x, error, w->rad[0]);
  c->checked++;
  c->exact += w->rad[0] == 0;
  if (w->rad[0] > 0 && error / w->rad[0] > c->worst) {
    c->worst = error / w->rad[0];
    c->worst_at = x;
  }
}

static void open_check(check *c, const char *name, long pair) {
  attest_error error;
  memset(c, 0, sizeof *c);
  c->request.function.reference = sweep_reference_find(name);
  if (!strncmp(name, "rope-", 5)) {
    c->rope = attest_problem_new("rope-softmax", &error);
    c->request.function.rope = c->rope;
    c->request.function.d = 128;
    c->request.function.pair = pair;
  }
  ck_assert_int_eq(sweep_worker_open(&c->worker, &c->request, NULL, 0, &error), ATTEST_OK);
}

static void close_check(check *c) {
  sweep_worker_close(&c->worker);
  attest_problem_free(c->rope);
}

START_TEST(radius_contains_the_exact_value) {
  const char *name = sweep_function_name((size_t)_i);
  check c;
  open_check(&c, name, 5);
  uint64_t seed = tests_seed() + (uint64_t)_i;
  for (int i = 0; i < RANDOM; i++) {
    uint32_t key = (uint32_t)tests_random(&seed);
    float x = sweep_float(key);
    check_input(&c, x);
    check_input(&c, (float)ldexp(tests_uniform(&seed) - 0.5, (int)(tests_random(&seed) % 9)));
  }
  for (int i = 0; i < DIRECTED; i++)
    for (int sign = -1; sign <= 1; sign += 2)
      for (int k = -NEAR; k <= NEAR; k++) {
        int64_t key = (int64_t)sweep_key((float)sign * directed[i]) + k;
        if (key >= 0 && key <= UINT32_MAX) check_input(&c, sweep_float((uint32_t)key));
      }
  printf("sweep_radius %s: %lld inputs, %lld exact, largest error/radius %.3f at %a\n", name,
         (long long)c.checked, (long long)c.exact, c.worst, (double)c.worst_at);
  ck_assert(c.checked > 1000);
  ck_assert_msg(c.worst > 0.05 || c.exact > 1000, "the radius of %s is never needed", name);
  close_check(&c);
}
END_TEST

/* The multiples of pi/2 that floats come closest to, and angles of all pairs at large positions. */
START_TEST(angles_are_reduced_at_every_size) {
  check c;
  uint64_t seed = tests_seed();
  for (long pair = 0; pair < 64; pair += 9) {
    open_check(&c, pair % 2 ? "rope-sin" : "rope-cos", pair);
    for (int e = -149; e < 128; e++)
      for (int i = 0; i < 6; i++)
        check_input(&c, (float)ldexp(1 + tests_uniform(&seed), e));
    for (int i = 0; i < 300; i++)
      check_input(&c, (float)(tests_random(&seed) >> 44)); /* positions to 2^20 */
    ck_assert_double_lt(c.worst, 1);
    close_check(&c);
  }
}
END_TEST

/* Arb and MPFR, written apart, say the same. */
START_TEST(the_two_exact_functions_agree) {
  const char *name = sweep_function_name((size_t)_i);
  check c;
  attest_error error = {0};
  open_check(&c, name, 5);
  uint64_t seed = tests_seed() + 77;
  for (int i = 0; i < 600; i++) {
    float x = i % 2 ? sweep_float((uint32_t)tests_random(&seed))
                    : (float)ldexp(tests_uniform(&seed) - 0.5, (int)(tests_random(&seed) % 9));
    sweep_segment s = sweep_reference_segment(c.request.function.reference, sweep_key(x));
    if (s.demand != SWEEP_COMPARE) continue;
    ck_assert_msg(sweep_check(&c.worker, x, &error) == ATTEST_OK, "%s", error.message);
  }
  close_check(&c);
}
END_TEST

void test_sweep_radius(Suite *suite) {
  TCase *c = tcase_create("sweep radius");
  int functions = 0;
  while (sweep_function_name((size_t)functions))
    functions++;
  tcase_set_timeout(c, 60);
  tcase_add_loop_test(c, radius_contains_the_exact_value, 0, functions);
  tcase_add_test(c, angles_are_reduced_at_every_size);
  tcase_add_loop_test(c, the_two_exact_functions_agree, 0, functions);
  suite_add_tcase(suite, c);
}
