/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The run of a claim from its YAML. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

typedef struct {
  const char *path;
  attest_error *error;
} loader;

static attest_status out_of_memory(loader *l) {
  return attest_fail(l->error, ATTEST_ERR_MEMORY, "out of memory");
}

static attest_status read_params(run_kernel *kernel, const config_node *node, loader *l) {
  attest_status status = config_expect(node, CONFIG_MAPPING, "params", l->path, l->error);
  if (status) return status;
  kernel->names = calloc(node->count + 1, sizeof *kernel->names);
  kernel->values = calloc(node->count + 1, sizeof *kernel->values);
  if (!kernel->names || !kernel->values) return out_of_memory(l);
  for (size_t i = 0; i < node->count; i++) {
    const config_node *item = &node->items[i];
    status = config_expect(item, CONFIG_SCALAR, item->key, l->path, l->error);
    if (status) return status;
    kernel->names[kernel->param_count] = strdup(item->key);
    kernel->values[kernel->param_count++] = strdup(item->text);
    if (!kernel->names[i] || !kernel->values[i]) return out_of_memory(l);
  }
  return ATTEST_OK;
}

static attest_status read_kernel(run_kernel *kernel, const config_node *mapping, loader *l) {
  const config_node *name = config_find(mapping, "kernel"),
                    *params = config_find(mapping, "params");
  if (!name) return config_fail(l->error, l->path, mapping, "kernel is missing");
  attest_status status = config_expect(name, CONFIG_SCALAR, "kernel", l->path, l->error);
  if (status) return status;
  if (!problem_kernel_find(name->text))
    return config_fail(l->error, l->path, name, "unknown kernel %.40s (attest kernels lists them)",
                       name->text);
  kernel->kernel = strdup(name->text);
  if (!kernel->kernel) return out_of_memory(l);
  return params ? read_params(kernel, params, l) : ATTEST_OK;
}

/* A whole number from 1 to `most`. */
static attest_status read_count(int64_t *n, const config_node *node, int64_t most, loader *l) {
  attest_status status = config_expect(node, CONFIG_SCALAR, "a size", l->path, l->error);
  if (status) return status;
  char *end;
  errno = 0;
  *n = strtoll(node->text, &end, 10);
  if (errno || *end || end == node->text || *n < 1 || *n > most)
    return config_fail(l->error, l->path, node, "%s must be a whole number from 1 to %lld",
                       node->key ? node->key : "a size", (long long)most);
  return ATTEST_OK;
}

static attest_status read_data(claim_run *run, const config_node *node, loader *l) {
  static const char *const keys[] = {"rows", "nq", "n", "d", "dv", "seed", "decode", NULL};
  struct {
    const char *key;
    int64_t *value, most;
  } sizes[] = {{"n", &run->n, 1 << 20},
               {"nq", &run->nq, 1 << 20},
               {"d", &run->d, 4096},
               {"dv", &run->dv, 4096}};
  int64_t seed = 1;
  attest_status status = config_expect(node, CONFIG_MAPPING, "data", l->path, l->error);
  if (!status) status = config_known_keys(node, keys, l->path, l->error);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !status; i++) {
    const config_node *item = config_find(node, sizes[i].key);
    if (item) status = read_count(sizes[i].value, item, sizes[i].most, l);
  }
  const config_node *decode = config_find(node, "decode");
  if (!status && decode) {
    status = config_expect(decode, CONFIG_SCALAR, "decode", l->path, l->error);
    run->decode = !status && !strcmp(decode->text, "yes");
    if (!status && !run->decode && strcmp(decode->text, "no"))
      status = config_fail(l->error, l->path, decode, "decode must be yes or no");
  }
  const config_node *rows = config_find(node, "rows"), *seeds = config_find(node, "seed");
  if (!status && seeds) status = read_count(&seed, seeds, INT64_MAX, l);
  run->seed = (uint64_t)seed;
  if (!status && rows) {
    status = config_expect(rows, CONFIG_SCALAR, "rows", l->path, l->error);
    run->generator = status ? 0 : generate_find(rows->text);
    if (!status && run->generator < 0)
      status = config_fail(l->error, l->path, rows,
                           "rows must be a generator of plans: gaussian, sphere, real, ties, ..");
  }
  return status;
}

static attest_status read_figure(claim_run *run, const config_node *node, loader *l) {
  attest_status status = config_expect(node, CONFIG_SCALAR, "figure", l->path, l->error);
  if (status) return status;
  run->figure = FIGURE_MEASURE;
  if (!strcmp(node->text, "seconds")) {
    run->figure = FIGURE_SECONDS;
    return ATTEST_OK;
  }
  if (!strcmp(node->text, "frobenius")) {
    run->figure = FIGURE_FROBENIUS;
    run->measure = MEASURE_NMSE;
    return ATTEST_OK;
  }
  for (int m = 0; m < MEASURE_COUNT; m++)
    if (m != MEASURE_ALLCLOSE && m != MEASURE_THEORY && !strcmp(node->text, measure_names[m])) {
      run->measure = (measure_kind)m;
      return ATTEST_OK;
    }
  return config_fail(l->error, l->path, node,
                     "figure must be abs, rel, ulp, row, nmse, backward, frobenius or seconds");
}

static attest_status read_sizes(claim_run *run, const config_node *node, loader *l) {
  attest_status status = config_expect(node, CONFIG_SEQUENCE, "sizes", l->path, l->error);
  if (!status && (node->count < 2 || node->count > RUN_SIZES_MAX))
    status = config_fail(l->error, l->path, node, "sizes must be 2 to %d numbers", RUN_SIZES_MAX);
  for (size_t i = 0; !status && i < node->count; i++)
    status = read_count(&run->sizes[run->size_count++], &node->items[i], 1 << 20, l);
  return status;
}

static int is_decimal(const char *text) {
  char *end;
  double x = strtod(text, &end);
  return !*end && x >= 0 && x < 1e300 && strspn(text, "0123456789.eE-+") == strlen(text);
}

static attest_status read_limit(claim_run *run, const config_node *node, loader *l) {
  const config_node *bound = config_find(node, "bound"), *printed = config_find(node, "printed");
  const config_node *limit = bound ? bound : printed;
  if (!limit || (bound && printed))
    return config_fail(l->error, l->path, node, "a run needs either bound or printed");
  attest_status status = config_expect(limit, CONFIG_SCALAR, limit->key, l->path, l->error);
  if (!status && !is_decimal(limit->text))
    status = config_fail(l->error, l->path, limit, "%s must be a decimal that is not negative",
                         limit->key);
  if (!status && bound && run->figure == FIGURE_SECONDS)
    status = config_fail(l->error, l->path, limit,
                         "times depend on the machine: give printed, not bound");
  if (status) return status;
  *(bound ? &run->bound : &run->printed) = strdup(limit->text);
  return run->bound || run->printed ? ATTEST_OK : out_of_memory(l);
}

static attest_status read_dtype(claim_run *run, const config_node *node, loader *l) {
  attest_status status = config_expect(node, CONFIG_SCALAR, "dtype", l->path, l->error);
  if (!status && strcmp(node->text, "float32") && strcmp(node->text, "float64"))
    status = config_fail(l->error, l->path, node, "dtype must be float32 or float64");
  if (!status && !strcmp(node->text, "float64")) run->dtype = ATTEST_FLOAT64;
  return status;
}

static attest_status read_against(claim_run *run, const config_node *node, loader *l) {
  static const char *const keys[] = {"kernel", "params", NULL};
  attest_status status = config_expect(node, CONFIG_MAPPING, "against", l->path, l->error);
  if (!status) status = config_known_keys(node, keys, l->path, l->error);
  return status ? status : read_kernel(&run->against, node, l);
}

attest_status claim_run_read(claim_run *run, const config_node *node, const char *path,
                             attest_error *error) {
  static const char *const keys[] = {"kernel", "params",  "data",  "dtype",   "figure",
                                     "sizes",  "against", "bound", "printed", NULL};
  loader l = {path, error};
  memset(run, 0, sizeof *run);
  run->n = 64;
  run->d = run->dv = 16;
  run->generator = generate_find("gaussian");
  run->dtype = ATTEST_FLOAT32;
  attest_status status = config_expect(node, CONFIG_MAPPING, "run", path, error);
  if (!status) status = config_known_keys(node, keys, path, error);
  if (!status) status = read_kernel(&run->subject, node, &l);
  const config_node *data = config_find(node, "data"), *dtype = config_find(node, "dtype");
  const config_node *figure = config_find(node, "figure"), *sizes = config_find(node, "sizes");
  const config_node *against = config_find(node, "against");
  if (!status && data) status = read_data(run, data, &l);
  if (!run->nq) run->nq = run->n;
  if (!status && dtype) status = read_dtype(run, dtype, &l);
  if (!status && !figure) status = config_fail(error, path, node, "figure is missing");
  if (!status) status = read_figure(run, figure, &l);
  if (!status && sizes) status = read_sizes(run, sizes, &l);
  if (!status && sizes && run->figure != FIGURE_SECONDS)
    status = config_fail(error, path, sizes, "sizes belong to figure: seconds");
  if (!status && run->decode && run->figure != FIGURE_SECONDS)
    status = config_fail(error, path, data, "decode belongs to figure: seconds");
  if (!status && against) status = read_against(run, against, &l);
  return status ? status : read_limit(run, node, &l);
}

static void clear_kernel(run_kernel *kernel) {
  for (size_t i = 0; i < kernel->param_count; i++) {
    free(kernel->names[i]);
    free(kernel->values[i]);
  }
  free(kernel->names);
  free(kernel->values);
  free(kernel->kernel);
}

void claim_run_clear(claim_run *run) {
  clear_kernel(&run->subject);
  clear_kernel(&run->against);
  free(run->bound);
  free(run->printed);
  memset(run, 0, sizeof *run);
}
