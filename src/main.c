/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <flint/flint.h>
#include <gmp.h>

#include "verbs/verbs.h"

/* Files under way have temporary names and are never renamed. */
__attribute__((noreturn)) static void give_up(void) {
  _exit(EXIT_TROUBLE);
}

/* FLINT would ask for memory to say so, and again for want of that. Of several threads that find
 * none the first says so, and the others wait for the end. */
static void *checked(void *block) {
  static const char message[] = "attest: out of memory: raise the limit, or use fewer --threads\n";
  static atomic_flag is_said = ATOMIC_FLAG_INIT;
  if (block) return block;
  while (atomic_flag_test_and_set(&is_said))
    pause();
  ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
  (void)written;
  give_up();
}

static void *flint_allocate(size_t size) {
  return checked(malloc(size ? size : 1));
}
static void *flint_allocate_zeroed(size_t count, size_t size) {
  return checked(calloc(count ? count : 1, size ? size : 1));
}
static void *flint_reallocate(void *block, size_t size) {
  return checked(realloc(block, size ? size : 1));
}

/* A library that ends the process (OpenMP's, when there is no memory for a thread) does so with
 * status 1, which would read as a refutation. */
static int finished;
static void exit_is_trouble(void) {
  if (!finished) give_up();
}

/* Tensors are mapped: this is how a file ends that someone else shortens meanwhile. */
static void file_shrank(int signal) {
  (void)signal;
  static const char message[] = "attest: an input file became shorter while it was read, or its "
                                "disk failed: run again once nothing writes to it\n";
  ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
  (void)written;
  _exit(EXIT_TROUBLE);
}

static void *gmp_allocate(size_t size) {
  return flint_malloc(size);
}
static void *gmp_reallocate(void *block, size_t old_size, size_t size) {
  (void)old_size;
  return flint_realloc(block, size);
}
static void gmp_free(void *block, size_t size) {
  (void)size;
  flint_free(block);
}

/* One block of rows after the other asks for much the same memory: pages that have gone back to the
 * system meanwhile are as many page faults, up to a fifteenth of a kernel's time. */
static void keep_freed_memory(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

int main(int argc, char **argv) {
  signal(SIGBUS, file_shrank);
  keep_freed_memory();
  /* A library under test may exit as it likes: its process says so itself. */
  int is_worker =
      argc > 1 && (!strcmp(argv[1], "subject-worker") || !strcmp(argv[1], "function-worker"));
  if (!is_worker) atexit(exit_is_trouble);
  __flint_set_memory_functions(flint_allocate, flint_allocate_zeroed, flint_reallocate, free);
  flint_set_abort(give_up);
  flint_set_num_threads(1);
  mp_set_memory_functions(gmp_allocate, gmp_reallocate, gmp_free);
  int status = verb_dispatch(argc, argv);
  /* A full disk behind standard output must not read as success. */
  if (fflush(stdout) || ferror(stdout)) {
    perror("attest: standard output");
    status = EXIT_TROUBLE;
  }
  flint_cleanup_master();
  finished = 1;
  return status;
}
