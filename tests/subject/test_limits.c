/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Limits of subjects: what counts as a time and as a size. */

#include "../../src/subject/subject.h"
#include "../tests.h"

START_TEST(times_are_positive_decimals_with_a_unit_or_without) {
  static const struct {
    const char *text;
    double seconds;
  } good[] = {{"60", 60}, {"60s", 60}, {"1.5m", 90}, {"2h", 7200}, {".25", 0.25}, {"1e3", -1}};
  double seconds;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    int expected = good[i].seconds < 0 ? -1 : 0;
    ck_assert_int_eq(subject_parse_seconds(&seconds, good[i].text), expected);
    if (!expected) ck_assert_double_eq(seconds, good[i].seconds);
  }
  static const char *const bad[] = {"",    "0",   "-1", "s",   "1ss",  "1d",
                                    "inf", "nan", " 1", "1 s", "0x10", "1e99"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    ck_assert_msg(subject_parse_seconds(&seconds, bad[i]) == -1, "%s", bad[i]);
}
END_TEST

START_TEST(sizes_count_in_powers_of_1024) {
  uint64_t bytes;
  ck_assert_int_eq(subject_parse_bytes(&bytes, "500M"), 0);
  ck_assert_uint_eq(bytes, UINT64_C(500) << 20);
  ck_assert_int_eq(subject_parse_bytes(&bytes, "8G"), 0);
  ck_assert_uint_eq(bytes, UINT64_C(8) << 30);
  ck_assert_int_eq(subject_parse_bytes(&bytes, "1.5K"), 0);
  ck_assert_uint_eq(bytes, 1536);
  ck_assert_int_eq(subject_parse_bytes(&bytes, "none"), 0);
  ck_assert_uint_eq(bytes, 0);
  static const char *const bad[] = {"", "0", "5X", "-5M", "5MB", "many", "99999999T"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    ck_assert_msg(subject_parse_bytes(&bytes, bad[i]) == -1, "%s", bad[i]);
}
END_TEST

START_TEST(the_default_is_a_part_of_what_is_free) {
  uint64_t bytes = subject_default_memory();
  ck_assert_uint_gt(bytes, 1 << 20);
  ck_assert_uint_lt(bytes, UINT64_C(1) << 50);
}
END_TEST

void test_limits(Suite *suite) {
  TCase *c = tcase_create("limits");
  tcase_add_test(c, times_are_positive_decimals_with_a_unit_or_without);
  tcase_add_test(c, sizes_count_in_powers_of_1024);
  tcase_add_test(c, the_default_is_a_part_of_what_is_free);
  suite_add_tcase(suite, c);
}
