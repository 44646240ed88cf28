/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest sweep: a function of one float32 on every float32. */
#include <errno.h>
#include <float.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "../certify/sweep_order.h"
#include "../report/sweep.h"
#include "../subject/function.h"
#include "internal.h"
#include "verbs.h"

static const verb_flag flags[] = {
    {"library", "F:SYMBOL", 0,
     "the function under test, instead of the suite's own: ./my.so:my_expf, libm:expf, "
     "libmvec:expf; it runs in processes of its own"},
    {"abi", "scalar|array", 0,
     "how it is called (attest.h): float f(float), the default, or void f(float *out, const float "
     "*in, size_t n)"},
    {"bound", "MEASURE<=X", 1,
     "what must hold: ulp, abs or rel; repeats (default: what the suite's own function promises, "
     "ulp<=1 for others)"},
    {"from", "X", 0, "the least input (default: all inputs, NaNs too)"},
    {"to", "X", 0, "the largest input"},
    {"rope-base", "B", 0, "of rope-cos and rope-sin (default 10000)"},
    {"d", "D", 0, "their components (default 128)"},
    {"pair", "M", 0, "the pair of components, from 0 (default 1)"},
    {"resume", "FILE", 0,
     "keep finished blocks in this ledger, and take up those that it holds already"},
    {"shard", "I/N", 0,
     "only every N-th block, from the I-th on (with --resume: a ledger a shard)"},
    {"merge", "FILE", 1, "take all blocks from ledgers of shards; repeats"},
    {"seed", "S", 0, "of the inputs at which MPFR is asked again (default 1)"},
    {"json", "FILE", 0, "write the certificate"},
    {"quiet", NULL, 0, "only the verdict line"},
    {"timeout", "T", 0, "of --library: seconds for 65,536 inputs (default 60)"},
    {"memory", "SIZE", 0, "of a process of --library (default: four fifths of what is free)"},
    {"threads", "N", 0, "worker threads (default: all processors)"},
};

static const verb_definition definition = {
    .usage = "attest sweep FUNCTION [--library F:SYMBOL] [flags]",
    .summary = "Compares a float32 function with the exact one on every float32, or on all of a\n"
               "range: the exact largest error with its input, histograms, misrounded results,\n"
               "order and sign, special values.",
    .example =
        "  attest sweep exp\n"
        "  attest sweep tanh --library ./my.so:my_tanhf --bound 'ulp<=2' --resume tanh.ledger\n"
        "  attest sweep log --library libm:logf --from 1 --to 2",
    .flags = flags,
    .flag_count = sizeof flags / sizeof *flags,
    .accepts = 0,
    .operands_min = 1,
    .operands_max = 1,
};

/* ---- flags ---- */

/* Whether the float is at least (sign 1) or at most (-1) the number. */
static int is_beyond(float x, const fmpq_t number, int sign) {
  if (isinf(x)) return x * (float)sign > 0;
  fmpq_t q;
  arf_t a;
  fmpq_init(q);
  arf_init(a);
  arf_set_d(a, (double)x);
  arf_get_fmpq(q, a);
  int order = fmpq_cmp(q, number);
  fmpq_clear(q);
  arf_clear(a);
  return order * sign >= 0;
}

/* The float nearest to the number, or a neighbour of it. */
static float near(const fmpq_t number) {
  arb_t ball;
  arb_init(ball);
  arb_set_fmpq(ball, number, 64);
  float x = (float)arf_get_d(arb_midref(ball), ARF_RND_NEAR);
  arb_clear(ball);
  return x;
}

/* --from (sign 1: rounded up) and --to (sign -1: rounded down), as keys. -0 lies below 0. */
static int parse_end(uint32_t *key, const verb_options *options, const char *name, int sign) {
  const char *text = verb_option(options, name);
  if (!text) return 0;
  int negative = *text == '-';
  if (!strcmp(text, "inf") || !strcmp(text, "-inf")) {
    *key = negative ? SWEEP_KEY_MINUS_INF : SWEEP_KEY_INF;
    return 0;
  }
  problem_real number;
  problem_real_init(&number);
  int bad = problem_real_parse(&number, text) || number.root;
  if (number.sign < 0) fmpq_neg(number.value, number.value);
  if (!bad) {
    float x = near(number.value);
    while (!is_beyond(x, number.value, sign))
      x = nextafterf(x, (float)sign * INFINITY);
    while (is_beyond(nextafterf(x, -(float)sign * INFINITY), number.value, sign))
      x = nextafterf(x, -(float)sign * INFINITY);
    *key = sweep_key(x);
    if (x == 0) *key = negative ? SWEEP_KEY_MINUS_ZERO : SWEEP_KEY_ZERO;
  }
  problem_real_clear(&number);
  return bad ? verb_usage_error("--%s %s: a decimal, a ratio, a hex float, inf or -inf is wanted",
                                name, text)
             : 0;
}

static int parse_range(sweep_request *q, const verb_options *options) {
  const char *from = verb_option(options, "from"), *to = verb_option(options, "to");
  q->first = from || !to ? 0 : SWEEP_KEY_MINUS_INF;
  q->last = to || !from ? UINT32_MAX : SWEEP_KEY_INF;
  int status = parse_end(&q->first, options, "from", 1);
  if (!status) status = parse_end(&q->last, options, "to", -1);
  if (!status && q->first > q->last)
    return verb_usage_error("no float32 lies between --from %s and --to %s", from ? from : "-inf",
                            to ? to : "inf");
  return status;
}

static int parse_shard(sweep_request *q, const verb_options *options) {
  const char *text = verb_option(options, "shard");
  char *end;
  q->shard = q->shards = 1;
  if (!text) return 0;
  long i = strtol(text, &end, 10), n = 0;
  int ok = end > text && *end == '/';
  if (ok) n = strtol(text = end + 1, &end, 10);
  if (!ok || end == text || *end || i < 1 || n < i || n > 65536)
    return verb_usage_error("--shard %s: I/N is wanted, as in 2/4", verb_option(options, "shard"));
  q->shard = (int)i;
  q->shards = (int)n;
  return 0;
}

static int parse_bounds(certify_bounds *bounds, const sweep_request *q,
                        const verb_options *options) {
  attest_error error;
  const char *text = verb_option_nth(options, "bound", 0);
  if (!text && !q->foreign) text = sweep_kernel_bound(&q->function);
  if (!text) text = "ulp<=1";
  for (size_t i = 0; text; text = verb_option_nth(options, "bound", ++i)) {
    if (certify_bounds_add(bounds, text, &error))
      return verb_usage_error(
          "--bound %s: ulp<=X, abs<=X or rel<=X is wanted, X a number from 0 on", text);
    const certify_bound *b = &bounds->items[bounds->count - 1];
    if (b->output >= 0 ||
        (b->measure != MEASURE_ULP && b->measure != MEASURE_ABS && b->measure != MEASURE_REL))
      return verb_usage_error("--bound %s: a sweep measures ulp, abs and rel", text);
  }
  return 0;
}

static int parse_ledgers(sweep_request *q, const char ***merge, const verb_options *options) {
  size_t n = 0;
  q->ledger = verb_option(options, "resume");
  if (q->ledger && !*q->ledger) return verb_usage_error("--resume: the name of a file is wanted");
  while (verb_option_nth(options, "merge", n))
    n++;
  *merge = calloc(n + 1, sizeof **merge);
  if (!*merge) return verb_usage_error("out of memory");
  for (size_t i = 0; i < n; i++)
    (*merge)[i] = verb_option_nth(options, "merge", i);
  q->merge = *merge;
  q->merge_count = n;
  if (n && (q->ledger || q->shards > 1))
    return verb_usage_error(
        "--merge takes whole shards: neither --resume nor --shard goes with it");
  return 0;
}

static int parse_numbers(sweep_request *q, const verb_options *options) {
  long seed;
  int status = verb_option_count(&seed, options, "seed", 1);
  if (!status) status = verb_set_threads(options);
  q->seed = (uint64_t)seed;
  q->samples = 1000;
  q->threads = omp_get_max_threads();
  return status;
}

/* rope-cos and rope-sin: the problem that holds the base; free it. */
static int parse_rope(sweep_request *q, attest_problem **rope, const verb_options *options) {
  const char *base = verb_option(options, "rope-base");
  attest_error error;
  long d = 128, pair = 1;
  const char *text = verb_option(options, "pair");
  int is_rope = !strncmp(options->operands[0], "rope-", 5);
  if (!is_rope && (base || text || verb_option(options, "d")))
    return verb_usage_error("--rope-base, --d and --pair are for rope-cos and rope-sin");
  if (!is_rope) return 0;
  if (verb_option_count(&d, options, "d", 128)) return EXIT_TROUBLE;
  if (text && strcmp(text, "0") && verb_option_count(&pair, options, "pair", 1))
    return EXIT_TROUBLE;
  if (text && !strcmp(text, "0")) pair = 0;
  if (d % 2 || pair >= d / 2 || d > 65536)
    return verb_usage_error("--d %ld --pair %ld: D is even, at most 65536, and M below D/2", d,
                            pair);
  *rope = attest_problem_new("rope-softmax", &error);
  if (!*rope || (base && attest_problem_set(*rope, "rope-base", base, &error)) ||
      problem_values_resolve(*rope, &error))
    return verb_trouble(&error);
  q->function.rope = *rope;
  q->function.d = d;
  q->function.pair = pair;
  if (!sweep_angle_is_served(&q->function))
    return verb_usage_error("--rope-base %s --d %ld --pair %ld: the angle of one position is below "
                            "2^-700 or above 2^100: a base nearer to 1 is wanted",
                            base ? base : "10000", d, pair);
  return 0;
}

static int parse_function(sweep_request *q, attest_problem **rope, const verb_options *options) {
  const char *name = options->operands[0];
  q->function.reference = sweep_reference_find(name);
  if (!q->function.reference)
    return verb_usage_error("unknown function %s: attest sweep --help lists the functions", name);
  if (!verb_option(options, "library") && !sweep_kernel_bound(&q->function))
    return verb_usage_error("the suite has no float32 function %s of its own: name one to compare "
                            "with it (--library FILE:SYMBOL)",
                            name);
  return parse_rope(q, rope, options);
}

/* ---- --library ---- */

/* A foreign function and what its failures are called. */
typedef struct {
  subject_function *function;
  sweep_foreign foreign;
} library;

static int call(void *context, int worker, float *out, const float *in, int64_t n,
                sweep_failure *failure, attest_error *error) {
  subject_result result;
  int failed = subject_function_call(context, worker, out, in, n, &result, error);
  if (failed > 0) {
    snprintf(failure->reason, sizeof failure->reason, "%s", result.reason);
    snprintf(failure->detail, sizeof failure->detail, "%s", result.detail);
  }
  return failed;
}

/* Merged ledgers need one worker, for the few blocks that are called again. */
static int open_library(sweep_request *q, library *l, const verb_options *options) {
  const char *spec = verb_option(options, "library"), *abi = verb_option(options, "abi");
  subject_limits limits;
  attest_error error;
  if (!spec) return verb_refuse_limits(options);
  if (verb_subject_limits(&limits, options, &error)) return verb_trouble(&error);
  if (q->merge_count) q->threads = 1;
  if (subject_function_open(&l->function, spec, abi, q->threads, SWEEP_BLOCK, &limits, &error))
    return verb_trouble(&error);
  l->foreign = (sweep_foreign){call, l->function};
  q->foreign = &l->foreign;
  q->subject = subject_function_name(l->function);
  q->library_sha256 = subject_function_sha256(l->function);
  return 0;
}

/* ---- running ---- */

static void step(void *context, int64_t inputs) {
  progress_step(context, inputs);
}

static int finish(const sweep_result *result, const sweep_request *q, const verb_options *options) {
  const char *json = verb_option(options, "json");
  attest_error error;
  report_sweep_line(stdout, result, q);
  if (!verb_option(options, "quiet")) report_sweep_tables(stdout, result, q);
  fflush(stdout);
  if (result->failed) fprintf(stderr, "attest: subject: %s\n", result->failure.detail);
  if (result->undecided && !result->planned)
    fprintf(stderr,
            "attest: shard %d/%d of this range has no inputs: the range has fewer blocks of 65,536 "
            "than shards\n",
            q->shard, q->shards);
  if (result->total.unresolved)
    fprintf(stderr, "attest: no precision settled %llu results: they are in no histogram\n",
            (unsigned long long)result->total.unresolved);
  if (result->interrupted && q->ledger)
    fprintf(stderr, "attest: interrupted: the same command goes on from %s\n", q->ledger);
  if (json && !result->interrupted && report_sweep_json(json, result, q, &error)) {
    verb_trouble(&error);
    return result->verdict == ATTEST_REFUTED ? EXIT_REFUTED : EXIT_TROUBLE;
  }
  static const int statuses[] = {EXIT_HOLDS, EXIT_REFUTED, EXIT_UNDECIDED};
  return statuses[result->verdict];
}

static int run(sweep_request *q, const verb_options *options) {
  sweep_result result;
  attest_error error;
  uint64_t inputs = (uint64_t)q->last - q->first + 1;
  progress *p = progress_start("sweep", (int64_t)(inputs / (uint64_t)q->shards));
  q->step = step;
  q->context = p;
  q->interrupted = &verb_interrupted;
  verb_catch_interrupts();
  attest_status status = sweep_run(&result, q, &error);
  progress_end(p);
  int code = status ? verb_trouble(&error) : finish(&result, q, options);
  sweep_result_clear(&result);
  return code;
}

/* The end of the help. */
static void print_functions(void) {
  printf("\nfunctions (*: the suite has one of its own, which is swept without --library):\n");
  for (size_t i = 0; sweep_function_name(i); i++) {
    char row[40];
    snprintf(row, sizeof row, "%s%s", sweep_function_name(i), sweep_function_is_own(i) ? " *" : "");
    verb_help_row(row, sweep_function_formula(i));
  }
}

int verb_sweep(int argc, char **argv) {
  verb_options options;
  sweep_request q = {0};
  certify_bounds bounds = {0, NULL};
  const char **merge = NULL;
  attest_problem *rope = NULL;
  library l = {0};
  int status = verb_options_parse(&options, &definition, argc, argv);
  if (status == EXIT_HOLDS) print_functions();
  if (status >= 0) return status;
  status = parse_function(&q, &rope, &options);
  if (!status) status = parse_range(&q, &options);
  if (!status) status = parse_shard(&q, &options);
  if (!status) status = parse_ledgers(&q, &merge, &options);
  if (!status) status = parse_numbers(&q, &options);
  if (!status) status = verb_can_report(&options);
  if (!status) status = open_library(&q, &l, &options);
  if (!status) status = parse_bounds(&bounds, &q, &options);
  q.bounds = &bounds;
  if (!status) status = run(&q, &options);
  subject_function_close(l.function);
  certify_bounds_clear(&bounds);
  attest_problem_free(rope);
  free(merge);
  verb_options_clear(&options);
  return status;
}
