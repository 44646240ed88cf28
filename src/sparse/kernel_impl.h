/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The loops of kernel.h for one type: kernel_isa.c includes this file once for float and once for
 * double, with REAL (the type), VEC (its vector) and NAME(x) (x with the type's suffix) defined. */

#define OP2(vec, op) vec##_##op
#define OP1(vec, op) OP2(vec, op)
#define OP(op) OP1(VEC, op)
#define LANES ((int)(ISA_BYTES / sizeof(REAL)))
/* Vectors of keys held in registers beside SPARSE_ROWS rows of sums. */
#define WIDTH (ISA_BYTES == 64 ? 4 : 2)
#define PANEL_VECTORS (SPARSE_PANEL / LANES)

#include "../tensor/tile_impl.h"

/* |q - k|^2 of one panel for one query. */
static void NAME(distances)(REAL *score, const REAL *q, const REAL *panel, int64_t d) {
  for (int v = 0; v < PANEL_VECTORS; v += WIDTH) {
    VEC sum[WIDTH];
    for (int i = 0; i < WIDTH; i++)
      sum[i] = (VEC){0};
    for (int64_t a = 0; a < d; a++)
      for (int i = 0; i < WIDTH; i++) {
        VEC off = OP(set1)(q[a]) - OP(load)(panel + a * SPARSE_PANEL + (v + i) * LANES);
        sum[i] = OP(fma)(off, off, sum[i]);
      }
    for (int i = 0; i < WIDTH; i++)
      OP(store)(score + (v + i) * LANES, sum[i]);
  }
}

void ISA(NAME(sparse_scores))(REAL *score, int64_t stride, const REAL *q, const REAL *keys,
                              int64_t d, int64_t first, int64_t last, int is_distance) {
  for (int64_t p = first; p < last; p++) {
    const REAL *panel = keys + p * d * SPARSE_PANEL;
    REAL *to = score + p * SPARSE_PANEL;
    if (is_distance)
      for (int64_t r = 0; r < SPARSE_ROWS; r++)
        NAME(distances)(to + r * stride, q + r * d, panel, d);
    else
      NAME(tiles_of)
    (to, stride, q, d, 1, panel, SPARSE_PANEL, d, 0, PANEL_VECTORS, 0, TILE_ROWS);
  }
}

REAL ISA(NAME(sparse_largest))(const REAL *s, int64_t n) {
  REAL largest = (REAL)-INFINITY, lane[LANES];
  VEC m = OP(set1)(largest);
  int64_t j = 0;
  for (; j + LANES <= n; j += LANES)
    m = OP(max)(m, OP(load)(s + j));
  OP(store)(lane, m);
  for (int i = 0; i < LANES; i++)
    largest = lane[i] > largest ? lane[i] : largest;
  for (; j < n; j++)
    largest = s[j] > largest ? s[j] : largest;
  return largest;
}

/* Keys with s > above, in order. */
void ISA(NAME(sparse_gather))(sparse_support *support, const REAL *s, int64_t n, REAL above) {
  int64_t count = 0, j = 0;
  for (; j + LANES <= n; j += LANES) {
    unsigned found = NAME(above)(OP(load)(s + j), above);
    if (found == (1u << LANES) - 1) {
      for (int i = 0; i < LANES; i++)
        support->key[count + i] = j + i;
      count += LANES;
      continue;
    }
    for (; found; found &= found - 1)
      support->key[count++] = j + __builtin_ctz(found);
  }
  for (; j < n; j++)
    if (s[j] > above) support->key[count++] = j;
  support->count = count;
}

/* gap_i = (above - s of key i) factor. Keys ascend, and often stand side by side: those scores are
 * loaded as they are, which takes a fraction of the time of gathering them. */
void ISA(NAME(sparse_gaps))(double *restrict gap, const REAL *restrict s,
                            const int64_t *restrict key, int64_t n, double above, double factor) {
  enum { RUN = 64 };
  for (int64_t i = 0; i < n; i += RUN) {
    int64_t count = n - i < RUN ? n - i : RUN;
    const REAL *x = s + key[i];
    if (count == RUN && key[i + RUN - 1] - key[i] == RUN - 1)
      for (int64_t j = 0; j < RUN; j++)
        gap[i + j] = (above - (double)x[j]) * factor;
    else
      for (int64_t j = i; j < i + count; j++)
        gap[j] = (above - (double)s[key[j]]) * factor;
  }
}

/* total + lost <- total + lost + x, a component each: sums of blocks do not round. */
ISA_INLINE void NAME(add_block)(double *total, double *lost, const REAL *x, int n) {
  for (int c = 0; c < n; c++) {
    double sum = total[c] + (double)x[c], part = sum - total[c];
    lost[c] += (total[c] - (sum - part)) + ((double)x[c] - part);
    total[c] = sum;
  }
}

/* out = back sum p v, p = w / sum w, over `width` vectors of components: chains of SPARSE_CHAIN
 * keys, as many chains a block, blocks in double. */
ISA_INLINE void NAME(combine)(REAL *out, const sparse_support *support, const REAL *values,
                              int64_t dv_pad, REAL back, const int width) {
  double total[4 * LANES] = {0}, lost[4 * LANES] = {0}, share = 1 / support->sum;
  REAL lane[4 * LANES];
  VEC block[4], chain[4];
#pragma GCC unroll 4
  for (int v = 0; v < width; v++)
    block[v] = chain[v] = (VEC){0};
  for (int64_t i = 0; i < support->count; i++) {
    const REAL *value = values + support->key[i] * dv_pad;
    VEC w = OP(set1)((REAL)(support->weight[i] * share));
#pragma GCC unroll 4
    for (int v = 0; v < width; v++)
      chain[v] = OP(fma)(w, OP(load)(value + v * LANES), chain[v]);
    if ((i + 1) % SPARSE_CHAIN && i + 1 < support->count) continue;
#pragma GCC unroll 4
    for (int v = 0; v < width; v++) {
      block[v] += chain[v];
      chain[v] = (VEC){0};
    }
    if ((i + 1) % (SPARSE_CHAIN * SPARSE_CHAIN) && i + 1 < support->count) continue;
#pragma GCC unroll 4
    for (int v = 0; v < width; v++) {
      OP(store)(lane + v * LANES, block[v]);
      block[v] = (VEC){0};
    }
    NAME(add_block)(total, lost, lane, width * LANES);
  }
  for (int c = 0; c < width * LANES; c++)
    out[c] = (REAL)((total[c] + lost[c]) * (double)back);
}

void ISA(NAME(sparse_combine))(REAL *out, const sparse_support *support, const REAL *values,
                               int64_t dv_pad, REAL back) {
  int64_t vectors = dv_pad / LANES, v = 0;
  for (; v + 4 <= vectors; v += 4)
    NAME(combine)(out + v * LANES, support, values + v * LANES, dv_pad, back, 4);
  for (; v < vectors; v++)
    NAME(combine)(out + v * LANES, support, values + v * LANES, dv_pad, back, 1);
}

#undef OP2
#undef OP1
#undef OP
#undef LANES
#undef WIDTH
#undef PANEL_VECTORS
