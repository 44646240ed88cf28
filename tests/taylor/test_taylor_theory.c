/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The a-priori bound: plain computations in the declared arithmetic stay within it, term after
 * term, direct and by an explicit state. */
#include <float.h>
#include <math.h>

#include "../../src/taylor/basis.h"
#include "fixture_taylor.h"

enum { NK = 60, NQ = 12, D = 4, DV = 3, STATE = 70 };

typedef struct {
  int64_t degree, chunk;
  const char *form, *arithmetic;
  double size; /* of the elements of q and k */
} setting;

static float rounded(float x, int bits) {
  uint32_t u;
  if (!bits) return x;
  memcpy(&u, &x, sizeof u);
  u += (UINT32_C(1) << (bits - 1)) - 1 + (u >> bits & 1);
  u &= ~((UINT32_C(1) << bits) - 1);
  memcpy(&x, &u, sizeof x);
  return x;
}

static float weight_of(const float *q, const float *k, float scale, int64_t degree, int bits) {
  float s = 0, w = 1, power = 1, factorial = 1;
  for (int a = 0; a < D; a++)
    s += q[a] * k[a];
  s *= scale;
  for (int64_t m = 1; m <= degree; m++) { /* the sum of the terms, not Horner's scheme */
    power *= s;
    factorial *= (float)m;
    w += power / factorial;
  }
  return rounded(w, bits);
}

static void add_direct(float sum[DV + 1], float w, const float *v) {
  for (int c = 0; c < DV; c++)
    sum[c] += w * v[c];
  sum[DV] += w;
}

/* state += f(k) [v, 1] */
static void add_key(float *state, const taylor_basis *basis, const float *k, const float *v) {
  float phi[STATE];
  taylor_monomials_f32(phi, basis, k);
  for (int64_t b = 0; b < basis->size; b++)
    for (int c = 0; c <= DV; c++)
      state[b * (DV + 1) + c] += phi[b] * (c < DV ? v[c] : 1);
}

static void read_state(float sum[DV + 1], const float *state, const taylor_basis *basis,
                       const float *q, float scale) {
  float phi[STATE];
  taylor_monomials_f32(phi, basis, q);
  for (int64_t m = 0, b = 0; m <= basis->degree; m++) {
    float factor = 1;
    for (int64_t i = 1; i <= m; i++)
      factor *= scale / (float)i;
    for (; b < basis->start[m + 1]; b++)
      for (int c = 0; c <= DV; c++)
        sum[c] += factor * (float)basis->multinomial[b] * phi[b] * state[b * (DV + 1) + c];
  }
}

/* Causal attention in float32; chunk 1 is the recurrence, chunk NK the direct form. */
static void attention(float out[NQ][DV], const setting *s, const float *q, const float *k,
                      const float *v, float scale, int bits) {
  attest_error error;
  taylor_basis *basis;
  float *state = calloc(STATE * (DV + 1), sizeof *state);
  ck_assert_int_eq(taylor_basis_open(&basis, D, s->degree, &error), ATTEST_OK);
  for (int i = 0, first = NK - NQ; i < NQ; i++) {
    float sum[DV + 1] = {0};
    int64_t last = first + i, begin = last / s->chunk * s->chunk; /* own chunk */
    memset(state, 0, STATE * (DV + 1) * sizeof *state);
    if (s->chunk == 1) begin = last + 1;
    for (int64_t j = 0; j < begin; j++)
      add_key(state, basis, k + j * D, v + j * DV);
    if (begin) read_state(sum, state, basis, q + i * D, scale);
    for (int64_t j = begin; j <= last; j++)
      add_direct(sum, weight_of(q + i * D, k + j * D, scale, s->degree, bits), v + j * DV);
    for (int c = 0; c < DV; c++)
      out[i][c] = sum[c] / sum[DV];
  }
  taylor_basis_close(basis);
  free(state);
}

/* Largest error / bound; elements whose bound is infinite are counted. */
static double compare(const setting *s, uint64_t *seed, int *unbounded) {
  float *data = calloc(NQ * D + NK * (D + DV), sizeof *data), out[NQ][DV];
  float *q = data, *k = q + NQ * D, *v = k + NK * D;
  for (int i = 0; i < NQ * D + NK * (D + DV); i++)
    data[i] = (float)(i < NQ * D + NK * D ? s->size * (2 * tests_uniform(seed) - 1)
                                          : 2 * tests_uniform(seed) - 1);
  char degree[8], chunk[8];
  snprintf(degree, sizeof degree, "%d", (int)s->degree);
  snprintf(chunk, sizeof chunk, "%d", (int)s->chunk);
  const char *const params[] = {"degree", degree,  "chunk", chunk,    "form",
                                s->form,  "scale", "1/2",   "causal", "bottom-right"};
  attest_error error;
  attest_problem *p = attest_problem_new("taylor", &error);
  for (int i = 0; i < 10; i += 2)
    ck_assert_int_eq(attest_problem_set(p, params[i], params[i + 1], &error), ATTEST_OK);
  const char *names[] = {"q", "k", "v"};
  float *at[] = {q, k, v};
  const int64_t shapes[3][2] = {{NQ, D}, {NK, D}, {NK, DV}};
  for (int i = 0; i < 3; i++) {
    attest_tensor t = attest_tensor_of(at[i], ATTEST_FLOAT32, 2, shapes[i]);
    ck_assert_int_eq(attest_problem_input(p, names[i], &t, &error), ATTEST_OK);
  }
  ck_assert_int_eq(problem_resolve(p, &error), ATTEST_OK);
  attention(out, s, q, k, v, 0.5f, strstr(s->arithmetic, "weights") ? 16 : 0);
  room_machine machine;
  problem_slice slice;
  taylor_cells cells;
  void *work;
  ck_assert_int_eq(taylor_machine_parse(&machine, s->arithmetic, &error), ATTEST_OK);
  problem_slice_get(&slice, p, 0);
  ck_assert_int_eq(taylor_enclose_open(&work, p, &slice, WANT_THEORY, &error), ATTEST_OK);
  taylor_cells_open(&cells, p);
  cells.block.rows = NQ;
  cells.block.machine = &machine;
  taylor_enclose_rows(&cells.block, work, WANT_OUT | WANT_THEORY);
  double worst = 0;
  for (int i = 0; i < NQ; i++)
    for (int c = 0; c < DV; c++) {
      double bound = cells.block.out.theory[i * DV + c];
      double off = fabs((double)out[i][c] - cells.block.out.x[i * DV + c]);
      if (bound == INFINITY) {
        *unbounded += 1;
        continue;
      }
      off -= cells.block.out.radius[i * DV + c];
      ck_assert_msg(off <= bound, "%s degree %d: %g off, bound %g", s->form, (int)s->degree, off,
                    bound);
      worst = fmax(worst, off / bound);
    }
  taylor_enclose_close(work);
  taylor_cells_close(&cells);
  attest_problem_free(p);
  free(data);
  return worst;
}

START_TEST(plain_computations_stay_within_the_bound) {
  static const char *const arithmetics[] = {"products=float32", "weights=bfloat16"};
  uint64_t seed = tests_seed();
  double worst[3] = {0};
  int unbounded = 0, all = 0;
  for (int round = 0; round < 4; round++)
    for (int64_t degree = 0; degree <= 4; degree++)
      for (int form = 0; form < 3; form++)
        for (int a = 0; a < 2; a++) {
          static const char *const forms[] = {"direct", "recurrent", "chunked"};
          static const int64_t chunks[] = {NK, 1, 7};
          setting s = {degree, chunks[form], forms[form], arithmetics[a], round % 2 ? 0.5 : 3};
          worst[form] = fmax(worst[form], compare(&s, &seed, &unbounded));
          all += NQ * DV;
        }
  printf("theory: largest error/bound %.3f direct, %.3f recurrent, %.3f chunked; %d of %d elements "
         "without a bound\n",
         worst[0], worst[1], worst[2], unbounded, all);
  for (int form = 0; form < 3; form++)
    ck_assert_double_gt(worst[form], 0.001);
  ck_assert_int_lt(unbounded, all / 2);
}
END_TEST

/* The bound of component 0 of the one row of a problem, and the exact element about it. */
static double bound_of(double *x, const char *degree, const char *scale, const char *arithmetic,
                       double *q, double *k, double *v, int64_t nk, int64_t d) {
  const char *const params[] = {"degree", degree, "scale", scale, NULL};
  attest_error error;
  room_machine machine;
  problem_slice slice;
  taylor_cells cells;
  void *work;
  attest_problem *p = taylor_problem_of("taylor", params, q, k, v, 1, nk, d, 1);
  ck_assert_int_eq(taylor_machine_parse(&machine, arithmetic, &error), ATTEST_OK);
  problem_slice_get(&slice, p, 0);
  ck_assert_int_eq(taylor_enclose_open(&work, p, &slice, WANT_THEORY, &error), ATTEST_OK);
  taylor_cells_open(&cells, p);
  cells.block.rows = 1;
  cells.block.machine = &machine;
  taylor_enclose_rows(&cells.block, work, WANT_OUT | WANT_THEORY);
  double bound = cells.block.out.theory[0];
  *x = cells.block.out.x[0];
  taylor_enclose_close(work);
  taylor_cells_close(&cells);
  attest_problem_free(p);
  return bound;
}

/* Scores of terms that are each too small to be seen, and a key that balances the row: q and k are
 * float32 numbers. */
START_TEST(the_bound_pays_for_the_products_of_long_rows) {
  enum { LONG = 256 };
  double q[LONG], k[2 * LONG] = {0}, v[2] = {1, -1}, x;
  float s = 0;
  for (int a = 0; a < LONG; a++) {
    q[a] = 1;
    k[a] = a ? (double)(float)(0.99 * 0x1p-25) : 1;
    s += (float)q[a] * (float)k[a];
  }
  k[LONG] = 1;
  double bound = bound_of(&x, "1", "1", "products=float32", q, k, v, 2, LONG);
  float n = (1 + s) - 2, w = (1 + s) + 2, got = n / w;
  printf("long rows: error %.3g, bound %.3g\n", fabs((double)got - x), bound);
  ck_assert_double_le(fabs((double)got - x), bound);
  ck_assert_double_gt(fabs((double)got - x), bound / 16);
}
END_TEST

/* Blocks of 8 values, each too small to be seen by the total. */
START_TEST(the_bound_pays_for_the_depth_of_the_sums) {
  enum { MANY = 1000, BLOCK = 8 };
  double q[1] = {1}, k[MANY] = {0}, v[MANY], x;
  float total = 0;
  for (int j = 0; j < MANY; j++)
    v[j] = j ? (double)(float)(0.12 * 0x1p-25) : 1;
  for (int j = 0; j < MANY; j += BLOCK) {
    float chain = 0;
    for (int i = 0; i < BLOCK; i++)
      chain += (float)v[j + i];
    total += chain;
  }
  double bound = bound_of(&x, "0", "1", "block=8", q, k, v, MANY, 1);
  float got = total / MANY;
  printf("deep sums: error %.3g, bound %.3g\n", fabs((double)got - x), bound);
  ck_assert_double_le(fabs((double)got - x), bound);
  ck_assert_double_gt(fabs((double)got - x), bound / 32);
}
END_TEST

/* The scale may come last, after q.k = 2^16, which is no float16. */
START_TEST(there_is_no_bound_where_products_overflow_before_the_scale) {
  double q[1] = {0x1p8}, k[2] = {0x1p4, 0}, v[2] = {3, 5}, x;
  ck_assert(isfinite(bound_of(&x, "1", "0x1p-14", "products=float16", q, k, v, 2, 1)));
  k[0] = 0x1p8;
  ck_assert(isinf(bound_of(&x, "1", "0x1p-14", "products=float16", q, k, v, 2, 1)));
}
END_TEST

START_TEST(declared_models_are_read_and_refused) {
  room_machine machine;
  attest_error error;
  ck_assert_int_eq(
      taylor_machine_parse(&machine, "products=float32,weights=bfloat16,block=128", &error),
      ATTEST_OK);
  ck_assert(machine.weights == ATTEST_BFLOAT16 && machine.block == 128 && !machine.builtin);
  ck_assert_int_eq(taylor_machine_parse(&machine, "products=int32", &error), ATTEST_ERR_INPUT);
  ck_assert_ptr_nonnull(strstr(error.message, "products"));
  ck_assert_int_eq(taylor_machine_parse(&machine, "blocks=3", &error), ATTEST_ERR_INPUT);
}
END_TEST

void test_taylor_theory(Suite *suite) {
  TCase *tc = tcase_create("taylor theory");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, plain_computations_stay_within_the_bound);
  tcase_add_test(tc, the_bound_pays_for_the_products_of_long_rows);
  tcase_add_test(tc, the_bound_pays_for_the_depth_of_the_sums);
  tcase_add_test(tc, there_is_no_bound_where_products_overflow_before_the_scale);
  tcase_add_test(tc, declared_models_are_read_and_refused);
  suite_add_tcase(suite, tc);
}
