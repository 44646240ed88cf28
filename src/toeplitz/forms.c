/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The forms that the kernels of this room may take: how they are computed, and their a-priori
 * bounds.
 *
 * direct: as softmax (rope-softmax), or direct.c.
 *
 * fft, blocked: an element is either the quotient of two sums of the decomposition or, in a row
 * that was recomputed directly, the row of the double tier rounded (fft.h). Which of them depends
 * on the computed denominator D^ >= 4 beta, so that D >= 3 beta for the exact one; where no D^ that
 * the enclosure of D allows reaches 4 beta the row is direct, else the bound is the larger of both,
 *   beta (max|v| + |x|) / (max(D, 3 beta) - beta) + 2 (1 - sqrt(1 - eps^2)) / eps max|v| +
 * rounding, D the sum of the polynomial's weights: under softmax (1 +- eps) of the sum of
 * exponentials.
 *
 * low-rank: with rotated vectors off by eta = sqrt(2) (ROTARY_ROUNDING + u) relative to their
 * pairs, u the roundoff of the vectors' format, scores are off by delta = (2 eta + eta^2) b, b the
 * range of the scores, and Taylor weights of them are off by (1 + eps) e^delta - 1 relative to exp
 * of the exact ones: that in place of eps above, and the Taylor room's bound for the rotated
 * problem.
 *
 * A log-sum-exp is not among what these forms return. */
#include "forms.h"

#include <stdlib.h>

#include "../enclosure/interval.h"
#include "../softmax/softmax.h"
#include "../taylor/taylor.h"
#include "fft.h"
#include "low_rank.h"
#include "rows.h"

typedef struct {
  const attest_problem *problem;
  void *softmax;   /* work of the softmax room: rope-softmax */
  rows_pack *rows; /* the double tier of the others; with a form, of all */
  int has_bounds;
  toeplitz_fft_bounds fft[2]; /* in float, in double; beta NULL: not known */
  low_rank_problem low[2];    /* rotated; taylor NULL: not known */
  void *taylor[2];
} forms_work;

static int is_softmax(const attest_problem *problem) {
  return !strcmp(problem->kernel->name, "rope-softmax");
}

static int has_form(const attest_problem *problem) {
  return problem->values.form != FORM_DIRECT;
}

/* ---- opening ---- */

static attest_status open_low_rank(forms_work *w, const problem_slice *slice, int wide,
                                   attest_error *error) {
  low_rank_problem *low = &w->low[wide];
  attest_dtype dtype = wide ? ATTEST_FLOAT64 : ATTEST_FLOAT32;
  problem_slice rotated;
  attest_status status = low_rank_open(low, w->problem, slice, dtype, 0, error);
  if (status) return status;
  problem_slice_get(&rotated, low->taylor, 0);
  status = taylor_room.open(&w->taylor[wide], low->taylor, &rotated, WANT_OUT | WANT_THEORY, error);
  if (status) low_rank_close(low);
  return status;
}

/* One of the two formats may be out of reach of the form: then its bound is infinite. */
static attest_status open_bounds(forms_work *w, const problem_slice *slice, attest_error *error) {
  attest_status status[2];
  w->has_bounds = slice->nq > 0 && slice->nk > 0;
  for (int wide = 0; wide < 2 && w->has_bounds; wide++)
    status[wide] = w->problem->values.form == FORM_LOW_RANK
                       ? open_low_rank(w, slice, wide, error)
                       : toeplitz_fft_bounds_open(&w->fft[wide], w->problem, slice, !wide, error);
  return w->has_bounds && status[0] && status[1] ? status[1] : ATTEST_OK;
}

attest_status forms_open(void **work, const attest_problem *problem, const problem_slice *slice,
                         unsigned want, attest_error *error) {
  forms_work *w = calloc(1, sizeof *w);
  attest_status status = ATTEST_OK;
  int bounds = has_form(problem) && (want & WANT_THEORY);
  *work = w;
  if (!w) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  w->problem = problem;
  if (is_softmax(problem)) status = softmax_enclose_open(&w->softmax, problem, slice, want, error);
  if (!status && (!is_softmax(problem) || bounds))
    status = rows_pack_open(&w->rows, problem, slice, error);
  if (!status && bounds) status = open_bounds(w, slice, error);
  if (!status) return ATTEST_OK;
  forms_close(w);
  *work = NULL;
  return status;
}

void forms_close(void *work) {
  forms_work *w = work;
  if (!w) return;
  if (w->softmax) softmax_enclose_close(w->softmax);
  rows_pack_close(w->rows);
  for (int wide = 0; wide < 2; wide++) {
    toeplitz_fft_bounds_close(&w->fft[wide]);
    if (w->taylor[wide]) taylor_room.close(w->taylor[wide]);
    low_rank_close(&w->low[wide]);
  }
  free(w);
}

/* ---- bounds ---- */

/* Whether the machine computes in double; -1: in neither float nor double. */
static int machine_is_wide(const room_machine *machine) {
  attest_dtype products = machine->builtin ? machine->result : machine->products;
  if (products == ATTEST_FLOAT64) return 1;
  return machine->builtin || products == ATTEST_FLOAT32 ? 0 : -1;
}

/* max|x| of the row, as the polynomial kernel has it. */
static double largest_element(const forms_work *w, const rows_row *row,
                              const toeplitz_fft_bounds *bounds) {
  double most = 0;
  if (w->rows->weights == ROWS_EXP) return bounds->value_max;
  for (int64_t c = 0; c < w->rows->slice.dv; c++)
    most = fmax(most, fabs(row->x[c]) + row->radius[c]);
  return most;
}

/* How far the quotient of an accepted row may be from the exact element before it is rounded; -1:
 * no such row is accepted. */
static double fft_error(const forms_work *w, const rows_row *row, const toeplitz_fft_bounds *bounds,
                        int64_t i) {
  double beta = bounds->beta[i] * (1 + 0x1p-20), most = largest_element(w, row, bounds);
  if (!(beta < INFINITY)) return -1;
  if (!w->rows->normalizes) return beta * bounds->value_max + 0x1p-50 * most;
  double unit = exp(row->shift) * (1 + 0x1p-40);
  double low = (fabs(row->total) - row->total_error) * unit * (1 - bounds->eps) * (1 - 0x1p-30);
  double high = (fabs(row->total) + row->total_error) * unit * (1 + bounds->eps) * (1 + 0x1p-30);
  if (high + beta < 3.99 * beta) return -1;
  double least = fmax(low, 2.99 * beta) - beta;
  double error = beta * (bounds->value_max + most) / least + 0x1p-50 * (most + beta);
  return error * (1 + 0x1p-10) + bounds->polynomial_error;
}

static void fft_theory(double *theory, const forms_work *w, const rows_row *row,
                       const room_machine *machine, int64_t i) {
  int wide = machine_is_wide(machine);
  const toeplitz_fft_bounds *bounds = wide < 0 ? NULL : &w->fft[wide];
  double error = bounds && bounds->beta ? fft_error(w, row, bounds, i) : INFINITY;
  for (int64_t c = 0; c < w->rows->slice.dv; c++) {
    double direct =
        w->rows->normalizes || error < 0 ? rows_stored(machine, row->x[c], row->radius[c]) : 0;
    double most = fabs(row->x[c]) + row->radius[c];
    theory[c] = error < 0 ? direct : fmax(direct, rows_stored(machine, most, error));
  }
}

static void low_rank_theory(double *theory, const forms_work *w, const room_machine *machine,
                            int64_t i) {
  int wide = machine_is_wide(machine);
  int64_t dv = w->rows->slice.dv;
  double *cells = wide < 0 || !w->taylor[wide] ? NULL : calloc((size_t)(3 * dv + 1), sizeof *cells);
  unsigned char *class = calloc((size_t)dv + 1, 1);
  if (cells && class) {
    room_machine taylor = taylor_machine(wide ? ATTEST_FLOAT64 : ATTEST_FLOAT32);
    double reach;
    room_block block = {.row = i,
                        .rows = 1,
                        .out = {.width = dv,
                                .x = cells,
                                .radius = cells + dv,
                                .theory = cells + 2 * dv,
                                .class = class},
                        .reach = &reach,
                        .machine = &taylor};
    taylor_room.rows(&block, w->taylor[wide], WANT_OUT | WANT_THEORY);
  }
  for (int64_t c = 0; c < dv; c++)
    theory[c] = cells && class ? enclosure_add_up(cells[2 * dv + c], w->low[wide].error) : INFINITY;
  free(cells);
  free(class);
}

static void theory_of_rows(room_block *block, const forms_work *w) {
  room_cells *cells = &block->out;
  rows_row row;
  int ready = rows_row_open(&row, w->rows);
  for (int64_t r = 0; r < block->rows; r++) {
    double *theory = cells->theory + r * cells->width;
    int64_t i = block->row + r, lo, hi;
    problem_visible_range(&lo, &hi, w->problem, &w->rows->slice, i);
    if (lo >= hi || cells->class[r * cells->width] != EXACT_FINITE) continue; /* prescribed */
    if (ready) rows_row_compute(&row, w->rows, i, 1);
    for (int64_t c = 0; c < cells->width; c++)
      theory[c] = INFINITY;
    if (!ready) continue;
    if (w->problem->values.form == FORM_LOW_RANK)
      low_rank_theory(theory, w, block->machine, i);
    else
      fft_theory(theory, w, &row, block->machine, i);
  }
  rows_row_close(&row);
}

void forms_rows(room_block *block, const void *work, unsigned want) {
  const forms_work *w = work;
  int own = (want & WANT_THEORY) && has_form(w->problem);
  if (w->softmax)
    softmax_enclose_rows(block, w->softmax, want);
  else
    toeplitz_enclose_rows(block, w->rows, want);
  if (own && w->has_bounds && (want & WANT_OUT)) theory_of_rows(block, w);
  for (int64_t r = 0; own && (want & WANT_LSE) && r < block->rows; r++)
    block->lse.theory[r] = INFINITY;
}

/* ---- the other tiers ---- */

void forms_sensitivity(double *s_lo, double *s_hi, const double *x, const double *radius,
                       const void *work, int64_t row) {
  const forms_work *w = work;
  if (w->softmax)
    softmax_sensitivity(s_lo, s_hi, x, radius, w->softmax, row);
  else
    toeplitz_sensitivity(s_lo, s_hi, x, radius, w->rows, row);
}

void forms_softmax_dd(double *x_hi, double *x_lo, double *radius, const void *work, int64_t row,
                      int output) {
  softmax_enclose_dd(x_hi, x_lo, radius, ((const forms_work *)work)->softmax, row, output);
}

void forms_softmax_side(signed char *side, const double *got, const double *x, const double *radius,
                        const void *work, int64_t row, double limit, double u_w, double u_s,
                        double quantum) {
  softmax_backward_side(side, got, x, radius, ((const forms_work *)work)->softmax, row, limit, u_w,
                        u_s, quantum);
}

/* ---- kernels ---- */

static attest_status form_slice(room_account *account, const attest_problem *problem,
                                const problem_slice *slice, attest_error *error) {
  toeplitz_fft_report report;
  attest_tensor out = slice->out;
  if (problem->values.form == FORM_LOW_RANK) {
    low_rank_report features;
    return toeplitz_low_rank(&out, &features, problem, slice, 0, error);
  }
  int blocked = problem->values.form == FORM_BLOCKED;
  toeplitz_fft_options options = {.form = blocked ? TOEPLITZ_BLOCKED_FORM : TOEPLITZ_FFT_FORM};
  attest_status status = toeplitz_fft_attention(&report, NULL, problem, slice, &options, error);
  account->has_recomputed = 1;
  account->recomputed += report.recomputed;
  account->has_leak = !blocked && problem->values.causal != CAUSAL_NONE;
  if (account->has_leak) account->leak = fmax(account->leak, report.leak);
  return status;
}

attest_status forms_kernel_account(room_account *account, attest_tensor *out, attest_tensor *lse,
                                   const attest_problem *problem, attest_error *error) {
  attest_problem mine = *problem;
  attest_status status = ATTEST_OK;
  *account = (room_account){0};
  if (!has_form(problem))
    return (is_softmax(problem) ? softmax_kernel : toeplitz_kernel)(out, lse, problem, error);
  mine.output[OUTPUT_OUT] = *out;
  for (int64_t i = 0; i < problem_slice_count(&mine) && !status; i++) {
    problem_slice slice;
    problem_slice_get(&slice, &mine, i);
    if (slice.nq == 0) continue;
    status = form_slice(account, &mine, &slice, error);
  }
  return status;
}

attest_status forms_kernel(attest_tensor *out, attest_tensor *lse, const attest_problem *problem,
                           attest_error *error) {
  room_account account;
  return forms_kernel_account(&account, out, lse, problem, error);
}
