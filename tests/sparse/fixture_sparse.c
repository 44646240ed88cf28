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

/* ---- single rows ---- */

static void set_tensor(fixture_row *r, const char *name, float *data, int64_t rows,
                       int64_t columns) {
  attest_error error;
  attest_tensor t = attest_tensor_of(data, ATTEST_FLOAT32, 2, (int64_t[]){rows, columns});
  attest_status status = !strcmp(name, "out") ? attest_problem_output(r->problem, name, &t, &error)
                                              : attest_problem_input(r->problem, name, &t, &error);
  ck_assert_msg(status == ATTEST_OK, "%s", error.message);
}

void fixture_row_open(fixture_row *r, const char *kernel, const char *const params[],
                      const float *s, int64_t n, int64_t dv) {
  attest_error error;
  uint64_t seed = 5;
  *r = (fixture_row){.n = n, .dv = dv};
  r->problem = attest_problem_new(kernel, &error);
  for (int i = 0; params && params[i]; i += 2)
    ck_assert_msg(!attest_problem_set(r->problem, params[i], params[i + 1], &error), "%s",
                  error.message);
  if (problem_kernel_takes(r->problem->kernel, problem_param_find("softcap", NULL)))
    ck_assert(!attest_problem_set(r->problem, "scale", "1", &error));
  r->q = calloc(1, sizeof *r->q);
  r->k = calloc((size_t)n, sizeof *r->k);
  r->v = calloc((size_t)(n * dv), sizeof *r->v);
  r->out = calloc((size_t)dv, sizeof *r->out);
  r->q[0] = 1;
  memcpy(r->k, s, (size_t)n * sizeof *s);
  for (int64_t j = 0; j < n; j++)
    for (int64_t c = 0; c < dv; c++)
      r->v[j * dv + c] = dv == n ? j == c : c == 0 ? 1 : (float)(tests_uniform(&seed) - 0.5);
  set_tensor(r, "q", r->q, 1, 1);
  set_tensor(r, "k", r->k, n, 1);
  set_tensor(r, "v", r->v, n, dv);
  set_tensor(r, "out", r->out, 1, dv);
  ck_assert_msg(!problem_resolve(r->problem, &error), "%s", error.message);
}

void fixture_row_close(fixture_row *r) {
  attest_problem_free(r->problem);
  free(r->q);
  free(r->k);
  free(r->v);
  free(r->out);
}

attest_verdict fixture_row_judge_by(const fixture_row *r, const char *bound) {
  attest_error error;
  attest_certificate *c = attest_check(r->problem, bound, &error);
  ck_assert_msg(c != NULL, "%s", error.message);
  attest_verdict verdict = attest_certificate_verdict(c);
  attest_certificate_free(c);
  return verdict;
}

attest_verdict fixture_row_judge(const fixture_row *r) {
  return fixture_row_judge_by(r, "backward<=16");
}
