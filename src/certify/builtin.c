/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "builtin.h"

#include <stdlib.h>
#include <string.h>

#include "synthetic.h"

/* Of bare cases q and k are those before rotary embedding. */
enum { FILE_Q, FILE_K, FILE_V, FILE_COUNT, FILE_Q_BARE = FILE_COUNT, FILE_K_BARE, FILES_ALL };
static const char *const file_names[FILES_ALL] = {"q", "k", "v", "q_norope", "k_norope"};

typedef struct {
  char name[64];
  attest_problem *problem;
  void *storage;        /* of a synthetic problem */
  const char *bound[2]; /* one more on out, float32 and float64; NULL: none */
  int is_bare;
} builtin_case;

struct builtin_suite {
  tensor_file *files[FILES_ALL];
  size_t count;
  builtin_case *cases;
};

/* ---- opening ---- */

static attest_status open_files(builtin_suite *suite, const char *data, attest_error *error) {
  attest_status status = ATTEST_OK;
  int64_t layers = -1;
  for (int i = 0; i < FILES_ALL && !status; i++) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/stories260k/%s.npy", data, file_names[i]) >=
        (int)sizeof path)
      return attest_fail(error, ATTEST_ERR_INPUT, "the path of the data folder is too long");
    if ((status = tensor_file_open(&suite->files[i], path, 0, error))) break;
    const attest_tensor *t = tensor_file_tensor(suite->files[i], 0);
    if (t->ndim != 4 || (layers >= 0 && t->shape[0] != layers))
      return attest_fail(error, ATTEST_ERR_INPUT,
                         "%s: (layer, head, position, component) is wanted, with as many layers as "
                         "q.npy",
                         path);
    layers = t->shape[0];
  }
  return status;
}

/* One layer of a (layer, head, position, component) tensor. */
static attest_tensor layer_of(const tensor_file *file, int64_t layer) {
  const attest_tensor *t = tensor_file_tensor(file, 0);
  attest_tensor view = {.dtype = t->dtype, .byteswapped = t->byteswapped, .ndim = 3};
  view.data = (char *)t->data + layer * t->stride[0] * (int64_t)tensor_dtype_size(t->dtype);
  for (int i = 0; i < 3; i++) {
    view.shape[i] = t->shape[i + 1];
    view.stride[i] = t->stride[i + 1];
  }
  return view;
}

/* Layers of the model under other kernels than softmax, which takes all of them. */
typedef struct {
  const char *kernel, *name; /* "stories260k/layer0/NAME" */
  int64_t layer;
  enum { LAYER_PLAIN, LAYER_UNIT, LAYER_BARE } rows; /* UNIT: q and k are brought to unit norm */
  const char *params;
} layer_case;

static const layer_case layer_cases[] = {
    {"taylor", "direct", 0, LAYER_PLAIN, "causal=top-left degree=2"},
    {"taylor", "recurrent", 1, LAYER_PLAIN, "causal=top-left degree=2 form=recurrent"},
    {"taylor", "chunked", 2, LAYER_PLAIN, "causal=top-left degree=2 form=chunked eps=1e-12"},
    {"taylor", "unit-direct", 3, LAYER_UNIT, "causal=top-left degree=2 scale=1/2"},
    {"taylor", "unit-recurrent", 4, LAYER_UNIT,
     "causal=top-left degree=2 scale=1/2 form=recurrent"},
    {"taylor", "unit-chunked", 0, LAYER_UNIT,
     "causal=top-left degree=4 scale=1/2 form=chunked chunk=256"},
    {"taylor", "odd", 1, LAYER_PLAIN, "causal=top-left degree=3"},
    {"linear", "identity", 2, LAYER_PLAIN, "causal=top-left normalize=none"},
    {"linear", "elu1", 3, LAYER_PLAIN, "causal=top-left feature=elu1 eps=1e-6"},
    {"rope-softmax", "bare", 0, LAYER_BARE, "causal=top-left"},
    {"rope-softmax", "bare", 4, LAYER_BARE, "causal=top-left window=63,0"},
    {"rope-linear", "bare", 1, LAYER_BARE, "causal=top-left window=31,0 normalize=none"},
    {"sparsemax", "sparsemax", 0, LAYER_PLAIN, "causal=top-left sliding-window=80"},
    {"sparsemax", "sparsemax-sharp", 3, LAYER_PLAIN, "causal=top-left temperature=1/10"},
    {"entmax", "entmax-1.5", 1, LAYER_PLAIN, "causal=top-left sliding-window=80 alpha=3/2"},
    {"entmax", "entmax-1.1", 2, LAYER_PLAIN, "causal=top-left sliding-window=80 alpha=1.1"},
    {"entmax", "entmax-4", 4, LAYER_PLAIN, "causal=top-left alpha=4"},
    {"normrelu", "normrelu", 1, LAYER_UNIT,
     "causal=top-left sliding-window=80 scale=1 bandwidth=3/2"},
    {"relumax", "relumax", 2, LAYER_PLAIN,
     "causal=top-left sliding-window=80 bandwidth=1 margin=1"},
    {"topk-softmax", "topk-softmax", 0, LAYER_PLAIN, "causal=top-left sliding-window=80 topk=8"},
    {"topk-uniform", "topk-uniform", 3, LAYER_PLAIN, "causal=top-left sliding-window=80 topk=8"},
    {"gaussian", "gaussian", 4, LAYER_UNIT, "causal=top-left sliding-window=80 bandwidth=1/2"},
    {"epanechnikov", "epanechnikov", 0, LAYER_UNIT, "causal=top-left bandwidth=1"},
    {"biweight", "biweight", 1, LAYER_UNIT, "causal=top-left bandwidth=1"},
    {"triweight", "triweight", 2, LAYER_UNIT,
     "causal=top-left sliding-window=80 bandwidth=sqrt(2)"},
    {"uniform", "uniform", 3, LAYER_UNIT, "causal=top-left sliding-window=80 bandwidth=5/4"},
};
enum { LAYER_CASES = sizeof layer_cases / sizeof *layer_cases };

/* q and k of a case with unit rows, in c->storage. */
static attest_status normalise(attest_tensor views[], builtin_case *c, attest_error *error) {
  int64_t sizes[2] = {tensor_elements(&views[FILE_Q]), tensor_elements(&views[FILE_K])};
  float *at = c->storage = malloc((size_t)(sizes[0] + sizes[1]) * sizeof *at + 1);
  if (!at) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  for (int i = 0; i < 2; at += sizes[i], i++) {
    int64_t width = views[i].shape[views[i].ndim - 1], rows = width ? sizes[i] / width : 0;
    for (int64_t r = 0; r < rows; r++)
      tensor_load_float(at + r * width, &views[i], tensor_row_offset(&views[i], r), width,
                        views[i].stride[views[i].ndim - 1]);
    synthetic_unit_rows(at, rows, width);
    views[i] = attest_tensor_of(at, ATTEST_FLOAT32, views[i].ndim, views[i].shape);
  }
  return ATTEST_OK;
}

static const tensor_file *file_of(const builtin_suite *suite, const builtin_case *c, int i) {
  return suite->files[c->is_bare && i < FILE_V ? i + FILE_Q_BARE : i];
}

static attest_status open_layer(builtin_case *c, const builtin_suite *suite,
                                const layer_case *layer, attest_error *error) {
  attest_tensor views[FILE_COUNT];
  snprintf(c->name, sizeof c->name, "stories260k/layer%d%s%s", (int)layer->layer,
           *layer->name ? "/" : "", layer->name);
  c->problem = attest_problem_new(layer->kernel, error);
  if (!c->problem) return error->status;
  attest_status status = synthetic_params(c->problem, layer->params, error);
  c->is_bare = layer->rows == LAYER_BARE;
  for (int i = 0; i < FILE_COUNT; i++)
    views[i] = layer_of(file_of(suite, c, i), layer->layer);
  if (!status && layer->rows == LAYER_UNIT) status = normalise(views, c, error);
  for (int i = 0; i < FILE_COUNT && !status; i++)
    status = attest_problem_input(c->problem, file_names[i], &views[i], error);
  return status ? status : problem_resolve(c->problem, error);
}

static attest_status open_cases(builtin_suite *suite, attest_error *error) {
  size_t layers = (size_t)tensor_file_tensor(suite->files[FILE_Q], 0)->shape[0];
  attest_status status = ATTEST_OK;
  suite->cases = calloc(layers + LAYER_CASES + synthetic_count, sizeof *suite->cases);
  if (!suite->cases) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  while (suite->count < layers && !status) {
    const layer_case layer = {"softmax", "", (int64_t)suite->count, LAYER_PLAIN, "causal=top-left"};
    status = open_layer(&suite->cases[suite->count++], suite, &layer, error);
  }
  for (size_t i = 0; i < LAYER_CASES && !status; i++)
    if (layer_cases[i].layer < (int64_t)layers)
      status = open_layer(&suite->cases[suite->count++], suite, &layer_cases[i], error);
  for (size_t i = 0; i < synthetic_count && !status; i++) {
    builtin_case *c = &suite->cases[suite->count++];
    snprintf(c->name, sizeof c->name, "synthetic/%s", synthetic_name(i));
    c->bound[0] = synthetic_bound(i, ATTEST_FLOAT32);
    c->bound[1] = synthetic_bound(i, ATTEST_FLOAT64);
    status = synthetic_problem(&c->problem, &c->storage, i, error);
  }
  return status;
}

attest_status builtin_open(builtin_suite **suite, const char *data, attest_error *error) {
  *suite = calloc(1, sizeof **suite);
  if (!*suite) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  attest_status status = open_files(*suite, data, error);
  if (!status) status = open_cases(*suite, error);
  if (status) {
    builtin_close(*suite);
    *suite = NULL;
  }
  return status;
}

void builtin_close(builtin_suite *suite) {
  if (!suite) return;
  for (size_t i = 0; i < suite->count; i++) {
    attest_problem_free(suite->cases[i].problem);
    free(suite->cases[i].storage);
  }
  for (int i = 0; i < FILES_ALL; i++)
    tensor_file_close(suite->files[i]);
  free(suite->cases);
  free(suite);
}

size_t builtin_count(const builtin_suite *suite) {
  return suite->count;
}

const char *builtin_name(const builtin_suite *suite, size_t i) {
  return suite->cases[i].name;
}

int64_t builtin_pairs(const builtin_suite *suite) {
  int64_t pairs = 0;
  for (size_t i = 0; i < suite->count; i++)
    pairs += certify_pairs(suite->cases[i].problem);
  return pairs;
}

/* ---- running ---- */

static attest_status output_of(attest_tensor *t, void **data, const attest_problem *problem,
                               int output, attest_dtype dtype, attest_error *error) {
  int ndim;
  int64_t shape[ATTEST_MAX_DIMS];
  problem_output_shape(&ndim, shape, problem, output);
  *t = attest_tensor_of(NULL, dtype, ndim, shape);
  *data = t->data = calloc((size_t)tensor_elements(t) + 1, tensor_dtype_size(dtype));
  return t->data ? ATTEST_OK : attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
}

attest_status builtin_kernel_prepare(builtin_kernel *s, const problem_room *room,
                                     const attest_problem *problem, attest_dtype dtype,
                                     attest_error *error) {
  s->problem = *problem;
  if (room->machine) s->machine = room->machine(dtype);
  snprintf(s->name, sizeof s->name, "%s.%s", room->name, tensor_dtype_name(dtype));
  attest_tensor *outputs = s->problem.output;
  attest_status status = ATTEST_OK;
  for (int output = OUTPUT_OUT; output < OUTPUT_COUNT && !status; output++) {
    int has = output == OUTPUT_FINAL_STATE ? problem_ends_in_state(problem)
                                           : problem_form_returns(problem, output);
    attest_dtype type = output == OUTPUT_INDICES ? ATTEST_INT32 : dtype;
    if (has) status = output_of(&outputs[output], &s->data[output], problem, output, type, error);
  }
  return status;
}

attest_status builtin_kernel_compute(builtin_kernel *s, const problem_room *room,
                                     attest_error *error) {
  attest_tensor *outputs = s->problem.output;
  if (room->kernel_account)
    return room->kernel_account(&s->account, &outputs[OUTPUT_OUT], &outputs[OUTPUT_LSE],
                                &s->problem, error);
  return room->kernel(&outputs[OUTPUT_OUT], &outputs[OUTPUT_LSE], &s->problem, error);
}

void builtin_kernel_clear(builtin_kernel *s) {
  for (int output = 0; output < OUTPUT_COUNT; output++)
    free(s->data[output]);
  memset(s, 0, sizeof *s);
}

static attest_status add_inputs(certify_case *result, const builtin_suite *suite,
                                const builtin_case *c, attest_error *error) {
  attest_status status = ATTEST_OK;
  for (int i = 0; i < FILE_COUNT && !c->storage && !status; i++)
    status = certify_case_input(result, file_names[i], file_of(suite, c, i), NULL, error);
  for (int i = 0; i < INPUT_COUNT && c->storage && !status; i++)
    if (c->problem->input[i].data)
      status =
          certify_case_input(result, problem_input_names[i], NULL, &c->problem->input[i], error);
  if (!status && !(result->replay = strdup("attest certify --builtin")))
    status = attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  return status;
}

static attest_status run_subjects(certify_case *result, const builtin_case *c,
                                  builtin_kernel *built, const certify_options *options,
                                  attest_error *error) {
  static const attest_dtype dtypes[2] = {ATTEST_FLOAT32, ATTEST_FLOAT64};
  const problem_room *room = certify_room(c->problem->kernel->name);
  certify_bounds bounds[2] = {{0, NULL}, {0, NULL}};
  certify_subject subjects[2];
  certify_options mine = *options;
  mine.name = c->name;
  attest_status status = ATTEST_OK;
  for (int i = 0; i < 2 && !status; i++) {
    /* Kernels that jump have no machine model; sums through transforms and features are accurate
     * beside the largest terms of the row only. */
    int is_direct = c->problem->values.form < FORM_FFT;
    const char *texts[] = {is_direct ? "backward<=16" : NULL, room->machine ? "theory" : NULL,
                           c->bound[i]};
    for (int b = 0; b < 3 && !status; b++)
      if (texts[b]) status = certify_bounds_add(&bounds[i], texts[b], error);
    if (!status) status = builtin_kernel_prepare(&built[i], room, c->problem, dtypes[i], error);
    if (!status) status = builtin_kernel_compute(&built[i], room, error);
    subjects[i] = (certify_subject){built[i].name, &built[i].problem, &bounds[i], &built[i].machine,
                                    &built[i].account};
  }
  if (!status) status = certify_run(result, subjects, 2, &mine, error);
  for (int i = 0; i < 2; i++)
    certify_bounds_clear(&bounds[i]);
  return status;
}

attest_status builtin_run(certify_case *result, const builtin_suite *suite, size_t i,
                          const certify_options *options, attest_error *error) {
  const builtin_case *c = &suite->cases[i];
  builtin_kernel *built = calloc(2, sizeof *built);
  memset(result, 0, sizeof *result);
  if (!built) return attest_fail(error, ATTEST_ERR_MEMORY, "out of memory");
  attest_status status = run_subjects(result, c, built, options, error);
  if (!status) status = add_inputs(result, suite, c, error);
  for (int k = 0; k < 2; k++)
    builtin_kernel_clear(&built[k]);
  free(built);
  return status;
}
