/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The conditioning of a row: A = sum p |v| and S = sum t |dx/dy| of out, |lse| and sum p t of lse,
 * in the ball tier and in both passes of the double tier, against values computed by hand and
 * against finite differences of 400 bits. */
#include <math.h>

#include "../../src/softmax/softmax.h"
#include "fixture.h"

enum { PREC = 200 };

/* ---- what the tiers say of one row ---- */

static void one_row(room_cells *out, room_cells *lse, double *numbers, unsigned char *classes,
                    int64_t dv) {
  for (int output = 0; output < 2; output++) {
    room_cells *o = output ? lse : out;
    double **fields[] = {&o->x, &o->radius, &o->a_lo, &o->a_hi, &o->s_lo, &o->s_hi};
    for (int i = 0; i < 6; i++)
      *fields[i] = numbers + i * (dv + 1) + output * dv;
    o->class = classes + output * dv;
    o->width = output ? 1 : dv;
  }
}

static void between(const char *name, const char *what, const arb_t x, double lo, double hi) {
  ck_assert_msg(enclosure_upper(x) >= lo && enclosure_lower(x) <= hi,
                "%s: %s = %.17g outside "
                "[%.17g, %.17g]",
                name, what, enclosure_upper(x), lo, hi);
}

/* The double tier holds the balls of A and S; the second pass knows S of out almost exactly. */
static void double_tier_agrees(const char *name, const attest_problem *problem,
                               const problem_slice *slice, int64_t row, const room_balls *out,
                               const room_balls *lse) {
  unsigned want = WANT_OUT | WANT_LSE | WANT_CONDITION;
  int64_t dv = slice->dv;
  double *numbers = calloc((size_t)(8 * (dv + 1)), sizeof *numbers);
  double *s_lo = numbers + 6 * (dv + 1), *s_hi = s_lo + dv;
  unsigned char *classes = calloc((size_t)dv + 1, 1);
  double reach;
  room_block b = {.row = row, .rows = 1, .reach = &reach};
  void *work;
  attest_error error;
  one_row(&b.out, &b.lse, numbers, classes, dv);
  ck_assert_int_eq(softmax_enclose_open(&work, problem, slice, want, &error), ATTEST_OK);
  softmax_enclose_rows(&b, work, want);
  softmax_sensitivity(s_lo, s_hi, b.out.x, b.out.radius, work, row);
  softmax_enclose_close(work);
  between(name, "A of lse", lse->a, b.lse.a_lo[0], b.lse.a_hi[0]);
  between(name, "S of lse", lse->s, b.lse.s_lo[0], b.lse.s_hi[0]);
  for (int64_t c = 0; c < dv; c++) {
    double size = fabs(b.out.x[c]) + b.out.a_hi[c];
    between(name, "A", out->a + c, b.out.a_lo[c], b.out.a_hi[c]);
    between(name, "S by the first pass", out->s + c, b.out.s_lo[c], b.out.s_hi[c]);
    between(name, "S by the second pass", out->s + c, s_lo[c], s_hi[c]);
    ck_assert_msg(s_hi[c] - s_lo[c] <= 0x1p-36 * (1 + reach) * size + 0x1p-80,
                  "%s: S by the second pass in [%.17g, %.17g]", name, s_lo[c], s_hi[c]);
  }
  free(numbers);
  free(classes);
}

/* ---- values computed by hand ---- */

/* One query, repeated where the row is not 0, keys of two components, values of one. Scores are of
 * scale 1 unless the parameters say otherwise. The values wanted have 50 digits (mpmath) or are
 * exact. */
typedef struct {
  const char *name, *params[5];
  int64_t row, nk;
  double q[2], k[8], v[4];
  const double *bias, *mask, *slope, *sink;
  const char *a, *s, *lse_a, *lse_s;
} hand_case;

static const hand_case hand_cases[] = {
    /* Both scores are 1, p = 1/2, t = 5 and 1: x = 4, S = (5 |2 - 4| + 1 |6 - 4|) / 2. */
    {.name = "two equal scores",
     .nk = 2,
     .q = {1, 1},
     .k = {3, -2, 1, 0},
     .v = {2, 6},
     .a = "4",
     .s = "6",
     .lse_a = "1.6931471805599453094172321214581765680755001343603",
     .lse_s = "3"},
    /* All scores are 0, t = 2j: x = 3, S = (2*2 + 4*1 + 6*0 + 8*3) / 4; lse = ln 4. A softcap
     * changes nothing: cap(0) = 0, sech(0) = 1. */
    {.name = "four scores of 0 under a softcap",
     .params = {"softcap", "3"},
     .nk = 4,
     .q = {1, 1},
     .k = {1, -1, 2, -2, 3, -3, 4, -4},
     .v = {1, 2, 3, 6},
     .a = "3",
     .s = "8",
     .lse_a = "1.3862943611198906188344642429163531361510002687205",
     .lse_s = "5"},
    /* A scale of 0 leaves t = 0: A is the mean of |v|, S = 0. */
    {.name = "scale 0",
     .params = {"scale", "0"},
     .nk = 4,
     .q = {1, 1},
     .k = {1, -1, 2, 7, 3, 5, 4, -4},
     .v = {1, -2, 3, -6},
     .a = "3",
     .s = "0",
     .lse_a = "1.3862943611198906188344642429163531361510002687205",
     .lse_s = "0"},
    /* Scores 0 and 1, p = e / (1 + e) for the second: x = 1 + 2p, S = p |3 - x| = 2 p (1 - p) =
     * 2 e / (1 + e)^2, A = (1 + 3 e) / (1 + e); lse = ln(1 + e), S of lse = p. */
    {.name = "scores 0 and 1",
     .nk = 2,
     .q = {1, 0},
     .k = {0, 0, 1, 0},
     .v = {1, 3},
     .a = "2.4621171572600097585023184836436725487302892803301",
     .s = "0.39322386648296370507484946717181805124453457085463",
     .lse_a = "1.3132616875182228340489954949678556419152800856703",
     .lse_s = "0.73105857863000487925115924182183627436514464016506"},
    /* The same divided by 4: S = 2 (1/4) p (1 - p), p = 1 / (1 + e^-1/4). */
    {.name = "temperature 4",
     .params = {"temperature", "4"},
     .nk = 2,
     .q = {1, 0},
     .k = {0, 0, 1, 0},
     .v = {1, 3},
     .a = "2.1243530017715962080546472758058927076759187925153",
     .s = "0.12306704136879917379262597127872682138140841076108"},
    /* p = 1 / (1 + e^40) with t = 40: S = 40 p (1 - p). */
    {.name = "small weight, large t",
     .nk = 2,
     .q = {1, 0},
     .k = {0, 0, -40, 0},
     .v = {0, 1},
     .a = "4.2483542552915889772807209044045063714347627178862e-18",
     .s = "1.6993417021166355836928828103801419206665762475304e-16"},
    /* One key of score 1 and value 3, a sink of score -2, p = 1 / (1 + e^-3), r = 1 - p: x = 3 p,
     * S = p 1 (3 - x) + r 2 x = 9 p r; S of lse = p + 2 r. */
    {.name = "sink of its own score",
     .nk = 1,
     .q = {1, 0},
     .k = {1, 0},
     .v = {3},
     .sink = (const double[]){-2},
     .a = "2.8577223804672996573634555446847433958414617027382",
     .s = "0.40658993757820919384424025592086474195373957157741",
     .lse_a = "1.0485873515737420587589259198546899979418816428281",
     .lse_s = "1.0474258731775667808788481517717522013861794324206"},
    /* z = 1 and -3, y = 2 tanh(z / 2), t = |z| sech(z / 2)^2 + |y|: S = 3 p1 p2 (t1 + t2). */
    {.name = "softcap 2",
     .params = {"softcap", "2"},
     .nk = 2,
     .q = {1, 0},
     .k = {1, 0, -3, 0},
     .v = {1, 4},
     .a = "1.1828987786604582050357289940167709310067494909668",
     .s = "0.69782954112560485166287929129294027238658478946969",
     .lse_a = "0.98713818262153772151406845296056859244624419650654",
     .lse_s = "1.7498061920525965801582187549864925364296620808767"},
    /* The first case with two keys more that nobody sees. */
    {.name = "hidden keys",
     .nk = 4,
     .q = {1, 1},
     .k = {3, -2, 1e30, 3, 1, 0, 1e200, 5},
     .v = {2, 1e30, 6, -1e200},
     .mask = (const double[]){1, 0, 1, 1},
     .bias = (const double[]){0, 0, 0, -INFINITY},
     .a = "4",
     .s = "6",
     .lse_a = "1.6931471805599453094172321214581765680755001343603",
     .lse_s = "3"},
    /* Scores -2 + 2 and 3 - 3, t = 4 and 6: x = 2, S = (4 |1 - 2| + 6 |3 - 2|) / 2. */
    {.name = "bias",
     .nk = 2,
     .q = {1, 0},
     .k = {-2, 0, 3, 0},
     .v = {1, 3},
     .bias = (const double[]){2, -3},
     .a = "2",
     .s = "5",
     .lse_a = "0.69314718055994530941723212145817656807550013436026",
     .lse_s = "5"},
    /* Row 2, (j - 2) / 2 = -1, -1/2, 0 against products 1, 1/2, 0: t = 2, 1, 0, x = 3,
     * S = (2 |0 - 3| + 1 |3 - 3|) / 3. The fourth key is in the future. */
    {.name = "slope",
     .params = {"causal", "top-left"},
     .row = 2,
     .nk = 4,
     .q = {1, 0},
     .k = {1, 0, 0.5, 0, 0, 0, 9, 9},
     .v = {0, 3, 6, 1e9},
     .slope = (const double[]){0.5},
     .a = "3",
     .s = "2",
     .lse_a = "1.0986122886681096913952452369225257046474905578227",
     .lse_s = "1"},
};

static void give(attest_problem *problem, const char *name, attest_dtype dtype, const void *data,
                 int ndim, int64_t n0, int64_t n1, int64_t n2) {
  attest_error error;
  const int64_t shape[3] = {n0, n1, n2};
  attest_tensor t = attest_tensor_of((void *)data, dtype, ndim, shape);
  ck_assert_msg(attest_problem_input(problem, name, &t, &error) == ATTEST_OK, "%s: %s", name,
                error.message);
}

static attest_problem *hand_problem(const hand_case *h, double q[8], unsigned char mask[4]) {
  attest_error error;
  attest_problem *problem = attest_problem_new("softmax", &error);
  int is_scaled = h->params[0] && strcmp(h->params[0], "scale") == 0;
  if (!is_scaled) ck_assert_int_eq(attest_problem_set(problem, "scale", "1", &error), ATTEST_OK);
  for (int i = 0; h->params[i]; i += 2)
    ck_assert_int_eq(attest_problem_set(problem, h->params[i], h->params[i + 1], &error),
                     ATTEST_OK);
  for (int i = 0; i < 8; i++)
    q[i] = h->q[i % 2];
  give(problem, "q", ATTEST_FLOAT64, q, 3, 1, h->row + 1, 2);
  give(problem, "k", ATTEST_FLOAT64, h->k, 3, 1, h->nk, 2);
  give(problem, "v", ATTEST_FLOAT64, h->v, 3, 1, h->nk, 1);
  for (int j = 0; h->mask && j < h->nk; j++)
    mask[j] = h->mask[j] != 0;
  if (h->mask) give(problem, "mask", ATTEST_BOOL, mask, 2, 1, h->nk, 0);
  if (h->bias) give(problem, "bias", ATTEST_FLOAT64, h->bias, 2, 1, h->nk, 0);
  if (h->slope) give(problem, "alibi-slopes", ATTEST_FLOAT64, h->slope, 1, 1, 0, 0);
  if (h->sink) give(problem, "sinks", ATTEST_FLOAT64, h->sink, 1, 1, 0, 0);
  ck_assert_msg(problem_resolve(problem, &error) == ATTEST_OK, "%s", error.message);
  return problem;
}

/* x agrees with the text to 48 digits; NULL: nothing is known. */
static void is_value(const char *name, const char *what, const arb_t x, const char *text) {
  arb_t value, size;
  if (!text) return;
  arb_init(value);
  arb_init(size);
  arb_set_str(value, text, PREC);
  arb_abs(size, value);
  arb_sub(value, x, value, PREC);
  arb_mul_2exp_si(size, size, -160);
  arb_add_error(value, size);
  ck_assert_msg(arb_contains_zero(value) && mag_cmp_2exp_si(arb_radref(x), -150) <= 0,
                "%s: %s is not %s", name, what, text);
  arb_clear(value);
  arb_clear(size);
}

START_TEST(conditioning_agrees_with_hand_computation_in_all_tiers) {
  const hand_case *h = &hand_cases[_i];
  attest_error error;
  double q[8];
  unsigned char mask[4];
  attest_problem *problem = hand_problem(h, q, mask);
  problem_slice slice;
  room_balls out, lse;
  problem_slice_get(&slice, problem, 0);
  room_balls_init(&out, 1);
  room_balls_init(&lse, 1);
  ck_assert_int_eq(
      softmax_ball(&out, problem, &slice, h->row, OUTPUT_OUT, WANT_CONDITION, PREC, &error), 0);
  ck_assert_int_eq(
      softmax_ball(&lse, problem, &slice, h->row, OUTPUT_LSE, WANT_CONDITION, PREC, &error), 0);
  is_value(h->name, "A", out.a, h->a);
  is_value(h->name, "S", out.s, h->s);
  is_value(h->name, "A of lse", lse.a, h->lse_a);
  is_value(h->name, "S of lse", lse.s, h->lse_s);
  double_tier_agrees(h->name, problem, &slice, h->row, &out, &lse);
  room_balls_clear(&out);
  room_balls_clear(&lse);
  attest_problem_free(problem);
}
END_TEST

/* ---- finite differences ---- */

enum { FINE = 400, STEP = -120 }; /* bits; the step is 2^-120, so differences are good to 2^-240 */

/* The arguments of the exponential of one row, from the definition, with their absolute versions.
 */
typedef struct {
  int64_t n;    /* keys seen, and the sink */
  int64_t *key; /* -1: the sink */
  arb_ptr y, t;
} arguments;

static void real(arb_t x, const problem_real *r) {
  arb_set_fmpq(x, r->value, FINE);
  if (r->root) arb_sqrt(x, x, FINE);
  arb_mul_si(x, x, r->sign, FINE);
}

static void capped(arb_t y, const arb_t z, const arb_t cap) {
  arb_div(y, z, cap, FINE);
  arb_tanh(y, y, FINE);
  arb_mul(y, y, cap, FINE);
}

/* y = cap(z) and t = t |cap'(z)| + |cap(z)|, the derivative as a difference too. */
static void apply_cap(arb_t y, arb_t t, const arb_t z, const problem_real *softcap) {
  arb_t cap, up, down, h;
  arb_init(cap);
  arb_init(up);
  arb_init(down);
  arb_init(h);
  real(cap, softcap);
  arb_set_si(h, 1);
  arb_mul_2exp_si(h, h, STEP);
  arb_add(up, z, h, FINE);
  arb_sub(down, z, h, FINE);
  capped(up, up, cap);
  capped(down, down, cap);
  arb_sub(up, up, down, FINE);
  arb_mul_2exp_si(up, up, -STEP - 1);
  arb_abs(up, up);
  capped(y, z, cap);
  arb_mul(t, t, up, FINE);
  arb_abs(up, y);
  arb_add(t, t, up, FINE);
  arb_clear(cap);
  arb_clear(up);
  arb_clear(down);
  arb_clear(h);
}

/* Adds a term of a score. */
static void add_term(arb_t y, arb_t t, double term) {
  arb_t x;
  arb_init(x);
  arb_set_d(x, term);
  arb_add(y, y, x, FINE);
  arb_abs(x, x);
  arb_add(t, t, x, FINE);
  arb_clear(x);
}

static void argument(arb_t y, arb_t t, const attest_problem *problem, const problem_slice *slice,
                     int64_t row, int64_t j) {
  arb_t scale, z, term;
  arb_init(scale);
  arb_init(z);
  arb_init(term);
  real(scale, &problem->values.scale);
  arb_zero(t);
  for (int64_t a = 0; a < slice->d; a++) {
    arb_set_d(term, tensor_at(&slice->q, row * slice->q.stride[0] + a * slice->q.stride[1]));
    arb_mul(term, term, scale, FINE);
    arb_set_d(y, tensor_at(&slice->k, j * slice->k.stride[0] + a * slice->k.stride[1]));
    arb_mul(term, term, y, FINE);
    arb_add(z, z, term, FINE);
    arb_abs(term, term);
    arb_add(t, t, term, FINE);
  }
  arb_set(y, z);
  if (problem->values.has_softcap) apply_cap(y, t, z, &problem->values.softcap);
  if (slice->bias.data)
    add_term(y, t,
             tensor_at(&slice->bias, row * slice->bias.stride[0] + j * slice->bias.stride[1]));
  if (slice->has_slope) add_term(y, t, slice->slope * (double)(j - row - slice->offset));
  arb_clear(scale);
  arb_clear(z);
  arb_clear(term);
}

static void arguments_open(arguments *r, const attest_problem *problem, const problem_slice *slice,
                           int64_t row) {
  arb_t temperature;
  arb_init(temperature);
  real(temperature, &problem->values.temperature);
  r->n = 0;
  r->key = malloc((size_t)(slice->nk + 1) * sizeof *r->key);
  r->y = _arb_vec_init(slice->nk + 1);
  r->t = _arb_vec_init(slice->nk + 1);
  for (int64_t j = 0; j < slice->nk; j++) {
    if (!problem_visible(problem, slice, row, j)) continue;
    argument(r->y + r->n, r->t + r->n, problem, slice, row, j);
    r->key[r->n++] = j;
  }
  if (slice->has_sink) {
    add_term(r->y + r->n, r->t + r->n, slice->sink);
    r->key[r->n++] = -1;
  }
  _arb_vec_scalar_div(r->y, r->y, r->n, temperature, FINE);
  _arb_vec_scalar_div(r->t, r->t, r->n, temperature, FINE);
  arb_clear(temperature);
}

static void arguments_close(arguments *r, const problem_slice *slice) {
  free(r->key);
  _arb_vec_clear(r->y, slice->nk + 1);
  _arb_vec_clear(r->t, slice->nk + 1);
}

/* x[0 .. dv-1] = sum p v, x[dv] = log of the sum of exp, in the base of the problem. */
static void evaluate(arb_ptr x, const arguments *r, const attest_problem *problem,
                     const problem_slice *slice) {
  arb_t weight, sum, v;
  int64_t dv = slice->dv;
  arb_init(weight);
  arb_init(sum);
  arb_init(v);
  _arb_vec_zero(x, dv + 1);
  for (int64_t n = 0; n < r->n; n++) {
    int64_t j = r->key[n];
    arb_exp(weight, r->y + n, FINE);
    arb_add(sum, sum, weight, FINE);
    for (int64_t c = 0; c < dv && j >= 0; c++) {
      arb_set_d(v, tensor_at(&slice->v, j * slice->v.stride[0] + c * slice->v.stride[1]));
      arb_addmul(x + c, weight, v, FINE);
    }
  }
  _arb_vec_scalar_div(x, x, dv, sum, FINE);
  arb_log(x + dv, sum, FINE);
  if (problem->values.lse_base == 2) {
    arb_log_ui(sum, 2, FINE);
    arb_div(x + dv, x + dv, sum, FINE);
  }
  arb_clear(weight);
  arb_clear(sum);
  arb_clear(v);
}

/* s[c] = sum t_j |x_c(y + h e_j) - x_c(y - h e_j)| / 2h. */
static void differences(arb_ptr s, arguments *r, const attest_problem *problem,
                        const problem_slice *slice) {
  int64_t width = slice->dv + 1;
  arb_ptr up = _arb_vec_init(width), down = _arb_vec_init(width);
  arb_t h, y;
  arb_init(h);
  arb_init(y);
  arb_set_si(h, 1);
  arb_mul_2exp_si(h, h, STEP);
  _arb_vec_zero(s, width);
  for (int64_t n = 0; n < r->n; n++) {
    arb_set(y, r->y + n);
    arb_add(r->y + n, y, h, FINE);
    evaluate(up, r, problem, slice);
    arb_sub(r->y + n, y, h, FINE);
    evaluate(down, r, problem, slice);
    arb_set(r->y + n, y);
    for (int64_t c = 0; c < width; c++) {
      arb_sub(up + c, up + c, down + c, FINE);
      arb_mul_2exp_si(up + c, up + c, -STEP - 1);
      arb_abs(up + c, up + c);
      arb_addmul(s + c, up + c, r->t + n, FINE);
    }
  }
  arb_clear(h);
  arb_clear(y);
  _arb_vec_clear(up, width);
  _arb_vec_clear(down, width);
}

/* |s - expected| <= 2^-200 (the sizes of these problems are of order 1). */
static void is_near(const char *what, int problem, int64_t row, const arb_t s,
                    const arb_t expected) {
  arb_t off;
  arb_init(off);
  arb_sub(off, s, expected, FINE);
  double lo = fabs(enclosure_lower(off)), hi = fabs(enclosure_upper(off));
  ck_assert_msg(fmax(lo, hi) <= 0x1p-200, "problem %d, row %lld: %s is off by %g of %g", problem,
                (long long)row, what, fmax(lo, hi), enclosure_upper(expected));
  arb_clear(off);
}

static void compare_row(const attest_problem *problem, const problem_slice *slice, int64_t row,
                        int i) {
  attest_error error;
  arguments r;
  room_balls out, lse;
  arb_ptr s = _arb_vec_init(slice->dv + 1);
  room_balls_init(&out, slice->dv);
  room_balls_init(&lse, 1);
  ck_assert_int_eq(
      softmax_ball(&out, problem, slice, row, OUTPUT_OUT, WANT_CONDITION, FINE, &error), 0);
  ck_assert_int_eq(
      softmax_ball(&lse, problem, slice, row, OUTPUT_LSE, WANT_CONDITION, FINE, &error), 0);
  arguments_open(&r, problem, slice, row);
  if (r.n > 0) {
    differences(s, &r, problem, slice);
    for (int64_t c = 0; c < slice->dv; c++)
      is_near("S", i, row, out.s + c, s + c);
    is_near("S of lse", i, row, lse.s, s + slice->dv);
    double_tier_agrees("random", problem, slice, row, &out, &lse);
  }
  arguments_close(&r, slice);
  room_balls_clear(&out);
  room_balls_clear(&lse);
  _arb_vec_clear(s, slice->dv + 1);
}

/* Every combination of features once. */
START_TEST(sensitivity_is_the_sum_of_the_derivatives) {
  uint64_t seed = tests_seed();
  for (int i = 0; i < 256; i++) {
    int n = 0;
    fixture f;
    fixture_spec s = {.heads_q = 2, .heads_k = 1, .nq = 2, .dtype = ATTEST_FLOAT32};
    s.nk = 1 + (int64_t)(tests_random(&seed) % 9);
    s.d = 1 + (int64_t)(tests_random(&seed) % 5);
    s.dv = 1 + (int64_t)(tests_random(&seed) % 3);
    s.bias = i & 1;
    s.slopes = i >> 1 & 1;
    s.sinks = i >> 2 & 1;
    s.mask = i >> 3 & 1;
    static const char *const optional[4][2] = {
        {"softcap", "5/2"}, {"temperature", "0.7"}, {"lse-base", "2"}, {"causal", "bottom-right"}};
    for (int o = 0; o < 4; o++)
      for (int part = 0; part < 2 && i >> (4 + o) & 1; part++)
        s.params[n++] = optional[o][part];
    s.params[n++] = "scale";
    s.params[n++] = i % 3 ? "sqrt(1/3)" : "-1/2";
    fixture_open(&f, &s, &seed);
    for (int64_t at = 0; at < problem_slice_count(f.problem); at++) {
      problem_slice slice;
      problem_slice_get(&slice, f.problem, at);
      for (int64_t row = 0; row < slice.nq; row++)
        compare_row(f.problem, &slice, row, i);
    }
    fixture_close(&f);
  }
}
END_TEST

void test_sensitivity(Suite *suite) {
  TCase *tc = tcase_create("sensitivity");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, conditioning_agrees_with_hand_computation_in_all_tiers, 0,
                      sizeof hand_cases / sizeof *hand_cases);
  tcase_add_test(tc, sensitivity_is_the_sum_of_the_derivatives);
  suite_add_tcase(suite, tc);
}
