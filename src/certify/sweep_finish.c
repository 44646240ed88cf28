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
  sweep_peak_kind kind;
  double reach;   /* the error is at least this somewhere */
  int first_only; /* and at most this everywhere: the lowest input is wanted */
  size_t count;   /* may exceed CANDIDATES_MAX: then the rest is not kept */
  candidate *items;
} search;

/* An upper bound of one measure; infinite where only balls can tell. */
static double upper_bound(sweep_peak_kind kind, double got, double mid, double rad) {
  sweep_element e;
  if (!isfinite(got))
    return sweep_settle_quickly(&e, (float)got, mid, rad) ? e.error[kind].hi : INFINITY;
  switch (kind) {
  case PEAK_ABS:
    return measure_abs(got, mid, rad).hi;
  case PEAK_REL:
    return measure_rel(got, mid, rad).hi;
  default:
    return measure_ulp(got, mid, rad, tensor_dtype_format(ATTEST_FLOAT32)).hi;
  }
}

static void visit(void *context, uint32_t key, float x, float got, double mid, double rad) {
  search *s = context;
  (void)x;
  if (s->first_only && s->count) return;
  if (upper_bound(s->kind, (double)got, mid, rad) < s->reach) return;
  if (s->count < CANDIDATES_MAX) s->items[s->count] = (candidate){key, got};
  s->count++;
}

/* ---- the largest of the candidates ----------------------------------------------------------- */

/* Whether a's error is larger than b's; equal ones, and those that 256 bits do not tell apart, are
 * not. */
static int is_larger(sweep_worker *w, const candidate *a, const candidate *b,
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

static attest_status decide_bounds(sweep_result *result, sweep_worker *w, attest_error *error) {
  const certify_bounds *bounds = w->request->bounds;
  result->bound_count = bounds->count;
  result->bounds = calloc(bounds->count, sizeof *result->bounds);
  if (!result->bounds) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (size_t i = 0; i < bounds->count; i++) {
    measure_kind m = bounds->items[i].measure;
    sweep_bound_verdict *v = &result->bounds[i];
    v->text = bounds->items[i].text;
    v->kind = m == MEASURE_ULP ? PEAK_ULP : m == MEASURE_ABS ? PEAK_ABS : PEAK_REL;
    v->verdict = decide(w, &result->error[v->kind], v->kind, bounds->items[i].limit);
    attest_verdict worse = certify_worse(result->verdict, v->verdict);
    if (worse != result->verdict) result->decisive = i;
    result->verdict = worse;
  }
  return ATTEST_OK;
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

/* Calls a block again: 0, 1, -1. */
static int call_again(sweep_worker *w, const sweep_summary *block, attest_error *error) {
  int64_t n = (int64_t)block->count;
  ISA_DISPATCH(sweep_inputs)(w->in, (uint32_t)block->first, 1, n);
  int failed = sweep_worker_call(w, w->out, w->in, n, error);
  if (failed) return failed;
  if (sweep_result_bits(w->out[0]) == block->first_got &&
      sweep_result_bits(w->out[n - 1]) == block->last_got)
    return 0;
  snprintf(w->failure.reason, sizeof w->failure.reason, "not-deterministic");
  snprintf(w->failure.detail, sizeof w->failure.detail,
           "it returned other results for %a .. %a when called again", (double)w->in[0],
           (double)w->in[n - 1]);
  return 1;
}

static int gather(search *s, sweep_worker *w, const sweep_summary *blocks, size_t count,
                  attest_error *error) {
  size_t able = 0, most = s->first_only ? 0 : CANDIDATES_MAX;
  for (size_t i = 0; i < count; i++)
    able += blocks[i].count && blocks[i].peaks[s->kind].hi >= s->reach;
  if (able > BLOCKS_MAX && !s->first_only) {
    s->count = SIZE_MAX;
    return 0;
  }
  for (size_t i = 0; i < count && s->count <= most; i++) {
    if (!blocks[i].count || blocks[i].peaks[s->kind].hi < s->reach) continue;
    int failed = call_again(w, &blocks[i], error);
    if (failed) return failed;
    sweep_block_visit(w, (uint32_t)blocks[i].first, (int64_t)blocks[i].count, visit, s);
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

static void refine(sweep_error *e, sweep_worker *w, const search *s) {
  const candidate *best = &s->items[0];
  for (size_t i = 1; i < s->count; i++)
    if (is_larger(w, &s->items[i], best, s->kind)) best = &s->items[i];
  sweep_ball_error(w->balls.t, &w->balls, &w->request->function, sweep_float(best->key), best->got,
                   s->kind, FIGURE_BITS);
  measure_interval m = measure_interval_arb(w->balls.t);
  set_figures(e, m.lo, m.hi);
  e->key = best->key;
  e->is_refined = 1;
  describe_worst(e, w, best->got);
}

static int largest_error(sweep_error *e, sweep_worker *w, const sweep_summary *blocks, size_t count,
                         sweep_peak_kind kind, attest_error *error) {
  sweep_peak p = peak_of(blocks, count, kind);
  if (p.hi < 0) return 0;
  float got;
  e->key = p.key;
  set_figures(e, p.lo, p.hi);
  search s = {kind, p.lo, p.lo == p.hi, 0, calloc(CANDIDATES_MAX, sizeof(candidate))};
  if (!s.items) {
    attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
    return -1;
  }
  int failed = gather(&s, w, blocks, count, error);
  /* An input outside the visited segments may come first. */
  if (s.first_only && s.count && s.items[0].key > p.key) s.count = 0;
  if (!failed && s.count && s.count <= CANDIDATES_MAX) {
    refine(e, w, &s);
  } else if (!failed) {
    e->is_refined = p.lo == p.hi;
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
  join_blocks(result, w, blocks, count);
  for (int k = 0; k < PEAK_COUNT; k++) {
    int failed = largest_error(&result->error[k], w, blocks, count, (sweep_peak_kind)k, error);
    if (failed) return failed;
  }
  if (decide_bounds(result, w, error)) return -1;
  if (sweep_check_sample(result, w, error)) return -1;
  return sweep_specials(result, w, error);
}
