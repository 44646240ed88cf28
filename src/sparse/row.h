/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One row of a sparse kernel from exact inputs: the keys it sees, what decides about them exactly,
 * and their arguments as balls. Internal to the room. */
#ifndef ATTEST_SPARSE_ROW_H
#define ATTEST_SPARSE_ROW_H

#include "../softmax/row.h"
#include "sparse.h"

/* Numbers c_0 + c_1 sqrt(n_1) + c_2 sqrt(n_2) with rational c, for the scores of a row and the
 * parameter they are compared with. n_1 and n_2 are no squares, nor is their product, so that 1 and
 * the roots are linearly independent over the rationals and a number is zero iff all c are. */
enum { SPARSE_BASIS = 3 };
typedef struct {
  fmpq radicand[2]; /* 0: not used */
} sparse_field;

/* The sign of x[0 .. 2], exactly. */
int sparse_field_sign(const fmpq *x, const sparse_field *field);

typedef struct {
  const attest_problem *problem;
  const problem_slice *slice;
  const sparse_kernel *kernel;
  int64_t row, count, capacity;
  int64_t *key;   /* visible keys, in order */
  arf_ptr dot;    /* a key: q.k or |q - k|^2, exactly */
  arf_ptr offset; /* a key: bias + slope (j - i'), exactly; not for distances */
  arf_ptr size;   /* a key: |q|.|k| or sum (|q_a| + |k_a|)^2, exactly; NULL: not wanted */
  sparse_field field;
  fmpq level[SPARSE_BASIS]; /* what scores are compared with: margin h^2, or the temperature */
} sparse_row;

attest_status sparse_row_init(sparse_row *r, const attest_problem *problem,
                              const problem_slice *slice, int64_t row, int with_size,
                              attest_error *error);
/* The same of the keys given, n > 0 of them in rising order. */
attest_status sparse_row_of_keys(sparse_row *r, const attest_problem *problem,
                                 const problem_slice *slice, int64_t row, const int64_t *keys,
                                 int64_t n, int with_size, attest_error *error);
void sparse_row_clear(sparse_row *r);

/* Whether scores are numbers of r->field: without a softcap. */
int sparse_row_is_algebraic(const sparse_row *r);
/* x[0 .. 2] <- score of key i without the temperature, or the distance; algebraic rows only. */
void sparse_row_number(fmpq *x, const sparse_row *r, int64_t i);

/* The sign of (argument of key i) - (argument of key j), exactly; softcaps are no obstacle. */
int sparse_row_compare(const sparse_row *r, int64_t i, int64_t j);
/* The sign of y of key i where that is a function of the key alone: distances and normrelu. */
int sparse_row_sign(const sparse_row *r, int64_t i);

/* The signs of y + m t of key i, and of that of key i less that of key j, exactly, for arguments
 * moved by a multiple m of their absolute versions; the row has its sizes. SPARSE_OPEN: not known,
 * which takes a softcap. Comparisons are for rules without a level of their own (top-k).
 * (moved.c) */
enum { SPARSE_OPEN = 2 };
int sparse_row_moved_sign(const sparse_row *r, int64_t i, double move);
int sparse_row_moved_compare(const sparse_row *r, int64_t i, double move_i, int64_t j,
                             double move_j);
/* Rules of signs (uniform, powers): whether key i may carry weight, and whether it may carry none,
 * when its argument moves by at most edge t; or that this is not known. */
enum { SPARSE_MAY_BE_IN = 1, SPARSE_MAY_BE_OUT = 2, SPARSE_IN_OPEN = 4, SPARSE_OUT_OPEN = 8 };
unsigned sparse_row_places(const sparse_row *r, int64_t i, double edge);

/* Orders keys by falling argument; equal ones by rising key, falling with ties highest. */
void sparse_row_sort(int64_t *order, const sparse_row *r);
/* Keeps the first n keys of `order`, in order of their keys. */
attest_status sparse_row_keep(sparse_row *r, const int64_t *order, int64_t n, attest_error *error);

/* before[i]: the key that comes right before key i, as `ties` orders them, among those whose stored
 * elements and offset are the same; -1 where there is none or the policy leaves the choice.
 * (select.c) */
attest_status sparse_row_before(int64_t *before, const sparse_row *r, attest_error *error);

/* y and t of every key, good to about 2^-prec of the larger of 1 and |y|: the arguments of the
 * table in sparse.h, for thresholds z (with the temperature, without alpha - 1). t NULL: not
 * wanted. */
void sparse_row_arguments(arb_ptr y, arb_ptr t, const sparse_row *r, slong prec);

/* h^2, exactly. */
void sparse_bandwidth_squared(fmpq_t h2, const problem_values *values);

#endif
