/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Layouts: which axis means what, the sizes that the shapes of q, k, v agree on, the shapes of out
 * and lse. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

static const problem_axes layouts[] = {
    [LAYOUT_DEFAULT] = {"default", 0, -1, -1, -1, -1},
    [LAYOUT_BHND] = {"bhnd", 4, 0, 1, 2, 3},
    [LAYOUT_BNHD] = {"bnhd", 4, 0, 2, 1, 3},
    [LAYOUT_HND] = {"hnd", 3, -1, 0, 1, 2},
    [LAYOUT_NHD] = {"nhd", 3, -1, 1, 0, 2},
    [LAYOUT_ND] = {"nd", 2, -1, -1, 0, 1},
    [LAYOUT_THD] = {"thd", 3, -1, 1, 0, 2},
    [LAYOUT_SBHD] = {"sbhd", 4, 1, 2, 0, 3},
};

const problem_axes *problem_layout_axes(problem_layout layout) {
  return &layouts[layout];
}

problem_axes problem_lse_axes(problem_layout layout, int heads_first) {
  problem_axes axes = layouts[layout];
  axes.ndim--;
  axes.d = -1;
  if (heads_first) {
    int next = 0;
    axes.b = axes.b < 0 ? -1 : next++;
    axes.h = axes.h < 0 ? -1 : next++;
    axes.n = next;
  }
  return axes;
}

attest_status problem_layouts_choose(attest_problem *problem, attest_error *error) {
  problem_values *values = &problem->values;
  int ndim = problem->input[INPUT_Q].ndim,
      packed = problem->input[INPUT_CU_Q].data || problem->input[INPUT_CU_K].data;
  char shape[96];
  if (ndim < 2)
    return attest_fail(
        error, ATTEST_ERR_INPUT,
        "q %s has %d axes; q, k and v have 2 to 4: (n, d), (h, n, d) or (b, h, n, d)",
        tensor_shape_text(shape, &problem->input[INPUT_Q]), ndim);
  if (values->layout == LAYOUT_DEFAULT) {
    values->layout = problem_convention_layout(values->convention, ndim, packed);
    problem->is_set[problem_param_index("layout")] |= values->convention != CONVENTION_NONE;
    if (values->out_layout == LAYOUT_DEFAULT)
      values->out_layout = problem_convention_out_layout(values->convention, ndim, packed);
    if (values->out_layout != LAYOUT_DEFAULT)
      problem->is_set[problem_param_index("out-layout")] = 1;
  }
  if (values->out_layout == LAYOUT_DEFAULT) values->out_layout = values->layout;
  const problem_axes *in = &layouts[values->layout], *out = &layouts[values->out_layout];
  if (in->ndim != out->ndim || (values->layout == LAYOUT_THD) != (values->out_layout == LAYOUT_THD))
    return attest_fail(
        error, ATTEST_ERR_INPUT,
        "layout %s and out-layout %s do not have the same axes: out of a %d-axis input "
        "is %s",
        in->name, out->name, in->ndim,
        in->ndim == 4                  ? "bhnd, bnhd or sbhd"
        : values->layout == LAYOUT_THD ? "thd"
        : in->ndim == 3                ? "hnd or nhd"
                                       : "nd");
  return ATTEST_OK;
}

const char *problem_layout_letters(const attest_problem *problem, int ndim) {
  problem_values values;
  size_t layout = problem_param_index("layout"), convention = problem_param_index("convention");
  problem_values_init(&values);
  /* Texts of parameters that are set parse: they were checked then. */
  if (problem->texts[convention])
    problem_param_parse(&values, &problem_params[convention], problem->texts[convention]);
  if (problem->texts[layout])
    problem_param_parse(&values, &problem_params[layout], problem->texts[layout]);
  else
    values.layout = problem_convention_layout(values.convention, ndim, 0);
  const char *letters = layouts[values.layout].name;
  problem_values_clear(&values);
  return letters;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static int64_t extent(const attest_tensor *t, int axis) {
  return axis < 0 ? 1 : t->shape[axis];
}

/* Refuses two inputs that differ along an axis. */
static attest_status check_same(const attest_problem *problem, const problem_axes *axes, int a,
                                int b, int axis, const char *what, attest_error *error) {
  const attest_tensor *x = &problem->input[a], *y = &problem->input[b];
  char first[96], second[96];
  if (extent(x, axis) == extent(y, axis)) return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_INPUT,
                     "%s %s and %s %s do not match under layout %s: %s is %lld and %lld",
                     problem_input_names[a], tensor_shape_text(first, x), problem_input_names[b],
                     tensor_shape_text(second, y), axes->name, what, (long long)extent(x, axis),
                     (long long)extent(y, axis));
}

static attest_status check_axes(const attest_problem *problem, const problem_axes *axes,
                                attest_error *error) {
  char shape[96];
  for (int i = INPUT_Q; i <= INPUT_V; i++) {
    const attest_tensor *t = &problem->input[i];
    if (t->ndim != axes->ndim)
      return attest_fail(
          error, ATTEST_ERR_INPUT,
          "%s %s has %d axes, layout %s has %d: give q, k, v the same number of axes or "
          "name their --layout",
          problem_input_names[i], tensor_shape_text(shape, t), t->ndim, axes->name, axes->ndim);
  }
  return ATTEST_OK;
}

attest_status problem_layout_sizes(attest_problem *problem, problem_layout layout,
                                   attest_error *error) {
  const problem_axes *axes = &layouts[layout];
  const attest_tensor *q = &problem->input[INPUT_Q], *k = &problem->input[INPUT_K];
  attest_status status = check_axes(problem, axes, error);
  const struct {
    int a, b, axis;
    const char *what;
  } equal[] = {{INPUT_Q, INPUT_K, axes->d, "the head dimension d"},
               {INPUT_K, INPUT_V, axes->n, "the number of keys"},
               {INPUT_K, INPUT_V, axes->h, "the number of key heads"},
               {INPUT_Q, INPUT_K, axes->b, "the batch"},
               {INPUT_K, INPUT_V, axes->b, "the batch"}};
  for (size_t i = 0; !status && i < sizeof equal / sizeof equal[0]; i++)
    status = check_same(problem, axes, equal[i].a, equal[i].b, equal[i].axis, equal[i].what, error);
  if (status) return status;
  int64_t hq = extent(q, axes->h), hk = extent(k, axes->h), d = extent(q, axes->d);
  char first[96], second[96];
  tensor_shape_text(first, q);
  tensor_shape_text(second, k);
  if (hk ? hq % hk : hq)
    return attest_fail(
        error, ATTEST_ERR_INPUT,
        "q %s has %lld heads and k %s has %lld under layout %s: key heads must divide "
        "query heads",
        first, (long long)hq, second, (long long)hk, axes->name);
  if (d == 0)
    return attest_fail(
        error, ATTEST_ERR_INPUT,
        "q %s and k %s have head dimension d = 0 under layout %s; d must be at least 1", first,
        second, axes->name);
  problem->sequences = extent(q, axes->b);
  problem->heads_q = hq;
  problem->heads_k = hk;
  problem->nq = extent(q, axes->n);
  problem->nk = extent(k, axes->n);
  problem->d = d;
  problem->dv = extent(&problem->input[INPUT_V], axes->d);
  return ATTEST_OK;
}

static void append(attest_error *error, const char *format, const char *word) {
  size_t used = strlen(error->message);
  snprintf(error->message + used, sizeof error->message - used, format, word);
}

attest_status problem_sizes_resolve(attest_problem *problem, attest_error *error) {
  problem_layout asked = problem->values.layout;
  attest_status status = problem_layout_sizes(problem, asked, error);
  for (problem_layout l = LAYOUT_BHND; status && l <= LAYOUT_SBHD; l++)
    if (l != asked && l != LAYOUT_THD && !problem_layout_sizes(problem, l, NULL)) {
      append(error, "; they match under --layout %s", layouts[l].name);
      break;
    }
  return status;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* Rows of out along its sequence axis: a packed layout keeps those beyond the last sequence. */
static int64_t out_rows(const attest_problem *problem) {
  return problem->input[INPUT_Q].shape[layouts[problem->values.layout].n];
}

static int64_t out_batch(const attest_problem *problem) {
  return extent(&problem->input[INPUT_Q], layouts[problem->values.layout].b);
}

/* `width`: along axis d, where there is one. */
static void place_shape(int64_t shape[], const attest_problem *problem, const problem_axes *axes,
                        int64_t width) {
  if (axes->b >= 0) shape[axes->b] = out_batch(problem);
  if (axes->h >= 0) shape[axes->h] = problem->heads_q;
  shape[axes->n] = out_rows(problem);
  if (axes->d >= 0) shape[axes->d] = width;
}

void problem_output_shape(int *ndim, int64_t shape[], const attest_problem *problem, int output) {
  problem_axes axes = layouts[problem->values.out_layout];
  if (output == OUTPUT_FINAL_STATE) {
    problem_state_shape(ndim, shape, problem);
    return;
  }
  if (output == OUTPUT_LSE)
    axes = problem_lse_axes(problem->values.out_layout, problem->lse_heads_first);
  *ndim = axes.ndim;
  place_shape(shape, problem, &axes, problem_output_width(problem, output));
}

static int has_shape(const attest_tensor *t, const attest_problem *problem,
                     const problem_axes *axes) {
  int64_t shape[ATTEST_MAX_DIMS];
  place_shape(shape, problem, axes, problem->dv);
  return t->ndim == axes->ndim && !memcmp(t->shape, shape, (size_t)t->ndim * sizeof shape[0]);
}

static char *shape_of(char buf[96], const attest_problem *problem, const problem_axes *axes) {
  attest_tensor t = {.ndim = axes->ndim};
  place_shape(t.shape, problem, axes, problem->dv);
  return tensor_shape_text(buf, &t);
}

static attest_status out_resolve(attest_problem *problem, attest_error *error) {
  const attest_tensor *out = &problem->output[OUTPUT_OUT];
  problem_layout asked = problem->values.out_layout;
  char found[96], expected[96], q[96], v[96];
  if (!out->data || has_shape(out, problem, &layouts[asked])) return ATTEST_OK;
  attest_fail(error, ATTEST_ERR_INPUT,
              "out %s does not match q %s and v %s: under out-layout %s it is %s",
              tensor_shape_text(found, out), tensor_shape_text(q, &problem->input[INPUT_Q]),
              tensor_shape_text(v, &problem->input[INPUT_V]), layouts[asked].name,
              shape_of(expected, problem, &layouts[asked]));
  for (problem_layout l = LAYOUT_BHND; l <= LAYOUT_SBHD; l++)
    if (l != LAYOUT_THD && asked != LAYOUT_THD && has_shape(out, problem, &layouts[l])) {
      append(error, "; it has the shape of --out-layout %s", layouts[l].name);
      break;
    }
  return ATTEST_ERR_INPUT;
}

static attest_status indices_resolve(const attest_problem *problem, attest_error *error) {
  const attest_tensor *indices = &problem->output[OUTPUT_INDICES];
  attest_tensor wanted = {0};
  char found[96], right[96];
  if (!indices->data) return ATTEST_OK;
  problem_output_shape(&wanted.ndim, wanted.shape, problem, OUTPUT_INDICES);
  if (indices->ndim == wanted.ndim &&
      !memcmp(indices->shape, wanted.shape, (size_t)wanted.ndim * sizeof wanted.shape[0]))
    return ATTEST_OK;
  return attest_fail(error, ATTEST_ERR_INPUT,
                     "indices %s: with topk %lld and %lld keys they are %s under out-layout %s",
                     tensor_shape_text(found, indices), (long long)problem->values.topk,
                     (long long)problem->nk, tensor_shape_text(right, &wanted),
                     layouts[problem->values.out_layout].name);
}

attest_status problem_outputs_resolve(attest_problem *problem, attest_error *error) {
  attest_error local = {0};
  attest_status status = out_resolve(problem, error ? error : &local);
  if (!status) status = indices_resolve(problem, error);
  if (status) return status;
  const attest_tensor *lse = &problem->output[OUTPUT_LSE];
  problem_axes own = problem_lse_axes(problem->values.out_layout, 0);
  problem_axes first = problem_lse_axes(problem->values.out_layout, 1);
  problem->lse_heads_first = problem_convention_heads_first(problem->values.convention);
  if (!lse->data) return ATTEST_OK;
  int is_own = has_shape(lse, problem, &own), is_first = has_shape(lse, problem, &first);
  if (is_own != is_first) problem->lse_heads_first = is_first;
  if (is_own || is_first) return ATTEST_OK;
  char found[96], a[96], b[96], q[96];
  return attest_fail(error, ATTEST_ERR_INPUT,
                     "lse %s does not match q %s under out-layout %s: it is %s or, heads before "
                     "rows, %s",
                     tensor_shape_text(found, lse), tensor_shape_text(q, &problem->input[INPUT_Q]),
                     layouts[problem->values.out_layout].name, shape_of(a, problem, &own),
                     shape_of(b, problem, &first));
}
