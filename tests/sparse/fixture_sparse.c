/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fixture_sparse.h"

#include "../../src/sparse/sparse.h"

static const char *one_of(const char *const list[], size_t n, uint64_t *seed) {
  return list[tests_random(seed) % n];
}
#define ONE_OF(list) one_of(list, sizeof list / sizeof *list, seed)

/* Whether the kernel takes the parameter. */
static int takes(const char *kernel, const char *name) {
  const problem_param *param = problem_param_find(name, NULL);
  return problem_kernel_takes(problem_kernel_find(kernel), param);
}

void fixture_draw_sparse(fixture_spec *s, int kernel, uint64_t *seed) {
  static const char *const alphas[] = {"1",   "1.0001", "1.01",    "1.1", "4/3", "3/2",
                                       "1.7", "2",      "sqrt(3)", "5/2", "3",   "10"};
  static const char *const bandwidths[] = {"1", "3/2", "sqrt(2)", "4", "9", "30", "1/10"};
  static const char *const margins[] = {"1", "sqrt(2)", "1/20", "12"};
  static const char *const ranks[] = {"1", "2", "3", "8", "1000"};
  static const char *const empty[] = {"zero", "nan"};
  const char *given[24];
  fixture_draw(s, seed);
  memcpy(given, s->params, sizeof given);
  memset(s->params, 0, sizeof s->params);
  s->kernel = sparse_rooms[kernel].name;
  int n = 0, is_distance = !takes(s->kernel, "bias");
  for (int i = 0; given[i]; i += 2) {
    if (!takes(s->kernel, given[i]) || (is_distance && !strcmp(given[i], "scale"))) continue;
    s->params[n++] = given[i];
    s->params[n++] = given[i + 1];
  }
#define PARAM(name, value)                                                                         \
  if (takes(s->kernel, name)) s->params[n++] = name, s->params[n++] = value
  PARAM("alpha", ONE_OF(alphas));
  PARAM("bandwidth", ONE_OF(bandwidths));
  PARAM("margin", ONE_OF(margins));
  PARAM("topk", ONE_OF(ranks));
  PARAM("ties", tests_random(seed) % 2 ? "highest" : "lowest");
  PARAM("empty-row", ONE_OF(empty));
#undef PARAM
  s->sinks = 0;
  if (is_distance) s->bias = s->slopes = 0;
}
