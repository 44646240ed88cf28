/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* "Exact to about 1e-16" in truth: over the rationals the recurrent, the chunked and the merged
 * form, and the naive tensor basis, equal the truncated kernel with difference 0.
 *
 * What is compared, for every row i, component c and order m, is
 *   sum over j <= i of (q_i.k_j)^m / m! [v_j, 1]_c     (direct)
 *   sum over |beta| = m of q_i^beta / beta! S[beta][c] (from a state)
 * A scale enters both as scale^m. So equality order by order is equality at every scale, 1/sqrt(d)
 * among them, and for every polynomial of the score. Floating-point kernels are compared as
 * outputs: about 1e-16 is what float64 leaves, about 1e-7 float32. */
#include <stdlib.h>

#include "../enclosure/flint.h"
#include "basis.h"
#include "statements.h"
#include "stories.h"

/* Rational tokens; sums are (degree + 1) x (dv + 1), by order and component. */
typedef struct {
  const taylor_basis *basis;
  int64_t n, d, dv, orders, width; /* width dv + 1, orders degree + 1 */
  fmpq *q, *k, *u;                 /* u = [v, 1] */
  fmpq *direct;                    /* n x orders x width */
  fmpq *phi, *state, *sums;        /* of one row; D x width; orders x width */
} tokens;

static void tokens_open(tokens *t, const taylor_basis *basis, int64_t n, int64_t dv) {
  *t = (tokens){.basis = basis,
                .n = n,
                .d = basis->d,
                .dv = dv,
                .orders = basis->degree + 1,
                .width = dv + 1};
  t->q = _fmpq_vec_init(n * t->d);
  t->k = _fmpq_vec_init(n * t->d);
  t->u = _fmpq_vec_init(n * t->width);
  t->direct = _fmpq_vec_init(n * t->orders * t->width);
  t->phi = _fmpq_vec_init(basis->size);
  t->state = _fmpq_vec_init(basis->size * t->width);
  t->sums = _fmpq_vec_init(t->orders * t->width);
}

static void tokens_close(tokens *t) {
  _fmpq_vec_clear(t->q, t->n * t->d);
  _fmpq_vec_clear(t->k, t->n * t->d);
  _fmpq_vec_clear(t->u, t->n * t->width);
  _fmpq_vec_clear(t->direct, t->n * t->orders * t->width);
  _fmpq_vec_clear(t->phi, t->basis->size);
  _fmpq_vec_clear(t->state, t->basis->size * t->width);
  _fmpq_vec_clear(t->sums, t->orders * t->width);
}

static void vec_zero(fmpq *x, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    fmpq_zero(x + i);
}

/* p/r, |p| <= 9, 1 <= r <= 5. */
static void draw_tokens(tokens *t, flint_rand_t random) {
  for (int64_t i = 0; i < t->n * t->d; i++) {
    fmpq_set_si(t->q + i, (slong)n_randint(random, 19) - 9, 1 + n_randint(random, 5));
    fmpq_set_si(t->k + i, (slong)n_randint(random, 19) - 9, 1 + n_randint(random, 5));
  }
  for (int64_t i = 0; i < t->n * t->width; i++)
    fmpq_set_si(t->u + i, (slong)n_randint(random, 19) - 9, 1 + n_randint(random, 5));
  for (int64_t j = 0; j < t->n; j++)
    fmpq_one(t->u + j * t->width + t->dv);
}

/* ---- the forms ---- */

/* sums += (q_i.k_j)^m / m! u_j, all orders. */
static void add_direct(fmpq *sums, const tokens *t, int64_t i, int64_t j) {
  fmpq_t score, weight;
  fmpz_t divisor;
  fmpq_init(score);
  fmpq_init(weight);
  fmpz_init(divisor);
  for (int64_t a = 0; a < t->d; a++)
    fmpq_addmul(score, t->q + i * t->d + a, t->k + j * t->d + a);
  fmpq_one(weight);
  for (int64_t m = 0; m < t->orders; m++) {
    if (m > 0) {
      fmpz_set_si(divisor, m);
      fmpq_mul(weight, weight, score);
      fmpq_div_fmpz(weight, weight, divisor);
    }
    for (int64_t c = 0; c < t->width; c++)
      fmpq_addmul(sums + m * t->width + c, weight, t->u + j * t->width + c);
  }
  fmpq_clear(score);
  fmpq_clear(weight);
  fmpz_clear(divisor);
}

/* The monomials of a row. */
static void monomials(fmpq *phi, const taylor_basis *basis, const fmpq *x) {
  fmpq_one(phi);
  for (int64_t b = 1; b < basis->size; b++)
    fmpq_mul(phi + b, phi + basis->parent[b], x + basis->coordinate[b]);
}

static void update_state(fmpq *state, tokens *t, int64_t j) {
  monomials(t->phi, t->basis, t->k + j * t->d);
  for (int64_t b = 0; b < t->basis->size; b++)
    for (int64_t c = 0; c < t->width; c++)
      fmpq_addmul(state + b * t->width + c, t->phi + b, t->u + j * t->width + c);
}

/* sums += q_i^beta / beta! S[beta]; 1/beta! = (m!/beta!) / m!. */
static void read_state(fmpq *sums, tokens *t, const fmpq *state, int64_t i) {
  const taylor_basis *basis = t->basis;
  fmpz_t factorial;
  fmpz_init(factorial);
  monomials(t->phi, basis, t->q + i * t->d);
  for (int64_t m = 0; m < t->orders; m++) {
    fmpz_fac_ui(factorial, (ulong)m);
    for (int64_t b = basis->start[m]; b < basis->start[m + 1]; b++) {
      fmpq *feature = t->phi + b;
      fmpq_mul_si(feature, feature, basis->multinomial[b]);
      fmpq_div_fmpz(feature, feature, factorial);
      for (int64_t c = 0; c < t->width; c++)
        fmpq_addmul(sums + m * t->width + c, feature, state + b * t->width + c);
    }
  }
  fmpz_clear(factorial);
}

/* How many of the sums of row i are not those of the direct form. */
static int64_t differences(const tokens *t, int64_t i) {
  int64_t size = t->orders * t->width, count = 0;
  for (int64_t x = 0; x < size; x++)
    count += !fmpq_equal(t->sums + x, t->direct + i * size + x);
  return count;
}

static void direct(tokens *t) {
  int64_t size = t->orders * t->width;
  for (int64_t i = 0; i < t->n; i++) {
    vec_zero(t->direct + i * size, size);
    for (int64_t j = 0; j <= i; j++)
      add_direct(t->direct + i * size, t, i, j);
  }
}

/* Chunks of `chunk` tokens: the state of the chunks before, and the own chunk directly. chunk = 1
 * is the recurrence up to the own token. */
static int64_t chunked(tokens *t, int64_t chunk) {
  int64_t size = t->orders * t->width, count = 0;
  vec_zero(t->state, t->basis->size * t->width);
  for (int64_t first = 0; first < t->n; first += chunk) {
    int64_t end = first + chunk < t->n ? first + chunk : t->n;
    for (int64_t i = first; i < end; i++) {
      vec_zero(t->sums, size);
      read_state(t->sums, t, t->state, i);
      for (int64_t j = first; j <= i; j++)
        add_direct(t->sums, t, i, j);
      count += differences(t, i);
    }
    for (int64_t j = first; j < end; j++)
      update_state(t->state, t, j);
  }
  return count;
}

/* Update, then read. */
static int64_t recurrent(tokens *t) {
  int64_t count = 0;
  vec_zero(t->state, t->basis->size * t->width);
  for (int64_t i = 0; i < t->n; i++) {
    update_state(t->state, t, i);
    vec_zero(t->sums, t->orders * t->width);
    read_state(t->sums, t, t->state, i);
    count += differences(t, i);
  }
  return count;
}

/* The state of all tokens as the sum of those of a part and of the rest, each in an order of its
 * own, for every size of the part: the differences. */
static int64_t merged(tokens *t, flint_rand_t random) {
  int64_t size = t->basis->size * t->width, count = 0;
  fmpq *part = _fmpq_vec_init(size), *rest = _fmpq_vec_init(size);
  int64_t *order = malloc((size_t)t->n * sizeof *order);
  for (int64_t length = 0; order && length <= t->n; length++) {
    vec_zero(part, size);
    vec_zero(rest, size);
    for (int64_t j = 0; j < t->n; j++) { /* a random permutation */
      int64_t other = (int64_t)n_randint(random, (ulong)j + 1);
      order[j] = other < j ? order[other] : j;
      order[other] = j;
    }
    for (int64_t j = 0; j < t->n; j++)
      update_state(j < length ? part : rest, t, order[j]);
    for (int64_t x = 0; x < size; x++) {
      fmpq_add(part + x, part + x, rest + x);
      count += !fmpq_equal(part + x, t->state + x);
    }
  }
  if (!order) count = -1;
  free(order);
  _fmpq_vec_clear(part, size);
  _fmpq_vec_clear(rest, size);
  return count;
}

/* The naive tensor basis: every ordering of a tuple an entry with weight 1/m!. */
static int64_t tensor_basis(tokens *t, const int64_t map[], int64_t entries) {
  int64_t count = 0;
  for (int64_t i = 0; i < t->n; i++) {
    fmpz_t factorial;
    fmpq_t feature;
    fmpz_init(factorial);
    fmpq_init(feature);
    vec_zero(t->state, t->basis->size * t->width);
    for (int64_t j = 0; j <= i; j++)
      update_state(t->state, t, j);
    vec_zero(t->sums, t->orders * t->width);
    monomials(t->phi, t->basis, t->q + i * t->d);
    for (int64_t e = 0; e < entries; e++) {
      int64_t m = taylor_basis_order(t->basis, map[e]);
      fmpz_fac_ui(factorial, (ulong)m);
      fmpq_div_fmpz(feature, t->phi + map[e], factorial);
      for (int64_t c = 0; c < t->width; c++)
        fmpq_addmul(t->sums + m * t->width + c, feature, t->state + map[e] * t->width + c);
    }
    count += differences(t, i);
    fmpz_clear(factorial);
    fmpq_clear(feature);
  }
  return count;
}

/* ---- the statement ---- */

static attest_status decide(statement_findings *into, const problem_statement *statement, tokens *t,
                            const char *rows, flint_rand_t random, attest_error *error) {
  int64_t entries, chunks = 0;
  if (taylor_tensor_size(&entries, t->d, t->basis->degree))
    return attest_fail(error, ATTEST_ERR_SUPPORT, "a tensor basis that large has no index");
  int64_t *map = malloc((size_t)entries * sizeof *map);
  if (!map) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  taylor_tensor_map(map, t->basis);
  direct(t);
  for (int64_t chunk = 1; chunk <= t->n; chunk++)
    chunks += chunked(t, chunk);
  int64_t steps = recurrent(t); /* leaves the state of all tokens */
  int64_t merges = merged(t, random), tensor = tensor_basis(t, map, entries);
  free(map);
  if (merges < 0) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  int64_t all = chunks + steps + merges + tensor;
  return statement_add(
      into, statement, all ? ATTEST_REFUTED : ATTEST_CERTIFIED, error,
      "rows=%s d=%lld degree=0..%lld tokens=%lld scale=any chunks=1..%lld merges=%lld "
      "differences=%lld recurrent=%lld chunked=%lld merged-and-permuted=%lld tensor-basis=%lld",
      rows, (long long)t->d, (long long)t->basis->degree, (long long)t->n, (long long)t->n,
      (long long)t->n + 1, (long long)all, (long long)steps, (long long)chunks, (long long)merges,
      (long long)tensor);
}

/* `real`: float32 rows of a trained model, which are dyadic rationals; NULL: small fractions. */
static attest_status compare_forms(statement_findings *into, const problem_statement *statement,
                                   int64_t d, int64_t degree, const taylor_stories *real,
                                   attest_error *error) {
  enum { TOKENS = 16, VALUES = 2 };
  taylor_basis *basis;
  attest_status status = taylor_basis_open(&basis, d, degree, error);
  if (status) return status;
  flint_rand_t random;
  tokens t;
  flint_randinit(random);
  tokens_open(&t, basis, TOKENS, VALUES);
  draw_tokens(&t, random);
  for (int64_t i = 0; i < TOKENS * d && real; i++) {
    int64_t row = i / d, a = i % d;
    taylor_stories_fmpq(t.q + i, real, 0, row, a);
    taylor_stories_fmpq(t.k + i, real, 1, row, a);
    if (a < VALUES) taylor_stories_fmpq(t.u + row * t.width + a, real, 2, row, a);
  }
  status = decide(into, statement, &t, real ? "stories260k" : "fractions", random, error);
  tokens_close(&t);
  flint_randclear(random);
  taylor_basis_close(basis);
  return status;
}

attest_status taylor_forms_are_equal(statement_findings *into, const problem_statement *statement,
                                     const char *data, attest_error *error) {
  static const struct { int64_t d, degree; } settings[] = {{1, 9}, {2, 6}, {3, 5}, {5, 3}};
  taylor_stories real;
  attest_status status = taylor_stories_open(&real, data, error);
  for (size_t i = 0; i < sizeof settings / sizeof *settings && !status; i++)
    status = compare_forms(into, statement, settings[i].d, settings[i].degree, NULL, error);
  if (!status) status = compare_forms(into, statement, real.tensor[0].shape[3], 2, &real, error);
  taylor_stories_close(&real);
  return status;
}
