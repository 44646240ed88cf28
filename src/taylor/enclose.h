/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the double tier of the Taylor room shares: a packed slice, the sums of a block of rows.
 * Internal to the room; the derivation stands in enclose.c.
 *
 * Values have one more column than v: [v_j, 1], so that the normaliser is a component like others.
 * All sums over keys are taken in chains of SUMS_CHAIN fused operations, which join the sum of the
 * block of SUMS_KEYS keys, which joins the total: the same bits on every instruction set. */
#ifndef ATTEST_TAYLOR_ENCLOSE_H
#define ATTEST_TAYLOR_ENCLOSE_H

#include "../tensor/isa.h"
#include "basis.h"
#include "taylor.h"

enum {
  SUMS_ROWS = 48,               /* rows a block: a multiple of TILE_ROWS */
  SUMS_KEYS = 256,              /* keys a block */
  SUMS_STRIDE = SUMS_KEYS + 16, /* of rows of weights */
  SUMS_PANEL = 64,              /* keys a packed panel */
  SUMS_CHAIN = 32               /* keys a chain */
};

typedef struct {
  const attest_problem *problem;
  problem_slice slice;
  taylor_kind kind;
  unsigned want;
  int64_t columns, pad; /* dv + 1, and rounded up to 8 */
  int64_t blocks;       /* of SUMS_KEYS keys */
  double *keys;         /* f(k): [blocks * SUMS_KEYS / SUMS_PANEL][d][SUMS_PANEL] */
  double *values;       /* [v, 1]: [blocks * SUMS_KEYS][pad] */
  double *value_max;    /* [columns] */
  double *power;        /* decay^n, n <= nq + nk; NULL without decay */
  double *power_lo;     /* what it lacks to 2^-105 */
  double *inverse;      /* [degree + 1]: 1/m, rounded */
  double scale, scale_error;
  double feature_error; /* of f in unit roundoffs */
  double tiny;          /* added to every t: what underflows is below units of it */
  /* The initial state: its rows are keys with weights factor_beta q^beta (linear: scale f(q_a)). */
  taylor_basis *basis;           /* NULL without, and for linear features */
  int64_t state_rows, state_pad; /* 0 without; rounded up to SUMS_CHAIN */
  double *state_values;          /* [state_pad][pad] */
  double *state_max;             /* [columns] */
  double state_max_all;          /* over all columns */
  double *factor;                /* [state_rows]: scale^m / beta! */
  double *factor_lo;             /* what it lacks to 2^-105 */
  double *keys_dd;   /* elu1: f(k) as double-doubles, high parts packed like keys, then low parts */
  int is_deep;       /* elu1: some feature is too small for double-doubles */
  int unusable;      /* a parameter out of range: no row has a finite radius */
  int has_nonfinite; /* somewhere in k or v */
  double feature_max; /* a bound of the largest feature of a key: (1 + max |k|)^P, max f(k) */
  double query_max;   /* the same of the queries, without the factors */
  double psi_max;     /* and with them: (1 + max |factor|) query_max */
} taylor_work;

/* Sums over the keys of a block of rows; each [SUMS_ROWS][pad]. */
typedef struct {
  double *w, *g, *size, *c,
      *h;                    /* [SUMS_ROWS][SUMS_STRIDE], of one block of keys: see taylor_sums */
  double *query, *query_abs; /* [SUMS_ROWS][d] */
  double *chain;
  double *n;      /* sum w u */
  double *e;      /* sum g |u|,      g = t p'(|s|) + p(|s|) */
  double *a;      /* sum |w| |u|     with condition */
  double *cc, *m; /* sum c |u| and, where not stateful, sum c u */
  double *
      hh; /* sum h |u|      with theory, h = h_slope t p'(|s|) + h_value p(|s|), p(t) if stateful */
  double h_slope[SUMS_ROWS], h_value[SUMS_ROWS];
  int64_t lo[SUMS_ROWS], hi[SUMS_ROWS];
  double t_max[SUMS_ROWS]; /* over the visible keys */
  double *psi;             /* [SUMS_ROWS][state_pad]: weights of the initial state */
  unsigned want;
  void *memory;
} taylor_sums;

attest_status taylor_sums_open(taylor_sums *sums, const taylor_work *work, unsigned want,
                               attest_error *error);
void taylor_sums_close(taylor_sums *sums);
/* Rows row .. row + rows - 1. h_slope and h_value are set where theory is wanted. */
void taylor_sums_rows(taylor_sums *sums, const taylor_work *work, int64_t row, int64_t rows);

/* Weights, g, c of one row over its range lo .. hi - 1 (arrays of blocks * SUMS_KEYS, by key): for
 * second passes. c has room for 2 d more. */
void taylor_row_weights(double *w, double *g, double *c, const taylor_work *work, int64_t row);

/* Rows first .. first + rows - 1 of the final state: n = sum f(k) u, e = sum |f(k) u|, decay
 * included. [SUMS_ROWS][pad] each. */
attest_status taylor_state_sums(taylor_sums *sums, const taylor_work *work, int64_t first,
                                int64_t rows, attest_error *error);

/* Bounds of what a row of sums is off by: see enclose.c. */
typedef struct {
  double units;     /* K: |n^ - n| <= K u e + tail */
  double depth;     /* roundings of a sum over the row's terms */
  double keys;      /* terms that are keys */
  double t_max;     /* largest t of the row, from above */
  double slope_max; /* a bound of (1 + t) (1 + p(t)): for tails */
  int usable;
} taylor_row_error;
taylor_row_error taylor_error_of_row(const taylor_work *work, const taylor_sums *sums, int64_t r);
/* What underflow and vanishing powers of the decay cost column `column`. */
double taylor_tail(const taylor_work *work, const taylor_row_error *error, int64_t column);

/* p(x) in double. */
double taylor_polynomial_double(double x, int64_t degree);

#endif
