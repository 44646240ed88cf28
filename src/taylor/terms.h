/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the double tier knows of a row of sums, and the a-priori bound from it. Internal to the
 * room; the derivations stand in enclose.c and bound.c. */
#ifndef ATTEST_TAYLOR_TERMS_H
#define ATTEST_TAYLOR_TERMS_H

#include "enclose.h"

typedef struct {
  const taylor_work *work;
  taylor_row_error error;
  const double *n, *e, *a, *cc, *m, *hh; /* rows of the sums */
  double w, w_radius;                    /* the normaliser, eps included; 1 and 0 without */
  double w_least, w_most;                /* bounds of its absolute value */
  int usable;
} taylor_row_view;

taylor_row_view taylor_view_row(const taylor_work *work, const taylor_sums *sums, int64_t r);
/* Radius of a column of n. */
double taylor_column_radius(const taylor_row_view *v, int64_t c);

/* ---- bound.c --------------------------------------------------------------------------------- */

/* What a computation of the machine model is off by in row `row`: slope t p'(|s|) + value p(|s|) a
 * weight, or value p(t) where features are summed, its share of the sums' roundings included. */
void taylor_theory_units(double *slope, double *value, const room_machine *machine,
                         const taylor_work *work, int64_t row);
/* The a-priori bounds of row block->row + at of out; of row block->row + at of the final state. */
void taylor_theory_row(room_block *block, const taylor_row_view *v, int64_t at);
void taylor_theory_state(room_block *block, const taylor_sums *sums, const taylor_work *work,
                         int64_t at);

#endif
