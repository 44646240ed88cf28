/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The a-priori bound of a declared machine model: what rounding can do at worst, element by
 * element, to a softmax attention that multiplies, exponentiates and sums in the named formats.
 *
 * Derivation (proofs/softmax: machine*.v, bound.v). u_P, u_W, u_A, u_O are the unit roundoffs of
 * products, weights, accumulate, result. Sums of q.k are taken in products, or in accumulate where
 * that has more digits: then each product and the score are rounded to products, and g(d+3) is that
 * of 5 roundings in products and d+3 in accumulate. The scale comes first or last. A key's computed
 * weight is w_j e^(+-delta_j) relative to a common factor, with
 *   delta_j = g(d+3) t_j + 2 u_P t_j [inputs of more digits] + 8 u_P t_j [bias, slope, softcap,
 *           temperature] + u_P shift_j + e' u_P + moves (e' + 1) u_P + underflow,
 * e' = e / (1 - e u_P) for an error e of the exponential, infinite where e u_P reaches 1: then
 * weights may be 0. With a softcap t_j has the slope of the cap at s_j, and the error may reach
 * where it is steeper: the first two terms are multiplied by e^(2 eta), eta the error before the
 * cap over the cap, and at most 2 cap / temperature; 16 u_P cap / temperature is added, for a cap
 * that is evaluated to 31/2 u_P cap.
 *
 * Under rotary embedding a declared machine makes its angles in the format `phases`: delta_j grows
 * by r t_j, r the room_rotation_error of the row and its last key (problem/room.h). With a softcap,
 * whose slope that may change, it grows by the least of 2 cap and r 2 |scale| |q| max|k| instead,
 * over the temperature.
 *
 * shift_j bounds the sum of |s_j - m| when the key is summed and of all later moves of the running
 * maximum m: they telescope to max s - s_j for an online softmax whose m is the maximum so far, and
 * to what the largest score may be off. For fixed perturbations, with x the exact quotient,
 *   |x' - x| <= sum p_j expm1(delta_j) |v_j - x| / sum p_j e^-delta_j =: spread,
 * an inequality without higher-order terms. Rounding of the sums adds z/(1-z) p_j e^delta_j |v_j|
 * with z = depth u_A + u_W, and as much relatively in the normaliser; division and result round
 * once each. Weights rounded to another format before they meet the values may or may not be the
 * ones that the normaliser sums, so that the errors need not cancel: u_W more for each of the two.
 *
 * An exponential of at most 0 is at most 1, and the key that sets the shift has a weight of at
 * least 1 - e u_P. Relative to that, weights that underflow (below 2^emin of the products) add
 * twice N 2^emin max|v|, weights rounded in the subnormals of another format N 2^(emin-p) max|v|
 * of that format, sums in subnormals N 2^(emin-p+3) of accumulate, all but the first in the
 * normaliser, too. A result in the subnormals of its own format is off by 2^(emin-p). Parameters,
 * inputs or sums that may leave the range of their format make the bound infinite, and so can
 * formats with few bits: then it says nothing. Log-sum-exp: lse_bound below.
 *
 * All sums are taken in double around the x^ of the double tier: |v_j - x| <= |v_j - x^| + radius
 * and |x| <= |x^| + radius add the total error and that of the quotient times the radius, the rest
 * is below the factor 1 + 2^-6.
 *
 * For the built-in kernel (pass.h) the order of operations is known, and a running error analysis
 * replaces g(n): a sum in a known order is off by at most u times the sum of the absolute values of
 * its partial results (theorems running_error, running_score). Those of the weights are known up to
 * what the weights are off, in each of the partial results in which a key takes part. The shift is
 * the first block's maximum unless the maximum later grows by more than PASS_SHIFT. */
#include <stdlib.h>

#include "../enclosure/exp.h"
#include "../problem/rotary.h"
#include "terms.h"

static double roundoff(attest_dtype dtype) {
  return measure_unit_roundoff(tensor_dtype_format(dtype));
}

room_machine softmax_machine(attest_dtype dtype) {
  int is_double = dtype == ATTEST_FLOAT64;
  attest_dtype work = is_double ? ATTEST_FLOAT64 : ATTEST_FLOAT32;
  room_machine machine = {.products = work,
                          .weights = work,
                          .accumulate = work,
                          .result = dtype,
                          .result_lse = dtype,
                          .block = PASS_CHAIN,
                          .exp_error = is_double ? EXP64_ERROR : EXP32_ERROR,
                          .builtin = 1};
  return machine;
}

/* ---- declared models
 * -------------------------------------------------------------------------------- */

attest_status softmax_machine_parse(room_machine *machine, const char *text, attest_error *error) {
  *machine = softmax_machine(ATTEST_FLOAT32);
  machine->builtin = 0;
  machine->block = 0;
  machine->phases = ATTEST_FLOAT32;
  machine->exp_error = 2;
  return room_machine_parse(machine, text, error);
}

/* ---- one row
 * ------------------------------------------------------------------------------------------- */

typedef struct {
  double u_products, u_dot, u_weights, u_accumulate, u_result; /* u_dot: of the sums of q.k */
  double off;         /* how far any score, and so the largest, may be off */
  double shift_slack; /* added to the distance from the shift */
  double shift;       /* builtin, maximum never moves: the reference itself, else NaN */
  double moves;
  double out_depth;    /* roundings that a product meets in out; builtin: only those of moves */
  double sum_depth;    /* roundings in the normaliser, weighted by what they round */
  double inputs;       /* roundings of q and of k on their way into the products, in units of u */
  double exp_units;    /* e u / (1 - e u) in units of u: a factor 1 +- e u as e^(+-) */
  double least_weight; /* of the key that sets the shift: 1 - e u */
  double before;       /* relative to t: error of scores before a softcap but for run */
  double steep, cap_most; /* with a softcap: how its slope may grow; twice the cap, tempered */
  double score_underflow; /* absolute error of a score from products in subnormals */
  double rotation;        /* of a declared machine: relative to the form of q and k; */
  double rotation_most;   /* with a softcap: absolute, the same for every key */
  double sum_error;       /* relative, of the normaliser's sum */
} row_model;

/* e^x from above, in a fixed order of plain operations: the library's functions may differ between
 * machines. */
static double exp_above(double x) {
  if (x < -700) return 0x1p-1009;
  if (!(x <= 700)) return INFINITY;
  double e;
  exp64_array(&e, &x, 1);
  return e * (1 + 0x1p-50);
}

/* e^delta - 1 from above, delta >= 0. It is at most delta (1 + 0.52 delta) up to 1/16. */
static double grown_by(double delta) {
  if (delta <= 0x1p-4) return delta * (1 + 0.52 * delta) * (1 + 0x1p-50);
  return exp_above(delta) - 1;
}

/* How the built-in kernel's shift can behave on this row, from the scores of the second pass. The
 * kernel's scores differ by at most `off`, so a growth within off of PASS_SHIFT counts as a move.
 */
static void builtin_shift(row_model *model, const softmax_second *second,
                          const softmax_row_terms *terms, double sink, double off) {
  double first = sink;
  for (int64_t key = terms->lo; key < terms->hi && !(first > -INFINITY);) {
    int64_t end = (key / PASS_KEYS + 1) * PASS_KEYS;
    for (end = end < terms->hi ? end : terms->hi; key < end; key++)
      first = second->score[key] > first ? second->score[key] : first;
  }
  double growth = second->largest - first;
  if (growth + 2 * off < PASS_SHIFT) {
    model->shift = first;
    model->shift_slack = off;
  } else {
    model->shift_slack = 2 * PASS_SHIFT + off;
    model->moves = ceil((growth + 2 * off) / PASS_SHIFT) + 1;
  }
}

/* Partial results of the built-in normaliser, relative to the whole: the interleaved chains, four
 * levels of the tree, the running sum. */
static double builtin_sum_depth(const softmax_second *second, const softmax_row_terms *terms) {
  double lane[PASS_LANES] = {0}, block = 0, total = second->sink_weight, run = 0;
  for (int64_t j = terms->lo; j < terms->hi; j++) {
    double *chain = lane + j % PASS_LANES;
    *chain += second->g[j];
    block += second->g[j];
    run += *chain;
    if ((j + 1) % PASS_KEYS && j + 1 < terms->hi) continue;
    total += block;
    run += 4 * block + total;
    block = 0;
    memset(lane, 0, sizeof lane);
  }
  return run;
}

/* Whether a tensor has more digits than a format, so that it is rounded when it is read. */
static int rounds(const attest_tensor *t, attest_dtype to) {
  return tensor_dtype_format(t->dtype)->precision > tensor_dtype_format(to)->precision;
}

/* Half a unit of the subnormals of a format. */
static double half_unit(const tensor_format *format) {
  return ldexp(1, format->emin - format->precision);
}

/* The format in which sums of q.k are taken: of the two with more digits. */
static const tensor_format *dot_format(const room_machine *machine) {
  const tensor_format *products = tensor_dtype_format(machine->products);
  const tensor_format *sums = tensor_dtype_format(machine->accumulate);
  return sums->precision > products->precision ? sums : products;
}

/* Zero, or a normal number of the format with room above it. */
static int is_normal(const tensor_format *format, double x) {
  return x == 0 || (fabs(x) >= ldexp(1, format->emin) && fabs(x) < ldexp(1, format->emax - 1));
}

/* Whether sums of q.k, to which the built-in kernel alone is known to scale q first, stay within
 * the range of their format. */
static int dots_fit(const room_machine *machine, const row_model *model, const softmax_pack *pack,
                    const softmax_row_terms *terms) {
  double scale = fabs(pack->scale), limit = ldexp(1, dot_format(machine)->emax - 1);
  double size = (machine->builtin ? scale : fmax(1, scale)) * terms->query_norm * terms->key_norm;
  return size * (1 + model->before + model->rotation) < limit;
}

/* Whether inputs, parameters and scores stay within the range of the products. */
static int scores_fit(const room_machine *machine, const row_model *model, const softmax_pack *pack,
                      const softmax_row_terms *terms) {
  const tensor_format *format = tensor_dtype_format(machine->products);
  const problem_slice *slice = &pack->slice;
  double limit = ldexp(1, format->emax - 1), inverse = pack->inverse_temperature;
  int scale = is_normal(format, pack->scale) && (pack->scale != 0 || pack->scale_error == 0);
  int softcap = !pack->has_softcap || (is_normal(format, pack->softcap) && pack->softcap > 0 &&
                                       1 / pack->softcap < limit);
  double reach = terms->reach * (1 + model->rotation);
  int slope = !slice->has_slope ||
              (is_normal(format, slice->slope) && (double)(slice->nq + slice->nk) < limit);
  return scale && softcap && slope && is_normal(format, inverse) && inverse > 0 &&
         dots_fit(machine, model, pack, terms) &&
         fmax(1, fabs(pack->scale)) * terms->query_norm < limit && terms->key_norm < limit &&
         reach < limit && reach / inverse < limit;
}

/* Whether sums of weights and of their products with values of at most v_max stay within the range
 * of accumulate. Weights are at most e^PASS_SHIFT in the built-in kernel, which packs values beyond
 * 2^64 smaller in float, else 1. */
static int sums_fit(const room_machine *machine, const softmax_row_terms *terms, double v_max) {
  const tensor_format *format = tensor_dtype_format(machine->accumulate);
  int packs = machine->builtin && machine->accumulate == ATTEST_FLOAT32;
  double largest = fmax(1, packs ? fmin(v_max, 0x1p65) : v_max);
  double weights = (terms->keys + 1) * (machine->builtin ? 0x1p12 : 1);
  return v_max < ldexp(1, format->emax - 1) && largest < ldexp(1, format->emax - 1) / weights;
}

/* (1 + u)^n - 1 in units of u, from above, with room to be multiplied by 5 more roundings. */
static double gamma_units(double n, double u) {
  double x = n * u;
  return x <= 0x1p-3 ? n / (1 - x) : (1 + 0x1p-3) * grown_by(x) / u;
}

/* Relative error of a score, in units of u_products, that d products in a row and `more` roundings
 * make at worst (theorem machine_units). */
static double dot_units(const row_model *model, double d, double more) {
  double u = model->u_products;
  if (model->u_dot >= u) return gamma_units(d + more, u);
  return gamma_units(more + 2, u) +
         (1 + 0x1p-3) * (model->u_dot / u) * gamma_units(d + more, model->u_dot);
}

/* Inputs, d products, their sums and the scaled query, each off by half a unit of the subnormals,
 * before a scale that may come last; `relative` is what they are off beside (theorem
 * machine_score). */
static double score_underflow(const room_machine *machine, const softmax_pack *pack,
                              const softmax_row_terms *terms, double relative) {
  double unit =
      fmax(half_unit(tensor_dtype_format(machine->products)), half_unit(dot_format(machine)));
  return 4 * ((double)pack->slice.d + 2) * unit * (1 + fabs(pack->scale)) *
         (1 + terms->query_norm + terms->key_norm) * (1 + relative);
}

/* What the rotations of a declared machine add to the scores of a row. */
static double rotation_error(const room_machine *machine, const softmax_pack *pack,
                             const softmax_row_terms *terms, int64_t row) {
  const problem_slice *slice = &pack->slice;
  int64_t first = problem_first_position(slice);
  return room_rotation_error(machine, &pack->problem->values, (double)(row + slice->offset - first),
                             (double)(terms->hi - 1 - first));
}

/* What scores before a softcap are off by, relatively, makes the cap's slope at most e^(2 eta)
 * times that at s, eta that error over the cap, beside what double is off in the slope itself; no
 * two capped scores are further apart than 2 cap (theorem machine_softcap). */
static void add_softcap(row_model *model, const softmax_pack *pack, const softmax_row_terms *terms,
                        double relative) {
  double inverse = fabs(pack->inverse_temperature);
  double form = (pack->is_rotary ? 2 : 1) * fabs(pack->scale) * terms->query_norm *
                terms->key_norm * (1 + 0x1p-20);
  double eta = (relative + model->rotation) * form / pack->softcap + terms->size_error;
  model->steep = 1 + grown_by(2 * eta);
  model->cap_most = 2 * pack->softcap * inverse;
  model->rotation_most = fmin(model->rotation * form * inverse, model->cap_most);
}

/* (1 + u_W)(1 + u)^depth - 1 <= z / (1 - z) with z = depth u + u_W (theorem rounded_weights); where
 * z reaches 1 nothing is known. */
static double grown_sum(double z) {
  return z < 1 ? z / (1 - z) : INFINITY;
}

/* What underflow may change of a sum of weights times values of at most v_max, relative to the
 * least weight of the key that sets the shift: weights rounded in the subnormals of their format,
 * products and sums in those of accumulate (values beyond 2^64 are packed smaller by the built-in
 * kernel, which makes that grid coarser). */
static double lost(const room_machine *machine, double keys, double v_max) {
  const tensor_format *weights = tensor_dtype_format(machine->weights);
  int scaled = v_max > 0x1p64 ? ilogb(v_max) : 0;
  double cost = machine->weights == machine->products ? 0 : half_unit(weights) * v_max;
  return keys * (cost + ldexp(half_unit(tensor_dtype_format(machine->accumulate)), scaled + 3));
}

/* second->g holds the weights p. */
static row_model model_row(const room_machine *machine, const softmax_second *second,
                           const softmax_pack *pack, const softmax_row_terms *terms, int64_t row) {
  row_model model = {.u_products = roundoff(machine->products),
                     .u_weights =
                         machine->weights == machine->products ? 0 : roundoff(machine->weights),
                     .u_accumulate = roundoff(machine->accumulate),
                     .u_result = roundoff(machine->result),
                     .inputs = rounds(&pack->slice.q, machine->products) ||
                               rounds(&pack->slice.k, machine->products),
                     .shift = NAN};
  model.u_dot = fmin(model.u_products, model.u_accumulate);
  double inverse = fabs(pack->inverse_temperature);
  /* The built-in kernel's rotated vectors are off by sqrt(2) ROTARY_ROUNDING each, beside their
   * rounding to the products' format; t is the sum over pairs of 2 |q_pair| |k_pair|. */
  if (pack->is_rotary) model.inputs += 1.5 * ROTARY_ROUNDING / model.u_products;
  if (pack->is_rotary && !machine->builtin)
    model.rotation = rotation_error(machine, pack, terms, row);
  double exp_error = machine->exp_error * model.u_products;
  model.least_weight = 1 - exp_error;
  model.exp_units = exp_error < 1 ? machine->exp_error / (1 - exp_error) : INFINITY;
  double dot = dot_units(&model, (double)pack->slice.d, 3);
  double relative = (dot + 2 * model.inputs) * model.u_products;
  model.before = machine->builtin ? (2 + 2 * model.inputs) * model.u_products : relative;
  model.score_underflow = score_underflow(machine, pack, terms, relative);
  if (pack->has_softcap) add_softcap(&model, pack, terms, relative);
  model.off = dot_units(&model, (double)pack->slice.d, 14) * model.u_products * terms->reach +
              (model.score_underflow + 16 * model.u_products * pack->softcap) * inverse +
              model.rotation * terms->reach + half_unit(tensor_dtype_format(machine->products));
  if (machine->builtin) {
    builtin_shift(&model, second, terms, second->state.shift[0], model.off);
    model.out_depth = model.moves + rounds(&pack->slice.v, machine->accumulate);
    model.sum_depth = builtin_sum_depth(second, terms) + model.moves;
  } else {
    double block = machine->block ? fmin((double)machine->block, terms->keys) : terms->keys;
    model.moves = ceil(terms->keys / fmax(1, block));
    model.sum_depth = block + 2 * model.moves;
    model.out_depth = model.sum_depth + rounds(&pack->slice.v, machine->accumulate);
    model.shift_slack = model.off;
  }
  return model;
}

/* delta_j for score s, absolute score t and running error run of the product q.k (in units of u).
 */
static double weight_error(const room_machine *machine, const row_model *model,
                           const softmax_pack *pack, double s, double largest, double t,
                           double run) {
  double u = model->u_products, extras = pack->has_extras ? 8 * t : 0;
  double inverse = fabs(pack->inverse_temperature);
  double before = model->before * t, rotation = model->rotation * t;
  if (pack->has_softcap) {
    before = fmin(before * model->steep, model->cap_most) * (1 + 8 * u) +
             16 * u * pack->softcap * inverse;
    rotation = model->rotation_most;
  }
  double shift = isnan(model->shift) ? largest - s : fabs(s - model->shift);
  double delta = model->score_underflow * inverse + before + rotation;
  if (machine->builtin)
    delta += u * run * inverse / (1 - fmin(0.5, 32 * (double)pack->slice.d * u));
  delta += u * (extras + shift + model->shift_slack + model->exp_units) +
           model->moves * (model->exp_units + 1) * u;
  return delta * (1 + 0x1p-8);
}

/* p (e^delta - 1) from above. The weight of a key far below the largest score underflows in double,
 * whatever it may become. */
static double grown_weight(double p, double below, double delta) {
  return p > 0 ? p * grown_by(delta) : exp_above(below + delta);
}

/* g_j = p_j expm1(delta_j), h_j = p_j e^delta_j; the sink's part of spread and sum p e^-delta are
 * returned. */
static void perturb(double *sink_g, double *least, softmax_second *second,
                    const room_machine *machine, const row_model *model, const softmax_pack *pack,
                    const softmax_row_terms *terms) {
  double sink = second->state.shift[0], largest = second->largest;
  *sink_g = *least = 0;
  if (sink > -INFINITY) {
    double p = second->sink_weight;
    double delta = weight_error(machine, model, pack, sink, largest, second->sink_size, 0);
    *sink_g = grown_weight(p, sink - largest, delta);
    *least = p / (1 + grown_by(delta));
  }
  for (int64_t j = terms->lo; j < terms->hi; j++) {
    double p = second->g[j], s = second->score[j];
    second->g[j] = second->h[j] = 0;
    if (!(s > -INFINITY)) continue;
    double delta = weight_error(machine, model, pack, s, largest, second->size[j], second->run[j]);
    second->g[j] = grown_weight(p, s - largest, delta);
    second->h[j] = p + second->g[j];
    *least += p / (1 + grown_by(delta));
  }
}

/* The relative error of the normaliser before it is summed: sum p expm1(delta) / sum p e^-delta. */
static double total_error(const softmax_second *second, const softmax_row_terms *terms,
                          double sink_g, double least) {
  double grown = sink_g;
  for (int64_t j = terms->lo; j < terms->hi; j++)
    grown += second->g[j];
  return grown / least;
}

/* The relative error of the normaliser's sum. The weights of the built-in kernel are off
 * themselves, and so are their partial results, in each of which a key takes part so many times at
 * most. */
static void add_sum_error(row_model *model, const room_machine *machine,
                          const softmax_row_terms *terms, double grown) {
  double times = PASS_KEYS / PASS_LANES + 4 + terms->blocks;
  if (machine->builtin) model->sum_depth += 2 * grown * times;
  model->sum_error = grown_sum(model->sum_depth * model->u_accumulate + model->u_weights);
  model->sum_error += (1 + model->sum_error) * lost(machine, terms->keys, 1) / model->least_weight;
}

/* What the normaliser, the division and the result's rounding may change of the quotient,
 * relatively: (1 + u_A)(1 + u_O) / (1 - e) - 1 with e the normaliser's relative error (theorem
 * softmax_bound). */
static double quotient_error(const row_model *model) {
  double e = model->sum_error;
  double u = model->u_accumulate + model->u_result + model->u_accumulate * model->u_result;
  return e < 1 ? (u + e) / (1 - e) : INFINITY;
}

/* Weights below the smallest normal number of the products are dropped, each with a value of at
 * most v_max: relative to the least weight of the key that sets the shift. */
static double dropped(const room_machine *machine, const row_model *model, double keys,
                      double v_max) {
  return keys * ldexp(v_max, tensor_dtype_format(machine->products)->emin) / model->least_weight;
}

/* Half units of the subnormals that the shift, a division or the last sum, and the result meet. */
static double end_underflow(const room_machine *machine, attest_dtype result) {
  return 8 * (half_unit(tensor_dtype_format(result)) +
              half_unit(tensor_dtype_format(machine->accumulate)));
}

/* |log a - log b| where a is off by e b. */
static double log_error(double e) {
  return e < 1 ? e / (1 - e) : INFINITY;
}

/* The logarithm of the normaliser W is taken to be good to 4 u_A (1 + |log W|) (log64 is); W is off
 * by sum relatively, and relative to a shift that is off itself. Then the shift, rounded to
 * accumulate, is added, which rounds, as do a factor log2(e), itself rounded, and the result
 * (theorems machine_lse, machine_lse_base2). What the double tier is off by moves |lse| and so the
 * roundings by less than an eighth of it. */
static double lse_bound(const room_machine *machine, const row_model *model,
                        const softmax_second *second, const softmax_pack *pack, double keys,
                        double grown, double lse, double radius) {
  int base2 = pack->problem->values.lse_base == 2;
  double u = model->u_accumulate, u_result = roundoff(machine->result_lse);
  double natural = base2 ? lse / EXP64_LOG2E : lse;
  double sum = grown + log_error(model->sum_error) + log_error(dropped(machine, model, keys, 1));
  double logarithm = 4 * u * (1 + fabs(natural - second->largest) + model->off + sum);
  double before = sum + logarithm + u * (fabs(second->largest) + model->off);
  double ends = (base2 ? 3 * u * (1 + 2 * u) : u) * (1 + u_result) + u_result;
  double bound = (base2 ? 1.5 : 1) * (before + ends * (fabs(natural) + before));
  return bound * (1 + 0x1p-6) + end_underflow(machine, machine->result_lse) + radius * (1 + 0x1p-3);
}

/* Infinite where the result may overflow. */
static double finish_bound(double bound, double x, double radius, attest_dtype result) {
  const tensor_format *format = tensor_dtype_format(result);
  double largest = ldexp(2 - ldexp(1, 1 - format->precision), format->emax);
  return bound >= 0 && isfinite(radius) && fabs(x) + bound <= largest ? bound : INFINITY;
}

static void out_bounds(room_block *block, softmax_second *second, const softmax_pack *pack,
                       const softmax_row_terms *terms, const row_model *model, double sink_g,
                       double least, double grown, int64_t at) {
  const room_machine *machine = block->machine;
  const double *x = block->out.x + at * block->out.width;
  softmax_row_sums(second->spread, second->total, x, second->g, second->h, pack, terms->lo,
                   terms->hi);
  if (machine->builtin)
    softmax_running_sums(second->scratch, second->scratch + block->out.width, second->h, pack,
                         terms->lo, terms->hi);
  for (int64_t c = 0; c < block->out.width; c++) {
    double spread = (second->spread[c] + sink_g * fabs(x[c])) / least;
    double grow = grown_sum(model->out_depth * model->u_accumulate + model->u_weights);
    double sums = grow * second->total[c];
    double largest = softmax_largest_value(pack, terms, c);
    if (machine->builtin) {
      double times = PASS_CHAIN + PASS_KEYS / PASS_CHAIN + terms->blocks;
      sums += (second->scratch[c] + 2 * grown * least * times * largest) * model->u_accumulate;
    }
    double under = (1 + grow) * (2 * dropped(machine, model, terms->keys, largest) +
                                 lost(machine, terms->keys, largest) / model->least_weight);
    double moved = spread + sums / least + under, quotient = quotient_error(model);
    double radius = block->out.radius[at * block->out.width + c];
    double bound = (moved + quotient * (fabs(x[c]) + moved)) * (1 + 0x1p-6) +
                   end_underflow(machine, machine->result) +
                   radius * (grown * (1 + quotient) + quotient + 0x1p-20);
    if (!sums_fit(machine, terms, largest)) bound = INFINITY;
    block->out.theory[at * block->out.width + c] =
        finish_bound(bound, x[c], radius, machine->result);
  }
}

/* Elements that the edge policy prescribes leave nothing to round. */
static void prescribe(room_cells *cells, int64_t at) {
  for (int64_t i = at * cells->width; i < (at + 1) * cells->width; i++)
    if (cells->class[i] != EXACT_FINITE || cells->radius[i] == 0) cells->theory[i] = 0;
}

void softmax_theory_row(room_block *block, softmax_second *second, const softmax_pack *pack,
                        int64_t at, unsigned want) {
  const room_machine *machine = block->machine;
  softmax_row_terms terms;
  softmax_terms_of_row(&terms, pack, block->row + at);
  softmax_second_weights(second, pack, &terms, block->row + at);
  softmax_running_scores(second->run, &second->state, pack, terms.lo, terms.hi);
  row_model model = model_row(machine, second, pack, &terms, block->row + at);
  double sink_g, least;
  perturb(&sink_g, &least, second, machine, &model, pack, &terms);
  if (!scores_fit(machine, &model, pack, &terms)) least = 0;
  double grown = total_error(second, &terms, sink_g, least);
  add_sum_error(&model, machine, &terms, grown);
  if (want & WANT_OUT) out_bounds(block, second, pack, &terms, &model, sink_g, least, grown, at);
  if (want & WANT_LSE) {
    double x = block->lse.x[at], radius = block->lse.radius[at];
    double bound = lse_bound(machine, &model, second, pack, terms.keys, grown, x, radius);
    if (!sums_fit(machine, &terms, 1)) bound = INFINITY;
    block->lse.theory[at] = finish_bound(bound, x, radius, machine->result_lse);
    prescribe(&block->lse, at);
  }
  if (want & WANT_OUT) prescribe(&block->out, at);
}
