/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "files.h"

static const float six[6] = {0, 1, 2, 3, 4, 5};

static tensor_file *open_safetensors(const char *json, size_t header_length, const void *data,
                                     size_t data_size) {
  size_t size;
  unsigned char *bytes = files_safetensors(&size, json, header_length, data, data_size);
  tensor_file *file = files_open(files_write("x.safetensors", bytes, size), 0);
  ck_assert_str_eq(tensor_file_kind(file), "safetensors");
  free(bytes);
  return file;
}

START_TEST(tensors_load_by_name_in_the_order_of_the_header) {
  tensor_file *file =
      open_safetensors("{\"__metadata__\":{\"format\":\"pt\"},"
                       "\"v\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]},"
                       "\"q\":{\"dtype\":\"F32\",\"shape\":[1,4],\"data_offsets\":[0,16]},"
                       "\"none\":{\"dtype\":\"F64\",\"shape\":[3,0],\"data_offsets\":[16,16]}}",
                       0, six, sizeof six);
  ck_assert_uint_eq(tensor_file_count(file), 3);
  ck_assert_str_eq(tensor_file_name(file, 0), "v");
  ck_assert_str_eq(tensor_file_name(file, 1), "q");
  ck_assert(tensor_at(tensor_file_find(file, "v"), 1) == 5);
  ck_assert(tensor_at(tensor_file_find(file, "q"), 3) == 3);
  ck_assert_int_eq(tensor_elements(tensor_file_find(file, "none")), 0);
  ck_assert_ptr_null(tensor_file_find(file, "k"));
  ck_assert_ptr_null(tensor_file_find(file, "__metadata__"));
  tensor_file_close(file);
}
END_TEST

START_TEST(every_dtype_loads) {
  static const struct {
    const char *code;
    attest_dtype dtype;
    unsigned char bytes[8];
    double value;
  } cases[] = {
      {"F16", ATTEST_FLOAT16, {0x01, 0x00}, 0x1p-24},
      {"BF16", ATTEST_BFLOAT16, {0x80, 0xbf}, -1},
      {"F32", ATTEST_FLOAT32, {0, 0, 0x80, 0x3f}, 1},
      {"F64", ATTEST_FLOAT64, {1, 0, 0, 0, 0, 0, 0, 0}, 0x1p-1074},
      {"I32", ATTEST_INT32, {0xff, 0xff, 0xff, 0xff}, -1},
      {"I64", ATTEST_INT64, {0, 1}, 256},
      {"BOOL", ATTEST_BOOL, {1}, 1},
      {"U8", ATTEST_BOOL, {0}, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char json[120];
    size_t size = tensor_dtype_size(cases[i].dtype);
    snprintf(json, sizeof json, "{\"x\":{\"dtype\":\"%s\",\"shape\":[],\"data_offsets\":[0,%zu]}}",
             cases[i].code, size);
    tensor_file *file = open_safetensors(json, 0, cases[i].bytes, size);
    ck_assert_int_eq(tensor_file_tensor(file, 0)->dtype, cases[i].dtype);
    ck_assert(tensor_at(tensor_file_tensor(file, 0), 0) == cases[i].value);
    tensor_file_close(file);
  }
}
END_TEST

/* Header lengths: one whose data starts at no multiple of 4 (0xa766), and two whose first bytes are
 * those of a pickle (640 = 80 02) and of a zip (19280 = "PK"). */
START_TEST(header_lengths_that_mislead_load) {
  static const size_t lengths[] = {0xa766, 0xa767, 0xa765, 640, 19280};
  double values[6];
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    tensor_file *file =
        open_safetensors("{\"x\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}",
                         lengths[i], six, sizeof six);
    ck_assert_uint_eq(tensor_file_offset(file, 0), 8 + lengths[i]);
    tensor_load(values, tensor_file_tensor(file, 0), 0, 6, 1);
    for (int j = 0; j < 6; j++)
      ck_assert(values[j] == j && tensor_at(tensor_file_tensor(file, 0), j) == j);
    tensor_file_close(file);
  }
}
END_TEST

#define X(dtype, shape, offsets)                                                                   \
  "{\"x\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define PAIR(x, y)                                                                                 \
  "{\"x\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":" x                                    \
  "},\"y\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":" y "}}"

/* Each fault of a header before 24 bytes of data, and what the message must say. */
static const struct {
  const char *json, *part;
} faults[] = {
    {"", "no JSON object"},
    {"{\"x\":", "no JSON object with unique names"},
    {"{} {}", "no JSON object with unique names"},
    {"[1,2]", "is no JSON object"},
    {"{\"x\":7}", "tensor 'x': its entry is no object"},
    {PAIR("[0,12]", "[12,24]") "}", "no JSON object"},
    {"{\"x\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]},"
     "\"x\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}",
     "duplicate object key"},
    {"{\"x\":{\"shape\":[6],\"data_offsets\":[0,24]}}", "the field dtype is missing"},
    {"{\"x\":{\"dtype\":\"F32\",\"data_offsets\":[0,24]}}", "the field shape is missing"},
    {"{\"x\":{\"dtype\":\"F32\",\"shape\":[6]}}", "the field data_offsets is missing"},
    {X("7", "[6]", "[0,24]"), "the field dtype is missing or no string"},
    {X("\"F8_E4M3\"", "[24]", "[0,24]"), "found dtype 'F8_E4M3', expected one of F16 BF16"},
    {X("\"I16\"", "[12]", "[0,24]"), "found dtype 'I16', expected one of"},
    {X("\"f32\"", "[6]", "[0,24]"), "found dtype 'f32', expected one of"},
    {X("\"F32\"", "6", "[0,24]"), "shape is missing or no array"},
    {X("\"F32\"", "[-6]", "[0,24]"), "shape[0] is no non-negative integer"},
    {X("\"F32\"", "[2,3.0]", "[0,24]"), "shape[1] is no non-negative integer"},
    {X("\"F32\"", "[\"6\"]", "[0,24]"), "shape[0] is no non-negative integer"},
    {X("\"F32\"", "[1,1,1,1,6]", "[0,24]"), "shape has 5 axes, expected at most 4"},
    {X("\"F32\"", "[4294967296,4294967296]", "[0,24]"), "overflows"},
    {X("\"F32\"", "[2305843009213693952]", "[0,24]"), "overflows"},
    {X("\"F32\"", "[99999999999999999999]", "[0,24]"), "too big integer"},
    {X("\"F32\"", "[6]", "[0]"), "data_offsets is missing or no pair"},
    {X("\"F32\"", "[6]", "[0,24,24]"), "data_offsets is missing or no pair"},
    {X("\"F32\"", "[6]", "[-1,23]"), "data_offsets[0] is no non-negative integer"},
    {X("\"F32\"", "[6]", "[0,24.0]"), "data_offsets[1] is no non-negative integer"},
    {X("\"F32\"", "[6]", "[24,0]"), "data_offsets [24, 0] run backwards"},
    {X("\"F32\"", "[7]", "[0,28]"), "end at byte 28 of the data, which starts at offset 63 and has "
                                    "24 bytes (truncated)"},
    {X("\"F32\"", "[6]", "[0,9223372036854775807]"), "end at byte 9223372036854775807"},
    {X("\"F32\"", "[5]", "[0,24]"), "hold 24 bytes, expected 20 for float32 of shape (5,)"},
    {X("\"F32\"", "[5]", "[0,20]"), "expected 20 bytes of data at offset 63, found 24 (trailing"},
    {X("\"F32\"", "[5]", "[4,24]"), "begin at byte 4 of the data, expected 0, the end of 'the "
                                    "header' (gap)"},
    {PAIR("[0,12]", "[8,20]"), "tensor 'y': data_offsets begin at byte 8 of the data, expected 12, "
                               "the end of 'x' (overlap)"},
    {PAIR("[0,12]", "[0,12]"), "(overlap)"},
    {"{}", "expected 0 bytes of data at offset 10, found 24 (trailing bytes)"},
};

START_TEST(faulty_headers_are_refused_by_name) {
  size_t size;
  unsigned char *bytes = files_safetensors(&size, faults[_i].json, 0, six, sizeof six);
  const char *path = files_write("faulty.safetensors", bytes, size);
  files_assert_refused(path, 0, ATTEST_ERR_INPUT, faults[_i].part);
  free(bytes);
}
END_TEST

START_TEST(truncated_files_and_false_lengths_are_refused) {
  size_t size;
  unsigned char *bytes =
      files_safetensors(&size, X("\"F32\"", "[6]", "[0,24]"), 0, six, sizeof six);
  for (size_t cut = 1; cut < size; cut++)
    files_assert_refused(files_write("cut.safetensors", bytes, cut), 0, ATTEST_ERR_INPUT,
                         "truncated");
  for (int i = 0; i < 8; i++) { /* any one byte of the length set to 255 */
    unsigned char kept = bytes[i];
    bytes[i] = 0xff;
    files_assert_refused(files_write("long.bin", bytes, size), 0, ATTEST_ERR_INPUT,
                         "the header length at offset 0 is");
    bytes[i] = kept;
  }
  free(bytes);
}
END_TEST

/* A Fortran-ordered array must not come back with its elements permuted. */
START_TEST(written_files_read_back) {
  float fortran[6] = {0, 3, 1, 4, 2, 5};
  double scalar = -0.1;
  unsigned char mask[3] = {0, 7, 1};
  int64_t shape[2] = {2, 3}, three[1] = {3};
  attest_tensor tensors[4] = {attest_tensor_of(fortran, ATTEST_FLOAT32, 2, shape),
                              attest_tensor_of(mask, ATTEST_BOOL, 1, three),
                              attest_tensor_of(&scalar, ATTEST_FLOAT64, 0, NULL),
                              attest_tensor_of(NULL, ATTEST_INT32, 1, (int64_t[]){0})};
  static const char *const names[4] = {"a b\"\\\n", "mask", "\xc3\xa9", "none"};
  tensors[0].stride[0] = 1;
  tensors[0].stride[1] = 2;
  attest_error error = {0};
  const char *path = files_path("w.safetensors");
  ck_assert_msg(tensor_write_safetensors(path, 4, names, tensors, &error) == ATTEST_OK, "%s",
                error.message);
  tensor_file *file = files_open(path, 0);
  ck_assert_uint_eq(tensor_file_count(file), 4);
  for (size_t i = 0; i < 4; i++)
    ck_assert_str_eq(tensor_file_name(file, i), names[i]);
  const attest_tensor *a = tensor_file_tensor(file, 0);
  for (int64_t i = 0; i < 2; i++)
    for (int64_t j = 0; j < 3; j++)
      ck_assert(tensor_at(a, i * a->stride[0] + j * a->stride[1]) == (double)(3 * i + j));
  ck_assert_uint_eq(tensor_file_offset(file, 0) % 8, 0);
  ck_assert_int_eq(((unsigned char *)tensor_file_tensor(file, 1)->data)[1], 1);
  ck_assert(tensor_at(tensor_file_tensor(file, 2), 0) == -0.1);
  tensor_file_close(file);
}
END_TEST

START_TEST(names_that_cannot_be_written_are_refused) {
  static const char *const bad[][2] = {{"q", "q"}, {"q", "__metadata__"}, {"q", "\xff"}};
  float data[1] = {0};
  attest_tensor tensors[2] = {attest_tensor_of(data, ATTEST_FLOAT32, 0, NULL),
                              attest_tensor_of(data, ATTEST_FLOAT32, 0, NULL)};
  attest_error error;
  for (size_t i = 0; i < 3; i++) {
    ck_assert_int_eq(
        tensor_write_safetensors(files_path("bad.safetensors"), 2, bad[i], tensors, &error),
        ATTEST_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(error.message, "choose another name"));
    ck_assert_int_ne(access(files_path("bad.safetensors"), F_OK), 0);
  }
}
END_TEST

void test_safetensors(Suite *suite) {
  TCase *tcase = files_case(suite, "safetensors");
  tcase_add_test(tcase, tensors_load_by_name_in_the_order_of_the_header);
  tcase_add_test(tcase, every_dtype_loads);
  tcase_add_test(tcase, header_lengths_that_mislead_load);
  tcase_add_loop_test(tcase, faulty_headers_are_refused_by_name, 0, sizeof faults / sizeof *faults);
  tcase_add_test(tcase, truncated_files_and_false_lengths_are_refused);
  tcase_add_test(tcase, written_files_read_back);
  tcase_add_test(tcase, names_that_cannot_be_written_are_refused);
}
