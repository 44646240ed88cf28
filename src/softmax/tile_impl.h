/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Products of small matrices in registers, for one type; see pass_impl.h for the macros. */

/* c[r][v] (+)= sum over k = 0 .. steps-1, in this order, of a[r][k] b[k][v], with |b| in place of b
 * where `absolute`; r < PASS_TILE, v over `width` vectors. */
ISA_INLINE void NAME(tile)(REAL *c, int64_t c_stride, const REAL *a, int64_t a_stride,
                           const REAL *b, int64_t b_stride, int64_t steps, int add,
                           const int absolute, const int width) {
  VEC sum[PASS_TILE][4];
#pragma GCC unroll 6
  for (int r = 0; r < PASS_TILE; r++)
#pragma GCC unroll 4
    for (int v = 0; v < width; v++)
      sum[r][v] = (VEC){0};
  for (int64_t k = 0; k < steps; k++) {
    VEC bk[4];
#pragma GCC unroll 4
    for (int v = 0; v < width; v++) {
      bk[v] = OP(load)(b + k * b_stride + v * LANES);
      if (absolute) bk[v] = OP(abs)(bk[v]);
    }
#pragma GCC unroll 6
    for (int r = 0; r < PASS_TILE; r++) {
      VEC ark = OP(set1)(a[r * a_stride + k]);
#pragma GCC unroll 4
      for (int v = 0; v < width; v++)
        sum[r][v] = OP(fma)(ark, bk[v], sum[r][v]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < PASS_TILE; r++)
#pragma GCC unroll 4
    for (int v = 0; v < width; v++) {
      REAL *to = c + r * c_stride + v * LANES;
      OP(store)(to, add ? OP(load)(to) + sum[r][v] : sum[r][v]);
    }
}

/* The same over `vectors` vectors, as many as it takes. */
ISA_INLINE void NAME(tiles_of)(REAL *c, int64_t c_stride, const REAL *a, int64_t a_stride,
                               const REAL *b, int64_t b_stride, int64_t steps, int add,
                               int64_t vectors, const int absolute) {
  int64_t v = 0;
  for (; v + WIDTH <= vectors; v += WIDTH)
    NAME(tile)
  (c + v * LANES, c_stride, a, a_stride, b + v * LANES, b_stride, steps, add, absolute, WIDTH);
  c += v * LANES;
  b += v * LANES;
  if (vectors - v == 3)
    NAME(tile)(c, c_stride, a, a_stride, b, b_stride, steps, add, absolute, 3);
  else if (vectors - v == 2)
    NAME(tile)(c, c_stride, a, a_stride, b, b_stride, steps, add, absolute, 2);
  else if (vectors - v == 1)
    NAME(tile)(c, c_stride, a, a_stride, b, b_stride, steps, add, absolute, 1);
}

static void NAME(tiles)(REAL *c, int64_t c_stride, const REAL *a, int64_t a_stride, const REAL *b,
                        int64_t b_stride, int64_t steps, int add, int64_t vectors) {
  NAME(tiles_of)(c, c_stride, a, a_stride, b, b_stride, steps, add, vectors, 0);
}

static void NAME(tiles_abs)(REAL *c, int64_t c_stride, const REAL *a, int64_t a_stride,
                            const REAL *b, int64_t b_stride, int64_t steps, int add,
                            int64_t vectors) {
  NAME(tiles_of)(c, c_stride, a, a_stride, b, b_stride, steps, add, vectors, 1);
}
