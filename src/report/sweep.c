/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Verdict lines and tables of sweeps. */
#include "sweep.h"

#include <math.h>

#include "../certify/sweep_order.h"
#include "../certify/theorems.h"
#include "report.h"

static const char *const kinds[PEAK_COUNT] = {"ulp", "abs", "rel"};

static void print_range(FILE *f, const sweep_request *q) {
  if (q->first == 0 && q->last == UINT32_MAX) return;
  fprintf(f, " from=%a to=%a", (double)sweep_float(q->first), (double)sweep_float(q->last));
}

static void print_rope(FILE *f, const sweep_function *function) {
  if (!function->rope) return;
  char *base = fmpq_get_str(NULL, 10, function->rope->values.rope_base.value);
  fprintf(f, " rope-base=%s%s d=%lld pair=%lld", base,
          function->rope->values.rope_base.root ? "^(1/2)" : "", (long long)function->d,
          (long long)function->pair);
  flint_free(base);
}

static void print_name(FILE *f, const sweep_result *r, const sweep_request *q) {
  static const char *const shouted[] = {"CERTIFIED", "REFUTED", "UNDECIDED"};
  fprintf(f, "%s sweep=%s", shouted[r->verdict], sweep_reference_name(&q->function));
  print_rope(f, &q->function);
  fprintf(f, " subject=%s", sweep_subject_name(q));
}

static const char *scope(char buf[48], const sweep_request *q) {
  if (q->shards > 1)
    snprintf(buf, 48, "shard(%d/%d)", q->shard, q->shards);
  else
    snprintf(buf, 48, "%s", q->first == 0 && q->last == UINT32_MAX ? "all-inputs" : "range");
  return buf;
}

/* The largest error from above; where it has no upper bound in double though it is finite, from
 * below: then it starts with ">=". */
static const char *figure_of(char buf[40], const sweep_error *e) {
  if (isinf(e->hi) && e->lo > 0 && !isinf(e->lo)) {
    double below = e->lo * (1 - 0x1p-10); /* four digits of it are below e->lo */
    snprintf(buf, 40, ">=%.4g", below);
    return buf;
  }
  return report_figure(buf, e->hi);
}

static void print_errors(FILE *f, const sweep_result *r) {
  char figure[40];
  unsigned printed = 0;
  for (size_t i = 0; i < r->bound_count; i++) {
    sweep_peak_kind k = r->bounds[i].kind;
    if (printed & 1u << k) continue;
    printed |= 1u << k;
    fprintf(f, " %s=%s", kinds[k], figure_of(figure, &r->error[k]));
  }
  fprintf(f, " bound=");
  for (size_t i = 0; i < r->bound_count; i++)
    fprintf(f, "%s%s", i ? ";" : "", r->bounds[i].text);
}

char *report_sweep_basis(char basis[THEOREM_BASIS], const sweep_request *q) {
  return theorem_sweep_basis(basis, &certify_theorems, sweep_reference_name(&q->function));
}

void report_sweep_line(FILE *f, const sweep_result *r, const sweep_request *q) {
  char text[48], basis[THEOREM_BASIS];
  print_name(f, r, q);
  if (r->failed || r->interrupted || !r->planned) {
    fprintf(f, " reason=%s",
            r->failed        ? r->failure.reason
            : r->interrupted ? "interrupted"
                             : r->undecided);
    print_range(f, q);
    fputc('\n', f);
    return;
  }
  const sweep_error *worst = &r->error[r->bounds[r->decisive].kind];
  fprintf(f, " elements=%llu", (unsigned long long)r->planned);
  if (r->total.flushed) fprintf(f, " flushed=%llu", (unsigned long long)r->total.flushed);
  if (r->total.outside) fprintf(f, " outside=%llu", (unsigned long long)r->total.outside);
  if (r->undecided) fprintf(f, " reason=%s", r->undecided);
  print_errors(f, r);
  if (sweep_record_compared(&r->total))
    fprintf(f, " at=%a got=%a exact=%.17g..%.17g", (double)sweep_float(worst->key),
            (double)tensor_bits_float(worst->got), worst->exact[0], worst->exact[1]);
  fprintf(f, " misrounded=%llu disorder=%llu wrong-sign=%llu",
          (unsigned long long)r->total.misrounded, (unsigned long long)r->total.disorder,
          (unsigned long long)r->total.wrong_sign);
  if (r->total.unresolved) fprintf(f, " unresolved=%llu", (unsigned long long)r->total.unresolved);
  print_range(f, q);
  fprintf(f, " scope=%s basis=%s\n", scope(text, q), report_sweep_basis(basis, q));
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void print_histogram(FILE *f, const sweep_record *r) {
  uint64_t compared = sweep_record_compared(r);
  fprintf(f, "\nerrors in ulp of the exact value, %llu inputs compared\n\n",
          (unsigned long long)compared);
  for (int b = 0; b < SWEEP_BINS; b++) {
    if (!r->bins[b]) continue;
    char label[32];
    int e = b - 1 + SWEEP_BIN_LEAST;
    if (b == 0)
      snprintf(label, sizeof label, "below 2^%d", SWEEP_BIN_LEAST);
    else if (b == SWEEP_BIN_INFINITE)
      snprintf(label, sizeof label, "infinite");
    else if (b == SWEEP_BIN_INFINITE - 1)
      snprintf(label, sizeof label, "2^%d and more", e);
    else
      snprintf(label, sizeof label, "2^%d .. 2^%d", e, e + 1);
    fprintf(f, "  %-16s %12llu %9.4f%%\n", label, (unsigned long long)r->bins[b],
            100 * (double)r->bins[b] / (double)compared);
  }
}

/* Eight binades a line, in the order of values. */
static void print_binades(FILE *f, const sweep_result *r) {
  enum { GROUP = 8 };
  char figure[32];
  fprintf(f,
          "\n  inputs |x| from .. below      compared   misrounded  disorder   largest ulp at\n");
  for (int i = 0; i < SWEEP_BINADES; i += GROUP) {
    sweep_record sum = r->binades[0];
    int negative = i < 256, first = negative ? 255 - i - (GROUP - 1) : i - 256;
    for (int k = 0; k < GROUP; k++) {
      const sweep_record *b = &r->binades[first + k + (negative ? 256 : 0)];
      if (k == 0)
        sum = *b;
      else
        sweep_record_join(&sum, b);
    }
    if (!sweep_record_compared(&sum)) continue;
    fprintf(f, "  %s2^%-4d .. 2^%-4d %15llu %12llu %9llu   %11s %a\n", negative ? "-" : " ",
            first ? first - 127 : -149, first + GROUP - 127,
            (unsigned long long)sweep_record_compared(&sum), (unsigned long long)sum.misrounded,
            (unsigned long long)sum.disorder, report_figure(figure, sum.peaks[PEAK_ULP].hi),
            (double)sweep_float(sum.peaks[PEAK_ULP].key));
  }
}

static void print_specials(FILE *f, const sweep_result *r) {
  char figure[32];
  fprintf(f, "\n  special value                        input                got    nearest float   "
             "      ulp\n");
  for (size_t i = 0; i < r->special_count; i++) {
    const sweep_special *s = &r->specials[i];
    fprintf(f, "  %-24s %17a %18a %16a %11s\n", s->label, (double)tensor_bits_float(s->input),
            (double)tensor_bits_float(s->got), s->nearest,
            isnan(s->ulp) ? "-" : report_figure(figure, s->ulp));
  }
}

void report_sweep_tables(FILE *f, const sweep_result *r, const sweep_request *q) {
  char figure[40];
  (void)q;
  if (r->failed || r->interrupted || !r->planned) return;
  fprintf(f, "\n");
  for (int k = 0; k < PEAK_COUNT; k++) {
    const sweep_error *e = &r->error[k];
    fprintf(f, "  largest %s: %s%s at %a: got %a, exact %.17g\n", kinds[k],
            e->is_refined || isinf(e->hi) ? "" : "at most ", figure_of(figure, e),
            (double)sweep_float(e->key), (double)tensor_bits_float(e->got), e->exact[0]);
  }
  print_histogram(f, &r->total);
  print_binades(f, r);
  print_specials(f, r);
}
