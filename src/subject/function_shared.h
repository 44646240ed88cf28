/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Memory that attest and a function worker share: this header on pages of its own, then the inputs,
 * then the results. The worker maps both arrays between pages that cannot be touched, inputs read
 * only; a call's arrays end within 64 bytes of the end of their pages. */
#ifndef ATTEST_SUBJECT_FUNCTION_SHARED_H
#define ATTEST_SUBJECT_FUNCTION_SHARED_H

#include "../tensor/isa.h"
#include "shared.h"

enum { FUNCTION_PATH = 1024 };

typedef struct {
  uint64_t header_bytes, array_bytes; /* whole pages */
  int64_t n;                          /* inputs of this call */
  /* The scalar input that is being called with; -1: none. */
  volatile int64_t at;
  int32_t fault_signal;
  uint32_t environment;     /* ENVIRONMENT_* of shared.h */
  char message[256];        /* why loading failed */
  char path[FUNCTION_PATH]; /* of the library that was loaded */
} function_header;

/* Where n floats start in an array's pages. */
static inline uint64_t function_lead(const function_header *h, int64_t n) {
  uint64_t used =
      ((uint64_t)n * sizeof(float) + SHARED_ALIGNMENT - 1) / SHARED_ALIGNMENT * SHARED_ALIGNMENT;
  return h->array_bytes - used;
}

/* out[i] = function(in[i]) for a function of vectors as wide as those of the instruction set, which
 * is what follows _ZGV: b (4 floats), d (8), e (16). The last vector is filled up with zeros.
 * (vector_isa.c) */
typedef void function_code(void);
ISA_DECLARE(void, function_vectors,
            (function_code * function, float *out, const float *in, int64_t n));

#endif
