/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The one table of parameters: names, domains, defaults, texts. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* One line a parameter: name, aliases, field, place, syntax, default, help. */
#define VALUE(NAME, ALIASES, FIELD, PLACE, SYNTAX, INITIAL, HELP)                                  \
  { NAME, ALIASES, PARAM_VALUE, SYNTAX, INITIAL, HELP, FIELD, offsetof(problem_values, PLACE), 0 }
#define TENSOR(NAME, ALIASES, SYNTAX, HELP)                                                        \
  { NAME, ALIASES, PARAM_TENSOR, SYNTAX, "", HELP, FIELD_TENSOR, 0, 0 }

#define LAYOUTS "bhnd|bnhd|hnd|nhd|nd|thd|sbhd"

/* clang-format off */
const problem_param problem_params[] = {
  VALUE("scale", "softmax-scale sm-scale", FIELD_REAL, scale, "REAL", "1/sqrt(d)",
        "factor of q.k; 0 and negative values are legal"),
  {"causal", "is-causal", PARAM_VALUE, "top-left|bottom-right|none", "none",
   "keys j <= i' only; i' = i (top-left) or i + Nk - Nq (bottom-right); bare --causal only where Nq = Nk "
   "or a convention or alignment is given; --is-causal is top-left",
   FIELD_CAUSAL, offsetof(problem_values, causal), 1},
  VALUE("alignment", "", FIELD_CHOICE_FROM_ONE, alignment, "top-left|bottom-right", "that of causal, else top-left",
        "where query i stands among the keys when Nq != Nk, for window and alibi-slopes without causal; "
        "and, causal or not, the position to which rotary kernels turn it and W_(i'-j) takes it"),
  VALUE("window", "window-size", FIELD_WINDOW, window_left, "L,R", "-1,-1",
        "keys i' - L <= j <= i' + R, inclusive; -1: unbounded"),
  VALUE("sliding-window", "", FIELD_SLIDING_WINDOW, window_left, "W", "",
        "the W keys that end at i': window W-1,0"),
  VALUE("softcap", "logits-soft-cap", FIELD_SOFTCAP, softcap, "C", "none",
        "scores become C tanh(score / C) before bias and mask"),
  TENSOR("bias", "", "FILE", "added to the scores: (nq, nk), (h, nq, nk) or (b, h, nq, nk), axes of 1 are repeated; "
         "-infinity hides the key"),
  TENSOR("mask", "attn-mask", "FILE", "bool, true = attend; shapes as for bias"),
  TENSOR("alibi-slopes", "", "FILE", "(h) or (b, h): slope (j - i') is added to the scores"),
  TENSOR("sinks", "", "FILE", "(h): score of one more key with value 0 a head; -infinity: no sink"),
  TENSOR("cu-seqlens-q", "", "FILE", "int32 or int64 boundaries of packed query sequences (layout thd)"),
  TENSOR("cu-seqlens-k", "", "FILE", "int32 or int64 boundaries of packed key sequences (layout thd)"),
  TENSOR("seqused-k", "", "FILE", "(b) int32 or int64: keys of each sequence that count"),
  VALUE("lse-base", "", FIELD_LSE_BASE, lse_base, "e|2", "e", "base of the logarithm in lse"),
  VALUE("degree", "", FIELD_INTEGER, degree, "P", "2", "degree of the Taylor polynomial: P + 1 terms"),
  VALUE("form", "", FIELD_CHOICE, form, "direct|recurrent|chunked|fft|blocked|low-rank", "direct",
        "how the sums are arranged: the exact value is the same, what rounding may do is not"),
  VALUE("chunk", "", FIELD_COUNT, chunk, "C", "64", "keys a chunk of the chunked form"),
  VALUE("normalize", "", FIELD_CHOICE, normalize, "sum|none", "sum", "whether rows are divided by the sum of weights"),
  VALUE("eps", "", FIELD_REAL_NONNEGATIVE, eps, "REAL", "0", "added to the normaliser"),
  VALUE("decay", "", FIELD_REAL_FRACTION, decay, "REAL", "1", "factor of the state a step"),
  TENSOR("initial-state", "", "FILE", "state before the first key"),
  VALUE("alpha", "", FIELD_REAL_FROM_ONE, alpha, "REAL", "3/2", "alpha of entmax: 1 softmax, 2 sparsemax"),
  VALUE("temperature", "", FIELD_REAL_POSITIVE, temperature, "REAL", "1", "divides the scores"),
  VALUE("bandwidth", "", FIELD_REAL_POSITIVE, bandwidth, "H", "1", "h of the kernel estimates"),
  VALUE("margin", "", FIELD_REAL_POSITIVE, margin, "B", "1", "b of [b + (s - max s)/h^2]_+"),
  VALUE("topk", "", FIELD_COUNT, topk, "K", "1", "keys selected a row"),
  VALUE("rope-base", "", FIELD_REAL_POSITIVE, rope_base, "REAL", "10000", "base of the rotary angles"),
  VALUE("rope-pairs", "", FIELD_CHOICE, rope_pairs, "interleaved|half", "interleaved",
        "components that rotate together: 2i, 2i+1 or i, i+d/2"),
  TENSOR("weights", "", "FILE", "W of toeplitz: (2n-1, d, d), index i - j + n - 1"),
  TENSOR("coefficients", "", "FILE", "(g+1): weights are c_0 + c_1 score + .. + c_g score^g instead"),
  VALUE("feature", "", FIELD_CHOICE, feature, "identity|relu|elu1|taylor", "identity", "feature map of linear"),
  VALUE("layout", "", FIELD_CHOICE_FROM_ONE, layout, LAYOUTS, "2-D nd, 3-D hnd, 4-D bhnd",
        "axes of q, k, v: batch, head, sequence (n, s; t packed), component; bshd and bmhk say bnhd"),
  VALUE("out-layout", "", FIELD_CHOICE_FROM_ONE, out_layout, LAYOUTS, "layout", "axes of out, and of lse without the last"),
  VALUE("empty-row", "", FIELD_CHOICE, empty_row, "zero|nan|error", "zero", "what a row without a visible key returns"),
  VALUE("nonfinite", "", FIELD_CHOICE, nonfinite, "error|ieee", "error",
        "infinities and NaN in visible elements: refused, or followed as IEEE 754 does"),
  VALUE("subnormals", "", FIELD_CHOICE, subnormals, "ieee|flush", "ieee", "whether subnormal results may be flushed to zero; flush is not available in this version"),
  VALUE("ties", "", FIELD_CHOICE, ties, "any|lowest|highest", "any",
        "which of several equal keys top-k must take: any, the first or the last"),
  VALUE("convention", "", FIELD_CHOICE_FROM_ONE, convention, "sdpa|flash-attn|xformers|fla|ggml", "none",
        "presets layout, alignment, empty-row and eps as that library has them; explicit values win"),
};
/* clang-format on */
const size_t problem_param_count = sizeof problem_params / sizeof problem_params[0];

const problem_param *problem_param_find(const char *name, const char **implied) {
  if (implied) *implied = NULL;
  for (size_t i = 0; i < problem_param_count; i++) {
    const problem_param *param = &problem_params[i];
    if (problem_same_word(name, strlen(name), param->name)) return param;
    if (problem_word_find(param->aliases, ' ', name) >= 0) {
      if (implied && param->field == FIELD_CAUSAL) *implied = "top-left";
      return param;
    }
  }
  return NULL;
}

size_t problem_param_index(const char *name) {
  return (size_t)(problem_param_find(name, NULL) - problem_params);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void reals_of(problem_real *list[9], problem_values *values) {
  problem_real *all[9] = {&values->scale,  &values->softcap,   &values->temperature,
                          &values->eps,    &values->decay,     &values->alpha,
                          &values->margin, &values->bandwidth, &values->rope_base};
  memcpy(list, all, sizeof all);
}

void problem_values_init(problem_values *values) {
  problem_real *list[9];
  memset(values, 0, sizeof *values);
  reals_of(list, values);
  for (int i = 0; i < 9; i++)
    problem_real_init(list[i]);
  problem_values_default(values);
}

void problem_values_clear(problem_values *values) {
  problem_real *list[9];
  reals_of(list, values);
  for (int i = 0; i < 9; i++)
    problem_real_clear(list[i]);
}

void problem_values_default(problem_values *values) {
  problem_real *list[9];
  reals_of(list, values);
  for (int i = 0; i < 9; i++)
    problem_real_set_si(list[i], 1);
  problem_real_set_si(&values->eps, 0);
  problem_real_set_si(&values->rope_base, 10000);
  problem_real_parse(&values->alpha, "3/2");
  values->has_softcap = 0;
  values->window_left = values->window_right = -1;
  values->lse_base = 0;
  values->degree = 2;
  values->chunk = 64;
  values->topk = 1;
  values->causal = CAUSAL_NONE;
  values->form = FORM_DIRECT;
  values->normalize = NORMALIZE_SUM;
  values->rope_pairs = ROPE_INTERLEAVED;
  values->ties = TIES_ANY;
  values->feature = FEATURE_IDENTITY;
  values->layout = values->out_layout = LAYOUT_DEFAULT;
  values->empty_row = EMPTY_ZERO;
  values->nonfinite = NONFINITE_ERROR;
  values->subnormals = SUBNORMALS_IEEE;
  values->convention = CONVENTION_NONE;
  values->alignment = CAUSAL_NONE;
}

/* ---- text to value --------------------------------------------------------------------------- */

/* Larger integers would let index arithmetic overflow: positions stay below 2^60 each. */
#define INTEGER_MAX (INT64_MAX / 4)

/* A decimal integer that ends at `end`; 0, or -1. */
static int parse_integer(int64_t *value, const char *text, char end, const char **next) {
  const char *digits = text + (*text == '-');
  if (!isdigit((unsigned char)*digits)) return -1;
  char *stop;
  errno = 0;
  long long n = strtoll(text, &stop, 10);
  if (errno || *stop != end || n > INTEGER_MAX || n < -INTEGER_MAX) return -1;
  *value = n;
  if (next) *next = stop + 1;
  return 0;
}

static int parse_count(void *field, const char *text, int64_t least) {
  int64_t value;
  if (parse_integer(&value, text, 0, NULL) || value < least) return -1;
  memcpy(field, &value, sizeof value);
  return 0;
}

static int parse_real(problem_real *x, const char *text, problem_field field) {
  problem_real value, one;
  problem_real_init(&value);
  problem_real_init(&one);
  problem_real_set_si(&one, 1);
  int status = problem_real_parse(&value, text);
  /* sqrt(r) and r lie on the same side of 1, so the root need not be taken. */
  int against_one = fmpq_cmp(value.value, one.value);
  if (field == FIELD_REAL_POSITIVE || field == FIELD_REAL_FRACTION || field == FIELD_SOFTCAP)
    status |= value.sign <= 0;
  if (field == FIELD_REAL_NONNEGATIVE) status |= value.sign < 0;
  if (field == FIELD_REAL_FRACTION) status |= against_one > 0;
  if (field == FIELD_REAL_FROM_ONE) status |= value.sign <= 0 || against_one < 0;
  if (!status) problem_real_set(x, &value);
  problem_real_clear(&value);
  problem_real_clear(&one);
  return status ? -1 : 0;
}

static int parse_choice(void *field, const char *list, int first, const char *text) {
  if (!strcmp(list, LAYOUTS) && problem_word_find("bshd bmhk", ' ', text) >= 0) text = "bnhd";
  int index = problem_word_find(list, '|', text);
  if (index < 0) return -1;
  index += first;
  memcpy(field, &index, sizeof index); /* every enumeration here is as wide as int */
  return 0;
}

/* "": bare, taken as top-left until the sizes are known. */
static int parse_causal(problem_values *values, const char *text) {
  int index = problem_word_find("none|top-left|bottom-right", '|', *text ? text : "top-left");
  if (index >= 0) values->causal = (problem_causal)index;
  return index < 0 ? -1 : 0;
}

static int parse_window(problem_values *values, const char *text) {
  int64_t left, right;
  const char *next;
  if (parse_integer(&left, text, ',', &next) || parse_integer(&right, next, 0, NULL) || left < -1 ||
      right < -1)
    return -1;
  values->window_left = left;
  values->window_right = right;
  return 0;
}

int problem_param_parse(problem_values *values, const problem_param *param, const char *text) {
  void *field = (char *)values + param->offset;
  int64_t width;
  switch (param->field) {
  case FIELD_REAL:
  case FIELD_REAL_POSITIVE:
  case FIELD_REAL_NONNEGATIVE:
  case FIELD_REAL_FRACTION:
  case FIELD_REAL_FROM_ONE:
    return parse_real(field, text, param->field);
  case FIELD_SOFTCAP:
    if (parse_real(&values->softcap, text, param->field)) return -1;
    values->has_softcap = 1;
    return 0;
  case FIELD_INTEGER:
    return parse_count(field, text, 0);
  case FIELD_COUNT:
    return parse_count(field, text, 1);
  case FIELD_CHOICE:
    return parse_choice(field, param->syntax, 0, text);
  case FIELD_CHOICE_FROM_ONE:
    return parse_choice(field, param->syntax, 1, text);
  case FIELD_CAUSAL:
    return parse_causal(values, text);
  case FIELD_WINDOW:
    return parse_window(values, text);
  case FIELD_SLIDING_WINDOW:
    if (parse_count(&width, text, 1)) return -1;
    values->window_left = width - 1;
    values->window_right = 0;
    return 0;
  case FIELD_LSE_BASE:
    if (strcmp(text, "e") && strcmp(text, "2")) return -1;
    values->lse_base = *text == '2' ? 2 : 0;
    return 0;
  case FIELD_TENSOR:
    break;
  }
  return -1;
}

/* ---- value to text --------------------------------------------------------------------------- */

static char *choice_text(const void *field, const char *list, int first) {
  int index;
  memcpy(&index, field, sizeof index);
  return index < first ? strdup("") : problem_word_at(list, '|', index - first);
}

static char *integer_text(const void *field) {
  int64_t value;
  char buf[32];
  memcpy(&value, field, sizeof value);
  snprintf(buf, sizeof buf, "%lld", (long long)value);
  return strdup(buf);
}

char *problem_param_text(const problem_values *values, const problem_param *param) {
  static const char *const causal[] = {"none", "top-left", "bottom-right"};
  const void *field = (const char *)values + param->offset;
  char buf[64];
  switch (param->field) {
  case FIELD_REAL:
  case FIELD_REAL_POSITIVE:
  case FIELD_REAL_NONNEGATIVE:
  case FIELD_REAL_FRACTION:
  case FIELD_REAL_FROM_ONE:
    return problem_real_text(field);
  case FIELD_SOFTCAP:
    return values->has_softcap ? problem_real_text(&values->softcap) : strdup("");
  case FIELD_INTEGER:
  case FIELD_COUNT:
    return integer_text(field);
  case FIELD_CHOICE:
    return choice_text(field, param->syntax, 0);
  case FIELD_CHOICE_FROM_ONE:
    return choice_text(field, param->syntax, 1);
  case FIELD_CAUSAL:
    return strdup(causal[values->causal]);
  case FIELD_SLIDING_WINDOW:
    snprintf(buf, sizeof buf, "%lld", (long long)values->window_left + 1);
    return strdup(buf);
  case FIELD_WINDOW:
    snprintf(buf, sizeof buf, "%lld,%lld", (long long)values->window_left,
             (long long)values->window_right);
    return strdup(buf);
  case FIELD_LSE_BASE:
    return strdup(values->lse_base ? "2" : "e");
  case FIELD_TENSOR:
    break;
  }
  return strdup("");
}

const char *problem_param_legal(const problem_param *param) {
#define REAL_FORMS " as a decimal, a ratio, a hex float or sqrt(ratio)"
  switch (param->field) {
  case FIELD_REAL:
    return "a finite number" REAL_FORMS;
  case FIELD_REAL_POSITIVE:
    return "a finite number > 0" REAL_FORMS;
  case FIELD_SOFTCAP:
    return "a finite number > 0" REAL_FORMS "; leave it out for no cap";
  case FIELD_REAL_NONNEGATIVE:
    return "a finite number >= 0" REAL_FORMS;
  case FIELD_REAL_FRACTION:
    return "a number > 0 and <= 1" REAL_FORMS;
  case FIELD_REAL_FROM_ONE:
    return "a finite number >= 1" REAL_FORMS;
  case FIELD_INTEGER:
    return "an integer >= 0 and < 2^61";
  case FIELD_COUNT:
  case FIELD_SLIDING_WINDOW:
    return "an integer >= 1 and < 2^61";
  case FIELD_WINDOW:
    return "L,R: two integers >= -1, -1 for unbounded";
  default:
    return param->syntax;
  }
}
