/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The 2^32 float32 patterns in the order of their values: keys 0 .. 2^32 - 1. NaNs with the sign
 * bit come first, then -infinity .. -0, +0 .. +infinity, then the other NaNs. */
#ifndef ATTEST_CERTIFY_SWEEP_ORDER_H
#define ATTEST_CERTIFY_SWEEP_ORDER_H

#include "../tensor/bits.h"

#define SWEEP_KEYS ((uint64_t)1 << 32)
/* A block of 2^16 keys never crosses a binade, and is what a ledger holds or does not hold. */
enum { SWEEP_BLOCK = 1 << 16 };

static inline uint32_t sweep_key_of_bits(uint32_t bits) {
  return bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
}
static inline uint32_t sweep_bits_of_key(uint32_t key) {
  return key ^ (~(uint32_t)((int32_t)key >> 31) | 0x80000000u);
}
static inline uint32_t sweep_key(float x) {
  return sweep_key_of_bits(tensor_float_bits(x));
}
static inline float sweep_float(uint32_t key) {
  return tensor_bits_float(sweep_bits_of_key(key));
}

/* The bits of a result: those of NaN differ from machine to machine. */
static inline uint32_t sweep_result_bits(float got) {
  return got != got ? 0x7fc00000u : tensor_float_bits(got);
}

#define SWEEP_KEY_MINUS_INF 0x007fffffu
#define SWEEP_KEY_MINUS_ZERO 0x7fffffffu
#define SWEEP_KEY_ZERO 0x80000000u
#define SWEEP_KEY_INF 0xff800000u

#endif
