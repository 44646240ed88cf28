/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
  GAUSSIAN,
  SPHERE,
  REAL,
  TIES,
  DOMINANT,
  SATURATED,
  CANCELLING,
  DENORMAL,
  RATIONAL,
  GENERATORS
} generator;

const char *const generate_names[] = {"gaussian",  "sphere",     "real",     "ties",     "dominant",
                                      "saturated", "cancelling", "denormal", "rational", NULL};

int generate_find(const char *name) {
  for (int i = 0; i < GENERATORS; i++)
    if (!strcmp(name, generate_names[i])) return i;
  return -1;
}

double generate_uniform(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

double generate_normal(uint64_t *state) {
  double sum = -6;
  for (int i = 0; i < 12; i++)
    sum += generate_uniform(state);
  return sum;
}

/* ---- one head, in double: rounded to the dtype when it is stored ---- */

typedef struct {
  generator kind;
  const tensor_format *format;
  int64_t rows, width;
  double *x; /* rows x width */
} head;

static void fill_normal(const head *h, double factor, uint64_t *state) {
  for (int64_t i = 0; i < h->rows * h->width; i++)
    h->x[i] = factor * generate_normal(state);
}

/* sqrt is correctly rounded everywhere. */
static void put_on_sphere(const head *h) {
  for (int64_t i = 0; i < h->rows; i++) {
    double *row = h->x + i * h->width, square = 0;
    for (int64_t c = 0; c < h->width; c++)
      square += row[c] * row[c];
    for (int64_t c = 0; c < h->width && square > 0; c++)
      row[c] /= sqrt(square);
  }
}

/* Row i becomes the first row of its run of `period` rows, or row i % period. */
static void repeat_rows(const head *h, int64_t period, int in_runs) {
  size_t bytes = (size_t)h->width * sizeof *h->x;
  for (int64_t i = 0; i < h->rows; i++) {
    int64_t source = in_runs ? i - i % period : i % period;
    if (source != i) memcpy(h->x + i * h->width, h->x + source * h->width, bytes);
  }
}

/* Components +-1 that are the same in every row: every product q.k is the same integer. */
static void fill_signs(const head *h, uint64_t *state) {
  for (int64_t c = 0; c < h->width; c++)
    h->x[c] = generate_uniform(state) < 0.5 ? -1 : 1;
  repeat_rows(h, 1, 0);
}

/* Whether the format has the integer x. */
static int is_exact(const tensor_format *format, double x) {
  double unit = 1;
  if (fabs(x) > ldexp(1, format->emax)) return 0;
  while (fabs(x) > ldexp(unit, format->precision))
    unit *= 2;
  return fmod(x, unit) == 0;
}

/* The i-th value for a mean that goes from `mean` to `next`: (i + 1) next - i mean. */
static double step_value(int64_t i, double mean, double next) {
  return (double)(i + 1) * next - (double)i * mean;
}

/* Moves one component's mean up or down by one, where the value that this needs is exact: so no
 * key can be dropped unnoticed. Components take turns. */
static void move_mean(const head *h, double *means, int64_t i, int means_count, int up_first) {
  for (int64_t k = 0; k < h->width; k++) {
    double *mean = &means[(i + k) % h->width];
    for (int turn = 0; turn < 2; turn++) {
      double next = *mean + (turn == !up_first ? 1 : -1);
      if (next < 0 || next >= means_count || !is_exact(h->format, step_value(i, *mean, next)))
        continue;
      *mean = next;
      return;
    }
  }
}

/* Values whose first n have the mean m_n, 0 or 1, in float16 up to 3, in bfloat16 up to 31: where
 * values have few digits, n + m must end in zeros. First the means, in place, then the values from
 * the last to the first. */
static void fill_means(const head *h, uint64_t *state) {
  int count = h->format->precision < 12 ? 1 << (13 - h->format->precision) : 2;
  for (int64_t c = 0; c < h->width && h->rows; c++)
    h->x[c] = floor(count * generate_uniform(state));
  for (int64_t i = 1; i < h->rows; i++) {
    double *means = h->x + i * h->width;
    memcpy(means, means - h->width, (size_t)h->width * sizeof *means);
    move_mean(h, means, i, count, generate_uniform(state) < 0.5);
  }
  for (int64_t at = h->rows * h->width - 1; at >= h->width; at--)
    h->x[at] = step_value(at / h->width, h->x[at - h->width], h->x[at]);
}

static void fill_query(const head *h, uint64_t *state) {
  switch (h->kind) {
  case RATIONAL:
    fill_signs(h, state);
    break;
  case SATURATED:
    fill_normal(h, 32, state);
    break;
  default:
    fill_normal(h, 1, state);
    if (h->kind == SPHERE) put_on_sphere(h);
  }
}

static void fill_key(const head *h, uint64_t *state) {
  if (h->kind == RATIONAL) {
    fill_signs(h, state);
    return;
  }
  fill_normal(h, h->kind == SATURATED ? 32 : 1, state);
  if (h->kind == SPHERE) put_on_sphere(h);
  if (h->kind == TIES) repeat_rows(h, 4, 0);
  if (h->kind == CANCELLING) repeat_rows(h, 2, 1);
  if (h->kind == DOMINANT && h->rows) {
    double *row = h->x + (int64_t)(generate_uniform(state) * (double)h->rows) * h->width;
    for (int64_t c = 0; c < h->width; c++)
      row[c] *= 16;
  }
}

static void fill_value(const head *h, uint64_t *state) {
  if (h->kind == RATIONAL) {
    fill_means(h, state);
    return;
  }
  fill_normal(h, 1, state);
  if (h->kind == DENORMAL)
    for (int64_t i = 0; i < h->rows * h->width; i++)
      h->x[i] = ldexp(h->x[i], h->format->emin - h->format->precision / 2);
  /* Large pairs cancel, and what is left is a millionth of them. */
  for (int64_t i = 1; h->kind == CANCELLING && i < h->rows; i += 2)
    for (int64_t c = 0; c < h->width; c++)
      h->x[i * h->width + c] =
          -h->x[(i - 1) * h->width + c] * (1 + 0x1p-20 * generate_normal(state));
}

/* ---- rows of the model ---- */

/* Head h of sequence b: layer b, positions in order; wider rows take several positions. */
static void fill_real(const head *h, const attest_tensor *t, int64_t b, int64_t number) {
  int64_t layers = t->shape[0], heads = t->shape[1], positions = t->shape[2], width = t->shape[3];
  int64_t a_row = (h->width + width - 1) / width;
  for (int64_t i = 0; i < h->rows; i++)
    for (int64_t c = 0; c < h->width; c++) {
      int64_t place = i * a_row + c / width;
      int64_t offset = (b % layers) * t->stride[0] + (number % heads) * t->stride[1] +
                       place % positions * t->stride[2] + c % width * t->stride[3];
      h->x[i * h->width + c] = tensor_at(t, offset);
    }
}

static attest_status open_real(tensor_file **file, const char *data, const char *name,
                               attest_error *error) {
  char path[4200];
  snprintf(path, sizeof path, "%s/stories260k/%s.npy", data, name);
  attest_status status = tensor_file_open(file, path, 0, error);
  if (!status && tensor_file_tensor(*file, 0)->ndim != 4)
    status = attest_fail(error, ATTEST_ERR_INPUT, "%s: 4 axes are wanted", path);
  return status;
}

/* ---- tensors ---- */

/* Shape in the order of the letters, and the axes of batch, head, position, component (-1: none).
 */
static attest_status set_axes(attest_tensor *t, int axes[4], attest_dtype dtype, const char *layout,
                              const int64_t extents[4], attest_error *error) {
  static const char letters[] = "bhnd";
  int64_t shape[ATTEST_MAX_DIMS] = {0};
  int ndim = (int)strlen(layout);
  for (int e = 0; e < 4; e++) {
    char letter = letters[e];
    const char *found = strchr(layout, letter);
    if (!found && letter == 'n') found = strchr(layout, 's');
    axes[e] = found ? (int)(found - layout) : -1;
    if (!found && extents[e] != 1)
      return attest_fail(
          error, ATTEST_ERR_SUPPORT,
          "layout %s has no axis for %lld of %c: leave it out or take another layout", layout,
          (long long)extents[e], letter);
    if (found) shape[axes[e]] = extents[e];
  }
  *t = attest_tensor_of(NULL, dtype, ndim, shape);
  return ATTEST_OK;
}

static void store_head(attest_tensor *t, const int axes[4], int64_t b, int64_t number,
                       const head *h) {
  int64_t start =
      (axes[0] < 0 ? 0 : b * t->stride[axes[0]]) + (axes[1] < 0 ? 0 : number * t->stride[axes[1]]);
  for (int64_t i = 0; i < h->rows; i++)
    for (int64_t c = 0; c < h->width; c++)
      tensor_store(t, start + i * t->stride[axes[2]] + c * t->stride[axes[3]],
                   h->x[i * h->width + c]);
}

typedef void (*filler)(const head *h, uint64_t *state);

static attest_status fill_tensor(attest_tensor *t, const char *name, filler fill, generator kind,
                                 uint64_t *state, const int64_t extents[4], const int axes[4],
                                 const char *data, attest_error *error) {
  tensor_file *file = NULL;
  head h = {.kind = kind,
            .format = tensor_dtype_format(t->dtype),
            .rows = extents[2],
            .width = extents[3],
            .x = malloc((size_t)(extents[2] * extents[3] + 1) * sizeof(double))};
  attest_status status = h.x ? ATTEST_OK : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  if (!status && kind == REAL) status = open_real(&file, data, name, error);
  for (int64_t b = 0; b < extents[0] && !status; b++)
    for (int64_t number = 0; number < extents[1]; number++) {
      if (kind == REAL)
        fill_real(&h, tensor_file_tensor(file, 0), b, number);
      else
        fill(&h, state);
      store_head(t, axes, b, number, &h);
    }
  tensor_file_close(file);
  free(h.x);
  return status;
}

/* Beyond this, products of extents overflow, of those beside a 0 too; no machine has the memory. */
#define ELEMENTS_MAX (INT64_C(1) << 36)
static attest_status check_size(const int64_t extents[4], const char *name, attest_error *error) {
  int64_t n = 1;
  for (int a = 0; a < 4; a++)
    if (__builtin_mul_overflow(n, extents[a] ? extents[a] : 1, &n) || n > ELEMENTS_MAX)
      return attest_fail(error, ATTEST_ERR_INPUT,
                         "%s of %lld x %lld x %lld x %lld is too large: at most 2^36 elements are "
                         "generated",
                         name, (long long)extents[0], (long long)extents[1], (long long)extents[2],
                         (long long)extents[3]);
  return ATTEST_OK;
}

attest_status generate_inputs(generated *g, int kind, uint64_t seed, const generate_sizes *sizes,
                              attest_dtype dtype, const char *layout, const char *data,
                              attest_error *error) {
  const generate_sizes *s = sizes;
  const int64_t extents[4][4] = {{s->b, s->heads_q, s->nq, s->d},
                                 {s->b, s->heads_k, s->nk, s->d},
                                 {s->b, s->heads_k, s->nk, s->dv},
                                 {s->b, s->heads_q, s->nq, s->dv}};
  static const filler fillers[] = {fill_query, fill_key, fill_value};
  static const char *const names[] = {"q", "k", "v", "out"};
  attest_tensor *tensors[] = {&g->q, &g->k, &g->v};
  int axes[3][4];
  size_t starts[4] = {0};
  attest_status status = ATTEST_OK;
  memset(g, 0, sizeof *g);
  for (int i = 0; i < 4 && !status; i++)
    status = check_size(extents[i], names[i], error);
  for (int i = 0; i < 3 && !status; i++) {
    status = set_axes(tensors[i], axes[i], dtype, layout, extents[i], error);
    size_t bytes = (size_t)tensor_elements(tensors[i]) * tensor_dtype_size(dtype);
    starts[i + 1] = starts[i] + (bytes + 63) / 64 * 64;
  }
  if (status) return status;
  if (!(g->storage = malloc(starts[3] + 1)))
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  /* Seeds that differ by one must not give shifted copies of one sequence. */
  uint64_t state = (seed + 1) * 0xd1342543de82ef95u;
  for (int i = 0; i < 3 && !status; i++) {
    tensors[i]->data = (char *)g->storage + starts[i];
    status = fill_tensor(tensors[i], names[i], fillers[i], (generator)kind, &state, extents[i],
                         axes[i], data, error);
  }
  return status;
}

void generate_clear(generated *g) {
  free(g->storage);
  memset(g, 0, sizeof *g);
}
