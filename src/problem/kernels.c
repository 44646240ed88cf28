/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The kernels and what each of them takes. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define SCORE "scale softcap bias alibi-slopes "
#define VISIBILITY                                                                                 \
  "causal alignment window sliding-window mask cu-seqlens-q cu-seqlens-k seqused-k "
#define SHAPES "layout out-layout empty-row subnormals convention"
#define POLICY SHAPES " nonfinite"
/* Kernels whose weights are no continuous functions of infinite scores. */
#define FINITE SHAPES " nonfinite=error"
#define STATE "form=direct|recurrent|chunked chunk normalize eps decay initial-state "
/* These see the distance of the stored elements, so nothing may change the score. */
#define DISTANCE "scale=1 bandwidth " VISIBILITY FINITE

/* clang-format off */
const problem_kernel problem_kernels[] = {
  {"softmax", SCORE "sinks lse-base temperature " VISIBILITY POLICY, "out lse",
   "softmax attention: weights exp(score)", 1},
  {"gaussian", DISTANCE, "out", "weights exp(-|q-k|^2 / (2 h^2))", 1},
  {"taylor", "scale degree " STATE VISIBILITY POLICY, "out final-state",
   "weights are a Taylor polynomial of exp(score)", 1},
  {"linear", "scale feature degree " STATE VISIBILITY POLICY, "out final-state",
   "weights f(q).f(k) of a feature map f", 1},
  {"epanechnikov", DISTANCE, "out", "weights [1 - |q-k|^2/h^2]_+", 1},
  {"biweight", DISTANCE, "out", "weights [1 - |q-k|^2/h^2]_+^2", 1},
  {"triweight", DISTANCE, "out", "weights [1 - |q-k|^2/h^2]_+^3", 1},
  {"uniform", DISTANCE, "out", "the mean over keys within distance h", 1},
  {"sparsemax", SCORE "temperature " VISIBILITY FINITE, "out", "projection of the scores to the simplex", 1},
  {"entmax", SCORE "alpha temperature " VISIBILITY FINITE, "out", "alpha-entmax of the scores", 1},
  {"normrelu", SCORE "bandwidth " VISIBILITY FINITE, "out", "weights [2 s/h^2 + 1 - 2/h^2]_+", 1},
  {"relumax", SCORE "bandwidth margin " VISIBILITY FINITE, "out", "weights [b + (s - max s)/h^2]_+", 1},
  {"topk-softmax", SCORE "topk ties temperature lse-base " VISIBILITY FINITE, "out lse indices",
   "softmax over the K largest scores", 1},
  {"topk-uniform", SCORE "topk ties " VISIBILITY FINITE, "out indices", "the mean over the K largest scores", 1},
  {"rope-linear", "scale coefficients form=direct|fft|blocked rope-base rope-pairs normalize eps " VISIBILITY POLICY, "out",
   "weights are rotated scores, or a polynomial of them", 1},
  {"rope-softmax", SCORE "sinks lse-base temperature form=direct|fft|blocked|low-rank rope-base rope-pairs " VISIBILITY POLICY, "out lse",
   "softmax attention after rotary embedding", 1},
  {"toeplitz", "scale weights coefficients form=direct|fft|blocked temperature " VISIBILITY POLICY, "out",
   "softmax with scores q_i W_(i-j) k_j, or a polynomial for exp", 1},
};
/* clang-format on */
const size_t problem_kernel_count = sizeof problem_kernels / sizeof problem_kernels[0];

const problem_kernel *problem_kernel_find(const char *name) {
  for (size_t i = 0; i < problem_kernel_count; i++)
    if (problem_same_word(name, strlen(name), problem_kernels[i].name)) return &problem_kernels[i];
  return NULL;
}

/* The entry of the parameter in the kernel's list; *n is its length. NULL: not in the list. */
static const char *entry(size_t *n, const problem_kernel *kernel, const char *name) {
  size_t length = strlen(name);
  for (const char *s = kernel->params; *s; s += *n, s += *s == ' ') {
    *n = strcspn(s, " ");
    if (*n >= length && !strncmp(s, name, length) && (*n == length || s[length] == '=')) return s;
  }
  return NULL;
}

int problem_kernel_takes(const problem_kernel *kernel, const problem_param *param) {
  size_t n;
  return entry(&n, kernel, param->name) != NULL;
}

/* The values that an entry allows, one a '|'; NULL: any. */
static const char *alternatives(size_t *n, const char *entry, const char *name) {
  size_t length = strlen(name) + 1;
  if (*n < length) return NULL;
  *n -= length;
  return entry + length;
}

const char *problem_kernel_values(size_t *n, const problem_kernel *kernel,
                                  const problem_param *param) {
  const char *found = entry(n, kernel, param->name);
  return found ? alternatives(n, found, param->name) : NULL;
}

int problem_kernel_fixes(const problem_kernel *kernel, const problem_param *param) {
  size_t n;
  const char *values = problem_kernel_values(&n, kernel, param);
  return values && !memchr(values, '|', n);
}

static int is_alternative(const char *values, size_t n, const char *value) {
  size_t length = strlen(value), one;
  for (const char *s = values; s < values + n; s += one + 1) {
    const char *end = memchr(s, '|', (size_t)(values + n - s));
    one = (size_t)((end ? end : values + n) - s);
    if (one == length && !strncmp(s, value, length)) return 1;
  }
  return 0;
}

problem_pairing problem_kernel_pairing(const problem_kernel *kernel) {
  size_t n;
  if (entry(&n, kernel, "weights")) return PAIRING_WEIGHTS;
  return entry(&n, kernel, "rope-base") ? PAIRING_ROTARY : PAIRING_DOT;
}

attest_status problem_kernel_accepts(const problem_kernel *kernel, const problem_param *param,
                                     const char *canonical, attest_error *error) {
  size_t n;
  const char *found = entry(&n, kernel, param->name);
  const char *values = problem_kernel_values(&n, kernel, param);
  if (values && !is_alternative(values, n, canonical))
    return attest_fail(
        error, ATTEST_ERR_SUPPORT, "kernel %s takes %s only as %.*s: %s", kernel->name, param->name,
        (int)n, values,
        !strcmp(param->name, "scale")
            ? "its weights are a function of the distance of the stored elements; leave scale out "
              "and scale the tensors instead"
        : memchr(values, '|', n) ? "choose one of these"
                                 : "leave it out");
  if (found) return ATTEST_OK;
  char takers[320] = "";
  for (size_t i = 0, used = 0; i < problem_kernel_count && used < sizeof takers; i++)
    if (entry(&n, &problem_kernels[i], param->name) &&
        !problem_kernel_fixes(&problem_kernels[i], param))
      used += (size_t)snprintf(takers + used, sizeof takers - used, "%s%s", used ? " " : "",
                               problem_kernels[i].name);
  return attest_fail(error, ATTEST_ERR_SUPPORT,
                     "kernel %s does not take %s; the kernels that do: %s", kernel->name,
                     param->name, takers);
}
