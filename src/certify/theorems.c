/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The map from what certificates say to the theorems of proofs/: `make proofs` lists these, and a
 * test fails when a name here is not among them. */
#include "theorems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const theorem_link links[] = {
    /* The theorem encloses outputs, and beside it stand those of the sensitivities that `backward`
     * divides by (condition_a, condition_s, second_pass, condition_lse), without a softcap, and of
     * the division (backward_quiet, backward_verdict). The bound `theory` is another analysis, and
     * the sums of `nmse` come from double-double. Infinities and NaN follow rules of their own. */
    {"softmax", "softmax_radius", "out", "softcap+backward nmse theory",
     "subnormals=ieee nonfinite=error", "softmax_radius"},
    {"softmax", "softmax_radius", "lse", "softcap+backward nmse theory",
     "subnormals=ieee nonfinite=error lse-base=e", "softmax_lse"},
    {"softmax", "softmax_radius", "lse", "backward nmse theory",
     "subnormals=ieee nonfinite=error lse-base=2", "softmax_lse_base2"},
    {"gaussian", "sparse_radius", "out", "backward nmse theory", "subnormals=ieee",
     "gaussian_radius"},
    {"epanechnikov", "sparse_radius", "out", "backward nmse theory", "subnormals=ieee",
     "compact_radius"},
    {"biweight", "sparse_radius", "out", "backward nmse theory", "subnormals=ieee",
     "compact_radius"},
    {"triweight", "sparse_radius", "out", "backward nmse theory", "subnormals=ieee",
     "compact_radius"},
    {"normrelu", "sparse_radius", "out", "softcap backward nmse theory", "subnormals=ieee",
     "normrelu_radius"},
    {"relumax", "sparse_radius", "out", "softcap backward nmse theory", "subnormals=ieee",
     "relumax_radius"},
    {"sparsemax", "sparse_radius", "out", "softcap backward nmse theory", "subnormals=ieee",
     "entmax_radius"},
    /* alpha = 1 is softmax, which takes another way; the theorem asks for 1/(alpha - 1) <= 2^29 */
    {"entmax", "sparse_radius", "out", "softcap backward nmse theory",
     "subnormals=ieee alpha=1.0001..1000", "entmax_radius"},
    {"exp", "sweep_radius", NULL, NULL, NULL, "sweep_exp"},
    {"gaussian", "sweep_radius", NULL, NULL, NULL, "sweep_gaussian"},
    {"exp2", "sweep_radius", NULL, NULL, NULL, "sweep_exp2"},
    {"expm1", "sweep_radius", NULL, NULL, NULL, "sweep_expm1"},
    {"tanh", "sweep_radius", NULL, NULL, NULL, "sweep_tanh"},
    {"sigmoid", "sweep_radius", NULL, NULL, NULL, "sweep_sigmoid"},
    {"silu", "sweep_radius", NULL, NULL, NULL, "sweep_silu"},
    {"sin", "sweep_radius", NULL, NULL, NULL, "sweep_sin"},
    {"cos", "sweep_radius", NULL, NULL, NULL, "sweep_cos"},
    {"rope-sin", "sweep_radius", NULL, NULL, NULL, "sweep_rope_sin"},
    {"rope-cos", "sweep_radius", NULL, NULL, NULL, "sweep_rope_cos"},
    {"log", "sweep_radius", NULL, NULL, NULL, "sweep_log"},
    {"log2", "sweep_radius", NULL, NULL, NULL, "sweep_log"},
    {"log1p", "sweep_radius", NULL, NULL, NULL, "sweep_log1p"},
    {"sqrt", "sweep_radius", NULL, NULL, NULL, "sweep_sqrt"},
    {"rsqrt", "sweep_radius", NULL, NULL, NULL, "sweep_reciprocal"},
    {"reciprocal", "sweep_radius", NULL, NULL, NULL, "sweep_reciprocal"},
    {"taylor0", "sweep_radius", NULL, NULL, NULL, "sweep_taylor"},
    {"taylor1", "sweep_radius", NULL, NULL, NULL, "sweep_taylor"},
    {"taylor2", "sweep_radius", NULL, NULL, NULL, "sweep_taylor"},
    {"taylor3", "sweep_radius", NULL, NULL, NULL, "sweep_taylor"},
    {"taylor4", "sweep_radius", NULL, NULL, NULL, "sweep_taylor"},
    {"taylor5", "sweep_radius", NULL, NULL, NULL, "sweep_taylor"},
    {"taylor6", "sweep_radius", NULL, NULL, NULL, "sweep_taylor"},
    {"taylor7", "sweep_radius", NULL, NULL, NULL, "sweep_taylor"},
    {"taylor8", "sweep_radius", NULL, NULL, NULL, "sweep_taylor"},
    {"epanechnikov", "sweep_radius", NULL, NULL, NULL, "sweep_profile"},
    {"biweight", "sweep_radius", NULL, NULL, NULL, "sweep_profile"},
    {"triweight", "sweep_radius", NULL, NULL, NULL, "sweep_profile"},
    {"taylor", "recurrence-is-truncated-kernel", NULL, NULL, NULL, "merges"},
    {"toeplitz", "decomposition-identity", NULL, NULL, NULL, "decomposition"},
    {"toeplitz", "decomposition-is-polynomial-kernel", NULL, NULL, NULL, "decomposition"},
    {"toeplitz", "hadamard-closure", NULL, NULL, NULL, "hadamard_closure"},
    {"rope-softmax", "rotary-scores", NULL, NULL, NULL, "rotary_scores"},
    {"entmax", "kernel-regression", NULL, NULL, NULL, "entmax_is_kernel_regression"},
    {"entmax", "bandwidth-range", NULL, NULL, NULL, "bandwidth_range"},
    {"gaussian", "gaussian-softmax", NULL, NULL, NULL, "gaussian_is_softmax"},
    {"epanechnikov", "epanechnikov-family", "of=normrelu-at-fixed-bandwidth ", NULL, NULL,
     "normrelu_is_epanechnikov"},
    {"epanechnikov", "epanechnikov-family", "of=relumax-at-adaptive-bandwidth ", NULL, NULL,
     "relumax_is_epanechnikov"},
    {"epanechnikov", "epanechnikov-family", "of=relumax-as-sparsemax-at-gamma-star ", NULL, NULL,
     "relumax_is_sparsemax"},
    {"topk-uniform", "nearest-keys", NULL, NULL, NULL, "topk_is_a_ball"},
    {"entmax", "missing-hypotheses", "without=unit-norms ", NULL, NULL, "unequal_norms"},
    {"entmax", "missing-hypotheses", "without=one-largest-score ", NULL, NULL,
     "relumax_not_differentiable"},
    {"entmax", "missing-hypotheses", "without=mass-bound ", NULL, NULL, "relumax_retains_no_mass"},
};
const theorem_map certify_theorems = {links, sizeof links / sizeof *links};

/* Whether a row is about a part of what is said by `of` about a kernel. */
static int concerns(const theorem_link *link, const char *kernel, const char *of,
                    const char *part) {
  return !strcmp(link->kernel, kernel) && !strcmp(link->of, of) &&
         (!link->part || !strncmp(link->part, part, strlen(link->part)));
}

/* The first such row; NULL: none. */
static const theorem_link *find(const theorem_map *map, const char *kernel, const char *of,
                                const char *part) {
  for (size_t i = 0; i < map->count; i++)
    if (concerns(&map->links[i], kernel, of, part)) return &map->links[i];
  return NULL;
}

/* What follows "name=" among words that single blanks separate; NULL: it is not there. */
static const char *value_of(const char *words, const char *name) {
  size_t length = strlen(name);
  for (const char *at = words; (at = strstr(at, name)); at += length)
    if ((at == words || at[-1] == ' ') && at[length] == '=') return at + length + 1;
  return NULL;
}

/* Whether the case has a parameter, an input or a bound of this name. */
static int uses(const certify_case *c, const certify_output *o, const char *name, size_t length) {
#define IS(other) (!strncmp(other, name, length) && !(other)[length])
  for (size_t i = 0; i < c->param_count; i++)
    if (IS(c->param_names[i])) return 1;
  for (size_t i = 0; i < c->input_count; i++)
    if (IS(c->inputs[i].name)) return 1;
  for (size_t i = 0; i < o->bound_count; i++)
    if (IS(measure_names[o->bounds[i].measure])) return 1;
#undef IS
  return 0;
}

/* One of the words that blanks separate; of a word with '+', all of its parts. */
static int uses_one_of(const certify_case *c, const certify_output *o, const char *words) {
  int all = 1;
  for (const char *at = words; *at; at++) {
    size_t length = strcspn(at, " +");
    all &= uses(c, o, at, length);
    at += length;
    if (*at == '+') continue;
    if (all) return 1;
    if (!*at) return 0;
    all = 1;
  }
  return 0;
}

/* Whether the number that a parameter is given as lies in the range LO..HI of a word. */
static int lies_in(const char *range, const char *text) {
  char *end;
  double least = strtod(range, &end), radius;
  problem_real real;
  problem_real_init(&real);
  int inside = !strncmp(end, "..", 2) && !problem_real_parse(&real, text);
  double x = inside ? problem_real_double(&radius, &real) : 0;
  problem_real_clear(&real);
  return inside && x - radius >= least && x + radius <= strtod(end + 2, NULL);
}

/* Whether `words` ask for another value of a parameter; they may allow several, and ranges. */
static int asks_another(const char *words, const char *name, const char *text) {
  const char *value = value_of(words, name);
  size_t length = strlen(text);
  int another = value != NULL;
  for (; value; value = value_of(value, name)) {
    int is_this = !strncmp(value, text, length) && (!value[length] || value[length] == ' ');
    if (is_this || lies_in(value, text)) another = 0;
  }
  return another;
}

static int differs_from(const certify_case *c, const char *words) {
  const char *base = "e"; /* where none is given */
  for (size_t i = 0; i < c->param_count; i++) {
    if (asks_another(words, c->param_names[i], c->param_texts[i])) return 1;
    if (!strcmp(c->param_names[i], "lse-base")) base = c->param_texts[i];
  }
  return asks_another(words, "lse-base", base);
}

/* Whether a backward error was to be found by explicit changes, of which no theorem says how they
 * are searched. */
static int is_searched(const certify_output *o) {
  for (size_t i = 0; i < o->bound_count; i++)
    if (o->bounds[i].measure == MEASURE_BACKWARD && o->has_explicit) return 1;
  return 0;
}

static int covers(const theorem_link *link, const certify_case *c, const certify_output *o) {
  return !is_searched(o) && o->dtype != ATTEST_FLOAT64 &&
         !(link->without && uses_one_of(c, o, link->without)) &&
         !(link->only && differs_from(c, link->only));
}

static char *print(char basis[THEOREM_BASIS], const theorem_link *link, const char *by) {
  snprintf(basis, THEOREM_BASIS, link ? "proved(%s)" : "derived(%s)", link ? link->theorem : by);
  return basis;
}

char *theorem_output_basis(char basis[THEOREM_BASIS], const theorem_map *map, const certify_case *c,
                           const certify_output *o) {
  const theorem_link *found = NULL;
  for (size_t i = 0; i < map->count && !found; i++) {
    const theorem_link *link = &map->links[i];
    if (concerns(link, c->kernel, c->theorem, problem_output_names[o->output]) &&
        covers(link, c, o))
      found = link;
  }
  return print(basis, found, c->theorem);
}

char *theorem_sweep_basis(char basis[THEOREM_BASIS], const theorem_map *map, const char *function) {
  return print(basis, find(map, function, "sweep_radius", ""), "sweep_radius");
}

char *theorem_statement_basis(char basis[THEOREM_BASIS], const theorem_map *map,
                              const statement_finding *finding) {
  return print(basis, find(map, finding->kernel, finding->statement, finding->facts), finding->by);
}
