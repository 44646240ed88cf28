/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double tier and the a-priori bound on the tensors of a real model (data/stories260k, every
 * layer, head and row) and on Gaussian rows. The ball tier, by blocked exact products at 128 bits,
 * is the independent route. */
#include <math.h>

#include "../../src/softmax/softmax.h"
#include "../tests.h"

/* ---- problems ---- */

enum { LAYERS = 5, FILES = 5 };
static const char *const file_names[FILES] = {"q", "k", "v", "q_norope", "k_norope"};

typedef struct {
  tensor_file *file[FILES];
  attest_problem *layer[LAYERS + 1]; /* the last: layer 0 before RoPE, full of duplicate keys */
} real_data;

static void give(attest_problem *problem, const char *name, const attest_tensor *t) {
  attest_error error;
  ck_assert_msg(attest_problem_input(problem, name, t, &error) == ATTEST_OK, "%s", error.message);
}

/* Layer `layer` of q, k or v, by the axes (layer, head, position, component). */
static void give_layer(attest_problem *problem, const char *name, const tensor_file *file,
                       int64_t layer) {
  const attest_tensor *t = tensor_file_tensor(file, 0);
  attest_tensor view = *t;
  ck_assert_msg(t->ndim == 4 && t->shape[0] == LAYERS, "%s: four axes, %d layers are wanted",
                tensor_file_path(file), LAYERS);
  view.data = (char *)t->data + layer * t->stride[0] * (int64_t)tensor_dtype_size(t->dtype);
  view.ndim = 3;
  for (int i = 0; i < 3; i++) {
    view.shape[i] = t->shape[i + 1];
    view.stride[i] = t->stride[i + 1];
  }
  give(problem, name, &view);
}

static void real_open(real_data *data) {
  attest_error error;
  for (int i = 0; i < FILES; i++) {
    char path[64];
    snprintf(path, sizeof path, "data/stories260k/%s.npy", file_names[i]);
    ck_assert_msg(tensor_file_open(&data->file[i], path, 0, &error) == ATTEST_OK,
                  "%s; run the tests from the root of the project", error.message);
  }
  for (int i = 0; i <= LAYERS; i++) {
    int bare = i == LAYERS;
    attest_problem *problem = data->layer[i] = attest_problem_new("softmax", &error);
    ck_assert_int_eq(attest_problem_set(problem, "causal", "top-left", &error), ATTEST_OK);
    give_layer(problem, "q", data->file[bare ? 3 : 0], bare ? 0 : i);
    give_layer(problem, "k", data->file[bare ? 4 : 1], bare ? 0 : i);
    give_layer(problem, "v", data->file[2], bare ? 0 : i);
    ck_assert_msg(problem_resolve(problem, &error) == ATTEST_OK, "%s", error.message);
  }
}

static void real_close(real_data *data) {
  for (int i = 0; i <= LAYERS; i++)
    attest_problem_free(data->layer[i]);
  for (int i = 0; i < FILES; i++)
    tensor_file_close(data->file[i]);
}

/* ---- what the double tier says of a slice ---- */

typedef struct {
  room_block block;
  double *numbers;
  unsigned char *classes;
} cells;

static attest_status cells_open(cells *c, const attest_problem *problem, const problem_slice *slice,
                                const room_machine *machine, attest_error *error) {
  int64_t rows = slice->nq, n = rows * (slice->dv + 1);
  unsigned want = WANT_OUT | WANT_LSE | WANT_CONDITION | (machine ? WANT_THEORY : 0);
  memset(c, 0, sizeof *c);
  c->numbers = calloc((size_t)(7 * n), sizeof(double));
  c->classes = calloc((size_t)n, 1);
  if (!c->numbers || !c->classes) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (int output = 0; output < 2; output++) {
    room_cells *o = output ? &c->block.lse : &c->block.out;
    double **fields[] = {&o->x, &o->radius, &o->a_lo, &o->a_hi, &o->s_lo, &o->s_hi, &o->theory};
    for (int i = 0; i < 7; i++)
      *fields[i] = c->numbers + i * n + output * rows * slice->dv;
    o->class = c->classes + output * rows * slice->dv;
    o->width = output ? 1 : slice->dv;
  }
  c->block.rows = rows;
  c->block.machine = machine;
  void *work;
  attest_status status = softmax_enclose_open(&work, problem, slice, want, error);
  if (status) return status;
  softmax_enclose_rows(&c->block, work, want);
  softmax_enclose_close(work);
  return ATTEST_OK;
}

static void cells_close(cells *c) {
  free(c->numbers);
  free(c->classes);
}

/* ---- containment and tightness ---- */

typedef struct {
  int64_t elements, conditions, outside, wide, troubles;
  double worst[2], widest; /* largest error / radius of out and lse, radius / allowed */
  char first[640];         /* of the failures */
} tally;

static void note(tally *t, const problem_slice *slice, const char *what, int64_t element,
                 double value) {
  if (t->outside + t->wide + t->troubles == 1)
    snprintf(t->first, sizeof t->first, "slice %lld, %s %lld: %g", (long long)slice->index, what,
             (long long)element, value);
}

/* Largest |y - mid| over y in x, relative to the radius. */
static double position(const arb_t x, double mid, double radius) {
  arb_t distance;
  arb_init(distance);
  arb_set_d(distance, mid);
  arb_sub(distance, x, distance, 256);
  double error = fmax(fabs(enclosure_upper(distance)), fabs(enclosure_lower(distance)));
  arb_clear(distance);
  return error == 0 ? 0 : error / radius;
}

static void contains(tally *t, const problem_slice *slice, int output, arb_srcptr x,
                     const room_cells *c, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    double p = position(x + i, c->x[i], c->radius[i]);
    t->elements++;
    t->worst[output] = fmax(t->worst[output], p);
    if (p <= 1 && c->class[i] == EXACT_FINITE) continue;
    t->outside++;
    note(t, slice, output ? "error / radius of lse" : "error / radius of out", i, p);
  }
}

/* radius <= 2^-42 (1 + sum p t) sum p |v|, the right side from below; sum p t is the S of lse. */
static void is_tight(tally *t, const problem_slice *slice, const room_block *b) {
  for (int64_t i = 0; i < b->rows * slice->dv; i++) {
    double size = (1 + b->lse.s_lo[i / slice->dv]) * b->out.a_lo[i];
    double quotient = b->out.radius[i] / (0x1p-42 * size);
    t->widest = fmax(t->widest, quotient);
    if (quotient <= 1) continue;
    t->wide++;
    note(t, slice, "radius / allowed of out", i, quotient);
  }
}

static void lies_between(tally *t, const problem_slice *slice, const char *what, int64_t row,
                         const arb_t x, double lo, double hi) {
  t->conditions++;
  if (enclosure_upper(x) >= lo && enclosure_lower(x) <= hi) return;
  t->outside++;
  note(t, slice, what, row, enclosure_upper(x));
}

/* A and S of one row of out, by both passes, and of lse. */
static attest_status condition_of_row(tally *t, const attest_problem *problem,
                                      const problem_slice *slice, const void *work,
                                      const room_block *b, int64_t row, attest_error *error) {
  int64_t dv = slice->dv, first = row * dv;
  double *s_lo = calloc((size_t)(2 * dv), sizeof *s_lo), *s_hi = s_lo + dv;
  room_balls out, lse;
  room_balls_init(&out, dv);
  room_balls_init(&lse, 1);
  attest_status status =
      softmax_ball(&out, problem, slice, row, OUTPUT_OUT, WANT_CONDITION, 128, error);
  if (!status)
    status = softmax_ball(&lse, problem, slice, row, OUTPUT_LSE, WANT_CONDITION, 128, error);
  softmax_sensitivity(s_lo, s_hi, b->out.x + first, b->out.radius + first, work, row);
  for (int64_t c = 0; c < dv && !status; c++) {
    lies_between(t, slice, "A of row", row, out.a + c, b->out.a_lo[first + c],
                 b->out.a_hi[first + c]);
    lies_between(t, slice, "S of row", row, out.s + c, b->out.s_lo[first + c],
                 b->out.s_hi[first + c]);
    lies_between(t, slice, "S, second pass, of row", row, out.s + c, s_lo[c], s_hi[c]);
  }
  lies_between(t, slice, "A of lse, row", row, lse.a, b->lse.a_lo[row], b->lse.a_hi[row]);
  lies_between(t, slice, "S of lse, row", row, lse.s, b->lse.s_lo[row], b->lse.s_hi[row]);
  room_balls_clear(&out);
  room_balls_clear(&lse);
  free(s_lo);
  return status;
}

/* A and S of every 16th row: the ball tier has them only row by row. */
static attest_status compare_condition(tally *t, const attest_problem *problem,
                                       const problem_slice *slice, const room_block *b,
                                       attest_error *error) {
  void *work;
  attest_status status = softmax_enclose_open(&work, problem, slice, WANT_CONDITION, error);
  if (status) return status;
  for (int64_t row = slice->head; row < slice->nq && !status; row += 16)
    status = condition_of_row(t, problem, slice, work, b, row, error);
  softmax_enclose_close(work);
  return status;
}

static void compare_slice(tally *t, const attest_problem *problem, int64_t index) {
  attest_error error;
  problem_slice slice;
  cells c;
  problem_slice_get(&slice, problem, index);
  int64_t n = slice.nq * slice.dv;
  arb_ptr out = _arb_vec_init(n), lse = _arb_vec_init(slice.nq);
  attest_status status = cells_open(&c, problem, &slice, NULL, &error);
  if (!status)
    status = softmax_ball_rows(out, lse, NULL, NULL, problem, &slice, 0, slice.nq, 128, &error);
  if (!status) status = compare_condition(t, problem, &slice, &c.block, &error);
  if (status) {
    t->troubles++;
    note(t, &slice, error.message, 0, 0);
  } else {
    contains(t, &slice, 0, out, &c.block.out, n);
    contains(t, &slice, 1, lse, &c.block.lse, slice.nq);
    is_tight(t, &slice, &c.block);
  }
  cells_close(&c);
  _arb_vec_clear(out, n);
  _arb_vec_clear(lse, slice.nq);
}

static void merge(tally *sum, const tally *t) {
  if (!*sum->first) memcpy(sum->first, t->first, sizeof sum->first);
  sum->elements += t->elements;
  sum->conditions += t->conditions;
  sum->outside += t->outside;
  sum->wide += t->wide;
  sum->troubles += t->troubles;
  for (int i = 0; i < 2; i++)
    sum->worst[i] = fmax(sum->worst[i], t->worst[i]);
  sum->widest = fmax(sum->widest, t->widest);
}

/* Slices of all layers side by side; FLINT's caches belong to a thread. */
static tally compare_layers(const real_data *data) {
  tally sum = {0};
  int64_t heads = problem_slice_count(data->layer[0]);
#pragma omp parallel
  {
    tally mine = {0};
#pragma omp for schedule(dynamic)
    for (int64_t i = 0; i < (LAYERS + 1) * heads; i++)
      compare_slice(&mine, data->layer[i / heads], i % heads);
#pragma omp critical
    merge(&sum, &mine);
    flint_cleanup();
  }
  return sum;
}

START_TEST(double_enclosure_holds_the_exact_value_on_all_real_rows_and_is_tight) {
  real_data data;
  real_open(&data);
  tally t = compare_layers(&data);
  printf("real rows: %lld elements, %lld bounds on A and S; largest error/radius of out %.4f, of "
         "lse %.4f; largest radius "
         "/ (2^-42 (1 + sum p "
         "t) sum p|v|) %.4f\n",
         (long long)t.elements, (long long)t.conditions, t.worst[0], t.worst[1], t.widest);
  ck_assert_msg(t.troubles == 0 && t.outside == 0 && t.wide == 0,
                "%lld outside, %lld too wide, %lld troubles; first: %s", (long long)t.outside,
                (long long)t.wide, (long long)t.troubles, t.first);
  ck_assert_int_gt(t.elements, 100000);
  ck_assert_int_gt(t.conditions, 20000);
  ck_assert_double_gt(t.worst[0], 0.001);
  ck_assert_double_gt(t.worst[1], 0.001);
  real_close(&data);
}
END_TEST

/* ---- the a-priori bound of the built-in kernel ---- */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* How the bound of one output lies to the error of the built-in float32 kernel. */
typedef struct {
  double *quotient; /* bound / |got - x|, ascending; infinite where got is exact */
  int64_t count;
  double largest_bound, largest_error;
} fit;

static void fit_add(fit *f, const room_cells *c, const float *got, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    double off = fabs((double)got[i] - c->x[i]);
    if (off > 0) off += c->radius[i];
    f->quotient[f->count++] = off > 0 ? c->theory[i] / off : INFINITY;
    f->largest_bound = fmax(f->largest_bound, c->theory[i]);
    f->largest_error = fmax(f->largest_error, off);
  }
}

static double fit_median(const fit *f) {
  return f->quotient[f->count / 2];
}

/* out and lse of all slices; the bound is never below the error. The caller frees the quotients. */
static void fit_kernel(fit f[2], const char *what, const attest_problem *problem) {
  attest_error error;
  int64_t heads = problem->heads_q, nq = problem->nq, n = nq * problem->dv;
  float *out = calloc((size_t)(heads * (n + nq)), sizeof *out), *lse = out + heads * n;
  attest_tensor o = attest_tensor_of(out, ATTEST_FLOAT32, 3, (int64_t[]){heads, nq, problem->dv});
  attest_tensor l = attest_tensor_of(lse, ATTEST_FLOAT32, 2, (int64_t[]){heads, nq});
  room_machine machine = softmax_machine(ATTEST_FLOAT32);
  ck_assert_int_eq(softmax_kernel(&o, &l, problem, &error), ATTEST_OK);
  f[0] = (fit){.quotient = calloc((size_t)(heads * n), sizeof(double))};
  f[1] = (fit){.quotient = calloc((size_t)(heads * nq), sizeof(double))};
  for (int64_t h = 0; h < heads; h++) {
    problem_slice slice;
    cells c;
    problem_slice_get(&slice, problem, h);
    ck_assert_int_eq(cells_open(&c, problem, &slice, &machine, &error), ATTEST_OK);
    fit_add(&f[0], &c.block.out, out + h * n, n);
    fit_add(&f[1], &c.block.lse, lse + h * nq, nq);
    cells_close(&c);
  }
  free(out);
  for (int i = 0; i < 2; i++) {
    qsort(f[i].quotient, (size_t)f[i].count, sizeof(double), ascending);
    printf("%s, %s: bound / error of the float32 kernel at least %.2f, median %.1f; largest bound "
           "/ largest error %.1f\n",
           what, i ? "lse" : "out", f[i].quotient[0], fit_median(&f[i]),
           f[i].largest_bound / f[i].largest_error);
    ck_assert_double_ge(f[i].quotient[0], 1);
  }
}

static void fit_free(fit f[2]) {
  free(f[0].quotient);
  free(f[1].quotient);
}

START_TEST(bound_is_above_the_error_and_for_half_of_the_real_elements_at_most_64_times_it) {
  real_data data;
  fit f[2];
  real_open(&data);
  for (int i = 0; i <= LAYERS; i++) {
    char what[64];
    snprintf(what, sizeof what, i < LAYERS ? "layer %d" : "layer 0 before RoPE", i);
    fit_kernel(f, what, data.layer[i]);
    ck_assert_double_le(fit_median(&f[0]), 64);
    ck_assert_double_le(fit_median(&f[1]), 64);
    fit_free(f);
  }
  real_close(&data);
}
END_TEST

/* One head of n queries, keys and values of 64 normal components. */
static void gaussian_head(attest_problem **problem, float *x, int64_t n) {
  static const char *const names[3] = {"q", "k", "v"};
  attest_error error;
  uint64_t seed = tests_seed();
  *problem = attest_problem_new("softmax", &error);
  for (int64_t i = 0; i < 3 * n * 64; i++) {
    double u = tests_uniform(&seed), v = tests_uniform(&seed);
    x[i] = (float)(sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v));
  }
  for (int i = 0; i < 3; i++) {
    attest_tensor t = attest_tensor_of(x + i * n * 64, ATTEST_FLOAT32, 3, (int64_t[]){1, n, 64});
    give(*problem, names[i], &t);
  }
  ck_assert_msg(problem_resolve(*problem, &error) == ATTEST_OK, "%s", error.message);
}

/* Where hundreds of keys weigh alike, errors of as many signs cancel in out, which no bound may
 * count on: element by element the quotient grows as the square root of the number of keys. So
 * here the largest bound is held against the largest error. lse is mostly off by its last
 * rounding. */
START_TEST(bound_is_above_the_error_and_near_the_largest_one_on_gaussian_rows) {
  float *x = calloc(3 * 2048 * 64, sizeof *x);
  for (int64_t n = 512; n <= 2048; n *= 4) {
    attest_problem *problem;
    char what[32];
    fit f[2];
    gaussian_head(&problem, x, n);
    snprintf(what, sizeof what, "Gaussian, N = %d", (int)n);
    fit_kernel(f, what, problem);
    ck_assert_double_le(f[0].largest_bound / f[0].largest_error, 64);
    ck_assert_double_le(fit_median(&f[1]), 64);
    fit_free(f);
    attest_problem_free(problem);
  }
  free(x);
}
END_TEST

void test_real_rows(Suite *suite) {
  TCase *tc = tcase_create("real rows");
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, double_enclosure_holds_the_exact_value_on_all_real_rows_and_is_tight);
  tcase_add_test(tc,
                 bound_is_above_the_error_and_for_half_of_the_real_elements_at_most_64_times_it);
  tcase_add_test(tc, bound_is_above_the_error_and_near_the_largest_one_on_gaussian_rows);
  suite_add_tcase(suite, tc);
}
