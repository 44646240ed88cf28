/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The process that calls a function of one float32. What it finds out stands in the shared memory
 * at once, since what it calls may end it at any time. A byte on standard input is a call; a line
 * on standard output answers it. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../enclosure/enclosure.h"
#include "function.h"
#include "function_shared.h"

static function_header *header;
static unsigned char *input, *output; /* whole pages, between pages that cannot be touched */

static void on_fault(int number) {
  header->fault_signal = number;
  signal(number, SIG_DFL);
  raise(number);
}

static void catch_faults(void) {
  static unsigned char stack[65536];
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
  sigaltstack(&alternate, NULL);
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
}

static unsigned char *map_array(uint64_t offset, int access) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes = header->array_bytes;
  unsigned char *region =
      mmap(NULL, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) return NULL;
  void *pages =
      mmap(region + page, bytes, access, MAP_SHARED | MAP_FIXED, SHARED_DESCRIPTOR, (off_t)offset);
  return pages == MAP_FAILED ? NULL : region + page;
}

static int map_all(void) {
  struct stat info;
  if (fstat(SHARED_DESCRIPTOR, &info) || (uint64_t)info.st_size < sizeof *header) return -1;
  void *first =
      mmap(NULL, sizeof *header, PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_DESCRIPTOR, 0);
  if (first == MAP_FAILED) return -1;
  header = first;
  if (header->header_bytes + 2 * header->array_bytes != (uint64_t)info.st_size) return -1;
  input = map_array(header->header_bytes, PROT_READ);
  output = map_array(header->header_bytes + header->array_bytes, PROT_READ | PROT_WRITE);
  return input && output ? 0 : -1;
}

static int give_up(const char *message) {
  snprintf(header->message, sizeof header->message, "%s", message ? message : "unknown error");
  return EXIT_FAILURE;
}

/* NULL after the complaint. */
static function_code *load(const char *path, const char *symbol) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *found = library ? dlsym(library, symbol) : NULL;
  struct link_map *map;
  function_code *code = NULL;
  if (!found) {
    give_up(dlerror());
    return NULL;
  }
  if (!dlinfo(library, RTLD_DI_LINKMAP, &map))
    snprintf(header->path, sizeof header->path, "%s", map->l_name);
  memcpy(&code, &found, sizeof code); /* ISO C has no cast from data to code */
  return code;
}

static void call(function_code *code, const char *abi) {
  int64_t n = header->n;
  const float *in = (const float *)(input + function_lead(header, n));
  float *out = (float *)(output + function_lead(header, n));
  if (!strcmp(abi, "array")) {
    ((attest_array_function *)code)(out, in, (size_t)n);
  } else if (!strcmp(abi, "scalar")) {
    attest_scalar_function *f = (attest_scalar_function *)code;
    for (int64_t i = 0; i < n; i++) {
      header->at = i;
      out[i] = f(in[i]);
    }
    header->at = -1;
  } else if (*abi == 'b') {
    function_vectors_baseline(code, out, in, n);
#ifdef ISA_VARIANTS
  } else if (*abi == 'd') {
    function_vectors_avx2(code, out, in, n);
  } else {
    function_vectors_avx512(code, out, in, n);
#endif
  }
}

int subject_function_worker(const char *path, const char *symbol, const char *abi) {
  if (map_all()) {
    fprintf(stderr, "attest: function-worker is for attest itself\n");
    return 2;
  }
  close(SHARED_DESCRIPTOR);
  /* What the function prints and reads is its own. */
  int calls = dup(STDIN_FILENO), answers = dup(STDOUT_FILENO);
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (calls < 0 || answers < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
      dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return give_up("no descriptors are left");
  enclosure_environment_restore();
  function_code *code = load(path, symbol);
  if (!code) return EXIT_FAILURE;
  if (enclosure_environment_check()) header->environment |= ENVIRONMENT_AFTER_LOAD;
  catch_faults();
  char byte;
  while (write(answers, "0\n", 2) == 2 && read(calls, &byte, 1) == 1) {
    call(code, abi);
    if (enclosure_environment_check()) header->environment |= ENVIRONMENT_AFTER_CALL;
  }
  fflush(NULL);
  _exit(0);
}
