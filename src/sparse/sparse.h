/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Sparse attention as compact kernel regression: entmax, kernel estimates and their relatives.
 *
 * Every kernel here is x = sum_j w_j v_j / sum_j w_j with a weight function of an argument y_j:
 *
 *   gaussian                      y = -D/(2 h^2)               w = exp(y),    D = |q - k|^2
 *   epanechnikov biweight triweight  y = 1 - D/h^2             w = [y]_+^r,   r = 1, 2, 3
 *   uniform                       y = 1 - D/h^2                w = 1 where y >= 0
 *   normrelu                      y = 2 s/h^2 + 1 - 2/h^2      w = [y]_+
 *   relumax                       y = b + (s - max s)/h^2      w = [y]_+
 *   sparsemax, entmax             y = (alpha-1) z - tau        w = [y]_+^(1/(alpha-1)), tau such
 *                                                              that sum w = 1
 *   topk-softmax                  y = z                        w = exp(y) on the k largest
 *   topk-uniform                  y = s                        w = 1 on the k largest
 *
 * with s the score and z = s / temperature. entmax at alpha = 1 is softmax. Where fewer than k keys
 * are visible, top-k selects all of them. Of equal scores those of lower keys come first, under
 * ties highest those of higher keys; ties lowest and highest bind others too, where keys and biases
 * are the same and so every computed score is. A row whose weights are all zero (no key within the
 * bandwidth) is an empty row. */
#ifndef ATTEST_SPARSE_SPARSE_H
#define ATTEST_SPARSE_SPARSE_H

#include "../problem/room.h"

typedef enum {
  RULE_EXP,       /* exp(y) */
  RULE_POWER,     /* [y]_+^r for r = power */
  RULE_MARGIN,    /* [y]_+ below the largest score */
  RULE_THRESHOLD, /* [y - tau]_+^r, tau from sum = 1 */
  RULE_WITHIN,    /* 1 where y >= 0 */
  RULE_TOP_EXP,   /* exp(y) on the k largest */
  RULE_TOP_MEAN   /* 1 on the k largest */
} sparse_rule;

typedef struct {
  const char *name;
  sparse_rule rule;
  int is_distance; /* of the distance of the stored elements, not of the score */
  int power;       /* r of RULE_POWER */
} sparse_kernel;

/* The descriptor that a problem calls for: entmax with alpha = 1 is RULE_EXP of the score. */
const sparse_kernel *sparse_kernel_of(const attest_problem *problem);

enum { SPARSE_KERNELS = 11 };
extern const problem_room sparse_rooms[SPARSE_KERNELS];

/* ---- reference.c (balls) ---- */
attest_status sparse_ball(room_balls *balls, const attest_problem *problem,
                          const problem_slice *slice, int64_t row, int output, unsigned want,
                          slong prec, attest_error *error);
/* ---- enclose.c (double) ---- */
attest_status sparse_enclose_open(void **work, const attest_problem *problem,
                                  const problem_slice *slice, unsigned want, attest_error *error);
void sparse_enclose_rows(room_block *block, const void *work, unsigned want);
void sparse_enclose_close(void *work);
/* ---- perturb.c ---- */
attest_status sparse_backward_explicit(measure_interval *value, const attest_problem *problem,
                                       const problem_slice *slice, int64_t row, int output,
                                       int64_t component, double got, double u_w, double u_s,
                                       double quantum, attest_error *error);
/* ---- bound.c ---- */
room_machine sparse_machine(attest_dtype dtype);
/* ---- kernel.c ---- */
attest_status sparse_run_kernel(attest_tensor *out, attest_tensor *lse,
                                const attest_problem *problem, attest_error *error);
/* ---- mix.c ---- */
int sparse_mix(double *weights, const room_choice *choice, const problem_slice *slice,
               const double *got);
/* ---- jump.c (top-k, uniform, powers whose support can empty) ---- */
attest_status sparse_choice(room_choice *choice, const attest_problem *problem,
                            const problem_slice *slice, int64_t row, double edge,
                            attest_error *error);
int sparse_admits(const room_choice *choice, const int64_t *selection, int64_t selected,
                  const attest_problem *problem, const problem_slice *slice, int64_t row,
                  double edge);
int sparse_outside(const room_choice *choice, const attest_problem *problem,
                   const problem_slice *slice, int64_t row, int64_t component, double got,
                   double eps_v, double eps_s, double quanta);
/* ---- select.c (top-k) ---- */
attest_status sparse_select(int64_t *key, int64_t *count, const attest_problem *problem,
                            const problem_slice *slice, int64_t row, attest_error *error);
attest_status sparse_misselection(room_misselection *error_of, const attest_problem *problem,
                                  const problem_slice *slice, int64_t row, const int64_t *selection,
                                  int64_t selected, double u_s, slong prec, attest_error *error);
/* ---- exact.c ---- */
int sparse_linear_zero(const attest_problem *problem, const problem_slice *slice, int64_t row,
                       int output, int n, const int64_t component[], const fmpq *coefficient,
                       const fmpq_t constant);

#endif
