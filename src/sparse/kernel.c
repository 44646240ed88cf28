/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The fast kernels: supports and weights of a row, packing, blocks of rows. */
#include "kernel.h"

#include <stdlib.h>

#include "../enclosure/exp.h"

/* ---- supports ---- */

int sparse_support_open(sparse_support *support, int64_t n) {
  size_t room = (size_t)n + 2 * SPARSE_LANES;
  memset(support, 0, sizeof *support);
  double *next = support->memory = malloc(room * (3 * sizeof *next + sizeof(int64_t)));
  if (!next) return 0;
  support->gap = next;
  support->weight = next + room;
  support->scratch = next + 2 * room;
  support->key = (int64_t *)(next + 3 * room);
  return 1;
}

void sparse_support_close(sparse_support *support) {
  free(support->memory);
  support->memory = NULL;
}

/* The k-th largest of x, 1 <= k <= n, by Hoare's selection; x is reordered. */
static double select_largest(double *x, int64_t n, int64_t k) {
  int64_t lo = 0, hi = n - 1, want = k - 1;
  while (lo < hi) {
    double pivot = x[lo + (hi - lo) / 2];
    int64_t i = lo, j = hi;
    while (i <= j) {
      while (x[i] > pivot)
        i++;
      while (x[j] < pivot)
        j--;
      if (i > j) break;
      double held = x[i];
      x[i++] = x[j];
      x[j--] = held;
    }
    if (want <= j)
      hi = j;
    else if (want >= i)
      lo = i;
    else
      break;
  }
  return x[want];
}

/* Keeps the k largest of the keys gathered, gap holding their scores; weight is scratch. */
static void keep_largest(sparse_support *support, int64_t k, int highest) {
  int64_t n = support->count, kept = 0, ties = k, seen = 0, equal = 0;
  if (n <= k) return;
  memcpy(support->weight, support->gap, (size_t)n * sizeof *support->gap);
  double cut = select_largest(support->weight, n, k);
  for (int64_t i = 0; i < n; i++) {
    ties -= support->gap[i] > cut;
    equal += support->gap[i] == cut;
  }
  for (int64_t i = 0; i < n; i++) {
    int keep = support->gap[i] > cut;
    if (support->gap[i] == cut) {
      keep = highest ? seen >= equal - ties : seen < ties;
      seen++;
    }
    if (!keep) continue;
    support->key[kept] = support->key[i];
    support->gap[kept++] = support->gap[i];
  }
  support->count = kept;
}

/* Weights from what gap holds: scores or arguments, for thresholds the gaps. */
static void finish_support(sparse_support *support, const sparse_pack *pack) {
  sparse_rule rule = pack->kernel->rule;
  const problem_values *values = &pack->problem->values;
  double *gap = support->gap, *weight = support->weight;
  if (rule == RULE_TOP_EXP || rule == RULE_TOP_MEAN)
    keep_largest(support, values->topk, values->ties == TIES_HIGHEST);
  int64_t n = support->count;
  if (rule == RULE_THRESHOLD) {
    for (int64_t i = n; i < n + SPARSE_LANES; i++)
      gap[i] = 2;
    if (n) ISA_DISPATCH(sparse_solve_gaps)
    (weight, support->scratch, gap, support->key, &support->count, pack->power.value,
     pack->whole_power, support->is_double);
    support->sum = ISA_DISPATCH(sparse_weight_sum)(weight, support->count);
    return;
  }
  if (rule == RULE_EXP || rule == RULE_TOP_EXP) {
    for (int64_t i = 0; i < n; i++)
      gap[i] -= support->largest;
    exp64_array(weight, gap, (size_t)n);
  }
  for (int64_t i = 0; i < n && rule == RULE_MARGIN; i++)
    gap[i] = pack->margin.value + (gap[i] - support->largest) * pack->inverse_square.value;
  if (rule == RULE_MARGIN || rule == RULE_POWER)
    ISA_DISPATCH(sparse_profile_weights)(weight, gap, n, pack->whole_power);
  for (int64_t i = 0; i < n && (rule == RULE_WITHIN || rule == RULE_TOP_MEAN); i++)
    weight[i] = 1;
  support->sum = ISA_DISPATCH(sparse_weight_sum)(weight, n);
}

/* Scores at or below this carry no weight, by a margin that rounding does not cross. */
static double cutoff(const sparse_pack *pack, double largest) {
  switch (pack->kernel->rule) {
  case RULE_POWER:
    return 0;
  case RULE_WITHIN:
    return -0x1p-1000;
  case RULE_EXP:
    return largest + EXP64_MIN;
  case RULE_MARGIN:
    return largest - pack->margin.value / pack->inverse_square.value * (1 + 0x1p-20) -
           fabs(largest) * 0x1p-20;
  case RULE_THRESHOLD:
    return largest - (1 + 0x1p-20) / pack->alpha_less.value - fabs(largest) * 0x1p-20;
  default:
    return -INFINITY;
  }
}

#define SUPPORT(real, suffix)                                                                      \
  void sparse_support_##suffix(sparse_support *support, const real *s, int64_t n,                  \
                               const sparse_pack *pack) {                                          \
    support->largest = (double)ISA_DISPATCH(sparse_largest_##suffix)(s, n);                        \
    support->count = 0;                                                                            \
    support->is_double = sizeof(real) == sizeof(double);                                           \
    support->sum = 0;                                                                              \
    if (support->largest == -INFINITY) return;                                                     \
    ISA_DISPATCH(sparse_gather_##suffix)(support, s, n, (real)cutoff(pack, support->largest));     \
    int is_gap = pack->kernel->rule == RULE_THRESHOLD;                                             \
    ISA_DISPATCH(sparse_gaps_##suffix)                                                             \
    (support->gap, s, support->key, support->count, is_gap ? support->largest : 0,                 \
     is_gap ? pack->alpha_less.value : -1);                                                        \
    finish_support(support, pack);                                                                 \
  }
SUPPORT(float, f32)
SUPPORT(double, f64)

/* ---- packed slices and working memory ---- */

static int64_t round_up(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

typedef struct {
  sparse_pack pack; /* its parameters */
  int is_double;
  int64_t panels, dv_pad;
  double value_scale;  /* a power of two: the largest |v| becomes about 1 */
  void *keys, *values; /* [panels][d][SPARSE_PANEL], [nk][dv_pad] */
  void *memory;
} packed;

/* One block of rows. */
typedef struct {
  sparse_support support;
  void *query, *score, *out; /* [SPARSE_ROWS][d], [SPARSE_ROWS][panels * SPARSE_PANEL], [dv_pad] */
  double *buffer;            /* nk + d + dv */
  void *memory;
} block_work;

static void put(void *array, int is_double, int64_t at, double x) {
  if (is_double)
    ((double *)array)[at] = x;
  else
    ((float *)array)[at] = (float)x;
}

static double value_scale(const problem_slice *slice, double *x) {
  double largest = 0;
  for (int64_t j = 0; j < slice->nk; j++) {
    tensor_load(x, &slice->v, j * slice->v.stride[0], slice->dv, slice->v.stride[1]);
    for (int64_t c = 0; c < slice->dv; c++)
      if (isfinite(x[c])) largest = fmax(largest, fabs(x[c]));
  }
  int e = 0;
  frexp(largest, &e);
  return ldexp(1, e < -1000 ? 1000 : -e);
}

static attest_status packed_open(packed *p, const attest_problem *problem,
                                 const problem_slice *slice, int is_double, attest_error *error) {
  int64_t d = slice->d, dv = slice->dv, nk = slice->nk;
  size_t size = is_double ? sizeof(double) : sizeof(float);
  sparse_pack_parameters(&p->pack, problem, slice);
  p->is_double = is_double;
  p->panels = (nk + SPARSE_PANEL - 1) / SPARSE_PANEL;
  p->dv_pad = round_up(dv, 64 / (int64_t)size);
  size_t keys = (size_t)(p->panels * d * SPARSE_PANEL) * size;
  p->memory = isa_allocate(1, keys + (size_t)(nk * p->dv_pad) * size);
  double *x = malloc((size_t)(d > dv ? d : dv) * sizeof *x + 8);
  if (!p->memory || !x) {
    free(x);
    free(p->memory);
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for %lld keys", (long long)nk);
  }
  p->value_scale = value_scale(slice, x);
  p->keys = p->memory;
  p->values = (char *)p->memory + keys;
  for (int64_t j = 0; j < nk; j++) {
    tensor_load(x, &slice->k, j * slice->k.stride[0], d, slice->k.stride[1]);
    int64_t at = j / SPARSE_PANEL * SPARSE_PANEL * d + j % SPARSE_PANEL;
    for (int64_t a = 0; a < d; a++)
      put(p->keys, is_double, at + a * SPARSE_PANEL, x[a]);
    tensor_load(x, &slice->v, j * slice->v.stride[0], dv, slice->v.stride[1]);
    for (int64_t c = 0; c < dv; c++)
      put(p->values, is_double, j * p->dv_pad + c, x[c] * p->value_scale);
  }
  free(x);
  return ATTEST_OK;
}

static int block_open(block_work *w, const packed *p) {
  const problem_slice *slice = &p->pack.slice;
  size_t size = p->is_double ? sizeof(double) : sizeof(float);
  size_t query = (size_t)round_up(SPARSE_ROWS * slice->d, 16) * size;
  size_t score = (size_t)(SPARSE_ROWS * (p->panels + 1) * SPARSE_PANEL) * size;
  size_t out = (size_t)p->dv_pad * size;
  memset(w, 0, sizeof *w);
  char *next = w->memory =
      isa_allocate(1, query + score + out + (size_t)(slice->nk + slice->d + 8) * 8);
  if (!next || !sparse_support_open(&w->support, slice->nk)) {
    free(w->memory);
    w->memory = NULL;
    return 0;
  }
  w->query = next;
  w->score = next + query;
  w->out = next + query + score;
  w->buffer = (double *)(next + query + score + out);
  return 1;
}

static void block_close(block_work *w) {
  if (!w->memory) return;
  sparse_support_close(&w->support);
  free(w->memory);
}

/* ---- rows ---- */

static void store_prescribed(attest_tensor *t, int64_t at, int64_t stride, int64_t n, double x) {
  for (int64_t c = 0; c < n; c++)
    tensor_store(t, at + c * stride, x);
}

/* A row without weight; -1 where that is trouble. */
static int empty_row(attest_tensor *out, attest_tensor *lse, const packed *p, int64_t row) {
  problem_empty_row policy = p->pack.problem->values.empty_row;
  double x = policy == EMPTY_NAN ? (double)NAN : 0;
  store_prescribed(out, row * out->stride[0], out->stride[1], p->pack.slice.dv, x);
  if (lse->data)
    store_prescribed(lse, row * lse->stride[0], 0, 1, policy == EMPTY_NAN ? x : (double)-INFINITY);
  return policy == EMPTY_ERROR ? -1 : 0;
}

static void store_lse(attest_tensor *lse, const packed *p, const sparse_support *support,
                      int64_t row) {
  double x = support->largest + log64(support->sum);
  if (p->pack.problem->values.lse_base == 2) x *= EXP64_LOG2E;
  tensor_store(lse, row * lse->stride[0], x);
}

/* The keys of the support, counted from `first`, then -1. */
static void store_indices(const packed *p, const sparse_support *support, int64_t row,
                          int64_t first) {
  attest_tensor t = p->pack.slice.indices;
  for (int64_t i = 0; t.data && i < t.shape[1]; i++)
    tensor_store(&t, row * t.stride[0] + i * t.stride[1],
                 i < support->count ? (double)(first + support->key[i]) : -1);
}

#define ROWS(real, suffix, width)                                                                  \
  /* Softcap, bias, slope, temperature, visibility and the affine map of the rule: keys lo .. hi - \
   * 1                                                                                             \
   */                                                                                              \
  static void finish_##suffix(real *s, block_work *w, const packed *p, int64_t row, int64_t lo,    \
                              int64_t hi) {                                                        \
    const sparse_pack *pack = &p->pack;                                                            \
    const problem_slice *slice = &pack->slice;                                                     \
    sparse_rule rule = pack->kernel->rule;                                                         \
    if (!pack->kernel->is_distance && pack->problem->values.has_softcap) {                         \
      real cap = (real)pack->softcap.value, inverse = (real)(1 / pack->softcap.value);             \
      for (int64_t j = lo; j < hi; j++)                                                            \
        s[j] *= inverse;                                                                           \
      tanh##width##_array(s + lo, s + lo, (size_t)(hi - lo));                                      \
      for (int64_t j = lo; j < hi; j++)                                                            \
        s[j] *= cap;                                                                               \
    }                                                                                              \
    if (slice->bias.data) {                                                                        \
      tensor_load(w->buffer, &slice->bias,                                                         \
                  row * slice->bias.stride[0] + lo * slice->bias.stride[1], hi - lo,               \
                  slice->bias.stride[1]);                                                          \
      for (int64_t j = lo; j < hi; j++)                                                            \
        s[j] += (real)w->buffer[j - lo];                                                           \
    }                                                                                              \
    for (int64_t j = lo; slice->has_slope && j < hi; j++)                                          \
      s[j] += (real)slice->slope * (real)(j - row - slice->offset);                                \
    real factor = (real)pack->inverse_temperature.value, shift = 0;                                \
    if (rule == RULE_POWER || rule == RULE_WITHIN ||                                               \
        (rule == RULE_EXP && pack->kernel->is_distance)) {                                         \
      double f = pack->inverse_square.value;                                                       \
      factor = (real)(!pack->kernel->is_distance ? 2 * f : rule == RULE_EXP ? -f / 2 : -f);        \
      shift = (real)(!pack->kernel->is_distance ? 1 - 2 * f : rule == RULE_EXP ? 0 : 1);           \
    }                                                                                              \
    for (int64_t j = lo; (factor != 1 || shift != 0) && j < hi; j++)                               \
      s[j] = s[j] * factor + shift;                                                                \
    for (int64_t j = lo; pack->has_extras && j < hi; j++)                                          \
      if (!problem_visible(pack->problem, slice, row, j)) s[j] = (real)-INFINITY;                  \
  }                                                                                                \
                                                                                                   \
  static void store_row_##suffix(attest_tensor *out, int64_t row, const real *x, int64_t dv) {     \
    for (int64_t c = 0; c < dv; c++)                                                               \
      tensor_store(out, row * out->stride[0] + c * out->stride[1], (double)x[c]);                  \
  }                                                                                                \
                                                                                                   \
  static int block_##suffix(attest_tensor *out, attest_tensor *lse, block_work *w,                 \
                            const packed *p, int64_t row, int64_t rows) {                          \
    const problem_slice *slice = &p->pack.slice;                                                   \
    int64_t d = slice->d, stride = p->panels * SPARSE_PANEL, lo[SPARSE_ROWS], hi[SPARSE_ROWS];     \
    int64_t first = slice->nk, last = 0;                                                           \
    real *q = w->query, *x = w->out;                                                               \
    int trouble = 0;                                                                               \
    real scale = p->pack.kernel->is_distance ? 1 : (real)p->pack.scale.value;                      \
    memset(q, 0, (size_t)(SPARSE_ROWS * d) * sizeof *q);                                           \
    for (int64_t r = 0; r < rows; r++) {                                                           \
      tensor_load(w->buffer, &slice->q, (row + r) * slice->q.stride[0], d, slice->q.stride[1]);    \
      for (int64_t a = 0; a < d; a++)                                                              \
        q[r * d + a] = (real)w->buffer[a] * scale;                                                 \
      problem_visible_range(&lo[r], &hi[r], p->pack.problem, slice, row + r);                      \
      if (hi[r] > lo[r] && lo[r] < first) first = lo[r];                                           \
      if (hi[r] > lo[r] && hi[r] > last) last = hi[r];                                             \
    }                                                                                              \
    if (last > first) ISA_DISPATCH(sparse_scores_##suffix)                                         \
    (w->score, stride, q, p->keys, d, first / SPARSE_PANEL,                                        \
     (last + SPARSE_PANEL - 1) / SPARSE_PANEL, p->pack.kernel->is_distance);                       \
    for (int64_t r = 0; r < rows; r++) {                                                           \
      real *s = (real *)w->score + r * stride;                                                     \
      if (hi[r] > lo[r]) finish_##suffix(s, w, p, row + r, lo[r], hi[r]);                          \
      sparse_support_##suffix(&w->support, s + lo[r], hi[r] > lo[r] ? hi[r] - lo[r] : 0,           \
                              &p->pack);                                                           \
      store_indices(p, &w->support, row + r, lo[r]);                                               \
      if (!(w->support.sum > 0)) {                                                                 \
        trouble |= empty_row(out, lse, p, row + r);                                                \
        continue;                                                                                  \
      }                                                                                            \
      ISA_DISPATCH(sparse_combine_##suffix)                                                        \
      (x, &w->support, (const real *)p->values + lo[r] * p->dv_pad, p->dv_pad,                     \
       (real)(1 / p->value_scale));                                                                \
      store_row_##suffix(out, row + r, x, slice->dv);                                              \
      if (lse->data) store_lse(lse, p, &w->support, row + r);                                      \
    }                                                                                              \
    return trouble;                                                                                \
  }
ROWS(float, f32, 32)
ROWS(double, f64, 64)

static attest_status run_slice(attest_tensor *out, attest_tensor *lse, const packed *p,
                               attest_error *error) {
  attest_status status = ATTEST_OK;
  int64_t nq = p->pack.slice.nq, blocks = (nq + SPARSE_ROWS - 1) / SPARSE_ROWS;
#pragma omp parallel if (blocks > 1)
  {
    block_work w;
    int ready = block_open(&w, p), trouble = 0;
#pragma omp for schedule(dynamic)
    for (int64_t b = blocks - 1; b >= 0; b--) {
      int64_t row = b * SPARSE_ROWS, rows = nq - row < SPARSE_ROWS ? nq - row : SPARSE_ROWS;
      if (ready) trouble |= (p->is_double ? block_f64 : block_f32)(out, lse, &w, p, row, rows);
    }
    if (!ready || trouble)
#pragma omp critical
      status = ready ? attest_fail(error, ATTEST_ERR_INPUT,
                                   "a row has no key with weight and empty-row is error: choose "
                                   "zero or nan, or widen the bandwidth")
                     : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: the sparse kernel");
    block_close(&w);
  }
  return status;
}

attest_status sparse_run_kernel(attest_tensor *out, attest_tensor *lse,
                                const attest_problem *problem, attest_error *error) {
  attest_problem mine = *problem;
  mine.output[OUTPUT_OUT] = *out;
  mine.output[OUTPUT_LSE] = lse ? *lse : (attest_tensor){0};
  attest_status status = ATTEST_OK;
  for (int64_t i = 0; i < problem_slice_count(&mine) && !status; i++) {
    problem_slice slice;
    packed p;
    problem_slice_get(&slice, &mine, i);
    status = packed_open(&p, &mine, &slice, out->dtype == ATTEST_FLOAT64, error);
    if (status) break;
    status = run_slice(&slice.out, &slice.lse, &p, error);
    free(p.memory);
  }
  return status;
}
