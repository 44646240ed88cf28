/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Golden values: the definition of the formats, sign m 2^e written with ldexp, and the processor's
 * own conversion to float32. */
#include <fenv.h>
#include <math.h>

#include "../../src/tensor/tensor.h"
#include "../tests.h"

/* The value of a pattern with `fraction` bits of fraction and an exponent field of the rest. */
static double by_definition(uint16_t bits, int fraction, int bias) {
  int field = (bits & 0x7fff) >> fraction, top = (0x7fff >> fraction);
  int m = bits & ((1 << fraction) - 1);
  double magnitude;
  if (field == top)
    magnitude = m ? NAN : INFINITY;
  else if (field == 0)
    magnitude = ldexp(m, 1 - bias - fraction);
  else
    magnitude = ldexp((1 << fraction) + m, field - bias - fraction);
  return bits & 0x8000 ? -magnitude : magnitude;
}

static const struct {
  attest_dtype dtype;
  int fraction, bias;
} small[2] = {{ATTEST_FLOAT16, 10, 15}, {ATTEST_BFLOAT16, 7, 127}};

static int same(double a, double b) {
  return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

START_TEST(every_16_bit_pattern_decodes_exactly) {
  static uint16_t patterns[65536];
  static double doubles[65536];
  static float floats[65536];
  int64_t shape[1] = {65536};
  for (int i = 0; i < 65536; i++)
    patterns[i] = (uint16_t)i;
  attest_tensor t = attest_tensor_of(patterns, small[_i].dtype, 1, shape);
  tensor_load(doubles, &t, 0, 65536, 1);
  tensor_load_float(floats, &t, 0, 65536, 1);
  for (int i = 0; i < 65536; i++) {
    double expected = by_definition((uint16_t)i, small[_i].fraction, small[_i].bias);
    ck_assert_msg(same(tensor_at(&t, i), expected), "at %04x", i);
    ck_assert_msg(same(doubles[i], expected), "load %04x", i);
    ck_assert_msg(same((double)floats[i], expected), "load_float %04x", i);
  }
}
END_TEST

static uint16_t stored(attest_dtype dtype, double value) {
  uint16_t bits;
  int64_t shape[1] = {1};
  attest_tensor t = attest_tensor_of(&bits, dtype, 1, shape);
  tensor_store(&t, 0, value);
  return bits;
}

START_TEST(every_16_bit_pattern_survives_a_store) {
  for (int i = 0; i < 65536; i++) {
    double value = by_definition((uint16_t)i, small[_i].fraction, small[_i].bias);
    uint16_t bits = stored(small[_i].dtype, value);
    if (isnan(value))
      ck_assert(isnan(by_definition(bits, small[_i].fraction, small[_i].bias)));
    else
      ck_assert_msg(bits == i, "%04x became %04x", i, bits);
  }
}
END_TEST

/* Between neighbours the midpoint goes to the even pattern, and the doubles beside it to the nearer
 * neighbour; beyond the largest number the midpoint to the next power of two goes to infinity. */
START_TEST(stores_round_to_nearest_even_between_all_neighbours) {
  int fraction = small[_i].fraction, bias = small[_i].bias;
  int infinity = 0x7fff >> fraction << fraction;
  for (int i = 0; i < infinity; i++) {
    double low = by_definition((uint16_t)i, fraction, bias);
    double high =
        i + 1 < infinity ? by_definition((uint16_t)(i + 1), fraction, bias) : ldexp(1, bias + 1);
    double middle = low + (high - low) / 2;
    ck_assert_int_eq(stored(small[_i].dtype, middle), i & 1 ? i + 1 : i);
    ck_assert_int_eq(stored(small[_i].dtype, nextafter(middle, 0)), i);
    ck_assert_int_eq(stored(small[_i].dtype, nextafter(middle, INFINITY)), i + 1);
    ck_assert_int_eq(stored(small[_i].dtype, -middle), 0x8000 | (i & 1 ? i + 1 : i));
  }
  ck_assert_int_eq(stored(small[_i].dtype, 1e300), infinity);
  ck_assert_int_eq(stored(small[_i].dtype, -INFINITY), 0x8000 | infinity);
  ck_assert_int_eq(stored(small[_i].dtype, -0x1p-1074), 0x8000);
}
END_TEST

static float stored_float(double value) {
  float result;
  int64_t shape[1] = {1};
  attest_tensor t = attest_tensor_of(&result, ATTEST_FLOAT32, 1, shape);
  tensor_store(&t, 0, value);
  return result;
}

START_TEST(float32_stores_agree_with_the_processor) {
  uint64_t state = tests_seed();
  for (int i = 0; i < 200000; i++) {
    uint64_t bits = tests_random(&state);
    if (i & 1) /* half of them near or below the smallest normal float */
      bits = (bits & ~((uint64_t)0x7ff << 52)) | (uint64_t)(1023 - 155 + bits % 32) << 52;
    if (i % 8 == 0) bits &= ~(((uint64_t)1 << 28) - 1); /* ties */
    double value;
    memcpy(&value, &bits, sizeof value);
    ck_assert_msg(same((double)stored_float(value), (double)(float)value), "%a", value);
  }
  ck_assert(isinf(stored_float(0x1.ffffffp127)));
  ck_assert(stored_float(nextafter(0x1.ffffffp127, 0)) == 0x1.fffffep127f);
}
END_TEST

START_TEST(stores_do_not_depend_on_the_rounding_mode) {
  static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    fesetround(modes[i]);
    float up = stored_float(0x1.0000030p0), tie = stored_float(0x1.000001p0);
    uint16_t half = stored(ATTEST_FLOAT16, 0x1.002p0);
    fesetround(FE_TONEAREST);
    ck_assert(up == 0x1.000004p0f);
    ck_assert(tie == 1.0f);
    ck_assert_int_eq(half, 0x3c00);
  }
}
END_TEST

START_TEST(names_parse_and_formats_are_those_of_ieee_754) {
  static const struct {
    const char *name;
    attest_dtype dtype;
    size_t size;
    int precision, emin, emax;
  } expected[] = {
      {"float16", ATTEST_FLOAT16, 2, 11, -14, 15}, {"half", ATTEST_FLOAT16, 2, 11, -14, 15},
      {"f16", ATTEST_FLOAT16, 2, 11, -14, 15},     {"bfloat16", ATTEST_BFLOAT16, 2, 8, -126, 127},
      {"bf16", ATTEST_BFLOAT16, 2, 8, -126, 127},  {"float32", ATTEST_FLOAT32, 4, 24, -126, 127},
      {"f32", ATTEST_FLOAT32, 4, 24, -126, 127},   {"float64", ATTEST_FLOAT64, 8, 53, -1022, 1023},
      {"f64", ATTEST_FLOAT64, 8, 53, -1022, 1023}, {"double", ATTEST_FLOAT64, 8, 53, -1022, 1023},
  };
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    attest_dtype dtype;
    ck_assert_int_eq(tensor_dtype_parse(&dtype, expected[i].name), 0);
    ck_assert_int_eq(dtype, expected[i].dtype);
    const tensor_format *format = tensor_dtype_format(dtype);
    ck_assert_str_eq(format->name, tensor_dtype_name(dtype));
    ck_assert_uint_eq(tensor_dtype_size(dtype), expected[i].size);
    ck_assert_int_eq(format->precision, expected[i].precision);
    ck_assert_int_eq(format->emin, expected[i].emin);
    ck_assert_int_eq(format->emax, expected[i].emax);
  }
}
END_TEST

START_TEST(other_names_do_not_parse_and_integers_have_no_format) {
  static const char *const names[] = {"",         "float", "float8", "Float32",
                                      "float32 ", "int32", "bool"};
  attest_dtype dtype;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    ck_assert_int_eq(tensor_dtype_parse(&dtype, names[i]), -1);
  ck_assert_ptr_null(tensor_dtype_format(ATTEST_BOOL));
  ck_assert_ptr_null(tensor_dtype_format(ATTEST_INT32));
  ck_assert_ptr_null(tensor_dtype_format(ATTEST_INT64));
  ck_assert_uint_eq(tensor_dtype_size(ATTEST_BOOL), 1);
  ck_assert_uint_eq(tensor_dtype_size(ATTEST_INT64), 8);
}
END_TEST

START_TEST(errors_hold_their_status_and_no_control_characters) {
  attest_error error;
  ck_assert_int_eq(attest_fail(&error, ATTEST_ERR_IO, "%s: %d\n", "a\x1b[31m\x7f", 7),
                   ATTEST_ERR_IO);
  ck_assert_int_eq(error.status, ATTEST_ERR_IO);
  ck_assert_str_eq(error.message, "a?[31m?: 7\n");
  ck_assert_int_eq(attest_fail(NULL, ATTEST_ERR_INPUT, "nobody listens"), ATTEST_ERR_INPUT);
}
END_TEST

void test_dtype(Suite *suite) {
  TCase *tcase = tcase_create("dtype");
  tcase_add_loop_test(tcase, every_16_bit_pattern_decodes_exactly, 0, 2);
  tcase_add_loop_test(tcase, every_16_bit_pattern_survives_a_store, 0, 2);
  tcase_add_loop_test(tcase, stores_round_to_nearest_even_between_all_neighbours, 0, 2);
  tcase_add_test(tcase, float32_stores_agree_with_the_processor);
  tcase_add_test(tcase, stores_do_not_depend_on_the_rounding_mode);
  tcase_add_test(tcase, names_parse_and_formats_are_those_of_ieee_754);
  tcase_add_test(tcase, other_names_do_not_parse_and_integers_have_no_format);
  tcase_add_test(tcase, errors_hold_their_status_and_no_control_characters);
  suite_add_tcase(suite, tcase);
}
