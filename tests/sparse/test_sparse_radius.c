/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The double tier of the sparse kernels contains what balls of 300 bits know: x within its radius,
 * A and S within their bounds, at every edge up to that of the block. */
#include <math.h>

#include "../../src/sparse/sparse.h"
#include "fixture_sparse.h"

enum { PREC = 300, ELEMENTS = 100000 };

typedef struct {
  room_block block;
  double *numbers, reach;
  unsigned char *classes;
} one_row;

static void one_row_init(one_row *r, int64_t dv) {
  memset(r, 0, sizeof *r);
  r->numbers = calloc((size_t)(12 * (dv + 1)), sizeof *r->numbers);
  r->classes = calloc((size_t)dv + 2, 1);
  for (int output = 0; output < 2; output++) {
    room_cells *o = output ? &r->block.lse : &r->block.out;
    double **fields[] = {&o->x, &o->radius, &o->a_lo, &o->a_hi, &o->s_lo, &o->s_hi};
    for (int i = 0; i < 6; i++)
      *fields[i] = r->numbers + (i + 6 * output) * (dv + 1);
    o->class = r->classes + output * dv;
    o->width = output ? 1 : dv;
  }
  r->block.rows = 1;
  r->block.reach = &r->reach;
}

static void one_row_clear(one_row *r) {
  free(r->numbers);
  free(r->classes);
}

/* Whether every point of x may lie between the doubles. */
static int between(const arb_t x, double lo, double hi) {
  return enclosure_upper(x) >= lo && enclosure_lower(x) <= hi;
}

/* How good the radii are: elements, those that double leaves to balls, the largest error over its
 * radius, the largest radius in units of A + |x|. */
static struct {
  int64_t elements, unknown, loose_s;
  double used, width;
} quality;

static void compare_cells(const char *what, const room_cells *cells, const room_balls *balls,
                          int at_own_edge) {
  for (int64_t c = 0; c < cells->width; c++) {
    quality.elements += at_own_edge;
    if (!(cells->radius[c] < INFINITY)) {
      quality.unknown += at_own_edge;
      continue;
    }
    ck_assert_msg(cells->class[c] == balls->class[c], "%s, element %d: class %d, not %d", what,
                  (int)c, cells->class[c], balls -> class[c]);
    if (cells->class[c] != EXACT_FINITE) continue;
    arb_t off, size;
    arb_init(off);
    arb_init(size);
    arb_set_d(off, cells->x[c]);
    arb_sub(off, off, balls->x + c, PREC);
    arb_abs(off, off);
    ck_assert_msg(enclosure_lower(off) <= cells->radius[c],
                  "%s, element %d: %.17g is off by %g, more than the radius %g", what, (int)c,
                  cells->x[c], enclosure_upper(off), cells->radius[c]);
    if (cells->radius[c] > 0)
      quality.used = fmax(quality.used, enclosure_lower(off) / cells->radius[c]);
    double scale = cells->a_hi[c] + cells->s_hi[c];
    if (at_own_edge && scale < INFINITY && scale > 0x1p-900)
      quality.width = fmax(quality.width, cells->radius[c] / scale);
    ck_assert_msg(between(balls->a + c, cells->a_lo[c], cells->a_hi[c]),
                  "%s, element %d: A = %.17g outside [%.17g, %.17g]", what, (int)c,
                  enclosure_upper(balls->a + c), cells->a_lo[c], cells->a_hi[c]);
    ck_assert_msg(between(balls->s + c, cells->s_lo[c], cells->s_hi[c]),
                  "%s, element %d: S = %.17g outside [%.17g, %.17g]", what, (int)c,
                  enclosure_upper(balls->s + c), cells->s_lo[c], cells->s_hi[c]);
    quality.loose_s += !(cells->s_hi[c] <= cells->s_lo[c] * 1.01 + 1e-9 * cells->a_hi[c]);
    arb_clear(off);
    arb_clear(size);
  }
}

static void compare_row(const attest_problem *problem, const problem_slice *slice, void *work,
                        int64_t row, int edge_count, const char *what) {
  static const double edges[] = {0x1p-20, 0, 0x1p-49};
  unsigned want = WANT_OUT | WANT_CONDITION;
  int has_lse = strstr(problem->kernel->outputs, "lse") != NULL;
  attest_error error;
  one_row r;
  one_row_init(&r, slice->dv);
  r.block.row = row;
  r.block.edge = 0x1p-20;
  sparse_enclose_rows(&r.block, work, want | (has_lse ? WANT_LSE : 0));
  for (int i = 0; i < edge_count; i++)
    for (int output = OUTPUT_OUT; output <= (has_lse ? OUTPUT_LSE : OUTPUT_OUT); output++) {
      room_balls balls;
      room_balls_init(&balls, output == OUTPUT_OUT ? slice->dv : 1);
      balls.edge = edges[i];
      ck_assert_int_eq(
          sparse_ball(&balls, problem, slice, row, output, WANT_CONDITION, PREC, &error),
          ATTEST_OK);
      compare_cells(what, output == OUTPUT_OUT ? &r.block.out : &r.block.lse, &balls, i == 0);
      room_balls_clear(&balls);
    }
  one_row_clear(&r);
}

/* At the edge of the block and, of every fourth problem, below it. */
static void compare_problem(const attest_problem *problem, int n, const char *what) {
  attest_error error;
  for (int64_t at = 0; at < problem_slice_count(problem); at++) {
    problem_slice slice;
    void *work;
    problem_slice_get(&slice, problem, at);
    ck_assert_int_eq(sparse_enclose_open(&work, problem, &slice, WANT_OUT, &error), ATTEST_OK);
    for (int64_t row = 0; row < slice.nq && row < 4; row++)
      compare_row(problem, &slice, work, row, n % 4 ? 1 : 3, what);
    sparse_enclose_close(work);
  }
}

START_TEST(double_contains_balls) {
  uint64_t seed = tests_seed() * 977 + (uint64_t)_i;
  memset(&quality, 0, sizeof quality);
  for (int n = 0; quality.elements < tests_trials(ELEMENTS); n++) {
    fixture_spec s;
    fixture f;
    char what[512];
    fixture_draw_sparse(&s, _i, &seed);
    if (s.nk > 100) s.nk /= 4;
    if (n % 2) s.dv = 48; /* many elements a row */
    int used = snprintf(what, sizeof what, "%s %d, data %d", s.kernel, n, (int)s.data);
    for (int i = 0; s.params[i]; i++)
      used += snprintf(what + used, sizeof what - (size_t)used, " %s", s.params[i]);
    fixture_open(&f, &s, &seed);
    compare_problem(f.problem, n, what);
    fixture_close(&f);
  }
  printf("%-13s %6lld elements, %4lld left to balls, %4lld with loose S; error/radius <= %.3f, "
         "radius <= %.1f u (A + S)\n",
         sparse_rooms[_i].name, (long long)quality.elements, (long long)quality.unknown,
         (long long)quality.loose_s, quality.used, quality.width * 0x1p53);
}
END_TEST

/* Parameters among the subnormals, of which the theorems do not speak, and those beside them. */
static const struct {
  const char *kernel, *param, *value;
  int is_served;
} least_parameters[] = {
    {"gaussian", "bandwidth", "0x1p537", 0},       {"gaussian", "bandwidth", "0x1p401", 0},
    {"gaussian", "bandwidth", "0x1p399", 1},       {"epanechnikov", "bandwidth", "0x1p537", 1},
    {"sparsemax", "scale", "7e-324", 0},           {"sparsemax", "scale", "-1e-400", 0},
    {"sparsemax", "scale", "0x1p-1074", 1},        {"sparsemax", "scale", "0", 1},
    {"relumax", "scale", "0x1.00000008p-1046", 0}, {"normrelu", "scale", "1e-300", 1},
};

START_TEST(parameters_among_the_subnormals_are_left_to_balls) {
  const float scores[] = {1, 2, 3};
  const char *params[] = {least_parameters[_i].param, least_parameters[_i].value, NULL};
  int is_scale = !strcmp(params[0], "scale");
  fixture_row row;
  problem_slice slice;
  attest_error error;
  void *work;
  one_row r;
  one_row_init(&r, 2);
  fixture_row_open(&row, least_parameters[_i].kernel, is_scale ? NULL : params, scores, 3, 2);
  if (is_scale) ck_assert_int_eq(problem_real_parse(&row.problem->values.scale, params[1]), 0);
  problem_slice_get(&slice, row.problem, 0);
  ck_assert_int_eq(sparse_enclose_open(&work, row.problem, &slice, WANT_OUT, &error), ATTEST_OK);
  sparse_enclose_rows(&r.block, work, WANT_OUT);
  ck_assert_int_eq(r.block.out.radius[0] < INFINITY, least_parameters[_i].is_served);
  ck_assert_int_eq(r.block.out.radius[1] < INFINITY, least_parameters[_i].is_served);
  sparse_enclose_close(work);
  fixture_row_close(&row);
  one_row_clear(&r);
}
END_TEST

void test_sparse_radius(Suite *suite) {
  TCase *tc = tcase_create("sparse_radius");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, double_contains_balls, 0, SPARSE_KERNELS);
  tcase_add_loop_test(tc, parameters_among_the_subnormals_are_left_to_balls, 0,
                      sizeof least_parameters / sizeof *least_parameters);
  suite_add_tcase(suite, tc);
}
