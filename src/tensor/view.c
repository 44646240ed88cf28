/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>

#include "bits.h"
#include "file.h"

int64_t tensor_elements(const attest_tensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->ndim; i++)
    n *= t->shape[i];
  return n;
}

int tensor_byte_count(uint64_t *bytes, const attest_tensor *t) {
  int64_t product = (int64_t)tensor_dtype_size(t->dtype);
  int empty = 0;
  for (int i = 0; i < t->ndim; i++) {
    if (t->shape[i] == 0)
      empty = 1;
    else if (__builtin_mul_overflow(product, t->shape[i], &product))
      return -1;
  }
  *bytes = empty ? 0 : (uint64_t)product;
  return 0;
}

void tensor_set_strides(attest_tensor *t, int fortran_order) {
  uint64_t step = 1;
  for (int i = 0; i < t->ndim; i++) {
    int axis = fortran_order ? i : t->ndim - 1 - i;
    t->stride[axis] = (int64_t)step;
    step *= (uint64_t)t->shape[axis];
  }
}

attest_tensor attest_tensor_of(void *data, attest_dtype dtype, int ndim, const int64_t shape[]) {
  attest_tensor t = {.data = data, .dtype = dtype, .ndim = ndim};
  for (int i = 0; i < ndim; i++)
    t.shape[i] = shape[i];
  tensor_set_strides(&t, 0);
  return t;
}

attest_tensor tensor_permute(const attest_tensor *t, const int order[]) {
  attest_tensor result = *t;
  for (int i = 0; i < t->ndim; i++) {
    result.shape[i] = t->shape[order[i]];
    result.stride[i] = t->stride[order[i]];
  }
  return result;
}

attest_tensor tensor_collapse(const attest_tensor *t) {
  attest_tensor result = *t;
  int n = 0; /* axes of the result so far */
  for (int i = 0; i < t->ndim; i++) {
    if (t->shape[i] == 1) continue;
    if (n > 0 && result.stride[n - 1] == t->stride[i] * t->shape[i]) {
      result.shape[n - 1] *= t->shape[i];
      result.stride[n - 1] = t->stride[i];
    } else {
      result.shape[n] = t->shape[i];
      result.stride[n++] = t->stride[i];
    }
  }
  if (n == 0) {
    result.shape[0] = result.stride[0] = 1;
    n = 1;
  }
  result.ndim = n;
  return result;
}

int64_t tensor_row_offset(const attest_tensor *t, int64_t row) {
  int64_t offset = 0;
  for (int i = t->ndim - 2; i >= 0; i--) {
    offset += row % t->shape[i] * t->stride[i];
    row /= t->shape[i];
  }
  return offset;
}

char *tensor_shape_text(char buf[96], const attest_tensor *t) {
  size_t used = 0;
  buf[used++] = '(';
  for (int i = 0; i < t->ndim; i++)
    used += (size_t)snprintf(buf + used, 96 - used, "%s%" PRId64, i ? ", " : "", t->shape[i]);
  snprintf(buf + used, 96 - used, t->ndim == 1 ? ",)" : ")");
  return buf;
}

/* ---- raw elements --------------------------------------------------------------------------- */

/* Inlined with a constant size, so that each memcpy is one move. */
static inline __attribute__((always_inline)) void
gather_items(unsigned char *dst, const unsigned char *src, int64_t n, int64_t step, size_t size) {
  for (int64_t i = 0; i < n; i++)
    memcpy(dst + (size_t)i * size, src + i * step, size);
}

static void reverse_bytes(unsigned char *items, int64_t n, size_t size) {
  for (; n-- > 0; items += size)
    for (size_t i = 0; i < size / 2; i++) {
      unsigned char byte = items[i];
      items[i] = items[size - 1 - i];
      items[size - 1 - i] = byte;
    }
}

void tensor_gather(void *dst, const attest_tensor *t, int64_t offset, int64_t n, int64_t stride,
                   int swap) {
  if (n <= 0) return;
  size_t size = tensor_dtype_size(t->dtype);
  const unsigned char *src = (const unsigned char *)t->data + offset * (int64_t)size;
  int64_t step = stride * (int64_t)size;
  if (stride == 1)
    memcpy(dst, src, (size_t)n * size);
  else if (size == 1)
    gather_items(dst, src, n, step, 1);
  else if (size == 2)
    gather_items(dst, src, n, step, 2);
  else if (size == 4)
    gather_items(dst, src, n, step, 4);
  else
    gather_items(dst, src, n, step, 8);
  if (swap) reverse_bytes(dst, n, size);
}

void tensor_copy(void *dst, const attest_tensor *t) {
  attest_tensor flat = tensor_collapse(t);
  size_t size = tensor_dtype_size(t->dtype);
  int64_t length = flat.shape[flat.ndim - 1];
  int64_t rows = length ? tensor_elements(&flat) / length : 0;
  for (int64_t row = 0; row < rows; row++)
    tensor_gather((unsigned char *)dst + (size_t)(row * length) * size, &flat,
                  tensor_row_offset(&flat, row), length, flat.stride[flat.ndim - 1],
                  t->byteswapped);
}

/* ---- elements as numbers -------------------------------------------------------------------- */

enum { BLOCK = 64 };

typedef union {
  uint8_t u8[BLOCK];
  uint16_t u16[BLOCK];
  int32_t i32[BLOCK];
  int64_t i64[BLOCK];
  float f32[BLOCK];
  double f64[BLOCK];
} raw_block;

static inline __attribute__((always_inline)) double element(const raw_block *raw,
                                                            attest_dtype dtype, int i) {
  switch (dtype) {
  case ATTEST_FLOAT16:
    return (double)tensor_float16_float(raw->u16[i]);
  case ATTEST_BFLOAT16:
    return (double)tensor_bfloat16_float(raw->u16[i]);
  case ATTEST_FLOAT32:
    return (double)raw->f32[i];
  case ATTEST_FLOAT64:
    return raw->f64[i];
  case ATTEST_BOOL:
    return raw->u8[i] != 0;
  case ATTEST_INT32:
    return raw->i32[i];
  case ATTEST_INT64:
    return (double)raw->i64[i];
  }
  return NAN;
}

double tensor_at(const attest_tensor *t, int64_t offset) {
  raw_block raw;
  tensor_gather(&raw, t, offset, 1, 1, t->byteswapped);
  return element(&raw, t->dtype, 0);
}

/* To the nearest integer; NaN becomes 0 and what does not fit the nearest limit. */
static int64_t to_integer(double value, double lo, double hi) {
  if (isnan(value)) return 0;
  if (value <= lo) return (int64_t)lo;
  if (value >= hi) return hi < 0x1p63 ? (int64_t)hi : INT64_MAX;
  return (int64_t)rint(value);
}

int64_t tensor_int_at(const attest_tensor *t, int64_t offset) {
  raw_block raw;
  if (t->dtype != ATTEST_INT64) return to_integer(tensor_at(t, offset), -0x1p63, 0x1p63);
  tensor_gather(&raw, t, offset, 1, 1, t->byteswapped);
  return raw.i64[0];
}

/* A whole block at a time with a constant count and dtype: this is what compilers vectorise. The
 * two instances differ in the type they write only. */
#define DEFINE_LOADER(load, convert, convert_as, type)                                             \
  static inline __attribute__((always_inline)) void convert_as(                                    \
      type *restrict dst, const raw_block *restrict raw, attest_dtype dtype) {                     \
    for (int i = 0; i < BLOCK; i++)                                                                \
      dst[i] = (type)element(raw, dtype, i);                                                       \
  }                                                                                                \
  static void convert(type *restrict dst, const raw_block *restrict raw, attest_dtype dtype) {     \
    switch (dtype) {                                                                               \
    case ATTEST_FLOAT16:                                                                           \
      convert_as(dst, raw, ATTEST_FLOAT16);                                                        \
      break;                                                                                       \
    case ATTEST_BFLOAT16:                                                                          \
      convert_as(dst, raw, ATTEST_BFLOAT16);                                                       \
      break;                                                                                       \
    case ATTEST_FLOAT32:                                                                           \
      convert_as(dst, raw, ATTEST_FLOAT32);                                                        \
      break;                                                                                       \
    case ATTEST_FLOAT64:                                                                           \
      convert_as(dst, raw, ATTEST_FLOAT64);                                                        \
      break;                                                                                       \
    default:                                                                                       \
      convert_as(dst, raw, dtype);                                                                 \
    }                                                                                              \
  }                                                                                                \
  void load(type *dst, const attest_tensor *t, int64_t offset, int64_t n, int64_t stride) {        \
    raw_block raw = {{0}};                                                                         \
    type last[BLOCK];                                                                              \
    for (; n > 0; n -= BLOCK, dst += BLOCK, offset += BLOCK * stride) {                            \
      int64_t count = n < BLOCK ? n : BLOCK;                                                       \
      tensor_gather(&raw, t, offset, count, stride, t->byteswapped);                               \
      convert(count < BLOCK ? last : dst, &raw, t->dtype);                                         \
      if (count < BLOCK) memcpy(dst, last, (size_t)count * sizeof *dst);                           \
    }                                                                                              \
  }

DEFINE_LOADER(tensor_load, convert_double, convert_double_as, double)
DEFINE_LOADER(tensor_load_float, convert_float, convert_float_as, float)

void tensor_store(attest_tensor *t, int64_t offset, double value) {
  raw_block raw;
  size_t size = tensor_dtype_size(t->dtype);
  uint32_t bits;
  switch (t->dtype) {
  case ATTEST_FLOAT16:
  case ATTEST_BFLOAT16:
    raw.u16[0] = (uint16_t)tensor_encode(value, tensor_dtype_format(t->dtype));
    break;
  case ATTEST_FLOAT32:
    bits = tensor_encode(value, tensor_dtype_format(t->dtype));
    memcpy(&raw, &bits, sizeof bits);
    break;
  case ATTEST_FLOAT64:
    raw.f64[0] = value;
    break;
  case ATTEST_BOOL:
    raw.u8[0] = value != 0;
    break;
  case ATTEST_INT32:
    raw.i32[0] = (int32_t)to_integer(value, INT32_MIN, INT32_MAX);
    break;
  case ATTEST_INT64:
    raw.i64[0] = to_integer(value, -0x1p63, 0x1p63);
    break;
  }
  if (t->byteswapped) reverse_bytes(raw.u8, 1, size);
  memcpy((unsigned char *)t->data + offset * (int64_t)size, &raw, size);
}
