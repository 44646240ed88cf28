/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The a-priori bound of a declared machine model for toeplitz and rope-linear, element by element.
 *
 * Derivation. u_P, u_W, u_A, u_O are the unit roundoffs of products, weights, accumulate, result;
 * t_j the absolute score, n the number of products of a form (at least 2 d: q W first, then k).
 * 1. Scores. Elements of q, k and W round once on their way in, a product rounds twice, scale
 *    twice, a sum of n terms n times: |s^ - s| <= E_j = g(n + 8) t_j + (n + 4) tiny |f| (1 + |q| +
 *    |k|), g(m) = m u_P / (1 - m u_P), tiny the smallest positive number of products.
 *    Rotations: a declared kernel makes its angles in the format `phases`, and E_j grows by
 *    room_rotation_error t_j (problem/room.h); the built-in kernel rotates in double.
 * 2. Weights. exp: relative (E_j + u_P |s_j - max s| + (exp + 1) u_P) and its exponential growth; a
 *    score: E_j; a polynomial: E_j P'(|s| + E_j) + (2 g + 3) u_P P(|s| + E_j), coefficients
 *    rounded; in the subnormals a coefficient and a product of Horner's rule are off by half the
 *    smallest positive number each, whatever u_P is, and what follows multiplies that by |s|: P has
 *    that number added to each coefficient for it, whole. u_W |w_j| more where weights are
 *    stored in another format, and its smallest positive number. Together m_j.
 * 3. Sums in chains of `block` keys (0: one chain) of N: depth = block + ceil(N / block) + 2
 *    additions in u_A, values rounded once. With D = |sum w + eps|, x the exact quotient:
 *      |x' - x| <= sum m_j |v_j - x| / (D - sum m_j)          (as in enclose.c, step 4)
 *    for the quotient x' of the computed weights. With e = g(depth) in u_A the sums add
 *      e (sum (|w| + m) |v| + (|x| + |x' - x|) (sum (|w| + m) + eps))
 *        / (D - sum m - e (sum (|w| + m) + eps)),
 *    the quotient u_A, the result u_O of itself. What underflows: N (max|v| + 1) times the smallest
 *    normal number of products (weights) and twice that of accumulate, and sum (|w| + m) times the
 *    smallest positive number of accumulate, for values, over the same denominator;
 *    half the smallest positive result. Inputs, scores or sums that may leave the range of their
 *    format make the bound infinite. */
#include "../enclosure/exp.h"
#include "../enclosure/interval.h"
#include "../problem/rotary.h"
#include "rows.h"

/* ---- what a model makes of a slice ---- */

typedef struct {
  double products, weights, accumulate, result; /* unit roundoffs; weights 0: as products */
  double score;                                 /* E_j = score t_j + tiny */
  double tiny, smallest;                        /* smallest: of the normal numbers of products */
  double quantum, stored; /* the smallest positive number of products; of weights, 0: as products */
  double depth;
} row_model;

static double unit(attest_dtype dtype) {
  return measure_unit_roundoff(tensor_dtype_format(dtype));
}

/* The smallest positive number of a format; of float64 twice that. */
static double quantum(attest_dtype dtype) {
  const tensor_format *format = tensor_dtype_format(dtype);
  return fmax(ldexp(1, format->emin - format->precision + 1), 0x1p-1073);
}

/* g(m) = m u / (1 - m u); infinite where that has no meaning. */
static double growth(double m, double u) {
  return m * u < 0.5 ? m * u / (1 - m * u) : INFINITY;
}

/* What rotations add to the score's error, relative to t. */
static double rotation_error(const room_machine *machine, const rows_pack *pack, int64_t i,
                             int64_t last) {
  int64_t first = problem_first_position(&pack->slice);
  if (!pack->is_rotary) return 0;
  if (machine->builtin) return 4 * ROTARY_ROUNDING;
  return room_rotation_error(machine, &pack->problem->values,
                             (double)(i + pack->slice.offset - first), (double)(last - first));
}

static row_model model_of(const room_machine *machine, const rows_pack *pack, double query_max,
                          int64_t i, int64_t lo, int64_t hi) {
  double u = unit(machine->products), keys = (double)(hi - lo);
  double n = fmax((double)pack->term_count, 2 * (double)pack->slice.d);
  double block = machine->block ? fmin((double)machine->block, keys) : keys;
  const tensor_format *format = tensor_dtype_format(machine->products);
  return (row_model){
      .products = u,
      .weights = machine->weights == machine->products ? 0 : unit(machine->weights),
      .accumulate = unit(machine->accumulate),
      .result = unit(machine->result),
      .score = (growth(n + 8, u) + rotation_error(machine, pack, i, hi - 1)) * (1 + 0x1p-10),
      .tiny = (n + 4) * quantum(machine->products) *
              (1 + (fabs(pack->factor) + 1) * (1 + query_max) * (1 + pack->key_max) *
                       (1 + pack->problem->largest_weight)),
      .smallest = ldexp(1, format->emin),
      .quantum = quantum(machine->products),
      .stored = machine->weights == machine->products ? 0 : quantum(machine->weights),
      .depth = block + ceil(keys / fmax(block, 1)) + 3};
}

/* ---- errors of weights ---- */

/* e^z - 1 from above for 0 <= z. */
static double grown(double z) {
  if (z <= 0x1p-4) return z * (1 + 0.52 * z) * (1 + 0x1p-40);
  return z <= 600 ? expm1(z) * (1 + 0x1p-40) : INFINITY;
}

/* P and P' at x, with `more` added to the coefficients. */
static double polynomial_size(double *slope, const rows_pack *pack, double x, double more) {
  double p = 0, d = 0;
  for (int64_t n = pack->degree; n >= 0; n--) {
    d = d * x + p;
    p = p * x + fabs(pack->c[n]) + more;
  }
  *slope = d;
  return p;
}

/* m_j from score s and size t, w_j the weight in double. */
static double weight_error(const row_model *m, const room_machine *machine, const rows_pack *pack,
                           double s, double t, double w, double shift) {
  double e = m->score * t + m->tiny, own = t * (pack->form_error + 4 * 0x1p-53), slope;
  if (pack->weights == ROWS_EXP) {
    double z = e + m->products * (fabs(s - shift) + e + machine->exp_error + 1) + m->weights;
    return w * (1 + grown(own + 0x1p-46)) * grown(z) + m->stored;
  }
  double most = fabs(s) + e + own, unused;
  if (pack->weights == ROWS_SCORE) return e + (m->weights + m->products) * most + m->stored;
  double size = polynomial_size(&slope, pack, most, m->quantum);
  double lost = size - polynomial_size(&unused, pack, most, 0);
  double round = growth(2 * (double)pack->degree + 4, m->products) + m->weights;
  return (e * slope + round * size + lost) * (1 + 0x1p-20) + m->stored;
}

/* ---- one row ---- */

/* Fills error with m_j and weight with w_j; the sum of m_j. */
static double perturb(rows_row *row, const row_model *m, const room_machine *machine,
                      const rows_pack *pack, int64_t i, int64_t lo, int64_t hi, double *t_max) {
  double sum = 0;
  *t_max = 0;
  rows_scores(row->weight, row->size, pack, i, lo, hi);
  rows_hide(row, pack, i, lo, hi);
  for (int64_t j = lo; j < hi; j++) {
    double s = row->weight[j] * pack->factor, w = 0, slope;
    double t =
        (fabs(pack->factor) + pack->factor_error) * row->size[j] * (1 + 2 * pack->size_error);
    if (row->size[j] < 0) {
      row->weight[j] = row->error[j] = 0;
      continue;
    }
    if (pack->weights == ROWS_EXP) {
      double y = fmin(s - row->shift, 0);
      exp64_array(&w, &y, 1);
      w = fmax(w, 0x1p-1009); /* nothing in double may be something in the model */
    } else {
      w = pack->weights == ROWS_SCORE ? fabs(s) : polynomial_size(&slope, pack, fabs(s), 0);
    }
    row->weight[j] = w;
    row->error[j] = weight_error(m, machine, pack, s, t, w, row->shift);
    sum += row->error[j];
    *t_max = fmax(*t_max, t);
  }
  return sum * (1 + 0x1p-20);
}

/* Whether nothing leaves the range of its format; sizes are of scores, of weights and of values. */
static int fits(const room_machine *machine, const rows_pack *pack, double query_max, double t_max,
                double weight_sum) {
  double products = ldexp(1, tensor_dtype_format(machine->products)->emax - 1);
  double sums = ldexp(1, tensor_dtype_format(machine->accumulate)->emax - 1);
  double smallest = ldexp(1, tensor_dtype_format(machine->products)->emin);
  double factor = fabs(pack->factor), values = fmax(1, pack->value_max);
  double inner = fmax(query_max, pack->key_max) * fmax(1, pack->problem->largest_weight);
  int is_normal = pack->factor == 0 || (factor >= smallest && factor < products);
  return is_normal && query_max * fmax(1, factor) < products && inner < products &&
         fmax(1, 1 / fmax(factor, smallest)) * t_max < products && weight_sum < products &&
         weight_sum * values < sums && pack->value_max < sums && pack->eps < sums;
}

void rows_theory(double *theory, rows_row *row, const rows_pack *pack, const room_machine *machine,
                 int64_t i) {
  int64_t lo, hi, dv = pack->slice.dv;
  problem_visible_range(&lo, &hi, pack->problem, &pack->slice, i);
  double query_max = 0, t_max;
  for (int64_t a = 0; a < pack->slice.d; a++)
    query_max = fmax(query_max, pack->query_sizes[i * pack->slice.d + a]);
  row_model m = model_of(machine, pack, query_max, i, lo, hi);
  double moved = perturb(row, &m, machine, pack, i, lo, hi, &t_max);
  for (int64_t c = 0; c < dv; c++)
    row->chain[c] = pack->normalizes ? row->x[c] : 0;
  rows_spreads(row->absolute, row->spread, row->s_hi, row->chain, row->weight, row->error,
               row->error, pack->values, dv, lo, hi);
  double sizes = 0;
  for (int64_t j = lo; j < hi; j++)
    sizes += row->weight[j] + row->error[j];
  sizes *= 1 + 0x1p-20;
  double depth = growth(m.depth, m.accumulate);
  double lost = (double)(hi - lo) * (pack->value_max + 1) *
                    (m.smallest + 2 * ldexp(1, tensor_dtype_format(machine->accumulate)->emin)) +
                sizes * quantum(machine->accumulate);
  double least = pack->normalizes ? fabs(row->total) - row->total_error - moved : 1;
  double after = pack->normalizes ? least - depth * (sizes + pack->eps) - lost : 1;
  int usable = after > 0 && fits(machine, pack, query_max, t_max, sizes + pack->eps);
  for (int64_t c = 0; c < dv; c++) {
    double x = fabs(row->x[c]) + row->radius[c], known = pack->normalizes ? row->radius[c] : 0;
    double weights = (row->spread[c] + known * moved) / least;
    double terms = row->absolute[c] + row->spread[c] + (pack->normalizes ? x * moved : 0);
    if (pack->normalizes) terms += (x + weights) * (sizes + pack->eps);
    double sums = (depth * terms + m.products * pack->eps * x + lost * (1 + x)) / after;
    double error = (weights + sums) * (1 + 0x1p-6);
    error += (2 * m.accumulate + m.result) * (x + error) * (1 + 0x1p-6) + quantum(machine->result);
    double limit = ldexp(1, tensor_dtype_format(machine->result)->emax);
    theory[c] = usable && isfinite(error) && x + error < limit ? error : INFINITY;
  }
}

/* ---- declared models ---- */

attest_status toeplitz_machine_parse(room_machine *machine, const char *text, attest_error *error) {
  *machine = (room_machine){.products = ATTEST_FLOAT32,
                            .weights = ATTEST_FLOAT32,
                            .accumulate = ATTEST_FLOAT32,
                            .phases = ATTEST_FLOAT32,
                            .result = ATTEST_FLOAT32,
                            .result_lse = ATTEST_FLOAT32,
                            .exp_error = 2};
  return room_machine_parse(machine, text, error);
}
