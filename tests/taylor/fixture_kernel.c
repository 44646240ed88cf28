/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fixture_kernel.h"

#include "../../src/enclosure/flint.h"

enum { PREC = 256 };

/* ---- building ----------------------------------------------------------------------------------
 */

static void *give(kernel_fixture *f, int slot, const char *name, attest_dtype dtype, int ndim,
                  const int64_t shape[]) {
  attest_error error;
  attest_tensor t = attest_tensor_of(NULL, dtype, ndim, shape);
  t.data = f->memory[slot] = calloc((size_t)tensor_elements(&t) + 1, tensor_dtype_size(dtype));
  ck_assert_ptr_nonnull(t.data);
  ck_assert_msg(attest_problem_input(f->problem, name, &t, &error) == ATTEST_OK, "%s",
                error.message);
  return t.data;
}

static void fill(void *data, attest_dtype dtype, int64_t n, double size, double offset,
                 uint64_t *seed) {
  attest_tensor t = attest_tensor_of(data, dtype, 1, &n);
  for (int64_t i = 0; i < n; i++)
    tensor_store(&t, i, offset + size * (2 * tests_uniform(seed) - 1));
}

static void fill_mask(unsigned char *mask, int64_t n, uint64_t *seed) {
  for (int64_t i = 0; i < n; i++)
    mask[i] = tests_random(seed) % 4 != 0;
}

void kernel_fixture_open(kernel_fixture *f, const kernel_spec *s, attest_dtype result,
                         int with_state, uint64_t *seed) {
  attest_error error;
  memset(f, 0, sizeof *f);
  f->problem = attest_problem_new(s->kernel, &error);
  ck_assert_msg(f->problem != NULL, "%s", error.message);
  for (int i = 0; s->params[i]; i += 2)
    ck_assert_msg(attest_problem_set(f->problem, s->params[i], s->params[i + 1], &error) ==
                      ATTEST_OK,
                  "%s", error.message);
  const int64_t q[] = {s->heads_q, s->nq, s->d}, k[] = {s->heads_k, s->nk, s->d};
  const int64_t v[] = {s->heads_k, s->nk, s->dv}, pairs[] = {s->nq, s->nk};
  fill(give(f, 0, "q", s->dtype, 3, q), s->dtype, q[0] * q[1] * q[2], s->size, 0, seed);
  fill(give(f, 1, "k", s->dtype, 3, k), s->dtype, k[0] * k[1] * k[2], s->size, 0, seed);
  fill(give(f, 2, "v", s->dtype, 3, v), s->dtype, v[0] * v[1] * v[2], 1, s->offset, seed);
  if (s->mask) fill_mask(give(f, 3, "mask", ATTEST_BOOL, 2, pairs), s->nq * s->nk, seed);
  ck_assert_msg(problem_resolve(f->problem, &error) == ATTEST_OK, "%s", error.message);
  const int64_t state[] = {s->heads_k, f->problem->state_rows, f->problem->state_width};
  const int64_t out[] = {s->heads_q, s->nq, s->dv};
  if (s->initial) {
    fill(give(f, 4, "initial-state", ATTEST_FLOAT64, 3, state), ATTEST_FLOAT64,
         state[0] * state[1] * state[2], 0.5, 1, seed);
    ck_assert_msg(problem_resolve(f->problem, &error) == ATTEST_OK, "%s", error.message);
  }
  f->memory[5] = calloc((size_t)(out[0] * out[1] * out[2]) + 1, 8);
  f->out = attest_tensor_of(f->memory[5], result, 3, out);
  if (!with_state) return;
  f->memory[6] = calloc((size_t)(state[0] * state[1] * state[2]) + 1, 8);
  f->state = attest_tensor_of(f->memory[6], result, 3, state);
  ck_assert_msg(attest_problem_output(f->problem, "final-state", &f->state, &error) == ATTEST_OK,
                "%s", error.message);
  ck_assert_msg(problem_resolve(f->problem, &error) == ATTEST_OK, "%s", error.message);
}

void kernel_fixture_close(kernel_fixture *f) {
  attest_problem_free(f->problem);
  for (int i = 0; i < 7; i++)
    free(f->memory[i]);
}

void kernel_fixture_run(kernel_fixture *f) {
  attest_error error;
  ck_assert_msg(taylor_kernel(&f->out, NULL, f->problem, &error) == ATTEST_OK, "%s", error.message);
}

kernel_spec kernel_causal_spec(const char *form, const char *chunk, int64_t n, int64_t d,
                               int64_t dv) {
  return (kernel_spec){
      .kernel = "taylor",
      .heads_q = 1,
      .heads_k = 1,
      .nq = n,
      .nk = n,
      .d = d,
      .dv = dv,
      .dtype = ATTEST_FLOAT32,
      .size = 1,
      .params = {"causal", "top-left", "scale", "1/2", "form", form, "chunk", chunk}};
}

static int64_t pick(const int64_t from[], int64_t n, uint64_t *seed) {
  return from[tests_random(seed) % (uint64_t)n];
}

void kernel_fixture_draw(kernel_spec *s, uint64_t *seed) {
  static const char *const scales[] = {"1/2", "-0.5", "sqrt(1/3)", "0", "1"};
  static const char *const degrees[] = {"0", "1", "2", "3", "4"};
  static const char *const features[] = {"identity", "relu", "elu1", "taylor"};
  static const char *const chunks[] = {"1", "2", "5", "16", "63", "64", "65", "100", "1000"};
  static const char *const forms[] = {"direct", "recurrent", "chunked"};
  static const int64_t sizes[] = {1, 2, 3, 5, 8, 17};
  static const int64_t wide[] = {1, 2, 7, 16, 17, 64, 70};
  static const int64_t lengths[] = {1, 2, 6, 30, 64, 65, 130, 200};
  int n = 0, linear = tests_random(seed) % 3 == 0;
  memset(s, 0, sizeof *s);
#define PARAM(name, value) (s->params[n++] = name, s->params[n++] = value)
  s->kernel = linear ? "linear" : "taylor";
  s->heads_k = 1 + (int64_t)(tests_random(seed) % 2);
  s->heads_q = s->heads_k * (1 + (int64_t)(tests_random(seed) % 2));
  s->nk = pick(lengths, 8, seed);
  s->nq = tests_random(seed) % 2 ? s->nk : pick(lengths, 8, seed);
  s->d = pick(sizes, 6, seed);
  s->dv = pick(wide, 7, seed);
  s->dtype = (attest_dtype)(tests_random(seed) % 4);
  s->size = 1;
  s->offset = (double)(tests_random(seed) % 3);
  const char *form = forms[tests_random(seed) % 3];
  int causal = tests_random(seed) % 3 != 0, direct = !strcmp(form, "direct"), restricted = 0;
  PARAM("form", form);
  PARAM("scale", scales[tests_random(seed) % 5]);
  if (!strcmp(form, "chunked")) PARAM("chunk", chunks[tests_random(seed) % 9]);
  if (causal) PARAM("causal", tests_random(seed) % 2 ? "top-left" : "bottom-right");
  const char *feature = features[tests_random(seed) % 4];
  if (linear) PARAM("feature", feature);
  if (!linear || !strcmp(feature, "taylor"))
    PARAM("degree", degrees[tests_random(seed) % (s->d > 8 ? 4 : 5)]);
  if (direct && tests_random(seed) % 2) {
    PARAM("window", "40,3");
    restricted = 1;
  }
  if (direct && tests_random(seed) % 2) s->mask = restricted = 1;
  if (causal && tests_random(seed) % 3 == 0) PARAM("decay", "0.97");
  if (tests_random(seed) % 3 == 0)
    PARAM("normalize", "none");
  else if (tests_random(seed) % 3 == 0)
    PARAM("eps", "0.5");
  s->initial = !restricted && tests_random(seed) % 3 == 0;
#undef PARAM
}

/* ---- the plain sums ----------------------------------------------------------------------------
 */

typedef struct {
  const attest_problem *problem;
  problem_slice slice;
  int is_score; /* weight = score */
  problem_feature feature;
  int64_t degree;
  arb_t scale, decay, eps;
} plain;

static void real_ball(arb_t x, const problem_real *real) {
  arb_set_fmpq(x, real->value, PREC);
  if (real->root) arb_sqrt(x, x, PREC);
  arb_mul_si(x, x, real->sign, PREC);
}

static void plain_init(plain *p, const kernel_fixture *f, int64_t slice) {
  const problem_values *values = &f->problem->values;
  *p = (plain){.problem = f->problem, .degree = values->degree};
  problem_slice_get(&p->slice, f->problem, slice);
  p->is_score = !strcmp(f->problem->kernel->name, "linear") && values->feature != FEATURE_TAYLOR;
  p->feature = p->is_score ? values->feature : FEATURE_IDENTITY;
  arb_init(p->scale);
  arb_init(p->decay);
  arb_init(p->eps);
  real_ball(p->scale, &values->scale);
  real_ball(p->decay, &values->decay);
  real_ball(p->eps, &values->eps);
}

static void plain_clear(plain *p) {
  arb_clear(p->scale);
  arb_clear(p->decay);
  arb_clear(p->eps);
}

static double at(const attest_tensor *t, int64_t row, int64_t column) {
  return tensor_at(t, row * t->stride[0] + column * t->stride[1]);
}

static void element(arb_t y, const plain *p, const attest_tensor *t, int64_t row, int64_t column) {
  double x = at(t, row, column);
  arb_set_d(y, p->feature == FEATURE_RELU && x < 0 ? 0 : x);
  if (p->feature != FEATURE_ELU1) return;
  if (x > 0)
    arb_add_ui(y, y, 1, PREC);
  else
    arb_exp(y, y, PREC);
}

/* y = T_P(s) by its terms; y = s when the weight is the score. */
static void polynomial(arb_t y, const arb_t s, const plain *p) {
  if (p->is_score) {
    arb_set(y, s);
    return;
  }
  arb_t term;
  arb_init(term);
  arb_one(term);
  arb_one(y);
  for (int64_t m = 1; m <= p->degree; m++) {
    arb_mul(term, term, s, PREC);
    arb_div_si(term, term, m, PREC);
    arb_add(y, y, term, PREC);
  }
  arb_clear(term);
}

/* w and its absolute version of key j in row i. */
static void plain_weight(arb_t w, arb_t size, const plain *p, int64_t i, int64_t j) {
  arb_t s, t, x, y;
  arb_init(s);
  arb_init(t);
  arb_init(x);
  arb_init(y);
  for (int64_t a = 0; a < p->slice.d; a++) {
    element(x, p, &p->slice.q, i, a);
    element(y, p, &p->slice.k, j, a);
    arb_mul(x, x, y, PREC);
    arb_add(s, s, x, PREC);
    arb_abs(x, x);
    arb_add(t, t, x, PREC);
  }
  arb_mul(s, s, p->scale, PREC);
  arb_mul(t, t, p->scale, PREC);
  arb_abs(t, t);
  polynomial(w, s, p);
  polynomial(size, t, p);
  arb_pow_ui(x, p->decay, (ulong)labs((long)(i + p->slice.offset - j)), PREC);
  arb_mul(w, w, x, PREC);
  arb_mul(size, size, x, PREC);
  arb_clear(s);
  arb_clear(t);
  arb_clear(x);
  arb_clear(y);
}

/* Feature b of row `row` of t (q or k); order: of the monomial. Without basis: component b. */
static void plain_feature(arb_t y, int64_t *order, const plain *p, const taylor_basis *basis,
                          const attest_tensor *t, int64_t row, int64_t b) {
  int64_t tuple[8];
  arb_t x;
  if (p->is_score) {
    *order = 1;
    element(y, p, t, row, b);
    return;
  }
  arb_init(x);
  *order = taylor_basis_tuple(tuple, basis, b);
  arb_one(y);
  for (int64_t a = 0; a < *order; a++) {
    element(x, p, t, row, tuple[a]);
    arb_mul(y, y, x, PREC);
  }
  arb_clear(x);
}

/* What feature b of the initial state weighs in row i: decay^(i'+1) scale^m / beta! q^beta. */
static void initial_weight(arb_t w, const plain *p, const taylor_basis *basis, int64_t i,
                           int64_t b) {
  int64_t order, steps = i + p->slice.offset + 1;
  arb_t x;
  arb_init(x);
  plain_feature(w, &order, p, basis, &p->slice.q, i, b);
  arb_pow_ui(x, p->scale, (ulong)order, PREC);
  arb_mul(w, w, x, PREC);
  if (!p->is_score) {
    arb_mul_si(w, w, basis->multinomial[b], PREC);
    arb_fac_ui(x, (ulong)order, PREC);
    arb_div(w, w, x, PREC);
  }
  arb_pow_ui(x, p->decay, (ulong)(steps > 0 ? steps : 0), PREC);
  arb_mul(w, w, x, PREC);
  arb_clear(x);
}

typedef struct {
  arb_ptr sum, size; /* dv and the normaliser: sum w u, sum |w~| |u| */
  int64_t dv;
  int any;
} plain_sums;

static void add_term(plain_sums *sums, const arb_t w, const arb_t size, const attest_tensor *t,
                     int64_t row) {
  arb_t x;
  arb_init(x);
  for (int64_t c = 0; c <= sums->dv; c++) {
    arb_set_d(x, c < t->shape[1] ? at(t, row, c) : c == sums->dv);
    arb_addmul(sums->sum + c, w, x, PREC);
    arb_abs(x, x);
    arb_addmul(sums->size + c, size, x, PREC);
  }
  arb_clear(x);
  sums->any = 1;
}

static void plain_row(plain_sums *sums, const plain *p, const taylor_basis *basis, int64_t i) {
  const attest_tensor *initial = &p->slice.initial_state;
  arb_t w, size;
  arb_init(w);
  arb_init(size);
  _arb_vec_zero(sums->sum, sums->dv + 1);
  _arb_vec_zero(sums->size, sums->dv + 1);
  sums->any = 0;
  for (int64_t j = 0; j < p->slice.nk; j++) {
    if (!problem_visible(p->problem, &p->slice, i, j)) continue;
    plain_weight(w, size, p, i, j);
    add_term(sums, w, size, &p->slice.v, j);
  }
  for (int64_t b = 0; initial->data && b < p->problem->state_rows; b++) {
    initial_weight(w, p, basis, i, b);
    arb_abs(size, w);
    add_term(sums, w, size, initial, b);
  }
  arb_clear(w);
  arb_clear(size);
}

static double ball_double(const arb_t x) {
  return arf_get_d(arb_midref(x), ARF_RND_NEAR);
}

static double unit(const attest_tensor *t) {
  return t->dtype == ATTEST_FLOAT64 ? 0x1p-53 : 0x1p-24;
}

/* Of one element: |got - x| |W| / (u (sum |w~||v| + |x| sum |w~|)). */
static double element_error(const plain *p, const plain_sums *sums, const arb_t norm, int64_t c,
                            double got, double u) {
  int normalize = p->problem->values.normalize == NORMALIZE_SUM;
  arb_t x, size, error;
  arb_init(x);
  arb_init(size);
  arb_init(error);
  arb_div(x, sums->sum + c, norm, PREC);
  arb_abs(size, x);
  arb_mul(size, size, sums->size + sums->dv, PREC);
  if (!normalize) arb_zero(size);
  arb_add(size, size, sums->size + c, PREC);
  arb_set_d(error, got);
  arb_sub(error, error, x, PREC);
  arb_mul(error, error, norm, PREC);
  double e = fabs(ball_double(error)), unit_size = ball_double(size) * u;
  arb_clear(x);
  arb_clear(size);
  arb_clear(error);
  return e == 0 ? 0 : e / unit_size;
}

static double row_error(const plain *p, plain_sums *sums, const taylor_basis *basis, int64_t i,
                        const attest_tensor *out) {
  double worst = 0;
  arb_t norm;
  plain_row(sums, p, basis, i);
  if (!sums->any) {
    for (int64_t c = 0; c < sums->dv; c++)
      ck_assert(at(out, i, c) == 0); /* empty-row zero */
    return 0;
  }
  arb_init(norm);
  arb_one(norm);
  if (p->problem->values.normalize == NORMALIZE_SUM)
    arb_add(norm, sums->sum + sums->dv, p->eps, PREC);
  for (int64_t c = 0; c < sums->dv; c++) {
    double got = at(out, i, c);
    if (arb_contains_zero(norm)) continue; /* has no value */
    double e = element_error(p, sums, norm, c, got, unit(out));
    worst = e > worst || isnan(e) ? e : worst;
  }
  arb_clear(norm);
  return worst;
}

/* The basis where the features are monomials, else NULL. */
static taylor_basis *basis_of(const plain *p) {
  taylor_basis *basis = NULL;
  attest_error error;
  if (!p->is_score)
    ck_assert_int_eq(taylor_basis_open(&basis, p->slice.d, p->degree, &error), ATTEST_OK);
  return basis;
}

double kernel_fixture_out_error(const kernel_fixture *f) {
  double worst = 0;
  attest_problem mine = *f->problem;
  mine.output[OUTPUT_OUT] = f->out;
  for (int64_t s = 0; s < problem_slice_count(&mine); s++) {
    plain p;
    problem_slice slice;
    problem_slice_get(&slice, &mine, s);
    plain_init(&p, f, s);
    plain_sums sums = {.dv = slice.dv};
    sums.sum = _arb_vec_init(slice.dv + 1);
    sums.size = _arb_vec_init(slice.dv + 1);
    taylor_basis *basis = basis_of(&p);
    for (int64_t i = 0; i<slice.nq; i += slice.nq> 70 ? 7 : 1) {
      double e = row_error(&p, &sums, basis, i, &slice.out);
      worst = e > worst || isnan(e) ? e : worst;
    }
    taylor_basis_close(basis);
    _arb_vec_clear(sums.sum, slice.dv + 1);
    _arb_vec_clear(sums.size, slice.dv + 1);
    plain_clear(&p);
  }
  return worst;
}

/* Feature b of the state: all columns. */
static double state_row_error(const plain *p, plain_sums *sums, const taylor_basis *basis,
                              int64_t b, const attest_tensor *state) {
  double worst = 0;
  int64_t order, nk = p->slice.nk;
  arb_t w, x;
  arb_init(w);
  arb_init(x);
  _arb_vec_zero(sums->sum, sums->dv + 1);
  _arb_vec_zero(sums->size, sums->dv + 1);
  for (int64_t j = 0; j <= nk; j++) {
    const attest_tensor *from = j < nk ? &p->slice.v : &p->slice.initial_state;
    if (!from->data) continue;
    arb_one(w);
    if (j < nk) plain_feature(w, &order, p, basis, &p->slice.k, j, b);
    arb_pow_ui(x, p->decay, (ulong)(j < nk ? nk - 1 - j : nk), PREC);
    arb_mul(w, w, x, PREC);
    arb_abs(x, w);
    add_term(sums, w, x, from, j < nk ? j : b);
  }
  for (int64_t c = 0; c < state->shape[1]; c++) {
    arb_set_d(x, at(state, b, c));
    arb_sub(x, x, sums->sum + c, PREC);
    double e = fabs(ball_double(x));
    if (e != 0) e /= ball_double(sums->size + c) * unit(state);
    worst = e > worst || isnan(e) ? e : worst;
  }
  arb_clear(w);
  arb_clear(x);
  return worst;
}

double kernel_fixture_state_error(const kernel_fixture *f) {
  double worst = 0;
  for (int64_t s = 0; s < problem_slice_count(f->problem);
       s += f->problem->heads_q / f->problem->heads_k) {
    plain p;
    plain_init(&p, f, s);
    plain_sums sums = {.dv = p.slice.dv};
    sums.sum = _arb_vec_init(p.slice.dv + 1);
    sums.size = _arb_vec_init(p.slice.dv + 1);
    taylor_basis *basis = basis_of(&p);
    for (int64_t b = 0; b < f->problem->state_rows; b += 1 + f->problem->state_rows / 100) {
      double e = state_row_error(&p, &sums, basis, b, &p.slice.final_state);
      worst = e > worst || isnan(e) ? e : worst;
    }
    taylor_basis_close(basis);
    _arb_vec_clear(sums.sum, sums.dv + 1);
    _arb_vec_clear(sums.size, sums.dv + 1);
    plain_clear(&p);
  }
  return worst;
}
