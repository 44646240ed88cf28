/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "bits.h"

static const struct {
  const char *name;
  size_t size;
  int is_float;
  tensor_format format;
} dtypes[] = {
    [ATTEST_FLOAT16] = {"float16", 2, 1, {"float16", 11, -14, 15}},
    [ATTEST_BFLOAT16] = {"bfloat16", 2, 1, {"bfloat16", 8, -126, 127}},
    [ATTEST_FLOAT32] = {"float32", 4, 1, {"float32", 24, -126, 127}},
    [ATTEST_FLOAT64] = {"float64", 8, 1, {"float64", 53, -1022, 1023}},
    [ATTEST_BOOL] = {"bool", 1, 0, {NULL, 0, 0, 0}},
    [ATTEST_INT32] = {"int32", 4, 0, {NULL, 0, 0, 0}},
    [ATTEST_INT64] = {"int64", 8, 0, {NULL, 0, 0, 0}},
};

size_t tensor_dtype_size(attest_dtype dtype) {
  return dtypes[dtype].size;
}

const char *tensor_dtype_name(attest_dtype dtype) {
  return dtypes[dtype].name;
}

const tensor_format *tensor_dtype_format(attest_dtype dtype) {
  return dtypes[dtype].is_float ? &dtypes[dtype].format : NULL;
}

int tensor_dtype_parse(attest_dtype *dtype, const char *name) {
  static const struct {
    const char *name;
    attest_dtype dtype;
  } names[] = {
      {"float16", ATTEST_FLOAT16},   {"f16", ATTEST_FLOAT16},     {"half", ATTEST_FLOAT16},
      {"bfloat16", ATTEST_BFLOAT16}, {"bf16", ATTEST_BFLOAT16},   {"float32", ATTEST_FLOAT32},
      {"f32", ATTEST_FLOAT32},       {"float64", ATTEST_FLOAT64}, {"f64", ATTEST_FLOAT64},
      {"double", ATTEST_FLOAT64},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i].name, name) == 0) {
      *dtype = names[i].dtype;
      return 0;
    }
  return -1;
}

/* m 2^-shift rounded to nearest, ties to even. */
static uint64_t shift_rounded(uint64_t m, int shift) {
  if (shift > 63) return 0; /* m < 2^53 is far below half a unit */
  uint64_t kept = m >> shift;
  uint64_t rest = m & (((uint64_t)1 << shift) - 1);
  uint64_t half = (uint64_t)1 << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1)));
}

uint32_t tensor_encode(double value, const tensor_format *format) {
  int p = format->precision;
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  int field = (int)(bits >> 52 & 0x7ff);
  uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
  /* |value| = m 2^(exponent-52), and 2^52 <= m unless value is subnormal. */
  uint64_t m = field ? fraction | (uint64_t)1 << 52 : fraction;
  int exponent = field ? field - 1023 : -1022;
  uint64_t infinity = (uint64_t)(format->emax - format->emin + 2) << (p - 1);
  uint64_t magnitude;
  if (field == 0x7ff)
    magnitude = fraction ? infinity | (uint64_t)1 << (p - 2) : infinity;
  else {
    /* The unit in the last place is 2^(e-p+1). Patterns of magnitudes are consecutive integers:
     * (e-emin) 2^(p-1) + significand, so a carry out of the significand needs no case. */
    int e = exponent > format->emin ? exponent : format->emin;
    magnitude =
        shift_rounded(m, e - p + 1 - (exponent - 52)) + ((uint64_t)(e - format->emin) << (p - 1));
    if (magnitude > infinity) magnitude = infinity;
  }
  int width = p + (format->emax > 15 ? 8 : 5);
  return (uint32_t)(magnitude | (bits >> 63) << (width - 1));
}
