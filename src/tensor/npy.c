/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* NumPy's .npy format, versions 1 to 3: magic, version, length of the header (2 bytes in version 1,
 * 4 after), a Python dict literal with the keys descr, fortran_order and shape, then the elements.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "file.h"

enum { PREFIX = 8, DESCR_SIZE = 32 };

/* ---- a strict reader of the dict literal
 * --------------------------------------------------------- */

typedef struct {
  const tensor_file *file;
  attest_error *error;
  size_t at, end; /* offsets in the file: next byte, end of the header */
} cursor;

typedef struct {
  char descr[DESCR_SIZE];
  int fortran_order;
  int ndim;
  int64_t shape[ATTEST_MAX_DIMS];
} npy_header;

static attest_status fail_header(const cursor *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static attest_status fail_header(const cursor *c, const char *format, ...) {
  char message[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return tensor_fail(c->error, ATTEST_ERR_INPUT, c->file->path,
                     "npy header, offset %zu: %s; write the file again with numpy.save", c->at,
                     message);
}

/* The next byte, or -1 at the end of the header. */
static int peek(const cursor *c) {
  return c->at < c->end ? c->file->map[c->at] : -1;
}

static attest_status fail_expected(const cursor *c, const char *what) {
  int byte = peek(c);
  if (byte < 0) return fail_header(c, "expected %s, found the end of the header", what);
  if (byte < 0x20 || byte > 0x7e)
    return fail_header(c, "expected %s, found the byte 0x%02x", what, (unsigned)byte);
  return fail_header(c, "expected %s, found '%c'", what, byte);
}

static void skip_space(cursor *c) {
  for (int b = peek(c); b == ' ' || b == '\n' || b == '\t' || b == '\r'; b = peek(c))
    c->at++;
}

/* 1 and past it when the next byte is `byte`. */
static int accept(cursor *c, int byte) {
  skip_space(c);
  if (peek(c) != byte) return 0;
  c->at++;
  return 1;
}

/* A string without escapes; its text is cut to fit (every valid one is short). */
static attest_status read_string(cursor *c, char text[DESCR_SIZE], const char *what) {
  skip_space(c);
  int quote = peek(c), byte;
  size_t length = 0;
  if (quote != '\'' && quote != '"') return fail_expected(c, what);
  for (c->at++; (byte = peek(c)) != quote; c->at++) {
    if (byte < 0x20 || byte > 0x7e || byte == '\\')
      return fail_expected(c, "the closing quote of a plain string");
    if (length < DESCR_SIZE - 1) text[length++] = (char)byte;
  }
  text[length] = '\0';
  c->at++;
  return ATTEST_OK;
}

static int accept_word(cursor *c, const char *word) {
  size_t length = strlen(word);
  skip_space(c);
  if (c->end - c->at < length || memcmp(c->file->map + c->at, word, length) != 0) return 0;
  c->at += length;
  return 1;
}

static attest_status read_boolean(cursor *c, int *value) {
  if (accept_word(c, "True"))
    *value = 1;
  else if (accept_word(c, "False"))
    *value = 0;
  else
    return fail_expected(c, "True or False for fortran_order");
  return ATTEST_OK;
}

static attest_status read_length(cursor *c, int64_t *length) {
  skip_space(c);
  int byte = peek(c);
  if (byte < '0' || byte > '9') return fail_expected(c, "a length (digits) in shape");
  *length = 0;
  for (; byte >= '0' && byte <= '9'; byte = peek(c)) {
    if (__builtin_mul_overflow(*length, 10, length) ||
        __builtin_add_overflow(*length, byte - '0', length))
      return fail_header(c, "a length in shape is beyond 2^63");
    c->at++;
  }
  accept(c, 'L'); /* as Python 2 wrote it */
  return ATTEST_OK;
}

/* (), (n,), (n, m): a tuple of one needs its comma. */
static attest_status read_shape(cursor *c, npy_header *header) {
  if (!accept(c, '(')) return fail_expected(c, "'(' for shape");
  int comma = 1;
  header->ndim = 0;
  while (!accept(c, ')')) {
    if (!comma) return fail_expected(c, "',' or ')' in shape");
    if (header->ndim == ATTEST_MAX_DIMS)
      return tensor_fail(c->error, ATTEST_ERR_INPUT, c->file->path,
                         "npy header, offset %zu: shape has more than %d axes; reshape the array "
                         "to at most %d",
                         c->at, ATTEST_MAX_DIMS, ATTEST_MAX_DIMS);
    attest_status status = read_length(c, &header->shape[header->ndim]);
    if (status) return status;
    header->ndim++;
    comma = accept(c, ',');
  }
  if (header->ndim == 1 && !comma) return fail_header(c, "shape is a number, expected a tuple");
  return ATTEST_OK;
}

static attest_status read_descr(cursor *c, npy_header *header) {
  skip_space(c);
  if (peek(c) == '[' || peek(c) == '(')
    return tensor_fail(c->error, ATTEST_ERR_INPUT, c->file->path,
                       "npy header, offset %zu: found a structured dtype, expected plain numbers; "
                       "save one field a file, numpy.save(F, x['field'])",
                       c->at);
  return read_string(c, header->descr, "a dtype string for descr");
}

static attest_status read_value(cursor *c, npy_header *header, int key) {
  if (!accept(c, ':')) return fail_expected(c, "':' after a key");
  if (key == 0) return read_descr(c, header);
  if (key == 1) return read_boolean(c, &header->fortran_order);
  return read_shape(c, header);
}

static attest_status read_item(cursor *c, npy_header *header, int seen[3]) {
  static const char *const keys[3] = {"descr", "fortran_order", "shape"};
  char name[DESCR_SIZE];
  attest_status status = read_string(c, name, "a key in quotes or '}'");
  if (status) return status;
  for (int key = 0; key < 3; key++)
    if (strcmp(name, keys[key]) == 0) {
      if (seen[key]++) return fail_header(c, "the key '%s' appears twice", name);
      return read_value(c, header, key);
    }
  return fail_header(c, "unknown key '%s', expected descr, fortran_order and shape", name);
}

static attest_status read_dict(cursor *c, npy_header *header) {
  int seen[3] = {0, 0, 0}, comma = 1;
  if (!accept(c, '{')) return fail_expected(c, "'{'");
  while (!accept(c, '}')) {
    if (!comma) return fail_expected(c, "',' or '}'");
    attest_status status = read_item(c, header, seen);
    if (status) return status;
    comma = accept(c, ',');
  }
  if (!seen[0] || !seen[1] || !seen[2])
    return fail_header(c, "the key '%s' is missing",
                       !seen[0]   ? "descr"
                       : !seen[1] ? "fortran_order"
                                  : "shape");
  skip_space(c);
  if (c->at != c->end) return fail_expected(c, "nothing but spaces after '}'");
  return ATTEST_OK;
}

/* ---- dtype
 * --------------------------------------------------------------------------------------- */

static const struct {
  const char *code;
  attest_dtype dtype;
} codes[] = {
    {"f2", ATTEST_FLOAT16}, {"f4", ATTEST_FLOAT32}, {"f8", ATTEST_FLOAT64}, {"i4", ATTEST_INT32},
    {"i8", ATTEST_INT64},   {"b1", ATTEST_BOOL},    {"u1", ATTEST_BOOL},
};

static attest_status fail_dtype(const cursor *c, const char *descr) {
  return tensor_fail(c->error, ATTEST_ERR_INPUT, c->file->path,
                     "npy header: found dtype '%s', expected one of '<f2' '<f4' '<f8' '<i4' '<i8' "
                     "'|b1' '|u1', their '>' forms, or '<V2' '|V2' '<u2' with --bf16; convert it "
                     "with x.astype('<f4') or x.astype(bool)",
                     descr);
}

static attest_status set_bfloat16(const cursor *c, attest_tensor *t, const char *descr,
                                  unsigned flags) {
  int reversed = descr[0] == '>';
  if (reversed && descr[1] == 'V') return fail_dtype(c, descr); /* void has no byte order */
  if (!(flags & TENSOR_BF16))
    return tensor_fail(c->error, ATTEST_ERR_INPUT, c->file->path,
                       "npy header: found dtype '%s', two-byte items that may be bfloat16; pass "
                       "--bf16 to read them as bfloat16, or save float32",
                       descr);
  t->dtype = ATTEST_BFLOAT16;
  t->byteswapped = reversed != tensor_big_endian_host();
  return ATTEST_OK;
}

static attest_status set_dtype(const cursor *c, attest_tensor *t, const char *descr,
                               unsigned flags) {
  char order = descr[0];
  const char *code = order ? descr + 1 : descr;
  int ordered = order == '<' || order == '>';
  if ((strcmp(code, "V2") == 0 && (ordered || order == '|')) ||
      (strcmp(code, "u2") == 0 && ordered))
    return set_bfloat16(c, t, descr, flags);
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    if (strcmp(code, codes[i].code) != 0) continue;
    int single = tensor_dtype_size(codes[i].dtype) == 1;
    if (!ordered && !(single && order == '|')) break;
    t->dtype = codes[i].dtype;
    t->byteswapped = !single && (order == '>') != tensor_big_endian_host();
    return ATTEST_OK;
  }
  return fail_dtype(c, descr);
}

/* ---- the file
 * ------------------------------------------------------------------------------------- */

/* Offsets of the header's text; the length itself is checked against the file. */
static attest_status find_header(cursor *c) {
  const tensor_file *file = c->file;
  if (file->size < PREFIX + 2)
    return tensor_fail(c->error, ATTEST_ERR_INPUT, file->path,
                       "truncated: expected at least %d bytes of npy prefix at offset 0, found "
                       "%zu; copy or save the file again",
                       PREFIX + 2, file->size);
  int major = file->map[6], minor = file->map[7];
  if (major < 1 || major > 3 || minor != 0)
    return tensor_fail(c->error, ATTEST_ERR_INPUT, file->path,
                       "npy version at offset 6: found %d.%d, expected 1.0, 2.0 or 3.0; write the "
                       "file again with numpy.save",
                       major, minor);
  int width = major == 1 ? 2 : 4;
  c->at = (size_t)(PREFIX + width);
  uint64_t length = file->size < c->at ? 0 : tensor_little_endian(file->map + PREFIX, width);
  if (file->size < c->at || length > file->size - c->at)
    return tensor_fail(c->error, ATTEST_ERR_INPUT, file->path,
                       "truncated: expected %" PRIu64 " bytes of npy header at offset %zu, found "
                       "%zu; copy or save the file again",
                       length, c->at, file->size < c->at ? 0 : file->size - c->at);
  c->end = c->at + (size_t)length;
  return ATTEST_OK;
}

static attest_status check_size(const cursor *c, const attest_tensor *t) {
  uint64_t bytes;
  char shape[96];
  size_t found = c->file->size - c->end;
  tensor_shape_text(shape, t);
  if (tensor_byte_count(&bytes, t))
    return tensor_fail(c->error, ATTEST_ERR_INPUT, c->file->path,
                       "npy header: the product of shape %s overflows; save a smaller array",
                       shape);
  if (bytes != found)
    return tensor_fail(c->error, ATTEST_ERR_INPUT, c->file->path,
                       "expected %" PRIu64 " bytes of data at offset %zu for %s of shape %s, found "
                       "%zu (%s); copy or save the file again",
                       bytes, c->end, tensor_dtype_name(t->dtype), shape, found,
                       found < bytes ? "truncated" : "trailing bytes");
  return ATTEST_OK;
}

attest_status tensor_npy_parse(tensor_file *file, unsigned flags, attest_error *error) {
  cursor c = {.file = file, .error = error};
  npy_header header;
  attest_tensor t = {0};
  attest_status status = find_header(&c);
  if (!status) status = read_dict(&c, &header);
  if (!status) status = set_dtype(&c, &t, header.descr, flags);
  if (status) return status;
  t.ndim = header.ndim;
  memcpy(t.shape, header.shape, sizeof *t.shape * (size_t)t.ndim);
  status = check_size(&c, &t);
  if (status) return status;
  tensor_set_strides(&t, header.fortran_order);
  t.data = (void *)(file->map + c.end);
  file->entries = calloc(1, sizeof *file->entries);
  char *name = calloc(1, 1);
  if (!file->entries || !name) {
    free(name);
    return tensor_fail(error, ATTEST_ERR_MEMORY, file->path, "out of memory");
  }
  file->entries[0] = (tensor_entry){.name = name, .tensor = t};
  file->count = 1;
  snprintf(file->kind, sizeof file->kind, "npy %d.%d", file->map[6], file->map[7]);
  return ATTEST_OK;
}

/* ---- writing
 * --------------------------------------------------------------------------------------- */

static const char *npy_descr(attest_dtype dtype) {
  static const char *const descr[] = {
      [ATTEST_FLOAT16] = "<f2", [ATTEST_BFLOAT16] = "<V2", [ATTEST_FLOAT32] = "<f4",
      [ATTEST_FLOAT64] = "<f8", [ATTEST_BOOL] = "|b1",     [ATTEST_INT32] = "<i4",
      [ATTEST_INT64] = "<i8",
  };
  return descr[dtype];
}

/* Version 1.0, padded with spaces so that the data starts at a multiple of 64. */
static void write_header(FILE *stream, const attest_tensor *t) {
  char shape[96], text[160];
  int length = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                        npy_descr(t->dtype), tensor_shape_text(shape, t));
  int total = (PREFIX + 2 + length + 1 + 63) / 64 * 64;
  int padded = total - PREFIX - 2;
  const unsigned char prefix[PREFIX + 2] = {0x93,
                                            'N',
                                            'U',
                                            'M',
                                            'P',
                                            'Y',
                                            1,
                                            0,
                                            (unsigned char)(padded & 255),
                                            (unsigned char)(padded >> 8)};
  fwrite(prefix, 1, sizeof prefix, stream);
  fprintf(stream, "%-*s\n", padded - 1, text);
}

attest_status tensor_write_npy(const char *path, const attest_tensor *t, attest_error *error) {
  tensor_writer *writer;
  attest_status status = tensor_writer_open(&writer, path, error);
  if (status) return status;
  write_header(tensor_writer_stream(writer), t);
  tensor_write_elements(tensor_writer_stream(writer), t);
  return tensor_writer_commit(writer, error);
}
