/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Blocks of keys, features of one row, and folding keys into the state, for one type: a part of
 * kernel_impl.h. */

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

/* Order 2 where x fills its vectors: for every i all of x_i x, from the last i to the first, so
 * that what stands before x_i x_i in the vectors is written over. No load but of whole vectors of
 * x. */
ISA_INLINE void NAME(order_two)(REAL *phi, const taylor_basis *basis, const REAL *x,
                                const REAL *c) {
  int64_t d = basis->d, b = basis->start[3] - d;
  for (int64_t i = d - 1; i >= 0; b += i - d, i--) {
    VEC xi = OP(set1)(x[i]);
    for (int64_t at = i / LANES * LANES; at < d; at += LANES) {
      VEC product = xi * OP(load)(x + at);
      OP(store)(phi + b + at, c ? OP(load)(c + b + at) * product : product);
    }
  }
}

/* phi[b] = c[b] x^b (c NULL: x^b) up to the last feature, 0 beyond, as far as `stride` goes; mono
 * takes x^b of the orders below the last (c NULL: of all, into phi). x is read beyond its end. */
static void NAME(features_along)(REAL *phi, REAL *mono, const taylor_plan *plan, const REAL *x,
                                 const REAL *c) {
  const taylor_basis *basis = plan->basis;
  int64_t d = plan->d, degree = basis->degree, by_two = degree == 2 && d % LANES == 0;
  if (by_two) NAME(order_two)(phi, basis, x, c);
  phi[0] = c ? c[0] : 1;
  for (int64_t i = 0; i < d && degree > 0; i += LANES) {
    VEC xi = OP(load)(x + i);
    OP(store)(phi + 1 + i, c ? OP(load)(c + 1 + i) * xi : xi);
  }
  for (int64_t m = 2; m <= degree && !by_two; m++) {
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

/* a - b, by the units that multiply, which are idle here while those that add are not. */
ISA_INLINE VEC NAME(minus)(VEC a, VEC b) {
#if ISA_BYTES > 16
  return OP(fma)(b, OP(set1)(-1), a);
#else
  return a - b;
#endif
}

/* (hi + lo) <- (hi + lo) + y: DWPlusFP. */
ISA_INLINE void NAME(join_vector)(REAL *hi, REAL *lo, VEC y) {
  VEC x = OP(load)(hi), s = x + y, back = NAME(minus)(s, x);
  VEC error = NAME(minus)(x, s - back) + NAME(minus)(y, back);
  error += OP(load)(lo);
  VEC z = s + error;
  OP(store)(hi, z);
  OP(store)(lo, NAME(minus)(error, z - s));
}

ISA_INLINE void NAME(join)(REAL *hi, REAL *lo, const REAL *d, int64_t n) {
  for (int64_t i = 0; i < n; i += LANES)
    NAME(join_vector)(hi + i, lo + i, OP(load)(d + i));
}

/* (hi + lo) <- (hi + lo) + phi[b] v[c]: a fold of one key. */
static void NAME(join_key)(NAME(taylor_state) * state, const REAL *phi, const REAL *v) {
  int64_t pad = state->plan->dv_pad;
  for (int64_t b = 0; b < state->plan->size; b++)
    for (int64_t c = 0; c < pad; c += LANES)
      NAME(join_vector)
  (state->hi + b * pad + c, state->lo + b * pad + c, OP(set1)(phi[b]) * OP(load)(v + c));
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

/* Joins the chains over the keys of phi_j[b] v_j[c]; the features stand side by side by key. */
static void NAME(join_keys)(NAME(taylor_state) * state, const NAME(taylor_block) * keys) {
  const taylor_plan *plan = state->plan;
  int64_t pad = plan->dv_pad;
  for (int64_t b = 0; b < plan->size; b += TILE_ROWS) {
    int64_t rows = plan->size - b < TILE_ROWS ? plan->size - b : TILE_ROWS;
    NAME(product)
    (state->sum, pad, state->phi + (plan->first + b) * TAYLOR_STRIDE, TAYLOR_STRIDE, 1, keys->value,
     keys->value_stride, keys->count, 0, rows, pad / LANES);
    NAME(join)(state->hi + b * pad, state->lo + b * pad, state->sum, rows * pad);
  }
}

void ISA(NAME(taylor_state_fold))(NAME(taylor_state) * state, const NAME(taylor_block) * keys);
void ISA(NAME(taylor_state_fold))(NAME(taylor_state) * state, const NAME(taylor_block) * keys) {
  const taylor_plan *plan = state->plan;
  const REAL *norm = state->phi;
  if (keys->count == 0) return;
  if (plan->power) NAME(decay_state)(state, keys->count);
  if (keys->count == 1) {
    NAME(features_along)(state->phi, NULL, plan, keys->row, NULL);
    NAME(join_key)(state, state->phi + plan->first, keys->value);
  } else {
    NAME(features_of_keys)(state, keys);
    NAME(join_keys)(state, keys);
    norm = state->sum;
    for (int64_t b = 0; b < plan->stride; b++)
      state->sum[b] =
          b < plan->basis->size ? NAME(sum_along)(state->phi + b * TAYLOR_STRIDE, keys->count) : 0;
  }
  if (plan->has_norm) NAME(join)(state->norm, state->norm_lo, norm, plan->stride);
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
