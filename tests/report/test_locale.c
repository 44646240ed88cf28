/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A program may run in a locale that writes 1,5 for 1.5. */
#include <locale.h>
#include <stdlib.h>

#include "../../src/attest.h"
#include "../tests.h"

/* Compiles the German locale into a folder of its own; 0 where localedef cannot. */
static int make_locale(char folder[64]) {
  char command[256];
  snprintf(folder, 64, "/tmp/attest-locale-XXXXXX");
  if (!mkdtemp(folder)) return 0;
  snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null",
           folder);
  return system(command) == 0;
}

static attest_certificate *certify(float off) {
  static float q[2] = {1, 0.5f}, out[2];
  const int64_t shape[] = {2, 1};
  attest_error error;
  attest_problem *problem = attest_problem_new("softmax", &error);
  attest_tensor t = attest_tensor_of(q, ATTEST_FLOAT32, 2, shape);
  attest_tensor result = attest_tensor_of(out, ATTEST_FLOAT32, 2, shape);
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(attest_problem_input(problem, &"q\0k\0v"[2 * i], &t, &error), ATTEST_OK);
  ck_assert_int_eq(attest_problem_set(problem, "scale", "0.25", &error), ATTEST_OK);
  ck_assert_int_eq(attest_reference(&result, problem, "out", &error), ATTEST_OK);
  out[1] += off;
  ck_assert_int_eq(attest_problem_output(problem, "out", &result, &error), ATTEST_OK);
  attest_certificate *c = attest_check(problem, "abs<=0.001", &error);
  ck_assert_msg(c != NULL, "%s", error.message);
  attest_problem_free(problem);
  return c;
}

START_TEST(certificates_are_the_same_under_a_decimal_comma) {
  char folder[64], command[128];
  attest_certificate *plain[2] = {certify(0), certify(0.25f)};
  int made = make_locale(folder);
  setenv("LOCPATH", folder, 1);
  int comma = made && setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
  snprintf(command, sizeof command, "rm -rf %s", folder);
  ck_assert_int_eq(system(command), 0);
  if (!comma) printf("no locale with a decimal comma can be made here\n");
  char text[8];
  snprintf(text, sizeof text, "%.1f", 1.5);
  ck_assert_str_eq(text, comma ? "1,5" : "1.5");
  for (int i = 0; i < 2; i++) {
    attest_certificate *c = certify(i ? 0.25f : 0);
    ck_assert_str_eq(attest_certificate_text(c), attest_certificate_text(plain[i]));
    attest_certificate_free(c);
    attest_certificate_free(plain[i]);
  }
  /* It is the program's own locale still. */
  snprintf(text, sizeof text, "%.1f", 1.5);
  ck_assert_str_eq(text, comma ? "1,5" : "1.5");
}
END_TEST

void test_locale(Suite *suite) {
  TCase *tc = tcase_create("locale");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, certificates_are_the_same_under_a_decimal_comma);
  suite_add_tcase(suite, tc);
}
