/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <fenv.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "../../src/enclosure/enclosure.h"
#include "../tests.h"

START_TEST(default_environment_passes) {
  ck_assert_int_eq(enclosure_environment_check(), 0);
}
END_TEST

START_TEST(rounding_modes_are_seen_and_put_right) {
  const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (int i = 0; i < 3; i++) {
    fesetround(modes[i]);
    int seen = enclosure_environment_check();
    enclosure_environment_restore();
    ck_assert_int_ne(seen, 0);
    ck_assert_int_eq(enclosure_environment_check(), 0);
    ck_assert_int_eq(fegetround(), FE_TONEAREST);
  }
}
END_TEST

#if defined(__x86_64__)
/* Each of the bits that change results, set alone in MXCSR: FTZ, DAZ, both rounding bits. */
START_TEST(flushed_subnormals_are_seen_and_put_right) {
  const unsigned bits[] = {0x8000, 0x0040, 0x2000, 0x4000};
  volatile double small = 0x1p-1022, subnormal = 0x1p-1074;
  for (int i = 0; i < 4; i++) {
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | bits[i]);
    int seen = enclosure_environment_check();
    enclosure_environment_restore();
    ck_assert_int_ne(seen, 0);
    ck_assert_int_eq(enclosure_environment_check(), 0);
    ck_assert_uint_eq(_mm_getcsr() & 0xffc0, before & 0xffc0);
    ck_assert(small * 0.5 != 0 && subnormal * 0x1p1000 != 0);
  }
}
END_TEST
#endif

START_TEST(ladder_names_every_tier_in_order) {
  ck_assert_str_eq(enclosure_ladder[TIER_DOUBLE].name, "double");
  ck_assert_str_eq(enclosure_ladder[TIER_DOUBLE_DOUBLE].name, "double-double");
  ck_assert_str_eq(enclosure_ladder[TIER_BALL].name, "ball");
  ck_assert_str_eq(enclosure_ladder[TIER_EXACT].name, "exact");
  for (int i = 1; i < TIER_COUNT; i++)
    ck_assert(enclosure_ladder[i].nanoseconds > enclosure_ladder[i - 1].nanoseconds);
}
END_TEST

void test_environment(Suite *suite) {
  TCase *tests = tcase_create("environment");
  tcase_add_test(tests, default_environment_passes);
  tcase_add_test(tests, rounding_modes_are_seen_and_put_right);
#if defined(__x86_64__)
  tcase_add_test(tests, flushed_subnormals_are_seen_and_put_right);
#endif
  tcase_add_test(tests, ladder_names_every_tier_in_order);
  suite_add_tcase(suite, tests);
}
