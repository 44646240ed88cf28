/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The passes of pass.h on one instruction set: for float and for double, the terms of the backward
 * error, and second passes over single rows. */
#include "../enclosure/exp_isa.h"
#include "pass.h"

/* Keys that some row of a block sees. */
static void union_range(int64_t *lo, int64_t *hi, const int64_t *row_lo, const int64_t *row_hi,
                        int64_t rows) {
  *lo = INT64_MAX;
  *hi = 0;
  for (int64_t r = 0; r < rows; r++) {
    if (row_hi[r] <= row_lo[r]) continue;
    *lo = row_lo[r] < *lo ? row_lo[r] : *lo;
    *hi = row_hi[r] > *hi ? row_hi[r] : *hi;
  }
  if (*hi == 0) *lo = 0;
}

/* The columns of a block of keys that the rows of a tile see together, and all rows, in whole
 * chains; from = to = 0: none. */
typedef struct {
  int64_t from, to, tile_from[PASS_ROWS / TILE_ROWS], tile_to[PASS_ROWS / TILE_ROWS];
} pass_part;

static pass_part part_of(const int64_t *row_lo, const int64_t *row_hi, int64_t rows, int64_t key) {
  pass_part p = {.from = PASS_KEYS};
  for (int64_t t = 0; t * TILE_ROWS < rows; t++) {
    int64_t lo, hi, r = t * TILE_ROWS;
    union_range(&lo, &hi, row_lo + r, row_hi + r, rows - r < TILE_ROWS ? rows - r : TILE_ROWS);
    lo = lo > key ? lo - key : 0;
    hi = hi - key < PASS_KEYS ? hi - key : PASS_KEYS;
    if (hi <= lo) continue;
    p.tile_from[t] = lo / PASS_CHAIN * PASS_CHAIN;
    p.tile_to[t] = (hi + PASS_CHAIN - 1) / PASS_CHAIN * PASS_CHAIN;
    p.from = p.tile_from[t] < p.from ? p.tile_from[t] : p.from;
    p.to = p.tile_to[t] > p.to ? p.tile_to[t] : p.to;
  }
  if (p.to == 0) p.from = 0;
  return p;
}

#define REAL float
#define VEC vf
#define NAME(x) x##_f32
#define LOAD tensor_load_float
#include "pass_impl.h"
#undef REAL
#undef VEC
#undef NAME
#undef LOAD

#define REAL double
#define VEC vd
#define NAME(x) x##_f64
#define LOAD tensor_load
#include "pass_impl.h"

#include "condition_impl.h"
#include "second_impl.h"
