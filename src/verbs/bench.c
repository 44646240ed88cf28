/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest bench: what certification costs beside the kernel that is certified. All figures of a line
 * come from interleaved repetitions of one run; medians; ratios are the thing to look at. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "../tensor/isa.h"
#include "bench.h"
#include "internal.h"
#include "verbs.h"

static const char *const part_names[] = {"kernels",  "softmax", "taylor",
                                         "toeplitz", "sparse",  "sweep"};
enum { KERNELS, SOFTMAX, TAYLOR, TOEPLITZ, SPARSE, SWEEP, PARTS };

static const verb_flag flags[] = {
    {"kernel", "PART", 0,
     "only kernels, softmax, taylor, toeplitz, sparse or sweep (default: all)"},
    {"quick", NULL, 0, "small sizes only: less than a minute"},
    {"threads", "N", 0, "threads where all are used (default: all)"},
    {"profile", "PIECE", 0,
     "run one piece of work alone on one thread (once with --quick) and print its time and size"},
    {"json", "FILE", 0, "also write the figures as JSON, for attest report OLD.json NEW.json"},
};

static const verb_definition definition = {
    .usage = "attest bench [--kernel PART] [--quick] [--threads N] [--json FILE] [--profile PIECE]",
    .summary =
        "Measures speed on seeded random tensors. kernels: every kernel of the suite on one head,\n"
        "beside the machine's measured peak of fused multiply-adds, certified, with the largest\n"
        "backward error of what it returned. softmax: the float32 kernel, the double tier without\n"
        "and with the terms of the backward error, the ball tier; whole causal heads through the\n"
        "certifier. taylor: prefill and decoding beside the softmax kernel. toeplitz: its forms "
        "and\n"
        "the lengths at which they cross. sparse: sparse weights and sparse attention.\n"
        "sweep: a slice of all float32 inputs of exp, beside MPFR. At the "
        "end,\n"
        "what is wanted of all that and what was measured.",
    .example = "  attest bench --quick\n  attest bench --json now.json",
    .flags = flags,
    .flag_count = sizeof flags / sizeof *flags,
};

static attest_status run_part(bench_log *log, int part, int quick, int threads,
                              attest_error *error) {
  omp_set_num_threads(1);
  switch (part) {
  case KERNELS:
    return bench_kernels(log, quick, threads, error);
  case SOFTMAX:
    return bench_softmax(log, quick, threads, error);
  case TAYLOR:
    return bench_taylor(log, quick, error);
  case TOEPLITZ:
    return bench_toeplitz(log, quick, error);
  case SPARSE:
    return bench_sparse(log, quick, error);
  default:
    return bench_sweep(log, quick, error);
  }
}

/* only < 0: all parts. */
static attest_status run(bench_log *log, int only, int quick, int threads, attest_error *error) {
  attest_status status = ATTEST_OK;
  double rate = 1e-9 * isa_fma_rate(0.2);
  printf(
      "instruction set %s, %d threads; peak of fused multiply-adds on one thread: %.1f GFLOP/s in\n"
      "float32, half as much in float64\n",
      isa_name(isa_chosen()), threads, rate);
  bench_figure(log, rate, "GFLOP/s", "peak/float32");
  for (int part = 0; part < PARTS && !status; part++)
    if (only < 0 || only == part) status = run_part(log, part, quick, threads, error);
  if (!status) bench_goals_print(log);
  return status;
}

static int profile(const char *piece, int once) {
  attest_error error;
  omp_set_num_threads(1);
  attest_status status = bench_profile_print(piece, once, &error);
  return status ? verb_trouble(&error) : 0;
}

int verb_bench(int argc, char **argv) {
  verb_options options;
  attest_error error;
  long threads;
  int status = verb_options_parse(&options, &definition, argc, argv), only = -1;
  if (status >= 0) return status;
  status = verb_option_count(&threads, &options, "threads", omp_get_max_threads());
  const char *part = verb_option(&options, "kernel"), *path = verb_option(&options, "json");
  for (int i = 0; part && i < PARTS; i++)
    if (!strcmp(part, part_names[i])) only = i;
  if (!status && part && only < 0)
    status = verb_usage_error(
        "--kernel %s: kernels, softmax, taylor, toeplitz, sparse or sweep is wanted", part);
  if (!status && path) status = verb_can_report(&options);
  const char *piece = verb_option(&options, "profile");
  if (!status && piece) {
    status = profile(piece, verb_option(&options, "quick") != NULL);
    verb_options_clear(&options);
    return status;
  }
  bench_log *log = status ? NULL : bench_log_open();
  if (!status) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    attest_status run_status =
        log ? run(log, only, verb_option(&options, "quick") != NULL, (int)threads, &error)
            : attest_fail(&error, ATTEST_ERR_MEMORY, "out of memory");
    if (!run_status && path) run_status = bench_log_write(log, path, &error);
    if (run_status) status = verb_trouble(&error);
  }
  bench_log_close(log);
  verb_options_clear(&options);
  return status;
}
