/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The end of a sweep: the exact largest errors. Blocks that may hold one are called again, all of
 * their elements that reach far enough are candidates, and balls find the largest of these. */
#include "../enclosure/interval.h"
#include "sweep_engine.h"

/* Beyond these the largest error is left as the double enclosure has it: the error is then the
 * same, or nearly so, over wide ranges of inputs. */
enum { BLOCKS_MAX = 512, CANDIDATES_MAX = 4096, TIE_BITS = 256, FIGURE_BITS = 40 };

typedef struct {
  uint32_t key;
  float got;
} candidate;

typedef struct {
  sweep_worker *worker;
  sweep_peak_kind kind;
  double reach;   /* the error is at least this somewhere */
  int first_only; /* and at most this everywhere: the lowest input is wanted */
  size_t count;   /* may exceed CANDIDATES_MAX: then the rest is not kept */
  candidate *items;
  candidate *farthest; /* of them, the one where the exact value is vast */
  int64_t tests;       /* balls that are left; 0: `skipped` may be */
  int skipped;
} search;

/* ---- bounds of one element ------------------------------------------------------------------- */

/* One measure, as the double enclosure or a rule has it; hi < 0: it is not compared. Infinite
 * results that the double enclosure leaves open are a handful (next to 2^128), and take balls. */
static measure_interval bounds_of(sweep_worker *w, const sweep_visited *v, sweep_peak_kind kind) {
  const sweep_function *f = &w->request->function;
  double got = (double)v->got;
  sweep_element e;
  switch (v->segment->demand) {
  case SWEEP_PRESCRIBED:
    sweep_prescribed(&e, v->segment, v->got);
    return e.error[kind];
  case SWEEP_VAST:
    sweep_vast(&e, v->got);
    return e.error[kind];
  case SWEEP_FLUSH:
    if (got == 0) return (measure_interval){0, -1};
    break;
  default:
    break;
  }
  if (!isfinite(got)) {
    int is_settled = sweep_settle_quickly(&e, v->got, v->mid, v->rad) ||
                     !sweep_ball(&e, &w->balls, f, sweep_float(v->key), v->got);
    return is_settled ? e.error[kind] : (measure_interval){0, INFINITY};
  }
  if (sweep_settle_near_limit(&e, f->reference, sweep_float(v->key), v->got)) return e.error[kind];
  if (kind == PEAK_ABS) return measure_abs(got, v->mid, v->rad);
  if (kind == PEAK_REL) return measure_rel(got, v->mid, v->rad);
  return measure_ulp(got, v->mid, v->rad, tensor_dtype_format(ATTEST_FLOAT32));
}

/* Whether an error that doubles do not tell from the largest one is as large, or the same to 256
 * bits. */
static int reaches(search *s, const sweep_visited *v) {
  sweep_worker *w = s->worker;
  if (isinf(s->reach) && isfinite(v->got) && s->kind != PEAK_REL) return 0;
  if (!s->tests) {
    s->skipped = 1;
    return 0;
  }
  s->tests--;
  arb_t error, reach;
  arb_init(error);
  arb_init(reach);
  if (isinf(s->reach))
    arb_pos_inf(reach);
  else
    arb_set_d(reach, s->reach);
  int below = 0, above = 0;
  for (slong bits = FIGURE_BITS; bits <= TIE_BITS && !below && !above; bits *= 2) {
    sweep_ball_error(error, &w->balls, &w->request->function, sweep_float(v->key), v->got, s->kind,
                     bits);
    below = arb_lt(error, reach);
    above = arb_ge(error, reach);
  }
  arb_clear(error);
  arb_clear(reach);
  return !below;
}

/* Among vast values the farthest has the largest absolute error: from one input to the next they
 * grow by more than 2^980. */
static int replaces_farthest(search *s, const sweep_visited *v) {
  if (s->kind != PEAK_ABS || v->segment->demand != SWEEP_VAST || !isfinite(v->got)) return 0;
  if (!s->farthest) {
    s->farthest = s->count < CANDIDATES_MAX ? &s->items[s->count] : NULL;
    return 0;
  }
  if (s->worker->request->function.reference->huge > 0) *s->farthest = (candidate){v->key, v->got};
  return 1;
}

static void visit(void *context, const sweep_visited *v) {
  search *s = context;
  if (s->first_only ? s->count > 0 : v->segment->demand == SWEEP_PRESCRIBED) return;
  measure_interval m = bounds_of(s->worker, v, s->kind);
  if (m.hi < s->reach) return;
  if (s->first_only && m.lo < s->reach && !reaches(s, v)) return;
  if (replaces_farthest(s, v)) return;
  if (s->count < CANDIDATES_MAX) s->items[s->count] = (candidate){v->key, v->got};
  s->count++;
}

/* ---- the largest of the candidates ----------------------------------------------------------- */

/* Whether a's error is larger than b's; equal ones are not. Those that 256 bits do not tell apart
 * are not either, but *hi is then no less than a's error. */
static int is_larger(double *hi, sweep_worker *w, const candidate *a, const candidate *b,
                     sweep_peak_kind kind) {
  const sweep_function *f = &w->request->function;
  arb_t ea, eb;
  arb_init(ea);
  arb_init(eb);
  int larger = -1;
  for (slong bits = FIGURE_BITS; bits <= TIE_BITS && larger < 0; bits *= 2) {
    sweep_ball_error(ea, &w->balls, f, sweep_float(a->key), a->got, kind, bits);
    sweep_ball_error(eb, &w->balls, f, sweep_float(b->key), b->got, kind, bits);
    larger = arb_gt(ea, eb) ? 1 : arb_le(ea, eb) ? 0 : -1;
  }
  if (larger < 0) *hi = fmax(*hi, measure_interval_arb(ea).hi);
  arb_clear(ea);
  arb_clear(eb);
  return larger > 0;
}

/* The figure with 21 bits, rounded up, and the one below it. */
static void set_figures(sweep_error *e, double lo, double hi) {
  e->hi = measure_canonical(hi);
  e->lo = lo;
  if (lo > 0 && !isinf(lo)) {
    int exponent;
    double significand = frexp(lo, &exponent);
    e->lo = ldexp(floor(ldexp(significand, 21)), exponent - 21);
  }
}

static void describe_worst(sweep_error *e, sweep_worker *w, float got) {
  const sweep_function *f = &w->request->function;
  uint32_t key = e->key;
  sweep_segment s = sweep_worker_segment(w, key);
  e->got = sweep_result_bits(got);
  if (s.demand == SWEEP_PRESCRIBED) {
    e->exact[0] = e->exact[1] = (double)s.value;
    return;
  }
  arb_set_d(w->balls.x, (double)sweep_float(key));
  f->reference->ball(w->balls.y, w->balls.x, f, 96);
  e->exact[0] = enclosure_lower(w->balls.y);
  e->exact[1] = enclosure_upper(w->balls.y);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

typedef struct {
  const sweep_summary *items;
  size_t count;
} block_list;

/* ---- verdicts -------------------------------------------------------------------------------- */

/* The error at the worst element against a limit, in balls. */
static attest_verdict decide_exactly(sweep_worker *w, const sweep_error *e, sweep_peak_kind kind,
                                     const fmpq_t limit) {
  attest_verdict verdict = ATTEST_UNDECIDED;
  arb_t error, bound;
  arb_init(error);
  arb_init(bound);
  for (slong bits = 64; bits <= 8192 && verdict == ATTEST_UNDECIDED; bits *= 2) {
    sweep_ball_error(error, &w->balls, &w->request->function, sweep_float(e->key),
                     tensor_bits_float(e->got), kind, bits);
    arb_set_fmpq(bound, limit, bits + 64);
    if (arb_le(error, bound)) verdict = ATTEST_CERTIFIED;
    if (arb_gt(error, bound)) verdict = ATTEST_REFUTED;
  }
  arb_clear(error);
  arb_clear(bound);
  return verdict;
}

/* x <= limit, x >= 0 a double that may be infinite. */
static int is_below(double x, const fmpq_t limit) {
  if (isinf(x)) return 0;
  fmpq_t q;
  arf_t a;
  fmpq_init(q);
  arf_init(a);
  arf_set_d(a, x);
  arf_get_fmpq(q, a);
  int below = fmpq_cmp(q, limit) <= 0;
  fmpq_clear(q);
  arf_clear(a);
  return below;
}

static attest_verdict decide(sweep_worker *w, const sweep_error *e, sweep_peak_kind kind,
                             const fmpq_t limit) {
  if (is_below(e->hi, limit)) return ATTEST_CERTIFIED;
  if (!is_below(e->lo, limit)) return ATTEST_REFUTED;
  int is_number = sweep_worker_segment(w, e->key).demand != SWEEP_PRESCRIBED;
  return e->is_refined && is_number ? decide_exactly(w, e, kind, limit) : ATTEST_UNDECIDED;
}

/* An input whose error is above the limit, where there are too many candidates for the largest. */
typedef struct {
  sweep_worker *worker;
  sweep_peak_kind kind;
  const fmpq *limit;
  int tests; /* that are left */
  int found;
  sweep_error error;
} witness_search;

static void visit_witness(void *context, const sweep_visited *v) {
  witness_search *s = context;
  if (s->found || !s->tests || v->segment->demand == SWEEP_PRESCRIBED) return;
  measure_interval m = bounds_of(s->worker, v, s->kind);
  if (m.hi < 0 || is_below(m.hi, s->limit)) return;
  s->tests--;
  s->error.key = v->key;
  s->error.got = sweep_result_bits(v->got);
  s->found = decide_exactly(s->worker, &s->error, s->kind, s->limit) == ATTEST_REFUTED;
}

/* 0, 1 or -1; *verdict may become a refutation. */
static int find_witness(attest_verdict *verdict, sweep_error *e, sweep_worker *w,
                        const block_list *blocks, sweep_peak_kind kind, const fmpq_t limit,
                        attest_error *error) {
  witness_search s = {.worker = w, .kind = kind, .limit = limit, .tests = CANDIDATES_MAX};
  int calls = BLOCKS_MAX;
  for (size_t i = 0; i < blocks->count && calls && s.tests && !s.found; i++) {
    const sweep_summary *b = &blocks->items[i];
    if (!b->count || is_below(fmax(b->peaks[kind].hi, 0), limit)) continue;
    int failed = sweep_call_again(w, b, error);
    if (failed) return failed;
    sweep_block_visit(w, (uint32_t)b->first, (int64_t)b->count, visit_witness, &s);
    calls--;
  }
  if (!s.found) return 0;
  e->key = s.error.key;
  describe_worst(e, w, tensor_bits_float(s.error.got));
  *verdict = ATTEST_REFUTED;
  return 0;
}

static int decide_bounds(sweep_result *result, sweep_worker *w, const block_list *blocks,
                         attest_error *error) {
  const certify_bounds *bounds = w->request->bounds;
  result->bound_count = bounds->count;
  result->bounds = calloc(bounds->count, sizeof *result->bounds);
  if (!result->bounds) {
    attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
    return -1;
  }
  for (size_t i = 0; i < bounds->count; i++) {
    measure_kind m = bounds->items[i].measure;
    sweep_bound_verdict *v = &result->bounds[i];
    v->text = bounds->items[i].text;
    v->kind = m == MEASURE_ULP ? PEAK_ULP : m == MEASURE_ABS ? PEAK_ABS : PEAK_REL;
    sweep_error *e = &result->error[v->kind];
    v->verdict = decide(w, e, v->kind, bounds->items[i].limit);
    if (v->verdict == ATTEST_UNDECIDED && !e->is_refined) {
      int failed = find_witness(&v->verdict, e, w, blocks, v->kind, bounds->items[i].limit, error);
      if (failed) return failed;
    }
    attest_verdict worse = certify_worse(result->verdict, v->verdict);
    if (worse != result->verdict) result->decisive = i;
    result->verdict = worse;
  }
  return 0;
}

/* ---- the largest errors ---------------------------------------------------------------------- */

/* The largest lower bound and the first of the largest upper ones. */
static sweep_peak peak_of(const sweep_summary *blocks, size_t count, sweep_peak_kind kind) {
  sweep_peak p = {0, -1, 0};
  for (size_t i = 0; i < count; i++)
    if (blocks[i].count)
      sweep_peak_add(&p, blocks[i].peaks[kind].lo, blocks[i].peaks[kind].hi,
                     blocks[i].peaks[kind].key);
  return p;
}

/* Where balls have run out, the next block that surely has the largest error ends the search for
 * the first one. */
static int gather_first(search *s, const block_list *blocks, attest_error *error) {
  sweep_worker *w = s->worker;
  s->tests = SWEEP_BLOCK;
  for (size_t i = 0; i < blocks->count && !s->count; i++) {
    const sweep_summary *b = &blocks->items[i];
    if (!b->count || b->peaks[s->kind].hi < s->reach) continue;
    int is_sure = b->peaks[s->kind].lo >= s->reach;
    if (is_sure) s->tests = SWEEP_BLOCK;
    s->skipped |= !s->tests;
    if (!s->tests) continue;
    int failed = sweep_call_again(w, b, error);
    if (failed) return failed;
    sweep_block_visit(w, (uint32_t)b->first, (int64_t)b->count, visit, s);
  }
  return 0;
}

static int gather(search *s, const block_list *blocks, attest_error *error) {
  sweep_worker *w = s->worker;
  size_t able = 0;
  if (s->first_only) return gather_first(s, blocks, error);
  for (size_t i = 0; i < blocks->count; i++)
    able += blocks->items[i].count && blocks->items[i].peaks[s->kind].hi >= s->reach;
  if (able > BLOCKS_MAX) {
    s->count = SIZE_MAX;
    return 0;
  }
  for (size_t i = 0; i < blocks->count && s->count <= CANDIDATES_MAX; i++) {
    const sweep_summary *b = &blocks->items[i];
    if (!b->count || b->peaks[s->kind].hi < s->reach) continue;
    int failed = sweep_call_again(w, b, error);
    if (failed) return failed;
    sweep_block_visit(w, (uint32_t)b->first, (int64_t)b->count, visit, s);
  }
  return 0;
}

/* What the result at one input is: 0, 1, -1. */
static int call_one(float *got, sweep_worker *w, uint32_t key, attest_error *error) {
  w->in[0] = sweep_float(key);
  int failed = sweep_worker_call(w, w->out, w->in, 1, error);
  *got = w->out[0];
  return failed;
}

/* 0 where the largest of the candidates is not as large as what was found in some block: the search
 * has missed it, and the figures of the blocks stay. */
static int refine(sweep_error *e, const search *s, double hi) {
  sweep_worker *w = s->worker;
  const candidate *best = &s->items[0];
  measure_interval m = {s->reach, s->reach};
  double tied = 0;
  for (size_t i = 1; i < s->count; i++)
    if (is_larger(&tied, w, &s->items[i], best, s->kind)) best = &s->items[i];
  if (sweep_worker_segment(w, best->key).demand != SWEEP_PRESCRIBED) {
    sweep_ball_error(w->balls.t, &w->balls, &w->request->function, sweep_float(best->key),
                     best->got, s->kind, FIGURE_BITS);
    m = measure_interval_arb(w->balls.t);
  }
  if (m.hi < s->reach) return 0;
  set_figures(e, fmax(m.lo, s->reach), fmin(fmax(m.hi, tied), hi));
  e->key = best->key;
  e->is_refined = !s->skipped;
  describe_worst(e, w, best->got);
  return 1;
}

static int largest_error(sweep_error *e, sweep_worker *w, const block_list *blocks,
                         sweep_peak_kind kind, attest_error *error) {
  sweep_peak p = peak_of(blocks->items, blocks->count, kind);
  if (p.hi < 0) return 0;
  float got;
  e->key = p.key;
  set_figures(e, p.lo, p.hi);
  search s = {.worker = w, .kind = kind, .reach = p.lo, .first_only = p.lo == p.hi};
  s.items = calloc(CANDIDATES_MAX, sizeof *s.items);
  if (!s.items) {
    attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
    return -1;
  }
  int failed = gather(&s, blocks, error);
  int is_found = !failed && s.count && s.count <= CANDIDATES_MAX && refine(e, &s, p.hi);
  if (!failed && !is_found) {
    failed = call_one(&got, w, e->key, error);
    if (!failed) describe_worst(e, w, got);
  }
  free(s.items);
  return failed;
}

/* Neighbours that lie in two blocks. */
static void join_blocks(sweep_result *result, const sweep_worker *w, const sweep_summary *blocks,
                        size_t count) {
  for (size_t i = 1; i < count; i++) {
    const sweep_summary *a = &blocks[i - 1], *b = &blocks[i];
    if (!a->count || !b->count) continue;
    int direction = sweep_order(w, (uint32_t)(b->first - 1));
    float x = tensor_bits_float(a->last_got), y = tensor_bits_float(b->first_got);
    int wrong = (direction > 0 && y < x) || (direction < 0 && y > x);
    result->total.disorder += wrong;
    result->binades[sweep_bits_of_key((uint32_t)b->first) >> 23].disorder += wrong;
  }
}

int sweep_finish(sweep_result *result, sweep_worker *w, const sweep_summary *blocks, size_t count,
                 attest_error *error) {
  const block_list all = {blocks, count};
  join_blocks(result, w, blocks, count);
  for (int k = 0; k < PEAK_COUNT; k++) {
    int failed = largest_error(&result->error[k], w, &all, (sweep_peak_kind)k, error);
    if (failed) return failed;
  }
  int failed = decide_bounds(result, w, &all, error);
  if (failed) return failed;
  if (sweep_check_sample(result, w, error)) return -1;
  failed = sweep_specials(result, w, error);
  return failed ? failed : sweep_repeat(result, w, blocks, count, error);
}
