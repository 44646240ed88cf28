/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <math.h>

#include "../../src/tensor/tensor.h"
#include "../tests.h"

static const attest_dtype all[] = {ATTEST_FLOAT16, ATTEST_BFLOAT16, ATTEST_FLOAT32, ATTEST_FLOAT64,
                                   ATTEST_BOOL,    ATTEST_INT32,    ATTEST_INT64};
enum { ALL = sizeof all / sizeof *all };

/* Small whole numbers are exact in every dtype. */
static double number(attest_dtype dtype, int64_t i) {
  return dtype == ATTEST_BOOL ? (double)(i % 3 == 1) : (double)(i % 97 - 48);
}

/* Whatever the dtype, byte order, alignment, stride (0 and negative too) and count around the block
 * size, loading gives what was stored and what tensor_at reads one by one. */
START_TEST(loads_agree_with_what_was_stored) {
  enum { N = 300, ROOM = 3 * N };
  static const int64_t strides[] = {1, 2, 3, -1, -2, 0};
  static const int64_t counts[] = {0, 1, 2, 63, 64, 65, 128, 200, N};
  static unsigned char bytes[ROOM * 8 + 8];
  double doubles[N + 1];
  float floats[N + 1];
  int64_t shape[1] = {ROOM};
  attest_dtype dtype = all[_i / 4];
  attest_tensor t = attest_tensor_of(bytes + (_i & 1), dtype, 1, shape);
  t.byteswapped = _i >> 1 & 1;
  for (int64_t i = 0; i < ROOM; i++)
    tensor_store(&t, i, number(dtype, i));
  for (size_t s = 0; s < sizeof strides / sizeof *strides; s++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      int64_t n = counts[c], start = strides[s] < 0 ? ROOM - 1 : 0;
      doubles[n] = floats[n] = 77;
      tensor_load(doubles, &t, start, n, strides[s]);
      tensor_load_float(floats, &t, start, n, strides[s]);
      ck_assert(doubles[n] == 77 && floats[n] == 77); /* nothing beyond the end */
      for (int64_t i = 0; i < n; i++) {
        int64_t at = start + i * strides[s];
        double expected = number(dtype, at);
        ck_assert(doubles[i] == expected && floats[i] == (float)expected);
        ck_assert(tensor_at(&t, at) == expected);
        ck_assert_int_eq(tensor_int_at(&t, at), (int64_t)expected);
      }
    }
}
END_TEST

START_TEST(byte_order_is_that_of_the_bytes) {
  unsigned char one[4] = {0x3f, 0x80, 0x00, 0x00}; /* 1.0 as >f4 */
  const uint16_t probe = 1;
  int64_t shape[1] = {1};
  attest_tensor t = attest_tensor_of(one, ATTEST_FLOAT32, 1, shape);
  t.byteswapped = *(const unsigned char *)&probe == 1;
  ck_assert(tensor_at(&t, 0) == 1.0);
  tensor_store(&t, 0, -2.0);
  ck_assert_int_eq(one[0], 0xc0);
}
END_TEST

START_TEST(large_integers_are_exact_as_integers) {
  int64_t value[2] = {((int64_t)1 << 53) + 1, INT64_MIN}, shape[1] = {2};
  attest_tensor t = attest_tensor_of(value, ATTEST_INT64, 1, shape);
  ck_assert_int_eq(tensor_int_at(&t, 0), value[0]);
  ck_assert_int_eq(tensor_int_at(&t, 1), INT64_MIN);
}
END_TEST

START_TEST(integer_stores_saturate) {
  int64_t wide[1], shape[1] = {1};
  int32_t narrow[1];
  attest_tensor t64 = attest_tensor_of(wide, ATTEST_INT64, 1, shape);
  attest_tensor t32 = attest_tensor_of(narrow, ATTEST_INT32, 1, shape);
  tensor_store(&t64, 0, INFINITY);
  tensor_store(&t32, 0, -1e30);
  ck_assert_int_eq(wide[0], INT64_MAX);
  ck_assert_int_eq(narrow[0], INT32_MIN);
  tensor_store(&t64, 0, NAN);
  tensor_store(&t32, 0, 2.5);
  ck_assert_int_eq(wide[0], 0);
  ck_assert_int_eq(narrow[0], 2);
  double beyond = 1e19;
  attest_tensor f = attest_tensor_of(&beyond, ATTEST_FLOAT64, 1, shape);
  ck_assert_int_eq(tensor_int_at(&f, 0), INT64_MAX);
}
END_TEST

/* Layout bnhd seen as bhnd: element (b, h, n, d) of the view is element (b, n, h, d) of storage. */
START_TEST(permuted_axes_view_the_same_storage) {
  float data[2 * 3 * 4 * 5];
  int64_t shape[4] = {2, 3, 4, 5};
  const int order[4] = {0, 2, 1, 3};
  for (int i = 0; i < 120; i++)
    data[i] = (float)i;
  attest_tensor bnhd = attest_tensor_of(data, ATTEST_FLOAT32, 4, shape);
  attest_tensor bhnd = tensor_permute(&bnhd, order);
  ck_assert_int_eq(bhnd.shape[1], 4);
  ck_assert_int_eq(bhnd.shape[2], 3);
  for (int64_t b = 0; b < 2; b++)
    for (int64_t n = 0; n < 3; n++)
      for (int64_t h = 0; h < 4; h++)
        for (int64_t d = 0; d < 5; d++) {
          int64_t offset = b * bhnd.stride[0] + h * bhnd.stride[1] + n * bhnd.stride[2] + d;
          ck_assert(tensor_at(&bhnd, offset) == (double)(((b * 3 + n) * 4 + h) * 5 + d));
        }
}
END_TEST

/* Collapsing never changes the sequence of offsets in C order. */
START_TEST(collapsed_axes_keep_the_order_of_elements) {
  static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  static const int64_t shapes[][3] = {{2, 3, 4}, {1, 3, 4}, {2, 1, 4}, {2, 3, 1}, {1, 1, 1}};
  unsigned char data[24];
  for (unsigned char i = 0; i < 24; i++)
    data[i] = i & 1;
  for (size_t o = 0; o < 6; o++)
    for (size_t s = 0; s < 5; s++) {
      attest_tensor whole = attest_tensor_of(data, ATTEST_BOOL, 3, shapes[s]);
      attest_tensor t = tensor_permute(&whole, orders[o]), flat = tensor_collapse(&t);
      int64_t length = flat.shape[flat.ndim - 1], n = 0;
      ck_assert_int_eq(tensor_elements(&flat), tensor_elements(&t));
      if (o == 0) ck_assert_int_eq(flat.ndim, 1);
      for (int64_t i = 0; i < t.shape[0]; i++)
        for (int64_t j = 0; j < t.shape[1]; j++)
          for (int64_t k = 0; k < t.shape[2]; k++, n++)
            ck_assert_int_eq(i * t.stride[0] + j * t.stride[1] + k * t.stride[2],
                             tensor_row_offset(&flat, n / length) +
                                 n % length * flat.stride[flat.ndim - 1]);
    }
}
END_TEST

START_TEST(shapes_print_as_python_writes_them) {
  char text[96];
  int64_t shape[4] = {2, 9, 8, INT64_MAX};
  attest_tensor t = {.ndim = 0};
  ck_assert_str_eq(tensor_shape_text(text, &t), "()");
  ck_assert_int_eq(tensor_elements(&t), 1);
  t = attest_tensor_of(NULL, ATTEST_FLOAT32, 1, shape + 1);
  ck_assert_str_eq(tensor_shape_text(text, &t), "(9,)");
  t = attest_tensor_of(NULL, ATTEST_FLOAT32, 3, shape);
  ck_assert_str_eq(tensor_shape_text(text, &t), "(2, 9, 8)");
  ck_assert_int_eq(tensor_elements(&t), 144);
  for (int i = 0; i < 4; i++)
    t.shape[i] = INT64_MAX;
  t.ndim = 4;
  ck_assert_uint_eq(strlen(tensor_shape_text(text, &t)), 4 * 19 + 3 * 2 + 2);
}
END_TEST

START_TEST(sha256_of_known_bytes) { /* FIPS 180-4 examples */
  char hex[65];
  tensor_sha256(hex, "abc", 3);
  ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  tensor_sha256(hex, "", 0);
  ck_assert_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
END_TEST

void test_view(Suite *suite) {
  TCase *tcase = tcase_create("view");
  tcase_add_loop_test(tcase, loads_agree_with_what_was_stored, 0, ALL * 4);
  tcase_add_test(tcase, byte_order_is_that_of_the_bytes);
  tcase_add_test(tcase, large_integers_are_exact_as_integers);
  tcase_add_test(tcase, integer_stores_saturate);
  tcase_add_test(tcase, permuted_axes_view_the_same_storage);
  tcase_add_test(tcase, collapsed_axes_keep_the_order_of_elements);
  tcase_add_test(tcase, shapes_print_as_python_writes_them);
  tcase_add_test(tcase, sha256_of_known_bytes);
  suite_add_tcase(suite, tcase);
}
