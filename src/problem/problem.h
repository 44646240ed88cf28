/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* problem: what is computed, in one struct, and the one table of parameters.
 *
 *   score(i,j) = [softcap(scale * q_i.k_j) + bias_ij + slope_h (j - i')] / temperature
 *   i'         = i + Nk - Nq when the alignment is bottom-right (causal bottom-right, alignment
 *                bottom-right, or a convention that says so), else i
 *   visible    = causal and window and mask and lengths, and bias_ij != -infinity
 *   weights    = w(score) over the visible keys and, where given, a sink: a key with value 0 whose
 *                score is sinks[h] / temperature
 *   out_i      = sum_j p_ij v_j,  lse_i = log (base e or 2) of the sum of exp(score)
 *
 * Invisible keys never contribute, whatever they hold. Query head h reads key head
 * floor(h Hkv / Hq). Everything downstream sees a problem as independent slices: one sequence and
 * one query head, two-dimensional views, no copies. */
#ifndef ATTEST_PROBLEM_PROBLEM_H
#define ATTEST_PROBLEM_PROBLEM_H

#include <flint/flint.h>
#include <flint/fmpq.h>

#include "../tensor/tensor.h"

/* ---- exact real parameters (real.c) ---------------------------------------------------------- */

/* An exact real number: sign * (root ? sqrt(value) : value) with value >= 0 rational. Covers
 * decimals ("0.125"), ratios ("1/8"), hex floats ("0x1p-3"), "sqrt(1/8)", "-sqrt(2)", "1/sqrt(8)".
 */
typedef struct {
  fmpq_t value; /* >= 0, canonical; a square is stored with root = 0 */
  int root;
  int sign; /* -1, 0, 1 */
} problem_real;

void problem_real_init(problem_real *x); /* 0 */
void problem_real_clear(problem_real *x);
void problem_real_set(problem_real *x, const problem_real *y);
void problem_real_set_si(problem_real *x, long n);
void problem_real_inv_sqrt_ui(problem_real *x, unsigned long d); /* 1/sqrt(d) */
/* 0, or -1 (x untouched) when `text` is not one number in full (no nan, no inf, no blanks).
 * Exponents are limited to +-9999. */
int problem_real_parse(problem_real *x, const char *text);
/* Shortest exact text: "1/8", "sqrt(1/8)", "-3", "1e-10", "0x1p-1074"; problem_real_parse reads it
 * back. Caller frees with free(); NULL when out of memory. */
char *problem_real_text(const problem_real *x);
/* The nearest double (ties to even, subnormals included); |x - result| <= *radius (>= 0, rounded
 * up; 0 when exact). Beyond the range of double: the largest double and an infinite radius. */
double problem_real_double(double *radius, const problem_real *x);
/* result = x * y exactly where the product is again a problem_real: always the case here. */
void problem_real_mul(problem_real *result, const problem_real *x, const problem_real *y);
void problem_real_inv(problem_real *result, const problem_real *x); /* x != 0 */
int problem_real_equal(const problem_real *x, const problem_real *y);

/* ---- the table of parameters (params.c) ------------------------------------------------------ */

typedef enum { CAUSAL_NONE, CAUSAL_TOP_LEFT, CAUSAL_BOTTOM_RIGHT } problem_causal;
typedef enum { EMPTY_ZERO, EMPTY_NAN, EMPTY_ERROR } problem_empty_row;
typedef enum { NONFINITE_ERROR, NONFINITE_IEEE } problem_nonfinite;
typedef enum { SUBNORMALS_IEEE, SUBNORMALS_FLUSH } problem_subnormals;
typedef enum {
  LAYOUT_DEFAULT, /* 2-D nd, 3-D hnd, 4-D bhnd */
  LAYOUT_BHND,
  LAYOUT_BNHD,
  LAYOUT_HND,
  LAYOUT_NHD,
  LAYOUT_ND,
  LAYOUT_THD,
  LAYOUT_SBHD
} problem_layout;
typedef enum {
  FORM_DIRECT,
  FORM_RECURRENT,
  FORM_CHUNKED,
  FORM_FFT,     /* a polynomial for exp, expanded, summed by transforms */
  FORM_BLOCKED, /* the same in dyadic blocks, causal by construction */
  FORM_LOW_RANK /* rotated vectors and the features of a Taylor polynomial */
} problem_form;
typedef enum { NORMALIZE_SUM, NORMALIZE_NONE } problem_normalize;
typedef enum { ROPE_INTERLEAVED, ROPE_HALF } problem_rope_pairs;
/* Any of equal scores, the first in what is written; or: of keys that are the same, the first or
 * the last. */
typedef enum { TIES_ANY, TIES_LOWEST, TIES_HIGHEST } problem_ties;
typedef enum { FEATURE_IDENTITY, FEATURE_RELU, FEATURE_ELU1, FEATURE_TAYLOR } problem_feature;

typedef enum {
  CONVENTION_NONE,
  CONVENTION_SDPA,
  CONVENTION_FLASH_ATTN,
  CONVENTION_XFORMERS,
  CONVENTION_FLA,
  CONVENTION_GGML
} problem_convention;

/* Values after defaults, presets and explicit settings. */
typedef struct {
  problem_real scale;
  problem_causal causal;
  int64_t window_left, window_right; /* inclusive; -1 unbounded */
  int has_softcap;
  problem_real softcap; /* > 0 */
  problem_real temperature;
  int lse_base; /* 0: e, 2: base 2 */
  int64_t degree;
  problem_form form;
  int64_t chunk;
  problem_normalize normalize;
  problem_real eps, decay, alpha, bandwidth, margin, rope_base;
  int64_t topk;
  problem_rope_pairs rope_pairs;
  problem_ties ties;
  problem_feature feature;
  problem_layout layout, out_layout;
  problem_empty_row empty_row;
  problem_nonfinite nonfinite;
  problem_subnormals subnormals;
  problem_convention convention;
  problem_causal alignment; /* top-left or bottom-right: that of causal, else of its own */
} problem_values;

/* One row of the table. It generates command flags, plan keys, problem.json, the certificate's
 * params and the help text. */
typedef enum { PARAM_VALUE, PARAM_TENSOR } problem_param_kind;

/* How the text of a parameter becomes a value, and which values are legal. */
typedef enum {
  FIELD_TENSOR,
  FIELD_REAL,
  FIELD_REAL_POSITIVE,
  FIELD_REAL_NONNEGATIVE,
  FIELD_REAL_FRACTION,   /* 0 < x <= 1 */
  FIELD_REAL_FROM_ONE,   /* x >= 1 */
  FIELD_INTEGER,         /* >= 0 */
  FIELD_COUNT,           /* >= 1 */
  FIELD_CHOICE,          /* the words of syntax, counted from 0 */
  FIELD_CHOICE_FROM_ONE, /* the words of syntax, counted from 1 (0: not set) */
  FIELD_CAUSAL,
  FIELD_WINDOW,
  FIELD_SLIDING_WINDOW,
  FIELD_SOFTCAP,
  FIELD_LSE_BASE
} problem_field;

typedef struct {
  const char *name;    /* "causal": dashes; '-' and '_' are alike on input */
  const char *aliases; /* space separated: "is-causal"; "" for none */
  problem_param_kind kind;
  const char *syntax;  /* "top-left|bottom-right" */
  const char *initial; /* the default in words, "" when there is none to tell */
  const char *help;    /* one line */
  problem_field field;
  size_t offset; /* of the value in problem_values */
  int bare;      /* 1: the flag may stand without a value, which is then "" (causal) */
} problem_param;

extern const problem_param problem_params[];
extern const size_t problem_param_count;
/* Row by name or alias (either spelling of dashes); NULL when unknown. *implied (may be NULL) is
 * set to the value an alias implies without argument ("is-causal" -> "top-left"), else NULL. */
const problem_param *problem_param_find(const char *name, const char **implied);

/* ---- kernels: names and what each accepts (kernels.c) ---------------------------------------- */

typedef struct {
  const char *name;    /* "softmax" */
  const char *params;  /* space separated names of parameters that have a meaning for it; "scale=1":
                          only this value may be given; "form=direct|fft": one of these */
  const char *outputs; /* "out lse" */
  const char *summary; /* one line */
  int built;           /* 0: the name is reserved; asking for it is a clear error */
} problem_kernel;

extern const problem_kernel problem_kernels[];
extern const size_t problem_kernel_count;
const problem_kernel *problem_kernel_find(const char *name); /* '-' and '_' alike; NULL: unknown */
/* Whether the parameter has a meaning for the kernel ("scale=1" in the list: only that value). */
int problem_kernel_takes(const problem_kernel *kernel, const problem_param *param);

/* Whether OUTPUT_* is among the outputs of the kernel. */
int problem_kernel_returns(const problem_kernel *kernel, int output);

/* The help text of the parameters that `kernel` takes (NULL: all of them), one or two lines each,
 * as flags. Caller frees with free(); NULL when out of memory. */
char *problem_help(const problem_kernel *kernel);

/* ---- the problem (problem.c) ----------------------------------------------------------------- */

enum { OUTPUT_OUT, OUTPUT_LSE, OUTPUT_FINAL_STATE, OUTPUT_INDICES, OUTPUT_COUNT };
extern const char *const problem_output_names[OUTPUT_COUNT];
int problem_output_find(const char *name); /* -1 when unknown */

enum {
  INPUT_Q,
  INPUT_K,
  INPUT_V,
  INPUT_BIAS,
  INPUT_MASK,
  INPUT_SLOPES,
  INPUT_SINKS,
  INPUT_CU_Q,
  INPUT_CU_K,
  INPUT_USED_K,
  INPUT_INITIAL_STATE,
  INPUT_WEIGHTS,
  INPUT_COEFFICIENTS,
  INPUT_COUNT
};
extern const char *const problem_input_names[INPUT_COUNT]; /* "q", .., "alibi-slopes", .. */
int problem_input_find(const char *name);                  /* -1 when unknown */

enum { PROBLEM_COEFFICIENTS_MAX = 65 };

/* How a query meets a key (pairing.h). */
typedef enum { PAIRING_DOT, PAIRING_ROTARY, PAIRING_WEIGHTS } problem_pairing;

struct attest_problem {
  size_t size; /* sizeof: fields are only ever added at the end */
  const problem_kernel *kernel;
  problem_values values;
  unsigned char *is_set; /* one flag a row of problem_params: set explicitly or by a preset */
  char **texts;          /* one a row: the value as given, NULL when not set */
  attest_tensor input[INPUT_COUNT], output[OUTPUT_COUNT]; /* data NULL: absent */
  int resolved;
  /* After problem_resolve: */
  int64_t sequences, heads_q, heads_k, nq, nk, d, dv; /* nq, nk: longest sequence (of the shapes:
                                                         before seqused-k) */
  int lse_heads_first; /* lse has axes (b, h, n) though heads stand elsewhere in out */
  char **in_force;     /* one a row of problem_params: the text in force, NULL for none */
  /* Of the state of one key head (state.c); 0: the kernel has none; rows -1: too many. */
  int64_t state_rows, state_width;
  problem_pairing pairing; /* from the kernel */
  double largest_weight;   /* of weights: the largest absolute value */
};

/* Checks shapes against each other and parameters against the kernel, fills in defaults (scale
 * 1/sqrt(d), layout by dimensions, convention presets) and the sizes. Idempotent until something is
 * set again. Checks finiteness of the small tensors (slopes, sinks, lengths) but not of q, k, v,
 * bias: whether those count depends on visibility. */
attest_status problem_resolve(attest_problem *problem, attest_error *error);
/* Of these only the parameters' values, as far as no input decides them. */
attest_status problem_values_resolve(attest_problem *problem, attest_error *error);

/* Layouts. Inputs q (.., nq, d), k (.., nk, d), v (.., nk, dv) have the axes of `layout`, out has
 * those of `out-layout` (default: the same). `thd` packs the sequences of cu-seqlens-q and
 * cu-seqlens-k; rows beyond the last boundary are not part of the problem. lse has the axes of out
 * without the last, or (b, h, n) as flash-attention and xformers return it: the shape tells. Where
 * both shapes are the same (h = n), and where no lse is given, it has the axes of out, under
 * convention flash-attn or xformers (b, h, n) (thd: (h, t)).
 *
 * Shape of an output in the axes of out-layout; what attest reference writes. */
void problem_output_shape(int *ndim, int64_t shape[], const attest_problem *problem, int output);

/* The letters of the layout that inputs of `ndim` axes will have, by the parameters set so far. */
const char *problem_layout_letters(const attest_problem *problem, int ndim);

/* The parameters in force: {"name": "text", ...} of all of them, defaults and preset expansions
 * included, in the order of the table; as (name, text) pairs for the writers. Texts live as long as
 * the problem. Returns the count; pass NULLs to ask for it. */
size_t problem_params_in_force(const char *names[], const char *texts[],
                               const attest_problem *problem);

/* problem.json: the kernel, the parameters in force, the nearest doubles of the real ones, dtype
 * and shape of every input, and shape of every output that the kernel has. Resolved problems only.
 * Caller frees with free(); NULL when out of memory. */
char *problem_json(const attest_problem *problem);

/* One sequence and one query head. All views borrow. */
typedef struct {
  int64_t index, sequence, head; /* index = sequence * heads_q + head */
  int64_t nq, nk;                /* rows and keys of this sequence (nk after seqused-k) */
  int64_t offset;                /* query i stands at position i + offset (alignment) */
  int64_t d, dv;
  attest_tensor q, k, v;    /* (nq, d), (nk, d), (nk, dv) */
  attest_tensor out, lse;   /* (nq, dv), (nq); data NULL when absent */
  attest_tensor indices;    /* (nq, problem_output_width); data NULL when absent */
  attest_tensor bias, mask; /* (nq, nk), strides 0 where broadcast; data NULL when absent */
  int has_slope, has_sink;
  double slope, sink; /* exact */
  /* (state_rows, state_width) of the key head; data NULL when absent. */
  attest_tensor initial_state, final_state;
} problem_slice;

int64_t problem_slice_count(const attest_problem *problem); /* sequences * heads_q */
void problem_slice_get(problem_slice *slice, const attest_problem *problem, int64_t index);

/* Keys that causal, window and lengths leave to row i: lo <= j < hi, 0 <= lo <= hi <= nk. Neither
 * decreases with i. Mask and bias may hide more: problem_visible asks for all of it. */
void problem_visible_range(int64_t *lo, int64_t *hi, const attest_problem *problem,
                           const problem_slice *slice, int64_t i);
int problem_visible(const attest_problem *problem, const problem_slice *slice, int64_t i,
                    int64_t j);

/* Rows of an output that the slice has: one a query, but final-state has one a feature, in the
 * first slice of each key head (0 in the others). Elements a row: dv for out, 1 for lse, the lesser
 * of topk and nk for indices. (state.c) */
int64_t problem_output_rows(const attest_problem *problem, const problem_slice *slice, int output);
int64_t problem_output_width(const attest_problem *problem, int output);
/* Whether a kernel of the problem's form computes the output: those that expand exp have no
 * log-sum-exp. */
int problem_form_returns(const attest_problem *problem, int output);
/* Whether a final state is defined: the kernel has one, its shape can be counted, and neither mask
 * nor window hides keys from some rows. */
int problem_ends_in_state(const attest_problem *problem);

/* Index of (row, component) in the axes of the output tensor as given (or as problem_output_shape
 * says); component is ignored for lse. */
void problem_output_index(int64_t index[], const attest_problem *problem,
                          const problem_slice *slice, int output, int64_t row, int64_t component);

/* The first visible element that is not finite, in slice: 1 and its place, or 0. Rows whose visible
 * keys are all finite are the rule; cost O(elements) when nothing is hidden. `name` gets "q", "k",
 * "v" or "bias", `index` its axes in the input tensor. */
int problem_find_nonfinite(const char **name, int64_t index[ATTEST_MAX_DIMS],
                           const attest_problem *problem, const problem_slice *slice);

#endif
