/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rows that are furthest off, in double: figures for people, no verdicts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"

enum { BLOCK = 48, WORST = 3, KEYS = 3 };

typedef struct {
  int64_t slice, row, component;
  double error, scale; /* the largest |got - x| of the row, and its largest |x| */
  double condition;    /* (A + S) / |x| of that element */
} bad_row;

/* Keeps the WORST rows by error relative to the row; the first of equal ones. */
static void consider(bad_row worst[WORST], int *count, const bad_row *r) {
  double size = r->error / r->scale;
  int at = *count;
  while (at > 0 && size > worst[at - 1].error / worst[at - 1].scale)
    at--;
  if (at >= WORST) return;
  if (*count < WORST) ++*count;
  for (int i = *count - 1; i > at; i--)
    worst[i] = worst[i - 1];
  worst[at] = *r;
}

static bad_row judge_row(const room_block *block, const problem_slice *slice, int64_t i) {
  int64_t width = block->out.width, first = i * width, row = block->row + i;
  bad_row r = {.slice = slice->index, .row = row, .scale = 0x1p-1074};
  for (int64_t c = 0; c < width; c++) {
    double x = block->out.x[first + c];
    if (isinf(block->out.radius[first + c])) continue; /* x is no figure */
    double got = tensor_at(&slice->out, row * slice->out.stride[0] + c * slice->out.stride[1]);
    double error = isnan(got) ? INFINITY : fabs(got - x);
    r.scale = fmax(r.scale, fabs(x));
    if (block->out.class[first + c] != EXACT_FINITE || !(error > r.error)) continue;
    r.error = error;
    r.component = c;
    r.condition = (block->out.a_hi[first + c] + block->out.s_hi[first + c]) / fabs(x);
  }
  return r;
}

static attest_status scan(bad_row worst[WORST], int *count, const certify_subject *subject,
                          room_block *block, attest_error *error) {
  const attest_problem *p = subject->problem;
  const problem_room *room = certify_room(p->kernel->name);
  attest_status status = ATTEST_OK;
  for (int64_t s = 0; s < problem_slice_count(p) && !status; s++) {
    problem_slice slice;
    void *work = NULL;
    problem_slice_get(&slice, p, s);
    status = room->open(&work, p, &slice, WANT_OUT | WANT_CONDITION, error);
    for (int64_t row = 0; row < slice.nq && !status; row += BLOCK) {
      block->row = row;
      block->rows = slice.nq - row < BLOCK ? slice.nq - row : BLOCK;
      room->rows(block, work, WANT_OUT | WANT_CONDITION);
      for (int64_t i = 0; i < block->rows; i++) {
        bad_row r = judge_row(block, &slice, i);
        if (r.error > 0) consider(worst, count, &r);
      }
    }
    if (work) room->close(work);
  }
  return status;
}

/* ---- one row of softmax attention ---- */

typedef struct {
  int64_t n;
  int64_t *key;
  double *score, *weight;
} row_keys;

static double product(const problem_slice *s, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t c = 0; c < s->d; c++)
    sum += tensor_at(&s->q, i * s->q.stride[0] + c * s->q.stride[1]) *
           tensor_at(&s->k, j * s->k.stride[0] + c * s->k.stride[1]);
  return sum;
}

static double score_of(const attest_problem *p, const problem_slice *s, int64_t i, int64_t j) {
  double radius, score = problem_real_double(&radius, &p->values.scale) * product(s, i, j);
  if (p->values.has_softcap) {
    double cap = problem_real_double(&radius, &p->values.softcap);
    score = cap * tanh(score / cap);
  }
  if (s->bias.data) score += tensor_at(&s->bias, i * s->bias.stride[0] + j * s->bias.stride[1]);
  if (s->has_slope) score += s->slope * (double)(j - i - s->offset);
  return score / problem_real_double(&radius, &p->values.temperature);
}

static void weigh(row_keys *keys, const attest_problem *p, const problem_slice *s, int64_t row) {
  int64_t lo, hi;
  double largest = s->has_sink ? s->sink : -INFINITY, total;
  problem_visible_range(&lo, &hi, p, s, row);
  for (int64_t j = lo; j < hi; j++) {
    if (!problem_visible(p, s, row, j)) continue;
    keys->key[keys->n] = j;
    keys->score[keys->n] = score_of(p, s, row, j);
    largest = fmax(largest, keys->score[keys->n++]);
  }
  total = s->has_sink ? exp(s->sink - largest) : 0;
  for (int64_t k = 0; k < keys->n; k++)
    total += keys->weight[k] = exp(keys->score[k] - largest);
  for (int64_t k = 0; k < keys->n; k++)
    keys->weight[k] /= total;
}

/* The key along whose value the error of the row lies, if one explains nearly all of it: the change
 * of its weight from p to p' that fits best, got - x ~ delta (v_j - x), delta = (p' - p) / (1 - p).
 */
static int carrier(double *delta, const row_keys *keys, const problem_slice *s, int64_t row) {
  double best = 0;
  int found = -1;
  double *x = calloc((size_t)s->dv + 1, sizeof *x);
  for (int64_t k = 0; x && k < keys->n; k++)
    for (int64_t c = 0; c < s->dv; c++)
      x[c] +=
          keys->weight[k] * tensor_at(&s->v, keys->key[k] * s->v.stride[0] + c * s->v.stride[1]);
  for (int64_t k = 0; x && k < keys->n; k++) {
    double along = 0, square = 0, errors = 0;
    for (int64_t c = 0; c < s->dv; c++) {
      double way = tensor_at(&s->v, keys->key[k] * s->v.stride[0] + c * s->v.stride[1]) - x[c];
      double e = tensor_at(&s->out, row * s->out.stride[0] + c * s->out.stride[1]) - x[c];
      along += way * e;
      square += way * way;
      errors += e * e;
    }
    double explained = square > 0 && errors > 0 ? along * along / (square * errors) : 0;
    if (explained <= best) continue;
    best = explained;
    found = (int)k;
    *delta = along / square;
  }
  free(x);
  return best > 0.98 && s->dv > 2 ? found : -1;
}

static attest_status note_keys(certify_case *result, const attest_problem *p, const bad_row *r,
                               attest_error *error) {
  problem_slice s;
  problem_slice_get(&s, p, r->slice);
  row_keys keys = {.key = calloc((size_t)s.nk + 1, sizeof(int64_t)),
                   .score = calloc((size_t)s.nk + 1, sizeof(double)),
                   .weight = calloc((size_t)s.nk + 1, sizeof(double))};
  attest_status status = ATTEST_OK;
  if (!keys.key || !keys.score || !keys.weight)
    status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  else
    weigh(&keys, p, &s, r->row);
  double delta = 0;
  int one = status ? -1 : carrier(&delta, &keys, &s, r->row);
  if (one >= 0)
    status = diagnose_note(result, error,
                           "  its error lies along the value of key %lld: as if that weight were "
                           "%.4g instead of %.4g",
                           (long long)keys.key[one],
                           keys.weight[one] + delta * (1 - keys.weight[one]), keys.weight[one]);
  for (int shown = 0; shown < KEYS && !status; shown++) {
    int64_t top = -1;
    for (int64_t k = 0; k < keys.n; k++)
      if (keys.weight[k] > 0 && (top < 0 || keys.weight[k] > keys.weight[top])) top = k;
    if (top < 0) break;
    status = diagnose_note(result, error, "  key %lld: score %.6g, weight %.4g",
                           (long long)keys.key[top], keys.score[top], keys.weight[top]);
    keys.weight[top] = 0;
  }
  free(keys.key);
  free(keys.score);
  free(keys.weight);
  return status;
}

static attest_status note_row(certify_case *result, const attest_problem *p, const bad_row *r,
                              attest_error *error) {
  problem_slice s;
  int64_t index[ATTEST_MAX_DIMS];
  char place[96] = "";
  size_t n = 0;
  problem_slice_get(&s, p, r->slice);
  problem_output_index(index, p, &s, OUTPUT_OUT, r->row, r->component);
  for (int i = 0; i < p->output[OUTPUT_OUT].ndim; i++)
    n += (size_t)snprintf(place + n, sizeof place - n, "%s%lld", i ? "," : "", (long long)index[i]);
  attest_status status =
      r->scale > 0x1p-1074 && isfinite(r->condition)
          ? diagnose_note(result, error,
                          "row of out[%s]: off by %.3g where the row reaches %.3g, condition %.3g",
                          place, r->error, r->scale, r->condition)
          : diagnose_note(result, error, "row of out[%s]: off by %.3g", place, r->error);
  if (!status && !strcmp(p->kernel->name, "softmax")) status = note_keys(result, p, r, error);
  return status;
}

static int64_t refuted_elements(const certify_case *c) {
  const certify_subject_result *s = &c->subjects[0];
  for (size_t k = 0; k < s->output_count; k++)
    if (s->outputs[k].output == OUTPUT_OUT) return s->outputs[k].refuted;
  return 0;
}

attest_status diagnose_rows(certify_case *result, const certify_subject *subject,
                            attest_error *error) {
  bad_row worst[WORST];
  int count = 0;
  double reach[BLOCK];
  int64_t width = subject->problem->dv > 0 ? subject->problem->dv : 1;
  size_t n = (size_t)width * BLOCK;
  double *cells = calloc(6 * n, sizeof *cells);
  unsigned char *class = calloc(n, 1);
  room_block block = {.reach = reach};
  block.out = (room_cells){.width = width,
                           .x = cells,
                           .radius = cells + n,
                           .a_lo = cells + 2 * n,
                           .a_hi = cells + 3 * n,
                           .s_lo = cells + 4 * n,
                           .s_hi = cells + 5 * n,
                           .class = class};
  attest_status status = cells && class ? scan(worst, &count, subject, &block, error)
                                        : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  /* No more rows than elements were refuted. */
  int64_t refuted = refuted_elements(result);
  for (int i = 0; i < count && (i == 0 || i < refuted) && !status; i++)
    status = note_row(result, subject->problem, &worst[i], error);
  free(cells);
  free(class);
  return status;
}
