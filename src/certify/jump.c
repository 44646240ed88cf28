/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rows of discontinuous kernels (top-k, radius), and of continuous ones whose support can empty,
 * that several selections of keys may explain: the
 * scores at the cut are so close that moving them by no more than the bound allows changes which
 * keys are selected. Such a row is certified when one admissible selection explains all its
 * elements: the kernel's own, the one returned as indices, canonical ones, then all of them up to
 * 2^16. A row that differs from each of them is refuted. An element that is
 * farther from the hull of all selections than its bound allows is, too; what is left is
 * undecided. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum { ENUMERATE_MAX = 1 << 16 };

/* The search: one admissible selection after the other. */
typedef struct {
  const engine_place *at;
  const engine_view *view;
  engine_element *elements;
  int64_t count;
  room_choice choice;
  unsigned char *chosen; /* a loose key each */
  int64_t *keys;         /* the selection, rising */
  const double *got;
  double *weights; /* of mixtures, a loose key each */
  int none;        /* no selection met so far may explain the row */
} search;

static engine_selection selection_of(const search *s) {
  int64_t f = 0, n = 0;
  for (int64_t l = 0; l < s->choice.loose_count; l++) {
    if (!s->chosen[l]) continue;
    while (f < s->choice.fixed_count && s->choice.fixed[f] < s->choice.loose[l])
      s->keys[n++] = s->choice.fixed[f++];
    s->keys[n++] = s->choice.loose[l];
  }
  while (f < s->choice.fixed_count)
    s->keys[n++] = s->choice.fixed[f++];
  return (engine_selection){s->keys, n, NULL};
}

static int keeps_order(const search *s) {
  for (int64_t l = 0; l < s->choice.loose_count; l++)
    if (s->chosen[l] && s->choice.before[l] >= 0 && !s->chosen[s->choice.before[l]]) return 0;
  return 1;
}

static int is_admitted(const search *s, const engine_selection *found) {
  const engine_place *at = s->at;
  return at->e->room->admits(&s->choice, found->keys, found->count, at->o->subject->problem,
                             at->slice, at->row, at->o->edge);
}

/* Whether the selection is admissible and explains the row. */
static int is_explanation(search *s, const engine_selection *found) {
  const engine_place *at = s->at;
  int admitted = is_admitted(s, found);
  if (!admitted && !s->none) return 0;
  int fit = engine_fits(at, s->view, s->elements, s->count, found);
  s->none &= fit < 0; /* where the order of keys stays open, some that are not admitted may be */
  return admitted && fit > 0;
}

/* What is chosen now. 0: that is no selection. */
static int take_chosen(const search *s, engine_selection *found) {
  *found = selection_of(s);
  return (found->count > 0 || s->choice.may_be_empty) && keeps_order(s);
}

static int explains(search *s, engine_selection *found) {
  return take_chosen(s, found) && is_explanation(s, found);
}

/* The first n loose keys, or the last n. */
static void choose_run(search *s, int64_t n, int from_end) {
  int64_t all = s->choice.loose_count;
  memset(s->chosen, 0, (size_t)all);
  memset(s->chosen + (from_end ? all - n : 0), 1, (size_t)n);
}

static int compare_keys(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Chooses what the subject returned as indices: 0 where that is none of the selections. */
static int choose_given(search *s) {
  const attest_tensor *t = &s->at->slice->indices;
  int64_t fixed = 0, loose = 0;
  if (!t->data) return 0;
  memset(s->chosen, 0, (size_t)s->choice.loose_count);
  for (int64_t i = 0; i < t->shape[1]; i++) {
    int64_t key = tensor_int_at(t, s->at->row * t->stride[0] + i * t->stride[1]);
    const int64_t *place =
        bsearch(&key, s->choice.loose, (size_t)s->choice.loose_count, sizeof key, compare_keys);
    fixed += bsearch(&key, s->choice.fixed, (size_t)s->choice.fixed_count, sizeof key,
                     compare_keys) != NULL;
    if (!place) continue;
    loose += !s->chosen[place - s->choice.loose];
    s->chosen[place - s->choice.loose] = 1;
  }
  return fixed == s->choice.fixed_count && loose == s->choice.choose;
}

/* The first of the loose keys (side 0) or the last (1); where any number may be chosen, none or
 * all. */
static void choose_canonical(search *s, int side) {
  choose_run(s, s->choice.choose >= 0 ? s->choice.choose : side * s->choice.loose_count, side);
}

static int canonical_explains(search *s, engine_selection *found) {
  for (int side = 0; side < 2; side++) {
    choose_canonical(s, side);
    if (explains(s, found)) return 1;
  }
  return 0;
}

/* How many selections there are, at most ENUMERATE_MAX + 1. */
static int64_t selections(const room_choice *choice) {
  double total =
      choice->choose < 0 ? ldexp(1, choice->loose_count < 60 ? (int)choice->loose_count : 60) : 1;
  for (int64_t i = 0; i < choice->choose && total <= ENUMERATE_MAX; i++)
    total = total * (double)(choice->loose_count - i) / (double)(i + 1);
  return total <= ENUMERATE_MAX ? (int64_t)total : ENUMERATE_MAX + 1;
}

/* The next selection: binary counting, or the next combination of as many. 0: that was the last. */
static int advance(search *s) {
  int64_t all = s->choice.loose_count, i = 0, ones = 0;
  unsigned char *chosen = s->chosen;
  if (s->choice.choose < 0) {
    while (i < all && chosen[i])
      chosen[i++] = 0;
    if (i < all) chosen[i] = 1;
    return i < all;
  }
  /* The lowest chosen key with room above moves up, those below it go down to the start. */
  while (i < all && !chosen[i])
    i++;
  for (; i + 1 < all && chosen[i + 1]; i++)
    ones++;
  if (i + 1 >= all) return 0;
  memset(chosen, 0, (size_t)i + 1);
  memset(chosen, 1, (size_t)ones);
  chosen[i + 1] = 1;
  return 1;
}

/* No key at all, then the proportions in which the values are nearest to the row. */
static int mixture_explains(search *s, engine_selection *found) {
  const engine_place *at = s->at;
  *found = (engine_selection){s->keys, 0, NULL};
  if (s->choice.may_be_empty && is_explanation(s, found)) return 1;
  if (!at->e->room->mix(s->weights, &s->choice, at->slice, s->got)) return 0;
  *found = (engine_selection){s->choice.loose, s->choice.loose_count, s->weights};
  return is_explanation(s, found);
}

/* Whether weights are those of a selection and nothing else: the bounds admit no moved scores,
 * which would move them too. */
static int has_exact_weights(const engine_output *o) {
  return !isfinite(o->lowest_limit[MEASURE_BACKWARD]) && !isfinite(o->lowest_limit[MEASURE_THEORY]);
}

static int any_explains(search *s, engine_selection *found) {
  if (s->choice.mixes) return mixture_explains(s, found);
  if (choose_given(s) && explains(s, found)) return 1;
  if (canonical_explains(s, found)) return 1;
  if (selections(&s->choice) > ENUMERATE_MAX) return 0;
  s->none = has_exact_weights(s->at->o);
  choose_run(s, s->choice.choose > 0 ? s->choice.choose : 0, 0);
  do {
    if (engine_stopped(s->at->e)) return s->none = 0;
    if (explains(s, found)) return 1;
  } while (advance(s));
  return 0;
}

/* Elements beyond all selections are measured against the kernel's own and refuted; the others of
 * the row stay undecided. */
static void refute_or_leave(search *s) {
  const engine_place *at = s->at;
  const engine_output *o = at->o;
  double limit = o->lowest_limit[MEASURE_BACKWARD]; /* other measures are left undecided */
  int64_t beyond = 0;
  for (int64_t i = 0; i < s->count; i++) {
    engine_element *element = &s->elements[i];
    int outside = !isfinite(element->got);
    if (!outside && isfinite(limit))
      outside = at->e->room->outside(&s->choice, o->subject->problem, at->slice, at->row,
                                     element->component, element->got, limit * o->u_w,
                                     limit * o->u_s, limit * o->quantum);
    if (!outside) {
      element->open = 0;
      atomic_fetch_or(&at->o->why, WHY_SELECTION);
      continue;
    }
    engine_element held = *element;
    *element = s->elements[beyond];
    s->elements[beyond++] = held;
  }
  for (int64_t i = 0; i < beyond; i++)
    engine_settle_explicit(at, &s->elements[i], 0, limit); /* proved: no perturbation explains it */
  if (beyond) engine_climb(at, s->view, s->elements, beyond);
}

/* Where no selection explains the row, the kernel's own does not either, and shows where. */
static void settle(search *s) {
  engine_selection found;
  int fit = engine_fits(s->at, s->view, s->elements, s->count, NULL);
  if (fit <= 0 && any_explains(s, &found))
    engine_climb_selection(s->at, s->view, s->elements, s->count, &found);
  else if (fit > 0 || (fit < 0 && s->none))
    engine_climb(s->at, s->view, s->elements, s->count);
  else
    refute_or_leave(s);
}

/* ATTEST_OK and loose_count 0: there is only one selection. */
static attest_status open_search(search *s, engine_scratch *scratch, const engine_place *at,
                                 const engine_view *view, attest_error *error) {
  *s = (search){.at = at,
                .view = view,
                .elements = scratch->elements,
                .count = at->o->width,
                .got = scratch->got};
  attest_status status = at->e->room->choice(&s->choice, at->o->subject->problem, at->slice,
                                             at->row, at->o->edge, error);
  if (status || s->choice.loose_count == 0) return status;
  s->chosen = calloc((size_t)s->choice.loose_count + 1, 1);
  s->weights = malloc((size_t)(s->choice.loose_count + 1) * sizeof *s->weights);
  s->keys = malloc((size_t)(s->choice.fixed_count + s->choice.loose_count + 1) * sizeof *s->keys);
  return s->chosen && s->weights && s->keys
             ? ATTEST_OK
             : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
}

static void close_search(search *s) {
  free(s->chosen);
  free(s->weights);
  free(s->keys);
  room_choice_clear(&s->choice);
}

int engine_jump(engine_scratch *scratch, const engine_place *at, const engine_view *view) {
  search s;
  attest_error error;
  attest_status status = open_search(&s, scratch, at, view, &error);
  int several = status || s.choice.loose_count > 0;
  if (status) {
    engine_fail(at->e, status, &error);
  } else if (several) {
    for (int64_t c = 0; c < s.count; c++)
      engine_element_init(&s.elements[c], at, c, scratch->got[c]);
    settle(&s);
    for (int64_t c = 0; c < s.count; c++)
      engine_element_count(at, &s.elements[c]);
  }
  close_search(&s);
  return several;
}

/* ---- nmse ---- */

/* So many selections are looked through for the sums of a row. */
enum { MOMENTS_MAX = 1 << 12 };

/* The sums of a row over its selections: of the nearest admissible one, and bounds for all. */
typedef struct {
  engine_moments nearest;
  double error_lo, exact_hi;
} selection_sums;

static void add_sums(selection_sums *sums, search *s, engine_scratch *scratch,
                     const engine_selection *found) {
  attest_error error;
  engine_moments m;
  attest_status status = engine_moments_of(&m, scratch, s->at, found, &error);
  if (status) {
    engine_fail(s->at->e, status, &error);
    return;
  }
  sums->error_lo = fmin(sums->error_lo, m.error_lo);
  sums->exact_hi = fmax(sums->exact_hi, m.exact_hi);
  if (m.error_hi < sums->nearest.error_hi && (!found || is_admitted(s, found))) sums->nearest = m;
}

static void add_chosen(selection_sums *sums, search *s, engine_scratch *scratch) {
  engine_selection found;
  if (take_chosen(s, &found)) add_sums(sums, s, scratch, &found);
}

/* Those that any_explains looks at first. */
static void add_some(selection_sums *sums, search *s, engine_scratch *scratch) {
  engine_selection found = {s->keys, 0, NULL};
  if (s->choice.mixes) {
    if (s->choice.may_be_empty) add_sums(sums, s, scratch, &found);
    if (!s->at->e->room->mix(s->weights, &s->choice, s->at->slice, s->got)) return;
    found = (engine_selection){s->choice.loose, s->choice.loose_count, s->weights};
    add_sums(sums, s, scratch, &found);
    return;
  }
  if (choose_given(s)) add_chosen(sums, s, scratch);
  for (int side = 0; side < 2; side++) {
    choose_canonical(s, side);
    add_chosen(sums, s, scratch);
  }
}

int engine_jump_moments(engine_scratch *scratch, const engine_place *at, const engine_view *view) {
  search s;
  attest_error error;
  attest_status status = open_search(&s, scratch, at, view, &error);
  int several = status || s.choice.loose_count > 0;
  if (status) {
    engine_fail(at->e, status, &error);
  } else if (several) {
    selection_sums sums = {{0, INFINITY, 0, INFINITY, 1}, INFINITY, 0};
    int all = !s.choice.mixes && selections(&s.choice) <= MOMENTS_MAX;
    add_sums(&sums, &s, scratch, NULL);
    if (!all) add_some(&sums, &s, scratch);
    if (all) choose_run(&s, s.choice.choose > 0 ? s.choice.choose : 0, 0);
    for (int more = all; more && !engine_stopped(at->e); more = advance(&s))
      add_chosen(&sums, &s, scratch);
    at->o->moments[engine_row_index(at->e->problem, at->slice, at->o->output, at->row)] =
        (engine_moments){all ? sums.error_lo : 0, sums.nearest.error_hi, sums.nearest.exact_lo,
                         all ? sums.exact_hi : INFINITY, 1};
  }
  close_search(&s);
  return several;
}
