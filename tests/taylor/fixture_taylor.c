/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fixture_taylor.h"

#include <math.h>

static double gaussian(uint64_t *seed) {
  double u = tests_uniform(seed), v = tests_uniform(seed);
  return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}

static double element(const taylor_spec *s, int is_key, int64_t row, uint64_t *seed) {
  double x = gaussian(seed), d = (double)s->d;
  switch (s->terms) {
  case TERMS_UNIT:
    return x / sqrt(d);
  case TERMS_STEEP:
    return 20 * x;
  case TERMS_ROOT:
    return is_key ? -(row % 2 ? 1 : 1.5960716) * (1 + 1e-4 * x) : 1;
  case TERMS_BALANCED:
    return is_key ? (row % 2 ? -1 : 1) * (1 + 1e-5 * x) : x;
  case TERMS_TINY:
    return ldexp(x, -140);
  case TERMS_EXTREME:
    return ldexp(x, (int)(tests_random(seed) % 60) - 30);
  default:
    return x;
  }
}

static double value_of(const taylor_spec *s, uint64_t *seed) {
  double x = gaussian(seed);
  if (s->terms == TERMS_TINY) return ldexp(x, -120);
  if (s->terms == TERMS_HUGE) return ldexp(x, 110);
  if (s->terms == TERMS_EXTREME) return ldexp(x, (int)(tests_random(seed) % 600) - 300);
  return x;
}

static attest_tensor array(taylor_fixture *f, int slot, attest_dtype dtype, int ndim,
                           const int64_t shape[]) {
  attest_tensor t = attest_tensor_of(NULL, dtype, ndim, shape);
  t.data = f->memory[slot] = calloc((size_t)tensor_elements(&t) + 1, tensor_dtype_size(dtype));
  ck_assert_ptr_nonnull(t.data);
  return t;
}

static void give(attest_problem *p, const char *name, const attest_tensor *t) {
  attest_error error;
  ck_assert_msg(attest_problem_input(p, name, t, &error) == ATTEST_OK, "%s", error.message);
}

static void set_all(attest_problem *p, const char *const params[]) {
  attest_error error;
  for (int i = 0; params[i]; i += 2)
    ck_assert_msg(attest_problem_set(p, params[i], params[i + 1], &error) == ATTEST_OK, "%s",
                  error.message);
}

static void resolve(attest_problem *p) {
  attest_error error;
  ck_assert_msg(problem_resolve(p, &error) == ATTEST_OK, "%s", error.message);
}

static void give_qkv(taylor_fixture *f, const taylor_spec *s, uint64_t *seed) {
  attest_tensor q = array(f, 0, s->dtype, 3, (int64_t[]){s->heads_q, s->nq, s->d});
  attest_tensor k = array(f, 1, s->dtype, 3, (int64_t[]){s->heads_k, s->nk, s->d});
  attest_tensor v = array(f, 2, s->dtype, 3, (int64_t[]){s->heads_k, s->nk, s->dv});
  for (int64_t i = 0; i < tensor_elements(&q); i++)
    tensor_store(&q, i, element(s, 0, i / s->d, seed));
  for (int64_t i = 0; i < tensor_elements(&k); i++)
    tensor_store(&k, i, element(s, 1, i / s->d, seed));
  for (int64_t i = 0; i < tensor_elements(&v); i++)
    tensor_store(&v, i, value_of(s, seed));
  give(f->problem, "q", &q);
  give(f->problem, "k", &k);
  give(f->problem, "v", &v);
}

/* The shape of a state is known once the problem is resolved without it. */
static void give_state(taylor_fixture *f, const taylor_spec *s, uint64_t *seed) {
  int ndim;
  int64_t shape[ATTEST_MAX_DIMS];
  resolve(f->problem);
  problem_output_shape(&ndim, shape, f->problem, OUTPUT_FINAL_STATE);
  attest_tensor state = array(f, 4, s->dtype, ndim, shape);
  for (int64_t i = 0; i < tensor_elements(&state); i++)
    tensor_store(&state, i, fabs(value_of(s, seed)) * (i % 5 == 1 ? -1 : 1));
  give(f->problem, "initial-state", &state);
}

void taylor_fixture_open(taylor_fixture *f, const taylor_spec *s, uint64_t *seed) {
  attest_error error;
  memset(f, 0, sizeof *f);
  f->problem = attest_problem_new(s->kernel, &error);
  ck_assert_ptr_nonnull(f->problem);
  set_all(f->problem, s->params);
  give_qkv(f, s, seed);
  if (s->mask) {
    attest_tensor mask = array(f, 3, ATTEST_BOOL, 2, (int64_t[]){s->nq, s->nk});
    for (int64_t i = 0; i < s->nq * s->nk; i++)
      ((unsigned char *)mask.data)[i] = i / s->nk != 1 && tests_random(seed) % 4 != 0;
    give(f->problem, "mask", &mask);
  }
  if (s->initial) give_state(f, s, seed);
  resolve(f->problem);
}

void taylor_fixture_close(taylor_fixture *f) {
  attest_problem_free(f->problem);
  for (int i = 0; i < 6; i++)
    free(f->memory[i]);
}

void taylor_fixture_draw(taylor_spec *s, uint64_t *seed) {
  static const char *const scales[] = {"1/8", "-0.5", "sqrt(1/3)", "0", "2", "-sqrt(1/2)"};
  static const char *const degrees[] = {"0", "1", "2", "2", "3", "4", "5", "7"};
  static const char *const forms[] = {"direct", "recurrent", "chunked"};
  static const char *const features[] = {"identity", "relu", "elu1", "taylor"};
  static const char *const decays[] = {"1", "1", "1/2", "0.99", "1e-40"};
  static const int64_t sizes[] = {1, 2, 3, 4, 5, 8};
  memset(s, 0, sizeof *s);
  int linear = tests_random(seed) % 3 == 0;
  const char *feature = features[tests_random(seed) % 4];
  s->kernel = linear ? "linear" : "taylor";
  s->heads_k = 1 + (int64_t)(tests_random(seed) % 2);
  s->heads_q = s->heads_k * (1 + (int64_t)(tests_random(seed) % 2));
  s->nk = 1 + (int64_t)(tests_random(seed) % 40);
  if (tests_random(seed) % 8 == 0) s->nk = 250 + (int64_t)(tests_random(seed) % 100);
  s->nq = 1 + (int64_t)(tests_random(seed) % (s->nk > 100 ? 4 : 20));
  s->d = sizes[tests_random(seed) % 6];
  s->dv = sizes[tests_random(seed) % 6];
  s->terms = (taylor_terms_kind)(tests_random(seed) % TERMS_KINDS);
  s->dtype = s->terms == TERMS_EXTREME ? ATTEST_FLOAT64 : ATTEST_FLOAT32;
  int n = 0;
  uint64_t draw = tests_random(seed);
#define PARAM(name, value) (s->params[n++] = name, s->params[n++] = value)
  if (draw % 2) PARAM("scale", scales[tests_random(seed) % 6]);
  if (!linear || !strcmp(feature, "taylor")) PARAM("degree", degrees[tests_random(seed) % 8]);
  if (linear) PARAM("feature", feature);
  const char *form = forms[tests_random(seed) % 3];
  PARAM("form", form);
  PARAM("chunk", "7");
  if (draw >> 1 & 1) PARAM("normalize", "none");
  if (draw >> 2 & 1 && !(draw >> 1 & 1)) PARAM("eps", draw >> 3 & 1 ? "1e-6" : "3");
  int causal = (draw >> 4 & 3) != 0;
  if (causal) PARAM("causal", draw >> 6 & 1 ? "top-left" : "bottom-right");
  if (causal) PARAM("decay", decays[tests_random(seed) % 5]);
  int plain = !strcmp(form, "direct");
  s->initial = (draw >> 7 & 3) == 0;
  if (plain && !s->initial && draw >> 9 & 1) PARAM("window", "5,3");
  s->mask = plain && !s->initial && draw >> 10 & 1;
#undef PARAM
}

attest_problem *taylor_problem_of(const char *kernel, const char *const params[], double *q,
                                  double *k, double *v, int64_t nq, int64_t nk, int64_t d,
                                  int64_t dv) {
  attest_error error;
  attest_problem *p = attest_problem_new(kernel, &error);
  ck_assert_msg(p != NULL, "%s", error.message);
  set_all(p, params);
  attest_tensor t = attest_tensor_of(q, ATTEST_FLOAT64, 2, (int64_t[]){nq, d});
  give(p, "q", &t);
  t = attest_tensor_of(k, ATTEST_FLOAT64, 2, (int64_t[]){nk, d});
  give(p, "k", &t);
  t = attest_tensor_of(v, ATTEST_FLOAT64, 2, (int64_t[]){nk, dv});
  give(p, "v", &t);
  resolve(p);
  return p;
}

/* ---- cells ----------------------------------------------------------------------------------- */

enum { CELL_ROWS = 48 };

void taylor_cells_open(taylor_cells *b, const attest_problem *problem) {
  int64_t width[2] = {problem->dv, problem->state_width};
  int64_t n = CELL_ROWS * (width[0] + width[1]);
  memset(b, 0, sizeof *b);
  b->numbers = calloc((size_t)(7 * n + CELL_ROWS), sizeof(double));
  b->classes = calloc((size_t)n + 1, 1);
  room_cells *cells[2] = {&b->block.out, &b->block.state};
  for (int i = 0, at = 0; i < 2; at += (int)(CELL_ROWS * width[i]), i++) {
    double **fields[7] = {&cells[i]->x,    &cells[i]->radius, &cells[i]->a_lo,  &cells[i]->a_hi,
                          &cells[i]->s_lo, &cells[i]->s_hi,   &cells[i]->theory};
    for (int k = 0; k < 7; k++)
      *fields[k] = b->numbers + k * n + at;
    cells[i]->class = b->classes + at;
    cells[i]->width = width[i];
  }
  b->block.reach = b->numbers + 7 * n;
}

void taylor_cells_close(taylor_cells *b) {
  free(b->numbers);
  free(b->classes);
}
