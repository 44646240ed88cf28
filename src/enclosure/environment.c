/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The floating-point environment that every error bound assumes. */
#include <fenv.h>

#include "enclosure.h"

#if defined(__x86_64__)

#include <xmmintrin.h>

/* MXCSR: flush to zero, rounding (2 bits, 0 = nearest), denormals are zero. */
enum { DEVIATIONS = 0x8000 | 0x6000 | 0x0040 };

static int vector_unit_deviates(void) {
  return (_mm_getcsr() & DEVIATIONS) != 0;
}
static void vector_unit_restore(void) {
  _mm_setcsr(_mm_getcsr() & ~(unsigned)DEVIATIONS);
}

#elif defined(__aarch64__)

/* FPCR: FZ, RMode (2 bits, 0 = nearest), FZ16. */
#define DEVIATIONS ((uint64_t)1 << 24 | (uint64_t)3 << 22 | (uint64_t)1 << 19)

static uint64_t fpcr_get(void) {
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return fpcr;
}
static int vector_unit_deviates(void) {
  return (fpcr_get() & DEVIATIONS) != 0;
}
static void vector_unit_restore(void) {
  uint64_t fpcr = fpcr_get() & ~DEVIATIONS;
  __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
}

#else

/* No register known: a product that must be subnormal, and a subnormal that must not read as 0. */
static int vector_unit_deviates(void) {
  volatile double small = 0x1p-1022, half = 0.5, subnormal = 0x1p-1074, large = 0x1p1000;
  return small * half != 0x1p-1023 || subnormal * large != 0x1p-74;
}
static void vector_unit_restore(void) {}

#endif

int enclosure_environment_check(void) {
  return fegetround() != FE_TONEAREST || vector_unit_deviates();
}

void enclosure_environment_restore(void) {
  fesetround(FE_TONEAREST);
  vector_unit_restore();
}
