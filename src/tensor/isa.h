/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Vectors of float and double for the files named *_isa.c, which are compiled once for each
 * instruction set with ATTEST_ISA = baseline, avx2 or avx512 (the Makefile says with which flags).
 *
 * Every operation is one IEEE operation a lane, so a computation written with them gives the same
 * bits on every instruction set as long as its order does not depend on the number of lanes.
 * Baseline has no fused multiply-add: it calls fma(), slowly and exactly. */
#ifndef ATTEST_TENSOR_ISA_H
#define ATTEST_TENSOR_ISA_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The instruction set this machine runs: chosen once, lowered by ATTEST_ISA=baseline|avx2|avx512 in
 * the environment. (isa.c) */
typedef enum { ISA_BASELINE, ISA_AVX2, ISA_AVX512 } isa_level;
isa_level isa_chosen(void);
const char *isa_name(isa_level level);
/* The machine's rate of float32 fused multiply-adds on one thread, in operations (2 each) a second,
 * measured for about `seconds`. */
double isa_fma_rate(double seconds);
/* count elements of `size` bytes for vectors: 64-byte aligned, zeroed; freed with free(). NULL when
 * there is no memory. */
void *isa_allocate(int64_t count, size_t size);

/* Rows of sums that tile_impl.h holds in registers. */
#define TILE_ROWS 6
/* Vectors of sums a row that a tile holds at most. */
#define TILE_WIDTH 8

/* `function` may be a macro that makes the name. */
#define ISA_DISPATCH(function) ISA_DISPATCH_(function)
#define ISA_DECLARE(type, function, arguments) ISA_DECLARE_(type, function, arguments)
/* ATTEST_BASELINE: for builds that run no kernel to speak of, as those that fuzz parsers. */
#if defined(__x86_64__) && !defined(ATTEST_BASELINE)
#define ISA_VARIANTS
#define ISA_DISPATCH_(function)                                                                    \
  (isa_chosen() == ISA_AVX512 ? function##_avx512                                                  \
   : isa_chosen() == ISA_AVX2 ? function##_avx2                                                    \
                              : function##_baseline)
#define ISA_DECLARE_(type, function, arguments)                                                    \
  type function##_baseline arguments;                                                              \
  type function##_avx2 arguments;                                                                  \
  type function##_avx512 arguments
#else
#define ISA_DISPATCH_(function) function##_baseline
#define ISA_DECLARE_(type, function, arguments) type function##_baseline arguments
#endif

#ifdef ATTEST_ISA

#define ISA_PASTE2(a, b) a##_##b
#define ISA_PASTE(a, b) ISA_PASTE2(a, b)
#define ISA(function) ISA_PASTE(function, ATTEST_ISA)
#define ISA_INLINE static inline __attribute__((always_inline, unused))

#if defined(__AVX512F__)
#define ISA_BYTES 64
#elif defined(__AVX2__)
#define ISA_BYTES 32
#else
#define ISA_BYTES 16
#endif
#if ISA_BYTES > 16
#include <immintrin.h>
#endif

typedef float vf __attribute__((vector_size(ISA_BYTES)));
typedef double vd __attribute__((vector_size(ISA_BYTES)));
typedef int32_t vfi __attribute__((vector_size(ISA_BYTES)));
typedef int64_t vdi __attribute__((vector_size(ISA_BYTES)));
/* For sums and shifts of bit patterns, which wrap around. */
typedef uint32_t vfu __attribute__((vector_size(ISA_BYTES)));
typedef uint64_t vdu __attribute__((vector_size(ISA_BYTES)));
enum { VF_LANES = ISA_BYTES / 4, VD_LANES = ISA_BYTES / 8 };

/* The operations that C's operators on vectors lack, for lanes of type `real`. */
#define ISA_COMMON(v, vi, real)                                                                    \
  ISA_INLINE v v##_set1(real x) {                                                                  \
    return x - (v){0};                                                                             \
  }                                                                                                \
  ISA_INLINE v v##_load(const real *p) {                                                           \
    v x;                                                                                           \
    memcpy(&x, p, sizeof x);                                                                       \
    return x;                                                                                      \
  }                                                                                                \
  ISA_INLINE void v##_store(real *p, v x) {                                                        \
    memcpy(p, &x, sizeof x);                                                                       \
  }                                                                                                \
  ISA_INLINE v v##_select(vi mask, v a, v b) {                                                     \
    return (v)((mask & (vi)a) | (~mask & (vi)b));                                                  \
  }                                                                                                \
  ISA_INLINE v v##_abs(v x) {                                                                      \
    return (v)((vi)x & ~(vi)v##_set1((real)-0.0));                                                 \
  }

ISA_COMMON(vf, vfi, float)
ISA_COMMON(vd, vdi, double)

#if ISA_BYTES == 64
ISA_INLINE vf vf_fma(vf a, vf b, vf c) {
  return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
ISA_INLINE vd vd_fma(vd a, vd b, vd c) {
  return (vd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
ISA_INLINE vf vf_max(vf a, vf b) {
  return (vf)_mm512_max_ps((__m512)a, (__m512)b);
}
ISA_INLINE vd vd_max(vd a, vd b) {
  return (vd)_mm512_max_pd((__m512d)a, (__m512d)b);
}
#elif ISA_BYTES == 32
ISA_INLINE vf vf_fma(vf a, vf b, vf c) {
  return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
ISA_INLINE vd vd_fma(vd a, vd b, vd c) {
  return (vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
ISA_INLINE vf vf_max(vf a, vf b) {
  return (vf)_mm256_max_ps((__m256)a, (__m256)b);
}
ISA_INLINE vd vd_max(vd a, vd b) {
  return (vd)_mm256_max_pd((__m256d)a, (__m256d)b);
}
#else
ISA_INLINE vf vf_fma(vf a, vf b, vf c) {
  for (int i = 0; i < VF_LANES; i++)
    c[i] = fmaf(a[i], b[i], c[i]);
  return c;
}
ISA_INLINE vd vd_fma(vd a, vd b, vd c) {
  for (int i = 0; i < VD_LANES; i++)
    c[i] = fma(a[i], b[i], c[i]);
  return c;
}
/* As the hardware's: b where a and b are unordered. */
ISA_INLINE vf vf_max(vf a, vf b) {
  return vf_select(a > b, a, b);
}
ISA_INLINE vd vd_max(vd a, vd b) {
  return vd_select(a > b, a, b);
}
#endif

/* Lane k in all lanes, from a register. A load would do the same, but with AVX-512 a processor
 * serves one load a cycle, which sums of products over vectors in memory need for these. */
#if ISA_BYTES == 64
ISA_INLINE vf vf_spread(vf x, int k) {
  return (vf)_mm512_permutexvar_ps(_mm512_set1_epi32(k), (__m512)x);
}
ISA_INLINE vd vd_spread(vd x, int k) {
  return (vd)_mm512_permutexvar_pd(_mm512_set1_epi64(k), (__m512d)x);
}
#endif

/* Lanes joined by a tree, lane i with lane i + n/2 of the n that are left. */
#if ISA_BYTES == 16
#define ISA_TREE(name, v, real, lanes, join)                                                       \
  ISA_INLINE real name(v x) {                                                                      \
    for (int step = lanes / 2; step; step /= 2)                                                    \
      for (int i = 0; i < step; i++) {                                                             \
        real a = x[i], b = x[i + step];                                                            \
        x[i] = join(a, b);                                                                         \
      }                                                                                            \
    return x[0];                                                                                   \
  }
#define ISA_PLUS(a, b) a + b
#define ISA_LARGER(a, b) a > b ? a : b
ISA_TREE(vf_tree_sum, vf, float, VF_LANES, ISA_PLUS)
ISA_TREE(vd_tree_sum, vd, double, VD_LANES, ISA_PLUS)
ISA_TREE(vf_largest, vf, float, VF_LANES, ISA_LARGER)
ISA_TREE(vd_largest, vd, double, VD_LANES, ISA_LARGER)
#undef ISA_TREE
#undef ISA_PLUS
#undef ISA_LARGER
#else
#if ISA_BYTES == 64
#define ISA_HALVES_PS(x, join)                                                                     \
  join(_mm512_castps512_ps256((__m512)x), _mm512_extractf32x8_ps((__m512)x, 1))
#define ISA_HALVES_PD(x, join)                                                                     \
  join(_mm512_castpd512_pd256((__m512d)x), _mm512_extractf64x4_pd((__m512d)x, 1))
#else
#define ISA_HALVES_PS(x, join) (__m256) x
#define ISA_HALVES_PD(x, join) (__m256d) x
#endif
#define ISA_TREES(name, join)                                                                      \
  ISA_INLINE float vf_##name(vf x) {                                                               \
    __m256 half = ISA_HALVES_PS(x, _mm256_##join##_ps);                                            \
    __m128 y = _mm_##join##_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));      \
    y = _mm_##join##_ps(y, _mm_movehl_ps(y, y));                                                   \
    return _mm_cvtss_f32(_mm_##join##_ss(y, _mm_movehdup_ps(y)));                                  \
  }                                                                                                \
  ISA_INLINE double vd_##name(vd x) {                                                              \
    __m256d half = ISA_HALVES_PD(x, _mm256_##join##_pd);                                           \
    __m128d y = _mm_##join##_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));     \
    return _mm_cvtsd_f64(_mm_##join##_sd(y, _mm_unpackhi_pd(y, y)));                               \
  }
ISA_TREES(tree_sum, add)
ISA_TREES(largest, max)
#undef ISA_TREES
#undef ISA_HALVES_PS
#undef ISA_HALVES_PD
#endif

#endif /* ATTEST_ISA */
#endif
