/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rows near a jump: which selections scores make that move by at most edge t_j.
 *
 * top-k: a set S of k keys is selected by some such scores iff min over S of (s + edge t) >= max
 * over the others of (s - edge t): raise the ones, lower the others. So a key is in every such S
 * when fewer than k others have s + edge t >= its s - edge t, and in none when at least k others
 * have s - edge t > its s + edge t. uniform: a key is in for certain iff y >= edge t, and out iff
 * y < -edge t. Powers [y]_+^r: a key carries weight for certain iff y > edge t, and can iff y >
 * -edge t. Where none does for certain all weights can vanish; then those that can carry weight
 * have any from 0 to some positive one, so that their values mix in any proportion.
 *
 * What explains a row may be none of these selections but by mistake, so the signs of the ends y +-
 * edge t are exact, rounding never makes a key loose. Top-k counts keys of which doubles do not
 * tell as loose, which only makes for more to look through: what is admitted is decided exactly.
 * An end whose sign stays open (moved.c) neither admits nor rules out. */
#include <stdlib.h>
#include <string.h>

#include "weights.h"

enum { PREC = 128 };

/* All visible keys with s -+ edge t. */
typedef struct {
  sparse_row row;
  double edge;
  arb_ptr low, high; /* s - edge t, s + edge t */
} reach_row;

static attest_status reach_open(reach_row *r, const attest_problem *problem,
                                const problem_slice *slice, int64_t row, double edge,
                                attest_error *error) {
  attest_status status = sparse_row_init(&r->row, problem, slice, row, 1, error);
  if (status) return status;
  int64_t n = r->row.count;
  arb_t size;
  arb_init(size);
  arb_set_d(size, edge);
  r->edge = edge;
  r->low = _arb_vec_init(n);
  r->high = _arb_vec_init(n);
  sparse_row_arguments(r->low, r->high, &r->row, PREC);
  for (int64_t j = 0; j < n; j++) {
    arb_mul(r->high + j, r->high + j, size, PREC);
    arb_sub(size, r->low + j, r->high + j, PREC);
    arb_add(r->high + j, r->low + j, r->high + j, PREC);
    arb_swap(r->low + j, size);
    arb_set_d(size, edge);
  }
  arb_clear(size);
  return ATTEST_OK;
}

static void reach_close(reach_row *r) {
  int64_t n = r->row.capacity;
  _arb_vec_clear(r->low, n);
  _arb_vec_clear(r->high, n);
  sparse_row_clear(&r->row);
}

static int is_top(const attest_problem *problem) {
  sparse_rule rule = sparse_kernel_of(problem)->rule;
  return rule == RULE_TOP_EXP || rule == RULE_TOP_MEAN;
}

/* ---- places ---- */

enum { KEY_OUT, KEY_LOOSE, KEY_FIXED };

static int compare_upper(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

/* The largest end is about 2^e: scaled by that, ends are doubles, whatever the scores are. */
static slong exponent_of(const reach_row *r) {
  slong most = 0;
  int found = 0;
  for (int64_t j = 0; j < 2 * r->row.count; j++) {
    slong e = arf_abs_bound_lt_2exp_si(arb_midref(j % 2 ? r->low + j / 2 : r->high + j / 2));
    if (e <= -ARF_PREC_EXACT || e >= ARF_PREC_EXACT) continue; /* 0, or beyond all bounds */
    if (!found || e > most) most = e;
    found = 1;
  }
  return most;
}

/* place[j] of every key under top-k: against the k-th and (k+1)-th largest ends, in double with
 * outward rounding. */
static int place_top(unsigned char *place, const reach_row *r, int64_t k) {
  int64_t n = r->row.count;
  double *low = malloc((size_t)(4 * n + 1) * sizeof *low), *high = low + n;
  if (!low) return 0;
  double *sorted_low = high + n, *sorted_high = sorted_low + n;
  slong shift = -exponent_of(r);
  arb_t end;
  arb_init(end);
  for (int64_t j = 0; j < n; j++) {
    arb_mul_2exp_si(end, r->low + j, shift);
    sorted_low[j] = low[j] = enclosure_lower(end);
    arb_mul_2exp_si(end, r->high + j, shift);
    sorted_high[j] = high[j] = enclosure_upper(end);
  }
  arb_clear(end);
  qsort(sorted_low, (size_t)n, sizeof *low, compare_upper);
  qsort(sorted_high, (size_t)n, sizeof *low, compare_upper);
  for (int64_t j = 0; j < n; j++) {
    /* Keys that may come before j, itself among them (high >= low): at most k of them. */
    int surely_in = k >= n || low[j] > sorted_high[k];
    int surely_out = k < n && high[j] < sorted_low[k - 1];
    place[j] = surely_in ? KEY_FIXED : surely_out ? KEY_OUT : KEY_LOOSE;
  }
  free(low);
  return 1;
}

static void place_signs(unsigned char *place, const reach_row *r) {
  for (int64_t j = 0; j < r->row.count; j++) {
    unsigned places = sparse_row_places(&r->row, j, r->edge);
    place[j] = !(places & (SPARSE_MAY_BE_OUT | SPARSE_OUT_OPEN)) ? KEY_FIXED
               : !(places & (SPARSE_MAY_BE_IN | SPARSE_IN_OPEN)) ? KEY_OUT
                                                                 : KEY_LOOSE;
  }
}

/* ---- the order of ends, exactly ---- */

/* The sign of (end of key i) - (end of key j), upper ends for side 1, lower ones for -1. */
static int compare_ends(const reach_row *r, int64_t i, int side_i, int64_t j, int side_j) {
  arb_srcptr x = (side_i < 0 ? r->low : r->high) + i, y = (side_j < 0 ? r->low : r->high) + j;
  if (arb_gt(x, y)) return 1;
  if (arb_lt(x, y)) return -1;
  return sparse_row_moved_compare(&r->row, i, side_i * r->edge, j, side_j * r->edge);
}

/* Replaces the key kept so far (-1: none) by j where the end of j is the lesser (than = 1) or the
 * greater (-1). 0: not known. */
static int keep_extreme(int64_t *kept, const reach_row *r, int64_t j, int side, int than) {
  int order = *kept < 0 ? -than : compare_ends(r, j, side, *kept, side);
  if (order == SPARSE_OPEN) return 0;
  if (order == -than) *kept = j;
  return 1;
}

/* The least end of one side and the largest of the other. Where balls tell them apart, no order
 * among ends of a side is asked, which may stay open where caps are saturated. */
typedef struct {
  arb_t least, most;
  int has_least, has_most;
} end_balls;

static void end_balls_init(end_balls *b) {
  arb_init(b->least);
  arb_init(b->most);
  b->has_least = b->has_most = 0;
}

static void end_balls_add(end_balls *b, const arb_t end, int is_above) {
  int *has = is_above ? &b->has_least : &b->has_most;
  if (!*has)
    arb_set(is_above ? b->least : b->most, end);
  else if (is_above)
    arb_min(b->least, b->least, end, PREC);
  else
    arb_max(b->most, b->most, end, PREC);
  *has = 1;
}

/* Clears them. */
static int end_balls_are_apart(end_balls *b) {
  int apart = !b->has_least || !b->has_most || arb_gt(b->least, b->most);
  arb_clear(b->least);
  arb_clear(b->most);
  return apart;
}

/* Whether no move within the edge changes the kernel's own selection: the least lower end of its k
 * keys, the first of `order`, is above the largest upper end of the others. */
static int is_only_selection(const reach_row *r, const int64_t *order, int64_t k) {
  int64_t least = -1, most = -1;
  end_balls ends;
  end_balls_init(&ends);
  for (int64_t i = 0; i < r->row.count; i++)
    end_balls_add(&ends, (i < k ? r->low : r->high) + order[i], i < k);
  if (end_balls_are_apart(&ends)) return 1;
  for (int64_t i = 0; i < r->row.count; i++) {
    int64_t j = order[i], *kept = i < k ? &least : &most;
    if (!keep_extreme(kept, r, j, i < k ? -1 : 1, i < k ? 1 : -1)) return 0;
  }
  return least >= 0 && most >= 0 && compare_ends(r, least, -1, most, 1) == 1;
}

/* Doubles leave keys loose that lie closer together than they tell. Such a row may have one
 * selection only. 0: out of memory. */
static int place_only(unsigned char *place, const reach_row *r, int64_t k) {
  int64_t n = r->row.count, *order;
  if (!memchr(place, KEY_LOOSE, (size_t)n)) return 1;
  order = malloc((size_t)(n + 1) * sizeof *order);
  if (!order) return 0;
  sparse_row_sort(order, &r->row);
  if (is_only_selection(r, order, k))
    for (int64_t i = 0; i < n; i++)
      place[order[i]] = i < k ? KEY_FIXED : KEY_OUT;
  free(order);
  return 1;
}

/* ---- keys that are the same and have an order ---- */

/* Among the loose keys that are the same: how many come before, the first, and for that one how
 * many there are. */
typedef struct {
  int64_t rank, first, members;
} same_place;

static void rank_same(same_place *same, const int64_t *before, const unsigned char *place,
                      int64_t n, int highest) {
  memset(same, 0, (size_t)n * sizeof *same);
  for (int64_t i = 0; i < n; i++) {
    int64_t j = highest ? n - 1 - i : i, b = before[j]; /* b has been visited */
    if (place[j] != KEY_LOOSE) continue;
    int leads = b < 0 || place[b] != KEY_LOOSE;
    same[j].rank = leads ? 0 : same[b].rank + 1;
    same[j].first = leads ? j : same[b].first;
    same[same[j].first].members++;
  }
}

/* Places loose keys that the order leaves no choice: those with too many before them, and those
 * that the others are too few to replace. Whether there were any. */
static int place_same(unsigned char *place, same_place *same, const int64_t *before, int64_t n,
                      int64_t k, int highest) {
  int64_t loose = 0, choose = k;
  int found = 0;
  for (int64_t j = 0; j < n; j++) {
    loose += place[j] == KEY_LOOSE;
    choose -= place[j] == KEY_FIXED;
  }
  rank_same(same, before, place, n, highest);
  for (int64_t j = 0; j < n; j++) {
    if (place[j] != KEY_LOOSE) continue;
    int64_t others = loose - same[same[j].first].members;
    if (same[j].rank >= choose)
      place[j] = KEY_OUT;
    else if (same[j].rank < choose - others)
      place[j] = KEY_FIXED;
    found |= place[j] != KEY_LOOSE;
  }
  return found;
}

/* A pass may leave room for another; where this stops early the choice is wider than need be. */
enum { PASSES = 8 };
static int place_ordered(unsigned char *place, const sparse_row *r, const int64_t *before,
                         int64_t k) {
  same_place *same = malloc((size_t)(r->count + 1) * sizeof *same);
  int highest = r->problem->values.ties == TIES_HIGHEST, more = same != NULL;
  for (int pass = 0; pass < PASSES && more; pass++)
    more = place_same(place, same, before, r->count, k, highest);
  int ready = same != NULL;
  free(same);
  return ready;
}

/* ---- the choice ---- */

/* Where every key is placed; before[] of every key. 0: out of memory. */
static int place_keys(unsigned char *place, int64_t *before, const reach_row *r, int64_t k) {
  if (!is_top(r->row.problem)) {
    for (int64_t j = 0; j < r->row.count; j++)
      before[j] = -1;
    place_signs(place, r);
    return 1;
  }
  if (!place_top(place, r, k) || !place_only(place, r, k)) return 0;
  if (sparse_row_before(before, &r->row, NULL)) return 0;
  return r->row.problem->values.ties == TIES_ANY || place_ordered(place, &r->row, before, k);
}

/* From places to lists of keys; loose_at: n of scratch. */
static void list_keys(room_choice *choice, const unsigned char *place, const int64_t *before,
                      int64_t *loose_at, const sparse_row *r) {
  for (int64_t j = 0; j < r->count; j++) {
    loose_at[j] = choice->loose_count;
    if (place[j] == KEY_FIXED) choice->fixed[choice->fixed_count++] = r->key[j];
    if (place[j] == KEY_LOOSE) choice->loose[choice->loose_count++] = r->key[j];
  }
  for (int64_t j = 0; j < r->count; j++)
    if (place[j] == KEY_LOOSE)
      choice->before[loose_at[j]] =
          before[j] >= 0 && place[before[j]] == KEY_LOOSE ? loose_at[before[j]] : -1;
}

attest_status sparse_choice(room_choice *choice, const attest_problem *problem,
                            const problem_slice *slice, int64_t row, double edge,
                            attest_error *error) {
  reach_row r;
  memset(choice, 0, sizeof *choice);
  attest_status status = reach_open(&r, problem, slice, row, edge, error);
  if (status) return status;
  int64_t n = r.row.count, k = problem->values.topk < n ? problem->values.topk : n;
  unsigned char *place = calloc((size_t)n + 1, 1);
  int64_t *before = malloc((size_t)(2 * n + 1) * sizeof *before);
  choice->fixed = malloc((size_t)(3 * n + 1) * sizeof *choice->fixed);
  int ready = place && before && choice->fixed;
  if (ready) {
    choice->loose = choice->fixed + n;
    choice->before = choice->fixed + 2 * n;
    ready = place_keys(place, before, &r, k);
  }
  if (ready) list_keys(choice, place, before, before + n, &r.row);
  choice->choose = is_top(problem) ? k - choice->fixed_count : -1;
  choice->mixes = sparse_kernel_of(problem)->rule == RULE_POWER;
  if (choice->mixes && choice->fixed_count) choice->loose_count = 0; /* the support cannot empty */
  choice->may_be_empty =
      choice->choose < 0 && !choice->fixed_count && problem->values.empty_row != EMPTY_ERROR;
  free(place);
  free(before);
  reach_close(&r);
  if (ready) return ATTEST_OK;
  room_choice_clear(choice);
  return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for a row of %lld keys",
                     (long long)n);
}

/* ---- what is admitted ---- */

/* Whether a key may be with those selected (in), or with the others, in rows of signs: of powers
 * none may carry weight for certain, and the ones selected are those that can. */
static int admits_sign(const reach_row *r, int64_t j, int in) {
  unsigned places = sparse_row_places(&r->row, j, r->edge);
  unsigned wanted = in ? SPARSE_MAY_BE_IN : SPARSE_MAY_BE_OUT;
  if (r->row.kernel->rule == RULE_POWER) wanted |= SPARSE_MAY_BE_OUT;
  return (places & wanted) == wanted;
}

static int is_selected(const int64_t *selection, int64_t selected, int64_t at, int64_t key) {
  return at < selected && key == selection[at];
}

/* Whether raising the ones selected and lowering the others makes them the largest. */
static int admits_top(const reach_row *r, const int64_t *selection, int64_t selected) {
  int64_t at = 0, least = -1, most = -1;
  end_balls ends;
  end_balls_init(&ends);
  for (int64_t j = 0; j < r->row.count; j++) {
    int in = is_selected(selection, selected, at, r->row.key[j]);
    at += in;
    end_balls_add(&ends, (in ? r->high : r->low) + j, in);
  }
  if (end_balls_are_apart(&ends)) return at == selected;
  at = 0;
  for (int64_t j = 0; j < r->row.count; j++) {
    int in = is_selected(selection, selected, at, r->row.key[j]), side = in ? 1 : -1;
    at += in;
    if (!keep_extreme(in ? &least : &most, r, j, side, side)) return 0;
  }
  if (at != selected) return 0;
  int order = least >= 0 && most >= 0 ? compare_ends(r, least, 1, most, -1) : 1;
  return order == 0 || order == 1;
}

static int admits_signs(const reach_row *r, const int64_t *selection, int64_t selected) {
  int64_t at = 0;
  for (int64_t j = 0; j < r->row.count; j++) {
    int in = is_selected(selection, selected, at, r->row.key[j]);
    at += in;
    if (!admits_sign(r, j, in)) return 0;
  }
  return at == selected;
}

int sparse_admits(const room_choice *choice, const int64_t *selection, int64_t selected,
                  const attest_problem *problem, const problem_slice *slice, int64_t row,
                  double edge) {
  reach_row r;
  (void)choice;
  if (reach_open(&r, problem, slice, row, edge, NULL)) return 0;
  int admits = (is_top(problem) ? admits_top : admits_signs)(&r, selection, selected);
  reach_close(&r);
  return admits;
}

/* ---- beyond all selections ---- */

/* Whether sum w (v - level) side < 0 for every selection, side = +-1: fixed keys and the best of
 * the loose ones, each with the weight that helps it most. Then every mean lies on the other side
 * of the level. Keys that mix have weights of which no more is known than that they are >= 0: that
 * of 1 each decides as well, since only signs count. */
static int all_beyond(const sparse_weights *w, const room_choice *choice, int64_t component,
                      const arb_t level, int side, double eps_v, double eps_s) {
  int64_t n = w->row.count, loose = 0;
  double *gain = malloc((size_t)(n + 1) * sizeof *gain), total = 0;
  arb_t term, weight, grown;
  if (!gain) return 0;
  arb_init(term);
  arb_init(weight);
  arb_init(grown);
  for (int64_t j = 0, f = 0; j < n; j++) {
    double v = softmax_element(&w->row.slice->v, w->row.key[j], component);
    arb_set_d(term, v);
    arb_sub(term, term, level, PREC);
    arb_mul_si(term, term, side, PREC);
    arb_set_d(grown, fabs(v) * eps_v * (1 + 0x1p-50));
    arb_add(term, term, grown, PREC);
    arb_set_d(grown, w->row.kernel->rule == RULE_TOP_EXP ? eps_s : 0);
    arb_mul(grown, grown, w->t + j, PREC);
    if (!arb_is_positive(term)) arb_neg(grown, grown);
    arb_exp(weight, grown, PREC);
    if (!choice->mixes) arb_mul(weight, weight, w->w + j, PREC);
    arb_mul(term, term, weight, PREC);
    double most = enclosure_upper(term);
    if (f < choice->fixed_count && choice->fixed[f] == w->row.key[j]) {
      total += most + fabs(most) * 0x1p-40;
      f++;
    } else {
      gain[loose++] = most + fabs(most) * 0x1p-40;
    }
  }
  qsort(gain, (size_t)loose, sizeof *gain, compare_upper);
  double size = fabs(total);
  if (choice->choose < 0 && !choice->fixed_count && loose) {
    /* Any of them may be alone, or none selected. */
    total = gain[0];
    loose = 0;
  }
  for (int64_t i = 0; i < loose; i++) {
    if (choice->choose < 0 ? gain[i] <= 0 : i >= choice->choose) break;
    total += gain[i];
    size += fabs(gain[i]);
  }
  arb_clear(term);
  arb_clear(weight);
  arb_clear(grown);
  free(gain);
  return total + size * 0x1p-40 < 0;
}

int sparse_outside(const room_choice *choice, const attest_problem *problem,
                   const problem_slice *slice, int64_t row, int64_t component, double got,
                   double eps_v, double eps_s, double quanta) {
  sparse_weights w;
  int64_t f = 0, l = 0, n = 0,
          *keys = malloc((size_t)(choice->fixed_count + choice->loose_count + 1) * sizeof *keys);
  if (!keys) return 0;
  while (f < choice->fixed_count || l < choice->loose_count)
    keys[n++] =
        l == choice->loose_count || (f < choice->fixed_count && choice->fixed[f] < choice->loose[l])
            ? choice->fixed[f++]
            : choice->loose[l++];
  int outside = 0;
  if (choice->may_be_empty && problem->values.empty_row == EMPTY_ZERO && fabs(got) <= quanta) n = 0;
  if (n && !sparse_weights_select(&w, problem, slice, row, keys, n, 1, PREC, NULL)) {
    arb_t level;
    arb_init(level);
    for (int side = -1; side <= 1 && !outside; side += 2) {
      arb_set_d(level, got);
      arb_t off;
      arb_init(off);
      arb_set_d(off, side * quanta);
      arb_sub(level, level, off, PREC);
      outside = all_beyond(&w, choice, component, level, side, eps_v, eps_s);
      arb_clear(off);
    }
    arb_clear(level);
    sparse_weights_clear(&w);
  }
  free(keys);
  return outside;
}
