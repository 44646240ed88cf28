/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Selections of top-k as an output of their own: the kernel's, and how far any other is from one
 * that the scores make.
 *
 * A set S of k keys is selected by some scores within eps t iff no key i of S and j outside it have
 * s_j - s_i > eps (t_i + t_j). So its error is the largest (s_j - s_i) / (t_i + t_j), or 0. For a
 * trial eps the pair with the largest s_j - s_i - eps (t_i + t_j) is found key by key; its quotient
 * is the next trial, which only grows and ends at the largest (Dinkelbach). Any pair gives a lower
 * bound; the upper bound is certified at one trial slightly above. */
#include <stdlib.h>
#include <string.h>

#include "row.h"

/* ---- the kernel's own ---- */

attest_status sparse_select(int64_t *key, int64_t *count, const attest_problem *problem,
                            const problem_slice *slice, int64_t row, attest_error *error) {
  sparse_row r;
  attest_status status = sparse_row_init(&r, problem, slice, row, 0, error);
  if (status) return status;
  int64_t k = problem->values.topk, *order = malloc((size_t)(r.count + 1) * sizeof *order);
  if (order) {
    sparse_row_sort(order, &r);
    *count = k < r.count ? k : r.count;
    for (int64_t i = 0; i < *count; i++)
      key[i] = r.key[order[i]];
  } else {
    status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for a row of keys");
  }
  free(order);
  sparse_row_clear(&r);
  return status;
}

/* ---- keys that are the same ---- */

typedef struct {
  const sparse_row *row;
  const double *element; /* d of them */
  int64_t index;
} same_key;

/* By products first: what differs there is not read. */
static int by_content(const void *a, const void *b) {
  const same_key *x = a, *y = b;
  const sparse_row *r = x->row;
  int order = arf_cmp(r->dot + x->index, r->dot + y->index);
  if (!order) order = arf_cmp(r->offset + x->index, r->offset + y->index);
  for (int64_t c = 0; c < r->slice->d && !order; c++)
    order = (x->element[c] > y->element[c]) - (x->element[c] < y->element[c]);
  return order;
}

static int by_content_and_place(const void *a, const void *b) {
  const same_key *x = a, *y = b;
  int order = by_content(a, b), rising = x->index < y->index ? -1 : x->index > y->index;
  if (order) return order;
  return x->row->problem->values.ties == TIES_HIGHEST ? -rising : rising;
}

attest_status sparse_row_before(int64_t *before, const sparse_row *r, attest_error *error) {
  int64_t n = r->count, d = r->slice->d;
  for (int64_t i = 0; i < n; i++)
    before[i] = -1;
  if (r->problem->values.ties == TIES_ANY) return ATTEST_OK;
  double *elements = malloc((size_t)(n * d + 1) * sizeof *elements);
  same_key *keys = malloc((size_t)(n + 1) * sizeof *keys);
  if (!elements || !keys) {
    free(elements);
    free(keys);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for a row of %lld keys",
                       (long long)n);
  }
  const attest_tensor *k = &r->slice->k;
  for (int64_t i = 0; i < n; i++) {
    tensor_load(elements + i * d, k, r->key[i] * k->stride[0], d, k->stride[1]);
    keys[i] = (same_key){r, elements + i * d, i};
  }
  qsort(keys, (size_t)n, sizeof *keys, by_content_and_place);
  for (int64_t i = 1; i < n; i++)
    if (by_content(&keys[i - 1], &keys[i]) == 0) before[keys[i].index] = keys[i - 1].index;
  free(elements);
  free(keys);
  return ATTEST_OK;
}

/* ---- the error of a selection ---- */

typedef struct {
  sparse_row row;
  unsigned char *chosen; /* a key each */
  arb_ptr y, t;
  slong prec;
} selection_row;

static void selection_close(selection_row *s) {
  _arb_vec_clear(s->y, s->row.capacity);
  _arb_vec_clear(s->t, s->row.capacity);
  free(s->chosen);
  sparse_row_clear(&s->row);
}

static attest_status selection_open(selection_row *s, const attest_problem *problem,
                                    const problem_slice *slice, int64_t row, slong prec,
                                    attest_error *error) {
  attest_status status = sparse_row_init(&s->row, problem, slice, row, 1, error);
  if (status) return status;
  s->prec = prec;
  s->y = _arb_vec_init(s->row.capacity);
  s->t = _arb_vec_init(s->row.capacity);
  s->chosen = calloc((size_t)s->row.count + 1, 1);
  if (s->chosen) {
    sparse_row_arguments(s->y, s->t, &s->row, prec);
    return ATTEST_OK;
  }
  selection_close(s);
  return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for a row of keys");
}

/* Marks the selection: a key of it that the row does not see, or -1. */
static int64_t mark(selection_row *s, const int64_t *selection, int64_t selected) {
  int64_t at = 0;
  for (int64_t i = 0; i < selected; i++) {
    while (at < s->row.count && s->row.key[at] < selection[i])
      at++;
    if (at == s->row.count || s->row.key[at] != selection[i]) return selection[i];
    s->chosen[at] = 1;
  }
  return -1;
}

/* y +- eps t of key i, which it would need to be selected, or left out. */
static void moved(arb_t end, const selection_row *s, int64_t i, const arb_t eps) {
  arb_mul(end, s->t + i, eps, s->prec);
  if (s->chosen[i])
    arb_add(end, s->y + i, end, s->prec);
  else
    arb_sub(end, s->y + i, end, s->prec);
}

/* The least end of the keys selected and the largest of the others, by their midpoints; -1: none.
 */
static void extremes(int64_t *least, int64_t *most, const selection_row *s, const arb_t eps) {
  arb_t end, low, high;
  arb_init(end);
  arb_init(low);
  arb_init(high);
  *least = *most = -1;
  for (int64_t i = 0; i < s->row.count; i++) {
    moved(end, s, i, eps);
    if (s->chosen[i] && (*least < 0 || arf_cmp(arb_midref(end), arb_midref(low)) < 0)) {
      *least = i;
      arb_set(low, end);
    } else if (!s->chosen[i] && (*most < 0 || arf_cmp(arb_midref(end), arb_midref(high)) > 0)) {
      *most = i;
      arb_set(high, end);
    }
  }
  arb_clear(end);
  arb_clear(low);
  arb_clear(high);
}

/* Whether scores within eps t certainly make the selection. */
static int is_made(const selection_row *s, const arb_t eps) {
  arb_t end, low, high;
  int64_t chosen = 0, others = 0;
  arb_init(end);
  arb_init(low);
  arb_init(high);
  for (int64_t i = 0; i < s->row.count; i++) {
    moved(end, s, i, eps);
    if (s->chosen[i] && chosen++ == 0)
      arb_set(low, end);
    else if (s->chosen[i])
      arb_min(low, low, end, s->prec);
    else if (others++ == 0)
      arb_set(high, end);
    else
      arb_max(high, high, end, s->prec);
  }
  int made = !chosen || !others || arb_ge(low, high);
  arb_clear(end);
  arb_clear(low);
  arb_clear(high);
  return made;
}

/* The exact least of the keys selected and largest of the others. */
static int keeps_order(int64_t *least, int64_t *most, const selection_row *s) {
  *least = *most = -1;
  for (int64_t i = 0; i < s->row.count; i++) {
    int64_t *place = s->chosen[i] ? least : most;
    int side = s->chosen[i] ? -1 : 1;
    if (*place < 0 || (arb_overlaps(s->y + i, s->y + *place)
                           ? sparse_row_compare(&s->row, i, *place) * side > 0
                           : arf_cmp(arb_midref(s->y + i), arb_midref(s->y + *place)) * side > 0))
      *place = i;
  }
  return *least < 0 || *most < 0 || sparse_row_compare(&s->row, *most, *least) <= 0;
}

/* (s_j - s_i) / (t_i + t_j). */
static void quotient(arb_t q, const selection_row *s, int64_t i, int64_t j) {
  arb_t sum;
  arb_init(sum);
  arb_sub(q, s->y + j, s->y + i, s->prec);
  arb_add(sum, s->t + i, s->t + j, s->prec);
  arb_div(q, q, sum, s->prec);
  arb_clear(sum);
}

/* The order is not kept by keys i and j. */
static void search(room_misselection *found, const selection_row *s, int64_t i, int64_t j,
                   double u_s) {
  arb_t best, next, unit;
  arb_init(best);
  arb_init(next);
  arb_init(unit);
  arb_set_d(unit, u_s);
  quotient(best, s, i, j);
  for (int step = 0; step < 100; step++) {
    int64_t least, most;
    arb_get_mid_arb(next, best);
    extremes(&least, &most, s, next);
    quotient(next, s, least, most);
    if (arf_cmp(arb_midref(next), arb_midref(best)) <= 0) break;
    arb_set(best, next);
    i = least;
    j = most;
  }
  found->taken = s->row.key[i];
  found->left = s->row.key[j];
  arb_div(next, best, unit, s->prec);
  found->size.lo = arb_is_finite(next) ? enclosure_lower(next) : 0;
  arb_get_ubound_arf(arb_midref(next), best, s->prec);
  mag_zero(arb_radref(next));
  arb_set_ui(best, 1);
  arb_mul_2exp_si(best, best, -s->prec / 2);
  arb_add_ui(best, best, 1, s->prec);
  arb_mul(next, next, best, s->prec); /* (1 + 2^(-prec/2)) of the upper end */
  int made = arb_is_finite(next) && is_made(s, next);
  if (!made) { /* scores whose difference balls do not show: much less than this */
    arb_one(next);
    arb_mul_2exp_si(next, next, -s->prec / 2);
    made = is_made(s, next);
  }
  arb_div(next, next, unit, s->prec);
  found->size.hi = made ? enclosure_upper(next) : INFINITY;
  arb_clear(best);
  arb_clear(next);
  arb_clear(unit);
}

/* Whether a key is left out that is the same as one that is selected and comes before it: then the
 * policy is broken whatever the scores are. */
static int breaks_ties(room_misselection *found, const selection_row *s, attest_status *status,
                       attest_error *error) {
  int64_t n = s->row.count, *before = malloc((size_t)(n + 1) * sizeof *before);
  int broken = 0;
  *status = before ? sparse_row_before(before, &s->row, error)
                   : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for a row of keys");
  for (int64_t i = 0; i < n && !*status && !broken; i++) {
    broken = s->chosen[i] && before[i] >= 0 && !s->chosen[before[i]];
    if (broken) *found = (room_misselection){{INFINITY, INFINITY}, s->row.key[i], -1};
    if (broken) found->left = s->row.key[before[i]];
  }
  free(before);
  return broken;
}

attest_status sparse_misselection(room_misselection *found, const attest_problem *problem,
                                  const problem_slice *slice, int64_t row, const int64_t *selection,
                                  int64_t selected, double u_s, slong prec, attest_error *error) {
  selection_row s;
  *found = (room_misselection){{INFINITY, INFINITY}, -1, -1};
  attest_status status = selection_open(&s, problem, slice, row, prec, error);
  if (status) return status;
  int64_t least, most, k = problem->values.topk, wanted = k < s.row.count ? k : s.row.count;
  found->taken = mark(&s, selection, selected);
  if (found->taken < 0) {
    int kept = keeps_order(&least, &most, &s);
    if (selected != wanted) {
      if (selected < wanted && most >= 0) found->left = s.row.key[most];
      if (selected > wanted && least >= 0) found->taken = s.row.key[least];
    } else if (!breaks_ties(found, &s, &status, error) && !status) {
      if (kept)
        *found = (room_misselection){{0, 0}, -1, -1};
      else
        search(found, &s, least, most, u_s);
    }
  }
  selection_close(&s);
  return status;
}
