/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Bit patterns of the floating-point formats. */
#ifndef ATTEST_TENSOR_BITS_H
#define ATTEST_TENSOR_BITS_H

#include <string.h>

#include "tensor.h"

static inline float tensor_bits_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t tensor_float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* bfloat16 is the upper half of a float32. */
static inline float tensor_bfloat16_float(uint16_t bits) {
  return tensor_bits_float((uint32_t)bits << 16);
}

/* Without a branch, so that loops over it vectorise; every step is exact and no operand or result
 * is a subnormal float, so flushing modes do not matter. A normal number (or infinity, NaN): move
 * the exponent field to the top of float32's range, then scale by 2^-112. A subnormal m 2^-24: put
 * m into the last bits of 0.5, then subtract 0.5. */
static inline float tensor_float16_float(uint16_t bits) {
  uint32_t magnitude = bits & 0x7fffu;
  uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
  float normal = tensor_bits_float((magnitude << 13) + (0xe0u << 23)) * 0x1p-112f;
  float subnormal = tensor_bits_float(magnitude | (126u << 23)) - 0.5f;
  uint32_t chosen = 0u - ((magnitude & 0x7c00u) != 0); /* all ones: normal */
  uint32_t word = (tensor_float_bits(normal) & chosen) | (tensor_float_bits(subnormal) & ~chosen);
  return tensor_bits_float(word | sign);
}

/* The pattern of `value` rounded to a format of at most 32 bits, to nearest, ties to even, whatever
 * the rounding mode of the processor (dtype.c). */
uint32_t tensor_encode(double value, const tensor_format *format);

/* Whether this machine stores the most significant byte first. */
static inline int tensor_big_endian_host(void) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  return first == 0;
}

#endif
