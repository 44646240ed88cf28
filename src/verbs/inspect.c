/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* attest inspect: what a tensor file holds, as stable key=value lines. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "verbs.h"

/* ---- one pass over the elements
 * ------------------------------------------------------------------ */

typedef struct {
  int64_t finite, nan, inf, zeros, subnormals;
  double min, max; /* of the finite elements */
  long double sum; /* of their absolute values: wider than any of them, so it cannot overflow */
} statistics;

static void count_block(statistics *s, const double *x, int64_t n, double smallest_normal) {
  for (int64_t i = 0; i < n; i++) {
    double magnitude = fabs(x[i]);
    if (!(magnitude <= 0x1.fffffffffffffp1023)) {
      if (isnan(x[i]))
        s->nan++;
      else
        s->inf++;
      continue;
    }
    s->finite++;
    s->zeros += magnitude == 0;
    s->subnormals += magnitude != 0 && magnitude < smallest_normal;
    if (x[i] < s->min) s->min = x[i];
    if (x[i] > s->max) s->max = x[i];
    s->sum += magnitude;
  }
}

/* Reads in the order of storage: a Fortran-ordered file larger than memory passes by once, too. */
static statistics measure(const attest_tensor *t) {
  enum { BLOCK = 1024 };
  static const int reversed[4][ATTEST_MAX_DIMS] = {{0}, {1, 0}, {2, 1, 0}, {3, 2, 1, 0}};
  double block[BLOCK];
  statistics s = {.min = INFINITY, .max = -INFINITY};
  const tensor_format *format = tensor_dtype_format(t->dtype);
  double smallest_normal = format ? ldexp(1, format->emin) : 0;
  attest_tensor flat = tensor_collapse(t);
  if (flat.stride[flat.ndim - 1] != 1) {
    flat = tensor_permute(&flat, reversed[flat.ndim - 1]);
    flat = tensor_collapse(&flat);
  }
  int64_t length = flat.shape[flat.ndim - 1], stride = flat.stride[flat.ndim - 1];
  int64_t rows = length ? tensor_elements(&flat) / length : 0;
  for (int64_t row = 0; row < rows; row++) {
    int64_t start = tensor_row_offset(&flat, row);
    for (int64_t i = 0; i < length; i += BLOCK) {
      int64_t n = length - i < BLOCK ? length - i : BLOCK;
      tensor_load(block, &flat, start + i * stride, n, stride);
      count_block(&s, block, n, smallest_normal);
    }
  }
  return s;
}

/* ---- printing
 * -------------------------------------------------------------------------------------- */

/* Values hold no spaces or control characters: those, and '\' itself, become \xHH. */
static void print_escaped(const char *key, const char *text) {
  printf("%s=", key);
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c <= 0x20 || c == 0x7f || c == '\\')
      printf("\\x%02x", c);
    else
      putchar(c);
  }
}

static int is_c_order(const attest_tensor *t) {
  attest_tensor c = attest_tensor_of(t->data, t->dtype, t->ndim, t->shape);
  for (int i = 0; i < t->ndim; i++)
    if (t->shape[i] > 1 && t->stride[i] != c.stride[i]) return 0;
  return 1;
}

/* "(8,512,8)": Python's spelling without spaces. */
static void print_shape(const attest_tensor *t) {
  char text[96];
  printf(" shape=");
  for (const char *c = tensor_shape_text(text, t); *c; c++)
    if (*c != ' ') putchar(*c);
}

static const char *byte_order(const attest_tensor *t) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  if (tensor_dtype_size(t->dtype) == 1) return "none";
  return (first == 1) != t->byteswapped ? "little" : "big";
}

/* Enough digits to tell neighbours of the dtype apart. */
static void print_number(const char *key, double value, attest_dtype dtype) {
  static const int digits[] = {
      [ATTEST_FLOAT16] = 5, [ATTEST_BFLOAT16] = 4, [ATTEST_FLOAT32] = 9, [ATTEST_FLOAT64] = 17,
      [ATTEST_BOOL] = 1,    [ATTEST_INT32] = 10,   [ATTEST_INT64] = 19};
  printf(" %s=%.*g", key, digits[dtype], value);
}

static void print_tensor(const tensor_file *file, size_t i) {
  const attest_tensor *t = tensor_file_tensor(file, i);
  statistics s = measure(t);
  print_escaped("tensor", *tensor_file_name(file, i) ? tensor_file_name(file, i) : "-");
  printf(" dtype=%s", tensor_dtype_name(t->dtype));
  print_shape(t);
  printf(" byte_order=%s order=%s offset=%" PRIu64 " elements=%" PRId64, byte_order(t),
         is_c_order(t) ? "C" : "Fortran", tensor_file_offset(file, i), tensor_elements(t));
  if (s.finite) {
    print_number("min", s.min, t->dtype);
    print_number("max", s.max, t->dtype);
    printf(" mean_abs=%.9Lg", s.sum / s.finite);
  } else
    printf(" min=none max=none mean_abs=none");
  printf(" nan=%" PRId64 " inf=%" PRId64 " zeros=%" PRId64 " subnormals=%" PRId64 "\n", s.nan,
         s.inf, s.zeros, s.subnormals);
}

static void print_file(const tensor_file *file, const char *sha256) {
  print_escaped("file", tensor_file_path(file));
  printf(" kind=");
  for (const char *c = tensor_file_kind(file); *c; c++)
    putchar(*c == ' ' ? '-' : *c);
  printf(" bytes=%" PRIu64 " tensors=%zu sha256=%s\n", tensor_file_size(file),
         tensor_file_count(file), sha256);
}

/* ---- the verb
 * --------------------------------------------------------------------------------------- */

static attest_status print_all(const tensor_file *file, const char *name, attest_error *error) {
  size_t chosen = 0;
  char sha256[65];
  attest_status status = ATTEST_OK;
  if (name) status = tensor_file_choose(&chosen, file, name, NULL, error);
  if (!status) status = tensor_file_sha256(sha256, file, error);
  if (status) return status;
  print_file(file, sha256);
  if (name)
    print_tensor(file, chosen);
  else
    for (size_t i = 0; i < tensor_file_count(file); i++)
      print_tensor(file, i);
  if (fflush(stdout) != 0 || ferror(stdout))
    return attest_fail(error, ATTEST_ERR_IO, "standard output cannot be written; is it full?");
  return ATTEST_OK;
}

static attest_status inspect(const char *spec, unsigned open_flags, attest_error *error) {
  tensor_file *file;
  const char *name;
  attest_status status = tensor_file_open_spec(&file, &name, spec, open_flags, error);
  if (!status) status = print_all(file, name, error);
  tensor_file_close(file);
  return status;
}

static const verb_flag flags[] = {
    {"bf16", NULL, 0, "read two-byte unsigned or void npy items as bfloat16"},
};

static const verb_definition definition = {
    .usage = "attest inspect F[:NAME] [flags]",
    .summary =
        "Says what a .npy, .npz or .safetensors file holds: one line for the file (kind, size, "
        "SHA-256)\n"
        "and one a tensor: dtype, shape, byte order, order of storage, offset in the file, then\n"
        "min, max and mean absolute value of the finite elements and how many elements are NaN,\n"
        "infinite, zero and subnormal. F:NAME picks one tensor of a safetensors file.",
    .example = "  attest inspect data/stories260k/q.npy\n"
               "  attest inspect dump.safetensors:q",
    .flags = flags,
    .flag_count = sizeof flags / sizeof *flags,
    .operands_min = 1,
    .operands_max = 1,
};

int verb_inspect(int argc, char **argv) {
  verb_options options;
  attest_error error;
  int status = verb_options_parse(&options, &definition, argc, argv);
  if (status >= 0) return status;
  unsigned open_flags = verb_option(&options, "bf16") ? TENSOR_BF16 : 0;
  status = inspect(options.operands[0], open_flags, &error) ? verb_trouble(&error) : EXIT_HOLDS;
  verb_options_clear(&options);
  return status;
}
