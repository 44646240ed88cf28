/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The a-priori bound on single rows: what a machine of the declared model returns stays within it,
 * and it is infinite where the model may leave the range of a format. */
#include <math.h>

#include "../../src/softmax/pass.h"
#include "../../src/softmax/softmax.h"
#include "fixture.h"

enum { KEYS_MAX = 4096, D_MAX = 1000 };

/* One query, n keys of d elements, values of one component. */
typedef struct {
  double q[D_MAX], k[2 * KEYS_MAX], v[KEYS_MAX], x[2], out, lse;
  int64_t n, d;
  const char *scale, *temperature, *softcap;
  attest_dtype storage[3]; /* of q, k, v */
} row;

static row *new_row(int64_t n, int64_t d) {
  row *r = calloc(1, sizeof *r);
  ck_assert_ptr_nonnull(r);
  *r = (row){.n = n,
             .d = d,
             .scale = "1",
             .temperature = "1",
             .storage = {ATTEST_FLOAT64, ATTEST_FLOAT64, ATTEST_FLOAT64}};
  return r;
}

/* In place, from the front; what is stored in a narrower type has been given as numbers of it. */
static void store(double *data, int64_t n, attest_dtype dtype) {
  attest_tensor narrow = attest_tensor_of(data, dtype, 1, &n);
  for (int64_t i = 0; i < n; i++)
    tensor_store(&narrow, i, data[i]);
}

static attest_problem *problem_of(row *r) {
  attest_error error;
  attest_problem *p = attest_problem_new("softmax", &error);
  const struct {
    const char *name;
    double *data;
    int64_t rows, width;
  } inputs[] = {{"q", r->q, 1, r->d}, {"k", r->k, r->n, r->d}, {"v", r->v, r->n, 1}};
  for (int i = 0; i < 3; i++) {
    store(inputs[i].data, inputs[i].rows * inputs[i].width, r->storage[i]);
    attest_tensor t = attest_tensor_of(inputs[i].data, r->storage[i], 2,
                                       (int64_t[]){inputs[i].rows, inputs[i].width});
    ck_assert_int_eq(attest_problem_input(p, inputs[i].name, &t, &error), ATTEST_OK);
  }
  ck_assert_int_eq(attest_problem_set(p, "scale", r->scale, &error), ATTEST_OK);
  ck_assert_int_eq(attest_problem_set(p, "temperature", r->temperature, &error), ATTEST_OK);
  if (r->softcap) ck_assert_int_eq(attest_problem_set(p, "softcap", r->softcap, &error), ATTEST_OK);
  ck_assert_msg(problem_resolve(p, &error) == ATTEST_OK, "%s", error.message);
  return p;
}

/* Bounds of out and lse; the enclosure's values go to r->x. */
static void bounds(double bound[2], row *r, const attest_problem *p, const room_machine *machine) {
  attest_error error;
  problem_slice slice;
  void *work;
  double radius[2];
  unsigned char class[2];
  unsigned want = WANT_OUT | WANT_LSE | WANT_THEORY;
  problem_slice_get(&slice, p, 0);
  room_block block = {.rows = 1, .machine = machine};
  block.out =
      (room_cells){.width = 1, .x = r->x, .radius = radius, .theory = bound, .class = class};
  block.lse = (room_cells){
      .width = 1, .x = r->x + 1, .radius = radius + 1, .theory = bound + 1, .class = class + 1};
  ck_assert_int_eq(softmax_enclose_open(&work, p, &slice, want, &error), ATTEST_OK);
  softmax_enclose_rows(&block, work, want);
  softmax_enclose_close(work);
}

static void kernel(row *r, const attest_problem *p, attest_dtype dtype) {
  attest_error error;
  double memory[2];
  attest_tensor out = attest_tensor_of(memory, dtype, 2, (int64_t[]){1, 1});
  attest_tensor lse = attest_tensor_of(memory + 1, dtype, 1, (int64_t[]){1});
  ck_assert_int_eq(softmax_kernel(&out, &lse, p, &error), ATTEST_OK);
  r->out = tensor_at(&out, 0);
  r->lse = tensor_at(&lse, 0);
}

/* The built-in kernel is within finite bounds. */
static void kernel_is_within(row *r, attest_dtype dtype) {
  double bound[2];
  room_machine machine = softmax_machine(dtype);
  attest_problem *p = problem_of(r);
  bounds(bound, r, p, &machine);
  kernel(r, p, dtype);
  ck_assert(isfinite(bound[0]) && isfinite(bound[1]));
  ck_assert_double_le(fabs(r->out - r->x[0]), bound[0]);
  ck_assert_double_le(fabs(r->lse - r->x[1]), bound[1]);
  attest_problem_free(p);
  free(r);
}

/* The built-in kernel leaves the range of its format, and the bound of out (and lse) says so. */
static void bound_is_infinite(row *r, attest_dtype dtype, int lse_too) {
  double bound[2];
  room_machine machine = softmax_machine(dtype);
  attest_problem *p = problem_of(r);
  bounds(bound, r, p, &machine);
  ck_assert(isinf(bound[0]));
  ck_assert(isinf(bound[1]) || !lse_too);
  attest_problem_free(p);
  free(r);
}

/* What a machine of the model returns for out and lse is within finite bounds. */
static void result_is_within(row *r, const char *model, double out, double lse) {
  double bound[2];
  attest_error error;
  room_machine machine;
  ck_assert_int_eq(softmax_machine_parse(&machine, model, &error), ATTEST_OK);
  attest_problem *p = problem_of(r);
  bounds(bound, r, p, &machine);
  ck_assert(isfinite(bound[0]) && isfinite(bound[1]));
  ck_assert_double_le(fabs(out - r->x[0]), bound[0]);
  ck_assert_double_le(fabs(lse - r->x[1]), bound[1]);
  attest_problem_free(p);
}

/* The bounds of a declared machine, of a row that is freed. */
static void declared(double bound[2], double x[2], row *r, const char *model) {
  attest_error error;
  room_machine machine;
  ck_assert_int_eq(softmax_machine_parse(&machine, model, &error), ATTEST_OK);
  attest_problem *p = problem_of(r);
  bounds(bound, r, p, &machine);
  memcpy(x, r->x, sizeof r->x);
  attest_problem_free(p);
  free(r);
}

/* What a machine of the model returns for out and lse is no further than bounds that may be
 * infinite. */
static void result_is_no_further(row *r, const char *model, double out, double lse) {
  double bound[2], x[2];
  declared(bound, x, r, model);
  ck_assert_double_le(fabs(out - x[0]), bound[0]);
  ck_assert_double_le(fabs(lse - x[1]), bound[1]);
}

static void machine_overflows(row *r, const char *model) {
  double bound[2], x[2];
  declared(bound, x, r, model);
  ck_assert(isinf(bound[0]) && isinf(bound[1]));
}

/* A dot product whose every addition loses half a unit, before a temperature that magnifies it. */
START_TEST(temperature_magnifies_the_error_of_products) {
  row *r = new_row(2, D_MAX);
  r->temperature = "1/1000";
  for (int a = 0; a < D_MAX; a++) {
    r->q[a] = 1;
    r->k[a] = a ? 0.49 * 0x1p-23 : 1;
  }
  r->k[D_MAX] = 1;
  r->v[0] = 1;
  r->v[1] = -1;
  kernel_is_within(r, ATTEST_FLOAT32);
}
END_TEST

static row *two_keys(double q, double k0, double k1) {
  row *r = new_row(2, 1);
  r->q[0] = q;
  r->k[0] = k0;
  r->k[1] = k1;
  r->v[0] = 1;
  r->v[1] = 2;
  return r;
}

START_TEST(what_leaves_the_range_of_the_format_has_no_bound) {
  bound_is_infinite(two_keys(1e39, 1e-39, 2e-39), ATTEST_FLOAT32, 1);
  row *r = two_keys(1e25, 1e25, 2e25);
  r->scale = "1e-50";
  bound_is_infinite(r, ATTEST_FLOAT32, 1);
  r = two_keys(1e-20, 1e-20, 2e-20);
  r->temperature = "1e-40";
  bound_is_infinite(r, ATTEST_FLOAT32, 1);
  r = new_row(1000, 1); /* the unnormalised sum overflows */
  for (int j = 0; j < 1000; j++)
    r->v[j] = 1e306;
  bound_is_infinite(r, ATTEST_FLOAT64, 0);
}
END_TEST

/* Weights rounded before they meet values, a normaliser of those that are not. */
START_TEST(rounded_weights_need_not_be_those_of_the_normaliser) {
  row *r = two_keys(1, 0, log(0x1.01p-1));
  r->v[1] = 1;
  double sum = 1 + 0x1.01p-1, rounded = 1 + 0x1p-1; /* bfloat16 ties to even */
  result_is_within(r, "products=float32,weights=bfloat16", rounded / sum, log(sum));
  result_is_within(r, "products=float32,weights=bfloat16", 1, log(rounded));
  free(r);
}
END_TEST

/* Matrix units: products in bfloat16, their sums in float32. Each product with the first key loses
 * 63/128 of a unit, 135 x 137 being 144 x 128 + 63, and none with the second; then sums of 72 and
 * 69 135/128 are rounded to halves. That none of these sums is taken in bfloat16 shows in the
 * bound. */
START_TEST(sums_of_products_are_taken_in_the_format_of_more_digits) {
  row *r = new_row(2, 64);
  r->storage[0] = r->storage[1] = ATTEST_BFLOAT16;
  for (int a = 0; a < 64; a++) {
    r->q[a] = 135 / 128.;
    r->k[a] = 137 / 128.;
    r->k[64 + a] = a > 2 ? 1 : a < 2 ? 4 : 0;
  }
  r->v[1] = 1;
  double computed = 1 / (1 + exp(72 - 73)), bound[2];
  attest_error error;
  room_machine machine;
  ck_assert_int_eq(softmax_machine_parse(&machine, "products=bfloat16", &error), ATTEST_OK);
  attest_problem *p = problem_of(r);
  bounds(bound, r, p, &machine);
  ck_assert_double_gt(fabs(computed - r->x[0]), 0.1);
  ck_assert_double_le(fabs(computed - r->x[0]), bound[0]);
  ck_assert_double_le(fabs(73 + log1p(exp(72 - 73)) - r->x[1]), bound[1]);
  ck_assert_double_lt(bound[0], 10);
  machine.accumulate = ATTEST_BFLOAT16;
  bounds(bound, r, p, &machine);
  ck_assert_double_gt(bound[0], 1000);
  attest_problem_free(p);
  free(r);
}
END_TEST

/* Weights that the format of the weights cannot hold, values that the results cannot. */
START_TEST(every_format_underflows_in_its_own_range) {
  row *r = new_row(KEYS_MAX, 1);
  r->q[0] = 1;
  for (int j = 1; j < KEYS_MAX; j++) {
    r->k[j] = -18.5;
    r->v[j] = 1;
  }
  double lse = log1p((KEYS_MAX - 1) * exp(-18.5));
  result_is_within(r, "weights=float16", 0, lse);
  result_is_within(r, "accumulate=float16,block=64", 0, 0);
  free(r);
  r = two_keys(1, 0, 0);
  r->v[0] = r->v[1] = 1.03e-7;
  double bound[2];
  room_machine machine = softmax_machine(ATTEST_FLOAT32);
  machine.result = ATTEST_FLOAT16;
  attest_problem *p = problem_of(r);
  bounds(bound, r, p, &machine);
  ck_assert_double_le(fabs(0x1p-23 - r->x[0]), bound[0]);
  attest_problem_free(p);
  free(r);
}
END_TEST

START_TEST(each_output_rounds_to_its_own_format) {
  row *r = two_keys(1, 3, 3);
  double bound[2], wide[2];
  room_machine machine = softmax_machine(ATTEST_FLOAT32);
  attest_problem *p = problem_of(r);
  bounds(wide, r, p, &machine);
  machine.result_lse = ATTEST_BFLOAT16;
  bounds(bound, r, p, &machine);
  ck_assert_double_eq(bound[0], wide[0]);
  ck_assert_double_gt(bound[1], 0x1p-8);
  machine.result_lse = ATTEST_FLOAT32;
  machine.result = ATTEST_BFLOAT16;
  bounds(bound, r, p, &machine);
  ck_assert_double_gt(bound[0], 0x1p-8);
  ck_assert_double_eq(bound[1], wide[1]);
  attest_problem_free(p);
  free(r);
}
END_TEST

/* 2^27 + 7.875 - 2^27 is 0 in float32. The slope of the cap at 7.875 is small, at 0 it is 1. */
START_TEST(an_error_moves_the_slope_of_a_softcap) {
  row *r = two_keys(1, 0x1p27, 0);
  r->d = 3;
  r->softcap = "1";
  r->q[1] = r->q[2] = 1;
  r->k[1] = 7.875;
  r->k[2] = -0x1p27;
  r->k[3] = r->k[4] = r->k[5] = 0;
  r->v[1] = -1;
  result_is_no_further(r, "products=float32", 0, log(2));
}
END_TEST

/* 2^33 + 512 is 2^33 in float32, so that a score of -1024 becomes 0. In double its weight is 0. */
START_TEST(a_weight_of_nothing_may_become_one_of_something) {
  row *r = two_keys(1, 0, 0);
  const double query[] = {1, 0x1p-10, 0x1p-10, 1};
  const double keys[] = {0, 0, 0, 0, -0x1p33, -0x1p19, -0x1p19, 0x1p33};
  r->d = 4;
  memcpy(r->q, query, sizeof query);
  memcpy(r->k, keys, sizeof keys);
  r->v[0] = -1;
  r->v[1] = 1;
  result_is_no_further(r, "products=float32", 0, log(2));
}
END_TEST

/* An exponential whose error is as large as itself may be 0, or twice what it should be. */
START_TEST(a_useless_exponential_has_no_bound) {
  row *r = new_row(1000, 1);
  r->v[0] = 1;
  result_is_no_further(r, "products=float32,exp=16777216", 1, log(2));
}
END_TEST

/* Products that a machine flushes before it scales them. */
START_TEST(products_underflow_before_they_are_scaled) {
  row *r = new_row(2, D_MAX);
  r->scale = "1e37";
  for (int a = 0; a < D_MAX; a++)
    r->q[a] = r->k[a] = 0x1p-75;
  r->v[0] = 1;
  r->v[1] = -1;
  result_is_no_further(r, "products=float32", 0, log(2));
  r = two_keys(0x1p-13, 0x1p-13, 0);
  r->scale = "67108864";
  r->v[1] = -1;
  result_is_no_further(r, "products=bfloat16,accumulate=float16", 0, log(2));
}
END_TEST

START_TEST(products_overflow_before_they_are_scaled) {
  row *r = two_keys(1e20, 1e20, 2e20);
  r->scale = "1e-30";
  machine_overflows(r, "products=float32");
  r = two_keys(300, 300, 0); /* 90000 in float16 */
  r->scale = "1e-4";
  machine_overflows(r, "products=bfloat16,accumulate=float16");
}
END_TEST

/* ---- what each rounding is charged, in units of roundoff of float32 ---- */

/* The bounds of out and lse of a row, which is freed. */
static void charge(double bound[2], row *r, const room_machine *machine) {
  attest_problem *p = problem_of(r);
  bounds(bound, r, p, machine);
  bound[0] *= 0x1p24;
  bound[1] *= 0x1p24;
  attest_problem_free(p);
  free(r);
}

/* Keys of scores 0 and 1, values 1 and 2. */
static row *stored_keys(attest_dtype q, attest_dtype k, attest_dtype v) {
  row *r = two_keys(1, 0, 1);
  r->storage[0] = q;
  r->storage[1] = k;
  r->storage[2] = v;
  return r;
}

/* Two roundings for a score, one for a value. None of them is ever alone beyond the bound: g(d+3) t
 * pays for d + 1 roundings of products and sums with two to spare. */
START_TEST(inputs_of_more_digits_are_rounded_on_their_way_in) {
  const attest_dtype narrow = ATTEST_FLOAT32, wide = ATTEST_FLOAT64;
  double p = exp(1) / (1 + exp(1)), x = 1 + p, spread = 2 * p * (2 - x);
  for (int builtin = 0; builtin < 2; builtin++) {
    double none[2], query[2], key[2], value[2];
    room_machine machine = softmax_machine(ATTEST_FLOAT32);
    machine.builtin = builtin;
    charge(none, stored_keys(narrow, narrow, narrow), &machine);
    charge(query, stored_keys(wide, narrow, narrow), &machine);
    charge(key, stored_keys(narrow, wide, narrow), &machine);
    charge(value, stored_keys(narrow, narrow, wide), &machine);
    ck_assert_double_eq_tol(query[0] - none[0], spread, 0.03 * spread);
    ck_assert_double_eq_tol(key[0] - none[0], spread, 0.03 * spread);
    ck_assert_double_eq_tol(value[0] - none[0], x, 0.03 * x);
    ck_assert_double_eq_tol(query[1] - none[1], 2 * p, 0.06 * p);
    ck_assert_double_eq_tol(value[1], none[1], 1e-3);
  }
}
END_TEST

/* A first block of scores 0, then one key of score `growth`; values 1: only sums err in out. */
static row *growing(double growth) {
  row *r = new_row(257, 1);
  r->q[0] = 1;
  r->k[256] = growth;
  for (int j = 0; j < 257; j++)
    r->v[j] = 1;
  return r;
}

/* The built-in kernel moves its shift when the maximum grows by 8: each of ceil(growth/8) + 1 moves
 * multiplies both sums once more, and a weight by an exponential with a rounding of its own. Its
 * arguments telescope to at most 16 beyond the distance from the maximum, instead of the distance
 * from the first block's maximum. (In float32 none of this is ever alone beyond the bound, nor are
 * the u^2 (d+14) t by which the maximum itself may be off.) */
START_TEST(each_move_of_the_maximum_is_charged) {
  room_machine machine = softmax_machine(ATTEST_FLOAT32);
  double still[2], moved[2], moves = 3;
  charge(still, growing(8 - 0x1p-10), &machine);
  charge(moved, growing(8 + 0x1p-10), &machine);
  double p = exp(8) / (exp(8) + 256);
  ck_assert_double_eq_tol(moved[0] - still[0], 2 * moves, 0.05 * moves);
  double weights = 2 * PASS_SHIFT + moves * (machine.exp_error + 1);
  double expected = weights - p * 8 + moves + (1 - p) * 8;
  ck_assert_double_eq_tol(moved[1] - still[1], expected, 0.05 * expected);
}
END_TEST

/* 200 additions in 8 bits may lose more than half of the normaliser: the quotient may then be any
 * multiple of what it should be. Few additions have a bound, though more than their number. */
START_TEST(sums_deeper_than_their_format_bears_have_no_bound) {
  row *r = new_row(200, 1);
  double bound[2];
  attest_error error;
  room_machine machine;
  for (int j = 0; j < 200; j++)
    r->v[j] = 1;
  attest_problem *p = problem_of(r);
  ck_assert_int_eq(softmax_machine_parse(&machine, "accumulate=bfloat16", &error), ATTEST_OK);
  bounds(bound, r, p, &machine);
  ck_assert(isinf(bound[0]) && isinf(bound[1]));
  ck_assert_int_eq(softmax_machine_parse(&machine, "accumulate=bfloat16,block=20", &error),
                   ATTEST_OK);
  bounds(bound, r, p, &machine);
  double z = (20 + 2 * 10) * 0x1p-8, e = z / (1 - z);
  ck_assert_double_gt(bound[0], e + e / (1 - e));
  ck_assert_double_lt(bound[0], 2 * (e + e / (1 - e)));
  attest_problem_free(p);
  free(r);
}
END_TEST

void test_theory(Suite *suite) {
  TCase *tc = tcase_create("theory");
  tcase_add_test(tc, temperature_magnifies_the_error_of_products);
  tcase_add_test(tc, what_leaves_the_range_of_the_format_has_no_bound);
  tcase_add_test(tc, sums_of_products_are_taken_in_the_format_of_more_digits);
  tcase_add_test(tc, rounded_weights_need_not_be_those_of_the_normaliser);
  tcase_add_test(tc, every_format_underflows_in_its_own_range);
  tcase_add_test(tc, each_output_rounds_to_its_own_format);
  tcase_add_test(tc, an_error_moves_the_slope_of_a_softcap);
  tcase_add_test(tc, a_weight_of_nothing_may_become_one_of_something);
  tcase_add_test(tc, a_useless_exponential_has_no_bound);
  tcase_add_test(tc, products_underflow_before_they_are_scaled);
  tcase_add_test(tc, products_overflow_before_they_are_scaled);
  tcase_add_test(tc, inputs_of_more_digits_are_rounded_on_their_way_in);
  tcase_add_test(tc, each_move_of_the_maximum_is_charged);
  tcase_add_test(tc, sums_deeper_than_their_format_bears_have_no_bound);
  suite_add_tcase(suite, tc);
}
