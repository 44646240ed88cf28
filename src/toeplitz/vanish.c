/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rows whose weights, scores or polynomials of them, and eps add up to exactly 0, and elements that
 * are exactly some rational number: decided over the rationals, with sqrt(r) adjoined for a scale
 * of sqrt(r). */
#include <math.h>
#include <stdlib.h>

#include "../problem/pairing.h"
#include "../problem/rotary.h"
#include "scores.h"

/* To tell a denominator from 0. */
#define DENOMINATOR_BITS 1024

/* Entries times bits of the powers of rotary angles, at most. */
#define ROTARY_ENTRIES_MAX (INT64_C(1) << 22)

/* ---- rows that vanish ---- */

static int pair_is_zero(const attest_tensor *t, int64_t row, int64_t a, int64_t b) {
  return tensor_at(t, row * t->stride[0] + a * t->stride[1]) == 0 &&
         tensor_at(t, row * t->stride[0] + b * t->stride[1]) == 0;
}

int rope_linear_vanishes(const attest_problem *problem, const problem_slice *slice, int64_t row) {
  int64_t lo, hi, a, b;
  if (problem->values.scale.sign == 0) return 1;
  problem_visible_range(&lo, &hi, problem, slice, row);
  for (int64_t m = 0; m < slice->d / 2; m++) {
    problem_rotary_pair(&a, &b, &problem->values, slice->d, m);
    if (pair_is_zero(&slice->q, row, a, b)) continue;
    for (int64_t j = lo; j < hi; j++)
      if (problem_visible(problem, slice, row, j) && !pair_is_zero(&slice->k, j, a, b)) return 0;
  }
  return 1;
}

/* ---- sums that vanish ---- */

/* The sums over keys of y times powers 0 .. degree of the exact forms of a row. 0 where a form is
 * not dyadic. */
static int power_sums(fmpq *sum, slong degree, const fmpq *y, const softmax_keys *keys,
                      const attest_problem *problem, const problem_slice *slice, int64_t row) {
  arf_t form;
  fmpq_t x, power;
  int exact = 1;
  arf_init(form);
  fmpq_init(x);
  fmpq_init(power);
  for (int64_t n = 0; n < keys->count && exact; n++) {
    exact = problem_pair_exact(form, problem, slice, row, keys->key[n]);
    arf_get_fmpq(x, form);
    fmpq_set(power, y + n);
    for (slong t = 0; t <= degree && exact; t++) {
      fmpq_add(sum + t, sum + t, power);
      fmpq_mul(power, power, x);
    }
  }
  arf_clear(form);
  fmpq_clear(x);
  fmpq_clear(power);
  return exact;
}

/* ---- sums of rotated scores ---- */

/* With q, k the complex numbers of pair m, q^T R_p k = Re(conj(q) k e^(i p theta_m)), so that the
 * sum of the scores of a row is a combination, with dyadic coefficients, of 1 and of cos x and sin
 * x for the numbers x = |p| theta_m > 0. theta_m = rope-base^(-2m/d) is algebraic; so, by Lindemann
 * and Weierstrass, numbers e^(ix) of different algebraic x are linearly independent over the
 * algebraic numbers, and the sum is rational if and only if for every x the coefficients of its
 * cosine and of its sine add up to 0. */
typedef struct {
  int64_t steps, pairs; /* |p| < steps */
  fmpq *cosine, *sine;  /* [steps][pairs] */
} rotary_sum;

static void exact_product(fmpq_t x, const attest_tensor *q, int64_t i, int64_t a,
                          const attest_tensor *k, int64_t j, int64_t b) {
  arf_t y, z;
  arf_init(y);
  arf_init(z);
  arf_set_d(y, tensor_at(q, i * q->stride[0] + a * q->stride[1]));
  arf_set_d(z, tensor_at(k, j * k->stride[0] + b * k->stride[1]));
  arf_mul(y, y, z, ARF_PREC_EXACT, ARF_RND_DOWN);
  arf_get_fmpq(x, y);
  arf_clear(y);
  arf_clear(z);
}

/* Adds what pair m of query i and key j has at step p, times y. */
static void add_pair(rotary_sum *sum, const fmpq_t y, const attest_problem *problem,
                     const problem_slice *slice, int64_t i, int64_t j, int64_t m) {
  const attest_tensor *q = &slice->q, *k = &slice->k;
  int64_t a, b, p = j - i - slice->offset, at = llabs(p) * sum->pairs + m;
  fmpq_t x;
  fmpq_init(x);
  problem_rotary_pair(&a, &b, &problem->values, slice->d, m);
  exact_product(x, q, i, a, k, j, a);
  fmpq_addmul(sum->cosine + at, x, y);
  exact_product(x, q, i, b, k, j, b);
  fmpq_addmul(sum->cosine + at, x, y);
  /* The imaginary part, q_a k_b - q_b k_a, meets - sin(p theta). */
  exact_product(x, q, i, b, k, j, a);
  if (p < 0) fmpq_neg(x, x);
  fmpq_addmul(sum->sine + at, x, y);
  exact_product(x, q, i, a, k, j, b);
  if (p > 0) fmpq_neg(x, x);
  fmpq_addmul(sum->sine + at, x, y);
  fmpq_clear(x);
}

/* One x of the sum whose coefficients are not both 0, as a rational power of itself. */
typedef struct {
  fmpq_t power;
  int64_t at;
} rotary_angle;

static int compare_angles(const void *a, const void *b) {
  return fmpq_cmp(((const rotary_angle *)a)->power, ((const rotary_angle *)b)->power);
}

/* x^P with P = d/2, or d where the base is the square root of its rational: |p|^P base^-m. */
static void angle_power(fmpq_t power, const rotary_sum *sum, const problem_real *base, int64_t at) {
  fmpq_set_si(power, at / sum->pairs, 1);
  fmpq_pow_si(power, power, base->root ? 2 * sum->pairs : sum->pairs);
  fmpq_t theta;
  fmpq_init(theta);
  fmpq_pow_si(theta, base->value, -(at % sum->pairs));
  fmpq_mul(power, power, theta);
  fmpq_clear(theta);
}

/* Whether the coefficients of every run of equal angles, which are sorted, add up to 0. */
static int runs_vanish(const rotary_angle *angle, int64_t count, const rotary_sum *sum) {
  fmpq_t c, s;
  int zero = 1;
  fmpq_init(c);
  fmpq_init(s);
  for (int64_t n = 0; n < count && zero; n++) {
    fmpq_add(c, c, sum->cosine + angle[n].at);
    fmpq_add(s, s, sum->sine + angle[n].at);
    if (n + 1 < count && fmpq_equal(angle[n].power, angle[n + 1].power)) continue;
    zero = fmpq_is_zero(c) && fmpq_is_zero(s);
    fmpq_zero(c);
    fmpq_zero(s);
  }
  fmpq_clear(c);
  fmpq_clear(s);
  return zero;
}

/* Whether nothing but the rational part is left. 0 also where memory is short. */
static int angles_vanish(const rotary_sum *sum, const problem_real *base) {
  int64_t count = 0, n = sum->steps * sum->pairs;
  rotary_angle *angle = malloc((size_t)(n + 1) * sizeof *angle);
  for (int64_t at = sum->pairs; angle && at < n; at++) {
    if (fmpq_is_zero(sum->cosine + at) && fmpq_is_zero(sum->sine + at)) continue;
    fmpq_init(angle[count].power);
    angle_power(angle[count].power, sum, base, at);
    angle[count++].at = at;
  }
  int zero = angle != NULL;
  if (zero) qsort(angle, (size_t)count, sizeof *angle, compare_angles);
  zero = zero && runs_vanish(angle, count, sum);
  for (int64_t i = 0; i < count; i++)
    fmpq_clear(angle[i].power);
  free(angle);
  return zero;
}

/* y times powers 0 .. degree of the forms of a row under rotations, summed. 0 where that is
 * irrational, for powers above 1 of anything but one key at the query's own position, and where the
 * powers of angles would be large. */
static int rotary_sums(fmpq *total, slong degree, const fmpq *y, const softmax_keys *keys,
                       const attest_problem *problem, const problem_slice *slice, int64_t row) {
  rotary_sum sum = {.pairs = slice->d / 2};
  for (int64_t n = 0; n < keys->count; n++) {
    int64_t steps = llabs(keys->key[n] - row - slice->offset) + 1;
    if (steps > sum.steps) sum.steps = steps;
  }
  int64_t entries = sum.steps * sum.pairs;
  if ((degree > 1 && sum.steps > 1) || entries > ROTARY_ENTRIES_MAX / (sum.pairs + 1)) return 0;
  sum.cosine = _fmpq_vec_init(2 * entries);
  sum.sine = sum.cosine + entries;
  for (int64_t n = 0; n < keys->count; n++)
    for (int64_t m = 0; m < sum.pairs; m++)
      add_pair(&sum, y + n, problem, slice, row, keys->key[n], m);
  int rational = degree == 0 || angles_vanish(&sum, &problem->values.rope_base);
  for (int64_t n = 0; n < keys->count; n++)
    fmpq_add(total, total, y + n);
  for (int64_t m = 0; m < sum.pairs && degree > 0 && entries > 0; m++)
    fmpq_add(total + 1, total + 1, sum.cosine + m);
  for (slong t = 2; t <= degree && !fmpq_is_zero(total); t++) { /* y s^t; y = 0: all are 0 */
    fmpq_mul(total + t, total + t - 1, total + 1);
    fmpq_div(total + t, total + t, total);
  }
  _fmpq_vec_clear(sum.cosine, 2 * entries);
  return rational;
}

/* ---- polynomials of sums ---- */

/* sum_t c_t f^t sum_t with f = scale / temperature: even and odd part, the latter over f. */
static void even_and_odd(fmpq part[2], const double *c, slong degree, const fmpq *sum,
                         const problem_real *f) {
  fmpq_t square, power, x;
  arf_t d;
  fmpq_init(square);
  fmpq_init(power);
  fmpq_init(x);
  arf_init(d);
  fmpq_set(square, f->value);
  if (!f->root) fmpq_mul(square, square, f->value);
  fmpq_one(power);
  for (slong t = 0; t <= degree; t++) {
    if (t > 0 && t % 2 == 0) fmpq_mul(power, power, square);
    arf_set_d(d, c[t]);
    arf_get_fmpq(x, d);
    fmpq_mul(x, x, power);
    fmpq_addmul(part + t % 2, x, sum + t);
  }
  fmpq_clear(square);
  fmpq_clear(power);
  fmpq_clear(x);
  arf_clear(d);
}

/* a + b f = 0: where f is irrational, only if both vanish. */
static int sum_is_zero(fmpq part[2], const problem_real *f) {
  if (f->root) return fmpq_is_zero(part) && fmpq_is_zero(part + 1);
  fmpq_mul(part + 1, part + 1, f->value);
  if (f->sign < 0) fmpq_neg(part + 1, part + 1);
  fmpq_add(part, part, part + 1);
  return fmpq_is_zero(part);
}

static int is_finite(const attest_tensor *t, int64_t row) {
  for (int64_t a = 0; a < t->shape[1]; a++)
    if (!isfinite(tensor_at(t, row * t->stride[0] + a * t->stride[1]))) return 0;
  return 1;
}

/* Numbers that are not finite have no exact value. */
static int row_is_finite(const softmax_keys *keys, const problem_slice *slice, int64_t row) {
  int finite = is_finite(&slice->q, row);
  for (int64_t n = 0; n < keys->count && finite; n++)
    finite = is_finite(&slice->k, keys->key[n]);
  return finite;
}

/* Whether sum_j y_j w_j + rest = 0; 0 also where that is not known. */
static int sum_vanishes(const attest_problem *problem, const problem_slice *slice, int64_t row,
                        const softmax_keys *keys, const fmpq *y, const fmpq_t rest) {
  double c[PROBLEM_COEFFICIENTS_MAX] = {0, 1}; /* the scores themselves */
  slong degree = problem_coefficients(c, problem);
  problem_real f;
  if (degree < 0) degree = 1;
  if (fmpq_is_zero(rest) && c[0] == 0 && problem->pairing == PAIRING_ROTARY &&
      rope_linear_vanishes(problem, slice, row))
    return 1;
  while (degree > 0 && c[degree] == 0)
    degree--;
  fmpq *sum = _fmpq_vec_init(degree + 1), *part = _fmpq_vec_init(2);
  problem_real_init(&f);
  problem_real_inv(&f, &problem->values.temperature);
  problem_real_mul(&f, &f, &problem->values.scale);
  int zero = !row_is_finite(keys, slice, row) ? 0
             : problem->pairing == PAIRING_ROTARY
                 ? rotary_sums(sum, degree, y, keys, problem, slice, row)
                 : power_sums(sum, degree, y, keys, problem, slice, row);
  if (zero) {
    even_and_odd(part, c, degree, sum, &f);
    fmpq_add(part, part, rest);
    zero = sum_is_zero(part, &f);
  }
  problem_real_clear(&f);
  _fmpq_vec_clear(sum, degree + 1);
  _fmpq_vec_clear(part, 2);
  return zero;
}

int weights_vanish(const attest_problem *problem, const problem_slice *slice, int64_t row) {
  const problem_real *eps = &problem->values.eps;
  softmax_keys keys;
  if (eps->root || softmax_keys_init(&keys, problem, slice, row, NULL)) return 0;
  fmpq *one = _fmpq_vec_init(keys.count);
  for (int64_t n = 0; n < keys.count; n++)
    fmpq_one(one + n);
  int zero = sum_vanishes(problem, slice, row, &keys, one, eps->value);
  _fmpq_vec_clear(one, keys.count);
  softmax_keys_clear(&keys);
  return zero;
}

/* ---- elements that are known numbers ---- */

/* Whether balls tell that the row has a denominator. */
static int has_denominator(const attest_problem *problem, const problem_slice *slice, int64_t row) {
  score_row r;
  if (score_row_init(&r, problem, slice, row, DENOMINATOR_BITS, NULL)) return 0;
  int known = !arb_contains_zero(r.total);
  score_row_clear(&r);
  return known;
}

/* sum_i coefficient_i x_i = constant is sum_j w_j y_j = constant eps with y_j = sum_i coefficient_i
 * v_j[component_i] - constant; without normalisation sum_j w_j y_j = constant, y_j without it. */
int score_linear_zero(const attest_problem *problem, const problem_slice *slice, int64_t row,
                      int output, int n, const int64_t component[], const fmpq *coefficient,
                      const fmpq_t constant) {
  const problem_real *eps = &problem->values.eps;
  int normalizes = problem->values.normalize == NORMALIZE_SUM;
  softmax_keys keys;
  (void)output; /* only out */
  if ((normalizes && eps->root) || softmax_keys_init(&keys, problem, slice, row, NULL)) return -1;
  arf_t v;
  fmpq_t x, rest;
  arf_init(v);
  fmpq_init(x);
  fmpq_init(rest);
  fmpq *y = _fmpq_vec_init(keys.count);
  for (int64_t m = 0; m < keys.count; m++) {
    for (int i = 0; i < n; i++) {
      arf_set_d(v, softmax_element(&slice->v, keys.key[m], component[i]));
      arf_get_fmpq(x, v);
      fmpq_addmul(y + m, x, coefficient + i);
    }
    if (normalizes) fmpq_sub(y + m, y + m, constant);
  }
  fmpq_neg(rest, constant);
  if (normalizes) fmpq_mul(rest, rest, eps->value);
  int holds = keys.count > 0 && sum_vanishes(problem, slice, row, &keys, y, rest) &&
              has_denominator(problem, slice, row);
  _fmpq_vec_clear(y, keys.count);
  arf_clear(v);
  fmpq_clear(x);
  fmpq_clear(rest);
  softmax_keys_clear(&keys);
  return holds ? 1 : -1;
}
