/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Claim files: what is refused, where; and verdicts, none of which is only echoed. */
#include <unistd.h>

#include "../../src/claims/claims.h"
#include "../tests.h"

/* Writes the text to a file of its own and opens it; the file is gone afterwards. */
static attest_status open_text(claim_file *file, const char *text, attest_error *error) {
  char path[] = "claims-test-XXXXXX";
  int descriptor = mkstemp(path);
  ck_assert_int_ge(descriptor, 0);
  FILE *stream = fdopen(descriptor, "w");
  fputs(text, stream);
  fclose(stream);
  attest_status status = claim_file_open(file, path, error);
  unlink(path);
  return status;
}

/* ---- what is refused ---- */

#define CLAIM "claims:\n- id: a\n  statement: s\n" /* lines 1 to 3 */

static const struct {
  const char *text;
  int line;
  const char *message;
} bad[] = {
    {"", 1, "the file is empty"},
    {"- a\n", 1, "the file must be a mapping"},
    {"paper: x\n", 1, "claims: is missing"},
    {"paper: x\nclaims: []\n", 2, "claims: is empty"},
    {"claims:\n- id: \"x\\nHOLDS\"\n  statement: s\n  reason: r\n", 2, "an id has no spaces"},
    {"claims: 3\n", 1, "claims must be a list"},
    {"claims: []\nfoo: 1\n", 2, "unknown key foo; known: paper claims"},
    {"claims:\n- 3\n", 2, "a claim must be a mapping"},
    {"claims:\n- statement: s\n", 2, "the claim has no id"},
    {"claims:\n- id: a\n", 2, "a has no statement"},
    {CLAIM, 2, "a has nothing to check"},
    {CLAIM "  frobnicate: 1\n", 4, "unknown key frobnicate"},
    {CLAIM "  expr: 1\n", 4, "expr needs printed"},
    {CLAIM "  expr: 1 +\n  printed: 1\n", 4, "expr: column 4: "},
    {CLAIM "  expr: nope(1)\n  printed: 1\n", 4, "expr: column 1: there is no function nope"},
    {CLAIM "  expr: x\n  printed: 1\n", 4, "expr: column 1: x has no value here"},
    {CLAIM "  expr: [1]\n  printed: 1\n", 4, "expr must be a single value"},
    {CLAIM "  expr: 1\n  printed: about 1\n", 5, "printed 'about 1' is no number"},
    {CLAIM "  expr: 1\n  printed: 1x\n", 5, "printed '1x' is no number"},
    {CLAIM "  expr: 1\n  printed: 1e\n", 5, "printed '1e' is no number"},
    {CLAIM "  expr: 1\n  printed: 1/\n", 5, "printed '1/' is no number"},
    {CLAIM "  expr: 1\n  printed: 1/0\n", 5, "printed '1/0' is no number"},
    {CLAIM "  expr: 1\n  printed: 1/00\n", 5, "printed '1/00' is no number"},
    {CLAIM "  expr: 1\n  printed: []\n", 5, "printed is empty"},
    {CLAIM "  expr: 1\n  printed: [1, [2]]\n", 5, "a printed number must be a single value"},
    {CLAIM "  printed: 1\n", 4, "printed belongs to expr, which is missing"},
    {CLAIM "  for: {x: 0..1}\n", 4, "for belongs to predicate"},
    {CLAIM "  predicate: 1 = 1\n  printed: 1\n", 5, "printed belongs to expr"},
    {CLAIM "  predicate: 1 = 1\n  expr: 1\n  printed: 1\n", 4, "are two checks"},
    {CLAIM "  predicate: x = 1\n", 4, "predicate: column 1: x has no value here"},
    {CLAIM "  predicate: x = 1\n  for: 3\n", 5, "for must be a mapping"},
    {CLAIM "  predicate: x = 1\n  for:\n    x: [0, 1]\n", 6, "put the range into quotes"},
    {CLAIM "  predicate: x = 1\n  for:\n    x: 0..\n", 6, "x: column 1: "},
    {CLAIM "  predicate: x = 1\n  for: {x: 0..2}\n  counterexample: {y: 1}\n", 6,
     "counterexample needs a value of x"},
    {CLAIM "  predicate: x = 1\n  for: {x: 0..2}\n  counterexample: {x: 1, y: 1}\n", 6,
     "more values than variables"},
    {CLAIM "  predicate: x = 1\n  for: {x: 0..2}\n  counterexample: {x: 1 +}\n", 6, "x: column 4"},
    {CLAIM "  predicate: 1 = 1\n  expect: true\n", 5, "expect must be holds"},
    {CLAIM "  predicate: 1 = 1\n  reason: wording\n", 2, "and a check"},
    {CLAIM "  predicate: 1 = 2\n  hypothesis: h\n", 2, "no corrected form"},
    {CLAIM "  predicate: 1 = 2\n  corrected: {note: x}\n", 5, "unknown key note"},
    {CLAIM "  predicate: 1 = 2\n  corrected: {}\n", 5,
     "expr, predicate, run or certified is missing"},
    {CLAIM "  checks:\n  - 3\n", 5, "a check must be a mapping"},
    {CLAIM "  reason: w\n- id: a\n  statement: s\n  reason: w\n", 5, "id a is that of line 2"},
    {CLAIM "  reason: w\n  reason: w\n", 5, "reason stands here twice"},
    {CLAIM "  reason: ''\n", 4, "reason is empty"},
    {CLAIM "  reason: &x w\n", 4, "anchors"},
    {CLAIM "  reason: *x\n", 4, "aliases"},
    {CLAIM "  reason: 'w\n", 5, ""},
    {CLAIM "  reason: {a: b: c}\n", 4, ""},
    {"claims: []\n---\nclaims: []\n", 2, "one document a file"},
    {CLAIM "  run: {kernel: softmax}\n", 4, "figure is missing"},
    {CLAIM "  run: {figure: abs, bound: 1}\n", 4, "kernel is missing"},
    {CLAIM "  run: {kernel: hardmax, figure: abs, bound: 1}\n", 4, "unknown kernel hardmax"},
    {CLAIM "  run: {kernel: softmax, figure: speed, bound: 1}\n", 4, "figure must be"},
    {CLAIM "  run: {kernel: softmax, figure: abs}\n", 4, "either bound or printed"},
    {CLAIM "  run: {kernel: softmax, figure: abs, bound: 1, printed: 1}\n", 4, "either bound"},
    {CLAIM "  run: {kernel: softmax, figure: abs, bound: x}\n", 4, "bound must be a decimal"},
    {CLAIM "  run: {kernel: softmax, figure: seconds, bound: 1}\n", 4, "times depend"},
    {CLAIM "  run: {kernel: softmax, figure: abs, bound: 1, data: {n: 0}}\n", 4, "n must be"},
    {CLAIM "  run: {kernel: softmax, figure: abs, bound: 1, data: {rows: odd}}\n", 4, "rows must"},
    {CLAIM "  run: {kernel: softmax, figure: abs, bound: 1, dtype: int8}\n", 4, "dtype must be"},
    {CLAIM "  run: {kernel: softmax, figure: abs, bound: 1, sizes: [1, 2]}\n", 4, "sizes belong"},
    {CLAIM "  run: {kernel: softmax, figure: abs, bound: 1, what: 1}\n", 4, "unknown key what"},
    {CLAIM "  certified: {statement: nope}\n", 4, "there is no statement nope"},
    {CLAIM "  certified: {where: {d: 1}}\n", 4, "statement is missing"},
    {CLAIM "  certified: {statement: state-rank, fact: rank}\n", 4, "belong together"},
};

START_TEST(files_are_refused_with_the_line_and_the_trouble) {
  claim_file file;
  attest_error error = {0};
  attest_status status = open_text(&file, bad[_i].text, &error);
  ck_assert_msg(status == ATTEST_ERR_INPUT, "%s", bad[_i].text);
  const char *place = strchr(error.message, ':');
  ck_assert_ptr_nonnull(place);
  ck_assert_msg(atoi(place + 1) == bad[_i].line, "%s\n%s", bad[_i].text, error.message);
  ck_assert_msg(strstr(error.message, bad[_i].message) != NULL, "%s\n%s", bad[_i].text,
                error.message);
}
END_TEST

/* Every cut and every changed byte of a good file is read or refused, never worse. */
START_TEST(damaged_files_are_read_or_refused) {
  static const char good[] =
      "paper: p\nclaims:\n- id: a\n  statement: \"s\"\n  predicate: x + w > 1\n"
      "  for: {x: 0..9 step 3, w: '{1/2, 3}'}\n  counterexample: {x: 0, w: 1/2}\n"
      "  hypothesis: h\n  corrected:\n  - expr: '[1/3, taylor_min(4)]'\n    printed: [0.33, 0.27]\n"
      "  - run: {kernel: softmax, data: {n: 4}, figure: abs, bound: 1e-5}\n  expect: holds\n";
  uint64_t state = tests_seed();
  for (int i = 0; i < 400; i++) {
    char text[sizeof good];
    strcpy(text, good);
    if (i % 2)
      text[tests_random(&state) % (sizeof good - 1)] = 0;
    else
      for (int k = 0; k < 3; k++)
        text[tests_random(&state) % (sizeof good - 1)] = (char)(1 + tests_random(&state) % 127);
    claim_file file;
    attest_error error = {0};
    if (open_text(&file, text, &error))
      ck_assert_msg(*error.message, "%s", text);
    else
      claim_file_close(&file);
  }
}
END_TEST

/* ---- verdicts ---- */

static const struct {
  const char *text;
  claim_verdict verdict;
  const char *note; /* a part of it */
} verdicts[] = {
    {"expr: 1/3\n  printed: 0.333", CLAIM_HOLDS, ""},
    {"expr: 1/3\n  printed: 0.334", CLAIM_REFUTED, ""},
    {"expr: 1/3\n  printed: 1/3", CLAIM_HOLDS, ""},
    {"expr: 1/3\n  printed: 1/4", CLAIM_REFUTED, ""},
    {"expr: pi\n  printed: 3.14159", CLAIM_HOLDS, ""},
    {"expr: pi\n  printed: 3.1415", CLAIM_REFUTED, ""}, /* cut, not rounded */
    {"expr: 1000*pi\n  printed: 3.142e3", CLAIM_HOLDS, ""},
    {"expr: -pi\n  printed: -3.1", CLAIM_HOLDS, ""},
    {"expr: 1/8\n  printed: 0.12", CLAIM_HOLDS, ""}, /* a tie may go either way */
    {"expr: 1/8\n  printed: 0.13", CLAIM_HOLDS, ""},
    {"expr: 1/8 + 1e-60\n  printed: 0.12", CLAIM_REFUTED, ""},
    {"expr: sin(pi) + 1/8\n  printed: 0.12", CLAIM_UNDECIDED, ""},
    {"expr: sin(pi)\n  printed: 0.0", CLAIM_HOLDS, ""},
    {"expr: '[1/3, 2/3]'\n  printed: [0.3, 0.7]", CLAIM_HOLDS, ""},
    {"expr: '[1/3, 2/3]'\n  printed: [0.3, 0.6]", CLAIM_REFUTED, ""},
    {"predicate: x < 5\n  for: {x: 0..4}", CLAIM_HOLDS, "5 cases"},
    {"predicate: x < 5\n  for: {x: 0..9}", CLAIM_REFUTED, "fails at x=5"},
    {"predicate: x < 5\n  for: {x: 0..9}\n  counterexample: {x: 7}", CLAIM_REFUTED, "verified"},
    {"predicate: x < 5\n  for: {x: 0..9}\n  counterexample: {x: 3}", CLAIM_REFUTED,
     "the counterexample given does not fail"},
    {"predicate: x < 5\n  for: {x: 0..4}\n  counterexample: {x: 7}", CLAIM_HOLDS,
     "the counterexample given does not fail"},
    {"predicate: exp(log(2)) = 2", CLAIM_UNDECIDED, "open"},
    /* a hypothesis alone changes nothing: the corrected form must hold, the printed one must fail
     */
    {"predicate: x > 0\n  for: {x: 0..9}\n  hypothesis: h\n  corrected:\n    predicate: x > 0\n"
     "    for: {x: 1..9}",
     CLAIM_NEEDS_HYPOTHESIS, "hypothesis: h"},
    {"predicate: x > 0\n  for: {x: 0..9}\n  hypothesis: h\n  corrected:\n    predicate: x > 1\n"
     "    for: {x: 1..9}",
     CLAIM_REFUTED, "corrected form refuted"},
    {"predicate: x > 0\n  for: {x: 1..9}\n  hypothesis: h\n  corrected:\n    predicate: x > 0\n"
     "    for: {x: 1..9}",
     CLAIM_HOLDS, "corrected form holds"},
    {"predicate: x > 0\n  for: {x: 0..9}\n  corrected:\n    predicate: x > 0\n"
     "    for: {x: 1..9}",
     CLAIM_REFUTED, "corrected form holds"},
    {"checks:\n  - predicate: 1 = 1\n  - predicate: exp(log(2)) = 2", CLAIM_UNDECIDED, ""},
    {"checks:\n  - predicate: exp(log(2)) = 2\n  - predicate: 1 = 2", CLAIM_REFUTED, ""},
    {"reason: a training run of other people", CLAIM_NOT_CHECKABLE, "a training run"},
    {"run: {kernel: softmax, data: {n: 16, d: 4, dv: 4}, figure: abs, bound: 1e-5}", CLAIM_HOLDS,
     "bound 1e-5"},
    {"run: {kernel: softmax, data: {n: 16, d: 4, dv: 4}, figure: abs, bound: 1e-9}", CLAIM_REFUTED,
     ""},
    {"run: {kernel: softmax, data: {n: 16, d: 4, dv: 4}, dtype: float64, figure: abs, bound: 1e-9}",
     CLAIM_HOLDS, ""},
    {"run: {kernel: softmax, data: {n: 16, d: 4, dv: 4}, figure: abs, printed: 1e-9}",
     CLAIM_MEASURED, "measured here"},
    {"run: {kernel: softmax, data: {n: 16, d: 4, dv: 4}, figure: seconds, printed: 1}",
     CLAIM_MEASURED, "measured here"},
    {"run: {kernel: softmax, params: {scale: 1/2}, against: {kernel: softmax, params: {scale: "
     "1/3}},"
     " data: {n: 16, d: 4, dv: 4}, figure: frobenius, bound: 1e-3}",
     CLAIM_REFUTED, ""},
};

START_TEST(verdicts_follow_from_the_computation) {
  char text[1000];
  claim_file file;
  claim_result result;
  attest_error error = {0};
  snprintf(text, sizeof text, CLAIM "  %s\n", verdicts[_i].text);
  ck_assert_msg(!open_text(&file, text, &error), "%s\n%s", text, error.message);
  ck_assert_msg(!claim_decide(&result, &file, 0, "data", &error), "%s\n%s", text, error.message);
  ck_assert_msg(result.verdict == verdicts[_i].verdict, "%s\nis %s", text,
                claim_verdict_names[result.verdict]);
  ck_assert_msg(strstr(result.note ? result.note : "", verdicts[_i].note) != NULL, "%s\n%s", text,
                result.note);
  claim_result_clear(&result);
  claim_file_close(&file);
}
END_TEST

static const char *const troubles[][2] = {
    {"expr: 1/0\n  printed: 1", "division by zero"},
    {"expr: '[1, 2]'\n  printed: 1", "expr has 2 values, printed has 1"},
    {"expr: 1 < 2\n  printed: 1", "must be a number"},
    {"predicate: 1 + 1", "must be a comparison"},
    {"predicate: exp(t) > 0\n  for: {t: '(0, inf)'}", "unbounded range"},
    {"run: {kernel: softmax, params: {scale: x}, figure: abs, bound: 1}", "scale"},
    {"run: {kernel: softmax, params: {frob: 1}, figure: abs, bound: 1}", "frob"},
    {"certified: {statement: state-rank, where: {keys: nowhere}}", "0 findings"},
    {"certified: {statement: state-rank, fact: rank}\n  printed: 1", "one is wanted"},
};

START_TEST(trouble_is_no_verdict) {
  char text[400];
  claim_file file;
  claim_result result;
  attest_error error = {0};
  snprintf(text, sizeof text, CLAIM "  %s\n", troubles[_i][0]);
  ck_assert_msg(!open_text(&file, text, &error), "%s\n%s", text, error.message);
  ck_assert_int_eq(claim_decide(&result, &file, 0, "data", &error), ATTEST_ERR_INPUT);
  ck_assert_msg(strstr(error.message, troubles[_i][1]) != NULL, "%s\n%s", text, error.message);
  ck_assert_msg(strstr(error.message, ":4: ") != NULL, "%s\n%s", text, error.message);
  claim_result_clear(&result);
  claim_file_close(&file);
}
END_TEST

/* ---- the files of data/claims ---- */

static const char *const paths[] = {"data/claims/expanding-attention.yaml",
                                    "data/claims/posfloor.yaml", "data/claims/fast-rope.yaml"};

/* Whether the check alone holds. */
static int holds(claim_file *file, size_t i, claim_check *check) {
  claim *c = &file->claims[i], whole = *c;
  claim_result result;
  attest_error error = {0};
  c->checks = check;
  c->check_count = 1;
  c->corrected_count = 0;
  attest_status status = claim_decide(&result, file, i, "data", &error);
  ck_assert_msg(!status, "%s: %s", c->id, error.message);
  int verdict = result.verdict == CLAIM_HOLDS;
  claim_result_clear(&result);
  *c = whole;
  return verdict;
}

/* The last digit of the number: left of its exponent. */
static char *last_digit(char *number) {
  char *end = number + strcspn(number, "eE");
  while (end > number && (end[-1] < '0' || end[-1] > '9'))
    end--;
  return end - 1;
}

static void flip_all(claim_file *file, size_t i, claim_check *check, int *flipped) {
  if (check->kind != CHECK_EXPRESSION && check->kind != CHECK_CERTIFIED) return;
  if (!check->printed_count || !holds(file, i, check)) return;
  for (size_t k = 0; k < check->printed_count; k++)
    for (int step = 1; step <= 9; step += 8) {
      char *digit = last_digit(check->printed[k]), old = *digit;
      *digit = (char)('0' + (old - '0' + step) % 10);
      if (strcmp(check->printed[k], "1/0") && strcmp(check->printed[k], "-0"))
        ck_assert_msg(!holds(file, i, check), "%s: %s holds too", file->claims[i].id,
                      check->printed[k]);
      *digit = old;
      ++*flipped;
    }
}

START_TEST(another_last_digit_of_any_printed_number_does_not_hold) {
  claim_file file;
  attest_error error = {0};
  int flipped = 0;
  ck_assert_msg(!claim_file_open(&file, paths[_i], &error), "%s", error.message);
  for (size_t i = 0; i < (size_t)tests_trials((int64_t)file.count); i++) {
    claim *c = &file.claims[i];
    for (size_t k = 0; k < c->check_count; k++)
      flip_all(&file, i, &c->checks[k], &flipped);
    for (size_t k = 0; k < c->corrected_count; k++)
      flip_all(&file, i, &c->corrected[k], &flipped);
  }
  ck_assert(flipped > 40 || tests_trials(40) < 40);
  claim_file_close(&file);
}
END_TEST

void test_claim_files(Suite *suite) {
  TCase *refused = tcase_create("refused");
  tcase_add_loop_test(refused, files_are_refused_with_the_line_and_the_trouble, 0,
                      sizeof bad / sizeof *bad);
  tcase_add_test(refused, damaged_files_are_read_or_refused);
  suite_add_tcase(suite, refused);
  TCase *decided = tcase_create("verdicts");
  tcase_add_loop_test(decided, verdicts_follow_from_the_computation, 0,
                      sizeof verdicts / sizeof *verdicts);
  tcase_add_loop_test(decided, trouble_is_no_verdict, 0, sizeof troubles / sizeof *troubles);
  suite_add_tcase(suite, decided);
  TCase *data = tcase_create("data");
  tcase_set_timeout(data, 180);
  tcase_add_loop_test(data, another_last_digit_of_any_printed_number_does_not_hold, 0,
                      sizeof paths / sizeof *paths);
  suite_add_tcase(suite, data);
}
