/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One runner for all unit tests. suites.h is generated from the file names. */
#include "tests.h"

#define TEST(name) void test_##name(Suite *suite);
#include "suites.h"
#undef TEST

uint64_t tests_seed(void) {
  const char *text = getenv("ATTEST_SEED");
  return text ? strtoull(text, NULL, 0) : 1;
}

int64_t tests_trials(int64_t n) {
  const char *text = getenv("ATTEST_TRIALS");
  double share = text ? strtod(text, NULL) : 1;
  return share > 0 && share < 1 ? (int64_t)(share * (double)n) + 1 : n;
}

static void print_seed(void) {
  printf("seed %llu (set ATTEST_SEED to change it)\n", (unsigned long long)tests_seed());
}

static void print_suites(void) {
#define TEST(name) puts(#name);
#include "suites.h"
#undef TEST
}

/* run-tests [--list | --seed] */
int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "--list")) return print_suites(), EXIT_SUCCESS;
  print_seed();
  if (argc > 1 && !strcmp(argv[1], "--seed")) return EXIT_SUCCESS;
  SRunner *runner = srunner_create(NULL);
#define TEST(name)                                                                                 \
  {                                                                                                \
    Suite *suite = suite_create(#name);                                                            \
    test_##name(suite);                                                                            \
    srunner_add_suite(runner, suite);                                                              \
  }
#include "suites.h"
#undef TEST
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
