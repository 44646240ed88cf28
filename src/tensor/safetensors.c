/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The safetensors format: eight bytes with the length of the header, a JSON object {name: {dtype,
 * shape, data_offsets: [begin, end]}} and optionally __metadata__, then the data, little endian,
 * without gaps. The data may start at any byte. */
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "file.h"

enum { PREFIX = 8, HEADER_MAX = 100000000 /* as in the reference implementation */ };

static const struct {
  const char *code;
  attest_dtype dtype;
} codes[] = {
    {"F16", ATTEST_FLOAT16}, {"BF16", ATTEST_BFLOAT16}, {"F32", ATTEST_FLOAT32},
    {"F64", ATTEST_FLOAT64}, {"I32", ATTEST_INT32},     {"I64", ATTEST_INT64},
    {"BOOL", ATTEST_BOOL},   {"U8", ATTEST_BOOL},
};
enum { CODES = sizeof codes / sizeof *codes };

int tensor_safetensors_probe(const unsigned char *map, size_t size) {
  return size > PREFIX && map[PREFIX] == '{' && tensor_little_endian(map, PREFIX) <= size - PREFIX;
}

/* ---- one entry of the header
 * ----------------------------------------------------------------------- */

typedef struct {
  tensor_file *file;
  attest_error *error;
  const char *name; /* of the tensor being read */
  size_t data;      /* offset of the data in the file */
} reader;

static attest_status fail_entry(const reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static attest_status fail_entry(const reader *r, const char *format, ...) {
  char message[320];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return tensor_fail(r->error, ATTEST_ERR_INPUT, r->file->path, "tensor '%.48s': %s", r->name,
                     message);
}

static attest_status read_dtype(const reader *r, const json_t *entry, attest_tensor *t) {
  const char *code = json_string_value(json_object_get(entry, "dtype"));
  if (!code) return fail_entry(r, "the field dtype is missing or no string; save the file again");
  for (int i = 0; i < CODES; i++)
    if (strcmp(code, codes[i].code) == 0) {
      t->dtype = codes[i].dtype;
      t->byteswapped = tensor_dtype_size(t->dtype) > 1 && tensor_big_endian_host();
      return ATTEST_OK;
    }
  return fail_entry(r,
                    "found dtype '%.20s', expected one of F16 BF16 F32 F64 I32 I64 BOOL U8; "
                    "convert it (x.float() in PyTorch) before saving",
                    code);
}

static attest_status read_shape(const reader *r, const json_t *entry, attest_tensor *t) {
  const json_t *shape = json_object_get(entry, "shape");
  if (!json_is_array(shape))
    return fail_entry(r, "the field shape is missing or no array; save the file again");
  size_t ndim = json_array_size(shape);
  if (ndim > ATTEST_MAX_DIMS)
    return fail_entry(r, "shape has %zu axes, expected at most %d; reshape it before saving", ndim,
                      ATTEST_MAX_DIMS);
  t->ndim = (int)ndim;
  for (size_t i = 0; i < ndim; i++) {
    const json_t *length = json_array_get(shape, i);
    if (!json_is_integer(length) || json_integer_value(length) < 0)
      return fail_entry(r, "shape[%zu] is no non-negative integer; save the file again", i);
    t->shape[i] = json_integer_value(length);
  }
  return ATTEST_OK;
}

/* Begin and end, ordered and within the data. */
static attest_status read_offsets(const reader *r, const json_t *entry, uint64_t range[2]) {
  const json_t *offsets = json_object_get(entry, "data_offsets");
  uint64_t available = r->file->size - r->data;
  if (!json_is_array(offsets) || json_array_size(offsets) != 2)
    return fail_entry(r, "the field data_offsets is missing or no pair; save the file again");
  for (size_t i = 0; i < 2; i++) {
    const json_t *offset = json_array_get(offsets, i);
    if (!json_is_integer(offset) || json_integer_value(offset) < 0)
      return fail_entry(r, "data_offsets[%zu] is no non-negative integer; save the file again", i);
    range[i] = (uint64_t)json_integer_value(offset);
  }
  if (range[0] > range[1])
    return fail_entry(r,
                      "data_offsets [%" PRIu64 ", %" PRIu64 "] run backwards; save the file again",
                      range[0], range[1]);
  if (range[1] > available)
    return fail_entry(r,
                      "data_offsets end at byte %" PRIu64 " of the data, which starts at offset "
                      "%zu and has %" PRIu64 " bytes (truncated); copy or save the file again",
                      range[1], r->data, available);
  return ATTEST_OK;
}

static attest_status read_tensor(const reader *r, const json_t *entry, attest_tensor *t) {
  uint64_t range[2], bytes;
  char shape[96];
  if (!json_is_object(entry)) return fail_entry(r, "its entry is no object; save the file again");
  attest_status status = read_dtype(r, entry, t);
  if (!status) status = read_shape(r, entry, t);
  if (!status) status = read_offsets(r, entry, range);
  if (status) return status;
  tensor_shape_text(shape, t);
  if (tensor_byte_count(&bytes, t))
    return fail_entry(r, "the product of shape %s overflows; save a smaller tensor", shape);
  if (bytes != range[1] - range[0])
    return fail_entry(r,
                      "data_offsets [%" PRIu64 ", %" PRIu64 "] hold %" PRIu64
                      " bytes, expected %" PRIu64 " for %s of shape %s; save the file again",
                      range[0], range[1], range[1] - range[0], bytes, tensor_dtype_name(t->dtype),
                      shape);
  tensor_set_strides(t, 0);
  t->data = (void *)(r->file->map + r->data + range[0]);
  return ATTEST_OK;
}

/* ---- the header
 * -------------------------------------------------------------------------------------- */

static attest_status read_entries(reader *r, json_t *root) {
  tensor_file *file = r->file;
  const char *name;
  json_t *entry;
  file->entries = calloc(json_object_size(root) + 1, sizeof *file->entries);
  if (!file->entries) return tensor_fail(r->error, ATTEST_ERR_MEMORY, file->path, "out of memory");
  json_object_foreach(root, name, entry) {
    if (strcmp(name, "__metadata__") == 0) continue;
    tensor_entry *next = &file->entries[file->count];
    r->name = name;
    attest_status status = read_tensor(r, entry, &next->tensor);
    if (status) return status;
    next->name = strdup(name);
    if (!next->name) return tensor_fail(r->error, ATTEST_ERR_MEMORY, file->path, "out of memory");
    file->count++;
  }
  return ATTEST_OK;
}

/* Ascending address; an empty tensor before one that starts at the same place. */
static int compare_place(const void *a, const void *b) {
  const tensor_entry *x = *(tensor_entry *const *)a, *y = *(tensor_entry *const *)b;
  const char *p = x->tensor.data, *q = y->tensor.data;
  if (p != q) return p < q ? -1 : 1;
  int64_t m = tensor_elements(&x->tensor), n = tensor_elements(&y->tensor);
  return (m > 0) - (n > 0);
}

/* The tensors in order of place must follow each other without overlap or gap to the last byte. */
static attest_status check_coverage(reader *r, tensor_entry *const *order) {
  const tensor_file *file = r->file;
  const unsigned char *expected = file->map + r->data;
  const char *before = "the header";
  for (size_t i = 0; i < file->count; i++) {
    uint64_t bytes;
    const unsigned char *start = order[i]->tensor.data;
    r->name = order[i]->name;
    if (start != expected)
      return fail_entry(r,
                        "data_offsets begin at byte %td of the data, expected %td, the end of "
                        "'%.48s' (%s); save the file again",
                        start - (file->map + r->data), expected - (file->map + r->data), before,
                        start < expected ? "overlap" : "gap");
    tensor_byte_count(&bytes, &order[i]->tensor);
    expected = start + bytes;
    before = r->name;
  }
  if (expected != file->map + file->size)
    return tensor_fail(r->error, ATTEST_ERR_INPUT, file->path,
                       "expected %td bytes of data at offset %zu, found %zu (trailing bytes); copy "
                       "or save the file again",
                       expected - (file->map + r->data), r->data, file->size - r->data);
  return ATTEST_OK;
}

static attest_status check_places(reader *r) {
  const tensor_file *file = r->file;
  tensor_entry **order = calloc(file->count + 1, sizeof *order);
  if (!order) return tensor_fail(r->error, ATTEST_ERR_MEMORY, file->path, "out of memory");
  for (size_t i = 0; i < file->count; i++)
    order[i] = &file->entries[i];
  qsort(order, file->count, sizeof *order, compare_place);
  attest_status status = check_coverage(r, order);
  free(order);
  return status;
}

static attest_status find_header(const tensor_file *file, size_t *length, attest_error *error) {
  if (file->size < PREFIX)
    return tensor_fail(error, ATTEST_ERR_INPUT, file->path,
                       "truncated: expected 8 bytes of header length at offset 0, found %zu; copy "
                       "or save the file again",
                       file->size);
  uint64_t claimed = tensor_little_endian(file->map, PREFIX);
  if (claimed > file->size - PREFIX)
    return tensor_fail(error, ATTEST_ERR_INPUT, file->path,
                       "the header length at offset 0 is %" PRIu64 " bytes, but %zu follow "
                       "(truncated, or not safetensors); copy or save the file again",
                       claimed, file->size - PREFIX);
  if (claimed > HEADER_MAX)
    return tensor_fail(error, ATTEST_ERR_INPUT, file->path,
                       "the header length at offset 0 is %" PRIu64 " bytes, expected at most %d; "
                       "save fewer tensors a file",
                       claimed, HEADER_MAX);
  *length = (size_t)claimed;
  return ATTEST_OK;
}

attest_status tensor_safetensors_parse(tensor_file *file, attest_error *error) {
  size_t length = 0;
  attest_status status = find_header(file, &length, error);
  if (status) return status;
  json_error_t problem;
  json_t *root =
      json_loadb((const char *)file->map + PREFIX, length, JSON_REJECT_DUPLICATES, &problem);
  if (!root)
    return tensor_fail(error, ATTEST_ERR_INPUT, file->path,
                       "the safetensors header is no JSON object with unique names: %.120s at "
                       "offset %d; save the file again",
                       problem.text, PREFIX + problem.position);
  reader r = {.file = file, .error = error, .data = PREFIX + length};
  if (json_is_object(root))
    status = read_entries(&r, root);
  else
    status = tensor_fail(error, ATTEST_ERR_INPUT, file->path,
                         "the safetensors header at offset %d is no JSON object; save the file "
                         "again",
                         PREFIX);
  json_decref(root);
  if (!status) status = check_places(&r);
  snprintf(file->kind, sizeof file->kind, "safetensors");
  return status;
}

/* ---- writing
 * --------------------------------------------------------------------------------------- */

static const char *dtype_code(attest_dtype dtype) {
  int i = 0;
  while (codes[i].dtype != dtype)
    i++;
  return codes[i].code;
}

/* Adds one entry; *end is the end of the data so far. 0, or -1 (out of memory, or a name that is no
 * UTF-8). */
static int add_entry(json_t *root, const char *name, const attest_tensor *t, uint64_t *end) {
  json_t *shape = json_array();
  uint64_t begin = *end;
  int failed = !shape;
  *end += (uint64_t)tensor_elements(t) * tensor_dtype_size(t->dtype);
  for (int i = 0; i < t->ndim; i++)
    failed |= json_array_append_new(shape, json_integer(t->shape[i]));
  json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype_code(t->dtype), "shape", shape,
                            "data_offsets", (json_int_t)begin, (json_int_t)*end);
  return json_object_set_new(root, name, entry) || failed;
}

static attest_status fill_header(json_t *root, const char *path, size_t count,
                                 const char *const names[], const attest_tensor tensors[],
                                 attest_error *error) {
  uint64_t end = 0;
  for (size_t i = 0; i < count; i++) {
    int taken = strcmp(names[i], "__metadata__") == 0 || json_object_get(root, names[i]);
    if (taken || add_entry(root, names[i], &tensors[i], &end))
      return tensor_fail(error, ATTEST_ERR_INPUT, path,
                         "a tensor cannot be named '%.48s' (%s); choose another name", names[i],
                         taken ? "taken" : "not UTF-8");
  }
  return ATTEST_OK;
}

/* The caller frees *text. */
static attest_status header_text(char **text, const char *path, size_t count,
                                 const char *const names[], const attest_tensor tensors[],
                                 attest_error *error) {
  json_t *root = json_object();
  *text = NULL;
  if (!root) return tensor_fail(error, ATTEST_ERR_MEMORY, path, "out of memory");
  attest_status status = fill_header(root, path, count, names, tensors, error);
  if (!status) {
    *text = json_dumps(root, JSON_COMPACT);
    if (!*text) status = tensor_fail(error, ATTEST_ERR_MEMORY, path, "out of memory");
  }
  json_decref(root);
  return status;
}

/* Padded with spaces, so that the data starts at a multiple of 8. */
static void write_header(FILE *stream, const char *text) {
  size_t length = strlen(text), padded = (length + 7) / 8 * 8;
  unsigned char prefix[PREFIX];
  for (int i = 0; i < PREFIX; i++)
    prefix[i] = (unsigned char)((uint64_t)padded >> 8 * i);
  fwrite(prefix, 1, sizeof prefix, stream);
  fprintf(stream, "%s%*s", text, (int)(padded - length), "");
}

attest_status tensor_write_safetensors(const char *path, size_t count, const char *const names[],
                                       const attest_tensor tensors[], attest_error *error) {
  tensor_writer *writer;
  char *text;
  attest_status status = header_text(&text, path, count, names, tensors, error);
  if (!status) status = tensor_writer_open(&writer, path, error);
  if (!status) {
    write_header(tensor_writer_stream(writer), text);
    for (size_t i = 0; i < count; i++)
      tensor_write_elements(tensor_writer_stream(writer), &tensors[i]);
    status = tensor_writer_commit(writer, error);
  }
  free(text);
  return status;
}
