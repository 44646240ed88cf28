/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Help texts, all from the tables, and the table of verbs itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "verbs.h"

typedef struct {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *summary;
} verb;

static const verb verbs[] = {
    {"check", verb_check, "certify or refute what a kernel returned"},
    {"certify", verb_certify, "run a plan, or certify the built-in kernels"},
    {"reference", verb_reference, "write exact results, as decimals or correctly rounded"},
    {"sweep", verb_sweep, "compare a float32 function with the exact one on every float32"},
    {"tolerance", verb_tolerance, "derive rtol and atol, and say what they are worth"},
    {"report", verb_report, "say what changed between two certificates"},
    {"claims", verb_claims, "decide numbers and statements of papers"},
    {"eval", verb_eval, "print the value of an expression over real numbers"},
    {"inspect", verb_inspect, "say what a tensor file holds"},
    {"kernels", verb_kernels, "list the kernels"},
    {"bench", verb_bench, "measure the speed of kernels and tiers"},
    {"selftest", verb_selftest, "refute mutants of the kernels and of the comparator"},
};
static const size_t verb_count = sizeof verbs / sizeof *verbs;

enum { COLUMN = 30, WIDTH = 90 };

/* Text that starts in column `at`, broken between words and continued in COLUMN. */
static void print_wrapped(int at, const char *text) {
  for (const char *space = ""; *text; space = " ") {
    int length = (int)strcspn(text, " ");
    if (at > COLUMN && at + 1 + length > WIDTH) {
      printf("\n%*s", COLUMN, "");
      at = COLUMN;
      space = "";
    }
    at += printf("%s%.*s", space, length, text);
    text += length + (text[length] == ' ');
  }
  printf("\n");
}

/* "  --name ARGUMENT      text" with the text in its column. */
static void print_flag(const char *name, const char *argument, const char *text) {
  char row[96];
  snprintf(row, sizeof row, "--%s%s%s", name, *argument ? " " : "", argument);
  verb_help_row(row, text);
}

void verb_help_row(const char *name, const char *text) {
  int width = printf("  %s", name);
  if (width >= COLUMN) width = printf("\n") - 1;
  printf("%*s", COLUMN - width, "");
  print_wrapped(COLUMN, text);
}

static void print_verb_flags(const verb_flag *flags, size_t count) {
  for (size_t i = 0; i < count; i++)
    print_flag(flags[i].name, flags[i].argument ? flags[i].argument : "", flags[i].help);
}

static void print_params(const problem_kernel *kernel) {
  char *text = problem_help(kernel);
  if (text) fputs(text, stdout);
  free(text);
}

static void print_tensors(unsigned accepts) {
  static const struct {
    const char *name, *text;
  } tensors[] = {{"q", "queries"}, {"k", "keys"}, {"v", "values"}};
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
    print_flag(tensors[i].name, "F[:NAME]", tensors[i].text);
  if (accepts & VERB_OUTPUTS) {
    print_flag("out", "F[:NAME]", "the output that the kernel returned");
    print_flag("lse", "F[:NAME]", "the log-sum-exp that it returned");
    print_flag("final-state", "F[:NAME]", "the state that it ended with (taylor, linear)");
    print_flag("indices", "F[:NAME]",
               "the keys that it selected (top-k): int32 or int64, min(topk, keys) a query in any "
               "order, -1 where a query sees fewer");
  }
}

void verb_help_print(const verb_definition *definition, const problem_kernel *kernel) {
  printf("usage: %s\n\n%s\n", definition->usage, definition->summary);
  if (definition->example) printf("\nexample:\n%s\n", definition->example);
  if (definition->accepts & VERB_PROBLEM) {
    printf("\ntensors (.npy, .npz or .safetensors):\n");
    print_tensors(definition->accepts);
  }
  printf("\nflags:\n");
  print_verb_flags(definition->flags, definition->flag_count);
  if (definition->accepts & VERB_PROBLEM)
    print_verb_flags(verb_problem_flags, verb_problem_flag_count);
  print_flag("help", "", "this text");
  if (definition->accepts & VERB_PROBLEM) {
    if (kernel)
      printf("\nparameters of %s:\n", kernel->name);
    else
      printf("\nparameters of the problem (name a kernel to see its own):\n");
    print_params(kernel);
  }
}

static void print_usage(FILE *stream) {
  fprintf(stream, "attest certifies the numerics of attention kernels (forward pass only).\n\n"
                  "usage: attest VERB [arguments]\n\n");
  for (size_t i = 0; i < verb_count; i++)
    fprintf(stream, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
  fprintf(stream,
          "\nattest VERB --help explains a verb; attest --version prints the version.\n"
          "exit status: 0 all holds, 1 something is refuted, 2 trouble, 3 something is undecided\n"
          "\nexample:\n"
          "  attest check softmax --q q.npy --k k.npy --v v.npy --out out.npy --causal top-left\n");
}

int verb_dispatch(int argc, char **argv) {
  if (argc < 2) {
    print_usage(stderr);
    return EXIT_TROUBLE;
  }
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
    print_usage(stdout);
    return EXIT_HOLDS;
  }
  if (!strcmp(argv[1], "--version")) {
    printf("attest %s\n", ATTEST_VERSION);
    return EXIT_HOLDS;
  }
  if (!strcmp(argv[1], "function-worker")) return verb_function_worker(argc - 1, argv + 1);
  if (!strcmp(argv[1], "subject-worker")) return verb_subject_worker(argc - 1, argv + 1);
  if (!strcmp(argv[1], "subject-watcher")) return verb_subject_watcher(argc - 1);
  for (size_t i = 0; i < verb_count; i++)
    if (!strcmp(argv[1], verbs[i].name)) return verbs[i].run(argc - 1, argv + 1);
  return verb_usage_error("unknown verb %s: attest --help lists the verbs", argv[1]);
}
