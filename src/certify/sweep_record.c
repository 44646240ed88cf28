/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a block of inputs yields: adding up, and as bytes. */
#include "sweep_engine.h"

void sweep_record_clear(sweep_record *r) {
  memset(r, 0, sizeof *r);
  for (int k = 0; k < PEAK_COUNT; k++)
    r->peaks[k].hi = -1;
}

/* Ties go to the lowest key, in whatever order peaks arrive. */
void sweep_peak_add(sweep_peak *peak, double lo, double hi, uint32_t key) {
  if (hi > peak->hi || (hi == peak->hi && key < peak->key)) {
    peak->hi = hi;
    peak->key = key;
  }
  if (lo > peak->lo) peak->lo = lo;
}

void sweep_record_join(sweep_record *a, const sweep_record *b) {
  for (int i = 0; i < SWEEP_BINS; i++)
    a->bins[i] += b->bins[i];
  a->misrounded += b->misrounded;
  a->wrong_sign += b->wrong_sign;
  a->disorder += b->disorder;
  a->flushed += b->flushed;
  a->outside += b->outside;
  a->balls += b->balls;
  a->unresolved += b->unresolved;
  for (int k = 0; k < PEAK_COUNT; k++)
    sweep_peak_add(&a->peaks[k], b->peaks[k].lo, b->peaks[k].hi, b->peaks[k].key);
}

uint64_t sweep_record_compared(const sweep_record *r) {
  uint64_t compared = 0;
  for (int i = 0; i < SWEEP_BINS; i++)
    compared += r->bins[i];
  return compared;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Seven bits a byte, the lowest first, the last byte below 128. */
static unsigned char *put(unsigned char *p, uint64_t x) {
  for (; x >= 128; x >>= 7)
    *p++ = (unsigned char)(x | 128);
  *p++ = (unsigned char)x;
  return p;
}

typedef struct {
  const unsigned char *p, *end;
  int failed;
} reader;

static uint64_t get(reader *r) {
  uint64_t x = 0;
  for (int shift = 0; shift < 64 && r->p < r->end; shift += 7) {
    unsigned char c = *r->p++;
    x |= (uint64_t)(c & 127) << shift;
    if (c < 128) return x;
  }
  r->failed = 1;
  return 0;
}

/* High bits first: the low ones of an exact number are zeros. */
static unsigned char *put_double(unsigned char *p, double x) {
  uint64_t bits, turned = 0;
  memcpy(&bits, &x, sizeof bits);
  for (int i = 0; i < 8; i++)
    turned |= (bits >> (8 * i) & 255) << (56 - 8 * i);
  return put(p, turned);
}

static double get_double(reader *r) {
  uint64_t turned = get(r), bits = 0;
  double x;
  for (int i = 0; i < 8; i++)
    bits |= (turned >> (8 * i) & 255) << (56 - 8 * i);
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Records end with a checksum of what comes before: FNV-1a, of 64 bits. A damaged one would change
 * a certificate. */
enum { CHECKSUM = 8 };

static void checksum(unsigned char sum[CHECKSUM], const unsigned char *bytes, size_t size) {
  uint64_t x = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; i++)
    x = (x ^ bytes[i]) * 0x100000001b3u;
  for (int i = 0; i < CHECKSUM; i++)
    sum[i] = (unsigned char)(x >> (8 * i));
}

static int is_intact(const unsigned char *bytes, size_t size) {
  unsigned char sum[CHECKSUM];
  if (size < CHECKSUM) return 0;
  checksum(sum, bytes, size - CHECKSUM);
  return !memcmp(sum, bytes + size - CHECKSUM, CHECKSUM);
}

enum { COUNTS = 7 };

static void counts_of(uint64_t *counts[COUNTS], sweep_record *r) {
  uint64_t *all[COUNTS] = {&r->misrounded, &r->wrong_sign, &r->disorder,  &r->flushed,
                           &r->outside,    &r->balls,      &r->unresolved};
  memcpy(counts, all, sizeof all);
}

/* Runs of empty bins are as long as the number after a 0. */
size_t sweep_record_write(unsigned char *bytes, const sweep_record *r) {
  unsigned char *p = put(put(bytes, r->first), r->count);
  sweep_record copy = *r;
  uint64_t *counts[COUNTS];
  counts_of(counts, &copy);
  for (int i = 0; i < SWEEP_BINS; i++) {
    int from = i;
    while (i < SWEEP_BINS && !r->bins[i])
      i++;
    if (i > from) p = put(put(p, 0), (uint64_t)(i - from));
    if (i < SWEEP_BINS) p = put(p, r->bins[i]);
  }
  for (int i = 0; i < COUNTS; i++)
    p = put(p, *counts[i]);
  p = put(put(p, r->first_got), r->last_got);
  for (int k = 0; k < PEAK_COUNT; k++)
    p = put(put_double(put_double(p, r->peaks[k].lo), r->peaks[k].hi), r->peaks[k].key);
  checksum(p, bytes, (size_t)(p - bytes));
  return (size_t)(p - bytes) + CHECKSUM;
}

int sweep_record_read(sweep_record *r, const unsigned char *bytes, size_t size) {
  uint64_t *counts[COUNTS];
  if (!is_intact(bytes, size)) return -1;
  reader from = {bytes, bytes + size - CHECKSUM, 0};
  sweep_record_clear(r);
  counts_of(counts, r);
  r->first = get(&from);
  r->count = get(&from);
  for (int i = 0; i < SWEEP_BINS && !from.failed;) {
    uint64_t x = get(&from), run = x ? 0 : get(&from);
    if (x)
      r->bins[i++] = x;
    else if (run && run <= (uint64_t)(SWEEP_BINS - i))
      i += (int)run;
    else
      return -1;
  }
  for (int i = 0; i < COUNTS; i++)
    *counts[i] = get(&from);
  r->first_got = (uint32_t)get(&from);
  r->last_got = (uint32_t)get(&from);
  for (int k = 0; k < PEAK_COUNT; k++) {
    r->peaks[k].lo = get_double(&from);
    r->peaks[k].hi = get_double(&from);
    r->peaks[k].key = (uint32_t)get(&from);
  }
  return from.failed || from.p != from.end ? -1 : 0;
}
