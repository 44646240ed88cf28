/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The process that calls a library. It may be ended by what it calls at any time, so all that it
 * finds out stands in the shared memory at once. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "../enclosure/enclosure.h"
#include "shared.h"
#include "subject.h"

static shared_header *header;
static unsigned char *regions[INPUT_COUNT + OUTPUT_COUNT]; /* with the guard pages */
static uint64_t page;

/* ---- forbidden accesses ---- */

static int was_write(const void *context) {
#if defined(__x86_64__)
  const ucontext_t *u = context;
  return (u->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  (void)context;
  return 1;
#endif
}

/* Notes which tensor's pages were touched, then ends as the signal would. */
static void on_fault(int number, siginfo_t *info, void *context) {
  const unsigned char *address = info->si_addr;
  header->fault_signal = number;
  header->fault_is_write = was_write(context);
  for (int i = 0; i < header->count; i++) {
    const shared_tensor *t = &header->tensors[i];
    const unsigned char *start = regions[i];
    if (!start || address < start || address >= start + t->pages_size + 2 * page) continue;
    header->fault_tensor = i;
    header->fault_offset = address - (start + page + t->lead);
  }
  signal(number, SIG_DFL);
  raise(number);
}

static void catch_faults(void) {
  static unsigned char stack[65536];
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaltstack(&alternate, NULL);
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
}

/* ---- the tensors ---- */

static int map_header(void) {
  struct stat info;
  if (fstat(SHARED_DESCRIPTOR, &info) || (uint64_t)info.st_size < sizeof *header) return -1;
  void *first =
      mmap(NULL, sizeof *header, PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_DESCRIPTOR, 0);
  if (first == MAP_FAILED) return -1;
  header = first;
  return header->size == (uint64_t)info.st_size ? 0 : -1;
}

static int map_tensor(int i) {
  shared_tensor *t = &header->tensors[i];
  unsigned char *region = mmap(NULL, t->pages_size + 2 * page, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) return -1;
  int access = t->output ? PROT_READ | PROT_WRITE : PROT_READ;
  void *pages = mmap(region + page, t->pages_size, access, MAP_SHARED | MAP_FIXED,
                     SHARED_DESCRIPTOR, (off_t)t->pages_at);
  if (pages == MAP_FAILED) return -1;
  regions[i] = region;
  t->tensor.data = region + page + t->lead;
  return 0;
}

/* problem.json, copied: nobody shall write into the shared one. */
static char *copy_params(void) {
  uint64_t end = header->count ? header->tensors[0].pages_at : header->size;
  uint64_t offset = header->params_at / page * page;
  char *pages = mmap(NULL, end - offset, PROT_READ, MAP_SHARED, SHARED_DESCRIPTOR, (off_t)offset);
  return pages == MAP_FAILED ? NULL : pages + (header->params_at - offset);
}

/* ---- the call ---- */

typedef struct {
  attest_call call;
  const char *names[INPUT_COUNT];
  attest_tensor inputs[INPUT_COUNT];
} worker_call;

static int prepare(worker_call *w) {
  attest_call *call = &w->call;
  *call = (attest_call){.size = sizeof *call, .kernel = header->kernel};
  call->scale = header->scale;
  call->causal = header->causal;
  call->input_names = w->names;
  call->inputs = w->inputs;
  for (int i = 0; i < header->count; i++) {
    const shared_tensor *t = &header->tensors[i];
    attest_tensor *outputs[OUTPUT_COUNT] = {&call->out, &call->lse, &call->final_state,
                                            &call->indices};
    attest_tensor *firsts[] = {&call->q, &call->k, &call->v};
    if (map_tensor(i)) return -1;
    if (t->output) {
      *outputs[t->index] = t->tensor;
      continue;
    }
    if (t->index <= INPUT_V) *firsts[t->index] = t->tensor;
    w->names[call->input_count] = problem_input_names[t->index];
    w->inputs[call->input_count++] = t->tensor;
  }
  return (call->params = copy_params()) ? 0 : -1;
}

static int give_up(const char *message) {
  snprintf(header->message, sizeof header->message, "%s", message ? message : "unknown error");
  return EXIT_FAILURE;
}

int subject_worker(const char *path, const char *symbol) {
  static worker_call w;
  page = (uint64_t)sysconf(_SC_PAGESIZE);
  if (map_header()) {
    fprintf(stderr, "attest: subject-worker is for attest itself\n");
    return 2;
  }
  if (prepare(&w)) return give_up("its tensors cannot be mapped");
  close(SHARED_DESCRIPTOR);
  enclosure_environment_restore();
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return give_up(dlerror());
  void *found = dlsym(library, symbol);
  if (!found) return give_up(dlerror());
  attest_subject *subject;
  memcpy(&subject, &found, sizeof subject); /* ISO C has no cast from data to code */
  if (enclosure_environment_check()) header->environment |= ENVIRONMENT_AFTER_LOAD;
  catch_faults();
  header->phase = PHASE_CALLED;
  int returned = subject(&w.call);
  header->returned = returned;
  if (enclosure_environment_check()) header->environment |= ENVIRONMENT_AFTER_CALL;
  header->phase = PHASE_RETURNED;
  fflush(NULL);
  /* Not through exit: what the library has registered there is not under test. */
  int code = returned & 0xff; /* what exit statuses hold: no other value may pass for 0 or 77 */
  _exit(code == returned || (code != 0 && code != 77) ? code : 1);
}
