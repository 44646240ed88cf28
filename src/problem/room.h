/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a mathematics room offers to the certifier: one descriptor a kernel. The certifier knows
 * nothing of softmax or Taylor; it climbs the ladder through these functions. */
#ifndef ATTEST_PROBLEM_ROOM_H
#define ATTEST_PROBLEM_ROOM_H

#include "../enclosure/enclosure.h"
#include "problem.h"

/* x <- the exact value of a parameter. (real.c) */
void problem_real_ball(arb_t x, const problem_real *real, slong prec);

/* What a pass is asked for. */
enum {
  WANT_OUT = 1,
  WANT_LSE = 2,
  WANT_CONDITION = 4, /* a and s: the denominator of the backward error */
  WANT_THEORY = 8,    /* the a-priori bound of block->machine */
  WANT_STATE = 16,    /* final-state: block->row counts rows of the state; never with out or lse */
  WANT_INDICES = 32   /* the keys that top-k selects */
};
/* What to want for an output. */
unsigned room_want(int output);

/* A declared machine model, for the a-priori bound (--arithmetic products=..,weights=..,
 * accumulate=..,block=..,exp=..). Unit roundoffs are 2^-p of the named formats. */
typedef struct {
  attest_dtype products;   /* format of products q_a k_a and of scores (softmax), in which q.k is
                              accumulated where accumulate has no more digits */
  attest_dtype weights;    /* format to which exponentials are rounded before they meet values */
  attest_dtype accumulate; /* format in which p.v and the normaliser are accumulated */
  attest_dtype phases;     /* rope-linear, rope-softmax: format in which rotary angles, cos and sin
                              are made */
  attest_dtype result;     /* format of the output */
  attest_dtype result_lse; /* format of the log-sum-exp */
  attest_dtype result_state; /* format of the final state */
  int64_t block;    /* keys summed in one chain before the chain joins the running sum; 0: all */
  double exp_error; /* relative error of the exponential, in unit roundoffs of products */
  int builtin;      /* the order of operations of the built-in kernel is known: see the room */
} room_machine;

/* What a kernel says of its own work beside its output. */
typedef struct {
  int has_recomputed, has_leak;
  int64_t recomputed; /* rows of a fast form that were computed directly instead */
  double leak;        /* what rounding may carry of later tokens into an element, from above */
} room_account;

/* Sets the fields that the text of --arithmetic names: "products=float32,block=64". The others keep
 * what the room has put there. */
attest_status room_machine_parse(room_machine *machine, const char *text, attest_error *error);
/* How far the form of a query and a key may be off, relative to its absolute value sum |q_pair|
 * |k_pair|, when a declared machine rotates them to these positions, counted from the first one of
 * the slice. Frequency, its product with the position p, cos and sin round once each in `phases`,
 * of roundoff u_p, so that each of cos and sin is off by at most a(p) = min(2, p (2 u_p + u_p^2)) +
 * u_p (theta <= 1; for bases below 1 times base^-1), and a rotated pair by sqrt(2) a(p) + 2 u of
 * its norm, u the roundoff of products. */
double room_rotation_error(const room_machine *machine, const problem_values *values,
                           double query_position, double key_position);

/* Enclosures of `rows` x `width` elements of one output in double: the exact element lies within
 * radius of x. NaN never appears; an infinite radius means "ask the next tier". For the backward
 * error: a in [a_lo, a_hi], s in [s_lo, s_hi] (MATH: A = sum |p||v|, S = sum t |dx/dy|). */
typedef struct {
  int64_t width;       /* problem_output_width */
  double *x, *radius;  /* rows * width, row major */
  double *a_lo, *a_hi; /* with WANT_CONDITION, else untouched; may be NULL when not wanted */
  double *s_lo, *s_hi;
  double *theory;       /* with WANT_THEORY: the a-priori bound of |computed - exact|, rounded up */
  unsigned char *class; /* measure_class of every element */
} room_cells;

typedef struct {
  int64_t row, rows; /* rows row .. row + rows - 1 of the slice */
  room_cells out, lse, state;
  double *reach; /* a row: largest t_j over visible keys, from above; computed in one fixed
                    sequential order so that it is the same on every instruction set */
  const room_machine *machine;
  double edge; /* with WANT_CONDITION: scores may move by up to edge t_j, the largest B u_s of the
                  outputs. Kernels whose weights reach zero count keys that could come to carry
                  weight: [s_lo, s_hi] holds S at every edge from 0 to this one */
  unsigned char *jump; /* a row: 1 where, at that edge, out may come from more than one selection of
                          keys (see choice); may be NULL */
  int64_t *indices; /* with WANT_INDICES, problem_output_width a row: the kernel's own selection in
                       rising order, then -1; INDICES_UNKNOWN first where double cannot tell */
} room_block;
enum { INDICES_UNKNOWN = -2 };

/* One row in balls. x, a, s have as many entries as the output has columns. */
typedef struct {
  int64_t width;
  arb_ptr x, a, s; /* a, s only with WANT_CONDITION */
  unsigned char *class;
  double edge; /* as in room_block, of this output; 0 from room_balls_init */
  /* The keys that a discontinuous kernel is to select, in rising order; NULL: its own choice. */
  const int64_t *selection; /* not NULL with selected = 0: no key carries weight */
  int64_t selected;
  const double
      *weights; /* of the selection, >= 0 and not all 0; NULL: the kernel's own. S is 0 then
                 */
} room_balls;

/* The selections that a discontinuous kernel (top-k, radius) may make in a row when scores move by
 * at most edge t_j: all `fixed` keys and some of the `loose` ones. Where the support of a
 * continuous kernel can empty, all its keys are loose, and it mixes. */
typedef struct {
  int64_t fixed_count, loose_count;
  int64_t choose;         /* so many of the loose keys; -1: any number */
  int may_be_empty;       /* choose < 0, no fixed keys: none at all, which makes an empty row */
  int mixes;              /* no fixed keys: loose ones may carry any weights */
  int64_t *fixed, *loose; /* rising; one block of memory with before */
  int64_t *before; /* for each loose key the place of the one that must be selected if it is, or -1
                    */
} room_choice;
void room_choice_clear(room_choice *choice);

/* How far a selection of keys is from one that the scores make. */
typedef struct {
  measure_interval size;
  int64_t taken, left; /* the keys that show it: one selected, and one left out instead; or -1 */
} room_misselection;

void room_balls_init(room_balls *balls, int64_t width);
void room_balls_clear(room_balls *balls);

/* Exact tier: whether sum_i coefficient[i] x[component[i]] = constant for the row: 1 yes, 0 no
 * (then balls of enough precision decide the sign), -1 not known. n = 1 for lse. */
typedef int room_linear_zero(const attest_problem *problem, const problem_slice *slice, int64_t row,
                             int output, int n, const int64_t component[], const fmpq *coefficient,
                             const fmpq_t constant);
/* Whether x[component] = c, as linear_zero answers; -1 without one. */
int room_equals(room_linear_zero *linear_zero, const attest_problem *problem,
                const problem_slice *slice, int64_t row, int output, int64_t component,
                const fmpq_t c);
int room_equals_double(room_linear_zero *linear_zero, const attest_problem *problem,
                       const problem_slice *slice, int64_t row, int output, int64_t component,
                       double c);

typedef struct problem_room {
  const char *name;    /* of the kernel: "softmax" */
  const char *theorem; /* the error analysis, "softmax_radius"; see certify/theorems.h */

  /* Double tier. open prepares what all rows of a slice share (packed keys and values) and may be
   * read by several threads at once; rows needs no locking. Memory is linear in the slice. */
  attest_status (*open)(void **work, const attest_problem *problem, const problem_slice *slice,
                        unsigned want, attest_error *error);
  void (*rows)(room_block *block, const void *work, unsigned want);
  void (*close)(void *work);
  /* Second pass over one row: tight s_lo, s_hi of out (dv entries each) given x and radius of that
   * row as `rows` returned them. NULL: rows has given S as well as double can. */
  void (*sensitivity)(double *s_lo, double *s_hi, const double *x, const double *radius,
                      const void *work, int64_t row);

  /* Double-double tier (float64 outputs): as x_hi + x_lo within radius; class as before. NULL: the
   * room has none. */
  void (*rows_dd)(double *x_hi, double *x_lo, double *radius, const void *work, int64_t row,
                  int output);

  /* Ball tier: any precision, one row of one output. Single-threaded, reentrant. */
  attest_status (*ball)(room_balls *balls, const attest_problem *problem,
                        const problem_slice *slice, int64_t row, int output, unsigned want,
                        slong prec, attest_error *error);

  /* Discontinuous kernels, and those whose support can empty; NULL: the room has none. Memory of
   * the choice: room_choice_clear. */
  attest_status (*choice)(room_choice *choice, const attest_problem *problem,
                          const problem_slice *slice, int64_t row, double edge,
                          attest_error *error);
  /* Whether some scores within the edge make this selection (rising keys) of that choice. */
  int (*admits)(const room_choice *choice, const int64_t *selection, int64_t selected,
                const attest_problem *problem, const problem_slice *slice, int64_t row,
                double edge);
  /* Choices that mix: weights of the loose keys whose mean is about got[0 .. dv-1], a guess. 0:
   * none was looked for (no keys, no memory). */
  int (*mix)(double *weights, const room_choice *choice, const problem_slice *slice,
             const double *got);
  /* Whether `got` is no out[component] of any selection of the choice with values moved by eps_v
   * |v|, scores by eps_s t, the result by `quanta`; 0 also where that is not known. */
  int (*outside)(const room_choice *choice, const attest_problem *problem,
                 const problem_slice *slice, int64_t row, int64_t component, double got,
                 double eps_v, double eps_s, double quanta);

  /* Kernels with the output indices; NULL: the room has none. The kernel's own selection by falling
   * score; `key` has room for problem_output_width. */
  attest_status (*select)(int64_t *key, int64_t *count, const attest_problem *problem,
                          const problem_slice *slice, int64_t row, attest_error *error);
  /* The least eps such that scores moved by at most eps t select these keys (rising, different), in
   * units of u_s: an enclosure that narrows as prec grows. Infinite where no scores do, which
   * includes another number of keys than the row is to select. */
  attest_status (*misselection)(room_misselection *error_of, const attest_problem *problem,
                                const problem_slice *slice, int64_t row, const int64_t *selection,
                                int64_t selected, double u_s, slong prec, attest_error *error);

  room_linear_zero *linear_zero; /* NULL: the room has none */

  /* Where u t is not small: rigorous lower and upper bounds of the backward error of `got` by
   * explicit perturbations (MATH section 7), in units of roundoff. `quantum` is the absolute error
   * allowed for each unit, 2^(emin-p) of the output's format; it enters as in the first-order
   * denominator u_w A + u_s S + quantum. */
  attest_status (*backward_explicit)(measure_interval *value, const attest_problem *problem,
                                     const problem_slice *slice, int64_t row, int output,
                                     int64_t component, double got, double u_w, double u_s,
                                     double quantum, attest_error *error);

  /* The same question for a whole row of out in double, at one size `limit`: side[c] = 1 when the
   * backward error of got[c] is at most limit, -1 when it is larger, 0 when double cannot tell.
   * x and radius are those of the row. NULL: the room has none. */
  void (*backward_side)(signed char *side, const double *got, const double *x, const double *radius,
                        const void *work, int64_t row, double limit, double u_w, double u_s,
                        double quantum);

  /* The fast kernel: fills out and, when its data is not NULL, lse; float32 or float64 by dtype of
   * out. A kernel that keeps a state also fills problem->output[OUTPUT_FINAL_STATE] where that has
   * data. Deterministic: the same bits at any thread count and on every instruction set. */
  attest_status (*kernel)(attest_tensor *out, attest_tensor *lse, const attest_problem *problem,
                          attest_error *error);
  /* The same with an account; NULL: the room keeps none. */
  attest_status (*kernel_account)(room_account *account, attest_tensor *out, attest_tensor *lse,
                                  const attest_problem *problem, attest_error *error);
  /* The machine model of that kernel. */
  room_machine (*machine)(attest_dtype dtype);

  /* Ball tier for reference data: rows row .. row + rows - 1 of both outputs at once, where that is
   * faster than row by row (blocked exact products): out has rows * dv balls and classes, lse rows.
   * Single-threaded, reentrant. NULL: the room has only `ball`. */
  attest_status (*ball_rows)(arb_ptr out, arb_ptr lse, unsigned char *out_class,
                             unsigned char *lse_class, const attest_problem *problem,
                             const problem_slice *slice, int64_t row, int64_t rows, slong prec,
                             attest_error *error);
} problem_room;

#endif
