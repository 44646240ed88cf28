/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rows of the Toeplitz room in double: what a slice is packed into, and one row with its
 * radius. Internal to the toeplitz room; the derivation stands in enclose.c. */
#ifndef ATTEST_TOEPLITZ_ROWS_H
#define ATTEST_TOEPLITZ_ROWS_H

#include "../tensor/isa.h"
#include "toeplitz.h"

/* One product of the form: q[a] w k[b]. */
typedef struct {
  int64_t a, b;
  double *symbol; /* [nq + nk - 1]: w of row i and key j at j - i + nq - 1; NULL: ones */
} rows_term;

/* What a score s becomes: exp(s), s itself, or c_0 + .. + c_g s^g. */
typedef enum { ROWS_EXP, ROWS_SCORE, ROWS_POLYNOMIAL } rows_weights;

typedef struct {
  const attest_problem *problem;
  problem_slice slice;
  int is_rotary;
  rows_weights weights;
  int64_t degree;
  double c[PROBLEM_COEFFICIENTS_MAX];
  int normalizes;
  int64_t term_count;
  rows_term *terms;
  double *queries, *query_sizes; /* [nq][d], rotated; sizes as in rotary.h or |q| */
  double *keys, *key_sizes;      /* [d][nk] */
  double *values;                /* [nk][dv] */
  double key_max, value_max;     /* the largest sizes */
  double factor, factor_error;   /* scale / temperature, and its absolute error */
  double eps, eps_error;
  double form_error; /* |form^ - form| <= form_error size, underflow apart */
  double size_error; /* relative error of a size */
} rows_pack;

/* One row: x within radius; A and S of MATH section 7 from both sides. dv entries each. */
typedef struct {
  double *x, *radius, *a_lo, *a_hi, *s_lo, *s_hi;
  double reach; /* largest t_j; without exp: sum h_j over the normaliser */
  /* The normaliser is exp(shift) (total +- total_error), shift 0 without exp; total_size is the sum
   * of the absolute weights. Without normalisation total is 1. */
  double shift, total, total_error, total_size;
  /* By key: form, then weight; size, then t times weight; bound of the weight's error. */
  double *weight, *size, *error;
  double *chain, *absolute, *spread;
  void *memory;
} rows_row;

attest_status rows_pack_open(rows_pack **pack, const attest_problem *problem,
                             const problem_slice *slice, attest_error *error);
void rows_pack_close(rows_pack *pack);
int rows_row_open(rows_row *row, const rows_pack *pack); /* 0: out of memory */
void rows_row_close(rows_row *row);
/* An ordinary row; without `bounds` x, total and total_size only, with the same bits. */
void rows_row_compute(rows_row *row, const rows_pack *pack, int64_t i, int bounds);
/* Whether a row that has been computed with bounds has no value: its weights add up to exactly 0.
 */
int rows_row_vanishes(const rows_row *row, const rows_pack *pack, int64_t i);
/* About the largest size that a weight of row i can have; 1 under exp. */
double rows_weight_max(const rows_pack *pack, int64_t i);

/* Classes and values that the edge policy prescribes: as softmax_special_row, and NaN for 0/0.
 * (enclose.c) */
int rows_special(unsigned char *class, double *value, const rows_pack *pack, int64_t i);
/* Row i into out: x, or where that is NULL what class and value say. (enclose.c) */
void rows_put(attest_tensor *out, const double *x, const unsigned char *class, const double *value,
              const rows_pack *pack, int64_t i);
/* Row i in double into out, `row` and the others scratch of dv entries: 1, or what the edge policy
 * prescribes: 0; -1: an empty row that is trouble. (enclose.c) */
int rows_store(attest_tensor *out, rows_row *row, unsigned char *class, double *value,
               const rows_pack *pack, int64_t i);
/* The kernel in double stores x^ rounded to the format of its result: radius of x^, and half a unit
 * of the format or of its subnormals. Infinite where it may overflow. (enclose.c) */
double rows_stored(const room_machine *machine, double x, double radius);
/* The a-priori bound of a declared machine for a row that rows_row_compute has computed with
 * bounds, dv elements; the row is used as scratch. (bound.c) */
void rows_theory(double *theory, rows_row *row, const rows_pack *pack, const room_machine *machine,
                 int64_t i);
/* Marks hidden keys by a negative size and a weight of 0. */
void rows_hide(rows_row *row, const rows_pack *pack, int64_t i, int64_t lo, int64_t hi);
#define ROWS_EMPTY_MESSAGE "a row sees no key and empty-row is error: choose zero or nan"

/* The pack in float, for the kernel of direct.c. */
typedef struct {
  int64_t length;        /* of symbols */
  float *queries, *keys; /* as in the pack */
  float *values;         /* [dv][nk] */
  float *symbols;        /* [term_count][length]; NULL: ones */
  float factor, eps, c[PROBLEM_COEFFICIENTS_MAX];
  void *memory;
} rows_floats;
int rows_floats_open(rows_floats *floats, const rows_pack *pack); /* 0: out of memory (direct.c) */
void rows_floats_close(rows_floats *floats);

/* ---- rows_isa.c: plain loops, the same bits on every instruction set ---- */

/* score[j], size[j] for lo <= j < hi: the form and the absolute value of its terms. */
void rows_scores(double *score, double *size, const rows_pack *pack, int64_t i, int64_t lo,
                 int64_t hi);
/* sum[c] = sum_j w[j] v[j][c] in chains of ROWS_CHAIN keys, then their sum. */
enum { ROWS_CHAIN = 64 };
void rows_sums(double *sum, double *chain, const double *w, const double *values, int64_t dv,
               int64_t lo, int64_t hi);
/* absolute[c] = sum |w_j| |v_jc|, spread[c] = sum e_j |v_jc - x_c|, s[c] = sum h_j |v_jc - x_c|. */
void rows_spreads(double *absolute, double *spread, double *s, const double *x, const double *w,
                  const double *e, const double *h, const double *values, int64_t dv, int64_t lo,
                  int64_t hi);

/* The scores of row i in float, lo <= j < hi. */
void rows_scores_single(float *score, const rows_floats *floats, const rows_pack *pack, int64_t i,
                        int64_t lo, int64_t hi);
/* The sum of w[j] v[j], v NULL: of w[j], j < n; see direct.c. */
float rows_sum_single(const float *w, const float *v, int64_t n);

#endif
