/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "selftest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "builtin.h"

/* A case of the plan and what the sound kernels return on it. */
typedef struct {
  const selftest_case *plan;
  attest_problem *problem;
  void *storage;
  certify_bounds bounds;
  builtin_kernel sound, reference, mutated; /* reference: float64 */
  unsigned rules[OUTPUT_COUNT];             /* usual rules that find fault with the sound kernel */
  selftest_sound verdict;
} prepared;

struct selftest {
  const mutant_library *library;
  size_t count;
  prepared *cases;
  selftest_known *known;
  unsigned char *known_holds; /* by the library itself */
};

/* ---- running a kernel ---- */

static attest_status run_fft(builtin_kernel *k, const mutant_library *library,
                             attest_error *error) {
  const toeplitz_fft_options options = {.form = TOEPLITZ_FFT_FORM, .eps = 0x1p-48};
  toeplitz_fft_report report;
  attest_status status = ATTEST_OK;
  for (int64_t i = 0; i < problem_slice_count(&k->problem) && !status; i++) {
    problem_slice slice;
    problem_slice_get(&slice, &k->problem, i);
    status = (library ? library->fft : toeplitz_fft_attention)(&report, NULL, &k->problem, &slice,
                                                               &options, error);
  }
  return status;
}

/* Computes the outputs of `k` from zeros, by the mutated copy or (NULL) by the library itself. */
static attest_status compute(builtin_kernel *k, const prepared *c, const mutant_library *library,
                             attest_error *error) {
  const char *kernel = c->problem->kernel->name;
  for (int output = 0; output < OUTPUT_COUNT; output++) {
    const attest_tensor *t = &k->problem.output[output];
    if (k->data[output])
      memset(k->data[output], 0, (size_t)tensor_elements(t) * tensor_dtype_size(t->dtype));
  }
  if (c->plan->fft && k != &c->reference) return run_fft(k, library, error);
  return builtin_kernel_compute(k, (library ? library->room : certify_room)(kernel), error);
}

static attest_status open_case(prepared *c, const selftest_case *plan, attest_error *error) {
  c->plan = plan;
  attest_status status =
      synthetic_build(&c->problem, &c->storage, &plan->problem, plan->seed, error);
  char *copy = strdup(plan->bounds), *rest = copy, *text;
  if (!status && !copy) status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  while (!status && (text = strsep(&rest, ";")))
    status = certify_bounds_add(&c->bounds, text, error);
  free(copy);
  const problem_room *room = certify_room(plan->problem.kernel);
  builtin_kernel *kernels[] = {&c->sound, &c->mutated, &c->reference};
  for (int i = 0; i < 3 && !status; i++)
    status = builtin_kernel_prepare(kernels[i], room, c->problem,
                                    i < 2 ? plan->dtype : ATTEST_FLOAT64, error);
  if (!status) status = compute(&c->sound, c, NULL, error);
  if (!status) status = compute(&c->reference, c, NULL, error);
  return status;
}

/* Of several threads: one error. */
static void keep_error(attest_status *status, attest_error *error, attest_status found,
                       const attest_error *mine) {
#pragma omp critical(selftest_error)
  {
    *status = found;
    if (error) *error = *mine;
  }
}

attest_status selftest_open(selftest **result, const mutant_library *library, attest_error *error) {
  selftest *test = *result = calloc(1, sizeof *test);
  if (!test) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  test->library = library;
  test->cases = calloc(selftest_plan_count + 1, sizeof *test->cases);
  if (!test->cases) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  attest_status status = selftest_known_open(&test->known, error);
  test->count = selftest_plan_count;
#pragma omp parallel for schedule(dynamic)
  for (size_t i = 0; i < test->count; i++) {
    attest_error mine;
    attest_status opened = open_case(&test->cases[i], &selftest_plan[i], &mine);
    if (opened) keep_error(&status, error, opened, &mine);
  }
  return status;
}

void selftest_close(selftest *test) {
  if (!test) return;
  for (size_t i = 0; i < test->count; i++) {
    prepared *c = &test->cases[i];
    builtin_kernel_clear(&c->sound);
    builtin_kernel_clear(&c->mutated);
    builtin_kernel_clear(&c->reference);
    certify_bounds_clear(&c->bounds);
    attest_problem_free(c->problem);
    free(c->storage);
  }
  selftest_known_close(test->known);
  free(test->known_holds);
  free(test->cases);
  free(test);
}

/* Of the digests of all inputs. */
static attest_status digest(selftest_totals *totals, const selftest *test, attest_error *error) {
  enum { HEX = 64 };
  size_t used = 0;
  char hex[HEX + 1], *all = calloc(test->count * INPUT_COUNT + 1, HEX);
  if (!all) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (size_t i = 0; i < test->count; i++)
    for (int input = 0; input < INPUT_COUNT; input++) {
      const attest_tensor *t = &test->cases[i].problem->input[input];
      if (!t->data) continue;
      tensor_sha256(hex, t->data, (size_t)tensor_elements(t) * tensor_dtype_size(t->dtype));
      memcpy(all + used, hex, HEX);
      used += HEX;
    }
  tensor_sha256(hex, all, used);
  snprintf(totals->digest, sizeof totals->digest, "%.16s", hex);
  free(all);
  return ATTEST_OK;
}

/* ---- comparing ---- */

static attest_status judge(certify_case *result, const prepared *c, const builtin_kernel *k,
                           const mutant_library *library, attest_error *error) {
  const certify_subject subject = {k->name, &k->problem, &c->bounds, &k->machine, NULL};
  const certify_options options = {.name = c->plan->problem.name};
  memset(result, 0, sizeof *result);
  return (library ? library->run : certify_run)(result, &subject, 1, &options, error);
}

static int same_bits(const builtin_kernel *a, const builtin_kernel *b) {
  for (int output = 0; output < OUTPUT_COUNT; output++) {
    const attest_tensor *t = &a->problem.output[output];
    if (a->data[output] && memcmp(a->data[output], b->data[output],
                                  (size_t)tensor_elements(t) * tensor_dtype_size(t->dtype)))
      return 0;
  }
  return 1;
}

static attest_status numbers(double **x, const attest_tensor *t, attest_error *error) {
  int64_t n = tensor_elements(t);
  *x = malloc((size_t)n * sizeof **x + 8);
  if (!*x) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  tensor_load(*x, t, 0, n, 1);
  return ATTEST_OK;
}

/* Usual rules that find fault with one output of `k`. */
static attest_status apply_rules(unsigned *faults, const prepared *c, const builtin_kernel *k,
                                 int output, attest_error *error) {
  double *got = NULL, *reference = NULL, *baseline = NULL;
  *faults = 0;
  if (!c->reference.data[output] || !k->data[output]) return ATTEST_OK;
  attest_status status = numbers(&got, &k->problem.output[output], error);
  if (!status) status = numbers(&reference, &c->reference.problem.output[output], error);
  if (!status) status = numbers(&baseline, &c->sound.problem.output[output], error);
  if (!status)
    *faults = selftest_rules(got, reference, baseline, tensor_elements(&k->problem.output[output]));
  free(got);
  free(reference);
  free(baseline);
  return status;
}

/* ---- sound kernels ---- */

static const certify_bound *bound_of(const prepared *c, int output) {
  for (size_t i = 0; i < c->bounds.count; i++)
    if (c->bounds.items[i].output == output) return &c->bounds.items[i];
  return NULL;
}

static double limit_of(const certify_bound *bound) {
  arb_t x;
  arb_init(x);
  arb_set_fmpq(x, bound->limit, 64);
  double limit = enclosure_upper(x);
  arb_clear(x);
  return limit;
}

static attest_status sound_outputs(selftest_sound *result, prepared *c,
                                   const certify_subject_result *s, attest_error *error) {
  attest_status status = ATTEST_OK;
  for (size_t i = 0; i < s->output_count && !status; i++) {
    const certify_output *o = &s->outputs[i];
    const certify_bound *bound = bound_of(c, o->output);
    if (o->output == OUTPUT_INDICES) continue; /* right or wrong, without a measure */
    if (!bound)
      return attest_fail(error, ATTEST_ERR_INPUT, "the plan has no bound on %s of %s",
                         problem_output_names[o->output], c->plan->problem.name);
    size_t n = result->output_count++;
    result->outputs[n].output = problem_output_names[o->output];
    result->outputs[n].measure = bound->measure;
    result->outputs[n].measured = o->error[bound->measure].hi;
    result->outputs[n].limit = limit_of(bound);
    status = apply_rules(&c->rules[o->output], c, &c->sound, o->output, error);
    result->rules |= c->rules[o->output];
  }
  return status;
}

static attest_status judge_sound(prepared *c, const mutant_library *library, attest_error *error) {
  selftest_sound *result = &c->verdict;
  certify_case verdicts;
  *result = (selftest_sound){
      .kernel = c->plan->problem.kernel, .name = c->plan->problem.name, .dtype = c->plan->dtype};
  attest_status status = compute(&c->mutated, c, library, error);
  if (status) return status;
  result->same = same_bits(&c->sound, &c->mutated);
  status = judge(&verdicts, c, &c->sound, NULL, error);
  if (!status) {
    result->verdict = certify_case_verdict(&verdicts);
    status = sound_outputs(result, c, &verdicts.subjects[0], error);
  }
  certify_case_clear(&verdicts);
  return status;
}

attest_status selftest_begin(selftest_totals *totals, selftest *test, attest_error *error) {
  attest_status status = digest(totals, test, error);
  size_t known = totals->known = selftest_known_count(test->known);
  if (!(test->known_holds = calloc(known + 1, 1)))
    status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  if (status) return status;
  test->library->choose(0);
#pragma omp parallel for schedule(dynamic)
  for (size_t j = 0; j < test->count + known; j++) {
    attest_error mine;
    attest_status one = ATTEST_OK;
    if (j < test->count)
      one = judge_sound(&test->cases[j], test->library, &mine);
    else
      test->known_holds[j - test->count] =
          (unsigned char)selftest_known_holds(test->known, j - test->count, NULL);
    if (one) keep_error(&status, error, one, &mine);
  }
  return status;
}

const selftest_sound *selftest_sound_case(selftest_totals *totals, const selftest *test, size_t i) {
  const selftest_sound *s = &test->cases[i].verdict;
  int holds = s->same && s->verdict == ATTEST_CERTIFIED;
  for (size_t k = 0; k < s->output_count; k++) {
    double measured = s->outputs[k].measured, limit = s->outputs[k].limit;
    if (measured > 0) totals->ratio = fmax(totals->ratio, limit / measured);
    holds &= limit <= SELFTEST_RATIO * measured;
  }
  totals->sound++;
  totals->sound_failed += !holds;
  for (int rule = 0; rule < SELFTEST_RULES; rule++)
    totals->rejected[rule] += s->rules >> rule & 1;
  return s;
}

const char *selftest_known_wrong(selftest_totals *totals, const selftest *test, size_t i) {
  if (test->known_holds[i]) return NULL;
  totals->known_wrong++;
  return selftest_known_name(test->known, i);
}

/* ---- mutants ---- */

/* Whether the words of `role` hold `word`. */
static int role_names(const char *role, const char *word) {
  size_t n = strlen(word);
  for (const char *at = strstr(role, word); at; at = strstr(at + 1, word))
    if ((at == role || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0)) return 1;
  return 0;
}

/* What one case or known output makes of a mutant. */
typedef struct {
  int tried;            /* the mutant is one for it */
  int differs, nothing; /* other bits or another verdict; the kernel returned nothing at all */
  int refuted;          /* by the plan, or another verdict than the known one */
  unsigned rules;
  char by[96], error[64];
} trial;

static void name_case(trial *t, const prepared *c, const char *output) {
  snprintf(t->by, sizeof t->by, "%s/%s.%s%s%s", c->plan->problem.kernel, c->plan->problem.name,
           tensor_dtype_name(c->plan->dtype), output ? "." : "", output ? output : "");
}

/* What the mutated kernel returns on one case, and what usual rules say of it. */
static attest_status run_kernel(trial *t, const selftest *test, prepared *c, attest_error *error) {
  attest_error ignored;
  attest_status status = ATTEST_OK;
  t->nothing = compute(&c->mutated, c, test->library, &ignored) != ATTEST_OK;
  t->differs = t->nothing || !same_bits(&c->sound, &c->mutated);
  for (int output = 0; output < OUTPUT_COUNT && t->differs && !t->nothing && !status; output++) {
    unsigned faults = 0;
    status = apply_rules(&faults, c, &c->mutated, output, error);
    t->rules |= faults & ~c->rules[output];
  }
  return status;
}

/* The sound judge on what it returned. */
static attest_status judge_kernel(trial *t, prepared *c, attest_error *error) {
  certify_case verdicts;
  if (!t->differs) return ATTEST_OK;
  name_case(t, c, NULL);
  if (t->nothing) { /* where a sound kernel returns something */
    t->refuted = 1;
    snprintf(t->error, sizeof t->error, "nothing-returned");
    return ATTEST_OK;
  }
  attest_status status = judge(&verdicts, c, &c->mutated, NULL, error);
  t->refuted = !status && certify_case_verdict(&verdicts) == ATTEST_REFUTED;
  for (size_t i = 0; t->refuted && i < verdicts.subjects[0].output_count && !*t->error; i++) {
    const certify_output *o = &verdicts.subjects[0].outputs[i];
    if (o->verdict != ATTEST_REFUTED) continue;
    name_case(t, c, problem_output_names[o->output]);
    if (o->bound_count == 0) continue;
    measure_kind measure = o->bounds[o->decisive].measure;
    snprintf(t->error, sizeof t->error, "%s=%.3g", measure_names[measure], o->error[measure].hi);
  }
  certify_case_clear(&verdicts);
  return status;
}

/* What the mutated comparator says of a sound kernel. */
static void judge_by_mutant(trial *t, const selftest *test, const prepared *c) {
  attest_error ignored;
  certify_case verdicts;
  t->differs = t->refuted = judge(&verdicts, c, &c->sound, test->library, &ignored) ||
                            certify_case_verdict(&verdicts) != ATTEST_CERTIFIED;
  certify_case_clear(&verdicts);
  name_case(t, c, NULL);
}

/* What it says of output i of selftest_known. */
static void know_by_mutant(trial *t, const selftest *test, size_t i) {
  t->differs = t->refuted = !selftest_known_holds(test->known, i, test->library);
  snprintf(t->by, sizeof t->by, "known/%s", selftest_known_name(test->known, i));
}

/* One mutant on its way: trial j is known output j, then case j - known of the plan. */
typedef struct {
  selftest *test;
  const mutant *which;
  int is_kernel;
  size_t known, count;
  trial *trials;
} hunt;

static int is_tried(const hunt *h, size_t j) {
  if (!h->is_kernel) return 1;
  if (j < h->known) return 0;
  const selftest_case *plan = h->test->cases[j - h->known].plan;
  return role_names(h->which->role, plan->fft ? "fft" : plan->problem.kernel);
}

static attest_status judge_trial(hunt *h, size_t j, attest_error *error) {
  trial *t = &h->trials[j];
  if (!t->tried) return ATTEST_OK;
  if (j < h->known) {
    know_by_mutant(t, h->test, j);
    return ATTEST_OK;
  }
  prepared *c = &h->test->cases[j - h->known];
  if (h->is_kernel) return judge_kernel(t, c, error);
  judge_by_mutant(t, h->test, c);
  return ATTEST_OK;
}

/* Kernels run on all their cases, for the usual rules. */
static attest_status run_kernels(hunt *h, attest_error *error) {
  attest_status status = ATTEST_OK;
#pragma omp parallel for schedule(dynamic)
  for (size_t j = h->known; j < h->count; j++) {
    attest_error mine;
    attest_status one = ATTEST_OK;
    if (h->trials[j].tried)
      one = run_kernel(&h->trials[j], h->test, &h->test->cases[j - h->known], &mine);
    if (one) keep_error(&status, error, one, &mine);
  }
  return status;
}

/* Judges in order until one trial refutes; some beyond it are judged beside it. */
static attest_status judge_in_order(const trial **killer, hunt *h, attest_error *error) {
  enum { BATCH = 8 };
  attest_status status = ATTEST_OK;
  *killer = NULL;
  for (size_t first = 0; first < h->count && !*killer && !status; first += BATCH) {
    size_t end = first + BATCH < h->count ? first + BATCH : h->count;
#pragma omp parallel for schedule(dynamic)
    for (size_t j = first; j < end; j++) {
      attest_error mine;
      attest_status one = judge_trial(h, j, &mine);
      if (one) keep_error(&status, error, one, &mine);
    }
    for (size_t j = first; j < end && !*killer; j++)
      if (h->trials[j].refuted) *killer = &h->trials[j];
  }
  return status;
}

static void report_hunt(selftest_result *result, const hunt *h, const trial *killer) {
  result->is_kernel = h->is_kernel;
  for (size_t j = 0; j < h->count; j++) {
    result->cases += (size_t)h->trials[j].tried;
    result->differing += (size_t)h->trials[j].differs;
    result->rules |= h->trials[j].rules;
  }
  result->applied = result->differing > 0 && h->which->found == h->which->wanted;
  if (!killer) return;
  result->killed = 1;
  memcpy(result->by, killer->by, sizeof result->by);
  memcpy(result->error, killer->error, sizeof result->error);
}

static void count_hunt(selftest_totals *totals, const selftest_result *result) {
  totals->mutants++;
  totals->killed += result->applied && result->killed;
  totals->not_applied += !result->applied;
  totals->kernel_mutants += result->is_kernel != 0;
  for (int rule = 0; rule < SELFTEST_RULES; rule++)
    totals->found[rule] += result->rules >> rule & 1;
}

attest_status selftest_run_mutant(selftest_result *result, selftest_totals *totals, selftest *test,
                                  size_t m, attest_error *error) {
  hunt h = {.test = test,
            .which = &test->library->list[m],
            .is_kernel = role_names(test->library->list[m].role, "kernel"),
            .known = selftest_known_count(test->known)};
  const trial *killer = NULL;
  attest_status status = ATTEST_OK;
  memset(result, 0, sizeof *result);
  h.count = h.known + test->count;
  h.trials = calloc(h.count, sizeof *h.trials);
  if (!h.trials) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (size_t j = 0; j < h.count; j++)
    h.trials[j].tried = is_tried(&h, j);
  test->library->choose((int)m + 1);
  if (h.is_kernel) status = run_kernels(&h, error);
  if (!status) status = judge_in_order(&killer, &h, error);
  test->library->choose(0);
  report_hunt(result, &h, killer);
  count_hunt(totals, result);
  free(h.trials);
  return status;
}

int selftest_holds(const selftest_totals *t) {
  return t->killed == t->mutants && t->mutants > 0 && !t->sound_failed && !t->known_wrong;
}
