/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Sweeps: figures against MPFR by brute force, mutants, order, records. */
#include <float.h>
#include <math.h>

#include "../../src/enclosure/exp.h"
#include "fixture_sweep.h"

/* ---- functions under test ---- */

static float exponential(float x) {
  float y;
  exp32_array(&y, &x, 1);
  return y;
}

/* One hexadecimal digit of EXP32_C3 off; else as in exp_isa.h. */
static float mutant_exp(float x) {
  float t = fmaf(x, EXP32_LOG2E, EXP32_ROUND), n = t - EXP32_ROUND;
  float r = fmaf(-n, EXP32_LN2_LO, fmaf(-n, EXP32_LN2_HI, x)), p = EXP32_C6;
  p = fmaf(p, r, EXP32_C5);
  p = fmaf(p, r, EXP32_C4);
  p = fmaf(p, r, 0x1.555592p-3f);
  p = fmaf(p, r, EXP32_C2);
  p = fmaf(fmaf(p, r, 1), r, 1);
  return ldexpf(p, (int)n);
}

static float misrounded_once(float x) {
  float y = sweep_nearest_exp(x);
  return x == 0x1.234568p-1f ? nextafterf(y, 9) : y;
}

/* Not even half a unit too low at one input, but out of order. */
static float out_of_order(float x) {
  return x == 0.75f ? sweep_nearest_exp(0.7499998f) : sweep_nearest_exp(x);
}

/* Swapped neighbours on both sides of the pole. */
static float out_of_order_reciprocal(float x) {
  return fabsf(x) == 1.5f ? 1 / nextafterf(nextafterf(x, 9 * x), 9 * x) : 1 / x;
}

static float wrong_sign(float x) {
  return x == 1.5f ? -tanhf(x) : tanhf(x);
}

static float nan_once(float x) {
  return x == 1.5f ? NAN : tanhf(x);
}

static float inf_once(float x) {
  return x == 1.5f ? INFINITY : tanhf(x);
}

static float reciprocal(float x) {
  return 1 / x;
}

static float flushed_sine(float x) {
  float y = sinf(x);
  return fabsf(y) < FLT_MIN ? 0 : y;
}

static float half(float x) {
  return x / 2;
}

static float never_zero(float x) {
  float y = sweep_nearest_exp(x);
  return y > 0 ? y : FLT_TRUE_MIN;
}

static float saturated_tanh(float x) {
  return x > 10 ? 0x1.fffffep-1f : x < -10 ? -0x1.fffffep-1f : tanhf(x);
}

static float saturated_silu(float x) {
  return nextafterf(x, 0);
}

/* ---- figures ---- */

typedef struct {
  const char *name;
  int (*exact)(mpfr_t, const mpfr_t, mpfr_rnd_t);
  sweep_fake *f;
  float from, to;
} figures;

static int mpfr_taylor3(mpfr_t y, const mpfr_t x, mpfr_rnd_t rnd) {
  mpfr_t t;
  mpfr_init2(t, 300);
  mpfr_div_ui(t, x, 3, rnd);
  mpfr_add_ui(t, t, 1, rnd);
  mpfr_mul(t, t, x, rnd);
  mpfr_div_ui(t, t, 2, rnd);
  mpfr_add_ui(t, t, 1, rnd);
  mpfr_mul(t, t, x, rnd);
  mpfr_add_ui(y, t, 1, rnd);
  mpfr_clear(t);
  return 0;
}

static float taylor3(float x) {
  return ((x / 3 + 1) * x / 2 + 1) * x + 1;
}

static int mpfr_line(mpfr_t y, const mpfr_t x, mpfr_rnd_t rnd) {
  return mpfr_ui_sub(y, 1, x, rnd);
}

static float line(float x) {
  return 1 - x;
}

static int mpfr_cube(mpfr_t y, const mpfr_t x, mpfr_rnd_t rnd) {
  mpfr_ui_sub(y, 1, x, rnd);
  return mpfr_pow_ui(y, y, 3, rnd);
}

static float cube(float x) {
  float t = 1 - x;
  return t * t * t;
}

static const figures cases[] = {
    {"exp", mpfr_exp, exponential, 0x1.fff8p-1f, 0x1.0008p+0f},
    {"exp", mpfr_exp, exponential, -0x1.00008p-13f, -0x1.fff4p-14f},
    {"exp", mpfr_exp, mutant_exp, 40, 40.03f},
    {"exp2", mpfr_exp2, exp2f, 2.999f, 3.001f},
    {"expm1", mpfr_expm1, expm1f, -0x1.5c29p-2f, -0x1.5c28p-2f},
    {"log", mpfr_log, logf, 0x1.fffp-1f, 0x1.001p+0f},
    {"log2", mpfr_log2, log2f, 0x1.fffp+3f, 0x1.001p+4f},
    {"log1p", mpfr_log1p, log1pf, 0x1.a3dp-2f, 0x1.a3ep-2f},
    {"sin", mpfr_sin, sinf, 0x1.921f8p+1f, 0x1.92204p+1f},
    {"cos", mpfr_cos, cosf, 0x1.fffffp+100f, 0x1.00001p+101f},
    {"tanh", mpfr_tanh, tanhf, 0x1.2c8p+0f, 0x1.2cap+0f},
    {"sqrt", mpfr_sqrt, sqrtf, 0x1.fffp+1f, 0x1.001p+2f},
    {"taylor3", mpfr_taylor3, taylor3, -0x1.989ap+0f, -0x1.9898p+0f},
    {"epanechnikov", mpfr_line, line, 0.26f, 0.2602f},
    {"triweight", mpfr_cube, cube, 0x1.fff8p-1f, 0x1.fffffep-1f},
};
enum { CASES = sizeof cases / sizeof *cases };

START_TEST(figures_are_those_of_mpfr) {
  const figures *c = &cases[_i];
  sweep_result r;
  sweep_brute b;
  sweep_brute_run(&b, c->exact, c->f, c->from, c->to);
  sweep_fixture_run(&r, c->name, c->f, c->from, c->to, "ulp<=1e9");
  for (int bin = 0; bin < SWEEP_BINS; bin++)
    ck_assert_msg(r.total.bins[bin] == b.bins[bin], "%s: bin %d has %llu, not %llu", c->name, bin,
                  (unsigned long long)r.total.bins[bin], (unsigned long long)b.bins[bin]);
  ck_assert_uint_eq(r.total.misrounded, b.misrounded);
  ck_assert_msg(r.error[PEAK_ULP].key == b.key, "%s: largest at %a, not %a", c->name,
                (double)sweep_float(r.error[PEAK_ULP].key), (double)sweep_float(b.key));
  ck_assert(r.error[PEAK_ULP].is_refined);
  ck_assert(mpfr_cmp_d(b.largest, r.error[PEAK_ULP].lo) >= 0);
  ck_assert(mpfr_cmp_d(b.largest, r.error[PEAK_ULP].hi) <= 0);
  ck_assert(r.error[PEAK_ULP].hi <= r.error[PEAK_ULP].lo * (1 + 0x1p-19));
  mpfr_clear(b.largest);
  sweep_result_clear(&r);
}
END_TEST

START_TEST(a_bound_is_decided_exactly) {
  /* 1 - x is off by exactly half a unit somewhere in this range: 0.5 holds, the next below fails.
   */
  sweep_result r;
  sweep_fixture_run(&r, "epanechnikov", line, 0.26f, 0.27f, "ulp<=0.5");
  ck_assert_int_eq(r.verdict, ATTEST_CERTIFIED);
  ck_assert(r.error[PEAK_ULP].hi == 0.5 && r.total.misrounded == 0);
  sweep_result_clear(&r);
  sweep_fixture_run(&r, "epanechnikov", line, 0.26f, 0.27f, "ulp<=0x1.fffffffffffffp-2");
  ck_assert_int_eq(r.verdict, ATTEST_REFUTED);
  sweep_result_clear(&r);
}
END_TEST

/* ---- mutants ---- */

START_TEST(a_wrong_coefficient_is_refuted) {
  sweep_result r;
  sweep_fixture_run(&r, "exp", exponential, 0.32f, 0.34f, "ulp<=0.75");
  ck_assert_int_eq(r.verdict, ATTEST_CERTIFIED);
  sweep_result_clear(&r);
  sweep_fixture_run(&r, "exp", mutant_exp, 0.32f, 0.34f, "ulp<=0.75");
  ck_assert_int_eq(r.verdict, ATTEST_REFUTED);
  sweep_result_clear(&r);
}
END_TEST

START_TEST(one_misrounded_input_is_found) {
  sweep_result r;
  sweep_fixture_run(&r, "exp", sweep_nearest_exp, 0.5f, 0.6f, "ulp<=0.5000001");
  ck_assert_int_eq(r.verdict, ATTEST_CERTIFIED);
  ck_assert_uint_eq(r.total.misrounded, 0);
  sweep_result_clear(&r);
  sweep_fixture_run(&r, "exp", misrounded_once, 0.5f, 0.6f, "ulp<=0.5000001");
  ck_assert_int_eq(r.verdict, ATTEST_REFUTED);
  ck_assert_uint_eq(r.total.misrounded, 1);
  ck_assert(sweep_float(r.error[PEAK_ULP].key) == 0x1.234568p-1f);
  sweep_result_clear(&r);
}
END_TEST

START_TEST(order_and_sign_are_counted) {
  sweep_result r;
  sweep_fixture_run(&r, "exp", sweep_nearest_exp, 0.5f, 1, "ulp<=1");
  ck_assert_uint_eq(r.total.disorder, 0);
  sweep_result_clear(&r);
  sweep_fixture_run(&r, "exp", out_of_order, 0.5f, 1, "ulp<=1e9");
  ck_assert_uint_eq(r.total.disorder, 1);
  sweep_result_clear(&r);
  /* 0.75 ends a block of 2^16 inputs here: its neighbour is in another one. */
  sweep_fixture_run(&r, "exp", out_of_order, 0.7f, 0.75f, "ulp<=1e9");
  ck_assert_uint_eq(r.total.disorder, 1);
  ck_assert_uint_eq(sweep_key(0.75f) % SWEEP_BLOCK, 0);
  sweep_result_clear(&r);
  sweep_fixture_run(&r, "reciprocal", out_of_order_reciprocal, -1.6f, -1.4f, "ulp<=9");
  ck_assert_uint_eq(r.total.disorder, 1);
  sweep_result_clear(&r);
  sweep_fixture_run(&r, "reciprocal", out_of_order_reciprocal, 1.4f, 1.6f, "ulp<=9");
  ck_assert_uint_eq(r.total.disorder, 1);
  sweep_result_clear(&r);
  sweep_fixture_run(&r, "reciprocal", reciprocal, -0x1p-140f, 0x1p-140f, "ulp<=0.5");
  ck_assert_uint_eq(r.total.disorder, 0); /* nor across the pole */
  sweep_result_clear(&r);
  sweep_fixture_run(&r, "tanh", wrong_sign, 1.4f, 1.6f, "ulp<=10");
  ck_assert_int_eq(r.verdict, ATTEST_REFUTED);
  ck_assert_uint_eq(r.total.wrong_sign, 1);
  ck_assert(sweep_float(r.error[PEAK_ULP].key) == 1.5f);
  sweep_result_clear(&r);
}
END_TEST

START_TEST(nan_and_infinity_are_infinite_errors) {
  sweep_fake *const fakes[] = {nan_once, inf_once};
  for (int i = 0; i < 2; i++) {
    sweep_result r;
    sweep_fixture_run(&r, "tanh", fakes[i], 1.4f, 1.6f, "ulp<=1e9");
    ck_assert_int_eq(r.verdict, ATTEST_REFUTED);
    ck_assert(isinf(r.error[PEAK_ULP].hi) && r.total.bins[SWEEP_BIN_INFINITE] == 1);
    ck_assert(sweep_float(r.error[PEAK_ULP].key) == 1.5f);
    sweep_result_clear(&r);
  }
}
END_TEST

/* ---- errors that come close to a power of two ---- */

/* The error is 2^k (1 - tiny): doubles round it to 2^k, and where tiny is 2^-(10^9) so do all
 * balls. */
START_TEST(errors_next_to_a_bin_are_settled) {
  static const struct {
    const char *name;
    sweep_fake *f;
    float from, to;
    double hi;
    int bin;       /* of all errors but 0, or -1 */
    int any_balls; /* whether they may take some */
  } all[] = {{"sin", flushed_sine, -0x1p-140f, 0x1p-140f, 512.5, -1, 1},
             {"silu", half, -0x1.001p-25f, -0x1p-25f, 1, -1, 1},
             {"exp", never_zero, -200, -199, 1, 16, 1},
             {"tanh", saturated_tanh, 50, 51, 1, 16, 0},
             {"tanh", saturated_tanh, -0x1.2p+100f, -0x1p+99f, 1, 16, 0},
             {"sigmoid", saturated_tanh, 1e9f, 1.01e9f, 1, 16, 0},
             {"expm1", saturated_tanh, -1.01e9f, -1e9f, 1, 16, 0},
             {"silu", saturated_silu, 0x1.fp+30f, 0x1.1p+31f, 1, 16, 0}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    sweep_result r;
    sweep_fixture_run(&r, all[i].name, all[i].f, all[i].from, all[i].to, "ulp<=1");
    uint64_t n = sweep_record_compared(&r.total);
    ck_assert_uint_eq(n, r.planned);
    ck_assert_uint_eq(r.total.unresolved, 0);
    ck_assert_int_eq(r.verdict, all[i].hi <= 1 ? ATTEST_CERTIFIED : ATTEST_REFUTED);
    ck_assert_msg(r.error[PEAK_ULP].hi <= all[i].hi, "%s: %a", all[i].name, r.error[PEAK_ULP].hi);
    if (all[i].bin >= 0) ck_assert_uint_eq(r.total.bins[all[i].bin], n);
    ck_assert(all[i].any_balls || r.total.balls == 0);
    sweep_result_clear(&r);
  }
}
END_TEST

/* A row for which neither doubles nor balls are good enough at one input. */
static void wide_enclose(double *mid, double *rad, const float *x, int64_t n,
                         const sweep_constants *c) {
  (void)c;
  for (int64_t i = 0; i < n; i++) {
    mid[i] = exp((double)x[i]);
    rad[i] = mid[i] * 0x1p-20;
  }
}

static sweep_enclose *choose_wide(void) {
  return wide_enclose;
}

static void vague_ball(arb_t y, const arb_t x, const sweep_function *f, slong prec) {
  (void)f;
  arb_exp(y, x, prec);
  if (arf_cmp_d(arb_midref(x), 0.75) == 0) arb_add_error_2exp_si(y, -20);
}

START_TEST(what_stays_open_leaves_the_sweep_undecided) {
  sweep_result r;
  sweep_reference vague = *sweep_reference_find("exp");
  vague.enclose = choose_wide;
  vague.ball = vague_ball;
  float from = 0x1.7fffp-1f, to = 0x1.8001p-1f;
  sweep_fixture_run_on(&r, &vague, sweep_nearest_exp, from, to, "ulp<=100");
  ck_assert_int_eq(r.verdict, ATTEST_UNDECIDED);
  ck_assert_str_eq(r.undecided, "unresolved");
  ck_assert_uint_eq(r.total.unresolved, 1);
  ck_assert_uint_eq(sweep_record_compared(&r.total), r.planned - 1);
  sweep_result_clear(&r);
  sweep_fixture_run_on(&r, &vague, misrounded_once, from, to, "ulp<=0.25");
  ck_assert_int_eq(r.verdict, ATTEST_REFUTED);
  sweep_result_clear(&r);
}
END_TEST

/* A distance below 0 does not change what the Gaussian gives at others in the same call. */
START_TEST(own_functions_give_the_same_in_any_company) {
  static const float in[] = {-FLT_MAX, -1, -0.0f, 0, FLT_TRUE_MIN, FLT_MIN, 0.5f, 1, 3, NAN};
  enum { N = sizeof in / sizeof *in };
  for (size_t i = 0; sweep_function_name(i); i++) {
    const sweep_kernel *k = sweep_kernel_find(sweep_function_name(i));
    sweep_function f = {.reference = sweep_reference_find(sweep_function_name(i))};
    attest_error error;
    void *context = NULL;
    float out[N], alone;
    if (!k || k->integers) continue;
    if (k->open) ck_assert_int_eq(k->open(&context, &f, &error), ATTEST_OK);
    k->run(out, in, N, context);
    for (int j = 0; j < N; j++) {
      k->run(&alone, &in[j], 1, context);
      if (in[j] >= k->least && in[j] <= k->most)
        ck_assert_msg(sweep_result_bits(out[j]) == sweep_result_bits(alone), "%s at %a: %a and %a",
                      f.reference->name, (double)in[j], (double)out[j], (double)alone);
    }
    if (k->close) k->close(context);
  }
}
END_TEST

/* ---- keys, pieces, records ---- */

START_TEST(keys_are_in_the_order_of_values) {
  uint64_t seed = tests_seed();
  for (int i = 0; i < 100000; i++) {
    uint32_t key = (uint32_t)tests_random(&seed);
    ck_assert_uint_eq(sweep_key_of_bits(sweep_bits_of_key(key)), key);
    float x = sweep_float(key), y = sweep_float(key + 1);
    if (key >= SWEEP_KEY_MINUS_INF && key < SWEEP_KEY_INF) ck_assert(x < y || (x == 0 && y == 0));
  }
  ck_assert_uint_eq(sweep_key(-INFINITY), SWEEP_KEY_MINUS_INF);
  ck_assert_uint_eq(sweep_key(0.0f), SWEEP_KEY_ZERO);
  ck_assert_uint_eq(sweep_key(-0.0f), SWEEP_KEY_MINUS_ZERO);
  ck_assert_uint_eq(sweep_key(INFINITY), SWEEP_KEY_INF);
}
END_TEST

START_TEST(turning_points_lie_where_the_table_says) {
  for (size_t i = 0; sweep_function_name(i); i++) {
    const sweep_reference *r = sweep_reference_find(sweep_function_name(i));
    sweep_function f = {.reference = r};
    mpfr_t x, y[2];
    if (r->turn[0] != r->turn[0]) continue;
    mpfr_init2(x, 64);
    mpfr_inits2(300, y[0], y[1], (mpfr_ptr)NULL);
    /* f falls up to turn[0] and rises from turn[1]. */
    for (int end = 0; end < 2; end++) {
      mpfr_set_flt(x, r->turn[end], MPFR_RNDN);
      r->mpfr(y[0], x, &f);
      mpfr_add_d(x, x, end ? 0x1p-40 : -0x1p-40, MPFR_RNDN);
      r->mpfr(y[1], x, &f);
      ck_assert_msg(mpfr_cmp(y[1], y[0]) > 0, "%s does not turn at %a", r->name,
                    (double)r->turn[end]);
    }
    ck_assert(r->turn[1] == r->turn[0] || r->turn[1] == nextafterf(r->turn[0], 9));
    mpfr_clears(x, y[0], y[1], (mpfr_ptr)NULL);
  }
}
END_TEST

START_TEST(records_survive_their_bytes) {
  uint64_t seed = tests_seed();
  for (int i = 0; i < 2000; i++) {
    sweep_record r, s;
    unsigned char bytes[SWEEP_RECORD_BYTES];
    sweep_record_clear(&r);
    r.first = tests_random(&seed) >> 32;
    r.count = 1 + tests_random(&seed) % SWEEP_BLOCK;
    for (int b = 0; b < SWEEP_BINS; b++)
      r.bins[b] = tests_random(&seed) % 3 ? 0 : tests_random(&seed) >> (tests_random(&seed) % 64);
    r.misrounded = tests_random(&seed) >> 40;
    r.balls = tests_random(&seed) >> 60;
    r.outside = UINT64_MAX;
    r.last_got = (uint32_t)tests_random(&seed);
    for (int k = 0; k < PEAK_COUNT && i % 2; k++)
      r.peaks[k] =
          (sweep_peak){tests_uniform(&seed), k ? 1 : INFINITY, (uint32_t)tests_random(&seed)};
    size_t size = sweep_record_write(bytes, &r);
    ck_assert_uint_le(size, sizeof bytes);
    ck_assert_int_eq(sweep_record_read(&s, bytes, size), 0);
    ck_assert_mem_eq(&r, &s, sizeof r);
    ck_assert_int_eq(sweep_record_read(&s, bytes, size - 1), -1);
    uint64_t bit = tests_random(&seed) % (8 * size);
    bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    ck_assert_int_eq(sweep_record_read(&s, bytes, size), -1);
  }
}
END_TEST

void test_sweep(Suite *suite) {
  TCase *c = tcase_create("sweep");
  tcase_set_timeout(c, 60);
  tcase_add_loop_test(c, figures_are_those_of_mpfr, 0, CASES);
  tcase_add_test(c, a_bound_is_decided_exactly);
  tcase_add_test(c, a_wrong_coefficient_is_refuted);
  tcase_add_test(c, one_misrounded_input_is_found);
  tcase_add_test(c, order_and_sign_are_counted);
  tcase_add_test(c, nan_and_infinity_are_infinite_errors);
  tcase_add_test(c, errors_next_to_a_bin_are_settled);
  tcase_add_test(c, what_stays_open_leaves_the_sweep_undecided);
  tcase_add_test(c, own_functions_give_the_same_in_any_company);
  tcase_add_test(c, keys_are_in_the_order_of_values);
  tcase_add_test(c, turning_points_lie_where_the_table_says);
  tcase_add_test(c, records_survive_their_bytes);
  suite_add_tcase(suite, c);
}
