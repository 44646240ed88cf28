/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A sweep: blocks over threads, finished ones to the ledger, then the end. */
#include <omp.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "sweep_engine.h"

typedef struct {
  const sweep_request *request;
  sweep_result *result;
  sweep_ledger *ledger;
  sweep_worker *workers;
  void *kernel_context;
  uint32_t first_block;
  size_t count; /* of blocks in the range, shards and all */
  sweep_summary *blocks;
  double committed;   /* when */
  atomic_int stopped; /* a block failed, or Ctrl-C */
  attest_status status;
  attest_error *error;
} run;

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double cpu_seconds(void) {
  struct rusage own, children;
  getrusage(RUSAGE_SELF, &own);
  getrusage(RUSAGE_CHILDREN, &children);
  return (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec + children.ru_utime.tv_sec +
                  children.ru_stime.tv_sec) +
         1e-6 * (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec + children.ru_utime.tv_usec +
                         children.ru_stime.tv_usec);
}

/* Keys of block i of the range, which it may cut. */
static void block_range(uint32_t *first, int64_t *n, const run *r, size_t i) {
  uint64_t from = ((uint64_t)r->first_block + i) * SWEEP_BLOCK, to = from + SWEEP_BLOCK - 1;
  if (from < r->request->first) from = r->request->first;
  if (to > r->request->last) to = r->request->last;
  *first = (uint32_t)from;
  *n = (int64_t)(to - from + 1);
}

static int is_mine(const run *r, size_t i) {
  return i % (size_t)r->request->shards == (size_t)r->request->shard - 1;
}

/* A finished block joins the figures. Under a lock. */
static void take(run *r, size_t i, const sweep_record *record) {
  sweep_summary *s = &r->blocks[i];
  s->first = record->first;
  s->count = record->count;
  s->first_got = record->first_got;
  s->last_got = record->last_got;
  memcpy(s->peaks, record->peaks, sizeof s->peaks);
  sweep_record_join(&r->result->total, record);
  sweep_record_join(&r->result->binades[sweep_bits_of_key((uint32_t)record->first) >> 23], record);
}

/* ---- ledgers --------------------------------------------------------------------------------- */

static attest_status take_stored(void *context, const sweep_record *record, attest_error *error) {
  run *r = context;
  uint64_t block = record->first / SWEEP_BLOCK;
  uint32_t first;
  int64_t n;
  size_t i = (size_t)(block - r->first_block);
  if (record->first > UINT32_MAX || block < r->first_block || i >= r->count)
    return attest_fail(error, ATTEST_ERR_INPUT, "the ledger holds a block outside the range");
  block_range(&first, &n, r, i);
  if (record->first != first || record->count != (uint64_t)n)
    return attest_fail(error, ATTEST_ERR_INPUT, "the ledger holds a block of another range");
  if (r->blocks[i].count) return ATTEST_OK; /* in two ledgers */
  take(r, i, record);
  r->result->resumed += record->count;
  return ATTEST_OK;
}

/* SHA-256 of the results at 4,096 inputs all over the range of float32: another build of the suite
 * may have other kernels. */
static void fingerprint(char hex[65], sweep_worker *w) {
  enum { INPUTS = 4096 };
  attest_error error;
  ISA_DISPATCH(sweep_inputs)(w->in, 12345, (uint32_t)(SWEEP_KEYS / INPUTS), INPUTS);
  sweep_worker_call(w, w->out, w->in, INPUTS, &error); /* the suite's own: never fails */
  for (int i = 0; i < INPUTS; i++)
    if (w->out[i] != w->out[i]) w->out[i] = NAN; /* of one pattern */
  tensor_sha256(hex, w->out, INPUTS * sizeof *w->out);
}

/* The angle of rope-cos and rope-sin, all digits of it; empty for others; free it. */
static char *rope_text(const sweep_function *f) {
  if (!f->rope) return strdup("");
  char *text, *base = fmpq_get_str(NULL, 10, f->rope->values.rope_base.value);
  int length =
      asprintf(&text, " base=%s%s d=%lld pair=%lld", base,
               f->rope->values.rope_base.root ? "^(1/2)" : "", (long long)f->d, (long long)f->pair);
  flint_free(base);
  return length < 0 ? NULL : text;
}

/* What a ledger must agree with. The instruction set is no part of it: records do not depend on it.
 */
static char *identity(const run *r) {
  const sweep_request *q = r->request;
  const sweep_function *f = &q->function;
  char *text = NULL, *rope = rope_text(f), own[65] = "";
  if (!rope) return NULL;
  if (!q->foreign) fingerprint(own, &r->workers[0]);
  if (asprintf(&text,
               "ledger=4\nversion=%s\nfunction=%s%s\nsubject=%s\nsha256=%s\nfrom=%a\nto=%a\n"
               "shard=%d/%d\n",
               ATTEST_VERSION, f->reference->name, rope, sweep_subject_name(q),
               q->foreign ? q->library_sha256 : own, (double)sweep_float(q->first),
               (double)sweep_float(q->last), q->shard, q->shards) < 0)
    text = NULL;
  free(rope);
  return text;
}

static attest_status read_ledgers(run *r, attest_error *error) {
  const sweep_request *q = r->request;
  char *text = identity(r);
  attest_status status = text ? ATTEST_OK : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (size_t i = 0; i < q->merge_count && !status; i++) {
    sweep_ledger *shard;
    status = sweep_ledger_open(&shard, q->merge[i], text, 1, error);
    if (status) break;
    status = sweep_ledger_read(shard, take_stored, r, error);
    sweep_ledger_close(shard);
  }
  if (!status && q->ledger) status = sweep_ledger_open(&r->ledger, q->ledger, text, 0, error);
  if (!status && r->ledger) status = sweep_ledger_read(r->ledger, take_stored, r, error);
  free(text);
  return status;
}

/* Ledgers that are merged must hold everything. */
static attest_status check_complete(const run *r, attest_error *error) {
  size_t missing = 0, first = 0;
  for (size_t i = r->count; i-- > 0;)
    if (!r->blocks[i].count) {
      missing++;
      first = i;
    }
  if (!missing) return ATTEST_OK;
  uint32_t key;
  int64_t n;
  block_range(&key, &n, r, first);
  return attest_fail(error, ATTEST_ERR_INPUT,
                     "the ledgers merged lack %zu of %zu blocks, the first of them at %a: finish "
                     "every shard (--shard I/N --resume FILE) and name all of their ledgers",
                     missing, r->count, (double)sweep_float(key));
}

/* ---- blocks over threads --------------------------------------------------------------------- */

static void fail_run(run *r, attest_status status, const attest_error *error) {
  if (!r->status) {
    r->status = status;
    if (r->error) *r->error = *error;
  }
  atomic_store(&r->stopped, 1);
}

/* At most about a second of work is lost when the process is killed. */
static void keep(run *r, size_t i, const sweep_record *record) {
  attest_error error;
  take(r, i, record);
  if (!r->ledger) return;
  attest_status status = sweep_ledger_add(r->ledger, record, &error);
  double t = now(CLOCK_MONOTONIC);
  if (!status && t - r->committed > 1) {
    status = sweep_ledger_commit(r->ledger, &error);
    r->committed = t;
  }
  if (status) fail_run(r, status, &error);
}

static void one_block(run *r, sweep_worker *w, size_t i) {
  const sweep_request *q = r->request;
  sweep_record record;
  attest_error error;
  uint32_t first;
  int64_t n;
  block_range(&first, &n, r, i);
  int failed = sweep_block(&record, w, first, n, &error);
#pragma omp critical(sweep_keep)
  {
    if (failed < 0 && error.status == ATTEST_ERR_INTERRUPT) {
      r->result->interrupted = 1;
      atomic_store(&r->stopped, 1);
    } else if (failed < 0) {
      fail_run(r, error.status, &error);
    } else if (failed) {
      r->result->failed = 1;
      r->result->failure = w->failure;
      atomic_store(&r->stopped, 1);
    } else {
      keep(r, i, &record);
    }
  }
  if (q->step) q->step(q->context, n);
}

static void all_blocks(run *r) {
  const sweep_request *q = r->request;
  int64_t count = (int64_t)r->count;
#pragma omp parallel num_threads(q->threads)
  {
    sweep_worker *w = &r->workers[omp_get_thread_num()];
    enclosure_environment_restore();
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < count; i++) {
      if (atomic_load_explicit(&r->stopped, memory_order_relaxed)) continue;
      if (r->blocks[i].count || !is_mine(r, (size_t)i)) continue;
      if (q->interrupted && *q->interrupted) {
        r->result->interrupted = 1;
        atomic_store(&r->stopped, 1);
        continue;
      }
      one_block(r, w, (size_t)i);
    }
    flint_cleanup();
  }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static attest_status open_run(run *r, attest_error *error) {
  const sweep_request *q = r->request;
  const sweep_kernel *kernel = q->foreign ? NULL : sweep_kernel_find(q->function.reference->name);
  r->first_block = q->first / SWEEP_BLOCK;
  r->count = q->last / SWEEP_BLOCK - r->first_block + 1;
  r->blocks = calloc(r->count, sizeof *r->blocks);
  r->workers = calloc((size_t)q->threads, sizeof *r->workers);
  r->result->binades = calloc(SWEEP_BINADES, sizeof *r->result->binades);
  if (!r->blocks || !r->workers || !r->result->binades)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  sweep_record_clear(&r->result->total);
  for (int i = 0; i < SWEEP_BINADES; i++)
    sweep_record_clear(&r->result->binades[i]);
  attest_status status = ATTEST_OK;
  if (kernel && kernel->open) status = kernel->open(&r->kernel_context, &q->function, error);
  for (int i = 0; i < q->threads && !status; i++)
    status = sweep_worker_open(&r->workers[i], q, r->kernel_context, i, error);
  return status;
}

static void close_run(run *r) {
  const sweep_request *q = r->request;
  const sweep_kernel *kernel = q->foreign ? NULL : sweep_kernel_find(q->function.reference->name);
  for (int i = 0; r->workers && i < q->threads; i++)
    if (r->workers[i].request) sweep_worker_close(&r->workers[i]);
  if (kernel && kernel->close) kernel->close(r->kernel_context);
  sweep_ledger_close(r->ledger);
  free(r->workers);
  free(r->blocks);
}

static void plan(run *r) {
  for (size_t i = 0; i < r->count; i++) {
    uint32_t first;
    int64_t n;
    block_range(&first, &n, r, i);
    if (is_mine(r, i)) r->result->planned += (uint64_t)n;
  }
}

static attest_status sweep_all(run *r, attest_error *error) {
  const sweep_request *q = r->request;
  attest_status status = read_ledgers(r, error);
  if (status) return status;
  if (q->merge_count) {
    status = check_complete(r, error);
  } else {
    r->error = error;
    r->committed = now(CLOCK_MONOTONIC);
    if (q->step && r->result->resumed) q->step(q->context, (int64_t)r->result->resumed);
    all_blocks(r);
    status = r->status;
    if (!status && r->ledger) status = sweep_ledger_commit(r->ledger, error);
  }
  if (status || r->result->failed || r->result->interrupted) return status;
  int failed = sweep_finish(r->result, &r->workers[0], r->blocks, r->count, error);
  if (failed > 0) {
    r->result->failed = 1;
    r->result->failure = r->workers[0].failure;
  }
  r->result->interrupted = failed < 0 && error->status == ATTEST_ERR_INTERRUPT;
  return failed < 0 && !r->result->interrupted ? error->status : ATTEST_OK;
}

/* What keeps a sweep from a certificate, whatever the bounds say. */
static void note_undecided(sweep_result *result) {
  if (!result->planned)
    result->undecided = "empty-shard";
  else if (result->total.unresolved && result->verdict != ATTEST_REFUTED)
    result->undecided = "unresolved";
  if (result->undecided) result->verdict = ATTEST_UNDECIDED;
}

attest_status sweep_run(sweep_result *result, const sweep_request *request, attest_error *error) {
  run r = {.request = request, .result = result};
  double start = now(CLOCK_MONOTONIC), cpu = cpu_seconds();
  memset(result, 0, sizeof *result);
  attest_status status = open_run(&r, error);
  if (!status) {
    plan(&r);
    status = sweep_all(&r, error);
  }
  close_run(&r);
  if (result->failed) result->verdict = ATTEST_REFUTED;
  if (result->interrupted) result->verdict = ATTEST_UNDECIDED;
  if (!status && !result->failed && !result->interrupted) note_undecided(result);
  result->seconds = now(CLOCK_MONOTONIC) - start;
  result->cpu_seconds = cpu_seconds() - cpu;
  return status;
}

void sweep_result_clear(sweep_result *result) {
  free(result->binades);
  free(result->bounds);
  memset(result, 0, sizeof *result);
}
