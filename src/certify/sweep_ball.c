/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One element in balls, at growing precision until everything that is counted is certain.
 *
 * Infinite results: where x rounds to that infinity the error is measured from 2^128, and is 0 for
 * |x| >= 2^128; elsewhere it is infinite, as for NaN. */
#include "sweep_engine.h"

enum { FIRST_PRECISION = 96 };

static const tensor_format *float32(void) {
  return tensor_dtype_format(ATTEST_FLOAT32);
}

void sweep_balls_open(sweep_balls *b) {
  arb_init(b->x);
  arb_init(b->y);
  arb_init(b->t);
}

void sweep_balls_close(sweep_balls *b) {
  arb_clear(b->x);
  arb_clear(b->y);
  arb_clear(b->t);
}

void sweep_settle(sweep_element *e, double error) {
  for (int k = 0; k < PEAK_COUNT; k++)
    e->error[k] = (measure_interval){error, error};
  e->bin = sweep_bin(error);
}

/* What `measure` says of got and y: 1 a number in *measured, 0 an error known already (*known), -1
 * undecided. */
static int classify(double *measured, double *known, sweep_balls *b, float got) {
  *measured = (double)got;
  switch (measure_classify_arb(measured, EXACT_FINITE, b->y, float32())) {
  case GOT_UNKNOWN:
    return -1;
  case GOT_HOPELESS:
    *known = INFINITY;
    return 0;
  case GOT_EXACT:
    *known = 0;
    return 0;
  case GOT_NUMBER:
    break;
  }
  if (!isinf(got)) return 1;
  int beyond;
  arb_t limit;
  arb_init(limit);
  arb_one(limit);
  arb_mul_2exp_si(limit, limit, 128);
  arb_abs(b->t, b->y);
  beyond = arb_ge(b->t, limit) ? 1 : arb_lt(b->t, limit) ? 0 : -1;
  arb_clear(limit);
  *known = 0;
  return beyond < 0 ? -1 : !beyond;
}

/* The bin of an error in ulp, -1 when its ends lie in two: between them stands a power of two,
 * which doubles round to but the error may well miss. */
static int bin_of(sweep_balls *b, const arb_t ulp) {
  measure_interval m = measure_interval_arb(ulp);
  int low = sweep_bin(m.lo), high = sweep_bin(m.hi), bin = -1;
  if (low == high) return low;
  if (high > low + 1 || high == SWEEP_BIN_INFINITE) return -1;
  arb_one(b->x);
  arb_mul_2exp_si(b->x, b->x, high - 1 + SWEEP_BIN_LEAST);
  if (arb_lt(ulp, b->x)) bin = low;
  if (arb_ge(ulp, b->x)) bin = high;
  return bin;
}

static void measure(arb_t value, double got, const arb_t y, sweep_peak_kind kind, slong prec) {
  if (kind == PEAK_ULP) measure_ulp_arb(value, got, y, float32(), prec);
  if (kind == PEAK_ABS) measure_abs_arb(value, got, y, prec);
  if (kind == PEAK_REL) measure_rel_arb(value, got, y, prec);
}

/* 1 when the ball y settles everything. */
static int try_precision(sweep_element *e, sweep_balls *b, float got, slong prec) {
  double number, known, nearest;
  if (!enclosure_round(&nearest, b->y, float32())) return 0;
  if (arb_contains_zero(b->y) && !arb_is_zero(b->y) && got != 0) return 0;
  e->misrounded = (double)got != nearest;
  e->wrong_sign = (got < 0 && arb_is_positive(b->y)) || (got > 0 && arb_is_negative(b->y));
  int kind = classify(&number, &known, b, got);
  if (kind < 0) return 0;
  if (kind == 0) {
    sweep_settle(e, known);
    return 1;
  }
  for (int k = 0; k < PEAK_COUNT; k++) {
    measure(b->t, number, b->y, (sweep_peak_kind)k, prec);
    e->error[k] = measure_interval_arb(b->t);
    if (k == PEAK_ULP) e->bin = bin_of(b, b->t);
  }
  return e->bin >= 0;
}

int sweep_ball(sweep_element *e, sweep_balls *b, const sweep_function *f, float x, float got) {
  for (slong prec = FIRST_PRECISION; prec <= ENCLOSURE_BALL_PRECISION_MAX; prec *= 2) {
    arb_set_d(b->x, (double)x);
    f->reference->ball(b->y, b->x, f, prec);
    if (try_precision(e, b, got, prec)) return 0;
    if (sweep_settle_near_limit(e, f->reference, x, got)) return 0;
  }
  return -1;
}

/* Below a limit that is a power of two the unit is that of the binade below, though the ball may
 * not tell. */
static void measure_at(arb_t value, const sweep_reference *r, float x, double got, const arb_t y,
                       sweep_peak_kind kind, slong prec) {
  sweep_limit limit;
  if (kind != PEAK_ULP || !sweep_limit_find(&limit, r, x)) {
    measure(value, got, y, kind, prec);
    return;
  }
  measure(value, got, y, PEAK_ABS, prec);
  arb_mul_2exp_si(value, value, -sweep_limit_unit(&limit));
}

void sweep_ball_error(arb_t error, sweep_balls *b, const sweep_function *f, float x, float got,
                      sweep_peak_kind kind, slong bits) {
  double number, known;
  arb_zero_pm_inf(error);
  arb_set_d(b->x, (double)x);
  for (slong prec = bits + FIRST_PRECISION; prec <= ENCLOSURE_BALL_PRECISION_MAX; prec *= 2) {
    f->reference->ball(b->y, b->x, f, prec);
    int decided = classify(&number, &known, b, got);
    if (decided < 0) continue;
    if (decided == 0) {
      if (isinf(known))
        arb_pos_inf(error);
      else
        arb_zero(error);
      return;
    }
    measure_at(error, f->reference, x, number, b->y, kind, prec);
    if (arb_is_exact(error) || arb_rel_accuracy_bits(error) >= bits) return;
  }
}

void sweep_prescribed(sweep_element *e, const sweep_segment *s, float got) {
  int agrees = s->value != s->value ? got != got : s->either_sign ? isinf(got) : got == s->value;
  sweep_settle(e, agrees ? 0 : (double)INFINITY);
  e->misrounded = !agrees;
  e->wrong_sign = !s->either_sign && ((got < 0 && s->value > 0) || (got > 0 && s->value < 0));
}

/* Beside 2^1000, |got| < 2^128 changes the relative error by less than 2^-800. An ulp of 2^e ..
 * 2^(e + 1) is 2^(e - 23), so that the error has 2^23 to 2^24 of them
 * (proofs/certify/sweep_limit.v). */
void sweep_vast(sweep_element *e, float got) {
  int overflows = got == INFINITY;
  sweep_settle(e, overflows ? 0 : (double)INFINITY);
  e->misrounded = !overflows;
  e->wrong_sign = got < 0;
  if (!isfinite(got)) return;
  double least = got > 0 ? 1 - 0x1p-53 : 1, most = got < 0 ? 1 + 0x1p-52 : 1;
  e->error[PEAK_ULP] = (measure_interval){least * 0x1p23, most * 0x1p24};
  e->error[PEAK_ABS] = (measure_interval){0x1p999, INFINITY};
  e->error[PEAK_REL] = (measure_interval){least, most};
  e->bin = sweep_bin(0x1p23);
}

void sweep_record_element(sweep_record *r, const sweep_element *e, uint32_t key) {
  r->bins[e->bin]++;
  r->misrounded += e->misrounded != 0;
  r->wrong_sign += e->wrong_sign != 0;
  for (int k = 0; k < PEAK_COUNT; k++)
    sweep_peak_add(&r->peaks[k], e->error[k].lo, e->error[k].hi, key);
}
