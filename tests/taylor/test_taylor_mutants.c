/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Wrong kernels are refuted: each mutant is the sound computation with one mistake that has been
 * made in practice, and the sound one is certified under the same bound. */
#include "fixture_kernel.h"

enum { N = 40, D = 4, DV = 6, CUT = 20, CHUNK = 8 };

typedef enum {
  SOUND,
  SOUND_MERGED,
  WRONG_MULTINOMIAL,
  MISSING_FACTORIAL,
  BOUNDARY_TWICE,
  UPDATE_AFTER_READ,
  MERGE_DROPS_COUNTER,
  TRACE_LOST,
  DEGREE_BELOW,
  DEGREE_ABOVE,
  EPS_TWICE,
  MUTANTS
} mutant;

static const char *const mutant_names[] = {"sound",
                                           "sound, merged",
                                           "wrong multinomial weight",
                                           "missing m!",
                                           "boundary twice",
                                           "state updated after the read",
                                           "merge drops the counter",
                                           "trace feature lost",
                                           "degree off by one (below)",
                                           "degree off by one (above)",
                                           "eps added twice"};

/* Mistakes in the tables. */
static void spoil_plan(taylor_plan *plan, mutant which) {
  float *weight = plan->feature_weight;
  const taylor_basis *basis = plan->basis;
  for (int64_t b = basis->start[2]; b < basis->start[3]; b++) {
    if (which == WRONG_MULTINOMIAL && basis->multinomial[b] == 2) weight[b] /= 2;
    if (which == MISSING_FACTORIAL) weight[b] *= 2;
  }
  if (which == EPS_TWICE) plan->eps *= 2;
}

/* The constant feature taken for the trace of the second order, as on the unit sphere. */
static void lose_trace(taylor_state_f32 *state) {
  const taylor_basis *basis = state->plan->basis;
  int64_t pad = state->plan->dv_pad;
  memset(state->hi, 0, (size_t)pad * sizeof *state->hi);
  state->norm[0] = 0;
  for (int64_t b = basis->start[2]; b < basis->start[3]; b++) {
    if (basis->multinomial[b] != 1) continue; /* x_i x_i */
    for (int64_t c = 0; c < pad; c++)
      state->hi[c] += state->hi[b * pad + c];
    state->norm[0] += state->norm[b];
  }
}

typedef struct {
  const taylor_plan *plan;
  const float *q, *k, *v;
  taylor_state_f32 state, early, merged;
  taylor_rows_f32 work;
} decoder;

static void take_key(decoder *x, int64_t j) {
  taylor_state_update_f32(&x->state, x->k + j * D, x->v + j * DV);
  taylor_state_settle_f32(&x->state);
}

/* Reads early, then the keys since. */
static void read_merged(decoder *x, float *out, int64_t i, mutant which) {
  taylor_state_clear_f32(&x->merged);
  taylor_state_merge_f32(&x->merged, &x->early);
  taylor_state_merge_f32(&x->merged, &x->state);
  if (which == MERGE_DROPS_COUNTER && x->early.keys) x->merged.norm[0] = x->early.norm[0];
  taylor_state_read_f32(out, &x->work, &x->merged, x->q + i * D);
}

static void step(decoder *x, float *out, int64_t i, mutant which) {
  if (which == UPDATE_AFTER_READ) {
    taylor_state_read_f32(out, &x->work, &x->state, x->q + i * D);
    take_key(x, i);
    return;
  }
  if (which == SOUND_MERGED || which == MERGE_DROPS_COUNTER) {
    if (i == CUT) {
      taylor_state_merge_f32(&x->early, &x->state);
      taylor_state_clear_f32(&x->state);
    }
    take_key(x, i);
    read_merged(x, out, i, which);
    return;
  }
  if (which == BOUNDARY_TWICE && i > 0 && i % CHUNK == 0) take_key(x, i - 1);
  take_key(x, i);
  if (which == TRACE_LOST) {
    taylor_state_clear_f32(&x->merged);
    taylor_state_merge_f32(&x->merged, &x->state);
    lose_trace(&x->merged);
    taylor_state_read_f32(out, &x->work, &x->merged, x->q + i * D);
    return;
  }
  taylor_state_read_f32(out, &x->work, &x->state, x->q + i * D);
}

static void compute(kernel_fixture *f, mutant which) {
  attest_error error;
  taylor_plan *plan;
  attest_problem mine = *f->problem;
  if (which == DEGREE_BELOW) mine.values.degree--;
  if (which == DEGREE_ABOVE) mine.values.degree++;
  ck_assert_int_eq(taylor_plan_open(&plan, &mine, 0, 1, 0, &error), ATTEST_OK);
  if (plan->degree == 2) spoil_plan(plan, which);
  decoder x = {.plan = plan,
               .q = mine.input[INPUT_Q].data,
               .k = mine.input[INPUT_K].data,
               .v = mine.input[INPUT_V].data};
  ck_assert_int_eq(taylor_state_open_f32(&x.state, plan, 1, &error), ATTEST_OK);
  ck_assert_int_eq(taylor_state_open_f32(&x.early, plan, 1, &error), ATTEST_OK);
  ck_assert_int_eq(taylor_state_open_f32(&x.merged, plan, 1, &error), ATTEST_OK);
  ck_assert_int_eq(taylor_rows_open_f32(&x.work, plan, &error), ATTEST_OK);
  for (int64_t i = 0; i < N; i++)
    step(&x, (float *)f->out.data + i * DV, i, which);
  taylor_state_close_f32(&x.state);
  taylor_state_close_f32(&x.early);
  taylor_state_close_f32(&x.merged);
  taylor_rows_close_f32(&x.work);
  taylor_plan_close(plan);
}

static attest_verdict verdict_of(kernel_fixture *f, const char *bound) {
  attest_error error;
  ck_assert_int_eq(attest_problem_output(f->problem, "out", &f->out, &error), ATTEST_OK);
  attest_certificate *certificate = attest_check(f->problem, bound, &error);
  ck_assert_msg(certificate != NULL, "%s", error.message);
  attest_verdict verdict = attest_certificate_verdict(certificate);
  attest_certificate_free(certificate);
  return verdict;
}

static void try_all(const char *form, const char *bound) {
  uint64_t seed = tests_seed();
  kernel_spec spec = kernel_causal_spec(form, "8", N, D, DV);
  spec.offset = 1;
  spec.params[8] = "eps";
  spec.params[9] = "1/4";
  kernel_fixture f;
  kernel_fixture_open(&f, &spec, ATTEST_FLOAT32, 0, &seed);
  for (int which = SOUND; which < MUTANTS; which++) {
    attest_verdict right = which <= SOUND_MERGED ? ATTEST_CERTIFIED : ATTEST_REFUTED;
    compute(&f, (mutant)which);
    ck_assert_msg(verdict_of(&f, bound) == right, "%s, form %s, bound %s", mutant_names[which],
                  form, bound);
  }
  kernel_fixture_run(&f);
  ck_assert_int_eq(verdict_of(&f, bound), ATTEST_CERTIFIED);
  kernel_fixture_close(&f);
}

START_TEST(mutants_are_refuted_and_the_sound_kernel_is_certified) {
  try_all("recurrent", "backward<=16");
  try_all("chunked", "backward<=16");
  try_all("direct", "backward<=16");
  try_all("recurrent", "row<=1e-5");
}
END_TEST

/* On the unit sphere the constant feature is the trace of the second order: dropping it is right
 * there, and the certificate says so. */
START_TEST(the_trace_may_stand_in_for_the_constant_on_the_unit_sphere) {
  uint64_t seed = tests_seed();
  kernel_spec spec = kernel_causal_spec("recurrent", "1", N, D, DV);
  spec.offset = 1;
  kernel_fixture f;
  kernel_fixture_open(&f, &spec, ATTEST_FLOAT32, 0, &seed);
  float *k = f.problem->input[INPUT_K].data;
  for (int64_t j = 0; j < N; j++) /* of norm 1 exactly: four halves */
    for (int i = 0; i < D; i++)
      k[j * D + i] = k[j * D + i] < 0 ? -0.5f : 0.5f;
  compute(&f, TRACE_LOST);
  ck_assert_int_eq(verdict_of(&f, "backward<=16"), ATTEST_CERTIFIED);
  kernel_fixture_close(&f);
}
END_TEST

void test_taylor_mutants(Suite *suite) {
  TCase *tc = tcase_create("taylor_mutants");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, mutants_are_refuted_and_the_sound_kernel_is_certified);
  tcase_add_test(tc, the_trace_may_stand_in_for_the_constant_on_the_unit_sphere);
  suite_add_tcase(suite, tc);
}
