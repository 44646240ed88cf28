/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest eval: the value of one expression. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../claims/decide.h"
#include "internal.h"
#include "verbs.h"

static const verb_flag flags[] = {
    {"digits", "D", 0, "significant digits, correctly rounded (default 20)"},
    {"rational", NULL, 0, "print rational values as fractions p/q"},
};

static const verb_definition definition = {
    .usage = "attest eval 'EXPR' [--digits D] [--rational]",
    .summary =
        "Prints the value of an expression over real numbers, every digit right: terminating\n"
        "decimals exactly, other numbers rounded to D significant digits. Where D digits are\n"
        "not decided, prints the enclosure [lo, hi] and exits 3.",
    .example = "  attest eval 'taylor_min(4)' --digits 30\n"
               "  attest eval 'let c = 63 in sqrt(c - 1) - 1'\n"
               "  attest eval 'sum(k, 1, 10, 1/k^2) < pi^2/6'",
    .flags = flags,
    .flag_count = sizeof flags / sizeof *flags,
    .accepts = VERB_MINUS,
    .operands_min = 1,
    .operands_max = 1,
};

static void print_language(void) {
  puts("\nlanguage:\n"
       "  numbers   12  0.5  1e-3 (all exact), pi, e, 2^10, -2^2 = -4, 2^3^2 = 2^(3^2)\n"
       "  truth     = != < <= > >=, and or not; a < b < c means both\n"
       "  lists     [1, 2, 3]  [k^2 for k in 1..10]\n"
       "  names     let x = 1/3 in x^2 + x");
  const room_functions *room;
  for (size_t i = 0; (room = expression_room(i)); i++) {
    printf("\nfunctions (%s):\n", room->room);
    for (size_t j = 0; j < room->count; j++) {
      char call[80];
      snprintf(call, sizeof call, "%s(%s)", room->functions[j].name, room->functions[j].parameters);
      verb_help_row(call, room->functions[j].summary);
    }
  }
}

/* The expression with a mark below the column that the message names. */
static int explain(const char *text, const attest_error *error) {
  int column = 0;
  verb_trouble(error);
  if (sscanf(error->message, "column %d:", &column) == 1 && strlen(text) <= 100 &&
      !strpbrk(text, "\t\r\n"))
    fprintf(stderr, "  %s\n  %*s^\n", text, column - 1, "");
  return EXIT_TROUBLE;
}

static int evaluate(const char *text, long digits, int as_fraction) {
  expression e;
  attest_error error;
  decision d;
  if (expression_parse(&e, text, NULL, 0, &error)) return explain(text, &error);
  attest_status status = decide_text(&d, &e, digits, as_fraction, &error);
  expression_clear(&e);
  if (status) return explain(text, &error);
  puts(d.text);
  free(d.text);
  if (d.decided) return EXIT_HOLDS;
  fprintf(stderr, "attest: not decided at the largest precision: the value lies between these "
                  "ends\n");
  return EXIT_UNDECIDED;
}

int verb_eval(int argc, char **argv) {
  verb_options options;
  long digits;
  int status = verb_options_parse(&options, &definition, argc, argv);
  if (status == EXIT_HOLDS) print_language();
  if (status >= 0) return status;
  status = verb_option_count(&digits, &options, "digits", 20);
  if (!status && digits > DECIDE_DIGITS_MAX)
    status = verb_usage_error("--digits %ld: at most %d", digits, DECIDE_DIGITS_MAX);
  if (!status)
    status = evaluate(options.operands[0], digits, verb_option(&options, "rational") != NULL);
  verb_options_clear(&options);
  return status;
}
