/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A written file is there whole or not at all. */
#include <signal.h>
#include <sys/resource.h>

#include "files.h"

enum { LARGE = 100000 };
static float large[LARGE];

static attest_tensor large_tensor(void) {
  int64_t shape[1] = {LARGE};
  return attest_tensor_of(large, ATTEST_FLOAT32, 1, shape);
}

/* A folder of the test's own; four may be in use at once. */
static const char *folder(const char *name) {
  const char *path = files_path(name);
  ck_assert_int_eq(mkdir(path, 0755), 0);
  return path;
}

static const char *within(const char *directory, const char *name) {
  static char path[600];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

static void assert_content(const char *path, const char *expected) {
  size_t size;
  unsigned char *bytes = files_read(&size, path);
  ck_assert_uint_eq(size, strlen(expected));
  ck_assert_mem_eq(bytes, expected, size);
  free(bytes);
}

static void assert_write_fails(const char *path, attest_status status, const char *part) {
  attest_tensor t = large_tensor();
  attest_error error = {0};
  ck_assert_int_eq(tensor_write_npy(path, &t, &error), status);
  ck_assert_msg(strstr(error.message, path) == error.message && strstr(error.message, part), "%s",
                error.message);
}

START_TEST(a_file_appears_at_commit_only) {
  const char *directory = folder("commit");
  const char *path = within(directory, "x");
  tensor_writer *writer;
  attest_error error;
  ck_assert_int_eq(tensor_writer_open(&writer, path, &error), ATTEST_OK);
  fputs("new", tensor_writer_stream(writer));
  ck_assert_int_ne(access(path, F_OK), 0);
  ck_assert_int_eq(tensor_writer_commit(writer, &error), ATTEST_OK);
  assert_content(path, "new");
  ck_assert_int_eq(files_count(directory), 1);
}
END_TEST

START_TEST(an_abort_keeps_the_old_file_and_leaves_nothing) {
  const char *directory = folder("abort");
  const char *path = within(directory, "x");
  tensor_writer *writer, *other;
  files_write("abort/x", "old", 3);
  ck_assert_int_eq(tensor_writer_open(&writer, path, NULL), ATTEST_OK);
  ck_assert_int_eq(tensor_writer_open(&other, path, NULL), ATTEST_OK); /* both at once */
  fputs("new", tensor_writer_stream(writer));
  fputs("other", tensor_writer_stream(other));
  tensor_writer_abort(writer);
  assert_content(path, "old");
  ck_assert_int_eq(tensor_writer_commit(other, NULL), ATTEST_OK);
  assert_content(path, "other");
  ck_assert_int_eq(files_count(directory), 1);
  tensor_writer_abort(NULL);
}
END_TEST

/* The file size limit stands for a full disk. */
static void set_file_limit(rlim_t bytes) {
  struct rlimit limit;
  signal(SIGXFSZ, SIG_IGN);
  ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

START_TEST(a_full_disk_is_an_error_and_leaves_nothing) {
  const char *directory = folder("full");
  const char *path = within(directory, "x.npy");
  set_file_limit(10000);
  assert_write_fails(path, ATTEST_ERR_IO, "cannot be written in full: ");
  set_file_limit(RLIM_INFINITY);
  ck_assert_int_eq(files_count(directory), 0);
}
END_TEST

/* A hole in the middle stays an error when there is room again at the end. */
START_TEST(a_disk_full_for_a_while_is_an_error) {
  const char *directory = folder("while");
  tensor_writer *writer;
  ck_assert_int_eq(tensor_writer_open(&writer, within(directory, "x"), NULL), ATTEST_OK);
  set_file_limit(10000);
  fwrite(large, sizeof *large, LARGE, tensor_writer_stream(writer));
  set_file_limit(RLIM_INFINITY);
  ck_assert_int_eq(tensor_writer_commit(writer, NULL), ATTEST_ERR_IO);
  ck_assert_int_eq(files_count(directory), 0);
}
END_TEST

START_TEST(an_error_at_the_last_flush_counts) {
  tensor_writer *writer;
  attest_error error = {0};
  if (access("/dev/full", W_OK) != 0) return;
  ck_assert_int_eq(tensor_writer_open(&writer, "/dev/full", &error), ATTEST_OK);
  fputs("x", tensor_writer_stream(writer));
  ck_assert_int_eq(tensor_writer_commit(writer, &error), ATTEST_ERR_IO);
  ck_assert_ptr_nonnull(strstr(error.message, "/dev/full: cannot be written in full: No space"));
  assert_write_fails("/dev/full", ATTEST_ERR_IO, "cannot be written in full: ");
}
END_TEST

START_TEST(a_folder_that_cannot_be_written_is_an_error) {
  const char *directory = folder("readonly");
  assert_write_fails(within(directory, "none/x.npy"), ATTEST_ERR_IO, "No such file or directory");
  assert_write_fails(directory, ATTEST_ERR_IO, "Is a directory");
  ck_assert_int_eq(chmod(directory, 0555), 0);
  int root = geteuid() == 0; /* may write everywhere: ask as somebody else */
  if (root) {
    ck_assert_int_eq(chmod(files_folder, 0755), 0);
    ck_assert_int_eq(seteuid(65534), 0);
  }
  assert_write_fails(within(directory, "x.npy"), ATTEST_ERR_IO, "Permission denied");
  if (root) ck_assert_int_eq(seteuid(0), 0);
  ck_assert_int_eq(files_count(directory), 0);
}
END_TEST

START_TEST(a_symbolic_link_stays_one) {
  struct stat info;
  const char *directory = folder("link");
  files_write("link/real", "old", 3);
  ck_assert_int_eq(symlink("real", within(directory, "link")), 0);
  tensor_writer *writer;
  ck_assert_int_eq(tensor_writer_open(&writer, within(directory, "link"), NULL), ATTEST_OK);
  fputs("new", tensor_writer_stream(writer));
  ck_assert_int_eq(tensor_writer_commit(writer, NULL), ATTEST_OK);
  ck_assert_int_eq(lstat(within(directory, "link"), &info), 0);
  ck_assert(S_ISLNK(info.st_mode));
  assert_content(within(directory, "real"), "new");
}
END_TEST

START_TEST(a_new_file_has_the_permissions_of_the_umask) {
  struct stat info;
  umask(027);
  attest_tensor t = large_tensor();
  const char *path = files_path("mode.npy");
  ck_assert_int_eq(tensor_write_npy(path, &t, NULL), ATTEST_OK);
  ck_assert_int_eq(stat(path, &info), 0);
  ck_assert_int_eq(info.st_mode & 0777, 0640);
}
END_TEST

START_TEST(a_pipe_is_written_directly) {
  char text[4] = "";
  tensor_writer *writer;
  int ends[2];
  char path[32];
  ck_assert_int_eq(pipe(ends), 0);
  snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
  ck_assert_int_eq(tensor_writer_open(&writer, path, NULL), ATTEST_OK);
  fputs("abc", tensor_writer_stream(writer));
  ck_assert_int_eq(tensor_writer_commit(writer, NULL), ATTEST_OK);
  ck_assert_int_eq(read(ends[0], text, 3), 3);
  ck_assert_str_eq(text, "abc");
  close(ends[0]);
  close(ends[1]);
}
END_TEST

void test_write(Suite *suite) {
  TCase *tcase = files_case(suite, "write");
  tcase_add_test(tcase, a_file_appears_at_commit_only);
  tcase_add_test(tcase, an_abort_keeps_the_old_file_and_leaves_nothing);
  tcase_add_test(tcase, a_full_disk_is_an_error_and_leaves_nothing);
  tcase_add_test(tcase, a_disk_full_for_a_while_is_an_error);
  tcase_add_test(tcase, an_error_at_the_last_flush_counts);
  tcase_add_test(tcase, a_folder_that_cannot_be_written_is_an_error);
  tcase_add_test(tcase, a_symbolic_link_stays_one);
  tcase_add_test(tcase, a_new_file_has_the_permissions_of_the_umask);
  tcase_add_test(tcase, a_pipe_is_written_directly);
}
