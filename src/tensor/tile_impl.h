/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Products of small matrices in registers, for one type. An *_isa.c file includes this once a type,
 * with REAL (the type), VEC (its vector), NAME(x) (x with the type's suffix), OP(x) (operation x on
 * VEC), LANES and WIDTH (vectors of b held in registers beside TILE_ROWS rows of sums) defined. */

/* c[r][v] (+)= sum over k = 0 .. steps-1, in this order, of a[r][k] b[k][v], with |b| in place of b
 * where `absolute`; r < rows <= TILE_ROWS, v over `width` vectors. Element (r, k) of a stands at
 * r a_row + k a_step. */
ISA_INLINE void NAME(tile)(REAL *c, int64_t c_stride, const REAL *a, int64_t a_row, int64_t a_step,
                           const REAL *b, int64_t b_stride, int64_t steps, int add,
                           const int absolute, const int rows, const int width) {
  VEC sum[TILE_ROWS][TILE_WIDTH];
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
    for (int v = 0; v < width; v++)
      sum[r][v] = (VEC){0};
#pragma GCC unroll 4
  for (int64_t k = 0; k < steps; k++) {
    VEC bk[TILE_WIDTH];
#pragma GCC unroll 8
    for (int v = 0; v < width; v++) {
      bk[v] = OP(load)(b + k * b_stride + v * LANES);
      if (absolute) bk[v] = OP(abs)(bk[v]);
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
      VEC ark = OP(set1)(a[r * a_row + k * a_step]);
#pragma GCC unroll 8
      for (int v = 0; v < width; v++)
        sum[r][v] = OP(fma)(ark, bk[v], sum[r][v]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
    for (int v = 0; v < width; v++) {
      REAL *to = c + r * c_stride + v * LANES;
      OP(store)(to, add ? OP(load)(to) + sum[r][v] : sum[r][v]);
    }
}

/* The same over `vectors` vectors, as many as it takes. */
ISA_INLINE void NAME(tiles_of)(REAL *c, int64_t c_stride, const REAL *a, int64_t a_row,
                               int64_t a_step, const REAL *b, int64_t b_stride, int64_t steps,
                               int add, int64_t vectors, const int absolute, const int rows) {
#define TILE(width)                                                                                \
  NAME(tile)                                                                                       \
  (c + v * LANES, c_stride, a, a_row, a_step, b + v * LANES, b_stride, steps, add, absolute, rows, \
   width)
  int64_t v = 0;
  for (; v + WIDTH <= vectors; v += WIDTH)
    TILE(WIDTH);
  if (vectors - v == 3)
    TILE(3);
  else if (vectors - v == 2)
    TILE(2);
  else if (vectors - v == 1)
    TILE(1);
#undef TILE
}
