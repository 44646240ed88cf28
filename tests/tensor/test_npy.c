/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Header texts are those that NumPy 1.24 writes for the array named beside them. */
#include <math.h>

#include "files.h"

/* Writes, opens and hands over the one tensor of an npy file. */
static tensor_file *open_npy(attest_tensor *t, int version, const char *dict, size_t header_length,
                             const void *data, size_t data_size, unsigned flags) {
  size_t size;
  unsigned char *bytes = files_npy(&size, version, dict, header_length, data, data_size);
  tensor_file *file = files_open(files_write("x.npy", bytes, size), flags);
  free(bytes);
  ck_assert_uint_eq(tensor_file_count(file), 1);
  ck_assert_str_eq(tensor_file_name(file, 0), "");
  *t = *tensor_file_tensor(file, 0);
  ck_assert_ptr_eq(tensor_file_find(file, ""), tensor_file_tensor(file, 0));
  return file;
}

START_TEST(headers_of_any_length_and_version_load) {
  static const size_t lengths[] = {0, 118, 300, 70000};
  static const char dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
  const float data[3] = {1, -2, 0.5f};
  attest_tensor t;
  char kind[16];
  for (int version = 1; version <= 3; version++)
    for (size_t i = 0; i < 4; i++) {
      if (version == 1 && lengths[i] > 65535) continue;
      tensor_file *file = open_npy(&t, version, dict, lengths[i], data, sizeof data, 0);
      snprintf(kind, sizeof kind, "npy %d.0", version);
      ck_assert_str_eq(tensor_file_kind(file), kind);
      size_t header = lengths[i] ? lengths[i] : strlen(dict);
      ck_assert_uint_eq(tensor_file_offset(file, 0), (version == 1 ? 10 : 12) + header);
      for (int j = 0; j < 3; j++)
        ck_assert(tensor_at(&t, j) == (double)data[j]);
      tensor_file_close(file);
    }
}
END_TEST

START_TEST(byte_orders_and_dtypes_load) {
  static const struct {
    const char *descr;
    unsigned flags;
    attest_dtype dtype;
    unsigned char bytes[8];
    double value;
  } cases[] = {
      {"<f2", 0, ATTEST_FLOAT16, {0x00, 0xc0}, -2},
      {">f2", 0, ATTEST_FLOAT16, {0xc0, 0x00}, -2},
      {"<f4", 0, ATTEST_FLOAT32, {0, 0, 0x80, 0x3f}, 1},
      {">f4", 0, ATTEST_FLOAT32, {0x3f, 0x80, 0, 0}, 1},
      {"<f8", 0, ATTEST_FLOAT64, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, 1},
      {">f8", 0, ATTEST_FLOAT64, {0x3f, 0xf0, 0, 0, 0, 0, 0, 1}, 1 + 0x1p-52},
      {"<i4", 0, ATTEST_INT32, {0xfe, 0xff, 0xff, 0xff}, -2},
      {">i4", 0, ATTEST_INT32, {0, 0, 1, 2}, 258},
      {"<i8", 0, ATTEST_INT64, {5, 0, 0, 0, 1, 0, 0, 0}, 0x1p32 + 5},
      {">i8", 0, ATTEST_INT64, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, -2},
      {"|b1", 0, ATTEST_BOOL, {1}, 1},
      {"<b1", 0, ATTEST_BOOL, {0}, 0},
      {"|u1", 0, ATTEST_BOOL, {255}, 1},
      {"<V2", TENSOR_BF16, ATTEST_BFLOAT16, {0x40, 0x40}, 3},
      {"|V2", TENSOR_BF16, ATTEST_BFLOAT16, {0x40, 0x40}, 3},
      {"<u2", TENSOR_BF16, ATTEST_BFLOAT16, {0x80, 0xbf}, -1},
      {">u2", TENSOR_BF16, ATTEST_BFLOAT16, {0xbf, 0x80}, -1},
      {"<f4", TENSOR_BF16, ATTEST_FLOAT32, {0, 0, 0x80, 0x3f}, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char dict[100];
    attest_tensor t;
    snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (), }",
             cases[i].descr);
    tensor_file *file = open_npy(&t, 1, dict, 118, cases[i].bytes,
                                 tensor_dtype_size(cases[i].dtype), cases[i].flags);
    ck_assert_int_eq(t.dtype, cases[i].dtype);
    ck_assert_int_eq(t.ndim, 0);
    ck_assert_msg(tensor_at(&t, 0) == cases[i].value, "%s", cases[i].descr);
    tensor_file_close(file);
  }
}
END_TEST

/* numpy.arange(4, dtype=ml_dtypes.bfloat16): must not be read as float16 (0, 1.875, 2, 2.125). */
START_TEST(bfloat16_stored_as_void_reads_as_bfloat16) {
  const unsigned char data[8] = {0, 0, 0x80, 0x3f, 0, 0x40, 0x40, 0x40};
  attest_tensor t;
  tensor_file *file = open_npy(&t, 1, "{'descr': '<V2', 'fortran_order': False, 'shape': (4,), }",
                               118, data, sizeof data, TENSOR_BF16);
  for (int i = 0; i < 4; i++)
    ck_assert(tensor_at(&t, i) == i);
  tensor_file_close(file);
}
END_TEST

/* numpy.asfortranarray(numpy.arange(24).reshape(2, 3, 4)) and its leading axes. */
START_TEST(fortran_order_is_a_view_by_strides) {
  static const char *const dicts[] = {
      "{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }",
      "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
      "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3, 4), }",
      "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3, 4, 2), }",
  };
  static const int64_t stride[4] = {1, 2, 6, 24};
  float data[48];
  size_t n[4] = {2, 6, 24, 48};
  attest_tensor t;
  for (int i = 0; i < 48; i++)
    data[i] = (float)i;
  for (int i = 0; i < 4; i++) {
    tensor_file *file = open_npy(&t, 1, dicts[i], 118, data, n[i] * 4, 0);
    ck_assert_int_eq(t.ndim, i + 1);
    for (int axis = 0; axis <= i; axis++)
      ck_assert_int_eq(t.stride[axis], stride[axis]);
    tensor_file_close(file);
  }
}
END_TEST

START_TEST(any_spelling_of_the_dict_loads) {
  static const char *const dicts[] = {
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
      "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}",
      " { 'shape' : ( 2 , 3 , ) ,\n 'fortran_order' :False , 'descr': '<f4' , } \n\n",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }",
  };
  const float data[6] = {0, 1, 2, 3, 4, 5};
  attest_tensor t;
  for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++) {
    tensor_file *file = open_npy(&t, 2, dicts[i], 0, data, sizeof data, 0);
    ck_assert_int_eq(t.shape[0], 2);
    ck_assert_int_eq(t.shape[1], 3);
    ck_assert(tensor_at(&t, t.stride[0] + 2 * t.stride[1]) == 5);
    tensor_file_close(file);
  }
}
END_TEST

START_TEST(zero_length_axes_load) {
  static const char *const shapes[] = {"(0,)", "(0, 3)", "(3, 0, 2)", "(0, 1099511627776)"};
  char dict[100];
  attest_tensor t;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int fortran = 0; fortran < 2; fortran++) {
      snprintf(dict, sizeof dict, "{'descr': '<f8', 'fortran_order': %s, 'shape': %s, }",
               fortran ? "True" : "False", shapes[i]);
      tensor_file *file = open_npy(&t, 1, dict, 118, NULL, 0, 0);
      ck_assert_int_eq(tensor_elements(&t), 0);
      tensor_file_close(file);
    }
}
END_TEST

/* Each fault of a header (of six float32) and what the message must say. */
static const struct {
  const char *dict, *part;
} faults[] = {
    {"", "expected '{', found the end of the header"},
    {"[1]", "offset 10: expected '{', found '['"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", "expected ',' or '}'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x", "nothing but spaces"},
    {"{'descr': '<f4', 'fortran_order': False}", "the key 'shape' is missing"},
    {"{'descr': '<f4', 'shape': (2, 3)}", "the key 'fortran_order' is missing"},
    {"{'fortran_order': False, 'shape': (2, 3)}", "the key 'descr' is missing"},
    {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", "twice"},
    {"{'descr': '<f4', 'order': 'C', 'shape': (2, 3)}", "unknown key 'order'"},
    {"{descr: '<f4'}", "expected a key in quotes or '}', found 'd'"},
    {"{'descr' '<f4'}", "expected ':' after a key"},
    {"{'descr': '<f4' 'shape': (2, 3)}", "expected ',' or '}', found '''"},
    {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}", "True or False"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", "expected ',' or ')' in shape"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (6)}", "expected a tuple"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': 6}", "expected '(' for shape, found '6'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (-6,)}", "a length (digits) in shape"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (6.0,)}", "expected ',' or ')' in shape"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "a length (digits) in shape"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "beyond 2^63"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,6)}", "more than 4 axes"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "overflows"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693952,)}", "overflows"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807)}", "overflows"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4)}",
     "expected 32 bytes of data at offset 67 for float32 of shape (2, 4), found 24 (truncated)"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}",
     "expected 20 bytes of data at offset 65 for float32 of shape (5,), found 24 (trailing bytes)"},
    {"{'descr': '<f\\x34', 'fortran_order': False, 'shape': (6,)}", "a plain string, found '\\'"},
    {"{'descr': '<f4, 'fortran_order': False, 'shape': (6,)}", "expected ',' or '}'"},
    {"{'descr': '<f4", "closing quote"},
    {"{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False}", "structured dtype"},
    {"{'descr': None, 'fortran_order': False}", "a dtype string for descr, found 'N'"},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", "found dtype '<c8', expected one"},
    {"{'descr': '|i1', 'fortran_order': False, 'shape': (24,)}", "found dtype '|i1', expected one"},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", "found dtype '|O', expected one"},
    {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", "found dtype '<f16', expected"},
    {"{'descr': '|f4', 'fortran_order': False, 'shape': (6,)}", "found dtype '|f4', expected one"},
    {"{'descr': '=f4', 'fortran_order': False, 'shape': (6,)}", "found dtype '=f4', expected one"},
    {"{'descr': '', 'fortran_order': False, 'shape': (6,)}", "found dtype '', expected one"},
    {"{'descr': '>V2', 'fortran_order': False, 'shape': (12,)}", "found dtype '>V2', expected one"},
    {"{'descr': '<V2', 'fortran_order': False, 'shape': (12,)}", "pass --bf16"},
    {"{'descr': '|V2', 'fortran_order': False, 'shape': (12,)}", "pass --bf16"},
    {"{'descr': '<u2', 'fortran_order': False, 'shape': (12,)}", "pass --bf16"},
};

START_TEST(faulty_headers_are_refused_by_name) {
  static const float data[6];
  size_t size;
  unsigned char *bytes = files_npy(&size, 1, faults[_i].dict, 0, data, sizeof data);
  const char *path = files_write("faulty.npy", bytes, size);
  files_assert_refused(path, 0, ATTEST_ERR_INPUT, faults[_i].part);
  free(bytes);
}
END_TEST

/* Every cut of a good file, and every version that does not exist. */
START_TEST(truncated_files_and_unknown_versions_are_refused) {
  static const float data[6];
  size_t size;
  unsigned char *bytes =
      files_npy(&size, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 118, data,
                sizeof data);
  for (size_t cut = 1; cut < size; cut++)
    files_assert_refused(files_write("cut.npy", bytes, cut), 0, ATTEST_ERR_INPUT, "truncated");
  bytes[6] = 4;
  files_assert_refused(files_write("v4.npy", bytes, size), 0, ATTEST_ERR_INPUT,
                       "offset 6: found 4.0, expected 1.0, 2.0 or 3.0");
  bytes[6] = 2; /* the header length becomes 4 bytes wide and huge */
  files_assert_refused(files_write("v2.npy", bytes, size), 0, ATTEST_ERR_INPUT,
                       "bytes of npy header at offset 12");
  free(bytes);
}
END_TEST

/* Strided, byte-swapped views of any dtype come back as contiguous little-endian files. */
START_TEST(written_files_read_back) {
  static const attest_dtype dtypes[] = {ATTEST_FLOAT16, ATTEST_BFLOAT16, ATTEST_FLOAT32,
                                        ATTEST_FLOAT64, ATTEST_BOOL,     ATTEST_INT32,
                                        ATTEST_INT64};
  static const int order[3] = {2, 0, 1};
  int64_t shape[3] = {2, 3, 700};
  static unsigned char storage[2 * 3 * 700 * 8];
  attest_tensor whole = attest_tensor_of(storage, dtypes[_i], 3, shape), t;
  attest_error error = {0};
  whole.byteswapped = _i & 1;
  for (int64_t i = 0; i < tensor_elements(&whole); i++)
    tensor_store(&whole, i, dtypes[_i] == ATTEST_BOOL ? (double)(i % 2) : (double)(i % 101));
  t = tensor_permute(&whole, order);
  const char *path = files_path("written.npy");
  ck_assert_msg(tensor_write_npy(path, &t, &error) == ATTEST_OK, "%s", error.message);
  tensor_file *file = files_open(path, TENSOR_BF16);
  const attest_tensor *back = tensor_file_tensor(file, 0);
  ck_assert_uint_eq(tensor_file_offset(file, 0) % 64, 0);
  ck_assert_int_eq(back->dtype, dtypes[_i]);
  for (int64_t i = 0; i < t.shape[0]; i++)
    for (int64_t j = 0; j < 2; j++)
      for (int64_t k = 0; k < 3; k++)
        ck_assert(tensor_at(back, (i * 2 + j) * 3 + k) ==
                  tensor_at(&t, i * t.stride[0] + j * t.stride[1] + k * t.stride[2]));
  tensor_file_close(file);
}
END_TEST

/* The bytes that numpy.save writes for numpy.float32([1, -2]) and numpy.float64(0.5). */
START_TEST(written_headers_are_those_of_numpy) {
  size_t size;
  float data[2] = {1, -2};
  double half = 0.5;
  int64_t shape[1] = {2};
  attest_tensor t = attest_tensor_of(data, ATTEST_FLOAT32, 1, shape);
  ck_assert_int_eq(tensor_write_npy(files_path("n.npy"), &t, NULL), ATTEST_OK);
  unsigned char *bytes = files_read(&size, files_path("n.npy"));
  ck_assert_uint_eq(size, 136);
  ck_assert_mem_eq(bytes,
                   "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, "
                   "'shape': (2,), }  ",
                   10 + 59);
  ck_assert_int_eq(bytes[127], '\n');
  free(bytes);
  t = attest_tensor_of(&half, ATTEST_FLOAT64, 0, NULL);
  ck_assert_int_eq(tensor_write_npy(files_path("n.npy"), &t, NULL), ATTEST_OK);
  bytes = files_read(&size, files_path("n.npy"));
  ck_assert_uint_eq(size, 136);
  ck_assert_mem_eq(bytes + 10, "{'descr': '<f8', 'fortran_order': False, 'shape': (), } ", 56);
  free(bytes);
}
END_TEST

/* Values and digest by NumPy and sha256sum. */
START_TEST(the_real_queries_open) {
  char hex[65];
  tensor_file *file = files_open("data/stories260k/q.npy", 0);
  const attest_tensor *q = tensor_file_tensor(file, 0);
  ck_assert_int_eq(q->dtype, ATTEST_FLOAT32);
  ck_assert_int_eq(tensor_elements(q), 5 * 8 * 512 * 8);
  ck_assert(tensor_at(q, 0) == -0x1.ba82520000000p-1);
  ck_assert(tensor_at(q, 163839) == -0x1.63ff8c0000000p+2);
  ck_assert_int_eq(tensor_file_sha256(hex, file, NULL), ATTEST_OK);
  ck_assert_str_eq(hex, "afbe3594e613061ad84488d56af6b8bba71dbf2ec0467604d8ea9f403bf247b5");
  tensor_file_close(file);
}
END_TEST

void test_npy(Suite *suite) {
  TCase *tcase = files_case(suite, "npy");
  tcase_add_test(tcase, headers_of_any_length_and_version_load);
  tcase_add_test(tcase, byte_orders_and_dtypes_load);
  tcase_add_test(tcase, bfloat16_stored_as_void_reads_as_bfloat16);
  tcase_add_test(tcase, fortran_order_is_a_view_by_strides);
  tcase_add_test(tcase, any_spelling_of_the_dict_loads);
  tcase_add_test(tcase, zero_length_axes_load);
  tcase_add_loop_test(tcase, faulty_headers_are_refused_by_name, 0, sizeof faults / sizeof *faults);
  tcase_add_test(tcase, truncated_files_and_unknown_versions_are_refused);
  tcase_add_loop_test(tcase, written_files_read_back, 0, 7);
  tcase_add_test(tcase, written_headers_are_those_of_numpy);
  tcase_add_test(tcase, the_real_queries_open);
}
