/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The arithmetic of kernel.h for one type. kernel_isa.c includes this file once for float and once
 * for double, with REAL (the type), DTYPE (its name), VEC (its vector), NAME(x) (x with the type's
 * suffix) and LOAD (reads elements of a tensor) defined. */

#define OP2(vec, op) vec##_##op
#define OP1(vec, op) OP2(vec, op)
#define OP(op) OP1(VEC, op)
#define LANES ((int)(ISA_BYTES / sizeof(REAL)))
#define WIDTH (ISA_BYTES == 64 ? 4 : 2)
#define STEP (TAYLOR_LANES / LANES) /* vectors of TAYLOR_LANES numbers */

#include "../tensor/tile_impl.h"

/* ---- products ----------------------------------------------------------------------------------
 */

/* c[r][v] (+)= chain over k < steps of a(r, k) b[k][v], r < rows. */
static void NAME(product)(REAL *c, int64_t c_stride, const REAL *a, int64_t a_row, int64_t a_step,
                          const REAL *b, int64_t b_stride, int64_t steps, int add, int64_t rows,
                          int64_t vectors) {
#define ROWS(n)                                                                                    \
  for (; rows - r >= n; r += n)                                                                    \
    NAME(tiles_of)                                                                                 \
  (c + r * c_stride, c_stride, a + r * a_row, a_row, a_step, b, b_stride, steps, add, vectors, 0, n)
  int64_t r = 0;
  ROWS(6);
  ROWS(4);
  ROWS(2);
  ROWS(1);
#undef ROWS
}

/* One row: a stands side by side. With as many sums as registers hold, since each waits for the one
 * before. */
ISA_INLINE void NAME(product_along)(REAL *c, const REAL *a, const REAL *b, int64_t b_stride,
                                    int64_t steps, int add, int64_t vectors) {
  int64_t v = 0;
  for (; v + TILE_WIDTH <= vectors; v += TILE_WIDTH)
    NAME(tile)
  (c + v * LANES, 0, a, 0, 1, b + v * LANES, b_stride, steps, add, 0, 1, TILE_WIDTH);
  NAME(tiles_of)
  (c + v * LANES, 0, a, 0, 1, b + v * LANES, b_stride, steps, add, vectors - v, 0, 1);
}

#if ISA_BYTES == 64
/* The same where WIDTH vectors side by side are all there is of b. AVX-512 loads one vector a
 * cycle, be it a single number spread over the lanes: those come from registers. */
ISA_INLINE void NAME(tile_along)(REAL *c, const REAL *a, const REAL *b, int64_t steps) {
  VEC sum[WIDTH] = {{0}};
  int64_t k = 0;
  for (; k + LANES <= steps; k += LANES) {
    VEC x = OP(load)(a + k);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++, b += WIDTH * LANES)
#pragma GCC unroll 4
      for (int v = 0; v < WIDTH; v++)
        sum[v] = OP(fma)(OP(spread)(x, i), OP(load)(b + v * LANES), sum[v]);
  }
  for (; k < steps; k++, b += WIDTH * LANES)
#pragma GCC unroll 4
    for (int v = 0; v < WIDTH; v++)
      sum[v] = OP(fma)(OP(set1)(a[k]), OP(load)(b + v * LANES), sum[v]);
#pragma GCC unroll 4
  for (int v = 0; v < WIDTH; v++)
    OP(store)(c + v * LANES, sum[v]);
}
#endif

/* The same from rows of b that are as long as those of c. */
ISA_INLINE void NAME(chain_along)(REAL *c, const REAL *a, const REAL *b, int64_t width,
                                  int64_t steps) {
#if ISA_BYTES == 64
  if (width == WIDTH * LANES) {
    NAME(tile_along)(c, a, b, steps);
    return;
  }
#endif
  NAME(product_along)(c, a, b, width, steps, 0, width / LANES);
}

/* Sum of the interleaved chains of one number by a tree. */
ISA_INLINE REAL NAME(tree)(VEC chain[]) {
#pragma GCC unroll 4
  for (int step = STEP / 2; step; step /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < step; i++)
      chain[i] += chain[i + step];
  return OP(tree_sum)(chain[0]);
}

ISA_INLINE int64_t NAME(padded)(int64_t n) {
  return (n + LANES - 1) / LANES * LANES;
}

/* Adds a[k] y[k], k < steps (y NULL: a[k]), to TAYLOR_LANES interleaved chains; both are zero from
 * there to a multiple of LANES. */
ISA_INLINE void NAME(chains_along)(VEC chain[], const REAL *a, const REAL *y, int64_t steps) {
  for (int64_t k = 0; k < steps; k += TAYLOR_LANES)
    for (int i = 0; i < STEP && k + i * LANES < steps; i++) {
      VEC x = OP(load)(a + k + i * LANES);
      chain[i] = y ? OP(fma)(x, OP(load)(y + k + i * LANES), chain[i]) : chain[i] + x;
    }
}

ISA_INLINE REAL NAME(sum_along)(const REAL *a, int64_t steps) {
  VEC chain[STEP];
  for (int i = 0; i < STEP; i++)
    chain[i] = (VEC){0};
  NAME(chains_along)(chain, a, NULL, steps);
  return NAME(tree)(chain);
}

/* The same for LANES numbers: chain[i] is chain i of all of them. */
ISA_INLINE VEC NAME(tree_across)(VEC chain[]) {
#pragma GCC unroll 4
  for (int step = TAYLOR_LANES / 2; step; step /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < step; i++)
      chain[i] += chain[i + step];
  return chain[0];
}

static void NAME(add_to)(REAL *to, const REAL *from, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    to[i] += from[i];
}

#include "fold_impl.h"
#include "rows_impl.h"

#undef OP2
#undef OP1
#undef OP
#undef LANES
#undef WIDTH
#undef STEP
