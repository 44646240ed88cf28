/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* rope-softmax through features: R_{j-i} = R_i^T R_j, so that rotated queries and keys have
 * ordinary scores, and the Taylor room's chunked kernel sums T_g of them with binom(d + g, g)
 * features. */
#include <math.h>
#include <stdlib.h>

#include "../enclosure/interval.h"
#include "../problem/rotary.h"
#include "../taylor/kernel.h"
#include "exp_poly.h"
#include "low_rank.h"

/* Rotated rows of q or k in the format of the result. */
static double rotate_rows(attest_tensor *to, const attest_tensor *t, int64_t rows, int64_t first,
                          const problem_rotary *rotary, double *scratch) {
  int64_t d = t->shape[1];
  double largest = 0;
  for (int64_t i = 0; i < rows; i++) {
    double squares = 0;
    tensor_load(scratch, t, i * t->stride[0], d, t->stride[1]);
    problem_rotate(scratch + d, scratch, rotary, first + i);
    for (int64_t a = 0; a < d; a++) {
      tensor_store(to, i * d + a, scratch[d + a]);
      squares += scratch[a] * scratch[a];
    }
    largest = fmax(largest, sqrt(squares));
  }
  return largest * (1 + 0x1p-40);
}

/* The least even degree whose Taylor polynomial is within eps of exp on [-b, b], relatively: even,
 * for its weights are positive. */
static attest_status choose_degree(low_rank_problem *report, double b, double eps,
                                   attest_error *error) {
  fmpq_t half, limit;
  fmpq_poly_t p;
  arb_t sup;
  arf_t x;
  fmpq_init(half);
  fmpq_init(limit);
  fmpq_poly_init(p);
  arb_init(sup);
  arf_init(x);
  arf_set_d(x, fmax(b, 0x1p-20));
  arf_get_fmpq(half, x);
  arf_set_d(x, eps);
  arf_get_fmpq(limit, x);
  attest_status status =
      b <= 64 ? exp_poly_degree(&report->degree, EXP_TAYLOR, EXP_RELATIVE, half, limit, error)
              : attest_fail(error, ATTEST_ERR_SUPPORT,
                            "scores may reach %.3g, where a Taylor polynomial needs too many "
                            "features; use the direct form",
                            b);
  report->degree += report->degree % 2;
  if (!status) status = exp_poly(p, EXP_TAYLOR, EXP_RELATIVE, report->degree, half, 64, error);
  if (!status) {
    exp_poly_error(sup, p, half, EXP_RELATIVE);
    report->eps = enclosure_upper(sup);
  }
  fmpq_clear(half);
  fmpq_clear(limit);
  fmpq_poly_clear(p);
  arb_clear(sup);
  arf_clear(x);
  return status;
}

static attest_status set_parameters(attest_problem *to, const attest_problem *from, int64_t degree,
                                    attest_error *error) {
  char text[32];
  problem_real factor;
  problem_real_init(&factor);
  problem_real_inv(&factor, &from->values.temperature);
  problem_real_mul(&factor, &factor, &from->values.scale);
  char *scale = problem_real_text(&factor);
  problem_real_clear(&factor);
  snprintf(text, sizeof text, "%lld", (long long)degree);
  attest_status status = scale ? attest_problem_set(to, "scale", scale, error)
                               : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  free(scale);
  if (!status) status = attest_problem_set(to, "degree", text, error);
  if (!status) status = attest_problem_set(to, "form", "chunked", error);
  if (!status && from->values.causal != CAUSAL_NONE)
    status = attest_problem_set(
        to, "causal", from->values.causal == CAUSAL_TOP_LEFT ? "top-left" : "bottom-right", error);
  return status;
}

static attest_status check_supported(const attest_problem *problem, const problem_slice *slice,
                                     attest_error *error) {
  const problem_values *values = &problem->values;
  if (problem->pairing == PAIRING_ROTARY && !slice->mask.data && !slice->bias.data &&
      !slice->has_slope && !slice->has_sink && !values->has_softcap && values->window_left < 0 &&
      values->window_right < 0)
    return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_SUPPORT,
                     "the low-rank form takes rope-softmax problems without mask, window, bias, "
                     "softcap, slopes and sinks; use the direct form");
}

/* Norms of rotated vectors are off by 2 eta; eta as in forms.c. */
static double rotation_error(attest_dtype dtype) {
  return 1.4143 * (ROTARY_ROUNDING + measure_unit_roundoff(tensor_dtype_format(dtype)));
}

/* 2 (1 - sqrt(1 - e^2)) / e max|v| with the e of forms.c. */
static double deviation(const low_rank_problem *low, const problem_slice *slice, double b,
                        double rotation, double underflow) {
  double delta = ((2 * rotation + rotation * rotation) * b + underflow) * (1 + 0x1p-20);
  double e = (low->eps + (1 + low->eps) * delta * (1 + delta)) * (1 + 0x1p-20), largest = 0;
  for (int64_t j = 0; j < slice->nk; j++)
    for (int64_t c = 0; c < slice->dv; c++) {
      double v = fabs(tensor_at(&slice->v, j * slice->v.stride[0] + c * slice->v.stride[1]));
      if (isfinite(v)) largest = fmax(largest, v);
    }
  if (!(e < 1 && delta < 0.5)) return INFINITY;
  return 2 * e / (1 + sqrt((1 - e) * (1 + e))) * largest * (1 + 0x1p-40);
}

static attest_status rotate(double *q_max, double *k_max, attest_tensor *q, attest_tensor *k,
                            const attest_problem *problem, const problem_slice *slice,
                            attest_error *error) {
  problem_rotary *rotary;
  double *scratch = malloc((size_t)(2 * slice->d + 1) * sizeof *scratch);
  int64_t first = problem_first_position(slice), end = slice->nq + slice->offset;
  if (!scratch) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  attest_status status = problem_rotary_open(&rotary, &problem->values, slice->d,
                                             (end > slice->nk ? end : slice->nk) - first, error);
  if (!status) {
    *q_max = rotate_rows(q, &slice->q, slice->nq, slice->offset - first, rotary, scratch);
    *k_max = rotate_rows(k, &slice->k, slice->nk, -first, rotary, scratch);
    problem_rotary_close(rotary);
  }
  free(scratch);
  return status;
}

/* The rotated problem in q and k. */
static attest_status set_problem(low_rank_problem *low, attest_tensor *q, attest_tensor *k,
                                 const attest_problem *problem, const problem_slice *slice,
                                 double eps, attest_error *error) {
  double q_max = 0, k_max = 0, unused, unit = rotation_error(q->dtype);
  attest_status status = rotate(&q_max, &k_max, q, k, problem, slice, error);
  if (status) return status;
  double scale = fabs(problem_real_double(&unused, &problem->values.scale)) /
                 problem_real_double(&unused, &problem->values.temperature) * (1 + 0x1p-40);
  double b = q_max * k_max * scale * (1 + 4 * unit) * (1 + 0x1p-40);
  double tiny =
      (double)slice->d * (q_max + k_max + 1) * scale *
      ldexp(1, tensor_dtype_format(q->dtype)->emin - tensor_dtype_format(q->dtype)->precision);
  status = choose_degree(low, b + tiny, eps, error);
  low->taylor = status ? NULL : attest_problem_new("taylor", error);
  if (!status && !low->taylor) status = error->status;
  if (!status) status = set_parameters(low->taylor, problem, low->degree, error);
  if (!status) status = attest_problem_input(low->taylor, "q", q, error);
  if (!status) status = attest_problem_input(low->taylor, "k", k, error);
  if (!status) status = attest_problem_input(low->taylor, "v", &slice->v, error);
  if (!status) status = problem_resolve(low->taylor, error);
  low->error = deviation(low, slice, b, unit, tiny);
  return status;
}

attest_status low_rank_open(low_rank_problem *low, const attest_problem *problem,
                            const problem_slice *slice, attest_dtype dtype, double eps,
                            attest_error *error) {
  size_t size = tensor_dtype_size(dtype);
  *low = (low_rank_problem){0};
  attest_status status = check_supported(problem, slice, error);
  if (status) return status;
  if (!(eps > 0)) eps = dtype == ATTEST_FLOAT64 ? 0x1p-40 : 0x1p-24;
  low->memory = malloc((size_t)((slice->nq + slice->nk) * slice->d + 1) * size);
  if (!low->memory)
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory: %lld rotated keys",
                       (long long)slice->nk);
  attest_tensor q = attest_tensor_of(low->memory, dtype, 2, (int64_t[]){slice->nq, slice->d});
  attest_tensor k = attest_tensor_of((char *)low->memory + (size_t)(slice->nq * slice->d) * size,
                                     dtype, 2, (int64_t[]){slice->nk, slice->d});
  status = set_problem(low, &q, &k, problem, slice, eps, error);
  if (status) low_rank_close(low);
  return status;
}

void low_rank_close(low_rank_problem *low) {
  attest_problem_free(low->taylor);
  free(low->memory);
  *low = (low_rank_problem){0};
}

attest_status toeplitz_low_rank(attest_tensor *out, low_rank_report *report,
                                const attest_problem *problem, const problem_slice *slice,
                                double eps, attest_error *error) {
  low_rank_problem low;
  attest_status status = low_rank_open(&low, problem, slice, out->dtype, eps, error);
  *report = (low_rank_report){.degree = low.degree, .eps = low.eps};
  if (!status) status = taylor_kernel(out, NULL, low.taylor, error);
  low_rank_close(&low);
  return status;
}
