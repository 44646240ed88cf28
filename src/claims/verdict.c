/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Verdicts: every one is the outcome of a computation, apart from not-checkable. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../enclosure/enclosure.h"
#include "claims.h"
#include "decide.h"
#include "printed.h"

enum { ENCLOSURE_DIGITS = 25 };

/* ---- results ---- */

void claim_result_clear(claim_result *result) {
  for (size_t i = 0; i < result->count; i++) {
    free(result->low[i]);
    free(result->high[i]);
  }
  free(result->low);
  free(result->high);
  free(result->printed);
  free(result->note);
  memset(result, 0, sizeof *result);
}

/* Appends a sentence; "; " between two. What does not fit memory is left out. */
__attribute__((format(printf, 2, 3))) static void add_note(claim_result *r, const char *format,
                                                           ...) {
  char *sentence = NULL, *longer = NULL;
  va_list arguments;
  va_start(arguments, format);
  int length = vasprintf(&sentence, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  if (r->note && asprintf(&longer, "%s; %s", r->note, sentence) < 0) longer = NULL;
  if (!r->note) {
    r->note = sentence;
    return;
  }
  free(sentence);
  if (!longer) return;
  free(r->note);
  r->note = longer;
}

/* Takes both texts. */
static attest_status add_enclosure(claim_result *r, char *low, char *high, attest_error *error) {
  char **lows = realloc(r->low, (r->count + 1) * sizeof *lows);
  if (lows) r->low = lows;
  char **highs = realloc(r->high, (r->count + 1) * sizeof *highs);
  if (highs) r->high = highs;
  if (!lows || !highs || !low || !high) {
    free(low);
    free(high);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  }
  r->low[r->count] = low;
  r->high[r->count++] = high;
  return ATTEST_OK;
}

static attest_status add_value_enclosure(claim_result *r, const value *v, slong prec,
                                         attest_error *error) {
  char *exact = v->kind == VALUE_RATIONAL ? decide_value_text(v, ENCLOSURE_DIGITS, prec) : NULL;
  arb_t x;
  if (exact && strlen(exact) <= 2 * ENCLOSURE_DIGITS) {
    fmpq_t printed, half;
    fmpq_init(printed);
    fmpq_init(half);
    printed_parse(printed, half, exact);
    int is_exact = fmpq_equal(printed, v->rational);
    fmpq_clear(printed);
    fmpq_clear(half);
    if (is_exact) return add_enclosure(r, exact, strdup(exact), error);
  }
  free(exact);
  arb_init(x);
  value_get_ball(x, v, prec);
  attest_status status = add_enclosure(r, enclosure_end_decimal(x, 0, ENCLOSURE_DIGITS),
                                       enclosure_end_decimal(x, 1, ENCLOSURE_DIGITS), error);
  arb_clear(x);
  return status;
}

static attest_status set_printed(claim_result *r, char *const *printed, size_t count,
                                 attest_error *error) {
  for (size_t i = 0; i < count; i++) {
    char *longer = NULL;
    int length = r->printed ? asprintf(&longer, "%s, %s", r->printed, printed[i])
                            : asprintf(&longer, "%s", printed[i]);
    if (length < 0) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
    free(r->printed);
    r->printed = longer;
  }
  return ATTEST_OK;
}

/* ---- expr + printed ---- */

static claim_verdict of_truth(int truth) {
  return truth == 1 ? CLAIM_HOLDS : truth == 0 ? CLAIM_REFUTED : CLAIM_UNDECIDED;
}

/* Whether every number rounds to its printed one. */
static attest_status compare_printed(int *truth, const value *v, const claim_check *check,
                                     slong prec, attest_error *error) {
  const value *items = v->kind == VALUE_LIST ? v->items : v;
  size_t count = v->kind == VALUE_LIST ? v->count : 1;
  if (count != check->printed_count)
    return attest_fail(error, ATTEST_ERR_INPUT, "expr has %zu value%s, printed has %zu", count,
                       count == 1 ? "" : "s", check->printed_count);
  *truth = 1;
  for (size_t i = 0; i < count; i++) {
    if (!value_is_number(&items[i]))
      return attest_fail(error, ATTEST_ERR_INPUT, "expr must be a number or a list of numbers");
    int one = printed_matches(&items[i], check->printed[i], prec);
    if (one == 0) *truth = 0;
    if (one == VALUE_UNKNOWN && *truth == 1) *truth = VALUE_UNKNOWN;
  }
  return ATTEST_OK;
}

static attest_status decide_expression(claim_verdict *verdict, claim_result *r,
                                       const claim_check *check, attest_error *error) {
  evaluation how = {.steps = EVALUATION_STEPS};
  value v;
  int truth = VALUE_UNKNOWN;
  value_init(&v);
  attest_status status = ATTEST_OK;
  for (slong prec = 128; prec <= DECIDE_PRECISION_MAX && truth == VALUE_UNKNOWN && !status;
       prec *= 2) {
    how.prec = prec;
    status = expression_evaluate(&v, &check->expr, &how, error);
    if (!status) status = compare_printed(&truth, &v, check, how.prec, error);
  }
  const value *items = v.kind == VALUE_LIST ? v.items : &v;
  for (size_t i = 0; i < check->printed_count && !status; i++)
    status = add_value_enclosure(r, &items[i], how.prec, error);
  if (!status) status = set_printed(r, check->printed, check->printed_count, error);
  *verdict = of_truth(truth);
  value_clear(&v);
  return status;
}

/* ---- predicates ---- */

static attest_status try_counterexample(int *verified, const claim_check *check,
                                        attest_error *error) {
  value values[PREDICATE_VARIABLES_MAX];
  attest_status status = ATTEST_OK;
  *verified = 0;
  for (size_t i = 0; i < check->counterexample_count; i++) {
    evaluation how = {.prec = 1024, .steps = EVALUATION_STEPS};
    value_init(&values[i]);
    if (!status) status = expression_evaluate(&values[i], &check->counterexample[i], &how, error);
  }
  if (!status && check->counterexample_count)
    status = predicate_fails_at(verified, &check->condition, values, error);
  for (size_t i = 0; i < check->counterexample_count; i++)
    value_clear(&values[i]);
  return status;
}

/* How a predicate was looked at: "for 41 combinations", "by isolating zeros". */
static void note_search(claim_result *r, const predicate *p, const predicate_result *found) {
  char text[160] = "", *end = text;
  if (found->points > 1)
    end += sprintf(end, "%ld case%s", found->points, found->points == 1 ? "" : "s");
  if (found->exact_reals) end += sprintf(end, "%szeros isolated", end > text ? ", " : "");
  if (found->boxes)
    end += sprintf(end, "%s%ld box%s of reals", end > text ? ", " : "", found->boxes,
                   found->boxes == 1 ? "" : "es");
  if (found->truth == 0)
    add_note(r, "fails%s%s: %s", found->witness && *found->witness ? " at " : "",
             found->witness ? found->witness : "", p->text);
  else if (found->truth == 1)
    add_note(r, "holds%s%s%s: %s", *text ? " (" : "", text, *text ? ")" : "", p->text);
  else
    add_note(r, "open%s%s: %s", found->witness && *found->witness ? " at " : "",
             found->witness ? found->witness : "", p->text);
}

static attest_status decide_predicate(claim_verdict *verdict, claim_result *r,
                                      const claim_check *check, attest_error *error) {
  predicate_result found;
  int verified;
  attest_status status = try_counterexample(&verified, check, error);
  if (status) return status;
  if (verified) {
    *verdict = CLAIM_REFUTED;
    add_note(r, "counterexample verified: %s", check->condition.text);
    return ATTEST_OK;
  }
  if (check->counterexample_count)
    add_note(r, "the counterexample given does not fail: %s", check->condition.text);
  status = predicate_decide(&found, &check->condition, error);
  if (!status) {
    *verdict = of_truth(found.truth);
    note_search(r, &check->condition, &found);
  }
  free(found.witness);
  return status;
}

/* ---- runs ---- */

static char *double_text(double x) {
  char *text = NULL;
  return asprintf(&text, "%.17g", x) < 0 ? NULL : text;
}

static attest_status decide_run(claim_verdict *verdict, claim_result *r, const claim_check *check,
                                const char *data, attest_error *error) {
  const claim_run *run = &check->run;
  double low, high;
  attest_status status = claim_run_execute(&low, &high, run, data, error);
  if (status) return status;
  if (run->printed) {
    *verdict = CLAIM_MEASURED;
    add_note(r, "measured here: %.4g", high);
    status = set_printed(r, &run->printed, 1, error);
  } else {
    fmpq_t bound, half, end;
    fmpq_init(bound);
    fmpq_init(half);
    fmpq_init(end);
    printed_parse(bound, half, run->bound);
    arf_t point;
    arf_init(point);
    *verdict = CLAIM_UNDECIDED;
    if (isfinite(high)) {
      arf_set_d(point, high);
      arf_get_fmpq(end, point);
      if (fmpq_cmp(end, bound) <= 0) *verdict = CLAIM_HOLDS;
    }
    if (isfinite(low)) {
      arf_set_d(point, low);
      arf_get_fmpq(end, point);
      if (fmpq_cmp(end, bound) > 0) *verdict = CLAIM_REFUTED;
    }
    arf_clear(point);
    fmpq_clear(bound);
    fmpq_clear(half);
    fmpq_clear(end);
    add_note(r, "%.4g, bound %s", high, run->bound);
  }
  return status ? status : add_enclosure(r, double_text(low), double_text(high), error);
}

/* ---- statements ---- */

static attest_status decide_certified(claim_verdict *verdict, claim_result *r,
                                      const claim_check *check, const char *data,
                                      attest_error *error) {
  claim_findings found = {0};
  value_init(&found.fact);
  attest_status status = claim_certified_run(&found, &check->certified, data, error);
  *verdict = found.refuted ? CLAIM_REFUTED : found.undecided ? CLAIM_UNDECIDED : CLAIM_HOLDS;
  if (!status && check->certified.fact) {
    /* a fact of a finding that is not certified is no evidence */
    *verdict = *verdict == CLAIM_HOLDS
                   ? of_truth(printed_matches(&found.fact, check->printed[0], 64))
                   : CLAIM_UNDECIDED;
    status = add_value_enclosure(r, &found.fact, 64, error);
    if (!status) status = set_printed(r, check->printed, 1, error);
  } else if (!status) {
    add_note(r, "statement %s: %zu findings certified, %zu refuted, %zu undecided",
             check->certified.statement, found.certified, found.refuted, found.undecided);
  }
  value_clear(&found.fact);
  return status;
}

/* ---- claims ---- */

/* refuted, then undecided, then measured outweigh holds. */
static claim_verdict worse(claim_verdict a, claim_verdict b) {
  static const claim_verdict order[] = {CLAIM_REFUTED, CLAIM_UNDECIDED, CLAIM_MEASURED};
  for (size_t i = 0; i < sizeof order / sizeof *order; i++)
    if (a == order[i] || b == order[i]) return order[i];
  return CLAIM_HOLDS;
}

static attest_status at_line(const claim_file *file, const claim_check *check, attest_status status,
                             attest_error *error) {
  if (status != ATTEST_ERR_INPUT) return status;
  char message[sizeof error->message];
  snprintf(message, sizeof message, "%s", error->message);
  return attest_fail(error, status, "%.150s:%d: %.300s", file->path, check->line, message);
}

static attest_status decide_check(claim_verdict *verdict, claim_result *r, const claim_check *check,
                                  const char *data, attest_error *error) {
  switch (check->kind) {
  case CHECK_EXPRESSION:
    return decide_expression(verdict, r, check, error);
  case CHECK_PREDICATE:
    return decide_predicate(verdict, r, check, error);
  case CHECK_RUN:
    return decide_run(verdict, r, check, data, error);
  default:
    return decide_certified(verdict, r, check, data, error);
  }
}

static attest_status decide_checks(claim_verdict *verdict, claim_result *r, const claim_file *file,
                                   const claim_check *checks, size_t count, const char *data,
                                   attest_error *error) {
  *verdict = CLAIM_HOLDS;
  for (size_t i = 0; i < count; i++) {
    claim_verdict one = CLAIM_UNDECIDED;
    attest_status status = decide_check(&one, r, &checks[i], data, error);
    if (status) return at_line(file, &checks[i], status, error);
    *verdict = worse(*verdict, one);
  }
  return ATTEST_OK;
}

/* "0.5, 0.27 in [.., ..]" of a corrected form, for the note. */
static void note_corrected(claim_result *r, const claim_result *corrected, claim_verdict verdict) {
  const char *word = claim_verdict_names[verdict];
  if (corrected->printed && corrected->count)
    add_note(r, "corrected form %s: %s, enclosed from %s to %s", word, corrected->printed,
             corrected->low[0], corrected->high[0]);
  if (corrected->note) add_note(r, "corrected form %s: %s", word, corrected->note);
}

attest_status claim_decide(claim_result *result, const claim_file *file, size_t i, const char *data,
                           attest_error *error) {
  const claim *c = &file->claims[i];
  claim_verdict corrected_verdict;
  attest_error unused;
  memset(result, 0, sizeof *result);
  result->id = c->id;
  result->expected = c->expected;
  if (!error) error = &unused;
  if (!c->check_count) {
    result->verdict = CLAIM_NOT_CHECKABLE;
    add_note(result, "%s", c->reason);
    if (c->note) add_note(result, "%s", c->note);
    return ATTEST_OK;
  }
  attest_status status =
      decide_checks(&result->verdict, result, file, c->checks, c->check_count, data, error);
  if (!status && c->corrected_count) {
    claim_result corrected = {0};
    status = decide_checks(&corrected_verdict, &corrected, file, c->corrected, c->corrected_count,
                           data, error);
    if (!status) note_corrected(result, &corrected, corrected_verdict);
    claim_result_clear(&corrected);
    if (!status && c->hypothesis && result->verdict == CLAIM_REFUTED &&
        corrected_verdict == CLAIM_HOLDS) {
      result->verdict = CLAIM_NEEDS_HYPOTHESIS;
      add_note(result, "hypothesis: %s", c->hypothesis);
    }
  }
  if (!status && c->note) add_note(result, "%s", c->note);
  return status;
}
