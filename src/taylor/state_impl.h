/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The state of kernel.h for one type; state.c includes this file once for float and once for
 * double, with REAL and NAME(x) (x with the type's suffix) defined. */

ISA_DECLARE(void, NAME(taylor_state_fold),
            (NAME(taylor_state) * state, const NAME(taylor_block) * keys));
void NAME(taylor_state_fold)(NAME(taylor_state) * state, const NAME(taylor_block) * keys) {
  ISA_DISPATCH(NAME(taylor_state_fold))(state, keys);
}

ISA_DECLARE(void, NAME(taylor_state_merge),
            (NAME(taylor_state) * to, const NAME(taylor_state) * from));
void NAME(taylor_state_merge)(NAME(taylor_state) * to, const NAME(taylor_state) * from) {
  ISA_DISPATCH(NAME(taylor_state_merge))(to, from);
  to->loaded |= from->loaded;
}

void NAME(taylor_state_close)(NAME(taylor_state) * state) {
  free(state->memory);
  free(state->pending.memory);
  memset(state, 0, sizeof *state);
}

attest_status NAME(taylor_state_open)(NAME(taylor_state) * state, const taylor_plan *plan,
                                      int64_t chunk, attest_error *error) {
  int64_t size = plan->size * plan->dv_pad, sum = TILE_ROWS * plan->dv_pad;
  memset(state, 0, sizeof *state);
  if (sum < plan->stride) sum = plan->stride;
  int64_t phi = plan->stride * TAYLOR_STRIDE;
  REAL *at = isa_allocate(2 * size + 2 * plan->stride + phi + sum, sizeof *at);
  state->memory = at;
  if (!at || NAME(taylor_block_open)(&state->pending, plan)) {
    NAME(taylor_state_close)(state);
    return attest_fail(error, ATTEST_ERR_MEMORY,
                       "out of memory: a state of %lld features by %lld components",
                       (long long)plan->size, (long long)plan->dv);
  }
  state->plan = plan;
  state->chunk = chunk;
  state->hi = at;
  state->lo = at += size;
  state->norm = at += size;
  state->norm_lo = at += plan->stride;
  state->phi = at += plan->stride;
  state->sum = at + phi;
  return ATTEST_OK;
}

void NAME(taylor_state_clear)(NAME(taylor_state) * state) {
  const taylor_plan *plan = state->plan;
  memset(state->hi, 0, (size_t)(2 * (plan->size * plan->dv_pad + plan->stride)) * sizeof(REAL));
  state->keys = state->pending.count = 0;
  state->loaded = 0;
}

void NAME(taylor_state_settle)(NAME(taylor_state) * state) {
  NAME(taylor_state_fold)(state, &state->pending);
  state->pending.count = 0;
}

void NAME(taylor_state_update)(NAME(taylor_state) * state, const REAL *k, const REAL *v) {
  if (state->pending.count == state->chunk) NAME(taylor_state_settle)(state);
  NAME(taylor_block_append)(&state->pending, state->plan, k, v);
}

ISA_DECLARE(void, NAME(taylor_state_read),
            (REAL * out, NAME(taylor_rows) * work, const NAME(taylor_state) * state,
             const REAL *q));
void NAME(taylor_state_read)(REAL *out, NAME(taylor_rows) * work, const NAME(taylor_state) * state,
                             const REAL *q) {
  ISA_DISPATCH(NAME(taylor_state_read))(out, work, state, q);
}

/* Row b of the tensor to or from (hi, lo) of component c; the last column is the normaliser's. */
static REAL *NAME(element)(REAL **lo, const NAME(taylor_state) * state, int64_t b, int64_t c) {
  const taylor_plan *plan = state->plan;
  int64_t at = c < plan->dv ? b * plan->dv_pad + c : plan->first + b;
  *lo = (c < plan->dv ? state->lo : state->norm_lo) + at;
  return (c < plan->dv ? state->hi : state->norm) + at;
}

void NAME(taylor_state_load)(NAME(taylor_state) * state, const attest_tensor *tensor) {
  const taylor_plan *plan = state->plan;
  NAME(taylor_state_clear)(state);
  state->loaded = 1;
  for (int64_t b = 0; b < plan->size; b++)
    for (int64_t c = 0; c < plan->dv + plan->has_norm; c++) {
      double x = tensor_at(tensor, b * tensor->stride[0] + c * tensor->stride[1]);
      REAL *lo, *hi = NAME(element)(&lo, state, b, c);
      *hi = (REAL)x;
      *lo = (REAL)(x - (double)*hi);
    }
}

void NAME(taylor_state_save)(attest_tensor *tensor, const NAME(taylor_state) * state) {
  const taylor_plan *plan = state->plan;
  for (int64_t b = 0; b < plan->size; b++)
    for (int64_t c = 0; c < plan->dv + plan->has_norm; c++) {
      REAL *lo, *hi = NAME(element)(&lo, state, b, c);
      tensor_store(tensor, b * tensor->stride[0] + c * tensor->stride[1],
                   (double)*hi + (double)*lo);
    }
}

/* ---- blocks of keys and of rows -----------------------------------------------------------------
 */

ISA_DECLARE(void, NAME(taylor_block_pack),
            (NAME(taylor_block) * block, const taylor_plan *plan, const attest_tensor *k,
             const attest_tensor *v, int64_t key, int64_t count));
void NAME(taylor_block_pack)(NAME(taylor_block) * block, const taylor_plan *plan,
                             const attest_tensor *k, const attest_tensor *v, int64_t key,
                             int64_t count) {
  ISA_DISPATCH(NAME(taylor_block_pack))(block, plan, k, v, key, count);
}

ISA_DECLARE(void, NAME(taylor_block_append),
            (NAME(taylor_block) * block, const taylor_plan *plan, const REAL *k, const REAL *v));
void NAME(taylor_block_append)(NAME(taylor_block) * block, const taylor_plan *plan, const REAL *k,
                               const REAL *v) {
  ISA_DISPATCH(NAME(taylor_block_append))(block, plan, k, v);
}

attest_status NAME(taylor_block_open)(NAME(taylor_block) * block, const taylor_plan *plan) {
  int64_t row = TAYLOR_BLOCK * plan->d, key = plan->d * TAYLOR_STRIDE, value;
  memset(block, 0, sizeof *block);
  row = (row + 15) / 16 * 16 + 16; /* vectors run over */
  value = TAYLOR_BLOCK * plan->dv_pad;
  REAL *at = block->memory = isa_allocate(row + key + value, sizeof *at);
  if (!at) return ATTEST_ERR_MEMORY;
  block->row = at;
  block->key = at + row;
  block->copy = block->key + key;
  return ATTEST_OK;
}

void NAME(taylor_rows_close)(NAME(taylor_rows) * work) {
  free(work->memory);
  work->memory = NULL;
}

attest_status NAME(taylor_rows_open)(NAME(taylor_rows) * work, const taylor_plan *plan,
                                     attest_error *error) {
  const taylor_basis *basis = plan->basis;
  int64_t row = TAYLOR_BLOCK * plan->d, side = plan->d * TAYLOR_STRIDE;
  int64_t mono = basis ? (1 + basis->start[basis->degree]) * TAYLOR_STRIDE : 0;
  int64_t phi = basis ? plan->stride * TAYLOR_STRIDE : 0;
  int64_t weight = TAYLOR_BLOCK * TAYLOR_STRIDE, wide = TAYLOR_BLOCK * plan->dv_pad;
  memset(work, 0, sizeof *work);
  int64_t lanes = TAYLOR_LANES * TAYLOR_STRIDE, chain = TAYLOR_GROUP * plan->dv_pad;
  row = (row + 15) / 16 * 16 + 16; /* vectors run over */
  REAL *at =
      isa_allocate(row + 2 * side + mono + phi + weight + 3 * wide + 2 * lanes + chain, sizeof *at);
  if (!at)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: the features of %d rows",
                       TAYLOR_BLOCK);
  work->memory = work->row = at;
  work->x = at += row;
  work->query = at += side;
  work->mono = at += side;
  work->phi = at += mono;
  work->weight = at += phi;
  work->group = at += weight;
  work->total = at += wide;
  work->out = at += wide;
  work->lanes_group = at += wide;
  work->lanes = at += lanes;
  work->chain = at + lanes;
  return ATTEST_OK;
}

ISA_DECLARE(void, NAME(taylor_rows_begin),
            (NAME(taylor_rows) * work, const taylor_plan *plan, const attest_tensor *q,
             int64_t row));
void NAME(taylor_rows_begin)(NAME(taylor_rows) * work, const taylor_plan *plan,
                             const attest_tensor *q, int64_t row) {
  ISA_DISPATCH(NAME(taylor_rows_begin))(work, plan, q, row);
}

ISA_DECLARE(void, NAME(taylor_rows_read),
            (NAME(taylor_rows) * work, const NAME(taylor_state) * state));
void NAME(taylor_rows_read)(NAME(taylor_rows) * work, const NAME(taylor_state) * state) {
  ISA_DISPATCH(NAME(taylor_rows_read))(work, state);
}

ISA_DECLARE(void, NAME(taylor_rows_keys),
            (NAME(taylor_rows) * work, const taylor_plan *plan, const NAME(taylor_block) * block,
             int64_t key, const attest_tensor *mask, int64_t row));
void NAME(taylor_rows_keys)(NAME(taylor_rows) * work, const taylor_plan *plan,
                            const NAME(taylor_block) * block, int64_t key,
                            const attest_tensor *mask, int64_t row) {
  ISA_DISPATCH(NAME(taylor_rows_keys))(work, plan, block, key, mask, row);
}

ISA_DECLARE(void, NAME(taylor_rows_end),
            (REAL * out, int64_t stride, NAME(taylor_rows) * work, const taylor_plan *plan));
void NAME(taylor_rows_end)(REAL *out, int64_t stride, NAME(taylor_rows) * work,
                           const taylor_plan *plan) {
  ISA_DISPATCH(NAME(taylor_rows_end))(out, stride, work, plan);
}
