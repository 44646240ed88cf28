/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Scores before exp, q_i W_{i-j} k_j, over the rationals: under rotations W_{i-j} = R_{j-i} = R_i^T
 * R_j they are products of rotated queries and keys, so that their rank is at most d, whatever the
 * angles; in general it is not. */
#include <flint/fmpq_mat.h>
#include <flint/fmpz_mat.h>

#include "rational.h"
#include "statements.h"

/* The forms of a problem. */
static void fill_scores(fmpq_mat_t scores, const decompose_problem *p) {
  fmpq_t term;
  fmpq_init(term);
  for (int64_t i = 0; i < p->rows; i++)
    for (int64_t j = 0; j < p->cols; j++)
      for (int64_t s = 0; s < p->support; s++) {
        fmpq_mul(term, p->q + i * p->d + p->a[s], p->symbol[s] + (i - j + p->cols - 1));
        fmpq_addmul(fmpq_mat_entry(scores, i, j), term, p->k + j * p->d + p->b[s]);
      }
  fmpq_clear(term);
}

/* ---- rotated queries and keys ---- */

/* Row i of x turns by R_i. */
static void rotate_rows(fmpq *x, int64_t n, int64_t d) {
  fmpq_t c, s, y;
  fmpq_init(c);
  fmpq_init(s);
  fmpq_init(y);
  for (int64_t i = 0; i < n; i++)
    for (int64_t m = 0; m < d / 2; m++) {
      fmpq *a = x + i * d + 2 * m, *b = a + 1;
      rational_rotation(c, s, m, i);
      fmpq_mul(y, a, c);
      fmpq_submul(y, b, s);
      fmpq_mul(b, b, c);
      fmpq_addmul(b, a, s);
      fmpq_swap(a, y);
    }
  fmpq_clear(c);
  fmpq_clear(s);
  fmpq_clear(y);
}

static attest_status decide_scores(statement_findings *into, const problem_statement *statement,
                                   int64_t n, int64_t d, attest_error *error) {
  rational_rope rope;
  fmpq_mat_t scores;
  fmpq_t x;
  int64_t differences = 0;
  if (rational_rope_open(&rope, n, d, 1, 0))
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  fmpq_mat_init(scores, n, n);
  fmpq_init(x);
  fill_scores(scores, &rope.problem);
  rotate_rows(rope.q, n, d);
  rotate_rows(rope.k, n, d);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      fmpq_zero(x);
      for (int64_t a = 0; a < d; a++)
        fmpq_addmul(x, rope.q + i * d + a, rope.k + j * d + a);
      differences += !fmpq_equal(x, fmpq_mat_entry(scores, i, j));
    }
  fmpq_clear(x);
  fmpq_mat_clear(scores);
  rational_rope_close(&rope);
  return statement_add(into, statement, differences ? ATTEST_REFUTED : ATTEST_CERTIFIED, error,
                       "rotations=pythagorean n=%lld d=%lld differences=%lld", (long long)n,
                       (long long)d, (long long)differences);
}

attest_status toeplitz_rotary_scores(statement_findings *into, const problem_statement *statement,
                                     const char *data, attest_error *error) {
  attest_status status = ATTEST_OK;
  (void)data;
  for (int64_t d = 2; d <= 16 && !status; d *= 2)
    status = decide_scores(into, statement, 13, d, error);
  return status;
}

/* ---- ranks ---- */

/* A common denominator does not change the rank. */
static slong rank_of(const fmpq_mat_t scores) {
  fmpz_mat_t integers;
  fmpz_t denominator;
  fmpz_mat_init(integers, fmpq_mat_nrows(scores), fmpq_mat_ncols(scores));
  fmpz_init(denominator);
  fmpq_mat_get_fmpz_mat_matwise(integers, denominator, scores);
  slong rank = fmpz_mat_rank(integers);
  fmpz_mat_clear(integers);
  fmpz_clear(denominator);
  return rank;
}

static attest_status decide(statement_findings *into, const problem_statement *statement, int64_t n,
                            int64_t d, int general, attest_error *error) {
  rational_rope rope;
  fmpq_mat_t scores;
  ulong seed = 7;
  if (rational_rope_open(&rope, n, d, 1, 0))
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (int64_t s = 0; s < rope.problem.support && general; s++)
    rational_fill(rope.symbols[s], 2 * n - 1, &seed);
  fmpq_mat_init(scores, n, n);
  fill_scores(scores, &rope.problem);
  slong rank = rank_of(scores), predicted = general ? n : d;
  attest_status status = statement_add(
      into, statement, rank == predicted ? ATTEST_CERTIFIED : ATTEST_REFUTED, error,
      "weights=%s n=%lld d=%lld rank=%ld predicted=%ld", general ? "general" : "rotations",
      (long long)n, (long long)d, (long)rank, (long)predicted);
  fmpq_mat_clear(scores);
  rational_rope_close(&rope);
  return status;
}

attest_status toeplitz_rank(statement_findings *into, const problem_statement *statement,
                            const char *data, attest_error *error) {
  attest_status status = ATTEST_OK;
  (void)data;
  for (int64_t d = 2; d <= 16 && !status; d *= 2)
    status = decide(into, statement, 24, d, 0, error);
  if (!status) status = decide(into, statement, 48, 2, 1, error);
  return status;
}
