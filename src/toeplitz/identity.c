/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Identities of the decomposition over the rationals, where equal means equal. */
#include <flint/fmpq_mpoly.h>
#include <stdlib.h>

#include "decompose.h"
#include "exp_poly.h"
#include "rational.h"
#include "statements.h"

/* ---- (x_1 + .. + x_n)^t ---- */

/* The sum over the multi-indices of order t with the walk's coefficients; returns their number. */
static int64_t expanded(fmpq_mpoly_t sum, int64_t support, int64_t order,
                        const fmpq_mpoly_ctx_t context) {
  ulong *exponents = calloc((size_t)support + 1, sizeof *exponents);
  fmpz_t multinomial[TOEPLITZ_DEGREE_MAX + 1];
  toeplitz_walk walk;
  fmpq_t c;
  int64_t terms = 0;
  if (!exponents) return -1;
  fmpq_init(c);
  for (int64_t l = 0; l <= order; l++)
    fmpz_init(multinomial[l]);
  fmpz_one(multinomial[0]);
  fmpq_mpoly_zero(sum, context);
  toeplitz_walk_start(&walk, support, order);
  do {
    int64_t l = walk.level;
    if (l > 0) toeplitz_walk_multinomial(multinomial[l], multinomial[l - 1], &walk);
    if (l < order) continue;
    for (int64_t s = 0; s < support; s++)
      exponents[s] = 0;
    for (int64_t i = 0; i < l; i++)
      exponents[walk.chain[i]]++;
    fmpz_set(fmpq_numref(c), multinomial[l]);
    fmpz_one(fmpq_denref(c));
    fmpq_mpoly_set_coeff_fmpq_ui(sum, c, exponents, context);
    terms++;
  } while (toeplitz_walk_next(&walk));
  for (int64_t l = 0; l <= order; l++)
    fmpz_clear(multinomial[l]);
  fmpq_clear(c);
  free(exponents);
  return terms;
}

static attest_status decide_power(statement_findings *into, const problem_statement *statement,
                                  int64_t support, int64_t order, attest_error *error) {
  fmpq_mpoly_ctx_t context;
  fmpq_mpoly_t power, sum, x;
  fmpz_t predicted;
  fmpq_mpoly_ctx_init(context, support, ORD_LEX);
  fmpq_mpoly_init(power, context);
  fmpq_mpoly_init(sum, context);
  fmpq_mpoly_init(x, context);
  fmpz_init(predicted);
  for (int64_t s = 0; s < support; s++) {
    fmpq_mpoly_gen(x, s, context);
    fmpq_mpoly_add(sum, sum, x, context);
  }
  fmpq_mpoly_pow_ui(power, sum, (ulong)order, context);
  int64_t terms = expanded(sum, support, order, context);
  fmpz_bin_uiui(predicted, (ulong)(support + order - 1), (ulong)order);
  int equal = fmpq_mpoly_equal(power, sum, context) && fmpz_equal_si(predicted, terms) &&
              fmpq_mpoly_length(power, context) == terms;
  attest_status status =
      terms < 0
          ? attest_fail(error, ATTEST_ERR_MEMORY, "out of memory")
          : statement_add(into, statement, equal ? ATTEST_CERTIFIED : ATTEST_REFUTED, error,
                          "support=%lld order=%lld terms=%lld predicted=%lld", (long long)support,
                          (long long)order, (long long)terms, (long long)fmpz_get_si(predicted));
  fmpq_mpoly_clear(power, context);
  fmpq_mpoly_clear(sum, context);
  fmpq_mpoly_clear(x, context);
  fmpq_mpoly_ctx_clear(context);
  fmpz_clear(predicted);
  return status;
}

attest_status toeplitz_polynomial_identity(statement_findings *into,
                                           const problem_statement *statement, const char *data,
                                           attest_error *error) {
  static const int64_t cases[][2] = {{1, 6}, {2, 6}, {4, 6}, {8, 4}, {16, 3}};
  attest_status status = ATTEST_OK;
  (void)data;
  for (size_t i = 0; i < sizeof cases / sizeof *cases && !status; i++)
    status = decide_power(into, statement, cases[i][0], cases[i][1], error);
  return status;
}

/* ---- attention with rational rotations ---- */

typedef struct {
  int64_t n, d;
  int causal;
  int64_t degree;
} setting;

static attest_status decide_attention(statement_findings *into, const problem_statement *statement,
                                      const setting *s, attest_error *error) {
  enum { WIDTH = 2 };
  rational_rope rope;
  fmpz_t count;
  fmpq_poly_t p;
  fmpq_t factor;
  if (rational_rope_open(&rope, s->n, s->d, WIDTH, s->causal))
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  fmpz_init(count);
  fmpq_poly_init(p);
  fmpq_init(factor);
  fmpq *out = _fmpq_vec_init(2 * s->n * WIDTH);
  exp_poly(p, EXP_TAYLOR, EXP_ABSOLUTE, s->degree, rope.half, 64, NULL);
  fmpq_set_si(factor, 1, (ulong)s->d);
  int64_t terms = decompose_attention_fmpq(out, &rope.problem, p, factor), differences = 0;
  decompose_dense_fmpq(out + s->n * WIDTH, &rope.problem, p, factor);
  for (int64_t i = 0; i < s->n * WIDTH; i++)
    differences += !fmpq_equal(out + i, out + s->n * WIDTH + i);
  toeplitz_term_count(count, rope.problem.support, s->degree);
  int holds = differences == 0 && fmpz_equal_si(count, terms);
  attest_status status = statement_add(
      into, statement, holds ? ATTEST_CERTIFIED : ATTEST_REFUTED, error,
      "rotations=pythagorean n=%lld d=%lld support=%lld degree=%lld causal=%s terms=%lld "
      "predicted=%lld differences=%lld",
      (long long)s->n, (long long)s->d, (long long)rope.problem.support, (long long)s->degree,
      s->causal ? "yes" : "no", (long long)terms, (long long)fmpz_get_si(count),
      (long long)differences);
  _fmpq_vec_clear(out, 2 * s->n * WIDTH);
  fmpz_clear(count);
  fmpq_poly_clear(p);
  fmpq_clear(factor);
  rational_rope_close(&rope);
  return status;
}

attest_status toeplitz_decomposition(statement_findings *into, const problem_statement *statement,
                                     const char *data, attest_error *error) {
  static const setting settings[] = {{9, 2, 0, 4}, {9, 2, 1, 4}, {6, 4, 0, 2}, {6, 4, 1, 2}};
  attest_status status = ATTEST_OK;
  (void)data;
  for (size_t i = 0; i < sizeof settings / sizeof *settings && !status; i++)
    status = decide_attention(into, statement, &settings[i], error);
  return status;
}

/* ---- closure ---- */

attest_status toeplitz_closure(statement_findings *into, const problem_statement *statement,
                               const char *data, attest_error *error) {
  enum { ROWS = 17, COLS = 13, LENGTH = ROWS + COLS - 1, FACTORS = 5 };
  fmpq *left = _fmpq_vec_init(FACTORS * ROWS), *symbol = _fmpq_vec_init(FACTORS * LENGTH);
  fmpq *right = _fmpq_vec_init(FACTORS * COLS);
  fmpq_t entry, merged;
  int64_t differences = 0;
  ulong seed = 1;
  (void)data;
  fmpq_init(entry);
  fmpq_init(merged);
  rational_fill(left, FACTORS * ROWS, &seed);
  rational_fill(symbol, FACTORS * LENGTH, &seed);
  rational_fill(right, FACTORS * COLS, &seed);
  fmpq *kept = _fmpq_vec_init(ROWS + LENGTH + COLS);
  rational_copy(kept, left, ROWS);
  rational_copy(kept + ROWS, symbol, LENGTH);
  rational_copy(kept + ROWS + LENGTH, right, COLS);
  toeplitz_rescaled_fmpq product = {ROWS, COLS, kept, kept + ROWS, kept + ROWS + LENGTH};
  for (int f = 1; f < FACTORS; f++) {
    toeplitz_rescaled_fmpq next = {ROWS, COLS, left + f * ROWS, symbol + f * LENGTH,
                                   right + f * COLS};
    toeplitz_hadamard_fmpq(&product, &next);
  }
  for (int64_t i = 0; i < ROWS; i++)
    for (int64_t j = 0; j < COLS; j++) {
      int64_t n = i - j + COLS - 1;
      fmpq_one(entry);
      for (int f = 0; f < FACTORS; f++) {
        fmpq_mul(entry, entry, left + f * ROWS + i);
        fmpq_mul(entry, entry, symbol + f * LENGTH + n);
        fmpq_mul(entry, entry, right + f * COLS + j);
      }
      fmpq_mul(merged, product.left + i, product.symbol + n);
      fmpq_mul(merged, merged, product.right + j);
      differences += !fmpq_equal(entry, merged);
    }
  attest_status status =
      statement_add(into, statement, differences ? ATTEST_REFUTED : ATTEST_CERTIFIED, error,
                    "rows=%d columns=%d factors=%d differences=%lld", ROWS, COLS, FACTORS,
                    (long long)differences);
  _fmpq_vec_clear(left, FACTORS * ROWS);
  _fmpq_vec_clear(symbol, FACTORS * LENGTH);
  _fmpq_vec_clear(right, FACTORS * COLS);
  _fmpq_vec_clear(kept, ROWS + LENGTH + COLS);
  fmpq_clear(entry);
  fmpq_clear(merged);
  return status;
}
