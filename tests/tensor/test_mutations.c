/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Damaged headers: whatever the bytes, a parser either refuses the file with a message that names
 * it, or hands out views that lie within it. The file is an allocation of just its size, so the
 * sanitizer build sees every read beyond it. ATTEST_MUTATIONS sets the number of damaged files. */
#include "../../src/tensor/file.h"
#include "files.h"

typedef attest_status parser(tensor_file *file, attest_error *error);

static attest_status parse_npy(tensor_file *file, attest_error *error) {
  return tensor_npy_parse(file, TENSOR_BF16, error);
}

static const char *const npy_dicts[] = {
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
    "{'descr': '>f8', 'fortran_order': True, 'shape': (1, 3, 1), }\n",
    "{'descr': '|V2', 'fortran_order': False, 'shape': (12,)}",
    "{\"shape\": (), \"descr\": \"<i8\", \"fortran_order\": False}",
};
static const char *const safetensors_headers[] = {
    "{\"x\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}",
    ("{\"__metadata__\":{\"a\":\"b\"},"
     "\"q\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[0,8]},"
     "\"k\":{\"dtype\":\"F64\",\"shape\":[1,2],\"data_offsets\":[8,24]}}   "),
    ("{\"e\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
     "\"x\":{\"dtype\":\"BOOL\",\"shape\":[24],\"data_offsets\":[0,24]}}"),
};

/* What a damaged header is likely to need to get further. */
static const char *const tokens[] = {
    "0",
    "9",
    "-1",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    ",",
    ":",
    "\\",
    "\\u0000",
    "True",
    "False",
    "None",
    "1e3",
    "'<f8'",
    "'|O'",
    "\"F64\"",
    "\"x\"",
    "'shape'",
    "L",
    "\n",
    "\xff",
};
enum { TOKENS = sizeof tokens / sizeof *tokens };

static unsigned char *splice(unsigned char *bytes, size_t *size, size_t at, size_t removed,
                             const void *added, size_t added_size) {
  unsigned char *result = malloc(*size - removed + added_size + 1);
  ck_assert_ptr_nonnull(result);
  memcpy(result, bytes, at);
  memcpy(result + at, added, added_size);
  memcpy(result + at + added_size, bytes + at + removed, *size - at - removed);
  *size = *size - removed + added_size;
  free(bytes);
  return result;
}

static unsigned char *damage(unsigned char *bytes, size_t *size, uint64_t *state) {
  if (*size == 0) return bytes;
  size_t at = tests_random(state) % *size;
  size_t length = tests_random(state) % 8;
  if (length > *size - at) length = *size - at;
  switch (tests_random(state) % 6) {
  case 0: /* one bit */
    bytes[at] ^= (unsigned char)(1 << tests_random(state) % 8);
    return bytes;
  case 1: /* one byte */
    bytes[at] = (unsigned char)tests_random(state);
    return bytes;
  case 2: /* bytes lost */
    return splice(bytes, size, at, length, "", 0);
  case 3: /* the end lost */
    return splice(bytes, size, at, *size - at, "", 0);
  case 4: { /* a token inserted or put in place of something */
    const char *token = tokens[tests_random(state) % TOKENS];
    return splice(bytes, size, at, tests_random(state) & 1 ? length : 0, token, strlen(token));
  }
  default: { /* a piece of the file repeated */
    unsigned char piece[8];
    memcpy(piece, bytes + at, length);
    return splice(bytes, size, tests_random(state) % (*size + 1), 0, piece, length);
  }
  }
}

/* Lets the length field agree with what the damage made of the header, so that the damage is seen
 * behind it. */
static void repair_length(unsigned char *bytes, size_t size, size_t field, size_t width) {
  size_t start = field + width;
  if (size < start + 24) return;
  for (size_t i = 0; i < width; i++)
    bytes[field + i] = (unsigned char)((uint64_t)(size - start - 24) >> 8 * i);
}

static void read_everything(const tensor_file *file) {
  double row[64];
  for (size_t i = 0; i < file->count; i++) {
    const attest_tensor *t = &file->entries[i].tensor;
    int64_t n = tensor_elements(t);
    ck_assert_int_le(n, (int64_t)file->size);
    attest_tensor flat = tensor_collapse(t);
    int64_t length = flat.shape[flat.ndim - 1];
    for (int64_t j = 0; j < n; j++) {
      int64_t offset =
          tensor_row_offset(&flat, j / length) + j % length * flat.stride[flat.ndim - 1];
      tensor_load(row, &flat, offset, 1, 1);
    }
  }
}

/* 1 when the file was accepted. */
static int try_parser(parser *parse, const unsigned char *bytes, size_t size) {
  tensor_file file = {.path = "damaged", .size = size};
  attest_error error = {0};
  unsigned char *exact = malloc(size ? size : 1);
  ck_assert_ptr_nonnull(exact);
  memcpy(exact, bytes, size);
  file.map = exact;
  attest_status status = parse(&file, &error);
  if (status) {
    ck_assert_int_eq(error.status, status);
    ck_assert_msg(strncmp(error.message, "damaged: ", 9) == 0 && strlen(error.message) > 20, "%s",
                  error.message);
  } else
    read_everything(&file);
  for (size_t i = 0; i < file.count; i++)
    free(file.entries[i].name);
  free(file.entries);
  free(exact);
  return status == ATTEST_OK;
}

static int mutations(void) {
  const char *text = getenv("ATTEST_MUTATIONS");
  return text ? atoi(text) : 4000;
}

static unsigned char *sample(size_t *size, int is_npy, uint64_t *state) {
  static const unsigned char data[24] = {1, 2, 3, 0, 0xff, 0x7f};
  uint64_t pick = tests_random(state);
  if (is_npy)
    return files_npy(size, 1 + (int)((pick >> 8) % 3), npy_dicts[pick % 4], 0, data,
                     pick % 4 == 3 ? 8 : sizeof data);
  return files_safetensors(size, safetensors_headers[pick % 3], 0, data, sizeof data);
}

START_TEST(damaged_headers_are_refused_or_harmless) {
  int is_npy = _i == 0, accepted = 0, total = mutations();
  uint64_t state = tests_seed() + (uint64_t)_i;
  for (int i = 0; i < total; i++) {
    size_t size;
    unsigned char *bytes = sample(&size, is_npy, &state);
    for (uint64_t n = tests_random(&state) % 4; n > 0; n--)
      bytes = damage(bytes, &size, &state);
    if (tests_random(&state) & 1) {
      if (is_npy)
        repair_length(bytes, size, 8, size > 6 && bytes[6] == 1 ? 2 : 4);
      else
        repair_length(bytes, size, 0, 8);
    }
    accepted += try_parser(is_npy ? parse_npy : tensor_safetensors_parse, bytes, size);
    free(bytes);
  }
  ck_assert_int_gt(accepted, total / 10); /* the undamaged ones at least */
  ck_assert_int_lt(accepted, total * 9 / 10);
}
END_TEST

void test_mutations(Suite *suite) {
  TCase *tcase = tcase_create("mutations");
  tcase_set_timeout(tcase, 600);
  tcase_add_loop_test(tcase, damaged_headers_are_refused_or_harmless, 0, 2);
  suite_add_tcase(suite, tcase);
}
