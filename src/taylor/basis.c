/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "basis.h"

#include <stdlib.h>
#include <string.h>

#include "../enclosure/flint.h"

/* ---- sizes ------------------------------------------------------------------------------------
 */

/* x a / b where that is an integer: 0, or -1 when it does not fit. All > 0. */
static int multiply_exactly(int64_t *result, int64_t x, int64_t a, int64_t b) {
  int64_t common = (int64_t)n_gcd((ulong)x, (ulong)b);
  /* b / common has no factor in common with x / common, so it divides a. */
  return __builtin_mul_overflow(x / common, a / (b / common), result) ? -1 : 0;
}

int taylor_binomial(int64_t *result, int64_t n, int64_t k) {
  int64_t value = 1;
  if (k > n - k) k = n - k;
  /* After step i the value is binom(n - k + i, i), which grows with i. */
  for (int64_t i = 1; i <= k; i++)
    if (multiply_exactly(&value, value, n - k + i, i)) return -1;
  *result = k < 0 ? 0 : value;
  return 0;
}

int taylor_basis_size(int64_t *size, int64_t d, int64_t degree) {
  int64_t n;
  if (__builtin_add_overflow(d, degree, &n)) return -1;
  return taylor_binomial(size, n, degree);
}

int taylor_tensor_size(int64_t *size, int64_t d, int64_t degree) {
  int64_t power = 1, sum = 1;
  for (int64_t m = 1; m <= degree; m++)
    if (__builtin_mul_overflow(power, d, &power) || __builtin_add_overflow(sum, power, &sum))
      return -1;
  *size = sum;
  return 0;
}

/* ---- the basis --------------------------------------------------------------------------------
 */

int64_t taylor_basis_tail(const taylor_basis *basis, int64_t m, int64_t i) {
  int64_t rest = 0; /* tuples of the d - i last coordinates */
  if (m == 0) return 0;
  if (i < basis->d) taylor_binomial(&rest, basis->d - i + m - 1, m);
  return basis->start[m + 1] - rest;
}

/* Parents, coordinates and multinomials of order m >= 1, from those of order m - 1; run[b] counts
 * how often i_1 stands in tuple b. Returns -1 when a multinomial does not fit. */
static int fill_order(taylor_basis *basis, int64_t *run, int64_t m) {
  int64_t b = basis->start[m];
  for (int64_t i = 0; i < basis->d; i++)
    for (int64_t p = taylor_basis_tail(basis, m - 1, i); p < basis->start[m]; p++, b++) {
      basis->parent[b] = p;
      basis->coordinate[b] = i;
      run[b] = p > 0 && basis->coordinate[p] == i ? run[p] + 1 : 1;
      if (multiply_exactly(&basis->multinomial[b], basis->multinomial[p], m, run[b])) return -1;
    }
  return 0;
}

static int basis_allocate(taylor_basis *basis, int64_t **run) {
  size_t n = (size_t)basis->size;
  basis->start = calloc((size_t)basis->degree + 2, sizeof *basis->start);
  basis->parent = calloc(n, sizeof *basis->parent);
  basis->coordinate = calloc(n, sizeof *basis->coordinate);
  basis->multinomial = calloc(n, sizeof *basis->multinomial);
  *run = calloc(n, sizeof **run);
  return basis->start && basis->parent && basis->coordinate && basis->multinomial && *run;
}

void taylor_basis_close(taylor_basis *basis) {
  if (!basis) return;
  free(basis->start);
  free(basis->parent);
  free(basis->coordinate);
  free(basis->multinomial);
  free(basis);
}

attest_status taylor_basis_open(taylor_basis **result, int64_t d, int64_t degree,
                                attest_error *error) {
  int64_t size, *run = NULL;
  attest_status status = ATTEST_OK;
  *result = NULL;
  if (taylor_basis_size(&size, d, degree) || size > TAYLOR_BASIS_MAX)
    return attest_fail(error, ATTEST_ERR_SUPPORT,
                       "degree %lld of %lld components has more than %lld monomials: lower degree, "
                       "or choose form direct, which needs no state",
                       (long long)degree, (long long)d, (long long)TAYLOR_BASIS_MAX);
  taylor_basis *basis = calloc(1, sizeof *basis);
  if (basis) *basis = (taylor_basis){.d = d, .degree = degree, .size = size};
  if (!basis || !basis_allocate(basis, &run)) {
    status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: a basis of %lld monomials",
                         (long long)size);
  } else {
    basis->parent[0] = basis->coordinate[0] = -1;
    basis->multinomial[0] = basis->start[1] = 1;
    for (int64_t m = 1; m <= degree && !status; m++) {
      int64_t count = 0;
      taylor_binomial(&count, d + m - 1, m);
      basis->start[m + 1] = basis->start[m] + count;
      if (fill_order(basis, run, m))
        status = attest_fail(error, ATTEST_ERR_SUPPORT,
                             "degree %lld of %lld components has multinomial weights beyond 2^63: "
                             "lower degree, or choose form direct",
                             (long long)degree, (long long)d);
    }
  }
  free(run);
  if (status) {
    taylor_basis_close(basis);
    return status;
  }
  *result = basis;
  return ATTEST_OK;
}

int64_t taylor_basis_order(const taylor_basis *basis, int64_t b) {
  int64_t m = 0;
  while (basis->start[m + 1] <= b)
    m++;
  return m;
}

int64_t taylor_basis_tuple(int64_t tuple[], const taylor_basis *basis, int64_t b) {
  int64_t m = 0;
  for (; b > 0; b = basis->parent[b])
    tuple[m++] = basis->coordinate[b];
  return m;
}

/* The child of b by a coordinate i <= i_1 stands in the run of i as far as b stands in the tail. */
int64_t taylor_basis_times(const taylor_basis *basis, int64_t m, int64_t b, int64_t i) {
  int64_t first = basis->coordinate[b];
  if (m > 0 && i > first) {
    b = taylor_basis_times(basis, m - 1, basis->parent[b], i);
    i = first;
  }
  return taylor_basis_tail(basis, m + 1, i) + b - taylor_basis_tail(basis, m, i);
}

/* Run by run: x_i times the tail of the order before. */
#define MONOMIALS(real, suffix)                                                                    \
  void taylor_monomials_##suffix(real *phi, const taylor_basis *basis, const real *x) {            \
    phi[0] = 1;                                                                                    \
    for (int64_t i = 0; i < basis->d && basis->degree > 0; i++)                                    \
      phi[1 + i] = x[i];                                                                           \
    for (int64_t m = 2; m <= basis->degree; m++) {                                                 \
      int64_t b = basis->start[m], end = basis->start[m];                                          \
      for (int64_t i = 0; i < basis->d; i++)                                                       \
        for (int64_t p = basis->parent[b]; p < end; p++, b++)                                      \
          phi[b] = x[i] * phi[p];                                                                  \
    }                                                                                              \
  }
MONOMIALS(float, f32)
MONOMIALS(double, f64)

/* ---- the naive tensor basis -------------------------------------------------------------------
 */

void taylor_tensor_map(int64_t map[], const taylor_basis *basis) {
  int64_t d = basis->d, before = 0, count = 1, at = 1;
  map[0] = 0;
  for (int64_t m = 1; m <= basis->degree; m++) {
    /* Entry (i, rest). */
    for (int64_t i = 0; i < d; i++)
      for (int64_t t = before; t < before + count; t++)
        map[at++] = taylor_basis_times(basis, m - 1, map[t], i);
    before += count;
    count *= d;
  }
}

void taylor_tensor_from_state(double *tensor, const double *state, const taylor_basis *basis,
                              const int64_t map[], int64_t width) {
  int64_t size = 0;
  taylor_tensor_size(&size, basis->d, basis->degree);
  for (int64_t t = 0; t < size; t++)
    memcpy(tensor + t * width, state + map[t] * width, (size_t)width * sizeof *tensor);
}

void taylor_tensor_to_state(double *state, const double *tensor, const taylor_basis *basis,
                            const int64_t map[], int64_t width) {
  int64_t size = 0;
  taylor_tensor_size(&size, basis->d, basis->degree);
  memset(state, 0, (size_t)(basis->size * width) * sizeof *state);
  for (int64_t t = 0; t < size; t++)
    for (int64_t c = 0; c < width; c++)
      state[map[t] * width + c] += tensor[t * width + c];
  for (int64_t b = 0; b < basis->size; b++)
    for (int64_t c = 0; c < width; c++)
      state[b * width + c] /= (double)basis->multinomial[b];
}
