/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One block of inputs: the function under test, then segment by segment what is asked of it. */
#include "sweep_engine.h"

attest_status sweep_worker_open(sweep_worker *w, const sweep_request *request,
                                const void *kernel_context, int number, attest_error *error) {
  const int64_t block = SWEEP_BLOCK + SWEEP_PAD, batch = SWEEP_BATCH + SWEEP_PAD;
  memset(w, 0, sizeof *w);
  sweep_balls_open(&w->balls);
  w->request = request;
  w->kernel = request->foreign ? NULL : sweep_kernel_find(request->function.reference->name);
  w->kernel_context = kernel_context;
  w->number = number;
  w->constants_of = -1;
  size_t floats = (size_t)(2 * block + 2 * batch) * sizeof(float);
  size_t bytes = floats + (size_t)batch * (2 * sizeof(double) + sizeof(int));
  char *next = w->memory = isa_allocate((int64_t)bytes, 1);
  if (!next) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  w->mid = (double *)next;
  w->rad = w->mid + batch;
  w->in = (float *)(w->rad + batch);
  w->out = w->in + block;
  w->x = w->out + block;
  w->got = w->x + batch;
  w->open = (int *)(w->got + batch);
  return ATTEST_OK;
}

void sweep_worker_close(sweep_worker *w) {
  sweep_balls_close(&w->balls);
  free(w->memory);
  w->memory = NULL;
}

int sweep_worker_call(sweep_worker *w, float *out, const float *in, int64_t n,
                      attest_error *error) {
  const sweep_foreign *foreign = w->request->foreign;
  if (foreign) return foreign->call(foreign->context, w->number, out, in, n, &w->failure, error);
  w->kernel->run(out, in, n, w->kernel_context);
  return 0;
}

sweep_segment sweep_worker_segment(const sweep_worker *w, uint32_t key) {
  const sweep_reference *r = w->request->function.reference;
  return w->kernel ? sweep_kernel_segment(w->kernel, r, key) : sweep_reference_segment(r, key);
}

void sweep_worker_enclose(sweep_worker *w, const float *x, int64_t n) {
  int exponent = (int)(tensor_float_bits(x[0]) >> 23 & 255);
  if (exponent != w->constants_of) {
    sweep_constants_set(&w->constants, &w->request->function, x[0]);
    w->constants_of = exponent;
  }
  w->request->function.reference->enclose()(w->mid, w->rad, x, n, &w->constants);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* What stays open may be off by anything; the sweep is undecided then. */
static void by_ball(sweep_record *record, sweep_worker *w, uint32_t key, float got) {
  sweep_element e;
  record->balls++;
  if (!sweep_ball(&e, &w->balls, &w->request->function, sweep_float(key), got)) {
    sweep_record_element(record, &e, key);
    return;
  }
  record->unresolved++;
  for (int k = 0; k < PEAK_COUNT; k++)
    sweep_peak_add(&record->peaks[k], 0, INFINITY, key);
}

int sweep_settle_quickly(sweep_element *e, float got, double mid, double rad) {
  double size = fabs(mid), least = (size - rad) * (1 - 0x1p-50),
         most = (size + rad) * (1 + 0x1p-50);
  if (isfinite(got) || least < 0) return 0;
  int same_sign = isinf(got) && (got > 0) == (mid > 0);
  int overflows = same_sign && least >= 0x1p128;
  /* Below 2^128 - 2^103 nothing rounds to infinity. */
  if (same_sign && !overflows && most >= 0x1.ffffffp127) return 0;
  sweep_settle(e, overflows ? 0 : (double)INFINITY);
  e->misrounded = !overflows;
  e->wrong_sign = isinf(got) && !same_sign && mid != 0; /* the exact value is 0 nowhere else */
  return 1;
}

static void compare_batch(sweep_record *record, sweep_worker *w, uint32_t key, uint32_t step,
                          int64_t n, const float *got) {
  const sweep_reference *r = w->request->function.reference;
  ISA_DISPATCH(sweep_inputs)(w->x, key, step, n + SWEEP_PAD);
  sweep_worker_enclose(w, w->x, n);
  for (int64_t k = 0; step > 1 && k < n; k++)
    w->got[k] = got[k * step];
  if (step > 1) got = w->got;
  sweep_batch batch = {n, key, step, got, w->mid, w->rad, w->open};
  int64_t open = ISA_DISPATCH(sweep_compare)(record, &batch);
  for (int64_t k = 0; k < open; k++) {
    int i = w->open[k];
    uint32_t at = key + (uint32_t)i * step;
    sweep_element e;
    if (sweep_settle_quickly(&e, got[i], w->mid[i], w->rad[i])) {
      sweep_record_element(record, &e, at);
    } else if (sweep_settle_near_limit(&e, r, sweep_float(at), got[i])) {
      sweep_record_element(record, &e, at);
    } else {
      by_ball(record, w, at, got[i]);
    }
  }
}

/* n inputs from `key` on in steps, with their results. The first batch comes first and the last one
 * next: where errors grow or shrink steadily, the others hold no new largest one. */
static void compare(sweep_record *record, sweep_worker *w, uint32_t key, uint32_t step, int64_t n,
                    const float *got) {
  int64_t batches = (n + SWEEP_BATCH - 1) / SWEEP_BATCH;
  for (int64_t k = 0; k < batches; k++) {
    int64_t i = (k == 0 ? 0 : k == 1 ? batches - 1 : k - 1) * SWEEP_BATCH;
    int64_t count = n - i < SWEEP_BATCH ? n - i : SWEEP_BATCH;
    compare_batch(record, w, key + (uint32_t)i * step, step, count, got + i * step);
  }
}

/* The whole numbers of key .. key + n - 1, all of one sign and binade and finite: the first one's
 * offset, the step between them and their number. */
static int64_t whole_numbers(int64_t *first, uint32_t *step, uint32_t key, int64_t n) {
  uint32_t bits = sweep_bits_of_key(key);
  int e = (int)(bits >> 23 & 255) - 127;
  *step = e >= 23 ? 1 : e >= 0 ? 1u << (23 - e) : SWEEP_BLOCK;
  *first = 0;
  if (e < 0)
    return key <= SWEEP_KEY_ZERO && SWEEP_KEY_ZERO - key < n ? (*first = SWEEP_KEY_ZERO - key, 1)
                                                             : 0;
  *first = (int64_t)(-key & (*step - 1));
  return n > *first ? (n - *first + *step - 1) / *step : 0;
}

static void compare_whole(sweep_record *record, sweep_worker *w, uint32_t key, int64_t n,
                          const float *got) {
  int64_t first;
  uint32_t step;
  int64_t count = whole_numbers(&first, &step, key, n);
  record->outside += (uint64_t)(n - count);
  if (count) compare(record, w, key + (uint32_t)first, step, count, got + first);
}

/* The result that a rule without a reference asks for. */
static float wanted(const sweep_segment *s) {
  if (s->demand == SWEEP_HUGE || s->demand == SWEEP_VAST) return INFINITY;
  return s->demand == SWEEP_FLUSH ? 0 : s->value;
}

/* n results that are all as wanted: none is off. */
static void all_match(sweep_record *record, const sweep_segment *s, uint32_t key, int64_t n) {
  if (s->demand == SWEEP_FLUSH) {
    record->flushed += (uint64_t)n;
    return;
  }
  record->bins[0] += (uint64_t)n;
  for (int k = 0; k < PEAK_COUNT; k++)
    sweep_peak_add(&record->peaks[k], 0, 0, key);
}

/* Segments with a rule: where it is broken, one by one or by what the double enclosure knows. */
static void compare_plainly(sweep_record *record, sweep_worker *w, const sweep_segment *s,
                            uint32_t key, int64_t n, const float *got) {
  if (ISA_DISPATCH(sweep_matches)(got, n, wanted(s)) == n) {
    all_match(record, s, key, n);
    return;
  }
  if (s->demand == SWEEP_HUGE) {
    compare(record, w, key, 1, n, got);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    uint32_t at = key + (uint32_t)i;
    if (s->demand == SWEEP_PRESCRIBED || s->demand == SWEEP_VAST) {
      sweep_element e;
      if (s->demand == SWEEP_VAST)
        sweep_vast(&e, got[i]);
      else
        sweep_prescribed(&e, s, got[i]);
      sweep_record_element(record, &e, at);
    } else if (got[i] == wanted(s)) {
      all_match(record, s, at, 1);
    } else {
      by_ball(record, w, at, got[i]);
    }
  }
}

static void compare_segment(sweep_record *record, sweep_worker *w, const sweep_segment *s,
                            uint32_t key, int64_t n, const float *got) {
  if (s->demand == SWEEP_OUTSIDE)
    record->outside += (uint64_t)n;
  else if (s->demand != SWEEP_COMPARE)
    compare_plainly(record, w, s, key, n, got);
  else if (w->kernel && w->kernel->integers)
    compare_whole(record, w, key, n, got);
  else
    compare(record, w, key, 1, n, got);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* The part of a piece in which the kernel has inputs. */
static sweep_piece clip(const sweep_worker *w, sweep_piece piece) {
  if (!w->kernel) return piece;
  uint32_t least = sweep_key(w->kernel->least), most = sweep_key(w->kernel->most);
  if (piece.first < least) piece.first = least;
  if (piece.last > most) piece.last = most;
  if (w->kernel->integers) piece.direction = 0;
  return piece;
}

int sweep_order(const sweep_worker *w, uint32_t key) {
  sweep_piece pieces[2];
  int n = sweep_pieces(pieces, w->request->function.reference);
  for (int i = 0; i < n; i++) {
    sweep_piece p = clip(w, pieces[i]);
    if (p.first <= key && key < p.last) return p.direction;
  }
  return 0;
}

static void count_disorder(sweep_record *record, const sweep_worker *w, uint32_t first, int64_t n) {
  sweep_piece pieces[2];
  int count = sweep_pieces(pieces, w->request->function.reference);
  for (int i = 0; i < count; i++) {
    sweep_piece p = clip(w, pieces[i]);
    int64_t from = p.first > first ? (int64_t)p.first - first : 0;
    int64_t to = (int64_t)p.last - first + 1 < n ? (int64_t)p.last - first + 1 : n;
    if (p.direction && to > from)
      record->disorder += ISA_DISPATCH(sweep_disorder)(w->out + from, to - from, p.direction);
  }
}

/* ---- a block --------------------------------------------------------------------------------- */

int sweep_block(sweep_record *record, sweep_worker *w, uint32_t first, int64_t n,
                attest_error *error) {
  sweep_record_clear(record);
  record->first = first;
  record->count = (uint64_t)n;
  ISA_DISPATCH(sweep_inputs)(w->in, first, 1, n);
  int failed = sweep_worker_call(w, w->out, w->in, n, error);
  if (failed) return failed;
  for (int64_t i = 0; i < n;) {
    uint32_t key = first + (uint32_t)i;
    sweep_segment s = sweep_worker_segment(w, key);
    int64_t count = (int64_t)s.last - key + 1 < n - i ? (int64_t)s.last - key + 1 : n - i;
    compare_segment(record, w, &s, key, count, w->out + i);
    i += count;
  }
  count_disorder(record, w, first, n);
  record->first_got = sweep_result_bits(w->out[0]);
  record->last_got = sweep_result_bits(w->out[n - 1]);
  return 0;
}

void sweep_block_visit(sweep_worker *w, uint32_t first, int64_t n, sweep_visit *visit,
                       void *context) {
  for (int64_t i = 0; i < n;) {
    uint32_t key = first + (uint32_t)i;
    sweep_segment s = sweep_worker_segment(w, key);
    int64_t count = (int64_t)s.last - key + 1 < n - i ? (int64_t)s.last - key + 1 : n - i;
    if (count > SWEEP_BATCH) count = SWEEP_BATCH;
    int64_t offset = 0, members = count;
    uint32_t step = 1;
    int is_enclosed = s.demand != SWEEP_PRESCRIBED && s.demand != SWEEP_VAST;
    if (s.demand == SWEEP_OUTSIDE) members = 0;
    if (s.demand == SWEEP_COMPARE && w->kernel && w->kernel->integers)
      members = whole_numbers(&offset, &step, key, count);
    if (members && is_enclosed) {
      ISA_DISPATCH(sweep_inputs)(w->x, key + (uint32_t)offset, step, members + SWEEP_PAD);
      sweep_worker_enclose(w, w->x, members);
    }
    for (int64_t k = 0; k < members; k++) {
      int64_t at = offset + k * step;
      sweep_visited v = {key + (uint32_t)at, w->out[i + at], &s, 0, 0};
      if (is_enclosed) {
        v.mid = w->mid[k];
        v.rad = w->rad[k];
      }
      visit(context, &v);
    }
    i += count;
  }
}
