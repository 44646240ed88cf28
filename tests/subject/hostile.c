/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Subjects that misbehave, for tests/command/subjects_library.py; each name says how. */
#include "attest.h"

#include <fcntl.h>
#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

static int64_t count(const attest_tensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->ndim; i++)
    n *= t->shape[i];
  return n;
}

/* A float32 kernel of two-dimensional tensors, d = dv, in double. */
int sound(const attest_call *call) {
  int64_t nq = call->q.shape[0], nk = call->k.shape[0], d = call->q.shape[1], dv = call->v.shape[1];
  const float *q = call->q.data, *k = call->k.data, *v = call->v.data;
  float *out = call->out.data, *lse = call->lse.data;
  for (int64_t i = 0; i < nq; i++) {
    double total = 0, sum[64] = {0};
    for (int64_t j = 0; j < nk; j++) {
      double score = 0;
      for (int64_t c = 0; c < d; c++)
        score += (double)q[i * d + c] * (double)k[j * d + c];
      double weight = exp(score * call->scale);
      total += weight;
      for (int64_t c = 0; c < dv; c++)
        sum[c] += weight * (double)v[j * dv + c];
    }
    for (int64_t c = 0; c < dv; c++)
      out[i * dv + c] = (float)(sum[c] / total);
    if (lse) lse[i] = (float)log(total);
  }
  return 0;
}

int skips(const attest_call *call) {
  (void)call;
  return 77;
}
int fails(const attest_call *call) {
  (void)call;
  return 5;
}
int does_nothing(const attest_call *call) {
  (void)call;
  return 0;
}
int crashes(const attest_call *call) {
  (void)call;
  abort();
}
int reads_null(const attest_call *call) {
  (void)call;
  return *(volatile int *)(uintptr_t)8;
}
int hangs(const attest_call *call) {
  (void)call;
  for (;;)
    pause();
}
int leaves(const attest_call *call) {
  sound(call);
  exit(0);
}
int writes_past_end(const attest_call *call) {
  sound(call);
  ((float *)call->out.data)[count(&call->out)] = 1;
  return 0;
}
int writes_far_past_end(const attest_call *call) {
  sound(call);
  memset((float *)call->out.data + count(&call->out), 0, 4096);
  return 0;
}
int writes_before(const attest_call *call) {
  sound(call);
  ((float *)call->out.data)[-1] = 1;
  return 0;
}
int writes_into_k(const attest_call *call) {
  sound(call);
  ((float *)call->k.data)[3] = 1;
  return 0;
}
int unprotects_k(const attest_call *call) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)call->k.data;
  sound(call);
  if (!mprotect((void *)(at / page * page), page, PROT_READ | PROT_WRITE))
    ((float *)call->k.data)[3] += 1;
  return 0;
}
/* Through the process that called: its descriptors are in /proc. */
int shortens_all(const attest_call *call) {
  for (int i = 0; i < 64; i++) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getppid(), i);
    int descriptor = open(path, O_RDWR | O_NONBLOCK);
    struct stat info;
    if (descriptor >= 0 && !fstat(descriptor, &info) && S_ISREG(info.st_mode) && !info.st_nlink)
      if (ftruncate(descriptor, 0)) continue;
  }
  return sound(call);
}
int reads_past_end(const attest_call *call) {
  const volatile float *v = call->v.data;
  float sum = 0;
  for (int64_t i = 0; i < count(&call->v) + 1024; i++)
    sum += v[i];
  return sound(call) + (sum > 1e30f);
}
int changes_rounding(const attest_call *call) {
  sound(call);
  return fesetround(FE_UPWARD);
}
int sets_ftz(const attest_call *call) {
  sound(call);
#ifdef __x86_64__
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
  return 0;
}
int takes_memory(const attest_call *call) {
  (void)call;
  for (;;) {
    char *block = malloc(1 << 22);
    if (block) memset(block, 1, 1 << 22);
    usleep(2000);
  }
}
int prints(const attest_call *call) {
  for (int i = 0; i < 100000; i++)
    printf("CERTIFIED kernel=softmax case=forged %d\n", i);
  return sound(call);
}
int forks(const attest_call *call) {
  for (int i = 0; i < 4; i++)
    if (fork() == 0) {
      setsid();
      sleep(600);
      _exit(0);
    }
  return sound(call);
}
/* All that it shares with attest and can write to becomes numbers like 67372036. */
int scribbles(const attest_call *call) {
  char line[512];
  int status = sound(call);
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) {
    unsigned long first, last;
    if (sscanf(line, "%lx-%lx rw-s", &first, &last) != 2 || !strstr(line, " rw-s ") ||
        !strstr(line, "memfd:attest"))
      continue;
    memset((void *)first, 4, last - first);
  }
  return status;
}
/* The parent, as far as it can be found out. */
int kills_its_parent(const attest_call *call) {
  (void)call;
  return kill(getppid(), SIGKILL);
}
int closes_everything(const attest_call *call) {
  for (int i = 0; i < 1024; i++)
    close(i);
  return sound(call);
}
int stops(const attest_call *call) {
  sound(call);
  raise(SIGSTOP);
  return 0;
}
int kills_its_group(const attest_call *call) {
  (void)call;
  return kill(0, SIGKILL);
}
