/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Packed keys and values of one slice, and parameters as doubles with their errors. */
#include <stdlib.h>

#include "line.h"
#include "weights.h"

/* The nearest double of a ball, and how far the ball may lie from it. */
static sparse_constant constant_of(const arb_t x) {
  arb_t rest;
  arb_init(rest);
  sparse_constant c = {arf_get_d(arb_midref(x), ARF_RND_NEAR), 0};
  arb_set_d(rest, c.value);
  arb_sub(rest, x, rest, 128);
  arb_abs(rest, rest);
  c.error = enclosure_upper(rest);
  if (!isfinite(c.value)) c = (sparse_constant){1, INFINITY};
  arb_clear(rest);
  return c;
}

static sparse_constant real_constant(const problem_real *real, int inverse) {
  arb_t x;
  arb_init(x);
  problem_real_ball(x, real, 128);
  if (inverse) arb_inv(x, x, 128);
  sparse_constant c = constant_of(x);
  arb_clear(x);
  return c;
}

void sparse_pack_parameters(sparse_pack *pack, const attest_problem *problem,
                            const problem_slice *slice) {
  const problem_values *values = &problem->values;
  *pack = (sparse_pack){.problem = problem, .slice = *slice};
  pack->kernel = sparse_kernel_of(problem);
  pack->has_extras = slice->bias.data || slice->mask.data;
  fmpq_t h2;
  arb_t x;
  sparse_power power;
  fmpq_init(h2);
  arb_init(x);
  pack->scale = real_constant(&values->scale, 0);
  if (values->has_softcap) pack->softcap = real_constant(&values->softcap, 0);
  pack->inverse_temperature = real_constant(&values->temperature, 1);
  pack->margin = real_constant(&values->margin, 0);
  sparse_bandwidth_squared(h2, values);
  fmpq_inv(h2, h2);
  arb_set_fmpq(x, h2, 128);
  pack->inverse_square = constant_of(x);
  sparse_power_init(&power, pack->problem, pack->kernel, 128);
  pack->alpha_less = constant_of(power.alpha_less);
  pack->power = constant_of(power.value);
  for (int r = 1; r <= 3; r++)
    if (power.is_rational && fmpq_cmp_si(power.rational, r) == 0) pack->whole_power = r;
  sparse_power_clear(&power);
  fmpq_clear(h2);
  arb_clear(x);
}

static void fill(sparse_pack *pack, double *x) {
  const problem_slice *slice = &pack->slice;
  for (int64_t j = 0; j < slice->nk; j++) {
    tensor_load(x, &slice->k, j * slice->k.stride[0], slice->d, slice->k.stride[1]);
    double *panel = pack->keys + j / LINE_PANEL * slice->d * LINE_PANEL + j % LINE_PANEL;
    for (int64_t a = 0; a < slice->d; a++)
      panel[a * LINE_PANEL] = isfinite(x[a]) ? x[a] : 0; /* hidden, or the slice is refused */
    double *v = pack->values + j * slice->dv;
    tensor_load(v, &slice->v, j * slice->v.stride[0], slice->dv, slice->v.stride[1]);
  }
}

void sparse_pack_close(sparse_pack *pack) {
  if (!pack) return;
  free(pack->keys);
  free(pack->values);
  free(pack);
}

attest_status sparse_pack_open(sparse_pack **result, const attest_problem *problem,
                               const problem_slice *slice, attest_error *error) {
  sparse_pack *pack = calloc(1, sizeof *pack);
  int64_t panels = (slice->nk + LINE_PANEL - 1) / LINE_PANEL;
  double *x = malloc((size_t)(slice->d + 1) * sizeof *x);
  *result = pack;
  if (pack) {
    sparse_pack_parameters(pack, problem, slice);
    pack->keys = calloc((size_t)(panels * slice->d * LINE_PANEL + 1), sizeof *pack->keys);
    pack->values = calloc((size_t)(slice->nk * slice->dv + 1), sizeof *pack->values);
  }
  if (!pack || !x || !pack->keys || !pack->values) {
    free(x);
    sparse_pack_close(pack);
    *result = NULL;
    return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory for %lld keys of %lld elements",
                       (long long)slice->nk, (long long)slice->d);
  }
  fill(pack, x);
  free(x);
  return ATTEST_OK;
}
