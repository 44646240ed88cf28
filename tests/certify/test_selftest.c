/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The self-test must be able to fail: libraries that are no mutants, or no sound copies. */
#include "../../src/certify/selftest.h"
#include "../tests.h"

static int chosen;
static void choose(int number) {
  chosen = number;
}

static const mutant harmless[] = {
    {"kernel/harmless", "none", "kernel sparsemax", 1, 1},
    {"comparator/harmless", "none", "comparator", 1, 1},
};

/* The library itself, whatever mutant is chosen. */
static mutant_library library(void) {
  return (mutant_library){.count = 2,
                          .list = harmless,
                          .choose = choose,
                          .room = certify_room,
                          .fft = toeplitz_fft_attention,
                          .run = certify_run,
                          .reference = attest_reference,
                          .open = tensor_file_open,
                          .find = tensor_file_find,
                          .close = tensor_file_close};
}

static selftest_totals run(const mutant_library *library) {
  selftest *test;
  attest_error error;
  selftest_totals totals = {0};
  ck_assert_msg(selftest_open(&test, library, &error) == ATTEST_OK, "%s", error.message);
  ck_assert_msg(selftest_begin(&totals, test, &error) == ATTEST_OK, "%s", error.message);
  for (size_t i = 0; i < selftest_plan_count; i++)
    selftest_sound_case(&totals, test, i);
  for (size_t i = 0; i < totals.known; i++)
    ck_assert_ptr_null(selftest_known_wrong(&totals, test, i));
  for (size_t m = 0; m < library->count; m++) {
    selftest_result result;
    ck_assert_msg(selftest_run_mutant(&result, &totals, test, m, &error) == ATTEST_OK, "%s",
                  error.message);
  }
  selftest_close(test);
  return totals;
}

START_TEST(a_mutant_that_changes_nothing_survives_and_the_test_fails) {
  mutant_library lib = library();
  selftest_totals totals = run(&lib);
  ck_assert_uint_eq(totals.mutants, 2);
  ck_assert_uint_eq(totals.killed, 0);
  ck_assert_uint_eq(totals.not_applied, 2);
  ck_assert_uint_eq(totals.sound_failed, 0);
  ck_assert(!selftest_holds(&totals));
}
END_TEST

/* A comparator that says certified to everything, alive or not: known verdicts kill it. */
static attest_status agreeable(certify_case *result, const certify_subject *subjects, size_t count,
                               const certify_options *options, attest_error *error) {
  certify_options allowing = *options;
  certify_bounds bounds = {0, NULL};
  certify_subject mine = subjects[0];
  allowing.allow_empty = 1;
  mine.bounds = &bounds;
  attest_status status = certify_bounds_add(&bounds, "abs<=1e300", error);
  if (!status) status = certify_run(result, &mine, count, &allowing, error);
  certify_bounds_clear(&bounds);
  return status;
}

START_TEST(a_comparator_with_another_verdict_is_killed) {
  mutant_library lib = library();
  lib.count = 1;
  lib.list = harmless + 1;
  lib.run = agreeable;
  selftest_totals totals = run(&lib);
  ck_assert_uint_eq(totals.killed, 1);
  ck_assert(selftest_holds(&totals));
}
END_TEST

START_TEST(a_mutant_whose_place_is_gone_does_not_count) {
  const mutant gone = {"comparator/gone", "none", "comparator", 0, 1};
  mutant_library lib = library();
  lib.count = 1;
  lib.list = &gone;
  lib.run = agreeable;
  selftest_totals totals = run(&lib);
  ck_assert_uint_eq(totals.killed, 0);
  ck_assert_uint_eq(totals.not_applied, 1);
  ck_assert(!selftest_holds(&totals));
}
END_TEST

START_TEST(no_mutants_at_all_is_no_success) {
  mutant_library lib = library();
  lib.count = 0;
  selftest_totals totals = run(&lib);
  ck_assert(!selftest_holds(&totals));
}
END_TEST

START_TEST(usual_rules_say_what_they_say_elsewhere) {
  enum { N = 4 };
  const double reference[N] = {1, 2, -3, 0.5}, baseline[N] = {1, 2, -3, 0.5 + 1e-7};
  double got[N] = {1, 2, -3, 0.5};
  enum { CLOSE_3 = 1, CLOSE_5 = 2, TWICE = 4, NMSE = 8, ABS = 16, RMS = 32 };
  ck_assert_uint_eq(selftest_rules(got, reference, baseline, N), 0);
  got[3] = 0.5 + 1.9e-7;
  ck_assert_uint_eq(selftest_rules(got, reference, baseline, N), 0);
  got[3] = 0.5 + 2.1e-7;
  ck_assert_uint_eq(selftest_rules(got, reference, baseline, N), TWICE);
  got[3] = 0.5 + 1e-4;
  ck_assert_uint_eq(selftest_rules(got, reference, baseline, N), TWICE | CLOSE_5);
  got[3] = 0.51; /* 1e-4 of 14.25 in squares */
  ck_assert_uint_eq(selftest_rules(got, reference, baseline, N), TWICE | CLOSE_3 | CLOSE_5);
  got[3] = 0.9; /* 0.16 of 14.25 */
  ck_assert_uint_eq(selftest_rules(got, reference, baseline, N),
                    TWICE | CLOSE_3 | CLOSE_5 | NMSE | ABS | RMS);
  got[0] = NAN;
  ck_assert_uint_eq(selftest_rules(got, reference, baseline, N), 63);
}
END_TEST

void test_selftest(Suite *suite) {
  TCase *tc = tcase_create("selftest");
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, a_mutant_that_changes_nothing_survives_and_the_test_fails);
  tcase_add_test(tc, a_comparator_with_another_verdict_is_killed);
  tcase_add_test(tc, a_mutant_whose_place_is_gone_does_not_count);
  tcase_add_test(tc, no_mutants_at_all_is_no_success);
  tcase_add_test(tc, usual_rules_say_what_they_say_elsewhere);
  suite_add_tcase(suite, tc);
}
