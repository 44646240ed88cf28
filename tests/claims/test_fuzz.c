/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Mutated expressions: the parser and the evaluator end, in time, with a value or a message; and
 * two precisions never contradict each other. ATTEST_FUZZ_SECONDS=600 (with CK_FORK=no and under
 * SAN=1) makes it long; ATTEST_SEED changes the texts. */
#include <time.h>

#include "../../src/claims/decide.h"
#include "../tests.h"
#include "golden.h"

enum { LENGTH = 400, COUNT = sizeof golden / sizeof *golden };

static const char *const pieces[] = {"(",
                                     ")",
                                     "[",
                                     "]",
                                     ",",
                                     "+",
                                     "-",
                                     "*",
                                     "/",
                                     "^",
                                     "=",
                                     "<",
                                     ">=",
                                     "!=",
                                     "..",
                                     " and ",
                                     " or ",
                                     "not ",
                                     "let x=",
                                     " in ",
                                     " for k in ",
                                     "x",
                                     "k",
                                     "pi",
                                     "e",
                                     "0",
                                     "1",
                                     "2",
                                     "1/3",
                                     "0.5",
                                     "1e3",
                                     "10^9",
                                     "1e-9",
                                     "2^64",
                                     "1000",
                                     "sqrt(",
                                     "exp(",
                                     "log(",
                                     "sin(",
                                     "cos(",
                                     "floor(",
                                     "abs(",
                                     "min(",
                                     "max(",
                                     "sum(",
                                     "sum(k,1,9,",
                                     "factorial(",
                                     "binomial(",
                                     "taylor(4,",
                                     "taylor_min(",
                                     "taylor_argmin(",
                                     "taylor_remainder(3,",
                                     "weight_taylor(2,64,",
                                     "fidelity(",
                                     "alignment_taylor(4,64,",
                                     "output_error_bound(",
                                     "taylor_real_zeros(",
                                     "feature_dimension(9,"};

static size_t pick(uint64_t *state, size_t n) {
  return (size_t)(tests_random(state) % n);
}

/* Replaces `removed` bytes at a random place by a piece. */
static void splice(char *text, const char *piece, size_t removed, uint64_t *state) {
  size_t length = strlen(text), at = pick(state, length + 1), add = strlen(piece);
  if (removed > length - at) removed = length - at;
  if (length - removed + add >= LENGTH) return;
  memmove(text + at + add, text + at + removed, length - at - removed + 1);
  memcpy(text + at, piece, add);
}

/* Mutations that keep an expression one: a call around it, an operand beside it, another number. */
static void grow(char *text, uint64_t *state) {
  static const char *const frames[] = {"sqrt(%s)",
                                       "exp(%s)",
                                       "log(%s)",
                                       "sin(%s)",
                                       "floor(%s)",
                                       "abs(%s)",
                                       "-(%s)",
                                       "1/(%s)",
                                       "(%s)^3",
                                       "(%s)^(-2/3)",
                                       "2^(%s)",
                                       "[%s, 1]",
                                       "max(2, %s)",
                                       "factorial(%s)",
                                       "not (%s)",
                                       "taylor(5, %s)",
                                       "fidelity(%s)",
                                       "taylor_min(%s)",
                                       "taylor_argmin(2*(%s))",
                                       "alignment_taylor(4, 64, %s)",
                                       "weight_taylor(2, 9, %s)",
                                       "taylor_remainder(3, %s)",
                                       "output_error_bound(%s)",
                                       "binomial(%s, 3)",
                                       "let x = %s in x*x - x",
                                       "sum(k, 1, 5, k*(%s))",
                                       "[%s for k in 1..3]",
                                       "sum(%s)",
                                       "(%s) < 3",
                                       "1 = (%s)"};
  static const char *const operators[] = {" + ", " - ", "*", "/", "^", " = ", " < ", " and "};
  char old[LENGTH], grown[2 * LENGTH + 64] = "";
  const char *other = golden[pick(state, COUNT)].text;
  strcpy(old, text);
  size_t digit = strcspn(text, "0123456789");
  switch (pick(state, 3)) {
  case 0: {
    const char *frame = frames[pick(state, sizeof frames / sizeof *frames)];
    size_t before = (size_t)(strchr(frame, '%') - frame);
    snprintf(grown, sizeof grown, "%.*s%s%s", (int)before, frame, old, frame + before + 2);
    break;
  }
  case 1:
    snprintf(grown, sizeof grown, "(%s)%s(%s)", old,
             operators[pick(state, sizeof operators / sizeof *operators)], other);
    break;
  default:
    if (old[digit])
      snprintf(grown, sizeof grown, "%.*s%zu%s", (int)digit, old, pick(state, 1000),
               old + digit + 1);
  }
  if (*grown && strlen(grown) < LENGTH) strcpy(text, grown);
}

static void mutate(char *text, uint64_t *state) {
  char part[LENGTH];
  if (pick(state, 2)) {
    grow(text, state);
    return;
  }
  for (size_t n = 1 + pick(state, 4); n > 0; n--) {
    const char *other = golden[pick(state, COUNT)].text;
    size_t from = pick(state, strlen(other) + 1);
    snprintf(part, 1 + pick(state, 30), "%s", other + from);
    switch (pick(state, 5)) {
    case 0: /* any byte */
      part[0] = (char)(1 + pick(state, 255));
      part[1] = 0;
      splice(text, part, pick(state, 2), state);
      break;
    case 1:
      splice(text, "", 1 + pick(state, 6), state);
      break;
    case 2:
      splice(text, part, pick(state, 8), state);
      break;
    default:
      splice(text, pieces[pick(state, sizeof pieces / sizeof *pieces)], pick(state, 3), state);
    }
  }
}

/* Whether two values of one expression, at two precisions, can both be right. */
static int agree(const value *a, const value *b) {
  if (value_is_number(a) && value_is_number(b))
    return value_compare(a, b, 300) == 0 || value_compare(a, b, 300) == VALUE_UNKNOWN;
  if (a->kind != b->kind || a->count != b->count) return 0;
  if (a->kind == VALUE_TRUTH)
    return a->truth == b->truth || a->truth == VALUE_UNKNOWN || b->truth == VALUE_UNKNOWN;
  for (size_t i = 0; i < a->count; i++)
    if (!agree(&a->items[i], &b->items[i])) return 0;
  return 1;
}

/* Whether the text is an expression. */
static int try_text(const char *text) {
  expression e;
  attest_error error = {0};
  value v[2];
  if (expression_parse(&e, text, NULL, 0, &error)) {
    ck_assert_int_eq(error.status, ATTEST_ERR_INPUT);
    ck_assert_msg(!strncmp(error.message, "column ", 7), "%s: %s", text, error.message);
    return 0;
  }
  attest_status status[2];
  for (int i = 0; i < 2; i++) {
    evaluation how = {.prec = i ? 300 : 64, .steps = 30000};
    value_init(&v[i]);
    status[i] = expression_evaluate(&v[i], &e, &how, &error);
    ck_assert_msg(!status[i] || !strncmp(error.message, "column ", 7), "%s: %s", text,
                  error.message);
  }
  if (!status[0] && !status[1]) {
    ck_assert_msg(agree(&v[0], &v[1]), "%s: two precisions contradict each other", text);
    char *decimal = decide_value_text(&v[1], 20, 300);
    char *enclosure = decide_enclosure_text(&v[1], 20, 300);
    ck_assert_ptr_nonnull(enclosure);
    free(decimal);
    free(enclosure);
  }
  for (int i = 0; i < 2; i++)
    value_clear(&v[i]);
  expression_clear(&e);
  return 1;
}

/* Orders of three digits take a second: few of them, and only in long runs. */
static int is_slow(const char *text) {
  for (const char *s = text; (s = strchr(s, '(')); s++)
    if (strspn(s + 1, "0123456789") >= 3) return 1;
  return 0;
}

START_TEST(mutated_expressions_end_with_a_value_or_a_message) {
  const char *seconds = getenv("ATTEST_FUZZ_SECONDS");
  uint64_t state = tests_seed() * 1000 + 7;
  char text[LENGTH] = "", parent[LENGTH] = "", slowest[LENGTH] = "";
  time_t end = time(NULL) + (seconds ? atol(seconds) : 0);
  clock_t longest = 0;
  long tried = 0, parsed = 0;
  for (; seconds ? time(NULL) < end : tried < 8000; tried++) {
    /* mutants of mutants that parsed, for a while */
    if (pick(&state, 8) == 0 || !*parent)
      snprintf(parent, LENGTH, "%s", golden[pick(&state, COUNT)].text);
    strcpy(text, parent);
    mutate(text, &state);
    if (is_slow(text) && (!seconds || pick(&state, 100))) continue;
    clock_t start = clock();
    if (try_text(text)) {
      parsed++;
      strcpy(parent, text);
    }
    clock_t took = clock() - start;
    if (took <= longest) continue;
    longest = took;
    strcpy(slowest, text);
  }
  printf("%ld mutants, %ld of them expressions; the slowest took %.2f s: %s\n", tried, parsed,
         (double)longest / CLOCKS_PER_SEC, slowest);
}
END_TEST

void test_fuzz(Suite *suite) {
  TCase *all = tcase_create("mutants");
  const char *seconds = getenv("ATTEST_FUZZ_SECONDS");
  if (seconds) tcase_set_timeout(all, atol(seconds) + 60);
  tcase_add_test(all, mutated_expressions_end_with_a_value_or_a_message);
  suite_add_tcase(suite, all);
}
