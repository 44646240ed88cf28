/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest reference: exact results as decimals or correctly rounded, as one file or a bundle. */
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../report/progress.h"
#include "../report/reference.h"
#include "../report/write.h"
#include "bundle.h"
#include "options.h"
#include "verbs.h"

enum { DIGITS_DEFAULT = 20, DIGITS_MAX = 1000000 };

typedef enum { FILE_JSON, FILE_NPY, FILE_SAFETENSORS, FILE_UNKNOWN } file_kind;

/* One run of the verb. */
typedef struct {
  const verb_options *options;
  verb_problem p;
  const attest_problem *problem;
  long digits;
  attest_dtype dtype;
  int what; /* OUTPUT_*: the one that a .npy file holds, or that is wanted beside out and lse */
  report_reference_input *inputs;
  size_t input_count;
  progress *progress;
} reference_job;

static volatile sig_atomic_t interrupted;
static void on_interrupt(int signal_number) {
  (void)signal_number;
  interrupted = 1;
}

static void step(void *context, int64_t pairs) {
  progress_step(context, pairs);
}

static file_kind kind_of(const char *path) {
  static const char *const suffixes[] = {".json", ".npy", ".safetensors"};
  for (int i = 0; i < FILE_UNKNOWN; i++) {
    size_t n = strlen(path), m = strlen(suffixes[i]);
    if (n > m && !strcmp(path + n - m, suffixes[i])) return (file_kind)i;
  }
  return FILE_UNKNOWN;
}

/* ---- computing
 * -------------------------------------------------------------------------------------- */

static reference_options run_options(reference_job *job, const char *what) {
  job->progress = progress_start(what, certify_pairs(job->problem));
  return (reference_options){&interrupted, step, job->progress, job->what == OUTPUT_FINAL_STATE};
}

static attest_status compute_decimals(reference_decimals decimals[], reference_job *job,
                                      attest_error *error) {
  int64_t open;
  reference_options options = run_options(job, "reference");
  attest_status status =
      certify_reference_decimals(decimals, &open, job->problem, job->digits, &options, error);
  progress_end(job->progress);
  if (!status && open)
    fprintf(stderr,
            "attest: %lld elements have status open: their digits are not certain, their radius "
            "bounds the error\n",
            (long long)open);
  return status;
}

/* Allocates and fills the outputs wanted, all in one dtype, but indices in int64. */
static attest_status compute_rounded(attest_tensor results[], const int wanted[],
                                     reference_job *job, attest_error *error) {
  for (int output = 0; output < OUTPUT_COUNT; output++) {
    int ndim;
    int64_t shape[ATTEST_MAX_DIMS];
    if (!wanted[output]) continue;
    problem_output_shape(&ndim, shape, job->problem, output);
    attest_dtype dtype = output == OUTPUT_INDICES ? ATTEST_INT64 : job->dtype;
    attest_tensor t = attest_tensor_of(NULL, dtype, ndim, shape);
    t.data = calloc((size_t)tensor_elements(&t) + 1, tensor_dtype_size(dtype));
    if (!t.data) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for the output");
    results[output] = t;
  }
  reference_options options = run_options(job, "reference");
  attest_status status = certify_reference_round(results, job->problem, &options, error);
  progress_end(job->progress);
  return status;
}

static void free_results(attest_tensor results[]) {
  for (int output = 0; output < OUTPUT_COUNT; output++)
    free(results[output].data);
}

/* ---- writing
 * ------------------------------------------------------------------------------------------ */

static attest_status write_json(const char *path, const reference_decimals decimals[],
                                const reference_job *job, attest_error *error) {
  tensor_writer *writer;
  attest_status status = tensor_writer_open(&writer, path, error);
  if (status) return status;
  if (report_reference_json(tensor_writer_stream(writer), job->problem, job->inputs,
                            job->input_count, job->digits, decimals) == 0)
    return tensor_writer_commit(writer, error);
  tensor_writer_abort(writer);
  return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for %s", path);
}

static attest_status output_json(const char *path, reference_job *job, attest_error *error) {
  reference_decimals decimals[OUTPUT_COUNT];
  attest_status status = compute_decimals(decimals, job, error);
  if (!status) status = write_json(path, decimals, job, error);
  certify_reference_clear(decimals);
  return status;
}

/* What a file with room for several outputs holds: out, what there is of lse and indices, and what
 * was asked for. */
static void want_outputs(int wanted[], const reference_job *job) {
  const problem_kernel *kernel = job->problem->kernel;
  wanted[OUTPUT_OUT] = 1;
  wanted[OUTPUT_LSE] = problem_kernel_returns(kernel, OUTPUT_LSE);
  wanted[OUTPUT_INDICES] = problem_kernel_returns(kernel, OUTPUT_INDICES);
  wanted[job->what] = 1;
}

static attest_status output_tensors(const char *path, file_kind kind, reference_job *job,
                                    attest_error *error) {
  attest_tensor results[OUTPUT_COUNT] = {0}, list[OUTPUT_COUNT];
  const char *names[OUTPUT_COUNT];
  int wanted[OUTPUT_COUNT] = {0};
  size_t count = 0;
  if (kind == FILE_SAFETENSORS) want_outputs(wanted, job);
  wanted[job->what] = 1;
  attest_status status = compute_rounded(results, wanted, job, error);
  for (int output = 0; output < OUTPUT_COUNT; output++)
    if (wanted[output]) {
      names[count] = problem_output_names[output];
      list[count++] = results[output];
    }
  if (!status)
    status = kind == FILE_NPY ? tensor_write_npy(path, &list[0], error)
                              : tensor_write_safetensors(path, count, names, list, error);
  free_results(results);
  return status;
}

/* ---- bundles
 * ------------------------------------------------------------------------------------------- */

/* NAME.npy, or NAME.safetensors where npy has no such dtype. */
static attest_status bundle_tensor(bundle *b, const char *name, const attest_tensor *t,
                                   attest_error *error) {
  char file[64];
  int npy = t->dtype != ATTEST_BFLOAT16;
  snprintf(file, sizeof file, "%s.%s", name, npy ? "npy" : "safetensors");
  const char *path = bundle_file(b, file);
  if (!path) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  return npy ? tensor_write_npy(path, t, error)
             : tensor_write_safetensors(path, 1, &name, t, error);
}

static attest_status bundle_problem(bundle *b, const attest_problem *problem, attest_error *error) {
  const char *path = bundle_file(b, "problem.json");
  return path ? report_write_text(path, problem_json(problem), error)
              : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
}

static attest_status fill_bundle(bundle *b, const reference_decimals decimals[],
                                 const attest_tensor results[], reference_job *job,
                                 attest_error *error) {
  attest_status status = ATTEST_OK;
  for (size_t i = 0; i < job->input_count && !status; i++) {
    int index = job->inputs[i].index;
    status = bundle_tensor(b, problem_input_names[index], &job->problem->input[index], error);
  }
  for (int output = 0; output < OUTPUT_COUNT && !status; output++)
    if (results[output].data)
      status = bundle_tensor(b, problem_output_names[output], &results[output], error);
  if (!status) status = bundle_problem(b, job->problem, error);
  if (status) return status;
  const char *path = bundle_file(b, "reference.json");
  return path ? write_json(path, decimals, job, error)
              : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
}

static attest_status output_bundle(const char *folder, reference_job *job, attest_error *error) {
  bundle *b;
  reference_decimals decimals[OUTPUT_COUNT] = {0};
  attest_tensor results[OUTPUT_COUNT] = {0};
  int wanted[OUTPUT_COUNT] = {0};
  want_outputs(wanted, job);
  attest_status status = bundle_open(&b, folder, error);
  if (status) return status;
  status = compute_rounded(results, wanted, job, error);
  if (!status) status = compute_decimals(decimals, job, error);
  if (!status) status = fill_bundle(b, decimals, results, job, error);
  if (status)
    bundle_abort(b);
  else
    status = bundle_commit(b, error);
  certify_reference_clear(decimals);
  free_results(results);
  return status;
}

/* ---- the verb
 * -------------------------------------------------------------------------------------------- */

/* The digest of the file, which is taken once where several inputs are in it. */
static attest_status file_digest(char hex[65], const reference_job *job, size_t i,
                                 attest_error *error) {
  const tensor_file *file = job->p.tensors[i].file;
  for (size_t k = 0; k + 1 < job->input_count; k++)
    if (!strcmp(job->inputs[k].path, tensor_file_path(file))) {
      memcpy(hex, job->inputs[k].sha256, sizeof job->inputs[k].sha256);
      return ATTEST_OK;
    }
  return tensor_file_sha256(hex, file, error);
}

static attest_status list_inputs(reference_job *job, attest_error *error) {
  job->inputs = calloc(job->p.tensor_count + 1, sizeof *job->inputs);
  if (!job->inputs) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (size_t i = 0; i < job->p.tensor_count; i++) {
    const verb_tensor *t = &job->p.tensors[i];
    if (t->is_output) continue;
    report_reference_input *input = &job->inputs[job->input_count++];
    input->index = t->index;
    input->path = tensor_file_path(t->file);
    attest_status status = file_digest(input->sha256, job, i, error);
    if (status) return status;
  }
  return ATTEST_OK;
}

static attest_status run(reference_job *job, const char *output, const char *folder,
                         attest_error *error) {
  attest_status status = verb_problem_open(&job->p, job->options, error);
  if (status) return status;
  job->problem = job->p.problem;
  if (!problem_kernel_returns(job->problem->kernel, job->what)) {
    status = attest_fail(error, ATTEST_ERR_INPUT, "--what %s: kernel %s has %s",
                         problem_output_names[job->what], job->problem->kernel->name,
                         job->problem->kernel->outputs);
    verb_problem_close(&job->p);
    return status;
  }
  if (!verb_option(job->options, "dtype")) job->dtype = job->problem->input[INPUT_Q].dtype;
  status = list_inputs(job, error);
  if (!status && folder)
    status = output_bundle(folder, job, error);
  else if (!status && kind_of(output) == FILE_JSON)
    status = output_json(output, job, error);
  else if (!status)
    status = output_tensors(output, kind_of(output), job, error);
  free(job->inputs);
  verb_problem_close(&job->p);
  return status;
}

/* -1: the flags fit together; else the exit status after the complaint. */
static int check_flags(reference_job *job, const char *output, const char *folder) {
  const verb_options *options = job->options;
  const char *dtype = verb_option(options, "dtype"), *what = verb_option(options, "what");
  int has_digits = verb_option(options, "digits") != NULL;
  file_kind kind = output ? kind_of(output) : FILE_UNKNOWN;
  if (!output == !folder)
    return verb_usage_error(
        "where to? --output FILE (.json, .npy or .safetensors) or --bundle DIR, "
        "one of them");
  if (output && kind == FILE_UNKNOWN)
    return verb_usage_error("--output %s: the name must end in .json, .npy or .safetensors",
                            output);
  if (kind == FILE_JSON && dtype)
    return verb_usage_error("--dtype rounds to a .npy or .safetensors file; a .json file takes "
                            "--digits");
  if (output && kind != FILE_JSON && has_digits)
    return verb_usage_error("--digits writes decimals to a .json file; a %s file takes --dtype",
                            kind == FILE_NPY ? ".npy" : ".safetensors");
  job->what = what ? problem_output_find(what) : OUTPUT_OUT;
  if (job->what < OUTPUT_OUT)
    return verb_usage_error("--what %s: out, lse, final-state or indices", what);
  if (what && kind != FILE_NPY && job->what != OUTPUT_FINAL_STATE)
    return verb_usage_error("--what %s chooses the output that a .npy file holds; other files "
                            "hold out, lse and indices, and final-state where it is asked for",
                            what);
  if (dtype && (tensor_dtype_parse(&job->dtype, dtype) || !tensor_dtype_format(job->dtype)))
    return verb_usage_error("--dtype %s: float16, bfloat16, float32 or float64", dtype);
  if (verb_option_count(&job->digits, options, "digits", DIGITS_DEFAULT)) return EXIT_TROUBLE;
  if (job->digits > DIGITS_MAX)
    return verb_usage_error("--digits %ld: at most %d", job->digits, DIGITS_MAX);
  return -1;
}

static const verb_flag flags[] = {
    {"output", "FILE", 0, ".json: decimals; .npy, .safetensors: correctly rounded"},
    {"bundle", "DIR", 0,
     "a new folder: inputs, out, lse, indices, reference.json, problem.json, SHA256SUMS"},
    {"digits", "D", 0, "significant decimal digits, each correct (default 20)"},
    {"dtype", "T", 0, "float16, bfloat16, float32 or float64 (default: that of q)"},
    {"what", "out|lse|final-state|indices", 0,
     "which output a .npy file holds (default out); final-state: other files hold it too"},
};

static const verb_definition definition = {
    .usage = "attest reference KERNEL --q F --k F --v F [params] --output F | --bundle DIR",
    .summary = "Writes what a kernel should return: every element of out, lse and indices (or "
               "final-state),\n"
               "computed from the exact inputs and correctly rounded, to D digits or to a dtype.",
    .example = "  attest reference softmax --q q.npy --k k.npy --v v.npy --causal top-left \\\n"
               "    --digits 50 --output reference.json\n"
               "  attest reference softmax --q q.npy --k k.npy --v v.npy --dtype float32 "
               "--output out.npy",
    .flags = flags,
    .flag_count = sizeof flags / sizeof *flags,
    .accepts = VERB_PROBLEM,
    .operands_min = 1,
    .operands_max = 1,
};

int verb_reference(int argc, char **argv) {
  verb_options options;
  attest_error error;
  int status = verb_options_parse(&options, &definition, argc, argv);
  if (status >= 0) return status;
  reference_job job = {.options = &options};
  const char *output = verb_option(&options, "output"), *folder = verb_option(&options, "bundle");
  long threads = 0;
  status = check_flags(&job, output, folder);
  if (status < 0 && verb_option_count(&threads, &options, "threads", omp_get_max_threads()))
    status = EXIT_TROUBLE;
  if (status < 0) {
    omp_set_num_threads((int)threads);
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
    sigaction(SIGINT, &action, NULL); /* the second Ctrl-C does not wait */
    status = run(&job, output, folder, &error) ? verb_trouble(&error) : EXIT_HOLDS;
  }
  verb_options_clear(&options);
  return status;
}
