/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fixture_oracle.h"

#include "../../src/sparse/sparse.h"
#include "../sparse/fixture_sparse.h"

void oracle_row_open(oracle_row *row, const attest_problem *problem, const problem_slice *slice,
                     int64_t at) {
  *row = (oracle_row){problem, slice, at, at + slice->offset, NULL, 0};
  row->key = calloc((size_t)slice->nk + 1, sizeof *row->key);
  for (int64_t j = 0; j < slice->nk; j++)
    if (problem_visible(problem, slice, at, j)) row->key[row->count++] = j;
}

void oracle_row_close(oracle_row *row) {
  free(row->key);
}

double oracle_element(const attest_tensor *t, int64_t row, int64_t column) {
  return tensor_at(t, row * t->stride[0] + column * t->stride[1]);
}

int oracle_is(const oracle_row *row, const char *kernel) {
  return !strcmp(row->problem->kernel->name, kernel);
}

/* ---- problems ---- */

enum { SMALL_WIDTH = 24 };

static int64_t few(uint64_t *seed, int64_t most) {
  return 1 + (int64_t)(tests_random(seed) % (uint64_t)most);
}

static int sparse_number(const char *kernel) {
  for (int i = 0; i < SPARSE_KERNELS; i++)
    if (!strcmp(sparse_rooms[i].name, kernel)) return i;
  return -1;
}

static void open_scores(oracle_case *c, const char *kernel, int small, uint64_t *seed) {
  fixture_spec s;
  int number = sparse_number(kernel);
  if (number >= 0)
    fixture_draw_sparse(&s, number, seed);
  else
    fixture_draw(&s, seed);
  if (small) {
    s.heads_q = s.heads_k = 1;
    s.nq = few(seed, 2);
    s.nk = few(seed, 6);
    s.d = few(seed, 3);
    s.dv = SMALL_WIDTH;
    s.dtype = ATTEST_FLOAT64;
  }
  fixture_open(&c->scores, &s, seed);
  c->problem = c->scores.problem;
}

static void open_sums(oracle_case *c, const char *kernel, int small, uint64_t *seed) {
  taylor_spec s;
  do
    taylor_fixture_draw(&s, seed);
  while (strcmp(s.kernel, kernel) != 0);
  if (small) {
    s.heads_q = s.heads_k = 1;
    s.nq = few(seed, 2);
    s.nk = few(seed, 6);
    s.d = few(seed, 3);
    s.dv = SMALL_WIDTH;
    s.dtype = ATTEST_FLOAT64;
  }
  taylor_fixture_open(&c->sums, &s, seed);
  c->problem = c->sums.problem;
}

static void open_places(oracle_case *c, const char *kernel, int small, uint64_t *seed) {
  positions_spec s;
  positions_draw(&s, kernel, seed);
  if (small) {
    s.heads_q = s.heads_k = 1;
    s.nq = few(seed, 2);
    s.nk = few(seed, 6);
    s.d = 2;
    s.dv = SMALL_WIDTH;
    s.dtype = ATTEST_FLOAT64;
  }
  positions_open(&c->places, &s, seed);
  c->problem = c->places.problem;
}

void oracle_case_open(oracle_case *c, const char *kernel, int small, uint64_t *seed) {
  memset(c, 0, sizeof *c);
  if (!strcmp(kernel, "softmax") || sparse_number(kernel) >= 0)
    open_scores(c, kernel, small, seed);
  else if (!strcmp(kernel, "taylor") || !strcmp(kernel, "linear"))
    open_sums(c, kernel, small, seed);
  else
    open_places(c, kernel, small, seed);
}

void oracle_case_close(oracle_case *c) {
  if (c->scores.problem) fixture_close(&c->scores);
  if (c->sums.problem) taylor_fixture_close(&c->sums);
  if (c->places.problem) positions_close(&c->places);
}
