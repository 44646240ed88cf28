/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The fast kernels of the sparse room, in float32 and, from the same source, in float64. Internal
 * to the room and to the benchmark.
 *
 *   scores      chains over d of fused operations, keys across lanes
 *   finished    softcap, bias, slope, temperature; hidden keys -infinity
 *   support     only keys that can carry weight are gathered: those within 1/(alpha-1) of the
 *               largest score, within the bandwidth or the margin, among the k largest
 *   weights     in double; thresholds by Newton's method on SPARSE_LANES interleaved chains
 *   out         sum p v over the support, p = w / sum w rounded once, in chains of SPARSE_CHAIN
 * keys; values are scaled by a power of two, away from overflow and subnormals
 *
 * The order of operations does not depend on the instruction set or the number of threads. */
#ifndef ATTEST_SPARSE_KERNEL_H
#define ATTEST_SPARSE_KERNEL_H

#include "../tensor/isa.h"
#include "line.h"

enum {
  SPARSE_LANES = 8,        /* interleaved chains of sums in double */
  SPARSE_ROWS = TILE_ROWS, /* rows a block of scores */
  SPARSE_PANEL = 64,       /* keys a packed panel */
  SPARSE_CHAIN = 16        /* keys a chain of fused operations in out */
};

/* w_j = [u - gap_j]_+^r with sum 1 up to rounding, for *keys gaps >= 0 (some 0) followed by gaps of
 * 2 to a multiple of SPARSE_LANES; whole: r where it is 1, 2 or 3. Keys without weight may be
 * dropped, from `gap` and `key` too. Returns the sum of w. */
ISA_DECLARE(double, sparse_solve_gaps,
            (double *w, double *scratch, double *gap, int64_t *key, int64_t *keys, double r,
             int whole, int is_double));

/* w_j = [y_j]_+^r, r = 1, 2, 3, of n keys; both have room for a multiple of SPARSE_LANES. */
ISA_DECLARE(void, sparse_profile_weights, (double *w, const double *y, int64_t n, int r));

/* The support of one row. */
typedef struct {
  int64_t count;
  int64_t *key;
  double *gap, *weight; /* a multiple of SPARSE_LANES */
  double *scratch;      /* likewise */
  int is_double;        /* the accuracy that thresholds are solved to */
  double sum, largest;  /* of the weights; the largest score */
  void *memory;
} sparse_support;

#define SPARSE_KERNEL(real, suffix)                                                                \
  ISA_DECLARE(void, sparse_scores_##suffix,                                                        \
              (real * score, int64_t stride, const real *q, const real *keys, int64_t d,           \
               int64_t first, int64_t last, int is_distance));                                     \
  ISA_DECLARE(real, sparse_largest_##suffix, (const real *s, int64_t n));                          \
  ISA_DECLARE(void, sparse_gather_##suffix,                                                        \
              (sparse_support * support, const real *s, int64_t n, real above));                   \
  ISA_DECLARE(                                                                                     \
      void, sparse_gaps_##suffix,                                                                  \
      (double *gap, const real *s, const int64_t *key, int64_t n, double above, double factor));   \
  ISA_DECLARE(                                                                                     \
      void, sparse_combine_##suffix,                                                               \
      (real * out, const sparse_support *support, const real *values, int64_t dv_pad, real back));
SPARSE_KERNEL(float, f32)
SPARSE_KERNEL(double, f64)

/* The sum of n weights on SPARSE_LANES interleaved chains of SPARSE_CHAIN keys and a tree; what
 * adding these rounds away is kept. */
ISA_DECLARE(double, sparse_weight_sum, (const double *x, int64_t n));

/* The keys of one row that carry weight, with their weights, from n scores (for power rules and
 * uniform: arguments); hidden keys have -infinity. The support has room for n keys and SPARSE_LANES
 * more. Only the parameters of the pack are used. (kernel.c) */
void sparse_support_f32(sparse_support *support, const float *s, int64_t n,
                        const sparse_pack *pack);
void sparse_support_f64(sparse_support *support, const double *s, int64_t n,
                        const sparse_pack *pack);
int sparse_support_open(sparse_support *support, int64_t n); /* 0: out of memory */
void sparse_support_close(sparse_support *support);

#endif
