/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Arguments and weights of one row in double, with their errors: steps 1 to 3 of enclose.c. */
#include "line.h"

#include <stdlib.h>

#include "../enclosure/exp.h"
#include "row.h"

#define U 0x1p-53
#define SLACK (1 + 0x1p-20) /* covers the rounding of the error terms themselves */
#define TINY 0x1p-1000      /* far above what underflows in one operation */
/* r of entmax: else the next tier decides */
#define POWER_LEAST 0x1p-800
#define POWER_MOST 0x1p28
/* A scale in double is at most so far off, relatively; 1/h^2 of the Gaussian is at least so large,
 * and its error, 0 or no less than 2^-130 of it, is normal as well. */
#define SCALE_OFF 0x1p-30
#define HALVED_LEAST 0x1p-800

int sparse_line_open(sparse_line *line, const sparse_pack *pack) {
  size_t n = ((size_t)pack->slice.nk + LINE_PANEL) / LINE_PANEL * LINE_PANEL + 1;
  memset(line, 0, sizeof *line);
  double **arrays[] = {&line->y,   &line->e,     &line->t,         &line->te,
                       &line->w,   &line->dot,   &line->size,      &line->plain,
                       &line->off, &line->slope, &line->slope_off, &line->up};
  enum { ARRAYS = sizeof arrays / sizeof *arrays };
  double *next = line->memory =
      malloc((ARRAYS * n + (size_t)pack->slice.d) * sizeof(double) + n * sizeof(int64_t));
  if (!next) return 0;
  line->pack = pack;
  for (int i = 0; i < ARRAYS; i++, next += n)
    *arrays[i] = next;
  line->query = next;
  line->key = (int64_t *)(next + pack->slice.d);
  return 1;
}

void sparse_line_close(sparse_line *line) {
  free(line->memory);
  line->memory = NULL;
}

double sparse_line_rounding(int64_t n) {
  return ((double)(n < LINE_CHAIN ? n : LINE_CHAIN + n / LINE_CHAIN + 1) + 1) * U * SLACK;
}

/* In the order of sparse_sums. */
static double chained_sum(const double *x, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; i += LINE_CHAIN) {
    double chain = 0;
    for (int64_t k = i; k < n && k < i + LINE_CHAIN; k++)
      chain += x[k];
    total += chain;
  }
  return total;
}

/* ---- scores ---- */

/* y, e, t, te of a number that is built up. */
typedef struct {
  double y, e, t, te;
} term;

static term scaled_product(const sparse_pack *pack, double dot, double size) {
  double scale = pack->scale.value, absolute = fabs(scale) * size, d = (double)pack->slice.d;
  double tiny = (d + 2) * TINY * (1 + fabs(scale));
  double off = (d + 4) * U * absolute + pack->scale.error * size + tiny;
  return (term){scale * dot, off, absolute, off + 4 * U * absolute};
}

/* c tanh(z / c) is 1-Lipschitz in z and in c; its own arithmetic costs 16 u c. 1 - tanh^2 is off by
 * twice what tanh is. */
static term capped(const sparse_pack *pack, term x) {
  double cap = pack->softcap.value, z = x.y / cap, tanh_z;
  tanh64_array(&tanh_z, &z, 1);
  double own = 16 * U * cap + pack->softcap.error, bend = 26 * U + 2 * (x.e + own) / cap;
  term y = {cap * tanh_z, x.e + own, x.t * (1 - tanh_z * tanh_z) + fabs(cap * tanh_z), 0};
  y.te = x.te + x.t * bend + own + 4 * U * y.t;
  if (!(cap >= TINY)) y.e = INFINITY;
  return y;
}

static term finished_score(const sparse_line *line, int64_t j) {
  const sparse_pack *pack = line->pack;
  const problem_slice *slice = &pack->slice;
  term x = scaled_product(pack, line->dot[j], line->size[j]);
  if (pack->problem->values.has_softcap) x = capped(pack, x);
  double bias = slice->bias.data ? softmax_element(&slice->bias, line->row, j) : 0;
  double step = slice->has_slope ? slice->slope * (double)(j - (line->row + slice->offset)) : 0;
  if (slice->bias.data || slice->has_slope) {
    double absolute = fabs(x.y) + fabs(bias) + fabs(step);
    x.y += bias + step;
    x.e += 4 * U * absolute + TINY;
    x.t += fabs(bias) + fabs(step);
    x.te += 4 * U * x.t + TINY;
  }
  const sparse_constant *f = &pack->inverse_temperature;
  if (f->value != 1 || f->error != 0) {
    double y = x.y * f->value, t = x.t * f->value;
    x.e = x.e * (f->value + f->error) + f->error * fabs(x.y) + 2 * U * fabs(y) + TINY;
    x.te = x.te * (f->value + f->error) + f->error * x.t + 2 * U * t + TINY;
    x.y = y;
    x.t = t;
  }
  return x;
}

/* ---- from scores and distances to arguments ---- */

/* factor y + shift, |factor| t + |shift|. */
static term affine(term x, sparse_constant factor, sparse_constant shift) {
  double product = factor.value * x.y, size = fabs(factor.value) * x.t;
  term r = {product + shift.value, 0, size + fabs(shift.value), 0};
  r.e = x.e * (fabs(factor.value) + factor.error) + factor.error * fabs(x.y) + shift.error +
        U * (2 * fabs(product) + fabs(r.y)) + TINY;
  r.te = x.te * (fabs(factor.value) + factor.error) + factor.error * x.t + shift.error +
         4 * U * r.t + TINY;
  return r;
}

/* A distance and its absolute version: all terms are positive. */
static term distance(const sparse_line *line, int64_t j) {
  double relative = ((double)line->pack->slice.d + 4) * U, tiny = TINY;
  return (term){line->dot[j], relative * line->dot[j] + tiny, line->size[j],
                relative * line->size[j] + tiny};
}

/* The affine map of the rule, for one that looks at the key alone. */
static void rule_map(sparse_constant *factor, sparse_constant *shift, const sparse_pack *pack) {
  const sparse_constant *f = &pack->inverse_square;
  int is_exponential = pack->kernel->rule == RULE_EXP;
  *factor = (sparse_constant){1, 0};
  *shift = (sparse_constant){0, 0};
  if (pack->kernel->is_distance) {
    double half = is_exponential ? 0.5 : 1;
    *factor = (sparse_constant){-half * f->value, half * f->error};
    shift->value = is_exponential ? 0 : 1;
  } else if (pack->kernel->rule == RULE_POWER) {
    *factor = (sparse_constant){2 * f->value, 2 * f->error};
    shift->value = 1 - factor->value;
    shift->error = factor->error + U * fabs(shift->value);
  } else if (pack->kernel->rule == RULE_MARGIN) {
    *factor = *f; /* the margin follows once the largest score is known */
  }
}

static void put(sparse_line *line, int64_t i, term x) {
  line->y[i] = x.y;
  line->e[i] = x.e * SLACK;
  line->t[i] = x.t;
  line->te[i] = x.te * SLACK;
  if (!(fabs(x.y) <= 0x1p1000 && x.e <= 0x1p1000 && x.t + x.te <= 0x1p1000)) line->is_unknown = 1;
}

/* Largest half over the keys that may be the largest when each moves by its half: by so much the
 * largest argument moves. */
static double contenders(const sparse_line *line, const double *half) {
  double sure = -INFINITY, most = 0;
  for (int64_t i = 0; i < line->count; i++)
    sure = fmax(sure, line->y[i] - half[i]);
  for (int64_t i = 0; i < line->count; i++)
    if (line->y[i] + half[i] >= sure) most = fmax(most, half[i]);
  return most * SLACK;
}

/* y <- b + y - max y. */
static void below_largest(sparse_line *line) {
  const sparse_constant *margin = &line->pack->margin;
  double largest = -INFINITY;
  for (int64_t i = 0; i < line->count; i++)
    largest = fmax(largest, line->y[i]);
  line->common = contenders(line, line->e);
  for (int64_t i = 0; i < line->count; i++) {
    double gap = line->y[i] - largest;
    line->y[i] = margin->value + gap;
    line->e[i] += (U * (fabs(gap) + fabs(line->y[i])) + margin->error) * SLACK;
  }
}

/* ---- top-k ---- */

typedef struct {
  double y;
  int64_t index;
} ranked;

static int by_falling_score(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->y != y->y) return x->y > y->y ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Whether all keys among rank[0 .. n-1] are one and the same vector with one offset, so that their
 * scores are equal. */
static int same_keys(const sparse_line *line, const ranked *rank, int64_t n) {
  const sparse_pack *pack = line->pack;
  const problem_slice *slice = &pack->slice;
  if (slice->bias.data || slice->has_slope) return 0;
  int64_t first = line->key[rank[0].index];
  for (int64_t i = 1; i < n; i++) {
    int64_t j = line->key[rank[i].index];
    for (int64_t a = 0; a < slice->d; a++)
      if (softmax_element(&slice->k, j, a) != softmax_element(&slice->k, first, a)) return 0;
  }
  return 1;
}

/* Orders rank[0 .. n-1], whose scores double does not tell apart, exactly. 0: out of memory. */
static int rank_exactly(ranked *rank, const sparse_line *line, int64_t n) {
  const sparse_pack *pack = line->pack;
  int highest = pack->problem->values.ties == TIES_HIGHEST;
  int64_t *index = malloc((size_t)n * 3 * sizeof *index), *key, *order;
  sparse_row row;
  if (!index) return 0;
  key = index + n;
  order = key + n;
  for (int64_t i = 0; i < n; i++)
    rank[i].y = 0;
  qsort(rank, (size_t)n, sizeof *rank, by_falling_score); /* rising keys */
  for (int64_t i = 0; i < n; i++) {
    index[i] = rank[i].index;
    key[i] = line->key[rank[i].index];
    order[i] = highest ? n - 1 - i : i;
  }
  int ready = 1;
  if (!same_keys(line, rank, n)) {
    ready = !sparse_row_of_keys(&row, pack->problem, &pack->slice, line->row, key, n, 0, NULL);
    if (ready) sparse_row_sort(order, &row);
    if (ready) sparse_row_clear(&row);
  }
  for (int64_t i = 0; i < n; i++)
    rank[i].index = index[order[i]];
  free(index);
  return ready;
}

void sparse_line_swap(sparse_line *line, int64_t i, int64_t n) {
  double *arrays[] = {line->y, line->e, line->t, line->te};
  int64_t key = line->key[n];
  line->key[n] = line->key[i];
  line->key[i] = key;
  for (int a = 0; a < 4; a++) {
    double x = arrays[a][n];
    arrays[a][n] = arrays[a][i];
    arrays[a][i] = x;
  }
}

/* Keeps the keys that `kept` marks, in their order. */
static void keep(sparse_line *line, const unsigned char *kept) {
  int64_t n = 0;
  for (int64_t i = 0; i < line->count; i++)
    if (kept[i]) sparse_line_swap(line, i, n++);
  line->count = n;
}

/* Where the keys on both sides of the cut may end when scores move by edge t. */
static void find_cut(sparse_line *line, const ranked *rank, int64_t k, double edge) {
  for (int64_t i = 0; i < line->count; i++) {
    int64_t j = rank[i].index;
    double move = (line->e[j] + edge * (line->t[j] + line->te[j])) * SLACK;
    if (i < k)
      line->cut_low = fmin(line->cut_low, line->y[j] - move);
    else
      line->cut_high = fmax(line->cut_high, line->y[j] + move);
  }
}

/* The k largest. Keys that their enclosures do not tell from those across the cut are ranked
 * exactly; the others lie on their sides of it whatever the exact scores are. */
static void select_top(sparse_line *line, double edge) {
  int64_t k = line->pack->problem->values.topk, n = line->count, first = n, last = -1;
  if (n <= k) return;
  ranked *rank = malloc((size_t)n * sizeof *rank);
  unsigned char *kept = calloc((size_t)n, 1);
  int ready = rank && kept;
  for (int64_t i = 0; i < n && ready; i++)
    rank[i] = (ranked){line->y[i], i};
  if (ready) {
    double least = INFINITY, most = -INFINITY;
    qsort(rank, (size_t)n, sizeof *rank, by_falling_score);
    for (int64_t i = 0; i < k; i++)
      least = fmin(least, line->y[rank[i].index] - line->e[rank[i].index]);
    for (int64_t i = k; i < n; i++)
      most = fmax(most, line->y[rank[i].index] + line->e[rank[i].index]);
    find_cut(line, rank, k, edge);
    /* Those in doubt, and whatever is ranked between them. */
    for (int64_t i = 0; i < n; i++) {
      double y = line->y[rank[i].index], e = line->e[rank[i].index] * SLACK;
      if (least > most || (i < k ? y - e > most : y + e < least)) continue;
      first = i < first ? i : first;
      last = i;
    }
    if (last >= first) ready = rank_exactly(rank + first, line, last - first + 1);
    for (int64_t i = 0; i < k; i++)
      kept[rank[i].index] = 1;
    keep(line, kept);
  }
  if (!ready) line->is_unknown = 1;
  free(rank);
  free(kept);
}

/* Parameters among the subnormals are off by more than roundings, and half of one is no double: the
 * theorems of enclose.c ask for others, and the next tier takes these. */
static int is_served(const sparse_pack *pack) {
  const sparse_constant *scale = &pack->scale;
  int halves = pack->kernel->is_distance && pack->kernel->rule == RULE_EXP;
  return scale->error <= SCALE_OFF * fabs(scale->value) &&
         (!halves || pack->inverse_square.value >= HALVED_LEAST);
}

void sparse_line_arguments(sparse_line *line, int64_t row, double edge) {
  const sparse_pack *pack = line->pack;
  const problem_slice *slice = &pack->slice;
  sparse_constant factor, shift;
  int64_t lo, hi;
  line->row = row;
  line->count = line->total = line->is_unknown = line->is_empty = 0;
  line->common = line->residual = line->reach = 0;
  line->cut_low = INFINITY;
  line->cut_high = -INFINITY;
  problem_visible_range(&lo, &hi, pack->problem, slice, row);
  tensor_load(line->query, &slice->q, row * slice->q.stride[0], slice->d, slice->q.stride[1]);
  sparse_dots_function *dots =
      pack->kernel->is_distance ? ISA_DISPATCH(sparse_distances) : ISA_DISPATCH(sparse_products);
  if (hi > lo)
    dots(line->dot, line->size, line->query, pack->keys, slice->d, lo / LINE_PANEL,
         (hi + LINE_PANEL - 1) / LINE_PANEL);
  rule_map(&factor, &shift, pack);
  line->is_unknown = hi - lo >= LINE_MOST || slice->d >= LINE_MOST || !is_served(pack);
  for (int64_t j = lo; j < hi; j++) {
    if (pack->has_extras && !problem_visible(pack->problem, slice, row, j)) continue;
    term x = pack->kernel->is_distance ? distance(line, j) : finished_score(line, j);
    if (factor.value != 1 || factor.error != 0 || shift.value != 0) x = affine(x, factor, shift);
    line->key[line->count] = j;
    put(line, line->count++, x);
    line->reach = fmax(line->reach, x.t + x.te);
  }
  sparse_rule rule = pack->kernel->rule;
  line->total = line->count;
  if (line->is_unknown) return;
  if (rule == RULE_MARGIN) below_largest(line);
  if (rule == RULE_TOP_EXP || rule == RULE_TOP_MEAN) select_top(line, edge);
}

/* ---- powers ---- */

/* y^r for y > 0, off by at most *relative. */
static double bounded_power(double *relative, const sparse_pack *pack, double y) {
  double r = pack->power.value, logarithm, exponent, off, power;
  int tiny = y < TINY; /* then the power of TINY bounds it */
  switch (pack->whole_power) {
  case 1:
    *relative = 0;
    return y;
  case 2:
    *relative = 2 * U;
    return y * y;
  case 3:
    *relative = 3 * U;
    return y * y * y;
  default:
    logarithm = log64(tiny ? TINY : y);
    exponent = r * logarithm;
    *relative = 1;
    if (!(exponent <= EXP64_MAX)) return INFINITY; /* far from the support of any threshold */
    exp64_array(&power, &exponent, 1);
    /* e^off - 1 <= off (1 + off) for off <= 1 */
    off = r * 0x1p-51 * (1 + fabs(logarithm)) + pack->power.error * fabs(logarithm) +
          2 * U * fabs(exponent);
    *relative = (off + (EXP64_ERROR + 1) * U) * (1 + 2 * off) * SLACK;
    if (!(*relative <= 0x1p-10) || tiny) *relative = 1;
    return power;
  }
}

/* ---- weights ---- */

static void exponential_weights(sparse_line *line) {
  double largest = -INFINITY;
  for (int64_t i = 0; i < line->count; i++)
    largest = fmax(largest, line->y[i]);
  line->largest = line->count ? largest : 0;
  for (int64_t i = 0; i < line->count; i++) {
    line->plain[i] = line->y[i] - largest;
    line->e[i] += U * fabs(line->plain[i]) * SLACK;
  }
  exp64_array(line->w, line->plain, (size_t)line->count);
}

static void power_weights(sparse_line *line) {
  double relative;
  for (int64_t i = 0; i < line->count; i++)
    line->w[i] = line->y[i] > 0 ? bounded_power(&relative, line->pack, line->y[i]) : 0;
}

/* Arguments that no other key moves: whether all weights vanish. */
static void find_empty(sparse_line *line) {
  int sure = 0, possible = 0;
  for (int64_t i = 0; i < line->count; i++) {
    sure |= line->y[i] - line->e[i] > 0;
    possible |= line->y[i] + line->e[i] > 0;
  }
  line->is_empty = !possible;
  line->is_unknown |= possible && !sure;
}

/* Keys whose distance double does not tell from the bandwidth are compared exactly. */
static void within_weights(sparse_line *line) {
  const sparse_pack *pack = line->pack;
  line->is_empty = 1;
  for (int64_t i = 0; i < line->count; i++) {
    int inside = line->y[i] > 0;
    if (fabs(line->y[i]) <= line->e[i]) {
      sparse_row row;
      if (sparse_row_of_keys(&row, pack->problem, &pack->slice, line->row, &line->key[i], 1, 0,
                             NULL)) {
        line->is_unknown = 1;
        return;
      }
      inside = sparse_row_sign(&row, 0) >= 0;
      sparse_row_clear(&row);
    }
    line->w[i] = inside;
    line->is_empty &= !inside;
  }
}

/* How far solving has missed, d: keys have y <= 1 at the root and y <= 1 + d at u, so log y changes
 * by at least d / (1 + d) and F by at least the factor exp(r d / (1 + d)): d / (1 + d) <= max(F -
 * 1, 1 - F) / (r min(1, F)). `off` is what rounding did to F. */
static double miss(double sum, double off, double r) {
  double least = fmin(1, sum - off);
  double most = fmax(sum + off - 1, 1 - (sum - off));
  double m = most / (r * least);
  return least > 0.5 && m < 0.5 ? m * (1 + 2 * m) * (1 + 0x1p-19) : INFINITY;
}

static void threshold_weights(sparse_line *line) {
  const sparse_pack *pack = line->pack;
  double a = pack->alpha_less.value, largest = -INFINITY, off = 0;
  int64_t near = 0;
  for (int64_t i = 0; i < line->count; i++)
    largest = fmax(largest, line->y[i]);
  for (int64_t i = 0; i < line->count; i++) {
    double z = largest - line->y[i], gap = a * z;
    line->e[i] = (line->e[i] * (a + pack->alpha_less.error) + pack->alpha_less.error * z +
                  3 * U * gap + TINY) *
                 SLACK;
    line->y[i] = gap;
    line->plain[near] = gap;
    near += gap < 1;
  }
  double u = line->count ? sparse_threshold(line->plain, near, pack->power.value) : 1;
  for (int64_t i = 0; i < line->count; i++) {
    double relative = 0, y = u - line->y[i];
    line->e[i] += U * fabs(y) * SLACK;
    line->y[i] = y;
    line->w[i] = y > 0 ? bounded_power(&relative, pack, y) : 0;
    /* The argument itself is rounded once. */
    off += line->w[i] * (relative + 2 * fmax(1, pack->power.value) * U);
  }
  line->sum = chained_sum(line->w, line->count);
  off = (off + line->sum * (sparse_line_rounding(line->count) + 4 * U)) * SLACK;
  line->residual = line->count ? miss(line->sum, off, pack->power.value - pack->power.error) : 0;
  if (!(line->residual < 0x1p-10) || !(pack->power.value >= POWER_LEAST) ||
      !(pack->power.value <= POWER_MOST))
    line->is_unknown = 1;
}

/* The largest half over keys that can be in the support: by so much the threshold moves at most. */
static double threshold_shift(const sparse_line *line, const double *half) {
  double most = 0;
  for (int64_t i = 0; i < line->count; i++)
    if (line->y[i] + half[i] + line->residual >= 0) most = fmax(most, half[i]);
  return (most + line->residual) * SLACK;
}

void sparse_line_weights(sparse_line *line) {
  sparse_rule rule = line->pack->kernel->rule;
  if (line->is_unknown) return;
  if (rule == RULE_EXP || rule == RULE_TOP_EXP) {
    exponential_weights(line);
  } else if (rule == RULE_POWER) {
    find_empty(line);
    power_weights(line);
  } else if (rule == RULE_MARGIN) {
    power_weights(line);
  } else if (rule == RULE_THRESHOLD) {
    threshold_weights(line);
    line->common = threshold_shift(line, line->e);
  } else if (rule == RULE_WITHIN) {
    within_weights(line);
  } else {
    for (int64_t i = 0; i < line->count; i++)
      line->w[i] = 1;
  }
  line->sum = chained_sum(line->w, line->count);
}

/* ---- deviations ---- */

/* At least e^h - 1, 0 <= h <= 700. */
static double growth(double h) {
  double power;
  if (h <= 0.5) return h * (1 + 2 * h) * (1 + 4 * U);
  exp64_array(&power, &h, 1);
  return power * (1 + 4 * U);
}

/* Exponentials: w e^(+-h); one that was flushed is below 2^-1019. Returns a lower bound. */
static double exponential_deviation(double *off, double w, double h) {
  if (!(h <= 700)) {
    *off = INFINITY;
    return 0;
  }
  double fall, minus = -h;
  exp64_array(&fall, &minus, 1);
  *off = fmax(w, 0x1p-1019) * (growth(h) + 2 * EXP64_ERROR * U) * SLACK + TINY;
  double least = w * fall * (1 - 0x1p-40);
  return least >= TINY ? least : 0;
}

/* Powers: between those of the ends of y +- h; 4 u keep an end outside that was rounded. w itself,
 * off by rounding too, need not lie between them. */
static double power_deviation(double *off, const sparse_pack *pack, double w, double y, double h) {
  double hi = y + h, lo = (y - h) * (1 - 4 * U), below = 0, relative;
  *off = 0;
  if (!(hi > 0)) return 0;
  hi = bounded_power(&relative, pack, fmax(hi * (1 + 4 * U), TINY)) * (1 + relative) * (1 + 4 * U);
  if (lo >= 0x1p-300) /* its power does not underflow */
    below = bounded_power(&relative, pack, lo) * (1 - relative) * (1 - 4 * U);
  *off = (fmax(hi, w) - fmin(below, w)) * SLACK + TINY;
  return below;
}

double sparse_line_deviations(double *off, const sparse_line *line, const double *half) {
  sparse_rule rule = line->pack->kernel->rule;
  double least = 0, shift = 0;
  if (rule == RULE_MARGIN) shift = contenders(line, half);
  if (rule == RULE_THRESHOLD) shift = threshold_shift(line, half);
  for (int64_t i = 0; i < line->count; i++) {
    double weight = line->w[i], h = (half[i] + shift) * SLACK;
    off[i] = 0;
    if (rule == RULE_EXP || rule == RULE_TOP_EXP)
      weight = exponential_deviation(&off[i], weight, h);
    else if (rule == RULE_POWER || rule == RULE_MARGIN || rule == RULE_THRESHOLD)
      weight = power_deviation(&off[i], line->pack, weight, line->y[i], h);
    least += weight;
  }
  return rule == RULE_THRESHOLD ? 1 : least * (1 - ((double)line->count + 4) * U);
}
