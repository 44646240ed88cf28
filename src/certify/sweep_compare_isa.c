/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A batch of results against enclosures, in double. What is counted here is certain: the nearest
 * float, the sign and the bin of the error are the same for every value of the enclosure. All else
 * is left open: a handful in a million, and results that are infinite or NaN.
 *
 * Radii are widened by a few units of roundoff of what they are added to, which covers every
 * rounding here. Where an enclosure is a single point and got - mid is exact (each at most twice
 * the other), nothing is widened and nothing rounds: ties are ties. */
#include "sweep_engine.h"

typedef float vhf __attribute__((vector_size(ISA_BYTES / 2)));
typedef int32_t vhi __attribute__((vector_size(ISA_BYTES / 2)));

#define MANTISSA 52

ISA_INLINE vdi vdi_set1(int64_t x) {
  return x - (vdi){0};
}

ISA_INLINE vd vd_min(vd a, vd b) {
  return -vd_max(-a, -b);
}

ISA_INLINE vd vd_masked(vdi mask, vd x) {
  return (vd)(mask & (vdi)x);
}

/* The sign of every lane as a bit. */
ISA_INLINE unsigned signs(vdi x) {
#if ISA_BYTES == 64
  return (unsigned)_mm512_movepi64_mask((__m512i)x);
#elif ISA_BYTES == 32
  return (unsigned)_mm256_movemask_pd((__m256d)x);
#else
  return (unsigned)((uint64_t)x[0] >> 63 | (uint64_t)x[1] >> 63 << 1);
#endif
}

ISA_INLINE unsigned half_signs(vhi x) {
#if ISA_BYTES == 64
  return (unsigned)_mm256_movemask_ps((__m256)x);
#elif ISA_BYTES == 32
  return (unsigned)_mm_movemask_ps((__m128)x);
#else
  return (unsigned)((uint32_t)x[0] >> 31 | (uint32_t)x[1] >> 31 << 1);
#endif
}

/* 2^(23 - e), e = max(floor(log2 x), -126), x finite. */
ISA_INLINE vd inverse_ulp(vd x) {
  vdi power = (vdi)vd_max(x, vd_set1(0x1p-126)) & vdi_set1((int64_t)0x7ff << MANTISSA);
  return (vd)((vdu){0} + ((uint64_t)(2 * 1023 + 23) << MANTISSA) - (vdu)power);
}

ISA_INLINE vdi bin_of(vd ulp) {
  ulp = vd_min(vd_max(ulp, vd_set1(0x1p-17)), vd_set1(0x1p22));
  return (vdi)((vdu)ulp >> MANTISSA) - vdi_set1(1023 + SWEEP_BIN_LEAST - 1);
}
_Static_assert(SWEEP_BIN_LEAST == -16 && SWEEP_BIN_MOST == 22, "the ends in bin_of");

/* Bounds of the errors of one vector of results; the exact values have |x| in [size_lo, size_hi].
 */
typedef struct {
  vd abs_lo, abs_hi, ulp_lo, ulp_hi, size_lo, size_hi;
  vdi bin;
  unsigned open, misrounded, opposite; /* a bit a lane; opposite: other sign bit than mid */
} judged;

ISA_INLINE judged judge(vhf result, vd mid, vd rad) {
  judged j;
  vd got = __builtin_convertvector(result, vd), zero = vd_set1(0), size = vd_abs(mid);
  vdi is_ball = rad > zero;
  vd wide = rad + vd_masked(is_ball, size * vd_set1(0x1p-51));
  vhf nearest = __builtin_convertvector(mid - wide, vhf);
  j.open = half_signs(nearest != __builtin_convertvector(mid + wide, vhf));
  j.misrounded = half_signs(result != nearest);
  j.opposite = signs((vdi)got ^ (vdi)mid);

  vd d = vd_abs(got - mid);
  vdi is_rounded = is_ball | (d > size) | (d > vd_abs(got));
  vd radius = wide * vd_set1(1 + 0x1p-50) + vd_masked(is_rounded, d * vd_set1(0x1p-51));
  j.abs_hi = d + radius;
  j.abs_lo = vd_max(d - radius, zero);
  j.size_hi = size + wide;
  j.size_lo = vd_max(size - wide, zero);
  j.ulp_hi = j.abs_hi * inverse_ulp(j.size_lo);
  j.ulp_lo = j.abs_lo * inverse_ulp(j.size_hi);
  j.bin = bin_of(j.ulp_lo);
  j.open |= signs((j.bin != bin_of(j.ulp_hi)) | (rad > size) |
                  ~(vd_abs(got) < vd_set1((double)INFINITY)));
  return j;
}

/* ---- largest errors -------------------------------------------------------------------------- */

/* What an error must exceed to be a new largest one. */
typedef struct {
  vd ulp, abs, rel;
} limits;

/* Lanes with an error that may be larger than all before. Where there is none, no relative error is
 * above rel either; it takes more than a repetition of the largest one to find some. */
ISA_INLINE vdi larger(const judged *j, const limits *l) {
  return (j->ulp_hi > l->ulp) | (j->abs_hi > l->abs) |
         (j->abs_hi > l->rel * j->size_lo * vd_set1(1 - 0x1p-52));
}

/* The largest ends lane by lane, and where the first of the largest upper ones is. */
typedef struct {
  vd lo, hi;
  vdi at;
} peak;

ISA_INLINE void peak_add(peak *p, vd lo, vd hi, vdi ok, vdi at) {
  vdi better = (hi > p->hi) & ok;
  p->hi = vd_select(better, hi, p->hi);
  p->at = (better & at) | (~better & p->at);
  p->lo = vd_max(vd_masked(ok, lo), p->lo);
}

static void peak_join(sweep_peak *total, const peak *p, const sweep_batch *b) {
  for (int k = 0; k < VD_LANES; k++)
    if (p->hi[k] >= 0)
      sweep_peak_add(total, p->lo[k], p->hi[k], b->key + (uint32_t)p->at[k] * b->step);
}

/* |got - x| / |x|; 0/0 = 0, nonzero/0 is infinite, and got = 0 is off by 1. */
ISA_INLINE void relative(vd *lo, vd *hi, const judged *j, vd got) {
  vd zero = vd_set1(0), one = vd_set1(1);
  vdi vanishes = got == zero, is_exact = j->abs_hi == zero, none = j->size_hi == zero;
  *lo = j->abs_lo / j->size_hi * vd_set1(1 - 0x1p-51);
  *hi = j->abs_hi / j->size_lo * vd_set1(1 + 0x1p-50);
  *lo = vd_select(none, vd_set1((double)INFINITY), *lo);
  *lo = vd_select(is_exact, zero, vd_select(vanishes, vd_masked(j->size_lo > zero, one), *lo));
  *hi = vd_select(is_exact, zero, vd_select(vanishes, vd_masked(~none, one), *hi));
}

ISA_INLINE judged judge_at(const sweep_batch *b, int64_t i) {
  vhf result;
  memcpy(&result, b->got + i, sizeof result);
  return judge(result, vd_load(b->mid + i), vd_load(b->rad + i));
}

/* The peaks of a batch that holds a new one. Apart from the loop below, since few do. */
static void find_peaks(sweep_record *record, const sweep_batch *b) {
  peak peaks[PEAK_COUNT];
  vdi lane;
  for (int k = 0; k < VD_LANES; k++)
    lane[k] = k;
  for (int k = 0; k < PEAK_COUNT; k++)
    peaks[k] = (peak){vd_set1(0), vd_set1(-1), lane};
  for (int64_t i = 0; i < b->n; i += VD_LANES) {
    vd got, lo, hi;
    vdi at = lane + vdi_set1(i), ok;
    judged j = judge_at(b, i);
    for (int k = 0; k < VD_LANES; k++) {
      got[k] = (double)b->got[i + k];
      ok[k] = -(int64_t)(i + k < b->n && !(j.open >> k & 1));
    }
    relative(&lo, &hi, &j, got);
    peak_add(&peaks[PEAK_ULP], j.ulp_lo, j.ulp_hi, ok, at);
    peak_add(&peaks[PEAK_ABS], j.abs_lo, j.abs_hi, ok, at);
    peak_add(&peaks[PEAK_REL], lo, hi, ok, at);
  }
  for (int k = 0; k < PEAK_COUNT; k++)
    peak_join(&record->peaks[k], &peaks[k], b);
}

/* ---- a batch --------------------------------------------------------------------------------- */

/* Results that are no zero where the exact value has the sign of mid. */
static void count_signs(sweep_record *record, unsigned lanes, const sweep_batch *b, int64_t i) {
  for (; lanes; lanes &= lanes - 1) {
    int k = __builtin_ctz(lanes);
    record->wrong_sign += b->got[i + k] != 0 && b->mid[i + k] != 0;
  }
}

int64_t ISA(sweep_compare)(sweep_record *record, const sweep_batch *b) {
  uint32_t bins[2][64] = {{0}};
  int64_t open = 0;
  limits l = {vd_set1(record->peaks[PEAK_ULP].hi), vd_set1(record->peaks[PEAK_ABS].hi),
              vd_set1(record->peaks[PEAK_REL].hi)};
  vdi peaks = {0};
  for (int64_t i = 0; i < b->n; i += VD_LANES) {
    judged j = judge_at(b, i);
    unsigned present = b->n - i < VD_LANES ? (1u << (b->n - i)) - 1 : (1u << VD_LANES) - 1;
    unsigned ok = present & ~j.open;
    peaks |= larger(&j, &l);
    record->misrounded += (uint64_t)__builtin_popcount(j.misrounded & ok);
    if (ok == (1u << VD_LANES) - 1) {
#pragma GCC unroll 8
      for (int k = 0; k < VD_LANES; k++)
        bins[k & 1][j.bin[k]]++;
    } else {
      int64_t bin[VD_LANES];
      memcpy(bin, &j.bin, sizeof bin);
      for (unsigned lanes = ok; lanes; lanes &= lanes - 1)
        bins[0][bin[__builtin_ctz(lanes)]]++;
      for (unsigned lanes = present & j.open; lanes; lanes &= lanes - 1)
        b->open[open++] = (int)i + __builtin_ctz(lanes);
    }
    if (j.opposite & ok) count_signs(record, j.opposite & ok, b, i);
  }
  if (signs(peaks)) find_peaks(record, b);
  for (int bin = 0; bin < SWEEP_BINS; bin++)
    record->bins[bin] += bins[0][bin] + bins[1][bin];
  return open;
}

uint64_t ISA(sweep_disorder)(const float *got, int64_t n, int direction) {
  int64_t count = 0;
  if (direction > 0)
    for (int64_t i = 0; i + 1 < n; i++)
      count += got[i + 1] < got[i];
  else
    for (int64_t i = 0; i + 1 < n; i++)
      count += got[i + 1] > got[i];
  return (uint64_t)count;
}

int64_t ISA(sweep_matches)(const float *got, int64_t n, float value) {
  int64_t count = 0;
  if (value != value)
    for (int64_t i = 0; i < n; i++)
      count += got[i] != got[i];
  else
    for (int64_t i = 0; i < n; i++)
      count += got[i] == value;
  return count;
}

void ISA(sweep_inputs)(float *x, uint32_t key, uint32_t step, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits = sweep_bits_of_key(key + (uint32_t)i * step);
    memcpy(x + i, &bits, sizeof bits);
  }
}
