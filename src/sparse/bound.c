/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The a-priori bound of a declared machine model for sparse kernels: what rounding can do at worst,
 * element by element.
 *
 * Derivation. u_P, u_W, u_A, u_O are the unit roundoffs of products, weights, accumulate, result.
 * 1. Arguments. A chain of d products, inputs and scale rounded before, bias, slope, temperature
 * and the affine map after it round at most d + 12 times a quantity below t_j, the absolute version
 *    of the argument; a softcap costs 16 u_P cap more, and takes t_j down by its slope at the
 * score, where the error may reach where it is steeper: times e^(2 eta), eta the error before the
 * cap over the cap, or 2 cap where that is large. Underflow adds d 2^(emin-p+2) of the products
 * format times the factors that follow. So an argument is off by half_j, in units of y. Parameters
 * and q.k that may leave the normal numbers of products make the bound infinite.
 * 2. Thresholds and largest scores are found from the computed scores; finding a threshold misses
 * by at most (n + 64) 2^-52 (1 for the built-in kernel, which works in double) or (n + 64) u_A.
 * 3. Weights of arguments within half_j + e_j of those of the double tier move x by `moved` (step 4
 *    of enclose.c, an inequality without higher-order terms).
 * 4. Evaluating a weight is off by exp u_P + u_W relative, r + 2 roundings more for a power; sums
 *    over n keys by depth u_A with depth the keys of one chain, the chains and 2, once for out and,
 *    unless the normaliser is summed in double, once for it; a division and the result round once
 *    each; values rounded to a narrower format u_P. All relative to sum p |v| <= A + moved + .. .
 * 5. A result in the subnormals rounds by 2^(emin-p) of its format, sums of a kernel that does not
 *    scale its values by n 2^(emin-p+1) of accumulate.
 * 6. Where arguments within half_j + e_j make another selection (top-k, uniform) or may leave no
 *    weight at all (powers), out is a mean of values of the keys C that may then carry weight, or
 *    what the empty-row policy says: it lies within max over C of |v - x| (and |x| under policy
 *    zero; nan admits any result) of x. This takes the place of `moved`.
 * 7. A log-sum-exp of the k largest scores moves by no more than the largest move over C; the sum
 *    is off by what step 4 says of sums, the logarithm by 4 u_A, the last addition and the result
 *    round relative to |lse| and the largest score. */
#include <math.h>

#include "../enclosure/exp.h"
#include "enclose.h"

static double roundoff(attest_dtype dtype) {
  return measure_unit_roundoff(tensor_dtype_format(dtype));
}

room_machine sparse_machine(attest_dtype dtype) {
  int is_double = dtype == ATTEST_FLOAT64;
  attest_dtype work = is_double ? ATTEST_FLOAT64 : ATTEST_FLOAT32;
  return (room_machine){.products = work,
                        .weights = work,
                        .accumulate = work,
                        .result = dtype,
                        .result_lse = dtype,
                        .block = 16, /* SPARSE_CHAIN */
                        .exp_error = 2,
                        .builtin = 1};
}

/* Zero, or a normal number of the format with room above it. */
static int is_normal(const tensor_format *format, double x) {
  return x == 0 || (fabs(x) >= ldexp(1, format->emin) && fabs(x) < ldexp(1, format->emax - 1));
}

static int parameters_fit(const sparse_pack *pack, const tensor_format *format, int capped) {
  return is_normal(format, pack->scale.value) && is_normal(format, pack->inverse_square.value) &&
         is_normal(format, pack->inverse_temperature.value) &&
         (!capped || is_normal(format, pack->softcap.value));
}

/* What an error before a softcap becomes behind it, given what the slope at the score makes of it.
 */
static double capped_error(double at_slope, double before, double cap) {
  double eta = before / cap, z = 2 * eta;
  return eta <= 0.5 ? at_slope * (1 + z + z * z) : at_slope + 2 * cap;
}

/* Step 1 and 2: line->up gets half_j + e_j, of all keys for rules that jump. 0: an input may leave
 * the range of the format. */
static int machine_halves(sparse_row_sums *s, const room_machine *m) {
  sparse_line *line = &s->line;
  const sparse_pack *pack = line->pack;
  const tensor_format *format = tensor_dtype_format(m->products);
  sparse_rule rule = pack->kernel->rule;
  double u = roundoff(m->products), d = (double)pack->slice.d;
  int capped = !pack->kernel->is_distance && pack->problem->values.has_softcap;
  double unit = rule == RULE_MARGIN || rule == RULE_POWER ? 2 * pack->inverse_square.value : 1;
  if (rule == RULE_WITHIN) unit = pack->inverse_square.value;
  unit = fmax(unit, fabs(pack->scale.value)) + pack->inverse_temperature.value + 1;
  double fixed = d * ldexp(1, format->emin - format->precision + 2) * unit * unit;
  double small = fixed, round = (d + 12) * u, cap = pack->softcap.value * unit * unit;
  if (capped) fixed += 16 * u * cap;
  double scale = rule == RULE_THRESHOLD ? pack->alpha_less.value : 1, solve = 0;
  if (rule == RULE_THRESHOLD)
    solve = ((double)s->visible + 64) * (m->builtin ? 0x1p-52 : roundoff(m->accumulate));
  int64_t n = rule == RULE_THRESHOLD || rule == RULE_MARGIN ? line->count : line->total;
  for (int64_t i = 0; i < n; i++) {
    double t = line->t[i] + line->te[i], form = line->size[line->key[i]], off = round * t;
    if (!(fmax(t, form) < ldexp(1, format->emax - 8))) return 0;
    if (capped)
      off = capped_error(off, (round * fabs(pack->scale.value) * form + small) * unit * unit, cap);
    line->up[i] = (scale * (off + fixed) * (1 + 2 * round) + solve + line->e[i]) * (1 + 0x1p-20);
  }
  return round < 0.25 && parameters_fit(pack, format, capped);
}

/* Step 6: what the model may do to the set of keys. */
typedef struct {
  int jumps;     /* the keys that carry weight are not certain */
  int may_empty; /* they may be none */
  double level;  /* C: keys with y + up >= level */
} machine_support;

static machine_support support_of(const sparse_row_sums *s) {
  const sparse_line *line = &s->line;
  sparse_rule rule = line->pack->kernel->rule;
  machine_support support = {0, 0, 0};
  if (rule == RULE_TOP_EXP || rule == RULE_TOP_MEAN) {
    double most = -INFINITY;
    support.level = INFINITY;
    for (int64_t i = 0; i < line->count; i++)
      support.level = fmin(support.level, line->y[i] - line->up[i]);
    for (int64_t i = line->count; i < line->total; i++)
      most = fmax(most, line->y[i] + line->up[i]);
    support.jumps = support.level <= most;
  } else if (rule == RULE_WITHIN || rule == RULE_POWER) {
    int sure = 0, near = 0;
    for (int64_t i = 0; i < line->total; i++) {
      sure |= line->y[i] > line->up[i];
      near |= fabs(line->y[i]) <= line->up[i];
    }
    support.may_empty = near && !sure;
    support.jumps = near && (rule == RULE_WITHIN || !sure);
  }
  return support;
}

static int may_carry(const sparse_line *line, int64_t i, const machine_support *support) {
  return line->y[i] + line->up[i] >= support->level;
}

/* far_c >= |v - x|, loose_c >= |v| over C. */
static void hull(sparse_row_sums *s, const machine_support *support) {
  const sparse_line *line = &s->line;
  int64_t dv = line->pack->slice.dv;
  int is_empty = s->visible == 0 || line->is_empty;
  int policy = line->pack->problem->values.empty_row;
  for (int64_t c = 0; c < dv; c++) {
    if (is_empty) s->x[c] = s->radius[c] = s->a[c] = s->off_a[c] = 0;
    s->loose[c] = 0;
    s->far[c] = !support->may_empty ? 0 : policy == EMPTY_ZERO ? fabs(s->x[c]) : INFINITY;
  }
  for (int64_t i = 0; i < line->total; i++) {
    const double *v = line->pack->values + line->key[i] * dv;
    for (int64_t c = 0; c < dv && may_carry(line, i, support); c++) {
      s->far[c] = fmax(s->far[c], fabs(v[c] - s->x[c]) * (1 + 0x1p-50));
      s->loose[c] = fmax(s->loose[c], fabs(v[c]));
    }
  }
}

/* Step 4: relative to sum p |v|. */
static double relative_error(const sparse_row_sums *s, const room_machine *m) {
  const sparse_pack *pack = s->line.pack;
  double n = (double)s->visible, block = (double)m->block, u_a = roundoff(m->accumulate);
  double depth = (m->block && block < n ? block + n / block + 2 : n) + 2;
  double powers = pack->power.value + 4;
  double relative = m->exp_error * roundoff(m->products) + roundoff(m->weights) +
                    (m->builtin ? 0x1p-50 : roundoff(m->products)) * powers + depth * u_a;
  if (!m->builtin) relative += depth * u_a + roundoff(m->weights);
  if (tensor_dtype_format(pack->slice.v.dtype)->precision >
      tensor_dtype_format(m->accumulate)->precision)
    relative += u_a;
  return relative + 2 * u_a + roundoff(m->result);
}

int sparse_theory_row(double *theory, sparse_row_sums *s, const room_machine *m) {
  int64_t dv = s->line.pack->slice.dv;
  double n = (double)s->line.total, relative = relative_error(s, m);
  int is_empty = s->visible == 0 || s->line.is_empty;
  if (!machine_halves(s, m)) return 0;
  machine_support support = support_of(s);
  if (support.jumps)
    hull(s, &support);
  else if (!is_empty)
    sparse_sums_moved(s->far, s, s->line.up);
  const tensor_format *result = tensor_dtype_format(m->result);
  const tensor_format *accumulate = tensor_dtype_format(m->accumulate);
  double quantum = ldexp(1, result->emin - result->precision + 1);
  if (!m->builtin) quantum += n * ldexp(1, accumulate->emin - accumulate->precision + 2);
  for (int64_t c = 0; c < dv; c++) {
    theory[c] = 0;
    if (is_empty && !support.jumps) continue;
    double a = s->a[c] + s->off_a[c], moved = s->far[c] + s->radius[c];
    /* A moves by as much as x does about another center: |v| <= |v - x| + |x|. */
    double size = support.jumps ? fmax(a, s->loose[c]) : a + fabs(s->x[c]) + 2 * moved;
    theory[c] = (moved + relative * (1 + 2 * relative) * size + quantum) * (1 + 0x1p-20);
    if (!(theory[c] >= 0) || !(relative < 0.25)) theory[c] = INFINITY;
    if (!m->builtin && size * n > ldexp(1, accumulate->emax - 2)) theory[c] = INFINITY;
  }
  return 1;
}

double sparse_theory_lse(sparse_row_sums *s, const room_machine *m, double lse, double radius) {
  const sparse_line *line = &s->line;
  double u_a = m->builtin ? 0x1p-52 : roundoff(m->accumulate), moved = 0;
  double relative = relative_error(s, m);
  if (!machine_halves(s, m)) return INFINITY;
  machine_support support = support_of(s);
  for (int64_t i = 0; i < line->total; i++)
    if (may_carry(line, i, &support)) moved = fmax(moved, line->up[i]);
  if (line->pack->problem->values.lse_base == 2) lse /= EXP64_LOG2E;
  double logarithm = fabs(lse - line->largest) + 1, size = fabs(lse) + fabs(line->largest) + moved;
  double bound = moved + relative / (1 - relative) + 4 * u_a * (logarithm + moved) + 2 * u_a * size;
  bound += roundoff(m->result_lse) * (fabs(lse) + bound);
  if (line->pack->problem->values.lse_base == 2)
    bound = 1.5 * bound + 2 * roundoff(m->accumulate) * 1.5 * (fabs(lse) + bound);
  const tensor_format *result = tensor_dtype_format(m->result_lse);
  bound += ldexp(1, result->emin - result->precision + 1) + radius;
  return relative < 0.25 && bound >= 0 ? bound * (1 + 0x1p-20) : INFINITY;
}
