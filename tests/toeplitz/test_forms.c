/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The fast forms through the certifier: what they return meets their a-priori bound, which contains
 * the sums of the definition, and outputs that are wrong in one place do not. */
#include <math.h>

#include "fixture_positions.h"

typedef struct {
  const char *kernel, *form, *causal, *scale;
  int64_t n, d, coefficients;
  positions_weights weights;
} form_case;

static const form_case form_cases[] = {
    {"toeplitz", "direct", NULL, "1/8", 61, 3, 0, WEIGHTS_DENSE},
    {"toeplitz", "direct", "top-left", "1/4", 300, 2, 7, WEIGHTS_SPARSE},
    {"rope-linear", "direct", "top-left", "1/4", 120, 4, 0, WEIGHTS_DENSE},
    {"rope-linear", "direct", NULL, "1/4", 70, 2, 7, WEIGHTS_DENSE},
    {"toeplitz", "fft", NULL, "1/8", 61, 2, 0, WEIGHTS_DENSE},
    {"toeplitz", "fft", "top-left", "-1/8", 90, 2, 0, WEIGHTS_SPARSE},
    {"toeplitz", "fft", "top-left", "1/4", 80, 2, 7, WEIGHTS_DENSE},
    {"toeplitz", "fft", NULL, "1", 33, 1, 0, WEIGHTS_DENSE},
    {"toeplitz", "fft", "top-left", "1", 1, 2, 0, WEIGHTS_DENSE},
    {"toeplitz", "fft", "top-left", "1", 40, 2, 0, WEIGHTS_ZERO},
    {"toeplitz", "blocked", "top-left", "1/8", 150, 2, 0, WEIGHTS_SPARSE},
    {"toeplitz", "blocked", "top-left", "1/4", 201, 2, 6, WEIGHTS_DENSE},
    {"rope-linear", "fft", NULL, "1/4", 70, 2, 7, WEIGHTS_DENSE},
    {"rope-linear", "fft", "top-left", "1/8", 40, 4, 4, WEIGHTS_DENSE},
    {"rope-linear", "blocked", "top-left", "1/4", 140, 2, 6, WEIGHTS_DENSE},
    {"rope-softmax", "fft", "top-left", "1/8", 70, 2, 0, WEIGHTS_DENSE},
    {"rope-softmax", "blocked", "top-left", "1/8", 130, 2, 0, WEIGHTS_DENSE},
    {"rope-softmax", "low-rank", NULL, "1/8", 70, 4, 0, WEIGHTS_DENSE},
    {"rope-softmax", "low-rank", "top-left", "1/8", 150, 2, 0, WEIGHTS_DENSE},
};
enum { FORM_CASES = sizeof form_cases / sizeof *form_cases, DV = 4, DRAWS = 3 };

static void open_case(positions *p, const form_case *c, uint64_t *seed) {
  positions_spec s = {.kernel = c->kernel,
                      .heads_q = 1,
                      .heads_k = 1,
                      .nq = c->n,
                      .nk = c->n,
                      .d = c->d,
                      .dv = DV,
                      .dtype = ATTEST_FLOAT32,
                      .size = 1,
                      .weights = c->weights,
                      .coefficients = c->coefficients};
  int n = 0;
  s.params[n++] = "form";
  s.params[n++] = c->form;
  s.params[n++] = "scale";
  s.params[n++] = c->scale;
  if (c->causal) {
    s.params[n++] = "causal";
    s.params[n++] = c->causal;
  }
  positions_open(p, &s, seed);
}

/* What the double tier says of all rows for the machine of the output's format. */
typedef struct {
  room_block block;
  double *memory;
  unsigned char *class;
} bounds;

static void bounds_open(bounds *b, const positions *p, const problem_slice *slice,
                        const room_machine *machine) {
  attest_error error;
  void *work;
  const problem_room *room = certify_room(p->problem->kernel->name);
  int64_t n = slice->nq * slice->dv;
  b->memory = calloc((size_t)(3 * n), sizeof *b->memory);
  b->class = calloc((size_t)n, 1);
  b->block = (room_block){.rows = slice->nq,
                          .out = {.width = slice->dv,
                                  .x = b->memory,
                                  .radius = b->memory + n,
                                  .theory = b->memory + 2 * n,
                                  .class = b->class},
                          .machine = machine};
  ck_assert_msg(room->open(&work, p->problem, slice, WANT_OUT | WANT_THEORY, &error) == ATTEST_OK,
                "%s", error.message);
  room->rows(&b->block, work, WANT_OUT | WANT_THEORY);
  room->close(work);
}

static void bounds_close(bounds *b) {
  free(b->memory);
  free(b->class);
}

/* The largest |got - x| / bound, x summed in balls straight from the definition. */
static double worst_ratio(const positions *p, int64_t *elements) {
  problem_slice slice;
  bounds b;
  problem_slice_get(&slice, p->problem, 0);
  room_machine machine = certify_room(p->problem->kernel->name)->machine(slice.out.dtype);
  bounds_open(&b, p, &slice, &machine);
  int64_t dv = slice.dv;
  arb_ptr x = _arb_vec_init(3 * dv);
  double worst = 0;
  for (int64_t i = 0; i < slice.nq; i++) {
    positions_dense(x, x + dv, x + 2 * dv, p->problem, &slice, i, 160);
    for (int64_t c = 0; c < dv; c++, ++*elements) {
      double got = tensor_at(&slice.out, i * slice.out.stride[0] + c * slice.out.stride[1]);
      arb_t distance;
      arb_init(distance);
      arb_set_d(distance, got);
      arb_sub(distance, distance, x + c, 160);
      double off = fmax(fabs(enclosure_upper(distance)), fabs(enclosure_lower(distance)));
      worst = fmax(worst, off / b.block.out.theory[i * dv + c]);
      arb_clear(distance);
    }
  }
  _arb_vec_clear(x, 3 * dv);
  bounds_close(&b);
  return worst;
}

START_TEST(every_form_stays_within_its_bound_of_the_sums_of_the_definition) {
  uint64_t seed = tests_seed();
  const form_case *c = &form_cases[_i];
  double worst = 0;
  int64_t elements = 0;
  int64_t draws = tests_trials(strcmp(c->form, "low-rank") ? DRAWS : 2 * DRAWS);
  for (int64_t draw = 0; draw < draws; draw++) {
    positions p;
    open_case(&p, c, &seed);
    for (int wide = 0; wide < 2; wide++) {
      positions_run(&p, wide ? ATTEST_FLOAT64 : ATTEST_FLOAT32);
      worst = fmax(worst, worst_ratio(&p, &elements));
    }
    positions_close(&p);
  }
  printf("%s form=%s d=%lld%s: %lld elements, largest error/bound %.3g\n", c->kernel, c->form,
         (long long)c->d, c->coefficients ? " polynomial" : "", (long long)elements, worst);
  ck_assert_double_le(worst, 1);
  ck_assert(worst > 1e-6 || c->n == 1 || c->weights == WEIGHTS_ZERO);
}
END_TEST

/* ---- wrong outputs ---- */

/* The sum over multi-indices of total degree up to 3 for two diagonal elements of W, directly. */
typedef enum { WRONG_NOTHING, WRONG_MULTINOMIAL, WRONG_WRAP, WRONG_SCALE, WRONG_OFFSET } wrong;

/* p(x + y) = sum c_t binom(t, a) x^a y^(t-a). */
static double expanded(const double *c, double x, double y, wrong kind) {
  static const double binomial[4][4] = {{1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}};
  double sum = 0;
  for (int t = 0; t < 4; t++)
    for (int a = 0; a <= t; a++)
      sum += c[t] * (kind == WRONG_MULTINOMIAL ? 1 : binomial[t][a]) * pow(x, a) * pow(y, t - a);
  return kind == WRONG_SCALE ? 2 * sum - c[0] : sum;
}

static void fill_output(positions *p, wrong kind) {
  problem_slice slice;
  problem_slice_get(&slice, p->problem, 0);
  int64_t n = slice.nq;
  const float *q = p->memory[0], *k = p->memory[1], *v = p->memory[2];
  const double *w = p->memory[3], *c = p->memory[6];
  for (int64_t i = 0; i < n; i++) {
    double total = 0, sum[DV] = {0};
    for (int64_t j = 0; j < n; j++) {
      int64_t offset = kind == WRONG_OFFSET ? j - i : i - j;
      if (kind == WRONG_WRAP && offset < 0) offset = offset + n; /* a circulant of size n */
      const double *matrix = w + (offset + n - 1) * 4;
      double x = (double)q[2 * i] * matrix[0] * (double)k[2 * j] / 4;
      double y = (double)q[2 * i + 1] * matrix[3] * (double)k[2 * j + 1] / 4;
      double weight = expanded(c, x, y, kind);
      total += weight;
      for (int b = 0; b < DV; b++)
        sum[b] += weight * (double)v[DV * j + b];
    }
    for (int b = 0; b < DV; b++)
      tensor_store(&slice.out, i * slice.out.stride[0] + b * slice.out.stride[1], sum[b] / total);
  }
}

START_TEST(outputs_that_are_wrong_in_one_place_break_the_bound_of_the_fft_form) {
  static const form_case fft = {"toeplitz", "fft", NULL, "1/4", 48, 2, 4, WEIGHTS_ZERO};
  for (int kind = WRONG_NOTHING; kind <= WRONG_OFFSET; kind++) {
    positions p;
    uint64_t seed = tests_seed();
    open_case(&p, &fft, &seed);
    double *w = p.memory[3], *c = p.memory[6];
    for (int64_t i = 0; i < 2 * fft.n - 1; i++)
      w[4 * i] = tests_uniform(&seed), w[4 * i + 3] = 2 * tests_uniform(&seed) - 1;
    for (int t = 0; t < 4; t++)
      c[t] = fabs(c[t]);
    p.problem->resolved = 0;
    positions_run(&p, ATTEST_FLOAT64);
    fill_output(&p, (wrong)kind);
    ck_assert_msg(positions_verdict(&p, "theory") ==
                      (kind == WRONG_NOTHING ? ATTEST_CERTIFIED : ATTEST_REFUTED),
                  "wrong output %d", kind);
    positions_close(&p);
  }
}
END_TEST

/* ---- the account ---- */

START_TEST(rows_that_are_computed_directly_are_counted_and_the_leak_is_reported) {
  uint64_t seed = tests_seed();
  attest_error error;
  room_account account;
  positions p;
  form_case c = form_cases[5];
  open_case(&p, &c, &seed);
  const problem_room *room = certify_room(p.problem->kernel->name);
  positions_run(&p, ATTEST_FLOAT32);
  attest_tensor out = p.problem->output[OUTPUT_OUT];
  ck_assert_int_eq(room->kernel_account(&account, &out, NULL, p.problem, &error), ATTEST_OK);
  ck_assert(account.has_recomputed && account.has_leak);
  ck_assert_int_eq(account.recomputed, 0);
  ck_assert_double_gt(account.leak, 0);
  ck_assert_double_lt(account.leak, 1);
  /* The last token is large and meets a small W_0 only; its rounding reaches all rows. */
  float *k = p.memory[1];
  k[2 * (c.n - 1)] = 40;
  double *w = p.memory[3];
  memset(w, 0, (size_t)((2 * c.n - 1) * 4) * sizeof *w);
  for (int64_t i = 0; i < 2 * c.n - 1; i++)
    w[4 * i] = i == c.n - 1 ? 1.0 / 40 : 1;
  p.problem->resolved = 0;
  ck_assert_int_eq(problem_resolve(p.problem, &error), ATTEST_OK);
  ck_assert_int_eq(room->kernel_account(&account, &out, NULL, p.problem, &error), ATTEST_OK);
  ck_assert_int_gt(account.recomputed, 0);
  ck_assert_int_lt(account.recomputed, c.n);
  ck_assert_int_eq(positions_verdict(&p, "theory"), ATTEST_CERTIFIED);
  printf("fft form with one large token: %lld of %lld rows computed directly, leak %.3g\n",
         (long long)account.recomputed, (long long)c.n, account.leak);
  positions_close(&p);
}
END_TEST

/* q k alternates in sign, so that two keys have weights 1 + s and 1 - s with p = 1 + x, and under
 * p = x they add up to exactly 0. */
START_TEST(polynomial_weights_that_add_up_to_zero_are_not_a_number) {
  for (int form = 0; form < 2; form++) {
    positions p;
    uint64_t seed = tests_seed();
    form_case c = {"toeplitz", form ? "fft" : "direct", NULL, "sqrt(1/3)", 2, 1, 2, WEIGHTS_ZERO};
    open_case(&p, &c, &seed);
    float *q = p.memory[0], *k = p.memory[1];
    double *w = p.memory[3], *coefficients = p.memory[6];
    q[0] = q[1] = 1;
    k[0] = 0.7f;
    k[1] = -0.7f;
    for (int i = 0; i < 3; i++)
      w[i] = 3;
    coefficients[0] = 0;
    coefficients[1] = 1;
    p.problem->resolved = 0;
    positions_run(&p, ATTEST_FLOAT32);
    ck_assert(isnan(((float *)p.memory[5])[0]));
    ck_assert_int_eq(positions_verdict(&p, "theory"), ATTEST_CERTIFIED);
    ck_assert_int_eq(positions_verdict(&p, "backward<=16"), ATTEST_CERTIFIED);
    ((float *)p.memory[5])[1] = 1;
    ck_assert_int_eq(positions_verdict(&p, "backward<=16"), ATTEST_REFUTED);
    positions_close(&p);
  }
}
END_TEST

/* ---- declared machine models ---- */

/* cos and sin of position theta_m in float, the frequency rounded to so many bits. */
static void float_phase(float *c, float *s, int64_t position, int64_t m, int64_t d, int bits) {
  int e;
  double theta = pow(10000, -2 * (double)m / (double)d), fraction = frexp(theta, &e);
  float frequency = (float)ldexp(rint(ldexp(fraction, bits)), e - bits);
  float angle = frequency * (float)position;
  *c = (float)cos((double)angle);
  *s = (float)sin((double)angle);
}

/* Scores in float: of rotated vectors, or q (W k). */
static float float_score(const positions *p, int64_t i, int64_t j, int bits) {
  int64_t d = p->problem->d, n = p->problem->nk;
  const float *q = (const float *)p->memory[0] + i * d, *k = (const float *)p->memory[1] + j * d;
  const double *w = p->memory[3];
  float sum = 0;
  for (int64_t a = 0; a < d; a++) {
    float inner = 0;
    if (w) {
      for (int64_t b = 0; b < d; b++)
        inner += (float)w[((i - j + n - 1) * d + a) * d + b] * k[b];
      sum += q[a] * inner;
    } else if (a % 2 == 0) {
      float c, s, cj, sj;
      float_phase(&c, &s, i, a / 2, d, bits);
      float_phase(&cj, &sj, j, a / 2, d, bits);
      sum += (q[a] * c - q[a + 1] * s) * (k[a] * cj - k[a + 1] * sj);
      sum += (q[a] * s + q[a + 1] * c) * (k[a] * sj + k[a + 1] * cj);
    }
  }
  return sum / 8;
}

static float float_weight(const positions *p, float s) {
  if (p->memory[6]) {
    float y = 0;
    for (int64_t t = p->problem->input[INPUT_COEFFICIENTS].shape[0] - 1; t >= 0; t--)
      y = y * s + (float)((double *)p->memory[6])[t];
    return y;
  }
  return strcmp(p->problem->kernel->name, "toeplitz") ? s : expf(s);
}

static void float_kernel(positions *p, int bits) {
  int64_t n = p->problem->nk;
  float *out = p->memory[5];
  const float *v = p->memory[2];
  for (int64_t i = 0; i < n; i++) {
    float total = 0, sum[DV] = {0};
    for (int64_t j = 0; j < n; j++) {
      float w = float_weight(p, float_score(p, i, j, bits));
      total += w;
      for (int c = 0; c < DV; c++)
        sum[c] += w * v[j * DV + c];
    }
    for (int c = 0; c < DV; c++)
      out[i * DV + c] = p->problem->values.normalize == NORMALIZE_SUM ? sum[c] / total : sum[c];
  }
}

static attest_verdict model_verdict(const positions *p, const char *arithmetic) {
  attest_error error;
  certify_bounds list = {0, NULL};
  certify_options options = {.name = "test"};
  certify_case result;
  room_machine machine;
  ck_assert_int_eq(certify_machine_parse(&machine, p->problem->kernel->name, arithmetic, &error),
                   ATTEST_OK);
  certify_machine_returns(&machine, p->problem);
  certify_subject subject = {.problem = p->problem, .bounds = &list, .machine = &machine};
  ck_assert_int_eq(certify_bounds_add(&list, "theory", &error), ATTEST_OK);
  ck_assert_int_eq(certify_run(&result, &subject, 1, &options, &error), ATTEST_OK);
  attest_verdict verdict = certify_case_verdict(&result);
  certify_case_clear(&result);
  certify_bounds_clear(&list);
  return verdict;
}

START_TEST(float_kernels_are_within_their_declared_model_and_rounder_phases_are_not) {
  static const struct {
    const char *kernel, *normalize;
    int64_t coefficients;
  } kinds[] = {{"toeplitz", NULL, 0},
               {"toeplitz", NULL, 6},
               {"rope-linear", "none", 0},
               {"rope-linear", "sum", 5}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    uint64_t seed = tests_seed();
    positions p;
    positions_spec s = {
        .kernel = kinds[k].kernel,
        .heads_q = 1,
        .heads_k = 1,
        .nq = 120,
        .nk = 120,
        .d = 4,
        .dv = DV,
        .dtype = ATTEST_FLOAT32,
        .params = {"scale", "1/8", kinds[k].normalize ? "normalize" : NULL, kinds[k].normalize},
        .size = 1,
        .weights = WEIGHTS_DENSE,
        .coefficients = kinds[k].coefficients};
    positions_open(&p, &s, &seed);
    positions_run(&p, ATTEST_FLOAT32);
    int rotary = p.problem->pairing == PAIRING_ROTARY;
    float_kernel(&p, 24);
    ck_assert_int_eq(model_verdict(&p, "products=float32"), ATTEST_CERTIFIED);
    /* A model that is finer than the kernel is not met. */
    ck_assert_int_eq(model_verdict(&p, "products=float64,weights=float64,accumulate=float64,"
                                       "phases=float64"),
                     ATTEST_REFUTED);
    float_kernel(&p, 3);
    ck_assert_int_eq(model_verdict(&p, "products=float32"),
                     rotary ? ATTEST_REFUTED : ATTEST_CERTIFIED);
    float_kernel(&p, 8);
    /* Phases so coarse may take the sum of the weights to 0: then the model has no bound. */
    int bounded = !rotary || p.problem->values.normalize != NORMALIZE_SUM;
    ck_assert_int_eq(model_verdict(&p, "products=float32,phases=bfloat16"),
                     bounded ? ATTEST_CERTIFIED : ATTEST_UNDECIDED);
    positions_close(&p);
  }
}
END_TEST

void test_forms(Suite *suite) {
  TCase *tc = tcase_create("forms");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, every_form_stays_within_its_bound_of_the_sums_of_the_definition, 0,
                      FORM_CASES);
  tcase_add_test(tc, outputs_that_are_wrong_in_one_place_break_the_bound_of_the_fft_form);
  tcase_add_test(tc, rows_that_are_computed_directly_are_counted_and_the_leak_is_reported);
  tcase_add_test(tc, polynomial_weights_that_add_up_to_zero_are_not_a_number);
  tcase_add_test(tc, float_kernels_are_within_their_declared_model_and_rounder_phases_are_not);
  suite_add_tcase(suite, tc);
}
