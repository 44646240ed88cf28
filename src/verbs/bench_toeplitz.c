/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest bench, the forms of Toeplitz attention: direct sums, the multinomial expansion through
 * FFTW and, for rotary embedding, features of rotated vectors; CPU time of one thread, and the
 * lengths at which they cross. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "../softmax/softmax.h"
#include "../toeplitz/fft.h"
#include "../toeplitz/low_rank.h"
#include "../toeplitz/structure.h"
#include "bench.h"

enum { D = 2, DV = 8, REPEATS = 3, DEGREE_MAX = 8 };
#define EPS 1e-5

static double least(const double *x, int n) {
  double y = x[0];
  for (int i = 1; i < n; i++)
    y = fmin(y, x[i]);
  return y;
}

/* ---- problems ---- */

typedef struct {
  attest_problem *problem;
  problem_slice slice;
  float *numbers, *weights;
  float coefficients[DEGREE_MAX + 1];
  attest_tensor out;
} head;

static void head_close(head *h) {
  attest_problem_free(h->problem);
  free(h->numbers);
  free(h->weights);
}

static attest_status give(head *h, const char *name, float *data, int ndim, const int64_t shape[],
                          attest_error *error) {
  attest_tensor t = attest_tensor_of(data, ATTEST_FLOAT32, ndim, shape);
  return attest_problem_input(h->problem, name, &t, error);
}

/* The Taylor polynomial of exp in its place. */
static attest_status give_coefficients(head *h, int64_t degree, attest_error *error) {
  float c = 1;
  for (int64_t t = 0; t <= degree; t++, c /= (float)t)
    h->coefficients[t] = c;
  return give(h, "coefficients", h->coefficients, 1, (int64_t[]){degree + 1}, error);
}

/* support: elements of W that are used; 0: rotary embedding. degree: of a polynomial instead of
 * exp; 0: exp. Scores are of order 1. */
static attest_status head_open(head *h, int64_t n, int64_t support, int64_t degree,
                               attest_error *error) {
  uint64_t seed = 1;
  int64_t count = n * (2 * D + 2 * DV), weights = support ? (2 * n - 1) * D * D : 0;
  *h = (head){.problem = attest_problem_new(support ? "toeplitz" : "rope-softmax", error)};
  if (!h->problem) return error->status;
  h->numbers = malloc((size_t)count * sizeof *h->numbers);
  h->weights = calloc((size_t)weights + 1, sizeof *h->weights);
  if (!h->numbers || !h->weights)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: %lld keys", (long long)n);
  for (int64_t i = 0; i < count; i++)
    h->numbers[i] = (float)(2 * bench_uniform(&seed) - 1);
  for (int64_t i = 0; i < weights; i++)
    if (i % (D * D) < support) h->weights[i] = (float)(bench_uniform(&seed) - 0.5);
  float *k = h->numbers + n * D, *v = k + n * D;
  h->out = attest_tensor_of(v + n * DV, ATTEST_FLOAT32, 2, (int64_t[]){n, DV});
  attest_status status = give(h, "q", h->numbers, 2, (int64_t[]){n, D}, error);
  if (!status) status = give(h, "k", k, 2, (int64_t[]){n, D}, error);
  if (!status) status = give(h, "v", v, 2, (int64_t[]){n, DV}, error);
  if (!status && support)
    status = give(h, "weights", h->weights, 3, (int64_t[]){2 * n - 1, D, D}, error);
  if (!status && degree) status = give_coefficients(h, degree, error);
  if (!status) status = attest_problem_output(h->problem, "out", &h->out, error);
  if (!status) status = problem_resolve(h->problem, error);
  if (!status) problem_slice_get(&h->slice, h->problem, 0);
  return status;
}

/* ---- one length ---- */

enum { DIRECT, FFT, LOW_RANK, FORMS };

typedef struct {
  double n, seconds[FORMS]; /* 0: not measured */
  double transforms;        /* seconds of as many transforms by FFTW alone */
  toeplitz_fft_report report;
  int64_t features_degree;
} line;

static attest_status run_form(line *l, head *h, int form, attest_error *error) {
  toeplitz_fft_options options = {.eps = EPS};
  low_rank_report features = {0};
  attest_status status;
  if (form == DIRECT)
    return (h->problem->pairing == PAIRING_ROTARY ? softmax_kernel : toeplitz_kernel)(
        &h->out, NULL, h->problem, error);
  if (form == FFT)
    return toeplitz_fft_attention(&l->report, NULL, h->problem, &h->slice, &options, error);
  status = toeplitz_low_rank(&h->out, &features, h->problem, &h->slice, EPS, error);
  l->features_degree = features.degree;
  return status;
}

/* Seconds of `count` transforms of the size that the form uses. */
static attest_status time_transforms(double *seconds, int64_t n, int64_t count,
                                     attest_error *error) {
  toeplitz_fft_f32 fft;
  toeplitz_work_f32 work = {0};
  attest_status status = toeplitz_fft_open_f32(&fft, n, n, error);
  if (status) return status;
  status = toeplitz_work_open_f32(&work, fft.size, error);
  if (!status) {
    int64_t few = count < 400 ? count : 400;
    for (int64_t i = 0; i < fft.size; i++)
      work.real_part[i] = 0;
    toeplitz_transforms_f32(&fft, &work, 2);
    double start = bench_cpu();
    toeplitz_transforms_f32(&fft, &work, few);
    *seconds = (bench_cpu() - start) * (double)count / (double)few;
  }
  toeplitz_work_close_f32(&work);
  return status;
}

/* Which forms are measured. */
typedef struct {
  int64_t support, degree;
  int form[FORMS];
} plan;

static attest_status measure(line *l, int64_t n, const plan *p, attest_error *error) {
  head h;
  double alone[REPEATS], s[FORMS][REPEATS] = {{0}};
  attest_status status = head_open(&h, n, p->support, p->degree, error);
  *l = (line){.n = (double)n};
  int repeats = n >= 65536 && !p->degree ? 1 : REPEATS;
  for (int i = 0; i < repeats && !status; i++) {
    for (int form = 0; form < FORMS && !status; form++) {
      if (!p->form[form]) continue;
      double start = bench_cpu();
      status = run_form(l, &h, form, error);
      s[form][i] = bench_cpu() - start;
    }
    if (!status) status = time_transforms(&alone[i], n, l->report.transforms, error);
  }
  for (int form = 0; form < FORMS && !status; form++)
    l->seconds[form] = least(s[form], repeats);
  if (!status) l->transforms = least(alone, repeats);
  head_close(&h);
  return status;
}

/* ---- tables ---- */

enum { LINES = 16 };

/* From where on form `fast` takes less time than direct sums, which grow as n^2 beyond the last
 * length measured. */
static double crossover(const line *lines, int count, int fast) {
  double direct = 0, at = 0;
  for (int i = 0; i < count; i++) {
    if (lines[i].seconds[DIRECT] > 0) {
      direct = lines[i].seconds[DIRECT];
      at = lines[i].n;
    }
    double estimate = direct * (lines[i].n / at) * (lines[i].n / at);
    if (lines[i].seconds[fast] > 0 && lines[i].seconds[fast] < estimate) return lines[i].n;
  }
  return 0;
}

static void print_crossover(const line *lines, int count, int fast, const char *name) {
  double n = crossover(lines, count, fast);
  if (n > 0)
    printf("%s takes less time than direct sums from n = %.0f on\n", name, n);
  else
    printf("%s takes more time than direct sums at every length here\n", name);
}

static void print_line(const line *l, int64_t support) {
  printf("%8.0f ", l->n);
  if (l->seconds[DIRECT] > 0)
    printf("%10.1f ", 1e3 * l->seconds[DIRECT]);
  else
    printf("%10s ", "-");
  printf("%10.1f %7lld %10lld %9.2fx", 1e3 * l->seconds[FFT], (long long)l->report.terms,
         (long long)l->report.transforms, l->seconds[FFT] / l->transforms);
  if (!support) printf(" %10.1f", 1e3 * l->seconds[LOW_RANK]);
  printf("\n");
}

static attest_status table(bench_log *log, int64_t support, int quick, attest_error *error) {
  line lines[LINES];
  int count = 0;
  attest_status status = ATTEST_OK;
  int64_t last = quick ? 16384 : 262144, quadratic = quick || support ? 16384 : 65536;
  if (support)
    printf("\ntoeplitz, %lld elements of W used; direct sums\n", (long long)support);
  else
    printf("\nrope-softmax, which has 4 elements of W; direct sums: the softmax kernel\n");
  printf("       n     direct        fft   terms transforms   / FFTW%s\n",
         support ? "" : "   low-rank");
  for (int64_t n = 1024; n <= last && !status; n *= 4) {
    plan p = {.support = support,
              .form = {[DIRECT] = n <= quadratic, [FFT] = 1, [LOW_RANK] = !support}};
    status = measure(&lines[count], n, &p, error);
    if (status) break;
    const line *l = &lines[count++];
    print_line(l, support);
    bench_figure(log, l->seconds[FFT] / l->transforms, "ratio", "toeplitz/%lld/fft/%lld",
                 (long long)support, (long long)n);
  }
  if (status) return status;
  print_crossover(lines, count, FFT, "the FFT form");
  if (!support) print_crossover(lines, count, LOW_RANK, "the low-rank form");
  return ATTEST_OK;
}

/* The FFT form beside its transforms at a fixed number of elements of W and a fixed degree. */
static attest_status overhead(bench_log *log, int quick, attest_error *error) {
  static const plan plans[] = {
      {1, 8, {[FFT] = 1}}, {2, 6, {[FFT] = 1}}, {3, 5, {[FFT] = 1}}, {4, 4, {[FFT] = 1}}};
  enum { PLANS = sizeof plans / sizeof *plans };
  double worst = 0;
  attest_status status = ATTEST_OK;
  printf(
      "\nthe FFT form of polynomials (coefficients given) beside as many transforms alone, best of "
      "%d;\nbeyond the transforms it loads the tensors, multiplies factors, spectra and values and "
      "adds up\n       n",
      REPEATS);
  for (int i = 0; i < PLANS; i++)
    printf("  |S|=%lld g=%lld", (long long)plans[i].support, (long long)plans[i].degree);
  printf("\n");
  for (int64_t n = 4096; n <= (quick ? 16384 : 262144) && !status; n *= 2) {
    printf("%8lld", (long long)n);
    for (int i = 0; i < PLANS && !status; i++) {
      line l;
      status = measure(&l, n, &plans[i], error);
      if (status) break;
      double ratio = l.seconds[FFT] / l.transforms;
      printf(" %9.2fx", ratio);
      bench_figure(log, ratio, "ratio", "toeplitz/%lld/degree-%lld/%lld",
                   (long long)plans[i].support, (long long)plans[i].degree, (long long)n);
      worst = fmax(worst, ratio);
    }
    printf("\n");
  }
  if (!status) bench_goal(log, GOAL_TOEPLITZ, worst);
  return status;
}

/* Memory that one call frees is there for the next, as from head to head. */
static void keep_memory(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

attest_status bench_toeplitz(bench_log *log, int quick, attest_error *error) {
  keep_memory();
  printf("\ntoeplitz attention, d = %d, dv = %d, float32, exp to a relative %g, one thread:\n"
         "milliseconds of CPU time, best of %d below n = 65536; / FFTW: beside as many transforms "
         "alone\n",
         D, DV, EPS, REPEATS);
  attest_status status = ATTEST_OK;
  for (int64_t support = 0; support <= 4 && !status; support = support ? support * 2 : 1)
    status = table(log, support, quick, error);
  if (!status) status = overhead(log, quick, error);
  return status;
}

/* ---- by itself ---- */

typedef struct {
  head head;
  line line;
} piece;

static attest_status fft_on(void *context, attest_error *error) {
  piece *p = context;
  return run_form(&p->line, &p->head, FFT, error);
}

/* One element of W, degree 8. */
attest_status bench_toeplitz_profile(bench_profile *p, attest_error *error) {
  enum { KEYS = 16384 };
  piece mine = {.line = {.n = KEYS}};
  keep_memory();
  attest_status status = head_open(&mine.head, KEYS, 1, 8, error);
  if (!status) status = bench_profile_run(p, KEYS * DV, "element", fft_on, &mine, error);
  head_close(&mine.head);
  return status;
}
