/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* YAML and JSON: plans, claim files, certificates and benchmarks. An accepted plan can name all its
 * cases. */
#include "../../src/certify/plan.h"
#include "../../src/claims/claims.h"
#include "../../src/report/compare.h"
#include "fuzz.h"

static void try_plan(const char *path) {
  plan *p;
  attest_error error;
  if (plan_open(&p, path, &error)) return;
  size_t count = plan_count(p);
  for (size_t i = 0; i < count && i < 100; i++) {
    free(plan_case_name(p, i));
    free(plan_case_name(p, count - 1 - i));
  }
  plan_needs_data(p);
  plan_close(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[32];
  claim_file claims;
  compare_counts counts;
  attest_error error;
  int descriptor = fuzz_file(path, data, size);
  static FILE *nowhere;
  if (!nowhere) nowhere = fopen("/dev/null", "w");
  try_plan(path);
  if (!claim_file_open(&claims, path, &error)) claim_file_close(&claims);
  compare_certificates(&counts, nowhere, path, path, 2, &error);
  if (compare_is_benchmark(path)) compare_benchmarks(&counts, nowhere, path, path, 2, &error);
  close(descriptor);
  return 0;
}
