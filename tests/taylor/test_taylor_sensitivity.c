/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A and S of the Taylor room against finite differences in 1,000 bits: every score, every term of
 * every polynomial and, for stateful forms, every product of features is moved by itself. */
#include <math.h>

#include "fixture_taylor.h"

enum { PREC = 1000, STEP = -300, KEYS = 4, SIZE = 2 };

/* One row of KEYS keys: scores, values, and what is moved. */
typedef struct {
  int64_t degree; /* -1: the score itself */
  int normalize;
  arb_struct s[KEYS];
  double v[KEYS];
  int key, term; /* term >= 0: that term of the weight of that key is (1 + h) as large */
} model;

static void weight(arb_t w, const model *m, int64_t j) {
  arb_t term;
  arb_init(term);
  arb_zero(w);
  arb_one(term);
  if (m->degree < 0) arb_set(w, m->s + j);
  for (int64_t i = 0; i <= m->degree; i++) {
    if (i > 0) {
      arb_mul(term, term, m->s + j, PREC);
      arb_div_ui(term, term, (ulong)i, PREC);
    }
    arb_add(w, w, term, PREC);
    if (m->key == j && m->term == i) {
      arb_t h;
      arb_init(h);
      arb_mul_2exp_si(h, term, STEP);
      arb_add(w, w, h, PREC);
      arb_clear(h);
    }
  }
  arb_clear(term);
}

/* x of the row; top and bottom are added to numerator and denominator. */
static void value(arb_t x, const model *m, const arb_t top, const arb_t bottom) {
  arb_t w, sum, v;
  arb_init(w);
  arb_init(sum);
  arb_init(v);
  arb_set(x, top);
  arb_set(sum, bottom);
  for (int64_t j = 0; j < KEYS; j++) {
    weight(w, m, j);
    arb_add(sum, sum, w, PREC);
    arb_set_d(v, m->v[j]);
    arb_addmul(x, w, v, PREC);
  }
  if (m->normalize) arb_div(x, x, sum, PREC);
  arb_clear(w);
  arb_clear(sum);
  arb_clear(v);
}

/* total += |x(moved) - x| / h */
static void add_difference(arb_t total, const model *m, const arb_t top, const arb_t bottom,
                           const arb_t x) {
  arb_t moved;
  arb_init(moved);
  value(moved, m, top, bottom);
  arb_sub(moved, moved, x, PREC);
  arb_abs(moved, moved);
  arb_mul_2exp_si(moved, moved, -STEP);
  arb_add(total, total, moved, PREC);
  arb_clear(moved);
}

static void direct_differences(arb_t s, model *m, arb_srcptr t, const arb_t x) {
  arb_t zero, kept;
  arb_init(zero);
  arb_init(kept);
  for (int j = 0; j < KEYS; j++) {
    arb_set(kept, m->s + j);
    arb_mul_2exp_si(m->s + j, t + j, STEP);
    arb_add(m->s + j, m->s + j, kept, PREC);
    add_difference(s, m, zero, zero, x);
    arb_set(m->s + j, kept);
    m->key = j;
    for (m->term = 0; m->term <= m->degree; m->term++)
      add_difference(s, m, zero, zero, x);
    m->key = m->term = -1;
  }
  arb_clear(zero);
  arb_clear(kept);
}

/* Every product scale^m / m! q_(a_1) k_(a_1) .. of every tuple a of every order. */
static void stateful_differences(arb_t s, const model *m, const double *q, const double *k,
                                 const arb_t scale, const arb_t x) {
  arb_t product, factor, zero;
  arb_init(product);
  arb_init(factor);
  arb_init(zero);
  int first = m->degree < 0 ? 1 : 0, last = m->degree < 0 ? 1 : (int)m->degree;
  for (int j = 0; j < KEYS; j++)
    for (int order = first; order <= last; order++)
      for (int tuple = 0; tuple < 1 << order; tuple++) {
        arb_one(product);
        for (int i = 0; i < order; i++) {
          int a = tuple >> i & 1;
          arb_set_d(factor, q[a] * k[j * SIZE + a]); /* few bits: exact */
          arb_mul(product, product, factor, PREC);
          arb_mul(product, product, scale, PREC);
          arb_div_ui(product, product, (ulong)i + 1, PREC);
        }
        arb_mul_2exp_si(product, product, STEP);
        if (m->normalize) add_difference(s, m, zero, product, x);
        arb_set_d(factor, m->v[j]);
        arb_mul(product, product, factor, PREC);
        add_difference(s, m, product, zero, x);
      }
  arb_clear(product);
  arb_clear(factor);
  arb_clear(zero);
}

static double small(uint64_t *seed) {
  return ldexp((double)(tests_random(seed) % 513) - 256, -7);
}

/* S of the room within 10^-30 of the differences. */
static void compare(uint64_t *seed, const char *kernel, const char *degree, const char *form,
                    const char *normalize) {
  const char *params[] = {"form", form,     "normalize", normalize, "scale",
                          "3/4",  "degree", degree,      NULL};
  if (!degree) params[6] = NULL;
  double q[SIZE], k[KEYS * SIZE];
  model m = {.degree = degree ? atoi(degree) : -1,
             .normalize = !strcmp(normalize, "sum"),
             .key = -1,
             .term = -1};
  arb_t scale, x, s, zero;
  arb_ptr t = _arb_vec_init(KEYS);
  arb_init(scale);
  arb_init(x);
  arb_init(s);
  arb_init(zero);
  arb_set_d(scale, 0.75);
  for (int a = 0; a < SIZE; a++)
    q[a] = small(seed);
  for (int j = 0; j < KEYS; j++) {
    double z = 0, size = 0;
    for (int a = 0; a < SIZE; a++) {
      k[j * SIZE + a] = small(seed);
      z += q[a] * k[j * SIZE + a];
      size += fabs(q[a] * k[j * SIZE + a]);
    }
    m.v[j] = small(seed);
    arb_init(m.s + j);
    arb_set_d(m.s + j, 0.75 * z);
    arb_set_d(t + j, 0.75 * size);
  }
  value(x, &m, zero, zero);
  if (!strcmp(form, "direct") && !strcmp(kernel, "taylor"))
    direct_differences(s, &m, t, x);
  else
    stateful_differences(s, &m, q, k, scale, x);
  attest_error error;
  problem_slice slice;
  room_balls balls;
  attest_problem *p = taylor_problem_of(kernel, params, q, k, m.v, 1, KEYS, SIZE, 1);
  problem_slice_get(&slice, p, 0);
  room_balls_init(&balls, 1);
  ck_assert_int_eq(taylor_ball(&balls, p, &slice, 0, OUTPUT_OUT, WANT_CONDITION, 300, &error),
                   ATTEST_OK);
  arb_sub(s, s, balls.s, PREC);
  arb_div(s, s, balls.s, PREC);
  double off = fabs(arf_get_d(arb_midref(s), ARF_RND_UP));
  ck_assert_msg(off < 1e-30, "%s %s degree %s normalize %s: S is off by %g", kernel, form,
                degree ? degree : "-", normalize, off);
  room_balls_clear(&balls);
  attest_problem_free(p);
  for (int j = 0; j < KEYS; j++)
    arb_clear(m.s + j);
  _arb_vec_clear(t, KEYS);
  arb_clear(scale);
  arb_clear(x);
  arb_clear(s);
  arb_clear(zero);
}

START_TEST(the_sensitivity_is_the_sum_of_all_derivatives) {
  static const char *const degrees[] = {"0", "1", "2", "3", "5"};
  static const char *const forms[] = {"direct", "recurrent", "chunked"};
  static const char *const normalizes[] = {"sum", "none"};
  uint64_t seed = tests_seed();
  for (int round = 0; round < 3; round++)
    for (int n = 0; n < 2; n++) {
      for (int i = 0; i < 5; i++)
        for (int f = 0; f < 3; f++)
          compare(&seed, "taylor", degrees[i], forms[f], normalizes[n]);
      compare(&seed, "linear", NULL, "direct", normalizes[n]);
    }
}
END_TEST

void test_taylor_sensitivity(Suite *suite) {
  TCase *tc = tcase_create("taylor sensitivity");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, the_sensitivity_is_the_sum_of_all_derivatives);
  suite_add_tcase(suite, tc);
}
