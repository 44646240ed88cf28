/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* certify: bounds, the comparison of what kernels returned with enclosures of the exact results,
 * verdicts.
 *
 * The comparison climbs the ladder of the number tower row by row, only where a bound is straddled
 * or the largest error is not yet known. What it reports as canonical (verdicts, largest errors,
 * worst elements, counts) is the same on every instruction set and at any number of threads. */
#ifndef ATTEST_CERTIFY_CERTIFY_H
#define ATTEST_CERTIFY_CERTIFY_H

#include <signal.h>

#include "../problem/room.h"

/* ---- rooms (rooms.c) ---- */

/* The room of a kernel by its name; NULL where none is built. */
const problem_room *certify_room(const char *kernel);
/* Machine model from the text of --arithmetic, by the room of the kernel. */
attest_status certify_machine_parse(room_machine *machine, const char *kernel, const char *text,
                                    attest_error *error);
/* The machine model of a kernel that is not the suite's own: what `text` declares (NULL: nothing).
 * The forms fft, blocked and low-rank are their own declaration, the algorithm of that name in
 * float64 where out is float64, else in float32, and take no other. *declared: whether there is
 * one.
 */
attest_status certify_machine_declared(int *declared, room_machine *machine,
                                       const attest_problem *problem, const char *text,
                                       attest_error *error);
/* The result formats of a declared machine are those of the outputs that are there. */
void certify_machine_returns(room_machine *machine, const attest_problem *problem);

/* ---- bounds (bound.c) ---- */

typedef struct {
  int output; /* OUTPUT_*; -1: every output */
  measure_kind measure;
  fmpq_t limit;      /* the error must not exceed it; 1 for theory and allclose */
  fmpq_t rtol, atol; /* allclose */
  char *text;        /* as in verdict lines: "backward<=16", "theory", "allclose=1e-3,1e-5" */
} certify_bound;

typedef struct {
  size_t count;
  certify_bound *items;
} certify_bounds; /* zero-initialised: none */

/* "[OUTPUT:]MEASURE<=X", "[OUTPUT:]theory" or "[OUTPUT:]allclose=RTOL,ATOL"; X, RTOL and ATOL are
 * exact: decimals, ratios or hex floats, >= 0. A bound that is there already is not added twice. */
attest_status certify_bounds_add(certify_bounds *bounds, const char *text, attest_error *error);
void certify_bounds_clear(certify_bounds *bounds);
/* The bound in force where none is given: backward<=16 for float32 and float64, backward<=4 for
 * float16 and bfloat16. */
const char *certify_default_bound(attest_dtype dtype);

/* ---- results (result.c) ---- */

/* The largest error of one measure over an output: lo < error <= hi, both on the canonical grid. */
typedef struct {
  int measured;
  double lo, hi;
  int has_index;
  int64_t index[ATTEST_MAX_DIMS]; /* of the lowest element that has it, in the axes of the output */
} certify_error;

typedef struct {
  char *text;
  measure_kind measure;
  attest_verdict verdict;
} certify_bound_verdict;

/* Why an element, or a whole output, stayed undecided. */
typedef enum {
  WHY_INTERRUPTED = 1,     /* Ctrl-C came first */
  WHY_PRECISION = 2,       /* the bound is straddled at the largest precision allowed */
  WHY_EXPLICIT = 4,        /* the explicit bounds of the backward error lie on both sides */
  WHY_NO_THEORY_BOUND = 8, /* the machine model admits any result here */
  WHY_SELECTION = 16,      /* no selection of keys was found that explains a row */
} certify_why;

typedef struct {
  int output; /* OUTPUT_* */
  attest_dtype dtype;
  int ndim;
  attest_verdict verdict;
  int64_t elements, planned; /* planned: those of the rows that options->rows asks for */
  int64_t compared;          /* compared < planned only after Ctrl-C */
  int64_t certified, refuted, undecided; /* elements; a bound on nmse counts for none */
  room_account account;                  /* of out: what the kernel said of its work */
  int64_t ill_posed;            /* rows within reach of a jump (engine_jump), or without a value */
  size_t bound_count, decisive; /* decisive: the bound that verdict lines quote */
  certify_bound_verdict *bounds;
  certify_error error[MEASURE_COUNT];
  /* The worst element in the decisive measure: what was returned, and the exact value between two
   * doubles (NaN or infinite where the problem prescribes that). */
  int has_worst;
  int64_t worst_index[ATTEST_MAX_DIMS];
  double worst_got, worst_lo, worst_hi;
  double roundoff_weights, roundoff_scores; /* of the backward error */
  unsigned why;                             /* certify_why */
  int has_explicit;          /* rows in which first order does not apply to backward */
  int64_t tiers[TIER_COUNT]; /* elements by the tier that settled them: not canonical */
} certify_output;

typedef enum {
  CERTIFY_COMPARED,
  CERTIFY_FAILED, /* it crashed, hung, returned garbage: a refutation */
  CERTIFY_SKIPPED /* it does not serve this problem */
} certify_outcome;

typedef struct {
  char *name; /* "softmax.float32"; NULL: a stored output */
  certify_outcome outcome;
  char *reason, *detail; /* of a failure: a word, and the same as a sentence; else NULL */
  size_t output_count;   /* 0 unless compared */
  certify_output outputs[OUTPUT_COUNT];
} certify_subject_result;

/* A file or buffer that went in. */
typedef struct {
  char *name, *file; /* "q", "q.npy"; file NULL: memory */
  char sha256[65];
} certify_input;

typedef struct {
  char *kernel, *name, *theorem;
  size_t param_count;
  char **param_names, **param_texts;
  size_t subject_count;
  certify_subject_result *subjects;
  size_t input_count;
  certify_input *inputs;
  char *replay;           /* a command that repeats this case; NULL: none */
  size_t diagnosis_count; /* of a refuted output: lines for people (diagnose.h) */
  char **diagnosis;
  int has_expected; /* a verdict other than certified may be what is expected */
  attest_verdict expected;
  int interrupted;
  int threads;
  double seconds;
} certify_case;

void certify_case_clear(certify_case *c);
/* Refuted if anything is, else undecided if anything is, else certified. */
attest_verdict certify_case_verdict(const certify_case *c);
/* The same, but certified where the verdict is the one that is expected, and refuted where a
 * certified case was expected to be something else. */
attest_verdict certify_case_outcome(const certify_case *c);
attest_verdict certify_worse(attest_verdict a, attest_verdict b);
/* Notes an input: the digest of `file`, or, with file NULL or one that holds several tensors, of
 * the elements of `tensor`: what is not compared is not read. */
attest_status certify_case_input(certify_case *c, const char *name, const tensor_file *file,
                                 const attest_tensor *tensor, attest_error *error);

/* The inputs noted for `from` become those of the case, which has none. */
void certify_case_move_inputs(certify_case *c, certify_case *from);

/* Refuses the first visible element of the slice that is not finite, under nonfinite error
 * (finite.c). */
attest_status certify_check_finite(const attest_problem *problem, const problem_slice *slice,
                                   attest_error *error);

/* ---- the engine (engine.c) ---- */

typedef struct {
  const char *name; /* NULL: a stored output */
  /* Resolved. Subjects of one case share everything but the outputs. */
  const attest_problem *problem;
  const certify_bounds *bounds;
  const room_machine *machine; /* NULL: none declared, a theory bound is an error */
  const room_account *account; /* what the kernel says of its work; NULL: nothing */
} certify_subject;

typedef struct {
  const char *name;                         /* of the case */
  double roundoff_weights, roundoff_scores; /* 0: the output's roundoff, and at most 2^-24 */
  slong precision_max;                      /* bits, where no exact decision exists; 0: 4096 */
  int allow_empty;
  int64_t rows; /* compare so many rows of queries, spread evenly; 0: all */
  const volatile sig_atomic_t *interrupted; /* NULL: never */
  void (*step)(void *context, int64_t pairs);
  void *context;
} certify_options;

/* (query, key) pairs that certify_run will report through `step`. */
int64_t certify_pairs(const attest_problem *problem);

/* Compares all outputs of all subjects with one pass over the reference. `result` is to be cleared
 * in any case. Trouble (not a verdict): non-finite inputs under nonfinite error, zero elements
 * without allow_empty, a bound on an output that is absent, no memory. */
attest_status certify_run(certify_case *result, const certify_subject *subjects, size_t count,
                          const certify_options *options, attest_error *error);
/* The result of a subject that returned nothing to compare: `reason` and `detail` as in
 * certify_subject_result. */
attest_status certify_no_output(certify_case *result, const attest_problem *problem,
                                const char *subject, certify_outcome outcome, const char *reason,
                                const char *detail, const certify_options *options,
                                attest_error *error);
/* The same as certify_run for a room that is in no registry. */
attest_status certify_run_room(certify_case *result, const problem_room *room,
                               const certify_subject *subjects, size_t count,
                               const certify_options *options, attest_error *error);

#endif
