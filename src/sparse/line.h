/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One row of a sparse kernel in double: arguments, weights and how far off they may be. Internal to
 * the room; the derivation stands in enclose.c. */
#ifndef ATTEST_SPARSE_LINE_H
#define ATTEST_SPARSE_LINE_H

#include "../tensor/isa.h"
#include "sparse.h"

enum {
  LINE_PANEL = 8,     /* keys a packed panel */
  LINE_CHAIN = 64,    /* keys summed in one chain before the chain joins the running sum */
  LINE_MOST = 1 << 23 /* keys of a row and elements of a key: beyond, double does not tell */
};

/* A parameter as a double, off by at most `error`. */
typedef struct {
  double value, error;
} sparse_constant;

/* What all rows of a slice share. */
typedef struct {
  const attest_problem *problem;
  problem_slice slice;
  const sparse_kernel *kernel;
  double *keys;   /* [panels][d][LINE_PANEL] */
  double *values; /* [nk][dv] */
  int has_extras; /* bias or mask: visibility is more than a range */
  sparse_constant scale, softcap, inverse_temperature;
  sparse_constant inverse_square; /* 1/h^2 */
  sparse_constant margin;
  sparse_constant alpha_less, power; /* alpha - 1 and r = 1 / (alpha - 1) */
  int whole_power;                   /* r where it is 1, 2 or 3, else 0: powers are products then */
} sparse_pack;
attest_status sparse_pack_open(sparse_pack **pack, const attest_problem *problem,
                               const problem_slice *slice, attest_error *error);
/* Everything but the arrays, which stay NULL. */
void sparse_pack_parameters(sparse_pack *pack, const attest_problem *problem,
                            const problem_slice *slice);
void sparse_pack_close(sparse_pack *pack);

/* Sums of products q_a k_a and of |q_a| |k_a|, or of (q_a - k_a)^2 and (|q_a| + |k_a|)^2, for the
 * keys of panels first .. last - 1: chains over a, one key a lane. (pass_isa.c) */
typedef void sparse_dots_function(double *dot, double *size, const double *q, const double *keys,
                                  int64_t d, int64_t first, int64_t last);
ISA_DECLARE(void, sparse_products,
            (double *dot, double *size, const double *q, const double *keys, int64_t d,
             int64_t first, int64_t last));
ISA_DECLARE(void, sparse_distances,
            (double *dot, double *size, const double *q, const double *keys, int64_t d,
             int64_t first, int64_t last));
/* sum_c = sum_i w_i v_ic and, unless NULL, size_c = sum_i w_i |v_ic| over n keys, w >= 0, in chains
 * of LINE_CHAIN; chain: 2 dv of scratch. */
ISA_DECLARE(void, sparse_sums,
            (double *sum, double *size, double *chain, const double *w, const int64_t *key,
             int64_t n, const double *values, int64_t dv));
/* Likewise far_c = sum_i w_i |v_ic - x_c| and, unless NULL, pull_c = sum_i w_i (v_ic - x_c). */
ISA_DECLARE(void, sparse_spreads,
            (double *far, double *pull, double *chain, const double *w, const int64_t *key,
             int64_t n, const double *values, const double *x, int64_t dv));

/* u with sum [u - gap_j]_+^r = 1 in double, gap >= 0 and 0 for some key; a guess. (solve.c) */
double sparse_threshold(const double *gap, int64_t n, double r);

/* The keys of one row. For key key[i] of the slice the exact argument lies within e[i] + common of
 * y[i], the exact absolute version within te[i] of t[i]; the weight computed is w[i]. `common` is
 * what moves all arguments of the row alike: the error of the largest score (relumax) or of the
 * threshold. Thresholds: until sparse_line_weights y is z; then y = (alpha - 1) z - tau and e is in
 * these units, while t stays that of z. */
typedef struct {
  const sparse_pack *pack;
  int64_t row, count;
  int64_t total; /* of all visible keys: those that were dropped stand behind the others, in no
                    order, with key, y, e, t, te */
  int64_t *key;
  double *y, *e, *t, *te, *w;
  double *dot, *size, *query, *plain;   /* scratch of line.c */
  double *off, *slope, *slope_off, *up; /* scratch of enclose.c, a key each */
  double largest;                       /* exponentials: what was subtracted from y, exactly */
  double reach;                         /* the largest t of all visible keys, from above */
  double common, residual;              /* residual: the part of it that solving has left */
  double sum;                           /* of w, off by at most sparse_line_rounding of it */
  double cut_low, cut_high; /* top-k: least y - e - edge t selected, largest y + e + edge t not */
  int is_empty;             /* every weight is certainly zero */
  int is_unknown;           /* double cannot tell the selection, or whether the row is empty */
  void *memory;
} sparse_line;
int sparse_line_open(sparse_line *line, const sparse_pack *pack); /* 0: out of memory */
void sparse_line_close(sparse_line *line);

/* key, y, e, t, te, reach of one row; then what top-k does not select is dropped. */
void sparse_line_arguments(sparse_line *line, int64_t row, double edge);
/* Two keys change places: key, y, e, t, te. */
void sparse_line_swap(sparse_line *line, int64_t i, int64_t n);
/* w, and the scalars. Thresholds: y becomes the argument, e its total error. */
void sparse_line_weights(sparse_line *line);
/* off[i] >= |w' - w[i]| for every weight w' that the row may have when the argument of each key
 * moves by at most half[i] (in units of y) from y[i], the largest score or the threshold moving
 * along; the rounding of w is included. Returns a lower bound of the sum of such weights, 0 where
 * they might all vanish. half may be e. */
double sparse_line_deviations(double *off, const sparse_line *line, const double *half);
/* Depth of rounding of sparse_sums and of the sum of weights over n keys, times 2^-53. */
double sparse_line_rounding(int64_t n);

#endif
