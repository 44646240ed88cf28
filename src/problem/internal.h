/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of this room share with each other only. */
#ifndef ATTEST_PROBLEM_INTERNAL_H
#define ATTEST_PROBLEM_INTERNAL_H

#include "problem.h"

/* ---- words (words.c) ------------------------------------------------------------------------- */

/* Whether the first n bytes of a spell the name b, '-' and '_' alike. */
int problem_same_word(const char *a, size_t n, const char *b);
/* Place of `word` in a list separated by `separator`, or -1. */
int problem_word_find(const char *list, char separator, const char *word);
/* Word number `index` of the list, malloc'ed; NULL when there is none or no memory. */
char *problem_word_at(const char *list, char separator, int index);
/* A quotable copy of user text: at most 40 bytes, control characters replaced by '?'. */
char *problem_quote(char buf[48], const char *text);

/* A text that grows; `failed` once memory ran out. */
typedef struct {
  char *data;
  size_t length, capacity;
  int failed;
} problem_text;
void problem_text_add(problem_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The text, to be freed by the caller, or NULL when memory ran out. */
char *problem_text_take(problem_text *text);

/* ---- parameters (params.c) ------------------------------------------------------------------- */

/* Room for values, all at their defaults; clear frees. */
void problem_values_init(problem_values *values);
void problem_values_clear(problem_values *values);
void problem_values_default(problem_values *values);
/* Sets the field of `param` from text: 0, or -1 when it is outside the domain. */
int problem_param_parse(problem_values *values, const problem_param *param, const char *text);
/* The field of `param` as canonical text, malloc'ed. Empty when the value is "none" (no softcap).
 * NULL when out of memory. */
char *problem_param_text(const problem_values *values, const problem_param *param);
/* The values a parameter may have, in words: "a number > 0 (...)"; for choices their list. */
const char *problem_param_legal(const problem_param *param);
/* Place of the row in the table. */
size_t problem_param_index(const char *name);

/* ---- kernels (kernels.c) --------------------------------------------------------------------- */

/* Whether the kernel takes only one value of the parameter ("scale=1"). */
/* The values that the kernel allows, one a '|', *n characters; NULL: any. */
const char *problem_kernel_values(size_t *n, const problem_kernel *kernel,
                                  const problem_param *param);
int problem_kernel_fixes(const problem_kernel *kernel, const problem_param *param);
problem_pairing problem_kernel_pairing(const problem_kernel *kernel);
/* Refuses a parameter, or a value of it, that the kernel does not take; names the kernels that do.
 */
attest_status problem_kernel_accepts(const problem_kernel *kernel, const problem_param *param,
                                     const char *canonical, attest_error *error);

/* ---- layouts (layout.c) ---------------------------------------------------------------------- */

/* Which axis is the batch, head, sequence and component; -1: there is none (extent 1). */
typedef struct {
  const char *name;
  int ndim;
  int b, h, n, d;
} problem_axes;

const problem_axes *problem_layout_axes(problem_layout layout);
/* Axes of lse: those of `layout` without the last, or batch, head, sequence. */
problem_axes problem_lse_axes(problem_layout layout, int heads_first);
/* The concrete layouts of a problem whose inputs are given: explicit ones first, then the
 * convention's, then the default by the number of axes. */
attest_status problem_layouts_choose(attest_problem *problem, attest_error *error);
/* Sizes by the shapes of q, k, v under `layout` (fields sequences .. dv of *problem), or an error.
 */
attest_status problem_layout_sizes(attest_problem *problem, problem_layout layout,
                                   attest_error *error);
/* The same with a remedy in the message where another layout would fit. */
attest_status problem_sizes_resolve(attest_problem *problem, attest_error *error);
/* Checks out and lse where given, and decides the order of the axes of lse. */
attest_status problem_outputs_resolve(attest_problem *problem, attest_error *error);

/* ---- lengths and small tensors (lengths.c) --------------------------------------------------- */

/* cu-seqlens and seqused-k: checks them, sets the number of sequences and the longest. */
attest_status problem_lengths_resolve(attest_problem *problem, attest_error *error);
/* Rotary embedding wants an even d; weights their shape and finite elements. (pairing_resolve.c) */
attest_status problem_pairing_resolve(attest_problem *problem, attest_error *error);
/* Shapes of mask and bias; shapes and finiteness of slopes and sinks. */
attest_status problem_extras_resolve(attest_problem *problem, attest_error *error);
/* First row of a sequence of queries (keys) in the packed axis, and its count; for keys the count
 * is after seqused-k. */
void problem_sequence_q(int64_t *start, int64_t *count, const attest_problem *problem,
                        int64_t sequence);
void problem_sequence_k(int64_t *start, int64_t *count, const attest_problem *problem,
                        int64_t sequence);

/* ---- states of fixed size (state.c) -----------------------------------------------------------
 */

/* Whether the kernel has final-state among its outputs. */
int problem_has_state(const attest_problem *problem);
/* Checks everything that only such kernels have, and sets state_rows and state_width. */
attest_status problem_state_resolve(attest_problem *problem, attest_error *error);
/* Shape of initial-state and final-state, and the place of an element in it. */
void problem_state_shape(int *ndim, int64_t shape[], const attest_problem *problem);
void problem_state_index(int64_t index[], const attest_problem *problem, const problem_slice *slice,
                         int64_t row, int64_t component);
/* The state of the slice's key head: (state_rows, state_width). */
attest_tensor problem_state_view(const attest_tensor *t, const attest_problem *problem,
                                 const problem_slice *slice);

/* ---- conventions (convention.c) -------------------------------------------------------------- */

/* Layout and out-layout of q with ndim axes under a convention; LAYOUT_DEFAULT where it has none.
 */
problem_layout problem_convention_layout(problem_convention convention, int ndim, int packed);
problem_layout problem_convention_out_layout(problem_convention convention, int ndim, int packed);
/* Values that a convention presets and that were not set: eps and empty-row. */
void problem_convention_apply(attest_problem *problem);
/* Alignment of causal and window: top-left or bottom-right. */
problem_causal problem_convention_alignment(problem_convention convention);
/* Whether lse is returned with axes (b, h, n) whatever the layout. */
int problem_convention_heads_first(problem_convention convention);

/* Whether the row named so was set by hand. */
int problem_is_given(const attest_problem *problem, const char *name);

#endif
