/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What can stand at a path, and how a path and a name are told apart. */
#include "files.h"

static const float six[6] = {0, 1, 2, 3, 4, 5};
static const char dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }";
static const char two[] =
    "{\"alibi_slopes\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
    "\"q:0\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[8,24]}}";

static const char *write_npy(const char *name) {
  size_t size;
  unsigned char *bytes = files_npy(&size, 1, dict, 118, six, sizeof six);
  const char *path = files_write(name, bytes, size);
  free(bytes);
  return path;
}

static const char *write_two(const char *name) {
  size_t size;
  unsigned char *bytes = files_safetensors(&size, two, 0, six, sizeof six);
  const char *path = files_write(name, bytes, size);
  free(bytes);
  return path;
}

START_TEST(what_is_no_file_is_refused) {
  const char *pipe = files_path("pipe");
  ck_assert_int_eq(mkfifo(pipe, 0600), 0);
  files_assert_refused(files_path("missing.npy"), 0, ATTEST_ERR_IO, "No such file");
  files_assert_refused(files_folder, 0, ATTEST_ERR_IO, "is a directory");
  files_assert_refused(pipe, 0, ATTEST_ERR_IO, "is a pipe or device");
  files_assert_refused("/dev/zero", 0, ATTEST_ERR_IO, "is a pipe or device");
  files_assert_refused(files_write("empty.npy", "", 0), 0, ATTEST_ERR_INPUT, "is empty (0 bytes)");
}
END_TEST

START_TEST(an_unreadable_file_is_refused) {
  const char *path = write_npy("secret.npy");
  ck_assert_int_eq(chmod(path, 0), 0);
  int root = geteuid() == 0; /* may read everything: ask as somebody else */
  if (root) {
    ck_assert_int_eq(chmod(files_folder, 0755), 0);
    ck_assert_int_eq(seteuid(65534), 0);
  }
  files_assert_refused(path, 0, ATTEST_ERR_IO, "Permission denied");
  if (root) ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

/* The first bytes of torch.save (zip, and before version 1.6), pickle.dump, numpy.savez, HDF5,
 * text. */
START_TEST(other_formats_are_refused_with_a_remedy) {
  static const struct {
    const char *name, *bytes;
    size_t size;
    const char *part;
  } cases[] = {
      {"x.pt",
       "PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\x12\0archive/data.pkl", 46,
       "/x.pt')}, 'x.safetensors')"},
      {"old.pt", "\x80\x02\x8a\nl\xfc\x9c\x46\xf9\x20j\xa8P\x19.", 16, "import torch"},
      {"x.pkl", "\x80\x04\x95\x10\0\0\0\0\0\0\0]", 12, "import torch"},
      {"short.pkl", "\x80\x05", 2, "import torch"},
      {"x.npz", "PK\x03\x04", 4, "no zip archive that can be read"},
      {"renamed", "PK\x03\x04\x14\0\0\0\0\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0a.npy", 35,
       "no zip archive that can be read"},
      {"x.h5", "\x89HDF\r\n\x1a\n", 8,
       "is none of npy, npz and safetensors: it starts with the bytes 89 48"},
      {"x.txt", "1", 1, "is none of npy, npz and safetensors: it starts with the bytes 31;"},
      {"x.safetensors", "hello, world", 12, "the header length at offset 0 is"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    files_assert_refused(files_write(cases[i].name, cases[i].bytes, cases[i].size), 0,
                         ATTEST_ERR_INPUT, cases[i].part);
}
END_TEST

START_TEST(a_path_too_long_for_a_message_keeps_its_end) {
  char path[3000];
  tensor_file *file;
  attest_error error;
  memset(path, 'x', sizeof path);
  strcpy(path + sizeof path - 10, "/last.npy");
  ck_assert_int_eq(tensor_file_open(&file, path, 0, &error), ATTEST_ERR_IO);
  ck_assert_ptr_nonnull(strstr(error.message, "/last.npy: cannot be opened: File name too long"));
}
END_TEST

/* 6 GiB, almost all of it a hole: opened and read at both ends without reading the middle. */
START_TEST(a_file_larger_than_memory_opens) {
  const int64_t n = (int64_t)3 << 29;
  char large[100];
  size_t size;
  attest_tensor t;
  tensor_file *file;
  attest_error error = {0};
  snprintf(large, sizeof large, "{'descr': '<f4', 'fortran_order': False, 'shape': (%lld, 2), }",
           (long long)n / 2);
  unsigned char *bytes = files_npy(&size, 1, large, 118, NULL, 0);
  const char *path = files_write("large.npy", bytes, size);
  free(bytes);
  if (truncate(path, (off_t)size + (off_t)n * 4) != 0) return; /* no sparse files here */
  ck_assert_msg(tensor_open(&file, &t, path, "q", 0, &error) == ATTEST_OK, "%s", error.message);
  ck_assert_int_eq(tensor_elements(&t), n);
  ck_assert(tensor_at(&t, 0) == 0 && tensor_at(&t, n / 2) == 0 && tensor_at(&t, n - 1) == 0);
  tensor_file_close(file);
  ck_assert_int_eq(truncate(path, (off_t)size + (off_t)n * 4 - 1), 0);
  files_assert_refused(path, 0, ATTEST_ERR_INPUT, "truncated");
}
END_TEST

/* The tensor of a spec has so many elements, or the message contains `part`. */
static void assert_spec(const char *spec, const char *role, int64_t elements, const char *part) {
  tensor_file *file;
  attest_tensor t;
  attest_error error = {0};
  attest_status status = tensor_open(&file, &t, spec, role, 0, &error);
  if (part) {
    ck_assert_msg(status != ATTEST_OK && strstr(error.message, part), "%s: %s", spec,
                  error.message);
    ck_assert_ptr_null(file);
  } else {
    ck_assert_msg(status == ATTEST_OK, "%s", error.message);
    ck_assert_int_eq(tensor_elements(&t), elements);
  }
  tensor_file_close(file);
}

START_TEST(a_spec_names_a_file_and_a_tensor) {
  char spec[600];
  const char *folder = files_folder;
  write_npy("a.npy");
  write_npy("a:b.npy");
  write_two("t.safetensors");
  write_two("t:u.safetensors");
#define SPEC(text) (snprintf(spec, sizeof spec, "%s/%s", folder, text), spec)
  assert_spec(SPEC("a.npy"), "q", 6, NULL);
  assert_spec(SPEC("a:b.npy"), "q", 6, NULL);
  assert_spec(SPEC("a.npy:q"), "q", 0, "leave out ':q'");
  assert_spec(SPEC("t.safetensors:q:0"), "q", 4, NULL);
  assert_spec(SPEC("t:u.safetensors:q:0"), "q", 4, NULL);
  assert_spec(SPEC("t.safetensors:alibi_slopes"), NULL, 2, NULL);
  assert_spec(SPEC("t.safetensors"), "alibi_slopes", 2, NULL);
  assert_spec(SPEC("t.safetensors"), "alibi-slopes", 2, NULL);
  assert_spec(SPEC("t.safetensors"), "k", 0,
              "none is named 'k'; write FILE:NAME with one of: "
              "alibi_slopes, q:0");
  assert_spec(SPEC("t.safetensors"), NULL, 0, "holds 2 tensors");
  assert_spec(SPEC("t.safetensors:"), "alibi_slopes", 0, "has no tensor ''");
  assert_spec(SPEC("t.safetensors:k"), "q:0", 0,
              "has no tensor 'k'; name one of: alibi_slopes, q:0");
  assert_spec(SPEC("none.npy:q"), "q", 0, "none.npy:q: cannot be opened: No such file");
  assert_spec("", "q", 0, "cannot be opened");
#undef SPEC
}
END_TEST

START_TEST(one_tensor_needs_no_name_and_none_is_an_error) {
  size_t size;
  unsigned char *bytes =
      files_safetensors(&size, "{\"z\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}",
                        0, six, sizeof six);
  assert_spec(files_write("one.safetensors", bytes, size), "q", 6, NULL);
  free(bytes);
  bytes = files_safetensors(&size, "{}", 8, NULL, 0);
  assert_spec(files_write("none.safetensors", bytes, size), "q", 0, "holds no tensor");
  free(bytes);
}
END_TEST

START_TEST(many_names_are_listed_as_far_as_they_fit) {
  static const char *names[100];
  static char storage[100][8];
  static attest_tensor tensors[100];
  static float data[1];
  for (int i = 0; i < 100; i++) {
    snprintf(storage[i], sizeof storage[i], "t%d", i);
    names[i] = storage[i];
    tensors[i] = attest_tensor_of(data, ATTEST_FLOAT32, 0, NULL);
  }
  const char *path = files_path("many.safetensors");
  ck_assert_int_eq(tensor_write_safetensors(path, 100, names, tensors, NULL), ATTEST_OK);
  assert_spec(path, "q", 0, "one of: t0, t1, t2");
  assert_spec(path, "q", 0, ", ...");
}
END_TEST

void test_file(Suite *suite) {
  TCase *tcase = files_case(suite, "file");
  tcase_add_test(tcase, what_is_no_file_is_refused);
  tcase_add_test(tcase, an_unreadable_file_is_refused);
  tcase_add_test(tcase, other_formats_are_refused_with_a_remedy);
  tcase_add_test(tcase, a_path_too_long_for_a_message_keeps_its_end);
  tcase_add_test(tcase, a_file_larger_than_memory_opens);
  tcase_add_test(tcase, a_spec_names_a_file_and_a_tensor);
  tcase_add_test(tcase, one_tensor_needs_no_name_and_none_is_an_error);
  tcase_add_test(tcase, many_names_are_listed_as_far_as_they_fit);
}
