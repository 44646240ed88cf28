/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The forms of kernel.h for one type; kernel.c includes this file once for float and once for
 * double, with REAL, DTYPE and NAME(x) (x with the type's suffix) defined. */

/* One slice on its way: the keys of one chunk, the state of all before it. */
typedef struct {
  const taylor_plan *plan;
  const attest_problem *problem;
  problem_slice *slice;
  int eager;                  /* a chunk is folded before its rows are read, not after */
  int64_t chunk, base, count; /* keys base .. base + count - 1 */
  int64_t block_count;
  NAME(taylor_block) * blocks;
  int has_state;
  NAME(taylor_state) state;
  NAME(taylor_rows) work; /* of chunks with a single block of rows */
} NAME(run);

static void NAME(run_close)(NAME(run) * run) {
  for (int64_t i = 0; run->blocks && i < run->block_count; i++)
    free(run->blocks[i].memory);
  free(run->blocks);
  NAME(taylor_state_close)(&run->state);
  NAME(taylor_rows_close)(&run->work);
}

static attest_status NAME(run_open)(NAME(run) * run, attest_error *error) {
  attest_status status = NAME(taylor_rows_open)(&run->work, run->plan, error);
  run->block_count = (run->chunk + TAYLOR_BLOCK - 1) / TAYLOR_BLOCK;
  run->blocks = calloc((size_t)run->block_count, sizeof *run->blocks);
  attest_status packed = run->blocks ? ATTEST_OK : ATTEST_ERR_MEMORY;
  for (int64_t i = 0; i < run->block_count && !packed; i++)
    packed = NAME(taylor_block_open)(&run->blocks[i], run->plan);
  if (!status && packed)
    status = attest_fail(error, ATTEST_ERR_MEMORY,
                         "out of memory: a chunk of %lld keys of %lld + %lld elements",
                         (long long)run->chunk, (long long)run->plan->d, (long long)run->plan->dv);
  if (!status && run->has_state)
    status = NAME(taylor_state_open)(&run->state, run->plan, TAYLOR_BLOCK, error);
  if (!status && run->slice->initial_state.data)
    NAME(taylor_state_load)(&run->state, &run->slice->initial_state);
  if (status) NAME(run_close)(run);
  return status;
}

/* ---- rows --------------------------------------------------------------------------------------
 */

/* Where rows of out can be computed in place; else NULL. */
static REAL *NAME(in_place_out)(const attest_tensor *out, int64_t row) {
  REAL *x = out->data;
  if (out->dtype != DTYPE || out->byteswapped || out->stride[1] != 1 || (uintptr_t)x % sizeof *x)
    return NULL;
  return x + row * out->stride[0];
}

/* Rows row .. row + work->rows - 1: from the state and from the keys base .. of the chunk. */
static void NAME(compute_rows)(NAME(taylor_rows) * work, NAME(run) * run, int64_t row) {
  const taylor_plan *plan = run->plan;
  const problem_slice *slice = run->slice;
  int64_t count = run->eager ? 0 : run->count, last = work->rows - 1;
  for (int64_t r = 0; r <= last; r++) {
    problem_visible_range(&work->lo[r], &work->hi[r], run->problem, slice, row + r);
    work->position[r] = row + r + slice->offset < 0 ? -1 : row + r + slice->offset;
  }
  NAME(taylor_rows_begin)(work, plan, &slice->q, row);
  if (run->has_state && (run->state.keys > 0 || run->state.loaded))
    NAME(taylor_rows_read)(work, &run->state);
  const attest_tensor *mask = slice->mask.data ? &slice->mask : NULL;
  /* Groups are counted from the first block whether a row sees it or not. */
  int64_t whole = TAYLOR_BLOCK * TAYLOR_GROUP, skipped = (work->lo[0] - run->base) / whole;
  for (int64_t at = skipped > 0 ? skipped * whole : 0; at < count; at += TAYLOR_BLOCK) {
    if (run->base + at >= work->hi[last]) break;
    NAME(taylor_rows_keys)
    (work, plan, &run->blocks[at / TAYLOR_BLOCK], run->base + at, mask, row);
  }
}

/* Computes and stores; -1 where a row is empty and that is trouble. */
static int NAME(finish_rows)(NAME(taylor_rows) * work, NAME(run) * run, int64_t row) {
  int64_t dv = run->plan->dv, stride = run->slice->out.stride[0];
  attest_tensor *out = &run->slice->out;
  problem_empty_row policy = run->problem->values.empty_row;
  REAL *rows = NAME(in_place_out)(out, row), *own = rows;
  int trouble = 0;
  NAME(compute_rows)(work, run, row);
  if (!rows) {
    rows = work->out;
    stride = dv;
  }
  NAME(taylor_rows_end)(rows, stride, work, run->plan);
  for (int64_t r = 0; r < work->rows; r++) {
    int empty = is_empty(run->problem, run->slice, row + r);
    trouble |= empty && policy == EMPTY_ERROR;
    for (int64_t c = 0; empty && c < dv; c++)
      rows[r * stride + c] = policy == EMPTY_NAN ? (REAL)NAN : 0;
    for (int64_t c = 0; !own && c < dv; c++)
      tensor_store(out, (row + r) * out->stride[0] + c * out->stride[1],
                   (double)rows[r * stride + c]);
  }
  return trouble ? -1 : 0;
}

/* Blocks of TAYLOR_BLOCK rows of row .. end - 1 by several threads. */
static int NAME(run_blocks)(NAME(run) * run, int64_t row, int64_t end, int *memory) {
  int64_t blocks = (end - row + TAYLOR_BLOCK - 1) / TAYLOR_BLOCK;
  int trouble = 0, lacking = 0;
#pragma omp parallel reduction(| : trouble, lacking)
  {
    NAME(taylor_rows) work;
    attest_error mine;
    int ready = NAME(taylor_rows_open)(&work, run->plan, &mine) == ATTEST_OK;
    lacking |= !ready;
#pragma omp for schedule(dynamic)
    for (int64_t b = blocks - 1; b >= 0; b--) {
      int64_t first = row + b * TAYLOR_BLOCK;
      if (!ready) continue;
      work.rows = end - first < TAYLOR_BLOCK ? end - first : TAYLOR_BLOCK;
      trouble |= NAME(finish_rows)(&work, run, first);
    }
    NAME(taylor_rows_close)(&work);
  }
  *memory = lacking;
  return trouble;
}

/* Rows row .. end - 1. */
static attest_status NAME(run_rows)(NAME(run) * run, int64_t row, int64_t end,
                                    attest_error *error) {
  int trouble, memory = 0;
  if (end - row <= TAYLOR_BLOCK) {
    run->work.rows = end - row;
    trouble = NAME(finish_rows)(&run->work, run, row);
  } else {
    trouble = NAME(run_blocks)(run, row, end, &memory);
  }
  if (memory)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: the features of %d rows",
                       TAYLOR_BLOCK);
  if (trouble)
    return attest_fail(error, ATTEST_ERR_INPUT,
                       "a row sees no key and empty-row is error: choose zero or nan");
  return ATTEST_OK;
}

/* ---- keys --------------------------------------------------------------------------------------
 */

static void NAME(pack_chunk)(NAME(run) * run) {
  for (int64_t at = 0; at < run->count; at += TAYLOR_BLOCK) {
    int64_t n = run->count - at < TAYLOR_BLOCK ? run->count - at : TAYLOR_BLOCK;
    NAME(taylor_block_pack)
    (&run->blocks[at / TAYLOR_BLOCK], run->plan, &run->slice->k, &run->slice->v, run->base + at, n);
  }
}

/* Keys that are not finite must not go unseen into a state that is an output. */
static attest_status NAME(fold_chunk)(NAME(run) * run, attest_error *error) {
  for (int64_t at = 0; at < run->count; at += TAYLOR_BLOCK) {
    const NAME(taylor_block) *block = &run->blocks[at / TAYLOR_BLOCK];
    if (block->nonfinite && run->slice->final_state.data)
      return attest_fail(error, ATTEST_ERR_INPUT,
                         "a key or value of sequence %lld is not finite, and final-state is a sum "
                         "over all keys: leave final-state out or the key",
                         (long long)run->slice->sequence);
    NAME(taylor_state_fold)(&run->state, block);
  }
  return ATTEST_OK;
}

/* Whether row i sees no key from `key` on. */
static int NAME(is_below)(const NAME(run) * run, int64_t i, int64_t key) {
  int64_t lo, hi;
  problem_visible_range(&lo, &hi, run->problem, run->slice, i);
  return hi <= key;
}

/* First row from `row` on that sees more than the keys below `key`: in strides that double, as it
 * is often near, then by bisection. */
static int64_t NAME(rows_until)(const NAME(run) * run, int64_t row, int64_t key) {
  int64_t below = row, above = run->slice->nq, step = 1;
  for (; below + step <= above && NAME(is_below)(run, below + step - 1, key); step *= 2)
    below += step;
  if (below + step < above) above = below + step;
  while (below < above) {
    int64_t middle = below + (above - below) / 2;
    if (NAME(is_below)(run, middle, key))
      below = middle + 1;
    else
      above = middle;
  }
  return below;
}

/* Chunk by chunk: its keys, the rows whose last key lies in it, its fold. */
static attest_status NAME(run_slice)(NAME(run) * run, attest_error *error) {
  int64_t nk = run->slice->nk, nq = run->slice->nq, row = NAME(rows_until)(run, 0, 0);
  int keep = run->slice->final_state.data != NULL;
  attest_status status = row > 0 ? NAME(run_rows)(run, 0, row, error) : ATTEST_OK;
  for (; run->base < nk && (row < nq || keep) && !status; run->base += run->count) {
    run->count = nk - run->base < run->chunk ? nk - run->base : run->chunk;
    int64_t end = NAME(rows_until)(run, row, run->base + run->count);
    NAME(pack_chunk)(run);
    int folds = run->has_state && (run->eager || keep || end < nq);
    if (run->eager && folds) status = NAME(fold_chunk)(run, error);
    if (end > row && !status) status = NAME(run_rows)(run, row, end, error);
    if (!run->eager && folds && !status) status = NAME(fold_chunk)(run, error);
    row = end;
  }
  if (keep && !status) NAME(taylor_state_save)(&run->slice->final_state, &run->state);
  return status;
}

static attest_status NAME(slice)(const taylor_plan *plan, const attest_problem *problem,
                                 problem_slice *slice, attest_error *error) {
  const problem_values *values = &problem->values;
  int64_t group = problem->heads_q / problem->heads_k;
  NAME(run) run = {.plan = plan, .problem = problem, .slice = slice};
  /* The queries of a group share their key head's state: the first of them writes it. */
  if (slice->head % group) slice->final_state.data = NULL;
  run.eager = values->form == FORM_RECURRENT;
  run.chunk = values->form == FORM_CHUNKED && values->chunk < slice->nk ? values->chunk
              : run.eager                                               ? 1
                                                                        : slice->nk;
  if (run.chunk < 1) run.chunk = 1;
  run.has_state = plan->basis != NULL;
  attest_status status = NAME(run_open)(&run, error);
  if (status) return status;
  status = NAME(run_slice)(&run, error);
  NAME(run_close)(&run);
  return status;
}
