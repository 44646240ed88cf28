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

/* One row: a stands side by side. */
ISA_INLINE void NAME(product_along)(REAL *c, const REAL *a, const REAL *b, int64_t b_stride,
                                    int64_t steps, int add, int64_t vectors) {
  NAME(tiles_of)(c, 0, a, 0, 1, b, b_stride, steps, add, vectors, 0, 1);
}

/* Sum of the interleaved chains of one number by a tree. */
ISA_INLINE REAL NAME(tree)(const VEC chain[]) {
  REAL lane[TAYLOR_LANES];
  for (int i = 0; i < STEP; i++)
    OP(store)(lane + i * LANES, chain[i]);
#pragma GCC unroll 4
  for (int step = TAYLOR_LANES / 2; step; step /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < step; i++)
      lane[i] += lane[i + step];
  return lane[0];
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

/* ---- blocks of keys ----------------------------------------------------------------------------
 */

/* Rows row .. row + n - 1 of t, each of `width` elements, to rows of `stride`. */
static void NAME(load)(REAL *x, int64_t stride, const attest_tensor *t, int64_t row, int64_t n,
                       int64_t width) {
  if (width == stride && t->stride[0] == width && t->stride[1] == 1) {
    LOAD(x, t, row * width, n * width, 1);
    return;
  }
  for (int64_t r = 0; r < n; r++)
    LOAD(x + r * stride, t, (row + r) * t->stride[0], width, t->stride[1]);
}

static void NAME(transform)(REAL *x, int64_t n, problem_feature feature) {
  for (int64_t i = 0; i < n; i++) {
    REAL lane[LANES], y = x[i];
    if (feature == FEATURE_RELU) x[i] = y > 0 ? y : 0;
    if (feature != FEATURE_ELU1) continue;
    x[i] = y + 1;
    if (y > 0) continue;
    OP(store)(lane, OP(exp)(OP(set1)(y)));
    x[i] = lane[0];
  }
}

/* to[c][r] = from[r][c]. */
static void NAME(transpose)(REAL *to, const REAL *from, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c++)
      to[c * TAYLOR_STRIDE + r] = from[r * columns + c];
}

ISA_INLINE int NAME(is_finite)(const REAL *x, int64_t n) {
  int bad = 0;
  for (int64_t i = 0; i < n; i++)
    bad |= x[i] - x[i] != 0;
  return !bad;
}

/* Rows row .. row + n - 1 of t where they stand: NULL unless they are of this type, each of them
 * contiguous and finite. */
static const REAL *NAME(in_place)(const attest_tensor *t, int64_t row, int64_t n) {
  const REAL *x = t->data;
  if (t->dtype != DTYPE || t->byteswapped || t->stride[1] != 1 || (uintptr_t)x % sizeof *x)
    return NULL;
  x += row * t->stride[0];
  for (int64_t r = 0; r < n; r++)
    if (!NAME(is_finite)(x + r * t->stride[0], t->shape[1])) return NULL;
  return x;
}

/* Rows at .. at + count - 1, just loaded, become part of the block. */
static void NAME(finish_pack)(NAME(taylor_block) * block, const taylor_plan *plan, int64_t at,
                              int64_t count) {
  int64_t d = plan->d, dv = plan->dv;
  REAL *row = block->row + at * d;
  block->value = block->copy;
  block->value_stride = plan->dv_pad;
  for (int64_t j = 0; j < count; j++) {
    REAL *x = row + j * d, *y = block->copy + (at + j) * plan->dv_pad;
    if (NAME(is_finite)(x, d) && NAME(is_finite)(y, dv)) continue;
    memset(x, 0, (size_t)d * sizeof *x);
    memset(y, 0, (size_t)dv * sizeof *y);
    block->nonfinite = 1;
  }
  if (plan->transform != FEATURE_IDENTITY) NAME(transform)(row, count * d, plan->transform);
  NAME(transpose)(block->key + at, row, count, d);
  block->count = at + count;
}

void ISA(NAME(taylor_block_pack))(NAME(taylor_block) * block, const taylor_plan *plan,
                                  const attest_tensor *k, const attest_tensor *v, int64_t key,
                                  int64_t count);
void ISA(NAME(taylor_block_pack))(NAME(taylor_block) * block, const taylor_plan *plan,
                                  const attest_tensor *k, const attest_tensor *v, int64_t key,
                                  int64_t count) {
  int64_t d = plan->d;
  const REAL *values = plan->dv == plan->dv_pad ? NAME(in_place)(v, key, count) : NULL;
  NAME(load)(block->row, d, k, key, count, d);
  if (values && NAME(is_finite)(block->row, count * d)) {
    if (plan->transform != FEATURE_IDENTITY)
      NAME(transform)(block->row, count * d, plan->transform);
    NAME(transpose)(block->key, block->row, count, d);
    block->count = count;
    block->value = values;
    block->value_stride = v->stride[0];
    return;
  }
  NAME(load)(block->copy, plan->dv_pad, v, key, count, plan->dv);
  NAME(finish_pack)(block, plan, 0, count);
}

void ISA(NAME(taylor_block_append))(NAME(taylor_block) * block, const taylor_plan *plan,
                                    const REAL *k, const REAL *v);
void ISA(NAME(taylor_block_append))(NAME(taylor_block) * block, const taylor_plan *plan,
                                    const REAL *k, const REAL *v) {
  int64_t d = plan->d, dv = plan->dv, at = block->count;
  memcpy(block->row + at * d, k, (size_t)d * sizeof *k);
  memcpy(block->copy + at * plan->dv_pad, v, (size_t)dv * sizeof *v);
  NAME(finish_pack)(block, plan, at, 1);
}

/* ---- features of one row -----------------------------------------------------------------------
 */

/* Order m >= 2 of the monomials: parents are those of order m - 1. keep: mono takes them; weigh:
 * phi takes c times them, else phi is mono. Vectors run over into what is written later. */
ISA_INLINE void NAME(order_along)(REAL *phi, REAL *mono, const taylor_basis *basis, int64_t m,
                                  const REAL *parents, const REAL *x, const REAL *c, const int keep,
                                  const int weigh) {
  int64_t b = basis->start[m], before = basis->start[m - 1], count = b - before;
  const int64_t *parent = basis->parent;
  for (int64_t i = 0; i < basis->d; i++) {
    int64_t p = parent[b] - before, n = count - p;
    VEC xi = OP(set1)(x[i]);
    for (int64_t at = 0; at < n; at += LANES) {
      VEC product = xi * OP(load)(parents + p + at);
      if (keep) OP(store)(mono + b + at, product);
      if (weigh) OP(store)(phi + b + at, OP(load)(c + b + at) * product);
    }
    b += n;
  }
}

/* phi[b] = c[b] x^b (c NULL: x^b) up to the last feature, 0 beyond, as far as `stride` goes; mono
 * takes x^b of the orders below the last (c NULL: of all, into phi). x is read beyond its end. */
static void NAME(features_along)(REAL *phi, REAL *mono, const taylor_plan *plan, const REAL *x,
                                 const REAL *c) {
  const taylor_basis *basis = plan->basis;
  int64_t d = plan->d, degree = basis->degree;
  phi[0] = c ? c[0] : 1;
  for (int64_t i = 0; i < d && degree > 0; i += LANES) {
    VEC xi = OP(load)(x + i);
    OP(store)(phi + 1 + i, c ? OP(load)(c + 1 + i) * xi : xi);
  }
  for (int64_t m = 2; m <= degree; m++) {
    /* Of order 1 x itself, which has not just been stored. */
    const REAL *parents = m == 2 ? x : (c ? mono : phi) + basis->start[m - 1];
    if (!c)
      NAME(order_along)(NULL, phi, basis, m, parents, x, NULL, 1, 0);
    else if (m < degree)
      NAME(order_along)(phi, mono, basis, m, parents, x, c, 1, 1);
    else
      NAME(order_along)(phi, NULL, basis, m, parents, x, c, 0, 1);
  }
  for (int64_t b = basis->size; b < plan->stride; b++)
    phi[b] = 0;
}

/* ---- folding keys into the state ---------------------------------------------------------------
 */

/* (hi + lo) <- (hi + lo) + d: DWPlusFP. */
ISA_INLINE void NAME(join)(REAL *hi, REAL *lo, const REAL *d, int64_t n) {
  for (int64_t i = 0; i < n; i += LANES) {
    VEC x = OP(load)(hi + i), y = OP(load)(d + i);
    VEC s = x + y, back = s - x;
    VEC error = (x - (s - back)) + (y - back);
    error += OP(load)(lo + i);
    VEC z = s + error;
    OP(store)(hi + i, z);
    OP(store)(lo + i, error - (z - s));
  }
}

/* (hi + lo) <- (hi + lo)(a + b): DWTimesDW2. */
static void NAME(shrink)(REAL *hi, REAL *lo, REAL a, REAL b, int64_t n) {
  VEC ah = OP(set1)(a), al = OP(set1)(b);
  for (int64_t i = 0; i < n; i += LANES) {
    VEC xh = OP(load)(hi + i), xl = OP(load)(lo + i);
    VEC p = xh * ah, error = OP(fma)(xh, ah, -p);
    error += OP(fma)(xl, ah, xh * al);
    VEC z = p + error;
    OP(store)(hi + i, z);
    OP(store)(lo + i, error - (z - p));
  }
}

/* The state as it was, `n` keys later. */
static void NAME(decay_state)(NAME(taylor_state) * state, int64_t n) {
  const taylor_plan *plan = state->plan;
  REAL a = ((const REAL *)plan->power)[n], b = ((const REAL *)plan->power_low)[n];
  NAME(shrink)(state->hi, state->lo, a, b, plan->size * plan->dv_pad);
  NAME(shrink)(state->norm, state->norm_lo, a, b, plan->stride);
}

/* phi[b][j] of several keys side by side, zeros up to a multiple of LANES. */
static void NAME(features_of_keys)(NAME(taylor_state) * state, const NAME(taylor_block) * keys) {
  const taylor_plan *plan = state->plan;
  const taylor_basis *basis = plan->basis;
  int64_t n = keys->count, rows = NAME(padded)(n);
  REAL last[TAYLOR_BLOCK];
  for (int64_t j = 0; j < rows; j++)
    state->phi[j] = j < n;
  for (int64_t b = 1; b < basis->size; b++) {
    const REAL *x = keys->key + basis->coordinate[b] * TAYLOR_STRIDE;
    const REAL *parent = state->phi + basis->parent[b] * TAYLOR_STRIDE;
    for (int64_t j = 0; j < rows; j += LANES)
      OP(store)(state->phi + b * TAYLOR_STRIDE + j, OP(load)(x + j) * OP(load)(parent + j));
  }
  if (!plan->power) return;
  for (int64_t j = 0; j < rows; j++)
    last[j] = j < n ? ((const REAL *)plan->power)[n - 1 - j] : 0;
  for (int64_t b = 0; b < basis->size; b++)
    for (int64_t j = 0; j < rows; j += LANES) {
      REAL *phi = state->phi + b * TAYLOR_STRIDE + j;
      OP(store)(phi, OP(load)(phi) * OP(load)(last + j));
    }
}

/* Joins the chains over the keys of phi_j[b] v_j[c] and the sums of phi_j[b]; phi_j[b] stands at
 * b row + j. */
static void NAME(fold_features)(NAME(taylor_state) * state, const NAME(taylor_block) * keys,
                                int64_t row) {
  const taylor_plan *plan = state->plan;
  int64_t pad = plan->dv_pad;
  for (int64_t b = 0; b < plan->size; b += TILE_ROWS) {
    int64_t rows = plan->size - b < TILE_ROWS ? plan->size - b : TILE_ROWS;
    NAME(product)
    (state->sum, pad, state->phi + (plan->first + b) * row, row, 1, keys->value, keys->value_stride,
     keys->count, 0, rows, pad / LANES);
    NAME(join)(state->hi + b * pad, state->lo + b * pad, state->sum, rows * pad);
  }
  if (!plan->has_norm) return;
  for (int64_t b = 0; b < plan->basis->size; b++)
    state->sum[b] = row == 1 ? state->phi[b] : NAME(sum_along)(state->phi + b * row, keys->count);
  NAME(join)(state->norm, state->norm_lo, state->sum, plan->stride);
}

void ISA(NAME(taylor_state_fold))(NAME(taylor_state) * state, const NAME(taylor_block) * keys);
void ISA(NAME(taylor_state_fold))(NAME(taylor_state) * state, const NAME(taylor_block) * keys) {
  const taylor_plan *plan = state->plan;
  if (keys->count == 0) return;
  if (keys->count == 1)
    NAME(features_along)(state->phi, NULL, plan, keys->row, NULL);
  else
    NAME(features_of_keys)(state, keys);
  if (plan->power) NAME(decay_state)(state, keys->count);
  NAME(fold_features)(state, keys, keys->count == 1 ? 1 : TAYLOR_STRIDE);
  state->keys += keys->count;
}

void ISA(NAME(taylor_state_merge))(NAME(taylor_state) * to, const NAME(taylor_state) * from);
void ISA(NAME(taylor_state_merge))(NAME(taylor_state) * to, const NAME(taylor_state) * from) {
  const taylor_plan *plan = to->plan;
  int64_t n = plan->size * plan->dv_pad;
  for (int64_t left = from->keys; plan->power && left > 0; left -= TAYLOR_BLOCK)
    NAME(decay_state)(to, left < TAYLOR_BLOCK ? left : TAYLOR_BLOCK);
  NAME(join)(to->hi, to->lo, from->hi, n);
  NAME(join)(to->hi, to->lo, from->lo, n);
  NAME(join)(to->norm, to->norm_lo, from->norm, plan->stride);
  NAME(join)(to->norm, to->norm_lo, from->norm_lo, plan->stride);
  to->keys += from->keys;
}

/* ---- rows --------------------------------------------------------------------------------------
 */

static void NAME(swap)(REAL **a, REAL **b) {
  REAL *swapped = *a;
  *a = *b;
  *b = swapped;
}

/* Closes the open group. */
static void NAME(close_group)(NAME(taylor_rows) * work, const taylor_plan *plan) {
  int64_t lanes = work->rows == 1 ? TAYLOR_LANES : TAYLOR_LANES * TAYLOR_STRIDE;
  if (work->chains == 0) return;
  work->chains = 0;
  if (work->groups++ == 0) {
    NAME(swap)(&work->group, &work->total);
    NAME(swap)(&work->lanes_group, &work->lanes);
    return;
  }
  NAME(add_to)(work->total, work->group, work->rows * plan->dv_pad);
  if (plan->normalize) NAME(add_to)(work->lanes, work->lanes_group, lanes);
}

/* After a chain. */
static void NAME(count_chain)(NAME(taylor_rows) * work, const taylor_plan *plan) {
  if (++work->chains == TAYLOR_GROUP) NAME(close_group)(work, plan);
}

/* The rows have been loaded. */
static void NAME(prepare_rows)(NAME(taylor_rows) * work, const taylor_plan *plan) {
  int64_t d = plan->d, n = work->rows;
  VEC scale = OP(set1)((REAL)plan->scale);
  for (int64_t r = 0; r < n; r++)
    if (!NAME(is_finite)(work->row + r * d, d))
      memset(work->row + r * d, 0, (size_t)d * sizeof *work->row);
  if (plan->transform != FEATURE_IDENTITY) NAME(transform)(work->row, n * d, plan->transform);
  work->chains = work->groups = 0;
  if (n == 1) {
    for (int64_t i = 0; i < d; i += LANES)
      OP(store)(work->query + i, scale * OP(load)(work->row + i));
    return;
  }
  NAME(transpose)(work->x, work->row, n, d);
  for (int64_t i = 0; i < d; i++)
    for (int64_t r = 0; r < TAYLOR_BLOCK; r += LANES) {
      int64_t at = i * TAYLOR_STRIDE + r;
      OP(store)(work->query + at, scale * OP(load)(work->x + at));
    }
}

void ISA(NAME(taylor_rows_begin))(NAME(taylor_rows) * work, const taylor_plan *plan,
                                  const attest_tensor *q, int64_t row);
void ISA(NAME(taylor_rows_begin))(NAME(taylor_rows) * work, const taylor_plan *plan,
                                  const attest_tensor *q, int64_t row) {
  NAME(load)(work->row, plan->d, q, row, work->rows, plan->d);
  NAME(prepare_rows)(work, plan);
}

void ISA(NAME(taylor_rows_begin_one))(NAME(taylor_rows) * work, const taylor_plan *plan,
                                      const REAL *q);
void ISA(NAME(taylor_rows_begin_one))(NAME(taylor_rows) * work, const taylor_plan *plan,
                                      const REAL *q) {
  memcpy(work->row, q, (size_t)plan->d * sizeof *q);
  work->rows = 1;
  NAME(prepare_rows)(work, plan);
}

/* phi[b][r] of the rows side by side. */
static void NAME(features_across)(NAME(taylor_rows) * work, const taylor_plan *plan) {
  const taylor_basis *basis = plan->basis;
  const REAL *c = plan->feature_weight;
  int64_t rows = NAME(padded)(work->rows), inner = basis->start[basis->degree];
  for (int64_t r = 0; r < rows; r++) {
    work->mono[r] = 1;
    work->phi[r] = c[0];
  }
  for (int64_t b = 1; b < basis->size; b++) {
    const REAL *x = work->x + basis->coordinate[b] * TAYLOR_STRIDE;
    const REAL *parent = work->mono + basis->parent[b] * TAYLOR_STRIDE;
    VEC weight = OP(set1)(c[b]);
    for (int64_t r = 0; r < rows; r += LANES) {
      VEC mono = OP(load)(x + r) * OP(load)(parent + r);
      if (b < inner) OP(store)(work->mono + b * TAYLOR_STRIDE + r, mono);
      OP(store)(work->phi + b * TAYLOR_STRIDE + r, weight * mono);
    }
  }
}

/* lanes_group (+)= interleaved chains over the steps of a[k][r] times y[k] (NULL: of a[k][r]). */
static void NAME(norms_across)(NAME(taylor_rows) * work, const REAL *a, const REAL *y,
                               int64_t steps) {
  for (int64_t r = 0; r < work->rows; r += LANES) {
    VEC chain[TAYLOR_LANES];
    REAL *lanes = work->lanes_group + r;
    for (int i = 0; i < TAYLOR_LANES; i++)
      chain[i] = work->chains ? OP(load)(lanes + i * TAYLOR_STRIDE) : (VEC){0};
    for (int64_t k = 0; k < steps; k += TAYLOR_LANES)
#pragma GCC unroll 16
      for (int i = 0; i < TAYLOR_LANES; i++) {
        if (k + i >= steps) break;
        VEC x = OP(load)(a + (k + i) * TAYLOR_STRIDE + r);
        chain[i] = y ? OP(fma)(x, OP(set1)(y[k + i]), chain[i]) : chain[i] + x;
      }
    for (int i = 0; i < TAYLOR_LANES; i++)
      OP(store)(lanes + i * TAYLOR_STRIDE, chain[i]);
  }
}

/* The same for one row: a and y side by side, zeros up to a multiple of LANES. */
static void NAME(norms_along)(NAME(taylor_rows) * work, const REAL *a, const REAL *y,
                              int64_t steps) {
  VEC chain[STEP];
  for (int i = 0; i < STEP; i++)
    chain[i] = work->chains ? OP(load)(work->lanes_group + i * LANES) : (VEC){0};
  NAME(chains_along)(chain, a, y, steps);
  for (int i = 0; i < STEP; i++)
    OP(store)(work->lanes_group + i * LANES, chain[i]);
}

/* One group of the read of one row: phi (n features) times rows of the state. Every other read
 * goes through the chains backwards, so that it meets first what the last one left in the cache. */
static void NAME(read_along)(NAME(taylor_rows) * work, const REAL *phi, const REAL *hi, int64_t pad,
                             int64_t n) {
  int64_t chains = (n + TAYLOR_CHAIN - 1) / TAYLOR_CHAIN;
  for (int64_t i = 0; i < chains; i++) {
    int64_t at = (work->turn ? chains - 1 - i : i) * TAYLOR_CHAIN;
    int64_t steps = n - at < TAYLOR_CHAIN ? n - at : TAYLOR_CHAIN;
    NAME(product_along)
    (work->chain + at / TAYLOR_CHAIN * pad, phi + at, hi + at * pad, pad, steps, 0, pad / LANES);
  }
  for (int64_t c = 0; c < pad; c += LANES) {
    VEC sum = OP(load)(work->chain + c);
    for (int64_t i = 1; i < chains; i++)
      sum += OP(load)(work->chain + i * pad + c);
    OP(store)(work->group + c, sum);
  }
}

static void NAME(read_across)(NAME(taylor_rows) * work, const REAL *phi, const REAL *hi,
                              int64_t pad, int64_t n) {
  for (int64_t at = 0; at < n; at += TAYLOR_CHAIN)
    NAME(product)
  (work->group, pad, phi + at * TAYLOR_STRIDE, 1, TAYLOR_STRIDE, hi + at * pad, pad,
   n - at < TAYLOR_CHAIN ? n - at : TAYLOR_CHAIN, at > 0, work->rows, pad / LANES);
}

/* Decay since the last fold. */
static void NAME(decay_read)(NAME(taylor_rows) * work, const NAME(taylor_state) * state) {
  int64_t pad = state->plan->dv_pad, step = work->rows == 1 ? 1 : TAYLOR_STRIDE;
  for (int64_t r = 0; r < work->rows; r++) {
    REAL factor = ((const REAL *)state->plan->power)[work->position[r] - state->keys + 1];
    for (int64_t c = 0; c < pad; c++)
      work->total[r * pad + c] *= factor;
    for (int64_t i = 0; i < TAYLOR_LANES; i++)
      work->lanes[i * step + r] *= factor;
  }
}

void ISA(NAME(taylor_rows_read))(NAME(taylor_rows) * work, const NAME(taylor_state) * state);
void ISA(NAME(taylor_rows_read))(NAME(taylor_rows) * work, const NAME(taylor_state) * state) {
  const taylor_plan *plan = state->plan;
  int64_t pad = plan->dv_pad, along = work->rows == 1, step = along ? 1 : TAYLOR_STRIDE;
  if (along)
    NAME(features_along)(work->phi, work->mono, plan, work->row, plan->feature_weight);
  else
    NAME(features_across)(work, plan);
  for (int64_t at = 0; at < plan->size; at += TAYLOR_CHAIN * TAYLOR_GROUP) {
    int64_t n = plan->size - at, most = TAYLOR_CHAIN * TAYLOR_GROUP;
    const REAL *phi = work->phi + (plan->first + at) * step, *hi = state->hi + at * pad;
    if (n > most) n = most;
    (along ? NAME(read_along) : NAME(read_across))(work, phi, hi, pad, n);
    if (plan->normalize)
      (along ? NAME(norms_along) : NAME(norms_across))(work, phi, state->norm + plan->first + at,
                                                       n);
    work->chains = 1;
    NAME(close_group)(work, plan);
  }
  work->turn = !work->turn;
  if (plan->power) NAME(decay_read)(work, state);
}

/* w <- polynomial of w, in place. */
ISA_INLINE void NAME(weigh)(REAL *w, int64_t n, const taylor_plan *plan) {
  const REAL *c = plan->coefficient;
  for (int64_t i = 0; i < n; i += LANES) {
    VEC s = OP(load)(w + i), h = OP(set1)(c[plan->degree]);
    for (int64_t m = plan->degree - 1; m >= 0; m--)
      h = OP(fma)(h, s, OP(set1)(c[m]));
    OP(store)(w + i, h);
  }
}

/* Decay, and zeros where row r does not see key `key`. */
static void NAME(finish)(NAME(taylor_rows) * work, const taylor_plan *plan, REAL *w, int64_t key,
                         const attest_tensor *mask, int64_t row) {
  const REAL *power = plan->power;
  for (int64_t r = 0; r < work->rows; r++) {
    int seen = work->lo[r] <= key && key < work->hi[r];
    if (seen && mask)
      seen = tensor_at(mask, (row + r) * mask->stride[0] + key * mask->stride[1]) != 0;
    if (!seen)
      w[r] = 0;
    else if (power)
      w[r] *= power[work->position[r] - key];
  }
}

/* Keys of the block that some row sees: 0 <= *from <= *to <= count. */
static void NAME(seen_keys)(int64_t *from, int64_t *to, const NAME(taylor_rows) * work, int64_t key,
                            int64_t count) {
  int64_t lo = INT64_MAX, hi = 0;
  for (int64_t r = 0; r < work->rows; r++) {
    if (work->hi[r] <= work->lo[r]) continue;
    lo = work->lo[r] < lo ? work->lo[r] : lo;
    hi = work->hi[r] > hi ? work->hi[r] : hi;
  }
  *to = hi - key < count ? hi - key : count;
  *from = lo > key ? lo - key : 0;
  if (*to < 0) *to = 0;
  if (*from > *to) *from = *to;
}

/* One row: its weights side by side, work->weight[j]. */
static void NAME(weights_along)(NAME(taylor_rows) * work, const taylor_plan *plan,
                                const NAME(taylor_block) * block, int64_t key,
                                const attest_tensor *mask, int64_t row) {
  int64_t n = (block->count + TAYLOR_LANES - 1) / TAYLOR_LANES * TAYLOR_LANES;
  NAME(product_along)
  (work->weight, work->query, block->key, TAYLOR_STRIDE, plan->d, 0, n / LANES);
  NAME(weigh)(work->weight, n, plan);
  for (int64_t j = block->count; j < n; j++)
    work->weight[j] = 0;
  int all = !mask && !plan->power && work->lo[0] <= key && work->hi[0] >= key + block->count;
  for (int64_t j = 0; j < block->count && !all; j++)
    NAME(finish)(work, plan, work->weight + j, key + j, mask, row);
}

/* Several rows side by side: work->weight[j][r]. Neither end of what rows see decreases. */
static void NAME(weights_across)(NAME(taylor_rows) * work, const taylor_plan *plan,
                                 const NAME(taylor_block) * block, int64_t key, int64_t from,
                                 int64_t to, const attest_tensor *mask, int64_t row) {
  int64_t rows = NAME(padded)(work->rows), first = 0; /* the first row that sees key + j */
  int plain = !mask && !plan->power && work->lo[work->rows - 1] <= key + from;
  for (int64_t at = from; at < to; at += TILE_ROWS) {
    int64_t n = to - at < TILE_ROWS ? to - at : TILE_ROWS;
    while (work->hi[first] <= key + at)
      first++;
    int64_t r = first / LANES * LANES;
    NAME(product)
    (work->weight + at * TAYLOR_STRIDE + r, TAYLOR_STRIDE, block->key + at, 1, TAYLOR_STRIDE,
     work->query + r, TAYLOR_STRIDE, plan->d, 0, n, (rows - r) / LANES);
    for (int64_t j = at; j < at + n; j++) {
      REAL *w = work->weight + j * TAYLOR_STRIDE;
      NAME(weigh)(w + r, rows - r, plan);
      while (work->hi[first] <= key + j)
        first++;
      memset(w, 0, (size_t)first * sizeof *w);
      if (!plain) NAME(finish)(work, plan, w, key + j, mask, row);
    }
  }
}

void ISA(NAME(taylor_rows_keys))(NAME(taylor_rows) * work, const taylor_plan *plan,
                                 const NAME(taylor_block) * block, int64_t key,
                                 const attest_tensor *mask, int64_t row);
void ISA(NAME(taylor_rows_keys))(NAME(taylor_rows) * work, const taylor_plan *plan,
                                 const NAME(taylor_block) * block, int64_t key,
                                 const attest_tensor *mask, int64_t row) {
  int64_t from, to, pad = plan->dv_pad, add = work->chains != 0;
  NAME(seen_keys)(&from, &to, work, key, block->count);
  if (work->rows == 1) {
    NAME(weights_along)(work, plan, block, key, mask, row);
    NAME(product_along)
    (work->group, work->weight, block->value, block->value_stride, to, add, pad / LANES);
    if (plan->normalize) NAME(norms_along)(work, work->weight, NULL, block->count);
  } else {
    int64_t start = from / TAYLOR_LANES * TAYLOR_LANES;
    NAME(weights_across)(work, plan, block, key, start, to, mask, row);
    for (int64_t r = 0; r < work->rows; r += TILE_ROWS) {
      int64_t n = work->rows - r < TILE_ROWS ? work->rows - r : TILE_ROWS;
      int64_t end = work->hi[r + n - 1] - key < to ? work->hi[r + n - 1] - key : to;
      NAME(product)
      (work->group + r * pad, pad, work->weight + start * TAYLOR_STRIDE + r, 1, TAYLOR_STRIDE,
       block->value + start * block->value_stride, block->value_stride, end - start, add != 0, n,
       pad / LANES);
    }
    if (plan->normalize)
      NAME(norms_across)(work, work->weight + start * TAYLOR_STRIDE, NULL, to - start);
  }
  NAME(count_chain)(work, plan);
}

/* y = (x + 0) / divisor, undivided where divisor is NULL. Adding 0 leaves one zero, whether a row
 * was computed with others, whose keys it weighs by 0, or alone. */
ISA_INLINE void NAME(divide)(REAL *y, const REAL *x, const VEC *divisor, int64_t n) {
  for (int64_t c = 0; c < n; c += LANES) {
    VEC sum = OP(load)(x + c) + (VEC){0}, quotient = divisor ? sum / *divisor : sum;
    memcpy(y + c, &quotient, (size_t)(n - c < LANES ? n - c : LANES) * sizeof *y);
  }
}

void ISA(NAME(taylor_rows_end))(REAL *out, int64_t stride, NAME(taylor_rows) * work,
                                const taylor_plan *plan);
void ISA(NAME(taylor_rows_end))(REAL *out, int64_t stride, NAME(taylor_rows) * work,
                                const taylor_plan *plan) {
  NAME(close_group)(work, plan);
  REAL norm[TAYLOR_BLOCK];
  for (int64_t r = 0; r < work->rows && plan->normalize && work->groups; r += LANES) {
    VEC chain[TAYLOR_LANES];
    int64_t n = work->rows == 1 ? STEP : TAYLOR_LANES, step = n == STEP ? LANES : TAYLOR_STRIDE;
    for (int i = 0; i < n; i++)
      chain[i] = OP(load)(work->lanes + r + i * step);
    if (work->rows == 1)
      norm[0] = NAME(tree)(chain);
    else
      OP(store)(norm + r, NAME(tree_across)(chain));
  }
  for (int64_t r = 0; r < work->rows; r++) {
    REAL *to = out + r * stride,
         sum = plan->normalize && work->groups ? norm[r] + (REAL)plan->eps : 1;
    VEC divisor = OP(set1)(sum != 0 ? sum : (REAL)NAN);
    if (work->groups == 0) /* neither state nor keys */
      memset(to, 0, (size_t)plan->dv * sizeof *to);
    else
      NAME(divide)(to, work->total + r * plan->dv_pad, plan->normalize ? &divisor : NULL, plan->dv);
  }
}

#undef OP2
#undef OP1
#undef OP
#undef LANES
#undef WIDTH
#undef STEP
