/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <flint/flint.h>
#include <gmp.h>

#include "verbs/verbs.h"

/* FLINT has said what is wrong; files under way have temporary names and are never renamed. */
__attribute__((noreturn)) static void give_up(void) {
  _exit(EXIT_TROUBLE);
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

int main(int argc, char **argv) {
  signal(SIGBUS, file_shrank);
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
  return status;
}
