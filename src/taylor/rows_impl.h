/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rows: their features, reading the state, weighing keys beside it, for one type: a part of
 * kernel_impl.h. */

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
    NAME(chain_along)
    (work->chain + at / TAYLOR_CHAIN * pad, phi + at, hi + at * pad, pad, steps);
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

/* One row's: its features are there. */
ISA_INLINE void NAME(read_one)(NAME(taylor_rows) * work, const NAME(taylor_state) * state) {
  const taylor_plan *plan = state->plan;
  int64_t pad = plan->dv_pad, most = TAYLOR_CHAIN * TAYLOR_GROUP;
  for (int64_t at = 0; at < plan->size; at += most) {
    int64_t n = plan->size - at < most ? plan->size - at : most;
    const REAL *phi = work->phi + plan->first + at;
    if (plan->normalize) NAME(norms_along)(work, phi, state->norm + plan->first + at, n);
    NAME(read_along)(work, phi, state->hi + at * pad, pad, n);
    work->chains = 1;
    NAME(close_group)(work, plan);
  }
  work->turn = !work->turn;
  if (plan->power) NAME(decay_read)(work, state);
}

void ISA(NAME(taylor_rows_read))(NAME(taylor_rows) * work, const NAME(taylor_state) * state);
void ISA(NAME(taylor_rows_read))(NAME(taylor_rows) * work, const NAME(taylor_state) * state) {
  const taylor_plan *plan = state->plan;
  int64_t pad = plan->dv_pad, most = TAYLOR_CHAIN * TAYLOR_GROUP;
  if (work->rows == 1) {
    NAME(features_along)(work->phi, work->mono, plan, work->row, plan->feature_weight);
    NAME(read_one)(work, state);
    return;
  }
  NAME(features_across)(work, plan);
  for (int64_t at = 0; at < plan->size; at += most) {
    int64_t n = plan->size - at < most ? plan->size - at : most;
    const REAL *phi = work->phi + (plan->first + at) * TAYLOR_STRIDE;
    NAME(read_across)(work, phi, state->hi + at * pad, pad, n);
    if (plan->normalize) NAME(norms_across)(work, phi, state->norm + plan->first + at, n);
    work->chains = 1;
    NAME(close_group)(work, plan);
  }
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

void ISA(NAME(taylor_weigh))(REAL *w, int64_t n, const taylor_plan *plan) {
  NAME(weigh)(w, n, plan);
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

/* One row's: its weights are there. `to`: keys that it sees. */
ISA_INLINE void NAME(keys_one)(NAME(taylor_rows) * work, const taylor_plan *plan,
                               const NAME(taylor_block) * block, int64_t to) {
  int add = work->chains != 0;
  if (plan->normalize) NAME(norms_along)(work, work->weight, NULL, block->count);
  NAME(product_along)
  (work->group, work->weight, block->value, block->value_stride, to, add, plan->dv_pad / LANES);
  NAME(count_chain)(work, plan);
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
    NAME(keys_one)(work, plan, block, to);
    return;
  }
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
  NAME(count_chain)(work, plan);
}

/* Of weights that add up to exactly 0 there is no mean. */
ISA_INLINE VEC NAME(divisor_of)(REAL sum) {
  return OP(set1)(sum != 0 ? sum : (REAL)NAN);
}

/* y = (x + 0) / divisor, undivided where divisor is NULL. Adding 0 leaves one zero, whether a row
 * was computed with others, whose keys it weighs by 0, or alone. */
ISA_INLINE void NAME(divide)(REAL *y, const REAL *x, const VEC *divisor, int64_t n) {
  for (int64_t c = 0; c < n; c += LANES) {
    VEC sum = OP(load)(x + c) + (VEC){0}, quotient = divisor ? sum / *divisor : sum;
    if (n - c >= LANES)
      OP(store)(y + c, quotient);
    else
      memcpy(y + c, &quotient, (size_t)(n - c) * sizeof *y);
  }
}

/* y (dv) of one row, from its totals. */
ISA_INLINE void NAME(end_one)(REAL *y, NAME(taylor_rows) * work, const taylor_plan *plan) {
  VEC chain[STEP], divisor = {0};
  NAME(close_group)(work, plan);
  if (work->groups == 0) { /* neither state nor keys */
    memset(y, 0, (size_t)plan->dv * sizeof *y);
    return;
  }
  if (plan->normalize) {
    for (int i = 0; i < STEP; i++)
      chain[i] = OP(load)(work->lanes + i * LANES);
    REAL sum = NAME(tree)(chain) + (REAL)plan->eps;
    divisor = NAME(divisor_of)(sum);
  }
  NAME(divide)(y, work->total, plan->normalize ? &divisor : NULL, plan->dv);
}

void ISA(NAME(taylor_rows_end))(REAL *out, int64_t stride, NAME(taylor_rows) * work,
                                const taylor_plan *plan);
void ISA(NAME(taylor_rows_end))(REAL *out, int64_t stride, NAME(taylor_rows) * work,
                                const taylor_plan *plan) {
  if (work->rows == 1) {
    NAME(end_one)(out, work, plan);
    return;
  }
  NAME(close_group)(work, plan);
  REAL norm[TAYLOR_BLOCK];
  for (int64_t r = 0; r < work->rows && plan->normalize && work->groups; r += LANES) {
    VEC chain[TAYLOR_LANES];
    for (int i = 0; i < TAYLOR_LANES; i++)
      chain[i] = OP(load)(work->lanes + r + i * TAYLOR_STRIDE);
    OP(store)(norm + r, NAME(tree_across)(chain));
  }
  for (int64_t r = 0; r < work->rows; r++) {
    REAL *to = out + r * stride,
         sum = plan->normalize && work->groups ? norm[r] + (REAL)plan->eps : 1;
    VEC divisor = NAME(divisor_of)(sum);
    if (work->groups == 0) /* neither state nor keys */
      memset(to, 0, (size_t)plan->dv * sizeof *to);
    else
      NAME(divide)(to, work->total + r * plan->dv_pad, plan->normalize ? &divisor : NULL, plan->dv);
  }
}

/* Decoding: a query that sees all keys so far, in one go. The scores, a chain that waits for
 * itself, stand between the features and what waits for them. */
void ISA(NAME(taylor_state_read))(REAL *out, NAME(taylor_rows) * work,
                                  const NAME(taylor_state) * state, const REAL *q);
void ISA(NAME(taylor_state_read))(REAL *out, NAME(taylor_rows) * work,
                                  const NAME(taylor_state) * state, const REAL *q) {
  const taylor_plan *plan = state->plan;
  const NAME(taylor_block) *pending = &state->pending;
  memcpy(work->row, q, (size_t)plan->d * sizeof *q);
  work->rows = 1;
  work->lo[0] = 0;
  work->hi[0] = state->keys + pending->count;
  work->position[0] = work->hi[0] - 1;
  NAME(prepare_rows)(work, plan);
  int reads = state->keys > 0 || state->loaded;
  if (reads) NAME(features_along)(work->phi, work->mono, plan, work->row, plan->feature_weight);
  if (pending->count) NAME(weights_along)(work, plan, pending, state->keys, NULL, 0);
  if (reads) NAME(read_one)(work, state);
  if (pending->count) NAME(keys_one)(work, plan, pending, pending->count);
  NAME(end_one)(out, work, plan);
}
