/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* S of the sparse kernels is the sum of t_j |dx/dy_j|: finite differences of 400 bits, in the
 * scores (through a bias) or in the distances (through the keys), on 1,000 random rows; and what
 * the edge adds where a key is about to enter the support. */
#include <math.h>

#include "../../src/sparse/row.h"
#include "fixture_sparse.h"

enum { FINE = 400, NK = 7, D = 3 };

typedef struct {
  const char *kernel, *params[5];
} differentiable;

static const differentiable kernels[] = {
    {"sparsemax", {"temperature", "2/3"}}, {"sparsemax", {"temperature", "1/5"}},
    {"entmax", {"alpha", "3/2"}},          {"entmax", {"alpha", "4/3", "temperature", "1/2"}},
    {"entmax", {"alpha", "1.1"}},          {"entmax", {"alpha", "1.7", "temperature", "1/4"}},
    {"entmax", {"alpha", "5/2"}},          {"entmax", {"alpha", "1"}},
    {"normrelu", {"bandwidth", "3/2"}},    {"relumax", {"bandwidth", "4/5", "margin", "1/2"}},
    {"relumax", {"bandwidth", "1"}},       {"topk-softmax", {"topk", "3"}},
    {"gaussian", {"bandwidth", "3/2"}},    {"epanechnikov", {"bandwidth", "5/2"}},
    {"biweight", {"bandwidth", "5/2"}},    {"triweight", {"bandwidth", "3"}},
};
enum { KERNELS = sizeof kernels / sizeof *kernels, ROWS = 64 }; /* 16 x 64 rows */

typedef struct {
  attest_problem *problem;
  double q[D], k[NK * D], v[NK], bias[NK];
  int has_bias;
} small;

static void give(small *p, const char *name, double *data, int64_t rows, int64_t columns) {
  attest_error error;
  attest_tensor t = attest_tensor_of(data, ATTEST_FLOAT64, 2, (int64_t[]){rows, columns});
  ck_assert_msg(attest_problem_input(p->problem, name, &t, &error) == ATTEST_OK, "%s",
                error.message);
}

/* Dyadic numbers of a few bits: steps of 2^-40 are exact in double. */
static double coarse(uint64_t *seed) {
  return (double)(tests_random(seed) % 8191) / 2048 - 2;
}

static void small_open(small *p, const differentiable *kind, uint64_t *seed) {
  attest_error error;
  memset(p, 0, sizeof *p);
  p->problem = attest_problem_new(kind->kernel, &error);
  ck_assert_msg(p->problem != NULL, "%s", error.message);
  for (int i = 0; kind->params[i]; i += 2)
    ck_assert(attest_problem_set(p->problem, kind->params[i], kind->params[i + 1], &error) == 0);
  p->has_bias = problem_kernel_takes(p->problem->kernel, problem_param_find("bias", NULL));
  if (p->has_bias) ck_assert(attest_problem_set(p->problem, "scale", "1/4", &error) == 0);
  for (int i = 0; i < D; i++)
    p->q[i] = coarse(seed);
  for (int i = 0; i < NK * D; i++)
    p->k[i] = coarse(seed);
  for (int j = 0; j < NK; j++) {
    p->v[j] = coarse(seed);
    p->bias[j] = coarse(seed) / 4;
  }
  give(p, "q", p->q, 1, D);
  give(p, "k", p->k, NK, D);
  give(p, "v", p->v, NK, 1);
  if (p->has_bias) give(p, "bias", p->bias, 1, NK);
  ck_assert_msg(problem_resolve(p->problem, &error) == ATTEST_OK, "%s", error.message);
}

static int evaluate(arb_t x, arb_t s, const small *p) {
  attest_error error;
  problem_slice slice;
  room_balls balls;
  problem_slice_get(&slice, p->problem, 0);
  room_balls_init(&balls, 1);
  ck_assert(sparse_ball(&balls, p->problem, &slice, 0, OUTPUT_OUT, s ? WANT_CONDITION : 0, FINE,
                        &error) == ATTEST_OK);
  arb_set(x, balls.x);
  if (s) arb_set(s, balls.s);
  room_balls_clear(&balls);
  return x != NULL;
}

/* Arguments y and their absolute versions, at FINE bits. */
static void arguments(arb_ptr y, arb_ptr t, const small *p) {
  attest_error error;
  problem_slice slice;
  sparse_row r;
  problem_slice_get(&slice, p->problem, 0);
  ck_assert(sparse_row_init(&r, p->problem, &slice, 0, 1, &error) == ATTEST_OK);
  sparse_row_arguments(y, t, &r, FINE);
  sparse_row_clear(&r);
}

/* total += t_j |x(+h) - x(-h)| / |y_j(+h) - y_j(-h)|. */
static void add_difference(arb_t total, small *p, int j, const arb_t t) {
  double *moved = p->has_bias ? &p->bias[j] : &p->k[j * D], held = *moved;
  arb_ptr up = _arb_vec_init(NK), down = _arb_vec_init(NK), unused = _arb_vec_init(NK);
  arb_t x, y;
  arb_init(x);
  arb_init(y);
  *moved = held + 0x1p-40;
  evaluate(x, NULL, p);
  arguments(up, unused, p);
  *moved = held - 0x1p-40;
  evaluate(y, NULL, p);
  arguments(down, unused, p);
  *moved = held;
  arb_sub(x, x, y, FINE);
  /* relumax: arguments move with the largest score; the key's own score moves by the bias. */
  if (!strcmp(p->problem->kernel->name, "relumax")) {
    arb_set_d(y, 0x1p-39);
    fmpq_t h2;
    fmpq_init(h2);
    sparse_bandwidth_squared(h2, &p->problem->values);
    arb_div_fmpz(y, y, fmpq_numref(h2), FINE);
    arb_mul_fmpz(y, y, fmpq_denref(h2), FINE);
    fmpq_clear(h2);
  } else {
    arb_sub(y, up + j, down + j, FINE);
  }
  arb_div(x, x, y, FINE);
  arb_abs(x, x);
  arb_addmul(total, x, t, FINE);
  _arb_vec_clear(up, NK);
  _arb_vec_clear(down, NK);
  _arb_vec_clear(unused, NK);
  arb_clear(x);
  arb_clear(y);
}

START_TEST(sensitivity_is_the_sum_of_the_derivatives) {
  uint64_t seed = tests_seed() * 131 + (uint64_t)_i;
  int compared = 0;
  for (int row = 0; row < ROWS; row++) {
    small p;
    arb_t x, s, total;
    arb_ptr y = _arb_vec_init(NK), t = _arb_vec_init(NK);
    arb_init(x);
    arb_init(s);
    arb_init(total);
    small_open(&p, &kernels[_i], &seed);
    evaluate(x, s, &p);
    arguments(y, t, &p);
    for (int j = 0; j < NK; j++)
      add_difference(total, &p, j, t + j);
    /* Centered differences are off by h^2 times a third derivative: relative 2^-60 is ample. */
    arb_sub(x, s, total, FINE);
    arb_abs(x, x);
    double off = enclosure_upper(x), size = enclosure_upper(s);
    int straddles = !(off <= size * 0x1p-30 + 0x1p-60); /* a kink within the step */
    ck_assert_msg(!straddles, "%s, row %d: S = %.17g, differences say %.17g", kernels[_i].kernel,
                  row, size, enclosure_upper(total));
    compared++;
    attest_problem_free(p.problem);
    _arb_vec_clear(y, NK);
    _arb_vec_clear(t, NK);
    arb_clear(x);
    arb_clear(s);
    arb_clear(total);
  }
  ck_assert_int_eq(compared, ROWS);
}
END_TEST

/* sparsemax of two keys, the first with t near 2000, whose scores differ by a little less and a
 * little more than 1. Inside, a move of one score moves both weights by half: S = t |v_1 - mean v|.
 * Just outside S is 0, and the same as inside once scores may move by more than the gap. */
START_TEST(edge_counts_keys_that_may_enter) {
  double q[1] = {1000}, k[2] = {1, 0}, v[2] = {1, 3}, bias[2] = {-1000, 0};
  static const double gaps[2] = {1 - 0x1p-20, 1 + 0x1p-24};
  for (int i = 0; i < 2; i++) {
    attest_error error;
    attest_problem *problem = attest_problem_new("sparsemax", &error);
    bias[0] = gaps[i] - 1000; /* scores gap and 0: a support of two keys iff the gap is below 1 */
    int64_t one[2] = {1, 1}, two[2] = {2, 1}, row[2] = {1, 2};
    attest_tensor t = attest_tensor_of(q, ATTEST_FLOAT64, 2, one);
    ck_assert(!attest_problem_input(problem, "q", &t, &error));
    t = attest_tensor_of(k, ATTEST_FLOAT64, 2, two);
    ck_assert(!attest_problem_input(problem, "k", &t, &error));
    t = attest_tensor_of(v, ATTEST_FLOAT64, 2, two);
    ck_assert(!attest_problem_input(problem, "v", &t, &error));
    t = attest_tensor_of(bias, ATTEST_FLOAT64, 2, row);
    ck_assert(!attest_problem_input(problem, "bias", &t, &error));
    ck_assert(!attest_problem_set(problem, "scale", "1", &error) &&
              !problem_resolve(problem, &error));
    problem_slice slice;
    problem_slice_get(&slice, problem, 0);
    for (int with_edge = 0; with_edge < 2; with_edge++) {
      room_balls balls;
      room_balls_init(&balls, 1);
      balls.edge = with_edge ? 0x1p-20 : 0;
      ck_assert(!sparse_ball(&balls, problem, &slice, 0, OUTPUT_OUT, WANT_CONDITION, 128, &error));
      /* t = 1999 - .. and 0: c = (1, 1), mean v = 2, S = t |v_1 - 2|; one key: S = 0. */
      double expected = i == 0 || with_edge ? 1000 + fabs(bias[0]) : 0;
      double s = enclosure_upper(balls.s);
      ck_assert_msg(fabs(s - expected) <= 1e-6, "gap %g, edge %d: S = %.17g, not %.17g", gaps[i],
                    with_edge, s, expected);
      room_balls_clear(&balls);
    }
    attest_problem_free(problem);
  }
}
END_TEST

void test_sparse_condition(Suite *suite) {
  TCase *tc = tcase_create("sparse_condition");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, sensitivity_is_the_sum_of_the_derivatives, 0, KERNELS);
  tcase_add_test(tc, edge_counts_keys_that_may_enter);
  suite_add_tcase(suite, tc);
}
