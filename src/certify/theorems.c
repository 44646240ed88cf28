/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The map from what certificates say to the theorems of proofs/: `make proofs` lists these, and a
 * test fails when a name here is not among them. */
#include "theorems.h"

#include <stdio.h>
#include <string.h>

static const theorem_link links[] = {
    /* The theorem encloses outputs; the sensitivities that `backward` divides by, and the bound
     * `theory`, are other analyses. */
    {"softmax", "softmax_radius", "out", "backward theory", "subnormals=ieee", "softmax_radius"},
    {"softmax", "softmax_radius", "lse", "backward theory", "subnormals=ieee lse-base=e",
     "softmax_lse"},
    {"exp", "sweep_radius", NULL, NULL, NULL, "sweep_exp"},
    {"gaussian", "sweep_radius", NULL, NULL, NULL, "sweep_gaussian"},
    {"exp2", "sweep_radius", NULL, NULL, NULL, "sweep_exp2"},
    {"expm1", "sweep_radius", NULL, NULL, NULL, "sweep_expm1"},
    {"tanh", "sweep_radius", NULL, NULL, NULL, "sweep_tanh"},
    {"sigmoid", "sweep_radius", NULL, NULL, NULL, "sweep_sigmoid"},
    {"silu", "sweep_radius", NULL, NULL, NULL, "sweep_silu"},
    {"sin", "sweep_radius", NULL, NULL, NULL, "sweep_sin"},
    {"cos", "sweep_radius", NULL, NULL, NULL, "sweep_cos"},
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

/* The row of the map for a part of what is said by `of` about a kernel; NULL: none. */
static const theorem_link *find(const theorem_map *map, const char *kernel, const char *of,
                                const char *part) {
  for (size_t i = 0; i < map->count; i++) {
    const theorem_link *link = &map->links[i];
    if (!strcmp(link->kernel, kernel) && !strcmp(link->of, of) &&
        (!link->part || !strncmp(link->part, part, strlen(link->part))))
      return link;
  }
  return NULL;
}

/* The word of `words`, which are separated by single blanks, that begins with `name` and goes on
 * with `next` or ends there ('\0'); NULL: none. */
static const char *word(const char *words, const char *name, char next) {
  size_t length = strlen(name);
  for (const char *at = words; (at = strstr(at, name)); at += length)
    if ((at == words || at[-1] == ' ') &&
        (next ? at[length] == next : !at[length] || at[length] == ' '))
      return at + length;
  return NULL;
}

static int uses_one_of(const certify_case *c, const certify_output *o, const char *words) {
  for (size_t i = 0; i < c->param_count; i++)
    if (word(words, c->param_names[i], '\0')) return 1;
  for (size_t i = 0; i < c->input_count; i++)
    if (word(words, c->inputs[i].name, '\0')) return 1;
  for (size_t i = 0; i < o->bound_count; i++)
    if (word(words, measure_names[o->bounds[i].measure], '\0')) return 1;
  return 0;
}

static int differs_from(const certify_case *c, const char *words) {
  for (size_t i = 0; i < c->param_count; i++) {
    const char *value = word(words, c->param_names[i], '='), *text = c->param_texts[i];
    size_t length = strlen(text);
    if (value &&
        (strncmp(value + 1, text, length) || (value[1 + length] && value[1 + length] != ' ')))
      return 1;
  }
  return 0;
}

static int covers(const theorem_link *link, const certify_case *c, const certify_output *o) {
  return o->dtype != ATTEST_FLOAT64 && !(link->without && uses_one_of(c, o, link->without)) &&
         !(link->only && differs_from(c, link->only));
}

static char *print(char basis[THEOREM_BASIS], const theorem_link *link, const char *by) {
  snprintf(basis, THEOREM_BASIS, link ? "proved(%s)" : "derived(%s)", link ? link->theorem : by);
  return basis;
}

char *theorem_output_basis(char basis[THEOREM_BASIS], const theorem_map *map, const certify_case *c,
                           const certify_output *o) {
  const theorem_link *link = find(map, c->kernel, c->theorem, problem_output_names[o->output]);
  return print(basis, link && covers(link, c, o) ? link : NULL, c->theorem);
}

char *theorem_sweep_basis(char basis[THEOREM_BASIS], const theorem_map *map, const char *function) {
  return print(basis, find(map, function, "sweep_radius", ""), "sweep_radius");
}

char *theorem_statement_basis(char basis[THEOREM_BASIS], const theorem_map *map,
                              const statement_finding *finding) {
  return print(basis, find(map, finding->kernel, finding->statement, finding->facts), finding->by);
}
