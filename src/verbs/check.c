/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest check: one stored output against the exact result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../certify/diagnose.h"
#include "internal.h"
#include "verbs.h"

static const verb_flag flags[] = {
    {"bound", "[OUTPUT:]B", 1,
     "must hold; repeats. MEASURE<=X (abs rel ulp row nmse backward), theory, or "
     "allclose=RTOL,ATOL; default backward<=16, for float16 and bfloat16 backward<=4"},
    {"arithmetic", "MODEL", 0,
     "machine model of the kernel, for the bound theory: products=DTYPE (of products and scores),"
     "weights=DTYPE (as they meet values),accumulate=DTYPE (of sums),phases=DTYPE (of rotary "
     "angles),"
     "block=KEYS,exp=ERROR; the forms fft, blocked and low-rank declare themselves"},
    {"roundoff-weights", "X", 0, "unit of the backward error of values (default: the output's)"},
    {"roundoff-scores", "X", 0, "unit of that of scores (default: the same, at most 2^-24)"},
    {"max-precision", "BITS", 0, "where no exact decision exists, give up at this (default 4096)"},
    {"rows", "K", 0, "compare K rows of queries, spread evenly; the scope says which fraction"},
    {"allow-empty", NULL, 0, "outputs without elements are no trouble"},
    {"case", "NAME", 0, "name in verdict lines (default: the file of the output)"},
    {"json", "FILE", 0, "write the certificate"},
    {"junit", "FILE", 0, "write JUnit XML"},
    {"quiet", NULL, 0, "print no certified outputs"},
    {"library", "FILE:SYMBOL", 0,
     "run this function of a shared library (attest_subject of attest.h) instead of --out"},
    {"exec", "COMMAND", 0,
     "run this command instead of --out: it gets a folder with in.safetensors, q.npy k.npy v.npy "
     "and problem.json as its last argument, and writes out.npy or out.safetensors there"},
    {"timeout", "SECONDS", 0, "a subject that runs longer is refuted (default 60)"},
    {"memory", "SIZE", 0, "so is one that takes more (500M, 8G; default: 80 % of what is free)"},
    {"outputs", "LIST", 0, "outputs that a subject must return: out,lse (default: out)"},
    {"dtype", "TYPE", 0, "type of the outputs of --library (default: that of q), or of raw files"},
    {"shape", "[NAME:]N,N,..", 1,
     "shape of files without a header (C order, little endian; see --dtype); repeats: k:2,9,8 is "
     "that of k alone"},
};

static const verb_definition definition = {
    .usage = "attest check KERNEL --q F --k F --v F --out F [--lse F] [flags] [parameters]\n"
             "       attest check KERNEL --q F --k F --v F --library F:SYMBOL | --exec 'COMMAND'",
    .summary =
        "Compares what a kernel returned with rigorous enclosures of the exact result, every\n"
        "element, and prints a verdict for each output: CERTIFIED, REFUTED or UNDECIDED.",
    .example =
        "  attest check softmax --q q.npy --k k.npy --v v.npy --exec 'python3 kernel.py'\n"
        "  attest check softmax --q q.npy --k k.npy --v v.npy --out out.npy \\\n"
        "    --causal top-left --bound backward<=16 --bound allclose=1e-3,1e-5 --json c.json",
    .flags = flags,
    .flag_count = sizeof flags / sizeof *flags,
    .accepts = VERB_PROBLEM | VERB_OUTPUTS,
    .operands_min = 1,
    .operands_max = 1,
};

/* ---- the command line again, for the replay ---- */

static char *command_line(int argc, char **argv) {
  char *text = NULL;
  size_t size;
  FILE *f = open_memstream(&text, &size);
  if (!f) return NULL;
  fputs("attest", f);
  for (int i = 0; i < argc; i++) {
    fputc(' ', f);
    verb_print_quoted(f, argv[i]);
  }
  return fclose(f) ? NULL : text;
}

/* ---- flags to bounds and options ---- */

static attest_status parse_bounds(certify_bounds *bounds, const verb_options *options,
                                  attest_error *error) {
  const char *text;
  attest_status status = ATTEST_OK;
  for (size_t i = 0; !status && (text = verb_option_nth(options, "bound", i)); i++)
    status = certify_bounds_add(bounds, text, error);
  return status;
}

/* A power of two as 2^N, else a decimal, a ratio or a hex float: to the nearest double. */
static int read_roundoff(double *value, const char *text) {
  int exponent, end = 0;
  if (sscanf(text, "2^%d%n", &exponent, &end) == 1 && end && !text[end]) {
    *value = ldexp(1, exponent);
    return 1;
  }
  double radius;
  problem_real x;
  problem_real_init(&x);
  int ok = !problem_real_parse(&x, text);
  *value = problem_real_double(&radius, &x);
  problem_real_clear(&x);
  return ok;
}

/* A positive number; 0 when the flag is absent. */
static attest_status parse_roundoff(double *value, const verb_options *options, const char *name,
                                    attest_error *error) {
  const char *text = verb_option(options, name);
  *value = 0;
  if (!text) return ATTEST_OK;
  return read_roundoff(value, text) && *value > 0 && *value <= 1
             ? ATTEST_OK
             : attest_fail(error, ATTEST_ERR_INPUT,
                           "--%s %s: a number in (0, 1] is wanted, such as 2^-24", name, text);
}

/* The name of the case: --case, else the file of the first output. */
static const char *case_name(const verb_options *options, const verb_problem *p) {
  const char *name = verb_option(options, "case");
  for (size_t i = 0; i < p->tensor_count && !name; i++)
    if (p->tensors[i].is_output) {
      const char *path = p->tensors[i].spec, *slash = strrchr(path, '/');
      name = slash && slash[1] ? slash + 1 : path;
    }
  return name ? name : "check";
}

/* ---- the comparison ---- */

static void step(void *context, int64_t pairs) {
  progress_step(context, pairs);
}

static attest_status add_inputs(certify_case *c, const verb_problem *p, attest_error *error) {
  attest_status status = ATTEST_OK;
  for (size_t i = 0; i < p->tensor_count && !status; i++) {
    const verb_tensor *t = &p->tensors[i];
    status = certify_case_input(
        c, t->name, t->file,
        t->is_output ? &p->problem->output[t->index] : &p->problem->input[t->index], error);
  }
  return status;
}

/* `name`: of a subject that has run; NULL: stored outputs. */
static attest_status compare(certify_case *result, const verb_problem *p, const char *name,
                             const certify_bounds *bounds, certify_options how,
                             const verb_options *options, attest_error *error) {
  room_machine machine;
  long bits;
  const char *arithmetic = verb_option(options, "arithmetic");
  certify_subject subject = {.name = name, .problem = p->problem, .bounds = bounds};
  attest_status status = parse_roundoff(&how.roundoff_weights, options, "roundoff-weights", error);
  if (!status) status = parse_roundoff(&how.roundoff_scores, options, "roundoff-scores", error);
  if (!status && verb_option_count(&bits, options, "max-precision", 4096))
    status = attest_fail(error, ATTEST_ERR_INPUT, "nothing was compared");
  long rows = 0;
  if (!status && verb_option_count(&rows, options, "rows", 0))
    status = attest_fail(error, ATTEST_ERR_INPUT, "nothing was compared");
  how.rows = rows;
  int declared = 0;
  if (!status)
    status = certify_machine_declared(&declared, &machine, p->problem, arithmetic, error);
  if (status) return status;
  if (declared) subject.machine = &machine;
  how.precision_max = bits;
  how.context = progress_start("check", certify_pairs(p->problem));
  status = certify_run(result, &subject, 1, &how, error);
  progress_end(how.context);
  if (!status && certify_case_verdict(result) == ATTEST_REFUTED)
    status = certify_diagnose(result, &subject, &how, error);
  return status;
}

/* A subject runs, and what it returns is compared. Digests come first: a subject may change files.
 */
static attest_status run_subject(certify_case *result, verb_problem *p,
                                 const certify_bounds *bounds, certify_options how,
                                 const verb_options *options, attest_error *error) {
  subject_result returned = {0};
  certify_case inputs = {0};
  const char *name;
  attest_status status = add_inputs(&inputs, p, error);
  if (!status) status = verb_subject_run(&returned, &name, p->problem, options, error);
  if (!status && returned.outcome == SUBJECT_RETURNED) {
    status = compare(result, p, name, bounds, how, options, error);
    if (!status) certify_case_move_inputs(result, &inputs);
    for (int i = 0; i < OUTPUT_COUNT && !status; i++)
      if (p->problem->output[i].data)
        status = certify_case_input(result, problem_output_names[i], NULL, &p->problem->output[i],
                                    error);
  } else if (!status) {
    int failed = returned.outcome == SUBJECT_FAILED;
    verb_subject_explain(&returned);
    status =
        certify_no_output(result, p->problem, name, failed ? CERTIFY_FAILED : CERTIFY_SKIPPED,
                          failed ? returned.reason : "status(77)",
                          failed ? returned.detail : "it does not serve this problem", &how, error);
    if (!status) certify_case_move_inputs(result, &inputs);
  }
  subject_clear(&returned);
  certify_case_clear(&inputs);
  return status;
}

static attest_status check_problem(report *r, verb_problem *p, const certify_bounds *bounds,
                                   const verb_options *options, int argc, char **argv,
                                   attest_error *error) {
  certify_case result = {0};
  const certify_options how = {.name = case_name(options, p),
                               .allow_empty = verb_option(options, "allow-empty") != NULL,
                               .interrupted = &verb_interrupted,
                               .step = step};
  attest_status status;
  if (verb_has_subject(options)) {
    status = run_subject(&result, p, bounds, how, options, error);
  } else {
    status = compare(&result, p, NULL, bounds, how, options, error);
    if (!status) status = add_inputs(&result, p, error);
  }
  if (!status) {
    result.replay = command_line(argc, argv);
    verb_print_case(&result, options, NULL);
    r->seconds = result.seconds;
    if (report_add(r, &result)) status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  }
  certify_case_clear(&result);
  return status;
}

static attest_status check(report *r, const verb_options *options, int argc, char **argv,
                           attest_error *error) {
  certify_bounds bounds = {0, NULL};
  verb_problem p;
  attest_status status = parse_bounds(&bounds, options, error);
  if (!status) verb_note_unused(options, &bounds);
  if (!status && !(status = verb_problem_open(&p, options, error))) {
    status = check_problem(r, &p, &bounds, options, argc, argv, error);
    verb_problem_close(&p);
  }
  certify_bounds_clear(&bounds);
  return status;
}

int verb_check(int argc, char **argv) {
  verb_options options;
  attest_error error = {0};
  report r = {0};
  int status = verb_options_parse(&options, &definition, argc, argv);
  if (status >= 0) return status;
  if (!(status = verb_refuse_limits(&options)) && !(status = verb_set_threads(&options)) &&
      !(status = verb_can_report(&options))) {
    verb_catch_interrupts();
    attest_status trouble = check(&r, &options, argc, argv, &error);
    if (trouble) verb_trouble(&error);
    r.interrupted = trouble == ATTEST_ERR_INTERRUPT;
    if (trouble && !r.interrupted) report_add_trouble(&r, error.message);
    status = verb_finish(&r, &options);
  }
  report_clear(&r);
  verb_options_clear(&options);
  return status;
}
