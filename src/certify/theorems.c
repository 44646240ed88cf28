/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The map from what certificates say to the theorems of proofs/: `make proofs` lists these, and a
 * test fails when a name here is not among them. */
#include "theorems.h"

#include <stdio.h>
#include <string.h>

static const theorem_link links[] = {
    {"taylor", "recurrence-is-truncated-kernel", NULL, NULL, "merges"},
    {"toeplitz", "decomposition-identity", NULL, NULL, "decomposition"},
    {"toeplitz", "decomposition-is-polynomial-kernel", NULL, NULL, "decomposition"},
    {"toeplitz", "hadamard-closure", NULL, NULL, "hadamard_closure"},
    {"entmax", "kernel-regression", NULL, NULL, "entmax_is_kernel_regression"},
    {"entmax", "bandwidth-range", NULL, NULL, "bandwidth_range"},
    {"gaussian", "gaussian-softmax", NULL, NULL, "gaussian_is_softmax"},
    {"epanechnikov", "epanechnikov-family", "of=normrelu ", NULL, "normrelu_is_epanechnikov"},
    {"epanechnikov", "epanechnikov-family", "of=relumax ", NULL, "relumax_is_epanechnikov"},
    {"epanechnikov", "epanechnikov-family", "of=sparsemax ", NULL, "entmax_is_kernel_regression"},
    {"topk-uniform", "nearest-keys", NULL, NULL, "topk_is_a_ball"},
    {"entmax", "missing-hypotheses", "without=unit-norms ", NULL, "unequal_norms"},
    {"entmax", "missing-hypotheses", "without=one-largest-score ", NULL,
     "relumax_not_differentiable"},
    {"entmax", "missing-hypotheses", "without=mass-bound ", NULL, "relumax_retains_no_mass"},
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

/* Is `name` one of the words of `words`, which are separated by single blanks? */
static int among(const char *words, const char *name) {
  size_t length = strlen(name);
  for (const char *at = words; (at = strstr(at, name)); at += length)
    if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' ')) return 1;
  return 0;
}

static int uses_one_of(const certify_case *c, const char *words) {
  for (size_t i = 0; i < c->param_count; i++)
    if (among(words, c->param_names[i])) return 1;
  for (size_t i = 0; i < c->input_count; i++)
    if (among(words, c->inputs[i].name)) return 1;
  return 0;
}

static char *print(char basis[THEOREM_BASIS], const theorem_link *link, const char *by) {
  snprintf(basis, THEOREM_BASIS, link ? "proved(%s)" : "derived(%s)", link ? link->theorem : by);
  return basis;
}

char *theorem_output_basis(char basis[THEOREM_BASIS], const theorem_map *map, const certify_case *c,
                           const certify_output *o) {
  const theorem_link *link = find(map, c->kernel, c->theorem, problem_output_names[o->output]);
  if (o->dtype == ATTEST_FLOAT64 || (link && link->without && uses_one_of(c, link->without)))
    link = NULL;
  return print(basis, link, c->theorem);
}

char *theorem_statement_basis(char basis[THEOREM_BASIS], const theorem_map *map,
                              const statement_finding *finding) {
  return print(basis, find(map, finding->kernel, finding->statement, finding->facts), finding->by);
}
