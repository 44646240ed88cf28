/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest tolerance: rtol and atol for an existing test, and what they are worth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../certify/tolerance.h"
#include "internal.h"
#include "verbs.h"

static const verb_flag flags[] = {
    {"n", "N", 0, "queries and keys"},
    {"d", "D", 0, "components of queries and keys"},
    {"dv", "DV", 0, "components of values (default: D)"},
    {"dtype", "TYPE", 0, "of inputs and output: float16, bfloat16, float32 (default), float64"},
    {"arithmetic", "MODEL", 0,
     "machine model of the kernel, as for attest check (default: that of the built-in kernel)"},
    {"generator", "NAME", 0,
     "data: gaussian (default) sphere real ties dominant saturated cancelling denormal rational"},
    {"seed", "S", 0, "of the data (default 1)"},
};

static const verb_definition definition = {
    .usage = "attest tolerance KERNEL --n N --d D [flags] [parameters]",
    .summary =
        "Derives tolerances for numpy.testing and torch.testing: one that every kernel of a\n"
        "machine model meets (a-priori bound, on the data named), and a tight one from the errors\n"
        "of the built-in kernel; then says which wrong kernels each of them lets pass.",
    .example = "  attest tolerance softmax --n 1024 --d 64 --dtype bfloat16 --causal top-left\n"
               "  attest tolerance softmax --n 512 --d 128 --arithmetic weights=bf16,block=64",
    .flags = flags,
    .flag_count = sizeof flags / sizeof *flags,
    .accepts = VERB_PROBLEM,
    .operands_min = 1,
    .operands_max = 1,
};

/* ---- flags ---- */

static int read_sizes(tolerance_request *request, const verb_options *options) {
  long n, d, dv, seed;
  if (!verb_option(options, "n") || !verb_option(options, "d"))
    return verb_usage_error("tolerance needs --n and --d: %s", definition.usage);
  if (verb_option_count(&n, options, "n", 0) || verb_option_count(&d, options, "d", 0) ||
      verb_option_count(&dv, options, "dv", d) || verb_option_count(&seed, options, "seed", 1))
    return EXIT_TROUBLE;
  if (n > 65536 || d > 4096 || dv > 4096)
    return verb_usage_error("--n goes up to 65536, --d and --dv up to 4096");
  request->n = n;
  request->d = d;
  request->dv = dv;
  request->seed = (uint64_t)seed;
  return 0;
}

static int read_words(tolerance_request *request, const verb_options *options) {
  const char *dtype = verb_option(options, "dtype"), *generator = verb_option(options, "generator");
  request->dtype = ATTEST_FLOAT32;
  if (dtype && (tensor_dtype_parse(&request->dtype, dtype) || !tensor_dtype_format(request->dtype)))
    return verb_usage_error("--dtype %s: float16, bfloat16, float32 or float64 is wanted", dtype);
  request->generator = generate_find(generator ? generator : "gaussian");
  if (request->generator < 0)
    return verb_usage_error("--generator %s: --help lists the generators", generator);
  for (size_t i = 0; i < options->setting_count; i++) {
    const verb_setting *s = &options->settings[i];
    if (problem_input_find(s->name) >= 0 || !strcmp(s->name, "input") || !strcmp(s->name, "bf16"))
      return verb_usage_error("--%s: tolerance makes its own data (--generator)", s->spelled);
    if (!s->param) continue;
    if (request->param_count == TOLERANCE_PARAMS) return verb_usage_error("too many parameters");
    request->names[request->param_count] = s->spelled;
    request->values[request->param_count++] = s->value;
  }
  return 0;
}

/* ---- printing ---- */

/* Two digits, rounded up: a tolerance must not shrink in print. */
static char *up(char buf[32], double x) {
  double printed = x;
  for (int i = 0; i < 3; i++) {
    snprintf(buf, 32, "%.1e", printed);
    if (!(strtod(buf, NULL) < x)) break;
    printed = x + pow(10, floor(log10(x)) - 1);
  }
  return buf;
}

static void print_tolerance(const char *what, double rtol, double atol) {
  char r[32], a[32];
  printf("\n%s:\n", what);
  if (!isfinite(atol)) {
    printf("  none: the model admits any result on these data\n");
    return;
  }
  up(r, rtol);
  up(a, atol);
  printf("  numpy.testing.assert_allclose(out, reference, rtol=%s, atol=%s)\n", r, a);
  printf("  torch.testing.assert_close(out, reference, rtol=%s, atol=%s)\n", r, a);
}

static void print_mutants(const tolerance_result *t) {
  printf("\nmutants, and the fraction of elements that each tolerance finds (0: it lets them "
         "pass):\n");
  printf("  %-22s %10s %10s\n", "", "a-priori", "measured");
  for (size_t i = 0; i < t->mutant_count; i++)
    printf("  %-22s %10.4f %10.4f\n", t->mutants[i].name, t->mutants[i].beyond_theory,
           t->mutants[i].beyond_measured);
}

static void print(const tolerance_request *r, const tolerance_result *t) {
  char a[32], b[32], c[32], d[32], e[32];
  printf("TOLERANCE kernel=%s n=%lld d=%lld dv=%lld dtype=%s generator=%s seed=%llu elements=%lld "
         "apriori.median=%s apriori.max=%s error.median=%s error.p99=%s error.max=%s\n",
         r->kernel, (long long)r->n, (long long)r->d, (long long)r->dv, tensor_dtype_name(r->dtype),
         generate_names[r->generator], (unsigned long long)r->seed, (long long)t->elements,
         up(a, t->theory_median), up(b, t->theory_max), up(c, t->error_median), up(d, t->error_99),
         up(e, t->error_max));
  print_tolerance("every kernel of the machine model meets (a-priori bound, on these data)",
                  t->rtol, t->theory_atol);
  print_tolerance("four times what the built-in kernel needs (measured, on these data)", t->rtol,
                  t->measured_atol);
  print_mutants(t);
  printf("\nreference: the exact result in the same type, from attest reference\n");
}

int verb_tolerance(int argc, char **argv) {
  verb_options options;
  attest_error error;
  char data[4096];
  tolerance_request request = {0};
  tolerance_result result;
  int status = verb_options_parse(&options, &definition, argc, argv);
  if (status >= 0) return status;
  request.kernel = options.operands[0];
  request.arithmetic = verb_option(&options, "arithmetic");
  status = verb_set_threads(&options);
  if (!status) status = read_sizes(&request, &options);
  if (!status) status = read_words(&request, &options);
  if (!status && !strcmp(generate_names[request.generator], "real")) {
    status = verb_find_data(data, NULL, "stories260k/q.npy");
    request.data = data;
  }
  if (!status && tolerance_measure(&result, &request, &error))
    status = verb_trouble(&error);
  else if (!status)
    print(&request, &result);
  verb_options_clear(&options);
  return status;
}
