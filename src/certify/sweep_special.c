/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of special values, thresholds included, and MPFR as the second witness. */
#include <float.h>

#include "sweep_engine.h"

/* ---- MPFR ------------------------------------------------------------------------------------ */

enum { CHECK_BITS = 160, AGREED_BITS = 140 };

/* MPFR's value within both enclosures, up to 2^-140 of itself. */
attest_status sweep_check(sweep_worker *w, float x, attest_error *error) {
  const sweep_function *f = &w->request->function;
  sweep_balls *b = &w->balls;
  mpfr_t input, value;
  float inputs[SWEEP_PAD + 1];
  mpfr_init2(input, 24);
  mpfr_init2(value, CHECK_BITS);
  mpfr_set_flt(input, x, MPFR_RNDN);
  f->reference->mpfr(value, input, f);
  arf_set_mpfr(arb_midref(b->t), value);
  mag_zero(arb_radref(b->t));
  arb_add_error_2exp_si(b->t,
                        mpfr_zero_p(value) ? -1100 : (slong)mpfr_get_exp(value) - AGREED_BITS);
  arb_set_d(b->x, (double)x);
  f->reference->ball(b->y, b->x, f, CHECK_BITS);
  int agree = arb_overlaps(b->y, b->t);
  if (agree) {
    for (int i = 0; i <= SWEEP_PAD; i++)
      inputs[i] = x;
    sweep_worker_enclose(w, inputs, 1);
    arb_set_d(b->y, w->mid[0]);
    arb_set_d(b->x, w->rad[0]);
    arb_add_error(b->y, b->x);
    agree = arb_overlaps(b->y, b->t);
  }
  mpfr_clear(input);
  mpfr_clear(value);
  return agree ? ATTEST_OK
               : attest_fail(error, ATTEST_ERR_SUPPORT,
                             "MPFR disagrees with the enclosure of %s at %a: please report this",
                             f->reference->name, (double)x);
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Beyond `huge` MPFR's exponents overflow. */
static int is_moderate(const sweep_worker *w, uint32_t key) {
  return sweep_reference_segment(w->request->function.reference, key).demand == SWEEP_COMPARE;
}

attest_status sweep_check_sample(sweep_result *result, sweep_worker *w, attest_error *error) {
  const sweep_request *q = w->request;
  uint64_t state = q->seed, range = (uint64_t)q->last - q->first + 1;
  attest_status status = ATTEST_OK;
  for (int64_t i = 0; i < q->samples && !status; i++) {
    uint32_t key = q->first + (uint32_t)(((next_random(&state) >> 32) * range) >> 32);
    if (!is_moderate(w, key)) continue;
    status = sweep_check(w, sweep_float(key), error);
    result->sampled++;
  }
  for (int k = 0; k < PEAK_COUNT && !status; k++) {
    if (result->total.peaks[k].hi < 0 || !is_moderate(w, result->error[k].key)) continue;
    status = sweep_check(w, sweep_float(result->error[k].key), error);
    result->witnesses++;
  }
  return status;
}

/* ---- thresholds ------------------------------------------------------------------------------ */

/* Whether |f| rounds to at least this many: 0 when below half the least subnormal, 1 subnormal, 2
 * normal, 3 infinite. */
static int size_class(sweep_worker *w, uint32_t key) {
  const sweep_function *f = &w->request->function;
  sweep_segment s = sweep_reference_segment(f->reference, key);
  double nearest = 0;
  if (s.demand == SWEEP_HUGE || s.demand == SWEEP_VAST) return 3;
  if (s.demand == SWEEP_PRESCRIBED) nearest = (double)s.value;
  arb_set_d(w->balls.x, (double)sweep_float(key));
  for (slong prec = 64; s.demand == SWEEP_COMPARE && prec < 8192; prec *= 2) {
    f->reference->ball(w->balls.y, w->balls.x, f, prec);
    if (enclosure_round(&nearest, w->balls.y, tensor_dtype_format(ATTEST_FLOAT32))) break;
  }
  nearest = fabs(nearest);
  return nearest == 0 ? 0 : nearest < (double)FLT_MIN ? 1 : nearest <= (double)FLT_MAX ? 2 : 3;
}

typedef struct {
  size_t count;
  struct {
    char label[24];
    uint32_t key;
  } items[SWEEP_SPECIALS];
} list;

static void list_add(list *l, const char *label, uint32_t key) {
  for (size_t i = 0; i < l->count; i++)
    if (l->items[i].key == key) return;
  if (l->count == SWEEP_SPECIALS) return;
  snprintf(l->items[l->count].label, sizeof l->items[l->count].label, "%s", label);
  l->items[l->count++].key = key;
}

/* Both sides of every change of size between two inputs, by bisection. */
static void add_changes(list *l, sweep_worker *w, uint32_t first, uint32_t last) {
  static const char *const names[] = {"rounds-to-zero", "subnormal", "normal", "overflow"};
  int at = size_class(w, first), end = size_class(w, last);
  while (at != end) {
    uint32_t low = first, high = last; /* class of low is `at`, of high another */
    while (high - low > 1) {
      uint32_t middle = low + (high - low) / 2;
      if (size_class(w, middle) == at)
        low = middle;
      else
        high = middle;
    }
    list_add(l, names[at], low);
    at = size_class(w, high);
    list_add(l, names[at], high);
    first = high;
  }
}

static void add_thresholds(list *l, sweep_worker *w) {
  const sweep_reference *r = w->request->function.reference;
  sweep_piece pieces[2];
  int count = sweep_pieces(pieces, r);
  for (int i = 0; i < count; i++) {
    uint32_t first = pieces[i].first, last = pieces[i].last;
    uint32_t zero = SWEEP_KEY_ZERO; /* |f| is monotone on either side of its zeros only */
    if (first < zero && zero < last) {
      add_changes(l, w, first, zero);
      add_changes(l, w, zero, last);
    } else {
      add_changes(l, w, first, last);
    }
    if (r->turn[0] == r->turn[0]) list_add(l, "turning-point", i ? first : last);
  }
  const sweep_kernel *k = w->kernel;
  if (k && k->flush_below == k->flush_below) {
    list_add(l, "kernel-flushes-below", sweep_key(k->flush_below));
    list_add(l, "kernel-flushes", sweep_key(k->flush_below) - 1);
  }
  if (k && k->most < FLT_MAX) list_add(l, "kernel-ends", sweep_key(k->most));
}

/* ---- the table ------------------------------------------------------------------------------- */

static void add_usual(list *l) {
  static const struct {
    const char *label;
    float x;
  } usual[] = {{"-inf", -INFINITY},
               {"-largest", -FLT_MAX},
               {"-1", -1},
               {"-least-normal", -FLT_MIN},
               {"-largest-subnormal", -0x1.fffffcp-127f},
               {"-least-subnormal", -FLT_TRUE_MIN},
               {"-0", -0.0f},
               {"0", 0},
               {"least-subnormal", FLT_TRUE_MIN},
               {"largest-subnormal", 0x1.fffffcp-127f},
               {"least-normal", FLT_MIN},
               {"1", 1},
               {"largest", FLT_MAX},
               {"inf", INFINITY}};
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    list_add(l, usual[i].label, sweep_key(usual[i].x));
  list_add(l, "nan", sweep_key_of_bits(0x7fc00000u));
}

static int by_key(const void *a, const void *b) {
  const sweep_special *x = a, *y = b;
  uint32_t p = sweep_key_of_bits(x->input), q = sweep_key_of_bits(y->input);
  return p < q ? -1 : p > q;
}

/* The exact value rounded, and the error of what was returned. */
static void fill(sweep_special *s, sweep_worker *w) {
  const sweep_function *f = &w->request->function;
  float x = tensor_bits_float(s->input), got = tensor_bits_float(s->got);
  uint32_t key = sweep_key(x);
  sweep_segment segment = sweep_reference_segment(f->reference, key);
  sweep_element e;
  s->nearest = NAN;
  s->ulp = NAN;
  if (segment.demand == SWEEP_PRESCRIBED) {
    s->nearest = (double)segment.value;
    sweep_prescribed(&e, &segment, got);
  } else if (sweep_ball(&e, &w->balls, f, x, got)) {
    return;
  } else {
    /* The ball that settled the element decides its rounding too. */
    enclosure_round(&s->nearest, w->balls.y, tensor_dtype_format(ATTEST_FLOAT32));
  }
  segment = sweep_worker_segment(w, key);
  if (segment.demand == SWEEP_OUTSIDE || (segment.demand == SWEEP_FLUSH && got == 0)) return;
  s->ulp = measure_canonical(e.error[PEAK_ULP].hi);
}

int sweep_specials(sweep_result *result, sweep_worker *w, attest_error *error) {
  const sweep_request *q = w->request;
  list l = {0};
  add_usual(&l);
  add_thresholds(&l, w);
  for (size_t i = 0; i < l.count; i++) {
    if (l.items[i].key < q->first || l.items[i].key > q->last) continue;
    sweep_special *s = &result->specials[result->special_count];
    memcpy(s->label, l.items[i].label, sizeof s->label);
    s->input = sweep_bits_of_key(l.items[i].key);
    w->in[result->special_count++] = sweep_float(l.items[i].key);
  }
  if (!result->special_count) return 0;
  int failed = sweep_worker_call(w, w->out, w->in, (int64_t)result->special_count, error);
  for (size_t i = 0; i < result->special_count && !failed; i++) {
    result->specials[i].got = sweep_result_bits(w->out[i]);
    fill(&result->specials[i], w);
  }
  qsort(result->specials, result->special_count, sizeof *result->specials, by_key);
  return failed;
}
