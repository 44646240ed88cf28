/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Verdict lines: key=value, no spaces in values, no times. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../certify/theorems.h"
#include "report.h"

const char *report_verdict_name(attest_verdict verdict) {
  static const char *const names[] = {"certified", "refuted", "undecided"};
  return names[verdict];
}

char *report_figure(char buf[32], double figure) {
  double printed = figure;
  for (int ulps = 0; ulps < 2; ulps++) {
    snprintf(buf, 32, "%.4g", printed);
    if (!(strtod(buf, NULL) < figure)) break;
    /* One unit in the last of the four digits more. */
    printed = figure + pow(10, floor(log10(figure)) - 3);
  }
  return buf;
}

char *report_exact_decimal(char buf[32], double x) {
  if (isnan(x)) return strcpy(buf, "nan"); /* whatever its sign */
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(buf, 32, "%.*g", digits, x);
    if (strtod(buf, NULL) == x) break;
  }
  return buf;
}

char *report_scope(char buf[32], const certify_output *o) {
  if (o->compared == o->elements)
    strcpy(buf, "instance");
  else /* rounded down: never more than was looked at */
    snprintf(buf, 32, "sampled(%.4f)",
             floor((double)o->compared / (double)o->elements * 1e4) / 1e4);
  return buf;
}

char *report_why(char buf[96], const certify_output *o) {
  static const struct {
    certify_why why;
    const char *text;
  } reasons[] = {{WHY_INTERRUPTED, "interrupted"},
                 {WHY_PRECISION, "precision"},
                 {WHY_EXPLICIT, "explicit-bounds-apart"},
                 {WHY_NO_THEORY_BOUND, "theory-bound-infinite"},
                 {WHY_SELECTION, "no-selection-found"}};
  size_t n = 0;
  buf[0] = 0;
  if (o->verdict != ATTEST_UNDECIDED) return buf;
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
    if (o->why & reasons[i].why)
      n += (size_t)snprintf(buf + n, 96 - n, "%s%s", n ? "," : "", reasons[i].text);
  if (!n) strcpy(buf, "straddled"); /* a bound on a sum, which has no exact tier */
  return buf;
}

/* What would break key=value apart becomes %XX. */
static void print_word(FILE *f, const char *text) {
  for (; *text; text++)
    if (isspace((unsigned char)*text) || iscntrl((unsigned char)*text) || *text == '%')
      fprintf(f, "%%%02X", (unsigned char)*text);
    else
      fputc(*text, f);
}

static void print_index(FILE *f, const int64_t index[], int ndim) {
  for (int i = 0; i < ndim; i++)
    fprintf(f, "%s%lld", i ? "," : "", (long long)index[i]);
}

static void print_bounds(FILE *f, const certify_output *o) {
  char figure[32];
  unsigned printed = 0;
  for (size_t i = 0; i < o->bound_count; i++) {
    measure_kind m = o->bounds[i].measure;
    if (printed & 1u << m || !o->error[m].measured) continue;
    printed |= 1u << m;
    fprintf(f, " %s=%s", measure_names[m], report_figure(figure, o->error[m].hi));
  }
  fprintf(f, " bound=");
  for (size_t i = 0; i < o->bound_count; i++)
    fprintf(f, "%s%s", i ? ";" : "", o->bounds[i].text);
}

static void print_worst(FILE *f, const certify_output *o) {
  char got[32];
  if (!o->has_worst) return;
  fprintf(f, " at=");
  print_index(f, o->worst_index, o->ndim);
  if (o->verdict != ATTEST_CERTIFIED)
    fprintf(f, " got=%s exact=%.17g..%.17g", report_exact_decimal(got, o->worst_got), o->worst_lo,
            o->worst_hi);
}

static const char *const shouted[] = {"CERTIFIED", "REFUTED", "UNDECIDED"};

static void print_expected(FILE *f, const certify_case *c) {
  if (c->has_expected) fprintf(f, " expect=%s", report_verdict_name(c->expected));
}

static void print_output(FILE *f, const certify_case *c, const certify_subject_result *s,
                         const certify_output *o) {
  char scope[32], why[96], basis[THEOREM_BASIS];
  fprintf(f, "%s kernel=%s case=", shouted[o->verdict], c->kernel);
  print_word(f, c->name);
  if (s->name) {
    fprintf(f, " subject=");
    print_word(f, s->name);
  }
  fprintf(f, " output=%s elements=%lld", problem_output_names[o->output], (long long)o->elements);
  print_bounds(f, o);
  print_worst(f, o);
  if (o->ill_posed) fprintf(f, " ill-posed-rows=%lld", (long long)o->ill_posed);
  if (o->account.has_recomputed)
    fprintf(f, " recomputed-rows=%lld", (long long)o->account.recomputed);
  if (o->account.has_leak) fprintf(f, " leak=%.4g", o->account.leak);
  fprintf(f, " scope=%s basis=%s", report_scope(scope, o),
          theorem_output_basis(basis, &certify_theorems, c, o));
  if (*report_why(why, o)) fprintf(f, " why=%s", why);
  print_expected(f, c);
  fputc('\n', f);
}

/* A subject that returned nothing to compare. */
static void print_no_output(FILE *f, const certify_case *c, const certify_subject_result *s) {
  fprintf(f, "%s kernel=%s case=", s->outcome == CERTIFY_FAILED ? "REFUTED" : "SKIPPED", c->kernel);
  print_word(f, c->name);
  if (s->name) {
    fprintf(f, " subject=");
    print_word(f, s->name);
  }
  fprintf(f, " reason=");
  print_word(f, s->reason);
  print_expected(f, c);
  fputc('\n', f);
}

char *report_text(const certify_case *c, int quiet) {
  char *text = NULL;
  size_t size;
  FILE *f = open_memstream(&text, &size);
  if (!f) return NULL;
  for (size_t i = 0; i < c->subject_count; i++) {
    if (c->subjects[i].outcome != CERTIFY_COMPARED) print_no_output(f, c, &c->subjects[i]);
    for (size_t k = 0; k < c->subjects[i].output_count; k++)
      if (!quiet || c->subjects[i].outputs[k].verdict != ATTEST_CERTIFIED)
        print_output(f, c, &c->subjects[i], &c->subjects[i].outputs[k]);
  }
  if (fclose(f)) {
    free(text);
    return NULL;
  }
  return text;
}

char *report_statement_text(const statement_finding *finding, int quiet) {
  char *text = NULL, basis[THEOREM_BASIS];
  if (quiet && finding->verdict == ATTEST_CERTIFIED) return strdup("");
  int length = asprintf(&text, "%s kernel=%s statement=%s %s scope=instance basis=%s\n",
                        shouted[finding->verdict], finding->kernel, finding->statement,
                        finding->facts, theorem_statement_basis(basis, &certify_theorems, finding));
  return length < 0 ? NULL : text;
}
