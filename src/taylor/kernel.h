/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The fast kernels of attention with weights that are polynomials of the score, in float32 and,
 * from the same source, in float64, and the explicit state that they can be computed with.
 *
 * ORDER OF OPERATIONS. Bounds and proofs are written about it; it depends neither on the
 * instruction set, nor on the number of threads, nor on the rows computed beside a row. u is the
 * unit roundoff of the format, fl one rounding to it, fma one fused operation; hidden keys never
 * enter. Underflow apart, every error below is relative.
 *
 *   inputs       x = fl(element): exact from 16 bits and from the format itself.
 *   transform    (linear) x, max(x, 0), or x > 0 ? fl(x + 1) : exp(x) (exp_isa.h).
 *   score        q'_a = fl(fl(scale) q_a); s = chain of d fma(q'_a, k_a, s), a = 0 .. d-1, from 0.
 *                    |s - exact| <= gamma_(d+2) t, t = |scale| sum |q_a k_a|
 *   weight       w = Horner: h = c_P; h = fma(h, s, c_m), m = P-1 .. 0, c_m = fl(1/m!) (linear: the
 *                polynomial s). decay: w = fl(w fl(decay^n)), n steps back.
 *                    |w - T_P(s)| <= gamma_(P+1) T_P(|s|)   (decay: gamma_(P+3))
 *   monomial     k^beta = k_(i1) (k_(i2) (.. k_(im))): m - 1 roundings.
 *   key feature  k^beta. decay: fl(k^beta fl(decay^n)), n keys before the end of its fold.
 *   query feature  fl(c_beta q^beta), c_beta within 3 roundings to double and one to the format of
 *                scale^m / beta!: m + 1 roundings in float32, m + 4 in float64.
 *
 *   fold         of n <= TAYLOR_BLOCK keys into the state S, an unevaluated sum hi + lo with
 *                hi = fl(hi + lo): the chain of n fma(phi_j, v_jc, .) from 0 in the order of the
 *                keys (normaliser: the sum of phi_j in TAYLOR_LANES interleaved chains and a
 *                binary tree, depth n/16 + 4) is D, and hi + lo becomes (hi + lo)(decay^n) + D in
 *                double-word arithmetic (Joldes, Muller, Popescu 2017): DWPlusFP, 2u^2 at most;
 *                decay by DWTimesDW2 with decay^n to u^2, 7u^2 at most. With phi_j as computed,
 *                after B folds
 *                    |hi - exact| <= (u + gamma_n + 2B u^2 + ..) sum |phi_j| |v_jc|,
 *                whatever the number of keys: no sum stalls. The order-0 normaliser, a count, is
 *                exact below 2^48 in float32 (a plain sum stops at 2^24).
 *   read         z_c = sum over features of phi_b hi_bc: chains of TAYLOR_CHAIN features, fma from
 *                0; TAYLOR_GROUP chains are added up to a group, in order, the groups to the total:
 *                depth 32 + 16 + D/512. Normaliser: of each group, TAYLOR_LANES interleaved chains
 *                of fma, the groups added to TAYLOR_LANES totals, which a binary tree adds up at
 *                the end of the row: depth 32 + D/512 + 4. decay: the totals times fl(decay^n), n
 *                steps since the last fold.
 *   keys         the same with w_j v_jc over the keys that are not in the state, in blocks of
 *                TAYLOR_BLOCK keys, a chain each, from the last fold on; their groups are added to
 *                the total of the read: depth 64 + 16 + n/1024 more. Normaliser: of w_j, with
 *                additions for fma.
 *   row          out_c = fl(total_c / fl(normaliser + fl(eps))), or total_c under normalize none;
 *                a normaliser that is 0 gives NaN: it is never divided by. What depth counts is
 *                additions a term goes through; its product rounds with the first (fma).
 *
 * direct      reads the initial state, if there is one, and takes all keys as `keys`, in blocks
 *             from key 0. Only this form can hide some keys from some rows.
 * recurrent   folds every key by itself, then reads: n = 1.
 * chunked     a row that sees keys 0 .. h-1 reads the state of the floor((h-1)/chunk) chunks before
 *             its own and takes the rest of its own chunk as `keys`; then the chunk is folded, in
 *             blocks of TAYLOR_BLOCK keys. chunk >= N is the direct form.
 * A state fed key by key with room for `chunk` <= TAYLOR_BLOCK keys gives the bits of the chunked
 * form: that is decoding. */
#ifndef ATTEST_TAYLOR_KERNEL_H
#define ATTEST_TAYLOR_KERNEL_H

#include "../problem/problem.h"
#include "../tensor/isa.h"
#include "basis.h"

enum {
  TAYLOR_BLOCK = 64,                /* keys or rows of a block: the longest chain over keys */
  TAYLOR_CHAIN = 32,                /* features of a chain */
  TAYLOR_GROUP = 16,                /* chains of a group */
  TAYLOR_LANES = 16,                /* interleaved chains of a normaliser */
  TAYLOR_STRIDE = TAYLOR_BLOCK + 16 /* of blocks: no power of two, which caches map badly */
};

/* Fills out and, where problem->output[OUTPUT_FINAL_STATE] has data, that; float32 or float64 by
 * dtype of out. Serves kernels taylor and linear. lse is not an output of theirs and ignored. */
attest_status taylor_kernel(attest_tensor *out, attest_tensor *lse, const attest_problem *problem,
                            attest_error *error);

/* ---- plan: what all rows share (plan.c) ------------------------------------------------------ */

/* Of an attention problem, or of a state alone. Arrays of numbers hold float (is_double = 0) or
 * double. */
typedef struct {
  int is_double;
  int64_t d, dv, degree;
  int64_t dv_pad;      /* dv rounded up to 64 bytes */
  int64_t first, size; /* features: monomials first .. first + size - 1 of the basis */
  int64_t stride;      /* of rows of features: first + size rounded up, and room for a vector */
  taylor_basis *basis; /* NULL: nothing reads a state */
  problem_feature transform; /* of q and k before all else; FEATURE_IDENTITY for taylor */
  int normalize, has_norm;   /* rows are divided; states have the normaliser's column */
  double scale, eps;
  void *coefficient;    /* [degree + 1]: of the weight as a polynomial of the score */
  void *feature_weight; /* [stride]: c_beta; 0 beyond the last */
  /* decay^n for n = 0 .. powers - 1 as high + low; NULL: no decay. low only up to TAYLOR_BLOCK. */
  int64_t powers;
  void *power, *power_low;
} taylor_plan;

/* `powers` bounds the steps that decay is ever asked for; with_state: a basis is needed. */
attest_status taylor_plan_open(taylor_plan **plan, const attest_problem *problem, int is_double,
                               int with_state, int64_t powers, attest_error *error);
/* For a state alone: weights T_degree(scale q.k). */
attest_status taylor_plan_open_taylor(taylor_plan **plan, int64_t d, int64_t dv, int64_t degree,
                                      const problem_real *scale, int is_double,
                                      attest_error *error);
void taylor_plan_close(taylor_plan *plan);

/* w[i] <- the polynomial of the score w[i], as the direct form weighs keys; n a multiple of
 * TAYLOR_LANES. */
ISA_DECLARE(void, taylor_weigh_f32, (float *w, int64_t n, const taylor_plan *plan));
ISA_DECLARE(void, taylor_weigh_f64, (double *w, int64_t n, const taylor_plan *plan));

/* ---- blocks of keys, states, rows --------------------------------------------------------------
 */

#define TAYLOR_TYPES(real, suffix)                                                                 \
  /* At most TAYLOR_BLOCK keys. Rows that hold a NaN or an infinity are packed as zeros: no row    \
   * sees them. */                                                                                 \
  typedef struct {                                                                                 \
    int64_t count;                                                                                 \
    int nonfinite;     /* a row was packed as zeros */                                             \
    real *row;         /* [TAYLOR_BLOCK][d]: transformed */                                        \
    real *key;         /* [d][TAYLOR_STRIDE]: the same, keys side by side */                       \
    real *copy;        /* [TAYLOR_BLOCK][dv_pad] */                                                \
    const real *value; /* [count] rows, value_stride apart: the copy, or v itself */               \
    int64_t value_stride;                                                                          \
    void *memory;                                                                                  \
  } taylor_block_##suffix;                                                                         \
                                                                                                   \
  typedef struct {                                                                                 \
    const taylor_plan *plan;                                                                       \
    int64_t keys;         /* folded so far */                                                      \
    int loaded;           /* holds what was loaded */                                              \
    real *hi, *lo;        /* [size][dv_pad] */                                                     \
    real *norm, *norm_lo; /* [stride], from `first` on: the last column */                         \
    real *phi;            /* [TAYLOR_BLOCK][stride]: features of the keys that are folded */       \
    real *sum;            /* [TILE_ROWS][dv_pad] and [stride] */                                   \
    taylor_block_##suffix pending; /* keys not folded yet, fewer than or as many as chunk */       \
    int64_t chunk;                                                                                 \
    void *memory;                                                                                  \
  } taylor_state_##suffix;                                                                         \
                                                                                                   \
  /* Working memory and results of a block of rows. */                                             \
  typedef struct {                                                                                 \
    int64_t rows;                                                                                  \
    int64_t lo[TAYLOR_BLOCK], hi[TAYLOR_BLOCK]; /* keys each row sees */                           \
    int64_t position[TAYLOR_BLOCK];             /* of the row: decay^0; >= -1 */                   \
    real *row;                                  /* [TAYLOR_BLOCK][d]: transformed */               \
    real *x, *query;  /* [d][TAYLOR_STRIDE]: rows side by side; scaled */                          \
    real *mono, *phi; /* [.][TAYLOR_STRIDE]: monomials of the orders below degree; features */     \
    real *weight;     /* [TAYLOR_BLOCK][TAYLOR_STRIDE]: keys by rows */                            \
    real *group, *total, *out; /* [TAYLOR_BLOCK][dv_pad]; out for whoever needs it */              \
    real *lanes_group, *lanes; /* [TAYLOR_LANES][TAYLOR_STRIDE]: parts of the normalisers; of one  \
                                  row [TAYLOR_LANES] */                                            \
    real *chain;               /* [TAYLOR_GROUP][dv_pad]: of one row */                            \
    int turn;                  /* which end of the state the next read of one row starts at */     \
    int chains, groups;        /* chains in the open group; groups closed */                       \
    void *memory;                                                                                  \
  } taylor_rows_##suffix;                                                                          \
                                                                                                   \
  attest_status taylor_rows_open_##suffix(taylor_rows_##suffix *work, const taylor_plan *plan,     \
                                          attest_error *error);                                    \
  void taylor_rows_close_##suffix(taylor_rows_##suffix *work);                                     \
  /* Rows row .. row + work->rows - 1 of q; lo, hi and position are set. Clears the sums. */       \
  void taylor_rows_begin_##suffix(taylor_rows_##suffix *work, const taylor_plan *plan,             \
                                  const attest_tensor *q, int64_t row);                            \
  void taylor_rows_read_##suffix(taylor_rows_##suffix *work, const taylor_state_##suffix *state);  \
  /* Keys key .. key + block->count - 1; mask (nq, nk) may be NULL. Closes the group after         \
   * TAYLOR_GROUP blocks. */                                                                       \
  void taylor_rows_keys_##suffix(taylor_rows_##suffix *work, const taylor_plan *plan,              \
                                 const taylor_block_##suffix *block, int64_t key,                  \
                                 const attest_tensor *mask, int64_t row);                          \
  /* Rows of out, `stride` apart, dv numbers each. */                                              \
  void taylor_rows_end_##suffix(real *out, int64_t stride, taylor_rows_##suffix *work,             \
                                const taylor_plan *plan);                                          \
                                                                                                   \
  /* ATTEST_ERR_MEMORY, or ATTEST_OK; freed with free(block->memory). */                           \
  attest_status taylor_block_open_##suffix(taylor_block_##suffix *block, const taylor_plan *plan); \
  void taylor_block_pack_##suffix(taylor_block_##suffix *block, const taylor_plan *plan,           \
                                  const attest_tensor *k, const attest_tensor *v, int64_t key,     \
                                  int64_t count);                                                  \
  void taylor_block_append_##suffix(taylor_block_##suffix *block, const taylor_plan *plan,         \
                                    const real *k, const real *v);                                 \
                                                                                                   \
  /* ---- the state (state.c) ---- */                                                              \
  /* Empty. Keeps up to `chunk` <= TAYLOR_BLOCK keys apart before it folds them. */                \
  attest_status taylor_state_open_##suffix(taylor_state_##suffix *state, const taylor_plan *plan,  \
                                           int64_t chunk, attest_error *error);                    \
  void taylor_state_close_##suffix(taylor_state_##suffix *state);                                  \
  void taylor_state_clear_##suffix(taylor_state_##suffix *state);                                  \
  /* One more key; folds those pending first when there are `chunk` of them. */                    \
  void taylor_state_update_##suffix(taylor_state_##suffix *state, const real *k, const real *v);   \
  /* out (dv) of a query that sees all keys so far. */                                             \
  void taylor_state_read_##suffix(real *out, taylor_rows_##suffix *work,                           \
                                  const taylor_state_##suffix *state, const real *q);              \
  void taylor_state_fold_##suffix(taylor_state_##suffix *state,                                    \
                                  const taylor_block_##suffix *keys);                              \
  /* Folds the pending keys. */                                                                    \
  void taylor_state_settle_##suffix(taylor_state_##suffix *state);                                 \
  /* to = to, then the keys of from; both settled. */                                              \
  void taylor_state_merge_##suffix(taylor_state_##suffix *to, const taylor_state_##suffix *from);  \
  /* As a tensor (size, dv + 1), or (size, dv) without a normaliser; loading rounds to the format, \
   * saving to that of the tensor. Settled. */                                                     \
  void taylor_state_load_##suffix(taylor_state_##suffix *state, const attest_tensor *tensor);      \
  void taylor_state_save_##suffix(attest_tensor *tensor, const taylor_state_##suffix *state)

TAYLOR_TYPES(float, f32);
TAYLOR_TYPES(double, f64);

#endif
