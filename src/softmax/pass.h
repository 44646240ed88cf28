/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One pass of softmax attention over a block of rows, in float or in double: the arithmetic that
 * the kernels and the double enclosure share.
 *
 *   S = (scale q) k^T        chain of d fused operations, keys across lanes
 *   s = finished score       softcap, bias, slope, temperature, visibility (hidden: -infinity)
 *   m = shift                moves to the block's maximum when that exceeds m + PASS_SHIFT
 *   w = exp(s - m)           exp_isa.h
 *   sum += w                 16 interleaved chains a block, a tree, then the running sum
 *   out += w v               chains of PASS_CHAIN keys, summed a block of PASS_KEYS, then in total
 *
 * The order of operations does not depend on the instruction set, on the number of threads or on
 * the rows computed beside a row. In double the pass can be had (softmax_pass_condition) with the
 * terms of the backward error, A = sum p |v|, C = sum p t and, for S = sum p t |v - x|, E = sum
 * p t |v - center|, with t the absolute score, in float. */
#ifndef ATTEST_SOFTMAX_PASS_H
#define ATTEST_SOFTMAX_PASS_H

#include "../tensor/isa.h"
#include "softmax.h"

enum {
  PASS_ROWS = 48,               /* rows a block: a multiple of TILE_ROWS */
  PASS_KEYS = 256,              /* keys a block */
  PASS_STRIDE = PASS_KEYS + 16, /* of rows of scores: no power of two, which caches map badly */
  PASS_PANEL_F32 = 64, /* keys a packed panel, a row of which is 256 bytes: a panel of 64 */
  PASS_PANEL_F64 = 32, /* rows leaves half of a first-level cache to other things */
  PASS_CHAIN = 32,     /* keys a chain of fused operations */
  PASS_LANES = 16      /* interleaved chains of the normaliser */
};
#define PASS_SHIFT 8.0

/* Where the first component of row r of a block stands among its queries, which lie tile by tile;
 * the next are TILE_ROWS apart. */
static inline int64_t pass_query_at(int64_t r, int64_t d) {
  return r / TILE_ROWS * TILE_ROWS * d + r % TILE_ROWS;
}
/* Where the first component of key j stands among the packed ones; the next are `panel` apart. */
static inline int64_t pass_key_at(int64_t j, int64_t d, int64_t panel) {
  return j / panel * panel * d + j % panel;
}

/* What all rows of a slice share. Arrays hold float (is_double = 0) or double. Rows of keys and
 * values that hold a NaN or an infinity are packed as zeros: they are hidden, or their rows are
 * answered by softmax_special_row.
 *
 * Under rotary embedding the slice's q and k are replaced by rotated ones in double, which are off
 * by ROTARY_ROUNDING (rotary.h), and absolute scores are products of the sizes of pairs. */
typedef struct {
  const attest_problem *problem;
  problem_slice slice;
  int is_rotary, overflows; /* overflows: a finite vector is infinite once rotated */
  double *rotated;          /* q, k, sizes and low parts of both */
  double *query_size;       /* [nq][d], within rotated; NULL: |q| */
  void *key_size;           /* as keys, of the sizes; NULL: |keys| */
  double *query_low;        /* [nq][d], in double only: rotated vectors beside their double */
  double *key_low;          /* as keys */
  int is_double, condition;
  int64_t blocks;     /* of PASS_KEYS keys */
  int64_t dv_pad;     /* dv rounded up to 64 bytes */
  void *keys;         /* [blocks * PASS_KEYS / panel][d][panel], panel = PASS_PANEL_F32 or _F64 */
  void *values;       /* [blocks * PASS_KEYS][dv_pad], times value_scale */
  double *key_norm;   /* a block: largest |k|_2, from above; in double only */
  double *value_max;  /* [block][dv]: largest |v_c|; in double only */
  double value_scale; /* a power of two: float sums must not overflow; 1 in double */
  int has_nonfinite;  /* somewhere in q, k, v or bias */

  /* With condition (double only): the same in float. */
  float *keys_f32, *values_f32; /* |k|; |v| value_scale_f32, so that they are at most 2^24 */
  float *spreads_f32;           /* |v value_scale_f32 - center| */
  double *center;               /* [dv]: about the mean of the v value_scale_f32 */
  int64_t dv_pad_f32;
  double value_scale_f32;

  /* Parameters as doubles, with absolute errors. */
  double scale, scale_error, softcap, inverse_temperature, inverse_temperature_error;
  int has_softcap, has_temperature, has_extras; /* extras: anything but a plain visible range */
  double bias_max;                              /* largest finite |bias| of the slice */
  struct softmax_scratch *spare; /* working memory that no call is using (enclose.c) */
} softmax_pack;

attest_status softmax_pack_open(softmax_pack **pack, const attest_problem *problem,
                                const problem_slice *slice, int is_double, int condition,
                                attest_error *error);
void softmax_pack_close(softmax_pack *pack);
void softmax_spare_close(softmax_pack *pack);
/* |x|_2 from above, given the sum of its n squares in double: that is off by (n + 1) u relative
 * and, in subnormals, by n 2^-1074. */
double softmax_norm(double squares, int64_t n);

/* Working memory and results of one block of rows. */
#define SOFTMAX_STATE(real, suffix)                                                                \
  typedef struct {                                                                                 \
    real *query, *query_abs; /* [PASS_ROWS / TILE_ROWS][d][TILE_ROWS], scaled */                   \
    real *row;               /* [d]: one query */                                                  \
    real *score, *size;      /* [PASS_ROWS][PASS_STRIDE]: s then w; t where asked for */           \
    real *chain;             /* [PASS_ROWS][dv_pad]: sums of one block of keys */                  \
    real *out;               /* [PASS_ROWS][dv_pad] */                                             \
    double *bias;            /* [PASS_KEYS] */                                                     \
    real shift[PASS_ROWS], sum[PASS_ROWS];                                                         \
    real moved[PASS_ROWS];   /* what the last block multiplied earlier weights with */             \
    int rescaled[PASS_ROWS]; /* 1: the shift moved after keys had been summed */                   \
    int64_t lo[PASS_ROWS], hi[PASS_ROWS];                                                          \
    void *memory;                                                                                  \
  } softmax_state_##suffix;                                                                        \
  attest_status softmax_state_open_##suffix(softmax_state_##suffix *state,                         \
                                            const softmax_pack *pack, attest_error *error);        \
  void softmax_state_close_##suffix(softmax_state_##suffix *state);                                \
  /* Rows row .. row + rows - 1, rows <= PASS_ROWS. out is left unnormalised. */                   \
  void softmax_pass_##suffix(softmax_state_##suffix *state, const softmax_pack *pack, int64_t row, \
                             int64_t rows);                                                        \
  /* out <- out / sum / value_scale, of the first `rows` rows. */                                  \
  void softmax_normalise_##suffix(softmax_state_##suffix *state, const softmax_pack *pack,         \
                                  int64_t rows)

SOFTMAX_STATE(float, f32);
SOFTMAX_STATE(double, f64);

/* The terms of the backward error beside the double pass. */
typedef struct {
  float *query;           /* [PASS_ROWS / TILE_ROWS][d][TILE_ROWS]: |scale q| */
  float *weight, *size;   /* [PASS_ROWS][PASS_STRIDE]: w; t, then w t */
  float *chain, *a, *e;   /* [PASS_ROWS][dv_pad_f32]: unnormalised, times value_scale_f32 */
  float c[PASS_ROWS];     /* sum w t over the keys */
  double sink[PASS_ROWS]; /* w t of the sink, whose value is 0: not in e */
  void *memory;
} softmax_condition;
attest_status softmax_condition_open(softmax_condition *kept, const softmax_pack *pack,
                                     attest_error *error);
void softmax_condition_close(softmax_condition *kept);
/* The double pass with a, e, c. */
void softmax_pass_condition(softmax_condition *kept, softmax_state_f64 *state,
                            const softmax_pack *pack, int64_t row, int64_t rows);

/* Second passes over one row, in double. Scores and absolute scores of the keys that
 * the row's range leaves (arrays of blocks * PASS_KEYS; hidden keys: -infinity, 0). */
void softmax_row_scores(double *score, double *size, softmax_state_f64 *state,
                        const softmax_pack *pack, int64_t row);
/* spread_c = sum g_j |v_jc - x_c|, total_c = sum h_j |v_jc|, lo <= j < hi, in chains over j. */
void softmax_row_sums(double *spread, double *total, const double *x, const double *g,
                      const double *h, const softmax_pack *pack, int64_t lo, int64_t hi);
/* What an explicit perturbation moves: with towards_c = +-1 and grown, shrunk = p (e^theta - 1),
 * p (1 - e^-theta), a key counts as grown where v_jc - x_c has the sign of towards_c, else as
 * shrunk: move_c = sum of (grown or shrunk) |v_jc - x_c|, size_c = sum of its new weight |v_jc|,
 *   weight_c = sum of its new weight, p + grown or p - shrunk. */
typedef struct {
  const double *p, *grown, *shrunk;
} softmax_moves;
void softmax_row_moves(double *move, double *size, double *weight, const double *x,
                       const double *towards, const softmax_moves *moves, const softmax_pack *pack,
                       int64_t lo, int64_t hi);
/* Running error analysis of the pass itself: the sum of the absolute values of all partial results
 * that it rounds. Of the scores (state as softmax_row_scores left it; run indexed by key): */
void softmax_running_scores(double *run, const softmax_state_f64 *state, const softmax_pack *pack,
                            int64_t lo, int64_t hi);
/* and of sum p_j v_jc for given weights; run has dv entries, scratch 3 dv. */
void softmax_running_sums(double *run, double *scratch, const double *p, const softmax_pack *pack,
                          int64_t lo, int64_t hi);

#endif
