/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inside certify: how the comparison is organised.
 *
 *   outputs.c   what is compared: outputs, bounds, measures, machine models
 *   engine.c    slices, blocks of rows, threads
 *   row.c       one row of one output: what the double and double-double tiers settle
 *   indices.c   one row of the output indices, which is a set of keys
 *   climb.c     the rest of the row in balls of growing precision
 *   jump.c      rows of discontinuous kernels that several selections of keys explain
 *   pending.c   elements whose bounds are settled but whose error may be the largest
 *   tie.c       exact decisions where balls keep straddling
 *   element.c   intervals to verdicts and largest errors
 *   moments.c   nmse, the one measure that is a sum
 *   result.c    everything found, to the certificate
 */
#ifndef ATTEST_CERTIFY_ENGINE_H
#define ATTEST_CERTIFY_ENGINE_H

#include <omp.h>
#include <stdatomic.h>

#include "certify.h"

enum {
  ENGINE_BLOCK_ROWS = 48,
  ENGINE_BOUNDS_MAX = 32,
  ENGINE_PENDING_MAX = 2048,
  ENGINE_SEARCH_KEYS = 1024 /* rows up to here are searched for explicit backward errors */
};

/* The largest error of a measure so far: its canonical figure and the lowest element that has it.
 */
typedef struct {
  int found;
  double figure, lo;
  int64_t flat; /* position in the output tensor, row-major */
  int64_t slice, row, component;
  double got;
  int is_given; /* the exact value lies in [x_lo, x_hi]: that of another selection of keys */
  double x_lo, x_hi;
} engine_best;

/* Bounds of a sum of squares and of its reference, a row. */
typedef struct {
  double error_lo, error_hi, exact_lo, exact_hi;
  int is_chosen; /* over several selections of keys (engine_jump_moments) */
} engine_moments;

/* An element that has to be looked at. */
typedef struct {
  int64_t component, flat;
  double got;            /* as returned */
  unsigned open;         /* measures with an open bound or an unknown figure, as bits */
  unsigned figured;      /* measures whose figure is known or too small to matter */
  uint32_t held, failed; /* bounds */
  enclosure_tier tier;
  measure_interval last[MEASURE_COUNT]; /* the enclosures fed last */
  /* climb.c: */
  double counted;    /* got as measure_classify leaves it */
  unsigned asked;    /* measures whose straddled threshold has been tested for a tie */
  unsigned apart;    /* ... which is none: balls of enough precision will decide */
  unsigned is_asked; /* whether x = 0, x = got, |x| = 2^k has been tested, as bits */
  int is_exact;      /* x = exact */
  double exact;
  int is_given; /* as in engine_best */
  double x_lo, x_hi;
} engine_element;

/* An element that waits: its bounds are settled, and whether its error is the largest is asked once
 * the largest is better known. */
typedef struct {
  int64_t slice, row;
  engine_element element;
} engine_pending;

/* One output of one subject. */
typedef struct {
  const certify_subject *subject;
  size_t subject_index;
  int output;
  const tensor_format *format;
  int64_t width; /* elements a row */
  unsigned measures;
  size_t bound_count;
  const certify_bound *bounds[ENGINE_BOUNDS_MAX];
  double limit[ENGINE_BOUNDS_MAX]; /* rounded down: decides for doubles as the exact limit does */
  double lowest_limit[MEASURE_COUNT];  /* over the bounds of a measure; infinite without */
  double highest_limit[MEASURE_COUNT]; /* likewise; -1 without */
  const certify_bound *allclose;       /* the tolerances in force, NULL: not measured */
  double rtol[2], atol[2];             /* their bounds in double */
  double u_w, u_s, quantum;            /* backward: |got-x| / (u_w A + u_s S + quantum) */
  double edge;                         /* the largest bound on it times u_s; 0 without */
  int machine;                         /* index among the machines of the engine, -1: none */

  omp_lock_t lock; /* of best */
  engine_best best[MEASURE_COUNT];
  /* For reading without the lock: the largest figure is at least this; -1: none yet. */
  _Atomic double floor[MEASURE_COUNT];
  engine_pending *pending; /* ENGINE_PENDING_MAX of them */
  int64_t pending_count;
  engine_moments *moments; /* a row of the whole output; NULL: nmse not measured */
  measure_interval nmse;
  atomic_int_fast64_t compared, certified, refuted, undecided, tiers[TIER_COUNT];
  atomic_uint failed_bounds, open_bounds, why; /* bits */
  atomic_int has_explicit;                     /* some row's view is_explicit */
  atomic_int_fast64_t ill_posed; /* rows that may be within reach of a jump, or have no value */
} engine_output;

typedef struct {
  const problem_room *room;
  const certify_options *options;
  const attest_problem *problem; /* the inputs */
  size_t output_count;
  engine_output *outputs;
  unsigned want;
  double edge; /* the largest of the outputs */
  size_t machine_count;
  const room_machine **machines;
  certify_bounds defaults[2]; /* of the narrow formats and of float32 and float64 */
  slong precision_max;
  int64_t row_count;    /* rows of queries of all slices */
  int64_t sampled_rows; /* how many of them are compared: row_count, or fewer */
  atomic_int stop;      /* a failure or an interrupt: workers end at the next block */
  omp_lock_t lock;      /* of error */
  attest_status status;
  attest_error error;
} engine;

/* Records the first failure and stops the workers. */
void engine_fail(engine *e, attest_status status, const attest_error *error);
/* Whether to stop; looks at the interrupt flag too. */
int engine_stopped(engine *e);

/* What one tier knows of a row: x + x_lo within radius. */
typedef struct {
  const double *x, *x_lo, *radius; /* x_lo NULL: zero */
  const double *a_lo, *a_hi, *s_lo, *s_hi, *theory;
  const unsigned char *class;
  double largest_lo, largest_hi; /* the largest |x| */
  int is_explicit;               /* the first-order backward error does not apply to this row */
  int is_jump;                   /* several selections of keys may explain the row */
  enclosure_tier tier;
} engine_view;

/* A row of an output of a subject: where everything about it is found. */
typedef struct {
  engine *e;
  engine_output *o;
  const problem_slice *slice; /* with the views of this subject's outputs */
  const void *work;           /* of room->open */
  int64_t row;
} engine_place;

/* ---- outputs.c ---- */

attest_status engine_outputs(engine *e, const certify_subject *subjects, size_t count,
                             attest_error *error);
int64_t engine_elements(const engine *e, const engine_output *o);
/* The elements of sampled rows; the final state is always compared as a whole. */
int64_t engine_planned(const engine *e, const engine_output *o);

/* ---- element.c ---- */

void engine_element_init(engine_element *element, const engine_place *at, int64_t component,
                         double got);
/* An enclosure of the error: decides what it can. */
void engine_feed(const engine_place *at, engine_element *element, measure_kind measure,
                 measure_interval value, enclosure_tier tier);
/* The last word on a measure: what is still open is undecided, the figure is that of value.hi. */
void engine_conclude(const engine_place *at, engine_element *element, measure_kind measure,
                     measure_interval value, certify_why why);
/* Counts the element's verdict; what is open is undecided. */
void engine_element_count(const engine_place *at, const engine_element *element);
/* Notes that the element has this canonical figure, whose enclosure starts at `lo`. */
void engine_figure(const engine_place *at, engine_element *element, measure_kind measure,
                   double figure, double lo);
/* Neighbours on the canonical grid. */
double engine_grid_below(double figure);
double engine_grid_above(double figure);
/* The backward error of a row whose first-order form does not apply, given the quotient with S = 0
 * and got as measure_classify left it: decides where the quotient is within all bounds or the
 * explicit form is called for. */
void engine_feed_explicit(const engine_place *at, engine_element *element, double got,
                          measure_interval value, enclosure_tier tier);
/* What room->backward_side says of such an element: it is beyond the limit and its bounds have
 * failed, or it is within `size`, its bounds hold and that is its figure. */
void engine_settle_explicit(const engine_place *at, engine_element *element, int within,
                            double size);
/* The bounds of a measure, as bits. */
uint32_t engine_bounds_of(const engine_output *o, measure_kind measure);

/* ---- row.c ---- */

/* Scratch of one worker for rows of up to `width` elements. */
typedef struct {
  double *got, *x_hi, *x_lo, *radius, *s_lo, *s_hi;
  unsigned char *quiet;
  signed char *side;
  engine_element *elements;
  int64_t *keys; /* two rows of indices */
} engine_scratch;

attest_status engine_scratch_init(engine_scratch *scratch, int64_t width, attest_error *error);
void engine_scratch_clear(engine_scratch *scratch);
/* What the subject returned for the row. */
void engine_load(double *got, const engine_place *at);
/* |got - x| and |x|, as far as the tier knows. */
measure_interval engine_distance(const engine_view *view, int64_t component, double got);
measure_interval engine_magnitude(const engine_view *view, int64_t component);
/* measure_classify with what the tier knows; where it knows nothing, a NaN may be prescribed. */
measure_got engine_classify(double *got, const engine_view *view, int64_t component,
                            const tensor_format *format);
/* The largest |x| of the row, where a bound is measured by it: 0 where no element is finite. */
void engine_set_largest(engine_view *view, const engine_output *output);
/* The whole ladder for one row, given what the double tier says. */
void engine_row(engine_scratch *scratch, const engine_place *at, const engine_view *view);

/* The ladder for the elements in scratch->elements. may_wait: they may be left pending. */
void engine_ladder(engine_scratch *scratch, const engine_place *at, engine_view *view,
                   int64_t count, int may_wait);

/* ---- pending.c ---- */

/* Leaves the element pending if its bounds are settled and there is room: whether it did. */
int engine_wait(const engine_place *at, engine_element *element);
/* Leaves out the figures that have become too small to matter; what is still open. */
unsigned engine_still_open(const engine_output *o, engine_element *element);
/* Drops those that no longer matter and brings those of a row together. */
void engine_pending_sort(engine_output *o);
/* How many of the row of pending element i there are from i on, 0 where i is not the first. */
int64_t engine_pending_row(const engine_output *o, int64_t i);
/* The last word on an element when there is no time to find out more. */
void engine_let_go(const engine_place *at, engine_element *element);

/* ---- climb.c ---- */

void engine_climb(const engine_place *at, const engine_view *view, engine_element *elements,
                  int64_t count);

/* The selection of keys that a row is to be computed from; NULL: the kernel's own. */
typedef struct {
  const int64_t *keys;
  int64_t count;
  const double *weights; /* as in room_balls */
} engine_selection;
/* When the row is computed from this selection (NULL: the kernel's own), 1: all bounds hold for all
 * elements, -1: one does not, 0: not known. */
int engine_fits(const engine_place *at, const engine_view *view, engine_element *elements,
                int64_t count, const engine_selection *selection);
/* engine_climb for a selection; exact questions, which know the kernel's own only, are not asked.
 */
void engine_climb_selection(const engine_place *at, const engine_view *view,
                            engine_element *elements, int64_t count,
                            const engine_selection *selection);

/* ---- indices.c ---- */

/* A row of indices, given the kernel's own (room_block). */
void engine_indices(engine_scratch *scratch, const engine_place *at, const int64_t *own);

/* ---- jump.c ---- */

/* A row within reach of a jump, got in scratch: certified when one admissible selection explains
 * all its elements, refuted where an element lies beyond all of them, else undecided. 0: the row
 * has only one selection after all, and nothing was done. */
int engine_jump(engine_scratch *scratch, const engine_place *at, const engine_view *view);
/* The row's part of nmse: from above for the admissible selection nearest to it, from below for
 * any. 0: the row has only one selection, and nothing was done. */
int engine_jump_moments(engine_scratch *scratch, const engine_place *at, const engine_view *view);

/* ---- tie.c ---- */

/* Whether x[component] = c: 1, 0 or -1 (not known). */
int engine_is_exactly(const engine_place *at, int64_t component, double c);
/* Whether the error of the element is exactly `threshold`: 1, 0 or -1. */
int engine_tie(const engine_place *at, const engine_element *element, measure_kind measure,
               const fmpq_t threshold, const engine_view *view, arb_srcptr x);

/* ---- moments.c ---- */

/* The most rows that a slice has of the output. */
int64_t engine_rows_max(const attest_problem *problem, int output);
int64_t engine_row_index(const attest_problem *problem, const problem_slice *slice, int output,
                         int64_t row);
void engine_row_moments(const engine_place *at, const engine_view *view, const double *got);
/* The same in balls, got in scratch, for a selection (NULL: the kernel's own). */
attest_status engine_moments_of(engine_moments *moments, engine_scratch *scratch,
                                const engine_place *at, const engine_selection *selection,
                                attest_error *error);
/* Sums the rows; where bound or figure stay open, all again in balls. */
void engine_nmse(engine *e, engine_output *o);

/* ---- result.c ---- */

attest_status engine_result(certify_case *result, engine *e, const certify_subject *subjects,
                            size_t count, attest_error *error);

#endif
