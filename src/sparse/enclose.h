/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the double tier knows of one row. Internal to the room; the derivation stands in enclose.c.
 */
#ifndef ATTEST_SPARSE_ENCLOSE_H
#define ATTEST_SPARSE_ENCLOSE_H

#include "line.h"

/* One row: its keys and, for every component, x within radius, A within off_a, S in [s_lo, s_hi].
 */
typedef struct {
  sparse_line line;   /* after sparse_sums_row: the keys that carry weight, slope or doubt */
  int64_t visible;    /* keys seen, or selected by top-k */
  int64_t *selection; /* top-k: those selected, rising; visible of them */
  double least, most; /* of the exact sum of weights; 1 for thresholds */
  double *x, *radius, *a, *off_a, *s_lo, *s_hi;
  double *off_x;                      /* rounding of x alone */
  double *center, *off_center;        /* c of S for thresholds */
  double *far, *pull, *loose, *chain; /* scratch */
  int is_near;  /* uniform: a key may be on either side of the bandwidth; powers: all may be */
  int is_steep; /* an infinite slope: nothing is known of S */
  void *memory;
} sparse_row_sums;
int sparse_sums_open(sparse_row_sums *sums, const sparse_pack *pack); /* 0: out of memory */
void sparse_sums_close(sparse_row_sums *sums);

/* 1, or 0 when double cannot tell: then nothing holds but line.reach. A row without weight has
 * visible = 0 or line.is_empty, and nothing else. S is that of every edge from 0 to `edge`. */
int sparse_sums_row(sparse_row_sums *sums, int64_t row, unsigned want, double edge);

/* A bound of |x' - x^| over all rows whose arguments lie within half[i] (units of y) of y^, into
 * moved[dv]; infinite where the weights might all vanish. Overwrites line.off. */
void sparse_sums_moved(double *moved, sparse_row_sums *sums, const double *half);

/* The a-priori bound of |computed - exact| for out of the row that sparse_sums_row has left, one
 * without weight too (x is 0 then); 0: the model admits any result. (bound.c) */
int sparse_theory_row(double *theory, sparse_row_sums *sums, const room_machine *machine);
/* The same of lse (in the base of the problem, within radius); infinite where any will do. */
double sparse_theory_lse(sparse_row_sums *sums, const room_machine *machine, double lse,
                         double radius);

#endif
