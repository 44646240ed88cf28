/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Ranks of states, exactly, on keys with rational coordinates.
 *
 * The state of N tokens is S = F^T [V, 1], F the N x D matrix of the monomials of the keys
 * (basis.h). rank S_m <= min(binom(d+m-1, m), dv + 1, N) for the block of order m, and rank S   <=
 * min(kappa, dv + 1, N), where kappa = D = binom(d+P, P), less binom(d+P-2, P-2) on the unit
 * sphere: there |x|^2 x^beta = x^beta for every |beta| <= P - 2. In general position these are
 * equalities, which is what is decided here. Keys come as integers L k_j with one common L: that
 * scales the columns of order m of F by L^m and leaves every rank as it is.
 *
 * A rank modulo a prime is a lower bound. Where it meets the upper bound (the relations of the
 * sphere being checked on the integers) it is the rank; else FLINT finds the rank over Z. */
#include <stdlib.h>

#include <flint/fmpz_mat.h>
#include <flint/nmod_mat.h>

#include "../enclosure/flint.h"
#include "basis.h"
#include "statements.h"

typedef struct {
  int64_t d, degree, dv, tokens;
  slong reach; /* of the integers that keys are made of: larger ones for higher degrees */
} setting;

/* L: a multiple of every |u|^2 + 1, u in {-reach .. reach}^(d-1). */
static void common_multiple(fmpz_t l, const setting *s) {
  fmpz_one(l);
  for (slong n = 2; n <= (slong)(s->d - 1) * s->reach * s->reach + 1; n++) {
    fmpz_t factor;
    fmpz_init_set_si(factor, n);
    fmpz_lcm(l, l, factor);
    fmpz_clear(factor);
  }
}

static slong draw(slong reach, flint_rand_t random) {
  return (slong)n_randint(random, 2 * (ulong)reach + 1) - reach;
}

/* A key times L: an integer vector u, or the stereographic image (2u, |u|^2 - 1) / (|u|^2 + 1) of
 * one of d - 1 coordinates, a rational point of the sphere. */
static void draw_key(fmpz *x, const fmpz_t l, const setting *s, int sphere, flint_rand_t random) {
  slong square = 1, last = (slong)s->d - 1;
  fmpz_t factor;
  fmpz_init_set(factor, l);
  for (slong i = 0; i < last; i++) {
    slong u = draw(s->reach, random);
    fmpz_set_si(x + i, sphere ? 2 * u : u);
    square += u * u;
  }
  fmpz_set_si(x + last, sphere ? square - 2 : draw(s->reach, random));
  if (sphere) fmpz_divexact_si(factor, factor, square);
  _fmpz_vec_scalar_mul_fmpz(x, x, s->d, factor);
  fmpz_clear(factor);
}

/* F, a row a key. */
static void draw_features(fmpz_mat_t features, const fmpz_t l, const taylor_basis *basis,
                          const setting *s, int sphere, flint_rand_t random) {
  fmpz *x = _fmpz_vec_init(basis->d);
  for (slong j = 0; j < fmpz_mat_nrows(features); j++) {
    draw_key(x, l, s, sphere, random);
    fmpz_one(fmpz_mat_entry(features, j, 0));
    for (int64_t b = 1; b < basis->size; b++)
      fmpz_mul(fmpz_mat_entry(features, j, b), fmpz_mat_entry(features, j, basis->parent[b]),
               x + basis->coordinate[b]);
  }
  _fmpz_vec_clear(x, basis->d);
}

/* [V, 1] with V in {-9 .. 9}. */
static void draw_values(fmpz_mat_t values, flint_rand_t random) {
  slong last = fmpz_mat_ncols(values) - 1;
  for (slong j = 0; j < fmpz_mat_nrows(values); j++) {
    for (slong c = 0; c < last; c++)
      fmpz_set_si(fmpz_mat_entry(values, j, c), (slong)n_randint(random, 19) - 9);
    fmpz_one(fmpz_mat_entry(values, j, last));
  }
}

/* sum_i x_i^2 x^beta = L^2 x^beta for every |beta| <= P - 2 and every key: how many relations, all
 * independent, or 0 when one fails. */
static int64_t sphere_relations(const fmpz_mat_t features, const fmpz_t l,
                                const taylor_basis *basis) {
  int64_t count = basis->degree >= 2 ? basis->start[basis->degree - 1] : 0;
  fmpz_t sum, square;
  fmpz_init(sum);
  fmpz_init(square);
  fmpz_mul(square, l, l);
  for (int64_t b = 0; b < count; b++) {
    int64_t m = taylor_basis_order(basis, b);
    for (slong j = 0; j < fmpz_mat_nrows(features); j++) {
      fmpz_zero(sum);
      for (int64_t i = 0; i < basis->d; i++) {
        int64_t once = taylor_basis_times(basis, m, b, i);
        fmpz_add(sum, sum, fmpz_mat_entry(features, j, taylor_basis_times(basis, m + 1, once, i)));
      }
      fmpz_submul(sum, fmpz_mat_entry(features, j, b), square);
      if (!fmpz_is_zero(sum)) count = 0;
    }
  }
  fmpz_clear(sum);
  fmpz_clear(square);
  return count;
}

/* The rank of columns from .. to - 1, known to be at most `most`. */
static slong rank_of(const fmpz_mat_t matrix, slong from, slong to, slong most) {
  fmpz_mat_t window;
  nmod_mat_t residues;
  fmpz_mat_window_init(window, matrix, 0, from, fmpz_mat_nrows(matrix), to);
  nmod_mat_init(residues, fmpz_mat_nrows(window), fmpz_mat_ncols(window),
                n_nextprime(UWORD(1) << 62, 1));
  fmpz_mat_get_nmod_mat(residues, window);
  slong rank = nmod_mat_rank(residues);
  if (rank != most) rank = fmpz_mat_rank(window);
  nmod_mat_clear(residues);
  fmpz_mat_window_clear(window);
  return rank;
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static attest_status report_rank(statement_findings *into, const problem_statement *statement,
                                 const setting *s, int sphere, const char *order, int64_t rank,
                                 int64_t predicted, int64_t features, attest_error *error) {
  return statement_add(
      into, statement, rank == predicted ? ATTEST_CERTIFIED : ATTEST_REFUTED, error,
      "keys=%s d=%lld dv=%lld degree=%lld tokens=%lld order=%s features=%lld "
      "rank=%lld predicted=%lld",
      sphere ? "sphere" : "open-set", (long long)s->d, (long long)s->dv, (long long)s->degree,
      (long long)s->tokens, order, (long long)features, (long long)rank, (long long)predicted);
}

/* All blocks of one state, then the whole. */
static attest_status decide(statement_findings *into, const problem_statement *statement,
                            const setting *s, int sphere, attest_error *error) {
  taylor_basis *basis;
  attest_status status = taylor_basis_open(&basis, s->d, s->degree, error);
  if (status) return status;
  fmpz_mat_t features, values, transposed, state;
  flint_rand_t random;
  fmpz_t l;
  fmpz_init(l);
  common_multiple(l, s);
  fmpz_mat_init(features, s->tokens, basis->size);
  fmpz_mat_init(values, s->tokens, s->dv + 1);
  fmpz_mat_init(transposed, s->dv + 1, s->tokens);
  fmpz_mat_init(state, s->dv + 1, basis->size);
  flint_randinit(random);
  draw_features(features, l, basis, s, sphere, random);
  draw_values(values, random);
  fmpz_mat_transpose(transposed, values);
  fmpz_mat_mul(state, transposed, features);
  int64_t cap = least(s->dv + 1, s->tokens);
  for (int64_t m = 0; m <= s->degree && !status; m++) {
    char order[24];
    int64_t from = basis->start[m], to = basis->start[m + 1], most = least(to - from, cap);
    snprintf(order, sizeof order, "%lld", (long long)m);
    status = report_rank(into, statement, s, sphere, order, rank_of(state, from, to, most), most,
                         to - from, error);
  }
  int64_t kappa = basis->size - (sphere ? sphere_relations(features, l, basis) : 0);
  int64_t predicted = basis->size;
  if (sphere && s->degree >= 2) predicted -= basis->start[s->degree - 1];
  if (!status)
    status = report_rank(into, statement, s, sphere, "all",
                         rank_of(state, 0, basis->size, least(kappa, cap)), least(predicted, cap),
                         basis->size, error);
  fmpz_clear(l);
  flint_randclear(random);
  fmpz_mat_clear(features);
  fmpz_mat_clear(values);
  fmpz_mat_clear(transposed);
  fmpz_mat_clear(state);
  taylor_basis_close(basis);
  return status;
}

attest_status taylor_state_rank(statement_findings *into, const problem_statement *statement,
                                const char *data, attest_error *error) {
  /* d = 16 with 64 values, where the value dimension caps the rank, and with enough of them; two
   * more degrees. */
  static const setting settings[] = {
      {16, 2, 64, 320, 1}, {16, 2, 300, 320, 1}, {6, 3, 100, 120, 3}, {4, 4, 80, 120, 3}};
  attest_status status = ATTEST_OK;
  (void)data;
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    for (int sphere = 0; sphere < 2 && !status; sphere++)
      status = decide(into, statement, &settings[i], sphere, error);
  return status;
}
